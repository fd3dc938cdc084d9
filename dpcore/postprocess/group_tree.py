"""A decision tree learned from released counts of groups, as plain data: what it asks, what it predicts, its JSON."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from dpcore.arguments import Floats, Ints
from dpcore.domain.partition import Axis, Partition
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError

FORMAT = "dpcore tree of groups 1"
# The difference of two noisy counts has 1.4 times the standard deviation of one. In a leaf of fewer than about three
# times that many rows, noise alone may make another class the largest.
DEVIATIONS = 4.0


@dataclass(frozen=True)
class Node:
    """A node of a tree of groups."""

    classes: tuple[float, ...]  # released counts of the rows that come here, by class
    column: str = ""  # which divides them; "" for a leaf
    goes_left: tuple[int, ...] = ()  # the column's groups that do
    left: int = 0  # the children's places
    right: int = 0


@dataclass(frozen=True)
class GroupTree:
    """A decision tree over generalized rows."""

    schema: Schema
    target: str
    groups: dict[str, tuple[int, ...]]  # by column that the tree asks: every code's group
    nodes: tuple[Node, ...]  # the root first, parents before their children

    @property
    def probabilities(self) -> Floats:
        """The classes' shares in every node, shape (nodes, classes); evenly spread where no row was released."""
        counts = np.array([node.classes for node in self.nodes])
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full(counts.shape, 1 / counts.shape[1])
        shares: Floats = np.divide(counts, totals, out=even, where=totals > 0)
        return shares

    def apply(self, frame: pd.DataFrame) -> Ints:
        """The leaf of every row, shape (n,); DataError if rows do not fit the schema. They need no class."""
        at = np.zeros(len(frame), dtype=np.intp)
        names = [name for name in self.schema.names if name != self.target]
        if not names:
            return at
        codes = self.schema.select(names).encode(frame)  # also columns that this tree happens not to ask
        coming = {0: np.arange(len(frame))}
        for place, node in enumerate(self.nodes):
            here = coming.pop(place)
            at[here] = place
            if node.column:
                groups = np.array(self.groups[node.column])[codes[here, names.index(node.column)]]
                left = np.isin(groups, node.goes_left)
                coming |= {node.left: here[left], node.right: here[~left]}
        return at

    def probability(self, frame: pd.DataFrame) -> Floats:
        """The classes' probabilities of every row, shape (n, classes)."""
        found: Floats = self.probabilities[self.apply(frame)]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The tree without its schema as JSON-ready values."""
        return {
            "format": FORMAT,
            "target": self.target,
            "groups": {name: list(groups) for name, groups in self.groups.items()},
            "nodes": [
                {**vars(node), "classes": list(node.classes), "goes_left": list(node.goes_left)} for node in self.nodes
            ],
        }

    @classmethod
    def from_dict(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; SchemaError if the document is damaged or does not fit the schema."""
        try:
            if document["format"] != FORMAT:
                raise ValueError
            groups = {str(name): tuple(map(int, codes)) for name, codes in document["groups"].items()}
            nodes = tuple(
                Node(
                    classes=tuple(map(float, raw["classes"])),
                    column=str(raw["column"]),
                    goes_left=tuple(map(int, raw["goes_left"])),
                    left=int(raw["left"]),
                    right=int(raw["right"]),
                )
                for raw in document["nodes"]
            )
            found = cls(schema, str(document["target"]), groups, nodes)
            found._check()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, SchemaError):
            raise SchemaError("This is no tree of that schema.", "Choose a file that this program exported.") from None
        return found

    def _check(self) -> None:
        """Raise ValueError unless every row's walk ends at a leaf."""
        classes = self.schema[self.target].size
        for name, groups in self.groups.items():
            if name == self.target or len(groups) != self.schema[name].size or min(groups) < 0:
                raise ValueError
            if max(groups) >= len(groups):
                raise ValueError
        below = sorted(place for node in self.nodes if node.column for place in (node.left, node.right))
        if below != list(range(1, len(self.nodes))) or not self.nodes:
            raise ValueError
        for i, node in enumerate(self.nodes):
            if len(node.classes) != classes or not all(isfinite(count) and count >= 0 for count in node.classes):
                raise ValueError
            if node.column and (
                min(node.left, node.right) <= i or not set(node.goes_left) <= {*self.groups[node.column]}
            ):
                raise ValueError


def tree_of(leaves: Partition, counts: Floats, target: str, *, deviation: float) -> GroupTree:
    """C4.5's way of growing, by entropy, on released groups x classes: one row for each, weighted by its count.

    C4.5 stops at two rows. What is enough here depends on the noise: a leaf needs `DEVIATIONS` times the standard
    `deviation` of the noise on one count. `counts` are 0 or more, of shape (leaves.size,).
    """
    schema, at = leaves.schema, leaves.schema.index(target)
    cells = np.flatnonzero(counts > 0)
    places = leaves.blocks(cells)
    weights, total = counts[cells], float(counts[cells].sum())
    axes = {name: axis for name, axis in zip(schema.names, leaves.axes, strict=True) if name != target}
    features = [(name, told) for name, axis in axes.items() for told in told_by(schema, name, axis)]
    if not features or not total:
        by_class = np.bincount(places[at], weights=weights, minlength=schema[target].size)
        return GroupTree(schema, target, {}, (Node(tuple(by_class.tolist())),))
    told_rows = np.column_stack([told[places[schema.index(name)]].astype(np.float32) for name, told in features])
    enough = min(DEVIATIONS * deviation / total, 0.5)
    # scikit-learn breaks ties between equally good questions by lot; the seed is public and always the same.
    model = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=enough, random_state=0)
    with warnings.catch_warnings():  # which groups are left may hold as many classes as groups
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        tree = model.fit(told_rows, places[at], sample_weight=weights).tree_
    classes = np.zeros((tree.node_count, schema[target].size))
    classes[:, model.classes_] = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    nodes = []
    for i, by_class in enumerate(classes.tolist()):
        if tree.children_left[i] < 0:
            nodes.append(Node(tuple(by_class)))
            continue
        name, told = features[tree.feature[i]]
        left = tuple(np.flatnonzero(told <= tree.threshold[i]).tolist())
        nodes.append(Node(tuple(by_class), name, left, int(tree.children_left[i]), int(tree.children_right[i])))
    asked = {node.column for node in nodes}
    groups = {name: tuple(axis.blocks.tolist()) for name, axis in axes.items() if name in asked}
    return GroupTree(schema, target, groups, tuple(nodes))


def told_by(schema: Schema, name: str, axis: Axis) -> list[Floats]:
    """What a tree may ask of a column: numbers for its groups, of shape (groups,) each.

    Whether it is a certain group; of numbers, whether it is up to a certain one (the last group may be "missing").
    """
    if len(axis.names) < 2:
        return []
    column, each = schema[name], np.eye(len(axis.names))
    if len(axis.names) == 2:
        return [each[1]]
    if not column.numeric:
        return list(each)
    lowest = np.array([np.flatnonzero(axis.blocks == i)[0] for i in range(len(axis.names))])
    ranks = np.argsort(np.argsort(lowest)).astype(float)
    return [ranks, each[int(np.argmax(ranks))]] if column.missing else [ranks]
