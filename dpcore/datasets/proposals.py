"""What is proposed of somebody's table, from what its columns seem to be, and what makes a proposal a declaration.

Proposals are read off the rows, all of them at once, and so are not public: bounds, categories, and
rules that hold in all rows although many rows would break them by chance. No schema of them has a
guarantee before the person whose rows they are says that they hold in general, by public knowledge.

A line is what a schema says of one column: its bounds, or its categories. Somebody declares it who
changes it, or says that it is public. Rounding outward helps whoever does. It is no privacy by
itself: 0 to 20,000 still follows from the rows, unless it would have been said without them.
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
from dpcore.datasets.headers import TABLES, parts, public_range
from dpcore.datasets.recognition import ABSENT, RecognizedColumn, class_column, recognize
from dpcore.domain.cells import as_numbers, factorize_texts
from dpcore.domain.column import MAX_CATEGORIES, Column, Origin, unique_label
from dpcore.domain.rules import listed_values
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.text import as_text, canonical, is_writable

# A value that fewer rows have is not proposed as a category: a schema is published without noise, and a town of one
# person would name that person. Ten is about the smallest cell that statistical offices publish (their thresholds are
# 3 to 11), and little is lost: at epsilon 1, noise of several rows hides a category of fewer anyway. It does not hang
# on the number of rows, so that in a tiny table no value is listed unasked.
RARE = 10
OTHER = "(other)"  # the one category of a column of which none is proposed; it is nobody's value
UNLISTED = f"values that fewer than {RARE} rows have are not listed, and count as missing"
PROPOSED: tuple[Origin, ...] = ("proposed", "changed")
BY_CHANCE = 30  # rows that would break a rule at least if the columns had nothing to do with each other
FEW_VALUES, MOST_PAIRS, MOST_COLUMNS = 12, 100, 60
MADE_OF = 0.5  # share of two columns' cells that are empty where one is made of the other


def propose_schema(
    frame: pd.DataFrame,
    found: Sequence[RecognizedColumn] | None = None,
    *,
    target: str | None = None,
    keep: Sequence[str] = (),
) -> Schema:
    """Guess a schema as `Schema.infer` says, from what the columns were recognized as, if they were already."""
    found = recognize(frame) if found is None else found
    columns, notes = [], []
    for one in found:
        least, column, rare = 0 if one.name in keep else RARE, None, 0
        if one.kept or one.name in (*keep, target):
            column, rare = column_of(one, frame[one.name], least=least)
        columns += [column] if column else []
        if column is None:
            notes.append(left_out(one))
        elif one.doubt:
            notes.append(f"{one.name!r}: {' '.join(one.doubt.split())}")
        if rare:
            notes.append(f"{one.name!r}: {UNLISTED} ({rare:,}); keep=[{one.name!r}] lists them all.")
    if not columns and not all(one.kept for one in found):  # better those that tell little than none
        return propose_schema(frame, [replace(one, kept=True) for one in found], target=target, keep=keep)
    if not columns:
        raise SchemaError("No column of these data can be used.", "Check that the file is the one you meant.")
    chosen = class_column(found) if target is None else target
    return Schema(columns=tuple(columns), target=chosen, source="inferred", notes=tuple(notes))


def left_out(one: RecognizedColumn) -> str:
    """A column that is no part of a schema, and why."""
    if not is_writable(one.name):
        return "A column is left out: its name has a control character, or half of a character."
    return f"{one.name!r} is left out: {one.reason}. {one.doubt}".rstrip()


def column_of(found: RecognizedColumn, values: "pd.Series[Any]", *, least: int = RARE) -> tuple[Column | None, int]:
    """A column as it was recognized, whether or not it is left out by default, and how many values it does not list.

    None if it can be no column. Numbers and dates get their own extremes as bounds; all others the
    values that at least so many rows have as categories. The others count as missing.
    """
    if found.what in ("empty", "unreadable"):
        return None, 0
    fields, rare = {**found.fields}, 0
    if "kind" not in fields:
        held = {value: rows for value, rows in holders(values).items() if value.strip()}
        if not 0 < len(held) <= MAX_CATEGORIES or not is_writable(*held):
            return None, 0
        categories = sorted(value for value, rows in held.items() if rows >= least)
        rare = len(held) - len(categories)
        fields |= {"kind": "categorical", "categories": tuple(categories) or (OTHER,)}
        fields |= ABSENT if rare else {}
    fields |= {"missing": True} if values.isna().any() else {}
    for given in (fields, {name: fields[name] for name in fields if name != "step"}):
        with suppress(SchemaError):  # numbers may be too small, or too close
            return Column(name=found.name, origin="proposed", **given), rare
    return None, 0


def holders(values: "pd.Series[Any]", persons: "pd.Series[Any] | None" = None) -> dict[str, int]:
    """How many rows have each value, as it is written shortest; how many persons, where `persons` says whose rows."""
    indices, texts = factorize_texts(values)
    shortest: dict[str, str] = {}  # of the ways in which a value is written
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    code = {key: rank for rank, key in enumerate(shortest)}
    held = pd.Series(np.array([*(code[canonical(text)] for text in texts), -1])[indices])
    if persons is not None:
        held = held[~pd.DataFrame({"value": held, "whose": pd.factorize(persons)[0]}).duplicated()]
    many = np.bincount(held + 1, minlength=len(code) + 1)[1:]
    return dict(zip(shortest.values(), many.tolist(), strict=True))


def column_of_flags(flags: Sequence[str], headers: Collection[str]) -> Column:
    """The column that flags become, by their headers alone: what these begin with alike is its name."""
    alike = commonprefix(flags)  # noqa: RUF071 - these are no paths
    start = re.sub(r"[^ _.:=\[(-]*$", "", alike)  # whole words of it
    name = start.rstrip(" _.-:=[(") or f"{flags[0]} to {flags[-1]}"
    categories = tuple(flag.removeprefix(start) for flag in flags)
    categories = categories if start and all(categories) else tuple(flags)
    name = unique_label(name, [header for header in headers if header not in flags])
    return Column(name=name, kind="categorical", categories=categories, flags=tuple(flags), origin="proposed")


def was_edited(column: Column, before: Column) -> bool:
    """Whether somebody gave a column other bounds or categories."""
    return (column.lower, column.upper, {*column.categories}) != (before.lower, before.upper, {*before.categories})


def edited_origin(column: Column, before: Column | None) -> Origin:
    """Where an edited line comes from.

    Bins, and what else is no bound and no category, change nothing. Neither does rounding outward
    (`outward`), nor a rare value that is ticked: the program proposed these too.
    """
    if before is None or not was_edited(column, before):
        return "declared" if before is None else before.origin
    return "changed" if before.origin in PROPOSED else "declared"


def without_values(column: Column, values: Container[str]) -> Column:
    """The column without some values, by the texts that are compared; they count as missing."""
    kept = tuple(one for one in column.categories if canonical(one) not in values)
    if kept == column.categories:
        return column
    return replace(column, categories=kept or (OTHER,), missing=True, outside="clip", taxonomy=None)


def with_value(column: Column, value: str) -> Column:
    """The column with one value more, which is in its place among numbers."""
    categories = (*(() if column.categories == (OTHER,) else column.categories), value)
    if column.kind == "ordered" and not np.isnan(numbers := as_numbers(pd.Series(categories))).any():
        categories = tuple(map(as_text, np.unique(numbers).tolist()))
    return replace(column, categories=categories, taxonomy=None)


def undeclared_columns(schema: Schema, base: Schema, read_off: Iterable[str], said: Iterable[str]) -> tuple[str, ...]:
    """The columns of an edited schema whose lines are still as rows say, in order.

    `read_off`: those that were so in the schema before the edits, `base`; `said`: those that
    somebody says are public.
    """
    left = {*read_off} - {*said}
    return tuple(one.name for one in schema if one.name in left and is_unsaid(one, base[one.name]))


def is_unsaid(column: Column, before: Column) -> bool:
    """Whether a line still says something that was read off rows: its bounds, marks of a missing number, or step."""
    marks = column.missing_values and column.missing_values == before.missing_values
    return bool(not was_edited(column, before) or marks or (column.step and column.step == before.step))


def outward(column: Column) -> Column:
    """The column with its bounds rounded outward, to the public ones of its header where it has some."""
    known = None
    if column.lower is not None and column.upper is not None and column.kind != "date":
        known = public_range(column.name, column.lower, column.upper)
    return column.round_outward(known)


def round_columns(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with some of its columns rounded outward."""
    wanted = {*names}
    return replace(schema, columns=tuple(outward(one) if one.name in wanted else one for one in schema))


