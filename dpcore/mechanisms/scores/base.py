"""What the door needs to know of a score, and the form that scores of one contingency table share."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats
from dpcore.domain.column import Counts
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Weights

UNIT = 2.0**-53  # the relative error of one operation

CountTables = Callable[[Sequence[Sequence[str]]], list[Counts]]
Shape = tuple[int, ...]


class Bounds(NamedTuple):
    """What one person may do to the scores of some candidates.

    sensitivity  the most that one person moves any candidate's score
    loss         the epsilon that selection with probability proportional to exp(score) costs. Twice the sensitivity in
                 general; once if one person moves all scores the same way or moves one score only (then the normalizing
                 sum cannot move against the numerator). Permute-and-flip costs no more: its loss is at most the largest
                 change of a difference of two scores.
    rounding     by how much one person may move a score's floating-point value further than `sensitivity`; see the
                 package. The change of a difference of two scores, and with it the loss, grows by at most twice that.
    """

    sensitivity: float
    loss: float
    rounding: float


class Score(ABC):
    """What the door's exponential mechanism needs to know of a score."""

    name: str

    @property
    def weights(self) -> Weights | None:
        """The public weights by which selection multiplies; None if all are 1.

        No epsilon depends on them: they are the same for neighbors.
        """
        return None

    @abstractmethod
    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        """Noiseless scores, candidates along the last axis. Private."""

    @abstractmethod
    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """What one person may do to candidates with tables of these shapes.

        `rows` is the public number of rows under replace, and a public upper bound (or None) under add_remove.
        """


class TableScore(Score):
    """A score of one contingency table, flattened to two axes; candidates are sets of columns, the child first."""

    monotone_when_added: bool = False

    def flat(self, shape: Shape) -> tuple[int, int]:
        """The two axes of a table of this shape: child x parents."""
        return shape[0], prod(shape[1:])

    def of(self, table: Counts, relation: Relation) -> float:
        """The score of one table of counts. A score defines this or `of_many`."""
        return float(self.of_many(table[..., None], relation)[0])

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        """The scores of m tables of one shape, shape (rows, columns, m) to (m,)."""
        return np.array([self.of(tables[..., i], relation) for i in range(tables.shape[-1])], dtype=float)

    @abstractmethod
    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """`Bounds.sensitivity` and `Bounds.rounding` for one table of this shape."""

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        """See `Score.values`; tables of one shape are scored together."""
        by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
        tables = [table.reshape(self.flat(table.shape)) for table in count(candidates)]
        for i, table in enumerate(tables):
            by_shape[table.shape].append(i)
        scores = np.empty(len(tables))
        for places in by_shape.values():
            scores[places] = self.of_many(np.stack([tables[i] for i in places], axis=-1), relation)
        return scores

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """See `Score.bounds`: the largest over the candidates' shapes."""
        if not shapes:
            raise ParameterError(f"The score {self.name!r} has nothing to rate.", "Give one candidate or more.")
        found = [self.moved(shape, relation, rows) for shape in {self.flat(shape) for shape in shapes}]
        sensitivity, rounding = (max(column) for column in zip(*found, strict=True))
        one_way = self.monotone_when_added and relation is Relation.ADD_REMOVE
        return Bounds(sensitivity, (1 if one_way else 2) * sensitivity, rounding)


def xlog2(counts: NDArray[np.number]) -> Floats:
    """x log2 x with 0 at 0."""
    x = np.asarray(counts, dtype=float)
    return x * np.log2(np.where(x > 0, x, 1.0))


def per_record(values: Floats, totals: Counts, relation: Relation) -> Floats:
    """Count-scaled under add_remove, divided by n under replace."""
    return values if relation is Relation.ADD_REMOVE else values / np.maximum(totals, 1)


def need_rows(name: str, rows: int | None) -> int:
    """The public number (or bound on the number) of rows, or a ParameterError that says where to declare it."""
    if rows is None:
        raise ParameterError(
            f"The score {name!r} needs a public bound on the number of rows under add_remove.",
            "Declare a max_rows in the schema that the table does not exceed.",
        )
    return max(rows, 1)  # an empty table has no neighbors of its size


def most_rows(rows: int | None) -> int:
    """At most how many rows there are: what is public, or what record numbers of 32 bits allow."""
    return 1 << 31 if rows is None else max(rows, 1)
