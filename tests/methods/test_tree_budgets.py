"""What whole trees cost: every way from a root to a leaf spends the budget, and papers claim what their shares say."""

import math
import weakref
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.relation import Relation
from dpcore.door import PrivateTable
from dpcore.door.exact_node_counts import NodeRows
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, SuLQID3
from dpcore.methods.trees.grow import within

MOVED = {Relation.ADD_REMOVE: 1, Relation.REPLACE: 2}  # the nodes of a level that one person moves
CORRECTED = [
    (DiffPRFs, {"n_trees": 3, "resample": "disjoint", "split_selection": "two_stage", "count_share": 0.3}),
    (DiffPRFs, {"n_trees": 3, "resample": "poisson", "rate": 0.3, "count_share": 0.5, "leaf_share": 0.2}),
    (DiffPRFs, {"n_trees": 3, "resample": "full", "count_share": 0.0, "cuts": "bins"}),
    (DiffPRF, {"n_trees": 2, "resample": "disjoint"}),
    (SuLQID3, {}),
    (PINQID3, {}),
    (DiffPC45, {"prune": False, "cuts": "bins"}),
]


def fitted(method, frame, schema, **parameters):
    return method(**{"epsilon": 1.0, "random_state": 1, **parameters}).fit(frame, schema=schema)


def test_every_way_to_a_leaf_costs_the_whole_budget(small_frame, small_schema, monkeypatch):
    """Leaves on several levels: the noise is small enough for trees to grow, and large enough for some to stop."""
    budgets, epsilon, trees = [], 7.3, PrivateTable.trees

    def watched(self, *args, **how):
        budgets.append(trees(self, *args, **how))
        return budgets[-1]

    monkeypatch.setattr(PrivateTable, "trees", watched)
    for (method, how), (relation, moved) in product(CORRECTED, MOVED.items()):
        model = fitted(method, small_frame, small_schema, relation=str(relation), epsilon=epsilon, max_depth=3, **how)
        forest, (_, budget), told = model.forest_, budgets[-1], (method, how, relation)
        np.testing.assert_allclose(forest.spent[forest.leaf], float(budget), rtol=1e-12)
        inner, below = np.flatnonzero(~forest.leaf), forest.parent >= 0
        assert len(inner), told
        assert (forest.spent[inner] < float(budget)).all(), told
        assert (forest.spent[below] >= forest.spent[forest.parent[below]]).all(), told
        many = 1 if how.get("resample") == "disjoint" else how.get("n_trees", 1)
        assert budget == Fraction(epsilon) / many / moved or how.get("resample") == "poisson", told


LEVELS = 3
ID3 = (8, 3)  # in how many parts a tree divides its epsilon: all of them, and those for choices on all levels
C45 = ((2 + 2) * LEVELS + 2, (2 + 1) * LEVELS)  # with two numbers
PRINTED = [
    *((method, {}, 1, ID3, False) for method in (SuLQID3, PINQID3)),  # trees, parts, and whether the score only rises
    *((DiffPID3, {"criterion": name}, 1, ID3, name != "InfoGain") for name in ("Max", "InfoGain")),
    (DiffPC45, {"prune": False, "cuts": "bins"}, 1, C45, True),
    (DiffPRF, {"n_trees": 2, "criterion": "InfoGain"}, 2, ID3, False),
]


@pytest.mark.parametrize(("method", "how", "trees", "shares", "rises"), PRINTED)
def test_paper_modes_bound_is_that_of_the_mechanism(method, how, trees, shares, rises, small_frame, small_schema):
    """The same whether trees stop at the root or reach the last level, and whichever rows stop them.

    exp(e q / (2 D)) costs half of e if the score only rises, and e if it does not. Under replace a row leaves one node
    and comes to another. A bootstrap sample costs what `amplification` says.
    """
    parts, choices = shares
    for unit, (relation, moved) in zip((1.9, 2.0), MOVED.items(), strict=True):
        epsilon, reached = unit * parts * trees, set()
        each = Fraction(epsilon) / trees * moved
        tree = each - choices * each / parts / 2 if rises else each
        for rows in (0, 60, 600):
            paper = {"mode": "published", "relation": str(relation), "epsilon": epsilon, "max_depth": LEVELS, **how}
            model = fitted(method, small_frame.iloc[:rows], small_schema, **paper)
            expected = trees * bootstrap_loss(tree, relation, rows) if method is DiffPRF else tree
            found = model.ledger_.totals.of_noise
            assert float(found) == pytest.approx(float(expected), rel=1e-12)
            assert found == expected or unit != 2.0 or method is DiffPRF
            depth = int(model.forest_.level.max())
            assert len(entries_of(model, "levels that no tree reached")) == (depth < LEVELS)
            reached.add(depth)
        assert reached >= {0, LEVELS}


@pytest.mark.parametrize("mode", ["published", "corrected"])
@pytest.mark.parametrize("method", [DiffPID3, SuLQID3, PINQID3, DiffPRF, DiffPC45])
def test_a_single_record_is_divided_as_printed_only(method, mode, small_frame, small_schema):
    own = {DiffPRF: {"n_trees": 1}, DiffPC45: {"prune": False}}.get(method, {})
    how = {"mode": mode, "max_depth": 1, "epsilon": 1e6, "random_state": 2, **own}
    assert (len(fitted(method, small_frame.iloc[:1], small_schema, **how).forest_.tree) > 1) == (mode == "published")


def test_where_counts_are_bought_two_records_are_divided(small_frame, small_schema):
    how = {"n_trees": 1, "count_share": 0.4, "max_depth": 1, "epsilon": 1e6, "random_state": 2}
    sizes = [len(fitted(DiffPRFs, small_frame.iloc[:rows], small_schema, **how).forest_.tree) for rows in (1, 2)]
    assert sizes[0] == 1 < sizes[1]


