"""Pictures: a tidy frame of aggregates in, one Altair chart out. Nothing here sees rows of data.

Three rules hold for every chart.

- Text from users (columns, categories) is only ever a data value or a plain title: never a field, an expression, or the
  title of a tooltip. Vega reads `a.b[0]` as a path, and its tooltips make an `<img>` of what is titled "image".
- Real data are grey, the release is blue, a paper's claim is orange; each has its own shape or place too. These colors
  have a contrast of about 4 with white and with Streamlit's dark page; everything else takes the theme's colors.
- Only finite numbers reach a chart: an infinite epsilon is drawn to the edge and named, others are left out.

A chart is as wide as its container, but one with panels cannot be: its `width` is the pixels of one panel.
`chart.description` is the alternative text.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

__all__ = [
    "accuracy",
    "claimed_vs_bound",
    "epsilon_split",
    "marginal",
    "mark_real",
    "odds",
    "odds_icons",
    "pair_heatmap",
    "pair_tables",
    "redraws",
    "sweep",
    "sweep_variance",
    "worst_columns",
]

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

REAL, RELEASED, CLAIMED, NEUTRAL = "#808080", "#1f77d4", "#c2571a", "#787878"
SERIES, SHAPES = [CLAIMED, RELEASED, "#2a8a4a", "#a05ab4"], ["circle", "diamond", "triangle-up", "square"]
REAL_DATA = "⚠ Uses real data: do not publish"
NO_TIP = alt.value(None)
MOST_VALUES, MOST_ENTRIES, MOST_NUMBERED = 40, 20, 15


def marginal(frame: pd.DataFrame, *, column: str, released_name: str = "released") -> Chart:
    """One column's shares, real and released, with the noise floor.

    `frame`: one row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1); `floor_low`,
    `floor_high` (the share's 2.5 % and 97.5 % points in same-size resamples of the real data). The 40 largest values
    are drawn, the rest told in words.
    """
    data = _distinct(_tidy(frame, ["value"], ["real", "released", "floor_low", "floor_high"]), "value")
    kept = data.index.isin(data[["real", "released"]].max(axis=1).nlargest(MOST_VALUES).index)
    others, data = data.loc[~kept, ["real", "released"]].sum(), data[kept]  # as a bar they would dwarf the rest
    capped = f" (top {MOST_VALUES} of {len(kept):,} values)" if len(kept) > len(data) else ""
    rest = f" Others together: {others['real']:.1%} real, {others['released']:.1%} released." if capped else ""
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    along, share, share_end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)

    floor_tips = ["floor_low|noise floor from|.2%", "floor_high|to|.2%"]
    base = alt.Chart(data).encode(
        along("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
        tooltip=_tips("value|value", "real|real|.2%", "released|released|.2%", *floor_tips),
    )
    axis = alt.Axis(format="~%", tickCount=6)
    real = base.mark_bar(color=REAL, opacity=0.5).encode(share("real:Q", title="share of records", axis=axis))
    floor = base.mark_rule(color=NEUTRAL, strokeWidth=5).encode(share("floor_low:Q"), share_end("floor_high"))
    released = _diamonds(base, RELEASED).encode(share("released:Q"))
    return _present(
        real + floor + released,
        f"{_short(column)}: real and released shares{capped}",
        key=f"Bar: real. Diamond: {_short(released_name)}. Line: 95% of same-size resamples of the real data.{rest}",
        seen=f"Shares of the values of {_short(column)}, real and released, with the noise floor.",
        height=420 if upright else alt.Step(26),
    )


def worst_columns(frame: pd.DataFrame, *, top: int = 20) -> Chart:
    """The `top` columns, or sets of columns, that the release gets most wrong.

    `frame`: `attributes` (text such as "age" or "age × income"); `avd`, `floor` (average variation distance, 0..1, of
    the release and of a same-size resample of the real data).
    """
    data = _tidy(frame, ["attributes"], ["avd", "floor"]).sort_values("avd", ascending=False, kind="stable")
    capped = f" (worst {top} of {len(data):,})" if len(data) > top else ""
    data = _distinct(data.head(top), "attributes")

    base = alt.Chart(data).encode(
        alt.Y("attributes:N", sort=None, title=None),
        tooltip=_tips("attributes|columns", "avd|AVD|.3f", "floor|noise floor|.3f"),
    )
    distance = alt.X("avd:Q", title="average variation distance (0 = the same)", axis=alt.Axis(tickCount=8))
    release = base.mark_bar(color=RELEASED, opacity=0.65, height={"band": 0.55}).encode(distance)
    floor = base.mark_tick(color=NEUTRAL, thickness=4, height={"band": 0.95}).encode(x="floor:Q")
    return _present(
        release + floor,
        f"Where the release is furthest from the real data{capped}",
        key="Bar: release. Upright line: noise floor, a same-size resample of the real data.",
        seen="Distance from the real data per set of columns, largest first, beside the noise floor.",
        height=alt.Step(28),
    )


def pair_heatmap(frame: pd.DataFrame) -> Chart:
    """How well each pair of columns survives, as a symmetric matrix.

    `frame`: one row per unordered pair: `a`, `b` (columns); `avd`, `floor` (average variation distance, 0..1, of the
    release and of a same-size resample). The scale ends at 0.1 or above, so that mere noise does not look alarming.
    """
    pairs = _tidy(frame, ["a", "b"], ["avd", "floor"]).dropna(subset=["avd"])
    names = _in_order([*pairs["a"], *pairs["b"]])
    mirrored = pairs[pairs["a"] != pairs["b"]].rename(columns={"a": "b", "b": "a"})
    cells = pd.concat([pairs, mirrored], ignore_index=True).rename(columns={"a": "x", "b": "y", "avd": "shade"})
    tips = _tips("x|column", "y|and", "shade|AVD|.3f", "floor|noise floor|.3f")
    return _present(
        _heat(cells, tips, names, names, title="AVD", number=".2f", least=0.1, room=MOST_NUMBERED),
        "How far each pair of columns is from the real data",
        key="Average variation distance (AVD): 0 = the same, 1 = nothing in common.",
        seen=f"Matrix of the distance between release and real data for each pair of {len(names)} columns.",
    )


def pair_tables(frame: pd.DataFrame, *, x: str, y: str, width: int = 240) -> Chart:
    """Two columns' joint shares, real beside released, on one color scale.

    `frame`: one row per cell and source: `x_value`, `y_value`, `source` ("real" or "released"), `share` (0..1). A cell
    that is not in the frame stays blank. The 40 largest values of a column are drawn, the rest summed.
    """
    cells = _tidy(frame, ["x_value", "y_value", "source"], ["share"]).dropna()
    cells.columns = pd.Index(["x", "y", "source", "shade"])
    names = []
    for side in ("x", "y"):
        shares = cells.groupby(side, sort=False)["shade"].sum()
        kept = shares.index[shares.index.isin(shares.nlargest(MOST_VALUES).index)]
        rest = [f"({len(shares) - len(kept):,} others)"] if len(shares) > len(kept) else []
        cells[side] = cells[side].where(cells[side].isin(kept), "".join(rest))
        names.append([*kept, *rest])
    cells = cells.groupby(["x", "y", "source"], sort=False)["shade"].sum().reset_index()

    titles = _short(x), _short(y)
    tips = _tips("x|across", "y|down", "source|source", "shade|share|.2%")
    heat = _heat(cells, tips, *names, title="share", number=".1%", least=1e-6, room=width // 48, titles=titles)
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelPadding=6)
    return _present(
        heat.properties(width=width).facet(column=alt.Column("source:N", sort=["real", "released"], header=header)),
        f"{titles[0]} and {titles[1]} together, real and released",
        seen=f"Two heat maps of the joint shares of {titles[0]} and {titles[1]}: real and released.",
    )


def accuracy(frame: pd.DataFrame, *, majority: float, ceiling: float | None = None) -> Chart:
    """Accuracy on real test data of models trained on the release and on the real data.

    `frame`: one row per model and run: `model`, `trained_on` ("released" or "real"), `accuracy` (0..1). `majority`: the
    most frequent class's share, what knowing nothing scores. `ceiling`: the same method without privacy.
    """
    data = _tidy(frame, ["model", "trained_on"], ["accuracy"]).dropna()
    scale, axis = alt.Scale(zero=False, padding=14), alt.Axis(format="~%", tickCount=8)
    base = alt.Chart(data).encode(
        alt.X("accuracy:Q", scale=scale, axis=axis, title="accuracy"),
        alt.Y("model:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)),
        alt.YOffset("trained_on:N", sort=["released", "real"]),
        tooltip=_tips("model|model", "trained_on|trained on", "accuracy|accuracy|.1%"),
    )
    kinds = _kinds("trained_on", ["released", "real"], [RELEASED, REAL], ["diamond", "circle"], title="trained on")
    runs = base.mark_point(filled=True, size=120, opacity=0.85).encode(*kinds)
    mean = alt.X("mean(accuracy):Q", title="accuracy")
    means = base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(mean, tooltip=NO_TIP)
    references = [*_reference("majority class", majority, "right"), *_reference("no privacy", ceiling, "left")]
    return _present(
        alt.layer(runs, means, *references),
        "Accuracy on real test data",
        key="One mark per run. Upright line: mean.",
        seen="Accuracy of each model trained on the release and on the real data, with reference lines.",
        height=alt.Step(34),
    )


def epsilon_split(frame: pd.DataFrame) -> Chart:
    """Where epsilon went: what the ledger books per entry name.

    `frame`: one row per ledger entry: `name`; `epsilon_claimed`, `epsilon_bound` (0..inf). Entries of one name are
    summed; the 20 largest names are drawn, the rest summed.
    """
    columns = ["epsilon_claimed", "epsilon_bound"]
    data = pd.DataFrame({"name": _texts(frame["name"])} | {name: frame[name].to_numpy(float) for name in columns})
    data = data.fillna(math.inf).groupby("name", sort=False).sum().reset_index()
    data = data.sort_values(columns[::-1], ascending=False, kind="stable").reset_index(drop=True)
    data = _fold(data, "name", -data.index.to_series(), MOST_ENTRIES)
    edge = 1.15 * _largest(data[columns].replace(math.inf, np.nan).to_numpy().ravel(), 1e-3)

    base = alt.Chart(_to_the_edge(data, columns, edge)).encode(
        alt.X("epsilon_bound:Q", title="epsilon", scale=alt.Scale(domain=[0, edge], nice=False)),
        alt.Y("name:N", sort=None, title=None),
        tooltip=_tips("name|entry", "epsilon_claimed_text|claimed by the paper", "epsilon_bound_text|provable bound"),
    )
    bound = base.mark_bar(color=RELEASED, height={"band": 0.6})
    claimed = _diamonds(base, CLAIMED).encode(x="epsilon_claimed:Q")
    amount = base.mark_text(align="left", dx=12, fontSize=14, color=NEUTRAL).encode(text="epsilon_bound_text:N")
    return _present(
        bound + claimed + amount,
        "Where did epsilon go?",
        key="Bar and number: provable bound. Diamond: claimed by the paper.",
        seen="Epsilon per step of the method, largest first: what can be proved and what the paper claims.",
        height=alt.Step(30),
    )


def claimed_vs_bound(*, claimed: float, bound: float) -> Chart:
    """The epsilon (0..inf) that a paper claims beside the one that can be proved; the log scale gives the odds too."""
    who = ["claimed by the paper", "provable bound"]
    positive = [value for value in (claimed, bound) if 0 < value < math.inf]
    first = min(-2, math.floor(math.log10(min(positive, default=1))))
    last = min(300, max(1, math.ceil(math.log10(max(positive, default=1)) + 0.1)))
    low, high = 10.0**first, 10.0**last
    data = _to_the_edge(pd.DataFrame({"who": who, "epsilon": [float(claimed), float(bound)]}), ["epsilon"], high)
    data = data.assign(low=low, epsilon=data["epsilon"].clip(lower=low))

    powers = np.arange(first, last + 1, 1 + (last - first) // 10)
    ticks = [times * 10.0**power for power in powers for times in ((1, 3) if last - first <= 4 else (1,))]
    sure = "datum.value > 6.9 ? '>99.9%' : format(1 / (1 + exp(-datum.value)), '.1~%')"
    axis = alt.Axis(values=[tick for tick in ticks if tick <= high], labelExpr=f"[format(datum.value, '~g'), {sure}]")
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    base = alt.Chart(data).encode(
        alt.X("epsilon:Q", title="epsilon, and how sure someone who was 50:50 can become", scale=scale, axis=axis),
        alt.Y("who:N", sort=None, title=None),
        tooltip=_tips("who|epsilon", "epsilon_text|value"),
    )
    color = alt.Color("who:N", scale=alt.Scale(domain=who, range=[CLAIMED, RELEASED]), legend=None)
    bars = base.mark_bar(height={"band": 0.6}).encode(color, x2="low")
    amount = base.mark_text(align="left", dx=8, fontSize=16, fontWeight="bold", color=NEUTRAL)
    return _present(
        bars + amount.encode(text="epsilon_text:N"),
        "Epsilon: claimed and proved",
        seen=f"The paper claims epsilon {data['epsilon_text'][0]}; the provable bound is {data['epsilon_text'][1]}.",
        height=alt.Step(52),
    )


def redraws(frame: pd.DataFrame, *, width: int = 560) -> Chart:
    """The same method run again and again, to see how lucky the release on the screen is.

    `frame`: one row per metric and run: `metric`, `value`, `run`, `chosen` (bool: the release on the screen).
    """
    which = ["another draw", "this release"]
    data = _tidy(frame, ["metric", "run"], ["value"])
    metrics = _in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"]).sort_values("which", kind="stable")  # the release is drawn last, on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    base = alt.Chart(data).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=7)),
        tooltip=_tips("metric|metric", "run|run", "value|value|.4~g", "which|which"),
    )
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.15, 1.15])),
        *_kinds("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        size=alt.condition("datum.which == 'this release'", alt.value(260), alt.value(80)),
    )
    median = base.mark_rule(color=NEUTRAL, strokeWidth=3).encode(x="median(value):Q", tooltip=NO_TIP)
    return _present(
        _panels(median + draws, "metric", metrics, columns=1, width=width, height=90),
        f"{_short(metrics[0])}: the same method, drawn again" if len(metrics) == 1 else "The same method, drawn again",
        key="One mark per run. Upright line: median.",
        seen=f"{data['run'].nunique()} runs per metric, with their median; the release on the screen stands out.",
    )


def sweep(
    frame: pd.DataFrame, *, y: str, y_title: str, references: pd.DataFrame | None = None, width: int = 270
) -> Chart:
    """A metric against epsilon: a dot per run, a line of means per series, a panel per model.

    `frame`: one row per run: `epsilon` (> 0), `series` (such as "paper"), `model`, and the column `y`, which the axis
    calls `y_title`. `references`: lines: `model`, `label`, `value`; what has no epsilon, or an infinite one, goes here.
    """
    data = _runs(frame, y).assign(label="", side=-1)
    if references is not None:
        rules = _tidy(references, ["model", "label"], ["value"]).dropna().sort_values("value")
        rules = rules[rules["model"].isin(data["model"])]
        side = rules.groupby("model").cumcount() % 2  # neighbors write their names at opposite ends
        data = pd.concat([data, rules.assign(series="", side=side)], ignore_index=True)

    base = alt.Chart(data).encode(alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=False)))
    runs = _against_epsilon(base.transform_filter("datum.side < 0"), data[data["side"] < 0], y_title)
    lines = base.transform_filter("datum.side >= 0").mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=1.5)
    text: Any = {"baseline": "bottom", "dy": -3, "fontSize": 13, "color": NEUTRAL}
    left = base.transform_filter("datum.side == 0").mark_text(align="left", **text).encode(x=alt.value(4))
    right = base.transform_filter("datum.side == 1").mark_text(align="right", **text).encode(x=alt.value("width"))
    names = [layer.encode(text="label:N", tooltip=NO_TIP) for layer in (left, right)]
    layers = alt.layer(lines.encode(tooltip=_tips("label|reference", "value|value|.4~g")), *names, *runs)
    return _present(
        _panels(layers, "model", _in_order(data["model"]), columns=2, width=width, height=300),
        f"{y_title} against epsilon",
        key="One mark per run; lines join the means.",
        seen=f"{y_title} against epsilon, a mark per run and a line of means per series.",
    )


def sweep_variance(frame: pd.DataFrame, *, y: str = "value", width: int = 270) -> Chart:
    """The variance of `y` across runs against epsilon. `frame` as for `sweep`; a single run has no variance."""
    data = (
        _runs(frame, y)
        .groupby(["model", "series", "epsilon", "aside"], sort=False)["value"]
        .var()
        .dropna()
        .reset_index()
    )
    title = "variance across runs"
    base = alt.Chart(data).encode(alt.Y("value:Q", title=title, axis=alt.Axis(format="~g")))
    layers = alt.layer(*_against_epsilon(base, data, title))
    return _present(
        _panels(layers, "model", _in_order(data["model"]), columns=2, width=width, height=240),
        "How much repeated runs differ",
        seen="Variance across runs against epsilon, one line per series.",
    )


def odds_icons(probability: float, *, title: str | None = None) -> Chart:
    """One hundred icons, `probability` (0..1) of them filled; only certainty fills all. Show it at its own width."""
    filled = 100 if probability >= 1 else min(99, math.floor(100 * probability + 0.5))
    place, kinds = np.arange(100), ["filled", "open"]
    data = pd.DataFrame({"x": place % 10, "y": place // 10, "kind": np.where(place < filled, *kinds)})
    icons = alt.Chart(data).encode(alt.X("x:O", axis=None), alt.Y("y:O", axis=None), tooltip=NO_TIP)
    icons = icons.mark_point(strokeWidth=2, opacity=1).encode(
        *_kinds("kind", kinds, [RELEASED, REAL], ["circle", "square"], legend=None),
        fill=alt.condition("datum.kind == 'filled'", alt.value(RELEASED), alt.value("transparent")),
        size=alt.condition("datum.kind == 'filled'", alt.value(250), alt.value(90)),
    )
    seen = f"{filled} of 100 icons are filled."
    return _present(icons, title or f"{filled} in 100", seen=seen, width=alt.Step(24), height=alt.Step(24))


def odds(epsilon: float) -> float:
    """How sure an observer who was 50:50 can become at most: e^epsilon / (1 + e^epsilon).

    >>> round(odds(1.0), 3), odds(float("inf"))
    (0.731, 1.0)
    """
    grown = math.exp(-abs(epsilon))
    return 1 / (1 + grown) if epsilon >= 0 else grown / (1 + grown)


def mark_real(chart: Chart) -> Chart:
    """The same chart with the mark "uses real data: do not publish" as the last line of its title, once."""
    title: Any = getattr(chart, "title")  # noqa: B009 - Altair does not type it
    if REAL_DATA in title.text:
        return chart
    title = title.copy()
    title.text = [*title.text, REAL_DATA]
    return chart.properties(title=title, description=f"{chart.description} {REAL_DATA}.")


# --- what the charts share: first data, then marks ---


def _texts(column: Iterable[object]) -> pd.Series:
    """Values as text that can be seen."""
    missing = (value is None or value is pd.NA or value != value for value in column)
    shown = (" ".join(str(value).split()) or "(empty)" for value in column)
    return pd.Series(["(missing)" if gone else text for gone, text in zip(missing, shown, strict=True)], dtype=object)


def _short(name: str) -> str:
    text = str(_texts([name])[0])
    return text if len(text) <= 40 else text[:39] + "…"


def _in_order(labels: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(labels))


def _distinct(data: pd.DataFrame, label: str) -> pd.DataFrame:
    """Equal labels told apart, because an axis would draw them in one place."""
    again = data.groupby(label).cumcount()
    return data.assign(**{label: data[label].where(again == 0, data[label] + " (" + (again + 1).astype(str) + ")")})


def _tidy(frame: pd.DataFrame, text: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """These columns only, with a new index; numbers that are not finite are missing."""
    values = {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    finite = {name: pd.Series(np.where(np.isfinite(value), value, np.nan)) for name, value in values.items()}
    return pd.DataFrame({name: _texts(frame[name]) for name in text} | finite)


def _runs(frame: pd.DataFrame, y: str) -> pd.DataFrame:
    data = _tidy(frame, ["series", "model"], ["epsilon", y]).set_axis(["series", "model", "epsilon", "value"], axis=1)
    data = data[data["epsilon"] > 0].dropna()
    place = data.groupby("series", sort=False).ngroup()
    return data.assign(aside=6 * (place - place.max() / 2))  # pixels: series at one epsilon stand side by side


def _fold(data: pd.DataFrame, label: str, weight: pd.Series, most: int) -> pd.DataFrame:
    """The `most` heaviest rows in their order, then one row that sums the others; labels are distinct."""
    keep = data.index.isin(weight.nlargest(most).index)
    if not keep.all():
        others = {label: f"({(~keep).sum():,} others)", **data[~keep].select_dtypes("number").sum()}
        data = pd.concat([data[keep], pd.DataFrame([others])], ignore_index=True)
    return _distinct(data, label)


def _to_the_edge(data: pd.DataFrame, columns: Sequence[str], edge: float) -> pd.DataFrame:
    """Epsilons as lengths, the infinite ones up to the edge, and as texts in columns that end in `_text`."""

    def text(value: float) -> str:
        if not value < math.inf:
            return "∞ (no guarantee)"
        return f"{value:,.0f}" if 100 <= value < 1e6 else f"{value:.3g}"

    texts = {f"{name}_text": [text(value) for value in data[name]] for name in columns}
    return data.assign(**{name: data[name].fillna(math.inf).clip(0, edge) for name in columns}, **texts)


def _largest(values: Iterable[float], at_least: float) -> float:
    return float(np.nanmax([at_least, *values]))


def _tips(*lines: str) -> list[alt.Tooltip]:
    """A tooltip's lines, each "field|title" or "field|title|number format". The titles are always ours."""
    return [
        alt.Tooltip(f"{field}:{'Q' if number else 'N'}", title=title, format=number[0] if number else alt.Undefined)
        for field, title, *number in (line.split("|") for line in lines)
    ]


def _kinds(field: str, names: list[str], colors: list[str], shapes: list[str], **options: Any) -> list[Any]:
    """Color and shape for a few kinds of marks, under one legend."""
    options = {"title": None} | options
    channels: tuple[tuple[Any, list[str]], ...] = ((alt.Color, colors), (alt.Shape, shapes))
    return [channel(f"{field}:N", scale=alt.Scale(domain=names, range=look), **options) for channel, look in channels]


def _diamonds(base: alt.Chart, color: str) -> Any:
    return base.mark_point(shape="diamond", filled=True, size=150, color=color, opacity=1)


def _reference(text: str, value: float | None, align: Any) -> list[Any]:
    """An upright rule with its name and value above it."""
    if value is None or not math.isfinite(value):
        return []
    base = alt.Chart(pd.DataFrame({"accuracy": [value], "label": [f"{text} {value:.1%}"]})).encode(
        alt.X("accuracy:Q", title="accuracy"), tooltip=_tips("label|reference")
    )
    label = base.mark_text(color=NEUTRAL, align=align, dx=-4 if align == "right" else 4, fontSize=13, baseline="bottom")
    rule = base.mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=2)
    return [rule, label.encode(y=alt.value(-4), text="label:N")]


