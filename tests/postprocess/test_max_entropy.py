"""Noisy tables and what they agree on: averages by hand, maximal entropy, and solvers on the whole joint table."""

from functools import partial
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.postprocess.junction_tree import junction_tree, merge_cliques, triangulate
from dpcore.postprocess.max_entropy import MaximalEntropy, NoisyTables, consistent, merge_values, one_hot, project_near

SIZES = (2, 3, 2, 3)
SUBSETS = [scope for size in (1, 2, 3, 4) for scope in combinations(range(4), size)]
CYCLE = ((0, 1), (1, 2), (2, 3), (0, 3))


def everything(rng, sizes=SIZES):
    """A joint table in which all columns hang together."""
    return rng.dirichlet(np.full(int(np.prod(sizes)), 0.5)).reshape(sizes) * 0.9 + 0.1 / np.prod(sizes)


def margin(joint, clique):
    table = joint.sum(axis=tuple(j for j in range(joint.ndim) if j not in clique))
    return table.transpose(np.argsort(np.argsort(clique)))


def keep(clique, sizes=SIZES):
    return [np.arange(sizes[j]) for j in clique]


def solved(given, sizes=SIZES):
    """The maximal entropy distribution by its dual, log-sum-exp less the given expectations, on the whole joint table.

    `given` has triples (scope, merges, table).
    """
    features, wanted = [], []
    for clique, merges, table in given:
        for cell in np.ndindex(table.shape):
            inside = np.ones(sizes)
            for j, merge, value in zip(clique, merges, cell, strict=True):
                shape = [1] * len(sizes)
                shape[j] = sizes[j]
                inside = inside * (merge == value).reshape(shape)
            features.append(inside.ravel())
            wanted.append(table[cell])
    matrix, target = np.array(features), np.array(wanted)

    def dual(weights):
        logits = weights @ matrix
        top = logits.max()
        shares = np.exp(logits - top)
        return top + np.log(shares.sum()) - weights @ target, matrix @ (shares / shares.sum()) - target

    found = minimize(dual, np.zeros(len(target)), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5_000})
    shares = np.exp(found.x @ matrix - (found.x @ matrix).max())
    return (shares / shares.sum()).reshape(sizes)


def ones(joint):
    return [((j,), keep((j,), joint.shape), margin(joint, (j,))) for j in range(joint.ndim)]


def modeled(joint, given):
    model = MaximalEntropy([margin(joint, (j,)) for j in range(joint.ndim)])
    for each in given:
        model.add_target(*each)
    assert model.fit(500) < 1e-5
    return model


def compared(model, joint, cliques=SUBSETS):
    for clique in cliques:
        np.testing.assert_allclose(model.marginal(clique), margin(joint, clique), atol=2e-5)


@pytest.mark.parametrize("edges", [((0, 1),), CYCLE, (*CYCLE, (0, 2)), ((0, 1, 2), (2, 3))])
def test_the_model_is_the_distribution_that_a_solver_finds(edges):
    """On parts, a cycle, a cycle with a diagonal and a triple: tables of every set of columns."""
    joint = everything(np.random.default_rng(len(edges)))
    given = [(clique, keep(clique), margin(joint, clique)) for clique in edges]
    truth = solved([*ones(joint), *given])
    compared(modeled(joint, given), truth)


def test_tables_of_merged_values_leave_the_rest_to_others():
    joint = everything(np.random.default_rng(4))
    one, other = [np.arange(2), np.array([0, 1, 1])], [np.array([0, 0, 1]), np.arange(2)]
    given = [
        ((0, 1), one, merge_values(margin(joint, (0, 1)), one)),
        ((1, 2), other, merge_values(margin(joint, (1, 2)), other)),
        ((0, 2), keep((0, 2)), margin(joint, (0, 2))),
    ]
    compared(modeled(joint, given), solved([*ones(joint), *given]))


def test_a_finer_table_takes_the_place_of_a_coarser_one_and_no_other():
    joint = everything(np.random.default_rng(5))
    first, second = [np.array([0, 1]), np.array([0, 1, 1])], [np.zeros(2, dtype=int), np.arange(3)]
    model = MaximalEntropy([margin(joint, (j,)) for j in range(4)])
    for merges in (first, second):
        model.add_target((0, 1), merges, merge_values(margin(joint, (0, 1)), merges))
    assert [given.table.shape for given in model.targets] == [(2, 2), (1, 3)]
    model.add_target((1, 2), keep((1, 2)), margin(joint, (1, 2)))
    model.add_target((0, 1), keep((0, 1)), margin(joint, (0, 1)))
    assert [given.table.shape for given in model.targets] == [(3, 2), (2, 3)]
    model.fit(100)
    compared(model, joint, [(0, 1), (1, 2)])


