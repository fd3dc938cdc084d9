"""What `fit` was given, as rows."""

from collections.abc import Mapping
from dataclasses import replace
from os.path import isdir
from pathlib import Path

import pandas as pd

from dpcore.arguments import kind_of, table_remedy
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.rows.base import NumberRule, Rows
from dpcore.rows.folder import Folder
from dpcore.rows.held import HeldRows
from dpcore.rows.views import FolderRows

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
    return _of_folder(given if isinstance(given, Folder) else Folder.open(given), schema, numbers)


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
