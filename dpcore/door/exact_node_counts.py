"""Exact counts of records in the nodes of trees, block by block. Private: for the door only.

Trees see a row's codes, its class, and the ranks of its numbers (`Records`). A record may be in
several trees, and in one tree several times (a bootstrap sample). Of every record a node's number
is kept for each sample that it may be in (one to four bytes): one sample if trees have disjoint
rows, and one per tree if not. Everything else is read again: all columns of a level at once, in all
trees, in as many passes as it takes for what is counted in each to fit into `PILE`. How many these
are depends on the number of rows; how much memory each needs does not. Counts of classes are shaped
groups x classes x candidates, as scores take them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.splits import GRID, STEP, Attribute, CodeSplit, Groups, NumberSplit, OneValue
from dpcore.mechanisms.noise import Noise
from dpcore.rows import HeldRows, Rows, exact_counts

STEPS = GRID // STEP + 1
CELL = 4  # keys that take as much memory as a cell while it is counted
NOWHERE = -1
PILE = 1 << 25  # keys that are counted in one pass, of four bytes each; among thousands of nodes of eight
CANDIDATES = 1 << 18  # of nodes that are asked together, twice as many in memory; a node alone may have more
KEPT = 1 << 22  # records whose order by nodes is kept, at four bytes each; that of others is found for every question
SAMPLES = 8  # of a whole block of rows that are worked on together
DENSE = 1 << 21  # cells that are counted, and no keys sorted, where at least half as many keys come


class Records:
    """Columns, ranks and classes of all rows, wherever they are.

    Attributes are by the column's position; the rows' numbers are the steps of the columns that are
    cut anywhere (`NumberCut.steps`): `STEPS` different ones at most, however many rows there are. A
    number's rank is its place among those that occur; of NaN it is their number. Ranks of rows in
    memory are worked out once.
    """

    def __init__(self, rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        self.rows, self.attributes, self.target, self.classes = rows, attributes, target, classes

    @cached_property
    def occurring(self) -> dict[int, tuple[Floats, NDArray[np.int32]]]:
        """By column: its steps that occur, in order, and the rank of every step; the last is of NaN."""
        positions = sorted(self.rows.number_columns)
        there = np.zeros((len(positions), STEPS + 1), dtype=bool)
        for block in self.rows.blocks((), positions):
            for position, own, numbers in zip(positions, there, block, strict=True):
                own[numbers_of(self.rows.transform_numbers(position, numbers))] = True
        there[:, -1] = False
        return {
            position: (
                np.flatnonzero(own).astype(float) * STEP,
                np.append(np.cumsum(own[:-1]) - 1, own.sum()).astype(np.int32),
            )
            for position, own in zip(positions, there, strict=True)
        }

    @cached_property
    def held(self) -> HeldRows | None:
        """Rows in memory, with ranks in the place of numbers."""
        if not isinstance(self.rows, HeldRows):
            return None
        found: dict[int, Any] = {j: ranks[numbers_of(self.rows.numbers(j))] for j, (_, ranks) in self.occurring.items()}
        return HeldRows(self.rows.codes, self.rows.sizes, found)

    def ranks(self, position: int, values: NDArray[Any]) -> NDArray[Any]:
        """The ranks of what blocks have of a column's numbers."""
        if self.held is not None:
            return values
        return self.occurring[position][1][numbers_of(self.rows.transform_numbers(position, values))]


def numbers_of(steps: Floats) -> NDArray[np.int32]:
    """Which step of the grid each is; one behind the last where NaN."""
    return np.fmin(steps / STEP, STEPS).astype(np.int32)


