"""Range queries and trees of noisy counts: answers beside the truth, errors by size and by level."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import NEUTRAL, REAL, RELEASED, SERIES, SHAPES, TINTS
from dpcore.charts.frames import UNSEEN, distinct, in_order, largest, short, tidy
from dpcore.charts.marks import NO_TIP, color_and_shape, diamonds, fitted, looks, means, ruled, tooltips, words
from dpcore.charts.scales import scaled, span
from dpcore.language import phrase, say

NUMBER = ",.10~g"
LOOKS = {phrase("noisy"): (SERIES[0], "circle"), phrase("consistent"): (RELEASED, "diamond")}
WHICH = [*LOOKS]
# what a level divides that divides no column, and a node in which no column is divided
ALL = phrase("all rows")
WHOLE = "7 * length(datum.text)"  # pixels of a text that is not cut


def error_by_range(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """Draw mean absolute errors of range queries against the size of the range: a line per release.

    Both axes are log scales. Errors of 0 are left out, as a log scale cannot show them.

    Parameters
    ----------
    frame : DataFrame
        That of `evaluate.errors_by_query_size`, of up to 10 releases, and maybe `baseline` (bool):
        dashed lines.
    title : str, optional
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    names = {"absolute": "value", "absolute_low": "low", "absolute_high": "high"}
    numbers = ["size", "queries", *names.values()]
    data = tidy(frame.rename(columns=names), [], numbers, said=["release", "bin"])
    baseline = frame["baseline"].to_numpy(bool) if "baseline" in frame else np.zeros(len(frame), dtype=bool)
    data = data.assign(kind=np.where(baseline, "baseline", "method"))
    data = data[(data["value"] > 0) & (data["size"] > 0)].reset_index(drop=True)
    data["low"] = data["low"].clip(lower=data["value"].min() / 2)
    series = in_order(data["release"])
    gap = min(6.0, 24 / max(1, len(series)))
    data["aside"] = [gap * (series.index(name) - (len(series) - 1) / 2) for name in data["release"]]

    x_title = say("share of the domain that a range covers (log scale)")
    y_title = say("mean absolute error, rows (log scale)")
    across = scaled(x_title, _logarithmic(24), format="~%", values=_decades(data["size"]))
    up = scaled(y_title, _logarithmic(10), format=NUMBER, values=_decades(data[["value", "low", "high"]]))
    legend = alt.Legend(symbolOpacity=1, columns=4, labelLimit=260)
    color, shape = color_and_shape("release", series, SERIES[1:], SHAPES[1:], legend=legend)
    move: Any = {"xOffset": alt.ExprRef("datum.aside")}
    base = alt.Chart(data).encode(alt.X("size:Q", **across), color)
    value = base.encode(alt.Y("value:Q", **up))
    dashes = alt.Scale(domain=["method", "baseline"], range=[[1, 0], [6, 4]])
    dash = alt.StrokeDash("kind:N", scale=dashes, legend=None)
    lines = value.mark_line(strokeWidth=2.5, **move).encode(dash, alt.Detail("aside:Q"), tooltip=NO_TIP)
    bars = _with_interval(base).mark_rule(strokeWidth=1.5, opacity=0.7, **move)
    bars = bars.encode(alt.Y("low:Q", **up), alt.Y2("high:Q"), tooltip=NO_TIP)
    tooltip = tooltips("release|release", "bin|size of the range", "queries|queries|,", "value|mean error|,.4~g")
    tooltip += tooltips("low|from|,.4~g", "high|to|,.4~g")
    dots = value.encode(shape, tooltip=tooltip).mark_point(filled=True, size=85, opacity=1, **move)
    shown = bool(data["low"].notna().any())
    cases = {"intervals": shown, "baselines": baseline.any()}
    return present([lines, *[bars] * shown, dots], "error_by_range", cases, title=title)


def _logarithmic(padding: float) -> alt.Scale:
    return alt.Scale(type="log", nice=False, padding=padding)


