"""What is said of a paper's claims follows from the points: curves by which each holds, in part, or not."""

import numpy as np
import pandas as pd
import pytest

from dpcore.experiment.figures import claims, find_figure
from dpcore.experiment.figures.claims import PUBLISHED, REPEATS, RULES, Claim, Finding, finding, in_words, judge
from dpcore.experiment.figures.figure import with_failures
from dpcore.experiment.study import TIMES, failed_runs
from dpcore.language import use_language
from dpcore.text import Verdict

HOLDS, FAILS, OPEN = Verdict
TRIES = 100


def runs(x, curves, **same):
    """Five runs for each point of some curves, about it."""
    rows = [
        {x: index, "series": series, "mode": PUBLISHED, "repeat": repeat, "error": "", "value": value + off} | same
        for series, values in curves.items()
        for index, value in values.items()
        for repeat, off in enumerate((-0.002, -0.001, 0, 0.001, 0.002))
    ]
    return pd.DataFrame(rows)


def drawn(rng, means, deviations, repeats=REPEATS, series="a"):
    """Normal runs of a curve, whose places are 0, 1, 2, ..."""
    values = np.asarray(means) + np.asarray(deviations) * rng.normal(size=(repeats, len(means)))
    indices, order = np.meshgrid(np.arange(len(means)), np.arange(repeats))
    same = {"series": series, "mode": PUBLISHED, "data": ""}
    return pd.DataFrame({"x": indices.ravel(), "repeat": order.ravel(), "value": values.ravel()} | same)


def share(answer, rule, draw, **arguments):
    """Of how many tries, a share, a rule says nothing else."""
    rng, found = np.random.default_rng(0), 0
    for _ in range(TRIES):
        found += {*judge(RULES[rule]("", draw(rng), x="x", **arguments)).values()} == {answer}
    return found / TRIES


def test_a_verdict_names_what_holds():
    for found, text in (
        ({("a", "1"): HOLDS, ("b", ""): HOLDS}, "holds"),
        ({("a", "1"): OPEN, ("b", ""): OPEN}, "is not decided"),
        (
            {("a", "1"): HOLDS, ("a", "2"): FAILS, ("b", ""): HOLDS, ("c", ""): OPEN},
            "holds for a at 1, for b; does not hold for a at 2; is not decided for c",
        ),
        ({("", "1"): HOLDS, ("", "2"): FAILS, ("", "3"): HOLDS}, "holds at 1, 3; does not hold at 2"),
        (
            {("", str(index)): HOLDS if index % 2 else FAILS for index in range(100)},
            "holds in 50 of 100 settings; does not hold in 50 of 100 settings",
        ),
    ):
        assert in_words(found) == text
    with use_language("zh"):
        assert "专利原本的形式" in in_words({("the patent's own form", ""): HOLDS, ("b", ""): FAILS})
    assert Claim("", "lies_below", {"x": "x", "own": "b"}, columns=()).line(runs("x", {"a": LOW}, data="")) == ""


def test_answers_are_sure_of_all_places_together():
    found = [Finding("", "1", True, 0.04), Finding("", "2", False, 0.03), Finding("", "3", False, 0.001)]
    assert judge(found[:1]) == {("", "1"): HOLDS}
    assert [*judge(found).values()] == [OPEN, OPEN, FAILS]
    several = [
        Finding("", "", True, 0.0),
        Finding("", "", False, 0.02),
    ]  # all have to hold: one that does not is enough
    assert judge(several) == {("", ""): FAILS}
    assert judge([*several, Finding("", "", False, 0.9)]) == {("", ""): OPEN}


