"""What is alike in all networks: shares of steps; without noise the best families, the data's tables, its margins."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from bit_tables import HUGE, RELATIONS, bits, planted, real_table, total
from chains import CHAIN, chain

from dpcore import AIM, MST
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.evaluate.distances import marginal_avd
from dpcore.mechanisms.scores import LinearF, MutualInformation, R
from dpcore.methods import AdaptiveMarginals, HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes
from dpcore.methods.networks import refined
from dpcore.postprocess import resolution


def of_hmprivbayes(d, relation, n_clusters, **_):
    """The bits themselves are a tenth of the tables."""
    each = Fraction(2 * d / min(n_clusters, d))
    tables = each / (d - 1 + 2 * each)
    return 1 - tables * Fraction(19, 10), tables, tables * Fraction(9, 10)


def of_privbayes(d, relation, beta, **_):
    before = Fraction(1, 100) if relation == "add_remove" else Fraction(0)
    return before, (1 - before) * Fraction(beta), (1 - before) * (1 - Fraction(beta))


def of_privscbn(d, relation, **_):
    return (Fraction(1, 3),) * 3


SHARES = [
    (HMPrivBayes, {"n_clusters": 1}, of_hmprivbayes),
    (HMPrivBayes, {"n_clusters": 9, "eta": 0.9}, of_hmprivbayes),
    (PrivBayes, {"variant": "general", "beta": 0.5}, of_privbayes),
    (PrivBayes, {"variant": "binary", "beta": 0.3}, of_privbayes),
    (PrivSCBN, {"n_clusters": 2, "max_parents": 3}, of_privscbn),
]


@pytest.mark.parametrize(("kind", "how", "shares"), SHARES)
def test_what_is_asked_first_chosen_and_measured_share_epsilon_exactly(kind, how, shares):
    for d, relation in product((2, 7), RELATIONS):
        frame, epsilon = planted(1, d, rows=50), 30 + 1 / 3
        method = kind(epsilon=epsilon, relation=relation, random_state=1, **how).fit(frame, schema=bits(frame.columns))
        entries = method.ledger_.entries
        chosen = [place for place, entry in enumerate(entries) if entry.mechanism == "exponential"]
        steps = entries[: chosen[0]], entries[chosen[0] : chosen[-1] + 1], entries[chosen[-1] + 1 :]
        assert [total(step) for step in steps] == [Fraction(epsilon) * share for share in shares(d, relation, **how)]
        for step in steps[1:] if kind is not HMPrivBayes else steps[1:2]:  # whose tables hang on entropies
            assert len({entry.epsilon_nominal for entry in step}) == 1


MI = MutualInformation()
GREEDY = [
    *((HMPrivBayes, {"n_clusters": 1, "eta": 0.0, "score": "MI", "max_parents": most}, MI, most) for most in (1, 3)),
    (HMPrivBayes, {"n_clusters": 1, "eta": 0.0, "score": "R", "max_parents": 2}, R(), 2),
    (NoPrivacy, {"n_clusters": 1, "eta": 0.0, "score": "MI", "max_parents": 2}, MI, 2),
    (PrivBayes, {"score": "MI", "max_parents": 2}, MI, 2),
    (PrivBayes, {"variant": "binary", "max_parents": 2}, LinearF(), 2),
]


@pytest.mark.parametrize(("kind", "how", "rated", "parents"), GREEDY)
def test_every_family_is_the_best_by_plain_enumeration(kind, how, rated, parents):
    """Ties are common with R: a parent that says nothing new leaves it as it is. So scores are compared."""
    frame = planted(1, 6, seed=3)
    method = kind(epsilon=HUGE, random_state=0, **how).fit(frame, schema=bits(frame.columns))
    (root, *none), *families = method.families_
    names, placed = sorted(name + root[2:] for name in frame), [root]  # as columns, or as their bits
    assert not none
    if kind is not PrivBayes:  # which draws lots
        assert root == min(names, key=lambda name: abs(real_table(frame, (name,))[1] / len(frame) - 0.5))

    def value(family):
        return rated.of(real_table(frame, family).astype(int).reshape(2, -1), Relation.REPLACE)

    for family in families:
        most = min(parents, len(placed))
        assert len(set(family[1:])) == most
        assert set(family[1:]) <= set(placed)
        others = [(child, *some) for child in names if child not in placed for some in combinations(placed, most)]
        assert value(family) == pytest.approx(max(map(value, others)), abs=1e-6)
        placed.append(family[0])
    assert sorted(placed) == names


@pytest.mark.parametrize(
    ("kind", "how", "relation", "most"),
    [
        (HMPrivBayes, {}, "replace", 4),
        (PrivSCBN, {}, "add_remove", 4),
        (JTree, {}, "replace", 4),
        (PrivBayes, {}, "add_remove", 40),  # parents need not lie in an earlier family
        (PrivBayes, {"variant": "binary"}, "replace", 40),
    ],
)
def test_a_huge_epsilon_releases_the_datas_tables_and_keeps_its_margins(kind, how, relation, most):
    """Draws round the count of a child for each value of its parents, up to 8 of them, and pass their error on."""
    frame = planted(3, 5)
    method = kind(epsilon=HUGE, relation=relation, random_state=0, **how).fit(frame, schema=bits(frame.columns))
    rows = method.sample()
    assert len(rows) == len(frame)
    scopes = method.cliques_ if kind is JTree else method.families_
    assert max(map(len, scopes)) > 2
    for scope, table in zip(scopes, method.tables_, strict=True):
        real = real_table(frame, scope)
        np.testing.assert_allclose(table, real, atol=0.02)
        assert np.abs(real_table(rows, scope) - real).max() <= most, scope


def test_what_tables_share_is_averaged_by_what_was_paid():
    """A third of epsilon has nine times the variance: (1 * 30 + 9 * 40) / 10 = 39 rows of a's first value."""
    method = PrivBayes(epsilon=1.0)
    method.rows_ = 100.0
    ab, ca = np.array([[10.0, 20], [30, 40]]), np.array([[25.0, 40], [15, 20]])
    first, second = method._agreed([("a", "b"), ("c", "a")], [ab, ca], [0.1, 0.3])
    np.testing.assert_allclose(first, [[14.5, 24.5], [25.5, 35.5]], rtol=1e-4)
    np.testing.assert_allclose(second, [[24.5, 40.5], [14.5, 20.5]], rtol=1e-4)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("kind", "how"), [*((kind, how) for kind, how, _ in SHARES), (JTree, {"max_cells": 8})])
