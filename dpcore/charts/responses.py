"""Randomized answers: who holds what, a crowd's reports, and what can be told from them."""

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    INK,
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    SERIES,
    Chart,
    diamonds,
    in_order,
    present,
    tidy,
    tooltips,
)

MARKS, TALL = 200, 5
SAID = {"yes": (RELEASED, "circle"), "no": (SERIES[6], "square")}
BEYOND, FURTHEST = 0.22, 2.5  # how far the axis goes beyond 0 and 1, at least and at most
STRIP = (0.0, 0.55)
HERE = {"truth": REAL, "noise": RELEASED}
# Who: left edge, row, what they hold, two lines
BOXES = [
    (0.0, "a curator", "truth", "You", "your true answer"),
    (4.2, "a curator", "truth", "A trusted curator", "everybody’s true answers"),
    (8.4, "a curator", "noise", "What is published", "noise added once"),
    (0.0, "nobody", "truth", "You", "your true answer"),
    (4.2, "nobody", "noise", "A collector", "noisy reports only"),
    (8.4, "nobody", "noise", "What is published", "estimates from reports"),
]
ARROWS = [
    (0.0, "a curator", "truth", "the truth"),
    (4.2, "a curator", "noise", "noise here"),
    (0.0, "nobody", "noise", "noise here"),
    (4.2, "nobody", "noise", "the reports"),
]
WIDE, GAP = 2.8, 1.4


def nearer(chart: Chart, offset: int) -> Chart:
    """The same chart with its title closer to it."""
    heading: Any = getattr(chart, "title").copy()  # noqa: B009 - Altair does not type it
    heading.offset = offset
    return chart.properties(title=heading)


def trust() -> Chart:
    """Where the noise is added: by a curator who holds the true rows, or by everybody for themselves."""
    rows = {"a curator": "Other pages", "nobody": "This page"}
    boxes = pd.DataFrame(BOXES, columns=["left", "who", "holds", "head", "foot"])
    boxes = boxes.assign(right=boxes["left"] + WIDE, middle=boxes["left"] + WIDE / 2, row=boxes["who"].map(rows))
    ways = pd.DataFrame(ARROWS, columns=["left", "who", "holds", "text"])
    ways = ways.assign(left=ways["left"] + WIDE + 0.08, right=ways["left"] + WIDE + GAP - 0.08)
    ways = ways.assign(middle=(ways["left"] + ways["right"]) / 2, row=ways["who"].map(rows))

    vertical = alt.Y("row:N", title=None, scale=alt.Scale(domain=[*rows.values()], paddingInner=0.3, paddingOuter=0.1))
    vertical = vertical.axis(domain=False, ticks=False, labelPadding=12, labelFontWeight="bold", labelFontSize=15)
    scale = alt.Scale(domain=[-0.05, 8.4 + WIDE + 0.05], nice=False, zero=False)
    colors = alt.Scale(domain=[*HERE], range=[*HERE.values()])
    across: Any = {"scale": scale, "axis": None}
    color = alt.Color("holds:N", scale=colors, legend=None)
    base = alt.Chart(boxes).encode(vertical, tooltip=NO_TIP)
    frames = base.mark_rect(fillOpacity=0.16, strokeWidth=2.5, cornerRadius=6, stroke=NEUTRAL).encode(
        alt.X("left:Q", **across), color, alt.Stroke("holds:N", scale=colors, legend=None), x2="right"
    )
    center = base.encode(alt.X("middle:Q", **across))
    heads = center.mark_text(fontSize=16, fontWeight="bold", dy=-9, color=INK).encode(text=alt.Text("head:N"))
    feet = center.mark_text(fontSize=14, dy=10, color=INK).encode(text=alt.Text("foot:N"))
    walk = alt.Chart(ways).encode(vertical, tooltip=NO_TIP)
    lines = walk.mark_rule(strokeWidth=3).encode(color, alt.X("left:Q", **across), x2=alt.X2("right"))
    tips = walk.mark_point(shape="triangle-right", filled=True, size=170, opacity=1)
    tips = tips.encode(color, alt.X("right:Q", **across))
    said = walk.mark_text(fontSize=14, fontWeight="bold", dy=-14, color=INK)
    said = said.encode(alt.X("middle:Q", **across), text=alt.Text("text:N"))
    chart = present(
        alt.layer(frames, heads, feet, lines, tips, said),
        "Who sees the truth?",
        seen="On other pages people give true answers to a trusted curator, who adds noise once. On this page "
        "everybody adds noise to their own answer, and the collector holds noisy reports only.",
        height=alt.Step(59),
    )
    return nearer(chart, 4)


