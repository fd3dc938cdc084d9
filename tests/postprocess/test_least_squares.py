"""Against dense generalized least squares, brute-force quadratic programs and loops, on small irregular trees."""

from itertools import chain, pairwise, product

import numpy as np
import pytest
from scipy.linalg import null_space

from dpcore.postprocess.least_squares import TreeLeastSquares

BINARY = [np.array([0, 0]), np.array([0, 0, 1, 1])]


def random_tree(rng):
    """A forest whose siblings are scattered, with leaves at every level and families of one."""
    sizes = [rng.integers(1, 4), *rng.integers(1, 9, size=rng.integers(1, 5))]
    return TreeLeastSquares([rng.integers(0, above, size=n) for above, n in pairwise(sizes)], sizes[0])


def random_measurements(tree, rng, exact=0.15, missing=0.3):
    """Noisy counts, their variances, and some of both kinds that need care: variance 0 and, above leaves, infinity."""
    truth = tree.sums([rng.integers(0, 4, size=n).astype(float) for n in tree.sizes])
    measured, variances = [], []
    for count, leaf in zip(truth, tree.leaves, strict=True):
        variance, draw = rng.lognormal(sigma=1.5, size=len(leaf)), rng.random(len(leaf))
        variance[draw < exact] = 0
        measured.append(count + rng.normal(size=len(count)) * np.sqrt(variance))
        unknown = (draw > 1 - missing) & ~leaf
        measured[-1][unknown], variance[unknown] = np.nan, np.inf
        variances.append(variance)
    return measured, variances


def membership(tree):
    """Nodes (level by level) x leaves: which leaves each node counts."""
    indices = np.flatnonzero(np.concatenate(tree.leaves))
    rows = [np.concatenate(tree.sums(split(tree, row))) for row in np.eye(sum(tree.sizes))[indices]]
    return np.array(rows).T


def split(tree, values):
    return np.split(np.asarray(values), np.cumsum(tree.sizes)[:-1])


def dense(tree, measured, variances):
    """The leaves' estimate and covariance: exact counts as linear constraints, the others by least squares."""
    design, y, v = membership(tree), np.concatenate(measured), np.concatenate(variances)
    noisy, exact = np.isfinite(v) & (v > 0), v == 0
    a, w = design[noisy], np.diag(1 / v[noisy])
    start = np.linalg.lstsq(design[exact], y[exact])[0] if exact.any() else np.zeros(design.shape[1])
    free = null_space(design[exact]) if exact.any() else np.eye(design.shape[1])
    covariance = free @ np.linalg.inv(free.T @ a.T @ w @ a @ free) @ free.T
    return start + covariance @ a.T @ w @ (y[noisy] - a @ start), covariance


def test_examples_by_hand():
    """That of Hay et al.; exact counts stay to the last digit, and may agree."""
    measured = [np.array([10.0]), np.array([6.0, 3.0]), np.array([2.0, 1.0, 3.0, 4.0])]
    fitted = TreeLeastSquares(BINARY).fit(measured, [2, 2, 2])
    np.testing.assert_allclose(fitted.upward[1], [5, 13 / 3])
    np.testing.assert_allclose(fitted.upward[0], [68 / 7])
    np.testing.assert_allclose(fitted.counts[1], [5.1905, 4.5238], atol=5e-5)
    np.testing.assert_allclose(fitted.counts[2], [3.0952, 2.0952, 1.7619, 2.7619], atol=5e-5)
    tree, third = TreeLeastSquares([np.array([0, 0])]), np.array([0.1, 0.2])
    np.testing.assert_array_equal(tree.fit([np.array([0.3]), third], [0, 0]).counts[1], third)
    assert tree.fit([np.array([0.3]), 1e9 * third], [0, 2]).counts[0] == 0.3
    fitted = tree.fit([np.array([10.0]), np.array([6.0, 5.0])], [2, np.array([0.0, 2])])  # one exact child
    assert [level.tolist() for level in (*fitted.counts, *fitted.variances)] == [[10.5], [6, 4.5], [1], [0, 1]]


def test_estimates_and_variances_are_those_of_dense_least_squares(seeds):
    kinds = ({"exact": 0, "missing": 0}, {"exact": 0}, {"missing": 0}, {"exact": 0.5}, {}, {"missing": 1.0})
    for seed, how in product(seeds(40), kinds):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng)
        measured, variances = random_measurements(tree, rng, **how)
        fitted, design = tree.fit(measured, variances), membership(tree)
        leaves, covariance = dense(tree, measured, variances)
        np.testing.assert_allclose(np.concatenate(fitted.counts), design @ leaves, atol=1e-9)
        expected = np.diag(design @ covariance @ design.T)
        np.testing.assert_allclose(np.concatenate(fitted.variances), expected, rtol=1e-9, atol=1e-9)
        query = rng.normal(size=len(leaves))
        weights = np.full(sum(tree.sizes), np.nan)
        weights[np.concatenate(tree.leaves)] = query
        found = fitted.query_variance(split(tree, weights))
        assert found == pytest.approx(query @ covariance @ query, rel=1e-9, abs=1e-9)


