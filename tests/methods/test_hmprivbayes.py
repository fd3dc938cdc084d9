"""HMPrivBayes and JTree: hand-worked numbers, published constants, enumeration, ledgers, and bounds on tables."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from bit_tables import HUGE, RELATIONS, bits, chain, planted, random_frame, schema_of, steps, total

from dpcore.datasets.catalog import adult_schema, big5_schema
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.export import make_release
from dpcore.mechanisms.scores import MutualInformation
from dpcore.methods import HMPrivBayes
from dpcore.methods.networks.jtree import (
    COUNT_SHARE,
    MOST_CELLS,
    JTree,
    edges_that_fit,
    epsilon_on_sample,
    noisy_excess,
    sampling_rate,
)
from dpcore.postprocess.bayes_net import is_contained, marginal_of
from dpcore.postprocess.clustering import contiguous_clusters


def bit(name):
    return f"{name} bit 1"


def entropy(share):
    return -sum(p * math.log2(p) for p in (share, 1 - share) if p)


@pytest.mark.parametrize("mode", ["published", "corrected"])
def test_entropies_of_1_and_a_half_share_epsilon_as_37_75_to_62_25(mode):
    n = 10_000
    ones = {"root": n // 2, "even": n // 2 - 10, "rare": 1_100}  # entropies 1, 0.999997 and 0.49992
    frame = pd.DataFrame({name: (np.arange(n) * 7 % n < count).astype(int) for name, count in ones.items()})
    method = HMPrivBayes(mode=mode, epsilon=HUGE, n_clusters=1, max_parents=1, eta=0.0, score="MI", random_state=0)
    method.fit(frame, schema=bits(ones, n))
    share = {family[0]: loss for family, loss in zip(method.families_, method.epsilons_, strict=True)}
    assert (method.families_[0], share.pop(bit("root"))) == ((bit("root"),), 0)
    both = sum(share.values())
    shares = {bit("even"): pytest.approx(0.3775, abs=5e-5), bit("rare"): pytest.approx(0.6225, abs=5e-5)}
    assert {name: loss / both for name, loss in share.items()} == shares
    d, k = 3, 1
    whole = HUGE * (2 * d / k) / (d - 1 + 4 * d / k)
    assert both == pytest.approx(whole if mode == "published" else 0.9 * whole)


@pytest.mark.parametrize(
    ("schema", "d", "shares", "pairs_at_once", "sum_without_entropies"),
    [
        pytest.param(adult_schema(), 52, (0.42382, 0.28809, 0.28809), 26, 12.75, id="adult"),
        pytest.param(big5_schema(), 175, (0.42717, 0.28642, 0.28642), 87, 38.88, id="big5"),
    ],
)
def test_published_mode_records_the_loss_of_every_step(schema, d, shares, pairs_at_once, sum_without_entropies):
    n, epsilon = 60, 0.8
    frame = random_frame(schema, n)
    method = HMPrivBayes(mode="published", epsilon=epsilon, max_parents=1, random_state=0).fit(frame, schema=schema)
    k = len(method.clusters_)
    assert k == 3
    entries = method.ledger_.entries
    (raw,) = [entry for entry in entries if entry.mechanism == "none"]
    assert (raw.epsilon_claimed, raw.epsilon_nominal) == (0, math.inf)
    others = total([entry for entry in entries if entry is not raw])
    assert float(others / Fraction(epsilon)) == pytest.approx(sum_without_entropies, abs=5e-3)
    (pairs,), choices, tables = steps(method)
    claimed = [float(total(step, "epsilon_claimed")) for step in steps(method)]
    assert claimed == pytest.approx([epsilon * share for share in shares], abs=5e-6)
    assert pairs.epsilon_nominal == pairs.epsilon_claimed * pairs_at_once
    step = entropy(1 / n)  # the most that one row moves the information of two bits: a first one among n - 1 zeros
    published = step * d * (d - 1) / (float(pairs.epsilon_claimed) * 2 * pairs_at_once)
    assert pairs.scale == pytest.approx(published)
    assert pairs.draws == d * (d - 1) // 2
    for step in (choices, tables):
        assert total(step) == total(step, "epsilon_claimed") * k
    assert len(choices) == d
    per_step = total(choices, "epsilon_claimed")
    sizes = [len(cluster) for cluster in method.clusters_]
    assert [entry.epsilon_nominal for entry in choices] == [per_step / size for size in sizes for _ in range(size)]


@pytest.mark.parametrize(("mode", "relation"), [("published", "replace"), *(("corrected", one) for one in RELATIONS)])
def test_equal_weights_read_no_entropies_and_a_random_first_bit_is_not_charged(mode, relation):
    """For a given epsilon, the sum of m marginals' noise scales is least if they are equal."""
    frame, firsts = planted(1, 6, rows=120), set()
    for seed, weights in enumerate(["equal", "entropy"] * 4):
        how = {"relation": relation, "weights": weights, "first": "random", "random_state": seed, "epsilon": 20.0}
        method = HMPrivBayes(mode=mode, n_clusters=1, max_parents=1, **how).fit(frame, schema=bits(frame.columns, 120))
        (_, choices, tables), losses = steps(method), [float(loss) for loss in method.epsilons_ if loss]
        assert (sum(losses) * sum(1 / loss for loss in losses) > len(losses) ** 2 + 1e-6) == (weights == "entropy")
        raw, reads = [entry.mechanism for entry in method.ledger_.entries].count("none"), weights == "entropy"
        found = (0, 6 * (reads or relation == "add_remove")) if mode == "corrected" else (reads, 0)
        assert (raw, len(tables) - len(losses)) == found
        assert [entry.epsilon_nominal for entry in choices] == [total(choices) / 5] * 5
        assert total(method.ledger_.entries, "epsilon_claimed") == 20
        firsts.add(method.families_[0])
    assert len(firsts) > 1


