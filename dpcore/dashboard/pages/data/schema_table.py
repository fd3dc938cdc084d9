"""The schema as one editable table with a line per column, and back.

The base frame of the table is never overwritten by edits; Streamlit would lose every second edit.
Only the source of lines may change beneath the edits, and nobody edits that.
"""

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from math import ceil
from typing import Any

import pandas as pd
import streamlit as st
from streamlit import column_config

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.shell import is_class_size
from dpcore.datasets.proposals import edited_origin
from dpcore.datasets.schema_formats import Fields
from dpcore.domain.column import DEFAULT_BINS, KINDS, Column
from dpcore.domain.dates import iso
from dpcore.domain.scales import evenly_spaced
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import phrase, retold, say
from dpcore.text import as_text

WORDS = {"categorical": phrase("category"), "ordered": phrase("ordered category")}
WORDS |= {"integer": phrase("whole number"), "continuous": phrase("number"), "date": phrase("date")}
OUTSIDE = ("refuse", "clip")
WORDS |= {"refuse": phrase("refuse the data"), "clip": phrase("nearest value, or missing")}
ORIGINS = {"proposed": phrase("from rows, declared"), "document": phrase("schema file")}
CELLS = ("use", "name", "kind", "values", "missing", "from", "outside", "also", "form")
EMPTY = {"kind": "categorical", "values": "", "form": "", "also": ""}
SHOWN, MOST_LINES, LINE = "data.origins", 20, 37.2  # key; lines shown at once; pixels of a line
WAYS = r"(\d+)\s+bins?|every\s+(\S+)|by\s+(\w+)|cut\s+at\s+(.+)|(all\s+values)"
STEP = re.compile(r"(?is)[,，]\s*(?:in\s+steps\s+of\s+(\S+)|first\s+of\s+(\w+))\s*$")
BOUNDS = re.compile(rf"(?is)^(\S+)\s+(?:to|至|到)\s+(\S+?)(?:\s*[,，]\s*(?:{WAYS})?)?$")
HOW = phrase(
    "Categories: all, with semicolons between; one that has a semicolon in quotation marks. "
    "Numbers: 0 to 110, 16 bins; or 0 to 110, every 5; or 0 to 110, cut at 18, 65; or 0 to 8, all "
    "values. Dates: 2019-01-01 to 2023-12-31, by month (or day, week, quarter, year). On a grid: 0 "
    "to 90000, 9 bins, in steps of 1000; or by year, first of month."
)


def schema_frame(
    schema: Schema, headers: Sequence[str], came_from: Mapping[str, str], incomplete: Collection[Fields] = ()
) -> pd.DataFrame:
    """Return the table of a schema: one line per column of the data, with its public description.

    `headers` are the columns of the data. Those that the schema does not have are not in use.
    `came_from` has the source of each line, for the user to read. `incomplete` are columns that a
    schema file describes in part; the user fills in the rest.
    """
    columns = {column.name: column for column in schema}
    columns |= {fields["name"]: partial_column(**fields) for fields in incomplete}
    lines = []
    for name in headers:
        column = columns.get(name, partial_column())
        also = "; ".join(map(iso if column.kind == "date" else as_text, column.missing_values))
        cells = format_values(column), column.missing, came_from.get(name, ""), column.outside, also
        lines.append((name in columns, name, column.kind, *cells, column.number_format))
    return pd.DataFrame(lines, columns=CELLS)


def partial_column(**fields: Any) -> Column:
    """Return a column with some fields missing, which the constructor of `Column` would refuse."""
    column = Column.__new__(Column)
    known = {name: value for name, value in fields.items() if value is not None}
    vars(column).update({"kind": None} | known)
    return column


def format_values(column: Column) -> str:
    """Return a column's bounds and bins, or its categories, as a user would write them."""
    if not column.numeric:
        quoted = {text: '"' + text.replace('"', '""') + '"' for text in map(as_text, column.categories)}
        return "; ".join(quoted[text] if {*';"\r\n'} & {*text} else text for text in quoted)
    low, high = column.lower, column.upper
    if low is None or high is None:
        return " to ".join("?" if end is None else as_text(end) for end in (low, high))
    return column.bounds_text


def parse_values(name: str, kind: str, text: str) -> dict[str, Any]:
    """Return the fields of `Column` that the user's text of a column's public values describes.

    This is the inverse of `format_values`.

    Raises
    ------
    SchemaError
        With examples, if the text of column `name` cannot be read as values of this kind.
    """
    try:
        if kind in KINDS[:2]:
            look: Any = {"delimiter": ";", "skipinitialspace": True, "strict": True}
            cells = chain.from_iterable(csv.reader(io.StringIO(text, newline=""), **look))
            return {"categories": tuple(filter(None, map(str.strip, cells)))}
        [step, unit] = (STEP.findall(text) or [("", "")])[0]
        [(low, high, many, width, by, points, each)] = BOUNDS.findall(STEP.sub("", text).strip())
        read: Any = str if kind == "date" else float
        grid: Any = float(step) if step else unit.lower() or None
        bins: Any = by.lower() or ("day" if each else "month" if kind == "date" else DEFAULT_BINS)
        if many:
            bins = int(many)
        elif width:
            # `Column` refuses None
            bins = evenly_spaced(read(low), read(high), float(width)) or None
        elif each and kind != "date":
            bins = round((read(high) - read(low)) / (grid or 1)) + 1
        elif points:
            bins = tuple(read(word.strip()) for word in points.split(","))
        return {"lower": read(low), "upper": read(high), "bins": bins, "step": grid}
    except (ArithmeticError, TypeError, csv.Error, ValueError):
        raise SchemaError(f"Column {name!r}: its public values are not understood.", HOW) from None


