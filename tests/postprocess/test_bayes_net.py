"""Networks, junction trees and clusters: conditionals and tables by hand, margins, graphs, rows by brute force."""

import warnings
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.cluster import KMeans

from dpcore.domain.column import Column
from dpcore.domain.partition import Binarization
from dpcore.domain.schema import Schema
from dpcore.methods.networks.base import pair_matrix
from dpcore.postprocess import junction_tree as trees
from dpcore.postprocess.bayes_net import conditional, is_contained, marginal_of, sample_binarized, sample_network
from dpcore.postprocess.clustering import STARTS, contiguous_clusters, related_columns, spectral_clusters
from dpcore.rows import joint_counts

ALARM = 1e-4  # seeded; were the seeds drawn afresh, each such assertion would fail once in 10,000


def fresh(seed=0):
    return np.random.default_rng(seed)


def test_conditionals_by_hand():
    # child x parent; parent 0: 3 and 1; parent 1: a negative cell counts as 0; parent 2: no rows.
    table = np.array([[3.0, -2.0, 0.0], [1.0, 6.0, -1.0]])
    # Over all parents the child has 3 and 7.
    np.testing.assert_allclose(conditional(table), [[0.75, 0.25], [0.0, 1.0], [0.3, 0.7]])
    assert table[0, 1] == -2
    np.testing.assert_allclose(conditional(np.array([1.0, 3.0, -5.0])), [[0.25, 0.75, 0.0]])
    np.testing.assert_allclose(conditional(np.array([[-1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]])), np.full((2, 3), 1 / 3))
    # Smoothing is spread over all cells: 4 rows over 4 cells, one each.
    np.testing.assert_allclose(conditional(np.array([[5.0, 0.0], [0.0, -9.0]]), 4.0), [[6 / 7, 1 / 7], [0.5, 0.5]])
    deep = np.arange(12.0).reshape(2, 3, 2)  # the order of the parents' cells is that of the axes
    np.testing.assert_allclose(conditional(deep), (deep / deep.sum(axis=0)).reshape(2, 6).T)


def test_marginals_have_the_requested_axes():
    table = fresh().normal(size=(3, 5, 2, 4))  # of columns b, d, a and c
    for wanted in (wanted for k in range(5) for wanted in permutations(range(4), k)):
        found = marginal_of(table, tuple("bdac"), tuple("abcd"[index] for index in wanted))
        np.testing.assert_allclose(found, np.einsum(table, [1, 3, 0, 2], list(wanted)))
    assert is_contained(("a", "b"), ("c", "b", "a"))
    assert is_contained((), ("a",))
    assert not is_contained(("a", "d"), ("c", "b", "a"))


NETWORK = [("a",), ("c", "a"), ("b", "c", "a"), ("d", "b", "a"), ("e",)]
SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 1}


def test_counts_of_each_child_given_its_parents_are_the_expected_ones_rounded(seeds):
    # Smoothing reaches cells without rows: a sixth of 300, 25 of 150.
    assert sample_network(("a",), [("a",)], [np.array([100.0, 0.0])], 300, fresh(), 50.0).sum() == 50
    for seed, n in product(seeds(4), (1, 37, 1000)):
        rng, names = fresh(seed), tuple(SIZES)
        tables = [rng.gamma(0.7, 20, [SIZES[name] for name in family]) for family in NETWORK]
        tables = [np.where(rng.random(table.shape) < 0.3, -3.0, table) for table in tables]
        codes = sample_network(names, NETWORK, tables, n, rng)
        assert codes.shape == (n, 5)
        assert (codes < list(SIZES.values())).all()
        for family, table in zip(NETWORK, tables, strict=True):
            (counts,) = joint_counts(codes, list(SIZES.values()), [[names.index(name) for name in family]])
            given_parents = counts.reshape(len(counts), -1).T
            expected = given_parents.sum(axis=1, keepdims=True) * conditional(table)
            assert (np.abs(given_parents - expected) < 1 + 1e-9).all()


