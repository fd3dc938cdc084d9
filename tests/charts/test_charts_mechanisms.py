"""Charts of the basic mechanisms: what is drawn, on which axes, and what is said of it."""

import math

import pandas as pd
import pytest
from lessons import believed, holes, parts, telling, voted
from specs import domain, marks_of, rows_of, spec_of, subtitle, walk

from dpcore import charts
from dpcore.charts.colors import CLAIMED, REAL, RELEASED
from dpcore.teaching import composition


def test_the_votes_are_grey_and_the_probabilities_blue():
    for chart, color in ((charts.votes(voted()), REAL), (charts.election(voted()), RELEASED)):
        (bars,) = [layer for layer in marks_of(chart) if layer["mark"]["type"] == "bar"]
        assert bars["mark"]["color"] == color
    assert rows_of(chart, "probability")["probability"].tolist() == pytest.approx(
        [0.4240, 0.3302, 0.1412, 0.1046], abs=5e-5
    )
    assert "a 0.424" in chart.description


def test_the_band_of_a_choice_is_epsilon_and_its_half():
    chart = charts.choice_ratios(voted(epsilon=0.5), epsilon=0.5)
    assert rows_of(chart, "high")[["log_ratio", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [-0.25, 0.25]]
    low, high = domain(chart, "x")
    assert -high == low < -0.5


def test_a_belief_is_marked_where_it_is():
    chart = charts.belief(believed(), prior=0.2)
    ends = rows_of(chart, "sure")
    assert ends["sure"].tolist() == pytest.approx([0.2 / (0.2 + 0.8 * math.e), 0.2 * math.e / (0.2 * math.e + 0.8)])
    assert "8.42% to 40.5%" in subtitle(chart)


# Composition, groups and floats


def test_the_sum_of_epsilons_is_at_the_right_end():
    chart = charts.loss_sums(composition.losses(0.5, 6), worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6")
    bars, rules = rows_of(chart, "probability"), rows_of(chart, "at")
    assert rules["at"].tolist() == [3.0, 2.9]
    assert bars["loss"].max() == pytest.approx(3.0)
    assert (bars["right"] - bars["left"]).tolist() == pytest.approx([0.8] * 7)
    low, high = domain(chart, "x")
    assert -low == high > bars["right"].max()
    assert subtitle(chart) == "Orange line: epsilon 3, the sum. Dashed: epsilon 2.9 with delta 1e-6."


def test_three_ways_to_ask_are_told_apart_without_color():
    spec = spec_of(charts.average_errors(composition.average_deviations(1.0, 9), at=4))
    (dashes,) = [node["scale"]["range"] for path, node in walk(spec) if path[-2:] == ("encoding", "strokeDash")]
    assert len({tuple(dash) for dash in dashes}) == 3


def test_the_parts_that_hang_on_you_are_counted():
    for yours, count in (((False, True, False), 1), ((True,) * 3, 3)):
        chart = charts.split_table(parts(yours=yours), title="Groups")
        assert f"{2 * count} of 6 may change" in subtitle(chart)
        assert rows_of(chart, "yours")["yours"].sum() == 2 * count


def test_numbers_of_one_world_only_are_orange_and_no_telltale_answer_is_said_in_words():
    chart = charts.possible_numbers(holes(), title="Holes")
    scale = spec_of(chart)["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))["possible in this world only"] == CLAIMED
    assert "0 of them are possible in both worlds" in chart.description
    shared = pd.DataFrame({"world": ["with", "without"], "answer": [3.0, 3.0], "both": True})
    assert "2 of them" in charts.possible_numbers(shared, title="Whole").description
    assert rows_of(charts.telltale(telling()), "share")["text"].tolist() == ["80.00%", "10.00%", "none"]


def test_answers_and_errors_stand_on_the_same_axes_at_every_epsilon():
    for epsilon in (0.1, 1.0, 5.0):
        answers = composition.repeated_answers(100, epsilon, 30, 0)
        chart = charts.running_average(answers, truth=100, window=5)
        rows = rows_of(chart, "shown")
        assert domain(chart, "y") == (95, 105)
        assert rows["shown"].between(95, 105).all()
        assert ("beyond the edges" in subtitle(chart)) == (rows["answer"].sub(100).abs() > 5).any() == (epsilon < 5)
        errors = composition.average_deviations(epsilon, 100)
        low, high = domain(charts.average_errors(errors, at=4), "y")
        assert (
            low < errors.drop(columns="answers").min(axis=None) < errors.drop(columns="answers").max(axis=None) < high
        )
