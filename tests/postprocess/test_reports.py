"""Reports: unbiased counts, numbers with noise, merged bins, shrunk tables: by hand and against explicit matrices."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, laplace, norm

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, RRPH, TRR, Warner
from dpcore.methods.local.bayes_from_reports import class_shares, joint_shares
from dpcore.postprocess import reports as estimates
from dpcore.postprocess import resolution
from dpcore.postprocess.reports import Cells, Questionnaire, Reports, families, most_likely, reconstruct, shares

Y, X, N = families(["y", "x", "n"])
SIZES = Schema(columns=(
    Column(name="y", kind="categorical", categories=("no", "yes", "both")),
    Column(name="x", kind="ordered", categories=("low", "mid", "high"), missing=True),
    Column(name="n", kind="continuous", lower=0, upper=10),
))  # fmt: skip


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
        np.testing.assert_allclose(reports.estimate_by_group(np.array([[45.0, 1], [55, 3]]), Y)[:, 0], [40, 60])
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
    assert [reports.positions(one).tolist() for one in (X, Y)] == [[0, 2, 4], [0, 1, 2, 3, 4]]


def test_uninformative_or_empty_groups_make_no_singular_matrix():
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


def test_rules_contain_all_that_reading_reports_needs():
    schema = Schema(columns=(Column(name="a", kind="categorical", categories=("0", "1 / 2"), missing=True),))
    for kind in (ERRPH, OUE, OLH):
        channel = kind(3, epsilon=1.0)
        (rule,) = Reports(schema, 0, {("a",): channel}, {("a",): np.zeros(0)}).rules()
        json.dumps(rule, allow_nan=False)
        assert rule["values"] == [["0"], ["1 / 2"], ["(missing)"]]
        assert (rule["epsilon"], rule["gain"], rule["people"]) == (1, channel.gain, 0)
    assert rule["modulo"] == [2**31 - 1, 4]  # of hashes
    clear = {("a",): ERRPH(2, p0=1.0), ("b",): ERRPH(2, p0=0.9), ("c",): Warner(p=1.0)}
    assert Reports(words("abc"), 0, clear, {}).truthful_questions == [("a",), ("c",)]  # true answers are known as such


def test_invalid_questionnaires_are_refused():
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


def test_impossible_estimates_are_refused():
    unary = OUE(3, epsilon=1)
    channels = {Y: unary, X: ERRPH(4, p0=0.5), N: TRR(lower=0, upper=10, epsilon=1)}
    values = {Y: np.eye(3, dtype=bool), X: np.array([1, 2]), N: np.zeros(3)}
    reports = Reports(SIZES, 3, channels, values, {X: np.array([0, 2])})
    for wanted, text in (((N,), "as a number"), ((X, Y), "reports that are values"), ((Y, X), "all of them answered")):
        with pytest.raises(ParameterError, match=text):
            reports.counts(*wanted)
    for how, channel in (("likelihood", unary), ("likelihood", ERRPH(3, p0=0)), ("mode", None)):
        with pytest.raises(ParameterError, match="ikelihood"):
            shares(np.ones((1, 3)), how, channel=channel)


def one_group(cells, reports):
    return cells.counts(reports, np.zeros(len(reports), dtype=int), 1)


def test_a_step_is_the_printed_formula_for_each_group_by_itself():
    for kind in estimates.KINDS:
        kernel = Cells(0.0, 4.0, 4, kind, 1.2).kernel
        counts = np.random.default_rng(1).integers(0, 9, (2, len(kernel))).astype(float)
        f = np.full((2, 4), 0.25)
        for steps, g in product(range(1, 4), range(2)):
            cells = range(len(kernel))
            mixed = [sum(kernel[s, t] * f[g, t] for t in range(4)) for s in cells]
            f[g] = [sum(counts[g, s] * kernel[s, p] * f[g, p] / mixed[s] for s in cells) for p in range(4)]
            f[g] /= counts[g].sum()
            found = reconstruct(counts, kernel, rounds=steps, noticed=0.0)
            assert found.shares[g] == pytest.approx(f[g])
            expected = sum(counts[g, s] * math.log(kernel[s] @ f[g]) for s in cells)
            assert found.likelihood[-1][g] == pytest.approx(expected)
        assert reconstruct(0 * counts, kernel).shares == pytest.approx(1 / 4)  # nobody reported


def test_the_kernel_is_the_density_at_the_distance_of_midpoints():
    distance = np.linspace(-3, 3, 13)
    for kind, noise in (("normal", norm(scale=0.7)), ("laplace", laplace(scale=0.7))):
        assert estimates.density(kind, 0.7, distance) == pytest.approx(noise.pdf(distance) / noise.pdf(0))
    assert estimates.density("uniform", 1.0, distance) == pytest.approx((np.abs(distance) <= 1).astype(float))
    cells = Cells(0.0, 4.0, 4, "uniform", 1.2)
    # Cells at -1.5 to 5.5, of which none but those at -0.5 to 4.5 are within 1.2 of a midpoint.
    assert cells.kernel.tolist() == [[int(abs(p - s) <= 1) for p in range(4)] for s in range(-1, 5)]
    assert cells.boundaries == pytest.approx([1, 2, 3])
    assert one_group(cells, np.array([-1.2, -0.1, 0.0, 0.5, 1.0, 1.01, 4.0, 4.1, 5.2])).tolist() == [[3, 2, 1, 0, 1, 2]]
    # Laplace reports beyond the range tell as much as its ends: the ratio of two densities is the same there.
    laplacian = Cells(0.0, 1.0, 10, "laplace", 0.3)
    assert one_group(laplacian, np.array([-9.0, 0.01, 1.0, 77.0])).tolist() == [[2, 0, 0, 0, 0, 0, 0, 0, 0, 2]]


def test_two_modes_are_reconstructed_from_noisy_reports():
    def histogram(numbers):
        return np.histogram(numbers.clip(0, 1), 30, (0, 1))[0] / len(numbers)

    rng = np.random.default_rng(5)
    x = rng.normal(np.where(rng.random(5_000) < 0.4, 0.25, 0.75), 0.06).clip(0, 1)
    for kind, scale, noise in (
        ("uniform", 0.5, rng.uniform(-0.5, 0.5, len(x))),
        ("normal", 0.15, rng.normal(0, 0.15, len(x))),
        ("laplace", 0.2, rng.laplace(0, 0.2, len(x))),
    ):
        cells = Cells(0.0, 1.0, 30, kind, scale)
        found = reconstruct(one_group(cells, x + noise), cells.kernel)
        assert len(found.likelihood) < 501
        off = np.abs(found.shares[0] - histogram(x)).sum()
        assert off < 0.8 * np.abs(histogram(x + noise) - histogram(x)).sum()
        low, middle, high = (found.shares[0][a:b].mean() for a, b in ((5, 10), (13, 17), (20, 25)))
        assert middle < low < high
        if kind == "laplace":  # its reports leave room for more steps
            longer = reconstruct(one_group(cells, x + noise), cells.kernel, noticed=1e-4).shares[0]
            assert np.abs(longer - histogram(x)).sum() < off


def test_without_noise_the_distribution_is_the_reports_and_noise_alone_tells_nothing():
    rng = np.random.default_rng(7)
    x, noise = rng.integers(0, 10, 500).astype(float), rng.normal(0, 1e6, 50)
    for kind, scale in product(estimates.KINDS, (0.0, 1e-300, 1e-9)):
        cells = Cells(-0.5, 9.5, 10, kind, scale)
        found = reconstruct(one_group(cells, x), cells.kernel)
        assert found.shares[0] == pytest.approx(np.bincount(x.astype(int)) / 500)
    for kind, scale in (("normal", 1e6), ("normal", 1e12), ("laplace", 1e6), ("laplace", math.inf)):
        cells = Cells(0.0, 1.0, 8, kind, scale)
        assert reconstruct(one_group(cells, noise), cells.kernel).shares[0] == pytest.approx(1 / 8, abs=1e-3)


def test_sorted_reports_go_to_intervals_by_their_shares():
    reports = np.array([5.0, -1.0, 9.0, 3.0, 4.0, 100.0, 2.0, 8.0, 7.0, 6.0])
    assign = estimates.assign_intervals
    assert assign(reports, np.array([0.2, 0.0, 0.5, 0.3])).tolist() == [2, 0, 3, 2, 2, 3, 0, 3, 2, 2]
    assert assign(reports, np.array([0.0, 1.0, 0.0])).tolist() == [1] * 10
    assert assign(np.zeros(0), np.array([0.5, 0.5])).tolist() == []
    shares = np.random.default_rng(9).dirichlet(np.ones(7))
    counts = np.bincount(assign(np.random.default_rng(10).normal(size=1000), shares), minlength=7)
    assert np.abs(counts - 1000 * shares).max() <= 1


def test_thresholds_and_widths_of_95_percent():
    for freedom in (1, 9, 99):
        assert estimates.threshold(freedom) == pytest.approx(chi2.ppf(0.95, freedom))
    assert estimates.threshold(0) == math.inf
    assert estimates.width("uniform", 2.0) == pytest.approx(0.95 * 4)
    assert estimates.width("normal", 1.0) == pytest.approx(3.919928)
    assert estimates.width("laplace", 1.0) == pytest.approx(2 * laplace.ppf(0.975))


COLUMNS = [
    Column(name="a", kind="integer", lower=0, upper=99, bins=16),
    Column(name="b", kind="continuous", lower=-1.0, upper=2.5, bins=11, missing=True),
    Column(name="c", kind="integer", lower=3, upper=9, bins=(4, 7, 8)),
    Column(name="d", kind="continuous", lower=0.0, upper=1.0, bins=(0.1, 0.2, 0.9)),
]


def test_a_merged_column_encodes_as_the_rule_says():
    for column, bins in product(COLUMNS, (1, 2, 3, 5, 40)):
        rule, rng = resolution.make_merge_rule(column, bins), np.random.default_rng(0)
        cells = column.decode(rng.integers(0, column.size, 500).astype(np.uint8), rng)
        coarse = resolution.merge_bins(column, rule)
        assert coarse.size == min(bins, column.size - column.missing) + column.missing
        assert (coarse.encode(cells) == rule[column.encode(cells)]).all()
        assert (np.diff(rule) >= 0).all()
        assert np.ptp(np.bincount(rule)[: coarse.size - column.missing]) <= 1
    words = Column(name="x", kind="ordered", categories=tuple("abcdefgh"))
    assert (resolution.make_merge_rule(words, 3) == np.arange(8)).all()
    assert resolution.merge_bins(words, resolution.make_merge_rule(words, 3)) is words
    assert resolution.affordable_bins(1_000, 4.0, 2) == round(math.sqrt(math.sqrt(1000) * math.sinh(2) / 2)) == 8
    assert resolution.affordable_bins(1_000, 0.0, 2) == resolution.affordable_bins(0, 4.0, 2) == 3
    assert resolution.affordable_bins(1_000, 1e9, 2) > 1_000
    # Spreading keeps what a class has.
    found = resolution.spread_evenly(np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([0, 0, 1, 1, 1, 2]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.1, 0.1, 0.5 / 3, 0.5 / 3, 0.5 / 3, 0.3])


def test_shrinking_keeps_what_is_known_for_sure_and_nothing_of_noise_alone():
    joint = np.array([[0.30, 0.10, 0.0], [0.06, 0.24, 0.30]])
    prior, values = joint.sum(axis=1), joint.sum(axis=0)
    shrink = resolution.shrink_conditionals
    np.testing.assert_allclose(shrink(joint, np.zeros((2, 3)), prior, 1.0), joint / prior[:, None], atol=2e-6)
    for variance in (1e6, np.inf):
        found = shrink(joint, np.full((2, 3), variance), prior, 1.0)
        np.testing.assert_allclose(found, np.tile(values, (2, 1)), atol=1e-5)
    # Noise as large as what is expected of a class, q (1 - q) / (3 alpha + 1), keeps half of the difference.
    half = shrink(joint, np.tile(values * (1 - values) / 7, (2, 1)), prior, 2.0)
    np.testing.assert_allclose(half, (values + joint / prior[:, None]) / 2, atol=2e-6)


PRIOR, VALUES, PAIR = np.array([0.3, 0.7]), np.array([0.5, 0.2, 0.3]), ("y", "x")
COLUMN, CLASS = (Column(name=n, kind="categorical", categories=tuple(c)) for n, c in (("x", "abc"), ("y", "01")))
TWO = Schema(columns=(COLUMN, CLASS), target="y")


@pytest.mark.parametrize(("make", "pairs"), [(ERRPH, True), (OUE, True), (OUE, False)])
def test_the_noise_of_a_difference_is_what_is_measured(make, pairs):
    """500 rounds of 2,000 people who do not depend on their class: variances to within 35% (1 in a million each is
    off by 31%), on average over cells to within 12%; too little for pairs by ERRPH, whose cells exclude each other.
    """
    rng, people = np.random.default_rng(5), 2_000
    found, said = [], None
    for _ in range(500):
        x, y = rng.choice(3, people, p=VALUES), rng.choice(2, people, p=PRIOR)
        if pairs:
            channel = make(6, epsilon=2.0)
            reports = Reports(TWO, people, {PAIR: channel}, {PAIR: channel.report(y * 3 + x, rng.random)})
            joint = reports.counts(PAIR).reshape(2, 3) / people
        else:
            channel, label = make(3, epsilon=1.0), ERRPH(2, epsilon=1.0)
            values = {PAIR[:1]: label.report(y, rng.random), PAIR[1:]: channel.report(x, rng.random)}
            reports = Reports(TWO, people, {PAIR[:1]: label, PAIR[1:]: channel}, values)
            joint = reports.counts(PAIR[1:], PAIR[:1]) / people
        found.append(joint / PRIOR[:, None] - joint.sum(axis=0))
        said = joint_shares(reports, "y", PAIR if pairs else PAIR[1:], PRIOR)[1] if said is None else said
    reports = Reports(TWO, 4, {PAIR: ERRPH(6, p0=1.0)}, {PAIR: np.array([0, 1, 1, 4])})  # pairs tell of the class too
    np.testing.assert_allclose(class_shares(reports, "y", [PAIR], "shrink"), [0.75, 0.25])
    ratio = said / np.var(found, axis=0)
    exclusive = pairs and make is ERRPH
    assert 0.65 < ratio.min() <= ratio.max() < 1.35
    assert (0.75 if exclusive else 0.88) < ratio.mean() < 1.12


def test_noisy_cells_are_moved_by_the_likely_noise():
    before = np.array([10.0, 10, 10, 10])
    noisy = before + np.array([3.0, -1, 1, 5])  # a squared length of 36
    shrink = resolution.shrink_towards
    np.testing.assert_allclose(shrink(noisy, before, 0.0), noisy)
    np.testing.assert_allclose(shrink(noisy, before, 3.0), before + np.array([2.0, -2 / 3, 2 / 3, 10 / 3]))
    assert shrink(noisy, before, 9.0).tolist() == shrink(noisy, before, 1e20).tolist() == before.tolist()
    assert shrink(before, before, 3.0).tolist() == before.tolist()
