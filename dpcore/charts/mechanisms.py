"""What mechanisms do: selections, many answers, numbers with holes; and what randomized answers say and give away."""

import math
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import PICTURES, Chart, present
from dpcore.charts.frames import in_order, labels, largest, step, tidy
from dpcore.charts.marks import (
    Look,
    Plot,
    YValue,
    bars,
    color_and_shape,
    diamonds,
    draw_rule,
    end_labels,
    group_colors,
    icons,
    legend_channel,
    level,
    one_row,
    setting_rule,
    strokes,
    tooltips,
    words,
)
from dpcore.charts.scales import (
    CLAIMED,
    INK,
    NEUTRAL,
    REAL,
    RELEASED,
    SERIES,
    names_axis,
    scaled_axis,
    shares,
    span,
)
from dpcore.charts.worlds import TIMES, YOU
from dpcore.language import phrase, retold, say
from dpcore.text import number, percent

WAYS = {
    "each": (phrase("epsilon for each: k times epsilon in all"), CLAIMED, [1, 0]),
    "shared": (phrase("epsilon/k for each: epsilon in all"), SERIES[3], [7, 4]),
    "once": (phrase("one answer with all of epsilon"), RELEASED, [2, 3]),
}
ERRORS = 0.02, 200.0  # from 100 answers with epsilon 5 each to 100 that share epsilon 0.1
BEFORE, AFTER = phrase("before the vote change"), phrase("after the vote change")
BOTH = {True: phrase("both worlds"), False: phrase("this world only")}
MARKS, TALL = 200, 5
SAID = {"yes": (RELEASED, "circle"), "no": (SERIES[6], "square")}
BEYOND, FURTHEST = 0.22, 2.5  # how far the axis goes beyond 0 and 1, at least and at most
MOST_EPSILON = 6.0
# The first line is broad, so that another on top of it leaves both to be seen.
DESCRIBED: list[Look] = [(RELEASED, [1, 0], 9), ({"expr": INK.expr}, [7, 5], 3), (SERIES[2], [3, 4], 4)]
FRESH, KEPT = phrase("a fresh report each time"), phrase("the first report, kept and repeated")
PUBLISHED, CORRECTED = phrase("a·x + b, as published"), phrase("Laplace noise, corrected")


def votes(frame: pd.DataFrame) -> Chart:
    """Draw the votes of an election in two worlds, before and after one voter.

    Parameters
    ----------
    frame : DataFrame
        One row per candidate: `candidate`, `votes`, `votes_other`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _pairs(frame, "votes", REAL, say("votes"), ",d", ",.0f", number)


def election(frame: pd.DataFrame) -> Chart:
    """Draw how probably each candidate is selected, in two worlds: before and after one voter.

    Parameters
    ----------
    frame : DataFrame
        One row per candidate: `candidate`, `probability`, `probability_other`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _pairs(frame, "probability", RELEASED, say("probability"), "~%", ".3p", percent)


def _pairs(frame: pd.DataFrame, first: str, color: str, title: str, tick: str, tip: str, write: Any) -> Chart:
    """Draw a bar per candidate for the first world, and a diamond for the other world.

    `first` is the column of the first world's numbers; that of the other ends in "_other". `title`
    and `tick` are the axis's title and number format, `tip` the tooltip's format, and `write`
    formats the number at a bar.
    """
    data, second = tidy(frame, ["candidate"], [first, f"{first}_other"]).dropna(), f"{first}_other"
    data = data.assign(candidate=labels(data["candidate"].map(say)), edge=data[[first, second]].max(axis=1))
    data["text"] = data[first].map(write)
    across = scaled_axis(span(0, 1.12 * largest(data["edge"], 1.0)), format=tick) | {"title": title}
    plot = Plot("election", across, names_axis(data["candidate"]))
    plot.tooltip = tooltips("candidate|candidate", f"{first}|{BEFORE}|{tip}", f"{second}|{AFTER}|{tip}")
    drawn, note = bars(plot, data, "candidate", first, color=color)
    look: Any = {"shape": "diamond", "filled": False, "size": 150, "strokeWidth": 2.5, "opacity": 1}
    shifted = plot(data, second, "candidate", plot.tooltip).mark_point(color=INK, **look)
    said = ", ".join(f"{name} {value:.4g}" for name, value in zip(data["candidate"], data[first], strict=True))
    height = step(data["candidate"], 40)
    return present([drawn, shifted, note], "election", {first: True}, values=said, height=height)


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
    across = scaled_axis(span(-most, most), values=ticks, labelExpr=TIMES)
    plot = Plot("choice_ratios", across, {"type": "nominal"})
    bands = pd.DataFrame({"low": [-epsilon, -epsilon / 2], "high": [epsilon, epsilon / 2]})
    shade = plot(bands, ("low", "high"), None).mark_rect(color=NEUTRAL, opacity=0.2)
    return present([shade, diamonds(plot(data, "log_ratio", "candidate", plot.tooltip), RELEASED)], "choice_ratios")


