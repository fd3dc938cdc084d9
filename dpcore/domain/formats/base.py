"""What documents of other programs have in common: what they can say of a table, and what then is still to be said.

What a document does not say is asked for, of whoever has it. It is never read off rows.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from dpcore.arguments import is_number
from dpcore.domain.column import DEFAULT_BINS, Column
from dpcore.domain.dates import DATE_FORMS, day_of, format_day, pattern_of
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import SchemaError
from dpcore.text import NUMBER

MOST_TEXT = 5_000_000
REMEDY = "Give a schema of dpcore, a Frictionless Table Schema, SDV metadata or domain.json."
FORMS = {pattern_of(form): form for form in DATE_FORMS if "MON" not in form}
YEAR_FIRST = re.compile("%Y([-/.]?)%m\\1%d|default$|any$")  # what dates are read by, whatever their declared form
Fields = dict[str, Any]
"""Arguments of `Column`, as far as they are known: `name` and `kind` at least."""

WORDS: Mapping[str, str] = {  # all that a schema can say, and in which words it is missed
    "categories": "the names of categories",
    "order": "ordered categories",
    "bounds": "the bounds of numbers",
    "days": "the bounds of dates",
    "kinds": "what is a number and what a category",
    "bins": "bins",
    "number_format": "how numbers and dates are written",
    "step": "which numbers or dates on a grid may occur",
    "missing": "where cells may be missing",
    "outside": "what happens to values outside",
    "description": "descriptions",
    "taxonomy": "taxonomies",
    "target": "the class column",
    "max_rows": "the most rows that there may be",
    "unit": "whose rows they are",
    "rules": "the rules that every row keeps",
    "origin": "where its lines come from",
}
TABLE = ("target", "max_rows", "unit", "rules", "proposed_rules", "source")  # besides columns


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a document says of a data set's columns, gaps included.

    Parameters
    ----------
    columns : tuple of dict
        Arguments of `Column`, as far as the document says them.
    target, max_rows, unit, rules, proposed_rules, source
        As of a `Schema`. A document that cannot say that it was read off rows is taken for
        declared: the person who gives it says so.
    remarks : tuple of str, optional
        What it says that a schema cannot hold, or cannot hold as it is said.
    """

    columns: tuple[Fields, ...]
    target: str | None = None
    max_rows: int | None = None
    unit: PrivacyUnit | None = None
    rules: tuple[str, ...] = ()
    proposed_rules: tuple[str, ...] = ()
    source: Any = "declared"
    remarks: tuple[str, ...] = ()

    @cached_property
    def gaps(self) -> dict[str, str]:
        """What still has to be declared, by the names of the columns that lack it."""
        return {fields["name"]: told for fields in self.columns if (told := gap(fields))}

    def schema(self) -> Schema:
        """Return the schema.

        Raises
        ------
        SchemaError
            If there are gaps; the message names the first.
        """
        for name, told in self.gaps.items():
            more = f", and {len(self.gaps) - 1:,} columns more have gaps" if len(self.gaps) > 1 else ""
            raise SchemaError(
                f"The document does not say of column {name!r}: {told}{more}.",
                "Declare it from what is public, on the page Data or in Python; it is never read off rows.",
            )
        return self.outline()

    def outline(self) -> Schema:
        """Return the schema with one category in place of all that a gap leaves open; made once."""
        return self._outline

    @cached_property
    def _outline(self) -> Schema:
        columns = tuple(
            Column(name=fields["name"], kind="categorical", categories=("?",), origin="document")
            if gap(fields)
            else Column(**{"origin": "document"} | {name: value for name, value in fields.items() if value is not None})
            for fields in self.columns
        )
        told = {name: getattr(self, name) for name in TABLE}
        return Schema(columns=columns, **told)


@dataclass(frozen=True)
class Format:
    """A kind of document that a schema is read from and written to.

    Parameters
    ----------
    title : str
        Its name, for people.
    file : str
        The file name as which it is saved.
    says : frozenset of str
        Those of `WORDS` that it can say.
    read : callable
        From text to what it says, a `Known`.
    write : callable
        From a schema to a text that says what it can of it.
    """

    title: str
    file: str  # as which it is saved
    says: frozenset[str]
    read: Callable[[str | bytes], Known]
    write: Callable[[Schema], str]


def gap(fields: Fields) -> str:
    """What a column lacks to be declared; empty if nothing."""
    if fields["kind"] in ("categorical", "ordered"):
        return "" if fields.get("categories") else "its categories"
    lacking = [word for end, word in (("lower", "lowest"), ("upper", "highest")) if fields.get(end) is None]
    return f"its {' and '.join(lacking)} value" if lacking else ""


