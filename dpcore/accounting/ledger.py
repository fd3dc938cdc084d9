"""Record every query of private rows with its claimed and its proven privacy loss.

The ledger records queries separately from how their losses compose (the idea is dp_accounting's).
It has three totals. `epsilon_claimed` is what the method's source says that the queries satisfy.
`epsilon_nominal` is what the drawn noise alone would give. `epsilon_bound` is the smallest upper
bound that can be proved. The last two are equal unless the guarantee is void: with a known seed or
an inferred schema nothing can be proved, whatever the noise. In corrected mode the claimed and the
nominal epsilon are equal. Sums are exact (rational arithmetic).

A ledger counts pure epsilon or, with a `delta` above 0, rho (zCDP). Entries and sums are then in
rho, and the three totals are the epsilons of that rho at that delta, rounded up. A ledger and all
its parts have the same privacy measure and delta.

All rules of composition are in this module:

sequential   Losses of queries about the same rows add up (Dwork and Roth 2014, Theorem 3.16).
parallel     Of queries about disjoint *records* the largest loss of the parts counts (McSherry
             2009, Theorem 4). One added or removed record is in one part. A *replaced* record may
             leave one part and enter another: when the parts are formed by the records' values,
             each of the two parts has one record less or more. So the parts are charged under
             add_remove and the whole has twice the largest loss. With parts formed by labels that
             are drawn independently of the values, the largest loss counts under both relations.
             Disjoint columns are not disjoint records.
repeated     The same queries t times: t times their loss.
group        Queries about rows, of which one person has at most k, have k times the loss for that
             person: two data sets that differ by one person are k steps of one row apart (group
             privacy, Dwork and Roth 2014, Theorem 2.2). It holds for the total of all queries,
             samples and parallel parts included. In rho it is k^2 times the loss.
sampled      Queries about a secret random sample have a smaller loss than on all rows, queries
             about a bootstrap sample a larger one (`amplification`). In pure epsilon only.

Totals only increase, and every draw is charged before it happens. One lock holds for a whole tree
of ledgers. A charge, by any thread, is one step: it is checked against the caps of all levels,
written to the file of the levels that have one, and counted. Charges that would be counted nowhere
are refused: in another process, in a copy, or in a closed ledger. An open ledger cannot be copied;
a closed one is a record, and can.

Nothing can be proved about a ledger with a void guarantee. Its bound is infinite after its first
charge, and so are the bounds of all levels above, by every rule of composition. A void part without
charges has no loss.
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
from dpcore.accounting.privacy_measure import PURE, PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation, exact
from dpcore.arguments import is_whole
from dpcore.errors import BudgetError, ParameterError
from dpcore.text import claim, finite_or_text, html_table, number

EPSILONS = ("epsilon_claimed", "epsilon_nominal", "epsilon_bound")
LossRule = Callable[[Epsilon], Epsilon]

STAY_IN_PROCESS = (
    "Stay in this process (n_jobs=1, or threads), or let each process charge its own `dpcore.persistent_ledger`."
)


class Totals(NamedTuple):
    """The claimed, the nominal and the proven loss, exact, in the ledger's privacy measure."""

    claimed_loss: Epsilon = Fraction(0)
    nominal: Epsilon = Fraction(0)
    bound: Epsilon = Fraction(0)


@dataclass(frozen=True)
class LossRules:
    """Functions from a part's loss to the loss that the ledger above it counts.

    `claimed_rule` is for the claimed loss, `noise_rule` for the nominal loss and the proven bound.
    """

    claimed_rule: LossRule = exact
    noise_rule: LossRule = exact

    def apply(self, totals: Totals) -> Totals:
        """Return the totals that the ledger above counts for a part with these totals."""
        rules = (self.claimed_rule, self.noise_rule, self.noise_rule)
        return Totals(*(loss if math.isinf(loss) else rule(loss) for rule, loss in zip(rules, totals, strict=True)))


class HasTotals(Protocol):
    """A ledger, or a line of the ledger file, with read-only totals."""

    @property
    def totals(self) -> Totals:
        """The claimed, nominal and proven loss, as exact numbers."""

    @property
    def measure(self) -> PrivacyMeasure:
        """The privacy measure of the totals."""


