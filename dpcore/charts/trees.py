"""Trees from the root at the left: a released decision tree's boxes, and a column's taxonomy with its names.

One layout serves both: a column per level, ends in even rows, others amid their children. A branch is told on the line
to its node, and so is a group's name, so that no line crosses a name.
"""

import itertools
import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import NEUTRAL, SERIES
from dpcore.charts.frames import LETTER, in_order, largest, texts, tidy
from dpcore.charts.marks import canvas, fitted, ink_on, keyed, tooltips, words
from dpcore.language import plural, say
from dpcore.text import number

# neighbors differ in blue and yellow
CLASSES = [SERIES[i] for i in (1, 6, 4, 2, 3, 5, 9, 7, 10, 8)]
PALE = "#ececec"
BOX, STEP = 36, 44
ROOM = 6.5  # a letter's width
LARGEST = 320  # box, and line
MOST_LEAVES = 150
LONGEST = 34  # letters of a name that places are made for
GAP, TAIL = 18, 40  # TAIL: behind the last boxes
WIDTH = 960  # pixels, for all texts


def forest_tree(frame: pd.DataFrame, *, title: str = "", width: float = WIDTH) -> Chart:
    """Draw one tree, with every branch's condition on its line.

    The root is at the left, leaves are at the right. A box has the color of its most probable
    class, the paler the less sure it is.

    Parameters
    ----------
    frame : DataFrame
        That of `forest_frames.nodes`.
    title : str, optional
        The title.
    width : float, default=960
        The pixels for all texts; infinite for as many as they need, and the chart is as wide.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = _boxes(frame)
    parents = pd.Index(data["place"]).get_indexer(data["parent"])
    data = data.join(STEP * (_rows(parents) + 0.5)).join(_columns(data, width), on="level")
    height = largest(data["y"], 0.0) + STEP / 2
    own = {"width": math.ceil(largest(data["right"], 0.0)) + TAIL} if math.isinf(width) else {}
    width = own.get("width", width)
    data = data.assign(top=data["y"] - BOX / 2, bottom=data["y"] + BOX / 2, inset=data["left"] + 7)

    marks = canvas(width, height)
    told = ["path", "asks", "noisy", "counts", "label", "share", "spent", "folded"]
    tip = tooltips("path|branch", "asks|divided by", "noisy|noisy number of records|,.1f")
    tip += tooltips("counts|consistent number|,.1f", "label|most probable class", "share|its probability|.1%")
    tip += tooltips("spent|epsilon so far", "folded|nodes below, not drawn|,")
    boxes = marks(data[["left", "right", "top", "bottom", "fill", *told]], "left", "top").mark_rect(cornerRadius=7)
    fill = alt.Fill("fill:N", scale=None)
    boxes = boxes.encode(x2=alt.X2("right"), y2=alt.Y2("bottom"), fill=fill, tooltip=tip)
    codes = dict(data.sort_values("code")[["label", "code"]].to_numpy())
    colors = [CLASSES[code % len(CLASSES)] for code in codes.values()]
    legend = alt.Legend(symbolOpacity=1, symbolSize=160)
    key = marks(data[["left", "y", "label"]], "left").mark_point(filled=True, shape="square", opacity=0)
    key = key.encode(keyed(alt.Color, "label", codes, colors, title=say("most probable class"), legend=legend))
    look: Any = {"align": "left", "baseline": "middle", "fontSize": 12}
    lines = data[["inset", "y", "head", "foot", "fill", *told]].assign(room=data["right"] - data["left"] - 10)
    inside = marks(lines, "inset").encode(tooltip=tip)
    black = look | {"color": ink_on("datum.fill")}
    heads = fitted(inside, "head", width, **black, dy=-8, fontWeight="bold")
    whole = f"({ROOM} - 1) * length(datum.foot)"  # a number that is cut is another number
    feet = fitted(inside, "foot", width, whole, **black, dy=8)
    ways = marks(data[["start", "y", "branch", *told]].assign(room=data["left"] - data["start"] - 10), "start")
    branches = fitted(ways.encode(tooltip=tip), "branch", width, **look | {"baseline": "bottom"}, dx=5, dy=-3)
    rest = words(marks(data[["right", "y", "more"]], "right"), "more", **look, dx=6)
    layers = alt.layer(_lines(marks, data), boxes, key, heads, feet, branches, rest)
    gone = int(data["folded"].where(data["parent"] < 0, 0).sum())
    cases = {"spent|free": data["spent"].any(), "folded": gone}
    values: Any = {"title": title, "count": len(data), "nodes": gone} | own
    values["height"] = height if own else height + 150  # in a container with title and legend
    return present(layers.resolve_scale(color="independent"), "forest_tree", cases, **values)


def _boxes(frame: pd.DataFrame) -> pd.DataFrame:
    """The nodes under the chart's names, with their texts and colors."""
    numbers = ["place", "parent", "level", "noisy", "counts", "share", "spent", "folded"]
    renamed = {"class": "label", "text": "asks", "side": "branch", "edge": "path"}
    data = tidy(frame, ["class", "text", "side", "edge"], numbers).rename(columns=renamed)
    empty = {name: frame[name].to_numpy() == "" for name in ("text", "side", "edge")}
    data["asks"] = data["asks"].mask(empty["text"], say("(a leaf)"))
    data["branch"] = data["branch"].mask(empty["side"], "")
    data["path"] = data["path"].mask(empty["edge"], say("(the root)"))
    kinds = frame["class"].cat.categories if isinstance(frame["class"].dtype, pd.CategoricalDtype) else data["label"]
    # all classes if they are known, so that trees are colored alike
    labels = in_order(texts(kinds))
    data["code"] = [labels.index(label) for label in data["label"]]
    sure = [f"{share:.0%}" if share == share else "" for share in data["share"]]
    data["head"] = (data["asks"] + "?").mask(empty["text"], data["label"] + " " + pd.Series(sure, dtype=object))
    # a node was counted, and nothing was paid
    noiseless = data["spent"].isna() & data["noisy"].notna()
    about = np.where(noiseless, "", "≈ ")
    many = data["noisy"].fillna(data["counts"])
    count = [f"{sign}{round(n):,}".replace("-", "−") if n == n else "" for sign, n in zip(about, many, strict=True)]
    data["spent"] = ["" if math.isnan(epsilon) else number(epsilon) for epsilon in data["spent"]]
    data["foot"] = [f"{a} · ε {b}" if b else a for a, b in zip(count, data["spent"], strict=True)]
    drawn = set(data["parent"])
    end = [folded > 0 and place not in drawn for folded, place in zip(data["folded"], data["place"], strict=True)]
    data["more"] = [f"+{folded:.0f}" if last else "" for folded, last in zip(data["folded"], end, strict=True)]
    even = 1 / max(len(labels), 2)
    certain = ((data["share"].fillna(even) - even) / (1 - even)).clip(0, 1)
    colors = [CLASSES[code % len(CLASSES)] for code in data["code"]]
    data["fill"] = [_paler(color, 0.2 + 0.8 * part) for color, part in zip(colors, certain, strict=True)]
    return data


