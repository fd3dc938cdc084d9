"""Propose a schema and rules from private rows, and track which parts a person has declared public.

Proposals are read from all rows, and so are private: bounds, categories, and rules that hold in all
rows although many rows would break them by chance. A schema of proposals has no guarantee until the
person who owns the rows declares, from public knowledge, that they hold in general.

A "line" is what a schema says of one column: its bounds or its categories. A person declares a line
by changing it, or by stating that it is public. Rounding outward hides details, but gives no
privacy by itself: 0 to 20,000 still follows from the rows, unless it was known without them.
"""

import re
from collections.abc import Collection, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, combinations, permutations
from os.path import commonprefix
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.datasets.headers import TABLES, header_words, public_range
from dpcore.datasets.recognition import ALLOW_MISSING, RecognizedColumn, class_column, recognize
from dpcore.domain.cells import as_numbers, factorize_texts
from dpcore.domain.column import MAX_CATEGORIES, Column, Origin, unique_label
from dpcore.domain.rules import listed_values
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.text import as_text, canonical, is_writable

# A value of fewer rows is not proposed as a category: a schema is published without noise, and a
# town of one person would name that person. Ten is about the smallest cell that statistical offices
# publish (their thresholds are 3 to 11). Little is lost: at epsilon 1, noise of several rows hides
# a category of fewer rows anyway. The threshold does not depend on the number of rows, so that in a
# tiny table no value is listed by default.
RARE = 10
OTHER = "(other)"  # the only category of a column for which none is proposed; no row has this value
UNLISTED = f"values that fewer than {RARE} rows have are not listed, and count as missing"
PROPOSED: tuple[Origin, ...] = ("proposed", "changed")
BY_CHANCE = 30  # rows that must be expected to break a rule if the columns were independent
FEW_VALUES, MOST_PAIRS, MOST_COLUMNS = 12, 100, 60
MOST_EMPTY = 0.5  # share of empty cells of two columns, from which on one follows from the other


def propose_schema(
    frame: pd.DataFrame,
    found: Sequence[RecognizedColumn] | None = None,
    *,
    target: str | None = None,
    keep: Sequence[str] = (),
) -> Schema:
    """Propose a schema, as `Schema.infer` describes, from the recognized roles of columns.

    `found` has the roles if `recognize` was run before. `target` names the class column; without it
    one is chosen by its header. All values of the columns in `keep` become categories, even rare
    ones.
    """
    found = recognize(frame) if found is None else found
    columns, notes = [], []
    for one in found:
        least, column, rare = 0 if one.name in keep else RARE, None, 0
        if one.keep or one.name in (*keep, target):
            column, rare = to_column(one, frame[one.name], least=least)
        columns += [column] if column else []
        if column is None:
            notes.append(exclusion_note(one))
        elif one.doubt:
            notes.append(f"{one.name!r}: {' '.join(one.doubt.split())}")
        if rare:
            notes.append(f"{one.name!r}: {UNLISTED} ({rare:,}); keep=[{one.name!r}] lists them all.")
    if not columns and not all(one.keep for one in found):  # better a poor schema than none
        return propose_schema(frame, [replace(one, keep=True) for one in found], target=target, keep=keep)
    if not columns:
        raise SchemaError("No column of the data set can be used.", "Check that the file is the one you meant.")
    chosen = class_column(found) if target is None else target
    return Schema(columns=tuple(columns), target=chosen, source="inferred", notes=tuple(notes))


def exclusion_note(one: RecognizedColumn) -> str:
    """Return a note that a recognized column is left out of a proposed schema, and why."""
    if not is_writable(one.name):
        return "A column is left out: its name has a control character, or an incomplete character."
    return f"{one.name!r} is left out: {one.reason}. {one.doubt}".rstrip()


