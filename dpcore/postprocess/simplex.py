"""Arithmetic on noisy answers. No private input, no cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats

TRACE = 1e-6


def combine_row_sums(tables: Sequence[Floats]) -> Floats:
    """Best estimate of the row sums that tables with equal cell noise have in common.

    A row sum over S cells of variance v has variance S v, so the inverse-variance mean weighs each
    table by 1/S. Tables have the shapes (k, S), the result (k,).
    """
    weights = np.array([1.0 / table.shape[1] for table in tables])
    return np.asarray(weights @ np.stack([table.sum(axis=1) for table in tables]) / weights.sum())


def spread_difference(table: Floats, totals: Floats) -> Floats:
    """The table moved, in equal steps within each row, to the given row sums: the least-squares adjustment."""
    return np.asarray(table + ((totals - table.sum(axis=1)) / table.shape[1])[:, None])


def project_rows(table: Floats, totals: Floats) -> Floats:
    """Each row's nearest non-negative row (in squares) with the given sum of 0 or more.

    Sort-based projection on the scaled simplex (Held, Wolfe and Crowder 1974): subtract one
    threshold per row and clip. Clipping alone would add mass to sparse rows; this keeps the sum.
    """
    # the same for all: huge numbers would swallow the total
    table = table - table.max(axis=1, keepdims=True)
    descending = -np.sort(-table, axis=1)
    excess = (np.cumsum(descending, axis=1) - totals[:, None]) / np.arange(1, table.shape[1] + 1)
    # The last position whose value still exceeds its threshold; position 0 always does when the total is positive.
    support = np.maximum((descending > excess).sum(axis=1), 1) - 1
    threshold = np.take_along_axis(excess, support[:, None], axis=1)
    return np.maximum(table - threshold, 0.0)


def rows_to_one(weights: Floats, otherwise: Floats | float = 0.0) -> Floats:
    """Rows of weights as probabilities; rows without a positive one become something else."""
    totals = weights.sum(axis=1, keepdims=True)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), otherwise)


def project(table: Floats, total: float) -> Floats:
    """The nearest table of any shape that has no negative cells and that sum, or 0 where the sum is negative."""
    return project_rows(table.reshape(1, -1), np.array([max(total, 0.0)])).reshape(table.shape)


def systematic_sample(probabilities: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """`size` draws whose counts are the expected ones, rounded up or down, in random order.

    Systematic resampling: one uniform offset for evenly spaced points on the cumulative
    distribution. Each position is still uniform over the distribution; only the sampling error of
    independent draws is gone. The probabilities need not sum to 1.
    """
    cumulative = np.cumsum(probabilities)
    points = (np.arange(size) + rng.random()) * (cumulative[-1] / max(size, 1))
    draws: NDArray[np.intp] = np.minimum(np.searchsorted(cumulative, points, side="right"), len(cumulative) - 1)
    rng.shuffle(draws)
    return draws


def draw_given(probabilities: Floats, given: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """One draw per row from the distribution that the row's condition names, with counts as expected, rounded.

    `systematic_sample` within each condition: its rows, in random order, get evenly spaced points
    on the condition's cumulative distribution (a row of `probabilities`, which sums to 1), moved by
    one uniform offset per condition.
    """
    conditions, values = probabilities.shape
    order = rng.permutation(len(given))
    # NumPy sorts short integers by radix, in the time of a few passes.
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
    # All conditions on one line: condition c owns the interval from c to c + 1.
    line = (ends + np.arange(conditions)[:, None]).ravel()
    found = np.searchsorted(line, points, side="right") - condition * values
    drawn: NDArray[np.intp] = np.empty(len(given), dtype=np.intp)
    drawn[order] = np.minimum(found, values - 1)
    return drawn


def merge_rare(counts: Floats, threshold: float, *, ordered: bool, most: int | None = None) -> NDArray[np.intp]:
    """A group for each value, so that (nearly) every group counts at least the threshold; from 0, without gaps.

    Ordered values: adjacent ones fill a group until it is full; a short one at the end joins the
    group before. Others: frequent values stay alone (`most` of them at most), all others form one
    group, and that joins the rarest frequent value if it counts less than half the threshold.
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


def fit_marginals(table: Floats, first: Floats, second: Floats, totals: Floats, rounds: int = 10) -> Floats:
    """A non-negative table near a noisy one, with given margins, by projection and iterative proportional fitting.

    The table has the shape (a, b, classes), its positive margins (a, classes) and (b, classes),
    with sums `totals` over their first axes. The result has the second exactly and the first nearly
    (Deming and Stephan 1940).
    """
    projected = project_rows(table.reshape(-1, len(totals)).T, totals).T.reshape(table.shape)
    # A trace of the independent table keeps every margin within reach.
    fitted: Floats = projected + TRACE * first[:, None] * second[None] / totals
    for _ in range(rounds):
        fitted *= (first / fitted.sum(axis=1))[:, None]
        fitted *= (second / fitted.sum(axis=0))[None]
    return fitted
