"""Questions to nodes of private trees: what each costs, its noise, and what a way to a leaf adds up to."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sources import Watched

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, CodeCut, Groups, NumberCut, flat
from dpcore.door import Division, PrivateTable
from dpcore.errors import BudgetError, ParameterError
from dpcore.mechanisms.noise import Noise, NoNoise, make_noise
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, SuLQID3
from dpcore.methods.trees.grow import grow, within

ADD, REPLACE = "add_remove", "replace"
RELATIONS = [ADD, REPLACE]
RESAMPLES = ["disjoint", "poisson", "full", "bootstrap"]
SCHEMA = Schema(
    columns=(
        Column(name="real", kind="continuous", lower=0, upper=10, bins=(4.0,)),
        Column(name="binned", kind="integer", lower=0, upper=3, bins=4),
        Column(name="letter", kind="categorical", categories=("a", "b", "c")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=50,
)
ATTRIBUTES = {
    0: NumberCut(SCHEMA.columns[0], by_length=True),
    1: CodeCut(SCHEMA.columns[1]),
    2: Groups(SCHEMA.columns[2], flat(SCHEMA.columns[2])),
}
TICKS = np.ceil(np.array([0.2, 0.5, 0.5, 0.95, 0.0, 1.0]) * GRID)  # numbers 2, 5, 5, 9.5, 0 and 10
CODES = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [1, 2, 1, 1], [1, 3, 2, 1], [0, 0, 2, 1], [1, 3, 0, 0]], dtype=np.uint8)
EVERY = np.array([True, True, True, False])
LOW, HIGH = np.array([-1.0, 0.0, 0.0, 0.0]), np.array([GRID, 4.0, 0.0, 0.0])


class Listening(NoNoise):
    """Exact answers, and what it was asked."""

    on_counts = "fake"

    def __init__(self):
        self.scales, self.choices = [], []

    def counts(self, counts, scale):
        self.scales.append((counts.shape, scale))
        return counts.astype(float)

    def variance(self, scale):
        return 2 * scale**2

    def select_grouped(self, scores, groups, factor, weights=None):
        self.choices.append((scores, groups, factor, weights))
        return super().select_grouped(scores, groups, factor, weights)


class BrokenError(Exception):
    pass


class Broken(Noise):
    on_counts = label = "broken"

    def counts(self, counts, scale, **_):
        raise BrokenError

    reals = select = counts

    def select_grouped(self, *_):
        raise BrokenError


def roots(relation=ADD, *, noise=None, cap=None, paper=False, trees=1, epsilon=1, resample="full", codes=CODES, **how):
    ledger = Ledger(relation, epsilon=cap)
    table = PrivateTable(
        codes, SCHEMA, ledger, noise or Listening(), unprotected_allowed=paper, numbers={0: TICKS[: len(codes)]}
    )
    nodes, budget = table.trees("y", ATTRIBUTES, trees=trees, epsilon=epsilon, resample=resample, **how)
    return table, nodes, budget


def asked(nodes, offered=EVERY):
    return np.tile(offered, (nodes.size, 1)), np.tile(LOW, (nodes.size, 1)), np.tile(HIGH, (nodes.size, 1))


def last(table):
    return table.ledger.entries[-1]


# Counts


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_counts_of_nodes_have_sensitivity_1_inside_and_move_in_two_nodes_under_replace(relation, moved):
    table, nodes, budget = roots(relation)
    assert budget == Fraction(1, moved)
    np.testing.assert_array_equal(nodes.counts("n", epsilon=Fraction(1, 4)), [6])
    np.testing.assert_array_equal(nodes.class_counts("c", epsilon=Fraction(1, 8)), [[3, 3]])
    assert table._door.noise.scales == [((1,), 4.0), ((1, 2), 8.0)]
    for entry, paid in zip(table.ledger.entries, (Fraction(1, 4), Fraction(1, 8)), strict=True):
        assert entry.epsilon_bound == entry.epsilon_claimed == paid
        assert (entry.sensitivity, entry.claimed_sensitivity, entry.draws, entry.mechanism) == (1, 1, 1, "fake")
        assert entry.scale == 1 / paid
    assert table.ledger.totals.bound == table.ledger.totals.claimed == moved * Fraction(3, 8)
    assert nodes.count_variance(Fraction(1, 4)) == 2 * 4.0**2
    assert nodes.count_variance(0) == math.inf


def test_tables_share_epsilon_evenly_between_columns_and_their_two_tables():
    table, nodes, _ = roots()
    ((plain, crossed), (_, codes)) = nodes.tables("t", [2, 1], epsilon=Fraction(1, 2), one_by_one=False)
    np.testing.assert_array_equal(plain, [[2, 2, 2]])
    np.testing.assert_array_equal(crossed, [[[2, 0], [1, 1], [0, 2]]])
    assert codes.shape == (1, 4, 2)
    entries = table.ledger.entries
    assert [entry.name for entry in entries] == ["t: letter", "t: letter × class", "t: binned", "t: binned × class"]
    assert [entry.epsilon_bound for entry in entries] == [Fraction(1, 8)] * 4
    assert [scale for _, scale in table._door.noise.scales] == [8.0] * 4
    assert table.ledger.totals.bound == Fraction(1, 2)


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_one_by_one_every_single_count_costs_the_same(relation, moved):
    """epsilon / (|A| m (1 + |C|)) each, whatever column it is of."""
    table, nodes, _ = roots(relation)
    nodes.tables("t", [2, 1], epsilon=Fraction(1, 2), one_by_one=True)
    entries = table.ledger.entries
    assert [entry.draws for entry in entries] == [3, 6, 4, 8]
    per_count = [Fraction(1, 2) / (2 * 3 * 3)] * 2 + [Fraction(1, 2) / (2 * 4 * 3)] * 2
    assert [entry.epsilon_bound / entry.draws for entry in entries] == per_count
    np.testing.assert_allclose([entry.scale for entry in entries], [float(1 / each) for each in per_count])
    np.testing.assert_allclose(
        [scale for _, scale in table._door.noise.scales], [float(1 / each) for each in per_count]
    )
    assert table.ledger.totals.bound == moved * Fraction(1, 2)


# Choices


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("score", "sensitivity", "loss"),
    [
        (Max(), 1.0, 1.0),
        (Gini(), 2.0, 2.0),
        (InfoGain(), 1.0, 2.0),
        (ConditionalEntropy(), None, None),  # a bound on the number of records, which is public under either relation
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_choices_cost_what_their_exponent_does(score, sensitivity, loss, relation):
    """Inside nodes a record is added or removed under either relation, so scores that only rise cost once."""
    table, nodes, _ = roots(relation)
    if sensitivity is None:
        rows = 50 if relation == ADD else len(CODES)
        sensitivity = loss = math.log2(rows + 1) + 1 / math.log(2)
    assert nodes.sensitivity(score) == pytest.approx(sensitivity)
    nodes.choose("which", score, *asked(nodes), epsilon=Fraction(1, 2))
    entry, ((_, _, factor, _),) = last(table), table._door.noise.choices
    assert factor == pytest.approx(0.5 / loss)
    assert (entry.name, entry.mechanism) == (f"which, by {score.name}", "exponential")
    assert entry.epsilon_bound == entry.epsilon_claimed == Fraction(1, 2)
    assert (entry.sensitivity, entry.claimed_sensitivity) == (pytest.approx(sensitivity), pytest.approx(sensitivity))
    assert entry.scale == pytest.approx(1 / factor)


@pytest.mark.parametrize(("score", "loss"), [(Max(), 1.0), (InfoGain(), 2.0)], ids=["rises", "moves both ways"])
def test_a_claimed_sensitivity_sets_the_exponent_and_the_truth_the_bound(score, loss):
    table, nodes, _ = roots()
    nodes.choose("q", score, *asked(nodes), epsilon=Fraction(1, 2), claimed_sensitivity=0.25, reason="as printed")
    entry, ((_, _, factor, _),) = last(table), table._door.noise.choices
    assert factor == 0.5 / (2 * 0.25)
    assert (entry.epsilon_claimed, entry.epsilon_bound) == (Fraction(1, 2), Fraction(loss))
    assert (entry.sensitivity, entry.claimed_sensitivity, entry.reason) == (1.0, 0.25, "as printed")


def test_each_column_weighs_1_and_an_interval_its_ticks():
    table, nodes, _ = roots()
    found = nodes.choose("q", Max(), *asked(nodes), epsilon=1)
    ((scores, groups, _, (part, whole)),) = table._door.noise.choices
    weights = part / whole
    # In front of 0, [0, 2), [2, 5), [5, 9.5), [9.5, 10), 10; three places between four bins; three letters at once
    np.testing.assert_allclose(weights[:6] * (GRID + 1), np.diff([-1, *np.unique(TICKS), GRID]), rtol=1e-12)
    np.testing.assert_allclose(weights[:6], [0, 0.2, 0.3, 0.45, 0.05, 0], atol=1e-9)
    assert weights[0] > weights[5] == 0
    np.testing.assert_allclose(weights[6:], [1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_array_equal(scores, [3, 4, 3, 3, 4, 3, 3, 4, 3, 5])
    assert not groups.any()
    assert (found.column.tolist(), np.isnan(found.cut).all()) == ([2], True)


def test_cuts_chosen_before_compete_with_whole_columns():
    table, nodes, _ = roots()
    offered, low, high = asked(nodes)
    cut = float(TICKS[3]) + 7
    cuts = np.array([[cut, 2.0, np.nan, np.nan]])
    found = nodes.choose("q", Max(), offered, low, high, epsilon=1, cuts=cuts)
    ((scores, _, _, weights),) = table._door.noise.choices
    assert weights is None
    assert scores.tolist() == [4, 4, 5]
    assert found.column.tolist() == [2]
    offered[0, 2] = False
    found = nodes.choose("q", Max(), offered, low, high, epsilon=1, cuts=cuts)
    assert (found.column.tolist(), found.cut.tolist()) == ([0], [cut])


def test_a_node_that_is_offered_nothing_is_refused_unpaid():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="no column"):
        nodes.choose("q", Max(), *asked(nodes, np.zeros(4, dtype=bool)), epsilon=1)
    assert not table.ledger.entries
    with pytest.raises(ParameterError, match="negative"):
        nodes.choose("q", Max(), *asked(nodes), epsilon=-1.0)
    with pytest.raises(ParameterError, match="negative"):
        nodes.counts("n", epsilon=-1.0)
    assert not table.ledger.entries


def test_entropy_needs_a_public_number_of_rows_that_the_table_does_not_exceed():
    for rows in (None, 5):
        table = PrivateTable(
            CODES, Schema(columns=SCHEMA.columns, max_rows=rows), Ledger(ADD), Listening(), numbers={0: TICKS}
        )
        nodes, _ = table.trees("y", ATTRIBUTES, trees=1, epsilon=1, resample="full")
        with pytest.raises(ParameterError, match="max_rows"):
            nodes.choose("q", ConditionalEntropy(), *asked(nodes), epsilon=1)
        assert not table.ledger.entries


# Epsilon 0, charging, failing

QUESTIONS = {
    "counts": lambda nodes, epsilon: nodes.counts("n", epsilon=epsilon),
    "class counts": lambda nodes, epsilon: nodes.class_counts("n", epsilon=epsilon),
    "tables": lambda nodes, epsilon: nodes.tables("n", [1, 2], epsilon=epsilon, one_by_one=False),
    "choose": lambda nodes, epsilon: nodes.choose("n", Max(), *asked(nodes), epsilon=epsilon),
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_epsilon_0_buys_nothing(relation):
    found = []
    for codes in (CODES, np.ones_like(CODES)):
        table, nodes, _ = roots(relation, noise=make_noise("laplace", 5), codes=codes)
        assert not nodes.counts("n", epsilon=0).any()
        assert not nodes.class_counts("n", epsilon=0).any()
        assert not any(answer.any() for pair in QUESTIONS["tables"](nodes, 0) for answer in pair)
        groups, bins = EVERY & [False, True, True, False], EVERY & [True, False, False, False]
        chosen = [nodes.choose("q", Max(), *asked(nodes, groups), epsilon=0) for _ in range(40)]
        chosen += [nodes.choose("q", Max(), *asked(nodes, groups), epsilon=0, claimed_sensitivity=9.0)]
        found.append([(int(one.column[0]), str(one.cut[0])) for one in chosen])
        cut = nodes.choose("q", Max(), *asked(nodes, bins), epsilon=0).cut[0]
        assert -1 <= cut < GRID
        assert cut == np.floor(cut)
        assert table.ledger.epsilon_bound == 0
    assert found[0] == found[1]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_was_charged_stays_charged_when_drawing_fails(question):
    table, nodes, _ = roots(noise=Broken(), cap=1)
    with pytest.raises(BrokenError):
        QUESTIONS[question](nodes, Fraction(3, 4))
    assert 0 < table.ledger.epsilon_bound <= 0.75
    assert len(table.ledger.entries) == 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_overdrawn_ledger_draws_nothing_and_counts_nothing(question, relation, monkeypatch):
    table, nodes, budget = roots(relation, cap=Fraction(1, 8))
    for name in ("_count", "candidates", "tables", "cut"):
        rows = f"dpcore.door.exact_node_counts.NodeRows.{name}"
        monkeypatch.setattr(rows, lambda *_, **__: pytest.fail("the rows were read"))
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        QUESTIONS[question](nodes, budget)
    assert not table._door.noise.scales
    assert not table._door.noise.choices
    assert table.ledger.epsilon_bound == 0
    assert not table.ledger.entries


def test_purity_is_had_in_paper_mode_only_and_has_no_bound():
    table, nodes, _ = roots()
    with pytest.raises(ParameterError, match="Raw rows"):
        nodes.pure("because")
    assert not table.ledger.entries
    table, nodes, _ = roots(paper=True)
    assert not nodes.pure("because").any()
    assert nodes.only(np.array([], dtype=np.intp)).pure("because").shape == (0,)
    assert (table.ledger.epsilon_claimed, table.ledger.epsilon_bound) == (0, math.inf)
    assert last(table).reason == "because"


def test_what_is_left_unasked_is_claimed_and_bounded_as_if_it_were():
    table, nodes, _ = roots()
    nodes.leave_unasked("lower levels", Fraction(1, 3), Fraction(1, 4))
    assert (table.ledger.totals.claimed, table.ledger.totals.bound) == (Fraction(1, 3), Fraction(1, 4))
    assert (last(table).draws, last(table).mechanism, last(table).name) == (0, "none", "lower levels")
    table, nodes, _ = roots(REPLACE, plainly_claimed=True)
    nodes.leave_unasked("lower levels", Fraction(1, 3), Fraction(1, 4))
    assert (table.ledger.totals.claimed, table.ledger.totals.bound) == (Fraction(1, 3), Fraction(1, 2))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("claimed", [None, 0.25])
@pytest.mark.parametrize("score", [Max(), Gini(), InfoGain(), ConditionalEntropy()], ids=lambda score: score.name)
def test_what_a_choice_would_be_booked_with_is_what_it_is_booked_with(score, claimed, relation):
    table, nodes, _ = roots(relation)
    foretold = nodes.choice_bound(score, Fraction(1, 7), claimed)
    assert not table.ledger.entries
    nodes.choose("q", score, *asked(nodes), epsilon=Fraction(1, 7), claimed_sensitivity=claimed)
    assert last(table).epsilon_bound == foretold > 0


def test_a_choice_with_fewer_answers_than_nodes_is_refused():
    """No place of a node weighs anything: nothing is released, and no node has another's answer."""

    class Silent(Listening):
        def select_grouped(self, scores, groups, factor, weights=None):
            return super().select_grouped(scores, groups, factor, weights)[1:]

    table, nodes, _ = roots(noise=Silent(), trees=3)
    with pytest.raises(ParameterError, match="no way to be divided"):
        nodes.choose("q", Max(), *asked(nodes), epsilon=1)
    assert table.ledger.epsilon_bound == 3  # paid for, as answers would have been drawn