def _heat(
    cells: pd.DataFrame,
    tips: list[alt.Tooltip],
    across: list[str],
    down: list[str],
    *,
    title: str,
    number: str,
    least: float,
    room: int,
    titles: Sequence[str | None] = (None, None),
) -> Any:
    """Cells at `x`, `y`, colored by `shade` from 0 to `least` or above, with numbers if at most `room` are across."""
    highest, few = _largest(cells["shade"], least), len(across) <= MOST_NUMBERED
    below: Any = {"labelAngle": -50, "labelOverlap": False} if few else {"labelAngle": -90, "labelFontSize": 11}
    base = alt.Chart(cells, height=alt.Step(30 if len(down) <= MOST_NUMBERED else 17)).encode(
        alt.X("x:N", title=titles[0], scale=alt.Scale(domain=across), axis=alt.Axis(**below)),
        alt.Y("y:N", title=titles[1], scale=alt.Scale(domain=down), axis=alt.Axis(labelOverlap=False)),
        tooltip=tips,
    )
    scale, legend = alt.Scale(scheme="viridis", domain=[0, highest]), alt.Legend(format="~%" if "%" in number else "~g")
    heat = base.mark_rect().encode(alt.Color("shade:Q", title=title, scale=scale, legend=legend))
    if len(across) > room:
        return alt.layer(heat)
    ink = alt.condition(f"datum.shade > {0.6 * highest}", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
    return heat + base.mark_text(fontSize=13).encode(text=alt.Text("shade:Q", format=number), color=ink)


def _against_epsilon(base: alt.Chart, data: pd.DataFrame, y_title: str) -> list[Any]:
    """Lines of means, and a mark per row, over a log scale of epsilon."""
    names, epsilons = _in_order(data["series"]), sorted(data["epsilon"].unique())
    ticks = epsilons if 0 < len(epsilons) <= 10 else alt.Undefined
    scale, axis = alt.Scale(type="log", padding=14), alt.Axis(format="~g", labelOverlap=True, values=ticks)
    base = base.encode(alt.X("epsilon:Q", title="epsilon (log scale)", scale=scale, axis=axis))
    color, shape = _kinds("series", names, SERIES, SHAPES)
    means = base.mark_line(strokeWidth=2.5).encode(color, alt.Y("mean(value):Q", title=y_title), tooltip=NO_TIP)
    tips = _tips("series|series", "epsilon|epsilon|.3~g", "value|value|.4~g")
    dots = base.mark_point(filled=True, size=75, opacity=0.7, xOffset=alt.ExprRef("datum.aside"))
    return [means, dots.encode(color, shape, tooltip=tips)]


def _panels(chart: Any, field: str, names: list[str], *, columns: int, width: int, height: int) -> Any:
    """One chart as wide as its container, or a panel of `width` per name."""
    if len(names) <= 1:
        return chart.properties(height=height + 150)  # what fits its container counts the title as well
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelAnchor="start", labelLimit=width)
    facet = alt.Facet(f"{field}:N", sort=names, header=header)
    panels = chart.properties(width=width, height=height).facet(facet=facet, columns=columns)
    return panels.resolve_scale(x="independent" if columns == 1 else "shared")


def _present(chart: Any, title: str, *, seen: str, key: str = "", **size: Any) -> Chart:
    """Title, key, alternative text, size, and letters that can be read from the last row."""
    if not isinstance(chart, alt.FacetChart):
        size = {"width": "container"} | size
    look: Any = {"anchor": "start", "offset": 16, "fontSize": 18, "subtitleFontSize": 15, "subtitlePadding": 6}
    heading = alt.TitleParams(textwrap.wrap(title, 66), subtitle=textwrap.wrap(key, 76), subtitleColor=NEUTRAL, **look)
    margin = {"left": 4, "right": 14, "top": 4, "bottom": 8}
    chart = chart.properties(title=heading, description=seen, padding=margin, **size)
    letters: Any = {"labelFontSize": 14, "titleFontSize": 14, "labelLimit": 230}
    chart = chart.configure_axis(**letters, titleLimit=400, labelFlush=False)
    presented: Chart = chart.configure_legend(**letters, orient="top", gradientLength=220)
    return presented
