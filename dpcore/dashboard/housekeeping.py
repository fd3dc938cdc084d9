"""What a visitor leaves behind: whether somebody is still there, and memory that is given back if not.

Streamlit keeps the session of a visitor who left, with its rows and uploads, until yet another one
leaves: on a quiet server for ever. And it leaves it to the browser to say which uploads are not
needed any more. In version 1.67 no public function does either. Without this, of four uploads in
one place the server holds four, on other pages too, and still after the visitor left
(`tests/app/test_app_many.py`). What a page could empty by itself would not be enough, as
Streamlit's own widgets hold the bytes of uploads as well.
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

coming: Counter[str] = Counter()  # bytes of uploads on their way, by session


def room(session: str) -> float:
    """For how many more bytes of uploads there is room in a session, and on a server for visitors."""
    most, taken = 4 * largest(), upload_bytes() + coming  # a page uses two; one is replaced, one comes
    # All visitors together have a fourth of the server's memory.
    return min(most - taken[session], max(most, hosting.limits().megabytes * 25e4) - taken.total())


def largest() -> int:
    """Bytes of the largest file that is taken, with the form around it, as Streamlit counts."""
    return (int(st.get_option("server.maxUploadSize")) + 1) * 2**20


def upload_bytes() -> Counter[str]:
    """Bytes of the uploads that the server holds, by session; what is left of a session that ended is forgotten.

    Each counts as a kilobyte at least, for what is kept of any file.
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
    """Whether a server runs without the guard, as `streamlit run app.py` starts it; tests of pages start no server.

    The guard names its own process in `DPCORE_GUARD`: no visitor can, and no other process inherits
    that.
    """
    served = runtime.exists() and type(runtime.get_instance()) is runtime.Runtime
    return served and os.environ.get("DPCORE_GUARD") != str(os.getpid())


@dataclass(eq=False)
class Visit:
    """Somebody's stay in a session."""

    left: float = inf  # since when nobody is there, by the monotonic clock

    @property
    def away(self) -> float:
        """For how many seconds nobody is there."""
        return max(0.0, time.monotonic() - self.left)


def presence() -> Visit:
    """The session's visitor, who is there. Asked for in every run of a script, it notices when they leave."""
    visit = session.keep_once("dpcore.visit", Visit)
    visit.left = inf
    watch_visit(ref(visit))
    return visit


def let_in(visit: Visit) -> bool:
    """Whether there is room for a visitor; who was let in stays, and finds room on coming back."""
    with _door:
        if sum(other.left == inf for other in guests) < hosting.limits().visitors:
            guests.add(visit)
        return visit in guests


guests: WeakSet[Visit] = WeakSet()
_door = Lock()


def leave(watched: tuple[ref[Visit], str]) -> None:
    """The visitor left, or lost the connection for a moment; when nobody can come back any more, the session closes."""
    if (visit := watched[0]()) is not None:
        visit.left = time.monotonic()
    # Before Streamlit lets go of the session by itself, and does not say so.
    early = 0.8 * float(st.get_option("server.disconnectedSessionTTL"))
    with suppress(RuntimeError):  # sessions are disconnected by the server's loop
        asyncio.get_running_loop().call_later(early, close, watched[1])


@st.cache_resource(scope="session", show_spinner=False, on_release=leave)
def watch_visit(_visit: ref[Visit]) -> tuple[ref[Visit], str]:
    """What Streamlit releases when it disconnects the session."""
    return _visit, getattr(get_script_run_ctx(), "session_id", "")


def close(name: str) -> None:
    """Close a session if nobody has come back to it.

    Memory is given back once, a while after the last of those who left together.
    """
    server, loop = runtime.get_instance(), asyncio.get_running_loop()
    if not server.is_active_session(name):
        server.close_session(name)
        for waits in due:
            waits.cancel()
        due[:] = [loop.call_later(6.0, loop.run_in_executor, None, give_back)]


due: list[asyncio.TimerHandle] = []


def give_back() -> None:
    """Return to the system what is free: cycles first, then what the C library holds for the next one."""
    gc.collect()
    library("malloc_trim", 0)


def library(name: str, *values: int) -> None:
    """Ask glibc; other systems have no such heaps."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), name, lambda *_: 0)(*values)


def uploader(label: str, *, key: str, **look: Any) -> Any:
    """`st.file_uploader`, one file; the server forgets the one before. Where it takes none, nobody is asked for any."""
    if not hosting.takes_files():
        caption("{label}: not here, as this server takes no files.", label=label)
        return None
    file = st.file_uploader(label, key=key, **look)
    now, before = getattr(file, "file_id", None), st.session_state.get(f"dpcore.upload:{key}")
    if before not in (None, now):
        forget_uploads(before)
    st.session_state[f"dpcore.upload:{key}"] = now
    return file


def forget_uploads(*names: str) -> None:
    """Forget these uploads of the session, or all: whoever left a page finds no files there."""
    context = get_script_run_ctx()
    uploads = getattr(context, "uploaded_file_mgr", None)
    if context is not None and isinstance(uploads, MemoryUploadedFileManager):
        for name in names:
            uploads.remove_file(context.session_id, name)
        if not names:
            uploads.remove_session_files(context.session_id)
