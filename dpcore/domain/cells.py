"""Read cells of a data set as texts and numbers, each cell independently of all other cells.

The storage type of a column depends on all its cells: one word turns numbers into text, one missing
cell turns whole numbers into floats. The code of a cell must not depend on other cells. So a cell
has one text (`text.canonical`) and at most one number. Both are equal for `"3.0"`, `"3"`, 3, 3.0, a
`Decimal`, and a cell of a categorical or Arrow column:

- A number has ASCII digits, and may have a sign, a decimal point, an exponent and spaces around.
  Infinities are numbers as well. `007` is 7. `0x1f`, `1_000`, `1,000`, `50%` and truth values are
  no numbers.
- The number is the nearest float; from 2^53 on, neighboring whole numbers may give one float.

A column may declare a number format by an example: the number 1234.5, or 1234, as the column would
write it, such as `1234.50`, `$1,234.50`, `1.234,50 €`, `1234.5 %`. Text of such a column is read
cell by cell, with or without the currency sign and the thousands marks; plain numbers are read as
usual. Synthetic numbers are written in the format, and rounded to its decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, Self, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arguments import Floats, Ints
from dpcore.text import as_text

NUMBER = r"^([+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity))$"
WHOLE = r"^[+-]?[0-9]+$"
# Leading zeros (a postal code), or more digits than a float holds (an account), make a name.
NAME = r"^[+-]?(0[0-9].*|[0-9]{16,}|(?i:inf.*))$"
BLOCK = 1 << 16  # texts that are parsed together
FORM = re.compile(r"(\D{0,4})1([ ,.'’\u00a0\u202f]?)234(?:([.,])(50{0,7}))?(\D{0,4})")
MARKS = set("0123456789+-.,eE()")  # not in affixes: they have a meaning in numbers
SIGN = re.compile("[$€£¥₹₽₩₺₫฿元円%‰]|US[$]|USD|EUR|GBP|CHF|CNY|RMB|JPY|INR|SEK|NOK|DKK|PLN|CZK|[Kk]r[.]?|zł|Kč|Rs[.]?")
BODY = re.compile(r"[+-]?(?P<before>[^0-9+-]{0,4}?)[+-]?(?P<body>[0-9][0-9.,'’ \u00a0\u202f]*?)(?P<after>[^0-9]{0,4})")
MARKED = ("", "."), (",", "."), (".", ","), ("", ","), (" ", ","), (" ", "."), ("'", "."), ("’", "."), ("\u00a0", ",")
MOST_DECIMALS = 8
FEWEST_BARE = 10  # distinct texts without affix; fewer may be lists of answers, such as "1,2"
More = ParamSpec("More")
Reader = Callable[Concatenate[pa.Array, More], Floats]


def factorize_texts(values: pd.Series[Any], *, unused: bool = False) -> tuple[Ints, list[str]]:
    """Encode cells by their texts, as `pandas.factorize` encodes values.

    Parameters
    ----------
    values : Series of shape (n,)
        The cells.
    unused : bool, default=False
        Whether to return all categories of a categorical column in their order, also those without
        a cell. That is faster. Otherwise texts are in the order of their first cells.

    Returns
    -------
    tuple of int array of shape (n,) and list of str
        For each cell the index of its text, -1 where the cell is missing; and the distinct texts.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        if not unused:
            return _read_categories(factorize_texts, values)
        inner, texts = factorize_texts(pd.Series(values.cat.categories))
        return np.append(inner, -1)[values.cat.codes.to_numpy()], texts
    if values.dtype == object or getattr(values.dtype, "storage", "") == "python":
        # Not by pandas: there True equals 1, and before 3.1 "a\0" equals "a".
        cells = [None if gone else as_text(v) for v, gone in zip(values, values.isna(), strict=True)]
        order = {text: i for i, text in enumerate(dict.fromkeys(t for t in cells if t is not None))}
        return np.array([-1 if t is None else order[t] for t in cells], dtype=np.intp), list(order)
    indices, found = pd.factorize(values)
    return indices, [value if type(value) is str else as_text(value) for value in found.tolist()]


def _read_categories(read: Callable[..., tuple[Ints, Any]], values: pd.Series[Any]) -> tuple[Ints, Any]:
    """Apply `read` to the categories of a categorical column that occur.

    `read` encodes a Series of texts; categories are in the order of their first cells. Returns for
    each cell the index of its text (-1: missing), and the texts that `read` returns.
    """
    indices, found = cast(tuple[Ints, Any], pd.factorize(values))
    inner, texts = read(pd.Series(found.categories.take(found.codes)))
    return np.append(inner, -1)[indices], texts


def as_numbers(values: pd.Series[Any]) -> Floats:
    """Return the cells as numbers, shape (n,); NaN where a cell is missing or not a number."""
    if pd.api.types.is_any_real_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=float, na_value=np.nan)
    indices, words = factorize_trimmed(values)
    return np.append(parse_numbers(words), np.nan)[indices]