def to_column(found: RecognizedColumn, values: "pd.Series[Any]", *, least: int = RARE) -> tuple[Column | None, int]:
    """Propose a column from its recognized role, and count its values that remain unlisted.

    `found` is the recognized column, and `values` are its cells. The column is None if it cannot be
    part of a schema. Numbers and dates get their extremes as bounds. Other columns get the values
    of at least `least` rows as categories, and rarer values count as missing.
    """
    if found.role in ("empty", "unreadable"):
        return None, 0
    fields, rare = {**found.fields}, 0
    if "kind" not in fields:
        counts = {value: rows for value, rows in count_values(values).items() if value.strip()}
        if not 0 < len(counts) <= MAX_CATEGORIES or not is_writable(*counts):
            return None, 0
        categories = sorted(value for value, rows in counts.items() if rows >= least)
        rare = len(counts) - len(categories)
        fields |= {"kind": "categorical", "categories": tuple(categories) or (OTHER,)}
        fields |= ALLOW_MISSING if rare else {}
    fields |= {"missing": True} if values.isna().any() else {}
    for given in (fields, {name: fields[name] for name in fields if name != "step"}):
        with suppress(SchemaError):  # numbers may be too small, or too close together
            return Column(name=found.name, origin="proposed", **given), rare
    return None, 0


def count_values(values: "pd.Series[Any]", persons: "pd.Series[Any] | None" = None) -> dict[str, int]:
    """Count the rows of each value, or its persons if `persons` names the person of each row.

    Different spellings of one value are counted together, under the shortest.
    """
    indices, texts = factorize_texts(values)
    shortest: dict[str, str] = {}  # by canonical value, its shortest spelling
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    code = {key: rank for rank, key in enumerate(shortest)}
    codes = pd.Series(np.array([*(code[canonical(text)] for text in texts), -1])[indices])
    if persons is not None:
        codes = codes[~pd.DataFrame({"value": codes, "person": pd.factorize(persons)[0]}).duplicated()]
    counts = np.bincount(codes + 1, minlength=len(code) + 1)[1:]
    return dict(zip(shortest.values(), counts.tolist(), strict=True))


def column_of_flags(flags: Sequence[str], headers: Collection[str]) -> Column:
    """Propose the one column that several one-hot flags encode, by their headers alone.

    The common beginning of the headers becomes its name.
    """
    alike = commonprefix(flags)  # noqa: RUF071 - these are no paths
    start = re.sub(r"[^ _.:=\[(-]*$", "", alike)  # its whole words
    name = start.rstrip(" _.-:=[(") or f"{flags[0]} to {flags[-1]}"
    categories = tuple(flag.removeprefix(start) for flag in flags)
    categories = categories if start and all(categories) else tuple(flags)
    name = unique_label(name, [header for header in headers if header not in flags])
    return Column(name=name, kind="categorical", categories=categories, flags=tuple(flags), origin="proposed")


def was_edited(column: Column, before: Column) -> bool:
    """Return whether a person has changed the bounds or categories of a column.

    `before` is the column before the edit.
    """
    return (column.lower, column.upper, {*column.categories}) != (before.lower, before.upper, {*before.categories})


def edited_origin(column: Column, before: Column | None) -> Origin:
    """Return the origin of a column's bounds or categories after a person has edited the column.

    The origin is "declared", "changed", or as before. Edits of bins and other fields change
    nothing. Rounding outward (`round_bounds_outward`) and ticking a rare value do not make a
    proposal a declaration, because the program proposed those too.
    """
    if before is None or not was_edited(column, before):
        return "declared" if before is None else before.origin
    return "changed" if before.origin in PROPOSED else "declared"


def without_values(column: Column, values: Container[str]) -> Column:
    """Return a column without some categories (canonical texts), which then count as missing.

    Unknown categories count as missing, too, and the taxonomy is dropped. If no category is left,
    `OTHER` is the only one.
    """
    others = tuple(one for one in column.categories if canonical(one) not in values)
    if others == column.categories:
        return column
    return replace(column, categories=others or (OTHER,), missing=True, outside="clip", taxonomy=None)


def with_value(column: Column, value: str) -> Column:
    """Return a column with one more category; ordered categories that are numbers are sorted."""
    categories = (*(() if column.categories == (OTHER,) else column.categories), value)
    if column.kind == "ordered" and not np.isnan(numbers := as_numbers(pd.Series(categories))).any():
        categories = tuple(map(as_text, np.unique(numbers).tolist()))
    return replace(column, categories=categories, taxonomy=None)