def _decades(numbers: pd.DataFrame | pd.Series) -> Any:
    """The powers of ten among these numbers; the axis finds its own ticks if there are few."""
    exponents = np.log10(numbers.to_numpy(dtype=float))
    exponents = exponents[np.isfinite(exponents)]
    powers = np.arange(np.ceil(exponents.min()), np.floor(exponents.max()) + 1) if len(exponents) else exponents
    return [float(f"1e{power:.0f}") for power in powers] if len(powers) > 1 else alt.Undefined


def _with_interval(base: alt.Chart) -> alt.Chart:
    return base.transform_filter("datum.low !== null && datum.high !== null")


def range_answers(frame: pd.DataFrame) -> Chart:
    """Draw one range query: every release's estimate with its interval, and the true count.

    Parameters
    ----------
    frame : DataFrame
        One row per release: `release`, `estimate`, `low`, `high` (NaN where there is no interval),
        and maybe `true` (the same in all rows), which is a rule. Without it the chart shows nothing
        private.

    Returns
    -------
    alt.Chart
        The chart.
    """
    known = frame if "true" in frame else frame.assign(true=np.nan)
    data = tidy(known, ["release"], ["estimate", "low", "high", "true"]).dropna(subset=["estimate"])
    data = distinct(data.assign(release=data["release"].map(say)).reset_index(drop=True), "release")
    across = scaled(say("rows"), alt.Scale(zero=False, padding=20, nice=False), format=NUMBER, tickCount=7)
    tooltip = tooltips("release|release", "estimate|estimate|,.1f", "low|from|,.1f", "high|to|,.1f")
    tooltip += tooltips("true|true count|,.0f")
    down = alt.Y("release:N", title=None, scale=alt.Scale(domain=in_order(data["release"])))
    base = alt.Chart(data).encode(down, tooltip=tooltip)
    bars = _with_interval(base).mark_rule(color=RELEASED, strokeWidth=3, opacity=0.55)
    bars = bars.encode(alt.X("low:Q", **across), alt.X2("high:Q"))
    layers = [bars, diamonds(base, RELEASED).encode(alt.X("estimate:Q", **across))]
    if len(data) and (truth := data["true"].iloc[0]) == truth:
        place, look = alt.X("at:Q", **across), {"baseline": "bottom", "align": "center"}
        name, end = say("true count {truth:,.0f}", truth=truth), {"y": alt.value(-4)}
        rule, said = ruled(place, truth, name, end, look, color=REAL, strokeWidth=3)
        layers = [rule, *layers, said]
    return present(layers, "range_answers", {"true": len(layers) > 2})


