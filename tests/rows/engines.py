"""The same rows in every engine that is installed."""

import pyarrow as pa
import pytest


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


def arrow(frame):
    """A frame of pandas as it would be stored."""
    return pa.Table.from_pandas(frame, preserve_index=False)
