"""What releases are worth: accuracies, other draws of the same release, what noise costs, and what trees ask."""

import math

import numpy as np
import pandas as pd
import pytest
from pictures import accuracies, draws, importances, scores, steps
from scipy.stats import t
from specs import domain, marks_of, rows_of, subtitle, title, types_of

from dpcore import charts
from dpcore.charts.colors import REAL, RELEASED
from dpcore.charts.frames import t_quantile


def test_accuracy_shows_its_references_only_if_there_are_any():
    for majority, named in ((0.752, ["majority class 75.2%"]), (math.nan, [])):
        assert rows_of(charts.accuracy(accuracies(["tree"]), majority=majority), "label")["label"].tolist() == named


def test_the_release_on_the_screen_is_drawn_on_top_of_others_and_beside_references():
    beside = pd.DataFrame({"metric": ["AVD", "AVD", "else"], "label": ["low", "high", "no"], "value": [0.1, 0.5, 0.2]})
    chart = charts.redraws(draws(["AVD", "accuracy"]), references=beside)
    rows = rows_of(chart, "lane")
    assert rows["which"].tolist() == ["another draw"] * 8 + ["this release"] * 2
    assert {*rows.tail(2)["run"]} == {"3"}
    assert "AVD: 0.3, others 0 to 0.4" in rows_of(chart, "text")["text"].tolist()
    assert rows_of(chart, "label")["text"].tolist() == ["low 0.1", "high 0.5"]
    alone = charts.redraws(draws(["AVD"]).query("run == 3"))
    assert "AVD: 0.3, no others" in rows_of(alone, "text")["text"].tolist()
    shares = charts.redraws(draws(["accuracy"]), references=beside.assign(metric="accuracy"), small=False)
    assert "accuracy: 30%, others 0% to 40%" in rows_of(shares, "text")["text"].tolist()  # as its axis has it
    assert rows_of(shares, "label")["text"].tolist() == ["low 10%", "high 50%", "no 20%"]


def test_axes_of_accuracies_and_of_redraws_are_the_same_for_every_release():
    for worse in (1.0, 0.01):
        found = accuracies(["tree"]).assign(accuracy=0.9 * worse)
        low = scores().assign(accuracy=0.8 * worse)
        again = draws(["AVD"]).assign(value=0.3 * worse)
        drawn = [charts.accuracy(found, majority=0.7), charts.classifier_scores(low), charts.redraws(again)]
        drawn += [charts.costs(steps(accuracy=[0.5 * worse] * 3)), charts.redraws(again, small=False)]
        assert [domain(chart, "x") for chart in drawn] == [(0, 1)] * 5


def test_the_release_is_blue_and_references_grey():
    chart = charts.classifier_scores(scores())
    assert types_of(chart) == ["point", "text"]
    colors = marks_of(chart)[0]["encoding"]["color"]["scale"]
    assert colors == {"domain": ["released", "reference"], "range": [RELEASED, REAL]}
    who = {"DiffPRFs": "released", "majority class": "reference"}
    wanted = [[*one, *value] for value in (("accuracy", 0.8), ("balanced accuracy", 0.6)) for one in who.items()]
    assert rows_of(chart, "score")[["model", "who", "measure", "score"]].to_numpy().tolist() == wanted
    assert "interval" not in subtitle(chart)


def test_repeats_have_an_interval():
    frame = pd.concat([scores(("a", "b")).assign(accuracy=[value, 0.5]) for value in (0.7, 0.8, 0.9)])
    chart = charts.classifier_scores(frame[(frame["model"] == "a") | ~frame.duplicated("model")])
    rows = rows_of(chart, "score", "low").query("measure == 'accuracy'").set_index("model")
    half = t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    ends = rows.loc[["a"], ["low", "high"]].to_numpy()
    assert ends == pytest.approx(np.tile([0.8 - half, 0.8 + half], (len(ends), 1)), abs=1e-4)
    assert math.isnan(rows.loc["b", "low"])
    assert "95% t-interval" in subtitle(chart)
    assert math.isnan(t_quantile(0))
    exact = t.ppf(0.975, np.arange(1, 200))
    assert [t_quantile(freedom) for freedom in range(1, 200)] == pytest.approx(exact, rel=1e-4)


def test_costs_are_told_in_points():
    chart = charts.costs(steps())
    moves = rows_of(chart, "start").set_index("row")
    assert moves["text"].to_dict() == {"cost of choices": "−2.0 points", "cost of noisy counts": "−3.0 points"}
    assert moves.loc["cost of choices", ["start", "stop"]].tolist() == [0.85, 0.83]
    assert moves["end"].tolist() == [0.85, 0.83]  # texts stand right of the bars
    order = ("noiseless trees", "cost of choices", "same trees, noiseless counts", "cost of noisy counts", "released")
    assert domain(chart, "y") == order
    twice = pd.concat([steps(), steps(accuracy=[0.78, 0.83, 0.85])])
    for frame, text in ((steps(accuracy=[0.84, 0.83, 0.85]), "+1.0 points"), (twice, "−4.0 points")):
        assert rows_of(charts.costs(frame), "start").set_index("row").loc["cost of noisy counts", "text"] == text
    assert "75.0%" in " ".join(rows_of(charts.costs(steps(), majority=0.75), "label")["label"])


def test_importance_has_the_largest_first():
    chart = charts.importance(importances([f"c{i:02}" for i in range(20)]))
    assert rows_of(chart, "share")["column"].tolist() == [f"c{i:02}" for i in range(19, 4, -1)]
    assert title(chart) == "What the trees ask about (top 15 of 20)"
    assert rows_of(charts.importance(importances(["a", "a"])), "share")["column"].tolist() == ["a", "a (2)"]
