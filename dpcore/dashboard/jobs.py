"""Long work of a page: begun on request only, in a thread, with progress, a cancel button, and all of it on the books.

A button's callback leaves a request, and the page begins the work exactly once. From then on it
hangs on no press, tab or page: it puts what it makes where the session keeps such things, and the
page is drawn anew when it is over. Where it tells its progress, it also hears that somebody pressed
Cancel, or left: whatever was charged until then stays charged.

Work in a thread touches neither Streamlit nor the session's state; what it needs of them is taken
before.
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
PATIENCE = 0.5  # seconds in which most work is over, and nobody sees a bar
LOOK = 0.5  # seconds between two looks at work
GRACE = 5.0  # seconds in which a connection that was lost may come back
WAITING = phrase("waiting, place {place} in this server's line")


class CanceledError(Exception):
    """Nobody waits for the work any more. It may say what was paid for it all the same."""


class Job(Thread):
    """Work under way, and why it failed once it has."""

    def __init__(self, title: str, work: Work, visit: housekeeping.Visit, others: int = 0) -> None:
        super().__init__(name=title, daemon=True)
        self.work, self.visit, self.others = work, visit, others
        self.fraction, self.note, self.canceled = 0.0, "", Event()
        self.error: Exception | None = None
        self.paid = ""  # what stays charged of work that was canceled

    def run(self) -> None:
        try:
            hosting.admit(self.others)
            with use_language(ENGLISH), TURNS.taken(self, self.still):  # what it makes outlives the screen
                self.note = ""
                self.work(self.progress)
        except CanceledError as error:
            self.paid = str(error)
        except Exception as error:  # the page raises it: a thread has nobody to tell
            self.error = error

    @property
    def told(self) -> str:
        """What it is called, and what it does now: parts that are English, as its thread is."""
        if self.canceled.is_set():
            return say("{title}: stopping", title=retold(self.name))
        parts = {"title": retold(self.name), "note": retold(self.note)}
        return say("{title}: {note}", **parts) if self.note else parts["title"]

    def still(self, container: int = 0) -> None:
        """Whether somebody waits for it, who learns its place in the line of a server for visitors."""
        if self.canceled.is_set() or self.visit.away > GRACE:
            raise CanceledError
        if container:
            self.note = WAITING.format(place=container)

    def progress(self, fraction: float, text: str) -> None:
        """What work tells, where it lets others go on, and ends if nobody waits for it any more."""
        self.still()
        if TURNS.seconds(self) > (most := hosting.limits().seconds):
            raise LimitError(f"This server ends work after {most:g} seconds.", "Choose less of it.")
        TURNS.pass_on(self, self.still)
        self.fraction, self.note = min(max(fraction, 0.0), 1.0), text


def under_way(name: str) -> Job | None:
    """The work of this name that is under way, or is over and was not looked at yet."""
    found = session.work().get(name)
    return found if isinstance(found, Job) else None


def waiting_run(name: str) -> str:
    """What was asked for and has not begun; empty if nothing was."""
    return session.waiting_runs().get(name, "")


def ask(label: str, name: str, what: str, **look: Any) -> None:
    """A button that asks for a run once: under the next ticket it is another button.

    So a press that the browser sent before it showed the run is never a second one, even if it
    arrives when all is over. `what` tells buttons apart that ask in each other's place.
    """
    ticket = session.tickets().get(name, 0)
    look |= {"on_click": session.request, "args": (name, what, ticket)}
    look["disabled"] = look.get("disabled", False) or session.is_waiting(name)
    st.button(label, key=f"{name}.{what}:{ticket}", **look)


def button(label: str, name: str, what: str, container: Container = None, **look: Any) -> None:
    """A button that asks for what `run` does under this name, and rests meanwhile.

    It stands in its place; why the last run failed is told in the whole width below.
    """
    with container or nullcontext():
        ask(label, name, what, **look)
    with st.container(), mendable():  # there with nothing in it too, or what is below would be seen twice for a while
        end(name)


def answer(container: Any, name: str, title: str) -> None:
    """Say at once, in the button's place, that what it asked for begins: before the page is drawn, or work starts.

    No bar says it, as browsers fetch the script of the first one.
    """
    if name in session.waiting_runs():
        look: Any = {"icon": ":material/hourglass_top:", "width": "stretch", "disabled": True}
        container.button(say(title), key=f"answer:{name}", **look)


def run(title: str, name: str, work: Work, *, now: bool = False, place: Any = st) -> bool:
    """Begin work that was asked for, or is wanted `now`, and show it while it is under way; whether it is.

    It is shown in the button's `place`, if there is one that holds a single thing.

    After a press, and when it is over, the page is drawn anew: its button rests, or is back.
    """
    jobs, request, begun, visit = session.work(), session.waiting_runs(), session.tickets(), housekeeping.presence()
    finished = session.finished_runs()

    def to_its_end(progress: Progress) -> None:
        work(progress)
        finished[name] = finished.get(name, 0) + 1

    job = under_way(name)
    if job is not None and not job.is_alive():
        st.rerun()
    if job is None and (now or name in request):
        others = sum(other.is_alive() for other in jobs.values())
        job = jobs[name] = Job(title, to_its_end, visit, others)  # from here to its start no press can stop this
        pressed = request.pop(name, None) is not None
        begun[name] = begun.get(name, 0) + 1
        job.start()
        job.join(PATIENCE)
        if pressed:
            st.rerun()
    bar = place.container() if place is st or (job is not None and job.is_alive()) else None  # as above
    if job is None or not job.is_alive():
        return False
    assert bar is not None
    with bar:
        watch(name, job)
    return True


def end_in_page(name: str) -> None:
    """Say in the whole width why the last run failed, or what a canceled one has spent."""
    with st.container(), mendable():  # there with nothing in it too, or what is below would be seen twice for a while
        end(name)


def quick_button(label: str, name: str, **look: Any) -> bool:
    """A button for what takes no time; whether it was pressed, or a lesson asked for it.

    `count_finished` comes after it.
    """
    pressed = st.button(label, key=name, **look)
    return session.waiting_runs().pop(name, None) is not None or pressed


def count_finished(name: str) -> None:
    """Count what took no time; a lesson that waits for it goes on."""
    session.finished_runs()[name] = session.finished_runs().get(name, 0) + 1
    if session.laid_aside():
        st.rerun()


def end(name: str) -> None:
    """Forget work that is over; tell what it cost if it was canceled, raise why it failed. Comes before `run`."""
    job = under_way(name)
    if job is not None and not job.is_alive():
        del session.work()[name]
        if job.paid:
            st.info(retold(job.paid), icon=":material/stop_circle:")
        if job.error is not None:
            raise job.error


@st.fragment(run_every=LOOK)
def watch(name: str, job: Job) -> None:
    """How far work is, and what cancels it; the page is drawn anew when it is over."""
    housekeeping.presence()
    if not job.is_alive():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.progress(job.fraction, text=job.told, width="stretch")
        look: Any = {"icon": ":material/stop:", "help": say("Keeps the last finished result.")}
        look["disabled"] = job.canceled.is_set()
        st.button(say("Cancel"), key=f"cancel:{name}", on_click=job.canceled.set, **look)


def once(page: str, shown: ShownRelease, key: str, title: str, compute: Callable[[Progress], Value]) -> Value | None:
    """A value that takes time, computed when its tab is first open; asked for again if that was stopped."""
    name, begun = f"{page}.{key}", f"{key}, begun"

    def work(progress: Progress) -> None:
        shown.memory[begun] = True
        remember(shown, key, lambda: compute(progress))

    end(name)
    if key not in shown.memory and run(title, name, work, now=begun not in shown.memory):
        return None
    end(name)
    if key not in shown.memory:
        st.info(say("This was stopped before it was finished."))
        ask(say("Go on"), name, "go", icon=":material/play_arrow:")
    found: Value | None = shown.memory.get(key)
    return found


def read_upload(key: str, asked: Any, title: str, work: Callable[[], Value], *, last: bool = False) -> Value | None:
    """What is made of a file that somebody handed over: once for what is asked, as work with its limits.

    None if nothing is asked, while it is under way, and if it fails; the cause then stays on the
    screen. With `last`, what was made before is used meanwhile.
    """
    memory: dict[str, Any] = st.session_state.setdefault(key, {"asked": None, "error": None, "value": None})

    def read(progress: Progress) -> None:
        progress(0.0, "")
        memory["value"] = work()

    try:
        end(key)
    except DPCoreError as error:
        memory["error"] = error
    fresh = asked not in (None, memory["asked"]) and under_way(key) is None
    if fresh:
        memory |= {"asked": asked, "error": None, "value": memory["value"] if last else None}
    if not run(title, key, read, now=fresh) and fresh:
        return read_upload(key, asked, title, work, last=last)  # it is over by now
    if asked is not None and memory["error"] is not None:
        if memory["value"] is not None:
            caption("This was refused. What follows is still what was read before.")
        with mendable():
            raise memory["error"]
    found: Value | None = memory["value"] if last or asked == memory["asked"] else None
    return found


def read_file(key: str, file: Any, work: Callable[[bytes], Value], *, last: bool = False) -> Value | None:
    """The same of the bytes of one file, by its uploader."""
    request = None if file is None else file.file_id
    return read_upload(key, request, phrase("Reading the file"), lambda: work(file.getvalue()), last=last)


def count_rows(page: str, shown: ShownRelease, key: str, compute: Callable[[], Value]) -> Value | None:
    """What takes a pass over all real rows: at once; of rows in a folder as work, and None while it is under way."""
    if shown.data.in_memory:
        return remember(shown, key, compute)

    def work(progress: Progress) -> Value:
        progress(0.0, "")
        return compute()

    return once(page, shown, key, phrase("Counting all rows"), work)
