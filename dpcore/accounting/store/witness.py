"""A second witness of how far the ledger has come: a small file beside it that has the number of its last change.

SQLite cannot know that a file was put back from last week, or lost its end. So the number of changes, with the sum over
all lines after the last of them, stands here too, and is written after each commit: the ledger may be further than its
witness (a process was killed between the two), never less far.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from dpcore.accounting.store.written import UnreadableError

LENGTH = 20 + 1 + 64 + 1 + 16 + 1


@dataclass(frozen=True)
class Witness:
    """The file beside a ledger."""

    path: Path

    @classmethod
    def of(cls, ledger: Path) -> Witness:
        """The witness of the ledger at a path."""
        return cls(ledger.with_name(f"{ledger.name}.witness"))

    def read(self) -> tuple[int, str] | None:
        """How many changes there were, and the sum after the last; None without a file, or UnreadableError."""
        for _ in range(5):
            try:
                found = told(self.path.read_bytes())
            except FileNotFoundError:
                return None
            if found is not None:
                return found
            time.sleep(0.002)  # another process may be writing
        raise UnreadableError

    def write(self, count: int, total: str, *, anew: bool = False) -> None:
        """Say how far the ledger has come, unless somebody has said more, or `anew`."""
        line = f"{count:020d} {total} "
        raw = f"{line}{check(line)}\n".encode()
        new = not self.path.exists()
        with os.fdopen(
            os.open(self.path, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600), "r+b", 0
        ) as file:
            before = told(file.read(LENGTH + 1))
            if anew or before is None or before[0] < count:
                file.seek(0)
                file.write(raw)  # in place: at once, for whoever reads
                file.truncate()
            if new or anew:
                os.fsync(file.fileno())


def check(line: str) -> str:
    """What a damaged line would not have."""
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def told(raw: bytes) -> tuple[int, str] | None:
    """What a witness says; None if it says nothing that can be understood."""
    try:
        line, last = raw[:-17].decode("ascii"), raw[-17:].decode("ascii")
        count, total, rest = line.split(" ")
        sound = len(raw) == LENGTH and last == f"{check(line)}\n" and not rest
        return (int(count), total) if sound else None
    except ValueError:
        return None
