"""What was ever spent on which data, in one SQLite file of the user's.

A session's `Ledger` knows what every question cost; the books know what all sessions together
spent, and survive them. Rows are known by the HMAC of their file's content, keyed with a secret
beside the ledger. There is one account per data set, neighboring relation, unit of protection
(rows, or the persons of a column) and currency (epsilon, or rho), because amounts of different ones
do not add up, and one line per run. A delta is chosen once for a data set, by the first run that
spends rho on it: another one is refused. Accounts of one file know each other: a cap counts what
the others cost whom its account protects (`price`). Runs of which nothing can be proved are told
apart: what is proved of all others stays true of those, and no total holds them; a cap refuses
them.

What is promised:

- Written before noise is drawn. A charge reaches the file, and the disk, before `Ledger.charge` returns, and nothing
  is drawn before that. If it cannot be written, BookError is raised and nothing is drawn.
- Never too little. A process that is killed leaves whole charges or none: SQLite's journal and file are synced at every
  commit. A charge whose answer was never drawn may stay on the books; the reverse cannot happen.
- Loss and damage are seen. Every line has a sum, the head has the sum of all and the number of changes, and a
  small file beside the ledger has them too (`file`): a file that was damaged, cut, or replaced by an older copy is
  an error, and not a smaller total. A ledger and its witness that are deleted, or put back, together go unnoticed.
- Several tabs and processes of one computer at once: read, check against the cap and write are one transaction.

Amounts of epsilon or rho are fractions, as text: totals rounded up to multiples of 2^-100; "inf"
where nothing can be proved. Caps are epsilons. The file holds no row, and no sum of rows that could
be tested by whoever lacks the secret (`datasets.Content`).
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

from dpcore import text as texts
from dpcore.accounting.currency import PURE, PrivacyLoss, PrivacyMeasure, rho_of_pure
from dpcore.accounting.ledger import Ledger, LossSummary, Totals
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation, exact
from dpcore.accounting.store.file import (
    Cell,
    LedgerFile,
    Sheet,
    UnreadableError,
    moment,
    number,
    round_up,
    text,
    whole,
)
from dpcore.arguments import check_arguments
from dpcore.errors import BookError, BudgetError, ParameterError

SESSION = "session"
NOTHING: tuple[Cell, ...] = ("0", "0", "0", 0, "")  # claimed, of the noise, proved, looks, void


class AccountedRows(Protocol):
    """What has an account: rows that know what they are called by whoever has a secret."""

    @property
    def name(self) -> str:
        """For people."""

    def key(self, secret: bytes, /) -> str:
        """The same whenever the same rows come."""


@dataclass(frozen=True)
class Line(LossSummary):
    """What was spent under one relation on one data set, in one run or altogether; `looks` counts releases."""

    key: str
    relation: Relation
    name: str
    totals: Totals
    looks: int
    void: str
    measure: PrivacyMeasure = field(default=PURE, kw_only=True)

    @property
    def file(self) -> str:
        """What the data are called here, whomever runs protected."""
        return file_of(self.key)

    @property
    def protects(self) -> ProtectedUnit:
        """Whose its epsilons are."""
        return "row" if self.key == self.file else "person"


@dataclass(frozen=True)
class StoredRun(Line):
    """One run; `name` is its purpose."""

    begun: datetime


@dataclass(frozen=True)
class Account(Line):
    """All runs on one data set under one relation of which something can be proved; `cap` refuses what exceeds it.

    `apart`: how many releases are of other runs; `void`: why nothing can be proved of those, where
    it is known.
    """

    cap: Epsilon | None
    apart: int = 0


class LedgerStore(LedgerFile):
    """What all sessions together spent."""

    def key(self, data: AccountedRows) -> str:
        """What these rows are called here: the same whenever the same file is read, by rows or by the same persons.

        Epsilons of rows and of persons do not add up, so they have accounts of their own; the
        file's name comes first.
        """
        key, column = data.key(self.secret()), describe_source(data)
        return f"{key}+{hmac.digest(self.secret(), column.encode(), 'sha256').hex()}" if column else key

    def called(self, data: AccountedRows) -> str:
        """The account of these rows for people."""
        column = describe_source(data)
        return f"{data.name}, persons of {column!r}" if column else data.name

    def begin(self, key: str, name: str, relation: Relation | str, purpose: str, delta: float = 0.0) -> OpenRun:
        """A new run, which has spent nothing yet; BudgetError if these data have another delta."""
        relation, measure = Relation.parse(relation), PrivacyMeasure.of(delta)
        with self.transaction() as sheet:
            refuse_delta(accounts_of(sheet), key, name, delta)
            row_id, _, *spent = account_of(sheet, key, relation, measure)
            row_id = sheet.write("accounts", row_id, key, format_relation(relation, measure), name, *spent)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            token = token_hex(16)  # numbers would begin again in a new file
            run = sheet.write("runs", None, token, row_id, purpose, now, *NOTHING)
        return OpenRun(self, run, token, relation, purpose, delta)

    def open_run(self, data: AccountedRows, relation: Relation | str, purpose: str, delta: float = 0.0) -> OpenRun:
        """A new run on the account of these rows."""
        return self.begin(self.key(data), self.called(data), relation, purpose, delta)

    def open_runs(
        self, methods: Mapping[str, Any], data: AccountedRows, purpose: str
    ) -> dict[str, Callable[[], Ledger]]:
        """By method, ledgers for runs in other processes, which write every charge down before it counts."""
        opened = ((label, one, f"{purpose}: {label}") for label, one in methods.items())
        return {label: self.open_run(data, one.relation, title, one.delta).ledger for label, one, title in opened}

    @property
    def sweeps(self) -> Path | None:
        """The folder beside the file in which finished runs of comparisons are kept; None if nothing is kept."""
        return self.path.parent / "sweeps" if self.kept else None

    def add(self, run: OpenRun, spent: Totals, looks: int, void: str, *, drawn: bool = False) -> None:
        """Write a charge down, on the disk when this returns; BudgetError, and nothing written, if a cap forbids it.

        What is `drawn` already, and has turned out to cost more, no cap forbids.
        """
        if not all(part >= 0 for part in (*spent, looks)):
            raise ValueError("a charge gives nothing back")
        with self.transaction(whole=False) as sheet:
            token, row_id, purpose, begun, *before = sheet.line("runs", run.place) or ("", 0, "", "")
            if token != run.token:
                raise BookError(f"The ledger {self.path} no longer has this run.", "Nothing was drawn. Run it again.")
            account = sheet.line("accounts", whole(row_id))
            if account is None:
                raise UnreadableError
            key, relation, name, *earlier, cap = account
            after = more(before, spent, looks, void)
            sheet.write("runs", run.place, token, row_id, purpose, begun, *after)
            sheet.write("accounts", whole(row_id), key, relation, name, *more(earlier, spent, looks, void), cap)
            if not drawn:
                accounts, (words, measure) = accounts_of(sheet), known_count(relation)
                refuse_delta(accounts, str(key), str(name), measure.delta)
                for one in accounts:
                    if one.file == file_of(str(key)) and one.relation == words:
                        refuse(one, accounts, void, proved=number(after[2]) < inf)

    def require_room(self, data: AccountedRows, relation: Relation | str, epsilon: float, delta: float = 0.0) -> None:
        """BudgetError if a cap forbids a run that can cost so much; else its last queries would be refused."""
        key, relation, measure = self.key(data), Relation.parse(relation), PrivacyMeasure.of(delta)
        added = Totals(bound=measure.loss_of(exact(epsilon)))
        run = Account(key, relation, self.called(data), added, 1, "", None, measure=measure)
        planned = [run]
        for one in self.accounts():
            if (one.key, one.relation, one.measure) == (key, relation, measure):
                bound = one.totals.bound + added.bound
                planned[0] = replace(one, totals=one.totals._replace(bound=bound))
            else:
                planned.append(one)
        try:
            for one in planned:
                if (one.file, one.relation) == (run.file, relation):
                    refuse(one, planned, "", proved=True)
        except BudgetError as error:
            cause = error.cause.replace("A query needs", "This run can need")
            raise BudgetError(cause, error.remedy.replace("It was not answered", "Nothing was drawn")) from None

    def accounts(self) -> list[Account]:
        """All accounts on which something was spent, or which have a cap; the oldest first."""
        with self.transaction(writes=False) as sheet:
            found = accounts_of(sheet)
            return [account for account in found if account.looks or account.apart or account.cap is not None]

    def account(self, key: str, relation: Relation | str, delta: float = 0.0) -> Account | None:
        """The account of one data set under one relation, if there is one."""
        account_key = key, Relation.parse(relation), PrivacyMeasure.of(delta)
        return next((line for line in self.accounts() if (line.key, line.relation, line.measure) == account_key), None)

    def runs(self, key: str, relation: Relation | str, delta: float = 0.0) -> list[StoredRun]:
        """The runs of one account that spent something, in order."""
        relation, measure = Relation.parse(relation), PrivacyMeasure.of(delta)
        with self.transaction(writes=False) as sheet:
            row_id, *_ = account_of(sheet, key, relation, measure)
            return [
                StoredRun(key, relation, str(purpose), *read(spent), moment(begun), measure=measure)
                for _, _, account, purpose, begun, *spent in sheet.lines("runs")
                if account == row_id and spent[3]
            ]

    def set_cap(self, key: str, name: str, relation: Relation | str, cap: float | None, delta: float = 0.0) -> None:
        """Refuse, from now on, what would take the account's provable epsilon above `cap`; None: nothing is refused."""
        relation, measure = Relation.parse(relation), PrivacyMeasure.of(delta)
        with self.transaction() as sheet:
            row_id, called, *spent, _ = account_of(sheet, key, relation, measure)
            words = None if cap is None else text(exact(cap))
            sheet.write("accounts", row_id, key, format_relation(relation, measure), called or name, *spent, words)


