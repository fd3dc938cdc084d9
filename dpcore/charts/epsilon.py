"""Epsilon: claimed, proved, found by an attack, where it went, what it means, what runs cost."""

import math
import re
from itertools import starmap
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import PICTURES, Chart, present
from dpcore.charts.frames import MOST_ENTRIES, distinct, in_order, largest, step, texts, tidy
from dpcore.charts.marks import (
    Plot,
    XValue,
    bars,
    color_and_shape,
    diamonds,
    draw_rule,
    end_labels,
    icons,
    legend_channel,
    one_row,
    tooltips,
    words,
)
from dpcore.charts.scales import (
    CLAIMED,
    REAL,
    RELEASED,
    SERIES,
    ChartAxis,
    epsilons,
    hatch_pattern,
    names_axis,
    scaled_axis,
    span,
)
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number

COLORS = SERIES[5], SERIES[6], SERIES[3], REAL
PURPOSES = dict(zip(PICTURES["forest_budget"]["purposes"], COLORS, strict=True))
ENTRIES = PICTURES["epsilon_split"]
for text in ENTRIES["entries"]:
    phrase(text)  # of ledgers
CLAIM, COST = phrase("claimed epsilon"), phrase("epsilon proven at most")
WHICH = {"epsilon_claimed": CLAIM, "epsilon_nominal": COST}
VOID = phrase("nominal (noise only)")  # where that is no bound
# of marks that may be none: a browser would name an empty group that nobody can hear
SILENT: Any = {"aria": False}

FEWEST_RUNS, MOST_STEPS = 10, 40  # of a staircase: one run is not all of it; earlier ones are one
LEVEL = re.compile(r"(?<=\()level ([0-9]+)(?=\))")
MOST_ALIKE = 6  # kinds of tables that are told one by one


def epsilon_split(frame: pd.DataFrame) -> Chart:
    """Draw the share of a ledger's total that each kind of query has, by entry name.

    Entries of one name are summed, and marginals of one loss are drawn together; the 20 largest are
    drawn, the rest summed.

    Parameters
    ----------
    frame : DataFrame
        That of `Ledger.breakdown`, one row per query: `name`; `epsilon_claimed`, `epsilon_nominal`
        (0..inf), or the same of rho; `void`: whether the latter is no bound.

    Returns
    -------
    alt.Chart
        The chart.
    """
    in_rho, columns = "rho_nominal" in frame, [*WHICH]
    frame = frame.rename(columns={name.replace("epsilon", "rho"): name for name in WHICH}) if in_rho else frame
    text = say("nominal privacy loss (noise only)") if frame["void"].any() else say("what an entry can cost at most")
    data = pd.DataFrame({"name": texts(frame["name"])} | {name: frame[name].to_numpy(float) for name in columns})
    data = _alike(data.fillna(math.inf).groupby("name", sort=False).sum().reset_index())
    data = data.sort_values(columns[::-1], ascending=False, kind="stable").reset_index(drop=True)
    if len(data) > MOST_ENTRIES:
        name = say("({count:,} other entries)", count=len(data) - MOST_ENTRIES)
        rest = data[columns].iloc[MOST_ENTRIES:].sum().to_frame().T.assign(name=name)
        data = pd.concat([data.head(MOST_ENTRIES), rest], ignore_index=True)
    data = distinct(data, "name")
    edge = 1.15 * largest(data[columns].replace(math.inf, np.nan).to_numpy().ravel(), 1e-3)

    endless, data["claims"] = data["epsilon_nominal"] == math.inf, data["epsilon_claimed"] < math.inf
    data["claimed"], data["text"] = (data[name].map(limit) for name in columns)
    data[columns] = data[columns].clip(0, edge)  # lengths
    data["endless"], data["edge"] = endless, data["epsilon_nominal"].mask(endless, 1.06 * edge)
    room = 1.4 if endless.any() else 1  # for what is said of no limit
    across = scaled_axis(span(0, room * edge)) | {"title": say("rho") if in_rho else say("epsilon")}
    plot = Plot("epsilon_split", across, names_axis(data["name"]))
    plot.tooltip = tooltips("name|ledger entry", "claimed|claimed privacy loss", f"text|{text}")
    drawn, note = bars(plot, data, "name", "epsilon_nominal")
    # an object: of a dict so deep, Altair would take half a second to find out what it is
    fill = alt.ColorValue(RELEASED, condition={"test": "datum.endless", "value": hatch_pattern(RELEASED)})
    claims = plot(data[data["claims"]], "epsilon_claimed", "name", plot.tooltip)
    onward = _onward(plot(data[endless], "epsilon_nominal", "name", plot.tooltip))
    cases = {"rho|epsilon": in_rho, "claims|none": data["claims"].any()}
    layers, height = [drawn.encode(fill), onward, diamonds(claims, CLAIMED), note], step(data["name"], 30)
    return present(layers, "epsilon_split", cases, cost=text, height=height)


