"""Two invented people side by side, and what a model says of each."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.column import Column
from dpcore.export.model_file import Model
from dpcore.language import say

STEPS = 101  # positions of a slider


def one_person(page: str, model: Model) -> None:
    """A typical person beside one who differs in some columns; all of it is public, and nothing is spent."""
    columns = {column.name: column for column in model.schema.columns if column.name != model.target}
    schema = hashlib.sha256(model.schema.to_json().encode()).hexdigest()[:8]  # another one has other controls
    key = f"{page}.person.{schema}"
    markdown("**Two invented people.** Choose in which columns the second differs, and see what the model says.")
    names = list(columns)
    changed = st.multiselect(say("Columns that differ"), names, names[:1], format_func=escaped, key=key)
    typical = {name: usual(column) for name, column in columns.items()}
    other = dict(typical)
    places = st.columns(max(len(changed), 1))
    for cell, name in zip(places, changed, strict=False):
        other[name] = choose(cell, columns[name], f"{key}.{names.index(name)}")
    cells = [{name: text(columns[name], value) for name, value in one.items()} for one in (typical, other)]
    found = model.predictions(pd.DataFrame(cells))
    titles = (say("A typical person"), say("The same, changed"))
    for cell, title, (*_, answer, sure) in zip(st.columns(2), titles, found.itertuples(index=False), strict=True):
        value = say("{answer} ({sure:.1%} sure)", answer=escaped(str(answer)), sure=sure)
        cell.metric(f"{title}: {escaped(model.target)}", value, border=True)
    caption(
        "Typical: the middle of each public range, and the first public category. Neither person needs to exist; what "
        "a model says of them is no fact about anyone."
    )


def steps(column: Column) -> list[float]:
    """The numbers that can be chosen of a column, in ascending order."""
    grid = np.linspace(float(column.lower or 0.0), float(column.upper or 0.0), STEPS)
    return sorted({float(step) for step in (grid if column.kind == "continuous" else np.rint(grid))})


def usual(column: Column) -> Any:
    """The middle of a range, or the first category."""
    return steps(column)[len(steps(column)) // 2] if column.numeric else column.categories[0]


def choose(cell: Any, column: Column, key: str) -> Any:
    """A value of a column, another than the usual one at first."""
    if not column.numeric:
        names = list(column.categories)
        return cell.selectbox(escaped(column.name), names, min(1, len(names) - 1), key=key)
    grid = steps(column)
    if len(grid) == 1:
        return grid[0]
    far = grid[3 * len(grid) // 4]
    return cell.select_slider(escaped(column.name), grid, far, format_func=column.format_value, key=key)


def text(column: Column, value: Any) -> Any:
    """A value as a file would hold it."""
    written = column.numeric and (column.number_format or column.kind == "date")
    return column.format_value(value) if written else value
