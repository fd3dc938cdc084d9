"""What the columns of somebody's table are: identifiers, texts, dates, numbers, categories, and why it seems so.

This looks at private rows, all of them at once. It is a proposal for the screen of the person whose
rows they are, and nothing of it is public until that person declares it, from public knowledge: not
the reasons, which count rows and name extremes, nor which columns were left out. `Schema.infer`
marks what it makes of it so.

Identifiers and free texts are left out by default: released, they would name people; as categories,
their values would be published without noise. What has one value, or none, is left out because it
tells nothing.
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
from dpcore.datasets.headers import class_rank, kinds_of_header, limits, tells_people
from dpcore.datasets.spread import NumberSpread, first_days, spread_of, usual
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

What = Literal["identifier", "text", "date", "integer", "continuous", "category", "constant", "empty", "unreadable"]
FEW, SOME, MANY = 5, 20, 50  # different values: as many as a small table has, as a category has, as a list of names has
MOST_CLASSES = 10
MOST_DECIMALS = 6
ABSENT = {"missing": True, "outside": "clip"}  # of a column some of whose values are none
BY_CHANCE = 10  # rows in which two flags would both be 1 at least, were they independent
ONE_HOT = (
    phrase("The {n:,} columns {first} to {last} have one 1 in every row"),
    phrase("they are one column."),
)
ONE_LEFT_OUT = (
    phrase("The {n:,} columns {first} to {last} have at most one 1 in every row"),
    phrase("they may be one column, missing where all are 0."),
)
STARTS = re.compile(r".*[ _.:=(-]"), re.compile(r".*?[ _.:=(-]")  # of headers of flags
MOSTLY, MOST_ODD, NAMED = 0.9, 100, 5  # share of cells that are numbers; other texts; those named
EMAIL = r"^[^@\s]+@[^@\s]+[.][^@\s]+$"
UUID = r"^[{]?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}[}]?$"
COMPACT = r"^[0-9]{8}$"
TIMED = r"^[0-9].*[0-9][T ][0-9:]*[1-9][0-9]*:|^[0-9].*[0-9][T ][0-9]+:[0-9:]*[1-9]"
EPOCHS = (946_684_800, 4_102_444_799), (946_684_800_000, 4_102_444_799_999)  # since 1970: of 2000 to 2099
UNMARKED = 1_011_850  # the first number that can be a day, month and year without marks between
UNREAD = read_toml(Path(__file__).with_name("recognition.toml"))["unread"]
HAN = r"\p{Han}|\p{Hiragana}|\p{Katakana}"
CENTURIES = (as_day("1850-01-01") or 0.0, as_day("2100-12-31") or 0.0)  # eight digits beyond are no days


@dataclass(frozen=True, kw_only=True)
class RecognizedColumn:
    """What one column seems to be.

    Parameters
    ----------
    what : str
        identifier, text (free text), date, integer, continuous, category, constant, empty, or unreadable.
    reason : str
        Why, for the person whose rows they are.
    kept : bool
        Whether it is kept by default.
    repeats : bool
        Whether it is an identifier of which a value has several rows: these may be rows of one person.
    most_rows : int
        The largest number of rows that have one value.
    values : int
        How many different values there are.
    doubt : str
        What a person should look at, a line for each: what was seen, a colon, and what is proposed.
    odd : tuple of str
        Texts among numbers: they would count as missing.
    flags : tuple of str
        Of the first of several columns of 0 and 1 that have one 1 in every row: all their names.
    fields : dict
        What a `Column` would say of it: whether cells may be missing or lie outside; and all else
        but the name where it has numbers, dates, or few levels of them.
    """

    name: str
    what: What
    reason: str
    kept: bool = True
    repeats: bool = False
    most_rows: int = 0
    values: int = 0
    doubt: str = ""
    odd: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether it can be a column at all, if somebody wants it to."""
        some = "kind" in self.fields or self.values <= MAX_CATEGORIES
        return some and self.what not in ("empty", "unreadable")


def recognize(frame: pd.DataFrame) -> tuple[RecognizedColumn, ...]:
    """What every column of a table seems to be, in their order. Looks at all rows: for the screen alone."""
    found = [recognize_column(name, frame[name]) for name in require_frame(frame, texts=True).columns]
    for group, (seen, proposed) in flag_groups(frame, found):
        flags, first = tuple(found[j].name for j in group), found[group[0]]
        words = seen.format(n=len(group), first=repr(flags[0]), last=repr(flags[-1]))
        found[group[0]] = replace(first, doubt=f"{first.doubt}\n{words}: {proposed}".strip(), flags=flags)
    return tuple(found)


