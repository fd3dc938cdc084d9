"""One column's public description, and the fixed rule that turns its cells into codes and back."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from datetime import date
from functools import cached_property
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Self, cast, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints, is_number, plain
from dpcore.domain.cells import distinct
from dpcore.domain.dates import day_of, iso, usual_unit
from dpcore.domain.former_names import renamed_fields
from dpcore.domain.scales import SCALES, Bins, Fail, Reals
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError, SchemaError
from dpcore.text import as_text, canonical, is_writable

Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of rows: entry (i, j) is the category or bin of row i in column j; column-major when two-dimensional."""
Counts = NDArray[np.int64]
"""How many rows have each combination of codes of some columns, an axis for each of them."""
FEW_CUTS = 64  # up to here comparing with each is faster than looking for the bin
MOST_DRAWS = 20  # of a number that may not be drawn
MAX_CATEGORIES = 1_000
DEFAULT_BINS = 16
MISSING = "(missing)"
Kind = Literal["categorical", "ordered", "integer", "continuous", "date"]
Bound = float | str | date | None
BinEdges = int | str | Sequence[float | str | date]
KINDS: tuple[Kind, ...] = get_args(Kind)
Origin = Literal["declared", "document", "proposed", "changed"]


class CodedColumn(NamedTuple):
    """Codes of cells, shape (n,); a numeric column's numbers, shape (n,); and how many cells do not fit, by why."""

    codes: Codes
    numbers: Floats | None
    misfits: Counter[str]


