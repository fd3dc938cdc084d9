"""Tests of the audit's confidence bounds, and exact losses of published networks and splits."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats
from scipy.stats import beta
from tables import categorical

from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.audit.bound import AuditResult, audit, lower_bound, lower_bound_of_statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import MutualInformation
from dpcore.methods import DiffPRFs, HMPrivBayes, NaiveBayesSynthesizer, NoPrivacy, PrivSCBN

BIT = categorical({"x": "01", "y": "01"}, target="y", max_rows=10)
FEW = pd.DataFrame({"x": [0] * 5, "y": [0] * 5})
MORE = pd.DataFrame({"x": [0] * 6, "y": [0] * 6})


def test_bounds_at_the_extreme_counts_have_closed_forms():
    """All of n hits: p_lo = (alpha/2)^(1/n). None of n: q_hi = 1 - (alpha/2)^(1/n)."""
    low, high = 0.025 ** (1 / 100), 1 - 0.025 ** (1 / 100)
    assert lower_bound(100, 0, 100) == pytest.approx(math.log(low / high))
    assert lower_bound(100, 0, 100, alpha=0.1) == pytest.approx(math.log(0.05**0.01 / (1 - 0.05**0.01)))
    assert lower_bound(100, 0, 100, delta=0.1) == pytest.approx(math.log((low - 0.1) / high))
    for hits, other in ((0, 0), (0, 50), (50, 50), (100, 100), (30, 29)):
        assert lower_bound(hits, other, 100) == 0.0


def test_confidence_limits_invert_the_binomial_distribution():
    """At p_lo, exactly alpha/2 of samples have at least these hits; at q_hi, at most these."""
    hits, other, trials, alpha = 60, 20, 200, 0.05
    found = math.exp(lower_bound(hits, other, trials, alpha=alpha))
    low = optimize.brentq(lambda p: stats.binom.sf(hits - 1, trials, p) - alpha / 2, 0.01, 0.99)
    high = optimize.brentq(lambda p: stats.binom.cdf(other, trials, p) - alpha / 2, 0.01, 0.99)
    assert found == pytest.approx(low / high)


def test_false_alarms_are_as_rare_as_claimed():
    """For randomized response at exactly epsilon, sum the probabilities of bounds above epsilon."""
    epsilon, alpha, trials = 1.0, 0.2, 60
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    chances = np.multiply.outer(*(stats.binom.pmf(np.arange(trials + 1), trials, p) for p in (keep, 1 - keep)))
    alarms = [pair for pair in np.argwhere(chances > 1e-6) if lower_bound(*pair, trials, alpha=alpha) > epsilon]
    assert 0 < sum(chances[tuple(pair)] for pair in alarms) <= alpha - 1e-6 * chances.size


def test_false_alarms_stay_rare_although_the_event_is_chosen():
    """Equal worlds have epsilon 0; counting the selecting runs would give a third false alarms."""
    rng = np.random.default_rng(4)
    audits, alpha, alarms, same = 60, 0.2, 0, 0
    for _ in range(audits):
        worlds = rng.normal(size=(2, 80))
        alarms += lower_bound_of_statistics(*worlds, alpha=alpha) > 0
        twice = np.tile(worlds[:, :40], 2)  # the counted half is the chosen one
        same += lower_bound_of_statistics(*twice, alpha=alpha) > 0
    assert alarms / audits <= alpha
    assert same > alarms + 12  # and the difference can be seen


def test_the_counted_half_is_not_the_one_that_chose():
    rng = np.random.default_rng(2)
    distance, alike = rng.normal(size=(2, 400)), rng.normal(size=(2, 400))
    distance[0] += 10
    assert lower_bound_of_statistics(*np.concatenate([distance, alike], axis=1)) == 0
    assert lower_bound_of_statistics(*np.concatenate([alike, distance], axis=1)) < 3
    best = lower_bound_of_statistics(*np.concatenate([distance, distance], axis=1))
    assert best == pytest.approx(lower_bound(400, 0, 400), rel=0.05)


def test_events_of_both_data_sets_and_both_tails_are_tried():
    rng = np.random.default_rng(3)
    near, far = rng.exponential(1.0, 2_000), rng.exponential(4.0, 2_000)
    for worlds in ((near, far), (far, near), (-near, -far), (-far, -near)):
        assert lower_bound_of_statistics(*worlds) > 1.0


def test_an_odd_number_of_runs_and_infinite_statistics_are_allowed():
    values = np.arange(41, dtype=float)
    high = np.full(41, np.inf)
    assert lower_bound_of_statistics(high, values) == pytest.approx(lower_bound(21, 0, 21))
    assert lower_bound_of_statistics(high, high) == 0
    assert lower_bound_of_statistics(-high, high) > 0


def laplace(scale):
    rng = np.random.default_rng(7)
    return lambda frame, trials: len(frame) + rng.laplace(0, scale, trials)


def test_a_laplace_count_stays_below_its_epsilon_and_a_fifth_of_the_noise_is_caught():
    result = audit(laplace(1.0), (FEW, MORE), float, 20_000)
    assert 0.7 < result.lower_bound <= 1.0
    assert np.isnan([result.epsilon_claimed, result.epsilon_nominal]).all()
    assert not result.refutes_claim  # nothing was claimed
    for worlds in ((FEW, MORE), (MORE, FEW)):
        assert 3.0 < audit(laplace(0.2), worlds, float, 20_000).lower_bound <= 5.0
    assert AuditResult(1.01, 1.0, math.inf, 0.95, 100).refutes_claim
    assert not AuditResult(1.0, 1.0, 1.0, 0.95, 100).refutes_claim


class Noisier(NaiveBayesSynthesizer):
    """Planted fault: a fifth of the noise that is charged."""

    times = 5

    def _fit_tables(self, table):
        real = table._door.noise.many_counts
        table._door.noise.many_counts = lambda tables, scales: real(tables, [scale / self.times for scale in scales])
        super()._fit_tables(table)


def total(fitted):
    return float(fitted.class_totals_.sum())


def test_an_audit_reports_the_estimators_claimed_and_nominal_epsilon():
    seen, method = [], NaiveBayesSynthesizer(epsilon=1.0)
    result = audit(method, (FEW, MORE), total, 20, schema=BIT, progress=lambda done, _: seen.append(done))
    assert result.epsilon_claimed == result.epsilon_nominal == 1.0
    assert not result.refutes_claim
    assert seen == pytest.approx(np.arange(1, 21) / 20)
    caught = audit(Noisier(epsilon=1.0), (FEW, MORE), total, 120, schema=BIT)
    assert caught.lower_bound > 1.5
    assert caught.refutes_claim
    assert caught.epsilon_claimed == caught.epsilon_nominal == 1.0


def test_a_gaussian_count_stays_below_its_rho_and_half_the_noise_is_caught():
    rho, noise = PrivacyMeasure.from_delta(1e-9), np.random.default_rng(7).normal(size=(2, 40_000))
    claimed = rho.epsilon(Fraction(1, 2))  # of sigma 1
    right, weak = (lower_bound_of_statistics(*sigma * noise + [[5], [6]], measure=rho) for sigma in (1, 0.4))
    assert 0.5 * claimed < right <= claimed < weak
    assert lower_bound(0, 0, 100, measure=rho) == lower_bound(100, 100, 100, measure=rho) == 0
    assert lower_bound(900, 100, 1_000, delta=1e-9) < lower_bound(900, 100, 1_000, measure=rho)  # the whole curve


def test_rho_from_an_event_is_what_every_order_allows():
    """The largest rho for which some order's divergence of the two bounds exceeds rho alpha."""
    low, high = beta.ppf(0.025, 300, 701), beta.ppf(0.975, 51, 950)
    orders = 1 + np.geomspace(1e-4, 1e4, 4_000)
    sums = np.logaddexp(
        orders * np.log(low) + (1 - orders) * np.log(high), orders * np.log1p(-low) + (1 - orders) * np.log1p(-high)
    )
    most = (sums / (orders - 1) / orders).max()
    found = lower_bound(300, 50, 1_000, measure=PrivacyMeasure.from_delta(1e-6))
    limit = PrivacyMeasure.from_delta(1e-6).epsilon(float(most))
    assert 0.995 * limit < found <= limit


