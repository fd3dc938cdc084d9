"""Schemas as documents of this and other programs: reading, writing, and what each format loses.

| name | document | properties it cannot state |
| --- | --- | --- |
| `dpcore` | `Schema.to_json` | |
| `frictionless` | Frictionless Table Schema | bins, taxonomies, target, rows, privacy unit, rules |
| `sdv` | SDV's `Metadata` of one table, SDV 2.0 (V2) or older (V1) | the same, and descriptions |
| `private-pgm` | `domain.json` | all but the number of codes of a column, 0 to n - 1 |

SDV's version V1 has only types and orders. What a document does not state has to be declared by the
user. It is never read from rows.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from dpcore.arguments import is_number, is_whole
from dpcore.domain.column import KINDS, MAX_CATEGORIES, Column
from dpcore.domain.dates import DATE_FORMS, as_days, format_day, iso, strftime_format
from dpcore.domain.documents import json_value
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.schema import Schema, check_width
from dpcore.errors import ParameterError, SchemaError
from dpcore.text import NUMBER, read_toml

__all__ = ["FORMATS", "Fields", "Format", "PartialSchema", "read", "write"]

MOST_TEXT = 5_000_000
SHOWN = 5  # columns, in a line of what is lost
REMEDY = "Give a schema of dpcore, a Frictionless Table Schema, SDV metadata or domain.json."
Fields = dict[str, Any]
"""Arguments of `Column`, as far as they are known: `name` and `kind` at least."""

TABLES = read_toml(Path(__file__).with_suffix(".toml"))
WORDS: Mapping[str, str] = TABLES["words"]


@dataclass(frozen=True)
class PartialSchema:
    """The schema that a document describes, with gaps that still have to be declared.

    Parameters
    ----------
    outline : Schema
        The schema, with a single category "?" for each column that has a gap.
    incomplete : sequence of dict, optional
        For each column with a gap, what the document states.
    remarks : sequence of str, optional
        What the document states that a schema cannot hold, or not in the same way.
    """

    outline: Schema
    incomplete: Sequence[Fields] = ()
    remarks: Sequence[str] = ()

    @property
    def gaps(self) -> dict[str, str]:
        """What still has to be declared, in words, by the name of the column."""
        return {fields["name"]: missing_part(fields) for fields in self.incomplete}

    def schema(self) -> Schema:
        """Return the complete schema of the document.

        Raises
        ------
        SchemaError
            If there are gaps; the message names the first.
        """
        for name, lacking in self.gaps.items():
            more = f", and {len(self.gaps) - 1:,} more columns have gaps" if len(self.gaps) > 1 else ""
            raise SchemaError(
                f"Column {name!r}: the document does not state {lacking}{more}.",
                "Declare all gaps from public knowledge, on the page Data or in Python; never from rows.",
            )
        return self.outline


@dataclass(frozen=True)
class Format:
    """A kind of document from which a schema is read and to which it is written.

    Parameters
    ----------
    title : str
        Its name, for people.
    file : str
        The name of the file that is saved.
    says : collection of str
        The properties (keys of `WORDS`) that it can state.
    read : callable
        Turns a JSON document into a `PartialSchema`.
    write : callable
        Turns a schema into a JSON-ready document.
    """

    title: str
    file: str
    says: Sequence[str]
    read: Callable[[dict[str, Any]], PartialSchema]
    write: Callable[[Schema], dict[str, Any]]


def read(text: str | bytes) -> tuple[PartialSchema, tuple[str, ...]]:
    """Read the schema in a document of this or another program.

    Parameters
    ----------
    text : str or bytes
        The document, in one of `FORMATS`; bytes are UTF-8.

    Returns
    -------
    known : PartialSchema
        What the document states; `known.schema()` is the schema, if nothing is missing.
    gaps : tuple of str
        Sentences about what the document does not state.

    Raises
    ------
    SchemaError
        If the document cannot be read or contradicts itself.

    Examples
    --------
    >>> from dpcore.datasets import schema_formats
    >>> known, gaps = schema_formats.read('{"fields": [{"name": "age", "type": "integer"}]}')
    >>> known.gaps
    {'age': 'its lowest and highest value'}
    """
    titles = ", ".join(kind.title for kind in FORMATS.values())
    remedy = f"Save the schema in one of the formats that are read ({titles}); YAML is not one."
    cause = "The schema file cannot be read"
    found = require_object(json_value(text, SchemaError, cause, remedy, most=MOST_TEXT, unique=True), "it")
    kind = FORMATS[recognize_format(found)]
    known = kind.read(found)
    gaps = (f"Column {column!r}: {lacking} must be declared." for column, lacking in known.gaps.items())
    never = [word for what, word in WORDS.items() if what not in kind.says]
    general = [f"{kind.title} cannot state: {', '.join(never)}, nor what was inferred from rows."] if never else []
    return known, (*gaps, *known.remarks, *general)


def write(schema: Schema, name: str) -> tuple[str, tuple[str, ...]]:
    """Write a schema as a document of this or another program.

    Parameters
    ----------
    schema : Schema
        The schema.
    name : str
        The format, one of `FORMATS`.

    Returns
    -------
    document : str
        The text to save.
    lost : tuple of str
        The properties of the schema that the format cannot state.

    Raises
    ------
    SchemaError
        If the schema was inferred from rows and the format cannot state that: readers of the
        document would take the schema for declared, and believe in a guarantee that is void. Also
        if the format does not allow a name.
    ParameterError
        If there is no format of that name.
    """
    if name not in FORMATS:
        raise ParameterError(f"There is no schema format {name!r}.", f"Choose one of {', '.join(FORMATS)}.")
    kind = FORMATS[name]
    if schema.source == "inferred" and name != "dpcore":
        raise SchemaError(
            f"This schema was inferred from rows, and the format {kind.title} cannot record that.",
            "Declare its columns first, or save it in the format dpcore.",
        )
    stated = stated_properties(schema)
    return json.dumps(kind.write(schema), indent=2, ensure_ascii=False), tuple(
        f"{WORDS[what]} ({', '.join(names[:SHOWN])}{f', and {len(names) - SHOWN:,} more' if names[SHOWN:] else ''})"
        for what in WORDS
        if what not in kind.says and (names := stated[what])
    )


def recognize_format(found: dict[str, Any]) -> str:
    """Return the name of a schema document's format, by a key that only this format has."""
    if isinstance(found.get("format"), str):
        return "dpcore"
    if isinstance(found.get("fields"), list):
        return "frictionless"
    return "sdv" if VERSION_KEY in found else "private-pgm"