def _alike(data: pd.DataFrame) -> pd.DataFrame:
    """Combine entries of a kind with equal losses, or all of a kind if its losses are many.

    The columns are `name`, and the claimed and nominal epsilon. The kind is what a name says before
    " of ".
    """
    heads = pd.Series([name.partition(" of ")[0] for name in data["name"]], index=data.index)
    parts = [data.head(0)]
    for head, own in data.groupby(heads, sort=False):
        kinds = own.groupby([*WHICH], sort=False)
        different = kinds.ngroups == len(own) <= MOST_ALIKE
        if different or head not in ENTRIES["several"]:
            kinds = own.groupby(own.index)
        elif kinds.ngroups > MOST_ALIKE:
            kinds = own.groupby(lambda _: 0)
        parts += [_together(kind, str(head)) for _, kind in kinds]
    return pd.concat(parts, ignore_index=True)


def _entry(name: str) -> str:
    """Return the name of a ledger's entry in the language of the screen.

    Columns keep their names; the levels of their taxonomies are translated.
    """
    return LEVEL.sub(lambda found: say("level {n}", n=found[1]), retold(name))


def _together(own: pd.DataFrame, head: str) -> pd.DataFrame:
    """Combine entries of one kind into one, named with their number and loss.

    `own` has the entries, and `head` is the kind: what their names say before " of ". A single
    entry keeps its name.
    """
    low, high = (limit(end) for end in own["epsilon_nominal"].agg(["min", "max"]))
    name = _entry(own["name"].iloc[0])
    if len(own) > 1:
        name = say(ENTRIES["several"][head][low != high], count=f"{len(own):,}", each=high, low=low, high=high)
    return own[[*WHICH]].sum().to_frame().T.assign(name=name)


def claimed_vs_bound(*, claimed: float, bound: float, delta: float = 0.0) -> Chart:
    """Draw the epsilon that a paper claims and the smallest one that can be proved.

    The log scale shows odds too, if there is no delta: how sure an observer can become.

    Parameters
    ----------
    claimed, bound : float
        The claimed and the proven epsilon (0..inf).
    delta : float, default=0.0
        The delta at which they hold.

    Returns
    -------
    alt.Chart
        The chart.
    """
    across = epsilons([claimed, bound]) | {"title": say("epsilon at delta {delta}", delta=f"{delta:g}")}
    if not delta:
        across["title"] = [say("epsilon"), say("how sure someone who was 50:50 can become")]
        sure = "datum.value > 6.9 ? '>99.9%' : format(1 / (1 + exp(-datum.value)), '.1~%')"
        across["axis"]["labelExpr"] = f"[format(datum.value, ',~g'), {sure}]"
    texts = {"claimed": claim(claimed), "bound": limit(bound)}
    rows = {CLAIM: (claimed, claimed, texts["claimed"]), COST: (bound, bound, texts["bound"])}
    return _stood("claimed_vs_bound", rows, across, **texts)


def known_epsilon(*, lower: float, claimed: float, proved: float) -> Chart:
    """Draw what is known of the epsilon that a run can cost, and which epsilon is claimed.

    Parameters
    ----------
    lower, claimed, proved : float
        The audit's lower bound, the claimed and the proven epsilon, which may be infinite.

    Returns
    -------
    alt.Chart
        The chart.
    """
    least = say("at least 0: the attack found nothing")
    if lower:
        least = say("at least {epsilon:g}", epsilon=math.floor(1000 * lower) / 1000)
    most = say("no upper bound is proved")
    if math.isfinite(proved):
        most = say("proven at most {epsilon}", epsilon=number(proved))
    known = say("{lower_bound}; {upper_bound}", lower_bound=least, upper_bound=most)
    claim_text = number(claimed) if math.isfinite(claimed) else say("no epsilon")
    rows = {phrase("claimed epsilon"): (claimed, claimed, claim_text), phrase("a run can cost"): (lower, proved, known)}
    across = epsilons([lower, claimed, proved]) | {"title": say("epsilon")}
    return _stood("known_epsilon", rows, across, claimed=claim_text, known=known)


