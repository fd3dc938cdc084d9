"""SQLite file of the persistent ledger: checked transactions, and errors that say what to do.

The file uses a rollback journal, not a write-ahead log: between two transactions the file alone has
all charges, and so has a copy of it. Two more files are beside the ledger:

secret      32 random bytes. They key the hashes of rows that name data sets, so that the names tell
            nothing about the rows.
witness     The number of changes to the ledger, and the checksum of all lines after the last
            change. SQLite cannot detect that a file was replaced by last week's copy, or lost its
            end. The witness is written after each commit. The ledger may have more changes than its
            witness (a process was killed in between), never fewer.

Each line has a checksum of itself, and the head has the checksum of all lines (`LedgerTables`). A
damaged, swapped or lost line no longer agrees with the checksums. The head counts the changes. The
checksum of all lines after a change is the one before it, minus the replaced lines, plus the new
lines: it protects like a chain of all charges, in a file that does not grow with every charge. Any
program can write another file with valid checksums: they protect against accidents only.
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
from dpcore.errors import LedgerError

NAME, SIZE = "dpcore.secret", 32  # file name and bytes
PATIENCE = 30.0  # seconds
BUSY = "is locked by another program"
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
WHAT_TO_DO = (
    "No noise was drawn. On the page Ledger, set the file aside and start a new ledger, or use a ledger "
    "for this session only. Or repair the file and try again."
)
OLD_FORMAT = (
    "No noise was drawn. Open the ledger once with version 0.2 of this program, which converts it. Or, "
    "on the page Ledger, set the file aside and start a new ledger."
)
FILE_ENDINGS = ("", "-journal", "-wal", "-shm", ".witness")


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
CREATE_STATEMENTS = {name: f"CREATE TABLE {name} ({columns}, sum TEXT NOT NULL)" for name, columns in TABLES.items()}
LINES = ("accounts", "runs")
MODULUS = 2**256
UNIT = 2**100

Cell = str | int | None
State = tuple[int, str]
"""Number of changes to a ledger, and the checksum of all its lines after the last change."""


class IncompleteError(LedgerError):
    """The ledger is older than its witness, or has no witness to compare with.

    The witness is a file beside the ledger with its number of changes and its checksum.
    """


class UnreadableError(Exception):
    """The content of a ledger or witness file is not what dpcore writes."""


class LedgerFile:
    """One ledger file, safe to use from threads and processes, and to pickle.

    Without a path it is a temporary file that is deleted with this object (`kept` is False), for
    sessions that keep nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open a ledger file, and make it and its copies unreadable for other users."""
        self.kept = path is not None
        # The secret of a temporary ledger is not written to disk.
        self._secret = None if self.kept else secrets.token_bytes(SIZE)
        if path is None:
            folder = tempfile.mkdtemp(prefix="dpcore-")
            weakref.finalize(self, remove_folder, folder, os.getpid())
            path = Path(folder) / "ledger.sqlite"
        # Witness and secret are beside the file itself, not beside a link to it.
        self.linked = os.path.islink(path)  # noqa: PTH114 - no error in a folder that we cannot read
        self.path = Path(os.path.realpath(path)) if self.linked else path
        # Existing files, with copies that were set aside, become unreadable for others.
        if self.kept and os.name == "posix":
            parts = (self.path.with_name(self.path.name + ending) for ending in FILE_ENDINGS)
            aside = self.path.parent.glob(f"{escape(self.path.name)}.aside-*")
            restrict_to_owner([self.path.with_name(NAME), *parts, *aside])

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, without the secret."""
        return {**vars(self), "_secret": None}  # charging needs no secret

    def secret(self) -> bytes:
        """Return the secret key of the hashes of data sets; LedgerError if it is another ledger's."""
        with self.transaction(writes=False, whole=False) as tables:
            found = self._own_secret(make=False)
            if tables.secret != secret_check(found):
                raise LedgerError(f"The ledger {self.path} and the {NAME} beside it do not match.", WHAT_TO_DO)
        return found

    def _own_secret(self, *, make: bool) -> bytes:
        """Return the secret key of this ledger's hashes of data sets.

        With `make`, it is created on first use. LedgerError if it cannot be read.
        """
        try:
            return self._secret or folder_secret(self.path.parent, make=make)
        except OSError as error:
            words = f"The ledger {self.path} cannot be opened without {NAME} beside it: {error.strerror}."
            raise LedgerError(words, f"{WHAT_TO_DO} Copies of the ledger contain {NAME}.") from error

    def set_aside(self) -> Path:
        """Move the ledger's content into a new file, empty the ledger, and return the new path.

        The new file is beside the ledger. If the process is killed, one of the two files has all of
        the content. Connections that are open continue with the emptied ledger. A damaged ledger is
        renamed instead.
        """
        # Two processes may do this in the same microsecond.
        moment = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.randbelow(10**9):09d}"
        aside = self.path.with_name(f"{self.path.name}.aside-{moment}")
        try:
            with self.transaction() as tables:
                write_new(aside, tables.c.serialize())
                write_witness(aside, tables.state)
                tables.clear(self._own_secret(make=True))
        except LedgerError as error:
            if BUSY in error.cause:
                raise
            self._rename(aside)
        return aside

    def _rename(self, aside: Path) -> None:
        """Rename the ledger file, journal and witness to `aside`, and create an empty ledger."""
        try:
            for ending in FILE_ENDINGS:
                part, put = (path.with_name(path.name + ending) for path in (self.path, aside))
                put.unlink(missing_ok=True)  # an unfinished copy
                if part.exists():
                    part.rename(put)
            with suppress(FileExistsError):
                self.path.touch(0o600, exist_ok=False)  # so that links to the ledger stay valid
        except OSError as error:
            raise LedgerError(f"The ledger {self.path} cannot be set aside: {error.strerror}.", WHAT_TO_DO) from error

    def accept_content(self) -> None:
        """Accept the file's content as complete, whatever its witness says; rewrite the witness."""
        with self.transaction(writes=False, trusted=True) as tables:
            write_witness(self.path, tables.state, anew=True)

    def copy(self) -> bytes:
        """Return a zip file with the ledger at one moment, its witness and its secret."""
        raw = io.BytesIO()
        with self.transaction(writes=False) as tables, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(self.path.name, tables.c.serialize())
            archive.writestr(witness_path(self.path).name, format_witness(tables.state))
            archive.writestr(NAME, self._own_secret(make=False))
        return raw.getvalue()

    @contextmanager
    def transaction(self, *, writes: bool = True, whole: bool = True, trusted: bool = False) -> Iterator[LedgerTables]:
        """Run a `with` block as one transaction: committed to disk, or rolled back on an error.

        It yields the ledger's tables. With `writes`, other writers wait from the beginning. With
        `whole`, every line is checked first, not only the lines that are read. With `trusted`, the
        ledger is not compared with its witness. Errors of the file or of SQLite become LedgerError.
        """
        try:
            self._ensure_file(trusted=trusted)
            # A log of the old format: closing `c` would write it into the file.
            if self.path.with_name(f"{self.path.name}-wal").exists():
                with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
                    self._refuse_old_format(reader)
            c = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            with closing(c):
                self._ensure_tables(c, trusted=trusted)
                # Read the witness first: meanwhile the ledger may get more changes, never fewer.
                seen = None if trusted else read_witness(self.path)
                with c:
                    c.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                    tables = LedgerTables(c)
                    if not trusted:
                        self._compare_with_witness(tables, seen)
                    if whole:
                        tables.check()
                    yield tables
                    tables.seal()
                if tables.changed:
                    write_witness(self.path, tables.state)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or "SQLITE_NOTADB"
            cause = next((words for known, words in CAUSES.items() if name.startswith(known)), f"failed ({name})")
            raise LedgerError(f"The ledger {self.path} {cause}.", WHAT_TO_DO) from error
        except (UnreadableError, UnicodeDecodeError) as error:
            raise LedgerError(f"The ledger {self.path} {CAUSES['SQLITE_NOTADB']}.", WHAT_TO_DO) from error
        except OSError as error:
            raise LedgerError(f"The ledger {self.path} cannot be opened: {error.strerror}.", WHAT_TO_DO) from error

    def _ensure_file(self, *, trusted: bool) -> None:
        """Create the file if it does not exist and its witness records no changes.

        With `trusted`, it is created whatever the witness records.
        """
        if self.linked and not self.path.exists():
            cause = f"The ledger is a link to {self.path}, where there is no file."
            raise LedgerError(cause, "No noise was drawn. Put the file back, or remove the link for a new ledger.")
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            self._refuse_lost("is gone, with {:,} recorded changes", trusted=trusted)
            # Opening an existing file other than by SQLite would release other threads' locks.
            with suppress(FileExistsError):
                self.path.touch(0o600, exist_ok=False)

    def _ensure_tables(self, c: sqlite3.Connection, *, trusted: bool) -> None:
        """Create the tables of a new file, on the connection `c`.

        IncompleteError if the witness records changes, unless the content is `trusted`.
        """
        self._refuse_old_format(c)
        c.execute(f"PRAGMA synchronous={'FULL' if self.kept else 'OFF'}")
        c.execute("PRAGMA journal_mode=PERSIST")  # reusing the journal is faster than a new file
        if not table_definitions(c):
            with c:
                c.execute("BEGIN IMMEDIATE")  # another process may create them at the same time
                if not table_definitions(c):
                    self._refuse_lost("is empty, after {:,} recorded changes", trusted=trusted)
                    made = LedgerTables.make(c, self._own_secret(make=True))
                    write_witness(self.path, made.state, anew=True)

    def _refuse_old_format(self, c: sqlite3.Connection) -> None:
        """Raise LedgerError for a file of the format before the first release; keep it as is."""
        if versions(c) == [APPLICATION, 1]:
            raise LedgerError(f"The ledger {self.path} has a format from before the first release.", OLD_FORMAT)

    def _refuse_lost(self, cause: str, *, trusted: bool) -> None:
        """Raise IncompleteError if a missing or empty ledger has a witness that records changes.

        `cause` says what is wrong, with {} for the number of changes. With `trusted`, nothing is
        raised.
        """
        seen = None if trusted else read_witness(self.path)
        if seen is not None and seen[0]:
            raise self._incomplete(cause.format(seen[0]))

    def _compare_with_witness(self, tables: LedgerTables, seen: State | None) -> None:
        """Raise IncompleteError if the ledger has fewer or other changes than the witness (`seen`)."""
        if seen is None and tables.count:
            raise self._incomplete("has no witness file, so its completeness cannot be checked")
        if seen is not None and tables.count < seen[0]:
            lost = seen[0] - tables.count
            raise self._incomplete(f"lacks the last {lost:,} of {seen[0]:,} recorded changes")
        if seen is not None and tables.count == seen[0] and tables.state != seen:
            raise self._incomplete("does not match its witness file")

    def _incomplete(self, cause: str) -> IncompleteError:
        """Return the error of a ledger that may lack charges; `cause` completes its sentence."""
        return IncompleteError(f"The ledger {self.path} {cause}.", f"{WHAT_TO_DO} Or accept its current content.")


