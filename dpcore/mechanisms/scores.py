"""Scores for private selection, each with a derived sensitivity that tests confirm by brute force.

A score maps a contingency table of counts N to a number. The rows of N are values of a child or
another column; its columns are values of the parents or classes. Under ``replace`` the number of
rows n of the data set is public, and information scores are per record. Under ``add_remove`` the
same scores are multiplied by n, because per-record values of tiny tables jump. Information is
measured in bits.

Notation: D_b(n) = (1/n) log2 n + ((n-1)/n) log2(n/(n-1)), D_g(n) = (2/n) log2((n+1)/2) + ((n-1)/n)
log2((n+1)/(n-1)), and g(m) = (m+1) log2(m+1) - m log2 m, which increases.

Floating point. A score computed in floats differs from the q of the formulas by some e with |e| <=
h. So between neighbors it changes by up to `sensitivity` + 2h, and a difference of two scores by up
to 4h more than in the formulas. Every score derives its 2h (`Bounds.rounding`) from public facts:
the shapes of tables, and a bound on the number of rows. A unit is 2^-53. An operation has an error
of one unit, NumPy's logarithms of 16 at worst. A sum of K numbers has one of K units of the sum of
their absolute values, in any order. Exactly sampled noise takes the computed scores as they are, as
the rational numbers that floats stand for. Its selection factors are reduced, and its scales
enlarged, so that the privacy loss in the ledger covers `rounding` too (`door.privacy_costs`).
NumPy's noise, whose own floats can be attacked, ignores `rounding`.

Scores of dependence between columns come first, then scores of classes of rows, then scores of
splits.
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
    "Bounds", "ClassLogScore", "ConditionalEntropy", "DistanceFromMarginals", "Entropy", "Gini",
    "InfoGain", "IntervalSplit", "Jaccard", "LinearF", "Max", "MutualInformation", "R", "Score",
    "Specialization", "SplitScore", "TableScore",
]  # fmt: skip

UNIT = 2.0**-53  # the relative error of one operation

Candidates = Sequence[Sequence[str]]
CountTables = Callable[[Candidates], list[Counts]]
Shape = tuple[int, ...]
Pair = tuple[float, float]


class Bounds(NamedTuple):
    """Bounds on the change that one person can make to the scores of some candidates.

    sensitivity  the largest change of any candidate's score between neighboring data sets
    loss         the epsilon of selection with probability proportional to exp(score). In general it
                 is twice the sensitivity. It is once the sensitivity if one person changes all
                 scores in the same direction, or one score only: then the normalizing sum cannot
                 change against the numerator. Permute-and-flip has no larger loss: at most the
                 largest change of a difference of two scores.
    rounding     how much further than `sensitivity` a score's floating-point value can change; see
                 the module. A difference of two scores, and the loss, grows by at most twice
                 `rounding`.
    """

    sensitivity: float
    loss: float
    rounding: float


class Score(ABC):
    """Score of the door's exponential mechanism, with the bounds that its privacy loss needs."""

    name: str

    @property
    def weights(self) -> Weights | None:
        """Public weights by which selection multiplies probabilities; None if all are 1.

        They are equal for neighboring data sets, so no epsilon depends on them.
        """
        return None

    @abstractmethod
    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the noiseless scores of the candidates, which are private.

        `count` returns the tables of counts of sets of columns. The last axis of the result is the
        candidate.
        """

    @abstractmethod
    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """Return bounds on one row's change of scores, for candidates with tables of `shapes`.

        `rows` is the public number of rows under replace. Under add_remove it is a public upper
        bound, or None.
        """


class TableScore(Score):
    """Score of one contingency table with two axes: the first column, and all other columns.

    A candidate is a sequence of columns: the child first, then its parents.
    """

    monotone_when_added: bool = False

    def flat(self, shape: Shape) -> tuple[int, int]:
        """Return the shape of a table flattened to two axes: child x parents."""
        return shape[0], prod(shape[1:])

    def score_table(self, table: Counts, relation: Relation) -> float:
        """Return the score of one table of counts.

        A subclass defines this method or `score_tables`.
        """
        return float(self.score_tables(table[..., None], relation)[0])

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the scores of m tables of one shape, as an array of shape (m,).

        `tables` has the shape (rows, columns, m): m tables with two axes each.
        """
        return np.array([self.score_table(tables[..., i], relation) for i in range(tables.shape[-1])], float)

    @abstractmethod
    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the score's sensitivity, and its extra change by floating-point rounding.

        Both are for one table of this shape, as in `Bounds`. `rows` is the public number of rows
        under replace, otherwise an upper bound or None.
        """

    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the candidates' noiseless scores; tables of one shape are scored together."""
        by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
        tables = [table.reshape(self.flat(table.shape)) for table in count(candidates)]
        for i, table in enumerate(tables):
            by_shape[table.shape].append(i)
        scores = np.empty(len(tables))
        for alike in by_shape.values():
            scores[alike] = self.score_tables(np.stack([tables[i] for i in alike], axis=-1), relation)
        return scores

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """Return bounds on one row's change of scores: the largest over the shapes of tables.

        The loss is once the sensitivity for monotone scores under add_remove, otherwise twice.
        """
        if not shapes:
            raise ParameterError(f"The score {self.name!r} needs at least 1 candidate; got 0.", "Give one or more.")
        found = [self.sensitivity_and_rounding(flat, relation, rows) for flat in {*map(self.flat, shapes)}]
        sensitivity, rounding = (max(column) for column in zip(*found, strict=True))
        one_way = self.monotone_when_added and relation is Relation.ADD_REMOVE
        return Bounds(sensitivity, (1 if one_way else 2) * sensitivity, rounding)


