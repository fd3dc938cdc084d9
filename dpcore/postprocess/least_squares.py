"""Consistent counts on a tree by weighted least squares, exactly, in two passes. Post-processing.

The nodes of a public tree were measured with noise of different variances. Parents are the sums of
their children. The best linear unbiased estimate then takes a pass up (each node from its subtree
alone) and a pass down (children share the difference of their parent). With equal variances and one
fan-out these are the formulas of Hay et al. (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints


class TreeLeastSquares:
    """Public tree of counts, level by level.

    `parents[l][v]` is the position, in level l, of the parent of node v of level l + 1. A node
    without children is a leaf, at any level. Siblings need not be adjacent. Several roots make a
    forest. Values are given as one array per level.
    """

    def __init__(self, parents: Sequence[Ints], roots: int = 1) -> None:
        self.parents, self.sizes = parents, [roots, *map(len, parents)]
        children = [np.bincount(above, minlength=size) for above, size in zip(parents, self.sizes, strict=False)]
        self.leaves = [*(count == 0 for count in children), np.ones(self.sizes[-1], dtype=bool)]

    def fit(self, measured: Sequence[Floats], variances: Sequence[Floats | float]) -> ConsistentCounts:
        """Return the best linear unbiased estimate of all counts of a tree from noisy counts.

        `measured` has the noisy counts of each level, and `variances` the noise variances, an array
        or a number for each level. Variance 0 means exact. An infinite variance means not measured,
        and its value, which may be NaN, is ignored; leaves must be measured.
        """
        up, spread, sums, pooled = ([np.empty(0)] * len(self.sizes) for _ in range(4))
        for level in reversed(range(len(self.sizes))):
            leaf, variance = self.leaves[level], np.broadcast_to(variances[level], self.sizes[level])
            known = variance < np.inf
            value = np.where(known, measured[level], 0.0)
            # The sum of the children's estimates, and its variance; 0 at leaves.
            total, q = np.zeros((2, len(value)))
            if level < len(self.parents):
                total, q = self._sum_children(level, up[level + 1]), self._sum_children(level, spread[level + 1])
            # The measurement's weight: 1 at a leaf or for an exact count, 0 without a
            # measurement or if the children are exact.
            weight = np.divide(q, q + variance, out=leaf.astype(float), where=~leaf & known & (q > 0))
            up[level] = weight * value + (1.0 - weight) * total
            spread[level] = np.multiply(weight, variance, out=q.copy(), where=known)
            sums[level], pooled[level] = total, q
        counts, variance_of = up[:1], spread[:1]
        for level, above in enumerate(self.parents):
            share = _ratio(spread[level + 1], pooled[level][above])
            counts.append(up[level + 1] + share * (counts[level] - sums[level])[above])
            variance_of.append(spread[level + 1] * (1.0 - share) + share**2 * variance_of[level][above])
        return ConsistentCounts(self, counts, variance_of, up, spread)

    def sums(self, leaf_values: Sequence[Floats] | Floats) -> list[Floats]:
        """Return the total of the leaves below every node, one array per level.

        `leaf_values` has one array per level, of which only leaves are read; or it is one array for
        the last level, if all leaves are there.
        """
        totals = self._leaf_values(leaf_values)
        for level in reversed(range(len(self.parents))):
            totals[level] += self._sum_children(level, totals[level + 1])
        return totals

    def round_to_integers(self, counts: Sequence[Floats] | Floats) -> list[NDArray[np.int64]]:
        """Round non-negative counts of leaves so that children sum exactly to their parents.

        Largest remainder method, from the top. Roots go to the nearest integer, a half to the even
        one. Children are rounded down. Those that lost most get 1 back until they sum to their
        parent; ties go to the first. Only leaves are read, as in `sums`. Returns one integer array
        per level.
        """
        leaves = self._leaf_values(counts)
        # In fixed point, sums and remainders are exact, so children can always sum to their parent.
        unit = 2.0 ** np.floor(52 - np.log2(max(1.0, sum(float(v.sum()) for v in leaves))))
        precise = [total / unit for total in self.sums([np.rint(v * unit) for v in leaves])]
        whole = [np.rint(precise[0])]
        for level, above in enumerate(self.parents):
            rounded = np.floor(precise[level + 1])
            missing = whole[level] - self._sum_children(level, rounded)
            order = np.lexsort((rounded - precise[level + 1], above))
            family, size = above[order], np.bincount(above, minlength=self.sizes[level])
            rank = np.arange(len(above)) - (np.cumsum(size) - size)[family]
            rounded[order] += rank < missing[family]
            whole.append(rounded)
        return [numbers.astype(np.int64) for numbers in whole]

    def _sum_children(self, level: int, below: Floats) -> Floats:
        """Return, for every node of a level, the sum of its children's values `below`."""
        return np.asarray(np.bincount(self.parents[level], weights=below, minlength=self.sizes[level]), dtype=float)

    def _leaf_values(self, given: Sequence[Floats] | Floats) -> list[Floats]:
        """Return one array per level, with 0 at nodes that are not leaves.

        `given` has leaf values as `sums` takes them.
        """
        if isinstance(given, np.ndarray):
            given = [*map(np.zeros, self.sizes[:-1]), given]
        return [np.where(leaf, value, 0.0) for leaf, value in zip(self.leaves, given, strict=True)]


