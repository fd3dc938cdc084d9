"""Partitions of a domain, and binarization: schemas whose columns are public functions of codes.

A product partition divides the codes of each column into blocks. A method that generalizes one
column at a time, in all rows at once, walks through such partitions. Every cell is a combination of
blocks, including empty ones; refining one column refines every cell.

Binarization replaces a column of s codes by max(1, ceil(log2 s)) columns of 0 and 1. They are the
natural binary code of the column's code, most significant bit first; numbers are first reduced to
their public bins. The rule works row by row, so one person's row stays one row. If s is not a power
of two, some bit patterns stand for no code: `decode` reports which rows have one.
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

Recoding = tuple[Schema, list[tuple[str, Ints]]]


@dataclass(frozen=True, eq=False)
class Axis:
    """The codes of one column, divided into disjoint blocks."""

    blocks: Ints  # block of each code; every block has a code
    names: tuple[str, ...]  # of the blocks

    @cached_property
    def sizes(self) -> Ints:
        """Number of codes per block, shape (blocks,)."""
        return np.asarray(np.bincount(self.blocks, minlength=len(self.names)))

    @cached_property
    def codes_by_block(self) -> Ints:
        """The column's codes sorted by block, shape (codes,)."""
        return np.argsort(self.blocks, kind="stable")

    def shares(self, inside: Flags) -> Floats:
        """Return which share of each block's codes is marked in `inside`, shape (blocks,).

        `inside` is a mask over the column's codes, such as those that a query asks for.
        """
        return np.bincount(self.blocks, weights=inside, minlength=len(self.names)) / self.sizes

    def draw(self, blocks: Ints, rng: np.random.Generator) -> Ints:
        """Return a code from each given block of the column, drawn uniformly, shape (n,)."""
        first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        offsets = np.floor(rng.random(len(blocks)) * self.sizes[blocks]).astype(np.intp)
        return np.asarray(self.codes_by_block[first[blocks] + offsets])


@dataclass(frozen=True, eq=False)
class Partition:
    """Product partition of a schema's domain, one `Axis` per column.

    Cells are all combinations of the columns' blocks, numbered in C order.
    """

    schema: Schema
    axes: tuple[Axis, ...]

    @classmethod
    def whole(cls, schema: Schema) -> Partition:
        """Return the coarsest partition of a schema's domain: a single cell with all combinations."""
        return cls(schema, tuple(Axis(np.zeros(size, dtype=np.intp), (ANY,)) for size in schema.sizes))

    def refine(self, column: str, blocks: Ints, names: Sequence[str]) -> Partition:
        """Return the partition with one column's codes divided into other blocks.

        `blocks` has the block of each code, `names` the name of each block.
        """
        axes = list(self.axes)
        axes[self.schema.index(column)] = Axis(blocks, tuple(names))
        return replace(self, axes=tuple(axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of blocks that each column is divided into."""
        return tuple(len(axis.names) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells of the partition."""
        return prod(self.shape)

    @property
    def divided_columns(self) -> tuple[str, ...]:
        """Names of the columns that the partition divides into more than one block."""
        return tuple(name for name, n in zip(self.schema.names, self.shape, strict=True) if n > 1)

    def parents(self, coarser: Partition) -> Ints:
        """Return for each cell the index of the cell of a coarser partition that contains it.

        The result has the shape (cells,).
        """
        index = np.zeros(1, dtype=np.intp)
        for fine, coarse in zip(self.axes, coarser.axes, strict=True):  # flat: arrays have 64 axes at most
            above = np.empty(len(fine.names), dtype=np.intp)
            above[fine.blocks] = coarse.blocks
            index = np.add.outer(index * len(coarse.names), above).ravel()
        return index

    def weights(self, masks: dict[str, Flags]) -> Floats:
        """Return the share of each cell that a range query covers, shape (cells,).

        `masks` has the query's mask over codes per column; a column without one is unrestricted.
        Values are taken as uniform within a cell.
        """
        shares = np.ones(1)
        for name, axis in zip(self.schema.names, self.axes, strict=True):
            own = axis.shares(masks[name]) if name in masks else np.ones(len(axis.names))
            shares = np.multiply.outer(shares, own).ravel()
        return shares

    def blocks(self, cells: Ints) -> list[Ints]:
        """Return the block of each given cell in every column, one array of shape (n,) each."""
        found: list[Ints] = []
        for size in reversed(self.shape):
            cells, block = np.divmod(cells, size)
            found.append(block)
        return found[::-1]

    def draw(self, cells: Ints, rng: np.random.Generator) -> Codes:
        """Return one row of codes from each given cell, drawn uniformly.

        `cells` has shape (n,), the result shape (n, columns).
        """
        codes = np.empty((len(cells), len(self.axes)), dtype=code_dtype(max(self.schema.sizes)), order="F")
        for j, blocks in enumerate(self.blocks(cells)):
            codes[:, j] = self.axes[j].draw(blocks, rng)
        return codes

    def recoding(self) -> Recoding:
        """Return a schema and rules for `PrivateTable.recode` that replace codes by blocks.

        The schema has one integer column per column of the domain, whose numbers are the blocks.
        """
        axes = zip(self.schema.names, self.axes, strict=True)
        return block_columns(self.schema, [(name, name, axis.blocks) for name, axis in axes])


def block_columns(schema: Schema, divided: Sequence[tuple[str, str, Ints]]) -> Recoding:
    """Return a schema and rules for `PrivateTable.recode` that replace codes by block numbers.

    `divided` has, per new column, its name, its source column, and the block of each source code.
    """
    columns = []
    for name, _, blocks in divided:
        last = int(blocks.max())
        columns.append(Column(name=name, kind="integer", lower=0, upper=last, bins=last + 1))
    return replace(schema, columns=tuple(columns), target=None, rules=()), [(source, own) for _, source, own in divided]


class Binarization:
    """The public change of schema from codes to bits for `PrivateTable.recode`, and its inverse.

    `schema` has one column of 0 and 1 per bit, named "<column> bit <i>", where i = 1 is the most
    significant bit. `groups` has the positions of each source column's bits.
    """

    def __init__(self, source: Schema) -> None:
        widths = bit_widths(source.sizes)
        self.source = source
        self.groups = tuple(range(a, b) for a, b in pairwise(accumulate(widths, initial=0)))
        bits = [
            Column(name=f"{one.name} bit {i}", kind="ordered", categories=("0", "1"), origin=one.origin)
            for one, width in zip(source, widths, strict=True)
            for i in range(1, width + 1)
        ]
        self.schema = Schema(columns=tuple(bits), source=source.source, max_rows=source.max_rows)

    @property
    def rules(self) -> list[tuple[str, NDArray[np.int64]]]:
        """Rules of `PrivateTable.recode` from codes to bits: per bit its source column and values.

        The values are the bit of each of the source column's codes.
        """
        return [
            (column.name, np.arange(column.size) >> shift & 1)
            for column, group in zip(self.source, self.groups, strict=True)
            for shift in reversed(range(len(group)))
        ]

    def decode(self, bits: Codes) -> tuple[Codes, Flags]:
        """Return the codes of rows of bits, and which codes exist; both of shape (n, columns).

        A bit pattern that stands for no code is returned as code 0.
        """
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
    """Return the number of bits for the codes of each column; `sizes` has the numbers of codes."""
    return [max(1, (size - 1).bit_length()) for size in sizes]
