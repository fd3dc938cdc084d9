"""What a run cost: every question asked of private rows, with the epsilon claimed and the epsilon proved.

The ledger records events apart from how they compose (the idea is dp_accounting's). Two numbers stand in every entry:
`epsilon_claimed`, what the method's source says the question costs, and `epsilon_bound`, what can be proved of the
noise that was really drawn. In corrected mode they are equal. Sums are exact (rational arithmetic).

Composition lives here alone:

sequential   Questions about the same rows add up (Dwork and Roth 2014, Theorem 3.16).
parallel     Questions about disjoint *records* cost the largest of the parts (McSherry 2009, Theorem 4). One added or
             removed record touches one part. A *replaced* record may leave one part and enter another: when the parts
             are formed by the records' values, each of the two parts sees one record less or more, so the parts are
             charged under add_remove and the whole costs twice the largest. Parts formed by labels drawn independently
             of the values stay at the largest under both relations. Splitting attributes is not splitting records.
repeated     The same questions t times over: t times their cost.
sampled      Questions about a secret random sample cost less than they would on all rows, and questions about a
             bootstrap sample more (`resampling`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import pandas as pd

from dpcore.errors import BudgetError, ParameterError
from dpcore.relation import Epsilon, Relation, exact, shares_of
from dpcore.resampling import bootstrap_loss, poisson_inside
from dpcore.texts import finite_or_text, number

__all__ = ["Entry", "Epsilon", "Ledger", "Relation", "exact", "shares_of"]

Price = Callable[[Epsilon], Epsilon]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question to the door.

    Attributes
    ----------
    name : str
        What was asked, in the schema's terms.
    mechanism : str
        laplace, geometric, exponential, … or "none" for raw access.
    epsilon_claimed, epsilon_bound : Fraction or inf
        What the source claims, and what can be proved, for all `draws` together.
    sensitivity : float
        The true sensitivity under the ledger's relation.
    claimed_sensitivity : float
        What the source says it is.
    scale : float
        Noise scale in the question's units (for the exponential mechanism: one over the exponent's factor).
    draws : int
        How many answers were drawn.
    reason : str
        Why claim and bound differ, in words.
    """

    name: str
    mechanism: str
    epsilon_claimed: Epsilon
    epsilon_bound: Epsilon
    sensitivity: float
    claimed_sensitivity: float
    scale: float
    draws: int = 1
    reason: str = ""


