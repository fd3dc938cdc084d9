"""What mechanisms do: an election by lot, what may be believed after it, many answers, and numbers with holes."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, INK, NEUTRAL, REAL, RELEASED, SERIES
from dpcore.charts.frames import as_listed, in_order, labels, largest, step, tidy
from dpcore.charts.marks import (
    NO_TIP,
    bars,
    boxes,
    captions,
    diamonds,
    group_colors,
    setting_rule,
    single,
    strokes,
    tooltips,
    words,
)
from dpcore.charts.scales import scaled, shares, span
from dpcore.charts.worlds import TIMES, YOU
from dpcore.language import phrase, retold, say
from dpcore.text import number, percent

WAYS = {
    "each": (phrase("epsilon for each: k times epsilon in all"), CLAIMED, [1, 0]),
    "shared": (phrase("epsilon/k for each: epsilon in all"), SERIES[3], [7, 4]),
    "once": (phrase("one answer with all of epsilon"), RELEASED, [2, 3]),
}
ERRORS = 0.02, 200.0  # from 100 answers with epsilon 5 each to 100 that share epsilon 0.1
BEFORE, AFTER = phrase("before"), phrase("after")
BOTH = {True: phrase("possible in both worlds"), False: phrase("possible in this world only")}


def votes(frame: pd.DataFrame) -> Chart:
    """Draw the votes of an election in two worlds.

    Parameters
    ----------
    frame : DataFrame
        One row per candidate: `candidate`, `votes`, `votes_other`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["candidate"], ["votes", "votes_other"]).dropna()
    most = largest(data[["votes", "votes_other"]].to_numpy().ravel(), 1.0) * 1.12
    return _pairs(data, "votes", REAL, most, say("votes"), ",.0f", ",d")


def election(frame: pd.DataFrame) -> Chart:
    """Draw how probably each candidate is selected, in two worlds.

    Parameters
    ----------
    frame : DataFrame
        One row per candidate: `candidate`, `probability`, `probability_other`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["candidate"], ["probability", "probability_other"]).dropna()
    return _pairs(data, "probability", RELEASED, 1.12, say("probability"), ".3p", "~%")


def _pairs(data: Any, first: str, color: str, most: float, title: str, *forms: str) -> Chart:
    """A bar per candidate for the first world, and a diamond for the other."""
    second, (tip, tick) = f"{first}_other", forms
    tooltip = tooltips("candidate|candidate", f"{first}|{BEFORE}|{tip}", f"{second}|{AFTER}|{tip}")
    across = scaled(title, span(0, most), format=tick, tickCount=4, grid=False)
    data = data.assign(candidate=labels(data["candidate"].map(say)), edge=data[[first, second]].max(axis=1))
    data["text"] = [number(value) if first == "votes" else percent(value) for value in data[first]]
    drawn, note = bars(data, "candidate", first, across, tooltip, color=color)
    look: Any = {"shape": "diamond", "filled": False, "size": 150, "strokeWidth": 2.5, "opacity": 1}
    shifted = drawn.mark_point(color=INK, **look).encode(alt.X(f"{second}:Q", **across))
    said = ", ".join(f"{name} {value:.4g}" for name, value in zip(data["candidate"], data[first], strict=True))
    layers, height = [drawn, shifted, note], step(data["candidate"], 40)
    return present(layers, "election", {first: True}, values=said, height=height)


def choice_ratios(frame: pd.DataFrame, *, epsilon: float) -> Chart:
    """Draw how much one voter changes each candidate's probability, and what epsilon allows.

    The band goes from e^-epsilon to e^epsilon.

    Parameters
    ----------
    frame : DataFrame
        One row per candidate: `candidate`, `log_ratio`.
    epsilon : float
        The epsilon of the band.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["candidate"], ["log_ratio"]).dropna()
    data["ratio"] = np.exp(data["log_ratio"].clip(-700, 700))
    most = largest(data["log_ratio"].abs(), epsilon) * 1.1
    ticks = [-epsilon, -epsilon / 2, 0, epsilon / 2, epsilon]
    title = say("probability after, divided by before")
    across = alt.X("log_ratio:Q", **scaled(title, span(-most, most), values=ticks, labelExpr=TIMES, grid=False))
    bands = pd.DataFrame({"log_ratio": [-epsilon, -epsilon / 2], "high": [epsilon, epsilon / 2]})
    band = alt.Chart(bands).encode(across, alt.X2("high:Q"), tooltip=NO_TIP)
    tooltip = tooltips("candidate|candidate", "ratio|times as likely|.4~g")
    base = alt.Chart(data).encode(across, alt.Y("candidate:N", title=None), tooltip=tooltip)
    shade = band.mark_rect(color=NEUTRAL, opacity=0.2)
    return present([shade, diamonds(base, RELEASED)], "choice_ratios")


