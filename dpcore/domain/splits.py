"""What a tree can ask about one column: which child of a node a record goes to. All public.

Five kinds. `Groups` has a child per group of values: per value, or per child in the column's
taxonomy, whose own children can divide a node further down. `OneValue` sets one value apart from
all others. `CodeSplit` cuts an order of values or of public bins in two, `NumberSplit` a number
anywhere in its range. `Blocks` parts groups that were released. What a node may still be divided by
is its `range`, two numbers that tighten on the way down: a place in the taxonomy, the first code
(or group) and the one behind the last, or two ticks of a grid.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import MISSING, Column, unlike
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import ANY, Hierarchy, halves

MOST_CHILDREN = 6
GRID = 1 << 32
STEP = 1 << 14  # ticks between places of the grid that trees learn from; a node can count all 2^18 of these
ROUNDING = 3  # whole numbers; more than `at` is out by, up to the largest that a float holds


class Attribute(ABC):
    """One column as trees see it: a range, `start` at the root, that is cut in two, unless a kind says otherwise."""

    def __init__(self, column: Column, start: tuple[float, float]) -> None:
        self.column, self.start = column, start

    def fanout(self, low: Floats, high: Floats) -> Ints:
        """How many children each of some nodes would have; below 2 it cannot be divided."""
        return np.where(high - low >= 2, 2, 0)

    @abstractmethod
    def side(self, values: NDArray[Any], cuts: Floats, low: Floats) -> Ints:
        """The child of each record, shape (n,), by its code or tick, given the cut and the range of its node."""

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        """The range of some children, given those of their parents."""
        return np.where(child == 0, low, points), np.where(child == 0, points, high)

    def settled(self, points: Floats) -> Floats:
        """Cuts as they are released: the same one for all that part what trees learn from alike."""
        return points

    @abstractmethod
    def text(self, low: float, cut: float, child: int) -> str:
        """One child in words."""


class Groups(Attribute):
    """A child per group of codes in a tree of them."""

    def __init__(self, column: Column, tree: Hierarchy) -> None:
        super().__init__(column, (0.0, 0.0))
        indices = len(tree.nodes)
        self.names = [node.name for node in tree.nodes]
        self.children = [[tree.fork(child) for child in tree.children[tree.fork(index)]] for index in range(indices)]
        self.fans = np.array([len(found) for found in self.children], dtype=np.intp)
        self.below = np.full((indices, max(int(self.fans.max()), 1)), -1, dtype=np.intp)
        self.child_of = np.full((indices, tree.size), -1, dtype=np.intp)
        for index, found in enumerate(self.children):
            self.below[index, : len(found)] = found
            for i, child in enumerate(found):
                self.child_of[index, list(tree.nodes[child].codes)] = i

    def fanout(self, low: Floats, high: Floats) -> Ints:
        return np.asarray(self.fans[low.astype(np.intp)])

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        return np.asarray(self.child_of[low.astype(np.intp), values])

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        return self.below[low.astype(np.intp), child].astype(float), high

    def text(self, low: float, cut: float, child: int) -> str:
        return self.names[self.children[int(low)][child]]


class OneValue(Attribute):
    """One code goes left, all others right. The range is all codes, or the one that was set apart."""

    def __init__(self, column: Column) -> None:
        super().__init__(column, (0.0, float(column.size)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        return np.asarray(values != points, dtype=np.intp)

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        return np.where(child == 0, points, low), np.where(child == 0, points + 1, high)

    def text(self, low: float, cut: float, child: int) -> str:
        return f"{'not ' if child else ''}{self.column.labels[int(cut)]}"


class CodeSplit(Attribute):
    """Codes below the cut go left, the others and "missing" right."""

    def __init__(self, column: Column) -> None:
        super().__init__(column, (0.0, float(column.size - column.missing)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        return (values >= points).astype(np.intp)

    def text(self, low: float, cut: float, child: int) -> str:
        if self.column.numeric:
            return f"{'≥' if child else '<'} {self.column.format_value(self.column.edges[int(cut)])}"
        return f"{self.column.labels[int(cut)]} or above" if child else f"below {self.column.labels[int(cut)]}"


class NumberSplit(Attribute):
    """Numbers up to the cut go left, larger and missing ones right.

    Numbers are told apart by a fine public grid: `ticks` sends each to one of 0 to `GRID`, in their
    order, and what is chosen and released is a tick. So the candidates are the same whatever the
    data are, to the last bit. The grid is even over the range (`by_length`: every length of it
    weighs the same before the data are asked), or even over the public bins, so that a range with a
    long empty end does not draw the cuts there. Trees learn from numbers that are moved up to every
    `STEP`-th tick, whatever the data are, so that few of a column differ, however many there are.
    Cuts are moved down to such a tick: it parts those numbers as the cut does, and unmoved ones
    likewise.
    """

    def __init__(self, column: Column, *, by_length: bool = False) -> None:
        super().__init__(column, (-1.0, float(GRID)))  # records lie above the first tick, up to the second
        low, high = float(column.lower or 0.0), float(column.upper or 0.0)
        self._edges = np.array([low, high]) if by_length else np.unique(np.minimum(column.edges, high))
        self._ticks = np.linspace(0.0, GRID, len(self._edges))

    def ticks(self, numbers: Floats) -> Floats:
        """The grid's places of numbers, which are moved into their bounds; NaN stays."""
        with np.errstate(over="ignore"):  # a bin can be too narrow for the slope to fit in a float
            found = np.minimum(np.ceil(np.interp(numbers, self._edges, self._ticks)), GRID)
        return np.where(np.isnan(numbers), np.nan, found)

    def steps(self, numbers: Floats) -> Floats:
        """Where trees learn from numbers: the next step at or above their ticks."""
        return np.asarray(np.ceil(self.ticks(numbers) / STEP) * STEP)

    def settled(self, points: Floats) -> Floats:
        return np.asarray(np.maximum(np.floor(points / STEP) * STEP, self.start[0]))

    def at(self, ticks: Floats) -> Floats:
        """The numbers of some places, for people."""
        return np.asarray(np.interp(ticks, self._ticks, self._edges), dtype=float)

    def fanout(self, low: Floats, high: Floats) -> Ints:
        """See `Attribute.fanout`. Whole numbers need two of them."""
        found = super().fanout(low, high)
        if self.column.whole:
            first = np.where(low < 0, self._edges[0], self._whole(low) + 1)
            found[self._whole(high) <= first] = 0
        return found

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        return (~(values <= points)).astype(np.intp)  # NaN goes right

    def text(self, low: float, cut: float, child: int) -> str:
        tick = np.array([cut])
        at = self._whole(tick) if self.column.whole else self.at(tick)
        return f"{'>' if child else '≤'} {self.column.format_value(float(at[0]))}"

    def _whole(self, ticks: Floats) -> Floats:
        """The largest whole number that goes left at a cut; the lowest of all if none does."""
        found = np.minimum(np.ceil(self.at(ticks)) + ROUNDING, self._edges[-1])
        for _ in range(2 * ROUNDING + 1):
            found = np.where(self.ticks(found) > ticks, found - 1, found)
        return np.asarray(np.maximum(found, self._edges[0]), dtype=float)


