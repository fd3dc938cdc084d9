"""How good released classifiers are on real rows, and what the noise took from them.

Everything here reads the real rows without noise. The results are therefore never private, whatever the release was:
show them to people who may see the data, and leave them out of what is published. All results are aggregates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.learners import one_hot, require_rows
from dpcore.postprocess.forest import Forest, recounted

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Model = Callable[[pd.DataFrame], Floats]
MAJORITY, PLAIN = "majority class", "same builder without noise"
FOREST, TREE = "scikit-learn forest", "scikit-learn tree"
STEPS = ("released", "same trees, exact counts", "exact trees")


@dataclass(frozen=True, eq=False)
class Judged:
    """How good some predictions are.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        The mean recall of the classes that occur.
    confusion : int array of shape (classes, classes)
        Numbers of rows by true class (rows) and predicted class (columns).
    """

    accuracy: float
    balanced_accuracy: float
    confusion: Ints


def judged(probability: Floats, truth: NDArray[Any], classes: int) -> Judged:
    """Predictions against known classes. Reads real rows: not private.

    Parameters
    ----------
    probability : array of shape (n, classes)
        The most probable class counts, the first of several.
    truth : array of shape (n,)
        Class codes below `classes`.

    Raises
    ------
    DataError
        If there are no rows.
    ParameterError
        If the shapes do not fit each other.
    """
    if probability.shape != (len(truth), classes):
        raise ParameterError("There is not one probability per row and class.", "Pass an array (rows, classes).")
    if not len(truth):
        raise DataError("There are no rows to judge by.", "Use data with at least one row.")
    cells = truth.astype(np.intp) * classes + probability.argmax(axis=1)
    confusion = np.bincount(cells, minlength=classes**2).reshape(classes, classes)
    rows, hits = confusion.sum(axis=1), confusion.diagonal()
    return Judged(
        accuracy=float(hits.sum() / len(truth)),
        balanced_accuracy=float((hits[rows > 0] / rows[rows > 0]).mean()),
        confusion=confusion,
    )


def scores(models: Mapping[str, Model], test: pd.DataFrame, schema: Schema, target: str) -> pd.DataFrame:
    """Accuracies of some models on real rows: not private.

    Parameters
    ----------
    models : mapping of str to callable
        From a frame to the classes' probabilities, shape (n, classes): `PrivateClassifier.predict_proba`,
        `Forest.probability`.
    test : DataFrame
        Rows with their class.
    target : str
        The class column.

    Returns
    -------
    DataFrame
        `model`, `accuracy`, `balanced_accuracy`, one row per model.
    """
    truth, classes = truth_of(test, schema, target), schema[target].size
    return tidy({name: judged(model(test), truth, classes) for name, model in models.items()})


def references(
    data: Dataset,
    *,
    target: str,
    n_trees: int = 25,
    max_depth: int = 5,
    plain: Forest | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What a private forest is measured against: models that learned from the real rows. Not private.

    A function of its arguments alone, so callers may cache it. scikit-learn's models see numbers as they are, ordered
    categories by their place, and others one-hot.

    Parameters
    ----------
    data : Dataset
        Models learn from `train` and are judged on `test`.
    target : str
        The class column.
    n_trees, max_depth : int
        Of scikit-learn's models.
    plain : Forest, optional
        What the private method's own builder makes of these rows without noise.
    seed : int
        scikit-learn's `random_state`.

    Returns
    -------
    DataFrame
        `model`, `accuracy`, `balanced_accuracy` and `private` (False), one row per reference: the majority class of the
        training rows (the first in the schema if several are), `plain`, and scikit-learn's forest and tree; without
        these two if no column but the class is there.
    """
    schema = data.schema
    place, classes = schema.index(target), schema[target].size
    train, test = schema.encode(data.train), schema.encode(data.test)
    require_rows(train, test)
    known, truth = train[:, place], test[:, place]
    most = np.eye(classes)[np.bincount(known, minlength=classes).argmax()]
    found = {MAJORITY: judged(np.tile(most, (len(truth), 1)), truth, classes)}
    if plain is not None:
        found[PLAIN] = judged(plain.probability(data.test), truth, classes)
    if len(schema) > 1:
        learned, asked = (inputs(*pair, schema, place) for pair in ((data.train, train), (data.test, test)))
        models = {
            FOREST: RandomForestClassifier(n_estimators=n_trees, max_depth=max_depth, random_state=seed),
            TREE: DecisionTreeClassifier(max_depth=max_depth, random_state=seed),
        }
        for name, model in models.items():
            model.fit(learned, known)
            probability = np.zeros((len(truth), classes))
            probability[:, model.classes_] = model.predict_proba(asked)
            found[name] = judged(probability, truth, classes)
    return tidy(found).assign(private=False)