def xlog2(counts: NDArray[np.number]) -> Floats:
    """Return x log2 x for an array of counts, with 0 at x = 0."""
    x = np.asarray(counts, dtype=float)
    return x * np.log2(np.where(x > 0, x, 1.0))


def per_record(values: Floats, totals: Counts, relation: Relation) -> Floats:
    """Divide values by the numbers of records under replace, and not under add_remove.

    `totals` has the number of records of each table.
    """
    return values if relation is Relation.ADD_REMOVE else values / np.maximum(totals, 1)


def require_rows(name: str, rows: int | None) -> int:
    """Return the public number of rows, or its bound, at least 1.

    Raises ParameterError, which says where to declare the number, if it is None.
    """
    if rows is None:
        raise ParameterError(
            f"The score {name!r} needs a public bound on the number of rows under add_remove.",
            "Declare `max_rows` in the schema, a number that the data set does not exceed.",
        )
    return max(rows, 1)  # an empty data set has no neighbor of its size


def most_rows(rows: int | None) -> int:
    """Return an upper bound on the number of rows: the public one, or 2^31 if there is none."""
    return 1 << 31 if rows is None else max(rows, 1)


EXACT_HALVES = 2**23  # with fewer rows, 32-bit floats represent all counts and their halves
MOST_ASSIGNED = 8  # most parent values for which F tries all assignments


class Entropy(TableScore):
    """Entropy H(X) of a column X, in bits: H under replace, n H for n rows under add_remove.

    Replace: H = sum f(c), f(c) = -(c/n) log2(c/n) concave. Moving one record from a cell to another
    changes H by increments of f, which are extreme at c = 0 and c = n: at most D_b(n), attained
    from a constant column. Add_remove: n H = n log n - sum c log c. Adding to a cell of count c
    changes it by g(n) - g(c), which lies in [0, g(n)]: monotone and tight. It needs a public bound
    on n.
    """

    name = phrase("entropy")
    monotone_when_added = True

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the entropies of m tables in bits, shape (m,); times n under add_remove."""
        totals = tables.sum(axis=(0, 1))
        return per_record(xlog2(totals) - xlog2(tables).sum(axis=(0, 1)), totals, relation)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity and the rounding of the entropy of a table with `rows` rows."""
        n = require_rows(self.name, rows)
        step = binary_information_step(n) if relation is Relation.REPLACE else information_step(n)
        return step, information_rounding(shape, relation, n)


