"""The one loop of all experiments: methods are fitted, sampled and scored, and become rows of a frame.

A run is a method and labels, and a study is runs on some data. What makes and scores them reads
real rows, so nothing that comes back is private. Whoever asks for runs opens the ledger that each
of them charges, before it is handed out.

The processes are the loop's own, and end with it or with their program.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count, effective_n_jobs
from joblib.externals import loky
from sklearn.base import clone

from dpcore.accounting.ledger import EPSILONS, Ledger
from dpcore.arguments import Progress, no_progress
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import Evaluator, Method, MetricModel
from dpcore.evaluate.learners import Label
from dpcore.methods.base import PrivateClassifier

NewLedger = Callable[[], Ledger]
LOOK, PULSE = 2.0, 0.5  # seconds
TIMES = ("seconds", "cpu_seconds")  # of a run
# there is a worker per core
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True)
class Run:
    """An unfitted method that is to be fitted once, and what tells its rows from others.

    Parameters
    ----------
    method : Synthesizer or PrivateClassifier
        The method, with its epsilon and seed.
    labels : mapping, optional
        Columns that all of its rows in the frame have, with their values.
    told : str, optional
        What texts of progress call it.
    """

    method: Method
    labels: Mapping[str, Any] = field(default_factory=dict)
    told: str = ""  # in the text of progress

    @property
    def shared(self) -> dict[str, Any]:
        """What all of its rows in the frame have in common from the start."""
        return {**self.labels, "relation": str(self.method.relation)}


@dataclass
class Study:
    """Runs on some data, and how each is fitted, sampled and scored; workers are sent it once."""

    data: Dataset
    runs: Sequence[Run] = ()
    rows: int | None = None  # to sample; by default what each method gives, and with 0 none
    # measures, by the runs' methods
    asked: Mapping[str, Sequence[MetricModel]] = field(default_factory=dict)
    label: Label | None = None  # what an SVM is to tell

    @cached_property
    def evaluator(self) -> Evaluator:
        """What the runs are measured against, worked out once per process."""
        return Evaluator(self.data, self.label)

    def release(self, run: Run, ledger: Ledger | None, progress: Progress) -> pd.DataFrame:
        """Fit the run's method, and draw its rows; a classifier has none."""
        fitted = run.method.fit(self.data.train, schema=self.data.schema, ledger=ledger, progress=progress)
        return pd.DataFrame() if self.rows == 0 or isinstance(fitted, PrivateClassifier) else fitted.sample(self.rows)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """The run's rows, but for its labels and what it cost: `metric`, `model`, `value`."""
        pairs, fitted = self.pairs(run), run.method
        if not pairs:
            return table_of(pairs, ())
        if isinstance(fitted, PrivateClassifier):
            return table_of(pairs, self.evaluator.of_classifier(fitted, pairs))
        return table_of(pairs, self.evaluator.of_rows(fitted, synthetic, pairs))

    def lost(self, run: Run, reason: DPCoreError) -> pd.DataFrame:
        """The same of a run that could not be made; or `reason`, raised, if nothing is to go on without it."""
        return table_of(self.pairs(run), np.nan)

    def pairs(self, run: Run) -> Sequence[MetricModel]:
        """What a run is scored by."""
        return self.asked.get(run.labels.get("method", ""), ())

    def stream(
        self,
        *,
        ledgers: Callable[[Run], NewLedger | None] = lambda _: None,
        n_jobs: int = 1,
        progress: Progress = no_progress,
    ) -> Generator[tuple[int, pd.DataFrame]]:
        """The place of a run among all, and its rows, as they finish.

        Closing it kills its workers, and nobody else's. `ledgers` gives, when a run is handed out,
        what makes the ledger that it charges: picklable, if there are workers. The rows are those
        of `values`, with the run's labels, `relation`, `seconds` and `cpu_seconds` (of fit and
        sampling, by the clock and of the processor), what it cost and `error`: why it could not be
        made, or "". What cannot be scored ends the loop, before more is spent. With one job at a
        time everything is done here, and `progress` is told of it; else it is called twice a
        second, so that whoever raises in it does not wait for a run to end. joblib's own workers
        are shared by all threads of a process: who stops waiting for them stops them for everybody.
        """
        jobs = ((index, run, ledgers(run)) for index, run in enumerate(self.runs))
        count = len(self.runs)
        wanted = min(effective_n_jobs(n_jobs), count)
        if wanted <= 1:
            for index, run, new_ledger in jobs:

                def within(part: float, text: str, index: int = index, told: str = run.told) -> None:
                    progress((index + part) / count, ": ".join(filter(None, (told, text))))

                within(0.0, "")
                yield one_run(self, index, run, new_ledger, within)
            return
        with hire(wanted) as allowed:
            workers = loky.ProcessPoolExecutor(allowed, initializer=begin, initargs=(self,), env=THREADS)
            waiting = (workers.submit(work, *job) for job in jobs)
            try:
                # all, and loky forgets some when it is told to kill
                under_way = set(islice(waiting, 2 * allowed))
                done = 0
                while under_way:
                    finished, under_way = wait(under_way, PULSE, FIRST_COMPLETED)
                    progress(done / count, "")
                    done += len(finished)
                    yield from (future.result() for future in finished)
                    under_way |= set(islice(waiting, len(finished)))
            finally:
                workers.shutdown(kill_workers=True)


def table_of(pairs: Sequence[MetricModel], values: Sequence[float] | float) -> pd.DataFrame:
    """What was scored, as rows; one row of nothing if nothing was."""
    found = pd.DataFrame(pairs, columns=["metric", "model"]).assign(value=values)
    return found if pairs else pd.DataFrame(index=[0])


_hired = 0  # by all loops of this process
_hiring = threading.Lock()
_sent: list[Study] = []  # to a worker, with what it has worked out for it


@contextmanager
def hire(wanted: int) -> Iterator[int]:
    """How many workers a loop may have: what it wants, and less, down to one, while others have some."""
    global _hired
    with _hiring:
        count = max(1, min(wanted, max(wanted, cpu_count()) - _hired))
        _hired += count
    try:
        yield count
    finally:
        with _hiring:
            _hired -= count


def failed_runs(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The first row of each run that failed."""
    firsts = pd.concat([frame.head(1) for frame in frames])
    return firsts[firsts["error"] != ""]


def begin(study: Study) -> None:
    """What a worker does first: keep the study, and see to it that it ends when its parent does.

    A worker whose parent was killed would finish its run, and wait for its next order for ever,
    with the real rows in its memory.
    """
    _sent.append(study)
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


def work(index: int, run: Run, new_ledger: NewLedger | None) -> tuple[int, pd.DataFrame]:
    """One run in a worker."""
    return one_run(_sent[0], index, run, new_ledger)


def one_run(
    study: Study, index: int, run: Run, new_ledger: NewLedger | None, progress: Progress = no_progress
) -> tuple[int, pd.DataFrame]:
    """Fit, sample and score once; the run's index and its rows."""
    run = replace(run, method=clone(run.method))  # what it learns is not kept beyond this run
    start = np.array([time.perf_counter(), time.process_time()])
    try:
        synthetic = study.release(run, None if new_ledger is None else new_ledger(), progress)
    except DPCoreError as reason:
        lost = dict.fromkeys((*TIMES, *EPSILONS), np.nan)
        return index, study.lost(run, reason).assign(**run.shared, **lost, void="", error=str(reason))
    times = dict(zip(TIMES, [time.perf_counter(), time.process_time()] - start, strict=True))
    return index, study.values(run, synthetic).assign(**run.shared, **times, **run.method.ledger_.epsilons, error="")