@pytest.mark.parametrize(("mode", "score"), [("corrected", "R"), ("published", "MI")])
def test_planted_blocks_are_found_by_the_fixed_affinity_and_separated_by_the_published_one(mode, score):
    """Two blocks of four equal bits: the published affinity separates equal bits."""
    rows = np.random.default_rng(0).integers(0, 2, (1_000, 2))
    frame = pd.DataFrame({f"{block}{i}": rows[:, j] for j, block in enumerate("ab") for i in range(4)})
    how = {"mode": mode, "score": score, "n_clusters": 2, "epsilon": 20.0, "random_state": 0}
    fixed, published = (
        HMPrivBayes(affinity=affinity, **how).fit(frame, schema=bits(frame.columns))
        for affinity in ("fixed", "published")
    )
    assert sorted(fixed.clusters_) == [tuple(bit(f"{block}{i}") for i in range(4)) for block in "ab"]
    assert [{name[0] for name in cluster} for cluster in published.clusters_] == [{"a", "b"}] * 2
    distance = published.sample(1_000)[[sorted(cluster)[0].split()[0] for cluster in published.clusters_]]
    assert 0.3 < (distance.nunique(axis=1) == 1).mean() < 0.7  # equal in all rows


@pytest.mark.parametrize("mode", ["corrected", "published"])
def test_families_that_follow_from_no_other_are_measured(mode):
    frame, measured = planted(1, 7, rows=300, seed=1), 0
    for seed in range(4):
        method = HMPrivBayes(mode=mode, epsilon=1.0, n_clusters=1, eta=0.5, random_state=seed)
        method.fit(frame, schema=bits(frame.columns))
        anchor, tables = method.families_[3], dict(zip(method.families_, method.tables_, strict=True))
        for index, (family, loss) in enumerate(zip(method.families_, method.epsilons_, strict=True)):
            derived = index < 3 and is_contained(family, anchor)
            measured += index < 3 and not derived
            assert (loss == 0) == derived
            if derived:
                held = marginal_of(np.maximum(tables[anchor], 0), anchor, family)
                np.testing.assert_allclose(tables[family], held)
            if mode == "corrected":
                assert tables[family].min() >= 0
                assert tables[family].sum() == pytest.approx(method.rows_)
    assert measured  # otherwise the filter was not on


