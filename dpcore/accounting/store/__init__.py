"""Persistent ledger: the privacy losses of all sessions, by data set, in one SQLite file.

A `Ledger` knows the losses of one session. The persistent ledger adds up those of all sessions. A
data set is identified by the HMAC of its file's content, keyed with a secret beside the ledger.
There is one account per data set, neighboring relation, privacy unit (rows, or the persons of a
column) and privacy measure (epsilon, or rho), because such losses do not add up. Each run has one
line. A data set has one delta, chosen by the first run in rho; runs with another delta are refused.
A cap on an account also counts what other accounts of the same file cost its privacy unit
(`cross_account_loss`). Runs with a void guarantee are counted separately: the totals of the other
runs stay proven. A cap refuses void runs.

Guarantees:

- Written before noise is drawn. A charge is on the disk before `Ledger.charge` returns, and no
  noise is drawn earlier. If the charge cannot be written, LedgerError is raised.
- Never too little. If a process is killed, each of its charges is in the file whole or not at all:
  SQLite's journal and file are synced at every commit. The file may have a charge whose answer was
  never drawn, but never lacks one whose answer was.
- Loss and damage are detected. Every line has a checksum. The head has the checksum of all lines
  and the number of changes, and so has a small witness file beside the ledger (`file`). A damaged,
  shortened or older file raises an error instead of reporting a smaller total. If ledger and
  witness are deleted, or replaced by older copies, together, nothing is detected.
- Several tabs and processes of one computer may write: reading, checking caps and writing are one
  transaction.

Losses in epsilon or rho are fractions, as text: totals rounded up to multiples of 2^-100; "inf"
where nothing can be proved. Caps are epsilons. The file contains no row, and no hash of rows that
could be tested without the secret (`datasets.Content`).
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
from dpcore.accounting.ledger import Ledger, LossSummary, Totals
from dpcore.accounting.privacy_measure import PURE, PrivacyLoss, PrivacyMeasure, rho_from_pure
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation, exact
from dpcore.accounting.store.file import (
    Cell,
    LedgerFile,
    LedgerTables,
    UnreadableError,
    format_epsilon,
    parse_count,
    parse_epsilon,
    parse_time,
    round_up,
)
from dpcore.arguments import check_arguments
from dpcore.errors import BudgetError, LedgerError, ParameterError

NOTHING: tuple[Cell, ...] = ("0", "0", "0", 0, "")  # claimed, nominal, proven loss; looks; void


class AccountedRows(Protocol):
    """A data set that has an account in the ledger file."""

    @property
    def name(self) -> str:
        """Name of the data set, for people."""

    def key(self, secret: bytes, /) -> str:
        """Return a keyed hash of the rows: the same for the same rows and secret."""


@dataclass(frozen=True)
class StoredTotals(LossSummary):
    """Totals of a run, or of all runs of one account; `looks` counts releases."""

    key: str
    relation: Relation
    name: str
    totals: Totals
    looks: int
    void: str
    measure: PrivacyMeasure = field(default=PURE, kw_only=True)

    @property
    def dataset_key(self) -> str:
        """Key of the data set in the ledger file, without the privacy unit."""
        return dataset_key(self.key)

    @property
    def protects(self) -> ProtectedUnit:
        """The protected unit of the epsilons: "row" or "person"."""
        return "row" if self.key == self.dataset_key else "person"


@dataclass(frozen=True)
class StoredRun(StoredTotals):
    """One run in the ledger file; `name` is its purpose."""

    start_time: datetime


@dataclass(frozen=True)
class Account(StoredTotals):
    """Totals of all runs of one data set, relation, privacy unit and measure that are not void.

    `cap` is the largest epsilon of the account; None if there is no cap. `void_looks` counts the
    releases of runs with a void guarantee, and `void` says why their guarantee is void, if that was
    recorded.
    """

    cap: Epsilon | None
    void_looks: int = 0


class LedgerStore(LedgerFile):
    """Ledger file with the accounts of all data sets and the runs of all sessions."""

    def key(self, data: AccountedRows) -> str:
        """Return the account key of a data set: equal for the same file and the same privacy unit.

        Epsilons of rows and of persons do not add up, so they have different keys. The part before
        "+" is the key of the file.
        """
        key, column = data.key(self.secret()), id_column_of(data)
        return f"{key}+{hmac.digest(self.secret(), column.encode(), 'sha256').hex()}" if column else key

    def account_name(self, data: AccountedRows) -> str:
        """Return the title of a data set's account, for people."""
        column = id_column_of(data)
        return f"{data.name}, persons of {column!r}" if column else data.name

    def start_run(self, key: str, name: str, relation: Relation | str, purpose: str, delta: float = 0.0) -> OpenRun:
        """Record a new run without charges; raise BudgetError if its data set has another delta.

        `key` is the account key, `name` the title of the data set, `purpose` the title of the run.
        """
        relation, measure = Relation.parse(relation), PrivacyMeasure.from_delta(delta)
        with self.transaction() as tables:
            refuse_delta(read_accounts(tables), key, name, delta)
            row_id, _, *spent = find_account(tables, key, relation, measure)
            row_id = tables.write("accounts", row_id, key, format_relation(relation, measure), name, *spent)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            token = token_hex(16)  # numbers would begin again in a new file
            run = tables.write("runs", None, token, row_id, purpose, now, *NOTHING)
        return OpenRun(self, run, token, relation, purpose, delta)

    def open_run(self, data: AccountedRows, relation: Relation | str, purpose: str, delta: float = 0.0) -> OpenRun:
        """Record a new run without charges on the account of a data set, and return it.

        `purpose` is the run's title. BudgetError if the data set has another delta (`start_run`).
        """
        return self.start_run(self.key(data), self.account_name(data), relation, purpose, delta)

    def open_runs(
        self, methods: Mapping[str, Any], data: AccountedRows, purpose: str
    ) -> dict[str, Callable[[], Ledger]]:
        """Record one run per method, and return by label the functions that make the runs' ledgers.

        `methods` has the methods by label; `purpose` is the beginning of each run's title, before
        the label. The functions can be sent to other processes; every charge is written to the file
        before it counts.
        """
        opened = ((label, one, f"{purpose}: {label}") for label, one in methods.items())
        return {label: self.open_run(data, one.relation, title, one.delta).ledger for label, one, title in opened}

    @property
    def sweeps(self) -> Path | None:
        """The folder beside the ledger file with finished runs of method comparisons.

        It is None for a temporary ledger file, with which nothing is kept.
        """
        return self.path.parent / "sweeps" if self.kept else None

    def add(self, run: OpenRun, spent: Totals, looks: int, void: str, *, drawn: bool = False) -> None:
        """Write a charge of a run to the disk; raise BudgetError instead if a cap forbids it.

        `spent` has the losses of the charge, `looks` its number of releases, `void` why its
        guarantee is void (empty if it is sound). With `drawn`, the noise was drawn before and its
        loss was found to be larger: no cap refuses it.
        """
        if not all(part >= 0 for part in (*spent, looks)):
            raise ValueError("a charge has a negative loss")
        with self.transaction(whole=False) as tables:
            token, row_id, purpose, begun, *before = tables.line("runs", run.row_id) or ("", 0, "", "")
            if token != run.token:
                raise LedgerError(f"The ledger {self.path} no longer has this run.", "No noise was drawn. Run again.")
            account = tables.line("accounts", parse_count(row_id))
            if account is None:
                raise UnreadableError
            key, relation, name, *earlier, cap = account
            after = add_to_line(before, spent, looks, void)
            tables.write("runs", run.row_id, token, row_id, purpose, begun, *after)
            total = add_to_line(earlier, spent, looks, void)
            tables.write("accounts", parse_count(row_id), key, relation, name, *total, cap)
            if not drawn:
                accounts, (words, measure) = read_accounts(tables), parse_relation(relation)
                refuse_delta(accounts, str(key), str(name), measure.delta)
                for one in accounts:
                    if one.dataset_key == dataset_key(str(key)) and one.relation == words:
                        refuse_over_cap(one, accounts, void, proved=parse_epsilon(after[2]) < inf)

    def require_room(self, data: AccountedRows, relation: Relation | str, epsilon: float, delta: float = 0.0) -> None:
        """Raise BudgetError if a planned run of loss `epsilon` on a data set would exceed a cap.

        Without this check, only the run's last queries would be refused.
        """
        key, relation, measure = self.key(data), Relation.parse(relation), PrivacyMeasure.from_delta(delta)
        added = Totals(bound=measure.loss_of(exact(epsilon)))
        run = Account(key, relation, self.account_name(data), added, 1, "", None, measure=measure)
        planned = [run]
        for one in self.accounts():
            if (one.key, one.relation, one.measure) == (key, relation, measure):
                bound = one.totals.bound + added.bound
                planned[0] = replace(one, totals=one.totals._replace(bound=bound))
            else:
                planned.append(one)
        try:
            for one in planned:
                if (one.dataset_key, one.relation) == (run.dataset_key, relation):
                    refuse_over_cap(one, planned, "", proved=True)
        except BudgetError as error:
            cause = error.cause.replace("A query needs", "This run can need")
            raise BudgetError(cause, error.remedy.replace("The query was not answered", "No noise was drawn")) from None

    def accounts(self) -> list[Account]:
        """Return all accounts that have charges or a cap, the oldest first."""
        with self.transaction(writes=False) as tables:
            return [one for one in read_accounts(tables) if one.looks or one.void_looks or one.cap is not None]

    def account(self, key: str, relation: Relation | str, delta: float = 0.0) -> Account | None:
        """Return the account of a key, relation and delta; None if there is none."""
        account_key = key, Relation.parse(relation), PrivacyMeasure.from_delta(delta)
        return next((line for line in self.accounts() if (line.key, line.relation, line.measure) == account_key), None)

    def runs(self, key: str, relation: Relation | str, delta: float = 0.0) -> list[StoredRun]:
        """Return the runs of one account that were charged, in order."""
        relation, measure = Relation.parse(relation), PrivacyMeasure.from_delta(delta)
        with self.transaction(writes=False) as tables:
            row_id, *_ = find_account(tables, key, relation, measure)
            return [
                StoredRun(key, relation, str(purpose), *parse_totals(spent), parse_time(begun), measure=measure)
                for _, _, account, purpose, begun, *spent in tables.lines("runs")
                if account == row_id and spent[3]
            ]

    def set_cap(self, key: str, name: str, relation: Relation | str, cap: float | None, delta: float = 0.0) -> None:
        """Set an account's largest proven epsilon; charges above it are refused. None: no cap.

        `key` is the account key. `name` is the title of an account that is new.
        """
        relation, measure = Relation.parse(relation), PrivacyMeasure.from_delta(delta)
        with self.transaction() as tables:
            row_id, title, *spent, _ = find_account(tables, key, relation, measure)
            limit = None if cap is None else format_epsilon(exact(cap))
            tables.write("accounts", row_id, key, format_relation(relation, measure), title or name, *spent, limit)


