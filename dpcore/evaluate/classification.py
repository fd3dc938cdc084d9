"""How good released classifiers are on real rows, and what the noise took from them. Nothing here is private."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.learners import Judged
from dpcore.postprocess.forest import Forest, recounted

Model = Callable[[pd.DataFrame], Floats]
PLAIN = "same builder without noise"
STEPS = ("released", "same trees, exact counts", "exact trees")


def judged(probability: Floats, truth: NDArray[Any], classes: int) -> Judged:
    """Probabilities, shape (n, classes), against class codes; the most probable class counts, the first of several."""
    if probability.shape != (len(truth), classes):
        raise ParameterError("There is not one probability per row and class.", "Pass an array (rows, classes).")
    if not len(truth):
        raise DataError("There are no rows to judge by.", "Use data with at least one row.")
    return Judged.of(truth, probability.argmax(axis=1), classes)


def scores(models: Mapping[str, Model], test: pd.DataFrame, schema: Schema, target: str) -> pd.DataFrame:
    """`model`, `accuracy` and `balanced_accuracy` of models, which give rows' probabilities (n, classes), on rows."""
    truth, classes = schema[target].encode(test[target]), schema[target].size
    found = {name: judged(model(test), truth, classes) for name, model in models.items()}
    rows = [(name, one.accuracy, one.balanced_accuracy) for name, one in found.items()]
    return pd.DataFrame(rows, columns=["model", "accuracy", "balanced_accuracy"])


def noise_and_structure(released: Forest, plain: Forest, data: Dataset) -> pd.DataFrame:
    """What noisy counts in leaves cost, apart from what noisily chosen divisions cost. Not private.

    `step`, `accuracy`, `balanced_accuracy`, one row for each of `STEPS`: the release; its trees with the true numbers
    of all training rows by class in their leaves; and `plain`, what the same builder makes of the rows without noise.
    From the first to the second, accuracy is lost by noise in leaves; from the second to the third, by the trees'
    structure.
    """
    forests = zip(STEPS, (released, with_true_counts(released, data.train), plain), strict=True)
    models = {step: forest.probability for step, forest in forests}
    return scores(models, data.test, released.schema, released.target).rename(columns={"model": "step"})


def confusion_frame(confusion: Ints, labels: Sequence[str]) -> pd.DataFrame:
    """`truth`, `predicted`, `count`, and `share` of the true class's rows (NaN if it has none); true classes first."""
    pairs = pd.MultiIndex.from_product([list(labels), list(labels)], names=["truth", "predicted"])
    rows = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, rows, out=np.full(confusion.shape, np.nan), where=rows > 0)
    return pairs.to_frame(index=False).assign(count=confusion.ravel(), share=shares.ravel())


def with_true_counts(forest: Forest, train: pd.DataFrame) -> Forest:
    """The same trees with the true numbers of rows by class in all nodes; every row is in every tree. Not private.

    A node without rows takes after its parent, as in a release.
    """
    truth, width = forest.schema[forest.target].encode(train[forest.target]), forest.classes.shape[1]
    size = len(forest.tree)
    flat = np.zeros(size * width)
    for leaves in forest.apply(train).T:
        flat += np.bincount(leaves * width + truth, minlength=size * width)
    return recounted(forest, flat.reshape(size, width))
