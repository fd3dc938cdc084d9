"""Guess what each column of a table is: identifier, text, date, number or category, and why.

This reads all private rows. The result is a proposal for the screen of the person who owns the
rows. It is private, with its reasons, which count rows and name extremes, and with the choice of
columns that are left out. Only what that person declares from public knowledge becomes public.
`Schema.infer` marks its schema as inferred.

Identifiers and free texts are left out by default: released, they would name people; as categories,
their values would be published without noise. Columns with one value, or none, carry no
information, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arguments import Flags, Floats, Ints, require_frame
from dpcore.datasets.headers import class_rank, kinds_of_header, known_limits, may_identify_people
from dpcore.datasets.spread import NumberSpread, first_days, number_spread, trim_numbers
from dpcore.domain.cells import (
    NAME,
    NumberFormat,
    as_numbers,
    detect_number_format,
    factorize_texts,
    factorize_trimmed,
    parse_numbers,
)
from dpcore.domain.column import MAX_CATEGORIES, Kind
from dpcore.domain.dates import YEAR_LAST, as_day, detect_date_format, iso, parse_days
from dpcore.domain.scales import MOST_EXACT, MOST_ROUND
from dpcore.domain.schema import as_flags
from dpcore.language import phrase
from dpcore.text import is_writable, read_toml, short

Role = Literal["identifier", "text", "date", "integer", "continuous", "category", "constant", "empty", "unreadable"]
FEW, SOME, MANY = 5, 20, 50  # distinct values of a small table, of a category, of a list of names
MOST_CLASSES = 10
MOST_DECIMALS = 6
ALLOW_MISSING = {"missing": True, "outside": "clip"}  # fields of a column with unusable cells
BY_CHANCE = 10  # expected rows with two flags of 1, if flags were independent, that are enough
ONE_HOT = (
    phrase("The {n:,} columns {first} to {last} have one 1 in every row"),
    phrase("these 0/1 columns together encode one column."),
)
ONE_LEFT_OUT = (
    phrase("The {n:,} columns {first} to {last} have at most one 1 in every row"),
    phrase("these 0/1 columns may encode one, whose cells are missing where all are 0."),
)
STARTS = re.compile(r".*[ _.:=(-]"), re.compile(r".*?[ _.:=(-]")  # of headers of flags
MOSTLY, MOST_ODD, SHOWN = 0.9, 100, 5  # least share of numbers; most other texts; texts shown
EMAIL = r"^[^@\s]+@[^@\s]+[.][^@\s]+$"
UUID = r"^[{]?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}[}]?$"
COMPACT = r"^[0-9]{8}$"
TIMED = r"^[0-9].*[0-9][T ][0-9:]*[1-9][0-9]*:|^[0-9].*[0-9][T ][0-9]+:[0-9:]*[1-9]"
# seconds and milliseconds since 1970 of the years 2000 to 2099
EPOCHS = (946_684_800, 4_102_444_799), (946_684_800_000, 4_102_444_799_999)
UNMARKED = 1_011_850  # the smallest number that can be day, month and year without separators
UNSUPPORTED = read_toml(Path(__file__).with_name("recognition.toml"))["unread"]
HAN = r"\p{Han}|\p{Hiragana}|\p{Katakana}"
CENTURIES = (as_day("1850-01-01") or 0.0, as_day("2100-12-31") or 0.0)  # years of eight digits


@dataclass(frozen=True, kw_only=True)
class RecognizedColumn:
    """The recognized role of one column, with the reason and the proposed fields of a schema.

    Parameters
    ----------
    role : str
        identifier, text (free text), date, integer, continuous, category, constant, empty, or
        unreadable.
    reason : str
        Why, for the person who owns the rows.
    keep : bool
        Whether the column is kept by default.
    repeats : bool
        Whether it is an identifier with several rows per value, which may be rows of one person.
    most_rows : int
        The largest number of rows with the same value.
    values : int
        The number of distinct values.
    doubt : str
        Warnings for a person to check, one per line: an observation, a colon, and a proposal.
    odd : tuple of str
        Texts among numbers, which would count as missing.
    flags : tuple of str
        Names of several columns of 0 and 1 with a single 1 in every row, in the first of them.
    fields : dict
        Arguments of `Column`: whether cells may be missing or out of bounds. For numbers, dates and
        few levels of either, also all others except the name.
    """

    name: str
    role: Role
    reason: str
    keep: bool = True
    repeats: bool = False
    most_rows: int = 0
    values: int = 0
    doubt: str = ""
    odd: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether the column can be part of a schema if a person wants so."""
        some = "kind" in self.fields or self.values <= MAX_CATEGORIES
        return some and self.role not in ("empty", "unreadable")