@dataclass(frozen=True)
class OpenRun:
    """A run that may be charged, by one ledger or several, in this process or in others: it can be pickled."""

    books: LedgerStore
    place: int
    token: str
    relation: Relation
    purpose: str
    delta: float = 0.0

    def ledger(self) -> StoredLedger:
        """A new ledger whose charges are written down as this run's."""
        return StoredLedger(self)


class StoredLedger(Ledger):
    """A ledger every charge of which is written in the books before it counts; not to be copied."""

    def __init__(self, run: OpenRun) -> None:
        super().__init__(run.relation, name=run.purpose, delta=run.delta)
        self.run, self._looks = run, 0

    def _write_down(self, new: Totals, void: str, *, drawn: bool) -> None:
        # a fit is a part; a question outside fits is a look of its own
        looks = max(len(self._items), self._looks, 1)
        added = Totals(*map(growth, self.totals, new))
        self.run.books.add(self.run, added, looks - self._looks, void, drawn=drawn)
        self._looks = looks


@check_arguments
def persistent_ledger(
    data: AccountedRows, relation: Relation | str, *, purpose: str = "Python", delta: float = 0.0
) -> Ledger:
    """Open a ledger for `fit(ledger=...)` that is written to a file before anything is drawn.

    All runs on the same rows, in any process, charge the same account. The file is the user's,
    where the page Ledger shows it; the environment variable DPCORE_LEDGER names another place.

    Parameters
    ----------
    data : datasets.Dataset
        The data set whose account is charged.
    relation : {"add_remove", "replace"}
        The relation of the methods that will charge it.
    purpose : str, default="Python"
        What the page Ledger calls this run.
    delta : float, default=0.0
        That of the methods that will charge it; 0 for pure epsilon.

    Returns
    -------
    Ledger
        Its charges, and the losses of earlier runs that count against the cap, are in the file.

    Raises
    ------
    BookError
        If the file cannot be read or written.
    BudgetError
        If another delta was chosen for these data before.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> ledger = dp.persistent_ledger(data, "add_remove", purpose="first try")
    >>> method = dp.IndependentMarginals(epsilon=0.5, relation="add_remove")
    >>> _ = method.fit(data.train, schema=data.schema, ledger=ledger)
    >>> round(ledger.epsilon_bound, 6)
    0.5
    """
    return LedgerStore(ledger_path()).open_run(data, relation, purpose, delta).ledger()