def crowd(frame: pd.DataFrame, *, revealed: bool = False) -> Chart:
    """What a crowd said, as a field of at most 200 marks; `revealed`: and what of it is true, which nobody can know.

    `frame`: one row per report and truth: `said`, `truth` ("yes" or "no"), `people`.
    """
    data = tidy(frame, ["said", "truth"], ["people"]).fillna({"people": 0})
    order = {("yes", "yes"): 0, ("yes", "no"): 1, ("no", "yes"): 2, ("no", "no"): 3}
    data = data.assign(rank=[order[pair] for pair in zip(data["said"], data["truth"], strict=True)])
    data = data.groupby(["rank", "said", "truth"], sort=True)["people"].sum().reset_index()
    true = data["said"] == data["truth"]
    if revealed:
        data["name"] = "said " + data["said"] + np.where(true, ", which is true", ", which is not true")
    else:
        data["name"] = "said " + data["said"]
    people = data["people"].sum()
    totals = data.groupby("name", sort=False)["people"].transform("sum")
    data["kind"] = [f"{name}: {total:,.0f}" for name, total in zip(data["name"], totals, strict=True)]
    marks = min(MARKS, int(people))
    ends = np.round(data["people"].cumsum() / max(people, 1) * marks).astype(int)
    drawn = data.loc[np.repeat(data.index, np.diff(ends, prepend=0))].reset_index(drop=True)
    place = drawn.index.to_numpy()
    drawn = drawn[["kind"]].assign(x=place // TALL, y=place % TALL)

    kinds = in_order(data["kind"])
    first = data.drop_duplicates("kind").set_index("kind")
    looks = [SAID[first["said"][kind]] for kind in kinds]
    hollow = [revealed and first["said"][kind] != first["truth"][kind] for kind in kinds]
    legend = alt.Legend(symbolOpacity=1, columns=2, labelFontSize=15, labelLimit=400)

    def scale(values: list[str]) -> dict[str, Any]:
        return {"scale": alt.Scale(domain=kinds, range=values), "title": None, "legend": legend}

    fills = ["transparent" if open_ else look[0] for look, open_ in zip(looks, hollow, strict=True)]
    each = f"Each mark: {people / marks:,.3g} people. " if marks and people > marks else "Each mark: one person. "
    blind = "This is all that the collector sees: no report says whether it is true."
    known = "Only this game knows what is true, because it made these people up: no collector has this view."
    icons = alt.Chart(drawn).encode(
        alt.X("x:O", axis=None), alt.Y("y:O", axis=None), tooltip=tooltips("kind|people who")
    )
    return present(
        icons.mark_point(strokeWidth=2, opacity=1, size=150).encode(
            alt.Color("kind:N", **scale([look[0] for look in looks])),
            alt.Shape("kind:N", **scale([look[1] for look in looks])),
            alt.Fill("kind:N", **scale(fills)),
        ),
        "What they said, and what is true" if revealed else "What they said",
        key=each + (known if revealed else blind),
        seen=f"{people:,.0f} people as marks. {'; '.join(kinds)}. {known if revealed else blind}",
        height=alt.Step(25),
    )


def coin_estimates(frame: pd.DataFrame, *, truth: float) -> Chart:
    """Estimated shares with the first one's interval, on an axis that goes beyond 0 % and 100 %.

    `frame`: one row per crowd: `estimate`, `low`, `high` (shares; they may be below 0 and above 1; an interval without
    ends goes to the edges). The first crowd is on the screen, others are dots. `truth`: the true share of all of them.
    """
    data = tidy(frame, [], ["estimate", "low", "high"]).dropna(subset=["estimate"]).reset_index(drop=True)
    places = data[["estimate"]].to_numpy().ravel().tolist() + data.head(1)[["low", "high"]].to_numpy().ravel().tolist()
    places = [place for place in places if math.isfinite(place)]
    left = max(-FURTHEST, min([-BEYOND, *(place - 0.06 for place in places)]))
    right = min(1 + FURTHEST, max([1 + BEYOND, *(place + 0.06 for place in places)]))
    data["lane"] = STRIP[0] + (STRIP[1] - STRIP[0]) * (np.arange(len(data)) * 0.618 % 1)
    data["which"] = np.where(data.index == 0, "this crowd", "another crowd")
    data.loc[:0, "lane"] = 0.88
    data["low"], data["high"] = data["low"].fillna(left).clip(left), data["high"].fillna(right).clip(upper=right)
    data["kept"] = data["estimate"].clip(0, 1)
    data["shown"] = data["estimate"].clip(left, right)
    data["text"] = [f"estimate {100 * value:.1f} %" for value in data["estimate"]]
    repeated = len(data) > 1

    axis = alt.Axis(format="~%", tickCount=12, grid=False)
    across: Any = {"scale": alt.Scale(domain=[left, right], nice=False, zero=False), "axis": axis}
    across["title"] = "share of people whose true answer is yes"
    vertical: Any = {"axis": None, "scale": alt.Scale(domain=[-0.1 if repeated else 0.55, 1.15], nice=False)}
    zones = pd.DataFrame({"from": [left, 1.0], "to": [0.0, right], "text": "impossible: noise"})
    zones = zones.assign(middle=(zones["from"] + zones["to"]) / 2)
    area = alt.Chart(zones).encode(tooltip=NO_TIP)
    shade = area.mark_rect(color=NEUTRAL, opacity=0.22).encode(alt.X("from:Q", **across), x2=alt.X2("to"))
    label = area.mark_text(fontSize=14, fontWeight="bold", color=INK, baseline="top")
    label = label.encode(alt.X("middle:Q", **across), y=alt.value(6), text=alt.Text("text:N"))
    edges = (
        area.mark_rule(color=NEUTRAL, strokeWidth=1.5)
        .encode(alt.X("edge:Q", **across))
        .transform_calculate(edge="datum.from < 0 ? datum.to : datum.from")
    )

    rule = alt.Chart(pd.DataFrame({"truth": [truth], "text": [f"truth {100 * truth:.3g} %"]})).encode(
        alt.X("truth:Q", **across), tooltip=tooltips("text|only the game knows")
    )
    name = rule.mark_text(color=INK, fontSize=15, fontWeight="bold", baseline="bottom")
    truths = [rule.mark_rule(color=REAL, strokeWidth=4), name.encode(y=alt.value(-4), text=alt.Text("text:N"))]

    tips = tooltips("which|crowd", "estimate|estimate|.1%", "kept|clipped to 0…100 %|.1%")
    base = alt.Chart(data).encode(alt.Y("lane:Q", **vertical), tooltip=tips)
    here = base.transform_filter("datum.which == 'this crowd'")
    bar = here.mark_rule(strokeWidth=4, color=RELEASED).encode(alt.X("low:Q", **across), x2=alt.X2("high"))
    mark = diamonds(here, RELEASED).encode(alt.X("shown:Q", **across))
    first, toward = data.head(1), "left" if (data["estimate"].head(1) < truth).all() else "right"
    room = first["low"] - left if toward == "left" else right - first["high"]
    sides: Any = {"left": ("low", {"align": "right", "dx": -10}), "right": ("high", {"align": "left", "dx": 10})}
    roomy = bool((room > 0.2 * (right - left)).all())
    field, look = sides[toward] if roomy else ("shown", {"dy": 22})
    said = here.mark_text(fontSize=15, fontWeight="bold", color=INK, **look)
    said = said.encode(alt.X(f"{field}:Q", **across), text=alt.Text("text:N"), tooltip=NO_TIP)
    moved = here.transform_filter("datum.estimate != datum.kept").mark_point(
        shape="diamond", size=190, strokeWidth=2.5, color=RELEASED, filled=False, opacity=1
    )
    others = base.transform_filter("datum.which != 'this crowd'").mark_point(
        filled=True, size=70, color=RELEASED, opacity=0.75
    )
    dots = [others.encode(alt.X("shown:Q", **across))] if repeated else []
    layers = [shade, edges, label, *truths, *dots, bar, mark, moved.encode(alt.X("kept:Q", **across)), said]
    outside = int(((data["estimate"] < 0) | (data["estimate"] > 1)).sum())
    many = (
        f" Dots: {len(data) - 1:,} other crowds with the same truth; {outside:,} of all are impossible."
        if repeated
        else ""
    )
    clipped = bool(len(data)) and data["estimate"][0] != data["kept"][0]
    return present(
        alt.layer(*layers),
        "What the reports say about everybody",
        key=f"Diamond and bar: this crowd’s estimate and its 95 % interval."
        f"{' Hollow: clipped to what is possible.' if clipped else ''}{many}",
        seen=f"Estimated share {', '.join(data['text'].head(1))}, truth {100 * truth:.3g} %, on an axis from "
        f"{100 * left:.0f} % to {100 * right:.0f} %; below 0 % and above 100 % is marked as impossible.{many}",
        height=340 if repeated else 220,
    )


def channel_matrix(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """How often each true value is reported as each value.

    `frame`: one row per cell: `truth`, `reported`, `probability` (0..1), for up to 12 values.
    """
    data = tidy(frame, ["truth", "reported"], ["probability"]).dropna()
    names = in_order([*data["truth"], *data["reported"]])
    base = alt.Chart(data, height=alt.Step(max(34, 60 - 4 * len(names)))).encode(
        alt.X("reported:N", title="what is reported", scale=alt.Scale(domain=names), axis=alt.Axis(labelAngle=0)),
        alt.Y("truth:N", title="what is true", scale=alt.Scale(domain=names)),
        tooltip=tooltips("truth|true value", "reported|reported", "probability|probability|.2%"),
    )
    scale, legend = alt.Scale(scheme="viridis", domain=[0, 1]), alt.Legend(format="~%")
    cells = base.mark_rect().encode(alt.Color("probability:Q", title="probability", scale=scale, legend=legend))
    ink = alt.condition("datum.probability > 0.45", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
    words = base.mark_text(fontSize=15, fontWeight="bold")
    return present(
        cells + words.encode(text=alt.Text("probability:Q", format=".1%"), color=ink),
        title or "What becomes of an answer",
        key="Each row of cells sums to 100 %. The more alike the rows, the less a report tells.",
        seen=f"Matrix of the probabilities with which {len(names)} true values are reported as each value.",
    )
