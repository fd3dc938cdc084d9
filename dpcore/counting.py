"""Exact joint counts of codes. Private input: only the door and the (never private) evaluation may call these.

Counts are additive over blocks of rows: the counts of two blocks sum to the counts of their union.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpcore.column import Codes

__all__ = ["Counts", "joint_counts"]

Counts = NDArray[np.int64]


def joint_counts(codes: Codes, sizes: Sequence[int], families: Iterable[Sequence[int]]) -> list[Counts]:
    """Contingency tables of sets of columns.

    Parameters
    ----------
    codes : array of shape (n, d)
        Encoded rows; code j is below `sizes[j]`.
    sizes : sequence of int
        Number of codes per column.
    families : iterable of sequences of int
        The columns of each table, by position.

    Returns
    -------
    list of int64 arrays
        Table f has shape `[sizes[j] for j in f]` and sums to n. Equal prefixes of consecutive families are
        combined once.
    """
    tables = []
    prefix: tuple[int, ...] = ()
    steps: list[NDArray[np.intp]] = []  # steps[k]: flat index over the first k + 1 columns of the current prefix
    for family in map(tuple, families):
        shared = 0
        while shared < min(len(prefix), len(family)) and prefix[shared] == family[shared]:
            shared += 1
        steps = steps[:shared]
        for j in family[shared:]:
            column = codes[:, j].astype(np.intp)
            steps.append(steps[-1] * sizes[j] + column if steps else column)
        prefix = family
        shape = tuple(sizes[j] for j in family)
        flat = steps[-1] if steps else np.zeros(len(codes), dtype=np.intp)
        tables.append(np.bincount(flat, minlength=prod(shape)).reshape(shape))
    return tables
