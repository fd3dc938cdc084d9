"""What a report gives away: measures against settings and epsilon, many reports, and tails."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    NEUTRAL,
    NO_TIP,
    RELEASED,
    SERIES,
    Chart,
    in_order,
    panels,
    present,
    tidy,
    tooltips,
)

__all__ = ["averaging", "descriptions", "tails"]

MOST_EPSILON = 6.0
Look = tuple[str, list[int], float]  # color, dashes, width
# The first line is broad, so that another on top of it leaves both to be seen.
DESCRIBED: list[Look] = [(RELEASED, [1, 0], 9), (SERIES[4], [7, 5], 3), (SERIES[2], [2, 4], 3)]
FRESH, KEPT = "a fresh report each time", "the first report, kept"
PRINTED, CORRECTED = "a·x + b, as printed", "Laplace noise, corrected"


def descriptions(
    frame: pd.DataFrame,
    *,
    against: Literal["setting", "epsilon"],
    at: float | None = None,
    crossing: tuple[float, float] | None = None,
    width: int = 225,
) -> Chart:
    """Measures of randomizers that are described in different words, one panel per measure.

    `frame`: one row per description, setting and measure: `series` (up to 3), `setting` (0..1), `epsilon`, `measure`,
    `value` (0..1). `at`: where an upright rule stands. `crossing`: place and value where two lines of the first panel
    meet.
    """
    data = tidy(frame, ["series", "measure"], ["setting", "epsilon", "value"]).dropna(subset=[against, "value"])
    most = 1.0 if against == "setting" else MOST_EPSILON
    data = data.assign(x=data[against], panel=data["measure"])[["series", "panel", "x", "value"]]
    data = data[data["x"].between(0, most)].assign(kind="line", label="")
    names, parts = in_order(data["panel"]), [data]
    if at is not None and math.isfinite(at):
        parts.append(pd.DataFrame({"panel": names, "x": min(at, most), "kind": "rule", "label": "your setting"}))
    if crossing is not None and names:
        label = f"both {crossing[1]:.3f}"
        parts.append(
            pd.DataFrame([(names[0], *crossing, "meet", label)], columns=["panel", "x", "value", "kind", "label"])
        )
    data = pd.concat(parts, ignore_index=True).fillna({"series": ""})

    title = "probability p0 or p in the rule" if against == "setting" else "epsilon"
    place = alt.Chart(data).encode(
        alt.X("x:Q", title=title, scale=alt.Scale(domain=[0, most], nice=False), axis=alt.Axis(tickCount=6))
    )
    base = place.encode(
        alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%", tickCount=5))
    )
    looks = dict(zip(in_order(series for series in data["series"] if series), DESCRIBED, strict=False))
    own = base.transform_filter("datum.kind == 'line'")
    rule = place.transform_filter("datum.kind == 'rule'").mark_rule(color=NEUTRAL, strokeWidth=2, strokeDash=[4, 3])
    rule = rule.encode(tooltip=tooltips("label|rule", "x|at|.3~g"))
    meet = base.transform_filter("datum.kind == 'meet'")
    dot = meet.mark_point(color=NEUTRAL, filled=False, size=180, strokeWidth=3, opacity=1)
    dot = dot.encode(tooltip=tooltips("label|they meet", "x|at|.3~g"))
    word = meet.mark_text(color=NEUTRAL, align="left", dx=8, dy=16, fontSize=14, fontWeight="bold")
    layers = alt.layer(
        rule, *_lines(own, looks, ["panel|measure", "x|at|.3~g"]), dot, word.encode(text="label:N", tooltip=NO_TIP)
    )
    told = {
        "setting": "The same number in different words: different rules, and different protection.",
        "epsilon": "The same epsilon: one curve for whatever can be done with a report, two for Breach.",
    }
    return present(
        panels(layers, "panel", names, columns=3, width=width, height=250),
        f"Two descriptions, measured against {'their own number' if against == 'setting' else 'epsilon'}",
        key=f"{told[against]} Dashed upright line: your setting.",
        seen=f"Curves of {len(names)} measures for {' and '.join(looks)}. {told[against]}",
    )


def averaging(frame: pd.DataFrame, *, alone: float | None = None) -> Chart:
    """What many reports of one person give away, fresh ones and one that is kept.

    `frame`: one row per number of reports: `reports`, `right`, `kept` (how often the most frequent report is true),
    `epsilon`. `alone`: how often a guess without any report is right.
    """
    data = tidy(frame, [], ["reports", "right", "kept"]).assign(epsilon=_texts(frame["epsilon"]))
    first = data["epsilon"].head(1).sum()
    long = data.rename(columns={"right": FRESH, "kept": KEPT})
    long = long.melt(["reports", "epsilon"], [FRESH, KEPT], var_name="series").rename(columns={"reports": "x"})
    long.loc[long["series"] == KEPT, "epsilon"] = first or ""
    long["label"] = ("epsilon " + long["epsilon"].astype(str)).where(long["x"] == long["x"].max(), "")
    base = alt.Chart(long.dropna(subset=["x", "value"])).encode(
        alt.X("x:Q", title="reports of one person", scale=alt.Scale(nice=False, zero=False, padding=12)),
        alt.Y("value:Q", title="most frequent report is true", scale=alt.Scale(domain=[0, 1])).axis(format="~%"),
    )
    looks: dict[str, Look] = {FRESH: (CLAIMED, [1, 0], 4), KEPT: (RELEASED, [7, 5], 4)}
    tips = ["x|reports|,.0f", "epsilon|epsilon in all"]
    words = base.mark_text(align="right", dx=-4, dy=16, fontSize=15, fontWeight="bold", color=NEUTRAL)
    layers = [*_lines(base, looks, tips), *_dots(base, looks, tips), words.encode(text="label:N", tooltip=NO_TIP)]
    if alone is not None:
        line = alt.Chart(pd.DataFrame({"value": [alone], "label": [f"guess without any report {alone:.1%}"]}))
        line = line.encode(alt.Y("value:Q"), tooltip=tooltips("label|reference"))
        name = line.mark_text(align="right", dy=13, fontSize=14, color=NEUTRAL, baseline="middle")
        layers += [line.mark_rule(color=NEUTRAL, strokeDash=[2, 3], strokeWidth=2)]
        layers += [name.encode(x=alt.value("width"), text="label:N", tooltip=NO_TIP)]
    last = data.tail(1)
    seen = [f"{r:.0%} after {n:,.0f}" for r, n in zip(last["right"], last["reports"], strict=True)]
    return present(
        alt.layer(*layers),
        "Asked again and again: the averaging attack",
        key="With fresh coins the truth comes through, and epsilon adds up. A kept report gives no more away.",
        seen="How often the most frequent report is true: with fresh reports it rises "
        f"({', '.join(seen)}), with a kept one it stays.",
        height=460,
    )


def tails(frame: pd.DataFrame, *, bound: float) -> Chart:
    """How much more likely far reports are for one number than for another, with both kinds of noise.

    `frame`: one row per kind and place: `series` (as printed first, then corrected), `beyond`, `log_ratio`. `bound`:
    the epsilon of the corrected one.
    """
    data = tidy(frame, ["series"], ["beyond", "log_ratio"]).dropna()
    data = data.rename(columns={"beyond": "x", "log_ratio": "value"})
    base = alt.Chart(data).encode(
        alt.X("x:Q", title="reports beyond ± this", scale=alt.Scale(nice=False)).axis(tickCount=10),
        alt.Y("value:Q", title="logarithm of the ratio", scale=alt.Scale(zero=True)),
    )
    looks = dict(zip(in_order(data["series"]), [(CLAIMED, [1, 0], 4.0), (RELEASED, [7, 5], 4.0)], strict=False))
    line = alt.Chart(pd.DataFrame({"value": [bound], "label": [f"bound: epsilon {bound:.3g}"]}))
    line = line.encode(alt.Y("value:Q"), tooltip=tooltips("label|reference"))
    name = line.mark_text(align="right", dy=-9, fontSize=14, fontWeight="bold", color=NEUTRAL)
    rule = line.mark_rule(color=NEUTRAL, strokeDash=[2, 3], strokeWidth=2)
    name = name.encode(x=alt.value("width"), text="label:N", tooltip=NO_TIP)
    return present(
        alt.layer(rule, *_lines(base, looks, ["x|beyond ±|.3~g"]), name),
        "Far reports give the number away",
        key="How much likelier a report beyond ± this is for the far number than for the near one. Epsilon bounds it.",
        seen=f"The log ratio of the probabilities of far reports: unbounded as printed, below epsilon {bound:.3g} with "
        "Laplace noise.",
        height=400,
    )


def _lines(base: Any, looks: Mapping[str, Look], tips: list[str]) -> list[Any]:
    """A line per series, each with its color, dashes and width under one legend, the first below the others."""
    names = list(looks)

    def scale(values: list[Any]) -> dict[str, Any]:
        legend = alt.Legend(symbolType="stroke", symbolSize=1400, symbolOpacity=1, labelFontSize=15, labelLimit=300)
        return {"scale": alt.Scale(type="ordinal", domain=names, range=values), "title": None, "legend": legend}

    line = base.mark_line().encode(
        alt.Color("series:N", **scale([look[0] for look in looks.values()])),
        alt.StrokeDash("series:N", **scale([look[1] for look in looks.values()])),
        alt.StrokeWidth("series:N", **scale([look[2] for look in looks.values()])),
        order=alt.Order("x:Q"),
        tooltip=tooltips("series|series", *tips, "value|value|.3~g"),
    )
    broad = max(look[2] for look in looks.values()) if looks else 0
    return [
        line.transform_filter(alt.FieldOneOfPredicate("series", [name])).mark_line(
            opacity=0.4 if 4 < broad == look[2] else 1
        )
        for name, look in looks.items()
    ]


def _dots(base: Any, looks: Mapping[str, Look], tips: list[str]) -> list[Any]:
    colors = alt.Scale(domain=list(looks), range=[look[0] for look in looks.values()])
    tip = tooltips("series|series", *tips, "value|value|.1%")
    return [
        base.mark_point(filled=True, size=70, opacity=1).encode(
            alt.Color("series:N", scale=colors, title=None), tooltip=tip
        )
    ]


def _texts(epsilons: pd.Series) -> list[str]:
    numbers = epsilons.to_numpy(float)
    return ["∞" if not np.isfinite(value) else f"{value:,.3g}" for value in numbers]
