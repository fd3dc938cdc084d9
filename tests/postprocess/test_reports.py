"""Unbiased counts, distributions and the table of reports: worked by hand, and against explicit matrices."""

import json
import math
from dataclasses import replace

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

BITS = Schema(columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "yx"))
SIZES = Schema(
    columns=(
        Column(name="y", kind="categorical", categories=("no", "yes", "both")),
        Column(name="x", kind="ordered", categories=("low", "mid", "high"), missing=True),
        Column(name="n", kind="continuous", lower=0, upper=10),
    )
)


def table(counts):
    """Codes of two columns that have these joint counts."""
    counts = np.asarray(counts)
    cells = np.argwhere(np.ones(counts.shape))
    return np.repeat(cells, counts.ravel(), axis=0).T


def reported(schema, channels, values, **asked):
    people = max(map(len, values.values()))
    return Reports(schema, people, channels, values, **asked)


def test_the_joint_table_as_worked_by_hand():
    """True [[.3, .1], [.2, .4]], both columns by Warner's rule with p = .75: reported [[.25, .2], [.25, .3]]."""
    y, x = table([[25, 20], [25, 30]])
    for channel in (Warner(p=0.75), RRPH(p0=0.5)):
        reports = reported(BITS, {("y",): channel, ("x",): channel}, {("y",): y, ("x",): x})
        answered, people = reports.support(("x",), ("y",))
        assert answered.tolist() == [[25, 20], [25, 30]]
        assert people.tolist() == [45, 55]
        np.testing.assert_allclose(reports.counts(("x",), ("y",)), [[30, 10], [20, 40]], rtol=1e-14)
        np.testing.assert_allclose(reports.counts(("y",)), [[40, 60]], rtol=1e-14)
        np.testing.assert_allclose(reports.counts(("x",)), [[50, 50]], rtol=1e-14)
        np.testing.assert_allclose(reports.regrouped(np.array([[45.0, 1], [55, 3]]), ("y",))[:, 0], [40, 60])


CHANNELS = st.tuples(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.floats(0.05, 1)).map(
    lambda drawn: ERRPH(
        3, p0=drawn[1] / (sum(drawn[0]) + drawn[1]), others=np.array(drawn[0]) / (sum(drawn[0]) + drawn[1])
    )
)


@given(CHANNELS, CHANNELS, st.lists(st.integers(0, 30), min_size=9, max_size=9).filter(any))
def test_joint_inversion_is_that_of_both_matrices(label, answer, cells):
    three = Schema(columns=tuple(Column(name=name, kind="categorical", categories=tuple("abc")) for name in "yx"))
    observed = np.array(cells).reshape(3, 3)
    y, x = table(observed)
    reports = reported(three, {("y",): label, ("x",): answer}, {("y",): y, ("x",): x})
    expected = np.linalg.inv(label.matrix) @ observed @ np.linalg.inv(answer.matrix).T
    scale = np.abs(expected).max()
    np.testing.assert_allclose(reports.counts(("x",), ("y",)), expected, atol=1e-8 * scale)
    np.testing.assert_allclose(
        reports.counts(("x",))[0], np.linalg.inv(answer.matrix) @ observed.sum(axis=0), atol=1e-8 * scale
    )


def test_unary_and_hashed_reports_by_group():
    y = np.array([0, 0, 1, 2, 2])
    unary, label = OUE(4, epsilon=math.log(3)), ERRPH(3, p0=1)
    bits = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]], dtype=bool)
    reports = reported(SIZES, {("y",): label, ("x",): unary}, {("y",): y, ("x",): bits})
    np.testing.assert_array_equal(reports.support(("x",), ("y",))[0], [[2, 1, 0, 1], [0, 0, 0, 0], [0, 0, 2, 1]])
    expected = np.array([[6, 2, -2, 2], [-1, -1, -1, -1], [-2, -2, 6, 2]])  # (support - people / 4) / (1 / 4)
    np.testing.assert_allclose(reports.counts(("x",), ("y",)), expected, atol=1e-12)
    np.testing.assert_allclose(reports.counts(("x",)), [expected.sum(axis=0)], atol=1e-12)

    hashing = OLH(4, epsilon=math.log(2))  # 3 places, gain 1/4 * 2/3, base 1/3
    said = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0], [2, 0, 2], [2, 0, 2]])
    reports = reported(SIZES, {("y",): label, ("x",): hashing}, {("y",): y, ("x",): said})
    support = np.array([[1, 1, 0, 1], [0, 0, 1, 0], [0, 2, 0, 0]])  # hashes v, v, v + 1, 2v, 2v modulo 3
    np.testing.assert_array_equal(reports.support(("x",), ("y",))[0], support)
    np.testing.assert_allclose(reports.counts(("x",), ("y",)), (support - np.array([[2], [1], [2]]) / 3) * 6)


