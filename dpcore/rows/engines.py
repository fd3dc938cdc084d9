"""What engines do not say alike: their texts byte by byte, a small table beside a large one, and rows in their order.

Everything else that is asked of an engine is said in the expressions of narwhals. Only engines stand here whose cells
were compared with `Schema.encode`, one by one (`tests/rows/test_relation.py`).

Errors of engines quote cells ("Could not convert string 'Smith' to INT32"). So none of them leaves: `asked` raises one
of ours in its place, which knows nothing of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

import narwhals as nw
import pyarrow as pa

from dpcore.errors import DataError, DPCoreError
from dpcore.language import phrase
from dpcore.rows import exact_counts

T = TypeVar("T")
LOGGERS = "DataFrameQueryContextLogger", "SQLQueryContextLogger"  # of PySpark
Lazy = nw.LazyFrame[Any]
COPY = "Ask inside one transaction, or of a copy; or write the rows to Parquet files, and encode these: dp.encode."


def asked(work: Callable[[], T]) -> T:
    """What an engine answers; DataError if it cannot, without a word of its own error but that error's kind."""
    try:
        return work()
    except (DPCoreError, MemoryError):
        raise
    except Exception as error:  # each engine has kinds of its own, with no base but this one
        kind = type(error).__name__
    cause = phrase(
        "The engine that holds the rows stopped with an error of the kind {kind}; its words may quote cells."
    )
    remedy = phrase("Run the query in the engine itself, without this program, to see more.")
    raise DataError(cause.format(kind=kind), remedy)  # outside of the handler: that error is not even the context


def changed() -> DataError:
    """What is said of a table that is another one by now."""
    return DataError("The rows in the engine have changed since they were first asked.", COPY)


class Polars:
    """Polars' lazy frames."""

    def named(self, frame: Lazy, names: Mapping[str, str]) -> Lazy:
        """The columns of some names, under new ones."""
        return frame.rename(dict(names)).select(names.values())

    def exact(self, keys: Lazy, texts: Sequence[str]) -> Lazy:
        """The frame with texts that are equal only if all their bytes are."""
        return keys

    def beside(self, keys: Lazy, table: pa.Table) -> Lazy:
        """A table that can be joined to the frame."""
        import polars as pl

        return nw.from_native(cast(pl.DataFrame, pl.from_arrow(table)).lazy())

    def batches(self, keys: Lazy) -> Iterator[pa.RecordBatch]:
        """The rows in their order."""
        found = iter(keys.to_native().collect_batches(chunk_size=exact_counts.BLOCK, maintain_order=True))
        while (frame := asked(partial(next, found, None))) is not None:
            yield from frame.to_arrow().to_batches()


class DuckDB:
    """DuckDB's relations. A collation may take "a" for "A", also when it groups: so texts go as bytes."""

    def named(self, frame: Lazy, names: Mapping[str, str]) -> Lazy:
        """As `Polars.named`; in SQL, as a column may be called "*"."""
        columns = ('"{}" AS "{}"'.format(old.replace('"', '""'), new) for old, new in names.items())
        found: Lazy = nw.from_native(frame.to_native().project(", ".join(columns)))
        return found

    def exact(self, keys: Lazy, texts: Sequence[str]) -> Lazy:
        """As `Polars.exact`."""
        names = (f'encode("{name}") AS "{name}"' if name in texts else f'"{name}"' for name in keys.collect_schema())
        exact: Lazy = nw.from_native(keys.to_native().project(", ".join(names)))
        return exact

    def beside(self, keys: Lazy, table: pa.Table) -> Lazy:
        """As `Polars.beside`; of the same connection, which finds the table by the name that it has here.

        Tables and views of the connection come first, so the name is one that nobody else gives.
        """
        dpcore_codes_7c1e0b94d2f85a36 = table  # noqa: F841
        columns = ", ".join(f'"{name}"' for name in table.column_names)
        query = f"SELECT {columns} FROM dpcore_codes_7c1e0b94d2f85a36"
        found: Lazy = nw.from_native(keys.to_native().query("dpcore_rows_7c1e0b94d2f85a36", query))
        return found

    def batches(self, keys: Lazy) -> Iterator[pa.RecordBatch]:
        """As `Polars.batches`."""
        reader = asked(lambda: keys.to_native().to_arrow_reader(exact_counts.BLOCK))
        try:
            while (batch := asked(partial(next, reader, None))) is not None:
                yield batch
        finally:
            reader.close()  # a connection answers nothing else while one of its answers is open


class Spark:
    """Spark's data frames. It has collations as well, so texts go as bytes."""

    def named(self, frame: Lazy, names: Mapping[str, str]) -> Lazy:
        """As `Polars.named`; by place, as names may hold points and backticks."""
        from pyspark.logger import PySparkLogger

        for name in LOGGERS:  # which show errors before they are caught
            PySparkLogger.getLogger(name).disabled = True
        own = frame.to_native()
        found: Lazy = nw.from_native(own.toDF(*(names.get(old, f"x{j}") for j, old in enumerate(own.columns))))
        return found.select(names.values())

    def exact(self, keys: Lazy, texts: Sequence[str]) -> Lazy:
        """As `Polars.exact`."""
        own = keys.to_native()
        exact: Lazy = nw.from_native(
            own.select(*(own[name].cast("binary").alias(name) if name in texts else own[name] for name in own.columns))
        )
        return exact

    def beside(self, keys: Lazy, table: pa.Table) -> Lazy:
        """As `Polars.beside`."""
        found: Lazy = nw.from_native(keys.to_native().sparkSession.createDataFrame(table))
        return found

    def batches(self, keys: Lazy) -> Iterator[pa.RecordBatch]:
        """As `Polars.batches`; partition by partition, one of which is here at once."""
        own = keys.to_native()
        shape = asked(lambda: own.limit(0).toArrow().schema)
        rows = asked(own.toLocalIterator)
        while some := asked(lambda: list(islice(rows, exact_counts.BLOCK))):
            columns = (pa.array(cells, field.type) for cells, field in zip(zip(*some, strict=True), shape, strict=True))
            yield pa.RecordBatch.from_arrays([*columns], schema=shape)


ENGINES: dict[nw.Implementation, Polars | DuckDB | Spark] = {
    nw.Implementation.POLARS: Polars(),
    nw.Implementation.DUCKDB: DuckDB(),
    nw.Implementation.PYSPARK: Spark(),
}