def flag_groups(frame: pd.DataFrame, found: Sequence[RecognizedColumn]) -> Iterator[tuple[list[int], tuple[str, str]]]:
    """Positions of columns of 0 and 1, neighbors among such, of which each row has one 1; and why.

    Or at most one, where their headers begin alike: one of them was left out. Rows in which all of
    them are missing do not count.
    """
    likely = {j: as_flags(frame.iloc[:, j]) for j, one in enumerate(found) if one.kept and one.values == 2}
    flags = {j: cells for j, cells in likely.items() if {*cells[~np.isnan(cells)].tolist()} == {0.0, 1.0}}
    known = ~np.isnan([*flags.values()]).all(axis=0)
    weights = np.random.default_rng(0).integers(1, 2**62, len(frame), dtype=np.uint64) * known
    sums: dict[int, int] = {}  # positions by what the weights of rows with a 1 sum to, from the first flag on
    total, whole, positions = 0, int(weights.sum()), list(flags)

    def most(group: list[int]) -> float:
        """The most flags of a row, or nothing where it would be no more by chance."""
        both = np.array([flags[j][known] for j in group])
        shares = np.nanmean(both, axis=1)
        together = known.sum() * (shares.sum() ** 2 - (shares**2).sum()) / 2
        return both.sum(axis=0).max() if together >= BY_CHANCE else 0

    for k, j in enumerate(positions):
        sums[total] = k
        total = (total + int(weights[flags[j] == 1].sum())) % 2**64
        group = positions[sums.get((total - whole) % 2**64, k) : k + 1]
        if len(group) > 1 and most(group) == 1:
            yield group, ONE_HOT
            sums, flags = {}, {j: cells for j, cells in flags.items() if j not in group}
    for start in STARTS:
        begun = {j: match[0] for j in flags if (match := start.match(found[j].name))}
        for _, some in groupby(begun, begun.__getitem__):
            if most(group := [*some]) == 1:
                yield group, ONE_LEFT_OUT
                flags = {j: cells for j, cells in flags.items() if j not in group}


def class_column(found: Sequence[RecognizedColumn]) -> str | None:
    """The column that is likeliest the class by its header; None if there is none.

    A whole header comes first, then two values; `vehicle_class` is one with two values alone.
    """
    fits = [one for one in found if one.kept and one.what == "category" and 2 <= one.values <= MOST_CLASSES]
    ranks = {
        one.name: class_rank(one.name, one.values) for one in reversed(fits) if "class" in kinds_of_header(one.name)
    }
    name = min(ranks, key=ranks.__getitem__, default="")
    return name if name and not all(ranks[name][:2]) else None