@dataclass(frozen=True)
class OpenRun:
    """A recorded run that ledgers can charge, in this process or others; it can be pickled."""

    store: LedgerStore
    row_id: int
    token: str
    relation: Relation
    purpose: str
    delta: float = 0.0

    def ledger(self) -> StoredLedger:
        """Return a new ledger whose charges are written to the ledger file as this run's."""
        return StoredLedger(self)


class StoredLedger(Ledger):
    """Ledger whose charges are written to the ledger file before they count; not copyable."""

    def __init__(self, run: OpenRun) -> None:
        """Open a ledger without charges for a recorded run."""
        super().__init__(run.relation, name=run.purpose, delta=run.delta)
        self.run, self._looks = run, 0

    def _persist(self, new: Totals, void: str, *, drawn: bool) -> None:
        # A fit is a part; a query outside fits is a release of its own
        """Write the totals `new` to the ledger file as a charge of the run, before they count.

        `void` is a reason why the guarantee is void. `drawn` says that the noise was drawn already.
        """
        looks = max(len(self._items), self._looks, 1)
        added = Totals(*map(increase, self.totals, new))
        self.run.store.add(self.run, added, looks - self._looks, void, drawn=drawn)
        self._looks = looks


@check_arguments
def persistent_ledger(
    data: AccountedRows, relation: Relation | str, *, purpose: str = "Python", delta: float = 0.0
) -> Ledger:
    """Open a ledger for `fit(ledger=...)` that is written to a file before noise is drawn.

    All runs on the same rows, in any process, charge the same account. The page Ledger of the
    dashboard shows the file; the environment variable DPCORE_LEDGER sets another path.

    Parameters
    ----------
    data : datasets.Dataset
        The data set whose account is charged.
    relation : {"add_remove", "replace"}
        The relation of the methods that will charge it.
    purpose : str, default="Python"
        The title of this run on the page Ledger.
    delta : float, default=0.0
        The delta of the methods that will charge it; 0 for pure epsilon.

    Returns
    -------
    Ledger
        The ledger. Earlier runs on the same data set count against the account's cap too.

    Raises
    ------
    LedgerError
        If the file cannot be read or written.
    BudgetError
        If an earlier run chose another delta for this data set.

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


def id_column_of(data: AccountedRows) -> str:
    """Return the column that names a row's person by the schema's privacy unit; "" without one."""
    unit = getattr(getattr(data, "schema", None), "persons", None)
    return "" if unit is None else str(unit.id_column)


def ledger_path() -> Path | None:
    """Return the ledger file's path: `$DPCORE_LEDGER`, or the usual path; None for "session".

    With "session" no file outlives the session.
    """
    path = os.environ.get("DPCORE_LEDGER", "")
    return None if path == "session" else Path(path) if path else usual_path()


def usual_path() -> Path:
    """Return the default path: in `$XDG_STATE_HOME/dpcore` or `~/.local/state/dpcore`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpcore" / "ledger.sqlite"


