"""Splits of tree nodes by one column: which child of a node a row goes to. All public.

There are five kinds. `Groups` has a child per group of values: per value, or per child in the
column's taxonomy, whose own children can split a node further down. `OneValue` separates one value
from all others. `CodeSplit` divides an order of values or of public bins in two, `NumberSplit` a
number anywhere in its range. `Blocks` divides groups of codes that were released.

The splits that are still open to a node are given by its range, two numbers that tighten on the way
down: a node of the taxonomy, the first code (or group) and the code after the last, or two ticks of
a grid.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import MISSING, Column, unique_label
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import ANY, Hierarchy, split_in_halves

MOST_CHILDREN = 6
GRID = 1 << 32
STEP = 1 << 14  # ticks between the values that trees learn from, of which there are 2^18
ROUNDING = 3  # integers; more than the error of `to_numbers`


class Attribute(ABC):
    """The splits of one column, for trees; each kind of split is a subclass.

    `start` is the column's range in the root node. Unless a subclass says otherwise, a split point
    divides a node's range in two.
    """

    def __init__(self, column: Column, start: tuple[float, float]) -> None:
        self.column, self.start = column, start

    def fanout(self, low: Floats, high: Floats) -> Ints:
        """Return how many children each tree node would get from a split by this column.

        `low` and `high` are the ends of the column's range in each node, shape (nodes,). A node
        whose number is below 2 cannot be split.
        """
        return np.where(high - low >= 2, 2, 0)

    @abstractmethod
    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the index of the child node that each row goes to, shape (n,).

        `values` are the rows' codes or ticks in this column. `points` and `low` are the split point
        and the lower end of the range in each row's node.
        """

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        """Return the ranges of child nodes in this column, as arrays of lower and of upper ends.

        Arguments have shape (n,): the range and split point of each child's parent node, and
        `child`, which is 0 for a left child and 1 for a right one.
        """
        return np.where(child == 0, low, points), np.where(child == 0, points, high)

    def snap_points(self, points: Floats) -> Floats:
        """Return split points rounded for release, so that equivalent ones become equal.

        Split points are equivalent if they divide the values that trees learn from in the same way.
        """
        return points

    @abstractmethod
    def text(self, low: float, point: float, child: int) -> str:
        """Return the condition of one child of a split in words, such as "< 30".

        `low` is the lower end of the node's range, `point` the split point.
        """


class Groups(Attribute):
    """Splits with one child per group of codes; `tree` is the hierarchy of groups.

    A tree node's range is one group, given as an index of the hierarchy.
    """

    def __init__(self, column: Column, tree: Hierarchy) -> None:
        super().__init__(column, (0.0, 0.0))
        n = len(tree.nodes)
        self.names = [node.name for node in tree.nodes]
        self.children = [[tree.branching_node(c) for c in tree.children[tree.branching_node(i)]] for i in range(n)]
        self.fans = np.array([len(found) for found in self.children], dtype=np.intp)
        self.below = np.full((n, max(int(self.fans.max()), 1)), -1, dtype=np.intp)
        self.child_of = np.full((n, tree.size), -1, dtype=np.intp)
        for index, found in enumerate(self.children):
            self.below[index, : len(found)] = found
            for i, child in enumerate(found):
                self.child_of[index, list(tree.nodes[child].codes)] = i

    def fanout(self, low: Floats, high: Floats) -> Ints:
        """Return how many child groups each tree node's group has, shape (nodes,).

        `low` has the group of each tree node, as an index of the hierarchy.
        """
        return np.asarray(self.fans[low.astype(np.intp)])

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the child group that each row's code is in, shape (n,).

        `low` has the group of each row's tree node, as an index of the hierarchy.
        """
        return np.asarray(self.child_of[low.astype(np.intp), values])

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        """Return the groups of child nodes, as indices of the hierarchy, and `high` unchanged."""
        return self.below[low.astype(np.intp), child].astype(float), high

    def text(self, low: float, point: float, child: int) -> str:
        """Return the name of the group of values that goes to a child."""
        return self.names[self.children[int(low)][child]]


class OneValue(Attribute):
    """Splits of one code (left) from all others (right).

    The range is all codes, or the one code that was separated.
    """

    def __init__(self, column: Column) -> None:
        super().__init__(column, (0.0, float(column.size)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the child of each row: 0 if it has the separated code, else 1, shape (n,).

        `points` has the code that each row's tree node separates.
        """
        return np.asarray(values != points, dtype=np.intp)

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        """Return the ranges of child nodes: the separated code alone, or the parent's range."""
        return np.where(child == 0, points, low), np.where(child == 0, points + 1, high)

    def text(self, low: float, point: float, child: int) -> str:
        """Return the condition of a child: the separated value's name, or "not" and that name."""
        return f"{'not ' if child else ''}{self.column.labels[int(point)]}"


