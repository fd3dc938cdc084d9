"""Sweeps: methods x epsilons x repeats on one data set, as a tidy frame.

Synthesizers are measured by their synthetic rows, private classifiers by what they predict. Every run is a release of
its own and costs its epsilon; their sum is what showing all of them would cost. The accuracy is measured on real rows
and is never private.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from dpcore.classifiers import MODELS, tstr_codes
from dpcore.classifying import PrivateClassifier
from dpcore.column import Codes
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError, ParameterError
from dpcore.estimator import Synthesizer
from dpcore.evaluate import Label, marginal_avd_codes, misclassification
from dpcore.judging import judged
from dpcore.ledger import Ledger
from dpcore.progress import Progress, no_progress

__all__ = ["CLASSIFIER_MEASURES", "COLUMNS", "MEASURES", "Method", "Run", "plan", "stream", "sweep", "tidy"]

COLUMNS = [
    "method",
    "epsilon",
    "repeat",
    "metric",
    "model",
    "value",
    "epsilon_claimed",
    "epsilon_bound",
    "relation",
    "seconds",
    "error",
]
AVDS = {f"{degree}-way AVD": (degree, "columns") for degree in (1, 2, 3)}
AVDS |= {f"{degree}-way AVD on bits": (degree, "bits") for degree in (2, 3)}
PROTOCOLS = {"SVM error": "tstr", "SVM error on synthetic rows": "paper"}
MEASURES = ("accuracy", *AVDS, *PROTOCOLS)  # of synthesizers
CLASSIFIER_MEASURES = ("accuracy", "balanced accuracy")
MOST_SUBSETS = 1_000  # of columns, drawn at random where there are more
Method = Synthesizer | PrivateClassifier
NewLedger = Callable[[], Ledger]


@dataclass(frozen=True)
class Run:
    """One cell of a sweep: a named method at one epsilon, once."""

    label: str
    method: Method
    repeat: int


def plan(methods: Mapping[str, Method], epsilons: Sequence[float], repeats: int) -> list[Run]:
    """The runs of a sweep, repeats outermost, so that a sweep that is cut short has whole curves.

    A method with a `random_state` s gets s + repeat, so that repeats differ and the sweep repeats.
    """
    if not methods or not epsilons or repeats < 1:
        raise ParameterError("The sweep has nothing to run.", "Choose a method, an epsilon and one repeat or more.")
    runs = []
    for repeat in range(repeats):
        for label, method in methods.items():
            for epsilon in epsilons:
                copy = clone(method).set_params(epsilon=float(epsilon))
                if method.random_state is not None:
                    copy.set_params(random_state=method.random_state + repeat)
                runs.append(Run(label, copy, repeat))
    return runs


def stream(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    repeats: int = 5,
    measures: Sequence[str] = MEASURES[:1],
    models: Sequence[str] = MODELS[:1],
    label: Label | None = None,
    rows: int | None = None,
    ledgers: Mapping[str, NewLedger] | None = None,
    n_jobs: int = -1,
) -> Iterator[tuple[float, pd.DataFrame]]:
    """The runs of `sweep` as they finish: the fraction done and one run's rows. Closing it stops the workers.

    `ledgers` gives, by method, new ledgers to charge, and is sent to the workers.
    """
    runs = plan(methods, epsilons, repeats)
    asked = [check_measures(measures, data, models, label, run.method) for run in runs]
    train, test = data.schema.encode(data.train), data.schema.encode(data.test)
    pairs = zip(runs, asked, strict=True)
    books = ledgers or {}
    jobs = (delayed(one_run)(run, data, train, test, found, label, rows, books.get(run.label)) for run, found in pairs)
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered", max_nbytes=None)(jobs)  # no row on a disk
    try:
        for done, frame in enumerate(found, start=1):
            yield done / len(runs), frame
    finally:
        with warnings.catch_warnings():  # joblib warns of work that is thrown away; here somebody asked for that
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def sweep(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    repeats: int = 5,
    measures: Sequence[str] = MEASURES[:1],
    models: Sequence[str] = MODELS[:1],
    label: Label | None = None,
    rows: int | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """How good every run's release is, by default by the accuracy of a classifier: itself, or learned from its rows.

    Parameters
    ----------
    methods : mapping of str to Synthesizer or PrivateClassifier
        Unfitted methods under names for the chart; their epsilon is replaced.
    data : Dataset
        With a target, if accuracy is measured.
    epsilons : sequence of float
    repeats : int
    measures : sequence of str
        Some of `MEASURES`: accuracy of `models` on real test rows; mean distances to the training rows; a linear SVM's
        errors about `label` on real test rows, or, as paper 001 has it, on other synthetic rows. Private classifiers
        have `CLASSIFIER_MEASURES` on real test rows, with the model "".
    models : sequence of str
        Names from `evaluate.MODELS`.
    label : Label, optional
        What the SVM is to tell.
    rows : int, optional
        Rows to sample per run; by default what each method gives.
    n_jobs : int
        Processes, as in joblib.
    progress : callable
        Called after every run; raising inside it cancels the sweep.

    Returns
    -------
    DataFrame
        One row per run, metric and model with `COLUMNS`; values in [0, 1]. A run that fails has its reason in `error`
        and NaN in `value`.
    """
    frames = []
    asked: dict[str, Any] = {"measures": measures, "models": models, "label": label}
    found = stream(methods, data, epsilons=epsilons, repeats=repeats, rows=rows, n_jobs=n_jobs, **asked)
    for fraction, frame in found:
        frames.append(frame)
        progress(fraction, f"run {len(frames):,}")
    return tidy(frames)


def tidy(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Runs in a fixed order, whatever the order in which they finished."""
    order = ["method", "epsilon", "repeat", "metric", "model"]
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values(order, ignore_index=True)


