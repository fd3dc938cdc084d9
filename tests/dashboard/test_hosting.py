"""A server for visitors: what it lets them have, and how work takes turns."""

import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from weakref import WeakSet

import pytest

from dpcore.dashboard import hosting, housekeeping, jobs
from dpcore.dashboard.hosting import HOSTED, Limits, Turns
from dpcore.dashboard.housekeeping import Visit, let_in
from dpcore.datasets.reading import read_frame
from dpcore.errors import DataError, LimitError, ParameterError

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def visitors(monkeypatch):
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    for name in ("UPLOADS", "LIMITS", "OPERATOR"):
        monkeypatch.delenv(f"DPCORE_{name}", raising=False)
    monkeypatch.setattr(jobs, "TURNS", Turns(lambda: hosting.limits().at_once, turn=0.0))


def finished(job):
    job.join(PATIENCE)
    assert not job.is_alive()
    return job


def test_a_dashboard_of_ones_own_has_no_limits(monkeypatch):
    monkeypatch.setenv("DPCORE_HOSTED", "0")
    monkeypatch.setenv("DPCORE_LIMITS", "rows=1")
    assert hosting.limits() == Limits()
    assert hosting.takes_files()
    assert hosting.offers("adult")
    hosting.admit(1_000)


def test_paths_are_taken_only_where_the_command_marked_the_server(monkeypatch):
    monkeypatch.setattr("streamlit.get_option", lambda _: "127.0.0.1")
    monkeypatch.delenv("DPCORE_HOSTED")
    monkeypatch.delenv("DPCORE_LOCAL", raising=False)  # as `streamlit run app.py` leaves it, without the guard
    assert not hosting.own_computer()
    for marked, own in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv("DPCORE_LOCAL", marked)
        assert hosting.own_computer() == own
        with nullcontext() if own else pytest.raises(DataError, match="takes no paths"):
            hosting.require_own_computer()
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    assert not hosting.own_computer()


def test_limits_are_read_whole_or_not_at_all():
    assert hosting.read("seconds=9, rows = 100") == Limits(2, 2, 9, 1, 4_000, 100, 60, 200)
    for text in ("hours=1", "rows", "rows=-1", "rows=1e3", "rows=0", "rows=١"):
        with pytest.raises(ParameterError):
            hosting.read(text)


def test_caps_of_tables_of_work_and_of_memory(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "rows=3,columns=2")
    read = partial(read_frame, max_shape=hosting.max_shape(), trusted=True)  # in this process
    assert len(read(b"a,b\n" + b"1,2\n" * 3)) == 3
    for table in (b"a,b\n" + b"1,2\n" * 4, b"a,b,c\n1,2,3\n"):
        with pytest.raises(DataError, match="takes 3 and 2 at most"):
            read(table)
    hosting.admit(HOSTED.per_visitor - 1)
    with pytest.raises(LimitError, match="pieces of work"):
        hosting.admit(HOSTED.per_visitor)
    monkeypatch.setenv("DPCORE_LIMITS", "megabytes=1")
    monkeypatch.setattr(hosting, "memory", lambda: 2.0)
    with pytest.raises(LimitError, match="memory"):
        hosting.admit(0)


def test_a_server_that_is_full_lets_nobody_in_until_somebody_leaves(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "visitors=2")
    monkeypatch.setattr(housekeeping, "guests", WeakSet())
    first, second, third = Visit(), Visit(), Visit()
    assert [let_in(first), let_in(second), let_in(third), let_in(first)] == [True, True, False, True]
    first.left = time.monotonic()
    assert let_in(third)
    first.left = None  # a connection that was lost for a moment
    assert let_in(first)
    assert not let_in(Visit())
    del first, second
    assert let_in(Visit())


def test_work_that_takes_too_long_is_ended_and_says_so(monkeypatch):
    brief = replace(hosting.limits(), seconds=0.1)
    monkeypatch.setattr(hosting, "limits", lambda: brief)
    told = []

    def work(progress):
        while True:
            time.sleep(0.01)
            progress(0.5, "")
            told.append(1)

    job = jobs.Job("Long", work, Visit())
    job.start()
    assert isinstance(finished(job).error, LimitError)
    assert told


def test_long_work_lets_others_go_on_and_is_finished_all_the_same(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "at_once=1")
    begun, short_is_over, order = threading.Event(), threading.Event(), []

    def long(progress):
        begun.set()
        for _ in range(10_000):
            progress(0.1, "")
            if short_is_over.wait(0.001):
                break
        order.append("long")

    def short(progress):
        order.append("short")
        short_is_over.set()

    first, second = jobs.Job("Long", long, Visit()), jobs.Job("Short", short, Visit())
    first.start()
    assert begun.wait(PATIENCE)
    second.start()
    finished(second)
    finished(first)
    assert order == ["short", "long"]


def test_who_waits_is_told_their_place_and_is_gone_when_they_leave(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "at_once=1")
    begun, over, ran = threading.Event(), threading.Event(), []

    def holds(progress):
        begun.set()
        over.wait(PATIENCE)

    first = jobs.Job("Holds", holds, Visit())
    first.start()
    assert begun.wait(PATIENCE)
    left = jobs.Job("Waits", lambda _: ran.append(1), Visit(left=time.monotonic()))
    canceled = jobs.Job("Waits", lambda _: ran.append(2), Visit())
    left.start()
    canceled.start()
    while "place" not in canceled.note:
        time.sleep(0.01)
    canceled.canceled.set()
    finished(canceled)
    left.visit.left = time.monotonic() - jobs.GRACE - 1
    finished(left)
    over.set()
    assert finished(first).error is None
    assert (ran, jobs.TURNS.line, jobs.TURNS.running, jobs.TURNS.worked) == ([], [], {}, {})
