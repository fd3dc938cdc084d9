"""What cells become: codes, numbers, and a count of those that do not fit."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints

Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of rows: entry (i, j) is the category or bin of row i in column j; column-major when two-dimensional."""
FEW_CUTS = 64  # up to here comparing with each is faster than looking for the bin


class Coded(NamedTuple):
    """Codes of cells, shape (n,); a numeric column's numbers, shape (n,); and how many cells do not fit, by why."""

    codes: Codes
    numbers: Floats | None
    misfits: Counter[str]


def tally(times: Ints | None, **reasons: Flags) -> Counter[str]:
    """How many cells there are of each reason, if there are any; value i stands for `times[i]` of them."""
    counts = {why: int(np.count_nonzero(at) if times is None else times[at].sum()) for why, at in reasons.items()}
    return Counter({why: count for why, count in counts.items() if count})


def place(numbers: Floats, cuts: Floats, dtype: np.dtype[Any]) -> Codes:
    """How many cuts, which increase, are at most each number, shape (n,); of NaN any number of them."""
    if len(cuts) > FEW_CUTS:
        return np.searchsorted(cuts, numbers, side="right").astype(dtype)
    found: Codes = np.zeros(len(numbers), dtype=dtype)
    for cut in cuts.tolist():
        found += numbers >= cut
    return found


def code_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds `size` codes."""
    return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65_536 else np.uint32)