def count_tree(frame: pd.DataFrame, *, width: int = 820) -> Chart:
    """Draw a tree's nodes as rectangles, a row per level: noisy counts, and consistent ones.

    Both have one color scale. Levels that were not measured say so among the noisy ones.

    Parameters
    ----------
    frame : DataFrame
        That of `count_tree.nodes`, maybe `with_truth`. Colors are absolute errors if the
        true counts are there; without them half the widths of 95% intervals, and the chart shows
        nothing private.
    width : int, default=820
        The pixels of both pictures.

    Returns
    -------
    alt.Chart
        The chart.
    """
    private = "true" in frame
    rows = frame if private else frame.assign(true=np.nan, noise=np.nan)
    numbers = ["left", "right", "noisy", "noisy_margin", "consistent", "consistent_margin", "true", "noise", "level"]
    data = tidy(rows, ["label", "name", "divides"], numbers)
    data["row"] = _rows(data)
    order = in_order(data["row"])
    total = largest(data["right"], 1.0)
    data["room"] = (data["right"] - data["left"]) / total * width - 6
    data["name"] = data["name"].replace(ALL, say(ALL))
    data["text"] = data["label"].replace(ALL, say(ALL))
    parts = []
    for which in WHICH:
        count, margin = data[which], data[f"{which}_margin"]
        shade = (count - data["true"]).abs() if private else margin
        part = data.assign(which=which, low=count - margin, high=count + margin, shade=shade)
        blank = part[count.isna()].drop_duplicates("row")
        blank = blank.assign(left=0.0, right=total, room=width, text=say("(not measured)"))
        parts += [part[count.notna()], blank]
    unused = ["label", "divides", "level", "noisy_margin", "consistent_margin"]
    both = pd.concat(parts, ignore_index=True).drop(columns=unused)

    tooltip = tooltips("name|node", "noisy|noisy count|,.1f", "consistent|consistent count|,.1f")
    tooltip += tooltips("true|true count|,.0f", "noise|noise|,.1f") if private else []
    tooltip += tooltips("low|interval from|,.1f", "high|to|,.1f")
    both["row"] = both["row"].where(both["which"] == WHICH[0], UNSEEN + both["row"].astype(str))
    heads = [*map(say, WHICH)]
    # one picture below the other
    names = [heads[0], *order, heads[1], *(UNSEEN + name for name in order)]
    bold = alt.condition(alt.FieldOneOfPredicate("value", heads), alt.value("bold"), alt.value("normal"))
    down = alt.Axis(labelFontWeight=bold, labelOverlap=False)
    base = alt.Chart(both).encode(
        alt.Y("row:N", title=None, scale=alt.Scale(domain=names, paddingInner=0.06), axis=down),
        tooltip=tooltip,
    )
    across: Any = {"axis": None, "scale": span(0, total, zero=False)}
    scale = alt.Scale(range=TINTS, type="sqrt", domain=[0, largest(both["shade"], 1e-6)])
    shade_title = say("absolute error") if private else say("95% interval, ±")
    color = alt.Color("shade:Q", title=shade_title, scale=scale, legend=alt.Legend(format=",.3~g"))
    counted, blanks = (base.transform_filter(f"datum.shade {sign} null") for sign in ("!==", "==="))
    boxes = counted.mark_rect(stroke=NEUTRAL, strokeWidth=0.4)
    boxes = boxes.encode(alt.X("left:Q", **across), alt.X2("right:Q"), color)
    named, blanks = (part.transform_calculate(middle="(datum.left + datum.right) / 2") for part in (counted, blanks))
    middle = alt.X("middle:Q", **across)
    named = fitted(named.encode(middle), "text", width, WHOLE, fontSize=12)
    blanks = words(blanks.encode(middle), "text", fontSize=12)
    what = say("absolute error of each count") if private else say("half the width of each count's 95% interval")
    return present([boxes, named, blanks], "count_tree", what=what)


def _rows(data: pd.DataFrame) -> list[str]:
    """What each row's level is called: its number, and what it divides if that is always the same."""
    alike = data.groupby("level")["divides"].transform("nunique") == 1
    return [
        f"{level:.0f}: {short(say(ALL) if name == ALL else name)}" if same else say("level {level:.0f}", level=level)
        for level, name, same in zip(data["level"], data["divides"], alike, strict=True)
    ]


def level_errors(frame: pd.DataFrame) -> Chart:
    """Draw how far noisy and consistent counts are from the true ones.

    There is a dot per run in a row per level. Errors of 0 are left out: the axis is a log scale.

    Parameters
    ----------
    frame : DataFrame
        That of `tree_errors.level_errors`, for one run or several.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["which", "divides"], ["level", "error"]).dropna().sort_values("level", kind="stable")
    data["row"] = _rows(data)
    order = in_order(data["row"])
    data = data[(data["error"] > 0) & data["which"].isin(WHICH)].drop(columns=["divides", "level"])
    across = scaled(say("mean absolute error of the level's counts, rows (log scale)"), _logarithmic(16))
    base = alt.Chart(data.assign(which=data["which"].map(say)).reset_index(drop=True)).encode(
        alt.Y("row:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.3)),
        alt.YOffset("which:N", scale=alt.Scale(domain=[*map(say, WHICH)])),
    )
    dots = base.mark_point(filled=True, size=60, opacity=0.65).encode(
        alt.X("error:Q", axis=alt.Axis(format=NUMBER, values=_decades(data["error"])), **across),
        *color_and_shape("which", *looks(LOOKS, data["which"])),
        tooltip=tooltips("row|level", "which|counts", "error|mean error|,.4~g"),
    )
    repeated = bool(data.duplicated(["row", "which"]).any())
    layers = [dots, *[means(base, alt.X("mean(error):Q", **across))] * repeated]
    return present(layers, "level_errors", {"runs": repeated})
