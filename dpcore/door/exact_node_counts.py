"""Exact counts of records in the nodes of trees. Private: for the door only.

A record may be in several trees, and in one tree several times (a bootstrap sample): each time is a *place* here.
All nodes of a level, in all trees, are counted at once. Counts of classes are shaped groups x classes x candidates, as
scores take them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.splits import Attribute, CodeCut, Groups, NumberCut, OneValue
from dpcore.rows import HeldRows, Rows

DENSE = 4  # cells per place, up to which counting all of them is faster than sorting the places


@dataclass(frozen=True, eq=False)
class Cuts:
    """Candidates of one attribute, m in all: the node of each, the counts of its children, and where it cuts.

    Nodes are in increasing order for numbers; tables have the shape (children, classes, m). The cut lies in
    [low, high); equal numbers mean that there; NaN for groups, which have one candidate per node.
    """

    nodes: Ints
    tables: NDArray[np.int64]
    low: Floats
    high: Floats


class Records:
    """Columns, ticks and classes of all rows.

    Attributes are by the column's position; the rows' numbers are the ticks of the columns that are cut anywhere
    (`NumberCut`).
    """

    def __init__(self, rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        self.rows, self.attributes, self.target, self.classes = rows, attributes, target, classes

    def __len__(self) -> int:
        return len(self.rows)


class HeldRecords(Records):
    """Those that are in memory, and what is worked out from them once."""

    rows: HeldRows

    def __init__(self, rows: HeldRows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        super().__init__(rows, attributes, target, classes)
        self.codes, self.labels = rows.codes, rows.codes[:, target]
        self._ranks: dict[int, tuple[Floats, NDArray[np.int32]]] = {}

    def ranks(self, position: int) -> tuple[Floats, NDArray[np.int32]]:
        """The distinct ticks of a column, and every row's place among them (their number if missing)."""
        if position not in self._ranks:
            code, values = pd.factorize(self.rows.numbers(position))  # -1 if missing
            order = np.argsort(values)
            place = np.full(len(values) + 1, len(values), dtype=np.int32)
            place[order] = np.arange(len(values))
            self._ranks[position] = values[order], place[code]
        return self._ranks[position]


