"""Scores of a split: rows are the groups that records fall into, columns the classes.

Candidates name the class last; all columns before it make the groups together.
"""

from __future__ import annotations

from math import log, log2, prod

import numpy as np

from dpcore.accounting.ledger import Relation
from dpcore.domain.column import Counts
from dpcore.mechanisms.scores.base import UNIT, Floats, Shape, TableScore, most_rows, need_rows, xlog2
from dpcore.mechanisms.scores.information import MutualInformation, information_rounding

__all__ = ["ConditionalEntropy", "Gini", "InfoGain", "Max", "SplitScore"]


class SplitScore(TableScore):
    """A score of groups x classes."""

    def flat(self, shape: Shape) -> tuple[int, int]:
        """Groups x classes: the last axis holds the classes."""
        return prod(shape[:-1]), shape[-1]


class Max(SplitScore):
    """Max = sum over rows j of max_c N_jc (Friedman and Schuster 2010).

    A record moves one cell by 1 and hence one row's maximum by at most 1, upward when added: sensitivity 1, monotone.
    A replaced record lowers one row maximum by at most 1 and raises one by at most 1: sensitivity 1.
    """

    name = "Max"
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        """See `TableScore.of_many`."""
        sums: Floats = tables.max(axis=1).sum(axis=0).astype(float)
        return sums

    def table_sensitivity(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See the class."""
        return 1.0

    def table_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """Whole numbers are exact."""
        return 0.0


class Gini(SplitScore):
    """Gini = -sum_j t_j (1 - sum_c (t_jc/t_j)^2), the negative count-scaled impurity (Friedman and Schuster 2010).

    One row is S/t - t with S = sum_c t_c^2. Adding a record of class c changes it by t (2x - 1 - y)/(t + 1), where
    x = t_c/t and y = S/t^2. From x^2 <= y follows 2x - 1 - y <= -(1 - x)^2 <= 0, from y <= 1 at least -2: the change
    lies in (-2, 0], monotone, sensitivity 2. A replacement is one such fall and one such rise, so again at most 2.
    """

    name = "Gini"
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        """See `TableScore.of_many`."""
        totals = tables.sum(axis=1)
        squares = (tables.astype(float) ** 2).sum(axis=1)
        found: Floats = (squares / np.maximum(totals, 1)).sum(axis=0) - totals.sum(axis=0)
        return found

    def table_sensitivity(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See the class."""
        return 2.0

    def table_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """A row is out by a unit of itself per class and 2 more, and the sum, of n at most, by a unit per row."""
        return 2 * (sum(shape) + 8) * UNIT * most_rows(rows)


class ConditionalEntropy(SplitScore):
    """-|T| H(C|A) = sum_jc t_jc log2(t_jc / t_j), count-scaled.

    Adding a record to cell (j, c) changes the score by g(t_jc) - g(t_j), which lies in [-g(t_j), 0]: monotone, and
    g(N) = log2(N+1) + N log2(1 + 1/N) <= log2(N_max + 1) + 1/ln 2. A replacement is one such fall and one such rise.
    """

    name = "conditional entropy"
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        """See `TableScore.of_many`."""
        found: Floats = xlog2(tables).sum(axis=(0, 1)) - xlog2(tables.sum(axis=1)).sum(axis=0)
        return found

    def table_sensitivity(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See the class."""
        return log2(need_rows(self.name, rows) + 1) + 1 / log(2)

    def table_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See `information_rounding`; it is count-scaled under either relation."""
        return information_rounding(shape, Relation.ADD_REMOVE, need_rows(self.name, rows))


class InfoGain(SplitScore):
    """Information gain per record, H(C) - H(C|A), in bits, of a node of unknown size.

    It lies in [0, log2 |C|], and both ends are attained by neighboring tables on tiny nodes, so nothing better than
    the range can be said without a lower bound on the node's size.
    """

    name = "information gain"

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        """See `TableScore.of_many`."""
        return MutualInformation().of_many(tables, Relation.REPLACE)

    def table_sensitivity(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See the class."""
        return log2(max(shape[1], 2))

    def table_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> float:
        """See `information_rounding`; it is per record of the node under either relation."""
        return information_rounding(shape, Relation.REPLACE, most_rows(rows))
