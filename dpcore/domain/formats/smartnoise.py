"""SmartNoise's metadata of a collection, YAML: bounds of numbers, how many rows, and which column names persons."""

from collections.abc import Mapping
from typing import Any

from dpcore.arguments import is_whole
from dpcore.domain.column import Column
from dpcore.domain.formats.base import REMEDY, WRONG, Fields, Known, mapping, number, plain_number
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.schema import Schema, check_width
from dpcore.domain.unit import MOST_ROWS, Unit
from dpcore.errors import SchemaError
from dpcore.extras import need
from dpcore.text import NUMBER

SAYS = frozenset({"bounds", "kinds", "missing", "max_rows", "unit"})
KINDS = {"int": "integer", "float": "continuous", "datetime": "date"}
TYPES = {kind: type_ for type_, kind in KINDS.items()}
OPTIONS = {
    "row_privacy", "rows", "max_ids", "sample_max_ids", "censor_dims", "clamp_counts", "clamp_columns", "use_dpsu",
}  # fmt: skip


def read(text: str | bytes) -> Known:
    """What the metadata of a collection with one table say; SchemaError if they are none."""
    table = table_of(text)
    remarks: list[str] = []
    columns: list[Fields] = []
    person = None
    listed = {name: raw for name, raw in table.items() if isinstance(raw, dict)}  # the others are options
    check_width(listed)
    for name, raw in listed.items():
        if true(raw.get("private_id")):
            person = name
            continue
        columns.append(column_of(name, raw, remarks))
    if not columns:
        raise SchemaError(f"{WRONG}: its table has no columns.", REMEDY)
    rows = count(table, "rows", MOST_EXACT - 1)
    if rows is not None:
        remarks.append(f"rows, {rows:,}, is taken for the most rows that there may be: raise it if it is an estimate.")
    ids = count(table, "max_ids", MOST_ROWS)
    by_row = true(table.get("row_privacy")) or person is None
    if person is not None and by_row:
        remarks.append(f"Column {person!r} names persons, and is left out: row_privacy protects rows.")
    unit = (Unit(rows=ids) if ids else None) if by_row else Unit(rows=ids or 1, column=person)
    return Known(columns=tuple(columns), max_rows=rows, unit=unit, remarks=tuple(remarks))


def table_of(text: str | bytes) -> dict[str, Any]:
    """The one table of a collection."""
    need("yaml", "Reading SmartNoise's metadata", SchemaError)
    from dpcore.domain.formats.plain_yaml import loaded

    found = loaded(text)
    for level in ("collection", "schema", "table"):
        inside = mapping(found, f"what should be the {level}")
        if len(inside) != 1:
            raise SchemaError(f"{WRONG}: it has {len(inside):,} times a {level}, not one.", "Keep that of these data.")
        (found,) = inside.values()
    return mapping(found, "the table")


def column_of(name: str, raw: Mapping[str, Any], remarks: list[str]) -> Fields:
    """A column."""
    type_ = raw.get("type", "unknown")
    kind = KINDS.get(type_, "categorical") if isinstance(type_, str) else "categorical"
    told: Fields = {"name": name, "kind": kind, "missing": not false(raw.get("nullable"))}
    if kind in ("integer", "continuous"):
        told |= {end: number(raw.get(end), name) for end in ("lower", "upper")}
    elif (many := count(raw, "cardinality", MOST_EXACT - 1)) is not None:
        remarks.append(f"Column {name!r} has {many:,} categories, which have no names here.")
    return told


def count(raw: Mapping[str, Any], name: str, most: int) -> int | None:
    """A whole number from 1 on; None if there is none, SchemaError if it is something else."""
    told = raw.get(name)
    if told is None:
        return None
    whole = float(told) if isinstance(told, str) and NUMBER.fullmatch(told) else -1.0
    if not (whole == whole // 1 and is_whole(int(whole) if whole < most else -1, 1, most)):
        raise SchemaError(f"{WRONG}: {name} is no whole number from 1 on, or far too large.", "Correct it.")
    return int(whole)


def true(word: Any) -> bool:
    """Whether a text of YAML is yes."""
    return isinstance(word, str) and word.lower() in ("true", "yes", "on")


def false(word: Any) -> bool:
    """Whether a text of YAML is no."""
    return isinstance(word, str) and word.lower() in ("false", "no", "off")


def write(schema: Schema) -> str:
    """What metadata of a collection can say of a schema, as their text; SchemaError if names are in their way."""
    person = None if schema.persons is None else schema.persons.column
    if taken := OPTIONS & {*schema.names, person}:
        raise SchemaError(
            f"Column {min(map(str, taken))!r} is called as an option of SmartNoise's metadata is.",
            "Rename it, or choose another format.",
        )
    table: dict[str, Any] = {"row_privacy": person is None}
    table |= {} if schema.unit is None else {"max_ids": schema.unit.rows}
    table |= {} if schema.max_rows is None else {"rows": schema.max_rows}
    table |= {} if person is None else {person: {"type": "string", "private_id": True}}
    table |= {column.name: described(column) for column in schema}
    need("yaml", "Writing SmartNoise's metadata", SchemaError)
    import yaml

    document = {"Database": {"dpcore": {"table": table}}}
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def described(column: Column) -> dict[str, Any]:
    """A column's type, bounds, and how many values it has."""
    told: dict[str, Any] = {"type": TYPES.get(column.kind, "string"), "nullable": column.missing}
    if column.kind in ("integer", "continuous"):
        return told | {end: plain_number(getattr(column, end)) for end in ("lower", "upper")}
    return told if column.numeric else told | {"cardinality": len(column.categories)}