def belief(frame: pd.DataFrame, *, prior: float) -> Chart:
    """Draw how sure an observer can be after a release, against how sure before.

    Parameters
    ----------
    frame : DataFrame
        One row per prior: `prior`, `low`, `high` (0..1).
    prior : float
        Where the marks stand.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["prior", "low", "high"]).dropna()
    across, up = alt.X("prior:Q", **shares(say("sure before"))), alt.Y("low:Q", **shares(say("sure after")))
    base = alt.Chart(data).encode(across)
    tooltip = tooltips("prior|before|.0%", "low|after, at least|.1%", "high|after, at most|.1%")
    area = base.mark_area(color=RELEASED, opacity=0.35, line=False)
    area = area.encode(up, alt.Y2("high:Q"), tooltip=tooltip)
    same = base.encode(alt.Y("prior:Q"), tooltip=NO_TIP)
    same = same.mark_line(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2)
    chosen = data.iloc[(data["prior"] - prior).abs().argsort()[:1]]
    ends = chosen.melt(["prior"], ["low", "high"], var_name="end", value_name="sure")
    ends["text"] = [f"{100 * value:.3g}%" for value in ends["sure"]]
    mark = alt.Chart(ends).encode(across, alt.Y("sure:Q"), tooltip=tooltips("text|sure after"))
    rule = alt.Chart(chosen).encode(across, up, alt.Y2("high:Q"), tooltip=NO_TIP)
    rule = rule.mark_rule(color=RELEASED, strokeWidth=4)
    note = say(" to ").join(ends["text"])
    layers = [area, same, rule, diamonds(mark, RELEASED)]
    return present(layers, "belief", told=note, prior=100 * prior)


def running_average(frame: pd.DataFrame, *, truth: float, window: float = 15) -> Chart:
    """Draw noisy answers to one query, their average so far, and where that is expected.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: `answers` (so far), `answer`, `average`, `deviation` (the average's).
    truth : float
        The true answer.
    window : float, default=15
        Half the length of the axis, around the truth; answers beyond are at its ends.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["answers", "answer", "average", "deviation"]).dropna()
    data = data.assign(low=truth - 2 * data["deviation"], high=truth + 2 * data["deviation"])
    data["shown"] = data["answer"].clip(truth - window, truth + window)
    beyond = int((data["shown"] != data["answer"]).sum())
    base = alt.Chart(data).encode(_answers(say("answers so far"), data, padding=8))
    up = scaled(say("count"), span(truth - window, truth + window, zero=False), tickCount=6)
    ribbon = base.encode(alt.Y("low:Q", **up), alt.Y2("high:Q"), tooltip=NO_TIP)
    ribbon = ribbon.mark_area(color=REAL, opacity=0.3, clip=True)
    tooltip = tooltips("answers|answer number|,.0f", "answer|this answer|.2f", "average|average so far|.2f")
    dots = base.mark_point(filled=True, size=70, color=RELEASED, opacity=0.85).encode(alt.Y("shown:Q"), tooltip=tooltip)
    line = base.mark_line(color=INK, strokeWidth=3.5, clip=True).encode(alt.Y("average:Q"), tooltip=tooltip)
    rule = single(truth=truth).mark_rule(color=REAL, strokeWidth=2, strokeDash=[5, 4])
    rule = rule.encode(alt.Y("truth:Q"), tooltip=tooltips("truth|truth|,.0f"))
    values: Any = {"beyond": beyond, "count": len(data), "truth": truth}
    values["last"] = "".join(data["average"].tail(1).map("{:.1f}".format))
    layers = [ribbon, rule, dots, line]
    return present(layers, "running_average", {"beyond": beyond}, **values)


