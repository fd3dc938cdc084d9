"""How the numbers of a column spread: marks for a missing one, a few far away, few levels, and small ones mostly.

It looks at all rows, as all that recognition does: what follows is a proposal for the screen of
whoever has them.
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

FEWEST = 5  # rows of a mark, or days of a step: one is a mistake, several are a rule
MARK = re.compile("-?[789]{2,}([.][09]+)?|-[1789]|0")
MOST_MARKS = 3
NO_DAY = re.compile("(0001|1[789]00|9999)-01-01|1753-01-01|1899-12-3.|1970-01-01|(1[789]|2[0-9]|99)99-12-31|9999-09-09")
OFTEN = 20  # times as many rows as a usual day has
FAR = 5  # times the range of all others
MOST_FAR, MOST_OF_NARROW = 0.002, 0.01  # share of rows that may be far; where the others fill no decades
DECADES = 20  # times as large as the 5th of 100 numbers is the 95th, where numbers fill decades
MOST_LEVELS, ROWS_PER_LEVEL = 12, 30
BY_CHANCE = np.log(10_000)  # to 1: odds against numbers that are all multiples of one by chance
ZEROS = 0.05  # share of rows from which on 0 has a bin of its own
SEPARATE = 0.2  # of the range of all others, and times as wide as others are apart
SMALL = 0.5  # share of rows in the first of equal bins, from which on bins grow
CLOCK = phrase("If these are times of day, such as 1345, what is released may have 60 minutes or more.")
CALENDAR, MOST_MONTHS = (185001, 210012), 80_00  # years and months, of eighty years at most
BinEnds = tuple[float, ...]
Span = tuple[float, float] | None


@dataclass(frozen=True)
class NumberSpread:
    """The ends of usual numbers or days, their step, and what is to be said of the others."""

    low: float
    high: float
    marks: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    bin_ends: BinEnds = ()
    outliers: bool = False
    step: float | str | None = None
    remarks: tuple[str, ...] = ()

    def fields(self, kind: Kind, form: str) -> dict[str, Any]:
        """What a column of them says; nothing if they are one."""
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


def spread_of(values: Floats, counts: Ints, within: Span, whole: bool, fine: float) -> NumberSpread:
    """How different numbers, in ascending order, and the rows of each spread.

    `within` are limits that all know; `fine` says how many numbers can be written in a length of 1,
    0 for any.
    """
    if whole and (months := months_of(values)):
        remark = "read as year and month."
        return NumberSpread(values[0], values[-1], levels=months, remarks=(remark,))
    numbers, counts, found = usual(values, counts, within)
    if whole and clock(numbers):
        found = replace(found, remarks=(*found.remarks, CLOCK))
    if levels := levels_of(numbers, counts, whole=whole):
        return replace(found, levels=levels)
    zeros = int(counts[numbers == 0].sum())
    often = zeros >= ZEROS * counts.sum() and numbers[0] == 0
    step, ends = step_of(numbers, fine, growing_bins(numbers, counts, often, whole=whole))
    if often and ends:
        step = step or (None if fine else ends[1] / 1000)
        unit = step or 1 / fine
        ends = (0.0, unit, *ends[1:]) if unit < ends[1] else ends
    elif often and within is None and (not whole or numbers[-1] > 3 * MOST_ROUND):
        remark = f"0 ({zeros:,}×): {phrase('they come back as small numbers.')}"
        found = replace(found, remarks=(*found.remarks, remark))
    return replace(found, step=step, bin_ends=ends)


def usual(
    numbers: Floats, counts: Ints, within: Span = None, *, days: bool = False
) -> tuple[Floats, Ints, NumberSpread]:
    """The numbers or days without marks and far ones, the rows of each, and how they spread."""
    remarks, marks, write = list[str](), list[float](), iso if days else short
    for index in (-1, 0):
        many = next((k for k in range(MOST_MARKS, 0, -1) if are_marks(numbers, counts, index, k, days=days)), 0)
        for _ in range(many):
            seen = f"{write(numbers[index])} ({counts[index]:,}×)"
            remarks.append(f"{seen}: {phrase('they count as missing.')}")
            marks.append(float(numbers[index]))
            numbers, counts = np.delete(numbers, index), np.delete(counts, index)
    if not days and is_separate(numbers, counts):
        ask = phrase("is it missing? Then declare it so.")
        remarks.append(f"0 ({counts[0]:,}×): {ask}")
    first, last = ends_within(numbers, counts, within) or usual_ends(numbers, counts)
    far = int(counts[:first].sum() + counts[last:].sum())
    if far:
        end = write(numbers[0 if first else -1])
        lie = phrase("up to {end} ({n:,}×)").format(n=far, end=end)
        remarks.append(f"{lie}: {phrase('they lie far off, and go to the nearest bound.')}")
    numbers, counts = numbers[first:last], counts[first:last]
    more: dict[str, Any] = {"marks": tuple(marks), "outliers": far > 0, "remarks": tuple(remarks)}
    return numbers, counts, NumberSpread(float(numbers[0]), float(numbers[-1]), **more)


def step_of(numbers: Floats, fine: float, ends: BinEnds) -> tuple[float | None, BinEnds]:
    """What all numbers are multiples of, or None where it may be chance; and such ends of bins."""
    step = int(np.gcd.reduce(np.rint(np.abs(numbers) * fine).astype(np.int64))) / (fine or 1)
    kept = tuple(end for end in ends if step and end % step == 0)
    chance = step * fine <= 1 or (len(numbers) - 1) * np.log(step * fine) < BY_CHANCE
    return (None, ends) if chance or (kept[:1], kept[-1:]) != (ends[:1], ends[-1:]) else (step, kept)


def first_days(days: Floats) -> str | None:
    """The longest unit of which all days are first ones; None if there is none, or few days."""
    units = UNITS[:0:-1] if len(days) >= FEWEST else ()
    return next((unit for unit in units if all(unit_start(day, unit) == day for day in days)), None)


def are_marks(numbers: Floats, counts: Ints, index: int, many: int, *, days: bool) -> bool:
    """Whether the first or last so many numbers, such as 999, or days, as 1900-01-01, may mean a missing one.

    Several rows have each, and they are further from the rest than half of that is wide, or
    negative, or a day of very many rows.
    """
    ends = slice(-many, None) if index else slice(many)
    marks, rest, others = numbers[ends], np.delete(numbers, ends), np.delete(counts, ends)
    if len(rest) < (FEWEST if days else 2) or counts[ends].min() < FEWEST:
        return False
    if not all(NO_DAY.fullmatch(iso(one)) if days else MARK.fullmatch(as_text(one)) for one in marks.tolist()):
        return False
    wide = 2 * np.abs(marks - rest[index]).min() > rest[-1] - rest[0]
    if days:
        return bool(wide or counts[ends].min() > OFTEN * others.mean())
    return bool(wide or (index == 0 and marks.max() < 0 <= rest[0]))


def is_separate(numbers: Floats, counts: Ints) -> bool:
    """Whether several rows say 0, and the next number is far away for numbers that lie so close."""
    if len(numbers) <= MOST_LEVELS or numbers[0] != 0 or counts[0] < FEWEST:
        return False
    usual_gap, most = np.median(np.diff(numbers[1:])), numbers[int(0.95 * len(numbers))]
    return bool(numbers[1] > max(SEPARATE * (most - numbers[1]), usual_gap / SEPARATE))


def ends_within(numbers: Floats, counts: Ints, within: Span) -> tuple[int, int] | None:
    """The places of numbers within limits, if nearly all are; None if there are none or more lie outside."""
    if within is None:
        return None
    first, last = int(np.searchsorted(numbers, within[0])), int(np.searchsorted(numbers, within[1], side="right"))
    return (first, last) if counts[first:last].sum() >= (1 - MOST_OF_NARROW) * counts.sum() else None


def usual_ends(numbers: Floats, counts: Ints) -> tuple[int, int]:
    """Between which places numbers lie without the few that make the range several times as wide."""
    first, last, rows = 0, len(numbers), counts.cumsum()
    most = max(1, int((MOST_FAR if fills_decades(numbers, counts) else MOST_OF_NARROW) * rows[-1]))
    while last - first > MOST_LEVELS:
        above = int(np.searchsorted(rows, rows[-1] - most))  # all that is above may be far
        below = int(np.searchsorted(rows, most, side="right"))
        down = steps_to_narrow(numbers[above:last][::-1] - numbers[first])
        up = steps_to_narrow(numbers[last - 1] - numbers[first : below + 1])
        if not down and not up:
            break
        last, first = last - down, first + (0 if down else up)
    return first, last


def fills_decades(numbers: Floats, counts: Ints) -> bool:
    """Whether most positive numbers are of several sizes, as amounts are."""
    above = numbers > 0
    rows = counts[above].cumsum()
    if not rows.size or numbers[0] < 0:
        return False
    small, large = numbers[above][np.searchsorted(rows, [0.05 * rows[-1], 0.95 * rows[-1]])]
    return bool(large >= DECADES * small)


def steps_to_narrow(ranges: Floats) -> int:
    """After how many steps a range is several times as narrow as at first; 0 if it never is."""
    return int(np.argmax(ranges * FAR < ranges[0])) if len(ranges) else 0


def levels_of(numbers: Floats, counts: Ints, *, whole: bool) -> tuple[str, ...]:
    """All different numbers, where they are few, of many rows each, and no more than half the whole ones of a range."""
    dense = whole and 2 * len(numbers) > numbers[-1] - numbers[0] + 1
    if dense or not 2 < len(numbers) <= MOST_LEVELS or counts.sum() < ROWS_PER_LEVEL * len(numbers):
        return ()
    return tuple(as_text(number) for number in numbers.tolist())


def growing_bins(numbers: Floats, counts: Ints, zeros: bool, *, whole: bool) -> BinEnds:
    """Bounds and cuts: 0, 1, 2, 5, 10, 20 and so on, also below 0, where most are small or 0."""
    order = np.argsort(np.abs(numbers), kind="stable")
    sizes, rows = np.abs(numbers)[order], counts[order]
    largest = float(sizes[-1])
    crowded = rows[sizes <= largest / 16].sum() > SMALL * rows.sum() and fills_decades(sizes, rows)
    if len(numbers) <= MOST_ROUND + whole or not (crowded or zeros):
        return ()
    sizes, rows = sizes[sizes > 0], rows[sizes > 0].cumsum()
    smallest = float(sizes[np.searchsorted(rows, rows[-1] / MOST_ROUND)])
    if not crowded and smallest > largest / MOST_ROUND:
        return ()  # besides 0, numbers are of one size
    power = int(np.floor(np.log10(max(smallest, 1.0 if whole else largest / 1e4))))
    tens = [Fraction(10) ** more for more in range(power, math.ceil(math.log10(largest)) + 1)]
    ends = [float(times * ten) for ten in tens for times in (1, 2, 5)]
    if whole and 1 in ends:
        ends.insert(2, 3.0)
    above, below = (ends[: bisect_left(ends, end) + 1] if end > 0 else [] for end in (numbers[-1], -numbers[0]))
    return (*(-end for end in reversed(below)), 0.0, *above)


def months_of(numbers: Floats) -> tuple[str, ...]:
    """All months of some years, such as 201503, if the numbers say months of several years."""
    first, last = numbers[[0, -1]].astype(int) if len(numbers) > 2 else (0, 0)
    months = numbers % 100
    inside = CALENDAR[0] <= first and last <= min(CALENDAR[1], first + MOST_MONTHS)
    if not inside or months.min() < 1 or not 10 <= months.max() <= 12:
        return ()
    return tuple(f"{year}{month:02}" for year in range(first // 100, last // 100 + 1) for month in range(1, 13))


def clock(numbers: Floats) -> bool:
    """Whether numbers may be times of day without a colon."""
    return bool(numbers[0] >= 0 and 1_000 < numbers[-1] < 2_400 and len(numbers) > 100 and (numbers % 100 < 60).all())
