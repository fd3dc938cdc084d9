r"""Noisy tables of columns and of pairs of columns, made to agree, and the distribution of maximal entropy with them.

Tables have noise of known variance, one for all cells or one for each. In this order:

1  Answers about the same columns are averaged by inverse variance; so are, in turn, all tables' totals (unless the
   total is public), and the margins that tables have on a column. Each column's is moved to the nearest one without
   negative cells.
2  Every pair's table is moved in equal steps to these margins and to the nearest one without negative cells,
   `TURNS` times; then it is fitted to them by iterative proportional fitting.
3  `MaximalEntropy` is fitted to all tables. They agree on single columns, which is all that pairs share.

Private-PGM (McKenna, Sheldon and Miklau 2019) has all of it in one problem of least squares over what distributions can
have as tables. Steps 1 and 2 are one pass of it by projections, so that nothing needs a thousand steps of gradients.

Post-processing: no private input, no cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.arguments import Floats
from dpcore.postprocess.junction_tree import Scope
from dpcore.postprocess.max_entropy import MaximalEntropy
from dpcore.postprocess.simplex import TRACE, fit_margins, project

LEAST, MOST = 1e-12, 1e24  # variances: with all but no noise, and with all but no epsilon
TURNS = 3


class NoisyTables:
    """What was measured of columns of these sizes; the number of rows, if it is public."""

    def __init__(self, sizes: Sequence[int], public: int | None) -> None:
        self.sizes, self.public = tuple(sizes), public
        self.rows = float(public or 1)
        self._cells: dict[Scope, Floats] = {}
        self._precision: dict[Scope, Floats] = {}  # of every cell

    def add(self, scope: Scope, cells: Floats, variance: float | Floats) -> None:
        """One more table of a column or a pair. Each column's comes before the first `fit`."""
        new = 1 / np.clip(np.broadcast_to(variance, cells.shape), LEAST, MOST)
        before = self._precision.get(scope, np.zeros(cells.shape))
        self._precision[scope] = before + new
        self._cells[scope] = (self._cells.get(scope, cells) * before + cells * new) / (before + new)

    def agreed(self) -> dict[Scope, Floats]:
        """The tables of steps 1 and 2, as counts; `rows` is their total."""
        spread = {scope: 1 / precision for scope, precision in self._precision.items()}
        sums = np.array([[cells.sum(), spread[scope].sum()] for scope, cells in self._cells.items()])
        total = float(np.average(sums[:, 0], weights=1 / sums[:, 1])) if self.public is None else float(self.public)
        self.rows = max(total, 1.0)
        top, below = [np.zeros(size) for size in self.sizes], [np.zeros(size) for size in self.sizes]
        moved = {}
        for scope, cells in self._cells.items():
            variance = spread[scope]
            moved[scope] = cells + (self.rows - cells.sum()) * variance / variance.sum()
            for axis, j in enumerate(scope):
                weight = 1 / _along(variance, axis)
                top[j] += weight * _along(moved[scope], axis)
                below[j] += weight
        found: dict[Scope, Floats] = {}
        for j, (weighted, weights) in enumerate(zip(top, below, strict=True)):
            margin = project(weighted / weights, self.rows) + TRACE
            found[j,] = margin * (self.rows / margin.sum())
        for scope, cells in moved.items():
            if len(scope) == 2:
                found[scope] = near(cells, found[scope[:1]], found[scope[1:]])
        return found

    def fit(self, sweeps: int) -> None:
        """Fit `model` to what the tables say now; it keeps what it was fitted to before as its start."""
        tables = {scope: counts / self.rows for scope, counts in self.agreed().items()}
        if not hasattr(self, "model"):
            self.model = MaximalEntropy([tables[j,] for j in range(len(self.sizes))])
        for given in self.model.given:
            given.table = tables.pop(given.scope)
        for scope, table in tables.items():
            self.model.join(scope, [np.arange(size) for size in table.shape], table)
        self.model.fit(sweeps)

    def expected(self, scopes: Sequence[Scope]) -> list[Floats]:
        """The model's tables of columns and pairs, as counts."""
        singles = [self.counts((j,)) for j in range(len(self.sizes))]
        pairs = {pair: table * self.rows for pair, table in self.model.pairs().items()}
        return [
            singles[scope[0]]
            if len(scope) == 1
            else pairs[scope]
            if scope in pairs
            else np.outer(singles[scope[0]], singles[scope[1]]) / self.rows
            for scope in scopes
        ]

    def counts(self, scope: Scope) -> Floats:
        """The model's table of some columns, as counts."""
        return self.model.table(scope) * self.rows


def near(table: Floats, first: Floats, second: Floats) -> Floats:
    """A table without negative cells near a noisy one, with given positive margins of one sum."""
    total = np.array([first.sum()])
    for _ in range(TURNS):
        table = table + ((first - table.sum(axis=1)) / table.shape[1])[:, None]
        table = project(table + (second - table.sum(axis=0)) / table.shape[0], float(total[0]))
    return fit_margins(table[..., None], first[:, None], second[:, None], total)[..., 0]


def _along(table: Floats, axis: int) -> Floats:
    """The table's margin on an axis."""
    return np.asarray(table.sum(axis=1 - axis) if table.ndim == 2 else table)
