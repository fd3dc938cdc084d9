"""A server with many visitors at once, each with a table of their own: nobody gets anything of another's."""

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from protocol import PATIENCE, Visitor, marks
from websockets.exceptions import ConnectionClosed

from scripts.screenshots import COMMAND, started

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
def test_no_visitor_gets_anything_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_server_keeps_one_upload_of_a_visitor_and_none_of_one_who_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.slow
def test_a_server_that_was_killed_leaves_nothing_of_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But the ledgers of its sessions: names of data sets, times and epsilons."""
    for name in ("TMPDIR", "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    with started(tmp_path / "log") as server, Visitor(server.address) as me, ThreadPoolExecutor(1) as pool:
        me.open("compare")
        comparing = pool.submit(me.press, "compare.run")
        end = time.monotonic() + PATIENCE
        while not marks(me.heard[:], rb"Comparing: ([1-9]\d*) of \d+ runs") and time.monotonic() < end:
            assert not comparing.done()
            time.sleep(0.05)
        server.process.kill()
        assert isinstance(comparing.exception(), ConnectionClosed)
    left = {path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert left - {"log", "ledger.sqlite", "ledger.sqlite.witness"} == set()
