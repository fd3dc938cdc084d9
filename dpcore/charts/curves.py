"""What can be learned from a release: once, again, against epsilon, and methods beside each other."""

import math
import textwrap
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    SERIES,
    SHAPES,
    SPREADS,
    Chart,
    color_and_shape,
    in_order,
    level_rows,
    levels,
    panels,
    present,
    short,
    t_quantile,
    texts,
    tidy,
    tooltips,
    upright,
)
from dpcore.text import number

FEWEST_RUNS = 3
PRINTED = "as printed"  # the mode that is dashed and hollow
TRAINED_ON = {
    "released": (RELEASED, "diamond"),
    "same method, no noise": (SERIES[2], "triangle-up"),
    "real": (REAL, "circle"),
}


def accuracy(frame: pd.DataFrame, *, majority: float) -> Chart:
    """Accuracy on real test data of models trained on the release and on its references.

    `frame`: one row per model and run: `model`, `trained_on` (a key of `TRAINED_ON`), `accuracy` (0..1). `majority`:
    the most frequent class's share, what knowing nothing scores.
    """
    data = tidy(frame, ["model", "trained_on"], ["accuracy"]).dropna()
    scale, axis = alt.Scale(zero=False, padding=14), alt.Axis(format="~%", tickCount=8)
    base = alt.Chart(data).encode(
        alt.X("accuracy:Q", scale=scale, axis=axis, title="accuracy"),
        alt.Y("model:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)),
        alt.YOffset("trained_on:N", sort=list(TRAINED_ON)),
        tooltip=tooltips("model|model", "trained_on|trained on", "accuracy|accuracy|.1%"),
    )
    names = [name for name in TRAINED_ON if name in set(data["trained_on"])]
    colors, shapes = [TRAINED_ON[name][0] for name in names], [TRAINED_ON[name][1] for name in names]
    kinds = color_and_shape("trained_on", names, colors, shapes, title="trained on")
    runs = base.mark_point(filled=True, size=120, opacity=0.85).encode(*kinds)
    mean = alt.X("mean(accuracy):Q", title="accuracy")
    means = base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(mean, tooltip=NO_TIP)
    repeated = bool(data.duplicated(["model", "trained_on"]).any())
    return present(
        alt.layer(runs, *([means] if repeated else []), *upright("majority class", majority, "right")),
        "Accuracy on real test data",
        key="One mark per run. Upright line: mean." if repeated else "",
        seen="Accuracy of each model trained on the release and on the real data, with reference lines.",
        height=alt.Step(34),
    )


def redraws(frame: pd.DataFrame, *, width: int = 560) -> Chart:
    """The same method run again and again, to see how lucky the release on the screen is.

    `frame`: one row per metric and run: `metric`, `value`, `run`, `chosen` (bool: the release on the screen).
    """
    which = ["another draw", "this release"]
    data = tidy(frame, ["metric", "run"], ["value"])
    metrics = in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"]).sort_values("which", kind="stable")  # the release is drawn last, on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    base = alt.Chart(data).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=7)),
        tooltip=tooltips("metric|metric", "run|run", "value|value|.4~g", "which|which"),
    )
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.15, 1.15])),
        *color_and_shape("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        size=alt.condition("datum.which == 'this release'", alt.value(260), alt.value(80)),
    )
    median = base.mark_rule(color=NEUTRAL, strokeWidth=3).encode(x="median(value):Q", tooltip=NO_TIP)
    return present(
        panels(median + draws, "metric", metrics, columns=1, width=width, height=90),
        f"{short(metrics[0])}: the same method, drawn again" if len(metrics) == 1 else "The same method, drawn again",
        key="One mark per run. Upright line: median.",
        seen=f"{data['run'].nunique()} runs per metric, with their median; the release on the screen stands out.",
    )


