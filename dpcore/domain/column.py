"""Public description of one column, and the fixed rule that encodes and decodes its cells."""

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
from dpcore.domain.cells import factorize_texts
from dpcore.domain.dates import as_day, default_unit, iso
from dpcore.domain.former_names import renamed_fields
from dpcore.domain.scales import SCALES, Bins, Fail, Reals
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError, SchemaError
from dpcore.text import as_text, canonical, is_writable

Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of rows: entry (i, j) is the category or bin of row i in column j; column-major."""
Counts = NDArray[np.int64]
"""Marginal of a clique: number of rows with each combination of codes, one axis per column."""
MOST_COMPARED = 64  # up to so many cut points, comparing with each is faster than a binary search
MOST_DRAWS = 20  # attempts to draw a number that is not one of `missing_values`
MAX_CATEGORIES = 1_000
DEFAULT_BINS = 16
MISSING = "(missing)"
Kind = Literal["categorical", "ordered", "integer", "continuous", "date"]
Bound = float | str | date | None
BinEdges = int | str | Sequence[float | str | date]
KINDS: tuple[Kind, ...] = get_args(Kind)
Origin = Literal["declared", "document", "proposed", "changed"]


class CodedColumn(NamedTuple):
    """Codes and numbers of one column's cells, with the number of cells that do not fit.

    `codes` and `numbers` have shape (n,); `numbers` is None for categories; `misfits` counts by
    reason.
    """

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
        Public inclusive bounds, required for numbers and dates. Those of dates are given as ISO
        text or dates, and stored as days since 1970-01-01: methods see a date as that whole number.
    bins : int, tuple of float, or {"day", "week", "month", "quarter", "year"}, default=16
        Number of equal-width bins, or the cut points between `lower` and `upper`; for dates also a
        unit of the calendar. A bin contains its left cut point. Integers and days `lower..upper`
        are divided as the interval [lower, upper + 1).
    number_format : str, optional
        How cells are written. For numbers, 1234.5 or 1234 as the column writes it: `1234.50` (two
        decimals), `$1,234.50`, `1.234,50 €`, `1234.5 %`. For dates, "d/m/y", "m/d/y", "d.m.y",
        "ymd", "d-mon-y" (05-Mar-2021), "month d, y" and the like; this also settles whether day or
        month comes first. Dates with the year first or the month's name are always read. Synthetic
        cells are written in the format: plain numbers if it only sets decimals, ISO text for dates
        without one.
    step : float or {"week", "month", "quarter", "year"}, optional
        Grid of synthetic values: numbers are multiples of it, dates first days of that unit. Bounds
        and cut points of numbers must be multiples too. Cells of the data set may be off the grid.
    missing : bool, default=False
        Whether "missing" is a declared value (the last code). If not, missing cells are refused.
    missing_values : tuple of float, optional
        Numbers that mean "missing", such as 999; for dates, dates.
    outside : {"refuse", "clip"}, default="refuse"
        What encoding does with cells outside the declaration: raise, or replace each by a public
        rule, so that every cell has a code. Numbers go to the nearest bound, and fractions in an
        integer column are rounded down. Cells that are missing or not numbers go to "missing" if
        that is declared, else to `lower`. Unknown categories go to "missing", which must then be
        declared.
    description : str, optional
        Note for readers.
    taxonomy : Taxonomy, optional
        A public tree whose leaves are the categories or, for numbers, the labels of the bins;
        "missing" is not in it.
    flags : tuple of str, optional
        The headers of the 0/1 (or no/yes) columns that this column replaces, one per category in
        order; a frame may have these columns instead.
    origin : {"declared", "document", "proposed", "changed"}, default="declared"
        Where the bounds or categories come from: a person; a document that says no more; `infer`,
        which proposed them from the rows, unchanged; or a proposal that was changed. It does not
        count when columns are compared, and `dataclasses.replace` keeps it.

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

    if TYPE_CHECKING:  # bounds of dates may be given as texts

        def __init__(
            self, name: str, kind: Kind, *, lower: Bound = None, upper: Bound = None, bins: BinEdges = ..., **more: Any
        ) -> None: ...

    def __post_init__(self) -> None:
        self._normalize_fields()

        def fail(cause: str, remedy: str) -> NoReturn:
            """Raise SchemaError about this column."""
            raise SchemaError(f"Column {self.name!r}: {cause}", remedy)

        if not is_writable(self.name, self.description, self.number_format, *self.categories):
            cause = "A column's name, description or category has a control character or half a character."
            raise SchemaError(cause, "Remove that character.")
        if not self.name.strip():
            raise SchemaError("A column has no name.", "Give every column a header.")
        if self.kind not in KINDS:
            fail("its kind is unknown.", f"Choose one of {', '.join(KINDS)}.")
        if self.outside not in ("refuse", "clip"):
            fail("`outside` is unknown.", "Choose refuse or clip.")
        if self.flags and self.numeric:
            fail("`flags` are for categorical columns only.", "Declare categories.")
        if self.missing_values and not (self.numeric and self.missing):
            fail("`missing_values` need a numeric column with missing=True.", "Declare both, or neither.")
        if self.numeric:
            self._check_numbers(fail)
        else:
            self._check_categories(fail)
            if self.number_format or self.step is not None:
                fail("only numeric columns have a number_format or a step.", "Leave both out.")
        if self.taxonomy is None:
            return
        if misfit := self.taxonomy.misfit(self.labels[: self.size - self.missing]):
            remedy = "Rebuild the intervals." if self.numeric else "Give one row per category."
            fail(f"{misfit}.", f"{remedy} Or remove the taxonomy.")
        if self.missing and (len(self.taxonomy.paths[0]) == 1 or any(MISSING in p for p in self.taxonomy.paths)):
            fail(f"its taxonomy has no place for {MISSING}.", f"Give it a root, and no node called {MISSING}.")

    def _normalize_fields(self) -> None:
        """Convert all fields to Python's own types; SchemaError where that is impossible."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            object.__setattr__(self, name, plain(tuple(value) if isinstance(value, list | np.ndarray) else value))
        if not all(isinstance(t, str) for t in (self.name, self.description, self.number_format)):
            raise SchemaError("A column's name, description or number_format is not text.", "Pass text.")
        for name, days in map_bounds(vars(self), as_day).items() if self.kind == "date" else ():
            if days is None or (isinstance(days, tuple) and None in days):
                cause = f"Column {self.name!r}: a bound or cut point is no date."
                raise SchemaError(cause, "Write dates like 2021-03-05.")
            object.__setattr__(self, name, days)
        points, marks = self.bins if isinstance(self.bins, tuple) else (), self.missing_values
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        texts = isinstance(self.categories, tuple) and all(isinstance(c, str | int | float) for c in self.categories)
        for name, sound, remedy in (
            ("lower and upper", all(map(is_number, bounds)), "Give numbers."),
            ("bins", all(map(is_number, points)), "Give a whole number of bins, or a tuple of numbers."),
            ("missing", isinstance(self.missing, bool), "Use True or False."),
            ("missing_values", all(map(is_number, marks)), "Give a tuple of numbers, such as (999,)."),
            ("origin", self.origin in get_args(Origin), f"Use one of {', '.join(get_args(Origin))}."),
            ("categories", texts, 'Give a tuple of texts, such as ("no", "yes").'),
        ):
            if not sound:
                raise SchemaError(f"Column {self.name!r}: `{name}` has a wrong type.", remedy)
        object.__setattr__(self, "categories", tuple(map(as_text, self.categories)))

    def _check_categories(self, fail: Fail) -> None:
        """Call `fail` with a cause and a remedy if the declared categories are not usable."""
        if not self.categories:
            fail("it has no categories.", "List every value that may occur.")
        if len({*map(canonical, self.categories)}) != len(self.categories) or "" in self.categories:
            fail("a category is empty or listed twice.", "List every category once.")
        if self.flags and len({*map(str, self.flags)}) != len(self.categories):
            fail("`flags` must name one column per category.", "List headers in the categories' order.")
        if len(self.categories) > MAX_CATEGORIES:
            fail(
                f"it has {len(self.categories):,} categories; at most {MAX_CATEGORIES:,} are allowed.",
                "Leave the column out, or group its values first.",
            )
        if self.outside == "clip" and not self.missing:
            fail("clip needs a code for unknown categories.", "Use missing=True, or choose refuse.")

    def _check_numbers(self, fail: Fail) -> None:
        """Call `fail` with a cause and a remedy if the declared bounds or bins are not usable."""
        low, high, remedy = self.lower, self.upper, "Give the lowest and highest possible value."
        if low is None or high is None:
            fail("its bounds are not declared.", remedy)
        small = max(abs(low), abs(high)) <= sys.float_info.max  # false for an int that no float holds
        if not small or not math.isfinite(float(high) - float(low)):
            fail("its bounds are not finite numbers, or too large.", remedy)
        self._scale.check(fail)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.kind}, {self.values_text})"

    @property
    def values_text(self) -> str:
        """Text for readers: the bounds and bins, or the number of categories and the first of them."""
        names = shorten(", ".join(self.categories), 60, placeholder="…", break_on_hyphens=False)
        found = self.bounds_text if self.numeric else f"{len(self.categories):,} values: {names}"
        return f"{found}, or missing" if self.missing else found

    @property
    def bounds_text(self) -> str:
        """Bounds, bins and step of a numeric column, as text for readers."""
        return self._scale.text

    @property
    def numeric(self) -> bool:
        """Whether the column has bounds and bins rather than categories."""
        return self.kind in SCALES

    @property
    def is_plain_number(self) -> bool:
        """Whether cells are plain numbers: not dates, without currency signs or marks."""
        return self.numeric and self._scale.is_plain

    @property
    def whole(self) -> bool:
        """Whether the column's numbers are whole: integers, or dates as days."""
        return self.numeric and self._scale.whole

    @cached_property
    def _scale(self) -> Reals:
        """The scale of a numeric column, which reads, bins, draws and writes numbers of its kind."""
        low, high = cast(tuple[float, float], (self.lower, self.upper))
        return SCALES[self.kind](low, high, self.bins, self.number_format, self.step)

    @property
    def edges(self) -> Floats:
        """Boundaries of the bins, shape (bins + 1,); integers and days end at `upper + 1`."""
        return self._scale.edges

    @property
    def size(self) -> int:
        """Number of codes, including the code "missing"."""
        return (self._scale.count if self.numeric else len(self.categories)) + self.missing

    @property
    def labels(self) -> tuple[str, ...]:
        """Short name of every code, for charts and tables."""
        names = self.categories
        if self.numeric:
            names = tuple(self.interval(code, code + 1) for code in range(self._scale.count))
        return (*names, unique_label(MISSING, names)) if self.missing else names

    def rounded_bounds(self) -> tuple[float, float]:
        """Return a numeric column's bounds, rounded outward."""
        return self._scale.round_outward()[:2]

    def round_outward(self, known: tuple[float, float, Bins] | None = None) -> Self:
        """Return the column with bounds rounded outward, or with commonly known bounds instead.

        Default bins are replaced by bins of the round width, or by a unit of the calendar; chosen
        bins stay. A column without bounds, or with bounds too large to round, is returned
        unchanged.

        Parameters
        ----------
        known : (float, float, int), optional
            Lower and upper bound that everyone knows, and a number of bins.

        Returns
        -------
        Column
            The rounded column, or this one.
        """
        if not self.numeric:
            return self
        low, high = cast(tuple[float, float], (self.lower, self.upper))
        usual = self.bins == (default_unit(low, high, self.step) if self.kind == "date" else DEFAULT_BINS)
        try:
            rounded = self._scale.round_outward()
            lower, upper, bins = known or rounded
            bins = bins if usual else self.bins
            same = (lower, upper, bins) == (low, high, self.bins)
            return self if same else replace(self, lower=lower, upper=upper, bins=bins, taxonomy=None)
        except (SchemaError, OverflowError):  # bounds are too large, or too many bins
            return self

    def interval(self, first: int, end: int) -> str:
        """Return the name of a run of neighboring bins, such as "20–39".

        Parameters
        ----------
        first, end : int
            The codes of the first bin, and of the bin after the last.

        Returns
        -------
        str
            The interval. For one bin it is the bin's label.
        """
        return self._scale.interval(first, end)

    def format_value(self, number: float) -> str:
        """Return a number as text for readers; a date column's number of days as an ISO date.

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
        """Mapping from the canonical text of each category to its code."""
        return {canonical(category): code for code, category in enumerate(self.categories)}

    def encode(self, values: pd.Series[Any]) -> Codes:
        """Encode the cells of one column; the code of a cell depends on that cell alone.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.

        Returns
        -------
        array of unsigned int, shape (n,)
            The codes, from 0 to `size - 1`.

        Raises
        ------
        DataError
            If cells are missing, not numbers, or outside the declaration, and `outside` is
            "refuse". The message names no value; the number of such cells is in `DataError.private`
            only.
        """
        found = self.encode_counting_misfits(values)
        self.raise_misfits(found.misfits)
        return found.codes

    def encode_counting_misfits(self, values: pd.Series[Any], times: Ints | None = None) -> CodedColumn:
        """Encode cells as `encode` does, but count cells that do not fit instead of raising.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.
        times : int array of shape (n,), optional
            How many cells each value stands for. Default: one.

        Returns
        -------
        CodedColumn
            The codes, the numbers (None for categories), and the number of misfits by reason.
        """
        if self.numeric:
            return self.encode_numbers(self._scale.read(values), values.isna().to_numpy(dtype=bool), times)
        indices, texts = factorize_texts(values, unused=True)
        known = np.array([self._codes.get(canonical(text), -1) for text in texts], dtype=np.int64)
        codes, absent = np.append(known, self.size - 1)[indices], indices < 0
        unknown = codes < 0
        codes[unknown] = self.size - 1
        misfits = count_misfits(times, unknown=unknown & (self.outside == "refuse"), absent=absent & (not self.missing))
        return CodedColumn(codes.astype(code_dtype(self.size)), None, misfits)

    def encode_arrow(self, cells: pa.Array) -> CodedColumn:
        """Encode an Arrow array as `encode_counting_misfits` encodes a Series.

        The code of a cell depends on that cell alone, so equal cells are parsed once. A dictionary
        costs one look-up per cell; numbers are compared with the cut points in Arrow's memory.

        Parameters
        ----------
        cells : Array of shape (n,)
            The cells: numbers, truth values, or a dictionary of any type.

        Returns
        -------
        CodedColumn
            As from `encode_counting_misfits`.
        """
        numeric = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
        if numeric and self.numeric and self.kind != "date":
            numbers = cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
            return self.encode_numbers(numbers, np.isnan(numbers))
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        words = cells.dictionary
        indices = cells.indices.fill_null(len(words)).to_numpy()
        values = pa.concat_arrays([words, pa.nulls(1, words.type)]).to_pandas()  # the last stands for missing cells
        found = self.encode_counting_misfits(values, np.bincount(indices, minlength=len(values)))
        numbers = None if found.numbers is None else found.numbers[indices]
        return CodedColumn(found.codes[indices], numbers, found.misfits)

    def encode_numbers(self, numbers: Floats, absent: Flags, times: Ints | None = None) -> CodedColumn:
        """Encode numbers of a numeric column, and count those that do not fit.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The numbers of the cells, NaN where a cell is missing or not a number.
        absent : bool array of shape (n,)
            Which cells are missing.
        times : int array of shape (n,), optional
            How many cells each number stands for. Default: one.

        Returns
        -------
        CodedColumn
            As from `encode_counting_misfits`.
        """
        shifted, misfits = self._clip_numbers(numbers, absent, times)
        points, dtype = self.edges[1:-1], code_dtype(self.size)
        if len(points) > MOST_COMPARED:
            codes: Codes = np.searchsorted(points, shifted, side="right").astype(dtype)
        else:
            codes = np.zeros(len(shifted), dtype=dtype)
            for point in points.tolist():
                codes += shifted >= point
        if self.missing:
            codes[np.isnan(shifted)] = self.size - 1
        return CodedColumn(codes, shifted, misfits)

    def numbers(self, values: pd.Series[Any]) -> Floats:
        """Return the numbers by which a numeric column's cells are encoded.

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
            As from `encode`.
        """
        absent = values.isna().to_numpy(dtype=bool)
        found, misfits = self._clip_numbers(self.to_numbers(values), absent)
        self.raise_misfits(misfits)
        return found

    def _clip_numbers(self, numbers: Floats, absent: Flags, times: Ints | None = None) -> tuple[Floats, Counter[str]]:
        """Return numbers clipped into the bounds, shape (n,), and counts of misfits by reason.

        `absent` marks missing cells, and number i stands for `times[i]` cells, by default for one.
        Misfits are counted only if `outside` is "refuse". Numbers of integer and date columns are
        rounded down; NaN becomes `lower` unless "missing" is declared.
        """
        low, high, misfits = cast(float, self.lower), cast(float, self.upper), Counter[str]()
        if self.missing_values:
            marked = np.isin(numbers, self.missing_values)
            numbers, absent = np.where(marked, np.nan, numbers), absent | marked
        if self.outside == "refuse":
            misfits = count_misfits(
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
        """Return a numeric column's cells as numbers, without clipping.

        Parameters
        ----------
        values : Series of shape (n,)
            The cells.

        Returns
        -------
        float array of shape (n,)
            The numbers; NaN where a cell is missing or not a number.
        """
        return self._scale.read(values)

    def raise_misfits(self, misfits: Mapping[str, int]) -> None:
        """Raise DataError if any cells do not fit the declaration.

        Parameters
        ----------
        misfits : mapping of str to int
            Number of cells that do not fit, by reason, as `encode_counting_misfits` counts them.

        Raises
        ------
        DataError
            If there are any. Their number is in `DataError.private` only.
        """
        has, cells = f"Column {self.name!r} has ", f"cells of column {self.name!r}"
        clip = "or choose “clip” for values outside."

        def fail(reason: str, before: str, after: str, remedy: str) -> None:
            if count := misfits.get(reason):
                some = "some" if before else "Some"
                raise DataError(f"{before}{some} {after}.", remedy, f"{before}{count:,} {after}.")

        if self.numeric:
            words = "Declare the column as categorical, or clean those cells before uploading."
            fail("words", has, f"cells that {self._scale.words}", words)
            bounds = " to ".join(map(self.format_value, (cast(float, self.lower), cast(float, self.upper))))
            fail("far", "", f"{cells} lie outside the declared bounds {bounds}", f"Widen the bounds, {clip}")
            fail("fractions", has, "fractions, but is declared integer", "Declare it as continuous.")
        lacking = "Tick “missing” for this column, or remove those rows before uploading."
        fail("absent", has, "missing cells, but missing is not declared", lacking)
        fail("unknown", "", f"{cells} are not among the declared categories", f"Add the categories, {clip}")

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.Series[Any]:
        """Return a cell for each code: its category, or a uniform draw inside its bin.

        Parameters
        ----------
        codes : int array of shape (n,)
            The codes.
        rng : numpy.random.Generator
            The generator of the draws.

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
            The generator of the draws.

        Returns
        -------
        float array of shape (n,)
            The numbers, NaN for the code "missing".
        """
        absent = codes >= self._scale.count
        bins = np.where(absent, 0, codes)
        numbers = self._scale.draw(bins, rng)
        for _ in range(MOST_DRAWS if self.missing_values else 0):
            marked = np.isin(numbers, self.missing_values) & ~absent
            numbers[marked] = self._scale.draw(bins[marked], rng)
        return np.where(absent, np.nan, numbers)

    def write(self, numbers: Floats) -> pd.Series[Any]:
        """Return numbers as cells of a numeric column, in its number format.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The numbers, NaN where a cell is missing.

        Returns
        -------
        Series of shape (n,)
            Numbers or text as the column writes them; dates as text.
        """
        absent = np.isnan(numbers)
        cells = self._scale.cells(np.where(absent, cast(float, self.lower), numbers)).rename(self.name)
        if not self.missing:
            return cells
        return (cells.astype("Int64") if cells.dtype == np.int64 else cells).mask(absent)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as JSON-ready values, without fields that do not apply."""
        raw = asdict(self) | {"taxonomy": self.taxonomy and [list(path) for path in self.taxonomy.paths]}
        raw |= map_bounds(raw, iso) if self.kind == "date" else {}
        skip = {"categories"} if self.numeric else {"lower", "upper", "bins"}
        skip |= {name for name in ("number_format", "step", "missing_values", "flags", "taxonomy") if not raw[name]}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in raw.items() if key not in skip}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Read a column from the output of `to_dict`.

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
            If a field is unknown, lacking or malformed.
        """
        fields, remedy = renamed_fields(raw), "Export a schema to compare."
        if set(fields) - set(cls.__dataclass_fields__) or not isinstance(fields.get("name"), str):
            raise SchemaError("A column of the schema file has unknown or missing fields.", remedy)
        try:
            fields |= map_bounds(fields, str.strip if fields.get("kind") == "date" else float)
            if "flags" in fields:
                fields["flags"] = tuple(map(str, fields["flags"]))
            if fields.get("taxonomy") is not None:
                fields["taxonomy"] = Taxonomy.from_rows(fields["taxonomy"])
            return cls(**fields)
        except SchemaError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise SchemaError(f"Column {fields['name']!r} is malformed.", remedy) from None


def map_bounds(fields: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Apply `change` to a column's bounds, bin edges and missing values; return them by name.

    `fields` has the fields of a column's declaration. Fields that are None or absent are left out,
    and so are bins that are not a list of points.
    """
    found: dict[str, Any] = {}
    for name in ("lower", "upper", "bins", "missing_values"):
        given = fields.get(name)
        if isinstance(given, tuple | list):
            found[name] = tuple(map(change, given))
        elif given is not None and name != "bins":
            found[name] = change(given)
    return found


def unique_label(name: str, others: Sequence[str]) -> str:
    """Return `name` with as many apostrophes added as it takes to differ from all `others`."""
    while name in others:
        name += "'"
    return name


def count_misfits(times: Ints | None, **reasons: Flags) -> Counter[str]:
    """Return the number of cells that do not fit, for each reason that occurs.

    Each reason has a mask of shape (n,); value i counts as `times[i]` cells, by default as one.
    """
    counts = {why: int(np.count_nonzero(m) if times is None else times[m].sum()) for why, m in reasons.items()}
    return +Counter(counts)  # `+` drops reasons with the count 0


def code_dtype(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type that can store `size` different codes."""
    return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65_536 else np.uint32)
