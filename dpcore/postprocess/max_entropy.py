"""Consistent marginals from noisy ones, and the maximum-entropy distribution with these marginals.

The distribution (`MaximalEntropy`)
-----------------------------------
Of all joint distributions with some given marginals, the one of maximal entropy assumes nothing
else. It is a product of factors on these marginals (a log-linear model). So it factorizes over a
junction tree of the graph that joins the columns of each marginal. It is stored as one table per
clique (`beliefs`); two cliques agree on the columns that they share.

Marginals are fitted one after the other by iterative proportional fitting (Deming and Stephan 1940;
on junction trees: Jiroušek and Přeučil 1995): the clique's belief is multiplied by target / present
marginal. A sweep walks the tree, and each clique takes over the marginal on its separator from the
clique before. This is coordinate ascent on the concave dual, and converges to the maximum if the
targets agree on shared columns. `sweep` returns the distance of the marginals from their targets.

Targets may be marginals of merged values. Differences between merged values then come from targets
that do not merge them.

The marginals it is fitted to (`NoisyTables`)
---------------------------------------------
Marginals are of any columns. The variance of their noise is known: one number for all cells or, for
single columns, one for each cell.

1  Noisy marginals of the same columns are averaged by inverse variance.
2  Every set of columns that marginals share is treated in turn, smaller sets first (the empty set
   is the total, unless it is public). The marginals on the set are averaged by inverse variance.
   Each table takes its difference in equal steps over its cells (in proportion to their variance).
   Earlier averages stay unchanged. This is PriView's consistency (Qardaji, Yang and Li 2014), whose
   weights depend on numbers of cells alone.
3  From smaller to larger sets, the shared marginals and then the tables themselves are projected in
   turn, `TURNS` times, on the smaller sets' marginals and on the nearest table without negative
   cells. Then they are fitted to the smaller sets' marginals by iterative proportional fitting.
4  `MaximalEntropy` is fitted to the tables, or to marginals of them. Bayesian networks use the
   tables directly.

Private-PGM (McKenna, Sheldon and Miklau 2019) solves all of this as one least-squares problem over
marginals of distributions. Steps 1 to 3 are its projections, one after the other, so no step needs
a thousand gradient steps.

Post-processing: no private input, no privacy loss. Columns are positions, and a clique is a sorted
tuple of positions. Tables of a distribution are shares, which sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import gt
from typing import Any

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.mechanisms.scores import merged_counts
from dpcore.postprocess import junction_tree
from dpcore.postprocess.bayes_net import marginal_of
from dpcore.postprocess.junction_tree import Clique, Edge
from dpcore.postprocess.simplex import TRACE, project

PartTables = dict[tuple[int, frozenset[int]], tuple[Floats, Clique]]

LEAST = 1e-300
LEAST_VARIANCE, MOST_VARIANCE = 1e-12, 1e24  # of nearly no noise, and of nearly no epsilon
NOTHING = 1e-200  # least count; products of smaller ones would underflow
TURNS, FITS = 3, 10
SMALL = 1e-5  # L1 distance from a target that counts as none


@dataclass
class TargetMarginal:
    """Marginal of some columns that the model is fitted to.

    `merges` has for each axis of `table` the merged value of every value that the column has in the
    model.
    """

    clique: Clique
    merges: list[Ints]
    table: Floats


class MaximalEntropy:
    """Maximum-entropy distribution over columns, stored on a junction tree.

    Without `cliques` the columns are independent at first, with the given marginals, one per
    column. With `cliques` the tables are those of a junction tree's cliques.
    """

    def __init__(self, tables: Sequence[Floats], cliques: Sequence[Clique] | None = None) -> None:
        self.targets: list[TargetMarginal] = []
        self._set_cliques(list(cliques or ((j,) for j in range(len(tables)))), list(tables))

    @property
    def sizes(self) -> list[int]:
        """Number of values of each column in the model."""
        pairs = zip(self.cliques, self.beliefs, strict=True)
        found = {j: size for clique, belief in pairs for j, size in zip(clique, belief.shape, strict=True)}
        return [found[j] for j in range(len(found))]

    def add_target(self, clique: Clique, merges: Sequence[Ints], table: Floats) -> None:
        """Add a target marginal of the columns in `clique`, which later sweeps fit.

        The distribution does not change before the next sweep. The target replaces one of the same
        columns that is as coarse, or coarser, along every axis.
        """
        edges = junction_tree.pairs_within(self.cliques) | set(combinations(clique, 2))
        cliques = junction_tree.triangulate(edges, self.sizes)
        kept = [t for t in self.targets if t.clique != clique or any(map(gt, t.table.shape, table.shape))]
        self.targets = [*kept, TargetMarginal(clique, list(merges), table)]
        self._set_cliques(cliques, [self.marginal(clique) for clique in cliques])

    def refine(self, column: int, within: Floats) -> None:
        """Split the values of a column into finer ones, by P(new value | old value).

        `within` has the shape (old, new); each new value belongs to one old value.
        """
        for i, (clique, belief) in enumerate(zip(self.cliques, self.beliefs, strict=True)):
            if column in clique:
                axis = clique.index(column)
                self.beliefs[i] = np.moveaxis(np.tensordot(belief, within, (axis, 0)), -1, axis)
        for target in self.targets:
            if column in target.clique:
                axis = target.clique.index(column)
                target.merges[axis] = target.merges[axis][within.argmax(axis=0)]

    def _set_cliques(self, cliques: list[Clique], beliefs: list[Floats]) -> None:
        """Store the distribution on a junction tree of these cliques.

        `beliefs` has the marginal of each clique.
        """
        tables = dict(zip(cliques, beliefs, strict=True))
        self.cliques, self.parents = junction_tree.junction_tree(cliques)
        self.beliefs = [tables[clique] for clique in self.cliques]
        self._separators: list[Clique] = [
            tuple(j for j in clique if parent >= 0 and j in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        ]
        self._children: list[list[int]] = [[] for _ in self.cliques]
        self._subtree_columns = [frozenset(clique) for clique in self.cliques]  # columns of each subtree
        for child in reversed(range(1, len(self.cliques))):
            self._children[self.parents[child]].insert(0, child)
            self._subtree_columns[self.parents[child]] |= self._subtree_columns[child]
        self._clique_targets: list[list[TargetMarginal]] = [[] for _ in self.cliques]
        for target in self.targets:
            holders = [i for i, own in enumerate(self.cliques) if {*target.clique} <= {*own}]
            self._clique_targets[min(holders, key=lambda i: self.beliefs[i].size)].append(target)

    def marginal(self, clique: Clique, known: PartTables | None = None) -> Floats:
        """Return the marginal of any columns of the model, as probabilities.

        It is summed over the other columns up the junction tree, to the clique where all paths
        meet. `known` keeps conditional tables of subtrees for later calls.
        """
        meet = max(i for i, below in enumerate(self._subtree_columns) if below >= set(clique))
        table, columns = self._subtree_marginal(meet, frozenset(clique), {} if known is None else known)
        return np.ascontiguousarray(table.transpose([columns.index(j) for j in clique]))

    def _subtree_marginal(self, i: int, wanted: frozenset[int], known: PartTables) -> tuple[Floats, Clique]:
        """Return the marginal of the `wanted` columns within a subtree, and its columns.

        `known` keeps conditional tables of subtrees for later calls.
        """
        operands: list[tuple[Floats, Clique]] = [(self.beliefs[i], self.cliques[i])]
        for child in self._children[i]:
            shared = self._separators[child]
            if own := (wanted & self._subtree_columns[child]).difference(shared):
                if (child, own) not in known:
                    table, clique = self._subtree_marginal(child, own.union(shared), known)
                    given = _align_axes(marginal_of(*operands[0], shared), shared, clique)
                    known[child, own] = table / np.maximum(given, LEAST), clique
                operands.append(known[child, own])
        kept = tuple(dict.fromkeys(j for _, clique in operands for j in clique if j in wanted))
        return _sum_product(operands, kept), kept

    def pairs(self) -> dict[Edge, Floats]:
        """Return the marginals of all pairs of columns."""
        known, part = PartTables(), junction_tree.connected_parts(self.cliques)
        one = [self.marginal((j,)) for j in range(len(self.sizes))]
        return {
            (a, b): self.marginal((a, b), known) if part[a] is part[b] else np.outer(one[a], one[b])
            for a, b in combinations(range(len(one)), 2)
        }

    def sweep(self) -> float:
        """Fit every target marginal once or twice, by iterative proportional fitting.

        Returns the largest L1 distance of a marginal from its target before the fit.
        """
        worst = self._sweep_subtree(0)
        for child in range(1, len(self.cliques)):
            self._pass_marginal(self.parents[child], child, self._separators[child])
        return worst

    def fit(self, sweeps: int) -> float:
        """Sweep until all marginals match their targets, at most `sweeps` times.

        Returns the largest L1 distance of a marginal from its target in the last sweep.
        """
        worst = np.inf
        for _ in range(sweeps):
            worst = self.sweep()
            if worst < SMALL:
                break
        return worst

    def _sweep_subtree(self, i: int) -> float:
        """Fit all target marginals of a subtree of the junction tree.

        Returns the largest L1 distance of a marginal from its target before the fit.
        """
        worst = self._fit_clique(i)
        for child in self._children[i]:
            self._pass_marginal(i, child, self._separators[child])
            worst = max(worst, self._sweep_subtree(child))
            self._pass_marginal(child, i, self._separators[child])
        if self._children[i]:
            self._fit_clique(i)
        return worst

    def _pass_marginal(self, source: int, target: int, shared: Clique) -> None:
        """Give clique `target` the marginal that clique `source` has on their separator."""
        wanted = marginal_of(self.beliefs[source], self.cliques[source], shared)
        present = marginal_of(self.beliefs[target], self.cliques[target], shared)
        ratio = wanted / np.maximum(present, LEAST)
        self.beliefs[target] = self.beliefs[target] * _align_axes(ratio, shared, self.cliques[target])

    def _fit_clique(self, i: int) -> float:
        """Fit one clique's table to its target marginals, one after the other.

        Returns the largest L1 distance of a marginal from its target before the fit.
        """
        worst, clique = 0.0, self.cliques[i]
        for target in self._clique_targets[i]:
            present = merge_values(marginal_of(self.beliefs[i], clique, target.clique), target.merges)
            worst = max(worst, float(np.abs(present - target.table).sum()))
            ratio = (target.table / np.maximum(present, LEAST))[np.ix_(*target.merges)]
            self.beliefs[i] = self.beliefs[i] * _align_axes(ratio, target.clique, clique)
        return worst


def merge_values(table: Floats, merges: Sequence[Ints]) -> Floats:
    """Return a table after merging values; `merges` has the new value of every value per axis."""
    return merged_counts(table, merges, {})


def one_hot(merge: Ints) -> Floats:
    """Return a 0/1 matrix of shape (merged values, values).

    `merge` has the merged value of every value.
    """
    return np.asarray((np.arange(merge.max() + 1)[:, None] == merge).astype(float))


def _sum_product(operands: Sequence[tuple[Floats, Clique]], kept: Clique) -> Floats:
    """Return the product of tables, summed over all columns except `kept`.

    Each operand is a pair: a table and its columns.
    """
    columns = list(dict.fromkeys(j for _, clique in operands for j in clique))
    labeled: list[Any] = [part for table, own in operands for part in (table, [columns.index(j) for j in own])]
    wanted = [columns.index(j) for j in kept]
    return np.asarray(np.einsum(*labeled, wanted, optimize=len(operands) > 1))


def _align_axes(table: Floats, clique: Clique, columns: Sequence[int]) -> Floats:
    """Reshape a clique's table to one axis per column of `columns`, for products with such tables.

    Columns that the clique lacks get an axis of length 1.
    """
    shape = [table.shape[clique.index(j)] if j in clique else 1 for j in columns]
    return table.transpose([clique.index(j) for j in columns if j in clique]).reshape(shape)


class NoisyTables:
    """Noisy marginals of one release, to which a maximum-entropy model is fitted.

    The number of rows is known if it is public.
    """

    def __init__(self, public: float | None) -> None:
        self.public, self.rows = public, float(public or 1)
        self._cells: dict[Clique, Floats] = {}
        self._precision: dict[Clique, Floats] = {}  # of every cell

    def add(self, clique: Clique, cells: Floats, variance: float | Floats) -> None:
        """Add a noisy marginal; every column needs one before the first `fit`."""
        new = 1 / np.clip(np.broadcast_to(variance, cells.shape), LEAST_VARIANCE, MOST_VARIANCE)
        before = self._precision.get(clique, np.zeros(cells.shape))
        self._precision[clique] = before + new
        self._cells[clique] = (self._cells.get(clique, cells) * before + cells * new) / (before + new)

    def consistent_tables(self) -> dict[Clique, Floats]:
        """Return the measured marginals made consistent, as positive counts.

        Any two agree on their shared columns, up to a few rounds of proportional fitting. Sets
        `rows` to their total.
        """
        tables = consistent(self._cells, self._precision, self.public)
        self.rows = max(float(next(iter(tables.values())).sum()), 1.0)
        found: dict[Clique, Floats] = {}
        for clique in [*intersections(tables)[1:], *sorted(tables, key=len)]:
            if clique not in found:
                within = {other: table for other, table in found.items() if set(other) < set(clique)}
                found[clique] = project_near(marginal_from(tables, clique), clique, within, self.rows)
        return {clique: found[clique] for clique in tables}

    def fit(self, sweeps: int, cliques: Iterable[Clique] | None = None) -> None:
        """Fit `model` to the consistent marginals, or to those of `cliques` only.

        Each clique's columns must be within those of one marginal. At most `sweeps` times all
        marginals are fitted. A model from an earlier call is the starting point.
        """
        agreed = {clique: counts / self.rows for clique, counts in self.consistent_tables().items()}
        tables = {clique: marginal_from(agreed, clique) for clique in cliques or agreed}
        if not hasattr(self, "model"):
            columns = range(1 + max(map(max, agreed)))
            self.model = MaximalEntropy([marginal_from(agreed, (j,)) for j in columns])
        for target in self.model.targets:
            target.table = tables.pop(target.clique)
        for clique, table in tables.items():
            self.model.add_target(clique, [np.arange(size) for size in table.shape], table)
        self.model.fit(sweeps)

    def expected_counts(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Return the model's marginals of single columns and pairs, as counts."""
        pairs = self.model.pairs()
        return [pairs[clique] * self.rows if clique in pairs else self.counts(clique) for clique in cliques]

    def counts(self, clique: Clique) -> Floats:
        """Return the fitted model's marginal of some columns, as counts."""
        return self.model.marginal(clique) * self.rows


