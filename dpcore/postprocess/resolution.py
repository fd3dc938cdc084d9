"""Merged values where noise would drown single ones, and shrinkage of noisy estimates.

Public rules, and post-processing of released answers: no private input, no privacy loss. Rules that
apply before people report, and `shrink_conditionals`, follow from the variance of the reports
alone, which is public. Their two constants (three bins at least, one record per value) were found
on the bundled sample, on Big5 and on simulated data.
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

ENOUGH = (4.0, 15.0, 60.0)  # least count of merged values, in noise scales, by resolution
MOST = 1e40  # largest variance; it stands for no information
MergeRule = NDArray[np.integer[Any]]
FLOOR = 1e-6
FEWEST_BINS = 3  # two bins cannot distinguish a class in the middle of the range
MOST_EPSILON = 50.0
MOST_GROUPS = 80  # of a column's values; a model of two such columns has 6,400 cells


class Resolution:
    """Values of a column at several resolutions, each a merge of the finer one.

    The model uses one of these resolutions, at first the coarsest. `marginal` has the column's
    counts, and `scale` and `variance` are those of their noise.
    """

    def __init__(self, column: Column, marginal: Floats, scale: float, variance: float) -> None:
        self.marginal, self.levels = marginal, [np.arange(len(marginal))]
        # variances of the counts; 0 for counts that are accurate enough
        self.variances = np.full(len(marginal), min(variance, MOST))
        for least in ENOUGH:
            self.levels.append(merge_more(self.levels[-1], marginal, least * scale, column))
        self.levels = self.levels[1:]
        finest = self.levels[0]
        self.sums = np.bincount(finest, weights=marginal).astype(float)  # counts of finest groups
        self.coarser = [level[np.unique(finest, return_index=True)[1]] for level in self.levels]
        self.ones = [one_hot(own) for own in self.coarser]
        self.sizes = [int(own.max()) + 1 for own in self.levels]
        self.level = len(self.levels) - 1

    @property
    def model_counts(self) -> Floats:
        """Counts of the column's merged values, as the model has them."""
        return self.counts(self.level)

    def average(self, level: int, noisy: Floats, variance: float) -> None:
        """Average the column's counts at `level` with `noisy` counts, weighted by inverse variance.

        `variance` is that of the noise on each noisy count. The total of the counts does not
        change.
        """
        groups, total = self.levels[level], float(self.marginal.sum())
        own, of_own = (np.bincount(groups, weights=each) for each in (self.marginal, self.variances))
        variance = min(variance, MOST)
        left = np.divide(variance, of_own + variance, out=np.ones_like(own), where=of_own > 0)
        new = project(own + (1 - left) * (noisy + (total - noisy.sum()) / len(noisy) - own), total) + TRACE
        self.marginal = np.maximum(self.marginal * (new * (total / new.sum()) / own)[groups], NOTHING)
        self.variances = self.variances * left[groups]
        self.sums = np.bincount(self.levels[0], weights=self.marginal).astype(float)

    @property
    def groups(self) -> Ints:
        """Merged value, in the model, of each value of the column."""
        return self.levels[self.level]

    def counts(self, level: int) -> Floats:
        """Return the column's counts at a level of resolution, one per merged value."""
        return np.asarray(self.ones[level] @ self.sums)

    @property
    def finest_shares(self) -> Floats:
        """P(finest group | the model's value), shape (model values, finest groups)."""
        return rows_to_one(one_hot(self.coarser[self.level]) * self.sums)

    def refine(self, level: int) -> Floats:
        """Change the model's resolution of the column to the finer `level`.

        Returns P(value at that level | the model's old value).
        """
        sums = np.bincount(self.coarser[level], weights=self.sums).astype(float)
        before, self.level = self.level, level
        return rows_to_one(one_hot(self.merge_map(before)) * sums)

    def merge_map(self, level: int) -> Ints:
        """Return, for each value of the model, the merged value at `level`, a coarser level."""
        first = np.unique(self.coarser[self.level], return_index=True)[1]
        return np.asarray(self.coarser[level][first])


def count_ordered_values(column: Column) -> int:
    """Return how many values of a column, from the first on, are in an order.

    These are all values but "missing" for numbers and ordered categories, otherwise none.
    """
    return column.size - column.missing if column.numeric or column.kind == "ordered" else 0