def recognize(frame: pd.DataFrame) -> tuple[RecognizedColumn, ...]:
    """Recognize every column of a table, in order. Reads all rows: the result is private."""
    found = [recognize_column(name, frame[name]) for name in require_frame(frame, texts=True).columns]
    for group, (seen, proposed) in flag_groups(frame, found):
        flags, first = tuple(found[j].name for j in group), found[group[0]]
        words = seen.format(n=len(group), first=repr(flags[0]), last=repr(flags[-1]))
        found[group[0]] = replace(first, doubt=f"{first.doubt}\n{words}: {proposed}".strip(), flags=flags)
    return tuple(found)


def flag_groups(frame: pd.DataFrame, found: Sequence[RecognizedColumn]) -> Iterator[tuple[list[int], tuple[str, str]]]:
    """Yield groups of columns that look like one-hot flags of one column, with two phrases each.

    A group is a list of positions; its phrases are an observation and a proposal. `found` has the
    recognized columns. Flags are neighboring columns of 0 and 1 with a single 1 in every row. If
    their headers begin alike, at most one 1 is enough: one flag was left out. Rows in which all of
    them are missing do not count.
    """
    likely = {j: as_flags(frame.iloc[:, j]) for j, one in enumerate(found) if one.keep and one.values == 2}
    flags = {j: cells for j, cells in likely.items() if {*cells[~np.isnan(cells)].tolist()} == {0.0, 1.0}}
    known = ~np.isnan([*flags.values()]).all(axis=0)
    weights = np.random.default_rng(0).integers(1, 2**62, len(frame), dtype=np.uint64) * known
    sums: dict[int, int] = {}  # position by the running sum of random weights of rows with a 1
    total, whole, positions = 0, int(weights.sum()), list(flags)

    def largest_overlap(group: list[int]) -> float:
        """Return the largest number of flags that are 1 in one row, or 0 if that may be chance."""
        both = np.array([flags[j][known] for j in group])
        shares = np.nanmean(both, axis=1)
        together = known.sum() * (shares.sum() ** 2 - (shares**2).sum()) / 2
        return both.sum(axis=0).max() if together >= BY_CHANCE else 0

    for k, j in enumerate(positions):
        sums[total] = k
        total = (total + int(weights[flags[j] == 1].sum())) % 2**64
        group = positions[sums.get((total - whole) % 2**64, k) : k + 1]
        if len(group) > 1 and largest_overlap(group) == 1:
            yield group, ONE_HOT
            sums, flags = {}, {j: cells for j, cells in flags.items() if j not in group}
    for start in STARTS:
        begun = {j: match[0] for j in flags if (match := start.match(found[j].name))}
        for _, some in groupby(begun, begun.__getitem__):
            if largest_overlap(group := [*some]) == 1:
                yield group, ONE_LEFT_OUT
                flags = {j: cells for j, cells in flags.items() if j not in group}


def class_column(found: Sequence[RecognizedColumn]) -> str | None:
    """Return the name of the recognized column that is likeliest the class to predict, or None.

    Headers decide: a whole header comes first, then a column of two values. `vehicle_class` counts
    only with two values.
    """
    fits = [one for one in found if one.keep and one.role == "category" and 2 <= one.values <= MOST_CLASSES]
    ranks = {
        one.name: class_rank(one.name, one.values) for one in reversed(fits) if "class" in kinds_of_header(one.name)
    }
    name = min(ranks, key=ranks.__getitem__, default="")
    return name if name and not all(ranks[name][:2]) else None