def test_corrected_tables_agree_on_every_column(kind, how, relation):
    frame, known = planted(1, 5, rows=300), {}
    method = kind(epsilon=3.0, relation=relation, random_state=1, **how).fit(frame, schema=bits(frame.columns))
    families = method.cliques_ if kind is JTree else method.families_
    everyone = method.tables_[0].sum() if kind is JTree else method.rows_
    for family, table in zip(families, method.tables_, strict=True):
        assert kind is JTree or table.min() >= 0  # negative cells are left out when its rows are drawn
        assert table.sum() == pytest.approx(everyone)
        for axis, name in enumerate(family):
            own = np.moveaxis(table, axis, 0).reshape(2, -1).sum(axis=1)
            np.testing.assert_allclose(own, known.setdefault(name, own), rtol=0.02, atol=1.0)


@pytest.mark.parametrize(
    ("kind", "schema", "extra"),
    [
        (AIM, CHAIN, {}),
        (MST, CHAIN, {"delta": 1e-9}),
        *((AdaptiveMarginals, schema, {}) for schema in (CHAIN, replace(CHAIN, target=None))),
        (RefinedPrivBayes, CHAIN, {}),
    ],
)
def test_with_much_epsilon_the_chain_is_found_and_tables_are_the_datas(kind, schema, extra):
    frame = chain(8_000)
    method = kind(epsilon=1e7, random_state=0, **extra).fit(frame, schema=schema)
    chosen = {tuple(sorted(pair)) for pair in (method.edges_ if kind is RefinedPrivBayes else method.pairs_)}
    assert {("a", "b"), ("b", "c")} <= chosen
    assert method.rows_ == pytest.approx(len(frame), abs=1e-2)
    pairs = marginal_avd(frame, method.sample(len(frame)), schema, 2).set_index("attributes")["avd"]
    assert max(pairs[pair] for pair in chosen if len(pair) == 2) < 2e-3
    assert pairs.max() < (0.1 if kind is MST else 0.03)  # a tree has no room for the class beside a


@pytest.mark.parametrize(
    ("kind", "most"), [(AdaptiveMarginals, resolution.MOST_GROUPS), (RefinedPrivBayes, refined.MOST_GROUPS)]
)
def test_columns_of_very_many_bins_are_merged_and_not_refused(kind, most):
    """All but no noise leaves every value apart: their number is limited, or no pair would fit into a clique."""
    rng = np.random.default_rng(4)
    columns = [Column(name=name, kind="continuous", lower=0.0, upper=1.0, bins=1_500) for name in "xz"]
    schema, x = Schema(columns=tuple(columns), max_rows=50_000), rng.random(30_000)
    frame = pd.DataFrame({"x": x, "z": (x + rng.random(len(x)) / 4) / 1.25})
    method = kind(epsilon=HUGE, random_state=0).fit(frame, schema=schema)
    assert max(groups.max() for groups in method.groups_) < most
    sample = method.sample(30_000)
    assert marginal_avd(frame, sample, schema, 1)["avd"].max() < 1e-2
    assert np.corrcoef(sample["x"], sample["z"])[0, 1] == pytest.approx(np.corrcoef(x, frame["z"])[0, 1], abs=0.01)
