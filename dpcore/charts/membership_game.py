"""The membership game: what a round can show, and how often it was guessed right."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import CLAIMED, INK, NEUTRAL, NO_TIP, RELEASED, SERIES, Chart, present, tidy, tooltips
from dpcore.charts.responses import nearer

SIDES = {"without": "out of the table", "with": "in the table"}
COLORS = [SERIES[3], SERIES[2]]
WAYS = {"players": (RELEASED, "diamond"), "best strategy": (SERIES[4], "circle")}
CLIP: Any = {"clip": True}


def round_worlds(frame: pd.DataFrame, *, at: float | None = None, number: str) -> Chart:
    """The probabilities of what a round of the game can show in both worlds, and what it showed.

    `frame`: one row per number: `number`, `without`, `with`. `at`: the number that was shown.
    """
    data = tidy(frame, [], ["number", "without", "with"]).dropna()
    parts = []
    for name, label in SIDES.items():
        left, right = (-0.42, -0.02) if name == "without" else (0.02, 0.42)
        part = pd.DataFrame({"number": data["number"], "chance": data[name], "world": label})
        parts.append(part.assign(left=part["number"] + left, right=part["number"] + right))
    long = pd.concat(parts, ignore_index=True)
    low, high = (float(data["number"].min()), float(data["number"].max())) if len(data) else (0.0, 1.0)
    scale = alt.Scale(domain=[low - 0.6, high + 0.6], nice=False)
    across: Any = {"title": number, "scale": scale, "axis": alt.Axis(grid=False, tickMinStep=1, format="d")}
    color = alt.Scale(domain=[*SIDES.values()], range=COLORS)
    legend = alt.Legend(symbolType="square", symbolSize=300, symbolOpacity=1, labelFontSize=16)
    tips = tooltips("world|world", "number|number|,.0f", "chance|probability|.3~p")
    bars = alt.Chart(long).mark_rect(opacity=0.9, **CLIP)
    bars = bars.encode(
        alt.X("left:Q", **across),
        alt.Y("chance:Q", title="probability", axis=alt.Axis(format="~%", tickCount=4, grid=False)),
        alt.Color("world:N", scale=color, title=None, legend=legend),
        x2="right",
        y2=alt.datum(0),
        tooltip=tips,
    )
    layers: list[Any] = [bars]
    told = "Nothing was shown yet."
    if at is not None:
        place = min(max(at, low - 0.5), high + 0.5)
        told = f"The arrow: this round’s number, {at:,.0f}."
        mark = alt.Chart(pd.DataFrame({"left": [place], "text": [f"{at:,.0f}"]}))
        mark = mark.encode(alt.X("left:Q", **across), tooltip=tooltips("text|this round"))
        layers.append(mark.mark_rule(color=INK, strokeWidth=2, strokeDash=[6, 4]))
        arrow = mark.mark_point(shape="triangle-down", filled=True, size=450, color=INK, opacity=1)
        layers.append(arrow.encode(y=alt.value(10)))
    return nearer(
        present(
            alt.layer(*layers),
            "What can be released, in both worlds",
            key=told,
            seen=f"Probabilities of {number}, with the person in the table and out of it. {told}",
            height=330,
        ),
        4,
    )


def game_scores(frame: pd.DataFrame, *, limit: pd.DataFrame) -> Chart:
    """Shares of rounds that were guessed right, and how many may be at most if epsilon holds.

    `frame`: one row per score: `epsilon`, `who` ("players" or "best strategy"), `honest` (whether what is released
    costs what it claims), `share`, `low`, `high` (0..1), `rounds`. `limit`: `epsilon`, `share`.
    """
    data = tidy(frame, ["who"], ["epsilon", "share", "low", "high", "rounds"]).assign(honest=frame["honest"].to_list())
    line = tidy(limit, [], ["epsilon", "share"]).dropna()
    names = [*WAYS]
    data["release"] = np.where(data["honest"], "corrected", "as printed")
    lane = 2 * (data["who"] == names[1]).astype(float) + (data["release"] == "as printed") - 1.5
    data["at"] = data["epsilon"] * 1.09**lane  # marks of one epsilon stand beside each other
    across: Any = {"title": "epsilon that is claimed", "scale": alt.Scale(type="log", nice=False, padding=30)}
    across["axis"] = alt.Axis(values=line["epsilon"].to_list(), format="~g", grid=False)
    up: Any = {"title": "guessed right", "scale": alt.Scale(domain=[0, 1.02], nice=False)}
    up["axis"] = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1])
    allowed = alt.Chart(line).mark_line(color=CLAIMED, strokeWidth=3, interpolate="monotone")
    allowed = allowed.encode(
        alt.X("epsilon:Q", **across),
        alt.Y("share:Q", **up),
        tooltip=tooltips("epsilon|epsilon|~g", "share|at most|.1%"),
    )
    half = alt.Chart(pd.DataFrame({"share": [0.5]})).mark_rule(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2)
    half = half.encode(alt.Y("share:Q", **up), tooltip=NO_TIP)
    tips = tooltips(
        "who|who", "release|release", "rounds|rounds|,.0f", "share|right|.1%", "low|from|.1%", "high|to|.1%"
    )
    color = alt.Scale(domain=names, range=[color for color, _ in WAYS.values()])
    shape = alt.Scale(domain=names, range=[shape for _, shape in WAYS.values()])
    legend = alt.Legend(symbolOpacity=1, symbolSize=200, labelFontSize=16)
    base = alt.Chart(data).encode(alt.X("at:Q", **across), tooltip=tips)
    colored = alt.Color("who:N", scale=color, title=None, legend=legend)
    whiskers = base.mark_rule(strokeWidth=3).encode(alt.Y("low:Q", **up), alt.Y2("high:Q"), colored)
    dots = []
    for release, solid in (("corrected", True), ("as printed", False)):
        mark = base.transform_filter(f"datum.release == '{release}'")
        mark = mark.mark_point(filled=solid, size=220, strokeWidth=4, opacity=1)
        dots.append(
            mark.encode(alt.Y("share:Q", **up), colored, alt.Shape("who:N", scale=shape, title=None, legend=legend))
        )
    said = "; ".join(f"{who} {share:.0%}" for who, share in zip(data["who"], data["share"], strict=True))
    return nearer(
        present(
            alt.layer(half, allowed, whiskers, *dots),
            "Scores, and the most that epsilon allows",
            key="Orange: e^epsilon / (1 + e^epsilon). Dashed: a fair coin. Hollow marks: as printed.",
            seen=f"Shares of rounds guessed right, with intervals, against epsilon: {said}.",
            height=400,
        ),
        4,
    )
