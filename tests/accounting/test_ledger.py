"""Tests of composition: sequential, parallel, repeated and sampled parts, and caps."""

import copy
import json
import math
import pickle
from fractions import Fraction
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_helpers import ADD, REPLACE, entry

from dpcore.accounting.amplification import bootstrap_loss, poisson_inside
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation, shares_of
from dpcore.errors import BudgetError, ParameterError

RELATIONS = {Relation.ADD_REMOVE: 1, Relation.REPLACE: 2}
TINY = Fraction(1, 10**12)


def test_relation_sets_the_sensitivity_of_a_histogram():
    for relation, moved, short, rows in (
        (Relation.ADD_REMOVE, 1, "add or remove", "is private"),
        (Relation.REPLACE, 2, "change", "is public"),
    ):
        assert relation.histogram_l1 == moved
        assert short in relation.short == relation.short_for("row")
        assert rows in relation.sentence == relation.sentence_for("row")
        assert relation.short_for("person").endswith("one person")
        assert rows in relation.sentence_for("person")
        assert "one person" in relation.sentence_for("person")
    with pytest.raises(ParameterError, match="replace"):
        Relation.parse("swap")


@settings(max_examples=40)
@given(st.floats(0, 100), st.integers(1, 60), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40))
def test_shares_sum_exactly(epsilon, parts, weights):
    for shares in (shares_of(epsilon, parts), shares_of(epsilon, weights)):
        ledger = Ledger(REPLACE, epsilon=epsilon)
        for share in shares:
            ledger.charge(entry(share))
        assert ledger.totals.bound == ledger.totals.claimed_loss == Fraction(epsilon)
    with pytest.raises(ParameterError):
        shares_of(1.0, [1.0, 0.0])


def test_sequential_children_add_up_and_a_charge_above_a_cap_leaves_no_trace():
    ledger = Ledger(ADD, epsilon=1.0)
    child = ledger.child("step", 5.0)
    child.charge(entry(0.25, 0.5))
    ledger.child("another").charge(entry(0.125, 0.25))
    assert (ledger.epsilon_claimed, ledger.epsilon_bound) == (0.375, 0.75)
    for one in (child, ledger):
        with pytest.raises(BudgetError, match=r"'run'.*The query was not answered"):
            one.charge(entry(0.5))
    with pytest.raises(BudgetError, match="'capped'"):
        ledger.child("capped", 0.0).charge(entry(0.1))
    assert (child.epsilon_bound, ledger.epsilon_bound, len(ledger.entries)) == (0.5, 0.75, 2)


def test_parallel_group_has_the_loss_of_its_largest_part():
    for (relation, moved), by in product(RELATIONS.items(), ("value", "label")):
        ledger = Ledger(relation)
        group = ledger.parallel("nodes", by=by)
        twice = moved if by == "value" else 1
        for cost in (0.25, 0.5, 0.125):
            part = group.part(f"{cost}")
            assert part.relation == (ADD if by == "value" else relation)
            part.charge(entry(cost / 2))
            part.charge(entry(cost / 2))
        assert ledger.epsilon_bound == 0.5 * twice
        assert part.share_of(1) == Fraction(1, twice)
        # Groups within groups: a replaced record is counted twice once.
        for _ in range(3):
            leaf = part.parallel("leaves", by="value").part("leaf")
            assert leaf.share_of(1) == Fraction(twice, moved)
            leaf.charge(entry(0.25))
        assert part.epsilon_bound == 0.125 + 3 * 0.25 * moved / twice
        ledger.cap = ledger.totals.bound
        with pytest.raises(BudgetError):
            leaf.charge(entry(TINY))
    for alone in (ledger, ledger.self_composed("r", 2)):
        for wrong in (lambda alone=alone: alone.part("x"), lambda alone=alone: alone.share_of(1)):
            with pytest.raises(ParameterError, match="part"):
                wrong()


def test_infinite_losses_pass_through_every_composition_and_json():
    accounts = (
        lambda ledger: ledger.child("raw"),
        lambda ledger: ledger.self_composed("raw", 3),
        lambda ledger: ledger.bootstrap("raw", 10),
        lambda ledger: ledger.child("raw").group(3),
        lambda ledger: ledger.child("raw").parallel("", by="value").part(""),
    )
    for relation, open_account in product(RELATIONS, accounts):
        ledger = Ledger(relation)
        account = open_account(ledger)
        for bound in (1, math.inf, 1):
            account.charge(entry(1, bound))
        assert ledger.epsilon_bound == math.inf
        assert math.isfinite(ledger.epsilon_claimed)
        document = json.loads(ledger.to_json())
        assert document["epsilon_bound"] == "infinity"
        assert document["entries"][0]["scope"].startswith("raw")


