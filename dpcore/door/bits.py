"""Counting on columns of 0 and 1: words of 64 rows, AND, popcount. Private input, as for `exact_counts`.

The table of k columns has 2^k cells. Only its corner "all ones" is counted, for the set and each of its subsets: the
other cells follow by inclusion and exclusion, N(x=0, ...) = N(...) - N(x=1, ...). A subset that many tables share is
counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.domain.column import Codes

__all__ = ["PackedBits", "cells_from_corners"]

Words = NDArray[np.uint64]
Places = NDArray[np.intp]
CHUNK = 1 << 17  # words per step: what the processor's cache holds


class PackedBits:
    """Columns of 0 and 1 as words; the counts are additive over blocks of rows and exact.

    Parameters
    ----------
    bits : array of shape (n, d)
        Zeros and ones.
    """

    def __init__(self, bits: Codes) -> None:
        packed = np.packbits(bits.T.astype(bool), axis=1)
        padded = np.zeros((packed.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed
        self.rows = len(bits)
        self.words: Words = padded.view(np.uint64)

    def products(self, places: Places) -> Words:
        """Rows that are 1 in all of k columns, as words: shape (m, k) to (m, words)."""
        rows = self.words[places[:, 0]]
        for column in places.T[1:]:
            rows &= self.words[column]
        return rows

    def ones(self, places: Places) -> NDArray[np.int64]:
        """How many rows are 1 in all of k columns, for m sets of columns: shape (m, k) to (m,)."""
        counts = np.full(len(places), self.rows, dtype=np.int64)
        if places.shape[1]:
            for part in self.chunks(len(places)):
                counts[part] = popcounts(self.products(places[part]))
        return counts

    def tables(self, places: Places) -> NDArray[np.int64]:
        """Contingency tables of m sets of k columns: shape (m, k) to (2, ..., 2, m)."""
        m, k = places.shape
        corners = np.empty((2,) * k + (m,), dtype=np.int64)
        for size in range(k + 1):
            for chosen in combinations(range(k), size):
                subsets, back = distinct_rows(np.sort(places[:, chosen], axis=1), len(self.words))
                corners[tuple(int(i in chosen) for i in range(k))] = self.ones(subsets)[back]
        return cells_from_corners(corners)

    def chunks(self, m: int) -> Iterator[slice]:
        """Slices of m sets that are worked on together."""
        step = max(CHUNK // max(self.words.shape[1], 1), 1)
        return (slice(start, min(start + step, m)) for start in range(0, m, step))


def popcounts(words: Words) -> NDArray[np.int64]:
    """Ones per row of words, shape (m, w) to (m,)."""
    counts: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.uint32).astype(np.int64)
    return counts


def cells_from_corners(corners: NDArray[Any]) -> NDArray[Any]:
    """Tables from the counts of "these columns are all 1", in place: shape (2, ..., 2, m), 1 = asked to be 1."""
    for axis in range(corners.ndim - 1):
        halves = np.moveaxis(corners, axis, 0)
        halves[0] -= halves[1]
    return corners


def distinct_rows(places: Places, columns: int) -> tuple[Places, Places]:
    """The different rows of an array, and for each row the position of its equal among them."""
    if not places.shape[1]:
        return places[:1], np.zeros(len(places), dtype=np.intp)
    if columns ** places.shape[1] >= 2**63:  # too many for numbers that name each set
        different, back = np.unique(places, axis=0, return_inverse=True)
        return different, back.ravel()
    keys = np.zeros(len(places), dtype=np.int64)
    for column in places.T:
        keys = keys * columns + column
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return places[first], back
