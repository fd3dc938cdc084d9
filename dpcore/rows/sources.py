"""Sources of the rows that `fit` gets: a DataFrame in memory, or a folder read for each query.

Rows of a folder may be a view: look-up rules that are applied to each block.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import isdir
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

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
from dpcore.rows.base import CodeMap, NumberCodes, NumberRule, Rows
from dpcore.rows.exact_counts import Axes, CodeBlock
from dpcore.rows.folder import Folder


class HeldRows(Rows):
    """Rows in memory: codes of shape (n, d), and numbers of shape (n,) by column position."""

    def __init__(
        self, codes: Codes, sizes: Sequence[int], numbers: Mapping[int, Floats] = MappingProxyType({})
    ) -> None:
        """Hold codes, shape (n, d), and numbers by column position."""
        super().__init__(sizes)
        if codes.ndim != 2 or codes.shape[1] != len(self.sizes):
            raise SchemaError("The codes do not have the schema's columns.", "Encode the rows with the same schema.")
        self.codes = codes
        self._numbers: Mapping[int, Floats] = numbers

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        """Yield codes and numbers of some columns, a block of rows at a time."""
        every = [*(self.codes[:, j] for j in columns), *(self._numbers[j] for j in numbers)]
        for start in range(0, len(self), exact_counts.BLOCK):
            yield [values[start : start + exact_counts.BLOCK] for values in every]

    def take(self, indices: Ints) -> Self:
        """Return the rows at some indices, in that order; an index may occur several times."""
        numbers = {j: values[indices] for j, values in self._numbers.items()}
        return type(self)(np.asfortranarray(self.codes[indices]), self.sizes, numbers)

    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], CodeMap]]) -> Self:
        """Return rows with new columns, each one of these or looked up from their codes."""
        codes = np.empty((len(self), len(sizes)), dtype=code_dtype(max(sizes)), order="F")
        for j, column in enumerate(columns):
            if isinstance(column, int):
                codes[:, j] = self.codes[:, column]
            else:
                sources, rule = column
                codes[:, j] = rule.astype(codes.dtype)[tuple(self.codes[:, source] for source in sources)]
        kept = {j: column for j, column in enumerate(columns) if isinstance(column, int)}
        numbers = {j: self._numbers[column] for j, column in kept.items() if column in self._numbers}
        return type(self)(codes, sizes, numbers)

    def number_codes(self, column: int, rule: NumberCodes, size: int) -> Self:
        """Return rows with one more column: a public function of a column's numbers."""
        sizes = (*self.sizes, size)
        codes = np.empty((len(self), len(sizes)), dtype=code_dtype(max(sizes)), order="F")
        codes[:, :-1], codes[:, -1] = self.codes, rule(self._numbers[column])
        return type(self)(codes, sizes, self._numbers)

    def split(self, column: int) -> list[Self]:
        """Split the rows by the codes of a column; return the rows of each code."""
        codes, values = self.codes[:, column], range(self.sizes[column])
        return [type(self)(np.asfortranarray(self.codes[codes == code]), self.sizes) for code in values]

    def all_codes(self) -> Codes:
        """Return a copy of all codes of the rows, shape (n, d)."""
        return self.codes.copy()


def joint_counts(codes: Codes, sizes: Sequence[int], cliques: Iterable[Sequence[int]]) -> list[Counts]:
    """Count the marginals of cliques, tuples of column positions, of one array of codes.

    `sizes` has the number of codes of each column. The marginals are those of `Rows.marginals`.
    """
    return HeldRows(codes, sizes).marginals(cliques)


WORTH_PROCESSES = 1 << 31  # rows times cliques; below, processes take longer to start than to count


@dataclass(frozen=True, eq=False)
class LookUpColumn:
    """A column whose codes are looked up, row by row, from the codes of other columns.

    `rule` is the array of new codes, with one axis per column of `sources`.
    """

    rule: CodeMap
    sources: tuple["CodeSource", ...]


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column whose codes are a function of a folder's numbers.

    `position` is the column's in the folder, `transform` is applied to its numbers first, and then
    `rule` gives the codes.
    """

    position: int
    transform: NumberRule
    rule: NumberCodes


CodeSource = int | LookUpColumn | NumberColumn
"""Source of a column's codes: the position of a column in the folder, a look-up, or numbers."""