def test_breakdown_of_queries_sums_to_the_totals():
    """The largest parallel part counts, which may differ for the claimed loss; also in copies."""
    for relation, twice in RELATIONS.items():
        ledger = Ledger(relation)
        ledger.charge(entry(0.5, name="first"))
        group = ledger.group(3).parallel("by value", by="value", plainly_claimed=True)
        group.part("a").charge(entry(0.25, name="count"), entry(0.25, name="choice"))
        group.part("b").charge(entry(1.0, 0.125, name="paper's"))
        text = ledger.breakdown().set_index("name")
        costs = {"first": 0.5, "count": 0.75 * twice, "choice": 0.75 * twice, "paper's": 0.0}
        assert text["epsilon_nominal"].to_dict() == costs
        assert text["epsilon_claimed"].to_dict() == {"first": 0.5, "count": 0.0, "choice": 0.0, "paper's": 3.0}
        assert (ledger.epsilon_claimed, ledger.epsilon_nominal) == tuple(text.sum(numeric_only=True)[:2])
        ledger.close()
        for record in (copy.copy(ledger), pickle.loads(pickle.dumps(copy.deepcopy(ledger)))):
            pd.testing.assert_frame_equal(record.breakdown().set_index("name"), text)


def test_breakdown_of_void_ledgers_rho_and_samples():
    ledger = Ledger(REPLACE)
    group = ledger.parallel("by value", by="value")
    group.part("a").charge(entry(0.25))
    group.part("b").charge(entry(math.inf, name="raw"))
    text = ledger.breakdown()
    assert text.iloc[0, :3].tolist() == ["raw", math.inf, math.inf]
    assert len(text) == 1
    assert list(Ledger(ADD, delta=1e-9).breakdown()) == ["name", "rho_claimed", "rho_nominal", "void"]
    sampled = Ledger(ADD)
    sampled.poisson_subsampled("a half", 0.5, 1.0).charge(entry(0.3))
    assert sampled.breakdown()["epsilon_nominal"].sum() == pytest.approx(sampled.epsilon_nominal)


def test_group_privacy_counts_every_row_of_parts_and_samples():
    """By hand: thirds, which no float represents, sum to exactly epsilon."""
    run = Ledger(ADD, plan=1)
    rows = run.group(3, plan=Fraction(1, 3))
    rows.charge(entry(Fraction(1, 6), Fraction(1, 12)))
    assert (run.totals.claimed_loss, run.totals.nominal) == (Fraction(1, 2), Fraction(1, 4))
    with pytest.raises(BudgetError, match="up to 3 rows of one person"):
        rows.charge(entry(Fraction(1, 3)))
    rows.charge(entry(Fraction(1, 4)))
    assert run.totals.bound == 1
    assert run.entries[0].epsilon_bound == Fraction(1, 12)  # the loss of a row
    assert set(run.to_frame()["scope"]) == {"up to 3 rows of one person"}
    assert Ledger(ADD).group(1).name == "one row of one person"
    for rows in (0, 1.5, True):
        with pytest.raises(ParameterError, match="number of rows"):
            Ledger(ADD).group(rows)
    # Disjoint trees: k rows may be in k of them. Under replace each may leave a node and enter another.
    for relation, moved in RELATIONS.items():
        run = Ledger(relation)
        trees = run.group(5).parallel("trees", by="label")
        for epsilon in (0.25, 0.5):
            trees.part("").parallel("nodes", by="value").part("").charge(entry(epsilon))
        assert run.totals.bound == 5 * moved * Fraction(1, 2)
        run = Ledger(relation)
        sampled = run.group(5).poisson_subsampled("some", 0.25, Fraction(1, 5))
        sampled.charge(entry(sampled.plan))
        assert run.totals.bound == 1
        inside = math.log1p((math.exp(0.2 / moved) - 1) / 0.25)
        assert float(sampled.plan) == pytest.approx(inside)


def test_a_ledger_protects_rows_or_the_persons_of_one_column():
    shared, rows, above, alone = (Ledger(ADD, name="mine") for _ in range(4))
    assert (shared.protects, shared.to_dict()["unit"]) == ("row", "one row")
    for fit in "ab":
        shared.child(fit).set_privacy_unit("who")
    assert (shared.unit_column, shared.protects) == ("who", "person")
    for other, text in ((None, "rows"), ("household", "the persons of 'household'")):
        cause = f"'mine' protects the persons of 'who', this run protects {text}"
        with pytest.raises(ParameterError, match=cause):
            shared.child("c").set_privacy_unit(other)
    rows.set_privacy_unit(None)
    with pytest.raises(ParameterError, match="do not add up"):
        shared.attach(rows)
    with pytest.raises(ParameterError, match="do not add up"):
        rows.child("a fit").set_privacy_unit("who")
    alone.set_privacy_unit("who")
    above.attach(alone)
    assert above.protects == "person"
    alone.close()
    for record in (alone, pickle.loads(pickle.dumps(alone))):
        assert (record.to_dict()["unit"], record.to_dict()["unit_column"]) == ("one person", "who")


