"""Long work in threads: started on request only, with progress, cancellation, and its charges.

A button's callback stores a request, and the page starts the work exactly once. From then on the
work depends on no button, tab or page. It stores its result in the session, and the page reruns
at its end. Where work reports progress, it stops if the user pressed Cancel or left. Everything
charged until then stays charged.

Work in a thread uses neither Streamlit nor the session's state. It receives what it needs before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Event, Thread
from typing import Any, TypeVar

import streamlit as st

from dpcore.arguments import Progress
from dpcore.dashboard import hosting, housekeeping, session
from dpcore.dashboard.hosting import TURNS
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import mendable
from dpcore.dashboard.widgets import caption
from dpcore.errors import DPCoreError, LimitError
from dpcore.language import ENGLISH, phrase, retold, say, use_language

Value = TypeVar("Value")
Work = Callable[[Progress], object]
Container = AbstractContextManager[Any] | None
PATIENCE = 0.5  # seconds without a progress bar, for short work
LOOK = 0.5  # seconds between two updates of the progress
GRACE = 5.0  # seconds in which a lost connection may return
WAITING = phrase("waiting, position {position} in this server's queue")


class CanceledError(Exception):
    """Raised when no one waits for the work any more; the message may say what was charged."""


class Job(Thread):
    """A thread of work, and the error with which it failed, if any."""

    def __init__(self, title: str, work: Work, visit: housekeeping.Visit, others: int = 0) -> None:
        """Prepare a thread of `work` for a visitor who has `others` pieces of work running."""
        super().__init__(name=title, daemon=True)
        self.work, self.visit, self.others = work, visit, others
        self.fraction, self.note, self.canceled = 0.0, "", Event()
        self.error: Exception | None = None
        self.charge_note = ""  # the charge of canceled work, in words

    def run(self) -> None:
        """Do the work in this thread when the server's queue admits it, and store its error."""
        try:
            hosting.admit(self.others)
            with use_language(ENGLISH), TURNS.hold_turn(self, self.check):  # results outlive the screen
                self.note = ""
                self.work(self.progress)
        except CanceledError as error:
            self.charge_note = str(error)
        except Exception as error:  # the page raises it later
            self.error = error

    @property
    def status(self) -> str:
        """Title and present step of the work, in the language of the screen."""
        if self.canceled.is_set():
            return say("{job}: the work is being stopped", job=retold(self.name))
        parts = {"job": retold(self.name), "progress_note": retold(self.note)}
        return say("{job}: {progress_note}", **parts) if self.note else parts["job"]

    def check(self, position: int = 0) -> None:
        """Raise `CanceledError` if the work was canceled or its visitor left.

        `position` is the work's position in the queue of a server for visitors; 0 outside the
        queue.
        """
        if self.canceled.is_set() or self.visit.seconds_away > GRACE:
            raise CanceledError
        if position:
            self.note = WAITING.format(position=position)

    def progress(self, fraction: float, text: str) -> None:
        """Record progress of the work, and let queued work of the server run.

        Raises `CanceledError` if no one waits for the work, and `LimitError` after the server's
        limit of seconds.
        """
        self.check()
        if TURNS.seconds(self) > (most := hosting.limits().seconds):
            raise LimitError(f"This server ends work after {most:g} seconds.", "Choose fewer runs or rows.")
        TURNS.pass_on(self, self.check)
        self.fraction, self.note = min(max(fraction, 0.0), 1.0), text


def find_job(name: str) -> Job | None:
    """Return the background work of this name, running or ended, or None.

    Ended work is removed by `finish`.
    """
    found = session.jobs().get(name)
    return found if isinstance(found, Job) else None


def waiting_run(name: str) -> str:
    """Return the run that was requested under this name and has not started; "" if none."""
    return session.waiting_runs().get(name, "")


def request_button(label: str, name: str, what: str, **style: Any) -> None:
    """Draw a button that requests one run; its key changes with every run that starts.

    A press on a page that does not show a started run yet therefore never starts a second run.
    `name` is the name of the work, and `what` distinguishes several buttons of the same work.
    """
    ticket = session.tickets().get(name, 0)
    style |= {"on_click": session.request, "args": (name, what, ticket)}
    style["disabled"] = style.get("disabled", False) or session.is_waiting(name)
    st.button(label, key=f"{name}.{what}:{ticket}", **style)


def run_button(label: str, name: str, what: str, container: Container = None, **style: Any) -> None:
    """Draw a button that requests the work of this name; disabled while the work waits or runs.

    `what` distinguishes several buttons of the same work. The button is in `container`; the error
    of the last run is drawn below it, in the page's whole width.
    """
    with container or nullcontext():
        request_button(label, name, what, **style)
    with st.container(), mendable():  # drawn even if empty: else what is below appears twice
        finish(name)


def show_start(container: Any, name: str, title: str) -> None:
    """Draw a disabled button, in place of the pressed one, while requested work starts.

    It has this `title`, and is drawn in `container`. A progress bar would appear later, as a
    browser has to fetch its script first.
    """
    if name in session.waiting_runs():
        style: Any = {"icon": ":material/hourglass_top:", "width": "stretch", "disabled": True}
        container.button(say(title), key=f"answer:{name}", **style)