def test_children_of_one_parent_are_independent_given_it():
    """Each draw has an order of its own; with one order for all, the children would be equal here.

    Tables of 2 x 2 have margins that are fixed by design: the corner is hypergeometric, 12.5 with a variance of 3.2.
    """
    families, half = [("p",), ("x", "p"), ("y", "p")], np.full((2, 2), 50.0)
    corners, rng = [], fresh(1)
    for _ in range(200):
        codes = sample_network(("p", "x", "y"), families, [half.sum(axis=0), half, half], 100, rng)
        for parent in (0, 1):
            _, x, y = codes[codes[:, 0] == parent].T
            assert x.sum() == y.sum() == 25
            corners.append((x & y).sum())
    assert abs(np.mean(corners) - 12.5) < 0.5
    assert 2.2 < np.var(corners) < 4.4


def binarization_of(*sizes):
    columns = [Column(name=f"c{i}", kind="integer", lower=0, upper=n - 1, bins=n) for i, n in enumerate(sizes)]
    return Binarization(Schema(columns=tuple(columns)))


def patterns_of(values, binarization):
    """Bits of numbers that may stand for no code, one array per column."""
    bits = [
        value[:, None] >> np.arange(len(group) - 1, -1, -1) & 1
        for value, group in zip(values, binarization.groups, strict=True)
    ]
    return np.hstack(bits).astype(np.uint8)


class Sampler:
    """Bits of independent columns, and how often they were asked for."""

    def __init__(self, binarization, probabilities, seed=0):
        self.binarization, self.probabilities, self.rng, self.asked = binarization, probabilities, fresh(seed), []

    def __call__(self, rows, smoothing):
        self.asked.append((rows, smoothing))
        values = [self.rng.choice(len(p), size=rows, p=p) for p in self.probabilities]
        return patterns_of(values, self.binarization)


def test_few_rejections_give_the_distribution_among_the_rows_that_exist():
    """Size 3 with its fourth pattern at 10%, beside a column that depends on nothing."""
    binarization = binarization_of(3, 2)
    sampler = Sampler(binarization, [[0.5, 0.3, 0.1, 0.1], [0.25, 0.75]], seed=5)
    codes = sample_binarized(binarization, sampler, 5_000, fresh())
    (table,) = joint_counts(codes, [3, 2], [(0, 1)])
    expected = 5_000 * np.outer(np.array([5, 3, 1]) / 9, [0.25, 0.75])
    assert stats.chisquare(table.ravel(), expected.ravel()).pvalue > ALARM
    assert {smoothing for _, smoothing in sampler.asked} == {0.0}
    assert all(rows >= 100 for rows, _ in sampler.asked)


def test_a_hopeless_case_ends_soon_with_codes_that_exist():
    """Twenty columns of size 5 with uniform bits: one row in 12,000 is whole."""
    for n in (1, 400):
        sampler = Sampler(binarization_of(*[5] * 20), [np.full(8, 1 / 8)] * 20)
        codes = sample_binarized(sampler.binarization, sampler, n, fresh())
        assert codes.shape == (n, 20)
        assert (codes < 5).all()
        assert len(sampler.asked) <= 60
        assert sorted({smoothing for _, smoothing in sampler.asked}) == [0.0, 0.01, 0.02, 0.04, 0.08, 0.16]
    # each column has the codes that the sampler gave it
    assert stats.chisquare(np.bincount(codes.ravel(), minlength=5)).pvalue > ALARM


def test_repaired_rows_take_codes_that_the_sampler_gave_the_column_and_otherwise_any():
    never, once = [0, 0, 0, 0, 0, 0, 0, 1.0], [0, 0.1, 0, 0.2, 0, 0, 0, 0.7]
    sampler = Sampler(binarization_of(5, 2, 5), [never, [1.0, 0.0], once])
    codes = sample_binarized(sampler.binarization, sampler, 400, fresh())
    assert codes.shape == (400, 3)
    assert len(sampler.asked) == 6
    assert set(codes[:, 0].tolist()) == set(range(5))
    assert not codes[:, 1].any()
    one, three = (codes[:, 2] == 1).sum(), (codes[:, 2] == 3).sum()
    assert one + three == 400
    assert abs(three / 400 - 2 / 3) < 0.12


