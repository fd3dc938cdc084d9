"""Spread of a numeric column: marks of missing numbers, outliers, few levels, many small numbers.

This reads all private rows, as recognition does. The result is a private proposal for the person
who owns the rows.
"""

import math
import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.domain.column import DEFAULT_BINS, Kind
from dpcore.domain.dates import UNITS, default_unit, iso, unit_start
from dpcore.domain.scales import MOST_ROUND, Bins
from dpcore.language import phrase
from dpcore.text import as_text, short

FEWEST = 5  # least rows of a mark, or days of a step: one may be a mistake, several are a rule
MARK = re.compile("-?[789]{2,}([.][09]+)?|-[1789]|0")
MOST_MARKS = 3
NO_DAY = re.compile("(0001|1[789]00|9999)-01-01|1753-01-01|1899-12-3.|1970-01-01|(1[789]|2[0-9]|99)99-12-31|9999-09-09")
MANY_ROWS = 20  # a day is suspicious with this many times the rows of a usual day
FAR_FACTOR = 5  # outliers widen the range of other numbers at least by this factor
MOST_FAR, MOST_OF_NARROW = 0.002, 0.01  # largest share of outliers; if numbers fill no decades
DECADES = 20  # numbers fill decades if the 95% quantile is this many times the 5% quantile
MOST_LEVELS, ROWS_PER_LEVEL = 12, 30
BY_CHANCE = np.log(10_000)  # log odds against a common divisor by chance
ZEROS = 0.05  # share of rows from which on 0 has a bin of its own
GAP = 0.2  # of the range of other numbers; its inverse is a multiple of their usual gap
SMALL = 0.5  # share of rows in the first of equal bins, from which on bins grow
CLOCK = phrase("If these numbers are times of day, such as 1345, released ones may have 60 minutes or more.")
CALENDAR, MOST_MONTHS = (185001, 210012), 80_00  # year and month; a range of at most 80 years
BinEnds = tuple[float, ...]
Span = tuple[float, float] | None


@dataclass(frozen=True)
class NumberSpread:
    """Range of a numeric column without outliers, its step and bins, and remarks for a person.

    `marks` are the numbers that stand for a missing value. `levels` are the numbers as texts, if
    they are few levels. `bin_ends` are ends of bins, if the default bins do not suit. `outliers`
    says whether numbers lie outside `low` to `high`. `step` is a number that divides all numbers,
    or a unit of the calendar.
    """

    low: float
    high: float
    marks: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    bin_ends: BinEnds = ()
    outliers: bool = False
    step: float | str | None = None
    remarks: tuple[str, ...] = ()

    def fields(self, kind: Kind, form: str) -> dict[str, Any]:
        """Return the arguments of `Column` for these numbers; empty if there is only one number.

        `kind` is the column's kind, and `form` says how its numbers are written.
        """
        if self.levels:
            return {"kind": "ordered", "categories": self.levels}
        if self.low == self.high:
            return {}
        low, high = self.low, self.high
        bins: Bins = default_unit(low, high, self.step) if kind == "date" else DEFAULT_BINS
        if self.bin_ends:
            (low, *_, high), bins = self.bin_ends, self.bin_ends[1:-1]
            high -= float(self.step or 1) if kind == "integer" and high > self.high else 0
        grid = {"number_format": form, "step": self.step, "missing_values": self.marks}
        return {"kind": kind, "lower": low, "upper": high, "bins": bins, **grid}


def number_spread(values: Floats, counts: Ints, within: Span, whole: bool, per_unit: float) -> NumberSpread:
    """Describe how the numbers of a column spread: range, step, bins or levels, and remarks.

    `values` are the distinct numbers in ascending order, and `counts` the rows of each. `within`
    are commonly known limits. `whole` says whether all are whole numbers. `per_unit` says how many
    different numbers can be written per length of 1 (100 with two decimals), 0 for any.
    """
    if whole and (months := months_of(values)):
        remark = "The numbers are read as years and months."
        return NumberSpread(values[0], values[-1], levels=months, remarks=(remark,))
    numbers, counts, found = trim_numbers(values, counts, within)
    if whole and look_like_clock_times(numbers):
        found = replace(found, remarks=(*found.remarks, CLOCK))
    if levels := levels_of(numbers, counts, whole=whole):
        return replace(found, levels=levels)
    zeros = int(counts[numbers == 0].sum())
    many_zeros = zeros >= ZEROS * counts.sum() and numbers[0] == 0
    step, ends = step_of(numbers, per_unit, growing_bins(numbers, counts, many_zeros, whole=whole))
    if many_zeros and ends:
        step = step or (None if per_unit else ends[1] / 1000)
        unit = step or 1 / per_unit
        ends = (0.0, unit, *ends[1:]) if unit < ends[1] else ends
    elif many_zeros and within is None and (not whole or numbers[-1] > 3 * MOST_ROUND):
        remark = f"0 ({zeros:,}×): {phrase('zeros may become small numbers in a release.')}"
        found = replace(found, remarks=(*found.remarks, remark))
    return replace(found, step=step, bin_ends=ends)


