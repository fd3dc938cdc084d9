"""Hierarchies over a column's codes: a taxonomy, or nested intervals of bins.

A hierarchy leads from "(any)" down to single codes. Methods that generalize values walk down these
trees. All is public: nothing here reads rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpcore.arguments import Ints, is_whole
from dpcore.domain.column import MISSING, Column
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import ParameterError

ANY = "(any)"
FEW = 3  # names that a list may have


@dataclass(frozen=True)
class TaxonomyNode:
    """A node of a hierarchy: a named set of codes."""

    name: str
    codes: tuple[int, ...]  # in increasing order
    depth: int  # 0 for the root
    parent: int  # index of the parent; -1 for the root


class Hierarchy:
    """A public tree over one column's codes, in which every leaf is one code.

    `paths` has one path per code: the names of nodes from the root down to the code's leaf. Paths
    with equal beginnings share nodes.
    """

    def __init__(self, paths: Sequence[Sequence[str]]) -> None:
        members: dict[tuple[str, ...], list[int]] = {}
        for code, path in enumerate(paths):
            for end in range(1, len(path) + 1):
                members.setdefault(tuple(path[:end]), []).append(code)
        found = sorted(members, key=len)
        index = {path: i for i, path in enumerate(found)}
        self.nodes = tuple(  # the root first, parents before their children
            TaxonomyNode(p[-1], tuple(members[p]), len(p) - 1, index.get(p[:-1], -1)) for p in found
        )
        below: list[list[int]] = [[] for _ in found]
        for i, node in enumerate(self.nodes):
            if node.parent >= 0:
                below[node.parent].append(i)
        # Indices of each node's children, in the order of their codes.
        self.children = tuple(tuple(sorted(indices, key=lambda i: self.nodes[i].codes)) for indices in below)
        self.depth = max(node.depth for node in self.nodes)
        self.size = len(paths)

    @classmethod
    def from_column(cls, column: Column, fanout: int = 2) -> Hierarchy:
        """Return a column's hierarchy: from its taxonomy, its bins, or its list of categories.

        A numeric column without a taxonomy gets nested intervals with `fanout` parts each, a
        categorical one a single level. "Missing" is a child of the root.
        """
        values = column.labels[:-1] if column.missing else column.labels
        if column.taxonomy is not None:
            known = {path[0]: path[::-1] for path in column.taxonomy.paths}
            paths = [known[value] for value in values]
        elif column.numeric:
            paths = [path[::-1] for path in intervals(column, fanout).paths]
            if column.missing:
                paths = [(ANY, *path) for path in paths]
        elif len(values) == 1 and not column.missing:
            paths = [values]
        else:
            paths = [(ANY, value) for value in values]
        return cls([*paths, (paths[0][0], column.labels[-1])] if column.missing else paths)

    def branching_node(self, index: int) -> int:
        """Return the first node from `index` downwards that does not have exactly one child.

        Nodes with one child do not divide their codes.
        """
        while len(self.children[index]) == 1:
            index = self.children[index][0]
        return index

    @property
    def levels(self) -> range:
        """Depths of all levels of the hierarchy below the root."""
        return range(1, self.depth + 1)

    def level(self, depth: int) -> tuple[int, ...]:
        """Return the indices of the nodes at a depth, in the order of their codes.

        A leaf above that depth is included, so that the nodes contain every code.
        """
        found = [
            i
            for i, node in enumerate(self.nodes)
            if node.depth == depth or (node.depth < depth and not self.children[i])
        ]
        return tuple(sorted(found, key=lambda i: self.nodes[i].codes))

    def blocks(self, nodes: Sequence[int]) -> Ints:
        """Return, for each code, which of the given nodes contains it, shape (codes,).

        `nodes` has indices of nodes; the result has positions in `nodes`. ParameterError if the
        nodes do not contain every code exactly once.
        """
        found = np.full(self.size, -1, dtype=np.intp)
        for position, index in enumerate(nodes):
            found[list(self.nodes[index].codes)] = position
        if sum(len(self.nodes[index].codes) for index in nodes) != self.size or (found < 0).any():
            raise ParameterError("The nodes are no partition of the column.", "Cover every code once.")
        return found


def intervals(column: Column, fanout: int = 2) -> Taxonomy:
    """Return a taxonomy over a numeric column's bins: nested intervals with `fanout` parts each.

    The parts of an interval have nearly equal numbers of bins.
    """
    if not column.numeric:
        raise ParameterError(f"Column {column.name!r} has no bins.", "Give its taxonomy as a table of paths.")
    if not is_whole(fanout, 2):
        raise ParameterError("`fanout` must be a whole number of 2 or more.", "Use 2 for halves.")
    bins = column.size - column.missing
    paths = [[label] for label in column.labels[:bins]]
    spans = [(0, bins)] if bins > 1 else []
    for first, end in spans:  # grows while it is read
        name = column.interval(first, end)
        for path in paths[first:end]:
            path.insert(1, name)
        points = np.linspace(first, end, min(fanout, end - first) + 1).round().astype(int)
        spans += [(a, b) for a, b in pairwise(points.tolist()) if b - a > 1]
    return Taxonomy(tuple(map(tuple, paths)))


def split_in_halves(column: Column) -> Hierarchy:
    """Return the hierarchy of a root and two halves of a column's codes.

    Halves are of the bins, of the categories in their order, or, with a taxonomy, of the groups
    below its root. "Missing" is in the second half. A column of one value is the root alone.
    """
    if column.size == 1:
        return Hierarchy([(ANY,)])
    missing, names = int(column.missing), list(column.labels)
    groups: list[tuple[int, ...]] = [(code,) for code in range(column.size)]
    if column.taxonomy is not None:
        tree = Hierarchy.from_column(column)
        nodes = [tree.nodes[child] for child in tree.children[tree.branching_node(0)]]
        groups, names = [node.codes for node in nodes], [node.name for node in nodes]
    middle = (len(groups) - missing + 1) // 2
    if column.numeric and column.taxonomy is None:
        low, high = column.interval(0, middle), MISSING
        if middle < column.size - missing:
            high = column.interval(middle, column.size - missing) + f" or {MISSING}" * missing
    else:
        low, high = shorten_list(names[:middle]), shorten_list(names[middle:])
    high += "'" * (low == high)
    first = {code for codes in groups[:middle] for code in codes}
    return Hierarchy([(ANY, low if code in first else high) for code in range(column.size)])


def shorten_list(names: Sequence[str]) -> str:
    """Return names as one text, shortened to the first two and the last if there are many."""
    return ", ".join(names) if len(names) <= FEW else f"{names[0]}, {names[1]}, … {names[-1]}"
