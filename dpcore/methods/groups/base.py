"""What methods share that release counts of generalized rows: a tree of them, its leaves, rows out of the leaves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon, exact
from dpcore.domain.column import Codes
from dpcore.domain.partition import Partition
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.methods.base import Synthesizer
from dpcore.methods.parameters import learned
from dpcore.postprocess.count_tree import HUGE, ReleasedTree
from dpcore.postprocess.simplex import project_rows, systematic_sample

Floats = NDArray[np.float64]
MOST_LEAVES = 1_000_000
ROUNDS = "h, the number of specializations."
LEAVES = "Groups x classes; a specialization that would make more is left out."
WORST = 1.1  # times the noise of leaves alone: the most that "leaves first" allows


class GeneralizingSynthesizer(Synthesizer):
    """A release of a tree of counts.

    Attributes
    ----------
    tree_ : ReleasedTree
        Partitions and noisy counts.
    leaf_counts_ : array
        The published counts of the finest partition's cells.
    rows_ : float
        The number of rows: public, or estimated from noisy answers.
    """

    tree_: ReleasedTree = learned()
    leaf_counts_: Floats = learned()
    rows_: float = learned()

    def _keep(
        self,
        partitions: Sequence[Partition],
        noisy: Sequence[Floats],
        variances: Sequence[float],
        *,
        consistency: bool = True,
        non_negative: bool = True,
        whole_noise: bool,
    ) -> None:
        """Set the tree, its leaves and the number of rows. A level that was bought for nothing says nothing."""
        known = [HUGE if np.isinf(v) and len(n) else v for v, n in zip(variances, noisy, strict=True)]
        self.tree_ = ReleasedTree(partitions, noisy, known, whole_noise=whole_noise)
        total = float(self.tree_.consistent.counts[0][0])
        if consistency:
            fitted = self.tree_.consistent
            self.leaf_counts_ = fitted.non_negative()[-1] if non_negative else fitted.counts[-1]
        else:
            total = float(noisy[0][0]) if self.tree_.measured[0] else total
            self.leaf_counts_ = nearest(noisy[-1], noisy[-1].sum()) if non_negative else noisy[-1]
        self.rows_ = max(total, 0.0)

    def generalized(self) -> pd.DataFrame:
        """The published generalized rows: block names per divided column, and last how many rows, a whole number."""
        return self.tree_.rows(self.leaf_counts_)

    def structure(self) -> dict[str, Any]:
        """See `Synthesizer.structure`: `tree` (`ReleasedTree.to_dict`) and the published `leaf_counts`."""
        return {"tree": self.tree_.to_dict(), "leaf_counts": self.leaf_counts_.tolist()}

    def _sample(self, n: int | None, rng: np.random.Generator) -> Codes:
        size = n or self._rows_of(self.rows_)
        weights = self.leaf_counts_
        if (weights < 0).any():
            weights = nearest(weights, weights.sum())
        if not weights.sum() > 0:
            weights = np.ones(len(weights))
        return self.tree_.leaves.draw(systematic_sample(weights, size, rng), rng)


def nearest(counts: Floats, total: float) -> Floats:
    """The nearest counts of 0 or more with that sum."""
    found: Floats = project_rows(counts[None, :], np.array([max(total, 0.0)]))[0]
    return found


def check_leaves(max_leaves: int, classes: int) -> None:
    """Raise ParameterError unless the leaves have room for the classes."""
    if classes > max_leaves:
        raise ParameterError("The class alone has more values than 'max_leaves'.", "Allow more leaves.")


def leaf_share(table: PrivateTable, epsilon: Epsilon) -> float:
    """The smallest share of epsilon whose noise on the leaves has at most `WORST` times the whole's deviation.

    The least-squares estimate of anything is at least as good as the leaves' own, so that this bounds every answer. The
    deviation of continuous noise is proportional to 1 / epsilon; that of noise on whole numbers falls faster.
    """
    low, high, most = 1 / WORST, 1.0, WORST**2 * (1 + 1e-9) * table.cell_variance(epsilon)
    if table.cell_variance(epsilon * exact(low)) <= most:
        return low
    for _ in range(30):
        middle = (low + high) / 2
        enough = table.cell_variance(epsilon * exact(middle)) <= most
        low, high = (low, middle) if enough else (middle, high)
    return high