def restrict_to_owner(paths: Iterable[Path]) -> None:
    """Make existing files unreadable for other users; warn about files where this fails."""
    for path in paths:
        try:
            if path.is_file() and (mode := path.stat().st_mode) & 0o077:
                path.chmod(mode & 0o700)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except OSError as error:
            warnings.warn(f"Other users may be able to read {path}: {error.strerror}.", stacklevel=2)


def remove_folder(folder: str, owner: int) -> None:
    """Delete a temporary folder; forks of the process `owner` leave it alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def write_new(path: Path, content: bytes) -> None:
    """Write a new file, readable by its owner only, and sync it to the disk."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def folder_secret(folder: Path, *, make: bool = True) -> bytes:
    """Return the secret key in a folder, with which data sets are hashed.

    With `make`, a random key is created on first use. Its file is readable by its owner only.
    OSError if it can be neither read nor created, or has another size.
    """
    path, new = folder / NAME, folder / f"{NAME}.{secrets.token_hex(8)}"
    if make and not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            write_new(new, secrets.token_bytes(SIZE))
            with suppress(FileExistsError):
                path.hardlink_to(new)  # atomic, and never replaces another process's secret
        finally:
            new.unlink(missing_ok=True)
    found = path.read_bytes()
    if len(found) != SIZE:
        raise OSError(0, f"{NAME} has another length than {SIZE} bytes")
    return found


