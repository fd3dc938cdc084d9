"""Exact counts of records in the nodes of trees, block by block. Private: for the door only.

Of every record a node's number is kept for each sample that it may be in (one to four bytes): one sample if trees have
disjoint rows, and one per tree if not. Everything else is read again, a column at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.splits import GRID
from dpcore.door.exact_node_counts import Nodes, Records
from dpcore.mechanisms.noise import Noise

NOWHERE = -1
PILE = 1 << 22  # keys that are sorted together; 32 MB
Placed = tuple[Ints, NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Sample:
    """The node that each row is in, shape (n,), and how often it was drawn, if not once."""

    node: NDArray[np.signedinteger[Any]]
    times: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class NodeBlocks(Nodes):
    """The nodes of one level: `number` has, for each node that samples name, its number here, or `NOWHERE`."""

    records: Records
    samples: tuple[Sample, ...]
    number: Ints
    size: int

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        counts, classes = np.zeros(self.size * self.records.classes, dtype=np.int64), self.records.classes
        for node, label, _ in self._places(np.arange(self.size)):
            counts += np.bincount(node * classes + label, minlength=len(counts))
        return counts.reshape(self.size, classes)

    def only(self, keep: Ints) -> Self:
        found = type(self)(self.records, self.samples, renumbered(self.number, self.size, keep), len(keep))
        found.__dict__["classes"] = self.classes[keep]
        return found

    def divided(self, column: Ints, cut: Floats, low: Floats, first: Ints, size: int) -> Self:
        positions = np.unique(column).tolist()
        children = [np.full(len(self.records), NOWHERE, np.min_scalar_type(-max(size, 1))) for _ in self.samples]
        for start, block in self._blocks(positions):
            for sample, child in zip(self.samples, children, strict=True):
                node = self.number[sample.node[start : start + len(block[0])]]
                for position, values in zip(positions, block[1:], strict=True):
                    at = np.flatnonzero((node != NOWHERE) & (column[node] == position))
                    own = node[at]
                    side = self.records.attributes[position].side(values[at], cut[own], low[own])
                    child[start + at] = first[own] + side
        samples = tuple(Sample(child, old.times) for child, old in zip(children, self.samples, strict=True))
        return type(self)(self.records, samples, unchanged(size), size)

    def cut(self, position: int, nodes: Ints, cut: Floats, low: Floats) -> NDArray[np.int64]:
        classes = self.records.classes
        left = np.zeros(len(nodes) * classes, dtype=np.int64)
        for number, label, values in self._places(nodes, position):
            goes_left = self.records.attributes[position].side(values, cut[number], low[number]) == 0
            left += np.bincount((number * classes + label)[goes_left], minlength=len(left))
        table = left.reshape(len(nodes), classes).T
        return np.stack([table, self.classes[nodes].T - table])

    def tables(self, position: int, nodes: Ints, *, by_class: bool = True) -> NDArray[np.int64]:
        size, classes = self.records.attributes[position].column.size, self.records.classes
        counts = np.zeros(len(nodes) * size * classes, dtype=np.int64)
        for number, label, values in self._places(nodes, position, codes=True):
            counts += np.bincount((number * size + values) * classes + label, minlength=len(counts))
        found = counts.reshape(len(nodes), size, classes)
        return found if by_class else found.sum(axis=2)

    def _numbers(self, position: int, nodes: Ints) -> tuple[Ints, Floats, NDArray[np.int64]]:
        """As many as there are different ticks: numbers that all differ take memory like the rows."""
        classes, wide = self.records.classes, GRID + 1
        found = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        waiting: list[NDArray[np.int64]] = []
        for number, label, ticks in self._places(nodes, position):
            there = ~np.isnan(ticks)
            key = (number * wide + np.where(there, ticks, 0).astype(np.int64)) * classes + label
            waiting.append(key[there])
            if sum(map(len, waiting)) > max(PILE, len(found[0])):  # so that each key is merged a few times only
                found, waiting = merged(*found, waiting), []
        keys, times = merged(*found, waiting)
        group = keys // classes
        new = np.diff(group, prepend=-1) > 0
        counts = np.zeros((classes, np.count_nonzero(new)), dtype=np.int64)
        counts[keys - group * classes, np.cumsum(new) - 1] = times
        start, group = np.arange(len(nodes)) * wide, group[new]
        many = np.diff(np.searchsorted(group, start), append=len(group))
        return many, (group - np.repeat(start, many)).astype(float), counts

    def _places(self, nodes: Ints, position: int | None = None, *, codes: bool = False) -> Iterator[Placed]:
        """Block by block, of the records in some nodes: which of them each is in, its class, and a column's value.

        Values are ticks, where a column has them and not its codes are asked for.
        """
        number = renumbered(self.number, self.size, nodes)
        for start, block in self._blocks([] if position is None else [position], codes=codes):
            label, values = block[0], block[-1]
            for sample in self.samples:
                stop = start + len(label)
                node = number[sample.node[start:stop]]
                at = np.flatnonzero(node != NOWHERE)
                if sample.times is not None:
                    at = np.repeat(at, sample.times[start:stop][at])
                yield node[at], label[at], values[at]

    def _blocks(self, positions: list[int], *, codes: bool = False) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """The first row of each block, its classes, and columns' ticks or codes."""
        rows, start = self.records.rows, 0
        numbered = [] if codes else [position for position in positions if position in rows.numbered]
        coded = [position for position in positions if position not in numbered]
        order = [1 + (coded + numbered).index(position) for position in positions]
        for block in rows.blocks([self.records.target, *coded], numbered):
            yield start, [block[0], *(block[place] for place in order)]
            start += len(block[0])


def unchanged(size: int) -> Ints:
    """Numbers of nodes as they are; the last is of `NOWHERE`."""
    return np.append(np.arange(size), NOWHERE)


def renumbered(number: Ints, size: int, keep: Ints) -> Ints:
    """Numbers of nodes among some that are kept."""
    new = np.full(size + 1, NOWHERE)
    new[keep] = np.arange(len(keep))
    found: Ints = new[number]
    return found


def merged(
    keys: NDArray[np.int64], times: NDArray[np.int64], more: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys in order, each once, and how often each occurs, with some more."""
    new = np.concatenate([np.empty(0, dtype=np.int64), *more])
    new.sort()
    start = np.flatnonzero(np.diff(new, prepend=-1))
    both, counts = np.append(keys, new[start]), np.append(times, np.diff(start, append=len(new)))
    if len(keys) and len(start):
        order = np.argsort(both, kind="stable")  # two runs in order: merged, not sorted
        both, counts = both[order], counts[order]
        start = np.flatnonzero(np.diff(both, prepend=-1))
        both, counts = both[start], np.add.reduceat(counts, start)
    return both, counts


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