def run(title: str, name: str, work: Work, *, now: bool = False, area: Any = st) -> bool:
    """Start background work that was requested, or is wanted `now`; return whether it runs.

    The work's progress is drawn in `area`, with its `title`. The page reruns when a requested run
    has started, and when work has ended, so that its button is disabled or enabled again.
    """
    jobs, request, visit = session.jobs(), session.waiting_runs(), housekeeping.presence()
    begun, finished = session.tickets(), session.finished_runs()

    def to_its_end(progress: Progress) -> None:
        work(progress)
        finished[name] = finished.get(name, 0) + 1

    job = find_job(name)
    if job is not None and not job.is_alive():
        st.rerun()
    if job is None and (now or name in request):
        others = sum(other.is_alive() for other in jobs.values())
        job = jobs[name] = Job(title, to_its_end, visit, others)  # no press can interrupt this until it starts
        pressed = request.pop(name, None) is not None
        begun[name] = begun.get(name, 0) + 1
        job.start()
        job.join(PATIENCE)
        if pressed:
            st.rerun()
    bar = area.container() if area is st or (job is not None and job.is_alive()) else None  # even if empty
    if job is None or not job.is_alive():
        return False
    assert bar is not None
    with bar:
        watch(name, job)
    return True


def finish_in_page(name: str) -> None:
    """Draw the error of the last run, or a canceled run's charge, in the page's whole width."""
    with st.container(), mendable():  # drawn even if empty: else what is below appears twice
        finish(name)


def quick_button(label: str, name: str, **style: Any) -> bool:
    """Draw a button for work that takes no time; return whether a user or a lesson pressed it.

    Call `count_finished` after that work.
    """
    pressed = st.button(label, key=name, **style)
    return session.waiting_runs().pop(name, None) is not None or pressed


def count_finished(name: str) -> None:
    """Count work that took no time as finished, so that a lesson that waits for it continues."""
    session.finished_runs()[name] = session.finished_runs().get(name, 0) + 1
    if session.is_set_aside():
        st.rerun()


def finish(name: str) -> None:
    """Remove finished work, draw what a canceled run was charged, and raise a failed run's error.

    Call this before `run`.
    """
    job = find_job(name)
    if job is not None and not job.is_alive():
        del session.jobs()[name]
        if job.charge_note:
            st.info(retold(job.charge_note), icon=":material/stop_circle:")
        if job.error is not None:
            raise job.error


@st.fragment(run_every=LOOK)
def watch(name: str, job: Job) -> None:
    """Draw the progress of work and its Cancel button; rerun the page at the end."""
    housekeeping.presence()
    if not job.is_alive():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.progress(job.fraction, text=job.status, width="stretch")
        style: Any = {"icon": ":material/stop:", "help": say("Cancel; the last finished result stays.")}
        style["disabled"] = job.canceled.is_set()
        st.button(say("Cancel"), key=f"cancel:{name}", on_click=job.canceled.set, **style)


def late_value(page: str, shown: ShownRelease, key: str, title: str, make: Callable[[Progress], Value]) -> Value | None:
    """Compute a value of a release in the background when its tab is first open; return it.

    `make` computes the value, which is stored with the release under `key`. Returns None while the
    work runs. Work that was canceled is offered again by a button.
    """
    name, begun = f"{page}.{key}", f"{key}, begun"

    def work(progress: Progress) -> None:
        shown.memory[begun] = True
        remember(shown, key, lambda: make(progress))

    finish(name)
    if key not in shown.memory and run(title, name, work, now=begun not in shown.memory):
        return None
    finish(name)
    if key not in shown.memory:
        st.info(say("The computation was stopped before it was finished."))
        request_button(say("Compute again"), name, "go", icon=":material/play_arrow:")
    found: Value | None = shown.memory.get(key)
    return found


def read_upload(key: str, request: Any, title: str, work: Callable[[], Value], *, last: bool = False) -> Value | None:
    """Read an upload in the background, once per `request`, which identifies it; return the result.

    `work` reads the upload, and `key` is the name of this work. Returns None if `request` is None,
    while the work runs, and if it failed; the error stays on the screen. With `last`, the previous
    result is returned in these cases.
    """
    memory: dict[str, Any] = st.session_state.setdefault(key, {"request": None, "error": None, "value": None})

    def read(progress: Progress) -> None:
        progress(0.0, "")
        memory["value"] = work()

    try:
        finish(key)
    except DPCoreError as error:
        memory["error"] = error
    fresh = request not in (None, memory["request"]) and find_job(key) is None
    if fresh:
        memory |= {"request": request, "error": None, "value": memory["value"] if last else None}
    if not run(title, key, read, now=fresh) and fresh:
        return read_upload(key, request, title, work, last=last)  # it has ended by now
    if request is not None and memory["error"] is not None:
        if memory["value"] is not None:
            caption("The new file was refused. Below are still the results of the previous file.")
        with mendable():
            raise memory["error"]
    found: Value | None = memory["value"] if last or request == memory["request"] else None
    return found


def read_file(key: str, file: Any, work: Callable[[bytes], Value], *, last: bool = False) -> Value | None:
    """Read the bytes of an uploaded file in the background, like `read_upload`.

    `file` is Streamlit's uploaded file, or None. `work` makes the result from its bytes.
    """
    request = None if file is None else file.file_id
    return read_upload(key, request, phrase("Reading the file"), lambda: work(file.getvalue()), last=last)


def count_rows(page: str, shown: ShownRelease, key: str, compute: Callable[[], Value]) -> Value | None:
    """Compute a value from all real rows of a release: at once, or in the background for a folder.

    Rows in a folder are those of a table larger than memory. `compute` makes the value, which is
    stored with the release under `key`. Returns None while the background work runs.
    """
    if shown.data.in_memory:
        return remember(shown, key, compute)

    def work(progress: Progress) -> Value:
        progress(0.0, "")
        return compute()

    return late_value(page, shown, key, phrase("Counting all rows"), work)
