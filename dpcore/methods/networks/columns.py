"""First tables: histograms of all columns, of all rows or of each class by itself.

Records of different classes are disjoint, so that what is asked of each costs what it would of one, or of two where a
row may be replaced by one of another class (`ledger`). In pure epsilon histograms are asked for in lots, with noise for
all of a lot at once (`mechanisms.noise.histograms`). That is the better the more alike their sizes are; so lots are
neighbors in size, merged as long as that lowers the sum of all counts' errors. Errors of a lot go by one over its
share; with shares by the root of what its errors would be alone, their sum is least. In rho every table has noise of
its own, and a share by the power `balance` of its cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt

import numpy as np

from dpcore.accounting.currency import Amount, Law
from dpcore.accounting.relation import shares_of
from dpcore.arguments import Floats
from dpcore.domain.column import Column
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise.histograms import Spread, spreads
from dpcore.postprocess.histogram import likely_histogram
from dpcore.postprocess.junction_tree import Scope
from dpcore.postprocess.resolution import MOST, neighbors
from dpcore.postprocess.simplex import TRACE, project

LEAST = 1e-12  # a variance: with all but no noise
Said = tuple[float, float]
"""A number of rows and its variance, 0 if it is public."""


class Columns:
    """What a share of the budget says of every column; with the class at a position, or at -1 without.

    `known` is what is known of the number of rows. A lot's price stands in equal parts in `losses`.
    """

    def __init__(self, table: PrivateTable, share: Amount, at: int, known: Said) -> None:
        schema, law = table.schema, table.ledger.currency.law
        others = [j for j in range(len(schema)) if j != at]
        columns = [schema.columns[j] for j in others]
        parts = table.split(schema.names[at]) if at >= 0 else [table]
        own = parts[0].ledger.share_of(share) if at >= 0 else share
        heard = [Answers.of(part, columns, own) for part in parts]
        self.at = at
        scopes: list[Scope] = [tuple(sorted({j, at} - {-1})) for j in others]
        prices = [float(share) * float(price / own) if own else 0.0 for price in heard[0].prices]
        self.losses = list(zip(scopes, prices, strict=True))
        # of columns' counts; the class's is taken for 0: all lots have told it
        self.variances = [0.0] * len(schema)
        self.margins = [np.empty(0)] * len(schema)
        self.beside_class: dict[int, Floats] = {}  # counts of shape (values, classes), positive
        if at >= 0:
            rows, variances = np.array([average(answers.totals) for answers in heard]).T
            self.rows = max(average([known, (rows.sum(), variances.sum())])[0], 1.0)
            classes = project(rows, self.rows) + TRACE
            classes *= self.rows / classes.sum()
            self.margins[at] = classes
        else:
            self.rows = max(average([known, *heard[0].totals])[0], 1.0)
            classes = np.array([self.rows])
        found = [answers.likely(columns, float(rows), law) for answers, rows in zip(heard, classes, strict=True)]
        for i, j in enumerate(others):
            joint = np.column_stack([tables[i] for tables in found])
            self.margins[j] = joint.sum(axis=1)
            self.variances[j] = sum(answers.variances[i] for answers in heard)
            if at >= 0:
                self.beside_class[j] = joint


@dataclass(frozen=True)
class Answers:
    """Noisy histograms of columns of the same rows; the variances of their counts; what each cost; and the totals."""

    tables: list[Floats]
    variances: list[float]
    prices: list[Amount]
    totals: list[Said]

    @classmethod
    def of(cls, table: PrivateTable, columns: Sequence[Column], share: Amount) -> Answers:
        """What a table tells of columns for a share."""
        families, sizes = [[column.name] for column in columns], [column.size for column in columns]
        if table.ledger.delta:
            weights = weights_of(table, columns)
            noisy = table.counts(families, epsilon=share, weights=weights)
            prices, variances = shares_of(share, weights), variances_of(table, columns, share)
            sums = [(float(cells.sum()), size * v) for cells, size, v in zip(noisy, sizes, variances, strict=True)]
            return cls(noisy, variances, prices, sums)
        tables, losses, totals = [np.empty(0)] * len(sizes), [share] * len(sizes), list[Said]()
        for own, loss, noise in group_noise(table, columns, share):
            noisy = table.histograms([families[i] for i in own], epsilon=loss)
            totals.append((float(noisy[0].sum()), noise[0].total ** 2))
            for i, cells in zip(own, noisy, strict=True):
                tables[i], losses[i] = cells, loss / len(own)
        return cls(tables, variances_of(table, columns, share), losses, totals)

    def likely(self, columns: Sequence[Column], rows: float, law: Law) -> list[Floats]:
        """Likely histograms of so many rows."""
        found = []
        for column, cells, variance in zip(columns, self.tables, self.variances, strict=True):
            scale = sqrt(variance / 2 if law == "laplace" else variance)
            level = cells + (rows - cells.sum()) / cells.size
            found.append(likely_histogram(level, scale, rows, neighbors=neighbors(column), law=law))
        return found


def average(said: Sequence[Said]) -> Said:
    """Several sayings of one number, by inverse variance; one of variance 0 stands alone."""
    public = [number for number, variance in said if not variance]
    if public:
        return public[0], 0.0
    certain = 1 / np.clip([variance for _, variance in said], LEAST, MOST)
    return float(np.average([number for number, _ in said], weights=certain)), float(1 / certain.sum())


def variances_of(table: PrivateTable, columns: Sequence[Column], share: Amount) -> list[float]:
    """The variances of columns' counts for a share; no question."""
    if table.ledger.delta:
        return list(map(table.cell_variance, shares_of(share, weights_of(table, columns))))
    groups = group_noise(table, columns, share)
    found = {i: noise.cell**2 for own, _, every in groups for i, noise in zip(own, every, strict=True)}
    return [found[i] for i in range(len(columns))]


