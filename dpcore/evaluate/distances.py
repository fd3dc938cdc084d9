"""How close a released table is to the real one, compared by their codes: up to the schema's categories and bins.

Distances of marginals, and what they come to (`fidelity`): what a release kept of the real rows,
what it lost, and who pays for that. Reads real rows: not private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, prod
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from dpcore.arguments import Flags, Floats, is_whole, require_frame
from dpcore.domain.cells import factorize_texts
from dpcore.domain.column import Codes, Column
from dpcore.domain.partition import Binarization
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import TableLike, as_rows, require_rows
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.rows import HeldRows, Rows
from dpcore.text import Verdict, canonical

ColumnSet = tuple[int, ...]
CellIndices = NDArray[np.int64]
MERGED = 1 << 20  # cells of blocks that are put together
MAX_CELLS = 1 << 18  # larger tables are nearly empty; their occupied cells are compared instead

CLOSE = 0.05  # distance of shares: what is called kept
TIED = 0.1  # dependence that is worth a word
HALF = 0.5  # of it; a release with less has lost the pair
GROUPS = 10  # values of a column whose rows are looked at as groups
FEWEST, LEAST = 30, 0.01  # rows of a group, and their share
MOST_PAIRS = 1_770  # of 60 columns
OFF, OFF_SHARE = 0.25, 0.1  # of the interquartile range, and of the rows: how far off is a median


def marginal_avd(
    real: TableLike | Rows,
    synthetic: TableLike,
    schema: Schema,
    degree: int = 2,
    *,
    on: str = "columns",
    max_cliques: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how far released marginals are from the real ones. Reads real rows: not private.

    The distance of a marginal is the total variation distance ½ Σ |P − Q| of its real shares P and
    its released shares Q; the mean over all marginals is the average variation distance (AVD).

    Parameters
    ----------
    real : DataFrame, codes of one, Folder, or Rows
        A data set that fits the schema, whose cells have the shares P. Rows in a folder are counted
        where they are, exactly.
    synthetic : DataFrame, codes of one, or Folder
        Another one, with the shares Q; it may differ in length.
    schema : Schema
        The schema of both.
    degree : int, default=2
        Number of columns, or of bits, per marginal.
    on : {"columns", "bits"}, default="columns"
        Whether the marginals are of the schema's columns or of the bits of their codes (see
        `Binarization`). Several bits may be of one column.
    max_cliques : int, optional
        Compare only this many marginals, drawn with `seed`. All by default.
    seed : int, default=0
        The seed of that draw.

    Returns
    -------
    DataFrame
        `attributes` (tuple of names of columns or bits, in schema order) and `avd` (0: equal, 1:
        disjoint), one row per marginal.

    Raises
    ------
    DataError, ParameterError
        If a data set is empty or does not fit the schema, `degree` or `max_cliques` is out of
        range, or `on` is not known.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> found = dp.evaluate.marginal_avd(data.train, data.test, data.schema, degree=1)
    >>> bool(found["avd"].max() < 0.1)
    True
    """
    (first, second), schema = _columns_or_bits(on, (as_rows(real, schema), as_rows(synthetic, schema)), schema)
    chosen = cliques(len(schema), degree, max_cliques, seed)
    # counts are compared as whole numbers, so equal shares differ by exactly 0
    n, m, counts = len(first), len(second), tables(chosen, first, second)
    return _by_clique(schema, chosen, [int(np.abs(p * m - q * n).sum()) / (2 * n * m) for p, q in counts])


def _columns_or_bits(on: str, tables: Sequence[Rows], schema: Schema) -> tuple[Sequence[Rows], Schema]:
    """Return the tables and schema of the columns themselves, or of the bits of their codes.

    `on` is "columns" or "bits".
    """
    if on not in ("columns", "bits"):
        raise ParameterError(f'`on` must be "columns" or "bits"; got {on!r}.', 'Try on="columns".')
    if on == "columns":
        return tables, schema
    binary = Binarization(schema)
    rules = [(schema.index(name), rule) for name, rule in binary.rules]
    return [rows.recode(binary.schema.sizes, rules) for rows in tables], binary.schema


