"""Two neighboring worlds beside each other, what attacks see of them, and what attacks on tables without names find.

Shares of people go from 0% to 100%, so that two settings can be told apart, and two attacks
compared.
"""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.frames import breadth, largest, tidy, wrap_text
from dpcore.charts.marks import (
    Plot,
    YValue,
    color_and_shape,
    diamonds,
    end_labels,
    group_colors,
    legend_channel,
    level,
    one_row,
    setting_rule,
    side_by_side,
    tooltips,
    words,
)
from dpcore.charts.scales import (
    CLAIMED,
    INK,
    LEAST,
    MOST,
    NEUTRAL,
    REAL,
    RELEASED,
    SERIES,
    ChartAxis,
    epsilons,
    log_scale,
    scaled_axis,
    shares,
    span,
)
from dpcore.language import phrase, plural, say
from dpcore.text import number as epsilon_text
from dpcore.text import odds, percent

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
COLORS = (REAL, RELEASED, CLAIMED)


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
    bins = data.assign(**{"from": data["answer"] - 0.5, "to": data["answer"] + 0.5})
    long = side_by_side(bins, YOU, ["answer"], height="{}", limit="limit_{}")
    what = say("probability") if whole else say("probability density")
    up = scaled_axis(alt.Scale(), **STACKED, format=".2~g", tickCount=4) | {"title": what}
    plot = Plot("two_worlds", _answers(data, whole), up)
    tooltip = tooltips("group|world", "answer|answer|.4~g", f"height|{what}|.3~g")
    names = [*map(say, YOU.values())]
    color = group_colors("group", names, PAIR, "square" if whole else "stroke")
    far = long["height"] > long["limit"] * (1 + 1e-9)
    if whole:
        layers = [plot(long, ("left", "right"), ("height", 0), tooltip, color).mark_rect(opacity=0.9, **CLIP)]
    else:
        dash = legend_channel(alt.StrokeDash, "group", names, [[7, 4], [1, 0]])
        areas = plot(long, "answer", ("height", "limit"), tooltip).mark_area(color=CLAIMED, opacity=0.75, **CLIP)
        layers = [areas.transform_filter(alt.FieldOneOfPredicate("group", [name])) for name in names if far.any()]
        layers.append(plot(long, "answer", "height", tooltip, color, dash).mark_line(strokeWidth=3.5, **CLIP))
    return present(layers, "two_worlds", {"beyond": far.any()}, height=360 if far.any() else 330)


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
    outside = data["log_ratio"].abs() > epsilon * (1 + 1e-9)
    data["ratio"] = np.exp(data["log_ratio"].clip(-700, 700))
    data["where"] = np.where(outside, say("outside the allowed band"), say("inside the allowed band"))
    most = min(largest(data["log_ratio"].abs(), 1.3 * epsilon) * 1.04, 3 * epsilon)
    plot = Plot("ratio_band", _answers(data, whole), _ratios(most, epsilon))
    layers = [_band(plot, epsilon, NEUTRAL, 0.25)]
    if whole:
        points = plot(data, "answer", "log_ratio", plot.tooltip)
        layers.append(points.mark_point(filled=True, size=60, opacity=1, color=INK, **CLIP))
    else:
        above, below = data[outside & (data["log_ratio"] > 0)], data[outside & (data["log_ratio"] < 0)]
        for rows, wide, color in ((data, 3, INK), (above, 5, CLAIMED), (below, 5, CLAIMED)):
            line = plot(rows, "answer", "log_ratio", plot.tooltip)
            layers.append(line.mark_line(strokeWidth=wide, color=color, **CLIP))
    return present(layers, "ratio_band", {"beyond|within": outside.any()})