def describe_source(data: AccountedRows) -> str:
    """The column that says whose row it is, if persons are protected; else empty."""
    unit = getattr(getattr(data, "schema", None), "persons", None)
    return "" if unit is None else str(unit.id_column)


def ledger_path() -> Path | None:
    """The file that `$DPCORE_LEDGER` names, or the usual one; None for "session": nothing is kept."""
    account_key = os.environ.get("DPCORE_LEDGER", "")
    return None if account_key == SESSION else Path(account_key) if account_key else usual_path()


def usual_path() -> Path:
    """Where the file is if nobody says more: `$XDG_STATE_HOME/dpcore` or `~/.local/state/dpcore`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpcore" / "ledger.sqlite"


def account_of(sheet: Sheet, key: str, relation: Relation, measure: PrivacyMeasure) -> tuple[Any, ...]:
    """An account's number, name, what was spent, and cap; no number if there is none yet."""
    for row_id, known_key, known_relation, *rest in sheet.lines("accounts"):
        if (known_key, known_relation) == (key, format_relation(relation, measure)):
            return row_id, *rest
    return None, "", *NOTHING, None


def file_of(key: str) -> str:
    """The data set of an account, whomever it protects."""
    return key.partition("+")[0]


def format_relation(relation: Relation, measure: PrivacyMeasure) -> str:
    """A relation as the file says it, with the delta where rho is counted.

    Earlier versions of this package know no such relation, and so refuse a file that they would
    misread.
    """
    return f"{relation} {measure.delta!r}" if measure.delta else str(relation)


