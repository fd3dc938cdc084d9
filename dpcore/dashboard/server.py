"""The server application that the command `dpcore` starts: the dashboard behind its guard."""

import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Timer

import streamlit as st
from starlette.middleware import Middleware
from streamlit import App
from streamlit.web.server.server_util import get_display_address, get_url

from dpcore.dashboard import FOLDER, hosting
from dpcore.dashboard.guard import Guard
from dpcore.dashboard.housekeeping import call_glibc


@asynccontextmanager
async def open_browser(_: App) -> AsyncIterator[None]:
    """Open the page in a browser when the server starts, unless the server is headless."""
    call_glibc("mallopt", -8, 2)  # M_ARENA_MAX: each heap keeps its largest size
    if not st.get_option("server.headless"):
        address = get_url(get_display_address(st.get_option("server.address")))
        Timer(0.3, webbrowser.open, [address]).start()  # when the server answers
    yield


hosting.refuse_login()
app = App(FOLDER / "app.py", middleware=[Middleware(Guard)], lifespan=open_browser)
