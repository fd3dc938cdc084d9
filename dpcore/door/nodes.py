"""Nodes of trees over private rows, and the questions that they may be asked.

The nodes of one level of a tree hold different records, so a question to all of them costs what it
costs one: parallel composition. Their accounts lie under a group that is formed by the records'
values, so inside it one added or removed record is what counts, under either relation. Which nodes
there are follows from earlier answers; which trees a record is in, from lots that never look at it.

What the questions rest on
--------------------------
counts   A record adds 1 to one node's count, or to one cell of one node's table: L1 sensitivity 1.
choose   The exponential mechanism over the ways to divide a node: columns, and for numbers the place of the cut. The
         score of every way is a function of the counts of (child, class), so its sensitivity is the split score's, for
         any number of children; a record that is added moves all of a monotone score's values the same way. A number
         may be cut at every tick of a fine public grid inside the node's public range (`NumberCut`). The score is the
         same for all ticks between neighboring values of the data, so a tick is drawn by choosing an interval with
         weight ticks * exp(factor q), then one of its ticks. Where the intervals end depends on the data, the
         candidates do not: those in front of the smallest value and behind the largest are included. Values stand on
         steps of the grid, by a public rule, so there are few intervals, however many records. Public weights:
         each column has 1, and shares it out among its own candidates. They are exact fractions (whole ticks of whole
         ticks), so that exactly sampled noise draws what this proof is about, to the last bit.
         NumPy's choices are drawn in floating point: probabilities are right to some 1e-16, and what is less likely
         than that never comes. Teaching grade, as `noise` says.
divide   Sends records to children by a public rule. No question.
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
from dpcore.door import prices
from dpcore.door.door import Door
from dpcore.door.exact_node_counts import NodeRows
from dpcore.door.prices import ClaimedValues, QueryClaim
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Weights
from dpcore.mechanisms.scores import SplitScore


@dataclass(frozen=True, eq=False)
class Split:
    """How nodes are divided: each by the column at a position, and for numbers at a cut (else NaN)."""

    column: Ints
    cut: Floats


@dataclass(frozen=True, eq=False)
class Offer:
    """Ways to divide nodes by one column: the node of each, in increasing order, its score, and where it cuts.

    They share the column's weight in a node, evenly or by the lengths of their intervals.
    """

    position: int
    by_length: bool
    nodes: Ints
    values: Floats
    low: Floats
    high: Floats

    def weights(self, wide: Floats) -> tuple[Ints, Ints]:
        """Parts and wholes, given the lengths of the nodes' ranges, shape (nodes, columns)."""
        if self.by_length:
            return (self.high - self.low).astype(np.int64), wide[self.nodes, self.position].astype(np.int64)
        return np.ones(len(self.nodes), dtype=np.int64), np.bincount(self.nodes)[self.nodes]


