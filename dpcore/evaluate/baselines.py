"""What releases have to be compared with: what real rows teach, what knowing nothing scores, what luck alone does.

Nothing here is private.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dpcore.arguments import Floats
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import AVDS, RANGE_ERROR, SCORES, Evaluator
from dpcore.evaluate.learners import MAJORITY, MODELS, Model, assess, one_hot, real_data_baseline, require_rows
from dpcore.language import phrase

REAL, FLOOR = phrase("trained on real rows"), phrase("a fresh sample of the real rows")
PLAIN = phrase("same method, noiseless")
FOREST, TREE = phrase("scikit-learn forest"), phrase("scikit-learn tree")
KINDS = (REAL, MAJORITY, FOREST, TREE, FLOOR)
DEPTH = 5  # of scikit-learn's tree, if the method has none
TREES, DEEP = 25, 20  # of scikit-learn's forest, at least; a shallow one would make a release look good


def baselines(
    data: Dataset,
    kinds: Sequence[str],
    measures: Sequence[str] = (*SCORES,),
    *,
    models: Sequence[str] = MODELS[:1],
    target: str | None = None,
    plain: Model | None = None,
    n_trees: int = TREES,
    tree_depth: int = DEPTH,
) -> pd.DataFrame:
    """Return all baselines of a data set, for charts. Reads real rows: not private.

    A function of its arguments alone, so callers may cache it.

    Parameters
    ----------
    data : Dataset
        Real training and test rows.
    kinds : sequence of str
        Some of `KINDS`. Of accuracies: what `models` learn from the real training rows; their
        majority class (the first in the schema if several are); scikit-learn's forest and tree,
        which see numbers as they are, ordered categories by their position, and others one-hot, and
        which are left out if no column but the class is there. Of distances and range queries: a
        fresh sample of the training rows.
    measures : sequence of str
        Some of `experiment.MEASURES`; those about an SVM have no baselines. Default: accuracies.
    models : sequence of str
        Some of `MODELS`. Default: the first.
    target : str, optional
        The class column, if not the schema's. Without any there are no baselines of accuracies.
    plain : callable, optional
        What a private method's own builder makes of the training rows without noise: the classes'
        probabilities of rows, shape (n, classes). It is the baseline `PLAIN`.
    n_trees : int, default=25
        The number of trees of scikit-learn's forest.
    tree_depth : int, default=5
        The most levels of scikit-learn's tree.

    Returns
    -------
    DataFrame
        `metric`, `model` ("" if it is for all), `reference`, `value`; accuracies in the order of
        `kinds`.

    Raises
    ------
    ParameterError
        If a kind is not known.
    DataError
        If there are no training or no test rows.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ParameterError(f"The reference {unknown[0]!r} is not known.", f"Choose from {', '.join(KINDS)}.")
    evaluator, schema, target = Evaluator(data), data.schema, target or data.schema.target
    rows: list[tuple[str, str, str, float]] = []
    if FLOOR in kinds:
        rows += [(name, "", FLOOR, evaluator.floor(name)) for name in measures if name in (*AVDS, RANGE_ERROR)]
    asked = [metric for metric in measures if metric in SCORES]
    if asked and target is not None:
        train, test, place = evaluator.train, evaluator.test, schema.index(target)
        require_rows(train, test)
        truth, classes = test[:, place], schema[target].size
        forests = {
            FOREST: RandomForestClassifier(n_estimators=n_trees, max_depth=DEEP, random_state=0),
            TREE: DecisionTreeClassifier(max_depth=tree_depth, random_state=0),
        }
        for kind in (*kinds, *([PLAIN] if plain else [])):
            found: list[tuple[str, Any]] = []
            if kind == REAL:
                real = real_data_baseline(train, test, schema, target, models=models).iloc[:-1]
                found = [(str(one["model"]), one) for _, one in real.iterrows()]
            elif kind == MAJORITY:
                found = [("", real_data_baseline(train, test, schema, target, models=()).iloc[0])]
            elif kind == PLAIN and plain:
                found = [("", evaluator.judged(plain, target))]
            elif kind in forests and len(schema) > 1:
                grown = forests[kind].fit(inputs(data.train_sample, train, schema, place), train[:, place])
                predicted = grown.predict(inputs(data.test_sample, test, schema, place))
                found = [("", assess(truth, predicted, classes))]
            rows += [
                (metric, model, kind, float(getattr(one, SCORES[metric]))) for metric in asked for model, one in found
            ]
    return pd.DataFrame(rows, columns=["metric", "model", "reference", "value"])


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
