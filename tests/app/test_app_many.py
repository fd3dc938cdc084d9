"""Servers, and visitors who speak their protocol: many at once, each with their own table, and what is left of them."""

import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from driving import PAGES, ROOT, csv, people
from protocol import PATIENCE, Visitor, marks
from websockets.exceptions import ConnectionClosed

from dpcore.dashboard.guard import HEADERS
from scripts.screenshots import COMMAND, Server, started

VISITORS = int(os.environ.get("DPCORE_VISITORS", "8"))
WORD, NUMBER = "Zqvjx", "864209753"  # so long that no zip, picture or random number has one by chance
MARK = f"(?:{WORD}|{NUMBER})(\\d{{3}})".encode()
PAGE = "naive_bayes"
OPEN = [*COMMAND, "--server.enableXsrfProtection", "false"]  # to visitors who are no browsers


def table(place: int) -> bytes:
    """A table with a mark of its own in the columns' names, the categories and a number's bounds."""
    rng, mark = np.random.default_rng(place), f"{WORD}{place:03}"
    ill = rng.random(120) < 0.4
    frame = pd.DataFrame(
        {
            f"{mark}sum": rng.integers(0, 50, 120),
            f"{mark}town": np.where(ill, f"{mark}a", rng.choice([f"{mark}a", f"{mark}b", f"{mark}c"], 120)),
            f"{mark}ill": np.where(ill, f"{mark}yes", f"{mark}no"),
        }
    )
    frame.iloc[0, 0] = int(f"{NUMBER}{place:03}")
    return frame.to_csv(index=False).encode()


def visit(address: str, place: int, together: Barrier) -> Visitor:
    """Upload, release, look at charts, and take a report home, with and without comparisons."""
    name = f"{WORD}{place:03}"
    with Visitor(address) as me:
        me.open("data")
        me.set("data.source", string_array_value=["My own file"])
        me.upload("data.file", f"{name}.csv", table(place))
        me.set("data.target", string_value=f"{name}ill")
        me.press("data.round")
        me.press("data.declare")
        me.press("data.use")
        me.open(PAGE)
        together.wait(PATIENCE)
        me.press(f"{PAGE}.run")
        for _ in range(2):
            me.set(f"{PAGE}.tab.en", string_value="Columns")
            me.set(f"{PAGE}.tab.en", string_value="Take home")
            for kind in ("download", "download_report", "download_notebook"):
                me.download(f"{PAGE}.{kind}")
            me.set(f"{PAGE}.real", bool_value=True)
            me.set(f"{PAGE}.tab.en", string_value="Pairs")
    return me


