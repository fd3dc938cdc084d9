"""Rows in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Self

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes, Counts, code_dtype
from dpcore.errors import SchemaError
from dpcore.rows import exact_counts
from dpcore.rows.base import Rows, Rule
from dpcore.rows.exact_counts import Block


class HeldRows(Rows):
    """One array of codes, shape (n, d), and numbers of shape (n,) by the column's position."""

    def __init__(
        self, codes: Codes, sizes: Sequence[int], numbers: Mapping[int, Floats] = MappingProxyType({})
    ) -> None:
        super().__init__(sizes)
        if codes.ndim != 2 or codes.shape[1] != len(self.sizes):
            raise SchemaError("The codes do not have the schema's columns.", "Encode the rows with the same schema.")
        self.codes = codes
        self._numbers: Mapping[int, Floats] = numbers

    def __len__(self) -> int:
        return len(self.codes)

    def numbers(self, position: int) -> Floats:
        return self._numbers[position]

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[Block]:
        every = [*(self.codes[:, j] for j in columns), *(self._numbers[j] for j in numbers)]
        for start in range(0, len(self), exact_counts.BLOCK):
            yield [values[start : start + exact_counts.BLOCK] for values in every]

    def at(self, places: Ints) -> Self:
        """Rows at some places, in that order; one may come several times."""
        numbers = {j: values[places] for j, values in self._numbers.items()}
        return type(self)(np.asfortranarray(self.codes[places]), self.sizes, numbers)

    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], Rule]]) -> Self:
        codes = np.empty((len(self), len(sizes)), dtype=code_dtype(max(sizes)), order="F")
        for j, column in enumerate(columns):
            if isinstance(column, int):
                codes[:, j] = self.codes[:, column]
            else:
                sources, rule = column
                codes[:, j] = rule.astype(codes.dtype)[tuple(self.codes[:, source] for source in sources)]
        return type(self)(codes, sizes)

    def split(self, by: int) -> list[Self]:
        column = self.codes[:, by]
        return [type(self)(np.asfortranarray(self.codes[column == code]), self.sizes) for code in range(self.sizes[by])]

    def held(self) -> Codes:
        return self.codes.copy()


def joint_counts(codes: Codes, sizes: Sequence[int], families: Iterable[Sequence[int]]) -> list[Counts]:
    """The tables of rows that are asked once; see `Rows.tables`."""
    return HeldRows(codes, sizes).tables(families)
