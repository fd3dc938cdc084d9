"""Arithmetic on noisy answers: projections to the simplex, rounded sampling, merged values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TRACE = 1e-6


def combine_row_sums(tables: Sequence[Array]) -> Array:
    """Return the best estimate of the row sums that tables with equal cell noise have in common.

    A row sum over S cells of variance v has variance S v, so the inverse-variance mean weighs each
    table by 1/S. Tables have the shapes (k, S), the result (k,).
    """
    weights = np.array([1.0 / table.shape[1] for table in tables])
    return np.asarray(weights @ np.stack([table.sum(axis=1) for table in tables]) / weights.sum())


def spread_difference(table: Array, totals: Array) -> Array:
    """Return the table with rows that sum to `totals`, each changed by equal steps in its cells.

    It is the nearest such table in squares.
    """
    return np.asarray(table + ((totals - table.sum(axis=1)) / table.shape[1])[:, None])


def project_rows(table: Array, totals: Array) -> Array:
    """Project each row to the nearest non-negative row, in squares, with the given sum.

    Sums are 0 or more. Sort-based projection on the scaled simplex (Held, Wolfe and Crowder 1974):
    subtract one threshold per row and clip. Clipping alone would add mass to sparse rows; the
    projection keeps the sum.
    """
    # the projection is invariant to this shift; huge numbers would absorb the total
    table = table - table.max(axis=1, keepdims=True)
    descending = -np.sort(-table, axis=1)
    excess = (np.cumsum(descending, axis=1) - totals[:, None]) / np.arange(1, table.shape[1] + 1)
    # The last position whose value exceeds its threshold; position 0 does if the total is positive.
    support = np.maximum((descending > excess).sum(axis=1), 1) - 1
    threshold = np.take_along_axis(excess, support[:, None], axis=1)
    return np.maximum(table - threshold, 0.0)


def rows_to_one(weights: Array, otherwise: Array | float = 0.0) -> Array:
    """Scale rows of weights to sum to 1; rows without a positive weight become `otherwise`.

    `otherwise` is a number for every cell, or a row.
    """
    totals = weights.sum(axis=1, keepdims=True)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), otherwise)


def project(table: Array, total: float) -> Array:
    """Project a table of any shape to the nearest one without negative cells and with sum `total`.

    A negative `total` counts as 0.
    """
    return project_rows(table.reshape(1, -1), np.array([max(total, 0.0)])).reshape(table.shape)


def systematic_sample(probabilities: Array, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `size` indices whose counts are the expected ones, rounded up or down, in random order.

    Systematic resampling: evenly spaced points on the cumulative distribution, moved together by
    one uniform offset. The distribution of each draw is unchanged; only the sampling error of
    independent draws is removed. The probabilities need not sum to 1.
    """
    cumulative = np.cumsum(probabilities)
    points = (np.arange(size) + rng.random()) * (cumulative[-1] / max(size, 1))
    draws: NDArray[np.intp] = np.minimum(np.searchsorted(cumulative, points, side="right"), len(cumulative) - 1)
    rng.shuffle(draws)
    return draws


def draw_given(probabilities: Array, given: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw one value per row from the distribution of the row's condition, with rounded counts.

    `probabilities` has one distribution per condition in its rows, which sum to 1. `given` has the
    condition of each row to draw. Within each condition this is `systematic_sample`: its rows, in
    random order, get evenly spaced points on the cumulative distribution, shifted by one uniform
    offset.
    """
    conditions, values = probabilities.shape
    order = rng.permutation(len(given))
    # NumPy sorts short integers by radix, which takes a few passes.
    short = given.astype(np.uint16) if conditions <= 1 << 16 else given
    order = order[np.argsort(short[order], kind="stable")]
    sizes = np.bincount(given, minlength=conditions)
    condition = np.repeat(np.arange(conditions), sizes)
    rank = np.arange(len(given)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    points = rank + np.repeat(rng.random(conditions), sizes)
    points /= np.repeat(sizes, sizes)
    points += condition
    ends = np.minimum(np.cumsum(probabilities, axis=1), 1.0)
    ends[:, -1] = 1.0
    # All conditions on one line: condition c has the interval from c to c + 1.
    line = (ends + np.arange(conditions)[:, None]).ravel()
    found = np.searchsorted(line, points, side="right") - condition * values
    drawn: NDArray[np.intp] = np.empty(len(given), dtype=np.intp)
    drawn[order] = np.minimum(found, values - 1)
    return drawn


def merge_rare(counts: Array, threshold: float, *, ordered: bool, most: int | None = None) -> NDArray[np.intp]:
    """Merge rare values: return a group for each value, so that groups count at least `threshold`.

    Groups are numbered from 0 without gaps. Ordered values: adjacent values fill a group until it
    counts enough; a short one at the end joins the group before. Unordered values: frequent values
    stay alone (at most `most` of them), and all others form one group. That group joins the rarest
    frequent value if it counts less than half the threshold.
    """
    if ordered:
        groups, group, filled = np.zeros(len(counts), dtype=np.intp), 0, 0.0
        for value, number in enumerate(counts):
            groups[value] = group
            filled += float(number)
            if filled >= threshold:
                group, filled = group + 1, 0.0
        return np.minimum(groups, max(group - 1, 0))
    frequent = counts >= threshold
    frequent[np.argsort(-counts, kind="stable")[most:] if most is not None else []] = False
    groups = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    if frequent.any() and counts[~frequent].sum() < threshold / 2:
        groups[~frequent] = groups[np.argmin(np.where(frequent, counts, np.inf))]
    return groups


def fit_marginals(table: Array, first: Array, second: Array, totals: Array, rounds: int = 10) -> Array:
    """Return a non-negative table near a noisy one with the given marginals.

    The table has the shape (a, b, classes), its positive marginals (a, classes) and (b, classes),
    with sums `totals` over their first axes. The result has the second marginal exactly and the
    first nearly, by projection and iterative proportional fitting (Deming and Stephan 1940).
    """
    projected = project_rows(table.reshape(-1, len(totals)).T, totals).T.reshape(table.shape)
    # A trace of the independent table makes every marginal attainable.
    fitted: Array = projected + TRACE * first[:, None] * second[None] / totals
    for _ in range(rounds):
        fitted *= (first / fitted.sum(axis=1))[:, None]
        fitted *= (second / fitted.sum(axis=0))[None]
    return fitted