def witness_path(ledger: Path) -> Path:
    """Return the path of a ledger's witness file.

    The witness has the ledger's number of changes and its checksum, so that lost changes are
    noticed.
    """
    return ledger.with_name(f"{ledger.name}.witness")


def format_witness(state: State) -> bytes:
    """Return a witness file's content for a state, with a checksum."""
    line = f"{state[0]:020d} {state[1]} "
    return f"{line}{hashlib.sha256(line.encode()).hexdigest()[:16]}\n".encode()


def parse_witness(raw: bytes) -> State | None:
    """Return the changes and the checksum in a witness file's content; None if it is invalid.

    The witness file says how far the ledger had come.
    """
    try:
        count, total, _ = raw.decode("ascii").split(" ")
        state = int(count), total
    except ValueError:
        return None
    return state if format_witness(state) == raw else None


def read_witness(ledger: Path) -> State | None:
    """Return the state in a ledger's witness file; None without a file.

    UnreadableError if the file stays invalid.
    """
    for _ in range(5):
        try:
            found = parse_witness(witness_path(ledger).read_bytes())
        except FileNotFoundError:
            return None
        if found is not None:
            return found
        time.sleep(0.002)  # another process may be writing it
    raise UnreadableError


def write_witness(ledger: Path, state: State, *, anew: bool = False) -> None:
    """Write a state to a ledger's witness, unless it has a later one; with `anew`, always."""
    path = witness_path(ledger)
    new = anew or not path.exists()
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600), "r+b", 0) as file:
        before = parse_witness(file.read())
        if anew or before is None or before[0] < state[0]:
            file.seek(0)
            file.write(format_witness(state))  # in place, in one write
            file.truncate()
        if new:
            os.fsync(file.fileno())


