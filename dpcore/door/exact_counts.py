"""Exact joint counts of codes. Private input: only the door and the (never private) evaluation may call these.

Counts are additive over blocks of rows: the counts of two blocks sum to the counts of their union.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpcore.domain.column import Codes, Counts
from dpcore.door.bits import PackedBits

__all__ = ["Counter", "joint_counts"]

Family = tuple[int, ...]
REMEMBERED = 1 << 22  # cells; 32 MB
WORTH_PACKING = 16  # families
MOST_PACKED = 6  # columns per family; beyond, 2^k corners cost more than one pass over the rows


def joint_counts(codes: Codes, sizes: Sequence[int], families: Iterable[Sequence[int]]) -> list[Counts]:
    """Contingency tables of sets of columns.

    Parameters
    ----------
    codes : array of shape (n, d)
        Encoded rows; code j is below `sizes[j]`.
    sizes : sequence of int
        Number of codes per column.
    families : iterable of sequences of int
        The columns of each table, by position.

    Returns
    -------
    list of int64 arrays
        Table f has shape `[sizes[j] for j in f]` and sums to n. Equal prefixes of consecutive families are
        combined once; many families of columns with two codes are counted by AND and popcount (`bits`).
    """
    wanted = [tuple(family) for family in families]
    if len(wanted) >= WORTH_PACKING and all(sizes[j] == 2 for family in wanted for j in family):
        return _binary_tables(PackedBits(codes), codes, wanted)
    return _tables(codes, sizes, wanted)


class Counter:
    """Joint counts of one table of codes, asked for again and again.

    Parameters
    ----------
    codes, sizes
        As for `joint_counts`.
    """

    def __init__(self, codes: Codes, sizes: Sequence[int]) -> None:
        self._codes, self._sizes = codes, sizes
        self._known: dict[Family, Counts] = {}
        self._cells = 0

    @cached_property
    def bits(self) -> PackedBits:
        """The columns, all of two codes, as words."""
        return PackedBits(self._codes)

    def tables(self, families: Iterable[Sequence[int]]) -> list[Counts]:
        """`joint_counts`, each set of columns counted once while there is room to remember it."""
        wanted = [tuple(family) for family in families]
        new = [family for family in dict.fromkeys(wanted) if family not in self._known]
        if len(new) >= WORTH_PACKING and all(size == 2 for size in self._sizes):
            found = dict(zip(new, _binary_tables(self.bits, self._codes, new), strict=True))
        else:
            found = dict(zip(new, _tables(self._codes, self._sizes, new), strict=True))
        for family, table in found.items():
            if self._cells + table.size <= REMEMBERED:
                self._known[family] = table
                self._cells += table.size
        return [found[family] if family in found else self._known[family] for family in wanted]


def _tables(codes: Codes, sizes: Sequence[int], families: list[Family]) -> list[Counts]:
    tables = []
    prefix: Family = ()
    steps: list[NDArray[np.intp]] = []  # steps[k]: flat index over the first k + 1 columns of the current prefix
    for family in families:
        shared = 0
        while shared < min(len(prefix), len(family)) and prefix[shared] == family[shared]:
            shared += 1
        steps = steps[:shared]
        for j in family[shared:]:
            column = codes[:, j].astype(np.intp)
            steps.append(steps[-1] * sizes[j] + column if steps else column)
        prefix = family
        shape = tuple(sizes[j] for j in family)
        flat = steps[-1] if steps else np.zeros(len(codes), dtype=np.intp)
        tables.append(np.bincount(flat, minlength=prod(shape)).reshape(shape))
    return tables


def _binary_tables(bits: PackedBits, codes: Codes, families: list[Family]) -> list[Counts]:
    tables: dict[int, Counts] = {}
    by_size: dict[int, list[int]] = defaultdict(list)
    for i, family in enumerate(families):
        by_size[len(family)].append(i)
    for size, places in by_size.items():
        same_size = [families[i] for i in places]
        if size > MOST_PACKED:
            found = _tables(codes, [2] * codes.shape[1], same_size)
        else:
            stacked = bits.tables(np.array(same_size, dtype=np.intp).reshape(len(places), size))
            found = list(np.ascontiguousarray(np.moveaxis(stacked, -1, 0)))
        tables |= zip(places, found, strict=True)
    return [tables[i] for i in range(len(families))]
