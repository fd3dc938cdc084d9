r"""Noisy tables of columns that are made to agree, and the distribution of maximal entropy with what they then say.

The distribution (`MaximalEntropy`)
-----------------------------------
Of all joint distributions with some tables, that of maximal entropy assumes nothing else. It is a product of factors on
these tables (a log-linear model), so it factorizes over a junction tree of the graph in which the columns of a table
are joined, and is held as one table per clique (`beliefs`), equal on what two cliques share.

Tables are fitted one after the other (iterative proportional fitting; Deming and Stephan 1940; on
junction trees: Jiroušek and Přeučil 1995): the clique's belief is multiplied by given / present
table. While a sweep goes along the tree, each clique takes over the margin on its separator from
the one before. This is coordinate ascent on the concave dual, and converges to the maximum if
tables agree on what they share. `gap` says how far tables are from what is given.

Tables may be given of merged values: what only their margins tell apart stays apart by these alone.

What it is fitted to (`NoisyTables`)
------------------------------------
Tables are of any columns; their noise is of known variance, one for all cells or, of single columns, one for each.

1  Answers about the same columns are averaged by inverse variance.
2  For every set of columns that tables have in common, smaller ones first (none: the total, unless it is public), the
   tables' margins are averaged by inverse variance, and each takes its difference, in equal steps over the cells behind
   it (in proportion to their variance). What was averaged before stays as it is: this is PriView's consistency
   (Qardaji, Yang and Li 2014), where weights are not of the numbers of cells alone.
3  From smaller to larger sets, what tables have in common, and then they themselves, are moved in turn to the smaller
   ones' tables and to the nearest table without negative cells, `TURNS` times, and then fitted to the smaller ones by
   iterative proportional fitting.
4  `MaximalEntropy` is fitted to the tables, or to margins of theirs. Bayesian networks take the tables as they are.

Private-PGM (McKenna, Sheldon and Miklau 2019) has all of it in one problem of least squares over
what distributions can have as tables. Steps 1 to 3 are its projections, one after the other, so
that nothing needs a thousand steps of gradients.

Post-processing: no private input, no cost. Columns are positions; a scope is a sorted tuple of
positions. Tables of a distribution are shares, which sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
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
LEAST_VARIANCE, MOST_VARIANCE = 1e-12, 1e24  # with all but no noise, and with all but no epsilon
NOTHING = 1e-200  # counts; less would vanish among many factors that are small
TURNS, FITS = 3, 10
SMALL = 1e-5  # L1 distance of a table from what is given that is as good as none


@dataclass
class GivenTable:
    """A table of some columns, and for each of its axes the merged value of every value of the model."""

    scope: Clique
    merges: list[Ints]
    table: Floats


class MaximalEntropy:
    """A distribution over columns: at first independent with the given margins, or with a junction tree's tables."""

    def __init__(self, tables: Sequence[Floats], cliques: Sequence[Clique] | None = None) -> None:
        self.given: list[GivenTable] = []
        self._span(list(cliques or ((j,) for j in range(len(tables)))), list(tables))

    @property
    def sizes(self) -> list[int]:
        """How many values each column has here."""
        pairs = zip(self.cliques, self.beliefs, strict=True)
        found = {j: size for clique, belief in pairs for j, size in zip(clique, belief.shape, strict=True)}
        return [found[j] for j in range(len(found))]

    def join(self, scope: Clique, merges: Sequence[Ints], table: Floats) -> None:
        """Give a table of columns; until the next sweep the distribution is what it was.

        It takes the place of one of the same columns that is as coarse, or coarser, along every
        axis.
        """
        edges = junction_tree.pairs_within(self.cliques) | set(combinations(scope, 2))
        cliques = junction_tree.triangulate(edges, self.sizes)
        self.given = [
            other
            for other in self.given
            if other.scope != scope or any(a > b for a, b in zip(other.table.shape, table.shape, strict=True))
        ]
        self.given.append(GivenTable(scope, list(merges), table))
        self._span(cliques, [self.table(clique) for clique in cliques])

    def refine(self, column: int, within: Floats) -> None:
        """Tell values of a column apart: P(new value | old value), shape (old, new); each new value has one old."""
        for i, (clique, belief) in enumerate(zip(self.cliques, self.beliefs, strict=True)):
            if column in clique:
                axis = clique.index(column)
                self.beliefs[i] = np.moveaxis(np.tensordot(belief, within, (axis, 0)), -1, axis)
        for given in self.given:
            if column in given.scope:
                axis = given.scope.index(column)
                given.merges[axis] = given.merges[axis][within.argmax(axis=0)]

    def _span(self, cliques: list[Clique], beliefs: list[Floats]) -> None:
        """Hold the distribution over a tree of these cliques."""
        tables = dict(zip(cliques, beliefs, strict=True))
        self.cliques, self.parents = junction_tree.junction_tree(cliques)
        self.beliefs = [tables[clique] for clique in self.cliques]
        self._shared: list[Clique] = [
            tuple(j for j in clique if parent >= 0 and j in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        ]
        self._children: list[list[int]] = [[] for _ in self.cliques]
        self._below = [frozenset(clique) for clique in self.cliques]  # columns of each subtree
        for child in reversed(range(1, len(self.cliques))):
            self._children[self.parents[child]].insert(0, child)
            self._below[self.parents[child]] |= self._below[child]
        self._held: list[list[GivenTable]] = [[] for _ in self.cliques]
        for given in self.given:
            holders = [i for i, clique in enumerate(self.cliques) if set(given.scope) <= set(clique)]
            self._held[min(holders, key=lambda i: self.beliefs[i].size)].append(given)

    def table(self, clique: Clique, known: PartTables | None = None) -> Floats:
        """The table of any columns, by summing the others out up the tree to where all have met."""
        meet = max(i for i, below in enumerate(self._below) if below >= set(clique))
        table, columns = self._towards(meet, frozenset(clique), {} if known is None else known)
        return np.ascontiguousarray(table.transpose([columns.index(j) for j in clique]))

    def _towards(self, i: int, wanted: frozenset[int], known: PartTables) -> tuple[Floats, Clique]:
        """The table of the wanted columns in a subtree; `known` keeps those of its parts."""
        operands: list[tuple[Floats, Clique]] = [(self.beliefs[i], self.cliques[i])]
        for child in self._children[i]:
            shared = self._shared[child]
            if own := (wanted & self._below[child]).difference(shared):
                if (child, own) not in known:
                    table, clique = self._towards(child, own.union(shared), known)
                    given = _along(marginal_of(self.beliefs[i], self.cliques[i], shared), shared, clique)
                    known[child, own] = table / np.maximum(given, LEAST), clique
                operands.append(known[child, own])
        kept = tuple(dict.fromkeys(j for _, clique in operands for j in clique if j in wanted))
        return _summed(operands, kept), kept

    def pairs(self) -> dict[Edge, Floats]:
        """The tables of all pairs of columns."""
        known, part, columns = PartTables(), junction_tree.parts(self.cliques), range(len(self.sizes))
        alone = [self.table((j,)) for j in columns]
        return {
            (a, b): self.table((a, b), known) if part[a] is part[b] else np.outer(alone[a], alone[b])
            for a, b in combinations(columns, 2)
        }

    def sweep(self) -> float:
        """Fit every given table once or twice; the largest L1 distance of one from what was given, before."""
        worst = self._visit(0)
        for child in range(1, len(self.cliques)):
            self._tell(self.parents[child], child, self._shared[child])
        return worst

    def fit(self, sweeps: int) -> float:
        """Sweep until all tables are as given, or so often."""
        worst = np.inf
        for _ in range(sweeps):
            worst = self.sweep()
            if worst < SMALL:
                break
        return worst

    def _visit(self, i: int) -> float:
        worst = self._fit(i)
        for child in self._children[i]:
            self._tell(i, child, self._shared[child])
            worst = max(worst, self._visit(child))
            self._tell(child, i, self._shared[child])
        if self._children[i]:
            self._fit(i)
        return worst

    def _tell(self, source: int, target: int, shared: Clique) -> None:
        """Give a clique the margin that another one has on their separator."""
        wanted = marginal_of(self.beliefs[source], self.cliques[source], shared)
        present = marginal_of(self.beliefs[target], self.cliques[target], shared)
        ratio = wanted / np.maximum(present, LEAST)
        self.beliefs[target] = self.beliefs[target] * _along(ratio, shared, self.cliques[target])

    def _fit(self, i: int) -> float:
        worst, clique = 0.0, self.cliques[i]
        for given in self._held[i]:
            present = merge_values(marginal_of(self.beliefs[i], clique, given.scope), given.merges)
            worst = max(worst, float(np.abs(present - given.table).sum()))
            ratio = (given.table / np.maximum(present, LEAST))[np.ix_(*given.merges)]
            self.beliefs[i] = self.beliefs[i] * _along(ratio, given.scope, clique)
        return worst


def merge_values(table: Floats, merges: Sequence[Ints]) -> Floats:
    """The table of merged values: per axis, the new value of every value."""
    return merged_counts(table, merges, {})


def one_hot(merge: Ints) -> Floats:
    """Which values each merged value has, as a matrix of 0 and 1."""
    return np.asarray((np.arange(merge.max() + 1)[:, None] == merge).astype(float))


def _summed(operands: Sequence[tuple[Floats, Clique]], kept: Clique) -> Floats:
    """The product of tables, each with its columns, summed over all columns but some."""
    columns = list(dict.fromkeys(j for _, clique in operands for j in clique))
    labeled: list[Any] = [part for table, clique in operands for part in (table, [columns.index(j) for j in clique])]
    wanted = [columns.index(j) for j in kept]
    return np.asarray(np.einsum(*labeled, wanted, optimize=len(operands) > 1))


def _along(table: Floats, clique: Clique, columns: Sequence[int]) -> Floats:
    """The table with an axis for each of some columns, of length 1 for those that it does not have."""
    shape = [table.shape[clique.index(j)] if j in clique else 1 for j in columns]
    return table.transpose([clique.index(j) for j in columns if j in clique]).reshape(shape)


class NoisyTables:
    """What was measured; and the number of rows, if it is public."""

    def __init__(self, public: float | None) -> None:
        self.public = public
        self.rows = float(public or 1)
        self._cells: dict[Clique, Floats] = {}
        self._precision: dict[Clique, Floats] = {}  # of every cell

    def add(self, clique: Clique, cells: Floats, variance: float | Floats) -> None:
        """One more table. All columns have one before the first `fit`."""
        new = 1 / np.clip(np.broadcast_to(variance, cells.shape), LEAST_VARIANCE, MOST_VARIANCE)
        before = self._precision.get(clique, np.zeros(cells.shape))
        self._precision[clique] = before + new
        self._cells[clique] = (self._cells.get(clique, cells) * before + cells * new) / (before + new)

    def agreed(self) -> dict[Clique, Floats]:
        """The tables of steps 1 to 3, as positive counts; `rows` is their total."""
        tables = consistent(self._cells, self._precision, self.public)
        self.rows = max(float(next(iter(tables.values())).sum()), 1.0)
        found: dict[Clique, Floats] = {}
        for clique in [*intersections(tables)[1:], *sorted(tables, key=len)]:
            if clique not in found:
                within = {other: table for other, table in found.items() if set(other) < set(clique)}
                found[clique] = project_near(table_of(tables, clique), clique, within, self.rows)
        return {clique: found[clique] for clique in tables}

    def fit(self, sweeps: int, cliques: Iterable[Clique] | None = None) -> None:
        """Fit `model` to what the tables say now, of themselves or of some scopes within them.

        It keeps what it was fitted to before as its start.
        """
        agreed = {clique: counts / self.rows for clique, counts in self.agreed().items()}
        tables = {clique: table_of(agreed, clique) for clique in (agreed if cliques is None else cliques)}
        if not hasattr(self, "model"):
            self.model = MaximalEntropy(
                [table_of(agreed, (j,)) for j in range(1 + max(max(clique) for clique in agreed))]
            )
        for given in self.model.given:
            given.table = tables.pop(given.scope)
        for clique, table in tables.items():
            self.model.join(clique, [np.arange(size) for size in table.shape], table)
        self.model.fit(sweeps)

    def expected(self, cliques: Sequence[Clique]) -> list[Floats]:
        """The model's tables of columns and pairs, as counts."""
        pairs = self.model.pairs()
        return [pairs[clique] * self.rows if clique in pairs else self.counts(clique) for clique in cliques]

    def counts(self, clique: Clique) -> Floats:
        """The model's table of some columns, as counts."""
        return self.model.table(clique) * self.rows


def project_near(table: Floats, clique: Clique, known: Mapping[Clique, Floats], total: float) -> Floats:
    """A table without negative cells near a noisy one, of that total, with known positive margins, but for little."""
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


def table_of(tables: Mapping[Clique, Floats], clique: Clique) -> Floats:
    """The table of some columns: the margin of the first one that holds them."""
    holder = next(held for held in tables if set(clique) <= set(held))
    return marginal_of(tables[holder], holder, clique)


def consistent(
    tables: Mapping[Clique, Floats], precision: Mapping[Clique, Floats], total: float | None
) -> dict[Clique, Floats]:
    """Step 2: the tables moved so that any two agree on the columns that they share; cells may be negative.

    `precision` has every cell's inverse variance. `total` is the sum of every table, if it is
    known.
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
    """Every set of columns in which two scopes or more meet, the empty set first, smaller ones before larger ones."""
    sets = [frozenset(clique) for clique in cliques]
    found: set[frozenset[int]] = {frozenset()}
    new = {a & b for a, b in combinations(sets, 2)} - found
    while new:
        found |= new
        new = {a & b for a in new for b in sets} - found
    return sorted((tuple(sorted(shared)) for shared in found), key=lambda shared: (len(shared), shared))
