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
from dpcore.evaluate.evaluator import Evaluator, MetricModel
from dpcore.evaluate.learners import Label
from dpcore.methods.base import PrivateClassifier, PrivateEstimator, Synthesizer

NewLedger = Callable[[], Ledger]
LOOK, PULSE = 2.0, 0.5  # seconds
TIMES = ("seconds", "cpu_seconds")  # of a run
# there is a worker per core
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True)
class Run:
    """One run to make: an unfitted method, and the labels of its rows in the results.

    Parameters
    ----------
    method : Synthesizer, PrivateClassifier or PlainStatistics
        The method, with its epsilon and seed.
    labels : mapping, optional
        Columns that all of its rows in the frame have, with their values.
    title : str, optional
        The name of the run in progress texts.
    """

    method: PrivateEstimator
    labels: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""

    @property
    def shared_labels(self) -> dict[str, Any]:
        """The columns that all of the run's rows in the results share."""
        return {**self.labels, "relation": str(self.method.relation)}


@dataclass
class Study:
    """Runs on one data set, and how each is fitted, sampled and scored; sent once to each worker.

    `rows` is the number of rows to sample from each release; by default each method decides, and 0
    samples none. `measures` has the (measure, model) pairs to score, by the runs' label "method".
    `label` is what an SVM predicts.
    """

    data: Dataset
    runs: Sequence[Run] = ()
    rows: int | None = None  # to sample; by default what each method gives, and with 0 none
    # measures, by the runs' methods
    measures: Mapping[str, Sequence[MetricModel]] = field(default_factory=dict)
    label: Label | None = None  # what an SVM is to tell

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of the data set, made once per process."""
        return Evaluator(self.data, self.label)

    def release(self, run: Run, ledger: Ledger | None, progress: Progress) -> pd.DataFrame:
        """Fit the run's method and sample synthetic rows; return an empty frame for a classifier."""
        fitted = run.method.fit(self.data.train, schema=self.data.schema, ledger=ledger, progress=progress)
        return fitted.sample(self.rows) if self.rows != 0 and isinstance(fitted, Synthesizer) else pd.DataFrame()

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """Return the run's scores as rows `metric`, `model`, `value`, without labels and costs."""
        pairs, fitted = self.pairs(run), run.method
        if not pairs:
            return table_of(pairs, ())
        if isinstance(fitted, Synthesizer):
            return table_of(pairs, self.evaluator.score_rows(fitted, synthetic, pairs))
        assert isinstance(fitted, PrivateClassifier)
        return table_of(pairs, self.evaluator.score_classifier(fitted, pairs))

    def failure_frame(self, run: Run, reason: DPCoreError) -> pd.DataFrame:
        """Return rows without values for a run that failed, one row per measure.

        A subclass may raise `reason`, which ends the loop over all runs.
        """
        return table_of(self.pairs(run), np.nan)

    def pairs(self, run: Run) -> Sequence[MetricModel]:
        """Return the (measure, model) pairs that a run is scored by, such as ("accuracy", "C4.5")."""
        return self.measures.get(run.labels.get("method", ""), ())

    def stream(
        self,
        *,
        ledgers: Callable[[Run], NewLedger | None] = lambda _: None,
        n_jobs: int = 1,
        progress: Progress = no_progress,
    ) -> Generator[tuple[int, pd.DataFrame]]:
        """Make all runs, and yield the index of each with its rows, as they finish.

        Closing the generator kills its workers, and no others. `ledgers` is called when a run is
        handed out; what it returns makes the ledger that the run charges, and must be picklable if
        there are workers. The rows are those of `values`, with the run's labels, `relation`,
        `seconds` and `cpu_seconds` (of fit and sampling), the losses, and `error`: the reason of a
        failed run, or "". A run that cannot be scored ends the loop before more budget is spent.

        With one job all is done in this process, and `progress` follows each run; else `progress`
        is called twice a second, so that raising in it stops the loop without waiting for a run.
        joblib's shared workers are not used: stopping them would stop those of all threads of the
        process.
        """
        jobs = ((index, run, ledgers(run)) for index, run in enumerate(self.runs))
        count = len(self.runs)
        wanted = min(effective_n_jobs(n_jobs), count)
        if wanted <= 1:
            for index, run, new_ledger in jobs:

                def within(part: float, text: str, index: int = index, title: str = run.title) -> None:
                    progress((index + part) / count, ": ".join(filter(None, (title, text))))

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
    """Return scores as rows `metric`, `model`, `value`; one empty row if nothing was scored.

    `pairs` has the measure and the model of each score; `values` has the scores, or one for all.
    """
    found = pd.DataFrame(pairs, columns=["metric", "model"]).assign(value=values)
    return found if pairs else pd.DataFrame(index=[0])


_hired = 0  # by all loops of this process
_hiring = threading.Lock()
_sent: list[Study] = []  # to a worker, with what it has worked out for it


@contextmanager
def hire(wanted: int) -> Iterator[int]:
    """Reserve up to `wanted` worker processes, fewer while other loops of this process hold some."""
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
    """Return, from the rows of runs, the first row of each run that failed."""
    firsts = pd.concat([frame.head(1) for frame in frames])
    return firsts[firsts["error"] != ""]


def begin(study: Study) -> None:
    """Prepare a worker process: keep the study, and exit when the parent process ends.

    A worker whose parent was killed would otherwise finish its run and wait for more for ever, with
    the real rows in its memory.
    """
    _sent.append(study)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        """End this process as soon as its parent has ended."""
        try:
            parent.join()
        except ValueError:  # a child process without a sentinel: loky's, except on Windows
            while os.getppid() == parent.pid:
                time.sleep(LOOK)
        os._exit(1)  # nobody is left to hear of it

    threading.Thread(target=watch, daemon=True).start()


def work(index: int, run: Run, new_ledger: NewLedger | None) -> tuple[int, pd.DataFrame]:
    """Make one run in a worker process, by the study that `begin` kept there.

    Returns the run's index and its rows; `new_ledger` makes the ledger that the run charges.
    """
    return one_run(_sent[0], index, run, new_ledger)


def one_run(
    study: Study, index: int, run: Run, new_ledger: NewLedger | None, progress: Progress = no_progress
) -> tuple[int, pd.DataFrame]:
    """Fit, sample and score a run once; return its index and its rows.

    `new_ledger` makes the ledger that the run charges, None a ledger of the method's own. A failed
    run has its reason in `error`.
    """
    run = replace(run, method=clone(run.method))  # what it learns is not kept beyond this run
    start = np.array([time.perf_counter(), time.process_time()])
    try:
        synthetic = study.release(run, None if new_ledger is None else new_ledger(), progress)
    except DPCoreError as reason:
        lost = dict.fromkeys((*TIMES, *EPSILONS), np.nan)
        return index, study.failure_frame(run, reason).assign(**run.shared_labels, **lost, void="", error=str(reason))
    times = dict(zip(TIMES, [time.perf_counter(), time.process_time()] - start, strict=True))
    return index, study.values(run, synthetic).assign(
        **run.shared_labels, **times, **run.method.ledger_.epsilons, error=""
    )
