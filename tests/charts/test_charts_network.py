"""The network, the affinity matrix and the curves say what their frames say, and nothing stands on anything else."""

import math
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from dpcore import charts
from dpcore.charts.colors import CLAIMED, SERIES, SHAPES
from dpcore.charts.curves import _ticks
from dpcore.charts.frames import LETTER, t_quantile
from dpcore.charts.network import _arrange, _arrival, apart

BITS = [f"marital-status bit {bit}" for bit in range(52)]


def families(names: list[str], clusters: int, most: int = 3) -> pd.DataFrame:
    """Every family has the parents that a fixed seed gives it, among those selected before in its cluster."""
    rng, rows = np.random.default_rng(5), []
    for place, name in enumerate(names):
        before = names[place % clusters : place : clusters]
        parents = [str(parent) for parent in rng.permutation(before)[:most]]
        rows.append((name, parents, place % clusters + 1, 2.0 ** (1 + len(parents)), 0.1 * (place % 5 > 0)))
    return pd.DataFrame(rows, columns=["child", "parents", "cluster", "cells", "epsilon"])


def layers_of(chart: Any) -> dict[str, pd.DataFrame]:
    """The layers' data by what they draw; the names are the last text that is drawn."""
    return {layer.mark.shape if layer.mark.shape is not alt.Undefined else layer.mark.type: layer.data
            for layer in chart.layer}  # fmt: skip


def nodes_of(chart: Any) -> pd.DataFrame:
    (found,) = [layer.data for layer in chart.layer if "near" in layer.data]
    return pd.DataFrame(found).set_index("name")


@pytest.mark.parametrize(("count", "clusters"), [(1, 1), (15, 1), (15, 3), (52, 1), (52, 3), (52, 9)])
def test_parents_stand_above_their_children_and_no_name_on_another(count: int, clusters: int) -> None:
    frame = families(BITS[:count], clusters)
    chart = charts.network(frame)
    nodes, parts = nodes_of(chart), layers_of(chart)
    assert len(parts["triangle"]) == frame["parents"].map(len).sum()
    for child, parents in zip(frame["child"], frame["parents"], strict=True):
        assert all(nodes.loc[parent, "y"] < nodes.loc[child, "y"] for parent in parents)
        assert nodes.loc[child, "near"] == (", ".join(parents) or "(none)")
    letters = 14 if count <= 20 else 12
    for _, row in nodes.groupby("y"):
        row = row.sort_values("x")
        ends = row["x"] + row["radius"] + 4 + LETTER * letters * row["label"].str.len()
        starts = row["x"] - row["radius"]
        assert all(end < start for end, start in zip(ends[:-1], starts[1:], strict=True))
        assert starts.min() >= 0
        assert ends.max() <= 960
    assert list(parts["text"]["label"]) == list(nodes["label"])


def test_each_cluster_has_a_box_in_the_order_of_its_number_with_its_nodes_inside() -> None:
    chart = charts.network(families(BITS, 12))
    nodes, boxes = nodes_of(chart), layers_of(chart)["rect"].set_index("label")
    assert list(boxes.index) == [f"cluster {number}" for number in range(1, 13)]
    assert boxes["y"].nunique() > 1  # they do not all fit side by side
    for node in nodes.itertuples():
        box = boxes.loc[f"cluster {node.cluster}"]
        assert box["x"] < node.x < box["x2"]
        assert box["y"] < node.y < box["y2"]


def test_every_line_runs_from_parent_to_child_without_going_back_up() -> None:
    frame = families(BITS, 3)
    parts = layers_of(charts.network(frame))
    nodes, lines = nodes_of(charts.network(frame)), parts["line"]
    by_number = nodes.set_index("node")
    found = set()
    for _, line in lines.groupby("edge"):
        start, end = line.iloc[0], line.iloc[-1]
        assert (end["x"], end["y"]) == tuple(by_number.loc[end["node"], ["x", "y"]])
        assert line["y"].is_monotonic_increasing
        (parent,) = nodes.index[(nodes["x"] == start["x"]) & (nodes["y"] == start["y"])]
        found.add((parent, by_number.loc[end["node"], "label"]))
    assert found == {(p, child) for child, own in zip(frame["child"], frame["parents"], strict=True) for p in own}


