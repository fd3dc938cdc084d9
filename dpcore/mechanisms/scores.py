r"""Score functions for selection and noisy scoring, each with a sensitivity that is derived and brute-force tested.

A score maps a contingency table of counts N (rows: values of a child or an attribute; columns:
values of its parents or of the class) to a number. Under ``replace`` the number of rows n is public
and information scores are per record; under ``add_remove`` the same scores are multiplied by n,
because per-record values of tiny tables jump. The unit of information is the bit.

Notation: D_b(n) = (1/n) log2 n + ((n-1)/n) log2(n/(n-1)), D_g(n) = (2/n) log2((n+1)/2) + ((n-1)/n)
log2((n+1)/(n-1)), and g(m) = (m+1) log2(m+1) - m log2 m, which increases.

Floating point. A score c that is worked out in floats is out by some e, |e| <= h, from the q of the
formulas. So it moves by up to `sensitivity` + 2h, and a difference of two scores by up to 4h more
than in the formulas. Every score derives its 2h (`Bounds.rounding`) from what is public: the shapes
of tables, and a bound on the number of rows. A unit is 2^-53; an operation is right to one, NumPy's
logarithms to 16 at worst, and K numbers add up to within K units of the sum of their sizes, in any
order. Exactly sampled noise takes the computed scores as they are, as the rational numbers that
floats stand for, and its exponents are so much smaller, its scales so much larger, that what is
booked covers `rounding` too (`door.privacy_costs`). NumPy's noise, whose own floats can be attacked,
leaves it out.

Scores of dependence between columns come first, then those of classes of rows, then those of a
split.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log, log2, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes, Counts
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import Weights

__all__ = [
    "Bounds", "ClassLogScore", "ConditionalEntropy", "DistanceFromMarginals", "Entropy", "Gini", "InfoGain",
    "IntervalSplit", "Jaccard", "LinearF", "Max", "MutualInformation", "R", "Score", "Specialization", "SplitScore",
    "TableScore",
]  # fmt: skip

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

        `rows` is the public number of rows under replace, and a public upper bound (or None) under
        add_remove.
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
        for widths in by_shape.values():
            scores[widths] = self.of_many(np.stack([tables[i] for i in widths], axis=-1), relation)
        return scores

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """See `Score.bounds`: the largest over the candidates' shapes."""
        if not shapes:
            raise ParameterError(f"The score {self.name!r} has no candidate to score.", "Give one candidate or more.")
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


EXACT_HALVES = 2**23  # rows; below, 32 bits hold every count and half of one
MOST_ASSIGNED = 8  # parent values whose 2^8 assignments F tries one by one


class Entropy(TableScore):
    r"""H(X) under replace, n H(X) under add_remove.

    Replace: H = sum f(c), f(c) = -(c/n) log2(c/n) concave; moving one record from a cell to another
    changes H by increments of f, whose extremes are at c = 0 and c = n: at most D_b(n), attained
    from a constant column. Add_remove: n H = n log n - sum c log c; adding to a cell of count c
    changes it by g(n) - g(c), which lies in [0, g(n)]: monotone, tight, and in need of a public
    bound on n.
    """

    name = phrase("entropy")
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        totals = tables.sum(axis=(0, 1))
        return per_record(xlog2(totals) - xlog2(tables).sum(axis=(0, 1)), totals, relation)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class, and `information_rounding`."""
        n = need_rows(self.name, rows)
        step = binary_information_step(n) if relation is Relation.REPLACE else information_step(n)
        return step, information_rounding(shape, relation, n)


class MutualInformation(TableScore):
    r"""I(X; Pi) under replace, n I under add_remove.

    Replace: D_b(n) if X or Pi is binary, D_g(n) in general (Zhang et al., PrivBayes, Lemma 4.1).
    Add_remove: n I = n log n + sum c_xp log c_xp - sum c_x log c_x - sum c_p log c_p. Adding to
    cell (x, p) changes it by g(n) + g(c_xp) - g(c_x) - g(c_p). As g >= 0 increases and c_xp <= c_x,
    c_p <= n, this lies in [-g(n), g(n)].
    """

    name = phrase("mutual information")

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        children, parents = tables.sum(axis=1), tables.sum(axis=0)
        totals = parents.sum(axis=0)
        marginal_terms = xlog2(children).sum(axis=0) + xlog2(parents).sum(axis=0)
        return per_record(xlog2(totals) + xlog2(tables).sum(axis=(0, 1)) - marginal_terms, totals, relation)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class, and `information_rounding`."""
        n = need_rows(self.name, rows)
        if relation is Relation.ADD_REMOVE:
            step = information_step(n)
        elif min(shape) <= 2:
            step = binary_information_step(n)
        else:
            step = 2 / n * log2((n + 1) / 2) + ((n - 1) / n * log2((n + 1) / (n - 1)) if n > 1 else 0.0)
        return step, information_rounding(shape, relation, n)


