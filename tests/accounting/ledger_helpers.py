"""Entries, runs of a ledger file, and processes that charge a ledger until they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from dpcore.accounting.ledger import Entry
from dpcore.accounting.store import LedgerStore
from dpcore.errors import LedgerError

ROOT = Path(__file__).parents[2]
SHA = "a" * 64
ADD, REPLACE = "add_remove", "replace"


def entry(claimed, bound=None, *, name="q", **more):
    bound = claimed if bound is None else bound
    numbers = {"sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    return Entry(name=name, mechanism="laplace", epsilon_claimed=claimed, epsilon_nominal=bound, **numbers, **more)


def new_run(store, relation=ADD, purpose="a run", sha=SHA, delta=0.0):
    return store.start_run(sha, "people.csv", relation, purpose, delta).ledger()


def charge_for_ever(path, log):
    """Charge claims of 1/4 with nominal losses of 1/2, and write a dot to the log after each."""
    text = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        fit = new_run(LedgerStore(path), REPLACE, "a run " * 40).child("a fit")
        for _ in range(5):
            fit.charge(entry(Fraction(1, 4), Fraction(1, 2)))
            os.write(text, b".")


def set_aside(path, _):
    LedgerStore(path).set_aside()


def begin_as_nobody(path, log):
    """Start a run as a user without permissions, and write the error to the log."""
    text = os.open(log, os.O_WRONLY | os.O_CREAT)
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        new_run(LedgerStore(path), REPLACE)
    except LedgerError as error:
        os.write(text, str(error).encode())


WORK = {work.__name__: work for work in (charge_for_ever, set_aside, begin_as_nobody)}
NURSERY = """
import os, sys
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from ledger_helpers import WORK
for line in sys.stdin:  # a new child, or a dead one to bury
    work, path, log = line.split()
    if work == "bury":
        os.waitpid(int(path), 0)
        child = 0
    elif not (child := os.fork()):
        try:
            WORK[work](Path(path), log)
        finally:
            os._exit(0)
    print(child, flush=True)
"""


class Nursery:
    """Process that forks children to be killed: a new process would take a second to import."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", NURSERY, str(ROOT), str(Path(__file__).parent)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.alive: list[int] = []

    def tell(self, *words) -> int:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, work, path, log="none") -> int:
        self.alive.append(self.tell(work.__name__, path, log))
        return self.alive[-1]

    def kill(self, *children) -> None:
        """Kill children, and wait until they are dead and their files closed."""
        for child in children:
            os.kill(child, signal.SIGKILL)
            self.bury(child)

    def bury(self, child) -> None:
        """Wait for the end of a child."""
        self.alive.remove(child)
        self.tell("bury", child, "-")
