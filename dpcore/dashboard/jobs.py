"""Running things from a page: on request only, with progress, a cancel button, and the spending on the books.

A button's callback leaves a request; the page takes it exactly once. Streamlit stops a script at its next `st` call, so
the progress callback is where a press of Cancel takes effect: whatever was charged until then stays charged. Any other
press does the same, which is why the button that asked for a run rests while it is under way, and why a release that is
partly paid for is finished before other presses are heard.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException

from dpcore.dashboard import links, session
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import mendable
from dpcore.errors import DPCoreError

if TYPE_CHECKING:  # the first page does without what makes releases
    from dpcore.accounting.ledger import Ledger
    from dpcore.arguments import Progress
    from dpcore.datasets import Dataset


def request(name: str, what: str = "run", ticket: int | None = None) -> None:
    """Ask for a run; a button's callback. A ticket is good for one run, however often it was handed in."""
    if ticket in (None, next_ticket(name)):
        st.session_state[f"dpcore.request:{name}"] = (what, False)


def requested(name: str) -> str:
    """What was asked for, once per request; empty if nothing was.

    The page is drawn once more before, so that the browser shows the button at rest before anything is charged.
    """
    key = f"dpcore.request:{name}"
    what, rests = st.session_state.get(key, ("", True))
    if not rests:
        st.session_state[key] = (what, True)
        st.rerun()
    if st.session_state.pop(key, None) is not None:
        st.session_state[f"dpcore.ticket:{name}"] = next_ticket(name) + 1
    return str(what)


def next_ticket(name: str) -> int:
    """How many runs were begun."""
    return int(st.session_state.get(f"dpcore.ticket:{name}", 0))


def resting(name: str) -> bool:
    """Whether a run was asked for and is not over: no time for a press that asks for it."""
    return f"dpcore.request:{name}" in st.session_state


def ask(label: str, name: str, what: str, **look: Any) -> None:
    """A button that asks for a run once: under the next ticket it is another button.

    So a press that the browser sent before it showed the run is never a second one, even if it arrives when all is
    over. `what` tells buttons apart that ask in each other's place.
    """
    ticket = next_ticket(name)
    look |= {"on_click": request, "args": (name, what, ticket), "disabled": resting(name)}
    st.button(label, key=f"{name}.{what}:{ticket}", **look)


def button(label: str, name: str, what: str, **look: Any) -> None:
    """A button that asks for a run, and rests while that is under way in `cancellable(..., name)`.

    A press during the run would stop it, and its charges would have bought nothing. Why the last run failed is told
    here, because the page is drawn anew when it ends.
    """
    ask(label, name, what, **look)
    st.session_state[f"dpcore.resting:{name}"] = resting(name)
    with mendable():
        if (refused := st.session_state.pop(f"dpcore.refused:{name}", None)) is not None:
            raise refused


@contextmanager
def cancellable(title: str, key: str) -> Iterator[Progress]:
    """A progress bar and a cancel button around long work; both vanish when it ends.

    If a `button` rests meanwhile, the page is then drawn anew: nothing after this is reached.
    """
    rested = st.session_state.pop(f"dpcore.resting:{key}", False)
    place = st.empty()
    with place.container(border=True):
        bar = st.progress(0.0, text=title)
        st.button("Cancel", key=f"cancel:{key}", icon=":material/stop:", help="Keeps the last finished result.")
    shown_at = 0.0

    def progress(fraction: float, text: str) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at > 0.1 or fraction >= 1:  # each call costs a message to the browser
            try:
                bar.progress(min(max(fraction, 0.0), 1.0), text=f"{title}: {text}")
            except RerunException as press:
                if not pressed(press, rf"{re.escape(key)}\.\w+:\d+"):  # what asked for this, once more
                    raise
            shown_at = now

    try:
        yield progress
    except DPCoreError as error:
        if not rested:
            raise
        st.session_state[f"dpcore.refused:{key}"] = error
    finally:
        place.empty()
    if rested:
        st.rerun()


@contextmanager
def unhurried(progress: Progress, ledger: Ledger, key: str) -> Iterator[Progress]:
    """Once the ledger was charged, what is pressed comes after the block: a click on a tab must not waste a budget.

    Cancel, and leaving Streamlit, do not wait. Streamlit hands over by an exception what was pressed, and only once; of
    several presses the last one counts. An error in the block is told where `button` is, when that is drawn again.
    """
    waiting: list[RerunException] = []

    def calm(fraction: float, text: str) -> None:
        try:
            progress(fraction, f"{text} (it is paid for; what you pressed comes next)" if waiting else text)
        except RerunException as press:
            if not ledger.entries or pressed(press, re.escape(f"cancel:{key}")):
                raise
            waiting[:] = [press]

    try:
        yield calm
    except DPCoreError as error:
        if not waiting:
            raise
        st.session_state[f"dpcore.refused:{key}"] = error
    if waiting:
        raise waiting[0]


def pressed(press: RerunException, keys: str) -> bool:
    """Whether a button was pressed whose key is of this pattern."""
    states = press.rerun_data.widget_states
    found = [widget.id for widget in states.widgets if widget.trigger_value] if states else []
    return any(re.search(f"-{keys}$", one) for one in found)  # an identity ends with the key


def release(page: str, name: str, method: Any, data: Dataset, *rows: int) -> None:
    """Fit a classifier, or a synthesizer that is to make so many rows, and show the release on its page.

    The spending is on the books, and a mendable failure leaves the earlier release in place. What is paid for is not
    lost: from the end of the fit to the shelf, nothing touches what can stop a script.
    """
    from dpcore import export

    with mendable(), cancellable("Making a copy" if rows else "Learning privately", page) as progress:
        start = time.perf_counter()
        known, shelf = {"name": page, "settings": links.settings_of(page)}, session.shelf()
        ledger = session.account(data, method.relation, f"{name}, {method.mode} mode")
        with unhurried(progress, ledger, page) as calm:
            method.fit(data.train, schema=data.schema, ledger=ledger, progress=calm)
            copy = [method.sample(*rows)] if rows else []
            made = export.release_of(method, name, *copy, data_name=data.name, reading=data.reading)
            shelf[page] = Shown(replace(made, seconds=time.perf_counter() - start, page=known), data)
        st.rerun()  # the settings fold away, the release comes up
