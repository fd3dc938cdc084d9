"""Two invented people, and a model's prediction for each."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.column import Column
from dpcore.export.artifacts import Model
from dpcore.language import say

STEPS = 101  # positions of a slider


def draw_two_persons(page: str, model: Model) -> None:
    """Draw a model's predictions for a typical person and a changed one; this spends nothing."""
    columns = {column.name: column for column in model.schema if column.name != model.target}
    cells = {name: column_options(column) for name, column in columns.items()}
    names = [name for name in columns if len(cells[name]) > 1]
    key = f"{page}.person.{hash(model.schema.columns)}"  # another schema has other controls
    markdown("**Two invented people.** Choose where they differ, and see what the model says.")
    changed = st.multiselect(say("Columns in which the two invented people differ"), names, names[:1], escape, key=key)
    typical = {name: list(found.values())[(len(found) - 1) // 2] for name, found in cells.items()}
    other = dict(typical)
    for cell, name in zip(st.columns(max(len(changed), 1)), changed, strict=False):
        texts, label, own = list(cells[name]), escape(name), f"{key}.{names.index(name)}"
        if columns[name].numeric:
            text = cell.select_slider(label, texts, texts[3 * len(texts) // 4], key=own)
        else:
            text = cell.selectbox(label, texts, (len(texts) + 1) // 2, key=own)
        other[name] = cells[name][text]
    found = model.predictions(pd.DataFrame([typical, other]))
    titles = say("First invented person (typical)"), say("Second invented person (changed)")
    answers = zip(st.columns(2), titles, found.iloc[:, -2], found.iloc[:, -1], strict=True)
    for cell, title, answer, sure in answers:
        value = say("{predicted} ({sure:.1%} sure)", predicted=escape(str(answer)), sure=sure)
        cell.metric(f"{title}{say(': ')}{escape(model.target)}", value, border=True)
    caption(
        "A typical value is the middle of a public range, or of a list of values. Neither person "
        "needs to exist: a prediction for them is no fact about anyone."
    )


def column_options(column: Column) -> dict[str, Any]:
    """Return a column's values to choose from, as {text on screen: value in a file}."""
    if not column.numeric:
        return {name: name for name in column.categories}
    steps = np.linspace(float(column.lower or 0.0), float(column.upper or 0.0), STEPS)
    steps = steps if column.kind == "continuous" else np.rint(steps)
    cells = {column.format_value(step): step for step in steps.tolist()}
    return cells if column.is_plain_number else {text: text for text in cells}
