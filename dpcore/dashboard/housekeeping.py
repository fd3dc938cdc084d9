"""Visits and uploads: notice when a visitor leaves, and free the memory of the session.

Streamlit keeps the session of a visitor who left, with its rows and uploads, until yet another
visitor leaves: on a quiet server forever. It also relies on the browser to report which uploads
are no longer needed. In version 1.67, no public function does either. Without this module, the
server keeps all four of four uploads into one control, on other pages too, and even after the
visitor left (`tests/app/test_app_many.py`). A page cannot free them, as Streamlit's own widgets
keep the bytes of uploads as well.
"""

import asyncio
import ctypes
import gc
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import Any
from weakref import WeakSet, ref

import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.dashboard import hosting, session
from dpcore.dashboard.widgets import caption

incoming_bytes: Counter[str] = Counter()  # of arriving uploads, by session


def upload_room(session: str) -> float:
    """Return how many more bytes a session may upload, within its limit and the server's.

    `session` is Streamlit's id of the session.
    """
    most, taken = 4 * max_upload_bytes(), upload_bytes() + incoming_bytes  # 2 of a page, 1 replaced, 1 arriving
    # All visitors together may use a fourth of the server's memory.
    return min(most - taken[session], max(most, hosting.limits().megabytes * 25e4) - taken.total())


def max_upload_bytes() -> int:
    """Return the largest accepted size of an upload with its HTTP form, in bytes."""
    return (int(st.get_option("server.maxUploadSize")) + 1) * 2**20


def upload_bytes() -> Counter[str]:
    """Return the bytes of stored uploads by session; uploads of ended sessions are deleted.

    Each upload counts as a kilobyte more, for what is kept with any file.
    """
    found: Counter[str] = Counter()
    server = runtime.get_instance() if runtime.exists() else None
    if server is None or not isinstance(uploads := server.uploaded_file_mgr, MemoryUploadedFileManager):
        return found
    for name, files in [*uploads.file_storage.items()]:
        if server._session_mgr.get_session_info(name) is None:
            uploads.remove_session_files(name)
        else:
            found[name] = sum(2**10 + sum(map(sys.getsizeof, one[1:])) for one in [*files.values()])
    return found


def is_unguarded() -> bool:
    """Return whether the server runs without the guard, as under `streamlit run app.py`.

    The guard writes its process id into `DPCORE_GUARD`, which neither visitors nor other processes
    can do. Tests of pages start no server, and count as guarded.
    """
    served = runtime.exists() and type(runtime.get_instance()) is runtime.Runtime
    return served and os.environ.get("DPCORE_GUARD") != str(os.getpid())


@dataclass(eq=False)
class Visit:
    """A visitor's presence in a session."""

    left_at: float = inf  # on the monotonic clock; infinite while present

    @property
    def seconds_away(self) -> float:
        """Number of seconds since the visitor left; 0 while the visitor is there."""
        return max(0.0, time.monotonic() - self.left_at)


def presence() -> Visit:
    """Mark the session's visitor as present, and return the visit.

    Every run of a script must call this: Streamlit then reports when the visitor leaves.
    """
    visit = session.keep_once("dpcore.visit", Visit)
    visit.left_at = inf
    watch_visit(ref(visit))
    return visit


def admit_visitor(visit: Visit) -> bool:
    """Return whether the server has room for a visitor; one who was admitted stays admitted."""
    with _door:
        if sum(other.left_at == inf for other in guests) < hosting.limits().visitors:
            guests.add(visit)
        return visit in guests


guests: WeakSet[Visit] = WeakSet()
_door = Lock()


def record_departure(watched: tuple[ref[Visit], str]) -> None:
    """Record that the visitor left, and close the session before it expires, if no one returns.

    `watched` has the visit and the session's id, as `watch_visit` returns them. A connection that
    is lost for a moment counts as leaving, too.
    """
    if (visit := watched[0]()) is not None:
        visit.left_at = time.monotonic()
    # Before Streamlit drops the session without a notice.
    early = 0.8 * float(st.get_option("server.disconnectedSessionTTL"))
    with suppress(RuntimeError):  # sessions are disconnected by the server's loop
        asyncio.get_running_loop().call_later(early, close_session, watched[1])


@st.cache_resource(scope="session", show_spinner=False, on_release=record_departure)
def watch_visit(_visit: ref[Visit]) -> tuple[ref[Visit], str]:
    """Return a cached resource, whose release by Streamlit calls `record_departure`.

    The resource is a weak reference to the visit (`_visit`), with Streamlit's id of the session.
    """
    return _visit, getattr(get_script_run_ctx(), "session_id", "")


def close_session(name: str) -> None:
    """Close a session if its visitor has not returned.

    `name` is Streamlit's id of the session. Memory is returned to the operating system once, six
    seconds after the last of several sessions closed.
    """
    server, loop = runtime.get_instance(), asyncio.get_running_loop()
    if not server.is_active_session(name):
        server.close_session(name)
        for waits in due:
            waits.cancel()
        due[:] = [loop.call_later(6.0, loop.run_in_executor, None, free_memory)]


due: list[asyncio.TimerHandle] = []


def free_memory() -> None:
    """Collect garbage, and return free memory of the C library to the operating system."""
    gc.collect()
    call_glibc("malloc_trim", 0)


def call_glibc(name: str, *values: int) -> None:
    """Call a function of glibc by its name; do nothing on systems without glibc."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), name, lambda *_: 0)(*values)


def uploader(label: str, *, key: str, **style: Any) -> Any:
    """Draw an uploader for one file; return the file, or None. The previous file is deleted.

    If this server accepts no uploads, a caption says so in its place. `style` has further arguments
    of `st.file_uploader`.
    """
    if not hosting.accepts_uploads():
        caption("{label}: not available, as this server accepts no uploads.", label=label)
        return None
    file = st.file_uploader(label, key=key, **style)
    now, before = getattr(file, "file_id", None), st.session_state.get(f"dpcore.upload:{key}")
    if before not in (None, now):
        forget_uploads(before)
    st.session_state[f"dpcore.upload:{key}"] = now
    return file


def forget_uploads(*names: str) -> None:
    """Delete uploads of the session from memory; the others stay.

    `names` are Streamlit's ids of the uploads. If none is given, all uploads are deleted.
    """
    context = get_script_run_ctx()
    uploads = getattr(context, "uploaded_file_mgr", None)
    if context is not None and isinstance(uploads, MemoryUploadedFileManager):
        for name in names:
            uploads.remove_file(context.session_id, name)
        if not names:
            uploads.remove_session_files(context.session_id)
