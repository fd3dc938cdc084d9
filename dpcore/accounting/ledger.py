"""What a run can cost: every query of private rows, with the claimed epsilon and the proven one.

The ledger records events apart from how they compose (the idea is dp_accounting's). Three totals
stand in it: `epsilon_claimed`, what the method's source says that the queries satisfy;
`epsilon_nominal`, what the noise that was drawn would give alone; and `epsilon_bound`, the smallest
upper bound that can be proved. The last two are one number unless the ledger is void: with a known
seed or an inferred schema nothing can be proved, whatever the noise. In corrected mode claim and
noise are equal. Sums are exact (rational arithmetic).

A ledger counts pure epsilon, or, if it was given a `delta`, rho (zCDP). Entries and sums are then
of rho, and the three totals are the epsilons that these make at that delta, rounded up. One ledger
with all its parts has one privacy measure and one delta.

Composition lives here alone:

sequential   Queries about the same rows add up (Dwork and Roth 2014, Theorem 3.16).
parallel     Queries about disjoint *records* cost the largest of the parts (McSherry 2009, Theorem 4). One added or
             removed record touches one part. A *replaced* record may leave one part and enter another: when the parts
             are formed by the records' values, each of the two parts sees one record less or more, so the parts are
             charged under add_remove and the whole costs twice the largest. Parts formed by labels drawn independently
             of the values stay at the largest under both relations. Splitting attributes is not splitting records.
repeated     The same queries t times over: t times their loss.
of a person  Queries of rows, of which one person has k at most, cost that person k times as much: two data sets
             that differ by one person are k steps of one row apart (group privacy, Dwork and Roth 2014, Theorem 2.2).
             It holds for all that the queries come to together, samples and parallel parts included. Of rho it is
             k^2 times as much.
sampled      Queries about a secret random sample cost less than they would on all rows, and queries about a
             bootstrap sample more (`amplification`). In pure epsilon only.

Totals rise together: one lock for a whole tree of ledgers, caps at every level, and nothing that is
not counted. What is drawn is charged before. A rise, by any thread, is checked against the caps of
all levels, written down where some level keeps a file, and counted, as one step. What nobody could
count is refused: a rise in another process, in a copy, or in what is closed; and copies of what is
not. What is closed is a record, and may be copied.

Nothing can be proved of what is void: its bound is infinite as soon as it counts anything, and so
is that of all levels above, by every rule of composition. A part that is void and counts nothing
costs nothing.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import Any, Literal, NamedTuple, Protocol, Self

import pandas as pd

from dpcore.accounting.amplification import bootstrap_loss, poisson_inside
from dpcore.accounting.currency import PURE, PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation, exact
from dpcore.arguments import is_whole
from dpcore.errors import BudgetError, ParameterError
from dpcore.text import claim, finite_or_text, html_table, number

EPSILONS = ("epsilon_claimed", "epsilon_nominal", "epsilon_bound")
LossRule = Callable[[Epsilon], Epsilon]

ELSEWHERE = (
    "Stay in this process (n_jobs=1, or threads), or let every process charge a `dpcore.persistent_ledger` of its own."
)


class Totals(NamedTuple):
    """What is claimed, what the noise alone would give, and what can be proved, exactly and in one currency."""

    claimed: Epsilon = Fraction(0)
    of_noise: Epsilon = Fraction(0)
    bound: Epsilon = Fraction(0)


@dataclass(frozen=True)
class LossRules:
    """What the level above counts for a claim, and for what noise costs."""

    claimed: LossRule = exact
    bound: LossRule = exact

    def of(self, totals: Totals) -> Totals:
        """What is counted above for these totals."""
        found = self.claimed(totals.claimed), self.bound(totals.of_noise), self.bound(totals.bound)
        return Totals(*(math.inf if math.isinf(before) else loss for before, loss in zip(totals, found, strict=True)))


class HasTotals(Protocol):
    """A line of the books, or a ledger, whose totals nobody sets."""

    @property
    def totals(self) -> Totals:
        """Claimed, of the noise, and proved, as exact numbers."""

    @property
    def measure(self) -> PrivacyMeasure:
        """What they count."""


class LossSummary:
    """What `HasTotals`, as numbers for people: epsilons, which hold at `delta` where that is not 0."""

    @property
    def epsilon_claimed(self: HasTotals) -> float:
        """What the methods' sources say was spent, in epsilon."""
        return self.measure.epsilon(self.totals.claimed)

    @property
    def epsilon_nominal(self: HasTotals) -> float:
        """What the noise alone that was drawn costs, in epsilon, if nothing else gives it away."""
        return self.measure.epsilon(self.totals.of_noise)

    @property
    def epsilon_bound(self: HasTotals) -> float:
        """The smallest epsilon that can be proved of what was spent; infinite where none can."""
        return self.measure.epsilon(self.totals.bound)

    @property
    def epsilon_text(self: HasTotals) -> str:
        """The three epsilons, for people."""
        claimed, nominal, bound = map(self.measure.epsilon, self.totals)
        at = f" at delta = {self.measure.delta:g}" if self.measure.delta else ""
        proven = "cannot be proven" if math.isinf(bound) else f"proven at most {number(bound)}{at}"
        return f"epsilon claimed: {claim(claimed)}, nominal: {number(nominal)}, {proven}"

    @property
    def delta(self: HasTotals) -> float:
        """The delta at which these epsilons hold; 0 for pure ones."""
        return self.measure.delta


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question to the door. Its epsilons are for all `draws` together; where its `unit` is rho, they are of rho."""

    name: str  # what was asked, in the schema's terms
    mechanism: str  # laplace, geometric, exponential, … or "none" for raw access
    epsilon_claimed: Epsilon  # what the source claims
    epsilon_nominal: Epsilon  # what the noise that is drawn costs
    sensitivity: float  # the true one, under the ledger's relation
    claimed_sensitivity: float  # what the source says it is
    # of the noise, in the question's units (exponential mechanism: one over the exponent's factor)
    scale: float
    unit: Literal["epsilon", "rho"] = "epsilon"  # what the door priced it in
    draws: int = 1  # how many answers were drawn
    reason: str = ""  # why claim and noise differ, in words
    void: bool = False  # whether its ledger is void
    # Of counts, by the columns of the schema: how many values each table tells apart of which column.
    tables: tuple[tuple[tuple[str, int], ...], ...] = ()
    strata: tuple[str, ...] = ()  # columns that its rows were split by, a table for each value

    def __post_init__(self) -> None:
        try:
            for name in ("epsilon_claimed", "epsilon_nominal"):
                object.__setattr__(self, name, exact(getattr(self, name)))
            object.__setattr__(self, "draws", whole(self.draws, "number of draws", least=0))
        except ParameterError:
            raise ParameterError(
                "A privacy loss is negative or not a number.", "A ledger gives nothing back."
            ) from None

    @property
    def epsilon_bound(self) -> Epsilon:
        """What can be proved that it cost."""
        return math.inf if self.void else self.epsilon_nominal


class EntryFrame(pd.DataFrame):
    """Entries of a ledger, whose text has the first columns alone; parts of it are ordinary frames."""

    def __repr__(self) -> str:
        text = self.iloc[:, :3].to_string(max_rows=60, max_colwidth=43)
        return f"{text}\nQueries of disjoint rows do not add up: the ledger has the totals."


class Ledger(LossSummary):
    """Record of queries and their privacy losses under one neighboring relation.

    Any thread of its process may charge it. Losses are counted exactly, in its privacy measure:
    epsilon if `delta` is 0, and rho (zCDP) otherwise.

    Parameters
    ----------
    relation : Relation or {"add_remove", "replace"}
        Which data sets are neighbors.
    epsilon : float, optional
        A cap on `epsilon_bound`, 0 or more. A query that would exceed it raises BudgetError and is
        not recorded. No cap lets through what is void. Default: no cap.
    plan : float or Fraction, optional
        What a method means to draw, in the ledger's privacy measure: a cap on what the noise costs.
    name : str, default="run"
        For people.
    delta : float, default=0.0
        With 0 the ledger counts pure epsilon, otherwise rho, and its epsilons hold at this delta.

    Attributes
    ----------
    status : {"open", "finished", "stopped"}
        Whether it can be charged; if not, it is the record of a run that came to its end, or did
        not.

    Raises
    ------
    ParameterError
        If the relation is not known, or a number is outside what is allowed.

    Examples
    --------
    A ledger with a cap of 2 that two runs charge:

    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> ledger = dp.Ledger("add_remove", epsilon=2.0)
    >>> for method in (dp.IndependentMarginals(relation="add_remove"), dp.DiffPID3()):
    ...     _ = method.fit(data.train, schema=data.schema, ledger=ledger)
    >>> round(ledger.epsilon_claimed, 6), round(ledger.epsilon_bound, 6)
    (2.0, 2.0)
    """

    def __init__(
        self,
        relation: Relation | str,
        *,
        epsilon: Epsilon | None = None,
        plan: PrivacyLoss | None = None,
        name: str = "run",
        delta: float = 0.0,
    ) -> None:
        self.relation, self.name, self.measure = Relation.parse(relation), name, PrivacyMeasure.of(delta)
        self.cap = None if epsilon is None else self.measure.loss_of(epsilon)
        self.plan = None if plan is None else exact(plan)
        self.status: Literal["open", "finished", "stopped"] = "open"
        # The column that names whom its runs protect, "" for rows; None before any run.
        self.unit_column: str | None = None
        self._reasons: tuple[str, ...] = ()  # why it is void
        self._parent: Ledger | None = None
        self._rule: Literal["sequential", "parallel"] = "sequential"
        self._losses = LossRules()  # what the level above counts
        self._of_parts = LossRules()  # what this group counts for its parts
        self._recorded: Totals | None = None  # what the level above counted, of a record
        self._items: list[Entry | Ledger] = []  # parts, and what was charged here
        self._totals = Totals()
        self._lock = threading.RLock()  # of the whole tree
        self._process = os.getpid()

    def __repr__(self) -> str:
        void = " (guarantee void)" if self.guarantee_void else ""
        facts = f"{self.relation} one {self.protects}, {len(self.entries):,} entries, {self.status}"
        return f"Ledger({self.name!r}, {self.epsilon_text}{void}, {facts})"

    def _repr_html_(self) -> str:
        fits = [(fit.name, "", *fit.above[:2]) for fit in self.children]
        every = [(e.name, e.mechanism, e.epsilon_claimed, e.epsilon_nominal) for e in self.entries]
        parts = every if self.own_entries or len(fits) < 2 else fits
        rows = [(name, how, claim(float(c)), number(float(n))) for name, how, c, n in parts]
        unit = self.measure.unit
        header = ["entry or fit", "mechanism", f"{unit} claimed", f"{unit} nominal"]
        return html_table(f"{self!r} {self.guarantee_void}", header, rows, most=12)

    @property
    def totals(self) -> Totals:
        """The claimed, the nominal and the proven loss, as exact numbers in the privacy measure."""
        return self._totals

    @property
    def above(self) -> Totals:
        """What the level above counts for it."""
        return self._recorded or self._losses.of(self._totals)

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

    @property
    def entries(self) -> list[Entry]:
        """All queries, in order, those of children included."""
        return [entry for *_, entry in self._walk()]

    @property
    def own_entries(self) -> list[Entry]:
        """The queries that were charged to this ledger itself, in order."""
        void = bool(self._reasons_above())
        return [replace(item, void=True) if void else item for item in self._items if isinstance(item, Entry)]

    @property
    def children(self) -> list[Ledger]:
        """The ledgers directly under this one, in order."""
        return [item for item in self._items if isinstance(item, Ledger)]

    @property
    def in_parallel(self) -> bool:
        """Whether its children hold disjoint records, of which the largest loss counts."""
        return self._rule == "parallel"

    @property
    def protects(self) -> ProtectedUnit:
        """The protected unit of its epsilons: "row", or "person" with all rows."""
        return "person" if self.unit_column else "row"

    def set_privacy_unit(self, column: str | None) -> None:
        """Set whom the runs here protect, in this ledger and in all above it.

        Parameters
        ----------
        column : str or None
            The column that names a row's person; None if runs protect rows.

        Raises
        ------
        ParameterError
            If others were protected by what was charged here, or above.
        """
        with lock_trees(self):
            other = next((level for level in self._upward() if level.unit_column not in (None, column or "")), None)
            if other is not None:
                counts, counted = (
                    f"the persons of {id_column!r}" if id_column else "rows"
                    for id_column in (other.unit_column, column)
                )
                raise ParameterError(
                    f"The ledger {other.name!r} counts for {counts}, the run for {counted}.",
                    "Epsilons of rows, and of different persons, do not add up: keep a ledger for each.",
                )
            for level in self._upward():
                level.unit_column = column or ""

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
            raise ParameterError("No reason is given.", "Say in a sentence why nothing can be proved.")
        with lock_trees(self):
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
        with lock_trees(self):
            self.status = "finished" if finished else "stopped"

    def charge(self, *entries: Entry) -> None:
        """Charge queries *before* their answers are drawn: all of them, or none.

        Parameters
        ----------
        *entries : Entry
            The queries, priced in the ledger's privacy measure.

        Raises
        ------
        BudgetError
            If this ledger or one above it would exceed its cap. Nothing is recorded then.
        ParameterError
            If what is charged here could not be counted: this is a group, or closed, or another
            process's, or an entry is none or in another privacy measure.
        """
        self._refuse_group()
        if not all(isinstance(entry, Entry) for entry in entries):
            raise ParameterError("Only questions are charged.", "Pass Entry objects.")
        if any(entry.unit != self.measure.unit for entry in entries):
            raise ParameterError(
                f"{self.name!r} counts {self.measure}, and a question was priced otherwise.",
                "Ask it through a door of this ledger.",
            )
        if not entries:
            return
        claimed, loss = (sum((getattr(entry, name) for entry in entries), start=exact(0)) for name in EPSILONS[:2])
        cost = Totals(claimed, loss, loss)
        with lock_trees(self):
            self._usable()
            cost = cost._replace(bound=math.inf) if self._reasons_above() else cost
            self._rise(Totals(*map(sum, zip(self._totals, cost, strict=True))))
            self._items += entries

    def child(self, name: str, epsilon: Epsilon | None = None, *, plan: PrivacyLoss | None = None) -> Ledger:
        """Open a sequential part of this ledger: its losses add up with all others here.

        Parameters
        ----------
        name : str
            For people.
        epsilon : float or Fraction, optional
            A cap of its own. Default: those above it alone.
        plan : float or Fraction, optional
            A plan of its own, in the ledger's privacy measure.

        Returns
        -------
        Ledger
            The part, which has this ledger's relation and delta.
        """
        return self._new(self._part(name, epsilon=epsilon, plan=plan))

    def parallel(self, name: str, *, by: Literal["value", "label"], plainly_claimed: bool = False) -> Ledger:
        """Open a group whose parts (`part`) hold disjoint records: the largest part counts.

        Parameters
        ----------
        name : str
            For people.
        by : {"value", "label"}
            Whether the parts are formed by the records' values (public predicates or earlier noisy
            answers) or by labels drawn for each record independently of its values. See the module
            docstring for the difference.
        plainly_claimed : bool, default=False
            Whether the source claims the largest part's loss under replace as well.

        Returns
        -------
        Ledger
            The group. It takes no charge itself.

        Raises
        ------
        ParameterError
            If `by` is neither, or this ledger is a group itself.
        """
        if by not in ("value", "label"):
            raise ParameterError("A group cannot be divided in this way.", "Choose by='value' or by='label'.")
        twofold = by == "value" and self.relation is Relation.REPLACE
        group = self._part(name, Relation.ADD_REMOVE if twofold else self.relation)
        group._rule = "parallel"
        if twofold:  # a replaced record may leave one part, and enter another
            group._of_parts = replace(many_times(2), claimed=exact) if plainly_claimed else many_times(2)
        return self._new(group)

    def part(self, name: str) -> Ledger:
        """Open one part of a parallel group.

        Parameters
        ----------
        name : str
            For people.

        Returns
        -------
        Ledger
            The part.

        Raises
        ------
        ParameterError
            If this is no parallel group.
        """
        if not self.in_parallel:
            raise ParameterError("Only a parallel group has parts.", "Call parallel(…) first.")
        return self._new(Ledger(self.relation, name=name, delta=self.delta), self._of_parts)

    def share_of(self, epsilon: PrivacyLoss) -> PrivacyLoss:
        """Return what this part of a parallel group may spend for the group to cost `epsilon`.

        Parameters
        ----------
        epsilon : float or Fraction
            The group's loss, in the ledger's privacy measure.

        Returns
        -------
        Fraction or float
            The part's loss, in the ledger's privacy measure.

        Raises
        ------
        ParameterError
            If this is no part of a parallel group.
        """
        if self._parent is None or self._parent._rule != "parallel":
            raise ParameterError("This is no part of a parallel group.", "Ask one of its parts.")
        return exact(epsilon) / self._losses.bound(Fraction(1))

    def self_composed(self, name: str, times: int) -> Ledger:
        """Open a ledger of what is done several times over, with the same queries each time.

        Parameters
        ----------
        name : str
            For people.
        times : int
            How many times, 1 or more: what is charged in it counts so often.

        Returns
        -------
        Ledger
            The part.
        """
        return self._new(self._part(name), many_times(whole(times, "number of times", least=1)))

    def group(self, rows: int, *, plan: PrivacyLoss | None = None) -> Ledger:
        """Open a ledger of queries about rows, of which a person has several (group privacy).

        Parameters
        ----------
        rows : int
            The most rows of one person, 1 or more: k rows cost k epsilon, or k^2 rho. See the
            module.
        plan : float or Fraction, optional
            What may be drawn inside, in the ledger's privacy measure.

        Returns
        -------
        Ledger
            The part.
        """
        many = whole(rows, "number of rows", least=1)
        name = f"up to {many:,} rows of one person" if many > 1 else "one row of one person"
        return self._new(self._part(name, plan=plan), many_times(self.measure.rows(many)))

    def poisson_subsampled(self, name: str, rate: float, epsilon: Epsilon) -> Ledger:
        """Open a ledger of queries about a secret Poisson sample, at a loss of `epsilon` here.

        Below the plan it is counted in proportion. That is no less than the true loss, which is
        convex in what is spent inside and 0 at 0. Under replace the row that leaves and the row
        that comes cost one addition or removal each.

        Parameters
        ----------
        name : str
            For people.
        rate : float
            The probability of each row, in (0, 1].
        epsilon : float or Fraction
            The loss on all rows, finite.

        Returns
        -------
        Ledger
            The part; its `plan` is the larger epsilon that may be spent on the sample.

        Raises
        ------
        ParameterError
            If the rate or epsilon is out of range, or this ledger counts rho or is a group.
        """
        self._refuse_rho()
        cost = exact(epsilon)
        if math.isinf(cost) or not 0 < rate <= 1:
            raise ParameterError("The loss of this sample is not known.", "Use a rate in (0, 1] and a finite epsilon.")
        inside = poisson_inside(cost / self.relation.histogram_l1, rate)

        def price(loss: Epsilon) -> Epsilon:
            return cost * loss / inside if inside else exact(loss)

        return self._new(Ledger(Relation.ADD_REMOVE, plan=inside, name=name), LossRules(price, price))

    def bootstrap(self, name: str, rows: int) -> Ledger:
        """Open a ledger of queries about a bootstrap sample.

        It is for sources that claim what the queries would cost on the rows themselves.

        Parameters
        ----------
        name : str
            For people.
        rows : int
            The number of rows that the sample is drawn from, and has; 0 or more.

        Returns
        -------
        Ledger
            The part.
        """
        self._refuse_rho()
        size = whole(rows, "number of rows", least=0)
        losses = LossRules(bound=lambda loss: bootstrap_loss(loss, self.relation, size))
        return self._new(Ledger(self.relation, name=name), losses)

    def attach(self, ledger: Ledger) -> Ledger:
        """Make another ledger a part of this one: what it has spent counts here and above.

        Parameters
        ----------
        ledger : Ledger
            One of the same relation and delta that is not counted anywhere yet.

        Returns
        -------
        Ledger
            The same ledger.

        Raises
        ------
        BudgetError
            If that exceeds a cap. Nothing is changed then.
        ParameterError
            If it is counted in a ledger already, this one's among them, or has another relation or
            privacy measure.
        """
        self._refuse_group()
        if ledger.relation is not self.relation:
            raise ParameterError(
                f"{ledger.name!r} counts under {ledger.relation}, {self.name!r} under {self.relation}.",
                "Epsilons of different relations do not add up: keep two ledgers.",
            )
        if ledger.measure != self.measure:
            raise ParameterError(
                f"{ledger.name!r} counts {ledger.measure}, {self.name!r} {self.measure}.",
                "Losses in different privacy measures do not add up: keep two ledgers.",
            )
        if ledger.unit_column is not None:
            self.set_privacy_unit(ledger.unit_column)
        self._join(ledger)
        return ledger

    def _part(self, name: str, relation: Relation | None = None, **limits: PrivacyLoss | None) -> Ledger:
        self._refuse_group()
        return Ledger(relation or self.relation, name=name, delta=self.delta, **limits)

    def _new(self, ledger: Ledger, losses: LossRules | None = None) -> Ledger:
        ledger._losses = losses or ledger._losses
        self._join(ledger)
        return ledger

    def _refuse_group(self) -> None:
        if self.in_parallel:
            raise ParameterError(
                "A parallel group has no rows of its own: it counts the largest loss of its parts.",
                "Use one of its parts: part(…) makes one.",
            )

    def _refuse_rho(self) -> None:
        self._refuse_group()
        if self.delta:
            raise ParameterError("Amplification by sampling needs pure epsilon.", "Use delta=0, or ask all rows.")

    def _join(self, part: Ledger) -> None:
        """Take a new ledger, or one that stood alone, as a part: what it counts already counts from now on."""
        with lock_trees(self, part):
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
                self._rise(self._with(part._losses, Totals(), spent), part.guarantee_void)
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

        What is `drawn` already is counted whatever the caps say, and even if it cannot be written
        down.
        """
        rising: list[tuple[Ledger, Totals]] = [(self, new)]
        for node in self._upward():
            if node._parent is not None:
                new = node._parent._with(node._losses, node._totals, new)
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

    def _with(self, losses: LossRules, old: Totals, new: Totals) -> Totals:
        """These totals once a part's go from old to new."""
        before, after = losses.of(old), losses.of(new)
        if self._rule == "parallel":
            return Totals(*map(max, self._totals, after))
        grown = zip(self._totals, before, after, strict=True)
        return Totals(*(math.inf if math.isinf(now) else total + (now - was) for total, was, now in grown))

    def _check(self, new: Totals, void: str) -> None:
        """BudgetError if these totals are too many."""
        if self.plan is not None and new.of_noise > self.plan:
            raise BudgetError(*refusal(new.of_noise, self.name, self.plan, "", self.measure))
        if self.cap is not None and new.bound > self.cap:
            raise BudgetError(*refusal(new.bound, self.name, self.cap, void, self.measure))

    def _write_down(self, new: Totals, void: str, *, drawn: bool) -> None:
        """Keep the totals that are about to be; raising here counts nothing (`store`)."""

    def _usable(self) -> None:
        if any(node.status != "open" for node in self._upward()):
            raise ParameterError(
                f"The ledger {self.name!r} is closed: its run is over, or it is a copy.", "Charge a new ledger."
            )

    @property
    def _asked(self) -> bool:
        return any(not isinstance(item, Ledger) or item._asked for item in self._items)

    def _upward(self) -> Iterator[Ledger]:
        node: Ledger | None = self
        while node is not None:
            yield node
            node = node._parent

    def _downward(self) -> Iterator[Ledger]:
        yield self
        for part in self.children:
            yield from part._downward()

    def _reasons_above(self) -> list[str]:
        return [reason for node in self._upward() for reason in node._reasons]

    def _reasons_below(self) -> Iterator[str]:
        for part in self.children:
            if part._asked:
                yield from (*part._reasons, *part._reasons_below())

    def _walk(
        self, path: tuple[str, ...] = (), times: tuple[Epsilon, ...] = (1, 1)
    ) -> list[tuple[tuple[str, ...], Relation, tuple[Epsilon, ...], Entry]]:
        """Questions: scope, relation, how often they count in the totals (of what is claimed, of noise), and entry."""
        rows, void, parts = [], bool(self._reasons_above()), self.children
        dearest = [max(parts, key=lambda part: part.above[i]) for i in range(2)] if self.in_parallel and parts else []
        for item in self._items:
            if isinstance(item, Ledger):
                priced = zip(item.totals[:2], item.above[:2], strict=True)
                own = [above / within if within > 0 and above < math.inf else 1 for within, above in priced]
                own = [by if one is item else 0 for by, one in zip(own, dearest, strict=True)] if dearest else own
                rows += item._walk((*path, item.name) if item.name else path, tuple(map(mul, own, times)))
            else:
                rows.append((path, self.relation, times, replace(item, void=True) if void else item))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per query, in order.

        Printed, it shows the first three columns, in 80 characters; `list(frame)` names all.

        Its columns are the ledger's path (`path`), the fields of `Entry`, and the relation that it
        was charged under. Of a ledger that counts rho, `rho_claimed`, `rho_nominal` and `rho_bound`
        stand in the epsilons' place.
        """
        rows = [
            {
                **vars(entry),
                **{name: float(getattr(entry, name)) for name in EPSILONS},
                "scope": " / ".join(path),
                "relation": str(relation),
            }
            for path, relation, _, entry in self._walk()
        ]
        first = ["name", *EPSILONS[:2], "mechanism", EPSILONS[2], "draws", "void", "relation"]
        others = ["scale", "sensitivity", "claimed_sensitivity", "scope", "reason"]
        frame = pd.DataFrame(rows, columns=[*first, *others])
        return EntryFrame(frame.rename(columns=lambda name: name.replace("epsilon", self.measure.unit)))

    def breakdown(self) -> pd.DataFrame:
        """Return what each query adds to the totals.

        The columns are `name`, the claimed and the nominal loss, and `void`. One row per query that
        counts, in order. Of parallel parts only the largest counts; queries about one row of
        several that a person has, or that a replaced row may change twice, count as often. So
        columns have this ledger's totals as their sums, in its privacy measure, as `to_frame` names
        it.
        """
        rows = [
            (entry.name, weigh(by, entry.epsilon_claimed), weigh(noise, entry.epsilon_nominal), entry.void)
            for *_, (by, noise), entry in self._walk()
            if by or noise
        ]
        frame = pd.DataFrame(rows, columns=["name", *EPSILONS[:2], "void"])
        return frame.rename(columns=lambda name: name.replace("epsilon", self.measure.unit))

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger as JSON-ready values; infinite numbers become the text "infinity"."""
        return {
            "name": self.name,
            "relation": str(self.relation),
            "unit": f"one {self.protects}",
            **({"unit_column": self.unit_column} if self.unit_column else {}),
            "status": self.status,
            **{name: finite_or_text(getattr(self, name)) for name in EPSILONS},
            **({"delta": self.delta, "rho_bound": finite_or_text(float(self.totals.bound))} if self.delta else {}),
            "void": self.guarantee_void,
            "entries": [
                {key: finite_or_text(value) for key, value in row.items()} for row in self.to_frame().to_dict("records")
            ],
        }

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

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
        Ledger.__init__(self, state["relation"])
        vars(self).update(state)
        for node in self._downward():
            node._lock = self._lock
        for part in self.children:
            part._parent = self


