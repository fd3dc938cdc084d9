"""Exact joint counts of codes. Private input: see the package.

Counts are additive over blocks of rows: the counts of two blocks sum to the counts of their union.

Sets of columns that lie in one small set are counted as one table of that, and summed up from it
(`join_families`): one pass over the rows of three columns gives all three pairs of them.

Columns of 0 and 1 are counted as words of 64 rows, by AND and popcount (`PackedBits`). The table of
k columns has 2^k cells. Only its corner "all ones" is counted, for the set and each of its subsets:
the other cells follow by inclusion and exclusion, N(x=0, ...) = N(...) - N(x=1, ...). A subset that
many tables share is counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Ints
from dpcore.domain.column import Counts

Axes = tuple[int, ...]
CodeBlock = list[NDArray[Any]]
"""Some rows: an array of shape (m,) for each column that was asked for."""
BLOCK = 1 << 16  # rows; a multiple of 64
WORTH_PACKING = 16  # families
MOST_PACKED = 6  # columns per family; beyond, 2^k corners cost more than one pass over the rows
WORTH_JOINING = 1 << 16  # rows; below, looking for joint sets takes longer than counting
JOINT = 1 << 13  # cells of a joint set's table: what the processor's nearest cache holds
JOINED = 256  # families that are joined among each other


def even_blocks(pieces: Iterable[CodeBlock], size: int) -> Iterator[CodeBlock]:
    """The same rows in blocks of one size, the rest at the end."""
    waiting: list[CodeBlock] = []
    held = 0
    for piece in pieces:
        start, rows = 0, len(piece[0])
        while start < rows:
            end = min(start + size - held, rows)
            waiting.append([values[start:end] for values in piece])
            held, start = held + end - start, end
            if held == size:
                yield _joined(waiting)
                waiting, held = [], 0
    if held:
        yield _joined(waiting)


def _joined(blocks: list[CodeBlock]) -> CodeBlock:
    return blocks[0] if len(blocks) == 1 else [np.concatenate(columns) for columns in zip(*blocks, strict=True)]


def count_streams(
    blocks: Iterable[CodeBlock], rows: int, columns: Sequence[int], sizes: Sequence[int], families: Sequence[Axes]
) -> list[Counts]:
    """The tables of families, over blocks of the given columns of so many rows."""
    joint_of = join_families(families, sizes) if rows >= WORTH_JOINING else {family: family for family in families}
    joints = sorted(set(joint_of.values()) - {()})
    at = {column: index for index, column in enumerate(columns)}
    flats = [np.zeros(prod(sizes[j] for j in joint), dtype=np.int64) for joint in joints]
    if joints:
        room: list[Ints] = []
        for block in blocks:
            for flat, indices in zip(flats, _places(block, at, sizes, joints, room), strict=True):
                flat += np.bincount(indices, minlength=len(flat))
    tables = {joint: flat.reshape([sizes[j] for j in joint]) for joint, flat in zip(joints, flats, strict=True)}
    tables[()] = np.array(rows, dtype=np.int64)
    return [_part(tables[joint_of[family]], joint_of[family], family) for family in families]


def join_families(families: Sequence[Axes], sizes: Sequence[int]) -> dict[Axes, Axes]:
    """For each family a set of columns that holds it: few sets, with tables of at most `JOINT` cells.

    Greedy: a set takes the column that completes most families. Larger families, and those that
    have a column twice, stand alone.
    """
    joint_of = {family: family for family in families}
    small = [f for f in joint_of if f and len(set(f)) == len(f) and prod(sizes[j] for j in f) <= JOINT]
    for start in range(0, len(small), JOINED):
        left = {family: set(family) for family in small[start : start + JOINED]}
        while left:
            joint = next(iter(left))
            cells = prod(sizes[j] for j in joint)
            while True:
                one_more = (columns.difference(joint) for columns in left.values())
                gains = Counter(more.pop() for more in one_more if len(more) == 1)
                possible = [(gain, -sizes[j], j) for j, gain in gains.items() if cells * sizes[j] <= JOINT]
                if not possible:
                    break
                column = max(possible)[2]
                joint, cells = (*joint, column), cells * sizes[column]
            held = [family for family, columns in left.items() if columns.issubset(joint)]
            for family in held:
                joint_of[family] = joint
                del left[family]
    return joint_of


def _part(table: Counts, joint: Axes, family: Axes) -> Counts:
    """The table of some of a set's columns, in their order."""
    if family == joint:
        return table
    kept = [column for column in joint if column in family]
    summed = table.sum(axis=tuple(axis for axis, column in enumerate(joint) if column not in family))
    return np.ascontiguousarray(summed.transpose([kept.index(column) for column in family]))


