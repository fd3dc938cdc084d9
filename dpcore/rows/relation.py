"""Rows that stay in their engine: coded and counted there, GROUP BY by GROUP BY.

A column becomes codes in the engine in one of two ways, and in both it is the schema's own rule that decides.

- Numbers in a column with bins are compared with the public cuts. Then the smallest and the largest number of every
  code are coded by `Column.coded_numbers` here: bins are intervals, so if both have that code, so has all between them.
- Of all others the engine tells the different cells, at most `DIFFERENT`, with how often each occurs. They are coded by
  `Column.coded` here, and the codes go back as a small table that is joined.

A GROUP BY answers with the cells that are occupied; they are scattered into the table's public shape. Counts are exact.

One table
---------
What is asked of one table must be counted on one table. An engine has no checksum of a table, so what can be compared
is compared: how often each code of every column occurs, which is known from the beginning, with the sums of every
answer. That finds rows that came, went, or have another value that matters. It does not find changes that leave every
column's counts as they were, such as two rows that have exchanged values: whoever cannot rule these out has to ask
inside one transaction, or of a copy. Rows that are read in their order (`blocks`) are compared entirely: each column
must be, code by code, what it was on the first reading.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.arrow_cells import coded_cells
from dpcore.domain.column import Column, Counts
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows import exact_counts
from dpcore.rows.engines import COPY, ENGINES, Lazy, asked, changed
from dpcore.rows.exact_counts import Family
from dpcore.rows.views import SourceRows, looked_up, own_columns

DIFFERENT = 1 << 20  # cells
NOTHING = -1  # the code of a cell that was not there at first
INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64)
FLOATS = (nw.Float32, nw.Float64)
TEXTS = (nw.String, nw.Categorical, nw.Enum, nw.Decimal, nw.Int128, nw.UInt128, nw.Date, nw.Datetime)


@dataclass(frozen=True, eq=False)
class Coder:
    """How one column is coded in the engine, and how often each code occurs."""

    code: Callable[[Lazy], Lazy]
    histogram: Counts


class Relation:
    """A lazy frame and its public schema; `DataError` if a cell does not fit, as from `Schema.encode`."""

    def __init__(self, given: Any, schema: Schema) -> None:
        frame: Lazy = asked(lambda: nw.from_native(given).lazy())
        if frame.implementation not in ENGINES:
            raise DataError(
                f"Rows in {frame.implementation} cannot be counted where they are.",
                "Use DuckDB, Polars, Spark or Dask; or write them to Parquet files, and encode these: dp.encode.",
            )
        self.schema, self._engine = schema, ENGINES[frame.implementation]
        types = asked(frame.collect_schema)
        schema.check_headers(types)
        prefix = "k"
        while any(name.startswith(prefix) for name in types):
            prefix += "_"
        names = {name: f"{prefix}{j}" for j, name in enumerate(schema.names)}
        named = asked(lambda: self._engine.named(frame, names))
        keys = [_key(nw.col(f"{prefix}{j}"), types[c.name], c).alias(f"k{j}") for j, c in enumerate(schema)]
        texts = [f"k{j}" for j, name in enumerate(schema.names) if types[name] in TEXTS]
        self._keys = asked(lambda: self._engine.exact(named.select(keys), texts))
        self._coders = [
            (
                self._scaled
                if column.numeric and column.kind != "date" and _is_number(types[column.name])
                else self._mapped
            )(j, column)
            for j, column in enumerate(schema)
        ]
        self.rows = int(self._coders[0].histogram.sum())
        if any(coder.histogram.sum() != self.rows for coder in self._coders):
            raise changed()

    def occupied(self, columns: Family) -> tuple[dict[str, Ints], NDArray[np.int64]]:
        """The cells of a table that rows are in, as codes by name ("c0", ...), and how many rows are in each."""
        if not columns:
            return {}, np.array([self.rows])
        names = [f"c{j}" for j in columns]
        coded = self._keys.select(f"k{j}" for j in columns)
        for j in columns:
            coded = self._coders[j].code(coded)
        found = _grouped(coded, names)
        times = found["times"].to_numpy()
        codes = {name: found[name].fill_null(NOTHING).to_numpy().astype(np.intp) for name in names}
        for j, own in zip(columns, codes.values(), strict=True):
            if own.min(initial=0) < 0:
                raise changed()
            if not np.array_equal(_totals(own, times, self.schema.sizes[j]), self._coders[j].histogram):
                raise changed()
        return codes, times

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows in the engine's order, coded here; DataError if it is another order, or other rows, than at first.

        What was read is compared at the end: nobody may use any of it before.
        """
        first = self._first
        for found, sums in self._read(names):
            if found is not None:
                yield found
            elif any(sums[name] != first[name] for name in names):
                raise DataError("The rows in the engine have changed, or come in another order each time.", COPY)

    @cached_property
    def _first(self) -> dict[str, str]:
        """Checksums of all columns, as they were read first."""
        names = [f"c{j}" for j in range(len(self.schema))]
        names += [f"n{j}" for j, column in enumerate(self.schema) if column.numeric]
        totals = [np.zeros(size, dtype=np.int64) for size in self.schema.sizes]
        for found, sums in self._read(names):
            if found is None:
                if any((own != known.histogram).any() for own, known in zip(totals, self._coders, strict=True)):
                    raise changed()
                return sums
            for j, own in enumerate(totals):
                own += np.bincount(found[f"c{j}"], minlength=len(own))
        raise AssertionError

    def _read(self, names: Sequence[str]) -> Iterator[tuple[dict[str, NDArray[Any]] | None, dict[str, str]]]:
        """Block by block, and at last the columns' checksums."""
        sums = {name: hashlib.sha256() for name in names}
        places = sorted({int(name[1:]) for name in names})
        for batch in self._engine.batches(self._keys.select(f"k{j}" for j in places)):
            coded = {j: coded_cells(self.schema.columns[j], _cells(batch.column(f"k{j}"))) for j in places}
            if any(one.misfits for one in coded.values()):
                raise changed()
            found = {name: getattr(coded[int(name[1:])], "codes" if name[0] == "c" else "numbers") for name in names}
            for name, values in found.items():
                sums[name].update(np.ascontiguousarray(values).data)
            yield found, {}
        yield None, {name: total.hexdigest() for name, total in sums.items()}

    def _scaled(self, j: int, column: Column) -> Coder:
        """A column of numbers in bins."""
        cuts, number = column.edges[1:-1], nw.col(f"k{j}").cast(nw.Float64)
        bins = _bin(number, np.ceil(cuts) if column.whole else cuts)  # floor(x) >= cut as x >= ceil(cut)
        absent = int(column.coded_numbers(np.array([np.nan]), np.array([True])).codes[0])
        code = nw.when(number.is_null()).then(nw.lit(absent)).otherwise(bins).alias(f"c{j}")
        small = number.abs() < 2.0**53  # all larger ones are whole; Spark's floor fails on some of these
        kinds = {
            "far": (number < column.lower) | (number > column.upper),
            "fraction": nw.when(small).then(number.floor() != number).otherwise(nw.lit(value=False)),
        }
        numbers = self._keys.select(code, number.alias("x"), **kinds)
        found = _grouped(numbers, [f"c{j}", *kinds], low=nw.min("x"), high=nw.max("x"))
        times, own = found["times"].to_numpy(), found[f"c{j}"].to_numpy()
        for end in ("low", "high"):
            ends: Floats = found[end].to_numpy().astype(float)  # null is NaN
            coded = column.coded_numbers(ends, np.isnan(ends), times)
            column.refuse(coded.misfits)
            if not np.array_equal(coded.codes, own):
                raise DataError(
                    f"The engine compares the numbers of column {column.name!r} otherwise than it should.",
                    "Write the rows to Parquet files, and encode these: dp.encode.",
                )
        return Coder(lambda frame: frame.with_columns(code), _totals(own, times, column.size))

    def _mapped(self, j: int, column: Column) -> Coder:
        """A column of which every different cell is looked up."""
        found = _grouped(self._keys.select(f"k{j}"), [f"k{j}"], most=DIFFERENT + 1)
        if len(found) > DIFFERENT:
            raise DataError(
                f"Column {column.name!r} has more than {DIFFERENT:,} different cells, which are looked up one by one.",
                "Let the query cast it to a number or a date; or write the rows to Parquet files: dp.encode.",
            )
        key, times = found[f"k{j}"].combine_chunks(), found["times"].to_numpy()
        coded = column.coded(_cells(key).to_pandas(), times)
        column.refuse(coded.misfits)
        there = key.is_valid()
        absent = coded.codes[~np.asarray(there)]
        codes = pa.array(coded.codes.astype(np.int32))
        table = pa.table({f"v{j}": key.filter(there), f"m{j}": codes.filter(there)})
        mapping = asked(lambda: self._engine.beside(self._keys, table))
        missing, own = nw.col(f"k{j}").is_null(), nw.col(f"m{j}")
        code = nw.when(missing).then(nw.lit(int(absent[0]) if len(absent) else NOTHING)).otherwise(own).alias(f"c{j}")
        return Coder(
            lambda frame: frame.join(mapping, left_on=f"k{j}", right_on=f"v{j}", how="left").with_columns(code),
            _totals(coded.codes, times, column.size),
        )


