"""Randomized answers: who holds what, a crowd's reports, what can be told from them, and what they give away."""

import math
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import PICTURES, Chart, present
from dpcore.charts.colors import CLAIMED, INK, NEUTRAL, REAL, RELEASED, SERIES
from dpcore.charts.frames import in_order, tidy
from dpcore.charts.marks import (
    NO_TIP,
    Look,
    color_and_shape,
    diamonds,
    end_labels,
    keyed,
    level,
    ruled,
    setting_rule,
    single,
    strokes,
    tooltips,
    words,
)
from dpcore.charts.scales import scaled, shares, span
from dpcore.language import phrase, retold, say
from dpcore.text import number

MARKS, TALL = 200, 5
SAID = {"yes": (RELEASED, "circle"), "no": (SERIES[6], "square")}
BEYOND, FURTHEST = 0.22, 2.5  # how far the axis goes beyond 0 and 1, at least and at most
MOST_EPSILON = 6.0
# The first line is broad, so that another on top of it leaves both to be seen.
DESCRIBED: list[Look] = [(RELEASED, [1, 0], 9), ({"expr": INK.expr}, [7, 5], 3), (SERIES[2], [3, 4], 4)]
FRESH, KEPT = phrase("a fresh report each time"), phrase("the first report, kept")
PRINTED, CORRECTED = phrase("a·x + b, as published"), phrase("Laplace noise, corrected")


def crowd(frame: pd.DataFrame, *, revealed: bool = False) -> Chart:
    """Draw what a crowd reported, as a field of at most 200 marks.

    Parameters
    ----------
    frame : DataFrame
        One row per report and truth: `said`, `truth` ("yes" or "no"), `people`.
    revealed : bool, default=False
        Whether it also shows what of it is true, which no collector can know.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["said", "truth"], ["people"]).fillna({"people": 0})
    data["rank"] = 2 * (data["said"] == "no") + (data["truth"] == "no")
    data = data.groupby(["rank", "said", "truth"], sort=True)["people"].sum().reset_index()
    called = data["said"] + "_" + data["truth"] if revealed else data["said"]
    data["name"] = called.map(PICTURES["crowd"]["names"]).map(say)
    people = data["people"].sum()
    totals = data.groupby("name", sort=False)["people"].transform("sum")
    data["kind"] = [
        say("{name}: {total:,.0f}", name=name, total=total) for name, total in zip(data["name"], totals, strict=True)
    ]
    marks = min(MARKS, int(people))
    ends = np.round(data["people"].cumsum() / max(people, 1) * marks).astype(int)
    drawn = data.loc[np.repeat(data.index, np.diff(ends, prepend=0))].reset_index(drop=True)
    place = drawn.index.to_numpy()
    drawn = drawn[["kind"]].assign(x=place // TALL, y=place % TALL)

    first = data.drop_duplicates("kind")
    kinds = first["kind"].to_list()
    colors, shapes = ([SAID[said][look] for said in first["said"]] for look in (0, 1))
    hollow = revealed & (first["said"] != first["truth"])
    fills = ["transparent" if open_ else color for open_, color in zip(hollow, colors, strict=True)]
    legend = alt.Legend(symbolOpacity=1, columns=2, labelFontSize=15, labelLimit=400)
    icons = alt.Chart(drawn).encode(
        alt.X("x:O", axis=None),
        alt.Y("y:O", axis=None),
        *color_and_shape("kind", kinds, colors, shapes, legend=legend),
        keyed(alt.Fill, "kind", kinds, fills, legend=legend),
        tooltip=tooltips("kind|people who"),
    )
    drawn = icons.mark_point(strokeWidth=2, opacity=1, size=150)
    cases = {"many|one": 0 < marks < people, "revealed|said": revealed}
    values: Any = {"people": people, "each": people / max(marks, 1), "kinds": "; ".join(kinds)}
    return present(drawn, "crowd", cases, **values)


def coin_estimates(frame: pd.DataFrame, *, truth: float) -> Chart:
    """Draw estimated shares with the first one's interval, on an axis beyond 0% and 100%.

    Parameters
    ----------
    frame : DataFrame
        One row per crowd: `estimate`, `low`, `high` (shares; they may be below 0 and above 1; an
        interval without ends goes to the edges). The first crowd is on the screen, others are dots.
    truth : float
        The true share of all of them.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["estimate", "low", "high"]).dropna(subset=["estimate"]).reset_index(drop=True)
    places = [place for place in [*data["estimate"], *data["low"].head(1), *data["high"].head(1)] if place == place]
    left = max(-FURTHEST, min([-BEYOND, *(place - 0.06 for place in places)]))
    right = min(1 + FURTHEST, max([1 + BEYOND, *(place + 0.06 for place in places)]))
    data["lane"] = 0.55 * (np.arange(len(data)) * 0.618 % 1)
    this, another = say("this crowd"), say("another crowd")
    data["which"] = np.where(data.index == 0, this, another)
    data.loc[:0, "lane"] = 0.88
    data["low"], data["high"] = data["low"].fillna(left).clip(left), data["high"].fillna(right).clip(upper=right)
    data["kept"] = data["estimate"].clip(0, 1)
    data["shown"] = data["estimate"].clip(left, right)
    data["text"] = [say("estimate {share:.1f}%", share=100 * value) for value in data["estimate"]]
    repeated = len(data) > 1

    title: str = say("share of people whose true answer is yes")
    axis = {"format": "~%", "tickCount": 12, "grid": False}
    across = scaled(title, span(left, right, zero=False), **axis)
    bold: Any = {"fontWeight": "bold"}
    ends: Any = {"from": [left, 1.0], "to": [0.0, right], "edge": [0.0, 1.0], "middle": [left / 2, (1 + right) / 2]}
    area = alt.Chart(pd.DataFrame(ends | {"text": say("impossible: noise")})).encode(tooltip=NO_TIP)
    shade = area.mark_rect(color=NEUTRAL, opacity=0.22).encode(alt.X("from:Q", **across), x2=alt.X2("to"))
    label = area.encode(alt.X("middle:Q", **across), y=alt.value(6))
    edges = area.mark_rule(color=NEUTRAL, strokeWidth=1.5).encode(alt.X("edge:Q", **across))
    layers = [shade, edges, words(label, "text", baseline="top", **bold)]
    at, said = alt.X("at:Q", **across), say("truth {share:.3g}%", share=100 * truth)
    look = {"baseline": "bottom", **bold}
    layers += ruled(
        at, truth, said, {"y": alt.value(-4)}, look, phrase("only the game knows"), color=REAL, strokeWidth=4
    )

    tooltip = tooltips("which|crowd", "estimate|estimate|.1%", "kept|clipped to 0…100%|.1%")
    lanes = alt.Y("lane:Q", axis=None, scale=span(-0.1 if repeated else 0.55, 1.15))
    base = alt.Chart(data).encode(lanes, tooltip=tooltip)
    this_one = base.transform_filter(f"datum.which == '{this}'")
    shown = alt.X("shown:Q", **across)
    if repeated:
        others = base.transform_filter(f"datum.which != '{this}'").encode(shown)
        layers.append(others.mark_point(filled=True, size=70, color=RELEASED, opacity=0.75))
    layers.append(this_one.mark_rule(strokeWidth=4, color=RELEASED).encode(alt.X("low:Q", **across), x2=alt.X2("high")))
    shifted = this_one.transform_filter("datum.estimate != datum.kept").encode(alt.X("kept:Q", **across))
    clip: Any = {"shape": "diamond", "size": 190, "strokeWidth": 2.5, "filled": False, "opacity": 1}
    layers += [diamonds(this_one, RELEASED).encode(shown), shifted.mark_point(color=RELEASED, **clip)]
    layers.append(end_labels(this_one.encode(alt.X("high:Q", **across)), "high", "text", dx=10, **bold))
    outside = data["estimate"] != data["kept"]
    cases = {"clipped": outside.head(1).any(), "repeated": repeated}
    values: Any = {"truth": 100 * truth, "low": 100 * left, "high": 100 * right}
    values |= {"others": len(data) - 1, "outside": int(outside.sum())}
    values["estimate"] = "".join(data["text"].head(1))
    return present(layers, "coin_estimates", cases, height=340 if repeated else 220, **values)


