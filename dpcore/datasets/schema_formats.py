"""Schemas as documents of this and other programs: what they can say of a data set, and what is lost on the way.

| name | document | what it cannot say |
| --- | --- | --- |
| `dpcore` | `Schema.to_json` | |
| `frictionless` | Frictionless Table Schema | bins, taxonomies, the class, how many rows, whose they are, rules |
| `sdv` | SDV's `Metadata` of one table, of SDV 2.0 (V2) and before it (V1: types and orders alone) | descriptions too |
| `private-pgm` | `domain.json` | all but how many codes a column has: cells of its tables are codes, 0 to n - 1 |

What a document does not say is asked for, of whoever has it. It is never read off rows.
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
NAMED = 5  # columns, in a line of what is lost
REMEDY = "Give a schema of dpcore, a Frictionless Table Schema, SDV metadata or domain.json."
Fields = dict[str, Any]
"""Arguments of `Column`, as far as they are known: `name` and `kind` at least."""

TABLES = read_toml(Path(__file__).with_suffix(".toml"))
WORDS: Mapping[str, str] = TABLES["words"]


@dataclass(frozen=True)
class PartialSchema:
    """What a document says of a data set's columns, gaps included.

    Parameters
    ----------
    outline : Schema
        The schema, with one category in place of all that a gap leaves open.
    incomplete : sequence of dict, optional
        Of each column that has a gap what the document does say.
    remarks : sequence of str, optional
        What it says that a schema cannot hold, or cannot hold as it is said.
    """

    outline: Schema
    incomplete: Sequence[Fields] = ()
    remarks: Sequence[str] = ()

    @property
    def gaps(self) -> dict[str, str]:
        """What still has to be declared, by the names of the columns that lack it."""
        return {fields["name"]: gap(fields) for fields in self.incomplete}

    def schema(self) -> Schema:
        """Return the schema.

        Raises
        ------
        SchemaError
            If there are gaps; the message names the first.
        """
        for name, lacking in self.gaps.items():
            more = f", and {len(self.gaps) - 1:,} columns more have gaps" if len(self.gaps) > 1 else ""
            raise SchemaError(
                f"The document does not say of column {name!r}: {lacking}{more}.",
                "Declare it from what is public, on the page Data or in Python; it is never read off rows.",
            )
        return self.outline


@dataclass(frozen=True)
class Format:
    """A kind of document that a schema is read from and written to.

    Parameters
    ----------
    title : str
        Its name, for people.
    file : str
        The file name as which it is saved.
    says : collection of str
        Those of `WORDS` that it can say.
    read : callable
        From a JSON document to what it says, a `PartialSchema`.
    write : callable
        From a schema to a JSON-ready document that says what it can of it.
    """

    title: str
    file: str
    says: Sequence[str]
    read: Callable[[dict[str, Any]], PartialSchema]
    write: Callable[[Schema], dict[str, Any]]


def read(text: str | bytes) -> tuple[PartialSchema, tuple[str, ...]]:
    """Read what a document of this or another program says of a data set's columns.

    Parameters
    ----------
    text : str or bytes
        The document, in one of `FORMATS`; bytes are UTF-8.

    Returns
    -------
    known : PartialSchema
        What it says; `known.schema()` is the schema, if nothing is lacking.
    gaps : tuple of str
        What it does not say, in sentences.

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
    found = mapping(json_value(text, SchemaError, cause, remedy, most=MOST_TEXT, unique=True), "it")
    kind = FORMATS[recognize_format(found)]
    known = kind.read(found)
    gaps = (f"Column {column!r}: {lacking} must be declared." for column, lacking in known.gaps.items())
    never = [word for what, word in WORDS.items() if what not in kind.says]
    general = [f"It cannot say: {', '.join(never)}, and whether any of it was read off rows."] if never else []
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
        What of the schema the format cannot say.

    Raises
    ------
    SchemaError
        If the schema was read off rows and the format cannot say so: a reader of the document would
        take it for declared, and believe in a guarantee that is void. Also if a name is in the
        format's way.
    ParameterError
        If there is no format of that name.
    """
    if name not in FORMATS:
        raise ParameterError(f"There is no schema format {name!r}.", f"Choose one of {', '.join(FORMATS)}.")
    kind = FORMATS[name]
    if schema.source == "inferred" and name != "dpcore":
        raise SchemaError(
            f"This schema was inferred from rows, and the format {kind.title} cannot record that.",
            "Declare its lines first, or save it in the format dpcore.",
        )
    stated = stated_facts(schema)
    return json.dumps(kind.write(schema), indent=2, ensure_ascii=False), tuple(
        f"{WORDS[what]} ({', '.join(names[:NAMED])}{f', and {len(names) - NAMED:,} more' if names[NAMED:] else ''})"
        for what in WORDS
        if what not in kind.says and (names := stated[what])
    )


def recognize_format(found: dict[str, Any]) -> str:
    """Which format a document has, by what only that one has in it."""
    if isinstance(found.get("format"), str):
        return "dpcore"
    if isinstance(found.get("fields"), list):
        return "frictionless"
    return "sdv" if SPEC in found else "private-pgm"


def stated_facts(schema: Schema) -> dict[str, list[str]]:
    """What a schema does say, of `WORDS`: of which columns, or of the table."""
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
        return column.kind in of_kinds[what] if what in of_kinds else getattr(column, what) != getattr(Column, what)

    named = {what: [one.name for one in schema if says(one, what)] for what in WORDS if what not in of_table}
    return named | of_table


def partial_schema(columns: Sequence[Fields], remarks: Sequence[str], source: Any = "declared") -> PartialSchema:
    """What a document of another program says; it is taken for declared, unless it can say that it was not."""
    made = tuple(
        Column(fields["name"], "categorical", categories=("?",), origin="document")
        if gap(fields)
        else Column(origin="document", **{name: value for name, value in fields.items() if value is not None})
        for fields in columns
    )
    return PartialSchema(Schema(made, source=source), tuple(filter(gap, columns)), tuple(remarks))


def gap(fields: Fields) -> str:
    """What a column lacks to be declared; empty if nothing."""
    if fields["kind"] in ("categorical", "ordered"):
        return "" if fields.get("categories") else "its categories"
    lacking = [word for end, word in (("lower", "lowest"), ("upper", "highest")) if fields.get(end) is None]
    return f"its {' and '.join(lacking)} value" if lacking else ""


def mapping(value: Any, what: str) -> dict[str, Any]:
    """An object out of a document; SchemaError if it is none. `what` names it."""
    if not isinstance(value, dict):
        raise SchemaError(f"The schema file cannot be read: {what} is no object with names and values.", REMEDY)
    return value


FORMS = {strftime_format(form): form for form in DATE_FORMS if "MON" not in form}
YEAR_FIRST = re.compile("%Y([-/.]?)%m\\1%d|default$|any$")  # what dates are read by, whatever their declared form


def add_bounds(fields: Fields, limits: dict[str, Any], ends: Sequence[str], shown: Any, remarks: list[str]) -> Fields:
    """The fields of a column with its bounds, which stand under two names, and the form of its dates, if it has some.

    A form that is none of ours is a remark.
    """
    name, kind, form = fields["name"], fields["kind"], str(shown)
    if kind == "date":
        if form not in FORMS and not YEAR_FIRST.match(form):
            remarks.append(f"Column {name!r}: say how its dates are written.")
        fields["number_format"] = FORMS.get(form, "")
    for bound, end in zip(("lower", "upper"), ends if kind not in KINDS[:2] else (), strict=False):
        fields[bound] = value = limits.get(end)
        if value is not None and kind == "date":
            day = as_days(pd.Series([value], dtype="str"), fields["number_format"])[0] if type(value) is str else np.nan
            if np.isnan(day):
                raise SchemaError(f"Column {name!r}: a bound is not a date.", "Write 2021-03-05.")
            fields[bound] = iso(day)
        elif value is not None:
            number = float(value) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else value
            if not (is_number(number) and abs(number) < 10.0**300 and math.isfinite(number)):
                raise SchemaError(f"Column {name!r}: a bound is not a finite number.", "Give numbers.")
            fields[bound] = float(number)
    return fields


def write_bounds(column: Column, ends: Sequence[str]) -> dict[str, Any]:
    """The bounds of a column of numbers or dates, as documents write them under two names."""
    values = cast(tuple[float, float], (column.lower, column.upper))
    if column.kind == "date":
        return {end: format_day(value, column.number_format) for end, value in zip(ends, values, strict=True)}
    return {end: int(value) if value == math.floor(value) else value for end, value in zip(ends, values, strict=True)}


def categories_of(listed: Any, name: str) -> tuple[str, ...]:
    """A list of categories, which may have labels."""
    if not isinstance(listed, list) or not listed:
        raise SchemaError(f"Column {name!r}: its categories are not a list.", "List every value that may occur.")
    values = [one.get("value") if isinstance(one, dict) else one for one in listed if one is not None]
    if not all(isinstance(value, str | int | float) for value in values):
        raise SchemaError(f"Column {name!r}: a category is no text or number.", "List every value that may occur.")
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


# Frictionless: a list of `fields`, each with a type and constraints.

FIELD_ENDS = TABLES["frictionless"]["ends"]


def read_frictionless(found: dict[str, Any]) -> PartialSchema:
    """What a Table Schema says; SchemaError if it is none."""
    if not (fields := found["fields"]):
        raise SchemaError("This Table Schema has no list of fields.", REMEDY)
    check_width(fields)
    keys = found.get("primaryKey", [])
    columns, remarks = list[Fields](), list[str]()
    for raw in fields:
        field = mapping(raw, "a field")
        if not isinstance(name := field.get("name"), str):
            raise SchemaError("A field of the Table Schema has no name.", "Give every field one.")
        if keys in (name, [name]):  # one column that tells rows apart is a name of them
            remarks.append(f"Column {name!r} is the key of rows, and is left out.")
        else:
            columns.append(read_field(field, remarks))
    return partial_schema(columns, remarks)


def read_field(field: dict[str, Any], remarks: list[str]) -> Fields:
    """A field as a column; what of it cannot be taken over is added to the remarks."""
    name, type_, said = field["name"], field.get("type", "any"), field.get("description")
    limits = mapping(field.get("constraints", {}), f"the constraints of {name!r}")
    fields: Fields = {"name": name, "missing": limits.get("required") is not True}
    fields["description"] = said if isinstance(said, str) else ""
    if any(field.get(what) not in (None, plain) for what, plain in (("decimalChar", "."), ("groupChar", ""))):
        remarks.append(f"Column {name!r}: say how its numbers are written.")
    listed = limits.get("enum", field.get("categories"))
    if listed is not None:
        kind = "ordered" if field.get("categoriesOrdered") is True else "categorical"
        return fields | {"kind": kind, "categories": categories_of(listed, name)}
    fields["kind"] = TABLES["frictionless"]["kinds"].get(str(type_), "categorical")
    return add_bounds(fields, limits, FIELD_ENDS, field.get("format", "default"), remarks)


def write_field(column: Column) -> dict[str, Any]:
    """A column as a field."""
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


# SDV: types of columns and, from SDV 2.0 on, what may occur.

SPEC, VERSIONS = "METADATA_SPEC_VERSION", ("V2", "V1")
TABLE = "table"  # as SDV names it
SDV_KINDS, SDV_ENDS = TABLES["sdv"]["kinds"], TABLES["sdv"]["ends"]
PROPOSED = "SDV may have detected these ranges from the rows, so they count as read off them until they are declared."


def read_sdv(found: dict[str, Any]) -> PartialSchema:
    """What metadata of one table say; SchemaError if they are none."""
    if found.get(SPEC) not in VERSIONS:
        raise SchemaError(
            "These SDV metadata are of a version that SDV's class Metadata does not write.",
            "Load them by Metadata.load_from_json of SDV and save them again, or declare the columns on the page.",
        )
    tables = mapping(found.get("tables"), "the list of tables")
    if len(tables) != 1:
        raise SchemaError(f"These metadata describe {len(tables):,} tables.", "Keep the one of these data.")
    found = mapping(next(iter(tables.values())), "the table")
    columns, remarks = list[Fields](), list[str]()
    check_width(listed := mapping(found.get("columns"), "the list of columns"))
    for name, raw in listed.items():
        fields = read_sdtype(name, mapping(raw, f"the column {name!r}"), remarks)
        if found.get("sequence_key") == name:
            remarks.append(f"Column {name!r} says whose row it is: say how many rows one person may have at most.")
        elif fields is None or found.get("primary_key") == name:
            remarks.append(f"Column {name!r} names persons or rows, and is left out.")
        else:
            columns.append(fields)
    ranged = any({*SDV_ENDS, "range_values"} & {*raw} for raw in listed.values())  # and so mappings
    return partial_schema(columns, [PROPOSED, *remarks] if ranged else remarks, "inferred" if ranged else "declared")


def read_sdtype(name: str, raw: dict[str, Any], remarks: list[str]) -> Fields | None:
    """A column; None if it holds names, addresses or keys."""
    if not isinstance(sdtype := raw.get("sdtype"), str):
        raise SchemaError(f"Column {name!r} has no sdtype.", REMEDY)
    if sdtype not in SDV_KINDS:
        return None
    kind, listed = SDV_KINDS[sdtype], raw.get("order") or raw.get("range_values")
    fields: Fields = {"name": name, "kind": kind, "missing": raw.get("range_is_nullable") is True}
    if kind in ("categorical", "ordered"):
        fields["kind"] = "ordered" if raw.get("order") else kind
        if listed is None or sdtype == "boolean":  # whose words hang on the program that writes the table
            return fields
        return fields | {"categories": categories_of(listed, name)}
    whole = raw.get("decimal_places") == 0 or "int" in str(raw.get("computer_representation")).lower()
    fields["kind"] = "integer" if whole and kind == "continuous" else kind
    return add_bounds(fields, raw, SDV_ENDS, raw.get("datetime_format", "%Y-%m-%d"), remarks)


def write_sdv(schema: Schema) -> dict[str, Any]:
    """What metadata can say of a schema."""
    columns = {column.name: write_sdtype(column) for column in schema}
    if schema.persons is not None and schema.persons.id_column is not None:
        columns[schema.persons.id_column] = {"sdtype": "id"}
    return {SPEC: VERSIONS[0], "tables": {TABLE: {"columns": columns}}, "relationships": []}


def write_sdtype(column: Column) -> dict[str, Any]:
    """The type of a column, and what may occur in it."""
    limits: dict[str, Any] = {"range_is_nullable": column.missing}
    if not column.numeric:
        kind = "ordinal" if column.kind == "ordered" else "categorical"
        return {"sdtype": kind, "range_values": list(column.categories)} | limits
    limits |= write_bounds(column, SDV_ENDS)
    if column.kind == "date":
        return {"sdtype": "datetime", "datetime_format": strftime_format(column.number_format)} | limits
    return {"sdtype": "numerical"} | ({"decimal_places": 0} if column.whole else {}) | limits


# private-pgm: how many codes every column has; categories or bins, and one for missing cells if there may be some.


def read_domain(found: dict[str, Any]) -> PartialSchema:
    """Columns whose values are the codes, as categories or, where there are too many, as whole numbers."""
    check_width(found)
    if not found or not all(is_whole(size, 1, MOST_EXACT - 1) for size in found.values()):
        raise SchemaError("A domain must give each column name a whole number of 1 or more; this one does not.", REMEDY)
    columns: list[Fields] = [
        {"name": name, "kind": "integer", "lower": 0, "upper": size - 1}
        if size > MAX_CATEGORIES
        else {"name": name, "kind": "categorical", "categories": tuple(map(str, range(size)))}
        for name, size in found.items()
    ]
    return partial_schema(columns, ["Values are codes, 0 to n - 1: it describes tables whose cells are such numbers."])


def write_frictionless(schema: Schema) -> dict[str, Any]:
    """What a Table Schema can say of a schema."""
    return {"fields": [write_field(column) for column in schema]}


def write_domain(schema: Schema) -> dict[str, Any]:
    """The number of codes by column."""
    return dict(zip(schema.names, schema.sizes, strict=True))


OTHERS = TABLES["formats"]
FORMATS = {
    "dpcore": Format(
        "dpcore", "schema.json", [*WORDS], lambda found: PartialSchema(Schema.from_document(found)), Schema.to_document
    ),
    "frictionless": Format(**OTHERS["frictionless"], read=read_frictionless, write=write_frictionless),
    "sdv": Format(**OTHERS["sdv"], read=read_sdv, write=write_sdv),
    "private-pgm": Format(**OTHERS["private-pgm"], read=read_domain, write=write_domain),
}