def find_account(tables: LedgerTables, key: str, relation: Relation, measure: PrivacyMeasure) -> tuple[Any, ...]:
    """Return an account's row number, name, totals and cap from the ledger file's tables.

    `key` is the account key. Without such an account the row number is None.
    """
    for row_id, known_key, known_relation, *rest in tables.lines("accounts"):
        if (known_key, known_relation) == (key, format_relation(relation, measure)):
            return row_id, *rest
    return None, "", *NOTHING, None


def dataset_key(key: str) -> str:
    """Return the part of a ledger account's key that identifies the data set."""
    return key.partition("+")[0]


def format_relation(relation: Relation, measure: PrivacyMeasure) -> str:
    """Return a relation as text for the file, with the delta if losses are counted in rho.

    Earlier versions of this package do not know a text with a delta, and refuse a file that they
    would misread.
    """
    return f"{relation} {measure.delta!r}" if measure.delta else str(relation)


def parse_relation(written: Cell) -> tuple[Relation, PrivacyMeasure]:
    """Return the relation and the privacy measure of a text that `format_relation` wrote."""
    relation, _, delta = str(written).partition(" ")
    try:
        return Relation.parse(relation), PrivacyMeasure.from_delta(float(delta or 0))
    except (ValueError, ParameterError):
        raise UnreadableError from None