class MutualInformation(TableScore):
    """Mutual information I(X; Pi) of a child X and its parents Pi, in bits; n I under add_remove.

    Replace: D_b(n) if X or Pi is binary, D_g(n) in general (Zhang et al., PrivBayes, Lemma 4.1).
    Add_remove: n I = n log n + sum c_xp log c_xp - sum c_x log c_x - sum c_p log c_p. Adding to
    cell (x, p) changes it by g(n) + g(c_xp) - g(c_x) - g(c_p). As g >= 0 increases and c_xp <= c_x,
    c_p <= n, this lies in [-g(n), g(n)].
    """

    name = phrase("mutual information")

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the mutual information of m tables in bits, shape (m,).

        It is per record under replace, and times n under add_remove.
        """
        children, parents = tables.sum(axis=1), tables.sum(axis=0)
        totals = parents.sum(axis=0)
        marginal_terms = xlog2(children).sum(axis=0) + xlog2(parents).sum(axis=0)
        return per_record(xlog2(totals) + xlog2(tables).sum(axis=(0, 1)) - marginal_terms, totals, relation)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity and the rounding of the mutual information of a table.

        Under replace, the sensitivity is smaller if the child or the parents have two values.
        """
        n = require_rows(self.name, rows)
        if relation is Relation.ADD_REMOVE:
            step = information_step(n)
        elif min(shape) <= 2:
            step = binary_information_step(n)
        else:
            step = 2 / n * log2((n + 1) / 2) + ((n - 1) / n * log2((n + 1) / (n - 1)) if n > 1 else 0.0)
        return step, information_rounding(shape, relation, n)


class R(TableScore):
    """Half the L1 distance of child X and parents Pi from independence (PrivBayes, TODS 2017).

    R = ½ ||P_XPi - P_X P_Pi||_1 under replace, with the joint shares P_XPi and the shares P_X, P_Pi
    of each side; n R for n rows under add_remove.

    Add_remove: write u, v for the added record's indicator vectors, p, q for the marginals of the
    table before, and n for the size after. T = N - N_x N_pi^T / n changes by exactly ((n-1)/n)
    (u-p)(v-q)^T. Half of its L1 norm is ½ ((n-1)/n) ||u-p||_1 ||v-q||_1 <= 2 (n-1)/n < 2 for every
    n, so no bound on n is needed.

    Replace: the difference of two such terms. Its six unit-mass pieces give ||.||_1 <= 6 (n-1)/n,
    hence 3 (n-1)/n^2 per record. If X or Pi is binary, its two rows are negatives of each other,
    hence 2 (n-1)/n^2, which is tight.
    """

    name = "R"

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return half the L1 distance from independence, the score R, of m tables; shape (m,).

        It is per record under replace, and times n under add_remove.
        """
        children, parents = tables.sum(axis=1), tables.sum(axis=0)
        totals = parents.sum(axis=0)
        shares = parents / np.maximum(totals, 1)
        distance = sum(np.abs(row - n * shares).sum(axis=0) for row, n in zip(tables, children, strict=True))
        return per_record(distance / 2, totals, relation)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity and the rounding of R for tables of this shape.

        Rounding: cells have an error of 3 units of N_xp and of its expectation, 2n in sum. Their
        sum adds a unit per addition.
        """
        units = 2 * (sum(shape) + 8) * UNIT
        if relation is Relation.ADD_REMOVE:
            return 2.0, units * most_rows(rows)
        n = require_rows(self.name, rows)
        return (2 if min(shape) <= 2 else 3) * (n - 1) / n**2, units


