"""Epsilon: claimed, proved and found; where it went, and what it means."""

import math

import pandas as pd
import pytest
from pictures import entries, spent
from specs import domain, marks_of, rows_of, spec_of, subtitle

from dpcore import charts
from dpcore.language import speaking

INF, NAN = math.inf, math.nan


def test_epsilon_is_summed_by_name_sorted_and_folded():
    names = {"name": ["a", "b", "a", "raw"], "epsilon_claimed": [0.1, 0.5, 0.1, 0], "void": False}
    rows = rows_of(charts.epsilon_split(pd.DataFrame(names | {"epsilon_of_noise": [0.2, 0.5, 0.2, INF]})))
    assert rows["name"].tolist() == ["raw", "b", "a"]
    assert rows["epsilon_of_noise_text"].tolist() == ["no limit", "0.5", "0.4"]
    assert rows["epsilon_of_noise"][0] == pytest.approx(1.15 * 0.5)
    assert rows["epsilon_of_noise_endless"].tolist() == [True, False, False]
    many = rows_of(charts.epsilon_split(entries([f"step {i}" for i in range(50)])))
    assert len(many) == 21
    assert many["name"].iloc[-1] == "(30 others)"
    assert many["epsilon_of_noise"].sum() == pytest.approx(50)


def test_entries_are_told_in_the_language_of_the_screen():
    names = ["histograms of a, b × c and 8 more", "histograms of a", "counts of a", "choice by R", "what else"]
    frame = pd.DataFrame({"name": names, "epsilon_claimed": 1.0, "epsilon_of_noise": 1.0, "void": False})
    assert rows_of(charts.epsilon_split(frame))["name"].tolist() == names
    with speaking("zh"):
        told = rows_of(charts.epsilon_split(frame))["name"].tolist()
    assert told[:3] == ["直方图：a, b × c，以及另外 8 张表", "直方图：a", "a 的计数"]


def test_tables_of_one_price_are_one_entry_and_so_are_those_of_many_prices():
    def told(*prices, head="counts"):
        names = [f"{head} of column {place}" for place in range(len(prices))]
        frame = pd.DataFrame({"name": [*names, "choice by R"], "epsilon_claimed": [*prices, 9.0], "void": False})
        rows = rows_of(charts.epsilon_split(frame.assign(epsilon_of_noise=frame["epsilon_claimed"])))
        assert rows["epsilon_of_noise"].sum() == pytest.approx(sum(prices) + 9 if max(prices) < INF else 2.15 * 9)
        return [name for name in rows["name"] if name != "choice by R"]

    assert told(*[1 / 14] * 14) == ["14 tables × 0.0715"]
    assert told(0.2, 0.3) == ["counts of column 1", "counts of column 0"]
    assert told(0.2, 0.3, 0.2) == ["2 tables × 0.2", "counts of column 1"]
    assert told(*(place / 10 for place in range(1, 8))) == ["7 tables of 0.1 to 0.7"]
    assert told(INF, INF, head="report") == ["2 answers × no limit"]
    assert told(0.1, 0.1, head="level 0: division") == [f"level 0: division of column {place}" for place in (0, 1)]


def test_what_has_no_limit_is_striped_and_no_bar_stands_on_a_log_axis():
    for bound in (5.0, INF):
        chart = charts.claimed_vs_bound(claimed=1.0, bound=bound)
        bars = [layer for layer in marks_of(chart) if layer["mark"]["type"] == "bar"]
        assert all("gradient" in layer["mark"]["color"] for layer in bars)
        assert [layer["transform"] for layer in bars] == [[{"filter": "datum.endless"}]]
        assert rows_of(chart)["endless"].tolist() == [False, bound == INF]
        known = marks_of(charts.known_epsilon(lower=1.0, claimed=1.0, proved=bound))
        (bar,) = [layer["mark"] for layer in known if layer["mark"]["type"] == "bar"]
        assert ("gradient" in bar["color"]) == (bound == INF)


def test_claim_and_bound_never_crash_stay_on_the_axis_and_show_no_less_than_a_run_cost():
    for claimed, bound in ((0, 0), (0, INF), (1e-5, 0.5), (1, 9_452.38), (1e6, 1e12), (INF, 1), (INF, INF), (NAN, 0.5)):
        chart = charts.claimed_vs_bound(claimed=claimed, bound=bound)
        low, high = domain(chart, "x")
        rows = rows_of(chart)
        assert 0 < low <= 0.01 < 10 <= high, (claimed, bound)
        assert rows["epsilon"].between(low, high).all(), (claimed, bound)
        assert (rows["epsilon"][1] == high) == rows["endless"][1] == (bound == INF), (claimed, bound)
        assert (rows["epsilon_text"][1] == "no limit") == (bound == INF), (claimed, bound)
        assert rows["marked"].tolist() == [claimed < INF, bound < INF], (claimed, bound)
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
        (4.1, INF, INF, (4.1, 5.33), ("at least 4.1", "no limit is proved")),
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
    rows = rows_of(chart, "stop", "purpose")
    assert rows["row"].tolist() == ["level 0 (root)", "level 0 (root)", "level 1", "level 1", "no level"]
    assert rows["start"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])
    assert rows["stop"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.7, 0])
    assert rows["total"].tolist() == ["0.3", "0.3", "0.7", "0.7", "0"]
    assert set(rows["which"]) == {"can cost up to"}
    assert "epsilon 1." in subtitle(chart)
    assert spec_of(chart)["width"] == "container"
    chart = charts.forest_budget(spent(epsilon_of_noise=[0.1, INF, 0.1, 0.6, 0.0]))
    assert domain(chart, "yOffset") == ("claimed", "can cost up to")
    bars = rows_of(chart, "stop", "purpose").set_index(["which", "row", "purpose"])
    far = bars.loc["can cost up to", "level 0 (root)", "choices"]
    assert far["amount"] == far["total"] == far["text"] == "no limit"
    assert far["endless"]
    assert far["start"] == pytest.approx(0.1)
    assert far["stop"] > 0.7
    assert "claimed 1, no limit" in subtitle(chart)


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
