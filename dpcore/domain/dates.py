"""Dates as numbers: days since 1970-01-01, how they are written, and where weeks, months, quarters and years begin.

A cell is a date by its own text alone. Year first is read always: `2021-03-05`, `2021/3/5`,
`2021.03.05`, `20210305` and `2021年3月5日`; so are `5-Mar-2021` and `March 5, 2021`, by English names.
`05/03/2021`, with points or hyphens too, is read only where a column declares which of the two is
the day (`"d/m/y"`, `"m/d/y"`). A time of day may follow, and is cut off. All other texts are no
dates. A column may declare how its dates are written (`DATE_FORMS`), and what is drawn is written
so; by default it is ISO text.
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
from dpcore.domain.cells import distinct_trimmed, in_blocks

UNITS = ("day", "week", "month", "quarter", "year")
FIRST, LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
MONTHS = {"month": 1, "quarter": 3, "year": 12}
MONDAY = 3  # the days by which 1970-01-01 comes after one

ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?:Z| ?[+-]\d{2}:?\d{2})?)?$"
PARTS = {"y": r"(?P<y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
MONTH_NAMES = (
    "january february march april may june july august september october november december "
    "jan feb mar apr may jun jul aug sep oct nov dec"
)


def patterns(order: str) -> list[str]:
    """What dates in an order look like, with each of some marks between."""
    return ["^" + f"[{mark}]".join(PARTS[part] for part in order.split("/")) + TIME for mark in "/.-"]


YEAR_FIRST = [
    *patterns("y/m/d"),
    r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})" + TIME,
    r"^(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日" + TIME,
    r"^(?P<d>\d{1,2})[-/ .]{1,2}(?P<m>[A-Za-z]{3,9})[-/ .,]{1,2}(?P<y>\d{4})" + TIME,
    r"^(?P<m>[A-Za-z]{3,9})[-/ .]{1,2}(?P<d>\d{1,2}),?[-/ .](?P<y>\d{4})" + TIME,
]
YEAR_LAST = patterns("d/m/y")
PATTERNS = {"": YEAR_FIRST, "d/m/y": YEAR_FIRST + YEAR_LAST, "m/d/y": YEAR_FIRST + patterns("m/d/y")}
DATE_FORMS = {f"d{mark}m{mark}y": "d/m/y" for mark in "/.-"} | {f"m{mark}d{mark}y": "m/d/y" for mark in "/.-"}
DATE_FORMS |= dict.fromkeys(("", "y/m/d", "y.m.d", "ymd", "y年m月d日"), "")
for name in ("mon", "MON", "month"):
    DATE_FORMS |= dict.fromkeys((f"d-{name}-y", f"d {name} y", f"d/{name}/y", f"{name} d, y"), "")
PART = re.compile("month|mon|MON|[dmy]")
STRFTIME = {"y": "%Y", "m": "%m", "d": "%d", "mon": "%b", "MON": "%b", "month": "%B"}
SHAPE = {"mon": "[A-Z][a-z]{2}", "MON": "[A-Z]{3}", "month": "[A-Z][a-z]{2,8}", "y": "[0-9]{4}"}


def day_of(value: Any) -> float | None:
    """The day that a bound or a cut is: a number of days as it is, an ISO text or a date; None for anything else."""
    if isinstance(value, str | date | np.datetime64):
        text = value if isinstance(value, str) else str(value)[:10]
        try:
            return date.fromisoformat(text).toordinal() + FIRST - 1 if ISO.fullmatch(text) else None
        except ValueError:
            return None
    whole = is_number(value) and math.isfinite(value) and value == math.floor(value)
    return value if whole and FIRST <= value <= LAST else None


def iso(day: float) -> str:
    """A day as ISO text, such as 2021-03-05."""
    return str(np.datetime64(math.floor(day), "D"))


def format_day(day: float, form: str) -> str:
    """A day as text in a form: two digits for day and month, or the month's English name."""
    year, month, number = iso(day).split("-")
    name = MONTH_NAMES.split()[int(month) - 1].title()
    parts = {"y": year, "m": month, "d": number, "mon": name[:3], "MON": name[:3].upper(), "month": name}
    return PART.sub(lambda part: parts[part[0]], form or "y-m-d")