def _stood(picture: str, rows: dict[str, tuple[float, float, str]], across: ChartAxis, **values: str) -> Chart:
    """Draw the claimed epsilon and a run's possible loss on an axis, as points or bars.

    `rows` has, by name, where each mark starts and stops, and its text: the claim first. `across`
    is the axis, and `picture` names the texts in `pictures.toml`.
    """
    names, (low, high) = [*map(say, rows)], across["scale"].domain
    data = pd.DataFrame(rows.values(), columns=["start", "stop", "text"]).fillna(math.inf).assign(row=names)
    none = data["stop"] == math.inf
    # what is infinite is no claim, and no mark
    data["endless"], none[1] = none & (none.index == 1), False
    data["start"] = data["start"].mask(data["start"] == math.inf, low).clip(low, high)
    data["stop"] = data["stop"].mask(none, low).clip(low, high)
    plot = Plot(picture, across, names_axis(names) | {"axis": {"labelFontSize": 16, "ticks": False}})
    tooltip = tooltips("row|epsilon", "text|value")
    looks = color_and_shape("row", names, [CLAIMED, RELEASED], ["diamond", "circle"], legend=None)
    # A length on a log axis says nothing, so there are points; a bar is all between two bounds.
    wide, endless = data["start"] < data["stop"], data["endless"]
    fill = hatch_pattern(RELEASED) if endless[1] else RELEASED
    bar = plot(data[wide], ("stop", "start"), "row", tooltip).mark_bar(height={"band": 0.36}, color=fill, **SILENT)
    rule = plot(one_row(at=data["stop"][0]), "at", None).mark_rule(color=CLAIMED, strokeWidth=2, strokeDash=[6, 4])
    look: Any = {"fontSize": 15, "fontWeight": "bold", "dy": alt.ExprRef("datum.start < datum.stop ? -24 : 0")}
    layers = [
        *([] if none[0] else [rule]),
        bar,
        _onward(plot(data[endless], "stop", "row", tooltip)),
        plot(data[~wide & ~none], "start", "row", tooltip, *looks).mark_point(filled=True, size=320, opacity=1),
        end_labels(plot(data, "stop", "row"), "stop", "text", dx=15, **look),
    ]
    return present(layers, picture, {"endless": endless[1]}, **values)


def _labeled_epsilon(which: str, text: str) -> str:
    """Return a text for an epsilon: its name and value, or "no limit" if it is infinite.

    `which` is the name, and `text` the formatted value.
    """
    return text if text == limit(math.inf) else f"{which} {text}"


def _onward(base: Any) -> Any:
    """Draw marks at the ends of the bars of `base` that point beyond the edge of the chart."""
    look: Any = {"shape": "triangle-right", "size": 260, "color": RELEASED, "xOffset": 9, **SILENT}
    return base.mark_point(filled=True, opacity=1, **look)


def odds_icons(probability: float, *, title: str = "") -> Chart:
    """Draw one hundred icons, as many of them filled as the probability in percent.

    Only certainty fills all. The chart has a fixed width: show it without stretching.

    Parameters
    ----------
    probability : float
        The share that is filled (0..1).
    title : str, optional
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    filled = 100 if probability >= 1 else min(99, math.floor(100 * probability + 0.5))
    index, kinds = np.arange(100), ["filled", "open"]
    data = pd.DataFrame({"x": index % 10, "y": index // 10, "kind": np.where(index < filled, *kinds)})
    looks = color_and_shape("kind", kinds, [RELEASED, REAL], ["circle", "square"], legend=None)
    looks.append(legend_channel(alt.Fill, "kind", kinds, [RELEASED, "transparent"], legend=None))
    looks.append(legend_channel(alt.Size, "kind", kinds, [110, 45], legend=None))
    marks = icons("odds_icons")(data, "x", "y", *looks).mark_point(strokeWidth=1.5, opacity=1)
    return present(marks, "odds_icons", title=title, filled=filled, width=alt.Step(16))


def forest_budget(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """Draw where epsilon goes on the way down a tree: a bar per level, a color per purpose.

    If claim and noise differ there is a bar for each; what is infinite is striped.

    Parameters
    ----------
    frame : DataFrame
        That of `forest_frames.budget`.
    title : str, optional
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    same = bool((frame["epsilon_claimed"] == frame["epsilon_nominal"]).all())
    called = WHICH | ({"epsilon_nominal": VOID} if frame["void"].any() else {})
    called = {column: say(which) for column, which in called.items()}
    parts = [_stacked(frame, name, which) for name, which in called.items() if not same or name == "epsilon_nominal"]
    data = pd.concat(parts, ignore_index=True)
    edge, endless = 1.15 * largest(data["stop"], 1e-3), data["stop"].isna()
    data = data.assign(stop=data["stop"].fillna(edge), start=data["start"].fillna(edge), endless=endless)
    data["text"] = data["total"] if same else [*map(_labeled_epsilon, data["which"], data["total"])]
    shown = {say(name): color for name, color in PURPOSES.items() if name in set(data["purpose"])}
    data["purpose"], which = data["purpose"].map(say), in_order(data["which"])
    plot = Plot("forest_budget", span(0, 1.1 * edge), names_axis(data["row"], paddingInner=0.3))
    lanes = alt.YOffset("which:N", scale=alt.Scale(domain=which, paddingInner=0.1))
    known, far = (plot(data[rows], ("start", "stop"), "row", plot.tooltip, lanes) for rows in (~endless, endless))
    ends = data.groupby(["row", "which"], sort=False).agg({"stop": "max", "endless": "any", "text": "first"})
    ends = ends.reset_index()
    layers = [
        known.mark_bar().encode(legend_channel(alt.Color, "purpose", shown, shown.values())),
        far.mark_bar(color=hatch_pattern(RELEASED), **SILENT),
        words(plot(ends, "stop", "row", lanes), "text", align="left", dx=alt.ExprRef("datum.endless ? 26 : 14")),
        _onward(plot(ends[ends["endless"]], "stop", "row", lanes)),
    ]
    sums = {name: limit(frame[column].fillna(math.inf).sum()) for column, name in called.items()}
    each = ", ".join(starmap(_labeled_epsilon, sums.items()))
    said = say("epsilon {epsilon}", epsilon=sums[say(CLAIM)]) if same else each
    height = alt.Step(22 if len(which) > 1 else 34)
    return present(layers, "forest_budget", {"endless": endless.any()}, title=title, sums=said, height=height)


