"""Many runs in two neighboring worlds: their piles, the ratio of the piles, and what is known of epsilon."""

import math
import textwrap
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    INK,
    NEUTRAL,
    NO_TIP,
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
from dpcore.text import number as epsilon_text

COLORS = {"World A": SERIES[3], "World B": SERIES[2]}
LEFT = 74  # pixels that every axis of stacked charts takes, so that equal numbers are above each other
NARROW = 0.25  # of a broad bar, that a narrow one leaves free at either side
FAR = 8  # how many times farther than the rest an epsilon may be and still be drawn to scale
TIMES = "format(exp(datum.value), '.3~g')"  # an axis of logarithms that tells the ratios
TENFOLD = math.log(10)
CLIP: Any = {"clip": True}


def world_piles(
    frame: pd.DataFrame,
    *,
    runs: int,
    number: str,
    threshold: float,
    edge: float,
    above: bool,
    hits: tuple[int, int],
    counted: int,
    logarithmic: bool = False,
) -> Chart:
    """How often the attacker's number fell where, in both worlds, and the event that tells them apart.

    `frame`: one row per bin: `left`, `right`, `first`, `second` (runs). `runs`: per world. `number`: what it is. The
    event is "at or above" or "at or below" the `threshold` (infinite: none), where bins are divided at the `edge`; it
    happened in so many `hits` of `counted` runs.
    """
    data = tidy(frame, [], ["left", "right", "first", "second"]).dropna()
    parts = []
    for name, world in zip(("first", "second"), COLORS, strict=True):
        room = NARROW * (data["right"] - data["left"]) if name == "second" else 0.0
        ends = {"from": data["left"] + room, "to": data["right"] - room}
        parts.append(pd.DataFrame({"world": world, **ends, "count": data[name], "share": data[name] / max(runs, 1)}))
    long = pd.concat(parts, ignore_index=True)
    long = long[long["count"] > 0]
    most, least = largest(long["share"], 1e-3), 0.5 / max(runs, 1)
    scale = alt.Scale(domain=[0, 1.3 * most], nice=False)
    if logarithmic:
        scale = alt.Scale(type="log", domain=[least, most * (most / least) ** 0.3], nice=False)
    axis = alt.Axis(minExtent=LEFT, maxExtent=LEFT, format="~%", tickCount=4, grid=False)
    legend = alt.Legend(symbolType="square", symbolSize=300, symbolOpacity=1, labelFontSize=16)
    color = alt.Color("world:N", scale=alt.Scale(domain=[*COLORS], range=[*COLORS.values()]), title=None, legend=legend)
    tips = tooltips("world|world", "from|from|.4~g", "to|to|.4~g", "count|runs|,.0f", "share|share|.3~p")
    across = _across(data, number)
    bars = alt.Chart(long).mark_rect(opacity=0.8, **CLIP)
    bars = bars.encode(
        alt.X("from:Q", **across),
        alt.Y("share:Q", title="share of runs", scale=scale, axis=axis),
        color,
        x2="to",
        y2=alt.datum(least if logarithmic else 0),
        tooltip=tips,
    )
    layers: list[Any] = [bars]
    told = "No event was found that tells the worlds apart."
    if math.isfinite(threshold) and len(data):
        side = "above" if above else "below"
        happened = " and ".join(f"{world} {hit:,}" for world, hit in zip(COLORS, hits, strict=True))
        told = f"Grey: the event “{threshold:.4g} or {side}”. Of {counted:,} counted runs it happened in {happened}."
        layers = [*_event(data, across, edge, hits, above=above), bars]
    return nearer(
        present(
            alt.layer(*layers),
            "What the attacker saw, run by run",
            key=f"Broad: world A. Narrow: world B. {told}",
            seen=f"Two distributions of {runs:,} runs each, on top of each other. {told}",
            height=470,
        ),
        4,
    )


