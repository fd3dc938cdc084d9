"""Distance to the closest record: what it measures, and a release that passes and tells everything.

The distance of a released row is the number of columns in which it differs from the nearest real row. A release is
said to be safe if its rows are no nearer to the real rows than the rows of other people are. Yao, Krčo, Ganev and
de Montjoye 2025 ("The DCR delusion: measuring the privacy risk of synthetic data") show releases that pass such tests
and give participants away.
"""

from collections.abc import Collection
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin_min

Kind = TypeVar("Kind", bound=np.integer)


def scrambled(codes: NDArray[Kind], kept: Collection[int], rng: np.random.Generator) -> NDArray[Kind]:
    """Every row with some columns kept; each other column is dealt anew among all rows."""
    found = codes.copy()
    for column in range(codes.shape[1]):
        if column not in kept:
            found[:, column] = rng.permutation(codes[:, column])
    return found


def distances(released: NDArray[Kind], real: NDArray[Kind]) -> NDArray[np.int64]:
    """In how many columns every released row differs from the real row that is nearest, shape (released rows,)."""
    shares = pairwise_distances_argmin_min(released, real, metric="hamming")[1]
    return np.asarray(np.rint(shares * real.shape[1]), dtype=np.int64)


def shares(distances: NDArray[np.int64], most: int) -> pd.DataFrame:
    """The share of rows at each distance from 0 to `most`, where all farther ones are: `distance`, `share`."""
    counts = np.bincount(np.minimum(distances, most), minlength=most + 1)
    return pd.DataFrame({"distance": np.arange(most + 1), "share": counts / len(distances)})
