"""What stands before every request: by which names this server is reached, from whose pages, and at which paths.

A page of another site, on another port, or behind a name that was pointed at this computer must not talk to a
dashboard that holds somebody's rows. So a request is answered if its `Host` is a number, localhost, or a public address
that whoever started the server named, and if it comes from a page of that very address, or of a public one. Streamlit
itself would let any port of this computer in, and looks up the computer's own addresses elsewhere to compare them.

And a request is answered at the paths that pages ask for, and at no other: Streamlit also tells anybody how many bytes
visitors uploaded, and has an interface for agents. Uploads are counted on their way: what a session holds is bounded.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.exceptions import HTTPException

from dpcore.dashboard import FOLDER, hosting, housekeeping
from dpcore.dashboard.messages import FULL, answer, needed

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

HEADERS = (
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # the guard needs it, of its own pages
)
MISDIRECTED, FORBIDDEN, NOT_FOUND, TOO_LARGE = 421, 403, 404, 413
PAGES = "|".join(path.stem for path in (FOLDER / "pages").glob("*.py"))
PATHS = re.compile(  # what pages of the oldest and of the newest Streamlit ask for (tests/browser/test_requests.py)
    rf" /_stcore/stream|(GET|HEAD) /(({PAGES})/?|favicon\.png|_stcore/(health|host-config))?"
    r"|(GET|HEAD) /(static|media)(/\w[\w.-]*)+|(PUT|DELETE) /_stcore/upload_file/(?P<session>[^/]+)/[^/]+",
    re.ASCII,
)


class Guard:
    """An ASGI application before another."""

    def __init__(self, app: Application, public: Iterable[str] | None = None) -> None:
        self.app = app
        os.environ["DPCORE_GUARD"] = str(os.getpid())  # pages say if it is not there (housekeeping.unguarded)
        self.public = {origin(address) for address in (named() if public is None else public)}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer, refuse, and add the headers."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if wrong := self.wrong(scope):
            await refuse(scope, send, MISDIRECTED, wrong)
        elif not (path := known(scope)):
            await refuse(scope, send, NOT_FOUND, "There is no page at this address. Open the dashboard's first page.")
        elif scope.get("method") != "PUT":
            await self.app(settled(scope), judged(receive), with_headers(send))
        elif hosting.takes_files():
            await self.take(path["session"], scope, receive, send)
        else:
            await refuse(scope, send, FORBIDDEN, "This server takes no files.")

    async def take(self, session: str, scope: Message, receive: Receive, send: Send) -> None:
        """Pass an upload on while there is room for it, whatever it says of its length."""
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += (came := len(message.get("body", b"")))
            housekeeping.coming[session] += came
            if housekeeping.room(session) < 0:
                raise HTTPException(TOO_LARGE, FULL)
            return message

        try:
            await self.app(scope, receiving, with_headers(send))
        finally:
            housekeeping.coming -= Counter({session: size})
            housekeeping.stored()  # the session may have ended before its upload did

    def wrong(self, scope: Message) -> str:
        """Why a request is refused; nothing if it is not."""
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = sent.get("host", "")
        if not (numeric(host) or host in {urlsplit(address).netloc for address in self.public}):
            return unknown(f"https://{host}")
        page = sent.get("origin", "")
        if not page and "/_stcore/" in scope["path"]:  # what a page asks for itself; links may come from anywhere
            page = sent.get("referer", "")
        if page and origin(page) not in self.public and urlsplit(page).netloc != host:
            return unknown(origin(page))
        return ""


def known(scope: Message) -> re.Match[str] | None:
    """What a request asks for, by its method (of a websocket: none) and its decoded path; None if no page needs it."""
    base = f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")
    if not f"{scope['path']}/".startswith(f"{base}/"):
        return None
    return PATHS.fullmatch(f"{scope.get('method', '')} {scope['path'].removeprefix(base) or '/'}")


def settled(scope: Message) -> Message:
    """A request whose origin was judged, as if its host were that: Streamlit knows no public addresses.

    It would look up its own ones elsewhere, and refuse who came through a proxy that replaces the host.
    """
    page = dict(scope["headers"]).get(b"origin", b"")
    if scope["type"] != "websocket" or not page:
        return scope
    others = [pair for pair in scope["headers"] if pair[0] != b"host"]
    return {**scope, "headers": [*others, (b"host", urlsplit(page).netloc)]}


def named() -> list[str]:
    """The public addresses that whoever started the server named."""
    return os.environ.get("DPCORE_PUBLIC", "").split()


def unknown(address: str) -> str:
    """What to do if an address is right after all."""
    return (
        f"dpcore was asked from {address}, which it does not know as its own address. If it is, whoever started the "
        f"server starts it with --public {address}"
    )


def origin(address: str) -> str:
    """Scheme, name and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}".lower()


def numeric(host: str) -> bool:
    """Whether a host is this computer's or a number, which nobody can point elsewhere."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def judged(receive: Receive) -> Receive:
    """Receive, without messages that no page of the dashboard needs to send."""

    async def receiving() -> Message:
        while True:
            message = await receive()
            raw = message.get("bytes") if message["type"] == "websocket.receive" else None
            if not raw or needed(raw):
                return message

    return receiving


def with_headers(send: Send) -> Send:
    """Send, with what every answer tells browsers, and without what no page needs to know."""

    async def sending(message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            ours = {name for name, _ in HEADERS}
            message["headers"] = [
                *(pair for pair in message.get("headers", []) if pair[0].lower() not in ours),
                *HEADERS,
            ]
        elif message["type"] == "websocket.send" and (raw := message.get("bytes")):
            message = {**message, "bytes": answer(raw)}
        await send(message)

    return sending


async def refuse(scope: Message, send: Send, status: int, why: str) -> None:
    """Refuse a request, with a text; a websocket before it is open."""
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    if scope["type"] == "websocket" and kind not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        return
    media, body = "text/plain", why
    if status == MISDIRECTED and scope["path"].endswith(".js"):  # the page would stay empty: its script says why
        status, media, body = 200, "text/javascript", f"document.body.textContent = {json.dumps(why)}"
    head = [(b"content-type", f"{media}; charset=utf-8".encode()), (b"cache-control", b"no-store")]
    await with_headers(send)({"type": f"{kind}.start", "status": status, "headers": head})
    await send({"type": f"{kind}.body", "body": body.encode()})
