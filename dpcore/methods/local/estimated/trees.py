"""Trees from estimated tables of classes, for methods that never see a true count; they end as a `Forest`.

Estimates are unbiased and agree with nothing: shares can be negative, and those of two children need not add up to
their parent's. What a leaf votes is its own estimate, moved to 0 or more. What is shown of people is scaled so that
children sum to their parents; so a tree has no more nodes of some support than there is room for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import is_number, is_whole
from dpcore.domain.schema import Schema
from dpcore.domain.splits import attributes_of
from dpcore.errors import ParameterError
from dpcore.postprocess.forest import Forest

Floats = NDArray[np.float64]
Ranges = Mapping[int, tuple[float, float]]
LEAST = 1e-9  # bits; below it there is but one class
MOST_DEPTH, LEAST_SUPPORT = 20, 0.001


@dataclass(frozen=True)
class Stops:
    """When a node is a leaf; ParameterError if that would be never.

    Attributes
    ----------
    max_depth : int
        From 1 to `MOST_DEPTH`.
    min_support : float
        The least share of all people, from `LEAST_SUPPORT`: so a level has 1 / min_support nodes that may be divided.
    min_entropy : float
        Of the classes, in bits.
    """

    max_depth: int
    min_support: float
    min_entropy: float = 0.0

    def __post_init__(self) -> None:
        depth, support, least = self.max_depth, self.min_support, self.min_entropy
        if not is_whole(depth, 1, MOST_DEPTH):
            raise ParameterError("The 'max_depth' parameter is out of range.", f"Use a whole number to {MOST_DEPTH}.")
        if not (is_number(support) and LEAST_SUPPORT <= support < 1):
            raise ParameterError("The 'min_support' parameter is out of range.", f"From {LEAST_SUPPORT} to below 1.")
        if not (is_number(least) and least >= 0):
            raise ParameterError("The 'min_entropy' parameter is negative or no number.", "Try 0.05.")


@dataclass(eq=False)
class Node:
    """A node that grows.

    Attributes
    ----------
    classes : float array of shape (classes,)
        Estimated numbers of people, 0 or more.
    votes : float array of shape (classes,)
        The classes' shares.
    held : Any
        What the method knows of the node.
    ranges : mapping of int to pair of floats
        What is left of the columns (see `splits`), by position, if it is not all.
    column, cut, children
        How the node is divided; a leaf has the column -1.
    """

    classes: Floats
    votes: Floats
    held: Any = None
    ranges: Ranges = field(default_factory=dict)
    column: int = -1
    cut: float = np.nan
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Division:
    """How a node is divided.

    Attributes
    ----------
    column : int
        Its position.
    cut : float
        NaN if the column falls into groups.
    classes : float array of shape (children, classes)
        Estimated numbers of people.
    held : sequence
        What the method knows of each child.
    """

    column: int
    cut: float
    classes: Floats
    held: Sequence[Any]


Divide = Callable[[Sequence[Node]], Sequence[Division | None]]


def grow(
    schema: Schema,
    target: str,
    classes: Floats,
    held: Any,
    divide: Divide,
    stops: Stops,
    *,
    cuts: str,
    children: str,
) -> Forest:
    """One tree, level by level.

    Parameters
    ----------
    schema : Schema
    target : str
    classes : array of shape (classes,)
        Estimated numbers of people in the root.
    held : Any
        What the method knows of the root.
    divide : callable
        The divisions of some nodes of one level, None for leaves.
    stops : Stops
    cuts, children : str
        As for `attributes_of`.
    """
    attributes = attributes_of(schema, target, cuts=cuts, children=children)
    people = np.maximum(classes, 0.0)
    even = np.full(len(people), 1 / len(people))
    root = Node(people, shares(people, even), held)
    total, levels = float(people.sum()), [[root]]
    while levels[-1]:
        open_ = [node for node in levels[-1] if is_open(node, len(levels) - 1, total, stops)]
        below: list[Node] = []
        for node, division in zip(open_, divide(open_) if open_ else [], strict=True):
            if division is None:
                continue
            attribute = attributes[division.column]
            low, high = (np.array([end]) for end in node.ranges.get(division.column, attribute.start()))
            node.column, node.cut = division.column, division.cut
            cut = np.array([division.cut])
            estimates = settled(division.classes, float(node.classes.sum()))
            for child, known in enumerate(division.held):
                ends = attribute.ranges(low, high, cut, np.array([child]))
                node.children.append(
                    Node(
                        estimates[child],
                        shares(division.classes[child], node.votes),
                        known,
                        {**node.ranges, division.column: (float(ends[0][0]), float(ends[1][0]))},
                    )
                )
            node.held = None
            below += node.children
        levels.append(below)
    return planted(levels[:-1], schema, target, cuts=cuts, children=children)


def is_open(node: Node, level: int, total: float, stops: Stops) -> bool:
    """Whether a node may be divided."""
    people = float(node.classes.sum())
    supported = people > 0 and people >= stops.min_support * total
    return level < stops.max_depth and supported and float(entropy(node.votes)) >= max(stops.min_entropy, LEAST)


def shares(classes: Floats, otherwise: Floats) -> Floats:
    """Estimates moved to 0 or more, as shares; `otherwise` if nothing is left."""
    clipped = np.maximum(classes, 0.0)
    total = float(clipped.sum())
    return clipped / total if total > 0 else otherwise


def settled(classes: Floats, total: float) -> Floats:
    """Estimates of children, shape (children, classes), moved to 0 or more and scaled to their parent's total."""
    clipped = np.maximum(classes, 0.0)
    found = float(clipped.sum())
    return np.asarray(clipped * (total / found) if found > 0 else np.full(classes.shape, total / classes.size))


