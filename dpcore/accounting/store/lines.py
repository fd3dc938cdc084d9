"""The lines of the books: what accounts and runs say, what a charge makes of them, and what caps and deltas refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from math import inf
from typing import Any

from dpcore import text as texts
from dpcore.accounting.currency import PURE, Amount, Currency, rho_of_pure
from dpcore.accounting.ledger import Spent, Totals
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation
from dpcore.accounting.store.sheet import Cell, Sheet, UnreadableError, known, number, rounded, text, whole
from dpcore.errors import BudgetError, ParameterError

NOTHING: tuple[Cell, ...] = ("0", "0", "0", 0, "")  # claimed, of the noise, proved, looks, void


@dataclass(frozen=True)
class Line(Spent):
    """What was spent under one relation on one data set, in one run or altogether; `looks` counts releases."""

    key: str
    relation: Relation
    name: str
    totals: Totals
    looks: int
    void: str
    currency: Currency = field(default=PURE, kw_only=True)

    @property
    def file(self) -> str:
        """What the data are called here, whomever runs protected."""
        return file_of(self.key)

    @property
    def protects(self) -> ProtectedUnit:
        """Whose its epsilons are."""
        return "row" if self.key == self.file else "person"


@dataclass(frozen=True)
class Run(Line):
    """One run; `name` is its purpose."""

    begun: datetime


@dataclass(frozen=True)
class Account(Line):
    """All runs on one data set under one relation of which something can be proved; `cap` refuses what exceeds it.

    `apart`: how many releases are of other runs; `void`: why nothing can be proved of those, where it is known.
    """

    cap: Epsilon | None
    apart: int = 0


def account_of(sheet: Sheet, key: str, relation: Relation, currency: Currency) -> tuple[Any, ...]:
    """An account's number, name, what was spent, and cap; no number if there is none yet."""
    for place, known_key, known_relation, *rest in sheet.lines("accounts"):
        if (known_key, known_relation) == (key, counted(relation, currency)):
            return place, *rest
    return None, "", *NOTHING, None


def file_of(key: str) -> str:
    """The data set of an account, whomever it protects."""
    return key.partition("+")[0]


def counted(relation: Relation, currency: Currency) -> str:
    """A relation as the file says it, with the delta where rho is counted.

    Earlier versions of this package know no such relation, and so refuse a file that they would misread.
    """
    return f"{relation} {currency.delta!r}" if currency.delta else str(relation)


def known_count(written: Cell) -> tuple[Relation, Currency]:
    """What `counted` wrote."""
    relation, _, delta = str(written).partition(" ")
    try:
        return known(relation), Currency.of(float(delta or 0))
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


def price(spent: Line, whom: Line) -> Amount:
    """What was spent on one account of a file, for whom another account of that file and relation protects.

    In the other account's currency: what all runs in epsilon come to is half its square in rho, and what is spent of
    rho no pure epsilon covers.

    Where runs protect persons, tables that differ by one row are neighbors (`replace`), or each is a neighbor of the
    table without that row's person (`add_remove`), so a row pays once, or twice. What runs on rows cost a person hangs
    on how many rows that person has, which no account knows; other columns name other persons.
    """
    paid = spent.totals.bound
    if not paid:
        return paid
    if spent.key != whom.key:
        if whom.protects == "person":
            return inf
        paid *= 1 if whom.relation is Relation.REPLACE else spent.currency.rows(2)
    if spent.currency.unit == whom.currency.unit:
        return paid
    return rho_of_pure(paid) if whom.delta else inf


def refuse(capped: Account, accounts: Sequence[Account], void: str, *, proved: bool) -> None:
    """BudgetError if an account's cap is exceeded by what it and others of its file have spent.

    `proved`: whether anything can be proved of the run that asks; if not, any cap is exceeded, `void` may say why.
    """
    beside = [line for line in accounts if (line.file, line.relation) == (capped.file, capped.relation)]
    prices = [price(line, capped) for line in beside]
    total = sum(prices, start=Fraction(0)) if proved else inf
    if capped.cap is None or total <= capped.currency.amount(capped.cap):
        return
    told = f"The budget of {capped.name!r} is capped at {float(capped.cap):g}, and"
    if void:
        raise BudgetError(
            f"{told} of this run nothing can be proved: {void}",
            "It was not answered. Use no seed and a schema that was declared, or remove the cap on the page Ledger.",
        )
    if proved and not capped.delta and any(line.delta and line.totals.bound for line in beside):
        raise BudgetError(
            f"{told} what runs with a delta can cost no pure epsilon covers.",
            "It was not answered. Cap the account with the delta instead, and remove this cap on the page Ledger.",
        )
    if proved and any(line.totals.bound < cost == inf for line, cost in zip(beside, prices, strict=True)):
        raise BudgetError(
            f"{told} runs on the same file that protect rows, or other persons, have no price for these persons.",
            "It was not answered. Declare whose rows they are as before, or remove the cap on the page Ledger.",
        )
    at = f" at delta {capped.delta:g}" if capped.delta else ""
    needs = f"a total of epsilon {texts.number(capped.currency.epsilon(total))}{at}"
    needs = needs if total < inf else "more than any epsilon"
    way = "Ask for less, or raise the cap" if total < inf else "No cap allows that: remove it"
    raise BudgetError(
        f"A query needs {needs} for {capped.name!r}, whose budget is capped at {float(capped.cap):g}.",
        f"It was not answered. {way} on the page Ledger.",
    )


def accounts_of(sheet: Sheet) -> list[Account]:
    """All accounts. A line adds up all runs; where that is infinite, those that are not are added up here."""
    lines = sheet.lines("accounts")
    infinite = {place for place, _, _, _, *spent, _ in lines if number(spent[2]) == inf}
    runs = sheet.lines("runs") if infinite else []
    accounts = []
    for place, key, relation, name, *spent, cap in lines:
        told, currency = known_count(relation)
        totals, looks, void = read(spent)
        parts = [read(paid) for _, _, account, _, _, *paid in runs if account == place and place in infinite]
        proved = [part for part in parts if part[0].bound < inf]
        apart = sum(many for _, many, _ in parts) - sum(many for _, many, _ in proved)
        if apart:
            totals = sum_of([part for part, _, _ in proved])
        limit = None if cap is None else number(cap)
        line = str(key), told, str(name), totals, looks - apart, void, limit, apart
        accounts.append(Account(*line, currency=currency))
    return accounts


def sum_of(parts: Sequence[Totals]) -> Totals:
    """Totals together."""
    return Totals(*(sum(each, start=Fraction(0)) for each in zip(Totals(), *parts, strict=True)))


def growth(old: Epsilon, new: Epsilon) -> Epsilon:
    """What comes to the books when a ledger's total grows; totals may be infinite."""
    return Fraction(0) if new == old else rounded(new) - rounded(old)


def more(before: Sequence[Cell], spent: Totals, looks: int, void: str) -> tuple[Cell, ...]:
    """What a line says after a charge."""
    *sums, was_looks, was_void = before
    told = str(was_void) if void in str(was_void) else f"{was_void} {void}".strip()
    return (*(text(number(a) + b) for a, b in zip(sums, spent, strict=True)), whole(was_looks) + looks, told)


def read(spent: Sequence[Cell]) -> tuple[Totals, int, str]:
    """What a line says."""
    *sums, looks, void = spent
    return Totals(*map(number, sums)), whole(looks), str(void)
