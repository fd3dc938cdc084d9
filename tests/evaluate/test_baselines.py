"""What releases are compared with: the same numbers as direct calls, every kind of reference, and rare data."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import evaluate
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.evaluator import FLOOR, FOREST, PLAIN, RANGE_ERROR, REAL, TREE, inputs
from dpcore.evaluate.learners import MAJORITY
from dpcore.methods import NonPrivateForest

KINDS = [MAJORITY, FOREST, TREE]


def values(found):
    return found.set_index(["metric", "model", "reference"])["value"]


def test_references_are_those_of_direct_calls(data):
    wanted = ["accuracy", "balanced accuracy", "2-way AVD", RANGE_ERROR]
    found = evaluate.baselines(data, [REAL, MAJORITY, FLOOR], wanted, models=["Bayes net"])
    assert len(found) == 6
    found = values(found)
    real = evaluate.real_data_baseline(data.train, data.test, data.schema, "ill", models=["Bayes net"])
    real = real.set_index("model")
    assert found["accuracy", "Bayes net", REAL] == real.loc["Bayes net", "accuracy"]
    assert found["accuracy", "", MAJORITY] == (data.test["ill"] == "no").mean()
    assert found["balanced accuracy", "", MAJORITY] == 0.5
    assert found["2-way AVD", "", FLOOR] == evaluate.noise_floor(data.train, data.schema, 2)["avd"].mean()
    # A share p of n resampled rows errs by sqrt(2 p (1 - p) / (pi n)) on average.
    assert 0 < found["range-query error", "", FLOOR] < np.sqrt(0.5 / (np.pi * len(data.train)))


def test_all_kinds_in_the_order_asked_for(data):
    model = NonPrivateForest(n_trees=5, max_depth=3, resample="full", random_state=1)
    plain = model.fit(data.train, schema=data.schema).predict_proba
    found = evaluate.baselines(data, KINDS, plain=plain, n_trees=5, tree_depth=3)
    assert list(dict.fromkeys(found["reference"])) == [*KINDS, PLAIN]
    assert found["metric"].tolist() == ["accuracy", "balanced accuracy"] * 4
    assert all(values(found)["accuracy", "", kind] > 0.8 for kind in (PLAIN, FOREST, TREE))
    assert evaluate.baselines(data, [FLOOR]).empty  # accuracies have none
    with pytest.raises(ParameterError, match="'oracle' is not known"):
        evaluate.baselines(data, ["oracle"])


def test_references_of_rare_data(data, small_schema):
    ill = replace(data, train=data.train[data.train["ill"] == "yes"])
    found = evaluate.baselines(ill, KINDS, ["accuracy"], n_trees=2)["value"]
    assert set(found) == {(data.test["ill"] == "yes").mean()}  # all predict the only class they saw
    many = values(evaluate.baselines(data, KINDS, target="grade", n_trees=2))  # not the schema's class
    assert many["balanced accuracy", "", MAJORITY] == pytest.approx(1 / 3)
    alone = replace(data, schema=small_schema.select(["ill"]))  # nothing can be learned from no column
    assert evaluate.baselines(alone, KINDS)["reference"].unique().tolist() == [MAJORITY]
    assert evaluate.baselines(replace(data, schema=replace(small_schema, target=None)), [REAL]).empty
    with pytest.raises(DataError):
        evaluate.baselines(replace(data, test=data.test.head(0)), KINDS, target="ill")


def test_numbers_reach_scikit_learn_as_they_are(data, small_schema):
    frame = data.test.head(2).assign(**{"a.b[0]:Q": ["y", None], "age": [7, 99], "grade": ["mid", "high"]})
    found = inputs(frame, small_schema.encode(frame), small_schema, 4)
    assert found[0, :6].tolist() == [0, 1, 0, 0, 1, 7]
    assert found[1, :6].tolist() == [0, 0, 0, 1, 2, 99]
    assert found[:, 6] == pytest.approx(frame["height"].to_numpy(), rel=1e-6)
