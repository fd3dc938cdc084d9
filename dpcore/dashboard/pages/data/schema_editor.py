"""The schema as one editable table, and back.

The table's base frame is kept in the session and never overwritten by what was edited (Streamlit would lose every
second edit); the edited frame is read when somebody applies it.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.domain.column import KINDS, Column
from dpcore.domain.dates import day_of, iso
from dpcore.domain.declaration import edited_origin
from dpcore.domain.formats import Fields
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import SchemaError
from dpcore.text import as_text


def schema_frame(
    schema: Schema, headers: list[str], read_off: Collection[str] = (), asked: Collection[Fields] = ()
) -> pd.DataFrame:
    """One row per header of the data: what the schema says of it, not in use if it says nothing.

    Where lines were read off the rows, a tick in each says whether somebody has declared it. `asked` are columns of
    which a document did not say all: the rest of their rows is empty, and to be filled in.
    """
    rows, open_lines = [], {fields["name"]: fields for fields in asked}
    for name in headers:
        column = schema[name] if name in schema.names else None
        row: dict[str, Any] = {"use": False, "name": name, "kind": "categorical", "lower": None, "upper": None}
        row |= {"bins": "", "categories": [], "missing": False, "outside": "refuse", "form": ""}
        if name in open_lines:
            known = {key: value for key, value in open_lines[name].items() if key in row and value is not None}
            row |= known | {end: as_text(known[end]) for end in ("lower", "upper") if end in known} | {"use": True}
        elif column is not None:
            row |= {"use": True, "kind": column.kind, "missing": column.missing, "outside": column.outside}
            if column.numeric:
                tell, tell_cut = (iso, iso) if column.kind == "date" else (as_text, lambda cut: repr(float(cut)))
                cuts = column.bins
                bins = ", ".join(map(tell_cut, cuts)) if isinstance(cuts, tuple) else str(cuts)
                row |= {"lower": tell(column.lower or 0), "upper": tell(column.upper or 0), "bins": bins}
                row |= {"form": column.number_format}
            else:
                row |= {"categories": list(column.categories)}
        rows.append(row | ({"public": column and name not in read_off} if read_off else {}))
    return pd.DataFrame(rows).astype({"lower": object, "upper": object})


def schema_of(table: pd.DataFrame, base: Schema, **public: Any) -> Schema:
    """The schema that an edited table says; SchemaError names the column that does not work.

    Source, notes, descriptions and, where they still fit, taxonomies are those of the base schema. `public` is what
    else the schema says: `target` (none if it is no column of the table), `max_rows`, `unit`.
    """
    columns = []
    for row in table.to_dict("records"):
        if not row["use"]:
            continue
        name = str(row["name"])
        known = base[name] if name in base.names else None
        fields: dict[str, Any] = {"name": name, "kind": row["kind"], "missing": bool(row["missing"])}
        fields |= {"outside": row["outside"], "description": known.description if known else ""}
        if row["kind"] == "date":
            fields |= {end: None if pd.isna(row[end]) else str(row[end]).strip() or None for end in ("lower", "upper")}
            fields |= {"bins": dated_bins(row["bins"]), "number_format": str(row["form"] or "").strip()}
        elif row["kind"] in ("integer", "continuous"):
            fields |= {end: number(name, row[end]) for end in ("lower", "upper")}
            fields |= {"bins": bins_of(name, row["bins"]), "number_format": str(row["form"] or "").strip()}
        else:
            listed = row["categories"]
            fields["categories"] = tuple(str(c).strip() for c in (listed if listed is not None else ()))
        column = with_taxonomy(Column(**fields), known.taxonomy if known else None)
        columns.append(replace(column, origin=edited_origin(column, known)))
    if public.get("target") not in [column.name for column in columns]:
        public["target"] = None
    return Schema(columns=tuple(columns), source=base.source, **public, notes=base.notes)


def said_public(table: pd.DataFrame) -> list[str]:
    """The columns whose lines are ticked."""
    return [] if "public" not in table else [str(name) for name in table.loc[table["public"].eq(True), "name"]]


def with_taxonomy(column: Column, taxonomy: Taxonomy | None) -> Column:
    """The column with this taxonomy if it fits; without one otherwise."""
    try:
        return replace(column, taxonomy=taxonomy)
    except SchemaError:
        return column


def dropped(schema: Schema, base: Schema) -> list[str]:
    """The columns of a schema that had a taxonomy in its base and have none now."""
    had = {column.name for column in base if column.taxonomy is not None}
    return [column.name for column in schema if column.taxonomy is None and column.name in had]


def number(name: str, cell: Any) -> float | None:
    """A bound, or None for an empty cell."""
    text = "" if cell is None or pd.isna(cell) else str(cell).strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise SchemaError(
            f"Column {name!r}: a bound is no number.", "Write 0, or 99.5; or choose another type."
        ) from None


def dated_bins(text: object) -> int | str | tuple[str, ...]:
    """A unit of the calendar, a number of bins, or cut points (`2020-01-01, 2021-01-01`); empty means months."""
    words = [word.strip() for word in str(text or "").replace(";", ",").split(",") if word.strip()]
    if len(words) == 1 and not day_of(words[0]):
        return int(words[0]) if words[0].isdecimal() else words[0]
    return tuple(words) or "month"


def bins_of(name: str, text: object) -> int | tuple[float, ...]:
    """A number of bins (`16`) or cut points (`1, 5000`; a single one with its decimals, `5.0`); empty means 16."""
    words = [word for word in str(text or "").replace(";", ",").split(",") if word.strip()]
    try:
        if not words:
            return 16
        count = len(words) == 1 and words[0].strip().isdigit()
        return int(words[0]) if count else tuple(float(word) for word in words)
    except ValueError:
        raise SchemaError(
            f"Column {name!r}: the bins are not a number or a list of cut points.", "Write 16, or 1, 5000, 10000."
        ) from None


def editor(base: pd.DataFrame, key: str) -> pd.DataFrame:
    """The editable table."""
    config = st.column_config
    outside = "What happens to values outside: an error, or the nearest bound (for categories: missing)."
    columns = {
        "use": config.CheckboxColumn("Use", width="small", help="Unticked: the column is left out."),
        "name": config.TextColumn("Column", pinned=True),
        "public": config.CheckboxColumn(
            "Public", width="small", help="Ticked: you would have written this line without looking at these rows."
        ),
        "kind": config.SelectboxColumn(
            "Type",
            options=list(KINDS),
            required=True,
            help="Categories (ordered or not), whole numbers, numbers, dates.",
        ),
        "lower": config.TextColumn("Lowest", help="The lowest value or first day that could occur: public knowledge."),
        "upper": config.TextColumn("Highest", help="The highest value, or the last day, that could occur."),
        "bins": config.TextColumn(
            "Bins",
            help="How many, or the cut points: 16, or 1, 5000, 10000. Of dates: day, week, month, quarter, year.",
        ),
        "categories": config.ListColumn("Categories", help="Every value that could occur.", width="large"),
        "missing": config.CheckboxColumn("Missing", help="Whether empty cells are allowed; they become a value."),
        "outside": config.SelectboxColumn("Outside", options=["refuse", "clip"], required=True, help=outside),
        "form": config.TextColumn(
            "Written",
            help="How 1234.5 would be written: 1234.50, or $1,234.50. Of dates: d/m/y or m/d/y; else year first.",
        ),
    }
    look: Any = {"hide_index": True, "disabled": ["name"], "placeholder": "", "column_config": columns}
    order = [name for name in columns if name in base]
    table = st.data_editor(base, key=key, column_order=order, **look)
    st.caption(
        "A double click, or Enter, shows all of a cell's categories, and lets you change them. "
        "To the right: missing cells, values outside, and how numbers and dates are written."
    )
    return table
