"""Number scales of columns: reading and writing of cells; making, naming and sampling of bins.

There are three: `Reals` are continuous, or as fine as their number format; `Wholes` are the
integers `lower..upper`, divided as the interval [lower, upper + 1); `Days` are whole numbers
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
from dpcore.domain.cells import MOST_DECIMALS, NumberFormat, as_numbers
from dpcore.text import as_text, distinct_texts, short

MAX_BINS = 10_000
MOST_ROUND = 20  # bins that rounding outward makes
MOST_EXACT = 2**53  # floats below hold every whole number
Bins = int | tuple[float, ...] | str
Fail = Callable[[str, str], NoReturn]


class Reals:
    """Scale of continuous numbers between two inclusive bounds, `low` and `high`.

    `bins` is the number of bins, or the cut points between the bounds; `form` an example of the
    number format, and `step` the distance of values, if any. A bin contains its left edge; the last
    bin also contains its right edge.
    """

    whole = False
    rounding: Any = np.rint  # of numbers between two ticks
    words, between = "are not numbers", " to "
    units: tuple[str, ...] = ()  # names of calendar units that `bins` may have
    plain: Any = staticmethod(as_text)  # text of a bound or cut point

    def __init__(self, low: float, high: float, bins: Bins, form: str, step: Any = None) -> None:
        self.low, self.high, self.bins, self.form, self.step = low, high, bins, form, step
        self.written = NumberFormat.from_example(form) if form else None
        self.steps_per_unit = self.written.steps_per_unit if self.written else 1.0
        self.any = not self.whole and self.written is None and step is None  # any number may occur

    def check(self, fail: Fail) -> None:
        """Call `fail` if the declaration of a numeric column is not usable.

        `fail` raises an error with a cause and a remedy.
        """
        if self.form and self.written is None:
            fail("its number_format is unknown.", "Write 1234.5 in that format: 1234.50, or $1,234.50.")
        step = self.step
        number = is_number(step) and 0 < step < math.inf and not (self.whole and step % 1)
        if step is not None and not (number and self._from_ticks(1.0) == step):
            fail("its step is not positive, or finer than its decimals.", "Use a step such as 5.")
        self._check_bounds(fail)
        if isinstance(self.bins, tuple):
            if len(self.bins) >= MAX_BINS:
                fail("it has too many cut points.", f"Give fewer than {MAX_BINS:,}.")
            if not all(a < b for a, b in pairwise([self.low, *self.bins, self.end])):
                fail("the cut points do not ascend strictly inside the bounds.", "Sort them.")
            self._check_fine("cut points", self.bins, fail)
        elif self.bins not in self.units and (type(self.bins) is not int or not 1 <= self.bins <= MAX_BINS):
            fail("the number of bins is out of range.", f"Choose a whole number from 1 to {MAX_BINS:,}.")

    def _check_bounds(self, fail: Fail) -> None:
        """Call `fail` if the bounds do not ascend, or are too large or too fine for the format."""
        if self.low >= self.high + self.whole:
            fail("the lower bound is not below the upper bound.", "Check the two bounds.")
        if self.written and max(abs(self.low), abs(self.high)) * self.steps_per_unit >= MOST_EXACT:
            fail("its bounds are too large for its decimals.", "Use a number_format with fewer decimals.")
        self._check_fine("bounds", (self.low, self.high), fail)

    def _check_fine(self, what: str, numbers: tuple[float, ...], fail: Fail) -> None:
        """Call `fail` if one of the numbers is not a multiple of the column's step or last decimal.

        `what` names the numbers in the error's text.
        """
        if self.whole and any(number != math.floor(number) for number in numbers):
            cause = f"an integer column has fractional {what}."
            fail(cause, "Use whole numbers or the type continuous.")
        if not self.any and any(self._from_ticks(self._to_ticks(n)) != n for n in numbers):
            fail("a bound or cut point is finer than its step or decimals.", "Round that number.")

    def _to_ticks(self, number: Any) -> Any:
        """Return numbers in units of the column's step or last decimal, rounded to whole units."""
        return self.rounding(number / self.step if self.step else number * self.steps_per_unit)

    def _from_ticks(self, tick: Any) -> Any:
        """Return the numbers at whole multiples of the column's step or last decimal."""
        if self.step:
            decimals = 0 if self.whole else self.written.decimals if self.written else MOST_DECIMALS
            return np.round(tick * self.step, decimals)
        return tick / self.steps_per_unit

    @property
    def end(self) -> float:
        """Right edge of the numeric column's last bin."""
        return self.high

    def round_outward(self) -> tuple[float, float, Bins]:
        """Return a numeric column's bounds rounded outward to a round bin width, and its bins.

        The width is 1, 2 or 5 times a power of ten, the smallest that makes at most `MOST_ROUND`
        bins; at most one bin at each end can be empty. Bounds are never rounded across 0. Whole
        numbers of a small range, and ends such as 1 or 100, stay as they are.
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
        """Boundaries of a numeric column's bins, shape (bins + 1,)."""
        if isinstance(self.bins, tuple):
            return np.array([self.low, *self.bins, self.end], dtype=float)
        count = int(self.bins)
        if self.any:
            return np.linspace(self.low, self.end, count + 1)
        first, last = self._to_ticks(self.low), self._to_ticks(self.end)
        ends = np.linspace(first, last, min(count, int(last - first)) + 1)
        if not self.whole or self.step:
            ends = self.rounding(ends)
        return np.asarray(self._from_ticks(ends), dtype=float)

    @property
    def is_plain(self) -> bool:
        """Whether cells are plain numbers, without currency signs or thousands marks."""
        return self.written is None or self.written.is_plain

    @cached_property
    def count(self) -> int:
        """Number of bins of a numeric column."""
        return len(self.edges) - 1

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        """Texts of the lower ends of a numeric column's bins, and texts of their upper ends."""
        edges = self.edges.tolist()
        texts = distinct_texts(edges) if self.written is None else [self.written.write(edge) for edge in edges]
        return texts[:-1], texts[1:]

    def interval(self, first: int, end: int) -> str:
        """Return the bins `first` to `end - 1` of a numeric column as the text of one interval."""
        low, high = self.ends[0][first], self.ends[1][end - 1]
        return low if low == high and self.whole else f"{low}{self.between}{high}"

    @property
    def text(self) -> str:
        """Bounds, bins and step of a numeric column as text for readers."""
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
        """Return a number in the column's number format; without a format, as short text."""
        return short(number) if self.written is None else self.written.write(number)

    describe = write  # for readers

    def read(self, values: pd.Series[Any]) -> Floats:
        """Return the cells as numbers, shape (n,); NaN where a cell is missing or not a number."""
        return as_numbers(values) if self.written is None else self.written.numbers(values)

    def draw(self, bins: Ints, rng: np.random.Generator) -> Floats:
        """Return a number from each given bin of a numeric column, drawn uniformly, shape (n,)."""
        edges = self.edges
        low, high = edges[bins], edges[bins + 1]
        if self.any:
            numbers = low + (high - low) * rng.random(len(bins))
            return np.minimum(numbers, np.nextafter(high, low))  # rounding may reach the next bin
        first, last = self._to_ticks(low), self._to_ticks(high)
        if not self.whole:  # the upper bound is in the last bin, too
            last = last + (bins == len(edges) - 2)
        drawn = first + np.floor((last - first) * rng.random(len(bins))).clip(max=last - first - 1)
        return np.asarray(self._from_ticks(drawn), dtype=float)

    def cells(self, numbers: Any) -> pd.Series[Any]:
        """Return numbers as cells of a column: as text, or as numbers if the format is plain."""
        if self.is_plain:
            return pd.Series(numbers)
        different, inverse = np.unique(numbers, return_inverse=True)
        return pd.Series(np.array([*map(self.write, different.tolist())], dtype=object)[inverse], dtype="str")