def known_count(written: Cell) -> tuple[Relation, PrivacyMeasure]:
    """What `format_relation` wrote."""
    relation, _, delta = str(written).partition(" ")
    try:
        return Relation.parse(relation), PrivacyMeasure.of(float(delta or 0))
    except (ValueError, ParameterError):
        raise UnreadableError from None


def refuse_delta(accounts: Sequence[Account], key: str, name: str, delta: float) -> None:
    """BudgetError if rho was spent on these data with another delta than is asked for."""
    others = {one.delta for one in accounts if one.file == file_of(key) and (one.looks or one.apart)} - {0.0, delta}
    if delta and others:
        chosen = min(others)
        raise BudgetError(
            f"The delta of {name!r} is {chosen:g}: it was chosen by the first run that had one, and stays.",
            f"Nothing was drawn. Use delta={chosen:g}, or 0 for pure epsilon.",
        )


def price(spent: Line, whom: Line) -> PrivacyLoss:
    """What was spent on one account of a file, for whom another account of that file and relation protects.

    In the other account's currency: what all runs in epsilon come to is half its square in rho, and
    what is spent of rho no pure epsilon covers.

    Where runs protect persons, tables that differ by one row are neighbors (`replace`), or each is
    a neighbor of the table without that row's person (`add_remove`), so a row pays once, or twice.
    What runs on rows cost a person hangs on how many rows that person has, which no account knows;
    other columns name other persons.
    """
    loss = spent.totals.bound
    if not loss:
        return loss
    if spent.key != whom.key:
        if whom.protects == "person":
            return inf
        loss *= 1 if whom.relation is Relation.REPLACE else spent.measure.rows(2)
    if spent.measure.unit == whom.measure.unit:
        return loss
    return rho_of_pure(loss) if whom.delta else inf