def recognize_column(name: str, values: pd.Series[Any]) -> RecognizedColumn:
    """What one column seems to be."""
    if not name.strip() or not is_writable(name):
        reason = "its name has characters that no file can hold" if name.strip() else "it has no name"
        return RecognizedColumn(name=name, what="unreadable", kept=False, reason=reason)
    seen = ColumnSummary.of(name, values)
    if not seen.rows:
        return RecognizedColumn(name=name, what="empty", kept=False, reason="every cell is missing")
    if seen.different == 1 and seen.rows == len(values):
        found = seen.called("constant", "one value in every row: it tells nothing", kept=False)
    else:
        found = _date(seen) or _unread(seen) or _number(seen) or _words(seen)
    if found.what in ("integer", "continuous") and "class" in seen.meant and 2 <= seen.different <= MOST_CLASSES:
        found = seen.called("category", f"{seen.different:,} values, and the name of a class")
    several = found.kept and found.what in ("category", "integer") and found.values > 2
    if several and found.most_rows > 1 and tells_people(name):
        # It is left out before somebody says that its values are no persons.
        found = replace(found, kept=False, repeats=True, reason=phrase("its values may be persons"))
    listed = found.possible and "kind" not in found.fields
    if listed and not is_writable(*factorize_texts(values.dropna())[1]):
        return seen.called("unreadable", "values of it have control characters, which no chart can hold", kept=False)
    return found


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What one look at a column's cells gives: its different values, and how many rows have each."""

    name: str
    meant: set[str]
    words: pa.Array | None  # the different texts, where they are texts
    numbers: Floats | None  # the different numbers, where they are stored as such
    days: Floats | None  # the different days, where cells are stored as times
    counts: Ints  # the rows of each value
    blank: bool  # whether some cell is an empty text
    has_times: bool = False  # whether days have a time of day, other than midnight

    @classmethod
    def of(cls, name: str, values: pd.Series[Any]) -> ColumnSummary:
        """Of a column as it was read."""
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

    def called(self, what: What, reason: str, **more: Any) -> RecognizedColumn:
        """The column as something."""
        more["fields"] = {**(ABSENT if self.blank else {}), **more.get("fields", {})}
        more |= {"values": self.different, "most_rows": int(self.counts.max())}
        return RecognizedColumn(name=self.name, what=what, reason=reason, **more)

    def spread(self, what: What, by: NumberSpread, at: Flags, form: str, *words: str) -> RecognizedColumn:
        """The column as numbers, dates or levels of them, which the cells `at` say."""
        days, written = what == "date", NumberFormat.from_example(form)
        if not days and written is not None and not written.is_plain:
            by = replace(by, levels=())  # which would lose the form
        kind, tell = ("date", iso) if days else ("number", short)
        first, *others = words
        odd = () if self.words is None else tuple(self.words.filter(pa.array(~at)).to_pylist())
        if odd:
            some = " ".join(", ".join(odd[:NAMED]).split()) + (" …" if len(odd) > NAMED else "")
            cells = f"{some} ({self.counts[~at].sum():,}×)"
            first = f"{first}\n{cells}: {phrase('they count as missing.')}".strip()
        fields = by.fields(cast(Kind, what), form)
        absent = odd or by.marks or (by.outliers and by.levels)
        fields |= ABSENT if absent else {"outside": "clip"} if by.outliers else {}
        doubt = "\n".join(filter(None, [first, *by.remarks, *others]))
        more: dict[str, Any] = {"fields": fields, "odd": odd, "doubt": doubt}
        if by.levels:
            return self.called("category", f"{len(by.levels):,} levels", **more)
        kind = f"whole {kind}" if what == "integer" else kind
        reason = f"{kind}s from {tell(by.low)} to {tell(by.high)}"
        reason += f", written {'' if days else 'like '}{form}" if form else ""
        if by.step:
            many = "first days of a" if days else "multiples of"
            reason += f", all of them {many} {by.step if days else short(float(by.step))}"
        return self.called(what, reason, **more)

    def identifier(self, why: str = "", **more: Any) -> RecognizedColumn:
        """The column as an identifier."""
        values = f"{self.different:,} different values in {self.rows:,} rows"
        if self.different == self.rows:
            return self.called("identifier", f"{values}: {why or 'an identifier'}", kept=False, **more)
        values += f", up to {int(self.counts.max()):,} rows with one value: {why or 'an identifier'} that repeats"
        doubt = "If its values are persons, a person has several rows, and epsilon for one row is several times theirs."
        return self.called("identifier", values, kept=False, repeats=True, doubt=doubt, **more)

    def named(self) -> bool:
        """Whether its header says that it identifies, and its values are as many as that takes."""
        several = self.many and (self.share >= 0.05 or self.different > MAX_CATEGORIES)
        numbered = "numbered" in self.meant and self.many and self.share >= 0.5
        return numbered or (several and not self.meant.isdisjoint(("identifier", "contact", "person", "holder")))


def _date(seen: ColumnSummary) -> RecognizedColumn | None:
    """A column of dates: all of its values are, in one order of day and month."""
    doubt, form = "", ""
    if seen.days is not None:
        days = seen.days
    elif seen.words is None:
        days, form = _compact(seen), "ymd"
    else:
        days, form, doubt = _said_days(seen, seen.words)
    said = ~np.isnan(days)
    if not len(days) or not _mostly(seen, said):
        return None
    different, counts = count_equal(days[said], seen.counts[said])
    if len(different) == 1:
        return None  # a category of one value, or of one day and several times
    spread = replace(usual(different, counts, days=True)[2], step=first_days(different))
    times = f"{phrase('Times of day are cut off')}: {phrase('make a column of their hours if you need them.')}"
    return seen.spread("date", spread, said, form, doubt, times if seen.has_times else "")


