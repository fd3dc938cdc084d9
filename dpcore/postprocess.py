"""Arithmetic on noisy answers. No private input, no cost; knows NumPy and nothing else of the project."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["combine_row_sums", "project_rows", "spread_difference", "systematic_sample"]

Floats = NDArray[np.float64]


def combine_row_sums(tables: Sequence[Floats]) -> Floats:
    """Best estimate of the row sums that tables with equal cell noise have in common.

    A row sum over S cells of variance v has variance S v, so the inverse-variance mean weighs each table by 1/S.

    Parameters
    ----------
    tables : sequence of arrays of shape (k, S_j)

    Returns
    -------
    array of shape (k,)
    """
    weights = np.array([1.0 / table.shape[1] for table in tables])
    sums = np.stack([table.sum(axis=1) for table in tables])
    combined: Floats = weights @ sums / weights.sum()
    return combined


def spread_difference(table: Floats, totals: Floats) -> Floats:
    """The table moved, in equal steps within each row, to the given row sums: the least-squares adjustment."""
    adjusted: Floats = table + ((totals - table.sum(axis=1)) / table.shape[1])[:, None]
    return adjusted


def project_rows(table: Floats, totals: Floats) -> Floats:
    """Each row's nearest non-negative row (in squares) with the given sum.

    Sort-based projection on the scaled simplex (Held, Wolfe and Crowder 1974): subtract one threshold per row and clip.
    Clipping alone would add mass to sparse rows; this keeps the sum.

    Parameters
    ----------
    table : array of shape (k, m)
    totals : array of shape (k,)
        Non-negative.
    """
    descending = -np.sort(-table, axis=1)
    excess = (np.cumsum(descending, axis=1) - totals[:, None]) / np.arange(1, table.shape[1] + 1)
    # The last position whose value still exceeds its threshold; position 0 always does when the total is positive.
    support = np.maximum((descending > excess).sum(axis=1), 1) - 1
    threshold = np.take_along_axis(excess, support[:, None], axis=1)
    return np.maximum(table - threshold, 0.0)


def systematic_sample(probabilities: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """`size` draws whose counts are the expected ones, rounded up or down, in random order.

    Systematic resampling: one uniform offset for evenly spaced points on the cumulative distribution. Each position is
    still uniform over the distribution; only the sampling error of independent draws is gone.

    Parameters
    ----------
    probabilities : array of shape (m,)
        Non-negative with a positive sum.
    """
    cumulative = np.cumsum(probabilities)
    points = (np.arange(size) + rng.random()) * (cumulative[-1] / max(size, 1))
    draws: NDArray[np.intp] = np.minimum(np.searchsorted(cumulative, points, side="right"), len(cumulative) - 1)
    rng.shuffle(draws)
    return draws
