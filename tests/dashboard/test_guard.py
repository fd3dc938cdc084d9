"""What stands before every request: who is answered, who is refused and learns why, and what browsers are told."""

import asyncio

import pytest
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from dpcore.dashboard.guard import FORBIDDEN, HEADERS, MISDIRECTED, Guard, settled

PUBLIC = "https://dp.example.org"


async def anything(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Frame-Options", b"ALLOWALL")]})
        await send({"type": "http.response.body", "body": b"page"})


def asked(path="/", kind="http", public=(PUBLIC,), method="GET", **headers):
    """What is sent to somebody who asks with those headers."""
    sent = []

    async def send(message):
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": path, "method": method, "headers": raw}
    asyncio.run(Guard(anything, public)(scope, None, send))
    return sent


def answered(*args, **given):
    return asked(*args, **given)[0].get("status") == 200


@pytest.mark.parametrize(
    ("headers", "welcome"),
    [
        ({"host": "127.0.0.1:8501"}, True),
        ({"host": "localhost:8501"}, True),
        ({"host": "[::1]:8501", "origin": "http://[::1]:8501"}, True),
        ({"host": "192.168.1.7:8501", "origin": "http://192.168.1.7:8501"}, True),
        ({"host": "dp.example.org", "origin": PUBLIC}, True),
        ({"host": "127.0.0.1:8501", "origin": PUBLIC}, True),  # a proxy that replaces the host
        ({"host": "127.0.0.1:8501", "referer": "https://news.example.com/a"}, True),  # a link
        ({"host": "rebound.example.com:8501"}, False),
        ({"host": "rebound.example.com", "origin": "http://rebound.example.com"}, False),
        ({"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:9999"}, False),
        ({"host": "127.0.0.1:8501", "origin": "https://dp.example.org.evil.com"}, False),
        ({"host": "127.0.0.1:8501", "origin": "http://dp.example.org"}, False),
        ({"host": "127.0.0.1:8501", "origin": "null"}, False),
        ({"host": "127.0.0.1.evil.com"}, False),
        ({"host": "localhost.evil.com"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_only_its_own_pages_and_names_are_answered(kind, headers, welcome):
    first = asked(kind=kind, **headers)[0]
    if kind == "http":
        assert first["status"] == (200 if welcome else MISDIRECTED)
    else:
        assert first["type"] == ("websocket.accept" if welcome else "websocket.close")


def test_a_page_behind_a_proxy_that_nobody_named_says_what_to_do():
    """A browser says where a page is with its scripts, and with what it asks for itself; not with the page."""
    asks = {"public": (), "host": "127.0.0.1:8501"}
    assert answered("/", **asks)
    start, script = asked("/static/js/index.1.js", origin=PUBLIC, **asks)
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (200, b"text/javascript; charset=utf-8")
    assert script["body"].startswith(b"document.body.textContent = ")
    refused = asked("/_stcore/health", referer=f"{PUBLIC}/naive_bayes", **asks)
    assert refused[0]["status"] == MISDIRECTED
    for sent in (script, refused[1]):
        assert f"--public {PUBLIC}".encode() in sent["body"]


def test_who_was_let_in_is_let_in_by_streamlit_which_asks_nobody(monkeypatch):
    monkeypatch.setattr(net_util, "get_external_ip", lambda: pytest.fail("asked elsewhere"))
    for host, page in (("127.0.0.1:8501", PUBLIC), ("10.0.0.7:80", PUBLIC), ("localhost", "http://localhost")):
        raw = [(b"origin", page.encode()), (b"host", host.encode())]
        found = settled({"type": "websocket", "path": "/_stcore/stream", "headers": raw})["headers"]
        assert len(found) == len(raw)
        assert _is_origin_allowed(*(dict(found)[name].decode() for name in (b"origin", b"host")))


def test_every_answer_has_the_headers_once():
    for sent in (asked(host="localhost"), asked(host="evil.com")):
        names = [name.lower() for name, _ in sent[0]["headers"]]
        assert set(HEADERS) <= set(sent[0]["headers"])
        assert len(names) == len(set(names))


def test_no_file_is_taken_where_none_is_asked_for(monkeypatch):
    upload = {"path": "/base/_stcore/upload_file/session/file", "method": "PUT", "host": "localhost"}
    assert answered(**upload)
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    monkeypatch.delenv("DPCORE_UPLOADS", raising=False)
    assert asked(**upload)[0]["status"] == FORBIDDEN
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    assert answered(**upload)


def conversation(*frames):
    """What reaches an application of those frames of a page, and what the page gets as an answer to each."""
    came, sent = [], []
    waiting = [{"type": "websocket.receive", "bytes": frame} for frame in frames] + [{"type": "websocket.disconnect"}]

    async def app(scope, receive, send):
        while (message := await receive())["type"] == "websocket.receive":
            came.append(message["bytes"])
            told = ForwardMsg()
            told.new_session.main_script_path, told.new_session.name = "/home/somebody/app.py", "app"
            await send({"type": "websocket.send", "bytes": told.SerializeToString()})

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message["bytes"])

    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(app, ())(scope, receive, send))
    return came, sent


def frame(**asked):
    return BackMsg(**asked).SerializeToString()


def test_a_page_is_heard_only_where_it_asks_for_what_pages_need():
    run, files = frame(rerun_script={"query_string": "a"}), frame(file_urls_request={"request_id": "1"})
    download = frame(backend_operation_request={"request_id": "1", "deferred_file": {}})
    others = [frame(**{name: True}) for name in ("load_git_info", "clear_cache", "set_run_on_save")]
    others.append(frame(backend_operation_request={"request_id": "1", "install_skills": {}}))
    broken = b"\xff\xff"
    assert conversation(run, *others, files, download, broken)[0] == [run, files, download, broken]


def test_no_page_learns_where_the_script_lies():
    _, (told,) = conversation(frame(rerun_script={}))
    session = ForwardMsg.FromString(told).new_session
    assert (session.main_script_path, session.name) == ("app.py", "app")