class R(TableScore):
    r"""R = ½ ||P_XPi - P_X P_Pi||_1 under replace, n R under add_remove (PrivBayes, TODS 2017).

    Add_remove: write u, v for the added record's indicator vectors, p, q for the margins of the table before, n for
    the size after. T = N - N_x N_pi^T / n changes by exactly ((n-1)/n) (u-p)(v-q)^T. Half of its L1 norm is
    ½ ((n-1)/n) ||u-p||_1 ||v-q||_1 <= 2 (n-1)/n < 2 for every n, so no bound on n is needed.
    Replace: the difference of two such terms; its six unit-mass pieces give ||.||_1 <= 6 (n-1)/n, hence
    3 (n-1)/n^2 per record; if X or Pi is binary its two rows are negatives of each other, hence 2 (n-1)/n^2, tight.
    """

    name = "R"

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        children, parents = tables.sum(axis=1), tables.sum(axis=0)
        totals = parents.sum(axis=0)
        shares = parents / np.maximum(totals, 1)
        distance = sum(np.abs(row - child * shares).sum(axis=0) for row, child in zip(tables, children, strict=True))
        return per_record(distance / 2, totals, relation)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class.

        Cells are out by 3 units of N_xp and of its expectation, 2n in sum; their sum by a unit per
        addition.
        """
        units = 2 * (sum(shape) + 8) * UNIT
        if relation is Relation.ADD_REMOVE:
            return 2.0, units * most_rows(rows)
        n = need_rows(self.name, rows)
        return (2 if min(shape) <= 2 else 3) * (n - 1) / n**2, units


class LinearF(TableScore):
    r"""F of PrivBayes (SIGMOD 2014), for a binary child: minus half the L1 distance to a table of maximal information.

    F = -min over assignments of each parent value to 0 or 1 of (½ - K0)_+ + (½ - K1)_+, where K0 sums P(0, pi) over
    the values assigned to 0 and K1 sums P(1, pi) over the others. Each bracket is 1-Lipschitz in a sum of disjoint
    cells. Replace moves 1/n out of one cell and 1/n into another: the terms fall or rise by 1/n in total, because the
    two moves act on K0 + K1 in opposite directions, or each on its own bracket; the minimum over assignments inherits
    1/n. Add_remove, times n with n/2 as the target (no ceiling): the target moves by ½ in both brackets and one K by
    1, so the sum moves by at most 1. The minimum is found by trying every assignment of up to 8 parent values, and by
    dynamic programming over the parent values beyond.
    """

    name = "F"

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        if tables.shape[0] != 2:
            raise ParameterError("The score F needs a binary child.", "Use R for columns with more values.")
        if tables.shape[1] > MOST_ASSIGNED:
            return super().of_many(tables, relation)
        totals = tables.sum(axis=(0, 1))
        kind = np.float32 if totals.max(initial=0) < EXACT_HALVES else np.float64
        cells, target = tables.astype(kind), (totals / 2).astype(kind)
        zero, one = target.copy(), target - cells[1].sum(axis=0)  # what each sum lacks: all go to 1
        shortfall = np.maximum(zero, 0) + np.maximum(one, 0)
        lack, more = np.empty_like(shortfall), np.empty_like(shortfall)
        # Gray code: one parent value changes sides per step
        for step in range(1, 2 ** tables.shape[1]):
            bit = (step & -step).bit_length() - 1
            to_zero = (step ^ step >> 1) >> bit & 1
            (np.subtract if to_zero else np.add)(zero, cells[0, bit], out=zero)
            (np.add if to_zero else np.subtract)(one, cells[1, bit], out=one)
            np.add(np.maximum(zero, 0, out=lack), np.maximum(one, 0, out=more), out=lack)
            np.minimum(shortfall, lack, out=shortfall)
        return per_record(-shortfall.astype(float), totals, relation)

    def of(self, table: Counts, relation: Relation) -> float:
        """See `TableScore.of`; one table with any number of parent values."""
        if table.shape[1] <= MOST_ASSIGNED or table.shape[0] != 2:
            return super().of(table, relation)
        total = table.sum()
        cap = float(total) / 2
        best = {0.0: 0.0}  # sum assigned to 0, capped -> largest capped sum assigned to 1
        for zero, one in table.T:
            following: dict[float, float] = {}
            for a, b in best.items():
                for key, value in ((min(a + zero, cap), b), (a, min(b + one, cap))):
                    following[key] = max(value, following.get(key, -1.0))
            best = following
        shortfall = min((cap - a) + (cap - b) for a, b in best.items())
        return float(per_record(np.array(-shortfall), total, relation))

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class. Halves are exact; per record, the division is out by one unit."""
        return (1.0, 0.0) if relation is Relation.ADD_REMOVE else (1.0 / need_rows(self.name, rows), 4 * UNIT)


