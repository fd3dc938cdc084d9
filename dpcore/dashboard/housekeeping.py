"""Memory is given back: by visitors who have left, and by uploads that others took the place of."""

import asyncio
import ctypes
import gc
import sys
from typing import Any

import pyarrow as pa
import streamlit as st
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

SLACK = 1.0  # seconds; Streamlit lets go of a session then, and does not say so


def close_later(session: str) -> None:
    """Close a session that was disconnected when nobody can come back to it any more.

    Streamlit keeps it, with its rows, until yet another one is disconnected: on a quiet server for ever.
    """
    try:
        loop = asyncio.get_running_loop()  # sessions are disconnected by the server's
    except RuntimeError:
        return
    seconds = float(st.get_option("server.disconnectedSessionTTL"))
    loop.call_later(max(seconds - SLACK, 0.0), close, session)


@st.cache_resource(scope="session", show_spinner=False, on_release=close_later)
def presence() -> str:
    """The session's identity; who asks for it in every run has the session closed when its visitor has left."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def close(session: str) -> None:
    """Close a session if nobody has come back to it."""
    server = runtime.get_instance()
    if not server.is_active_session(session):
        server.close_session(session)
        asyncio.get_running_loop().run_in_executor(None, give_back)


def give_back() -> None:
    """Return to the system what is free: cycles first, then what Arrow and the C library hold for the next one."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # glibc has it


def uploader(label: str, *, key: str, **look: Any) -> Any:
    """`st.file_uploader`, one file; the server forgets the one before. Streamlit leaves that to the browser."""
    file = st.file_uploader(label, key=key, **look)
    now, before = None if file is None else file.file_id, st.session_state.get(f"dpcore.upload:{key}")
    context = get_script_run_ctx()
    if before not in (None, now) and context is not None:
        uploads = context.uploaded_file_mgr
        if isinstance(uploads, MemoryUploadedFileManager):
            uploads.remove_file(context.session_id, before)
    st.session_state[f"dpcore.upload:{key}"] = now
    return file


def forget_uploads() -> None:
    """Forget the session's uploads: whoever leaves a page finds its uploaders empty on coming back."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)
