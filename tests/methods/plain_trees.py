"""Trees that are grown in plain Python on true rows, and grown forests in the same nested form."""

import numpy as np

__all__ = ["as_nested", "grown_by_hand"]


def grown_by_hand(sides, labels, impurity, classes, *, most, pure=0.0, depth=0, whole=None):
    """(column and cut, left, right), or the classes' shares; `sides` has who is on the right of every cut."""
    whole = whole or len(labels)
    counts = np.bincount(labels, minlength=classes)
    gains = {}
    for cut, right in sides.items():
        parts = np.array([np.bincount(labels[right == side], minlength=classes) for side in (False, True)])
        if parts.sum(axis=1).all():
            gains[cut] = round(float(impurity(counts) - parts.sum(axis=1) / len(labels) @ impurity(parts)), 11)
    enough = depth < most and len(labels) >= 0.02 * whole and impurity(counts) > pure
    if not enough or max(gains.values(), default=0.0) < 1e-9:
        return (counts / counts.sum()).round(9).tolist()
    best = max(gains, key=gains.get)
    below = []
    for side in (False, True):
        inside = sides[best] == side
        own = {cut: right[inside] for cut, right in sides.items()}
        how = {"most": most, "pure": pure, "depth": depth + 1, "whole": whole}
        below.append(grown_by_hand(own, labels[inside], impurity, classes, **how))
    return best, *below


def as_nested(forest, cut_of, place=0):
    if forest.column[place] < 0:
        return forest.probabilities[place].round(9).tolist()
    first = int(forest.first[place])
    return cut_of(place), as_nested(forest, cut_of, first), as_nested(forest, cut_of, first + 1)
