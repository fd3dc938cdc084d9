"""Rows that exchange values, so that the tables of all pairs of columns come closer to what is expected.

Rows that are drawn from a distribution have its tables up to chance, and with few rows that is a good part of their
distance from it. Two rows that exchange their values in one column leave every column by itself as it is, and change
the tables of that column with all others. Rows meet in pairs at random, once per column, and exchange where that lowers
the sum of squared differences from the expected counts, over all tables.

Post-processing of a distribution and of rows that were drawn from it: no private input, no cost.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Codes
from dpcore.postprocess.junction_tree import Edge

MOST = 20_000_000  # rows times squared columns: a few seconds; with more rows chance hardly matters
AT_ONCE = 64  # meetings: they do not see each other's exchanges


def worthwhile(rows: int, columns: int) -> bool:
    """Whether so many rows are few enough."""
    return rows > 1 and columns > 1 and rows * columns**2 <= MOST


def exchange(codes: Codes, expected: Mapping[Edge, Floats], rng: np.random.Generator) -> None:
    """Let rows exchange values, in place; `codes` has the shape (rows, columns).

    `expected` has for every pair of columns its table, of shape (values, values), whose cells sum to the rows.
    """
    rows, columns = codes.shape
    over = _Differences(codes, expected)
    for j in rng.permutation(columns):
        meeting = rng.permutation(rows)[: rows // 2 * 2].reshape(2, -1)
        for start in range(0, meeting.shape[1], AT_ONCE):
            first, second = meeting[:, start : start + AT_ONCE]
            differ = codes[first, j] != codes[second, j]
            first, second = first[differ], second[differ]
            better = over.exchange(j, codes[first], codes[second])
            first, second = first[better], second[better]
            codes[first, j], codes[second, j] = codes[second, j], codes[first, j]


class _Differences:
    """Counts less expected ones, of all pairs of columns, on one line."""

    def __init__(self, codes: Codes, expected: Mapping[Edge, Floats]) -> None:
        columns, start = codes.shape[1], 0
        self.starts, self.strides = np.zeros((2, columns, columns), dtype=np.intp)
        tables = []
        for a, b in combinations(range(columns), 2):
            table = expected[a, b]
            cells = np.bincount(np.ravel_multi_index((codes[:, a], codes[:, b]), table.shape), minlength=table.size)
            tables.append(cells - table.ravel())
            self.starts[a, b] = self.starts[b, a] = start
            self.strides[a, b], self.strides[b, a] = table.shape[1], 1  # of a step along a's values, and along b's
            start += table.size
        self.line = np.concatenate(tables)

    def exchange(self, j: int, first: Codes, second: Codes) -> Ints:
        """Positions of those pairs of rows that had better exchange their values in column j, as they now have."""
        others = np.arange(len(self.starts)) != j
        starts, along, own = self.starts[j, others], self.strides[others, j], self.strides[j, others]
        here, there = starts + first[:, others] * along, starts + second[:, others] * along
        value, other = first[:, j, None] * own, second[:, j, None] * own
        leaves, comes = (here + value, there + other), (here + other, there + value)
        change = sum(self.line[cell] for cell in comes) - sum(self.line[cell] for cell in leaves) + 2
        better = np.flatnonzero((change * (here != there)).sum(axis=1) < 0)
        for cells, step in ((leaves, -1), (comes, 1)):
            for cell in cells:
                np.add.at(self.line, cell[better].ravel(), step)
        return better
