"""What a run can cost: every query of private rows, with the claimed epsilon and the proven one.

The ledger records events apart from how they compose (the idea is dp_accounting's). Three totals stand in it:
`epsilon_claimed`, what the method's source says that the queries satisfy; `epsilon_nominal`, what the noise that was
drawn would give alone; and `epsilon_bound`, the smallest upper bound that can be proved. The last two are one number
unless the ledger is void: with a known seed or an inferred schema nothing can be proved, whatever the noise. In
corrected mode claim and noise are equal. Sums are exact (rational arithmetic).

A ledger counts pure epsilon, or, if it was given a `delta`, rho (zCDP). Entries and sums are then of rho, and the
three totals are the epsilons that these make at that delta, rounded up. One ledger with all its parts has one privacy
measure and one delta.

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

`tally` has the sums, the caps and the lock: any thread of one process may charge; copies and other processes may not.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import Any, Literal

import pandas as pd

from dpcore.accounting.amplification import bootstrap_loss, poisson_inside
from dpcore.accounting.currency import Amount, Currency
from dpcore.accounting.relation import Epsilon, ProtectedUnit, Relation, exact
from dpcore.accounting.tally import EPSILONS, Prices, Tally, Totals, held, whole
from dpcore.errors import ParameterError
from dpcore.text import claim, finite_or_text, html_table, number


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
                "A question would cost less than nothing, or no number.", "A ledger gives nothing back."
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


class Ledger(Tally):
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
        plan: Amount | None = None,
        name: str = "run",
        delta: float = 0.0,
    ) -> None:
        currency = Currency.of(delta)
        super().__init__(name, None if epsilon is None else currency.amount(epsilon), plan, currency)
        self.relation = Relation.parse(relation)
        # The column that names whom its runs protect, "" for rows; None before any run.
        self.unit_column: str | None = None

    def __repr__(self) -> str:
        void = " (guarantee void)" if self.guarantee_void else ""
        facts = f"{self.relation} one {self.protects}, {len(self.entries):,} entries, {self.status}"
        return f"Ledger({self.name!r}, {self.epsilon_text}{void}, {facts})"

    def _repr_html_(self) -> str:
        fits = [(fit.name, "", *fit.above[:2]) for fit in self.children]
        every = [(e.name, e.mechanism, e.epsilon_claimed, e.epsilon_nominal) for e in self.entries]
        parts = every if self.own_entries or len(fits) < 2 else fits
        rows = [(name, how, claim(float(c)), number(float(n))) for name, how, c, n in parts]
        unit = self.currency.unit
        header = ["entry or fit", "mechanism", f"{unit} claimed", f"{unit} nominal"]
        return html_table(f"{self!r} {self.guarantee_void}", header, rows, most=12)

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
        with held(self):
            levels = [level for level in self._upward() if isinstance(level, Ledger)]
            other = next((level for level in levels if level.unit_column not in (None, column or "")), None)
            if other is not None:
                counts, asked = (
                    f"the persons of {whose!r}" if whose else "rows" for whose in (other.unit_column, column)
                )
                raise ParameterError(
                    f"The ledger {other.name!r} counts for {counts}, the run for {asked}.",
                    "Epsilons of rows, and of different persons, do not add up: keep a ledger for each.",
                )
            for level in levels:
                level.unit_column = column or ""

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
        if any(entry.unit != self.currency.unit for entry in entries):
            raise ParameterError(
                f"{self.name!r} counts {self.currency}, and a question was priced otherwise.",
                "Ask it through a door of this ledger.",
            )
        if entries:
            claimed = sum((entry.epsilon_claimed for entry in entries), start=exact(0))
            paid = sum((entry.epsilon_nominal for entry in entries), start=exact(0))
            self._charge(entries, Totals(claimed, paid, paid))

    def child(self, name: str, epsilon: Epsilon | None = None, *, plan: Amount | None = None) -> Ledger:
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
            raise ParameterError("The parts of a group are not formed like that.", "Choose by='value' or by='label'.")
        twofold = by == "value" and self.relation is Relation.REPLACE
        group = self._part(name, Relation.ADD_REMOVE if twofold else self.relation)
        group._rule = "parallel"
        if twofold:
            group._of_parts = Prices(claimed=exact if plainly_claimed else twice, bound=twice)
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

    def share_of(self, epsilon: Amount) -> Amount:
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
        return exact(epsilon) / self._prices.bound(Fraction(1))

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

    def group(self, rows: int, *, plan: Amount | None = None) -> Ledger:
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
        return self._new(self._part(name, plan=plan), many_times(self.currency.rows(many)))

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
            raise ParameterError("No such sample has a price.", "Use a rate in (0, 1] and a finite epsilon.")
        inside = poisson_inside(cost / self.relation.histogram_l1, rate)

        def price(paid: Epsilon) -> Epsilon:
            return cost * paid / inside if inside else exact(paid)

        return self._new(Ledger(Relation.ADD_REMOVE, plan=inside, name=name), Prices(price, price))

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
        prices = Prices(bound=lambda paid: bootstrap_loss(paid, self.relation, size))
        return self._new(Ledger(self.relation, name=name), prices)

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
        if ledger.currency != self.currency:
            raise ParameterError(
                f"{ledger.name!r} counts {ledger.currency}, {self.name!r} {self.currency}.",
                "Amounts of different currencies do not add up: keep two ledgers.",
            )
        if ledger.unit_column is not None:
            self.set_privacy_unit(ledger.unit_column)
        self._join(ledger)
        return ledger

    def _part(self, name: str, relation: Relation | None = None, **limits: Amount | None) -> Ledger:
        self._refuse_group()
        return Ledger(relation or self.relation, name=name, delta=self.delta, **limits)

    def _new(self, ledger: Ledger, prices: Prices | None = None) -> Ledger:
        ledger._prices = prices or ledger._prices
        self._join(ledger)
        return ledger

    def _refuse_group(self) -> None:
        if self.in_parallel:
            raise ParameterError(
                "A parallel group has no rows of its own: it counts the dearest of its parts.",
                "Use one of its parts: part(…) makes one.",
            )

    def _refuse_rho(self) -> None:
        self._refuse_group()
        if self.delta:
            raise ParameterError("A sample's price is known in pure epsilon only.", "Use delta=0, or ask all rows.")

    def _walk(
        self, scope: tuple[str, ...] = (), times: tuple[Epsilon, ...] = (1, 1)
    ) -> list[tuple[tuple[str, ...], Relation, tuple[Epsilon, ...], Entry]]:
        """Questions: scope, relation, how often they count in the totals (of what is claimed, of noise), and entry."""
        rows, void, parts = [], bool(self._reasons_above()), self.children
        dearest = [max(parts, key=lambda part: part.above[i]) for i in range(2)] if self.in_parallel and parts else []
        for item in self._items:
            if isinstance(item, Ledger):
                priced = zip(item.totals[:2], item.above[:2], strict=True)
                own = [above / within if within > 0 and above < math.inf else 1 for within, above in priced]
                own = [by if one is item else 0 for by, one in zip(own, dearest, strict=True)] if dearest else own
                rows += item._walk((*scope, item.name) if item.name else scope, tuple(map(mul, own, times)))
            else:
                rows.append((scope, self.relation, times, replace(item, void=True) if void else item))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per query, in order.

        Printed, it shows the first three columns, in 80 characters; `list(frame)` names all.

        Its columns are the ledger's path (`scope`), the fields of `Entry`, and the relation that it
        was charged under. Of a ledger that counts rho, `rho_claimed`, `rho_nominal` and `rho_bound`
        stand in the epsilons' place.
        """
        rows = [
            {
                **vars(entry),
                **{name: float(getattr(entry, name)) for name in EPSILONS},
                "scope": " / ".join(scope),
                "relation": str(relation),
            }
            for scope, relation, _, entry in self._walk()
        ]
        first = ["name", *EPSILONS[:2], "mechanism", EPSILONS[2], "draws", "void", "relation"]
        others = ["scale", "sensitivity", "claimed_sensitivity", "scope", "reason"]
        frame = pd.DataFrame(rows, columns=[*first, *others])
        return EntryFrame(frame.rename(columns=lambda name: name.replace("epsilon", self.currency.unit)))

    def breakdown(self) -> pd.DataFrame:
        """Return what each query adds to the totals.

        The columns are `name`, the claimed and the nominal loss, and `void`. One row per query that
        counts, in order. Of parallel parts only the largest counts; queries about one row of
        several that a person has, or that a replaced row may change twice, count as often. So
        columns have this ledger's totals as their sums, in its privacy measure, as `to_frame` names
        it.
        """
        rows = [
            {
                "name": entry.name,
                **{
                    name: float(by * getattr(entry, name)) if by else 0.0
                    for by, name in zip(times, EPSILONS, strict=False)
                },
                "void": entry.void,
            }
            for _, _, times, entry in self._walk()
            if any(times)
        ]
        frame = pd.DataFrame(rows, columns=["name", *EPSILONS[:2], "void"])
        return frame.rename(columns={name: name.replace("epsilon", self.currency.unit) for name in EPSILONS})

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


def many_times(many: int) -> Prices:
    """What is claimed, and what can be proved, so many times over."""
    return Prices(lambda paid: many * paid, lambda paid: many * paid)


def twice(paid: Epsilon) -> Epsilon:
    """The price of a part that a replaced record may leave, or enter."""
    return 2 * paid