def test_many_nodes_are_an_overview_without_names_that_still_tells_each_node() -> None:
    chart = charts.network(families([f"Q{number}" for number in range(175)], 8))
    assert not any("radius" in layer.data and "near" not in layer.data for layer in chart.layer)
    assert nodes_of(chart).loc["Q170", "near"].count("Q") == 3
    assert sum(len(layer.data) for layer in chart.layer if "rank" in layer.data) < 5000


def test_derived_tables_have_another_shape_and_shares_sum_to_one() -> None:
    nodes = nodes_of(charts.network(families(BITS[:10], 1)))
    assert list(nodes["kind"]) == ["derived", *["measured"] * 4] * 2
    assert nodes["share"].sum() == pytest.approx(1)
    assert nodes.loc[nodes["kind"] == "derived", "share"].eq(0).all()


def test_families_that_make_no_sense_are_drawn_as_far_as_they_do() -> None:
    rows = [("a", ["b", "a", "nobody"], 1), ("b", ["a", "a"], 1), ("b", (), 1), ("c", None, 1)]
    frame = pd.DataFrame(rows, columns=["child", "parents", "cluster"]).assign(cells=[0, math.nan, 4, 4], epsilon=0.0)
    chart = charts.network(frame)
    assert len(layers_of(chart)["triangle"]) == 2  # a -> b and b -> a
    assert nodes_of(chart)["cells"].isna().sum() == 2
    assert "epsilon" not in chart.to_dict()["layer"][-2]["encoding"]["size"]


def test_an_arrow_head_turns_as_its_curve_arrives() -> None:
    assert _arrival([(0, 0), (3, 4)]) == (3, 4)
    assert _arrival([(0, 0), (0, 6), (6, 12)]) == (5, 4)
    spec = charts.network(families(BITS[:3], 1)).to_dict()
    (head,) = [layer["mark"] for layer in spec["layer"] if layer["mark"].get("shape") == "triangle"]
    assert all("width" in head[key]["expr"] and "height" in head[key]["expr"] for key in ("angle", "xOffset"))


def test_lines_keep_clear_of_the_nodes_on_their_way() -> None:
    links = [(0, 1), (1, 2), (0, 2)]
    at, paths, _, _ = _arrange(links, [0] * 3, np.full(3, 10.0), np.full(3, 90.0), 400, 50)
    assert [len(path) for path in paths] == [2, 2, 3]
    bend = paths[2][1]
    assert bend[1] == at[1][1]
    assert bend[0] <= at[1][0] - 10 or bend[0] >= at[1][0] + 90


def test_values_are_kept_apart_as_near_to_their_wishes_as_can_be() -> None:
    assert apart([5.0, 5.0, 50.0], [(1, 1)] * 3, 0, 100) == pytest.approx([4, 6, 50])
    assert apart([0.0], [(2, 3)], 0, 100) == [2]
    crowded = apart([5.0] * 4, [(10, 10)] * 4, 0, 40)
    assert [b - a for a, b in pairwise(crowded)] == pytest.approx([20 / 3] * 3)


def test_a_graph_has_lines_without_heads_and_each_edge_once() -> None:
    nodes = pd.DataFrame({"node": list("abcde"), "cluster": 1, "cells": 4, "epsilon": 0.1})
    edges = pd.DataFrame([("a", "b"), ("b", "a"), ("b", "c"), ("b", "d"), ("e", "e"), ("a", "x")], columns=["a", "b"])
    chart = charts.graph(edges, nodes)
    found = nodes_of(chart)
    assert chart.to_dict()["title"]["text"] == ["The graph: 5 nodes and 3 edges"]
    assert "triangle" not in layers_of(chart)
    assert layers_of(chart)["line"]["edge"].nunique() == 3
    assert dict(found["near"]) == {"a": "b", "b": "a, c, d", "c": "b", "d": "b", "e": "(none)"}
    assert found["y"].idxmin() == "b"


