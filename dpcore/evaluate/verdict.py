"""What a release kept of the real rows, what it lost, and who pays for that. Reads real rows: not private."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from scipy.special import gammaln, xlogy

from dpcore.arguments import Floats
from dpcore.domain.schema import Schema
from dpcore.evaluate.distances import MAX_CELLS, batches, subsets
from dpcore.evaluate.learners import Table, counted, require_rows
from dpcore.rows import Rows

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
class Verdict:
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


def verdict(
    real: Table, synthetic: Table, schema: Schema, *, counts: Rows | None = None, distant: tuple[Center, ...] = ()
) -> Verdict:
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
    first, second = counts or counted(real, schema), counted(synthetic, schema)
    require_rows(first, second)
    names, sizes = schema.names, schema.sizes

    def of(families: list[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], Floats, Floats]]:
        for batch in batches(sizes, [family for family in families if prod(sizes[j] for j in family) <= MAX_CELLS]):
            for family, p, q in zip(batch, first.tables(batch), second.tables(batch), strict=True):
                yield family, p / len(first), q / len(second)

    wrong = {center.column for center in distant}
    alone = [1.0 if names[j] in wrong else apart(p, q) for (j,), p, q in of([(j,) for j in range(len(schema))])]
    pairs: list[float] = []
    lost: list[Tie] = []
    ties = 0
    within: dict[int, list[Floats]] = {}
    grouped = {j for j, column in enumerate(schema) if not column.numeric and 1 < column.size <= GROUPS}
    shares: dict[int, Floats] = {}
    chosen = subsets(len(schema), 2, MOST_PAIRS, 0) if len(schema) > 1 else []
    for (a, b), p, q in of(chosen):
        pairs.append(apart(p, q))
        tie = Tie(names[a], names[b], tied(p, len(first)), kept_tie(p, q))
        ties += tie.real >= TIED
        if tie.real >= TIED and tie.released < HALF * tie.real:
            lost.append(tie)
        for group, joint, released in ((a, p, q), (b, p.T, q.T)):
            if group in grouped:
                shares[group] = joint.sum(axis=1)
                within.setdefault(group, []).append(apart_within(joint, released, len(first), len(second)))
    groups = [
        Group(names[j], schema[names[j]].labels[code], float(shares[j][code]), float(np.mean(found, axis=0)[code]))
        for j, found in within.items()
        for code in np.flatnonzero(shares[j] >= max(LEAST, FEWEST / len(first)))
    ]
    worst = max(groups, key=lambda group: group.distance, default=None)
    alike = [group for group in groups if worst is not None and group.column == worst.column]
    return Verdict(
        len(alone),
        sum(one <= CLOSE for one in alone),
        len(pairs),
        sum(one <= CLOSE for one in pairs),
        tuple(sorted(lost, key=lambda tie: tie.released - tie.real)),
        worst,
        max(alike, key=lambda group: group.share, default=None),
        ties,
        distant,
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
    return max(apart(p, alone) - float(by_chance(alone * rows).sum()) / (2 * rows), 0.0)


def kept_tie(p: Floats, q: Floats) -> float:
    """How much of the dependence in real joint shares released ones have, in the direction of each cell."""
    real, released = (shares - np.outer(shares.sum(axis=1), shares.sum(axis=0)) for shares in (p, q))
    return max(float((np.sign(real) * released).sum() / 2), 0.0)


def by_chance(expected: Floats) -> Floats:
    """E |X - m| of a Poisson number of mean m: 2 e^-m m^(k + 1) / k!, with k the whole part of m."""
    k = np.floor(expected)
    return np.asarray(2 * np.exp(xlogy(k + 1, expected) - expected - gammaln(k + 1)))
