"""Values that are merged where noise would drown them, before anybody reports and after, and what is left shrunk.

Public rules, and post-processing of released answers: no private input, no cost. What is done
before reports, and `shrunk`, follow from the variance of the reports alone, which is public; their
two constants (three bins at least, one record per value) were found on the bundled sample, on Big5
and on simulated tables.
"""

from dataclasses import replace
from math import sinh, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Column
from dpcore.postprocess.max_entropy import NOTHING, one_hot
from dpcore.postprocess.simplex import TRACE, merge_rare, project, rows_to_one

ENOUGH = (4.0, 15.0, 60.0)  # noise scales that merged values count, by resolution
MOST = 1e40  # a variance: nothing is known
MergeRule = NDArray[np.integer[Any]]
FLOOR = 1e-6
FEWEST_BINS = 3  # with two, a class in the middle of the range cannot be told from the others
MOST_EPSILON = 50.0
MOST_GROUPS = 80  # of a column's values, about: a model of two such columns has 6,400 cells


class Resolution:
    """A column's values at resolutions, each within the one before; a model has one of these, first the coarsest."""

    def __init__(self, column: Column, margin: Floats, scale: float, variance: float) -> None:
        self.margin, self.levels = margin, [np.arange(len(margin))]
        # of every count; 0 if it is known well enough
        self.variances = np.full(len(margin), min(variance, MOST))
        for least in ENOUGH:
            self.levels.append(merge_more(self.levels[-1], margin, least * scale, column))
        self.levels = self.levels[1:]
        finest = self.levels[0]
        self.sums = np.bincount(finest, weights=margin).astype(float)  # of the finest groups
        self.coarser = [level[np.unique(finest, return_index=True)[1]] for level in self.levels]
        self.ones = [one_hot(own) for own in self.coarser]
        self.sizes = [int(own.max()) + 1 for own in self.levels]
        self.level = len(self.levels) - 1

    @property
    def known(self) -> Floats:
        """The counts of the model's values."""
        return self.counts(self.level)

    def average(self, level: int, said: Floats, variance: float) -> None:
        """Average counts at a level with noisy ones of that variance, by inverse variance; their total stays."""
        groups, total = self.levels[level], float(self.margin.sum())
        own, of_own = (np.bincount(groups, weights=each) for each in (self.margin, self.variances))
        variance = min(variance, MOST)
        left = np.divide(variance, of_own + variance, out=np.ones_like(own), where=of_own > 0)
        new = project(own + (1 - left) * (said + (total - said.sum()) / len(said) - own), total) + TRACE
        self.margin = np.maximum(self.margin * (new * (total / new.sum()) / own)[groups], NOTHING)
        self.variances = self.variances * left[groups]
        self.sums = np.bincount(self.levels[0], weights=self.margin).astype(float)

    @property
    def groups(self) -> Ints:
        """The model's value of each value."""
        return self.levels[self.level]

    def counts(self, level: int) -> Floats:
        """The counts at a level."""
        return np.asarray(self.ones[level] @ self.sums)

    @property
    def spread(self) -> Floats:
        """P(finest group | the model's value)."""
        return rows_to_one(one_hot(self.coarser[self.level]) * self.sums)

    def refined(self, level: int) -> Floats:
        """P(value at a finer level | the model's value); the model has that level from now on."""
        sums = np.bincount(self.coarser[level], weights=self.sums).astype(float)
        before, self.level = self.level, level
        return rows_to_one(one_hot(self.merge_to(before)) * sums)

    def merge_to(self, level: int) -> Ints:
        """The value at a level of each of the model's values, which are as fine."""
        first = np.unique(self.coarser[self.level], return_index=True)[1]
        return np.asarray(self.coarser[level][first])


def neighbors(column: Column) -> int:
    """How many of a column's values, from the first on, are in an order: all but "missing", or none."""
    return column.size - column.missing if column.numeric or column.kind == "ordered" else 0