def _stacked(frame: pd.DataFrame, name: str, which: str) -> pd.DataFrame:
    """Return where the parts of each level's bar start and stop; NaN where that is infinite.

    `name` is the column of epsilons, and `which` says in the chart what they are (claimed, or can
    cost).
    """
    value = frame[name].fillna(math.inf).to_numpy(float)
    data = tidy(frame, ["purpose"], ["level"]).assign(which=which)
    named = {-1: say("outside all levels"), 0: say("level 0 (root)")}
    data["row"] = [named.get(max(-1, int(level))) or say("level {level:.0f}", level=level) for level in data["level"]]
    levels = pd.Series(value).groupby(data["row"])
    stop, total = levels.cumsum(), levels.transform("sum")
    start = stop.shift().where(data["row"] == data["row"].shift(), 0.0)
    data = data.drop(columns="level").assign(amount=[*map(limit, value)], total=total.map(limit))
    return data.assign(start=start.where(np.isfinite(start)), stop=stop.where(np.isfinite(stop)))


def staircase(frame: pd.DataFrame, *, cap: float | None = None, others: float = 0.0) -> Chart:
    """Draw what runs can cost as a staircase: each run is a step up from the cost of those before.

    Parameters
    ----------
    frame : DataFrame
        One row per run, the first one first: `run`, `when` (text) and `epsilon_bound` (>= 0; what
        is not finite is no step).
    cap : float, optional
        A line at what is refused.
    others : float, default=0.0
        What other accounts cost that the cap counts as well.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["run", "when"], ["epsilon_bound"]).dropna().reset_index(drop=True)
    if len(data) > MOST_STEPS:
        early, rest = data.iloc[: len(data) - MOST_STEPS + 1], data.iloc[len(data) - MOST_STEPS + 1 :]
        name = say("({count:,} earlier runs)", count=len(early))
        first = early.tail(1).assign(run=name, epsilon_bound=early["epsilon_bound"].sum())
        data = pd.concat([first, rest], ignore_index=True)
    cost = data.pop("epsilon_bound")
    total = others + cost.cumsum()
    texts = {"cost": cost.map(number), "total": total.map(number)}
    data = data.assign(step=data.index + 1, before=total - cost, after=total, **texts)
    run_numbers = [*range(1, max(FEWEST_RUNS, len(data)) + 1)]
    across: ChartAxis = {"scale": alt.Scale(domain=run_numbers), "type": "ordinal"}
    plot = Plot("staircase", across, span(0, 1.12 * largest([*total, cap or 0.0], 1e-3)))
    look: Any = {"color": RELEASED, "width": {"band": 1}}
    layers = [
        plot(data, "step", ("after", 0), plot.tooltip).mark_bar(opacity=0.25, **look),
        plot(data, "step", ("after", "before"), plot.tooltip).mark_bar(**look),
    ]
    if len(data) <= MOST_STEPS // 2:
        layers.append(words(plot(data, "step", "after", plot.tooltip), "total", dy=-9))
    if cap is not None:
        look, said = {"align": "left", "dy": -8}, say("budget cap {epsilon}", epsilon=number(cap))
        line = {"color": CLAIMED, "strokeDash": [6, 4], "strokeWidth": 2}
        layers += draw_rule(plot, cap, said, look, XValue(4), phrase("cap on the budget"), **line)
    values: Any = {"count": len(data), "total": number(total.max() if len(total) else 0.0)}
    values |= {"others": number(others), "epsilon": number(cap or 0.0)}
    return present(layers, "staircase", {"others|alone": others > 0, "cap": cap is not None}, **values)
