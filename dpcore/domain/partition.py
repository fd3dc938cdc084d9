"""Codes as blocks, and as bits: schemas whose columns are functions of another schema's codes. All public.

Product partitions divide per column its codes into blocks. Whoever generalizes one column at a
time, in all rows at once, walks through such partitions: every cell is a combination of blocks,
empty ones included, and refining one column refines every cell.

Binarization: a column of s codes becomes max(1, ceil(log2 s)) columns of 0 and 1, its natural
binary code with the most significant bit first; numbers are cut into their public bins before. The
rule works record by record, so one person's row stays one row. Where s is no power of two some bit
patterns stand for no code: `decode` says which rows hold one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes, Column, code_dtype
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import ANY


@dataclass(frozen=True, eq=False)
class Axis:
    """One column's codes, divided."""

    blocks: Ints  # for every code its block; every block holds a code
    names: tuple[str, ...]  # one per block

    @cached_property
    def sizes(self) -> Ints:
        """Codes per block."""
        return np.asarray(np.bincount(self.blocks, minlength=len(self.names)))

    @cached_property
    def ordered(self) -> Ints:
        """The codes, block by block."""
        return np.argsort(self.blocks, kind="stable")

    def shares(self, inside: Flags) -> Floats:
        """Which share of every block a set of codes covers: shape (size,) to (blocks,)."""
        return np.bincount(self.blocks, weights=inside, minlength=len(self.names)) / self.sizes

    def draw(self, blocks: Ints, rng: np.random.Generator) -> Ints:
        """One code of each block, uniformly."""
        first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        offsets = np.floor(rng.random(len(blocks)) * self.sizes[blocks]).astype(np.intp)
        return np.asarray(self.ordered[first[blocks] + offsets])


@dataclass(frozen=True, eq=False)
class Partition:
    """One axis per column of a schema; cells are numbered in C order of the blocks."""

    schema: Schema
    axes: tuple[Axis, ...]

    @classmethod
    def whole(cls, schema: Schema) -> Partition:
        """One cell that holds everything."""
        return cls(schema, tuple(Axis(np.zeros(size, dtype=np.intp), (ANY,)) for size in schema.sizes))

    def refined(self, column: str, blocks: Ints, names: Sequence[str]) -> Partition:
        """The partition with one column divided in another way."""
        axes = list(self.axes)
        axes[self.schema.index(column)] = Axis(blocks, tuple(names))
        return replace(self, axes=tuple(axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Blocks per column."""
        return tuple(len(axis.names) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @property
    def family(self) -> tuple[str, ...]:
        """The columns that are divided at all."""
        return tuple(name for name, blocks in zip(self.schema.names, self.shape, strict=True) if blocks > 1)

    def parents(self, coarser: Partition) -> Ints:
        """For every cell the one of a coarser partition that holds it, shape (size,)."""
        index = np.zeros(1, dtype=np.intp)
        for fine, coarse in zip(self.axes, coarser.axes, strict=True):  # flat at once: an array has 64 axes
            above = np.empty(len(fine.names), dtype=np.intp)
            above[fine.blocks] = coarse.blocks
            index = np.add.outer(index * len(coarse.names), above).ravel()
        return index

    def weights(self, sets: dict[str, Flags]) -> Floats:
        """Which share of every cell a product of sets of codes covers, if values are uniform within; shape (size,)."""
        shares = np.ones(1)
        for name, axis in zip(self.schema.names, self.axes, strict=True):
            own = axis.shares(sets[name]) if name in sets else np.ones(len(axis.names))
            shares = np.multiply.outer(shares, own).ravel()
        return shares

    def blocks(self, cells: Ints) -> list[Ints]:
        """Per column the block of each of some cells, shape (n,)."""
        found: list[Ints] = []
        for size in reversed(self.shape):
            cells, block = np.divmod(cells, size)
            found.append(block)
        return found[::-1]

    def draw(self, cells: Ints, rng: np.random.Generator) -> Codes:
        """One row of codes out of each cell, uniformly; shape (n,) to (n, d)."""
        codes = np.empty((len(cells), len(self.axes)), dtype=code_dtype(max(self.schema.sizes)), order="F")
        for j, blocks in enumerate(self.blocks(cells)):
            codes[:, j] = self.axes[j].draw(blocks, rng)
        return codes

    def recoding(self) -> tuple[Schema, list[tuple[str, Ints]]]:
        """What `PrivateTable.recode` needs for a table of block numbers."""
        axes = zip(self.schema.names, self.axes, strict=True)
        return block_columns(self.schema, [(name, name, axis.blocks) for name, axis in axes])


def block_columns(schema: Schema, divided: Sequence[tuple[str, str, Ints]]) -> tuple[Schema, list[tuple[str, Ints]]]:
    """What `PrivateTable.recode` needs for columns of block numbers: names, the columns divided, every code's block."""
    columns = []
    for name, _, blocks in divided:
        last = int(blocks.max())
        columns.append(Column(name=name, kind="integer", lower=0, upper=last, bins=last + 1))
    return replace(schema, columns=tuple(columns), target=None, rules=()), [(source, own) for _, source, own in divided]


class Binarization:
    """The public change of schema from codes to bits, by `PrivateTable.recode`, and back.

    `schema` has one column of 0 and 1 per bit, named "<column> bit <i>", i = 1 the most
    significant; `groups` are the positions of each source column's bits.
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

    def decode(self, bits: Codes) -> tuple[Codes, Flags]:
        """Codes of bits, shape (n, d), and which of them exist, same shape; a code that does not is given as 0."""
        sizes = self.source.sizes
        codes: Codes = np.empty((len(bits), len(sizes)), dtype=code_dtype(max(sizes)), order="F")
        exists = np.empty(codes.shape, dtype=bool, order="F")
        for j, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
            code: NDArray[Any] = np.zeros(len(bits), dtype=np.int64)
            for index in group:
                code = code << 1 | bits[:, index]
            exists[:, j] = code < size
            codes[:, j] = np.where(exists[:, j], code, 0)
        return codes, exists


def bit_widths(sizes: Sequence[int]) -> list[int]:
    """How many bits columns of so many values become."""
    return [max(1, (size - 1).bit_length()) for size in sizes]
