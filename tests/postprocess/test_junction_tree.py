"""Junction trees: graphs by their definition, tables by hand and by property, sampling by brute force."""

from itertools import combinations, product

import numpy as np
import pytest

from dpcore.postprocess.junction_tree import (
    calibrate,
    cells_of,
    cells_with,
    joinable,
    junction_tree,
    largest_with,
    make_consistent,
    merge_scopes,
    non_negative,
    pairs_within,
    sample_rows,
    triangulate,
)


def random_graph(rng, columns, density=0.3):
    sizes = [int(size) for size in rng.integers(1, 5, columns)]
    return sizes, [pair for pair in combinations(range(columns), 2) if rng.random() < density]


def common(tables, scopes, a, b):
    """The two tables' margins on the columns that both have."""
    both = set(scopes[a]) & set(scopes[b])
    return [tables[t].sum(axis=tuple(i for i, j in enumerate(scopes[t]) if j not in both)) for t in (a, b)]


def test_graphs_by_hand():
    """A square gets one diagonal, the one of fewest cells; columns without edges are cliques."""
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert triangulate(square, [2, 5, 2, 5]) == [(0, 1, 2), (0, 2, 3)]
    assert triangulate(square, [5, 2, 5, 2]) == [(0, 1, 3), (1, 2, 3)]
    assert triangulate([(0, 2)], [2, 2, 2, 2]) == [(0, 2), (1,), (3,)]
    assert triangulate([], [1]) == [(0,)]
    assert junction_tree([(0,)]) == ([(0,)], [-1])
    cliques, sizes, every = [(0, 1), (1, 2), (3,)], [3, 4, 5, 2], list(combinations(range(4), 2))
    assert joinable(every, cliques, sizes, 60) == [(0, 2), (0, 3), (1, 3), (2, 3)]
    assert joinable(every, cliques, sizes, 59) == [(0, 3), (1, 3), (2, 3)]  # (0, 2) would make 3 * 4 * 5 cells
    assert joinable(every, cliques, sizes, 8) == [(0, 3), (1, 3)]
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


def test_what_is_joinable_is_what_joining_gives(seeds):
    for seed in range(5 * len(seeds(10))):
        rng = np.random.default_rng(seed)
        sizes, edges = random_graph(rng, columns := int(rng.integers(3, 12)), 0.25)
        cliques, limit = triangulate(edges, sizes), int(rng.integers(8, 60))
        within, every = pairs_within(cliques), list(combinations(range(columns), 2))
        kept = joinable(every, cliques, sizes, limit)
        assert not within & set(kept)
        if max(cells_of(clique, sizes) for clique in cliques) > limit:
            continue
        for pair in set(every) - within:
            joined = triangulate({*within, pair}, sizes)
            assert (pair in kept) == all(cells_of(clique, sizes) <= limit for clique in joined)


def test_consistency_by_hand():
    """Margins on the shared column: (3, 7) of sums over 2 cells, (6, 9) of sums over 3; first the totals 10 and 15.

    Totals sum 4 and 6 cells, so the mean is (10/4 + 15/6) / (1/4 + 1/6) = 12, and the tables take +2/4 and -3/6 per
    cell: margins (4, 8) and (4.5, 7.5). Their mean is (4/2 + 4.5/3) / (1/2 + 1/3) = 4.2, and 7.8.
    """
    first, second = np.array([[1.0, 2], [3, 4]]), np.array([[1.0, 2, 3], [3, 3, 3]])
    moved = make_consistent([first, second], [(0, 1), (0, 2)])
    np.testing.assert_allclose(moved[0], [[1.6, 2.6], [3.4, 4.4]])
    np.testing.assert_allclose(moved[1], [[0.4, 1.4, 2.4], [2.6, 2.6, 2.6]])
    known = make_consistent([first, second], [(0, 1), (0, 2)], 20.0)
    assert [table.sum() for table in known] == pytest.approx([20, 20])


