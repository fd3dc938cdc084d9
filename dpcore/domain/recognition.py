"""What the columns of somebody's table are: identifiers, texts, dates, numbers, categories, and why it seems so.

This looks at private rows, all of them at once. It is a proposal for the screen of the person whose rows they are, and
nothing of it is public until that person declares it, from public knowledge: not the reasons, which count rows and name
extremes, nor which columns were left out. `Schema.infer` marks what it makes of it so.

Identifiers and free texts are left out by default: released, they would name people; as categories, their values would
be published without noise. What has one value, or none, is left out because it tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arguments import Floats, Ints, require_frame
from dpcore.domain.cells import NAME, as_numbers, distinct, parsed, worded
from dpcore.domain.column import MAX_CATEGORIES
from dpcore.domain.dates import YEAR_LAST, day_of, days_of, iso
from dpcore.domain.headers import class_rank, meant
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.written import Form, form_of
from dpcore.text import is_writable, short

What = Literal["identifier", "text", "date", "integer", "continuous", "category", "constant", "empty", "unreadable"]
FEW, SOME, MANY = 5, 20, 50  # different values: as many as a small table has, as a category has, as a list of names has
MOST_CLASSES = 10
MOST_DECIMALS = 4
EMAIL = r"^[^@\s]+@[^@\s]+[.][^@\s]+$"
UUID = r"^[{]?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}[}]?$"
COMPACT = r"^[0-9]{8}$"
HAN = r"\p{Han}|\p{Hiragana}|\p{Katakana}"
CENTURIES = (day_of("1850-01-01") or 0.0, day_of("2100-12-31") or 0.0)  # eight digits beyond are no days


@dataclass(frozen=True, kw_only=True)
class Recognized:
    """What one column seems to be.

    Parameters
    ----------
    what : str
        identifier, text (free text), date, integer, continuous, category, constant, empty, or unreadable.
    reason : str
        Why, for the person whose rows they are.
    kept : bool
        Whether it is kept by default.
    form : str
        How its numbers or dates are written, as `Column.form`.
    repeats : bool
        Whether it is an identifier of which a value has several rows: these may be rows of one person.
    most_rows : int
        The largest number of rows that have one value.
    values : int
        How many different values there are.
    blank : bool
        Whether some cell is an empty text, which is no value.
    lower, upper : float, optional
        The extremes of numbers and dates.
    doubt : str
        What a person should look at.
    """

    name: str
    what: What
    reason: str
    kept: bool = True
    form: str = ""
    repeats: bool = False
    most_rows: int = 0
    values: int = 0
    blank: bool = False
    lower: float | None = None
    upper: float | None = None
    doubt: str = ""

    @property
    def possible(self) -> bool:
        """Whether it can be a column at all, if somebody wants it to."""
        numeric = self.lower is not None and self.lower != self.upper
        return self.what not in ("empty", "unreadable") and (numeric or self.values <= MAX_CATEGORIES)


def recognize(frame: pd.DataFrame) -> tuple[Recognized, ...]:
    """What every column of a table seems to be, in their order. Looks at all rows: for the screen alone."""
    return tuple(recognize_column(name, frame[name]) for name in require_frame(frame, texts=True).columns)


def class_column(found: Sequence[Recognized]) -> str | None:
    """The column that is likeliest the class by its header, of 2 to 10 values; None if there is none."""
    fits = [
        one
        for one in found
        if one.kept and one.what == "category" and 2 <= one.values <= MOST_CLASSES and "class" in meant(one.name)
    ]
    return min(reversed(fits), key=lambda one: class_rank(one.name)).name if fits else None


def recognize_column(name: str, values: pd.Series[Any]) -> Recognized:
    """What one column seems to be."""
    if not name.strip() or not is_writable(name):
        reason = "its name has characters that no file can hold" if name.strip() else "it has no name"
        return Recognized(name=name, what="unreadable", kept=False, reason=reason)
    seen = Seen.of(name, values)
    if not seen.rows:
        return Recognized(name=name, what="empty", kept=False, reason="every cell is missing")
    found = _seeming(seen, whole=seen.rows == len(values))
    if found.possible and found.lower is None and not is_writable(*distinct(values.dropna())[1]):
        return seen.called("unreadable", "values of it have control characters, which no chart can hold", kept=False)
    return found


@dataclass(frozen=True, eq=False)
class Seen:
    """What one look at a column's cells gives: its different values, and how many rows have each."""

    name: str
    meant: set[str]
    words: pa.Array | None  # the different texts, where they are texts
    numbers: Floats | None  # the different numbers, where they are stored as such
    days: Floats | None  # the first and the last day, where cells are stored as times
    counts: Ints  # the rows of each value
    blank: bool  # whether some cell is an empty text

    @classmethod
    def of(cls, name: str, values: pd.Series[Any]) -> Seen:
        """Of a column as it was read."""
        words, plain, blank = None, None, False
        days: Floats | None = None
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            counts = np.unique(values.dropna().astype("int64").to_numpy(), return_counts=True)[1]
            ends = pd.Series([values.min(), values.max()]).astype(str).str[:10]
            days = np.array([day_of(text) for text in ends], dtype=float)
        elif pd.api.types.is_any_real_numeric_dtype(values.dtype):
            cells = as_numbers(values)
            plain, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        else:
            places, words = worded(values)
            counts = np.bincount(places[places >= 0], minlength=len(words))
            there = np.asarray(pc.not_equal(words, ""))
            if blank := not there.all():
                words, counts = words.filter(pa.array(there)), counts[there]
        return cls(name, meant(name), words, plain, days, counts, blank)

    @property
    def rows(self) -> int:
        """The rows that have a value."""
        return int(self.counts.sum())

    @property
    def different(self) -> int:
        """How many different values there are."""
        return len(self.counts)

    @property
    def share(self) -> float:
        """Different values per row that has one."""
        return self.different / self.rows

    @property
    def many(self) -> bool:
        """Whether there are more values than a category has, or, in a small table, as many as rows."""
        return self.different > SOME or (self.different >= FEW and self.share >= 0.9)

    def called(self, what: What, reason: str, **more: Any) -> Recognized:
        """The column as something."""
        most = int(self.counts.max())
        more |= {"values": self.different, "most_rows": most, "blank": self.blank}
        return Recognized(name=self.name, what=what, reason=reason, **more)

    def identifier(self, why: str = "", **more: Any) -> Recognized:
        """The column as an identifier."""
        told = f"{self.different:,} different values in {self.rows:,} rows"
        if self.different == self.rows:
            return self.called("identifier", f"{told}: {why or 'an identifier'}", kept=False, **more)
        told += f", up to {int(self.counts.max()):,} rows with one value: {why or 'an identifier'} that repeats"
        doubt = "If its values are persons, a person has several rows, and epsilon for one row is several times theirs."
        return self.called("identifier", told, kept=False, repeats=True, doubt=doubt, **more)

    def named(self) -> bool:
        """Whether its header says that it identifies, and its values are as many as that takes."""
        several = self.many and (self.share >= 0.05 or self.different > MAX_CATEGORIES)
        numbered = "numbered" in self.meant and self.many and self.share >= 0.5
        return numbered or (several and not self.meant.isdisjoint(("identifier", "contact", "person")))


