"""What a fit measures, as far as public facts tell: which counts, and how noisy they are.

Where a fit chooses cliques by private data, `PrivateEstimator.measurements` names others, of the
same size and number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, NamedTuple


class Measurement(NamedTuple):
    """Noisy counts of a clique of columns, by position; of each they tell so many values apart."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    variance: float  # of a count's noise
    cells: float  # counts, those of other things than these columns included
    for_columns: bool = True  # whether columns are sampled from them, and not only their ties
    clips: bool = False  # negative counts become 0, instead of being projected
    merges: bool = False  # values that noise drowns count the same
    spread: float = 0.0  # rows that are added, evenly
    bits: bool = False  # whether columns are sampled bit by bit
    bias: float = 0.0  # how far a column is off without any noise


def clique(sizes: Sequence[int], columns: Sequence[int], variance: float, most: float = inf, **how: Any) -> Measurement:
    """The marginal of some columns, with values merged until no column has more than so many."""
    own = tuple(int(min(sizes[j], max(most, 2))) for j in columns)
    return Measurement(tuple(columns), own, variance, prod(own), **how)


def clique_before(sizes: Sequence[int], column: int, most: int, cells: float) -> list[int]:
    """A column and at most so many before it whose marginal has no more cells."""
    found, room = [column], cells / sizes[column]
    for other in reversed(range(column)):
        if len(found) <= most and sizes[other] <= room:
            found.append(other)
            room /= sizes[other]
    return found
