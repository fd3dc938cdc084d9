"""Two neighboring worlds beside each other: probabilities, drawn answers, an attack's runs, ratios, and the game."""

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, INK, NEUTRAL, RELEASED, SERIES
from dpcore.charts.frames import breadth, largest, tidy, wrapped
from dpcore.charts.marks import (
    NO_TIP,
    boxes,
    color_and_shape,
    group_colors,
    keyed,
    side_by_side,
    single,
    tooltips,
    words,
)
from dpcore.charts.scales import scaled, span
from dpcore.language import phrase, plural, say
from dpcore.text import number as epsilon_text

PAIR = [SERIES[3], SERIES[2]]  # the colors of two worlds
YOU = {"without": phrase("without you"), "with": phrase("with you")}
TABLE = {"without": phrase("out of the table"), "with": phrase("in the table")}
RUNS = {"first": phrase("World A"), "second": phrase("World B")}
# of pixels: equal answers are above each other
STACKED: Any = {"minExtent": 74, "maxExtent": 74, "grid": False}
CLIP: Any = {"clip": True}  # a mark over the edge would move it, in one of the stacked charts only
STEPS, MOST_TICKS = (1, 2, 5, 10, 20, 50, 100), 12
NARROW = 0.25  # of a broad bar, that a narrow one leaves free at either side
TIMES = "format(exp(datum.value), '.3~g')"  # an axis of logarithms that tells the ratios
TENFOLD, TOO_MANY = math.log(10), math.log(1e6)
WAYS = {phrase("players"): (RELEASED, "diamond"), phrase("best strategy"): (SERIES[4], "circle")}


def two_worlds(frame: pd.DataFrame, *, whole: bool = False) -> Chart:
    """Draw the probabilities of answers in two neighboring worlds.

    What leaves the band that epsilon allows is shaded.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: `answer`, `without`, `with`, `limit_without`, `limit_with` (densities,
        or probabilities).
    whole : bool, default=False
        Whether answers are whole numbers with probabilities, of which nothing leaves the band.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["answer", "without", "with", "limit_without", "limit_with"]).dropna()
    across = _answers(data, whole)
    bins = data.assign(**{"from": data["answer"] - 0.5, "to": data["answer"] + 0.5})
    long = side_by_side(bins, YOU, ["answer"], height="{}", limit="limit_{}")
    what = say("probability") if whole else say("density")
    up = alt.Y("height:Q", title=what, axis=alt.Axis(**STACKED, format=".2~g", tickCount=4))
    tooltip = tooltips("group|world", "answer|answer|.4~g", f"height|{what}|.3~g")
    base = alt.Chart(long).encode(tooltip=tooltip)
    color = group_colors("group", map(say, YOU.values()), PAIR, "square" if whole else "stroke")
    beyond = bool((long["height"] > long["limit"] * (1 + 1e-9)).any())
    layers: list[Any] = []
    if whole:
        layers.append(boxes(base.encode(color), alt.X("left:Q", **across), "right", up, opacity=0.9, **CLIP))
    else:
        lines = base.encode(alt.X("answer:Q", **across), up)
        for label in map(say, YOU.values()) if beyond else ():
            own = lines.transform_filter(alt.FieldOneOfPredicate("group", [label]))
            layers.append(own.mark_area(color=CLAIMED, opacity=0.75, **CLIP).encode(alt.Y2("limit:Q")))
        dash = keyed(alt.StrokeDash, "group", map(say, YOU.values()), [[7, 4], [1, 0]])
        layers.append(lines.mark_line(strokeWidth=3.5, **CLIP).encode(color, dash))
    return present(layers, "two_worlds", {"beyond": beyond}, height=360 if beyond else 330)


def ratio_band(frame: pd.DataFrame, *, epsilon: float, whole: bool = False) -> Chart:
    """Draw how many times likelier each answer is with you than without you.

    A band shows what epsilon allows, from e^-epsilon to e^epsilon.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: `answer`, `log_ratio`.
    epsilon : float
        The epsilon of the band.
    whole : bool, default=False
        Whether answers are whole numbers.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["answer", "log_ratio"]).dropna()
    data["ratio"] = np.exp(data["log_ratio"].clip(-700, 700))
    outside = data["log_ratio"].abs() > epsilon * (1 + 1e-9)
    beyond, within = say("outside the band"), say("inside the band")
    data["where"] = np.where(outside, beyond, within)
    most = min(largest(data["log_ratio"].abs(), 1.3 * epsilon) * 1.04, 3 * epsilon)
    up = scaled(say("ratio"), span(-most, most), **STACKED, values=[-epsilon, 0, epsilon], labelExpr=TIMES)
    tooltip = tooltips("answer|answer|.4~g", "ratio|times as likely with you|.3~g", "where|epsilon allows it")
    across = alt.X("answer:Q", **_answers(data, whole))
    base = alt.Chart(data).encode(across, alt.Y("log_ratio:Q", **up), tooltip=tooltip)
    marks = [_band(up, "log_ratio", epsilon, NEUTRAL, 0.25)]
    if whole:
        marks.append(base.mark_point(filled=True, size=60, opacity=1, color=INK, **CLIP))
    else:
        marks.append(base.mark_line(strokeWidth=3, color=INK, **CLIP))
        for side in ("datum.log_ratio > 0", "datum.log_ratio < 0"):
            far = base.transform_filter(f"datum.where == '{beyond}' && {side}")
            marks.append(far.mark_line(strokeWidth=5, color=CLAIMED, **CLIP))
    return present(marks, "ratio_band", {"beyond|within": outside.any()})


