"""Clusters of columns, whatever the noise does, and which of a cluster's columns may be parents."""

import warnings
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from dpcore.methods.networks.base import pair_matrix
from dpcore.postprocess.clustering import STARTS, contiguous_clusters, related_columns, spectral_clusters


def partition_of(clusters, d):
    assert all(clusters)
    assert sorted(j for cluster in clusters for j in cluster) == list(range(d))
    return {frozenset(cluster) for cluster in clusters}


def planted(seed):
    """Two blocks of equal fair bits, the columns shuffled: mutual information 1 inside a block and 0 across."""
    block = np.random.default_rng(seed).permutation(10) % 2
    groups = {frozenset(np.flatnonzero(block == b).tolist()) for b in (0, 1)}
    return (block[:, None] == block[None, :]).astype(float), groups


def test_planted_blocks_are_found_from_distances_and_not_from_similarities(seeds):
    """As printed the weight falls as the similarity grows: equal columns are put apart."""
    for seed in seeds(20):
        similarity, blocks = planted(seed)
        rng = np.random.default_rng(seed)
        assert partition_of(spectral_clusters(similarity, 2, rng, affinity="published"), 10) != blocks
        noise = rng.laplace(0, 0.1, (10, 10))
        noisy = similarity + noise + noise.T + np.diag(rng.normal(0, 1e6, 10))  # the diagonal is not used
        for found in (similarity, similarity * 1e6 - 1e5, noisy):  # beyond 0 and 1 as well
            assert partition_of(spectral_clusters(found, 2, rng), 10) == blocks
    # Distances are between 0 and 1: noise makes two columns equal at most.
    i, j = min(min(blocks, key=min)), min(max(blocks, key=min))
    similarity[i, j] = similarity[j, i] = 1e4
    assert partition_of(spectral_clusters(similarity, 2, rng), 10) == blocks


def test_the_printed_affinity_is_the_printed_formula():
    """W = exp(-s / 2 sigma^2) with s_ii = 0, B its sums, L = B^-1/2 (B - W) B^-1/2; k1 vectors of length 1."""
    for sigma, k1, seed in ((1.0, None, 2), (0.3, 3, 1), (2.0, 5, 4)):
        similarity = symmetric(np.random.default_rng(seed).normal(0.3, 0.5, (9, 9)))
        weights = np.exp(-similarity / (2 * sigma**2))
        degrees = np.diag(weights.sum(axis=1) ** -0.5)
        vectors = np.linalg.eigh(degrees @ (np.linalg.inv(degrees) ** 2 - weights) @ degrees)[1][:, : k1 or 4]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        start = int(np.random.default_rng(0).integers(2**31))
        labels = KMeans(4, n_init=STARTS, random_state=start).fit_predict(vectors)
        found = spectral_clusters(similarity, 4, np.random.default_rng(0), affinity="published", sigma=sigma, k1=k1)
        assert partition_of(found, 9) == {frozenset(np.flatnonzero(labels == each).tolist()) for each in labels}


def symmetric(values):
    return np.triu(values, 1) + np.triu(values, 1).T


DEGENERATE = {
    "all zero": np.zeros((8, 8)),
    "huge and negative": -np.full((8, 8), 1e12),
    "huge noise": symmetric(np.random.default_rng(0).laplace(0, 1e9, (8, 8))),
    "one outlier": symmetric(np.where(np.arange(64).reshape(8, 8) == 1, 1e6, 0.0)),
    "few": np.zeros((2, 2)),
    "none": np.zeros((0, 0)),
}


def test_whatever_the_noise_does_every_column_is_in_one_cluster():
    for (name, similarity), affinity, k in product(DEGENERATE.items(), ("fixed", "published"), (2, 7)):
        before = similarity.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clusters = spectral_clusters(similarity, k, np.random.default_rng(0), affinity=affinity)
        if len(similarity):
            assert len(partition_of(clusters, len(similarity))) <= k, (name, affinity)
        np.testing.assert_array_equal(similarity, before)
    before = str(np.random.get_state())  # noqa: NPY002 (what must not change)
    first, again = (spectral_clusters(DEGENERATE["huge noise"], 3, np.random.default_rng(4)) for _ in range(2))
    assert first == again
    assert str(np.random.get_state()) == before  # noqa: NPY002 (as above)
    for k, columns in ((1, [list(range(8))]), (8, [[j] for j in range(8)])):
        assert spectral_clusters(DEGENERATE["all zero"], k, np.random.default_rng(0)) == columns


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 25))
def test_contiguous_clusters_keep_the_order_and_divide_no_group(widths, k):
    ends = np.cumsum(widths).tolist()
    groups = [range(end - width, end) for end, width in zip(ends, widths, strict=True)]
    clusters = contiguous_clusters(groups, k)
    assert [j for cluster in clusters for j in cluster] == list(range(ends[-1]))
    assert 1 <= len(clusters) <= k
    for group in groups:
        assert sum(bool(set(group) & set(cluster)) for cluster in clusters) == 1
    assert all(len(cluster) < ends[-1] / k + max(widths) + 1e-9 for cluster in clusters)
    # Ten columns in two: the middles 1.5, 3.5, 6 and 9 lie on the left and right of 5.
    groups = [range(0, 3), range(3, 4), range(4, 8), range(8, 10)]
    assert contiguous_clusters(groups, 2) == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]
    assert contiguous_clusters([], 3) == []


def test_related_columns_against_a_reading_word_by_word():
    for seed, eta in product(range(5), (0.0, 0.1, 0.5, 0.99)):
        similarity = symmetric(np.random.default_rng(seed).normal(0.2, 0.5, (7, 7)))
        related = related_columns(similarity, eta)
        assert related.dtype == bool
        best = [max(similarity[i, other] for other in range(7) if other != i) for i in range(7)]
        for i, j in product(range(7), repeat=2):
            assert i == j or related[i, j] == (similarity[i, j] > eta * max(best[i], best[j]))
    assert all(related_columns(np.zeros((d, d)), 0.1).shape == (d, d) for d in (0, 1, 2))
    # A column that is like no other is related to none.
    lonely = related_columns(pair_matrix(np.array([1.0, -0.2, -0.3]), 3), 0.1)
    assert [lonely[0, 1], lonely[1, 0], lonely[2, :2].any(), lonely[:2, 2].any()] == [True, True, False, False]
