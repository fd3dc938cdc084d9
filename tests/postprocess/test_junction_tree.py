"""Junction trees: graphs by their definition, tables by hand and by property, sampling by brute force."""

from itertools import combinations, product

import numpy as np
import pytest

from dpcore.postprocess.junction_tree import (
    cells_of,
    cells_with,
    joined,
    junction_tree,
    largest_with,
    merge_scopes,
    pairs_within,
    sample_rows,
    triangulate,
)


def random_graph(rng, columns, density=0.3):
    sizes = [int(size) for size in rng.integers(1, 5, columns)]
    return sizes, [pair for pair in combinations(range(columns), 2) if rng.random() < density]


def test_graphs_by_hand():
    """A square gets one diagonal, the one of fewest cells; columns without edges are cliques."""
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert triangulate(square, [2, 5, 2, 5]) == [(0, 1, 2), (0, 2, 3)]
    assert triangulate(square, [5, 2, 5, 2]) == [(0, 1, 3), (1, 2, 3)]
    assert triangulate([(0, 2)], [2, 2, 2, 2]) == [(0, 2), (1,), (3,)]
    assert triangulate([], [1]) == [(0,)]
    assert junction_tree([(0,)]) == ([(0,)], [-1])
    assert merge_scopes([(0,), (1,)], [2, 2], 100) == [(0, 1)]  # 4 * (2 + 2) falls to 1 * 4
    assert merge_scopes([(0,), (1,)], [10, 10], 100) == [(0,), (1,)]  # 4 * 20 would rise to 1 * 100
    assert merge_scopes([(0,), (1,)], [2, 2], 3) == [(0,), (1,)]
    assert merge_scopes([(0, 1), (1, 2), (3,)], [2, 2, 2, 40], 100) == [(3,), (0, 1, 2)]  # 9 * 48, 4 * 48, 1 * 320


def test_junction_tree_of_any_graph(seeds):
    for seed in seeds(60):
        rng = np.random.default_rng(seed)
        for columns in range(1, 10):
            sizes, edges = random_graph(rng, columns)
            cliques = triangulate(edges, sizes)
            assert set(edges) <= pairs_within(cliques)
            assert {j for clique in cliques for j in clique} == set(range(columns))
            assert not any(set(a) <= set(b) for a, b in product(cliques, cliques) if a != b)
            assert triangulate(pairs_within(cliques), sizes) == cliques
            order, parents = junction_tree(cliques)
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
        yield sizes, *junction_tree(triangulate(edges, sizes)), list(combinations(range(columns), 2))


def test_joining_changes_only_what_lies_between(seeds):
    tree, sizes = [(0, 1), (1, 2), (3,)], [3, 4, 5, 2]
    hand = [((0, 2), [0, 1], [(0, 1, 2)]), ((0, 1), [], []), ((0, 3), [2], [(0, 3)])]
    assert list(joined([pair for pair, *_ in hand], tree, [-1, 0, 0], sizes)) == hand
    for sizes, cliques, parents, pairs in random_trees(seeds):
        for pair, old, new in joined(pairs, cliques, parents, sizes):
            kept = [clique for i, clique in enumerate(cliques) if i not in old]
            assert sorted({*kept, *new}) == triangulate({*pairs_within(cliques), pair}, sizes)
            assert (new == []) == (pair in pairs_within(cliques))


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
    np.add.at(counts, tuple(sample_rows(cliques, parents, tables, size, rng).T), 1)
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
    counts = np.bincount(sample_rows(cliques, parents, nothing, 8_000, rng) @ [4, 2, 1], minlength=8)
    assert np.abs(counts - 1_000).max() < 5 * np.sqrt(1_000)
    for size in (1, 7, 1_000):
        rows = sample_rows(cliques, parents, tables, size, rng)
        root, child = np.zeros((3, 4)), np.zeros((4, 5))
        np.add.at(root, tuple(rows[:, :2].T), 1)
        np.add.at(child, tuple(rows[:, 1:].T), 1)
        assert np.abs(root - size * tables[0] / joint.sum()).max() < 1
        assert np.abs(child - child.sum(axis=1, keepdims=True) * conditional).max() < 1
        assert (child[tables[1] == 0] == 0).all()


def test_how_many_cells_a_model_gets_and_how_large_a_clique(seeds):
    """What is said of a pair is what joining it gives, or a clique that holds one of the two already."""
    cliques, parents = junction_tree([(0, 1), (1, 2), (3,)])
    pairs, sizes = [(0, 1), (0, 2), (0, 3)], [3, 4, 5, 2]
    assert list(cells_with(pairs, cliques, parents, sizes).values()) == [34, 62, 38]
    assert list(largest_with(pairs, cliques, parents, sizes).values()) == [20, 60, 12]
    for sizes, cliques, parents, pairs in random_trees(seeds):
        cells, largest = (said(pairs, cliques, parents, sizes) for said in (cells_with, largest_with))
        assert set(cells) == set(largest) == set(pairs)
        for pair in pairs:
            joined = triangulate({*pairs_within(cliques), pair}, sizes)
            new = [cells_of(clique, sizes) for clique in joined if clique not in cliques or set(pair) & set(clique)]
            assert cells[pair] == sum(cells_of(clique, sizes) for clique in joined)
            assert max(new) <= largest[pair] <= max(cells_of(clique, sizes) for clique in [*joined, *cliques])
