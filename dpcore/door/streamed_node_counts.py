"""Exact counts of records in the nodes of trees, block by block. Private: for the door only.

Of every record a node's number is kept for each sample that it may be in (one to four bytes): one sample if trees have
disjoint rows, and one per tree if not. Everything else is read again: all columns of a level at once, in as many passes
as it takes for what is counted in each to fit into `PILE`. How many these are depends on the number of rows; how much
memory each needs does not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.splits import NumberCut
from dpcore.door.exact_node_counts import Nodes
from dpcore.door.tree_records import Records
from dpcore.mechanisms.noise import Noise

NOWHERE = -1
PILE = 1 << 25  # keys that are counted in one pass, of four bytes each; among thousands of nodes of eight
CELL = 4  # keys that take as much memory as a cell while it is counted
CANDIDATES = 1 << 18  # of nodes that are asked together; a node alone may have more


@dataclass(frozen=True, eq=False)
class Sample:
    """The node that each row is in, shape (n,), and how often it was drawn, if not once."""

    node: NDArray[np.signedinteger[Any]]
    times: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class Asked:
    """A column that some nodes are asked about, in increasing order.

    `rank` says for some values, and which of these nodes their records are in, what they are counted as: numbers below
    `size`, or that one for nothing.
    """

    position: int
    nodes: Ints
    size: int
    rank: Callable[[NDArray[Any], Ints], NDArray[Any]]
    coded: bool  # whether values are codes; numbers otherwise


class Pile:
    """How often each key comes, of those below `cells`, when `most` come in all.

    Kept are a count for each cell where these are few, and else the keys themselves, sorted at the end.
    """

    def __init__(self, cells: int, most: int) -> None:
        self._counts = np.zeros(cells, dtype=np.int64) if CELL * cells <= most else None
        self._keys = np.empty(0 if self._counts is not None else most, np.uint32 if cells < 1 << 32 else np.int64)
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
            if self._many > len(self._counts) // 8:  # so that cells are gone through a few times only
                self.end()

    def end(self) -> None:
        """After all keys have been added: before, nobody may ask."""
        if self._counts is None:
            self._keys = self._keys[: self._many]
            self._keys.sort()
        elif self._many:
            self._counts += np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
            self._waiting, self._many = [], 0

    def between(self, first: int, end: int) -> tuple[Ints, Ints]:
        """The keys from one to the one before another that came, less the first, and how often each did."""
        if self._counts is not None:
            part = self._counts[first:end]
            found = np.flatnonzero(part)
            return found, part[found]
        own = self._keys[slice(*np.searchsorted(self._keys, np.array([first, end], dtype=self._keys.dtype)))]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: len(own)])
        return own[starts].astype(np.int64) - first, np.diff(starts, append=len(own))


@dataclass(frozen=True, eq=False)
class NodeBlocks(Nodes):
    """The nodes of one level: `number` has, for each node that samples name, its number here, or `NOWHERE`.

    `piles` are what was counted already, by position.
    """

    records: Records
    samples: tuple[Sample, ...]
    number: Ints
    size: int
    piles: Mapping[int, tuple[Asked, Pile]] = field(default_factory=dict)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        classes, every = self.records.classes, np.arange(self.size)
        counts = np.zeros(self.size * classes, dtype=np.int64)
        own = Asked(self.records.target, every, classes, lambda values, _: values, coded=True)
        for *_, node, label, _ in self._met([own]):
            counts += np.bincount(node * classes + label, minlength=len(counts))
        return counts.reshape(self.size, classes)

    def only(self, keep: Ints) -> Self:
        found = type(self)(self.records, self.samples, renumbered(self.number, self.size, keep), len(keep))
        found.__dict__["classes"] = self.classes[keep]
        return found

    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        children = [np.full(len(self.records), NOWHERE, np.min_scalar_type(-max(size, 1))) for _ in self.samples]
        asked = []
        for position in np.unique(column).tolist():
            nodes = np.flatnonzero(column == position)
            asked.append(self._by_side(position, nodes, cut[nodes], low[nodes]))
        for one, sample, at, node, side, _ in self._met(asked):
            children[sample][at] = first[one.nodes][node] + side
        samples = tuple(Sample(child, old.times) for child, old in zip(children, self.samples, strict=True))
        return type(self)(self.records, samples, unchanged(size), size)

    def lots(self, offered: Flags, known: Flags, cuts: Floats, low: Floats) -> Iterator[tuple[int, int, Self]]:
        """See `Nodes.lots`: nodes that can be counted in one pass, and of these those that have few candidates."""

        def asked(position: int, nodes: Ints) -> Asked:
            if known[position]:
                return self._by_side(position, nodes, cuts[nodes, position], low[nodes, position])
            cut_anywhere = isinstance(self.records.attributes[position], NumberCut)
            return self._by_step(position, nodes) if cut_anywhere else self._by_code(position, nodes)

        every, classes, records = np.arange(self.size), self.records.classes, self.classes.sum(axis=1)
        positions = np.flatnonzero(offered.any(axis=0))
        sizes = np.array([asked(position, every[:0]).size for position in positions.tolist()])
        whole = np.minimum(CELL * classes * sizes * offered[:, positions].sum(axis=0), records @ offered[:, positions])
        order = np.argsort(whole, kind="stable")
        # Columns of few values are counted for all nodes in the first pass, so that further ones are about the others.
        light = np.cumsum(whole[order]) <= PILE // 2
        few, others = positions[order[light]], positions[order[~light]]
        piles: dict[int, tuple[Asked, Pile]] = {}
        found = replace(self, piles=piles)
        found.__dict__["classes"] = self.classes
        room = PILE - int(whole[order[light]].sum())
        for first, end in spans(0, self.size, offered[:, others], records, CELL * classes * sizes[order[~light]], room):
            nodes = every[first:end]
            counted = [asked(position, nodes[offered[first:end, position]]) for position in others.tolist()]
            if not first:
                counted += [asked(position, every[offered[:, position]]) for position in few.tolist()]
            piles |= {one.position: (one, pile) for one, pile in self._piled(counted)}
            for lot in spans(first, end, offered[:, positions], records, sizes, CANDIDATES):
                yield *lot, found
            for position in others.tolist():
                del piles[position]  # whoever was given it asks no more

    def cut(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> NDArray[np.int64]:
        return np.moveaxis(self._table(self._by_side(position, nodes, cut, low)), 0, -1)

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        found = self._table(self._by_code(position, nodes))
        return found if by_class else found.sum(axis=2)

    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        asked, classes = self._by_step(position, nodes), self.records.classes
        keys, times = self._keys(asked)
        group = keys // classes
        new = np.diff(group, prepend=-1) > 0
        counts = np.zeros((classes, np.count_nonzero(new)), dtype=np.int64)
        counts[keys - group * classes, np.cumsum(new) - 1] = times
        start, group = np.arange(len(nodes)) * asked.size, group[new]
        many = np.diff(np.searchsorted(group, start), append=len(group))
        return many, self.records.occurring[position][0][group - np.repeat(start, many)], counts

    def _table(self, asked: Asked) -> NDArray[np.int64]:
        """Counts of nodes x ranks x classes."""
        keys, times = self._keys(asked)
        table = np.zeros((len(asked.nodes), asked.size, self.records.classes), dtype=np.int64)
        table.reshape(-1)[keys] = times
        return table

    def _keys(self, asked: Asked) -> tuple[Ints, Ints]:
        """Which (node, rank, class), as one number, records have, and how many have each."""
        whole, pile = self.piles.get(asked.position) or self._piled([asked])[0]
        first, wide = np.searchsorted(whole.nodes, asked.nodes[:1]).sum(), asked.size * self.records.classes
        return pile.between(first * wide, (first + len(asked.nodes)) * wide)

    def _by_code(self, position: int, nodes: Ints) -> Asked:
        size = self.records.attributes[position].column.size
        return Asked(position, nodes, size, lambda values, _: values, coded=True)

    def _by_step(self, position: int, nodes: Ints) -> Asked:
        def rank(numbers: NDArray[Any], _: Ints) -> NDArray[Any]:
            return self.records.ranks(position, self.records.rows.made(position, numbers))

        return Asked(position, nodes, len(self.records.occurring[position][0]), rank, coded=False)

    def _by_side(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> Asked:
        rows, attribute = self.records.rows, self.records.attributes[position]
        coded = position not in rows.numbered

        def rank(values: NDArray[Any], node: Ints) -> NDArray[Any]:
            return attribute.side(values if coded else rows.made(position, values), cut[node], low[node])

        return Asked(position, nodes, 2, rank, coded)

    def _piled(self, asked: list[Asked]) -> list[tuple[Asked, Pile]]:
        """What is counted of all records, in one pass."""
        classes, records = self.records.classes, self.classes.sum(axis=1)
        piles = {one: Pile(len(one.nodes) * one.size * classes, int(records[one.nodes].sum())) for one in asked}
        for one, _, _, node, rank, label in self._met(asked):
            keys = (node * one.size + rank) * classes + label
            piles[one].add(keys if rank.max(initial=0) < one.size else keys[rank < one.size])
        for pile in piles.values():
            pile.end()
        return [*piles.items()]

    def _met(self, asked: list[Asked]) -> Iterator[tuple[Asked, int, Ints, Ints, NDArray[Any], NDArray[Any]]]:
        """Block by block, sample by sample and column by column, of the records in the nodes that are asked.

        The sample's number, the rows, which of the nodes each is in, its rank and its class.
        """
        ordered = sorted(asked, key=lambda one: (not one.coded, len(one.nodes)))
        numbers: list[Ints] = []
        for one, before in zip(ordered, [None, *ordered], strict=False):
            alike = before is not None and np.array_equal(one.nodes, before.nodes)
            numbers.append(numbers[-1] if alike else renumbered(self.number, self.size, one.nodes))
        wanted = np.logical_or.reduce([number != NOWHERE for number in numbers])
        coded, numbered = ([one.position for one in ordered if one.coded == which] for which in (True, False))
        start = 0
        for labels, *columns in self.records.rows.blocks([self.records.target, *coded], numbered):
            stop = start + len(labels)
            for i, sample in enumerate(self.samples):
                every = np.flatnonzero(wanted[sample.node[start:stop]])
                if sample.times is not None:
                    every = np.repeat(every, sample.times[start:stop][every])
                own, last = sample.node[start:stop][every], None
                for one, number, values in zip(ordered, numbers, columns, strict=True):
                    if number is not last:
                        node, at, last = number[own], every, number
                        if node.min(initial=0) == NOWHERE:
                            known = np.flatnonzero(node != NOWHERE)
                            node, at = node[known], every[known]
                        label = labels[at]
                    yield one, i, start + at, node, one.rank(values[at], node), label
            start = stop


def unchanged(size: int) -> Ints:
    """Numbers of nodes as they are; the last is of `NOWHERE`."""
    return np.append(np.arange(size), NOWHERE)


def renumbered(number: Ints, size: int, keep: Ints) -> Ints:
    """Numbers of nodes among some that are kept."""
    new = np.full(size + 1, NOWHERE)
    new[keep] = np.arange(len(keep))
    return np.asarray(new[number])


def spans(first: int, end: int, offered: Flags, records: Ints, cells: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Nodes, one or more at a time, that have so many cells at most or, by column, whose records are as few."""
    while first < end:
        here = offered[first:end]
        come = np.cumsum(here * records[first:end, None], axis=0)
        costs = np.minimum(np.cumsum(here, axis=0) * cells, come).sum(axis=1)
        stop = first + max(int(np.searchsorted(costs, most, side="right")), 1)
        yield first, stop
        first = stop


