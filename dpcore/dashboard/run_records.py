"""Finished runs of comparisons and figures, on the session's list of entries."""

from typing import Any

import pandas as pd

from dpcore import experiment
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard.session import Spending
from dpcore.datasets import Dataset


def record_run(spending: Spending, notes: dict[Any, Ledger], data: Dataset, purpose: str, frame: pd.DataFrame) -> None:
    """Put a finished run on the session's list; a worker has charged the ledger before it drew noise.

    A run that failed has shown nobody anything.
    """
    run = frame.iloc[0]
    if run["error"]:
        return
    key = (data.token, run["relation"], purpose)
    if key not in notes:
        notes[key] = spending.note(data, str(run["relation"]), purpose)
        if run["void"]:
            notes[key].void_because(str(run["void"]))
    notes[key].charge(experiment.entry_of(frame))
