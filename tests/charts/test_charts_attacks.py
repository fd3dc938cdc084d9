"""Charts of attacks: fixed scales, the references beside them, and what is said of the chosen place."""

import math

import pytest
from lessons import attacked, found_out, scored
from specs import domain, rows_of, subtitle

from dpcore import charts


def right(epsilon=1.0, data=None):
    return charts.share_right(attacked() if data is None else data, epsilon=epsilon, noiseless=0.98, title="Right")


def test_two_epsilons_are_on_one_scale_and_told_apart():
    low, high = right(0.01), right(1.0)
    for channel, ends in (("x", (0.01, 10_000.0)), ("y", (0.4, 1.0))):
        assert domain(low, channel) == domain(high, channel) == ends
    halved = right(data=attacked().assign(share=0.5))
    assert domain(halved, "y") == (0.4, 1.0)
    assert [rows_of(chart, "epsilon", "text")["text"].iloc[-1] for chart in (low, high)] == ["39%", "52%"]
    assert rows_of(low, "at", "text")["at"].min() == 0.4  # what is below the scale stands on its edge
    assert "At epsilon 1: 52%" in high.description


def test_the_most_that_epsilon_allows_a_coin_and_noiseless_numbers_stand_beside_an_attack():
    chart = right()
    lines = rows_of(chart, "label", "at")
    assert dict(zip(lines["label"], lines["at"], strict=True)) == {"a coin: 50%": 0.5, "noiseless numbers: 98%": 0.98}
    curve = rows_of(chart, "epsilon", "at")
    at_one = curve.iloc[(curve["epsilon"] - 1).abs().argsort()]
    assert math.e / (1 + math.e) == pytest.approx(at_one["at"].iloc[:3].max(), abs=1e-3)
    assert "the most for any attack on somebody who was 50:50" in subtitle(chart)


def test_what_is_known_has_the_same_axis_whatever_is_chosen():
    look = {"what": "columns", "most": 9, "title": "Alone", "found": "alone"}
    for at in (1, 2):
        chart = charts.share_found(found_out(low=0.0, high=0.9), at=at, **look)
        assert domain(chart, "x") == (1, 9)
        assert domain(chart, "y") == (0, 1)
    assert "At 2: 20%" in chart.description
    assert len(rows_of(chart, "low", "high").drop_duplicates("number")) == 3  # the band goes on where the line ends
    coin = charts.share_found(found_out(), at=1, lowest=0.4, **look)
    assert domain(coin, "y") == (0.4, 1)
    assert rows_of(coin, "label")["label"].tolist() == ["a coin: 50%"]


def test_groups_stand_beside_each_other_and_keep_their_axis():
    look = {"groups": {"outside": "did not", "inside": "took part"}, "what": "score", "title": "Scores"}
    chart = charts.groups_apart(scored(), **look)
    bars = rows_of(chart, "group")
    assert bars.groupby("group")["share"].sum().tolist() == pytest.approx([1.0, 1.0])
    overlap = bars.sort_values("left")
    assert (overlap["right"].to_numpy()[:-1] <= overlap["left"].to_numpy()[1:]).all()
    assert domain(chart, "x") == (-4, 10)
    assert bars["bin"].iloc[0] == "-2 to -1"  # which tooltips tell, unless a bin has a name
    assert set(rows_of(charts.groups_apart(scored().assign(bin="far"), **look), "group")["bin"]) == {"far"}
    assert domain(chart, "y") == (0, 1)
    tall = charts.groups_apart(scored(), highest=0.3, **look)
    assert rows_of(tall, "group")["top"].max() == 0.3
    assert rows_of(tall, "group")["share"].max() > 0.3  # which tooltips tell
