"""Dates as days since 1970-01-01: reading, writing, and starts of weeks, months, quarters, years.

A cell is read by its own text alone. Texts with the year first are always dates: `2021-03-05`,
`2021/3/5`, `2021.03.05`, `20210305` and `2021年3月5日`. So are texts with an English month name:
`5-Mar-2021`, `March 5, 2021`. `05/03/2021`, also with points or hyphens, is a date only in a column
that declares the order of day and month (`"d/m/y"`, `"m/d/y"`). A time of day may follow, and is
dropped. All other texts are not dates. A column may declare how its dates are written
(`DATE_FORMS`); synthetic dates are written in that format, by default as ISO text.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arguments import Flags, Floats, is_number
from dpcore.domain.cells import factorize_trimmed, in_blocks

UNITS = ("day", "week", "month", "quarter", "year")
FIRST, LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
MONTHS = {"month": 1, "quarter": 3, "year": 12}
MONDAY = 3  # days from a Monday to 1970-01-01

ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?:Z| ?[+-]\d{2}:?\d{2})?)?$"
PARTS = {"y": r"(?P<y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
MONTH_NAMES = (
    "january february march april may june july august september october november december "
    "jan feb mar apr may jun jul aug sep oct nov dec"
)


def order_patterns(order: str) -> list[str]:
    """Return regular expressions of dates in an order such as "d/m/y", for the marks / . and -."""
    return ["^" + f"[{mark}]".join(map(PARTS.__getitem__, order.split("/"))) + TIME for mark in "/.-"]


YEAR_FIRST = [
    *order_patterns("y/m/d"),
    r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})" + TIME,
    r"^(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日" + TIME,
    r"^(?P<d>\d{1,2})[-/ .]{1,2}(?P<m>[A-Za-z]{3,9})[-/ .,]{1,2}(?P<y>\d{4})" + TIME,
    r"^(?P<m>[A-Za-z]{3,9})[-/ .]{1,2}(?P<d>\d{1,2}),?[-/ .](?P<y>\d{4})" + TIME,
]
YEAR_LAST = order_patterns("d/m/y")
PATTERNS = {"": YEAR_FIRST, "d/m/y": YEAR_FIRST + YEAR_LAST, "m/d/y": YEAR_FIRST + order_patterns("m/d/y")}
DATE_FORMS = {f"d{mark}m{mark}y": "d/m/y" for mark in "/.-"} | {f"m{mark}d{mark}y": "m/d/y" for mark in "/.-"}
DATE_FORMS |= dict.fromkeys(("", "y/m/d", "y.m.d", "ymd", "y年m月d日"), "")
for name in ("mon", "MON", "month"):
    DATE_FORMS |= dict.fromkeys((f"d-{name}-y", f"d {name} y", f"d/{name}/y", f"{name} d, y"), "")
PART = re.compile("month|mon|MON|[dmy]")
STRFTIME = {"y": "%Y", "m": "%m", "d": "%d", "mon": "%b", "MON": "%b", "month": "%B"}
SHAPE = {"mon": "[A-Z][a-z]{2}", "MON": "[A-Z]{3}", "month": "[A-Z][a-z]{2,8}", "y": "[0-9]{4}"}


def as_day(value: Any) -> float | None:
    """Return a bound or split point as days since 1970-01-01; None if it is not a date.

    A whole number of days is returned as is; ISO texts and dates are converted.
    """
    if isinstance(value, str | date | np.datetime64):
        text = value if isinstance(value, str) else str(value)[:10]
        try:
            return date.fromisoformat(text).toordinal() + FIRST - 1 if ISO.fullmatch(text) else None
        except ValueError:
            return None
    whole = is_number(value) and math.isfinite(value) and value == math.floor(value)
    return value if whole and FIRST <= value <= LAST else None


def iso(day: float) -> str:
    """Return a day, counted from 1970-01-01, as ISO text such as 2021-03-05."""
    return str(np.datetime64(math.floor(day), "D"))


def format_day(day: float, form: str) -> str:
    """Return a day, counted from 1970-01-01, in a date format such as "d/m/y"; ISO text for "".

    Day and month have two digits, or the month its English name.
    """
    year, month, number = iso(day).split("-")
    name = MONTH_NAMES.split()[int(month) - 1].title()
    parts = {"y": year, "m": month, "d": number, "mon": name[:3], "MON": name[:3].upper(), "month": name}
    return PART.sub(lambda part: parts[part[0]], form or "y-m-d")


def strftime_format(form: str) -> str:
    """Return a date format in the notation of Python's `strftime`, such as %d/%m/%Y."""
    return PART.sub(lambda part: STRFTIME[part[0]], form or "y-m-d")


