"""Scores of a split: rows are the groups that records fall into, columns the classes.

Candidates name the class last; all columns before it make the groups together.

`Specialization`  How well one value, divided into finer ones, would tell the classes apart (DiffGen: Mohammed et al.,
KDD 2011). A candidate looks at the records of one value only: its table has a row per finer value, and its total is
private. A record that is added or removed moves one cell of it or none, so the sensitivities of `Max` (1) and of the
information gain (its range) hold as they stand, and so does that Max only rises. A replaced record may leave a
candidate's table and enter another's: Max falls by at most 1 in the one and rises by at most 1 in the other:
sensitivity 1 again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Counts
from dpcore.language import phrase
from dpcore.mechanisms.noise import Weights
from dpcore.mechanisms.scores.base import (
    UNIT,
    Bounds,
    CountTables,
    Score,
    Shape,
    TableScore,
    most_rows,
    need_rows,
    xlog2,
)
from dpcore.mechanisms.scores.dependence import MutualInformation, information_rounding


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
        return np.asarray(tables.max(axis=1).sum(axis=0), dtype=float)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class; whole numbers are exact."""
        return 1.0, 0.0


class Gini(SplitScore):
    """Gini = -sum_j t_j (1 - sum_c (t_jc/t_j)^2), the negative count-scaled impurity (Friedman and Schuster 2010).

    One row is S/t - t with S = sum_c t_c^2. Adding a record of class c changes it by t (2x - 1 - y)/(t + 1), where
    x = t_c/t and y = S/t^2. From x^2 <= y follows 2x - 1 - y <= -(1 - x)^2 <= 0, from y <= 1 at least -2: the change
    lies in (-2, 0], monotone, sensitivity 2. A replacement is one such fall and one such rise, so again at most 2.
    """

    name = "Gini"
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        totals = tables.sum(axis=1)
        squares = (tables.astype(float) ** 2).sum(axis=1)
        return np.asarray((squares / np.maximum(totals, 1)).sum(axis=0) - totals.sum(axis=0))

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class.

        A row is out by a unit of itself per class and 2 more, and the sum, of n at most, by a unit per row.
        """
        return 2.0, 2 * (sum(shape) + 8) * UNIT * most_rows(rows)


class ConditionalEntropy(SplitScore):
    """-|T| H(C|A) = sum_jc t_jc log2(t_jc / t_j), count-scaled.

    Adding a record to cell (j, c) changes the score by g(t_jc) - g(t_j), which lies in [-g(t_j), 0]: monotone, and
    g(N) = log2(N+1) + N log2(1 + 1/N) <= log2(N_max + 1) + 1/ln 2. A replacement is one such fall and one such rise.
    """

    name = phrase("conditional entropy")
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        return np.asarray(xlog2(tables).sum(axis=(0, 1)) - xlog2(tables.sum(axis=1)).sum(axis=0))

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class, and `information_rounding`; it is count-scaled under either relation."""
        n = need_rows(self.name, rows)
        return log2(n + 1) + 1 / log(2), information_rounding(shape, Relation.ADD_REMOVE, n)


class InfoGain(SplitScore):
    """Information gain per record, H(C) - H(C|A), in bits, of a node of unknown size.

    It lies in [0, log2 |C|], and both ends are attained by neighboring tables on tiny nodes, so nothing better than
    the range can be said without a lower bound on the node's size.
    """

    name = phrase("information gain")

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        return MutualInformation().of_many(tables, Relation.REPLACE)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class, and `information_rounding`; it is per record of the node under either relation."""
        return log2(max(shape[1], 2)), information_rounding(shape, Relation.REPLACE, most_rows(rows))


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnCandidates(Score):
    """A score that names its candidates, and rates each by a score of groups x classes (codes of the target).

    That one's sensitivity must not rest on the number of rows, which it is not told.
    """

    target: str
    classes: int
    rated_by: SplitScore
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.rated_by.name)  # the ledger names the score inside

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """See the module; what one person moves does not depend on the number of groups, only rounding does."""
        return self.rated_by.bounds([(self.groups, self.classes)], relation, rows)

    @property
    def groups(self) -> int:
        """Into how many finer values a candidate divides at most."""
        return 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Specialization(OwnCandidates):
    """Values that may be divided next.

    A division names the candidate's column, and for each of its codes the finer value's number, or -1 if the code is
    not of this value.
    """

    divisions: Sequence[tuple[str, NDArray[np.integer[Any]]]]

    @property
    def groups(self) -> int:
        return max(int(groups.max()) + 1 for _, groups in self.divisions)

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        tables = count([(column, self.target) for column, _ in self.divisions])
        divided = zip(tables, self.divisions, strict=True)
        return np.array([self.rated_by.of(grouped(table, groups), relation) for table, (_, groups) in divided])


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalSplit(OwnCandidates):
    """Places at which an interval of a column's codes, from `low` to `high - 1`, may be cut in two.

    Codes below a place go left. By default all from `low + 1` to `high - 1` are candidates, whatever the data. Places
    up to `worthless_below` score 0 whatever is there (a fault of published code; nobody else needs it).
    """

    column: str
    low: int
    high: int
    places: Sequence[int] = ()
    worthless_below: int = -1

    @property
    def cuts(self) -> Ints:
        """The candidates."""
        return np.array(self.places or range(self.low + 1, self.high), dtype=np.intp)

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        table = count([(self.column, self.target)])[0][self.low : self.high]
        left = np.cumsum(table, axis=0)[self.cuts - self.low - 1].T
        scores = self.rated_by.of_many(np.stack([left, table.sum(axis=0)[:, None] - left]), relation)
        return np.where(self.cuts <= self.worthless_below, 0.0, scores)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointSpecialization(Specialization):
    """Values that may be divided next, and all places where intervals of codes may be cut, in one choice.

    A value weighs 1, and so does an interval, whose places share it evenly: an interval of many bins is no more
    probable for having many places. Per candidate, what one person moves is what `Specialization` and `IntervalSplit`
    say, and weights are public, so that sensitivity and loss are theirs.

    The divisions are the first candidates; then follow the places of intervals (column name, low, high) of two codes or
    more.
    """

    intervals: Sequence[tuple[str, int, int]]

    @property
    def groups(self) -> int:
        return max([2, *(int(groups.max()) + 1 for _, groups in self.divisions)])

    @property
    def weights(self) -> Weights:
        places = [1] * len(self.divisions) + [high - low - 1 for _, low, high in self.intervals]
        sharing = np.repeat(places, [1] * len(self.divisions) + places[len(self.divisions) :])
        return Weights(np.ones_like(sharing), sharing)

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        parts = [super().values(count, candidates, relation)] if self.divisions else []
        how: dict[str, Any] = {"target": self.target, "classes": self.classes, "rated_by": self.rated_by}
        for name, low, high in self.intervals:
            interval = IntervalSplit(**how, column=name, low=low, high=high)
            parts.append(interval.values(count, candidates, relation))
        return np.concatenate(parts)


def grouped(table: Counts, groups: NDArray[np.integer[Any]]) -> Counts:
    """Rows of a table added up by group; rows of group -1 are left out."""
    inside = groups >= 0
    summed = np.zeros((int(groups.max()) + 1, table.shape[1]), dtype=table.dtype)
    np.add.at(summed, groups[inside], table[inside])
    return summed