def test_refined_values_follow_the_given_shares_and_targets_still_hold():
    joint = everything(np.random.default_rng(6))
    merge = np.array([0, 1, 1])
    coarse = merge_values(joint, [np.arange(2), merge, np.arange(2), np.arange(3)])
    model = MaximalEntropy([margin(coarse, (j,)) for j in range(4)])
    model.add_target((0, 1), [np.arange(2)] * 2, margin(coarse, (0, 1)))
    model.fit(50)
    shares = one_hot(merge) * margin(joint, (1,))
    within = shares / shares.sum(axis=1, keepdims=True)
    before = model.marginal((0, 1))
    model.refine(1, within)
    assert model.sizes == list(SIZES)
    np.testing.assert_allclose(model.marginal((0, 1)), before @ within)
    np.testing.assert_allclose(model.marginal((1,)), margin(joint, (1,)), atol=1e-9)
    model.add_target((1, 2), keep((1, 2)), margin(joint, (1, 2)))
    model.fit(200)
    pair = merge_values(model.marginal((0, 1)), [np.arange(2), merge])
    np.testing.assert_allclose(pair, margin(coarse, (0, 1)), atol=1e-5)
    compared(model, joint, [(1, 2)])


def test_targets_that_disagree_are_met_half_way_and_sweeps_stay_finite():
    model = MaximalEntropy([np.array([0.5, 0.5])] * 3)
    model.add_target((0, 1), [np.arange(2)] * 2, np.array([[0.6, 0.0], [0.0, 0.4]]))
    model.add_target((1, 2), [np.arange(2)] * 2, np.array([[0.1, 0.3], [0.3, 0.3]]))
    assert model.fit(50) > 0.01
    for clique, belief in zip(model.cliques, model.beliefs, strict=True):
        assert np.isfinite(belief).all()
        assert belief.sum() == pytest.approx(1, abs=1e-9), clique
    assert 0.39 < model.marginal((1,))[0] < 0.61


def test_far_ends_of_a_long_chain():
    """More columns than an einsum has letters; the table of the two ends is a product of 59 transitions."""
    stay = np.array([[0.95, 0.05], [0.1, 0.9]])
    power = [np.linalg.matrix_power(stay, steps) for steps in range(60)]
    shares = [np.array([0.3, 0.7]) @ power[step] for step in range(60)]
    model = MaximalEntropy(shares)
    for a, b in pairwise(range(60)):
        model.add_target((a, b), [np.arange(2)] * 2, shares[a][:, None] * stay)
    assert model.fit(2) < 1e-5
    ends = shares[0][:, None] * power[59]
    np.testing.assert_allclose(model.marginal((0, 59)), ends, atol=1e-9)
    np.testing.assert_allclose(model.marginal((59, 0)), ends.T, atol=1e-9)
    np.testing.assert_allclose(model.pairs()[0, 59], ends, atol=1e-9)
    third = shares[0][:, None, None] * power[30][:, :, None]
    np.testing.assert_allclose(model.marginal((0, 30, 59)), third * power[29], atol=1e-9)


def test_pairs_returns_the_marginal_of_every_pair(seeds):
    """In parts that do not hang together."""
    for seed in seeds(6):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 4, 8).tolist()
        model = MaximalEntropy([rng.dirichlet(np.ones(size)) for size in sizes])
        for _ in range(5):
            pair = tuple(sorted(rng.choice(8, 2, replace=False).tolist()))
            shape = [sizes[j] for j in pair]
            model.add_target(pair, keep(pair, sizes), rng.dirichlet(np.ones(np.prod(shape))).reshape(shape))
            model.fit(1)
        found = model.pairs()
        for a, b in combinations(range(8), 2):
            np.testing.assert_allclose(found[a, b], model.marginal((a, b)), atol=1e-12)


