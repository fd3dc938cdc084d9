"""PrivSCBN: its choices, its Jaccard indices from noisy tables, its prices, and a huge epsilon."""

from fractions import Fraction

import numpy as np
import pytest
from bit_tables import HUGE, RELATIONS, bits, real_table, total
from bit_tables import planted as planted_bits

from dpcore.accounting.relation import Relation
from dpcore.door import PrivateTable
from dpcore.mechanisms.scores import MutualInformation, R
from dpcore.methods import PrivSCBN


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
