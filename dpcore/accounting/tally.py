"""Totals that rise together: one lock for a whole tree of them, caps at every level, and nothing that is not counted.

What is drawn is booked before. A rise, by any thread, is checked against the caps of all levels, written down where
some level keeps a file, and counted, as one step. What nobody could count is refused: a rise in another process, in a
copy, or in what is closed; and copies of what is not. What is closed is a record, and may be copied.

Nothing can be proved of what is void: its bound is infinite as soon as it counts anything, and so is that of all levels
above, by every rule of composition. A part that is void and counts nothing costs nothing.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol, Self

from dpcore.accounting.currency import PURE, Amount, Currency
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import is_whole
from dpcore.errors import BudgetError, ParameterError
from dpcore.text import claim, number

EPSILONS = ("epsilon_claimed", "epsilon_nominal", "epsilon_bound")
Price = Callable[[Epsilon], Epsilon]

ELSEWHERE = (
    "Stay in this process (n_jobs=1, or threads), or let every process charge a `dpcore.persistent_ledger` of its own."
)


class Totals(NamedTuple):
    """What is claimed, what the noise alone would give, and what can be proved, exactly and in one currency."""

    claimed: Epsilon = Fraction(0)
    of_noise: Epsilon = Fraction(0)
    bound: Epsilon = Fraction(0)


@dataclass(frozen=True)
class Prices:
    """What the level above counts for a claim, and for what noise costs."""

    claimed: Price = exact
    bound: Price = exact

    def of(self, totals: Totals) -> Totals:
        """What is counted above for these totals."""
        found = self.claimed(totals.claimed), self.bound(totals.of_noise), self.bound(totals.bound)
        return Totals(*(math.inf if math.isinf(before) else paid for before, paid in zip(totals, found, strict=True)))


class HasTotals(Protocol):
    """A line of the books, or a ledger, whose totals nobody sets."""

    @property
    def totals(self) -> Totals:
        """Claimed, of the noise, and proved, as exact numbers."""

    @property
    def currency(self) -> Currency:
        """What they count."""


class Spent:
    """What `HasTotals`, as numbers for people: epsilons, which hold at `delta` where that is not 0."""

    @property
    def epsilon_claimed(self: HasTotals) -> float:
        """What the methods' sources say was spent, in epsilon."""
        return self.currency.epsilon(self.totals.claimed)

    @property
    def epsilon_nominal(self: HasTotals) -> float:
        """What the noise alone that was drawn costs, in epsilon, if nothing else gives it away."""
        return self.currency.epsilon(self.totals.of_noise)

    @property
    def epsilon_bound(self: HasTotals) -> float:
        """The smallest epsilon that can be proved of what was spent; infinite where none can."""
        return self.currency.epsilon(self.totals.bound)

    @property
    def epsilon_text(self: HasTotals) -> str:
        """The three epsilons, for people."""
        claimed, nominal, bound = map(self.currency.epsilon, self.totals)
        at = f" at delta = {self.currency.delta:g}" if self.currency.delta else ""
        proven = "cannot be proven" if math.isinf(bound) else f"proven at most {number(bound)}{at}"
        return f"epsilon claimed: {claim(claimed)}, nominal: {number(nominal)}, {proven}"

    @property
    def delta(self: HasTotals) -> float:
        """The delta at which these epsilons hold; 0 for pure ones."""
        return self.currency.delta


