"""Pictures: a tidy frame of aggregates in, one Altair chart out. Nothing here sees rows of data.

Three rules hold for every chart.

- Text from users (names of columns, categories) is only ever a data value or a plain title; never a field, an expression,
  or the title of a tooltip: Vega reads `a.b[0]` as a path, and its tooltips make `<img>` of what is titled "image".
- Real data are grey, the release is blue, a paper's claim is orange, and each has its own shape or place too. These colors
  reach a contrast of 4 on white and on Streamlit's dark page; all other letters and lines take the theme's colors.
- Only finite numbers reach a chart: an infinite epsilon is drawn to the edge and named, other such numbers are left out.

`chart.description` is the alternative text. A chart is as wide as its container, but one with panels cannot be: its
`width` is the pixels of one panel.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import altair as alt
import numpy as np
import pandas as pd

__all__ = [
    "accuracy",
    "claimed_vs_bound",
    "epsilon_split",
    "mark_real",
    "marginal",
    "odds",
    "odds_icons",
    "pair_heatmap",
    "pair_tables",
    "redraws",
    "sweep",
    "sweep_variance",
    "worst_columns",
]

REAL, RELEASED, CLAIMED, NEUTRAL = "#808080", "#1f77d4", "#c2571a", "#787878"
SERIES, SHAPES = [CLAIMED, RELEASED, "#2a8a4a", "#a05ab4"], ["circle", "diamond", "triangle-up", "square"]
REAL_DATA = "⚠ Uses real data: do not publish"
MOST_VALUES, MOST_ENTRIES, MOST_NUMBERED = 40, 20, 15
Panels = alt.LayerChart | alt.FacetChart
AnyChart = TypeVar("AnyChart", alt.Chart, alt.LayerChart, alt.FacetChart, alt.LayerChart | alt.FacetChart)


def marginal(frame: pd.DataFrame, *, column: str, released_name: str = "released") -> alt.LayerChart:
    """One column's shares, real and released, with the noise floor.

    `frame`: one row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1); `floor_low`, `floor_high`
    (2.5 % and 97.5 % points of the share in same-size resamples of the real data). The 40 largest are drawn, the rest summed.
    """
    data = _tidy(frame, text=["value"], numbers=["real", "released", "floor_low", "floor_high"])
    capped = f" (top {MOST_VALUES} of {len(data):,} values)" if len(data) > MOST_VALUES else ""
    data = _fold(data, "value", data[["real", "released"]].max(axis=1), MOST_VALUES)
    data.loc[MOST_VALUES:, ["floor_low", "floor_high"]] = np.nan  # the floor of a sum is not the sum of floors
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    along, share, share_end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)

    base = alt.Chart(data).encode(
        along("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
        tooltip=_tips(
            "value|value", "real|real|.2%", "released|released|.2%", "floor_low|floor from|.2%", "floor_high|to|.2%"
        ),
    )
    real = base.mark_bar(color=REAL, opacity=0.5).encode(
        share("real:Q", title="share of records", axis=alt.Axis(format="~%", tickCount=6))
    )
    floor = base.mark_rule(color=NEUTRAL, strokeWidth=5).encode(share("floor_low:Q"), share_end("floor_high"))
    released = _diamonds(base, RELEASED).encode(share("released:Q"))
    return _present(
        real + floor + released,
        f"{_short(column)}: real and released shares{capped}",
        key=f"Bar: real. Diamond: {_short(released_name)}. Thick line: 95% of same-size resamples of the real data.",
        seen=f"Shares of the values of {_short(column)}, real and released, with the noise floor.",
        height=420 if upright else alt.Step(26),
    )


def worst_columns(frame: pd.DataFrame, *, top: int = 20) -> alt.LayerChart:
    """The `top` columns, or sets of columns, that the release gets most wrong.

    `frame`: `attributes` (text such as "age" or "age × income"); `avd`, `floor` (average variation distance, 0..1, of the
    release and of a same-size resample of the real data).
    """
    data = _tidy(frame, text=["attributes"], numbers=["avd", "floor"]).sort_values(
        "avd", ascending=False, kind="stable"
    )
    capped = f" (worst {top} of {len(data):,})" if len(data) > top else ""
    data = _distinct(data.head(top), "attributes")

    base = alt.Chart(data).encode(
        alt.Y("attributes:N", sort=None, title=None),
        tooltip=_tips("attributes|columns", "avd|AVD|.3f", "floor|noise floor|.3f"),
    )
    distance = base.mark_bar(color=RELEASED, opacity=0.65, height={"band": 0.55}).encode(
        alt.X("avd:Q", title="average variation distance, 0 = the same", axis=alt.Axis(tickCount=8))
    )
    floor = base.mark_tick(color=NEUTRAL, thickness=4, height={"band": 0.95}).encode(x="floor:Q")
    return _present(
        distance + floor,
        f"Where the release is furthest from the real data{capped}",
        key="Bar: release. Upright line: noise floor, a same-size resample of the real data.",
        seen="Distance from the real data per set of columns, largest first, beside the noise floor.",
        height=alt.Step(28),
    )


def pair_heatmap(frame: pd.DataFrame) -> alt.LayerChart:
    """How well each pair of columns survives, as a symmetric matrix.

    `frame`: one row per unordered pair: `a`, `b` (columns); `avd`, `floor` (average variation distance, 0..1, of the release
    and of a same-size resample). The scale runs from 0 to at least 0.1, so that mere noise does not look alarming.
    """
    pairs = _tidy(frame, text=["a", "b"], numbers=["avd", "floor"]).dropna(subset=["avd"])
    names = _in_order([*pairs["a"], *pairs["b"]])
    mirrored = pairs[pairs["a"] != pairs["b"]].rename(columns={"a": "b", "b": "a"})
    data = pd.concat([pairs, mirrored], ignore_index=True).rename(columns={"a": "x_value", "b": "y_value"})
    base = alt.Chart(data).encode(
        tooltip=_tips("x_value|column", "y_value|and", "avd|AVD|.3f", "floor|noise floor|.3f"),
    )
    heat = _heat(base, "avd|AVD|.2f", across=names, down=names, highest=_largest(pairs["avd"], 0.1), room=MOST_NUMBERED)
    return _present(
        heat,
        "How far each pair of columns is from the real data",
        key="Average variation distance (AVD): 0 = the same, 1 = nothing in common.",
        seen=f"Matrix of the distance between release and real data for each pair of {len(names)} columns.",
    )


def pair_tables(frame: pd.DataFrame, *, x: str, y: str, width: int = 260) -> alt.FacetChart:
    """Two columns' joint shares, real beside released, on one color scale.

    `frame`: one row per cell and source: `x_value`, `y_value`, `source` ("real" or "released"), `share` (0..1). A cell that
    is not in the frame stays blank. The 40 largest values of a column are drawn, the rest summed.
    """
    data = _tidy(frame, text=["x_value", "y_value", "source"], numbers=["share"]).dropna()
    for value in ("x_value", "y_value"):
        shares = data.groupby(value)["share"].sum()
        if len(shares) > MOST_VALUES:
            kept = data[value].isin(shares.nlargest(MOST_VALUES).index)
            data[value] = data[value].where(kept, f"({len(shares) - MOST_VALUES:,} others)")
    data = data.groupby(["x_value", "y_value", "source"], sort=False, as_index=False)["share"].sum()
    base = alt.Chart(data).encode(tooltip=_tips("x_value|across", "y_value|down", "source|source", "share|share|.2%"))
    across, down, highest = _in_order(data["x_value"]), _in_order(data["y_value"]), _largest(data["share"], 1e-6)
    sides = {"across": across, "down": down, "x": _short(x), "y": _short(y)}
    heat = _heat(base, "share|share|.1%", **sides, highest=highest, room=width // 48)
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelPadding=6)
    return _present(
        heat.properties(width=width).facet(column=alt.Column("source:N", sort=["real", "released"], header=header)),
        f"{_short(x)} and {_short(y)} together, real and released",
        seen=f"Two heat maps of the joint shares of {_short(x)} and {_short(y)}, real and released, on one color scale.",
    )


def accuracy(frame: pd.DataFrame, *, majority: float, ceiling: float | None = None) -> alt.LayerChart:
    """Accuracy on real test data of models trained on the release and on the real data.

    `frame`: one row per model and run: `model`, `trained_on` ("released" or "real"), `accuracy` (0..1), optionally `run`.
    `majority`: share of the most frequent class, what knowing nothing scores; `ceiling`: the same method without privacy.
    """
    data = _tidy(frame, text=["model", "trained_on"], numbers=["accuracy"]).dropna()
    scale, axis = alt.Scale(zero=False, padding=14), alt.Axis(format="~%", tickCount=8)
    base = alt.Chart(data).encode(
        alt.X("accuracy:Q", scale=scale, axis=axis, title="accuracy"),
        alt.Y("model:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)),
        alt.YOffset("trained_on:N", sort=["released", "real"]),
        tooltip=_tips("model|model", "trained_on|trained on", "accuracy|accuracy|.1%"),
    )
    runs = base.mark_point(filled=True, size=120, opacity=0.85).encode(
        *_kinds("trained_on", ["released", "real"], [RELEASED, REAL], ["diamond", "circle"], title="trained on")
    )
    mean = base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(
        alt.X("mean(accuracy):Q", title="accuracy"), tooltip=alt.value(None)
    )
    references = [("majority class", majority, "right"), ("no privacy", ceiling, "left")]
    rules = [
        layer
        for text, value, align in references
        if value is not None and math.isfinite(value)
        for layer in _reference(text, value, align)
    ]
    return _present(
        alt.layer(runs, mean, *rules),
        "Accuracy on real test data, by what the model was trained on",
        key="One mark per run. Upright line: mean.",
        seen="Accuracy of each model trained on the release and on the real data, with reference lines.",
        height=alt.Step(34),
    )


def epsilon_split(frame: pd.DataFrame) -> alt.LayerChart:
    """Where epsilon went: what the ledger books per entry name.

    `frame`: one row per ledger entry: `name`; `epsilon_claimed`, `epsilon_bound` (0..inf). Entries of one name are summed;
    the 20 largest names are drawn, the rest summed.
    """
    columns = ["epsilon_claimed", "epsilon_bound"]
    data = pd.DataFrame(
        {"name": _texts(frame["name"]), **{name: frame[name].to_numpy(dtype=float) for name in columns}}
    )
    data = data.fillna(math.inf).groupby("name", sort=False, as_index=False).sum()
    data = data.sort_values(columns[::-1], ascending=False, kind="stable").reset_index(drop=True)
    data = _fold(data, "name", -data.index.to_series(), MOST_ENTRIES)
    finite = data[columns].to_numpy()[np.isfinite(data[columns])]
    edge = 1.15 * _largest(finite, 1e-3)

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


def claimed_vs_bound(*, claimed: float, bound: float) -> alt.LayerChart:
    """The epsilon (0..inf) that a paper claims beside the one that can be proved, on a log scale that gives the odds too."""
    who = ["claimed by the paper", "provable bound"]
    positive = [value for value in (claimed, bound) if 0 < value < math.inf]
    first = min(-2, math.floor(math.log10(min(positive, default=1))))
    last = max(1, math.ceil(math.log10(max(positive, default=1)) + 0.1))
    low, high = 10.0**first, 10.0**last
    data = _to_the_edge(pd.DataFrame({"who": who, "epsilon": [float(claimed), float(bound)]}), ["epsilon"], high)
    data = data.assign(low=low, epsilon=data["epsilon"].clip(lower=low))

    ticks = [10.0**power for power in range(first, last + 1)]
    if last - first <= 4:
        ticks += [3 * tick for tick in ticks[:-1]]
    odds_text = "datum.value > 6.9 ? '>99.9%' : format(1 / (1 + exp(-datum.value)), '.1~%')"
    base = alt.Chart(data).encode(
        alt.X(
            "epsilon:Q",
            title="epsilon, and how sure someone who was 50:50 can become",
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            axis=alt.Axis(values=ticks, labelExpr=f"[format(datum.value, '~g'), {odds_text}]"),
        ),
        alt.Y("who:N", sort=None, title=None),
        tooltip=_tips("who|epsilon", "epsilon_text|value"),
    )
    bars = base.mark_bar(height={"band": 0.6}).encode(
        alt.Color("who:N", scale=alt.Scale(domain=who, range=[CLAIMED, RELEASED]), legend=None), alt.X2("low")
    )
    amount = base.mark_text(align="left", dx=8, fontSize=16, fontWeight="bold", color=NEUTRAL)
    return _present(
        bars + amount.encode(text="epsilon_text:N"),
        "Epsilon: claimed and proved",
        seen=f"The paper claims epsilon {data['epsilon_text'][0]}; the provable bound is {data['epsilon_text'][1]}.",
        height=alt.Step(52),
    )


def redraws(frame: pd.DataFrame, *, width: int = 560) -> Panels:
    """The same method run again and again: how lucky is the release on the screen?

    `frame`: one row per metric and run: `metric`, `value`, `run`, `chosen` (bool: the release on the screen).
    """
    which = ["another draw", "this release"]
    data = _tidy(frame, text=["metric", "run"], numbers=["value"])
    data["which"] = np.where(frame["chosen"].to_numpy(dtype=bool), which[1], which[0])
    data = data.dropna(subset=["value"]).sort_values("which", kind="stable")  # the release is drawn last, on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1
    metrics = _in_order(data["metric"])

    base = alt.Chart(data).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(tickCount=7)),
        tooltip=_tips("metric|metric", "run|run", "value|value|.4~g", "which|which"),
    )
    draws = base.mark_point(filled=True, opacity=0.9).encode(
        alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.15, 1.15])),
        *_kinds("which", which, [REAL, RELEASED], ["circle", "diamond"]),
        alt.Size("which:O", legend=None, scale=alt.Scale(domain=which, range=[80, 260])),
    )
    median = base.mark_rule(color=NEUTRAL, strokeWidth=3).encode(alt.X("median(value):Q"), tooltip=alt.value(None))
    return _present(
        _panels(median + draws, "metric", metrics, columns=1, width=width, height=90),
        f"{_short(metrics[0])}: the same method, drawn again" if len(metrics) == 1 else "The same method, drawn again",
        key="One mark per run. Upright line: median.",
        seen=f"{data['run'].nunique()} runs per metric, with their median; the release on the screen stands out.",
    )


def sweep(
    frame: pd.DataFrame, *, y: str, y_title: str, references: pd.DataFrame | None = None, width: int = 290
) -> Panels:
    """A metric against epsilon: a dot per run, a line of means per series, a panel per model.

    `frame`: one row per run: `epsilon` (> 0), `series` (such as "paper" or "corrected"), `model`, and the column `y`, called
    `y_title` on the axis. `references`: horizontal lines: `model`, `label`, `value`. Runs with infinite epsilon belong there.
    """
    data = _runs(frame, y).assign(label="", side=-1)
    if references is not None:
        rules = _tidy(references, text=["model", "label"], numbers=["value"]).dropna().sort_values("value")
        rules = rules[rules["model"].isin(data["model"])]
        side = rules.groupby("model").cumcount() % 2  # neighbors write their names at opposite ends
        data = pd.concat([data, rules.assign(series="", side=side)], ignore_index=True)

    base = alt.Chart(data).encode(alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=False)))
    rules_only = base.transform_filter("datum.side >= 0").mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=1.5)
    names = [
        base.transform_filter(f"datum.side == {side}")
        .mark_text(align=align, baseline="bottom", dy=-3, fontSize=13, color=NEUTRAL)
        .encode(x=alt.value(at), text="label:N", tooltip=alt.value(None))
        for side, align, at in ((0, "left", 4), (1, "right", "width"))
    ]
    runs = _against_epsilon(base.transform_filter("datum.side < 0"), data[data["side"] < 0], y_title)
    layers = [rules_only.encode(tooltip=_tips("label|reference", "value|value|.4~g")), *names, *runs]
    return _present(
        _panels(alt.layer(*layers), "model", _in_order(data["model"]), columns=2, width=width, height=300),
        f"{y_title} against epsilon",
        key="One mark per run; lines join the means.",
        seen=f"{y_title} against epsilon, a mark per run and a line of means per series.",
    )


def sweep_variance(frame: pd.DataFrame, *, y: str = "value", width: int = 290) -> Panels:
    """How much runs differ: the variance of `y` across runs against epsilon. `frame` as for `sweep`; single runs have none."""
    data = _runs(frame, y).groupby(["model", "series", "epsilon"], sort=False, as_index=False)["value"].var().dropna()
    base = alt.Chart(data).encode(alt.Y("value:Q", title="variance across runs", axis=alt.Axis(format="~g")))
    layers = _against_epsilon(base, data, "variance across runs")
    return _present(
        _panels(alt.layer(*layers), "model", _in_order(data["model"]), columns=2, width=width, height=240),
        "How much repeated runs differ",
        seen="Variance across runs against epsilon, one line per series.",
    )


def odds_icons(probability: float, *, title: str | None = None) -> alt.Chart:
    """One hundred icons, `probability` (0..1) of them filled; only certainty fills the last one. Show it at its own width."""
    filled = 100 if probability >= 1 else min(99, math.floor(100 * probability + 0.5))
    place, kinds = np.arange(100), ["filled", "open"]
    data = pd.DataFrame({"x": place % 10, "y": place // 10, "kind": np.where(place < filled, *kinds)})
    icons = (
        alt.Chart(data)
        .mark_point(strokeWidth=2)
        .encode(
            alt.X("x:O", axis=None),
            alt.Y("y:O", axis=None),
            *_kinds("kind", kinds, [RELEASED, REAL], ["circle", "square"], legend=None),
            fill=alt.condition("datum.kind == 'filled'", alt.value(RELEASED), alt.value("transparent")),
            size=alt.condition("datum.kind == 'filled'", alt.value(250), alt.value(90)),
            tooltip=alt.value(None),
        )
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


def mark_real(chart: AnyChart) -> AnyChart:
    """The same chart with the visible mark "uses real data: do not publish"."""
    if REAL_DATA in chart.title.subtitle:
        return chart
    title = chart.title.copy()
    title.subtitle = [REAL_DATA, *title.subtitle]
    return chart.properties(title=title, description=f"{chart.description} {REAL_DATA}.")


# --- steps that the charts share ---


def _texts(column: Iterable[object]) -> pd.Series:
    """Values as text that can be seen."""
    missing = [value is None or value is pd.NA or value != value for value in column]
    seen = (" ".join(str(value).split()) or "(empty)" for value in column)
    return pd.Series(["(missing)" if gone else text for gone, text in zip(missing, seen, strict=True)], dtype=object)


def _short(name: str) -> str:
    text = _texts([name])[0]
    return text if len(text) <= 40 else text[:39] + "…"


def _in_order(labels: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(labels))


def _distinct(data: pd.DataFrame, label: str) -> pd.DataFrame:
    """Equal labels told apart, because an axis would draw them in one place."""
    again = data.groupby(label).cumcount()
    return data.assign(**{label: data[label].where(again == 0, data[label] + " (" + (again + 1).astype(str) + ")")})


def _tidy(frame: pd.DataFrame, *, text: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """These columns only, with a new index; numbers that are not finite are missing."""
    columns = {name: _texts(frame[name]) for name in text}
    values = {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    return pd.DataFrame(columns | {name: np.where(np.isfinite(value), value, np.nan) for name, value in values.items()})


def _runs(frame: pd.DataFrame, y: str) -> pd.DataFrame:
    data = _tidy(frame.assign(value=frame[y]), text=["series", "model"], numbers=["epsilon", "value"]).dropna()
    return data[data["epsilon"] > 0]


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
        return "∞ (no guarantee)" if not value < math.inf else f"{value:,.0f}" if 100 <= value < 1e6 else f"{value:.3g}"

    texts = {f"{name}_text": data[name].map(text).astype(object) for name in columns}
    return data.assign(**{name: data[name].fillna(math.inf).clip(0, edge) for name in columns}, **texts)


def _largest(values: Iterable[float], at_least: float) -> float:
    return float(np.nanmax([at_least, *values]))


def _tips(*lines: str) -> list[alt.Tooltip]:
    """A tooltip's lines, each "field|title" or "field|title|number format"; the titles are ours."""
    parts = [line.split("|") for line in lines]
    return [
        alt.Tooltip(f"{p[0]}:Q", title=p[1], format=p[2]) if p[2:] else alt.Tooltip(f"{p[0]}:N", title=p[1])
        for p in parts
    ]


