"""The SQLite file under the books: a connection for each transaction, checked, and errors that say what to do.

A rollback journal, not a write-ahead log: between two transactions the file by itself is everything, and a copy of it
is a copy of all charges.
"""

import io
import os
import secrets
import shutil
import sqlite3
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpcore.accounting.store.earlier import PATIENCE, renew
from dpcore.accounting.store.secret import NAME, SIZE, check_of, kept_secret
from dpcore.accounting.store.sheet import MADE, Sheet, tables
from dpcore.accounting.store.witness import Witness
from dpcore.accounting.store.written import UnreadableError
from dpcore.errors import BookError

BUSY = "is in use by another program, which does not let go of it"
CAUSES = {
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_READONLY": "may not be written to",
    "SQLITE_PERM": "may not be written to",
    "SQLITE_CANTOPEN": "cannot be opened",
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_CORRUPT": "is damaged",
    "SQLITE_NOTADB": "is damaged, or is no ledger",
    "SQLITE_ERROR": "is damaged, or is no ledger",
}
WAY_ON = (
    "Nothing was drawn. On the page Ledger, set the file aside and begin a new one, or keep the ledger for this "
    "session only; or mend the file and try again."
)
KEPT_PARTS = ("", "-journal", "-wal", "-shm", ".witness")


class IncompleteError(BookError):
    """The ledger is sound, but older than what was written once, or nobody can tell."""