def roots(records: Records, noise: Noise, trees: int, resample: str, rate: float) -> NodeBlocks:
    """Every tree's records; the lots are those that `nodes.sample` draws."""
    n = len(records)
    if resample == "disjoint":
        node = np.zeros(n, dtype=np.min_scalar_type(-trees))
        start = 0
        for lots in noise.lots_by_blocks(n) if trees > 1 else ():
            node[start : start + len(lots)] = np.minimum(lots * trees, trees - 1)
            start += len(lots)
        return NodeBlocks(records, (Sample(node),), unchanged(trees), trees)
    samples = []
    for tree in range(trees):
        node, times = np.full(n, tree, dtype=np.min_scalar_type(-trees)), None
        if resample == "poisson":
            start = 0
            for lots in noise.lots_by_blocks(n):
                node[start : start + len(lots)][lots >= rate] = NOWHERE
                start += len(lots)
        elif resample == "bootstrap":
            times = np.zeros(n, dtype=np.uint8)  # more than 255 of one row: less likely than 1 in 10^500
            for lots in noise.lots_by_blocks(n):
                np.add.at(times, np.minimum(lots * n, n - 1).astype(np.intp), 1)
        samples.append(Sample(node, times))
    return NodeBlocks(records, tuple(samples), unchanged(trees), trees)
