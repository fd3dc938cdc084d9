"""MST: what each third buys, which pairs may be chosen, and what becomes of rare values."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from chains import CHAIN, chain, listed
from sources import Watched

from dpcore import MST
from dpcore.accounting.currency import Currency
from dpcore.accounting.relation import Relation
from dpcore.domain.schema import Schema
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