@dataclass(frozen=True)
class Column:
    """Public description of one column: its name, its kind, and which values may occur.

    Parameters
    ----------
    name : str
        The header, unique in its schema.
    kind : {"categorical", "ordered", "integer", "continuous", "date"}
        `integer`, `continuous` and `date` have bounds and bins; the others a list of categories.
    categories : tuple of str, optional
        All values that may occur, in public order. Values are compared by `canonical` (`3`, `3.0`
        and `"3.0"` are equal).
    lower, upper : float, optional
        Public inclusive bounds, which numbers and dates need. Those of dates are given as ISO text
        or dates, and kept as days since 1970-01-01: to methods a date is that whole number.
    bins : int, tuple of float, or {"day", "week", "month", "quarter", "year"}, default=16
        Number of equal-width bins, or the cut points between `lower` and `upper`; of dates, also a
        unit of the calendar. A bin holds its left cut. Integers and days `lower..upper` are divided
        as [lower, upper + 1).
    number_format : str, optional
        How cells are written. For numbers, 1234.5 or 1234 as the column writes it: `1234.50` (two
        decimals), `$1,234.50`, `1.234,50 €`, `1234.5 %`; what is drawn is written so, or is a plain
        number where only the decimals are said. For dates, "d/m/y", "m/d/y", "d.m.y", "ymd",
        "d-mon-y" (05-Mar-2021), "month d, y" and the like; what is drawn is written so, else as ISO
        text. Which of two is the day is read by it; year first and names of months are read always.
    step : float or {"week", "month", "quarter", "year"}, optional
        The grid of what is drawn: numbers are multiples of it, dates first days of that unit.
        Bounds and cut points of numbers are multiples too. Cells that are read may be others.
    missing : bool, default=False
        Whether "missing" is a declared value (the last code). If not, missing cells are refused.
    missing_values : tuple of float, optional
        Numbers that stand for a missing one, such as 999; of dates, dates. They count as missing.
    outside : {"refuse", "clip"}, default="refuse"
        What encoding does with cells outside the declaration: raise, or move each by a public rule,
        so that every cell has a code. Numbers go to the nearest bound, fractions in an integer
        column down to the whole number, and cells that are missing or no number to "missing" if
        that is declared, else to `lower`. Unknown categories go to "missing", which must then be
        declared.
    description : str, optional
        For people.
    taxonomy : Taxonomy, optional
        A public tree whose leaves are the categories or, for numbers, the labels of the bins;
        "missing" is not in it.
    flags : tuple of str, optional
        The headers of the columns of 0 and 1 (or no and yes) that it is put together from, one for
        each category in order; a frame may have these in its place.
    origin : {"declared", "document", "proposed", "changed"}, default="declared"
        Where its bounds or categories come from, for ever: a person wrote them; a document that
        says no more; `infer` proposed them from the rows, and they were declared as they were; or
        changed. It does not count when columns are compared, and `dataclasses.replace` keeps it.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself: no categories, bounds that do not ascend, or the
        like.

    Examples
    --------
    >>> import dpcore as dp
    >>> age = dp.Column("age", "integer", lower=0, upper=99, bins=10)
    >>> age.labels[:3]
    ('0–9', '10–19', '20–29')
    >>> sex = dp.Column("sex", "categorical", categories=("F", "M"), missing=True)
    >>> sex.size
    3
    """

    name: str
    kind: Kind
    _: KW_ONLY
    categories: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None
    bins: Bins = DEFAULT_BINS
    number_format: str = ""
    step: float | str | None = None
    missing: bool = False
    missing_values: tuple[float, ...] = ()
    outside: Literal["refuse", "clip"] = "refuse"
    description: str = ""
    taxonomy: Taxonomy | None = None
    flags: tuple[str, ...] = ()
    origin: Origin = field(default="declared", compare=False)

    if TYPE_CHECKING:  # bounds and cuts of dates may be texts, which the fields then are not

        def __init__(
            self,
            name: str,
            kind: Kind,
            *,
            lower: Bound = None,
            upper: Bound = None,
            bins: BinEdges = ...,
            **fields: Any,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._settle()

        def fail(cause: str, remedy: str) -> NoReturn:
            raise SchemaError(f"Column {self.name!r}: {cause}", remedy)

        if not is_writable(self.name, self.description, self.number_format, *self.categories):
            cause = "A column's name, description or category has a control character, or half of a character."
            raise SchemaError(cause, "Write it again, without it.")
        if not self.name.strip():
            raise SchemaError("A column has no name.", "Give every column a header.")
        if self.kind not in KINDS:
            fail("its type is not known.", f"Choose one of {', '.join(KINDS)}.")
        if self.outside not in ("refuse", "clip"):
            fail("`outside` is not known.", "Choose refuse or clip.")
        if self.flags and self.numeric:
            fail("`flags` are for categorical columns only.", "Declare categories.")
        if self.missing_values and not (self.numeric and self.missing):
            fail("`missing_values` need a numeric column whose cells may be missing.", "Declare both, or drop them.")
        if self.numeric:
            self._check_numbers(fail)
        else:
            self._check_categories(fail)
            if self.number_format or self.step is not None:
                fail("a categorical column has no number_format and no step.", "Leave both out.")
        if self.taxonomy is None:
            return
        if misfit := self.taxonomy.misfit(self.labels[: self.size - self.missing]):
            remedy = "If the bins changed, make the intervals again." if self.numeric else "Give one row per category."
            fail(f"{misfit}.", f"{remedy} Or remove the taxonomy.")
        if self.missing and (len(self.taxonomy.paths[0]) == 1 or any(MISSING in p for p in self.taxonomy.paths)):
            fail(f"its taxonomy has no place for {MISSING}.", f"Give it a root, and no node called {MISSING}.")

    def _settle(self) -> None:
        """Python's own numbers, texts and tuples in place of what was given; SchemaError where that cannot be."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            object.__setattr__(self, name, plain(tuple(value) if isinstance(value, list | np.ndarray) else value))
        if not all(isinstance(text, str) for text in (self.name, self.description, self.number_format)):
            raise SchemaError("A column's name, description or number_format is not a text.", "Pass a text.")
        for name, days in each_number(vars(self), day_of).items() if self.kind == "date" else ():
            if days is None or (isinstance(days, tuple) and None in days):
                cause = f"Column {self.name!r}: a bound or cut point is no date."
                raise SchemaError(cause, "Write 2021-03-05.")
            object.__setattr__(self, name, days)
        points = self.bins if isinstance(self.bins, tuple) else ()
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        texts = isinstance(self.categories, tuple) and all(isinstance(c, str | int | float) for c in self.categories)
        for name, sound, remedy in (
            ("lower and upper", all(map(is_number, bounds)), "Give numbers."),
            ("bins", all(map(is_number, points)), "Give a whole number of bins, or a tuple of numbers."),
            ("missing", isinstance(self.missing, bool), "Use True or False."),
            ("missing_values", all(map(is_number, self.missing_values)), "Give a tuple of numbers, such as (999,)."),
            ("origin", self.origin in get_args(Origin), f"Use one of {', '.join(get_args(Origin))}."),
            ("categories", texts, 'Give a tuple of texts, such as ("no", "yes").'),
        ):
            if not sound:
                raise SchemaError(f"Column {self.name!r}: the {name!r} argument is of a wrong kind.", remedy)
        object.__setattr__(self, "categories", tuple(map(as_text, self.categories)))

    def _check_categories(self, fail: Fail) -> None:
        if not self.categories:
            fail("it has no categories.", "List every value that may occur.")
        if len({canonical(c) for c in self.categories}) != len(self.categories) or any(not c for c in self.categories):
            fail("a category is empty or listed twice.", "List every category once.")
        if self.flags and len({*map(str, self.flags)}) != len(self.categories):
            fail("`flags` must name one column of 0 and 1 for each category.", "List their headers in the same order.")
        if len(self.categories) > MAX_CATEGORIES:
            fail(
                f"it has {len(self.categories):,} categories; at most {MAX_CATEGORIES:,} are allowed.",
                "Leave the column out, or group its values first.",
            )
        if self.outside == "clip" and not self.missing:
            fail("clip cannot move unknown categories.", "Declare missing values, or choose refuse.")

    def _check_numbers(self, fail: Fail) -> None:
        low, high, remedy = self.lower, self.upper, "Give the lowest and highest value that may occur."
        if low is None or high is None:
            fail("its bounds are not declared.", remedy)
        small = max(abs(low), abs(high)) <= sys.float_info.max  # which a whole number of 400 digits is not
        if not small or not math.isfinite(float(high) - float(low)):
            fail("its bounds are not finite numbers, or too large.", remedy)
        self._scale.check(fail)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.kind}, {self.values_text})"

    @property
    def values_text(self) -> str:
        """Its bounds and bins, or how many categories it has and the first of them, for people."""
        names = shorten(", ".join(self.categories), 60, placeholder="…", break_on_hyphens=False)
        found = self.bounds_text if self.numeric else f"{len(self.categories):,} values: {names}"
        return f"{found}, or missing" if self.missing else found

    @property
    def bounds_text(self) -> str:
        """A numeric column's bounds, bins and step, as a person would write them."""
        return self._scale.text

    @property
    def numeric(self) -> bool:
        """Whether the column has bounds and bins rather than categories."""
        return self.kind in SCALES

    @property
    def is_plain_number(self) -> bool:
        """Whether its cells are plain numbers: no dates, and no signs or marks in them."""
        return self.numeric and self._scale.bare

    @property
    def whole(self) -> bool:
        """Whether it is numeric and its numbers are whole ones: integers, or days."""
        return self.numeric and self._scale.whole

    @cached_property
    def _scale(self) -> Reals:
        """What numbers a numeric column holds."""
        low, high = cast(tuple[float, float], (self.lower, self.upper))
        return SCALES[self.kind](low, high, self.bins, self.number_format, self.step)

    @property
    def edges(self) -> Floats:
        """The boundaries of the bins, shape (bins + 1,); of whole numbers up to `upper + 1`."""
        return self._scale.edges

    @property
    def size(self) -> int:
        """Number of codes, "missing" included."""
        return (self._scale.count if self.numeric else len(self.categories)) + self.missing

    @property
    def labels(self) -> tuple[str, ...]:
        """A short name for every code, for charts and tables."""
        names = self.categories
        if self.numeric:
            names = tuple(self.interval(code, code + 1) for code in range(self._scale.count))
        return (*names, unlike(MISSING, names)) if self.missing else names

    def rounded_bounds(self) -> tuple[float, float]:
        """Return a numeric column's bounds, rounded outward."""
        return self._scale.outward()[:2]

    def round_outward(self, known: tuple[float, float, Bins] | None = None) -> Self:
        """Return the column with its bounds rounded outward, or with bounds that everyone knows in their place.

        Bins that nobody chose become those of the round width, or of the calendar. A column without
        bounds, or whose bounds are too large to be rounded, stays as it is.

        Parameters
        ----------
        known : (float, float, int), optional
            Such bounds, and a number of bins.

        Returns
        -------
        Column
            The rounded one, or this one.
        """
        if not self.numeric:
            return self
        low, high = cast(tuple[float, float], (self.lower, self.upper))
        usual = self.bins == (usual_unit(low, high, self.step) if self.kind == "date" else DEFAULT_BINS)
        try:
            rounded = self._scale.outward()
            lower, upper, bins = known or rounded
            bins = bins if usual else self.bins
            same = (lower, upper, bins) == (low, high, self.bins)
            return self if same else replace(self, lower=lower, upper=upper, bins=bins, taxonomy=None)
        except (SchemaError, OverflowError):  # too large, or too many bins
            return self

    def interval(self, first: int, end: int) -> str:
        """Write some bins as one interval; a label is the interval of one bin.

        Parameters
        ----------
        first, end : int
            The codes of the first bin, and of the bin after the last.

        Returns
        -------
        str
            The interval, such as "20–39".
        """
        return self._scale.interval(first, end)

    def format_value(self, number: float) -> str:
        """Write a number of a numeric column as the column writes it, a day as its date.

        Parameters
        ----------
        number : float
            The number; of dates, days since 1970-01-01.

        Returns
        -------
        str
            The text.
        """
        return self._scale.describe(number)

    @cached_property
    def _codes(self) -> dict[str, int]:
        """The categories' codes, by the texts that are compared."""
        return {canonical(category): code for code, category in enumerate(self.categories)}

    def encode(self, values: pd.Series[Any]) -> Codes:
        """Encode one column's cells, each by its own cell alone (`cells`, `numbers`).

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.

        Returns
        -------
        array of unsigned int, shape (n,)
            Their codes, from 0 to `size - 1`.

        Raises
        ------
        DataError
            If cells are missing, not numbers, or outside the declaration and the column does not
            allow it. How many is said apart (`DataError.private`), which value never. With "clip",
            never.
        """
        found = self.encode_counting_misfits(values)
        self.refuse(found.misfits)
        return found.codes

    def encode_counting_misfits(self, values: pd.Series[Any], times: Ints | None = None) -> CodedColumn:
        """Encode cells as `encode` does, with their numbers, but count what does not fit.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.
        times : int array of shape (n,), optional
            How many cells each value stands for. Default: one.

        Returns
        -------
        Coded
            The codes, the numbers (None for categories), and how many cells do not fit, by why.
        """
        if self.numeric:
            return self.coded_numbers(self._scale.read(values), values.isna().to_numpy(dtype=bool), times)
        indices, texts = distinct(values, unused=True)
        known = np.array([self._codes.get(canonical(text), -1) for text in texts], dtype=np.int64)
        codes, absent = np.append(known, self.size - 1)[indices], indices < 0
        unknown = codes < 0
        codes[unknown] = self.size - 1
        misfits = tally(times, unknown=unknown & (self.outside == "refuse"), absent=absent & (not self.missing))
        return CodedColumn(codes.astype(code_dtype(self.size)), None, misfits)

    def encode_arrow(self, cells: pa.Array) -> CodedColumn:
        """Encode cells in Arrow's memory as `encode_counting_misfits` does.

        A code hangs on its own cell alone. So equal cells are understood once: a dictionary costs a
        look-up per cell, and numbers are compared with the cuts as they lie in memory, without an
        object for any.

        Parameters
        ----------
        cells : Array of shape (n,)
            The cells: numbers, truth values, or a dictionary of whatever they are.

        Returns
        -------
        Coded
            As of `encode_counting_misfits`.
        """
        numeric = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
        if numeric and self.numeric and self.kind != "date":
            numbers = cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
            return self.coded_numbers(numbers, np.isnan(numbers))
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        words = cells.dictionary
        indices = cells.indices.fill_null(len(words)).to_numpy()
        values = pa.concat_arrays([words, pa.nulls(1, words.type)]).to_pandas()  # the last is of missing cells
        found = self.encode_counting_misfits(values, np.bincount(indices, minlength=len(values)))
        return CodedColumn(
            found.codes[indices], None if found.numbers is None else found.numbers[indices], found.misfits
        )

    def coded_numbers(self, numbers: Floats, absent: Flags, times: Ints | None = None) -> CodedColumn:
        """Encode a numeric column's cells that are numbers already, and count what does not fit.

        Parameters
        ----------
        numbers : float array of shape (n,)
            What the cells say, NaN where one is missing or says no number.
        absent : bool array of shape (n,)
            Which cells are missing.
        times : int array of shape (n,), optional
            How many cells each number stands for. Default: one.

        Returns
        -------
        Coded
            As of `encode_counting_misfits`.
        """
        shifted, misfits = self._shift(numbers, absent, times)
        points, dtype = self.edges[1:-1], code_dtype(self.size)
        if len(points) > FEW_CUTS:  # below, comparing with each is faster
            codes: Codes = np.searchsorted(points, shifted, side="right").astype(dtype)
        else:
            codes = np.zeros(len(shifted), dtype=dtype)
            for point in points.tolist():
                codes += shifted >= point
        if self.missing:
            codes[np.isnan(shifted)] = self.size - 1
        return CodedColumn(codes, shifted, misfits)

    def numbers(self, values: pd.Series[Any]) -> Floats:
        """Return a numeric column's cells as the numbers that they are coded by.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.

        Returns
        -------
        float array of shape (n,)
            The numbers, clipped if the column clips; NaN for the code "missing".

        Raises
        ------
        DataError
            As for `encode`.
        """
        found, misfits = self._shift(self.to_numbers(values), values.isna().to_numpy(dtype=bool))
        self.refuse(misfits)
        return found

    def _shift(self, numbers: Floats, absent: Flags, times: Ints | None = None) -> tuple[Floats, Counter[str]]:
        """Numbers moved into the declaration, and how many cells do not fit as they are."""
        low, high, misfits = cast(float, self.lower), cast(float, self.upper), Counter[str]()
        if self.missing_values:
            marked = np.isin(numbers, self.missing_values)
            numbers, absent = np.where(marked, np.nan, numbers), absent | marked
        if self.outside == "refuse":
            misfits = tally(
                times,
                words=np.isnan(numbers) & ~absent,
                far=(numbers < low) | (numbers > high),
                fractions=(np.floor(numbers) != numbers) & ~absent & (self.kind == "integer"),
                absent=absent & (not self.missing),
            )
        numbers = np.clip(numbers, low, high)
        if self._scale.whole:
            numbers = np.floor(numbers)
        return (numbers if self.missing else np.where(np.isnan(numbers), low, numbers)), misfits

    def to_numbers(self, values: pd.Series[Any]) -> Floats:
        """Return a numeric column's cells as the numbers that they say.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.

        Returns
        -------
        float array of shape (n,)
            The numbers; NaN where a cell is missing or says none.
        """
        return self._scale.read(values)

    def refuse(self, misfits: Mapping[str, int]) -> None:
        """Raise DataError for cells that do not fit; do nothing if there are none.

        Parameters
        ----------
        misfits : mapping of str to int
            How many cells do not fit, by why, as `encode_counting_misfits` counts them.

        Raises
        ------
        DataError
            If there are any. How many is said apart (`DataError.private`).
        """
        has, cells = f"Column {self.name!r} has ", f"cells of column {self.name!r}"
        clip = "or choose “clip” for values outside."

        def fail(why: str, before: str, after: str, remedy: str) -> None:
            if count := misfits.get(why):
                some = "some" if before else "Some"
                raise DataError(f"{before}{some} {after}.", remedy, f"{before}{count:,} {after}.")

        if self.numeric:
            words = "Declare the column as categorical, or clean those cells before uploading."
            fail("words", has, f"cells that {self._scale.words}", words)
            bounds = " to ".join(map(self.format_value, (cast(float, self.lower), cast(float, self.upper))))
            fail("far", "", f"{cells} lie outside the declared bounds {bounds}", f"Widen the bounds, {clip}")
            fail("fractions", has, "fractional values, but is declared integer", "Declare it as continuous.")
        lacking = "Tick “missing” for this column, or remove those rows before uploading."
        fail("absent", has, "missing cells, but missing is not declared", lacking)
        fail("unknown", "", f"{cells} are not among the declared categories", f"Add the categories, {clip}")

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.Series[Any]:
        """Return cells for codes: the category, or a uniform draw inside the bin.

        Parameters
        ----------
        codes : int array of shape (n,)
            The codes.
        rng : numpy.random.Generator
            What draws.

        Returns
        -------
        Series of shape (n,)
            Categories, or numbers and dates as the column writes them.
        """
        if not self.numeric:
            index = codes.astype(np.int64)
            index[index >= len(self.categories)] = -1
            kind = pd.CategoricalDtype(list(self.categories), ordered=self.kind == "ordered")
            return pd.Series(pd.Categorical.from_codes(index, dtype=kind), name=self.name)
        return self.write(self.draw(codes, rng))

    def draw(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Draw a number for each of a numeric column's codes, uniformly inside its bin.

        Parameters
        ----------
        codes : int array of shape (n,)
            The codes.
        rng : numpy.random.Generator
            What draws.

        Returns
        -------
        float array of shape (n,)
            The numbers, NaN for "missing".
        """
        absent = codes >= self._scale.count
        bins = np.where(absent, 0, codes)
        numbers = self._scale.drawn(bins, rng)
        for _ in range(MOST_DRAWS if self.missing_values else 0):  # a mark of a missing one is no number
            marked = np.isin(numbers, self.missing_values) & ~absent
            numbers[marked] = self._scale.drawn(bins[marked], rng)
        return np.where(absent, np.nan, numbers)

    def write(self, numbers: Floats) -> pd.Series[Any]:
        """Write numbers as cells of a numeric column.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The numbers, NaN where a cell is missing.

        Returns
        -------
        Series of shape (n,)
            Numbers as the column writes them, or dates.
        """
        absent = np.isnan(numbers)
        cells = self._scale.cells(np.where(absent, cast(float, self.lower), numbers)).rename(self.name)
        if not self.missing:
            return cells
        return (cells.astype("Int64") if cells.dtype == np.int64 else cells).mask(absent)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as JSON-ready values, without the fields that do not apply."""
        raw = asdict(self) | {"taxonomy": self.taxonomy and [list(path) for path in self.taxonomy.paths]}
        raw |= each_number(raw, iso) if self.kind == "date" else {}
        skip = {"categories"} if self.numeric else {"lower", "upper", "bins"}
        skip |= {name for name in ("number_format", "step", "missing_values", "flags", "taxonomy") if not raw[name]}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in raw.items() if key not in skip}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Read a column from what `to_dict` gave.

        Parameters
        ----------
        raw : mapping
            The fields by name.

        Returns
        -------
        Column
            An equal column.

        Raises
        ------
        SchemaError
            If anything in it is malformed.
        """
        fields, remedy = renamed_fields(raw), "Export a schema to compare."
        if set(fields) - set(cls.__dataclass_fields__) or not isinstance(fields.get("name"), str):
            raise SchemaError("A column of the schema file has unknown or missing fields.", remedy)
        try:
            fields |= each_number(fields, str.strip if fields.get("kind") == "date" else float)  # or a TypeError
            if "flags" in fields:
                fields["flags"] = tuple(map(str, fields["flags"]))
            if fields.get("taxonomy") is not None:
                fields["taxonomy"] = Taxonomy.from_rows(fields["taxonomy"])
            return cls(**fields)
        except SchemaError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise SchemaError(f"Column {fields['name']!r} is malformed.", remedy) from None


def each_number(fields: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A column's bounds, cut points and missing values, each changed; without those not given."""
    found: dict[str, Any] = {}
    for name in ("lower", "upper", "bins", "missing_values"):
        given = fields.get(name)
        if isinstance(given, tuple | list):
            found[name] = tuple(map(change, given))
        elif given is not None and name != "bins":
            found[name] = change(given)
    return found


def unlike(name: str, others: Sequence[str]) -> str:
    """The name, marked if somebody's value is called so."""
    while name in others:
        name += "'"
    return name


def tally(times: Ints | None, **reasons: Flags) -> Counter[str]:
    """How many cells there are of each reason, if there are any; value i stands for `times[i]` of them."""
    counts = {why: int(np.count_nonzero(at) if times is None else times[at].sum()) for why, at in reasons.items()}
    return +Counter(counts)  # without those of which there are none


def code_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds `size` codes."""
    return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65_536 else np.uint32)