class LinearF(TableScore):
    """F of PrivBayes (SIGMOD 2014), for a binary child.

    F is minus half the L1 distance to a table of maximal mutual information. F = -min over
    assignments of each parent value to 0 or 1 of (½ - K0)_+ + (½ - K1)_+. K0 sums P(0, pi) over the
    values assigned to 0, and K1 sums P(1, pi) over the other values.

    Each bracket is 1-Lipschitz in a sum of disjoint cells. Replace moves 1/n out of one cell and
    1/n into another. The terms fall or rise by 1/n in total, because the two moves act on K0 + K1
    in opposite directions, or each on its own bracket. The minimum over assignments inherits 1/n.
    Add_remove multiplies by n, with n/2 as the target (no ceiling). The target changes by ½ in both
    brackets and one K by 1, so the sum changes by at most 1. The minimum is found by trying every
    assignment of up to 8 parent values, and by dynamic programming for more parent values.
    """

    name = "F"

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return PrivBayes's score F of m tables with a binary child, shape (m,).

        They are per record under replace, and times n under add_remove.
        """
        if tables.shape[0] != 2:
            raise ParameterError(f"The score F needs a binary child; got {len(tables)} values.", "Use the score R.")
        if tables.shape[1] > MOST_ASSIGNED:
            return super().score_tables(tables, relation)
        totals = tables.sum(axis=(0, 1))
        kind = np.float32 if totals.max(initial=0) < EXACT_HALVES else np.float64
        cells, target = tables.astype(kind), (totals / 2).astype(kind)
        # what K0 and K1 lack to the target; at first every parent value is assigned to 1
        zero, one = target.copy(), target - cells[1].sum(axis=0)
        shortfall = np.maximum(zero, 0) + np.maximum(one, 0)
        lack, more = np.empty_like(shortfall), np.empty_like(shortfall)
        # Gray code: one parent value changes its assignment per step
        for step in range(1, 2 ** tables.shape[1]):
            bit = (step & -step).bit_length() - 1
            to_zero = (step ^ step >> 1) >> bit & 1
            (np.subtract if to_zero else np.add)(zero, cells[0, bit], out=zero)
            (np.add if to_zero else np.subtract)(one, cells[1, bit], out=one)
            np.add(np.maximum(zero, 0, out=lack), np.maximum(one, 0, out=more), out=lack)
            np.minimum(shortfall, lack, out=shortfall)
        return per_record(-shortfall.astype(float), totals, relation)

    def score_table(self, table: Counts, relation: Relation) -> float:
        """Return PrivBayes's score F of one table with a binary child.

        It is per record under replace, and times n under add_remove.
        """
        if table.shape[1] <= MOST_ASSIGNED or table.shape[0] != 2:
            return super().score_table(table, relation)
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

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity and the rounding of F: 1, or 1 / n per record.

        Halves are exact in floats; per record, the division has an error of one unit.
        """
        return (1.0, 0.0) if relation is Relation.ADD_REMOVE else (1.0 / require_rows(self.name, rows), 4 * UNIT)


class Jaccard(TableScore):
    """|x and y| / |x or y| of two binary columns; 1 if the union is empty.

    The union may be a single record, so one person can change the index from 0 to 1 or from 1 to 0:
    sensitivity 1.
    """

    name = "Jaccard"

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the Jaccard indices of m 2 x 2 tables, shape (m,)."""
        union = tables.sum(axis=(0, 1)) - tables[0, 0]
        return np.where(union > 0, tables[1, 1] / np.maximum(union, 1), 1.0)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity of the Jaccard index, 1, and the rounding of one division."""
        return 1.0, 2 * UNIT


def information_rounding(shape: Shape, relation: Relation, n: int) -> float:
    """Return `Bounds.rounding` for sums of x log2 x over a table and its marginals.

    Each sum, over the table, a marginal or the total, is n log2 n at most. A term has an error of
    32 units, and K terms add K units of the sum of their absolute values, in any order. With four
    sums and the three additions between them, a value has an error of 4 (K + 40) units of n log2 n
    at most; a change has twice that. The constants are logarithms of numbers next to 1; their error
    is below 16 n units. Per record, divide by n.
    """
    units = 8 * (prod(shape) + 48) * (log2(n) + 2) * UNIT
    return n * units if relation is Relation.ADD_REMOVE else units


