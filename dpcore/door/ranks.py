"""Queries about the order of a column's numbers: which values are quantiles, and how many are below.

Rows are ordered by their value, and rows with one value at random: each row's value is divided into
cells of equal width, of which the row is in a random one. That is a public rule that works row by
row, with random numbers that depend on no row, so it costs nothing. A threshold is a cell's lower
edge.

choose   The exponential mechanism over the thresholds from `low` to `high`, a range of cells per
         node. The score of a threshold with B rows below it and A rows above, both inside the node,
         is -|(1 - p) B - p A| / (2 max(p, 1 - p)), for a target p. A row that is added to a node
         changes the number inside |...| by 1 - p or by -p. So every threshold's score changes by at
         most 1/2, and the difference of two scores by at most 1: that is the loss factor. A row is
         in one node only, so all nodes of a query cost as much as one. Under replace a row may
         leave one node and enter another, or move within one: the loss of both changes is that of a
         person with two rows (`PrivacyMeasure.group_factor`). Splitting at earlier thresholds, with
         targets inside each part, is that of Kaplan, Schnapp and Stemmer 2022.
counts   The numbers of rows between neighboring thresholds: a histogram.

Rounding. B and A are whole numbers up to the number of rows n. A score takes four operations, so
it is off by at most 4 n units of 2^-53; the factor of exactly sampled selection covers twice that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dpcore.accounting.privacy_measure import WIDEST
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Column, Counts
from dpcore.door import privacy_costs
from dpcore.door.door import Door
from dpcore.mechanisms.scores import Bounds, most_rows

MOST_CELLS = 1 << 20
CELLS_PER_ROW = 64
SPLIT = 1 << 5  # cells of a value of a continuous column


@dataclass(frozen=True)
class RankCells:
    """Ordered cells of a column's numbers: `values` values or small intervals, of `parts` cells each.

    With `whole`, numbers are integers, of which an interval may contain several.
    """

    lower: float
    upper: float
    whole: bool
    values: int
    parts: int

    @classmethod
    def of_column(cls, column: Column, groups: int, rows: float = inf) -> RankCells:
        """Return cells of a numeric column, `MOST_CELLS` at most for all groups together.

        For a public or noisy number of `rows` of the largest group, there are `CELLS_PER_ROW` for
        each row at most.
        """
        low, high, whole = float(column.edges[0]), float(column.edges[-1]), column.whole
        most = int(max(min(MOST_CELLS / groups, CELLS_PER_ROW * rows), 1 << 8))
        values = int(min(high - low, most)) if whole else max(most // SPLIT, 64)
        return cls(low, high - whole, whole, values, max(most // values, 1))

    def index(self, scaled: Floats, draws: Floats) -> Ints:
        """Return the random cell of each number scaled to [0, 1]; -1 where it is NaN.

        `draws` are uniform random numbers in [0, 1), one per row.
        """
        span = self.upper - self.lower
        at = np.rint(scaled * span) / (span + 1) if self.whole else scaled
        at = np.clip(np.floor(np.nan_to_num(at) * self.values + 1e-9), 0, self.values - 1)
        cells = at * self.parts + np.floor(draws * self.parts)
        return np.where(np.isnan(scaled), -1, cells).astype(np.intp)

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.values * self.parts

    def ends(self, cells: Ints) -> tuple[Floats, Floats]:
        """Return the lowest and the highest number that may be in each cell."""
        value = np.clip(cells, 0, self.size - 1) // self.parts
        width = (self.upper - self.lower + self.whole) / self.values
        low, high = self.lower + value * width, self.lower + (value + 1) * width
        # adding 0 turns a negative zero into 0
        if self.whole:
            low, high = np.ceil(low - 1e-9) + 0.0, np.ceil(high - 1e-9) - 1
        return np.asarray(low, dtype=float), np.asarray(high, dtype=float)


class PrivateRanks:
    """Private rows in the order of a column's numbers, by group; made by `PrivateTable.ranks`."""

    def __init__(self, door: Door, name: str, counts: Counts) -> None:
        """Keep the number of rows below each threshold; `counts` are those of cells, by group."""
        self._door, self._name = door, name
        self._below = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)

    def choose(self, low: Ints, high: Ints, targets: Floats, *, epsilon: Epsilon) -> Ints:
        """Select one threshold per node by the exponential mechanism; shape (groups, nodes).

        `low` and `high` are the first and the last threshold of each node, shape (groups, nodes);
        nodes of a group may share thresholds, but no cells. `targets` has the share of the node's
        rows that should be below the threshold. `epsilon` is the privacy loss of all selections
        together.
        """
        if (np.maximum.accumulate(high, axis=1)[:, :-1] > low[:, 1:]).any():
            raise ValueError("nodes overlap")
        ledger, exactly = self._door.ledger, self._door.noise.exactly_sampled
        factor = ledger.measure.group_factor(ledger.relation.histogram_l1)
        bounds = Bounds(0.5, 1.0, 8 * most_rows(self._door.rows) / WIDEST)
        claim = privacy_costs.QueryClaim(measure=ledger.measure)
        name = f"rank in {self._name}"
        entry, rate = privacy_costs.selection_entry(
            name, bounds, exact(epsilon) / factor, factor, claim, exactly=exactly
        )

        def draw() -> Ints:
            scores, nodes = [], []
            for node, (group, i) in enumerate(np.ndindex(low.shape)):
                below = self._below[group, low[group, i] : high[group, i] + 1].astype(float)
                p = targets[group, i]
                gap = (1 - p) * (below - below[0]) - p * (below[-1] - below)
                scores.append(-np.abs(gap) / (2 * max(p, 1 - p)))
                nodes.append(np.full(len(below), node))
            rated = np.concatenate(scores) if rate else np.zeros(sum(map(len, scores)))
            chosen = self._door.noise.select_grouped(rated, np.concatenate(nodes), rate or 1.0)
            starts = np.cumsum([0, *map(len, scores[:-1])])
            return np.asarray(low + (chosen - starts).reshape(low.shape))

        return self._door.answer("choose", [entry], draw)

    def counts(self, thresholds: Ints, *, epsilon: Epsilon) -> tuple[Floats, float]:
        """Return noisy numbers of rows between neighboring thresholds, and the scale of their noise.

        `thresholds` increase along the last axis, shape (groups, m). The counts have the shape
        (groups, m + 1): those below the first threshold come first, those above the last threshold
        last.
        """
        measure, noise = self._door.ledger.measure, self._door.noise
        sensitivity = measure.histogram_sensitivity(self._door.ledger.relation)
        name = f"counts between ranks in {self._name}"
        entry = privacy_costs.noise_entry(name, noise.on_counts, measure, sensitivity, epsilon)

        def draw() -> Floats:
            below = np.take_along_axis(self._below, thresholds, axis=1)
            whole = self._below[:, -1:]
            counts = np.diff(np.concatenate([np.zeros_like(whole), below, whole], axis=1), axis=1)
            return self._door.noisy_counts([counts], [entry.scale])[0]

        return self._door.answer("counts", [entry], draw), entry.scale
