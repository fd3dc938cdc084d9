"""Rows that are read again for every question, and views of them: rules that are worked out in each block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows import exact_counts
from dpcore.rows.base import NumberRule, Rows, Rule
from dpcore.rows.exact_counts import Block


class Source(Protocol):
    """One table somewhere else, which must stay the same: coded by its public schema, and read block by block."""

    @property
    def schema(self) -> Schema:
        """By which its columns are coded."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """All rows in an order that stays: codes "c0", "c1", ... and numbers "n0", ... of columns, by these names."""


@dataclass(frozen=True, eq=False)
class LookUp:
    """A column that is looked up, row by row, from codes of others."""

    rule: Rule
    sources: tuple["Column", ...]


Column = int | LookUp
"""What a code is worked out from: the source's own column of that position, or a rule."""


S = TypeVar("S", bound=Source)


class SourceRows(Rows, Generic[S]):
    """The rows of a source, or a view of them: columns that are looked up, of the rows that have certain codes.

    Views hold rules and no rows. `numbers` has, by position, a public rule on the source's numbers of a column of its
    own.
    """

    where: ClassVar[str]  # the rows are, in two words

    def __init__(
        self,
        source: S,
        numbers: Mapping[int, NumberRule] = MappingProxyType({}),
        *,
        sizes: Sequence[int] | None = None,
        columns: Sequence[Column] | None = None,
        kept: Sequence[tuple[Column, int]] = (),
        rows: int | None = None,
    ) -> None:
        super().__init__(source.schema.sizes if sizes is None else sizes)
        self.source, self._numbers, self._rows = source, dict(numbers), rows
        self._columns = tuple(range(len(source.schema)) if columns is None else columns)
        self._kept = tuple(kept)

    def __len__(self) -> int:
        return self.source.rows if self._rows is None else self._rows

    @property
    def numbered(self) -> frozenset[int]:
        return frozenset(self._numbers)

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[Block]:
        return _even(self._pieces(columns, numbers))

    def made(self, position: int, numbers: Floats) -> Floats:
        return self._numbers[position](numbers)

    def _pieces(self, columns: Sequence[int], numbers: Sequence[int]) -> Iterator[Block]:
        """The rows in order, in blocks as they come."""
        looks = [self._columns[j] for j in columns]
        needed = sorted({j for look in (*looks, *(look for look, _ in self._kept)) for j in own_columns(look)})
        own = [f"n{self._columns[j]}" for j in numbers]
        names = [*(f"c{j}" for j in needed), *own]
        for found in self.source.blocks(names or ["c0"]):
            known: dict[int, NDArray[Any]] = {}
            block = [looked_up(look, found, known) for look in looks]
            block += [found[name] for name in own]
            if self._kept:
                here = np.logical_and.reduce([looked_up(look, found, known) == code for look, code in self._kept])
                block = [values[here] for values in block]
            yield block

    def recoded(self, sizes: Sequence[int], rules: Sequence[tuple[int, Rule]]) -> Self:
        columns = [rule_of(rule, size, [self._columns[j]]) for (j, rule), size in zip(rules, sizes, strict=True)]
        return self._view(sizes, columns, self._kept, self._rows)

    def derived(self, size: int, sources: Sequence[int], rule: Rule) -> Self:
        column = rule_of(rule, size, [self._columns[j] for j in sources])
        return self._view((*self.sizes, size), (*self._columns, column), self._kept, self._rows)

    def split(self, by: int) -> list[Self]:
        (many,) = self.tables([(by,)])
        column = self._columns[by]
        return [
            self._view(self.sizes, self._columns, (*self._kept, (column, code)), int(rows))
            for code, rows in enumerate(many)
        ]

    def held(self) -> Codes:
        raise DataError(
            f"The paper's own way looks at all rows at once, and these are in {self.where}.",
            "Use mode='corrected', or fit on a DataFrame of rows that fit into memory.",
        )

    def _view(
        self, sizes: Sequence[int], columns: Sequence[Column], kept: Sequence[tuple[Column, int]], rows: int | None
    ) -> Self:
        return type(self)(self.source, sizes=sizes, columns=columns, kept=kept, rows=rows)


def rule_of(rule: Rule, size: int, sources: Sequence[Column]) -> LookUp:
    """A look-up whose codes take little room."""
    return LookUp(rule.astype(np.min_scalar_type(max(size - 1, 0))), tuple(sources))


def own_columns(column: Column) -> Iterator[int]:
    """The source's columns that a column is worked out from."""
    if isinstance(column, int):
        yield column
    else:
        for source in column.sources:
            yield from own_columns(source)


def looked_up(column: Column, found: Mapping[str, NDArray[Any]], known: dict[int, NDArray[Any]]) -> NDArray[Any]:
    """A column's codes in a block; a rule that several columns rest on is looked up once."""
    if isinstance(column, int):
        return found[f"c{column}"]
    if id(column) not in known:
        known[id(column)] = column.rule[tuple(looked_up(source, found, known) for source in column.sources)]
    return known[id(column)]


def _even(pieces: Iterator[Block]) -> Iterator[Block]:
    """The same rows in blocks of `exact_counts.BLOCK`, the rest at the end."""
    waiting: list[Block] = []
    held = 0
    for piece in pieces:
        start, rows = 0, len(piece[0])
        while held + rows - start >= exact_counts.BLOCK:
            end = start + exact_counts.BLOCK - held
            waiting.append([values[start:end] for values in piece])
            yield _one(waiting)
            waiting, held, start = [], 0, end
        if start < rows:
            waiting.append([values[start:] for values in piece])
            held += rows - start
    if held:
        yield _one(waiting)


def _one(blocks: list[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else [np.concatenate(columns) for columns in zip(*blocks, strict=True)]
