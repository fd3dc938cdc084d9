"""Rho and what it says: numbers worked out before, OpenDP's own conversion, and the theorems on small cases."""

import math
from fractions import Fraction

import numpy as np
import pytest
from booked import entry
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dpcore.accounting.currency import PURE, Currency, above, epsilon_of, rho_of, rho_of_pure
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.errors import BudgetError, ParameterError

DELTA = 1e-9
ORDERS = (1.01, 1.5, 2.0, 3.0, 10.0, 100.0)


def asked(rho, ledger):
    ledger.charge(entry(rho, unit="rho"))


def renyi(log_p, log_q, order):
    """The Rényi divergence of two distributions of one support."""
    return logsumexp(order * log_p - (order - 1) * log_q) / (order - 1)


def test_rho_of_an_epsilon_is_what_was_worked_out_before():
    for delta, rho in ((1e-5, 0.030557), (1e-6, 0.024356), (1e-9, 0.014973)):
        assert float(rho_of(1.0, delta)) == pytest.approx(rho, abs=5e-7)
        assert epsilon_of(rho, delta) == pytest.approx(1.0, abs=3e-5)


def test_opendp_converts_alike():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    for epsilon, delta in ((0.01, 1e-5), (1.0, 1e-9), (3.0, 1e-2), (100.0, 1e-30)):
        rho = float(rho_of(epsilon, delta))
        noise = opendp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
        found = opendp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)
        assert found == pytest.approx(epsilon, rel=1e-9), (epsilon, delta)


def line(rho, delta, alpha):
    """The bound of one order."""
    return rho * alpha + math.log(1 / (alpha * delta)) / (alpha - 1) + math.log(1 - 1 / alpha)


@given(st.floats(1e-6, 1e3), st.sampled_from([0.4, 1e-3, 1e-9, 1e-100]))
def test_no_order_says_less_and_the_way_back_is_never_too_much(rho, delta):
    found = epsilon_of(rho, delta)
    orders = 1 + np.exp(np.linspace(-12, min(-math.log(delta), 30), 400))
    least = max(min(line(rho, delta, alpha) for alpha in orders), 0.0)
    assert least * (1 - 1e-3) - 1e-3 <= found <= least * (1 + 1e-6) + 1e-6  # as good as any
    assert epsilon_of(rho * 1.01, delta) >= found
    if found > 1e-3:
        back = rho_of(found, delta)
        assert epsilon_of(above(back), delta) <= found
        assert float(back) == pytest.approx(rho, rel=1e-6)


def test_nothing_and_everything():
    rho = Currency.of(DELTA)
    assert rho.amount(0.0) == rho.epsilon(Fraction(0)) == 0
    assert rho.amount(math.inf) == rho.epsilon(math.inf) == math.inf
    assert rho.scale(Fraction(0), 1.0) == PURE.scale(Fraction(0), 1.0) == math.inf
    assert Currency.of(0) is PURE
    assert Currency.of(0.0).amount(0.1) == Fraction(0.1)
    for wrong in (-1e-9, 1.0, math.nan, "1e-9", 1e-310, True):
        with pytest.raises(ParameterError, match="delta"):
            Currency.of(wrong)


def test_a_table_moves_by_one_or_by_the_root_of_two():
    rho = Currency.of(DELTA)
    assert [rho.histogram(relation) for relation in Relation] == [math.sqrt(2), 1.0]
    assert [PURE.histogram(relation) for relation in Relation] == [2, 1]
    for relation in Relation:
        share = Fraction(1, 50)
        assert rho.scale(share, rho.histogram(relation)) ** 2 == pytest.approx(relation.histogram_l1 * 25)
    assert rho.scale(share, 0.5, 7) ** 2 == pytest.approx(7 * 0.25 * 25)
    assert PURE.scale(share, 0.5, 7) == pytest.approx(7 * 0.5 * 50)


