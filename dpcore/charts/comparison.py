"""Methods beside each other: a measure, or the run time, of every run against epsilon."""

from __future__ import annotations

import textwrap
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, texts
from dpcore.charts.curves import curves

__all__ = ["compared"]

HEIGHT, LINE = 560, 24  # of a chart with its title and key, and of what is added to them
PURE = "Pure epsilon, per release"
LOCAL = "of one person's reports in the local model, where nobody is trusted with true rows"


def compared(
    frame: pd.DataFrame,
    *,
    title: str,
    y_title: str,
    data: str,
    x: Literal["claimed", "proved", "of the noise alone"] = "claimed",
    local: tuple[str, ...] = (),
    references: pd.DataFrame | None = None,
    log_y: bool = False,
    names: list[str] | None = None,
) -> Chart:
    """A mark per run, a line of medians and an interval per method; "as printed" is dashed and hollow.

    `frame`: one row per run: `series` (the method, up to 10), `mode`, the epsilon that `x` says (`epsilon_claimed`,
    `epsilon_bound` or `epsilon_of_noise`), `relation` (in words), `value`. All runs must have one relation, because
    epsilons of two mean different things: ValueError otherwise. Runs without a finite epsilon > 0 on the axis are left
    out. `local`: series in which people randomize their own answers; the key says that their epsilon is another
    promise. `references`: `label`, `value`. `data`: the data set's name. `names`: all methods of the comparison, so
    that each keeps its color and shape from chart to chart.
    """
    relations = frame["relation"].unique()
    if len(relations) > 1:
        raise ValueError("epsilons of two relations do not belong on one axis")
    column = {"claimed": "epsilon_claimed", "proved": "epsilon_bound"}.get(x, "epsilon_of_noise")
    shown = frame[np.isfinite(frame[column].to_numpy(dtype=float)) & (frame[column] > 0)]
    chart = curves(
        shown,
        x=column,
        y="value",
        x_title=f"epsilon {x}",
        y_title=y_title,
        mode="mode",
        references=references,
        log_x=True,
        log_y=log_y,
        center="median",
        interval="deciles",
        among=None if names is None else [str(name) for name in texts(names)],
        title=title,
    )
    sentences = [*promises(shown, relations, local), f"Data: {texts([data])[0]}."]
    return told(chart, sentences).properties(height=HEIGHT + LINE * len(sentences))


def promises(shown: pd.DataFrame, relations: Any, local: tuple[str, ...]) -> list[str]:
    """What the epsilons on the axis promise, in sentences."""
    at_hand = [name for name in dict.fromkeys(shown["series"]) if name in local]
    relation = f"neighbors: {relations[0]}" if len(relations) else "no run"
    if at_hand and len(at_hand) == shown["series"].nunique():
        return [f"{PURE}, {LOCAL}; {relation}."]
    said = [f"{PURE}; {relation}."]
    if at_hand:
        which = ", ".join(texts(at_hand))
        said.append(
            f"Two guarantees on one axis: epsilon of {which} is {LOCAL}; the others trust one keeper of the rows."
        )
    return said


def told(chart: Chart, sentences: list[str]) -> Chart:
    """The same chart with sentences added under its key."""
    title: Any = getattr(chart, "title").copy()  # noqa: B009 - Altair does not type it
    title.subtitle = [*title.subtitle, *(line for text in sentences for line in textwrap.wrap(text, 100))]
    return chart.properties(title=title, description=" ".join([str(chart.description), *sentences]))