@pytest.mark.slow
def test_no_visitor_gets_anything_of_another(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    together = Barrier(VISITORS)
    with started(tmp_path / "log", command=OPEN) as server, ThreadPoolExecutor(VISITORS) as pool:
        waiting = [pool.submit(visit, server.address, place, together) for place in range(VISITORS)]
        visitors = [found.result() for found in waiting]
    foreign = {
        place: found - {f"{place:03}".encode()}
        for place, me in enumerate(visitors)
        if len(found := marks(me.heard, MARK)) != 1
    }
    assert foreign == {}
    assert all(any(b"<html" in raw for raw in me.heard) for me in visitors)


LOOK_INSIDE = """
import sys, threading, time
from pathlib import Path
from streamlit import runtime
from dpcore.dashboard.__main__ import main

counted, words = Path(sys.argv[1]), sys.argv[2:]

def look():
    while True:
        time.sleep(0.1)
        if runtime.exists():
            files = [*runtime.get_instance().uploaded_file_mgr.file_storage.values()]
            counted.write_text(f"{sum(len(file.data) for each in files for file in [*each.values()])} bytes")

threading.Thread(target=look, daemon=True).start()
sys.exit(main(words))
"""


def holds(counted: Path, least: float, below: float) -> bool:
    """Whether the server comes to hold so many bytes of uploads: it may let go late on a busy computer."""
    for _ in range(300):
        time.sleep(0.2)
        found = re.match(r"(\d+) bytes", counted.read_text())
        if found and least <= int(found[1]) < below:
            return True
    return False


@pytest.mark.slow
def test_a_server_keeps_one_upload_of_a_visitor_and_none_of_one_who_left(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    raw, counted = table(0), tmp_path / "counted"
    command = [sys.executable, "-c", LOOK_INSIDE, str(counted), *OPEN[len(COMMAND) :]]
    with started(tmp_path / "log", command=[*command, "--server.disconnectedSessionTTL", "3"]) as server:
        with Visitor(server.address) as me:
            me.open("data")
            me.set("data.source", string_array_value=["My own file"])
            for place in range(4):
                me.upload("data.file", f"{place}.csv", raw)
            assert holds(counted, len(raw), 2 * len(raw))
            me.open(PAGE)
            assert holds(counted, 0, len(raw))
            me.open("data")
            me.upload("data.file", "last.csv", raw)
            assert holds(counted, len(raw), 2 * len(raw))
        assert holds(counted, 0, 1)


@contextmanager
def comparing(server: Server) -> Iterator[tuple[Visitor, Future[None]]]:
    """Somebody whose comparison has finished some runs, and the press of Run that waits for the rest."""
    with Visitor(server.address) as me, ThreadPoolExecutor(1) as pool:
        me.open("compare")
        me.set("compare.repeats", int_value=20)
        running = pool.submit(me.press, "compare.run")
        end = time.monotonic() + PATIENCE
        while not marks(me.heard[:], rb"Comparing: ([1-9]\d*) of \d+ runs") and time.monotonic() < end:
            assert not running.done()
            time.sleep(0.05)
        yield me, running


@pytest.mark.slow
def test_a_server_that_was_killed_leaves_nothing_of_a_comparison(tmp_path, monkeypatch) -> None:
    """But the ledgers of its sessions: names of data sets, times and epsilons."""
    for name in ("TMPDIR", "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    with started(tmp_path / "log") as server, comparing(server) as (_, running):
        server.process.kill()
        assert isinstance(running.exception(), ConnectionClosed)
    left = {path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert left - {"log", "ledger.sqlite", "ledger.sqlite.witness"} == set()


# A server for visitors


@pytest.fixture
def hosted(tmp_path, request: pytest.FixtureRequest, monkeypatch) -> Iterator[Server]:
    """A server for visitors, with options of a test's own."""
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    with started(tmp_path / "server.log", command=[*OPEN, "--hosted", *getattr(request, "param", ())]) as found:
        yield found


@pytest.mark.slow
def test_nothing_that_a_server_sends_names_a_path_of_it(hosted: Server, tmp_path) -> None:
    with urlopen(hosted.address, timeout=PATIENCE) as page:
        sent = [(name.lower().encode(), value.encode()) for name, value in page.getheaders()]
    assert set(HEADERS) <= set(sent)
    with Visitor(hosted.address) as me:
        me.open(PAGE)
        me.press(f"{PAGE}.run")
        for name in ("Price", "Accuracy", "Risk", "Take home"):
            me.set(f"{PAGE}.tab.en", string_value=name)
        me.download(f"{PAGE}.download")
        for page in PAGES:
            me.open(page)
    paths = {str(place).encode() for place in (ROOT, Path.home(), tmp_path, sys.prefix)}
    assert not [raw[:300] for raw in me.heard if any(path in raw for path in paths)]
    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


@pytest.mark.slow
@pytest.mark.parametrize("hosted", [("--uploads", "--server.maxUploadSize", "1")], indirect=True)
def test_a_file_that_is_too_large_is_refused_whatever_the_browser_says(hosted: Server) -> None:
    with Visitor(hosted.address) as me:
        me.open("data")
        me.set("data.source", string_array_value=["My own file"])
        with pytest.raises(URLError) as refused:
            me.upload("data.file", "people.csv", csv(people(200_000)))
        if isinstance(refused.value, HTTPError):  # or the server hung up before all was sent
            refused.value.close()
            assert refused.value.code == 413
    with urlopen(f"{hosted.address}/_stcore/health", timeout=PATIENCE) as answer:
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
def test_a_closed_tab_ends_its_work_within_ten_seconds(hosted: Server) -> None:
    with comparing(hosted) as (me, running):
        me.line.__exit__(None, None, None)
        closed = time.monotonic()
        assert isinstance(running.exception(), ConnectionClosed)
    assert worked(hosted, 2.0) > 0.1
    while worked(hosted, 2.0) > 0.1:
        assert time.monotonic() - closed < 12.0  # the last two show that nothing goes on