def _is_number(kind: Any) -> bool:
    return kind in INTEGERS or kind in FLOATS


def _key(cell: nw.Expr, kind: Any, column: Column) -> nw.Expr:
    """What equal cells of a column have in common: a number, a truth value, or their text; nothing if missing."""
    if kind in FLOATS:
        return cell.fill_nan(None)
    if kind in INTEGERS or kind == nw.Boolean:
        return cell
    if kind not in TEXTS or getattr(kind, "time_zone", None):
        raise DataError(
            f"Column {column.name!r} holds neither texts nor numbers, truth values, dates, or times without a zone.",
            "Let the query leave it out, or cast it to text.",
        )
    if kind == nw.Datetime and column.kind == "date":
        cell = cell.cast(nw.Date)
    return cell.cast(nw.String)


def _bin(number: nw.Expr, cuts: Floats, first: int = 0) -> nw.Expr:
    """How many cuts are at most the number, in as many comparisons as it takes to find out."""
    if not len(cuts):
        return nw.lit(first)
    half = len(cuts) // 2
    below, above = _bin(number, cuts[:half], first), _bin(number, cuts[half + 1 :], first + half + 1)
    return nw.when(number >= float(cuts[half])).then(above).otherwise(below)


def _grouped(frame: Lazy, by: list[str], *, most: int | None = None, **more: nw.Expr) -> pa.Table:
    """GROUP BY, with the number of rows of each group ("times"); the first `most` groups."""
    groups = frame.group_by(by).agg(nw.len().alias("times"), **more)
    found: pa.Table = asked(
        lambda: (groups if most is None else groups.head(most)).collect(backend="pyarrow").to_native()
    )
    return found.set_column(found.column_names.index("times"), "times", found["times"].cast(pa.int64()))