def _columns(data: pd.DataFrame, width: float) -> pd.DataFrame:
    """Per level where its branches' lines `start`, its boxes (`left`, `right`), and the next level's lines (`hang`)."""
    longest = data.assign(box=data[["head", "foot"]].map(len).max(axis=1), line=data["branch"].map(len))
    needs = longest.groupby("level")[["line", "box"]].max() * ROOM + [26, 18]
    needs["line"] = needs["line"].where(needs.index > 0, 0).clip(upper=LARGEST)
    needs["box"] = needs["box"].clip(80, LARGEST)
    tail = TAIL if (data["more"] != "").any() else 4
    gap = 12.0  # from a box to the line that its branches leave
    flat = needs.to_numpy(float)
    # where there is too little place, lines give way before boxes do
    for kind, least in ((0, 56.0), (1, 0.0)):
        spare = np.maximum(flat[:, kind] - least, 0)
        flat[:, kind] -= spare * np.clip((flat.sum() - width + tail + gap * len(needs)) / max(spare.sum(), 1.0), 0, 1)
    both = flat.ravel()
    edges = np.cumsum(both) + gap * (np.arange(len(both)) // 2)
    places = pd.DataFrame({"start": (edges - both)[::2], "left": edges[::2], "right": edges[1::2]}, index=needs.index)
    return places.assign(hang=places["start"].shift(-1))


def _rows(parents: Any) -> pd.DataFrame:
    """How far down every node stands (`y`), and its first and last child (`high`, `low`; NaN for ends).

    Ends stand 1 apart in order, the first at 0. `parents`: an array of row numbers, the root first with -1.
    """
    found, ends = np.full((len(parents), 3), math.nan), itertools.count()

    def stand(node: int) -> float:
        below = [stand(int(child)) for child in np.flatnonzero(parents == node)]
        found[node, 1:] = (below[0], below[-1]) if below else math.nan
        found[node, 0] = (below[0] + below[-1]) / 2 if below else next(ends)
        return float(found[node, 0])

    if len(parents):
        stand(0)
    return pd.DataFrame(found, columns=["y", "high", "low"])


def _lines(marks: Any, data: pd.DataFrame) -> Any:
    """To every node from the line that it hangs on, from a node to the line of its children, and that line.

    `data`: what `_rows` says, and along the way `start`, `left`, `right`, `hang`: from line to node to line.
    """
    inner = data.dropna(subset="high")
    ways = data[["start", "left", "y", "y"]], inner[["right", "hang", "y", "y"]], inner[["hang", "hang", "high", "low"]]
    lines = pd.concat([way.set_axis(["x", "x2", "y", "y2"], axis=1) for way in ways])
    rules = marks(lines).mark_rule(color=NEUTRAL, opacity=0.7, strokeWidth=1.4)
    return rules.encode(x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))