def records_of(rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> Records:
    """The records of rows, wherever those are."""
    if isinstance(rows, HeldRows):
        return HeldRecords(rows, attributes, target, classes)
    return Records(rows, attributes, target, classes)


class Nodes(ABC):
    """The nodes of one level of all trees, `size` in number, and what is counted of the records in them."""

    records: Records
    size: int

    @property
    @abstractmethod
    def classes(self) -> NDArray[np.int64]:
        """Counts of nodes x classes."""

    @abstractmethod
    def only(self, keep: Ints) -> Self:
        """Some of the nodes, which are numbered anew in the given order."""

    @abstractmethod
    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        """The next level, of `size` nodes.

        Per node of this one: the position of the column that divides it, where, the lower end of its range, and the
        number of its first child.
        """

    @abstractmethod
    def cut(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> NDArray[np.int64]:
        """The counts that given cuts of numbers would make, shape (2, classes, nodes)."""

    @abstractmethod
    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        """Counts by a column's codes and by class, shape (nodes, codes, classes) or (nodes, codes)."""

    @abstractmethod
    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """The ticks of a column that occur in some nodes: how many in each, which, and counts of classes x ticks."""

    def candidates(self, position: int, nodes: Ints, low: Floats, high: Floats) -> Iterator[Cuts]:
        """All divisions of some nodes by a column, given the nodes' ranges; in several batches for groups."""
        attribute = self.records.attributes[position]
        if isinstance(attribute, Groups):
            yield from self._groups(attribute, position, nodes, low)
        elif isinstance(attribute, CodeCut):
            yield self._codes(position, nodes, low, high)
        elif isinstance(attribute, OneValue):
            yield self._single(position, nodes)
        elif isinstance(attribute, NumberCut):
            yield self._intervals(position, nodes, low, high)

    def _groups(self, attribute: Groups, position: int, nodes: Ints, low: Floats) -> Iterator[Cuts]:
        tables = self.tables(position, nodes)
        places = low.astype(np.intp)
        for place in np.unique(places).tolist():
            here, fan = np.flatnonzero(places == place), int(attribute.fans[place])
            inside = attribute.child_of[place] >= 0
            order = np.argsort(attribute.child_of[place][inside], kind="stable")
            starts = np.searchsorted(attribute.child_of[place][inside][order], np.arange(fan))
            summed = np.add.reduceat(tables[here][:, inside][:, order], starts, axis=1)
            nothing = np.full(len(here), np.nan)
            yield Cuts(nodes[here], np.moveaxis(summed, 0, -1), nothing, nothing)

    def _single(self, position: int, nodes: Ints) -> Cuts:
        tables = self.tables(position, nodes)
        size = tables.shape[1]
        number = np.repeat(np.arange(len(nodes)), size)
        one = tables.reshape(len(number), -1)
        cut = np.tile(np.arange(size, dtype=float), len(nodes))
        return Cuts(nodes[number], np.stack([one.T, (self.classes[nodes][number] - one).T]), cut, cut)

    def _codes(self, position: int, nodes: Ints, low: Floats, high: Floats) -> Cuts:
        below = np.cumsum(self.tables(position, nodes), axis=1)
        start, width = low.astype(np.intp), (high - low).astype(np.intp) - 1
        number = np.repeat(np.arange(len(nodes)), width)
        cut = start[number] + 1 + np.arange(len(number)) - (np.cumsum(width) - width)[number]
        left = below[number, cut - 1]  # codes below the range hold no records here
        tables = np.stack([left.T, (self.classes[nodes][number] - left).T])
        return Cuts(nodes[number], tables, cut.astype(float), cut.astype(float))

    def _intervals(self, position: int, nodes: Ints, low: Floats, high: Floats) -> Cuts:
        """Intervals between the numbers that occur, those at both ends included; also where a node has no records."""
        many, tick, counts = self._numbers(position, nodes)
        m, wide = len(nodes), many + 1  # one more candidate per node, in front of its numbers: everything goes right
        first = np.cumsum(wide) - wide
        to = np.arange(len(tick)) + np.repeat(np.arange(1, m + 1), many)
        tables = np.empty((2, len(counts), len(tick) + m), dtype=np.int64)
        for left, right, own, whole in zip(*tables, counts, self.classes[nodes].T, strict=True):
            below = np.cumsum(own)
            left[first] = 0
            left[to] = below - np.repeat(np.append(0, below)[first - np.arange(m)], many)
            np.subtract(np.repeat(whole, wide), left, out=right)
        lower = np.repeat(low, wide)
        lower[to] = tick
        upper = np.append(lower[1:], 0.0)
        ends = first + many
        upper[ends] = high
        return Cuts(np.repeat(nodes, wide), tables, lower, upper)


@dataclass(frozen=True, eq=False)
class NodeRows(Nodes):
    """The places of one level of all trees: the record at each, and the node that it is in, in increasing order."""

    records: HeldRecords
    row: NDArray[np.int32]
    node: Ints
    size: int
    _label: NDArray[Any] | None = field(default=None, repr=False)

    @cached_property
    def label(self) -> NDArray[Any]:
        """The class at each place."""
        return self.records.labels[self.row] if self._label is None else self._label

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        return self._count(self.label, self.node, self.size)

    def only(self, keep: Ints) -> Self:
        if len(keep) == self.size and (keep == np.arange(self.size)).all():
            return self
        at, number = self._at(keep)
        found = replace(self, row=self.row[at], node=number, size=len(keep), _label=self.label[at])
        found.__dict__["classes"] = self.classes[keep]
        return found

    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        child = np.empty(len(self.row), dtype=np.intp)
        for position in np.unique(column).tolist():
            here = np.flatnonzero(column == position)
            at, number = self._at(here)
            node = here[number]
            child[at] = first[node] + self._side(position, at, cut[node], low[node])
        # NumPy sorts short integers by radix, in the time of a few passes.
        order = np.argsort(child.astype(np.uint16) if size <= 1 << 16 else child, kind="stable")
        return replace(self, row=self.row[order], node=child[order], size=size, _label=self.label[order])

    def cut(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> NDArray[np.int64]:
        at, number = self._at(nodes)
        side = self._side(position, at, cut[number], low[number])
        left = self._count(self.label[at][side == 0], number[side == 0], len(nodes)).T
        return np.stack([left, self.classes[nodes].T - left])

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        at, number = self._at(nodes)
        size = self.records.attributes[position].column.size
        group = number * size + self.records.codes[:, position][self.row[at]]
        counts = self._count(self.label[at], group, len(nodes) * size).reshape(len(nodes), size, -1)
        return counts if by_class else counts.sum(axis=2)

    def _side(self, position: int, at: Ints | slice, cut: Floats, low: Floats) -> Ints:
        """Into which child a column sends some places."""
        rows = self.records.rows
        values = rows.numbers(position) if position in rows.numbered else rows.codes[:, position]
        return self.records.attributes[position].side(values[self.row[at]], cut, low)

    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        values, rank = self.records.ranks(position)
        at, number = self._at(nodes)
        place, label = rank[self.row[at]], self.label[at]
        known = place < len(values)
        if not known.all():
            number, place, label = number[known], place[known], label[known]
        where, counts = self._occupied(label, number, place, len(nodes), len(values))
        start = np.arange(len(nodes)) * len(values)
        many = np.diff(np.searchsorted(where, start), append=len(where))
        return many, values[where - np.repeat(start, many)], counts

    def _occupied(
        self, label: NDArray[Any], number: Ints, place: NDArray[np.int32], nodes: int, values: int
    ) -> tuple[Ints, NDArray[np.int64]]:
        """Which pairs of a node and a value hold places, in order and as one number, and counts of classes x pairs."""
        classes, size = self.records.classes, nodes * values
        kind: Any = np.uint32 if size * classes <= 1 << 32 else np.int64  # the shorter, the faster they are sorted
        pair: NDArray[Any] = number.astype(kind)
        pair *= kind(values)
        pair += place.view(np.uint32)
        if size <= DENSE * len(pair):
            counts = np.bincount(label * np.intp(size) + pair, minlength=classes * size).reshape(classes, size)
            where = np.flatnonzero(np.logical_or.reduce(counts != 0, axis=0))
            return where, counts[:, where]
        pair *= kind(classes)
        pair += label.astype(kind)
        pair.sort()
        start = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])[: len(pair)])
        found = pair[start].astype(np.intp)
        own = found // classes
        new = np.append(True, own[1:] != own[:-1])[: len(own)]
        where = own[new]
        counts = np.zeros((classes, len(where)), dtype=np.int64)
        counts[found - own * classes, np.cumsum(new) - 1] = np.diff(start, append=len(pair))
        return where, counts

    def _at(self, nodes: Ints) -> tuple[Ints | slice, Ints]:
        """The places of some nodes, and which of these nodes each is in."""
        if len(nodes) == self.size and (nodes == np.arange(self.size)).all():
            return slice(None), self.node
        sizes, starts = self._extent
        length = sizes[nodes]
        moved = np.repeat(starts[nodes] - (np.cumsum(length) - length), length)
        moved += np.arange(len(moved))
        return moved, np.repeat(np.arange(len(nodes)), length)

    @cached_property
    def _extent(self) -> tuple[Ints, Ints]:
        """How many places every node has, and where they begin."""
        sizes = np.bincount(self.node, minlength=self.size)
        return sizes, np.cumsum(sizes) - sizes

    def _count(self, label: NDArray[Any], group: NDArray[Any], size: int) -> NDArray[np.int64]:
        """Counts of groups x classes of some places, by their classes and groups."""
        classes = self.records.classes
        flat = group.astype(np.intp) * classes + label
        return np.bincount(flat, minlength=size * classes).reshape(size, classes)
