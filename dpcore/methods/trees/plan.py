"""How private trees grow: who chooses the divisions, what each question may cost, and when nodes stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Flags, Floats, Ints
from dpcore.door import Division, PrivateNodes
from dpcore.mechanisms.scores import SplitScore

FEWEST = 1.5  # records of a node that is divided: a single one has nothing to divide


class Chooser(ABC):
    """Who chooses how nodes are divided."""

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """Nodes of different kinds are asked apart, because they share their epsilon out differently."""
        return np.zeros(len(offered), dtype=np.intp)

    @abstractmethod
    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Division:
        """A division of every node by one of the columns it is offered; `real` says which columns are cut."""

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        """What can be proved that a choice costs whose source claims `epsilon` for it."""
        return epsilon


@dataclass(frozen=True, kw_only=True)
class Exponential(Chooser):
    """The exponential mechanism.

    In one step, for columns and cuts together; or in two, with equal parts: first a cut for each column that is cut in
    two, then the column. An `ordinary` one chooses by exp(epsilon q / (2 sensitivity)), although a score that only
    rises allows twice that.
    """

    score: SplitScore
    selection: str = "joint"  # or "two_stage"
    ordinary: bool = False

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """By the number of columns to cut, if that takes steps of its own."""
        return (offered & real).sum(axis=1) if self.selection == "two_stage" else super().kinds(offered, real)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Division:
        numbers = offered & real
        steps = int(numbers[0].sum()) if self.selection == "two_stage" else 0
        share = exact(epsilon) / (steps + 1)
        how: dict[str, Any] = {"claimed_sensitivity": self._scaled_to(nodes)}
        cuts, rank = np.full(offered.shape, np.nan), np.cumsum(numbers, axis=1)
        for step in range(1, steps + 1):
            one = numbers & (rank == step)
            label = f"{name}, a cut" if steps == 1 else f"{name}, cut {step} of {steps}"
            found = nodes.choose(label, self.score, one, low, high, epsilon=share, **how)
            cuts[one] = found.cut
        whole = f"{name}, the column" if steps else name
        return nodes.choose(whole, self.score, offered, low, high, epsilon=share, cuts=cuts if steps else None, **how)

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        return nodes.choice_bound(self.score, epsilon, self._scaled_to(nodes))

    def _scaled_to(self, nodes: PrivateNodes) -> float | None:
        """The sensitivity in an ordinary exponent; None for the true loss."""
        return nodes.sensitivity(self.score) if self.ordinary else None


@dataclass(frozen=True, kw_only=True)
class NoisyGain(Chooser):
    """The column with the largest information gain by noisy counts (values only, no cuts)."""

    # whether every single count is paid for (interactive SuLQ), or disjoint cells cost one (PINQ)
    one_by_one: bool

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """By the columns that are left."""
        return np.unique(offered, axis=0, return_inverse=True)[1].astype(np.intp)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Division:
        """See `Chooser.choose`: V = sum_jc N_jc log2(N_jc / N_j), terms with a count of 0 or less left out."""
        positions = np.flatnonzero(offered[0])
        tables = nodes.tables(name, positions.tolist(), epsilon=epsilon, one_by_one=self.one_by_one)
        values = np.empty((nodes.size, len(positions)))
        for i, (totals, cells) in enumerate(tables):
            known = (cells > 0) & (totals[:, :, None] > 0)
            ratio = np.divide(cells, totals[:, :, None], out=np.ones_like(cells), where=known)
            values[:, i] = np.where(known, cells * np.log2(ratio), 0.0).sum(axis=(1, 2))
        return Division(positions[values.argmax(axis=1)], np.full(nodes.size, np.nan))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What the questions on one way from a root to a leaf cost, by level."""

    counts: tuple[Epsilon, ...]  # for the number of records; 0: not asked
    choices: tuple[Epsilon, ...]  # none on the last level
    leaves: tuple[Epsilon, ...]  # for the classes of a node that stops there
    total: Epsilon

    def until(self, level: int) -> Epsilon:
        """What a way down to a leaf of a level costs."""
        return sum(self.counts[: level + 1]) + sum(self.choices[:level]) + self.leaves[level]

    @classmethod
    def of(cls, total: Epsilon, *, counts: Sequence[Epsilon], choices: Sequence[Epsilon], refund: bool) -> Budget:
        """Counts for every level, choices for all but the last, whose leaves have what is left.

        With `refund`, a leaf that stops early has what is left to it as well: its records are asked nothing further
        down. Otherwise it has what the last one has, and the rest is not spent.
        """
        whole = exact(total)
        left = [whole - sum(counts[: level + 1]) - sum(choices[:level]) for level in range(len(counts))]
        leaves = left if refund else left[-1:] * len(counts)
        return cls(counts=tuple(counts), choices=tuple(choices), leaves=tuple(leaves), total=whole)

    @classmethod
    def equal(cls, total: Epsilon, depth: int, *, steps: int = 1, refund: bool) -> Budget:
        """Equal parts for all levels: for counts, for every step of a choice, and for classes."""
        unit = exact(total) / ((1 + steps) * depth + 2)
        return cls.of(total, counts=[unit] * (depth + 1), choices=[steps * unit] * depth, refund=refund)

    @classmethod
    def shared(cls, total: Epsilon, depth: int, *, counts: float, leaves: float, growth: float) -> Budget:
        """Shares of the whole for counts (equal on all levels) and for the last leaves, the rest for choices, refunded.

        Each level's choices have `growth` times the epsilon of the level above.
        """
        whole, of_counts = exact(total), exact(counts)
        weights = [exact(growth) ** level for level in range(depth)]
        unit = whole * (1 - of_counts - exact(leaves)) / sum(weights)
        count = whole * of_counts / (depth + 1)
        return cls.of(whole, counts=[count] * (depth + 1), choices=[unit * w for w in weights], refund=True)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How trees grow.

    With `noisy_stop`, nodes stop whose noisy count is below the noise's standard deviation times the classes times the
    largest fan-out that is offered (Friedman and Schuster 2010: sqrt(2) / epsilon per class and child), or below
    `fewest`.
    """

    choosers: Sequence[Chooser]  # one for each level but the last
    budget: Budget
    # how many columns each node may choose from, drawn by lot; all by default
    per_node: int | None = None
    purity: str = ""  # why nodes of one class stop, unprotected, if they do
    noisy_stop: bool = True
    fewest: float = FEWEST

    @property
    def depth(self) -> int:
        """The most divisions on a way down."""
        return len(self.choosers)

    def unreached(self, roots: PrivateNodes, level: int) -> tuple[Epsilon, Epsilon]:
        """Claim and bound of what stays unasked if no tree grows below a level.

        The bound belongs to the run all the same: on other rows trees might have grown, and a guarantee is for all.
        """
        budget, last = self.budget, self.depth
        asked = [self.choosers[k].bound(roots, budget.choices[k]) for k in range(level, last)]
        bound = sum(budget.counts[level + 1 :]) + sum(asked) + budget.leaves[last] - budget.leaves[level]
        return budget.total - budget.until(level), bound
