"""Drawn trees hold what their frames hold, and say what is not drawn."""

import numpy as np
import pandas as pd
from pictures import nodes
from specs import rows_of

from dpcore import charts
from dpcore.charts.trees import MOST_LEAVES
from dpcore.domain.column import Column
from dpcore.domain.taxonomy_tree import Hierarchy

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
