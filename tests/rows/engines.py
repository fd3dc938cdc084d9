"""The same rows in every engine that is installed."""

import pyarrow as pa
import pytest

from dpcore.rows import rows_of


def in_duckdb(table, types=()):
    """A relation; `types` are of columns that are not what DuckDB makes of them."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    cells = connection.from_arrow(table)
    columns = ", ".join(
        '"' + name.replace('"', '""') + f'" {dict(types).get(name, kind)}'
        for name, kind in zip(cells.columns, cells.types, strict=True)
    )
    connection.execute(f"CREATE TABLE rows ({columns})")
    cells.insert_into("rows")
    return connection.table("rows")


def in_polars(table):
    return pytest.importorskip("polars").from_arrow(table).lazy()


def in_dask(table):
    dask = pytest.importorskip("dask.dataframe")
    frame = table.to_pandas()
    return dask.from_pandas(frame, npartitions=3) if len(frame) else dask.from_pandas(frame, npartitions=1)


ENGINES = {"duckdb": in_duckdb, "polars": in_polars, "dask": in_dask}


every_engine = pytest.mark.parametrize("engine", ENGINES)


def arrow(frame):
    """A frame of pandas as it would be stored."""
    return pa.Table.from_pandas(frame, preserve_index=False)


def own(numbers):
    return numbers


def both(engine, table, schema, numbers=()):
    """The rows of an Arrow table, held and in an engine."""
    rules = dict.fromkeys(numbers, own)
    return rows_of(table.to_pandas(), schema, rules), rows_of(ENGINES[engine](table), schema, rules)