def project_near(table: Floats, clique: Clique, known: Mapping[Clique, Floats], total: float) -> Floats:
    """Return a table without negative cells near a noisy one, with sum `total`.

    `known` has marginals of some of its columns, with positive cells, which the result has
    approximately.
    """
    others = {shared: tuple(axis for axis, j in enumerate(clique) if j not in shared) for shared in known}
    for _ in range(TURNS if known else 0):
        for shared, axes in others.items():
            missing = np.expand_dims(known[shared] - table.sum(axis=axes), axes)
            table = table + missing * (known[shared].size / table.size)
        table = project(table, total)
    found = project(table, total) + TRACE
    for _ in range(FITS):
        for shared, axes in others.items():
            found = np.maximum(found * np.expand_dims(known[shared] / found.sum(axis=axes), axes), NOTHING)
    found *= total / found.sum()
    return found


def marginal_from(tables: Mapping[Clique, Floats], clique: Clique) -> Floats:
    """Return the marginal of some columns from the first table that contains them."""
    holder = next(held for held in tables if set(clique) <= set(held))
    return marginal_of(tables[holder], holder, clique)


def consistent(
    tables: Mapping[Clique, Floats], precision: Mapping[Clique, Floats], total: float | None
) -> dict[Clique, Floats]:
    """Return tables changed by least squares to agree on shared columns; cells may be negative.

    `precision` has the inverse variance of every cell. `total` is the sum of every table, if it is
    public.
    """
    weighted = dict(tables)
    for shared in intersections(tables):
        held = {clique: 1 / precision[clique] for clique in tables if set(shared) <= set(clique)}
        spread = {clique: marginal_of(variance, clique, shared) for clique, variance in held.items()}
        present = {clique: marginal_of(weighted[clique], clique, shared) for clique in held}
        weights = sum(1 / variance for variance in spread.values())
        wanted = sum(present[clique] / variance for clique, variance in spread.items()) / weights
        if not shared and total is not None:
            wanted = np.asarray(float(total))
        for clique, variance in held.items():
            others = tuple(axis for axis, j in enumerate(clique) if j not in shared)
            step = np.expand_dims((wanted - present[clique]) / spread[clique], others)
            weighted[clique] = weighted[clique] + step * variance
    return weighted


def intersections(cliques: Iterable[Clique]) -> list[Clique]:
    """Return every set of columns in which two or more cliques meet, smaller sets first.

    They are the intersections of cliques. The empty set is always included.
    """
    sets = [frozenset(clique) for clique in cliques]
    found: set[frozenset[int]] = {frozenset()}
    new = {a & b for a, b in combinations(sets, 2)} - found
    while new:
        found |= new
        new = {a & b for a in new for b in sets} - found
    return sorted((tuple(sorted(shared)) for shared in found), key=lambda shared: (len(shared), shared))