def trim_numbers(
    numbers: Floats, counts: Ints, within: Span = None, *, days: bool = False
) -> tuple[Floats, Ints, NumberSpread]:
    """Remove marks of missing numbers and outliers; return numbers (or days), rows of each, spread.

    `numbers` are distinct and ascending, and `counts` has the rows of each. `within` are commonly
    known limits, if there are any. `days` says whether the numbers are days since 1970-01-01.
    """
    remarks, marks, write = list[str](), list[float](), iso if days else short
    for index in (-1, 0):
        n_marks = next((k for k in range(MOST_MARKS, 0, -1) if are_marks(numbers, counts, index, k, days=days)), 0)
        for _ in range(n_marks):
            seen = f"{write(numbers[index])} ({counts[index]:,}×)"
            remarks.append(f"{seen}: {phrase('these values count as missing.')}")
            marks.append(float(numbers[index]))
            numbers, counts = np.delete(numbers, index), np.delete(counts, index)
    if not days and is_zero_separate(numbers, counts):
        ask = phrase("if 0 means a missing value, declare it as missing.")
        remarks.append(f"0 ({counts[0]:,}×): {ask}")
    first, last = range_within(numbers, counts, within) or usual_range(numbers, counts)
    far = int(counts[:first].sum() + counts[last:].sum())
    if far:
        end = write(numbers[0 if first else -1])
        lie = phrase("numbers up to {end} ({n:,}×)").format(n=far, end=end)
        remarks.append(f"{lie}: {phrase('these outliers are clipped to the nearest bound.')}")
    numbers, counts = numbers[first:last], counts[first:last]
    more: dict[str, Any] = {"marks": tuple(marks), "outliers": far > 0, "remarks": tuple(remarks)}
    return numbers, counts, NumberSpread(float(numbers[0]), float(numbers[-1]), **more)


def step_of(numbers: Floats, per_unit: float, ends: BinEnds) -> tuple[float | None, BinEnds]:
    """Return the common divisor of numbers, and the ends of bins that are multiples of it.

    `ends` are proposed ends of bins. If the divisor may be chance, None and all of them are
    returned. `per_unit` is how many different numbers can be written per length of 1, 0 for any.
    """
    step = int(np.gcd.reduce(np.rint(np.abs(numbers) * per_unit).astype(np.int64))) / (per_unit or 1)
    kept = tuple(end for end in ends if step and end % step == 0)
    chance = step * per_unit <= 1 or (len(numbers) - 1) * np.log(step * per_unit) < BY_CHANCE
    return (None, ends) if chance or (kept[:1], kept[-1:]) != (ends[:1], ends[-1:]) else (step, kept)


def first_days(days: Floats) -> str | None:
    """Return the longest calendar unit ("month", ...) if every day is the first of one, or None."""
    units = UNITS[:0:-1] if len(days) >= FEWEST else ()
    return next((unit for unit in units if all(unit_start(day, unit) == day for day in days)), None)


def are_marks(numbers: Floats, counts: Ints, index: int, n_marks: int, *, days: bool) -> bool:
    """Return whether the first or last `n_marks` numbers or days stand for missing values.

    Examples are 999 and 1900-01-01. Each mark has several rows. It is further from the rest than
    half the range of the rest, or negative, or a day with very many rows. `index` is 0 for the
    first numbers and -1 for the last.
    """
    ends = slice(-n_marks, None) if index else slice(n_marks)
    marks, rest, others = numbers[ends], np.delete(numbers, ends), np.delete(counts, ends)
    if len(rest) < (FEWEST if days else 2) or counts[ends].min() < FEWEST:
        return False
    if not all(NO_DAY.fullmatch(iso(one)) if days else MARK.fullmatch(as_text(one)) for one in marks.tolist()):
        return False
    wide = 2 * np.abs(marks - rest[index]).min() > rest[-1] - rest[0]
    if days:
        return bool(wide or counts[ends].min() > MANY_ROWS * others.mean())
    return bool(wide or (index == 0 and marks.max() < 0 <= rest[0]))


def is_zero_separate(numbers: Floats, counts: Ints) -> bool:
    """Return whether 0 may mean a missing value: several rows have 0, and no number is near.

    `numbers` are distinct and ascending, and `counts` has the rows of each.
    """
    if len(numbers) <= MOST_LEVELS or numbers[0] != 0 or counts[0] < FEWEST:
        return False
    usual_gap, most = np.median(np.diff(numbers[1:])), numbers[int(0.95 * len(numbers))]
    return bool(numbers[1] > max(GAP * (most - numbers[1]), usual_gap / GAP))


def range_within(numbers: Floats, counts: Ints, within: Span) -> tuple[int, int] | None:
    """Return the start and stop index of numbers within limits; None if many lie outside.

    `within` are the limits. `numbers` are distinct and ascending, and `counts` has the rows of
    each.
    """
    if within is None:
        return None
    first, last = int(np.searchsorted(numbers, within[0])), int(np.searchsorted(numbers, within[1], side="right"))
    return (first, last) if counts[first:last].sum() >= (1 - MOST_OF_NARROW) * counts.sum() else None


