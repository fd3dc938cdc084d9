"""Test a server for visitors: its limits, and the queue of its work."""

import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf
from weakref import WeakSet

import pytest

from dpcore.dashboard import hosting, housekeeping, jobs
from dpcore.dashboard.hosting import HOSTED, Limits, WorkQueue
from dpcore.dashboard.housekeeping import Visit, admit_visitor
from dpcore.datasets.reading import read_frame
from dpcore.errors import DataError, LimitError, ParameterError

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def visitors(monkeypatch):
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    for name in ("UPLOADS", "LIMITS", "OPERATOR"):
        monkeypatch.delenv(f"DPCORE_{name}", raising=False)
    monkeypatch.setattr(jobs, "TURNS", WorkQueue(lambda: hosting.limits().at_once, turn=0.0))


def finished(job):
    job.join(PATIENCE)
    assert not job.is_alive()
    return job


def test_your_own_dashboard_has_no_limits(monkeypatch):
    monkeypatch.setenv("DPCORE_HOSTED", "0")
    monkeypatch.setenv("DPCORE_LIMITS", "rows=1")
    assert hosting.limits() == Limits()
    assert hosting.accepts_uploads()


def test_paths_are_offered_only_by_a_marked_server(monkeypatch):
    here, everywhere = "127.0.0.1", "0.0.0.0"
    for hosted, marked, address, own in (
        ("0", "", here, False),  # as `streamlit run app.py` leaves it, without the guard
        ("0", "1", here, True),
        ("0", "1", everywhere, False),
        ("1", "1", here, False),
    ):
        monkeypatch.setenv("DPCORE_HOSTED", hosted)
        monkeypatch.setenv("DPCORE_LOCAL", marked)
        monkeypatch.setattr("streamlit.get_option", lambda _, address=address: address)
        assert hosting.is_own_computer() == own
        with nullcontext() if own else pytest.raises(DataError, match="does not open files by their path"):
            hosting.require_own_computer()


def test_invalid_limits_are_refused():
    assert hosting.parse_limits("seconds=9, rows = 100") == Limits(2, 2, 9, 1, 4_000, 100, 60, 200)
    for text in ("hours=1", "rows", "rows=1e3", "rows=0", "rows=١"):
        with pytest.raises(ParameterError):
            hosting.parse_limits(text)


def test_limits_of_tables_work_and_memory(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "rows=3,columns=2")
    read = partial(read_frame, max_shape=hosting.max_shape(), trusted=True)  # in this process
    assert len(read(b"a,b\n" + b"1,2\n" * 3)) == 3
    for table in (b"a,b\n" + b"1,2\n" * 4, b"a,b,c\n1,2,3\n"):
        with pytest.raises(DataError, match="takes 3 rows and 2 columns at most"):
            read(table)
    with pytest.raises(LimitError, match="pieces of work"):
        hosting.admit(HOSTED.per_visitor)
    monkeypatch.setenv("DPCORE_LIMITS", "megabytes=1")
    monkeypatch.setattr(hosting, "memory_megabytes", lambda: 2.0)
    with pytest.raises(LimitError, match="memory"):
        hosting.admit(0)


def test_a_full_server_admits_no_visitor_until_one_leaves(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "visitors=2")
    monkeypatch.setattr(housekeeping, "guests", WeakSet())
    first, second, third = Visit(), Visit(), Visit()
    assert [admit_visitor(one) for one in (first, second, third, first)] == [True, True, False, True]
    first.left_at = time.monotonic()
    assert admit_visitor(third)
    first.left_at = inf  # a connection that was lost for a moment
    assert admit_visitor(first)
    assert not admit_visitor(Visit())


def test_work_beyond_the_limit_of_seconds_ends_with_an_error(monkeypatch):
    brief = replace(hosting.limits(), seconds=0.1)
    monkeypatch.setattr(hosting, "limits", lambda: brief)

    def work(progress):
        while True:
            time.sleep(0.01)
            progress(0.5, "")

    job = jobs.Job("Long", work, Visit())
    job.start()
    assert isinstance(finished(job).error, LimitError)


def test_long_work_yields_its_turn_and_still_finishes(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "at_once=1")
    begun, short_is_over = threading.Event(), threading.Event()

    def long(progress):
        begun.set()
        for _ in range(10_000):
            progress(0.1, "")
            if short_is_over.wait(0.001):
                return
        raise AssertionError("The short work waited for the long one.")

    first, second = jobs.Job("Long", long, Visit()), jobs.Job("Short", lambda _: short_is_over.set(), Visit())
    first.start()
    assert begun.wait(PATIENCE)
    second.start()
    assert finished(second).error is finished(first).error is None


def test_waiting_work_shows_its_position_and_ends_with_its_visitor(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "at_once=1")
    begun, over, ran = threading.Event(), threading.Event(), []

    def holds(progress):
        begun.set()
        over.wait(PATIENCE)

    first = jobs.Job("Holds", holds, Visit())
    first.start()
    assert begun.wait(PATIENCE)
    gone = jobs.Job("Waits", lambda _: ran.append(1), Visit())
    gone.start()
    while "position" not in gone.note:
        time.sleep(0.01)
    gone.visit.left_at = time.monotonic() - jobs.GRACE - 1
    finished(gone)
    over.set()
    assert finished(first).error is None
    assert (ran, jobs.TURNS.queue, jobs.TURNS.running) == ([], [], {})