class Pile:
    """How often each key comes, of those below `cells`, when `most` come in all.

    Kept are a count for each cell where these are few, and else the keys themselves, sorted at the
    end.
    """

    def __init__(self, cells: int, most: int) -> None:
        dense = CELL * cells <= most or cells <= min(2 * most, DENSE)
        self.kind = np.int32 if cells < 1 << 30 else np.int64
        self._counts = np.zeros(cells, dtype=np.uint32) if dense else None
        self._keys = np.empty(0 if self._counts is not None else most, self.kind)
        self._waiting: list[Ints] = []
        self._many = 0

    def add(self, keys: Ints) -> None:
        """Count some keys."""
        if self._counts is None:
            self._keys[self._many : self._many + len(keys)] = keys
            self._many += len(keys)
        else:
            self._waiting.append(keys)
            self._many += len(keys)
            if self._many > len(self._counts):  # so that cells are gone through a few times only
                self.end()

    def end(self) -> None:
        """After all keys have been added: before, nobody may ask."""
        if self._counts is None:
            self._keys = self._keys[: self._many]
            self._keys.sort()
        elif self._many:
            found = np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
            np.add(self._counts, found, out=self._counts, casting="unsafe")
            self._waiting, self._many = [], 0

    def between(self, first: int, end: int) -> tuple[Ints, NDArray[Any]]:
        """The keys from one to the one before another that came, less the first, and how often each did."""
        if self._counts is not None:
            part = self._counts[first:end]
            found = np.flatnonzero(part != 0)  # of truth values, in a third of the time
            return found, part[found]
        own = self._keys[slice(*np.searchsorted(self._keys, np.array([first, end], dtype=self._keys.dtype)))]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: len(own)])
        return own[starts].astype(np.int64) - first, np.diff(starts, append=len(own))