class Ledger:
    """An account of questions under one neighboring relation.

    Parameters
    ----------
    relation : Relation or str
    epsilon : float, optional
        A cap on `epsilon_bound`. A question that would exceed it raises BudgetError and is not recorded.
    name : str
        For people.
    """

    def __init__(self, relation: Relation | str, *, epsilon: Epsilon | None = None, name: str = "run") -> None:
        self.relation = Relation.parse(relation)
        self.cap = None if epsilon is None else exact(epsilon)
        self.name = name
        self.voids: list[str] = []
        self._parent: Ledger | None = None
        self._rule: Literal["sequential", "parallel"] = "sequential"
        self._prices: dict[str, Price] = {}  # what the ledger above counts for this one's claim and bound, if not that
        self._of_parts: dict[str, Price] = {}  # the prices of this group's parts
        self._items: list[Entry | Ledger] = []
        self._claimed: Epsilon = Fraction(0)
        self._bound: Epsilon = Fraction(0)

    def __repr__(self) -> str:
        return f"Ledger({self.name!r}, claimed={self.epsilon_claimed:g}, bound={self.epsilon_bound:g})"

    @property
    def epsilon_claimed(self) -> float:
        """What the methods' sources say was spent."""
        return float(self._claimed)

    @property
    def epsilon_bound(self) -> float:
        """What can be proved that was spent; may be infinite."""
        return float(self._bound)

    @property
    def void(self) -> str:
        """Why the epsilons guarantee nothing (a known seed, an inferred schema), here or in a child; else empty."""
        return " ".join(dict.fromkeys([*self.voids, *(child.void for child in self.children if child.void)]))

    @property
    def entries(self) -> list[Entry]:
        """All questions, in order, those of children included."""
        return [entry for _, _, entry in self._walk()]

    @property
    def children(self) -> list[Ledger]:
        """The ledgers directly under this one, in order."""
        return [item for item in self._items if isinstance(item, Ledger)]

    def charge(self, *entries: Entry) -> None:
        """Record questions *before* their answers are drawn: all of them, or none.

        Raises
        ------
        BudgetError
            If this ledger or one above it would exceed its cap. Nothing is recorded then.
        """
        if self._rule == "parallel":
            raise ParameterError("A parallel group has no rows of its own.", "Charge one of its parts.")
        if not all(entry.epsilon_claimed >= 0 and entry.epsilon_bound >= 0 for entry in entries):
            raise ParameterError("A question would cost less than nothing.", "A ledger gives nothing back.")
        updates = []
        node: Ledger | None = self
        claimed = self._claimed + sum(entry.epsilon_claimed for entry in entries)
        bound = self._bound + sum(entry.epsilon_bound for entry in entries)
        while node is not None:
            if node.cap is not None and bound > node.cap:
                raise BudgetError(
                    f"This question needs a total of epsilon {number(float(bound))}, but {node.name!r} is capped at "
                    f"{float(node.cap):g}.",
                    "Nothing was drawn. Ask for less, or raise the cap.",
                )
            updates.append((node, claimed, bound))
            if node._parent is not None:
                claimed, bound = (
                    node._parent._total_with(node, "_claimed", claimed),
                    node._parent._total_with(node, "_bound", bound),
                )
            node = node._parent
        for changed, new_claimed, new_bound in updates:
            changed._write_down(new_claimed, new_bound)
        for changed, new_claimed, new_bound in updates:
            changed._claimed, changed._bound = new_claimed, new_bound
        self._items += entries

    def _write_down(self, claimed: Epsilon, bound: Epsilon) -> None:
        """Keep the totals that a charge is about to make; raising here charges nothing (`books`)."""

    def _total_with(self, part: Ledger, field: str, new: Epsilon) -> Epsilon:
        total: Epsilon = getattr(self, field)
        price = part._prices.get(field, exact)
        if math.isinf(paid := price(new)):
            return math.inf
        return max(total, paid) if self._rule == "parallel" else total + (paid - price(getattr(part, field)))

    def child(self, name: str, epsilon: Epsilon | None = None) -> Ledger:
        """A sequential part of this ledger, optionally with a cap of its own."""
        return self.adopt(Ledger(self.relation, epsilon=epsilon, name=name))

    def parallel(self, name: str, *, by: Literal["value", "label"], plainly_claimed: bool = False) -> Ledger:
        """A group whose parts (`part`) hold disjoint records.

        Parameters
        ----------
        name : str
        by : {"value", "label"}
            Whether the parts are formed by the records' values (public predicates or earlier noisy answers) or by
            labels drawn for each record independently of its values. See the module docstring for the difference.
        plainly_claimed : bool
            Whether the source claims the largest part's cost under replace as well.
        """
        group = self.adopt(Ledger(self.relation, name=name))
        group._rule = "parallel"
        if by == "value" and self.relation is Relation.REPLACE:
            group.relation = Relation.ADD_REMOVE
            group._of_parts = {"_bound": twice} if plainly_claimed else {"_bound": twice, "_claimed": twice}
        return group

    def part(self, name: str) -> Ledger:
        """One part of a parallel group."""
        if self._rule != "parallel":
            raise ParameterError("Only a parallel group has parts.", "Call parallel(…) first.")
        part = self.adopt(Ledger(self.relation, name=name))
        part._prices = self._of_parts
        return part

    def share_of(self, epsilon: Epsilon) -> Epsilon:
        """What this part of a parallel group may spend, for the group to cost `epsilon`."""
        if self._parent is None or self._parent._rule != "parallel":
            raise ParameterError("This is no part of a parallel group.", "Ask one of its parts.")
        return exact(epsilon) / self._prices["_bound"](Fraction(1)) if "_bound" in self._prices else exact(epsilon)

    def repeated(self, name: str, times: int) -> Ledger:
        """An account of what is done `times` times over, with the same questions each time."""
        many = self.adopt(Ledger(self.relation, name=name))
        many._prices = dict.fromkeys(("_claimed", "_bound"), lambda paid: times * paid)
        return many

    def sampled(self, name: str, rate: float, epsilon: Epsilon) -> Ledger:
        """An account of questions about a secret Poisson sample, whose cap costs this ledger `epsilon`.

        Below the cap it is counted in proportion. That is no less than the true cost, which is convex in what is spent
        inside and 0 at 0. Under replace the row that leaves and the row that comes cost one addition or removal each.
        """
        half = exact(epsilon) / self.relation.histogram_l1
        inside = poisson_inside(half, rate)
        sample = self.adopt(Ledger(Relation.ADD_REMOVE, epsilon=inside, name=name))
        if inside:
            sample._prices = dict.fromkeys(("_claimed", "_bound"), lambda paid: exact(epsilon) * paid / inside)
        return sample

    def bootstrapped(self, name: str, rows: int) -> Ledger:
        """An account of questions about a bootstrap sample, for sources that claim what they would cost on the rows."""
        sample = self.adopt(Ledger(self.relation, name=name))
        sample._prices = {"_bound": lambda paid: bootstrap_loss(paid, self.relation, rows)}
        return sample

    def adopt(self, ledger: Ledger) -> Ledger:
        """Make another ledger a part of this one."""
        ledger._parent = self
        self._items.append(ledger)
        return ledger

    @property
    def in_parallel(self) -> bool:
        """Whether the accounts directly under this one hold disjoint records, of which the dearest counts."""
        return self._rule == "parallel"

    def _walk(self, scope: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Relation, Entry]]:
        rows = []
        for item in self._items:
            if isinstance(item, Ledger):
                rows += item._walk((*scope, item.name) if item.name else scope)
            else:
                rows.append((scope, self.relation, item))
        return rows

    def to_frame(self) -> pd.DataFrame:
        """One row per question, in order: its scope, the fields of `Entry`, and the relation it was charged under."""
        rows = [
            {
                "scope": " / ".join(scope),
                "name": entry.name,
                "mechanism": entry.mechanism,
                "relation": str(relation),
                "draws": entry.draws,
                "sensitivity": entry.sensitivity,
                "claimed_sensitivity": entry.claimed_sensitivity,
                "scale": entry.scale,
                "epsilon_claimed": float(entry.epsilon_claimed),
                "epsilon_bound": float(entry.epsilon_bound),
                "reason": entry.reason,
            }
            for scope, relation, entry in self._walk()
        ]
        columns = ["scope", "name", "mechanism", "relation", "draws", "sensitivity", "claimed_sensitivity", "scale"]
        return pd.DataFrame(rows, columns=[*columns, "epsilon_claimed", "epsilon_bound", "reason"])

    def to_dict(self) -> dict[str, Any]:
        """The ledger as JSON-ready values; infinite numbers become the text "infinity"."""
        return {
            "name": self.name,
            "relation": str(self.relation),
            "epsilon_claimed": finite_or_text(self.epsilon_claimed),
            "epsilon_bound": finite_or_text(self.epsilon_bound),
            "void": self.void,
            "entries": [
                {key: finite_or_text(value) for key, value in row.items()} for row in self.to_frame().to_dict("records")
            ],
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def twice(paid: Epsilon) -> Epsilon:
    """The price of a part that a replaced record may leave, or enter."""
    return 2 * paid
