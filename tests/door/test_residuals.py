"""What rows lack of a model's answer: by hand, never more than the lemma says, and the same wherever rows are."""

from math import exp, sqrt

import numpy as np
import pytest
from private_rows import ADD, BITS, CODES, MODEL, RELATIONS, REPLACE, SCHEMA, door

from dpcore.accounting.currency import Currency
from dpcore.accounting.relation import Relation
from dpcore.door import residuals
from dpcore.door.residuals import DEPTH, GRID, lacking, moved
from dpcore.errors import ParameterError
from dpcore.postprocess.additive import STEPS, Additive
from dpcore.rows import HeldRows

PURE, RHO = Currency.of(0), Currency.of(1e-9)


def test_sums_by_hand():
    """Rows of b = x have scores 2, 1, 0; of y 0, 1, 0; of z 0, 1, and far below, which counts as `DEPTH` behind."""
    found = door().residuals(MODEL, "a", epsilon=1)
    weights = {0: [exp(2), exp(1), 1], 1: [1, exp(1), 1], 2: [exp(-1), 1, exp(-DEPTH)]}
    expected = np.zeros((2, 3))
    for a, b, y in CODES:
        chance = np.array(weights[b]) / sum(weights[b])
        expected[a] += np.eye(3)[y] - chance
    assert found == pytest.approx(expected, abs=6 / GRID)
    assert (found * GRID == np.rint(found * GRID)).all()


def test_no_row_lacks_more_than_the_lemma_says_and_some_lack_nearly_as_much():
    draw = np.random.default_rng(0)
    for classes in (2, 3, 7):
        scores = draw.integers(-DEPTH * STEPS * 2, DEPTH * STEPS * 2, (3_000, classes))
        scores[::3] //= 64
        wrong = np.where(np.arange(3_000) % 2, scores.argmax(axis=1), scores.argmin(axis=1))
        found = lacking(np.zeros(classes, dtype=int), [scores], [np.arange(3_000)], wrong)
        if classes == 2:
            found = found[:, -1:]
        for currency, order in ((PURE, 1), (RHO, 2)):
            norms = np.linalg.norm(found / GRID, ord=order, axis=1)
            most = moved(classes, Relation.ADD_REMOVE, currency)
            assert norms.max() <= most
            assert norms.max() > 0.98 * most
            apart = np.linalg.norm((found[:1000, None] - found[None, 1000:2000]) / GRID, ord=order, axis=2)
            assert apart.max() <= moved(classes, Relation.REPLACE, currency) == 2 * most
    assert [moved(k, Relation.ADD_REMOVE, c) for k in (2, 3) for c in (PURE, RHO)] == [1, 1, 2, sqrt(2)]


def test_a_row_more_moves_the_sums_by_what_it_lacks_alone():
    rows, names = HeldRows(CODES, SCHEMA.sizes), SCHEMA.names
    whole = residuals.sums(rows, MODEL, names, "a")
    for gone in range(len(CODES)):
        kept = [place for place in range(len(CODES)) if place != gone]
        less = residuals.sums(rows.at(np.array(kept)), MODEL, names, "a")
        alone = residuals.sums(rows.at(np.array([gone])), MODEL, names, "a")
        assert (whole == less + alone).all()
        assert (alone[1 - CODES[gone, 0]] == 0).all()


def test_of_two_classes_only_the_second_is_told():
    model = Additive(SCHEMA, "a", np.array([0, 0]), {})
    found = door().residuals(model, "b", epsilon=1)
    assert found.tolist() == [[0.0], [0.5], [-0.5]]  # a: 0 and 1; 0, 1 and 1; 0
    for relation in RELATIONS:
        table = door(relation)
        table.residuals(model, "b", epsilon=1)
        assert [entry.sensitivity for entry in table.ledger.entries] == [{ADD: 1, REPLACE: 2}[relation]]


def test_what_does_not_fit_is_refused_before_it_is_paid_for():
    table = door()
    other = Additive(BITS, "b high", np.array([0, 0]), {})
    for model, column in ((MODEL, "y"), (other, "a")):
        with pytest.raises(ParameterError, match="other columns"):
            table.residuals(model, column, epsilon=1)
    assert not table.ledger.entries
