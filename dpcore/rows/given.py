"""What `fit` was given, as rows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from dpcore.arguments import kind_of
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.rows.base import NumberRule, Rows
from dpcore.rows.folder import Folder
from dpcore.rows.held import HeldRows
from dpcore.rows.views import FolderRows

RowSource = pd.DataFrame | Folder | Path | str
"""A table; a folder of encoded rows, or its path."""


def rows_of(given: object, schema: Schema, numbers: Mapping[int, NumberRule]) -> Rows:
    """The rows of a table or folder in the schema's columns; `numbers` has rules on some columns' numbers.

    Raises
    ------
    DataError
        If a table does not fit the schema, or a folder cannot be read, or has changed; or if it is neither.
    SchemaError
        If a folder was encoded by another schema.
    """
    if isinstance(given, pd.DataFrame):
        codes = schema.encode(given)
        columns = {j: schema.columns[j] for j in numbers}
        found = {j: numbers[j](column.numbers(given[column.name])) for j, column in columns.items()}
        return HeldRows(codes, schema.sizes, found)
    if isinstance(given, Folder | Path | str):
        return _of_folder(given if isinstance(given, Folder) else Folder.open(given), schema, numbers)
    raise DataError(
        f"Methods learn from a pandas DataFrame or a folder of encoded rows; what was given is {kind_of(given)}.",
        "Make it a DataFrame; or encode it (dp.encode takes whatever has an Arrow stream, as the frames of Polars and "
        "DuckDB have, and the Parquet files that Dask and Spark write), and pass the folder.",
    )


def _of_folder(folder: Folder, schema: Schema, numbers: Mapping[int, NumberRule]) -> FolderRows:
    if other := fits(folder.schema, schema):
        raise SchemaError(
            f"The folder's rows were encoded with another column {other!r}.",
            "Use the folder's own schema, or encode its source again.",
        )
    places = [folder.schema.index(name) for name in schema.names]
    lacking = [j for j in numbers if not all(f"n{places[j]}" in part.columns for part in folder.parts)]
    if lacking:
        raise DataError("The folder has codes only, and this method needs numbers.", "Encode it with numbers=True.")
    return FolderRows(folder, numbers, sizes=schema.sizes, columns=places)


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