class PrivateNodes:
    """Nodes of one level, in all trees, `size` in number. Made by `PrivateTable.trees`.

    A question to them is charged to `ledger`, an account for one record's way through one tree.
    """

    def __init__(self, door: Door, rows: NodeRows) -> None:
        self._door, self._rows, self._records, self.ledger = door, rows, rows.records, door.ledger
        self.size, self.classes = rows.size, rows.records.classes

    def count_variance(self, epsilon: Epsilon) -> float:
        """The variance of the noise in a count that is bought for `epsilon`; public, no question."""
        return self._door.noise.variance(1 / float(epsilon)) if float(epsilon) else np.inf

    def sensitivity(self, score: SplitScore) -> float:
        """What one record moves a score of these nodes by at most; public, no question."""
        return self._door.bounds(score, [(2, self.classes)]).sensitivity

    def parts(self, chosen: Mapping[str, Ints]) -> list[PrivateNodes]:
        """Some nodes apart from others, each lot with an account of its own: they hold different records."""
        group = self.ledger.parallel("", by="value")
        doors = {name: self._door.on(group.part(name)) for name in chosen}
        return [PrivateNodes(doors[name], self._rows.only(indices)) for name, indices in chosen.items()]

    def let_go(self) -> None:
        """Forget the records, as many as there are rows: from now on there is only the account."""
        del self._rows

    def only(self, indices: Ints) -> PrivateNodes:
        """Some of the nodes, under the same account."""
        return PrivateNodes(self._door, self._rows.only(indices))

    def divide(self, split: Split, low: Floats, first: Ints, size: int) -> PrivateNodes:
        """The children, numbered from `first` on for each node, `size` in all; `low` as in `choose`."""
        own = low[np.arange(self.size), split.column]
        rows = self._rows.divided(split.column, split.cut, own, first, size)
        return PrivateNodes(self._door, rows)

    def counts(self, name: str, *, epsilon: Epsilon) -> Floats:
        """Noisy numbers of records, shape (nodes,)."""
        return self._counted(name, epsilon, 1, lambda: self._rows.classes.sum(axis=1))

    def class_counts(self, name: str, *, epsilon: Epsilon) -> Floats:
        """Noisy numbers of records by class, shape (nodes, classes)."""
        return self._counted(name, epsilon, 1, lambda: self._rows.classes)

    def tables(
        self, name: str, positions: Sequence[int], *, epsilon: Epsilon, one_by_one: bool
    ) -> list[tuple[Floats, Floats]]:
        """Noisy counts of each column's codes, shape (nodes, codes), and of codes x classes, (nodes, codes, classes).

        Every table of a column costs the same; `epsilon` is for all together. With `one_by_one`,
        every single count is paid for, although a record is in one cell of each table only.
        """
        found, every = [], np.arange(self.size)
        share = exact(epsilon) / len(positions)
        for position in positions:
            column = self._records.attributes[position].column
            # One by one, a column's share goes evenly to the counts of both its tables.
            cells = (column.size, column.size * self._records.classes) if one_by_one else (1, 1)
            spent = [share * part / sum(cells) for part in cells]
            label, table = f"{name}: {column.name}", self._rows.tables
            plain = self._counted(label, spent[0], cells[0], partial(table, position, every, by_class=False))
            crossed = self._counted(f"{label} × class", spent[1], cells[1], partial(table, position, every))
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
        cuts: Floats | None = None,
        **claimed: Unpack[ClaimedValues],
    ) -> Split:
        """One exponential mechanism in every node over its ways to divide.

        All arrays are of shape (nodes, columns): by which columns each node may be divided (one or
        more), the public range of each column in it (`splits`), and cuts that were chosen before,
        NaN where there is none; other numbers may be cut anywhere.
        """
        if offered.shape != (self.size, low.shape[1]) or not offered.any(axis=1).all():
            raise ParameterError("A node has no column to be divided by.", "Offer one or more to every node.")
        entry, factor = self._choice(score, epsilon, QueryClaim(**claimed))
        named = replace(entry, name=f"{name}, by {score.name}")
        draw = partial(self._drawn, score, offered, low, high, cuts, factor)
        return self._door.answer("choose", [named], draw)

    def choice_bound(self, score: SplitScore, epsilon: Epsilon, claimed_sensitivity: float | None) -> Epsilon:
        """What a choice would be booked with that is made as `choose` makes it; public, no question."""
        entry, _ = self._choice(score, epsilon, QueryClaim(claimed_sensitivity=claimed_sensitivity))
        return entry.epsilon_nominal

    def leave_unasked(self, name: str, claimed: Epsilon, bound: Epsilon) -> None:
        """Book questions that these rows did not call for, but others would have: a guarantee is for all."""
        self.ledger.charge(prices.unused_entry(name, claimed, bound))

    def pure(self, reason: str) -> Flags:
        """Which nodes hold records of at most one class, exactly. Nothing bounds that; published mode only."""
        return self._door.unprotected("purity of nodes", reason, 0, lambda: (self._rows.classes > 0).sum(axis=1) <= 1)

    def _counted(self, name: str, epsilon: Epsilon, one_by_one: int, count: Callable[[], NDArray[Any]]) -> Floats:
        mechanism, relation = self._door.noise.on_counts, self.ledger.relation
        entry = prices.counts(name, relation, mechanism, epsilon, one_by_one=one_by_one)
        return self._door.answer("counts", [entry], lambda: self._door.noisy_counts([count()], [entry.scale])[0])

    def _choice(self, score: SplitScore, epsilon: Epsilon, claim: QueryClaim) -> tuple[Entry, float]:
        """The price of a choice, and the factor of its exponent; for any number of children that columns allow."""
        most = max([2, *(attribute.column.size for attribute in self._records.attributes.values())])
        return self._door.choice(score, [(most, self.classes)], epsilon, claim)

    def _drawn(
        self, score: SplitScore, offered: Flags, low: Floats, high: Floats, points: Floats | None, factor: float
    ) -> Split:
        given = np.full(low.shape, np.nan) if points is None else points
        known = np.asarray(~(offered & np.isnan(given)).any(axis=0))
        chosen = []
        for start, stop, rows in self._rows.lots(offered, known, given, low):
            found = []
            for position in np.flatnonzero(offered[start:stop].any(axis=0)).tolist():
                at = start + np.flatnonzero(offered[start:stop, position])
                fixed = given[at, position] if known[position] else None
                by_length = fixed is None and isinstance(self._records.attributes[position], NumberSplit)
                for batch in rows.candidates(position, at, low[at, position], high[at, position], fixed):
                    values = score.score_tables(batch.tables, Relation.ADD_REMOVE)
                    found.append(Offer(position, by_length, batch.nodes, values, batch.low, batch.high))
            chosen.append(self._best(found, high - low, factor, start, stop))
        column, lows, highs = (np.concatenate(each) for each in zip(*chosen, strict=True))
        point, several = lows.copy(), highs > lows + 1
        if several.any():
            point[several] = self._door.noise.between(lows[several], highs[several])
        return Split(column, point)

    def _best(
        self, offers: list[Offer], wide: Floats, factor: float, first: int, end: int
    ) -> tuple[Ints, Floats, Floats]:
        """What the nodes from one to the one before another draw: column, and the ends of the interval for the cut."""
        nodes, values, low, high = (
            np.concatenate([getattr(offer, name) for offer in offers]) for name in ("nodes", "values", "low", "high")
        )
        nodes = nodes - first
        part, whole = (np.concatenate(each) for each in zip(*(offer.weights(wide) for offer in offers), strict=True))
        order = np.argsort(nodes.astype(np.uint16) if end - first <= 1 << 16 else nodes, kind="stable")
        if not factor:
            values = np.zeros_like(values)
        alike = (part == part[0]).all() and (whole == whole[0]).all()
        weights = None if alike and part[0] else Weights(part[order], whole[order])
        best = self._door.noise.select_grouped(values[order], nodes[order], factor or 1.0, weights)
        if len(best) != end - first:
            raise ParameterError("A node has no way to be divided that weighs anything.", "Offer another column.")
        chosen = order[best]
        columns = np.repeat([offer.position for offer in offers], [len(offer.nodes) for offer in offers])
        return columns[chosen].astype(np.intp), low[chosen], high[chosen]


