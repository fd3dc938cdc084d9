"""Mechanisms, answers and games: probabilities on shared axes, and nothing that only the game may know."""

import json
import math

import numpy as np
import pandas as pd
import pictures as frames
import pytest
from specs import domain, marks_of, rows_of, texts

from dpcore import charts
from dpcore.charts.colors import CLAIMED, RELEASED

INF = math.inf


@pytest.mark.parametrize(("law", "epsilon"), [("Laplace", 5.0), ("Geometric", 0.1)])
def test_stacked_charts_share_their_axis_and_nothing_moves_its_edges(law, epsilon):
    """What sticks out of one chart alone makes it narrower than the others: marks are clipped, labels stay inside."""
    frame, whole = frames.at_noise(law, epsilon), law == "Geometric"
    worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=epsilon, whole=whole)
    low, high = domain(worlds, "x")
    strip = charts.answer_strip(frames.drawn(), low=low, high=high)
    assert domain(band, "x") == domain(strip, "x") == (low, high)
    for chart in (worlds, band, strip):
        assert all(layer["mark"]["clip"] for layer in marks_of(chart))
    assert rows_of(worlds, "height")["answer"].between(low, high).all()


# Choices, composition, groups and floating point


def test_probabilities_of_a_choice_and_a_belief_are_those_of_the_formulas():
    chosen = rows_of(charts.election(frames.voted()), "probability")["probability"]
    assert chosen.tolist() == pytest.approx([0.4240, 0.3302, 0.1412, 0.1046], abs=5e-5)
    band = rows_of(charts.choice_ratios(frames.voted(epsilon=0.5), epsilon=0.5), "high")
    assert band[["log_ratio", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [-0.25, 0.25]]
    sure = rows_of(charts.belief(frames.believed(), prior=0.2), "sure")["sure"].tolist()
    assert sure == pytest.approx([0.2 / (0.2 + 0.8 * math.e), 0.2 * math.e / (0.2 * math.e + 0.8)])


def test_the_parts_that_hang_on_you_are_counted_and_so_are_numbers_of_one_world_only():
    for yours, count in (((False, True, False), 2), ((True,) * 3, 6)):
        chart = charts.split_table(frames.parts(yours=yours), title="Groups")
        assert f"{count} of 6" in texts(chart)
        assert rows_of(chart, "yours")["yours"].sum() == count
    shared = pd.DataFrame({"world": ["with", "without"], "answer": [3.0, 3.0], "both": True})
    assert " 2 of them" in charts.possible_numbers(shared, title="Holes").description


# Randomized answers


@pytest.mark.parametrize("people", [(200, 180, 90, 530), (1, 0, 0, 0)])
def test_marks_are_in_proportion_and_only_the_games_own_picture_knows_the_truth(people):
    frame, total = frames.said(people), sum(people)
    blind, seen = (charts.crowd(frame, revealed=revealed) for revealed in (False, True))
    for rows in (rows_of(blind, "kind"), rows_of(seen, "kind")):
        assert len(rows.drop_duplicates(["x", "y"])) == len(rows) == min(total, 200)
        for kind, marks in rows["kind"].value_counts().items():
            assert marks == pytest.approx(int(kind.split()[-1].replace(",", "")) * len(rows) / total, abs=1)
    assert rows["kind"].nunique() == sum(n > 0 for n in people)
    assert {*rows_of(blind)} == {"kind", "x", "y"}
    known = str(marks_of(blind)) + texts(blind) + "".join(rows_of(blind)["kind"])
    assert not any(f": {n:,}" in known for n in {*people} - {0, people[0] + people[1], people[2] + people[3]})


# Attacks, and what an attacker saw


def test_an_attack_stands_beside_a_coin_noiseless_numbers_and_the_most_that_epsilon_allows():
    chart = charts.share_right(frames.attacked(), epsilon=1.0, noiseless=0.98, title="Right")
    assert rows_of(chart, "label", "at")["at"].tolist() == [0.5, 0.98]
    curve = rows_of(chart, "epsilon", "at")
    near = curve.iloc[(curve["epsilon"] - 1).abs().argsort()]["at"].iloc[:3]
    assert near.max() == pytest.approx(math.e / (1 + math.e), abs=1e-3)
    bars = rows_of(charts.groups_apart(frames.scored(), **frames.GROUPS), "group")
    assert bars.groupby("group")["share"].sum().tolist() == pytest.approx([1.0, 1.0])


def test_numbers_of_runs_stay_behind():
    first, second = (np.random.default_rng(seed).laplace(seed, 1, 4_000) for seed in (0, 1))
    found = frames.binned(first, second)
    for chart in (frames.piles(found, runs=4_000), frames.ratios(found.bins)):
        spec = charts.specification(chart)
        tables = spec.pop("datasets").values()
        told = json.dumps(spec) + "".join(table.to_csv() for table in tables)
        assert not any(repr(value) in told for value in [*first[:50].tolist(), *second[:50].tolist()])
        assert max(map(len, tables)) < 150


def test_bands_are_there_where_epsilons_are_finite_and_bars_outside_of_the_claim_are_counted():
    bands = [(1.0, INF, [CLAIMED]), (INF, INF, []), (1.0, 924.0, [RELEASED, CLAIMED])]
    for claimed, proved, colors in bands:
        chart = frames.ratios(frames.binned().bins, claimed=claimed, proved=proved)
        found = [layer["mark"]["color"] for layer in marks_of(chart) if layer["mark"]["type"] == "rect"]
        assert [color for color in found if color in (CLAIMED, RELEASED)] == colors
    apart = frames.binned([0.0] * 300 + [1.0] * 100, [0.0] * 100 + [1.0] * 300).bins
    assert "2 bars" in frames.ratios(apart, claimed=0.5).description
    assert "2 bars" not in frames.ratios(apart, claimed=2.0).description