def planted(levels: Sequence[Sequence[Node]], schema: Schema, target: str, *, cuts: str, children: str) -> Forest:
    """The released tree; what inner nodes show are the sums of their leaves."""
    for level in reversed(levels):
        for node in level:
            if node.children:
                node.classes = np.sum([child.classes for child in node.children], axis=0)
    nodes = [node for level in levels for node in level]
    fanout = np.array([len(node.children) for node in nodes], dtype=np.intp)
    column = np.array([node.column for node in nodes], dtype=np.intp)
    first = 1 + np.cumsum(fanout) - fanout
    attributes = attributes_of(schema, target, cuts=cuts, children=children)
    low = [
        node.ranges.get(node.column, attributes[node.column].start())[0] if node.children else np.nan for node in nodes
    ]
    classes = np.stack([node.classes for node in nodes])
    unknown = np.full(len(nodes), np.nan)
    return Forest(
        schema=schema,
        target=target,
        cuts=cuts,
        children=children,
        vote="probability",
        tree=np.zeros(len(nodes), dtype=np.intp),
        level=np.repeat(np.arange(len(levels)), [len(level) for level in levels]),
        parent=np.concatenate([[-1], np.repeat(np.arange(len(nodes)), fanout)]).astype(np.intp),
        column=column,
        first=np.where(fanout > 0, first, 0),
        fanout=fanout,
        cut=np.array([node.cut for node in nodes], dtype=float),
        low=np.array(low, dtype=float),
        noisy=unknown,
        counts=classes.sum(axis=1),
        classes=classes,
        probabilities=np.stack([node.votes for node in nodes]),
        spent=unknown.copy(),
    )


def entropy(classes: Floats) -> Floats:
    """In bits, of distributions over the last axis; rows of zeros have none."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1, keepdims=True)
    parts = np.divide(classes, total, out=np.zeros_like(classes), where=total > 0)
    logs = np.log2(parts, out=np.zeros_like(parts), where=parts > 0)
    return np.asarray(-(parts * logs).sum(axis=-1), dtype=float)


def gini(classes: Floats) -> Floats:
    """1 less the sum of squared shares over the last axis; rows of zeros have 0."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1)
    squares = (classes**2).sum(axis=-1)
    return np.asarray(1 - np.divide(squares, total**2, out=np.ones_like(total), where=total > 0), dtype=float)