def answer_strip(frame: pd.DataFrame, *, low: float, high: float) -> Chart:
    """Draw some answers that were sampled in each world, on the axis of `two_worlds`.

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
    turn = data.groupby("world").cumcount()
    data["lane"] = (data["world"] == "without").astype(float) + 0.3 * ((turn * 0.618) % 1 - 0.5)
    data["world"], data["shown"] = data["world"].map(YOU).map(say), data["answer"].clip(low, high)
    beyond = int((data["shown"] != data["answer"]).sum())
    sides = f"datum.value > 0.5 ? '{say('without you')}' : '{say('with you')}'"
    lanes = scaled_axis(span(-0.4, 1.4), **STACKED, values=[0, 1], labelExpr=sides)
    plot, names = Plot("answer_strip", _across(low, high), lanes), [*map(say, YOU.values())]
    looks = color_and_shape("world", names, PAIR, ["diamond", "circle"], title=alt.Undefined, legend=None)
    dots = plot(data, "shown", "lane", plot.tooltip, *looks).mark_point(filled=True, size=110, opacity=0.8, **CLIP)
    values = {"beyond": beyond, "count": len(data), "height": 215 if beyond else 190}
    return present(dots, "answer_strip", {"beyond": beyond}, **values)


def _answers(data: pd.DataFrame, whole: bool) -> ChartAxis:
    """Return the axis of answers that the charts of two worlds share, to stand below each other.

    If `whole`, answers are whole numbers, and there is room for their bars.
    """
    room = 0.6 if whole else 0.0
    return _across(*([data["answer"].min() - room, data["answer"].max() + room] if len(data) else [0.0, 1.0]))


def _across(low: float, high: float) -> ChartAxis:
    """Return an axis of answers from `low` to `high` whose labels stay inside its ends."""
    room = 0.07 * (high - low)
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS), STEPS[-1])
    ticks = np.arange(math.ceil((low + room) / step), math.floor((high - room) / step) + 1) * step
    axis = scaled_axis(span(low, high, zero=False), grid=False, values=ticks.tolist(), format=",d")
    return axis | {"title": say("answer")}


def _ratios(most: float, tick: float) -> ChartAxis:
    """Return the axis of log ratios, labeled with the ratios.

    It goes from -most to most, with labels at -tick, 0 and tick.
    """
    return scaled_axis(span(-most, most), **STACKED, values=[-tick, 0.0, tick], labelExpr=TIMES)


def _band(plot: Plot, epsilon: float, color: str, opacity: float) -> Any:
    """Draw the band of log ratios that an epsilon allows: from -epsilon to epsilon."""
    band = plot(one_row(low=-epsilon, high=epsilon), None, ("low", "high"))
    return band.mark_rect(color=color, opacity=opacity, **CLIP)


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
    """Draw the frequencies of the number that an attacker computes in two neighboring worlds.

    It also shows the event that tells the worlds apart: the number is "at or above" or "at or
    below" the threshold.

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
    plot = Plot("world_piles", _numbers(data, number), scaled_axis(scale, **STACKED))
    color, floor = group_colors("world", map(say, RUNS.values()), PAIR), least if logarithmic else 0
    layers = [plot(long, ("from", "to"), ("share", floor), plot.tooltip, color).mark_rect(opacity=0.8, **CLIP)]
    values: Any = {"runs": runs}
    if math.isfinite(threshold) and len(data):
        event = phrase("statistic {threshold:.4g} or above") if above else phrase("statistic {threshold:.4g} or below")
        values |= {"event": say(event, threshold=threshold), "counted": counted}
        values |= dict(zip(RUNS, hits, strict=True))
        proof = [
            say("{world}: event in {hits:,.0f} of {counted:,} runs", world=say(world), hits=hit, counted=counted)
            for world, hit in zip(RUNS.values(), hits, strict=True)
        ]
        if math.isfinite(claimed):
            most_often = math.exp(min(claimed, TOO_MANY))
            proof.append(say("claimed: at most {ratio:,.3g} times as often", ratio=most_often))
        if lower:  # never rounded up
            least_often = f"{math.floor(100 * math.exp(min(lower, TOO_MANY))) / 100:,.10g}"
            proof.append(say("95% sure: at least {ratio} times as often", ratio=least_often))
        layers = [*_event(plot, data, edge, "\n".join(proof), above=above), *layers]
    return present(layers, "world_piles", {"event|none": "event" in values}, **values)


def _numbers(data: pd.DataFrame, number: str) -> ChartAxis:
    """Return the axis of the attacker's number, which charts below each other share.

    `data` has the bins from `left` to `right`, and `number` says what the attacker computes.
    """
    low, high = (float(data["left"].min()), float(data["right"].max())) if len(data) else (0.0, 1.0)
    return scaled_axis(span(low, high, zero=False), grid=False, titleLimit=760) | {"title": wrap_text(number, 95)}