def test_nodes_apart_cost_the_dearer_lot_and_division_nothing():
    table, nodes, _ = roots()
    nodes.counts("n", epsilon=Fraction(1, 10))
    below = nodes.divide(Division(np.array([0]), TICKS[1:2]), asked(nodes)[1], first=np.array([0]), size=2)
    np.testing.assert_array_equal(below.class_counts("c", epsilon=Fraction(1, 10)), [[2, 2], [1, 1]])
    one, two = below.parts({"": np.array([1]), "leaves": np.array([0])})
    np.testing.assert_array_equal(one.counts("n", epsilon=Fraction(1, 10)), [2])
    np.testing.assert_array_equal(two.counts("n", epsilon=Fraction(3, 10)), [4])
    one.counts("n", epsilon=Fraction(1, 10))
    assert table.ledger.totals.bound == Fraction(5, 10)
    assert table.ledger.to_frame()["scope"].iloc[-1] == "one tree / leaves"


def test_every_answer_leaves_through_the_one_door(seen):
    table = PrivateTable(CODES, SCHEMA, Ledger(ADD), Listening(), unprotected_allowed=True, numbers={0: TICKS})
    nodes, _ = table.trees("y", ATTRIBUTES, trees=2, epsilon=1, resample="full")
    for ask in QUESTIONS.values():
        ask(nodes, 0.1)
    nodes.pure("because")
    assert seen == ["counts"] * 6 + ["choose", "unprotected"]


