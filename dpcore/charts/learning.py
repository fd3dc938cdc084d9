"""What can be learned from a release, once, again, and against epsilon."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    SERIES,
    SHAPES,
    Chart,
    color_and_shape,
    in_order,
    panels,
    present,
    short,
    tidy,
    tooltips,
)

__all__ = ["accuracy", "redraws", "sweep", "sweep_variance"]


TRAINED_ON = {
    "released": (RELEASED, "diamond"),
    "same method, no noise": (SERIES[2], "triangle-up"),
    "real": (REAL, "circle"),
}


def accuracy(frame: pd.DataFrame, *, majority: float) -> Chart:
    """Accuracy on real test data of models trained on the release and on its references.

    `frame`: one row per model and run: `model`, `trained_on` (a key of `TRAINED_ON`), `accuracy` (0..1). `majority`:
    the most frequent class's share, what knowing nothing scores.
    """
    data = tidy(frame, ["model", "trained_on"], ["accuracy"]).dropna()
    scale, axis = alt.Scale(zero=False, padding=14), alt.Axis(format="~%", tickCount=8)
    base = alt.Chart(data).encode(
        alt.X("accuracy:Q", scale=scale, axis=axis, title="accuracy"),
        alt.Y("model:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)),
        alt.YOffset("trained_on:N", sort=list(TRAINED_ON)),
        tooltip=tooltips("model|model", "trained_on|trained on", "accuracy|accuracy|.1%"),
    )
    names = [name for name in TRAINED_ON if name in set(data["trained_on"])]
    colors, shapes = [TRAINED_ON[name][0] for name in names], [TRAINED_ON[name][1] for name in names]
    kinds = color_and_shape("trained_on", names, colors, shapes, title="trained on")
    runs = base.mark_point(filled=True, size=120, opacity=0.85).encode(*kinds)
    mean = alt.X("mean(accuracy):Q", title="accuracy")
    means = base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(mean, tooltip=NO_TIP)
    repeated = bool(data.duplicated(["model", "trained_on"]).any())
    return present(
        alt.layer(runs, *([means] if repeated else []), *_reference("majority class", majority, "right")),
        "Accuracy on real test data",
        key="One mark per run. Upright line: mean." if repeated else "",
        seen="Accuracy of each model trained on the release and on the real data, with reference lines.",
        height=alt.Step(34),
    )


def redraws(frame: pd.DataFrame, *, width: int = 560) -> Chart:
    """The same method run again and again, to see how lucky the release on the screen is.

    `frame`: one row per metric and run: `metric`, `value`, `run`, `chosen` (bool: the release on the screen).
    """
    which = ["another draw", "this release"]
    data = tidy(frame, ["metric", "run"], ["value"])
    metrics = in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"]).sort_values("which", kind="stable")  # the release is drawn last, on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    base = alt.Chart(data).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=7)),
        tooltip=tooltips("metric|metric", "run|run", "value|value|.4~g", "which|which"),
    )
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.15, 1.15])),
        *color_and_shape("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        size=alt.condition("datum.which == 'this release'", alt.value(260), alt.value(80)),
    )
    median = base.mark_rule(color=NEUTRAL, strokeWidth=3).encode(x="median(value):Q", tooltip=NO_TIP)
    return present(
        panels(median + draws, "metric", metrics, columns=1, width=width, height=90),
        f"{short(metrics[0])}: the same method, drawn again" if len(metrics) == 1 else "The same method, drawn again",
        key="One mark per run. Upright line: median.",
        seen=f"{data['run'].nunique()} runs per metric, with their median; the release on the screen stands out.",
    )


def sweep(
    frame: pd.DataFrame, *, y: str, y_title: str, references: pd.DataFrame | None = None, width: int = 270
) -> Chart:
    """A metric against epsilon: a dot per run, a line of means per series, a panel per model.

    `frame`: one row per run: `epsilon` (>= 0), `series` (such as "paper"), `model`, and the column `y`, which the axis
    calls `y_title`. `references`: lines: `model`, `label`, `value`; what has no epsilon, or an infinite one, goes here.
    """
    data = _runs(frame, y).assign(label="", side=-1)
    if references is not None:
        rules = tidy(references, ["model", "label"], ["value"]).dropna().sort_values("value")
        rules = rules[rules["model"].isin(data["model"])]
        side = rules.groupby("model").cumcount() % 2  # neighbors write their names at opposite ends
        data = pd.concat([data, rules.assign(series="", side=side)], ignore_index=True)

    base = alt.Chart(data).encode(alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=False)))
    runs = _against_epsilon(base.transform_filter("datum.side < 0"), data[data["side"] < 0], y_title)
    lines = base.transform_filter("datum.side >= 0").mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=1.5)
    text: Any = {"baseline": "bottom", "dy": -3, "fontSize": 13, "color": NEUTRAL}
    left = base.transform_filter("datum.side == 0").mark_text(align="left", **text).encode(x=alt.value(4))
    right = base.transform_filter("datum.side == 1").mark_text(align="right", **text).encode(x=alt.value("width"))
    names = [layer.encode(text="label:N", tooltip=NO_TIP) for layer in (left, right)]
    layers = alt.layer(lines.encode(tooltip=tooltips("label|reference", "value|value|.4~g")), *names, *runs)
    return present(
        panels(layers, "model", in_order(data["model"]), columns=2, width=width, height=300),
        f"{y_title[:1].upper()}{y_title[1:]} against epsilon",
        key="One mark per run; lines join the means, bands the lowest and highest run.",
        seen=f"{y_title} against epsilon, a mark per run and a line of means per series.",
    )


def sweep_variance(frame: pd.DataFrame, *, y: str = "value", width: int = 270) -> Chart:
    """The variance of `y` across runs against epsilon. `frame` as for `sweep`; a single run has no variance."""
    data = (
        _runs(frame, y)
        .groupby(["model", "series", "epsilon", "aside"], sort=False)["value"]
        .var()
        .dropna()
        .reset_index()
    )
    title = "variance across runs"
    base = alt.Chart(data).encode(alt.Y("value:Q", title=title, axis=alt.Axis(format="~g")))
    layers = alt.layer(*_against_epsilon(base, data, title))
    return present(
        panels(layers, "model", in_order(data["model"]), columns=2, width=width, height=240),
        "How much repeated runs differ",
        seen="Variance across runs against epsilon, one line per series.",
    )


def _runs(frame: pd.DataFrame, y: str) -> pd.DataFrame:
    data = tidy(frame, ["series", "model"], ["epsilon", y]).set_axis(["series", "model", "epsilon", "value"], axis=1)
    data = data[data["epsilon"] >= 0].dropna()
    place = data.groupby("series", sort=False).ngroup()
    return data.assign(aside=6 * (place - place.max() / 2))  # pixels: series at one epsilon stand side by side


def _reference(text: str, value: float | None, align: Any) -> list[Any]:
    """An upright rule with its name and value above it."""
    if value is None or not math.isfinite(value):
        return []
    base = alt.Chart(pd.DataFrame({"accuracy": [value], "label": [f"{text} {value:.1%}"]})).encode(
        alt.X("accuracy:Q", title="accuracy"), tooltip=tooltips("label|reference")
    )
    label = base.mark_text(color=NEUTRAL, align=align, dx=-4 if align == "right" else 4, fontSize=13, baseline="bottom")
    rule = base.mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=2)
    return [rule, label.encode(y=alt.value(-4), text="label:N")]


def _against_epsilon(base: alt.Chart, data: pd.DataFrame, y_title: str) -> list[Any]:
    """Lines of means, and a mark per row, over epsilon: a log scale unless 0 is among them."""
    names, epsilons = in_order(data["series"]), sorted(data["epsilon"].unique())
    ticks = epsilons if 0 < len(epsilons) <= 10 else alt.Undefined
    log = not epsilons or epsilons[0] > 0
    scale = alt.Scale(type="log" if log else "linear", padding=14, nice=False)
    axis = alt.Axis(format="~g", labelOverlap=True, values=ticks)
    base = base.encode(alt.X("epsilon:Q", title="epsilon (log scale)" if log else "epsilon", scale=scale, axis=axis))
    color, shape = color_and_shape("series", names, SERIES, SHAPES)
    means = base.mark_line(strokeWidth=2.5).encode(color, alt.Y("mean(value):Q", title=y_title), tooltip=NO_TIP)
    tips = tooltips("series|series", "epsilon|epsilon|.3~g", "value|value|.4~g")
    spread = base.mark_area(opacity=0.18).encode(
        color, alt.Y("min(value):Q", title=y_title), alt.Y2("max(value):Q"), tooltip=NO_TIP
    )
    dots = base.mark_point(filled=True, size=75, opacity=0.7, xOffset=alt.ExprRef("datum.aside"))
    return [spread, means, dots.encode(color, shape, tooltip=tips)]