def check_measures(
    measures: Sequence[str], data: Dataset, models: Sequence[str], label: Label | None, method: Method
) -> list[tuple[str, str]]:
    """Pairs of metric and model ("" where there is none), if the method and the data can give them."""
    classifies = isinstance(method, PrivateClassifier)
    known = CLASSIFIER_MEASURES if classifies else MEASURES
    unknown = [measure for measure in measures if measure not in known]
    if unknown and classifies and unknown[0] in MEASURES:
        raise ParameterError(
            f"{method.title} releases a classifier and no rows, so {unknown[0]!r} cannot be measured.",
            f"Choose from {', '.join(known)}.",
        )
    if unknown or not measures:
        raise ParameterError("A measure is not known.", f"Choose from {', '.join(known)}.")
    target = getattr(method, "target", None) if classifies else None
    if set(measures) & set(CLASSIFIER_MEASURES) and (target or data.schema.target) is None:
        raise ParameterError("A sweep needs a class column.", "Choose a target in the schema.")
    if label is None and set(measures) & set(PROTOCOLS):
        raise ParameterError("The SVM needs something to tell.", "Pass label=Label(column=..., equals=...).")
    degree = max((AVDS[measure][0] for measure in measures if measure in AVDS and "bits" not in measure), default=0)
    if degree > len(data.schema):
        raise ParameterError(f"There are no {degree}-way marginals of so few columns.", "Measure fewer ways.")
    trained = [""] if classifies else models
    return [(measure, model) for measure in measures for model in (trained if measure == "accuracy" else [""])]


def one_run(
    run: Run,
    data: Dataset,
    train: Codes,
    test: Codes,
    asked: Sequence[tuple[str, str]],
    label: Label | None,
    rows: int | None,
    new_ledger: NewLedger | None = None,
) -> pd.DataFrame:
    """Fit, sample and measure once; the rows of the sweep's frame."""
    start = time.perf_counter()
    shared: dict[str, Any] = {
        "method": run.label,
        "epsilon": run.method.epsilon,
        "repeat": run.repeat,
        "relation": str(run.method.relation),
    }
    try:
        ledger = None if new_ledger is None else new_ledger()
        fitted = run.method.fit(data.train, schema=data.schema, ledger=ledger)
        synthetic = pd.DataFrame() if isinstance(fitted, PrivateClassifier) else fitted.sample(rows)
    except DPCoreError as error:
        lost = {"value": np.nan, "epsilon_claimed": np.nan, "epsilon_bound": np.nan, "error": str(error)}
        return pd.DataFrame(
            [{**shared, **lost, "metric": metric, "model": model, "seconds": np.nan} for metric, model in asked]
        )
    shared |= {
        "seconds": time.perf_counter() - start,
        "error": "",
        "epsilon_claimed": fitted.ledger_.epsilon_claimed,
        "epsilon_bound": fitted.ledger_.epsilon_bound,
    }
    if isinstance(fitted, PrivateClassifier):
        values = own_scores(fitted, data, test, [metric for metric, _ in asked])
    else:
        codes = data.schema.encode(synthetic)
        values = [measured(*pair, data, train, test, synthetic, codes, label) for pair in asked]
    found = [
        {**shared, "metric": metric, "model": model, "value": value}
        for (metric, model), value in zip(asked, values, strict=True)
    ]
    return pd.DataFrame(found)


def own_scores(fitted: PrivateClassifier, data: Dataset, test: Codes, metrics: Sequence[str]) -> list[float]:
    """Some `CLASSIFIER_MEASURES` of a released classifier on the test rows."""
    truth = test[:, data.schema.index(fitted.target_)]
    found = judged(fitted.predict_proba(data.test), truth, len(fitted.classes_))
    values = dict(zip(CLASSIFIER_MEASURES, (found.accuracy, found.balanced_accuracy), strict=True))
    return [values[metric] for metric in metrics]


def measured(
    metric: str,
    model: str,
    data: Dataset,
    train: Codes,
    test: Codes,
    synthetic: pd.DataFrame,
    codes: Codes,
    label: Label | None,
) -> float:
    """One metric of one release."""
    schema = data.schema
    if metric in AVDS:
        degree, on = AVDS[metric]
        found = marginal_avd_codes(train, codes, schema, degree, on=on, max_subsets=MOST_SUBSETS)
        return float(found["avd"].mean())
    if label is not None and metric in PROTOCOLS:
        errors = misclassification(data.test, synthetic, schema, label, protocol=PROTOCOLS[metric], repeats=1)
        return float(errors["error"].mean())
    target = schema.target or ""
    scores = tstr_codes(train, test, codes, schema, target, models=[model], include_real=False)
    return float(scores["accuracy"].iloc[0])
