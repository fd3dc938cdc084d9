"""Trees: a released decision tree's boxes, a column's taxonomy with its names, and noisy counts with their errors.

One layout serves the first two, whose root is at the left: a column per level, ends in even rows,
others amid their children. A branch is told on the line to its node, and so is a group's name, so
that no line crosses a name.
"""

import itertools
import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.frames import LETTER, UNSEEN, distinct, in_order, largest, short, texts, tidy
from dpcore.charts.marks import (
    Plot,
    canvas,
    color_and_shape,
    diamonds,
    draw_rule,
    fit_text,
    ink_on,
    legend_channel,
    words,
)
from dpcore.charts.scales import (
    NEUTRAL,
    REAL,
    RELEASED,
    SERIES,
    TINTS,
    log_axis,
    names_axis,
    span,
)
from dpcore.language import phrase, plural, say
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
LOOKS = {"noisy": (SERIES[0], "circle"), "consistent": (RELEASED, "diamond")}
# what a level divides that divides no column, and a node in which no column is divided
ALL = phrase("all rows")
WHOLE = "7 * length(datum.text)"  # pixels of a text that is not cut


def forest_tree(frame: pd.DataFrame, *, title: str = "", width: float = WIDTH) -> Chart:
    """Draw one tree, with every branch's condition on its line.

    The root is at the left, leaves are at the right. A box has the color of its most probable
    class, the paler the less sure it is.

    Parameters
    ----------
    frame : DataFrame
        That of `forest_frames.node_table`.
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

    plot = canvas(width, height, "forest_tree")
    tooltip, fill = plot.tooltip_of(data), alt.Fill("fill:N", scale=None)
    data["room"], data["along"] = data["right"] - data["left"] - 10, data["left"] - data["start"] - 10
    boxes = plot(data, ("left", "right"), ("top", "bottom"), tooltip, fill).mark_rect(cornerRadius=7)
    codes = dict(data.sort_values("code")[["label", "code"]].to_numpy())
    colors = [CLASSES[code % len(CLASSES)] for code in codes.values()]
    legend = alt.Legend(symbolOpacity=1, symbolSize=160)
    labeled = legend_channel(alt.Color, "label", codes, colors, title=say("most probable class"), legend=legend)
    key = plot(data, "left", "y", labeled).mark_point(filled=True, shape="square", opacity=0)
    look: Any = {"align": "left", "baseline": "middle", "fontSize": 12}
    inside, ways = (plot(data, x, "y", tooltip) for x in ("inset", "start"))
    black = look | {"color": ink_on("datum.fill")}
    heads = fit_text(inside, "head", width, **black, dy=-8, fontWeight="bold")
    whole = f"({ROOM} - 1) * length(datum.foot)"  # a number that is cut is another number
    feet = fit_text(inside, "foot", width, whole, **black, dy=8)
    branches = fit_text(ways, "branch", width, room="along", **look | {"baseline": "bottom"}, dx=5, dy=-3)
    rest = words(plot(data, "right"), "more", **look, dx=6)
    layers = alt.layer(_lines(plot, data), boxes, key, heads, feet, branches, rest)
    gone = int(data["folded"].where(data["parent"] < 0, 0).sum())
    cases = {"spent|free": data["spent"].any(), "folded": gone}
    values: Any = {"title": title, "count": len(data), "nodes": gone} | own
    values["height"] = height if own else height + 150  # in a container with title and legend
    return present(layers.resolve_scale(color="independent"), "forest_tree", cases, **values)


def _boxes(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the nodes' columns to the chart's, and add their texts and colors."""
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
    end = [folded > 0 and position not in drawn for folded, position in zip(data["folded"], data["place"], strict=True)]
    data["more"] = [f"+{folded:.0f}" if last else "" for folded, last in zip(data["folded"], end, strict=True)]
    even = 1 / max(len(labels), 2)
    certain = ((data["share"].fillna(even) - even) / (1 - even)).clip(0, 1)
    colors = [CLASSES[code % len(CLASSES)] for code in data["code"]]
    data["fill"] = [_paler(color, 0.2 + 0.8 * part) for color, part in zip(colors, certain, strict=True)]
    return data


