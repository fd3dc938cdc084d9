"""The SQLite file under the books: a connection for each transaction, checked, and errors that say what to do.

A rollback journal, not a write-ahead log: between two transactions the file by itself is
everything, and a copy of it is a copy of all charges. Beside it stand two more:

secret      32 random bytes, which turn what is known of rows into names that tell nothing of them.
witness     How far the ledger has come. SQLite cannot know that a file was put back from last week, or lost its end. So
            the number of changes, with the sum over all lines after the last of them, stands here too, and is written
            after each commit: the ledger may be further than its witness (a process was killed between the two), never
            less far.

Within one transaction each line carries a sum of itself, and the head the sum of all (`Sheet`). A
damaged, swapped or lost line no longer agrees with the sums. The head counts the changes, and the
sum of all lines after a change is the sum before it, less the lines that were replaced, plus those
that replace them: what a chain of all charges would be, without a file that grows with every
charge. Nobody is kept from writing another file with sums of its own: this is about accidents.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
import warnings
import weakref
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from glob import escape
from math import ceil, inf
from pathlib import Path
from typing import Any

from dpcore.accounting.relation import Epsilon
from dpcore.errors import BookError

NAME, SIZE = "dpcore.secret", 32
PATIENCE = 30.0  # seconds
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
FIRST = (
    "Nothing was drawn. Open it once with version 0.2 of this program, which brings it up to date; or, on the page "
    "Ledger, set it aside and begin a new one."
)
KEPT_PARTS = ("", "-journal", "-wal", "-shm", ".witness")


APPLICATION = 0x64706B31  # "dpk1", in the file's header
VERSION = 2
SPENT = "claimed TEXT NOT NULL, noise TEXT NOT NULL, bound TEXT NOT NULL, looks INTEGER NOT NULL, void TEXT NOT NULL"
TABLES = {
    "head": "id INTEGER PRIMARY KEY, count INTEGER NOT NULL, total TEXT NOT NULL, secret TEXT NOT NULL",
    "accounts": f"id INTEGER PRIMARY KEY, key TEXT NOT NULL, relation TEXT NOT NULL, name TEXT NOT NULL, {SPENT}, "
    "cap TEXT",
    "runs": "id INTEGER PRIMARY KEY, token TEXT NOT NULL, account INTEGER NOT NULL, purpose TEXT NOT NULL, "
    f"begun TEXT NOT NULL, {SPENT}",
}
MADE = {name: f"CREATE TABLE {name} ({columns}, sum TEXT NOT NULL)" for name, columns in TABLES.items()}
LINES = ("accounts", "runs")
MODULUS = 2**256
UNIT = 2**100

Cell = str | int | None
State = tuple[int, str]
"""How many changes there were, and the sum of all lines after the last."""


class IncompleteError(BookError):
    """The ledger is sound, but older than what was written once, or nobody can tell."""


class UnreadableError(Exception):
    """The file holds something else than the books write."""


class LedgerFile:
    """One file, safe to use from threads and processes, and to pickle.

    Without a path it is a temporary one that goes with this object, and not `kept`: for a session
    that keeps nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.kept = path is not None
        # what goes with a session leaves no key behind
        self._secret = None if self.kept else secrets.token_bytes(SIZE)
        if path is None:
            folder = tempfile.mkdtemp(prefix="dpcore-")
            weakref.finalize(self, remove, folder, os.getpid())
            path = Path(folder) / "ledger.sqlite"
        # Witness and secret lie beside the file, and not beside a link to it.
        self.linked = os.path.islink(path)  # noqa: PTH114 - False, and no error, where nobody may look
        self.path = Path(os.path.realpath(path)) if self.linked else path
        # what was there before, copies that were set aside among it
        if self.kept and os.name == "posix":
            parts = (self.path.with_name(self.path.name + ending) for ending in KEPT_PARTS)
            hide([self.path.with_name(NAME), *parts, *self.path.parent.glob(f"{escape(self.path.name)}.aside-*")])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_secret": None}  # who charges needs no secret

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
            words = f"The ledger {self.path} cannot be opened, for want of {NAME} beside it: {error.strerror}."
            raise BookError(words, f"{WAY_ON} A copy has {NAME} too.") from error

    def set_aside(self) -> Path:
        """Put what the file holds into another one beside it, and begin anew; where the old content is now.

        Killed at any moment, all of it is in one of the two files at least. Whoever has the file
        open goes on with the new content. What is not sound is renamed as it is.
        """
        # two may come at one moment
        moment = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.randbelow(10**9):09d}"
        aside = self.path.with_name(f"{self.path.name}.aside-{moment}")
        try:
            with self.transaction() as sheet:
                write_new(aside, sheet.c.serialize())
                write_witness(aside, sheet.state)
                sheet.clear(self._own_secret(make=True))
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
            with suppress(FileExistsError):
                self.path.touch(0o600, exist_ok=False)  # or a link to it would lead nowhere
        except OSError as error:
            raise BookError(f"The ledger {self.path} cannot be set aside: {error.strerror}.", WAY_ON) from error

    def go_on(self) -> None:
        """Take what the file holds for all that was ever charged, whatever its witness says."""
        with self.transaction(writes=False, believe=True) as sheet:
            write_witness(self.path, sheet.state, anew=True)

    def copy(self) -> bytes:
        """The ledger as it is at one moment, with its witness and secret, as a zip."""
        raw = io.BytesIO()
        with self.transaction(writes=False) as sheet, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(self.path.name, sheet.c.serialize())
            archive.writestr(witness_of(self.path).name, format_witness(sheet.state))
            archive.writestr(NAME, self._own_secret(make=False))
        return raw.getvalue()

    @contextmanager
    def transaction(self, *, writes: bool = True, whole: bool = True, believe: bool = False) -> Iterator[Sheet]:
        """All that happens inside is written, and on the disk, when this ends; or nothing, if it raises.

        `whole`: every line is checked before, not only those that are used. `believe`: the witness
        is not asked.
        """
        try:
            self._there(believe=believe)
            # the first format's: closing c would fold it in
            if self.path.with_name(f"{self.path.name}-wal").exists():
                with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
                    self._refuse_first(reader)
            c = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            with closing(c):
                self._ready(c, believe=believe)
                # first: the file may go on, and never back
                seen = None if believe else read_witness(self.path)
                with c:
                    c.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                    sheet = Sheet(c)
                    if not believe:
                        self._compare(sheet, seen)
                    if whole:
                        sheet.check()
                    yield sheet
                    sheet.seal()
                if sheet.changed:
                    write_witness(self.path, sheet.state)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or "SQLITE_NOTADB"
            cause = next((words for known, words in CAUSES.items() if name.startswith(known)), f"failed ({name})")
            raise BookError(f"The ledger {self.path} {cause}.", WAY_ON) from error
        except (UnreadableError, UnicodeDecodeError) as error:
            raise BookError(f"The ledger {self.path} {CAUSES['SQLITE_NOTADB']}.", WAY_ON) from error
        except OSError as error:
            raise BookError(f"The ledger {self.path} cannot be opened: {error.strerror}.", WAY_ON) from error

    def _there(self, *, believe: bool) -> None:
        """Make the file if there is none, and never was."""
        if self.linked and not self.path.exists():
            cause = f"The ledger is a link to {self.path}, where there is no file."
            raise BookError(cause, "Nothing was drawn. Put the file back, or remove the link to begin a new ledger.")
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            self._none_lost("is gone, with {:,} changes that were written to it", believe=believe)
            # to open it but through SQLite would undo the locks of other threads
            with suppress(FileExistsError):
                self.path.touch(0o600, exist_ok=False)

    def _ready(self, c: sqlite3.Connection, *, believe: bool) -> None:
        """Make the tables of a file that has none."""
        self._refuse_first(c)
        c.execute(f"PRAGMA synchronous={'FULL' if self.kept else 'OFF'}")
        c.execute("PRAGMA journal_mode=PERSIST")  # to write a file again is faster than to make one
        if not tables(c):
            with c:
                c.execute("BEGIN IMMEDIATE")  # two processes may come first
                if not tables(c):
                    self._none_lost("is empty, though {:,} changes were written to it", believe=believe)
                    made = Sheet.make(c, self._own_secret(make=True))
                    write_witness(self.path, made.state, anew=True)

    def _refuse_first(self, c: sqlite3.Connection) -> None:
        """Refuse a file of the format from before the first release, as it is."""
        if versions(c) == [APPLICATION, 1]:
            raise BookError(f"The ledger {self.path} is of a format from before the first release.", FIRST)

    def _none_lost(self, cause: str, *, believe: bool) -> None:
        """Refuse to begin a ledger that its witness has seen further."""
        seen = None if believe else read_witness(self.path)
        if seen is not None and seen[0]:
            raise self._incomplete(cause.format(seen[0]))

    def _compare(self, sheet: Sheet, seen: State | None) -> None:
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


