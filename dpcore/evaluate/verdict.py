"""What a release kept of the real rows, what it lost, and who pays for that. Reads real rows: not private."""

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from scipy.special import gammaln, xlogy

from dpcore.arguments import Floats
from dpcore.domain.schema import Schema
from dpcore.evaluate.distances import MAX_CELLS, subsets, tables
from dpcore.evaluate.learners import Table, counted
from dpcore.rows import Rows
from dpcore.text import Verdict

CLOSE = 0.05  # distance of shares: what is called kept
TIED = 0.1  # dependence that is worth a word
HALF = 0.5  # of it; a release with less has lost the pair
GROUPS = 10  # values of a column whose rows are looked at as groups
FEWEST, LEAST = 30, 0.01  # rows of a group, and their share
MOST_PAIRS = 1_770  # of 60 columns
OFF, OFF_SHARE = 0.25, 0.1  # of the interquartile range, and of the rows: how far off is a median


@dataclass(frozen=True)
class Tie:
    """Two columns, how far from independent they are in the real rows, and how much of that a release has."""

    first: str
    second: str
    real: float
    released: float

    @property
    def verdict(self) -> Verdict:
        """Whether a release has at least half of it; of one weaker than `TIED`, nobody can tell."""
        if self.real < TIED:
            return Verdict.OPEN
        return Verdict.HOLDS if self.released >= HALF * self.real else Verdict.FAILS