def _columns(data: pd.DataFrame, width: float) -> pd.DataFrame:
    """Return the horizontal layout of each level: lines, boxes, and the next level's lines.

    `width` is that of the drawing. The columns are in pixels: `start` (where lines to the level's
    boxes begin), `left` and `right` (the boxes' ends), and `hang` (the next level's `start`).
    """
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
    ends = pd.DataFrame({"start": (edges - both)[::2], "left": edges[::2], "right": edges[1::2]}, index=needs.index)
    return ends.assign(hang=ends["start"].shift(-1))


def _rows(parents: Any) -> pd.DataFrame:
    """Return each node's vertical position `y`, and those of its first and last child.

    These are `high` and `low`, NaN for leaves. Leaves stand 1 apart in order, the first at 0.
    `parents` is an array of row numbers, the root first with -1.
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


def _lines(plot: Plot, data: pd.DataFrame) -> Any:
    """Draw the lines between each node and its parent, and from a node to its children.

    `data` has, for each node, `y`, `high` and `low` from `_rows`, and `start`, `left`, `right` and
    `hang` from `_columns`.
    """
    inner = data.dropna(subset="high")
    ways = data[["start", "left", "y", "y"]], inner[["right", "hang", "y", "y"]], inner[["hang", "hang", "high", "low"]]
    lines = pd.concat([way.set_axis(["x", "x2", "y", "y2"], axis=1) for way in ways])
    return plot(lines, ("x", "x2"), ("y", "y2")).mark_rule(color=NEUTRAL, opacity=0.7, strokeWidth=1.4)


def _paler(color: str, part: float) -> str:
    """Blend a color with pale grey, so that text on it can be read on any page.

    `part` is the color's share of the blend.
    """
    channels = np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in (color, PALE)])
    mixed = part * channels[0] + (1 - part) * channels[1]
    return "#" + "".join(f"{value:02x}" for value in mixed.round().astype(int))


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

    plot = canvas(WIDTH, height, "taxonomy")
    size = alt.Size("size:Q", scale=None, legend=None)
    dots = plot(drawn, "x", "y", plot.tooltip, size).mark_point(filled=True, opacity=1, color=NEUTRAL)
    look: Any = {"align": "left", "fontSize": letters}
    groups, values_of = (plot(drawn[drawn["end"] == end], "at", "y", plot.tooltip) for end in (False, True))
    lines = _lines(plot, drawn.assign(left=drawn["x"], right=drawn["x"], hang=drawn["x"]))
    layers = [lines, dots, fit_text(groups, "label", WIDTH, **look, dx=5, dy=-4, baseline="bottom", fontWeight=600)]
    layers.append(fit_text(values_of, "label", WIDTH, **look, dx=9, baseline="middle"))
    values: Any = {"values": total, "levels": plural("{n:,} level", "{n:,} levels", deepest)}
    values |= {"nodes": len(data), "ends": ends, "height": height + 90}  # with the title
    cases = {"upper": len(upper) < len(data), "pointed": True}
    return present(layers, "taxonomy", cases, **values)


def _nodes(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename a frame's columns to the chart's, and add each node's depth and path."""
    names, parents = list(texts(frame["node"])), [int(parent) for parent in frame["parent"]]
    depths: list[int] = []
    paths: list[str] = []
    for name, parent in zip(names, parents, strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        paths.append(f"{paths[parent]} › {name}" if parent >= 0 else name)
    data = pd.DataFrame({"name": names, "parent": parents, "leaves": frame["leaves"].to_numpy(int)})
    return data.assign(depth=depths, path=paths, end=~np.isin(np.arange(len(names)), parents))


def _upper(data: pd.DataFrame) -> pd.DataFrame:
    """Keep the levels from the root that have at most 150 nodes at the right side.

    If the first level below the root has more, its first nodes are kept, and one node stands for
    the others.
    """
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
    """Place nodes and their labels: a column per level, as wide as its names, then all values.

    `letters` is the size of the letters and `width` that of the drawing, in pixels.
    """
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
    plot = Plot("range_answers", alt.Scale(zero=False, padding=20, nice=False), names_axis(data["release"]))
    tooltip = plot.tooltip_of(data)
    bars = plot(data.dropna(subset=["low", "high"]), ("low", "high"), "release", tooltip)
    layers = [
        bars.mark_rule(color=RELEASED, strokeWidth=3, opacity=0.55),
        diamonds(plot(data, "estimate", "release", tooltip), RELEASED),
    ]
    if len(data) and (truth := data["true"].iloc[0]) == truth:
        look, name = {"baseline": "bottom", "align": "center"}, say("true count {truth:,.0f}", truth=truth)
        rule, said = draw_rule(plot, truth, name, look, color=REAL, strokeWidth=3)
        layers = [rule, *layers, said]
    return present(layers, "range_answers", {"true": len(layers) > 2})


def count_tree(frame: pd.DataFrame, *, width: int = 820) -> Chart:
    """Draw a tree's nodes as rectangles, a row per level: noisy counts, and consistent ones.

    Both have one color scale. Levels that were not measured say so among the noisy ones.

    Parameters
    ----------
    frame : DataFrame
        That of `count_tree.node_table`, maybe `add_true_counts`. Colors are absolute errors if the
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
    data = data.assign(row=_level_names(data), name=data["name"].replace(ALL, say(ALL))).drop(columns="divides")
    data["text"] = data.pop("label").replace(ALL, say(ALL))
    order, total = in_order(data["row"]), largest(data["right"], 1.0)
    data["room"] = (data["right"] - data["left"]) / total * width - 6
    parts = []
    for which in LOOKS:
        count, marginal = data[which], data[f"{which}_margin"]
        shade = (count - data["true"]).abs() if private else marginal
        part = data.assign(which=which, low=count - marginal, high=count + marginal, shade=shade)
        blank = part[count.isna()].drop_duplicates("row")
        blank = blank.assign(left=0.0, right=total, room=width, text=say("(not measured)"))
        parts += [part[count.notna()], blank]
    both = pd.concat(parts, ignore_index=True)
    both["middle"] = (both["left"] + both["right"]) / 2
    both["row"] = both["row"].where(both["which"] == "noisy", UNSEEN + both["row"].astype(str))
    heads = [*map(say, map("{} count".format, LOOKS))]
    # one picture below the other
    names = [heads[0], *order, heads[1], *(UNSEEN + name for name in order)]
    bold = alt.condition(alt.FieldOneOfPredicate("value", heads), alt.value("bold"), alt.value("normal"))
    down = names_axis(names, paddingInner=0.06) | {"axis": {"labelFontWeight": bold, "labelOverlap": False}}
    plot = Plot("count_tree", {"axis": None, "scale": span(0, total, zero=False)}, down)
    tooltip = plot.tooltip_of(both)
    scale = alt.Scale(range=TINTS, type="sqrt", domain=[0, largest(both["shade"], 1e-6)])
    what = say("absolute error of each count") if private else say("half the width of each count's 95% interval")
    color = alt.Color("shade:Q", title=what, scale=scale, legend=alt.Legend(format=",.3~g"))
    counted, blanks = both[both["shade"].notna()], both[both["shade"].isna()]
    boxes = plot(counted, ("left", "right"), "row", tooltip, color).mark_rect(stroke=NEUTRAL, strokeWidth=0.4)
    named = fit_text(plot(counted, "middle", "row", tooltip), "text", width, WHOLE, fontSize=12)
    unmeasured = words(plot(blanks, "middle", "row"), "text", fontSize=12)
    return present([boxes, named, unmeasured], "count_tree", error_measure=what)


def _level_names(data: pd.DataFrame) -> list[str]:
    """Return each row's level name: its number, and what it splits if all nodes split alike."""
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
    data["row"] = _level_names(data)
    down = names_axis(data["row"], paddingInner=0.3)
    data = data[(data["error"] > 0) & data["which"].isin([*LOOKS])].drop(columns=["divides", "level"])
    data = data.assign(which=(data["which"] + " count").map(say)).reset_index(drop=True)
    names, (colors, shapes) = [*map(say, map("{} count".format, LOOKS))], zip(*LOOKS.values(), strict=True)
    plot = Plot("level_errors", log_axis(16, data["error"]), down)
    lanes = alt.YOffset("which:N", scale=alt.Scale(domain=names))
    dots = plot(data, "error", "row", plot.tooltip, lanes, *color_and_shape("which", names, colors, shapes))
    layers = [dots.mark_point(filled=True, size=60, opacity=0.65)]
    if data.duplicated(["row", "which"]).any():
        means = plot(data, "mean(error)", "row", lanes)
        layers.append(means.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}))
    return present(layers, "level_errors", {"runs": len(layers) > 1})
