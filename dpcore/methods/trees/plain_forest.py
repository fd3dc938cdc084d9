r"""A random forest from the same builder, without noise: what privacy costs is measured against it.

Idea      `DiffPRFs` for ever larger epsilon: the same trees, samples and lots, exact counts, and the best division of
          every node; lots decide among equal ones. With the same seed and parameters (`count_share` as well),
          `DiffPRFs(epsilon=1e9)` grows it.

Steps     As for `DiffPRFs`, all answers exact.                                                          unprotected

Privacy   None, and none is claimed.

Reference  Breiman, Random forests, 2001.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import NoNoise
from dpcore.methods.trees.forests import ForestClassifier
from dpcore.postprocess.forest import Forest

__all__ = ["PlainForest"]

REASON = "This is the reference without privacy."


class PlainForest(ForestClassifier):
    """The reference without privacy; the parameters are those of `DiffPRFs`. `epsilon` has no effect but on sizes.

    Parameters
    ----------
    resample : {"bootstrap", "disjoint", "poisson", "full"}
    count_share : float
        0: nodes stop at the last level only. Otherwise those stop that hold no records, or one.
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
        n_trees: int | None = 25,
        max_depth: int | None = 5,
        max_features: int | str | None = "sqrt",
        criterion: str | None = "Gini",
        cuts: str | None = None,
        children: str = "few",
        steps: str = "one",
        resample: str = "bootstrap",
        rate: float = 0.2,
        count_share: float = 0.5,
        leaf_share: float = 0.3,
        growth: float = 1.4,
        vote: str = "majority",
        target: str | None = None,
        noise: str = "auto",
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
        self.children = children
        self.steps = steps
        self.resample = resample
        self.rate = rate
        self.count_share = count_share
        self.leaf_share = leaf_share
        self.growth = growth
        self.vote = vote
        self.target = target
        self.noise = noise
        self.random_state = random_state

    @property
    def _price(self) -> float:
        return 1.0  # questions need one, but nothing comes of it

    @property
    def _consistent(self) -> bool:
        return True

    @property
    def _resampling(self) -> tuple[str, ...]:
        return (*super()._resampling, "bootstrap")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        super()._fit(table.without_noise(REASON, claimed_epsilon=inf, lots=True), progress)
        self.noise_label_ = NoNoise.label.capitalize()

    def _finished(self, forest: Forest) -> Forest:
        return replace(forest, spent=np.full(len(forest.spent), np.nan))
