"""Counts on a tree made consistent: weighted least squares, exactly, in two passes. No private input, no cost.

The nodes of a public tree were measured with noise of different variances. Given that parents are
sums of children, the best linear unbiased estimate takes a pass up (each node from its subtree
alone) and one down (a family shares out what its parent adds). With equal variances and one fan-out
these are the formulas of Hay et al. (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints


class TreeLeastSquares:
    """A public tree of counts, level by level.

    `parents[l][v]` is the place, in level l, of the parent of node v of level l + 1. A node without
    children is a leaf, at whatever level; siblings need not be adjacent; several roots make a
    forest. Values are an array per level.
    """

    def __init__(self, parents: Sequence[Ints], roots: int = 1) -> None:
        self.parents, self.sizes = parents, [roots, *map(len, parents)]
        children = [np.bincount(above, minlength=size) for above, size in zip(parents, self.sizes, strict=False)]
        self.leaves = [*(count == 0 for count in children), np.ones(self.sizes[-1], dtype=bool)]

    def fit(self, measured: Sequence[Floats], variances: Sequence[Floats | float]) -> Consistent:
        """The best linear unbiased estimate of all counts; a number as a variance holds for its whole level.

        Variance 0: exact. Infinite: not measured, and the value, which may be NaN, is ignored; not
        for leaves.
        """
        up, spread, sums, pooled = ([np.empty(0)] * len(self.sizes) for _ in range(4))
        for level in reversed(range(len(self.sizes))):
            leaf, variance = self.leaves[level], np.broadcast_to(variances[level], self.sizes[level])
            known = variance < np.inf
            value = np.where(known, measured[level], 0.0)
            # What the children say of the node: the sum of their estimates, and its variance. Nothing at leaves.
            total, q = np.zeros((2, len(value)))
            if level < len(self.parents):
                total, q = self._over_children(level, up[level + 1]), self._over_children(level, spread[level + 1])
            # The measurement's weight: 1 at a leaf or for an exact count, 0 if there is none or the children are exact.
            weight = np.divide(q, q + variance, out=leaf.astype(float), where=~leaf & known & (q > 0))
            up[level] = weight * value + (1.0 - weight) * total
            spread[level] = np.multiply(weight, variance, out=q.copy(), where=known)
            sums[level], pooled[level] = total, q
        counts, variance_of = up[:1], spread[:1]
        for level, above in enumerate(self.parents):
            share = _ratio(spread[level + 1], pooled[level][above])
            counts.append(up[level + 1] + share * (counts[level] - sums[level])[above])
            variance_of.append(spread[level + 1] * (1.0 - share) + share**2 * variance_of[level][above])
        return Consistent(self, counts, variance_of, up, spread)

    def sums(self, leaf_values: Sequence[Floats] | Floats) -> list[Floats]:
        """The total of the leaves below every node.

        One array per level, of which only leaves are read; or one array for the last level, if all
        leaves are there.
        """
        totals = self._leaf_values(leaf_values)
        for level in reversed(range(len(self.parents))):
            totals[level] += self._over_children(level, totals[level + 1])
        return totals

    def whole_numbers(self, counts: Sequence[Floats] | Floats) -> list[NDArray[np.int64]]:
        """Non-negative counts rounded up or down, children summing to parents exactly: largest remainder, from the top.

        Roots go to the nearest integer, a half to the even one. Children are rounded down, and
        those that lost most get one back until they make up their parent; ties go to the first.
        Only leaves are read, as in `sums`.
        """
        leaves = self._leaf_values(counts)
        # In fixed point, sums and remainders are free of rounding, so no parent is out of its children's reach.
        unit = 2.0 ** np.floor(52 - np.log2(max(1.0, sum(float(v.sum()) for v in leaves))))
        precise = [total / unit for total in self.sums([np.rint(v * unit) for v in leaves])]
        whole = [np.rint(precise[0])]
        for level, above in enumerate(self.parents):
            rounded = np.floor(precise[level + 1])
            missing = whole[level] - self._over_children(level, rounded)
            order = np.lexsort((rounded - precise[level + 1], above))
            family, size = above[order], np.bincount(above, minlength=self.sizes[level])
            rank = np.arange(len(above)) - (np.cumsum(size) - size)[family]
            rounded[order] += rank < missing[family]
            whole.append(rounded)
        return [numbers.astype(np.int64) for numbers in whole]

    def _over_children(self, level: int, below: Floats) -> Floats:
        return np.asarray(np.bincount(self.parents[level], weights=below, minlength=self.sizes[level]), dtype=float)

    def _leaf_values(self, given: Sequence[Floats] | Floats) -> list[Floats]:
        if isinstance(given, np.ndarray):
            given = [*map(np.zeros, self.sizes[:-1]), given]
        return [np.where(leaf, value, 0.0) for leaf, value in zip(self.leaves, given, strict=True)]


@dataclass(frozen=True, eq=False)
class Consistent:
    """What `TreeLeastSquares.fit` found: estimates of all counts, sums of children equal to parents, and variances.

    `upward` and `upward_variances` are those of the pass up: what each node's subtree alone says of
    it.
    """

    tree: TreeLeastSquares
    counts: list[Floats]
    variances: list[Floats]
    upward: list[Floats]
    upward_variances: list[Floats]

    def query_variance(self, leaf_weights: Sequence[Floats] | Floats) -> float:
        """The exact variance of a weighted sum of leaves (weights as in `TreeLeastSquares.sums`), in one pass.

        The part of the query below a node is `slope` times the node's count, plus noise of variance
        `rest` that is independent of that count and of all outside the subtree.
        """
        tree, weights = self.tree, self.tree._leaf_values(leaf_weights)
        slope, rest = weights[-1], np.zeros(tree.sizes[-1])
        for level in reversed(range(len(tree.parents))):
            spread = self.upward_variances[level + 1]
            # Exact children are constants: any slope does, so it is 0.
            joint = _ratio(tree._over_children(level, slope * spread), tree._over_children(level, spread))
            rest = tree._over_children(level, rest + spread * (slope - joint[tree.parents[level]]) ** 2)
            slope = joint + weights[level]
        return float(slope**2 @ self.variances[0] + rest.sum())

    def non_negative(self) -> list[Floats]:
        """Counts of 0 or more, children summing to parents. Biased, but nearer the truth where most counts are small.

        From the top, each family's nearest counts that sum to its parent, in squares divided by the
        variances of the pass up; a negative root becomes 0.
        """
        kept = [np.maximum(self.counts[0], 0.0)]
        for level in range(len(self.tree.parents)):
            kept.append(self._project(level, kept[level]))
        return kept

    def _project(self, level: int, totals: Floats) -> Floats:
        """Each family's max(0, z + tau * variance), of the pass up, with the tau that makes it sum to its total.

        Newton's method on the convex, piecewise linear sum: a round drops, for good, the counts
        that are not positive. Some ten rounds do, and no running sum over all families loses
        digits, as one over sorted breakpoints would.
        """
        above, z, variances = self.tree.parents[level], self.upward[level + 1], self.upward_variances[level + 1]
        # Exact counts stay, unless they alone exceed what a projection above has left of the total.
        fixed = np.where(variances > 0, 0.0, np.maximum(z, 0.0))
        claimed = self.tree._over_children(level, fixed)
        fixed *= np.minimum(_ratio(totals, claimed), 1.0)[above]
        left = np.maximum(totals - claimed, 0.0)
        active = (variances > 0) & (left > 0)[above]
        while True:
            gap = left - self.tree._over_children(level, z * active)
            adjusted = z + variances * _ratio(gap, self.tree._over_children(level, variances * active))[above]
            if (adjusted[active] > 0).all():
                return np.where(active, adjusted, fixed)
            active &= adjusted > 0


def _ratio(part: Floats, whole: Floats) -> Floats:
    """The quotient, and 0 where the divisor is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