def recognize_column(name: str, values: pd.Series[Any]) -> RecognizedColumn:
    """Recognize what one column is: an identifier, a text, a date, a number, a category, ..."""
    if not name.strip() or not is_writable(name):
        reason = "its name has characters that files cannot hold" if name.strip() else "it has no name"
        return RecognizedColumn(name=name, role="unreadable", keep=False, reason=reason)
    seen = ColumnSummary.summarize(name, values)
    if not seen.rows:
        return RecognizedColumn(name=name, role="empty", keep=False, reason="every cell is missing")
    if seen.different == 1 and seen.rows == len(values):
        found = seen.classify_as("constant", "every row has the same value", keep=False)
    else:
        found = _detect_dates(seen) or _detect_unsupported(seen) or _detect_numbers(seen) or _detect_texts(seen)
    if found.role in ("integer", "continuous") and "class" in seen.hints and 2 <= seen.different <= MOST_CLASSES:
        found = seen.classify_as("category", f"{seen.different:,} values, and a header for a class")
    several = found.keep and found.role in ("category", "integer") and found.values > 2
    if several and found.most_rows > 1 and may_identify_people(name):
        # left out until a person declares that its values do not identify persons
        found = replace(found, keep=False, repeats=True, reason=phrase("its values may identify persons"))
    listed = found.usable and "kind" not in found.fields
    if listed and not is_writable(*factorize_texts(values.dropna())[1]):
        return seen.classify_as("unreadable", "its values have control characters", keep=False)
    return found


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """Distinct values of a column, and the number of rows with each of them.

    The values are in one of `words`, `numbers` and `days`. `hints` are the kinds of column that the
    header suggests.
    """

    name: str
    hints: set[str]
    words: pa.Array | None  # the distinct texts, if the column is text
    numbers: Floats | None  # the distinct numbers, if cells are stored as numbers
    days: Floats | None  # the distinct days, if cells are stored as times
    counts: Ints  # number of rows of each value
    blank: bool  # whether some cell is an empty text
    has_times: bool = False  # whether days have a time of day other than midnight

    @classmethod
    def summarize(cls, name: str, values: pd.Series[Any]) -> ColumnSummary:
        """Summarize a column of a DataFrame: its distinct values, and the rows of each."""
        words, plain, blank, has_times = None, None, False, False
        days: Floats | None = None
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            moments = values.dropna().dt.tz_localize(None)
            days, counts = np.unique(moments.to_numpy("datetime64[D]").astype(float), return_counts=True)
            has_times = bool((moments.dt.normalize() != moments).any())
        elif pd.api.types.is_any_real_numeric_dtype(values.dtype):
            cells = as_numbers(values)
            plain, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        else:
            indices, words = factorize_trimmed(values)
            counts = np.bincount(indices[indices >= 0], minlength=len(words))
            there = np.asarray(pc.not_equal(words, ""))
            if blank := not there.all():
                words, counts = words.filter(pa.array(there)), counts[there]
            has_times = bool(pc.any(pc.match_substring_regex(words, TIMED)).as_py())
        return cls(name, kinds_of_header(name), words, plain, days, counts, blank, has_times)

    @property
    def rows(self) -> int:
        """Number of rows in which the column has a value."""
        return int(self.counts.sum())

    @property
    def different(self) -> int:
        """Number of distinct values in the column."""
        return len(self.counts)

    @property
    def share(self) -> float:
        """Number of distinct values divided by the number of rows with a value."""
        return self.different / self.rows

    @property
    def is_diverse(self) -> bool:
        """Whether there are many distinct values.

        These are more than `SOME`, or, in a small table, at least `FEW`, nearly one per row.
        """
        return self.different > SOME or (self.different >= FEW and self.share >= 0.9)

    def classify_as(self, role: Role, reason: str, **more: Any) -> RecognizedColumn:
        """Return the column as recognized, with a role and the reason for it.

        `more` are other fields of `RecognizedColumn`.
        """
        more["fields"] = {**(ALLOW_MISSING if self.blank else {}), **more.get("fields", {})}
        more |= {"values": self.different, "most_rows": int(self.counts.max())}
        return RecognizedColumn(name=self.name, role=role, reason=reason, **more)

    def classify_as_numbers(self, role: Role, by: NumberSpread, at: Flags, form: str, *words: str) -> RecognizedColumn:
        """Return the column as recognized: numbers, dates, or a category of few levels.

        `role` is "integer", "continuous" or "date". `at` marks the distinct values that are numbers
        or dates, `by` says how those spread, and `form` how they are written. `words` are warnings,
        the one about the form first.
        """
        days, written = role == "date", NumberFormat.from_example(form)
        if not days and written is not None and not written.is_plain:
            by = replace(by, levels=())  # which would lose the form
        kind, tell = ("date", iso) if days else ("number", short)
        first, *others = words
        odd = () if self.words is None else tuple(self.words.filter(pa.array(~at)).to_pylist())
        if odd:
            some = " ".join(", ".join(odd[:SHOWN]).split()) + (" …" if len(odd) > SHOWN else "")
            cells = f"{some} ({self.counts[~at].sum():,}×)"
            first = f"{first}\n{cells}: {phrase('these values count as missing.')}".strip()
        fields = by.fields(cast(Kind, role), form)
        absent = odd or by.marks or (by.outliers and by.levels)
        fields |= ALLOW_MISSING if absent else {"outside": "clip"} if by.outliers else {}
        doubt = "\n".join(filter(None, [first, *by.remarks, *others]))
        more: dict[str, Any] = {"fields": fields, "odd": odd, "doubt": doubt}
        if by.levels:
            return self.classify_as("category", f"{len(by.levels):,} levels", **more)
        kind = f"whole {kind}" if role == "integer" else kind
        reason = f"{kind}s from {tell(by.low)} to {tell(by.high)}"
        reason += f", written {'' if days else 'like '}{form}" if form else ""
        if by.step:
            many = "first days of a" if days else "multiples of"
            reason += f", all of them {many} {by.step if days else short(float(by.step))}"
        return self.classify_as(role, reason, **more)

    def classify_as_identifier(self, why: str = "", **more: Any) -> RecognizedColumn:
        """Return the column as recognized: an identifier, which is left out of a schema.

        `why` says what the values are, such as "addresses", and `more` are other fields of
        `RecognizedColumn`.
        """
        values = f"{self.different:,} different values in {self.rows:,} rows"
        if self.different == self.rows:
            return self.classify_as("identifier", f"{values}: {why or 'an identifier'}", keep=False, **more)
        values += f", up to {int(self.counts.max()):,} rows with one value: {why or 'an identifier'} that repeats"
        doubt = "If these values identify persons, a person with k rows can lose up to k times epsilon."
        return self.classify_as("identifier", values, keep=False, repeats=True, doubt=doubt, **more)

    def looks_like_identifier(self) -> bool:
        """Return whether the header suggests an identifier, and enough values are distinct."""
        several = self.is_diverse and (self.share >= 0.05 or self.different > MAX_CATEGORIES)
        numbered = "numbered" in self.hints and self.is_diverse and self.share >= 0.5
        return numbered or (several and not self.hints.isdisjoint(("identifier", "contact", "person", "holder")))