def descriptions(
    frame: pd.DataFrame,
    *,
    against: Literal["setting", "epsilon"],
    at: float | None = None,
    crossing: tuple[float, float] | None = None,
) -> Chart:
    """Draw one measure of randomizers that are described in different words.

    Parameters
    ----------
    frame : DataFrame
        One row per description and setting: `series` (up to 3), `setting` (0..1), `epsilon`,
        `measure` (one), `value` (0..1).
    against : {"setting", "epsilon"}
        What is on the axis.
    at : float, optional
        Where an upright rule stands.
    crossing : (float, float), optional
        Position and value where two lines meet.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["series", "measure"], ["setting", "epsilon", "value"]).dropna(subset=[against, "value"])
    most = 1.0 if against == "setting" else MOST_EPSILON
    name = say(next(iter(data["measure"]), phrase("No measure")))
    data = data.assign(x=data[against], series=data["series"].map(retold))[["series", "x", "value"]]
    data = data[data["x"].between(0, most)].reset_index(drop=True)
    title = say("p0 or p in the rule") if against == "setting" else say("epsilon")
    across = alt.X("x:Q", **scaled(title, span(0, most), tickCount=6))
    up = alt.Y("value:Q", **shares(None))
    looks = dict(zip(in_order(data["series"]), DESCRIBED, strict=False))
    layers: list[Any] = strokes(alt.Chart(data).encode(across, up), looks, tooltips("x|at|.3~g"), columns=1)
    if at is not None and math.isfinite(at):
        layers.insert(0, setting_rule(across, tooltips("x|your setting|.3~g"), x=min(at, most)))
    if crossing is not None:
        meet = single(x=crossing[0], value=crossing[1], label=say("both {share:.1f}%", share=100 * crossing[1])).encode(
            across, up
        )
        dot = meet.mark_point(color=INK, filled=False, size=180, strokeWidth=3, opacity=1)
        layers.append(dot.encode(tooltip=tooltips("label|they meet", "x|at|.3~g")))
        layers.append(words(meet, "label", align="left", dx=8, dy=16, fontWeight="bold"))
    values: Any = {"title": name, "measure": name, "setting": title, "most": most}
    height = 370 + 30 * len(looks)  # with the legend, which has a line for each
    return present(layers, "descriptions", series=say(" and ").join(looks), height=height, **values)


def averaging(frame: pd.DataFrame, *, alone: float | None = None) -> Chart:
    """Draw what many reports of one person give away, fresh ones and one that is kept.

    Parameters
    ----------
    frame : DataFrame
        One row per number of reports: `reports`, `right`, `kept` (how often the most frequent
        report is true), `epsilon` (as text).
    alone : float, optional
        How often a guess without any report is right.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["epsilon"], ["reports", "right", "kept"])
    known = data.dropna(subset=["right", "kept"])
    same = len(known) > 0 and np.allclose(known["right"], known["kept"])
    case = "tossed"
    if same and (known["right"] > 1 - 1e-9).all():
        case = "true"
    elif same and alone is not None and np.allclose(known["right"], alone):
        case = "guessed"
    fresh, kept = say(FRESH), say(KEPT)
    long = data.rename(columns={"right": fresh, "kept": kept})
    long = long.melt(["reports", "epsilon"], [fresh, kept], var_name="series").rename(columns={"reports": "x"})
    long.loc[long["series"] == kept, "epsilon"] = "".join(data["epsilon"].head(1))
    last = (long["x"] == long["x"].max()) & ~((long["series"] == kept) & same)
    long["label"] = long["epsilon"].map(lambda paid: say("epsilon {epsilon}", epsilon=paid)).where(last, "")
    base = alt.Chart(long.dropna(subset=["x", "value"])).encode(
        alt.X("x:Q", title=say("reports of one person"), scale=alt.Scale(nice=False, zero=False, padding=12)),
        alt.Y("value:Q", **shares(say("most frequent report is true"))),
    )
    looks: dict[str, Look] = {fresh: (CLAIMED, [1, 0], 4), kept: (RELEASED, [7, 5], 4)}
    tooltip = tooltips("x|reports|,.0f", "epsilon|epsilon in all")
    colors = alt.Scale(domain=[*looks], range=[look[0] for look in looks.values()])
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        alt.Color("series:N", scale=colors, title=None),
        tooltip=[*tooltips("series|series"), *tooltip, *tooltips("value|value|.1%")],
    )
    layers = [*strokes(base, looks, tooltip), dots]
    # above and below, so that neither is on the other
    for name, move in ((fresh, -15), (kept, 16)):
        own = base.transform_filter(alt.FieldOneOfPredicate("series", [name]))
        bold: Any = {"fontWeight": "bold"}
        layers.append(words(own, "label", align="right", dx=-4, dy=move, **bold))
    if alone is not None:
        layers += level(alone, say("guess without any report {share:.1f}%", share=100 * alone))
    ends = [
        say("{share:.0f}% after {reports:,.0f}", share=100 * r, reports=n)
        for r, n in known.tail(1)[["right", "reports"]].to_numpy()
    ]
    return present(layers, "averaging", {case: True}, ends=", ".join(ends))


def tails(frame: pd.DataFrame, *, bound: float) -> Chart:
    """Draw how much more likely far reports are for one number than for another, with both noises.

    Parameters
    ----------
    frame : DataFrame
        One row per kind and position: `series` (as published first, then corrected), `beyond`,
        `log_ratio`.
    bound : float
        The epsilon of the corrected one.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["beyond", "log_ratio"], said=["series"]).dropna()
    data = data.rename(columns={"beyond": "x", "log_ratio": "value"})
    base = alt.Chart(data).encode(
        alt.X("x:Q", **scaled(say("reports beyond ± this"), alt.Scale(nice=False), tickCount=10)),
        alt.Y("value:Q", title=say("logarithm of the ratio"), scale=alt.Scale(zero=True)),
    )
    looks = dict(zip(in_order(data["series"]), [(CLAIMED, [1, 0], 4.0), (RELEASED, [7, 5], 4.0)], strict=False))
    name = say("bound: epsilon {epsilon}", epsilon=number(bound))
    lines = strokes(base, looks, tooltips("x|beyond ±|.3~g"))
    return present([*level(bound, name, right=True), *lines], "tails")
