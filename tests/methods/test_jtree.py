"""JTree: hand-worked constants, a planted chain, exact ledgers, and bounds on tables."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from bit_tables import chain, schema_of

from dpcore.mechanisms.scores.dependence import MutualInformation
from dpcore.methods.networks.jtree import (
    COUNT_SHARE,
    MOST_CELLS,
    JTree,
    amplified,
    noisy_margins,
    sampling_rate,
    with_room,
)

CHAIN = schema_of(dict.fromkeys("CAB", 3))


def undirected(edges):
    return {frozenset(edge) for edge in edges}


def test_amplification_by_hand():
    assert float(amplified(0.1, 0.1)) == pytest.approx(0.71867, abs=5e-6)
    assert math.log1p(0.3 * math.expm1(amplified(1.0, 0.3))) == pytest.approx(1.0)
    assert float(amplified(1e6, 0.5)) == pytest.approx(1e6 + math.log(2))
    assert float(amplified(0.0, 0.5)) == 0


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


def test_printed_edge_rule():
    rng = np.random.default_rng(0)
    information, thresholds = np.array([0.5, 0.1, 0.3]), np.array([0.2, 0.2, 0.3])
    assert (noisy_margins(information, thresholds, 0.0, rng) >= 0).tolist() == [[True, False, True]]
    drawn = noisy_margins(information, thresholds, 0.1, rng, 200_000) >= 0
    assert drawn.shape == (200_000, 3)
    # P[margin + X >= Y] for two Laplace variables of scale b: 1 - e^-t (2 + t) / 4 with t = margin / b
    for j, t in ((0, 3.0), (2, 0.0)):
        exact = 1 - math.exp(-t) * (2 + t) / 4
        assert drawn[:, j].mean() == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(200_000))
    shared = (noisy_margins(np.zeros(2), np.zeros(2), 1.0, rng, 200_000) >= 0).all(axis=1).mean()
    assert shared == pytest.approx(1 / 3, abs=0.006)  # both of two beat one rho; independent ones would give 1/4
    assert (noisy_margins(np.ones(2), np.zeros(2), math.inf, rng, 20_000) >= 0).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("relation", "score"), [("replace", "R"), ("add_remove", "MI")])
def test_a_chain_is_found_at_a_huge_epsilon(score, relation):
    method = JTree(epsilon=1e6, score=score, relation=relation, random_state=0).fit(chain(3), schema=CHAIN)
    assert undirected(method.edges_) == undirected(method.cliques_) == undirected(["AB", "BC"])


@pytest.mark.parametrize(("threshold", "edges"), [(0.7, ["AB", "BC"]), (0.2, ["AB", "BC", "AC"]), (0.999, [])])
def test_paper_mode_finds_the_chain_at_its_threshold(threshold, edges):
    """I is about .61 nats for A, B and for B, C, and .38 for A, C; the threshold is phi²."""
    method = JTree(epsilon=1e6, mode="published", threshold=threshold, random_state=0).fit(chain(3), schema=CHAIN)
    assert undirected(method.edges_) == undirected(edges)
    assert len(method.cliques_) == {2: 2, 3: 1, 0: 3}[len(edges)]


def test_edges_with_room_are_the_first_ones():
    sizes = [1_000] * 4
    assert with_room([], sizes) == ([], [(0,), (1,), (2,), (3,)])
    assert with_room([(2, 3), (0, 1)], sizes) == ([(2, 3)], [(0,), (1,), (2, 3)])  # two of a million cells are too many
    small, pairs = [2] * 30, list(combinations(range(30), 2))
    kept, cliques = with_room(pairs[::-1], small)
    assert sum(2 ** len(clique) for clique in cliques) <= MOST_CELLS
    assert set(kept) == set(pairs[::-1][: len(kept)])
    assert with_room(pairs[:60], small)[0] == pairs[:60]


def test_what_each_question_costs():
    def entries(**how):
        method = JTree(epsilon=1.0, random_state=0, **how).fit(chain(3), schema=CHAIN)
        assert method.ledger_.totals.of_noise == 1
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
    ("epsilon", "relation", "cells"),
    [
        (1.0, "replace", 100),
        (0.5, "replace", 50),
        (50.0, "add_remove", pytest.approx(10_000, abs=300)),  # the noise of n has scale 10
        (0, "replace", 1),
        (1e9, "replace", MOST_CELLS // 3),
    ],
)
def test_default_bound_by_hand(epsilon, relation, cells):
    """n eps2 / (d * sensitivity * 4): 3000 * .8 / (3 * 2 * 4) = 100, and twice that under add_remove."""
    method = JTree(epsilon=epsilon, relation=relation, random_state=0).fit(chain(3), schema=CHAIN)
    assert method.max_cells_ == cells
