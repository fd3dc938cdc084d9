"""How good a release and its classifier are on real rows, beside their references, and when drawn again."""

import math
from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import INK, NEUTRAL, REAL, RELEASED, SERIES
from dpcore.charts.frames import as_listed, distinct, in_order, largest, t_quantile, tidy
from dpcore.charts.marks import (
    NO_TIP,
    color_and_shape,
    distances,
    keyed,
    looks,
    means,
    ruled,
    scaled,
    span,
    tooltips,
    words,
)
from dpcore.language import phrase, say
from dpcore.text import percent

TRAINED_ON = {
    phrase("released"): (RELEASED, "diamond"),
    phrase("same method, no noise"): (SERIES[2], "triangle-up"),
    phrase("real"): (REAL, "circle"),
}
SCORES = {"accuracy": phrase("accuracy"), "balanced_accuracy": phrase("balanced accuracy")}
WHO = [phrase("released"), phrase("reference")]
ROW = 110  # pixels
TO_LEFT = "datum.first && datum.value > 0.3"
MOST_BARS = 15
OTHERS, HERE = phrase("another draw"), phrase("this release")
NOISELESS, MIDDLE, NOISY = phrase("noiseless trees"), phrase("same trees, noiseless counts"), phrase("released")
STRUCTURE, LEAVES = phrase("cost of choices"), phrase("cost of noisy counts")
PERCENT = {"format": "~%", "tickCount": 8}


