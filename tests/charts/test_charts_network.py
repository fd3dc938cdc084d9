"""The network says what its frame says, and nothing stands on anything else."""

import math
from itertools import pairwise

import altair as alt
import numpy as np
import pandas as pd
import pytest

from dpcore import charts
from dpcore.charts.frames import LETTER
from dpcore.charts.network import _arrange, apart

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
