"""Adaptive marginals: the plan and its pieces by hand, and the budget."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from chains import CHAIN, HUGE, chain, listed

from dpcore.accounting.currency import PURE, Currency
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.noise.histograms import spreads
from dpcore.methods import AdaptiveMarginals
from dpcore.methods.networks import adaptive_marginals
from dpcore.methods.networks.adaptive_marginals import MOST_ROUNDS, ROUGH, Plan
from dpcore.methods.networks.columns import Columns, average, in_lots
from dpcore.postprocess.junction_tree import cells_of
from dpcore.postprocess.resolution import ENOUGH, Resolution, merge_more, neighbors

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE

CLASSLESS = replace(CHAIN, target=None)


@pytest.mark.parametrize(
    ("rows", "epsilon", "relation", "sizes", "classes", "plan"),
    [
        (100, 0.31, ADD, (3, 2), 2, (100, 0, False, 0)),  # s = 7.75
        (100, 0.32, ADD, (3, 2), 0, (91, 1, False, 0)),  # s = 8: .85 * 5 / 45
        (199, 0.32, REPLACE, (3, 2), 0, (100, 0, False, 0)),
        (39, 1.0, ADD, (3, 2), 2, (88, 1, False, 1)),  # s = 9.75: .85 * 6.75 / 46.75
        (40, 1.0, ADD, (3, 2), 2, (92, 1, True, 0)),  # s = 10: .8 * 7 / 67
        (48, 1.0, ADD, (3, 2), 4, (84, 1, False, 1)),  # .85 * 9 / 49
        (48, 1.0, ADD, (3, 1), 1, (100, 0, False, 0)),  # no pair has anything to say
        (100_000, 1.0, ADD, (3,) * 10, 0, (18, 22, False, 0)),  # s = 1000: 2.5 * 9 rounds
        (100_000, 1.0, ADD, (3,) * 10, 2, (25, 14, True, 0)),
        (4_800, 1.0, ADD, (3,) * 10, 0, (55, 9, False, 0)),  # s = 48: .12 * 48^.55 * 9 = 9.08
        (4_800, 1.0, ADD, (3,) * 10, 4, (55, 9, False, 3)),
        (0, 0.0, ADD, (3,) * 10, 0, (100, 0, False, 0)),
    ],
)
def test_the_plan_by_hand(rows, epsilon, relation, sizes, classes, plan):
    found = Plan.of(rows, Fraction(epsilon), PURE, relation, sizes, classes)
    assert (found.one_ways * 100, found.rounds, found.with_class, found.of_class) == plan


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("schema", [CHAIN, CLASSLESS])
def test_epsilon_is_divided_as_documented(relation, schema):
    method = AdaptiveMarginals(epsilon=1.3, relation=relation, noise="laplace", random_state=0)
    entries, whole = list(method.fit(chain(), schema=schema).ledger_.entries), Fraction(1.3)
    plan = Plan.of(20_000, whole, PURE, relation, schema.sizes, 2 if schema.target else 0)
    assert plan.rounds > 1
    assert plan.with_class == bool(schema.target)
    if relation is ADD:
        rough = entries.pop(0)
        assert (rough.epsilon_nominal, rough.sensitivity) == (whole * ROUGH, 1)
        whole -= rough.epsilon_nominal
    names, classes = ("a, c, b", 2) if plan.with_class else ("y, a, c, b", 1)
    of_each = whole * plan.one_ways / (classes if relation is REPLACE else 1)  # a replaced row may be in both
    first, choices, tables = entries[:classes], entries[classes::2], entries[classes + 1 :: 2]
    told = [(entry.name, entry.mechanism, entry.epsilon_nominal) for entry in first]
    assert told == [(f"histograms of {names}", "k-norm", of_each)] * classes
    moved = relation.histogram_l1
    assert {(c.mechanism, c.sensitivity) for c in choices} == {("exponential", Fraction(moved, 2))}
    assert {(t.mechanism, t.sensitivity) for t in tables} == {("laplace", moved)}
    one, paid = whole * (1 - plan.one_ways) / plan.rounds, zip(choices, tables, strict=True)
    rounds = [(choice.epsilon_nominal + table.epsilon_nominal) / one for choice, table in paid]
    assert {*rounds} <= {1, MOST_ROUNDS}
    assert (sum(rounds), len(rounds)) == (plan.rounds, len(method.pairs_))
    assert sum(method.epsilons_) == pytest.approx(float(whole))


def test_rho_is_divided_as_documented():
    method = AdaptiveMarginals(epsilon=1.3, delta=1e-9, noise="laplace", random_state=0)
    method.fit(chain(), schema=CLASSLESS)
    (rough, *entries), whole = method.ledger_.entries, Currency.of(1e-9).amount(1.3)
    plan = Plan.of(20_000, whole, method.ledger_.currency, ADD, CLASSLESS.sizes, 0)
    assert plan.one_ways < Plan.of(20_000, Fraction(1.3), PURE, ADD, CLASSLESS.sizes, 0).one_ways
    assert rough.epsilon_nominal == whole * ROUGH
    left = whole - rough.epsilon_nominal
    shares = [float(entry.epsilon_nominal / (left * plan.one_ways)) for entry in entries[:4]]
    powers = np.array([3, 4, 3, 2]) ** (2 / 3)
    np.testing.assert_allclose(shares, powers / powers.sum())
    assert {entry.mechanism for entry in entries} == {"gaussian", "exponential"}
    assert sum(entry.epsilon_nominal for entry in entries) == left
    assert plan.rounds / MOST_ROUNDS <= len(method.pairs_) <= plan.rounds


def test_the_first_rounds_are_for_a_class_of_many_values():
    frame = chain()
    frame["b"] = np.random.default_rng(0).permutation(frame["b"])  # there is nothing to find
    for schema, how, expected in ((CHAIN, {"target": "b"}, True), (CLASSLESS, {}, False)):
        method = AdaptiveMarginals(epsilon=1.0, random_state=0, **how).fit(frame, schema=schema)
        assert all("b" in pair for pair in method.pairs_[:2]) == expected


def test_cliques_stay_small(monkeypatch):
    """With room for little the model grows no further, and what is in it is measured again."""
    monkeypatch.setattr(adaptive_marginals, "MOST_CELLS", 12)
    method = AdaptiveMarginals(epsilon=HUGE, random_state=0).fit(chain(2_000), schema=CLASSLESS)
    sizes = dict(zip(CHAIN.names, CHAIN.sizes, strict=True))
    assert max(cells_of(clique, sizes) for clique in method.cliques_) <= 12
    assert len(method.pairs_) > len(set(method.pairs_))
    monkeypatch.setattr(adaptive_marginals, "MOST_CELLS", 7)  # (b, y) with 8 cells is there by the class
    with_class = AdaptiveMarginals(epsilon=HUGE, random_state=0).fit(chain(2_000), schema=CHAIN)
    assert set(map(frozenset, with_class.pairs_)) <= {frozenset("ay"), frozenset("by"), frozenset("cy")}


@pytest.mark.parametrize(
    ("margin", "least", "kind", "missing", "groups"),
    [
        ([9, 9], 100, "categorical", False, [0, 1]),  # two are left alone
        ([5, 5, 5, 5], 10, "categorical", False, [0, 0, 1, 1]),  # all are rare: halves
        ([12, 4, 20, 4], 10, "categorical", False, [0, 2, 1, 2]),
        ([5, 5, 5, 5, 6], 10, "ordered", True, [0, 0, 1, 1, 2]),  # "missing" has half of what is enough
        ([5, 5, 5, 5, 4], 10, "ordered", True, [0, 0, 1, 1, 1]),
        ([5, 5, 5, 4], 100, "ordered", True, [0, 1, 1, 1]),  # nothing is enough: halves by count
        ([1, 1, 1, 60], 100, "ordered", True, [0, 0, 0, 1]),
    ],
)
def test_values_are_merged(margin, least, kind, missing, groups):
    inside = len(margin) - missing
    column = Column(name="c", kind=kind, categories=tuple(map(str, range(inside))), missing=missing)
    assert neighbors(column) == (inside if kind == "ordered" else 0)
    assert merge_more(np.arange(len(margin)), np.array(margin, dtype=float), least, column).tolist() == groups


def test_counts_are_averaged_with_what_is_said():
    """A group of two values and one of one; their total stays."""
    column = Column(name="c", kind="ordered", categories=("a", "b", "c"))
    own, still = (Resolution(column, np.array([20.0, 20.0, 60.0]), 25.0, known) for known in (4.0, 0.0))
    assert [level.tolist() for level in own.levels] == [[0, 0, 1]] * len(ENOUGH)
    for each in (own, still):
        each.average(0, np.array([40.0, 80.0]), 8.0)  # of 120 rows: 30 and 70 of 100
    groups = np.array([40 + 8 / 16 * (30 - 40), 60 + 4 / 12 * (70 - 60)])
    groups += (100 - groups.sum()) / 2
    np.testing.assert_allclose(own.known, groups, atol=1e-3)
    np.testing.assert_allclose(own.margin, [groups[0] / 2, groups[0] / 2, groups[1]], atol=1e-3)
    np.testing.assert_allclose(own.variances, [2, 2, 8 / 3])
    np.testing.assert_allclose(still.margin, [20, 20, 60], atol=1e-3)


def test_tables_of_like_sizes_are_asked_at_once(watched):
    assert in_lots([16, 2, 3, 16, 2]) == [[1, 4, 2], [0, 3]]
    assert in_lots([5]) == [[0]]
    assert [len(lot) for lot in in_lots([2] * 4 + [16] * 6 + [41])] == [4, 6, 1]
    frame = pd.DataFrame({f"c{j}": ["0", "1", "2"] * 10 for j in range(3)})
    schema = Schema(columns=tuple(listed(name, 3) for name in frame), max_rows=90)
    for relation in (ADD, REPLACE):
        AdaptiveMarginals(epsilon=0.6, relation=relation).fit(frame, schema=schema)
    told = [(factor, public) for _, factor, public in watched.together]
    assert told == [(pytest.approx(0.6 * 0.99), False), (pytest.approx(0.3), True)]


def test_no_part_of_a_replaced_table_has_a_public_total(watched):
    AdaptiveMarginals(epsilon=1.3, relation=REPLACE).fit(chain(), schema=CHAIN)
    assert [public for *_, public in watched.together] == [False, False]


def test_what_classes_say_is_added(watched):
    """A count of all rows has the noise of both classes' counts."""
    ledger = Ledger(ADD)
    table = PrivateTable(CHAIN.encode(chain(500)), CHAIN, ledger, make_noise("geometric", 0))
    found = Columns(table, Fraction(1), CHAIN.index("y"), (500.0, 1e6))
    sizes = [CHAIN[name].size for name in "acb"]
    noise = spreads(sizes, 1.0, public_total=False)
    assert found.variances == pytest.approx(
        [0 if name == "y" else 2 * noise[CHAIN[name].size].cell ** 2 for name in CHAIN.names]
    )
    for j, joint in found.beside_class.items():
        np.testing.assert_allclose(joint.sum(axis=0), found.margins[CHAIN.index("y")])
        np.testing.assert_allclose(joint.sum(axis=1), found.margins[j])
    assert found.prices == pytest.approx([1 / 3] * 3)


def test_numbers_of_rows_are_averaged():
    assert average([(10.0, 1.0), (14.0, 3.0)]) == (pytest.approx(11.0), pytest.approx(0.75))
    assert average([(10.0, 1.0), (14.0, 0.0)]) == (14.0, 0.0)
    assert average([(10.0, np.inf), (14.0, 4.0)])[0] == pytest.approx(14.0)