def test_groups_that_were_randomized_themselves():
    label = ERRPH(3, p0=0.25)
    y, bits = np.array([0, 1, 1, 2]), np.eye(4, dtype=bool)
    reports = reported(SIZES, {("y",): label, ("x",): OUE(4, epsilon=1)}, {("y",): y, ("x",): bits})
    by_report = reports.channels[("x",)].estimate(np.array([bits[y == g].sum(axis=0) for g in range(3)]), [1, 2, 1])
    np.testing.assert_allclose(reports.counts(("x",), ("y",)), np.linalg.solve(label.matrix, by_report))


def test_people_who_were_not_asked_are_not_counted():
    y, channel = np.array([0, 1, 1, 2, 2]), ERRPH(4, p0=0.5)
    values = {("y",): y, ("x",): np.array([3, 0, 3])}
    reports = Reports(SIZES, 5, {("y",): ERRPH(3, p0=1), ("x",): channel}, values, {("x",): np.array([0, 2, 4])})
    answered, people = reports.support(("x",), ("y",))
    np.testing.assert_array_equal(answered, [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]])
    assert people.tolist() == [1, 1, 1]
    np.testing.assert_allclose(reports.counts(("x",)), [(np.array([1, 0, 0, 2]) - 3 / 8) / 0.5])
    assert reports.who(("x",)).tolist() == [0, 2, 4]
    assert reports.who(("y",)).tolist() == [0, 1, 2, 3, 4]


def test_a_group_that_tells_nothing_has_equal_parts():
    y, x = table([[10, 0], [0, 30]])
    reports = reported(BITS, {("y",): ERRPH(2, p0=0), ("x",): ERRPH(2, p0=1)}, {("y",): y, ("x",): x})
    np.testing.assert_array_equal(reports.counts(("x",), ("y",)), [[5, 15], [5, 15]])


@pytest.mark.parametrize("gain", [1e-300, 1e-17, 1e-15])
def test_a_group_that_tells_next_to_nothing_is_no_singular_matrix(gain):
    y, x = table([[10, 0], [0, 30]])
    reports = reported(BITS, {("y",): ERRPH(2, p0=gain), ("x",): ERRPH(2, p0=1)}, {("y",): y, ("x",): x})
    found = reports.counts(("x",), ("y",))
    np.testing.assert_allclose(found * gain, [[5, -15], [-5, 15]], atol=max(gain * 100, 1e-12))


def test_nobody():
    empty = np.zeros(0, dtype=int)
    channels = {("y",): ERRPH(3, p0=0.5), ("x",): OUE(4, epsilon=1), ("n",): TRR(lower=0, upper=10, epsilon=1)}
    values = {("y",): empty, ("x",): np.zeros((0, 4), dtype=bool), ("n",): np.zeros(0)}
    reports = Reports(SIZES, 0, channels, values)
    assert not reports.counts(("x",), ("y",)).any()
    np.testing.assert_array_equal(shares(reports.counts(("y",))), [[1 / 3] * 3])
    assert reports.frame().shape == (0, 3)


# Distributions


def test_clipped_and_projected_shares():
    counts = np.array([[6.0, -2, 2], [0, 0, 0], [-1, -1, -1]])
    np.testing.assert_allclose(shares(counts), [[0.75, 0, 0.25], [1 / 3] * 3, [1 / 3] * 3])
    np.testing.assert_allclose(shares(counts[:1], "project"), [[5 / 6, 0, 1 / 6]])  # (1, -1/3, 1/3) less 1/6
    np.testing.assert_allclose(shares(np.array([[6.0, -2, 5]]), "project"), [[5 / 9, 0, 4 / 9]])
    np.testing.assert_allclose(shares(np.array([[3.0, 1]]), "project"), [[0.75, 0.25]])
    np.testing.assert_allclose(shares(counts[1:], "project").sum(axis=1), 1)
    np.testing.assert_allclose(shares(np.array([[3e17, -2e17, -1e17]]), "project"), [[1, 0, 0]])


@given(st.lists(st.floats(-50, 100), min_size=4, max_size=4), st.sampled_from(["clip", "project", "likelihood"]))
def test_shares_are_distributions_and_leave_good_counts_alone(row, how):
    channel = ERRPH(4, p0=0.6, others=(0.1, 0.1, 0.05, 0.15))
    found = shares(np.array([row]), how, channel=channel)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    if min(row) >= 1:
        np.testing.assert_allclose(found[0], np.array(row) / sum(row), atol=1e-5)


def log_likelihood(matrix, observed, distribution, by=None):
    expected = matrix @ distribution if by is None else by @ distribution @ matrix.T
    return float((observed * np.log(np.maximum(expected, 1e-300))).sum())