def count_equal(numbers: Floats, counts: Ints) -> tuple[Floats, Ints]:
    """Numbers in ascending order, each once, and the rows of each."""
    different, index = np.unique(numbers, return_inverse=True)
    return different, np.bincount(index, counts).astype(int)


def _compact(seen: ColumnSummary) -> Floats:
    """The days of numbers such as 20210305, if they all are."""
    assert seen.numbers is not None
    ends = seen.numbers[[0, -1]] if len(seen.numbers) else np.zeros(1)
    if ends.min() < 18500101 or ends.max() > 21001231 or (seen.numbers % 1 != 0).any():
        return np.empty(0)
    return parse_days(pa.array(seen.numbers.astype(np.int64).astype(str).tolist(), pa.large_string()))


def _said_days(seen: ColumnSummary, words: pa.Array) -> tuple[Floats, str, str]:
    """The days that texts say, NaN for a few that say none, in which order of day and month, and what is doubtful."""
    none = np.empty(0)
    if np.isnan(np.fmax(parse_days(words[:FEW], "d/m/y"), parse_days(words[:FEW], "m/d/y"))).sum() > 1:
        return none, "", ""  # most columns are none, and are done with quickly
    order, doubt, days = "", "", parse_days(words)
    if _mostly(seen, ~np.isnan(days)):
        compact = pc.all(pc.match_substring_regex(words, COMPACT)).as_py()
        if compact and not (CENTURIES[0] <= np.nanmin(days) and np.nanmax(days) <= CENTURIES[1]):
            return none, "", ""
    else:
        orders = {form: parse_days(words, form) for form in ("d/m/y", "m/d/y")}
        lacking = {form: int(np.isnan(found).sum()) for form, found in orders.items()}
        fits = [form for form, found in orders.items() if _mostly(seen, ~np.isnan(found))]
        if not fits:
            return none, "", ""
        fewest = min(lacking[form] for form in fits)  # a day of 13 and more is no odd text
        fits = [form for form in fits if lacking[form] == fewest]
        order = min(fits, key=lambda form: first_days(orders[form]) is None)
        days = orders[order]
        # Slashes and hyphens part days and months in both orders; points say that days are first.
        either = any(pc.any(pc.match_substring_regex(words, YEAR_LAST[i])).as_py() for i in (0, 2))
        if len(fits) == 2 and either and np.nan_to_num(orders["d/m/y"] - orders["m/d/y"]).any():
            rest = f"(no number is above 12): read as {order}."
            doubt = f"No date tells whether the day or the month comes first {rest}"
    return days, detect_date_format(words.filter(pa.array(~np.isnan(days))), order), doubt


def _unread(seen: ColumnSummary) -> RecognizedColumn | None:
    """A column of dates or amounts in a form that is not read: it is left out, with what to write in its place."""
    words, dated = seen.words, "moment" in seen.meant
    looks = [one for one in UNREAD if dated or not one.get("dated")] if seen.different > FEW else []
    if words is None:
        if seen.numbers is None or not looks or not (dated or seen.numbers[0] > UNMARKED):
            return None
        digits = 8 * (seen.numbers[0] > UNMARKED)
        texts = [f"{number:.10g}".zfill(digits) for number in seen.numbers.tolist()]
        words = pa.array(texts, pa.large_string())
        looks = [one for one in looks if one.get("digits")]
    for one in looks:
        fits = np.asarray(pc.match_substring_regex(words, one["pattern"]))
        likely = words.filter(pa.array(fits))
        if _mostly(seen, fits, MANY) and pc.any(pc.match_substring_regex(likely, one.get("some", ""))).as_py():
            reason = "{:,} values that look like {what}, which are not read: write {write}"
            return seen.called("text", reason.format(seen.different, **one), kept=False)
    return None


