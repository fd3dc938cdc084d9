"""Noisy tables that are made to agree: averages by hand, a solver of all at once, and exact tables."""

from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.postprocess.junction_tree import junction_tree, merge_scopes, triangulate
from dpcore.postprocess.noisy_tables import NoisyTables, consistent, near


def test_answers_are_averaged_by_inverse_variance():
    one = NoisyTables(None)
    one.add((0,), np.array([10.0, 20.0]), 1.0)
    one.add((0,), np.array([14.0, 28.0]), 3.0)
    np.testing.assert_allclose(one.agreed()[0,], [11, 22], rtol=1e-6)
    assert one.rows == pytest.approx(33)
    uneven = NoisyTables(33)
    uneven.add((0,), np.array([10.0, 20.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(uneven.agreed()[0,], [11, 22], rtol=1e-6)  # of 3 rows more the noisier gets two


def test_totals_and_margins_are_averaged_by_inverse_variance():
    """Column a with variance 2, b with variance 1, and their table with variance 1, which has 4 cells."""
    both = NoisyTables(None)
    both.add((0,), np.array([50.0, 52.0]), 2.0)
    both.add((1,), np.array([60.0, 42.0]), 1.0)
    both.add((0, 1), np.array([[30.0, 24.0], [30.0, 18.0]]), 1.0)
    found = both.agreed()
    assert both.rows == pytest.approx(102)
    np.testing.assert_allclose(found[0,], [52, 50], rtol=1e-6)  # 50 and 54, each with variance 2
    np.testing.assert_allclose(found[1,], [60, 42], rtol=1e-6)
    np.testing.assert_allclose(found[0, 1], [[29, 23], [31, 19]], rtol=1e-3)


def margin(joint, scope):
    """The joint table's margin."""
    return joint.sum(axis=tuple(j for j in range(joint.ndim) if j not in scope))


def noisy_tables(seed, public=None):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(24, 2.0)).reshape(2, 3, 4) * 1_000
    measured, kept = NoisyTables(public), []
    variances = {(0,): 20, (1,): 40, (2,): 60, (0, 1): 30, (1, 2): 50}
    for scope, variance in [*variances.items(), ((0, 1), 20)]:
        exact = margin(joint, scope)
        kept.append((scope, exact + rng.normal(0, np.sqrt(variance), exact.shape), float(variance)))
        measured.add(*kept[-1])
    return measured, kept, joint


@pytest.mark.parametrize("public", [None, 1_000])
def test_agreed_tables_agree_and_are_near_the_best_ones(public, seeds):
    """Against least squares over all joint tables: a tenth more of a loss of about 20 at most."""
    for seed in seeds(8):
        measured, kept, joint = noisy_tables(seed, public)
        found = measured.agreed()
        for (a, b), table in ((scope, table) for scope, table in found.items() if len(scope) == 2):
            assert table.min() >= 0
            np.testing.assert_allclose(table.sum(axis=1), found[a,], rtol=1e-3)
            np.testing.assert_allclose(table.sum(axis=0), found[b,], rtol=1e-3)

        def loss(tables, kept=kept):
            return sum(((tables(scope) - cells) ** 2).sum() / variance for scope, cells, variance in kept)

        def of_logs(logs, shape=joint.shape):
            whole = np.exp(logs.reshape(shape))
            whole = whole * (public / whole.sum()) if public else whole
            return loss(partial(margin, whole))

        best = minimize(of_logs, np.log(joint).ravel(), method="L-BFGS-B", options={"maxiter": 300}).fun
        assert best - 0.1 <= loss(found.get) <= 1.1 * best + 1


def test_the_model_has_exact_tables_as_they_are_and_is_refitted():
    joint = np.random.default_rng(1).dirichlet(np.full(24, 1.0)).reshape(2, 3, 4) * 500
    measured = NoisyTables(None)
    scopes = [(0,), (1,), (2,), (0, 1), (1, 2)]
    for scope in scopes[:3]:
        measured.add(scope, margin(joint, scope), 1e-9)
    measured.fit(2)
    apart = np.outer(margin(joint, (0,)), margin(joint, (2,))) / 500
    np.testing.assert_allclose(measured.expected([(0, 2), (2,)])[0], apart, rtol=1e-4)
    for scope in scopes[3:]:
        measured.add(scope, margin(joint, scope), 1e-9)
    measured.fit(50)
    for scope in scopes:
        np.testing.assert_allclose(measured.counts(scope), margin(joint, scope), atol=1e-2)
    for asked in (scopes, list(combinations(range(3), 2))):
        for scope, table in zip(asked, measured.expected(asked), strict=True):
            np.testing.assert_allclose(table, measured.counts(scope))


def test_without_rows_or_epsilon_there_are_tables_all_the_same():
    nothing = NoisyTables(None)
    for cells in (np.zeros(2), np.full((2, 3), -5.0)):
        nothing.add((0, 1)[: cells.ndim], cells, np.inf)
    nothing.add((1,), np.zeros(3), np.inf)
    nothing.fit(3)
    assert nothing.rows == 1
    assert nothing.counts((0, 1)).min() >= 0
    assert nothing.counts((0, 1)).sum() == pytest.approx(1)


def test_a_table_near_a_noisy_one_has_the_margins():
    known = {(0,): np.array([30.0, 34.0]), (1,): np.array([36.0, 28.0])}
    table = near(np.array([[40.0, -9.0], [3.0, 30.0]]), (0, 1), known, 64.0)
    np.testing.assert_allclose(table, [[30, 0], [6, 28]], atol=0.5)
    np.testing.assert_allclose(table.sum(axis=0), [36, 28])


def test_consistency_by_hand():
    """Margins on the shared column: (3, 7) of sums over 2 cells, (6, 9) of sums over 3; first the totals 10 and 15.

    Totals sum 4 and 6 cells, so the mean is (10/4 + 15/6) / (1/4 + 1/6) = 12, and the tables take +2/4 and -3/6 per
    cell: margins (4, 8) and (4.5, 7.5). Their mean is (4/2 + 4.5/3) / (1/2 + 1/3) = 4.2, and 7.8.
    """
    tables = {(0, 1): np.array([[1.0, 2], [3, 4]]), (0, 2): np.array([[1.0, 2, 3], [3, 3, 3]])}
    alike = {scope: np.ones(table.shape) for scope, table in tables.items()}
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
        scopes = sorted({tuple(sorted(rng.choice(6, rng.integers(1, 5), replace=False).tolist())) for _ in range(5)})
        tables = {scope: rng.normal(5, 20, [sizes[j] for j in scope]) for scope in scopes}
        precision = {scope: np.full(table.shape, rng.uniform(0.1, 9)) for scope, table in tables.items()}
        moved = consistent(tables, precision, total)
        for a, b in combinations(scopes, 2):
            np.testing.assert_allclose(*common(moved, a, b), atol=1e-9)
        if total:
            assert [table.sum() for table in moved.values()] == pytest.approx([total] * len(scopes))
        again = consistent(moved, precision, None)
        for scope in scopes:
            np.testing.assert_allclose(moved[scope], again[scope], atol=1e-9)


def common(tables, a, b):
    """The two tables' margins on the columns that both have."""
    return [tables[s].sum(axis=tuple(i for i, j in enumerate(s) if j not in {*a} & {*b})) for s in (a, b)]


def test_a_model_of_cliques_within_tables_agrees_everywhere(seeds):
    for seed, scale in product(seeds(10), (1e-9, 1_000.0)):
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.integers(1, 5, 7)]
        cliques = triangulate([pair for pair in combinations(range(7), 2) if rng.random() < 0.3], sizes)
        measured = NoisyTables(200.0)
        for scope in merge_scopes(cliques, sizes, 60):
            measured.add(scope, rng.laplace(5.0, scale, [sizes[j] for j in scope]), 1.0)
        measured.fit(30, cliques)
        assert measured.model.cliques == junction_tree(cliques)[0]
        counts = {clique: measured.counts(clique) for clique in cliques}
        for table in counts.values():
            assert table.min() >= 0
            assert table.sum() == pytest.approx(200)
        for a, b in combinations(cliques, 2):
            np.testing.assert_allclose(*common(counts, a, b), atol=1e-6)


def test_many_tables_that_overlap_by_much_are_made_to_agree_in_finite_numbers():
    rng, measured = np.random.default_rng(0), NoisyTables(100.0)
    for _ in range(12):
        scope = tuple(sorted(rng.choice(9, 6, replace=False).tolist()))
        measured.add(scope, rng.laplace(0.0, 200.0, (2,) * 6), 1.0)
    for table in measured.agreed().values():
        assert np.isfinite(table).all()
        assert table.min() > 0
        assert table.sum() == pytest.approx(100)
