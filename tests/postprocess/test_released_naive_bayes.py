"""Released naive Bayes classifiers: probabilities by hand, scikit-learn's, JSON there and back, and damage."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.methods.local.ppnb import PPNB
from dpcore.postprocess.naive_bayes import Bayes

SCHEMA = Schema(
    columns=(
        Column(name="x", kind="categorical", categories=("a", "b"), missing=True),
        Column(name="n", kind="continuous", lower=0, upper=10, missing=True, outside="clip"),
        Column(name="unused", kind="categorical", categories=("u", "v")),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
)
PRIOR = np.array([0.25, 0.75])
TABLE = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
NORMAL = np.array([[2.0, 4.0], [6.0, 1.0]])
MODEL = Bayes(SCHEMA, "y", PRIOR, {"x": TABLE}, {"n": NORMAL})


def row(x, n):
    return pd.DataFrame({"x": [x], "n": [n], "unused": ["u"]})


def test_probabilities_by_hand():
    numbers = {3.5: 3.5, -7: 0, 1e9: 10, None: None, math.inf: 10}  # they are moved into their bounds
    for (code, x), (n, moved) in product(enumerate(("a", "b", None)), numbers.items()):
        weights = [
            prior * table[code] * (1 if moved is None else norm.pdf(moved, mean, math.sqrt(variance)))
            for prior, table, (mean, variance) in zip(PRIOR, TABLE, NORMAL, strict=True)
        ]
        np.testing.assert_allclose(MODEL.probability(row(x, n))[0], np.array(weights) / sum(weights), rtol=1e-12)
        np.testing.assert_allclose(MODEL.joint_log(row(x, n))[0], np.log(weights), rtol=1e-12)


def test_rows_that_nothing_explains_still_have_probabilities():
    narrow = Bayes(SCHEMA, "y", PRIOR, {"x": TABLE}, {"n": np.array([[0, 1e-4], [0.1, 1e-4]])})
    np.testing.assert_allclose(narrow.probability(row("a", 10)), [[0, 1]], atol=1e-12)
    alone = Bayes(Schema(columns=SCHEMA.columns[-1:], target="y"), "y", PRIOR, {}, {})
    np.testing.assert_allclose(alone.probability(pd.DataFrame(index=range(3))), [PRIOR] * 3)
    with pytest.raises(DataError, match="'x'"):
        MODEL.probability(row("a", 1).drop(columns="x"))


GOOD, HALVES = MODEL.to_dict(), [[0.5, 0.5], [0.5, 0.5]]
ROWS = ([0.5, 0.3], [0.5, 0.3, 0.1], [0.5, 0.5, 0], [math.inf, 0.3, 0.2], [{}, 0.3, 0.2])
SPREADS = ([[2, 0], [6, 1]], [[True, 4], [6, True]], [[2, 4]], [[2, 4, 0], [6, 1, 0]], "24")
ENDLESS = ([[math.inf, 4], [6, 1]], [[1e200, 4], [1e200, 1]], [[2, 1e-320], [6, 1e-320]])
DAMAGE = {
    "format": ["dpcore forest 1", None],
    "target": ["x", "z", ["y"], "n"],  # another, an unknown one, no text, a number
    "prior": [[], [0.3, 0.75], [0, 1], [-0.5, 1.5], [False, True], None, [math.nan, 1], [[0.25], 0.75]],
    "tables": [None, {"z": HALVES}, {"y": HALVES}, {"x": HALVES}, *({"x": [row, [0.1, 0.8, 0.1]]} for row in ROWS)],
    "normals": [{"unused": [[0, 1], [0, 1]]}, *({"n": wrong} for wrong in (*SPREADS, *ENDLESS))],
}


def test_a_document_is_read_back_and_damage_is_refused():
    back = Bayes.from_dict(SCHEMA, json.loads(json.dumps(GOOD, allow_nan=False)))
    assert (back.to_dict(), back.columns) == (GOOD, ["x", "n"])
    rows = pd.DataFrame({"x": ["a", None, "b"], "n": [1, 7.5, None], "unused": "u"})
    np.testing.assert_array_equal(back.probability(rows), MODEL.probability(rows))
    documents = [None, [], "text", 3, {}, *({name: GOOD[name] for name in GOOD if name != key} for key in GOOD)]
    documents += [{**GOOD, key: value} for key, values in DAMAGE.items() for value in values]
    for document in documents:
        with pytest.raises(SchemaError):
            pytest.fail(f"{Bayes.from_dict(SCHEMA, document)} of {document}")


def test_without_lies_predictions_on_adult_are_those_of_scikit_learn(adult):
    """p0 = 1, a = 1, b = 0: PPNB as printed is plain naive Bayes, row by row."""
    names = [column.name for column in adult.schema if not column.numeric]
    schema = adult.schema.select(names)
    method = PPNB(mode="published", p0=1.0, factors=(1, 0), offsets=(0, 0), alpha=1).fit(adult.train, schema=schema)
    own = [name for name in names if name != schema.target]
    train, test = (schema.select(own).encode(frame) for frame in (adult.train, adult.test))
    label = schema[schema.target].encode(adult.train[schema.target])
    theirs = CategoricalNB(alpha=1.0, min_categories=list(schema.select(own).sizes)).fit(train, label)
    np.testing.assert_array_equal(method.predict_proba(adult.test).argmax(axis=1), theirs.predict(test))
    # Cells without a record have 1 / (s_c + k) in both; nothing is below the floor of a millionth.
    np.testing.assert_allclose(method.predict_proba(adult.test), theirs.predict_proba(test), atol=1e-6)


def test_without_noise_moments_on_adult_are_those_of_scikit_learn(adult):
    names = [column.name for column in adult.schema if column.numeric]
    schema = adult.schema.select([*names, adult.schema.target])
    frame = adult.train.dropna(subset=names)
    method = PPNB(mode="published", factors=(1, 0), offsets=(0, 0)).fit(frame, schema=schema)
    label = schema[schema.target].encode(frame[schema.target])
    clipped = np.column_stack([frame[name].clip(schema[name].lower, schema[name].upper) for name in names])
    theirs = GaussianNB(var_smoothing=0).fit(clipped, label)
    counts = np.bincount(label)
    for j, name in enumerate(names):
        found = method.bayes_.normals[name]
        np.testing.assert_allclose(found[:, 0], theirs.theta_[:, j], rtol=1e-9)
        np.testing.assert_allclose(found[:, 1], theirs.var_[:, j] * counts / (counts - 1), rtol=1e-9)
    np.testing.assert_allclose(method.bayes_.prior, counts / counts.sum())
