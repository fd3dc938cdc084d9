"""Clusters of columns, which of them may be parents, and which tables a cluster's network needs."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.methods.networks.base import pair_matrix, to_measure
from dpcore.postprocess.bayes_net import contained
from dpcore.postprocess.clustering import contiguous_clusters, related_columns, spectral_clusters


def partition_of(clusters, d):
    assert all(clusters)
    assert sorted(j for cluster in clusters for j in cluster) == list(range(d))
    return {frozenset(cluster) for cluster in clusters}


def planted(d=10, seed=0):
    """Two blocks of equal fair bits, the columns shuffled: mutual information 1 inside a block and 0 across."""
    block = np.random.default_rng(seed).permutation(d) < d // 2
    blocks = {frozenset(np.flatnonzero(block).tolist()), frozenset(np.flatnonzero(~block).tolist())}
    return (block[:, None] == block[None, :]).astype(float), blocks


@pytest.mark.parametrize("seed", range(20))
def test_planted_blocks_are_found_from_distances_and_not_from_similarities(seed):
    """As printed the weight falls as the similarity grows: equal columns are put apart."""
    similarity, blocks = planted(seed=seed)
    fixed = spectral_clusters(similarity, 2, np.random.default_rng(seed))
    printed = spectral_clusters(similarity, 2, np.random.default_rng(seed), affinity="paper")
    assert partition_of(fixed, 10) == blocks
    assert partition_of(printed, 10) != blocks


@pytest.mark.parametrize("seed", range(5))
def test_planted_blocks_are_found_under_noise_and_beyond_0_and_1(seed):
    similarity, blocks = planted(12, seed)
    rng = np.random.default_rng(seed)
    noise = rng.laplace(0, 0.1, similarity.shape)
    noisy = similarity + noise + noise.T + np.diag(rng.normal(0, 1e6, 12))  # the diagonal is not used
    assert partition_of(spectral_clusters(noisy, 2, rng), 12) == blocks
    assert partition_of(spectral_clusters(similarity * 1e6 - 1e5, 2, rng), 12) == blocks


def test_one_huge_score_across_two_blocks_weighs_no_more_than_a_true_one():
    """Distances are between 0 and 1: noise makes two columns equal at most."""
    similarity, blocks = planted()
    i, j = min(min(blocks, key=min)), min(max(blocks, key=min))
    similarity[i, j] = similarity[j, i] = 1e4
    assert partition_of(spectral_clusters(similarity, 2, np.random.default_rng(0)), 10) == blocks


def test_three_blocks():
    block = np.array([0, 1, 2, 0, 1, 2, 2, 1, 0, 0])
    clusters = spectral_clusters((block[:, None] == block).astype(float), 3, np.random.default_rng(0))
    assert partition_of(clusters, 10) == {frozenset(np.flatnonzero(block == b).tolist()) for b in range(3)}


def symmetric(values):
    return np.triu(values, 1) + np.triu(values, 1).T


DEGENERATE = {
    "all equal": np.full((8, 8), 0.3),
    "all zero": np.zeros((8, 8)),
    "all one": np.ones((8, 8)),
    "huge and negative": -np.full((8, 8), 1e12),
    "huge noise": symmetric(np.random.default_rng(0).laplace(0, 1e9, (8, 8))),
    "negative noise": -np.abs(symmetric(np.random.default_rng(1).laplace(0, 1e-3, (8, 8)))),
    "one outlier": symmetric(np.where(np.arange(64).reshape(8, 8) == 1, 1e6, 0.0)),
    "two rows": np.zeros((2, 2)),
    "one row": np.zeros((1, 1)),
    "none": np.zeros((0, 0)),
}


@pytest.mark.parametrize("affinity", ["fixed", "paper"])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 20])
@pytest.mark.parametrize("name", DEGENERATE)
def test_whatever_the_noise_does_every_column_is_in_one_cluster(name, k, affinity):
    similarity = DEGENERATE[name]
    before = similarity.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clusters = spectral_clusters(similarity, k, np.random.default_rng(0), affinity=affinity)
    if len(similarity):
        assert len(partition_of(clusters, len(similarity))) <= k
    np.testing.assert_array_equal(similarity, before)


def test_one_cluster_and_as_many_clusters_as_columns():
    similarity, _ = planted()
    assert spectral_clusters(similarity, 1, np.random.default_rng(0)) == [list(range(10))]
    for k in (10, 11):
        assert spectral_clusters(similarity, k, np.random.default_rng(0)) == [[j] for j in range(10)]


def test_clusters_are_reproducible_and_leave_no_trace():
    similarity = DEGENERATE["huge noise"]
    first, again = (spectral_clusters(similarity, 3, np.random.default_rng(4)) for _ in range(2))
    assert first == again
    np.random.seed(1)  # noqa: NPY002
    here = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    spectral_clusters(similarity, 3, np.random.default_rng(4))
    assert np.random.random() == here  # noqa: NPY002


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(1, 25))
def test_contiguous_clusters_keep_the_order_and_divide_no_group(widths, k):
    ends = np.cumsum(widths).tolist()
    groups = [range(end - width, end) for end, width in zip(ends, widths, strict=True)]
    clusters = contiguous_clusters(groups, k)
    assert [j for cluster in clusters for j in cluster] == list(range(ends[-1]))
    assert 1 <= len(clusters) <= k
    for group in groups:
        assert sum(bool(set(group) & set(cluster)) for cluster in clusters) == 1
    share = ends[-1] / k
    assert all(len(cluster) < share + max(widths) + 1e-9 for cluster in clusters)


def test_contiguous_clusters_by_hand():
    groups = [range(0, 3), range(3, 4), range(4, 8), range(8, 10)]
    # Ten columns in two: the middles 1.5, 3.5, 6 and 9 lie on the left and right of 5.
    assert contiguous_clusters(groups, 2) == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]
    assert contiguous_clusters(groups, 1) == [list(range(10))]
    assert contiguous_clusters([], 3) == []


@pytest.mark.parametrize("eta", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("seed", range(5))
def test_related_columns_against_a_reading_word_by_word(seed, eta):
    similarity = symmetric(np.random.default_rng(seed).normal(0.2, 0.5, (7, 7)))
    related = related_columns(similarity, eta)
    assert related.dtype == bool
    for i in range(7):
        for j in set(range(7)) - {i}:
            best_i = max(similarity[i, other] for other in range(7) if other != i)
            best_j = max(similarity[j, other] for other in range(7) if other != j)
            assert related[i, j] == (similarity[i, j] > eta * best_i and similarity[i, j] > eta * best_j)
    np.testing.assert_array_equal(related, related.T)


@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("d", [0, 1, 2])
def test_clusters_of_hardly_any_column_can_be_filtered(d, eta):
    assert related_columns(np.zeros((d, d)), eta).shape == (d, d)


def test_a_column_that_is_like_no_other_is_related_to_none():
    similarity = symmetric(np.array([[0, 1.0, -0.2], [0, 0, -0.3], [0, 0, 0]]))
    related = related_columns(similarity, 0.1)
    assert related[0, 1]
    assert related[1, 0]
    assert not related[2, :2].any()
    assert not related[:2, 2].any()


def test_values_of_pairs_as_a_matrix():
    assert pair_matrix(np.array([1.0, 2.0, 3.0]), 3).tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert pair_matrix(np.zeros(0), 1).tolist() == [[0]]


# Which tables are measured


def grown(d, most, rng, *, related=None):
    """A network as growth makes it: all placed columns while they are few, then `most` of those that are allowed."""
    names = [f"b{j}" for j in rng.permutation(d)]
    families = []
    for at, child in enumerate(names):
        allowed = [other for i, other in enumerate(names[:at]) if related is None or related[at, i]]
        parents = rng.permutation(allowed)[:most].tolist() if len(allowed) > most else allowed
        families.append((child, *parents))
    return families


def assert_all_tables_can_be_had(families, measured):
    assert set(measured) <= set(families)
    assert len(set(measured)) == len(measured)
    for family in families:
        assert family in measured or contained(family, measured[0])


@pytest.mark.parametrize("most", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 8])
def test_without_a_filter_the_first_families_are_margins(d, most):
    for seed in range(10):
        families = grown(d, most, np.random.default_rng(seed))
        measured = to_measure(families, most)
        assert measured == families[min(d - 1, most) :]
        assert_all_tables_can_be_had(families, measured)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(20))
def test_with_a_filter_those_that_are_no_margins_are_measured_too(most, seed):
    rng = np.random.default_rng(seed)
    families = grown(8, most, rng, related=rng.random((8, 8)) < rng.choice([0.1, 0.5, 0.9]))
    measured = to_measure(families, most)
    late, early = families[most:], families[:most]
    assert measured == [*late, *(family for family in early if not set(family) <= set(late[0]))]
    assert_all_tables_can_be_had(families, measured)


def test_independent_columns_are_all_measured():
    families = [("a",), ("b",), ("c",)]
    assert to_measure(families, 0) == families
    assert sorted(to_measure(families, 2)) == families
    assert to_measure([("a",)], 3) == [("a",)]
