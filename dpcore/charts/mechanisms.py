"""The basic mechanisms: two neighboring worlds, their ratio, an election by lot, and what may be believed after it."""

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    INK,
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    SERIES,
    Chart,
    diamonds,
    largest,
    present,
    tidy,
    tooltips,
)
from dpcore.charts.responses import nearer

WORLDS = {"without": "without you", "with": "with you"}
COLORS = {"without you": SERIES[3], "with you": SERIES[2]}
DASHES: dict[str, list[int]] = {"without you": [7, 4], "with you": [1, 0]}
LEFT = 74  # pixels that every axis of stacked charts takes, so that equal answers are above each other
STEPS, MOST_TICKS = (1, 2, 5, 10, 20, 50, 100), 12
CLIP: Any = {"clip": True}  # a mark over the edge would move it, in one of the stacked charts only
TIMES = "format(exp(datum.value), '.3~g')"  # an axis of logarithms that tells the ratios


def two_worlds(frame: pd.DataFrame, *, whole: bool = False) -> Chart:
    """The probabilities of answers in two neighboring worlds; shaded, what leaves the band that epsilon allows.

    `frame`: one row per answer: `answer`, `without`, `with`, `limit_without`, `limit_with` (densities, or the
    probabilities of `whole` numbers, of which nothing leaves the band).
    """
    data = tidy(frame, [], ["answer", "without", "with", "limit_without", "limit_with"]).dropna()
    across = _answers(data, whole)
    parts = []
    for name, label in WORLDS.items():
        side = {"left": -0.42, "right": -0.02} if name == "without" else {"left": 0.02, "right": 0.42}
        part = pd.DataFrame({"answer": data["answer"], "height": data[name], "limit": data[f"limit_{name}"]})
        parts.append(part.assign(world=label, **{edge: part["answer"] + step for edge, step in side.items()}))
    long = pd.concat(parts, ignore_index=True)
    axis = alt.Axis(minExtent=LEFT, maxExtent=LEFT, format=".2~g", tickCount=4, grid=False)
    up = alt.Y("height:Q", title="probability" if whole else "density", axis=axis)
    tips = tooltips("world|world", "answer|answer|.4~g", f"height|{'probability' if whole else 'density'}|.3~g")
    base = alt.Chart(long).encode(tooltip=tips)
    color = _color("world", "square" if whole else "stroke")
    layers: list[Any]
    beyond = bool((long["height"] > long["limit"] * (1 + 1e-9)).any())
    if whole:
        layers = [
            base.mark_rect(opacity=0.9, **CLIP).encode(
                alt.X("left:Q", **across), up, color, x2="right", y2=alt.datum(0)
            )
        ]
    else:
        above = [
            base.transform_filter(alt.FieldOneOfPredicate("world", [label])).mark_area(
                color=CLAIMED, opacity=0.75, **CLIP
            )
            for label in (WORLDS.values() if beyond else ())
        ]
        dash = alt.StrokeDash("world:N", scale=alt.Scale(domain=[*DASHES], range=[*DASHES.values()]), title=None)
        lines = base.mark_line(strokeWidth=3.5, **CLIP).encode(alt.X("answer:Q", **across), up, color, dash)
        layers = [area.encode(alt.X("answer:Q", **across), up, alt.Y2("limit:Q")) for area in above] + [lines]
    key = "Orange: where one world is above e^epsilon times the other. Each orange area is delta." if beyond else ""
    chart = present(
        alt.layer(*layers),
        "Two worlds, one person apart",
        key=key,
        seen=f"Probabilities of answers without you and with you, which are nearly on top of each other if epsilon is "
        f"small. {key}",
        height=360 if key else 330,
    )
    return nearer(chart, 4)


def ratio_band(frame: pd.DataFrame, *, epsilon: float, whole: bool = False) -> Chart:
    """How many times likelier each answer is with you than without you, and the band from e^-epsilon to e^epsilon.

    `frame`: one row per answer: `answer`, `log_ratio`.
    """
    data = tidy(frame, [], ["answer", "log_ratio"]).dropna()
    data["ratio"] = np.exp(data["log_ratio"].clip(-700, 700))
    outside = data["log_ratio"].abs() > epsilon * (1 + 1e-9)
    data["where"] = np.where(outside, "outside the band", "inside the band")
    most = largest(data["log_ratio"].abs(), 1.3 * epsilon) * 1.04
    across = _answers(data, whole)
    axis = alt.Axis(minExtent=LEFT, maxExtent=LEFT, values=[-epsilon, 0, epsilon], labelExpr=TIMES, grid=False)
    up: Any = {"title": "ratio", "axis": axis, "scale": alt.Scale(domain=[-most, most], nice=False)}
    band = alt.Chart(pd.DataFrame({"log_ratio": [-epsilon], "high": [epsilon]})).mark_rect(
        color=NEUTRAL, opacity=0.25, **CLIP
    )
    tips = tooltips("answer|answer|.4~g", "ratio|times as likely with you|.3~g", "where|epsilon allows it")
    base = alt.Chart(data).encode(alt.X("answer:Q", **across), alt.Y("log_ratio:Q", **up), tooltip=tips)
    marks: list[Any] = [band.encode(alt.Y("log_ratio:Q", **up), alt.Y2("high:Q"), tooltip=NO_TIP)]
    if whole:
        marks.append(base.mark_point(filled=True, size=60, opacity=1, color=INK, **CLIP))
    else:
        marks.append(base.mark_line(strokeWidth=3, color=INK, **CLIP))
        for side in ("datum.log_ratio > 0", "datum.log_ratio < 0"):
            far = base.transform_filter(f"datum.where == 'outside the band' && {side}")
            marks.append(far.mark_line(strokeWidth=5, color=CLAIMED, **CLIP))
    told = "It leaves the band in the tails." if outside.any() else "It never leaves the band."
    chart = present(
        alt.layer(*marks),
        "How much an answer tells about you",
        key=f"Answer’s probability with you, divided by that without you. Grey: what epsilon allows. {told}",
        seen=f"The ratio of the two probabilities at every answer, beside the band from {math.exp(-epsilon):.3g} to "
        f"{math.exp(epsilon):.3g}. {told}",
        height=270,
    )
    return nearer(chart, 4)


