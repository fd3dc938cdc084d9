"""Frictionless Table Schema: JSON with a list of `fields`, each with a type and constraints."""

import json
from datetime import datetime
from typing import Any

from dpcore.domain.column import Column
from dpcore.domain.dates import DATE_FORMS, day_of, format_day, pattern_of
from dpcore.domain.formats.base import REMEDY, Fields, Known, document_of, mapping, number, plain_number
from dpcore.domain.schema import Schema, check_width
from dpcore.errors import SchemaError

SAYS = frozenset({"categories", "order", "bounds", "days", "kinds", "missing", "description"})
KINDS = {"integer": "integer", "year": "integer", "number": "continuous", "date": "date", "datetime": "date"}
DAYS = {form: pattern_of(form) for form in DATE_FORMS if form and "MON" not in form}


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
    if kind == "date":
        shown = field.get("format", "default")
        told["number_format"] = next((form for form, pattern in DAYS.items() if pattern == shown), "")
        if not told["number_format"] and shown not in ("default", "any", "%Y-%m-%d"):
            remarks.append(f"Column {name!r}: say how its dates are written.")
        ends = {end: day(limits.get(limit), name, shown) for end, limit in ENDS.items()}
        return told | ends
    if kind in ("integer", "continuous"):
        return told | {end: number(limits.get(limit), name) for end, limit in ENDS.items()}
    return told


ENDS = {"lower": "minimum", "upper": "maximum"}


def categories_of(listed: Any, name: str) -> tuple[str, ...]:
    """A list of categories, which may have labels."""
    if not isinstance(listed, list) or not listed:
        raise SchemaError(f"Column {name!r}: its categories are no list.", "List every value that may occur.")
    values = [one.get("value") if isinstance(one, dict) else one for one in listed]
    if not all(isinstance(value, str | int | float) for value in values):
        raise SchemaError(f"Column {name!r}: a category is no text and no number.", "List every value that may occur.")
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


def day(value: Any, name: str, shown: Any) -> str | None:
    """A bound of dates as ISO text; None if there is none, SchemaError if it is no date."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and shown in DAYS.values():
            return datetime.strptime(value, shown).date().isoformat()
    except ValueError:
        pass  # bounds are as often ISO text
    head = value[:10] if isinstance(value, str) else value
    if not isinstance(head, str) or day_of(head) is None:
        raise SchemaError(f"Column {name!r}: a bound is no date.", "Write 2021-03-05.")
    return head


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
    elif column.kind == "date":
        field |= {"format": pattern_of(column.number_format)} if column.number_format else {}
        for end, limit in ENDS.items():
            limits[limit] = format_day(getattr(column, end), column.number_format)
    else:
        limits |= {limit: plain_number(getattr(column, end)) for end, limit in ENDS.items()}
    return field | {"constraints": limits}
