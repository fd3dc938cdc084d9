"""What was ever spent on which data, in one SQLite file of the user's.

A session's `Ledger` knows what every question cost; the books know what all sessions together spent, and survive them.
Rows are known by the HMAC of their file's content, keyed with a secret beside the ledger. There is one account per
data set and neighboring relation, because epsilons of different relations do not add up, and one line per run.

What is promised:

- Written before noise is drawn. A charge reaches the file, and the disk, before `Ledger.charge` returns, and nothing
  is drawn before that. If it cannot be written, BookError is raised and nothing is drawn.
- Never too little. A process that is killed leaves whole charges or none: SQLite's write-ahead log is synced at every
  commit. A charge whose answer was never drawn may stay on the books; the reverse cannot happen.
- Several tabs, processes and computers' programs at once: read, check against the cap and write are one transaction.

Epsilons are fractions, as text: totals rounded up to multiples of 2^-100; "inf" where nothing can be proved. The file
holds no row, and no sum of rows that could be tested by whoever lacks the secret (`datasets.Content`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, inf
from pathlib import Path
from secrets import token_hex

from dpcore import texts
from dpcore.books.file import BookFile, UnreadableError
from dpcore.datasets import Content, Dataset
from dpcore.errors import BookError, BudgetError
from dpcore.ledger import Ledger, Totals
from dpcore.relation import Epsilon, Relation, exact

__all__ = ["Account", "BookedLedger", "Books", "Line", "OpenRun", "Run", "usual_path"]

UNIT = 2**100


@dataclass(frozen=True)
class Line:
    """What was spent under one relation on one data set, in one run or altogether; `looks` counts releases."""

    key: str
    relation: Relation
    name: str
    claimed: Epsilon
    bound: Epsilon
    looks: int
    void: str

    @property
    def epsilon_claimed(self) -> float:
        """What the methods' sources say was spent."""
        return float(self.claimed)

    @property
    def epsilon_bound(self) -> float:
        """What can be proved that was spent; infinite where nothing can."""
        return float(self.bound)


@dataclass(frozen=True)
class Run(Line):
    """One run; `name` is its purpose."""

    begun: datetime


@dataclass(frozen=True)
class Account(Line):
    """All runs on one data set under one relation; `cap` refuses what would exceed it."""

    cap: Epsilon | None