def _event(plot: Plot, data: pd.DataFrame, edge: float, text: str, *, above: bool) -> list[Any]:
    """Draw the region of an attacker's event, its edge, and a text.

    The event is that the attacker's number is at or above `edge`, or at or below it. `text` says
    how often that happened, and which epsilon it proves.
    """
    low, high = float(data["left"].min()), float(data["right"].max())
    # Words go where there is more room, and not beyond the end of a narrow chart.
    rest, side, sign = ("width - ", "left", "") if edge < (low + high) / 2 else ("", "right", "-")
    wide = 7.8 * max(map(breadth, text.splitlines()))
    aside = alt.ExprRef(f"{sign}min(8, {rest}scale('x', datum['from']) + 12 - {wide:.0f})")
    look: Any = {"align": side, "dx": aside, "baseline": "top", "fontWeight": "bold", "lineBreak": "\n"}
    rows = one_row(**{"from": edge, "to": high if above else low, "text": text})
    shade = plot(rows, ("from", "to"), None, tooltips("text|runs with the event"))
    return [
        shade.mark_rect(color=NEUTRAL, opacity=0.22, **CLIP),
        plot(rows, "from", None).mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=2),
        words(plot(rows, "from", YValue(6)), "text", **look),
    ]


def times(epsilon: float) -> str:
    """Return a text with the ratio of two worlds' frequencies that an epsilon allows."""
    text, ratio = epsilon_text(epsilon), math.exp(min(epsilon, TOO_MANY))
    if epsilon < TOO_MANY:
        return say("epsilon {epsilon}, at most {ratio:,.3g} times as frequent", epsilon=text, ratio=ratio)
    return say("epsilon {epsilon}, over a million times as frequent", epsilon=text)


def world_ratios(frame: pd.DataFrame, *, number: str, claimed: float, proved: float) -> Chart:
    """Draw how much more frequent each bin of the attacker's number is in world B than in world A.

    It also shows the ratios that the claimed and the proven epsilon allow.

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
    beyond = (data["low"] > claimed) | (data["high"] < -claimed)
    data[["log_ratio", "low", "high"]] = data[["log_ratio", "low", "high"]].clip(-most, most)
    data = data.assign(middle=(data["left"] + data["right"]) / 2, ratio=np.exp(data["log_ratio"]))
    outside = say("outside the claimed band")
    data["where"] = np.where(beyond, outside, say("not surely outside the claimed band"))
    up = _ratios(most, claimed if math.isfinite(claimed) else TENFOLD)
    plot = Plot("world_ratios", _numbers(bins, number), up)
    color = alt.ColorValue(INK, condition={"test": f"datum.where == '{outside}'", "value": CLAIMED})
    whiskers = plot(data, "middle", ("low", "high"), plot.tooltip, color).mark_rule(strokeWidth=3, **CLIP)
    dots = plot(data, "middle", "log_ratio", plot.tooltip, color).mark_point(filled=True, size=80, opacity=1, **CLIP)
    drawn = ((proved, RELEASED, 0.14), (claimed, CLAIMED, 0.25))
    layers = [_band(plot, min(one, most), color, seen) for one, color, seen in drawn if math.isfinite(one)]
    count = int(beyond.sum())
    text, key = "", say("No epsilon is claimed.")
    if math.isfinite(claimed):
        text = say("No bar lies wholly outside the claimed band.")
        if count:
            text = plural("{n} bar is outside the claimed band.", "{n} bars are outside the claimed band.", count)
        key = say("Orange band: claimed limit, {times}. {bars}", times=times(claimed), bars=text)
    known = say("No epsilon bound is proved.")
    if math.isfinite(proved):
        known = say("Blue band: proven limit, {times}.", times=times(proved))
    return present([*layers, whiskers, dots], "world_ratios", claimed_band=key, proven_band=known)


def round_worlds(frame: pd.DataFrame, *, at: float | None = None, number: str) -> Chart:
    """Draw the probabilities of what a round of the membership game shows in both worlds.

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
    plot = Plot("round_worlds", scaled_axis(span(low - 0.6, high + 0.6)) | {"title": number}, alt.Scale())
    bins = data.assign(**{"from": data["number"] - 0.5, "to": data["number"] + 0.5})
    color = group_colors("group", map(say, TABLE.values()), PAIR)
    long = side_by_side(bins, TABLE, ["number"], chance="{}")
    layers = [plot(long, ("left", "right"), ("chance", 0), plot.tooltip, color).mark_rect(opacity=0.9, **CLIP)]
    if at is not None:
        mark, tooltip = one_row(at=min(max(at, low - 0.5), high + 0.5), text=f"{at:,.0f}"), tooltips("text|this round")
        arrow = plot(mark, "at", YValue(10), tooltip)
        layers.append(plot(mark, "at", None, tooltip).mark_rule(color=INK, strokeWidth=2, strokeDash=[6, 4]))
        layers.append(arrow.mark_point(shape="triangle-down", filled=True, size=450, color=INK, opacity=1))
    return present(layers, "round_worlds", {"shown|none": at is not None}, number=at)


