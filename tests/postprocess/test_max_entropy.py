"""The distribution of maximal entropy: against a solver on the whole joint table, and by hand."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.postprocess.junction_tree import parts
from dpcore.postprocess.max_entropy import MaximalEntropy, merged, one_hot

SIZES = (2, 3, 2, 3)
SUBSETS = [scope for size in (1, 2, 3, 4) for scope in combinations(range(4), size)]
CYCLE = ((0, 1), (1, 2), (2, 3), (0, 3))


def everything(rng, sizes=SIZES):
    """A joint table in which all columns hang together."""
    return rng.dirichlet(np.full(int(np.prod(sizes)), 0.5)).reshape(sizes) * 0.9 + 0.1 / np.prod(sizes)


def margin(joint, scope):
    table = joint.sum(axis=tuple(j for j in range(joint.ndim) if j not in scope))
    return table.transpose(np.argsort(np.argsort(scope)))


def keep(scope, sizes=SIZES):
    return [np.arange(sizes[j]) for j in scope]


def solved(given, sizes=SIZES):
    """The maximal entropy distribution by its dual, log-sum-exp less the given expectations, on the whole joint table.

    `given` has triples (scope, merges, table).
    """
    features, wanted = [], []
    for scope, merges, table in given:
        for cell in np.ndindex(table.shape):
            inside = np.ones(sizes)
            for j, merge, value in zip(scope, merges, cell, strict=True):
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
        model.join(*each)
    assert model.fit(500) < 1e-5
    return model


def compared(model, joint, scopes=SUBSETS):
    for scope in scopes:
        np.testing.assert_allclose(model.table(scope), margin(joint, scope), atol=2e-5)


@pytest.mark.parametrize("edges", [((0, 1),), CYCLE, (*CYCLE, (0, 2)), ((0, 1, 2), (2, 3))])
def test_it_is_the_distribution_that_a_solver_finds(edges):
    """On parts, a cycle, a cycle with a diagonal and a triple: tables of every set of columns."""
    joint = everything(np.random.default_rng(len(edges)))
    given = [(scope, keep(scope), margin(joint, scope)) for scope in edges]
    truth = solved([*ones(joint), *given])
    compared(modeled(joint, given), truth)


def test_tables_of_merged_values_leave_the_rest_to_others():
    joint = everything(np.random.default_rng(4))
    one, other = [np.arange(2), np.array([0, 1, 1])], [np.array([0, 0, 1]), np.arange(2)]
    given = [
        ((0, 1), one, merged(margin(joint, (0, 1)), one)),
        ((1, 2), other, merged(margin(joint, (1, 2)), other)),
        ((0, 2), keep((0, 2)), margin(joint, (0, 2))),
    ]
    compared(modeled(joint, given), solved([*ones(joint), *given]))


def test_a_finer_table_takes_the_place_of_a_coarser_one_and_no_other():
    joint = everything(np.random.default_rng(5))
    first, second = [np.array([0, 1]), np.array([0, 1, 1])], [np.zeros(2, dtype=int), np.arange(3)]
    model = MaximalEntropy([margin(joint, (j,)) for j in range(4)])
    for merges in (first, second):
        model.join((0, 1), merges, merged(margin(joint, (0, 1)), merges))
    assert [given.table.shape for given in model.given] == [(2, 2), (1, 3)]
    model.join((1, 2), keep((1, 2)), margin(joint, (1, 2)))
    model.join((0, 1), keep((0, 1)), margin(joint, (0, 1)))
    assert [given.table.shape for given in model.given] == [(3, 2), (2, 3)]
    model.fit(100)
    compared(model, joint, [(0, 1), (1, 2)])


def test_a_value_told_apart_is_spread_as_it_is_said_and_what_was_given_holds():
    joint = everything(np.random.default_rng(6))
    merge = np.array([0, 1, 1])
    coarse = merged(joint, [np.arange(2), merge, np.arange(2), np.arange(3)])
    model = MaximalEntropy([margin(coarse, (j,)) for j in range(4)])
    model.join((0, 1), [np.arange(2)] * 2, margin(coarse, (0, 1)))
    model.fit(50)
    shares = one_hot(merge) * margin(joint, (1,))
    within = shares / shares.sum(axis=1, keepdims=True)
    before = model.table((0, 1))
    model.refine(1, within)
    assert model.sizes == list(SIZES)
    np.testing.assert_allclose(model.table((0, 1)), before @ within)
    np.testing.assert_allclose(model.table((1,)), margin(joint, (1,)), atol=1e-9)
    model.join((1, 2), keep((1, 2)), margin(joint, (1, 2)))
    model.fit(200)
    np.testing.assert_allclose(merged(model.table((0, 1)), [np.arange(2), merge]), margin(coarse, (0, 1)), atol=1e-5)
    compared(model, joint, [(1, 2)])


def test_tables_that_disagree_are_met_half_way_and_sweeps_stay_finite():
    model = MaximalEntropy([np.array([0.5, 0.5])] * 3)
    model.join((0, 1), [np.arange(2)] * 2, np.array([[0.6, 0.0], [0.0, 0.4]]))
    model.join((1, 2), [np.arange(2)] * 2, np.array([[0.1, 0.3], [0.3, 0.3]]))
    assert model.fit(50) > 0.01
    for clique, belief in zip(model.cliques, model.beliefs, strict=True):
        assert np.isfinite(belief).all()
        assert belief.sum() == pytest.approx(1, abs=1e-9), clique
    assert 0.39 < model.table((1,))[0] < 0.61


def test_far_ends_of_a_long_chain():
    """More columns than an einsum has letters; the table of the two ends is a product of 59 transitions."""
    stay = np.array([[0.95, 0.05], [0.1, 0.9]])
    power = [np.linalg.matrix_power(stay, steps) for steps in range(60)]
    shares = [np.array([0.3, 0.7]) @ power[step] for step in range(60)]
    model = MaximalEntropy(shares)
    for a, b in pairwise(range(60)):
        model.join((a, b), [np.arange(2)] * 2, shares[a][:, None] * stay)
    assert model.fit(2) < 1e-5
    ends = shares[0][:, None] * power[59]
    np.testing.assert_allclose(model.table((0, 59)), ends, atol=1e-9)
    np.testing.assert_allclose(model.table((59, 0)), ends.T, atol=1e-9)
    np.testing.assert_allclose(model.pairs()[0, 59], ends, atol=1e-9)
    third = shares[0][:, None, None] * power[30][:, :, None]
    np.testing.assert_allclose(model.table((0, 30, 59)), third * power[29], atol=1e-9)


def test_tables_of_all_pairs_are_those_that_are_asked_for_one_by_one(seeds):
    """In parts that do not hang together."""
    for seed in seeds(6):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 4, 8).tolist()
        model = MaximalEntropy([rng.dirichlet(np.ones(size)) for size in sizes])
        for _ in range(5):
            pair = tuple(sorted(rng.choice(8, 2, replace=False).tolist()))
            shape = [sizes[j] for j in pair]
            model.join(pair, keep(pair, sizes), rng.dirichlet(np.ones(np.prod(shape))).reshape(shape))
            model.fit(1)
        part, found = parts(model.cliques), model.pairs()
        for a, b in combinations(range(8), 2):
            assert ((a, b) in found) == (part[a] is part[b])
            if (a, b) in found:
                np.testing.assert_allclose(found[a, b], model.table((a, b)), atol=1e-12)
