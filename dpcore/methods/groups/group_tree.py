"""A decision tree learned from released counts of groups, as plain data; and the classifiers that release one.

All of this is post-processing: the tree is learned from noisy counts that were paid for, one row per group and class.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.partition import Axis, Partition
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import SchemaError
from dpcore.mechanisms.scores import InfoGain, Max, SplitScore
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.groups.base import LEAVES, MOST_LEAVES, ROUNDS, check_leaves
from dpcore.methods.groups.descent import Descent
from dpcore.methods.parameters import choice, learned, whole
from dpcore.postprocess.count_tree import HUGE, ReleasedTree

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
FORMAT = "dpcore tree of groups 1"
SCORES: dict[str, SplitScore] = {"Max": Max(), "InfoGain": InfoGain()}
# The difference of two noisy counts has 1.4 times the standard deviation of one. In a leaf of fewer than about three
# times that many rows, noise alone may make another class the largest.
DEVIATIONS = 4.0


@dataclass(frozen=True)
class Node:
    """A node of a tree of groups.

    Attributes
    ----------
    classes : tuple of float
        The released counts of the rows that come here, by class.
    column : str
        Which column divides them; "" for a leaf.
    goes_left : tuple of int
        The column's groups that go left.
    left, right : int
        The children's places; 0 for a leaf.
    """

    classes: tuple[float, ...]
    column: str = ""
    goes_left: tuple[int, ...] = ()
    left: int = 0
    right: int = 0


@dataclass(frozen=True)
class GroupTree:
    """A decision tree over generalized rows.

    Attributes
    ----------
    schema : Schema
    target : str
    groups : dict of column name to tuple of int
        Per column that the tree asks: every code's group.
    nodes : tuple of Node
        The root first, parents before their children.
    """

    schema: Schema
    target: str
    groups: dict[str, tuple[int, ...]]
    nodes: tuple[Node, ...]

    @property
    def probabilities(self) -> Floats:
        """The classes' shares in every node, shape (nodes, classes); evenly spread where no row was released."""
        counts = np.array([node.classes for node in self.nodes])
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full(counts.shape, 1 / counts.shape[1])
        shares: Floats = np.divide(counts, totals, out=even, where=totals > 0)
        return shares

    def apply(self, frame: pd.DataFrame) -> Ints:
        """The leaf of every row, shape (n,).

        Raises
        ------
        DataError
            If a column of the schema is lacking or a cell does not fit its declaration. The class is not needed.
        """
        at = np.zeros(len(frame), dtype=np.intp)
        names = [name for name in self.schema.names if name != self.target]
        if not names:
            return at
        codes = self.schema.select(names).encode(frame)  # also columns that this tree happens not to ask
        asked = list(self.groups)
        widest = max((max(groups) for groups in self.groups.values()), default=0) + 1
        rows = np.zeros((len(frame), len(asked)), dtype=np.intp)
        for j, name in enumerate(asked):
            rows[:, j] = np.array(self.groups[name])[codes[:, names.index(name)]]
        column, child = np.full(len(self.nodes), -1), np.zeros((len(self.nodes), widest), dtype=np.intp)
        for i, node in enumerate(self.nodes):
            if node.column:
                column[i], child[i] = asked.index(node.column), node.right
                child[i, list(node.goes_left)] = node.left
        moving = np.flatnonzero(column[at] >= 0)
        while len(moving):
            here = at[moving]
            at[moving] = child[here, rows[moving, column[here]]]
            moving = moving[column[at[moving]] >= 0]
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
    """C4.5's way of growing, by entropy, on released groups: one row per group and class, weighted by its count.

    C4.5 stops at two rows. What is enough here depends on the noise: a leaf needs `DEVIATIONS` standard deviations.

    Parameters
    ----------
    leaves : Partition
        Groups x classes.
    counts : array of shape (leaves.size,)
        0 or more.
    target : str
    deviation : float
        Of the noise on one count.
    """
    schema, at = leaves.schema, leaves.schema.index(target)
    cells = np.flatnonzero(counts > 0)
    places = leaves.blocks(cells)
    weights, total = counts[cells], float(counts[cells].sum())
    axes = {name: axis for j, (name, axis) in enumerate(zip(schema.names, leaves.axes, strict=True)) if j != at}
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


class GroupClassifier(PrivateClassifier):
    """A method that releases counts of generalized rows by class, and a decision tree learned from them.

    Attributes
    ----------
    steps_ : list of (column, value)
        What was specialized.
    tree_ : ReleasedTree
        The released groups x classes with their noisy counts.
    leaf_counts_ : array
        The published counts of all groups x classes, 0 or more.
    classifier_ : GroupTree
        What predicts.
    """

    rounds: int = whole(default=10, about=ROUNDS)
    criterion: str = choice(
        default="Max", options=SCORES, about="What is specialized is chosen by it; the tree itself is grown by entropy."
    )
    max_leaves: int = whole(default=100_000, most=MOST_LEAVES, about=LEAVES)
    tree_: ReleasedTree = learned()
    leaf_counts_: Floats = learned()
    classifier_: GroupTree = learned()

    def _check(self, schema: Schema) -> None:
        check_leaves(self.max_leaves, schema[self._target(schema, self.target)].size)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        target = self._target(table.schema, self.target)
        rated_by, paper = SCORES[self.criterion], self.mode == "paper"
        way = Descent(table, target, rated_by, max_leaves=self.max_leaves, paper=paper)
        self._descend(way, progress)
        self.steps_ = way.steps
        progress(0.7, "Counting groups")
        partitions, noisy, (root, variance) = way.release(exact(self.epsilon) - way.spent)
        known = [root, min(variance, HUGE)]  # counts that were bought for nothing say nothing
        self.tree_ = ReleasedTree(partitions, noisy, known, whole_noise=table.whole_noise)
        self.leaf_counts_ = self.tree_.consistent.non_negative()[-1]
        progress(0.9, "Learning a tree")
        self.classifier_ = tree_of(partitions[-1], self.leaf_counts_, target, deviation=known[-1] ** 0.5)
        progress(1.0, "Done")

    @abstractmethod
    def _descend(self, way: Descent, progress: Progress) -> None:
        """Specialize values with at most half of epsilon."""

    def _probability(self, frame: pd.DataFrame) -> Floats:
        return self.classifier_.probability(frame)

    def structure(self) -> dict[str, Any]:
        """`tree` (`ReleasedTree.to_dict`), the published `leaf_counts`, and the `classifier` (`GroupTree.to_dict`)."""
        return {
            "tree": self.tree_.to_dict(),
            "leaf_counts": self.leaf_counts_.tolist(),
            "classifier": self.classifier_.to_dict(),
        }
