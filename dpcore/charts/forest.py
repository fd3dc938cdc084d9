"""A released decision tree, and where its epsilon went."""

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    NEUTRAL,
    NO_TIP,
    REAL,
    SERIES,
    Chart,
    in_order,
    largest,
    panels,
    present,
    texts,
    tidy,
    tooltips,
)
from dpcore.text import number

CLASSES = [SERIES[i] for i in (1, 6, 4, 2, 3, 5, 9, 7, 10, 8)]  # neighbors differ in blue and yellow
DARK, LIGHT, PALE = "#1c1c1c", "#f6f6f6", "#ececec"
PURPOSES = {
    "counts of records": SERIES[5],
    "choices": SERIES[6],
    "classes in leaves": SERIES[3],
    "other": REAL,
}
WHICH = {"epsilon_claimed": "claimed", "epsilon_of_noise": "provable bound"}
VOID = "of the noise alone"  # where that is no bound
BOX, STEP, LETTERS = 36, 44, 12
ROOM = 6.5  # a letter's width
READABLE = 3.5  # contrast


def forest_tree(frame: pd.DataFrame, *, title: str = "", width: int = 960) -> Chart:
    """One tree: the root at the left, leaves at the right, every branch's condition on its line.

    `frame`: of `forest_frames.nodes`: `place`, `parent`, `level`, `x`, `text`, `side`, `edge`, `noisy`, `counts`,
    `class`, `share`, `spent`, `folded`. A box has the color of its most probable class, the paler the less sure it is.
    `width`: the pixels that the texts should fit in; the chart is as wide as its container.
    """
    data = _boxes(frame)
    data = data.join(_columns(data, width), on="level")
    for name, start, stop in (("head", "left", "right"), ("foot", "left", "right"), ("branch", "bus", "left")):
        room = (data[stop] - data[start] - 10) / ROOM
        data[name] = [_fitted(text, most) for text, most in zip(data[name], room, strict=True)]
    height = STEP * largest(data["row"] + 1, 1.0)
    data["y"] = (data["row"] + 0.5) * STEP
    data = data.assign(top=data["y"] - BOX / 2, bottom=data["y"] + BOX / 2, inset=data["left"] + 7)

    def marks(rows: pd.DataFrame, x: str, y: str) -> alt.Chart:
        return alt.Chart(rows).encode(
            alt.X(f"{x}:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False)),
            alt.Y(f"{y}:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False)),
            tooltip=NO_TIP,
        )

    rules = marks(_lines(data), "left", "y").mark_rule(color=NEUTRAL, opacity=0.7, strokeWidth=1.4)
    rules = rules.encode(x2=alt.X2("right"), y2=alt.Y2("y2"))
    names = in_order(data.sort_values("code")["label"])
    shown = [*[f"{name}|{title}" for name, title in (("path", "branch"), ("asks", "divided by"))]]
    shown += ["noisy|noisy number of records|,.1f", "counts|consistent number|,.1f", "label|most probable class"]
    shown += ["share|its probability|.1%", "spent|epsilon so far", "folded|nodes below, not drawn|,"]
    fields = ["left", "right", "top", "bottom", "fill", "label", "path", "asks", "noisy", "counts", "share", "spent"]
    boxes = marks(data[[*fields, "folded"]], "left", "top").mark_rect(cornerRadius=7)
    boxes = boxes.encode(
        x2=alt.X2("right"), y2=alt.Y2("bottom"), fill=alt.Fill("fill:N", scale=None), tooltip=tooltips(*shown)
    )
    key = marks(data[["left", "y", "label"]], "left", "y").mark_point(filled=True, shape="square", opacity=0)
    legend = alt.Legend(symbolOpacity=1, symbolSize=160)
    codes = dict(zip(data["label"], data["code"], strict=True))
    colors = alt.Scale(domain=names, range=[CLASSES[codes[name] % len(CLASSES)] for name in names])
    key = key.encode(alt.Color("label:N", title="most probable class", scale=colors, legend=legend))
    look: Any = {"align": "left", "baseline": "middle", "fontSize": LETTERS}
    inks = alt.Color("ink:N", scale=None)
    words = marks(data[["inset", "y", "head", "foot", "ink"]], "inset", "y").encode(inks)
    heads = words.mark_text(**look, dy=-8, fontWeight="bold").encode(text=alt.Text("head:N"))
    feet = words.mark_text(**look, dy=8).encode(text=alt.Text("foot:N"))
    plain = data[["bus", "right", "y", "branch", "more"]]
    branches = marks(plain, "bus", "y").mark_text(**look | {"baseline": "bottom"}, dx=5, dy=-3, color=NEUTRAL)
    rest = marks(plain, "right", "y").mark_text(**look, dx=6, color=NEUTRAL).encode(text=alt.Text("more:N"))
    gone = int(data["folded"].where(data["parent"] < 0, 0).sum())
    note = f" {gone:,} more nodes are not drawn (+)." if gone else ""
    paid = "; epsilon spent (ε) down to here" if data["spent"].any() else ""
    layers = alt.layer(rules, boxes, key, heads, feet, branches.encode(text=alt.Text("branch:N")), rest)
    return present(
        layers.resolve_scale(color="independent"),
        title or "A released tree",
        key=f"A box: what is asked next, or the class; the number of records{paid}. "
        f"The paler, the less sure of its class.{note}",
        seen=f"A decision tree of {len(data):,} nodes, with numbers of records and most probable classes.{note}",
        height=height + 150,  # what fits its container counts title and legend as well
    )


def _boxes(frame: pd.DataFrame) -> pd.DataFrame:
    """The nodes under the chart's names, with their texts and colors."""
    numbers = ["place", "parent", "level", "x", "noisy", "counts", "share", "spent", "folded"]
    renamed = {"class": "label", "text": "asks", "side": "branch", "edge": "path", "x": "row"}
    data = tidy(frame, ["class", "text", "side", "edge"], numbers).rename(columns=renamed)
    empty = {name: frame[name].to_numpy() == "" for name in ("text", "side", "edge")}
    data["asks"] = data["asks"].mask(empty["text"], "(a leaf)")
    data["branch"] = data["branch"].mask(empty["side"], "")
    data["path"] = data["path"].mask(empty["edge"], "(the root)")
    kinds = frame["class"].cat.categories if isinstance(frame["class"].dtype, pd.CategoricalDtype) else data["label"]
    labels = in_order(texts(kinds))  # all classes if they are known, so that trees are colored alike
    data["code"] = [labels.index(label) for label in data["label"]]
    head = data["asks"] + "?"
    data["head"] = head.mask(
        empty["text"], [f"{a} {_share(b)}" for a, b in zip(data["label"], data["share"], strict=True)]
    )
    exact = data["spent"].isna() & data["noisy"].notna()  # a node was counted, and nothing was paid
    about = np.where(exact, "", "≈ ")
    many = data["noisy"].fillna(data["counts"])
    count = [f"{sign}{round(n):,}".replace("-", "−") if n == n else "" for sign, n in zip(about, many, strict=True)]
    data["spent"] = ["" if math.isnan(epsilon) else number(epsilon) for epsilon in data["spent"]]
    data["foot"] = [f"{a} · ε {b}" if b else a for a, b in zip(count, data["spent"], strict=True)]
    drawn = set(data["parent"])
    end = [folded > 0 and place not in drawn for folded, place in zip(data["folded"], data["place"], strict=True)]
    data["more"] = [f"+{folded:.0f}" if last else "" for folded, last in zip(data["folded"], end, strict=True)]
    even = 1 / max(len(labels), 2)
    sure = ((data["share"].fillna(even) - even) / (1 - even)).clip(0, 1)
    data["fill"] = [
        _mixed(CLASSES[code % len(CLASSES)], 0.2 + 0.8 * s) for code, s in zip(data["code"], sure, strict=True)
    ]
    light = np.array([_contrast(LIGHT, fill) >= READABLE for fill in data["fill"]], dtype=bool)
    return data.assign(ink=np.where(light, LIGHT, DARK))


def _columns(data: pd.DataFrame, width: int) -> pd.DataFrame:
    """Per level where its branches' lines (`bus`) and its boxes (`left`, `right`) stand, as wide as texts need."""
    longest = data.assign(box=data[["head", "foot"]].map(len).max(axis=1), line=data["branch"].map(len))
    needs = longest.groupby("level")[["line", "box"]].max() * ROOM + [26, 18]
    needs["line"] = needs["line"].where(needs.index > 0, 0).clip(upper=190)
    needs["box"] = needs["box"].clip(80, 190)
    tail = 40 if (data["more"] != "").any() else 4
    gap = 12.0  # from a box to the line that its branches leave
    flat = needs.to_numpy(float)
    for kind, least in ((0, 56.0), (1, 0.0)):  # where there is too little place, lines give way before boxes do
        spare = np.maximum(flat[:, kind] - least, 0)
        flat[:, kind] -= spare * np.clip((flat.sum() - width + tail + gap * len(needs)) / max(spare.sum(), 1.0), 0, 1)
    both = flat.ravel()
    edges = np.cumsum(both) + gap * (np.arange(len(both)) // 2)
    starts = (edges - both)[::2]
    return pd.DataFrame({"bus": starts, "left": edges[::2], "right": edges[1::2]}, index=needs.index)


def _lines(data: pd.DataFrame) -> pd.DataFrame:
    """From every box to the line that its children hang on, that line, and from it to every child."""
    below = data[data["parent"] >= 0]
    above = data[data["place"].isin(below["parent"])].set_index("place")
    hung = below.groupby("parent").agg(left=("bus", "first"), y=("y", "min"), y2=("y", "max"))
    out = pd.DataFrame({"left": above["right"], "right": hung["left"], "y": above["y"], "y2": above["y"]})
    into = pd.DataFrame({"left": below["bus"], "right": below["left"], "y": below["y"], "y2": below["y"]})
    return pd.concat([out, hung.assign(right=hung["left"]), into], ignore_index=True)


def _fitted(text: str, most: float) -> str:
    return text if len(text) <= max(most, 0) else text[: max(int(most) - 1, 1)] + "…"


def _share(share: float) -> str:
    return f"{share:.0%}" if share == share else ""


def _mixed(color: str, part: float) -> str:
    """A color mixed with a pale grey, so that texts on it can be read on any page."""
    pairs = zip(_channels(color), _channels(PALE), strict=True)
    return "#" + "".join(f"{round(part * a + (1 - part) * b):02x}" for a, b in pairs)


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of two colors, as the web's guidelines define it."""
    lights = []
    for color in (one, other):
        parts = [c / 255 for c in _channels(color)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        lights.append(float(np.dot(linear, [0.2126, 0.7152, 0.0722])))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def forest_budget(frame: pd.DataFrame, *, title: str = "", width: int = 620) -> Chart:
    """Where epsilon goes on the way down a tree: a bar per level, a color per purpose.

    `frame`: of `forest_frames.budget`: `level`, `purpose`, `epsilon_claimed`, `epsilon_of_noise`, `account`, `void`. If
    claim and noise differ there is a picture for each; what is infinite is drawn to the edge and named. `width`: a
    picture's.
    """
    same = bool((frame["epsilon_claimed"] == frame["epsilon_of_noise"]).all())
    called = WHICH | ({"epsilon_of_noise": VOID} if frame["void"].any() else {})
    parts = [_stacked(frame, name, which) for name, which in called.items() if not same or name == "epsilon_of_noise"]
    data = pd.concat(parts, ignore_index=True)
    edge = 1.15 * largest(data["stop"], 1e-3)
    data = data.assign(stop=data["stop"].fillna(edge), start=data["start"].fillna(edge))
    order = in_order(data["row"])
    vertical: Any = {"title": None, "scale": alt.Scale(domain=order, paddingInner=0.25)}
    across: Any = {"title": "epsilon", "scale": alt.Scale(domain=[0, 1.1 * edge], nice=False)}
    across["axis"] = alt.Axis(format="~g", tickCount=6)
    names = [name for name in PURPOSES if name in set(data["purpose"])]
    colors = alt.Scale(domain=names, range=[PURPOSES[name] for name in names])
    base = alt.Chart(data).encode(alt.Y("row:N", **vertical), alt.X("start:Q", **across))
    tips = tooltips("row|level", "purpose|for", "amount|epsilon", "total|the level’s sum")
    bars = base.mark_bar().encode(alt.Color("purpose:N", title=None, scale=colors), x2=alt.X2("stop"), tooltip=tips)
    far = alt.X("max(stop):Q", **across)  # in the same data as the bars, so that panels can share it
    words = alt.Chart(data).mark_text(align="left", dx=6, fontSize=14, color=NEUTRAL)
    words = words.encode(far, alt.Y("row:N", **vertical), text=alt.Text("total:N"), tooltip=NO_TIP)
    sums = {which: number(frame[name].fillna(math.inf).sum()) for name, which in called.items()}
    said = f"epsilon {sums['claimed']}" if same else ", ".join(f"{name} {amount}" for name, amount in sums.items())
    names = in_order(data["which"])
    picture = panels(alt.layer(bars, words), "which", names, columns=1, width=width, height=34 * len(order))
    return present(
        picture,
        title or "Where epsilon goes on the way down",
        key=f"The dearest way from the root to a leaf: {said}.",
        seen=f"Epsilon on {len(order)} levels of a tree: for counts of records, for choices, for classes in leaves.",
    )


def _stacked(frame: pd.DataFrame, name: str, which: str) -> pd.DataFrame:
    """Where the parts of every level's bar start and stop; NaN where that is infinitely far."""
    value = frame[name].fillna(math.inf).to_numpy(float)
    data = tidy(frame, ["purpose"], ["level"]).assign(which=which)
    data["row"] = [
        "no level" if level < 0 else f"level {level:.0f}{'' if level else ' (root)'}" for level in data["level"]
    ]
    amount = pd.Series(value, dtype=float)
    stop = amount.groupby(data["row"]).cumsum()
    total = amount.groupby(data["row"]).transform("sum")
    finite = np.isfinite(stop)
    start = stop.shift().where(data["row"] == data["row"].shift(), 0.0)
    data = data.drop(columns="level").assign(amount=[number(v) for v in value], total=[number(v) for v in total])
    return data.assign(start=start.where(np.isfinite(start)), stop=stop.where(finite))