def refuse_delta(accounts: Sequence[Account], key: str, name: str, delta: float) -> None:
    """Raise BudgetError if rho was spent on a data set with another delta than `delta`.

    `key` is the account key of the data set, `name` its title for the error.
    """
    charged = [one for one in accounts if one.dataset_key == dataset_key(key) and (one.looks or one.void_looks)]
    if delta and (others := {one.delta for one in charged} - {0.0, delta}):
        chosen = min(others)
        raise BudgetError(
            f"The first run with a delta set the delta of {name!r} to {chosen:g}, for good.",
            f"No noise was drawn. Use delta={chosen:g}, or 0 for pure epsilon.",
        )


def cross_account_loss(spent: StoredTotals, whom: StoredTotals) -> PrivacyLoss:
    """Return what the loss of one account, `spent`, costs the privacy unit of another, `whom`.

    Both accounts belong to the same file and relation. The loss is returned in the privacy measure
    of `whom`:

    - From epsilon to rho: half the square of epsilon. From rho to pure epsilon: infinite.
    - From persons to rows: under `replace`, a changed row changes the rows of one person. Under
      `add_remove`, data sets that differ by a row both differ from the data set without that row's
      person. So a row has the loss of one person, or of two.
    - From rows to persons: infinite, because no account knows how many rows a person has.
    - From persons of one column to persons of another column: infinite.
    """
    loss = spent.totals.bound
    if not loss:
        return loss
    if spent.key != whom.key:
        if whom.protects == "person":
            return inf
        loss *= 1 if whom.relation is Relation.REPLACE else spent.measure.group_factor(2)
    if spent.measure.unit == whom.measure.unit:
        return loss
    return rho_from_pure(loss) if whom.delta else inf