def test_tables_agree_on_every_intersection(seeds):
    for seed, total in product(seeds(40), (None, 100.0)):
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.integers(1, 4, 6)]
        scopes = sorted({tuple(sorted(rng.choice(6, rng.integers(1, 5), replace=False).tolist())) for _ in range(5)})
        tables = [rng.normal(5, 20, [sizes[j] for j in scope]) for scope in scopes]
        moved = make_consistent(tables, scopes, total)
        for a, b in combinations(range(len(scopes)), 2):
            np.testing.assert_allclose(*common(moved, scopes, a, b), atol=1e-9)
        if total:
            assert [table.sum() for table in moved] == pytest.approx([total] * len(scopes))
        for a, b in zip(moved, make_consistent(moved, scopes), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_final_tables_are_non_negative_and_agree_everywhere(seeds):
    for seed, scale in product(seeds(20), (1e-9, 1.0, 30.0, 1_000.0)):
        rng = np.random.default_rng(seed)
        sizes, edges = random_graph(rng, 7)
        cliques = triangulate(edges, sizes)
        clusters = merge_scopes(cliques, sizes, 60)
        noisy = [rng.laplace(5.0, scale, [sizes[j] for j in scope]) for scope in clusters]
        order, parents = junction_tree(cliques)
        tables = calibrate(order, parents, non_negative(noisy, clusters, 200.0), clusters)
        for clique, table in zip(order, tables, strict=True):
            assert table.shape == tuple(sizes[j] for j in clique)
            assert table.min() >= 0
            assert table.sum() == pytest.approx(200)
        for a, b in combinations(range(len(order)), 2):
            np.testing.assert_allclose(*common(tables, order, a, b), atol=1e-9)


def test_calibration_by_hand():
    """Consistent tables pass unchanged; where the child has nothing, its margin steps in."""
    joint = np.random.default_rng(3).uniform(1, 9, (2, 3, 4))
    cliques, parents, tables = [(0, 1), (1, 2)], [-1, 0], [joint.sum(axis=2), joint.sum(axis=0)]
    for noisy, scopes in (([joint], [(0, 1, 2)]), (tables, cliques)):
        for made, expected in zip(calibrate(cliques, parents, noisy, scopes), tables, strict=True):
            np.testing.assert_allclose(made, expected)
    # The parent has 4 rows at b = 1, where the child's table is empty: its margin on c is (1, 3) of 4.
    parent, child = np.array([[2.0, 4.0]]), np.array([[1.0, 3.0], [0.0, 0.0]])
    _, made = calibrate(cliques, parents, [parent, child], cliques)
    np.testing.assert_allclose(made, [[0.5, 1.5], [1.0, 3.0]])


def test_rows_have_the_trees_joint_distribution():
    rng, sizes, size = np.random.default_rng(0), [2, 3, 2, 3, 2], 100_000
    cliques, parents = [(1, 2), (0, 1), (2, 3), (4,)], [-1, 0, 0, 0]
    drawn = [rng.uniform(0, 10, [sizes[j] for j in clique]) for clique in cliques]
    tables = calibrate(cliques, parents, drawn, cliques)
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
    # Tables of nothing stay nothing, and are sampled uniformly.
    nothing = calibrate(
        cliques, parents, non_negative([np.full((2, 2), -1.0), np.full((2, 2), -3.0)], cliques), cliques
    )
    assert not any(table.any() for table in nothing)
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


def test_how_many_cells_a_model_gets(seeds):
    """What `cells_with` says of a pair is what joining it gives, whichever part of the tree changes."""
    cliques, sizes = [(0, 1), (1, 2), (3,), (4,)], [3, 4, 5, 2, 6]
    assert cells_with([(0, 1), (0, 2), (0, 3), (3, 4)], cliques, [-1, 0, 0, 0], sizes) == {
        (0, 1): 40, (0, 2): 68, (0, 3): 44, (3, 4): 44
    }  # fmt: skip
    for seed in range(5 * len(seeds(10))):
        rng = np.random.default_rng(seed)
        sizes, edges = random_graph(rng, columns := int(rng.integers(3, 12)), 0.25)
        cliques, parents = junction_tree(triangulate(edges, sizes))
        pairs = list(combinations(range(columns), 2))
        for pair, cells in cells_with(pairs, cliques, parents, sizes).items():
            joined = triangulate({*pairs_within(cliques), pair}, sizes)
            assert cells == sum(cells_of(clique, sizes) for clique in joined)


def test_how_large_a_clique_gets(seeds):
    """What `largest_with` says of a pair is what joining it gives, or a clique that holds one of the two already."""
    tree, parents = junction_tree([(0, 1), (1, 2), (3,)])
    assert largest_with([(0, 1), (0, 2), (0, 3)], tree, parents, [3, 4, 5, 2]) == {(0, 1): 20, (0, 2): 60, (0, 3): 12}
    for seed in range(5 * len(seeds(10))):
        rng = np.random.default_rng(seed)
        sizes, edges = random_graph(rng, columns := int(rng.integers(3, 12)), 0.25)
        cliques, parents = junction_tree(triangulate(edges, sizes))
        pairs = list(combinations(range(columns), 2))
        for pair, cells in largest_with(pairs, cliques, parents, sizes).items():
            joined = triangulate({*pairs_within(cliques), pair}, sizes)
            new = [cells_of(clique, sizes) for clique in joined if clique not in cliques]
            holding = [cells_of(clique, sizes) for clique in joined if set(pair) & set(clique)]
            assert max([*new, *holding]) <= cells <= max(cells_of(clique, sizes) for clique in [*joined, *cliques])
