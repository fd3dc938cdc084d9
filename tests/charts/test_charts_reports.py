"""Charts of reports: what is drawn, what is named, and that nothing else is in the specification."""

import json

import numpy as np
import pandas as pd
import pytest

from dpcore import charts


def shares(n=3, **more):
    frame = pd.DataFrame(
        {
            "value": [f"v{i}" for i in range(n)],
            "real": np.full(n, 1 / n),
            "reported": np.full(n, 1 / n),
            "reconstructed": np.full(n, 1 / n),
            "low": np.full(n, 0.1),
            "high": np.full(n, 0.6),
        }
    )
    return frame.assign(**more)


def layers(chart):
    return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]


def test_shares_have_a_bar_a_tick_an_interval_and_a_diamond():
    chart = charts.reported_shares(shares(), column="a.b[0]:Q")
    assert layers(chart) == ["bar", "tick", "rule", "point"]
    assert "a.b[0]:Q" in " ".join(chart.title.text)
    assert "a.b[0]" not in json.dumps([layer["encoding"] for layer in chart.to_dict()["layer"]])
    assert "true" in chart.description


def test_estimates_below_zero_have_a_zero_line():
    chart = charts.reported_shares(shares(reconstructed=[-0.1, 0.5, 0.6], low=[-0.3, 0.2, 0.4]), column="x")
    assert layers(chart)[0] == "rule"
    drawn = next(iter(d for d in chart.to_dict()["datasets"].values() if "low" in d[0]))
    assert min(row["low"] for row in drawn) == pytest.approx(-0.3)


def test_wide_intervals_do_not_flatten_everything():
    chart = charts.reported_shares(shares(low=-50.0, high=np.inf), column="x")
    drawn = next(iter(d for d in chart.to_dict()["datasets"].values() if "low" in d[0]))
    assert min(row["low"] for row in drawn) > -1


def test_reports_that_are_no_values_have_no_tick_in_the_key():
    assert "reported" not in charts.reported_shares(shares(reported=np.nan), column="x").title.subtitle[0]


def test_many_values_are_capped_and_told():
    chart = charts.reported_shares(shares(90), column="x")
    assert "top 40 of 90" in " ".join(chart.title.text)


def test_numbers_with_and_without_reconstruction():
    frame = pd.DataFrame({"x": [1.0, 3.0], "width": 2.0, "real": 0.5, "reported": [0.4, 0.6], "reconstructed": 0.5})
    assert layers(charts.reported_numbers(frame, column="age")) == ["rect", "line", "line"]
    without = charts.reported_numbers(frame.assign(reconstructed=np.nan), column="age")
    assert layers(without) == ["rect", "line"]
    assert "reconstructed" not in without.description.partition(",")[2].replace("reconstructed from", "")


def test_steps_are_a_line_that_says_how_many():
    chart = charts.steps(pd.DataFrame({"step": [0, 1, 2], "gain": [0.0, 0.1, 0.15]}), column="age")
    assert chart.to_dict()["mark"]["type"] == "line"
    assert chart.title.subtitle[0].startswith("2 steps")