def _event(data: pd.DataFrame, across: Any, edge: float, hits: tuple[int, int], *, above: bool) -> list[Any]:
    """The event's region, its edge, and how often it happened."""
    low, high = float(data["left"].min()), float(data["right"].max())
    left = edge < (low + high) / 2  # words go where there is more room
    words = [f"{world}: {hit:,}" for world, hit in zip(COLORS, hits, strict=True)]
    frame = pd.DataFrame({"from": [edge], "to": [high if above else low], "text": ["\n".join(words)]})
    base = alt.Chart(frame)
    shade = base.mark_rect(color=NEUTRAL, opacity=0.22, **CLIP).encode(
        alt.X("from:Q", **across), x2="to", tooltip=tooltips("text|runs with the event")
    )
    rule = base.mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=2).encode(alt.X("from:Q", **across), tooltip=NO_TIP)
    label = base.mark_text(
        align="left" if left else "right", dx=8 if left else -8, baseline="top", fontSize=16, fontWeight="bold",
        color=INK, lineBreak="\n",
    )  # fmt: skip
    return [
        shade,
        rule,
        label.encode(alt.X("from:Q", **across), y=alt.value(6), text=alt.Text("text:N"), tooltip=NO_TIP),
    ]


def world_ratios(frame: pd.DataFrame, *, number: str, claimed: float, proved: float) -> Chart:
    """How many times as frequent every bin is in world B as in world A, beside what the epsilons allow.

    `frame`: one row per bin: `left`, `right`, `log_ratio`, `low`, `high` (the last two the ends of an interval; all
    may be infinite, and bins without runs are missing). `claimed`, `proved`: epsilons, maybe infinite.
    """
    bins = tidy(frame, [], ["left", "right"]).dropna()
    data = frame[["left", "right", "log_ratio", "low", "high"]].reset_index(drop=True).astype(float).dropna()
    near = np.maximum(np.maximum(data["low"], -data["high"]), 0)  # how far a ratio is from one, at least
    bands = [epsilon for epsilon in (claimed, proved) if math.isfinite(epsilon)]
    reach = largest([*near, *bands[:1]], 1.0)
    most = 1.5 * max(reach, *(band for band in bands if band < 2 * reach), 1.0)
    data[["log_ratio", "low", "high"]] = data[["log_ratio", "low", "high"]].clip(-most, most)
    data = data.assign(middle=(data["left"] + data["right"]) / 2, ratio=np.exp(data["log_ratio"]))
    beyond = (data["low"] > claimed) | (data["high"] < -claimed)
    data["where"] = np.where(beyond, "outside of what is claimed", "not surely outside")
    ticks = [-claimed, 0.0, claimed] if math.isfinite(claimed) else [-TENFOLD, 0.0, TENFOLD]
    axis = alt.Axis(minExtent=LEFT, maxExtent=LEFT, values=ticks, labelExpr=TIMES, grid=False)
    up: Any = {"title": "B / A", "axis": axis, "scale": alt.Scale(domain=[-most, most], nice=False)}
    across = _across(bins, number)
    layers: list[Any] = []
    for epsilon, color, opacity in ((proved, RELEASED, 0.14), (claimed, CLAIMED, 0.25)):
        if math.isfinite(epsilon):
            ends = pd.DataFrame({"low": [-min(epsilon, most)], "high": [min(epsilon, most)]})
            band = alt.Chart(ends).mark_rect(color=color, opacity=opacity, **CLIP)
            layers.append(band.encode(alt.Y("low:Q", **up), alt.Y2("high:Q"), tooltip=NO_TIP))
    tips = tooltips("left|from|.4~g", "right|to|.4~g", "ratio|B / A|.3~g", "where|this is")
    look = alt.condition(
        "datum.where == 'outside of what is claimed'", alt.value(CLAIMED), alt.value({"expr": INK.expr})
    )
    base = alt.Chart(data).encode(alt.X("middle:Q", **across), tooltip=tips)
    whiskers = base.mark_rule(strokeWidth=3, **CLIP).encode(alt.Y("low:Q", **up), alt.Y2("high:Q"), color=look)
    dots = base.mark_point(filled=True, size=80, opacity=1, **CLIP).encode(alt.Y("log_ratio:Q", **up), color=look)
    count = int(beyond.sum())
    lie = "bars lie" if count > 1 else "bar lies"
    told = f"{count or 'No'} {lie} wholly outside." if math.isfinite(claimed) else ""
    named = [
        f"Orange band: claimed, e^±{epsilon_text(claimed)}. {told}" if math.isfinite(claimed) else "Nothing is claimed."
    ]
    named.append(f"Blue band: proved, e^±{epsilon_text(proved)}." if math.isfinite(proved) else "Nothing is proved.")
    return nearer(
        present(
            alt.layer(*layers, whiskers, dots),
            "How many times as frequent in world B as in world A",
            key=" ".join(named),
            seen=f"For every bin of the distributions, the ratio of its two frequencies with a 95 % interval. {told}",
            height=380,
        ),
        4,
    )