def propose_orders(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Orders of two dates, or of numbers whose headers say so or name one unit; none that follow."""
    both = [(a, b) for a, b in permutations([one for one in columns if one.numeric], 2) if comparable(a, b)]
    numbers = {one.name: known_numbers(one, frame) for one in {*chain(*both)}}
    kept = set()
    for low, high in ((a.name, b.name) for a, b in both):
        there = ~np.isnan(numbers[low] + numbers[high])
        first, last = numbers[low][there], numbers[high][there]
        by_chance = np.searchsorted(np.sort(last), first).sum() / max(len(first), 1)
        if by_chance >= BY_CHANCE and (first <= last).all() and (first < last).any():
            kept.add((low, high))
    between = {(low, high) for low, one in kept for other, high in kept if one == other}
    return tuple(f"{low} <= {high}" for low, high in sorted(kept - between))


def known_numbers(column: Column, frame: pd.DataFrame) -> Floats:
    """A column's numbers, NaN where one is missing, or stands for a missing one."""
    numbers = column.to_numbers(frame[column.name])
    return np.where(np.isin(numbers, column.missing_values), np.nan, numbers)


def comparable(low: Column, high: Column) -> bool:
    """Whether the first of two columns of dates or numbers may be never above the second."""
    if "date" in (low.kind, high.kind):
        return low.kind == high.kind
    first, last = {*parts(low.name)}, {*parts(high.name)}
    if " ".join([*first - last, *last - first]) in TABLES["pairs"]["ordered"]:
        return True
    units = [{*unit.split()} for unit in TABLES["pairs"]["units"]]
    return low.whole and high.whole and any(first & unit and last & unit for unit in units)


def propose_pairs(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Impossible pairs of the values of columns that have few: those that chance would make most often."""
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
        if empty.mean() < MADE_OF:
            for i, j in np.argwhere(empty):
                text = f"{one.name} = {some[i]}, never {other.name} = {others[j]}"
                found.append((-chance[i, j], text))
    # their order must not tell which has more rows
    return tuple(sorted(text for _, text in sorted(found)[:MOST_PAIRS]))