def belief(frame: pd.DataFrame, *, prior: float) -> Chart:
    """Draw how sure an observer can be of a fact after a release, against how sure before.

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
    plot = Plot("belief", shares(), shares())
    chosen = data.iloc[(data["prior"] - prior).abs().argsort()[:1]]
    ends = chosen.melt(["prior"], ["low", "high"], var_name="end", value_name="sure")
    ends["text"] = [f"{100 * value:.3g}%" for value in ends["sure"]]
    layers = [
        plot(data, "prior", ("low", "high"), plot.tooltip).mark_area(color=RELEASED, opacity=0.35, line=False),
        plot(data, "prior", "prior").mark_line(color=NEUTRAL, strokeDash=[4, 3], strokeWidth=2),
        plot(chosen, "prior", ("low", "high")).mark_rule(color=RELEASED, strokeWidth=4),
        diamonds(plot(ends, "prior", "sure", tooltips("text|how sure after release")), RELEASED),
    ]
    return present(layers, "belief", belief_after=say(" to ").join(ends["text"]), prior=100 * prior)


def running_average(frame: pd.DataFrame, *, truth: float, window: float = 15) -> Chart:
    """Draw noisy answers to one query, their average so far, and where the average is expected.

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
    low, high, spread = truth - window, truth + window, 2 * data["deviation"]
    data = data.assign(low=truth - spread, high=truth + spread, shown=data["answer"].clip(low, high))
    beyond = int((data["shown"] != data["answer"]).sum())
    plot = Plot("running_average", span(1, max(len(data), 2), padding=8), span(low, high, zero=False))
    rule = plot(one_row(truth=truth), None, "truth", tooltips("truth|truth|,.0f"))
    layers = [
        plot(data, "answers", ("low", "high")).mark_area(color=REAL, opacity=0.3, clip=True),
        rule.mark_rule(color=REAL, strokeWidth=2, strokeDash=[5, 4]),
        plot(data, "answers", "shown", plot.tooltip).mark_point(filled=True, size=70, color=RELEASED, opacity=0.85),
        plot(data, "answers", "average", plot.tooltip).mark_line(color=INK, strokeWidth=3.5, clip=True),
    ]
    last = "".join(data["average"].tail(1).map("{:.1f}".format))
    values: Any = {"beyond": beyond, "count": len(data), "truth": truth, "last": last}
    return present(layers, "running_average", {"beyond": beyond}, **values)


def average_errors(frame: pd.DataFrame, *, at: int) -> Chart:
    """Draw the typical error of averages of 1, 2, … noisy answers to one query.

    There are three lines: each answer has epsilon; all answers share epsilon; one answer has all of
    it.

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
    plot = Plot("average_errors", span(1, max(len(data), 2)), span(*ERRORS, type="log"))
    rule = setting_rule(plot, at, tooltips("at|your setting|,.0f"))
    return present([rule, *strokes(plot(long, "x", "value", plot.tooltip), looks, columns=1)], "average_errors")


def loss_sums(frame: pd.DataFrame, *, worst: float, likely: float, label: str) -> Chart:
    """Draw the probabilities of the sum of several answers' log ratios.

    The log ratio is the privacy loss of an answer.

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
    wide = 0.4 * (float(data["loss"].diff().iloc[-1]) if len(data) > 1 else 1.0)
    data = data.assign(left=data["loss"] - wide, right=data["loss"] + wide)
    edge = 1.12 * max(worst + wide, likely)
    plot = Plot("loss_sums", span(-edge, edge), alt.Scale())
    note = say("epsilon {epsilon}, the sum of all", epsilon=number(worst))
    marks = pd.DataFrame({"at": [worst, likely], "text": [note, label]})
    dash = legend_channel(alt.StrokeDash, "text", [note, label], [[1, 0], [5, 4]], legend=None)
    layers = [
        plot(data, ("left", "right"), ("probability", 0), plot.tooltip).mark_rect(color=RELEASED),
        plot(marks, "at", None, tooltips("text|total loss bound"), dash).mark_rule(color=CLAIMED, strokeWidth=3),
    ]
    return present(layers, "loss_sums", worst=note, likely=label)


