"""SDV's metadata (of its class `Metadata`) of one table: a type per column, and neither bounds nor categories."""

import json
from typing import Any

from dpcore.domain.column import Column
from dpcore.domain.dates import DATE_FORMS, pattern_of
from dpcore.domain.formats.base import REMEDY, Fields, Known, document_of, mapping
from dpcore.domain.schema import Schema, check_width
from dpcore.errors import SchemaError

SAYS = frozenset({"order", "kinds"})
SPEC = "METADATA_SPEC_VERSION"
VERSION, TABLE = "V1", "table"  # as SDV names it; in files of its classes for one table or several, other versions
PATTERNS = {pattern_of(form): form for form in DATE_FORMS if "MON" not in form}


def read(text: str | bytes) -> Known:
    """What metadata of one table say; SchemaError if they are none."""
    found = document_of(text)
    if found.get(SPEC) != VERSION:
        raise SchemaError(
            f"These SDV metadata are of another version than {VERSION!r}, which SDV's class Metadata writes.",
            "Load them by Metadata.load_from_json of SDV and save them again, or declare the columns on the page.",
        )
    tables = mapping(found.get("tables"), "the list of tables")
    if len(tables) != 1:
        raise SchemaError(f"These metadata describe {len(tables):,} tables.", "Keep the one of these data.")
    found = mapping(next(iter(tables.values())), "the table")
    columns: list[Fields] = []
    remarks: list[str] = []
    check_width(listed := mapping(found.get("columns"), "the list of columns"))
    for name, raw in listed.items():
        fields = column_of(name, mapping(raw, f"the column {name!r}"), remarks)
        if found.get("sequence_key") == name:
            remarks.append(f"Column {name!r} says whose row it is: say how many rows one person may have at most.")
        elif fields is None or found.get("primary_key") == name:
            remarks.append(f"Column {name!r} names persons or rows, and is left out.")
        else:
            columns.append(fields)
    return Known(columns=tuple(columns), remarks=tuple(remarks))


def column_of(name: str, raw: dict[str, Any], remarks: list[str]) -> Fields | None:
    """A column; None if it holds names, addresses or keys."""
    match raw.get("sdtype"):
        case "numerical":
            written = raw.get("computer_representation", "")
            whole = isinstance(written, str) and written.lower().startswith(("int", "uint"))
            return {"name": name, "kind": "integer" if whole else "continuous"}
        case "datetime":
            shown = raw.get("datetime_format", "%Y-%m-%d")
            form = PATTERNS.get(shown, "") if isinstance(shown, str) else ""
            if not form and not (isinstance(shown, str) and shown.startswith("%Y")):
                remarks.append(f"Column {name!r}: say how its dates are written.")
            return {"name": name, "kind": "date", "number_format": form}
        case "categorical":
            order = raw.get("order")
            if isinstance(order, list) and order and all(isinstance(one, str | int | float) for one in order):
                return {"name": name, "kind": "ordered", "categories": tuple(map(str, order))}
            return {"name": name, "kind": "categorical"}
        case "boolean":
            return {"name": name, "kind": "categorical"}
        case str():
            return None
    raise SchemaError(f"Column {name!r} has no sdtype.", REMEDY)


def write(schema: Schema) -> str:
    """What metadata can say of a schema, as their text."""
    columns = {column.name: sdtype(column) for column in schema}
    if schema.persons is not None and schema.persons.id_column is not None:
        columns[schema.persons.id_column] = {"sdtype": "id"}
    document = {SPEC: VERSION, "tables": {TABLE: {"columns": columns}}, "relationships": []}
    return json.dumps(document, indent=2, ensure_ascii=False)


def sdtype(column: Column) -> dict[str, Any]:
    """The type of a column."""
    if column.kind == "date":
        return {"sdtype": "datetime", "datetime_format": pattern_of(column.number_format)}
    if column.numeric:
        return {"sdtype": "numerical"} | ({"computer_representation": "Int64"} if column.whole else {})
    order = {"order": list(column.categories)} if column.kind == "ordered" else {}
    return {"sdtype": "categorical", **order}
