"""What a session remembers: the data, the releases, and what they can cost.

All of it lives under a few namespaced keys, as immutable objects. A release is drawn once, on
submit; everything on screen is drawn from it, and what is computed for the screen is remembered
with it, so that moving a widget draws no noise, spends nothing and computes nothing twice.
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

if TYPE_CHECKING:  # the first page does without what makes releases
    from dpcore.export.release import Release


Value = TypeVar("Value")
Accounts = dict[tuple[str, str, float], Ledger]
"""A session's questions, by the books' key of the data, relation and delta."""
MOST_REMEMBERED = 60
THINGS, CONTROLS, ASIDE, BACK = "dpcore.things", "dpcore.controls", "dpcore.aside", "dpcore.back"
STAYS = {"dpcore.visit", "dpcore.learned"}


@dataclass(eq=False)
class ShownRelease:
    """A release with the data it was made from, what was computed for its panels, and redraws that were paid for.

    `redraws` holds what every method's redraws are measured by, `looks` what one method's page
    measures besides; `waiting_runs` is what the page's settings said, if it is known.
    """

    release: Release
    data: Dataset
    asked: tuple[Any, ...] | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    redraws: pd.DataFrame | None = None
    looks: pd.DataFrame | None = None
    method: Any = None  # the fitted one, of rows in a folder: it writes as many rows as somebody wants
    previous: ShownRelease | None = None  # the release of the run before, if it is of the same data


def keep_once(key: str, make: Callable[[], Value]) -> Value:
    """What the session keeps under a key; made when it is first asked for."""
    keys_of_kind(THINGS).add(key)
    if key not in st.session_state:
        st.session_state[key] = make()
    found: Value = st.session_state[key]
    return found


def keep(key: str, value: Value) -> Value:
    """Keep something under a key from now on."""
    keys_of_kind(THINGS).add(key)
    st.session_state[key] = value
    return value


def keys_of_kind(kind: str) -> set[str]:
    """The keys of all things that the session keeps, or of all controls whose value lasts."""
    if kind not in st.session_state:
        st.session_state[kind] = set()
    found: set[str] = st.session_state[kind]
    return found


def preset(key: str, value: Any) -> None:
    """Set a control before it is drawn."""
    keys_of_kind(CONTROLS).add(key)
    st.session_state[key] = value


def drop(prefix: str) -> None:
    """Forget all that is kept under keys that begin so."""
    for key in [key for key in st.session_state if str(key).startswith(prefix)]:
        del st.session_state[key]


def lay_aside() -> None:
    """Begin anew, with the sample and a ledger of its own, until `give_back`: a lesson is a session in the session."""
    give_back()
    set_back()
    st.session_state[ASIDE] = take_kind(THINGS), take_kind(CONTROLS)
    keep("dpcore.data", datasets.load("sample"))
    keep("dpcore.books", LedgerStore(None))


def laid_aside() -> bool:
    """Whether somebody's own things are laid aside."""
    return ASIDE in st.session_state


def give_back() -> None:
    """What was laid aside is as it was: things at once, controls before they are drawn again."""
    if laid_aside():
        take_kind(THINGS)
        things, st.session_state[BACK] = st.session_state.pop(ASIDE)
        st.session_state.update(things)


def set_back() -> None:
    """Set the controls that were given back; comes before any of them is drawn."""
    if BACK in st.session_state:
        take_kind(CONTROLS)
        st.session_state.update(st.session_state.pop(BACK))


def set_again() -> None:
    """Set all controls as they are: a browser knows what is chosen by its words, which another language changes."""
    st.session_state.update({key: value for key, value in st.session_state.items() if type(value) in (str, int, float)})


def take_kind(kind: str, begins: tuple[str, ...] = ("",)) -> dict[str, Any]:
    """Take from the session all that is known of a kind, but for who is there and what was learned."""
    keys = [
        key for key in keys_of_kind(kind) if key in st.session_state and key not in STAYS and key.startswith(begins)
    ]
    return {key: st.session_state.pop(key) for key in keys}


def of_people(data: Dataset) -> bool:
    """Whether rows are, or may be, of real people: all but those of the bundled sample, which is synthetic."""
    return data.reading is not None or data.name != "sample"


def own_kind() -> str:
    """What they are, in an address: "folder", whose rows outlive the session, or "1"; empty if none."""
    aside = st.session_state[ASIDE][0].get("dpcore.data") if laid_aside() else None
    own = [data for data in (dataset(), aside) if data is not None and data.reading is not None]
    return "" if not own else "1" if any(data.in_memory for data in own) else "folder"


def waiting_runs() -> dict[str, str]:
    """The runs that were asked for and have not begun, by what asked for them."""
    return keep_once("dpcore.requests", dict[str, str])


def work() -> dict[str, Thread]:
    """Work of this session by its name: what is under way, and what is over and was not looked at yet."""
    return keep_once("dpcore.work", dict[str, Thread])


