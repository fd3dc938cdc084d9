"""Arithmetic on noisy answers: projections, sums, and draws whose counts are the expected ones, rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpcore.postprocess.simplex import combine_row_sums, draw_given, project_rows, spread_difference, systematic_sample

TABLE = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-50, 50))


@given(TABLE, st.floats(0, 100))
def test_projection_is_non_negative_keeps_the_sum_and_is_idempotent(table, total):
    totals = np.full(len(table), total)
    projected = project_rows(table, totals)
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=1), totals, atol=1e-8)
    np.testing.assert_allclose(project_rows(projected, totals), projected, atol=1e-8)


def test_projection_is_the_nearest_point():
    """By hand: what is taken from each is 1/2, until nothing is left of it."""
    assert project_rows(np.array([[3.0, -1.0, 0.5, 2.0]]), np.array([4.0])).tolist() == [[2.5, 0, 0, 1.5]]


def test_row_sums_are_combined_by_inverse_variance_and_differences_spread_evenly():
    tables = [np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])]
    assert combine_row_sums(tables) == pytest.approx([(2 / 2 + 5 / 4) / (1 / 2 + 1 / 4)])
    assert spread_difference(np.array([[1.0, 2.0, 3.0]]), np.array([9.0])).tolist() == [[2, 3, 4]]


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=20).filter(lambda p: sum(p) > 0.01),
    st.integers(0, 300),
    st.integers(0, 99),
)
def test_systematic_counts_are_the_expected_ones_rounded(weights, size, seed):
    probabilities = np.array(weights)
    counts = np.bincount(systematic_sample(probabilities, size, np.random.default_rng(seed)), minlength=len(weights))
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
            drawn = draw_given(probabilities, condition, rng)
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
    drawn = draw_given(probabilities, given, np.random.default_rng(3)).reshape(many, 2, 4)
    for code, ones, pairs in ((0, 2, 6), (1, 1, 4)):
        here = drawn[:, code]
        assert (here.sum(axis=1) == ones).all()
        found = np.unique(here, axis=0, return_counts=True)[1]
        assert len(found) == pairs
        assert (np.abs(found - many / pairs) < 5 * np.sqrt(many / pairs)).all()


def test_the_rounding_is_fair():
    """One row per condition is a plain draw, conditions are rounded apart from each other, and order is random."""
    many, rng = 20_000, np.random.default_rng(5)
    drawn = draw_given(np.tile([0.2, 0.8], (many, 1)), np.arange(many), rng)
    assert abs(drawn.mean() - 0.8) < 5 * np.sqrt(0.16 / many)
    assert abs(np.corrcoef(drawn[::2], drawn[1::2])[0, 1]) < 0.05
    assert abs(systematic_sample(np.ones(2), 1000, rng)[:500].mean() - 0.5) < 0.1


def test_draws_by_hand_of_nothing_and_of_sums_that_are_1_but_for_rounding():
    rng, condition = np.random.default_rng(0), np.array([1, 0, 1, 1, 0, 1, 2], dtype=np.uint8)
    drawn = draw_given(np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]), condition, rng)
    assert [sorted(drawn[condition == c].tolist()) for c in range(3)] == [[0, 1], [0, 1, 1, 1], [1]]
    assert draw_given(np.full((2, 2), 0.5), condition[:0], rng).shape == (0,)
    for scale in (1 - 1e-12, 1 + 1e-12):
        drawn = draw_given(np.full((3, 10), 0.1 * scale), np.repeat([0, 1, 2], 1000), rng)
        assert (np.abs(np.bincount(drawn, minlength=10) - 300) <= 3).all()
