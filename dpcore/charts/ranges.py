"""Range queries: one answer beside the truth, and errors against how much of the domain a range covers."""

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
    Chart,
    color_and_shape,
    distinct,
    in_order,
    present,
    tidy,
    tooltips,
)

NUMBER = ",.10~g"


def error_by_range(
    frame: pd.DataFrame, *, error: Literal["absolute", "relative"] = "absolute", title: str = ""
) -> Chart:
    """Mean errors of range queries against the size of the range, both on log scales: a line per release.

    `frame`: of `evaluate.by_size`: `release` (up to 10), `bin`, `size` (share of the domain), `queries`, the columns of
    `error` and its interval (`absolute`, `absolute_low`, `absolute_high`), and maybe `baseline` (bool): dashed lines.
    Errors of 0 are left out, as a log scale cannot show them.
    """
    names = {error: "value", f"{error}_low": "low", f"{error}_high": "high"}
    rows = frame.rename(columns=names)
    data = tidy(rows, ["release", "bin"], ["size", "queries", *names.values()])
    baseline = frame["baseline"].to_numpy(bool) if "baseline" in frame else np.zeros(len(frame), dtype=bool)
    data = data.assign(kind=np.where(baseline, "baseline", "method"))
    data = data[(data["value"] > 0) & (data["size"] > 0)].reset_index(drop=True)
    data["low"] = data["low"].clip(lower=data["value"].min() / 2)
    series = in_order(data["release"])
    gap = min(6.0, 24 / max(1, len(series)))
    data["aside"] = [gap * (series.index(name) - (len(series) - 1) / 2) for name in data["release"]]

    unit = "rows" if error == "absolute" else "share of the true count"
    x_title = "share of the domain that a range covers (log scale)"
    size = alt.X(
        "size:Q",
        title=x_title,
        scale=alt.Scale(type="log", nice=False, padding=24),
        axis=alt.Axis(format="~%", values=decades(data["size"])),
    )
    scale, axis = (
        alt.Scale(type="log", nice=False, padding=10),
        alt.Axis(format=NUMBER, values=decades(data[["value", "low", "high"]])),
    )
    y_title = f"mean {error} error, {unit} (log scale)"
    value = alt.Y("value:Q", title=y_title, scale=scale, axis=axis)
    color, shape = color_and_shape(
        "release", series, SERIES[1:], SHAPES[1:], legend=alt.Legend(symbolOpacity=1, columns=4, labelLimit=260)
    )
    move = alt.ExprRef("datum.aside")
    base = alt.Chart(data).encode(size, color)
    kinds = in_order(data["kind"])
    dashes = alt.Scale(domain=["method", "baseline"], range=[[1, 0], [6, 4]])
    dash = alt.StrokeDash("kind:N", scale=dashes, legend=None)
    lines = base.mark_line(strokeWidth=2.5, xOffset=move).encode(value, dash, alt.Detail("aside:Q"), tooltip=NO_TIP)
    low = alt.Y("low:Q", title=y_title, scale=scale, axis=axis)
    bars = base.transform_filter("datum.low !== null && datum.high !== null")
    bars = bars.mark_rule(strokeWidth=1.5, opacity=0.7, xOffset=move).encode(low, alt.Y2("high:Q"), tooltip=NO_TIP)
    tips = tooltips(
        "release|release",
        "bin|size of the range",
        "queries|queries,",
        "value|mean error|,.4~g",
        "low|from|,.4~g",
        "high|to|,.4~g",
    )
    dots = base.mark_point(filled=True, size=85, opacity=1, xOffset=move).encode(value, shape, tooltip=tips)
    shown = bool(data["low"].notna().any())
    key = "One mark per size." + (" Bars: 95% intervals of the mean over runs." if shown else "")
    return present(
        alt.layer(lines, *([bars] if shown else []), dots),
        title or f"{error.capitalize()} errors of range queries, by the size of the range",
        key=key + (" Dashed: baselines." if "baseline" in kinds else ""),
        seen=f"Mean {error} error of range queries against the share of the domain that they cover, per release.",
        height=420,
    )


def decades(numbers: pd.DataFrame | pd.Series) -> Any:
    """The powers of ten among these numbers; the axis finds its own ticks if there are few."""
    exponents = np.log10(numbers.to_numpy(dtype=float))
    exponents = exponents[np.isfinite(exponents)]
    powers = np.arange(np.ceil(exponents.min()), np.floor(exponents.max()) + 1) if len(exponents) else exponents
    return [float(f"1e{power:.0f}") for power in powers] if len(powers) > 1 else alt.Undefined


def range_answers(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """One range query: every release's estimate with its interval, beside the true count.

    `frame`: one row per release: `release`, `estimate`, `low`, `high` (NaN where there is no interval), and maybe
    `true` (the same in all rows), which is a rule. Without it the chart shows nothing private.
    """
    known = frame if "true" in frame else frame.assign(true=np.nan)
    data = distinct(tidy(known, ["release"], ["estimate", "low", "high", "true"]), "release")
    data = data.dropna(subset=["estimate"]).reset_index(drop=True)
    scale, axis = alt.Scale(zero=False, padding=20, nice=False), alt.Axis(format=NUMBER, tickCount=7)
    tips = tooltips(
        "release|release", "estimate|estimate|,.1f", "low|from|,.1f", "high|to|,.1f", "true|true count|,.0f"
    )
    base = alt.Chart(data).encode(
        alt.Y("release:N", title=None, scale=alt.Scale(domain=in_order(data["release"]))), tooltip=tips
    )
    bars = base.transform_filter("datum.low !== null && datum.high !== null")
    bars = bars.mark_rule(color=RELEASED, strokeWidth=3, opacity=0.55).encode(
        alt.X("low:Q", title="rows", scale=scale, axis=axis), alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, shape="diamond", size=150, opacity=1, color=RELEASED)
    dots = dots.encode(alt.X("estimate:Q", title="rows", scale=scale, axis=axis))
    layers: list[Any] = [bars, dots]
    if len(data) and (truth := data["true"].iloc[0]) == truth:
        rule = pd.DataFrame({"true": [truth], "text": [f"true count {truth:,.0f}"]})
        at = alt.Chart(rule).encode(alt.X("true:Q", title="rows", scale=scale, axis=axis))
        layers.insert(0, at.mark_rule(color=REAL, strokeWidth=3).encode(tooltip=tooltips("text|reference")))
        label = at.mark_text(color=NEUTRAL, fontSize=13, baseline="bottom", align="center")
        layers.append(label.encode(y=alt.value(-4), text=alt.Text("text:N"), tooltip=NO_TIP))
    return present(
        alt.layer(*layers),
        title or "How many rows match",
        key="Diamond: estimate. Bar: 95% interval of the noise."
        + (" Grey rule: true count." if len(layers) > 2 else ""),
        seen=f"Estimates of one range query by {len(data)} releases, with intervals.",
        height=alt.Step(36),
    )