def test_a_sum_of_means_has_the_error_of_welch_and_single_runs_none():
    first = pd.DataFrame({"mean": [1.0], "var": [4.0], "count": [4]})
    second = pd.DataFrame({"mean": [3.0], "var": [9.0], "count": [3]})
    value, error, freedom = claims.weighted_sum((-1, first), (1, second))
    assert (value, error, freedom) == pytest.approx((2.0, 2.0, 16 / (1 / 3 + 9 / 2)))
    single = claims.weighted_sum((1, pd.DataFrame({"mean": [5.0], "var": [np.nan], "count": [1]})))
    assert judge([finding("", "", *single)]) == {("", ""): OPEN}
    assert judge([finding("", "", 0.0, 0.0, 4.0)]) == {("", ""): FAILS}  # all runs are the same
    for repeats, answer in ((REPEATS, HOLDS), (2, OPEN)):  # which a few are by chance
        same = pd.DataFrame({"mean": [5.0], "var": [0.0], "count": [repeats]})
        assert judge([finding("", "", *claims.weighted_sum((1, same)))]) == {("", ""): answer}


def test_what_is_so_is_told_from_as_many_repeats_as_are_usual():
    spread = np.sqrt([0.0202] * 8 + [0.0027] * 8)  # a variance that falls to a seventh, as on Adult
    assert share(HOLDS, "steadies", lambda rng: drawn(rng, [0.7] * 16, spread), own="a") >= 0.95
    assert share(HOLDS, "rises", lambda rng: drawn(rng, np.linspace(0, 2.2, 6), [1.0] * 6)) >= 0.95

    for rise, answer in ((1.4, HOLDS), (2.7, FAILS)):
        two = np.array([1.0, rise])
        assert share(answer, "hardly_rises", lambda rng, two=two: drawn(rng, two, two / 10), factor=2) >= 0.95

    def both(distance):
        return lambda rng: pd.concat([drawn(rng, [x] * 6, [1.0] * 6, series=s) for x, s in ((0, "a"), (distance, "b"))])

    two = {"own": "a", "other": "b", "each": "", "within": 1.0}
    assert share(HOLDS, "alike", both(0.0), **two) >= 0.9
    assert share(FAILS, "alike", both(2.0), **two) >= 0.9
    assert share(HOLDS, "lies_below", both(1.2), own="a") >= 0.95

    def nearing(rng):  # to 1 from 3.8 deviations away from another
        return pd.concat([drawn(rng, [3.8, 1.0], [1.0] * 2), drawn(rng, [0.0] * 2, [1.0] * 2, series="b")])

    assert share(HOLDS, "nears", nearing, own=["a"], level="b") >= 0.95
    steps = {"own": "a", "span": (3, 10), "within": 1.0, "below": True}
    for loss, answer in ((3.8, HOLDS), (-1.8, FAILS)):
        assert (
            share(answer, "nearly_best", lambda rng, n=loss: drawn(rng, [-n] * 3 + [0] * 11, [1] * 14), **steps) >= 0.95
        )

    def times(rng):  # 2.26 times as long at each place, 1.13 times another's growth
        curves = [
            drawn(rng, np.arange(4) * np.log(step), [0.1] * 4, series=one) for one, step in (("a", 2.26), ("b", 2))
        ]
        return pd.concat(curves).assign(value=lambda found: np.exp(found["value"]))

    for other, end, answer in (("", {"low": 2}, HOLDS), ("b", {"low": 1}, HOLDS), ("b", {"high": 1}, FAILS)):
        assert share(answer, "grows_by", times, own="a", other=other, **end) >= 0.95


def test_what_is_not_so_is_seldom_told():
    def both(rng):
        return pd.concat([drawn(rng, [0] * 6, [1.0] * 6), drawn(rng, [0] * 6, [1.0] * 6, series="b")])

    def cut_short(rng):  # as if somebody had stopped it
        found = drawn(rng, [0] * 16, [1.0] * 16)
        return found[(found["x"] < 8) | (found["repeat"] < 2)]

    for rule in ("rises", "steadies", "lies_below"):
        assert share(OPEN, rule, both, own="a") >= 0.9
    assert share(OPEN, "steadies", cut_short, own="a") >= 0.9
    flat = {"own": "a", "span": (0, 3), "within": 0.1}
    assert share(FAILS, "nearly_best", lambda rng: drawn(rng, [0] * 16, [1.0] * 16), **flat) <= 0.05