class Wholes(Reals):
    """Scale of integers; bins cover [lower, upper + 1)."""

    whole, between = True, "–"
    rounding = np.ceil

    def _check_bounds(self, fail: Fail) -> None:
        """Call `fail` if integers have decimals or are too large; else check like `Reals`."""
        if self.written is not None and self.written.decimals:
            fail("an integer column has a number_format with decimals.", "Write 1234, or use continuous.")
        if max(abs(self.low), abs(self.high)) >= MOST_EXACT:
            fail("its bounds are too large to count in whole numbers.", "Use the type continuous.")
        super()._check_bounds(fail)

    @property
    def end(self) -> float:
        """Right edge of an integer column's last bin: one step above the upper bound."""
        return self.high + (self.step or 1)

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        """Texts of the lowest integers of the bins, and texts of the highest integers."""
        whole = np.ceil(self.edges).astype(int)
        tell = str if self.written is None else self.written.write
        last = whole[1:] - int(self.step or 1)
        return [*map(tell, whole[:-1].tolist())], [*map(tell, last.tolist())]

    def cells(self, numbers: Any) -> pd.Series[Any]:
        """Return numbers as cells: integers in a plain format, else text in the number format."""
        return super().cells(numbers.astype(np.int64))


class Days(Wholes):
    """Scale of dates, as days since 1970-01-01, from `low` to `high`.

    `bins` may be a calendar unit, such as "month". `form` is the date format, such as "d/m/y", and
    `step` the calendar unit on whose first days all values lie, if any.
    """

    words, between, is_plain, units = "are not dates", " to ", False, dates.UNITS
    plain = staticmethod(dates.iso)

    def __init__(self, low: float, high: float, bins: Bins, form: str, step: Any = None) -> None:
        super().__init__(low, high, bins, "")
        self.order, self.unit = form, step

    def check(self, fail: Fail) -> None:
        """Call `fail` if a date column's format, bins, bounds or step are not usable.

        `fail` raises an error with a cause and a remedy.
        """
        if self.order not in dates.DATE_FORMS:
            fail("its number_format is unknown.", "Write d/m/y, m/d/y, d.m.y, ymd, d-mon-y or the like.")
        if isinstance(self.bins, str) and self.bins not in self.units:
            fail("its bins are no calendar unit.", f"Choose one of {', '.join(dates.UNITS)}.")
        if self.bins == "day" and self.high - self.low >= MAX_BINS:
            fail("it has too many days.", "Use bins of a week, month, quarter or year.")
        if self.low == self.high:
            fail("the lower bound is not below the upper bound.", "Check the two dates.")
        super().check(fail)
        if self.unit is not None and self.unit not in dates.UNITS[1:]:
            fail("its step is no calendar unit.", f"Choose one of {', '.join(dates.UNITS[1:])}.")
        if self.unit is not None and not np.diff(self._unit_starts[1]).all():
            fail(f"a bin has no first day of a {self.unit}.", f"Use bins of a {self.unit} or longer.")

    @cached_property
    def _unit_starts(self) -> tuple[Floats, Ints]:
        """First days of the calendar unit `step`, and how many of them are before each bin edge."""
        days = dates.unit_starts(self.low - 1, self.high, self.unit)
        return days, np.searchsorted(days, self.edges)

    @property
    def text(self) -> str:
        """Bounds, bins and step of a date column as text for readers, with ISO dates."""
        return super().text + (f", first of {self.unit}" if self.unit else "")

    def round_outward(self) -> tuple[float, float, Bins]:
        """Return a date column's bounds rounded outward to whole calendar units, and that unit."""
        unit = dates.default_unit(self.low, self.high, self.unit)
        after = dates.unit_starts(self.low, self.high + 400, unit)
        return dates.unit_start(self.low, unit), float(after[after > self.high][0]) - 1, unit

    @cached_property
    def edges(self) -> Floats:
        """First day of each bin of a date column, and the day after the last, shape (bins + 1,)."""
        if isinstance(self.bins, str):
            return np.array([self.low, *dates.unit_starts(self.low, self.high, self.bins), self.end])
        return np.ceil(super().edges)

    @cached_property
    def ends(self) -> tuple[list[str], list[str]]:
        """Names of the calendar units in which a date column's bins begin, and in which end."""
        edges, unit = self.edges.tolist(), self.bins if isinstance(self.bins, str) else "day"
        return [dates.unit_name(day, unit) for day in edges[:-1]], [dates.unit_name(day - 1, unit) for day in edges[1:]]

    def describe(self, number: float) -> str:
        """Return a day, counted from 1970-01-01, as ISO text for readers."""
        return dates.iso(number)

    def read(self, values: pd.Series[Any]) -> Floats:
        """Return cells as days since 1970-01-01, shape (n,); NaN where missing or not a date."""
        return dates.as_days(values, self.order)

    def draw(self, bins: Ints, rng: np.random.Generator) -> Floats:
        """Return a day from each given bin of a date column, drawn uniformly, shape (n,).

        With a step, such as "month", only first days of that unit are drawn.
        """
        if self.unit is None:
            return super().draw(bins, rng)
        days, before = self._unit_starts
        return np.asarray(days[rng.integers(before[bins], before[bins + 1])], dtype=float)

    def write(self, number: float) -> str:
        """Return a day, counted from 1970-01-01, as text in the column's date format."""
        return dates.format_day(number, self.order)


def evenly_spaced(low: float, high: float, width: float) -> tuple[float, ...]:
    """Return the points `low + width`, `low + 2 width` and so on that lie below `high`."""
    many = np.arange(1, min((high - low) / width + 1, MAX_BINS))
    return tuple(point for point in (low + width * many).tolist() if low < point < high)


SCALES = {"continuous": Reals, "integer": Wholes, "date": Days}