def _detect_dates(seen: ColumnSummary) -> RecognizedColumn | None:
    """Recognize a column of dates in one order of day and month; None for other columns."""
    doubt, form = "", ""
    if seen.days is not None:
        days = seen.days
    elif seen.words is None:
        days, form = _days_from_digits(seen), "ymd"
    else:
        days, form, doubt = _days_from_texts(seen, seen.words)
    valid = ~np.isnan(days)
    if not len(days) or not _nearly_all(seen, valid):
        return None
    different, counts = count_equal(days[valid], seen.counts[valid])
    if len(different) == 1:
        return None  # a category of one value, or one day with several times
    spread = replace(trim_numbers(different, counts, days=True)[2], step=first_days(different))
    times = f"{phrase('Times of day are cut off')}: {phrase('make a column of the hours if you need the times.')}"
    return seen.classify_as_numbers("date", spread, valid, form, doubt, times if seen.has_times else "")


def count_equal(numbers: Floats, counts: Ints) -> tuple[Floats, Ints]:
    """Merge equal numbers: return the distinct ones in ascending order, and their total counts."""
    different, index = np.unique(numbers, return_inverse=True)
    return different, np.bincount(index, counts).astype(int)


def _days_from_digits(seen: ColumnSummary) -> Floats:
    """Return the days of numbers such as 20210305; an empty array if any is not a day."""
    assert seen.numbers is not None
    ends = seen.numbers[[0, -1]] if len(seen.numbers) else np.zeros(1)
    if ends.min() < 18500101 or ends.max() > 21001231 or (seen.numbers % 1 != 0).any():
        return np.empty(0)
    return parse_days(pa.array(seen.numbers.astype(np.int64).astype(str).tolist(), pa.large_string()))


