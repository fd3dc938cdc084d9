"""The score of a pair of columns beside margins that were released before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from dpcore.accounting.ledger import Relation
from dpcore.mechanisms.scores.base import UNIT, CountTables, Floats, Score, Shape, most_rows

__all__ = ["DistanceFromMargins"]


@dataclass(frozen=True, eq=False)
class DistanceFromMargins(Score):
    r"""½ sum |M(p, x, c) - m(p, c) m(x, c) / m(c)| - penalty * cells: what a table tells beyond released margins.

    Only M is private: the margins m are noisy answers, and the penalty is public. So the score is half an L1 distance
    of M to a fixed table, and moves by at most half of what one person moves M in L1: ½ under add_remove, 1 under
    replace.
    (Against exact margins, which move with M, the same distance has up to four times that sensitivity: see `R`.)

    Parameters
    ----------
    margins : mapping from column name to array of shape (values, classes)
        Noisy, non-negative.
    totals : array of shape (classes,)
        Their common sums, positive.
    penalty : float
        Per cell, in counts.
    """

    margins: Mapping[str, Floats]
    totals: Floats
    penalty: float
    name = "distance from released margins"

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        """See `Score.values`; candidates are (column, column) or (column, column, class)."""
        scores = []
        for (first, second, *_), table in zip(candidates, count(candidates), strict=True):
            expected = self.margins[first][:, None] * self.margins[second][None] / self.totals
            distance = np.abs(table.reshape(expected.shape) - expected).sum() / 2
            scores.append(distance - self.penalty * table.size)
        return np.array(scores)

    def sensitivity(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> float:
        """See the class."""
        return relation.histogram_l1 / 2

    def exponent_loss(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> float:
        """See `Score.exponent_loss`."""
        return 2 * self.sensitivity(shapes, relation, rows)

    def rounding(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> float:
        """See `Score.rounding`: a unit of every cell's distance, and of their sum per addition.

        The fixed table is what it is in floats, for both neighbors; its cells sum to the totals' sum, but for rounding.
        """
        cells = max(prod(shape) for shape in shapes)
        distance = most_rows(rows) + 2 * float(self.totals.sum())
        return (cells + 4) * UNIT * (distance + 2 * self.penalty * cells)
