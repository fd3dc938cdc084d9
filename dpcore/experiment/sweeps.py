"""Sweeps: methods x epsilons x repeats, as runs of the one loop and as one frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpcore.accounting.ledger import EPSILONS, Entry
from dpcore.accounting.relation import exact
from dpcore.arguments import Progress, no_progress
from dpcore.datasets import Dataset
from dpcore.evaluate.evaluator import MEASURES, Method
from dpcore.evaluate.labels import Label
from dpcore.evaluate.learners import MODELS
from dpcore.experiment.config import Config, Place, digest, parameters_of
from dpcore.experiment.store import Store, restored
from dpcore.experiment.study import NewLedger, Run
from dpcore.language import phrase

RUN = phrase("run {run:,}")
PURPOSE = "Comparison"  # what books call its runs
ORDER = ["method", "epsilon", "repeat", "metric", "model"]
COLUMNS = [*ORDER, "value", *EPSILONS, "void", "relation", "seconds", "error"]


def keys_of(runs: Sequence[Run]) -> list[str]:
    """By what a store knows runs: all about them but their labels. Equal unseeded methods are told apart by number."""
    seen: Counter[str] = Counter()
    keys = []
    for run in runs:
        key = digest({**parameters_of(run.method), "epsilon": run.method.epsilon, "repeat": run.labels["repeat"]})
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key} {seen[key]}")
    return keys


def find_finished_runs(config: Config, data: Dataset, store: Place) -> dict[int, pd.DataFrame]:
    """The rows of those runs of a sweep that a place holds already, by their places in its plan."""
    study, records = config.study(data), Store(store, config, data).read()
    found = {
        place: restored(records[key], run.shared, study.pairs(run))
        for place, (run, key) in enumerate(zip(study.runs, keys_of(study.runs), strict=True))
        if key in records
    }
    return {place: frame for place, frame in found.items() if frame is not None}


def stream(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    ledgers: Mapping[str, NewLedger] | None = None,
    store: Place | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
    **how: Any,
) -> Generator[tuple[float, pd.DataFrame]]:
    """Run a sweep, and yield its runs as they finish. Closing it stops the workers.

    Parameters
    ----------
    methods, data, epsilons, ledgers, store, n_jobs
        As for `sweep`. What `store` holds comes first.
    progress : callable, optional
        Called inside of runs with a fraction and a text; raising inside it cancels
        (`Study.stream`).
    **how
        All else of `sweep`.

    Yields
    ------
    fraction : float
        What is done, in (0, 1].
    frame : DataFrame
        One run's rows, as of `sweep`.

    Raises
    ------
    ParameterError, SchemaError, DataError
        As for `sweep`.
    """
    config, books = Config(methods, epsilons, **how), ledgers or {}
    study = config.study(data)
    runs, keys = study.runs, keys_of(study.runs)
    for table in (data.train_sample, data.test_sample):
        data.schema.encode(table)  # what does not fit is said here, once
    kept = None if store is None else Store(store, config, data)
    earlier = {} if store is None else find_finished_runs(config, data, store)
    for done, frame in enumerate(earlier.values(), 1):
        yield done / len(runs), frame
    missing = [place for place in range(len(runs)) if place not in earlier]
    rest = replace(study, runs=[runs[place] for place in missing])
    how = {"ledgers": lambda run: books.get(run.labels["method"]), "n_jobs": n_jobs, "progress": progress}
    with closing(rest.stream(**how)) as found:
        for done, (place, frame) in enumerate(found, len(earlier) + 1):
            if kept is not None:
                kept.add(keys[missing[place]], frame)
            yield done / len(runs), frame


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
    skip: bool = False,
    ledgers: Mapping[str, NewLedger] | None = None,
    store: Place | None = None,
    n_jobs: int = -1,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Run methods at several epsilons, and measure how good each release is. Not private.

    Every run is a release of the training rows and charges a ledger of its own.

    Parameters
    ----------
    methods : mapping of str to Synthesizer or PrivateClassifier
        Unfitted methods under names for the chart; their epsilon is replaced.
    data : Dataset
        With a target, if accuracy is measured.
    epsilons : sequence of float
        The epsilons, positive.
    repeats : int, default=5
        How often each method runs at each epsilon. A `random_state` s becomes s, s + 1, ...
    measures : sequence of str
        Some of `MEASURES`: accuracies of `models` on real test rows; mean distances to the training
        rows; the mean error of range queries, as a share of the rows; a linear SVM's errors about
        `label` on real test rows, or, as paper 001 has it, on other synthetic rows. Private
        classifiers have `CLASSIFIER_MEASURES` on real test rows, with the model "". Default:
        "accuracy".
    models : sequence of str
        Names from `evaluate.MODELS`. Default: "logistic regression".
    label : Label, optional
        What the SVM is to tell.
    rows : int, optional
        Rows to sample per run; by default what each method gives.
    skip : bool, default=False
        Whether a measure that a method cannot have is left out for it instead of refused.
    ledgers : mapping of str to callable, optional
        By method, what makes a new ledger for each of its runs to charge, in a worker; it must be
        picklable.
    store : Path or dict, optional
        A folder, or a dict, in which finished runs are kept, and from which those are taken that
        are there already: a sweep that was stopped, or killed, goes on. See `Store`; what it holds
        was measured on real rows, not privately.
    n_jobs : int, default=-1
        Processes, as in joblib. The values do not depend on it.
    progress : callable, optional
        Called after every run; raising inside it cancels the sweep.

    Returns
    -------
    DataFrame
        One row per run, metric and model with `COLUMNS`; values in [0, 1], but for errors of range
        queries, which may be larger. A run that fails has its reason in `error` and NaN in `value`.
        `seconds` are of fit and sampling.

    Raises
    ------
    ParameterError, SchemaError
        If there is nothing to run, or a measure does not fit a method or the data set.
    DataError
        If the rows do not fit the schema, or the store cannot be read or written.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> methods = {"independent": dp.IndependentMarginals(random_state=1)}
    >>> how = {"measures": ["1-way AVD"], "repeats": 1, "n_jobs": 1}
    >>> found = dp.experiment.sweep(methods, data, epsilons=[0.1, 1.0], **how)
    >>> found[["epsilon", "metric", "epsilon_claimed"]]
       epsilon     metric  epsilon_claimed
    0      0.1  1-way AVD              0.1
    1      1.0  1-way AVD              1.0
    """
    frames = []
    how: dict[str, Any] = {"measures": measures, "models": models, "label": label, "skip": skip}
    how |= {"epsilons": epsilons, "repeats": repeats, "rows": rows}
    how |= {"ledgers": ledgers, "store": store, "n_jobs": n_jobs}
    with closing(stream(methods, data, **how)) as found:
        for fraction, frame in found:
            frames.append(frame)
            progress(fraction, RUN.format(run=len(frames)))
    return join_runs(frames)


def join_runs(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Runs in a fixed order, whatever the order in which they finished."""
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values(ORDER, ignore_index=True)


def entry_of(frame: pd.DataFrame) -> Entry:
    """Return one run's rows as an entry for a list of what was spent.

    The run's own ledger has stayed in its process.

    Parameters
    ----------
    frame : DataFrame
        The run's rows, as of `sweep`.

    Returns
    -------
    Entry
        Its claimed and nominal epsilon.
    """
    run = frame.iloc[0]
    return Entry(
        name=phrase("release at epsilon {epsilon}").format(epsilon=f"{run['epsilon']:g}"),
        mechanism="release",
        epsilon_claimed=exact(float(run["epsilon_claimed"])),
        epsilon_nominal=exact(float(run["epsilon_nominal"])),
        sensitivity=np.nan,
        claimed_sensitivity=np.nan,
        scale=np.nan,
    )
