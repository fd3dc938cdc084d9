"""How good a release and its classifier are on real rows, beside their references, and when drawn again."""

import math
from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import INK, NEUTRAL, REAL, RELEASED, SERIES
from dpcore.charts.frames import as_listed, distinct, in_order, labels, step, t_interval, tidy
from dpcore.charts.marks import NO_TIP, bars, color_and_shape, end_labels, keyed, ruled, tooltips, words
from dpcore.charts.scales import BELOW, accuracies, distances, scaled, shares
from dpcore.language import phrase, say
from dpcore.text import percent

TRAINED_ON = {
    "released": (phrase("trained on synthetic"), RELEASED, "diamond"),
    "same method, no noise": (phrase("same method, noiseless"), SERIES[2], "triangle-up"),
    "real": (phrase("trained on real"), REAL, "circle"),
}
WHO = [phrase("released"), phrase("baseline")]
SCORES = {"accuracy": phrase("accuracy"), "balanced_accuracy": phrase("balanced accuracy")}
ABOVE: Any = {"symbolOpacity": 1, "offset": 28}  # the name of the majority class
LEGEND = alt.Legend(**ABOVE)
DASHED: Any = {"color": NEUTRAL, "strokeDash": [6, 4], "strokeWidth": 2}
MAJORITY = phrase("majority class")
ROW = 110  # pixels
MOST_BARS = 15
OTHERS, HERE = phrase("another draw"), phrase("this release")
# From a line to where all of its label fits in a narrow chart; a Chinese letter counts for two.
ASIDE = alt.ExprRef("min(-4, width + 8 - scale('x', datum.at) - 6.4 * length(replace(datum.label, /[^ -~]/g, 'xx')))")
# without a note in a narrow chart
MEDIAN = "width < 300 ? split(datum.text, ' · ')[0] : datum.text"
NOISELESS, MIDDLE, NOISY = phrase("noiseless trees"), phrase("same trees, noiseless counts"), phrase("released")
STRUCTURE, LEAVES = phrase("cost of choices"), phrase("cost of noisy counts")


def accuracy(frame: pd.DataFrame, *, majority: float, metric: str = "") -> Chart:
    """Draw the accuracy on real test data of models trained on the release and on its baselines.

    Parameters
    ----------
    frame : DataFrame
        One row per model and run: `model`, `trained_on` (a key of `TRAINED_ON`), `accuracy` or
        `balanced_accuracy` (0..1), and maybe `metric`: which of them is drawn.
    majority : float
        What knowing nothing scores: the most frequent class's share, or one of so many classes.
    metric : {"accuracy", "balanced_accuracy"}, optional
        Which is drawn, if the frame does not say it. Default: accuracy.

    Returns
    -------
    alt.Chart
        The chart.
    """
    metric = metric or next(iter(frame.get("metric", [])), "accuracy")
    data = tidy(frame, ["model", "trained_on"], [metric]).dropna()
    data = data.rename(columns={metric: "score", "trained_on": "kind"})
    found = {say(text): look for name, (text, *look) in TRAINED_ON.items() if name in set(data["kind"])}
    data["kind"] = [say(TRAINED_ON[name][0]) for name in data["kind"]]
    colors, shapes = zip(*found.values(), strict=True) if found else ((), ())
    looks = color_and_shape("kind", [*found], colors, shapes, legend=LEGEND)
    return _scored(data, [*found], looks, majority, metric, of=say(SCORES[metric]))


