"""What numbers a column holds: how its cells are read, its range is divided, and bins are named and drawn from.

Three kinds. `Reals` are continuous, or as fine as their form; `Wholes` are the integers
`lower..upper`, divided as the interval [lower, upper + 1); `Days` are whole numbers that are
written as dates, and may be divided by the calendar.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from dpcore.arguments import Floats, Ints, is_number
from dpcore.domain import dates
from dpcore.domain.cells import MOST_DECIMALS, Form, as_numbers
from dpcore.text import as_text, distinct_texts, short

MAX_BINS = 10_000
MOST_ROUND = 20  # bins of a round width
MOST_EXACT = 2**53  # from here on a float does not hold every whole number
Bins = int | tuple[float, ...] | str
Fail = Callable[[str, str], NoReturn]


class Reals:
    """Numbers between two bounds, both inclusive; a bin holds its left cut, and the last one its right one too."""

    whole = False
    rounding: Any = np.rint  # the place of what lies between two
    words, between = "are not numbers", " to "
    units: tuple[str, ...] = ()  # that bins may be
    plain: Any = staticmethod(as_text)  # how bounds and cuts are typed

    def __init__(self, low: float, high: float, bins: Bins, form: str, step: Any = None) -> None:
        self.low, self.high, self.bins, self.form, self.step = low, high, bins, form, step
        self.written = Form.of(form) if form else None
        self.steps = self.written.steps if self.written else 1.0
        self.any = not self.whole and self.written is None and step is None  # any number may occur

    def check(self, fail: Fail) -> None:
        """Call `fail` with a cause and a remedy if the declaration contradicts itself."""
        if self.form and self.written is None:
            fail("its number_format is not known.", "Write 1234.5 in that format: 1234.50, or $1,234.50.")
        step = self.step
        number = is_number(step) and 0 < step < math.inf and not (self.whole and step % 1)
        if step is not None and not (number and self._at(1.0) == step):
            fail("its step is not positive, or finer than its decimals.", "Write 5, or 1000.")
        self._check_bounds(fail)
        if isinstance(self.bins, tuple):
            if len(self.bins) >= MAX_BINS:
                fail("it has too many cut points.", f"Give fewer than {MAX_BINS:,}.")
            if not all(a < b for a, b in pairwise([self.low, *self.bins, self.end])):
                fail("the cut points do not increase strictly inside the bounds.", "List them in increasing order.")
            self._check_fine("cut points", self.bins, fail)
        elif self.bins not in self.units and (type(self.bins) is not int or not 1 <= self.bins <= MAX_BINS):
            fail("the number of bins is out of range.", f"Choose a whole number between 1 and {MAX_BINS:,}.")

    def _check_bounds(self, fail: Fail) -> None:
        if self.low >= self.high + self.whole:
            fail("the lower bound is not below the upper bound.", "Check the two bounds.")
        if self.written is not None and max(abs(self.low), abs(self.high)) * self.written.steps >= MOST_EXACT:
            fail("its bounds are too large for so many decimals.", "Write its numbers with fewer.")
        self._check_fine("bounds", (self.low, self.high), fail)

    def _check_fine(self, what: str, numbers: tuple[float, ...], fail: Fail) -> None:
        if self.whole and any(number != math.floor(number) for number in numbers):
            cause = f"an integer column has fractional {what}."
            fail(cause, "Use whole numbers or the type continuous.")
        if not self.any and any(self._at(self._tick(number)) != number for number in numbers):
            fail("a bound or cut point is finer than its numbers, by their step or their decimals.", "Round it.")

    def _tick(self, number: Any) -> Any:
        """The place of a number among those that may occur."""
        return self.rounding(number / self.step if self.step else number * self.steps)

    def _at(self, tick: Any) -> Any:
        if self.step:
            decimals = 0 if self.whole else self.written.decimals if self.written else MOST_DECIMALS
            return np.round(tick * self.step, decimals)
        return tick / self.steps

    @property
    def end(self) -> float:
        """The end of the last bin."""
        return self.high

    def outward(self) -> tuple[float, float, Bins]:
        """The bounds rounded outward to bins of one round width, of which at most one at each end can be empty.

        The width is 1, 2 or 5 times a power of ten, the smallest that makes at most `MOST_ROUND`
        bins: bounds are never rounded across 0, and whole numbers of a small range stay, as do ends
        such as 1 or 100.
        """
        unit = Fraction(str(self.step or 1))
        low, high = Fraction(str(self.low)) / unit, Fraction(str(self.high)) / unit
        start = int(self.whole and low == 1)
        finest = 0 if self.whole or self.step else -math.inf if self.written is None else -self.written.decimals
        power = max(finest, math.floor(math.log10((high - low) / MOST_ROUND)) if high > low else 0)
        tens = (Fraction(10) ** int(power + more) for more in count())
        for width, ten in ((k * ten, ten if k == 1 else 10 * ten) for ten in tens for k in (1, 2, 5)):
            stays = self.whole and width > 1 and not start and high % ten == 0
            first = math.floor((low - start) / width)
            last = math.ceil((high - start + (self.whole and not stays)) / width)
            if last - first <= MOST_ROUND + (self.whole and width == 1):
                break
        ends = first * width + start, last * width + start - (self.whole and not stays), width
        lower, upper, step = (float(end * unit) for end in ends)
        return lower, upper, evenly_spaced(lower, upper, step) if stays else max(last - first, 1)

    @cached_property
    def edges(self) -> Floats:
        """The bins' boundaries, shape (bins + 1,)."""
        if isinstance(self.bins, tuple):
            return np.array([self.low, *self.bins, self.end], dtype=float)
        count = int(self.bins)
        if self.any:
            return np.linspace(self.low, self.end, count + 1)
        first, last = self._tick(self.low), self._tick(self.end)
        ends = np.linspace(first, last, min(count, int(last - first)) + 1)
        if not self.whole or self.step:
            ends = self.rounding(ends)
        return np.asarray(self._at(ends), dtype=float)

    @property
    def bare(self) -> bool:
        """Whether its cells are numbers to everybody."""
        return self.written is None or self.written.bare

    @cached_property
    def count(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        """The texts of the bins' lower and upper ends."""
        edges = self.edges.tolist()
        texts = distinct_texts(edges) if self.written is None else [self.written.write(edge) for edge in edges]
        return texts[:-1], texts[1:]

    def interval(self, first: int, end: int) -> str:
        """Bins `first` to `end - 1` in words."""
        low, high = self.ends[0][first], self.ends[1][end - 1]
        return low if low == high and self.whole else f"{low}{self.between}{high}"

    @property
    def text(self) -> str:
        """The bounds, the bins and the step, as a person would write them."""
        bins = f"by {self.bins}" if isinstance(self.bins, str) else f"{self.count} bins"
        if isinstance(self.bins, tuple):
            bins = f"cut at {', '.join(map(self.plain, self.bins))}"
            if self.bins and self.bins == evenly_spaced(self.low, self.high, self.bins[0] - self.low):
                bins = f"every {as_text(self.bins[0] - self.low)}"
        elif self.whole and self.count == round((self.end - self.low) / (self.step or 1)):
            bins = "all values"
        step = "" if self.step is None else f", in steps of {as_text(self.step)}"
        return f"{self.plain(self.low)} to {self.plain(self.high)}, {bins}{step}"

    def write(self, number: float) -> str:
        """A number as it is written, or else short enough for a picture."""
        return short(number) if self.written is None else self.written.write(number)

    describe = write  # for people

    def read(self, values: pd.Series[Any]) -> Floats:
        """The cells' numbers, shape (n,); NaN where a cell is missing or no number."""
        return as_numbers(values) if self.written is None else self.written.numbers(values)

    def drawn(self, bins: Ints, rng: np.random.Generator) -> Floats:
        """A number out of each of some bins, uniformly, shape (n,)."""
        edges = self.edges
        low, high = edges[bins], edges[bins + 1]
        if self.any:
            numbers = low + (high - low) * rng.random(len(bins))
            return np.minimum(numbers, np.nextafter(high, low))  # rounding may reach the next bin
        first, last = self._tick(low), self._tick(high)
        if not self.whole:  # the upper bound is in the last bin, too
            last = last + (bins == len(edges) - 2)
        drawn = first + np.floor((last - first) * rng.random(len(bins))).clip(max=last - first - 1)
        return np.asarray(self._at(drawn), dtype=float)

    def cells(self, numbers: Any) -> pd.Series[Any]:
        """Numbers as cells: text, unless the form is one that everybody reads."""
        if self.bare:
            return pd.Series(numbers)
        different, inverse = np.unique(numbers, return_inverse=True)
        return pd.Series(np.array([*map(self.write, different.tolist())], dtype=object)[inverse], dtype="str")


class Wholes(Reals):
    """Whole numbers."""

    whole, between = True, "–"
    rounding = np.ceil

    def _check_bounds(self, fail: Fail) -> None:
        if self.written is not None and self.written.decimals:
            fail("an integer column is written with decimals.", "Write 1234, or use the type continuous.")
        if max(abs(self.low), abs(self.high)) >= MOST_EXACT:
            fail("its bounds are too large to count in whole numbers.", "Use the type continuous.")
        super()._check_bounds(fail)

    @property
    def end(self) -> float:
        return self.high + (self.step or 1)

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        whole = np.ceil(self.edges).astype(int)
        tell = str if self.written is None else self.written.write
        last = whole[1:] - int(self.step or 1)
        return [*map(tell, whole[:-1].tolist())], [*map(tell, last.tolist())]

    def cells(self, numbers: Any) -> pd.Series[Any]:
        return super().cells(numbers.astype(np.int64))


class Days(Wholes):
    """Dates, as days since 1970-01-01. `bins` may be a unit of the calendar."""

    words, between, bare, units = "are not dates", " to ", False, dates.UNITS
    plain = staticmethod(dates.iso)

    def __init__(self, low: float, high: float, bins: Bins, form: str, step: Any = None) -> None:
        super().__init__(low, high, bins, "")
        self.order, self.unit = form, step

    def check(self, fail: Fail) -> None:
        if self.order not in dates.DATE_FORMS:
            fail("its number_format is not known.", "Write d/m/y, m/d/y, d.m.y, ymd, d-mon-y or the like.")
        if isinstance(self.bins, str) and self.bins not in self.units:
            fail("its bins are not a unit of the calendar.", f"Choose one of {', '.join(dates.UNITS)}.")
        if self.bins == "day" and self.high - self.low >= MAX_BINS:
            fail("it has too many days.", "Use bins of a week, month, quarter or year.")
        if self.low == self.high:
            fail("the lower bound is not below the upper bound.", "Check the two dates.")
        super().check(fail)
        if self.unit is not None and self.unit not in dates.UNITS[1:]:
            fail("its step is not a unit of the calendar.", f"Choose one of {', '.join(dates.UNITS[1:])}.")
        if self.unit is not None and not np.diff(self._firsts[1]).all():
            fail(f"one of its bins holds no first day of a {self.unit}.", f"Use bins of a {self.unit} or longer.")

    @cached_property
    def _firsts(self) -> tuple[Floats, Ints]:
        """The first days of its unit, and how many of them lie before each edge."""
        days = dates.starts(self.low - 1, self.high, self.unit)
        return days, np.searchsorted(days, self.edges)

    @property
    def text(self) -> str:
        return super().text + (f", first of {self.unit}" if self.unit else "")

    def outward(self) -> tuple[float, float, Bins]:
        """The bounds rounded outward to whole units of the calendar, by which so many days are usually divided."""
        unit = dates.usual_unit(self.low, self.high, self.unit)
        after = dates.starts(self.low, self.high + 400, unit)
        return dates.start(self.low, unit), float(after[after > self.high][0]) - 1, unit

    @cached_property
    def edges(self) -> Floats:
        if isinstance(self.bins, str):
            return np.array([self.low, *dates.starts(self.low, self.high, self.bins), self.end])
        return np.ceil(super().edges)

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        edges, unit = self.edges.tolist(), self.bins if isinstance(self.bins, str) else "day"
        return [dates.unit_name(day, unit) for day in edges[:-1]], [dates.unit_name(day - 1, unit) for day in edges[1:]]

    def describe(self, number: float) -> str:
        return dates.iso(number)

    def read(self, values: pd.Series[Any]) -> Floats:
        return dates.as_days(values, self.order)

    def drawn(self, bins: Ints, rng: np.random.Generator) -> Floats:
        if self.unit is None:
            return super().drawn(bins, rng)
        days, before = self._firsts
        return np.asarray(days[rng.integers(before[bins], before[bins + 1])], dtype=float)

    def write(self, number: float) -> str:
        return dates.format_day(number, self.order)


def evenly_spaced(low: float, high: float, width: float) -> tuple[float, ...]:
    """Points between two bounds, each so far from the one before."""
    many = np.arange(1, min((high - low) / width + 1, MAX_BINS))
    return tuple(point for point in (low + width * many).tolist() if low < point < high)


SCALES = {"continuous": Reals, "integer": Wholes, "date": Days}
