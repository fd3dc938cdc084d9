"""Noiseless counts of rows in tree nodes, block by block. Private: for the door only.

Trees use a row's codes, its class, and the ranks of its numbers (`Records`). A row may be in
several trees, and several times in one tree (a bootstrap sample). For every row the number of its
node is stored per sample that it may be in (one to four bytes): one sample if trees have disjoint
rows, one per tree otherwise. All else is read again: all columns of a level at once, in all trees,
in as many passes as it takes for the counts of each pass to fit into `MOST_KEYS`. The number of
passes depends on the number of rows; the memory of a pass does not. Counts of classes have the
shape groups x classes x candidates, as scores need them.
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
CELL = 4  # memory of a counted cell, in keys
NOWHERE = -1
MOST_KEYS = 1 << 25  # keys counted in one pass, of four or eight bytes each
MOST_CANDIDATES = 1 << 18  # of a batch of nodes; twice as many for rows in memory
MOST_SORTED = 1 << 22  # rows whose order by nodes is cached, at four bytes each
SAMPLES_AT_ONCE = 8  # samples of one block of rows that are sorted together
DENSE = 1 << 21  # cells that are counted, not sorted, if half as many keys are added


class Records:
    """Columns, number ranks and classes of all rows, in memory or in a folder.

    `attributes` are the splits by column position. The rows' numbers are the steps of columns that
    are split anywhere (`NumberSplit.steps`), with at most `STEPS` distinct values. The rank of a
    number is its index among the steps that occur; NaN has the next rank. Ranks of rows in memory
    are computed once.
    """

    def __init__(self, rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        self.rows, self.attributes, self.target, self.classes = rows, attributes, target, classes

    @cached_property
    def occurring(self) -> dict[int, tuple[Floats, NDArray[np.int32]]]:
        """Per numeric column: the grid steps that occur in the rows, and the rank of every step.

        Steps that occur are ascending. The last rank is that of NaN.
        """
        positions = sorted(self.rows.number_columns)
        there = np.zeros((len(positions), STEPS + 1), dtype=bool)
        for block in self.rows.blocks((), positions):
            for position, own, numbers in zip(positions, there, block, strict=True):
                own[step_indices(self.rows.transform_numbers(position, numbers))] = True
        there[:, -1] = False
        return {
            position: (
                np.flatnonzero(own).astype(float) * STEP,
                np.append(np.cumsum(own[:-1]) - 1, own.sum()).astype(np.int32),
            )
            for position, own in zip(positions, there, strict=True)
        }

    @cached_property
    def in_memory(self) -> HeldRows | None:
        """The rows with ranks instead of numbers, if all rows are in memory; else None."""
        if not isinstance(self.rows, HeldRows):
            return None
        found: dict[int, Any] = {j: own[step_indices(self.rows.numbers(j))] for j, (_, own) in self.occurring.items()}
        return HeldRows(self.rows.codes, self.rows.sizes, found)

    def ranks(self, position: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return the ranks of a block's numbers among the grid steps that occur in the column.

        `position` is the column's. `values` has the numbers of the block; if the rows are in
        memory, it has their ranks already, and is returned.
        """
        if self.in_memory is not None:
            return values
        return self.occurring[position][1][step_indices(self.rows.transform_numbers(position, values))]


def step_indices(steps: Floats) -> NDArray[np.int32]:
    """Return the index of each number on the grid of steps; NaN has the index after the last."""
    return np.fmin(steps / STEP, STEPS).astype(np.int32)