def nearest(estimates, variances, total):
    """The quadratic program of one family, by trying every set of positive children."""
    exact = variances == 0
    found = np.where(exact, np.maximum(estimates, 0), 0.0)
    if found.sum() >= total:
        return found * (total / found.sum() if total else 0.0)
    left, best = total - found.sum(), np.inf
    z, v = estimates[~exact], variances[~exact]
    for chosen in product([False, True], repeat=len(z)):
        if not any(chosen):
            continue
        s = np.array(chosen)
        x = np.where(s, z + v * (left - z[s].sum()) / v[s].sum(), 0.0)
        cost = ((x - z) ** 2 / v).sum()
        if x.min() >= 0 and cost < best:
            best, found[~exact] = cost, x
    return found


def test_projection_solves_each_familys_quadratic_program(seeds):
    clipped = 0
    for seed, exact in product(seeds(40), (0, 0.3)):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng)
        fitted = tree.fit(*random_measurements(tree, rng, exact=exact))
        kept = fitted.non_negative()
        np.testing.assert_array_equal(kept[0], np.maximum(fitted.counts[0], 0))
        for level, above in enumerate(tree.parents):
            estimates, variances = fitted.upward[level + 1], fitted.upward_variances[level + 1]
            for parent in np.unique(above):
                family = above == parent
                expected = nearest(estimates[family], variances[family], kept[level][parent])
                np.testing.assert_allclose(kept[level + 1][family], expected, atol=1e-9)
                clipped += (expected == 0).sum()
    assert clipped > 5


def test_projection_leaves_no_tiny_negative_counts():
    """1 / 49 * 49 is not 1."""
    tree, variances = TreeLeastSquares(BINARY), np.array([0.0, 1.0, 1.0, 49.0])
    fitted = tree.fit([np.zeros(1), np.zeros(2), np.array([-2.0, 7.0, -3.0, 1.0])], [np.inf, np.inf, variances])
    assert [list(level) for level in fitted.non_negative()] == [[3], [3, 0], [0, 3, 0, 0]]


def rounded_by_loops(tree, counts):
    whole = [[round(count) for count in counts[0]]]
    for level, above in enumerate(tree.parents):
        numbers = np.floor(counts[level + 1]).astype(int)
        for parent, total in enumerate(whole[level]):
            family = [child for child in range(len(above)) if above[child] == parent]
            rest = sorted(family, key=lambda child: numbers[child] - counts[level + 1][child])
            for child in rest[: total - sum(numbers[family])] if family else ():
                numbers[child] += 1
        whole.append(list(numbers))
    return list(chain(*whole))


def test_largest_remainders():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng)
        # Quarters are exact in floating point and give ties and halves.
        counts = tree.sums([rng.integers(0, 13, size=n) / 4 for n in tree.sizes])
        whole = tree.round_to_integers(counts)
        assert all(level.dtype == np.int64 for level in whole)
        assert list(np.concatenate(whole)) == rounded_by_loops(tree, counts)
    assert TreeLeastSquares([], roots=4).round_to_integers(np.array([0.5, 1.5, 2.5, 3.25]))[0].tolist() == [0, 2, 2, 3]


def test_whole_numbers_are_consistent_whatever_the_rounding_of_their_counts():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tree = TreeLeastSquares([rng.permutation(np.repeat(np.arange(above), 3)) for above in (1, 3, 9, 27)])
        fitted = tree.fit(
            [rng.laplace(size=n) + 1e6 * (seed % 3) for n in tree.sizes], [*rng.choice([0.5, 2.0, np.inf], 4), 2.0]
        )
        # Whole counts, off by a last digit here and there, are where floor goes wrong.
        for counts in (fitted.non_negative(), [np.round(c) * (1 - 1e-16) for c in fitted.non_negative()]):
            whole = tree.round_to_integers(counts)
            for found, expected in zip(whole, tree.sums([w.astype(float) for w in whole]), strict=True):
                np.testing.assert_array_equal(found, expected)
            assert min(level.min() for level in whole) >= 0
            exact = tree.sums(counts)
            assert max(np.abs(a - b).max() for a, b in zip(whole, exact, strict=True)) < 1
