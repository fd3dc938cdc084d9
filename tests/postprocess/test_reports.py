"""Unbiased counts, distributions and the table of reports: worked by hand, and against explicit matrices."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, RRPH, TRR, Warner
from dpcore.postprocess.reports import Questionnaire, Reports, families, most_likely, shares

Y, X, N = families(["y", "x", "n"])
SIZES = Schema(
    columns=(
        Column(name="y", kind="categorical", categories=("no", "yes", "both")),
        Column(name="x", kind="ordered", categories=("low", "mid", "high"), missing=True),
        Column(name="n", kind="continuous", lower=0, upper=10),
    )
)


def words(names, values="01"):
    return Schema(columns=tuple(Column(name=name, kind="categorical", categories=tuple(values)) for name in names))


def of_two(channels, values, schema=SIZES):
    """Reports of y and x by everybody."""
    pair = dict(zip((Y, X), channels, strict=True)), dict(zip((Y, X), values, strict=True))
    return Reports(schema, len(values[0]), *pair)


def table(counts):
    """Codes of two columns that have these joint counts."""
    counts = np.asarray(counts)
    return np.repeat(np.argwhere(np.ones(counts.shape)), counts.ravel(), axis=0).T


def test_the_joint_table_as_worked_by_hand(seeds):
    """True [[.3, .1], [.2, .4]], both columns by Warner's rule with p = .75: reported [[.25, .2], [.25, .3]]."""
    for channel in (Warner(p=0.75), RRPH(p0=0.5)):
        reports = of_two((channel, channel), table([[25, 20], [25, 30]]), words("yx"))
        answered, people = reports.support(X, Y)
        assert answered.tolist() == [[25, 20], [25, 30]]
        assert people.tolist() == [45, 55]
        np.testing.assert_allclose(reports.counts(X, Y), [[30, 10], [20, 40]], rtol=1e-14)
        np.testing.assert_allclose(reports.counts(Y), [[40, 60]], rtol=1e-14)
        np.testing.assert_allclose(reports.counts(X), [[50, 50]], rtol=1e-14)
        np.testing.assert_allclose(reports.regrouped(np.array([[45.0, 1], [55, 3]]), Y)[:, 0], [40, 60])
    for seed in seeds(50):  # in general, the inverse of both matrices
        rng = np.random.default_rng(seed)
        label, answer = (ERRPH(3, p0=p0, others=others) for p0, *others in rng.dirichlet(np.ones(4), 2))
        observed, inverse = rng.integers(0, 30, (3, 3)), np.linalg.inv(answer.matrix)
        reports = of_two((label, answer), table(observed), words("yx", "abc"))
        expected = np.linalg.inv(label.matrix) @ observed @ inverse.T
        atol = 1e-8 * np.abs(expected).max()
        np.testing.assert_allclose(reports.counts(X, Y), expected, atol=atol)
        np.testing.assert_allclose(reports.counts(X)[0], inverse @ observed.sum(axis=0), atol=atol)


def test_unary_and_hashed_reports_by_group():
    y, label = np.array([0, 0, 1, 2, 2]), ERRPH(3, p0=1)
    bits = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)
    reports = of_two((label, OUE(4, epsilon=math.log(3))), (y, bits))
    np.testing.assert_array_equal(reports.support(X, Y)[0], [[2, 1, 0, 1], [0, 0, 0, 0], [0, 0, 2, 1]])
    expected = np.array([[6, 2, -2, 2], [-1, -1, -1, -1], [-2, -2, 6, 2]])  # (support - people / 4) / (1 / 4)
    np.testing.assert_allclose(reports.counts(X, Y), expected, atol=1e-12)
    np.testing.assert_allclose(reports.counts(X), [expected.sum(axis=0)], atol=1e-12)
    # 3 places, gain 1/4 * 2/3, base 1/3; hashes v, v, v + 1, 2v, 2v modulo 3
    said = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0], [2, 0, 2], [2, 0, 2]])
    support = [[1, 1, 0, 1], [0, 0, 1, 0], [0, 2, 0, 0]]
    reports = of_two((label, OLH(4, epsilon=math.log(2))), (y, said))
    np.testing.assert_array_equal(reports.support(X, Y)[0], support)
    np.testing.assert_allclose(reports.counts(X, Y), (np.array(support) - np.array([[2], [1], [2]]) / 3) * 6)


def test_people_who_were_not_asked_are_not_counted():
    y, values = np.array([0, 1, 1, 2, 2]), {X: np.array([3, 0, 3])}
    channels = {Y: ERRPH(3, p0=1), X: ERRPH(4, p0=0.5)}
    reports = Reports(SIZES, 5, channels, {Y: y, **values}, {X: np.array([0, 2, 4])})
    answered, people = reports.support(X, Y)
    np.testing.assert_array_equal(answered, [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]])
    assert people.tolist() == [1, 1, 1]
    np.testing.assert_allclose(reports.counts(X), [(np.array([1, 0, 0, 2]) - 3 / 8) / 0.5])
    assert reports.who(X).tolist() == [0, 2, 4]
    assert reports.who(Y).tolist() == [0, 1, 2, 3, 4]