class Tally(Spent):
    """One level of a tree of totals; cap and plan are amounts in its currency."""

    def __init__(self, name: str, cap: Amount | None, plan: Amount | None, currency: Currency = PURE) -> None:
        self.name, self.currency = name, currency
        self.cap = None if cap is None else exact(cap)
        self.plan = None if plan is None else exact(plan)
        self.status: Literal["open", "finished", "stopped"] = "open"
        self._reasons: tuple[str, ...] = ()  # why it is void
        self._parent: Tally | None = None
        self._rule: Literal["sequential", "parallel"] = "sequential"
        self._prices = Prices()  # what the level above counts
        self._of_parts = Prices()  # what this group counts for its parts
        self._recorded: Totals | None = None  # what the level above counted, of a record
        self._items: list[Any] = []  # tallies below, and what was charged here
        self._totals = Totals()
        self._lock = threading.RLock()  # of the whole tree
        self._process = os.getpid()

    @property
    def totals(self) -> Totals:
        """The claimed, the nominal and the proven loss, as exact numbers in the privacy measure."""
        return self._totals

    @property
    def above(self) -> Totals:
        """What the level above counts for it."""
        return self._recorded or self._prices.of(self._totals)

    @property
    def epsilons(self) -> dict[str, Any]:
        """The three epsilons and `void`, by their names, for a row of a frame."""
        return {name: getattr(self, name) for name in EPSILONS} | {"void": self.guarantee_void}

    @property
    def guarantee_void(self) -> str:
        """Why the epsilons guarantee nothing (a known seed, an inferred schema); else empty.

        The reasons of this ledger, of those above it, and of those below that were charged.
        """
        return " ".join(dict.fromkeys([*self._reasons_above(), *self._reasons_below()]))

    def void_because(self, reason: str) -> None:
        """Record why nothing can be proved of what is charged here, best before the first charge.

        What was charged before is infinite from now on, here, above and in the file; no cap can
        undo what was drawn.

        Parameters
        ----------
        reason : str
            A sentence, such as "The seed of the noise is known."

        Raises
        ------
        ParameterError
            If the reason is blank.
        """
        if not reason.strip():
            raise ParameterError("There is no reason given.", "Say in a sentence why nothing can be proved.")
        with held(self):
            if reason in self._reasons:
                return
            self._reasons += (reason,)
            if self._asked:
                self._rise(self._totals._replace(bound=math.inf), drawn=True)
                self._lose()

    def close(self, *, finished: bool = True) -> None:
        """Refuse all further charges here and below: from now on this is a record.

        It may be copied then.

        Parameters
        ----------
        finished : bool, default=True
            Whether the run came to its end: `status` is then "finished", otherwise "stopped".
        """
        with held(self):
            self.status = "finished" if finished else "stopped"

    def _charge(self, items: Sequence[Any], cost: Totals) -> None:
        with held(self):
            self._usable()
            cost = cost._replace(bound=math.inf) if self._reasons_above() else cost
            self._rise(Totals(*map(sum, zip(self._totals, cost, strict=True))))
            self._items += items

    def _join(self, part: Tally) -> None:
        """Take a new tally, or one that stood alone, as a part: what it counts already counts from now on."""
        with held(self, part):
            self._usable()
            if part in self._upward():
                raise ParameterError("A ledger cannot be a part of itself.", "Attach another one.")
            if part._parent is not None:
                raise ParameterError(
                    f"{part.name!r} is a part of {part._parent.name!r} already.", "Attach that one, or a new ledger."
                )
            lost = part._asked and bool(self._reasons_above())
            if part._asked:
                spent = part._totals._replace(bound=math.inf) if lost else part._totals
                self._rise(self._with(part._prices, Totals(), spent), part.guarantee_void)
            if lost:
                part._lose()
            part._parent = self
            for one in part._downward():
                one._lock = self._lock
            self._items.append(part)

    def _lose(self) -> None:
        for node in self._downward():
            if node._asked:
                node._totals = node._totals._replace(bound=math.inf)

    def _rise(self, new: Totals, void: str = "", *, drawn: bool = False) -> None:
        """Take these totals, and those above, to what they become: checked, written down, then counted.

        What is `drawn` already is counted whatever the caps say, and even if it cannot be written down.
        """
        rising: list[tuple[Tally, Totals]] = [(self, new)]
        for node in self._upward():
            if node._parent is not None:
                new = node._parent._with(node._prices, node._totals, new)
                rising.append((node._parent, new))
        why = " ".join(dict.fromkeys(filter(None, [*self._reasons_above(), void])))
        try:
            for node, totals in rising:
                if not drawn:
                    node._check(totals, why)
            for node, totals in rising:
                node._write_down(totals, why, drawn=drawn)
            drawn = True
        finally:
            if drawn:
                for node, totals in rising:
                    node._totals = totals

    def _with(self, prices: Prices, old: Totals, new: Totals) -> Totals:
        """These totals once a part's go from old to new."""
        before, after = prices.of(old), prices.of(new)
        if self._rule == "parallel":
            return Totals(*map(max, self._totals, after))
        grown = zip(self._totals, before, after, strict=True)
        return Totals(*(math.inf if math.isinf(now) else total + (now - was) for total, was, now in grown))

    def _check(self, new: Totals, void: str) -> None:
        """BudgetError if these totals are too many."""
        if self.plan is not None and new.of_noise > self.plan:
            raise BudgetError(*refusal(new.of_noise, self.name, self.plan, "", self.currency))
        if self.cap is not None and new.bound > self.cap:
            raise BudgetError(*refusal(new.bound, self.name, self.cap, void, self.currency))

    def _write_down(self, new: Totals, void: str, *, drawn: bool) -> None:
        """Keep the totals that are about to be; raising here counts nothing (`store`)."""

    def _usable(self) -> None:
        if any(node.status != "open" for node in self._upward()):
            raise ParameterError(
                f"The ledger {self.name!r} is closed: its run is over, or it is a copy.", "Charge a new ledger."
            )

    @property
    def _asked(self) -> bool:
        return any(not isinstance(item, Tally) or item._asked for item in self._items)

    def _upward(self) -> Iterator[Tally]:
        node: Tally | None = self
        while node is not None:
            yield node
            node = node._parent

    def _downward(self) -> Iterator[Tally]:
        yield self
        for item in self._items:
            if isinstance(item, Tally):
                yield from item._downward()

    def _reasons_above(self) -> list[str]:
        return [reason for node in self._upward() for reason in node._reasons]

    def _reasons_below(self) -> Iterator[str]:
        for item in self._items:
            if isinstance(item, Tally) and item._asked:
                yield from (*item._reasons, *item._reasons_below())

    def __copy__(self) -> Self:
        return deepcopy(self)  # parts belong to one tree

    def __getstate__(self) -> dict[str, Any]:
        over = [node.status for node in self._upward() if node.status != "open"]
        if not over:
            raise ParameterError(
                f"The ledger {self.name!r} can be charged, so it cannot be copied or sent to another process: what is "
                "charged to the copy would be counted nowhere.",
                ELSEWHERE,
            )
        record = {**vars(self), "status": over[0], "_reasons": tuple(dict.fromkeys(self._reasons_above()))}
        record["_recorded"] = self.above
        return {name: kept for name, kept in record.items() if name not in OF_THE_TREE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Tally.__init__(self, "", None, None)
        vars(self).update(state)
        for node in self._downward():
            node._lock = self._lock
        for item in self._items:
            if isinstance(item, Tally):
                item._parent = self


# what a record has no use for
OF_THE_TREE = {"_parent", "_prices", "_of_parts", "_lock", "_process"}


@contextmanager
def held(*tallies: Tally) -> Iterator[None]:
    """Hold the locks of their trees, always in the same order; an adoption may change them while one waits."""
    for tally in tallies:
        # a fork; a lock that was held at that moment would never open here
        if tally._process != os.getpid():
            raise ParameterError(
                f"The ledger {tally.name!r} belongs to another process, which would not hear of this.", ELSEWHERE
            )
    while True:
        locks = {id(tally._lock): tally._lock for tally in tallies}
        with ExitStack() as stack:
            for _, lock in sorted(locks.items()):
                stack.enter_context(lock)
            if all(id(tally._lock) in locks for tally in tallies):
                yield
                return


def refusal(total: Amount, name: str, cap: Amount, void: str, currency: Currency = PURE) -> tuple[str, str]:
    """Why a cap lets a question not through, and what to do."""
    at = f" at delta {currency.delta:g}" if currency.delta else ""
    capped = f"{name!r} is capped at {currency.epsilon(cap):g}{at}"
    if not math.isinf(total):
        needs = f"A query needs a total of epsilon {number(currency.epsilon(total))}, but {capped}."
        return needs, "It was not answered. Ask for less, or raise the cap."
    if not void:
        needs = f"A query needs more than any epsilon, but {capped}."
        return needs, "It was not answered. No cap allows that: ask with noise, or remove the cap."
    return (
        f"{capped}, and of this run nothing can be proved: {void}",
        "It was not answered. Use no seed (random_state=None) and a declared schema, or a ledger without a cap.",
    )


def whole(value: object, what: str, *, least: int) -> int:
    """A whole number as an int; ParameterError if it is none, or too small."""
    if not is_whole(value, least):
        raise ParameterError(f"The {what} is no whole number of {least} or more.", f"Use one, such as {max(least, 1)}.")
    return int(value)