def noise_and_structure(released: Forest, plain: Forest, data: Dataset) -> pd.DataFrame:
    """What noisy counts in leaves cost, apart from what noisily chosen divisions cost. Not private.

    Parameters
    ----------
    released : Forest
    plain : Forest
        What the same builder makes of the rows without noise.
    data : Dataset
        The rows that both learned from, and the rows to judge by.

    Returns
    -------
    DataFrame
        `step`, `accuracy`, `balanced_accuracy`, one row for each of `STEPS`: the release; its trees with the true
        numbers of all training rows by class in their leaves; and the plain forest. From the first to the second,
        accuracy is lost by noise in leaves; from the second to the third, by the trees' structure.
    """
    forests = zip(STEPS, (released, with_true_counts(released, data.train), plain), strict=True)
    models = {step: forest.probability for step, forest in forests}
    return scores(models, data.test, released.schema, released.target).rename(columns={"model": "step"})


def confusion_frame(confusion: Ints, labels: Sequence[str]) -> pd.DataFrame:
    """A confusion matrix, tidy.

    Returns
    -------
    DataFrame
        `truth`, `predicted` (labels), `count`, and `share` of the true class's rows (NaN if it has none), one row per
        pair of classes, true classes first.
    """
    pairs = pd.MultiIndex.from_product([list(labels), list(labels)], names=["truth", "predicted"])
    rows = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, rows, out=np.full(confusion.shape, np.nan), where=rows > 0)
    return pairs.to_frame(index=False).assign(count=confusion.ravel(), share=shares.ravel())


def with_true_counts(forest: Forest, train: pd.DataFrame) -> Forest:
    """The same trees with the true numbers of rows by class in all nodes; every row is in every tree. Not private.

    A node without rows takes after its parent, as in a release.
    """
    truth, width = truth_of(train, forest.schema, forest.target), forest.classes.shape[1]
    size = len(forest.tree)
    flat = np.zeros(size * width)
    for leaves in forest.apply(train).T:
        flat += np.bincount(leaves * width + truth, minlength=size * width)
    return recounted(forest, flat.reshape(size, width))


def truth_of(frame: pd.DataFrame, schema: Schema, target: str) -> NDArray[Any]:
    """The rows' classes, as codes."""
    return schema.select([target]).encode(frame)[:, 0]


def inputs(frame: pd.DataFrame, codes: Codes, schema: Schema, target: int) -> Floats:
    """The rows as scikit-learn's trees take them, shape (n, inputs); NaN for missing numbers."""
    parts = []
    for place, column in enumerate(schema):
        if place == target:
            continue
        if column.numeric:
            parts.append(column.numbers(frame[column.name])[:, None])
        elif column.kind == "ordered":
            parts.append(codes[:, [place]].astype(float))
        else:
            parts.append(one_hot(codes[:, [place]], [column.size]).toarray())
    return np.concatenate(parts, axis=1, dtype=np.float32)


def tidy(found: Mapping[str, Judged]) -> pd.DataFrame:
    """One row per model."""
    rows = [(name, one.accuracy, one.balanced_accuracy) for name, one in found.items()]
    return pd.DataFrame(rows, columns=["model", "accuracy", "balanced_accuracy"])
