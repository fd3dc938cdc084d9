"""The SQLite file under the books: opened with care, one transaction at a time, and errors that say what to do."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpcore.books.secret import SIZE, kept_secret
from dpcore.errors import BookError

__all__ = ["BookFile", "UnreadableError"]

APPLICATION = 0x64706B31  # "dpk1", in the file's header
VERSION = 1
PATIENCE = 30.0  # seconds that one process waits for another's transaction
TABLES = """
CREATE TABLE accounts (
    sha256 TEXT NOT NULL, relation TEXT NOT NULL, name TEXT NOT NULL,
    claimed TEXT NOT NULL, bound TEXT NOT NULL, looks INTEGER NOT NULL, void TEXT NOT NULL, cap TEXT,
    PRIMARY KEY (sha256, relation));
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL, relation TEXT NOT NULL,
    purpose TEXT NOT NULL, begun TEXT NOT NULL,
    claimed TEXT NOT NULL, bound TEXT NOT NULL, looks INTEGER NOT NULL, void TEXT NOT NULL);
CREATE INDEX runs_of_account ON runs (sha256, relation);
"""
DAMAGED = "is damaged"
CAUSES = {
    "SQLITE_BUSY": "is in use by another program, which does not let go of it",
    "SQLITE_LOCKED": "is in use by another program, which does not let go of it",
    "SQLITE_READONLY": "may not be written to",
    "SQLITE_PERM": "may not be written to",
    "SQLITE_CANTOPEN": "cannot be opened",
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": f"{DAMAGED}, or is no ledger",
    "DAMAGED": "is damaged, or is no ledger",
}
WAY_ON = (
    "Nothing was drawn. On the page Ledger, set the file aside and begin a new one, or keep the ledger for this "
    "session only; or mend the file and try again."
)

_inherited: list[sqlite3.Connection] = []  # a fork must not even close its parent's connection


class UnreadableError(Exception):
    """The file holds something else than the books write."""


class BookFile:
    """One file, safe to use from threads, from forked and spawned processes, and to pickle.

    Parameters
    ----------
    path : Path, optional
        By default a temporary file that is gone with this object: for a session that keeps nothing.

    Attributes
    ----------
    path : Path
    kept : bool
        Whether the file outlives this object.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.kept = path is not None
        if path is None:
            folder = tempfile.mkdtemp(prefix="dpcore-")
            weakref.finalize(self, remove, folder, os.getpid())
            path = Path(folder) / "ledger.sqlite"
        self.path = path
        self._secret = None if self.kept else secrets.token_bytes(SIZE)  # what goes with a session leaves no key behind
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = os.getpid()
        self._file: tuple[int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "kept": self.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self.kept, self._secret = state["path"], state["kept"], None
        self._forget()

    def secret(self) -> bytes:
        """What names of data are keyed with; a session's own stays in its process."""
        if self._secret is None:
            try:
                self._secret = kept_secret(self.path.parent)
            except OSError as error:
                raise BookError(
                    f"The ledger {self.path} cannot be opened, for want of its secret: {error.strerror}.", WAY_ON
                ) from error
        return self._secret

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def set_aside(self) -> Path:
        """Put what the file holds into another one beside it, and begin anew; where the old content is now.

        Killed at any moment, all of it is in one of the two files at least. Whoever has the file open goes on with the
        new content. What cannot be read is renamed as it is.
        """
        aside = self.path.with_name(f"{self.path.name}.aside-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        try:
            with self.transaction() as c, closing(sqlite3.connect(self.path)) as reader:
                os.close(os.open(aside, os.O_CREAT | os.O_RDWR, 0o600))
                with closing(sqlite3.connect(aside)) as copy:
                    reader.backup(copy)
                for table in ("runs", "accounts"):
                    c.execute(f"DELETE FROM {table}")
        except BookError as error:
            if DAMAGED not in error.cause:
                raise
            self._rename(aside)
        return aside

    def _rename(self, aside: Path) -> None:
        with self._lock:
            self.close()
            try:
                aside.unlink(missing_ok=True)  # a copy that came to nothing
                for ending in ("", "-wal", "-shm"):
                    part = self.path.with_name(self.path.name + ending)
                    if part.exists():
                        part.rename(aside.with_name(aside.name + ending))
            except OSError as error:
                raise BookError(f"The ledger {self.path} cannot be set aside: {error.strerror}.", WAY_ON) from error

    @contextmanager
    def transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """All that happens inside is written, and on the disk, when this ends; or nothing, if it raises.

        What only reads waits for nobody, and sees one moment of the file.
        """
        if self._owner != os.getpid():
            _inherited.extend([self._connection] if self._connection is not None else [])
            self._forget()
        with self._lock:
            try:
                c = self._current()
                c.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    yield c
                    c.execute("COMMIT")
                except BaseException:
                    c.rollback()
                    raise
            except sqlite3.Error as error:
                self.close()
                name = getattr(error, "sqlite_errorname", None) or "SQLITE_NOTADB"
                cause = next((told for known, told in CAUSES.items() if name.startswith(known)), f"failed ({name})")
                raise BookError(f"The ledger {self.path} {cause}.", WAY_ON) from error
            except (OSError, UnreadableError) as error:
                self.close()
                cause = f"cannot be opened: {error.strerror}" if isinstance(error, OSError) else CAUSES["SQLITE_NOTADB"]
                raise BookError(f"The ledger {self.path} {cause}.", WAY_ON) from error

    def _current(self) -> sqlite3.Connection:
        """The connection to what is at the path now: somebody may have removed the file, or set it aside."""
        if self._connection is not None and (not self.path.exists() or identity(self.path) != self._file):
            self.close()
        if self._connection is None:
            self._connection = opened(self.path, durable=self.kept)
            self._file = identity(self.path)
        return self._connection


def remove(folder: str, owner: int) -> None:
    """Remove a temporary folder; a fork leaves its parent's alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def identity(path: Path) -> tuple[int, int]:
    """Which file is at a path."""
    found = path.stat()
    return found.st_dev, found.st_ino


def opened(path: Path, *, durable: bool) -> sqlite3.Connection:
    """A connection to the file at that path, which is made if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    c = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        log_ahead(c)
        c.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
        c.execute("BEGIN IMMEDIATE")  # two processes may come first
        ((known,), (version,)) = (c.execute(f"PRAGMA {it}").fetchone() for it in ("application_id", "user_version"))
        if (known, version) == (0, 0) and not c.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in filter(None, map(str.strip, TABLES.split(";"))):
                c.execute(statement)
            c.execute(f"PRAGMA application_id={APPLICATION}")
            c.execute(f"PRAGMA user_version={VERSION}")
        elif (known, version) != (APPLICATION, VERSION) or c.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise UnreadableError
        c.execute("COMMIT")
    except BaseException:
        c.close()
        raise
    return c


def log_ahead(c: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; SQLite does not wait by itself for a process that does the same."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            c.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