@dataclass(frozen=True, eq=False)
class SplitPoints:
    """Candidates of one attribute, m in all: the node of each, the counts of its children, and where it cuts.

    Nodes are in increasing order for numbers; tables have the shape (children, classes, m). The cut
    lies in [low, high); equal numbers mean that there; NaN for groups, which have one candidate per
    node.
    """

    nodes: Ints
    tables: NDArray[np.int64]
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Query:
    """A column that some nodes are counted by, in increasing order.

    `rank` says for some values, and which of these nodes their records are in, what they are
    counted as: numbers below `size`, or that one for nothing.
    """

    position: int
    nodes: Ints
    size: int
    rank: Callable[[NDArray[Any], Ints], NDArray[Any]]
    numeric: bool = False  # whether values are of the column's numbers; of its codes otherwise


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The nodes of one level of all trees, `size` in number, and what is counted of the records in them.

    `node` has the node of each record in each sample, shape (samples, n), and `times` how often it
    was drawn, if not once. `number` has, for each node that `node` names, its number here, or
    `NOWHERE`. `piles` are what was counted already, by position; `orders` are of blocks
    (`_by_node`), and the same for all nodes of a level.
    """

    records: Records
    node: NDArray[np.signedinteger[Any]]
    times: NDArray[np.uint8] | None
    number: Ints
    size: int
    piles: Mapping[int, tuple[Query, Pile]] = field(default_factory=dict)
    orders: dict[tuple[int, int], tuple[NDArray[np.int32], int, Ints]] = field(default_factory=dict)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Counts of nodes x classes."""
        classes, every = self.records.classes, np.arange(self.size)
        counts = np.zeros(self.size * classes, dtype=np.int64)
        for *_, node, label, _ in self._met([Query(self.records.target, every, classes, as_they_are)]):
            counts += np.bincount(node * classes + label, minlength=len(counts))
        return counts.reshape(self.size, classes)

    def only(self, keep: Ints) -> Self:
        """Some of the nodes, by their numbers, ascending; they are numbered anew in that order."""
        found = replace(self, number=renumber(self.number, self.size, keep), size=len(keep), piles={})
        found.__dict__["classes"] = self.classes[keep]
        return found

    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        """The next level, of `size` nodes.

        Per node of this one: the position of the column that divides it, where, the lower end of
        its range, and the number of its first child.
        """
        children = np.full(self.node.shape, NOWHERE, np.min_scalar_type(-max(size, 1)))
        every = np.flatnonzero
        queries = [
            self._by_side(position, nodes, cut[nodes], low[nodes])
            for position in np.unique(column).tolist()
            for nodes in [every(column == position)]
        ]
        classes = self.records.classes
        counts = np.zeros(size * classes, dtype=np.int64)
        for query, (block, index), node, side, label in self._met(queries):
            child, part = first[query.nodes].take(node) + side, children[block]
            part[np.divmod(index, part.shape[1]) if len(part) > 1 else (0, index)] = child
            counts += np.bincount(child * classes + label, minlength=len(counts))
        found = type(self)(self.records, children, self.times, same_numbers(size), size)
        found.__dict__["classes"] = counts.reshape(size, classes)
        return found

    def lots(self, offered: Flags, known: Flags, points: Floats, low: Floats) -> Iterator[tuple[int, int, Self]]:
        """Nodes whose candidates are asked for together: the first, the one behind the last, and what counts them.

        Arrays are those of `PrivateNodes.choose`; `known` says of which columns the cuts are given.
        What counts a lot is asked about that lot alone, before the next one is taken. They are
        nodes that can be counted in one pass, and of these those that have few candidates.
        """

        def query(position: int, nodes: Ints) -> Query:
            if known[position]:
                return self._by_side(position, nodes, points[nodes, position], low[nodes, position])
            return self._by_value(position, nodes)

        every, classes, records = np.arange(self.size), self.records.classes, self.classes.sum(axis=1)
        positions = np.flatnonzero(offered.any(axis=0))
        sizes = np.array([query(position, every[:0]).size for position in positions.tolist()])
        whole = np.minimum(CELL * classes * sizes * offered[:, positions].sum(axis=0), records @ offered[:, positions])
        order = np.argsort(whole, kind="stable")
        # Columns of few values are counted for all nodes in the first pass, so that further ones are about the others.
        light = np.cumsum(whole[order]) <= PILE // 2
        few, others = positions[order[light]], positions[order[~light]]
        piles: dict[int, tuple[Query, Pile]] = {}
        found = replace(self, piles=piles)
        found.__dict__["classes"] = self.classes
        room, together = PILE - int(whole[order[light]].sum()), CANDIDATES << (self.records.held is not None)
        for first, end in spans(0, self.size, offered[:, others], records, CELL * classes * sizes[order[~light]], room):
            nodes = every[first:end]
            counted = [query(position, nodes[offered[first:end, position]]) for position in others.tolist()]
            if not first:
                counted += [query(position, every[offered[:, position]]) for position in few.tolist()]
            piles |= {one.position: (one, pile) for one, pile in self._piled(counted)}
            for span in spans(first, end, offered[:, positions], records, sizes, together):
                yield *span, found
            for position in others.tolist():
                del piles[position]  # whoever was given it asks no more

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        """Counts by a column's codes and by class, shape (nodes, codes, classes) or (nodes, codes)."""
        found = self._table(self._by_value(position, nodes))
        return found if by_class else found.sum(axis=2)

    def candidates(
        self, position: int, nodes: Ints, low: Floats, high: Floats, split_points: Floats | None = None
    ) -> Iterator[SplitPoints]:
        """All divisions of some nodes by a column, given the nodes' ranges; in several batches for groups.

        Where `split_points` are given, these are all.
        """
        attribute = self.records.attributes[position]
        if split_points is not None:
            sides = self._table(self._by_side(position, nodes, split_points, low))
            yield SplitPoints(nodes, np.moveaxis(sides, 0, -1), split_points, split_points)
        elif isinstance(attribute, Groups):
            yield from self._groups(attribute, position, nodes, low)
        elif isinstance(attribute, CodeSplit):
            yield self._codes(position, nodes, low, high, one=False)
        elif isinstance(attribute, OneValue):
            yield self._codes(position, nodes, low, high, one=True)
        elif isinstance(attribute, NumberSplit):
            yield self._intervals(position, nodes, low, high)

    def _groups(self, attribute: Groups, position: int, nodes: Ints, low: Floats) -> Iterator[SplitPoints]:
        tables = self.tables(position, nodes)
        indices = low.astype(np.intp)
        for index in np.unique(indices).tolist():
            here, nothing = np.flatnonzero(indices == index), np.full((indices == index).sum(), np.nan)
            inside = np.arange(attribute.fans[index])[:, None] == attribute.child_of[index]  # children x codes
            summed = inside.astype(np.int64) @ tables[here]
            yield SplitPoints(nodes[here], np.moveaxis(summed, 0, -1), nothing, nothing)

    def _codes(self, position: int, nodes: Ints, low: Floats, high: Floats, *, one: bool) -> SplitPoints:
        """One code against all others, or the codes below one of the range against those from it on."""
        tables = self.tables(position, nodes)
        lefts = tables if one else np.cumsum(tables, axis=1)  # codes below the range hold no records here
        ends = (0 * low, 0 * low + lefts.shape[1]) if one else (low, high - 1)
        start, end = (each.astype(np.intp) for each in ends)
        width = end - start
        number = np.repeat(np.arange(len(nodes)), width)
        index = start[number] + np.arange(len(number)) - (np.cumsum(width) - width)[number]
        left, point = lefts[number, index], index + (0.0 if one else 1.0)
        return SplitPoints(nodes[number], np.stack([left.T, (self.classes[nodes][number] - left).T]), point, point)

    def _intervals(self, position: int, nodes: Ints, low: Floats, high: Floats) -> SplitPoints:
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
        return SplitPoints(np.repeat(nodes, wide), tables, lower, upper)

    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """The steps of a column that occur in some nodes: how many in each, which, and counts of classes x steps."""
        query, classes = self._by_value(position, nodes), self.records.classes
        keys, times = self._keys(query)
        group = keys // classes
        new = np.diff(group, prepend=-1) > 0
        counts = np.zeros((classes, np.count_nonzero(new)), dtype=np.int64)
        counts[keys - group * classes, np.cumsum(new) - 1] = times
        start, group = np.arange(len(nodes)) * query.size, group[new]
        many = np.diff(np.searchsorted(group, start), append=len(group))
        return many, self.records.occurring[position][0][group - np.repeat(start, many)], counts

    def _table(self, query: Query) -> NDArray[np.int64]:
        """Counts of nodes x ranks x classes."""
        keys, times = self._keys(query)
        table = np.zeros((len(query.nodes), query.size, self.records.classes), dtype=np.int64)
        table.reshape(-1)[keys] = times
        return table

    def _keys(self, query: Query) -> tuple[Ints, NDArray[Any]]:
        """Which (node, rank, class), as one number, records have, and how many have each."""
        whole, pile = self.piles.get(query.position) or self._piled([query])[0]
        first, wide = np.searchsorted(whole.nodes, query.nodes[:1]).sum(), query.size * self.records.classes
        return pile.between(first * wide, (first + len(query.nodes)) * wide)

    def _by_value(self, position: int, nodes: Ints) -> Query:
        """By the codes of a column, or by the steps of one that is cut anywhere."""
        if not isinstance(attribute := self.records.attributes[position], NumberSplit):
            return Query(position, nodes, attribute.column.size, as_they_are)

        def rank(values: NDArray[Any], _: Ints) -> NDArray[Any]:
            return self.records.ranks(position, values)

        return Query(position, nodes, len(self.records.occurring[position][0]), rank, numeric=True)

    def _by_side(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> Query:
        records, attribute = self.records, self.records.attributes[position]
        numbered = position in records.rows.number_columns
        if numbered:  # the largest rank of a step at or below each; -1 if there is none
            cut = np.asarray(np.searchsorted(records.occurring[position][0], cut, side="right") - 1.0)

        def rank(values: NDArray[Any], node: Ints) -> NDArray[Any]:
            return attribute.side(records.ranks(position, values) if numbered else values, cut[node], low[node])

        return Query(position, nodes, 2, rank, numbered)

    def _piled(self, queries: list[Query]) -> list[tuple[Query, Pile]]:
        """What is counted of all records, in one pass."""
        classes, records = self.records.classes, self.classes.sum(axis=1)
        piles = {one: Pile(len(one.nodes) * one.size * classes, int(records[one.nodes].sum())) for one in queries}
        for one, _, node, rank, label in self._met(queries):
            keys = np.multiply(node, one.size, dtype=piles[one].kind)
            keys += rank
            keys *= classes
            keys += label
            piles[one].add(keys if rank.max(initial=0) < one.size else keys[rank < one.size])
        for pile in piles.values():
            pile.end()
        return [*piles.items()]

    def _met(self, queries: list[Query]) -> Iterator[tuple[Query, Any, Ints, NDArray[Any], NDArray[Any]]]:
        """Block by block and column by column, of the records in the nodes that are counted.

        Where `node` has each, which of the nodes that is, its rank and its class.
        """
        ordered = sorted(queries, key=lambda one: (one.numeric, len(one.nodes)))
        own = np.flatnonzero(self.number[:-1] != NOWHERE)
        codes, others = ([one.position for one in ordered if one.numeric == which] for which in (False, True))
        start, samples = 0, len(self.node)
        source = self.records.held or self.records.rows
        for labels, *columns in source.blocks([self.records.target, *codes], others):
            rows, many = len(labels), min(max(SAMPLES * exact_counts.BLOCK // len(labels), 1), samples)
            for first in range(0, samples, many):
                block, last = np.s_[first : first + many, start : start + rows], None
                index, low, starts = self._by_node(block)
                for one, values in zip(ordered, columns, strict=True):
                    if last is None or not np.array_equal(one.nodes, last):
                        last, nodes = one.nodes, own[one.nodes] - low
                        here = slice(*np.searchsorted(nodes, [0, len(starts) - 1]))
                        begin, end = (starts.take(nodes[here] + more) for more in (0, 1))
                        node = np.repeat(np.arange(len(nodes))[here], end - begin)
                        at = np.arange(len(node)) + np.repeat(end - np.cumsum(end - begin), end - begin)
                        at = index.take(at).astype(np.intp)
                        row = at - at // rows * rows  # in half of the time of a remainder
                        label = labels.take(row)
                    yield one, (block, at), node, one.rank(values.take(row), node), label
            start += rows

    def _by_node(self, block: tuple[slice, slice]) -> tuple[NDArray[np.int32], int, Ints]:
        """Where records are in a block, by their nodes; the first node; and where those of each, and behind, begin."""
        kept, key = self.orders if self.node.size <= KEPT else {}, (block[0].start, block[1].start)
        if key not in kept:
            every = self.node[block].ravel()
            index = np.flatnonzero(every != NOWHERE)
            if self.times is not None:
                index = index.repeat(self.times[block].ravel().take(index))
            node = every.take(index)
            low = int(node.min()) if len(node) else 0
            node = node - low
            order = np.argsort(node.astype(np.uint16) if node.max(initial=0) < 1 << 16 else node, kind="stable")
            kept[key] = index.take(order).astype(np.int32), low, np.append(0, np.cumsum(np.bincount(node)))
        return kept[key]


def as_they_are(values: NDArray[Any], _: Ints) -> NDArray[Any]:
    """Codes, which are counted as such."""
    return values


def same_numbers(size: int) -> Ints:
    """Numbers of nodes as they are; the last is of `NOWHERE`."""
    return np.append(np.arange(size), NOWHERE)


def renumber(number: Ints, size: int, keep: Ints) -> Ints:
    """Numbers of nodes among some that are kept."""
    new = np.full(size + 1, NOWHERE)
    new[keep] = np.arange(len(keep))
    return np.asarray(new[number], dtype=np.int32)


def spans(first: int, end: int, offered: Flags, records: Ints, cells: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Nodes, one or more at a time, that have so many cells at most or, by column, whose records are as few."""
    while first < end:
        here = offered[first:end]
        come = np.cumsum(here * records[first:end, None], axis=0)
        costs = np.minimum(np.cumsum(here, axis=0) * cells, come).sum(axis=1)
        stop = first + max(int(np.searchsorted(costs, most, side="right")), 1)
        yield first, stop
        first = stop


def roots(records: Records, noise: Noise, trees: int, resample: str, rate: float) -> NodeRows:
    """Every tree's records. A rate is rounded down to what lots can have, so that it is none too high."""
    n, rate, kind = len(records.rows), floor(rate * 2.0**53) / 2.0**53, np.min_scalar_type(-trees)
    if resample == "disjoint":
        node = np.zeros((1, n), dtype=kind)
        for here, draws in uniform_blocks(noise, n) if trees > 1 else ():
            node[0, here] = np.minimum(draws * trees, trees - 1)
        return NodeRows(records, node, None, same_numbers(trees), trees)
    node = np.repeat(np.arange(trees, dtype=kind)[:, None], n, axis=1)
    times = np.zeros(node.shape, dtype=np.uint8) if resample == "bootstrap" else None
    for tree in range(trees) if resample != "full" else ():
        for here, draws in uniform_blocks(noise, n):
            if times is None:
                node[tree, here][draws >= rate] = NOWHERE
            else:  # more than 255 of one row: less likely than 1 in 10^500
                np.add.at(times[tree], np.minimum(draws * n, n - 1).astype(np.intp), np.uint8(1))
    return NodeRows(records, node, times, same_numbers(trees), trees)


def uniform_blocks(noise: Noise, rows: int) -> Iterator[tuple[slice, Floats]]:
    """One lot of every row, and where these rows are, some at a time."""
    start = 0
    for draws in noise.lots_by_blocks(rows):
        yield slice(start, start + len(draws)), draws
        start += len(draws)