def known_epsilon(*, lower: float, claimed: float, proved: float) -> Chart:
    """What is known of the epsilon that a run really costs, and where the claim is. Epsilons may be infinite."""
    usual = max([lower, 0.5, *([claimed] if math.isfinite(claimed) else [])])
    shown = proved if math.isfinite(proved) and proved <= FAR * usual else math.inf
    edge = 1.3 * max(usual, shown if math.isfinite(shown) else 0.0)
    end = min(max(shown, lower), edge)
    least = f"at least {math.floor(1000 * lower) / 1000:g}" if lower else "at least 0: the attack found nothing"
    most = f"proved: at most {epsilon_text(proved)}" if math.isfinite(proved) else "no epsilon is proved"
    across: Any = {"title": "epsilon", "scale": alt.Scale(domain=[0, edge], nice=False)}
    across["axis"] = alt.Axis(tickCount=6, grid=False)
    rows = ["is claimed", "really costs"]
    up: Any = {"title": None, "sort": rows, "scale": alt.Scale(domain=rows)}
    up["axis"] = alt.Axis(minExtent=LEFT, labelFontSize=16, ticks=False)
    base = alt.Chart(pd.DataFrame([{"row": rows[1], "from": lower, "to": end, "least": least, "most": most}]))
    place = base.encode(alt.Y("row:N", **up))
    bar = place.mark_bar(color=RELEASED, opacity=0.75, height=22)
    layers: list[Any] = [
        bar.encode(
            alt.X("from:Q", **across), x2=alt.X2("to"), tooltip=tooltips("least|by this attack", "most|by proof")
        )
    ]
    words: Any = {"fontSize": 16, "color": INK, "fontWeight": "bold"}
    if not math.isfinite(shown):
        arrow = place.mark_point(shape="triangle-right", filled=True, size=500, color=RELEASED, opacity=1)
        layers.append(arrow.encode(alt.X("to:Q", **across), tooltip=tooltips("most|by proof")))
    late = lower > 0.6 * edge
    first = place.mark_text(align="right" if late else "left", dy=-24, **words)
    last = place.mark_text(align="right" if end > 0.4 * edge else "left", dy=26, **words)
    layers.append(first.encode(alt.X("from:Q", **across), text=alt.Text("least:N"), tooltip=NO_TIP))
    layers.append(last.encode(alt.X("to:Q", **across), text=alt.Text("most:N"), tooltip=NO_TIP))
    finite = math.isfinite(claimed)
    told = epsilon_text(claimed) if finite else "no epsilon"
    claim = alt.Chart(pd.DataFrame([{"row": rows[0], "at": claimed if finite else edge, "text": told}]))
    placed = claim.encode(alt.X("at:Q", **across), tooltip=tooltips("text|claimed"))
    if finite:
        layers.insert(0, placed.mark_rule(color=CLAIMED, strokeWidth=3, strokeDash=[6, 4]))
        layers.append(diamonds(placed.encode(alt.Y("row:N", **up)), CLAIMED))
    left = finite and claimed < 0.6 * edge
    text = placed.mark_text(align="left" if left else "right", dx=14 if left else -14, **words)
    layers.append(text.encode(alt.Y("row:N", **up), text=alt.Text("text:N"), tooltip=NO_TIP))
    return nearer(
        present(
            alt.layer(*layers),
            "What is claimed, and what is known",
            key="Blue: where the real epsilon lies. Left end: the attack, 95 % sure. Right end: the proof.",
            seen=f"Claimed: {told}. The real cost: {least}; {most}.",
            height=alt.Step(84),
        ),
        4,
    )


def _across(data: pd.DataFrame, number: str) -> dict[str, Any]:
    """The axis of the attacker's number that stacked charts share."""
    low, high = (float(data["left"].min()), float(data["right"].max())) if len(data) else (0.0, 1.0)
    title = textwrap.wrap(number, 95)
    return {
        "title": title,
        "scale": alt.Scale(domain=[low, high], nice=False, zero=False),
        "axis": alt.Axis(grid=False, titleLimit=760),
    }
