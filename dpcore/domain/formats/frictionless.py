"""Frictionless Table Schema: JSON with a list of `fields`, each with a type and constraints."""

import json
from typing import Any

from dpcore.domain.column import Column
from dpcore.domain.dates import pattern_of
from dpcore.domain.formats.base import (
    REMEDY,
    Fields,
    Known,
    bounds_of,
    categories_of,
    date_form,
    document_of,
    mapping,
    write_bounds,
)
from dpcore.domain.schema import Schema, check_width
from dpcore.errors import SchemaError

SAYS = frozenset({"categories", "order", "bounds", "days", "kinds", "missing", "description"})
KINDS = {"integer": "integer", "year": "integer", "number": "continuous", "date": "date", "datetime": "date"}
ENDS = ("minimum", "maximum")


def read(text: str | bytes) -> Known:
    """What a Table Schema says; SchemaError if it is none."""
    found = document_of(text)
    fields = found.get("fields")
    if not isinstance(fields, list) or not fields:
        raise SchemaError("A Table Schema has a list of fields, and this has none.", REMEDY)
    check_width(fields)
    key = found.get("primaryKey", [])
    keys = key if isinstance(key, list) else [key]
    alone = keys[0] if len(keys) == 1 else None  # one column that tells rows apart is a name of them
    columns: list[Fields] = []
    remarks: list[str] = []
    for raw in fields:
        field = mapping(raw, "a field")
        if not isinstance(field.get("name"), str):
            raise SchemaError("A field of the Table Schema has no name.", "Give every field one.")
        if field["name"] == alone:
            remarks.append(f"Column {alone!r} is the key of rows, and is left out.")
            continue
        columns.append(column_of(field, remarks))
    return Known(columns=tuple(columns), remarks=tuple(remarks))


def column_of(field: dict[str, Any], remarks: list[str]) -> Fields:
    """A field as a column; what of it cannot be taken over is added to the remarks."""
    name, type_ = field["name"], field.get("type", "any")
    limits = mapping(field.get("constraints", {}), f"the constraints of {name!r}")
    listed = limits.get("enum", field.get("categories"))
    told: Fields = {"name": name, "missing": limits.get("required") is not True}
    told["description"] = field["description"] if isinstance(field.get("description"), str) else ""
    if any(field.get(what) not in (None, plain) for what, plain in (("decimalChar", "."), ("groupChar", ""))):
        remarks.append(f"Column {name!r}: say how its numbers are written.")
    if listed is not None:
        return {**told, "kind": "ordered" if field.get("categoriesOrdered") is True else "categorical"} | {
            "categories": categories_of(listed, name)
        }
    kind = KINDS.get(type_, "categorical") if isinstance(type_, str) else "categorical"
    told["kind"] = kind
    shown = field.get("format", "default")
    if kind == "date":
        told["number_format"] = date_form(shown, name, remarks)
    return told if kind == "categorical" else told | bounds_of(kind, limits, ENDS, name, shown)


def write(schema: Schema) -> str:
    """What a Table Schema can say of a schema, as its text."""
    return json.dumps({"fields": [field_of(column) for column in schema]}, indent=2, ensure_ascii=False)


def field_of(column: Column) -> dict[str, Any]:
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
        field |= {"format": pattern_of(column.number_format)} if column.number_format else {}
        limits |= write_bounds(column, ENDS)
    return field | {"constraints": limits}