def answer_strip(frame: pd.DataFrame, *, low: float, high: float) -> Chart:
    """Draw some answers that were sampled in each world, on the axis of the other charts.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: `world` ("without" or "with"), `answer`. Answers beyond the axis are at
        its ends.
    low, high : float
        The ends of the axis.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["world"], ["answer"]).dropna()
    data["world"] = data["world"].map(YOU).map(say)
    data["shown"] = data["answer"].clip(low, high)
    beyond = int((data["shown"] != data["answer"]).sum())
    turn = data.groupby("world").cumcount()
    data["lane"] = (data["world"] == say(YOU["without"])).astype(float) + 0.3 * ((turn * 0.618) % 1 - 0.5)
    sides = f"datum.value > 0.5 ? '{say('without')}' : '{say('with')}'"
    look: Any = {"values": [0, 1], "labelExpr": sides, "ticks": False}
    names = [*map(say, YOU.values())]
    base = alt.Chart(data).encode(
        alt.X("shown:Q", **_across(low, high)),
        alt.Y("lane:Q", **scaled(say("world"), span(-0.4, 1.4), **STACKED, **look)),
        *color_and_shape("world", names, PAIR, ["diamond", "circle"], title=alt.Undefined, legend=None),
        tooltip=tooltips("world|world", "answer|answer|.4~g"),
    )
    dots = base.mark_point(filled=True, size=110, opacity=0.8, **CLIP)
    values = {"beyond": beyond, "count": len(data), "height": 215 if beyond else 190}
    return present(dots, "answer_strip", {"beyond": beyond}, **values)


def _answers(data: pd.DataFrame, whole: bool) -> dict[str, Any]:
    """The axis of answers that stacked charts share."""
    room = 0.6 if whole else 0.0
    return _across(*([data["answer"].min() - room, data["answer"].max() + room] if len(data) else [0.0, 1.0]))


def _across(low: float, high: float) -> dict[str, Any]:
    """An axis low..high of answers with labels that stay off its ends."""
    room = 0.07 * (high - low)
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS), STEPS[-1])
    ticks = np.arange(math.ceil((low + room) / step), math.floor((high - room) / step) + 1) * step
    return scaled(say("answer"), span(low, high, zero=False), grid=False, values=ticks.tolist(), format=",d")


def _band(up: dict[str, Any], field: str, epsilon: float, color: str, opacity: float) -> Any:
    """What an epsilon allows on an axis of log ratios."""
    band = single(**{field: -epsilon, "high": epsilon}).mark_rect(color=color, opacity=opacity, **CLIP)
    return band.encode(alt.Y(f"{field}:Q", **up), alt.Y2("high:Q"), tooltip=NO_TIP)


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
    claimed: float = math.inf,
    lower: float = 0.0,
    logarithmic: bool = False,
) -> Chart:
    """Draw how often the attacker's number fell where in both worlds.

    It also shows the event that tells them apart, which is "at or above" or "at or below" the
    threshold.

    Parameters
    ----------
    frame : DataFrame
        One row per bin: `left`, `right`, `first`, `second` (runs).
    runs : int
        The runs per world.
    number : str
        What the number is.
    threshold : float
        The event's threshold; infinite if there is no event.
    edge : float
        Where bins are divided by the event.
    above : bool
        Whether the event is "at or above".
    hits : (int, int)
        In how many runs it happened in each world.
    counted : int
        Of how many.
    claimed, lower : float
        The claimed epsilon, which may be infinite, and the lower bound with 95% confidence.
    logarithmic : bool, default=False
        Whether runs are counted on a log scale.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["left", "right", "first", "second"]).dropna()
    long = data.rename(columns={name: say(world) for name, world in RUNS.items()})
    long = long.melt(["left", "right"], var_name="world", value_name="count")
    room = NARROW * (long["right"] - long["left"]) * (long["world"] == say(RUNS["second"]))
    ends = {"from": long.pop("left") + room, "to": long.pop("right") - room}
    long = long.assign(**ends, share=long["count"] / max(runs, 1))[long["count"] > 0]
    most, least = largest(long["share"], 1e-3), 0.5 / max(runs, 1)
    scale = span(least, most * (most / least) ** 0.7, type="log") if logarithmic else span(0, 2.1 * most)
    across = _numbers(data, number)
    up = alt.Y("share:Q", **scaled(say("share of runs"), scale, **STACKED, format="~%", tickCount=4))
    tooltip = tooltips("world|world", "from|from|.4~g", "to|to|.4~g", "count|runs|,.0f", "share|share|.3~p")
    color, floor = group_colors("world", map(say, RUNS.values()), PAIR), least if logarithmic else 0
    base = alt.Chart(long).encode(color, tooltip=tooltip)
    layers = [boxes(base, alt.X("from:Q", **across), "to", up, floor=floor, opacity=0.8, **CLIP)]
    values: Any = {"runs": runs}
    if math.isfinite(threshold) and len(data):
        event = phrase("{threshold:.4g} or above") if above else phrase("{threshold:.4g} or below")
        values |= {"event": say(event, threshold=threshold), "counted": counted}
        values |= {"first": hits[0], "second": hits[1]}
        proof = [
            say("{name}: {hits:,.0f} of {counted:,} runs", name=say(world), hits=hit, counted=counted)
            for world, hit in zip(RUNS.values(), hits, strict=True)
        ]
        if math.isfinite(claimed):
            most_often = math.exp(min(claimed, TOO_MANY))
            proof.append(say("claimed: at most {ratio:,.3g} times", ratio=most_often))
        if lower:  # never rounded up
            least_often = f"{math.floor(100 * math.exp(min(lower, TOO_MANY))) / 100:,.10g}"
            proof.append(say("95% sure: at least {ratio} times", ratio=least_often))
        layers = [*_event(data, across, edge, "\n".join(proof), above=above), *layers]
    return present(layers, "world_piles", {"event|none": "event" in values}, **values)