def test_a_public_partition_needs_no_scores_and_splits_no_column():
    sizes = {"wide": 8, "x": 2, "mid": 4}
    columns = (Column(name=name, kind="categorical", categories=tuple("abcdefgh"[:n])) for name, n in sizes.items())
    schema = Schema(columns=tuple(columns))
    method = HMPrivBayes(epsilon=1.0, partition="public", n_clusters=2, random_state=0)
    method.fit(random_frame(schema, 60), schema=schema)
    pairs, choices, tables = steps(method)
    assert (pairs, method.similarity_.size) == ([], 0)
    assert [len(cluster) for cluster in method.clusters_] == [3, 3]
    assert float(total(choices)) == pytest.approx(6 / (5 + 12))  # of 2 d / k and d - 1 + 4 d / k, with d = 6 and k = 2
    assert total(choices) + total(tables) == 1
    assert contiguous_clusters([range(3), range(3, 4), range(4, 6)], 9) == [[0, 1, 2], [3], [4, 5]]


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_of_the_corrected_tables_follows_noisy_entropies(relation, counted):
    """Weights come from the released one-way marginals and not from the rows."""
    frame = planted(1, 6, rows=120)
    HMPrivBayes(relation=relation, n_clusters=1, epsilon=0.5, random_state=0).fit(frame, schema=bits(frame.columns))
    (one_ways, _, marginals), (families, how, _) = counted
    n = len(frame) if relation == "replace" else float(np.mean([marginal.sum() for marginal in marginals]))
    for family, weight in zip(families, how["weights"], strict=True):
        noisy = marginals[list(one_ways).index((family[0],))]
        share = np.clip((noisy[1] + (n - noisy.sum()) / 2) / n, 0, 1)
        assert weight == pytest.approx(math.exp(-entropy(share)))


CHAIN = schema_of(dict.fromkeys("CAB", 3))


def undirected(edges):
    return {frozenset(edge) for edge in edges}


def test_amplification_by_hand():
    assert float(epsilon_on_sample(0.1, 0.1)) == pytest.approx(0.71867, abs=5e-6)
    assert math.log1p(0.3 * math.expm1(epsilon_on_sample(1.0, 0.3))) == pytest.approx(1.0)
    assert float(epsilon_on_sample(1e6, 0.5)) == pytest.approx(1e6 + math.log(2))
    assert float(epsilon_on_sample(0.0, 0.5)) == 0


@pytest.mark.parametrize(("shapes", "epsilon"), [([(2, 2)], 0.2), ([(3, 3), (2, 5)], 1.0)])
def test_sampling_rate_is_the_best_of_the_grid(shapes, epsilon):
    score = MutualInformation()
    noise = {}
    for thousandth in range(1, 1_001):
        rows = round(thousandth / 1_000 * 500)
        if rows >= 2:
            step = max(score.bounds([shape], "replace", rows).sensitivity for shape in shapes) * math.log(2)
            rate = thousandth / 1_000
            noise[rate] = 2 * step / (math.log(math.exp(epsilon) - 1 + rate) - math.log(rate))
    rate, scale = sampling_rate(500, epsilon, shapes)
    assert scale == pytest.approx(min(noise.values()))
    assert noise[rate] == pytest.approx(scale)
    assert sampling_rate(0, 1.0, shapes) == sampling_rate(1, 1.0, shapes) == (1.0, 0.0)  # nothing to sample
    assert sampling_rate(100, 0.0, shapes)[1] == math.inf


def test_published_edge_rule():
    rng = np.random.default_rng(0)
    information, thresholds = np.array([0.5, 0.1, 0.3]), np.array([0.2, 0.2, 0.3])
    assert (noisy_excess(information, thresholds, 0.0, rng) >= 0).tolist() == [[True, False, True]]
    drawn = noisy_excess(information, thresholds, 0.1, rng, 200_000) >= 0
    assert drawn.shape == (200_000, 3)
    # P[margin + X >= Y] for two Laplace variables of scale b: 1 - e^-t (2 + t) / 4 with t = margin / b
    for j, t in ((0, 3.0), (2, 0.0)):
        exact = 1 - math.exp(-t) * (2 + t) / 4
        assert drawn[:, j].mean() == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(200_000))
    shared = (noisy_excess(np.zeros(2), np.zeros(2), 1.0, rng, 200_000) >= 0).all(axis=1).mean()
    assert shared == pytest.approx(1 / 3, abs=0.006)  # both of two beat one rho; independent ones would give 1/4
    assert (noisy_excess(np.ones(2), np.zeros(2), math.inf, rng, 20_000) >= 0).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("relation", "score"), [("replace", "R"), ("add_remove", "MI")])