def _kinds(
    field: str,
    names: Sequence[str],
    colors: Sequence[str],
    shapes: Sequence[str],
    title: str | None = None,
    **legend: None,
) -> tuple[alt.Color, alt.Shape]:
    """Color and shape for a few kinds of marks, under one legend."""
    color, shape = (alt.Scale(domain=list(names), range=list(values)) for values in (colors, shapes))
    field = f"{field}:N"
    return alt.Color(field, title=title, scale=color, **legend), alt.Shape(field, title=title, scale=shape, **legend)


def _diamonds(base: alt.Chart, color: str) -> alt.Chart:
    return base.mark_point(shape="diamond", filled=True, size=150, color=color, opacity=1)


def _heat(
    base: alt.Chart,
    field: str,
    *,
    across: list[str],
    down: list[str],
    highest: float,
    room: int,
    x: str = "",
    y: str = "",
) -> alt.LayerChart:
    """Cells of `x_value` by `y_value`, colored from 0 to `highest`, with numbers if at most `room` fit beside each other."""
    value, title, number = field.split("|")
    size, overlap = (30 if len(down) <= MOST_NUMBERED else 17), max(len(across), len(down)) > 2 * MOST_VALUES
    base = base.encode(
        alt.X(
            "x_value:N", title=x, scale=alt.Scale(domain=across), axis=alt.Axis(labelAngle=-50, labelOverlap=overlap)
        ),
        alt.Y("y_value:N", title=y, scale=alt.Scale(domain=down), axis=alt.Axis(labelOverlap=overlap)),
    )
    scale, legend = (
        alt.Scale(scheme="viridis", domain=[0, highest]),
        alt.Legend(format=f"~{number[-1]}".replace("f", "g")),
    )
    layers = [base.mark_rect().encode(alt.Color(f"{value}:Q", title=title, scale=scale, legend=legend))]
    if len(across) <= room:
        ink = alt.condition(f"datum.{value} > {0.6 * highest}", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
        layers.append(base.mark_text(fontSize=13).encode(text=alt.Text(f"{value}:Q", format=number), color=ink))
    return alt.layer(*layers).properties(height=alt.Step(size))


def _reference(text: str, value: float, align: str) -> list[alt.Chart]:
    """An upright rule with its name and value above it."""
    base = alt.Chart(pd.DataFrame({"accuracy": [value], "label": [f"{text} {value:.1%}"]})).encode(
        alt.X("accuracy:Q", title="accuracy"), tooltip=_tips("label|reference")
    )
    rule = base.mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=2)
    label = base.mark_text(color=NEUTRAL, align=align, dx=-4 if align == "right" else 4, fontSize=13, baseline="bottom")
    return [rule, label.encode(y=alt.value(-4), text="label:N")]


