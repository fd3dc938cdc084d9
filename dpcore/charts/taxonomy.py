"""A column's public tree: the root at the left, the values down the right side, groups between them.

Every group's name stands on the line that leads to its node, so that no line crosses a name.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import NEUTRAL, NO_TIP, Chart, present, texts, tooltips
from dpcore.charts.network import LETTER

__all__ = ["MOST_LEAVES", "taxonomy"]

MOST_LEAVES = 150
LONGEST = 34  # letters of a name
GAP = 18


def taxonomy(frame: pd.DataFrame, *, title: str = "", width: int = 960) -> Chart:
    """A tree of names.

    `frame`: one row per node, the root first, parents before their children and children in their order: `node` (text),
    `parent` (the parent's row number from 0; -1 for the root), `leaves` (values below it or, for a value, 1). Up to 150
    leaves are drawn; of a larger tree as many levels from the root as that allows. `width`: the pixels that the names
    should fit in; the chart is as wide as its container.
    """
    data = _nodes(frame)
    total, deepest = int(data["leaves"].iloc[0]), int(data["depth"].max())
    drawn = _upper(data)
    cut = len(drawn) < len(data)
    note = f"Only {drawn['end'].sum():,} nodes of the upper levels are drawn." if cut else ""
    step, letters = (22, 13) if drawn["end"].sum() <= 60 else (17, 12)
    drawn = _placed(drawn, step, letters, width)
    height = step * int(drawn["end"].sum()) + step

    horizontal = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    vertical = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))

    def marks(rows: pd.DataFrame) -> alt.Chart:
        return alt.Chart(rows).encode(horizontal, vertical, tooltip=NO_TIP)

    lines: Any = {"color": NEUTRAL, "opacity": 0.6, "strokeWidth": 1.3}
    inner, ends = drawn[~drawn["end"]], drawn[drawn["end"]]
    across = marks(drawn[["y"]].assign(x=drawn["start"], x2=drawn["x"])).mark_rule(**lines).encode(x2="x2:Q")
    along = marks(inner[["x"]].assign(y=inner["high"], y2=inner["low"])).mark_rule(**lines).encode(y2="y2:Q")
    dots = marks(drawn[["x", "y", "name", "path", "leaves", "size"]]).mark_point(filled=True, opacity=1, color=NEUTRAL)
    tips = tooltips("name|node", "path|path from the root", "leaves|values,")
    points = dots.encode(alt.Size("size:Q", scale=None, legend=None), tooltip=tips)
    look: Any = {"align": "left", "color": NEUTRAL, "fontSize": letters}
    names = marks(inner[["y", "label"]].assign(x=inner["start"])).mark_text(
        **look, dx=5, dy=-4, baseline="bottom", fontWeight=600
    )
    values = marks(ends[["x", "y", "label"]]).mark_text(**look, dx=9, baseline="middle")
    layers = [across, along, points, names.encode(text="label:N"), values.encode(text="label:N")]
    steps = "1 level" if deepest == 1 else f"{deepest:,} levels"
    return present(
        alt.layer(*layers),
        title or f"{total:,} values, {steps} below the root",
        key=f"{note} Point at a node to see its path.".strip(),
        seen=f"Tree of {len(data):,} nodes, {steps}: root at the left, {total:,} values at the right. {note}".strip(),
        height=height + 90,  # what fits its container counts the title as well
    )


def _nodes(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame under the chart's names, with each node's depth and path."""
    names, parents = list(texts(frame["node"])), [int(parent) for parent in frame["parent"]]
    depths: list[int] = []
    paths: list[str] = []
    for name, parent in zip(names, parents, strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        paths.append(f"{paths[parent]} › {name}" if parent >= 0 else name)
    end = ~np.isin(np.arange(len(names)), parents)
    leaves = frame["leaves"].to_numpy(int)
    return pd.DataFrame(
        {"name": names, "parent": parents, "leaves": leaves, "depth": depths, "path": paths, "end": end}
    )


def _upper(data: pd.DataFrame) -> pd.DataFrame:
    """As many levels as leave at most 150 nodes at the right side; the first nodes if one level is too many already."""
    for level in range(int(data["depth"].max()), 0, -1):
        kept = data[data["depth"] <= level]
        kept = kept.assign(end=kept["end"] | (kept["depth"] == level))
        if kept["end"].sum() <= MOST_LEAVES:
            return kept
    kept = data[data["depth"] <= 1].head(MOST_LEAVES)
    rest = int(data["leaves"].iloc[0] - kept["leaves"].iloc[1:].sum())
    others = {"name": f"(others: {rest:,} values)", "parent": 0, "leaves": rest, "depth": 1, "path": "", "end": True}
    if len(data) > 1:
        kept = pd.concat([kept, pd.DataFrame([others])])
    return kept.assign(end=kept["depth"] == kept["depth"].max())


def _placed(data: pd.DataFrame, step: int, letters: int, width: int) -> pd.DataFrame:
    """Where every node stands: values in the order of their paths, groups at the middle of their children."""
    parents = data["parent"].tolist()
    children: dict[int, list[int]] = {}
    for node, parent in zip(data.index[1:], parents[1:], strict=True):
        children.setdefault(parent, []).append(node)
    below = {node: children.get(node, []) if not end else [] for node, end in zip(data.index, data["end"], strict=True)}
    y: dict[int, float] = {}
    stack = [(int(data.index[0]), False)]
    while stack:
        node, seen = stack.pop()
        if not below[node]:
            y[node] = step * (sum(not below[done] for done in y) + 1)
        elif seen:
            y[node] = (y[below[node][0]] + y[below[node][-1]]) / 2
        else:
            stack += [(node, True), *((child, False) for child in reversed(below[node]))]
    labels = _labels(data)
    inner = data.loc[~data["end"], "depth"]
    room = labels.str.len() * letters * LETTER + GAP
    needs = (
        [float(room[inner.index[inner == depth]].max()) for depth in range(int(inner.max()) + 1)] if len(inner) else []
    )
    at_right = float(room[data["end"]].max())
    free = max(width - at_right - GAP - sum(needs), 0) / (len(needs) + 1)
    columns = np.cumsum([0.0, *(need + min(free, 90) for need in needs)])
    columns *= min(1.0, (width - at_right - GAP) / columns[-1]) if columns[-1] else 1.0
    right = columns[-1] + GAP + min(free, 60)
    x = np.where(data["end"], right, columns[np.minimum(data["depth"] + 1, len(columns) - 1)])
    started = [0.0 if depth == 0 else columns[depth] for depth in data["depth"]]
    tall = {node: [y[child] for child in below[node]] or [y[node]] for node in data.index}
    return data.assign(
        label=labels,
        x=x,
        start=started,
        y=[y[node] for node in data.index],
        high=[min(tall[node]) for node in data.index],
        low=[max(tall[node]) for node in data.index],
        size=np.where(data["end"], 45, 75),
    )


def _labels(data: pd.DataFrame) -> pd.Series:
    """Short names; a group at the right side says how many values it holds."""
    short = data["name"].where(data["name"].str.len() <= LONGEST, data["name"].str[: LONGEST - 1] + "…")
    counted = short + data["leaves"].map(lambda count: f" ({count:,})")
    return short.where(~(data["end"] & (data["leaves"] > 1)) | data["path"].eq(""), counted)