# Samples


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("resample", RESAMPLES[:3])
@pytest.mark.parametrize("trees", [1, 7])
def test_what_a_tree_may_spend_costs_exactly_epsilon(trees, resample, relation):
    epsilon = Fraction(7, 3)
    table, nodes, budget = roots(relation, trees=trees, epsilon=epsilon, resample=resample, rate=0.3, cap=epsilon)
    assert nodes.size == trees
    nodes.counts("n", epsilon=budget)
    assert table.ledger.totals.bound == table.ledger.totals.claimed == epsilon
    with pytest.raises(BudgetError):
        nodes.counts("n", epsilon=Fraction(1, 10**15))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("plainly", [True, False])
def test_bootstrap_samples_are_bounded_by_what_several_copies_cost(relation, plainly):
    table, nodes, budget = roots(relation, trees=4, epsilon=1, resample="bootstrap", plainly_claimed=plainly)
    moved = Relation.parse(relation).histogram_l1
    assert budget == Fraction(1, 4) / (1 if plainly else moved)
    nodes.counts("n", epsilon=budget)
    assert table.ledger.totals.claimed == 1
    inside = moved * Fraction(1, 4) if plainly else Fraction(1, 4)
    assert table.ledger.totals.bound == 4 * bootstrap_loss(inside, Relation.parse(relation), len(CODES))


