"""Columns: their values' shares, real, released, reported and reconstructed, and the columns that are furthest off."""

import numpy as np
import pandas as pd
import pytest
from pictures import intervals, shares
from specs import domain, rows_of, subtitle, title, types_of

from dpcore import charts


def test_marginal_keeps_order_values_and_labels():
    chart = charts.marginal(shares(["b", "", None, "b"]), column="age")
    rows = rows_of(chart)
    assert rows["value"].tolist() == ["b", "(empty)", "(missing)", "b (2)"]
    assert rows["real"][0] == pytest.approx(1 / 6)
    assert types_of(chart) == ["bar", "rule", "point"]
    assert title(chart) == "age: real and released shares"


def test_a_long_marginal_keeps_the_largest_and_tells_the_rest():
    frame = shares([f"v{i}" for i in range(1000)])
    frame["released"] = frame["real"]
    chart = charts.marginal(frame, column="age")
    assert rows_of(chart)["value"].tolist() == [f"v{i}" for i in range(960, 1000)]
    assert title(chart) == "age: real and released shares (top 40 of 1,000 values)"
    assert f"{frame['real'][:960].sum():.1%} real" in subtitle(chart)


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
    assert "top 40 of 90" in title(charts.reported_shares(shares(list(range(90))), column="x"))


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
