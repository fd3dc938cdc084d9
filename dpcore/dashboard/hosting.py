"""A server for visitors: what they may do, and how they share it. Your own dashboard has no limits.

`DPCORE_HOSTED` (the command's `--hosted`) makes a server one for visitors. Each session then has
a ledger of its own. Uploads need `DPCORE_UPLOADS`, and data sets on the server's disk are not
offered. Work has limits, which `DPCORE_LIMITS` changes: "seconds=300,at_once=2". Nothing of a
session is kept after its end.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from mmap import PAGESIZE
from pathlib import Path
from threading import Condition

from dpcore.errors import DataError, LimitError, ParameterError
from dpcore.language import phrase


@dataclass(frozen=True)
class Limits:
    """Limits for visitors; the defaults, for a dashboard of your own, are infinite."""

    at_once: float = inf  # pieces of work that run at a time
    per_visitor: float = inf  # pieces of work of one visitor, running or waiting
    seconds: float = inf  # of one piece of work, without waiting
    processes: float = inf  # of a comparison
    megabytes: float = inf  # of memory, above which no work starts
    rows: float = inf  # of an uploaded table
    columns: float = inf
    visitors: float = inf  # at a time


HOSTED = Limits(2, 2, 600, 1, 4_000, 100_000, 60, 200)


def is_hosted() -> bool:
    """Return whether this server is for visitors."""
    return os.environ.get("DPCORE_HOSTED", "") not in ("", "0")


def accepts_uploads() -> bool:
    """Return whether users may upload files."""
    return not is_hosted() or os.environ.get("DPCORE_UPLOADS", "") not in ("", "0")


def is_own_computer() -> bool:
    """Return whether only this computer reaches the server, so that paths of files are offered.

    The command sets `DPCORE_LOCAL`, as only the command knows that the guard is in front. As with
    any server on the loopback address, other accounts of this computer reach it too, and act with
    the rights of the user who started it.
    """
    import streamlit as st  # imported late: the command starts faster

    marked = os.environ.get("DPCORE_LOCAL", "") not in ("", "0")
    return marked and is_local(str(st.get_option("server.address") or ""))


def is_local(*addresses: str) -> bool:
    """Return whether a server at these addresses serves only its own computer, without a proxy."""
    return {*addresses} <= {"127.0.0.1", "::1", "localhost"} and not (is_hosted() or os.environ.get("DPCORE_PUBLIC"))


def require_own_computer() -> None:
    """Raise `DataError` if this server does not offer its own files by path.

    Every function that reads or writes a file by a path from a page calls this first.
    """
    if not is_own_computer():
        raise DataError(
            phrase("This server does not open files by their path."),
            phrase("Start the dashboard on your own computer with the command dpcore."),
        )


def absolute_path(path: str) -> Path:
    """Return a typed path as an absolute path, with ~ expanded.

    Raises
    ------
    DataError
        If the path is relative.
    """
    location = Path(path).expanduser()
    if not location.is_absolute():
        raise DataError(phrase("The path is not absolute."), phrase("Begin the path with / or ~."))
    return location


def is_offered(name: str) -> bool:
    """Return whether users may choose this data set.

    Visitors may not choose data sets on the server's disk.
    """
    from dpcore.datasets import BANK_CARDS  # imported late, with pandas

    return not is_hosted() or name in ("sample", *BANK_CARDS)


def max_shape(more: int = 0) -> tuple[float, float]:
    """Return the largest allowed number of rows and of columns of an uploaded table.

    The process that reads the table enforces both. A table of randomized reports may have `more`
    columns, which hold no reports.
    """
    return limits().rows, limits().columns + more


def operator_name() -> str:
    """Return the name of the operator of this server, as set by `--operator`; "" if not set."""
    return os.environ.get("DPCORE_OPERATOR", "")


def refuse_login() -> None:
    """Raise `ParameterError` if a log-in is requested, which only earlier versions had.

    A server that its operator believes to be protected must not start without protection.
    """
    if os.environ.get("DPCORE_LOGIN", "") not in ("", "0"):
        remedy = "Start dpcore without --login and DPCORE_LOGIN; let a proxy check log-ins."
        raise ParameterError("dpcore has no log-in of its own.", remedy)


def limits() -> Limits:
    """Return the limits of visitors: work, memory, tables; infinite on a dashboard of your own.

    Raises
    ------
    ParameterError
        If `DPCORE_LIMITS` is not a list of limits.
    """
    return parse_limits(os.environ.get("DPCORE_LIMITS", "")) if is_hosted() else Limits()


def parse_limits(text: str) -> Limits:
    """Parse limits such as "seconds=300,at_once=2"; all other limits keep their defaults."""
    changes, names = {}, "|".join(vars(HOSTED))
    for part in filter(None, map(str.strip, text.split(","))):
        if not (found := re.fullmatch(rf"({names})\s*=\s*0*([1-9][0-9]*)", part)):
            remedy = f"Write name=number, from 1 on; names: {', '.join(vars(HOSTED))}."
            raise ParameterError(f"{part!r} is not a limit of this server.", remedy)
        changes[found[1]] = int(found[2])
    return replace(HOSTED, **changes)


def admit(under_way: int) -> None:
    """Raise `LimitError` if a visitor may not begin work, or the server's memory is full.

    `under_way` is the number of the visitor's pieces of work that run or wait.
    """
    most = limits()
    if under_way >= most.per_visitor:
        cause = f"This server runs at most {most.per_visitor} pieces of work per visitor at a time."
        raise LimitError(cause, "Wait until one of them has finished, or cancel one.")
    if memory_megabytes() > most.megabytes:
        raise LimitError("This server's memory is full.", "Try again in a few minutes.")


def memory_megabytes() -> float:
    """Return the memory of this process in megabytes; 0 if the system does not report it."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGESIZE / 1e6
    return 0.0


