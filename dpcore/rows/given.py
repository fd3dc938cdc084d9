"""What `fit` was given, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpcore.arguments import require_frame
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.rows.base import NumberRule, Rows
from dpcore.rows.folder import Folder, FolderRows
from dpcore.rows.held import HeldRows

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    Given = pd.DataFrame | Folder | Path | str | IntoFrame
    """A table; a folder of encoded rows, or its path; or whatever else narwhals takes for a frame."""
else:
    Given = Any


def held(given: Given, schema: Schema) -> Given:
    """Another library's frame in memory as one of pandas', with the columns that count; all else as it came."""
    if isinstance(given, pd.DataFrame | Folder | Path | str):
        return given
    import narwhals as nw  # which Altair brings; it is loaded for those who need it

    given = nw.to_native(given, pass_through=True)
    frame = nw.from_native(given, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return given
    wanted = {*schema.names, *([] if schema.persons is None else [schema.persons.column])}
    return frame.select([name for name in frame.columns if name in wanted]).to_pandas()


def rows_of(given: Given, schema: Schema, numbers: Mapping[int, NumberRule]) -> Rows:
    """The rows of a table, folder or engine in the schema's columns; `numbers` has rules on some columns' numbers.

    Raises
    ------
    DataError
        If a table does not fit the schema, or a folder or an engine cannot be read, or has changed.
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
    import narwhals as nw

    if nw.dependencies.is_dask_dataframe(given):
        from dpcore.rows.partitions import DaskRows, Partitions

        return DaskRows(Partitions(given, schema), numbers)
    if isinstance(nw.from_native(given, pass_through=True), nw.LazyFrame):
        from dpcore.rows.relation import Relation, RelationRows

        return RelationRows(Relation(given, schema), numbers)
    require_frame(given)
    raise AssertionError


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
    return replace(column, description="", taxonomy=None, form="", outside="refuse")
