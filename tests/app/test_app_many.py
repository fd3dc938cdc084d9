"""Visitors who speak the protocol of a server, many at once, each with their own table."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from protocol import PATIENCE, Visitor

from scripts.screenshots import COMMAND, start_dashboard

VISITORS = int(os.environ.get("DPCORE_VISITORS", "8"))
WORD, NUMBER = "Zqvjx", "864209753"  # so long that no zip, picture or random number has one by chance
MARK = f"(?:{WORD}|{NUMBER})(\\d{{3}})".encode()
PAGE = "naive_bayes"
OPEN = [*COMMAND, "--server.enableXsrfProtection", "false"]  # to visitors who are no browsers


def table(index: int) -> bytes:
    """A table with a mark of its own in the columns' names, the categories and a number's bounds."""
    rng, mark = np.random.default_rng(index), f"{WORD}{index:03}"
    ill = rng.random(120) < 0.4
    frame = pd.DataFrame(
        {
            f"{mark}sum": rng.integers(0, 50, 120),
            f"{mark}town": np.where(ill, f"{mark}a", rng.choice([f"{mark}a", f"{mark}b", f"{mark}c"], 120)),
            f"{mark}ill": np.where(ill, f"{mark}yes", f"{mark}no"),
        }
    )
    frame.iloc[0, 0] = int(f"{NUMBER}{index:03}")
    return frame.to_csv(index=False).encode()


def visit(address: str, index: int, together: Barrier) -> Visitor:
    """Upload, release, look at charts, and take a report home, with and without comparisons."""
    name = f"{WORD}{index:03}"
    with Visitor(address) as me:
        me.open("data")
        me.upload("data.file", f"{name}.csv", table(index))
        me.set("data.target", string_value=f"{name}ill")
        me.press("data.use")
        me.open(PAGE)
        together.wait(PATIENCE)
        me.press(f"{PAGE}.run")
        for _ in range(2):
            me.set(f"{PAGE}.tab.en", string_value="Marginals")
            me.set(f"{PAGE}.tab.en", string_value="Download")
            for kind in ("download", "download_report", "download_notebook"):
                me.download(f"{PAGE}.{kind}")
            me.set(f"{PAGE}.real", bool_value=True)
            me.set(f"{PAGE}.tab.en", string_value="Accuracy")
    return me


@pytest.mark.slow
def test_no_visitor_gets_anything_of_another(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    together = Barrier(VISITORS)
    with start_dashboard(tmp_path / "log", command=OPEN) as server, ThreadPoolExecutor(VISITORS) as pool:
        waiting = [pool.submit(visit, server.address, index, together) for index in range(VISITORS)]
        visitors = [found.result() for found in waiting]
    for index, me in enumerate(visitors):
        marks = {found for raw in me.heard for found in re.findall(MARK, raw)}
        assert marks == {f"{index:03}".encode()}
    assert all(any(b"<html" in raw for raw in me.heard) for me in visitors)
