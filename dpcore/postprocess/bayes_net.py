"""Bayesian networks from noisy tables: conditionals, and rows sampled from parents to children. No private input.

A family is a child with its parents, as column names, the child first; a network is a list of
families in which every parent is the child of an earlier one. The table of a family has one axis
per name, in that order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcore.arguments import Floats
from dpcore.domain.column import Codes, code_dtype
from dpcore.domain.partition import Binarization
from dpcore.postprocess.simplex import draw_given, rows_to_one

Family = tuple[str, ...]
ROUNDS = 50  # rejections of a row before the tables are smoothed
RETRIES = 5  # times that the smoothing is doubled
FEWEST = 100  # rows drawn together
FIRST_SMOOTHING = 0.01  # rows, as a share of all, spread over a table's cells


def conditional(table: Floats, smoothing: float = 0.0) -> Floats:
    """p(child | parents), shape (parents' cells, child's values), of a table of shape (child, *parents).

    Negative cells count as 0, and `smoothing` rows are spread evenly over all cells first. Parents'
    values without rows get the child's distribution over all of them, and that is uniform if there
    is none.
    """
    cells = np.maximum(table, 0.0).reshape(len(table), -1).T + smoothing / table.size
    return rows_to_one(cells, rows_to_one(cells.sum(axis=0, keepdims=True), 1 / len(table)))


def is_contained(family: Family, other: Family) -> bool:
    """Whether a family's table is a margin of another's."""
    return set(family) <= set(other)


def marginal_of(table: Floats, of: tuple[Any, ...], wanted: tuple[Any, ...]) -> Floats:
    """The table of some columns from a table that holds them, axes in the wanted order."""
    summed = table.sum(axis=tuple(i for i, name in enumerate(of) if name not in wanted))
    left = [name for name in of if name in wanted]
    return np.transpose(summed, [left.index(name) for name in wanted])


def sample_network(
    names: Sequence[str],
    families: Sequence[Family],
    tables: Sequence[Floats],
    n: int,
    rng: np.random.Generator,
    smoothing: float = 0.0,
) -> Codes:
    """n rows of the columns in this order, parents first; counts of a child given its parents are rounded."""
    axis = {name: j for j, name in enumerate(names)}
    largest = max(len(table) for table in tables)
    codes: Codes = np.empty((n, len(names)), dtype=code_dtype(largest), order="F")
    for (child, *parents), table in zip(families, tables, strict=True):
        given = np.zeros(n, dtype=np.intp)
        for parent, size in zip(parents, table.shape[1:], strict=True):
            given = given * size + codes[:, axis[parent]]
        codes[:, axis[child]] = draw_given(conditional(table, smoothing), given, rng)
    return codes


def uniform_codes(sizes: Sequence[int], n: int, rng: np.random.Generator) -> Codes:
    """n rows of columns of these sizes, each value as probable as any other, column by column."""
    codes: Codes = np.empty((n, len(sizes)), dtype=code_dtype(max(sizes, default=1)), order="F")
    for j, size in enumerate(sizes):
        codes[:, j] = rng.integers(size, size=n)
    return codes


def sample_binarized(
    binarization: Binarization, draw: Callable[[int, float], Codes], n: int, rng: np.random.Generator
) -> Codes:
    """n rows of codes from a sampler of bits. Rows with a bit pattern that stands for no code are drawn again.

    A row is given up to 50 tries. Then the tables are smoothed by 1% of the rows, and by twice as
    much at each further retry, as PrivBayes's authors do. Where that is of no use (with many
    columns hardly any row is free of such patterns), a column without a code takes one of the codes
    that the sampler gave it elsewhere.

    `draw` makes so many rows of bits, with tables smoothed by a share of all rows.
    """
    kept: list[Codes] = []
    missing, smoothing = n, 0.0
    for retry in range(RETRIES + 1):
        for _ in range(ROUNDS):
            codes, exists = binarization.decode(draw(max(missing, FEWEST), smoothing))
            whole = exists.all(axis=1)
            kept.append(codes[whole][:missing])
            missing -= len(kept[-1])
            if not missing:
                return np.concatenate(kept)
            if whole.mean() < 1 / ROUNDS:  # most rows would need more tries than they have
                break
        smoothing = FIRST_SMOOTHING * 2**retry
    for j, size in enumerate(binarization.source.sizes):
        good, lost = codes[exists[:, j], j], ~exists[:, j]
        codes[lost, j] = rng.choice(good, lost.sum()) if len(good) else rng.integers(size, size=lost.sum())
    return np.concatenate([*kept, codes[~whole][:missing]])
