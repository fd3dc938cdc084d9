"""MST: what each third buys, which pairs may be chosen, and what becomes of rare values."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from chains import CHAIN, HUGE, chain, listed
from sources import Watched

from dpcore import MST
from dpcore.accounting.currency import Currency
from dpcore.accounting.relation import Relation
from dpcore.domain.schema import Schema
from dpcore.evaluate.distances import marginal_avd
from dpcore.methods.networks.mst import MOST_VALUES, frequent_apart


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_each_third_buys_what_is_documented(relation, delta):
    method = MST(epsilon=1.3, delta=delta, relation=relation, random_state=0).fit(chain(), schema=CHAIN)
    whole, entries = Currency.of(delta).amount(1.3), method.ledger_.entries
    columns, choices, pairs = entries[:4], entries[4:7], entries[7:]
    assert [entry.name for entry in columns] == [f"counts of {name}" for name in "abcy"]
    assert [entry.name for entry in pairs] == [f"counts of {a} × {b}" for a, b in method.pairs_]
    assert {entry.mechanism for entry in choices} == {"exponential"}
    for part in (columns, choices, pairs):
        assert {entry.epsilon_of_noise for entry in part} == {whole / 3 / len(part)}
    for part in (columns, pairs):
        moved, share = relation.histogram_l1, float(whole / 3 / len(part))
        scale = sqrt(moved / (2 * share)) if delta else moved / share  # of L2, the square is as large as L1
        assert [entry.scale for entry in part] == pytest.approx([scale] * len(part))
    assert {entry.sensitivity for entry in choices} == {Fraction(relation.histogram_l1, 2)}
    assert sum(method.epsilons_) == pytest.approx(float(whole))


class Scored(Watched):
    """Keeps the scores as well."""

    def select(self, scores, factor):
        self.chosen.append((scores.tolist(), factor))
        return np.argmax(scores)


def test_pairs_that_join_two_parts_are_rated_by_their_distance(monkeypatch):
    """Without noise: a = b, c = a and d, and d is alone but for that. As scores are ties, the first is taken."""
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


def test_with_much_epsilon_the_chain_is_found_and_tables_are_the_datas():
    frame = chain()
    for extra in ({}, {"relation": "replace"}, {"delta": 1e-9}):
        method = MST(epsilon=HUGE, random_state=0, **extra).fit(frame, schema=CHAIN)
        assert {frozenset("ab"), frozenset("bc")} <= set(map(frozenset, method.pairs_))
        assert method.rows_ == pytest.approx(len(frame), abs=1e-2)
        pairs = marginal_avd(frame, method.sample(len(frame)), CHAIN, 2).set_index("attributes")["avd"]
        assert max(pairs[tuple(sorted(pair))] for pair in method.pairs_) < 2e-3


def test_a_column_by_itself_gets_everything():
    schema = Schema(columns=(listed("a", 3),), max_rows=50_000)
    method = MST(epsilon=0.7, random_state=0).fit(chain()[["a"]], schema=schema)
    (entry,) = method.ledger_.entries
    assert entry.epsilon_of_noise == Fraction(0.7)
    assert (method.pairs_, method.cliques_) == ([], [("a",)])


def test_rare_values_are_one_by_three_standard_deviations():
    assert frequent_apart(np.array([10.0, 5.9, 6.0, -1.0]), 4.0).tolist() == [0, 2, 1, 2]
    assert frequent_apart(np.array([10.0, 6.0]), 4.0).tolist() == [0, 1]
    assert frequent_apart(np.array([1.0, 2.0]), 4.0).tolist() == [0, 0]
    many = frequent_apart(np.arange(1_000.0), 1e-4)
    assert many.max() == MOST_VALUES
    assert many[-MOST_VALUES:].tolist() == list(range(MOST_VALUES))
    assert set(many[:-MOST_VALUES]) == {MOST_VALUES}
    ties = frequent_apart(np.full(1_000, 20.0), 1e-4)
    assert ties.tolist() == [*range(MOST_VALUES), *[MOST_VALUES] * (1_000 - MOST_VALUES)]


def test_rare_values_are_drawn_evenly():
    """Of ten values four are frequent; the others have 10 rows together."""
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.integers(0, 4, 20_000), np.full(10, 7)])
    frame = pd.DataFrame({"a": a, "b": a % 2}).astype(str)
    schema = replace(CHAIN, columns=(listed("a", 10), listed("b", 2)), target=None)
    method = MST(epsilon=1.0, random_state=2).fit(frame, schema=schema)
    assert method.groups_[0].tolist() == [0, 1, 2, 3, *[4] * 6]
    assert np.ptp(method.margins_[0][4:]) == 0
    counts = method.sample(1_000_000)["a"].value_counts().reindex(list("456789"), fill_value=0)
    assert counts.max() - counts.min() <= 2
