"""What whole trees cost: every way from a root to a leaf spends the budget, and papers claim what their shares say."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from private_rows import ADD, RELATIONS, REPLACE

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.relation import Relation
from dpcore.door import PrivateTable
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, SuLQID3
from dpcore.methods.trees.grow import grow, within


def fitted(method, frame, schema, **parameters):
    return method(random_state=1, **parameters).fit(frame, schema=schema)


CORRECTED = {
    "disjoint": (DiffPRFs, {"n_trees": 3, "resample": "disjoint", "steps": "two", "count_share": 0.3}),
    "poisson": (DiffPRFs, {"n_trees": 3, "resample": "poisson", "rate": 0.3, "count_share": 0.5, "leaf_share": 0.2}),
    "full": (DiffPRFs, {"n_trees": 3, "resample": "full", "count_share": 0.0, "cuts": "bins"}),
    "DiffPRF": (DiffPRF, {"n_trees": 3, "resample": "full"}),
    "DiffPRF disjoint": (DiffPRF, {"n_trees": 2, "resample": "disjoint"}),
    "DiffP-ID3": (DiffPID3, {"criterion": "entropy"}),
    "SuLQ": (SuLQID3, {}),
    "PINQ": (PINQID3, {}),
    "C4.5": (DiffPC45, {"prune": False}),
    "C4.5 bins": (DiffPC45, {"prune": False, "cuts": "bins"}),
}


def test_every_way_to_a_leaf_costs_the_whole_budget(small_frame, small_schema, monkeypatch):
    """Leaves on several levels: the noise is small enough for trees to grow, and large enough for some to stop."""
    budgets = []
    original = PrivateTable.trees

    def trees(self, *args, **how):
        nodes, budget = original(self, *args, **how)
        budgets.append(budget)
        return nodes, budget

    monkeypatch.setattr(PrivateTable, "trees", trees)
    epsilon = 7.3
    for (name, (method, how)), (relation, moved) in product(CORRECTED.items(), RELATIONS.items()):
        model = fitted(method, small_frame, small_schema, relation=relation, epsilon=epsilon, max_depth=3, **how)
        forest, budget, told = model.forest_, budgets[-1], (name, relation)
        assert model.ledger_.totals.of_noise == model.ledger_.totals.claimed == Fraction(epsilon), told
        np.testing.assert_allclose(forest.spent[forest.leaf], float(budget), rtol=1e-12)
        inner = np.flatnonzero(~forest.leaf)
        assert len(inner), told
        assert (forest.spent[inner] < float(budget)).all(), told
        below = forest.parent >= 0
        assert (forest.spent[below] >= forest.spent[forest.parent[below]]).all(), told
        trees = 1 if how.get("resample") == "disjoint" else model.get_params().get("n_trees", 1)
        assert budget == Fraction(epsilon) / trees / moved or how.get("resample") == "poisson", told


def test_paper_mode_of_diffprfs_claims_the_whole_budget_and_proves_nothing(small_frame, small_schema):
    """Also where trees stop early."""
    for epsilon, relation in ((0.3, ADD), (7.3, REPLACE), (400.0, ADD)):
        how = {"mode": "paper", "relation": relation, "epsilon": epsilon, "max_depth": 3, "n_trees": 4}
        totals = fitted(DiffPRFs, small_frame, small_schema, **how).ledger_.totals
        assert (totals.claimed, totals.bound) == (Fraction(epsilon), math.inf)


PRINTED = {
    "SuLQ": (SuLQID3, {}),
    "PINQ": (PINQID3, {}),
    "Max": (DiffPID3, {"criterion": "Max"}),
    "Gini": (DiffPID3, {"criterion": "Gini"}),
    "entropy": (DiffPID3, {"criterion": "entropy"}),
    "InfoGain": (DiffPID3, {"criterion": "InfoGain"}),
    "C4.5": (DiffPC45, {"prune": False}),
    "C4.5 bins": (DiffPC45, {"prune": False, "cuts": "bins"}),
    "DiffPRF": (DiffPRF, {"n_trees": 2}),
    "DiffPRF gain": (DiffPRF, {"n_trees": 2, "criterion": "InfoGain"}),
}
LEVELS = 3


def shares_by_hand(name):
    """Trees, and in how many parts each divides its epsilon: all of them, and those for choices on all levels."""
    numbers = 2
    parts = {SuLQID3: (8, 3), PINQID3: (8, 3), DiffPID3: (8, 3), DiffPRF: (8, 3)}
    parts[DiffPC45] = ((2 + numbers) * LEVELS + 2, (numbers + 1) * LEVELS)
    method, how = PRINTED[name]
    return how.get("n_trees", 1), *parts[method]


def bound_by_hand(name, relation, epsilon, rows):
    """All questions to the last level. exp(e q / (2 D)) costs half of e if the score only rises, and e if it does not.

    Under replace a row leaves one node and comes to another. A bootstrap sample costs what `resampling` says.
    """
    trees, parts, choices = shares_by_hand(name)
    method, how = PRINTED[name]
    halved = method not in (SuLQID3, PINQID3) and how.get("criterion") != "InfoGain"
    each = Fraction(epsilon) / trees
    tree = (each - choices * each / parts / 2 if halved else each) * (2 if relation == REPLACE else 1)
    return trees * bootstrap_loss(tree, Relation.parse(relation), rows) if method is DiffPRF else tree


@pytest.mark.parametrize("name", PRINTED)
def test_paper_modes_bound_is_that_of_the_mechanism(name, small_frame, other_frame, small_schema, seeds):
    """The same whether trees stop at the root or reach the last level, and whichever rows stop them."""
    method, how = PRINTED[name]
    trees, parts, _ = shares_by_hand(name)
    for unit, relation in ((1.9, ADD), (2.0, REPLACE)):
        epsilon, reached = unit * parts * trees, set()
        for rows, seed in product((0, 12, 60), seeds(12)):
            model = method(mode="paper", relation=relation, epsilon=epsilon, max_depth=LEVELS, random_state=seed, **how)
            model.fit((small_frame, other_frame)[seed % 2].iloc[:rows], schema=small_schema)
            reached.add(int(model.forest_.level.max()))
            assert model.ledger_.totals.claimed == Fraction(epsilon)
            # Equal parts for several choices are rounded one by one.
            found, expected = model.ledger_.totals.of_noise, bound_by_hand(name, relation, epsilon, rows)
            assert float(found) == pytest.approx(float(expected), rel=1e-12)
            assert found == expected or unit != 2.0 or method is DiffPRF or name == "entropy"
            unasked = entries_of(model, "levels that no tree reached")
            assert len(unasked) == (model.forest_.level.max() < LEVELS)
        assert reached >= {0, LEVELS}


def plan_of(model, frame, schema, monkeypatch):
    plans = []

    def watched(roots, attributes, columns, plan, *rest):
        plans.append(plan)
        return grow(roots, attributes, columns, plan, *rest)

    monkeypatch.setattr("dpcore.methods.trees.base.grow", watched)
    model.fit(frame, schema=schema)
    return plans[0]


def test_a_single_record_is_divided_as_printed_only(small_frame, small_schema, monkeypatch):
    for method, mode in product((DiffPRF, DiffPID3, SuLQID3, PINQID3, DiffPC45), ("paper", "corrected")):
        how = {DiffPRF: {"n_trees": 1}, DiffPC45: {"prune": False}}.get(method, {})
        model = method(mode=mode, max_depth=1, epsilon=1e6, random_state=2, **how)
        plan = plan_of(model, small_frame.iloc[:1], small_schema, monkeypatch)
        assert plan.fewest == (0 if mode == "paper" else 1.5), (method, mode)
        assert (len(model.forest_.tree) > 1) == (mode == "paper"), (method, mode)


def test_a_single_record_is_not_divided_where_counts_are_bought(small_frame, small_schema, monkeypatch):
    for rows, divided in ((1, False), (2, True)):
        model = DiffPRFs(n_trees=1, max_depth=1, count_share=0.4, epsilon=1e6, random_state=2)
        assert plan_of(model, small_frame.iloc[:rows], small_schema, monkeypatch).fewest == 1.5
        assert (len(model.forest_.tree) > 1) == divided


def test_the_largest_nodes_go_on_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr("dpcore.methods.trees.grow.MOST_NODES", 10)
    rng = np.random.default_rng(0)
    fans, noisy = np.array([4, 0, 4, 4, 4]), np.array([5.0, 99.0, 7.0, -3.0, 6.0])
    assert within(fans, noisy, rng).tolist() == [False, True, True, False, True]
    assert within(fans[:2], noisy[:2], rng).all()


def test_lots_decide_which_nodes_go_on_where_nobody_knows_their_size(monkeypatch):
    """Not the first ones: those would be of the first trees."""
    monkeypatch.setattr("dpcore.methods.trees.grow.MOST_NODES", 10)
    rng = np.random.default_rng(1)
    fans, unknown, draws = np.full(20, 3), np.full(20, np.nan), 1_000
    goes_on = np.array([within(fans, unknown, rng) for _ in range(draws)])
    assert (goes_on.sum(axis=1) == 3).all()
    assert np.abs(goes_on.mean(axis=0) - 3 / 20).max() < 4.5 * math.sqrt(3 / 20 * 17 / 20 / draws)
    assert within(fans[:3], unknown[:3], rng).all()


def entries_of(model, part):
    return [entry for entry in model.ledger_.entries if part in entry.name]


def test_the_papers_shares_by_hand(small_frame, small_schema):
    """B = 1, t = 25, d = 5: 1/300 per question; 1/900 for each of three if two numbers are cut first."""
    model = fitted(
        DiffPRFs,
        small_frame,
        small_schema,
        mode="paper",
        n_trees=25,
        max_depth=5,
        max_features="sqrt",
        criterion="Max",
    )
    counts = entries_of(model, "records") + entries_of(model, "classes in leaves")
    assert {entry.epsilon_claimed for entry in counts} == {Fraction(1, 300)}
    assert {entry.scale for entry in counts} == {300.0}
    shares = {
        "a cut": {Fraction(1, 600)},
        "cut 1 of 2": {Fraction(1, 900)},
        "cut 2 of 2": {Fraction(1, 900)},
        "the column": {Fraction(1, 600), Fraction(1, 900)},
    }
    for part, expected in shares.items():
        found = entries_of(model, part)
        assert {entry.epsilon_claimed for entry in found} == expected
        # exp(e q / 2), which for a score that only rises costs half.
        assert all(entry.scale == pytest.approx(2 / float(entry.epsilon_claimed)) for entry in found)
        assert all(entry.epsilon_of_noise == pytest.approx(entry.epsilon_claimed / 2) for entry in found)
    plain = [entry for entry in entries_of(model, "division, by") if entry.mechanism == "exponential"]
    assert {entry.epsilon_claimed for entry in plain} == {Fraction(1, 300)}  # no number among the two columns


def test_the_papers_gain_has_a_sensitivity_in_the_wrong_unit(small_frame, small_schema):
    model = fitted(DiffPRFs, small_frame, small_schema, mode="paper", n_trees=2, max_depth=2, criterion="InfoGain")
    chosen = [entry for entry in model.ledger_.entries if entry.mechanism == "exponential"]
    assert chosen
    for entry in chosen:
        assert (entry.sensitivity, entry.claimed_sensitivity) == (1.0, pytest.approx(math.log(2)))
        assert entry.epsilon_of_noise / entry.epsilon_claimed == pytest.approx(1 / math.log(2))  # 1.443
        assert "nats" in entry.reason


def test_sulqs_shares_by_hand(small_frame, small_schema):
    """e = B / (2 (d + 1)); at the root e / (|A| m_A (1 + |C|)) for each count."""
    model = fitted(SuLQID3, small_frame, small_schema, mode="paper", epsilon=8.0, max_depth=3)
    (first,) = entries_of(model, "level 0: records")
    assert first.epsilon_of_noise == 1
    for name, size in (("a.b[0]:Q", 4), ("grade", 3), ("age", 10), ("height", 3)):
        plain, crossed = entries_of(model, f"level 0: division: {name}")
        assert (plain.draws, crossed.draws) == (size, 2 * size)
        for entry in (plain, crossed):
            assert entry.epsilon_of_noise / entry.draws == Fraction(1, 4 * size * 3)
            assert entry.scale == pytest.approx(4 * size * 3)
    assert sum(entry.epsilon_of_noise for entry in entries_of(model, "level 0: division")) == 1


def test_pinqs_shares_by_hand(small_frame, small_schema):
    model = fitted(PINQID3, small_frame, small_schema, mode="paper", epsilon=8.0, max_depth=3)
    found = entries_of(model, "level 0: division")
    assert len(found) == 8
    assert {(entry.epsilon_of_noise, entry.draws, entry.scale) for entry in found} == {(Fraction(1, 8), 1, 8.0)}
    below = entries_of(model, "level 1: division")
    assert below  # three columns are left
    assert {entry.epsilon_of_noise for entry in below} == {Fraction(1, 6)}


def test_c45s_shares_by_hand(small_frame, small_schema):
    """e = B / ((2 + n_c) d + 2) with n_c = 2: per level a count, two cuts, a column; two at the leaves."""
    model = fitted(DiffPC45, small_frame, small_schema, mode="paper", epsilon=10.0, max_depth=2, prune=False)
    for part in ("level 0: records", "cut 1 of 2", "cut 2 of 2", "the column", "classes in leaves"):
        assert {entry.epsilon_claimed for entry in entries_of(model, part)} == {1}, part
    assert model.ledger_.epsilon_claimed == 10
