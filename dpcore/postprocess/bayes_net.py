"""Bayesian networks from noisy marginals: conditionals, and rows sampled from parents to children.

Post-processing: no private input. A family is a child with its parents, as column names, the child
first. A network is a list of families in which every parent is the child of an earlier family. The
marginal of a family has one axis per name, in that order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcore.arguments import Floats
from dpcore.domain.column import Codes, code_dtype
from dpcore.domain.partition import Binarization
from dpcore.postprocess.simplex import draw_given, rows_to_one

Family = tuple[str, ...]
ROUNDS = 50  # tries of a row before the tables are smoothed
RETRIES = 5  # smoothings, each twice as strong as the one before
FEWEST = 100  # least number of rows drawn together
FIRST_SMOOTHING = 0.01  # share of all rows that is spread over a table's cells


def conditional(table: Floats, smoothing: float = 0.0) -> Floats:
    """Return p(child | parents) from a family's marginal; shape (parents' cells, child's values).

    `table` is the marginal, of shape (child, *parents). Negative cells count as 0, and `smoothing`
    rows are spread evenly over all cells first. Parents' values without rows get the child's
    distribution over all rows, which is uniform if there are none.
    """
    cells = np.maximum(table, 0.0).reshape(len(table), -1).T + smoothing / table.size
    return rows_to_one(cells, rows_to_one(cells.sum(axis=0, keepdims=True), 1 / len(table)))


def is_contained(family: Family, other: Family) -> bool:
    """Return whether the columns of a family (a child and its parents) are all in another family."""
    return set(family) <= set(other)


def marginal_of(table: Floats, of: tuple[Any, ...], wanted: tuple[Any, ...]) -> Floats:
    """Return the marginal of the `wanted` columns, in that order, from a table of more columns.

    `of` names the columns of the table, one per axis.
    """
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
    """Sample `n` rows from a Bayesian network, parents first; codes of shape (n, columns).

    The columns are in the order of `names`. A family is a child followed by its parents, and
    `tables` has its marginal; `smoothing` rows are spread evenly over the cells of each. Counts of
    a child given its parents are the expected ones, rounded (`draw_given`).
    """
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
    """Return `n` rows of uniform random codes for columns with these numbers of values."""
    codes: Codes = np.empty((n, len(sizes)), dtype=code_dtype(max(sizes, default=1)), order="F")
    for j, size in enumerate(sizes):
        codes[:, j] = rng.integers(size, size=n)
    return codes


def sample_binarized(
    binarization: Binarization, draw: Callable[[int, float], Codes], n: int, rng: np.random.Generator
) -> Codes:
    """Sample `n` rows of codes from a sampler of bits, without invalid bit patterns.

    `binarization` tells which bits stand for which column's code. `draw(m, share)` returns m rows
    of bits, from tables smoothed by that share of all rows. Rows with a bit pattern that stands for
    no code are drawn again, up to 50 times. Then the tables are smoothed by 1% of the rows, and by
    twice as much at each further retry, as PrivBayes's authors do. With many columns hardly any row
    is valid. Then a column without a code takes one of the codes that the sampler gave it in other
    rows.
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
            if whole.mean() < 1 / ROUNDS:  # most rows would need more tries than are left
                break
        smoothing = FIRST_SMOOTHING * 2**retry
    for j, size in enumerate(binarization.source.sizes):
        good, lost = codes[exists[:, j], j], ~exists[:, j]
        codes[lost, j] = rng.choice(good, lost.sum()) if len(good) else rng.integers(size, size=lost.sum())
    return np.concatenate([*kept, codes[~whole][:missing]])