def split_table(frame: pd.DataFrame, *, title: str) -> Chart:
    """Draw a small data set that is split into parts, bright where a part depends on your row.

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
    parts, touched = in_order(data["part"]), in_order(data.loc[data["yours"], "part"])
    data["look"] = data["yours"].map({True: say("answer depends on your row"), False: say("answer ignores your row")})
    bold: Any = {"condition": {"test": f"datum.value == '{say('You')}'", "value": "bold"}, "value": "normal"}
    people = names_axis(data["person"]) | {"axis": {"labelFontWeight": bold}}
    plot = Plot("split_table", names_axis(data["column"]), people)
    base = plot(data, "column", "person", plot.tooltip)
    colors = [SERIES[(2 * position + 1) % len(SERIES)] for position in range(len(parts))]
    shown = legend_channel(alt.Opacity, "yours", [True, False], [0.75, 0.15], sort=None, legend=None)
    cells = base.mark_rect(strokeWidth=1).encode(legend_channel(alt.Color, "part", parts, colors, legend=None), shown)
    values: Any = {"title": title, "touched": len(touched), "parts": len(parts)}
    return present([cells, words(base, "part")], "split_table", **values)


def possible_numbers(frame: pd.DataFrame, *, title: str) -> Chart:
    """Draw the answers that are possible in each of two worlds, as ticks.

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
    plot = Plot("possible_numbers", scale, names_axis(map(say, YOU.values())))
    colors = group_colors("which", map(say, BOTH.values()), [RELEASED, CLAIMED])
    ticks = plot(data, "answer", "world", plot.tooltip, colors).mark_tick(thickness=3, bandSize=46, opacity=1)
    values: Any = {"title": title, "count": len(data), "shared": int(data["both"].sum())}
    return present(ticks, "possible_numbers", **values)