def _by_clique(schema: Schema, chosen: Sequence[ColumnSet], avd: Sequence[float]) -> pd.DataFrame:
    """Return a frame of cliques, by the names of their columns, and their distances `avd`."""
    names = schema.names
    return pd.DataFrame({"attributes": [tuple(names[j] for j in clique) for clique in chosen], "avd": avd})


def noise_floor(
    real: TableLike | Rows,
    schema: Schema,
    degree: int = 2,
    *,
    on: str = "columns",
    rows: int | None = None,
    repeats: int = 5,
    max_cliques: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how far resamples of the real rows are from them: the sampling-noise floor.

    No release can be expected to be closer to the real rows. Reads real rows: not private. With
    equal `on`, `max_cliques` and `seed` the marginals are those of `marginal_avd`.

    Parameters
    ----------
    real, schema, degree, on
        As for `marginal_avd`.
    rows : int, optional
        How many rows are drawn per resample, with replacement: as many as the released data set
        has, or by default the real one.
    repeats : int, default=5
        The number of resamples; for rows in a folder the mean over all that there can be, which is
        known: how often a cell is drawn is binomial.
    max_cliques, seed
        As for `marginal_avd`.

    Returns
    -------
    DataFrame
        As of `marginal_avd`; `avd` is the mean over resamples.

    Raises
    ------
    ParameterError, DataError
        As for `marginal_avd`, and if `rows` or `repeats` is no positive whole number.
    """
    known = as_rows(real, schema)
    rows = len(known) if rows is None else rows
    if not is_whole(rows, 1) or not is_whole(repeats, 1):
        raise ParameterError("`rows` and `repeats` must be 1 or more.", "Give positive whole numbers.")
    if not isinstance(known, HeldRows):
        ((known,), schema) = _columns_or_bits(on, [known], schema)
        chosen = cliques(len(schema), degree, max_cliques, seed)
        shares = (p.ravel() / p.sum() for (p,) in tables(chosen, known))
        return _by_clique(schema, chosen, [float(off_by_chance(p, rows).sum() / 2) for p in shares])
    codes, rng = known.codes, np.random.default_rng([seed, 1])  # not the stream that draws the cliques
    draws = (codes[rng.integers(len(codes), size=rows)] for _ in range(repeats))
    options: dict[str, Any] = {"on": on, "max_cliques": max_cliques, "seed": seed}
    frames = [marginal_avd(known, drawn, schema, degree, **options) for drawn in draws]
    return frames[0].assign(avd=np.mean([frame["avd"] for frame in frames], axis=0))


def off_by_chance(shares: Floats, rows: int) -> Floats:
    """Return how far shares are off, in the mean, in a random sample of n = `rows` rows.

    For each share p this is E |X/n - p|, where X is binomial: the sampled rows that count.
    """
    pmf = binom.pmf(np.floor(rows * shares), rows - 1, shares)
    return np.asarray(2 * shares * (1 - shares) * pmf)


def marginals(real: TableLike | Rows, synthetic: TableLike, schema: Schema, column: str) -> Statistics:
    """Compare one column's shares, with the range that resampling alone explains. Not private.

    A resample's count is binomial, so its quantiles are exact and nothing is drawn.

    Parameters
    ----------
    real : DataFrame, codes of one, Folder, or Rows
        The real rows.
    synthetic : DataFrame, codes of one, or Folder
        The release.
    schema : Schema
        The schema of both.
    column : str
        The column.

    Returns
    -------
    Statistics
        A DataFrame with one row per label of the column, in label order: `value`, the shares `real`
        and `released`, and `floor_low`, `floor_high`: the 2.5% and 97.5% quantiles of the share in
        a resample of the real rows as long as the release.

    Raises
    ------
    DataError, SchemaError
        If a data set is empty or does not fit the schema, or there is no such column.
    """
    p, q = _shares(real, synthetic, schema, [column])
    m = len(synthetic)
    return with_floors(pd.DataFrame({"value": schema[column].labels, "real": p, "released": q}), m)


def with_floors(frame: pd.DataFrame, rows: Any) -> Statistics:
    """Add the 2.5% and 97.5% quantiles of the shares `real` in resamples.

    They are the columns `floor_low` and `floor_high`. `rows` is the number of rows in a resample.
    """
    ends = {"floor_low": 0.025, "floor_high": 0.975}
    found = {end: binom.ppf(level, rows, frame["real"]) / rows for end, level in ends.items()}
    return statistics(frame.assign(**found))


def pair_marginal(real: TableLike | Rows, synthetic: TableLike, schema: Schema, x: str, y: str) -> Statistics:
    """Return the shares of two columns' value pairs. Reads real rows: not private.

    Parameters
    ----------
    real, synthetic, schema
        As for `marginals`.
    x, y : str
        Two different columns.

    Returns
    -------
    Statistics
        A DataFrame of `x_value`, `y_value`, `source` ("real" or "released") and `share`; for each
        source every pair of labels, in label order, so that the shares of a source sum to 1.

    Raises
    ------
    ParameterError
        If the columns are one.
    DataError, SchemaError
        As for `marginals`.
    """
    if x == y:
        raise ParameterError("A pair needs two different columns.", "Choose another column.")
    grid = pd.MultiIndex.from_product([schema[x].labels, schema[y].labels], names=["x_value", "y_value"])
    p, q = _shares(real, synthetic, schema, [x, y])
    cells = grid.to_frame(index=False).assign(real=p, released=q)
    long = cells.melt(["x_value", "y_value"], var_name="source", value_name="share")
    return statistics(long)


def value_shares(frame: pd.DataFrame, column: Column) -> Floats:
    """Return the share of each value of one column; 0 where the frame has no rows."""
    codes = column.encode(frame[column.name])
    return np.asarray(np.bincount(codes, minlength=column.size) / max(len(codes), 1))


def validity(synthetic: pd.DataFrame, schema: Schema) -> float:
    """Return the share of the schema's cells that hold a declared value.

    A column that is lacking counts as wholly invalid; columns outside the schema are ignored.
    `outside="clip"` does not help: a cell that would be moved is not a declared value.

    Parameters
    ----------
    synthetic : DataFrame
        The release.
    schema : Schema
        Its schema.

    Returns
    -------
    float
        The share, in [0, 1]; 1 for every sound release.

    Raises
    ------
    DataError
        If there are no rows.
    """
    require_rows(require_frame(synthetic, texts=True))
    shares = [_is_declared(synthetic[c.name], c).mean() if c.name in synthetic.columns else 0.0 for c in schema]
    return float(np.mean(shares))


def _shares(real: TableLike | Rows, synthetic: TableLike, schema: Schema, names: Sequence[str]) -> list[Floats]:
    """Return the shares of all cells of a joint table, flat, in the real and in the released rows."""
    shares = []
    for table in (real, synthetic):
        family = [schema.index(name) for name in names] if isinstance(table, Rows) else range(len(names))
        rows = as_rows(table, schema, names)
        shares.append(rows.marginals([family])[0].ravel() / len(rows))
    return shares


def cliques(d: int, degree: int, max_cliques: int | None, seed: int) -> list[ColumnSet]:
    """List all `degree`-cliques of d columns in lexicographic order, or a sorted sample of them.

    A clique is a tuple of column positions. More than `max_cliques` are sampled by `seed`.
    """
    if not is_whole(degree, 1, d):
        raise ParameterError(f"There are no {degree!r}-way marginals of {d} columns.", f"Choose between 1 and {d}.")
    total = comb(d, degree)
    if max_cliques is not None and not is_whole(max_cliques, 1):
        raise ParameterError("At least one marginal must be compared.", "Give a positive number of cliques.")
    if max_cliques is None or max_cliques >= total:
        return list(combinations(range(d), degree))
    ranks = np.random.default_rng(seed).choice(total, max_cliques, replace=False)
    return [_clique_at(int(rank), d, degree) for rank in np.sort(ranks)]


def pairs_of(schema: Schema, most: int, seed: int = 0) -> list[ColumnSet]:
    """List pairs of columns, a sample by `seed` if above `most`, without very large tables."""
    chosen = cliques(len(schema), 2, most, seed) if len(schema) > 1 else []
    return [pair for pair in chosen if prod(schema.sizes[j] for j in pair) <= MAX_CELLS]


@lru_cache(maxsize=1 << 14)
def _clique_at(rank: int, d: int, degree: int) -> ColumnSet:
    """Return the subset of columns that `itertools.combinations` yields at index `rank`."""
    chosen: list[int] = []
    for j in range(d):
        left = degree - len(chosen)
        with_j = comb(d - j - 1, left - 1) if left else 0
        if rank < with_j:
            chosen.append(j)
        else:
            rank -= with_j
    return tuple(chosen)


def tables(chosen: Sequence[ColumnSet], *data: Rows) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield the counts of each subset of columns in `chosen`, for one or two data sets.

    Of tables with very many cells, only the cells that occur in one of the data sets are counted.
    """
    for batch in batches(data[0].sizes, chosen):
        if prod(data[0].sizes[j] for j in batch[0]) <= MAX_CELLS:
            yield from zip(*(rows.marginals(batch) for rows in data), strict=True)
        else:
            yield occupied_counts(data[0], data[-1], batch[0])[: len(data)]


def occupied_counts(first: Rows, second: Rows, clique: ColumnSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count two data sets' rows in each cell of a clique's table that occurs in either."""
    sizes = [first.sizes[j] for j in clique]
    if prod(sizes) >= 2**63:  # too many for numbers that name each
        both = [
            np.column_stack([np.concatenate(parts) for parts in zip(*rows.blocks(clique), strict=True)])
            for rows in (first, second)
        ]
        numbers = row_numbers(both[0], both[1])
        cells = max(int(each.max()) for each in numbers) + 1
        return np.bincount(numbers[0], minlength=cells), np.bincount(numbers[1], minlength=cells)
    p, q = _cells(first, clique, sizes).align(_cells(second, clique, sizes), fill_value=0)
    return p.to_numpy(dtype=np.int64), q.to_numpy(dtype=np.int64)


def _cells(rows: Rows, clique: ColumnSet, sizes: Sequence[int]) -> pd.Series[int]:
    """Count the rows in each occupied cell of a clique's table, sorted by cell."""
    parts: list[pd.Series[int]] = []
    for block in rows.blocks(clique):
        flat = np.ravel_multi_index([codes.astype(np.intp) for codes in block], sizes)
        parts.append(pd.Series(flat).value_counts(sort=False))
        if sum(map(len, parts[1:])) >= max(MERGED, len(parts[0])):
            parts = [pd.concat(parts).groupby(level=0).sum()]
    return pd.concat(parts).groupby(level=0).sum()


def batches(sizes: Sequence[int], chosen: Sequence[ColumnSet]) -> Iterator[list[ColumnSet]]:
    """Group consecutive cliques so that the tables of a group have at most `MAX_CELLS` cells.

    A larger table is a group of its own.
    """
    batch: list[ColumnSet] = []
    total = 0
    for clique in chosen:
        cells = prod(sizes[j] for j in clique)
        if batch and total + cells > MAX_CELLS:
            yield batch
            batch, total = [], 0
        batch.append(clique)
        total += cells
    if batch:
        yield batch


def row_numbers(first: Codes, second: Codes) -> tuple[CellIndices, CellIndices]:
    """Number the rows of two tables so that two rows are equal if and only if their numbers are."""
    both = pd.DataFrame(np.concatenate([first, second]))
    numbers = np.asarray(both.groupby(list(both), sort=False).ngroup(), dtype=np.int64)
    return numbers[: len(first)], numbers[len(first) :]


def _is_declared(values: pd.Series[Any], column: Column) -> Flags:
    """Return whether each cell of a column holds a declared value, shape (n,)."""
    absent = values.isna().to_numpy(dtype=bool)
    if column.numeric:
        numbers = column.to_numbers(values)
        inside = (numbers >= cast(float, column.lower)) & (numbers <= cast(float, column.upper))  # false for NaN
        if column.whole:
            inside[inside] = numbers[inside] % 1 == 0
    else:
        indices, texts = factorize_texts(values)
        categories = {canonical(category) for category in column.categories}
        inside = np.array([*(canonical(text) in categories for text in texts), False], dtype=bool)[indices]
    return np.where(absent, column.missing, inside)


@dataclass(frozen=True)
class Tie:
    """The dependence of two columns in the real rows, and how much of it a release has.

    A strength is a total variation distance between the pair's shares and those of independent
    columns: 0 if the columns are independent.
    """

    first: str
    second: str
    real_strength: float
    released_strength: float

    @property
    def verdict(self) -> Verdict:
        """Return whether the release has half of the tie; unknown for a tie below `TIED`."""
        if self.real_strength < TIED:
            return Verdict.OPEN
        return Verdict.HOLDS if self.released_strength >= HALF * self.real_strength else Verdict.FAILS


@dataclass(frozen=True)
class Center:
    """The means of a numeric column in the real and released rows, and the released median.

    They are written in the column's own number format. `share_below` is the share of real rows
    below the released median; rows at that median are counted so that the share is nearest to one
    half. No number of a real row is kept. `distant` says whether the released median is further
    from the real one than chance explains.
    """

    column: str
    real_mean: str
    released_mean: str
    released_median: str
    share_below: float
    distant: bool


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column: their share, and the mean distance of other columns.

    The distance is the total variation distance between real and released shares within the group.
    """

    column: str
    value: str
    share: float
    distance: float


@dataclass(frozen=True)
class Fidelity:
    """How many columns and pairs are close to the real ones, the lost ties, and the worst group.

    A tie is a pair of columns that depend on each other in the real rows; a release that has less
    than half of this dependence has lost it. `ties` counts the ties, and `lost_ties` has the lost
    ones, the strongest losses first. `worst` is the group of rows with the largest distance, and
    `largest` is the largest group of the same column; both are None if no column has groups.
    `distant` has the numeric columns whose median is off.
    """

    columns: int
    close_columns: int
    pairs: int
    close_pairs: int
    lost_ties: tuple[Tie, ...]
    worst: Group | None = None
    largest: Group | None = None
    ties: int = 0
    distant: tuple[Center, ...] = ()


def centers(real: pd.DataFrame, released: pd.DataFrame, schema: Schema) -> tuple[Center, ...]:
    """Compare the means and medians of each numeric column, without its bins and missing cells.

    A released median is off (`distant`) if it lies more than `OFF` of the interquartile range from
    the real one, and if the share of real rows between the two is more than `OFF_SHARE`, and than
    two standard errors of samples of these sizes.
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
    real: TableLike | Rows, synthetic: TableLike, schema: Schema, *, distant: tuple[Center, ...] = ()
) -> Fidelity:
    """Judge a release by its columns, pairs and groups.

    P are the shares of the value pairs (a, b) of two columns in the real rows, and Q those in the
    release. The columns are tied as far as their joint shares are from the product of their own, ½
    Σ |P(a, b) - P(a) P(b)|, less what as many rows would have by chance if they were independent. A
    release has of this what its own differences add up to in the direction of the real ones, ½ Σ
    sign(P(a, b) - P(a) P(b)) (Q(a, b) - Q(a) Q(b)): noise, whose directions are random, adds
    nothing to it in the mean. A tie of `TIED` or more is lost where the release has less than half
    of it. Of wide schemas, and of pairs with very many cells, not all are compared.

    Parameters
    ----------
    real : DataFrame, codes of one, Folder, or Rows
    synthetic : DataFrame, codes of one, or Folder
    distant : tuple of Center, optional
        Columns whose numbers are far off: they are not close, whatever their shares are.

    Raises
    ------
    DataError
        If a table is empty or does not fit the schema.
    """
    rows = as_rows(real, schema), as_rows(synthetic, schema)
    names, sizes, n = schema.names, schema.sizes, [*map(len, rows)]
    columns = [(j,) for j in range(len(schema)) if sizes[j] <= MAX_CELLS]
    chosen = pairs_of(schema, MOST_PAIRS)
    wrong = {center.column for center in distant}
    alone = [total_variation(p / n[0], q / n[1]) for p, q in tables(columns, *rows)]
    alone = [1.0 if names[j] in wrong else far for (j,), far in zip(columns, alone, strict=True)]
    pairs, ties = list[float](), list[Tie]()
    within, shares = dict[int, list[Floats]](), dict[int, Floats]()
    grouped = {j for j, column in enumerate(schema) if not column.numeric and 1 < column.size <= GROUPS}
    for (a, b), counted_pair in zip(chosen, tables(chosen, *rows), strict=True):
        p, q = (each / many for each, many in zip(counted_pair, n, strict=True))
        pairs.append(total_variation(p, q))
        ties.append(Tie(names[a], names[b], dependence(p, n[0]), kept_tie(p, q)))
        for group, joint, released in ((a, p, q), (b, p.T, q.T)):
            if group in grouped:
                shares[group] = joint.sum(axis=1)
                within.setdefault(group, []).append(row_distances(joint, released, *n))
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
        lost_ties=tuple(sorted(lost, key=lambda tie: tie.released_strength - tie.real_strength)),
        worst=worst,
        largest=max(alike, key=lambda group: group.share, default=None),
        ties=sum(tie.verdict is not Verdict.OPEN for tie in ties),
        distant=distant,
    )


