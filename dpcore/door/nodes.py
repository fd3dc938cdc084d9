"""Nodes of trees over private rows, and the queries that methods may send to them.

The nodes of one level of a tree have different rows, so a query to all of them costs as much as a
query to one: parallel composition. Their ledgers are in a group formed by the rows' values, so
inside the group one added or removed row counts, under either relation. Earlier answers determine
the nodes; random draws that never look at a row determine the trees that the row is in.

The basis of each query
-----------------------
counts   A row adds 1 to one node's count, or to one cell of one node's marginal: L1 sensitivity 1.
choose   The exponential mechanism over the splits of a node: columns, and for numbers split points.
         A split's score is a function of the counts of (child, class), so its sensitivity is the
         split score's, for any number of children. An added row changes all values of a monotone
         score in the same direction. A number may be split at every tick of a fine public grid
         inside the node's public range (`NumberSplit`). The score is the same for all ticks
         between neighboring values of the data. So a tick is drawn by choosing an interval with
         weight ticks * exp(factor q), then one of its ticks. The ends of intervals depend on the
         data, the candidates do not: those below the smallest value and above the largest are
         included. Values are rounded to steps of the grid by a public rule, so there are few
         intervals, however many rows. Public weights: each column has the weight 1, divided among
         its candidates. Weights are exact fractions (ticks over ticks), so exactly sampled noise
         draws from the proven distribution, to the last bit. NumPy draws in floating point:
         probabilities have errors of about 1e-16, and less likely results never occur. That is of
         teaching grade, as `noise` says.
divide   Sends rows to children by a public rule. No query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.splits import NumberSplit
from dpcore.door import privacy_costs
from dpcore.door.door import Door
from dpcore.door.exact_node_counts import NodeRows
from dpcore.door.privacy_costs import ClaimedValues, QueryClaim
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Weights
from dpcore.mechanisms.scores import SplitScore


@dataclass(frozen=True, eq=False)
class Split:
    """How each of some tree nodes is split: by which column, and for numbers at which point.

    `column` has positions of columns. `point` is NaN for columns that are split by groups.
    """

    column: Ints
    point: Floats


@dataclass(frozen=True, eq=False)
class SplitCandidates:
    """Ways to split nodes by one column: the node, score and split points of each.

    `position` is the column's, `nodes` are in increasing order, and `values` are the scores. A
    candidate stands for all split points in [low, high). The candidates of a node share the
    column's weight, by the lengths of these intervals (`by_length`) or evenly.
    """

    position: int
    by_length: bool
    nodes: Ints
    values: Floats
    low: Floats
    high: Floats

    def weights(self, lengths: Floats) -> tuple[Ints, Ints]:
        """Return the prior weight of each split candidate as numerators and denominators.

        `lengths` has the lengths of the nodes' ranges, shape (nodes, columns). The results have the
        shape (candidates,).
        """
        if self.by_length:
            return (self.high - self.low).astype(np.int64), lengths[self.nodes, self.position].astype(np.int64)
        return np.ones(len(self.nodes), dtype=np.int64), np.bincount(self.nodes)[self.nodes]


class PrivateNodes:
    """Tree nodes over private rows, all of one level, in all trees; made by `PrivateTable.trees`.

    A query to all nodes is charged to `ledger`, which counts the path of one row through one tree.
    `size` is the number of nodes.
    """

    def __init__(self, door: Door, rows: NodeRows) -> None:
        self._door, self._rows, self._records, self.ledger = door, rows, rows.records, door.ledger
        self.size, self.classes = rows.size, rows.records.classes

    def count_variance(self, epsilon: Epsilon) -> float:
        """Return the variance of the noise in a count that costs `epsilon`; nothing is charged."""
        return self._door.noise.variance(1 / float(epsilon)) if float(epsilon) else np.inf

    def sensitivity(self, score: SplitScore) -> float:
        """Return the sensitivity of a split score to one row; public, nothing is charged."""
        return self._door.bounds(score, [(2, self.classes)]).sensitivity

    def partition(self, chosen: Mapping[str, Ints]) -> list[PrivateNodes]:
        """Return disjoint sets of these tree nodes, whose ledgers compose in parallel.

        `chosen` has the indices of each set's nodes by the set's name, which the ledger shows.
        """
        group = self.ledger.parallel("", by="value")
        doors = {name: self._door.with_ledger(group.part(name)) for name in chosen}
        return [PrivateNodes(doors[name], self._rows.select(own)) for name, own in chosen.items()]

    def drop_records(self) -> None:
        """Free the memory of the rows in these tree nodes; only the ledger can be used then."""
        del self._rows

    def select(self, indices: Ints) -> PrivateNodes:
        """Return the tree nodes at some indices, with the same ledger."""
        return PrivateNodes(self._door, self._rows.select(indices))

    def divide(self, split: Split, low: Floats, first: Ints, size: int) -> PrivateNodes:
        """Return the children of tree nodes by the given splits; nothing is charged.

        Children of node i are numbered from `first[i]`; there are `size` in all. `low` has the
        lower ends of the columns' ranges, shape (nodes, columns).
        """
        own = low[np.arange(self.size), split.column]
        rows = self._rows.split_nodes(split.column, split.point, own, first, size)
        return PrivateNodes(self._door, rows)

    def counts(self, name: str, *, epsilon: Epsilon) -> Floats:
        """Return the noisy number of rows in each tree node, shape (nodes,).

        `name` is the entry's name in the ledger, `epsilon` its privacy loss.
        """
        return self._noisy_counts(name, epsilon, 1, lambda: self._rows.classes.sum(axis=1))

    def class_counts(self, name: str, *, epsilon: Epsilon) -> Floats:
        """Return the noisy number of rows by class in each tree node, shape (nodes, classes).

        `name` is the entry's name in the ledger, `epsilon` its privacy loss.
        """
        return self._noisy_counts(name, epsilon, 1, lambda: self._rows.classes)

    def tables(
        self, name: str, positions: Sequence[int], *, epsilon: Epsilon, one_by_one: bool
    ) -> list[tuple[Floats, Floats]]:
        """Return noisy counts of columns' codes in tree nodes: per column alone, and by class.

        `positions` are the columns', and `name` begins the names of the ledger's entries. Shapes
        per column are (nodes, codes) and (nodes, codes, classes). `epsilon` is for all columns
        together, in equal shares. With `one_by_one` every single count is charged sequentially, as
        a source may demand, although each row is in one cell only.
        """
        found, every = [], np.arange(self.size)
        share = exact(epsilon) / len(positions)
        for position in positions:
            column = self._records.attributes[position].column
            # With `one_by_one`, a column's share is split evenly among the cells of both marginals.
            cells = (column.size, column.size * self._records.classes) if one_by_one else (1, 1)
            spent = [share * part / sum(cells) for part in cells]
            label, table = f"{name}: {column.name}", self._rows.tables
            plain = self._noisy_counts(label, spent[0], cells[0], partial(table, position, every, by_class=False))
            crossed = self._noisy_counts(f"{label} × class", spent[1], cells[1], partial(table, position, every))
            found.append((plain, crossed))
        return found

    def choose(
        self,
        name: str,
        score: SplitScore,
        offered: Flags,
        low: Floats,
        high: Floats,
        *,
        epsilon: Epsilon,
        points: Floats | None = None,
        **claimed: Unpack[ClaimedValues],
    ) -> Split:
        """Choose a split of every node by one exponential mechanism; nodes compose in parallel.

        Parameters
        ----------
        name : str
            The name of the ledger's entry.
        score : SplitScore
            The score of a split's counts by child and class.
        offered : bool array, shape (nodes, columns)
            The columns that each node may be split by, one or more.
        low, high : float array, shape (nodes, columns)
            The public range of each column in each node (`domain.splits`).
        epsilon : float or Fraction
            The privacy loss of the choice.
        points : float array, shape (nodes, columns), optional
            Split points that were chosen before; a number may be split anywhere where this is NaN.
        **claimed
            What the source claims about the choice (`privacy_costs.ClaimedValues`).
        """
        if offered.shape != (self.size, low.shape[1]) or not offered.any(axis=1).all():
            raise ParameterError("A tree node has no column to split by.", "Offer each node a column or more.")
        entry, factor = self._selection_entry(score, epsilon, QueryClaim(**claimed))
        named = replace(entry, name=f"{name}, by {score.name}")
        draw = partial(self._draw_splits, score, offered, low, high, points, factor)
        return self._door.answer("choose", [named], draw)

    def selection_bound(self, score: SplitScore, epsilon: Epsilon, claimed_sensitivity: float | None) -> Epsilon:
        """Return the proven epsilon that `choose` would record for a split; nothing is charged.

        `claimed_sensitivity` is the one that a source scales its scores by, if it is not the true
        one.
        """
        entry, _ = self._selection_entry(score, epsilon, QueryClaim(claimed_sensitivity=claimed_sensitivity))
        return entry.epsilon_nominal

    def charge_unused(self, name: str, claimed: Epsilon, bound: Epsilon) -> None:
        """Charge the ledger for queries that this run did not make, but other rows would need.

        `claimed` and `bound` are their claimed and proven epsilon. The guarantee holds for all data
        sets, so the ledger must not depend on the rows.
        """
        self.ledger.charge(privacy_costs.unused_entry(name, claimed, bound))

    def find_pure(self, reason: str) -> Flags:
        """Return which tree nodes have rows of at most one class, shape (nodes,), without noise.

        `reason` is the ledger's sentence on why this is not private. Published mode only: the
        privacy loss is infinite.
        """
        return self._door.read_unprotected(
            "purity of nodes", reason, 0, lambda: (self._rows.classes > 0).sum(axis=1) <= 1
        )

    def _noisy_counts(self, name: str, epsilon: Epsilon, one_by_one: int, count: Callable[[], NDArray[Any]]) -> Floats:
        """Charge, then return noisy counts of rows in tree nodes.

        `count` returns the noiseless counts. `one_by_one` is the number of counts that are charged
        sequentially: 1 if each row is in one count only.
        """
        mechanism, relation = self._door.noise.on_counts, self.ledger.relation
        entry = privacy_costs.count_entry(name, relation, mechanism, epsilon, one_by_one=one_by_one)
        return self._door.answer("counts", [entry], lambda: self._door.noisy_counts([count()], [entry.scale])[0])

    def _selection_entry(self, score: SplitScore, epsilon: Epsilon, claim: QueryClaim) -> tuple[Entry, float]:
        """Return the ledger entry of choosing splits, and the factor of scores in the exponent.

        `claim` is what the source claims of the choice. The bound holds for any number of children
        that a column allows.
        """
        most = max([2, *(attribute.column.size for attribute in self._records.attributes.values())])
        return self._door.selection_entry(score, [(most, self.classes)], epsilon, claim)

    def _draw_splits(
        self, score: SplitScore, offered: Flags, low: Floats, high: Floats, points: Floats | None, factor: float
    ) -> Split:
        """Draw a split of every tree node, in proportion to weight * exp(factor * score).

        The other arguments are those of `choose`: the columns `offered` to each node, the ends of
        ranges, and split `points` that were chosen before.
        """
        given = np.full(low.shape, np.nan) if points is None else points
        known = np.asarray(~(offered & np.isnan(given)).any(axis=0))
        chosen = []
        for start, stop, rows in self._rows.batches(offered, known, given, low):
            found = []
            for position in np.flatnonzero(offered[start:stop].any(axis=0)).tolist():
                at = start + np.flatnonzero(offered[start:stop, position])
                fixed = given[at, position] if known[position] else None
                by_length = fixed is None and isinstance(self._records.attributes[position], NumberSplit)
                for batch in rows.candidates(position, at, low[at, position], high[at, position], fixed):
                    values = score.score_tables(batch.tables, Relation.ADD_REMOVE)
                    found.append(SplitCandidates(position, by_length, batch.nodes, values, batch.low, batch.high))
            chosen.append(self._select_per_node(found, high - low, factor, start, stop))
        column, lows, highs = (np.concatenate(each) for each in zip(*chosen, strict=True))
        point, several = lows.copy(), highs > lows + 1
        if several.any():
            point[several] = self._door.noise.uniform_integers(lows[several], highs[several])
        return Split(column, point)

    def _select_per_node(
        self, offers: list[SplitCandidates], lengths: Floats, factor: float, first: int, end: int
    ) -> tuple[Ints, Floats, Floats]:
        """Draw a split candidate for each of the tree nodes `first` to `end` - 1.

        `offers` has the candidates by column, and `lengths` the lengths of the nodes' ranges.
        Returns the candidates' columns, and the lower and upper ends of their intervals of split
        points.
        """
        nodes, values, low, high = (
            np.concatenate([getattr(one, name) for one in offers]) for name in ("nodes", "values", "low", "high")
        )
        nodes = nodes - first
        part, whole = (np.concatenate(each) for each in zip(*(one.weights(lengths) for one in offers), strict=True))
        order = np.argsort(nodes.astype(np.uint16) if end - first <= 1 << 16 else nodes, kind="stable")
        if not factor:
            values = np.zeros_like(values)
        alike = (part == part[0]).all() and (whole == whole[0]).all()
        weights = None if alike and part[0] else Weights(part[order], whole[order])
        best = self._door.noise.select_grouped(values[order], nodes[order], factor or 1.0, weights)
        if len(best) != end - first:
            raise ParameterError("All splits of a tree node have the weight 0.", "Offer another column.")
        chosen = order[best]
        columns = np.repeat([one.position for one in offers], [len(one.nodes) for one in offers])
        return columns[chosen].astype(np.intp), low[chosen], high[chosen]


def tree_ledger(
    ledger: Ledger, trees: int, epsilon: Epsilon, resample: str, rate: float, rows: int
) -> tuple[Ledger, Epsilon]:
    """Return the ledger of each tree, and its epsilon, such that all trees cost `epsilon`.

    `resample` says which of the `rows` rows a tree learns from: "disjoint", "poisson" (with
    probability `rate`), "full" or "bootstrap".
    """
    if resample == "disjoint" and trees > 1:
        return ledger.parallel(f"{trees} trees on disjoint rows", by="label").part(""), epsilon
    each = ledger.self_composed(f"{trees} trees, each", trees) if trees > 1 else ledger.child("one tree")
    if resample == "poisson":
        sampled = each.poisson_subsampled(f"a random {100 * rate:.3g} % of the rows", rate, epsilon / trees)
        return sampled, sampled.plan or exact(0.0)
    return (each.bootstrap("a bootstrap sample", rows) if resample == "bootstrap" else each), epsilon / trees


def tree_budget(
    ledger: Ledger, trees: int, epsilon: Epsilon, resample: str, rate: float, rows: int, *, plainly_claimed: bool
) -> tuple[Ledger, Epsilon]:
    """Return the ledger of one row's path through one tree, and the loss that the path may have.

    All trees together then cost `epsilon`. `resample` says which of the `rows` rows a tree learns
    from: "disjoint", "poisson" (with probability `rate`), "full" or "bootstrap". With
    `plainly_claimed` the source claims, under replace too, that nodes cost the largest of their
    losses.
    """
    every, budget = tree_ledger(ledger, trees, epsilon, resample, rate, rows)
    part = every.parallel("", by="value", plainly_claimed=plainly_claimed).part("")
    return part, budget if plainly_claimed else part.share_of(budget)
