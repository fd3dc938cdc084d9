"""What makes a line that was read off rows a declared one: somebody who changes it, or says that it is public.

A line is what a schema says of one column: its bounds, or its categories. Rounding outward helps whoever declares it.
It is no privacy by itself: 0 to 20,000 still follows from the rows, unless it would have been said without them.
"""

from collections.abc import Container, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from dpcore.domain.cells import as_numbers
from dpcore.domain.column import Column, Origin
from dpcore.domain.infer import OTHER
from dpcore.domain.schema import Schema
from dpcore.text import as_text, canonical

PROPOSED: tuple[Origin, ...] = ("proposed", "changed")


def changed(column: Column, before: Column) -> bool:
    """Whether somebody gave a column other bounds or categories."""
    return (column.lower, column.upper, {*column.categories}) != (before.lower, before.upper, {*before.categories})


def edited_origin(column: Column, before: Column | None) -> Origin:
    """Where an edited line comes from.

    Bins, and what else is no bound and no category, change nothing. Neither does rounding outward (`outward`), nor a
    rare value that is ticked: the program proposed these too.
    """
    if before is None or not changed(column, before):
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


def undeclared(schema: Schema, base: Schema, read_off: Iterable[str], said: Iterable[str]) -> tuple[str, ...]:
    """The columns of an edited schema whose lines are still as rows say, in order.

    `read_off`: those that were so in the schema before the edits, `base`; `said`: those that somebody says are public.
    """
    left = {*read_off} - {*said}
    return tuple(one.name for one in schema if one.name in left and is_unsaid(one, base[one.name]))


def is_unsaid(column: Column, before: Column) -> bool:
    """Whether a line still says something that was read off rows: its bounds, marks of a missing number, or step."""
    marks = column.missing_values and column.missing_values == before.missing_values
    return bool(not changed(column, before) or marks or (column.step and column.step == before.step))


def outward(column: Column) -> Column:
    """The column with its bounds rounded outward; as it is if it has none, or they can be no rounder."""
    return column.round_outward()


def rounded(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with some of its columns rounded outward."""
    wanted = {*names}
    return replace(schema, columns=tuple(outward(one) if one.name in wanted else one for one in schema))