def _numbers(data: pd.DataFrame, number: str) -> dict[str, Any]:
    """The axis of the attacker's number that stacked charts share."""
    low, high = (float(data["left"].min()), float(data["right"].max())) if len(data) else (0.0, 1.0)
    return scaled(wrapped(number, 95), span(low, high, zero=False), grid=False, titleLimit=760)


def _event(data: pd.DataFrame, across: Any, edge: float, text: str, *, above: bool) -> list[Any]:
    """The event's region, its edge, and what it proves."""
    low, high = float(data["left"].min()), float(data["right"].max())
    # Words go where there is more room, and not beyond the end of a narrow chart.
    rest, side, sign = ("width - ", "left", "") if edge < (low + high) / 2 else ("", "right", "-")
    wide = 7.8 * max(map(breadth, text.splitlines()))
    aside = alt.ExprRef(f"{sign}min(8, {rest}scale('x', datum['from']) + 12 - {wide:.0f})")
    base = single(**{"from": edge, "to": high if above else low, "text": text}).encode(alt.X("from:Q", **across))
    shade = base.mark_rect(color=NEUTRAL, opacity=0.22, **CLIP)
    shade = shade.encode(x2="to", tooltip=tooltips("text|runs with the event"))
    rule = base.mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=2).encode(tooltip=NO_TIP)
    look: Any = {"align": side, "dx": aside, "baseline": "top", "fontWeight": "bold"}
    return [shade, rule, words(base.encode(y=alt.value(6)), "text", lineBreak="\n", **look)]