@dataclass(frozen=True, eq=False)
class ConsistentCounts:
    """Best linear unbiased estimate of all counts on a tree, with variances, level by level.

    `TreeLeastSquares.fit` returns it. Children sum to their parents. `upward` and
    `upward_variances` are the estimates of the first pass, from the leaves up: each node's from its
    subtree alone.
    """

    tree: TreeLeastSquares
    counts: list[Floats]
    variances: list[Floats]
    upward: list[Floats]
    upward_variances: list[Floats]

    def query_variance(self, leaf_weights: Sequence[Floats] | Floats) -> float:
        """Return the exact variance of a weighted sum of leaves, in one pass.

        Weights are given as in `TreeLeastSquares.sums`. The part of the query below a node is
        `slope` times the node's count, plus noise of variance `rest`. That noise is independent of
        the count and of everything outside the subtree.
        """
        tree, weights = self.tree, self.tree._leaf_values(leaf_weights)
        slope, rest = weights[-1], np.zeros(tree.sizes[-1])
        for level in reversed(range(len(tree.parents))):
            spread = self.upward_variances[level + 1]
            # Exact children are constants, for which any slope is correct: 0.
            joint = _ratio(tree._sum_children(level, slope * spread), tree._sum_children(level, spread))
            rest = tree._sum_children(level, rest + spread * (slope - joint[tree.parents[level]]) ** 2)
            slope = joint + weights[level]
        return float(slope**2 @ self.variances[0] + rest.sum())

    def non_negative(self) -> list[Floats]:
        """Return counts of 0 or more, with children summing to their parents.

        They are biased, but nearer the truth where most counts are small. From the top, each node's
        children get the nearest counts that sum to their parent, in squares divided by the
        variances of the pass up. A negative root becomes 0.
        """
        kept = [np.maximum(self.counts[0], 0.0)]
        for level in range(len(self.tree.parents)):
            kept.append(self._project_children(level, kept[level]))
        return kept

    def _project_children(self, level: int, totals: Floats) -> Floats:
        """Project the children of a level to the nearest non-negative counts that sum to `totals`.

        `totals` has one total per parent. The children are max(0, z + tau * variance), with the
        estimates z and variances from each node's subtree, and one tau per parent. Newton's method
        finds tau: each round drops, for good, the counts that are not positive. Some ten rounds are
        enough. No running sum over all families loses digits, as a sum over sorted breakpoints
        would.
        """
        above, z, variances = self.tree.parents[level], self.upward[level + 1], self.upward_variances[level + 1]
        # Exact counts stay, unless they alone exceed the total that a projection above left.
        fixed = np.where(variances > 0, 0.0, np.maximum(z, 0.0))
        claimed = self.tree._sum_children(level, fixed)
        fixed *= np.minimum(_ratio(totals, claimed), 1.0)[above]
        left = np.maximum(totals - claimed, 0.0)
        active = (variances > 0) & (left > 0)[above]
        while True:
            gap = left - self.tree._sum_children(level, z * active)
            adjusted = z + variances * _ratio(gap, self.tree._sum_children(level, variances * active))[above]
            if (adjusted[active] > 0).all():
                return np.where(active, adjusted, fixed)
            active &= adjusted > 0


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return the quotient part / whole, and 0 where the divisor is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
