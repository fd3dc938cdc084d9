"""The lines of the file within one transaction: each carries a sum of itself, and the head the sum of all.

A damaged, swapped or lost line no longer agrees with the sums. The head counts the changes, and the sum of all lines
after a change is the sum before it, less the lines that were replaced, plus those that replace them: what a chain of
all charges would be, without a file that grows with every charge. Nobody is kept from writing another file with sums of
its own: this is about accidents.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from datetime import datetime
from fractions import Fraction
from math import ceil, inf

from dpcore.accounting.relation import Epsilon, Relation

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


class UnreadableError(Exception):
    """The file holds something else than the books write."""


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
        c.execute("INSERT INTO head VALUES (1,?,?,?,?)", [*head, hexed("head", 1, head)])
        return cls(c)

    @property
    def state(self) -> State:
        """What the witness is told."""
        return self.count, f"{self.total:064x}"

    def check(self) -> None:
        """Compare every line with its sum, and all of them with the head."""
        if versions(self.c) != [APPLICATION, VERSION] or self.c.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise UnreadableError
        if sum(number_of(table, place, cells) for table in LINES for place, *cells in self.lines(table)) % MODULUS != (
            self.total
        ):
            raise UnreadableError

    def lines(self, table: str) -> list[tuple[Cell, ...]]:
        """The lines of a table in order, each with its number first."""
        found = self.c.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        return [(place, *self._compared(table, place, cells)) for place, *cells in found]

    def line(self, table: str, place: int) -> tuple[Cell, ...] | None:
        """One line, without its number."""
        for _, *cells in self.c.execute(f"SELECT * FROM {table} WHERE id=?", (place,)).fetchall():
            return self._compared(table, place, cells)
        return None

    def _compared(self, table: str, place: Cell, cells: list[Cell]) -> tuple[Cell, ...]:
        if cells.pop() != hexed(table, place, cells):
            raise UnreadableError
        self._read[table, place] = tuple(cells)
        return self._read[table, place]

    def write(self, table: str, place: int | None, *cells: Cell) -> int:
        """Replace a line that was read, or add one if it has no number yet; its number."""
        if place is None:
            ((last,),) = self.c.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchall()
            place = whole(last) + 1
        else:
            self.total -= number_of(table, place, self._read[table, place])
        self.total = (self.total + number_of(table, place, cells)) % MODULUS
        marks = ",".join("?" * (len(cells) + 2))
        self.c.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (place, *cells, hexed(table, place, cells)))
        self._read[table, place], self.changed = cells, True
        return place

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
            self.c.execute("REPLACE INTO head VALUES (1,?,?,?,?)", [*head, hexed("head", 1, head)])


def versions(c: sqlite3.Connection) -> list[int]:
    """Which program's file it is, and in which version."""
    return [c.execute(f"PRAGMA {it}").fetchone()[0] for it in ("application_id", "user_version")]


def tables(c: sqlite3.Connection) -> dict[str, str]:
    """What was made in a file, and how."""
    return dict(c.execute("SELECT name, sql FROM sqlite_schema").fetchall())


def number_of(table: str, place: Cell, cells: tuple[Cell, ...] | list[Cell]) -> int:
    """The sum of a line."""
    told = repr((table, place, *cells)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(told).digest(), "big")


def hexed(table: str, place: Cell, cells: tuple[Cell, ...] | list[Cell]) -> str:
    """The sum of a line as text."""
    return f"{number_of(table, place, cells):064x}"


def check_of(secret: bytes) -> str:
    """By what a ledger knows its secret again."""
    return hmac.digest(secret, b"dpcore ledger", "sha256").hex()


def rounded(total: Epsilon) -> Epsilon:
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


def known(relation: object) -> Relation:
    """A relation from its name."""
    if relation not in set(Relation):
        raise UnreadableError
    return Relation(str(relation))


def moment(written: object) -> datetime:
    """A time from its text."""
    try:
        return datetime.fromisoformat(str(written))
    except ValueError:
        raise UnreadableError from None