def telltale(frame: pd.DataFrame) -> Chart:
    """Draw the share of answers that are possible in one of two worlds only, by the true count.

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
    plot = Plot("telltale", names_axis(data["count"]), shares())
    bars = plot(data, "count", "share", plot.tooltip)
    said = ", ".join(f"{count}: {share:.2%}" for count, share in zip(data["count"], data["share"], strict=True))
    layers = [bars.mark_bar(color=CLAIMED, width={"band": 0.6})]
    layers.append(words(plot(data, "count", "share"), "text", dy=-10, fontWeight="bold"))
    return present(layers, "telltale", shares=said)


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
    names, people = called.map(PICTURES["crowd"]["names"]).map(say), data["people"].sum()
    totals = data.groupby(names, sort=False)["people"].transform("sum")
    data["kind"] = [say("{said}: {n:,.0f} people", said=name, n=n) for name, n in zip(names, totals, strict=True)]
    marks = min(MARKS, int(people))
    ends = np.round(data["people"].cumsum() / max(people, 1) * marks).astype(int)
    drawn = data.loc[np.repeat(data.index, np.diff(ends, prepend=0)), ["kind"]].reset_index(drop=True)
    drawn = drawn.assign(x=drawn.index // TALL, y=drawn.index % TALL)

    first = data.drop_duplicates("kind")
    kinds = first["kind"].to_list()
    colors, shapes = ([SAID[said][look] for said in first["said"]] for look in (0, 1))
    hollow = revealed & (first["said"] != first["truth"])
    fills = np.where(hollow, "transparent", np.array(colors, dtype=object))
    legend = alt.Legend(symbolOpacity=1, columns=2, labelFontSize=15, labelLimit=400)
    looks = color_and_shape("kind", kinds, colors, shapes, legend=legend)
    plot = icons("crowd")
    marked = plot(drawn, "x", "y", plot.tooltip, *looks, legend_channel(alt.Fill, "kind", kinds, fills, legend=legend))
    cases = {"many|one": 0 < marks < people, "revealed|said": revealed}
    values: Any = {"people": people, "each": people / max(marks, 1), "kinds": "; ".join(kinds)}
    return present(marked.mark_point(strokeWidth=2, opacity=1, size=150), "crowd", cases, **values)


def coin_estimates(frame: pd.DataFrame, *, truth: float) -> Chart:
    """Draw estimated shares of a crowd, the first one with its interval.

    The axis extends beyond 0% and 100%, because estimates may.

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
    positions = [*data["estimate"], *data.head(1)[["low", "high"]].dropna(axis=1).to_numpy().ravel()]
    left = max(-FURTHEST, min([-BEYOND, *(position - 0.06 for position in positions)]))
    right = min(1 + FURTHEST, max([1 + BEYOND, *(position + 0.06 for position in positions)]))
    data["lane"] = (0.55 * (data.index * 0.618 % 1)).where(data.index > 0, 0.88)
    data["which"] = np.where(data.index == 0, say("this crowd"), say("another crowd"))
    data["low"], data["high"] = data["low"].fillna(left).clip(left), data["high"].fillna(right).clip(upper=right)
    data = data.assign(kept=data["estimate"].clip(0, 1), shown=data["estimate"].clip(left, right))
    data["text"] = [say("estimate {share:.1f}%", share=100 * value) for value in data["estimate"]]
    first, others, outside = data.head(1), data.iloc[1:], data["estimate"] != data["kept"]
    repeated = len(data) > 1

    hidden = scaled_axis(span(-0.1 if repeated else 0.55, 1.15)) | {"axis": None}
    plot = Plot("coin_estimates", span(left, right, zero=False), hidden)
    ends: Any = {"from": [left, 1.0], "to": [0.0, right], "edge": [0.0, 1.0], "middle": [left / 2, (1 + right) / 2]}
    area = pd.DataFrame(ends | {"text": say("impossible: made by noise")})
    bold: Any = {"fontWeight": "bold"}
    said, name = say("truth {share:.3g}%", share=100 * truth), {"baseline": "bottom", **bold}
    clip: Any = {"shape": "diamond", "size": 190, "strokeWidth": 2.5, "filled": False, "opacity": 1}
    layers = [
        plot(area, ("from", "to"), None).mark_rect(color=NEUTRAL, opacity=0.22),
        plot(area, "edge", None).mark_rule(color=NEUTRAL, strokeWidth=1.5),
        words(plot(area, "middle", YValue(6)), "text", baseline="top", **bold),
        *draw_rule(plot, truth, said, name, tip=phrase("true share (game only)"), color=REAL, strokeWidth=4),
        plot(others, "shown", "lane", plot.tooltip).mark_point(filled=True, size=70, color=RELEASED, opacity=0.75),
        plot(first, ("low", "high"), "lane", plot.tooltip).mark_rule(strokeWidth=4, color=RELEASED),
        diamonds(plot(first, "shown", "lane", plot.tooltip), RELEASED),
        plot(first[outside.head(1)], "kept", "lane", plot.tooltip).mark_point(color=RELEASED, **clip),
        end_labels(plot(first, "high", "lane"), "high", "text", dx=10, **bold),
    ]
    cases = {"clipped": outside.head(1).any(), "repeated": repeated}
    values: Any = {"truth": 100 * truth, "low": 100 * left, "high": 100 * right}
    values |= {"others": len(others), "outside": int(outside.sum()), "estimate": "".join(first["text"])}
    return present(layers, "coin_estimates", cases, height=340 if repeated else 220, **values)