def test_groups_that_tell_next_to_nothing_and_nobody_are_no_singular_matrix():
    for gain in (0, 1e-300, 1e-17, 1e-15):
        reports = of_two((ERRPH(2, p0=gain), ERRPH(2, p0=1)), table([[10, 0], [0, 30]]), words("yx"))
        found = reports.counts(X, Y)
        if gain:
            np.testing.assert_allclose(found * gain, [[5, -15], [-5, 15]], atol=max(gain * 100, 1e-12))
        else:  # equal parts
            np.testing.assert_array_equal(found, [[5, 15], [5, 15]])
    channels = {Y: ERRPH(3, p0=0.5), X: OUE(4, epsilon=1), N: TRR(lower=0, upper=10, epsilon=1)}
    nobody = {Y: np.zeros(0, dtype=int), X: np.zeros((0, 4), dtype=bool), N: np.zeros(0)}
    reports = Reports(SIZES, 0, channels, nobody)
    assert not reports.counts(X, Y).any()
    np.testing.assert_array_equal(shares(reports.counts(Y)), [[1 / 3] * 3])
    assert reports.frame().shape == (0, 3)


@given(st.lists(st.floats(-50, 100), min_size=4, max_size=4))
def test_shares_are_distributions_and_leave_good_counts_alone(row):
    for how in ("clip", "project", "likelihood"):
        found = shares(np.array([row]), how, channel=ERRPH(4, p0=0.6, others=(0.1, 0.1, 0.05, 0.15)))
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1)
        if min(row) >= 1:
            np.testing.assert_allclose(found[0], np.array(row) / sum(row), atol=1e-5)


def test_clipped_and_projected_shares_by_hand():
    counts = np.array([[6.0, -2, 2], [0, 0, 0], [-1, -1, -1]])
    np.testing.assert_allclose(shares(counts), [[0.75, 0, 0.25], [1 / 3] * 3, [1 / 3] * 3])
    np.testing.assert_allclose(shares(counts[1:], "project").sum(axis=1), 1)
    for row, expected in (
        ([6, -2, 2], [5 / 6, 0, 1 / 6]),  # (1, -1/3, 1/3) less 1/6
        ([6, -2, 5], [5 / 9, 0, 4 / 9]),
        ([3, 1], [0.75, 0.25]),
        ([3e17, -2e17, -1e17], [1, 0, 0]),
    ):
        np.testing.assert_allclose(shares(np.array([row], dtype=float), "project"), [expected])


def log_likelihood(matrix, observed, distribution, by=None):
    expected = matrix @ distribution if by is None else by @ distribution @ matrix.T
    return float((observed * np.log(np.maximum(expected, 1e-300))).sum())


def test_the_most_likely_distribution_is_the_true_one_and_beats_all_others_nearby():
    channel, label = ERRPH(4, p0=0.5, others=(0.2, 0.1, 0.1, 0.1)), ERRPH(3, p0=0.7, others=(0.15, 0.1, 0.05))
    truth, joint = np.array([0.4, 0.3, 0.2, 0.1]), np.arange(1.0, 13).reshape(3, 4) / 78
    np.testing.assert_allclose(most_likely(channel.matrix, channel.matrix @ truth * 900), truth, atol=1e-6)
    observed = label.matrix @ joint @ channel.matrix.T
    np.testing.assert_allclose(most_likely(channel.matrix, observed, by=label.matrix), joint, atol=1e-5)
    np.testing.assert_allclose(most_likely(np.eye(2), np.array([0.0, 0.0])), [0.5, 0.5])
    np.testing.assert_allclose(most_likely(np.eye(2), np.array([-3.0, 7.0])), [0, 1])
    # Reports that no distribution gives: the clipped inverse is less likely than what is found.
    channel, observed = ERRPH(3, p0=0.5), np.array([70.0, 28, 2])
    best = log_likelihood(channel.matrix, observed, most_likely(channel.matrix, observed))
    clipped = shares(channel.estimate(observed[None], np.array([100.0])))[0]
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    assert best >= max(log_likelihood(channel.matrix, observed, each) for each in (clipped, *grid)) - 1e-9


