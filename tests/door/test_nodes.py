"""Nodes of private trees: their answers, the ways to divide them, and what a way to a leaf adds up to.

What each question costs is in `test_questions`.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from private_rows import EVERY, RELATIONS, REPLACE, TICKS, TREES, offered, roots

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.relation import Relation
from dpcore.domain.splits import GRID, STEP
from dpcore.door import Division
from dpcore.errors import BudgetError, ParameterError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max

TENTH = Fraction(1, 10)


def last(table):
    return table.ledger.entries[-1]


def test_answers_are_counts_of_records_classes_and_codes():
    _, nodes, budget = roots(REPLACE)
    assert budget == Fraction(1, 2)  # a record that is replaced leaves one node and comes to another
    np.testing.assert_array_equal(nodes.counts("n", epsilon=1), [6])
    np.testing.assert_array_equal(nodes.class_counts("c", epsilon=1), [[3, 3]])
    ((plain, crossed), (_, codes)) = nodes.tables("t", [2, 1], epsilon=1, one_by_one=False)
    np.testing.assert_array_equal(plain, [[2, 2, 2]])
    np.testing.assert_array_equal(crossed, [[[2, 0], [1, 1], [0, 2]]])
    assert codes.shape == (1, 4, 2)
    assert nodes.count_variance(Fraction(1, 4)) == 2 * 4.0**2
    assert nodes.count_variance(0) == math.inf
    assert (nodes.sensitivity(Max()), nodes.sensitivity(Gini())) == (1, 2)


def test_nodes_apart_cost_the_dearer_lot_and_division_nothing():
    table, nodes, _ = roots()
    nodes.counts("n", epsilon=TENTH)
    below = nodes.divide(Division(np.array([0]), TICKS[1:2]), offered(nodes)[1], first=np.array([0]), size=2)
    np.testing.assert_array_equal(below.class_counts("c", epsilon=TENTH), [[2, 2], [1, 1]])
    one, two = below.parts({"": np.array([1]), "leaves": np.array([0])})
    np.testing.assert_array_equal(one.counts("n", epsilon=TENTH), [2])
    np.testing.assert_array_equal(two.counts("n", epsilon=3 * TENTH), [4])
    one.counts("n", epsilon=TENTH)
    assert table.ledger.totals.bound == 5 * TENTH
    assert table.ledger.to_frame()["scope"].iloc[-1] == "one tree / leaves"


def test_each_column_weighs_1_and_an_interval_its_ticks():
    table, nodes, _ = roots()
    found = nodes.choose("q", Max(), *offered(nodes), epsilon=1)
    ((scores, groups, (part, whole)),) = table._door.noise.choices
    weights = part / whole
    # In front of 0, [0, 2), [2, 5), [5, 9.5), [9.5, 10), 10; three places between four bins; three letters at once
    np.testing.assert_allclose(weights[:6] * (GRID + 1), np.diff([-1, *np.unique(TICKS), GRID]), rtol=1e-12)
    np.testing.assert_allclose(weights[:6], [0, 0.2, 0.3, 0.45, 0.05, 0], atol=STEP / GRID)
    assert weights[0] > weights[5] == 0
    np.testing.assert_allclose(weights[6:], [1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_array_equal(scores, [3, 4, 3, 3, 4, 3, 3, 4, 3, 5])
    assert not groups.any()
    assert (found.column.tolist(), np.isnan(found.cut).all()) == ([2], True)
    assert last(table).name == f"q, by {Max().name}"
    # Cuts that were chosen before compete with whole columns.
    cut = float(TICKS[3]) + 7
    cuts, (table, nodes, _) = np.array([[cut, 2.0, np.nan, np.nan]]), roots()
    found = nodes.choose("q", Max(), *offered(nodes), epsilon=1, cuts=cuts)
    ((scores, _, weights),) = table._door.noise.choices
    assert (scores.tolist(), weights, found.column.tolist()) == ([4, 4, 5], None, [2])
    found = nodes.choose("q", Max(), *offered(nodes, EVERY & [True, True, False, False]), epsilon=1, cuts=cuts)
    assert (found.column.tolist(), found.cut.tolist()) == ([0], [cut])


@pytest.mark.parametrize("relation", RELATIONS)
def test_with_epsilon_0_a_division_does_not_look_at_the_rows(relation):
    found = []
    for codes in (TREES, np.ones_like(TREES)):
        table, nodes, _ = roots(relation, noise=make_noise("laplace", 5), codes=codes)
        groups = offered(nodes, EVERY & [False, True, True, False])
        chosen = [nodes.choose("q", Max(), *groups, epsilon=0) for _ in range(40)]
        chosen += [nodes.choose("q", Max(), *groups, epsilon=0, claimed_sensitivity=9.0)]
        found.append([(int(one.column[0]), str(one.cut[0])) for one in chosen])
        number = offered(nodes, EVERY & [True, False, False, False])
        cut = nodes.choose("q", Max(), *number, epsilon=0).cut[0]
        assert -1 <= cut == np.floor(cut) < GRID
        assert table.ledger.epsilon_bound == 0
    assert found[0] == found[1]


def test_what_a_choice_would_be_booked_with_is_what_it_is_booked_with():
    for score, claimed, relation in product((Max(), Gini(), InfoGain(), ConditionalEntropy()), (None, 0.25), RELATIONS):
        table, nodes, _ = roots(relation)
        foretold = nodes.choice_bound(score, Fraction(1, 7), claimed)
        nodes.choose("q", score, *offered(nodes), epsilon=Fraction(1, 7), claimed_sensitivity=claimed)
        (entry,) = table.ledger.entries
        assert entry.epsilon_bound == foretold > 0


def test_nodes_that_cannot_be_divided_are_refused():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="no column"):
        nodes.choose("q", Max(), *offered(nodes, np.zeros(4, dtype=bool)), epsilon=1)
    assert not table.ledger.entries
    table, nodes, _ = roots(trees=3)
    # No place of a node weighs anything: nothing is released, and no node has another's answer.
    select = table._door.noise.select_grouped
    table._door.noise.select_grouped = lambda *choice: select(*choice)[1:]
    with pytest.raises(ParameterError, match="no way to be divided"):
        nodes.choose("q", Max(), *offered(nodes), epsilon=1)
    assert table.ledger.epsilon_bound == 3  # paid for, as answers would have been drawn


def test_purity_is_had_in_paper_mode_only_and_what_is_left_unasked_is_booked_as_if_it_were():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="Raw rows"):
        nodes.pure("because")
    assert not table.ledger.entries
    table, nodes, _ = roots(paper=True)
    assert not nodes.pure("because").any()
    assert nodes.only(np.array([], dtype=np.intp)).pure("because").shape == (0,)
    assert (table.ledger.epsilon_claimed, table.ledger.epsilon_bound) == (0, math.inf)
    assert last(table).reason == "because"
    third, fourth = Fraction(1, 3), Fraction(1, 4)
    for (table, nodes, _), bound in ((roots(), fourth), (roots(REPLACE, plainly_claimed=True), 2 * fourth)):
        nodes.leave_unasked("lower levels", third, fourth)
        assert (table.ledger.totals.claimed, table.ledger.totals.bound) == (third, bound)
        assert (last(table).draws, last(table).mechanism, last(table).name) == (0, "none", "lower levels")


def test_what_a_tree_may_spend_costs_exactly_epsilon_and_more_for_bootstrap_samples():
    epsilon = Fraction(7, 3)
    for trees, resample, relation in product((1, 7), ("disjoint", "poisson", "full"), RELATIONS):
        table, nodes, budget = roots(relation, trees=trees, epsilon=epsilon, resample=resample, rate=0.3, cap=epsilon)
        assert nodes.size == trees
        nodes.counts("n", epsilon=budget)
        assert table.ledger.totals.bound == table.ledger.totals.claimed == epsilon, (trees, resample, relation)
        with pytest.raises(BudgetError):
            nodes.counts("n", epsilon=Fraction(1, 10**15))
    # Bootstrap samples are bounded by what several copies cost.
    for (relation, moved), plainly in product(RELATIONS.items(), (True, False)):
        table, nodes, budget = roots(relation, trees=4, resample="bootstrap", plainly_claimed=plainly)
        assert budget == Fraction(1, 4) / (1 if plainly else moved)
        nodes.counts("n", epsilon=budget)
        assert table.ledger.totals.claimed == 1
        inside = moved * Fraction(1, 4) if plainly else Fraction(1, 4)
        assert table.ledger.totals.bound == 4 * bootstrap_loss(inside, Relation.parse(relation), len(TREES))


def test_which_rows_a_tree_holds():
    held, codes = {}, np.tile(TREES, (500, 1))
    for resample in ("disjoint", "poisson", "full", "bootstrap"):
        _, nodes, _ = roots(noise=make_noise("laplace", 3), codes=codes, trees=5, resample=resample, rate=0.3)
        held[resample] = [np.arange(3000)[nodes._rows.row][nodes._rows.node == tree] for tree in range(5)]
    assert sorted(np.concatenate(held["disjoint"])) == list(range(3000))
    for disjoint, poisson, full, bootstrap in zip(*held.values(), strict=True):
        assert abs(len(disjoint) - 600) < 5 * math.sqrt(480)
        assert abs(len(poisson) - 900) < 5 * math.sqrt(630)
        assert (np.diff(poisson) > 0).all()
        assert full.tolist() == list(range(3000))
        assert len(bootstrap) == 3000
        assert abs(len(np.unique(bootstrap)) - 3000 * (1 - math.exp(-1))) < 150
    for resample in ("poisson", "bootstrap"):
        assert held[resample][0].tolist() != held[resample][1].tolist()


def test_a_rate_between_two_that_lots_can_have_is_the_lower_one():
    noise = make_noise("auto", None)
    noise.lots = lambda count: np.arange(count) / 2.0**53
    _, nodes, _ = roots(noise=noise, resample="poisson", rate=3.9 / 2**53)
    assert nodes._rows.row.tolist() == [0, 1, 2]
