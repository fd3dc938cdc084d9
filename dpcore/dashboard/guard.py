"""The guard in front of the server: which hosts, origins and paths a request may have.

A page of another site, of another port, or behind a host name that was pointed at this computer
must not talk to a dashboard that has someone's private rows. The guard therefore answers a
request under two conditions. Its `Host` is an IP address, localhost, or a public address that
`--public` names. And it comes from a page of that same address, or of a public one. Streamlit
itself would admit every port of this computer, and would ask an outside server for the
computer's own addresses.

The guard answers only at the paths that pages need. Streamlit also tells everyone how many bytes
visitors uploaded, and has an interface for agents. The guard counts uploads while they arrive,
since the memory of a session is bounded.
"""

import json
import os
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from dpcore.dashboard import FOLDER, hosting, housekeeping
from dpcore.dashboard.messages import FULL, hide_private_paths, is_needed

HEADERS = {
    b"x-frame-options": b"DENY",
    b"content-security-policy": b"frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # the guard needs the referrer of its own pages
}
PAGES = "|".join(path.stem for path in (FOLDER / "pages").glob("*.py"))
PATHS = re.compile(  # requests of pages in all Streamlit versions (tests/browser/test_requests.py)
    rf" /_stcore/stream|(GET|HEAD) /(({PAGES})/?|favicon\.png|_stcore/(health|host-config))?"
    r"|(GET|HEAD) /(static|media)(/\w[\w.-]*)+|(PUT|DELETE) /_stcore/upload_file/(?P<session>[^/]+)/[^/]+",
    re.ASCII,
)


class Guard:
    """An ASGI application that checks requests before it passes them to another one."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`, and mark this process as guarded."""
        self.app = app
        os.environ["DPCORE_GUARD"] = str(os.getpid())  # read by housekeeping.is_unguarded
        self.public = {origin(address) for address in os.environ.get("DPCORE_PUBLIC", "").split()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse an ASGI request, and add security headers to the response."""
        if scope["type"] not in ("http", "websocket"):
            app = self.app
        elif unknown := self.unknown_address(scope):
            remedy = f"If this is its address, start the server with --public {unknown}"
            why = f"dpcore does not know {unknown} as an address of its own. {remedy}"
            app = refuse(scope, HTTPStatus.MISDIRECTED_REQUEST, why)
        elif not (path := match_request(scope)):
            app = refuse(scope, HTTPStatus.NOT_FOUND, "This address has no page. Open the first page.")
        elif scope.get("method") != "PUT":
            app, receive = self.app, filter_messages(receive)
        elif hosting.accepts_uploads():
            app = partial(self.pass_upload, path["session"])
        else:
            app = refuse(scope, HTTPStatus.FORBIDDEN, "This server accepts no uploads.")
        await app(with_own_host(scope), receive, with_headers(send))

    async def pass_upload(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an upload to the application while the session may still upload its bytes.

        The declared length of the upload is not trusted.
        """
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += (came := len(message.get("body", b"")))
            housekeeping.incoming_bytes[session] += came
            if housekeeping.upload_room(session) < 0:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, FULL)
            return message

        try:
            await self.app(scope, receiving, send)
        finally:
            housekeeping.incoming_bytes -= Counter({session: size})
            housekeeping.upload_bytes()  # the session may have ended before its upload

    def unknown_address(self, scope: Scope) -> str:
        """Return the address that makes a request inadmissible; "" if there is none.

        It is the server's own address, if the guard does not know it, or that of the foreign page
        that sent the request.
        """
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, page = sent.get("host", ""), sent.get("origin", "")
        if not (is_numeric_host(host) or host in {urlsplit(address).netloc for address in self.public}):
            return f"https://{host}"
        if not page and "/_stcore/" in scope["path"]:  # sent by a page; links come from anywhere
            page = sent.get("referer", "")
        ours = not page or origin(page) in self.public or urlsplit(page).netloc == host
        return "" if ours else origin(page)


def match_request(scope: Scope) -> re.Match[str] | None:
    """Return the match of a request's method and path with those that pages need, or None.

    A websocket has no method.
    """
    base = f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")
    if not f"{scope['path']}/".startswith(f"{base}/"):
        return None
    return PATHS.fullmatch(f"{scope.get('method', '')} {scope['path'].removeprefix(base) or '/'}")


def with_own_host(scope: Scope) -> Scope:
    """Return a checked websocket request with its origin as its host.

    Streamlit knows no public addresses. It would ask an outside server for its own addresses, and
    would refuse visitors who come through a proxy that replaces the host.
    """
    page = dict(scope.get("headers", ())).get(b"origin", b"")
    if scope["type"] != "websocket" or not page:
        return scope
    others = [pair for pair in scope["headers"] if pair[0] != b"host"]
    return {**scope, "headers": [*others, (b"host", urlsplit(page).netloc)]}


def origin(address: str) -> str:
    """Return the scheme, name and port of an address, in lower case."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_numeric_host(host: str) -> bool:
    """Return whether a host is localhost or an IP address, which no one can point elsewhere."""
    name = urlsplit(f"//{host}").hostname or ""
    with suppress(ValueError):
        return name == "localhost" or bool(ip_address(name))
    return False


def filter_messages(receive: Receive) -> Receive:
    """Wrap `receive` so that websocket messages that no page needs are dropped."""

    async def receiving() -> Message:
        while True:
            message = await receive()
            raw = message.get("bytes")  # a message of a websocket
            if not raw or is_needed(raw):
                return message

    return receiving


def with_headers(send: Send) -> Send:
    """Wrap `send`: responses carry the security headers `HEADERS`, and messages hide paths.

    The paths are those of the server's script.
    """

    async def sending(message: Message) -> None:
        if message["type"].endswith("http.response.start"):
            others = [pair for pair in message.get("headers", []) if pair[0].lower() not in HEADERS]
            message["headers"] = [*others, *HEADERS.items()]
        elif message["type"] == "websocket.send" and (raw := message.get("bytes")):
            message = {**message, "bytes": hide_private_paths(raw)}
        await send(message)

    return sending


def refuse(scope: Scope, status: int, why: str) -> ASGIApp:
    """Return an ASGI application that refuses a request with a status and a reason."""
    headers = {"cache-control": "no-store"}
    extensions = scope.get("extensions", {})
    if scope["type"] == "websocket" and "websocket.http.response" not in extensions:
        return WebSocketClose(1008, why[:120])
    if status == HTTPStatus.MISDIRECTED_REQUEST and scope["path"].endswith(".js"):
        # Without this script, the page would stay empty.
        script = f"document.body.textContent = {json.dumps(why)}"
        return Response(script, headers=headers, media_type="text/javascript")
    return PlainTextResponse(why, status, headers)
