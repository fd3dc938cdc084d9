"""How close a released table is to the real one, compared by their codes: up to the schema's categories and bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from math import comb, prod
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from dpcore.arguments import Flags, Floats, is_whole, require_frame
from dpcore.domain.binarize import Binarization
from dpcore.domain.cells import distinct
from dpcore.domain.column import Codes, Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import Table, encoded, require_rows
from dpcore.rows import HeldRows, Rows, joint_counts
from dpcore.text import canonical

Subset = tuple[int, ...]
Places = NDArray[np.int64]
MAX_CELLS = 1 << 18  # larger tables are nearly empty; their occupied cells are compared instead


def marginal_avd(
    real: Table,
    synthetic: Table,
    schema: Schema,
    degree: int = 2,
    *,
    on: str = "columns",
    max_subsets: int | None = None,
    seed: int = 0,
    counts: Rows | None = None,
) -> pd.DataFrame:
    """Average variation distance ½ Σ|P − Q| of the `degree`-way marginals. Reads real rows: not private.

    Parameters
    ----------
    real, synthetic : DataFrame, or codes of one
        Tables that fit the schema, whose cells they have the shares P and Q of; they may differ in length.
    degree : int
        Number of columns, or of bits, per marginal.
    on : {"columns", "bits"}
        Whether the marginals are of the schema's columns or of the bits of their codes (see `Binarization`). Several
        bits may be of one column.
    max_subsets : int, optional
        Compare only this many subsets, drawn with `seed`. All by default.
    counts : Rows, optional
        Of the real rows' columns, for callers who count once; bits are counted anew.

    Returns
    -------
    DataFrame
        `attributes` (tuple of names of columns or bits, in schema order) and `avd` (0: equal, 1: disjoint), one row
        per subset.

    Raises
    ------
    DataError, ParameterError
        If a table is empty or does not fit the schema, `degree` or `max_subsets` is out of range, or `on` is not known.
    """
    first, second = encoded(real, schema), encoded(synthetic, schema)
    require_rows(first, second)
    if on not in ("columns", "bits"):
        raise ParameterError("The 'on' parameter is not known.", "Choose columns or bits.")
    if on == "bits":
        binary = Binarization(schema)
        first, second, schema, counts = binary.encode(first), binary.encode(second), binary.schema, None
    chosen = subsets(len(schema), degree, max_subsets, seed)
    avd = _distances(first, second, schema.sizes, chosen, counts)
    return pd.DataFrame({"attributes": [tuple(schema.names[j] for j in subset) for subset in chosen], "avd": avd})


def noise_floor(
    real: Table,
    schema: Schema,
    degree: int = 2,
    *,
    on: str = "columns",
    rows: int | None = None,
    repeats: int = 5,
    max_subsets: int | None = None,
    seed: int = 0,
    counts: Rows | None = None,
) -> pd.DataFrame:
    """`marginal_avd` between the real rows and resamples of them: nothing below it can be asked of a release.

    Reads real rows: not private. With equal `on`, `max_subsets` and `seed` the subsets are those of `marginal_avd`.
    `rows` are drawn per resample, with replacement: as many as a released table has, or by default the real one. `avd`
    is the mean over `repeats` resamples.
    """
    codes = encoded(real, schema)
    rows = len(codes) if rows is None else rows
    require_rows(codes)
    if not is_whole(rows, 1) or not is_whole(repeats, 1):
        raise ParameterError("A noise floor needs rows and repeats.", "Give positive whole numbers.")
    rng = np.random.default_rng([seed, 1])  # not the stream that draws the subsets
    draws = (codes[rng.integers(len(codes), size=rows)] for _ in range(repeats))
    counts = counts or HeldRows(codes, schema.sizes)
    options: dict[str, Any] = {"on": on, "max_subsets": max_subsets, "seed": seed, "counts": counts}
    frames = [marginal_avd(codes, drawn, schema, degree, **options) for drawn in draws]
    return frames[0].assign(avd=np.mean([frame["avd"] for frame in frames], axis=0))


def marginals(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, column: str) -> pd.DataFrame:
    """Shares of one column's values, with the range that resampling alone explains. Reads real rows: not private.

    One row per label of the column, in label order: `value`, the shares `real` and `released`, and `floor_low`,
    `floor_high`: the 2.5% and 97.5% quantiles of the share in a resample of the real rows as long as the released
    table. Such a resample's count is binomial, so the quantiles are exact and nothing is drawn.
    """
    p, q = _shares(real, synthetic, schema.select([column]))
    m = len(synthetic)
    low, high = (binom.ppf(level, m, p) / m for level in (0.025, 0.975))
    return pd.DataFrame(
        {"value": schema[column].labels, "real": p, "released": q, "floor_low": low, "floor_high": high}
    )


def pair(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, x: str, y: str) -> pd.DataFrame:
    """Shares of two columns' value pairs. Reads real rows: not private.

    `x_value`, `y_value`, `source` ("real" or "released") and `share`; for each source every pair of labels, in label
    order, so that the shares of a source sum to 1.
    """
    if x == y:
        raise ParameterError("A pair needs two different columns.", "Choose another column.")
    grid = pd.MultiIndex.from_product([schema[x].labels, schema[y].labels], names=["x_value", "y_value"])
    cells = grid.to_frame(index=False)
    shares = zip(("real", "released"), _shares(real, synthetic, schema.select([x, y])), strict=True)
    return pd.concat([cells.assign(source=source, share=share) for source, share in shares], ignore_index=True)


def validity(synthetic: pd.DataFrame, schema: Schema) -> float:
    """Share of the schema's cells that hold a declared value; 1 for every sound release.

    A column that is lacking counts as wholly invalid; columns outside the schema are ignored. `outside="clip"` does
    not help: a cell that would be moved is not a declared value.
    """
    require_rows(require_frame(synthetic, texts=True))
    shares = [_inside(synthetic[c.name], c).mean() if c.name in synthetic.columns else 0.0 for c in schema]
    return float(np.mean(shares))


def _shares(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> list[Floats]:
    """Shares of all cells of a small schema's joint table, flat, in the real and in the released rows."""
    require_rows(real, synthetic)
    family = [range(len(schema))]
    return [joint_counts(schema.encode(t), schema.sizes, family)[0].ravel() / len(t) for t in (real, synthetic)]