def merge_more(groups: Ints, marginal: Floats, least: float, column: Column) -> Ints:
    """Groups of values merged until each counts so much (`merge_rare`); "missing" stays apart, or joins the last.

    Two groups are left at least, if there are two, and about `MOST_GROUPS` at most: ordered ones
    count a part of all rows each, of others the most frequent stay apart.
    """
    counts = np.bincount(groups, weights=marginal).astype(float)
    if len(counts) < 3:
        return groups
    ordered = neighbors(column) > 0
    # the last group has "missing" alone until it is merged with others
    missing_last = ordered and column.missing
    least = max(least, float(counts.sum()) / MOST_GROUPS) if ordered else least
    merge = merge_rare(counts[:-1] if missing_last else counts, least, ordered=ordered, most=MOST_GROUPS - 1)
    if missing_last:
        merge = np.append(merge, merge[-1] + (counts[-1] >= least / 2))
    if merge.max() == 0:
        merge = (np.cumsum(counts) > counts.sum() / 2).astype(np.intp)
        merge[0], merge[-1] = 0, 1
    return merge[groups]


def affordable_bins(people: float, epsilon: float, classes: int) -> int:
    """How many bins of a number can be told apart by class: sqrt(sqrt(people) sinh(epsilon / 2) / classes).

    Of `people` reports of class and bin as one value, a cell's share has the standard error
    s = 1 / (sqrt(people) sinh(epsilon / 2)), that of unary encoding. With b bins a cell holds about
    1 / (classes b), so that its logarithm has the variance (s classes b)^2, and merging what is
    1 / b apart has a squared bias of 1 / b^2, up to the square of the slope. The sum is least where
    b^4 = 1 / (s classes)^2.
    """
    wanted = sqrt(sqrt(people) * sinh(min(epsilon, MOST_EPSILON) / 2) / classes)
    return max(FEWEST_BINS, round(wanted))


def merging(column: Column, bins: int) -> MergeRule:
    """The new code of every code: neighboring bins of a number together, `bins` in all; "missing" on its own."""
    codes = np.arange(column.size)
    inside = column.size - column.missing
    if not column.numeric or inside <= bins:
        return codes
    return np.where(codes < inside, codes * bins // inside, bins)


def merge_bins(column: Column, rule: MergeRule) -> Column:
    """The column with its bins merged by such a rule; a taxonomy of bins goes."""
    inside = column.size - column.missing
    if not column.numeric or rule[-1] == column.size - 1:
        return column
    points = column.edges[np.flatnonzero(np.diff(rule[:inside])) + 1]
    whole = np.ceil(points) if column.whole else points  # the same integers above and below
    return replace(column, bins=tuple(whole.tolist()), taxonomy=None)


def spread(table: Floats, rule: MergeRule) -> Floats:
    """P(code | class) from P(new code | class): evenly over the codes that were merged."""
    return np.asarray((table / np.bincount(rule))[:, rule])


def shrunk(joint: Floats, noise: Floats, prior: Floats, alpha: float) -> Floats:
    """P(value | class), where noise alone says nothing.

    The difference d = joint / prior - q of a class from all, with q the values' shares, has the
    variance v from noise. Before anybody reports, P(. | class) has a Dirichlet distribution around
    q that weighs as much as `alpha` records per value, k alpha together: the variance u = q
    (1 - q) / (k alpha + 1). The best linear estimate is then q + u / (u + v) d.

    Without noise, that is smoothing by `alpha` records per value, in the proportions of all classes
    together.

    `joint`, shape (classes, values), are shares of people, 0 or more; `noise` is v, from the public
    rules (`bayes_from_reports.joint_shares`), infinite if reports tell nothing; `prior` is
    positive.
    """
    share = joint.sum(axis=0)
    values = share / share.sum()
    if np.isinf(noise).any():
        return raise_to_floor(np.tile(values, (len(prior), 1)))
    before = values * (1 - values) / (alpha * len(values) + 1)
    total = before + noise
    kept = np.divide(before, total, out=np.zeros_like(total), where=total > 0)
    return raise_to_floor(values + kept * (joint / prior[:, None] - values))


def towards(noisy: Floats, before: Floats, variance: float) -> Floats:
    """Noisy cells moved towards what they were taken for before, by as much as noise of that variance makes likely.

    The positive-part estimate of James and Stein (1961): the difference d is kept by
    1 - cells * variance / |d|^2, as the noise alone has a squared length of cells * variance in
    expectation.
    """
    difference = noisy - before
    length = float((difference**2).sum())
    kept = max(1 - noisy.size * variance / length, 0.0) if length else 0.0
    return before + kept * difference


def raise_to_floor(distributions: Floats) -> Floats:
    """Rows that sum to 1, with nothing below `FLOOR` of it."""
    return rows_to_one(np.maximum(distributions, FLOOR))
