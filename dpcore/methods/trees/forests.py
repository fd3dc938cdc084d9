"""What DiffPRFs and the plain forest share: their parameters, and the plan of a forest in corrected mode."""

from __future__ import annotations

from math import log2

from dpcore.accounting.ledger import Epsilon
from dpcore.arguments import is_number
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import SplitScore
from dpcore.methods.trees.base import CRITERIA, RESAMPLING, Sampling, TreeClassifier
from dpcore.methods.trees.plan import Budget, Exponential, Plan

__all__ = ["USUAL_ROWS", "ForestClassifier", "sizes_for"]

MIXED = "Gini then Max"
USUAL_ROWS = 10_000


class ForestClassifier(TreeClassifier):
    """A forest that cuts numbers; parameters as for `DiffPRFs`.

    Attributes
    ----------
    n_trees_, max_depth_ : int
        What was grown.
    """

    n_trees: int | None
    max_depth: int | None
    criterion: str | None
    cuts: str | None
    children: str
    steps: str
    resample: str
    rate: float
    count_share: float
    leaf_share: float
    growth: float
    vote: str

    @property
    def _cuts(self) -> str:
        return self._where(self.cuts, "numbers")

    @property
    def _children(self) -> str:
        return self.children

    @property
    def _vote(self) -> str:
        return self.vote

    def _check(self, schema: Schema) -> None:
        if not isinstance(self.criterion, str | None) or self.criterion not in (None, MIXED, *CRITERIA):
            allowed = ", ".join((MIXED, *CRITERIA))
            raise ParameterError("The 'criterion' parameter is not known.", f"Choose one of {allowed}.")
        self._check_choice("children", ("few", "values"))
        self._check_choice("steps", ("one", "two"))
        self._check_cuts()
        self._check_share("count_share", "leaf_share")
        if not (is_number(self.growth) and 0.1 <= self.growth <= 10):
            raise ParameterError("The 'growth' parameter is not a number from 0.1 to 10.", "Try 1.4.")
        self._check_forest(schema, self._resampling)

    @property
    def _resampling(self) -> tuple[str, ...]:
        return RESAMPLING

    def _sampling(self, table: PrivateTable) -> Sampling:
        trees, depth = self._sizes(table)
        self.n_trees_, self.max_depth_ = self.n_trees or trees, self.max_depth or depth
        return Sampling(trees=self.n_trees_, resample=self.resample, rate=self.rate)

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        """Trees and depth where nobody says, from what is public."""
        return sizes_for(table.public_rows, self.epsilon, self.n_trees)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> Plan:
        depth = self.max_depth_
        shares = Budget.shared(budget, depth, counts=self.count_share, leaves=self.leaf_share, growth=self.growth)
        return Plan(
            depth=depth,
            choosers=[Exponential(score=score, steps=self.steps) for score in self._scores(depth)],
            budget=shares,
            per_node=self._per_node(table.schema, by_default="all"),
        )

    def _scores(self, depth: int) -> list[SplitScore]:
        """The score of every level that is divided."""
        if self.criterion is not None and self.criterion != MIXED:
            return [CRITERIA[self.criterion]] * depth
        first = max(1, depth - 2)
        return [CRITERIA["Gini" if level < first else "Max"] for level in range(depth)]


def sizes_for(rows: int | None, epsilon: float, trees: int | None = None) -> tuple[int, int]:
    """How many trees and how deep, from the public number of rows n (`USUAL_ROWS` if that is not known) and epsilon.

    With z = n epsilon / t, a leaf's noise is about 5 / epsilon records if it has .3 of epsilon, and the best of a
    hundred divisions is told apart by a gain of some 10 / (.2 epsilon) records. So leaves need about 500 / epsilon
    records, and the depth is log2(z / 500). More trees than one pay when each still grows deep. All of this was found
    on the bundled sample and on Big5, not on Adult.
    """
    z = (USUAL_ROWS if rows is None else rows) * epsilon
    many = trees or (1 if z < 100_000 else 3)
    each = z / many
    return many, max(2 if each < 600 else 3, min(8, round(log2(max(each, 1) / 500))))
