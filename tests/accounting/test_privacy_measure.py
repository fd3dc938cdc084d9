"""Tests of rho, its epsilons and losses on samples, by reference values and small cases."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import entry
from scipy.optimize import linprog
from scipy.special import logsumexp
from scipy.stats import binom, poisson

from dpcore.accounting import privacy_measure
from dpcore.accounting.amplification import LARGEST, bootstrap_loss, poisson_inside
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import PURE, PrivacyMeasure, epsilon_from_rho, rho_from_epsilon, rho_from_pure
from dpcore.accounting.relation import Relation
from dpcore.errors import BudgetError, ParameterError

DELTA = 1e-9
ORDERS = (1.01, 1.5, 2.0, 3.0, 10.0, 100.0)


def asked(rho, ledger):
    ledger.charge(entry(rho, unit="rho"))


def renyi(log_p, log_q, order):
    """Return the Rényi divergence of two distributions with the same support."""
    return logsumexp(order * log_p - (order - 1) * log_q) / (order - 1)


def test_rho_of_an_epsilon_equals_a_reference_value():
    for delta, rho in ((1e-5, 0.030557), (1e-6, 0.024356), (1e-9, 0.014973)):
        assert float(rho_from_epsilon(1.0, delta)) == pytest.approx(rho, abs=5e-7)
        assert epsilon_from_rho(rho, delta) == pytest.approx(1.0, abs=3e-5)


def test_opendp_converts_rho_alike():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    for epsilon, delta in ((0.01, 1e-5), (1.0, 1e-9), (3.0, 1e-2), (100.0, 1e-30)):
        rho = float(rho_from_epsilon(epsilon, delta))
        noise = opendp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
        found = opendp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)
        assert found == pytest.approx(epsilon, rel=1e-9), (epsilon, delta)


@given(st.floats(1e-6, 1e3), st.sampled_from([0.4, 1e-3, 1e-9, 1e-100]))
def test_epsilon_is_the_least_of_all_orders_and_its_rho_never_too_large(rho, delta):
    found = epsilon_from_rho(rho, delta)
    orders = 1 + np.exp(np.linspace(-12, min(-math.log(delta), 30), 4_000))
    bounds = rho * orders + np.log(1 / (orders * delta)) / (orders - 1) + np.log(1 - 1 / orders)
    least = max(bounds.min(), 0.0)
    assert least * (1 - 1e-3) - 1e-3 <= found <= least * (1 + 1e-6) + 1e-6  # as good as any
    assert epsilon_from_rho(rho * 1.01, delta) >= found
    if found > 1e-3:
        back = rho_from_epsilon(found, delta)
        assert epsilon_from_rho(privacy_measure.round_up(back), delta) <= found
        assert float(back) == pytest.approx(rho, rel=1e-6)


def test_conversions_of_zero_tiny_and_infinite_losses():
    rho = PrivacyMeasure.from_delta(DELTA)
    assert rho.loss_of(0.0) == rho.epsilon(Fraction(0)) == 0
    assert rho.loss_of(math.inf) == rho.epsilon(math.inf) == math.inf
    assert rho.scale(Fraction(0), 1.0) == PURE.scale(Fraction(0), 1.0) == math.inf
    assert PrivacyMeasure.from_delta(0) is PURE
    assert PrivacyMeasure.from_delta(0.0).loss_of(0.1) == Fraction(0.1)
    assert Ledger("replace", epsilon=1e-158, delta=1e-200).delta == 1e-200  # which comes to an end
    for wrong in (-1e-9, 1.0, math.nan, "1e-9", 1e-310, True):
        with pytest.raises(ParameterError, match="delta"):
            PrivacyMeasure.from_delta(wrong)


def test_histogram_sensitivity_is_one_two_or_the_root_of_two():
    rho = PrivacyMeasure.from_delta(DELTA)
    assert [rho.histogram_sensitivity(relation) for relation in Relation] == [math.sqrt(2), 1.0]
    assert [PURE.histogram_sensitivity(relation) for relation in Relation] == [2, 1]
    for relation in Relation:
        share = Fraction(1, 50)
        assert rho.scale(share, rho.histogram_sensitivity(relation)) ** 2 == pytest.approx(relation.histogram_l1 * 25)
    assert rho.scale(share, 0.5, 7) ** 2 == pytest.approx(7 * 0.25 * 25)
    assert PURE.scale(share, 0.5, 7) == pytest.approx(7 * 0.5 * 50)


def exponential(scores, x):
    """Return log-probabilities of the exponential mechanism of exponent change x."""
    return x / 2 * scores - logsumexp(x / 2 * scores)


def test_rho_of_an_exponential_mechanism_is_an_eighth_of_the_square():
    """The worst scores found for many candidates come near the bound and never exceed it."""
    rng = np.random.default_rng(8)
    for x in (0.1, 1.0, 4.0):
        worst = 0.0
        for many in (2, 3, 10, 100):
            for _ in range(20):
                scores = rng.normal(0, rng.choice([0.1, 1, 30]) / x, many)
                moved = scores + rng.choice([-1.0, 1.0], many)
                pair = exponential(scores, x), exponential(moved, x)
                worst = max(worst, *(renyi(*pair, order) / order for order in ORDERS))
        assert 0.8 * x * x / 8 < worst <= x * x / 8 * (1 + 1e-9)
        assert PrivacyMeasure.from_delta(DELTA).selection_exponent(Fraction(x) ** 2 / 8) == pytest.approx(x)


def test_rho_of_pure_epsilon_is_half_its_square():
    """Randomized response is the worst case."""
    for x in (0.1, 1.0, 5.0):
        log_p = np.log([math.exp(x) / (1 + math.exp(x)), 1 / (1 + math.exp(x))])
        found = [renyi(log_p, log_p[::-1], order) / order for order in ORDERS]
        assert max(found) <= float(rho_from_pure(Fraction(x)))
    assert rho_from_pure(Fraction(1, 10)) == Fraction(1, 200)


def test_rho_adds_up_exactly_and_the_totals_are_its_epsilons():
    ledger = Ledger("replace", epsilon=1.0, delta=DELTA)
    for _ in range(3):
        asked(Fraction(1, 300), ledger)
    assert ledger.totals.bound == Fraction(1, 100)
    assert ledger.epsilon_bound == epsilon_from_rho(privacy_measure.round_up(Fraction(1, 100)), DELTA)
    assert (ledger.delta, Ledger("replace").delta) == (DELTA, 0.0)
    frame = ledger.to_frame()
    assert frame["rho_nominal"].tolist() == [1 / 300] * 3
    assert "epsilon_nominal" not in frame
    assert ledger.to_dict()["delta"] == DELTA
    assert ledger.to_dict()["rho_bound"] == pytest.approx(0.01)
    with pytest.raises(BudgetError, match=r"needs a total of epsilon .* capped at 1 at delta 1e-09"):
        asked(Fraction(1, 100), ledger)  # .02 are more than .01497
    ledger.void_because("of a test")
    assert math.isinf(ledger.epsilon_bound)
    assert ledger.epsilon_nominal < 1


def test_rho_of_disjoint_rows_persons_and_repetitions():
    def cost(account, *parts):
        ledger = Ledger("replace", delta=DELTA)
        for part in account(ledger):
            asked(Fraction(1, 100), part)
        return ledger.totals.bound * 100

    def parts_by(how):
        return lambda ledger: map(ledger.parallel("g", by=how).part, "abc")

    assert cost(parts_by("label")) == 1  # the largest
    assert cost(parts_by("value")) == 2  # a replaced row leaves one and enters another
    assert cost(lambda ledger: [ledger.child("a"), ledger.child("b")]) == 2
    assert cost(lambda ledger: [ledger.self_composed("trees", 5)]) == 5
    assert cost(lambda ledger: [ledger.group(5)]) == 25
    assert cost(lambda ledger: list(parts_by("value")(ledger.group(3)))) == 18
    pure = Ledger("replace").group(5)
    assert pure._losses.noise_rule(Fraction(1)) == 5


def test_privacy_measures_and_deltas_are_not_mixed():
    rho, pure = Ledger("replace", delta=DELTA), Ledger("replace")
    with pytest.raises(ParameterError, match="counts pure epsilon"):
        asked(0.1, pure)
    with pytest.raises(ParameterError, match="counts rho at delta 1e-09"):
        rho.charge(entry(1))
    for other in (pure, Ledger("replace", delta=1e-6)):
        with pytest.raises(ParameterError, match="different privacy measures"):
            rho.attach(other)
    assert not rho.entries
    for sampled in (lambda: rho.poisson_subsampled("s", 0.5, 0.1), lambda: rho.bootstrap("b", 10)):
        with pytest.raises(ParameterError, match="needs pure epsilon"):
            sampled()
    assert rho.attach(Ledger("replace", delta=DELTA)).delta == rho.child("c").delta == DELTA


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-9), (0.1, 1e-6)])
def test_log_odds_exceed_their_bound_with_probability_delta_at_most(epsilon, delta):
    """For a count with discrete Gaussian noise, sum the probabilities of larger losses."""
    measure = PrivacyMeasure.from_delta(delta)
    rho = measure.loss_of(epsilon)
    sigma = measure.scale(rho, 1.0)
    z = np.arange(-int(12 * sigma), int(12 * sigma) + 2)
    chances = np.exp(-(z.astype(float) ** 2) / (2 * sigma**2))
    chances /= chances.sum()
    loss = (1 - 2.0 * z) / (2 * sigma**2)  # of an answer z + n, beside the same answer with one more row
    assert chances[loss > epsilon].sum() > 2 * delta  # so that epsilon alone says nothing of what is gained
    assert chances[loss > measure.log_odds_gained(rho)].sum() <= delta
    assert PrivacyMeasure.from_delta(0.0).log_odds_gained(rho) == float(rho)


ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


def test_loss_outside_a_poisson_sample_is_reached_and_never_exceeded():
    for epsilon, rate in product((1e-9, 1e-3, 0.04, 1.0, 3.0, 30.0, 400.0), (2**-40, 0.01, 0.2, 0.5, 0.99, 1.0)):
        inside = poisson_inside(epsilon, rate)
        assert isinstance(inside, Fraction)
        assert math.log1p(rate * math.expm1(float(inside))) == pytest.approx(epsilon, rel=1e-12), (epsilon, rate)
        assert inside >= epsilon * (1 - 1e-12), (epsilon, rate)  # a sample never costs more than all rows


def test_a_poisson_sample_by_hand():
    """ln(1 + (e - 1) / .2) = ln(9.5914...)."""
    assert float(poisson_inside(1.0, 0.2)) == pytest.approx(2.260867, abs=1e-6)
    assert float(poisson_inside(Fraction(1, 25), 0.5)) == pytest.approx(math.log(2 * math.exp(0.04) - 1))
    assert poisson_inside(0, 0.2) == 0
    assert poisson_inside(math.inf, 0.2) == math.inf
    assert float(poisson_inside(5e-324, 0.2)) < 1e-322
    for big in (499.9, 500.0, 700.0, 1e6):  # both sides of the switch
        assert float(poisson_inside(big, 0.2)) == pytest.approx(big + math.log(5), rel=1e-14)
    # The draw 0 is below any rate, so a row is in the sample with a probability of 2^-53 at least.
    rare = {poisson_inside(1.0, rate) for rate in (5e-324, 1e-17, 2**-53)}
    assert float(*rare) == pytest.approx(math.log(math.expm1(1) * 2**53))
    # Theorem 8's bound is tight: a question that answers "in" with e^x / (1 + e^x) if the row is there.
    rate, inside = 0.3, float(poisson_inside(0.7, 0.3))
    there, away = math.exp(inside) / (1 + math.exp(inside)), 1 / (1 + math.exp(inside))
    assert math.log((rate * there + (1 - rate) * away) / away) == pytest.approx(0.7)


def largest_ratio(x, rows, most=12):
    """Return the largest ratio of sum p_k P_k to sum p_k Q_k, by a linear program."""
    k = np.arange(min(rows, most) + 1)
    p = binom.pmf(k, rows, 1 / rows)
    size = len(k)
    # Variables: P_0 .. P_K, Q_0 .. Q_K, scaled so that sum p_k Q_k = 1.
    above = np.zeros((3 * size, 2 * size))
    for i, most in enumerate(np.exp(k * x)):
        for row, (of, under) in enumerate(((i, size + i), (i, 0), (0, size + i)), 3 * i):
            above[row, of] += 1.0
            above[row, under] -= most
    equal = np.zeros((2, 2 * size))
    equal[0, [0, size]] = 1.0, -1.0
    equal[1, size:] = p
    found = linprog(np.append(-p, np.zeros(size)), above, np.zeros(3 * size), equal, [0.0, 1.0])
    return -found.fun


def test_loss_of_a_bootstrap_sample_equals_the_linear_programs():
    for x, rows in (*product((0.04, 0.3, 1.0), (1, 2, 5, 12)), *product((2.0, 3.5), (1, 3, 5))):
        loss = float(bootstrap_loss(x, REPLACE, rows))
        assert math.exp(loss) == pytest.approx(largest_ratio(x, rows), rel=1e-5), (x, rows)
    for x, loss in ((0.04, 0.0408), (0.1, 0.1054), (0.5, 0.6718), (1.0, 1.8626), (2.0, 7.1457)):
        assert float(bootstrap_loss(x, REPLACE, 10**6)) == pytest.approx(loss, abs=5e-5)
    for x in (1e-30, 0.5, 7.0, 9.0):  # one row is drawn once
        assert float(bootstrap_loss(x, REPLACE, 1)) == pytest.approx(x)
    assert bootstrap_loss(1.0, REPLACE, 0) == bootstrap_loss(1.0, REPLACE, 1)


def test_loss_of_an_added_row_is_the_poisson_sum_for_every_number_of_rows():
    """The loss with binomial draws is below the limit, in both directions."""
    k = np.arange(3_000)
    for x in (1e-9, 1e-3, 0.0999999, 0.1, 0.5, 1.0, 2.0, 3.0):
        with np.errstate(divide="ignore"):
            log_terms = poisson.logpmf(k, 1.0) + x * np.maximum(1, 2 * k - 1)
        total = log_terms.max() + math.log(math.fsum(np.exp(log_terms - log_terms.max())))
        assert float(bootstrap_loss(x, ADD, 5)) == pytest.approx(total, rel=1e-9, abs=1e-15), x
    for x, rows in product((0.01, 0.3, 1.0), (1, 2, 5, 50)):
        k = np.arange(rows + 1)
        p, differ = binom.pmf(k, rows, 1 / rows), np.maximum(1, 2 * k - 1)
        loss = float(bootstrap_loss(x, ADD, rows))
        assert math.log(p @ np.exp(x * differ)) <= loss + 1e-15
        assert -math.log(p @ np.exp(-x * differ)) - 1e-15 <= x * (p @ differ) <= loss


def test_loss_of_a_bootstrap_sample_rises_and_is_at_least_that_of_one_draw():
    xs = [0, 5e-324, 1e-300, 1e-20, 1e-16, 1e-12, 1e-9, 1e-4, 0.0999, 0.1, 0.1001, 1, 5, LARGEST, 8.001, 20, 340, 1e4]
    for relation in Relation:
        losses = [bootstrap_loss(x, relation, 60) for x in xs]
        assert all(low <= high for low, high in pairwise(losses))
        assert all(loss >= x for loss, x in zip(losses, xs, strict=True))
        assert losses[0] == 0
        assert bootstrap_loss(math.inf, relation, 60) == math.inf
    # A large one costs what all copies do.
    assert bootstrap_loss(9.0, REPLACE, 30) == 270
    assert bootstrap_loss(1e300, ADD, 30) == math.inf
    assert float(bootstrap_loss(8.0, REPLACE, 30)) <= 240
