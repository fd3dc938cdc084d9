"""What noise costs a forest: its noiseless counts, and two costs apart; and the scores of classifiers on test rows."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.evaluate import tree_errors
from dpcore.evaluate.evaluator import Evaluator
from dpcore.methods import DiffPRFs, PlainForest


@pytest.fixture(scope="module")
def plain(data):
    model = PlainForest(n_trees=5, max_depth=3, resample="full", random_state=1)
    return model.fit(data.train, schema=data.schema).forest_


@pytest.fixture(scope="module")
def released(data):
    return DiffPRFs(epsilon=0.5, n_trees=5, max_depth=3, random_state=1).fit(data.train, schema=data.schema).forest_


def test_scores_are_those_of_the_classifier(data):
    fitted = DiffPRFs(n_trees=3, max_depth=2, random_state=1).fit(data.train, schema=data.schema)
    models = {"its own": fitted.predict_proba, "its forest": fitted.forest_.probability}
    frame = Evaluator(data).scores(models, "ill")
    assert list(frame.columns) == ["model", "accuracy", "balanced_accuracy"]
    assert frame["model"].tolist() == ["its own", "its forest"]
    assert frame["accuracy"].tolist() == [fitted.score(data.test)] * 2


def test_noiseless_counts_in_the_same_trees(data, released, plain):
    exact = tree_errors.with_true_counts(released, data.train)
    leaves = released.apply(data.train)
    truth = (data.train["ill"] == "yes").to_numpy().astype(int)
    for place in np.flatnonzero(released.leaf):
        here = truth[leaves[:, released.tree[place]] == place]
        if len(here):
            assert exact.classes[place].tolist() == np.bincount(here, minlength=2).tolist()
        else:  # it predicts as its parent does
            assert exact.classes[place].sum() == 0
            assert exact.probabilities[place] == pytest.approx(exact.probabilities[released.parent[place]])
    roots = exact.level == 0
    assert exact.counts[roots].tolist() == [len(data.train)] * 5
    for name in ("tree", "column", "cut", "noisy"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(released, name))
    # Trees without noise have noiseless counts already.
    exact = tree_errors.with_true_counts(plain, data.train)
    np.testing.assert_allclose(exact.counts, plain.counts, atol=1e-6)
    np.testing.assert_allclose(exact.classes, plain.classes, atol=1e-2)
    assert tree_errors.noise_and_structure(plain, plain, data)["accuracy"].nunique() == 1


def test_two_costs_apart(data, released, plain):
    # Every leaf is made to predict the other class: that is noise in leaves, and true counts mend it.
    turned = {name: getattr(released, name)[:, ::-1].copy() for name in ("classes", "probabilities")}
    upset = replace(released, **turned)
    frame = tree_errors.noise_and_structure(upset, plain, data).set_index("step")
    assert list(frame.index) == list(tree_errors.STEPS)
    mended = tree_errors.noise_and_structure(released, plain, data).set_index("step")
    assert frame.loc["released", "accuracy"] < 0.5 < frame.loc["same trees, noiseless counts", "accuracy"]
    assert (
        frame.loc["same trees, noiseless counts", "accuracy"] == mended.loc["same trees, noiseless counts", "accuracy"]
    )
    truth = (data.test["ill"] == "yes").to_numpy().astype(int)
    assert frame.loc["noiseless trees", "accuracy"] == (plain.probability(data.test).argmax(axis=1) == truth).mean()
    # True counts are those of the training rows: with other test rows they are wrong.
    turned = data.test.assign(ill=np.where(truth, "no", "yes"))
    frame = tree_errors.noise_and_structure(released, plain, replace(data, test=turned)).set_index("step")
    assert (frame.loc[["same trees, noiseless counts", "noiseless trees"], "accuracy"] < 0.5).all()
