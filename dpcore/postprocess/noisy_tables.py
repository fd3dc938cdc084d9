r"""Noisy tables of columns that are made to agree, and the distribution of maximal entropy with what they then say.

Tables are of any columns; their noise is of known variance, one for all cells or, of single columns, one for each.

1  Answers about the same columns are averaged by inverse variance.
2  For every set of columns that tables have in common, smaller ones first (none: the total, unless it is public), the
   tables' margins are averaged by inverse variance, and each takes its difference, in equal steps over the cells behind
   it (in proportion to their variance). What was averaged before stays as it is: this is PriView's consistency
   (Qardaji, Yang and Li 2014), where weights are not of the numbers of cells alone.
3  From smaller to larger sets, what tables have in common, and then they themselves, are moved in turn to the smaller
   ones' tables and to the nearest table without negative cells, `TURNS` times, and then fitted to the smaller ones by
   iterative proportional fitting.
4  `MaximalEntropy` is fitted to the tables, or to margins of theirs. Bayesian networks take the tables as they are.

Private-PGM (McKenna, Sheldon and Miklau 2019) has all of it in one problem of least squares over what distributions can
have as tables. Steps 1 to 3 are its projections, one after the other, so that nothing needs a thousand steps of
gradients.

Post-processing: no private input, no cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from dpcore.arguments import Floats
from dpcore.postprocess.bayes_net import margin
from dpcore.postprocess.junction_tree import Scope
from dpcore.postprocess.max_entropy import MaximalEntropy
from dpcore.postprocess.simplex import TRACE, project

LEAST, MOST = 1e-12, 1e24  # variances: with all but no noise, and with all but no epsilon
NOTHING = 1e-200  # counts; less would vanish among many factors that are small
TURNS, FITS = 3, 10


class NoisyTables:
    """What was measured; and the number of rows, if it is public."""

    def __init__(self, public: float | None) -> None:
        self.public = public
        self.rows = float(public or 1)
        self._cells: dict[Scope, Floats] = {}
        self._precision: dict[Scope, Floats] = {}  # of every cell

    def add(self, scope: Scope, cells: Floats, variance: float | Floats) -> None:
        """One more table. All columns have one before the first `fit`."""
        new = 1 / np.clip(np.broadcast_to(variance, cells.shape), LEAST, MOST)
        before = self._precision.get(scope, np.zeros(cells.shape))
        self._precision[scope] = before + new
        self._cells[scope] = (self._cells.get(scope, cells) * before + cells * new) / (before + new)

    def agreed(self) -> dict[Scope, Floats]:
        """The tables of steps 1 to 3, as positive counts; `rows` is their total."""
        tables = consistent(self._cells, self._precision, self.public)
        self.rows = max(float(next(iter(tables.values())).sum()), 1.0)
        found: dict[Scope, Floats] = {}
        for scope in [*intersections(tables)[1:], *sorted(tables, key=len)]:
            if scope not in found:
                within = {other: table for other, table in found.items() if set(other) < set(scope)}
                found[scope] = near(of(tables, scope), scope, within, self.rows)
        return {scope: found[scope] for scope in tables}

    def fit(self, sweeps: int, scopes: Iterable[Scope] | None = None) -> None:
        """Fit `model` to what the tables say now, of themselves or of some scopes within them.

        It keeps what it was fitted to before as its start.
        """
        agreed = {scope: counts / self.rows for scope, counts in self.agreed().items()}
        tables = {scope: of(agreed, scope) for scope in (agreed if scopes is None else scopes)}
        if not hasattr(self, "model"):
            self.model = MaximalEntropy([of(agreed, (j,)) for j in range(1 + max(max(scope) for scope in agreed))])
        for given in self.model.given:
            given.table = tables.pop(given.scope)
        for scope, table in tables.items():
            self.model.join(scope, [np.arange(size) for size in table.shape], table)
        self.model.fit(sweeps)

    def expected(self, scopes: Sequence[Scope]) -> list[Floats]:
        """The model's tables of columns and pairs, as counts."""
        pairs = self.model.pairs()
        return [pairs[scope] * self.rows if scope in pairs else self.counts(scope) for scope in scopes]

    def counts(self, scope: Scope) -> Floats:
        """The model's table of some columns, as counts."""
        return self.model.table(scope) * self.rows


def near(table: Floats, scope: Scope, known: Mapping[Scope, Floats], total: float) -> Floats:
    """A table without negative cells near a noisy one, of that total, with known positive margins, but for little."""
    others = {shared: tuple(axis for axis, j in enumerate(scope) if j not in shared) for shared in known}
    for _ in range(TURNS if known else 0):
        for shared, axes in others.items():
            missing = np.expand_dims(known[shared] - table.sum(axis=axes), axes)
            table = table + missing * (known[shared].size / table.size)
        table = project(table, total)
    found = project(table, total) + TRACE
    for _ in range(FITS):
        for shared, axes in others.items():
            found = np.maximum(found * np.expand_dims(known[shared] / found.sum(axis=axes), axes), NOTHING)
    found *= total / found.sum()
    return found


def of(tables: Mapping[Scope, Floats], scope: Scope) -> Floats:
    """The table of some columns: the margin of the first one that holds them."""
    holder = next(held for held in tables if set(scope) <= set(held))
    return margin(tables[holder], holder, scope)


def consistent(
    tables: Mapping[Scope, Floats], precision: Mapping[Scope, Floats], total: float | None
) -> dict[Scope, Floats]:
    """Step 2: the tables moved so that any two agree on the columns that they share; cells may be negative.

    `precision` has every cell's inverse variance. `total` is the sum of every table, if it is known.
    """
    moved = dict(tables)
    for shared in intersections(tables):
        held = {scope: 1 / precision[scope] for scope in tables if set(shared) <= set(scope)}
        spread = {scope: margin(variance, scope, shared) for scope, variance in held.items()}
        present = {scope: margin(moved[scope], scope, shared) for scope in held}
        weights = sum(1 / variance for variance in spread.values())
        wanted = sum(present[scope] / variance for scope, variance in spread.items()) / weights
        if not shared and total is not None:
            wanted = np.asarray(float(total))
        for scope, variance in held.items():
            others = tuple(axis for axis, j in enumerate(scope) if j not in shared)
            step = np.expand_dims((wanted - present[scope]) / spread[scope], others)
            moved[scope] = moved[scope] + step * variance
    return moved


def intersections(scopes: Iterable[Scope]) -> list[Scope]:
    """Every set of columns in which two scopes or more meet, the empty set first, smaller ones before larger ones."""
    sets = [frozenset(scope) for scope in scopes]
    found: set[frozenset[int]] = {frozenset()}
    new = {a & b for a, b in combinations(sets, 2)} - found
    while new:
        found |= new
        new = {a & b for a in new for b in sets} - found
    return sorted((tuple(sorted(shared)) for shared in found), key=lambda shared: (len(shared), shared))
