"""From noisy counts in grown trees to a forest that agrees with itself. Post-processing, at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.consistency import CountTree
from dpcore.forest import Forest
from dpcore.growing import Grown
from dpcore.schema import Schema

__all__ = ["forest_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
HINT = 1e-3  # records that count as none; and what a class gets where none has more, so that the largest still wins


def forest_of(
    levels: Sequence[Grown], schema: Schema, target: str, *, cuts: str, taxonomies: bool, vote: str, consistent: bool
) -> Forest:
    """The forest of some grown levels.

    With `consistent`, the counts of nodes and of classes in leaves are put together by weighted least squares and moved
    to 0 or more, and a leaf without records takes after its parent. Otherwise leaves keep their own noisy counts.
    """
    sizes = [len(level.tree) for level in levels]
    starts = np.cumsum([0, *sizes])
    put: dict[str, Any] = {
        name: np.concatenate([getattr(level, name) for level in levels])
        for name in ("tree", "column", "fanout", "cut", "low", "noisy", "spent")
    }
    put["level"] = np.repeat(np.arange(len(levels)), sizes)
    put["parent"] = np.concatenate([level.parent + (starts[i - 1] if i else 0) for i, level in enumerate(levels)])
    put["first"] = np.concatenate([level.first + starts[i + 1] for i, level in enumerate(levels)])
    leaf = put["column"] < 0
    cells = agreed(levels) if consistent else np.concatenate([own_counts(level.class_counts) for level in levels])
    classes = np.where(leaf[:, None], cells, 0.0)
    for i in range(len(levels) - 1, 0, -1):
        np.add.at(classes, put["parent"][starts[i] : starts[i + 1]], classes[starts[i] : starts[i + 1]])
    counts = classes.sum(axis=1)
    for i in range(1, len(levels)):  # from the top, so that a chain of empty nodes takes after the last one that is not
        below = np.arange(starts[i], starts[i + 1])
        empty = below[classes[below].sum(axis=1) <= HINT]
        above = classes[put["parent"][empty]]
        total = above.sum(axis=1, keepdims=True)
        classes[empty] = np.divide(HINT * above, total, out=np.zeros_like(above), where=total > 0)
    return Forest(
        schema=schema, target=target, cuts=cuts, taxonomies=taxonomies, vote=vote, counts=counts, classes=classes, **put
    )


def own_counts(noisy: Floats) -> Floats:
    """Noisy counts moved to 0 or more, without losing which is the largest."""
    clipped = np.maximum(noisy, 0.0)
    nothing = np.flatnonzero(~(noisy > 0).any(axis=1) & ~np.isnan(noisy[:, 0]))
    clipped[nothing, noisy[nothing].argmax(axis=1)] = HINT
    return clipped


def agreed(levels: Sequence[Grown]) -> Floats:
    """Consistent class counts of leaves, shape (all nodes, classes); 0 for nodes that are divided.

    The tree of counts has every node, and below each leaf its classes.
    """
    classes = levels[0].class_counts.shape[1]
    measured, variances, parents = [levels[0].noisy], [np.full(len(levels[0].tree), levels[0].noisy_variance)], []
    leaves = [np.flatnonzero(level.column < 0) for level in levels]
    for i, level in enumerate(levels):
        cells, owners = level.class_counts[leaves[i]].ravel(), np.repeat(leaves[i], classes)
        below = levels[i + 1] if i + 1 < len(levels) else None
        nodes = below.noisy if below else np.zeros(0)
        spread = level.class_variance if np.isfinite(level.class_variance) else 1.0  # nothing was bought, all are alike
        measured.append(np.concatenate([nodes, cells]))
        variances.append(
            np.concatenate([np.full(len(nodes), below.noisy_variance if below else 0.0), np.full(len(cells), spread)])
        )
        parents.append(np.concatenate([below.parent, owners]) if below else owners)
    parents = parents[: len(levels)]
    counts = CountTree(parents, roots=len(levels[0].tree)).fit(measured, variances).non_negative()
    found = []
    for i, level in enumerate(levels):
        here = np.zeros((len(level.tree), classes))
        behind = len(levels[i + 1].tree) if i + 1 < len(levels) else 0
        here[leaves[i]] = counts[i + 1][behind:].reshape(-1, classes)
        found.append(here)
    return np.concatenate(found)
