"""What the networks of every method are without noise: the best families, the data's tables, and its margins."""

from itertools import combinations

import numpy as np
import pytest
from bit_tables import HUGE, RELATIONS, bits, planted, real_table

from dpcore.accounting.relation import Relation
from dpcore.mechanisms.scores import LinearF, MutualInformation, R
from dpcore.methods import HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN

ALONE = {"n_clusters": 1, "eta": 0.0}
GREEDY = [
    *((HMPrivBayes, {**ALONE, "score": "MI", "max_parents": most}, MutualInformation(), most) for most in (1, 2, 3)),
    *((HMPrivBayes, {**ALONE, "score": "R", "max_parents": most}, R(), most) for most in (1, 2, 3)),
    (NoPrivacy, {**ALONE, "score": "MI", "max_parents": 2}, MutualInformation(), 2),
    (PrivBayes, {"score": "R", "max_parents": 2}, R(), 2),
    (PrivBayes, {"score": "MI", "max_parents": 2}, MutualInformation(), 2),
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
    ("kind", "how", "most"),
    [(HMPrivBayes, {}, 4), (PrivSCBN, {}, 4), (JTree, {}, 4)]
    + [(PrivBayes, how, 40) for how in ({}, {"variant": "binary"})],  # parents need not lie in an earlier family
)
def test_a_huge_epsilon_releases_the_datas_tables_and_keeps_its_margins(kind, how, most):
    """Draws round the count of a child for each value of its parents, up to 8 of them, and pass their error on."""
    frame = planted(3, 5)
    for relation in RELATIONS:
        method = kind(epsilon=HUGE, relation=relation, random_state=0, **how).fit(frame, schema=bits(frame.columns))
        rows = method.sample()
        assert len(rows) == len(frame)
        scopes = method.cliques_ if kind is JTree else method.families_
        assert max(map(len, scopes)) > 2
        for scope, table in zip(scopes, method.tables_, strict=True):
            real = real_table(frame, scope)
            np.testing.assert_allclose(table, real, atol=0.02)
            assert np.abs(real_table(rows, scope) - real).max() <= most, scope
