"""Released scores of columns: probabilities by hand, JSON there and back, and damage."""

import json
from math import exp

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.postprocess.additive import MOST, STEPS, Additive

SCHEMA = Schema(
    columns=(
        Column(name="x", kind="categorical", categories=("a", "b"), missing=True),
        Column(name="n", kind="integer", lower=0, upper=9, bins=2, outside="clip"),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
)
X = np.array([[0, 256], [0, 0], [0, -512]])
MODEL = Additive(SCHEMA, "y", np.array([0, 128]), {"x": X, "n": np.zeros((2, 2), dtype=np.int64)})
ROWS = pd.DataFrame({"x": ["a", "b", None], "n": [0, 99, 5]})


def test_probabilities_by_hand():
    odds = np.exp([1.5, 0.5, -1.5])
    np.testing.assert_allclose(MODEL.probability(ROWS)[:, 1], odds / (1 + odds), rtol=1e-12)
    far = Additive(SCHEMA, "y", np.array([0, MOST]), {})
    np.testing.assert_allclose(far.probability(ROWS), [[0, 1]] * 3)
    alone = Additive(Schema(columns=SCHEMA.columns[-1:], target="y"), "y", np.array([0, STEPS]), {})
    np.testing.assert_allclose(alone.probability(pd.DataFrame(index=range(2)))[:, 1], exp(1) / (1 + exp(1)))
    with pytest.raises(DataError, match="'x'"):
        MODEL.probability(ROWS.drop(columns="x"))


def test_columns_that_tell_nothing_are_left_out_of_the_frame():
    frame = MODEL.frame()
    assert MODEL.columns == ["x"]
    assert frame["column"].unique().tolist() == ["x"]
    told = frame[frame["class"] == "yes"]
    assert told["score"].tolist() == [1.0, 0.0, -2.0]
    assert told["value"].tolist() == list(SCHEMA["x"].labels)
    assert Additive(SCHEMA, "y", np.array([0, 0]), {}).frame().empty


def test_json_there_and_back():
    back = Additive.from_dict(SCHEMA, json.loads(json.dumps(MODEL.to_dict())))
    assert back.to_dict() == MODEL.to_dict()
    assert (back.probability(ROWS) == MODEL.probability(ROWS)).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "dpcore additive scores 2"},
        {"target": "n"},
        {"target": "nobody"},
        {"start": [0, 0.5]},
        {"start": [0]},
        {"start": [0, 1 << 63]},
        {"start": [0, MOST + 1]},
        {"start": "no"},
        {"scores": {"x": [[0, 0], [0, 0]]}},
        {"scores": {"x": [[0, 0], [0], [0]]}},
        {"scores": {"x": [[0, "1"], [0, 0], [0, 0]]}},
        {"scores": {"x": [[0, None], [0, 0], [0, 0]]}},
        {"scores": {"y": [[0, 0], [0, 0]]}},
        {"scores": {"nobody": [[0, 0]]}},
        {"scores": None},
    ],
)
def test_damage_is_refused(damage):
    with pytest.raises(SchemaError, match="scores of this schema"):
        Additive.from_dict(SCHEMA, MODEL.to_dict() | damage)