class KeyCounts:
    """Counter of integer keys from 0 to `cells` - 1, of which at most `most` are added.

    With few cells, there is one count per cell. Otherwise the keys themselves are stored, and
    sorted at the end.
    """

    def __init__(self, cells: int, most: int) -> None:
        dense = CELL * cells <= most or cells <= min(2 * most, DENSE)
        self.kind = np.int32 if cells < 1 << 30 else np.int64
        self._counts = np.zeros(cells, dtype=np.uint32) if dense else None
        self._keys = np.empty(0 if self._counts is not None else most, self.kind)
        self._waiting: list[Ints] = []
        self._many = 0

    def add(self, keys: Ints) -> None:
        """Add integer keys to the counter."""
        if self._counts is None:
            self._keys[self._many : self._many + len(keys)] = keys
            self._many += len(keys)
        else:
            self._waiting.append(keys)
            self._many += len(keys)
            if self._many > len(self._counts):  # adds to all cells only a few times
                self.end()

    def end(self) -> None:
        """Finish counting: call after the last `add` and before `counts_between`."""
        if self._counts is None:
            self._keys = self._keys[: self._many]
            self._keys.sort()
        elif self._many:
            found = np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
            np.add(self._counts, found, out=self._counts, casting="unsafe")
            self._waiting, self._many = [], 0

    def counts_between(self, first: int, end: int) -> tuple[Ints, NDArray[Any]]:
        """Return the distinct keys from `first` to `end` - 1, and how often each was added.

        The returned keys are less by `first`.
        """
        if self._counts is not None:
            part = self._counts[first:end]
            found = np.flatnonzero(part != 0)  # booleans take a third of the time
            return found, part[found]
        own = self._keys[slice(*np.searchsorted(self._keys, np.array([first, end], dtype=self._keys.dtype)))]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: len(own)])
        return own[starts].astype(np.int64) - first, np.diff(starts, append=len(own))


