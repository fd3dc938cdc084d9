"""All networks: shares, families, tables, marginals; and rules of PrivBayes and PrivSCBN alone."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pandas as pd
import pytest
from bit_tables import HUGE, RELATIONS, bits, planted, random_frame, real_table, schema_of, steps, total
from chains import CHAIN, chain
from scipy import stats

from dpcore import AIM, MST
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.evaluate.distances import marginal_avd
from dpcore.mechanisms.scores import LinearF, MutualInformation, R
from dpcore.methods import AdaptiveMarginals, HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes
from dpcore.methods.networks import refined_privbayes
from dpcore.methods.networks.privbayes import maximal_sets
from dpcore.postprocess import resolution
from dpcore.postprocess.bayes_net import is_contained, marginal_of


def of_hmprivbayes(d, relation, n_clusters, **_):
    """The bits themselves are a tenth of the tables."""
    each = Fraction(2 * d / min(n_clusters, d))
    tables = each / (d - 1 + 2 * each)
    return 1 - tables * Fraction(19, 10), tables, tables * Fraction(9, 10)


def of_privbayes(d, relation, beta, **_):
    before = Fraction(1, 100) if relation == "add_remove" else Fraction(0)
    return before, (1 - before) * Fraction(beta), (1 - before) * (1 - Fraction(beta))


SHARES = [
    (HMPrivBayes, {"n_clusters": 1}, of_hmprivbayes),
    (HMPrivBayes, {"n_clusters": 9, "eta": 0.9}, of_hmprivbayes),
    (PrivBayes, {"variant": "general", "beta": 0.5}, of_privbayes),
    (PrivBayes, {"variant": "binary", "beta": 0.3}, of_privbayes),
    (PrivSCBN, {"n_clusters": 2, "max_parents": 3}, lambda *_, **__: (Fraction(1, 3),) * 3),
]


@pytest.mark.parametrize(("kind", "how", "shares"), SHARES)
def test_the_shares_of_all_steps_add_up_to_epsilon_exactly(kind, how, shares):
    for d, relation in product((2, 7), RELATIONS):
        frame, epsilon = planted(1, d, rows=50), 30 + 1 / 3
        method = kind(epsilon=epsilon, relation=relation, random_state=1, **how).fit(frame, schema=bits(frame.columns))
        entries = method.ledger_.entries
        chosen = [index for index, entry in enumerate(entries) if entry.mechanism == "exponential"]
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
    """Scores are compared, because ties are common with R: a redundant parent does not change R."""
    frame = planted(1, 6, seed=3)
    method = kind(epsilon=HUGE, random_state=0, **how).fit(frame, schema=bits(frame.columns))
    (root, *none), *families = method.families_
    names, placed = sorted(name + root[2:] for name in frame), [root]  # as columns, or as their bits
    assert not none
    if kind is not PrivBayes:  # which draws lots
        assert root == min(names, key=lambda name: abs(real_table(frame, (name,))[1] / len(frame) - 0.5))

    def value(family):
        return rated.score_table(real_table(frame, family).astype(int).reshape(2, -1), Relation.REPLACE)

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
def test_a_huge_epsilon_releases_the_tables_of_the_data_and_keeps_its_marginals(kind, how, relation, most):
    """Draws round the count of a child for each value of its parents, up to 8 of them, and pass their error on."""
    frame = planted(3, 5)
    method = kind(epsilon=HUGE, relation=relation, random_state=0, **how).fit(frame, schema=bits(frame.columns))
    rows = method.sample()
    assert len(rows) == len(frame)
    cliques = method.cliques_ if kind is JTree else method.families_
    assert max(map(len, cliques)) > 2
    for clique, table in zip(cliques, method.tables_, strict=True):
        real = real_table(frame, clique)
        np.testing.assert_allclose(table, real, atol=0.02)
        assert np.abs(real_table(rows, clique) - real).max() <= most, clique


def test_shared_marginals_are_averaged_by_privacy_loss():
    """A third of epsilon has nine times the variance: (1 * 30 + 9 * 40) / 10 = 39 rows with a's first value."""
    method = PrivBayes(epsilon=1.0)
    method.rows_ = 100.0
    ab, ca = np.array([[10.0, 20], [30, 40]]), np.array([[25.0, 40], [15, 20]])
    first, second = method._consistent_tables([("a", "b"), ("c", "a")], [ab, ca], [0.1, 0.3])
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
    ("kind", "most"), [(AdaptiveMarginals, resolution.MOST_GROUPS), (RefinedPrivBayes, refined_privbayes.MOST_GROUPS)]
)
def test_columns_of_very_many_bins_are_merged_and_not_refused(kind, most):
    """With hardly any noise no value is rare; so their number is limited, or no pair would fit into a clique."""
    rng = np.random.default_rng(4)
    columns = [Column(name=name, kind="continuous", lower=0.0, upper=1.0, bins=1_500) for name in "xz"]
    schema, x = Schema(columns=tuple(columns), max_rows=50_000), rng.random(30_000)
    frame = pd.DataFrame({"x": x, "z": (x + rng.random(len(x)) / 4) / 1.25})
    method = kind(epsilon=HUGE, random_state=0).fit(frame, schema=schema)
    assert max(groups.max() for groups in method.groups_) < most
    sample = method.sample(30_000)
    assert marginal_avd(frame, sample, schema, 1)["avd"].max() < 1e-2
    assert np.corrcoef(sample["x"], sample["z"])[0, 1] == pytest.approx(np.corrcoef(x, frame["z"])[0, 1], abs=0.01)


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
    """Under add_remove the count of rows spends a hundredth of epsilon, and marginals have half the noise."""
    schema, replaced = schema_of(dict.fromkeys("abcdef", 2)), relation == "replace"
    frame = random_frame(schema, 3_000)
    for epsilon in (0.01, 0.1, 0.2, 1.0):
        method = PrivBayes(variant="binary", relation=relation, epsilon=epsilon, random_state=0)
        method.fit(frame, schema=schema)
        strength = method.rows_ * epsilon * 0.7 * (1 if replaced else 0.99 * 2)
        k = max(j for j in range(4) if not j or strength / ((6 - j) * 2 ** (j + 2)) >= 4)
        assert [len(family) - 1 for family in method.families_] == [min(index, k) for index in range(6)]
        _, choices, tables = steps(method)
        assert (len(tables), len(choices)) == (6 - k, 5 if k else 0)
        anchor, held = method.families_[k], method.tables_[k]
        for index, (family, table) in enumerate(zip(method.families_, method.tables_, strict=True)):
            assert (method.epsilons_[index] == 0) == (index < k)
            if index < k:
                assert is_contained(family, anchor)
                np.testing.assert_allclose(table, marginal_of(held, anchor, family))


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
def test_published_mode_spends_its_claim_or_a_little_less(variant, score):
    schema, n, epsilon = schema_of({"a": 3, "b": 3, "c": 4, "d": 3}), 400, 2.0
    method = PrivBayes(mode="published", variant=variant, score=score, epsilon=epsilon, random_state=0)
    method.fit(random_frame(schema, n), schema=schema)
    _, choices, tables = steps(method)
    assert total(tables) == total(tables, "epsilon_claimed")
    if (variant, score) != ("general", None):
        assert method.ledger_.epsilon_nominal == epsilon
        return
    share = 0.3 * epsilon / 3
    published = 3 / n + 2 / n**2
    assert all(len(family) > 1 for family in method.families_[1:])
    for entry in choices:
        assert entry.claimed_sensitivity == pytest.approx(published)
        assert entry.sensitivity == pytest.approx(3 * (n - 1) / n**2)
        assert entry.scale == pytest.approx(2 * published / share)
        assert float(entry.epsilon_nominal) == pytest.approx(share * 3 * (n - 1) / (3 * n + 2))
    assert 0.998 * epsilon < method.ledger_.epsilon_nominal < epsilon