def test_self_composed_parts_count_several_times():
    ledger = Ledger(ADD, epsilon=1)
    tree = ledger.self_composed("trees", 25)
    tree.charge(entry(Fraction(1, 50)))
    tree.charge(entry(Fraction(1, 200), Fraction(1, 100)))
    assert (ledger.totals.bound, ledger.totals.claimed_loss) == (Fraction(3, 4), Fraction(5, 8))
    with pytest.raises(BudgetError, match="The query was not answered"):
        tree.charge(entry(Fraction(1, 99)))
    tree.charge(entry(Fraction(1, 100)))
    assert (ledger.totals.bound, len(ledger.entries)) == (1, 3)
    nested = Ledger(REPLACE)
    nested.self_composed("a", 2).self_composed("b", 3).charge(entry(1))
    assert nested.totals.bound == 6


def test_the_plan_of_a_poisson_sample_costs_exactly_epsilon():
    whole = Fraction(1, 25)
    for relation, moved in RELATIONS.items():
        ledger = Ledger(relation, epsilon=whole)
        sample = ledger.poisson_subsampled("a sample", 0.2, whole)
        assert sample.relation == ADD  # a row that is replaced leaves and comes
        assert sample.plan == poisson_inside(whole / moved, 0.2)
        for part in (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)):
            sample.charge(entry(sample.plan * part))
        assert ledger.totals.bound == ledger.totals.claimed_loss == whole
        with pytest.raises(BudgetError, match="a sample"):
            sample.charge(entry(TINY))
        nothing = ledger.poisson_subsampled("nothing", 0.2, 0)
        nothing.charge(entry(0))
        with pytest.raises(BudgetError):
            nothing.charge(entry(TINY))
        ledger = Ledger(relation, epsilon=1)
        nodes = ledger.self_composed("trees", 4).poisson_subsampled("a sample", 0.3, Fraction(1, 4))
        node = nodes.parallel("", by="value").part("")  # which is not charged twice
        assert node.share_of(nodes.plan) == nodes.plan
        node.charge(entry(nodes.plan))
        assert ledger.totals.bound == 1


def test_below_the_plan_the_counted_loss_is_at_least_the_true_one():
    for (relation, moved), rate, epsilon in product(RELATIONS.items(), (0.01, 0.2, 0.9), (0.01, 1.0, 10.0)):
        for part in (0.001, 0.1, 0.5, 0.9, 1.0):
            ledger = Ledger(relation)
            sample = ledger.poisson_subsampled("a sample", rate, epsilon)
            sample.charge(entry(sample.plan * Fraction(part)))
            truth = moved * math.log1p(rate * math.expm1(part * float(sample.plan)))
            assert ledger.epsilon_bound >= truth * (1 - 1e-12)
            assert ledger.epsilon_bound == pytest.approx(part * epsilon)


def test_trees_on_bootstrap_samples_with_leaves_in_parallel():
    """25 times the loss of one tree; twice that if replaced rows may change leaves."""
    for relation, moved in RELATIONS.items():
        ledger = Ledger(relation)
        tree = ledger.self_composed("trees", 25).bootstrap("a sample", 50)
        account = tree.parallel("", by="value", plainly_claimed=True).part("")
        account.charge(entry(Fraction(1, 100)))
        leaves = account.parallel("", by="value")
        cheap, dear = leaves.part("cheap"), leaves.part("dear")
        for index, cost in ((cheap, 1), (dear, 3), (cheap, 1)):
            index.charge(entry(Fraction(cost, 100)))
        inside = Fraction(4, 100)
        assert ledger.totals.claimed_loss == 25 * inside
        assert ledger.totals.bound == 25 * bootstrap_loss(inside * moved, relation, 50)
        before, ledger.cap = ledger.totals, ledger.totals.bound  # a cap above several kinds leaves no trace
        with pytest.raises(BudgetError):
            dear.charge(entry(TINY))
        assert (ledger.totals, dear.totals.bound, len(ledger.entries)) == (before, Fraction(3, 100), 4)


def test_empty_names_are_left_out_of_paths():
    ledger = Ledger(REPLACE)
    account = ledger.self_composed("2 trees, each", 2).parallel("", by="value").part("")
    account.charge(entry(1))
    account.parallel("", by="value").part("leaves").charge(entry(1))
    ledger.parallel("", by="label").part("").charge(entry(1))
    assert ledger.to_frame()["scope"].tolist() == ["2 trees, each", "2 trees, each / leaves", ""]
    assert ledger.to_frame()["relation"].tolist() == [ADD, ADD, REPLACE]
