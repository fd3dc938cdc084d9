"""What noise costs a forest: its noiseless counts, and two costs apart."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.evaluate import tree_errors
from dpcore.methods import DiffPRFs, NonPrivateForest


@pytest.fixture(scope="module")
def plain(data):
    model = NonPrivateForest(n_trees=5, max_depth=3, resample="full", random_state=1)
    return model.fit(data.train, schema=data.schema).forest_


@pytest.fixture(scope="module")
def released(data):
    return DiffPRFs(epsilon=0.5, n_trees=5, max_depth=3, random_state=1).fit(data.train, schema=data.schema).forest_


def test_noiseless_counts_in_the_same_trees(data, released, plain):
    exact = tree_errors.with_true_counts(released, data.train)
    leaves = released.apply(data.train)
    truth = (data.train["ill"] == "yes").to_numpy().astype(int)
    for index in np.flatnonzero(released.leaf):
        here = truth[leaves[:, released.tree[index]] == index]
        if len(here):
            assert exact.classes[index].tolist() == np.bincount(here, minlength=2).tolist()
        else:  # it predicts as its parent does
            assert exact.classes[index].sum() == 0
            assert exact.probabilities[index] == pytest.approx(exact.probabilities[released.parent[index]])
    roots = exact.level == 0
    assert exact.counts[roots].tolist() == [len(data.train)] * 5
    for name in ("tree", "column", "cut", "noisy"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(released, name))
    exact = tree_errors.with_true_counts(plain, data.train)  # which has them already
    np.testing.assert_allclose(exact.counts, plain.counts, atol=1e-6)
    np.testing.assert_allclose(exact.classes, plain.classes, atol=1e-2)


def test_two_costs_apart(data, released, plain):
    # Every leaf is made to predict the other class: that is noise in leaves, and true counts mend it.
    turned = {name: getattr(released, name)[:, ::-1].copy() for name in ("classes", "probabilities")}
    upset = replace(released, **turned)
    steps = ["released", "same trees, noiseless counts", "noiseless trees"]
    assert list(tree_errors.STEPS) == steps

    def accuracies(forest, data=data):
        frame = tree_errors.noise_and_structure(forest, plain, data).set_index("step")
        return frame.loc[steps, "accuracy"].tolist()

    upset_by_noise, same_trees, noiseless = accuracies(upset)
    assert upset_by_noise < 0.5 < same_trees
    assert same_trees == accuracies(released)[1]
    truth = (data.test["ill"] == "yes").to_numpy().astype(int)
    assert noiseless == (plain.probability(data.test).argmax(axis=1) == truth).mean()
    # True counts are those of the training rows: with other test rows they are wrong.
    turned = data.test.assign(ill=np.where(truth, "no", "yes"))
    assert max(accuracies(released, replace(data, test=turned))[1:]) < 0.5