def refuse(capped: Account, accounts: Sequence[Account], void: str, *, proved: bool) -> None:
    """BudgetError if an account's cap is exceeded by what it and others of its file have spent.

    `proved`: whether anything can be proved of the run that asks; if not, any cap is exceeded,
    `void` may say why.
    """
    neighbors = [line for line in accounts if (line.file, line.relation) == (capped.file, capped.relation)]
    losses = [price(line, capped) for line in neighbors]
    total = sum(losses, start=Fraction(0)) if proved else inf
    if capped.cap is None or total <= capped.measure.loss_of(capped.cap):
        return
    words = f"The budget of {capped.name!r} is capped at {float(capped.cap):g}, and"
    if void:
        raise BudgetError(
            f"{words} of this run nothing can be proved: {void}",
            "It was not answered. Use no seed and a schema that was declared, or remove the cap on the page Ledger.",
        )
    if proved and not capped.delta and any(line.delta and line.totals.bound for line in neighbors):
        raise BudgetError(
            f"{words} no pure epsilon bounds what runs with a delta can cost.",
            "It was not answered. Cap the account with the delta instead, and remove this cap on the page Ledger.",
        )
    if proved and any(line.totals.bound < cost == inf for line, cost in zip(neighbors, losses, strict=True)):
        raise BudgetError(
            f"{words} runs on the same file protect rows, or other persons: their loss for these persons is not known.",
            "It was not answered. Declare the same id_column as before, or remove the cap on the page Ledger.",
        )
    at = f" at delta {capped.delta:g}" if capped.delta else ""
    needs = f"a total of epsilon {texts.number(capped.measure.epsilon(total))}{at}"
    needs = needs if total < inf else "more than any epsilon"
    way = "Ask for less, or raise the cap" if total < inf else "No cap allows that: remove it"
    raise BudgetError(
        f"A query needs {needs} for {capped.name!r}, whose budget is capped at {float(capped.cap):g}.",
        f"It was not answered. {way} on the page Ledger.",
    )


def accounts_of(sheet: Sheet) -> list[Account]:
    """All accounts. A line adds up all runs; where that is infinite, those that are not are added up here."""
    lines = sheet.lines("accounts")
    infinite = {row_id for row_id, _, _, _, *spent, _ in lines if number(spent[2]) == inf}
    runs = sheet.lines("runs") if infinite else []
    accounts = []
    for row_id, key, relation, name, *spent, cap in lines:
        words, measure = known_count(relation)
        totals, looks, void = read(spent)
        parts = [read(loss) for _, _, account, _, _, *loss in runs if account == row_id and row_id in infinite]
        proved = [part for part in parts if part[0].bound < inf]
        difference = sum(many for _, many, _ in parts) - sum(many for _, many, _ in proved)
        if difference:
            totals = Totals(*map(sum, zip(*(part for part, *_ in proved), strict=True)))
        limit = None if cap is None else number(cap)
        line = str(key), words, str(name), totals, looks - difference, void, limit, difference
        accounts.append(Account(*line, measure=measure))
    return accounts


def growth(old: Epsilon, new: Epsilon) -> Epsilon:
    """What comes to the books when a ledger's total grows; totals may be infinite."""
    return Fraction(0) if new == old else round_up(new) - round_up(old)


def more(before: Sequence[Cell], spent: Totals, looks: int, void: str) -> tuple[Cell, ...]:
    """What a line says after a charge."""
    *sums, was_looks, was_void = before
    words = str(was_void) if void in str(was_void) else f"{was_void} {void}".strip()
    return (*(text(number(a) + b) for a, b in zip(sums, spent, strict=True)), whole(was_looks) + looks, words)


def read(spent: Sequence[Cell]) -> tuple[Totals, int, str]:
    """What a line says."""
    *sums, looks, void = spent
    return Totals(*map(number, sums)), whole(looks), str(void)