def stated_properties(schema: Schema) -> dict[str, list[str]]:
    """Return what a schema states: for each property in `WORDS`, its columns or its value."""
    of_kinds, of_table = (
        TABLES["of_kinds"],
        {
            "target": [] if schema.target is None else [schema.target],
            "max_rows": [] if schema.max_rows is None else [f"{schema.max_rows:,}"],
            "unit": [] if schema.unit is None else [f"{schema.unit.max_contributions:,} rows of one person"],
            "rules": [*schema.rules],
        },
    )

    def says(column: Column, what: str) -> bool:
        """Return whether a column has a property: by its kind, or by a field that is no default."""
        return column.kind in of_kinds[what] if what in of_kinds else getattr(column, what) != getattr(Column, what)

    named = {what: [one.name for one in schema if says(one, what)] for what in WORDS if what not in of_table}
    return named | of_table


def partial_schema(columns: Sequence[Fields], remarks: Sequence[str], source: Any = "declared") -> PartialSchema:
    """Return the schema of a document's columns, some of which may lack bounds or categories.

    `columns` has the known fields of each column, and `remarks` is what a schema cannot state. A
    column that lacks a part gets a single category "?". Columns count as declared unless `source`
    says "inferred".
    """
    made = tuple(
        Column(fields["name"], "categorical", categories=("?",), origin="document")
        if missing_part(fields)
        else Column(origin="document", **{name: value for name, value in fields.items() if value is not None})
        for fields in columns
    )
    return PartialSchema(Schema(made, source=source), tuple(filter(missing_part, columns)), tuple(remarks))


