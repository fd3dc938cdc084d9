"""Exact joint counts of codes. Private input: only the door and the (never private) evaluation may call these.

Counts are additive over blocks of rows: the counts of two blocks sum to the counts of their union.

Columns of 0 and 1 are counted as words of 64 rows, by AND and popcount (`PackedBits`). The table of k columns has 2^k
cells. Only its corner "all ones" is counted, for the set and each of its subsets: the other cells follow by inclusion
and exclusion, N(x=0, ...) = N(...) - N(x=1, ...). A subset that many tables share is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Ints
from dpcore.domain.column import Codes, Counts

Family = tuple[int, ...]
BLOCK = 1 << 15  # rows
REMEMBERED = 1 << 22  # cells; 32 MB
WORTH_PACKING = 16  # families
MOST_PACKED = 6  # columns per family; beyond, 2^k corners cost more than one pass over the rows


def joint_counts(codes: Codes, sizes: Sequence[int], families: Iterable[Sequence[int]]) -> list[Counts]:
    """What a `Counter` counts that is asked once."""
    return Counter(codes, sizes).tables(families)


class Counter:
    """Joint counts of one table of codes of shape (n, d), code j below `sizes[j]`, asked for again and again."""

    def __init__(self, codes: Codes, sizes: Sequence[int]) -> None:
        self._codes, self._sizes = codes, sizes
        self._known: dict[Family, Counts] = {}
        self._cells = 0

    @cached_property
    def bits(self) -> PackedBits:
        """The columns as words, for those of two codes."""
        return PackedBits(self._codes)

    def tables(self, families: Iterable[Sequence[int]]) -> list[Counts]:
        """The tables of sets of columns, given by position; each is counted once while there is room to remember it.

        Table f is of int64, has shape `[sizes[j] for j in f]`, and sums to n.
        """
        wanted = [tuple(family) for family in families]
        new = [family for family in dict.fromkeys(wanted) if family not in self._known]
        if len(new) >= WORTH_PACKING and all(self._sizes[j] == 2 for family in new for j in family):
            found = dict(zip(new, _binary_tables(self.bits, self._codes, new), strict=True))
        else:
            found = dict(zip(new, _tables(self._codes, self._sizes, new), strict=True))
        for family, table in found.items():
            if self._cells + table.size <= REMEMBERED:
                self._known[family] = table
                self._cells += table.size
        return [found[family] if family in found else self._known[family] for family in wanted]


def _tables(codes: Codes, sizes: Sequence[int], families: list[Family]) -> list[Counts]:
    """Counted over blocks of rows that the processor's cache holds."""
    shapes = [tuple(sizes[j] for j in family) for family in families]
    tables = [np.zeros(prod(shape), dtype=np.int64) for shape in shapes]
    for start in range(0, len(codes), BLOCK):
        block = np.ascontiguousarray(codes[start : start + BLOCK].T, dtype=np.intp)
        for table, flat in zip(tables, _places(block, sizes, families), strict=True):
            table += np.bincount(flat, minlength=len(table))
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]


def _places(columns: Ints, sizes: Sequence[int], families: list[Family]) -> Iterator[Ints]:
    """Per family the place of every row in its flat table; what consecutive families begin with is combined once."""
    prefix: Family = ()
    steps: list[Ints] = []  # steps[k]: places over the first k + 1 columns of the current prefix
    for family in families:
        shared = 0
        while shared < min(len(prefix), len(family)) and prefix[shared] == family[shared]:
            shared += 1
        steps = steps[:shared]
        for j in family[shared:]:
            steps.append(steps[-1] * sizes[j] + columns[j] if steps else columns[j])
        prefix = family
        yield steps[-1] if steps else np.zeros(columns.shape[1], dtype=np.intp)


def _binary_tables(bits: PackedBits, codes: Codes, families: list[Family]) -> list[Counts]:
    """Counted on words, all families of one size together."""
    tables: dict[Family, Counts] = {}
    for size in {len(family) for family in families}:
        alike = [family for family in families if len(family) == size]
        if size > MOST_PACKED:
            found = _tables(codes, [2] * codes.shape[1], alike)
        else:
            stacked = bits.tables(np.array(alike, dtype=np.intp).reshape(len(alike), size))
            found = list(np.ascontiguousarray(np.moveaxis(stacked, -1, 0)))
        tables |= zip(alike, found, strict=True)
    return [tables[family] for family in families]


Words = NDArray[np.uint64]
CHUNK = 1 << 17  # words per step: what the processor's cache holds


class PackedBits:
    """Columns of 0 and 1, shape (n, d), as words."""

    def __init__(self, bits: Codes) -> None:
        packed = np.packbits(bits.T.astype(bool), axis=1)
        padded = np.zeros((packed.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed
        self.rows = len(bits)
        self.words: Words = padded.view(np.uint64)

    def products(self, places: Ints) -> Words:
        """Rows that are 1 in all of k columns, as words: shape (m, k) to (m, words)."""
        rows = self.words[places[:, 0]]
        for column in places.T[1:]:
            rows &= self.words[column]
        return rows

    def ones(self, places: Ints) -> NDArray[np.int64]:
        """How many rows are 1 in all of k columns, for m sets of columns: shape (m, k) to (m,)."""
        counts = np.full(len(places), self.rows, dtype=np.int64)
        if places.shape[1]:
            for part in self.chunks(len(places)):
                counts[part] = popcounts(self.products(places[part]))
        return counts

    def tables(self, places: Ints) -> NDArray[np.int64]:
        """Contingency tables of m sets of k columns: shape (m, k) to (2, ..., 2, m)."""
        m, k = places.shape
        corners = np.empty((2,) * k + (m,), dtype=np.int64)
        for size in range(k + 1):
            for chosen in combinations(range(k), size):
                subsets, back = distinct_rows(np.sort(places[:, chosen], axis=1), len(self.words))
                corners[tuple(int(i in chosen) for i in range(k))] = self.ones(subsets)[back]
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


def distinct_rows(places: Ints, columns: int) -> tuple[Ints, Ints]:
    """The different rows of an array, and for each row the position of its equal among them."""
    if not places.shape[1]:
        return places[:1], np.zeros(len(places), dtype=np.intp)
    if columns ** places.shape[1] >= 2**63:  # too many for numbers that name each set
        different, back = np.unique(places, axis=0, return_inverse=True)
        return different, back.ravel()
    keys = np.zeros(len(places), dtype=np.int64)
    for column in places.T:
        keys = keys * columns + column
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return places[first], back