def parse_schema(table: pd.DataFrame, base: Schema, **public: Any) -> Schema:
    """Return the schema that an edited table describes.

    `table` has the lines of `schema_frame`. Source, descriptions and, where they still fit,
    taxonomies come from the schema `base`. `public` has what else the schema says: `target`,
    `max_rows`, `unit` and `rules`.

    Raises
    ------
    SchemaError
        Names the column whose line cannot be used.
    """
    columns = []
    for line in table[table["use"].eq(True)].fillna(EMPTY).to_dict("records"):
        name, kind, text = str(line["name"]), line["kind"], str(line["values"])
        known = base[name] if name in base.names else None
        if known is not None and known.numeric and kind in KINDS[:2] and text == format_values(known):
            text = ""  # bounds of numbers are no categories
        fields: dict[str, Any] = {"name": name, "kind": kind, "missing": bool(line["missing"])}
        fields |= {"outside": line["outside"], "description": known.description if known else ""}
        fields |= parse_values(name, kind, text)
        if kind not in KINDS[:2]:
            fields["number_format"] = str(line["form"]).strip()
            fields |= parse_missing_values(name, kind, str(line["also"]))
        column = Column(**fields)
        flags = known.flags if known and known.categories == column.categories else ()
        with suppress(SchemaError):  # the taxonomy may no longer fit
            column = replace(column, taxonomy=known.taxonomy if known else None, flags=flags)
        columns.append(replace(column, origin=edited_origin(column, known)))
    return Schema(columns=tuple(columns), source=base.source, **public)


def parse_missing_values(name: str, kind: str, text: str) -> dict[str, Any]:
    """Return the fields of `Column` for a column's missing codes; empty if there are none.

    `text` has numbers or dates that count as missing, with semicolons between them: "999; -9".

    Raises
    ------
    SchemaError
        If the text of column `name` has a word that is no number.
    """
    try:
        marks = tuple(word if kind == "date" else float(word) for word in map(str.strip, text.split(";")) if word)
    except ValueError:
        cause = f"Column {name!r}: what also counts as missing is no number."
        raise SchemaError(cause, "Write numbers, or dates, with semicolons between: 999; -9.") from None
    return {"missing": True, "missing_values": marks} if marks else {}


def lost_taxonomies(schema: Schema, base: Schema) -> list[str]:
    """Return the columns that have a taxonomy in the schema `base` but none in `schema`."""
    had = {column.name for column in base if column.taxonomy is not None}
    return [column.name for column in schema if column.taxonomy is None and column.name in had]


def new_columns(table: pd.DataFrame, base: Schema) -> list[str]:
    """Return the columns that were just put in use and have no description yet.

    `table` is the edited table of the schema; the schema `base` lacks these columns.
    """
    empty = table["values"].fillna("").str.strip().eq("") & ~table["name"].isin(base.names)
    return [str(name) for name in table.loc[table["use"].eq(True) & empty, "name"]]


def column_origins(rows: Intake, schema: Schema, left: Collection[str]) -> dict[str, str]:
    """Return, by column, where its line in the schema came from, or why it is left out.

    `left` are the columns whose lines were inferred from the rows and not declared yet.
    """
    words = phrase("column left out: {reason}")
    found = {one.name: say(words, reason=retold(one.reason)) for one in rows.column_types if not one.keep}
    for column in schema:
        words = ORIGINS.get(column.origin, phrase("declared"))
        found[column.name] = say("inferred from rows") if column.name in left else say(words)
    if schema.persons is not None:
        found[str(schema.persons.id_column)] = say("tells persons apart")
    return found


def update_origins(key: str, found: dict[str, str]) -> None:
    """Show where the lines of the schema came from; draw the page again if that changed.

    `key` is that of the table of the schema, and `found` has the source of each line by column.
    """
    if st.session_state[SHOWN] != {key: found}:
        st.session_state[SHOWN] = {key: found}
        st.rerun()


def draw_editor(rows: Intake, key: str) -> pd.DataFrame:
    """Draw the editable table of the schema, and return it with its edits."""
    text, box = column_config.TextColumn, column_config.CheckboxColumn
    pick: Any = partial(column_config.SelectboxColumn, format_func=lambda one: say(WORDS[str(one)]))
    size, wide = (1.4, 190) if is_class_size() else (1.0, 220)
    columns: dict[str, Any] = {
        "use": box(say("Use"), width=round(64 * size)),
        "name": text(say("Column"), width=round(125 * size), pinned=True),
        "kind": pick(say("Column type"), width=round(132 * size), options=list(KINDS)),
        "values": text(say("Public values"), width=round(wide * size), help=say(HOW)),
        "missing": box(say("May be missing"), width=round(130 * size)),
        "from": text(say("Declaration source"), width=round(145 * size), help=say("For your eyes only: not released.")),
        "outside": pick(say("Values out of range"), width=round(140 * size), options=OUTSIDE, required=True),
        "also": text(say("Missing codes"), help=say("Numbers or dates that mean missing, such as 999; -9.")),
        "form": text(say("Cell format"), help=say("Cells as $1,234.50; dates as d/m/y, m/d/y, ymd or d-mon-y.")),
    }
    shown = st.session_state.get(SHOWN, {}).get(key) or column_origins(rows, rows.schema, rows.inferred_columns)
    st.session_state[SHOWN] = {key: shown}
    table = schema_frame(rows.schema, rows.headers, shown, rows.incomplete_columns)
    height = ceil(size * LINE * (min(len(table), MOST_LINES) + 1)) + 2  # with header and border
    look: Any = {"hide_index": True, "disabled": ["name", "from"], "column_config": columns}
    return st.data_editor(table, key=key, height=height, placeholder="", **look)
