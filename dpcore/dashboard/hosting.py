"""A server for visitors: what it lets them do, and how they share it. A dashboard of one's own has no such limits.

`DPCORE_HOSTED` (the command's `--hosted`) makes a server one. Then books are a session's own, files
are taken only with `DPCORE_UPLOADS`, data sets of the server's disk are not offered, and work has
limits, which `DPCORE_LIMITS` changes: "seconds=300,at_once=2". Nothing is kept of a session that
ended.
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
    """What visitors may have; a dashboard of one's own has no limits."""

    at_once: float = inf  # pieces of work that run at the same time
    per_visitor: float = inf  # pieces of work of one visitor, running or waiting
    seconds: float = inf  # of one piece of work, without waiting
    processes: float = inf  # that a comparison may use
    megabytes: float = inf  # of the server's memory, above which nothing new begins
    rows: float = inf  # of an uploaded table
    columns: float = inf
    visitors: float = inf  # who are here at the same time


HOSTED = Limits(2, 2, 600, 1, 4_000, 100_000, 60, 200)


def is_hosted() -> bool:
    """Whether this server is for visitors."""
    return os.environ.get("DPCORE_HOSTED", "") not in ("", "0")


def takes_files() -> bool:
    """Whether people may upload files of their own."""
    return not is_hosted() or os.environ.get("DPCORE_UPLOADS", "") not in ("", "0")


def own_computer() -> bool:
    """Whether only this very computer reaches the server, so that its files may be chosen by their path.

    The command says so in `DPCORE_LOCAL`: it alone knows that the guard is in front. As with any
    server on the loopback address, other accounts of this computer reach it too, and act with the
    rights of whoever started it.
    """
    import streamlit as st  # the command begins before it is loaded

    marked = os.environ.get("DPCORE_LOCAL", "") not in ("", "0")
    return marked and local(str(st.get_option("server.address") or ""))


def local(*addresses: str) -> bool:
    """Whether a server that listens there is for its own computer: no visitors, no proxy."""
    return {*addresses} <= {"127.0.0.1", "::1", "localhost"} and not (is_hosted() or os.environ.get("DPCORE_PUBLIC"))


def require_own_computer() -> None:
    """DataError where paths are not offered: whatever a page was sent, no file is looked at or written by its path."""
    if not own_computer():
        raise DataError(
            phrase("This server takes no paths of files."),
            phrase("Start the dashboard on your own computer, by the command dpcore."),
        )


def absolute(path: str) -> Path:
    """A path as somebody types it; DataError if it does not say where it begins."""
    location = Path(path).expanduser()
    if not location.is_absolute():
        raise DataError(phrase("This path does not say where it begins."), phrase("Write all of it, from / or ~ on."))
    return location


def offers(name: str) -> bool:
    """Whether people may choose this data set: to visitors, none that lies on the server's disk."""
    from dpcore.datasets import BANK_CARDS  # the command begins before pandas is loaded

    return not is_hosted() or name in ("sample", *BANK_CARDS)


def max_shape(more: int = 0) -> tuple[float, float]:
    """Most rows and columns of a visitor's table: for the process that reads it, so that no larger one comes here.

    A table of reports has `more` columns, in which nobody reports.
    """
    return limits().rows, limits().columns + more


def operator() -> str:
    """Who runs this server, as they say."""
    return os.environ.get("DPCORE_OPERATOR", "")


def refuse_login() -> None:
    """ParameterError where a log-in is asked for, as earlier versions had one: better no server than an open one."""
    if os.environ.get("DPCORE_LOGIN", "") not in ("", "0"):
        remedy = "Start it without --login and DPCORE_LOGIN; let a proxy in front ask who comes."
        raise ParameterError("dpcore has no log-in of its own.", remedy)


def limits() -> Limits:
    """The limits in force; ParameterError if `DPCORE_LIMITS` says what cannot be."""
    return read(os.environ.get("DPCORE_LIMITS", "")) if is_hosted() else Limits()


def read(text: str) -> Limits:
    """Limits as "name=number, name=number"; the others as they are for visitors."""
    changes, names = {}, "|".join(vars(HOSTED))
    for part in filter(None, map(str.strip, text.split(","))):
        if not (found := re.fullmatch(rf"({names})\s*=\s*0*([1-9][0-9]*)", part)):
            remedy = f"Write name=number, with one of {', '.join(vars(HOSTED))}, from 1 on."
            raise ParameterError(f"The limit {part!r} is not understood.", remedy)
        changes[found[1]] = int(found[2])
    return replace(HOSTED, **changes)


def admit(under_way: int) -> None:
    """Whether one more piece of work may begin for a visitor who has so many; LimitError if not."""
    most = limits()
    if under_way >= most.per_visitor:
        cause = f"This server does {most.per_visitor} pieces of work for a visitor at a time."
        raise LimitError(cause, "Wait until one is over, or cancel it.")
    if memory() > most.megabytes:
        raise LimitError("This server's memory is in use.", "Try again in a few minutes.")


def memory() -> float:
    """The memory of this process in megabytes; 0 where the system does not tell."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGESIZE / 1e6
    return 0.0


class Turns:
    """Whose work runs: so many at once. Who has run for a while lets the first in line go on, and waits behind all.

    So a long comparison keeps a release waiting no longer than until it comes to a point where it
    can stop.
    """

    def __init__(self, places: Callable[[], float], turn: float = 2.0) -> None:
        self.places, self.turn = places, turn  # seconds of a turn while others wait
        self.changed = Condition()
        self.line: list[object] = []
        self.running: dict[object, tuple[float, float]] = {}  # since when; seconds of earlier turns

    @contextmanager
    def taken(self, who: object, still: Callable[[int], None]) -> Iterator[None]:
        """A turn, waited for; it is over with the block.

        `still` is told again and again how many are served first, and raises if nobody waits any
        more.
        """
        self.wait(who, still)
        try:
            yield
        finally:
            self.leave(who)

    def wait(self, who: object, still: Callable[[int], None], worked: float = 0.0) -> None:
        """Stand in line, until one of the places is free and nobody is before."""
        with self.changed:
            self.line.append(who)
            try:
                while self.line[0] is not who or len(self.running) >= self.places():
                    still(self.line.index(who) + 1)
                    self.changed.wait(0.25)  # seconds
                self.running[who] = time.monotonic(), worked
            finally:
                self.line.remove(who)
                self.changed.notify_all()

    def leave(self, who: object) -> float:
        """Free the place; for how many seconds it was taken, with earlier turns."""
        with self.changed:
            worked = self.seconds(who)
            self.running.pop(who, None)
            self.changed.notify_all()
        return worked

    def pass_on(self, who: object, still: Callable[[int], None]) -> None:
        """Let others go on if they wait and this turn was long enough; comes back with another turn."""
        if self.line and time.monotonic() - self.running[who][0] >= self.turn:
            self.wait(who, still, self.leave(who))

    def seconds(self, who: object) -> float:
        """For how long somebody's work has run, without waiting."""
        since, worked = self.running.get(who, (time.monotonic(), 0.0))
        return worked + time.monotonic() - since


TURNS = Turns(lambda: limits().at_once)
