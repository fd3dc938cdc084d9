"""What charts say with numbers is true: axes that stay, edges that are told, intervals, sums, and the order of bars."""

import math

import numpy as np
import pandas as pd
import pictures as frames
import pytest
from scipy.stats import t
from specs import domain, rows_of, texts

from dpcore import charts
from dpcore.charts.frames import t_quantile
from dpcore.dashboard.pages.mechanisms import composition_numbers

ALONE = {"what": "columns", "most": 9, "title": "Alone", "found": "alone"}


def right(data, epsilon=1.0):
    return charts.share_right(data, epsilon=epsilon, noiseless=0.98, title="Right")


def columns(worse):
    return frames.pairs().rename(columns={"a": "attributes"}).assign(avd=0.9 * worse)


# Axes


@pytest.mark.parametrize(
    ("channel", "ends", "draw"),
    [
        (
            "x",
            (0.6, 1),
            lambda worse: charts.accuracy(frames.accuracies(["tree"]).assign(accuracy=worse), majority=0.7),
        ),
        ("x", (0, 1), lambda worse: charts.redraws(frames.draws(["AVD"]).assign(value=worse))),
        ("x", (0, 1), lambda worse: charts.worst_columns(columns(worse))),
        ("x", (0, 1), lambda worse: charts.worst_pairs(frames.pairs().assign(avd=worse))),
        ("color", (0, 1), lambda worse: charts.pair_heatmap(frames.pairs().assign(avd=worse))),
        ("x", (0.01, 10_000.0), lambda worse: right(frames.attacked(), epsilon=worse)),
        ("y", (0, 1), lambda worse: right(frames.attacked().assign(share=worse))),
        ("x", (1, 9), lambda worse: charts.share_found(frames.found_out(), at=1 + (worse < 1), **ALONE)),
    ],
)
def test_releases_at_two_epsilons_stand_on_the_same_axes(channel, ends, draw):
    """What is far from the real rows looks far, and two screens can be compared at a glance."""
    assert [domain(draw(worse), channel) for worse in (1.0, 0.01)] == [ends] * 2


def test_shares_of_a_column_begin_at_zero_and_end_above_the_largest():
    for high, end in ((0.04, 0.1), (0.2, 0.25), (0.24, 0.25), (0.4, 0.5), (0.9, 1.0)):
        found = frames.shares(["a", "b"]).assign(real=high, released=0.0, floor_high=0.0)
        assert domain(charts.marginal(found, column="x"), "y") == (0, end)


def test_what_lies_beyond_an_axis_is_drawn_at_its_edge_and_counted():
    frame = pd.DataFrame({"world": ["with", "without", "with"], "answer": [50.0, 100.0, 400.0]})
    strip = charts.answer_strip(frame, low=90, high=110)
    assert rows_of(strip, "shown")[["answer", "shown"]].to_numpy().tolist() == [[50, 90], [100, 100], [400, 110]]
    assert "2 of 3" in texts(strip)
    answers = composition_numbers.repeated_answers(100, 0.1, 30, 0)
    chart = charts.running_average(answers, truth=100, window=5)
    assert rows_of(chart, "shown")["shown"].between(95, 105).all()
    assert "beyond the edges" in texts(chart)
    chart = charts.accuracy(frames.accuracies(["tree"]).assign(accuracy=0.12), majority=0.7)
    assert {*rows_of(chart, "shown")["shown"]} == {0.6}
    assert {*rows_of(chart, "end")["text"]} == {"12.0%"}
    assert "beyond it" in texts(chart)


@pytest.mark.parametrize(("values", "half"), [((-0.4, 1.3), 0.5), ((0.5,), math.inf)])
def test_estimates_that_are_impossible_are_shown_as_they_are(values, half):
    chart = charts.coin_estimates(frames.estimates(*values, half=half), truth=0.3)
    (low, zero), (one, high) = rows_of(chart, "from", "to")[["from", "to"]].to_numpy()
    assert low < min(-0.2, *values) < zero == 0 < one == 1 < max(1.2, *values) < high
    rows = rows_of(chart, "estimate")
    assert rows["shown"].between(low, high).all()
    assert rows["kept"].tolist() == pytest.approx(np.clip(values, 0, 1).tolist())
    ends = rows["low"].iloc[0], rows["high"].iloc[0]
    assert ends == (low, high) if half == math.inf else low <= ends[0] < ends[1] <= high


def test_what_a_log_axis_cannot_show_is_left_out():
    frame = frames.runs(["a"], modes=["corrected"], repeats=3)
    frame.loc[0, "epsilon"], frame.loc[1, "value"] = 0, -1
    assert [len(frames.curved(frame, log_x=log).data) for log in (False, True)] == [len(frame), len(frame) - 1]
    shown = frames.curved(frame, log_x=True, log_y=True, interval="t").data
    assert (shown[["x", "value", "low"]] > 0).all(axis=None)
    errors_ = frames.errors()
    errors_.loc[0, "absolute"] = 0.0
    rows = rows_of(charts.error_by_range(errors_), "value")
    assert (len(rows), rows["low"].min() > 0) == (3, True)


# Intervals


