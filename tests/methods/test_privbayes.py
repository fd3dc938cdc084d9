"""PrivBayes and PrivSCBN: sizes and prices, plain enumeration, a random root, Jaccard indices, a huge epsilon."""

from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from bit_tables import HUGE, RELATIONS, bits, random_frame, real_table, schema_of, steps, total
from bit_tables import planted as planted_bits
from scipy import stats

from dpcore.accounting.relation import Relation
from dpcore.door import PrivateTable
from dpcore.mechanisms.scores import MutualInformation, R
from dpcore.methods import PrivBayes, PrivSCBN
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


def planted(blocks, width, rows=1_500, seed=0):
    return planted_bits(blocks, width, rows, seed, ones=(0.25, 0.03), copied=(0.9, 0.05))  # mostly zeros


def choices_of(size, parents):
    """One for the first bit; then one for a child with its first parent, and one for each further parent."""
    return 1 + sum(min(parents, placed) for placed in range(1, size))


@pytest.mark.parametrize(("d", "clusters"), [(3, 1), (7, 3)])
def test_paper_mode_claims_epsilon_and_is_charged_what_it_costs(d, clusters):
    n, epsilon = 60, 0.7
    frame = planted(1, d, rows=n)
    method = PrivSCBN(mode="published", epsilon=epsilon, n_clusters=clusters, random_state=2)
    method.fit(frame, schema=bits(frame.columns))
    k = len(method.clusters_)
    pairs, *rest = method.ledger_.entries
    assert pairs.epsilon_claimed == Fraction(epsilon) / 3
    assert pairs.sensitivity == 1
    assert pairs.claimed_sensitivity == pytest.approx(1 / n)
    assert float(pairs.epsilon_nominal) == pytest.approx(d // 2 * n * epsilon / 3)
    assert pairs.scale == pytest.approx(d * (d - 1) / (2 * (d // 2)) / n / (epsilon / 3))
    assert total(rest) == 2 * k * Fraction(epsilon) / 3
    assert method.ledger_.epsilon_nominal == pytest.approx((d // 2 * n + 2 * k) * epsilon / 3)
    choices = [entry for entry in rest if entry.mechanism == "exponential"]
    sizes = [choices_of(len(cluster), 3) for cluster in method.clusters_]
    assert [entry.epsilon_nominal for entry in choices] == [
        Fraction(epsilon) / 3 / size for size in sizes for _ in range(size)
    ]


@pytest.mark.parametrize("relation", RELATIONS)
def test_jaccard_indices_come_from_the_noisy_tables(relation, counted, monkeypatch):
    frame, floored = planted(1, 5, rows=40), 0
    monkeypatch.setattr(PrivateTable, "noisy_scores", None)
    for seed in range(5):
        counted.clear()
        method = PrivSCBN(epsilon=3.0, relation=relation, n_clusters=1, random_state=seed)
        method.fit(frame, schema=bits(frame.columns))
        names = list(method.clusters_[0])
        (pairs, _, tables), *_ = counted
        assert len(pairs) == 10
        for (a, b), noisy in zip(pairs, tables, strict=True):
            union = noisy[0, 1] + noisy[1, 0] + noisy[1, 1]
            floored += union < 1
            index = noisy[1, 1] / max(union, 1)
            i, j = names.index(a), names.index(b)
            assert method.similarity_[i, j] == method.similarity_[j, i] == pytest.approx(index)
        assert not np.diag(method.similarity_).any()
    assert floored  # otherwise the least union was not tried


@pytest.mark.parametrize(
    ("mode", "score", "parents"),
    [("corrected", "R", 3), ("corrected", "MI", 2), ("published", "R", 2), ("published", "R", 1)],
)
def test_a_huge_epsilon_grows_families_parent_by_parent(parents, mode, score):
    """Each step takes the best there is; scores are compared, because ties are common with R."""
    frame = planted(2, 5, seed=4)
    method = PrivSCBN(mode=mode, epsilon=HUGE, score=score, n_clusters=2, max_parents=parents, random_state=0)
    method.fit(frame, schema=bits(frame.columns))
    assert sorted(method.clusters_) == [tuple(f"{block}{i} bit 1" for i in range(5)) for block in "ab"]
    rated = R() if (mode, score) == ("corrected", "R") else MutualInformation()

    def value(family):
        return rated.of(real_table(frame, family).astype(int).reshape(2, -1), Relation.REPLACE)

    at = 0
    for cluster in method.clusters_:
        families, placed = method.families_[at : at + len(cluster)], []
        at += len(cluster)
        for family in families:
            if placed:
                first = [(child, parent) for child in cluster if child not in placed for parent in placed]
                assert value(family[:2]) == pytest.approx(max(map(value, first)), abs=1e-6)
            else:
                middle = [abs(real_table(frame, (name,))[1] / len(frame) - 0.5) for name in cluster]
                assert family == (cluster[int(np.argmin(middle))],)
            assert len(family) == 1 + min(parents, len(placed)) == len(set(family))
            for size in range(2, len(family)):
                further = [(*family[:size], parent) for parent in placed if parent not in family[:size]]
                assert value(family[: size + 1]) == pytest.approx(max(map(value, further)), abs=1e-6)
            placed.append(family[0])
        assert sorted(placed) == sorted(cluster)
