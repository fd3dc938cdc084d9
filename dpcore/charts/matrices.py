"""Cells of two columns, or of two sets of names, colored by a number: pairs, tables, classes, answers."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import DIGITS, PICTURES, Chart, present
from dpcore.charts.frames import (
    MOST_NAMED,
    MOST_NUMBERED,
    MOST_VALUES,
    UNSEEN,
    in_order,
    short,
    texts,
    tidy,
)
from dpcore.charts.marks import Plot, YValue, words
from dpcore.charts.scales import NEUTRAL, TINTS, names_axis, span
from dpcore.language import say

LOW = 0.05  # distances from here on are printed
STEEP = 15  # names across a matrix that need not stand upright
USUAL = {"number": ".2f", "power": 1.0, "least": 30, "gaps": 0, "named": True, "titles": ["", ""]}
MOST_WRITTEN, ROOMY = 12, 4  # cells in a row with numbers: at all, and on a phone as well


def pair_heatmap(frame: pd.DataFrame) -> Chart:
    """Draw how well each pair of columns survives, as a symmetric matrix.

    Colors are the same for every release; numbers from 0.05 up are printed.

    Parameters
    ----------
    frame : DataFrame
        One row per unordered pair: `a`, `b` (columns); `avd`, `floor` (total variation distance,
        0..1, of the release and of a same-size resample).

    Returns
    -------
    alt.Chart
        The chart.
    """
    pairs = tidy(frame, ["a", "b"], ["avd", "floor"]).dropna(subset=["avd"])
    names = in_order([*pairs["a"], *pairs["b"]])
    cells = _mirrored(pairs).rename(columns={"avd": "shade"})
    numbered = f"datum.shade >= {LOW}" if len(names) <= MOST_NUMBERED else ""
    return present(_matrix("pair_heatmap", cells, names, names, numbered), "pair_heatmap")


def affinity(frame: pd.DataFrame, clusters: Mapping[Any, object]) -> Chart:
    """Draw the noisy score of each pair of columns, or bits, as a matrix in the order of clusters.

    Parameters
    ----------
    frame : DataFrame
        One row per unordered pair: `a`, `b` (texts), `score` (noisy: what is below 0 is drawn as 0,
        and what is above 1 as 1). Up to 60 columns are named.
    clusters : mapping
        From each text to its cluster; a gap parts one cluster from the next.

    Returns
    -------
    alt.Chart
        The chart.
    """
    cluster = dict(zip(texts(clusters), texts(clusters.values()), strict=True))
    pairs = tidy(frame, ["a", "b"], ["score"]).dropna()
    for name in [*pairs["a"], *pairs["b"]]:
        cluster.setdefault(name, say("(none)"))
    cells, groups = _mirrored(pairs), in_order(cluster.values())
    order: list[str] = []
    for group in groups:
        gap = [UNSEEN * len(order)] if order else []
        order += [*gap, *(name for name in cluster if cluster[name] == group)]

    below, above = int((pairs["score"] < 0).sum()), int((pairs["score"] > 1).sum())
    cells = cells.assign(shade=cells["score"].clip(0, 1), group=cells["x"].map(cluster), other=cells["y"].map(cluster))
    how = {"gaps": len(order) - len(cluster), "named": len(cluster) <= MOST_NAMED}
    layers = _matrix("affinity", cells, order, order, "true" if len(cluster) <= STEEP else "", **how)
    cases = {"grouped": len(groups) > 1, "below": below, "above": above}
    values: Any = {"below": below, "above": above, "pairs": len(pairs), "count": len(groups)}
    return present(layers, "affinity", cases, **values)


def pair_tables(frame: pd.DataFrame, *, x: str, y: str) -> Chart:
    """Draw two columns' joint shares, real and released, on one color scale.

    A cell that is not in the frame stays blank. The 40 largest values of a column are drawn, the
    rest summed. Names of the released ones begin with a space of no width, so that both stand on
    one axis.

    Parameters
    ----------
    frame : DataFrame
        One row per cell and source: `x_value`, `y_value`, `source` ("real" or "released"), `share`
        (0..1).
    x, y : str
        The columns' names.

    Returns
    -------
    alt.Chart
        The chart.
    """
    cells = tidy(frame, ["x_value", "y_value", "source"], ["share"]).dropna()
    cells.columns = pd.Index(["x", "y", "source", "shade"])
    names = []
    for side in ("x", "y"):
        shares = cells.groupby(side, sort=False)["shade"].sum()
        most = MOST_VALUES + (len(shares) == MOST_VALUES + 1)  # one alone is no others
        kept = shares.index[shares.index.isin(shares.nlargest(most).index)]
        rest = [say("({count:,} other values)", count=len(shares) - len(kept))] if len(shares) > len(kept) else []
        cells[side] = cells[side].where(cells[side].isin(kept), "".join(rest))
        names.append([*kept, *rest])
    cells = cells.groupby(["x", "y", "source"], sort=False)["shade"].sum().reset_index()

    titles, (across, down) = (short(x), short(y)), names
    cells["x"] = cells["x"].where(cells["source"] == "real", UNSEEN + cells["x"])
    cells["source"] = cells["source"].map(say)
    both = [*across, UNSEEN, *(UNSEEN + name for name in across)] if across else []
    heads = pd.DataFrame({"x": both[:: len(across) + 1], "text": [say("real"), say("released")] if both else []})
    head = Plot("", names_axis(both) | {"title": titles[0]}, {})(heads, "x", YValue(-10))
    layers = _matrix("pair_tables", cells, both, down, "true" if len(both) <= 11 else "", titles=titles)
    layers.append(words(head, "text", align="left", fontWeight="bold"))
    return present(layers, "pair_tables", one=titles[0], other=titles[1])


def confusion(frame: pd.DataFrame) -> Chart:
    """Draw a confusion matrix: a cell per true and predicted class.

    Parameters
    ----------
    frame : DataFrame
        That of `learners.confusion_frame`. Up to 12 classes have their numbers written.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["truth", "predicted"], ["count", "share"])
    names = in_order([*data["truth"], *data["predicted"]])
    few = len(names) <= 5
    data = data.rename(columns={"truth": "y", "predicted": "x", "share": "shade"})
    numbered = "datum.shade !== null" if len(names) <= MOST_WRITTEN else ""
    layers = _matrix("confusion", data, names, names, numbered, least=64 if few else 40)
    if few:
        counts = layers[-1].copy()
        counts.mark.dy, counts.mark.fontSize, counts.encoding.text = 16, 13, alt.Text("count:Q", format=",")
        layers.append(counts)
    return present(layers, "confusion")


