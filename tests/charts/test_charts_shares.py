"""Columns: their values' shares, real, released, reported and reconstructed, and the columns that are furthest off."""

import numpy as np
import pandas as pd
import pytest
from pictures import intervals, shares
from specs import domain, rows_of, spec_of, subtitle, title, types_of

from dpcore import charts, datasets
from dpcore.evaluate.evaluator import Evaluator
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer


def test_marginal_keeps_order_values_and_labels():
    chart = charts.marginal(shares(["b", "", None, "b"]), column="age")
    rows = rows_of(chart)
    assert rows["value"].tolist() == ["b", "(empty)", "(missing)", "b (2)"]
    assert rows["real"][0] == pytest.approx(1 / 6)
    assert types_of(chart) == ["bar", "rule", "point"]
    assert title(chart) == "age: real and released shares"


def test_of_many_values_the_frequent_ones_are_drawn_and_the_others_as_one():
    rare = [0.9, *[0.1 / 40] * 40]
    for real, released, kept in ((rare, rare, 12), ([0.02] * 41, rare, 25), (rare, [0.02] * 41, 25)):
        frame = shares([f"v{i}" for i in range(41)]).assign(real=real, released=released)
        chart = charts.marginal(frame, column="age")
        rows = rows_of(chart)
        assert rows["value"].tolist() == [*(f"v{i}" for i in range(kept)), f"({41 - kept} others)"]
        assert rows[["real", "released"]].sum().tolist() == pytest.approx([sum(real), sum(released)])
        assert rows[["floor_low", "floor_high"]].iloc[-1].isna().all()
        assert title(chart) == f"age: real and released shares (the {kept} most frequent of 41 values)"
    assert len(rows_of(charts.marginal(shares([f"v{i}" for i in range(13)]), column="age"))) == 13


def test_releases_at_two_epsilons_stand_on_the_same_axes():
    """What is far from the real rows looks far, and two screens can be compared at a glance."""
    data = datasets.load("sample")
    real, found = Evaluator(data), []
    for epsilon in (1.0, 0.01):
        made = NaiveBayesSynthesizer(epsilon=epsilon, x_source="model", random_state=0).fit(
            data.train, schema=data.schema
        )
        away, fresh = real.distances(made.sample(5_000), 1), real.floors(1, repeats=1)
        frame = away.assign(floor=fresh["avd"], attributes=away["attributes"].str[0])
        chart = charts.worst_columns(frame)
        found.append(
            (rows_of(chart)["avd"].mean(), spec_of(chart)["layer"][0]["encoding"]["x"]["scale"], domain(chart, "x"))
        )
    (near, one, *_), (far, other, ends) = found
    assert far > 5 * near
    assert one == other == {"domain": [0, 1], "type": "sqrt", "nice": False}
    assert ends == (0, 1)
    for high, end in ((0.04, 0.1), (0.2, 0.25), (0.24, 0.25), (0.4, 0.5), (0.9, 1.0)):
        assert domain(
            charts.marginal(shares(["a", "b"]).assign(real=high, released=0.0, floor_high=0.0), column="x"), "y"
        ) == (0, end)


def test_worst_columns_come_first():
    frame = pd.DataFrame({"attributes": list("abc"), "avd": [0.1, 0.3, 0.2], "floor": 0.05})
    chart = charts.worst_columns(pd.concat([frame] + [frame.head(1)] * 20))
    assert rows_of(chart)["attributes"].tolist()[:3] == ["b", "c", "a"]
    assert "(worst 20 of 23)" in title(chart)
    # The order is stated, because a chart that is drawn already would keep its own.
    assert domain(charts.worst_columns(frame), "y") == ("b", "c", "a")


def test_reported_shares_have_a_bar_a_tick_an_interval_and_a_diamond():
    chart = charts.reported_shares(shares(), column="x")
    assert types_of(chart) == ["bar", "tick", "rule", "point"]
    assert "true" in chart.description
    below = charts.reported_shares(shares(reconstructed=-0.1, low=-0.3), column="x")
    assert types_of(below)[0] == "rule"  # at zero
    assert rows_of(below, "low")["low"].min() == pytest.approx(-0.3)
    # Wide intervals do not flatten everything; reports that are no values have no tick in the key.
    assert rows_of(charts.reported_shares(shares(low=-50.0, high=np.inf), column="x"), "low")["low"].min() > -1
    assert "reported" not in subtitle(charts.reported_shares(shares(reported=np.nan), column="x"))
    assert "25 most frequent of 90" in title(charts.reported_shares(shares(list(range(90))), column="x"))


def test_numbers_with_and_without_reconstruction():
    assert types_of(charts.reported_numbers(intervals(), column="age")) == ["rect", "line", "line"]
    without = charts.reported_numbers(intervals(reconstructed=np.nan), column="age")
    assert types_of(without) == ["rect", "line"]
    assert "reconstructed" not in title(without) + subtitle(without)
    dated = charts.reported_numbers(intervals().assign(x=lambda f: 18_000 + f["x"]), column="visit", days=True)
    assert rows_of(dated)["from day"].str.startswith("2019-0").all()
    assert "utcFormat" in str(dated.to_dict()["layer"][0]["encoding"]["x"]["axis"])


def test_steps_are_a_line_that_says_how_many():
    chart = charts.steps(pd.DataFrame({"step": [0, 1, 2], "gain": [0.0, 0.1, 0.15]}), column="age")
    assert types_of(chart) == ["line"]
    assert subtitle(chart).startswith("2 steps")
