"""Binarization: a schema whose columns are the bits of another schema's codes.

Numbers are first cut into their public bins; a column of s codes then becomes max(1, ceil(log2 s)) columns of 0 and 1,
its natural binary code with the most significant bit first. The rule is public and works record by record, so one
person's row stays one row. Where s is no power of two some bit patterns stand for no code: `decode` says which rows
hold one.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags
from dpcore.domain.column import Codes, Column, code_dtype
from dpcore.domain.schema import Schema


class Binarization:
    """The public change of schema from codes to bits and back.

    `schema` has one column of 0 and 1 per bit, named "<column> bit <i>", i = 1 the most significant; `groups` are the
    positions of each source column's bits.
    """

    def __init__(self, source: Schema) -> None:
        widths = bit_widths(source.sizes)
        self.source = source
        self.groups = tuple(range(a, b) for a, b in pairwise(accumulate(widths, initial=0)))
        bits = [
            Column(name=f"{column.name} bit {i}", kind="ordered", categories=("0", "1"), origin=column.origin)
            for column, width in zip(source, widths, strict=True)
            for i in range(1, width + 1)
        ]
        self.schema = Schema(columns=tuple(bits), source=source.source, max_rows=source.max_rows)

    @property
    def rules(self) -> list[tuple[str, NDArray[np.int64]]]:
        """Per bit: its source column and the bit of each of that column's codes, for `PrivateTable.recode`."""
        return [
            (column.name, np.arange(column.size) >> shift & 1)
            for column, group in zip(self.source, self.groups, strict=True)
            for shift in reversed(range(len(group)))
        ]

    def encode(self, codes: Codes) -> Codes:
        """Bits of codes of shape (n, d), shape (n, bits)."""
        bits = np.empty((len(codes), len(self.schema)), dtype=np.uint8, order="F")
        for j, group in enumerate(self.groups):
            for shift, place in enumerate(reversed(group)):
                bits[:, place] = codes[:, j] >> shift & 1
        return bits

    def decode(self, bits: Codes) -> tuple[Codes, Flags]:
        """Codes of bits, shape (n, d), and which of them exist, same shape; a code that does not is given as 0."""
        sizes = self.source.sizes
        codes: Codes = np.empty((len(bits), len(sizes)), dtype=code_dtype(max(sizes)), order="F")
        exists = np.empty(codes.shape, dtype=bool, order="F")
        for j, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
            code: NDArray[Any] = np.zeros(len(bits), dtype=np.int64)
            for place in group:
                code = code << 1 | bits[:, place]
            exists[:, j] = code < size
            codes[:, j] = np.where(exists[:, j], code, 0)
        return codes, exists


def bit_widths(sizes: Sequence[int]) -> list[int]:
    """How many bits columns of so many values become."""
    return [max(1, (size - 1).bit_length()) for size in sizes]