def used(schema: Schema) -> dict[str, list[str]]:
    """What a schema does say, of `WORDS`: of which columns, or of the table."""

    def where(holds: Callable[[Column], object]) -> list[str]:
        return [column.name for column in schema if holds(column)]

    return {
        "categories": where(lambda column: column.kind == "categorical"),
        "order": where(lambda column: column.kind == "ordered"),
        "bounds": where(lambda column: column.numeric and column.kind != "date"),
        "days": where(lambda column: column.kind == "date"),
        "kinds": where(lambda column: column.numeric),
        "bins": where(lambda column: column.numeric and column.bins != DEFAULT_BINS),
        "number_format": where(lambda column: column.number_format),
        "step": where(lambda column: column.step is not None),
        "missing": where(lambda column: column.missing),
        "outside": where(lambda column: column.outside != "refuse"),
        "description": where(lambda column: column.description),
        "taxonomy": where(lambda column: column.taxonomy is not None),
        "target": [] if schema.target is None else [schema.target],
        "max_rows": [] if schema.max_rows is None else [f"{schema.max_rows:,}"],
        "unit": [] if schema.unit is None else [f"{schema.unit.max_contributions:,} rows of one person"],
        "rules": [*schema.rules],
        "origin": where(lambda column: column.origin != "declared"),
    }


def document_of(text: str | bytes, remedy: str = REMEDY, *, unique: bool = True) -> dict[str, Any]:
    """A JSON document that is an object; SchemaError if the text is none."""
    cause = "The schema file cannot be read"
    found = json_value(text, SchemaError, cause, remedy, most=MOST_TEXT, unique=unique)
    if not isinstance(found, dict):
        raise SchemaError("The schema file cannot be read: it is no object.", REMEDY)
    return found


def mapping(value: Any, what: str) -> dict[str, Any]:
    """An object out of a document; SchemaError if it is none. `what` names it."""
    if not isinstance(value, dict):
        raise SchemaError(f"The schema file cannot be read: {what} is no object with names and values.", REMEDY)
    return value


def date_form(shown: Any, name: str, remarks: list[str]) -> str:
    """The form of dates that a document calls by such a pattern; empty, with a remark, if it is none of ours."""
    known = isinstance(shown, str)
    if not known or (shown not in FORMS and not YEAR_FIRST.match(shown)):
        remarks.append(f"Column {name!r}: say how its dates are written.")
    return FORMS.get(shown, "") if known else ""


def bounds_of(kind: str, limits: dict[str, Any], ends: tuple[str, str], name: str, shown: Any = "") -> Fields:
    """The bounds of a column of numbers or dates: what stands under two names."""
    bound = (lambda value: day(value, name, shown)) if kind == "date" else (lambda value: number(value, name))
    return {end: bound(limits.get(limit)) for end, limit in zip(("lower", "upper"), ends, strict=True)}


def write_bounds(column: Column, ends: tuple[str, str]) -> dict[str, Any]:
    """The bounds of a column of numbers or dates, as documents write them under two names."""
    values = cast(tuple[float, float], (column.lower, column.upper))
    if column.kind == "date":
        return {end: format_day(value, column.number_format) for end, value in zip(ends, values, strict=True)}
    return {end: int(value) if value == math.floor(value) else value for end, value in zip(ends, values, strict=True)}


def categories_of(listed: Any, name: str) -> tuple[str, ...]:
    """A list of categories, which may have labels."""
    if not isinstance(listed, list) or not listed:
        raise SchemaError(f"Column {name!r}: its categories are no list.", "List every value that may occur.")
    values = [one.get("value") if isinstance(one, dict) else one for one in listed if one is not None]
    if not all(isinstance(value, str | int | float) for value in values):
        raise SchemaError(f"Column {name!r}: a category is no text and no number.", "List every value that may occur.")
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


def day(value: Any, name: str, shown: Any) -> str | None:
    """A bound of dates as ISO text; None if there is none, SchemaError if it is no date."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and shown in FORMS:
            return datetime.strptime(value, shown).date().isoformat()
    except ValueError:
        pass  # bounds are as often ISO text
    head = value[:10] if isinstance(value, str) else value
    if not isinstance(head, str) or day_of(head) is None:
        raise SchemaError(f"Column {name!r}: a bound is no date.", "Write 2021-03-05.")
    return head


def number(value: Any, name: str) -> float | None:
    """A bound, as a number or as its text; None if there is none, SchemaError if it is no finite number."""
    if value is None:
        return None
    told = float(value) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else value
    if not (is_number(told) and abs(told) < 10.0**300 and math.isfinite(told)):
        raise SchemaError(f"Column {name!r}: a bound is no finite number.", "Give numbers.")
    return float(told)
