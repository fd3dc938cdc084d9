"""Lines that results are measured against, with their names."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import CLAIMED, NEUTRAL, NO_TIP, tidy, tooltips

__all__ = ["level_rows", "levels", "piled", "upright"]

LINE, GAP = 15, 3  # pixels: of a name, and below it
HEIGHT, TINY = 270, 1e-12  # pixels of a panel, less what its axis is rounded to; what a flat one is told as


def upright(text: str, value: float | None, align: Any) -> list[Any]:
    """An upright rule at an accuracy, with its name and value above it."""
    if value is None or not math.isfinite(value):
        return []
    base = alt.Chart(pd.DataFrame({"accuracy": [value], "label": [f"{text} {value:.1%}"]})).encode(
        alt.X("accuracy:Q", title="accuracy"), tooltip=tooltips("label|reference")
    )
    label = base.mark_text(color=NEUTRAL, align=align, dx=-4 if align == "right" else 4, fontSize=13, baseline="bottom")
    rule = base.mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=2)
    return [rule, label.encode(y=alt.value(-4), text="label:N")]


def level_rows(
    references: pd.DataFrame, panel: str | None, data: pd.DataFrame, *, log: bool, shared: bool
) -> pd.DataFrame:
    """Rows for `levels`: `panel`, `label`, `value`, `claimed`, `rule` (1), `names` and `lift`.

    `references`: the column that `panel` names, `label`, `value`, and maybe `claimed`. `data`: the panels' rows:
    `panel`, `value`. `shared`: all panels have one axis. Lines with no room for a name between them are named together,
    above the highest of them and in their order. `lift`: pixels from the line to the first name.
    """
    drawn = references.assign(panel=references[panel] if panel else "", claimed=references.get("claimed", False))
    rows = tidy(drawn, ["panel", "label"], ["value", "claimed"]).dropna().sort_values("value", ascending=False)
    rows = rows[rows["panel"].isin(data["panel"]) & ((rows["value"] > 0) | (not log))]
    every = pd.concat([rows[["panel", "value"]], data[["panel", "value"]]])
    along, shown = (np.log(rows["value"]), np.log(every["value"])) if log else (rows["value"], every["value"])
    ends = shown.groupby(every["panel"])
    span = float(shown.max() - shown.min()) if shared else rows["panel"].map(ends.max() - ends.min())
    down = -HEIGHT * along / np.maximum(span, TINY)
    rows = rows.assign(pile=down.groupby(rows["panel"]).transform(piled))
    piles = rows.groupby(["panel", "pile"])
    many, first = piles["label"].transform("size"), piles.cumcount() == 0
    names = piles["label"].transform("\n".join).where(first, "")
    return rows.assign(rule=1, names=names, lift=-GAP - LINE * (many - 1)).drop(columns="pile")


def piled(down: pd.Series) -> list[int]:
    """The pile of each line, by how far down it is in pixels, ascending: names are clear of the lines above them."""
    piles: list[list[float]] = []
    for place in down:
        piles.append([place])
        while len(piles) > 1 and piles[-1][0] - GAP - LINE * len(piles[-1]) < piles[-2][-1]:
            piles[-2:] = [piles[-2] + piles[-1]]
    return [number for number, pile in enumerate(piles) for _ in pile]


def levels(base: alt.Chart) -> tuple[Any, Any]:
    """The lines of `level_rows`, and their names; `base` has the axis."""
    base = base.encode(color=alt.condition("datum.claimed > 0", alt.value(CLAIMED), alt.value(NEUTRAL)))
    lines = base.transform_filter("datum.rule > 0").mark_rule(strokeDash=[2, 3], strokeWidth=1.5)
    lines = lines.encode(tooltip=tooltips("label|reference", "value|value|.4~g"))
    look: Any = {"align": "left", "baseline": "bottom", "dy": alt.ExprRef("datum.lift"), "fontSize": 13}
    names = base.transform_filter("datum.rule > 0").mark_text(**look, lineBreak="\n", lineHeight=LINE)
    return lines, names.encode(x=alt.value(4), text=alt.Text("names:N"), tooltip=NO_TIP)
