"""A tree of noisy counts before and after consistency, and how much consistency helps on its levels."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    NEUTRAL,
    NO_TIP,
    RELEASED,
    SERIES,
    Chart,
    color_and_shape,
    in_order,
    largest,
    panels,
    present,
    short,
    tidy,
    tooltips,
)
from dpcore.charts.network import LETTER
from dpcore.charts.ranges import decades

WHICH = ["noisy", "consistent"]
BAND = 34


def count_tree(frame: pd.DataFrame, *, title: str = "", width: int = 820) -> Chart:
    """A tree's nodes as rectangles, a row per level, twice: noisy counts, and consistent ones, on one color scale.

    `frame`: of `count_tree_frames`, maybe `with_truth`: `level`, `divides`, `left`, `right`, `label`, `name`, `noisy`,
    `noisy_margin`, `consistent`, `consistent_margin`, and maybe `true` and `noise`. Colors are absolute errors if the
    true counts are there; without them half the widths of 95 % intervals, and the chart shows nothing private.
    Levels that were not measured say so among the noisy ones. `width`: the pixels of both pictures.
    """
    private = "true" in frame
    rows = frame if private else frame.assign(true=np.nan, noise=np.nan)
    numbers = ["left", "right", "noisy", "noisy_margin", "consistent", "consistent_margin", "true", "noise", "level"]
    data = tidy(rows, ["label", "name", "divides"], numbers)
    data["row"] = _rows(data)
    order = in_order(data["row"])
    total = largest(data["right"], 1.0)
    room = (data["right"] - data["left"]) / total * width / (LETTER * 12) - 1
    data["text"] = [_fitted(label, most) for label, most in zip(data["label"], room.fillna(0), strict=True)]
    parts = []
    for which in WHICH:
        count, margin = data[which], data[f"{which}_margin"]
        shade = (count - data["true"]).abs() if private else margin
        part = data.assign(which=which, low=count - margin, high=count + margin, shade=shade)
        blank = part[count.isna()].drop_duplicates("row").assign(left=0.0, right=total, text="(not measured)")
        parts += [part[count.notna()], blank]
    both = pd.concat(parts, ignore_index=True).drop(
        columns=["label", "divides", "level", "noisy_margin", "consistent_margin"]
    )
    highest = largest(both["shade"], 1e-6)

    base = alt.Chart(both).encode(
        alt.Y("row:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.06)),
        tooltip=tooltips(
            "name|node",
            "noisy|noisy count|,.1f",
            "consistent|consistent count|,.1f",
            *(["true|true count|,.0f", "noise|noise|,.1f"] if private else []),
            "low|interval from|,.1f",
            "high|to|,.1f",
        ),
    )
    across: Any = {"axis": None, "scale": alt.Scale(domain=[0, total], nice=False, zero=False)}
    scale = alt.Scale(scheme="viridis", type="sqrt", domain=[0, highest])
    shade_title = "absolute error" if private else "95% interval, ±"
    color = alt.Color("shade:Q", title=shade_title, scale=scale, legend=alt.Legend(format=",.3~g"))
    counted = base.transform_filter("datum.shade !== null")
    boxes = counted.mark_rect(stroke=NEUTRAL, strokeWidth=0.4).encode(
        alt.X("left:Q", **across), alt.X2("right:Q"), color
    )
    ink = alt.condition(f"datum.shade > {0.36 * highest}", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
    at_middle: Any = {"x": alt.X("middle:Q", **across), "text": "text:N"}
    halfway = "(datum.left + datum.right) / 2"
    words = counted.transform_calculate(middle=halfway).mark_text(fontSize=12).encode(color=ink, **at_middle)
    blanks = base.transform_filter("datum.shade === null").transform_calculate(middle=halfway)
    blanks = blanks.mark_text(fontSize=12, color=NEUTRAL).encode(tooltip=NO_TIP, **at_middle)
    height = BAND * max(len(order), 1)
    picture = panels(
        alt.layer(boxes, words, blanks),
        "which",
        [name for name in WHICH if name in set(both["which"])],
        columns=1,
        width=width,
        height=height,
    )
    what = "absolute error of each count" if private else "half the width of each count's 95% interval"
    return present(
        picture,
        title or "The tree of counts, before and after consistency",
        key=f"A rectangle per node, as wide as its leaves; below it, its children. Color: {what}.",
        seen=f"Two pictures of a tree of {len(data):,} nodes in {len(order)} levels, noisy and consistent, by {what}.",
    )


def _rows(data: pd.DataFrame) -> list[str]:
    """What each row's level is called: its number, and what it divides if that is always the same."""
    alike = data.groupby("level")["divides"].transform("nunique") == 1
    levels = zip(data["level"], data["divides"], alike, strict=True)
    return [f"{level:.0f}: {short(name)}" if same else f"level {level:.0f}" for level, name, same in levels]


def _fitted(label: str, most: float) -> str:
    """The label if there is place for a good part of it."""
    if len(label) <= most:
        return label
    return f"{label[: int(most) - 1]}…" if most >= 6 else ""


def level_errors(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """How far noisy and consistent counts are from the true ones: a dot per run in a row per level.

    `frame`: one row per run, level and kind: `level`, `divides`, `which` ("noisy" or "consistent") and `error` (mean
    absolute error of the level's nodes), as `tree_errors.level_errors` has them. Errors of 0 are left out: the axis is
    a log scale.
    """
    data = tidy(frame, ["which", "divides"], ["level", "error"]).dropna().sort_values("level", kind="stable")
    data["row"] = _rows(data)
    order = in_order(data["row"])
    data = data[(data["error"] > 0) & data["which"].isin(WHICH)].drop(columns=["divides", "level"])
    scale = alt.Scale(type="log", nice=False, padding=16)
    error_title = "mean absolute error of the level's counts, rows (log scale)"
    value = alt.X(
        "error:Q", title=error_title, scale=scale, axis=alt.Axis(format=",.10~g", values=decades(data["error"]))
    )
    names = [name for name in WHICH if name in set(data["which"])]
    look: Any = dict(zip(WHICH, [(SERIES[0], "circle"), (RELEASED, "diamond")], strict=True))
    kinds = color_and_shape("which", names, [look[name][0] for name in names], [look[name][1] for name in names])
    base = alt.Chart(data.reset_index(drop=True)).encode(
        alt.Y("row:N", title=None, scale=alt.Scale(domain=order, paddingInner=0.3)),
        alt.YOffset("which:N", scale=alt.Scale(domain=WHICH)),
    )
    tips = tooltips("row|level", "which|counts", "error|mean error|,.4~g")
    dots = base.mark_point(filled=True, size=60, opacity=0.65).encode(value, *kinds, tooltip=tips)
    mean = alt.X("mean(error):Q", title=error_title, scale=scale)
    means = base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(mean, tooltip=NO_TIP)
    repeated = bool(data.duplicated(["row", "which"]).any())
    return present(
        alt.layer(dots, *([means] if repeated else [])),
        title or "What consistency does to the counts of each level",
        key="One mark per run. Upright line: mean." if repeated else "",
        seen=f"Mean absolute error of the noisy and the consistent counts on {len(order)} levels of the tree.",
        height=alt.Step(22),
    )