def test_an_estimator_in_rho_is_audited_by_its_curve(monkeypatch):
    delta = 1e-9
    result = audit(NaiveBayesSynthesizer(epsilon=1.0, delta=delta), (FEW, MORE), total, 20, schema=BIT)
    assert result.epsilon_claimed == result.epsilon_nominal == pytest.approx(1.0)
    assert result.delta == delta
    assert not result.refutes_claim
    noisier = Noisier(epsilon=1.0, delta=delta)
    monkeypatch.setattr(Noisier, "times", 25)
    assert audit(noisier, (FEW, MORE), total, 60, schema=BIT).refutes_claim
    with pytest.raises(ParameterError, match="has its own delta"):
        audit(NaiveBayesSynthesizer(delta=delta), (FEW, MORE), total, 120, schema=BIT, delta=delta)


def test_bad_arguments_are_refused():
    method = NaiveBayesSynthesizer()
    with pytest.raises(ParameterError, match="schema"):
        audit(method, (FEW, MORE), float, 100)
    with pytest.raises(ParameterError, match="no seed"):
        audit(NaiveBayesSynthesizer(random_state=1), (FEW, MORE), float, 100, schema=BIT)
    with pytest.raises(ParameterError, match="20"):
        audit(lambda *_: pytest.fail("ran before the check"), (FEW, MORE), float, 19)
    values = np.arange(30.0)
    with pytest.raises(ParameterError, match="same number"):
        lower_bound_of_statistics(values, values[:20])
    for more in ({"alpha": 0.0}, {"alpha": 1.0}, {"delta": -0.1}, {"delta": 1.0}):
        with pytest.raises(ParameterError, match="probability"):
            lower_bound_of_statistics(values, values, **more)
    for outputs in (1, 21):  # one output would be copied to all runs, and look like certainty
        with pytest.raises(ParameterError, match="outputs"):
            audit(lambda frame, _, n=outputs: [float(len(frame))] * n, (FEW, MORE), float, 20)