def subsets(d: int, degree: int, max_subsets: int | None, seed: int) -> list[Subset]:
    """All `degree`-subsets of d columns in lexicographic order, or a sample of them in the same order."""
    if not is_whole(degree, 1, d):
        raise ParameterError(f"There are no {degree!r}-way marginals of {d} columns.", f"Choose between 1 and {d}.")
    total = comb(d, degree)
    if max_subsets is not None and not is_whole(max_subsets, 1):
        raise ParameterError("At least one marginal must be compared.", "Give a positive number of subsets.")
    if max_subsets is None or max_subsets >= total:
        return list(combinations(range(d), degree))
    ranks = np.random.default_rng(seed).choice(total, max_subsets, replace=False)
    return [_subset(int(rank), d, degree) for rank in np.sort(ranks)]


def _subset(rank: int, d: int, degree: int) -> Subset:
    """The subset that `itertools.combinations` yields at place `rank`."""
    chosen: list[int] = []
    for j in range(d):
        left = degree - len(chosen)
        with_j = comb(d - j - 1, left - 1) if left else 0
        if rank < with_j:
            chosen.append(j)
        else:
            rank -= with_j
    return tuple(chosen)


def _distances(
    real: Codes, synthetic: Codes, sizes: Sequence[int], chosen: Sequence[Subset], counts: Rows | None
) -> list[float]:
    """½ Σ|P − Q| per subset. Counts are compared as whole numbers, so equal shares differ by exactly 0."""
    n, m = len(real), len(synthetic)
    real_counts = counts.tables if counts is not None else partial(joint_counts, real, sizes)
    distances: list[float] = []
    for batch in batches(sizes, chosen):
        if prod(sizes[j] for j in batch[0]) <= MAX_CELLS:
            tables = list(zip(real_counts(batch), joint_counts(synthetic, sizes, batch), strict=True))
        else:
            numbers = row_numbers(real[:, batch[0]], synthetic[:, batch[0]])  # the cells that occur in either table
            cells = max(int(each.max()) for each in numbers) + 1
            tables = [(np.bincount(numbers[0], minlength=cells), np.bincount(numbers[1], minlength=cells))]
        distances += [int(np.abs(p * m - q * n).sum()) / (2 * n * m) for p, q in tables]
    return distances


def batches(sizes: Sequence[int], chosen: Sequence[Subset]) -> Iterator[list[Subset]]:
    """Consecutive subsets whose tables together have at most `MAX_CELLS` cells; a larger table is alone."""
    batch: list[Subset] = []
    held = 0
    for subset in chosen:
        cells = prod(sizes[j] for j in subset)
        if batch and held + cells > MAX_CELLS:
            yield batch
            batch, held = [], 0
        batch.append(subset)
        held += cells
    if batch:
        yield batch


def row_numbers(first: Codes, second: Codes) -> tuple[Places, Places]:
    """Numbers of two tables' rows, equal if and only if the rows are equal."""
    both = np.concatenate([first, second])
    number = np.zeros(len(both), dtype=np.int64)
    for values in both.T:  # renumbering at every step keeps the numbers small, however many columns
        number, _ = pd.factorize(number * (int(values.max()) + 1) + values)
    return number[: len(first)], number[len(first) :]


def _inside(values: pd.Series[Any], column: Column) -> Flags:
    """Which cells hold a declared value, shape (n,)."""
    absent = values.isna().to_numpy(dtype=bool)
    if column.numeric:
        numbers = column.read(values)
        inside = (numbers >= cast(float, column.lower)) & (numbers <= cast(float, column.upper))  # false for NaN
        if column.whole:
            inside[inside] = numbers[inside] % 1 == 0
    else:
        places, texts = distinct(values)
        categories = {canonical(category) for category in column.categories}
        inside = np.array([*(canonical(text) in categories for text in texts), False], dtype=bool)[places]
    return np.where(absent, column.missing, inside)
