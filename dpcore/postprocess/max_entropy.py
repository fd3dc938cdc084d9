r"""The distribution of maximal entropy with given tables of some columns, over a junction tree.

Of all joint distributions with some tables, that of maximal entropy assumes nothing else. It is a product of factors on
these tables (a log-linear model), so it factorizes over a junction tree of the graph in which the columns of a table
are joined, and is held as one table per clique (`beliefs`), equal on what two cliques share.

Tables are fitted one after the other (iterative proportional fitting; Deming and Stephan 1940; on junction trees:
Jiroušek and Přeučil 1995): the clique's belief is multiplied by given / present table. While a sweep goes along the
tree, each clique takes over the margin on its separator from the one before. This is coordinate ascent on the concave
dual, and converges to the maximum if tables agree on what they share. `gap` says how far tables are from what is given.

Tables may be given of merged values: what only their margins tell apart stays apart by these alone.

Post-processing: no private input, no cost. Columns are positions; a scope is a sorted tuple of positions. All tables
are shares, which sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.mechanisms.scores import merged_counts
from dpcore.postprocess import junction_tree
from dpcore.postprocess.bayes_net import margin
from dpcore.postprocess.junction_tree import Edge, Scope

PartTables = dict[tuple[int, frozenset[int]], tuple[Floats, Scope]]

LEAST = 1e-300
SMALL = 1e-5  # L1 distance of a table from what is given that is as good as none


@dataclass
class Given:
    """A table of some columns, and for each of its axes the merged value of every value of the model."""

    scope: Scope
    merges: list[Ints]
    table: Floats


class MaximalEntropy:
    """A distribution over columns: at first independent with the given margins, or with a junction tree's tables."""

    def __init__(self, tables: Sequence[Floats], cliques: Sequence[Scope] | None = None) -> None:
        self.given: list[Given] = []
        self._span(list(cliques or ((j,) for j in range(len(tables)))), list(tables))

    @property
    def sizes(self) -> list[int]:
        """How many values each column has here."""
        pairs = zip(self.cliques, self.beliefs, strict=True)
        found = {j: size for clique, belief in pairs for j, size in zip(clique, belief.shape, strict=True)}
        return [found[j] for j in range(len(found))]

    def join(self, scope: Scope, merges: Sequence[Ints], table: Floats) -> None:
        """Give a table of columns; until the next sweep the distribution is what it was.

        It takes the place of one of the same columns that is as coarse, or coarser, along every axis.
        """
        edges = junction_tree.pairs_within(self.cliques) | set(combinations(scope, 2))
        cliques = junction_tree.triangulate(edges, self.sizes)
        self.given = [
            other
            for other in self.given
            if other.scope != scope or any(a > b for a, b in zip(other.table.shape, table.shape, strict=True))
        ]
        self.given.append(Given(scope, list(merges), table))
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

    def _span(self, cliques: list[Scope], beliefs: list[Floats]) -> None:
        """Hold the distribution over a tree of these cliques."""
        tables = dict(zip(cliques, beliefs, strict=True))
        self.cliques, self.parents = junction_tree.junction_tree(cliques)
        self.beliefs = [tables[clique] for clique in self.cliques]
        self._shared: list[Scope] = [
            tuple(j for j in clique if parent >= 0 and j in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        ]
        self._children: list[list[int]] = [[] for _ in self.cliques]
        self._below = [frozenset(clique) for clique in self.cliques]  # columns of each subtree
        for child in reversed(range(1, len(self.cliques))):
            self._children[self.parents[child]].insert(0, child)
            self._below[self.parents[child]] |= self._below[child]
        self._held: list[list[Given]] = [[] for _ in self.cliques]
        for given in self.given:
            holders = [i for i, clique in enumerate(self.cliques) if set(given.scope) <= set(clique)]
            self._held[min(holders, key=lambda i: self.beliefs[i].size)].append(given)

    def table(self, scope: Scope, known: PartTables | None = None) -> Floats:
        """The table of any columns, by summing the others out up the tree to where all have met."""
        meet = max(i for i, below in enumerate(self._below) if below >= set(scope))
        table, columns = self._towards(meet, frozenset(scope), {} if known is None else known)
        return np.ascontiguousarray(table.transpose([columns.index(j) for j in scope]))

    def _towards(self, i: int, wanted: frozenset[int], known: PartTables) -> tuple[Floats, Scope]:
        """The table of the wanted columns in a subtree; `known` keeps those of its parts."""
        operands: list[tuple[Floats, Scope]] = [(self.beliefs[i], self.cliques[i])]
        for child in self._children[i]:
            shared = self._shared[child]
            if own := (wanted & self._below[child]).difference(shared):
                if (child, own) not in known:
                    table, scope = self._towards(child, own.union(shared), known)
                    given = _along(margin(self.beliefs[i], self.cliques[i], shared), shared, scope)
                    known[child, own] = table / np.maximum(given, LEAST), scope
                operands.append(known[child, own])
        kept = tuple(dict.fromkeys(j for _, scope in operands for j in scope if j in wanted))
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

    def _tell(self, source: int, target: int, shared: Scope) -> None:
        """Give a clique the margin that another one has on their separator."""
        wanted = margin(self.beliefs[source], self.cliques[source], shared)
        present = margin(self.beliefs[target], self.cliques[target], shared)
        ratio = wanted / np.maximum(present, LEAST)
        self.beliefs[target] = self.beliefs[target] * _along(ratio, shared, self.cliques[target])

    def _fit(self, i: int) -> float:
        worst, clique = 0.0, self.cliques[i]
        for given in self._held[i]:
            present = merged(margin(self.beliefs[i], clique, given.scope), given.merges)
            worst = max(worst, float(np.abs(present - given.table).sum()))
            ratio = (given.table / np.maximum(present, LEAST))[np.ix_(*given.merges)]
            self.beliefs[i] = self.beliefs[i] * _along(ratio, given.scope, clique)
        return worst


def merged(table: Floats, merges: Sequence[Ints]) -> Floats:
    """The table of merged values: per axis, the new value of every value."""
    return merged_counts(table, merges, {})


def one_hot(merge: Ints) -> Floats:
    """Which values each merged value has, as a matrix of 0 and 1."""
    return np.asarray((np.arange(merge.max() + 1)[:, None] == merge).astype(float))


def _summed(operands: Sequence[tuple[Floats, Scope]], kept: Scope) -> Floats:
    """The product of tables, each with its columns, summed over all columns but some."""
    columns = list(dict.fromkeys(j for _, scope in operands for j in scope))
    labeled: list[Any] = [part for table, scope in operands for part in (table, [columns.index(j) for j in scope])]
    wanted = [columns.index(j) for j in kept]
    return np.asarray(np.einsum(*labeled, wanted, optimize=len(operands) > 1))


def _along(table: Floats, scope: Scope, columns: Sequence[int]) -> Floats:
    """The table with an axis for each of some columns, of length 1 for those that it does not have."""
    shape = [table.shape[scope.index(j)] if j in scope else 1 for j in columns]
    return table.transpose([scope.index(j) for j in columns if j in scope]).reshape(shape)