def information_step(n: int) -> float:
    """Return the most that one added record changes n H or n I, in bits.

    H is an entropy, I a mutual information, n the number of records: g(n) = log2(n + 1) + n log2(1
    + 1/n).
    """
    return log2(n + 1) + n * log2((n + 1) / n)


def binary_information_step(n: int) -> float:
    """Return the most that one replaced record of n changes an entropy, in bits.

    It is D_b(n) in the module. It also bounds the change of a mutual information if one side has
    two values.
    """
    return (log2(n) + (n - 1) * log2(n / (n - 1))) / n if n > 1 else 0.0


@dataclass(frozen=True, eq=False)
class DistanceFromMarginals(Score):
    """½ sum |M - m| - penalty * cells: distance of a marginal M from a released marginal m.

    Only M is private: m is made of noisy answers, and the penalty is public. So the score is half
    an L1 distance of M from a fixed table. It changes by at most half of the L1 change of M that
    one person makes: ½ under add_remove, 1 under replace. (The distance from noiseless marginals,
    which change with M, has up to four times that sensitivity: see `R`.)

    `tables` has m for each candidate. `penalty` is one number for all candidates, or one for each.
    `merges`, if given, merge values of M: for each candidate and axis, the merged value of every
    value. They are public, merge record by record, and leave sums of counts exact.

    `factors` are public, too. Each candidate's score is multiplied by its factor, and so is the
    change that one person makes. The sensitivity of the score is that of the largest factor.
    """

    tables: Sequence[Floats]
    penalty: float | Sequence[float]
    merges: Sequence[Sequence[Ints]] | None = None
    factors: Sequence[float] | None = None
    name = phrase("distance from released marginals")

    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the candidates' noiseless distances, minus penalties, times factors."""
        known = dict[int, Floats]()  # many candidates share the same few merges
        # candidates that differ by their penalty only share a table
        found = dict[tuple[object, ...], float]()
        tables = list(self.tables)  # keeps the tables alive while their ids are keys
        distances = np.empty(len(tables))
        for i, (expected, table) in enumerate(zip(tables, count(candidates), strict=True)):
            merges = () if self.merges is None else self.merges[i]
            same = id(expected), *candidates[i], *map(id, merges)
            if same not in found:
                counts = merged_counts(table, merges, known)
                found[same] = float(np.abs(counts.reshape(expected.shape) - expected).sum() / 2)
            distances[i] = found[same]
        scores: Floats = distances - np.multiply(self.penalty, [table.size for table in tables])
        return scores if self.factors is None else scores * self.factors

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """Return bounds on one row's change of the scores.

        Rounding: one unit of every cell's distance, of their sum per addition, and of the product.
        The released table is the same float array for both neighbors.
        """
        cells = max(table.size for table in self.tables)
        different = {id(table): table for table in self.tables}.values()
        distance = most_rows(rows) + 2 * max(float(np.abs(table).sum()) for table in different)
        largest = 1.0 if self.factors is None else max(map(abs, self.factors))
        rounding = largest * (cells + 5) * UNIT * (distance + 2 * float(np.max(self.penalty)) * cells)
        sensitivity = largest * relation.histogram_l1 / 2
        return Bounds(sensitivity, 2 * sensitivity, rounding)


def merged_counts(table: Counts | Floats, merges: Sequence[Ints], known: dict[int, Floats]) -> Floats:
    """Return a table of counts after merging values along each axis, as floats.

    `merges` has for each axis the merged value of every value, from 0 without gaps. Sums of counts
    are exact in floats. `known` stores the 0/1 matrix of each merge by its identity.
    """
    for merge in merges:
        if id(merge) not in known:
            known[id(merge)] = (merge[:, None] == np.arange(merge.max() + 1)).astype(float)
    found: Floats = table.astype(float)
    if len(merges) == 2:  # the usual case, in a tenth of the time
        first, second = (known[id(merge)] for merge in merges)
        return np.asarray(first.T @ found @ second)
    for merge in merges:  # each step removes the first axis and appends the merged one
        found = np.tensordot(found, known[id(merge)], (0, 0))
    return found


MOST_VALUES = 1 << 20  # largest number of values of a column