def _seeming(seen: Seen, *, whole: bool) -> Recognized:
    """What a column seems to be; it is `whole` if no cell is missing."""
    if seen.different == 1 and whole:
        return seen.called("constant", "one value in every row: it tells nothing", kept=False)
    found = _date(seen) or _number(seen) or _words(seen)
    if found.what in ("integer", "continuous") and "class" in seen.meant and 2 <= seen.different <= MOST_CLASSES:
        return seen.called("category", f"{seen.different:,} values, and the name of a class")
    return found


def _date(seen: Seen) -> Recognized | None:
    """A column of dates: all of its values are, in one order of day and month."""
    doubt, form = "", ""
    if seen.days is not None:
        days = seen.days
    elif seen.words is None:
        days = _compact(seen)
    else:
        days, form, doubt = _said_days(seen.words)
    if not len(days) or np.isnan(days).any():
        return None
    low, high = float(days.min()), float(days.max())
    if low == high:
        return None  # a category of one value, or of one day and several times
    told = f"dates from {iso(low)} to {iso(high)}" + (f", written {form}" if form else "")
    return seen.called("date", told, form=form, lower=low, upper=high, doubt=doubt)


def _compact(seen: Seen) -> Floats:
    """The days of numbers such as 20210305, if they all are."""
    assert seen.numbers is not None
    ends = seen.numbers[[0, -1]] if len(seen.numbers) else np.zeros(1)
    if ends.min() < 18500101 or ends.max() > 21001231 or (seen.numbers % 1 != 0).any():
        return np.empty(0)
    return days_of(pa.array(seen.numbers.astype(np.int64).astype(str).tolist(), pa.large_string()))


def _said_days(words: pa.Array) -> tuple[Floats, str, str]:
    """The days that texts say, in which order of day and month, and what is doubtful about it."""
    none = np.empty(0)
    if np.isnan(np.fmax(days_of(words[:FEW], "d/m/y"), days_of(words[:FEW], "m/d/y"))).any():
        return none, "", ""  # most columns are none, and are done with quickly
    days = days_of(words)
    if not np.isnan(days).any():
        compact = pc.all(pc.match_substring_regex(words, COMPACT)).as_py()
        beyond = compact and not (CENTURIES[0] <= days.min() and days.max() <= CENTURIES[1])
        return (none if beyond else days), "", ""
    orders = {form: days_of(words, form) for form in ("d/m/y", "m/d/y")}
    fits = [form for form, found in orders.items() if not np.isnan(found).any()]
    if not fits:
        return none, "", ""
    doubt = ""
    # Slashes and hyphens part days and months in both orders; points mean that the day is first.
    either = any(pc.any(pc.match_substring_regex(words, YEAR_LAST[i])).as_py() for i in (0, 2))
    if len(fits) == 2 and either and (orders["d/m/y"] != orders["m/d/y"]).any():
        doubt = "No date tells whether the day or the month comes first (no number is above 12): read as day first."
    return orders[fits[0]], fits[0], doubt


