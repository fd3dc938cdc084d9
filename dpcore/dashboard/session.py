"""The state of a session: its data, its releases, and their charges.

All state is stored under a few namespaced keys, as immutable objects. A release is drawn once, when
a user presses Run. The screen is drawn from it, and results that are computed for the screen are
stored with it. So moving a widget draws no noise, spends nothing and computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import LedgerStore, OpenRun, ledger_path
from dpcore.dashboard.hosting import is_hosted
from dpcore.datasets import Dataset

if TYPE_CHECKING:  # imported late: Start needs no releases
    from dpcore.export.release import Release


Value = TypeVar("Value")
SessionLedgers = dict[tuple[str, str, float], Ledger]
"""A session's ledgers, by the ledger store's key of the data, relation and delta."""
MOST_REMEMBERED = 60
THINGS, CONTROLS, ASIDE, BACK = "dpcore.things", "dpcore.controls", "dpcore.aside", "dpcore.back"
STAYS = {"dpcore.visit", "dpcore.learned"}


@dataclass(eq=False)
class ShownRelease:
    """A release on a page, with its data, results computed for its panels, and its charged redraws.

    `redraws` has the measures of repeated runs that every method has; `page_measures` has those of
    one method's page. `settings` are the page's settings when the run started, if known.
    """

    release: Release
    data: Dataset
    settings: tuple[Any, ...] | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    redraws: pd.DataFrame | None = None
    page_measures: pd.DataFrame | None = None
    method: Any = None  # fitted on rows in a folder: it can write more rows
    previous: ShownRelease | None = None  # of the previous run, if of the same data


def keep_once(key: str, make: Callable[[], Value]) -> Value:
    """Return the value under a key of the session, made by `make()` if there is none yet."""
    keys_of_kind(THINGS).add(key)
    if key not in st.session_state:
        st.session_state[key] = make()
    found: Value = st.session_state[key]
    return found


def keep(key: str, value: Value) -> Value:
    """Store a value in the session under a key, and return it."""
    keys_of_kind(THINGS).add(key)
    st.session_state[key] = value
    return value


def keys_of_kind(kind: str) -> set[str]:
    """Return the keys of all stored values, or of all controls whose values last.

    `kind` is `THINGS` for stored values, or `CONTROLS`.
    """
    if kind not in st.session_state:
        st.session_state[kind] = set()
    found: set[str] = st.session_state[kind]
    return found


def preset(key: str, value: Any) -> None:
    """Set a control's value before it is drawn."""
    keys_of_kind(CONTROLS).add(key)
    st.session_state[key] = value


def drop(prefix: str) -> None:
    """Delete all values of the browser session whose keys begin with `prefix`."""
    for key in [key for key in st.session_state if str(key).startswith(prefix)]:
        del st.session_state[key]


def set_session_aside() -> None:
    """Store the session's state away for a lesson, which starts with the sample and its own ledger.

    `restore_session` brings the state back.
    """
    restore_session()
    restore_controls()
    st.session_state[ASIDE] = pop_kind(THINGS), pop_kind(CONTROLS)
    keep("dpcore.data", datasets.load("sample"))
    keep("dpcore.books", LedgerStore(None))


def is_set_aside() -> bool:
    """Return whether the session's own state is stored away, as it is during a lesson."""
    return ASIDE in st.session_state


def restore_session() -> None:
    """Bring back the state that was stored away: values now, controls by `restore_controls`."""
    if is_set_aside():
        pop_kind(THINGS)
        things, st.session_state[BACK] = st.session_state.pop(ASIDE)
        st.session_state.update(things)


def restore_controls() -> None:
    """Bring back the controls that were stored away; call this before any of them is drawn."""
    if BACK in st.session_state:
        pop_kind(CONTROLS)
        st.session_state.update(st.session_state.pop(BACK))


def rewrite_controls() -> None:
    """Write all controls' values again.

    A browser identifies a chosen option by its label, which changes with the language.
    """
    st.session_state.update({key: value for key, value in st.session_state.items() if type(value) in (str, int, float)})


def pop_kind(kind: str, begins: tuple[str, ...] = ("",)) -> dict[str, Any]:
    """Remove and return all values, or all controls, whose keys begin with one of `begins`.

    `kind` is `THINGS` for values, or `CONTROLS`. The visit and the finished lessons stay.
    """
    state = st.session_state
    keys = [key for key in keys_of_kind(kind) - STAYS if key in state and key.startswith(begins)]
    return {key: state.pop(key) for key in keys}


def is_of_people(data: Dataset) -> bool:
    """Return whether rows may be of real people, as in all data but the synthetic sample."""
    return data.reading is not None or data.name != "sample"


def own_data_kind() -> str:
    """Return the kind of the user's own data for the address of the page.

    "folder" is rows on disk, which outlive the session; "1" is other rows; "" is no own data.
    """
    aside = st.session_state[ASIDE][0].get("dpcore.data") if is_set_aside() else None
    own = [data for data in (dataset(), aside) if data is not None and data.reading is not None]
    return "" if not own else "1" if any(data.in_memory for data in own) else "folder"


def waiting_runs() -> dict[str, str]:
    """Return the requested runs that have not started, as {name of the work: its button}."""
    return keep_once("dpcore.requests", dict[str, str])


def jobs() -> dict[str, Thread]:
    """Return this session's background work by name: running, or ended and not looked at since."""
    return keep_once("dpcore.work", dict[str, Thread])


