"""What a report gives away: measures against settings and epsilon, many reports, and tails."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import CLAIMED, INK, NEUTRAL, NO_TIP, RELEASED, SERIES, Chart, in_order, present, tidy, tooltips
from dpcore.charts.responses import nearer
from dpcore.text import number

MOST_EPSILON = 6.0
Look = tuple[Any, list[int], float]  # color, dashes, width
# The first line is broad, so that another on top of it leaves both to be seen.
DESCRIBED: list[Look] = [(RELEASED, [1, 0], 9), ({"expr": INK.expr}, [7, 5], 3), (SERIES[2], [3, 4], 4)]
FRESH, KEPT = "a fresh report each time", "the first report, kept"
PRINTED, CORRECTED = "a·x + b, as printed", "Laplace noise, corrected"


def descriptions(
    frame: pd.DataFrame,
    *,
    against: Literal["setting", "epsilon"],
    at: float | None = None,
    crossing: tuple[float, float] | None = None,
) -> Chart:
    """One measure of randomizers that are described in different words.

    `frame`: one row per description and setting: `series` (up to 3), `setting` (0..1), `epsilon`, `measure` (one),
    `value` (0..1). `at`: where an upright rule stands. `crossing`: place and value where two lines meet.
    """
    data = tidy(frame, ["series", "measure"], ["setting", "epsilon", "value"]).dropna(subset=[against, "value"])
    most = 1.0 if against == "setting" else MOST_EPSILON
    name = next(iter(data["measure"]), "No measure")
    data = data.assign(x=data[against])[["series", "x", "value"]]
    parts = [data[data["x"].between(0, most)].assign(kind="line", label="")]
    if at is not None and math.isfinite(at):
        parts.append(pd.DataFrame([{"x": min(at, most), "kind": "rule", "label": "your setting"}]))
    if crossing is not None:
        label = f"both {100 * crossing[1]:.1f} %"
        parts.append(pd.DataFrame([(*crossing, "meet", label)], columns=["x", "value", "kind", "label"]))
    data = pd.concat(parts, ignore_index=True).fillna({"series": ""})

    title = "p0 or p in the rule" if against == "setting" else "epsilon"
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
    dot = meet.mark_point(color=INK, filled=False, size=180, strokeWidth=3, opacity=1)
    dot = dot.encode(tooltip=tooltips("label|they meet", "x|at|.3~g"))
    word = meet.mark_text(color=INK, align="left", dx=8, dy=16, fontSize=14, fontWeight="bold")
    lines = _lines(own, looks, ["x|at|.3~g"], columns=1)
    chart = present(
        alt.layer(rule, *lines, dot, word.encode(text=alt.Text("label:N"), tooltip=NO_TIP)),
        name,
        seen=f"{name}, against {title}: curves for {' and '.join(looks)}, from 0 to {most:.0f}.",
        height=370 + 30 * len(looks),  # with the legend, which has a line for each
    )
    return nearer(chart, 2)


def averaging(frame: pd.DataFrame, *, alone: float | None = None) -> Chart:
    """What many reports of one person give away, fresh ones and one that is kept.

    `frame`: one row per number of reports: `reports`, `right`, `kept` (how often the most frequent report is true),
    `epsilon` (as text). `alone`: how often a guess without any report is right.
    """
    data = tidy(frame, ["epsilon"], ["reports", "right", "kept"])
    first = "".join(data["epsilon"].head(1))
    known = data.dropna(subset=["right", "kept"])
    same = len(known) > 0 and np.allclose(known["right"], known["kept"])
    told = "With fresh coins the truth comes through, and epsilon adds up. A kept report gives no more away."
    if same and (known["right"] > 1 - 1e-9).all():
        told = "Nobody tosses: the first report is the truth, and so is every other one."
    elif same and alone is not None and np.allclose(known["right"], alone):
        told = "The reports have nothing to do with the truth: any number of them is as good as a guess."
    long = data.rename(columns={"right": FRESH, "kept": KEPT})
    long = long.melt(["reports", "epsilon"], [FRESH, KEPT], var_name="series").rename(columns={"reports": "x"})
    long.loc[long["series"] == KEPT, "epsilon"] = first
    last = (long["x"] == long["x"].max()) & ~((long["series"] == KEPT) & same)
    long["label"] = ("epsilon " + long["epsilon"]).where(last, "")
    base = alt.Chart(long.dropna(subset=["x", "value"])).encode(
        alt.X("x:Q", title="reports of one person", scale=alt.Scale(nice=False, zero=False, padding=12)),
        alt.Y("value:Q", title="most frequent report is true", scale=alt.Scale(domain=[0, 1.12], nice=False)).axis(
            format="~%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]
        ),
    )
    looks: dict[str, Look] = {FRESH: (CLAIMED, [1, 0], 4), KEPT: (RELEASED, [7, 5], 4)}
    tips = ["x|reports|,.0f", "epsilon|epsilon in all"]
    layers = [*_lines(base, looks, tips), *_dots(base, looks, tips)]
    for name, move in ((FRESH, -15), (KEPT, 16)):  # above and below, so that neither is on the other
        words = base.transform_filter(alt.FieldOneOfPredicate("series", [name]))
        words = words.mark_text(align="right", dx=-4, dy=move, fontSize=15, fontWeight="bold", color=INK)
        layers.append(words.encode(text=alt.Text("label:N"), tooltip=NO_TIP))
    if alone is not None:
        line = alt.Chart(pd.DataFrame({"value": [alone], "label": [f"guess without any report {100 * alone:.1f} %"]}))
        line = line.encode(alt.Y("value:Q"), tooltip=tooltips("label|reference"))
        name = line.mark_text(align="left", dy=13, fontSize=14, color=INK, baseline="middle")
        layers += [line.mark_rule(color=NEUTRAL, strokeDash=[2, 3], strokeWidth=2)]
        layers += [name.encode(x=alt.value(14), text=alt.Text("label:N"), tooltip=NO_TIP)]
    ends = [f"{100 * r:.0f} % after {n:,.0f}" for r, n in known.tail(1)[["right", "reports"]].to_numpy()]
    return present(
        alt.layer(*layers),
        "Asked again and again: the averaging attack",
        key=told,
        seen=f"How often the most frequent report is true, with fresh reports ({', '.join(ends)}) and with a kept one. "
        f"{told}",
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
    line = alt.Chart(pd.DataFrame({"value": [bound], "label": [f"bound: epsilon {number(bound)}"]}))
    line = line.encode(alt.Y("value:Q"), tooltip=tooltips("label|reference"))
    name = line.mark_text(align="right", dy=-9, fontSize=14, fontWeight="bold", color=INK)
    rule = line.mark_rule(color=NEUTRAL, strokeDash=[2, 3], strokeWidth=2)
    name = name.encode(x=alt.value("width"), text=alt.Text("label:N"), tooltip=NO_TIP)
    return present(
        alt.layer(rule, *_lines(base, looks, ["x|beyond ±|.3~g"]), name),
        "Far reports give the number away",
        key="How much likelier a report beyond ± this is for the far number than for the near one. Epsilon bounds it.",
        seen=f"The log ratio of the probabilities of far reports: unbounded as printed, below epsilon {number(bound)} "
        "with Laplace noise.",
        height=400,
    )


def _lines(base: Any, looks: Mapping[str, Look], tips: list[str], columns: int = 0) -> list[Any]:
    """A line per series, each with its color, dashes and width under one legend, the first below the others."""
    names = list(looks)

    def scale(values: list[Any]) -> dict[str, Any]:
        look: Any = {"labelFontSize": 15, "labelLimit": 300, "columns": columns or alt.Undefined}
        legend = alt.Legend(symbolType="stroke", symbolSize=800 if columns == 1 else 1400, symbolOpacity=1, **look)
        return {"scale": alt.Scale(type="ordinal", domain=names, range=values), "title": None, "legend": legend}

    line = base.mark_line().encode(
        alt.Color("series:N", **scale([look[0] for look in looks.values()])),
        alt.StrokeDash("series:N", **scale([look[1] for look in looks.values()])),
        alt.StrokeWidth("series:N", **scale([look[2] for look in looks.values()])),
        order=alt.Order("x:Q"),
        tooltip=tooltips("series|series", *tips, "value|value|.3~g"),
    )
    return [line.transform_filter(alt.FieldOneOfPredicate("series", [name])) for name in looks]


def _dots(base: Any, looks: Mapping[str, Look], tips: list[str]) -> list[Any]:
    colors = alt.Scale(domain=list(looks), range=[look[0] for look in looks.values()])
    tip = tooltips("series|series", *tips, "value|value|.1%")
    return [
        base.mark_point(filled=True, size=70, opacity=1).encode(
            alt.Color("series:N", scale=colors, title=None), tooltip=tip
        )
    ]