class FolderRows(Rows):
    """The rows of a folder, or a view of them: looked-up columns of the rows with certain codes.

    Views store rules and no rows. `numbers` has, by the position of a numeric column, a public
    function of the folder's numbers.
    """

    def __init__(
        self,
        source: Folder,
        numbers: Mapping[int, NumberRule] = MappingProxyType({}),
        *,
        sizes: Sequence[int] | None = None,
        columns: Sequence[CodeSource] | None = None,
        conditions: Sequence[tuple[CodeSource, int]] = (),
        rows: int | None = None,
    ) -> None:
        """Describe the rows of a folder, or a view of them; no row is read.

        `columns` are the columns of the view, and `sizes` their numbers of codes; by default they
        are those of the folder. `conditions` are columns with the code that rows of the view must
        have, and `rows` is the number of such rows.
        """
        super().__init__(source.schema.sizes if sizes is None else sizes)
        self.source, self._rows = source, rows
        self._numbers: Mapping[int, NumberRule] = dict(numbers)
        self._columns = tuple(range(len(source.schema)) if columns is None else columns)
        self._conditions = tuple(conditions)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source) if self._rows is None else self._rows

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[CodeBlock]:
        """Yield codes and numbers of some columns, a block of rows at a time."""
        return exact_counts.even_blocks(self._read_blocks(columns, numbers), exact_counts.BLOCK)

    def transform_numbers(self, position: int, numbers: Floats) -> Floats:
        """Apply the public function for a numeric column to some of its numbers."""
        return self._numbers[position](numbers)

    def _read_blocks(self, columns: Sequence[int], numbers: Sequence[int]) -> Iterator[CodeBlock]:
        """Yield the requested codes and numbers of the rows in order, in blocks of any size."""
        rules = [self._columns[j] for j in columns]
        every = (*rules, *(rule for rule, _ in self._conditions))
        own = [f"n{self._columns[j]}" for j in numbers]
        names = sorted({*own, *(name for rule in every for name in folder_columns(rule))})
        for found in self.source.blocks(names or ["c0"]):
            cache: dict[int, NDArray[Any]] = {}
            block = [read_codes(rule, found, cache) for rule in rules]
            block += [found[name] for name in own]
            if self._conditions:
                tests = [read_codes(rule, found, cache) == code for rule, code in self._conditions]
                block = [values[np.logical_and.reduce(tests)] for values in block]
            yield block

    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], CodeMap]]) -> Self:
        """Return a view with new columns, each one of these or looked up from their codes."""
        found: list[CodeSource] = []
        for column, size in zip(columns, sizes, strict=True):
            if isinstance(column, int):
                found.append(self._columns[column])
            else:  # codes take little room
                rule = column[1].astype(np.min_scalar_type(max(size - 1, 0)))
                found.append(LookUpColumn(rule, tuple(self._columns[j] for j in column[0])))
        kept = {j: column for j, column in enumerate(columns) if isinstance(column, int)}
        numbers = {j: self._numbers[column] for j, column in kept.items() if column in self._numbers}
        return self._view(sizes=sizes, columns=found, numbers=numbers)

    def number_codes(self, column: int, rule: NumberCodes, size: int) -> Self:
        """Return a view with one more column: a public function of a column's numbers."""
        source = NumberColumn(cast(int, self._columns[column]), self._numbers[column], rule)
        return self._view(sizes=(*self.sizes, size), columns=(*self._columns, source), numbers=self._numbers)

    def split(self, column: int) -> list[Self]:
        """Split the rows by the codes of a column; return a view of the rows of each code."""
        rule, sizes = self._columns[column], enumerate(self.marginals([(column,)])[0])
        return [self._view(conditions=(*self._conditions, (rule, code)), rows=int(n)) for code, n in sizes]

    def all_codes(self) -> Codes:
        """Raise DataError, because the rows are not in memory."""
        raise DataError(
            "The method as published needs all rows in memory, but they are in a folder.",
            "Use mode='corrected', or fit on a DataFrame of rows that fit into memory.",
        )

    def _view(self, **other: Any) -> Self:
        """Return a view of the same folder without numbers, with some attributes replaced."""
        own: dict[str, Any] = {"source": self.source, "sizes": self.sizes, "columns": self._columns}
        return type(self)(**own | {"conditions": self._conditions, "rows": self._rows} | other)

    def _count_in_blocks(self, cliques: list[Axes]) -> list[Counts]:
        """Count marginals over the parts of the folder, in several processes if that saves time.

        If a worker on this machine is killed, this process counts the remaining parts. A cluster
        gives them to another worker.
        """
        backend, jobs = get_active_backend()
        if jobs is None:  # a cluster takes all of its workers, and this machine one process
            jobs = -1 if len(self) * len(cliques) >= WORTH_PROCESSES else backend.default_n_jobs
        self.source.check()  # remembered marginals must come from the same files
        if jobs == 1 or not self.source.parts[1:] or not cliques or () in cliques:
            return super()._count_in_blocks(cliques)
        left = list(self.source.parts)
        views = [self._view(source=replace(self.source, parts=(part,))) for part in left]
        tasks = (delayed(Rows._count_in_blocks)(view, cliques) for view in views)
        sums: list[Counts] = [np.zeros([self.sizes[j] for j in c], dtype=np.int64) for c in cliques]
        try:
            for marginals in Parallel(n_jobs=jobs, return_as="generator")(tasks):
                sums = [total + table for total, table in zip(sums, marginals, strict=True)]
                del left[0]
        except TerminatedWorkerError:
            warnings.warn("A process that counted rows was killed; this process counts its parts.", stacklevel=2)
            marginals = Rows._count_in_blocks(self._view(source=replace(self.source, parts=tuple(left))), cliques)
            sums = [total + table for total, table in zip(sums, marginals, strict=True)]
        self.source.check()
        return sums


