"""Graphs: a synthesizer's network of families, or cliques and the edges between them; and diagrams of who holds what.

Parents stand above their children, clusters side by side. A line crosses the rows of names upright,
and goes aside between them only, so that none runs through a name at any width; one that skips rows
keeps clear of the names on its way, and the lines of one parent share theirs. A parent of all
others is told in words. A diagram's boxes stand side by side, or below each other on a phone.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import NARROW, PICTURES, ROOM, Chart, present
from dpcore.charts.frames import LETTER, MOST_NAMED, in_order, largest, short, texts, tidy, wrap_text
from dpcore.charts.marks import Plot, canvas, fit_text, legend_channel, tooltips, words
from dpcore.charts.scales import FADED, NEUTRAL, REAL, RELEASED, log_title
from dpcore.language import phrase, plural, say
from dpcore.text import number

Links = list[tuple[int, int]]
Point = tuple[float, float]
KINDS = {phrase("measured with noise"): "circle", phrase("derived from others"): "diamond"}
SWEEPS, FEWEST = 24, 3
WIDTH = 960  # pixels, for all names
# of a box, as shares of the width and of the height; and on a phone
HALVES = (0.13, 0.13), (0.23, 0.1)
BROAD = f"{NARROW} <= {ROOM}"
COLORS = {"real": REAL, "released": RELEASED}


def network(families: pd.DataFrame, longest: int = 40) -> Chart:
    """Draw a Bayesian network as a graph, with the loss of each family's marginal.

    Up to 60 nodes are named.

    Parameters
    ----------
    families : DataFrame
        One row per family, in order of selection: `child` (text); `parents` (a list or tuple of
        such texts, maybe empty); `cluster` (text or int); `cells` (of the family's marginal, >= 1);
        `epsilon` (spent on it, >= 0; 0 if it was derived from another one; of rho, if there is a
        column `rho`); maybe `score`.
    longest : int, default=40
        The most letters of a name.

    Returns
    -------
    alt.Chart
        The chart.
    """
    parents = [list(texts(value)) if isinstance(value, list | tuple) else [] for value in families["parents"]]
    data = _nodes(families, "child", parents, longest)
    row = {name: position for position, name in reversed(list(enumerate(data["name"])))}
    links = [(row[name], child) for child, own in enumerate(parents) for name in own if name in row]
    links = list(dict.fromkeys(link for link in links if link[0] != link[1]))
    most, implied = max(map(len, parents), default=0), _parent_of_all(len(data), links)
    title = plural(
        "The network: {count:,} families of up to {n} parent",
        "The network: {count:,} families of up to {n} parents",
        most,
        count=len(data),
    )
    values: Any = {"title": title, "count": len(data), "name": "".join(data["label"][implied])}
    kept = [link for link in links if link[0] not in implied]
    return _drawn(data, kept, "network", {"all": implied, "pointed": True}, arrows=True, **values)


def _parent_of_all(count: int, links: Links) -> list[int]:
    """Return the nodes that are parents of all other nodes; mostly the class column.

    There are none if there are few other nodes. `links` are pairs of parent and child.
    """
    below = [parent for parent, _ in links]
    return [node for node in dict.fromkeys(below) if below.count(node) == count - 1 >= FEWEST]


def graph(edges: pd.DataFrame, nodes: pd.DataFrame, longest: int = 40) -> Chart:
    """Draw an undirected graph, such as the cliques of a junction tree, with each node's loss.

    The node with the most neighbors stands on top.

    Parameters
    ----------
    edges : DataFrame
        One row per edge: `a`, `b` (texts of nodes).
    nodes : DataFrame
        One row per node: `node` (text, such as "age, income"), and `cluster`, `cells`, `epsilon`,
        maybe `score`, as for `network`.
    longest : int, default=40
        The most letters of a name.

    Returns
    -------
    alt.Chart
        The chart.
    """
    names = list(texts(nodes["node"]))
    row = {name: position for position, name in reversed(list(enumerate(names)))}
    near: list[dict[int, None]] = [{} for _ in names]
    for a, b in zip(texts(edges["a"]), texts(edges["b"]), strict=True):
        if a != b and {a, b} <= row.keys():
            near[row[a]][row[b]] = near[row[b]][row[a]] = None
    found: dict[int, int] = {}  # node -> when, breadth first
    for start in sorted(range(len(names)), key=lambda node: -len(near[node])):
        queue = [start]
        for node in queue:  # which grows
            if node not in found:
                found[node] = len(found)
                queue += near[node]
    links = [(a, b) for a in found for b in near[a] if found[a] < found[b]]
    data = _nodes(nodes, "node", [[names[other] for other in others] for others in near], longest)
    return _drawn(data, links, "graph", {}, arrows=False, nodes=len(data), edges=len(links))


def _nodes(frame: pd.DataFrame, name: str, near: Iterable[Sequence[str]], longest: int) -> pd.DataFrame:
    """Rename a frame's columns to the chart's, with short node names.

    `name` is the column of node names, and `near` has the names of each node's neighbors. Names
    have at most `longest` letters.
    """
    maybe = ["score"] if "score" in frame else []
    data = tidy(frame, [name, "cluster"], ["cells", "epsilon", *maybe]).rename(columns={name: "name"})
    spent, measure = data["epsilon"].clip(lower=0).fillna(0), "rho" if "rho" in frame else "epsilon"
    return data.assign(
        node=np.arange(len(data)),
        near=[", ".join(own) or say("(none)") for own in near],
        cells=data["cells"].where(data["cells"] >= 1),
        epsilon=spent,
        kind=np.where(spent > 0, *map(say, KINDS)),
        label=[short(text, longest) for text in data["name"]],
        **{f"{measure}_text": spent.map(number), f"{measure}_share": spent / largest([spent.sum()], 1e-300)},
    )


def _drawn(data: Any, links: Links, picture: str, cases: Any, *, arrows: bool, **values: Any) -> Chart:
    """Draw nodes and links; a node's tooltip names its neighbors.

    `data` comes from `_nodes`; `links` are pairs of row numbers, drawn as `arrows` or lines.
    `picture` and `cases` choose the texts in `pictures.toml`.
    """
    named, clusters = len(data) <= MOST_NAMED, in_order(data["cluster"])
    headings = [short(name) for name in clusters]
    if all(name.isdecimal() for name in clusters):
        clusters = sorted(clusters, key=int)
        headings = [say("cluster {name}", name=name) for name in clusters]
    (low, high), letters, step = ((110, 480), 14, 66) if len(data) <= 20 else ((75, 280), 12, 54)
    (low, high), letters, step = ((low, high), letters, step) if named else ((40, 150), 0, 40)
    spent = largest(data["epsilon"], 1e-300)
    radius = np.sqrt(low + (high - low) * (data["epsilon"] / spent).to_numpy(float)) / 2
    names = np.array([LETTER * letters * len(text) + 8 for text in data["label"]]) if named else np.zeros(len(data))
    number = [clusters.index(name) for name in data["cluster"]]
    at, ways, boxes, height = _arrange(links, number, radius + 4, radius + 6 + names, WIDTH, step)
    data = data.assign(**{axis: [at[node][k] for node in data["node"]] for k, axis in enumerate("xy")}, radius=radius)
    nodes = [child if arrows else -1 for _, child in links]
    paths = [_upright(way, 0.35 * step) for way in ways]

    plot = canvas(WIDTH, height, "nodes")
    tooltip = [*tooltips(*PICTURES[picture]["names"]), *plot.tooltip_of(data)]
    pointed = alt.selection_point(name="pointed", on="pointerover", fields=["node"], empty=False)
    look: dict[str, Any] = {
        "color": alt.condition(pointed, alt.value(RELEASED), alt.value(NEUTRAL)),
        "opacity": alt.condition(pointed, alt.value(1), alt.value(0.75 if len(links) <= 60 else 0.55)),
    }
    points = [(k, nodes[k], rank, *at) for k, path in enumerate(paths) for rank, at in enumerate(path)]
    lines = plot(pd.DataFrame(points, columns=["edge", "node", "rank", "x", "y"])).mark_line(interpolate="basis")
    thickness = alt.condition(pointed, alt.value(3), alt.value(1.5 if named else 1))
    layers: list[Any] = [lines.encode(**look, strokeWidth=thickness, detail=alt.Detail("edge:N"), order="rank:Q")]
    if len(clusters) > 1:
        areas = pd.DataFrame(boxes, columns=["x", "y", "x2", "y2"]).assign(label=headings)
        frames = plot(areas, ("x", "x2"), ("y", "y2")).mark_rect(color=NEUTRAL, opacity=0.1, cornerRadius=8)
        heads = words(plot(areas), "label", align="left", dx=8, dy=15, fontSize=13, fontWeight="bold")
        layers = [frames, *layers, heads]
    if arrows:
        layers.append(_heads(plot, [*zip(nodes, paths, strict=True)], radius, 70 if named else 40, **look))

    dots = plot(data, "x", "y", tooltip, *_looks(data, low, high)).add_params(pointed)
    layers.append(dots.mark_point(filled=True, opacity=1, stroke=NEUTRAL, strokeWidth=1))
    if named:
        aside: Any = {"align": "left", "dx": alt.ExprRef("datum.radius + 4"), "fontWeight": 600}
        right = data.sort_values("x").groupby("y")[["x", "radius"]].shift(-1)  # in its row
        own = data[["x", "y", "label", "radius"]].assign(room=right["x"].fillna(WIDTH) - data["x"])
        own["beside"] = radius + 12 + right["radius"].fillna(0)
        layers.append(fit_text(plot(own), "label", WIDTH, "30", **aside, fontSize=letters))
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")  # legends come on top
    return present(layers, picture, cases, height=height, autosize=fit, **values)


def _looks(data: pd.DataFrame, low: float, high: float) -> list[Any]:
    """Return the channels of nodes: area by epsilon, color by cells, shape by whether measured.

    Areas are from `low` to `high` square pixels.
    """
    grey: Any = {"symbolFillColor": NEUTRAL, "symbolStrokeWidth": 0}
    kinds = {say(kind): shape for kind, shape in KINDS.items() if say(kind) in set(data["kind"])}
    spent, most, least = data["epsilon"].max(), largest(data["cells"], 1), data["cells"].min()
    log = bool(least < most)
    # its darkest part is lost on a dark page
    colors = alt.SchemeParams("viridis", extent=[0.25, 1])
    scale = alt.Scale(type="log" if log else "linear", domain=[least if log else 0, most], nice=False, scheme=colors)
    cells = log_title(say("marginal’s cells"), log)
    label = say("rho of its marginal") if "rho_text" in data else say("epsilon of its marginal")
    sizes, spending = alt.Scale(domain=[0, spent], range=[low, high]), alt.Legend(format=".2~g", tickCount=3, **grey)
    table: Any = {"title": say("marginal"), "legend": alt.Legend(**grey) if len(kinds) > 1 else None}
    return [
        alt.Color("cells:Q", title=cells, scale=scale, legend=alt.Legend(format="~s", tickCount=4)),
        alt.Size("epsilon:Q", title=label, scale=sizes, legend=spending) if spent > 0 else alt.SizeValue(low),
        legend_channel(alt.Shape, "kind", kinds, kinds.values(), **table),
    ]


def _upright(path: Sequence[Point], rise: float) -> list[Point]:
    """Return the points of a spline that leaves and reaches each row of nodes upright.

    `path` has the points on the way, and `rise` is the distance in pixels that stays upright. A
    line between two nodes of one row goes below the row.
    """
    found = [path[0]]
    for (x, y), (right, below) in pairwise(path):
        found += [(x, y + rise), (right, below - rise)] if below > y else [(x, y - rise), (right, below + rise)]
        if below == y:
            found[-2:] = [(x, y + rise), (right, y + rise)]
        found.append((right, below))
    return found


def _heads(plot: Plot, paths: list[tuple[int, Any]], radius: Any, area: int, **look: Any) -> Any:
    """Draw an arrow head at each path's end, just outside the node, in the path's direction.

    A path is a pair: its node and its points. `radius` has the radius of every node in pixels, and
    `area` is the size of a head.
    """
    rows = [(node, *way[-1], way[-2][1] < way[-1][1], radius[node] + area**0.5 / 2) for node, way in paths]
    data = pd.DataFrame(rows, columns=["node", "x", "y", "down", "gap"])
    turn: Any = {"angle": alt.ExprRef("datum.down ? 180 : 0")}
    turn["yOffset"] = alt.ExprRef("datum.down ? -datum.gap : datum.gap")
    return plot(data).mark_point(shape="triangle", filled=True, size=area, **turn).encode(**look)


def _arrange(links: Links, clusters: Sequence[int], left: Any, right: Any, width: float, step: float) -> Any:
    """Return the nodes' positions, a path per link, boxes of the clusters, and the total height.

    `clusters` has each node's cluster; `left` and `right` are the pixels that a node needs on
    either side, `width` the pixels of all, and `step` those of a row.
    """
    order = _ranked(len(clusters), links)
    groups = [[node for node in order if clusters[node] == c] for c in range(max(clusters, default=0) + 1)]
    per_shelf = max(1, int(width // max([60, *(left + right + 24)])))
    at: dict[int, Point] = {}
    paths: dict[tuple[int, int], list[Point]] = {}
    boxes, top, head, aside = [], 0.0, *((30.0, 10.0) if len(groups) > 1 else (0.0, 0.0))
    for shelf in np.array_split(np.arange(len(groups)), math.ceil(len(groups) / per_shelf)):
        weights = np.sqrt([len(groups[c]) for c in shelf])
        weights = np.maximum(weights, weights.max() / 3)
        edges = np.concatenate([[0.0], np.cumsum(weights / max(weights.sum(), 1) * width)])
        deepest = 1
        for c, low, high in zip(shelf, edges[:-1], edges[1:], strict=True):
            position, ways = _rows(groups[c], links, left, right, low + aside, high - aside)
            to = {item: (x, top + head + step * (item[1] + 0.5)) for item, x in position.items()}
            # a node's own place comes before its bends
            at |= {item[0]: to[item] for item in reversed(to)}
            paths |= {link: [to[item] for item in way] for link, way in ways.items()}
            deepest = max([deepest, *(deep + 1 for _, deep in to)])
        below = top + head + step * deepest
        boxes += [(low + 3, top, high - 3, below) for low, high in pairwise(edges)]
        top = below + (10 if head else 0)
    return at, [paths.get(link, [at[link[0]], at[link[1]]]) for link in links], boxes, max(top, step)


def _ranked(count: int, links: Links) -> list[int]:
    """Order nodes so that parents come before children, otherwise in the given order.

    A cycle, which no family should make, starts anywhere.
    """
    above: list[set[int]] = [set() for _ in range(count)]
    for parent, child in links:
        above[child].add(parent)
    waiting, ranked = dict.fromkeys(range(count)), []
    while waiting:
        ranked.append(next((node for node in waiting if not above[node] & waiting.keys()), next(iter(waiting))))
        del waiting[ranked[-1]]
    return ranked


def _rows(order: list[int], links: Links, left: Any, right: Any, low: float, high: float) -> Any:
    """Place one cluster's items along their rows, and return the items on the way of each link.

    An item is a node and a row: the node's own, or a row below it that the lines to its children
    cross. `order` has the cluster's nodes, parents first; `left` and `right` are the pixels that a
    node needs on either side, and `low` to `high` those of the cluster.
    """
    rank = {node: position for position, node in enumerate(order)}
    inside = {link: sorted(link, key=rank.__getitem__) for link in links if rank.keys() >= set(link)}
    above: dict[int, list[int]] = {node: [] for node in order}
    for parent, child in inside.values():
        above[child].append(parent)
    deep: dict[int, int] = {}
    used = [0.0] * (len(order) + 1)
    for node in order:
        deep[node] = max((deep[parent] + 1 for parent in above[node]), default=0)
        while used[deep[node]] and used[deep[node]] + left[node] + right[node] > 0.8 * (high - low):
            deep[node] += 1
        used[deep[node]] += left[node] + right[node]

    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    near: dict[tuple[int, int], Any] = {(node, deep[node]): ([], []) for node in order}
    for link, (parent, child) in inside.items():
        way = [*((parent, row) for row in range(deep[parent], deep[child])), (child, deep[child])]
        for one, other in pairwise(way):
            near.setdefault(one, ([], []))[1].append(other)
            near.setdefault(other, ([], []))[0].append(one)
        ways[link] = way if link[0] == parent else way[::-1]

    rows = [[item for item in near if item[1] == row] for row in range(max(deep.values(), default=-1) + 1)]
    sides = {item: (left[item[0]], right[item[0]]) if deep[item[0]] == item[1] else (6.0, 6.0) for item in near}
    position = {item: low + (high - low) * (k + 0.5) / len(row) for row in rows for k, item in enumerate(row)}
    # by the neighbors above, then by those below; at last by both, in a settled order
    for sweep in range(SWEEPS):
        for row in rows[:: 1 - 2 * (sweep % 2)]:
            wish = {}
            for item in row:
                others = near[item][sweep % 2] if sweep < SWEEPS / 2 else [*near[item][0], *near[item][1]]
                wish[item] = float(np.mean([position[other] for other in others])) if others else position[item]
            if sweep < SWEEPS - 6:
                middles = {item: wish[item] + (sides[item][1] - sides[item][0]) / 2 for item in row}
                row.sort(key=middles.__getitem__)  # a line goes around a name on the shorter side
            found = spread_positions([wish[item] for item in row], [sides[item] for item in row], low, high)
            position.update(zip(row, found, strict=True))
    first = min((x - sides[item][0] for item, x in position.items()), default=low)
    last = max((x + sides[item][1] for item, x in position.items()), default=high)
    room, stretch = high - low, min(2.5, (high - low) / max(last - first, 1))
    # what is narrow is spread and stands in the middle
    start = low + (room - stretch * (last - first)) / 2
    return {item: start + stretch * (x - first) for item, x in position.items()}, ways


def spread_positions(wish: list[float], sides: list[tuple[float, float]], low: float, high: float) -> list[float]:
    """Return the positions nearest to `wish` that keep order and distances, inside low..high.

    `sides` has the space that each item needs to its left and right.
    """
    from scipy.optimize import isotonic_regression  # slow, and needed nowhere else here

    lefts, rights = np.transpose(sides)
    offset = np.concatenate([[0.0], np.cumsum(lefts[1:] + rights[:-1])])
    room = max(high - low - lefts[0] - rights[-1], 0.0)
    offset *= min(1.0, room / offset[-1]) if offset[-1] else 1.0
    # neighbors that would overtake share a mean
    means = isotonic_regression(np.asarray(wish) - offset).x
    return list(np.clip(means, low + lefts[0], max(high - rights[-1] - offset[-1], low + lefts[0])) + offset)


def trust() -> Chart:
    """Draw who adds the noise: a curator who holds the true rows, or each person.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _diagram("trust")


def frameworks() -> Chart:
    """Draw the two settings of figures 1 and 2 of patent 002. No data are needed.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _diagram("frameworks")


def _diagram(picture: str) -> Chart:
    """Draw two rows of boxes and arrows that `pictures.toml` lists; on a phone, two columns."""
    own = PICTURES[picture]
    held = pd.DataFrame(own["boxes"]).replace({"color": COLORS}).assign(lane=0, way=-1)
    ways = pd.DataFrame(own["arrows"]).replace({"color": COLORS})
    ways["way"] = np.sign(ways["high"] - ways["low"])
    rows = pd.DataFrame({"low": 0.0, "high": 0.0, "row": [0, 1], "lane": 0, "way": -1, "text": own["rows"]})
    for table, said in ((held, ["head", "foot"]), (ways, ["text"]), (rows, ["text"])):
        table[said] = table[said].map(say)
    ways["short"] = ways["text"].map(lambda text: "\n".join(wrap_text(text, 9)))
    rows["short"] = rows["text"].str.split("[:：]", regex=True).str[0]
    held = held.assign(high=held["low"])
    color, sides = alt.Color("color:N", scale=None), (("left", "right"), ("top", "low"))
    turn = alt.ExprRef(f"{BROAD} ? 90 * datum.way : 90 + 90 * datum.way")
    tip: Any = {"shape": "triangle", "filled": True, "size": 160, "opacity": 1, "angle": turn}
    aside: Any = {"align": alt.ExprRef(f"{BROAD} ? 'center' : datum.lane < 0 ? 'right' : 'left'"), "lineBreak": "\n"}
    aside["dx"] = alt.ExprRef(f"{BROAD} ? 0 : datum.lane < 0 ? -7 : 7")
    aside["dy"] = alt.ExprRef(f"{BROAD} ? (datum.lane > 0 ? 14 : -12) : 0")
    inside, letters = _placed(held, "x", "y"), 14
    boxes = _placed(held, *sides, color).mark_rect(fillOpacity=0.16, stroke=NEUTRAL, strokeWidth=2.5, cornerRadius=6)
    layers = [
        boxes,
        words(inside, "head", fontSize=letters, fontWeight="bold", dy=-9 * bool((held["foot"] != "").any())),
        words(inside, "foot", fontSize=letters, dy=10),
        _placed(ways, *sides, color).mark_rule(strokeWidth=3),
        _placed(ways, "right", "low", color).mark_point(**tip),
        words(_placed(ways, "x", "y"), "told", fontSize=letters, **aside),
        words(_placed(rows, "left", "top"), "told", fontSize=letters, color=FADED, align="left", dy=-14),
    ]
    return present(layers, picture)


def _placed(data: pd.DataFrame, x: Any, y: Any, *channels: Any) -> Any:
    """Return a chart of the items of a diagram, placed in rows or, on a phone, in columns.

    An item of `data` spans `low` to `high` of its `row`; one with both equal is a box around that
    point. `x` and `y` are the fields, or pairs of fields, that the marks use.
    """
    (wide, tall), (narrow, high), way = *HALVES, data["way"]
    across, down = 0.13 + 0.74 * data[["low", "high"]], 0.24 + 0.66 * data[["low", "high"]]
    same = data["low"] == data["high"]
    row, column = 0.36 + 0.5 * data["row"] + 0.05 * data["lane"], 0.25 + 0.5 * data["row"] + 0.06 * data["lane"]
    found = {
        "left": (across["low"] + way * wide, column - same * narrow),
        "right": (across["high"] - way * wide, column + same * narrow),
        "top": (row - same * tall, down["low"] + way * high),
        "low": (row + same * tall, down["high"] - way * high),
    }
    note = data.drop(columns=["low", "high", "row"])
    table = note.assign(**{f"{side}_{k}": of[k] for side, of in found.items() for k in (0, 1)})
    chosen = {side: f"{BROAD} ? datum.{side}_0 : datum.{side}_1" for side in found}
    if "short" in table:
        chosen["told"] = f"{BROAD} ? datum.text : datum.short"
    chosen |= {"x": "(datum.left + datum.right) / 2", "y": "(datum.top + datum.low) / 2"}
    return canvas(1, 1)(table, x, y, *channels).transform_calculate(**chosen)