def pattern_of(form: str) -> str:
    """The form as Python and other programs call it, such as %d/%m/%Y."""
    return PART.sub(lambda part: STRFTIME[part[0]], form or "y-m-d")


def form_of(words: pa.Array, order: str) -> str:
    """The form that all texts have which are dates in an order; the order if they differ."""
    for form in (form for form in DATE_FORMS if form and DATE_FORMS[form] == order):
        shape = PART.sub(lambda part: SHAPE.get(part[0], "[0-9]{1,2}"), form).replace(".", "[.]")
        if all(pc.all(pc.match_substring_regex(some, f"^{shape}{TIME}")).as_py() for some in (words[:1], words)):
            return form
    return order


def starts(low: float, high: float, unit: str) -> Floats:
    """The days after `low`, up to `high`, on which a unit of the calendar begins."""
    days = np.arange(int(low) + 1, int(high) + 1)
    if unit in MONTHS:
        months = days.astype("datetime64[D]").astype("datetime64[M]")
        days = days[(months == days.astype("datetime64[D]")) & (months.astype(int) % MONTHS[unit] == 0)]
    elif unit == "week":
        days = days[(days + MONDAY) % 7 == 0]
    return days.astype(float)


def start(day: float, unit: str) -> float:
    """The day on which the unit of the calendar begins that holds a day."""
    return float(starts(day - 366, day, unit)[-1])


def unit_name(day: float, unit: str) -> str:
    """The unit of the calendar that holds a day: 2021-03, 2021 Q1, 2021, 2021-W10."""
    text = iso(day)
    if unit == "week":
        year, week, _ = date.fromisoformat(text).isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "quarter":
        return f"{text[:4]} Q{(int(text[5:7]) + 2) // 3}"
    return text[: {"year": 4, "month": 7}.get(unit, 10)]


def usual_unit(low: float, high: float, step: object = None) -> str:
    """A unit, none below a step, that makes of some days as many bins as charts can live with."""
    for unit, most in (("day", 31), ("week", 183), ("month", 3 * 366), ("quarter", 12 * 366)):
        if high - low < most:
            return max(unit, str(step or unit), key=UNITS.index)
    return "year"


def as_days(values: pd.Series[Any], form: str = "") -> Floats:
    """The cells' days, shape (n,); NaN where a cell is missing or no date. Times of day are cut off."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        local = values.dt.tz_localize(None) if isinstance(values.dtype, pd.DatetimeTZDtype) else values
        found = local.to_numpy(dtype="datetime64[us]", na_value=np.datetime64("NaT")).astype("datetime64[D]")
        return np.where(np.isnat(found), np.nan, found.astype(np.int64))
    indices, words = distinct_trimmed(values)
    return np.append(days_of(words, form), np.nan)[indices]


@in_blocks
def days_of(words: pa.Array, form: str = "") -> Floats:
    """The days that texts say, NaN for those that say none."""
    found = np.full(len(words), np.nan)
    for pattern in PATTERNS[DATE_FORMS[form]]:
        left = np.flatnonzero(np.isnan(found))
        if not left.size:
            break
        parts = pc.extract_regex(words.take(pa.array(left)), pattern)
        fits = np.asarray(parts.is_valid())
        if fits.any():
            said = parts.filter(pa.array(fits))
            found[left[fits]] = _days(*(numbers(said, part) for part in "ymd"))
    return found


def numbers(parts: pa.StructArray, name: str) -> Floats:
    """One part of texts that a pattern has parted; a month may have its English name."""
    if name == "m" and not pc.all(pc.utf8_is_digit(parts.field(name))).as_py():
        months = pc.index_in(pc.utf8_lower(parts.field(name)), pa.array(MONTH_NAMES.split(), parts.field(name).type))
        known: Floats = np.asarray(months.fill_null(-1), dtype=float)
        return np.where(known < 0, 0, known % 12 + 1)
    said: Floats = parts.field(name).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
    return said


def _days(year: Floats, month: Floats, day: Floats) -> Floats:
    """Days of the calendar; NaN for those that it does not have."""
    there: Flags = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(there, (year - 1970) * 12 + month - 1, 0).astype(np.int64)
    first, after = ((months + more).astype("datetime64[M]").astype("datetime64[D]").astype(int) for more in (0, 1))
    return np.where(there & (day <= after - first), first + day - 1, np.nan)