def _paler(color: str, part: float) -> str:
    """So much of a color, and pale grey, so that texts on it can be read on any page."""
    mixed = part * _channels(color) + (1 - part) * _channels(PALE)
    return "#" + "".join(f"{value:02x}" for value in mixed.round().astype(int))


def _channels(color: str) -> Any:
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


def taxonomy(frame: pd.DataFrame) -> Chart:
    """Draw a column's public tree: values down the right side, groups between them and the root.

    Up to 150 leaves are drawn; of a larger tree as many levels from the root as that allows.

    Parameters
    ----------
    frame : DataFrame
        One row per node, level by level from the root, children in the order of their parents:
        `node` (text), `parent` (the parent's row number from 0; -1 for the root), `leaves` (values
        below it or, for a value, 1).

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = _nodes(frame)
    total, deepest = int(data["leaves"].iloc[0]), int(data["depth"].max())
    upper = _upper(data)
    ends = int(upper["end"].sum())
    step, letters = (22, 13) if ends <= 60 else (17, 12)
    drawn = _across(upper, letters, WIDTH).join(step * (_rows(upper["parent"].to_numpy()) + 1))
    height = step * ends + step

    marks = canvas(WIDTH, height)
    told = ["name", "path", "leaves"]
    dots = marks(drawn[["x", "y", "size", *told]]).mark_point(filled=True, opacity=1, color=NEUTRAL)
    tooltip = tooltips("name|node", "path|path from the root", "leaves|values|,")
    dots = dots.encode(alt.Size("size:Q", scale=None, legend=None), tooltip=tooltip)
    look: Any = {"align": "left", "fontSize": letters}
    names = marks(drawn[["y", "label", "room", *told, "end"]].assign(x=drawn["at"])).encode(tooltip=tooltip)
    groups, ends_of = (names.transform_filter(f"{sign}datum.end") for sign in ("!", ""))
    lines = _lines(marks, drawn.assign(left=drawn["x"], right=drawn["x"], hang=drawn["x"]))
    layers = [lines, dots, fitted(groups, "label", WIDTH, **look, dx=5, dy=-4, baseline="bottom", fontWeight=600)]
    layers.append(fitted(ends_of, "label", WIDTH, **look, dx=9, baseline="middle"))
    values: Any = {"values": total, "levels": plural("{n:,} level", "{n:,} levels", deepest)}
    values |= {"nodes": len(data), "ends": ends, "height": height + 90}  # with the title
    cases = {"upper": len(upper) < len(data), "pointed": True}
    return present(layers, "taxonomy", cases, **values)


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
    if len(data) > 1:
        name = say("(others: {count:,} values)", count=rest)
        others = kept.tail(1).assign(name=name, parent=0, leaves=rest, path="", end=True)
        kept = pd.concat([kept, others], ignore_index=True)
    return kept.assign(end=kept["depth"] == kept["depth"].max())


def _across(data: pd.DataFrame, letters: int, width: int) -> pd.DataFrame:
    """Nodes with their labels and places: a column per level of groups as wide as its names, then all values."""
    counts = [  # a group at the right side says how many values it holds
        f" ({leaves:,})" if end and leaves > 1 and path else ""
        for leaves, end, path in zip(data["leaves"], data["end"], data["path"], strict=True)
    ]
    label = data["name"] + pd.Series(counts, index=data.index, dtype=object)
    room = label.str.len().clip(upper=LONGEST) * letters * LETTER
    depth, end = data["depth"].to_numpy(), data["end"]
    all_wide = width - float(room[end].max()) - 2 * GAP
    wide = room[~end].groupby(data["depth"]).max().to_numpy(float) + GAP
    wide += np.clip((all_wide - wide.sum()) / max(len(wide), 1), 0, 140)
    edges = np.concatenate([[0.0], np.cumsum(wide)])
    edges *= min(1.0, all_wide / max(edges[-1], 1.0))
    last = edges[-1] + 2 * GAP
    return data.assign(
        label=label,
        start=edges[depth],
        at=np.where(end, last, edges[depth]),
        room=np.where(end, width - last - 9, np.diff(edges, append=width)[depth] - 10),
        x=np.where(end, last, edges[np.minimum(depth + 1, len(edges) - 1)]),
        size=np.where(end, 45, 75),
    )