def test_curves_that_share_no_point_tell_nothing_of_each_other():
    distance = runs("epsilon", {"Max: depth 3": {0.1: 0.7}, "information gain: depth 3": {1.0: 0.7}}, data="adult")
    distance = distance.assign(metric="accuracy")
    assert [Claim(**claim).line(distance) for claim in find_figure("003 Fig. 1").claims[2:]] == [""]
    distance = runs("parents", {"HMPrivBayes": {1: 1.0}, "PrivBayes": {2: 2.0, 3: 3.0}}, data="adult")
    assert Claim(**find_figure("001 Fig. 6").claims[1]).line(distance.assign(cpu_seconds=distance["value"])) == ""


LOW, HIGH = {0.2: 0.15, 1.0: 0.12}, {0.2: 0.28, 1.0: 0.2}
MIXED = {0.2: 0.1, 1.0: 0.2}
BINS = {"DiffPRFs": HIGH, "DiffPRFs in bins": LOW}
CLOCKED = {"HMPrivBayes": {1: 1, 2: 2}, "PrivBayes": {1: 2, 2: 6}}
DOUBLE = {1: 1, 2: 2, 4: 4}
ADVISED = {0.1: 0.6, 0.3: 0.654, 0.35: 0.66, 0.6: 0.66, 0.9: 0.664}
FALLING = {0.1: 0.66, 0.2: 0.65, 0.35: 0.6, 0.49: 0.5}
LEVEL = dict.fromkeys(FALLING, 0.62)
VALLEY = {0.1: 0.66, 0.49: 0.5, 0.51: 0.5, 0.9: 0.66}
FIRST = {"x": "epsilon", "model": "logistic regression"}
FIFTH = {"x": "epsilon", "metric": "2-way AVD"}
THIRD = {"x": "x", "metric": "accuracy"}
REAL = {"trained on real rows": 0.63}
FIELD = {"x": "epsilon", "metric": "accuracy", "ID3 without noise": 0.16}
FORESTS = {"DiffPRFs": {1: 0.75, 2: 0.75}, "DiffPRF": {1: 0.755, 2: 0.8}}
DEPTHS = {"Max: depth 3": {1: 0.7, 2: 0.8}, "Max: depth 4": {1: 0.75, 2: 0.7}}
GAINS = {"information gain: depth 3": {1: 0.705, 2: 0.8}, "information gain: depth 4": {1: 0.7, 2: 0.6}}
SMALL, LARGE = "PPNB, a from N(1, 1), b from N(0, 1)", "PPNB, a from N(2, 10), b from N(0, 5)"
PATENT = {"the patent's own form": MIXED, "DiffGen": {0.2: 0.15, 1.0: 0.1}, "TaxonomyRelease": {0.2: 0.9, 1.0: 0.9}}
STEEP, STEADY = {0.001: 1.0, 0.3: 7.0}, {0.001: 1.0, 0.3: 1.5}
RANGES = {"the patent's own form": STEEP, "leaves only": STEEP, "equal shares, consistent": STEADY}
CASES = [  # the figure, which of its claims, curves, what is the same for all, data, and the verdict
    ("000 Fig. 1 to 4", 1, {"Alg": {1.5: 0.83}}, FIRST, "adult", "holds"),
    ("001 Fig. 5", 0, {"HMPrivBayes": HIGH, "NoPrivacy": {1.0: 0.05}}, FIFTH, "adult", "holds"),
    ("001 Fig. 5", 1, {"JTree": {0.2: 0.1, 1.0: 0.28}, "NoPrivacy": {1.0: 0.2}}, FIFTH, "adult", "Here it holds"),
    ("001 Fig. 5", 1, {"JTree": MIXED, "NoPrivacy": {1.0: 0.1}}, FIFTH, "adult", "does not hold"),
    ("001 Fig. 5", 2, {"HMPrivBayes": LOW, "JTree": HIGH}, FIFTH, "adult", "holds"),
    ("001 Fig. 5", 2, {"HMPrivBayes": LOW, "JTree": LOW}, FIFTH, "adult", "is not decided"),
    ("001 Fig. 5", 3, {"HMPrivBayes": LOW, "PrivSCBN": {0.2: 0.3, 1.0: 0.122}}, FIFTH, "adult", "Here it holds"),
    ("001 Fig. 5", 4, {"HMPrivBayes": HIGH, "HMPrivBayes, equal weights": LOW}, FIFTH, "adult", "does not hold"),
    ("001 Fig. 5", 5, {"HMPrivBayes": LOW, "HMPrivBayes, random first bit": HIGH}, FIFTH, "adult", "Here it holds"),
    ("001 Fig. 6", 0, CLOCKED, {"x": "parents"}, "adult", "Here it holds"),
    ("001 Fig. 6", 1, CLOCKED, {"x": "parents"}, "adult", "Here it holds"),
    ("001 Fig. 6 by columns", 1, CLOCKED, {"x": "share"}, "adult", "Here it holds"),
    ("001 Fig. 6 by columns", 1, CLOCKED | {"PrivBayes": {1: 2, 2: 3}}, {"x": "share"}, "adult", "does not hold"),
    ("000 Fig. 1 to 4", 2, {"Algorithm 2": FALLING}, FIRST, "mine", "does not hold"),
    ("000 Fig. 1 to 4", 3, {"Algorithm 2": FALLING}, FIRST | REAL, "mine", "does not hold"),
    ("000 Fig. 1 to 4", 3, {"Algorithm 2": LEVEL}, FIRST | REAL, "mine", "Here it holds"),
    ("000 Fig. 1 to 4", 4, {"Algorithm 2": FALLING}, FIRST, "mine", "is not decided"),  # it is the same for all
    ("001 Fig. 4", 0, {"HMPrivBayes": {1: 0.3, 2: 0.2, 3: 0.1}}, {"x": "rows"}, "adult", "holds"),
    ("001 Fig. 4", 1, {"HMPrivBayes": LOW, "PrivBayes": MIXED}, {"x": "rows"}, "adult", "Here it holds"),
    ("002 Error by range", 0, RANGES, {"x": "size"}, "adult", "consistent; does not hold for the patent's own form"),
    ("002 Error by range", 1, RANGES, {"x": "size"}, "adult", "Here it holds"),
    ("002 Depth and splits", 0, {"a": MIXED, "b": LOW}, {"x": "depth"}, "adult", "holds for b;"),
    ("002 Classification", 0, PATENT, FIRST, "adult", "Here it holds"),
    ("003 Fig. 1", 0, DEPTHS, THIRD | {"x": "epsilon"}, "adult", "holds for Max: depth 3;"),
    ("003 Fig. 1", 1, DEPTHS, THIRD | {"x": "epsilon"}, "adult", "holds for Max at 1;"),
    ("003 Fig. 1", 2, DEPTHS | GAINS, THIRD | {"x": "epsilon"}, "adult", "holds at depth 3;"),
    ("004 Fig. 2", 0, {SMALL: LEVEL}, THIRD, "adult", "does not hold"),  # it rises by less than a point
    ("004 Fig. 2", 1, {SMALL: LEVEL, LARGE: FALLING}, THIRD, "adult", "Here it holds"),
    ("004 Fig. 2", 2, {SMALL: LEVEL}, THIRD, "adult", "Here it holds"),
    ("004 Efficiency", 0, {"naive Bayes": DOUBLE, "PPNB": DOUBLE}, {"x": "rows"}, "adult", "Here it holds"),
    ("004 Efficiency", 0, {"naive Bayes": {1: 1, 2: 1, 4: 1}, "PPNB": DOUBLE}, {"x": "rows"}, "adult", "does not hold"),
    ("004 Efficiency", 1, {"DTPD": DOUBLE}, {"x": "rows"}, "adult", "Here it holds"),
    ("004 Efficiency", 2, {"DTCRD": DOUBLE, "DTPD": {1: 2, 2: 4, 4: 8}}, {"x": "rows"}, "adult", "does not hold"),
    ("004 Fig. 2", 3, {SMALL: ADVISED}, THIRD, "adult", "at 0.1; does not hold for"),
    ("003 Fig. 2", 0, FORESTS, FIELD, "adult", "holds at 1"),
    ("003 Section 2.3", 0, {"SuLQ-ID3": MIXED}, FIELD, "adult", "holds at 0.2;"),
    ("003 Section 2.3", 1, {"DiffGen": HIGH, "SuLQ-ID3": LOW}, FIELD, "adult", "Here it holds"),
    ("003 Section 4.2", 0, BINS, THIRD | {"mode": "corrected"}, "adult", "does not hold"),
    ("004 Fig. 3", 0, {"DTPD": VALLEY}, THIRD, "adult", "Here it holds"),
    ("004 Fig. 3", 0, {"DTPD": {0.1: 0.5, 0.5: 0.6, 0.9: 0.5}}, THIRD, "adult", "does not hold"),
    ("004 Fig. 3", 1, {"DTPD": VALLEY, "PPNB": LEVEL | {0.51: 0.63, 0.9: 0.65}}, THIRD, "adult", "Here it holds"),
    ("004 Fig. 3", 1, {"DTPD": LEVEL, "PPNB": VALLEY}, THIRD, "adult", "does not hold"),
    ("004 Fig. 3", 3, {"DTPD": FALLING, "PPNB": LEVEL}, THIRD, "bank cards, dependent", "holds at 0.1, 0.2, 0.49;"),
]