@pytest.mark.parametrize("by", [None, ERRPH(3, p0=0.3, others=(0.4, 0.2, 0.1)).matrix])
def test_likelihood_never_falls(monkeypatch, by):
    rng = np.random.default_rng(2)
    matrix = ERRPH(4, p0=0.4, others=(0.3, 0.1, 0.15, 0.05)).matrix
    for _ in range(5):
        observed = rng.integers(0, 20, 4 if by is None else (3, 4)).astype(float)
        seen = []
        for rounds in range(40):
            monkeypatch.setattr("dpcore.postprocess.reports.ROUNDS", rounds)
            seen.append(log_likelihood(matrix, observed, most_likely(matrix, observed, by=by), by))
        assert (np.diff(seen) >= -1e-9).all()
        assert seen[-1] > seen[0]


def test_the_most_likely_distribution_of_consistent_counts_is_the_true_one():
    channel, label = ERRPH(4, p0=0.5, others=(0.2, 0.1, 0.1, 0.1)), ERRPH(3, p0=0.7, others=(0.15, 0.1, 0.05))
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(most_likely(channel.matrix, channel.matrix @ truth * 900), truth, atol=1e-6)
    joint = np.arange(1.0, 13).reshape(3, 4) / 78
    observed = label.matrix @ joint @ channel.matrix.T
    np.testing.assert_allclose(most_likely(channel.matrix, observed, by=label.matrix), joint, atol=1e-5)
    np.testing.assert_allclose(most_likely(np.eye(2), np.array([0.0, 0.0])), [0.5, 0.5])
    np.testing.assert_allclose(most_likely(np.eye(2), np.array([-3.0, 7.0])), [0, 1])


def test_the_most_likely_distribution_beats_all_others_nearby():
    """Reports that no distribution gives: the clipped inverse is less likely than what is found."""
    channel, observed = ERRPH(3, p0=0.5), np.array([70.0, 28, 2])
    found = most_likely(channel.matrix, observed)
    best = log_likelihood(channel.matrix, observed, found)
    clipped = shares(channel.estimate(observed[None], np.array([100.0])))[0]
    assert best >= log_likelihood(channel.matrix, observed, clipped) - 1e-9
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    assert best >= max(log_likelihood(channel.matrix, observed, each) for each in grid) - 1e-9


# The table of reports


def test_the_table_of_reports_has_a_row_per_person_and_empty_cells():
    values = {
        ("y",): np.array([0, 2, 1]),
        ("x",): np.array([3, 0]),
        ("n",): np.array([0.5, -7.25, 3.0]),
        ("y", "x"): np.array([7]),
    }
    channels = {
        ("y",): ERRPH(3, p0=0.5),
        ("x",): ERRPH(4, p0=0.5),
        ("n",): TRR(lower=0, upper=10, epsilon=1),
        ("y", "x"): ERRPH(12, p0=0.5),
    }
    asked = {("x",): np.array([0, 2]), ("y", "x"): np.array([1])}
    frame = Reports(SIZES, 3, channels, values, asked).frame()
    assert list(frame) == ["y", "x", "n", "y × x"]
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["y"].tolist() == ["no", "both", "yes"]
    assert frame["n"].tolist() == [0.5, -7.25, 3.0]
    assert frame["x"].iloc[[0, 2]].tolist() == ["(missing)", "low"]
    assert frame["y × x"].iloc[1] == "yes / (missing)"
    assert frame.isna().to_numpy().tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]]


def test_other_reports_as_texts():
    channels = {("x",): OUE(4, epsilon=1), ("y",): OLH(3, epsilon=1)}
    values = {("x",): np.eye(4, dtype=bool)[:2], ("y",): np.array([[5, 6, 1], [7, 8, 0]])}
    frame = Reports(SIZES, 2, channels, values).frame()
    assert frame["x"].tolist() == ["1", "2"]
    assert frame["y"].tolist() == ["5·v+6 → 1", "7·v+8 → 0"]


def test_labels_of_weird_names_stay_as_they_are():
    column = Column(name="<b>&,=", kind="categorical", categories=("nan", "None", "1", " / ", "=SUM(A1)"), missing=True)
    schema = Schema(columns=(column, *SIZES.columns))
    reports = Reports(schema, 0, {}, {})
    assert reports.labels(("<b>&,=",)) == ["nan", "None", "1", " / ", "=SUM(A1)", "(missing)"]
    pairs = reports.labels(("y", "x"))
    assert pairs[:5] == ["no / low", "no / mid", "no / high", "no / (missing)", "yes / low"]  # the last changes fastest
    assert len(pairs) == 12
    assert reports.shape(("y", "x", "<b>&,=")) == (3, 4, 6)
    said = {("<b>&,=",): np.array([0, 5])}
    frame = replace(reports, people=2, channels={("<b>&,=",): ERRPH(6, p0=1)}, values=said).frame()
    assert frame["<b>&,="].tolist() == ["nan", "(missing)"]
    assert not frame.isna().any(axis=None)


