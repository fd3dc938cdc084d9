"""Test the guard in front of the server: admitted and refused requests, reasons, and headers."""

import asyncio
import os
from http import HTTPStatus
from pathlib import Path

import pytest
import streamlit as st
from starlette.middleware import Middleware
from streamlit import App, config, file_util, net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette import starlette_routes
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from dpcore.dashboard import FOLDER, housekeeping
from dpcore.dashboard.guard import HEADERS, Guard, with_own_host

PUBLIC = "https://dp.example.org"
START = ForwardMsg()
START.new_session.main_script_path = "/home/somebody/app.py"


async def anything(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Frame-Options", b"ALLOWALL")]})
        await send({"type": "http.response.body", "body": b"page"})


@pytest.fixture(autouse=True)
def public(monkeypatch):
    monkeypatch.setenv("DPCORE_PUBLIC", PUBLIC)


def asked(path="/", kind="http", method="GET", **headers):
    """Return the messages that answer a request with these headers."""
    sent = []

    async def send(message):
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": path, "method": method, "headers": raw}
    asyncio.run(Guard(anything)(scope, None, send))
    return sent


def answered(*args, **given):
    return asked(*args, **given)[0].get("status") == 200


@pytest.mark.parametrize(
    ("headers", "welcome"),
    [
        ({"host": "[::1]:8501", "origin": "http://[::1]:8501"}, True),
        ({"host": "dp.example.org", "origin": PUBLIC}, True),
        ({"host": "127.0.0.1:8501", "origin": PUBLIC}, True),  # a proxy that replaces the host
        ({"host": "127.0.0.1:8501", "referer": "https://news.example.com/a"}, True),  # a link
        ({"host": "rebound.example.com", "origin": "http://rebound.example.com"}, False),
        ({"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:9999"}, False),
        ({"host": "127.0.0.1:8501", "origin": "https://dp.example.org.evil.com"}, False),
        ({"host": "127.0.0.1:8501", "origin": "null"}, False),
        ({"host": "localhost.evil.com"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_only_requests_with_own_host_and_origin_are_answered(kind, headers, welcome):
    first = asked(kind=kind, **headers)[0]
    if kind == "http":
        assert first["status"] == (200 if welcome else HTTPStatus.MISDIRECTED_REQUEST)
    else:
        assert first["type"] == ("websocket.accept" if welcome else "websocket.close")


def test_streamlit_admits_what_the_guard_admits_without_a_lookup(monkeypatch):
    monkeypatch.setattr(net_util, "get_external_ip", lambda: pytest.fail("asked elsewhere"))
    for host, page in (("127.0.0.1:8501", PUBLIC), ("10.0.0.7:80", PUBLIC), ("localhost", "http://localhost")):
        raw = [(b"origin", page.encode()), (b"host", host.encode())]
        found = with_own_host({"type": "websocket", "path": "/_stcore/stream", "headers": raw})["headers"]
        assert len(found) == len(raw)
        assert _is_origin_allowed(*(dict(found)[name].decode() for name in (b"origin", b"host")))


def test_every_answer_has_the_headers_once():
    for sent in (asked(host="localhost"), asked(host="evil.com")):
        names = [name.lower() for name, _ in sent[0]["headers"]]
        assert set(HEADERS.items()) <= set(sent[0]["headers"])
        assert len(names) == len(set(names))


def test_uploads_are_refused_unless_allowed(monkeypatch):
    upload = {"path": "/_stcore/upload_file/session/file", "method": "PUT", "host": "localhost"}
    assert answered(**upload)
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    monkeypatch.delenv("DPCORE_UPLOADS", raising=False)
    assert asked(**upload)[0]["status"] == HTTPStatus.FORBIDDEN
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    assert answered(**upload)


def conversation(*frames, answer=START):
    """Return the frames that reach an application, and the answers that reach the page."""
    came, sent = [], []
    waiting = [{"type": "websocket.receive", "bytes": frame} for frame in frames] + [{"type": "websocket.disconnect"}]

    async def app(scope, receive, send):
        while (message := await receive())["type"] == "websocket.receive":
            came.append(message["bytes"])
            await send({"type": "websocket.send", "bytes": answer.SerializeToString()})

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(ForwardMsg.FromString(message["bytes"]))

    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(app)(scope, receive, send))
    return came, sent


def frame(**wanted):
    return BackMsg(**wanted).SerializeToString()


def test_messages_that_no_page_needs_are_dropped():
    run, files = frame(rerun_script={"query_string": "a"}), frame(file_urls_request={"request_id": "1"})
    download = frame(backend_operation_request={"request_id": "1", "deferred_file": {}})
    others = [frame(**{name: True}) for name in ("load_git_info", "clear_cache", "set_run_on_save")]
    others.append(frame(backend_operation_request={"request_id": "1", "install_skills": {}}))
    assert conversation(run, *others, files, download)[0] == [run, files, download]


def test_pages_never_receive_the_path_of_the_script():
    _, (text,) = conversation(frame(rerun_script={}))
    assert text.new_session.main_script_path == "app.py"


class Served:
    """Streamlit behind the guard, with two sessions, called without a network."""

    def __init__(self, monkeypatch):
        self.living = {"mine", "other"}
        app = App(FOLDER / "app.py", middleware=[Middleware(Guard)])
        self.app, self.runtime = app._build_starlette_app(), Runtime.instance()
        monkeypatch.setattr(self.runtime, "is_active_session", self.living.__contains__)
        monkeypatch.setattr(self.runtime._session_mgr, "get_session_info", lambda name: name in self.living or None)

    async def answer(self, method, path, body=(), kind="http"):
        """Return the status of the response."""
        parts, sent = [*body, b""], []

        async def receive():
            await asyncio.sleep(0)  # as a network does, which lets others come in between
            if not parts:
                await asyncio.Event().wait()  # nobody hangs up
            part = parts.pop(0)() if callable(parts[0]) else parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=edge")]
        scope = {"type": kind, "path": path, "query_string": b"", "headers": headers, "root_path": ""}
        scope |= {"method": method} if kind == "http" else {"extensions": {"websocket.http.response": {}}}
        await self.app(scope, receive, send)
        return sent[0]["status"]

    def ask(self, method, path, **given):
        return asyncio.run(self.answer(method, path, **given))

    async def put(self, file, size, session="mine", between=()):
        """Send a file in parts, without its length."""
        head = b'--edge\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n'
        body = [head, *[bytes(size // 8)] * 8, *between, b"\r\n--edge--\r\n"]
        return await self.answer("PUT", f"/_stcore/upload_file/{session}/{file}", body)

    def stored(self, *sessions):
        """Return the bytes of uploads that Streamlit stores."""
        files = self.runtime.uploaded_file_mgr.file_storage
        return sum(len(file.data) + len(file.name) for name in sessions or files for file in files[name].values())


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setattr(config, "_main_script_path", config._main_script_path)
    monkeypatch.setattr(starlette_routes, "is_xsrf_enabled", lambda: False)  # nobody here is a browser
    monkeypatch.setattr(Runtime, "_instance", None)
    before = config.get_option("server.maxUploadSize")
    config.set_option("server.maxUploadSize", 1)
    yield Served(monkeypatch)
    config.set_option("server.maxUploadSize", before)


NOBODY_ASKS = """/_stcore/metrics /_stcore/metrics/ //_stcore/metrics /_STCORE/metrics /static/../_stcore/metrics
    /naive_bayes/_stcore/metrics /_stcore/agent/openapi.json /_stcore/agent/interact /_stcore/agent/mcp
    /_stcore/script-health-check /_stcore/bidi-components/a/b /_stcore/upload_file/mine /_stcore/stream /component/a/b
    /app/static/a /static/\\\\computer\\share /manifest.json /no_such_page /auth/login /auth/logout /oauth2callback"""
NOBODY_ASKS = ("/_stcore/metrics\n", *NOBODY_ASKS.split())  # a route's pattern takes a line's end for nothing


def test_paths_that_no_page_needs_do_not_exist(served, monkeypatch):
    """Metrics would reveal the exact size of other visitors' uploads, and so a single row."""
    for name in ("HOSTED", "UPLOADS"):
        monkeypatch.setenv(f"DPCORE_{name}", "1")
    for path in NOBODY_ASKS:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            assert served.ask(method, path) == HTTPStatus.NOT_FOUND, (method, path)
        if path != "/_stcore/stream":
            assert served.ask("", path, kind="websocket") == HTTPStatus.NOT_FOUND, path
    assert served.ask("POST", "/") == HTTPStatus.NOT_FOUND


def test_pages_get_what_they_need(served):
    static = Path(file_util.get_static_dir())
    files = [f"/{path.relative_to(static).as_posix()}" for path in static.rglob("static/**/*") if path.is_file()]
    pages = [f"/{path.stem}" for path in (FOLDER / "pages").glob("*.py")]
    assert all(answered(path, host="localhost") for path in files)  # by the guard; Streamlit is asked for some
    for path in ("/", "/favicon.png", "/_stcore/host-config", *pages, *files[::50]):
        assert served.ask("GET", path) == HTTPStatus.OK, path


def test_a_base_path_serves_the_same_paths_and_nothing_above(monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda _: "/class/dp/")
    for path in ("/class/dp", "/class/dp/", "/class/dp/naive_bayes", "/class/dp/_stcore/health"):
        assert answered(path, host="localhost"), path
    for path in ("/", "/naive_bayes", "/class/dpx", "/class/_stcore/health", "/class/dp/_stcore/metrics"):
        assert asked(path, host="localhost")[0]["status"] == HTTPStatus.NOT_FOUND, path


MEGABYTE = 2**20 - 2**10  # with its form, the largest file here


def twelve(served, sessions=("mine",) * 12):
    """Return the statuses of twelve uploads in sequence."""
    return [asyncio.run(served.put(index, MEGABYTE, session)) for index, session in enumerate(sessions)]


def test_unused_uploads_of_a_session_are_bounded(served):
    first = twelve(served)
    assert first[-1] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    allowed = [*first[:4], asyncio.run(served.put("a", MEGABYTE, "other"))]
    served.ask("DELETE", "/_stcore/upload_file/mine/0")
    assert {*allowed, asyncio.run(served.put("again", MEGABYTE))} == {HTTPStatus.NO_CONTENT}
    assert served.stored("mine") <= 8 * 2**20


def test_simultaneous_uploads_are_bounded(served):
    async def upload():
        return await asyncio.gather(*(served.put(index, MEGABYTE) for index in range(12)))

    assert HTTPStatus.REQUEST_ENTITY_TOO_LARGE in asyncio.run(upload())
    assert served.stored() <= 8 * 2**20
    assert asyncio.run(served.put("later", 8)) == HTTPStatus.NO_CONTENT  # what was refused is not counted any more


def test_empty_files_and_their_names_count_as_uploads(served):
    before = housekeeping.upload_room("mine")
    for index in range(100):
        served.runtime.uploaded_file_mgr.add_file("mine", UploadedFileRec(str(index), "n" * 2_000, "text/csv", b""))
    assert before - housekeeping.upload_room("mine") > 300_000


def test_all_visitors_together_have_a_part_of_the_memory(served, monkeypatch):
    for name, value in (("HOSTED", "1"), ("UPLOADS", "1"), ("LIMITS", "megabytes=40")):
        monkeypatch.setenv(f"DPCORE_{name}", value)
    sessions = [str(index) for index in range(12)]
    served.living |= {*sessions}
    assert twelve(served, sessions)[-1] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert served.stored() <= 10e6


def test_nothing_stays_of_an_upload_whose_session_ended_before_it(served):
    def leaves():
        served.living.discard("mine")
        return bytes(8)

    asyncio.run(served.put("late", MEGABYTE, between=[leaves]))
    assert served.stored() == 0


def test_an_upload_without_room_is_refused_in_words(served):
    def told(session):
        message = ForwardMsg()
        message.file_urls_response.file_urls.add(upload_url=f"/_stcore/upload_file/{session}/a", file_id="a")
        return conversation(frame(rerun_script={}), answer=message)[1][0].file_urls_response.error_msg

    assert told("mine") == ""
    twelve(served)
    assert told("mine").startswith("There is no room for another upload.")
    assert told("other") == ""


def test_a_server_without_the_guard_is_recognized(monkeypatch):
    monkeypatch.delenv("DPCORE_GUARD", raising=False)
    monkeypatch.setattr(Runtime, "_instance", None)
    assert not housekeeping.is_unguarded()  # as there is no server: a test of pages, or a script
    monkeypatch.setattr(Runtime, "_instance", object.__new__(Runtime))
    for inherited in ("", "1", str(os.getppid())):
        monkeypatch.setenv("DPCORE_GUARD", inherited)
        assert housekeeping.is_unguarded()
    Guard(anything)
    assert not housekeeping.is_unguarded()