def _days_from_texts(seen: ColumnSummary, words: pa.Array) -> tuple[Floats, str, str]:
    """Return the days of texts (NaN where a text is no day), their form, and a warning.

    `words` are the distinct texts of the column. The array is empty if too few of them are days.
    """
    none = np.empty(0)
    if np.isnan(np.fmax(parse_days(words[:FEW], "d/m/y"), parse_days(words[:FEW], "m/d/y"))).sum() > 1:
        return none, "", ""  # a quick exit: most columns have no dates
    order, doubt, days = "", "", parse_days(words)
    if _nearly_all(seen, ~np.isnan(days)):
        compact = pc.all(pc.match_substring_regex(words, COMPACT)).as_py()
        if compact and not (CENTURIES[0] <= np.nanmin(days) and np.nanmax(days) <= CENTURIES[1]):
            return none, "", ""
    else:
        orders = {form: parse_days(words, form) for form in ("d/m/y", "m/d/y")}
        lacking = {form: int(np.isnan(found).sum()) for form, found in orders.items()}
        fits = [form for form, found in orders.items() if _nearly_all(seen, ~np.isnan(found))]
        if not fits:
            return none, "", ""
        fewest = min(lacking[form] for form in fits)  # days above 12 decide the order
        fits = [form for form in fits if lacking[form] == fewest]
        order = min(fits, key=lambda form: first_days(orders[form]) is None)
        days = orders[order]
        # slashes and hyphens occur with both orders; points mean that the day comes first
        either = any(pc.any(pc.match_substring_regex(words, YEAR_LAST[i])).as_py() for i in (0, 2))
        if len(fits) == 2 and either and np.nan_to_num(orders["d/m/y"] - orders["m/d/y"]).any():
            rest = f"(no number is above 12): read as {order}."
            doubt = f"No date tells whether the day or the month comes first {rest}"
    return days, detect_date_format(words.filter(pa.array(~np.isnan(days))), order), doubt


def _detect_unsupported(seen: ColumnSummary) -> RecognizedColumn | None:
    """Recognize a column of dates or amounts in an unsupported form, or return None.

    The column is left out of a schema, and its reason says what to write instead.
    """
    words, dated = seen.words, "moment" in seen.hints
    candidates = [one for one in UNSUPPORTED if dated or not one.get("dated")] if seen.different > FEW else []
    if words is None:
        if seen.numbers is None or not candidates or not (dated or seen.numbers[0] > UNMARKED):
            return None
        digits = 8 * (seen.numbers[0] > UNMARKED)
        texts = [f"{number:.10g}".zfill(digits) for number in seen.numbers.tolist()]
        words = pa.array(texts, pa.large_string())
        candidates = [one for one in candidates if one.get("digits")]
    for one in candidates:
        fits = np.asarray(pc.match_substring_regex(words, one["pattern"]))
        likely = words.filter(pa.array(fits))
        if _nearly_all(seen, fits, MANY) and pc.any(pc.match_substring_regex(likely, one.get("some", ""))).as_py():
            reason = "{:,} values look like {what}, a form that dpcore does not read: write {write}"
            return seen.classify_as("text", reason.format(seen.different, **one), keep=False)
    return None