class BookFile:
    """One file, safe to use from threads and processes, and to pickle.

    Without a path it is a temporary one that goes with this object, and not `kept`: for a session that keeps nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.kept = path is not None
        self._secret = None if self.kept else secrets.token_bytes(SIZE)  # what goes with a session leaves no key behind
        if path is None:
            folder = tempfile.mkdtemp(prefix="dpcore-")
            weakref.finalize(self, remove, folder, os.getpid())
            path = Path(folder) / "ledger.sqlite"
        self.path = path

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "kept": self.kept, "_secret": None}  # who charges needs no secret

    def secret(self) -> bytes:
        """What names of data are keyed with: this ledger's, or BookError."""
        with self.transaction(writes=False, whole=False) as sheet:
            found = self._own_secret(make=False)
            if sheet.secret != check_of(found):
                raise BookError(f"The ledger {self.path} belongs to another {NAME} than is beside it.", WAY_ON)
        return found

    def _own_secret(self, *, make: bool) -> bytes:
        try:
            return self._secret or kept_secret(self.path.parent, make=make)
        except OSError as error:
            told = f"The ledger {self.path} cannot be opened, for want of {NAME} beside it: {error.strerror}."
            raise BookError(told, f"{WAY_ON} A copy has {NAME} too.") from error

    def set_aside(self) -> Path:
        """Put what the file holds into another one beside it, and begin anew; where the old content is now.

        Killed at any moment, all of it is in one of the two files at least. Whoever has the file open goes on with the
        new content. What is not sound is renamed as it is.
        """
        aside = self.path.with_name(f"{self.path.name}.aside-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        try:
            with self.transaction() as sheet:
                with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                    file.write(sheet.c.serialize())
                    file.flush()
                    os.fsync(file.fileno())
                Witness.of(aside).write(*sheet.state)
                sheet.clear(check_of(self._own_secret(make=True)))
        except BookError as error:
            if BUSY in error.cause:
                raise
            self._rename(aside)
        return aside

    def _rename(self, aside: Path) -> None:
        try:
            for ending in KEPT_PARTS:
                part, put = (path.with_name(path.name + ending) for path in (self.path, aside))
                put.unlink(missing_ok=True)  # a copy that came to nothing
                if part.exists():
                    part.rename(put)
        except OSError as error:
            raise BookError(f"The ledger {self.path} cannot be set aside: {error.strerror}.", WAY_ON) from error

    def go_on(self) -> None:
        """Take what the file holds for all that was ever charged, whatever its witness says."""
        with self.transaction(writes=False, believe=True) as sheet:
            Witness.of(self.path).write(*sheet.state, anew=True)

    def copy(self) -> bytes:
        """The ledger as it is at one moment, with its witness and secret, as a zip."""
        raw = io.BytesIO()
        with self.transaction(writes=False) as sheet, tempfile.TemporaryDirectory() as folder:
            witness = Witness(Path(folder) / "witness")
            witness.write(*sheet.state)
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(self.path.name, sheet.c.serialize())
                archive.writestr(Witness.of(self.path).path.name, witness.path.read_bytes())
                archive.writestr(NAME, self._own_secret(make=False))
        return raw.getvalue()

    @contextmanager
    def transaction(self, *, writes: bool = True, whole: bool = True, believe: bool = False) -> Iterator[Sheet]:
        """All that happens inside is written, and on the disk, when this ends; or nothing, if it raises.

        `whole`: every line is checked before, not only those that are used. `believe`: the witness is not asked.
        """
        try:
            with closing(self._opened(believe=believe)) as c:
                witness = Witness.of(self.path)
                seen = None if believe else witness.read()  # first: the file may go on, and never back
                c.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    sheet = Sheet(c)
                    if not believe:
                        self._compare(sheet, seen)
                    if whole:
                        sheet.check()
                    yield sheet
                    sheet.seal()
                    c.execute("COMMIT")
                except BaseException:
                    c.rollback()
                    raise
                if sheet.changed:
                    witness.write(*sheet.state)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or "SQLITE_NOTADB"
            cause = next((told for known, told in CAUSES.items() if name.startswith(known)), f"failed ({name})")
            raise BookError(f"The ledger {self.path} {cause}.", WAY_ON) from error
        except (UnreadableError, UnicodeDecodeError) as error:
            raise BookError(f"The ledger {self.path} {CAUSES['SQLITE_NOTADB']}.", WAY_ON) from error
        except OSError as error:
            raise BookError(f"The ledger {self.path} cannot be opened: {error.strerror}.", WAY_ON) from error

    def _compare(self, sheet: Sheet, seen: tuple[int, str] | None) -> None:
        """Whether the file is as far as its witness has seen it."""
        if seen is None and sheet.count:
            raise self._incomplete("has no witness beside it, so that nobody can tell whether it is complete")
        if seen is not None and sheet.count < seen[0]:
            lost = seen[0] - sheet.count
            raise self._incomplete(f"lacks the last {lost:,} of {seen[0]:,} changes that were written to it")
        if seen is not None and sheet.count == seen[0] and sheet.state != seen:
            raise self._incomplete("is not the one that its witness has seen")

    def _incomplete(self, cause: str) -> IncompleteError:
        return IncompleteError(f"The ledger {self.path} {cause}.", f"{WAY_ON} Or go on with what it holds.")

    def _opened(self, *, believe: bool) -> sqlite3.Connection:
        """A connection to the file at the path, which is made if there is none, and brought up to date."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            seen = None if believe else Witness.of(self.path).read()
            if seen is not None and seen[0]:
                raise self._incomplete(f"is gone, with {seen[0]:,} changes that were written to it")
            with suppress(FileExistsError):  # to open it but through SQLite would undo the locks of other threads
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        c = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            c.execute(f"PRAGMA synchronous={'FULL' if self.kept else 'OFF'}")
            if "runs_of_account" in tables(c):
                sheet, witness = renew(c, self._own_secret(make=True)), Witness.of(self.path)
                if not believe:
                    self._compare(sheet, witness.read() or sheet.state)  # there was none, or somebody was killed here
                witness.write(*sheet.state)
                c.execute("COMMIT")
            c.execute("PRAGMA journal_mode=PERSIST")  # to write a file again is faster than to make one
            if tables(c) != MADE:
                c.execute("BEGIN IMMEDIATE")  # two processes may come first
                if tables(c) != MADE:
                    self._made(c, believe=believe)
                c.execute("COMMIT")
        except BaseException:
            c.close()
            raise
        return c

    def _made(self, c: sqlite3.Connection, *, believe: bool) -> None:
        """The first tables of a file that has none."""
        if tables(c):
            raise UnreadableError
        witness = Witness.of(self.path)
        seen = None if believe else witness.read()
        if seen is not None and seen[0]:
            raise self._incomplete(f"is empty, though {seen[0]:,} changes were written to it")
        sheet = Sheet.make(c, check_of(self._own_secret(make=True)))
        witness.write(*sheet.state, anew=True)


def remove(folder: str, owner: int) -> None:
    """Remove a temporary folder; a fork leaves its parent's alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