def weights_of(table: PrivateTable, columns: Sequence[Column]) -> list[float]:
    """Of columns, in rho."""
    return [float(column.size) ** table.ledger.currency.balance for column in columns]


def group_noise(
    table: PrivateTable, columns: Sequence[Column], share: Amount
) -> Iterator[tuple[list[int], Amount, list[Spread]]]:
    """The columns that are measured at once, what each such group is charged, and its noise."""
    sizes = tuple(column.size for column in columns)
    groups = in_lots(sizes)
    losses = shares_of(share, [sqrt(errors([sizes[i] for i in own])) for own in groups])
    for own, loss in zip(groups, losses, strict=True):
        yield own, loss, table.histogram_spreads([[columns[i].name] for i in own], loss)


@lru_cache(maxsize=64)
def in_lots(sizes: tuple[int, ...]) -> list[list[int]]:
    """Histograms that are asked for at once, by their places; see the module."""
    lots = [[i for i, size in enumerate(sizes) if size == one] for one in sorted({*sizes})]
    while True:
        alone = [sqrt(errors([sizes[i] for i in lot])) for lot in lots]
        merged = [sqrt(errors([sizes[i] for i in one + other])) for one, other in pairwise(lots)]
        saved = [alone[k] + alone[k + 1] - both for k, both in enumerate(merged)]
        best = int(np.argmax(saved)) if saved else 0
        if not saved or saved[best] < -LEAST:  # what saves nothing is simpler together
            return lots
        lots[best : best + 2] = [lots[best] + lots[best + 1]]


def errors(sizes: Sequence[int]) -> float:
    """The sum of the standard deviations of all counts that are asked for at once, times the factor; above 0.

    With a private total. A public one makes all of them a little less, which lots may forget.
    """
    found = spreads(sizes, 1.0, public_total=False)
    return sum((size * found[size].cell for size in sizes), LEAST)
