"""How a column's values are merged where noise would drown them, finer and coarser.

Post-processing of released margins: no private input, no cost.
"""

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Column
from dpcore.postprocess.max_entropy import one_hot
from dpcore.postprocess.noisy_tables import NOTHING
from dpcore.postprocess.simplex import TRACE, merge_rare, project, rows_to_one

ENOUGH = (4.0, 15.0, 60.0)  # noise scales that merged values count, by resolution
MOST = 1e40  # a variance: nothing is known
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
        own = self._between(self.level, level)
        self.level = level
        return rows_to_one(one_hot(own) * sums)

    def merge_to(self, level: int) -> Ints:
        """The value at a level of each of the model's values, which are as fine."""
        return self._between(level, self.level)

    def _between(self, coarse: int, fine: int) -> Ints:
        first = np.unique(self.coarser[fine], return_index=True)[1]
        return np.asarray(self.coarser[coarse][first])


def neighbors(column: Column) -> int:
    """How many of a column's values, from the first on, are in an order: all but "missing", or none."""
    return column.size - column.missing if column.numeric or column.kind == "ordered" else 0


def merge_more(groups: Ints, margin: Floats, least: float, column: Column) -> Ints:
    """Groups of values merged until each counts so much (`merge_rare`); "missing" stays apart, or joins the last.

    Two groups are left at least, if there are two, and about `MOST_GROUPS` at most: ordered ones count a part of all
    rows each, of others the most frequent stay apart.
    """
    counts = np.bincount(groups, weights=margin).astype(float)
    if len(counts) < 3:
        return groups
    ordered = neighbors(column) > 0
    # the last group has "missing" alone until it is merged with others
    apart = ordered and column.missing
    least = max(least, float(counts.sum()) / MOST_GROUPS) if ordered else least
    merge = merge_rare(counts[:-1] if apart else counts, least, ordered=ordered, most=MOST_GROUPS - 1)
    if apart:
        merge = np.append(merge, merge[-1] + (counts[-1] >= least / 2))
    if merge.max() == 0:
        merge = (np.cumsum(counts) > counts.sum() / 2).astype(np.intp)
        merge[0], merge[-1] = 0, 1
    return merge[groups]
