"""The runs of a sweep: their plan, in many processes, one by one, and as one frame.

The processes are the sweep's own, and end with it or with their program.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import joblib
import numpy as np
import pandas as pd
from joblib.externals import loky

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import exact
from dpcore.accounting.tally import EPSILONS
from dpcore.arguments import Progress, no_progress
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError, ParameterError
from dpcore.evaluate.evaluator import MEASURES, Evaluator, Method, Pair, check_measures
from dpcore.evaluate.labels import Label
from dpcore.evaluate.learners import MODELS, again
from dpcore.experiment.config import Config, Place, digest, parameters_of
from dpcore.experiment.store import Store, restored
from dpcore.methods.base import PrivateClassifier

ORDER = ["method", "epsilon", "repeat", "metric", "model"]
COLUMNS = [*ORDER, "value", *EPSILONS, "void", "relation", "seconds", "error"]


def plan(methods: Mapping[str, Method], epsilons: Sequence[float], repeats: int) -> list[Run]:
    """The runs of a sweep, repeats outermost, so that a sweep that is cut short has whole curves.

    A method with a `random_state` s gets s + repeat, so that repeats differ and the sweep repeats.
    """
    if not methods or not epsilons or repeats < 1:
        raise ParameterError("The sweep has nothing to run.", "Choose a method, an epsilon and one repeat or more.")
    return [
        Run(label, again(method, repeat).set_params(epsilon=float(epsilon)), repeat)
        for repeat in range(repeats)
        for label, method in methods.items()
        for epsilon in epsilons
    ]


def keys_of(runs: Sequence[Run]) -> list[str]:
    """By what a store knows runs: all about them but their labels. Equal unseeded methods are told apart by number."""
    seen: Counter[str] = Counter()
    keys = []
    for run in runs:
        key = digest({**parameters_of(run.method), "epsilon": run.method.epsilon, "repeat": run.repeat})
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key} {seen[key]}")
    return keys


def finished(config: Config, data: Dataset, store: Place) -> dict[int, pd.DataFrame]:
    """The rows of those runs of a sweep that a place holds already, by their places in its plan."""
    runs, records = plan(config.methods, config.epsilons, config.repeats), Store(store, config, data).read()
    asked = asked_of(config, data)
    found = {
        place: restored(records[key], run.shared, asked[run.label])
        for place, (run, key) in enumerate(zip(runs, keys_of(runs), strict=True))
        if key in records
    }
    return {place: frame for place, frame in found.items() if frame is not None}


def asked_of(config: Config, data: Dataset) -> dict[str, list[Pair]]:
    """By method, what its runs are measured by."""
    how: dict[str, Any] = {"models": config.models, "label": config.label, "skip": config.skip}
    named = config.methods.items()
    return {name: check_measures(config.measures, data, method=method, **how) for name, method in named}


def stream(
    methods: Mapping[str, Method],
    data: Dataset,
    *,
    epsilons: Sequence[float],
    ledgers: Mapping[str, NewLedger] | None = None,
    store: Place | None = None,
    n_jobs: int = -1,
    **how: Any,
) -> Iterator[tuple[float, pd.DataFrame]]:
    """The runs of `sweep` as they finish: the fraction done and one run's rows. Closing it stops the workers.

    Its arguments are those of `sweep` but `progress`. What `store` holds comes first.
    """
    config = Config(methods, epsilons, **how)
    runs, asked = plan(methods, epsilons, config.repeats), asked_of(config, data)
    evaluator = Evaluator(data, config.label)
    for table in (data.train, data.test):
        data.schema.encode(table)  # what does not fit is said here, once
    kept = None if store is None else Store(store, config, data)
    keys = [] if kept is None else keys_of(runs)
    earlier = {} if store is None else finished(config, data, store)
    for done, frame in enumerate(earlier.values(), 1):
        yield done / len(runs), frame
    books = ledgers or {}
    jobs: list[Job] = [
        (place, run, asked[run.label], config.rows, books.get(run.label))
        for place, run in enumerate(runs)
        if place not in earlier
    ]
    with closing(results(jobs, evaluator, n_jobs)) as found:
        for done, (place, frame) in enumerate(found, len(earlier) + 1):
            if kept is not None:
                kept.add(keys[place], frame)
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
    """How good every run's release is, by default by the accuracy of a classifier: itself, or learned from its rows.

    Parameters
    ----------
    methods : mapping of str to Synthesizer or PrivateClassifier
        Unfitted methods under names for the chart; their epsilon is replaced.
    data : Dataset
        With a target, if accuracy is measured.
    measures : sequence of str
        Some of `MEASURES`: accuracies of `models` on real test rows; mean distances to the training rows; the mean
        error of range queries, as a share of the rows; a linear SVM's errors about `label` on real test rows, or, as
        paper 001 has it, on other synthetic rows. Private classifiers have `CLASSIFIER_MEASURES` on real test rows,
        with the model "".
    models : sequence of str
        Names from `evaluate.MODELS`.
    label : Label, optional
        What the SVM is to tell.
    rows : int, optional
        Rows to sample per run; by default what each method gives.
    skip : bool
        Whether a measure that a method cannot have is left out for it (`left_out` names them) instead of refused.
    ledgers : mapping of str to callable, optional
        By method, what makes a new ledger for each of its runs to charge, in a worker; it must be picklable.
    store : Path or dict, optional
        A folder, or a dict, in which finished runs are kept, and from which those are taken that are there already: a
        sweep that was stopped, or killed, goes on. See `Store`; what it holds was measured on real rows, not privately.
    n_jobs : int
        Processes, as in joblib. The values do not depend on it.
    progress : callable
        Called after every run; raising inside it cancels the sweep.

    Returns
    -------
    DataFrame
        One row per run, metric and model with `COLUMNS`; values in [0, 1], but for errors of range queries, which may
        be larger. A run that fails has its reason in `error` and NaN in `value`. `seconds` are of fit and sampling.
    """
    frames = []
    asked: dict[str, Any] = {"measures": measures, "models": models, "label": label, "skip": skip, "ledgers": ledgers}
    found = stream(methods, data, epsilons=epsilons, repeats=repeats, rows=rows, store=store, n_jobs=n_jobs, **asked)
    for fraction, frame in found:
        frames.append(frame)
        progress(fraction, f"run {len(frames):,}")
    return tidy(frames)


def tidy(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Runs in a fixed order, whatever the order in which they finished."""
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values(ORDER, ignore_index=True)