def _detect_numbers(seen: ColumnSummary) -> RecognizedColumn | None:
    """Recognize a column of numbers, perhaps with a few words among them; return None for others.

    Codes and names made of digits are not numbers; `_detect_texts` recognizes those.
    """
    form, doubt, found = None, "", seen.numbers
    if found is None and seen.words is not None:
        found, form, doubt = _numbers_from_texts(seen)
    if found is None or not len(found):
        return None
    valid = ~np.isnan(found)
    if np.isinf(found[valid]).any():
        return seen.classify_as("unreadable", "it has infinite values", keep=False)
    found, counts = count_equal(found[valid], seen.counts[valid])
    low, high = float(found[0]), float(found[-1])
    if form is not None and max(abs(low), abs(high)) * form.steps_per_unit >= MOST_EXACT:
        return None
    whole = bool((found % 1 == 0).all()) and max(abs(low), abs(high)) < MOST_EXACT and not (form and form.decimals)
    if form is None and whole:
        ends: dict[str, Any] = {"fields": {"kind": "integer", "lower": low, "upper": high}}
        ends["fields"] |= {} if valid.all() else ALLOW_MISSING
        if seen.looks_like_identifier():
            return seen.classify_as_identifier(**ends)
        if seen.is_diverse and seen.different == seen.rows == high - low + 1 and low in (0, 1) and seen.rows > SOME:
            return seen.classify_as_identifier("numbers that count the rows", **ends)
        coded = "coded" in seen.hints and high - low >= MOST_ROUND
        if coded or not seen.hints.isdisjoint(("code", "identifier")):
            return _detect_categories(seen, "codes")
    if low == high:  # one value and missing cells
        return _detect_categories(seen)
    if form is None and not whole:
        form = _decimal_form(found)
    known, per_unit = known_limits(seen.name), form.steps_per_unit if form else float(whole)
    spread = number_spread(found, counts, known and known[:2], whole=whole and form is None, per_unit=per_unit)
    warning = _identifier_warning(seen) if whole and valid.all() and not spread.levels else ""
    if whole and "moment" in seen.hints and any(a <= low and high <= b for a, b in EPOCHS):
        warning = phrase("If these numbers count seconds since 1970, write dates instead, such as 2019-12-31.")
    role: Role = "integer" if whole else "continuous"
    return seen.classify_as_numbers(role, spread, valid, str(form or ""), doubt, warning)


def _numbers_from_texts(seen: ColumnSummary) -> tuple[Floats | None, NumberFormat | None, str]:
    """Return the numbers of texts (NaN where a text is no number), their form, and a warning.

    None in place of the numbers if too few of the texts are numbers.
    """
    words = seen.words
    assert words is not None
    if pc.any(pc.match_substring_regex(words, NAME)).as_py():
        return None, None, ""
    found, form, doubt = parse_numbers(words), None, ""
    if np.isnan(found).any() and not _nearly_all(seen, ~np.isnan(found)):
        digits = pc.match_substring_regex(words, "[0-9]")
        written = detect_number_format(words.filter(digits)) if _nearly_all(seen, np.asarray(digits)) else None
        if written is None:
            return None, None, ""
        form, doubt = written
        found = form.parse_texts(words)
    return found, form, doubt


