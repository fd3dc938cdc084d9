"""Epsilon: claimed, proved and found; where it went, and what it means."""

import math

import pandas as pd
import pytest
from pictures import entries, spent
from specs import domain, rows_of, spec_of, subtitle

from dpcore import charts

INF, NAN = math.inf, math.nan


def test_epsilon_is_summed_by_name_sorted_and_folded():
    names = {"name": ["a", "b", "a", "raw"], "epsilon_claimed": [0.1, 0.5, 0.1, 0], "void": False}
    rows = rows_of(charts.epsilon_split(pd.DataFrame(names | {"epsilon_of_noise": [0.2, 0.5, 0.2, INF]})))
    assert rows["name"].tolist() == ["raw", "b", "a"]
    assert rows["epsilon_of_noise_text"].tolist() == ["∞ (no guarantee)", "0.5", "0.4"]
    assert rows["epsilon_of_noise"][0] == pytest.approx(1.15 * 0.5)
    many = rows_of(charts.epsilon_split(entries([f"step {i}" for i in range(50)])))
    assert len(many) == 21
    assert many["name"].iloc[-1] == "(30 others)"
    assert many["epsilon_of_noise"].sum() == pytest.approx(50)


def test_claim_and_bound_never_crash_stay_on_the_axis_and_show_no_less_than_a_run_cost():
    for claimed, bound in ((0, 0), (0, INF), (1e-5, 0.5), (1, 9_452.38), (1e6, 1e12), (INF, 1), (INF, INF), (NAN, 0.5)):
        chart = charts.claimed_vs_bound(claimed=claimed, bound=bound)
        low, high = domain(chart, "x")
        rows = rows_of(chart)
        assert 0 < low <= 0.01 < 10 <= high, (claimed, bound)
        assert rows["epsilon"].between(low, high).all(), (claimed, bound)
        assert (rows["epsilon"][1] == high) == (bound == INF), (claimed, bound)
        assert ("no guarantee" in rows["epsilon_text"][1]) == (bound == INF), (claimed, bound)
        assert bound != 9_452.38 or rows["epsilon_text"].tolist() == ["1", "9,453"]


def test_icons_are_filled_up_to_the_odds_and_only_certainty_fills_all():
    for probability, filled in ((0.505, 51), (0.99995, 99), (1.0, 100), (0, 0)):
        rows = rows_of(charts.odds_icons(probability))
        assert len(rows.drop_duplicates(["x", "y"])) == 100
        assert rows["kind"].tolist() == ["filled"] * filled + ["open"] * (100 - filled)
    for epsilon, sure in ((0, 0.5), (1, 0.7310585786), (1e9, 1), (INF, 1), (-INF, 0), (-1e9, 0)):
        assert charts.odds(epsilon) == pytest.approx(sure)


@pytest.mark.parametrize(
    ("lower", "claimed", "proved", "ends", "words"),
    [
        (2.2349, 1.0, 924.2, (2.2349, 2.90537), ("at least 2.234", "proved: at most 925")),
        (0.0, 1.0, 1.0, (0.0, 1.0), ("at least 0: the attack found nothing", "proved: at most 1")),
        (4.1, INF, INF, (4.1, 5.33), ("at least 4.1", "no epsilon is proved")),
        (0.4, 1.0, 4.0, (0.4, 4.0), ("at least 0.4", "proved: at most 4")),
    ],
)
def test_what_is_known_of_epsilon(lower, claimed, proved, ends, words):
    chart = charts.known_epsilon(lower=lower, claimed=claimed, proved=proved)
    (row,) = rows_of(chart, "least").to_dict("records")
    assert (row["from"], row["to"]) == pytest.approx(ends)
    assert (row["least"], row["most"]) == words
    (claim,) = rows_of(chart, "at").to_dict("records")
    assert claim["text"] == ("no epsilon" if math.isinf(claimed) else "1")


def test_bars_are_stacked_level_by_level_with_claim_and_bound_apart_and_what_is_infinite_named():
    chart = charts.forest_budget(spent())
    rows = rows_of(chart, "stop")
    assert rows["row"].tolist() == ["level 0 (root)", "level 0 (root)", "level 1", "level 1", "no level"]
    assert rows["start"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])
    assert rows["stop"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.7, 0])
    assert rows["total"].tolist() == ["0.3", "0.3", "0.7", "0.7", "0"]
    assert set(rows["which"]) == {"provable bound"}
    assert "epsilon 1." in subtitle(chart)
    assert "facet" not in spec_of(chart)
    chart = charts.forest_budget(spent(epsilon_of_noise=[0.1, INF, 0.1, 0.6, 0.0]))
    assert spec_of(chart)["facet"]["sort"] == ["claimed", "provable bound"]
    bars = rows_of(chart, "stop").set_index(["which", "row", "purpose"])
    far = bars.loc["provable bound", "level 0 (root)", "choices"]
    assert far["amount"] == far["total"] == "∞"
    assert far["start"] == pytest.approx(0.1)
    assert far["stop"] > 0.7
    assert "claimed 1, provable bound ∞" in subtitle(chart)


def test_every_run_is_a_step_on_what_was_spent_before_it_and_the_cap_is_on_the_axis():
    frame = pd.DataFrame({"run": ["a", "b", "a"], "when": "today"})
    chart = charts.staircase(frame.assign(epsilon_bound=[0.5, 0.25, 1]), cap=3)
    rows = rows_of(chart, "step")
    assert rows["before"].tolist() == [0, 0.5, 0.75]
    assert rows["after"].tolist() == [0.5, 0.75, 1.75]
    assert domain(chart, "y") == pytest.approx([0, 1.12 * 3])
    many = pd.DataFrame({"run": range(50), "when": "now", "epsilon_bound": 0.1})
    rows = rows_of(charts.staircase(many), "step")
    assert len(rows) == 40
    assert rows["run"][0] == "(11 earlier runs)"
    assert rows["after"].iloc[-1] == pytest.approx(5)