def classifier_scores(frame: pd.DataFrame) -> Chart:
    """Draw accuracy and balanced accuracy of a released classifier and of its baselines.

    Parameters
    ----------
    frame : DataFrame
        One row per model and run: `model`, `accuracy`, `balanced_accuracy` (0..1) and `private`
        (bool). Models of several runs have a bar: the 95% t-interval of their mean.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["model"], [*SCORES]).assign(who=np.where(frame["private"].to_numpy(bool), *map(say, WHO)))
    chance = float(data.loc[data["model"] == MAJORITY, [*SCORES]].min().min())
    measures = [*map(say, SCORES.values())]
    data = data.melt(["model", "who"], [*SCORES], var_name="kind", value_name="score").dropna().reset_index(drop=True)
    data["kind"] = data["kind"].map(SCORES).map(say)
    # black is lost in the dark
    grey = alt.Legend(**ABOVE, symbolFillColor=NEUTRAL, symbolStrokeColor=NEUTRAL)
    looks = [
        keyed(alt.Color, "who", map(say, WHO), [RELEASED, REAL], legend=LEGEND),
        keyed(alt.Shape, "kind", measures, ["circle", "diamond"], legend=grey),
    ]
    return _scored(data, measures, looks, chance, "classifier")


def _scored(data: Any, kinds: Any, looks: Any, majority: float, case: str, of: str = "") -> Chart:
    """Scores per model and kind: a mark per run, and the mean in figures; 95% t-intervals where there are several."""
    across = accuracies(of or None, majority)
    low = across["scale"].domain[0]
    data["model"] = labels(data["model"].map(say))
    order = in_order(data["model"])
    runs = data.groupby(["model", "kind"])["score"]
    mean, (least, most) = runs.transform("mean"), t_interval(runs)
    data = data.assign(mean=mean, low=least.clip(low), high=most.clip(low, 1))
    data = data.assign(shown=data["score"].clip(lower=low), text=[percent(share, ".1f") for share in mean])
    repeated = bool(data["low"].notna().any())
    base = alt.Chart(data).encode(
        alt.Y("model:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.2)),
        alt.YOffset("kind:N", scale=alt.Scale(domain=kinds)),
    )
    tooltip = tooltips("model|model", "kind|which", "score|value|.1%", "mean|mean|.1%", "low|from|.1%", "high|to|.1%")
    dots = base.mark_point(filled=True, size=120, opacity=0.85)
    dots = dots.encode(alt.X("shown:Q", **across), *looks, tooltip=tooltip if repeated else tooltip[:3])
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", **across), looks[0], x2=alt.X2("high"), tooltip=NO_TIP)
    last = data.groupby(["model", "kind"], sort=False)[["shown", "high"]].transform("max").max(axis=1)
    ends = data.assign(end=last).drop_duplicates(["model", "kind"])[["model", "kind", "end", "text"]]
    along = base.encoding.y, base.encoding.yOffset, alt.X("end:Q", **across)
    said = alt.Chart(ends.reset_index(drop=True)).encode(*along)
    layers = [*([bars] if repeated else []), dots, end_labels(said, "end", "text", dx=11)]
    scores = "; ".join(f"{one.model}, {one.kind}: {one.text}" for one in ends.itertuples()).replace("\n", " ")
    layers += [] if say(MAJORITY) in order else _upright(majority)
    cases = {"runs": repeated, "beyond": (data["score"] < low).any(), case: True}
    return present(layers, "accuracy", cases, low=100 * low, scores=scores)


def _upright(majority: float) -> list[Any]:
    """An upright rule at the accuracy of the majority class, with its name and value above it."""
    if not math.isfinite(majority):
        return []
    name, text = {"align": "left", "dx": 4, "baseline": "bottom"}, f"{say(MAJORITY)} {majority:.1%}"
    return ruled(alt.X("at:Q"), majority, text, {"y": alt.value(-4)}, name, **DASHED)


def redraws(frame: pd.DataFrame, *, references: pd.DataFrame | None = None, small: bool = True) -> Chart:
    """Draw the same method run again and again, to see how lucky one release is.

    All stand on one axis from 0 to 1.

    Parameters
    ----------
    frame : DataFrame
        One row per metric and run: `metric`, `value` (0..1), `run`, `chosen` (bool: the release on
        the screen).
    references : DataFrame, optional
        Lines: `metric`, `label`, `value`.
    small : bool, default=True
        Whether numbers near 0 can be told apart; else all are shares.

    Returns
    -------
    alt.Chart
        The chart.
    """
    which = [say(OTHERS), say(HERE)]
    data = tidy(frame, ["run"], ["value"], said=["metric"])
    metrics = in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"])
    data = data.iloc[np.argsort(data["which"] == which[1], kind="stable")]  # the release on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    across, told, tip = (distances(""), "{:.3g}".format, ".4~g") if small else (shares(None), percent, ".1%")
    down = alt.Y("metric:N", axis=None, scale=alt.Scale(domain=metrics, padding=0.05))
    tooltip = tooltips("metric|metric", "run|run", f"value|value|{tip}", "which|which")
    base = alt.Chart(data).encode(down, alt.X("value:Q", **across), tooltip=tooltip)
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.55, 1.55])),
        *color_and_shape("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        size=alt.condition(f"datum.which == '{which[1]}'", alt.value(260), alt.value(80)),
    )
    nothing = pd.DataFrame(columns=["metric", "label", "value"])
    known = nothing if references is None else references
    known = tidy(known, [], ["value"], said=["metric", "label"]).dropna()
    known = known[known["metric"].isin(metrics)].reset_index(drop=True)
    known["text"] = [f"{label} {told(value)}" for label, value in zip(known["label"], known["value"], strict=True)]
    rule = alt.Chart(known).encode(down, alt.X("value:Q", **across), tooltip=tooltips("text|reference"))
    rules = rule.mark_point(shape="stroke", angle=90, size=3600, strokeWidth=3, color=INK, opacity=1)
    said = end_labels(rule, "value", "text", dx=2, dy=ROW / 2 - 14, fontSize=13)
    names = pd.DataFrame({"metric": metrics, "text": [_spread(data, metric, told) for metric in metrics]})
    look: Any = {"align": "left", "dy": 14 - ROW / 2, "fontWeight": "bold"}
    look["fontSize"] = alt.ExprRef("width < 400 ? 11 : 15")  # whole in a phone's chart
    heads = words(alt.Chart(names).encode(down, x=alt.value(0)), "text", **look)
    values: Any = {"runs": data["run"].nunique(), "metrics": "; ".join(names["text"])}
    layers, values["height"] = [rules, draws, heads, said], alt.Step(ROW)
    return present(layers, "redraws", {"known": len(known)}, **values)


def _spread(data: pd.DataFrame, metric: str, told: Callable[[float], str]) -> str:
    """A metric, what the release on the screen has of it, and between what the others lie."""
    own = data[data["metric"] == metric].set_index("which")["value"]
    setting_rule, rest = own[own.index == say(HERE)].map(told), own[own.index == say(OTHERS)]
    low, high = rest.min(), rest.max()
    others = say("no others") if rest.empty else say("others {low} to {high}", low=told(low), high=told(high))
    return say("{metric}: {values}", metric=metric, values=", ".join([*setting_rule, others]))


def axis_of(quantity: str, title: str, values: pd.Series, references: pd.DataFrame | None) -> dict[str, Any] | None:
    """The axis that a quantity has in all charts, if there is one; it holds these values, and their references."""
    if quantity == "accuracy":
        known: Any = [] if references is None else references["value"]
        return accuracies(say(title), min([*known, *(values + BELOW)], default=0))
    return distances(say(title)) if quantity else None


def run_strips(
    frame: pd.DataFrame, *, title: str, x_title: str, quantity: str = "", references: pd.DataFrame | None = None
) -> Chart:
    """Draw a mark per run in a row per method, the best median first, which is printed.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `name` (the row of the chart), `value`, `hollow` (bool), and maybe `note`,
        which stands behind a row's median.
    title, x_title : str
        The titles of the chart and of its axis.
    quantity : {"distance", "accuracy"}, optional
        What has the same axis in all charts; of other numbers, lower ones are better.
    references : DataFrame, optional
        Upright lines: `label`, `value`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame.assign(hollow=frame["hollow"].astype(float)), ["name"], ["value", "hollow"])
    data = data.assign(note=[*frame["note"]] if "note" in frame else "").dropna()
    data["lane"] = data.groupby("name").cumcount() * 0.618 % 1
    written = percent if quantity == "accuracy" else "{:.3g}".format
    by_name = data.groupby(["name", "note"], sort=False)["value"]
    rows = by_name.agg(middle="median", least="min", most="max").reset_index()
    rows = rows.sort_values("middle", ascending=quantity != "accuracy")
    noted = zip(rows["middle"], rows["note"], strict=True)
    rows = rows.assign(text=[written(middle) + (note and f" · {note}") for middle, note in noted])
    plain_axis = scaled(say(x_title), alt.Scale(zero=True), format="~g", tickCount=6)
    across = axis_of(quantity, x_title, data["value"], references) or plain_axis
    axis = alt.Axis(labelFontSize=15, ticks=False, domain=False)
    down = alt.Y("name:N", title=None, axis=axis, scale=as_listed(rows["name"]))
    value = alt.X("value:Q", **across)
    base = alt.Chart(data).encode(down, value, tooltip=tooltips("name|method", "value|value|.4~g"))
    base = base.encode(alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.6, 1.6])))
    marks: Any = {"size": 90, "color": RELEASED, "strokeWidth": 2, "opacity": 0.75}
    kinds = ((not hollow, base.transform_filter(f"datum.hollow == {hollow}")) for hollow in (0, 1))
    dots = [kind.mark_point(filled=filled, **marks) for filled, kind in kinds]
    middles = alt.Chart(rows).transform_calculate(text=MEDIAN).encode(down)
    ticks = middles.mark_tick(thickness=3, color=INK, height={"band": 0.6})
    ticks = ticks.encode(alt.X("middle:Q", **across), NO_TIP)
    far = "scale('x', datum.most) + 20 + 8 * length(datum.text) > width"  # then left of the marks
    side = alt.ExprRef(f"{far} ? scale('x', datum.least) - scale('x', datum.most) - 12 : 12")
    look: Any = {"align": alt.ExprRef(f"{far} ? 'right' : 'left'"), "dx": side, "fontWeight": "bold"}
    medians = words(middles.encode(alt.X("most:Q", **across)), "text", **look)
    lines: list[Any] = []
    for number, (name, at) in enumerate([] if references is None else references.itertuples(index=False)):
        end = {"y": alt.value(-6 - 16 * (number % 2))}
        label: Any = {"align": "left", "dx": ASIDE, "baseline": "bottom", "fontSize": 13}
        lines += ruled(alt.X("at:Q", **across), at, f"{name} {written(at)}", end, label, **DASHED)
    cases = {"hollow": data["hollow"].any(), "known": lines}
    return present([*lines, *dots, ticks, medians], "run_strips", cases, title=title)