def account(
    ledger: Ledger, trees: int, epsilon: Epsilon, resample: str, rate: float, rows: int
) -> tuple[Ledger, Epsilon]:
    """The account of every tree, and what it may spend for all trees together to cost the ledger `epsilon`."""
    if resample == "disjoint" and trees > 1:
        return ledger.parallel(f"{trees} trees on disjoint rows", by="label").part(""), epsilon
    many = ledger.self_composed(f"{trees} trees, each", trees) if trees > 1 else ledger.child("one tree")
    if resample == "poisson":
        sampled = many.poisson_subsampled(f"a random {100 * rate:.3g} % of the rows", rate, epsilon / trees)
        return sampled, sampled.plan or exact(0.0)
    return (many.bootstrap("a bootstrap sample", rows) if resample == "bootstrap" else many), epsilon / trees


def tree_budget(
    ledger: Ledger, trees: int, epsilon: Epsilon, resample: str, rate: float, rows: int, *, plainly_claimed: bool
) -> tuple[Ledger, Epsilon]:
    """The account of a record's way through one of such trees, and what it may cost."""
    every, budget = account(ledger, trees, epsilon, resample, rate, rows)
    part = every.parallel("", by="value", plainly_claimed=plainly_claimed).part("")
    return part, budget if plainly_claimed else part.share_of(budget)