def _number(seen: ColumnSummary) -> RecognizedColumn | None:
    """A column of numbers, and of a few words; None if its values are none, or are codes and names made of digits."""
    form, doubt, found = None, "", seen.numbers
    if found is None and seen.words is not None:
        found, form, doubt = _said_numbers(seen)
    if found is None or not len(found):
        return None
    said = ~np.isnan(found)
    if np.isinf(found[said]).any():
        return seen.called("unreadable", "it has infinite values", kept=False)
    found, counts = count_equal(found[said], seen.counts[said])
    low, high = float(found[0]), float(found[-1])
    if form is not None and max(abs(low), abs(high)) * form.steps_per_unit >= MOST_EXACT:
        return None
    whole = bool((found % 1 == 0).all()) and max(abs(low), abs(high)) < MOST_EXACT and not (form and form.decimals)
    if form is None and whole:
        ends: dict[str, Any] = {"fields": {"kind": "integer", "lower": low, "upper": high}}
        ends["fields"] |= {} if said.all() else ABSENT
        if seen.named():
            return seen.identifier(**ends)
        if seen.many and seen.different == seen.rows == high - low + 1 and low in (0, 1) and seen.rows > SOME:
            return seen.identifier("the rows, counted", **ends)
        coded = "coded" in seen.meant and high - low >= MOST_ROUND
        if coded or not seen.meant.isdisjoint(("code", "identifier")):
            return _category(seen, "codes")
    if low == high:  # one value, and missing cells
        return _category(seen)
    if form is None and not whole:
        form = _decimals(found)
    known, fine = limits(seen.name), form.steps_per_unit if form else float(whole)
    spread = spread_of(found, counts, known and known[:2], whole=whole and form is None, fine=fine)
    evenly = _evenly(seen) if whole and said.all() and not spread.levels else ""
    if whole and "moment" in seen.meant and any(a <= low and high <= b for a, b in EPOCHS):
        evenly = phrase("If these count seconds since 1970, write them as dates, such as 2019-12-31.")
    what: What = "integer" if whole else "continuous"
    return seen.spread(what, spread, said, str(form or ""), doubt, evenly)


def _said_numbers(seen: ColumnSummary) -> tuple[Floats | None, NumberFormat | None, str]:
    """The numbers that texts say, NaN for a few that say none, in which form, and what is doubtful about it."""
    words = seen.words
    assert words is not None
    if pc.any(pc.match_substring_regex(words, NAME)).as_py():
        return None, None, ""
    found, form, doubt = parse_numbers(words), None, ""
    if np.isnan(found).any() and not _mostly(seen, ~np.isnan(found)):
        digits = pc.match_substring_regex(words, "[0-9]")
        written = detect_number_format(words.filter(digits)) if _mostly(seen, np.asarray(digits)) else None
        if written is None:
            return None, None, ""
        form, doubt = written
        found = form.parse_texts(words)
    return found, form, doubt


def _mostly(seen: ColumnSummary, there: Flags, most: int = MOST_ODD) -> bool:
    """Whether nine of ten cells have one of these values, and the others few different ones."""
    return bool(there.all()) or bool(seen.counts[there].sum() >= MOSTLY * seen.rows and (~there).sum() <= most)


def _evenly(seen: ColumnSummary) -> str:
    """What is suspicious about whole numbers that may be numbers of persons; empty if nothing is."""
    if seen.different == seen.rows > MANY:
        return "Every row has another number: it may tell persons apart, and then belongs to no release."
    if seen.different > MANY and seen.rows >= 1.5 * seen.different and seen.counts.var() < seen.counts.mean() / 4:
        return "Many numbers, and each in nearly as many rows: it may tell persons apart."
    return ""


def _decimals(found: Floats) -> NumberFormat | None:
    """The form that says how many decimals numbers have; None if they have many."""
    for decimals in range(1, MOST_DECIMALS + 1):
        steps = 10.0**decimals
        if np.abs(found).max() * steps < MOST_EXACT and (np.rint(found * steps) / steps == found).all():
            return NumberFormat(decimals=decimals)
    return None


def _words(seen: ColumnSummary) -> RecognizedColumn:
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
    texts = int(seen.counts[np.isnan(parse_numbers(words))].sum())
    found = _category(seen, "" if texts else "codes made of digits")
    if 0 < texts < seen.rows:
        some = f"{seen.rows - texts:,} rows hold numbers, and all others text"
        if 2 * texts <= seen.rows:
            some = f"{texts:,} rows hold text, and all others numbers"
        return replace(found, doubt=f"{some}: it is read as categories.")
    return found


def _category(seen: ColumnSummary, why: str = "") -> RecognizedColumn:
    """A column of categories, if they are not too many."""
    reason = f"{seen.different:,} different values" + (f": {why}" if why else "")
    if seen.different <= MAX_CATEGORIES:
        return seen.called("category", reason)
    reason += f"; at most {MAX_CATEGORIES:,} categories are allowed. Group its values before uploading if you need it"
    return seen.called("category", reason, kept=False)