class Jaccard(TableScore):
    """|x and y| / |x or y| of two binary columns (1 if the union is empty).

    The union may be a single record, so one person can move the index from 0 to 1 or from 1 to 0:
    sensitivity 1.
    """

    name = "Jaccard"

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        union = tables.sum(axis=(0, 1)) - tables[0, 0]
        return np.where(union > 0, tables[1, 1] / np.maximum(union, 1), 1.0)

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class; one division."""
        return 1.0, 2 * UNIT


def information_rounding(shape: Shape, relation: Relation, n: int) -> float:
    """What `Bounds.rounding` is for sums of x log2 x over a table and its margins.

    Such a sum over the table, a margin or the total is n log2 n at most; a term is right to 32
    units, and K terms add up to within K units of the sum of their sizes, in any order. Of the four
    sums and the three additions between them a value is out by 4 (K + 40) units of n log2 n at
    most; a change by twice that. The constants, which are logarithms of numbers next to 1, are out
    by less than 16 n units. Per record, divide by n.
    """
    units = 8 * (prod(shape) + 48) * (log2(n) + 2) * UNIT
    return n * units if relation is Relation.ADD_REMOVE else units


def information_step(n: int) -> float:
    """g(n): the most that one added record moves n times an entropy or mutual information."""
    return log2(n + 1) + n * log2((n + 1) / n)


def binary_information_step(n: int) -> float:
    """D_b(n): the most that one replaced record moves an entropy, or a mutual information with a binary side."""
    return (log2(n) + (n - 1) * log2(n / (n - 1))) / n if n > 1 else 0.0


@dataclass(frozen=True, eq=False)
class DistanceFromMarginals(Score):
    r"""½ sum |M - m| - penalty * cells: how far a table M of counts is from a released one, m.

    Only M is private: m is made of noisy answers, and the penalty is public. So the score is half
    an L1 distance of M to a fixed table, and moves by at most half of what one person moves M in
    L1: ½ under add_remove, 1 under replace. (Against noiseless margins, which move with M, the same
    distance has up to four times that sensitivity: see `R`.)

    `tables` has m for each candidate, and `penalty` is one for all of them, or one for each. With
    `merges`, M is of merged values: for each candidate and axis, the merged value of every value,
    public as well. Merging is record by record, and sums of counts are exact.

    `factors` are public, too: each candidate's score is multiplied by its own, and one person moves
    it by so many times as much. The sensitivity of all is that of the largest one.
    """

    tables: Sequence[Floats]
    penalty: float | Sequence[float]
    merges: Sequence[Sequence[Ints]] | None = None
    factors: Sequence[float] | None = None
    name = phrase("distance from released margins")

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        """See `Score.values`."""
        known = dict[int, Floats]()  # the same few merges stand in many candidates
        # and the same table in some that differ by their penalty
        found = dict[tuple[object, ...], float]()
        tables = list(self.tables)  # which holds them, as long as their ids stand for them
        distances = np.empty(len(tables))
        for i, (expected, table) in enumerate(zip(tables, count(candidates), strict=True)):
            merges = () if self.merges is None else self.merges[i]
            same = id(expected), *candidates[i], *map(id, merges)
            if same not in found:
                counts = table if self.merges is None else merged_counts(table, merges, known)
                found[same] = float(np.abs(counts.reshape(expected.shape) - expected).sum() / 2)
            distances[i] = found[same]
        scores: Floats = distances - np.multiply(self.penalty, [expected.size for expected in tables])
        return scores if self.factors is None else scores * self.factors

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """See the class. Rounding: a unit of every cell's distance, of their sum per addition, and of the product.

        The released table is what it is in floats, for both neighbors.
        """
        cells = max(table.size for table in self.tables)
        different = {id(table): table for table in self.tables}.values()
        distance = most_rows(rows) + 2 * max(float(np.abs(table).sum()) for table in different)
        largest = 1.0 if self.factors is None else max(map(abs, self.factors))
        rounding = largest * (cells + 5) * UNIT * (distance + 2 * float(np.max(self.penalty)) * cells)
        sensitivity = largest * relation.histogram_l1 / 2
        return Bounds(sensitivity, 2 * sensitivity, rounding)


def merged_counts(table: Counts | Floats, merges: Sequence[Ints], known: dict[int, Floats]) -> Floats:
    """The table of counts of merged values: for each axis, the merged value of every value, from 0 without gaps.

    Sums of counts are exact in floats. `known` has the matrix of 0 and 1 of each merge by its
    identity.
    """
    for merge in merges:
        if id(merge) not in known:
            known[id(merge)] = (merge[:, None] == np.arange(merge.max() + 1)).astype(float)
    found: Floats = table.astype(float)
    if len(merges) == 2:  # the usual case, in a tenth of the time
        first, second = (known[id(merge)] for merge in merges)
        return np.asarray(first.T @ found @ second)
    for merge in merges:  # each takes the first axis away, and adds one at the end
        found = np.tensordot(found, known[id(merge)], (0, 0))
    return found


MOST_VALUES = 1 << 20  # of a column


@dataclass(frozen=True)
class ClassLogScore(Score):
    r"""q(D, x, c) = log p(c) + sum_j log p(x_j | c) of smoothed naive Bayes, for public rows x (paper 000, eq. 8).

    Add_remove: with a smoothed prior, and after dropping the prior's normalizer (the same for all
    classes, so it cancels in the selection), a record of class c moves the score of c only. Its
    prior term rises by ln((N_c+1+s)/(N_c+s)) <= ln((1+s)/s). An attribute's term rises by at most
    ln((N+1+s)/(N+s)) <= ln((1+s)/s) if x_j is the record's value, and otherwise falls by
    ln((N_c+1+s S_j)/(N_c+s S_j)) <= ln((1+s S_j)/(s S_j)), which is smaller. Hence |change| <=
    (n_attributes + 1) ln((1+s)/s) for one candidate, and selection with exponent q costs that once.
    Replace is one removal and one addition: twice that loss.

    Queries are the public rows x, as codes of shape (m, n_features); the smoothing is s, and
    positive (Laplace: 1).
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

        Rounding: with B the largest logarithm, a term is out by 32 B units and by as many units as
        there are additions in its sum over values; the sum of J + 1 terms by J + 1 units of (J + 1)
        B.
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


