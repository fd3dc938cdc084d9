"""Measure private trees and forests on Adult, beside other libraries and non-private ones.

    python -m benchmarks.forests            accuracy and balanced accuracy, mean of 5 runs
    python -m benchmarks.forests --paper    paper 003's configuration (25 trees, depth 5), both
                                            modes, both scores
    python -m benchmarks.forests --speed    seconds to fit and to predict, beside scikit-learn's
    python -m benchmarks.forests --codes F  write the encoded rows to F, for diffprivlib_peer.py

Models are fitted on the 30,162 complete training rows and tested on the 15,060 complete test rows.
Sizes and shares are the documented defaults, which were chosen on the bundled sample and on Big5
(`methods.trees.base.sizes_for`), not on these test rows. IBM's diffprivlib does not run with our
version of scikit-learn: `benchmarks/diffprivlib_peer.py` measures it in another environment.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.evaluate import best
from dpcore import datasets
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.evaluate.learners import assess_probabilities
from dpcore.methods import METHODS, DiffPRFs, NonPrivateForest
from dpcore.methods.base import PrivateClassifier

RUNS = 5
EPSILONS = (2.0, 1.0, 0.5, 0.25, 0.1)


def main() -> None:
    """Run the measurement that the arguments select."""
    data = datasets.load("adult")
    if "--speed" in sys.argv:
        speed(data)
    elif "--codes" in sys.argv:
        export(data, sys.argv[-1])
    elif "--paper" in sys.argv:
        tell(paper(data))
    else:
        tell(defaults(data))
        tell(references(data))


def defaults(data: Dataset) -> Iterator[dict[str, Any]]:
    """Measure every private classifier with its defaults, at several epsilons, both relations."""
    for relation in ("add_remove", "replace"):
        for name, method in METHODS.items():
            if issubclass(method, PrivateClassifier) and "corrected" in method.modes and method.paper != "004":
                for epsilon in EPSILONS if relation == "add_remove" else (1.0, 0.1):
                    yield measure_accuracy(f"{name}, {relation}", data, method(epsilon=epsilon, relation=relation))
    for epsilon in EPSILONS:
        yield measure_accuracy("DiffPRFs, cut between bins", data, DiffPRFs(epsilon=epsilon, cuts="bins"))
        for trees in (3, 5):
            yield measure_accuracy(f"DiffPRFs, {trees} trees", data, DiffPRFs(epsilon=epsilon, n_trees=trees))


def paper(data: Dataset) -> Iterator[dict[str, Any]]:
    """Measure 25 trees of depth 5, with the square root of the columns per node."""
    size: dict[str, Any] = {"n_trees": 25, "max_depth": 5, "max_features": "sqrt"}
    for epsilon in (2.0, 1.0, 0.75, 0.5, 0.25, 0.1, 0.05):
        for score in ("Max", "InfoGain"):
            for mode in ("published", "corrected"):
                method = DiffPRFs(epsilon=epsilon, mode=mode, criterion=score, **size)
                yield measure_accuracy(f"{mode}, {score}", data, method)
        yield measure_accuracy("corrected, Gini then Max", data, DiffPRFs(epsilon=epsilon, **size))
        yield measure_accuracy("corrected, all columns", data, DiffPRFs(epsilon=epsilon, n_trees=25, max_depth=5))
    yield measure_accuracy("plain forest", data, NonPrivateForest())
    yield measure_accuracy("plain forest, values", data, NonPrivateForest(categorical_splits="values"))


def measure_accuracy(name: str, data: Dataset, method: PrivateClassifier) -> dict[str, Any]:
    """Return the mean, lowest and highest accuracy of `RUNS` fits as a row of the table."""
    target = data.target or ""
    truth = data.schema.encode(data.test)[:, data.schema.index(target)]
    found = []
    for _ in range(RUNS):
        method.fit(data.train, schema=data.schema)
        result = assess_probabilities(method.predict_proba(data.test), truth, data.schema[target].size)
        found.append((result.accuracy, result.balanced_accuracy))
    accuracy, balanced = np.array(found).T
    sizes = f"{vars(method).get('n_trees_', '')} x {vars(method).get('max_depth_', '')}".strip(" x")
    return {
        "method": name,
        "epsilon": method.epsilon,
        "accuracy": accuracy.mean(),
        "lowest": accuracy.min(),
        "highest": accuracy.max(),
        "balanced": balanced.mean(),
        "trees x depth": sizes,
        "proved": method.ledger_.epsilon_bound,
    }


def references(data: Dataset) -> Iterator[dict[str, Any]]:
    """Return rows for non-private classifiers and the majority class."""
    target = data.target or ""
    codes, test = data.schema.encode(data.train), data.schema.encode(data.test)
    index = data.schema.index(target)
    x, y = np.delete(codes, index, axis=1), codes[:, index]
    x_test, truth = np.delete(test, index, axis=1), test[:, index]

    def row(name: str, epsilon: float, learn: Callable[[int], Any]) -> dict[str, Any]:
        found = []
        for run in range(RUNS):
            predicted = learn(run).fit(x, y).predict(x_test)
            recalls = [(predicted[truth == label] == label).mean() for label in np.unique(truth)]
            found.append(((predicted == truth).mean(), np.mean(recalls)))
        accuracy, balanced = np.array(found).T
        spread = {"lowest": accuracy.min(), "highest": accuracy.max()}
        return {"method": name, "epsilon": epsilon, "accuracy": accuracy.mean(), "balanced": balanced.mean(), **spread}

    share = (truth == np.bincount(y).argmax()).mean()
    yield {"method": "majority class", "epsilon": np.inf, "accuracy": share, "balanced": 1 / data.schema[target].size}
    forest: dict[str, Any] = {"n_estimators": 25, "max_depth": 5}
    yield row("scikit-learn forest", np.inf, lambda run: RandomForestClassifier(random_state=run, **forest))
    yield row("scikit-learn tree", np.inf, lambda run: DecisionTreeClassifier(max_depth=5, random_state=run))


def export(data: Dataset, path: str) -> None:
    """Write the codes, for programs that need another version of scikit-learn."""
    codes, test = data.schema.encode(data.train), data.schema.encode(data.test)
    index = data.schema.index(data.target or "")
    sizes = np.delete(np.array(data.schema.sizes), index)
    np.savez_compressed(
        path,
        x=np.delete(codes, index, axis=1),
        y=codes[:, index],
        x_test=np.delete(test, index, axis=1),
        y_test=test[:, index],
        sizes=sizes,
    )


def speed(data: Dataset) -> None:
    """Print the seconds of fits and predictions, the best of some runs."""
    schema = data.schema
    codes = schema.encode(data.train)
    x, y = codes[:, :-1], codes[:, -1]
    forest: dict[str, Any] = {"n_trees": 25, "max_depth": 5, "max_features": "sqrt"}
    theirs = seconds(lambda: RandomForestClassifier(n_estimators=25, max_depth=5, random_state=0).fit(x, y), 5)
    print(f"scikit-learn, 25 trees of depth 5 on codes: fit {theirs:.3f} s")
    plain = seconds(lambda: NonPrivateForest(**forest, random_state=0).fit(data.train, schema=schema), 5)
    print(f"plain forest, the same: fit {plain:.3f} s, encoding included ({plain / theirs:.2f} x scikit-learn)")
    for resample in ("disjoint", "poisson", "full"):
        method = DiffPRFs(**forest, resample=resample, random_state=0)
        fit = seconds(lambda m=method: m.fit(data.train, schema=schema), 5)
        predict = seconds(lambda m=method: m.predict(data.test), 5)
        print(f"DiffPRFs, {resample}: fit {fit:.3f} s, predict 15,060 rows {predict:.3f} s")
    method = DiffPRFs(**forest, mode="published", random_state=0)
    print(f"DiffPRFs as printed: fit {seconds(lambda: method.fit(data.train, schema=schema), 3):.3f} s")
    rows = np.random.default_rng(0).integers(len(data.train), size=1_000_000)
    large = data.train.iloc[rows].reset_index(drop=True)
    public = datasets.load("adult").schema
    start = time.perf_counter()
    public.encode(large)
    print(f"1,000,000 rows x 14: encoding alone {time.perf_counter() - start:.2f} s")
    for resample in ("disjoint", "full"):
        unbounded = allow_all_rows(public)
        start = time.perf_counter()
        DiffPRFs(**forest, resample=resample, random_state=0).fit(large, schema=unbounded)
        print(f"1,000,000 rows x 14, 25 trees of depth 5, {resample}: fit {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    DiffPRFs(random_state=0).fit(large, schema=allow_all_rows(public))
    print(f"1,000,000 rows x 14, default sizes: fit {time.perf_counter() - start:.2f} s")


def seconds(call: Callable[[], Any], runs: int = 5) -> float:
    """Return the shortest seconds of some runs."""
    return best(call, runs)[0]


def allow_all_rows(schema: Schema) -> Schema:
    """Return the schema with a row bound for the large table."""
    return replace(schema, max_rows=1_000_000)


def tell(rows: Iterator[dict[str, Any]]) -> None:
    """Print rows as a table."""
    frame = pd.DataFrame(list(rows))
    print(frame.to_string(index=False, na_rep="", float_format=lambda v: f"{v:.3f}" if v < 10 else f"{v:g}"))
    print()


if __name__ == "__main__":
    main()