def exponential(scores, x):
    """Logs of the chances of the exponential mechanism whose exponent moves by x at most: sensitivity 1."""
    return x / 2 * scores - logsumexp(x / 2 * scores)


def test_an_exponential_mechanism_costs_an_eighth_of_the_square():
    """The worst scores for many candidates, found by trying: near the bound, and never above."""
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
        assert Currency.of(DELTA).exponent(Fraction(x) ** 2 / 8) == pytest.approx(x)


def test_pure_epsilon_is_worth_half_its_square():
    """Randomized response is the worst of all."""
    for x in (0.1, 1.0, 5.0):
        log_p = np.log([math.exp(x) / (1 + math.exp(x)), 1 / (1 + math.exp(x))])
        found = [renyi(log_p, log_p[::-1], order) / order for order in ORDERS]
        assert max(found) <= float(rho_of_pure(Fraction(x)))
    assert rho_of_pure(Fraction(1, 10)) == Fraction(1, 200)


def test_rho_adds_up_exactly_and_the_totals_are_its_epsilons():
    ledger = Ledger("replace", epsilon=1.0, delta=DELTA)
    for _ in range(3):
        asked(Fraction(1, 300), ledger)
    assert ledger.totals.bound == Fraction(1, 100)
    assert ledger.epsilon_bound == epsilon_of(above(Fraction(1, 100)), DELTA)
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

    assert cost(parts_by("label")) == 1  # the dearest
    assert cost(parts_by("value")) == 2  # a replaced row leaves one and enters another
    assert cost(lambda ledger: [ledger.child("a"), ledger.child("b")]) == 2
    assert cost(lambda ledger: [ledger.self_composed("trees", 5)]) == 5
    assert cost(lambda ledger: [ledger.group(5)]) == 25
    assert cost(lambda ledger: list(parts_by("value")(ledger.group(3)))) == 18
    pure = Ledger("replace").group(5)
    assert pure._prices.bound(Fraction(1)) == 5


def test_currencies_and_deltas_are_not_mixed():
    rho, pure = Ledger("replace", delta=DELTA), Ledger("replace")
    with pytest.raises(ParameterError, match="counts pure epsilon"):
        asked(0.1, pure)
    with pytest.raises(ParameterError, match="counts rho at delta 1e-09"):
        rho.charge(entry(1))
    for other in (pure, Ledger("replace", delta=1e-6)):
        with pytest.raises(ParameterError, match="different currencies"):
            rho.attach(other)
    assert not rho.entries
    for sampled in (lambda: rho.poisson_subsampled("s", 0.5, 0.1), lambda: rho.bootstrap("b", 10)):
        with pytest.raises(ParameterError, match="pure epsilon only"):
            sampled()
    assert rho.attach(Ledger("replace", delta=DELTA)).delta == rho.child("c").delta == DELTA


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-9), (0.1, 1e-6)])
def test_what_somebody_gains_is_more_than_epsilon_but_for_a_chance_of_delta(epsilon, delta):
    """One count with discrete Gaussian noise: the chance of a loss above, summed over all answers."""
    currency = Currency.of(delta)
    rho = currency.amount(epsilon)
    sigma = currency.scale(rho, 1.0)
    z = np.arange(-int(12 * sigma), int(12 * sigma) + 2)
    chances = np.exp(-(z.astype(float) ** 2) / (2 * sigma**2))
    chances /= chances.sum()
    loss = (1 - 2.0 * z) / (2 * sigma**2)  # of an answer z + n, beside the same answer with one more row
    assert chances[loss > epsilon].sum() > 2 * delta  # so that epsilon alone says nothing of what is gained
    assert chances[loss > currency.gained(rho)].sum() <= delta
    assert Currency.of(0.0).gained(rho) == float(rho)


def test_tiny_budgets_come_to_an_end():
    assert Ledger("replace", epsilon=1e-158, delta=1e-200).delta == 1e-200