def _places(
    block: CodeBlock, at: dict[int, int], sizes: Sequence[int], families: list[Axes], room: list[Ints]
) -> Iterator[Ints]:
    """Per family the place of every row in its flat table; what consecutive families begin with is combined once.

    Written into arrays that are used again: `room[k]` has the places over the first k + 1 columns.
    """
    rows = len(block[0])
    while len(room) < max(map(len, families)):
        room.append(np.empty(BLOCK, dtype=np.intp))
    prefix: Axes = ()
    for family in families:
        shared = 0
        while shared < min(len(prefix), len(family)) and prefix[shared] == family[shared]:
            shared += 1
        for k, j in enumerate(family[shared:], start=shared):
            if k:
                np.multiply(room[k - 1][:rows], sizes[j], out=room[k][:rows])
                room[k][:rows] += block[at[j]]
            else:
                room[k][:rows] = block[at[j]]
        prefix = family
        yield room[len(family) - 1][:rows]


def binary_tables(bits: PackedBits, families: Sequence[Axes]) -> dict[Axes, Counts]:
    """Counted on words, all families of one size together."""
    tables: dict[Axes, Counts] = {}
    for size in {len(family) for family in families}:
        alike = [family for family in families if len(family) == size]
        stacked = bits.tables(np.array(alike, dtype=np.intp).reshape(len(alike), size))
        tables |= zip(alike, np.ascontiguousarray(np.moveaxis(stacked, -1, 0)), strict=True)
    return tables


Words = NDArray[np.uint64]
CHUNK = 1 << 17  # words per step: what the processor's cache holds


class PackedBits:
    """Columns of 0 and 1 as words, from blocks of n rows."""

    def __init__(self, blocks: Iterable[CodeBlock], rows: int, columns: int) -> None:
        padded = np.zeros((columns, -(-rows // 64) * 8), dtype=np.uint8)
        start = 0
        for block in blocks:
            for column, bits in zip(padded, block, strict=True):
                packed = np.packbits(bits.astype(bool))
                column[start : start + len(packed)] = packed
            start += len(block[0]) // 8  # all but the last have whole words
        self.rows = rows
        self.words: Words = padded.view(np.uint64)

    def products(self, indices: Ints) -> Words:
        """Rows that are 1 in all of k columns, as words: shape (m, k) to (m, words)."""
        rows = self.words[indices[:, 0]]
        for column in indices.T[1:]:
            rows &= self.words[column]
        return rows

    def ones(self, indices: Ints) -> NDArray[np.int64]:
        """How many rows are 1 in all of k columns, for m sets of columns: shape (m, k) to (m,)."""
        counts = np.full(len(indices), self.rows, dtype=np.int64)
        if indices.shape[1]:
            for part in self.chunks(len(indices)):
                counts[part] = popcounts(self.products(indices[part]))
        return counts

    def tables(self, indices: Ints) -> NDArray[np.int64]:
        """Contingency tables of m sets of k columns: shape (m, k) to (2, ..., 2, m)."""
        m, k = indices.shape
        corners = np.empty((2,) * k + (m,), dtype=np.int64)
        for size in range(k + 1):
            for chosen in combinations(range(k), size):
                distinct, back = distinct_rows(np.sort(indices[:, chosen], axis=1), len(self.words))
                corners[tuple(int(i in chosen) for i in range(k))] = self.ones(distinct)[back]
        return cells_from_corners(corners)

    def chunks(self, m: int) -> Iterator[slice]:
        """Slices of m sets that are worked on together."""
        step = max(CHUNK // max(self.words.shape[1], 1), 1)
        return (slice(start, min(start + step, m)) for start in range(0, m, step))


def popcounts(words: Words) -> NDArray[np.int64]:
    """Ones per row of words, shape (m, w) to (m,)."""
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.uint32), dtype=np.int64)


def cells_from_corners(corners: NDArray[Any]) -> NDArray[Any]:
    """Tables from the counts of "these columns are all 1", in place: shape (2, ..., 2, m), 1 = asked to be 1."""
    for axis in range(corners.ndim - 1):
        halves = np.moveaxis(corners, axis, 0)
        halves[0] -= halves[1]
    return corners


def distinct_rows(indices: Ints, columns: int) -> tuple[Ints, Ints]:
    """The different rows of an array, and for each row the position of its equal among them."""
    if not indices.shape[1]:
        return indices[:1], np.zeros(len(indices), dtype=np.intp)
    if columns ** indices.shape[1] >= 2**63:  # too many for numbers that name each set
        different, back = np.unique(indices, axis=0, return_inverse=True)
        return different, back.ravel()
    keys = np.zeros(len(indices), dtype=np.int64)
    for column in indices.T:
        keys = keys * columns + column
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return indices[first], back