@dataclass(frozen=True, eq=False)
class SplitPoints:
    """Split candidates of one column, m in all: nodes, counts of children, and split points.

    `nodes` are ascending for numbers; `tables` has the shape (children, classes, m). The split
    point is in [low, high), or at `low` if both are equal. Both are NaN for groups, which have one
    candidate per node.
    """

    nodes: Ints
    tables: NDArray[np.int64]
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class CountQuery:
    """A column to count in some nodes, which are in increasing order.

    `rank` maps values, and the index of each row's node in `nodes`, to the number that is counted,
    below `size`; `size` itself means that the row is not counted.
    """

    position: int
    nodes: Ints
    size: int
    rank: Callable[[NDArray[Any], Ints], NDArray[Any]]
    numeric: bool = False  # whether values are ranks of numbers, not codes


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The nodes of one level of all trees, with the noiseless counts of their rows.

    `node` has the node of each row in each sample, shape (samples, n), and `times` how often the
    row was drawn, if not once. `number` maps the values of `node` to the nodes of this object, or
    to `NOWHERE`; there are `size` nodes. `piles` has finished counts by column position. `orders`
    caches the sorted blocks of `_sort_by_node` for all selections of a level.
    """

    records: Records
    node: NDArray[np.signedinteger[Any]]
    times: NDArray[np.uint8] | None
    number: Ints
    size: int
    piles: Mapping[int, tuple[CountQuery, KeyCounts]] = field(default_factory=dict)
    orders: dict[tuple[int, int], tuple[NDArray[np.int32], int, Ints]] = field(default_factory=dict)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Noiseless number of rows of each class in each node, shape (nodes, classes)."""
        classes, every = self.records.classes, np.arange(self.size)
        counts = np.zeros(self.size * classes, dtype=np.int64)
        for *_, node, label, _ in self._scan_rows([CountQuery(self.records.target, every, classes, identity_rank)]):
            counts += np.bincount(node * classes + label, minlength=len(counts))
        return counts.reshape(self.size, classes)

    def select(self, keep: Ints) -> Self:
        """Return the tree nodes `keep`, an ascending array; they are renumbered in that order."""
        found = replace(self, number=renumber(self.number, self.size, keep), size=len(keep), piles={})
        found.__dict__["classes"] = self.classes[keep]
        return found

    def split_nodes(self, column: Ints, points: Floats, low: Floats, first: Ints, size: int) -> Self:
        """Return the next level of the trees, which has `size` nodes, with its counts.

        Arrays have one entry per node of this level: `column` is the position of the column that
        splits it, `points` the split point, `low` the lower end of the column's range, and `first`
        the number of its first child.
        """
        children = np.full(self.node.shape, NOWHERE, np.min_scalar_type(-max(size, 1)))
        every = np.flatnonzero
        queries = [
            self._side_query(position, nodes, points[nodes], low[nodes])
            for position in np.unique(column).tolist()
            for nodes in [every(column == position)]
        ]
        classes = self.records.classes
        counts = np.zeros(size * classes, dtype=np.int64)
        for query, (block, index), node, side, label in self._scan_rows(queries):
            child, part = first[query.nodes].take(node) + side, children[block]
            part[np.divmod(index, part.shape[1]) if len(part) > 1 else (0, index)] = child
            counts += np.bincount(child * classes + label, minlength=len(counts))
        found = type(self)(self.records, children, self.times, identity_numbers(size), size)
        found.__dict__["classes"] = counts.reshape(size, classes)
        return found

    def batches(self, offered: Flags, known: Flags, points: Floats, low: Floats) -> Iterator[tuple[int, int, Self]]:
        """Yield batches of tree nodes: the first node, the end, and the counts of their splits.

        `offered` marks the columns that each node may be split by, `points` has split points that
        were chosen before, and `low` the lower ends of ranges, all of shape (nodes, columns);
        `known` marks columns whose split points are all given. A batch's nodes are counted in one
        pass, and have few candidates. It must be used before the next is taken.
        """

        def query(position: int, nodes: Ints) -> CountQuery:
            """Return the query that counts a column in some nodes, by split points if given."""
            if known[position]:
                return self._side_query(position, nodes, points[nodes, position], low[nodes, position])
            return self._value_query(position, nodes)

        every, classes, records = np.arange(self.size), self.records.classes, self.classes.sum(axis=1)
        positions = np.flatnonzero(offered.any(axis=0))
        sizes = np.array([query(position, every[:0]).size for position in positions.tolist()])
        whole = np.minimum(CELL * classes * sizes * offered[:, positions].sum(axis=0), records @ offered[:, positions])
        order = np.argsort(whole, kind="stable")
        # The first pass counts columns of few values for all nodes, later passes the others.
        light = np.cumsum(whole[order]) <= MOST_KEYS // 2
        few, others = positions[order[light]], positions[order[~light]]
        piles: dict[int, tuple[CountQuery, KeyCounts]] = {}
        found = replace(self, piles=piles)
        found.__dict__["classes"] = self.classes
        room, cells = MOST_KEYS - int(whole[order[light]].sum()), CELL * classes * sizes[order[~light]]
        most = MOST_CANDIDATES << (self.records.in_memory is not None)
        for first, end in batch_spans(0, self.size, offered[:, others], records, cells, room):
            nodes = every[first:end]
            counted = [query(position, nodes[offered[first:end, position]]) for position in others.tolist()]
            if not first:
                counted += [query(position, every[offered[:, position]]) for position in few.tolist()]
            piles |= {one.position: (one, pile) for one, pile in self._count_keys(counted)}
            for span in batch_spans(first, end, offered[:, positions], records, sizes, most):
                yield *span, found
            for position in others.tolist():
                del piles[position]  # its batches were used

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        """Return noiseless counts of a column's codes by class in tree nodes.

        The shape is (nodes, codes, classes), or (nodes, codes) without `by_class`.
        """
        found = self._count_table(self._value_query(position, nodes))
        return found if by_class else found.sum(axis=2)

    def candidates(
        self, position: int, nodes: Ints, low: Floats, high: Floats, split_points: Floats | None = None
    ) -> Iterator[SplitPoints]:
        """Yield all split candidates of some tree nodes by one column, with noiseless counts.

        `low` and `high` are the nodes' ranges. If `split_points` are given, they are the only
        candidates. Columns that are split by groups give several batches.
        """
        attribute = self.records.attributes[position]
        if split_points is not None:
            sides = self._count_table(self._side_query(position, nodes, split_points, low))
            yield SplitPoints(nodes, np.moveaxis(sides, 0, -1), split_points, split_points)
        elif isinstance(attribute, Groups):
            yield from self._group_candidates(attribute, position, nodes, low)
        elif isinstance(attribute, CodeSplit):
            yield self._code_candidates(position, nodes, low, high, one=False)
        elif isinstance(attribute, OneValue):
            yield self._code_candidates(position, nodes, low, high, one=True)
        elif isinstance(attribute, NumberSplit):
            yield self._interval_candidates(position, nodes, low, high)

    def _group_candidates(self, attribute: Groups, position: int, nodes: Ints, low: Floats) -> Iterator[SplitPoints]:
        """Yield split candidates of tree nodes by groups of codes: one per node, a child per group.

        `attribute` has the groups of the column at `position`; `low` has the group of each node.
        """
        tables = self.tables(position, nodes)
        indices = low.astype(np.intp)
        for index in np.unique(indices).tolist():
            here, nothing = np.flatnonzero(indices == index), np.full((indices == index).sum(), np.nan)
            inside = np.arange(attribute.fans[index])[:, None] == attribute.child_of[index]
            summed = inside.astype(np.int64) @ tables[here]
            yield SplitPoints(nodes[here], np.moveaxis(summed, 0, -1), nothing, nothing)

    def _code_candidates(self, position: int, nodes: Ints, low: Floats, high: Floats, *, one: bool) -> SplitPoints:
        """Return split candidates of tree nodes by a column's codes, with noiseless counts.

        With `one` a candidate separates one code from the others, else the codes below a split
        point from the rest. `low` and `high` are the ends of the nodes' ranges of codes.
        """
        tables = self.tables(position, nodes)
        lefts = tables if one else np.cumsum(tables, axis=1)  # codes below the range have no rows
        ends = (0 * low, 0 * low + lefts.shape[1]) if one else (low, high - 1)
        start, end = (each.astype(np.intp) for each in ends)
        width = end - start
        number = np.repeat(np.arange(len(nodes)), width)
        index = start[number] + np.arange(len(number)) - (np.cumsum(width) - width)[number]
        left, point = lefts[number, index], index + (0.0 if one else 1.0)
        return SplitPoints(nodes[number], np.stack([left.T, (self.classes[nodes][number] - left).T]), point, point)

    def _interval_candidates(self, position: int, nodes: Ints, low: Floats, high: Floats) -> SplitPoints:
        """Return split candidates of tree nodes by a numeric column: intervals between numbers.

        All split points between two neighboring numbers of a node have equal counts, so they are
        one candidate. The intervals cover the node's range, from `low` to `high`. A node without
        rows has one interval, its whole range.
        """
        many, tick, counts = self._occurring_steps(position, nodes)
        m, wide = len(nodes), many + 1  # one more: all rows go right
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

    def _occurring_steps(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """Return the grid steps of a numeric column that occur in each of some tree nodes.

        Returns the number of steps per node, the steps of all nodes, and counts of rows, shape
        (classes, steps).
        """
        query, classes = self._value_query(position, nodes), self.records.classes
        keys, times = self._key_counts(query)
        group = keys // classes
        new = np.diff(group, prepend=-1) > 0
        counts = np.zeros((classes, np.count_nonzero(new)), dtype=np.int64)
        counts[keys - group * classes, np.cumsum(new) - 1] = times
        start, group = np.arange(len(nodes)) * query.size, group[new]
        many = np.diff(np.searchsorted(group, start), append=len(group))
        return many, self.records.occurring[position][0][group - np.repeat(start, many)], counts

    def _count_table(self, query: CountQuery) -> NDArray[np.int64]:
        """Return the noiseless counts of rows for a query, shape (nodes, ranks, classes).

        The rank is the value that the query counts: a code, the rank of a number, or a child.
        """
        keys, times = self._key_counts(query)
        table = np.zeros((len(query.nodes), query.size, self.records.classes), dtype=np.int64)
        table.reshape(-1)[keys] = times
        return table

    def _key_counts(self, query: CountQuery) -> tuple[Ints, NDArray[Any]]:
        """Return the distinct (node, rank, class) keys of a query, and the number of rows of each.

        A key encodes node, rank and class as one integer.
        """
        whole, pile = self.piles.get(query.position) or self._count_keys([query])[0]
        first, wide = np.searchsorted(whole.nodes, query.nodes[:1]).sum(), query.size * self.records.classes
        return pile.counts_between(first * wide, (first + len(query.nodes)) * wide)

    def _value_query(self, position: int, nodes: Ints) -> CountQuery:
        """Return the query that counts codes of a column, or ranks of its numbers, in tree nodes."""
        if not isinstance(attribute := self.records.attributes[position], NumberSplit):
            return CountQuery(position, nodes, attribute.column.size, identity_rank)

        def rank(values: NDArray[Any], _: Ints) -> NDArray[Any]:
            """Return the ranks of the rows' numbers."""
            return self.records.ranks(position, values)

        return CountQuery(position, nodes, len(self.records.occurring[position][0]), rank, numeric=True)

    def _side_query(self, position: int, nodes: Ints, points: Floats, low: Floats) -> CountQuery:
        """Return the query that counts the rows of each child, given split points of tree nodes.

        `points` has the split point of each node, and `low` the lower end of its range.
        """
        records, attribute = self.records, self.records.attributes[position]
        numbered = position in records.rows.number_columns
        if numbered:  # the largest rank of a step at or below each point; -1 if there is none
            points = np.asarray(np.searchsorted(records.occurring[position][0], points, side="right") - 1.0)

        def rank(values: NDArray[Any], node: Ints) -> NDArray[Any]:
            """Return the child that each row goes to."""
            return attribute.side(records.ranks(position, values) if numbered else values, points[node], low[node])

        return CountQuery(position, nodes, 2, rank, numbered)

    def _count_keys(self, queries: list[CountQuery]) -> list[tuple[CountQuery, KeyCounts]]:
        """Count the rows of several queries in one pass; return each query with its counts."""
        classes, records = self.records.classes, self.classes.sum(axis=1)
        piles = {one: KeyCounts(len(one.nodes) * one.size * classes, int(records[one.nodes].sum())) for one in queries}
        for one, _, node, rank, label in self._scan_rows(queries):
            keys = np.multiply(node, one.size, dtype=piles[one].kind)
            keys += rank
            keys *= classes
            keys += label
            piles[one].add(keys if rank.max(initial=0) < one.size else keys[rank < one.size])
        for pile in piles.values():
            pile.end()
        return [*piles.items()]

    def _scan_rows(
        self, queries: list[CountQuery]
    ) -> Iterator[tuple[CountQuery, Any, Ints, NDArray[Any], NDArray[Any]]]:
        """Yield, per block of rows and query, the rows in the tree nodes of the query.

        Each item has the query, the rows' block and indices in it, and per row the index of its
        node in the query, its rank and its class.
        """
        ordered = sorted(queries, key=lambda one: (one.numeric, len(one.nodes)))
        own = np.flatnonzero(self.number[:-1] != NOWHERE)
        codes, others = ([one.position for one in ordered if one.numeric == which] for which in (False, True))
        start, samples = 0, len(self.node)
        source = self.records.in_memory or self.records.rows
        for labels, *columns in source.blocks([self.records.target, *codes], others):
            rows, many = len(labels), min(max(SAMPLES_AT_ONCE * exact_counts.BLOCK // len(labels), 1), samples)
            for first in range(0, samples, many):
                block, last = np.s_[first : first + many, start : start + rows], None
                index, low, starts = self._sort_by_node(block)
                for one, values in zip(ordered, columns, strict=True):
                    if last is None or not np.array_equal(one.nodes, last):
                        last, nodes = one.nodes, own[one.nodes] - low
                        here = slice(*np.searchsorted(nodes, [0, len(starts) - 1]))
                        begin, end = (starts.take(nodes[here] + more) for more in (0, 1))
                        node = np.repeat(np.arange(len(nodes))[here], end - begin)
                        at = np.arange(len(node)) + np.repeat(end - np.cumsum(end - begin), end - begin)
                        at = index.take(at).astype(np.intp)
                        row = at - at // rows * rows  # takes half the time of `%`
                        label = labels.take(row)
                    yield one, (block, at), node, one.rank(values.take(row), node), label
            start += rows

    def _sort_by_node(self, block: tuple[slice, slice]) -> tuple[NDArray[np.int32], int, Ints]:
        """Return the indices of a block's rows sorted by tree node, and the start of each node.

        Returns the indices, the first node, and the starts from that node on.
        """
        kept, key = self.orders if self.node.size <= MOST_SORTED else {}, (block[0].start, block[1].start)
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


def identity_rank(values: NDArray[Any], _: Ints) -> NDArray[Any]:
    """Return codes unchanged, for a query that counts codes."""
    return values


def identity_numbers(size: int) -> Ints:
    """Return the numbers 0 to `size` - 1 of tree nodes, with `NOWHERE` at the end."""
    return np.append(np.arange(size), NOWHERE)


def renumber(number: Ints, size: int, keep: Ints) -> Ints:
    """Return tree nodes' numbers after all but the nodes `keep` are dropped.

    `number` has numbers below `size`; those of dropped nodes become `NOWHERE`.
    """
    new = np.full(size + 1, NOWHERE)
    new[keep] = np.arange(len(keep))
    return np.asarray(new[number], dtype=np.int32)


def batch_spans(first: int, end: int, offered: Flags, rows: Ints, cells: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive ranges of tree nodes that need at most `most` cells, or of one node.

    The nodes are `first` to `end` - 1. `offered` marks the columns that each node may be split by,
    `cells` is the number of counted cells per column, and `rows` the number of rows per node. A
    node's column needs at most as many cells as the node has rows.
    """
    while first < end:
        here = offered[first:end]
        come = np.cumsum(here * rows[first:end, None], axis=0)
        costs = np.minimum(np.cumsum(here, axis=0) * cells, come).sum(axis=1)
        stop = first + max(int(np.searchsorted(costs, most, side="right")), 1)
        yield first, stop
        first = stop


def root_nodes(records: Records, noise: Noise, trees: int, resample: str, rate: float) -> NodeRows:
    """Return the root nodes of trees, each with its sample of rows.

    `resample` says how rows are sampled: each row in one tree ("disjoint"), in each tree with
    probability `rate` ("poisson"), in all trees ("full"), or as many rows per tree as there are,
    with replacement ("bootstrap"). The rate is rounded down to a multiple of 2^-53, as random draws
    are, so that the true rate is never higher.
    """
    n, rate, kind = len(records.rows), floor(rate * 2.0**53) / 2.0**53, np.min_scalar_type(-trees)
    if resample == "disjoint":
        node = np.zeros((1, n), dtype=kind)
        for here, draws in uniform_blocks(noise, n) if trees > 1 else ():
            node[0, here] = np.minimum(draws * trees, trees - 1)
        return NodeRows(records, node, None, identity_numbers(trees), trees)
    node = np.repeat(np.arange(trees, dtype=kind)[:, None], n, axis=1)
    times = np.zeros(node.shape, dtype=np.uint8) if resample == "bootstrap" else None
    for tree in range(trees) if resample != "full" else ():
        for here, draws in uniform_blocks(noise, n):
            if times is None:
                node[tree, here][draws >= rate] = NOWHERE
            else:  # more than 255 copies: less likely than 10^-500
                np.add.at(times[tree], np.minimum(draws * n, n - 1).astype(np.intp), np.uint8(1))
    return NodeRows(records, node, times, identity_numbers(trees), trees)


def uniform_blocks(noise: Noise, rows: int) -> Iterator[tuple[slice, Floats]]:
    """Yield uniform random numbers for all rows, block by block.

    Each item is the slice of a block's rows, and their numbers.
    """
    start = 0
    for draws in noise.uniform_blocks(rows):
        yield slice(start, start + len(draws)), draws
        start += len(draws)
