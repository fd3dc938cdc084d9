"""One column's public description, and the fixed rule that turns its cells into codes and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, is_number, plain
from dpcore.domain.cells import as_numbers, distinct
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError, SchemaError
from dpcore.text import as_text, canonical, is_writable, told_apart

Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of rows: entry (i, j) is the category or bin of row i in column j; column-major when two-dimensional."""
Counts = NDArray[np.int64]
"""How many rows have each combination of codes of some columns, an axis for each of them."""

MAX_CATEGORIES = 1_000
MAX_BINS = 10_000
DEFAULT_BINS = 16
MOST_EXACT = 2**53  # from here on a float does not hold every whole number
MISSING = "(missing)"
Kind = Literal["categorical", "ordered", "integer", "continuous"]
KINDS: tuple[Kind, ...] = ("categorical", "ordered", "integer", "continuous")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column's public description.

    Parameters
    ----------
    name : str
        The header, unique in its schema.
    kind : {"categorical", "ordered", "integer", "continuous"}
        `integer` and `continuous` have bounds and bins; the others a list of categories.
    categories : tuple of str
        All values that may occur, in public order. Values are compared by `canonical` (`3`, `3.0` and `"3.0"` are
        equal).
    lower, upper : float
        Public inclusive bounds.
    bins : int or tuple of float
        Number of equal-width bins, or the cut points between `lower` and `upper`. A bin holds its left cut.
        The integers `lower..upper` are divided as the interval [lower, upper + 1).
    missing : bool
        Whether "missing" is a declared value (the last code). If not, missing cells are refused.
    outside : {"refuse", "clip"}
        What encoding does with cells outside the declaration: raise, or move each by a public rule, so that every cell
        has a code. Numbers go to the nearest bound, fractions in an integer column down to the whole number, and cells
        that are missing or no number to "missing" if that is declared, else to `lower`. Unknown categories go to
        "missing", which must then be declared.
    description : str
        For people.
    taxonomy : Taxonomy, optional
        A public tree whose leaves are the categories or, for numbers, the labels of the bins; "missing" is not in it.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None
    bins: int | tuple[float, ...] = DEFAULT_BINS
    missing: bool = False
    outside: Literal["refuse", "clip"] = "refuse"
    description: str = ""
    taxonomy: Taxonomy | None = None

    def __post_init__(self) -> None:
        self._settle()

        def fail(cause: str, remedy: str) -> None:
            raise SchemaError(f"Column {self.name!r}: {cause}", remedy)

        if not is_writable(self.name, self.description, *self.categories):
            cause = "A column's name, description or category has a control character, or half of a character."
            raise SchemaError(cause, "Write it again, without it.")
        if not self.name.strip():
            raise SchemaError("A column has no name.", "Give every column a header.")
        if self.kind not in KINDS:
            fail("its type is not known.", f"Choose one of {', '.join(KINDS)}.")
        if self.outside not in ("refuse", "clip"):
            fail("the rule for values outside is not known.", "Choose refuse or clip.")
        if self.numeric:
            self._check_numbers(fail)
        else:
            self._check_categories(fail)
        if self.taxonomy is None:
            return
        if misfit := self.taxonomy.misfit(self.labels[: self.size - self.missing]):
            remedy = "If the bins changed, make the intervals again." if self.numeric else "Give one row per category."
            fail(f"{misfit}.", f"{remedy} Or remove the taxonomy.")
        if self.missing and (len(self.taxonomy.paths[0]) == 1 or any(MISSING in p for p in self.taxonomy.paths)):
            fail(f"its taxonomy has no place for {MISSING}.", f"Give it a root, and no node called {MISSING}.")

    def _settle(self) -> None:
        """Python's own numbers, texts and tuples in place of what was given; SchemaError where that cannot be."""
        for name in ("categories", "bins"):
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list | np.ndarray) else value)
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, plain(getattr(self, name)))
        if not isinstance(self.name, str) or not isinstance(self.description, str):
            raise SchemaError("A column's name or description is no text.", "Write it as one.")
        cuts = self.bins if isinstance(self.bins, tuple) else ()
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        texts = isinstance(self.categories, tuple) and all(isinstance(c, str | int | float) for c in self.categories)
        for name, sound, remedy in (
            ("lower and upper", all(map(is_number, bounds)), "Give numbers."),
            ("bins", all(map(is_number, cuts)), "Give a whole number of bins, or a tuple of numbers."),
            ("missing", isinstance(self.missing, bool), "Use True or False."),
            ("categories", texts, 'Give a tuple of texts, such as ("no", "yes").'),
        ):
            if not sound:
                raise SchemaError(f"Column {self.name!r}: the {name!r} argument is of a wrong kind.", remedy)
        object.__setattr__(self, "categories", tuple(map(as_text, self.categories)))

    def _check_categories(self, fail: Any) -> None:
        if not self.categories:
            fail("it has no categories.", "List every value that may occur.")
        if len({canonical(c) for c in self.categories}) != len(self.categories) or any(not c for c in self.categories):
            fail("a category is empty or listed twice.", "List every category once.")
        if len(self.categories) > MAX_CATEGORIES:
            fail(
                f"it has {len(self.categories):,} categories; at most {MAX_CATEGORIES:,} are allowed.",
                "Ignore the column or group its values before uploading.",
            )
        if self.outside == "clip" and not self.missing:
            fail("unknown categories have nowhere to go.", "Declare missing values, or choose refuse.")

    def _check_numbers(self, fail: Any) -> None:
        low, high = self.lower, self.upper
        if low is None or high is None:
            fail("its bounds are not declared.", "Give the lowest and highest value that may occur.")
            return
        try:
            finite = math.isfinite(float(high) - float(low))
        except OverflowError:  # a whole number of 400 digits
            finite = False
        if not finite:
            fail(
                "its bounds are not finite numbers, or too large.", "Give the lowest and highest value that may occur."
            )
        if self.kind == "integer" and max(abs(low), abs(high)) >= MOST_EXACT:
            fail("its bounds are too large to count in whole numbers.", "Use the type continuous.")
        if self.kind == "integer" and (low != math.floor(low) or high != math.floor(high)):
            fail("an integer column has fractional bounds.", "Use whole numbers or the type continuous.")
        if low > high or (low == high and self.kind == "continuous"):
            fail("the lower bound is not below the upper bound.", "Check the two bounds.")
        if isinstance(self.bins, tuple):
            if len(self.bins) >= MAX_BINS:
                fail("it has too many cut points.", f"Give fewer than {MAX_BINS:,}.")
            inside = [low, *self.bins, high + (self.kind == "integer")]
            if not all(a < b for a, b in pairwise(inside)):
                fail("the cut points do not increase strictly inside the bounds.", "List them in increasing order.")
            if self.kind == "integer" and any(cut != math.floor(cut) for cut in self.bins):
                fail("an integer column has fractional cut points.", "Use whole numbers or the type continuous.")
        elif type(self.bins) is not int or not 1 <= self.bins <= MAX_BINS:
            fail("the number of bins is out of range.", f"Choose a whole number between 1 and {MAX_BINS:,}.")

    @property
    def numeric(self) -> bool:
        """Whether the column has bounds and bins rather than categories."""
        return self.kind in ("integer", "continuous")

    @property
    def edges(self) -> Floats:
        """The bins' boundaries, shape (bins + 1,); for integers the last one is `upper + 1`."""
        low, high = cast(float, self.lower), cast(float, self.upper) + (self.kind == "integer")
        if isinstance(self.bins, tuple):
            return np.array([low, *self.bins, high], dtype=float)
        count = min(self.bins, round(high - low)) if self.kind == "integer" else self.bins
        return np.linspace(low, high, count + 1)

    @property
    def size(self) -> int:
        """Number of codes, "missing" included."""
        return (len(self.edges) - 1 if self.numeric else len(self.categories)) + self.missing

    @property
    def labels(self) -> tuple[str, ...]:
        """A short name for every code, for charts and tables."""
        names = self.categories
        if self.numeric:
            names = tuple(self.interval(code, code + 1) for code in range(len(self._ends[0])))
        return (*names, unlike(MISSING, names)) if self.missing else names

    def interval(self, first: int, end: int) -> str:
        """Bins `first` to `end - 1` as one interval; a label is the interval of one bin."""
        low, high = self._ends[0][first], self._ends[1][end - 1]
        if self.kind == "integer":
            return low if low == high else f"{low}–{high}"
        return f"{low} to {high}"

    @cached_property
    def _ends(self) -> tuple[list[str], list[str]]:
        """The texts of the bins' lower and upper ends."""
        edges = self.edges
        if self.kind == "continuous":
            texts = told_apart(edges.tolist())
            return texts[:-1], texts[1:]
        whole = np.ceil(edges).astype(int)
        return [str(low) for low in whole[:-1]], [str(high) for high in whole[1:] - 1]

    @cached_property
    def _codes(self) -> dict[str, int]:
        """The categories' codes, by the texts that are compared."""
        return {canonical(category): code for code, category in enumerate(self.categories)}

    def encode(self, values: pd.Series[Any]) -> Codes:
        """Codes of one column's cells, shape (n,), each by its own cell alone (`cells`, `numbers`).

        Raises
        ------
        DataError
            If cells are missing, not numbers, or outside the declaration and the column does not allow it. The
            message says how many rows, never which value. With "clip", never.
        """
        if self.numeric:
            edges, numbers = self.edges, self.numbers(values)
            codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
            codes[np.isnan(numbers)] = len(edges) - 1
            return codes.astype(code_dtype(self.size))
        places, texts = distinct(values)
        found = np.array([self._codes.get(canonical(text), -1) for text in texts], dtype=np.int64)
        codes, absent = np.append(found, self.size - 1)[places], places < 0
        self._check_missing(absent)
        unknown = codes < 0
        if unknown.any():
            self._refuse(int(unknown.sum()), "are not among the declared categories", "Add the categories")
            codes[unknown] = self.size - 1
        return codes.astype(code_dtype(self.size))

    def numbers(self, values: pd.Series[Any]) -> Floats:
        """A numeric column's cells as the numbers that they are coded by, shape (n,); NaN for the code "missing".

        DataError as for `encode`.
        """
        numbers, low, high = as_numbers(values), cast(float, self.lower), cast(float, self.upper)
        if self.outside == "refuse":
            self._check_cells(numbers, values.isna().to_numpy(dtype=bool))
        numbers = np.clip(numbers, low, high)
        if self.kind == "integer":
            numbers = np.floor(numbers)
        return numbers if self.missing else np.where(np.isnan(numbers), low, numbers)

    def _check_cells(self, numbers: Floats, absent: Flags) -> None:
        """Refuse numeric cells that do not fit the declaration as they are."""
        words = np.isnan(numbers) & ~absent
        if words.any():
            raise DataError(
                f"Column {self.name!r} has {int(words.sum()):,} cells that are not numbers.",
                "Declare the column as categorical, or clean those cells before uploading.",
            )
        far = (numbers < cast(float, self.lower)) | (numbers > cast(float, self.upper))
        if far.any():
            bounds = f"{self.lower:g} to {self.upper:g}"
            self._refuse(int(far.sum()), f"lie outside the declared bounds {bounds}", "Widen the bounds")
        if self.kind == "integer" and (numbers[~absent] % 1 != 0).any():
            raise DataError(
                f"Column {self.name!r} is declared integer but has fractional values.",
                "Declare it as continuous.",
            )
        self._check_missing(absent)

    def _check_missing(self, absent: Flags) -> None:
        if absent.any() and not self.missing:
            raise DataError(
                f"Column {self.name!r} has {int(absent.sum()):,} missing cells, but missing is not declared.",
                "Tick “missing” for this column, or remove those rows before uploading.",
            )

    def _refuse(self, rows: int, what: str, remedy: str) -> None:
        if self.outside == "refuse":
            raise DataError(
                f"{rows:,} cells of column {self.name!r} {what}.",
                f"{remedy}, or choose “clip” for values outside.",
            )

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.Series[Any]:
        """Cells for codes of shape (n,): the category, or a uniform draw inside the bin."""
        if not self.numeric:
            index = codes.astype(np.int64)
            index[index >= len(self.categories)] = -1
            kind = pd.CategoricalDtype(list(self.categories), ordered=self.kind == "ordered")
            return pd.Series(pd.Categorical.from_codes(index, dtype=kind), name=self.name)
        edges = self.edges
        absent = codes >= len(edges) - 1
        bins = np.where(absent, 0, codes)
        low, high = edges[bins], edges[bins + 1]
        if self.kind == "continuous":
            numbers = low + (high - low) * rng.random(len(codes))
            numbers = np.minimum(numbers, np.nextafter(high, low))  # rounding may reach the next bin
            return pd.Series(np.where(absent, np.nan, numbers), name=self.name)
        first, last = np.ceil(low), np.ceil(high)
        drawn = np.floor(first + (last - first) * rng.random(len(codes)))
        whole = np.minimum(drawn, last - 1).astype(np.int64)  # rounding may reach the next bin
        result = pd.Series(whole, name=self.name)
        return result.astype("Int64").mask(absent) if self.missing else result

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON-ready values, without the fields that do not apply."""
        raw = asdict(self)
        skip: tuple[str, ...] = ("categories",) if self.numeric else ("lower", "upper", "bins")
        if self.taxonomy is None:
            skip += ("taxonomy",)
        else:
            raw["taxonomy"] = [list(path) for path in self.taxonomy.paths]
        return {key: list(v) if isinstance(v, tuple) else v for key, v in raw.items() if key not in skip}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; raises SchemaError on anything malformed."""
        unknown = set(raw) - set(cls.__dataclass_fields__)
        if unknown or not isinstance(raw.get("name"), str):
            raise SchemaError(
                "A column of the schema file has unknown or missing fields.", "Export a schema to compare."
            )
        fields = dict(raw)
        try:
            if not isinstance(raw.get("description", ""), str):
                raise TypeError
            if isinstance(fields.get("bins"), list):
                fields["bins"] = tuple(float(b) for b in fields["bins"])
            for bound in ("lower", "upper"):
                if fields.get(bound) is not None:
                    fields[bound] = float(fields[bound])
            if fields.get("taxonomy") is not None:
                fields["taxonomy"] = Taxonomy.from_rows(fields["taxonomy"])
            return cls(**fields)
        except SchemaError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise SchemaError(f"Column {raw['name']!r} is malformed.", "Export a schema to compare.") from None


def unlike(name: str, others: Sequence[str]) -> str:
    """The name, marked if somebody's value is called so."""
    while name in others:
        name += "'"
    return name


def code_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds `size` codes."""
    return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65_536 else np.uint32)
