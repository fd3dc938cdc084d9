"""Private classifiers where scikit-learn's are used: pipelines, cross-validation, classes passed apart."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import BudgetError
from dpcore.methods import DiffPRFs

FOREST = DiffPRFs(epsilon=30.0, n_trees=2, max_depth=3, random_state=1)

ZERO_ONE = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=1, bins=4),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=500,
)


def zero_one():
    x = np.random.default_rng(0).random(200)
    return pd.DataFrame({"x": x, "y": (x > 0.5).astype(int)})


def test_classes_passed_apart_count_and_the_frame_stays_as_it_was(small_frame, small_schema):
    before = small_frame.copy()
    turned = np.where(small_frame["ill"] == "yes", "no", "yes")
    model = clone(FOREST).set_params(epsilon=200.0).fit(small_frame, turned, schema=small_schema)
    assert is_classifier(model)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.score(small_frame, turned) == accuracy_score(turned, model.predict(small_frame)) > 0.8
    assert model.score(small_frame) < 0.2
    pd.testing.assert_frame_equal(small_frame, before)
    odd = small_frame.set_index(np.zeros(600, dtype=int))
    y = pd.Series(turned, index=range(900, 1500))
    again = clone(FOREST).set_params(epsilon=200.0).fit(odd.drop(columns="ill"), y, schema=small_schema)
    np.testing.assert_array_equal(again.predict_proba(odd), model.predict_proba(small_frame))
    assert again.score(odd, y) == model.score(small_frame, turned)
    np.testing.assert_array_equal(again.predict(odd.assign(ill="never heard of")), again.predict(odd))


@pytest.mark.parametrize("kind", [int, float, "Int64", "string"])
def test_classes_of_another_kind_are_the_same_classes(kind):
    frame = zero_one()
    expected = clone(FOREST).fit(frame, schema=ZERO_ONE)
    assert expected.classes_.tolist() == ["0", "1"]
    y = frame["y"].astype(kind)
    for given in ((frame.assign(y=y),), (frame.drop(columns="y"), y.to_numpy())):
        model = clone(FOREST).fit(*given, schema=ZERO_ONE)
        np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame))
        assert model.score(frame, y) == expected.score(frame) > 0.9


def test_every_fold_of_a_cross_validation_is_charged_in_a_pipeline_too(small_frame, small_schema):
    ledger = Ledger("add_remove", epsilon=6.25 * 5)
    model = clone(FOREST).set_params(epsilon=6.25, random_state=None)  # a cap lets no seed through
    pipeline = Pipeline([("same", "passthrough"), ("model", model)])
    given = {"model__schema": small_schema, "model__ledger": ledger}
    frame, y = small_frame.drop(columns="ill"), small_frame["ill"]
    assert cross_val_score(pipeline, frame, y, cv=5, params=given, error_score="raise").shape == (5,)
    assert ledger.totals.bound == ledger.totals.claimed == 5 * Fraction(6.25)
    assert [child.name for child in ledger.children] == ["DiffPRFs"] * 5
    with pytest.raises(BudgetError, match="needs a total"):
        clone(model).fit(small_frame, schema=small_schema, ledger=ledger)
