import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dpcore.postprocess import combine_row_sums, project_rows, spread_difference, systematic_sample

TABLE = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-50, 50))


@given(TABLE, st.floats(0, 100))
def test_projection_is_non_negative_keeps_the_sum_and_is_idempotent(table, total):
    totals = np.full(len(table), total)
    projected = project_rows(table, totals)
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=1), totals, atol=1e-8)
    np.testing.assert_allclose(project_rows(projected, totals), projected, atol=1e-8)


def test_projection_is_the_nearest_point():
    row = np.array([3.0, -1.0, 0.5, 2.0])
    found = minimize(
        lambda x: ((x - row) ** 2).sum(),
        np.full(4, 1.0),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 4},
    )
    np.testing.assert_allclose(project_rows(row[None], np.array([4.0]))[0], found.x, atol=1e-5)


def test_row_sums_are_combined_by_inverse_variance():
    tables = [np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])]
    assert combine_row_sums(tables) == pytest.approx([(2 / 2 + 5 / 4) / (1 / 2 + 1 / 4)])


def test_difference_is_spread_evenly():
    np.testing.assert_allclose(spread_difference(np.array([[1.0, 2.0, 3.0]]), np.array([9.0])), [[2.0, 3.0, 4.0]])


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


def test_systematic_sample_is_in_random_order():
    draws = systematic_sample(np.ones(2), 1000, np.random.default_rng(0))
    assert abs(draws[:500].mean() - 0.5) < 0.1
