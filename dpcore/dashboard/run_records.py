"""Records of comparisons' and figures' runs in the session's ledger, and a table of failed runs."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import experiment
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard.session import Spending
from dpcore.datasets import Dataset
from dpcore.experiment.study import failed_runs
from dpcore.language import retold, say


def record_run(spending: Spending, parts: dict[Any, Ledger], data: Dataset, purpose: str, frame: pd.DataFrame) -> None:
    """Copy a finished run's charge into the session's ledger, unless the run failed.

    `frame` has the lines of the run, with its relation and its error, if any. The worker process
    has charged the ledger store before it drew noise. `parts` holds the parts of the session's
    ledger that earlier runs opened.
    """
    run = frame.iloc[0]
    if run["error"]:
        return
    key = (data.token, run["relation"], purpose)
    if key not in parts:
        parts[key] = spending.ledger_part(data, str(run["relation"]), purpose)
        if run["void"]:
            parts[key].void_because(str(run["void"]))
    parts[key].charge(experiment.entry_of(frame))


def show_failures(frames: Sequence[pd.DataFrame]) -> None:
    """Draw a table of failed runs and their errors, if any run failed."""
    lost = failed_runs(frames).rename(columns={"error": "why"})
    if len(lost):
        text = say("{count:,} runs failed without a result. Their charges stay in the ledger.", count=len(lost))
        st.warning(text)
        kinds = [name for name in ("method", "series", "mode", "why") if name in lost]
        counts = lost.groupby(kinds, sort=False).size().reset_index(name="runs")
        st.dataframe(translate_table(counts), hide_index=True)


def translate_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its texts and headings in the language of the screen."""
    return frame.map(lambda cell: retold(cell) if isinstance(cell, str) else cell).rename(columns=say)