class Blocks(Attribute):
    """Groups of codes in two: those of numbers below the cut go left, those of categories but for the one at it.

    `blocks` has every code's group. Of two groups the first goes left; "missing" is the last of
    numbers.
    """

    def __init__(self, column: Column, blocks: Ints) -> None:
        self.blocks, self.many = blocks, int(blocks.max()) + 1
        self.ordered = column.numeric or self.many == 2
        super().__init__(column, (0.0, float(self.many)))

    def side(self, values: NDArray[Any], points: Floats, low: Floats) -> Ints:
        groups = self.blocks[values]
        return np.asarray(groups >= points if self.ordered else groups == points, dtype=np.intp)

    def ranges(self, low: Floats, high: Floats, points: Floats, child: Ints) -> tuple[Floats, Floats]:
        if self.ordered:
            return super().ranges(low, high, points, child)
        return np.where(child == 0, low, points), np.where(child == 0, high, points + 1)

    def left(self, cut: float) -> list[int]:
        """The groups that go left."""
        return [*range(int(cut))] if self.ordered else [group for group in range(self.many) if group != cut]

    def cut(self, left: Collection[int]) -> float:
        """The inverse of `left`; ValueError if no cut parts the groups in this way."""
        found = len(left) if self.ordered else min({*range(self.many)}.difference(left), default=-1)
        if self.left(found) != sorted(left):
            raise ValueError
        return float(found)

    def text(self, low: float, cut: float, child: int) -> str:
        left = self.left(cut)
        groups = [group for group in range(self.many) if group not in left] if child else left
        names = [self._named([group]) for group in groups]
        if self.column.numeric and MISSING not in names:
            return self._named(groups)
        return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1:,} more of {self.many:,}"

    def _named(self, groups: list[int]) -> str:
        """Some groups of numbers, or one of categories, as it is called where it is released."""
        codes = np.flatnonzero(np.isin(self.blocks, groups)).tolist()
        if self.column.numeric:
            missing = codes[-1] == self.column.size - self.column.missing
            return MISSING if missing else self.column.interval(codes[0], codes[-1] + 1)
        return {node.codes: node.name for node in Hierarchy.of(self.column).nodes}.get(tuple(codes), "")


