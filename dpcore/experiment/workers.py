"""What one worker of a sweep does: a run, while the process that asked for it lives."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpcore.classifying import PrivateClassifier
from dpcore.errors import DPCoreError
from dpcore.ledger import Ledger
from dpcore.measures import Method, Pair, Yardstick

__all__ = ["NewLedger", "Run", "end_with_parent", "one_run"]

NewLedger = Callable[[], Ledger]
LOOK = 2.0  # seconds


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


_latest: dict[str, Yardstick] = {}  # of a worker: what every run of the sweep it works for is measured against


def known_here(token: str, sent: Yardstick) -> Yardstick:
    """The yardstick of a sweep; what was worked out for an earlier run of it is there already."""
    found = _latest.get(token)
    if found is None:
        _latest.clear()
        found = _latest[token] = sent
    return found


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
    place: int,
    run: Run,
    token: str,
    sent: Yardstick,
    asked: Sequence[Pair],
    rows: int | None,
    new_ledger: NewLedger | None = None,
) -> tuple[int, pd.DataFrame]:
    """Fit, sample and measure once; the run's place in the plan and its rows of the sweep's frame."""
    yardstick = known_here(token, sent)
    data = yardstick.data
    start = time.perf_counter()
    pairs = pd.DataFrame(asked, columns=["metric", "model"])
    try:
        ledger = None if new_ledger is None else new_ledger()
        fitted = run.method.fit(data.train, schema=data.schema, ledger=ledger)
        synthetic = pd.DataFrame() if isinstance(fitted, PrivateClassifier) else fitted.sample(rows)
    except DPCoreError as error:
        lost = dict.fromkeys(("value", "epsilon_claimed", "epsilon_bound", "seconds"), np.nan)
        return place, pairs.assign(**run.shared, **lost, error=str(error))
    known: dict[str, Any] = {
        "seconds": time.perf_counter() - start,
        "epsilon_claimed": fitted.ledger_.epsilon_claimed,
        "epsilon_bound": fitted.ledger_.epsilon_bound,
        "error": "",
    }
    if isinstance(fitted, PrivateClassifier):
        values = yardstick.of_classifier(fitted, asked)
    else:
        values = yardstick.of_rows(fitted, synthetic, asked)
    return place, pairs.assign(value=values, **run.shared, **known)
