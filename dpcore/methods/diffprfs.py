r"""DiffPRFs: a random forest under differential privacy (paper 003).

TODO
"""

from __future__ import annotations

from math import isqrt

from dpcore.ledger import Epsilon
from dpcore.plans import Budget, Exponential, Plan
from dpcore.private import PrivateTable
from dpcore.progress import Progress
from dpcore.schema import Schema
from dpcore.treemethods import SCORES, TreeClassifier

__all__ = ["DiffPRFs"]


class DiffPRFs(TreeClassifier):
    """TODO."""

    title = "DiffPRFs"
    paper = "003"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        mode: str = "corrected",
        relation: str = "add_remove",
        n_trees: int = 25,
        max_depth: int = 5,
        max_features: int | str | None = "sqrt",
        criterion: str = "Gini",
        cuts: str = "numbers",
        taxonomies: bool = True,
        steps: str = "one",
        resample: str = "disjoint",
        rate: float = 0.2,
        count_share: float | None = None,
        leaf_share: float | None = None,
        noisy_stop: bool = True,
        consistency: bool = True,
        vote: str = "majority",
        target: str | None = None,
        noise: str = "laplace",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.mode = mode
        self.relation = relation
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_features = max_features
        self.criterion = criterion
        self.cuts = cuts
        self.taxonomies = taxonomies
        self.steps = steps
        self.resample = resample
        self.rate = rate
        self.count_share = count_share
        self.leaf_share = leaf_share
        self.noisy_stop = noisy_stop
        self.consistency = consistency
        self.vote = vote
        self.target = target
        self.noise = noise
        self.random_state = random_state

    @property
    def _cuts(self) -> str:
        return self.cuts

    @property
    def _taxonomies(self) -> bool:
        return self.taxonomies and self.mode == "corrected"

    def _check(self, schema: Schema) -> None:
        self._check_trees(schema, "n_trees", "max_depth")

    def _features(self, schema: Schema) -> int | None:
        usable = len(schema) - 1
        if self.max_features is None:
            return None
        return max(isqrt(usable), 1) if self.max_features == "sqrt" else int(self.max_features)

    def _plan(self, schema: Schema, budget: Epsilon) -> Plan:
        if self.mode == "paper":
            chooser = Exponential(score=SCORES[self.criterion], steps="two", claimed_sensitivity=1.0, reason="x")
            return Plan(
                depth=self.max_depth,
                chooser=chooser,
                budget=Budget.equal(budget, self.max_depth),
                per_node=self._features(schema),
                purity="The purity of nodes is tested on exact counts.",
                noisy_stop=False,
            )
        return Plan(
            depth=self.max_depth,
            chooser=Exponential(score=SCORES[self.criterion], steps=self.steps),
            budget=Budget.shared(budget, self.max_depth, counts=self.count_share, leaves=self.leaf_share),
            per_node=self._features(schema),
            noisy_stop=self.noisy_stop,
        )

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        paper = self.mode == "paper"
        levels = self._grow(
            table,
            progress,
            trees=self.n_trees,
            resample="bootstrap" if paper else self.resample,
            rate=self.rate,
        )
        self._settle(levels, table.schema, vote=self.vote, consistent=self.consistency and not paper)
        progress(1.0, "Done")