def test_which_rows_a_tree_holds():
    codes, ticks = np.tile(CODES, (500, 1)), np.tile(TICKS, 500)
    held = {}
    for resample in RESAMPLES:
        table = PrivateTable(codes, SCHEMA, Ledger(ADD), make_noise("laplace", 3), numbers={0: ticks})
        nodes, _ = table.trees("y", ATTRIBUTES, trees=5, epsilon=1, resample=resample, rate=0.3)
        rows = nodes._rows
        held[resample] = [rows.row[rows.node == tree] for tree in range(5)]
    assert sorted(np.concatenate(held["disjoint"])) == list(range(3000))
    for tree in range(5):
        assert abs(len(held["disjoint"][tree]) - 600) < 5 * math.sqrt(480)
        assert abs(len(held["poisson"][tree]) - 900) < 5 * math.sqrt(630)
        assert (np.diff(held["poisson"][tree]) > 0).all()
        assert held["full"][tree].tolist() == list(range(3000))
        assert len(held["bootstrap"][tree]) == 3000
        assert abs(len(np.unique(held["bootstrap"][tree])) - 3000 * (1 - math.exp(-1))) < 150
    assert held["poisson"][0].tolist() != held["poisson"][1].tolist()
    assert held["bootstrap"][0].tolist() != held["bootstrap"][1].tolist()


