"""A decision tree learned from released counts of groups: a `Forest` of one binary tree that asks for groups."""

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
# The difference of two noisy counts has 1.4 times the standard deviation of one. In a leaf of fewer than about three
# times that many rows, noise alone may make another class the largest.
DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False)
class GroupTree(Forest):
    """A decision tree over generalized rows; `groups` has the group of every code, by the columns that it asks."""

    groups: Mapping[str, Ints]
    title = "tree of groups"
    deepest = 1_000  # a column of many groups is asked for one after the other

    @property
    def attributes(self) -> Mapping[int, Blocks]:
        return {self.schema.index(name): Blocks(self.schema[name], codes) for name, codes in self.groups.items()}

    def to_dict(self) -> dict[str, Any]:
        """The tree without its schema as JSON-ready values: a node, all that is left below it, and then the right."""
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
        require(document["format"] == FORMAT)
        groups = {str(name): np.array(codes, dtype=np.intp) for name, codes in document["groups"].items()}
        for name, codes in groups.items():
            known = np.unique(codes)
            require(codes.shape == (schema[name].size,) and np.array_equal(known, np.arange(len(known))))
        return cls.planted(schema, str(document["target"]), groups, document["nodes"])

    @classmethod
    def planted(cls, schema: Schema, target: str, groups: Mapping[str, Ints], nodes: Sequence[Document]) -> Self:
        """The tree of a document's nodes, level by level."""
        below = [[int(node["left"]), int(node["right"])] if node["column"] else [] for node in nodes]
        # Every node but the first is the child of one in front of it, so that all walks end.
        require(sorted(child for pair in below for child in pair) == [*range(1, len(nodes))])
        require(all(child > index for index, pair in enumerate(below) for child in pair))
        order, parent = [0], [-1]
        for at, index in enumerate(order):  # which grows
            order += below[index]
            parent += [at] * len(below[index])
        stand, attribute = (
            [nodes[index] for index in order],
            {name: Blocks(schema[name], groups[name]) for name in groups},
        )
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
            cut=np.array(
                [attribute[n["column"]].split_point(n["goes_left"]) if n["column"] else np.nan for n in stand]
            ),
            classes=classes,
            probabilities=rows_to_one(classes, 1 / classes.shape[1]),
        )


def tree_of(leaves: Partition, counts: Floats, target: str, *, deviation: float) -> GroupTree:
    """C4.5's way of growing, by entropy, on released groups x classes: one row for each, weighted by its count.

    C4.5 stops at two rows. What is enough here depends on the noise: a leaf needs `DEVIATIONS`
    times the standard `deviation` of the noise on one count. `counts` are 0 or more, of shape
    (leaves.size,).
    """
    schema, at = leaves.schema, leaves.schema.index(target)
    cells = np.flatnonzero(counts > 0)
    blocks = leaves.blocks(cells)
    weights, total = counts[cells], float(counts[cells].sum())
    axes = {name: axis for name, axis in zip(schema.names, leaves.axes, strict=True) if name != target}
    features = [
        (name, fields) for name, axis in axes.items() for fields in group_indicators(schema[name], len(axis.names))
    ]
    if not features or not total:
        by_class = np.bincount(blocks[at], weights=weights, minlength=schema[target].size)
        return GroupTree.planted(schema, target, {}, [{"classes": by_class, "column": ""}])
    told_rows = np.column_stack([fields[blocks[schema.index(name)]].astype(np.float32) for name, fields in features])
    enough = min(DEVIATIONS * deviation / total, 0.5)
    # scikit-learn breaks ties between equally good questions by lot; the seed is public and always the same.
    stops: dict[str, Any] = {"min_weight_fraction_leaf": enough, "max_depth": GroupTree.deepest}
    model = DecisionTreeClassifier(criterion="entropy", random_state=0, **stops)
    with warnings.catch_warnings():  # which groups are left may hold as many classes as groups
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        tree = model.fit(told_rows, blocks[at], sample_weight=weights).tree_
    classes = np.zeros((tree.node_count, schema[target].size))
    classes[:, model.classes_] = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    attribute = [features[i] if i >= 0 else ("", np.empty(0)) for i in tree.feature]
    nodes = [
        {"classes": by_class, "column": name, "goes_left": np.flatnonzero(fields <= at), "left": left, "right": right}
        for (name, fields), by_class, at, left, right in zip(
            attribute, classes, tree.threshold, tree.children_left, tree.children_right, strict=True
        )
    ]
    names = {name for name, _ in attribute}
    return GroupTree.planted(schema, target, {name: axis.blocks for name, axis in axes.items() if name in names}, nodes)


def group_indicators(column: Column, groups: int) -> list[Floats]:
    """What a tree may ask of a column: numbers for its groups, of shape (groups,) each.

    Whether it is a certain group; of numbers, whether it is up to a certain one (the last group may
    be "missing").
    """
    each = np.eye(groups)
    if groups < 3:
        return list(each[1:])
    if not column.numeric:
        return list(each)
    return [np.arange(groups, dtype=float), *each[groups - column.missing :]]