def tickets() -> dict[str, int]:
    """How many runs of a name were begun."""
    return keep_once("dpcore.tickets", dict[str, int])


def finished_runs() -> dict[str, int]:
    """How many runs of a name came to their end."""
    return keep_once("dpcore.finished", dict[str, int])


def has_ended(name: str) -> bool:
    """Whether a run of this name came to its end since this was asked last."""
    seen = keep_once("dpcore.seen", dict[str, int])
    before, seen[name] = seen.get(name, 0), finished_runs().get(name, 0)
    return before != seen[name]


def request(name: str, what: str = "run", ticket: int | None = None) -> None:
    """Ask for a run; a button's callback. A ticket is good for one run, however often it was handed in."""
    if ticket in (None, tickets().get(name, 0)) and not is_waiting(name):
        waiting_runs()[name] = what


def is_waiting(name: str) -> bool:
    """Whether a run was asked for and is not over: no time for a press that asks for it."""
    job = work().get(name)
    return name in waiting_runs() or (job is not None and job.is_alive())


def dataset() -> Dataset:
    """The session's data; the bundled sample until somebody chooses other data."""
    return keep_once("dpcore.data", lambda: datasets.load("sample"))


def pending_name() -> str:
    """The name of a file that was read and is not in use yet; empty if there is none."""
    read = st.session_state.get("dpcore.intake")
    return "" if read is None or read.fixed is not None or read.made(dataset()) else str(read.name)


def set_dataset(data: Dataset) -> None:
    """Use other data from now on. Releases stay on their pages until the next run.

    It ends a lesson: what is spent on other data belongs into the session's own books. What the
    page of the data said of them stays.
    """
    if laid_aside():
        said = [take_kind(kind, ("data.", "dpcore.intake")) for kind in (THINGS, CONTROLS)]
        give_back()
        for kind, values in zip((THINGS, CONTROLS), said, strict=True):
            keys_of_kind(kind).update(values)
        st.session_state.update(said[0])
        st.session_state[BACK] |= said[1]
    keep("dpcore.data", data)


def amend(data: Dataset) -> None:
    """The data in use with another schema; in a lesson, the lesson's."""
    keep("dpcore.data", data)


def current_release(page: str) -> ShownRelease | None:
    """The release that a page shows, if any."""
    return shelf().get(page)


def shelf() -> dict[str, ShownRelease]:
    """The releases that pages show. Whoever makes one in a thread takes the shelf before."""
    return keep_once("dpcore.shown", dict[str, ShownRelease])


def compute_once(memory: dict[Any, Any], key: Any, compute: Callable[[], Value], most: int = MOST_REMEMBERED) -> Value:
    """A value that a memory has, computed if it has it not; of more than `most` the oldest are forgotten."""
    if key not in memory:
        value = compute()
        while len(memory) >= most:
            memory.pop(next(iter(memory)))
        memory[key] = value
    found: Value = memory[key]
    return found


def remember(release: ShownRelease, key: str, compute: Callable[[], Value]) -> Value:
    """A value computed once per release."""
    return compute_once(release.memory, key, compute)


def books() -> LedgerStore:
    """Where spending is written down: a file of the user's, or, if wished, one that goes with the session.

    `$DPCORE_LEDGER` names the file; "session" keeps nothing, for demonstrations that many people
    use.
    """
    return keep_once("dpcore.books", lambda: LedgerStore(None if passing() else ledger_path()))


def passing() -> bool:
    """Whether whoever started this server lets no session open a file of theirs."""
    return is_hosted() or ledger_path() is None


def keep_books(path: Path | None) -> None:
    """Write spending down there from now on; None, or where files are not opened: for this session only."""
    keep("dpcore.books", LedgerStore(None if passing() else path))


def accounts() -> Accounts:
    """What this session asked, question by question; accounts never add up."""
    return keep_once("dpcore.accounts", Accounts)


def spending() -> Spending:
    """Where this session's runs are charged."""
    return Spending(books(), accounts())


@dataclass(frozen=True)
class Spending:
    """Where a session's runs are charged: the books, and its own list of questions. Work in a thread takes it along."""

    books: LedgerStore
    accounts: Accounts

    def account(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> Ledger:
        """A new part of the data's account, to be charged by one run; every charge is written down before it counts."""
        run = self.open_run(data, relation, purpose, delta)
        return self.of_session(data, relation, delta).attach(run.ledger())

    def note(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> Ledger:
        """A new part of the session's list of questions, for what is written down already, as by `Books.open_runs`."""
        return self.of_session(data, relation, delta).child(purpose)

    def of_session(self, data: Dataset, relation: str, delta: float = 0.0) -> Ledger:
        """The session's account of these data."""
        key = self.books.key(data), relation, delta
        return self.accounts.setdefault(key, Ledger(Relation.parse(relation), name=data.name, delta=delta))

    def open_run(self, data: Dataset, relation: str, purpose: str, delta: float = 0.0) -> OpenRun:
        """A new line in the books."""
        return self.books.open_run(data, relation, purpose, delta)