def _nearly_all(seen: ColumnSummary, there: Flags, most: int = MOST_ODD) -> bool:
    """Return whether the distinct values marked in `there` fill 90% of a column's cells.

    At most `most` distinct values may remain. `seen` is the summary of the column.
    """
    return bool(there.all()) or bool(seen.counts[there].sum() >= MOSTLY * seen.rows and (~there).sum() <= most)


def _identifier_warning(seen: ColumnSummary) -> str:
    """Return a warning if whole numbers may be numbers of persons, else ""."""
    if seen.different == seen.rows > MANY:
        return "Each row has its own number: if these numbers identify persons, they belong in no release."
    if seen.different > MANY and seen.rows >= 1.5 * seen.different and seen.counts.var() < seen.counts.mean() / 4:
        return "Many numbers, each in about equally many rows: these numbers may identify persons."
    return ""


def _decimal_form(found: Floats) -> NumberFormat | None:
    """Return the form with as many decimals as the numbers need; None if these are too many."""
    for decimals in range(1, MOST_DECIMALS + 1):
        steps = 10.0**decimals
        if np.abs(found).max() * steps < MOST_EXACT and (np.rint(found * steps) / steps == found).all():
            return NumberFormat(decimals=decimals)
    return None


def _detect_texts(seen: ColumnSummary) -> RecognizedColumn:
    """Recognize a column of texts as an identifier, free text or a category."""
    words = seen.words if seen.words is not None else pa.array(["?"] * seen.different, pa.large_string())
    for pattern, why in ((EMAIL, "addresses"), (UUID, "an identifier")):
        if seen.different > 1 and pc.mean(pc.match_substring_regex(words, pattern).cast(pa.float64())).as_py() >= 0.9:
            return seen.classify_as_identifier(why)
    if seen.looks_like_identifier() and "text" not in seen.hints:
        return seen.classify_as_identifier()
    long = float(pc.mean(pc.utf8_length(words)).as_py())
    parts = float(pc.mean(pc.add(pc.count_substring_regex(words, r"\s+"), 1)).as_py())
    han = bool(pc.mean(pc.match_substring_regex(words, HAN).cast(pa.float64())).as_py() >= 0.5)
    wordy = parts >= 4 or long >= 40 or (han and long >= 10)
    listed = seen.different > MANY or (seen.is_diverse and seen.share >= 0.9)
    announced = "text" in seen.hints and seen.is_diverse
    if (wordy and listed) or (announced and (parts >= 2.5 or (han and long >= 4) or seen.different > MAX_CATEGORIES)):
        size = f"{long:.0f} characters" if han or parts < 2 else f"{parts:.0f} words"
        return seen.classify_as("text", f"{seen.different:,} different texts of {size}: free text", keep=False)
    short_ones = parts < 2 and long < 40
    even = seen.counts.max() <= max(FEW, 0.05 * seen.rows)  # no value dominates
    least = 0.3 if seen.different > MAX_CATEGORIES and short_ones else 0.5
    if seen.different <= MANY or "code" in seen.hints:
        least = 0.9
    if seen.different > SOME and even and seen.share >= least:
        return seen.classify_as_identifier()
    texts = int(seen.counts[np.isnan(parse_numbers(words))].sum())
    found = _detect_categories(seen, "" if texts else "codes made of digits")
    if 0 < texts < seen.rows:
        some = f"{seen.rows - texts:,} rows hold numbers, and all others text"
        if 2 * texts <= seen.rows:
            some = f"{texts:,} rows hold text, and all others numbers"
        return replace(found, doubt=f"{some}: the column is read as categories.")
    return found


def _detect_categories(seen: ColumnSummary, why: str = "") -> RecognizedColumn:
    """Recognize a column as a category; it is left out of a schema if it has too many values.

    `why` is added to the reason that is given.
    """
    reason = f"{seen.different:,} different values" + (f": {why}" if why else "")
    if seen.different <= MAX_CATEGORIES:
        return seen.classify_as("category", reason)
    reason += f"; at most {MAX_CATEGORIES:,} categories are allowed. Group values before uploading to keep the column"
    return seen.classify_as("category", reason, keep=False)
