"""Charts of two worlds, of what an attacker saw in them, and of the game."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from lessons import at_noise, binned, drawn, limit, piles, played, ratios
from specs import domain, marks_of, rows_of, spec_of, subtitle, walk

from dpcore import charts
from dpcore.charts.colors import CLAIMED, RELEASED

INF = math.inf


@pytest.mark.parametrize(
    ("law", "epsilon"), [("Laplace", 5.0), ("Geometric", 0.1), ("Geometric", 5.0), ("Gaussian", 1)]
)
def test_stacked_charts_share_their_axis_and_nothing_moves_its_edges(law, epsilon):
    """What sticks out of one chart alone makes it narrower than the others: marks are clipped, labels stay inside."""
    frame, whole = at_noise(law, epsilon), law == "Geometric"
    worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=epsilon, whole=whole)
    low, high = domain(worlds, "x")
    strip = charts.answer_strip(drawn(), low=low, high=high)
    assert domain(band, "x") == domain(strip, "x") == (low, high)
    lefts = set()
    for chart in (worlds, band, strip):
        assert all(layer["mark"]["clip"] for layer in marks_of(chart))
        nodes = [(path, node) for path, node in walk(spec_of(chart)) if isinstance(node, dict)]
        lefts |= {node["minExtent"] for _, node in nodes if node.get("minExtent", 0) == node.get("maxExtent")}
        axes = [node.get("axis", {}) for path, node in nodes if path[-1:] == ("x",)]
        ticks = [tick for axis in axes for tick in axis.get("values", [])]
        assert 2 <= len({*ticks}) <= 12
        assert low < min(ticks) < max(ticks) < high
        assert all(tick == round(tick) for tick in ticks)
    assert len(lefts) == 1
    rows = rows_of(worlds, "height")
    assert rows["answer"].between(low, high).all()
    if whole:
        assert low < rows["left"].min() < rows["right"].max() < high


def test_only_normal_noise_leaves_the_band():
    for law, leaves in (("Laplace", False), ("Geometric", False), ("Gaussian", True)):
        frame, whole = at_noise(law), law == "Geometric"
        worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=1.0, whole=whole)
        assert ("delta" in subtitle(worlds)) == leaves
        areas = [layer for layer in marks_of(worlds) if layer["mark"].get("color") == CLAIMED]
        assert len(areas) == (2 if leaves else 0)
        assert ("leaves the band in the tails" in subtitle(band)) == leaves
        assert ("outside the band" in {*rows_of(band, "where")["where"]}) == leaves
        low, high = domain(band, "y")
        assert rows_of(band, "where")["log_ratio"].between(low, high).all()
    above = rows_of(worlds, "height")
    over = above[above["height"] > above["limit"] * (1 + 1e-9)]
    assert over.loc[over["world"] == "with you", "answer"].min() > 101
    assert over.loc[over["world"] == "without you", "answer"].max() < 100


def test_answers_beyond_the_axis_are_at_its_ends():
    frame = pd.DataFrame({"world": ["with", "without", "with"], "answer": [50.0, 100.0, 400.0]})
    rows = rows_of(charts.answer_strip(frame, low=90, high=110), "shown")
    assert rows["shown"].tolist() == [90, 100, 110]
    assert rows["answer"].tolist() == [50, 100, 400]
    assert "2 of 3 are beyond the edges" in subtitle(charts.answer_strip(frame, low=90, high=110))
    assert "edges" not in charts.answer_strip(frame, low=0, high=500).description
    assert rows.loc[rows["world"] == "without you", "lane"].min() > rows.loc[rows["world"] == "with you", "lane"].max()


# What an attacker saw


def test_numbers_of_runs_stay_behind():
    first, second = (np.random.default_rng(seed).laplace(seed, 1, 4_000) for seed in (0, 1))
    found = binned(first, second)
    for chart in (piles(found, runs=4_000), ratios(found.frame)):
        tables = charts.specification(chart)["datasets"].values()
        text = json.dumps(spec_of(chart)) + "".join(table.to_csv() for table in tables)
        assert not any(repr(value) in text for value in [*first[:50].tolist(), *second[:50].tolist()])
        assert max(map(len, tables)) < 150


def test_bands_are_there_where_epsilons_are_finite():
    bands = [(1.0, INF, [CLAIMED]), (1.0, 1.0, [RELEASED, CLAIMED]), (INF, INF, []), (1.0, 924.0, [RELEASED, CLAIMED])]
    for claimed, proved, colors in bands:
        chart = ratios(binned().frame, claimed=claimed, proved=proved)
        found = [layer["mark"]["color"] for layer in marks_of(chart) if layer["mark"]["type"] == "rect"]
        assert [color for color in found if color in (CLAIMED, RELEASED)] == colors
        assert ("Nothing is claimed. Nothing is proved." in subtitle(chart)) == (not colors)
        low, high = domain(chart, "y")
        assert -low == high < 20


def test_bars_outside_of_the_claim_are_counted():
    apart = binned([0.0] * 300 + [1.0] * 100, [0.0] * 100 + [1.0] * 300).frame
    assert "2 bars lie wholly outside" in ratios(apart, claimed=0.5).description
    assert "No bar lies wholly outside" in ratios(apart, claimed=2.0).description
    assert {*rows_of(ratios(apart, claimed=0.5), "where")["where"]} == {"outside of what is claimed"}


def test_the_event_is_drawn_with_its_counts():
    chart = piles(binned())
    assert domain(chart, "x") == domain(ratios(binned().frame), "x")  # they are stacked
    below = piles(binned(threshold=-1.0, above=False), -1.0, above=False)
    (event,), (other,) = (rows_of(each, "from", "text").to_dict("records") for each in (chart, below))
    assert event["from"] == 1.0 < event["to"]
    assert event["text"] == "World A: 30\nWorld B: 150"
    assert "Of 200 counted runs" in chart.description
    assert other["to"] < other["from"] == pytest.approx(-1.0)
    assert rows_of(piles(binned(threshold=INF), INF), "from", "text").empty


def test_scores_stand_beside_each_other():
    rows = rows_of(charts.game_scores(played(), limit=limit()), "at")
    assert rows["at"].nunique() == 3
    assert rows["at"].between(0.8, 1.25).all()
    assert {*rows["release"]} == {"corrected", "as printed"}
