"""The workers of a sweep: processes that are its own, that do its runs, and that end with it or with their program."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import joblib
import numpy as np
import pandas as pd
from joblib.externals import loky

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.tally import EPSILONS
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import Method, Pair, Yardstick
from dpcore.methods.classifier import PrivateClassifier

__all__ = ["Job", "NewLedger", "Run", "results"]

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
_known: list[Yardstick] = []  # of a worker: what its sweep measures runs against, with what was worked out for it


def results(jobs: Sequence[Job], yardstick: Yardstick, n_jobs: int) -> Generator[tuple[int, pd.DataFrame]]:
    """What `one_run` gives for each job, as they finish. Closing it kills its workers, and nobody else's.

    With one job at a time it is done here. joblib's own workers are shared by all threads of a process: who stops
    waiting for them stops them for everybody.
    """
    wanted = min(joblib.effective_n_jobs(n_jobs), len(jobs))
    if wanted <= 1:
        yield from (one_run(yardstick, *job) for job in jobs)
        return
    with hired(wanted) as count:
        workers = loky.ProcessPoolExecutor(count, initializer=end_with_parent, env=THREADS)
        waiting = (workers.submit(work, yardstick, *job) for job in jobs)
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


def work(sent: Yardstick, *job: Any) -> tuple[int, pd.DataFrame]:
    """One job in a worker, with the yardstick that was sent with its first."""
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
    yardstick: Yardstick,
    place: int,
    run: Run,
    asked: Sequence[Pair],
    rows: int | None,
    new_ledger: NewLedger | None,
) -> tuple[int, pd.DataFrame]:
    """Fit, sample and measure once; the run's place in the plan and its rows of the sweep's frame."""
    data = yardstick.data
    start = time.perf_counter()
    pairs = pd.DataFrame(asked, columns=["metric", "model"])
    try:
        ledger = None if new_ledger is None else new_ledger()
        fitted = run.method.fit(data.train, schema=data.schema, ledger=ledger)
        synthetic = pd.DataFrame() if isinstance(fitted, PrivateClassifier) else fitted.sample(rows)
    except DPCoreError as error:
        lost = dict.fromkeys(("value", *EPSILONS, "seconds"), np.nan)
        return place, pairs.assign(**run.shared, **lost, void="", error=str(error))
    known: dict[str, Any] = {
        "seconds": time.perf_counter() - start,
        **fitted.ledger_.epsilons,
        "error": "",
    }
    if isinstance(fitted, PrivateClassifier):
        values = yardstick.of_classifier(fitted, asked)
    else:
        values = yardstick.of_rows(fitted, synthetic, asked)
    return place, pairs.assign(value=values, **run.shared, **known)
