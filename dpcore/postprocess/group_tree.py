"""Decision trees learned from released counts of groups of values."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Blocks
from dpcore.postprocess.forest import Forest, require
from dpcore.postprocess.simplex import rows_to_one

Document = Mapping[str, Any]
FORMAT = "dpcore tree of groups 1"
# The difference of two noisy counts has 1.4 times the standard deviation of one. In a leaf with fewer
# rows than about three times that, noise alone may make another class the largest.
DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False)
class GroupTree(Forest):
    """Binary decision tree that splits by groups of values.

    `groups` has, for each column that the tree splits by, the group of every code.
    """

    groups: Mapping[str, Ints]
    title = "tree of groups"
    deepest = 1_000  # a column of many groups may be split one group at a time

    @property
    def attributes(self) -> Mapping[int, Blocks]:
        """Columns that the tree splits by, with their groups of values, by column position."""
        return {self.schema.index(name): Blocks(self.schema[name], codes) for name, codes in self.groups.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the tree without its schema as JSON-ready values.

        Nodes are in depth-first order: a node, all nodes of its left subtree, then of its right
        subtree.
        """
        order, coming = list[int](), [0]
        while coming:
            order.append(coming.pop())
            left = int(self.first[order[-1]])
            coming += [] if self.leaf[order[-1]] else [left + 1, left]
        number, attributes, nodes = np.argsort(order), self.attributes, []
        for node in order:
            fields = {"classes": self.classes[node].tolist(), "column": "", "goes_left": [], "left": 0, "right": 0}
            if not self.leaf[node]:
                attribute, left = attributes[int(self.column[node])], self.first[node]
                fields |= {"column": attribute.column.name, "goes_left": attribute.left_groups(self.cut[node])}
                fields |= {"left": int(number[left]), "right": int(number[left + 1])}
            nodes.append(fields)
        groups = {name: codes.tolist() for name, codes in self.groups.items()}
        return {"format": FORMAT, "target": self.target, "groups": groups, "nodes": nodes}

    @classmethod
    def _read(cls, schema: Schema, document: Document) -> Self:
        """Read a tree from a document; any exception means that it is damaged."""
        require(document["format"] == FORMAT)
        groups = {str(name): np.array(codes, dtype=np.intp) for name, codes in document["groups"].items()}
        for name, codes in groups.items():
            known = np.unique(codes)
            require(codes.shape == (schema[name].size,) and np.array_equal(known, np.arange(len(known))))
        return cls.from_nodes(schema, str(document["target"]), groups, document["nodes"])

    @classmethod
    def from_nodes(cls, schema: Schema, target: str, groups: Mapping[str, Ints], nodes: Sequence[Document]) -> Self:
        """Return the tree of a document's nodes, rearranged level by level."""
        below = [[int(node["left"]), int(node["right"])] if node["column"] else [] for node in nodes]
        # Every node but the first is the child of an earlier node, so all walks end.
        require(sorted(child for pair in below for child in pair) == [*range(1, len(nodes))])
        require(all(child > index for index, pair in enumerate(below) for child in pair))
        order, parent = [0], [-1]
        for at, index in enumerate(order):  # `order` grows in the loop
            order += below[index]
            parent += [at] * len(below[index])
        stand = [nodes[index] for index in order]
        blocks = {name: Blocks(schema[name], groups[name]) for name in groups}
        classes = np.array([node["classes"] for node in stand], dtype=float)
        return cls.from_parents(
            np.array(parent),
            schema=schema,
            target=target,
            cuts="bins",
            children="grouped",
            vote="probability",
            groups=groups,
            column=np.array([schema.index(node["column"]) if node["column"] else -1 for node in stand]),
            cut=np.array([blocks[n["column"]].split_point(n["goes_left"]) if n["column"] else np.nan for n in stand]),
            classes=classes,
            probabilities=rows_to_one(classes, 1 / classes.shape[1]),
        )


def fit_group_tree(leaves: Partition, counts: Floats, target: str, *, deviation: float) -> GroupTree:
    """Fit a decision tree by entropy, as C4.5 does, to released counts of groups x classes.

    Each non-empty cell is one training row, weighted by its count. `counts` are 0 or more, of shape
    (leaves.size,). C4.5 stops at two rows. Here the stop depends on the noise: a leaf needs
    `DEVIATIONS` times `deviation`, the standard deviation of the noise on one count.
    """
    schema, at = leaves.schema, leaves.schema.index(target)
    cells = np.flatnonzero(counts > 0)
    blocks = leaves.blocks(cells)
    weights, total = counts[cells], float(counts[cells].sum())
    axes = {name: axis for name, axis in zip(schema.names, leaves.axes, strict=True) if name != target}
    features = [(name, own) for name, axis in axes.items() for own in group_indicators(schema[name], len(axis.names))]
    if not features or not total:
        by_class = np.bincount(blocks[at], weights=weights, minlength=schema[target].size)
        return GroupTree.from_nodes(schema, target, {}, [{"classes": by_class, "column": ""}])
    numbers = [fields[blocks[schema.index(name)]].astype(np.float32) for name, fields in features]
    enough = min(DEVIATIONS * deviation / total, 0.5)
    # scikit-learn breaks ties between splits at random; the seed is public and fixed.
    stops: dict[str, Any] = {"min_weight_fraction_leaf": enough, "max_depth": GroupTree.deepest}
    model = DecisionTreeClassifier(criterion="entropy", random_state=0, **stops)
    with warnings.catch_warnings():  # scikit-learn warns if there are as many classes as rows
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        tree = model.fit(np.column_stack(numbers), blocks[at], sample_weight=weights).tree_
    classes = np.zeros((tree.node_count, schema[target].size))
    classes[:, model.classes_] = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    attribute = [features[i] if i >= 0 else ("", np.empty(0)) for i in tree.feature]
    nodes = [
        {"classes": by_class, "column": name, "goes_left": np.flatnonzero(fields <= at), "left": left, "right": right}
        for (name, fields), by_class, at, left, right in zip(
            attribute, classes, tree.threshold, tree.children_left, tree.children_right, strict=True
        )
    ]
    used = dict(attribute)
    groups = {name: axis.blocks for name, axis in axes.items() if name in used}
    return GroupTree.from_nodes(schema, target, groups, nodes)


def group_indicators(column: Column, groups: int) -> list[Floats]:
    """Return the features by which a tree may split a column: arrays of shape (groups,).

    For categories, each feature says whether the value is in one group. For numbers, they are the
    group's number and, if values may be missing, whether the value is missing.
    """
    each = np.eye(groups)
    if groups < 3:
        return list(each[1:])
    if not column.numeric:
        return list(each)
    return [np.arange(groups, dtype=float), *each[groups - column.missing :]]
