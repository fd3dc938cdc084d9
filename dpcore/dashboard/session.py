"""What a session remembers: the data, the releases, and what they cost.

All of it lives under a few namespaced keys, as immutable objects. A release is drawn once, on submit; everything on
screen is drawn from it, and what is computed for the screen is remembered with it, so that moving a widget draws no
noise, spends nothing and computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import Books, OpenRun, asked_path
from dpcore.datasets import Dataset

if TYPE_CHECKING:  # the first page does without what makes releases
    from dpcore.export.release import Release
    from dpcore.methods.base import PrivateEstimator


Value = TypeVar("Value")
MOST_REMEMBERED = 60


@dataclass(eq=False)
class Shown:
    """A release with the data it was made from, what was computed for its panels, and redraws that were paid for.

    `redraws` holds what every method's redraws are measured by, `looks` what one method's page measures besides.
    """

    release: Release
    data: Dataset
    memory: dict[str, Any] = field(default_factory=dict)
    redraws: pd.DataFrame | None = None
    looks: pd.DataFrame | None = None


def kept(key: str, make: Callable[[], Value]) -> Value:
    """What the session keeps under a key; made when it is first asked for."""
    if key not in st.session_state:
        st.session_state[key] = make()
    found: Value = st.session_state[key]
    return found


def drop(prefix: str) -> None:
    """Forget all that is kept under keys that begin so."""
    for key in [key for key in st.session_state if str(key).startswith(prefix)]:
        del st.session_state[key]


def asked() -> dict[str, str]:
    """The runs that were asked for and have not begun, by what asked for them."""
    return kept("dpcore.requests", dict[str, str])


def work() -> dict[str, Thread]:
    """Work of this session by its name: what is under way, and what is over and was not looked at yet."""
    return kept("dpcore.work", dict[str, Thread])


def dataset() -> Dataset:
    """The session's data; the bundled sample until somebody chooses other data."""
    return kept("dpcore.data", lambda: datasets.load("sample"))


def set_dataset(data: Dataset) -> None:
    """Use other data from now on. Releases stay on their pages until the next run."""
    st.session_state["dpcore.data"] = data


def shown(page: str) -> Shown | None:
    """The release that a page shows, if any."""
    return shelf().get(page)


def shelf() -> dict[str, Shown]:
    """The releases that pages show. Whoever makes one in a thread takes the shelf before."""
    return kept("dpcore.shown", dict[str, Shown])


def remember(release: Shown, key: str, compute: Callable[[], Value]) -> Value:
    """A value computed once per release; bounded, the oldest go first."""
    if key not in release.memory:
        value = compute()
        while len(release.memory) >= MOST_REMEMBERED:
            release.memory.pop(next(iter(release.memory)))
        release.memory[key] = value
    remembered: Value = release.memory[key]
    return remembered


def books() -> Books:
    """Where spending is written down: a file of the user's, or, if wished, one that goes with the session.

    `$DPCORE_LEDGER` names the file; "session" keeps nothing, for demonstrations that many people use.
    """
    return kept("dpcore.books", lambda: Books(asked_path()))


def hosted() -> bool:
    """Whether this server is for visitors, who must not open a file of whoever started it."""
    return asked_path() is None


def keep_books(path: Path | None) -> None:
    """Write spending down there from now on; None, or a visitor: for this session only."""
    st.session_state["dpcore.books"] = Books(None if hosted() else path)


def accounts() -> dict[tuple[str, str], Ledger]:
    """What this session asked, question by question, by the books' key of the data and relation; they never add up."""
    return kept("dpcore.accounts", dict[tuple[str, str], Ledger])


def spending() -> Spending:
    """Where this session's runs are charged."""
    return Spending(books(), accounts())


@dataclass(frozen=True)
class Spending:
    """Where a session's runs are charged: the books, and its own list of questions. Work in a thread takes it along."""

    books: Books
    accounts: dict[tuple[str, str], Ledger]

    def account(self, data: Dataset, relation: str, purpose: str) -> Ledger:
        """A new part of the data's account, to be charged by one run; every charge is written down before it counts."""
        return self.of_session(data, relation).adopt(self.open_run(data, relation, purpose).ledger())

    def open_runs(
        self, methods: Mapping[str, PrivateEstimator], data: Dataset, purpose: str
    ) -> dict[str, Callable[[], Ledger]]:
        """By method, ledgers for runs in other processes, which write every charge down before it counts.

        What is asked there does not reach this session's list of questions: see `note`.
        """
        runs = {label: self.open_run(data, method.relation, f"{purpose}: {label}") for label, method in methods.items()}
        return {label: run.ledger for label, run in runs.items()}

    def note(self, data: Dataset, relation: str, purpose: str) -> Ledger:
        """A new part of the session's list of questions, for what is written down already."""
        return self.of_session(data, relation).child(purpose)

    def of_session(self, data: Dataset, relation: str) -> Ledger:
        """The session's account of these data."""
        key = self.books.key(data), relation
        return self.accounts.setdefault(key, Ledger(Relation.parse(relation), name=data.name))

    def open_run(self, data: Dataset, relation: str, purpose: str) -> OpenRun:
        """A new line in the books."""
        return self.books.begin(self.books.key(data), self.books.called(data), relation, purpose)
