"""How good released classifiers are on real rows, and what the noise took from them. Nothing here is private."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dpcore.arguments import Floats, Ints
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes, Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.learners import MAJORITY, Judged, most_frequent, one_hot, require_rows
from dpcore.postprocess.forest import Forest, recounted

Model = Callable[[pd.DataFrame], Floats]
PLAIN = "same builder without noise"
FOREST, TREE = "scikit-learn forest", "scikit-learn tree"
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
    return tidy({name: model(test) for name, model in models.items()}, truth_of(test, schema, target), schema[target])


def tidy(found: Mapping[str, Floats], truth: NDArray[Any], column: Column) -> pd.DataFrame:
    """One row per model, by its probabilities."""
    of = {name: judged(probability, truth, column.size) for name, probability in found.items()}
    rows = [(name, one.accuracy, one.balanced_accuracy) for name, one in of.items()]
    return pd.DataFrame(rows, columns=["model", "accuracy", "balanced_accuracy"])


def references(
    data: Dataset,
    *,
    target: str,
    n_trees: int = 25,
    max_depth: int = 5,
    plain: Model | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What private classifiers are measured against: models that learned from the real training rows. Not private.

    A function of its arguments alone, so callers may cache it. scikit-learn's models, of which there are none of 0
    trees, see numbers as they are, ordered categories by their place, and others one-hot; `plain` is what the private
    method's own builder makes of these rows without noise.

    Returns
    -------
    DataFrame
        `scores` on the test rows and `private` (False), one row per reference: the majority class of the training rows
        (the first in the schema if several are), `plain`, and scikit-learn's forest and tree; without these two if no
        column but the class is there.
    """
    schema = data.schema
    place, classes = schema.index(target), schema[target].size
    train, test = schema.encode(data.train), schema.encode(data.test)
    require_rows(train, test)
    known = train[:, place]
    found: dict[str, Floats] = {MAJORITY: np.tile(np.eye(classes)[most_frequent(known)], (len(test), 1))}
    if plain is not None:
        found[PLAIN] = plain(data.test)
    if len(schema) > 1 and n_trees:
        learned, asked = (inputs(*pair, schema, place) for pair in ((data.train, train), (data.test, test)))
        for name, model in {
            FOREST: RandomForestClassifier(n_estimators=n_trees, max_depth=max_depth, random_state=seed),
            TREE: DecisionTreeClassifier(max_depth=max_depth, random_state=seed),
        }.items():
            model.fit(learned, known)
            found[name] = np.zeros((len(test), classes))
            found[name][:, model.classes_] = model.predict_proba(asked)
    return tidy(found, test[:, place], schema[target]).assign(private=False)


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