def scores(names: list[str]) -> pd.DataFrame:
    rows = [(a, b, 0.1 * (place % 14) - 0.1) for place, a in enumerate(names) for b in names[:place]]
    return pd.DataFrame(rows, columns=["a", "b", "score"])


def test_affinity_is_symmetric_clipped_and_says_so() -> None:
    chart = charts.affinity(scores(BITS), dict.fromkeys(BITS, 1))
    cells = chart.layer[0].data if chart.data is alt.Undefined else chart.data
    assert len(cells) == 52 * 51
    by_pair = cells.set_index(["x", "y"])
    assert all(by_pair.loc[(y, x), "score"] == score for (x, y), score in by_pair["score"].items())
    assert cells["shade"].min() == 0
    assert cells["score"].min() < 0
    assert cells["shade"].max() == cells["score"].max() > 1
    spec = str(chart.to_dict())
    assert "noisy score (clipped at 0)" in spec
    assert "below 0" in spec
    positive = charts.affinity(scores(BITS).assign(score=0.5), {})
    assert "clipped" not in str(positive.to_dict())


def test_affinity_stands_in_the_order_of_clusters_with_gaps_between() -> None:
    clusters = pd.DataFrame({"column": ["a", "b", "c", "d"], "cluster": [1, 2, 1, 3]})
    for given in (clusters, dict(zip(clusters["column"], clusters["cluster"], strict=True))):
        layer, numbers = charts.affinity(scores(list("abcd")), given).to_dict()["layer"]
        shown = [name.replace("\u200b", "") for name in layer["encoding"]["x"]["scale"]["domain"]]
        assert shown == ["a", "c", "", "b", "", "d"]
        assert len(set(layer["encoding"]["y"]["scale"]["domain"])) == 6
        assert numbers["mark"]["type"] == "text"


@pytest.mark.parametrize("clusters", [1, 5])
@pytest.mark.parametrize(("columns", "named"), [(60, True), (175, False)])
def test_affinity_names_up_to_60_columns(columns: int, clusters: int, named: bool) -> None:
    names = [f"Q{number}" for number in range(columns)]
    with alt.data_transformers.enable(max_rows=None):
        (layer,) = charts.affinity(scores(names), {n: i % clusters for i, n in enumerate(names)}).to_dict()["layer"]
    assert [layer["encoding"][axis]["axis"].get("labels", True) for axis in "xy"] == [named] * 2


def runs(series: int = 2, modes: tuple[str, ...] = ("corrected",), repeats: int = 3) -> pd.DataFrame:
    rows = [
        (x, f"method {s}", mode, panel, s + 0.1 * r)
        for x in (0.05, 0.1, 1.0)
        for s in range(series)
        for mode in modes
        for panel in ("AVD", "error")
        for r in range(repeats)
    ]
    return pd.DataFrame(rows, columns=["epsilon", "series", "mode", "panel", "value"])


def curves(frame: pd.DataFrame, **more: Any) -> Any:
    return charts.curves(frame, x="epsilon", y="value", x_title="epsilon", y_title="distance", **more)


def drawn(chart: Any) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    layers: list[dict[str, Any]] = spec.get("spec", spec)["layer"]
    return layers


def test_few_series_have_bands_and_many_or_modes_have_bars() -> None:
    kinds = {
        name: [layer["mark"]["type"] for layer in drawn(chart)]
        for name, chart in {
            "few": curves(runs()),
            "many": curves(runs(series=10)),
            "modes": curves(runs(modes=("as printed", "corrected")), mode="mode"),
        }.items()
    }
    assert kinds["few"] == ["area", "line", "point"]
    assert kinds["many"] == ["rule", "line", "point"]
    assert kinds["modes"] == ["rule", "line", "point", "point"]