def weigh(times: Epsilon, loss: Epsilon) -> float:
    """A loss that counts so often; what does not count is nothing, also if it is infinite."""
    return float(times * loss) if times else 0.0


def many_times(many: int) -> LossRules:
    """What is claimed, and what can be proved, so many times over."""
    return LossRules(lambda loss: many * loss, lambda loss: many * loss)


# what a record has no use for
OF_THE_TREE = {"_parent", "_losses", "_of_parts", "_lock", "_process"}


@contextmanager
def lock_trees(*ledgers: Ledger) -> Iterator[None]:
    """Hold the locks of their trees, always in the same order; an adoption may change them while one waits."""
    for ledger in ledgers:
        # a fork; a lock that was held at that moment would never open here
        if ledger._process != os.getpid():
            raise ParameterError(
                f"The ledger {ledger.name!r} belongs to another process, which would not hear of this.", ELSEWHERE
            )
    while True:
        locks = {id(ledger._lock): ledger._lock for ledger in ledgers}
        with ExitStack() as stack:
            for _, lock in sorted(locks.items()):
                stack.enter_context(lock)
            if all(id(ledger._lock) in locks for ledger in ledgers):
                yield
                return


def refusal(
    total: PrivacyLoss, name: str, cap: PrivacyLoss, void: str, measure: PrivacyMeasure = PURE
) -> tuple[str, str]:
    """Why a cap lets a question not through, and what to do."""
    at = f" at delta {measure.delta:g}" if measure.delta else ""
    capped = f"{name!r} is capped at {measure.epsilon(cap):g}{at}"
    if not math.isinf(total):
        needs = f"A query needs a total of epsilon {number(measure.epsilon(total))}, but {capped}."
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
        raise ParameterError(f"The {what} must be a whole number of {least} or more.", f"Use {max(least, 1)}.")
    return int(value)