def test_intervals_are_of_the_runs_or_of_their_mean():
    frame = frames.runs(["a"], modes=["corrected"], repeats=3)
    half = t.ppf(0.975, 5) * np.std([0, 0, 0.1, 0.1, 0.2, 0.2], ddof=1) / math.sqrt(6)  # two panels, one chart
    for interval, ends in (("range", (0, 0.2)), ("t", (0.1 - half, 0.1 + half))):
        found = frames.curved(frame, interval=interval).data.loc[0, ["low", "high"]]
        assert tuple(found) == pytest.approx(ends, abs=1e-4)
    assert frames.curved(frame.head(1), interval="t").data["low"].isna().all()
    two = frames.methods().groupby(["series", "mode", "epsilon_claimed"]).head(2)
    assert rows_of(frames.compared(two))["low"].isna().all()
    frame = pd.concat([frames.scores(("a", "b")).assign(accuracy=[value, 0.5]) for value in (0.7, 0.8, 0.9)])
    once = frame[(frame["model"] == "a") | ~frame.duplicated("model")]
    rows = rows_of(charts.classifier_scores(once), "score", "low").query("kind == 'accuracy'").set_index("model")
    half = t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    assert rows.loc[["a"], ["low", "high"]].to_numpy()[0] == pytest.approx([0.8 - half, 1.0], abs=1e-4)
    assert math.isnan(rows.loc["b", "low"])
    exact = t.ppf(0.975, np.arange(1, 200))
    assert [t_quantile(freedom) for freedom in range(1, 200)] == pytest.approx(exact, rel=1e-4)
    assert math.isnan(t_quantile(0))


def test_variance_is_across_runs_and_references_stay_with_their_models():
    frame = pd.DataFrame({"epsilon": 1.0, "series": "paper", "model": "tree", "value": [0.1, 0.3]})
    assert rows_of(charts.sweep_variance(frame))["value"].tolist() == pytest.approx([0.02])
    assert rows_of(charts.sweep_variance(frame.head(1))).empty
    frame = frames.sweep(["paper", "corrected"])
    frame.loc[len(frame)] = [math.inf, "paper", "paper", 0.9]
    rows = rows_of(charts.sweep(frame, y="value", y_title="accuracy", references=frames.lines(["paper"])))
    assert len(rows[rows["rule"] == 0]) == len(frame) - 1
    assert rows.loc[rows["rule"] > 0, "label"].tolist() == ["<i>top</i>", "majority"]


# Many values, and cells


def test_what_is_too_much_to_draw_is_one_more_bar_and_nothing_is_lost():
    rare = [0.9, *[0.1 / 40] * 40]
    for real, released, kept in ((rare, rare, 12), ([0.02] * 41, rare, 25), (rare, [0.02] * 41, 25)):
        found = frames.shares([f"v{i}" for i in range(41)]).assign(real=real, released=released)
        rows = rows_of(charts.marginal(found, column="age"), "value")
        assert len(rows) == kept + 1
        assert rows[["real", "released"]].sum().tolist() == pytest.approx([sum(real), sum(released)])
        assert rows[["floor_low", "floor_high"]].iloc[-1].isna().all()
    rows = rows_of(charts.epsilon_split(frames.entries([f"step {i}" for i in range(25)])))
    assert (len(rows), rows["epsilon_nominal"].sum()) == (21, pytest.approx(25))
    many = pd.DataFrame({"run": range(50), "when": "now", "epsilon_bound": 0.1})
    assert rows_of(charts.staircase(many), "step")["after"].iloc[-1] == pytest.approx(5)
    chart = charts.pair_tables(frames.tables([f"v{i}" for i in range(50)]), x="age", y="income")
    rows, names = rows_of(chart, "shade"), domain(chart, "x")
    assert rows.groupby("source")["shade"].sum().tolist() == pytest.approx([1, 1])
    assert {*rows[rows["source"] == "real"]["x"]} == {*names[:41]}  # real ones first
    assert names[40] == "(10 others)"


def test_the_largest_stand_first_and_names_that_are_there_twice_are_two():
    rows = rows_of(charts.importance(frames.importances([f"c{i:02}" for i in range(20)])), "share")
    assert rows["column"].tolist() == [f"c{i:02}" for i in range(19, 4, -1)]
    assert rows_of(charts.importance(frames.importances(["a", "a"])), "share")["column"].tolist() == ["a", "a (2)"]
    worst = pd.DataFrame({"attributes": list("abc"), "avd": [0.1, 0.3, 0.2], "floor": 0.05})
    assert domain(charts.worst_columns(worst), "y") == ("b", "c", "a")
    rows = rows_of(charts.marginal(frames.shares(["b", "", None, "b"]), column="age"), "value")
    assert rows["value"].tolist() == ["b", "(empty)", "(missing)", "b (2)"]
    assert rows["real"][0] == pytest.approx(1 / 6)


# Curves


def test_what_has_no_epsilon_is_not_on_that_axis_and_two_relations_are_on_none():
    proved = rows_of(frames.compared(frames.methods(), x="proved"))
    assert (len(proved), {*proved["mode"]}) == (12, {"corrected"})
    assert len(rows_of(frames.compared(pd.concat([frames.methods(), frames.methods(epsilon_claimed=0.0)])))) == 24
    assert "Two guarantees" in texts(frames.compared(frames.methods(), local=("PPNB", "DTPD")))
    assert "change one row" in texts(frames.compared(frames.methods()))
    with pytest.raises(ValueError, match="two relations"):
        frames.compared(pd.concat([frames.methods(), frames.methods(relation="add or remove one row")]))
