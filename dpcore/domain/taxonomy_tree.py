"""A column's codes as a public tree: its taxonomy, or intervals of bins, from "anything" down to single codes.

A method that generalizes values walks down these trees. Nothing here looks at rows.
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
FEW = 3  # names that are listed


@dataclass(frozen=True)
class TaxonomyNode:
    """A set of codes with a name."""

    name: str
    codes: tuple[int, ...]  # in increasing order
    depth: int  # 0 for the root
    parent: int  # its place among the hierarchy's nodes; -1 for the root


class Hierarchy:
    """A public tree over one column's codes; every leaf is one code.

    It is made of a path per code, the names from the root down to the code's own; equal beginnings
    are the same nodes.
    """

    def __init__(self, paths: Sequence[Sequence[str]]) -> None:
        members: dict[tuple[str, ...], list[int]] = {}
        for code, path in enumerate(paths):
            for end in range(1, len(path) + 1):
                members.setdefault(tuple(path[:end]), []).append(code)
        found = sorted(members, key=len)
        index = {path: i for i, path in enumerate(found)}
        self.nodes = tuple(  # the root first, parents before their children
            TaxonomyNode(path[-1], tuple(members[path]), len(path) - 1, index.get(path[:-1], -1)) for path in found
        )
        below: list[list[int]] = [[] for _ in found]
        for i, node in enumerate(self.nodes):
            if node.parent >= 0:
                below[node.parent].append(i)
        # Per node the places of its children, in the order of their codes.
        self.children = tuple(tuple(sorted(indices, key=lambda i: self.nodes[i].codes)) for indices in below)
        self.depth = max(node.depth for node in self.nodes)
        self.size = len(paths)

    @classmethod
    def of(cls, column: Column, fanout: int = 2) -> Hierarchy:
        """The column's taxonomy; without one, intervals of `fanout` parts for numbers, and one level for categories.

        "Missing" stands beside the rest, right under the root.
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

    def fork(self, index: int) -> int:
        """The first node from a place down that has no single child; those above it divide nothing."""
        while len(self.children[index]) == 1:
            index = self.children[index][0]
        return index

    @property
    def levels(self) -> range:
        """The levels below the root."""
        return range(1, self.depth + 1)

    def level(self, depth: int) -> tuple[int, ...]:
        """The nodes of one level in the order of their codes; a leaf that lies higher is at all levels below it too."""
        found = [
            i
            for i, node in enumerate(self.nodes)
            if node.depth == depth or (node.depth < depth and not self.children[i])
        ]
        return tuple(sorted(found, key=lambda i: self.nodes[i].codes))

    def blocks(self, cut: Sequence[int]) -> Ints:
        """For every code the position, in `cut`, of the node that holds it; ParameterError if not each has one."""
        held = np.full(self.size, -1, dtype=np.intp)
        for position, index in enumerate(cut):
            held[list(self.nodes[index].codes)] = position
        if sum(len(self.nodes[index].codes) for index in cut) != self.size or (held < 0).any():
            raise ParameterError("These nodes do not divide the column.", "Take every code's node once.")
        return held


def intervals(column: Column, fanout: int = 2) -> Taxonomy:
    """A public tree over a numeric column's bins: every interval falls into `fanout` parts of nearly equal bins."""
    if not column.numeric:
        raise ParameterError(f"Column {column.name!r} has no intervals.", "Give it a table of paths instead.")
    if not is_whole(fanout, 2):
        raise ParameterError("The 'fanout' parameter is not a whole number of 2 or more.", "Use 2 for halves.")
    bins = column.size - column.missing
    paths = [[label] for label in column.labels[:bins]]
    spans = [(0, bins)] if bins > 1 else []
    for first, end in spans:  # which grow, the widest first
        name = column.interval(first, end)
        for path in paths[first:end]:
            path.insert(1, name)
        points = np.linspace(first, end, min(fanout, end - first) + 1).round().astype(int)
        spans += [(a, b) for a, b in pairwise(points.tolist()) if b - a > 1]
    return Taxonomy(tuple(map(tuple, paths)))


def halves(column: Column) -> Hierarchy:
    """A root and two halves of the column's codes; one value alone is a root.

    Halves are of the bins, of the categories in their order, or, with a taxonomy, of the groups
    below its root. "Missing" joins the second half.
    """
    if column.size == 1:
        return Hierarchy([(ANY,)])
    missing, names = int(column.missing), list(column.labels)
    groups: list[tuple[int, ...]] = [(code,) for code in range(column.size)]
    if column.taxonomy is not None:
        tree = Hierarchy.of(column)
        nodes = [tree.nodes[child] for child in tree.children[tree.fork(0)]]
        groups, names = [node.codes for node in nodes], [node.name for node in nodes]
    middle = (len(groups) - missing + 1) // 2
    if column.numeric and column.taxonomy is None:
        low, high = column.interval(0, middle), MISSING
        if middle < column.size - missing:
            high = column.interval(middle, column.size - missing) + f" or {MISSING}" * missing
    else:
        low, high = several(names[:middle]), several(names[middle:])
    high += "'" * (low == high)
    first = {code for codes in groups[:middle] for code in codes}
    return Hierarchy([(ANY, low if code in first else high) for code in range(column.size)])


def several(names: Sequence[str]) -> str:
    """Some values in a few words."""
    return ", ".join(names) if len(names) <= FEW else f"{names[0]}, {names[1]}, … {names[-1]}"
