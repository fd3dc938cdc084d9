"""What the door needs of private rows, wherever they are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.domain.column import Codes, Counts
from dpcore.rows import exact_counts
from dpcore.rows.exact_counts import Axes, CodeBlock, PackedBits

REMEMBERED = 1 << 22  # cells; 32 MB
Rule = NDArray[np.integer[Any]]
"""A public look-up table, with one axis per column that it looks at, from their codes to a new code."""
NumberRule = Callable[[Floats], Floats]
"""What is made of a column's numbers, number by number."""


class Rows(ABC):
    """Rows of codes, code j below `sizes[j]`, and of numbers of some columns. Immutable: each rule makes new rows."""

    _numbers: Mapping[int, Any]  # by the column's position: its numbers, or the rule on them

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._known: dict[Axes, Counts] = {}
        self._cells = 0

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @property
    def numbered(self) -> frozenset[int]:
        """The positions of the columns whose numbers are there besides codes."""
        return frozenset(self._numbers)

    @abstractmethod
    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        """The rows in order, `exact_counts.BLOCK` at a time, the rest at the end.

        A block has an array of shape (m,) for each of some columns' codes, of any unsigned type,
        and then one for each of some columns' numbers, of float64 and NaN if missing, before
        anything is `made` of them. Nobody may change them.
        """

    @abstractmethod
    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], Rule]]) -> Self:
        """Rows of other columns, each one of these or a rule on some; without numbers, as all that follow."""

    def recoded(self, sizes: Sequence[int], rules: Sequence[tuple[int, Rule]]) -> Self:
        """Rows of other columns, each a rule on the codes of one column here."""
        return self.look_up(sizes, [([source], rule) for source, rule in rules])

    @abstractmethod
    def split(self, by: int) -> list[Self]:
        """The rows of each code of a column, in their order."""

    @abstractmethod
    def held(self) -> Codes:
        """All codes at once, shape (n, d), a copy; DataError if they are not in memory."""

    def made(self, position: int, numbers: Floats) -> Floats:
        """What is made of some of a column's numbers: so that only those are looked at that somebody needs."""
        return numbers

    def numbers(self, position: int) -> Floats:
        """All that is made of one column's numbers, shape (n,)."""
        blocks = self.blocks((), [position])
        return np.concatenate([np.empty(0), *(self.made(position, block[0]) for block in blocks)])

    def cells(self, family: Sequence[int]) -> NDArray[Any]:
        """Where every row is in the flat table of one column or more, shape (n,)."""
        shape = [self.sizes[j] for j in family]
        found = [
            np.ravel_multi_index([codes.astype(np.intp) for codes in block], shape) if shape[1:] else block[0]
            for block in self.blocks(family)
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.uint8)

    @cached_property
    def bits(self) -> PackedBits:
        """The columns as words, for those of two codes."""
        return PackedBits(self.blocks(range(len(self.sizes))), len(self), len(self.sizes))

    def tables(self, families: Iterable[Sequence[int]]) -> list[Counts]:
        """The tables of sets of columns, given by position; each is counted once while there is room to remember it.

        Table f is of int64, has shape `[sizes[j] for j in f]`, and sums to n.
        """
        wanted = [tuple(family) for family in families]
        new = [family for family in dict.fromkeys(wanted) if family not in self._known]
        found = dict(zip(new, self._counted(new), strict=True))
        for family, table in found.items():
            if self._cells + table.size <= REMEMBERED:
                self._known[family] = table
                self._cells += table.size
        return [found[family] if family in found else self._known[family] for family in wanted]

    def expect(self, families: Iterable[Sequence[int]]) -> None:
        """Count tables in one pass that are going to be asked for one by one, where that pays and there is room."""
        wanted = [tuple(family) for family in families]
        cells = sum(prod(self.sizes[j] for j in family) for family in wanted)
        if len(self) >= exact_counts.WORTH_JOINING and self._cells + cells <= REMEMBERED:
            self.tables(wanted)

    def _counted(self, families: list[Axes]) -> list[Counts]:
        """New tables of different families."""
        packed: list[Axes] = []
        if len(families) >= exact_counts.WORTH_PACKING and all(self.sizes[j] == 2 for f in families for j in f):
            packed = [family for family in families if len(family) <= exact_counts.MOST_PACKED]
        found = exact_counts.binary_tables(self.bits, packed) if packed else {}
        rest = [family for family in families if family not in found]
        found |= zip(rest, self._streamed(rest), strict=True)
        return [found[family] for family in families]

    def _streamed(self, families: list[Axes]) -> list[Counts]:
        """Tables counted block by block."""
        columns = sorted({j for family in families for j in family})
        return exact_counts.count_streams(self.blocks(columns), len(self), columns, self.sizes, families)
