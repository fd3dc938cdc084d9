"""Prices of questions about random samples: against brute force, and in the ledger."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, poisson

from dpcore.accounting.amplification import LARGEST, bootstrap_loss, poisson_inside
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Relation
from dpcore.errors import BudgetError, ParameterError

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
RELATIONS = [ADD, REPLACE]


def entry(bound, claimed=None):
    paid = Fraction(bound)
    return Entry(
        name="q",
        mechanism="laplace",
        epsilon_claimed=paid if claimed is None else Fraction(claimed),
        epsilon_of_noise=paid,
        sensitivity=1.0,
        claimed_sensitivity=1.0,
        scale=1.0,
    )


# Poisson samples


@pytest.mark.parametrize("rate", [2**-40, 0.01, 0.2, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.04, 1.0, 3.0, 30.0, 400.0])
def test_the_price_outside_a_poisson_sample_is_met_and_never_exceeded(epsilon, rate):
    inside = poisson_inside(epsilon, rate)
    assert isinstance(inside, Fraction)
    paid = math.log1p(rate * math.expm1(float(inside)))
    assert paid == pytest.approx(epsilon, rel=1e-12)
    assert inside >= epsilon * (1 - 1e-12)  # a sample never costs more than all rows


def test_a_poisson_sample_by_hand():
    """ln(1 + (e - 1) / .2) = ln(9.5914...)."""
    assert float(poisson_inside(1.0, 0.2)) == pytest.approx(2.260867, abs=1e-6)
    assert float(poisson_inside(Fraction(1, 25), 0.5)) == pytest.approx(math.log(2 * math.exp(0.04) - 1))


def test_a_poisson_samples_ends():
    assert poisson_inside(0, 0.2) == 0
    assert poisson_inside(math.inf, 0.2) == math.inf
    assert float(poisson_inside(5e-324, 0.2)) < 1e-322
    for big in (499.9, 500.0, 700.0, 1e6):  # both sides of the switch
        assert float(poisson_inside(big, 0.2)) == pytest.approx(big + math.log(5), rel=1e-14)


@pytest.mark.parametrize("rate", [1e-320, 5e-324, 1e-17, 0.3 * 2**-53])
def test_rates_below_what_lots_can_tell_apart_cost_as_the_smallest_lot(rate):
    """The lot 0 is below any rate, so a row is in the sample with a probability of 2^-53 at least."""
    assert poisson_inside(1.0, rate) == poisson_inside(1.0, 2**-53)
    assert float(poisson_inside(1.0, rate)) == pytest.approx(math.log(math.expm1(1) * 2**53))


def test_a_poisson_samples_loss_is_reached_by_randomized_response():
    """Theorem 8's bound is tight: a question that answers "in" with e^x / (1 + e^x) if the row is there."""
    rate, inside = 0.3, float(poisson_inside(0.7, 0.3))
    there, away = math.exp(inside) / (1 + math.exp(inside)), 1 / (1 + math.exp(inside))
    assert math.log((rate * there + (1 - rate) * away) / away) == pytest.approx(0.7)


# Bootstrap samples


def largest_ratio(x, rows, most=12):
    """The largest ratio of sum p_k P_k to sum p_k Q_k, as a linear program for the two sums' values scaled."""
    k = np.arange(min(rows, most) + 1)
    p = binom.pmf(k, rows, 1 / rows)
    size = len(k)
    # Variables: P_0 .. P_K, Q_0 .. Q_K, scaled so that sum p_k Q_k = 1.
    above, upper = [], np.exp(k * x)
    for i in range(size):
        for of, under, most in ((i, size + i, upper[i]), (i, 0, upper[i]), (0, size + i, upper[i])):
            row = np.zeros(2 * size)
            row[of] += 1.0
            row[under] -= most
            above.append(row)
    equal = np.zeros((2, 2 * size))
    equal[0, [0, size]] = 1.0, -1.0
    equal[1, size:] = p
    found = linprog(np.append(-p, np.zeros(size)), np.array(above), np.zeros(len(above)), equal, [0.0, 1.0])
    return -found.fun