def entry_of(frame: pd.DataFrame) -> Entry:
    """One run's rows as an entry for a list of what was spent; its own ledger has stayed in its process."""
    run = frame.iloc[0]
    return Entry(
        name=f"release at epsilon {run['epsilon']:g}",
        mechanism="release",
        epsilon_claimed=exact(float(run["epsilon_claimed"])),
        epsilon_of_noise=exact(float(run["epsilon_of_noise"])),
        sensitivity=np.nan,
        claimed_sensitivity=np.nan,
        scale=np.nan,
    )


NewLedger = Callable[[], Ledger]
LOOK = 2.0  # seconds
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # there is a worker per core


@dataclass(frozen=True)
class Run:
    """One cell of a sweep: a named method at one epsilon, once."""

    label: str
    method: Method
    repeat: int

    @property
    def shared(self) -> dict[str, Any]:
        """What all of its rows in the frame have in common from the start."""
        known = {"method": self.label, "epsilon": self.method.epsilon, "repeat": self.repeat}
        return {**known, "relation": str(self.method.relation)}


Job = tuple[int, Run, Sequence[Pair], int | None, NewLedger | None]
"""The place of a run in the plan, the run, what it is measured by, rows to sample, and what makes its ledger."""

_hired = 0  # by all sweeps of this process
_hiring = threading.Lock()
_known: list[Evaluator] = []  # of a worker: what its sweep measures runs against, with what was worked out for it


def results(jobs: Sequence[Job], evaluator: Evaluator, n_jobs: int) -> Generator[tuple[int, pd.DataFrame]]:
    """What `one_run` gives for each job, as they finish. Closing it kills its workers, and nobody else's.

    With one job at a time it is done here. joblib's own workers are shared by all threads of a process: who stops
    waiting for them stops them for everybody.
    """
    wanted = min(joblib.effective_n_jobs(n_jobs), len(jobs))
    if wanted <= 1:
        yield from (one_run(evaluator, *job) for job in jobs)
        return
    with hired(wanted) as count:
        workers = loky.ProcessPoolExecutor(count, initializer=end_with_parent, env=THREADS)
        waiting = (workers.submit(work, evaluator, *job) for job in jobs)
        try:
            under_way = set(islice(waiting, 2 * count))  # all, and loky forgets some when it is told to kill
            while under_way:
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
                under_way |= set(islice(waiting, len(finished)))
        finally:
            workers.shutdown(kill_workers=True)


@contextmanager
def hired(wanted: int) -> Iterator[int]:
    """How many workers a sweep may have: what it wants, and less, down to one, while others have some."""
    global _hired
    with _hiring:
        count = max(1, min(wanted, max(wanted, joblib.cpu_count()) - _hired))
        _hired += count
    try:
        yield count
    finally:
        with _hiring:
            _hired -= count


def work(sent: Evaluator, *job: Any) -> tuple[int, pd.DataFrame]:
    """One job in a worker, with the evaluator that was sent with its first."""
    if not _known:
        _known.append(sent)
    return one_run(_known[0], *job)


def end_with_parent() -> None:
    """What a worker does first: see to it that it ends when the process ends that it works for.

    A worker whose parent was killed would finish its run, and wait for its next order for ever, with the real rows in
    its memory.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        try:
            parent.join()
        except ValueError:  # a child of the parent's own that was not told what to wait for: loky's, but on Windows
            while os.getppid() == parent.pid:
                time.sleep(LOOK)
        os._exit(1)  # nobody is left to hear of it

    threading.Thread(target=watch, daemon=True).start()


def one_run(
    evaluator: Evaluator, place: int, run: Run, asked: Sequence[Pair], rows: int | None, new_ledger: NewLedger | None
) -> tuple[int, pd.DataFrame]:
    """Fit, sample and measure once; the run's place in the plan and its rows of the sweep's frame."""
    data = evaluator.data
    start = time.perf_counter()
    pairs = pd.DataFrame(asked, columns=["metric", "model"])
    try:
        ledger = None if new_ledger is None else new_ledger()
        fitted = run.method.fit(data.train, schema=data.schema, ledger=ledger)
        synthetic = pd.DataFrame() if isinstance(fitted, PrivateClassifier) else fitted.sample(rows)
    except DPCoreError as error:
        lost = dict.fromkeys(("value", *EPSILONS, "seconds"), np.nan)
        return place, pairs.assign(**run.shared, **lost, void="", error=str(error))
    known: dict[str, Any] = {"seconds": time.perf_counter() - start, **fitted.ledger_.epsilons, "error": ""}
    if isinstance(fitted, PrivateClassifier):
        values = evaluator.of_classifier(fitted, asked)
    else:
        values = evaluator.of_rows(fitted, synthetic, asked)
    return place, pairs.assign(value=values, **run.shared, **known)