class CodeSplit(Attribute):
    """Splits of codes below a split point (left) from the others and "missing" (right)."""

    def __init__(self, column: Column) -> None:
        super().__init__(column, (0.0, float(column.size - column.missing)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the child of each row: 0 (left) for codes below the split point, else 1.

        The result has the shape (n,).
        """
        return (values >= points).astype(np.intp)

    def text(self, low: float, point: float, child: int) -> str:
        """Return the condition of a child, such as "< 30", "≥ 30", "below B" or "B or above"."""
        if self.column.numeric:
            return f"{'≥' if child else '<'} {self.column.format_value(self.column.edges[int(point)])}"
        return f"{self.column.labels[int(point)]} or above" if child else f"below {self.column.labels[int(point)]}"


class NumberSplit(Attribute):
    """Splits of numbers up to a split point (left) from larger and missing ones (right).

    Numbers are compared on a fine public grid: `ticks` maps each to one of 0 to `GRID`, in their
    order. A tick is what is chosen and released, so the candidates do not depend on the data, to
    the last bit. The grid is even over the range (`by_length`: equal lengths have equal prior
    weight), or even over the public bins, so that a range with a long empty end does not attract
    split points.

    Trees learn from numbers that are rounded up to every `STEP`-th tick, whatever the data are. So
    a column has few distinct numbers, however many rows there are. Split points are rounded down to
    such a tick, which divides the rounded numbers, and the original numbers, in the same way.
    """

    def __init__(self, column: Column, *, by_length: bool = False) -> None:
        super().__init__(column, (-1.0, float(GRID)))  # ticks of rows are above the first, up to the second
        low, high = float(column.lower or 0.0), float(column.upper or 0.0)
        self._edges = np.array([low, high]) if by_length else np.unique(np.minimum(column.edges, high))
        self._ticks = np.linspace(0.0, GRID, len(self._edges))

    def ticks(self, numbers: Floats) -> Floats:
        """Return numbers as ticks of the column's public grid, clipped to its bounds.

        NaN stays NaN; the shape is that of `numbers`.
        """
        with np.errstate(over="ignore"):  # the slope of a narrow bin can overflow
            found = np.minimum(np.ceil(np.interp(numbers, self._edges, self._ticks)), GRID)
        return np.where(np.isnan(numbers), np.nan, found)

    def steps(self, numbers: Floats) -> Floats:
        """Return numbers as ticks of the public grid, rounded up to multiples of `STEP`.

        Trees learn from these values.
        """
        return np.asarray(np.ceil(self.ticks(numbers) / STEP) * STEP)

    def snap_points(self, points: Floats) -> Floats:
        """Return split points, as ticks of the public grid, rounded down to multiples of `STEP`."""
        return np.asarray(np.maximum(np.floor(points / STEP) * STEP, self.start[0]))

    def to_numbers(self, ticks: Floats) -> Floats:
        """Return the numbers at some ticks of the column's grid, for readers, shape (n,)."""
        return np.asarray(np.interp(ticks, self._ticks, self._edges), dtype=float)

    def fanout(self, low: Floats, high: Floats) -> Ints:
        """Return 2 for tree nodes that can be split by this column, else 0, shape (nodes,).

        A range of integers must contain two of them.
        """
        found = super().fanout(low, high)
        if self.column.whole:
            first = np.where(low < 0, self._edges[0], self._whole(low) + 1)
            found[self._whole(high) <= first] = 0
        return found

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the child of each row: 0 (left) for ticks up to the split point, else 1.

        Rows with a missing number (NaN) get 1. The result has the shape (n,).
        """
        return (~(values <= points)).astype(np.intp)  # NaN goes right

    def text(self, low: float, point: float, child: int) -> str:
        """Return the condition of a child, such as "≤ 30" or "> 30"."""
        tick = np.array([point])
        at = self._whole(tick) if self.column.whole else self.to_numbers(tick)
        return f"{'>' if child else '≤'} {self.column.format_value(float(at[0]))}"

    def _whole(self, ticks: Floats) -> Floats:
        """Return the largest integer at or below each split point, given as ticks of the grid.

        The result is the lowest integer of the column where none lies at or below.
        """
        found = np.minimum(np.ceil(self.to_numbers(ticks)) + ROUNDING, self._edges[-1])
        for _ in range(2 * ROUNDING + 1):
            found = np.where(self.ticks(found) > ticks, found - 1, found)
        return np.asarray(np.maximum(found, self._edges[0]), dtype=float)


class Blocks(Attribute):
    """Splits of released groups of codes in two.

    Groups of numbers below the split point go left. Of categories the group at the split point goes
    right and all others left; of two groups the first goes left. `blocks` has the group of each
    code; "missing" is the last group of numbers.
    """

    def __init__(self, column: Column, blocks: Ints) -> None:
        self.blocks, self.many = blocks, int(blocks.max()) + 1
        self.ordered = column.numeric or self.many == 2
        super().__init__(column, (0.0, float(self.many)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        """Return the child of each row: 0 if its released group goes left, else 1, shape (n,)."""
        groups = self.blocks[values]
        return np.asarray(groups >= points if self.ordered else groups == points, dtype=np.intp)

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        """Return the ranges of child nodes, as lower and upper indices of released groups."""
        if self.ordered:
            return super().ranges(low, high, points, child)
        return np.where(child == 0, low, points), np.where(child == 0, high, points + 1)

    def left_groups(self, point: float) -> list[int]:
        """Return the released groups that go left at a split point."""
        return [*range(int(point))] if self.ordered else [g for g in range(self.many) if g != point]

    def split_point(self, left: Collection[int]) -> float:
        """Return the split point at which exactly `left` go left; ValueError if there is none.

        `left` has released groups of the column's codes.
        """
        found = len(left) if self.ordered else min({*range(self.many)}.difference(left), default=-1)
        if self.left_groups(found) != sorted(left):
            raise ValueError
        return float(found)

    def text(self, low: float, point: float, child: int) -> str:
        """Return the names of the groups that go to a child, shortened to a few words."""
        left = self.left_groups(point)
        groups = [group for group in range(self.many) if group not in left] if child else left
        names = [self._named([group]) for group in groups]
        if self.column.numeric and MISSING not in names:
            return self._named(groups)
        return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1:,} more of {self.many:,}"

    def _named(self, groups: list[int]) -> str:
        """Return the name of neighboring groups of numbers, or of one group of categories.

        `groups` has the numbers of the groups.
        """
        codes = np.flatnonzero(np.isin(self.blocks, groups)).tolist()
        if self.column.numeric:
            missing = codes[-1] == self.column.size - self.column.missing
            return MISSING if missing else self.column.interval(codes[0], codes[-1] + 1)
        return {node.codes: node.name for node in Hierarchy.from_column(self.column).nodes}.get(tuple(codes), "")


def attributes_of(schema: Schema, target: str, *, cuts: str, children: str) -> dict[int, Attribute]:
    """Return the splits that trees may use of each column but the target, by column position.

    Parameters
    ----------
    cuts : {"numbers", "lengths", "bins", "values"}
        How numeric columns are split: anywhere, with equal weight per public bin; anywhere, with
        weight by length; between public bins; one child per bin.
    children : {"grouped", "values", "one_vs_rest", "halves"}
        How categories are split. "grouped" makes few children: two sides of an order, the groups of
        a taxonomy, or, with more than `MOST_CHILDREN` values, one value and the rest. "values"
        gives a child per value, "one_vs_rest" one value and the rest. "halves" divides every
        column, the bins of numbers too, into two halves, once (`split_in_halves`).
    """
    found: dict[int, Attribute] = {}
    for j, column in enumerate(schema):
        if column.name == target:
            continue
        if children == "halves":
            found[j] = Groups(column, split_in_halves(column))
        elif column.numeric and cuts != "values":
            found[j] = CodeSplit(column) if cuts == "bins" else NumberSplit(column, by_length=cuts == "lengths")
        elif children == "one_vs_rest" and not column.numeric:
            found[j] = OneValue(column)
        elif children == "values" or column.numeric:
            found[j] = Groups(column, flat_hierarchy(column))
        elif column.kind == "ordered":
            found[j] = CodeSplit(column)
        elif column.taxonomy is not None:
            found[j] = Groups(column, Hierarchy.from_column(column))
        else:
            found[j] = OneValue(column) if column.size > MOST_CHILDREN else Groups(column, flat_hierarchy(column))
    return found


def flat_hierarchy(column: Column) -> Hierarchy:
    """Return the hierarchy of one level: every value of the column is a child of the root."""
    root = unique_label(ANY, column.labels)
    return Hierarchy([(root, label) for label in column.labels])


def ticks_of_frame(frame: pd.DataFrame, attributes: Mapping[int, Attribute]) -> dict[int, Floats]:
    """Return, by column position, a frame's numbers as ticks for trees; NaN if missing.

    Only columns that are split anywhere are included. Numbers outside the declaration are clipped
    or refused as in `Schema.encode`.
    """
    splits = {j: one for j, one in attributes.items() if isinstance(one, NumberSplit)}
    return {j: one.ticks(one.column.numbers(frame[one.column.name])) for j, one in splits.items()}