def undeclared_columns(schema: Schema, base: Schema, read_off: Iterable[str], public: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of an edited schema whose bounds or categories still come from rows.

    Parameters
    ----------
    schema : Schema
        The schema after edits.
    base : Schema
        The schema before the edits.
    read_off : iterable of str
        Columns of `base` that were read from rows.
    public : iterable of str
        Columns that a person has declared public.

    Returns
    -------
    tuple of str
        The names, in the order of the schema.
    """
    left = {*read_off} - {*public}
    return tuple(one.name for one in schema if one.name in left and is_undeclared(one, base[one.name]))


def is_undeclared(column: Column, before: Column) -> bool:
    """Return whether an edited column still has bounds, categories or other fields read from rows.

    `before` is the column before the edit. Other fields are its step and marks of missing numbers.
    """
    marks = column.missing_values and column.missing_values == before.missing_values
    return bool(not was_edited(column, before) or marks or (column.step and column.step == before.step))


def round_bounds_outward(column: Column) -> Column:
    """Return a column with bounds rounded outward, to its header's known limits if it has any."""
    known = None
    if column.lower is not None and column.upper is not None and column.kind != "date":
        known = public_range(column.name, column.lower, column.upper)
    return column.round_outward(known)


def round_columns(schema: Schema, names: Iterable[str]) -> Schema:
    """Return a schema in which the bounds of some columns are rounded outward."""
    wanted = {*names}
    return replace(schema, columns=tuple(round_bounds_outward(one) if one.name in wanted else one for one in schema))


def propose_orders(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Propose rules "a <= b" between dates, or numbers with related headers, that hold in all rows.

    A rule that follows from two others is left out.
    """
    both = [(a, b) for a, b in permutations([one for one in columns if one.numeric], 2) if can_be_ordered(a, b)]
    numbers = {one.name: present_numbers(one, frame) for one in {*chain(*both)}}
    orders = set()
    for low, high in ((a.name, b.name) for a, b in both):
        there = ~np.isnan(numbers[low] + numbers[high])
        first, last = numbers[low][there], numbers[high][there]
        by_chance = np.searchsorted(np.sort(last), first).sum() / max(len(first), 1)
        if by_chance >= BY_CHANCE and (first <= last).all() and (first < last).any():
            orders.add((low, high))
    implied = {(low, high) for low, one in orders for other, high in orders if one == other}
    return tuple(f"{low} <= {high}" for low, high in sorted(orders - implied))


def present_numbers(column: Column, frame: pd.DataFrame) -> Floats:
    """Return a column's numbers, NaN where a cell is missing or has a mark of a missing number."""
    numbers = column.to_numbers(frame[column.name])
    return np.where(np.isin(numbers, column.missing_values), np.nan, numbers)


def can_be_ordered(low: Column, high: Column) -> bool:
    """Return whether the headers and kinds of two columns allow a rule "low <= high"."""
    if "date" in (low.kind, high.kind):
        return low.kind == high.kind
    first, last = {*header_words(low.name)}, {*header_words(high.name)}
    if " ".join([*first - last, *last - first]) in TABLES["pairs"]["ordered"]:
        return True
    units = [{*unit.split()} for unit in TABLES["pairs"]["units"]]
    return low.whole and high.whole and any(first & unit and last & unit for unit in units)


def propose_pairs(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Propose rules "a = x, never b = y" from pairs of values that no row has, though many should.

    If the columns were independent, many rows would be expected to have such a pair. Only the pairs
    with the most expected rows are returned.
    """
    values = {one.name: listed_values(one) for one in columns}
    few = [one for one in columns if 2 <= len(values[one.name]) <= FEW_VALUES][:MOST_COLUMNS]
    codes = {one.name: one.encode_counting_misfits(frame[one.name]).codes.astype(np.int64) for one in few}
    found = []
    for one, other in combinations(few, 2):
        cells = np.bincount(codes[one.name] * other.size + codes[other.name], minlength=one.size * other.size)
        some, others = values[one.name], values[other.name]
        counts = cells.reshape(one.size, other.size)[: len(some), : len(others)]
        chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        empty = (counts == 0) & (chance >= BY_CHANCE)
        if empty.mean() < MOST_EMPTY:
            for i, j in np.argwhere(empty):
                text = f"{one.name} = {some[i]}, never {other.name} = {others[j]}"
                found.append((-chance[i, j], text))
    # sorted by text, because the other order would reveal which pairs expect more rows
    return tuple(sorted(text for _, text in sorted(found)[:MOST_PAIRS]))