def costs(frame: pd.DataFrame, *, majority: float = math.nan) -> Chart:
    """Draw accuracies from noiseless trees to the released ones.

    They show what random choices cost, and what noise in the counts costs.

    Parameters
    ----------
    frame : DataFrame
        That of `tree_errors.noise_and_structure`, maybe of several runs, which are averaged:
        `step`, `accuracy` (0..1).
    majority : float, optional
        The most frequent class's share.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["step"], ["accuracy"]).dropna()
    best, middle, noisy = data.groupby("step")["accuracy"].mean().reindex([NOISELESS, MIDDLE, NOISY])
    rows = [(NOISELESS, best, best), (STRUCTURE, best, middle), (MIDDLE, middle, middle), (LEAVES, middle, noisy)]
    moves = pd.DataFrame([*rows, (NOISY, noisy, noisy)], columns=["row", "start", "stop"]).dropna()
    moves = moves.assign(step=~moves["row"].isin([STRUCTURE, LEAVES]), row=moves["row"].map(say))
    change = (100 * (moves["stop"] - moves["start"])).round(1)
    points = [say("{sign}{size:.1f} points", sign="+" if c >= 0 else "−", size=abs(c)) for c in change]
    moves["text"] = moves["stop"].map("{:.1%}".format).where(moves["step"], points)
    moves["end"] = moves[["start", "stop"]].max(axis=1)
    across = accuracies(say("accuracy"), majority)
    down = alt.Y("row:N", title=None, scale=alt.Scale(domain=in_order(moves["row"]), paddingInner=0.2))
    tooltip = tooltips("row|step", "text|changes accuracy by", "start|from|.2%", "stop|to|.2%")
    base = alt.Chart(moves).encode(down, alt.X("start:Q", **across), tooltip=tooltip)
    spans = base.transform_filter("!datum.step").mark_bar(color=RELEASED, opacity=0.55, height={"band": 0.55})
    own = alt.condition(f"datum.row === '{say(NOISY)}'", alt.value(RELEASED), alt.value(REAL))
    dots = base.transform_filter("datum.step").mark_point(filled=True, shape="diamond", size=210, opacity=1)
    dots = dots.encode(color=own, tooltip=tooltips("row|trees", "stop|accuracy|.2%"))
    said = end_labels(base.encode(alt.X("end:Q", **across)), "end", "text", dx=12, fontWeight="bold")
    return present([spans.encode(x2=alt.X2("stop")), dots, said, *_upright(majority)], "costs")


def importance(frame: pd.DataFrame) -> Chart:
    """Draw the columns that the released trees lean on most (feature importance).

    Parameters
    ----------
    frame : DataFrame
        One row per column: `column`, `share` (0..1), as `Forest.importance` gives them.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["column"], ["share"]).dropna().sort_values("share", ascending=False, kind="stable")
    many = len(data)
    data = distinct(data.head(MOST_BARS).reset_index(drop=True), "column")
    across = shares(say("share of what splits gain"))
    data["text"] = data["share"].map("{:.1%}".format)
    layers = bars(data, "column", "share", across, tooltips("column|column", "share|share|.1%"))
    values: Any = {"most": MOST_BARS, "count": many, "height": step(data["column"], 26)}
    return present(layers, "importance", {"some|all": many > MOST_BARS}, **values)
