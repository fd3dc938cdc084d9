"""PrivBayes: sizes allowed by epsilon, prices, plain enumeration, and a random root."""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from bit_tables import RELATIONS, random_frame, schema_of, steps, total
from scipy import stats

from dpcore.methods import PrivBayes
from dpcore.methods.networks.privbayes import maximal_sets
from dpcore.postprocess.bayes_net import contained, margin


@pytest.mark.parametrize(
    ("rows", "d", "parents"), [(45_222, 52, [0, 1, 3, 4, 5, 5]), (19_719, 175, [0, 0, 0, 0, 1, 2])]
)
def test_parents_of_bits_that_epsilon_allows(rows, d, parents):
    """All complete rows of Adult, and all rows of Big5."""
    method = PrivBayes(variant="binary", score="MI", max_parents=60)
    method.rows_ = float(rows)
    assert [method._parents_of_bits(d, 0.7 * epsilon) for epsilon in (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)] == parents


@pytest.mark.parametrize("relation", RELATIONS)
def test_parents_of_bits_are_what_the_fitted_network_has(relation):
    """Under add_remove the count of rows takes a hundredth of epsilon, and tables have half the noise."""
    schema, replaced = schema_of(dict.fromkeys("abcdef", 2)), relation == "replace"
    frame = random_frame(schema, 3_000)
    for epsilon in (0.01, 0.1, 0.2, 1.0):
        method = PrivBayes(variant="binary", relation=relation, epsilon=epsilon, random_state=0)
        method.fit(frame, schema=schema)
        strength = method.rows_ * epsilon * 0.7 * (1 if replaced else 0.99 * 2)
        k = max(j for j in range(4) if not j or strength / ((6 - j) * 2 ** (j + 2)) >= 4)
        assert [len(family) - 1 for family in method.families_] == [min(place, k) for place in range(6)]
        _, choices, tables = steps(method)
        assert (len(tables), len(choices)) == (6 - k, 5 if k else 0)
        anchor, held = method.families_[k], method.tables_[k]
        for place, (family, table) in enumerate(zip(method.families_, method.tables_, strict=True)):
            assert (method.epsilons_[place] == 0) == (place < k)
            if place < k:
                assert contained(family, anchor)
                np.testing.assert_allclose(table, margin(held, anchor, family))


def test_maximal_sets_by_plain_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(100):
        columns = [(f"x{i}", int(size)) for i, size in enumerate(rng.integers(2, 7, rng.integers(0, 7)))]
        room, most, size = float(rng.choice([0.4, 6.0, 11.9, 24.0, 1e9])), int(rng.integers(1, 5)), dict(columns)
        fitting = {
            frozenset(some)
            for count in range(most + 1)
            for some in combinations(size, count)
            if not some or prod(size[name] for name in some) <= room
        }
        found = maximal_sets(columns, room, most)
        assert set(map(frozenset, found)) == {some for some in fitting if not any(some < other for other in fitting)}
        assert len(found) == len(set(map(frozenset, found)))


@pytest.mark.parametrize(
    ("variant", "score"), [("general", None), ("general", "MI"), ("binary", None), ("binary", "MI")]
)
def test_paper_mode_costs_what_it_claims_or_a_little_less(variant, score):
    schema, n, epsilon = schema_of({"a": 3, "b": 3, "c": 4, "d": 3}), 400, 2.0
    method = PrivBayes(mode="published", variant=variant, score=score, epsilon=epsilon, random_state=0)
    method.fit(random_frame(schema, n), schema=schema)
    _, choices, tables = steps(method)
    assert total(tables) == total(tables, "epsilon_claimed")
    if (variant, score) != ("general", None):
        assert method.ledger_.epsilon_nominal == epsilon
        return
    share = 0.3 * epsilon / 3
    printed = 3 / n + 2 / n**2
    assert all(len(family) > 1 for family in method.families_[1:])
    for entry in choices:
        assert entry.claimed_sensitivity == pytest.approx(printed)
        assert entry.sensitivity == pytest.approx(3 * (n - 1) / n**2)
        assert entry.scale == pytest.approx(2 * printed / share)
        assert float(entry.epsilon_nominal) == pytest.approx(share * 3 * (n - 1) / (3 * n + 2))
    assert 0.998 * epsilon < method.ledger_.epsilon_nominal < epsilon


@pytest.mark.parametrize("variant", ["general", "binary"])
def test_the_root_is_uniform(variant):
    """Chi-square at 1e-4, which is the false-alarm rate; seeded. Whatever looks at the rows finds that a is alone."""
    schema, found = schema_of(dict.fromkeys("abc", 2)), []
    frame = random_frame(schema, 30).assign(a="0")
    for seed in range(45):
        method = PrivBayes(variant=variant, epsilon=50.0, random_state=seed).fit(frame, schema=schema)
        found.append(method.families_[0][0][0])
    assert len(method.families_[1]) == 2  # the network is learned
    assert stats.chisquare([found.count(name) for name in "abc"]).pvalue > 1e-4