class Books(BookFile):
    """What all sessions together spent."""

    def key(self, data: Dataset) -> str:
        """What these rows are called here: the same whenever the same file is read."""
        content = data.content or Content.of_rows(data.train, data.test)
        return content.keyed(self.secret())

    def begin(self, key: str, name: str, relation: Relation | str, purpose: str) -> OpenRun:
        """A new run, which has spent nothing yet."""
        relation = Relation.parse(relation)
        with self.transaction() as c:
            opened = (key, str(relation), name, "0", "0", 0, "")
            c.execute("INSERT INTO accounts VALUES (?,?,?,?,?,?,?,NULL) ON CONFLICT DO NOTHING", opened)
            c.execute("UPDATE accounts SET name=? WHERE sha256=? AND relation=?", (name, key, str(relation)))
            now = datetime.now(UTC).isoformat(timespec="seconds")
            token = token_hex(16)  # numbers would begin again in a new file
            run = (token, key, str(relation), purpose, now, "0", "0", 0, "")
            c.execute("INSERT INTO runs VALUES (NULL,?,?,?,?,?,?,?,?,?)", run)
            return OpenRun(self, token, relation, purpose)

    def add(self, run: str, claimed: Epsilon, bound: Epsilon, looks: int, void: str) -> None:
        """Write a charge down, on the disk when this returns; BudgetError, and nothing written, if a cap forbids it."""
        if not (claimed >= 0 and bound >= 0 and looks >= 0):
            raise ValueError("a charge gives nothing back")
        with self.transaction() as c:
            found = c.execute("SELECT sha256, relation, claimed, bound, looks, void FROM runs WHERE token=?", (run,))
            owner, relation, *spent = found.fetchone() or [None, None]
            place = (owner, relation)
            account = c.execute(
                "SELECT claimed, bound, looks, void, cap, name FROM accounts WHERE sha256=? AND relation=?", place
            ).fetchone()
            if account is None:
                raise BookError(f"The ledger {self.path} no longer has this run.", "Nothing was drawn. Run it again.")
            *before, cap, name = account
            total = number(before[1]) + bound
            if cap is not None and total > number(cap):
                needs = f"a total of epsilon {texts.number(float(total))}" if total < inf else "more than any epsilon"
                way = "Ask for less, or raise the cap" if total < inf else "No cap allows that: remove it"
                raise BudgetError(
                    f"This question needs {needs} for {name!r}, whose budget is capped at {float(number(cap)):g}.",
                    f"Nothing was drawn. {way} on the page Ledger.",
                )
            for table, where, old in (
                ("runs", "token=?", (spent, (run,))),
                ("accounts", "sha256=? AND relation=?", (before, place)),
            ):
                (was_claimed, was_bound, was_looks, was_void), where_at = old
                told = was_void if void in was_void else f"{was_void} {void}".strip()
                new = (
                    text(number(was_claimed) + claimed),
                    text(number(was_bound) + bound),
                    whole(was_looks) + looks,
                    told,
                )
                c.execute(f"UPDATE {table} SET claimed=?, bound=?, looks=?, void=? WHERE {where}", (*new, *where_at))

    def accounts(self) -> list[Account]:
        """All accounts on which something was spent, or which have a cap; the oldest first."""
        columns = "sha256, relation, name, claimed, bound, looks, void, cap"
        with self.transaction(writes=False) as c:
            rows = c.execute(
                f"SELECT {columns} FROM accounts WHERE looks != 0 OR cap IS NOT NULL ORDER BY rowid"
            ).fetchall()
            return [
                Account(sha, known(rel), name, number(a), number(b), whole(n), void, number(cap) if cap else None)
                for sha, rel, name, a, b, n, void, cap in rows
            ]

    def account(self, key: str, relation: Relation | str) -> Account | None:
        """The account of one data set under one relation, if there is one."""
        found = [line for line in self.accounts() if (line.key, line.relation) == (key, Relation.parse(relation))]
        return found[0] if found else None

    def runs(self, key: str, relation: Relation | str) -> list[Run]:
        """The runs of one account that spent something, in order."""
        columns = "sha256, relation, purpose, claimed, bound, looks, void, begun"
        with self.transaction(writes=False) as c:
            rows = c.execute(
                f"SELECT {columns} FROM runs WHERE sha256=? AND relation=? AND looks != 0 ORDER BY id",
                (key, str(Relation.parse(relation))),
            ).fetchall()
            return [
                Run(sha, known(rel), purpose, number(a), number(b), whole(n), void, moment(begun))
                for sha, rel, purpose, a, b, n, void, begun in rows
            ]

    def set_cap(self, key: str, name: str, relation: Relation | str, cap: float | None) -> None:
        """Refuse, from now on, what would take the account's provable total above `cap`; None: nothing is refused."""
        place = (key, str(Relation.parse(relation)))
        with self.transaction() as c:
            opened = (*place, name, "0", "0", 0, "")
            c.execute("INSERT INTO accounts VALUES (?,?,?,?,?,?,?,NULL) ON CONFLICT DO NOTHING", opened)
            told = None if cap is None else text(exact(cap))
            c.execute("UPDATE accounts SET cap=? WHERE sha256=? AND relation=?", (told, *place))


@dataclass(frozen=True)
class OpenRun:
    """A run that may be charged, by one ledger or several, in this process or in others: it can be pickled."""

    books: Books
    token: str
    relation: Relation
    purpose: str

    def ledger(self) -> BookedLedger:
        """A new ledger whose charges are written down as this run's."""
        return BookedLedger(self)


class BookedLedger(Ledger):
    """A ledger every charge of which is written in the books before it counts; not to be copied."""

    def __init__(self, run: OpenRun) -> None:
        super().__init__(run.relation, name=run.purpose)
        self.run, self._looks = run, 0

    def _write_down(self, new: Totals, void: str) -> None:
        looks = max(len(self._items), self._looks, 1)  # a fit is a part; a question outside fits is a look of its own
        old = self.totals
        added = (more(old.claimed, new.claimed), more(old.bound, new.bound), looks - self._looks)
        self.run.books.add(self.run.token, *added, void)
        self._looks = looks


def more(old: Epsilon, new: Epsilon) -> Epsilon:
    """What comes to the books when a ledger's total grows; totals may be infinite."""
    return Fraction(0) if new == old else rounded(new) - rounded(old)


def rounded(total: Epsilon) -> Epsilon:
    """The next multiple of 2^-100 from above: sums of a thousand shares would need ever more digits otherwise."""
    return total if isinstance(total, float) else Fraction(ceil(total * UNIT), UNIT)


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


def text(epsilon: Epsilon) -> str:
    """An epsilon as text."""
    return "inf" if epsilon == inf else str(Fraction(epsilon))


def usual_path() -> Path:
    """Where the file is if nobody says more: `$XDG_STATE_HOME/dpcore` or `~/.local/state/dpcore`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpcore" / "ledger.sqlite"