def game_scores(frame: pd.DataFrame, *, limit: pd.DataFrame) -> Chart:
    """Draw the share of rounds guessed right, and the most that epsilon allows.

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
    honest = frame["honest"].to_numpy(bool)
    line, names = tidy(limit, [], ["epsilon", "share"]).dropna(), [*map(say, WAYS)]
    data["release"] = np.where(honest, say("corrected"), say("as published"))
    lane = 2 * (data["who"] == names[1]).astype(float) + ~honest - 1.5
    data["at"] = data["epsilon"] * 1.09**lane  # marks of one epsilon stand beside each other
    plot = Plot("game_scores", scaled_axis(log_scale(30), values=line["epsilon"].to_list()), span(0, 1.02))
    legend = alt.Legend(symbolOpacity=1, symbolSize=200, labelFontSize=16)
    color, shape = color_and_shape("who", names, *zip(*WAYS.values(), strict=True), legend=legend)
    allowed = plot(line, "epsilon", "share", tooltips("epsilon|epsilon|~g", "share|share guessed right, at most|.1%"))
    layers = [
        plot(one_row(share=0.5), None, "share").mark_rule(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2),
        allowed.mark_line(color=CLAIMED, strokeWidth=3, interpolate="monotone"),
        plot(data, "at", ("low", "high"), plot.tooltip, color).mark_rule(strokeWidth=3),
    ]
    for filled in (True, False):
        dots = plot(data[honest == filled], "at", "share", plot.tooltip, color, shape)
        layers.append(dots.mark_point(filled=filled, size=220, strokeWidth=4, opacity=1))
    said = "; ".join(f"{who} {share:.0%}" for who, share in zip(data["who"], data["share"], strict=True))
    return present(layers, "game_scores", shares=said)


def share_right(frame: pd.DataFrame, *, epsilon: float, noiseless: float, title: str) -> Chart:
    """Draw how often an attack is right against epsilon, and the most that epsilon allows.

    A fair coin and the attack on noiseless numbers are marked as well.

    Parameters
    ----------
    frame : DataFrame
        One row per epsilon (0.01 to 10,000): `epsilon`, `share`.
    epsilon : float
        The one that is chosen.
    noiseless : float
        The share without noise.
    title : str
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["epsilon", "share"]).dropna()
    steps = np.geomspace(LEAST, MOST, 121)
    allowed = pd.DataFrame({"epsilon": steps, "at": [odds(step) for step in steps]})
    chosen = data[np.isclose(data["epsilon"], epsilon, rtol=1e-3)]
    plot = Plot("share_right", epsilons([MOST]), shares())
    most = plot(allowed, "epsilon", "at", tooltips("epsilon|epsilon|,.2~g", "at|share guessed right, at most|.1%"))
    layers = [
        *level(plot, 0.5, say("a coin: 50%")),
        *level(plot, noiseless, say("noiseless: {share}", share=percent(noiseless)), strokeDash=[1, 0]),
        most.mark_line(color=CLAIMED, strokeWidth=3, strokeDash=[8, 4]),
        setting_rule(plot, epsilon),
        # No line through the marks: between them it would pass the curve of what is allowed.
        *_shares(plot, "epsilon", data, chosen),
    ]
    values: Any = {"noiseless": percent(noiseless), "epsilon": epsilon_text(epsilon)}
    values["share"] = "".join(chosen["share"].map(percent))
    return present(layers, "share_right", {"chosen": len(chosen)}, title=title, **values)


