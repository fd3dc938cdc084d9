"""Networks and trees say what their frames say, nothing stands on anything else, and what is not drawn is said."""

import math
from itertools import pairwise

import altair as alt
import numpy as np
import pandas as pd
import pytest
from pictures import nodes
from specs import rows_of

from dpcore import charts
from dpcore.charts.frames import LETTER
from dpcore.charts.network import _arrange, apart
from dpcore.charts.trees import MOST_LEAVES
from dpcore.domain.column import Column
from dpcore.domain.taxonomy_tree import Hierarchy

BITS = [f"marital-status bit {bit}" for bit in range(52)]


def network(names, clusters, most=3):
    """Every family has the parents that a fixed seed gives it, among those selected before in its cluster."""
    rng, rows = np.random.default_rng(5), []
    for place, name in enumerate(names):
        before = names[place % clusters : place : clusters]
        parents = [str(parent) for parent in rng.permutation(before)[:most]]
        rows.append((name, parents, place % clusters + 1, 2.0 ** (1 + len(parents)), 0.1 * (place % 5 > 0)))
    return pd.DataFrame(rows, columns=["child", "parents", "cluster", "cells", "epsilon"])


def layers_of(chart):
    """The layers' data by what they draw; the names are the last text that is drawn."""
    marks = [layer.mark for layer in chart.layer]
    kinds = [mark.type if mark.shape is alt.Undefined else mark.shape for mark in marks]
    return dict(zip(kinds, [layer.data for layer in chart.layer], strict=True))


def nodes_of(chart):
    (found,) = [layer.data for layer in chart.layer if "near" in layer.data]
    return pd.DataFrame(found).set_index("name")


def test_parents_stand_above_their_children_and_no_name_on_another():
    frame = network(BITS, 9)
    chart = charts.network(frame)
    nodes, letters = nodes_of(chart), 12
    assert len(layers_of(chart)["triangle"]) == frame["parents"].map(len).sum()
    for child, parents in zip(frame["child"], frame["parents"], strict=True):
        assert all(nodes.loc[parent, "y"] < nodes.loc[child, "y"] for parent in parents)
        assert nodes.loc[child, "near"] == (", ".join(parents) or "(none)")
    for _, row in nodes.groupby("y"):
        row = row.sort_values("x")
        ends = row["x"] + row["radius"] + 4 + LETTER * letters * row["label"].str.len()
        starts = row["x"] - row["radius"]
        assert (ends.to_numpy()[:-1] < starts.to_numpy()[1:]).all()
        assert 0 <= starts.min() < ends.max() <= 960


def test_families_that_make_no_sense_are_drawn_as_far_as_they_do():
    rows = [("a", ["b", "a", "nobody"], 1), ("b", ["a", "a"], 1), ("b", (), 1), ("c", None, 1)]
    frame = pd.DataFrame(rows, columns=["child", "parents", "cluster"]).assign(cells=[0, math.nan, 4, 4], epsilon=0.0)
    chart = charts.network(frame)
    assert len(layers_of(chart)["triangle"]) == 2  # a -> b and b -> a
    assert nodes_of(chart)["cells"].isna().sum() == 2


def test_lines_keep_clear_of_the_nodes_on_their_way_and_values_as_near_to_their_wishes_as_can_be():
    links = [(0, 1), (1, 2), (0, 2)]
    at, paths, _, _ = _arrange(links, [0] * 3, np.full(3, 10.0), np.full(3, 90.0), 400, 50)
    bend = paths[2][1]
    assert bend[0] <= at[1][0] - 10 or bend[0] >= at[1][0] + 90
    assert apart([5.0, 5.0, 50.0], [(1, 1)] * 3, 0, 100) == pytest.approx([4, 6, 50])
    crowded = apart([5.0] * 4, [(10, 10)] * 4, 0, 40)
    assert [b - a for a, b in pairwise(crowded)] == pytest.approx([20 / 3] * 3)


# The trees of forests


def test_a_tree_has_a_box_per_node_a_line_into_each_and_says_what_is_not_drawn():
    chart = charts.forest_tree(nodes(("age", "≤ 40", "> 40"), **{"class": ["no", "no", "yes"]}))
    boxes = rows_of(chart, "fill", "top")
    assert boxes["left"].iloc[0] < boxes["left"].iloc[1] == boxes["left"].iloc[2]
    for field, told in {
        "head": ["age?", "no 90%", "sex?"],
        "foot": ["≈ 100 · ε 0.25", "≈ −2 · ε 1", "≈ −2 · ε 1"],
        "branch": ["", "≤ 40", "> 40"],
        "more": ["", "", "+4"],  # told where it happens, not above
    }.items():
        assert rows_of(chart, field)[field].tolist()[:3] == told
    assert len(rows_of(chart, "y2")) == 3 + 1 + 1  # lines into every node, out of the root, and down
    grouped = charts.forest_tree(nodes(spent=np.nan, noisy=np.nan))  # what noisy groups taught is not exact
    assert rows_of(grouped, "foot")["foot"].tolist() == ["≈ 100", "≈ 2"]


# Taxonomies


def frame_of(column):
    rows = [(node.name, node.parent, len(node.codes)) for node in Hierarchy.of(column).nodes]
    return pd.DataFrame(rows, columns=["node", "parent", "leaves"])


def test_large_trees_are_drawn_from_the_root_and_say_so():
    halves = Column(name="x", kind="integer", lower=0, upper=999, bins=1_000)
    _, _, names, _ = (layer.data for layer in charts.taxonomy(frame_of(halves)).layer)
    values = names[names["end"]]
    assert len(values) == 128
    assert values["label"].str.contains(r"\([78]\)").all()  # a group at the right says how many it holds
    wide = Column(name="x", kind="categorical", categories=tuple(f"v{i}" for i in range(400)))
    _, dots, names, _ = (layer.data for layer in charts.taxonomy(frame_of(wide)).layer)
    assert names["end"].sum() == MOST_LEAVES
    assert names[names["end"]]["label"].iloc[-1] == "(others: 251 values)"
    assert dots["leaves"].iloc[1:].sum() == 400
