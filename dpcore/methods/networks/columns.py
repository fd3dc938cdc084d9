"""First tables: histograms of all columns, by themselves or beside the class.

In pure epsilon histograms are asked for in lots, with noise for all of a lot at once (`mechanisms.noise.histograms`).
That is the better the more alike their sizes are; so lots are neighbors in size, merged as long as that lowers the sum
of all counts' errors. Errors of a lot go by one over its share; with shares by the root of what its errors would be
alone, their sum is least. If the number of rows is private, one lot tells it: that with which all counts' errors are
least. In rho every table has noise of its own, and a share by the power `balance` of its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod, sqrt
from typing import Any

import numpy as np

from dpcore.accounting.currency import Amount
from dpcore.accounting.relation import shares_of
from dpcore.arguments import Floats
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise.histograms import spread
from dpcore.postprocess.bayes_net import margin
from dpcore.postprocess.histogram import likely_histogram
from dpcore.postprocess.junction_tree import Scope
from dpcore.postprocess.resolution import neighbors
from dpcore.postprocess.simplex import TRACE, project, project_rows

LEAST, MOST = 1e-12, 1e24  # variances: with all but no noise, and with all but no epsilon


class Columns:
    """What a share of the budget says of every column; with the class at a position, or at -1 without.

    `known` is the number of rows and its variance, 0 if it is public. A lot's price stands in equal parts in `prices`.
    """

    def __init__(self, table: PrivateTable, share: Amount, at: int, known: tuple[float, float]) -> None:
        schema, self.at = table.schema, at
        self.scopes: list[Scope] = [tuple(sorted({j, at} - {-1})) for j in range(len(schema)) if j != at]
        self.prices = [0.0] * len(self.scopes)
        self.variances = [0.0] * len(schema)  # of the columns' counts; the class's is 0: all tables have told it
        self.margins = [np.empty(0)] * len(schema)
        self.beside_class: dict[int, Floats] = {}  # counts of shape (values, classes), positive
        ask = self._one_by_one if table.ledger.delta else self._in_lots
        noisy, variances, tells = ask(table, share, public=not known[1])
        spreads = [min(max(v * cells.size, LEAST), MOST) for cells, v in zip(noisy, variances, strict=True)]
        said = [(cells.sum(), 1 / v) for cells, v, told in zip(noisy, spreads, tells, strict=True) if told]
        rows, certain = zip((known[0], 1 / max(known[1], LEAST)), *said, strict=True)
        self.rows = max(float(np.average(rows, weights=certain)) if known[1] else known[0], 1.0)
        noisy = [cells + (self.rows - cells.sum()) / cells.size for cells in noisy]
        if at < 0:
            self.variances = variances
            for j, (column, cells, variance) in enumerate(zip(schema, noisy, variances, strict=True)):
                how: dict[str, Any] = {"neighbors": neighbors(column), "law": table.ledger.currency.law}
                scale = sqrt(variance / 2) if how["law"] == "laplace" else sqrt(variance)
                self.margins[j] = likely_histogram(cells, scale, self.rows, **how)
        else:
            self._beside_class(noisy, variances, spreads)

    def _in_lots(
        self, table: PrivateTable, share: Amount, *, public: bool
    ) -> tuple[list[Floats], list[float], list[bool]]:
        """Tables with noise for all of a lot at once; their variances; which of them tell the number of rows."""
        schema = table.schema
        names = [[schema.names[j] for j in scope] for scope in self.scopes]
        sizes = [prod(schema.sizes[j] for j in scope) for scope in self.scopes]
        lots = in_lots(sizes)
        telling = None if public else min(range(len(lots)), key=lambda g: errors_with_total(lots, g, sizes))
        totals = [g == telling for g in range(len(lots))]
        roots = roots_of(lots, totals, sizes)
        found: dict[int, Any] = {}
        for lot, paid, told in zip(lots, shares_of(share, roots), totals, strict=True):
            families = [names[i] for i in lot]
            answers = table.histograms(families, epsilon=paid, totals=told)
            for i, *own in zip(lot, answers, table.histogram_variances(families, paid, totals=told), strict=True):
                found[i], self.prices[i] = (*own, told), float(paid) / len(lot)
        noisy, variances, tells = zip(*(found[i] for i in range(len(sizes))), strict=True)
        return list(noisy), list(variances), list(tells)

    def _one_by_one(
        self, table: PrivateTable, share: Amount, *, public: bool
    ) -> tuple[list[Floats], list[float], list[bool]]:
        """The same of tables with noise of their own."""
        schema, power = table.schema, table.ledger.currency.balance
        names = [[schema.names[j] for j in scope] for scope in self.scopes]
        weights = [float(prod(schema.sizes[j] for j in scope)) ** power for scope in self.scopes]
        noisy = table.counts(names, epsilon=share, weights=weights)
        shares = shares_of(share, weights)
        self.prices = list(map(float, shares))
        return noisy, [table.cell_variance(paid) for paid in shares], [not public] * len(noisy)

    def _beside_class(self, noisy: list[Floats], variances: list[float], spreads: list[float]) -> None:
        """What tables with the class say of it, and of the others beside it."""
        of_class = [margin(cells, scope, (self.at,)) for scope, cells in zip(self.scopes, noisy, strict=True)]
        classes = project(np.average(of_class, axis=0, weights=1 / np.array(spreads)), self.rows) + TRACE
        classes *= self.rows / classes.sum()
        self.margins[self.at] = classes
        for scope, cells, variance in zip(self.scopes, noisy, variances, strict=True):
            (j,) = {*scope} - {self.at}
            joint = project_rows(margin(cells, scope, (self.at, j)), classes).T + TRACE
            self.beside_class[j] = joint * (classes / joint.sum(axis=0))
            self.margins[j] = self.beside_class[j].sum(axis=1)
            self.variances[j] = variance * len(classes)


def in_lots(sizes: Sequence[int]) -> list[list[int]]:
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


def roots_of(lots: Sequence[Sequence[int]], totals: Sequence[bool], sizes: Sequence[int]) -> list[float]:
    """What shares of lots are in proportion to."""
    return [sqrt(errors([sizes[i] for i in lot], totals=told)) for lot, told in zip(lots, totals, strict=True)]


def errors_with_total(lots: Sequence[Sequence[int]], telling: int, sizes: Sequence[int]) -> float:
    """The errors of all counts if one of the lots tells the total, which is wrong in each count by as much."""
    totals = [g == telling for g in range(len(lots))]
    roots = roots_of(lots, totals, sizes)
    own: dict[int, float] = {}
    for lot, root, told in zip(lots, roots, totals, strict=True):
        every = [sizes[i] for i in lot]
        own |= {i: spread(sizes[i], every, root / sum(roots), totals=told) ** 2 for i in lot}
    of_total = 1 / sum(1 / (sizes[i] * own[i]) for i in lots[telling])
    return sum(size * sqrt(own[i] + of_total / size**2) for i, size in enumerate(sizes))


def errors(sizes: Sequence[int], *, totals: bool = False) -> float:
    """The sum of the standard deviations of all counts that are asked for at once, times epsilon; above 0."""
    return sum((size * spread(size, sizes, 1.0, totals=totals) for size in sizes), LEAST)