def test_the_papers_method_is_judged_by_all_runs_and_no_other():
    claim = Claim(**find_figure("000 Fig. 1 to 4").claims[1])
    wrong = runs("epsilon", {"C1-gen": {1.5: 0.7}}, data="adult", model="logistic regression").assign(mode="corrected")
    right = runs("epsilon", {"Alg": {1.5: 0.83}}, data="adult", model="logistic regression")
    others = pd.concat([wrong, right], ignore_index=True)
    assert "Here it holds" in claim.line(others)
    assert "is not decided" in claim.line(others[others["repeat"] < 4])  # the paper has five
    for out, text in ((2, "is not decided"), (4, "does not hold")):
        assert text in claim.line(others.assign(value=others["value"].where(others["repeat"] >= out, 0.79)))


@pytest.mark.parametrize(("name", "place", "curves", "same", "data", "told"), CASES)
def test_claims_are_judged_by_the_points(name, place, curves, same, data, told):
    frame = runs(curves=curves, data=data, query=0, **same)
    frame = frame.assign(release=frame["series"], **dict.fromkeys((*TIMES, "absolute", "relative"), frame["value"]))
    line = Claim(**find_figure(name).claims[place]).line(frame)
    assert told in line
    assert " (5 repeats)." in line


def test_paper_004_is_tried_at_what_it_prints():
    second, third = (find_figure(name).settings for name in ("004 Fig. 2", "004 Fig. 3"))
    published = "0.1 0.2 0.3 0.35 0.4 0.45 0.49 0.51 0.55 0.6 0.65 0.7 0.8 0.9"
    assert " ".join(map(str, second["values"])) == " ".join(map(str, third["values"])) == published
    sets = [(line["factors"], line["offsets"]) for line in second["methods"]]
    assert sets == [([1, 1], [0, 1]), ([2, 10], [0, 5])]


def test_series_say_how_many_of_their_runs_failed():
    frame = runs("epsilon", {"JTree": LOW, "PrivBayes": LOW}, data="big5")
    frame.loc[[0, 1, 2], "error"] = "too large"
    names = set(with_failures(frame)["series"])
    assert names == {"JTree (as published: 3 of 10 runs failed)", "PrivBayes"}
    two_metrics = pd.DataFrame({"metric": ["accuracy", "balanced accuracy"], "error": "too large"})
    assert len(failed_runs([two_metrics, two_metrics.assign(error="")])) == 1