def folder_columns(column: CodeSource) -> Iterator[str]:
    """Yield the names of the folder's columns from which a (looked-up) column is computed."""
    if isinstance(column, int):
        yield f"c{column}"
    elif isinstance(column, NumberColumn):
        yield f"n{column.position}"
    else:
        for source in column.sources:
            yield from folder_columns(source)


def read_codes(column: CodeSource, block: Mapping[str, NDArray[Any]], cache: dict[int, NDArray[Any]]) -> NDArray[Any]:
    """Return a column's codes in a block of rows, read, looked up, or from numbers.

    `block` has the folder's columns ("c0", ... and "n0", ...). `cache` keeps what was looked up in
    this block.
    """
    if isinstance(column, int):
        return block[f"c{column}"]
    if id(column) not in cache:
        if isinstance(column, NumberColumn):
            cache[id(column)] = column.rule(column.transform(block[f"n{column.position}"]))
        else:
            cache[id(column)] = column.rule[tuple(read_codes(one, block, cache) for one in column.sources)]
    return cache[id(column)]


RowSource = pd.DataFrame | Folder | Path | str
"""A DataFrame; or a folder of encoded rows, or its path."""


def rows_of(source: RowSource, schema: Schema, numbers: Mapping[int, NumberRule]) -> Rows:
    """Return the rows of a DataFrame or folder, encoded by a schema.

    Parameters
    ----------
    source : DataFrame, Folder, or path
        The data set.
    schema : Schema
        The columns of the rows, and their codes.
    numbers : mapping of int to callable
        For numeric columns that keep numbers, by position: a function of the numbers.

    Returns
    -------
    Rows
        The rows.

    Raises
    ------
    DataError
        If the data do not fit the schema, the folder cannot be read or has changed, or the source
        is of another kind.
    SchemaError
        If a folder was encoded with another schema.
    """
    if isinstance(source, pd.DataFrame):
        codes = schema.encode(source)
        columns = {j: schema.columns[j] for j in numbers}
        found = {j: numbers[j](column.numbers(source[column.name])) for j, column in columns.items()}
        return HeldRows(codes, schema.sizes, found)
    check_source(source)
    folder = source if isinstance(source, Folder) else Folder.open(source)
    if other := mismatched_column(folder.schema, schema):
        raise SchemaError(
            f"The folder's rows were encoded with another column {other!r}.",
            "Use the folder's own schema, or encode its source again.",
        )
    indices = [folder.schema.index(name) for name in schema.names]
    if not all(f"n{indices[j]}" in part.columns for j in numbers for part in folder.parts):
        raise DataError("The folder lacks numbers, which the method needs.", "Encode again with numbers=True.")
    return FolderRows(folder, numbers, sizes=schema.sizes, columns=indices)


def check_source(source: RowSource) -> None:
    """Raise DataError unless the source is a DataFrame, a folder of encoded rows, or its path."""
    if isinstance(source, str | Path):
        if not isdir(source):  # noqa: PTH112 - `is_dir` fails on a long text
            raise DataError("There is no folder of encoded rows at this path.", table_remedy(source))
    elif not isinstance(source, pd.DataFrame | Folder):
        raise DataError(
            f"Methods learn from a pandas DataFrame or a folder; got {kind_of(source)}.",
            f"{table_remedy(source)} dp.encode_folder encodes Arrow streams and Parquet files.",
        )


def mismatched_column(encoded: Schema, schema: Schema) -> str:
    """Return the first column of a schema whose codes differ from those of a folder, or "".

    `encoded` is the schema of the folder.
    """
    other = (
        column.name
        for column in schema
        if column.name not in encoded.names or _code_fields(column) != _code_fields(encoded[column.name])
    )
    return next(other, "")


def _code_fields(column: Column) -> Column:
    """Return a column without the fields that do not affect codes, for comparison."""
    return replace(column, description="", taxonomy=None, number_format="", outside="refuse")