def test_modes_are_told_apart_by_dashes_and_by_filling() -> None:
    layers = drawn(curves(runs(modes=("as printed", "corrected")), mode="mode"))
    assert layers[1]["encoding"]["strokeDash"]["scale"] == {
        "domain": ["as printed", "corrected"],
        "range": [[6, 4], [1, 0]],
    }
    assert [layer["mark"]["filled"] for layer in layers[2:]] == [False, True]
    assert [layer["transform"][-1]["filter"] for layer in layers[2:]] == [
        "datum.mode == 'as printed'",
        "datum.mode != 'as printed'",
    ]


def test_ten_series_differ_in_color_and_in_shape_and_can_be_seen_on_any_page() -> None:
    def luminance(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    assert len(set(SERIES)) == len(set(SHAPES)) == 11
    for color in SERIES:
        assert 1.05 / (luminance(color) + 0.05) > 3
        assert (luminance(color) + 0.05) / (luminance("#1b1b18") + 0.05) > 3
    layer = drawn(curves(runs(series=10)))[-1]["encoding"]
    assert layer["color"]["scale"]["range"] == SERIES[1:]  # orange is for claims
    assert drawn(curves(runs(), claimed_first=True))[-1]["encoding"]["color"]["scale"]["range"][0] == CLAIMED
    assert len(layer["shape"]["scale"]["domain"]) == 10


def test_intervals_are_of_the_runs_or_of_their_mean() -> None:
    frame = runs(series=1)
    lowest = curves(frame).data.iloc[0]
    assert (lowest["low"], lowest["high"]) == pytest.approx((0, 0.2))
    mean = curves(frame, interval="t").data.iloc[0]
    values = [0, 0.0, 0.1, 0.1, 0.2, 0.2]  # two panels, one chart
    half = t.ppf(0.975, 5) * np.std(values, ddof=1) / math.sqrt(6)
    assert (mean["low"], mean["high"]) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-4)
    assert "t-interval" in " ".join(curves(frame, interval="t").to_dict()["title"]["subtitle"])
    assert curves(frame.head(1), interval="t").data["low"].isna().all()
    assert "medians" in " ".join(curves(frame, center="median").to_dict()["title"]["subtitle"])


def test_the_quantile_of_students_t() -> None:
    assert math.isnan(t_quantile(0))
    assert [t_quantile(n) for n in range(1, 200)] == pytest.approx(
        [float(t.ppf(0.975, n)) for n in range(1, 200)], rel=1e-4
    )


def test_what_a_log_axis_cannot_show_is_left_out() -> None:
    frame = runs(series=1)
    frame.loc[0, "epsilon"] = 0
    frame.loc[1, "value"] = -1
    assert len(curves(frame).data) == len(frame)
    assert len(curves(frame, log_x=True).data) == len(frame) - 1
    shown = curves(frame, log_x=True, log_y=True, interval="t").data
    assert (shown[["x", "value", "low"]] > 0).all(axis=None)


def test_panels_may_have_their_own_axes_and_their_own_references() -> None:
    lines = pd.DataFrame({"panel": ["AVD", "error", "no such"], "label": "paper", "value": 0.5})
    chart = curves(runs(), panel="panel", references=lines.assign(claimed=[True, False, True]), same_y=False, columns=3)
    spec = chart.to_dict()
    assert spec["resolve"]["scale"]["y"] == "independent"
    assert spec["columns"] == 3
    assert list(chart.data.loc[chart.data["rule"] > 0, "claimed"]) == [1, 0]
    assert CLAIMED in str(drawn(chart)[0]["encoding"]["color"])
    assert "stated by the paper" in " ".join(spec["title"]["subtitle"])
    assert curves(runs()).to_dict()["width"] == "container"


def test_numbers_under_an_axis_leave_each_other_room() -> None:
    assert _ticks([0.05, 0.1, 0.2, 0.4, 0.8, 1], log=True) == [0.05, 0.1, 0.2, 0.4, 1]
    assert _ticks([1, 2, 3], log=False) == [1, 2, 3]
    assert _ticks([7], log=False) == [7]