PAIRS = np.triu_indices(12, 1)


def bits(d):
    return categorical({f"x{i:02}": "01" for i in range(d)}, kind="ordered", max_rows=20)


def frame(rows):
    return pd.DataFrame(rows, columns=list(bits(len(rows[0])).names))


def neighbors(n, ones):
    """Return n rows of 12 zeros, and the same with one row of `ones` ones."""
    zeros = np.zeros((n, 12), dtype=int)
    changed = zeros.copy()
    changed[-1, :ones] = 1
    return frame(zeros), frame(changed)


def entries_of(method, words):
    return [entry for entry in method.ledger_.entries if words in entry.name]


def test_noisy_pairs_of_12_bits_lose_six_times_what_they_claim():
    """Pairs of columns do not compose in parallel."""
    pair, claim = neighbors(40, ones=12), 1.0
    method = HMPrivBayes(mode="published", epsilon=claim * 27 / 11, random_state=0)  # the pairs' share is 11 : 8 : 8
    (entry,) = entries_of(method.fit(pair[0], schema=bits(12)), " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(claim)
    assert float(entry.epsilon_nominal) == pytest.approx(6 * claim)
    exact = NoPrivacy(score="MI", n_clusters=1)
    first, second = (exact.fit(table, schema=bits(12)).similarity_[PAIRS] for table in pair)
    assert not first.any()
    assert np.abs(second - first).sum() / entry.scale == pytest.approx(6 * claim)  # attained


def scales_of_two_tables(rows, epsilon):
    """Return the noise scales of x00 and x01, children of x02 (entropy 1), for a claim of 2."""
    how = {"mode": "published", "n_clusters": 1, "max_parents": 1, "eta": 0.0, "epsilon": epsilon}
    for seed in range(50):
        method = HMPrivBayes(**how, random_state=seed).fit(frame(rows), schema=bits(3))
        tables = entries_of(method, "counts of")
        scale = {entry.name.split()[2]: entry.scale for entry in tables}
        if method.families_[0] == ("x02 bit 1",) and len(scale) == 2:
            claimed = sum(entry.epsilon_claimed for entry in tables)
            return [scale[name] * float(claimed) / 2 for name in ("x00", "x01")]
    raise AssertionError("No seed gave a cluster with two tables.")


@pytest.mark.parametrize("epsilon", [1.0, 1e-4])
def test_noiseless_entropies_set_the_noise_whatever_epsilon_is(epsilon):
    """x00 has counts (2, 2) on one table, (3, 1) on the other; x01 and x02 have (2, 2) on both."""
    even, uneven = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], [[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
    assert scales_of_two_tables(even, epsilon) == pytest.approx([2, 2])
    found = scales_of_two_tables(uneven, epsilon)
    assert found == pytest.approx([1.828, 2.208], abs=5e-4)
    weights = math.exp(-1), math.exp(-(2 - 0.75 * math.log2(3)))
    assert found == pytest.approx([sum(weights) / weights[1], sum(weights) / weights[0]])


def test_noisy_indices_lose_more_than_they_claim():
    """A row of half ones among zeros lowers the Jaccard index of 36 of 66 pairs from 1 to 0."""
    pair, epsilon = neighbors(100, ones=6), 0.03
    method = PrivSCBN(mode="published", epsilon=epsilon, random_state=0).fit(pair[0], schema=bits(12))
    (entry,) = entries_of(method, " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(epsilon / 3)
    second = 1.0 - np.subtract.outer(np.arange(12) < 6, np.arange(12) < 6, dtype=int)[PAIRS]
    assert (second == 0).sum() == 36
    exact = PrivSCBN(mode="published", epsilon=1e9, n_clusters=1, random_state=0)
    for table, indices in zip(pair, (np.ones(66), second), strict=True):
        np.testing.assert_allclose(exact.fit(table, schema=bits(12)).similarity_[PAIRS], indices, atol=1e-3)
    assert 30 * float(entry.epsilon_claimed) < 36 / entry.scale <= entry.epsilon_nominal


# JTree: two blocks of m equal bits, 20 rows: 19 of zeros, and one with the ones of block A, or with those of block B.

ROWS = 20
INFORMATION = MutualInformation().score_table(np.array([[ROWS - 1, 0], [0, 1]]), "replace") * math.log(2)  # H(1/20)
SCALE = 2 * INFORMATION  # at a claimed epsilon of 1


def event_probability(information_a, information_b, pairs, threshold):
    """Return P[no pair of A is an edge, all pairs of B are] by the published rule, integrated."""
    rho, noise = np.linspace(-15, 15, 30_001), stats.laplace(scale=SCALE)
    below, above = noise.cdf(threshold + rho - information_a), noise.sf(threshold + rho - information_b)
    return float(integrate.trapezoid(noise.pdf(rho) * below**pairs * above**pairs, rho))


@pytest.mark.parametrize(
    ("threshold", "losses"), [(0.2**2 / 2, {1: 0.739, 2: 1.534, 10: 8.363}), (0.0, {1: 0.737, 2: 1.530, 10: 8.347})]
)
def test_comparisons_with_one_noisy_threshold_lose_more_with_every_pair(threshold, losses):
    assert pytest.approx(0.1985, abs=5e-5) == INFORMATION
    assert MutualInformation().bounds([(2, 2)], "replace", ROWS).sensitivity * math.log(2) == pytest.approx(INFORMATION)
    for pairs, loss in losses.items():
        likely, unlikely = (event_probability(a, b, pairs, threshold) for a, b in ((0, INFORMATION), (INFORMATION, 0)))
        assert math.log(likely / unlikely) == pytest.approx(loss, abs=6e-4)


RARE = 1e-3
NUMBER = Column(name="n", kind="continuous", lower=0, upper=10, bins=10)
CLASS = Column(name="y", kind="categorical", categories=("0", "1"))
SCHEMA = Schema(columns=(NUMBER, CLASS), target="y", max_rows=40)


def test_possible_split_points_do_not_depend_on_the_rows():
    """One record or none: points of the grid have random low bits, each equally probable."""
    parities, one = [], pd.DataFrame({"n": [3.7], "y": ["1"]})
    how = {"n_trees": 1_000, "epsilon": 10, "max_depth": 1, "resample": "full", "count_share": 0.0}
    for seed, frame in enumerate((one, one.head(0)), start=1):
        forest = DiffPRFs(**how, random_state=seed).fit(frame, schema=SCHEMA).forest_
        found = forest.cut[: forest.trees]
        assert (forest.column[: forest.trees] == 0).all()  # divided: no count is asked
        bits = np.floor(found / STEP).astype(np.int64)
        assert (found == np.maximum(bits * STEP, -1)).all()
        assert ((found >= -1) & (found < GRID)).all()
        assert stats.chisquare(np.bincount(bits % 2, minlength=2)).pvalue > RARE
        assert stats.chisquare(np.bincount(bits % 64, minlength=64)).pvalue > RARE
        assert stats.kstest((found + 1.5) / (GRID + 1), "uniform").pvalue > RARE
        parities.append(np.bincount(bits % 2, minlength=2))
    assert stats.chi2_contingency(parities).pvalue > RARE