def attributes_of(schema: Schema, target: str, *, cuts: str, children: str) -> dict[int, Attribute]:
    """What trees may ask of a schema's columns, by position.

    With the `cuts` "numbers", these are cut anywhere, and every public bin weighs the same; with
    "lengths" anywhere, and lengths weigh; with "bins" between public bins; with "values" they have
    a child per bin. With the `children` "grouped", categories fall apart into few groups (the two
    sides of a cut in their order, the groups of their taxonomy, or, if there are more than
    `MOST_CHILDREN`, one value and the rest), with "values" into single values, with "one_vs_rest"
    into one value and the rest. With "halves" every column, the bins of numbers too, falls into two
    halves, once (`taxonomy_tree.halves`).
    """
    found: dict[int, Attribute] = {}
    for position, column in enumerate(schema):
        if column.name == target:
            continue
        if children == "halves":
            found[position] = Groups(column, halves(column))
        elif column.numeric and cuts != "values":
            found[position] = CodeSplit(column) if cuts == "bins" else NumberSplit(column, by_length=cuts == "lengths")
        elif children == "one_vs_rest" and not column.numeric:
            found[position] = OneValue(column)
        elif children == "values" or column.numeric:
            found[position] = Groups(column, flat(column))
        elif column.kind == "ordered":
            found[position] = CodeSplit(column)
        elif column.taxonomy is not None:
            found[position] = Groups(column, Hierarchy.of(column))
        else:
            found[position] = OneValue(column) if column.size > MOST_CHILDREN else Groups(column, flat(column))
    return found


def flat(column: Column) -> Hierarchy:
    """Every value a child of the root."""
    root = unlike(ANY, column.labels)
    return Hierarchy([(root, label) for label in column.labels])


def ticks_of(frame: pd.DataFrame, attributes: Mapping[int, Attribute]) -> dict[int, Floats]:
    """The ticks of a frame's cells; NaN if missing. Cells are moved, or refused, as `Schema.encode` does it."""
    points = {position: one for position, one in attributes.items() if isinstance(one, NumberSplit)}
    return {position: one.ticks(one.column.numbers(frame[one.column.name])) for position, one in points.items()}
