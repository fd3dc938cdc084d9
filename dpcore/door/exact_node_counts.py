"""Exact counts of records in the nodes of trees. Private: for the door only.

A record may be in several trees, and in one tree several times (a bootstrap sample): each time is a *place* here.
All nodes of a level, in all trees, are counted at once. Counts of classes are shaped groups x classes x candidates, as
scores take them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.splits import CodeCut, Groups, NumberCut, OneValue
from dpcore.door.tree_records import HeldRecords, Records, by_radix
from dpcore.rows import exact_counts

DENSE = 1  # cells per place, up to which counting all of them is faster than sorting the places


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

    def lots(self, offered: Flags, known: Flags, cuts: Floats, low: Floats) -> Iterator[tuple[int, int, Self]]:
        """Nodes whose candidates are asked for together: the first, the one behind the last, and what counts them.

        Arrays are those of `PrivateNodes.choose`; `known` says of which columns the cuts are given. What counts a lot
        is asked about that lot alone, before the next one is taken. Here all nodes are one.
        """
        yield 0, self.size, self

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
    """The places of one level of all trees: the record at each, and the node that it is in, in increasing order.

    Where every record has one place, these are in the order of the records instead, and `row` is all of them: so
    nothing has to be looked up or moved.
    """

    records: HeldRecords
    row: NDArray[np.int32] | slice
    node: Ints
    size: int

    @cached_property
    def label(self) -> NDArray[Any]:
        """The class at each place."""
        return self.records.labels[self.row]

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        every = np.arange(self.size)
        return self._counted(((number, self.label[at]) for at, number in self._places(every, self.size)), self.size)

    def only(self, keep: Ints) -> Self:
        if self._every(keep):
            return self
        at, number = self._moved(keep)
        row = at.astype(np.int32) if isinstance(self.row, slice) else self.row[at]
        found = replace(self, row=row, node=number, size=len(keep))
        found.__dict__.update(label=self.label[at], classes=self.classes[keep])
        return found

    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        positions = np.unique(column).tolist()
        which = np.searchsorted(positions, column).astype(np.min_scalar_type(len(positions)))
        child = np.empty(len(self.node), dtype=np.intp)
        for here, node in self._places(np.arange(self.size)):
            by = which[node]
            for number, position in enumerate(positions):
                at = np.flatnonzero(by == number)
                own = node[at]
                at += here.start
                child[at] = first[own] + self._side(position, at, cut[own], low[own])
        if isinstance(self.row, slice):
            found, label = replace(self, node=child, size=size), self.label
        else:
            order = by_radix(child, size)
            found, label = replace(self, row=self.row[order], node=child[order], size=size), self.label[order]
        found.__dict__["label"] = label
        return found

    def cut(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> NDArray[np.int64]:
        sides = (
            (self._side(position, at, cut[number], low[number]), number, self.label[at])
            for at, number in self._places(nodes, len(nodes))
        )
        left = self._counted(((number[side == 0], label[side == 0]) for side, number, label in sides), len(nodes)).T
        return np.stack([left, self.classes[nodes].T - left])

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        size = self.records.attributes[position].column.size
        counts = self._crossed(self.records.codes[:, position], size, nodes)
        return counts if by_class else counts.sum(axis=2)

    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        values, rank = self.records.occurring[position][0], self.records.rank(position)
        known, size = len(values), len(nodes) * len(values)
        if size <= DENSE * len(self.node):
            every = self._crossed(rank, known + 1, nodes)[:, :known]  # the last are missing
            every = every.reshape(size, self.records.classes)
            where = np.flatnonzero(reduce(np.bitwise_or, every.T))
            counts = np.ascontiguousarray(every[where].T)
        else:
            order, number, place = self._ordered(position, nodes)
            where, counts = self._occupied(self.label[order], number, place, known)
        start = np.arange(len(nodes)) * known
        many = np.diff(np.searchsorted(where, start), append=len(where))
        return many, values[where - np.repeat(start, many)], counts

    def _ordered(self, position: int, nodes: Ints) -> tuple[Ints, NDArray[Any], NDArray[np.int32]]:
        """The places of some nodes where a column has a tick, by node and tick; and which these are of all."""
        rank, most = self.records.rank(position), len(self.records.occurring[position][0])
        if isinstance(self.row, slice):  # rows are in order already, for all levels
            order: NDArray[Any] = self.records.order(position)
            number = self._number(nodes).astype(np.min_scalar_type(-self.size))[self.node[order]]
            if not self._every(nodes):
                here = np.flatnonzero(number >= 0)
                order, number = order[here], number[here]
        else:
            at, number = self._at(nodes)
            by_tick = by_radix(rank[self.row[at]], most)
            order, number = (by_tick if isinstance(at, slice) else at[by_tick]), number[by_tick]
        by_node = by_radix(number, len(nodes))
        order, number = order[by_node], number[by_node]
        place = self._of(rank, order)
        if place.max(initial=0) == most:
            here = np.flatnonzero(place < most)
            order, number, place = order[here], number[here], place[here]
        return order, number, place

    def _occupied(
        self, label: NDArray[Any], number: NDArray[Any], place: NDArray[np.int32], values: int
    ) -> tuple[Ints, NDArray[np.int64]]:
        """Which pairs of a node and a value hold places, as one number, and counts of classes x pairs.

        Places are in the order of these pairs.
        """
        first = np.ones(len(number), dtype=bool)
        np.not_equal(number[1:], number[:-1], out=first[1:])
        first[1:] |= place[1:] != place[:-1]
        starts = np.flatnonzero(first)
        where = number[starts] * np.intp(values) + place[starts]
        pair = np.cumsum(first)
        pair += (label * np.intp(len(where))) - 1
        classes = self.records.classes
        return where, np.bincount(pair, minlength=classes * len(where)).reshape(classes, len(where))

    def _crossed(self, values: NDArray[Any], size: int, nodes: Ints) -> NDArray[np.int64]:
        """Counts of nodes x values x classes, of what records have, which is below `size`."""
        if isinstance(self.row, slice) and len(nodes) < self.size and 2 * self._extent[0][nodes].sum() > len(self.node):
            return self._crossed(values, size, np.arange(self.size))[nodes]  # faster than to look for their places
        places = self._places(nodes, len(nodes) * size)
        groups = ((number * size + self._of(values, at), self.label[at]) for at, number in places)
        return self._counted(groups, len(nodes) * size).reshape(len(nodes), size, self.records.classes)

    def _counted(self, groups: Iterable[tuple[Ints, NDArray[Any]]], size: int) -> NDArray[np.int64]:
        """Counts of groups x classes of some places, by their groups and classes."""
        classes = self.records.classes
        counts = np.zeros(size * classes, dtype=np.int64)
        for group, label in groups:
            counts += np.bincount(group * classes + label, minlength=len(counts))
        return counts.reshape(size, classes)

    def _of(self, values: NDArray[Any], at: NDArray[Any] | slice) -> NDArray[Any]:
        """What some places have of the records' values."""
        found: NDArray[Any] = values[at if isinstance(self.row, slice) else self.row[at]]
        return found

    def _side(self, position: int, at: Ints | slice, cut: Floats, low: Floats) -> Ints:
        """Into which child a column sends some places."""
        rows = self.records.rows
        values = rows.numbers(position) if position in rows.numbered else rows.codes[:, position]
        return self.records.attributes[position].side(self._of(values, at), cut, low)

    def _number(self, nodes: Ints) -> Ints:
        """Of every node, which of these it is; -1 if it is none."""
        number = np.full(self.size, -1, dtype=np.intp)
        number[nodes] = np.arange(len(nodes))
        return number

    def _every(self, nodes: Ints) -> bool:
        """Whether these are all nodes, in their order."""
        return len(nodes) == self.size and bool((nodes == np.arange(self.size)).all())

    def _at(self, nodes: Ints) -> tuple[Any, Ints]:
        """The places of some nodes, and which of these nodes each is in; of all nodes, places are a slice."""
        if self._every(nodes):
            return slice(None), self.node
        return self._moved(nodes)

    def _moved(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The same, node after node."""
        sizes, starts = self._extent
        length = sizes[nodes]
        moved = np.repeat(starts[nodes] - (np.cumsum(length) - length), length)
        moved += np.arange(len(moved))
        return self._by_node[moved] if isinstance(self.row, slice) else moved, np.repeat(np.arange(len(nodes)), length)

    def _places(self, nodes: Ints, cells: int = 0) -> Iterator[tuple[Any, Ints]]:
        """The same in blocks that the processor's cache holds; longer where every block fills so many cells."""
        at, number = self._at(nodes)
        long = max(exact_counts.BLOCK, cells)
        for start in range(0, max(len(number), 1), long):
            end = min(start + long, len(number))
            yield slice(start, end) if isinstance(at, slice) else at[start:end], number[start:end]

    @cached_property
    def _extent(self) -> tuple[Ints, Ints]:
        """How many places every node has, and where they begin in the order of nodes."""
        sizes = np.bincount(self.node, minlength=self.size)
        return sizes, np.cumsum(sizes) - sizes

    @cached_property
    def _by_node(self) -> Ints:
        """All places in the order of their nodes."""
        return by_radix(self.node, self.size)