def refuse_over_cap(capped: Account, accounts: Sequence[Account], void: str, *, proved: bool) -> None:
    """Raise BudgetError if the accounts of one file exceed the cap of one of them, `capped`.

    `proved` says whether the guarantee of the current run is sound. If not, any cap is exceeded;
    `void` may say why.
    """
    neighbors = [one for one in accounts if (one.dataset_key, one.relation) == (capped.dataset_key, capped.relation)]
    losses = [cross_account_loss(line, capped) for line in neighbors]
    total = sum(losses, start=Fraction(0)) if proved else inf
    if capped.cap is None or total <= capped.measure.loss_of(capped.cap):
        return
    words = f"The budget of {capped.name!r} is capped at {float(capped.cap):g}, and"
    if void:
        raise BudgetError(
            f"{words} nothing can be proved about this run: {void}",
            "The query was not answered. Use no seed and a declared schema, or remove the cap on the page Ledger.",
        )
    if proved and not capped.delta and any(line.delta and line.totals.bound for line in neighbors):
        raise BudgetError(
            f"{words} no pure epsilon bounds the loss of runs with a delta.",
            "The query was not answered. On the page Ledger, cap the account with the delta, and remove this cap.",
        )
    if proved and any(line.totals.bound < cost == inf for line, cost in zip(neighbors, losses, strict=True)):
        raise BudgetError(
            f"{words} other runs on the same file protect rows or other persons: their loss for persons is unknown.",
            "The query was not answered. Declare the same id_column as before, or remove the cap on the page Ledger.",
        )
    at = f" at delta {capped.delta:g}" if capped.delta else ""
    needs = f"a total of epsilon {texts.number(capped.measure.epsilon(total))}{at}"
    needs = needs if total < inf else "more than any epsilon"
    way = "Lower epsilon, or raise the cap" if total < inf else "No cap allows that: remove the cap"
    raise BudgetError(
        f"A query needs {needs} for {capped.name!r}, whose budget is capped at {float(capped.cap):g}.",
        f"The query was not answered. {way} on the page Ledger.",
    )


def read_accounts(tables: LedgerTables) -> list[Account]:
    """Return all accounts in the ledger file; void runs are counted apart, in `void_looks`."""
    lines = tables.lines("accounts")
    infinite = {row_id for row_id, _, _, _, *spent, _ in lines if parse_epsilon(spent[2]) == inf}
    runs = tables.lines("runs") if infinite else []
    accounts = []
    for row_id, key, relation, name, *spent, cap in lines:
        words, measure = parse_relation(relation)
        totals, looks, void = parse_totals(spent)
        parts = [parse_totals(loss) for _, _, account, _, _, *loss in runs if account == row_id and row_id in infinite]
        proved = [part for part in parts if part[0].bound < inf]
        difference = sum(many for _, many, _ in parts) - sum(many for _, many, _ in proved)
        if difference:
            totals = Totals(*map(sum, zip(*(part for part, *_ in proved), strict=True)))
        limit = None if cap is None else parse_epsilon(cap)
        line = str(key), words, str(name), totals, looks - difference, void, limit, difference
        accounts.append(Account(*line, measure=measure))
    return accounts


def increase(old: Epsilon, new: Epsilon) -> Epsilon:
    """Return by how much a ledger's total grew, after rounding up; totals may be infinite."""
    return Fraction(0) if new == old else round_up(new) - round_up(old)


def add_to_line(before: Sequence[Cell], spent: Totals, looks: int, void: str) -> tuple[Cell, ...]:
    """Return the cells of a line in the ledger file after one more charge.

    `before` has the cells so far: losses, number of releases, void reason. `spent` has the losses
    of the charge, `looks` its number of releases, `void` why its guarantee is void.
    """
    *old, before_looks, known = before
    reason = str(known) if void in str(known) else f"{known} {void}".strip()
    sums = (format_epsilon(parse_epsilon(a) + b) for a, b in zip(old, spent, strict=True))
    return (*sums, parse_count(before_looks) + looks, reason)


def parse_totals(spent: Sequence[Cell]) -> tuple[Totals, int, str]:
    """Return the totals, number of releases and void reason from cells of the ledger file.

    `spent` has the cells: claimed, nominal and proven loss, number of releases, void reason.
    """
    *sums, looks, void = spent
    return Totals(*map(parse_epsilon, sums)), parse_count(looks), str(void)