def curves(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    x_title: str,
    y_title: str,
    panel: str | None = None,
    mode: str | None = None,
    references: pd.DataFrame | None = None,
    log_x: bool = False,
    log_y: bool = False,
    center: Literal["mean", "median"] = "mean",
    interval: Literal["range", "t", "deciles"] = "range",
    same_y: bool = True,
    claimed_first: bool = False,
    among: list[str] | None = None,
    columns: int = 3,
    width: int = 230,
    title: str = "",
) -> Chart:
    """A number against another: a mark per run, a line through the means and an interval per point, per series.

    `frame`: one row per run: `series` (up to 10, told apart by color and shape) and the columns that `x`, `y`, `panel`
    and `mode` name. Each panel has its own chart; mode "as printed" is dashed and hollow, any other solid and filled.
    Numbers that an axis cannot show (not finite, or <= 0 on a log scale) are left out. `references`: lines: the column
    that `panel` names, `label`, `value`, and maybe `claimed` (bool: a figure that a paper states, in orange).

    `interval`: from the lowest to the highest run; or a 95% t-interval of the mean, or from the 10% to the 90% quantile
    of the runs, which fewer than `FEWEST_RUNS` do not have: of two, the first is 13 standard errors wide. Few series
    without modes have it as bands, others as bars. `same_y`: all panels share one y axis. `claimed_first`: the first
    series is a paper's claim, and orange; otherwise none is. `among`: all series of charts beside this one.
    """
    shown = ((frame[x] > 0) | (not log_x)) & ((frame[y] > 0) | (not log_y))
    data = _runs(frame[shown], x, y, panel, mode, interval)
    if log_y and len(data):
        data["low"] = data["low"].clip(lower=data["value"].min())
    told = number if x_title.startswith("epsilon") else "{:,.4g}".format
    data["at"] = [f"{x_title} {told(place)}" for place in data["x"]]
    data = data.assign(label="", rule=0, claimed=0.0, names="", lift=0)
    if references is not None:
        rules = level_rows(references, panel, data, log=log_y, shared=same_y)
        data = pd.concat([data, rules.assign(series="", mode="")], ignore_index=True)

    scale = alt.Scale(type="log", nice=False, padding=10) if log_y else alt.Scale(zero=False)
    axis = alt.Axis(format="~g", tickCount=5) if log_y else alt.Axis(tickCount=6)
    axis_title = f"{y_title} (log scale)" if log_y else y_title
    base = alt.Chart(data).encode(alt.Y("value:Q", title=axis_title, scale=scale, axis=axis))
    data.attrs["names"] = among
    own, run_data = base.transform_filter("datum.rule < 1"), data[data["rule"] < 1]
    runs = _curves(own, run_data, x_title, axis_title, log_x, center, claimed_first)
    lines, names = levels(base)
    layers = alt.layer(lines, *runs, names) if data["rule"].any() else alt.layer(*runs)

    spread = f", {'bands' if _banded(data) else 'bars'} {SPREADS[interval]}"
    if interval != "range" and not run_data["low"].notna().any():
        spread = f"; {FEWEST_RUNS} runs have an interval"
    claims = " Orange line: stated by the paper." if (data["claimed"] > 0).any() else ""
    picture = panels(layers, "panel", in_order(data["panel"]), columns=columns, width=width, height=300)
    if isinstance(picture, alt.FacetChart) and not same_y:
        picture = picture.resolve_scale(y="independent")
    return present(
        picture,
        title or f"{y_title[:1].upper()}{y_title[1:]} against {x_title}",
        key=f"One mark per run; lines join the {center}s{spread}.{claims}",
        seen=f"{y_title} against {x_title}, a mark per run and a line of {center}s per series.",
    )


def sweep(
    frame: pd.DataFrame, *, y: str, y_title: str, references: pd.DataFrame | None = None, width: int = 270
) -> Chart:
    """A metric against epsilon: a dot per run, a line of means per series, a panel per model.

    `frame`: one row per run: `epsilon` (>= 0), `series` (such as "paper"), `model`, and the column `y`, which the axis
    calls `y_title`. `references`: lines: `model`, `label`, `value`; what has no epsilon, or an infinite one, goes here.
    """
    look: Any = {"x": "epsilon", "x_title": "epsilon", "log_x": _positive(frame), "panel": "model"}
    look |= {"columns": 2, "claimed_first": True}
    return curves(frame[frame["epsilon"] >= 0], y=y, y_title=y_title, references=references, width=width, **look)


def sweep_variance(frame: pd.DataFrame, *, y: str = "value", width: int = 270) -> Chart:
    """The variance of `y` across runs against epsilon. `frame` as for `sweep`; a single run has no variance."""
    frame = frame[frame["epsilon"] >= 0]
    keys = ["panel", "series", "mode", "x", "aside"]
    groups = _runs(frame, "epsilon", y, "model", None, "range").groupby(keys, sort=False)["value"]
    data = groups.var().dropna().reset_index().assign(low=math.nan, high=math.nan)
    data["at"] = [f"epsilon {number(place)}" for place in data["x"]]
    title = "variance across runs"
    base = alt.Chart(data).encode(alt.Y("value:Q", title=title, axis=alt.Axis(format="~g")))
    layers = alt.layer(*_curves(base, data, "epsilon", title, _positive(frame), "mean", claimed_first=True))
    return present(
        panels(layers, "panel", in_order(data["panel"]), columns=2, width=width, height=240),
        "How much repeated runs differ",
        seen="Variance across runs against epsilon, one line per series.",
    )