def parse_plain_numbers(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return a column of text as numbers, or None unless every cell is a plain number.

    None also if no cell has a value, or if a cell looks like a name: leading zeros (a postal code),
    more than 15 digits (an account). For display and for proposing a schema only, because the
    result depends on all cells together; encoding does not use it.
    """
    indices, words = factorize_trimmed(values)
    if not len(words) or pc.any(pc.match_substring_regex(words, NAME)).as_py():
        return None
    numbers = np.append(parse_numbers(words), np.nan)
    if not np.isfinite(numbers[:-1]).all():
        return None
    whole = pc.all(pc.match_substring_regex(words, WHOLE)).as_py() and indices.min() >= 0
    return pd.Series(numbers[indices].astype(np.int64 if whole else float), index=values.index, name=values.name)


def parse_columns(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the frame with those columns of `names` parsed that hold plain numbers as text.

    A column is parsed as a whole (`parse_plain_numbers`), for display; encoding does not use it.
    """
    kinds = {name: getattr(frame[name].dtype, "categories", frame[name]).dtype for name in names}
    found = {name: parse_plain_numbers(frame[name]) for name, t in kinds.items() if pd.api.types.is_string_dtype(t)}
    return frame.assign(**{name: numbers for name, numbers in found.items() if numbers is not None})


def factorize_trimmed(values: pd.Series[Any]) -> tuple[Ints, pa.Array]:
    """Encode cells as `factorize_texts` does, ignoring spaces around texts; return an Arrow array.

    Returns for each cell the index of its text (-1: missing), shape (n,), and the distinct texts.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _read_categories(factorize_trimmed, values)
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":  # may be long
        column = pa.array(values, from_pandas=True).cast(pa.large_string())
        return _trim(*_factorize(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column))
    indices, texts = factorize_texts(values)
    try:
        words = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # lone surrogates, which no number has
        words = pa.array([t.encode("utf-8", "replace").decode() for t in texts], pa.large_string())
    return _trim(indices, words)


def _trim(indices: Ints, words: pa.Array) -> tuple[Ints, pa.Array]:
    """Strip spaces around distinct texts, merge texts that become equal, and renumber cells.

    `indices` has the text of each cell, -1 for a missing one. Returns the new indices and texts.
    """
    if all(pc.utf8_trim_whitespace(block).equals(block) for block in _blocks(words)):
        return indices, words
    again = pc.utf8_trim_whitespace(words).dictionary_encode()
    return np.append(again.indices.to_numpy(), -1)[indices], again.dictionary


def _factorize(column: pa.Array) -> tuple[Ints, pa.Array]:
    """Return each cell's index among the distinct texts (-1: missing), and these texts in order.

    Texts are in the order of their first cells.
    """
    if 2 * len(column[:BLOCK].unique()) <= len(column[:BLOCK]):
        encoded = column.dictionary_encode()
        return encoded.indices.fill_null(-1).to_numpy().astype(np.intp), encoded.dictionary
    # Most texts are distinct: sorting takes a fifth of the memory of building a dictionary.
    indices, ranks = np.full(len(column), -1), pc.rank(column.drop_null(), tiebreaker="dense")
    indices[np.asarray(column.is_valid())] = pd.factorize(ranks.to_numpy())[0]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(indices), prepend=-1))
    return indices, column if len(first) == len(column) else column.take(pa.array(first))


def _blocks(words: pa.Array) -> Iterator[pa.Array]:
    """Yield consecutive blocks of texts, each with at most `BLOCK` texts."""
    return (words[i : i + BLOCK] for i in range(0, len(words), BLOCK))


def in_blocks(read: Reader[More]) -> Reader[More]:
    """Decorate a function from texts to numbers so that it runs block by block, to bound memory."""

    @wraps(read)
    def read_all(words: pa.Array, /, *more: More.args, **named: More.kwargs) -> Floats:
        """Parse the texts of all blocks, and return their numbers in order."""
        return np.concatenate([np.empty(0), *(read(one, *more, **named) for one in _blocks(words))])

    return read_all


@in_blocks
def parse_numbers(words: pa.Array) -> Floats:
    """Return the numbers that texts such as "-1.5e3" state, shape (n,); NaN for other texts."""
    try:
        numbers = words.cast(pa.float64())  # Arrow's numbers are numbers here, except its NaN
    except pa.ArrowInvalid:
        words = pc.if_else(pc.match_substring_regex(words, NUMBER), words, None)
        numbers = pc.replace_substring_regex(words, r"^[+]", "").cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class NumberFormat:
    """A way to write numbers: affixes, thousands mark, decimal mark, number of decimals.

    `mark` is the decimal mark, such as "." in "$1,234.50", and `thousands` the mark between groups
    of three digits.
    """

    prefix: str = ""
    thousands: str = ""
    mark: str = "."
    decimals: int = 0
    suffix: str = ""

    @classmethod
    def from_example(cls, text: str) -> Self | None:
        """Return the number format in which `text` is 1234 or 1234.5; None if `text` is neither."""
        found = FORM.fullmatch(text)
        if not found:
            return None
        before, thousands, mark, decimals, after = found.groups(default="")
        twice = thousands != "" and thousands == mark
        return None if twice or MARKS & {*before, *after} else cls(before, thousands, mark or ".", len(decimals), after)

    def __str__(self) -> str:
        """Return 1234.5, or 1234 without decimals, in this number format."""
        return self.write(1234.5 if self.decimals else 1234)

    @property
    def steps_per_unit(self) -> float:
        """Number of writable values per interval of length 1, such as 100 with two decimals."""
        return float(10**self.decimals)

    @property
    def is_plain(self) -> bool:
        """Whether the format only sets the number of decimals: no affixes, and the usual marks."""
        return self == NumberFormat(decimals=self.decimals)

    def write(self, number: float) -> str:
        """Return a number as text in this number format."""
        plain = f"{abs(number):,.{self.decimals}f}"
        marks = str.maketrans({",": self.thousands, ".": self.mark})
        return f"{'-' if number < 0 else ''}{self.prefix}{plain.translate(marks)}{self.suffix}"

    @cached_property
    def pattern(self) -> str:
        """Regular expression of texts in this number format; affixes and marks are optional."""
        before, after = (f"(?:{re.escape(part.strip())})?" for part in (self.prefix, self.suffix))
        whole = f"[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+" if self.thousands else "[0-9]+"
        fraction = rf"(?:{re.escape(self.mark)}(?P<f>[0-9]*))?"
        return rf"^(?P<s>[+-]?){before}\s*(?P<t>[+-]?)(?P<w>{whole}){fraction}\s*{after}$"

    def numbers(self, values: pd.Series[Any]) -> Floats:
        """Return the cells as numbers, shape (n,), read by this format; NaN where not a number.

        NaN also where a cell is missing. Cells that are numbers already are returned unchanged.
        """
        if pd.api.types.is_any_real_numeric_dtype(values.dtype):
            return as_numbers(values)
        if isinstance(values.dtype, pd.CategoricalDtype):
            inside = self.numbers(pd.Series(values.cat.categories))
            return np.append(inside, np.nan)[values.cat.codes.to_numpy()]
        if values.dtype == object:  # numbers are used as is; only text has a format
            texts = np.array([isinstance(value, str) for value in values], dtype=bool)
            if not texts.all():
                found = np.empty(len(values))
                found[~texts] = as_numbers(values[~texts])
                found[texts] = self.numbers(values[texts])
                return found
        indices, words = factorize_trimmed(values)
        return np.append(self.parse_texts(words), np.nan)[indices]

    def parse_texts(self, words: pa.Array) -> Floats:
        """Return the numbers that texts in this format state, shape (n,); NaN for other texts."""
        return in_blocks(self._parse_block)(words)

    def _parse_block(self, words: pa.Array) -> Floats:
        """Parse one block of texts as `parse_texts` does.

        Plain numbers such as 1234.5 are read in every format, except where the comma marks
        decimals.
        """
        parts = pc.extract_regex(words, self.pattern)
        sign, inner, whole, fraction = (parts.field(name) for name in "stwf")
        if self.thousands:
            whole = pc.replace_substring(whole, self.thousands, "")
        point, nothing = pa.scalar(".", whole.type), pa.scalar("", whole.type)
        joined = pc.binary_join_element_wise(whole, fraction, point)
        signs = pc.binary_join_element_wise(sign, inner, nothing)
        known = pc.and_(parts.is_valid(), pc.less(pc.binary_length(signs), 2))
        found = pc.if_else(known, joined, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
        found = np.where(np.asarray(pc.equal(signs, "-").fill_null(False)), -found, found)
        return found if self.mark == "," else np.where(np.isnan(found), parse_numbers(words), found)


def detect_number_format(words: pa.Array) -> tuple[NumberFormat, str] | None:
    """Return the format in which all texts are numbers, and a doubt; None if there is no format.

    The doubt is a sentence if the texts may also be numbers with another meaning: in "1,234" the
    comma may be a decimal mark. Otherwise it is "".
    """
    first = [BODY.fullmatch(word) for word in words[:FEWEST_BARE].to_pylist()]
    around = {(found["before"], found["after"]) for found in first if found}
    if not all(first) or len(around) != 1:
        return None
    ((before, after),) = around
    signs = [part.strip() for part in (before, after) if part.strip()]
    if not all(map(SIGN.fullmatch, signs)) or (not signs and len(words) < FEWEST_BARE):
        return None
    for thousands, mark in MARKED:
        form = NumberFormat(before, thousands, mark, 0, after)
        if np.isfinite(form.parse_texts(words)).all():
            fraction = pc.extract_regex(words, form.pattern).field("f")
            decimals = int(pc.max(pc.utf8_length(fraction)).as_py())
            if decimals > MOST_DECIMALS:
                return None
            alone = thousands in (",", ".") and not decimals and not signs
            doubt = f"“1{thousands}234” is read as a thousand: no number shows otherwise." if alone else ""
            return NumberFormat(before, thousands, mark, decimals, after), doubt
    return None