@dataclass(frozen=True)
class ClassLogScore(Score):
    """q(D, x, c) = log p(c) + sum_j log p(x_j | c) of smoothed naive Bayes (paper 000, eq. 8).

    The rows x are public. Add_remove, with a smoothed prior: the prior's normalizer is dropped,
    because it is the same for all classes and cancels in the selection. Then a record of class c
    changes the score of c only. Its prior term rises by ln((N_c+1+s)/(N_c+s)) <= ln((1+s)/s). A
    column's term rises by at most ln((N+1+s)/(N+s)) <= ln((1+s)/s) if x_j is the record's value.
    Otherwise it falls by ln((N_c+1+s S_j)/(N_c+s S_j)) <= ln((1+s S_j)/(s S_j)), which is smaller.
    Hence |change| <= (n_attributes + 1) ln((1+s)/s) for one candidate, and selection with exponent
    q has that loss once. Replace is one removal and one addition: twice that loss.

    `queries` are the public rows x, as codes of shape (m, n_features). `smoothing` is s, which is
    positive (Laplace: 1).
    """

    target: str
    features: tuple[str, ...]
    queries: Codes
    smoothing: float
    name = phrase("naive-Bayes log score")

    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the noiseless score of every class for every public row, shape (m, n_classes)."""
        tables = count([(self.target,), *((self.target, feature) for feature in self.features)])
        return class_log_scores(np.log(tables[0] + self.smoothing), tables[1:], self.queries, self.smoothing)

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """Return bounds on one row's change of the log scores.

        One added or removed record changes one candidate only, so the loss is once the sensitivity.
        Rounding: with B the largest logarithm, a term has an error of 32 B units, plus a unit per
        addition in its sum over values. The sum of J + 1 terms adds J + 1 units of (J + 1) B.
        """
        terms = len(self.features) + 1
        largest = 2 * log(most_rows(rows) + self.smoothing * MOST_VALUES) + abs(log(self.smoothing))
        rounding = 2 * terms * (MOST_VALUES + (40 + terms) * largest) * UNIT
        sensitivity = relation.histogram_l1 * terms * log((1 + self.smoothing) / self.smoothing)
        return Bounds(sensitivity, sensitivity, rounding)


def class_log_scores(log_prior: Floats, tables: Sequence[NDArray[np.number]], rows: Codes, smoothing: float) -> Floats:
    """Return log p(c) + sum_j log p(x_j | c) for rows of codes, shape (m, n_classes).

    `log_prior` has log p(c) of each class c. `tables` has, for each column j, its counts of shape
    (classes, values); `smoothing` is added to every count. `rows` has the m rows.
    """
    scores = np.tile(log_prior, (len(rows), 1))
    for j, table in enumerate(tables):
        smoothed = table + smoothing
        conditional = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
        scores += conditional.T[rows[:, j]]
    return scores


class SplitScore(TableScore):
    """Score of a split: table rows are the groups that records fall into, columns the classes.

    A candidate names the class column last; all columns before it together make the groups.
    """

    def flat(self, shape: Shape) -> tuple[int, int]:
        """Return the shape of a table flattened to groups x classes.

        The last axis of the table holds the classes.
        """
        return prod(shape[:-1]), shape[-1]


class Max(SplitScore):
    """Max = sum over groups j of max_c N_jc: the rows of each group's most frequent class.

    N_jc counts the rows of class c in group j (Friedman and Schuster 2010).

    A record changes one cell by 1 and hence one group's maximum by at most 1, upward when added:
    sensitivity 1, monotone. A replaced record lowers one group's maximum by at most 1 and raises
    another's by at most 1: sensitivity 1.
    """

    name = "Max"
    monotone_when_added = True

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the score Max of m tables of groups x classes, shape (m,).

        Max is the sum over groups of the largest class count.
        """
        return np.asarray(tables.max(axis=1).sum(axis=0), dtype=float)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity of Max, 1, and no rounding, because integers are exact."""
        return 1.0, 0.0


class Gini(SplitScore):
    """Gini = -sum_j t_j (1 - sum_c (t_jc/t_j)^2), the negative count-scaled Gini impurity.

    t_jc counts the records of class c in group j, and t_j all of the group (Friedman and Schuster
    2010). One group contributes S/t - t with S = sum_c t_c^2. Adding a record
    of class c changes it by t (2x - 1 - y)/(t + 1), where x = t_c/t and y = S/t^2. From x^2 <= y
    follows 2x - 1 - y <= -(1 - x)^2 <= 0, and from y <= 1 at least -2: the change lies in (-2, 0],
    monotone, sensitivity 2. A replacement is one such fall and one such rise, so again at most 2.
    """

    name = "Gini"
    monotone_when_added = True

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the negative count-scaled Gini impurities of m tables of groups x classes."""
        totals = tables.sum(axis=1)
        squares = (tables.astype(float) ** 2).sum(axis=1)
        return np.asarray((squares / np.maximum(totals, 1)).sum(axis=0) - totals.sum(axis=0))

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity of the count-scaled Gini impurity, 2, and the rounding.

        A group has an error of a unit of its value per class and 2 more. The sum, n at most, adds a
        unit per group.
        """
        return 2.0, 2 * (sum(shape) + 8) * UNIT * most_rows(rows)


class ConditionalEntropy(SplitScore):
    """-|T| H(C|A) = sum_jc t_jc log2(t_jc / t_j), the count-scaled conditional entropy.

    T are the records, A their groups, C their classes; t_jc counts those of class c in group j, and
    t_j all of the group.

    Adding a record to cell (j, c) changes the score by g(t_jc) - g(t_j), which lies in [-g(t_j),
    0]: monotone, and g(N) = log2(N+1) + N log2(1 + 1/N) <= log2(N_max + 1) + 1/ln 2. A replacement
    is one such fall and one such rise.
    """

    name = phrase("conditional entropy")
    monotone_when_added = True

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return minus the count-scaled conditional entropies, in bits, of m tables; shape (m,)."""
        return np.asarray(xlog2(tables).sum(axis=(0, 1)) - xlog2(tables.sum(axis=1)).sum(axis=0))

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity, log2(n + 1) + 1 / ln 2, and the rounding of the score.

        Both are count-scaled under either relation; n is `rows`.
        """
        n = require_rows(self.name, rows)
        return log2(n + 1) + 1 / log(2), information_rounding(shape, Relation.ADD_REMOVE, n)


class InfoGain(SplitScore):
    """Information gain per record, H(C) - H(C|A), in bits, of a node of unknown size.

    C is the class, and A the group, of a record. The gain lies in [0, log2 |C|], and neighboring
    tables on tiny nodes attain both ends. So without a lower bound on the node's size, no
    sensitivity below that range can be proved.
    """

    name = phrase("information gain")

    def score_tables(self, tables: Counts, relation: Relation) -> Floats:
        """Return the information gain per record, in bits, of m tables of groups x classes."""
        return MutualInformation().score_tables(tables, Relation.REPLACE)

    def sensitivity_and_rounding(self, shape: Shape, relation: Relation, rows: int | None) -> Pair:
        """Return the sensitivity, which is the range of the gain, and the rounding.

        Both are per record of the node.
        """
        return log2(max(shape[1], 2)), information_rounding(shape, Relation.REPLACE, most_rows(rows))


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitChoice(Score):
    """Score that lists its own candidate splits and scores each by `table_score`.

    `table_score` scores tables of groups x classes. Its sensitivity must not depend on the number
    of rows of a candidate's table, which is private.
    """

    target: str
    classes: int
    table_score: SplitScore
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.table_score.name)  # the ledger names the score inside

    def bounds(self, shapes: Sequence[Shape], relation: Relation, rows: int | None) -> Bounds:
        """Return bounds on one row's change of the scores, which are those of `table_score`.

        Only rounding depends on the number of groups.
        """
        return self.table_score.bounds([(self.groups, self.classes)], relation, rows)

    @property
    def groups(self) -> int:
        """Largest number of groups into which a candidate splits."""
        return 2


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalSplit(SplitChoice):
    """Score of points that split an interval of a column's codes, `low` to `high - 1`, in two.

    Codes below a point go left. By default all codes from `low + 1` to `high - 1` are candidates,
    for any data. Points up to `worthless_below` have the score 0 for any data: a fault of published
    code, which only its reproduction uses.
    """

    column: str
    low: int
    high: int
    points: Sequence[int] = ()
    worthless_below: int = -1

    @property
    def split_points(self) -> Ints:
        """Codes at which the interval can be split, int array; smaller codes go left."""
        return np.array(self.points or range(self.low + 1, self.high), dtype=np.intp)

    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the noiseless scores of all split points of the interval."""
        table = count([(self.column, self.target)])[0][self.low : self.high]
        left = np.cumsum(table, axis=0)[self.split_points - self.low - 1].T
        scores = self.table_score.score_tables(np.stack([left, table.sum(axis=0)[:, None] - left]), relation)
        return np.where(self.split_points <= self.worthless_below, 0.0, scores)


