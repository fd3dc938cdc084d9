"""C4.5's pruning, on released counts: post-processing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from dpcore.postprocess.forest import ARRAYS, Forest

__all__ = ["pessimistic", "pruned"]

Floats = NDArray[np.float64]
CONFIDENCE = 0.25  # C4.5's default


def pessimistic(counts: Floats, errors: Floats, confidence: float = CONFIDENCE) -> Floats:
    """The number of errors that `counts` records may turn out to hold: their upper confidence limit.

    N times the p at which E or fewer errors among N have probability `confidence` (Clopper and Pearson; Quinlan 1993,
    section 4.2). Counts may be fractions; 0 records have no errors.
    """
    wrong = np.minimum(errors, counts)
    limit = np.where(wrong < counts, beta.ppf(1 - confidence, wrong + 1, np.maximum(counts - wrong, 1e-9)), 1.0)
    return np.where(counts > 0, counts * limit, 0.0)


def pruned(forest: Forest, confidence: float = CONFIDENCE) -> Forest:
    """The forest with every subtree made a leaf that has no fewer pessimistic errors than a leaf in its place."""
    counts = forest.classes.sum(axis=1)
    own = pessimistic(counts, counts - forest.classes.max(axis=1), confidence)
    column, errors = forest.column.copy(), own.copy()
    for level in range(int(forest.level.max(initial=0)) - 1, -1, -1):
        at = np.flatnonzero((forest.level == level) & (forest.column >= 0))
        below = forest.level == level + 1
        sums = np.bincount(forest.parent[below], weights=errors[below], minlength=len(counts))[at]
        better = own[at] <= sums + 1e-9
        column[at[better]] = -1
        errors[at] = np.where(better, own[at], sums)
    kept = np.ones(len(column), dtype=bool)
    for level in range(1, int(forest.level.max(initial=0)) + 1):
        at = np.flatnonzero(forest.level == level)
        kept[at] = kept[forest.parent[at]] & (column[forest.parent[at]] >= 0)
    number = np.cumsum(kept) - 1
    put = {name: getattr(forest, name)[kept] for name in ARRAYS}
    put["column"] = column[kept]
    leaf = put["column"] < 0
    put["parent"] = np.where(put["parent"] < 0, -1, number[np.maximum(put["parent"], 0)])
    # A leaf's first child does not matter; the others kept all their children side by side.
    inside = np.minimum(put["first"], len(number) - 1)
    put["first"] = np.where(leaf, 0, number[inside])
    put["fanout"] = np.where(leaf, 0, put["fanout"])
    put["cut"], put["low"] = np.where(leaf, np.nan, put["cut"]), np.where(leaf, np.nan, put["low"])
    return replace(forest, **put)
