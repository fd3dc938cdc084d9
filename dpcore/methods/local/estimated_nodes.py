"""Trees from estimated tables of classes, for methods that never see a true count; they end as a `Forest`.

Estimates are unbiased and agree with nothing: shares can be negative, and those of two children need not add up to
their parent's. What a leaf votes is its own estimate, moved to 0 or more. What is shown of people is scaled so that
children sum to their parents; so a tree has no more nodes of some support than there is room for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpcore.arguments import Floats
from dpcore.domain.schema import Schema
from dpcore.domain.splits import attributes_of
from dpcore.mechanisms.scores import xlog2
from dpcore.postprocess.forest import Forest, recounted

Ranges = Mapping[int, tuple[float, float]]
LEAST = 1e-9  # bits; below it there is but one class


@dataclass(eq=False)
class Node:
    """A node that grows, as in a `Forest`.

    `classes` are estimated numbers of people, 0 or more, and `probabilities` the classes' shares.
    `held` is what the method knows of the node; `ranges` what is left of the columns, by position,
    if it is not all.
    """

    classes: Floats
    probabilities: Floats
    held: Any
    level: int = 0
    parent: int = -1
    ranges: Ranges = field(default_factory=dict)
    column: int = -1
    cut: float = np.nan


@dataclass(frozen=True, eq=False)
class Division:
    """How a node is divided: by the column at a position, at a cut (NaN if the column falls into groups).

    `classes` are estimated numbers of people, shape (children, classes); `held` is what the method knows of each child.
    """

    column: int
    cut: float
    classes: Floats
    held: Sequence[Any]


@dataclass(frozen=True)
class Stops:
    """When a node is a leaf: at a depth, below a share of all people, or below an entropy of the classes, in bits."""

    max_depth: int
    min_support: float
    min_entropy: float = 0.0

    def leave_open(self, node: Node, total: float) -> bool:
        """Whether a node may be divided."""
        people = float(node.classes.sum())
        supported = people > 0 and people >= self.min_support * total
        mixed = float(entropy(node.probabilities)) >= max(self.min_entropy, LEAST)
        return node.level < self.max_depth and supported and mixed


def grow(
    schema: Schema,
    target: str,
    classes: Floats,
    held: Any,
    divide: Callable[[Sequence[Node]], Sequence[Division | None]],
    stops: Stops,
    *,
    cuts: str,
    children: str,
) -> Forest:
    """One tree, level by level; what inner nodes show are the sums of their leaves.

    `classes` and `held` are the root's; `divide` gives the divisions of some nodes of one level, None for leaves;
    `cuts` and `children` are as for `attributes_of`.
    """
    attributes = attributes_of(schema, target, cuts=cuts, children=children)
    people = np.maximum(classes, 0.0)
    total = float(people.sum())
    nodes = [Node(people, shares(people, np.full(len(people), 1 / len(people))), held)]
    places = [place for place, node in enumerate(nodes) if stops.leave_open(node, total)]
    while places:
        start, above = len(nodes), [nodes[place] for place in places]
        for place, node, division in zip(places, above, divide(above), strict=True):
            if division is None:
                continue
            attribute = attributes[division.column]
            low, high = node.ranges.get(division.column, attribute.start)
            node.column, node.cut, node.held = division.column, division.cut, None
            even = np.full(division.classes.shape, 1 / division.classes.size)
            estimates = shares(division.classes, even) * node.classes.sum()
            every = np.arange(len(division.held))
            ranges = np.full((3, len(every)), [[low], [high], [division.cut]])
            ends = attribute.ranges(ranges[0], ranges[1], ranges[2], every)
            for side, known in enumerate(division.held):
                left = {**node.ranges, division.column: (float(ends[0][side]), float(ends[1][side]))}
                votes = shares(division.classes[side], node.probabilities)
                nodes.append(Node(estimates[side], votes, known, node.level + 1, place, left))
        places = [start + i for i, node in enumerate(nodes[start:]) if stops.leave_open(node, total)]
    names = ("parent", "column", "cut", "classes", "probabilities")
    told: dict[str, Any] = {name: np.array([getattr(node, name) for node in nodes]) for name in names}
    forest = Forest.from_parents(**told, schema=schema, target=target, cuts=cuts, children=children, vote="probability")
    return replace(recounted(forest, forest.classes), probabilities=forest.probabilities)


def shares(classes: Floats, otherwise: Floats) -> Floats:
    """Estimates moved to 0 or more, as shares; `otherwise` if nothing is left."""
    clipped = np.maximum(classes, 0.0)
    total = float(clipped.sum())
    return clipped / total if total > 0 else otherwise


def entropy(classes: Floats) -> Floats:
    """In bits, of distributions over the last axis; rows of zeros have none."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1, keepdims=True)
    parts = np.divide(classes, total, out=np.zeros_like(classes), where=total > 0)
    return np.asarray(-xlog2(parts).sum(axis=-1), dtype=float)


def gini(classes: Floats) -> Floats:
    """1 less the sum of squared shares over the last axis; rows of zeros have 0."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1)
    squares = (classes**2).sum(axis=-1)
    return np.asarray(1 - np.divide(squares, total**2, out=np.ones_like(total), where=total > 0), dtype=float)
