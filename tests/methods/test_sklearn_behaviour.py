"""Private classifiers where scikit-learn's are used: pipelines, cross-validation, classes passed apart."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import BudgetError, DataError
from dpcore.methods import PINQID3, DiffPC45, DiffPID3, DiffPRF, DiffPRFs, PlainForest, SuLQID3

METHODS = [DiffPC45, DiffPID3, DiffPRF, DiffPRFs, PINQID3, SuLQID3, PlainForest]
FOREST = DiffPRFs(epsilon=30.0, n_trees=2, max_depth=3, random_state=1)

# Classes that a frame may hold as whole numbers, fractions, text or booleans' twins.
ZERO_ONE = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=1, bins=4),
        Column(name="group", kind="categorical", categories=("a", "b")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=500,
)


def zero_one(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    return pd.DataFrame({"x": x, "group": rng.choice(["a", "b"], n), "y": (x > 0.5).astype(int)})


def test_forests_are_classifiers_that_learn(small_frame, small_schema):
    for method in METHODS:
        model = method(max_depth=3, epsilon=50.0, random_state=2)
        assert is_classifier(model), method
        assert not is_regressor(model), method
        found = model.fit(small_frame, schema=small_schema).predict(small_frame)
        assert model.score(small_frame) == accuracy_score(small_frame["ill"], found) > 0.7, method
        assert model.feature_importances_.shape == (4,), method
        assert model.feature_importances_.sum() == pytest.approx(1), method
    with pytest.raises(ValueError, match="nothing_like_it"):
        model.set_params(nothing_like_it=1)
    with pytest.raises(TypeError, match="schema"):
        model.fit(small_frame, small_frame["ill"])


def test_classes_passed_apart_count_and_the_frame_stays_as_it_was(small_frame, small_schema):
    before = small_frame.copy()
    turned = np.where(small_frame["ill"] == "yes", "no", "yes")
    model = clone(FOREST).set_params(epsilon=200.0).fit(small_frame, turned, schema=small_schema)
    assert model.score(small_frame, turned) > 0.8
    assert model.score(small_frame) < 0.2
    pd.testing.assert_frame_equal(small_frame, before)
    # In frames whose index repeats as well, and as a series with another index.
    odd = small_frame.set_index(np.zeros(600, dtype=int))
    for y in (turned, turned.tolist(), pd.Series(turned, index=range(900, 1500))):
        again = clone(FOREST).set_params(epsilon=200.0).fit(odd.drop(columns="ill"), y, schema=small_schema)
        np.testing.assert_array_equal(again.predict_proba(odd), model.predict_proba(small_frame))
        assert again.score(odd, y) == model.score(small_frame, turned)
    np.testing.assert_array_equal(again.predict(odd.assign(ill="never heard of")), again.predict(odd))
    ledger = Ledger("add_remove")
    for words, wrong in (("one class per row", ["no"] * 601), ("declared categories", ["maybe"] * 600)):
        with pytest.raises(DataError, match=words):
            clone(FOREST).fit(small_frame, wrong, schema=small_schema, ledger=ledger)
        with pytest.raises(DataError, match=words):
            model.score(small_frame, wrong)
    assert not ledger.entries


def test_classes_of_another_kind_are_the_same_classes():
    frame = zero_one()
    expected = clone(FOREST).fit(frame, schema=ZERO_ONE)
    assert expected.classes_.tolist() == ["0", "1"]
    for kind in (int, float, np.int8, "Int64", "string"):
        y = frame["y"].astype(kind)
        for given in ((frame.assign(y=y),), (frame.drop(columns="y"), y), (frame.drop(columns="y"), y.to_numpy())):
            model = clone(FOREST).fit(*given, schema=ZERO_ONE)
            np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame))
            assert model.score(frame, y) == model.score(frame.assign(y=y)) == expected.score(frame) > 0.9, kind


@pytest.mark.parametrize("apart", [True, False])
def test_every_fold_of_a_cross_validation_is_charged_in_a_pipeline_too(apart, small_frame, small_schema):
    ledger = Ledger("add_remove", epsilon=6.25 * 5)
    model = clone(FOREST).set_params(epsilon=6.25, random_state=None)  # a cap lets no seed through
    frame, name = (small_frame.drop(columns="ill"), "model__") if apart else (small_frame, "")
    pipeline = Pipeline([("same", "passthrough"), ("model", model)]) if apart else model
    given = {f"{name}schema": small_schema, f"{name}ledger": ledger}
    scores = cross_val_score(pipeline, frame, small_frame["ill"], cv=5, params=given, error_score="raise")
    assert scores.shape == (5,)
    assert ledger.totals.bound == ledger.totals.claimed == 5 * Fraction(6.25)
    assert [child.name for child in ledger.children] == ["DiffPRFs"] * 5
    with pytest.raises(BudgetError, match="needs a total"):
        clone(model).fit(small_frame, schema=small_schema, ledger=ledger)
