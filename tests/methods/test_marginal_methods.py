"""Adaptive marginals, AIM, MST, independent marginals, refined PrivBayes: plans, losses, scores and models' sizes."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import pi, sqrt

import numpy as np
import pandas as pd
import pytest
from chains import CHAIN, HUGE, chain, listed
from sources import Watched

from dpcore import AIM, MST, IndependentMarginals, RefinedPrivBayes
from dpcore.accounting.currency import PURE, PrivacyMeasure
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.noise.histograms import spreads
from dpcore.methods import AdaptiveMarginals
from dpcore.methods.networks import adaptive_marginals, aim
from dpcore.methods.networks.adaptive_marginals import ColumnCounts, MarginalPlan, average_estimates, group_by_size
from dpcore.methods.networks.aim import workload_weights
from dpcore.methods.networks.mst import MOST_VALUES, group_frequent_values
from dpcore.methods.networks.refined_privbayes import EDGES, ONE_WAYS, TREE
from dpcore.postprocess.junction_tree import cells_of
from dpcore.postprocess.resolution import ENOUGH, Resolution, merge_more, neighbors
from dpcore.postprocess.simplex import fit_marginals, merge_rare

CLASSLESS = replace(CHAIN, target=None)
TWO = Schema(columns=(listed("a", 2), listed("b", 2)))
APART = pd.DataFrame({"a": ["0", "0", "1", "1"] * 1_000, "b": ["0", "1", "0", "1"] * 1_000})


class Scored(Watched):
    def select(self, scores, factor):
        self.chosen.append((scores.tolist(), factor))
        return np.argmax(scores)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("delta", "times"), [(0.0, 2), (1e-9, 4)])
def test_privacy_losses_of_rounds_are_as_documented(relation, delta, times):
    """The first round spends a 64th, each later one as much as before or `times` as much, the last what is left."""
    method = AIM(epsilon=1.3, delta=delta, relation=relation, random_state=0).fit(chain(2_000), schema=CHAIN)
    whole, entries = PrivacyMeasure.of(delta).loss_of(1.3), method.ledger_.entries
    columns, choices, tables = entries[:4], entries[4::2], entries[5::2]
    assert {entry.epsilon_nominal for entry in columns} == {whole / 64 * Fraction(9, 10)}
    names = ["a", "b", "c", "y", *(" × ".join(clique) for clique in method.pairs_)]
    assert [entry.name for entry in (*columns, *tables)] == [f"counts of {name}" for name in names]
    first, *later = shares = [c.epsilon_nominal + t.epsilon_nominal for c, t in zip(choices, tables, strict=True)]
    assert [entry.epsilon_nominal for entry in choices] == [share / 10 for share in shares]
    assert {(c.mechanism, c.sensitivity) for c in choices} == {("exponential", Fraction(relation.histogram_l1, 2))}
    assert first == whole / 64
    assert all(now / before in (1, times) for before, now in pairwise(shares[:-1]))
    left = whole - sum(entry.epsilon_nominal for entry in columns) - sum(shares[:-1])
    assert later[-1] == left < 2 * later[-2] * times
    assert sum(method.epsilons_) == pytest.approx(float(whole))


@pytest.mark.parametrize(
    ("times", "shares"),
    [  # of the columns' tables 1.8 / 32 was spent, which leaves .94375
        (2, [1 / 32, 1 / 16, 1 / 8, 1 / 4, 0.475]),
        (4, [1 / 32, 1 / 8, 0.7875]),
    ],
)
def test_noise_falls_after_a_marginal_that_changes_little(monkeypatch, times, shares):
    """Independent columns, and no noise: no marginal changes the model."""
    monkeypatch.setattr("dpcore.methods.base.make_noise", lambda *_: Watched())
    monkeypatch.setattr(PrivacyMeasure, "rows", lambda *_: times)
    method = AIM(epsilon=1.0, relation="replace").fit(APART, schema=TWO)
    choices, tables = method.ledger_.entries[2::2], method.ledger_.entries[3::2]
    spent = [float(one.epsilon_nominal + other.epsilon_nominal) for one, other in zip(choices, tables, strict=True)]
    assert spent == pytest.approx(shares, rel=1e-14)


@pytest.mark.parametrize(("distribution", "size"), [("laplace", 1.0), ("gaussian", sqrt(2 / pi))])
def test_marginals_are_scored_by_weight_and_noise(monkeypatch, distribution, size):
    """The first choice without noise: a = b. Of 400 rows each diagonal cell has 200, where 100 are expected."""
    noise = Scored()
    noise.distribution = noise.on_counts = distribution
    monkeypatch.setattr(noise, "variance", lambda scale: scale**2 * (2 if distribution == "laplace" else 1))
    monkeypatch.setattr("dpcore.methods.base.make_noise", lambda *_: noise)
    frame = pd.DataFrame({"a": ["0", "1"] * 200, "b": ["0", "1"] * 200})
    delta = 0.0 if distribution == "laplace" else 1e-9
    method = AIM(epsilon=8.0, delta=delta, relation="replace").fit(frame, schema=TWO)
    measure = PrivacyMeasure.of(delta)
    share = measure.loss_of(8.0) / 32
    error = size * measure.scale(share * Fraction(9, 10), measure.histogram_sensitivity(Relation.REPLACE))
    scores, factor = noise.chosen[0]
    singles = 0.5 * (0 - error / 2 * 2)  # a pair has two columns in common with the workload, a column one
    assert scores == pytest.approx([singles, singles, 200 - error / 2 * 4], abs=1e-2)
    assert factor == pytest.approx(measure.selection_exponent(share / 10) / 2)  # moved by 1; two ways
    assert method.pairs_[0] == ("a", "b")


def test_weights_by_hand():
    pairs = {(0, 1): 1, (0, 2): 1}
    assert workload_weights(3, [*pairs, (1, 2)]) == {(0,): 0.5, (1,): 0.5, (2,): 0.5, **pairs, (1, 2): 1}
    assert workload_weights(4, [*pairs]) == {(0,): 2 / 3, (1,): 1 / 3, (2,): 1 / 3, (3,): 0, **pairs}
    assert workload_weights(2, []) == {(0,): 1, (1,): 1}


@pytest.mark.parametrize(("most", "cells"), [(20, 20), (11, 12)])
def test_the_model_stays_small_and_its_room_grows(most, cells, monkeypatch):
    """The columns by themselves have 12 cells, and are measured anyway."""
    monkeypatch.setattr(aim, "MOST_CELLS", most)
    method = AIM(epsilon=HUGE, random_state=0).fit(chain(2_000), schema=CLASSLESS)
    assert sum(table.size for table in method.tables_) <= cells
    assert max(map(len, method.pairs_)) == (2 if cells > 12 else 1)
    assert len(method.pairs_[0]) == 1  # a sixteenth of so few cells has no room for a pair at first


def test_tables_stay_small(monkeypatch):
    monkeypatch.setattr(aim, "MOST_TABLE", 9)
    method = AIM(epsilon=HUGE, random_state=0).fit(chain(2_000), schema=CLASSLESS)
    pairs = {clique for clique in method.pairs_ if len(clique) == 2}
    assert {("a", "c")} <= pairs <= {("a", "c"), ("a", "y"), ("b", "y"), ("c", "y")}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_each_third_of_the_budget_is_spent_as_documented(relation, delta):
    method = MST(epsilon=1.3, delta=delta, relation=relation, random_state=0).fit(chain(2_000), schema=CHAIN)
    third, entries = PrivacyMeasure.of(delta).loss_of(1.3) / 3, method.ledger_.entries
    columns, choices, pairs = entries[:4], entries[4:7], entries[7:]
    assert [entry.name for entry in columns] == [f"counts of {name}" for name in "abcy"]
    assert [entry.name for entry in pairs] == [f"counts of {a} × {b}" for a, b in method.pairs_]
    for part in (columns, choices, pairs):
        assert {entry.epsilon_nominal for entry in part} == {third / len(part)}
    moved = relation.histogram_l1
    assert {(entry.mechanism, entry.sensitivity) for entry in choices} == {("exponential", Fraction(moved, 2))}
    for part in (columns, pairs):
        share = float(third / len(part))
        scale = sqrt(moved / (2 * share)) if delta else moved / share  # of L2, the square is as large as L1
        assert [entry.scale for entry in part] == pytest.approx([scale] * len(part))


def test_pairs_that_join_two_parts_are_scored_by_their_distance(monkeypatch):
    """Without noise: a = b, c = a and d, and d is otherwise independent. Of equal scores the first is taken."""
    noise = Scored()
    monkeypatch.setattr("dpcore.methods.base.make_noise", lambda *_: noise)
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 0, 0, 1], "d": [0, 1, 0, 1]}).astype(str)
    frame = pd.concat([frame] * 1_000)
    schema = Schema(columns=tuple(listed(name, 2) for name in "abcd"))
    method = MST(epsilon=3.0, relation="replace").fit(frame, schema=schema)
    scores = [found for found, _ in noise.chosen]
    # ab ac ad bc bd cd, half of the L1 distance: all four cells of a × b are 1,000 from what is expected, of c × d 500
    assert scores[0] == pytest.approx([2_000, 1_000, 0, 1_000, 0, 1_000], abs=1)
    assert scores[1] == pytest.approx([1_000, 0, 1_000, 0, 1_000], abs=1)  # ab is in the tree
    assert scores[2] == pytest.approx([0, 0, 1_000], abs=1)  # ad, bd, cd
    assert method.pairs_ == [("a", "b"), ("a", "c"), ("c", "d")]
    assert [factor for _, factor in noise.chosen] == pytest.approx([(1 / 3) / 2] * 3)  # moved by 1; two ways


@pytest.mark.parametrize(
    ("counts", "apart"), [([10.0, 5.9, 6.0, -1.0], [0, 2, 1, 2]), ([10.0, 6.0], [0, 1]), ([1.0, 2.0], [0, 0])]
)
def test_values_below_three_standard_deviations_are_merged(counts, apart):
    assert group_frequent_values(np.array(counts), 4.0).tolist() == apart


def test_the_most_frequent_of_many_values_stay_unmerged():
    rest = 1_000 - MOST_VALUES
    many, ties = group_frequent_values(np.arange(1_000.0), 1e-4), group_frequent_values(np.full(1_000, 20.0), 1e-4)
    assert many.tolist() == [*[MOST_VALUES] * rest, *range(MOST_VALUES)]
    assert ties.tolist() == [*range(MOST_VALUES), *[MOST_VALUES] * rest]


def test_epsilon_is_shared_by_the_roots_of_the_cells(watched):
    """Four, one and nine cells: 2/6, 1/6 and 3/6 of epsilon; a replaced row moves two cells of each table."""
    schema = Schema(columns=(listed("a", 4), listed("b", 1), listed("n", 9)))
    rows = pd.DataFrame({"a": [0] * 6 + [1] * 3 + [2], "b": 0, "n": [0] * 5 + [8] * 5}).astype(str)
    fitted = IndependentMarginals(epsilon=1.2).fit(rows, schema=schema)
    assert [scale for _, scale in watched.counted] == pytest.approx([2 / 0.4, 2 / 0.2, 2 / 0.6])
    assert fitted.epsilons_ == pytest.approx([0.4, 0.2, 0.6])
    for cells, exact in zip(fitted.tables_, [[6, 3, 1, 0], [10], [5, *[0] * 7, 5]], strict=True):
        np.testing.assert_allclose(cells, exact, atol=1e-4)


@pytest.mark.parametrize(
    ("counts", "threshold", "ordered", "groups"),
    [
        ([5, 5, 5, 5], 10, True, [0, 0, 1, 1]),
        ([12, 1, 1, 9, 3], 10, True, [0, 1, 1, 1, 1]),
        ([12, 1, 1], 10, True, [0, 0, 0]),
        ([12, 4, 20, 4], 10, False, [0, 2, 1, 2]),
        ([12, 1, 20, 1], 10, False, [0, 0, 1, 0]),
        ([1, 2, 3], 10, False, [0, 0, 0]),
    ],
)
def test_rare_values_are_merged(counts, threshold, ordered, groups):
    assert merge_rare(np.array(counts, float), threshold, ordered=ordered).tolist() == groups


def test_tables_are_fitted_to_their_marginals():
    rng = np.random.default_rng(2)
    exact = rng.integers(20, 100, (3, 4, 2)).astype(float)
    first, second, totals = exact.sum(axis=1), exact.sum(axis=0), exact.sum(axis=(0, 1))
    np.testing.assert_allclose(fit_marginals(exact, first, second, totals), exact, rtol=1e-4)
    for noisy in (exact + rng.laplace(0, 30, exact.shape), np.zeros(exact.shape)):
        fitted = fit_marginals(noisy, first, second, totals)
        assert (fitted >= 0).all()
        np.testing.assert_allclose(fitted.sum(axis=0), second, rtol=1e-6)
        np.testing.assert_allclose(fitted.sum(axis=1), first, rtol=2e-2)


@pytest.mark.parametrize("relation", Relation)
def test_refined_divides_epsilon_as_documented(relation):
    method = RefinedPrivBayes(epsilon=1.3, relation=relation, noise="laplace", random_state=0)
    entries = method.fit(chain(2_000), schema=CHAIN).ledger_.entries
    whole = Fraction(1.3)
    choices = [entry for entry in entries if entry.mechanism == "exponential"]
    tables = [entry for entry in entries if entry.mechanism == "laplace"]
    one_ways, edges = tables[:3], tables[3:]
    assert [entry.epsilon_nominal for entry in choices] == [whole * TREE / 2] * 2
    assert [entry.name for entry in one_ways] == ["counts of a × y", "counts of b × y", "counts of c × y"]
    assert sum(entry.epsilon_nominal for entry in one_ways) == whole * ONE_WAYS
    assert sum(entry.epsilon_nominal for entry in edges) == whole * EDGES
    assert {entry.sensitivity for entry in tables} == {relation.histogram_l1}
    roots = np.sqrt([6, 8, 6])
    shares = [float(entry.epsilon_nominal / (whole * ONE_WAYS)) for entry in one_ways]
    np.testing.assert_allclose(shares, roots / roots.sum())


def test_a_small_epsilon_measures_the_one_way_marginals_twice():
    method = RefinedPrivBayes(epsilon=0.001, random_state=0).fit(chain(2_000), schema=CHAIN)
    assert (method.edges_, len(method.ledger_.entries)) == ([], 6)
    assert method.ledger_.epsilon_nominal == sum(method.epsilons_) == pytest.approx(0.001)


def test_repeated_measurements_are_averaged_by_inverse_variance():
    means = [RefinedPrivBayes(delta=delta)._average_tables([np.zeros(1)], [np.ones(1)])[0] for delta in (0.0, 1e-9)]
    assert means[0] == pytest.approx(0.15**2 / (0.85**2 + 0.15**2))  # of noise with scales of 1 / .85 and 1 / .15
    assert means[1] == pytest.approx(0.15)  # of Gaussian noise with variances of 1 / .85 and 1 / .15


ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


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
    found = MarginalPlan.for_budget(rows, Fraction(epsilon), PURE, relation, sizes, classes)
    assert (found.one_ways * 100, found.rounds, found.with_class, found.of_class) == plan


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("schema", [CHAIN, CLASSLESS])
def test_epsilon_is_divided_as_documented(relation, schema):
    method = AdaptiveMarginals(epsilon=1.3, relation=relation, noise="laplace", random_state=0)
    entries, whole = list(method.fit(chain(), schema=schema).ledger_.entries), Fraction(1.3)
    plan = MarginalPlan.for_budget(20_000, whole, PURE, relation, schema.sizes, 2 if schema.target else 0)
    assert plan.rounds > 1
    assert plan.with_class == bool(schema.target)
    if relation is ADD:
        rough = entries.pop(0)
        assert (rough.epsilon_nominal, rough.sensitivity) == (whole * adaptive_marginals.ROUGH, 1)
        whole -= rough.epsilon_nominal
    names, classes = ("a, c, b", 2) if plan.with_class else ("y, a, c, b", 1)
    of_each = whole * plan.one_ways / (classes if relation is REPLACE else 1)  # a replaced row may be in both
    first, choices, tables = entries[:classes], entries[classes::2], entries[classes + 1 :: 2]
    text = [(entry.name, entry.mechanism, entry.epsilon_nominal) for entry in first]
    assert text == [(f"histograms of {names}", "k-norm", of_each)] * classes
    moved = relation.histogram_l1
    assert {(c.mechanism, c.sensitivity) for c in choices} == {("exponential", Fraction(moved, 2))}
    assert {(t.mechanism, t.sensitivity) for t in tables} == {("laplace", moved)}
    one, spent = whole * (1 - plan.one_ways) / plan.rounds, zip(choices, tables, strict=True)
    rounds = [(choice.epsilon_nominal + table.epsilon_nominal) / one for choice, table in spent]
    assert {*rounds} <= {1, adaptive_marginals.MOST_ROUNDS}
    assert (sum(rounds), len(rounds)) == (plan.rounds, len(method.pairs_))
    assert sum(method.epsilons_) == pytest.approx(float(whole))


def test_rho_is_divided_as_documented():
    method = AdaptiveMarginals(epsilon=1.3, delta=1e-9, noise="laplace", random_state=0)
    method.fit(chain(), schema=CLASSLESS)
    (rough, *entries), whole = method.ledger_.entries, PrivacyMeasure.of(1e-9).loss_of(1.3)
    plan = MarginalPlan.for_budget(20_000, whole, method.ledger_.measure, ADD, CLASSLESS.sizes, 0)
    assert plan.one_ways < MarginalPlan.for_budget(20_000, Fraction(1.3), PURE, ADD, CLASSLESS.sizes, 0).one_ways
    assert rough.epsilon_nominal == whole * adaptive_marginals.ROUGH
    left = whole - rough.epsilon_nominal
    shares = [float(entry.epsilon_nominal / (left * plan.one_ways)) for entry in entries[:4]]
    powers = np.array([3, 4, 3, 2]) ** (2 / 3)
    np.testing.assert_allclose(shares, powers / powers.sum())
    assert {entry.mechanism for entry in entries} == {"gaussian", "exponential"}
    assert sum(entry.epsilon_nominal for entry in entries) == left
    assert plan.rounds / adaptive_marginals.MOST_ROUNDS <= len(method.pairs_) <= plan.rounds


def test_the_first_rounds_are_for_a_class_of_many_values():
    frame = chain()
    frame["b"] = np.random.default_rng(0).permutation(frame["b"])  # there is nothing to find
    for schema, how, expected in ((CHAIN, {"target": "b"}, True), (CLASSLESS, {}, False)):
        method = AdaptiveMarginals(epsilon=1.0, random_state=0, **how).fit(frame, schema=schema)
        assert all("b" in pair for pair in method.pairs_[:2]) == expected


def test_cliques_stay_small(monkeypatch):
    """If cliques must stay small, the model grows no further, and its pairs are measured again."""
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


def test_counts_are_averaged_with_new_estimates():
    """A group of two values and one of one; their total stays."""
    column = Column(name="c", kind="ordered", categories=("a", "b", "c"))
    own, still = (Resolution(column, np.array([20.0, 20.0, 60.0]), 25.0, known) for known in (4.0, 0.0))
    assert [level.tolist() for level in own.levels] == [[0, 0, 1]] * len(ENOUGH)
    for each in (own, still):
        each.average(0, np.array([40.0, 80.0]), 8.0)  # of 120 rows: 30 and 70 of 100
    groups = np.array([40 + 8 / 16 * (30 - 40), 60 + 4 / 12 * (70 - 60)])
    groups += (100 - groups.sum()) / 2
    np.testing.assert_allclose(own.model_counts, groups, atol=1e-3)
    np.testing.assert_allclose(own.marginal, [groups[0] / 2, groups[0] / 2, groups[1]], atol=1e-3)
    np.testing.assert_allclose(own.variances, [2, 2, 8 / 3])
    np.testing.assert_allclose(still.marginal, [20, 20, 60], atol=1e-3)


def test_histograms_of_similar_sizes_are_measured_at_once(watched):
    assert group_by_size((16, 2, 3, 16, 2))[0] == [[1, 4, 2], [0, 3]]
    assert group_by_size((5,))[0] == [[0]]
    assert [len(draw) for draw in group_by_size((*[2] * 4, *[16] * 6, 41))[0]] == [4, 6, 1]
    frame = pd.DataFrame({f"c{j}": ["0", "1", "2"] * 10 for j in range(3)})
    schema = Schema(columns=tuple(listed(name, 3) for name in frame), max_rows=90)
    for relation in (ADD, REPLACE):
        AdaptiveMarginals(epsilon=0.6, relation=relation).fit(frame, schema=schema)
    text = [(factor, public) for _, factor, public in watched.together]
    assert text == [(pytest.approx(0.6 * 0.99), False), (pytest.approx(0.3), True)]


def test_parts_by_class_have_no_public_total_under_replace(watched):
    AdaptiveMarginals(epsilon=1.3, relation=REPLACE).fit(chain(), schema=CHAIN)
    assert [public for *_, public in watched.together] == [False, False]


def test_counts_of_classes_add_up(watched):
    """A count of all rows has the noise of both classes' counts."""
    ledger = Ledger(ADD)
    table = PrivateTable(CHAIN.encode(chain(500)), CHAIN, ledger, make_noise("geometric", 0))
    found = ColumnCounts(table, Fraction(1), CHAIN.index("y"), (500.0, 1e6))
    sizes = [CHAIN[name].size for name in "acb"]
    noise = spreads(sizes, 1.0, public_total=False)
    expected = [0 if column.name == "y" else 2 * noise[column.size].cell ** 2 for column in CHAIN]
    assert found.variances == pytest.approx(expected)
    for j, joint in found.with_class_counts.items():
        np.testing.assert_allclose(joint.sum(axis=0), found.marginals[CHAIN.index("y")])
        np.testing.assert_allclose(joint.sum(axis=1), found.marginals[j])
    assert [loss for _, loss in found.losses] == pytest.approx([1 / 3] * 3)


def test_numbers_of_rows_are_averaged():
    assert average_estimates([(10.0, 1.0), (14.0, 3.0)]) == (pytest.approx(11.0), pytest.approx(0.75))
    assert average_estimates([(10.0, 1.0), (14.0, 0.0)]) == (14.0, 0.0)
    assert average_estimates([(10.0, np.inf), (14.0, 4.0)])[0] == pytest.approx(14.0)