class SplitScore(TableScore):
    """A score of a split: rows are the groups that records fall into, columns the classes.

    Candidates name the class last; all columns before it make the groups together.
    """

    def flat(self, shape: Shape) -> tuple[int, int]:
        """Groups x classes: the last axis holds the classes."""
        return prod(shape[:-1]), shape[-1]


class Max(SplitScore):
    """Max = sum over rows j of max_c N_jc (Friedman and Schuster 2010).

    A record moves one cell by 1 and hence one row's maximum by at most 1, upward when added:
    sensitivity 1, monotone. A replaced record lowers one row maximum by at most 1 and raises one by
    at most 1: sensitivity 1.
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

    One row is S/t - t with S = sum_c t_c^2. Adding a record of class c changes it by t (2x - 1 -
    y)/(t + 1), where x = t_c/t and y = S/t^2. From x^2 <= y follows 2x - 1 - y <= -(1 - x)^2 <= 0,
    from y <= 1 at least -2: the change lies in (-2, 0], monotone, sensitivity 2. A replacement is
    one such fall and one such rise, so again at most 2.
    """

    name = "Gini"
    monotone_when_added = True

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        totals = tables.sum(axis=1)
        squares = (tables.astype(float) ** 2).sum(axis=1)
        return np.asarray((squares / np.maximum(totals, 1)).sum(axis=0) - totals.sum(axis=0))

    def moved(self, shape: Shape, relation: Relation, rows: int | None) -> tuple[float, float]:
        """See the class.

        A row is out by a unit of itself per class and 2 more, and the sum, of n at most, by a unit
        per row.
        """
        return 2.0, 2 * (sum(shape) + 8) * UNIT * most_rows(rows)