def test_the_table_of_reports_has_a_row_per_person_and_empty_cells():
    pair, numbers = ("y", "x"), np.array([0.5, -7.25, 3.0])
    channels = {Y: ERRPH(3, p0=0.5), X: ERRPH(4, p0=0.5), N: TRR(lower=0, upper=10, epsilon=1), pair: ERRPH(12, p0=0.5)}
    values = {Y: np.array([0, 2, 1]), X: np.array([3, 0]), N: numbers, pair: np.array([7])}
    frame = Reports(SIZES, 3, channels, values, {X: np.array([0, 2]), pair: np.array([1])}).frame()
    assert list(frame) == ["y", "x", "n", "y × x"]
    assert isinstance(frame.index, pd.RangeIndex)  # people are numbered, whatever the private table's index is
    assert frame["y"].tolist() == ["no", "both", "yes"]
    assert frame["n"].tolist() == [0.5, -7.25, 3.0]
    assert frame["x"].iloc[[0, 2]].tolist() == ["(missing)", "low"]
    assert frame["y × x"].iloc[1] == "yes / (missing)"
    assert frame.isna().to_numpy().tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]]
    channels = {X: OUE(4, epsilon=1), Y: OLH(3, epsilon=1)}
    frame = Reports(SIZES, 2, channels, {X: np.eye(4, dtype=bool)[:2], Y: np.array([[5, 6, 1], [7, 8, 0]])}).frame()
    assert frame.to_numpy().tolist() == [["1", "5·v+6 → 1"], ["2", "7·v+8 → 0"]]


def test_labels_of_weird_names_stay_as_they_are():
    weird = ("nan", "None", "1", " / ", "=SUM(A1)")
    column = Column(name="<b>&,=", kind="categorical", categories=weird, missing=True)
    schema, family = Schema(columns=(column, *SIZES.columns)), ("<b>&,=",)
    reports = Reports(schema, 2, {family: ERRPH(6, p0=1)}, {family: np.array([0, 5])})
    assert reports.labels(family) == [*weird, "(missing)"]
    assert reports.labels(("y", "x"))[:5] == ["no / low", "no / mid", "no / high", "no / (missing)", "yes / low"]
    assert reports.shape(("y", "x", "<b>&,=")) == (3, 4, 6)
    assert reports.frame()["<b>&,="].tolist() == ["nan", "(missing)"]


def test_rules_tell_all_that_a_reader_of_reports_needs():
    schema = Schema(columns=(Column(name="a", kind="categorical", categories=("0", "1 / 2"), missing=True),))
    for kind in (ERRPH, OUE, OLH):
        channel = kind(3, epsilon=1.0)
        (rule,) = Reports(schema, 0, {("a",): channel}, {("a",): np.zeros(0)}).rules()
        json.dumps(rule, allow_nan=False)
        assert rule["values"] == [["0"], ["1 / 2"], ["(missing)"]]
        assert (rule["epsilon"], rule["gain"], rule["people"]) == (1, channel.gain, 0)
    assert rule["modulo"] == [2**31 - 1, 4]  # of hashes
    clear = {("a",): ERRPH(2, p0=1.0), ("b",): ERRPH(2, p0=0.9), ("c",): Warner(p=1.0)}
    assert Reports(words("abc"), 0, clear, {}).clear == [("a",), ("c",)]  # true answers are known as such


def test_questions_that_make_no_sense():
    channels, z = {Y: ERRPH(3, p0=0.5), X: ERRPH(4, p0=0.5), N: TRR(lower=0, upper=10, epsilon=1)}, ("z",)
    Questionnaire(channels, [X, N], 2)
    Questionnaire(channels, together=[[Y, X]])
    for optional, least in (([X], 0), ([X], 2), ([z], 1), ([X, X], 1), ([], 1)):
        with pytest.raises(ParameterError):
            Questionnaire(channels, optional, least)
    for together in ([[Y, Y]], [[Y], [Y, X]], [[Y, z]], [[Y, N]]):
        with pytest.raises(ParameterError):
            Questionnaire(channels, together=together)
    with pytest.raises(ParameterError):
        Questionnaire(channels, [X], 1, [[Y, X]])
    with pytest.raises(ParameterError):
        Questionnaire({Y: OUE(3, epsilon=1), X: channels[X]}, together=[[Y, X]])


def test_what_reports_cannot_be_asked():
    unary = OUE(3, epsilon=1)
    channels = {Y: unary, X: ERRPH(4, p0=0.5), N: TRR(lower=0, upper=10, epsilon=1)}
    values = {Y: np.eye(3, dtype=bool), X: np.array([1, 2]), N: np.zeros(3)}
    reports = Reports(SIZES, 3, channels, values, {X: np.array([0, 2])})
    for asked, told in (((N,), "as a number"), ((X, Y), "values only"), ((Y, X), "all of them were asked")):
        with pytest.raises(ParameterError, match=told):
            reports.counts(*asked)
    for how, channel in (("likelihood", unary), ("likelihood", ERRPH(3, p0=0)), ("mode", None)):
        with pytest.raises(ParameterError, match="ikelihood"):
            shares(np.ones((1, 3)), how, channel=channel)
