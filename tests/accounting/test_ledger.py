import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Relation, exact, shares_of
from dpcore.errors import BudgetError, ParameterError


def entry(claimed, bound=None, name="q"):
    return Entry(
        name=name,
        mechanism="laplace",
        epsilon_claimed=exact(claimed),
        epsilon_of_noise=exact(claimed if bound is None else bound),
        sensitivity=1,
        claimed_sensitivity=1,
        scale=1.0,
    )


def test_relation_decides_one_or_two():
    assert (Relation.ADD_REMOVE.histogram_l1, Relation.REPLACE.histogram_l1) == (1, 2)
    assert "add or remove" in Relation.ADD_REMOVE.short
    assert "is private" in Relation.ADD_REMOVE.sentence
    assert "change" in Relation.REPLACE.short
    assert "is public" in Relation.REPLACE.sentence
    with pytest.raises(ParameterError, match="replace"):
        Relation.parse("swap")


@given(st.floats(1e-6, 100), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40))
def test_shares_sum_exactly(epsilon, weights):
    assert sum(shares_of(epsilon, weights)) == Fraction(epsilon)


@given(st.floats(0, 100), st.integers(1, 300))
def test_equal_shares_sum_exactly(epsilon, parts):
    ledger = Ledger("replace", epsilon=epsilon)
    for share in shares_of(epsilon, parts):
        ledger.charge(entry(share))
    assert ledger.epsilon_bound == ledger.epsilon_claimed == epsilon


def test_shares_must_be_positive():
    with pytest.raises(ParameterError):
        shares_of(1.0, [1.0, 0.0])
    with pytest.raises(ParameterError):
        exact(-1.0)


def test_overdraft_is_refused_and_leaves_no_trace():
    ledger = Ledger("add_remove", epsilon=1.0)
    ledger.charge(entry(0.75))
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        ledger.charge(entry(0.5))
    assert ledger.epsilon_bound == 0.75
    assert len(ledger.entries) == 1


def test_a_childs_overdraft_is_stopped_by_any_cap_above():
    ledger = Ledger("add_remove", epsilon=1.0)
    child = ledger.child("step", 5.0)
    child.charge(entry(1.0))
    with pytest.raises(BudgetError, match="'run'"):
        child.charge(entry(0.001))
    assert (child.epsilon_bound, ledger.epsilon_bound) == (1.0, 1.0)
    own = ledger.child("capped", 0.0)
    with pytest.raises(BudgetError, match="'capped'"):
        own.charge(entry(0.1))


def test_sequential_children_add():
    ledger = Ledger("replace")
    for name in "abc":
        ledger.child(name).charge(entry(0.25, 0.5))
    assert (ledger.epsilon_claimed, ledger.epsilon_bound) == (0.75, 1.5)


@pytest.mark.parametrize(
    ("relation", "by", "total", "inside"),
    [
        ("add_remove", "value", 0.5, "add_remove"),
        ("replace", "value", 1.0, "add_remove"),
        ("add_remove", "label", 0.5, "add_remove"),
        ("replace", "label", 0.5, "replace"),
    ],
)
def test_parallel_costs_the_largest_part(relation, by, total, inside):
    ledger = Ledger(relation)
    group = ledger.parallel("nodes", by=by)
    for cost in (0.25, 0.5, 0.125):
        part = group.part(f"{cost}")
        assert part.relation == inside
        part.charge(entry(cost / 2))
        part.charge(entry(cost / 2))
    assert ledger.epsilon_bound == total
    with pytest.raises(ParameterError):
        group.charge(entry(1))
    with pytest.raises(ParameterError):
        ledger.part("x")


def test_nested_parallel_groups():
    ledger = Ledger("add_remove")
    outer = ledger.parallel("level 1", by="value")
    for weight in (1, 2):
        part = outer.part("node")
        part.charge(entry(0.125 * weight))
        inner = part.parallel("level 2", by="value")
        for _ in range(3):
            inner.part("leaf").charge(entry(0.25))
    assert ledger.epsilon_bound == 0.5


def test_infinity_stays_and_is_written_as_a_word():
    ledger = Ledger("replace")
    ledger.child("raw").charge(entry(1.0, math.inf))
    ledger.charge(entry(1.0))
    ledger.child("more").charge(entry(0.0, math.inf))
    assert ledger.epsilon_bound == math.inf
    assert ledger.epsilon_claimed == 2
    document = json.loads(ledger.to_json())
    assert document["epsilon_bound"] == "infinity"
    assert document["entries"][0]["scope"] == "raw"


def test_frame_of_an_empty_ledger_has_its_columns():
    assert {"name", "epsilon_claimed", "epsilon_bound", "reason"} <= set(Ledger("replace").to_frame().columns)