def test_no_drawn_row_is_given_out_twice():
    """One whole row in a hundred: it is kept once, and is not among the rows that are mended."""
    binarization = binarization_of(5, 1024)
    serial = iter(range(1, 1024))  # whole rows have a number of their own, the others 0

    def draw(rows, smoothing):
        whole = np.arange(rows) % 100 == 0
        numbers = np.array([next(serial) if here else 0 for here in whole])
        return patterns_of([np.where(whole, 2, 7), numbers], binarization)

    codes = sample_binarized(binarization, draw, 400, fresh())
    assert len(codes) == 400
    assert np.bincount(codes[:, 1])[1:].max() == 1


def test_smoothing_that_helps_is_used():
    binarization = binarization_of(3)

    def draw(rows, smoothing):  # whole rows come only once the tables are smoothed by 4% or more
        return patterns_of([np.full(rows, 2 if smoothing >= 0.04 else 3)], binarization)

    assert sample_binarized(binarization, draw, 10, fresh()).tolist() == [[2]] * 10


def random_graph(rng, columns, density=0.3):
    sizes = [int(size) for size in rng.integers(1, 5, columns)]
    return sizes, [pair for pair in combinations(range(columns), 2) if rng.random() < density]


def test_graphs_by_hand():
    """A square gets one diagonal, the one of fewest cells; columns without edges are cliques."""
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert trees.triangulate(square, [2, 5, 2, 5]) == [(0, 1, 2), (0, 2, 3)]
    assert trees.triangulate(square, [5, 2, 5, 2]) == [(0, 1, 3), (1, 2, 3)]
    assert trees.triangulate([(0, 2)], [2, 2, 2, 2]) == [(0, 2), (1,), (3,)]
    assert trees.triangulate([], [1]) == [(0,)]
    assert trees.junction_tree([(0,)]) == ([(0,)], [-1])
    assert trees.merge_cliques([(0,), (1,)], [2, 2], 100) == [(0, 1)]  # 4 * (2 + 2) falls to 1 * 4
    assert trees.merge_cliques([(0,), (1,)], [10, 10], 100) == [(0,), (1,)]  # 4 * 20 would rise to 1 * 100
    assert trees.merge_cliques([(0,), (1,)], [2, 2], 3) == [(0,), (1,)]
    # Of these, 9 * 48 cells, 4 * 48 and 1 * 320.
    assert trees.merge_cliques([(0, 1), (1, 2), (3,)], [2, 2, 2, 40], 100) == [(3,), (0, 1, 2)]


def test_junction_tree_of_any_graph(seeds):
    for seed in seeds(60):
        rng = np.random.default_rng(seed)
        for columns in range(1, 10):
            sizes, edges = random_graph(rng, columns)
            cliques = trees.triangulate(edges, sizes)
            assert set(edges) <= trees.pairs_within(cliques)
            assert {j for clique in cliques for j in clique} == set(range(columns))
            assert not any(set(a) <= set(b) for a, b in product(cliques, cliques) if a != b)
            assert trees.triangulate(trees.pairs_within(cliques), sizes) == cliques
            order, parents = trees.junction_tree(cliques)
            assert sorted(order) == cliques
            assert parents[0] == -1
            assert all(0 <= parent < i for i, parent in enumerate(parents) if i)
            # The running intersection property: the cliques that hold a column are one connected part of the tree.
            for column in range(columns):
                holders = {i for i, clique in enumerate(order) if column in clique}
                assert len([i for i in holders if parents[i] not in holders]) == 1


def random_trees(seeds):
    """Sizes, cliques and their parents, and all pairs of columns."""
    for seed in range(5 * len(seeds(10))):
        rng = np.random.default_rng(seed)
        sizes, edges = random_graph(rng, columns := int(rng.integers(3, 12)), 0.25)
        yield sizes, *trees.junction_tree(trees.triangulate(edges, sizes)), list(combinations(range(columns), 2))


def test_joining_changes_only_what_lies_between(seeds):
    tree, sizes = [(0, 1), (1, 2), (3,)], [3, 4, 5, 2]
    hand = [((0, 2), [0, 1], [(0, 1, 2)]), ((0, 1), [], []), ((0, 3), [2], [(0, 3)])]
    assert list(trees.joined_cliques([pair for pair, *_ in hand], tree, [-1, 0, 0], sizes)) == hand
    for sizes, cliques, parents, pairs in random_trees(seeds):
        for pair, old, new in trees.joined_cliques(pairs, cliques, parents, sizes):
            kept = [clique for i, clique in enumerate(cliques) if i not in old]
            assert sorted({*kept, *new}) == trees.triangulate({*trees.pairs_within(cliques), pair}, sizes)
            assert (new == []) == (pair in trees.pairs_within(cliques))