# Whole methods: ways from roots to leaves


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


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CORRECTED)
def test_every_way_to_a_leaf_costs_the_whole_budget(name, relation, small_frame, small_schema, monkeypatch):
    """Leaves on several levels: the noise is small enough for trees to grow, and large enough for some to stop."""
    budgets = []
    original = PrivateTable.trees

    def trees(self, *args, **how):
        nodes, budget = original(self, *args, **how)
        budgets.append(budget)
        return nodes, budget

    monkeypatch.setattr(PrivateTable, "trees", trees)
    method, how = CORRECTED[name]
    epsilon = 7.3
    model = fitted(method, small_frame, small_schema, relation=relation, epsilon=epsilon, max_depth=3, **how)
    forest, (budget,) = model.forest_, budgets
    assert model.ledger_.totals.of_noise == model.ledger_.totals.claimed == Fraction(epsilon)
    np.testing.assert_allclose(forest.spent[forest.leaf], float(budget), rtol=1e-12)
    inner = np.flatnonzero(~forest.leaf)
    assert len(inner)
    assert (forest.spent[inner] < float(budget)).all()
    parents = forest.parent[forest.parent >= 0]
    assert (forest.spent[forest.parent >= 0] >= forest.spent[parents]).all()
    trees, moved = model.get_params().get("n_trees", 1), 2 if relation == REPLACE else 1
    if how.get("resample") == "disjoint":
        assert budget == Fraction(epsilon) / moved
    elif how.get("resample") != "poisson":
        assert budget == Fraction(epsilon) / trees / moved


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", [DiffPRFs, DiffPRF, DiffPID3, SuLQID3, PINQID3, DiffPC45])
def test_paper_mode_claims_the_whole_budget(method, relation, small_frame, small_schema):
    """Also where trees stop early."""
    how = {"n_trees": 4} if method in (DiffPRFs, DiffPRF) else {}
    for epsilon in (0.3, 7.3, 400.0):
        model = fitted(
            method, small_frame, small_schema, mode="paper", relation=relation, epsilon=epsilon, max_depth=3, **how
        )
        assert model.ledger_.totals.claimed == Fraction(epsilon)
        if method is DiffPRFs:
            assert model.ledger_.epsilon_bound == math.inf
        elif method in (SuLQID3, PINQID3):
            assert model.ledger_.totals.of_noise == (1 if relation == ADD else 2) * Fraction(epsilon)


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


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("unit", [2.0, 1.9])
@pytest.mark.parametrize("name", PRINTED)
def test_paper_modes_bound_is_that_of_the_mechanism(name, unit, relation, small_frame, other_frame, small_schema):
    """The same whether trees stop at the root or reach the last level, and whichever rows stop them."""
    method, how = PRINTED[name]
    trees, parts, _ = shares_by_hand(name)
    epsilon, bounds, reached = unit * parts * trees, [], set()
    # Bootstrap samples of as many rows, because under replace their number is public and part of the bound.
    sizes = (14,) if method is DiffPRF else (0, 2, 12, 60)
    for frame in (small_frame, other_frame):
        for rows, seed in product(sizes, range(24 // len(sizes))):
            model = method(mode="paper", relation=relation, epsilon=epsilon, max_depth=LEVELS, random_state=seed, **how)
            model.fit(frame.iloc[:rows], schema=small_schema)
            reached.add(int(model.forest_.level.max()))
            bounds.append(model.ledger_.totals.of_noise)
            assert model.ledger_.totals.claimed == Fraction(epsilon)
            unasked = entries_of(model, "levels that no tree reached")
            assert len(unasked) == (model.forest_.level.max() < LEVELS)
    assert reached >= {0, LEVELS}
    # Equal parts for several choices are rounded one by one.
    expected = bound_by_hand(name, relation, epsilon, sizes[0])
    np.testing.assert_allclose(np.array(bounds, dtype=float), float(expected), rtol=1e-12)
    if unit == 2.0 and method is not DiffPRF and name != "entropy":
        assert set(bounds) == {expected}


def plan_of(model, frame, schema, monkeypatch):
    plans = []

    def watched(roots, attributes, columns, plan, *rest):
        plans.append(plan)
        return grow(roots, attributes, columns, plan, *rest)

    monkeypatch.setattr("dpcore.methods.trees.base.grow", watched)
    model.fit(frame, schema=schema)
    return plans[0]


@pytest.mark.parametrize("mode", ["paper", "corrected"])
@pytest.mark.parametrize("method", [DiffPRF, DiffPID3, SuLQID3, PINQID3, DiffPC45])
def test_a_single_record_is_divided_as_printed_only(method, mode, small_frame, small_schema, monkeypatch):
    how = {DiffPRF: {"n_trees": 1}, DiffPC45: {"prune": False}}.get(method, {})
    model = method(mode=mode, max_depth=1, epsilon=1e6, random_state=2, **how)
    plan = plan_of(model, small_frame.iloc[:1], small_schema, monkeypatch)
    assert plan.fewest == (0 if mode == "paper" else 1.5)
    assert (len(model.forest_.tree) > 1) == (mode == "paper")


def test_a_single_record_is_not_divided_where_counts_are_bought(small_frame, small_schema, monkeypatch):
    for rows, divided in ((1, False), (2, True)):
        model = DiffPRFs(n_trees=1, max_depth=1, count_share=0.4, epsilon=1e6, random_state=2)
        assert plan_of(model, small_frame.iloc[:rows], small_schema, monkeypatch).fewest == 1.5
        assert (len(model.forest_.tree) > 1) == divided


@pytest.mark.parametrize("name", ["count_share", "leaf_share"])
@pytest.mark.parametrize("share", [None, "0.3", -0.1, 1, math.nan])
def test_shares_that_are_none_are_refused_unpaid(name, share, small_frame, small_schema):
    ledger = Ledger(ADD)
    with pytest.raises(ParameterError, match=name):
        DiffPRFs(**{name: share}).fit(small_frame, schema=small_schema, ledger=ledger)
    assert not ledger.entries


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
    fans, unknown, draws = np.full(20, 3), np.full(20, np.nan), 4_000
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


def test_blind_questions_are_the_same_for_all_tables(small_frame, other_frame, small_schema, monkeypatch):
    """With answers that do not look at the rows, all prices and names are equal: nothing else comes from the rows."""

    class Constant(Watched):
        def counts(self, counts, scale):
            return np.random.default_rng(counts.size).uniform(50, 99, counts.shape)

        def select_grouped(self, scores, groups, factor, weights=None):
            return np.flatnonzero(np.diff(groups, append=-1))  # the last candidate: no number's, whose places differ

        def lots(self, count):
            return np.random.default_rng(count).random(count)

    entries = []
    for frame in (small_frame, other_frame):
        monkeypatch.setattr("dpcore.methods.base.make_noise", lambda *_: Constant())
        for method in (DiffPRF, DiffPID3, SuLQID3, PINQID3):
            model = method(max_depth=2, epsilon=300.0).fit(frame, schema=small_schema)
            entries.append(model.ledger_.to_frame().to_csv())
    assert entries[:4] == entries[4:]