def _answers(title: str, data: pd.DataFrame, field: str = "answers", **scale: Any) -> alt.X:
    """The axis of how many answers were given."""
    ends = span(1, max(len(data), 2), **scale)
    return alt.X(f"{field}:Q", **scaled(title, ends, tickMinStep=1, format="d", grid=False))


def average_errors(frame: pd.DataFrame, *, at: int) -> Chart:
    """Draw the typical error of averages of 1, 2, … answers.

    With epsilon for each, with epsilon shared, and of one answer.

    Parameters
    ----------
    frame : DataFrame
        One row per number of answers: `answers`, `each`, `shared`, `once`.
    at : int
        Where a rule stands.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["answers", *WAYS]).dropna()
    looks = {say(text): (color, dash, 4.0) for text, color, dash in WAYS.values()}
    long = data.rename(columns=dict(zip(WAYS, looks, strict=True)))
    long = long.melt(["answers"], [*looks], var_name="series").rename(columns={"answers": "x"})
    across = _answers(say("answers"), data, "x")
    up = alt.Y("value:Q", **scaled(say("standard deviation"), span(*ERRORS, type="log"), format="~g", tickCount=4))
    lines = strokes(alt.Chart(long).encode(across, up), looks, tooltips("x|answers|,.0f"), columns=1)
    rule = setting_rule(across, tooltips("x|your setting|,.0f"), x=at)
    return present([rule, *lines], "average_errors")


def loss_sums(frame: pd.DataFrame, *, worst: float, likely: float, label: str) -> Chart:
    """Draw how the log ratios of several answers add up.

    Parameters
    ----------
    frame : DataFrame
        One row per sum: `loss`, `probability`.
    worst : float
        The sum of epsilons.
    likely : float
        An epsilon that is enough but for a small delta.
    label : str
        What that one is called.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["loss", "probability"]).dropna()
    step = float(data["loss"].diff().iloc[-1]) if len(data) > 1 else 1.0
    data = data.assign(left=data["loss"] - 0.4 * step, right=data["loss"] + 0.4 * step)
    edge = 1.12 * max(worst + 0.4 * step, likely)
    across = scaled(say("sum of log ratios"), span(-edge, edge), grid=False)
    base = alt.Chart(data).encode(tooltip=tooltips("loss|sum|.3~g", "probability|probability|.3~g"))
    up = alt.Y("probability:Q", title=say("probability"), axis=alt.Axis(tickCount=4))
    bars = boxes(base, alt.X("left:Q", **across), "right", up, color=RELEASED)
    note = say("epsilon {epsilon}, the sum", epsilon=number(worst))
    marks = pd.DataFrame({"at": [worst, likely], "text": [note, label]})
    rules = alt.Chart(marks).encode(alt.X("at:Q", **across), tooltip=tooltips("text|bound"))
    dash = alt.StrokeDash("text:N", scale=alt.Scale(domain=[note, label], range=[[1, 0], [5, 4]]), legend=None)
    layers = [bars, rules.mark_rule(color=CLAIMED, strokeWidth=3).encode(dash)]
    return present(layers, "loss_sums", worst=note, likely=label)