def accuracy(frame: pd.DataFrame, *, majority: float) -> Chart:
    """Draw the accuracy on real test data of models trained on the release and on its baselines.

    Parameters
    ----------
    frame : DataFrame
        One row per model and run: `model`, `trained_on` (a key of `TRAINED_ON`), `accuracy` (0..1).
    majority : float
        The most frequent class's share, what knowing nothing scores.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["model", "trained_on"], ["accuracy"]).dropna()
    kinds = color_and_shape("trained_on", *looks(TRAINED_ON, data["trained_on"]), title=say("trained on"))
    data[["model", "trained_on"]] = data[["model", "trained_on"]].map(say)
    base = alt.Chart(data).encode(
        alt.X("accuracy:Q", **accuracies(say("accuracy"))),
        alt.Y("model:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)),
        alt.YOffset("trained_on:N", sort=[*map(say, TRAINED_ON)]),
        tooltip=tooltips("model|model", "trained_on|trained on", "accuracy|accuracy|.1%"),
    )
    runs = base.mark_point(filled=True, size=120, opacity=0.85).encode(*kinds)
    repeated = bool(data.duplicated(["model", "trained_on"]).any())
    mean = [means(base, alt.X("mean(accuracy):Q", title=say("accuracy")))] if repeated else []
    return present(
        alt.layer(runs, *mean, *_upright(say("majority class"), majority, "right")),
        say("Accuracy on real test data"),
        key=say("One mark per run. Upright line: mean.") if repeated else "",
        seen=say("Accuracy of each model trained on the release and on the real data, with reference lines."),
        height=alt.Step(34),
    )


def accuracies(title: str | None) -> dict[str, Any]:
    """The axis of accuracies, which is the same for every release."""
    return scaled(title, span(0, 1), **PERCENT)


def _upright(text: str, value: float, align: Any) -> list[Any]:
    """An upright rule at an accuracy, with its name and value above it."""
    if not math.isfinite(value):
        return []
    name = {"align": align, "dx": -4 if align == "right" else 4, "baseline": "bottom"}
    look: Any = {"color": NEUTRAL, "strokeDash": [6, 4], "strokeWidth": 2}
    across = alt.X("at:Q", title=say("accuracy"))
    return ruled(across, value, f"{text} {value:.1%}", {"y": alt.value(-4)}, name, **look)


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
    data = tidy(frame, ["metric", "run"], ["value"])
    data["metric"] = data["metric"].map(say)
    metrics = in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"]).sort_values(
        "which", key=lambda found: found == which[1], kind="stable"
    )  # the release is drawn last, on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    across, told, tip = (distances(""), "{:.3g}".format, ".4~g") if small else (accuracies(""), percent, ".1%")
    down = alt.Y("metric:N", axis=None, scale=alt.Scale(domain=metrics, padding=0.05))
    base = alt.Chart(data).encode(
        down,
        alt.X("value:Q", **across),
        tooltip=tooltips("metric|metric", "run|run", f"value|value|{tip}", "which|which"),
    )
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.55, 1.55])),
        *color_and_shape("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        size=alt.condition(f"datum.which == '{which[1]}'", alt.value(260), alt.value(80)),
    )
    known = pd.DataFrame(columns=["metric", "label", "value"]) if references is None else references
    beside = tidy(known, ["metric", "label"], ["value"]).dropna()
    beside[["metric", "label"]] = beside[["metric", "label"]].map(say)
    beside = beside[beside["metric"].isin(metrics)].reset_index(drop=True)
    beside["first"] = beside["value"] == beside.groupby("metric")["value"].transform("min")
    beside["text"] = [f"{label} {told(value)}" for label, value in zip(beside["label"], beside["value"], strict=True)]
    rule = alt.Chart(beside).encode(down, alt.X("value:Q", **across), tooltip=tooltips("text|reference"))
    rules = rule.mark_point(shape="stroke", angle=90, size=3600, strokeWidth=3, color=INK, opacity=1)
    said = [  # the lowest to the left of its line, if there is room
        words(rule.transform_filter(left), "text", align=align, dx=dx, dy=ROW / 2 - 14, fontSize=13)
        for left, align, dx in ((TO_LEFT, "right", 2), (f"!({TO_LEFT})", "left", -2))
    ]
    names = pd.DataFrame({"metric": metrics, "text": [_spread(data, metric, told) for metric in metrics]})
    heads = words(
        alt.Chart(names).encode(down, x=alt.value(0)), "text", align="left", dy=14 - ROW / 2, fontWeight="bold"
    )
    return present(
        alt.layer(rules, draws, heads, *said),
        say("The same method, drawn again"),
        key=say("One mark per run, on an axis that is the same for every release.")
        + (say(" Upright line: for reference.") if len(beside) else ""),
        seen=say(
            "{runs} runs per metric; the release on the screen stands out. {metrics}.",
            runs=data["run"].nunique(),
            metrics="; ".join(names["text"]),
        ),
        height=alt.Step(ROW),
    )


def _spread(data: pd.DataFrame, metric: str, told: Callable[[float], str]) -> str:
    """A metric, what the release on the screen has of it, and between what the others lie."""
    own = data[data["metric"] == metric].set_index("which")["value"]
    here, rest = own[own.index == say(HERE)].map(told), own[own.index == say(OTHERS)]
    low, high = rest.min(), rest.max()
    others = say("no others") if rest.empty else say("others {low} to {high}", low=told(low), high=told(high))
    return say("{metric}: {values}", metric=metric, values=", ".join([*here, others]))


def axis_of(quantity: str, title: str) -> dict[str, Any] | None:
    """The axis that a quantity has in all charts, if there is one."""
    return {"distance": distances, "accuracy": accuracies}[quantity](say(title)) if quantity else None


def run_strips(
    frame: pd.DataFrame, *, title: str, x_title: str, quantity: str = "", references: pd.DataFrame | None = None
) -> Chart:
    """Draw a mark per run in a row per method, the best median first, which is printed.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `name` (the row of the chart), `value`, and `hollow` (bool).
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
    data = tidy(frame.assign(hollow=frame["hollow"].astype(float)), ["name"], ["value", "hollow"]).dropna()
    data["lane"] = data.groupby("name").cumcount() * 0.618 % 1
    told = percent if quantity == "accuracy" else "{:.3g}".format
    rows = data.groupby("name", sort=False)["value"].agg(middle="median", least="min", most="max").reset_index()
    rows = rows.sort_values("middle", ascending=quantity != "accuracy").assign(
        text=lambda found: found["middle"].map(told)
    )
    across = axis_of(quantity, x_title) or scaled(say(x_title), alt.Scale(zero=True), format="~g", tickCount=6)
    axis = alt.Axis(labelFontSize=15, ticks=False, domain=False)
    down = alt.Y("name:N", title=None, axis=axis, scale=as_listed(rows["name"]))
    value = alt.X("value:Q", **across)
    base = alt.Chart(data).encode(down, value, tooltip=tooltips("name|method", "value|value|.4~g"))
    base = base.encode(alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.6, 1.6])))
    marks: Any = {"size": 90, "color": RELEASED, "strokeWidth": 2, "opacity": 0.75}
    dots = [
        base.transform_filter(f"datum.hollow == {hollow}").mark_point(filled=not hollow, **marks) for hollow in (0, 1)
    ]
    middles = alt.Chart(rows).encode(down)
    ticks = middles.mark_tick(thickness=3, color=INK, height={"band": 0.6}).encode(alt.X("middle:Q", **across))
    far, most = "scale('x', datum.most) + 90 > width", alt.X("most:Q", **across)  # then left of the marks
    side = alt.ExprRef(f"{far} ? scale('x', datum.least) - scale('x', datum.most) - 12 : 12")
    look = {"align": alt.ExprRef(f"{far} ? 'right' : 'left'"), "dx": side, "fontWeight": "bold"}
    texts = words(middles.encode(most), "text", **look)
    lines: list[Any] = []
    for place, (name, at) in enumerate([] if references is None else references.itertuples(index=False)):
        end, dash = {"y": alt.value(-6 - 16 * (place % 2))}, {"color": NEUTRAL, "strokeDash": [6, 4], "strokeWidth": 2}
        label: Any = {"align": "left", "dx": -4, "baseline": "bottom", "fontSize": 13}
        lines += ruled(alt.X("at:Q", **across), at, f"{name} {told(at)}", end, label, **dash)
    key = say("One mark per run; upright strokes and numbers: medians.")
    key += say(" Hollow: as published.") if data["hollow"].any() else ""
    key += say(" Dashed: for reference.") if lines else ""
    return present(alt.layer(*lines, *dots, ticks, texts), title, key=key, seen=key, height=alt.Step(52))


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
    data["model"] = data["model"].map(say)
    order, measures = in_order(data["model"]), [*map(say, SCORES.values())]
    data = data.melt(["model", "who"], [*SCORES], var_name="measure", value_name="score").dropna()
    data["measure"] = data["measure"].map(SCORES).map(say)
    runs = data.groupby(["model", "measure"])["score"]
    half = runs.transform("std") / np.sqrt(runs.transform("size")) * [t_quantile(n - 1) for n in runs.transform("size")]
    mean = runs.transform("mean")
    data = data.assign(mean=mean, low=mean - half, high=mean + half)
    repeated = bool(data["low"].notna().any())
    base = alt.Chart(data.reset_index(drop=True)).encode(
        alt.Y("model:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.3)),
        alt.YOffset("measure:N", scale=alt.Scale(domain=measures, paddingInner=0)),
    )
    across = accuracies(say("on real test rows"))
    colors = keyed(alt.Color, "who", map(say, WHO), [RELEASED, REAL], legend=alt.Legend(symbolOpacity=1))
    grey: Any = {"symbolFillColor": NEUTRAL, "symbolStrokeColor": NEUTRAL}  # black is lost in the dark
    kinds = keyed(alt.Shape, "measure", measures, ["circle", "diamond"], legend=alt.Legend(symbolOpacity=1, **grey))
    tips = tooltips("model|model", "measure|measure", "score|value|.1%", "mean|mean|.1%", "low|from|.1%", "high|to|.1%")
    dots = base.mark_point(filled=True, size=120, opacity=0.85).encode(
        alt.X("score:Q", **across), colors, kinds, tooltip=tips if repeated else tips[:3]
    )
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", **across), colors, x2=alt.X2("high"), tooltip=NO_TIP)
    last = base.transform_aggregate(
        mean="mean(score)", right="max(score)", high="max(high)", groupby=["model", "measure"]
    ).transform_calculate(right="max(datum.right, datum.high || 0)", text="format(datum.mean, '.1%')")
    said = words(last.encode(alt.X("right:Q", **across)), "text", align="left", dx=11)
    key = say("Balanced accuracy: the mean share of each class that is found.")
    if repeated:
        key = say("One mark per run; bar: 95% t-interval of the mean, which is written beside it. ") + key
    return present(
        alt.layer(*([bars] if repeated else []), dots, said),
        say("How good the classifier is, and what else there is"),
        key=key,
        seen=say(
            "Accuracy and balanced accuracy of {models} models on real test rows, the released one in blue.",
            models=len(order),
        ),
        height=alt.Step(21),
    )


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
    means = data.groupby("step")["accuracy"].mean().reindex([NOISELESS, MIDDLE, NOISY])
    bars = [(STRUCTURE, means[NOISELESS], means[MIDDLE]), (LEAVES, means[MIDDLE], means[NOISY])]
    moves = pd.DataFrame(bars, columns=["row", "start", "stop"]).dropna()
    change = 100 * (moves["stop"] - moves["start"])
    moves["text"] = [say("{sign}{size:.1f} points", sign="+" if c >= 0 else "−", size=abs(c)) for c in change.round(1)]
    moves["end"] = moves[["start", "stop"]].max(axis=1)
    steps = means.dropna().rename("accuracy").rename_axis("row").reset_index()
    steps["text"] = [f"{value:.1%}" for value in steps["accuracy"]]
    known = {*moves["row"], *steps["row"]}
    order = [say(name) for name in (NOISELESS, STRUCTURE, MIDDLE, LEAVES, NOISY) if name in known]
    moves["row"], steps["row"] = moves["row"].map(say), steps["row"].map(say)
    down = alt.Y("row:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.2))
    across = accuracies(say("accuracy"))
    base, marks = alt.Chart(moves).encode(down), alt.Chart(steps).encode(down, alt.X("accuracy:Q", **across))
    tips = tooltips("row|step", "text|changes accuracy by", "start|from|.2%", "stop|to|.2%")
    spans = base.mark_bar(color=RELEASED, opacity=0.55, height={"band": 0.55})
    spans = spans.encode(alt.X("start:Q", **across), x2=alt.X2("stop"), tooltip=tips)
    look: Any = {"align": "left", "dx": 12, "fontWeight": "bold"}
    said = words(base.encode(alt.X("end:Q", **across)), "text", **look)
    own = alt.condition(f"datum.row === '{say(NOISY)}'", alt.value(RELEASED), alt.value(REAL))
    dots = marks.mark_point(filled=True, shape="diamond", size=210, opacity=1)
    dots = dots.encode(color=own, tooltip=tooltips("row|trees", "accuracy|accuracy|.2%"))
    return present(
        alt.layer(spans, said, dots, words(marks, "text", **look), *_upright(say("majority class"), majority, "left")),
        say("What privacy costs in accuracy, and by what"),
        key=say("From above: the best trees, then trees that were chosen by chance, then their noisy counts."),
        seen=say(
            "Accuracy of noiseless trees, released trees with noiseless counts, and the release, with differences."
        ),
        height=alt.Step(46),
    )


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
    title = say("What the trees ask about")
    if len(data) > MOST_BARS:
        title = say("What the trees ask about (top {most} of {count:,})", most=MOST_BARS, count=len(data))
    data = distinct(data.head(MOST_BARS).reset_index(drop=True), "column")
    scale = span(0, 1.12 * largest(data["share"], 0.01))
    base = alt.Chart(data).encode(
        alt.X("share:Q", **scaled(say("share of what divisions gain"), scale, format="~%", tickCount=6)),
        alt.Y("column:N", sort=None, title=None, scale=as_listed(data["column"])),
        tooltip=tooltips("column|column", "share|share|.1%"),
    )
    bars = base.mark_bar(color=RELEASED, height={"band": 0.65})
    return present(
        bars + words(base, "share", ".1%", align="left", dx=6),
        title,
        key=say(
            "How much each column’s divisions lower the impurity of classes, by noisy counts: from the release alone."
        ),
        seen=say(
            "The {count} columns that matter most to the released trees, by their share of the gain.", count=len(data)
        ),
        height=alt.Step(28),
    )
