"""Sweeps of private classifiers: their own accuracy on test rows, beside synthesizers or alone."""

import dataclasses

import pytest
from sklearn.base import clone

from dpcore import experiment
from dpcore.datasets import Dataset, split
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import judged
from dpcore.methods import DiffPID3, DiffPRFs, NaiveBayesSynthesizer

BOTH = ["accuracy", "balanced accuracy"]


@pytest.fixture(scope="module")
def data(small_frame, small_schema):
    train, test = split(small_frame, seed=4)
    return Dataset(name="small", train=train, test=test, schema=small_schema)


def methods():
    return {
        "forest": DiffPRFs(n_trees=3, max_depth=2, random_state=3),
        "tree": DiffPID3(max_depth=2, random_state=3),
    }


def test_a_sweep_is_what_direct_calls_give(data):
    frame = experiment.sweep(methods(), data, epsilons=[0.5, 5.0], repeats=2, measures=BOTH, n_jobs=1)
    assert list(frame.columns) == experiment.COLUMNS
    assert len(frame) == 2 * 2 * 2 * 2
    assert set(frame["model"]) == {""}
    assert (frame["error"] == "").all()
    truth = data.schema.encode(data.test)[:, 4]
    for (label, epsilon, repeat), rows in frame.groupby(["method", "epsilon", "repeat"]):
        method = clone(methods()[label]).set_params(epsilon=epsilon, random_state=3 + repeat)
        fitted = method.fit(data.train, schema=data.schema)
        found = judged(fitted.predict_proba(data.test), truth, 2)
        values = rows.set_index("metric")["value"]
        assert values["accuracy"] == found.accuracy == fitted.score(data.test)
        assert values["balanced accuracy"] == found.balanced_accuracy
        assert set(rows["epsilon_of_noise"]) == {epsilon}


def test_classifiers_beside_synthesizers(data):
    mixed = {**methods(), "rows": NaiveBayesSynthesizer(random_state=1)}
    models = ["logistic regression", "Bayes net"]
    frame = experiment.sweep(mixed, data, epsilons=[1.0], repeats=1, models=models, n_jobs=1)
    assert sorted(frame[frame["method"] == "rows"]["model"]) == sorted(models)
    assert frame[frame["method"] != "rows"]["model"].tolist() == ["", ""]
    assert frame["value"].between(0, 1).all()


@pytest.mark.parametrize("measure", ["1-way AVD", "2-way AVD on bits", "SVM error"])
def test_measures_of_rows_are_refused(data, measure):
    with pytest.raises(ParameterError, match="releases a classifier and no rows") as error:
        experiment.sweep(methods(), data, epsilons=[1.0], measures=["accuracy", measure], n_jobs=1)
    assert "balanced accuracy" in str(error.value)


def test_unknown_measures_are_refused(data):
    for named in (methods(), {"rows": NaiveBayesSynthesizer()}):
        with pytest.raises(ParameterError, match="not known"):
            experiment.sweep(named, data, epsilons=[1.0], measures=["beauty"], n_jobs=1)
        with pytest.raises(ParameterError, match="not known"):
            experiment.sweep(named, data, epsilons=[1.0], measures=["accuracy", "beauty"], skip=True, n_jobs=1)


def test_a_classifier_may_have_a_class_of_its_own(data, small_schema):
    none = dataclasses.replace(data, schema=dataclasses.replace(small_schema, target=None))
    with pytest.raises(ParameterError, match="class column"):
        experiment.sweep(methods(), none, epsilons=[1.0], measures=["balanced accuracy"], n_jobs=1)
    own = {"forest": DiffPRFs(n_trees=3, max_depth=2, target="grade", random_state=3)}
    frame = experiment.sweep(own, none, epsilons=[50.0], repeats=1, n_jobs=1)
    fitted = own["forest"].set_params(epsilon=50.0).fit(data.train, schema=none.schema)
    assert frame["value"].tolist() == [fitted.score(data.test)]


def test_a_run_that_fails_says_why(data):
    bad = {"good": methods()["forest"], "bad": DiffPRFs(n_trees=0)}
    frame = experiment.sweep(bad, data, epsilons=[1.0], repeats=1, measures=BOTH, n_jobs=1)
    lost = frame[frame["method"] == "bad"]
    assert lost["metric"].tolist() == BOTH
    assert lost["error"].str.contains("n_trees").all()
    assert lost["value"].isna().all()
    assert frame[frame["method"] == "good"]["value"].notna().all()
