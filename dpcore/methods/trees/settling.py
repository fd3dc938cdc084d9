"""From noisy counts in grown trees to a forest that agrees with itself. Post-processing, at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.domain.schema import Schema
from dpcore.methods.trees.grow import Grown
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.least_squares import CountTree

__all__ = ["forest_of", "recounted"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NOTHING = 1e-3  # records that count as none


def forest_of(
    levels: Sequence[Grown], schema: Schema, target: str, *, cuts: str, children: str, vote: str, consistent: bool
) -> Forest:
    """The forest of some grown levels.

    With `consistent`, the counts of nodes and of classes in leaves are put together by weighted least squares. What is
    shown of them is moved to 0 or more on the way down, so that children sum to their parents. What leaves vote is not:
    among many small leaves that would side with the larger class. A leaf without any records votes as its parent does.
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
    cells, shown = agreed(levels) if consistent else (np.concatenate([level.class_counts for level in levels]),) * 2
    filled = summed_up(put["level"], put["parent"], leaf, cells, shown)
    return Forest(
        schema=schema,
        target=target,
        cuts=cuts,
        children=children,
        vote=vote,
        **put,
        **filled,
    )


def recounted(forest: Forest, cells: Floats) -> Forest:
    """The same trees with other counts of classes in their leaves, shape (nodes, classes)."""
    return replace(forest, **summed_up(forest.level, forest.parent, forest.leaf, cells, cells))


def summed_up(level: Ints, parent: Ints, leaf: NDArray[np.bool_], cells: Floats, shown: Floats) -> dict[str, Any]:
    """Counts, classes and probabilities of all nodes, from those of classes in leaves."""
    classes = np.where(leaf[:, None], np.maximum(shown, 0.0), 0.0)
    levels = [np.flatnonzero(level == depth) for depth in range(1, int(level.max(initial=0)) + 1)]
    for below in reversed(levels):
        np.add.at(classes, parent[below], classes[below])
    said = np.where(leaf[:, None], cells, classes)
    probabilities = shares(said)
    for below in levels:  # from the top, so that a chain of empty nodes takes after the last one that is not
        empty = below[(np.abs(said[below]) <= NOTHING).all(axis=1)]
        probabilities[empty] = probabilities[parent[empty]]
    return {"counts": classes.sum(axis=1), "classes": classes, "probabilities": probabilities}


def shares(counts: Floats) -> Floats:
    """Counts moved to 0 or more, as shares. Where none is more, the largest has all, and equal ones the same."""
    clipped = np.maximum(counts, 0.0)
    lost = clipped.sum(axis=1) <= NOTHING
    clipped[lost] = counts[lost] >= counts[lost].max(axis=1, keepdims=True, initial=-np.inf) - NOTHING
    found: Floats = clipped / clipped.sum(axis=1, keepdims=True)
    return found


def agreed(levels: Sequence[Grown]) -> tuple[Floats, Floats]:
    """Consistent class counts of leaves, shape (all nodes, classes), and the same moved to 0 or more.

    0 for nodes that are divided. The tree of counts has every node, and below each leaf its classes.
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
    fitted = CountTree(parents, roots=len(levels[0].tree)).fit(measured, variances)
    found = []
    for counts in (fitted.counts, fitted.non_negative()):
        cells_of = [np.zeros((len(level.tree), classes)) for level in levels]
        for i, here in enumerate(cells_of):
            behind = len(levels[i + 1].tree) if i + 1 < len(levels) else 0
            here[leaves[i]] = counts[i + 1][behind:].reshape(-1, classes)
        found.append(np.concatenate(cells_of))
    return found[0], found[1]