def answer_strip(frame: pd.DataFrame, *, low: float, high: float) -> Chart:
    """Some answers that were drawn in each world, on the axis low..high of the other charts.

    `frame`: one row per answer: `world` ("without" or "with"), `answer`. Answers beyond the axis are at its ends.
    """
    data = tidy(frame, ["world"], ["answer"]).dropna()
    data["world"] = data["world"].map(WORLDS)
    data["shown"] = data["answer"].clip(low, high)
    turn = data.groupby("world").cumcount()
    data["lane"] = (data["world"] == "without you").astype(float) + 0.3 * ((turn * 0.618) % 1 - 0.5)
    names = "datum.value > 0.5 ? 'without' : 'with'"
    axis = alt.Axis(minExtent=LEFT, maxExtent=LEFT, values=[0, 1], labelExpr=names, grid=False, ticks=False)
    base = alt.Chart(data).encode(
        alt.X("shown:Q", **_across(low, high)),
        alt.Y("lane:Q", title="world", axis=axis, scale=alt.Scale(domain=[-0.4, 1.4], nice=False)),
        alt.Color("world:N", scale=alt.Scale(domain=[*COLORS], range=[*COLORS.values()]), legend=None),
        tooltip=tooltips("world|world", "answer|answer|.4~g"),
    )
    marks = base.mark_point(filled=True, size=110, opacity=0.8, **CLIP)
    shape = alt.Shape("world:N", scale=alt.Scale(domain=[*COLORS], range=["diamond", "circle"]), legend=None)
    chart = present(
        marks.encode(shape),
        "Answers that were drawn",
        seen=f"{len(data)} answers as dots, in two rows: without you and with you.",
        height=190,
    )
    return nearer(chart, 4)


def votes(frame: pd.DataFrame) -> Chart:
    """The votes of an election in two worlds. `frame`: `candidate`, `votes`, `votes_other`."""
    data = tidy(frame, ["candidate"], ["votes", "votes_other"]).dropna()
    most = largest(data[["votes", "votes_other"]].to_numpy().ravel(), 1.0) * 1.12
    return _pairs(data, "votes", "votes_other", "votes", REAL, most, "The votes", ",.0f")


def election(frame: pd.DataFrame) -> Chart:
    """How probably each candidate is drawn, in two worlds. `frame`: `candidate`, `probability`, `probability_other`."""
    data = tidy(frame, ["candidate"], ["probability", "probability_other"]).dropna()
    return _pairs(data, "probability", "probability_other", "probability", RELEASED, 1.12, "Who is drawn", ".3p")


def choice_ratios(frame: pd.DataFrame, *, epsilon: float) -> Chart:
    """How much one voter changes each candidate's probability, and the band from e^-epsilon to e^epsilon.

    `frame`: one row per candidate: `candidate`, `log_ratio`.
    """
    data = tidy(frame, ["candidate"], ["log_ratio"]).dropna()
    data["ratio"] = np.exp(data["log_ratio"].clip(-700, 700))
    most = largest(data["log_ratio"].abs(), epsilon) * 1.1
    axis = alt.Axis(values=[-epsilon, -epsilon / 2, 0, epsilon / 2, epsilon], labelExpr=TIMES, grid=False)
    across: Any = {"title": "probability after, divided by before", "axis": axis}
    across["scale"] = alt.Scale(domain=[-most, most], nice=False)
    bands = pd.DataFrame({"log_ratio": [-epsilon, -epsilon / 2], "high": [epsilon, epsilon / 2]})
    band = alt.Chart(bands).mark_rect(color=NEUTRAL, opacity=0.2)
    tips = tooltips("candidate|candidate", "ratio|times as likely|.4~g")
    base = alt.Chart(data).encode(alt.X("log_ratio:Q", **across), alt.Y("candidate:N", title=None), tooltip=tips)
    dots = diamonds(base, RELEASED)
    return nearer(
        present(
            band.encode(alt.X("log_ratio:Q", **across), alt.X2("high:Q"), tooltip=NO_TIP) + dots,
            "What one voter changes",
            key="Light band: what epsilon allows. Dark band: half of epsilon.",
            seen=f"Each candidate's ratio of probabilities, inside the band from {math.exp(-epsilon):.3g} to "
            f"{math.exp(epsilon):.3g}.",
            height=alt.Step(34),
        ),
        4,
    )


