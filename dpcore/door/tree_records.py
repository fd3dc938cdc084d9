"""Private rows as trees see them: codes, classes, and the ticks of numbers. Private: for the door only."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.splits import GRID, STEP, Attribute
from dpcore.rows import HeldRows, Rows

STEPS = GRID // STEP + 1


class Records:
    """Columns, ticks and classes of all rows.

    Attributes are by the column's position; the rows' numbers are the steps of the columns that are cut anywhere
    (`NumberCut.steps`): `STEPS` different ones at most, however many rows there are.
    """

    def __init__(self, rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        self.rows, self.attributes, self.target, self.classes = rows, attributes, target, classes

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def occurring(self) -> dict[int, tuple[Floats, NDArray[np.int32]]]:
        """By column: its steps that occur, in order, and the place of every step among them; the last is of NaN."""
        positions = sorted(self.rows.numbered)
        there = np.zeros((len(positions), STEPS + 1), dtype=bool)
        for block in self.rows.blocks((), positions):
            for position, own, numbers in zip(positions, there, block, strict=True):
                own[numbers_of(self.rows.made(position, numbers))] = True
        there[:, -1] = False
        return {
            position: (
                np.flatnonzero(own).astype(float) * STEP,
                np.append(np.cumsum(own[:-1]) - 1, own.sum()).astype(np.int32),
            )
            for position, own in zip(positions, there, strict=True)
        }

    def ranks(self, position: int, steps: Floats) -> NDArray[np.int32]:
        """The places of some steps of a column among those that occur; their number, where NaN."""
        found: NDArray[np.int32] = self.occurring[position][1][numbers_of(steps)]
        return found


class HeldRecords(Records):
    """Those that are in memory, and what is worked out from them once."""

    rows: HeldRows

    def __init__(self, rows: HeldRows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        super().__init__(rows, attributes, target, classes)
        self.codes, self.labels = rows.codes, rows.codes[:, target]
        self._ranks: dict[int, NDArray[np.int32]] = {}
        self._orders: dict[int, NDArray[np.int32]] = {}

    def rank(self, position: int) -> NDArray[np.int32]:
        """Every row's place among the steps of a column."""
        if position not in self._ranks:
            self._ranks[position] = self.ranks(position, self.rows.numbers(position))
        return self._ranks[position]

    def order(self, position: int) -> NDArray[np.int32]:
        """All rows by a column's steps, missing ones at the end."""
        if position not in self._orders:
            self._orders[position] = by_radix(self.rank(position), len(self.occurring[position][0])).astype(np.int32)
        return self._orders[position]


def by_radix(numbers: NDArray[Any], most: int) -> Ints:
    """The places of whole numbers up to so many, in their order.

    NumPy sorts short integers by radix, in the time of a few passes.
    """
    order = np.argsort(numbers.astype(np.uint8 if most < 1 << 8 else np.uint16), kind="stable")
    return order if most < 1 << 16 else order[np.argsort((numbers >> 16).astype(np.uint16)[order], kind="stable")]


def numbers_of(steps: Floats) -> NDArray[np.int32]:
    """Which step of the grid each is; one behind the last where NaN."""
    return np.fmin(steps / STEP, STEPS).astype(np.int32)


def records_of(rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> Records:
    """The records of rows, wherever those are."""
    if isinstance(rows, HeldRows):
        return HeldRecords(rows, attributes, target, classes)
    return Records(rows, attributes, target, classes)