class ConditionalEntropy(SplitScore):
    """-|T| H(C|A) = sum_jc t_jc log2(t_jc / t_j), count-scaled.

    Adding a record to cell (j, c) changes the score by g(t_jc) - g(t_j), which lies in [-g(t_j),
    0]: monotone, and g(N) = log2(N+1) + N log2(1 + 1/N) <= log2(N_max + 1) + 1/ln 2. A replacement
    is one such fall and one such rise.
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

    It lies in [0, log2 |C|], and both ends are attained by neighboring tables on tiny nodes, so
    nothing better than the range can be said without a lower bound on the node's size.
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
        """See the class; what one person moves does not depend on the number of groups, only rounding does."""
        return self.rated_by.bounds([(self.groups, self.classes)], relation, rows)

    @property
    def groups(self) -> int:
        """Into how many finer values a candidate divides at most."""
        return 2


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalSplit(OwnCandidates):
    """Places at which an interval of a column's codes, from `low` to `high - 1`, may be cut in two.

    Codes below a place go left. By default all from `low + 1` to `high - 1` are candidates,
    whatever the data. Places up to `worthless_below` score 0 whatever is there (a fault of
    published code; nobody else needs it).
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
class Specialization(OwnCandidates):
    """Values that may be divided next, and maybe all places where intervals of codes may be cut, in one choice.

    How well a value, divided into finer ones, would tell the classes apart (DiffGen: Mohammed et
    al., KDD 2011). A candidate looks at the records of one value only: its table has a row per
    finer value, and its total is private. A record that is added or removed moves one cell of it or
    none, so the sensitivities of `Max` (1) and of the information gain (its range) hold as they
    stand, and so does that Max only rises. A replaced record may leave a candidate's table and
    enter another's: Max falls by at most 1 in the one and rises by at most 1 in the other:
    sensitivity 1 again.

    A division names the candidate's column, and for each of its codes the finer value's number, or
    -1 if the code is not of this value. The divisions are the first candidates; then follow the
    places of `intervals` (column name, low, high) of two codes or more. A value weighs 1, and so
    does an interval, whose places share it evenly: an interval of many bins is no more probable for
    having many places. Weights are public, so that sensitivity and loss are as said.
    """

    divisions: Sequence[tuple[str, NDArray[np.integer[Any]]]]
    intervals: Sequence[tuple[str, int, int]] | None = None

    @property
    def groups(self) -> int:
        return max([2, *(int(groups.max()) + 1 for _, groups in self.divisions)])

    @property
    def weights(self) -> Weights | None:
        if self.intervals is None:
            return None
        widths = [high - low - 1 for _, low, high in self.intervals]
        sharing = np.append(np.ones(len(self.divisions), dtype=np.int64), np.repeat(widths, widths))
        return Weights(np.ones_like(sharing), sharing)

    def values(self, count: CountTables, candidates: Sequence[Sequence[str]], relation: Relation) -> Floats:
        tables = count([(column, self.target) for column, _ in self.divisions])
        divided = zip(tables, self.divisions, strict=True)
        rated = [self.rated_by.of(sum_by_group(table, groups), relation) for table, (_, groups) in divided]
        how: dict[str, Any] = {"target": self.target, "classes": self.classes, "rated_by": self.rated_by}
        splits = (IntervalSplit(**how, column=name, low=low, high=high) for name, low, high in self.intervals or ())
        return np.concatenate([rated, *(split.values(count, candidates, relation) for split in splits)])


def sum_by_group(table: Counts, groups: NDArray[np.integer[Any]]) -> Counts:
    """Rows of a table added up by group; rows of group -1 are left out."""
    inside = groups >= 0
    summed = np.zeros((int(groups.max()) + 1, table.shape[1]), dtype=table.dtype)
    np.add.at(summed, groups[inside], table[inside])
    return summed
