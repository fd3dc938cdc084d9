"""What is said of a paper's claims follows from the points: curves by which each holds, in part, or not."""

import pandas as pd
import pytest

from dpcore.experiment.figures import named
from dpcore.experiment.figures.claims import PRINTED, Claim, by_curve, rising, verdict
from dpcore.experiment.figures.figure import with_failures
from dpcore.experiment.study import failed_runs


def runs(x, curves, **same):
    """Two runs for each point of some curves, one above and one below it."""
    return pd.DataFrame(
        [
            {x: place, "series": series, "mode": PRINTED, "repeat": repeat, "error": "", "value": value + off} | same
            for series, values in curves.items()
            for place, value in values.items()
            for repeat, off in enumerate((-0.005, 0.005))
        ]
    )


def test_a_verdict_names_what_holds():
    for found, told in (
        ({("a", "1"): True, ("b", ""): True}, "holds"),
        ({("a", "1"): False, ("b", ""): False}, "does not hold"),
        ({("a", "1"): True, ("a", "2"): False, ("b", ""): True}, "holds only for a at 1; for b"),
        ({("", "1"): True, ("", "2"): False, ("", "3"): True}, "holds only at 1, 3"),
    ):
        assert verdict(found) == told
    assert Claim("", "best", {"x": "x", "own": "b"}, columns=()).line(runs("x", {"a": LOW})) == ""


def test_a_curve_may_fluctuate_and_rise():
    assert rising(pd.Series([0.1, 0.3, 0.2, 0.4, 0.5], [1, 2, 3, 4, 5]))
    assert rising(pd.Series([0.5, 0.4, 0.1], [1, 10, 100]), -1)
    for flat in ([0.1, 0.5, 0.1, 0.5], [0.2, 0.2, 0.2, 0.2], [0.5, 0.4, 0.3, 0.2]):
        assert not rising(pd.Series(flat, [1, 2, 3, 4]))
    assert by_curve("", pd.DataFrame({"a": [0.1]}, [1]), rising) == {("a", ""): None}


LOW, HIGH = {0.2: 0.15, 1.0: 0.12}, {0.2: 0.28, 1.0: 0.2}
MIXED = {0.2: 0.1, 1.0: 0.2}
FALLING = {0.1: 0.66, 0.2: 0.65, 0.35: 0.6, 0.49: 0.5}
LEVEL = dict.fromkeys(FALLING, 0.62)
FIRST = {"x": "epsilon", "model": "logistic regression"}
FIFTH = {"x": "epsilon", "metric": "2-way AVD"}
THIRD = {"x": "x", "metric": "accuracy"}
FORESTS = {"DiffPRFs": {1: 0.75, 2: 0.75}, "DiffPRF": {1: 0.755, 2: 0.8}}
DEPTHS = {"Max: depth 3": {1: 0.7, 2: 0.8}, "Max: depth 4": {1: 0.75, 2: 0.7}}
GAINS = {"information gain: depth 3": {1: 0.705, 2: 0.8}, "information gain: depth 4": {1: 0.7, 2: 0.6}}
SMALL, LARGE = "PPNB, a from N(1, 1), b from N(0, 1)", "PPNB, a from N(2, 10), b from N(0, 5)"
PATENT = {"the patent's own form": MIXED, "DiffGen": {0.2: 0.15, 1.0: 0.1}, "TaxonomyRelease": {0.2: 0.9, 1.0: 0.9}}
CASES = [  # the figure, which of its claims, curves, what is the same for all, data, and the verdict
    ("000 Fig. 1 to 4", 1, {"Alg": {1.5: 0.83}}, FIRST, "adult", "holds"),
    ("001 Fig. 5", 0, {"HMPrivBayes": HIGH, "NoPrivacy": {1.0: 0.05}}, FIFTH, "adult", "holds"),
    ("001 Fig. 5", 1, {"HMPrivBayes": LOW, "JTree": HIGH}, FIFTH, "adult", "holds"),
    ("001 Fig. 5", 1, {"HMPrivBayes": LOW, "JTree": MIXED}, FIFTH, "adult", "does not hold"),
    ("000 Fig. 1 to 4", 2, {"Algorithm 2": FALLING}, FIRST, "mine", "does not hold"),
    ("000 Fig. 1 to 4", 3, {"Algorithm 2": FALLING}, FIRST, "mine", "does not hold"),  # it is the same for all
    ("001 Fig. 4", 0, {"HMPrivBayes": {1: 0.3, 2: 0.2, 3: 0.1}}, {"x": "rows"}, "adult", "holds"),
    ("001 Fig. 4", 1, {"HMPrivBayes": LOW, "PrivBayes": MIXED}, {"x": "rows"}, "adult", "only at 1 "),
    ("002 Depth and splits", 0, {"a": MIXED, "b": LOW}, {"x": "divisions"}, "adult", "only for b "),
    ("002 Classification", 0, PATENT, FIRST, "adult", "only at 1 "),
    ("003 Fig. 1", 0, DEPTHS, THIRD | {"x": "epsilon"}, "adult", "only for Max: depth 3 "),
    ("003 Fig. 1", 1, DEPTHS, THIRD | {"x": "epsilon"}, "adult", "only for Max at 1 "),
    ("003 Fig. 1", 2, DEPTHS | GAINS, THIRD | {"x": "epsilon"}, "adult", "only at depth 3 "),
    ("004 Fig. 2", 1, {SMALL: LEVEL, LARGE: FALLING}, THIRD, "adult", "only at 0.35, 0.49 "),
    ("004 Fig. 2", 2, {SMALL: LEVEL}, THIRD, "adult", "Here it holds"),
    ("003 Fig. 2", 0, FORESTS, {"x": "epsilon", "metric": "accuracy"}, "adult", "only at 1 "),
    ("004 Fig. 3", 0, {"DTPD": FALLING, "PPNB": LEVEL}, THIRD, "bank cards, dependent", "dependent at 0.1, 0.2, 0.49 "),
]


def test_the_papers_method_is_judged_and_no_other():
    wrong = runs("epsilon", {"C1-gen": {1.5: 0.7}}, data="adult", model="logistic regression").assign(mode="corrected")
    right = runs("epsilon", {"Alg": {1.5: 0.83}}, data="adult", model="logistic regression")
    line = Claim(**named("000 Fig. 1 to 4").claims[1]).line(pd.concat([wrong, right], ignore_index=True))
    assert "Here it holds" in line


@pytest.mark.parametrize(("name", "place", "curves", "same", "data", "told"), CASES)
def test_claims_are_judged_by_the_points(name, place, curves, same, data, told):
    frame = runs(curves=curves, data=data, **same)
    line = Claim(**named(name).claims[place]).line(frame.assign(seconds=frame["value"]))
    assert told in line
    assert f" ({len(frame):,} runs in the figure)." in line


def test_series_say_how_many_of_their_runs_failed():
    frame = runs("epsilon", {"JTree": LOW, "PrivBayes": LOW}, data="big5")
    frame.loc[[0, 1, 2], "error"] = "too large"
    names = set(with_failures(frame)["series"])
    assert names == {"JTree (as published: 3 of 4 runs failed)", "PrivBayes"}
    two_metrics = pd.DataFrame({"metric": ["accuracy", "balanced accuracy"], "error": "too large"})
    assert len(failed_runs([two_metrics, two_metrics.assign(error="")])) == 1