def split_table(frame: pd.DataFrame, *, title: str) -> Chart:
    """Draw a small data set that is split into parts, bright where they hang on your row.

    Parameters
    ----------
    frame : DataFrame
        One row per cell: `person`, `column`, `part` (what the cell's answer is called), `yours`
        (whether the answer to its part may change with your row).
    title : str
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["person", "column", "part"], []).assign(yours=frame["yours"].to_numpy(dtype=bool))
    data["person"], data["part"] = data["person"].map(say), data["part"].map(retold)
    people, columns, parts = (in_order(data[name]) for name in ("person", "column", "part"))
    touched = in_order(data.loc[data["yours"], "part"])
    data["look"] = data["yours"].map({True: say("may change with you"), False: say("never does")})
    bold: Any = {"condition": {"test": f"datum.value == '{say('You')}'", "value": "bold"}, "value": "normal"}
    base = alt.Chart(data).encode(
        alt.X("column:N", title=None, scale=as_listed(columns), axis=alt.Axis(orient="top", labelAngle=0, ticks=False)),
        alt.Y("person:N", title=None, scale=as_listed(people), axis=alt.Axis(ticks=False, labelFontWeight=bold)),
        tooltip=tooltips("person|row", "column|column", "part|asked in", "look|its answer"),
    )
    shown = alt.Opacity("yours:N", sort=None, scale=alt.Scale(domain=[True, False], range=[0.75, 0.15]), legend=None)
    colors = alt.Scale(domain=parts, range=[SERIES[(2 * place + 1) % len(SERIES)] for place in range(len(parts))])
    cells = base.mark_rect(strokeWidth=1).encode(alt.Color("part:N", scale=colors, legend=None), shown)
    values: Any = {"title": title, "touched": len(touched), "parts": len(parts)}
    return present([cells, captions(base, "part")], "split_table", **values)


def possible_numbers(frame: pd.DataFrame, *, title: str) -> Chart:
    """Draw the answers that each of two worlds can give, as ticks.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: `world`, `answer`, `both` (true or false).
    title : str
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["world"], ["answer"]).assign(both=frame["both"].to_numpy(dtype=bool)).dropna()
    data["world"], data["which"] = data["world"].map(YOU).map(say), data["both"].map(BOTH).map(say)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    base = alt.Chart(data).encode(
        alt.X("answer:Q", **scaled(say("answer"), scale, grid=False, format=".6~g", tickCount=6)),
        alt.Y("world:N", sort=[*map(say, YOU.values())], title=None),
        group_colors("which", map(say, BOTH.values()), [RELEASED, CLAIMED]),
        tooltip=tooltips("world|world", "answer|answer|.17g", "which|this answer is"),
    )
    ticks = base.mark_tick(thickness=3, bandSize=46, opacity=1)
    values: Any = {"title": title, "count": len(data), "shared": int(data["both"].sum())}
    return present(ticks, "possible_numbers", **values)


def telltale(frame: pd.DataFrame) -> Chart:
    """Draw how many answers give their world away, by the true count.

    Parameters
    ----------
    frame : DataFrame
        One row per count: `count` (as text), `share` (0..1).

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["count"], ["share"]).dropna()
    data["text"] = [f"{share:.2%}" if share else say("none") for share in data["share"]]
    base = alt.Chart(data).encode(
        alt.X("count:N", sort=in_order(data["count"]), title=say("true count"), axis=alt.Axis(labelAngle=0)),
        alt.Y("share:Q", **shares(say("answers"))),
        tooltip=tooltips("count|true count", "share|give it away|.3~p"),
    )
    bars = base.mark_bar(color=CLAIMED, width={"band": 0.6})
    said = ", ".join(f"{count}: {share:.2%}" for count, share in zip(data["count"], data["share"], strict=True))
    return present([bars, words(base, "text", dy=-10, fontWeight="bold")], "telltale", shares=said)
