"""A column's public tree: the root at the left, the values down the right side, groups between them.

Every group's name stands on the line that leads to its node, so that no line crosses a name.
"""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import NEUTRAL, NO_TIP, Chart, present, texts, tooltips
from dpcore.charts.network import LETTER

MOST_LEAVES = 150
LONGEST = 34  # letters of a name
GAP = 18


def taxonomy(frame: pd.DataFrame, *, title: str = "", width: int = 960) -> Chart:
    """A tree of names.

    `frame`: one row per node, level by level from the root, children in the order of their parents: `node` (text),
    `parent` (the parent's row number from 0; -1 for the root), `leaves` (values below it or, for a value, 1). Up to 150
    leaves are drawn; of a larger tree as many levels from the root as that allows. `width`: the pixels that the names
    should fit in; the chart is as wide as its container.
    """
    data = _nodes(frame)
    total, deepest = int(data["leaves"].iloc[0]), int(data["depth"].max())
    drawn = _upper(data)
    cut = len(drawn) < len(data)
    note = f"Only the upper part is drawn, down to {drawn['end'].sum():,} nodes." if cut else ""
    step, letters = (22, 13) if drawn["end"].sum() <= 60 else (17, 12)
    drawn = _placed(drawn, step, letters, width)
    height = step * int(drawn["end"].sum()) + step

    horizontal = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    vertical = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))

    def marks(rows: pd.DataFrame) -> alt.Chart:
        return alt.Chart(rows).encode(horizontal, vertical, tooltip=NO_TIP)

    lines: Any = {"color": NEUTRAL, "opacity": 0.6, "strokeWidth": 1.3}
    inner, ends = drawn[~drawn["end"]], drawn[drawn["end"]]
    across = marks(drawn[["y"]].assign(x=drawn["start"], x2=drawn["x"])).mark_rule(**lines).encode(x2=alt.X2("x2:Q"))
    along = marks(inner[["x"]].assign(y=inner["high"], y2=inner["low"])).mark_rule(**lines).encode(y2=alt.Y2("y2:Q"))
    dots = marks(drawn[["x", "y", "name", "path", "leaves", "size"]]).mark_point(filled=True, opacity=1, color=NEUTRAL)
    tips = tooltips("name|node", "path|path from the root", "leaves|values,")
    points = dots.encode(alt.Size("size:Q", scale=None, legend=None), tooltip=tips)
    look: Any = {"align": "left", "color": NEUTRAL, "fontSize": letters}
    names = marks(inner[["y", "label"]].assign(x=inner["start"])).mark_text(
        **look, dx=5, dy=-4, baseline="bottom", fontWeight=600
    )
    values = marks(ends[["x", "y", "label"]]).mark_text(**look, dx=9, baseline="middle")
    layers = [across, along, points, names.encode(text=alt.Text("label:N")), values.encode(text=alt.Text("label:N"))]
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
        kept = pd.concat([kept, pd.DataFrame([others])], ignore_index=True)
    return kept.assign(end=kept["depth"] == kept["depth"].max())


def _placed(data: pd.DataFrame, step: int, letters: int, width: int) -> pd.DataFrame:
    """Where every node stands: one column per level of groups, and all values in the last one."""
    labels = _labels(data)
    room = labels.str.len() * letters * LETTER
    edges = _columns(room[~data["end"]].groupby(data["depth"]).max(), width - float(room[data["end"]].max()) - 2 * GAP)
    depth = data["depth"].to_numpy()
    fits = np.diff(edges, append=width)[depth] - 6
    fits = np.where(data["end"], LONGEST, (fits // (letters * LETTER)).clip(1, LONGEST)).astype(int)
    heights = pd.DataFrame(_heights(data, step), index=data.index, columns=["y", "high", "low"])
    return data.join(heights).assign(
        label=[_cut(label, most) for label, most in zip(labels, fits, strict=True)],
        start=edges[depth],
        x=np.where(data["end"], edges[-1] + 2 * GAP, edges[np.minimum(depth + 1, len(edges) - 1)]),
        size=np.where(data["end"], 45, 75),
    )


def _columns(needs: pd.Series, width: float) -> Any:
    """Where each level's lines start, and where the last level's end: as wide as the names, and as there is place."""
    wide = needs.to_numpy(float) + GAP
    wide += np.clip((width - wide.sum()) / max(len(wide), 1), 0, 140)
    edges = np.concatenate([[0.0], np.cumsum(wide)])
    return edges * min(1.0, width / max(edges[-1], 1.0))


def _heights(data: pd.DataFrame, step: int) -> list[tuple[float, float, float]]:
    """Every node's height, and those of its first and last child: values in order, groups amid their children."""
    below: dict[int, list[int]] = {node: [] for node in range(len(data))}
    for node, parent in enumerate(data["parent"]):
        if parent >= 0:
            below[parent].append(node)
    order, stack = [], [0]
    while stack:  # parents first, children from the first to the last
        order.append(stack.pop())
        stack += reversed(below[order[-1]])
    ends = [node for node in order if not below[node]]
    found = {node: (float(step * place),) * 3 for place, node in enumerate(ends, start=1)}
    for node in reversed(order):
        if below[node]:
            high, low = found[below[node][0]][0], found[below[node][-1]][0]
            found[node] = ((high + low) / 2, high, low)
    return [found[node] for node in range(len(data))]


def _labels(data: pd.DataFrame) -> pd.Series:
    """Short names; a group at the right side says how many values it holds."""
    counts = [
        f" ({leaves:,})" if end and leaves > 1 and path else ""
        for leaves, end, path in zip(data["leaves"], data["end"], data["path"], strict=True)
    ]
    labels = [_cut(name, LONGEST - len(count)) + count for name, count in zip(data["name"], counts, strict=True)]
    return pd.Series(labels, index=data.index, dtype=object)


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