def hide(paths: Iterable[Path]) -> None:
    """Let nobody but their owner read these files, as far as they are there; a warning where that cannot be done."""
    for path in paths:
        try:
            if path.is_file() and (mode := path.stat().st_mode) & 0o077:
                path.chmod(mode & 0o700)
        except FileNotFoundError:
            continue  # gone by now
        except OSError as error:
            warnings.warn(f"Others may read {path}, and cannot be kept from it: {error.strerror}.", stacklevel=2)


def remove(folder: str, owner: int) -> None:
    """Remove a temporary folder; a fork leaves its parent's alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that was not there, readable by its owner only, and on the disk when this returns."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def kept_secret(folder: Path, *, make: bool = True) -> bytes:
    """The secret of a folder, made on first use and readable by its owner only.

    OSError if the file can be neither read nor made, or holds something else.
    """
    path, new = folder / NAME, folder / f"{NAME}.{secrets.token_hex(8)}"
    if make and not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            write_new(new, secrets.token_bytes(SIZE))
            with suppress(FileExistsError):
                path.hardlink_to(new)  # whole at once, and never in the place of another process's
        finally:
            new.unlink(missing_ok=True)
    found = path.read_bytes()
    if len(found) != SIZE:
        raise OSError(0, f"{NAME} has another length than {SIZE} bytes")
    return found


def witness_of(ledger: Path) -> Path:
    """The witness of the ledger at a path."""
    return ledger.with_name(f"{ledger.name}.witness")


def format_witness(state: State) -> bytes:
    """What a witness says, with a sum that a damaged line would not have."""
    line = f"{state[0]:020d} {state[1]} "
    return f"{line}{hashlib.sha256(line.encode()).hexdigest()[:16]}\n".encode()


def state_of(raw: bytes) -> State | None:
    """What a witness has seen; None if it says nothing that can be understood."""
    try:
        count, total, _ = raw.decode("ascii").split(" ")
        state = int(count), total
    except ValueError:
        return None
    return state if format_witness(state) == raw else None


def read_witness(ledger: Path) -> State | None:
    """How far the witness has seen a ledger come; None without a file, or UnreadableError."""
    for _ in range(5):
        try:
            found = state_of(witness_of(ledger).read_bytes())
        except FileNotFoundError:
            return None
        if found is not None:
            return found
        time.sleep(0.002)  # another process may be writing
    raise UnreadableError


def write_witness(ledger: Path, state: State, *, anew: bool = False) -> None:
    """Say how far the ledger has come, unless somebody has said more, or `anew`."""
    path = witness_of(ledger)
    new = anew or not path.exists()
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600), "r+b", 0) as file:
        before = state_of(file.read())
        if anew or before is None or before[0] < state[0]:
            file.seek(0)
            file.write(format_witness(state))  # in place: at once, for whoever reads
            file.truncate()
        if new:
            os.fsync(file.fileno())


class Sheet:
    """What a transaction may read and write. UnreadableError where lines and sums do not agree."""

    def __init__(self, c: sqlite3.Connection) -> None:
        if tables(c) != MADE:
            raise UnreadableError
        self.c = c
        self.changed = False
        # lines that were compared with their sums
        self._read: dict[tuple[str, Cell], tuple[Cell, ...]] = {}
        count, total, secret = self.line("head", 1) or (None, None, None)
        if not isinstance(total, str) or len(total) != 64:
            raise UnreadableError
        self.count, self.total, self.secret = whole(count), int(total, 16), str(secret)

    @classmethod
    def make(cls, c: sqlite3.Connection, secret: bytes) -> Sheet:
        """The tables, without any line."""
        for statement in MADE.values():
            c.execute(statement)
        c.execute(f"PRAGMA application_id={APPLICATION}")
        c.execute(f"PRAGMA user_version={VERSION}")
        head: list[Cell] = [0, f"{0:064x}", check_of(secret)]
        c.execute("INSERT INTO head VALUES (1,?,?,?,?)", [*head, format_sum("head", 1, head)])
        return cls(c)

    @property
    def state(self) -> State:
        """What the witness is told."""
        return self.count, f"{self.total:064x}"

    def check(self) -> None:
        """Compare every line with its sum, and all of them with the head."""
        if versions(self.c) != [APPLICATION, VERSION] or self.c.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise UnreadableError
        if sum(
            number_of(table, row_id, cells) for table in LINES for row_id, *cells in self.lines(table)
        ) % MODULUS != (self.total):
            raise UnreadableError

    def lines(self, table: str) -> list[tuple[Cell, ...]]:
        """The lines of a table in order, each with its number first."""
        found = self.c.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        return [(row_id, *self._compared(table, row_id, cells)) for row_id, *cells in found]

    def line(self, table: str, row_id: int) -> tuple[Cell, ...] | None:
        """One line, without its number."""
        for _, *cells in self.c.execute(f"SELECT * FROM {table} WHERE id=?", (row_id,)).fetchall():
            return self._compared(table, row_id, cells)
        return None

    def _compared(self, table: str, row_id: Cell, cells: list[Cell]) -> tuple[Cell, ...]:
        if cells.pop() != format_sum(table, row_id, cells):
            raise UnreadableError
        self._read[table, row_id] = tuple(cells)
        return self._read[table, row_id]

    def write(self, table: str, row_id: int | None, *cells: Cell) -> int:
        """Replace a line that was read, or add one if it has no number yet; its number."""
        if row_id is None:
            ((last,),) = self.c.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchall()
            row_id = whole(last) + 1
        else:
            self.total -= number_of(table, row_id, self._read[table, row_id])
        self.total = (self.total + number_of(table, row_id, cells)) % MODULUS
        marks = ",".join("?" * (len(cells) + 2))
        self.c.execute(
            f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (row_id, *cells, format_sum(table, row_id, cells))
        )
        self._read[table, row_id], self.changed = cells, True
        return row_id

    def clear(self, secret: bytes) -> None:
        """Remove all lines."""
        for table in LINES:
            self.c.execute(f"DELETE FROM {table}")
        self._read.clear()
        self.total, self.secret, self.changed = 0, check_of(secret), True

    def seal(self) -> None:
        """Count the change, if there was one."""
        if self.changed:
            self.count += 1
            head: list[Cell] = [*self.state, self.secret]
            self.c.execute("REPLACE INTO head VALUES (1,?,?,?,?)", [*head, format_sum("head", 1, head)])


def versions(c: sqlite3.Connection) -> list[int]:
    """Which program's file it is, and in which version."""
    return [c.execute(f"PRAGMA {it}").fetchone()[0] for it in ("application_id", "user_version")]


