"""Classifiers that learn from a release and are judged on real rows: by hand, and against a converged fit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from small_tables import frame_of, random_codes, schema_of

from dpcore import evaluate
from dpcore.evaluate import learners
from dpcore.evaluate.learners import bayes_net, one_hot


def test_indicators_and_bayes_net_by_hand():
    matrix = one_hot(np.array([[1, 0], [0, 2]], dtype=np.uint8), [2, 4])
    assert matrix.toarray().tolist() == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0]]
    wide = one_hot(np.array([[255, 299]], dtype=np.uint16), [256, 300])
    assert wide.indices.tolist() == [255, 555]
    # one attribute of 3 values, 2 classes; class 0: values 0, 0, 1; class 1: value 2
    network = bayes_net(np.array([[0], [0], [1], [2]], dtype=np.uint8), np.array([0, 0, 0, 1], dtype=np.uint8), [3], 2)
    prior = [3.5 / 5, 1.5 / 5]
    table = [[2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5], [0.5 / 2.5, 0.5 / 2.5, 1.5 / 2.5]]
    np.testing.assert_allclose(np.exp(network.feature_log_prob_[0]), table)
    joint = np.array([prior[0] * table[0][1], prior[1] * table[1][1]])
    np.testing.assert_allclose(network.predict_proba([[1]])[0], joint / joint.sum())
    # Values and classes that never occur are smoothed: 1.5/3.5 x .5/3 = .0714 and .5/3.5 x 1/4 = .0357.
    network = bayes_net(np.array([[0], [0]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8), [4], 3)
    np.testing.assert_allclose(network.predict_proba([[3]])[0], [0.4, 0.4, 0.2])


def planted(n, seed, *, independent=False):
    """Rows of three attributes whose first one is, or is not, the class."""
    rng = np.random.default_rng(seed)
    schema = schema_of(2, 3, 4, 2)
    codes = random_codes(rng, schema, n)
    codes[:, 3] = rng.random(n) < 0.3 if independent else codes[:, 0]
    return schema, frame_of(schema, codes)


def test_a_separable_class_is_learned():
    schema, train = planted(400, 0)
    (_, test), (_, synthetic) = planted(300, 1), planted(200, 2)
    result = evaluate.tstr(train, test, synthetic, schema, "x3")
    models = list(evaluate.MODELS)
    assert result["model"].tolist() == [*models, *models, "majority class"]
    assert result["trained_on"].tolist() == ["released"] * 3 + ["real"] * 4
    assert (result[["accuracy", "balanced_accuracy"]][:-1] == 1).all(axis=None)
    majority = result.iloc[-1]
    assert majority["accuracy"] == (test["x3"] == train["x3"].mode().item()).mean()
    assert majority["balanced_accuracy"] == 0.5
    assert (result["note"] == "").all()


def test_logistic_regression_agrees_with_a_fully_converged_fit():
    rng, sizes = np.random.default_rng(5), [5, 6, 7]
    schema = schema_of(*sizes, 3)
    codes = random_codes(rng, schema, 3_000)
    codes[:, 3] = (codes[:, 0] + codes[:, 1] * rng.integers(0, 2, 3_000)) % 3
    train, test = codes[:2_000], codes[2_000:]
    how = {"models": ["logistic regression"], "include_real": False}
    result = evaluate.tstr(train, test, train, schema, "x3", **how)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    exact.fit(one_hot(train[:, :3], sizes), train[:, 3])
    predicted = exact.predict(one_hot(test[:, :3], sizes))
    assert result["accuracy"].item() == pytest.approx((predicted == test[:, 3]).mean(), abs=0.002)


def test_what_a_release_lacks_is_remarked():
    """One class, no rows, and classes that only one side knows."""
    schema, train = planted(50, 0)
    one = evaluate.tstr(train, train, train.assign(x3="v1"), schema, "x3", include_real=False)
    assert (one["accuracy"] == (train["x3"] == "v1").mean()).all()
    assert one["note"].str.contains("one class").all()
    none = evaluate.tstr(train, train, train.head(0), schema, "x3", include_real=False)
    assert none[["accuracy", "balanced_accuracy"]].isna().all(axis=None)
    assert none["note"].str.contains("no rows to learn from").all()
    schema = schema_of(3, 4)
    codes = random_codes(np.random.default_rng(0), schema, 90)
    released, test = codes[codes[:, 1] < 2], codes[codes[:, 1] > 0]
    assert evaluate.tstr(codes, test, released, schema, "x1")["accuracy"].between(0, 1).all()
    # a model that always says class 3 has recall 1 on one of the three classes in the test rows
    only = evaluate.tstr(codes[codes[:, 1] == 3], test, released, schema, "x1")
    assert only["balanced_accuracy"].iloc[-1] == pytest.approx(1 / 3)


def test_models_that_fail_or_stop_early_say_so(monkeypatch):
    schema, train = planted(200, 0)

    class Broken(LogisticRegression):
        def fit(self, X, y):
            raise ValueError("planted")

    monkeypatch.setitem(learners.LINEAR, "linear SVM", lambda: Broken())
    result = evaluate.tstr(train, train, train, schema, "x3").set_index(["model", "trained_on"])
    assert result["accuracy"].isna().sum() == 2
    assert "planted" in result.loc[("linear SVM", "released"), "note"]
    monkeypatch.setattr(learners, "MAX_STEPS", 1)
    schema, train = planted(200, 0, independent=True)
    early = evaluate.tstr(train, train, train, schema, "x3", models=["logistic regression"])
    assert early["note"].str.contains("before it converged").sum() == 2
    assert early["accuracy"].notna().all()


def test_judged_by_hand():
    probability = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0], [0.1, 0.9, 0.0]])
    found = learners.assess_probabilities(probability, np.array([0, 0, 0, 1]), 3)
    assert found.accuracy == 0.75  # of two equal ones the first counts
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1) / 2)  # the third class does not occur
    assert found.confusion.tolist() == [[2, 1, 0], [0, 1, 0], [0, 0, 0]]
    frame = learners.confusion_frame(np.array([[3, 1], [0, 0]]), ["no", "yes"])
    assert frame["truth"].tolist() == ["no", "no", "yes", "yes"]
    assert frame["count"].tolist() == [3, 1, 0, 0]
    np.testing.assert_array_equal(frame["share"], [0.75, 0.25, np.nan, np.nan])
