"""The variance of query answers over many draws of Laplace noise, beside the one that is computed.

20,000 draws at once: a forest of as many copies of one small tree. The seed is fixed, so the test always passes or
always fails. The relative standard error of an empirical variance is at most sqrt(5 / 20,000) = 1.6 % (Laplace noise
has kurtosis 6, sums of it less), so 5 % is three of them.
"""

import numpy as np
import pytest

from dpcore.postprocess.least_squares import CountTree

DRAWS = 20_000
# Three levels below the root; node 2 of level 1 is a leaf, and siblings of the last level are scattered.
PARENTS = [np.array([0, 0, 0]), np.array([1, 0, 0, 1]), np.array([0, 3, 1, 2, 0, 3, 2, 3])]
LEAF_3 = np.array([4.0, 0.0, 9.0, 1.0, 2.0, 2.0, 0.0, 30.0])
QUERIES = {
    "total": (1, np.ones(8)),
    "range": (0, np.array([0, 1, 1, 1, 1, 0, 0, 0])),
    "one": (0, np.eye(8)[4]),
    "mixed": (2, np.array([1, -1, 0.5, 0, 2, 0, 0, 1])),
}


@pytest.mark.parametrize(
    "variances",
    [(2.0, 2.0, 2.0, 2.0), (0.0, 8.0, np.inf, 2.0), (np.inf, 0.5, 2.0, 32.0)],
    ids=["equal", "root known", "top better"],
)
def test_empirical_variance(variances):
    rng = np.random.default_rng(3)
    tree = CountTree(PARENTS)
    truth = tree.sums([np.zeros(1), np.array([0.0, 0.0, 5.0]), np.zeros(4), LEAF_3])
    forest = CountTree(
        [(above + size * np.arange(DRAWS)[:, None]).ravel() for above, size in zip(PARENTS, tree.sizes, strict=False)],
        roots=DRAWS,
    )
    measured = []
    for count, variance in zip(truth, variances, strict=True):
        scale = np.sqrt(variance / 2) if np.isfinite(variance) else 0.0
        measured.append((count + scale * rng.laplace(size=(DRAWS, len(count)))).ravel())
    counts = [
        level.reshape(DRAWS, size)
        for level, size in zip(forest.fit(measured, variances).counts, tree.sizes, strict=True)
    ]
    fitted = tree.fit(truth, variances)
    for early, last in QUERIES.values():
        weights = [np.zeros(1), np.array([0.0, 0.0, early]), np.zeros(4), np.asarray(last, dtype=float)]
        answers = sum(level @ weight for level, weight in zip(counts, weights, strict=True))
        right = sum(level @ weight for level, weight in zip(truth, weights, strict=True))
        variance = fitted.query_variance(weights)
        if variance < 1e-12:
            np.testing.assert_allclose(answers, right)
        else:
            assert answers.var() == pytest.approx(variance, rel=0.05)
            assert abs(answers.mean() - right) < 4 * np.sqrt(variance / DRAWS)
