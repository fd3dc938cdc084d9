"""The attacks of `cases.toml`, and the small invented tables that they are about."""

from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.text import read_toml

TABLE = read_toml(Path(__file__).with_name("cases.toml"))
MOST_ROWS = 1_000
Neighbors = tuple[pd.DataFrame, pd.DataFrame]


def schema_of(columns: Any, target: str | None = None, max_rows: int = MOST_ROWS) -> Schema:
    """A schema of columns by name, each with its categories or a table of all that it has.

    A text has a column of zeros and ones per letter.
    """
    named = columns if isinstance(columns, dict) else dict.fromkeys(columns, "01")
    kinds = [
        given if isinstance(given, dict) else {"kind": "categorical", "categories": tuple(given)}
        for given in named.values()
    ]
    made = [Column(name=name, **kind) for name, kind in zip(named, kinds, strict=True)]
    return Schema(columns=tuple(made), target=target, max_rows=max_rows or None)


def frame_of(schema: Schema, rows: dict[str, int], times: int = 1) -> pd.DataFrame:
    """Rows, each so many times: "011" has a value per letter, "0,yes" has them between commas."""
    values = {row: row.split(",") if "," in row else [*row] for row in rows}
    found = [values[row] for row, count in rows.items() for _ in range(count * times)]
    frame = pd.DataFrame(found, columns=list(schema.names), dtype=object)
    return frame.astype({column.name: float for column in schema if column.numeric})


def neighbors(given: dict[str, Any], *, replaced: bool) -> tuple[Schema, Neighbors]:
    """The schema of a pair, and its data sets: the second has a row more, or its last replaced."""
    schema = schema_of(given["columns"], given.get("target"), given.get("max_rows", MOST_ROWS))
    rows = given.get("replaced", given["rows"]) if replaced else given["rows"]
    first = frame_of(schema, rows, given.get("times", 1))
    parts = [first.iloc[:-1] if replaced else first, frame_of(schema, {given["new"]: 1})]
    return schema, (first, pd.concat(parts, ignore_index=True))


def pair_of(name: str) -> Neighbors:
    """The two data sets of a pair in which a row is replaced."""
    return neighbors(TABLE["pairs"][name], replaced=True)[1]