@dataclass(frozen=True)
class Center:
    """Where the numbers of a column lie, whatever its bins: two means, and the released median.

    They are written as the column writes numbers. `share_below` is the share of real rows below that
    median, those at it taken as they suit; no number of a real row is kept. `distant` says whether it
    is further from the real median than chance explains.
    """

    column: str
    real_mean: str
    released_mean: str
    released_median: str
    share_below: float
    distant: bool


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column: their share, and how far off all other columns are among them, in mean."""

    column: str
    value: str
    share: float
    distance: float


@dataclass(frozen=True)
class Fidelity:
    """How many columns and pairs are close to the real ones; how many are tied, and which ties were lost; groups.

    The strongest lost ties come first.

    `worst` is the group that the release is furthest off for, beside the `largest` group of the same column; None if no
    column has groups.
    """

    columns: int
    close_columns: int
    pairs: int
    close_pairs: int
    lost: tuple[Tie, ...]
    worst: Group | None = None
    largest: Group | None = None
    ties: int = 0
    distant: tuple[Center, ...] = ()


def centers(real: pd.DataFrame, released: pd.DataFrame, schema: Schema) -> tuple[Center, ...]:
    """Compare the numbers of each numeric column, without its bins; what is missing is left out.

    A median is off if it lies more than `OFF` of the interquartile range from the real one, and if
    the share of real rows between the two is more than `OFF_SHARE`, and than two standard errors of
    samples of these sizes.
    """
    found = []
    for column in (column for column in schema if column.numeric):
        numbers = [column.numbers(table[column.name]) for table in (real, released)]
        first, second = (part[~np.isnan(part)] for part in numbers)
        if not len(first) or not len(second):
            continue
        median, (low, middle, high) = float(np.median(second)), np.quantile(first, [0.25, 0.5, 0.75])
        below = float(np.clip(0.5, (first < median).mean(), (first <= median).mean()))
        chance = np.sqrt(1 / len(first) + 1 / len(second))
        distant = abs(median - middle) > OFF * (high - low) and abs(below - 0.5) > max(OFF_SHARE, chance)
        means = [column.format_value(float(part.mean())) for part in (first, second)]
        found.append(Center(column.name, means[0], means[1], column.format_value(median), below, bool(distant)))
    return tuple(found)


def fidelity(
    real: Table, synthetic: Table, schema: Schema, *, counts: Rows | None = None, distant: tuple[Center, ...] = ()
) -> Fidelity:
    """Judge a release by its columns, pairs and groups.

    Two columns are tied as far as their joint shares are from the product of their own, ½ Σ |P(a, b) - P(a) P(b)|, less
    what as many rows would have by chance if they were independent. A release has of it what its own difference adds
    up to in the cells' real direction, ½ Σ sign(P(a, b) - P(a) P(b)) (Q(a, b) - Q(a) Q(b)): noise, whose directions are
    its own, adds nothing to that. A tie of `TIED` or more is lost where the release has less than half of it. Of wide
    schemas, and of pairs with very many cells, not all are looked at.

    Parameters
    ----------
    real, synthetic : DataFrame, codes of one, or Folder
    counts : Rows, optional
        Of the real rows, for callers who count once.
    distant : tuple of Center, optional
        Columns whose numbers are far off: they are not close, whatever their shares are.

    Raises
    ------
    DataError
        If a table is empty or does not fit the schema.
    """
    rows = counts or counted(real, schema), counted(synthetic, schema)
    names, sizes, n = schema.names, schema.sizes, [*map(len, rows)]
    columns = [(j,) for j in range(len(schema)) if sizes[j] <= MAX_CELLS]
    chosen = subsets(len(schema), 2, MOST_PAIRS, 0) if len(schema) > 1 else []
    chosen = [pair for pair in chosen if prod(sizes[j] for j in pair) <= MAX_CELLS]
    wrong = {center.column for center in distant}
    alone = [apart(p / n[0], q / n[1]) for p, q in tables(columns, *rows)]
    alone = [1.0 if names[j] in wrong else far for (j,), far in zip(columns, alone, strict=True)]
    pairs: list[float] = []
    ties: list[Tie] = []
    within: dict[int, list[Floats]] = {}
    grouped = {j for j, column in enumerate(schema) if not column.numeric and 1 < column.size <= GROUPS}
    shares: dict[int, Floats] = {}
    for (a, b), counted_pair in zip(chosen, tables(chosen, *rows), strict=True):
        p, q = (each / many for each, many in zip(counted_pair, n, strict=True))
        pairs.append(apart(p, q))
        ties.append(Tie(names[a], names[b], tied(p, n[0]), kept_tie(p, q)))
        for group, joint, released in ((a, p, q), (b, p.T, q.T)):
            if group in grouped:
                shares[group] = joint.sum(axis=1)
                within.setdefault(group, []).append(apart_within(joint, released, *n))
    groups = [
        Group(names[j], schema[names[j]].labels[code], float(shares[j][code]), float(np.mean(found, axis=0)[code]))
        for j, found in within.items()
        for code in np.flatnonzero(shares[j] >= max(LEAST, FEWEST / n[0]))
    ]
    worst = max(groups, key=lambda group: group.distance, default=None)
    alike = [group for group in groups if worst is not None and group.column == worst.column]
    lost = [tie for tie in ties if tie.verdict is Verdict.FAILS]
    return Fidelity(
        columns=len(alone),
        close_columns=sum(one <= CLOSE for one in alone),
        pairs=len(pairs),
        close_pairs=sum(one <= CLOSE for one in pairs),
        lost=tuple(sorted(lost, key=lambda tie: tie.released - tie.real)),
        worst=worst,
        largest=max(alike, key=lambda group: group.share, default=None),
        ties=sum(tie.verdict is not Verdict.OPEN for tie in ties),
        distant=distant,
    )


def apart(p: Floats, q: Floats) -> float:
    """½ Σ |P - Q|."""
    return float(np.abs(p - q).sum() / 2)


def apart_within(p: Floats, q: Floats, first_rows: int, second_rows: int) -> Floats:
    """The same for every row of joint shares by itself, as shares of the row; 1 where only one of the two has any.

    Less what two samples of these sizes would have by chance: a share x is off by sqrt(2 x (1 - x) (1/n + 1/m) / pi).
    """
    rows = [part.sum(axis=1, keepdims=True) for part in (p, q)]
    first, second = (
        np.divide(part, row, out=np.zeros_like(part), where=row > 0) for part, row in zip((p, q), rows, strict=True)
    )
    each = 1 / np.maximum(rows[0] * first_rows, 1) + 1 / np.maximum(rows[1] * second_rows, 1)
    share = (first + second) / 2
    chance = np.sqrt(2 / np.pi * share * (1 - share) * each).sum(axis=1) / 2
    found: Floats = np.maximum(np.abs(first - second).sum(axis=1) / 2 - chance, 0.0)
    return np.where((rows[0] > 0).ravel() & (rows[1] > 0).ravel(), found, 1.0)


def tied(p: Floats, rows: int) -> float:
    """How far joint shares are from the product of their margins, beyond what chance gives so many rows."""
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    mean = alone * rows  # of a Poisson number, E |X - m| = 2 m P(X = k), with k the whole part of m
    k = np.floor(mean)
    chance = float((alone * np.exp(xlogy(k, mean) - mean - gammaln(k + 1))).sum())
    return max(apart(p, alone) - chance, 0.0)


def kept_tie(p: Floats, q: Floats) -> float:
    """How much of the dependence in real joint shares released ones have, in the direction of each cell."""
    real, released = (shares - np.outer(shares.sum(axis=1), shares.sum(axis=0)) for shares in (p, q))
    return max(float((np.sign(real) * released).sum() / 2), 0.0)