def _number(seen: Seen) -> Recognized | None:
    """A column of numbers; None if its values are none, or are codes and names made of digits."""
    form, doubt, found = None, "", seen.numbers
    if found is None and seen.words is not None:
        if not pc.any(pc.match_substring_regex(seen.words, NAME)).as_py():
            found = parsed(seen.words)
        if found is None or np.isnan(found).any():
            form, doubt = form_of(seen.words) or (None, "")
            found = None if form is None else form.of_words(seen.words)
    if found is None or not len(found):
        return None
    if not np.isfinite(found).all():
        return seen.called("unreadable", "it has infinite values", kept=False)
    low, high = float(found.min()), float(found.max())
    if form is not None and max(abs(low), abs(high)) * form.steps >= MOST_EXACT:
        return None
    ends: dict[str, Any] = {"lower": low, "upper": high}
    whole = bool((found % 1 == 0).all()) and max(abs(low), abs(high)) < MOST_EXACT and not (form and form.decimals)
    if form is None and whole:
        if seen.named():
            return seen.identifier(**ends)
        if seen.many and seen.different == seen.rows == high - low + 1 and low in (0, 1) and seen.rows > SOME:
            return seen.identifier("the rows, counted", **ends)
        if not seen.meant.isdisjoint(("code", "identifier")):
            return _category(seen, "codes")
    if low == high:  # one value, and missing cells
        return _category(seen)
    if whole:
        told = f"whole numbers from {low:,.0f} to {high:,.0f}" + (f", written like {form}" if form else "")
        return seen.called("integer", told, form=str(form or ""), doubt=doubt, **ends)
    written = form or _decimals(found)
    told = f"numbers from {short(low)} to {short(high)}" + (f", written like {written}" if written else "")
    return seen.called("continuous", told, form=str(written or ""), doubt=doubt, **ends)


def _decimals(found: Floats) -> Form | None:
    """The form that says how many decimals numbers have; None if they have many."""
    for decimals in range(1, MOST_DECIMALS + 1):
        steps = 10.0**decimals
        if np.abs(found).max() * steps < MOST_EXACT and (np.rint(found * steps) / steps == found).all():
            return Form(decimals=decimals)
    return None


def _words(seen: Seen) -> Recognized:
    """A column of texts, truth values, or digits that are names."""
    words = seen.words if seen.words is not None else pa.array(["?"] * seen.different, pa.large_string())
    for pattern, why in ((EMAIL, "addresses"), (UUID, "an identifier")):
        if seen.different > 1 and pc.mean(pc.match_substring_regex(words, pattern).cast(pa.float64())).as_py() >= 0.9:
            return seen.identifier(why)
    if seen.named() and "text" not in seen.meant:
        return seen.identifier()
    long = float(pc.mean(pc.utf8_length(words)).as_py())
    parts = float(pc.mean(pc.add(pc.count_substring_regex(words, r"\s+"), 1)).as_py())
    han = bool(pc.mean(pc.match_substring_regex(words, HAN).cast(pa.float64())).as_py() >= 0.5)
    wordy = parts >= 4 or long >= 40 or (han and long >= 10)
    listed = seen.different > MANY or (seen.many and seen.share >= 0.9)
    called = "text" in seen.meant and seen.many
    if (wordy and listed) or (called and (parts >= 2.5 or (han and long >= 4) or seen.different > MAX_CATEGORIES)):
        size = f"{long:.0f} characters" if han or parts < 2 else f"{parts:.0f} words"
        return seen.called("text", f"{seen.different:,} different texts of {size}: free text", kept=False)
    short_ones = parts < 2 and long < 40
    even = seen.counts.max() <= max(FEW, 0.05 * seen.rows)  # nobody has half of all rows
    least = 0.3 if seen.different > MAX_CATEGORIES and short_ones else 0.5
    if seen.different <= MANY or "code" in seen.meant:
        least = 0.9
    if seen.different > SOME and even and seen.share >= least:
        return seen.identifier()
    mixed = int(seen.counts[np.isnan(parsed(words))].sum())
    found = _category(seen, "" if mixed else "codes made of digits")
    if 0 < mixed < seen.rows:
        return replace(found, doubt=f"It mixes numbers and text in {mixed:,} rows: it is read as categories.")
    return found


def _category(seen: Seen, why: str = "") -> Recognized:
    """A column of categories, if they are not too many."""
    told = f"{seen.different:,} different values" + (f": {why}" if why else "")
    if seen.different <= MAX_CATEGORIES:
        return seen.called("category", told)
    told += f"; at most {MAX_CATEGORIES:,} categories are allowed. Group its values before uploading if you need it"
    return seen.called("category", told, kept=False)
