"""The same rows in every engine that is installed."""

from functools import cache
from importlib.util import find_spec

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


@cache
def spark():
    """A session of Spark in a virtual machine of its own, which ends with the tests."""
    from pyspark import sql

    how = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    how |= {"spark.sql.shuffle.partitions": "2", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in how.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # the virtual machine's log, which quotes cells
    return session


def in_spark(table):
    """A data frame; Spark has no numbers without a sign."""
    signed = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    schema = pa.schema([(field.name, signed.get(field.type, field.type)) for field in table.schema])
    return spark().createDataFrame(table.cast(schema))


ENGINES = {"duckdb": in_duckdb, "polars": in_polars, "dask": in_dask}
if find_spec("pyspark"):  # which needs Java, and is in no extra
    ENGINES["spark"] = in_spark


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