def belief(frame: pd.DataFrame, *, prior: float) -> Chart:
    """How sure somebody can be after a release, against how sure before.

    `frame`: one row per prior: `prior`, `low`, `high` (0..1). `prior`: where the marks stand.
    """
    data = tidy(frame, [], ["prior", "low", "high"]).dropna()
    look: Any = {"scale": alt.Scale(domain=[0, 1], nice=False)}
    axis = alt.Axis(format="~%", tickCount=5)
    across = alt.X("prior:Q", title="sure before", axis=axis, **look)
    up = alt.Y("low:Q", title="sure after", axis=axis, **look)
    base = alt.Chart(data).encode(across)
    area = base.mark_area(color=RELEASED, opacity=0.35, line=False).encode(
        up, alt.Y2("high:Q"), tooltip=tooltips("prior|before|.0%", "low|after, at least|.1%", "high|after, at most|.1%")
    )
    same = base.mark_line(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2)
    same = same.encode(alt.Y("prior:Q", **look), tooltip=NO_TIP)
    here = data.iloc[(data["prior"] - prior).abs().argsort()[:1]]
    ends = here.melt(["prior"], ["low", "high"], var_name="end", value_name="sure")
    ends["text"] = [f"{100 * value:.3g} %" for value in ends["sure"]]
    mark = alt.Chart(ends).encode(across, alt.Y("sure:Q", **look), tooltip=tooltips("text|sure after"))
    rule = alt.Chart(here).mark_rule(color=RELEASED, strokeWidth=4).encode(across, up, alt.Y2("high:Q"), tooltip=NO_TIP)
    told = " to ".join(ends["text"])
    return nearer(
        present(
            alt.layer(area, same, rule, diamonds(mark, RELEASED)),
            "Sure before, sure after",
            key=f"Blue: where somebody’s belief may move. Dashed: it stays. Here: {told}.",
            seen=f"A band around the diagonal: from {100 * prior:.3g} % before to {told} after.",
            height=400,
        ),
        4,
    )


def _answers(data: pd.DataFrame, whole: bool) -> dict[str, Any]:
    """The axis of answers that stacked charts share."""
    room = 0.6 if whole else 0.0
    ends = [float(data["answer"].min()) - room, float(data["answer"].max()) + room] if len(data) else [0.0, 1.0]
    return _across(*ends)


def _across(low: float, high: float) -> dict[str, Any]:
    """An axis low..high of answers with labels that stay off its ends."""
    room = 0.07 * (high - low)
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS), STEPS[-1])
    ticks = np.arange(math.ceil((low + room) / step), math.floor((high - room) / step) + 1) * step
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    return {"title": "answer", "scale": scale, "axis": alt.Axis(grid=False, values=ticks.tolist(), format=",d")}


def _color(field: str, symbol: str) -> alt.Color:
    legend = alt.Legend(symbolType=symbol, symbolSize=300, symbolOpacity=1, labelFontSize=15)
    scale = alt.Scale(domain=[*COLORS], range=[*COLORS.values()])
    return alt.Color(f"{field}:N", scale=scale, title=None, legend=legend)


def _pairs(
    data: pd.DataFrame, first: str, second: str, title: str, color: str, most: float, heading: str, digits: str
) -> Chart:
    """A bar per candidate for the first world, and a diamond for the second."""
    tips = tooltips("candidate|candidate", f"{first}|before|{digits}", f"{second}|after|{digits}")
    axis = alt.Axis(format="~%" if digits == ".3p" else ",d", tickCount=4, grid=False)
    across: Any = {"title": title, "scale": alt.Scale(domain=[0, most], nice=False), "axis": axis}
    base = alt.Chart(data).encode(alt.Y("candidate:N", title=None), tooltip=tips)
    bars = base.mark_bar(color=color, height={"band": 0.6}).encode(alt.X(f"{first}:Q", **across))
    moved = base.mark_point(shape="diamond", filled=False, size=150, strokeWidth=2.5, color=INK, opacity=1)
    data["edge"] = data[[first, second]].max(axis=1) if len(data) else []
    words = base.mark_text(align="left", dx=12, fontSize=15, color=INK)
    words = words.encode(alt.X("edge:Q", **across), alt.Text(f"{first}:Q", format=digits), tooltip=NO_TIP)
    said = ", ".join(f"{name} {value:.4g}" for name, value in zip(data["candidate"], data[first], strict=True))
    layers = alt.layer(bars, moved.encode(alt.X(f"{second}:Q", **across)), words)
    key = "Bars and numbers: before. Hollow diamonds: after one voter."
    return nearer(present(layers, heading, seen=f"{heading}: {said}. {key}", height=alt.Step(40)), 4)