class WorkQueue:
    """A queue of work, of which a limited number runs at once, in turns.

    Work that has run for one turn lets the first in the queue run, and waits at the end of the
    queue. A long comparison therefore delays a short release only until its next report of
    progress.
    """

    def __init__(self, capacity: Callable[[], float], turn: float = 2.0) -> None:
        """Create a queue of which `capacity()` workers run at once; `turn` is in seconds."""
        self.capacity, self.turn = capacity, turn  # seconds of a turn while other work waits
        self.changed = Condition()
        self.queue: list[object] = []
        self.running: dict[object, tuple[float, float]] = {}  # start; seconds of earlier turns

    @contextmanager
    def hold_turn(self, worker: object, check: Callable[[int], None]) -> Iterator[None]:
        """Wait for a turn, and hold it during the block.

        `check` is called again and again with the position in the queue, from 1. It raises an
        exception if the work is no longer wanted.
        """
        self.wait(worker, check)
        try:
            yield
        finally:
            self.leave(worker)

    def wait(self, worker: object, check: Callable[[int], None], worked: float = 0.0) -> None:
        """Wait in the queue until `worker` is first and fewer than `capacity()` workers run.

        `check` is called with the position in the queue. `worked` are the seconds of earlier turns.
        """
        with self.changed:
            self.queue.append(worker)
            try:
                while self.queue[0] is not worker or len(self.running) >= self.capacity():
                    check(self.queue.index(worker) + 1)
                    self.changed.wait(0.25)  # seconds
                self.running[worker] = time.monotonic(), worked
            finally:
                self.queue.remove(worker)
                self.changed.notify_all()

    def leave(self, worker: object) -> float:
        """End a worker's turn; return the seconds of all its turns."""
        with self.changed:
            worked = self.seconds(worker)
            self.running.pop(worker, None)
            self.changed.notify_all()
        return worked

    def pass_on(self, worker: object, check: Callable[[int], None]) -> None:
        """End a worker's turn if others wait and it was long enough; return with a new turn."""
        if self.queue and time.monotonic() - self.running[worker][0] >= self.turn:
            self.wait(worker, check, self.leave(worker))

    def seconds(self, worker: object) -> float:
        """Return for how many seconds a worker has run, in all its turns."""
        since, worked = self.running.get(worker, (time.monotonic(), 0.0))
        return worked + time.monotonic() - since


TURNS = WorkQueue(lambda: limits().at_once)
