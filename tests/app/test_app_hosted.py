"""A server for visitors: no control for files, no file of the server, and its limits are told."""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen
from weakref import WeakSet

import pytest
import streamlit as st
from driving import PAGES, ROOT, csv, opened, people, released, started, upload
from protocol import PATIENCE, Visitor, marks
from screen import mendable, said, widget, words
from websockets.exceptions import ConnectionClosed

from dpcore.dashboard import housekeeping
from dpcore.dashboard.guard import HEADERS
from dpcore.datasets import reading
from scripts.screenshots import COMMAND, Server
from scripts.screenshots import started as served

pytestmark = pytest.mark.app


@pytest.fixture(autouse=True)
def visitors(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    for name in ("UPLOADS", "LIMITS", "OPERATOR"):
        monkeypatch.delenv(f"DPCORE_{name}", raising=False)
    monkeypatch.setattr(housekeeping, "guests", WeakSet())
    return tmp_path


def test_no_page_takes_a_file_or_shows_one_of_the_server(visitors):
    at = released(started("naive_bayes"))
    for page in PAGES:
        at = opened(at, page)
        told = words(at, everywhere=True)
        assert not at.get("file_uploader"), page
        assert not [place for place in (ROOT, Path.home(), visitors) if str(place) in told], page
        assert "ledger.sqlite" not in told, page
    assert list(visitors.iterdir()) == []


def test_only_tables_that_come_with_the_program_are_offered(monkeypatch):
    at = started("data")
    assert list(widget(at, "data.source").options) == ["Bundled sample", "Bank cards", "Bank cards, dependent"]
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    at = started("data")
    assert "My own file" in widget(at, "data.source").options
    assert "UCI Adult" not in widget(at, "data.source").options


def test_the_menu_folds_no_page_away(monkeypatch):
    """Streamlit would, as soon as there are more than twelve."""
    seen, menu = [], st.navigation
    monkeypatch.setattr(st, "navigation", lambda pages, **look: seen.append((pages, look)) or menu(pages, **look))
    started("about")
    pages, look = seen[-1]
    assert sum(map(len, pages.values())) == 13
    assert look["expanded"] is True


def test_visitors_learn_who_runs_it_and_what_it_lets_them_do(monkeypatch):
    assert "did not say who they are" in said(started("about"))
    monkeypatch.setenv("DPCORE_OPERATOR", "The *statistics* class")
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    monkeypatch.setenv("DPCORE_LIMITS", "seconds=77,rows=1234")
    told = said(started("about"))
    assert "statistics" in told
    assert "77 seconds" in told
    assert "1,234 rows" in told


def test_tables_of_visitors_have_the_size_that_the_limits_allow(monkeypatch):
    """A larger one is refused by the process that reads it: asked afterwards, it is in everybody's memory already."""
    came, read = [], reading.table_from
    monkeypatch.setattr(reading, "table_from", lambda *asked: came.append(read(*asked)) or came[-1])
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    monkeypatch.setenv("DPCORE_LIMITS", "rows=80,columns=3")
    assert mendable(upload(started("data"), "people.csv", csv(people(80)))) == []
    assert len(came) == 1
    (told,) = mendable(upload(started("data"), "people.csv", csv(people(81))))
    assert len(came) == 1
    assert "81 rows and 3 columns; this server takes 80 and 3 at most" in told


def test_who_finds_a_full_server_is_told_so_and_gets_nothing_else(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "visitors=1")
    first = started()
    second = started("naive_bayes")
    assert "This server is full" in said(second)
    assert not second.button
    assert "dpcore.data" not in second.session_state
    assert opened(first, "naive_bayes").button


@pytest.fixture
def open_server(visitors: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server for visitors, with options of a test's own."""
    for_clients = ["--server.enableXsrfProtection", "false"]  # who are no browsers
    command = [*COMMAND, "--hosted", *for_clients, *getattr(request, "param", ())]
    with served(visitors / "server.log", command=command) as found:
        yield found


@pytest.mark.slow
def test_nothing_that_a_server_sends_names_a_path_of_it(open_server, visitors):
    with urlopen(open_server.address, timeout=PATIENCE) as page:
        sent = [(name.lower().encode(), value.encode()) for name, value in page.getheaders()]
    assert set(HEADERS) <= set(sent)
    with Visitor(open_server.address) as me:
        me.open("naive_bayes")
        me.press("naive_bayes.run")
        for name in ("Price", "Accuracy", "Risk", "Take home"):
            me.set("naive_bayes.tab.en", string_value=name)
        me.download("naive_bayes.download")
        for page in PAGES:
            me.open(page)
    paths = {str(place).encode() for place in (ROOT, Path.home(), visitors, sys.prefix)}
    assert not [raw[:300] for raw in me.heard if any(path in raw for path in paths)]
    assert [path.name for path in visitors.iterdir()] == ["server.log"]


@pytest.mark.slow
@pytest.mark.parametrize("open_server", [("--uploads", "--server.maxUploadSize", "1")], indirect=True)
def test_a_file_that_is_too_large_is_refused_whatever_the_browser_says(open_server):
    with Visitor(open_server.address) as me:
        me.open("data")
        me.set("data.source", string_array_value=["My own file"])
        with pytest.raises(URLError) as refused:
            me.upload("data.file", "people.csv", csv(people(200_000)))
        if isinstance(refused.value, HTTPError):  # or the server hung up before all was sent
            refused.value.close()
            assert refused.value.code == 413
    with urlopen(f"{open_server.address}/_stcore/health", timeout=PATIENCE) as answer:
        assert answer.status == 200  # it is there all the same


def worked(server: Server, seconds: float) -> float:
    """The processor's seconds that a server and its workers take in a while."""

    def until_now() -> int:
        times = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, times[11:15]))

    before = until_now()
    time.sleep(seconds)
    return (until_now() - before) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the times of processes where Linux has them")
def test_a_closed_tab_ends_its_work_within_ten_seconds(open_server):
    with Visitor(open_server.address) as me, ThreadPoolExecutor(1) as pool:
        me.open("compare")
        me.set("compare.repeats", int_value=20)
        comparing = pool.submit(me.press, "compare.run")
        end = time.monotonic() + PATIENCE
        while not marks(me.heard[:], rb"Comparing: ([1-9]\d*) of \d+ runs") and time.monotonic() < end:
            assert not comparing.done()
            time.sleep(0.05)
        me.line.__exit__(None, None, None)
        closed = time.monotonic()
        assert isinstance(comparing.exception(), ConnectionClosed)
    assert worked(open_server, 2.0) > 0.1
    while worked(open_server, 2.0) > 0.1:
        assert time.monotonic() - closed < 12.0  # the last two show that nothing goes on
