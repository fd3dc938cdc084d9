"""SDV's metadata (of its class `Metadata`) of one table: types of columns and, from SDV 2.0 on, what may occur."""

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

SAYS = frozenset({"categories", "order", "bounds", "days", "kinds", "missing"})
SPEC = "METADATA_SPEC_VERSION"
VERSIONS = ("V2", "V1")  # of SDV 2.0, and before it; V1 has types and orders alone
TABLE = "table"  # as SDV names it
KINDS = {"numerical": "continuous", "datetime": "date", "categorical": "categorical", "ordinal": "ordered"}
KINDS |= {"boolean": "categorical"}
ENDS = ("range_min", "range_max")
PROPOSED = "SDV may have detected these ranges from the rows, so they count as read off them until they are declared."


def read(text: str | bytes) -> Known:
    """What metadata of one table say; SchemaError if they are none."""
    found = document_of(text)
    if found.get(SPEC) not in VERSIONS:
        raise SchemaError(
            "These SDV metadata are of a version that SDV's class Metadata does not write.",
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
    ranged = any({*ENDS, "range_values"} & {*raw} for raw in listed.values())  # and so mappings
    remarks = [PROPOSED, *remarks] if ranged else remarks
    return Known(columns=tuple(columns), remarks=tuple(remarks), source="inferred" if ranged else "declared")


def column_of(name: str, raw: dict[str, Any], remarks: list[str]) -> Fields | None:
    """A column; None if it holds names, addresses or keys."""
    if not isinstance(sdtype := raw.get("sdtype"), str):
        raise SchemaError(f"Column {name!r} has no sdtype.", REMEDY)
    if sdtype not in KINDS:
        return None
    kind, listed = KINDS[sdtype], raw.get("order") or raw.get("range_values")
    fields: Fields = {"name": name, "kind": kind, "missing": raw.get("range_is_nullable") is True}
    if kind in ("categorical", "ordered"):
        fields["kind"] = "ordered" if raw.get("order") else kind
        if listed is None or sdtype == "boolean":  # whose words hang on the program that writes the table
            return fields
        return fields | {"categories": categories_of(listed, name)}
    shown = raw.get("datetime_format", "%Y-%m-%d")
    if kind == "date":
        fields["number_format"] = date_form(shown, name, remarks)
    elif raw.get("decimal_places") == 0 or "int" in str(raw.get("computer_representation")).lower():
        fields["kind"] = "integer"
    return fields | bounds_of(kind, raw, ENDS, name, shown)


def write(schema: Schema) -> str:
    """What metadata can say of a schema, as their text."""
    columns = {column.name: sdtype(column) for column in schema}
    if schema.persons is not None and schema.persons.id_column is not None:
        columns[schema.persons.id_column] = {"sdtype": "id"}
    document = {SPEC: VERSIONS[0], "tables": {TABLE: {"columns": columns}}, "relationships": []}
    return json.dumps(document, indent=2, ensure_ascii=False)


def sdtype(column: Column) -> dict[str, Any]:
    """The type of a column, and what may occur in it."""
    limits: dict[str, Any] = {"range_is_nullable": column.missing}
    if not column.numeric:
        kind = "ordinal" if column.kind == "ordered" else "categorical"
        return {"sdtype": kind, "range_values": list(column.categories)} | limits
    limits |= write_bounds(column, ENDS)
    if column.kind == "date":
        return {"sdtype": "datetime", "datetime_format": pattern_of(column.number_format)} | limits
    return {"sdtype": "numerical"} | ({"decimal_places": 0} if column.whole else {}) | limits
