"""Noise for several histograms at once: vectors counted one by one, and every draw against its distribution."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.noise.base import told as told_table
from dpcore.mechanisms.noise.histograms import (
    different,
    draw,
    first,
    logarithm,
    longest,
    place,
    signs_of,
    spread,
    vector,
    ways,
)
from tests.laws import agreement

WRONG = 1e-6  # how often a test of a distribution alarms falsely


def told(z, totals):
    """What is told of a vector: up to a constant, the one whose lower median is 0."""
    return tuple(int(value) for value in (z if totals else z - np.sort(z)[(len(z) - 1) // 2]))


def length(z, totals):
    return sum(abs(value) for value in told(np.array(z), totals))


def ball(size, radius, totals):
    """All vectors up to a length, by trying all."""
    every = product(range(-radius, radius + 1), repeat=size)
    return {z for z in every if told(np.array(z), totals) == z and length(z, totals) <= radius}


@pytest.mark.parametrize("totals", [True, False])
def test_vectors_are_counted(totals):
    for size, radius in product(range(1, 6), range(5)):
        every = ball(size, radius, totals)
        found = list(ways(size, radius, totals=totals))
        assert sum(found) == len(every)
        for k, many in enumerate(found):
            assert many == sum(sum(value != 0 for value in z) == k for z in every)


@pytest.mark.parametrize("totals", [True, False])
def test_numbers_of_vectors_are_log_concave(totals):
    """The sum of B(R) t^R is h(t) / (1 - t)^(d + 1): a convolution of h with what is log-concave, if h is so, too."""
    for size in (*range(1, 41), 80, 150):
        signs, _ = signs_of(size, totals=totals)
        degree = len(signs) - 1
        h = [0] * (degree + 1)
        for k, many in enumerate(signs):  # many t^k (1 - t)^(degree - k)
            for i in range(degree - k + 1):
                h[k + i] += many * (-1) ** i * comb(degree - k, i)
        assert min(h) > 0
        assert all(here**2 >= before * after for before, here, after in zip(h, h[1:], h[2:], strict=False))


def source_of(kind):
    """What is drawn from: floating point with a seed, or exactly."""
    return make_noise(kind, 11 if kind == "geometric" else None)


@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize("kind", ["geometric", "opendp"])
def test_vectors_are_drawn_evenly(kind, totals):
    source = source_of(kind)
    for size, radius in ((1, 2), (2, 3), (3, 2), (4, 2)):
        every = ball(size, radius, totals)
        found = Counter(tuple(vector(size, radius, source._below, totals=totals).tolist()) for _ in range(3_000))
        assert set(found) <= every
        if len(every) > 1:
            assert chisquare([found[z] for z in every]).pvalue > WRONG


@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize("kind", ["geometric", "opendp"])
@pytest.mark.parametrize(("sizes", "factor"), [((1,), 0.5), ((2, 3), 1.0), ((3, 3, 4), 3.0), ((5, 2), 0.1)])
def test_the_longest_length_has_its_distribution(sizes, factor, kind, totals):
    source, draws, counts = source_of(kind), 1_500, Counter(sizes)
    radii = [longest(counts, Fraction(factor), source._below, source._lot, totals=totals) for _ in range(draws)]
    most = max(radii) + 300
    terms = np.exp(-factor * np.arange(most))
    for size in sizes:
        terms *= [float(sum(ways(size, radius, totals=totals))) for radius in range(most)]
    below = np.cumsum(terms) / terms.sum()
    lots = np.random.default_rng(1).uniform(np.append(0, below)[radii], below[radii])  # even, if all is right
    assert kstest(lots, "uniform").pvalue > WRONG


@pytest.mark.parametrize("totals", [True, False])
def test_what_is_drawn_falls_with_the_longest_length_alone(totals):
    """P(z) is proportional to exp(-factor * length): of two histograms, by enumeration of all that are short."""
    source, sizes, factor, draws = make_noise("geometric", 5), (2, 3), 1.5, 6_000
    found = Counter()
    for _ in range(draws):
        both = draw(sizes, factor, source._below, source._lot, totals=totals)
        found[tuple(told(z, totals) for z in both)] += 1
    every = list(product(*(ball(size, 2, totals) for size in sizes)))
    chances = np.array([exp(-factor * max(length(z, totals) for z in both)) for both in every])
    seen = np.array([found[both] for both in every])
    expected = chances * seen.sum() / chances.sum()
    assert expected.min() > 2
    assert chisquare(seen, expected).pvalue > WRONG


def test_a_row_moves_every_length_by_one_at_most():
    """Hence a neighbor's answer is at most e^factor as likely: both at once, or in another histogram each."""
    for totals, size in product((True, False), (2, 3, 5)):
        for z in ball(size, 3, totals):
            for at, sign in product(range(size), (-1, 1)):
                other = np.array(z)
                other[at] += sign
                assert abs(length(other, totals) - length(z, totals)) <= 1


