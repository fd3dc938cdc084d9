"""Private rows as trees see them: codes, classes, and the ranks of numbers. Private: for the door only."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.splits import GRID, STEP, Attribute
from dpcore.rows import HeldRows, Rows
from dpcore.rows.exact_counts import Block

STEPS = GRID // STEP + 1
CELL = 4  # keys that take as much memory as a cell while it is counted
DENSE = 1 << 21  # cells that are counted, and no keys sorted, where at least half as many keys come


class Records:
    """Columns, ranks and classes of all rows, wherever they are.

    Attributes are by the column's position; the rows' numbers are the steps of the columns that are
    cut anywhere (`NumberCut.steps`): `STEPS` different ones at most, however many rows there are. A
    number's rank is its place among those that occur; of NaN it is their number. Ranks of rows in
    memory are worked out once.
    """

    def __init__(self, rows: Rows, attributes: dict[int, Attribute], target: int, classes: int) -> None:
        self.rows, self.attributes, self.target, self.classes = rows, attributes, target, classes

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def occurring(self) -> dict[int, tuple[Floats, NDArray[np.int32]]]:
        """By column: its steps that occur, in order, and the rank of every step; the last is of NaN."""
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

    @cached_property
    def _held(self) -> HeldRows | None:
        """Rows in memory, with ranks in the place of numbers."""
        if not isinstance(self.rows, HeldRows):
            return None
        found: dict[int, Any] = {j: ranks[numbers_of(self.rows.numbers(j))] for j, (_, ranks) in self.occurring.items()}
        return HeldRows(self.rows.codes, self.rows.sizes, found)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are."""
        return self._held is not None

    def blocks(self, columns: list[int], numbers: list[int]) -> Iterator[Block]:
        """The codes of some columns, and what `ranks` makes ranks of, as `Rows.blocks`."""
        return (self._held or self.rows).blocks(columns, numbers)

    def ranks(self, position: int, values: NDArray[Any]) -> NDArray[Any]:
        """The ranks of what blocks have of a column's numbers."""
        if self._held is not None:
            return values
        return self.occurring[position][1][numbers_of(self.rows.made(position, values))]

    def rank_below(self, position: int, cuts: Floats) -> Floats:
        """The largest rank of a step at or below each cut, as cuts of ranks; -1 if there is none."""
        return np.asarray(np.searchsorted(self.occurring[position][0], cuts, side="right") - 1.0)


def numbers_of(steps: Floats) -> NDArray[np.int32]:
    """Which step of the grid each is; one behind the last where NaN."""
    return np.fmin(steps / STEP, STEPS).astype(np.int32)


class Pile:
    """How often each key comes, of those below `cells`, when `most` come in all.

    Kept are a count for each cell where these are few, and else the keys themselves, sorted at the
    end.
    """

    def __init__(self, cells: int, most: int) -> None:
        dense = CELL * cells <= most or cells <= min(2 * most, DENSE)
        self.kind = np.int32 if cells < 1 << 30 else np.int64
        self._counts = np.zeros(cells, dtype=np.uint32) if dense else None
        self._keys = np.empty(0 if self._counts is not None else most, self.kind)
        self._waiting: list[Ints] = []
        self._many = 0

    def add(self, keys: Ints) -> None:
        """Count some keys."""
        if self._counts is None:
            self._keys[self._many : self._many + len(keys)] = keys
            self._many += len(keys)
        else:
            self._waiting.append(keys)
            self._many += len(keys)
            if self._many > len(self._counts):  # so that cells are gone through a few times only
                self.end()

    def end(self) -> None:
        """After all keys have been added: before, nobody may ask."""
        if self._counts is None:
            self._keys = self._keys[: self._many]
            self._keys.sort()
        elif self._many:
            found = np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
            np.add(self._counts, found, out=self._counts, casting="unsafe")
            self._waiting, self._many = [], 0

    def between(self, first: int, end: int) -> tuple[Ints, NDArray[Any]]:
        """The keys from one to the one before another that came, less the first, and how often each did."""
        if self._counts is not None:
            part = self._counts[first:end]
            found = np.flatnonzero(part != 0)  # of truth values, in a third of the time
            return found, part[found]
        own = self._keys[slice(*np.searchsorted(self._keys, np.array([first, end], dtype=self._keys.dtype)))]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: len(own)])
        return own[starts].astype(np.int64) - first, np.diff(starts, append=len(own))