@pytest.mark.parametrize("rows", [1, 2, 5, 12])
@pytest.mark.parametrize("x", [0.04, 0.3, 1.0])
def test_a_bootstraps_price_is_the_linear_programs(x, rows):
    assert math.exp(float(bootstrap_loss(x, REPLACE, rows))) == pytest.approx(largest_ratio(x, rows), rel=1e-5)


@pytest.mark.parametrize("rows", [1, 7, 1_000])
@pytest.mark.parametrize("x", [0.1, 1.0, 2.0, 3.5])
def test_a_bootstraps_price_is_the_best_of_all_thresholds(x, rows):
    """At the optimum each k is at a = k or at a = 0, those above some k at the first: try all, with whole sums."""
    k = np.arange(min(rows, 4_000) + 1)
    p = binom.pmf(k, rows, 1 / rows)
    # Beyond this k the sum of e^(kx) p_k no longer fits in a float for some, and no longer matters.
    k, p = k[k * x < 600], p[k * x < 600]
    up, down = p * np.exp(k * x), p * np.exp(-k * x)
    ratios = [(p[:cut].sum() + up[cut:].sum()) / (down[:cut].sum() + p[cut:].sum()) for cut in range(len(k) + 1)]
    assert float(bootstrap_loss(x, REPLACE, rows)) == pytest.approx(math.log(max(ratios)), rel=1e-9)


@pytest.mark.parametrize(("x", "price"), [(0.04, 0.0408), (0.1, 0.1054), (0.5, 0.6718), (1.0, 1.8626), (2.0, 7.1457)])
def test_a_bootstraps_price_on_many_rows(x, price):
    assert float(bootstrap_loss(x, REPLACE, 10**6)) == pytest.approx(price, abs=5e-5)


def test_one_row_is_drawn_once():
    for x in (1e-30, 0.5, 7.0, 9.0):
        assert float(bootstrap_loss(x, REPLACE, 1)) == pytest.approx(x)
    assert bootstrap_loss(1.0, REPLACE, 0) == bootstrap_loss(1.0, REPLACE, 1)


