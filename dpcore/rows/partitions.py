"""Rows of a Dask DataFrame: coded and counted partition by partition, by the workers that compute these.

A partition is a frame of pandas, so its cells are coded by `Column.coded` as all others are, and counted by the same
code as rows in memory. Workers know the schema and what they count, and nothing of a ledger.

Dask computes a partition again whenever it is asked, from wherever its rows came. All columns of every partition are
coded once at the beginning; from then on, whatever a worker codes is compared with that, code by code (as checksums).
So a source that changes in what the schema looks at, or that does not give the same rows in the same order, is refused
before an answer is given.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray

from dpcore.domain.column import Counts
from dpcore.domain.schema import Schema
from dpcore.rows import exact_counts
from dpcore.rows.base import Rows
from dpcore.rows.engines import asked, changed
from dpcore.rows.exact_counts import Family
from dpcore.rows.views import SourceRows, own_columns

T = TypeVar("T")
COMPUTE: Callable[..., tuple[Any, ...]] = compute  # which has no types of its own
TOGETHER = 64  # partitions whose tables are in memory at once


@dataclass(frozen=True, eq=False)
class Part:
    """The codes and numbers of one partition, by name: as a source, all that there is."""

    schema: Schema
    arrays: Mapping[str, NDArray[Any]]
    rows: int

    @classmethod
    def of(cls, frame: pd.DataFrame, schema: Schema, names: Sequence[str], misfits: Sequence[Counter[str]]) -> "Part":
        """Some columns of a partition; cells that do not fit are counted."""
        arrays: dict[str, NDArray[Any]] = {}
        for j in {int(name[1:]) for name in names}:
            found = schema.columns[j].coded(frame[schema.names[j]])
            misfits[j].update(found.misfits)
            arrays[f"c{j}"] = found.codes
            if found.numbers is not None:
                arrays[f"n{j}"] = found.numbers
        return cls(schema, {name: arrays[name] for name in names}, len(frame))

    @property
    def sums(self) -> dict[str, str]:
        """The columns' checksums."""
        return {n: hashlib.sha256(np.ascontiguousarray(v).data).hexdigest() for n, v in self.arrays.items()}

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows of some columns in order, by name."""
        for start in range(0, self.rows, exact_counts.BLOCK):
            yield {name: self.arrays[name][start : start + exact_counts.BLOCK] for name in names}


@dataclass(frozen=True)
class First:
    """What a partition was at the beginning."""

    rows: int
    misfits: tuple[Counter[str], ...]
    sums: dict[str, str]


def _first(frame: pd.DataFrame, schema: Schema) -> First:
    misfits = tuple(Counter[str]() for _ in schema)
    names = [f"c{j}" for j in range(len(schema))]
    names += [f"n{j}" for j, column in enumerate(schema) if column.numeric]
    part = Part.of(frame, schema, names, misfits)
    return First(part.rows, misfits, part.sums)


def _again(frame: pd.DataFrame, schema: Schema, names: Sequence[str], first: First) -> Part:
    """Some columns of a partition, if it is what it was."""
    misfits = [Counter[str]() for _ in schema]
    part = Part.of(frame, schema, names, misfits)
    if part.rows != first.rows or any(misfits) or any(sum_ != first.sums[name] for name, sum_ in part.sums.items()):
        raise changed()
    return part


class Partitions:
    """A Dask DataFrame and its public schema; `DataError` if a cell does not fit, as from `Schema.encode`."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        schema.check_headers(frame.columns)
        self.schema = schema
        self._parts: list[Any] = asked(lambda: frame[list(schema.names)].to_delayed())
        found = self._answers([partial(_first, schema=schema)] * len(self._parts), self._parts)
        for j, column in enumerate(schema):
            column.refuse(sum((first.misfits[j] for first in found), Counter[str]()))
        self._firsts = found
        self.rows = sum(first.rows for first in found)

    def _answers(self, works: Sequence[Callable[[pd.DataFrame], T]], parts: Sequence[Any]) -> list[T]:
        """What workers make of some partitions."""
        tasks = [delayed(work, traverse=False)(part) for work, part in zip(works, parts, strict=True)]
        return list(asked(lambda: COMPUTE(*tasks)))

    def asked(self, work: Callable[[Part], T], names: Sequence[str], most: int) -> Iterator[T]:
        """What is made of some columns of every partition in order, by workers; at most so many at once."""
        for start in range(0, len(self._parts), most):
            firsts = self._firsts[start : start + most]
            works = [partial(_worked, work=work, schema=self.schema, names=names, first=first) for first in firsts]
            yield from self._answers(works, self._parts[start : start + most])

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows in order; one partition's codes are here at once."""
        for part in self.asked(_itself, names, 1):
            yield from part.blocks(names)


def _worked(frame: pd.DataFrame, work: Callable[[Part], T], schema: Schema, names: Sequence[str], first: First) -> T:
    return work(_again(frame, schema, names, first))


def _itself(part: Part) -> Part:
    return part


def _tables(part: Part, view: Callable[[Part], Rows], families: list[Family]) -> list[Counts]:
    return Rows._streamed(view(part), families)


class DaskRows(SourceRows[Partitions]):
    """The rows of a Dask DataFrame, or a view of them. Tables are counted by the workers, and summed up here."""

    where = "a Dask DataFrame"

    def _counted(self, families: list[Family]) -> list[Counts]:
        return self._streamed(families)

    def _streamed(self, families: list[Family]) -> list[Counts]:
        counted = [family for family in families if family]
        looks = [self._columns[j] for j in {j for family in counted for j in family}]
        looks += [look for look, _ in self._kept]
        names = [f"c{j}" for j in sorted({j for look in looks for j in own_columns(look)})]
        view = partial(SourceRows[Part], sizes=self.sizes, columns=self._columns, kept=self._kept, rows=self._rows)
        tables = [np.zeros([self.sizes[j] for j in family], dtype=np.int64) for family in counted]
        if counted:
            for found in self.source.asked(partial(_tables, view=view, families=counted), names, TOGETHER):
                for total, table in zip(tables, found, strict=True):
                    total += table
        known = dict(zip(counted, tables, strict=True)) | {(): np.array(len(self))}
        return [known[family] for family in families]
