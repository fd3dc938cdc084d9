"""Interface that the door uses for private rows, wherever the rows are stored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes, Counts
from dpcore.rows import exact_counts
from dpcore.rows.exact_counts import Axes, CodeBlock, PackedBits

REMEMBERED = 1 << 22  # cells of marginals that are kept; 32 MB
CodeMap = NDArray[np.integer[Any]]
"""A public look-up array with one axis per source column, from their codes to a new code."""
NumberRule = Callable[[Floats], Floats]
"""A function of a column's numbers, applied to each number."""
NumberCodes = Callable[[Floats], NDArray[Any]]
"""A function from a column's transformed numbers to codes, applied to each number."""


class Rows(ABC):
    """Private rows: codes of all columns, and numbers of some. Immutable; look-ups make new rows.

    The codes of column j are below `sizes[j]`.
    """

    _numbers: Mapping[int, Any]  # by position of the column: its numbers, or the function of them

    def __init__(self, sizes: Sequence[int]) -> None:
        """Set the number of codes of each column."""
        self.sizes = tuple(sizes)
        self._remembered: dict[Axes, Counts] = {}
        self._cells = 0

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def number_columns(self) -> frozenset[int]:
        """Positions of the columns that have numbers as well as codes."""
        return frozenset(self._numbers)

    @abstractmethod
    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        """Yield the rows in order, `exact_counts.BLOCK` at a time, the rest at the end.

        A block is a list of arrays of shape (m,). First come the codes of `columns`, of any
        unsigned type. Then come the original numbers of `numbers` (float64, NaN if missing), before
        `transform_numbers`. The arrays must not be changed.
        """

    @abstractmethod
    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], CodeMap]]) -> Self:
        """Return rows with new columns: each is one of these, or looked up from the codes of some.

        A new column is given by the position of an old one, or by positions of old ones and an
        array from their codes to the new codes. `sizes` has the number of codes of each new column.
        Columns that are kept keep their numbers; new ones have none.
        """

    @abstractmethod
    def number_codes(self, column: int, rule: NumberCodes, size: int) -> Self:
        """Return rows with one more column, of `size` codes: `rule` of a column's numbers.

        `rule` maps transformed numbers, NaN if missing, to codes.
        """

    def recode(self, sizes: Sequence[int], rules: Sequence[tuple[int, CodeMap]]) -> Self:
        """Return rows with new columns, each looked up from the codes of one column.

        `rules` has, for each new column, the position of the old one and an array from its codes to
        the new ones. `sizes` has the number of codes of each new column.
        """
        return self.look_up(sizes, [([source], rule) for source, rule in rules])

    @abstractmethod
    def split(self, column: int) -> list[Self]:
        """Split the rows by the codes of a column; return the rows of each code, in their order."""

    @abstractmethod
    def all_codes(self) -> Codes:
        """Return a copy of all codes, shape (n, d); DataError if they are not in memory."""

    def transform_numbers(self, position: int, numbers: Floats) -> Floats:
        """Apply the public function for the numeric column at a position to some of its numbers.

        Blocks have the original numbers, so that only the numbers that are needed are transformed.
        """
        return numbers

    def numbers(self, position: int) -> Floats:
        """Return all transformed numbers of a column, shape (n,)."""
        blocks = self.blocks((), [position])
        return np.concatenate([np.empty(0), *(self.transform_numbers(position, block[0]) for block in blocks)])

    def sums(self, group: int, columns: Sequence[int], steps: Callable[[list[Floats]], Floats], size: int) -> Counts:
        """Return sums of a public function of some columns' numbers, by the codes of a column.

        `steps` maps transformed numbers, an array of shape (m,) per column, to whole numbers of
        shape (m, size). The result has the shape (codes of `group`, size).
        """
        totals = np.zeros((self.sizes[group], size))
        for codes, *found in self.blocks([group], columns):
            numbers = [self.transform_numbers(j, own) for j, own in zip(columns, found, strict=True)]
            for cell, own in enumerate(steps(numbers).T):
                totals[:, cell] += np.bincount(codes, weights=own, minlength=len(totals))
        return totals.astype(np.int64)

    def number_counts(
        self, group: int, column: int, index: Callable[[Floats, Floats], Ints], size: int, draws: Iterator[Floats]
    ) -> Counts:
        """Count rows by the codes of a column and by a random index of another's numbers.

        `index` maps transformed numbers and a random number per row to whole numbers below `size`,
        or to -1: these rows are not counted. `draws` yields the random numbers, in blocks that are
        as large as those of rows, or several times. The result has the shape (codes of `group`,
        size).
        """
        totals = np.zeros(self.sizes[group] * size, dtype=np.int64)
        step, flat = exact_counts.BLOCK, list[Ints]()
        parts = (block[i : i + step] for block in draws for i in range(0, max(len(block), 1), step))
        # the first block of random numbers is drawn even if there are no rows
        for drawn, (codes, found) in zip(parts, self.blocks([group], [column]), strict=False):
            indices = index(self.transform_numbers(column, found), drawn)
            inside = indices >= 0
            flat.append((codes.astype(np.intp) * size + indices)[inside])
            if len(flat) * step >= len(totals):  # large tables of counts are added up rarely
                totals += np.bincount(np.concatenate(flat), minlength=len(totals))
                flat = []
        if flat:
            totals += np.bincount(np.concatenate(flat), minlength=len(totals))
        return totals.reshape(-1, size)

    def flat_indices(self, clique: Sequence[int]) -> NDArray[Any]:
        """Return the index of every row in the flattened marginal of a clique, shape (n,)."""
        shape = [self.sizes[j] for j in clique]
        found = [
            np.ravel_multi_index([codes.astype(np.intp) for codes in block], shape) if shape[1:] else block[0]
            for block in self.blocks(clique)
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.uint8)

    @cached_property
    def bits(self) -> PackedBits:
        """All columns packed into 64-bit words; valid for columns with two codes."""
        return PackedBits(self.blocks(range(len(self.sizes))), len(self), len(self.sizes))

    def marginals(self, cliques: Iterable[Sequence[int]]) -> list[Counts]:
        """Return the marginals of cliques, each a tuple of column positions.

        The marginal of clique c is an int64 array of shape `[sizes[j] for j in c]`, which sums to
        n. Small marginals are remembered, and not counted again.
        """
        wanted = [tuple(clique) for clique in cliques]
        new = [clique for clique in dict.fromkeys(wanted) if clique not in self._remembered]
        found = dict(zip(new, self._count_marginals(new), strict=True))
        for clique, marginal in found.items():
            if self._cells + marginal.size <= REMEMBERED:
                self._remembered[clique] = marginal
                self._cells += marginal.size
        return [found[clique] if clique in found else self._remembered[clique] for clique in wanted]

    def prefetch(self, cliques: Iterable[Sequence[int]]) -> None:
        """Count and remember, in one pass, marginals that will be requested one at a time.

        Nothing is counted if the rows are few, or if too few marginals can be remembered.
        """
        wanted = [tuple(clique) for clique in cliques]
        cells = sum(prod(self.sizes[j] for j in clique) for clique in wanted)
        if len(self) >= exact_counts.WORTH_JOINING and self._cells + cells <= REMEMBERED:
            self.marginals(wanted)

    def _count_marginals(self, cliques: list[Axes]) -> list[Counts]:
        """Count marginals of distinct cliques, on packed words if all columns are binary."""
        packed: list[Axes] = []
        if len(cliques) >= exact_counts.WORTH_PACKING and all(self.sizes[j] == 2 for f in cliques for j in f):
            packed = [clique for clique in cliques if len(clique) <= exact_counts.MOST_PACKED]
        found = exact_counts.binary_marginals(self.bits, packed) if packed else {}
        rest = [clique for clique in cliques if clique not in found]
        found |= zip(rest, self._count_in_blocks(rest), strict=True)
        return [found[clique] for clique in cliques]

    def _count_in_blocks(self, cliques: list[Axes]) -> list[Counts]:
        """Count marginals in one pass over the blocks of rows."""
        columns = sorted({j for clique in cliques for j in clique})
        return exact_counts.count_streams(self.blocks(columns), len(self), columns, self.sizes, cliques)