class LedgerTables:
    """Tables of the ledger in a transaction; UnreadableError if lines and checksums disagree."""

    def __init__(self, c: sqlite3.Connection) -> None:
        """Read the head of the ledger; UnreadableError if the tables are not those of a ledger."""
        if table_definitions(c) != CREATE_STATEMENTS:
            raise UnreadableError
        self.c = c
        self.changed = False
        # Lines whose checksums were verified
        self._read: dict[tuple[str, Cell], tuple[Cell, ...]] = {}
        count, total, secret = self.line("head", 1) or (None, None, None)
        if not isinstance(total, str) or len(total) != 64:
            raise UnreadableError
        self.count, self.total, self.secret = parse_count(count), int(total, 16), str(secret)

    @classmethod
    def make(cls, c: sqlite3.Connection, secret: bytes) -> LedgerTables:
        """Create the empty tables of a new ledger file."""
        for statement in CREATE_STATEMENTS.values():
            c.execute(statement)
        c.execute(f"PRAGMA application_id={APPLICATION}")
        c.execute(f"PRAGMA user_version={VERSION}")
        head: list[Cell] = [0, f"{0:064x}", secret_check(secret)]
        c.execute("INSERT INTO head VALUES (1,?,?,?,?)", [*head, format_line_hash("head", 1, head)])
        return cls(c)

    @property
    def state(self) -> State:
        """The number of changes and the checksum of all lines, to be stored in the witness."""
        return self.count, f"{self.total:064x}"

    def check(self) -> None:
        """Verify the checksum of every line, and the checksum of all lines."""
        if versions(self.c) != [APPLICATION, VERSION] or self.c.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise UnreadableError
        hashes = (line_hash(table, row_id, cells) for table in LINES for row_id, *cells in self.lines(table))
        if sum(hashes) % MODULUS != self.total:
            raise UnreadableError

    def lines(self, table: str) -> list[tuple[Cell, ...]]:
        """Return all lines of a table in order, each with its number first."""
        found = self.c.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        return [(row_id, *self._checked_line(table, row_id, cells)) for row_id, *cells in found]

    def line(self, table: str, row_id: int) -> tuple[Cell, ...] | None:
        """Return the line with a number, without the number; None if there is none."""
        for _, *cells in self.c.execute(f"SELECT * FROM {table} WHERE id=?", (row_id,)).fetchall():
            return self._checked_line(table, row_id, cells)
        return None

    def _checked_line(self, table: str, row_id: Cell, cells: list[Cell]) -> tuple[Cell, ...]:
        """Verify the checksum at the end of a line's cells, and return the other cells."""
        if cells.pop() != format_line_hash(table, row_id, cells):
            raise UnreadableError
        self._read[table, row_id] = tuple(cells)
        return self._read[table, row_id]

    def write(self, table: str, row_id: int | None, *cells: Cell) -> int:
        """Replace a line that was read, or add one if `row_id` is None; return its number."""
        if row_id is None:
            ((last,),) = self.c.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchall()
            row_id = parse_count(last) + 1
        else:
            self.total -= line_hash(table, row_id, self._read[table, row_id])
        self.total = (self.total + line_hash(table, row_id, cells)) % MODULUS
        marks = ",".join("?" * (len(cells) + 2))
        self.c.execute(
            f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (row_id, *cells, format_line_hash(table, row_id, cells))
        )
        self._read[table, row_id], self.changed = cells, True
        return row_id

    def clear(self, secret: bytes) -> None:
        """Delete all lines of the ledger, and set the secret of the emptied file."""
        for table in LINES:
            self.c.execute(f"DELETE FROM {table}")
        self._read.clear()
        self.total, self.secret, self.changed = 0, secret_check(secret), True

    def seal(self) -> None:
        """Write the ledger's number of changes and new checksum, if a line changed."""
        if self.changed:
            self.count += 1
            head: list[Cell] = [*self.state, self.secret]
            self.c.execute("REPLACE INTO head VALUES (1,?,?,?,?)", [*head, format_line_hash("head", 1, head)])