def _cells(key: pa.Array) -> pa.Array:
    """Cells as they are coded: texts are texts again."""
    binary = pa.types.is_binary(key.type) or pa.types.is_large_binary(key.type)
    return key.cast(pa.string()) if binary or pa.types.is_string_view(key.type) else key


def _totals(codes: NDArray[Any], times: NDArray[np.int64], size: int) -> Counts:
    """How often each code occurs; an error of a code that does not exist is one of the caller."""
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, codes, times)
    return found


class RelationRows(SourceRows[Relation]):
    """The rows of a relation, or a view of them. Tables are counted by the engine."""

    where = "an engine"

    def _counted(self, families: list[Family]) -> list[Counts]:
        looks = {family: [self._columns[j] for j in family] for family in families}
        kept = [look for look, _ in self._kept]
        own = {
            family: tuple(sorted({j for look in (*looks[family], *kept) for j in own_columns(look)}))
            for family in families
        }
        joint_of = exact_counts.joined(list(dict.fromkeys(own.values())), self.source.schema.sizes)
        found: dict[Family, Counts] = {}
        for joint in dict.fromkeys(joint_of.values()):
            cells, times = self.source.occupied(joint)
            known: dict[int, NDArray[Any]] = {}
            here = np.ones(len(times), dtype=bool)
            for look, code in self._kept:
                here &= looked_up(look, cells, known) == code
            for family in families:
                if joint_of[own[family]] == joint:
                    table = np.zeros([self.sizes[j] for j in family], dtype=np.int64)
                    codes = [looked_up(look, cells, known)[here] for look in looks[family]]
                    flat = np.ravel_multi_index(codes, table.shape) if codes else np.zeros(len(times[here]), np.intp)
                    np.add.at(table.reshape(-1), flat, times[here])
                    found[family] = table
        return [found[family] for family in families]
