"""Drawn trees hold what their frames hold, in order, and no name stands on a line or on another name."""

import numpy as np
import pandas as pd
from pictures import nodes
from specs import rows_of

from dpcore import charts
from dpcore.charts.trees import MOST_LEAVES
from dpcore.datasets.published import adult_schema
from dpcore.domain.column import Column
from dpcore.domain.taxonomy_tree import Hierarchy

ADULT = adult_schema()
GROWN = ("age", "≤ 40", "> 40")

# The trees of forests


def test_a_tree_has_a_box_per_node_a_line_into_each_and_says_what_is_not_drawn():
    chart = charts.forest_tree(nodes(GROWN, **{"class": ["no", "no", "yes"]}))
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


def parts(chart):
    """The layers' data under what they are."""
    lines, dots, names, _ = [layer.data for layer in chart.layer]
    found = {"across": lines[lines["x"] < lines["x2"]], "along": lines[lines["y"] < lines["y2"]], "dots": dots}
    return found | {"groups": names[~names["end"]], "values": names[names["end"]]}


def test_children_hang_on_their_parent_in_the_order_of_the_schema():
    frame = frame_of(ADULT["education"])
    drawn = parts(charts.taxonomy(frame))
    dots, lines, bars = drawn["dots"], drawn["across"], drawn["along"]
    for child, parent in frame["parent"].iloc[1:].items():
        assert lines["x"][child] == dots["x"][parent]  # a line starts below the parent
        assert bars["y"][parent] <= dots["y"][child] <= bars["y2"][parent]
        assert dots["path"][child] == f"{dots['path'][parent]} › {frame['node'][child]}"
    assert list(drawn["values"].sort_values("y")["label"]) == list(ADULT["education"].categories)


def test_large_trees_are_drawn_from_the_root_and_say_so():
    halves = Column(name="x", kind="integer", lower=0, upper=999, bins=1_000)
    values = parts(charts.taxonomy(frame_of(halves)))["values"]
    assert len(values) == 128
    assert values["label"].str.contains(r"\([78]\)").all()  # a group at the right says how many it holds
    wide = Column(name="x", kind="categorical", categories=tuple(f"v{i}" for i in range(400)))
    drawn = parts(charts.taxonomy(frame_of(wide)))
    assert len(drawn["values"]) == MOST_LEAVES
    assert drawn["values"]["label"].iloc[-1] == "(others: 251 values)"
    assert drawn["dots"]["leaves"].iloc[1:].sum() == 400
