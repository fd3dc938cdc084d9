"""Epsilon: claimed, proved and found; where it went, and what it means."""

import math

import pandas as pd
import pytest
from pictures import spent
from specs import domain, rows_of

from dpcore import charts

INF, NAN = math.inf, math.nan


def test_epsilon_is_summed_by_name_and_what_has_no_limit_is_longest():
    names = {"name": ["a", "b", "a", "raw"], "epsilon_claimed": [0.1, 0.5, 0.1, 0], "void": False}
    rows = rows_of(charts.epsilon_split(pd.DataFrame(names | {"epsilon_nominal": [0.2, 0.5, 0.2, INF]})))
    assert rows["name"].tolist() == ["raw", "b", "a"]
    assert rows["epsilon_nominal"].tolist() == pytest.approx([1.15 * 0.5, 0.5, 0.4])
    assert rows["epsilon_nominal_endless"].tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ([0.2, 0.3, 0.2], ["2 tables × 0.2", "counts of column 1"]),
        ([place / 10 for place in range(1, 8)], ["7 tables of 0.1 to 0.7"]),
    ],
)
def test_many_tables_are_one_entry_whose_epsilon_is_their_sum(costs, told):
    names = [f"counts of column {place}" for place in range(len(costs))]
    frame = pd.DataFrame({"name": [*names, "choice by R"], "epsilon_claimed": [*costs, 9.0], "void": False})
    rows = rows_of(charts.epsilon_split(frame.assign(epsilon_nominal=frame["epsilon_claimed"])))
    assert rows["epsilon_nominal"].sum() == pytest.approx(sum(costs) + 9)
    assert [name for name in rows["name"] if name != "choice by R"] == told


def test_claim_and_bound_stay_on_the_axis_and_show_no_less_than_a_run_cost():
    for claimed, bound in ((0, INF), (1e-5, 0.5), (1, 9_452.38), (1e6, 1e12), (NAN, 0.5)):
        chart = charts.claimed_vs_bound(claimed=claimed, bound=bound)
        (low, high), rows = domain(chart, "x"), rows_of(chart, "start")
        assert 0 < low <= 0.01 < 10 <= high, (claimed, bound)
        assert rows[["start", "stop"]].stack().between(low, high).all(), (claimed, bound)
        assert (rows["stop"][1] == high) == rows["endless"][1] == (bound == INF), (claimed, bound)
        assert bound != 9_452.38 or rows["text"].tolist() == ["1", "9,453"]


def test_icons_are_filled_up_to_the_odds_and_only_certainty_fills_all():
    for probability, filled in ((0.505, 51), (0.99995, 99), (1.0, 100), (0, 0)):
        rows = rows_of(charts.odds_icons(probability))
        assert len(rows.drop_duplicates(["x", "y"])) == 100
        assert rows["kind"].tolist() == ["filled"] * filled + ["open"] * (100 - filled)
    for epsilon, sure in ((0, 0.5), (1, 0.7310585786), (1e9, 1), (INF, 1), (-INF, 0), (-1e9, 0)):
        assert charts.odds(epsilon) == pytest.approx(sure)


def test_what_is_known_of_epsilon_goes_from_what_was_found_to_what_is_proved():
    for lower, proved, ends, least in (
        (2.2349, 924.2, (2.2349, 924.2), "2.234"),
        (0.0, 1.0, (0.01, 1.0), "0"),
        (4.1, INF, (4.1, 10.0), "4.1"),
    ):
        row = rows_of(charts.known_epsilon(lower=lower, claimed=1.0, proved=proved), "start").loc[1]
        assert (row["start"], row["stop"]) == pytest.approx(ends)
        assert row["text"].split()[2].strip(":;") == least  # rounded down, as bounds from below are


def test_bars_are_stacked_level_by_level_with_claim_and_bound_apart():
    rows = rows_of(charts.forest_budget(spent()), "stop", "purpose")
    assert rows["start"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])
    assert rows["stop"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.7, 0])
    chart = charts.forest_budget(spent(epsilon_nominal=[0.1, INF, 0.1, 0.6, 0.0]))
    bars = rows_of(chart, "stop", "purpose")
    (far,) = bars[bars["endless"]].to_dict("records")
    assert (far["which"], far["start"], far["stop"] > 0.7) == (domain(chart, "yOffset")[1], pytest.approx(0.1), True)


def test_every_run_is_a_step_on_what_was_spent_before_it_and_the_cap_is_on_the_axis():
    frame = pd.DataFrame({"run": ["a", "b", "a"], "when": "today"})
    chart = charts.staircase(frame.assign(epsilon_bound=[0.5, 0.25, 1]), cap=3)
    rows = rows_of(chart, "step")
    assert rows[["before", "after"]].to_numpy().tolist() == [[0, 0.5], [0.5, 0.75], [0.75, 1.75]]
    assert domain(chart, "y") == pytest.approx([0, 1.12 * 3])