def test_answers_totals_and_marginals_are_averaged_by_inverse_variance():
    one = NoisyTables(None)
    one.add((0,), np.array([10.0, 20.0]), 1.0)
    one.add((0,), np.array([14.0, 28.0]), 3.0)
    np.testing.assert_allclose(one.consistent_tables()[0,], [11, 22], rtol=1e-6)
    assert one.rows == pytest.approx(33)
    uneven = NoisyTables(33)
    uneven.add((0,), np.array([10.0, 20.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(uneven.consistent_tables()[0,], [11, 22], rtol=1e-6)  # the noisier gets 2 of 3 rows more
    # Column a with variance 2, b with variance 1, and their table with variance 1, which has 4 cells.
    both = NoisyTables(None)
    both.add((0,), np.array([50.0, 52.0]), 2.0)
    both.add((1,), np.array([60.0, 42.0]), 1.0)
    both.add((0, 1), np.array([[30.0, 24.0], [30.0, 18.0]]), 1.0)
    found = both.consistent_tables()
    assert both.rows == pytest.approx(102)
    np.testing.assert_allclose(found[0,], [52, 50], rtol=1e-6)  # 50 and 54, each with variance 2
    np.testing.assert_allclose(found[1,], [60, 42], rtol=1e-6)
    np.testing.assert_allclose(found[0, 1], [[29, 23], [31, 19]], rtol=1e-3)


def noisy_tables(seed, public=None):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(24, 2.0)).reshape(2, 3, 4) * 1_000
    measured, kept = NoisyTables(public), []
    variances = {(0,): 20, (1,): 40, (2,): 60, (0, 1): 30, (1, 2): 50}
    for clique, variance in [*variances.items(), ((0, 1), 20)]:
        exact = margin(joint, clique)
        kept.append((clique, exact + rng.normal(0, np.sqrt(variance), exact.shape), float(variance)))
        measured.add(*kept[-1])
    return measured, kept, joint


@pytest.mark.parametrize("public", [None, 1_000])
def test_consistent_tables_agree_and_are_near_the_best(public, seeds):
    """Against least squares over all joint tables: a tenth more of a loss of about 20 at most."""
    for seed in seeds(8):
        measured, kept, joint = noisy_tables(seed, public)
        found = measured.consistent_tables()
        for (a, b), table in ((clique, table) for clique, table in found.items() if len(clique) == 2):
            assert table.min() >= 0
            np.testing.assert_allclose(table.sum(axis=1), found[a,], rtol=1e-3)
            np.testing.assert_allclose(table.sum(axis=0), found[b,], rtol=1e-3)

        def loss(tables, kept=kept):
            return sum(((tables(clique) - cells) ** 2).sum() / variance for clique, cells, variance in kept)

        def of_logs(logs, shape=joint.shape):
            whole = np.exp(logs.reshape(shape))
            whole = whole * (public / whole.sum()) if public else whole
            return loss(partial(margin, whole))

        best = minimize(of_logs, np.log(joint).ravel(), method="L-BFGS-B", options={"maxiter": 300}).fun
        assert best - 0.1 <= loss(found.get) <= 1.1 * best + 1


def test_the_model_has_exact_tables_as_they_are_and_is_refitted():
    joint = np.random.default_rng(1).dirichlet(np.full(24, 1.0)).reshape(2, 3, 4) * 500
    measured = NoisyTables(None)
    cliques = [(0,), (1,), (2,), (0, 1), (1, 2)]
    for clique in cliques[:3]:
        measured.add(clique, margin(joint, clique), 1e-9)
    measured.fit(2)
    distance = np.outer(margin(joint, (0,)), margin(joint, (2,))) / 500
    np.testing.assert_allclose(measured.expected_counts([(0, 2), (2,)])[0], distance, rtol=1e-4)
    for clique in cliques[3:]:
        measured.add(clique, margin(joint, clique), 1e-9)
    measured.fit(50)
    for clique in cliques:
        np.testing.assert_allclose(measured.counts(clique), margin(joint, clique), atol=1e-2)
    for wanted in (cliques, list(combinations(range(3), 2))):
        for clique, table in zip(wanted, measured.expected_counts(wanted), strict=True):
            np.testing.assert_allclose(table, measured.counts(clique))


def test_consistent_tables_exist_without_rows_or_epsilon():
    nothing = NoisyTables(None)
    for cells in (np.zeros(2), np.full((2, 3), -5.0)):
        nothing.add((0, 1)[: cells.ndim], cells, np.inf)
    nothing.add((1,), np.zeros(3), np.inf)
    nothing.fit(3)
    assert nothing.rows == 1
    assert nothing.counts((0, 1)).min() >= 0
    assert nothing.counts((0, 1)).sum() == pytest.approx(1)


def test_a_table_near_a_noisy_one_has_the_marginals():
    known = {(0,): np.array([30.0, 34.0]), (1,): np.array([36.0, 28.0])}
    table = project_near(np.array([[40.0, -9.0], [3.0, 30.0]]), (0, 1), known, 64.0)
    np.testing.assert_allclose(table, [[30, 0], [6, 28]], atol=0.5)
    np.testing.assert_allclose(table.sum(axis=0), [36, 28])


def test_consistency_by_hand():
    """Margins on the shared column: (3, 7) of sums over 2 cells, (6, 9) of sums over 3; first the totals 10 and 15.

    Totals sum 4 and 6 cells, so the mean is (10/4 + 15/6) / (1/4 + 1/6) = 12, and the tables take +2/4 and -3/6 per
    cell: margins (4, 8) and (4.5, 7.5). Their mean is (4/2 + 4.5/3) / (1/2 + 1/3) = 4.2, and 7.8.
    """
    tables = {(0, 1): np.array([[1.0, 2], [3, 4]]), (0, 2): np.array([[1.0, 2, 3], [3, 3, 3]])}
    alike = {clique: np.ones(table.shape) for clique, table in tables.items()}
    moved = consistent(tables, alike, None)
    np.testing.assert_allclose(moved[0, 1], [[1.6, 2.6], [3.4, 4.4]])
    np.testing.assert_allclose(moved[0, 2], [[0.4, 1.4, 2.4], [2.6, 2.6, 2.6]])
    assert [table.sum() for table in consistent(tables, alike, 20.0).values()] == pytest.approx([20, 20])
    # With variances 1 and 2: totals (10/4 + 15/12) / (1/4 + 1/12) = 11.25; margins (3.625, 7.625) and (4.125, 7.125).
    moved = consistent(tables, {**alike, (0, 2): np.full((2, 3), 0.5)}, None)
    np.testing.assert_allclose(moved[0, 1].sum(axis=1), [3.75, 7.5])


def test_tables_agree_on_every_intersection(seeds):
    for seed, total in product(seeds(40), (None, 100.0)):
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.integers(1, 4, 6)]
        cliques = sorted({tuple(sorted(rng.choice(6, rng.integers(1, 5), replace=False).tolist())) for _ in range(5)})
        tables = {clique: rng.normal(5, 20, [sizes[j] for j in clique]) for clique in cliques}
        precision = {clique: np.full(table.shape, rng.uniform(0.1, 9)) for clique, table in tables.items()}
        moved = consistent(tables, precision, total)
        for a, b in combinations(cliques, 2):
            np.testing.assert_allclose(*common(moved, a, b), atol=1e-9)
        if total:
            assert [table.sum() for table in moved.values()] == pytest.approx([total] * len(cliques))
        again = consistent(moved, precision, None)
        for clique in cliques:
            np.testing.assert_allclose(moved[clique], again[clique], atol=1e-9)


def common(tables, a, b):
    """The two tables' margins on the columns that both have."""
    return [tables[s].sum(axis=tuple(i for i, j in enumerate(s) if j not in {*a} & {*b})) for s in (a, b)]


def test_a_model_of_cliques_within_tables_agrees_everywhere(seeds):
    for seed, scale in product(seeds(10), (1e-9, 1_000.0)):
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.integers(1, 5, 7)]
        cliques = triangulate([pair for pair in combinations(range(7), 2) if rng.random() < 0.3], sizes)
        measured = NoisyTables(200.0)
        for scope in merge_cliques(cliques, sizes, 60):
            measured.add(scope, rng.laplace(5.0, scale, [sizes[j] for j in scope]), 1.0)
        measured.fit(30, cliques)
        assert measured.model.cliques == junction_tree(cliques)[0]
        counts = {clique: measured.counts(clique) for clique in cliques}
        for table in counts.values():
            assert table.min() >= 0
            assert table.sum() == pytest.approx(200)
        for a, b in combinations(cliques, 2):
            np.testing.assert_allclose(*common(counts, a, b), atol=1e-6)


def test_many_overlapping_tables_agree_with_finite_numbers():
    rng, measured = np.random.default_rng(0), NoisyTables(100.0)
    for _ in range(12):
        clique = tuple(sorted(rng.choice(9, 6, replace=False).tolist()))
        measured.add(clique, rng.laplace(0.0, 200.0, (2,) * 6), 1.0)
    for table in measured.consistent_tables().values():
        assert np.isfinite(table).all()
        assert table.min() > 0
        assert table.sum() == pytest.approx(100)
