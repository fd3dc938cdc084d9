"""What makes a line that was read off rows a declared one: somebody who changes it, or says that it is public.

A line is what a schema says of one column: its bounds, or its categories. Rounding outward helps whoever declares it.
It is no privacy by itself: 0 to 20,000 still follows from the rows, unless it would have been said without them.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from dpcore.domain.column import Column
from dpcore.domain.dates import usual_unit
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError


def changed(column: Column, before: Column) -> bool:
    """Whether somebody gave a column other bounds or categories; what a line says besides comes from no extremes."""
    return (column.lower, column.upper, {*column.categories}) != (before.lower, before.upper, {*before.categories})


def undeclared(schema: Schema, base: Schema, read_off: Iterable[str], said: Iterable[str]) -> tuple[str, ...]:
    """The columns of an edited schema whose lines are still as rows say, in order.

    `read_off`: those that were so in the schema before the edits, `base`; `said`: those that somebody says are public.
    """
    left = {*read_off} - {*said}
    return tuple(column.name for column in schema if column.name in left and not changed(column, base[column.name]))


def outward(column: Column) -> Column:
    """The column with its bounds rounded outward (`scales`); as it is if it has none, or they can be no rounder."""
    if not column.numeric:
        return column
    low, high = cast(float, column.lower), cast(float, column.upper)
    try:
        lower, upper = column.outward()
        usual = column.kind == "date" and column.bins == usual_unit(low, high)
        bins = usual_unit(lower, upper) if usual else column.bins
        same = (lower, upper) == (low, high)
        return column if same else replace(column, lower=lower, upper=upper, bins=bins, taxonomy=None)
    except (SchemaError, OverflowError):  # too large, or too many bins
        return column


def rounded(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with some of its columns rounded outward."""
    wanted = {*names}
    return replace(schema, columns=tuple(outward(one) if one.name in wanted else one for one in schema))
