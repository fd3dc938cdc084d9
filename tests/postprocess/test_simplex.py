"""Arithmetic on noisy answers: projections, likely histograms, draws of expected counts, and exchanges of values."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import gammainc

from dpcore.postprocess import histogram, simplex
from dpcore.postprocess.exchanges import EASE, MOST, exchange, is_worthwhile
from dpcore.postprocess.histogram import SHAPES, _grid, _quantiles, likely_histogram

TABLE = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-50, 50))


@given(TABLE, st.floats(0, 100))
def test_projection_is_non_negative_keeps_the_sum_and_is_idempotent(table, total):
    totals = np.full(len(table), total)
    projected = simplex.project_rows(table, totals)
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=1), totals, atol=1e-8)
    np.testing.assert_allclose(simplex.project_rows(projected, totals), projected, atol=1e-8)


def test_projection_is_the_nearest_point():
    """By hand: what is taken from each is 1/2, until nothing is left of it."""
    assert simplex.project_rows(np.array([[3.0, -1.0, 0.5, 2.0]]), np.array([4.0])).tolist() == [[2.5, 0, 0, 1.5]]


def test_row_sums_are_combined_by_inverse_variance_and_differences_spread_evenly():
    tables = [np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])]
    assert simplex.combine_row_sums(tables) == pytest.approx([(2 / 2 + 5 / 4) / (1 / 2 + 1 / 4)])
    assert simplex.spread_difference(np.array([[1.0, 2.0, 3.0]]), np.array([9.0])).tolist() == [[2, 3, 4]]


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=20).filter(lambda p: sum(p) > 0.01),
    st.integers(0, 300),
    st.integers(0, 99),
)
def test_systematic_counts_are_the_expected_ones_rounded(weights, size, seed):
    probabilities = np.array(weights)
    drawn = simplex.systematic_sample(probabilities, size, np.random.default_rng(seed))
    counts = np.bincount(drawn, minlength=len(weights))
    expected = size * probabilities / probabilities.sum()
    assert counts.sum() == size
    assert (np.abs(counts - expected) < 1 + 1e-6).all()


def test_draws_given_a_condition_have_the_expected_counts_rounded(seeds):
    for seed in seeds(100):
        rng = np.random.default_rng(seed)
        for conditions, values, n in rng.integers([1, 1, 0], [7, 6, 201], (20, 3)):
            probabilities = rng.dirichlet(np.full(values, 0.4), conditions)
            probabilities[rng.random(conditions) < 0.3] = np.eye(values)[0]  # some leave no choice
            condition = rng.choice(conditions, n, p=rng.dirichlet(np.full(conditions, 0.5)))  # some have few rows
            drawn = simplex.draw_given(probabilities, condition, rng)
            assert drawn.shape == (n,)
            counts = np.zeros((conditions, values))
            np.add.at(counts, (condition, drawn), 1)
            expected = probabilities * np.bincount(condition, minlength=conditions)[:, None]
            assert (np.abs(counts - expected) < 1 + 1e-9).all()
            assert not counts[expected == 0].any()


def test_which_row_gets_which_value_is_random_and_fair():
    """20,000 conditions of 4 rows each: each row of a condition is as likely as any other, and so is each pair."""
    many = 10_000
    probabilities, given = np.tile([[0.5, 0.5], [0.75, 0.25]], (many, 1)), np.repeat(np.arange(2 * many), 4)
    drawn = simplex.draw_given(probabilities, given, np.random.default_rng(3)).reshape(many, 2, 4)
    for code, ones, pairs in ((0, 2, 6), (1, 1, 4)):
        here = drawn[:, code]
        assert (here.sum(axis=1) == ones).all()
        found = np.unique(here, axis=0, return_counts=True)[1]
        assert len(found) == pairs
        assert (np.abs(found - many / pairs) < 5 * np.sqrt(many / pairs)).all()


def test_the_rounding_is_fair():
    """One row per condition is a plain draw, conditions are rounded apart from each other, and order is random."""
    many, rng = 20_000, np.random.default_rng(5)
    drawn = simplex.draw_given(np.tile([0.2, 0.8], (many, 1)), np.arange(many), rng)
    assert abs(drawn.mean() - 0.8) < 5 * np.sqrt(0.16 / many)
    assert abs(np.corrcoef(drawn[::2], drawn[1::2])[0, 1]) < 0.05
    assert abs(simplex.systematic_sample(np.ones(2), 1000, rng)[:500].mean() - 0.5) < 0.1


def test_draws_by_hand_of_nothing_and_of_sums_that_are_1_but_for_rounding():
    rng, condition = np.random.default_rng(0), np.array([1, 0, 1, 1, 0, 1, 2], dtype=np.uint8)
    drawn = simplex.draw_given(np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]), condition, rng)
    assert [sorted(drawn[condition == c].tolist()) for c in range(3)] == [[0, 1], [0, 1, 1, 1], [1]]
    assert simplex.draw_given(np.full((2, 2), 0.5), condition[:0], rng).shape == (0,)
    for scale in (1 - 1e-12, 1 + 1e-12):
        drawn = simplex.draw_given(np.full((3, 10), 0.1 * scale), np.repeat([0, 1, 2], 1000), rng)
        assert (np.abs(np.bincount(drawn, minlength=10) - 300) <= 3).all()


SIZES = (4, 3, 2, 5)


def tables(codes):
    pairs = combinations(range(len(SIZES)), 2)
    found = {(a, b): np.zeros((SIZES[a], SIZES[b])) for a, b in pairs}
    for (a, b), table in found.items():
        np.add.at(table, (codes[:, a], codes[:, b]), 1)
    return found


def statistic(codes, expected):
    return sum(((table - expected[pair]) ** 2 / (expected[pair] + EASE)).sum() for pair, table in tables(codes).items())


@pytest.mark.parametrize(("rows", "left", "dtype"), [(2, 1.0, np.uint8), (101, 0.5, np.int64), (5_000, 0.2, np.uint8)])
def test_columns_stay_and_pairs_come_closer(rows, left, dtype):
    """From values that are in some order to dependent ones, as far as one exchange per value goes."""
    rng = np.random.default_rng(1)
    shape = rng.dirichlet(np.full(np.prod(SIZES), 0.3))
    wanted = np.array(np.unravel_index(rng.choice(len(shape), rows, p=shape), SIZES)).T
    before, expected = rng.permuted(wanted, axis=0), tables(wanted)
    codes = np.asfortranarray(before.astype(dtype))
    exchange(codes, expected, np.random.default_rng(2))
    for j in range(len(SIZES)):
        assert np.bincount(codes[:, j]).tolist() == np.bincount(wanted[:, j]).tolist()
    assert statistic(codes, expected) <= left * statistic(before, expected)
    for seed in range(4):
        exchange(codes, expected, np.random.default_rng(seed))
    assert statistic(codes, expected) <= left**2 * statistic(before, expected)


def test_two_rows_exchange_where_that_gives_what_is_expected():
    codes = np.array([[0, 1], [1, 0]])
    for _ in range(2):  # and stay so
        exchange(codes, {(0, 1): np.eye(2)}, np.random.default_rng(0))
        assert sorted(codes.tolist()) == [[0, 0], [1, 1]]


def test_nobody_moves_to_a_cell_without_expected_rows():
    """Even if somebody else would then be where many are."""
    codes = np.array([[0, 0], [1, 1]])
    exchange(codes, {(0, 1): np.array([[0.4, 1.2], [0.0, 0.4]])}, np.random.default_rng(0))
    assert codes.tolist() == [[0, 0], [1, 1]]
    exchange(codes, {(0, 1): np.array([[0.0, 1.2], [0.8, 0.0]])}, np.random.default_rng(0))
    assert sorted(codes.tolist()) == [[0, 1], [1, 0]]


def test_exchange_is_worthwhile_for_few_rows_only():
    helps = {8: False, 9: True, MOST // 3: True, MOST // 3 + 1: False}  # (6 + 8 + 12) / 3 = 8.7 cells
    assert {rows: is_worthwhile(rows, (2, 3, 4)) for rows in helps} == helps
    assert not is_worthwhile(100, (5,))


@pytest.mark.parametrize("scale", [1e-9, 0.5, 1e12, np.inf])
def test_counts_are_positive_and_have_the_total(scale):
    for n_ordered, total in product((0, 3, 7), (1.0, 1e6)):
        rng = np.random.default_rng(n_ordered)
        noisy = total * rng.dirichlet(np.ones(7)) + rng.laplace(0, min(scale, 1e12), 7)
        found = likely_histogram(noisy, scale, total, n_ordered=n_ordered)
        assert (found > 0).all()
        assert found.sum() == pytest.approx(total, rel=1e-9)
    assert likely_histogram(np.array([-3.0]), scale, 12.0, n_ordered=1) == pytest.approx([12.0])


def test_the_estimate_is_the_counts_without_noise_and_nearly_even_with_much():
    counts = np.array([100.0, 40, 5, 0, 55, 200])
    for n_ordered in (0, 6):
        np.testing.assert_allclose(likely_histogram(counts, 1e-3, 400, n_ordered=n_ordered), counts, atol=0.01)
    noisy = counts + np.random.default_rng(1).laplace(0, 2_000, 6)
    ends = _grid(noisy, 2_000.0)
    likely = _quantiles(noisy, ends, 2_000.0, 400.0, 6, "laplace")
    assert likely.max() / likely.min() < 1.3
    assert np.ptp(simplex.project(noisy, 400.0)) > 200  # what is nearest believes all of it


@pytest.mark.parametrize(
    ("scale", "distribution", "share"), [(1.0, "laplace", 0.5), (8.0, "gaussian", 0.8), (8.0, "laplace", 0.85)]
)
def test_half_is_the_nearest_or_less_where_noise_is_larger_than_the_mean_count(scale, distribution, share):
    noisy, total = np.array([4.0, -9.0, 8.0, 3.0]), 8.0
    likely = _quantiles(noisy, _grid(noisy, scale), scale, total, 0, distribution)
    expected = share * likely + (1 - share) * simplex.project(noisy, total)
    np.testing.assert_allclose(likely_histogram(noisy, scale, total, distribution=distribution), expected, rtol=0.01)


def divisions(first, last):
    """All ways in which values first ... last - 1 are divided into groups of one count, each with its chance."""
    if last - first == 1:
        return [([(first, last)], 1.0)]
    middle = (first + last + 1) // 2
    parts = product(divisions(first, middle), divisions(middle, last))
    return [([(first, last)], 0.5)] + [(one + other, 0.5 * p * q) for (one, p), (other, q) in parts]


def by_hand(noisy, ends, scale, total, n_ordered):
    """`_quantiles` by its definition: every division, every shape, a factor for each shape by a root finder."""
    counts = (ends[1:] + ends[:-1]) / 2
    ways = divisions(0, n_ordered) if n_ordered else [([], 1.0)]
    ways = [([*groups, *((j, j + 1) for j in range(n_ordered, len(noisy)))], chance) for groups, chance in ways]
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
    ("noisy", "n_ordered"), [([3.0, 7.0], 0), ([12.0, 1.0, 2.0, 6.0], 4), ([8.0, 7.0, 5.0, 0.0, 3.0], 3)]
)
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_the_posterior_is_the_sum_over_all_partitions(noisy, n_ordered, scale):
    noisy = np.array(noisy)
    ends = _grid(noisy, scale)
    found = _quantiles(noisy, ends, scale, 14.0, n_ordered, "laplace")
    np.testing.assert_allclose(found, by_hand(noisy, ends, scale, 14.0, n_ordered), atol=1e-3)


def test_very_many_values_are_affordable(monkeypatch):
    """The grid does not grow with the values; where it has to, the nearest histogram is all."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(20, 600).astype(float)
    noisy = counts + rng.laplace(0, 5.0, 600)
    assert len(_grid(noisy, 5.0)) < 200
    found = likely_histogram(noisy, 5.0, counts.sum(), n_ordered=600)
    assert np.abs(found - counts).sum() < np.abs(simplex.project(noisy, counts.sum()) - counts).sum()
    counts = np.tile(counts, 3)
    fine = counts + rng.laplace(0, 1e-6, 1_800)
    monkeypatch.setattr(histogram, "_quantiles", None)  # not to be called
    np.testing.assert_allclose(likely_histogram(fine, 1e-6, counts.sum(), n_ordered=1_800), counts, atol=1e-3)
