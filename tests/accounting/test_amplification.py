"""Prices of questions about random samples, against brute force; what ledgers make of them is in `test_ledger`."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, poisson

from dpcore.accounting.amplification import LARGEST, bootstrap_loss, poisson_inside
from dpcore.accounting.relation import Relation

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


def test_the_price_outside_a_poisson_sample_is_met_and_never_exceeded():
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
    # The lot 0 is below any rate, so a row is in the sample with a probability of 2^-53 at least.
    rare = {poisson_inside(1.0, rate) for rate in (5e-324, 1e-17, 2**-53)}
    assert float(*rare) == pytest.approx(math.log(math.expm1(1) * 2**53))
    # Theorem 8's bound is tight: a question that answers "in" with e^x / (1 + e^x) if the row is there.
    rate, inside = 0.3, float(poisson_inside(0.7, 0.3))
    there, away = math.exp(inside) / (1 + math.exp(inside)), 1 / (1 + math.exp(inside))
    assert math.log((rate * there + (1 - rate) * away) / away) == pytest.approx(0.7)


def largest_ratio(x, rows, most=12):
    """The largest ratio of sum p_k P_k to sum p_k Q_k, as a linear program for the two sums' values scaled."""
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


def test_a_bootstraps_price_is_the_linear_programs():
    for x, rows in (*product((0.04, 0.3, 1.0), (1, 2, 5, 12)), *product((2.0, 3.5), (1, 3, 5))):
        price = float(bootstrap_loss(x, REPLACE, rows))
        assert math.exp(price) == pytest.approx(largest_ratio(x, rows), rel=1e-5), (x, rows)
    for x, price in ((0.04, 0.0408), (0.1, 0.1054), (0.5, 0.6718), (1.0, 1.8626), (2.0, 7.1457)):
        assert float(bootstrap_loss(x, REPLACE, 10**6)) == pytest.approx(price, abs=5e-5)
    for x in (1e-30, 0.5, 7.0, 9.0):  # one row is drawn once
        assert float(bootstrap_loss(x, REPLACE, 1)) == pytest.approx(x)
    assert bootstrap_loss(1.0, REPLACE, 0) == bootstrap_loss(1.0, REPLACE, 1)


def test_an_added_rows_price_is_the_poisson_sum_and_holds_for_every_number_of_rows():
    """Binomial draws of the larger table's rows cost less than the limit; and both directions do."""
    k = np.arange(3_000)
    for x in (1e-9, 1e-3, 0.0999999, 0.1, 0.5, 1.0, 2.0, 3.0):
        with np.errstate(divide="ignore"):
            log_terms = poisson.logpmf(k, 1.0) + x * np.maximum(1, 2 * k - 1)
        total = log_terms.max() + math.log(math.fsum(np.exp(log_terms - log_terms.max())))
        assert float(bootstrap_loss(x, ADD, 5)) == pytest.approx(total, rel=1e-9, abs=1e-15), x
    for x, rows in product((0.01, 0.3, 1.0), (1, 2, 5, 50)):
        k = np.arange(rows + 1)
        p, differ = binom.pmf(k, rows, 1 / rows), np.maximum(1, 2 * k - 1)
        price = float(bootstrap_loss(x, ADD, rows))
        assert math.log(p @ np.exp(x * differ)) <= price + 1e-15
        assert -math.log(p @ np.exp(-x * differ)) - 1e-15 <= x * (p @ differ) <= price


def test_a_bootstraps_price_rises_and_is_at_least_one_draws():
    xs = [0, 5e-324, 1e-300, 1e-20, 1e-16, 1e-12, 1e-9, 1e-4, 0.0999, 0.1, 0.1001, 1, 5, LARGEST, 8.001, 20, 340, 1e4]
    for relation in Relation:
        prices = [bootstrap_loss(x, relation, 60) for x in xs]
        assert all(low <= high for low, high in pairwise(prices))
        assert all(price >= x for price, x in zip(prices, xs, strict=True))
        assert prices[0] == 0
        assert bootstrap_loss(math.inf, relation, 60) == math.inf
    # A large one costs what all copies do.
    assert bootstrap_loss(9.0, REPLACE, 30) == 270
    assert bootstrap_loss(1e300, ADD, 30) == math.inf
    assert float(bootstrap_loss(8.0, REPLACE, 30)) <= 240