def tables(c: sqlite3.Connection) -> dict[str, str]:
    """What was made in a file, and how."""
    return dict(c.execute("SELECT name, sql FROM sqlite_schema").fetchall())


def number_of(table: str, row_id: Cell, cells: tuple[Cell, ...] | list[Cell]) -> int:
    """The sum of a line."""
    words = repr((table, row_id, *cells)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(words).digest(), "big")


def format_sum(table: str, row_id: Cell, cells: tuple[Cell, ...] | list[Cell]) -> str:
    """The sum of a line as text."""
    return f"{number_of(table, row_id, cells):064x}"


def check_of(secret: bytes) -> str:
    """By what a ledger knows its secret again."""
    return hmac.digest(secret, b"dpcore ledger", "sha256").hex()


def round_up(total: Epsilon) -> Epsilon:
    """The next multiple of 2^-100 from above: sums of a thousand shares would need ever more digits otherwise."""
    return total if isinstance(total, float) else Fraction(ceil(total * UNIT), UNIT)


def text(epsilon: Epsilon) -> str:
    """An epsilon as text."""
    return "inf" if epsilon == inf else str(Fraction(epsilon))


def number(written: object) -> Epsilon:
    """An epsilon from its text."""
    if not isinstance(written, str) or not re.fullmatch(r"[0-9]{1,400}(/[1-9][0-9]{0,99})?|inf", written):
        raise UnreadableError
    return inf if written == "inf" else Fraction(written)


def whole(written: object) -> int:
    """A count."""
    if not isinstance(written, int) or written < 0:
        raise UnreadableError
    return written


def moment(written: object) -> datetime:
    """A time from its text."""
    try:
        return datetime.fromisoformat(str(written))
    except ValueError:
        raise UnreadableError from None
