r"""A random forest from the same builder, without noise: what privacy costs is measured against it.

Idea      `DiffPRFs` for ever larger epsilon: the same trees, samples and lots, noiseless counts, and the best division
          of every node; lots decide among equal ones. With the same seed and parameters (`count_share` as well),
          `DiffPRFs(epsilon=1e9)` grows it.

Steps     As for `DiffPRFs`, all answers noiseless.                                                         unprotected

Privacy   None, and none is claimed.

Reference  Breiman, Random forests, 2001.
"""

from dataclasses import replace
from math import inf

import numpy as np

from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.parameters import NO_NOISE, Preset, choice, number, whole
from dpcore.methods.trees.base import (
    CRITERIA,
    FEATURES,
    MIXED,
    MOST_DEPTH,
    MOST_TREES,
    SAMPLING,
    ForestClassifier,
)

REASON = phrase("This is the reference without privacy.")


class NonPrivateForest(ForestClassifier):
    """Forest without privacy, as a baseline; `epsilon` has no effect but on sizes.

    Parameters
    ----------
    mode
        There is no other.
    n_trees
        How many trees.
    max_depth
        The most splits from the root to a leaf.
    max_features
        How many columns a node may choose from: a number, the root of theirs, or all.
    criterion
        How splits are scored.
    resample
        Which rows a tree sees.
    count_share
        0: nodes stop at the last level only. Otherwise those stop that hold no records, or one.
    """

    title = "Non-private forest"
    reference = phrase("Breiman 2001")
    presets = (Preset("Non-private forest", "published", remark=NO_NOISE),)
    best_for = "non-private baseline"
    provable_published = "none"
    mode: str = choice(default="published", options=("published",))
    seconds = (0.35, 0.35)
    n_trees: int | None = whole(default=25, most=MOST_TREES, optional=True)
    max_depth: int | None = whole(default=5, most=MOST_DEPTH, optional=True)
    max_features: int | str | None = whole(default="sqrt", words=FEATURES, optional=True)
    criterion: str | None = choice(default="Gini", options=(MIXED, *CRITERIA), optional=True)
    resample: str = choice(default="bootstrap", options=(*SAMPLING, "bootstrap"))
    _consistent = True
    count_share: float = number(default=0.5, most=1, open=")")

    @property
    def _loss(self) -> float:
        return 1.0  # questions need one, but nothing comes of it

    @property
    def _splits(self) -> dict[str, str]:
        return {"cuts": self.cuts or "numbers", "children": self.categorical_splits}

    def measurements(self, table: PrivateTable) -> None:
        return None

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        super()._fit(table.noiseless(REASON, claimed_epsilon=inf, random_ties=True), progress)
        self.forest_ = replace(self.forest_, spent=np.full(len(self.forest_.spent), np.nan))