def share_found(
    frame: pd.DataFrame, *, at: int, what: str, most: int, title: str, found: str, lowest: float = 0.0, key: str = ""
) -> Chart:
    """Draw the share of people who are identified against how much an attacker knows.

    Parameters
    ----------
    frame : DataFrame
        One row per number: `number`, `share`, and maybe `low`, `high`, the ends of a band.
    at : int
        The number that is chosen.
    what : str
        What is counted.
    most : int
        The largest number of the axis.
    title : str
        The title.
    found : str
        What the share says.
    lowest : float, default=0.0
        If above 0, as where a guess without any answer is as good as a coin, that is marked.
    key : str, optional
        A line below the title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    band = ["low", "high"] if "low" in frame else []
    data = tidy(frame, [], ["number", "share", *band]).dropna(subset=["number"])
    known = data.dropna(subset=["share"])
    ticks = list(range(0 if lowest else 1, most + 1, max(most // 10, 1)))
    across = scaled_axis(span(min(ticks), most, padding=12), values=ticks) | {"title": what}
    plot = Plot("share_found", across, shares() | {"title": found})
    plot.tooltip = tooltips(f"number|{what}|,.0f", f"share|{found}|.1%")
    chosen = known[known["number"] == at]
    layers: list[Any] = level(plot, 0.5, say("a coin: 50%")) if lowest else []
    if band:
        ends = plot(data.dropna(subset=band), "number", ("low", "high"))
        layers.append(ends.mark_area(color=NEUTRAL, opacity=0.22))
    layers += [setting_rule(plot, at)] if at >= min(ticks) else []
    line = plot(known, "number", "share").mark_line(color=RELEASED, strokeWidth=3, interpolate="monotone")
    layers += [line, *_shares(plot, "number", known, chosen)]
    values: Any = {"key": key, "found": found, "what": what, "most": most, "setting": at}
    values["share"] = "".join(chosen["share"].map(percent))
    return present(layers, "share_found", {"chosen": len(chosen)}, title=title, **values)


def group_strips(
    frame: pd.DataFrame,
    *,
    groups: Mapping[str, str],
    what: str,
    title: str,
    key: str = "",
) -> Chart:
    """Draw a strip of people (or rows) on one axis for each of two or three groups.

    Parameters
    ----------
    frame : DataFrame
        One row per bin: `from`, `to`, and a share for each of `groups`; and maybe `bin`, what the
        bin is called.
    groups : mapping of str to str
        From the column of each group to what it is called.
    what : str
        What the axis shows.
    title : str
        The title.
    key : str, optional
        A line below the title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["bin"] if "bin" in frame else [], ["from", "to", *groups]).dropna()
    if "bin" not in data:
        ends_of = zip(data["from"], data["to"], strict=True)
        data["bin"] = [say("{low:.3g} to {high:.3g}", low=low, high=high) for low, high in ends_of]
    bars = side_by_side(data, groups, ["bin"], share="{}")
    bars = bars[bars["share"] > 0]
    low, high = (data["from"].min(), data["to"].max()) if len(data) else (0.0, 1.0)
    plot = Plot("group_strips", scaled_axis(span(float(low), float(high))) | {"title": what}, shares())
    color = group_colors("group", groups.values(), COLORS[: len(groups)])
    drawn = plot(bars, ("left", "right"), ("share", 0), plot.tooltip, color).mark_rect(opacity=0.9, clip=True)
    return present(drawn, "group_strips", title=title, key=key, groups=say(" and ").join(groups.values()))


def _shares(plot: Plot, x: str, data: pd.DataFrame, chosen: pd.DataFrame) -> list[Any]:
    """Draw a mark for each row, and for the `chosen` row a diamond with its share in bold.

    `x` is the field of the horizontal axis; the other is `share`.
    """
    marked = chosen.assign(text=chosen["share"].map(percent))
    return [
        plot(data, x, "share", plot.tooltip).mark_point(filled=True, size=70, color=RELEASED, opacity=1),
        diamonds(plot(marked, x, "share", plot.tooltip), RELEASED),
        end_labels(plot(marked, x, "share"), x, "text", dx=10, dy=16, fontWeight="bold"),
    ]
