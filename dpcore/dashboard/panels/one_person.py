"""Somebody put together by hand, and what a model says of them."""

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

MOST = 30  # columns that can be moved
STEPS = 101  # places of a slider


def one_person(page: str, model: Model) -> None:
    """A control for every column, and the prediction beside them; all of it is public, and nothing is spent."""
    columns = [column for column in model.schema.columns if column.name != model.target]
    markdown("**Somebody, put together by hand.** Move a control and see whether the model changes its mind.")
    moved, told = st.columns([3, 1], gap="large")
    schema = hashlib.sha256(model.schema.to_json().encode()).hexdigest()[:8]  # another one has other controls
    cells: dict[str, Any] = {}
    with moved:
        places = st.columns(3)
        for number, column in enumerate(columns):
            place = places[number % 3] if number < MOST else None
            cells[column.name] = cell(place, column, f"{page}.person.{schema}.{number}")
        if len(columns) > MOST:
            others = len(columns) - MOST
            caption("The other {n:,} columns are in the middle, or at their first value.", n=others)
    found = model.predictions(pd.DataFrame({name: [value] for name, value in cells.items()})).iloc[0]
    with told:
        st.metric(say("Predicted {target}", target=escaped(model.target)), escaped(str(found.iloc[-2])), border=True)
        st.metric(say("The model’s probability"), f"{100 * found.iloc[-1]:.1f}%", border=True)
        caption("Nobody of that kind needs to exist. What a model says of them is no fact about anybody.")


def cell(place: Any, column: Column, key: str) -> Any:
    """The value of a column that somebody chose, as a file would hold it; without a place, the usual one."""
    if not column.numeric:
        names = list(column.categories)
        return names[0] if place is None else place.selectbox(escaped(column.name), names, key=key)
    low, high = float(column.lower or 0.0), float(column.upper or 0.0)
    grid = np.linspace(low, high, STEPS)
    steps = sorted({float(step) for step in (grid if column.kind == "continuous" else np.rint(grid))})
    value = steps[len(steps) // 2]
    if place is not None and len(steps) > 1:
        value = place.select_slider(escaped(column.name), steps, value, format_func=column.format_value, key=key)
    return column.format_value(value) if column.number_format or column.kind == "date" else value