def total_variation(p: Floats, q: Floats) -> float:
    """Return the total variation distance ½ Σ |P - Q| of two marginals."""
    return float(np.abs(p - q).sum() / 2)


def row_distances(p: Floats, q: Floats, first_rows: int, second_rows: int) -> Floats:
    """Return the total variation distance between each row of `p` and `q` after scaling rows to 1.

    `p` and `q` are the joint shares of two columns in samples of n = `first_rows` and m =
    `second_rows` rows. The distance that two samples of these sizes have by chance is subtracted: a
    share x is off by sqrt(2 x (1 - x) (1/n + 1/m) / pi), with the rows of its group as n and m. A
    row that is empty in one of the two has distance 1.
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


def dependence(p: Floats, rows: int) -> float:
    """Return how far joint shares are from independence, less what `rows` rows have by chance.

    `p` are the joint shares of two columns. The result is a total variation distance.
    """
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    mean = alone * rows  # of a Poisson number, E |X - m| = 2 m P(X = k), with k the whole part of m
    k = np.floor(mean)
    chance = float((alone * np.exp(xlogy(k, mean) - mean - gammaln(k + 1))).sum())
    return max(total_variation(p, alone) - chance, 0.0)


def kept_tie(p: Floats, q: Floats) -> float:
    """Return how much of the real shares' dependence the released shares have, cell by cell.

    `p` are the joint shares of two columns in the real rows, and `q` those in the release.
    """
    real, released = (shares - np.outer(shares.sum(axis=1), shares.sum(axis=0)) for shares in (p, q))
    return max(float((np.sign(real) * released).sum() / 2), 0.0)
