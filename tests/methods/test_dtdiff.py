"""DT-Diff: its ledger by hand, the weighted choice's probabilities, a greedy search, and what depends on rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from grouped import FRAME, ONE, RELATIONS, SCHEMA, A, C, N, Y, axis, rows_of
from scipy.stats import chisquare

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import Max
from dpcore.mechanisms.scores.splits import JointSpecialization
from dpcore.methods import DiffGen, DTDiff


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    return DTDiff(**{"epsilon": 1.0, "random_state": 0, **parameters}).fit(frame, schema=schema)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("criterion", "moved_once"), [("Max", True), ("InfoGain", False)])
def test_the_ledger_by_hand(criterion, moved_once, relation, watched):
    """The class hangs on n >= 4 and is cut there; then both halves may be cut, and the first place is as good."""
    n = np.repeat(range(6), 5)
    method = fit(rows_of(n, np.where(n >= 4, "yes", "no")), ONE, relation=relation, rounds=2, criterion=criterion)
    entries = method.ledger_.entries
    assert [e.mechanism for e in entries] == ["exponential", "exponential", "laplace"]
    assert [e.epsilon_nominal for e in entries] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert [e.sensitivity for e in entries] == [1, 1, 2 if relation == "replace" else 1]
    assert method.steps_ == [("n", "0–5"), ("n", "0–3")]
    assert axis(method, "n").names == ("0", "1–3", "4–5")
    factor = 1 / 4 if relation == "add_remove" and moved_once else 1 / 8
    assert watched.chosen == [(5, pytest.approx(factor)), (3 + 1, pytest.approx(factor))]
    person = 2 if relation == "replace" else 1
    assert watched.counted == [(6, pytest.approx(2 * person))]


def test_a_single_candidate_is_no_choice_and_costs_nothing(watched):
    method = fit(FRAME, Schema(columns=(C, Y), target="y"))
    assert method.steps_ == [("c", "(any)")]
    assert [(e.mechanism, e.epsilon_nominal) for e in method.ledger_.entries] == [("laplace", 1)]
    assert not watched.chosen


@pytest.mark.parametrize(
    ("criterion", "relation", "cost"),
    [("Max", "add_remove", 3 / 4), ("Max", "replace", 1), ("InfoGain", "add_remove", 1)],
)
def test_paper_mode_costs_half_of_a_choice_by_what_only_rises(criterion, relation, cost):
    method = fit(mode="published", criterion=criterion, relation=relation, rounds=2)
    assert method.ledger_.epsilon_nominal == pytest.approx(cost)


class Again(JointSpecialization):
    def values(self, *asked):
        return np.tile(super().values(*asked), (20_000, 1))


SMALL = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=2, bins=3),
        Column(name="c", kind="categorical", categories=("u", "v")),
        Y,
    ),
    target="y",
)
FOUR = pd.DataFrame({"n": [0, 1, 2, 2], "c": list("uvuv"), "y": ["no", "no", "yes", "yes"]})


@pytest.mark.parametrize(("relation", "person"), [("add_remove", 1), ("replace", 2)])
def test_weighted_choices_have_their_probabilities(relation, person):
    """Max: 1 + 1 for c; 1 + 2 below 1; 2 + 2 below 2. At exp(t) = 2 the weights are 1 * 4, 8 / 2 and 16 / 2."""
    table = PrivateTable(SMALL.encode(FOUR), SMALL, Ledger(relation), make_noise("laplace", 5))
    divisions, intervals = [("c", np.arange(2))], [("n", 0, 3)]
    score = Again(target="y", classes=2, rated_by=Max(), divisions=divisions, intervals=intervals)
    chosen = table.choose(score, [], epsilon=person * np.log(2), draws=20_000)
    seen = np.bincount(chosen, minlength=3)
    assert chisquare(seen, 20_000 * np.array([4, 4, 8]) / 16).pvalue > 1e-4
    assert table.ledger.epsilon_nominal == pytest.approx(20_000 * person * np.log(2))


def test_without_noise_it_takes_the_best_candidate_of_all(watched):
    """Of 24 rows, 12 have n < 3, all of them "no"; of the rest, "yes" are the 9 that do not have a3.

    Max of a: 6 + 9; of c: 15; of n below 1 to 5: 15, 17, 12 + 9, 13 + 6, 17. Then of a and c still 15, of n 12 and 9.
    """
    frame = pd.DataFrame({"a": np.tile(["a0", "a1", "a2", "a3"], 6), "n": np.repeat(range(6), 4), "c": "u"})
    frame["y"] = np.where((frame["n"] >= 3) & (frame["a"] != "a3"), "yes", "no")
    method = fit(frame, rounds=2)
    assert method.steps_ == [("n", "0–5"), ("a", "*")]
    assert axis(method, "n").names == ("0–2", "3–5")
    assert axis(method, "a").names == ("left", "right")
    assert axis(method, "c").names == ("(any)",)
    assert [size for size, _ in watched.chosen] == [2 + 5, 2 + 2 + 2]


@pytest.mark.parametrize(("kind", "name", "share"), [(DiffGen, "IG", 1 / 4), (DTDiff, "InfoGain", 1 / 2)])
@pytest.mark.parametrize(("classes", "spread"), [(("no", "yes"), 1), (("no", "p", "q", "r"), 2)])
def test_information_gain_pays_for_its_range(classes, spread, kind, name, share, watched):
    schema = Schema(columns=(A, C, Column(name="y", kind="categorical", categories=classes)), target="y")
    how = {"score" if kind is DiffGen else "criterion": name, "rounds": 1}
    for relation in RELATIONS:
        kind(epsilon=1.0, random_state=0, relation=relation, **how).fit(FRAME.assign(y="no"), schema=schema)
    assert watched.chosen == [(2, pytest.approx(share / (2 * spread)))] * 2


@pytest.mark.parametrize("kind", [DiffGen, DTDiff])
def test_no_specialization_makes_more_leaves_than_allowed(kind):
    """All fit, and what was left undivided would not have fitted."""
    for most in (2, 5, 12, 71):
        method = kind(max_leaves=most, rounds=30, epsilon=30.0, random_state=0).fit(FRAME, schema=SCHEMA)
        cells, shape = method.tree_.leaves.size, dict(zip(SCHEMA.names, method.tree_.leaves.shape, strict=True))
        undivided = [column for column in (A, N, C) if axis(method, column.name).sizes.max() > 1]
        more = [cells // shape[c.name] * (shape[c.name] + (2 if c is C else 1)) for c in undivided]
        assert cells <= most < min(more, default=most + 1), most
