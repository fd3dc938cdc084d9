"""Scores of dependence between columns: entropy, mutual information, R, F, Jaccard; also beside released margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2, prod

import numpy as np

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Counts
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.scores.base import (
    UNIT,
    Bounds,
    CountTables,
    Score,
    Shape,
    TableScore,
    most_rows,
    need_rows,
    per_record,
    xlog2,
)

EXACT_HALVES = 2**23  # rows; below, 32 bits hold every count and half of one
MOST_ASSIGNED = 8  # parent values whose 2^8 assignments F tries one by one


class Entropy(TableScore):
    r"""H(X) under replace, n H(X) under add_remove.

    Replace: H = sum f(c), f(c) = -(c/n) log2(c/n) concave; moving one record from a cell to another changes H by
    increments of f, whose extremes are at c = 0 and c = n: at most D_b(n), attained from a constant column.
    Add_remove: n H = n log n - sum c log c; adding to a cell of count c changes it by g(n) - g(c), which lies in
    [0, g(n)]: monotone, tight, and in need of a public bound on n.
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
    Add_remove: n I = n log n + sum c_xp log c_xp - sum c_x log c_x - sum c_p log c_p. Adding to cell (x, p) changes it
    by g(n) + g(c_xp) - g(c_x) - g(c_p). As g >= 0 increases and c_xp <= c_x, c_p <= n, this lies in [-g(n), g(n)].
    """

    name = phrase("mutual information")

    def of_many(self, tables: Counts, relation: Relation) -> Floats:
        children, parents = tables.sum(axis=1), tables.sum(axis=0)
        totals = parents.sum(axis=0)
        margins = xlog2(children).sum(axis=0) + xlog2(parents).sum(axis=0)
        return per_record(xlog2(totals) + xlog2(tables).sum(axis=(0, 1)) - margins, totals, relation)

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

        Cells are out by 3 units of N_xp and of its expectation, 2n in sum; their sum by a unit per addition.
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
            place = (step & -step).bit_length() - 1
            to_zero = (step ^ step >> 1) >> place & 1
            (np.subtract if to_zero else np.add)(zero, cells[0, place], out=zero)
            (np.add if to_zero else np.subtract)(one, cells[1, place], out=one)
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

    The union may be a single record, so one person can move the index from 0 to 1 or from 1 to 0: sensitivity 1.
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

    Such a sum over the table, a margin or the total is n log2 n at most; a term is right to 32 units, and K terms add
    up to within K units of the sum of their sizes, in any order. Of the four sums and the three additions between them
    a value is out by 4 (K + 40) units of n log2 n at most; a change by twice that. The constants, which are logarithms
    of numbers next to 1, are out by less than 16 n units. Per record, divide by n.
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
class DistanceFromMargins(Score):
    r"""½ sum |M - m| - penalty * cells: how far a table M of counts is from a released one, m.

    Only M is private: m is made of noisy answers, and the penalty is public. So the score is half an L1 distance of M
    to a fixed table, and moves by at most half of what one person moves M in L1: ½ under add_remove, 1 under replace.
    (Against noiseless margins, which move with M, the same distance has up to four times that sensitivity: see `R`.)

    `tables` has m for each candidate, and `penalty` is one for all of them, or one for each. With `merges`, M is of
    merged values: for each candidate and axis, the merged value of every value, public as well. Merging is record by
    record, and sums of counts are exact.

    `factors` are public, too: each candidate's score is multiplied by its own, and one person moves it by so many times
    as much. The sensitivity of all is that of the largest one.
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

    Sums of counts are exact in floats. `known` has the matrix of 0 and 1 of each merge by its identity.
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
