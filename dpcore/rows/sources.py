"""What `fit` was given, as rows: a table in memory, or a folder, whose rows are read again for every question.

Rows of a folder may be a view of them: rules that are worked out in each block.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import isdir
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints, kind_of, table_remedy
from dpcore.domain.column import Codes, Column, Counts, code_dtype
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.rows import exact_counts
from dpcore.rows.base import NumberRule, Rows, Rule
from dpcore.rows.exact_counts import Axes, CodeBlock
from dpcore.rows.folder import Folder


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

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        every = [*(self.codes[:, j] for j in columns), *(self._numbers[j] for j in numbers)]
        for start in range(0, len(self), exact_counts.BLOCK):
            yield [values[start : start + exact_counts.BLOCK] for values in every]

    def at(self, indices: Ints) -> Self:
        """Rows at some places, in that order; one may come several times."""
        numbers = {j: values[indices] for j, values in self._numbers.items()}
        return type(self)(np.asfortranarray(self.codes[indices]), self.sizes, numbers)

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


WORTH_PROCESSES = 1 << 31  # rows times families; below, starting them takes longer than counting


@dataclass(frozen=True, eq=False)
class LookUp:
    """A column that is looked up, row by row, from codes of others."""

    rule: Rule
    sources: tuple["CodeRule", ...]


CodeRule = int | LookUp
"""What a code is worked out from: the folder's own column of that position, or a rule."""


class FolderRows(Rows):
    """The rows of a folder, or a view of them: columns that are looked up, of the rows that have certain codes.

    Views hold rules and no rows. `numbers` has, by position, a public rule on the folder's numbers
    of a column of its own.
    """

    def __init__(
        self,
        source: Folder,
        numbers: Mapping[int, NumberRule] = MappingProxyType({}),
        *,
        sizes: Sequence[int] | None = None,
        columns: Sequence[CodeRule] | None = None,
        kept: Sequence[tuple[CodeRule, int]] = (),
        rows: int | None = None,
    ) -> None:
        super().__init__(source.schema.sizes if sizes is None else sizes)
        self.source, self._rows = source, rows
        self._numbers: Mapping[int, NumberRule] = dict(numbers)
        self._columns = tuple(range(len(source.schema)) if columns is None else columns)
        self._kept = tuple(kept)

    def __len__(self) -> int:
        return len(self.source) if self._rows is None else self._rows

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        return exact_counts.even_blocks(self._pieces(columns, numbers), exact_counts.BLOCK)

    def made(self, position: int, numbers: Floats) -> Floats:
        return self._numbers[position](numbers)

    def _pieces(self, columns: Sequence[int], numbers: Sequence[int]) -> Iterator[CodeBlock]:
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

    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], Rule]]) -> Self:
        found: list[CodeRule] = []
        for column, size in zip(columns, sizes, strict=True):
            if isinstance(column, int):
                found.append(self._columns[column])
            else:  # codes take little room
                rule = column[1].astype(np.min_scalar_type(max(size - 1, 0)))
                found.append(LookUp(rule, tuple(self._columns[j] for j in column[0])))
        return self._view(sizes=sizes, columns=found)

    def split(self, by: int) -> list[Self]:
        look, sizes = self._columns[by], enumerate(self.tables([(by,)])[0])
        return [self._view(kept=(*self._kept, (look, code)), rows=int(n)) for code, n in sizes]

    def held(self) -> Codes:
        raise DataError(
            "The method as published reads all rows at once, and these are in a folder.",
            "Use mode='corrected', or fit on a DataFrame of rows that fit into memory.",
        )

    def _view(self, **other: Any) -> Self:
        """Rows without numbers, but for what is given the same as these."""
        own: dict[str, Any] = {"source": self.source, "sizes": self.sizes, "columns": self._columns}
        return type(self)(**own | {"kept": self._kept, "rows": self._rows} | other)

    def _streamed(self, families: list[Axes]) -> list[Counts]:
        """Over parts in several processes, if that pays; workers count, and nothing else.

        What a worker of this machine had not counted when it died, this process counts; a cluster
        asks another worker.
        """
        backend, jobs = get_active_backend()
        if jobs is None:  # a cluster takes all of its workers, and this machine one process
            jobs = -1 if len(self) * len(families) >= WORTH_PROCESSES else backend.default_n_jobs
        self.source.check()  # a table that is remembered is one of this folder, too
        if jobs == 1 or not self.source.parts[1:] or not families or () in families:
            return super()._streamed(families)
        left = list(self.source.parts)
        views = [self._view(source=replace(self.source, parts=(part,))) for part in left]
        tasks = (delayed(Rows._streamed)(view, families) for view in views)
        sums: list[Counts] = [np.zeros([self.sizes[j] for j in family], dtype=np.int64) for family in families]
        try:
            for tables in Parallel(n_jobs=jobs, return_as="generator")(tasks):
                sums = [total + table for total, table in zip(sums, tables, strict=True)]
                del left[0]
        except TerminatedWorkerError:
            warnings.warn("A process that counted rows was ended; this one counts on in its place.", stacklevel=2)
            tables = Rows._streamed(self._view(source=replace(self.source, parts=tuple(left))), families)
            sums = [total + table for total, table in zip(sums, tables, strict=True)]
        self.source.check()
        return sums


