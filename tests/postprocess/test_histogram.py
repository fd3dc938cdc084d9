"""Likely histograms: against sums over every division of the values, and where noise is nothing or everything."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammainc

from dpcore.postprocess import histogram
from dpcore.postprocess.histogram import SHAPES, _grid, _likely, likely_histogram
from dpcore.postprocess.simplex import project


@pytest.mark.parametrize("scale", [1e-9, 0.5, 1e12, np.inf])
def test_counts_are_positive_and_have_the_total(scale):
    for neighbors, total in product((0, 3, 7), (1.0, 1e6)):
        rng = np.random.default_rng(neighbors)
        noisy = total * rng.dirichlet(np.ones(7)) + rng.laplace(0, min(scale, 1e12), 7)
        found = likely_histogram(noisy, scale, total, neighbors=neighbors)
        assert (found > 0).all()
        assert found.sum() == pytest.approx(total, rel=1e-9)
    assert likely_histogram(np.array([-3.0]), scale, 12.0, neighbors=1) == pytest.approx([12.0])


def test_without_noise_it_is_the_counts_and_with_much_it_is_nearly_even():
    counts = np.array([100.0, 40, 5, 0, 55, 200])
    for neighbors in (0, 6):
        np.testing.assert_allclose(likely_histogram(counts, 1e-3, 400, neighbors=neighbors), counts, atol=0.01)
    noisy = counts + np.random.default_rng(1).laplace(0, 2_000, 6)
    ends = _grid(noisy, 2_000.0)
    likely = _likely(noisy, ends, 2_000.0, 400.0, 6)
    assert likely.max() / likely.min() < 1.3
    assert np.ptp(project(noisy, 400.0)) > 200  # what is nearest believes all of it


@pytest.mark.parametrize(
    ("scale", "law", "share"), [(1.0, "laplace", 0.5), (8.0, "gaussian", 0.8), (8.0, "laplace", 0.85)]
)
def test_half_is_the_nearest_or_less_where_noise_is_larger_than_the_mean_count(scale, law, share):
    noisy, total = np.array([4.0, -9.0, 8.0, 3.0]), 8.0
    likely = _likely(noisy, _grid(noisy, scale), scale, total, 0, law)
    expected = share * likely + (1 - share) * project(noisy, total)
    np.testing.assert_allclose(likely_histogram(noisy, scale, total, law=law), expected, rtol=0.01)


def divisions(first, last):
    """All ways in which values first ... last - 1 are divided into groups of one count, each with its chance."""
    if last - first == 1:
        return [([(first, last)], 1.0)]
    middle = (first + last + 1) // 2
    parts = product(divisions(first, middle), divisions(middle, last))
    return [([(first, last)], 0.5)] + [(one + other, 0.5 * p * q) for (one, p), (other, q) in parts]


def by_hand(noisy, ends, scale, total, neighbors):
    """`_likely` by its definition: every division, every shape, a factor for each shape by a root finder."""
    counts = (ends[1:] + ends[:-1]) / 2
    ways = divisions(0, neighbors) if neighbors else [([], 1.0)]
    ways = [([*groups, *((j, j + 1) for j in range(neighbors, len(noisy)))], chance) for groups, chance in ways]
    chances, evidence = [], []
    for shape in SHAPES:
        mass = np.maximum(np.diff(gammainc(shape, ends * (shape * len(noisy) / total))), 1e-300)

        def of(factor, mass=mass):
            """Evidence and each value's distribution."""
            whole, found = 0.0, np.zeros((len(noisy), len(counts)))
            for groups, chance in ways:
                tables = []
                for first, last in groups:
                    misses = sum(np.abs(noisy[j] - counts) for j in range(first, last))
                    tables.append(mass * np.exp(-misses / scale - factor * (last - first) * counts))
                product_ = chance * np.prod([table.sum() for table in tables])
                whole += product_
                for (first, last), table in zip(groups, tables, strict=True):
                    found[first:last] += product_ * table / table.sum()
            return whole, found / whole

        factor = brentq(lambda t, of=of: (of(t)[1] @ counts).sum() - total, -2 / scale, 2 / scale, xtol=1e-14)
        whole, found = of(factor)
        chances.append(found)
        evidence.append(whole * np.exp(factor * total))
    below = np.cumsum(np.average(chances, axis=0, weights=evidence), axis=1)

    def quantile(level):
        return np.array([np.interp(level, row, ends[1:]) for row in below])

    return quantile(brentq(lambda level: quantile(level).sum() - total, 1e-9, 1 - 1e-9, xtol=1e-14))


@pytest.mark.parametrize(
    ("noisy", "neighbors"), [([3.0, 7.0], 0), ([12.0, 1.0, 2.0, 6.0], 4), ([8.0, 7.0, 5.0, 0.0, 3.0], 3)]
)
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_it_is_the_sum_over_all_divisions(noisy, neighbors, scale):
    noisy = np.array(noisy)
    ends = _grid(noisy, scale)
    found = _likely(noisy, ends, scale, 14.0, neighbors)
    np.testing.assert_allclose(found, by_hand(noisy, ends, scale, 14.0, neighbors), atol=1e-3)


def test_very_many_values_are_affordable(monkeypatch):
    """The grid does not grow with the values; where it has to, the nearest histogram is all."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(20, 600).astype(float)
    noisy = counts + rng.laplace(0, 5.0, 600)
    assert len(_grid(noisy, 5.0)) < 200
    found = likely_histogram(noisy, 5.0, counts.sum(), neighbors=600)
    assert np.abs(found - counts).sum() < np.abs(project(noisy, counts.sum()) - counts).sum()
    counts = np.tile(counts, 3)
    fine = counts + rng.laplace(0, 1e-6, 1_800)
    monkeypatch.setattr(histogram, "_likely", None)  # not to be called
    np.testing.assert_allclose(likely_histogram(fine, 1e-6, counts.sum(), neighbors=1_800), counts, atol=1e-3)