def times(epsilon: float) -> str:
    """The ratio of two frequencies that an epsilon allows, in words."""
    told, ratio = epsilon_text(epsilon), math.exp(min(epsilon, TOO_MANY))
    if epsilon < TOO_MANY:
        return say("epsilon {epsilon}, at most {ratio:,.3g} times as frequent", epsilon=told, ratio=ratio)
    return say("epsilon {epsilon}, over a million times as frequent", epsilon=told)


def world_ratios(frame: pd.DataFrame, *, number: str, claimed: float, proved: float) -> Chart:
    """Draw how many times as frequent every bin is in world B as in world A.

    It also shows what the epsilons allow.

    Parameters
    ----------
    frame : DataFrame
        One row per bin: `left`, `right`, `log_ratio`, `low`, `high` (the last two the ends of an
        interval; all may be infinite, and bins without runs are missing).
    number : str
        What the number is.
    claimed, proved : float
        The claimed and the proven epsilon, maybe infinite.

    Returns
    -------
    alt.Chart
        The chart.
    """
    bins = tidy(frame, [], ["left", "right"]).dropna()
    data = frame[["left", "right", "log_ratio", "low", "high"]].reset_index(drop=True).astype(float).dropna()
    # how far a ratio is from one, at least
    least = np.maximum(np.maximum(data["low"], -data["high"]), 0)
    bands = [epsilon for epsilon in (claimed, proved) if math.isfinite(epsilon)]
    reach = largest([*least, *bands[:1]], 1.0)
    most = 1.5 * max(reach, *(band for band in bands if band < 2 * reach), 1.0)
    data[["log_ratio", "low", "high"]] = data[["log_ratio", "low", "high"]].clip(-most, most)
    data = data.assign(middle=(data["left"] + data["right"]) / 2, ratio=np.exp(data["log_ratio"]))
    beyond = (data["low"] > claimed) | (data["high"] < -claimed)
    outside, within = say("outside of what is claimed"), say("not surely outside")
    data["where"] = np.where(beyond, outside, within)
    tick = claimed if math.isfinite(claimed) else TENFOLD
    up = scaled(say("B / A"), span(-most, most), **STACKED, values=[-tick, 0.0, tick], labelExpr=TIMES)
    layers = [
        _band(up, "low", min(epsilon, most), color, opacity)
        for epsilon, color, opacity in ((proved, RELEASED, 0.14), (claimed, CLAIMED, 0.25))
        if math.isfinite(epsilon)
    ]
    tooltip = tooltips("left|from|.4~g", "right|to|.4~g", "ratio|B / A|.3~g", "where|this is")
    look = alt.condition(f"datum.where == '{outside}'", alt.value(CLAIMED), alt.value({"expr": INK.expr}))
    base = alt.Chart(data).encode(alt.X("middle:Q", **_numbers(bins, number)), color=look, tooltip=tooltip)
    whiskers = base.mark_rule(strokeWidth=3, **CLIP).encode(alt.Y("low:Q", **up), alt.Y2("high:Q"))
    dots = base.mark_point(filled=True, size=80, opacity=1, **CLIP).encode(alt.Y("log_ratio:Q", **up))
    count = int(beyond.sum())
    told, key = "", say("Nothing is claimed.")
    if math.isfinite(claimed):
        told = say("No bar lies wholly outside.")
        if count:
            told = plural("{n} bar lies wholly outside.", "{n} bars lie wholly outside.", count)
        key = say("Orange band: claimed, {times}. {told}", times=times(claimed), told=told)
    known = say("Nothing is proved.")
    if math.isfinite(proved):
        known = say("Blue band: proved, {times}.", times=times(proved))
    return present([*layers, whiskers, dots], "world_ratios", claimed=key, proved=known)


