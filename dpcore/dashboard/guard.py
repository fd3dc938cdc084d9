"""What stands before every request: by which names this server is reached, and from whose pages.

A page of another site, on another port, or behind a name that was pointed at this computer must not talk to a
dashboard that holds somebody's rows. So a request is answered if its `Host` is a number, localhost, or a public address
that whoever started the server named, and if it comes from a page of that very address, or of a public one. Streamlit
itself would let any port of this computer in, and looks up the computer's own addresses elsewhere to compare them.
"""

import json
import os
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from dpcore.dashboard.hosting import takes_files
from dpcore.dashboard.messages import needed, without_path

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
MISDIRECTED, FORBIDDEN = 421, 403


class Guard:
    """An ASGI application before another."""

    def __init__(self, app: Application, public: Iterable[str] | None = None) -> None:
        self.app = app
        self.public = {origin(address) for address in (named() if public is None else public)}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer, refuse, and add the headers."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if wrong := self.wrong(scope):
            await refuse(scope, send, MISDIRECTED, wrong)
        elif not takes_files() and "_stcore/upload_file" in scope["path"] and scope.get("method") != "DELETE":
            await refuse(scope, send, FORBIDDEN, "This server takes no files.")
        else:
            await self.app(settled(scope), judged(receive), with_headers(send))

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
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            message["headers"] = [
                *(pair for pair in message.get("headers", []) if pair[0].lower() not in ours),
                *HEADERS,
            ]
        elif message["type"] == "websocket.send" and (raw := message.get("bytes")):
            message = {**message, "bytes": without_path(raw)}
        await send(message)

    return sending


async def refuse(scope: Message, send: Send, status: int, why: str) -> None:
    """Refuse a request, with a text; a websocket is closed before it is open."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        return
    kind, body = "text/plain", why
    if scope["path"].endswith(".js"):  # the page would stay empty: its script says why
        status, kind, body = 200, "text/javascript", f"document.body.textContent = {json.dumps(why)}"
    head = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"cache-control", b"no-store")]
    await with_headers(send)({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body.encode()})