def test_a_chain_is_found_at_a_huge_epsilon(score, relation):
    method = JTree(epsilon=1e6, score=score, relation=relation, random_state=0).fit(chain(3), schema=CHAIN)
    assert undirected(method.edges_) == undirected(method.cliques_) == undirected(["AB", "BC"])


@pytest.mark.parametrize(("threshold", "edges"), [(0.7, ["AB", "BC"]), (0.2, ["AB", "BC", "AC"]), (0.999, [])])
def test_published_mode_finds_the_chain_at_its_threshold(threshold, edges):
    """I is about .61 nats for A, B and for B, C, and .38 for A, C; the threshold is phi²."""
    method = JTree(epsilon=1e6, mode="published", threshold=threshold, random_state=0).fit(chain(3), schema=CHAIN)
    assert undirected(method.edges_) == undirected(edges)
    graph = make_release(method, "JTree", method.sample(1), data_name="").artifact.picture()[0]
    drawn = {2: "2 nodes and 1", 3: "1 nodes and 0", 0: "3 nodes and 0"}[len(edges)]  # apart where no column is shared
    assert graph.title.text == [f"The graph: {drawn} edges"]


def test_edges_that_fit_are_the_first_ones():
    sizes = [1_000] * 4
    assert edges_that_fit([], sizes) == ([], [(0,), (1,), (2,), (3,)])
    assert edges_that_fit([(2, 3), (0, 1)], sizes) == ([(2, 3)], [(0,), (1,), (2, 3)])  # two are too many
    small, pairs = [2] * 30, list(combinations(range(30), 2))
    kept, cliques = edges_that_fit(pairs[::-1], small)
    assert sum(2 ** len(clique) for clique in cliques) <= MOST_CELLS
    assert set(kept) == set(pairs[::-1][: len(kept)])
    assert edges_that_fit(pairs[:60], small)[0] == pairs[:60]


def test_privacy_loss_of_each_query():
    def entries(**how):
        method = JTree(epsilon=1.0, random_state=0, **how).fit(chain(3), schema=CHAIN)
        assert method.ledger_.totals.nominal == 1
        return method.ledger_.entries

    structure = Fraction(0.2)
    count, *picks, table = entries(relation="add_remove")  # two tables of 9 cells are merged to one of 27
    assert (count.name, count.epsilon_nominal) == ("number of rows", COUNT_SHARE * structure)
    assert [entry.epsilon_nominal for entry in picks] == [(1 - COUNT_SHARE) * structure / 2] * 2
    assert (table.epsilon_nominal, table.scale) == (1 - structure, pytest.approx(1 / 0.8))
    *picks, first, second = entries(max_cells=20)
    assert [(e.epsilon_nominal, e.mechanism) for e in picks] == [(structure / 2, "exponential")] * 2
    assert [first.scale, second.scale] == pytest.approx([2 * 2 / 0.8] * 2)
    # with 9 cells at most, A-B and B-C are joined, after which A-C would make 27: two picks of three are paid
    *picks, first, second = entries(edges=3, max_cells=9)
    assert [(e.epsilon_nominal, e.mechanism) for e in picks] == [(structure / 3, "exponential")] * 2


@pytest.mark.parametrize(
    ("epsilon", "cells"),
    [(1.0, 100), (0.5, 50), (50.0, pytest.approx(10_000, abs=300)), (0, 1), (1e9, MOST_CELLS // 3)],
)
def test_default_bound_by_hand(epsilon, cells):
    """n eps2 / (d * sensitivity * 4): 3000 * .8 / (3 * 2 * 4) = 100, and twice that under add_remove."""
    relation = "add_remove" if epsilon == 50 else "replace"  # the noise of n has scale 10
    method = JTree(epsilon=epsilon, relation=relation, random_state=0).fit(chain(3), schema=CHAIN)
    assert method.max_cells_ == cells