def descriptions(
    frame: pd.DataFrame,
    *,
    against: Literal["setting", "epsilon"],
    at: float | None = None,
    crossing: tuple[float, float] | None = None,
) -> Chart:
    """Draw one measure of randomizers against a setting, a line per description of randomizers.

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
    title = say("probability p0 or p of the randomizer") if against == "setting" else say("epsilon")
    plot = Plot("descriptions", scaled_axis(span(0, most)) | {"title": title}, shares())
    looks = dict(zip(in_order(data["series"]), DESCRIBED, strict=False))
    layers: list[Any] = strokes(plot(data, "x", "value", plot.tooltip), looks, columns=1)
    if at is not None and math.isfinite(at):
        layers.insert(0, setting_rule(plot, min(at, most), tooltips("at|your setting|.3~g")))
    if crossing is not None:
        meet = one_row(x=crossing[0], value=crossing[1], label=say("both rules: {share:.1f}%", share=100 * crossing[1]))
        dot = plot(meet, "x", "value", tooltips("label|lines meet at", "x|setting value|.3~g"))
        layers.append(dot.mark_point(color=INK, filled=False, size=180, strokeWidth=3, opacity=1))
        layers.append(words(plot(meet, "x", "value"), "label", align="left", dx=8, dy=16, fontWeight="bold"))
    values: Any = {"title": name, "measure": name, "setting": title, "most": most}
    height = 370 + 30 * len(looks)  # with the legend, which has a line for each
    return present(layers, "descriptions", series=say(" and ").join(looks), height=height, **values)


def averaging(frame: pd.DataFrame, *, alone: float | None = None) -> Chart:
    """Draw how often many reports of one person give the truth away: fresh ones, and one kept.

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
    true = same and (known["right"] > 1 - 1e-9).all()
    guessed = same and not true and alone is not None and np.allclose(known["right"], alone)
    fresh, kept = say(FRESH), say(KEPT)
    long = data.rename(columns={"right": fresh, "kept": kept, "reports": "x"})
    long = long.melt(["x", "epsilon"], [fresh, kept], var_name="series")
    long.loc[long["series"] == kept, "epsilon"] = "".join(data["epsilon"].head(1))
    last = (long["x"] == long["x"].max()) & ~((long["series"] == kept) & same)
    long["label"] = long["epsilon"].map(lambda epsilon: say("epsilon {epsilon}", epsilon=epsilon)).where(last, "")
    long = long.dropna(subset=["x", "value"])
    plot = Plot("averaging", alt.Scale(nice=False, zero=False, padding=12), shares())
    looks: dict[str, Look] = {fresh: (CLAIMED, [1, 0], 4), kept: (RELEASED, [7, 5], 4)}
    lines = plot(long, "x", "value", plot.tooltip)
    colors = legend_channel(alt.Color, "series", looks, [look[0] for look in looks.values()])
    layers = [*strokes(lines, looks), lines.mark_point(filled=True, size=70, opacity=1).encode(colors)]
    # above and below, so that neither is on the other
    for name, move in ((fresh, -15), (kept, 16)):
        own = plot(long[long["series"] == name], "x", "value")
        layers.append(words(own, "label", align="right", dx=-4, dy=move, fontWeight="bold"))
    if alone is not None:
        layers += level(plot, alone, say("guess without any report {share:.1f}%", share=100 * alone))
    end = known.tail(1)[["right", "reports"]].to_numpy()
    ends = [say("{share:.0f}% after {reports:,.0f} reports", share=100 * r, reports=n) for r, n in end]
    cases = {"true": true, "guessed": guessed, "tossed": not (true or guessed)}
    return present(layers, "averaging", cases, ends=", ".join(ends))


def tails(frame: pd.DataFrame, *, bound: float) -> Chart:
    """Draw how much likelier far reports are for a far true number than for a near one.

    There is a line for the noise as published and one for the corrected noise.

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
    plot = Plot("tails", alt.Scale(nice=False), alt.Scale(zero=True))
    looks = dict(zip(in_order(data["series"]), [(CLAIMED, [1, 0], 4.0), (RELEASED, [7, 5], 4.0)], strict=False))
    name = say("bound: epsilon {epsilon}", epsilon=number(bound))
    lines = strokes(plot(data, "x", "value", plot.tooltip), looks)
    return present([*level(plot, bound, name, right=True), *lines], "tails")
