r"""A random forest from the same builder, without noise: what privacy costs is measured against it.

Idea      `DiffPRFs` for ever larger epsilon: the same trees, samples and lots, exact counts, and the best division of
          every node; lots decide among equal ones. With the same seed and sampling, `DiffPRFs(epsilon=1e9)` grows it.

Steps     As for `DiffPRFs`, all answers exact.                                                          unprotected

Privacy   None, and none is claimed.

Reference  Breiman, Random forests, 2001.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from dpcore.forest import Forest
from dpcore.ledger import Epsilon
from dpcore.plans import Budget, Exponential, Plan
from dpcore.private import PrivateTable
from dpcore.progress import Progress
from dpcore.schema import Schema
from dpcore.treemethods import CRITERIA, RESAMPLING, Sampling, TreeClassifier

__all__ = ["PlainForest"]

REASON = "This is the reference without privacy."


class PlainForest(TreeClassifier):
    """The reference without privacy; the parameters are those of `DiffPRFs`. `epsilon` has no effect.

    Parameters
    ----------
    resample : {"bootstrap", "disjoint", "poisson", "full"}
    """

    title = "Plain forest"
    paper = "003"
    modes = ("paper",)

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        mode: str = "paper",
        relation: str = "add_remove",
        n_trees: int = 25,
        max_depth: int = 5,
        max_features: int | str | None = "sqrt",
        criterion: str = "Gini",
        cuts: str = "numbers",
        taxonomies: bool = True,
        steps: str = "one",
        resample: str = "bootstrap",
        rate: float = 0.2,
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
        self.vote = vote
        self.target = target
        self.noise = noise
        self.random_state = random_state

    @property
    def _price(self) -> float:
        return 1.0  # questions need one, but nothing comes of it

    @property
    def _cuts(self) -> str:
        return self.cuts

    @property
    def _taxonomies(self) -> bool:
        return self.taxonomies

    @property
    def _vote(self) -> str:
        return self.vote

    @property
    def _consistent(self) -> bool:
        return True

    def _check(self, schema: Schema) -> None:
        self._check_choice("criterion", tuple(CRITERIA))
        self._check_choice("cuts", ("numbers", "bins"))
        self._check_choice("steps", ("one", "two"))
        self._check_flags("taxonomies")
        self._check_forest(schema, resampling=(*RESAMPLING, "bootstrap"))

    def _sampling(self, table: PrivateTable) -> Sampling:
        return Sampling(trees=self.n_trees, resample=self.resample, rate=self.rate)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> Plan:
        return Plan(
            depth=self.max_depth,
            chooser=Exponential(score=CRITERIA[self.criterion], steps=self.steps),
            budget=Budget.shared(budget, self.max_depth),
            per_node=self._per_node(table.schema),
        )

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        super()._fit(table.without_noise(REASON, claimed_epsilon=inf, lots=True), progress)

    def _finished(self, forest: Forest) -> Forest:
        return replace(forest, spent=np.full(len(forest.spent), np.nan))