def test_rows_have_the_trees_joint_distribution():
    rng, sizes, size = np.random.default_rng(0), [2, 3, 2, 3, 2], 100_000
    cliques, parents = [(1, 2), (0, 1), (2, 3), (4,)], [-1, 0, 0, 0]
    tables = [rng.uniform(0, 10, [sizes[j] for j in clique]) for clique in cliques]
    # Cell by cell: the product over the tree of P(clique | columns that stand already).
    joint = np.ones(sizes)
    for cell in np.ndindex(*sizes):
        seen = set()
        for clique, table in zip(cliques, tables, strict=True):
            given = tuple(cell[j] if j in seen else slice(None) for j in clique)
            joint[cell] *= table[tuple(cell[j] for j in clique)] / table[given].sum()
            seen |= set(clique)
    assert joint.sum() == pytest.approx(1)
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(trees.sample_rows(cliques, parents, tables, size, rng).T), 1)
    # At most binomial spread: 72 cells at 5 standard deviations, false-alarm rate below 1e-4.
    assert (np.abs(counts - size * joint) <= 5 * np.sqrt(size * joint) + 3).all()


def test_counts_at_each_separator_are_the_expected_ones_rounded():
    rng = np.random.default_rng(5)
    cliques, parents, sizes = [(0, 1), (1, 2)], [-1, 0], [3, 4, 5]
    joint = rng.uniform(0, 1, sizes) * (rng.random(sizes) < 0.7)
    tables = [joint.sum(axis=2), joint.sum(axis=0)]
    conditional = tables[1] / tables[1].sum(axis=1, keepdims=True)
    # Tables of nothing are sampled uniformly.
    nothing = [np.zeros((2, 2)), np.zeros((2, 2))]
    counts = np.bincount(trees.sample_rows(cliques, parents, nothing, 8_000, rng) @ [4, 2, 1], minlength=8)
    assert np.abs(counts - 1_000).max() < 5 * np.sqrt(1_000)
    for size in (1, 7, 1_000):
        rows = trees.sample_rows(cliques, parents, tables, size, rng)
        root, child = np.zeros((3, 4)), np.zeros((4, 5))
        np.add.at(root, tuple(rows[:, :2].T), 1)
        np.add.at(child, tuple(rows[:, 1:].T), 1)
        assert np.abs(root - size * tables[0] / joint.sum()).max() < 1
        assert np.abs(child - child.sum(axis=1, keepdims=True) * conditional).max() < 1
        assert (child[tables[1] == 0] == 0).all()


def test_how_many_cells_a_model_gets_and_how_large_a_clique(seeds):
    """What is said of a pair is what joining it gives, or a clique that holds one of the two already."""
    cliques, parents = trees.junction_tree([(0, 1), (1, 2), (3,)])
    pairs, sizes = [(0, 1), (0, 2), (0, 3)], [3, 4, 5, 2]
    assert list(trees.cells_with(pairs, cliques, parents, sizes).values()) == [34, 62, 38]
    assert list(trees.largest_clique_cells(pairs, cliques, parents, sizes).values()) == [20, 60, 12]
    for sizes, cliques, parents, pairs in random_trees(seeds):
        tree = pairs, cliques, parents, sizes
        cells, largest = trees.cells_with(*tree), trees.largest_clique_cells(*tree)
        assert set(cells) == set(largest) == set(pairs)
        for pair in pairs:
            joined = trees.triangulate({*trees.pairs_within(cliques), pair}, sizes)
            new = [trees.cells_of(each, sizes) for each in joined if each not in cliques or set(pair) & set(each)]
            assert cells[pair] == sum(trees.cells_of(clique, sizes) for clique in joined)
            assert max(new) <= largest[pair] <= max(trees.cells_of(clique, sizes) for clique in [*joined, *cliques])


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