def _against_epsilon(base: alt.Chart, data: pd.DataFrame, y_title: str) -> tuple[alt.Chart, alt.Chart]:
    """Lines of means, and a mark per row, over a log scale of epsilon."""
    names, epsilons = _in_order(data["series"]), sorted(data["epsilon"].unique())
    ticks = {"values": epsilons} if 0 < len(epsilons) <= 10 else {}
    scale, axis = alt.Scale(type="log", padding=14), alt.Axis(format="~g", labelOverlap=True, **ticks)
    base = base.encode(alt.X("epsilon:Q", title="epsilon (log scale)", scale=scale, axis=axis))
    color, shape = _kinds("series", names, SERIES, SHAPES)
    tips = _tips("series|series", "epsilon|epsilon|.3~g", "value|value|.4~g")
    means = base.mark_line(strokeWidth=2.5).encode(
        color, alt.Y("mean(value):Q", title=y_title), tooltip=alt.value(None)
    )
    aside = alt.ExprRef("datum.aside")  # series at one epsilon stand side by side
    return means, base.mark_point(filled=True, size=75, opacity=0.7, xOffset=aside).encode(color, shape, tooltip=tips)


def _panels(chart: alt.LayerChart, field: str, names: list[str], *, columns: int, width: int, height: int) -> Panels:
    """One chart as wide as its container, or a panel of `width` per name."""
    if len(names) <= 1:
        return chart.properties(height=height + 150)  # a chart that fits its container counts its title too
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelAnchor="start", labelLimit=width)
    panels = chart.properties(width=width, height=height).facet(
        alt.Facet(f"{field}:N", sort=names, header=header), columns=columns
    )
    return panels.resolve_scale(x="independent" if columns == 1 else "shared")


def _present(chart: AnyChart, title: str, *, seen: str, key: str = "", **size: Any) -> AnyChart:
    """Title, key, alternative text, size, and letters that can be read from the last row."""
    if not isinstance(chart, alt.FacetChart):
        size = {"width": "container"} | size
    heading = alt.TitleParams(
        text=textwrap.wrap(title, 60),
        subtitle=textwrap.wrap(key, 76),
        anchor="start",
        fontSize=18,
        subtitleFontSize=15,
        subtitleColor=NEUTRAL,
        subtitlePadding=6,
        offset=16,
    )
    chart = chart.properties(
        title=heading, description=seen, padding={"left": 4, "right": 14, "top": 4, "bottom": 8}, **size
    )
    chart = chart.configure_axis(labelFontSize=14, titleFontSize=14, labelLimit=230, titleLimit=400, labelFlush=False)
    return chart.configure_legend(orient="top", labelFontSize=14, titleFontSize=14, labelLimit=230, gradientLength=220)