def tickets() -> dict[str, int]:
    """Return how many runs of each name have started; the number is the ticket of the next run."""
    return keep_once("dpcore.tickets", dict[str, int])


def finished_runs() -> dict[str, int]:
    """Return how many runs of each name have finished."""
    return keep_once("dpcore.finished", dict[str, int])


def has_ended(name: str) -> bool:
    """Return whether a run of this name has finished since the last call."""
    seen = keep_once("dpcore.seen", dict[str, int])
    before, seen[name] = seen.get(name, 0), finished_runs().get(name, 0)
    return before != seen[name]


def request(name: str, what: str = "run", ticket: int | None = None) -> None:
    """Request a run; a button's callback.

    `what` is the button. A `ticket` that is not the present one of `tickets` requests nothing, so
    that a late press cannot start a second run.
    """
    if ticket in (None, tickets().get(name, 0)) and not is_waiting(name):
        waiting_runs()[name] = what


def is_waiting(name: str) -> bool:
    """Return whether a run was requested or is running; its button is then disabled."""
    job = jobs().get(name)
    return name in waiting_runs() or (job is not None and job.is_alive())


def dataset() -> Dataset:
    """Return the session's data; the bundled sample until the user chooses other data."""
    return keep_once("dpcore.data", lambda: datasets.load("sample"))


def pending_name() -> str:
    """Return the name of a file that was read but is not in use yet; "" if there is none."""
    read = st.session_state.get("dpcore.intake")
    return "" if read is None or read.dataset is not None or read.is_source_of(dataset()) else str(read.name)


def set_dataset(data: Dataset) -> None:
    """Use other data from now on; releases stay on their pages until the next run.

    This ends a lesson, since charges on other data belong in the session's own ledger. The settings
    of the page Data stay.
    """
    if is_set_aside():
        said = [pop_kind(kind, ("data.", "dpcore.intake")) for kind in (THINGS, CONTROLS)]
        restore_session()
        for kind, values in zip((THINGS, CONTROLS), said, strict=True):
            keys_of_kind(kind).update(values)
        st.session_state.update(said[0])
        st.session_state[BACK] |= said[1]
    keep("dpcore.data", data)


def replace_schema(data: Dataset) -> None:
    """Replace the data in use by the same rows with another schema.

    In a lesson, this changes the lesson's data.
    """
    keep("dpcore.data", data)


def current_release(page: str) -> ShownRelease | None:
    """Return the release that a page shows, or None."""
    return shown_releases().get(page)


def shown_releases() -> dict[str, ShownRelease]:
    """Return the shown releases by page.

    A thread that makes a release receives this dict before it starts.
    """
    return keep_once("dpcore.shown", dict[str, ShownRelease])


def compute_once(memory: dict[Any, Any], key: Any, compute: Callable[[], Value], most: int = MOST_REMEMBERED) -> Value:
    """Return a value from `memory`, or compute and store it.

    If `memory` has `most` values, the oldest is deleted.
    """
    if key not in memory:
        value = compute()
        while len(memory) >= most:
            memory.pop(next(iter(memory)))
        memory[key] = value
    found: Value = memory[key]
    return found


def remember(release: ShownRelease, key: str, compute: Callable[[], Value]) -> Value:
    """Return a value that is computed once per release.

    `compute` makes the value, which is stored with the release under `key`.
    """
    return compute_once(release.memory, key, compute)


def ledger_store() -> LedgerStore:
    """Return the ledger store of the session: a file of the user's, or the session's memory.

    `$DPCORE_LEDGER` names the file. The value "session" keeps nothing, for demonstrations with many
    visitors.
    """
    return keep_once("dpcore.books", lambda: LedgerStore(None if is_ledger_temporary() else ledger_path()))


def is_ledger_temporary() -> bool:
    """Return whether ledgers last only as long as the session, by the operator's choice."""
    return is_hosted() or ledger_path() is None


def use_ledger_file(path: Path | None) -> None:
    """Write charges to this ledger file from now on; None keeps them for this session only."""
    keep("dpcore.books", LedgerStore(None if is_ledger_temporary() else path))


def session_ledgers() -> SessionLedgers:
    """Return the ledgers of this session's queries, one per data set, relation and delta."""
    return keep_once("dpcore.accounts", SessionLedgers)


def spending() -> Spending:
    """Return the session's `Spending`, with which a run charges its queries."""
    return Spending(ledger_store(), session_ledgers())


@dataclass(frozen=True)
class Spending:
    """The ledger store and the session's own ledgers; a thread receives this to charge a run."""

    store: LedgerStore
    ledgers: SessionLedgers

    def open_ledger(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> Ledger:
        """Return a new ledger part for one run.

        `purpose` names the run in the ledger. Every charge is written to the ledger store before it
        counts.
        """
        run = self.open_run(data, relation, purpose, delta)
        return self.session_ledger(data, relation, delta).attach(run.ledger())

    def ledger_part(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> Ledger:
        """Return a new part of the session's ledger, for charges that are already stored."""
        return self.session_ledger(data, relation, delta).child(purpose)

    def session_ledger(self, data: Dataset, relation: str, delta: float = 0.0) -> Ledger:
        """Return the session's ledger of a data set, relation and delta; create it if missing."""
        key = self.store.key(data), relation, delta
        return self.ledgers.setdefault(key, Ledger(Relation.parse(relation), name=data.name, delta=delta))

    def open_run(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> OpenRun:
        """Open a new run of these data in the ledger store, and return it."""
        return self.store.open_run(data, relation, purpose, delta)