def missing_part(fields: Fields) -> str:
    """Return in words what a column lacks to be declared, its categories or bounds, else ""."""
    if fields["kind"] in ("categorical", "ordered"):
        return "" if fields.get("categories") else "its categories"
    lacking = [word for end, word in (("lower", "lowest"), ("upper", "highest")) if fields.get(end) is None]
    return f"its {' and '.join(lacking)} value" if lacking else ""


def require_object(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object of a document; SchemaError if the value is anything else.

    `what` names the value in the message.
    """
    if not isinstance(value, dict):
        raise SchemaError(f"The schema file cannot be read: {what} is not a JSON object.", REMEDY)
    return value


FORM_OF_PATTERN = {strftime_format(form): form for form in DATE_FORMS if "MON" not in form}
YEAR_FIRST = re.compile("%Y([-/.]?)%m\\1%d|default$|any$")  # read without a declaration


def add_bounds(fields: Fields, limits: dict[str, Any], ends: Sequence[str], shown: Any, remarks: list[str]) -> Fields:
    """Return the fields of a column with the bounds that a document gives.

    `fields` are those known so far. `limits` is the part of the document that has the bounds, under
    the two keys `ends`. Dates also get the form in which they are written, from the document's
    pattern `shown`. A pattern that dpcore does not know is added to `remarks`.
    """
    name, kind, form = fields["name"], fields["kind"], str(shown)
    if kind == "date":
        if form not in FORM_OF_PATTERN and not YEAR_FIRST.match(form):
            remarks.append(f"Column {name!r}: say how its dates are written.")
        fields["number_format"] = FORM_OF_PATTERN.get(form, "")
    for bound, end in zip(("lower", "upper"), ends if kind not in KINDS[:2] else (), strict=False):
        fields[bound] = value = limits.get(end)
        if value is not None and kind == "date":
            day = as_days(pd.Series([value], dtype="str"), fields["number_format"])[0] if type(value) is str else np.nan
            if np.isnan(day):
                raise SchemaError(f"Column {name!r}: a bound is not a date.", "Write dates like 2021-03-05.")
            fields[bound] = iso(day)
        elif value is not None:
            number = float(value) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else value
            if not (is_number(number) and abs(number) < 10.0**300 and math.isfinite(number)):
                raise SchemaError(f"Column {name!r}: a bound is not a finite number.", "Give a finite number.")
            fields[bound] = float(number)
    return fields


def write_bounds(column: Column, ends: Sequence[str]) -> dict[str, Any]:
    """Return a numeric or date column's bounds as a document writes them, under the keys `ends`."""
    values = cast(tuple[float, float], (column.lower, column.upper))
    if column.kind == "date":
        return {end: format_day(one, column.number_format) for end, one in zip(ends, values, strict=True)}
    return {end: int(one) if one == math.floor(one) else one for end, one in zip(ends, values, strict=True)}


def categories_of(listed: Any, name: str) -> tuple[str, ...]:
    """Return a document's list of categories as texts; each is a value, perhaps with a label.

    `name` is the column's name, for errors.
    """
    if not isinstance(listed, list) or not listed:
        raise SchemaError(f"Column {name!r}: its categories are not a list.", "List every possible value.")
    values = [one.get("value") if isinstance(one, dict) else one for one in listed if one is not None]
    if not all(isinstance(value, str | int | float) for value in values):
        raise SchemaError(f"Column {name!r}: a category is not a text or number.", "List every possible value.")
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


# Frictionless Table Schema: a list of `fields`, each with a type and constraints.

FIELD_ENDS = TABLES["frictionless"]["ends"]


def read_frictionless(found: dict[str, Any]) -> PartialSchema:
    """Read a Frictionless Table Schema; SchemaError if it is malformed."""
    if not (fields := found["fields"]):
        raise SchemaError("This Table Schema has no list of fields.", REMEDY)
    check_width(fields)
    keys = found.get("primaryKey", [])
    columns, remarks = list[Fields](), list[str]()
    for raw in fields:
        field = require_object(raw, "a field")
        if not isinstance(name := field.get("name"), str):
            raise SchemaError("A field of the Table Schema has no name.", "Give every field a name.")
        if keys in (name, [name]):  # a key of one column identifies rows
            remarks.append(f"Column {name!r} is the key of rows, and is left out.")
        else:
            columns.append(read_field(field, remarks))
    return partial_schema(columns, remarks)


def read_field(field: dict[str, Any], remarks: list[str]) -> Fields:
    """Return the fields of a column from a Table Schema field; add what is unclear to `remarks`."""
    name, type_, description = field["name"], field.get("type", "any"), field.get("description")
    limits = require_object(field.get("constraints", {}), f"the constraints of {name!r}")
    fields: Fields = {"name": name, "missing": limits.get("required") is not True}
    fields["description"] = description if isinstance(description, str) else ""
    if any(field.get(what) not in (None, plain) for what, plain in (("decimalChar", "."), ("groupChar", ""))):
        remarks.append(f"Column {name!r}: say how its numbers are written.")
    listed = limits.get("enum", field.get("categories"))
    if listed is not None:
        kind = "ordered" if field.get("categoriesOrdered") is True else "categorical"
        return fields | {"kind": kind, "categories": categories_of(listed, name)}
    fields["kind"] = TABLES["frictionless"]["kinds"].get(str(type_), "categorical")
    return add_bounds(fields, limits, FIELD_ENDS, field.get("format", "default"), remarks)


def write_field(column: Column) -> dict[str, Any]:
    """Return a column as a field of a Table Schema."""
    types = {"integer": "integer", "continuous": "number", "date": "date"}
    field: dict[str, Any] = {"name": column.name, "type": types.get(column.kind, "string")}
    field |= {"description": column.description} if column.description else {}
    limits: dict[str, Any] = {"required": not column.missing}
    if not column.numeric:
        limits["enum"] = list(column.categories)
        if column.kind == "ordered":
            field |= {"categories": list(column.categories), "categoriesOrdered": True}
    else:
        field |= {"format": strftime_format(column.number_format)} if column.number_format else {}
        limits |= write_bounds(column, FIELD_ENDS)
    return field | {"constraints": limits}


# SDV: types of columns and, from SDV 2.0 on, their categories and bounds.

VERSION_KEY, VERSIONS = "METADATA_SPEC_VERSION", ("V2", "V1")
TABLE = "table"  # SDV's name for a single table
SDV_KINDS, SDV_ENDS = TABLES["sdv"]["kinds"], TABLES["sdv"]["ends"]
PROPOSED = "SDV may have detected these ranges from the rows, so they count as inferred until declared."


def read_sdv(found: dict[str, Any]) -> PartialSchema:
    """Read SDV metadata of one table; SchemaError if they are malformed."""
    if found.get(VERSION_KEY) not in VERSIONS:
        raise SchemaError(
            "This SDV metadata file has a version that SDV's class Metadata does not write.",
            "Load it by Metadata.load_from_json of SDV and save it again, or declare its columns on the page Data.",
        )
    tables = require_object(found.get("tables"), "the list of tables")
    if len(tables) != 1:
        raise SchemaError(f"SDV metadata must describe one table; got {len(tables):,}.", "Keep only your table.")
    found = require_object(next(iter(tables.values())), "the table")
    columns, remarks = list[Fields](), list[str]()
    check_width(listed := require_object(found.get("columns"), "the list of columns"))
    for name, raw in listed.items():
        fields = read_sdv_column(name, require_object(raw, f"the column {name!r}"), remarks)
        if found.get("sequence_key") == name:
            remarks.append(f"Column {name!r} identifies persons: declare their max contributions.")
        elif fields is None or found.get("primary_key") == name:
            remarks.append(f"Column {name!r} identifies persons or rows, and is left out.")
        else:
            columns.append(fields)
    ranged = any({*SDV_ENDS, "range_values"} & {*raw} for raw in listed.values())  # checked above
    return partial_schema(columns, [PROPOSED, *remarks] if ranged else remarks, "inferred" if ranged else "declared")


def read_sdv_column(name: str, raw: dict[str, Any], remarks: list[str]) -> Fields | None:
    """Return the fields of a column from its SDV metadata, or None if it is left out.

    Columns of names, addresses or keys are left out. What is unclear is added to `remarks`.
    """
    if not isinstance(sdtype := raw.get("sdtype"), str):
        raise SchemaError(f"Column {name!r} has no sdtype.", REMEDY)
    if sdtype not in SDV_KINDS:
        return None
    kind, listed = SDV_KINDS[sdtype], raw.get("order") or raw.get("range_values")
    fields: Fields = {"name": name, "kind": kind, "missing": raw.get("range_is_nullable") is True}
    if kind in ("categorical", "ordered"):
        fields["kind"] = "ordered" if raw.get("order") else kind
        if listed is None or sdtype == "boolean":  # programs write booleans with different words
            return fields
        return fields | {"categories": categories_of(listed, name)}
    whole = raw.get("decimal_places") == 0 or "int" in str(raw.get("computer_representation")).lower()
    fields["kind"] = "integer" if whole and kind == "continuous" else kind
    return add_bounds(fields, raw, SDV_ENDS, raw.get("datetime_format", "%Y-%m-%d"), remarks)


def write_sdv(schema: Schema) -> dict[str, Any]:
    """Return a schema as SDV metadata."""
    columns = {column.name: write_sdv_column(column) for column in schema}
    if schema.persons is not None and schema.persons.id_column is not None:
        columns[schema.persons.id_column] = {"sdtype": "id"}
    return {VERSION_KEY: VERSIONS[0], "tables": {TABLE: {"columns": columns}}, "relationships": []}


def write_sdv_column(column: Column) -> dict[str, Any]:
    """Return a column as SDV metadata: its type, and its categories or bounds."""
    limits: dict[str, Any] = {"range_is_nullable": column.missing}
    if not column.numeric:
        kind = "ordinal" if column.kind == "ordered" else "categorical"
        return {"sdtype": kind, "range_values": list(column.categories)} | limits
    limits |= write_bounds(column, SDV_ENDS)
    if column.kind == "date":
        return {"sdtype": "datetime", "datetime_format": strftime_format(column.number_format)} | limits
    return {"sdtype": "numerical"} | ({"decimal_places": 0} if column.whole else {}) | limits


# private-pgm: the number of codes of every column: categories or bins, and one for missing cells.


def read_domain(found: dict[str, Any]) -> PartialSchema:
    """Read a private-pgm domain: columns of codes, as categories or (if many) whole numbers."""
    check_width(found)
    if not found or not all(is_whole(size, 1, MOST_EXACT - 1) for size in found.values()):
        raise SchemaError("A domain must give each column a whole number of 1 or more.", REMEDY)
    columns: list[Fields] = [
        {"name": name, "kind": "integer", "lower": 0, "upper": size - 1}
        if size > MAX_CATEGORIES
        else {"name": name, "kind": "categorical", "categories": tuple(map(str, range(size)))}
        for name, size in found.items()
    ]
    return partial_schema(columns, ["A domain describes encoded data: every value is a code, 0 to n - 1."])


def write_frictionless(schema: Schema) -> dict[str, Any]:
    """Return a schema as a Frictionless Table Schema."""
    return {"fields": [write_field(column) for column in schema]}


def write_domain(schema: Schema) -> dict[str, Any]:
    """Return a schema as a private-pgm domain: the number of codes of each column."""
    return dict(zip(schema.names, schema.sizes, strict=True))


FILE_FORMATS = TABLES["formats"]
FORMATS = {
    "dpcore": Format(
        "dpcore", "schema.json", [*WORDS], lambda found: PartialSchema(Schema.from_document(found)), Schema.to_document
    ),
    "frictionless": Format(**FILE_FORMATS["frictionless"], read=read_frictionless, write=write_frictionless),
    "sdv": Format(**FILE_FORMATS["sdv"], read=read_sdv, write=write_sdv),
    "private-pgm": Format(**FILE_FORMATS["private-pgm"], read=read_domain, write=write_domain),
}