def round_worlds(frame: pd.DataFrame, *, at: float | None = None, number: str) -> Chart:
    """Draw the probabilities of what a round of the membership game can show in both worlds.

    Parameters
    ----------
    frame : DataFrame
        One row per number: `number`, `without`, `with`.
    at : float, optional
        The number that was shown.
    number : str
        What the number is.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["number", "without", "with"]).dropna()
    low, high = (float(data["number"].min()), float(data["number"].max())) if len(data) else (0.0, 1.0)
    across = scaled(number, span(low - 0.6, high + 0.6), grid=False, tickMinStep=1, format="d")
    up = alt.Y("chance:Q", title=say("probability"), axis=alt.Axis(format="~%", tickCount=4, grid=False))
    tooltip = tooltips("group|world", "number|number|,.0f", "chance|probability|.3~p")
    bins = data.assign(**{"from": data["number"] - 0.5, "to": data["number"] + 0.5})
    color = group_colors("group", map(say, TABLE.values()), PAIR)
    long = side_by_side(bins, TABLE, ["number"], chance="{}")
    base = alt.Chart(long).encode(color, tooltip=tooltip)
    layers = [boxes(base, alt.X("left:Q", **across), "right", up, opacity=0.9, **CLIP)]
    if at is not None:
        mark = single(left=min(max(at, low - 0.5), high + 0.5), text=f"{at:,.0f}")
        mark = mark.encode(alt.X("left:Q", **across), tooltip=tooltips("text|this round"))
        arrow = mark.mark_point(shape="triangle-down", filled=True, size=450, color=INK, opacity=1)
        layers += [mark.mark_rule(color=INK, strokeWidth=2, strokeDash=[6, 4]), arrow.encode(y=alt.value(10))]
    return present(layers, "round_worlds", {"shown|none": at is not None}, number=at)


def game_scores(frame: pd.DataFrame, *, limit: pd.DataFrame) -> Chart:
    """Draw shares of rounds that were guessed right, and how many may be at most if epsilon holds.

    Parameters
    ----------
    frame : DataFrame
        One row per score: `epsilon`, `who` ("players" or "best strategy"), `honest` (whether what
        is released costs what it claims), `share`, `low`, `high` (0..1), `rounds`.
    limit : DataFrame
        The most that epsilon allows: `epsilon`, `share`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["epsilon", "share", "low", "high", "rounds"], said=["who"])
    data["honest"] = frame["honest"].to_list()
    line = tidy(limit, [], ["epsilon", "share"]).dropna()
    names = [*map(say, WAYS)]
    data["release"] = np.where(data["honest"], say("corrected"), say("as published"))
    lane = 2 * (data["who"] == names[1]).astype(float) + ~data["honest"].astype(bool) - 1.5
    data["at"] = data["epsilon"] * 1.09**lane  # marks of one epsilon stand beside each other
    scale, ticks = alt.Scale(type="log", nice=False, padding=30), line["epsilon"].to_list()
    across = scaled(say("epsilon that is claimed"), scale, values=ticks, format="~g", grid=False)
    up = scaled(say("guessed right"), span(0, 1.02), format="~%", values=[0, 0.25, 0.5, 0.75, 1])
    share, tooltip = alt.Y("share:Q", **up), tooltips("epsilon|epsilon|~g", "share|at most|.1%")
    allowed = alt.Chart(line).mark_line(color=CLAIMED, strokeWidth=3, interpolate="monotone")
    allowed = allowed.encode(alt.X("epsilon:Q", **across), share, tooltip=tooltip)
    half = single(share=0.5).encode(share, tooltip=NO_TIP)
    half = half.mark_rule(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2)
    who = tooltips("who|who", "release|release", "rounds|rounds|,.0f", "share|right|.1%", "low|from|.1%")
    who += tooltips("high|to|.1%")
    legend = alt.Legend(symbolOpacity=1, symbolSize=200, labelFontSize=16)
    color, shape = color_and_shape("who", names, *zip(*WAYS.values(), strict=True), legend=legend)
    base = alt.Chart(data).encode(alt.X("at:Q", **across), color, tooltip=who)
    whiskers = base.mark_rule(strokeWidth=3).encode(alt.Y("low:Q", **up), alt.Y2("high:Q"))
    dots = []
    for honest in (True, False):
        mark = base.transform_filter(f"datum.honest == {str(honest).lower()}").encode(share, shape)
        dots.append(mark.mark_point(filled=honest, size=220, strokeWidth=4, opacity=1))
    said = "; ".join(f"{who} {share:.0%}" for who, share in zip(data["who"], data["share"], strict=True))
    return present([half, allowed, whiskers, *dots], "game_scores", shares=said)