def _positive(frame: pd.DataFrame) -> bool:
    """Whether epsilons fit on a log scale."""
    return not (frame["epsilon"] == 0).any()


def _runs(frame: pd.DataFrame, x: str, y: str, panel: str | None, mode: str | None, interval: str) -> pd.DataFrame:
    """`series`, `panel`, `mode`, `x`, `value`; the interval `low`, `high` of a point; `aside`, in pixels."""
    rows = pd.DataFrame({"series": frame["series"], "x": frame[x], "value": frame[y]})
    rows = rows.assign(panel=frame[panel] if panel else "", mode=frame[mode] if mode else "")
    data = tidy(rows, ["series", "panel", "mode"], ["x", "value"]).dropna().reset_index(drop=True)
    points = data.groupby(["series", "panel", "mode", "x"], sort=False)["value"]
    low, high = points.transform("min"), points.transform("max")
    count = points.transform("size")
    if interval == "t":
        half = points.transform("std") / np.sqrt(count) * [t_quantile(n - 1) for n in count]
        low, high = points.transform("mean") - half, points.transform("mean") + half
    if interval == "deciles":
        low, high = points.transform("quantile", 0.1), points.transform("quantile", 0.9)
    if interval != "range":
        low, high = low.where(count >= FEWEST_RUNS), high.where(count >= FEWEST_RUNS)
    place = data.groupby(["series", "mode"], sort=False).ngroup()
    gap = min(6.0, (12 if _banded(data) else 20) / max(1, place.max())) if len(data) else 0.0
    return data.assign(low=low, high=high, aside=gap * (place - place.max() / 2))  # lines at one x stand side by side


def _ticks(places: list[float], log: bool) -> list[float]:
    """The last of these places, and each before it that leaves room for its number."""
    along = np.log(places) if log else np.asarray(places, dtype=float)
    kept = [len(places) - 1]
    for place in reversed(range(len(places) - 1)):
        if along[kept[-1]] - along[place] >= 0.1 * (along[-1] - along[0]):
            kept.append(place)
    return [float(places[place]) for place in reversed(kept)]


def _banded(data: pd.DataFrame) -> bool:
    """Whether intervals are bands; many would hide each other."""
    runs = data[data["series"] != ""]
    return runs["series"].nunique() <= 4 and runs["mode"].nunique() <= 1


def _curves(
    base: alt.Chart, data: pd.DataFrame, x_title: str, y_title: str, log_x: bool, center: str, claimed_first: bool
) -> list[Any]:
    """Lines through the centers, intervals, and a mark per row."""
    names, places, modes = (
        data.attrs.get("names") or in_order(data["series"]),
        sorted(data["x"].unique()),
        in_order(data["mode"]),
    )
    scale = alt.Scale(type="log" if log_x else "linear", padding=18, nice=False, zero=alt.Undefined if log_x else False)
    ticks = _ticks(places, log_x) if 0 < len(places) <= 10 else alt.Undefined
    digits = "~g" if max(places, default=0) < 1000 else ",.3~r" if min(places) < 1 else ",.0f"
    axis = alt.Axis(format=digits, labelOverlap="greedy", values=ticks)
    base = base.encode(alt.X("x:Q", title=f"{x_title} (log scale)" if log_x else x_title, scale=scale, axis=axis))
    first = 0 if claimed_first else 1  # the first color and shape are the claim's
    wide, here = 5 if len(names) > 5 else alt.Undefined, in_order(data["series"])
    legend = alt.Legend(symbolOpacity=1, columns=wide, values=here)
    color, shape = color_and_shape("series", names, SERIES[first:], SHAPES[first:], legend=legend)
    value, low = alt.Y(f"{center}(value):Q", title=y_title), alt.Y("min(low):Q", title=y_title)
    end, move = alt.Y2("max(high):Q"), alt.ExprRef("datum.aside")
    tips = tooltips("series|series", *(["mode|mode"] if len(modes) > 1 else []), "at|at", "value|value|.4~g")
    dots = base.encode(color, shape, tooltip=tips)
    look: Any = {"size": 75, "opacity": 0.75, "xOffset": move}
    if _banded(data):
        bands = base.mark_area(opacity=0.18).encode(color, low, end, tooltip=NO_TIP)
        lines = base.mark_line(strokeWidth=2.5).encode(color, value, tooltip=NO_TIP)
        return [bands, lines, dots.mark_point(filled=True, **look)]
    base = base.encode(color, detail=["aside:Q", "mode:N"], tooltip=NO_TIP)
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6, xOffset=move).encode(low, end)
    lines = base.mark_line(strokeWidth=2, xOffset=move).encode(value)
    if len(modes) > 1:
        dashes = alt.Scale(domain=modes, range=[[6, 4] if name == PRINTED else [1, 0] for name in modes])
        lines = lines.encode(alt.StrokeDash("mode:N", title=None, scale=dashes, legend=alt.Legend(symbolSize=1500)))
    hollow = dots.transform_filter(f"datum.mode == '{PRINTED}'").mark_point(filled=False, strokeWidth=2, **look)
    full = dots.transform_filter(f"datum.mode != '{PRINTED}'").mark_point(filled=True, **look)
    return [bars, lines, hollow, full] if PRINTED in modes else [bars, lines, full]