class LossSummary:
    """Claimed, nominal and proven epsilon of an object with totals (`HasTotals`), at its `delta`."""

    @property
    def epsilon_claimed(self: HasTotals) -> float:
        """The epsilon that the methods' sources claim for everything charged."""
        return self.measure.epsilon(self.totals.claimed_loss)

    @property
    def epsilon_nominal(self: HasTotals) -> float:
        """The epsilon of the drawn noise alone, if seed and schema are sound."""
        return self.measure.epsilon(self.totals.nominal)

    @property
    def epsilon_bound(self: HasTotals) -> float:
        """The smallest proven upper bound on epsilon; infinite if nothing can be proved."""
        return self.measure.epsilon(self.totals.bound)

    @property
    def epsilon_text(self: HasTotals) -> str:
        """The three epsilons in one line, for people: claimed, nominal, and proven at most."""
        claimed, nominal, bound = map(self.measure.epsilon, self.totals)
        at = f" at delta = {self.measure.delta:g}" if self.measure.delta else ""
        proven = "cannot be proven" if math.isinf(bound) else f"proven at most {number(bound)}{at}"
        return f"epsilon claimed: {claim(claimed)}, nominal: {number(nominal)}, {proven}"

    @property
    def delta(self: HasTotals) -> float:
        """The delta at which the epsilons hold; 0 for pure epsilon."""
        return self.measure.delta


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One query of private rows, with the losses of all its `draws` in `unit`: epsilon or rho."""

    name: str  # the query, in the schema's terms
    mechanism: str  # laplace, geometric, exponential, … or "none" for raw access
    epsilon_claimed: Epsilon  # what the source claims
    epsilon_nominal: Epsilon  # the loss that the drawn noise gives
    sensitivity: float  # the true one, under the ledger's relation
    claimed_sensitivity: float  # the sensitivity according to the source
    # Noise scale in the query's units (exponential mechanism: one over the exponent's factor)
    scale: float
    unit: Literal["epsilon", "rho"] = "epsilon"  # the privacy measure of both losses
    draws: int = 1  # number of answers drawn
    reason: str = ""  # why the claimed and the nominal loss differ
    void: bool = False  # whether the guarantee of its ledger is void
    # For counts: the columns of each marginal, with the number of values of each column
    tables: tuple[tuple[tuple[str, int], ...], ...] = ()
    strata: tuple[str, ...] = ()  # columns by which rows were split, one marginal for each value

    def __post_init__(self) -> None:
        """Convert claimed and nominal loss to exact fractions; ParameterError for invalid numbers."""
        for name in EPSILONS[:2]:
            object.__setattr__(self, name, exact(getattr(self, name)))
        object.__setattr__(self, "draws", require_count(self.draws, "number of draws", least=0))

    @property
    def epsilon_bound(self) -> Epsilon:
        """The proven loss of the query: the nominal loss, or infinite if the guarantee is void."""
        return math.inf if self.void else self.epsilon_nominal


class EntryFrame(pd.DataFrame):
    """Data frame of a ledger's entries whose text shows the first three columns only."""

    def __repr__(self) -> str:
        """Return the first three columns as text, with a note about totals."""
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
        not recorded. With a finite cap, a charge to a ledger with a void guarantee is refused.
        Default: no cap.
    plan : float or Fraction, optional
        A cap on the nominal loss, in the ledger's privacy measure: what a method plans to draw.
    name : str, default="run"
        A title for people.
    delta : float, default=0.0
        With 0 the ledger counts pure epsilon, otherwise rho, and its epsilons hold at this delta.

    Attributes
    ----------
    status : {"open", "finished", "stopped"}
        Whether it can be charged ("open"); otherwise, whether its run reached its end.

    Raises
    ------
    ParameterError
        If the relation is not known, or a number is outside its range.

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
        self.relation, self.name, self.measure = Relation.parse(relation), name, PrivacyMeasure.from_delta(delta)
        self.cap = None if epsilon is None else self.measure.loss_of(epsilon)
        self.plan = None if plan is None else exact(plan)
        self.status: Literal["open", "finished", "stopped"] = "open"
        # The column with the persons that its runs protect, "" for rows; None before any run.
        self.unit_column: str | None = None
        self._reasons: tuple[str, ...] = ()  # why the guarantee is void
        self._parent: Ledger | None = None
        self._rule: Literal["sequential", "parallel"] = "sequential"
        self._losses = LossRules()  # from this ledger's losses to those of the level above
        self._part_losses = LossRules()  # from the parts' losses to those of this group
        self._recorded: Totals | None = None  # in a copy: what the level above counted
        self._items: list[Entry | Ledger] = []  # parts, and entries that were charged here
        self._totals = Totals()
        self._lock = threading.RLock()  # of the whole tree
        self._process = os.getpid()

    def __repr__(self) -> str:
        """Return the ledger's name, epsilons and size in one line."""
        void = " (guarantee void)" if self.guarantee_void else ""
        facts = f"{self.relation} one {self.protects}, {len(self.entries):,} entries, {self.status}"
        return f"Ledger({self.name!r}, {self.epsilon_text}{void}, {facts})"

    def _repr_html_(self) -> str:
        """Return the ledger as an HTML table for notebooks: one row per entry, or per fit."""
        fits = [(fit.name, "", *fit.totals_above[:2]) for fit in self.children]
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
    def totals_above(self) -> Totals:
        """The totals that the ledger above counts for this one, by its rule of composition."""
        return self._recorded or self._losses.apply(self._totals)

    @property
    def epsilons(self) -> dict[str, Any]:
        """The three epsilons and `void` in a dict, for a row of a data frame."""
        return {name: getattr(self, name) for name in EPSILONS} | {"void": self.guarantee_void}

    @property
    def guarantee_void(self) -> str:
        """Why the epsilons guarantee nothing (a known seed, an inferred schema); else empty.

        It joins the reasons of this ledger, of those above it, and of those below it that were
        charged.
        """
        return " ".join(dict.fromkeys([*self._reasons_above(), *self._reasons_below()]))

    @property
    def entries(self) -> list[Entry]:
        """All queries charged to this ledger and its parts, in order."""
        return [entry for *_, entry in self._walk_entries()]

    @property
    def own_entries(self) -> list[Entry]:
        """The queries that were charged to this ledger directly, in order."""
        void = bool(self._reasons_above())
        return [replace(item, void=True) if void else item for item in self._items if isinstance(item, Entry)]

    @property
    def children(self) -> list[Ledger]:
        """The ledgers directly under this one, in order."""
        return [item for item in self._items if isinstance(item, Ledger)]

    @property
    def in_parallel(self) -> bool:
        """True if the children hold disjoint records, so that only their largest loss counts."""
        return self._rule == "parallel"

    @property
    def protects(self) -> ProtectedUnit:
        """The protected unit of the epsilons: "row", or "person" with all rows."""
        return "person" if self.unit_column else "row"

    def set_privacy_unit(self, column: str | None) -> None:
        """Set the privacy unit that runs here protect, in this ledger and in all above it.

        Parameters
        ----------
        column : str or None
            The column that names a row's person; None if runs protect rows.

        Raises
        ------
        ParameterError
            If runs that were charged here or above protect another unit.
        """
        with lock_trees(self):
            other = next((level for level in self._ancestors() if level.unit_column not in (None, column or "")), None)
            if other is not None:
                units = [f"the persons of {name!r}" if name else "rows" for name in (other.unit_column, column)]
                raise ParameterError(
                    f"The ledger {other.name!r} protects {units[0]}, this run protects {units[1]}.",
                    "Epsilons of different privacy units do not add up: keep a ledger for each.",
                )
            for level in self._ancestors():
                level.unit_column = column or ""

    def void_because(self, reason: str) -> None:
        """Void the guarantee: record why nothing can be proved, best before the first charge.

        If something was charged before, the bounds here, above and in the file become infinite now;
        no cap can undo draws.

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
            raise ParameterError("`reason` is empty.", "Pass a sentence that says why nothing can be proved.")
        with lock_trees(self):
            if reason in self._reasons:
                return
            self._reasons += (reason,)
            if self._has_entries:
                self._increase_totals(self._totals._replace(bound=math.inf), drawn=True)
                self._make_bounds_infinite()

    def close(self, *, finished: bool = True) -> None:
        """Refuse all further charges here and below: the ledger is now a record.

        A closed ledger can be copied.

        Parameters
        ----------
        finished : bool, default=True
            Whether the run reached its end: `status` is then "finished", otherwise "stopped".
        """
        with lock_trees(self):
            self.status = "finished" if finished else "stopped"

    def charge(self, *entries: Entry) -> None:
        """Charge queries *before* their answers are drawn: all of them, or none.

        Parameters
        ----------
        *entries : Entry
            The queries, with losses in the ledger's privacy measure.

        Raises
        ------
        BudgetError
            If this ledger or one above it would exceed its cap. Nothing is recorded then.
        ParameterError
            If this ledger is a parallel group, is closed or belongs to another process, or if an
            entry is not an Entry or is in another privacy measure.
        """
        self._refuse_group()
        if not all(isinstance(entry, Entry) for entry in entries):
            raise ParameterError("`charge` got a value that is not an Entry.", "Pass Entry objects.")
        if any(entry.unit != self.measure.unit for entry in entries):
            raise ParameterError(
                f"The ledger {self.name!r} counts {self.measure}; an entry is in another privacy measure.",
                "Query through a door of this ledger.",
            )
        if not entries:
            return
        claimed, loss = (sum((getattr(entry, name) for entry in entries), start=exact(0)) for name in EPSILONS[:2])
        with lock_trees(self):
            self._require_open()
            cost = Totals(claimed, loss, math.inf if self._reasons_above() else loss)
            self._increase_totals(Totals(*map(sum, zip(self._totals, cost, strict=True))))
            self._items += entries

    def child(self, name: str, epsilon: Epsilon | None = None, *, plan: PrivacyLoss | None = None) -> Ledger:
        """Open a sequential part of this ledger: its losses add up with those of other parts.

        Parameters
        ----------
        name : str
            A title for people.
        epsilon : float or Fraction, optional
            A cap for the part. Default: only the caps above apply.
        plan : float or Fraction, optional
            A cap on the part's nominal loss, in the ledger's privacy measure.

        Returns
        -------
        Ledger
            The part, which has this ledger's relation and delta.
        """
        return self._join(self._make_part(name, epsilon=epsilon, plan=plan))

    def parallel(self, name: str, *, by: Literal["value", "label"], plainly_claimed: bool = False) -> Ledger:
        """Open a group whose parts (`part`) hold disjoint records: the largest part counts.

        Parameters
        ----------
        name : str
            A title for people.
        by : {"value", "label"}
            Whether the parts are formed by the records' values (public predicates or earlier noisy
            answers) or by labels drawn for each record independently of its values. See the module
            docstring for the difference.
        plainly_claimed : bool, default=False
            Whether the source claims the largest part's loss under replace as well.

        Returns
        -------
        Ledger
            The group, which cannot be charged directly.

        Raises
        ------
        ParameterError
            If `by` has another value, or this ledger is a group itself.
        """
        if by not in ("value", "label"):
            raise ParameterError(f"`by` must be 'value' or 'label'; got {by!r}.", "Choose by='value' or by='label'.")
        twofold = by == "value" and self.relation is Relation.REPLACE
        group = self._make_part(name, Relation.ADD_REMOVE if twofold else self.relation)
        group._rule = "parallel"
        if twofold:  # a replaced record may leave one part and enter another
            group._part_losses = replace(multiples(2), claimed_rule=exact) if plainly_claimed else multiples(2)
        return self._join(group)

    def part(self, name: str) -> Ledger:
        """Open one part of a parallel group.

        Parameters
        ----------
        name : str
            A title for people.

        Returns
        -------
        Ledger
            The part.

        Raises
        ------
        ParameterError
            If this ledger is not a parallel group.
        """
        if not self.in_parallel:
            raise ParameterError("Only a parallel group has parts.", "Open one first by parallel(…).")
        return self._join(Ledger(self.relation, name=name, delta=self.delta), self._part_losses)

    def share_of(self, epsilon: PrivacyLoss) -> PrivacyLoss:
        """Return the loss that this part may have if its parallel group may have `epsilon`.

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
            If this ledger is no part of a parallel group.
        """
        if self._parent is None or self._parent._rule != "parallel":
            raise ParameterError("This ledger is no part of a parallel group.", "Call share_of(…) of a part.")
        return exact(epsilon) / self._losses.noise_rule(Fraction(1))

    def self_composed(self, name: str, times: int) -> Ledger:
        """Open a part for queries that are repeated `times` times.

        Parameters
        ----------
        name : str
            A title for people.
        times : int
            The number of repetitions, 1 or more: a charge to the part counts that many times.

        Returns
        -------
        Ledger
            The part.
        """
        return self._join(self._make_part(name), multiples(require_count(times, "number of times", least=1)))

    def group(self, rows: int, *, plan: PrivacyLoss | None = None) -> Ledger:
        """Open a part for queries about rows of which a person has several (group privacy).

        Parameters
        ----------
        rows : int
            The most rows of one person, 1 or more: k rows have k times the epsilon, or k^2 times
            the rho.
        plan : float or Fraction, optional
            A cap on the nominal loss for one row, in the ledger's privacy measure.

        Returns
        -------
        Ledger
            The part.
        """
        many = require_count(rows, "number of rows", least=1)
        name = f"up to {many:,} rows of one person" if many > 1 else "one row of one person"
        return self._join(self._make_part(name, plan=plan), multiples(self.measure.group_factor(many)))

    def poisson_subsampled(self, name: str, rate: float, epsilon: Epsilon) -> Ledger:
        """Open a part for queries about a secret Poisson sample, of loss `epsilon` on all rows.

        If less than the part's plan is spent, the loss is counted in proportion. That is at least
        the true loss, which is convex in the loss on the sample and 0 at 0. Under replace, the
        removed row and the added row have one loss each.

        Parameters
        ----------
        name : str
            A title for people.
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
            raise ParameterError("`rate` or `epsilon` is out of range.", "Use a rate in (0, 1] and a finite epsilon.")
        inside = poisson_inside(cost / self.relation.histogram_l1, rate)

        def outside(loss: Epsilon) -> Epsilon:
            """Return the loss on all rows of a query with this loss on the sample."""
            return cost * loss / inside if inside else exact(loss)

        return self._join(Ledger(Relation.ADD_REMOVE, plan=inside, name=name), LossRules(outside, outside))

    def bootstrap(self, name: str, rows: int) -> Ledger:
        """Open a part for queries about a bootstrap sample.

        The claimed loss is counted unchanged: for sources that ignore that a row may be drawn
        several times.

        Parameters
        ----------
        name : str
            A title for people.
        rows : int
            The number of rows of the data set and of the sample; 0 or more.

        Returns
        -------
        Ledger
            The part.
        """
        self._refuse_rho()
        size = require_count(rows, "number of rows", least=0)
        losses = LossRules(noise_rule=lambda loss: bootstrap_loss(loss, self.relation, size))
        return self._join(Ledger(self.relation, name=name), losses)

    def attach(self, ledger: Ledger) -> Ledger:
        """Make another ledger a part of this one: its past and future losses count here and above.

        Parameters
        ----------
        ledger : Ledger
            A ledger of the same relation and delta that is not a part of another one.

        Returns
        -------
        Ledger
            The same ledger.

        Raises
        ------
        BudgetError
            If its losses would exceed a cap. None of them is counted then.
        ParameterError
            If it is a part of a ledger already, contains this ledger, or has another relation,
            delta or privacy unit.
        """
        self._refuse_group()
        if ledger.relation is not self.relation:
            raise ParameterError(
                f"Ledger {ledger.name!r} has relation {ledger.relation}, ledger {self.name!r} {self.relation}.",
                "Epsilons of different relations do not add up: keep two ledgers.",
            )
        if ledger.measure != self.measure:
            raise ParameterError(
                f"Ledger {ledger.name!r} counts {ledger.measure}, ledger {self.name!r} {self.measure}.",
                "Losses in different privacy measures do not add up: keep two ledgers.",
            )
        if ledger.unit_column is not None:
            self.set_privacy_unit(ledger.unit_column)
        return self._join(ledger)

    def _make_part(self, name: str, relation: Relation | None = None, **limits: PrivacyLoss | None) -> Ledger:
        """Return a new ledger with this ledger's privacy measure, to be attached as a part.

        `relation` is this ledger's by default. `limits` are the part's cap (`epsilon`) and `plan`.
        """
        self._refuse_group()
        return Ledger(relation or self.relation, name=name, delta=self.delta, **limits)

    def _refuse_group(self) -> None:
        """Raise ParameterError if this ledger is a parallel group, which has no charges itself."""
        if self.in_parallel:
            raise ParameterError(
                "A parallel group has no rows of its own: it counts the largest loss of its parts.",
                "Use one of its parts: part(…) makes one.",
            )

    def _refuse_rho(self) -> None:
        """Raise ParameterError if this ledger counts rho or is a parallel group."""
        self._refuse_group()
        if self.delta:
            raise ParameterError("Amplification by sampling needs pure epsilon.", "Use delta=0 or all rows.")

    def _join(self, part: Ledger, losses: LossRules | None = None) -> Ledger:
        """Attach a ledger that has no parent (`part`), and return it.

        What was charged to the part counts here from now on, by the rules `losses` or, by default,
        by the rules that the part has.
        """
        part._losses = losses or part._losses
        with lock_trees(self, part):
            self._require_open()
            if part in self._ancestors():
                raise ParameterError("A ledger cannot be a part of itself.", "Attach another ledger.")
            if part._parent is not None:
                raise ParameterError(
                    f"Ledger {part.name!r} is already a part of {part._parent.name!r}.",
                    f"Attach {part._parent.name!r}, or a new ledger.",
                )
            lost = part._has_entries and bool(self._reasons_above())
            if part._has_entries:
                spent = part._totals._replace(bound=math.inf) if lost else part._totals
                self._increase_totals(self._totals_with_part(part._losses, Totals(), spent), part.guarantee_void)
            if lost:
                part._make_bounds_infinite()
            part._parent = self
            for one in part._descendants():
                one._lock = self._lock
            self._items.append(part)
        return part

    def _make_bounds_infinite(self) -> None:
        """Set the bound of this ledger and of its charged parts to infinity."""
        for node in self._descendants():
            if node._has_entries:
                node._totals = node._totals._replace(bound=math.inf)

    def _increase_totals(self, new: Totals, void: str = "", *, drawn: bool = False) -> None:
        """Set this ledger's totals to `new` and update those above: check caps, write files, count.

        If `drawn`, the noise was drawn already: the totals are counted even if a cap is exceeded or
        the file cannot be written. `void` is a reason why the guarantee is void.
        """
        rising: list[tuple[Ledger, Totals]] = [(self, new)]
        for node in self._ancestors():
            if node._parent is not None:
                new = node._parent._totals_with_part(node._losses, node._totals, new)
                rising.append((node._parent, new))
        why = " ".join(dict.fromkeys(filter(None, [*self._reasons_above(), void])))
        try:
            for node, totals in rising:
                if not drawn:
                    node._check_caps(totals, why)
            for node, totals in rising:
                node._persist(totals, why, drawn=drawn)
            drawn = True
        finally:
            if drawn:
                for node, totals in rising:
                    node._totals = totals

    def _totals_with_part(self, losses: LossRules, old: Totals, new: Totals) -> Totals:
        """Return this ledger's totals after a part's totals have changed from `old` to `new`.

        `losses` are the rules by which the part counts.
        """
        before, after = losses.apply(old), losses.apply(new)
        if self._rule == "parallel":
            return Totals(*map(max, self._totals, after))
        grown = zip(self._totals, before, after, strict=True)
        return Totals(*(math.inf if math.isinf(now) else total + (now - was) for total, was, now in grown))

    def _check_caps(self, new: Totals, void: str) -> None:
        """Raise BudgetError if the totals `new` exceed this ledger's plan or cap.

        `void` is a reason why the guarantee is void, for the error.
        """
        if self.plan is not None and new.nominal > self.plan:
            raise BudgetError(*cap_refusal(new.nominal, self.name, self.plan, "", self.measure))
        if self.cap is not None and new.bound > self.cap:
            raise BudgetError(*cap_refusal(new.bound, self.name, self.cap, void, self.measure))

    def _persist(self, new: Totals, void: str, *, drawn: bool) -> None:
        """Write the totals `new` to the ledger file before they count; without a file do nothing.

        `void` is a reason why the guarantee is void. `drawn` says that the noise was drawn already.
        """

    def _require_open(self) -> None:
        """Raise ParameterError if this ledger or one above it is closed."""
        if any(node.status != "open" for node in self._ancestors()):
            raise ParameterError(
                f"The ledger {self.name!r} is closed: its run is over, or it is a copy.",
                "Charge a new ledger.",
            )

    @property
    def _has_entries(self) -> bool:
        """True if a query was charged to this ledger or its parts."""
        return any(not isinstance(item, Ledger) or item._has_entries for item in self._items)

    def _ancestors(self) -> Iterator[Ledger]:
        """Yield this ledger, then the ledgers above it."""
        node: Ledger | None = self
        while node is not None:
            yield node
            node = node._parent

    def _descendants(self) -> Iterator[Ledger]:
        """Yield this ledger, then all ledgers below it."""
        yield self
        for part in self.children:
            yield from part._descendants()

    def _reasons_above(self) -> list[str]:
        """Return why the guarantee is void, as recorded in this ledger and those above it."""
        return [reason for node in self._ancestors() for reason in node._reasons]

    def _reasons_below(self) -> Iterator[str]:
        """Yield why the guarantee is void, as recorded in charged parts at any depth."""
        for part in self.children:
            if part._has_entries:
                yield from (*part._reasons, *part._reasons_below())

    def _walk_entries(
        self, path: tuple[str, ...] = (), times: tuple[Epsilon, ...] = (1, 1)
    ) -> list[tuple[tuple[str, ...], Relation, tuple[Epsilon, ...], Entry]]:
        """Return (path, relation, factors, entry) of every query, in order.

        A path has the names of the parts that lead to the query. The factors say how many times the
        query's claimed and nominal loss count in the totals. `path` and `times` are this ledger's
        own path and factors: the recursion passes them from a ledger to its parts.
        """
        rows, void, parts = [], bool(self._reasons_above()), self.children
        both = range(2 if self.in_parallel and parts else 0)  # claimed, nominal
        largest = [max(parts, key=lambda part: part.totals_above[i]) for i in both]
        for item in self._items:
            if isinstance(item, Ledger):
                pairs = zip(item.totals[:2], item.totals_above[:2], strict=True)
                own = [above / within if within > 0 and above < math.inf else 1 for within, above in pairs]
                own = [by if one is item else 0 for by, one in zip(own, largest, strict=True)] if largest else own
                rows += item._walk_entries((*path, item.name) if item.name else path, tuple(map(mul, own, times)))
            else:
                rows.append((path, self.relation, times, replace(item, void=True) if void else item))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per query, in order.

        Printed, it shows the first three columns, in 80 characters; `list(frame)` names all.

        The columns are the fields of `Entry` but `unit`, `tables` and `strata`; the proven loss;
        the ledger's path (`scope`); and the relation under which the query was charged. For a
        ledger that counts rho, the columns `rho_claimed`, `rho_nominal` and `rho_bound` replace
        those of epsilon.
        """
        rows = [
            {
                **vars(entry),
                **{name: float(getattr(entry, name)) for name in EPSILONS},
                "scope": " / ".join(path),
                "relation": str(relation),
            }
            for path, relation, _, entry in self._walk_entries()
        ]
        first = ["name", *EPSILONS[:2], "mechanism", EPSILONS[2], "draws", "void", "relation"]
        others = ["scale", "sensitivity", "claimed_sensitivity", "scope", "reason"]
        frame = pd.DataFrame(rows, columns=[*first, *others])
        return EntryFrame(frame.rename(columns=lambda name: name.replace("epsilon", self.measure.unit)))

    def breakdown(self) -> pd.DataFrame:
        """Return what each query adds to the totals, as a DataFrame.

        The columns are `name`, the claimed and the nominal loss, and `void`; their sums are this
        ledger's totals, in its privacy measure. There is one row per query that counts, in order.
        Of parallel parts only the largest one counts. Queries about rows of which a person has
        several, or which a replaced row may change twice, count several times.
        """
        rows = [
            (entry.name, *map(weighted_loss, factors, (entry.epsilon_claimed, entry.epsilon_nominal)), entry.void)
            for *_, factors, entry in self._walk_entries()
            if any(factors)
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
        """Return the ledger as JSON text: `to_dict` with indentation."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __copy__(self) -> Self:
        """Return a deep copy, because the parts belong to one tree; closed ledgers only."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to copy or pickle; ParameterError if the ledger is open."""
        over = [node.status for node in self._ancestors() if node.status != "open"]
        if not over:
            raise ParameterError(
                f"The open ledger {self.name!r} cannot be copied or sent to another process: charges to the "
                "copy would be counted nowhere.",
                STAY_IN_PROCESS,
            )
        record = {**vars(self), "status": over[0], "_reasons": tuple(dict.fromkeys(self._reasons_above()))}
        record["_recorded"] = self.totals_above
        return {name: kept for name, kept in record.items() if name not in TREE_FIELDS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied ledger as a record that cannot be charged."""
        Ledger.__init__(self, state["relation"])
        vars(self).update(state)
        for node in self._descendants():
            node._lock = self._lock
        for part in self.children:
            part._parent = self


def weighted_loss(times: Epsilon, loss: Epsilon) -> float:
    """Return a loss times a factor as a float; 0 if the factor is 0, even for an infinite loss."""
    return float(times * loss) if times else 0.0


def multiples(many: int) -> LossRules:
    """Return rules that multiply the claimed and the proven loss by `many`."""
    return LossRules(lambda loss: many * loss, lambda loss: many * loss)


# Attributes that a copy does not have
TREE_FIELDS = {"_parent", "_losses", "_part_losses", "_lock", "_process"}


@contextmanager
def lock_trees(*ledgers: Ledger) -> Iterator[None]:
    """Hold the locks of the trees of some ledgers, always in the same order, against deadlocks.

    While this thread waits for a lock, `attach` in another thread may join two trees: the locks of
    the ledgers are then looked up again.
    """
    for ledger in ledgers:
        # In a fork, a lock that was held at that moment would never be released.
        if ledger._process != os.getpid():
            raise ParameterError(
                f"The ledger {ledger.name!r} belongs to another process, which would miss the charge.", STAY_IN_PROCESS
            )
    while True:
        locks = {id(ledger._lock): ledger._lock for ledger in ledgers}
        with ExitStack() as stack:
            for _, lock in sorted(locks.items()):
                stack.enter_context(lock)
            if all(id(ledger._lock) in locks for ledger in ledgers):
                yield
                return


def cap_refusal(
    total: PrivacyLoss, name: str, cap: PrivacyLoss, void: str, measure: PrivacyMeasure = PURE
) -> tuple[str, str]:
    """Return the cause and remedy of a BudgetError: a total loss would exceed a ledger's cap.

    `total` is the loss with the refused query, `name` the ledger's title; `total` and `cap` are in
    `measure`. `void` is a reason why the guarantee is void; empty if it is sound.
    """
    at = f" at delta {measure.delta:g}" if measure.delta else ""
    capped = f"{name!r} is capped at {measure.epsilon(cap):g}{at}"
    if not math.isinf(total):
        needs = f"A query needs a total of epsilon {number(measure.epsilon(total))}, but {capped}."
        return needs, "The query was not answered. Lower epsilon, or raise the cap."
    if not void:
        needs = f"A query needs more than any epsilon, but {capped}."
        return needs, "The query was not answered. No cap allows that: add noise, or remove the cap."
    return (
        f"{capped}, and nothing can be proved about this run: {void}",
        "The query was not answered. Use no seed and a declared schema, or a ledger without a cap.",
    )


def require_count(value: object, what: str, *, least: int) -> int:
    """Return a value as an int of at least `least`; otherwise raise ParameterError.

    `what` says what the value counts, for the error.
    """
    if not is_whole(value, least):
        raise ParameterError(f"The {what} must be a whole number of {least} or more.", f"Use {max(least, 1)}.")
    return int(value)
