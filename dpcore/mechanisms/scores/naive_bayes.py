"""The log score by which paper 000 labels rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats
from dpcore.domain.column import Codes
from dpcore.language import phrase
from dpcore.mechanisms.scores.base import UNIT, Bounds, CountTables, Score, Shape, most_rows

MOST_VALUES = 1 << 20  # of a column


@dataclass(frozen=True)
class ClassLogScore(Score):
    r"""q(D, x, c) = log p(c) + sum_j log p(x_j | c) of smoothed naive Bayes, for public rows x (paper 000, eq. 8).

    Add_remove: with a smoothed prior, and after dropping the prior's normalizer (the same for all classes, so it
    cancels in the selection), a record of class c moves the score of c only. Its prior term rises by
    ln((N_c+1+s)/(N_c+s)) <= ln((1+s)/s). An attribute's term rises by at most ln((N+1+s)/(N+s)) <= ln((1+s)/s) if x_j
    is the record's value, and otherwise falls by ln((N_c+1+s S_j)/(N_c+s S_j)) <= ln((1+s S_j)/(s S_j)), which is
    smaller. Hence |change| <= (n_attributes + 1) ln((1+s)/s) for one candidate, and selection with exponent q costs
    that once. Replace is one removal and one addition: twice that loss.

    Queries are the public rows x, as codes of shape (m, n_features); the smoothing is s, and positive (Laplace: 1).
    """

    target: str
    features: tuple[str, ...]
    queries: Codes
    smoothing: float
    name = phrase("naive-Bayes log score")

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        """See `Score.values`; shape (m, n_classes)."""
        tables = count([(self.target,), *((self.target, feature) for feature in self.features)])
        return class_log_scores(np.log(tables[0] + self.smoothing), tables[1:], self.queries, self.smoothing)

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """See the class: one candidate moves per added or removed record, hence the loss.

        Rounding: with B the largest logarithm, a term is out by 32 B units and by as many units as there are additions
        in its sum over values; the sum of J + 1 terms by J + 1 units of (J + 1) B.
        """
        terms = len(self.features) + 1
        largest = 2 * log(most_rows(rows) + self.smoothing * MOST_VALUES) + abs(log(self.smoothing))
        rounding = 2 * terms * (MOST_VALUES + (40 + terms) * largest) * UNIT
        sensitivity = relation.histogram_l1 * terms * log((1 + self.smoothing) / self.smoothing)
        return Bounds(sensitivity, sensitivity, rounding)


def class_log_scores(log_prior: Floats, tables: Sequence[NDArray[np.number]], rows: Codes, smoothing: float) -> Floats:
    """log p(c) + sum_j log p(x_j | c) for rows of codes, shape (m, n_classes), from class x value tables of counts."""
    scores = np.tile(log_prior, (len(rows), 1))
    for j, table in enumerate(tables):
        smoothed = table + smoothing
        conditional = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
        scores += conditional.T[rows[:, j]]
    return scores