HEIGHT, LINE = 560, 24  # of a chart with its title and key, and of what is added to them
PURE = "Pure epsilon, per release"
LOCAL = "of one person's reports in the local model, where nobody is trusted with true rows"


def compared(
    frame: pd.DataFrame,
    *,
    title: str,
    y_title: str,
    data: str,
    x: Literal["claimed", "proved", "of the noise alone"] = "claimed",
    local: tuple[str, ...] = (),
    references: pd.DataFrame | None = None,
    log_y: bool = False,
    names: list[str] | None = None,
) -> Chart:
    """A mark per run, a line of medians and an interval per method; "as printed" is dashed and hollow.

    `frame`: one row per run: `series` (the method, up to 10), `mode`, the epsilon that `x` says (`epsilon_claimed`,
    `epsilon_bound` or `epsilon_of_noise`), `relation` (in words), `value`. All runs must have one relation, because
    epsilons of two mean different things: ValueError otherwise. Runs without a finite epsilon > 0 on the axis are left
    out. `local`: series in which people randomize their own answers; the key says that their epsilon is another
    promise. `references`: `label`, `value`. `data`: the data set's name. `names`: all methods of the comparison, so
    that each keeps its color and shape from chart to chart.
    """
    relations = frame["relation"].unique()
    if len(relations) > 1:
        raise ValueError("epsilons of two relations do not belong on one axis")
    column = {"claimed": "epsilon_claimed", "proved": "epsilon_bound"}.get(x, "epsilon_of_noise")
    shown = frame[np.isfinite(frame[column].to_numpy(dtype=float)) & (frame[column] > 0)]
    chart = curves(
        shown,
        x=column,
        y="value",
        x_title=f"epsilon {x}",
        y_title=y_title,
        mode="mode",
        references=references,
        log_x=True,
        log_y=log_y,
        center="median",
        interval="deciles",
        among=None if names is None else [str(name) for name in texts(names)],
        title=title,
    )
    sentences = [*promises(shown, relations, local), f"Data: {texts([data])[0]}."]
    return told(chart, sentences).properties(height=HEIGHT + LINE * len(sentences))


def promises(shown: pd.DataFrame, relations: Any, local: tuple[str, ...]) -> list[str]:
    """What the epsilons on the axis promise, in sentences."""
    at_hand = [name for name in dict.fromkeys(shown["series"]) if name in local]
    relation = f"neighbors: {relations[0]}" if len(relations) else "no run"
    if at_hand and len(at_hand) == shown["series"].nunique():
        return [f"{PURE}, {LOCAL}; {relation}."]
    said = [f"{PURE}; {relation}."]
    if at_hand:
        which = ", ".join(texts(at_hand))
        said.append(
            f"Two guarantees on one axis: epsilon of {which} is {LOCAL}; the others trust one keeper of the rows."
        )
    return said


def told(chart: Chart, sentences: list[str]) -> Chart:
    """The same chart with sentences added under its key."""
    title: Any = getattr(chart, "title").copy()  # noqa: B009 - Altair does not type it
    title.subtitle = [*title.subtitle, *(line for text in sentences for line in textwrap.wrap(text, 100))]
    return chart.properties(title=title, description=" ".join([str(chart.description), *sentences]))
