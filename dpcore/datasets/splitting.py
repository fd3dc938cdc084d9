"""Which rows a method learns from, and which are kept aside to test on: decided by lot, before any fit."""

import secrets

import numpy as np
import pandas as pd

from dpcore.errors import ParameterError


def secret_seed() -> int:
    """A seed from the operating system's entropy, for the lots of `split`."""
    return secrets.randbits(63)


def split(frame: pd.DataFrame, test_share: float = 0.3, seed: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows by lot; the lots never look at values. Both parts keep the order of the rows.

    Every row draws its own lot. While the seed is secret the lots are independent of the rows, and those of two files
    that differ by one row, wherever it stands, can be coupled so that all other rows draw alike: the split is 1-stable,
    and a method's epsilon holds for the whole file. With a public seed it holds for the training rows as they stand,
    but not for the file: whoever knows the order could tell a missing row by the lots of all rows after it.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    test_share : float
        The chance of each row, between 0 (no test rows) and 1, exclusive.
    seed : int, optional
        The same seed gives the same lots; by default a fresh secret one.
    """
    if not 0 <= test_share < 1:
        raise ParameterError(f"The test share is {test_share:g}.", "Choose at least 0 and less than 1.")
    if seed is not None and seed < 0:
        raise ParameterError(f"The seed of the split is {seed}.", "Choose 0 or a positive whole number.")
    test = np.random.default_rng(secret_seed() if seed is None else seed).random(len(frame)) < test_share
    return frame[~test].reset_index(drop=True), frame[test].reset_index(drop=True)