# Errors


def test_questions_that_make_no_sense():
    y, x, n = families(["y", "x", "n"])
    channels = {y: ERRPH(3, p0=0.5), x: ERRPH(4, p0=0.5), n: TRR(lower=0, upper=10, epsilon=1)}
    Questionnaire(channels, [x, n], 2)
    Questionnaire(channels, together=[[y, x]])
    for wrong in (
        {"optional": [x], "asked": 0},
        {"optional": [x], "asked": 2},
        {"optional": [("z",)], "asked": 1},
        {"optional": [x, x], "asked": 1},
        {"asked": 1},
        {"optional": [x], "asked": -1},
        {"together": [[y, y]]},
        {"together": [[y], [y, x]]},
        {"together": [[y, ("z",)]]},
        {"together": [[y, n]]},
        {"optional": [x], "asked": 1, "together": [[y, x]]},
    ):
        with pytest.raises(ParameterError):
            Questionnaire(channels, **wrong)
    with pytest.raises(ParameterError):
        Questionnaire({(): ERRPH(1, p0=0.5)})
    with pytest.raises(ParameterError):
        Questionnaire({y: OUE(3, epsilon=1), x: channels[x]}, together=[[y, x]])


def test_what_reports_cannot_be_asked():
    channels = {("y",): OUE(3, epsilon=1), ("x",): ERRPH(4, p0=0.5), ("n",): TRR(lower=0, upper=10, epsilon=1)}
    values = {("y",): np.eye(3, dtype=bool), ("x",): np.array([1, 2]), ("n",): np.zeros(3)}
    reports = Reports(SIZES, 3, channels, values, {("x",): np.array([0, 2])})
    with pytest.raises(ParameterError, match="n was reported as a number"):
        reports.counts(("n",))
    with pytest.raises(ParameterError, match="values only"):
        reports.counts(("x",), ("y",))
    with pytest.raises(ParameterError, match="all of them were asked"):
        reports.counts(("y",), ("x",))
    with pytest.raises(ParameterError, match="Likelihood"):
        shares(np.ones((1, 3)), "likelihood", channel=channels[("y",)])
    with pytest.raises(ParameterError, match="Likelihood"):
        shares(np.ones((1, 3)), "likelihood", channel=ERRPH(3, p0=0))
    with pytest.raises(ParameterError, match="clip, project, likelihood"):
        shares(np.ones((1, 3)), "mode")


def test_nothing_in_reports_is_an_index_of_the_private_table():
    """Whatever index the private frame had, people are numbered."""
    reports = Reports(BITS, 2, {("x",): ERRPH(2, p0=0.5)}, {("x",): np.array([0, 1])})
    assert isinstance(reports.frame().index, pd.RangeIndex)


def test_columns_of_the_table_of_reports_are_told_apart():
    schema = Schema(
        columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in ("a", "b", "a × b"))
    )
    channels = {("a × b",): ERRPH(2, p0=1.0), ("a", "b"): ERRPH(4, p0=1.0)}
    values = {("a × b",): np.array([1]), ("a", "b"): np.array([2])}
    frame = Reports(schema, 1, channels, values).frame()
    assert list(frame) == ["a × b", "a × b'"]
    assert frame.iloc[0].tolist() == ["1", "1 / 0"]


def test_rules_tell_all_that_a_reader_of_reports_needs():
    schema = Schema(columns=(Column(name="a", kind="categorical", categories=("0", "1 / 2"), missing=True),))
    rules = {}
    for channel in (ERRPH(3, epsilon=1.0), OUE(3, epsilon=1.0), OLH(3, epsilon=1.0)):
        (rule,) = Reports(schema, 0, {("a",): channel}, {("a",): np.zeros(0)}).rules()
        json.dumps(rule, allow_nan=False)
        assert rule["values"] == [["0"], ["1 / 2"], ["(missing)"]] or len(rule["values"]) == 3
        assert rule["epsilon"] == 1
        assert rule["gain"] == channel.gain
        rules[type(channel).__name__] = rule
    assert rules["OLH"]["modulo"] == [2**31 - 1, 4]
    assert "from 1" in rules["OUE"]["report"]


def test_true_answers_are_known_as_such():
    schema = Schema(columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "abc"))
    channels = {("a",): ERRPH(2, p0=1.0), ("b",): ERRPH(2, p0=0.9), ("c",): Warner(p=1.0)}
    assert Reports(schema, 0, channels, {}).clear == [("a",), ("c",)]