@pytest.mark.parametrize("totals", [True, False])
def test_noise_is_as_large_as_its_formula_says(totals):
    source = make_noise("geometric", 3)
    for sizes, factor in (((2,) * 7, 0.05), ((16,) * 6, 0.02), ((2, 5, 30), 0.05)):
        drawn = [draw(sizes, factor, source._below, source._lot, totals=totals) for _ in range(300)]
        for j, size in enumerate(sizes):
            z = np.array([both[j] for both in drawn], dtype=float)
            z -= 0 if totals else z.mean(axis=1, keepdims=True)
            assert z.std() == pytest.approx(spread(size, sizes, factor, totals=totals), rel=0.15)
    assert spread(2, (2,) * 50, 1.0, totals=False) == pytest.approx(50 / 12**0.5, rel=0.05)  # even, as long as d
    assert spread(3, (3,), 0.0, totals=True) == np.inf


def test_sources_hold_what_they_promise():
    tables = [np.array([5, 0, 3]), np.array([[1, 2], [3, 2]])]
    for source in map(source_of, ("geometric", "opendp")):
        with_totals, without = (source.histograms(tables, 0.7, totals=totals) for totals in (True, False))
        for found, other, table in zip(with_totals, without, tables, strict=True):
            assert found.shape == other.shape == table.shape
            assert (found == np.rint(found)).all()
            assert other.sum() == pytest.approx(0, abs=1e-9)
            apart = other - other.flat[0]
            np.testing.assert_allclose(apart, np.rint(apart), atol=1e-9)
    one, other = (make_noise("geometric", 4).histograms(tables, 0.7, totals=True) for _ in range(2))
    assert all((here == there).all() for here, there in zip(one, other, strict=True))
    exact = make_noise("geometric", 4).exact().histograms(tables, 0.7, totals=False)
    np.testing.assert_allclose(exact[0], [7 / 3, -8 / 3, 1 / 3])


def test_pieces():
    below = make_noise("geometric", 6)._below
    assert first(lambda n: n >= 13, 4) == 13
    assert first(lambda n: n >= 3, 4) == 4
    large = 3**90
    assert {below(large) < large for _ in range(200)} == {True}
    assert max(below(large) for _ in range(200)) > large // 2
    found = Counter(tuple(sorted(different(2, 5, below))) for _ in range(2_000))
    assert len(found) == comb(5, 2)
    assert chisquare(list(found.values())).pvalue > WRONG
    assert Counter(place(iter([1, 0, 3]), below) for _ in range(400)).keys() == {0, 2}


def test_the_exact_source_draws_for_no_more_than_was_asked():
    """Alone and with its total, a table of one count has discrete Laplace noise."""
    source = make_noise("opendp", None)
    drawn = np.array([source.histograms([np.array([7])], 0.8, totals=True)[0][0] - 7 for _ in range(2_000)])
    values = np.arange(-3, 4)
    chances = np.exp(-0.8 * np.abs(values)) * np.tanh(0.4)
    seen = np.array([(drawn == value).sum() for value in values])
    expected = np.append(len(drawn) * chances, len(drawn) * (1 - chances.sum()))
    assert agreement(np.append(seen, len(drawn) - seen.sum()), expected) > WRONG


def test_without_totals_not_a_bit_hangs_on_them():
    """The same for all tables that differ by a constant: a mean of other numbers could be rounded otherwise."""
    for table in (np.array([5, 0, 3]), np.arange(7) ** 2, np.array([1, 2, 2])):
        expected = told_table(table, totals=False)
        for constant in (1, 17, 10**6, 10**12 + 1):
            assert (told_table(table + constant, totals=False) == expected).all()


@pytest.mark.parametrize("totals", [True, False])
def test_the_largest_term_is_found_however_flat_terms_are(totals):
    """Where floating point cannot tell neighbors apart, either; and no probability is above 1, which is an error."""
    source = make_noise("opendp", None)
    for sizes, factor in (((2,) * 300, 1e-9), ((40,) * 60, 1e-7), ((10,) * 15, 2.0**-30), ((300,), 0.1), ((1, 1), 1.0)):
        asked = []

        def lot(ratio, exponent, asked=asked):
            asked.append((ratio, exponent))
            return source._lot(ratio, exponent)

        radius = longest(Counter(sizes), Fraction(factor), source._below, lot, totals=totals)
        degrees = sum(size if totals else size - 1 for size in sizes)
        assert abs(radius - degrees / factor) <= 9 * (degrees + 1) ** 0.5 / factor
        assert asked
    found, slope = logarithm(5, 10, totals=totals)
    assert exp(found) == pytest.approx(sum(ways(5, 10, totals=totals)))
    assert slope == pytest.approx(logarithm(5, 11, totals=totals)[0] - found, rel=0.1)


def test_very_large_and_infinite_factors_tell_the_truth():
    table = np.array([3, 1, 1])
    for kind in ("geometric", "opendp"):
        for factor in (1e3, 1e9, 1e300, np.inf):
            (found,) = source_of(kind).histograms([table], factor, totals=True)
            assert (found == table).all()