def test_the_largest_nodes_go_on_where_there_are_too_many_or_lots_decide(monkeypatch):
    """Where nobody knows their size it is not the first ones: those would be of the first trees."""
    monkeypatch.setattr("dpcore.methods.trees.grow.MOST_NODES", 10)
    rng, draws = np.random.default_rng(1), 1_000
    fans, noisy = np.array([4, 0, 4, 4, 4]), np.array([5.0, 99.0, 7.0, -3.0, 6.0])
    assert within(fans, noisy, rng).tolist() == [False, True, True, False, True]
    assert within(fans[:2], noisy[:2], rng).all()
    goes_on = np.array([within(np.full(20, 3), np.full(20, np.nan), rng) for _ in range(draws)])
    assert (goes_on.sum(axis=1) == 3).all()
    assert np.abs(goes_on.mean(axis=0) - 3 / 20).max() < 4.5 * math.sqrt(3 / 20 * 17 / 20 / draws)


def entries_of(model, part):
    return [entry for entry in model.ledger_.entries if part in entry.name]


# Per part of a ledger what an entry claims, as the papers say by hand. SuLQ, PINQ: e = B / (2 (d + 1)), and at the
# root e / (|A| m_A (1 + |C|)) for each count of SuLQ. C4.5: e = B / ((2 + n_c) d + 2) with n_c = 2, per level a count,
# two cuts, a column; two at the leaves. DiffPRFs, with B = 1, t = 25, d = 5: 1/300 per question; 1/900 for each of
# three if two numbers are cut first, and 1/600 for each of two.
SIZES = {"a.b[0]:Q": 4, "grade": 3, "age": 10, "height": 3}
ROOT = {f"level 0: division: {name}": (Fraction(1, 12), Fraction(1, 6)) for name in SIZES}
PINQ = {"level 0: division": (Fraction(1, 8),), "level 1: division": (Fraction(1, 6),)}  # three columns are left
UNITS = dict.fromkeys(("level 0: records", "cut 1 of 2", "cut 2 of 2", "the column", "classes in leaves"), (1,))
THIRD, HALF = Fraction(1, 900), Fraction(1, 600)
CUTS = {"a cut": (HALF,), "cut 1 of 2": (THIRD,), "cut 2 of 2": (THIRD,), "the column": (HALF, THIRD)}
COUNTS = dict.fromkeys(("records", "classes in leaves"), (Fraction(1, 300),))
BY_HAND = [
    (SuLQID3, {"epsilon": 8.0, "max_depth": 3}, {"level 0: records": (1,), **ROOT}),
    (PINQID3, {"epsilon": 8.0, "max_depth": 3}, PINQ),
    (DiffPC45, {"epsilon": 10.0, "max_depth": 2, "prune": False}, UNITS),
    (DiffPRFs, {"n_trees": 25, "max_depth": 5, "max_features": "sqrt", "criterion": "Max"}, {**CUTS, **COUNTS}),
]


def test_the_rows_of_levels_above_are_let_go(small_frame, small_schema, monkeypatch):
    """They take as much memory as those of the level that is grown; its account is left."""
    divide, alive = NodeRows.divided, []

    def watched(self, *how):
        alive.append(weakref.ref(self))
        assert [each() is None for each in alive] == [True] * (len(alive) - 1) + [False]
        return divide(self, *how)

    monkeypatch.setattr(NodeRows, "divided", watched)
    fitted(DiffPRFs, small_frame, small_schema, max_depth=4, epsilon=50)
    assert len(alive) == 4


@pytest.mark.parametrize(("method", "how", "shares"), BY_HAND)
def test_the_papers_shares_by_hand(method, how, shares, small_frame, small_schema):
    model = fitted(method, small_frame, small_schema, mode="published", **how)
    for part, expected in shares.items():
        found = entries_of(model, part)
        assert {entry.epsilon_claimed for entry in found} == set(expected), part
        for entry in found:
            of_each = float(entry.epsilon_claimed) / entry.draws
            # exp(e q / 2), which for a score that only rises costs half
            twice = 2 if entry.mechanism == "exponential" else 1
            assert entry.scale == pytest.approx(twice / of_each), part
            assert entry.epsilon_nominal == pytest.approx(entry.epsilon_claimed / twice), part
            if method is SuLQID3 and "division" in part:
                assert of_each == pytest.approx(1 / (4 * SIZES[part.rpartition(": ")[2]] * 3))


def test_the_papers_gain_moves_by_as_much_as_it_says(small_frame, small_schema):
    model = fitted(DiffPRFs, small_frame, small_schema, mode="published", n_trees=2, max_depth=2, criterion="InfoGain")
    chosen = [entry for entry in model.ledger_.entries if entry.mechanism == "exponential"]
    assert {(entry.sensitivity, entry.claimed_sensitivity) for entry in chosen} == {(1.0, 1.0)}  # lb |C|, two classes
    assert all(entry.epsilon_nominal == entry.epsilon_claimed for entry in chosen)


@pytest.mark.parametrize("children", ["grouped", "values", "one_vs_rest"])
def test_paper_mode_reads_two_children_in_two_ways(children, small_frame, small_schema):
    how = {"mode": "published", "n_trees": 5, "max_depth": 2, "max_features": "all", "categorical_splits": children}
    forest = fitted(DiffPRFs, small_frame, small_schema, **how).forest_
    assert set(forest.fanout[forest.column == small_schema.index("age")]) == {2}
    assert (forest.fanout.max() > 2) == (children != "one_vs_rest")