def channel_matrix(frame: pd.DataFrame) -> Chart:
    """Draw how often each true value is reported as each value.

    Parameters
    ----------
    frame : DataFrame
        One row per cell: `truth`, `reported`, `probability` (0..1), for up to 12 values.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["truth", "reported"], ["probability"]).dropna()
    names = in_order([*data["truth"], *data["reported"]])
    data = data.rename(columns={"truth": "y", "reported": "x", "probability": "shade"})
    layers = _matrix("channel_matrix", data, names, names, "true", least=max(34, 60 - 4 * len(names)))
    return present(layers, "channel_matrix")


def _mirrored(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a symmetric matrix from pairs of columns `a` and `b`.

    Each pair gives the cell at `x`, `y`, and the cell across the diagonal.
    """
    other = pairs[pairs["a"] != pairs["b"]].rename(columns={"a": "b", "b": "a"})
    return pd.concat([pairs, other], ignore_index=True).rename(columns={"a": "x", "b": "y"})


def _matrix(picture: str, cells: Any, across: list[str], down: list[str], numbered: str, **how: Any) -> list[Any]:
    """Draw cells at `x`, `y`, darker for a larger `shade` up to 1, and numbers in `numbered` cells.

    `across` and `down` are the names along both sides; `numbered` is a Vega expression, empty for
    no numbers. Styles are in `pictures.toml`, and `how` overrides them: a `power` below 1 spreads
    small numbers; `gaps` is the number of blank names on each side; without `named` no names are
    shown, and cells are as low as fits.
    """
    own = USUAL | PICTURES[picture]["matrix"] | how
    gaps, least, power, number = (own[name] for name in ("gaps", "least", "power", "number"))
    titles = how.get("titles") or [say(title) or None for title in own["titles"]]
    many, longest = len(down) - gaps, max(map(len, across), default=0)
    steep = len(across) - gaps > STEEP
    upright: Any = {"labelOverlap": False}
    below = upright | {"labelAngle": -90 if steep else -50}
    if len(across) * (longest + 2) <= 60:
        below = {"labelAngle": 0}
    below |= {"labelFontSize": 11, "labelOverlap": "greedy"} if steep else {}  # or a phone has none
    if not own["named"]:
        below = upright = {"labels": False, "ticks": False, "domain": False}
    height = least if many <= MOST_NUMBERED else 17 if own["named"] else 800 / many
    sides = ((across, below, titles[0]), (down, upright, titles[1]))
    plot = Plot(picture, *(names_axis(names) | {"axis": look, "title": title} for names, look, title in sides))
    base = plot(cells, "x", "y", plot.tooltip).properties(height=alt.Step(height))
    scale = span(0, 1, type="pow", exponent=power, range=TINTS)
    note: Any = {"values": [0, 0.05, 0.25, 1]} if power < 1 else {}
    legend = alt.Legend(labelExpr=f"format(datum.value, '{'~%' if '%' in number else '~g'}')", **note)
    color = alt.Color("shade:Q", title=say(own["shade"]), scale=scale, legend=legend)
    layers = [base.mark_rect(stroke=NEUTRAL, strokeWidth=0.4).encode(color)]
    look: Any = {"fontSize": 13 if least <= 30 else 16} | ({"style": DIGITS} if len(across) > ROOMY else {})
    return [*layers, words(base.transform_filter(numbered), "shade", number, **look)] if numbered else layers
