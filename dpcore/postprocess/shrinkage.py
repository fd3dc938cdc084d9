"""What noisy tables by class can say, and how much of it: coarser bins before anybody reports, and shrinkage after.

Public rules and post-processing. Both follow from the variance of the reports alone, which is public; the two constants
(three bins at least, one record per value) were found on the bundled sample, on Big5 and on simulated tables.
"""

from dataclasses import replace
from math import sinh, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.domain.column import Column
from dpcore.postprocess.simplex import rows_to_one

Rule = NDArray[np.integer[Any]]
FLOOR = 1e-6
FEWEST_BINS = 3  # with two, a class in the middle of the range cannot be told from the others
MOST_EPSILON = 50.0


def affordable_bins(people: float, epsilon: float, classes: int) -> int:
    """How many bins of a number can be told apart by class: sqrt(sqrt(people) sinh(epsilon / 2) / classes).

    Of `people` reports of class and bin as one value, a cell's share has the standard error
    s = 1 / (sqrt(people) sinh(epsilon / 2)), that of unary encoding. With b bins a cell holds about 1 / (classes b), so
    that its logarithm has the variance (s classes b)^2, and merging what is 1 / b apart has a squared bias of 1 / b^2,
    up to the square of the slope. The sum is least where b^4 = 1 / (s classes)^2.
    """
    wanted = sqrt(sqrt(people) * sinh(min(epsilon, MOST_EPSILON) / 2) / classes)
    return max(FEWEST_BINS, round(wanted))


def merging(column: Column, bins: int) -> Rule:
    """The new code of every code: neighboring bins of a number together, `bins` in all; "missing" on its own."""
    codes = np.arange(column.size)
    inside = column.size - column.missing
    if not column.numeric or inside <= bins:
        return codes
    return np.where(codes < inside, codes * bins // inside, bins)


def merged(column: Column, rule: Rule) -> Column:
    """The column with its bins merged by such a rule; a taxonomy of bins goes."""
    inside = column.size - column.missing
    if not column.numeric or rule[-1] == column.size - 1:
        return column
    cuts = column.edges[np.flatnonzero(np.diff(rule[:inside])) + 1]
    whole = np.ceil(cuts) if column.whole else cuts  # the same integers above and below
    return replace(column, bins=tuple(whole.tolist()), taxonomy=None)


def spread(table: Floats, rule: Rule) -> Floats:
    """P(code | class) from P(new code | class): evenly over the codes that were merged."""
    return np.asarray((table / np.bincount(rule))[:, rule])


def shrunk(joint: Floats, noise: Floats, prior: Floats, alpha: float) -> Floats:
    """P(value | class), where noise alone says nothing.

    The difference d = joint / prior - q of a class from all, with q the values' shares, has the variance v from noise.
    Before anybody reports, P(. | class) has a Dirichlet distribution around q that weighs as much as `alpha` records
    per value, k alpha together: the variance u = q (1 - q) / (k alpha + 1). The best linear estimate is then
    q + u / (u + v) d.

    Without noise, that is smoothing by `alpha` records per value, in the proportions of all classes together.

    `joint`, shape (classes, values), are shares of people, 0 or more; `noise` is v, from the public rules
    (`bayes_from_reports.joint_shares`), infinite if reports tell nothing; `prior` is positive.
    """
    share = joint.sum(axis=0)
    values = share / share.sum()
    if np.isinf(noise).any():
        return floored(np.tile(values, (len(prior), 1)))
    before = values * (1 - values) / (alpha * len(values) + 1)
    total = before + noise
    kept = np.divide(before, total, out=np.zeros_like(total), where=total > 0)
    return floored(values + kept * (joint / prior[:, None] - values))


def towards(noisy: Floats, before: Floats, variance: float) -> Floats:
    """Noisy cells moved towards what they were taken for before, by as much as noise of that variance makes likely.

    The positive-part estimate of James and Stein (1961): the difference d is kept by 1 - cells * variance / |d|^2, as
    the noise alone has a squared length of cells * variance in expectation.
    """
    difference = noisy - before
    length = float((difference**2).sum())
    kept = max(1 - noisy.size * variance / length, 0.0) if length else 0.0
    return before + kept * difference


def floored(distributions: Floats) -> Floats:
    """Rows that sum to 1, with nothing below `FLOOR` of it."""
    return rows_to_one(np.maximum(distributions, FLOOR))