def own_columns(column: CodeRule) -> Iterator[int]:
    """The folder's columns that a column is worked out from."""
    if isinstance(column, int):
        yield column
    else:
        for source in column.sources:
            yield from own_columns(source)


def looked_up(column: CodeRule, found: Mapping[str, NDArray[Any]], known: dict[int, NDArray[Any]]) -> NDArray[Any]:
    """A column's codes in a block; a rule that several columns rest on is looked up once."""
    if isinstance(column, int):
        return found[f"c{column}"]
    if id(column) not in known:
        known[id(column)] = column.rule[tuple(looked_up(source, found, known) for source in column.sources)]
    return known[id(column)]


RowSource = pd.DataFrame | Folder | Path | str
"""A table; a folder of encoded rows, or its path."""


def rows_of(given: RowSource, schema: Schema, numbers: Mapping[int, NumberRule]) -> Rows:
    """The rows of a table or folder in the schema's columns; `numbers` has rules on some columns' numbers.

    Raises
    ------
    DataError
        If a table does not fit the schema, or a folder cannot be read, or has changed; or if it is
        neither.
    SchemaError
        If a folder was encoded by another schema.
    """
    if isinstance(given, pd.DataFrame):
        codes = schema.encode(given)
        columns = {j: schema.columns[j] for j in numbers}
        found = {j: numbers[j](column.numbers(given[column.name])) for j, column in columns.items()}
        return HeldRows(codes, schema.sizes, found)
    check_source(given)
    folder = given if isinstance(given, Folder) else Folder.open(given)
    if other := fits(folder.schema, schema):
        raise SchemaError(
            f"The folder's rows were encoded with another column {other!r}.",
            "Use the folder's own schema, or encode its source again.",
        )
    indices = [folder.schema.index(name) for name in schema.names]
    if not all(f"n{indices[j]}" in part.columns for j in numbers for part in folder.parts):
        raise DataError("The folder has codes only, and this method needs numbers.", "Encode again with numbers=True.")
    return FolderRows(folder, numbers, sizes=schema.sizes, columns=indices)


def check_source(given: RowSource) -> None:
    """Raise DataError with a remedy unless it is a table, a folder of encoded rows, or its path."""
    if isinstance(given, str | Path):
        if not isdir(given):  # noqa: PTH112 - `is_dir` fails on a long text
            raise DataError("There is no folder of encoded rows at this path.", table_remedy(given))
    elif not isinstance(given, pd.DataFrame | Folder):
        raise DataError(
            f"Methods learn from a pandas DataFrame or a folder; this is {kind_of(given)}.",
            f"{table_remedy(given)} dp.encode_folder encodes Arrow streams and Parquet files.",
        )


def fits(encoded: Schema, schema: Schema) -> str:
    """The first column of a schema that codes by another do not have as it says; empty if there is none."""
    other = (
        column.name
        for column in schema
        if column.name not in encoded.names or _code_rule(column) != _code_rule(encoded[column.name])
    )
    return next(other, "")


def _code_rule(column: Column) -> Column:
    """The column without what no code depends on, now that there are codes."""
    return replace(column, description="", taxonomy=None, number_format="", outside="refuse")
