"""How good a released classifier is on real rows, beside its references."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    Chart,
    as_listed,
    distinct,
    in_order,
    largest,
    present,
    t_quantile,
    tidy,
    tooltips,
    upright,
)

SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
WHO = ["released", "reference"]
MOST_BARS, MOST_WRITTEN = 15, 12
EXACT, MIDDLE, NOISY = "exact trees", "same trees, exact counts", "released"
STRUCTURE, LEAVES = "cost of choices", "cost of noisy counts"


def classifier_scores(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """Accuracy and balanced accuracy of a released classifier beside its references.

    `frame`: one row per model and run: `model`, `accuracy`, `balanced_accuracy` (0..1) and `private` (bool). Models of
    several runs have a bar: the 95% t-interval of their mean.
    """
    data = tidy(frame, ["model"], [*SCORES]).assign(who=np.where(frame["private"].to_numpy(bool), *WHO))
    order = in_order(data["model"])
    data = data.melt(["model", "who"], [*SCORES], var_name="measure", value_name="score").dropna()
    data["measure"] = data["measure"].map(SCORES)
    runs = data.groupby(["model", "measure"])["score"]
    half = runs.transform("std") / np.sqrt(runs.transform("size")) * [t_quantile(n - 1) for n in runs.transform("size")]
    mean = runs.transform("mean")
    data = data.assign(mean=mean, low=mean - half, high=mean + half)
    repeated = bool(data["low"].notna().any())
    base = alt.Chart(data.reset_index(drop=True)).encode(
        alt.Y("model:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.3)),
        alt.YOffset("measure:N", scale=alt.Scale(domain=[*SCORES.values()], paddingInner=0)),
    )
    axis: Any = {"title": "on real test rows", "scale": alt.Scale(zero=False, padding=20)}
    axis["axis"] = alt.Axis(format="~%", tickCount=8)
    legend = alt.Legend(symbolOpacity=1)
    colors = alt.Color("who:N", title=None, scale=alt.Scale(domain=WHO, range=[RELEASED, REAL]), legend=legend)
    legend = alt.Legend(
        symbolOpacity=1, symbolFillColor=NEUTRAL, symbolStrokeColor=NEUTRAL
    )  # black is lost in the dark
    shapes = alt.Scale(domain=[*SCORES.values()], range=["circle", "diamond"])
    kinds = alt.Shape("measure:N", title=None, scale=shapes, legend=legend)
    tips = tooltips("model|model", "measure|measure", "score|value|.1%", "mean|mean|.1%", "low|from|.1%", "high|to|.1%")
    dots = base.mark_point(filled=True, size=120, opacity=0.85).encode(
        alt.X("score:Q", **axis), colors, kinds, tooltip=tips if repeated else tips[:3]
    )
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", **axis), colors, x2=alt.X2("high"), tooltip=NO_TIP)
    words = base.transform_aggregate(
        mean="mean(score)", right="max(score)", high="max(high)", groupby=["model", "measure"]
    )
    words = words.transform_calculate(right="max(datum.right, datum.high || 0)", text="format(datum.mean, '.1%')")
    words = words.mark_text(align="left", dx=11, fontSize=13, color=NEUTRAL)
    words = words.encode(alt.X("right:Q", **axis), text=alt.Text("text:N"), tooltip=NO_TIP)
    each = "One mark per run; bar: 95% t-interval of the mean, which is written beside it. " if repeated else ""
    return present(
        alt.layer(*([bars] if repeated else []), dots, words),
        title or "How good the classifier is, and what else there is",
        key=f"{each}Balanced accuracy: the mean share of each class that is found.",
        seen=f"Accuracy and balanced accuracy of {len(order)} models on real test rows, the released one in blue.",
        height=alt.Step(21),
    )


def confusion(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """Which classes are taken for which: a cell per true and predicted class.

    `frame`: of `classification.confusion_frame`: `truth`, `predicted`, `count`, `share` (of the true class's rows,
    0..1). Up to 12 classes have their numbers written.
    """
    data = tidy(frame, ["truth", "predicted"], ["count", "share"])
    names = in_order([*data["truth"], *data["predicted"]])
    few = len(names) <= MOST_WRITTEN
    below: Any = {"labelAngle": 0 if len(names) <= 5 else -50, "labelOverlap": False}
    base = alt.Chart(data, height=alt.Step(64 if len(names) <= 5 else 40 if few else 17)).encode(
        alt.X("predicted:N", title="predicted class", scale=alt.Scale(domain=names), axis=alt.Axis(**below)),
        alt.Y("truth:N", title="true class", scale=alt.Scale(domain=names)),
        tooltip=tooltips("truth|true class", "predicted|predicted as", "count|rows|,", "share|share of its class|.1%"),
    )
    scale, legend = alt.Scale(scheme="viridis", domain=[0, 1]), alt.Legend(format="~%")
    cells = base.mark_rect().encode(alt.Color("share:Q", title="share of the true class", scale=scale, legend=legend))
    ink = alt.condition("datum.share > 0.45", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
    known = base.transform_filter("datum.share !== null")
    shares = known.mark_text(fontSize=16, fontWeight="bold", dy=-9 if len(names) <= 5 else 0)
    layers = [cells, shares.encode(text=alt.Text("share:Q", format=".0%"), color=ink)]
    if len(names) <= 5:
        layers.append(known.mark_text(fontSize=13, dy=11).encode(text=alt.Text("count:Q", format=","), color=ink))
    return present(
        alt.layer(*layers[: None if few else 1]),
        title or "What is taken for what",
        key="Each row of cells: where the rows of one true class go. Right answers are on the diagonal.",
        seen=f"Confusion matrix of {len(names)} classes: the share of each true class that is predicted as each class.",
    )


def costs(frame: pd.DataFrame, *, majority: float | None = None, title: str = "") -> Chart:
    """From exact trees to the released ones: what choices by chance cost, and what noise in the counts costs.

    `frame`: of `classification.noise_and_structure`, maybe of several runs, which are averaged: `step`, `accuracy`
    (0..1). `majority`: the most frequent class's share.
    """
    data = tidy(frame, ["step"], ["accuracy"]).dropna()
    means = data.groupby("step")["accuracy"].mean().reindex([EXACT, MIDDLE, NOISY])
    bars = [(STRUCTURE, means[EXACT], means[MIDDLE]), (LEAVES, means[MIDDLE], means[NOISY])]
    moves = pd.DataFrame(bars, columns=["row", "start", "stop"]).dropna()
    change = 100 * (moves["stop"] - moves["start"])
    moves["text"] = [f"{'+' if c >= 0 else '−'}{abs(c):.1f} points" for c in change.round(1)]
    moves["end"] = moves[["start", "stop"]].max(axis=1)
    steps = means.dropna().rename("accuracy").rename_axis("row").reset_index()
    steps["text"] = [f"{value:.1%}" for value in steps["accuracy"]]
    order = [name for name in (EXACT, STRUCTURE, MIDDLE, LEAVES, NOISY) if name in {*moves["row"], *steps["row"]}]
    vertical: Any = {"title": None, "scale": alt.Scale(domain=order, paddingInner=0.2)}
    axis: Any = {"title": "accuracy", "scale": alt.Scale(zero=False, padding=24)}
    axis["axis"] = alt.Axis(format="~%", tickCount=8)
    base = alt.Chart(moves).encode(alt.Y("row:N", **vertical))
    tips = tooltips("row|step", "text|changes accuracy by", "start|from|.2%", "stop|to|.2%")
    spans = base.mark_bar(color=RELEASED, opacity=0.55, height={"band": 0.55})
    spans = spans.encode(alt.X("start:Q", **axis), x2=alt.X2("stop"), tooltip=tips)
    look: Any = {"align": "left", "dx": 12, "fontSize": 15, "fontWeight": "bold", "color": NEUTRAL}
    said = base.mark_text(**look).encode(alt.X("end:Q", **axis), text=alt.Text("text:N"), tooltip=NO_TIP)
    marks = alt.Chart(steps).encode(alt.Y("row:N", **vertical), alt.X("accuracy:Q", **axis))
    own = alt.condition(f"datum.row === '{NOISY}'", alt.value(RELEASED), alt.value(REAL))
    dots = marks.mark_point(filled=True, shape="diamond", size=210, opacity=1)
    dots = dots.encode(color=own, tooltip=tooltips("row|trees", "accuracy|accuracy|.2%"))
    values = marks.mark_text(**look).encode(text=alt.Text("text:N"), tooltip=NO_TIP)
    return present(
        alt.layer(spans, said, dots, values, *upright("majority class", majority, "left")),
        title or "What privacy costs in accuracy, and by what",
        key="From above: the best trees, then trees that were chosen by chance, then their noisy counts.",
        seen="Accuracy of exact trees, of the released trees with exact counts, and of the release, with differences.",
        height=alt.Step(46),
    )


def importance(frame: pd.DataFrame, *, top: int = MOST_BARS, title: str = "") -> Chart:
    """The columns that the released trees lean on most.

    `frame`: one row per column: `column`, `share` (0..1), as `Forest.importance` gives them.
    """
    data = tidy(frame, ["column"], ["share"]).dropna().sort_values("share", ascending=False, kind="stable")
    capped = f" (top {top} of {len(data):,})" if len(data) > top else ""
    data = distinct(data.head(top).reset_index(drop=True), "column")
    scale = alt.Scale(domain=[0, 1.12 * largest(data["share"], 0.01)], nice=False)
    base = alt.Chart(data).encode(
        alt.X("share:Q", title="share of what divisions gain", scale=scale, axis=alt.Axis(format="~%", tickCount=6)),
        alt.Y("column:N", sort=None, title=None, scale=as_listed(data["column"])),
        tooltip=tooltips("column|column", "share|share|.1%"),
    )
    bars = base.mark_bar(color=RELEASED, height={"band": 0.65})
    words = base.mark_text(align="left", dx=6, fontSize=14, color=NEUTRAL)
    return present(
        bars + words.encode(text=alt.Text("share:Q", format=".1%"), tooltip=NO_TIP),
        title or f"What the trees ask about{capped}",
        key="How much each column’s divisions lower the impurity of classes, by noisy counts: from the release alone.",
        seen=f"The {len(data)} columns that matter most to the released trees, by their share of the gain.",
        height=alt.Step(28),
    )
