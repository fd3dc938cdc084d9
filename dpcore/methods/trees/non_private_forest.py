r"""A random forest without noise, grown by the same code: the baseline for the cost of privacy.

Idea      `DiffPRFs` in the limit of large epsilon: the same trees, samples and random draws,
          noiseless counts, and the best split of every node, with random choices among equal
          splits. `DiffPRFs(epsilon=1e9)` grows the same forest, with the same seed and parameters
          (`count_share` as well).

Steps     As for `DiffPRFs`, with noiseless answers.                                   unprotected

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
        'published' is the only mode.
    n_trees
        The number of trees.
    max_depth
        The most splits from the root to a leaf.
    max_features
        The number of columns that a node may choose from: a number, 'sqrt' (the square root of
        their number), or 'all'.
    criterion
        The score of a split.
    resample
        The rows that each tree sees.
    count_share
        0: nodes stop at the last level only. Otherwise nodes also stop with at most one record.
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
    def _tree_epsilon(self) -> float:
        """Epsilon 1, which queries must name; noiseless answers do not use it."""
        return 1.0  # queries need an epsilon, which noiseless answers do not use

    @property
    def _splits(self) -> dict[str, str]:
        """The arguments of `attributes_of`: splits as in corrected mode."""
        return {"cuts": self.cuts or "numbers", "children": self.categorical_splits}

    def measurements(self, table: PrivateTable) -> None:
        """Return None, because the baseline adds no noise."""

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Grow the forest from noiseless answers, and remove the charged epsilon of its nodes."""
        super()._fit(table.noiseless(REASON, claimed_epsilon=inf, random_ties=True), progress)
        self.forest_ = replace(self.forest_, spent=np.full(len(self.forest_.spent), np.nan))
