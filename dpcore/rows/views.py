"""Rows of a folder, read again for every question, and views of them: rules that are worked out in each block."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.domain.column import Codes, Counts
from dpcore.errors import DataError
from dpcore.rows import exact_counts
from dpcore.rows.base import NumberRule, Rows, Rule
from dpcore.rows.exact_counts import Block, Family
from dpcore.rows.folder import Folder

WORTH_PROCESSES = 1 << 31  # rows times families; below, starting them takes longer than counting


@dataclass(frozen=True, eq=False)
class LookUp:
    """A column that is looked up, row by row, from codes of others."""

    rule: Rule
    sources: tuple["Column", ...]


Column = int | LookUp
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
        columns: Sequence[Column] | None = None,
        kept: Sequence[tuple[Column, int]] = (),
        rows: int | None = None,
    ) -> None:
        super().__init__(source.schema.sizes if sizes is None else sizes)
        self.source, self._rows = source, rows
        self._numbers: Mapping[int, NumberRule] = dict(numbers)
        self._columns = tuple(range(len(source.schema)) if columns is None else columns)
        self._kept = tuple(kept)

    def __len__(self) -> int:
        return len(self.source) if self._rows is None else self._rows

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[Block]:
        return exact_counts.even_blocks(self._pieces(columns, numbers), exact_counts.BLOCK)

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

    def look_up(self, sizes: Sequence[int], columns: Sequence[int | tuple[Sequence[int], Rule]]) -> Self:
        found: list[Column] = []
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
            "The paper's own way looks at all rows at once, and these are in a folder.",
            "Use mode='corrected', or fit on a DataFrame of rows that fit into memory.",
        )

    def _view(self, **other: Any) -> Self:
        """Rows without numbers, but for what is given the same as these."""
        own: dict[str, Any] = {"source": self.source, "sizes": self.sizes, "columns": self._columns}
        return type(self)(**own | {"kept": self._kept, "rows": self._rows} | other)

    def _streamed(self, families: list[Family]) -> list[Counts]:
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


def own_columns(column: Column) -> Iterator[int]:
    """The folder's columns that a column is worked out from."""
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
