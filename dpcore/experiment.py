"""Sweeps: methods x epsilons x repeats on one data set, as a tidy frame.

Every run is a release of its own and costs its epsilon; their sum is what showing all of them would cost.
The accuracy is measured on real rows and is never private.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from dpcore.classifiers import MODELS, tstr_codes
from dpcore.column import Codes
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError, ParameterError
from dpcore.estimator import Synthesizer
from dpcore.progress import Progress, no_progress

__all__ = ["COLUMNS", "Run", "plan", "stream", "sweep", "tidy"]

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


@dataclass(frozen=True)
class Run:
    """One cell of a sweep: a named method at one epsilon, once."""

    label: str
    method: Synthesizer
    repeat: int


def plan(methods: Mapping[str, Synthesizer], epsilons: Sequence[float], repeats: int) -> list[Run]:
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
    methods: Mapping[str, Synthesizer],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    repeats: int = 5,
    models: Sequence[str] = MODELS[:1],
    rows: int | None = None,
    n_jobs: int = -1,
) -> Iterator[tuple[float, pd.DataFrame]]:
    """The runs of `sweep` as they finish: the fraction done and one run's rows. Closing it stops the workers."""
    runs = plan(methods, epsilons, repeats)
    target = data.schema.target
    if target is None:
        raise ParameterError("A sweep needs a class column.", "Choose a target in the schema.")
    train, test = data.schema.encode(data.train), data.schema.encode(data.test)
    jobs = (delayed(one_run)(run, data, train, test, target, tuple(models), rows) for run in runs)
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered", max_nbytes=None)(jobs)  # no row on a disk
    try:
        for done, frame in enumerate(found, start=1):
            yield done / len(runs), frame
    finally:
        with warnings.catch_warnings():  # joblib warns of work that is thrown away; here somebody asked for that
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def sweep(
    methods: Mapping[str, Synthesizer],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    repeats: int = 5,
    models: Sequence[str] = MODELS[:1],
    rows: int | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Accuracy, on real test rows, of classifiers trained on every run's synthetic rows.

    Parameters
    ----------
    methods : mapping of str to Synthesizer
        Unfitted synthesizers under names for the chart; their epsilon is replaced.
    data : Dataset
        With a target.
    epsilons : sequence of float
    repeats : int
    models : sequence of str
        Names from `evaluate.MODELS`.
    rows : int, optional
        Rows to sample per run; by default what each method gives.
    n_jobs : int
        Processes, as in joblib.
    progress : callable
        Called after every run; raising inside it cancels the sweep.

    Returns
    -------
    DataFrame
        One row per run and metric with `COLUMNS`; accuracies in [0, 1]. A run that fails has its reason in `error`
        and NaN in `value`.
    """
    frames = []
    found = stream(methods, data, epsilons=epsilons, repeats=repeats, models=models, rows=rows, n_jobs=n_jobs)
    for fraction, frame in found:
        frames.append(frame)
        progress(fraction, f"run {len(frames):,}")
    return tidy(frames)


def tidy(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Runs in a fixed order, whatever the order in which they finished."""
    order = ["method", "epsilon", "repeat", "metric", "model"]
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values(order, ignore_index=True)


def one_run(
    run: Run, data: Dataset, train: Codes, test: Codes, target: str, models: Sequence[str], rows: int | None
) -> pd.DataFrame:
    """Fit, sample and measure once; the rows of the sweep's frame."""
    start = time.perf_counter()
    shared: dict[str, Any] = {
        "method": run.label,
        "epsilon": run.method.epsilon,
        "repeat": run.repeat,
        "relation": str(run.method.relation),
        "metric": "accuracy",
        "error": "",
    }
    try:
        fitted = run.method.fit(data.train, schema=data.schema)
        released = data.schema.encode(fitted.sample(rows))
    except DPCoreError as error:
        lost = {"value": np.nan, "epsilon_claimed": np.nan, "epsilon_bound": np.nan, "error": str(error)}
        return pd.DataFrame([{**shared, **lost, "model": model, "seconds": np.nan} for model in models])
    seconds = time.perf_counter() - start
    scores = tstr_codes(train, test, released, data.schema, target, models=models, include_real=False)
    scores = scores[scores["trained_on"] == "released"]
    spent = {"epsilon_claimed": fitted.ledger_.epsilon_claimed, "epsilon_bound": fitted.ledger_.epsilon_bound}
    return pd.DataFrame(
        [{**shared, **spent, "model": s.model, "value": s.accuracy, "seconds": seconds} for s in scores.itertuples()]
    )