def merge_more(groups: Ints, marginal: Floats, least: float, column: Column) -> Ints:
    """Merge groups of values until each group counts at least `least` (`merge_rare`).

    `groups` has the group of each value, and `marginal` the noisy count of each value. "missing"
    stays apart, or joins the last group. At least two groups remain, if there are two, and about
    `MOST_GROUPS` at most. Ordered groups then count a certain part of all rows each; of unordered
    ones the most frequent stay apart.
    """
    counts = np.bincount(groups, weights=marginal).astype(float)
    if len(counts) < 3:
        return groups
    ordered = count_ordered_values(column) > 0
    # the last group has "missing" only, until it is merged with others
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
    """Return the number of bins that noise allows: sqrt(sqrt(people) sinh(epsilon / 2) / classes).

    Let `people` report class and bin as one value. By unary encoding, a cell's share has the
    standard error s = 1 / (sqrt(people) sinh(epsilon / 2)). With b bins a cell holds about 1 /
    (classes b), so its logarithm has the variance (s classes b)^2. Merging values 1 / b apart has a
    squared bias of 1 / b^2, up to the square of the slope. The sum is least where b^4 = 1 / (s
    classes)^2.
    """
    return max(FEWEST_BINS, round(sqrt(sqrt(people) * sinh(min(epsilon, MOST_EPSILON) / 2) / classes)))


def make_merge_rule(column: Column, bins: int) -> MergeRule:
    """Return the merged code of every code: neighboring bins of a number become `bins` bins.

    "missing" keeps a code of its own. Columns that are not numeric, or have no more bins than that,
    are not merged.
    """
    codes = np.arange(column.size)
    inside = column.size - column.missing
    if not column.numeric or inside <= bins:
        return codes
    return np.where(codes < inside, codes * bins // inside, bins)


def merge_bins(column: Column, rule: MergeRule) -> Column:
    """Return the column with its bins merged by `rule`, the merged code of every code.

    A taxonomy of bins is dropped.
    """
    inside = column.size - column.missing
    if not column.numeric or rule[-1] == column.size - 1:
        return column
    points = column.edges[np.flatnonzero(np.diff(rule[:inside])) + 1]
    whole = np.ceil(points) if column.whole else points  # splits integers alike
    return replace(column, bins=tuple(whole.tolist()), taxonomy=None)


def spread_evenly(table: Floats, rule: MergeRule) -> Floats:
    """Spread the probabilities of merged codes evenly over the codes that were merged.

    `table` is P(merged code | class); the result is P(code | class), shape (classes, codes). `rule`
    has the merged code of every code.
    """
    return np.asarray((table / np.bincount(rule))[:, rule])


def shrink_conditionals(joint: Floats, noise: Floats, prior: Floats, alpha: float) -> Floats:
    """Return P(value | class), shrunk to P(value) by as much as noise makes likely.

    The difference d = joint / prior - q of a class from all classes, with q the values' shares, has
    the variance v from noise. The prior of P(. | class) is a Dirichlet distribution around q that
    weighs as much as `alpha` records per value, k alpha in all: its variance is u = q (1 - q) / (k
    alpha + 1). The best linear estimate is then q + u / (u + v) d.

    Without noise it equals smoothing by `alpha` records per value, in the proportions of all
    classes together.

    `joint`, shape (classes, values), has shares of people, 0 or more. `noise` is v, from the public
    rules (`bayes_from_reports.joint_shares`), infinite if reports carry no information. `prior` is
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


def shrink_towards(noisy: Floats, before: Floats, variance: float) -> Floats:
    """Move noisy cells towards `before` by as much as noise of this variance makes likely.

    The positive-part estimate of James and Stein (1961): the difference d of `noisy` from `before`
    is multiplied by 1 - cells * variance / |d|^2, because the noise alone has an expected squared
    length of cells * variance.
    """
    difference = noisy - before
    length = float((difference**2).sum())
    kept = max(1 - noisy.size * variance / length, 0.0) if length else 0.0
    return before + kept * difference


def raise_to_floor(distributions: Floats) -> Floats:
    """Return distributions with no value below `FLOOR`, scaled to sum to 1 per row."""
    return rows_to_one(np.maximum(distributions, FLOOR))