@dataclass(frozen=True, kw_only=True, eq=False)
class Specialization(SplitChoice):
    """Score of splitting values into finer values, and intervals of codes at points.

    One selection chooses among all of these splits. The score says how well a value, split into
    finer ones, would tell the classes apart (DiffGen: Mohammed et al., KDD 2011). A candidate uses
    the records of one value only: its table has a row per finer value, and its total is private. An
    added or removed record changes one cell of that table or none. So the sensitivities of `Max`
    (1) and of the information gain (its range) hold unchanged, and so does the monotonicity of Max.
    A replaced record may leave one candidate's table and enter another's. Max falls by at most 1 in
    the first and rises by at most 1 in the second: sensitivity 1 again.

    A split is the candidate's column and, for each of its codes, the number of the finer value, or
    -1 if the code is not of the value that is split. The `splits` are the first candidates. Then
    follow the split points of `intervals` (column name, low, high) of two codes or more. A value
    has weight 1. An interval has weight 1 too, shared evenly by its points, so an interval of many
    bins is no more probable than one of few. Weights are public, so sensitivity and loss are as
    derived.
    """

    splits: Sequence[tuple[str, NDArray[np.integer[Any]]]]
    intervals: Sequence[tuple[str, int, int]] | None = None

    @property
    def groups(self) -> int:
        """Largest number of finer values that a candidate splits into."""
        return max([2, *(int(groups.max()) + 1 for _, groups in self.splits)])

    @property
    def weights(self) -> Weights | None:
        """Public weights: 1 per value, and 1 per interval, shared by its split points."""
        if self.intervals is None:
            return None
        widths = [high - low - 1 for _, low, high in self.intervals]
        sharing = np.append(np.ones(len(self.splits), dtype=np.int64), np.repeat(widths, widths))
        return Weights(np.ones_like(sharing), sharing)

    def values(self, count: CountTables, candidates: Candidates, relation: Relation) -> Floats:
        """Return the noiseless scores of all splits, then of all split points of intervals."""
        tables, score = count([(column, self.target) for column, _ in self.splits]), self.table_score
        pairs = zip(tables, self.splits, strict=True)
        scores = [score.score_table(sum_by_group(t, groups), relation) for t, (_, groups) in pairs]
        how: dict[str, Any] = {"target": self.target, "classes": self.classes, "table_score": score}
        splits = (IntervalSplit(**how, column=name, low=i, high=j) for name, i, j in self.intervals or ())
        return np.concatenate([scores, *(split.values(count, candidates, relation) for split in splits)])


def sum_by_group(table: Counts, groups: NDArray[np.integer[Any]]) -> Counts:
    """Return the rows of a table summed by group; rows of group -1 are left out.

    `groups` has the group of each row of the table, from 0.
    """
    inside = groups >= 0
    summed = np.zeros((int(groups.max()) + 1, table.shape[1]), dtype=table.dtype)
    np.add.at(summed, groups[inside], table[inside])
    return summed
