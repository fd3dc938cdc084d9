"""Rows that exchange values, so that the tables of all pairs of columns come closer to what is expected.

Rows that are drawn from a distribution have its tables up to chance, and with few rows that is a good part of their
distance from it. Two rows that exchange their values in one column leave every column by itself as it is, and change
the tables of that column with all others. Rows meet in pairs at random, once per column, and exchange where that lowers
the sum of (count - expected)² / (expected + `EASE`) over all tables: Pearson's statistic, but for `EASE`. So no row
comes to a combination of values that hardly occurs, only because others are better off.

Post-processing of a distribution and of rows that were drawn from it: no private input, no cost.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes
from dpcore.postprocess.junction_tree import Edge

EASE = 0.1  # rows: without it a cell in which nobody is expected would shut all others out
MOST = 500_000  # rows times columns: a few seconds at most; with more rows chance hardly matters
FEWEST_AT_ONCE, MOST_AT_ONCE = 8, 256  # meetings, which do not see each other's exchanges
COMES = np.array([-1.0, -1.0, 1.0, 1.0])  # two cells lose a row each, and two get one


def worthwhile(rows: int, sizes: tuple[int, ...]) -> bool:
    """Whether rows are few enough for the time that it takes, and not fewer than the cells of a table, in the mean."""
    return len(sizes) > 1 and _cells(sizes) <= rows <= MOST // len(sizes)


def exchange(codes: Codes, expected: Mapping[Edge, Floats], rng: np.random.Generator) -> None:
    """Let rows exchange values, in place; `codes` has the shape (rows, columns).

    `expected` has for every pair of columns its table, of shape (values, values), whose cells sum to the rows.
    """
    rows, columns = codes.shape
    tables, own = _Tables(codes, expected), np.ascontiguousarray(codes)
    # So few that they seldom change the same cells.
    at_once = int(np.clip(len(tables.over) / len(expected) / 2, FEWEST_AT_ONCE, MOST_AT_ONCE))
    for j in rng.permutation(columns):
        meeting = rng.permutation(rows)[: rows // 2 * 2].reshape(2, -1)
        meeting = meeting[:, own[meeting[0], j] != own[meeting[1], j]]
        for start in range(0, meeting.shape[1], at_once):
            first, second = meeting[:, start : start + at_once]
            better = tables.exchange(j, own[first], own[second])
            first, second = first[better], second[better]
            own[first, j], own[second, j] = own[second, j], own[first, j]
    codes[:] = own


def _cells(sizes: tuple[int, ...]) -> float:
    """Of the table of a pair of columns, in the mean."""
    pairs = len(sizes) * (len(sizes) - 1)
    return float((sum(sizes) ** 2 - sum(size**2 for size in sizes)) / pairs)


class _Tables:
    """All cells of the tables of pairs, on one line: how far over what is expected they are, and what that weighs."""

    def __init__(self, codes: Codes, expected: Mapping[Edge, Floats]) -> None:
        columns, start = codes.shape[1], 0
        self.starts, self.strides = np.zeros((2, columns, columns), dtype=np.intp)
        over, weights = [], []
        for a, b in combinations(range(columns), 2):
            table = expected[a, b]
            cells = np.bincount(np.ravel_multi_index((codes[:, a], codes[:, b]), table.shape), minlength=table.size)
            over.append(cells - table.ravel())
            weights.append(1 / (table.ravel() + EASE))
            self.starts[a, b] = self.starts[b, a] = start
            # of a step along a's values, and along b's
            self.strides[a, b], self.strides[b, a] = table.shape[1], 1
            start += table.size
        self.over, self.weights = np.concatenate(over), np.concatenate(weights)

    def exchange(self, j: int, first: Codes, second: Codes) -> Ints:
        """Positions of those pairs of rows that had better exchange their values in a column, as they now have."""
        others = np.flatnonzero(np.arange(len(self.starts)) != j)
        # where tables of it with others start, and steps along these
        starts, along, own = self.starts[j, others], self.strides[others, j], self.strides[j, others]
        here, there = starts + first[:, others] * along, starts + second[:, others] * along
        value, other = first[:, j, None] * own, second[:, j, None] * own
        cells = np.stack([here + value, there + other, here + other, there + value])
        worse = np.einsum("smo,smo,s->mo", self.weights[cells], self.over[cells], 2 * COMES)
        worse += self.weights[cells].sum(axis=0)
        found = np.flatnonzero((worse * (here != there)).sum(axis=1) < 0)
        moved = cells[:, found]
        np.add.at(self.over, moved.ravel(), np.repeat(COMES, moved[0].size))
        return found
