"""Randomized numbers: moments by enumeration, published expectations, and noise by its lots."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from lots import evenly, in_turn
from scipy.stats import norm

from dpcore.mechanisms.randomizers import TRR, Noised


def test_moments_by_enumeration():
    """Everything at once: three numbers drawn from {0, 1, 5}, each with its a and b."""
    numbers, n = (0.0, 1.0, 5.0), 3
    for factors, offsets in (((1.0, 3.0), (-1.0, 1.0)), ((-1.0, 2.0, 5.0), (0.5,)), ((2.0,), (3.0, 4.0))):
        channel = TRR(factors=np.array(factors), offsets=np.array(offsets))
        reports = np.array([a * x + b for x in numbers for a in factors for b in offsets])
        samples = np.array(list(product(reports, repeat=n)))
        means = [channel.mean(y) for y in samples]
        fair, printed = ([channel.variance(y, as_printed=how) for y in samples] for how in (False, True))
        a, var_a, _, _ = channel.moments
        assert np.mean(means) == pytest.approx(np.mean(numbers))
        assert np.var(means) == pytest.approx(np.var(reports) / (n * a**2))
        assert np.mean(fair) == pytest.approx(np.var(numbers))
        bias = -var_a * np.var(reports) / (n * a**2 * (var_a + a**2))
        assert np.mean(printed) - np.var(numbers) == pytest.approx(bias)


def test_the_printed_formula_has_the_published_expectation():
    """30 numbers of N(5, 4). The formula is linear in what a sample says: its variance, and its mean's square."""
    even = np.tile([-1.0, 1.0], 15) * math.sqrt(29 / 30)  # of mean 0 and variance 1
    for var_a, a, var_b, printed in ((1, 1, 1, 3.433), (10, 2, 5, 2.149)):
        step, wide, spread = math.sqrt(var_a), math.sqrt(var_b), (var_a + a**2) * 4 + var_a * 25 + var_b
        channel = TRR(factors=np.array([a - step, a + step]), offsets=np.array([-wide, wide]))
        reports = even * math.sqrt(spread) + math.sqrt((5 * a) ** 2 + spread / 30)
        assert channel.variance(reports, as_printed=True) == pytest.approx(printed, abs=5e-4)
        assert channel.variance(reports) == pytest.approx(4)


def test_trr_reports_use_every_member_of_both_sets_equally():
    channel = TRR(factors=np.array([1.0, 2.0, 3.0, 4.0]), offsets=np.array([0.0, 10.0]), lower=0, upper=5)
    grid = evenly(8)
    a, b = np.repeat(grid, 8), np.tile(grid, 8)
    said = channel.report(np.full(64, 1.0), in_turn(a, b), None)
    assert sorted(said.tolist()) == sorted([a + b for a in (1, 2, 3, 4) for b in (0, 10)] * 8)
    moved = channel.report(np.array([-9.0, 99.0]), in_turn(np.zeros(2), np.zeros(2)), None)
    assert moved.tolist() == [0, 5]


def test_laplace_reports_are_moved_into_bounds_first_and_have_their_scale():
    channel = TRR(lower=-2, upper=6, epsilon=0.5)
    asked = []

    def laplace(values, scale, *, grid, origin):
        asked.append((values.tolist(), scale, grid, origin))
        return values + 1

    assert channel.report(np.array([-9.0, 0, 99]), None, laplace).tolist() == [-1, 1, 7]
    assert asked == [([-2, 0, 6], 16, 8 * 2.0**-20, -2)]
    assert (channel.scale, channel.mechanism, channel.epsilon) == (16, "laplace", 0.5)
    assert channel.moments == (1, 0, 0, 512)
    y = np.array([1.0, 5.0])
    assert channel.variance(y) == channel.variance(y, as_printed=True) == 8 - 512
    assert channel.mean(y) == 3


@pytest.mark.parametrize("epsilon", [0, 1e-300, Fraction(1, 10**400)])
def test_no_epsilon_no_number(epsilon):
    channel = TRR(lower=0, upper=1, epsilon=epsilon)
    assert channel.scale == math.inf
    assert channel.report(np.array([1.0, 0.3]), None, None).tolist() == [0, 0]


def test_sets_are_drawn_with_a_mean_and_a_variance():
    drawn = TRR.drawn((2, 10), (0, 5), np.random.default_rng(0), size=100_000)
    np.testing.assert_allclose(drawn.moments, (2, 10, 0, 5), atol=0.15)  # 6 standard errors or more, seeded
    assert len(TRR.drawn((1, 1), (0, 1), np.random.default_rng(0)).sets[0]) == 1_000


def test_uniform_and_normal_noise_by_its_lots():
    grid = evenly(20_000)
    for kind, law in (("uniform", None), ("normal", norm(10, 2))):
        channel = Noised(kind, 2.0, lower=0.0, upper=10.0)
        reports = channel.report(np.full(20_000, 12.0), in_turn(grid), None)  # moved to the bound
        for share in (0.025, 0.5, 0.975):
            expected = law.ppf(share) if law else 8 + 4 * share
            assert np.quantile(reports, share) == pytest.approx(expected, abs=2e-3)
        assert channel.moments == (1, 0, 0, pytest.approx(reports.var(), rel=1e-3))
        assert channel.epsilon == math.inf
        assert np.isfinite(channel.report(np.zeros(2), in_turn(np.array([0.0, 1 - 2**-53])), None)).all()