@pytest.mark.parametrize("variant", ["general", "binary"])
def test_the_root_is_uniform(variant):
    """Chi-square at 1e-4, which is the false-alarm rate; seeded. A root that reads the rows would favor column a."""
    schema, found = schema_of(dict.fromkeys("abc", 2)), []
    frame = random_frame(schema, 30).assign(a="0")
    for seed in range(45):
        method = PrivBayes(variant=variant, epsilon=50.0, random_state=seed).fit(frame, schema=schema)
        found.append(method.families_[0][0][0])
    assert len(method.families_[1]) == 2  # the network is learned
    assert stats.chisquare([found.count(name) for name in "abc"]).pvalue > 1e-4


def mostly_zeros(blocks, width, rows=1_500, seed=0):
    return planted(blocks, width, rows, seed, ones=(0.25, 0.03), copied=(0.9, 0.05))  # mostly zeros


@pytest.mark.parametrize(("d", "clusters"), [(3, 1), (7, 3)])
def test_published_mode_claims_epsilon_and_is_charged_its_proven_loss(d, clusters):
    n, epsilon = 60, 0.7
    frame = mostly_zeros(1, d, rows=n)
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
    # One for the first bit; then one for a child with its first parent, and one for each further parent.
    sizes = [1 + sum(min(3, placed) for placed in range(1, len(cluster))) for cluster in method.clusters_]
    assert [entry.epsilon_nominal for entry in choices] == [
        Fraction(epsilon) / 3 / size for size in sizes for _ in range(size)
    ]


@pytest.mark.parametrize("relation", RELATIONS)
def test_jaccard_indices_come_from_the_noisy_tables(relation, counted, monkeypatch):
    frame, floored = mostly_zeros(1, 5, rows=40), 0
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
    """Each step takes the best candidate; scores are compared, because ties are common with R."""
    frame = mostly_zeros(2, 5, seed=4)
    method = PrivSCBN(mode=mode, epsilon=HUGE, score=score, n_clusters=2, max_parents=parents, random_state=0)
    method.fit(frame, schema=bits(frame.columns))
    assert sorted(method.clusters_) == [tuple(f"{block}{i} bit 1" for i in range(5)) for block in "ab"]
    rated = R() if (mode, score) == ("corrected", "R") else MutualInformation()

    def value(family):
        return rated.score_table(real_table(frame, family).astype(int).reshape(2, -1), Relation.REPLACE)

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