def detect_date_format(words: pa.Array, order: str) -> str:
    """Return the date format that all texts share; `order` if their formats differ.

    The texts are dates whose day, month and year are in `order`, such as "d/m/y".
    """
    for form in (form for form in DATE_FORMS if form and DATE_FORMS[form] == order):
        shape = PART.sub(lambda part: SHAPE.get(part[0], "[0-9]{1,2}"), form).replace(".", "[.]")
        if all(pc.all(pc.match_substring_regex(some, f"^{shape}{TIME}")).as_py() for some in (words[:1], words)):
            return form
    return order


def unit_starts(low: float, high: float, unit: str) -> Floats:
    """Return the days on which a calendar unit begins, after `low` and up to `high`.

    `unit` is "day", "week", "month", "quarter" or "year"; days are counted from 1970-01-01.
    """
    days = np.arange(int(low) + 1, int(high) + 1)
    if unit in MONTHS:
        months = days.astype("datetime64[D]").astype("datetime64[M]")
        days = days[(months == days.astype("datetime64[D]")) & (months.astype(int) % MONTHS[unit] == 0)]
    elif unit == "week":
        days = days[(days + MONDAY) % 7 == 0]
    return days.astype(float)


def unit_start(day: float, unit: str) -> float:
    """Return the first day of the calendar unit (week, month, quarter, year) around `day`."""
    return float(unit_starts(day - 366, day, unit)[-1])


def unit_name(day: float, unit: str) -> str:
    """Return the name of the calendar unit around `day`: 2021-03, 2021 Q1, 2021, 2021-W10."""
    text = iso(day)
    if unit == "week":
        year, week, _ = date.fromisoformat(text).isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "quarter":
        return f"{text[:4]} Q{(int(text[5:7]) + 2) // 3}"
    return text[: {"year": 4, "month": 7}.get(unit, 10)]


def default_unit(low: float, high: float, step: object = None) -> str:
    """Return the default calendar unit for bins of the days `low` to `high`.

    Longer ranges get longer units, so that charts stay readable. No unit is finer than `step`, the
    calendar unit of the column's values, if any.
    """
    for unit, most in (("day", 31), ("week", 183), ("month", 3 * 366), ("quarter", 12 * 366)):
        if high - low < most:
            return max(unit, str(step or unit), key=UNITS.index)
    return "year"


def as_days(values: pd.Series[Any], form: str = "") -> Floats:
    """Return cells as days since 1970-01-01, shape (n,); NaN if missing or not a date.

    `form` is the date format, such as "d/m/y". Times of day are dropped.
    """
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        local = values.dt.tz_localize(None) if isinstance(values.dtype, pd.DatetimeTZDtype) else values
        found = local.to_numpy(dtype="datetime64[us]", na_value=np.datetime64("NaT")).astype("datetime64[D]")
        return np.where(np.isnat(found), np.nan, found.astype(np.int64))
    indices, words = factorize_trimmed(values)
    return np.append(parse_days(words, form), np.nan)[indices]


@in_blocks
def parse_days(words: pa.Array, form: str = "") -> Floats:
    """Return texts as days since 1970-01-01, in any date format with the order of `form`; else NaN."""
    found = np.full(len(words), np.nan)
    for pattern in PATTERNS[DATE_FORMS[form]]:
        left = np.flatnonzero(np.isnan(found))
        if not left.size:
            break
        parts = pc.extract_regex(words.take(pa.array(left)), pattern)
        fits = np.asarray(parts.is_valid())
        if fits.any():
            said = parts.filter(pa.array(fits))
            found[left[fits]] = _calendar_days(*(_read_part(said, part) for part in "ymd"))
    return found


def _read_part(parts: pa.StructArray, name: str) -> Floats:
    """Return the year, month or day ("y", "m", "d") of parsed dates as numbers, shape (n,).

    English month names become 1 to 12, other words 0.
    """
    if name == "m" and not pc.all(pc.utf8_is_digit(parts.field(name))).as_py():
        months = pc.index_in(pc.utf8_lower(parts.field(name)), pa.array(MONTH_NAMES.split(), parts.field(name).type))
        known: Floats = np.asarray(months.fill_null(-1), dtype=float)
        return np.where(known < 0, 0, known % 12 + 1)
    said: Floats = parts.field(name).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
    return said


def _calendar_days(year: Floats, month: Floats, day: Floats) -> Floats:
    """Return dates as days since 1970-01-01, shape (n,); NaN where there is no such date."""
    there: Flags = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(there, (year - 1970) * 12 + month - 1, 0).astype(np.int64)
    first, after = ((months + more).astype("datetime64[M]").astype("datetime64[D]").astype(int) for more in (0, 1))
    return np.where(there & (day <= after - first), first + day - 1, np.nan)