@pytest.mark.parametrize("x", [1e-9, 1e-3, 0.0999999, 0.1, 0.5, 1.0, 2.0, 3.0])
def test_an_added_rows_price_is_the_poisson_sum(x):
    k = np.arange(3_000)
    with np.errstate(divide="ignore"):
        log_terms = poisson.logpmf(k, 1.0) + x * np.maximum(1, 2 * k - 1)
    largest = log_terms.max()
    total = largest + math.log(math.fsum(np.exp(log_terms - largest)))
    assert float(bootstrap_loss(x, ADD, 5)) == pytest.approx(total, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("x", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("rows", [1, 2, 5, 50])
def test_an_added_rows_price_holds_for_every_number_of_rows(x, rows):
    """Binomial draws of the larger table's rows cost less than the limit; and both directions do."""
    k = np.arange(rows + 1)
    p, differ = binom.pmf(k, rows, 1 / rows), np.maximum(1, 2 * k - 1)
    price = float(bootstrap_loss(x, ADD, rows))
    assert math.log(p @ np.exp(x * differ)) <= price + 1e-15
    assert -math.log(p @ np.exp(-x * differ)) - 1e-15 <= x * (p @ differ) <= price


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_bootstraps_price_rises_and_is_at_least_one_draws(relation):
    xs = [0, 5e-324, 1e-300, 1e-20, 1e-16, 1e-12, 1e-9, 1e-4, 0.0999, 0.1, 0.1001, 1, 5, LARGEST, 8.001, 20, 340, 1e4]
    prices = [bootstrap_loss(x, relation, 60) for x in xs]
    assert all(low <= high for low, high in pairwise(prices))
    assert all(price >= x for price, x in zip(prices, xs, strict=True))
    assert prices[0] == 0
    assert bootstrap_loss(math.inf, relation, 60) == math.inf


def test_a_large_bootstrap_costs_what_all_copies_do():
    assert bootstrap_loss(9.0, REPLACE, 30) == 270
    assert bootstrap_loss(1e300, ADD, 30) == math.inf
    assert float(bootstrap_loss(8.0, REPLACE, 30)) <= 240


# Ledgers


def test_repeated_accounts_count_as_often():
    ledger = Ledger("add_remove", epsilon=1)
    tree = ledger.repeated("trees", 25)
    tree.charge(entry(Fraction(1, 50)))
    tree.charge(entry(Fraction(1, 100), claimed=Fraction(1, 200)))
    assert (ledger.totals.bound, ledger.totals.claimed) == (Fraction(3, 4), Fraction(5, 8))
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        tree.charge(entry(Fraction(1, 99)))
    tree.charge(entry(Fraction(1, 100)))
    assert ledger.totals.bound == 1
    assert len(ledger.entries) == 3
    nested = Ledger("replace")
    nested.repeated("a", 2).repeated("b", 3).charge(entry(1))
    assert nested.totals.bound == 6


def test_infinite_costs_pass_through_every_kind():
    for open_account in (
        lambda ledger: ledger.repeated("r", 3),
        lambda ledger: ledger.bootstrapped("b", 10),
        lambda ledger: ledger.repeated("r", 3).bootstrapped("b", 10).parallel("p", by="value").part("q"),
    ):
        for relation in RELATIONS:
            ledger = Ledger(relation)
            account = open_account(ledger)
            account.charge(entry(1))
            leak = Entry(**{**vars(entry(1)), "epsilon_of_noise": math.inf})
            account.charge(leak)
            account.charge(entry(1))
            assert ledger.epsilon_bound == math.inf
            assert math.isfinite(ledger.epsilon_claimed)


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_a_sampled_accounts_cap_costs_exactly_what_was_asked(relation, moved):
    whole = Fraction(1, 25)
    ledger = Ledger(relation, epsilon=whole)
    sample = ledger.sampled("a sample", 0.2, whole)
    assert sample.relation is ADD  # a row that is replaced leaves and comes
    assert sample.plan == poisson_inside(whole / moved, 0.2)
    for part in (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)):
        sample.charge(entry(sample.plan * part))
    assert ledger.totals.bound == ledger.totals.claimed == whole
    with pytest.raises(BudgetError, match="a sample"):
        sample.charge(entry(Fraction(1, 10**12)))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_below_the_cap_the_charge_is_no_less_than_the_truth(relation, rate, epsilon):
    for part in (0.001, 0.1, 0.5, 0.9, 1.0):
        ledger = Ledger(relation)
        sample = ledger.sampled("a sample", rate, epsilon)
        sample.charge(entry(sample.plan * Fraction(part)))
        truth = relation.histogram_l1 * math.log1p(rate * math.expm1(part * float(sample.plan)))
        assert ledger.epsilon_bound >= truth * (1 - 1e-12)
        assert ledger.epsilon_bound == pytest.approx(part * epsilon)


def test_a_sample_that_may_spend_nothing():
    ledger = Ledger("add_remove", epsilon=1)
    sample = ledger.sampled("a sample", 0.2, 0)
    assert sample.plan == 0
    sample.charge(entry(0))
    with pytest.raises(BudgetError):
        sample.charge(entry(Fraction(1, 10**9)))


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_bootstrapped_account_claims_what_it_paid_and_is_bounded_by_its_price(relation):
    ledger = Ledger(relation)
    sample = ledger.bootstrapped("a sample", 50)
    for _ in range(4):
        sample.charge(entry(Fraction(1, 8)))
    assert ledger.totals.claimed == Fraction(1, 2)
    assert ledger.totals.bound == bootstrap_loss(Fraction(1, 2), relation, 50)  # of the sum, not the sum of prices
    assert sample.totals.bound == Fraction(1, 2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_trees_on_bootstrap_samples_with_leaves_in_parallel(relation):
    """25 times what is drawn in one, whose two groups of leaves count as the dearer; twice that if rows may move."""
    ledger = Ledger(relation)
    tree = ledger.repeated("trees", 25).bootstrapped("a sample", 50)
    group = tree.parallel("", by="value", plainly_claimed=True)
    account = group.part("")
    account.charge(entry(Fraction(1, 100)))
    leaves = account.parallel("", by="value")
    cheap, dear = leaves.part("cheap"), leaves.part("dear")
    cheap.charge(entry(Fraction(1, 100)))
    dear.charge(entry(Fraction(3, 100)))
    cheap.charge(entry(Fraction(1, 100)))
    inside = Fraction(4, 100)
    assert ledger.totals.claimed == 25 * inside
    assert ledger.totals.bound == 25 * bootstrap_loss(inside * relation.histogram_l1, relation, 50)


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_disjoint_trees_by_lot_count_once_and_nodes_by_value_twice_under_replace(relation, moved):
    ledger = Ledger(relation, epsilon=1)
    trees = ledger.parallel("trees", by="label")
    first = trees.part("").parallel("", by="value").part("")
    assert first.share_of(1) == Fraction(1, moved)
    first.charge(entry(Fraction(1, moved)))
    assert ledger.totals.bound == 1
    trees.part("another").parallel("", by="value").part("").charge(entry(Fraction(1, moved)))
    assert ledger.totals.bound == 1
    with pytest.raises(BudgetError):
        first.charge(entry(Fraction(1, 10**9)))


@pytest.mark.parametrize("relation", RELATIONS)
def test_nodes_of_poisson_samples_are_not_charged_twice(relation):
    ledger = Ledger(relation, epsilon=1)
    sample = ledger.repeated("trees", 4).sampled("a sample", 0.3, Fraction(1, 4))
    nodes = sample.parallel("", by="value").part("")
    assert nodes.share_of(sample.plan) == sample.plan
    nodes.charge(entry(sample.plan))
    assert ledger.totals.bound == 1


def test_a_cap_above_several_kinds_stops_a_charge_that_leaves_no_trace():
    ledger = Ledger("replace", epsilon=0.5)
    account = ledger.repeated("trees", 5).bootstrapped("a sample", 50).parallel("", by="value").part("")
    account.charge(entry(Fraction(1, 50)))
    before = ledger.totals.bound
    with pytest.raises(BudgetError):
        account.charge(entry(Fraction(1, 10)))
    assert ledger.totals.bound == before
    assert account.totals.bound == Fraction(1, 50)
    assert len(ledger.entries) == 1


def test_names_that_are_empty_are_left_out_of_scopes():
    ledger = Ledger("replace", name="run")
    account = ledger.repeated("2 trees, each", 2).parallel("", by="value").part("")
    account.charge(entry(1))
    account.parallel("", by="value").part("leaves of level 1").charge(entry(1))
    ledger.parallel("", by="label").part("").charge(entry(1))
    assert ledger.to_frame()["scope"].tolist() == ["2 trees, each", "2 trees, each / leaves of level 1", ""]
    assert ledger.to_frame()["relation"].tolist() == ["add_remove", "add_remove", "replace"]


def test_a_group_charges_its_parts_alone():
    ledger = Ledger("replace")
    with pytest.raises(ParameterError, match="parts"):
        ledger.repeated("r", 2).part("x")
    with pytest.raises(ParameterError, match="no part"):
        ledger.repeated("r", 2).share_of(1)
    with pytest.raises(ParameterError, match="no rows of its own"):
        ledger.sampled("s", 0.5, 1).parallel("", by="value").charge(entry(1))