def usual_range(numbers: Floats, counts: Ints) -> tuple[int, int]:
    """Return the start and stop index of numbers without the few outliers that widen the range.

    `numbers` are distinct and ascending, and `counts` has the rows of each.
    """
    first, last, rows = 0, len(numbers), counts.cumsum()
    most = max(1, int((MOST_FAR if fills_decades(numbers, counts) else MOST_OF_NARROW) * rows[-1]))
    while last - first > MOST_LEVELS:
        above = int(np.searchsorted(rows, rows[-1] - most))  # numbers above it may be outliers
        below = int(np.searchsorted(rows, most, side="right"))
        down = steps_to_narrow(numbers[above:last][::-1] - numbers[first])
        up = steps_to_narrow(numbers[last - 1] - numbers[first : below + 1])
        if not down and not up:
            break
        last, first = last - down, first + (0 if down else up)
    return first, last


def fills_decades(numbers: Floats, counts: Ints) -> bool:
    """Return whether positive numbers differ in order of magnitude, as amounts of money do.

    `numbers` are distinct and ascending, and `counts` has the rows of each.
    """
    above = numbers > 0
    rows = counts[above].cumsum()
    if not rows.size or numbers[0] < 0:
        return False
    small, large = numbers[above][np.searchsorted(rows, [0.05 * rows[-1], 0.95 * rows[-1]])]
    return bool(large >= DECADES * small)


def steps_to_narrow(ranges: Floats) -> int:
    """Return the index of the first range that is much narrower than the first one, or 0."""
    return int(np.argmax(ranges * FAR_FACTOR < ranges[0])) if len(ranges) else 0


def levels_of(numbers: Floats, counts: Ints, *, whole: bool) -> tuple[str, ...]:
    """Return all distinct numbers as texts if they are few levels with many rows each, else ().

    Whole numbers are not levels if they are more than half of the whole numbers in their range.
    """
    dense = whole and 2 * len(numbers) > numbers[-1] - numbers[0] + 1
    if dense or not 2 < len(numbers) <= MOST_LEVELS or counts.sum() < ROWS_PER_LEVEL * len(numbers):
        return ()
    return tuple(as_text(number) for number in numbers.tolist())


def growing_bins(numbers: Floats, counts: Ints, zeros: bool, *, whole: bool) -> BinEnds:
    """Return ends of bins that grow (0, 1, 2, 5, 10, ...) if most numbers are small or 0, else ().

    `numbers` are distinct, and `counts` has the rows of each. `zeros` says whether many rows have
    0, and `whole` whether all are whole numbers. Bins extend below 0 if numbers do.
    """
    order = np.argsort(np.abs(numbers), kind="stable")
    sizes, rows = np.abs(numbers)[order], counts[order]
    largest = float(sizes[-1])
    crowded = rows[sizes <= largest / 16].sum() > SMALL * rows.sum() and fills_decades(sizes, rows)
    if len(numbers) <= MOST_ROUND + whole or not (crowded or zeros):
        return ()
    sizes, rows = sizes[sizes > 0], rows[sizes > 0].cumsum()
    smallest = float(sizes[np.searchsorted(rows, rows[-1] / MOST_ROUND)])
    if not crowded and smallest > largest / MOST_ROUND:
        return ()  # apart from 0, numbers have the same magnitude
    power = int(np.floor(np.log10(max(smallest, 1.0 if whole else largest / 1e4))))
    tens = [Fraction(10) ** more for more in range(power, math.ceil(math.log10(largest)) + 1)]
    ends = [float(times * ten) for ten in tens for times in (1, 2, 5)]
    if whole and 1 in ends:
        ends.insert(2, 3.0)
    above, below = (ends[: bisect_left(ends, end) + 1] if end > 0 else [] for end in (numbers[-1], -numbers[0]))
    return (*(-end for end in reversed(below)), 0.0, *above)


def months_of(numbers: Floats) -> tuple[str, ...]:
    """Return all months of some years (201503, ...) if the numbers are months of several years."""
    first, last = numbers[[0, -1]].astype(int) if len(numbers) > 2 else (0, 0)
    months = numbers % 100
    inside = CALENDAR[0] <= first and last <= min(CALENDAR[1], first + MOST_MONTHS)
    if not inside or months.min() < 1 or not 10 <= months.max() <= 12:
        return ()
    return tuple(f"{year}{month:02}" for year in range(first // 100, last // 100 + 1) for month in range(1, 13))


def look_like_clock_times(numbers: Floats) -> bool:
    """Return whether numbers may be times of day without a colon, such as 1345."""
    return bool(numbers[0] >= 0 and 1_000 < numbers[-1] < 2_400 and len(numbers) > 100 and (numbers % 100 < 60).all())