def versions(c: sqlite3.Connection) -> list[int]:
    """Return the application id and the format version of a ledger file (connection `c`)."""
    return [c.execute(f"PRAGMA {it}").fetchone()[0] for it in ("application_id", "user_version")]


def table_definitions(c: sqlite3.Connection) -> dict[str, str]:
    """Return the CREATE statements of all tables, indices, views and triggers, by name."""
    return dict(c.execute("SELECT name, sql FROM sqlite_schema").fetchall())


def line_hash(table: str, row_id: Cell, cells: tuple[Cell, ...] | list[Cell]) -> int:
    """Return the checksum of a line as a number; `cells` are its values without the checksum."""
    words = repr((table, row_id, *cells)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(words).digest(), "big")


def format_line_hash(table: str, row_id: Cell, cells: tuple[Cell, ...] | list[Cell]) -> str:
    """Return the checksum of a line as text; `cells` are its values without the checksum."""
    return f"{line_hash(table, row_id, cells):064x}"


def secret_check(secret: bytes) -> str:
    """Return a hash of the secret, by which a ledger recognizes it."""
    return hmac.digest(secret, b"dpcore ledger", "sha256").hex()


def round_up(total: Epsilon) -> Epsilon:
    """Round a loss up to a multiple of 2^-100, so that sums of many losses stay short as text."""
    return total if isinstance(total, float) else Fraction(ceil(total * UNIT), UNIT)


def format_epsilon(epsilon: Epsilon) -> str:
    """Return a loss (epsilon or rho) as text for the ledger file: a fraction, or "inf"."""
    return "inf" if epsilon == inf else str(Fraction(epsilon))


def parse_epsilon(written: object) -> Epsilon:
    """Parse a loss (epsilon or rho) from its text in the ledger file, such as "3/4" or "inf"."""
    if not isinstance(written, str) or not re.fullmatch(r"[0-9]{1,400}(/[1-9][0-9]{0,99})?|inf", written):
        raise UnreadableError
    return inf if written == "inf" else Fraction(written)


def parse_count(written: object) -> int:
    """Return a count from a cell of the ledger file; UnreadableError if it is no count."""
    if not isinstance(written, int) or written < 0:
        raise UnreadableError
    return written


def parse_time(written: object) -> datetime:
    """Parse a time from its text in the ledger file; UnreadableError if invalid."""
    try:
        return datetime.fromisoformat(str(written))
    except ValueError:
        raise UnreadableError from None
