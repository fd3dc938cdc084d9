"""Cells one by one: the text and the number that a cell is, however it is stored and whatever stands beside it.

How a column is stored hangs on all of its cells: one word makes numbers into text, one missing cell
makes whole numbers into floats. A code must not hang on that. So a cell has one text
(`text.canonical`) and at most one number, the same ones whether it comes as `"3.0"`, `"3"`, 3, 3.0,
a `Decimal`, or out of a categorical or Arrow column:

- A number is written with ASCII digits, a sign, a decimal point and an exponent, and spaces around; or it is an
  infinity. `007` is 7. `0x1f`, `1_000`, `1,000`, `50%` and truth values are no numbers.
- It is the nearest float; from 2^53 on, whole numbers that differ by one may be the same.

A column may declare how its numbers are written, by a form: the number 1234.5, or 1234, as the
column would write it, `1234.50`, `$1,234.50`, `1.234,50 €`, `1234.5 %`. Text in it is read cell by
cell, with the sign and the marks or without; plain numbers are read as they always are. What is
drawn is written in it, and is as fine as it is.
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
# Leading zeros make a name ("01234", a post code), and so do more digits than a float holds (an account).
NAME = r"^[+-]?(0[0-9].*|[0-9]{16,}|(?i:inf.*))$"
BLOCK = 1 << 16  # texts
FORM = re.compile(r"(\D{0,4})1([ ,.'’\u00a0\u202f]?)234(?:([.,])(50{0,7}))?(\D{0,4})")
MARKS = set("0123456789+-.,eE()")  # in no sign of money: they have a meaning in numbers
SIGN = re.compile("[$€£¥₹₽₩₺₫฿元円%‰]|US[$]|USD|EUR|GBP|CHF|CNY|RMB|JPY|INR|SEK|NOK|DKK|PLN|CZK|[Kk]r[.]?|zł|Kč|Rs[.]?")
BODY = re.compile(r"[+-]?(?P<before>[^0-9+-]{0,4}?)[+-]?(?P<body>[0-9][0-9.,'’ \u00a0\u202f]*?)(?P<after>[^0-9]{0,4})")
MARKED = ("", "."), (",", "."), (".", ","), ("", ","), (" ", ","), (" ", "."), ("'", "."), ("’", "."), ("\u00a0", ",")
MOST_DECIMALS = 8
FEWEST_BARE = 10  # different numbers with marks alone; fewer may be lists of answers, such as "1,2"
More = ParamSpec("More")


def distinct(values: pd.Series[Any], *, unused: bool = False) -> tuple[Ints, list[str]]:
    """The cells' texts, each once, and every cell's place among them, shape (n,); -1 where a cell is missing.

    Texts stand in the order of their first cells. If `unused`, those of pandas' categories stand in
    theirs, and with them those that no cell has, which is faster.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        if not unused:
            return _read_categories(distinct, values)
        inner, texts = distinct(pd.Series(values.cat.categories))
        return np.append(inner, -1)[values.cat.codes.to_numpy()], texts
    if values.dtype == object or getattr(values.dtype, "storage", "") == "python":
        # Text by text: to pandas True equals 1, and before 3.1 "a\0" equals "a".
        cells = [None if absent else as_text(v) for v, absent in zip(values, values.isna(), strict=True)]
        order = {text: index for index, text in enumerate(dict.fromkeys(text for text in cells if text is not None))}
        return np.array([-1 if text is None else order[text] for text in cells], dtype=np.intp), list(order)
    indices, found = pd.factorize(values)
    return indices, [value if type(value) is str else as_text(value) for value in found.tolist()]


def _read_categories(read: Callable[[pd.Series[Any]], tuple[Ints, Any]], values: pd.Series[Any]) -> tuple[Ints, Any]:
    """What is read of the categories that occur, in the order of their first cells, and every cell's place in it."""
    indices, found = cast(tuple[Ints, Any], pd.factorize(values))
    inner, texts = read(pd.Series(found.categories.take(found.codes)))
    return np.append(inner, -1)[indices], texts


def as_numbers(values: pd.Series[Any]) -> Floats:
    """The cells' numbers, shape (n,); NaN where a cell is missing or no number."""
    if pd.api.types.is_any_real_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=float, na_value=np.nan)
    indices, words = distinct_trimmed(values)
    return np.append(parse_numbers(words), np.nan)[indices]


def plain_numbers(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """A column of text as numbers, if every cell is one that nobody would take for a name and some cell is there.

    For people, and for guesses at a schema: it looks at all cells at once. Codes stay what they
    are.
    """
    indices, words = distinct_trimmed(values)
    if not len(words) or pc.any(pc.match_substring_regex(words, NAME)).as_py():
        return None
    numbers = np.append(parse_numbers(words), np.nan)
    if not np.isfinite(numbers[:-1]).all():
        return None
    whole = pc.all(pc.match_substring_regex(words, WHOLE)).as_py() and indices.min() >= 0
    return pd.Series(numbers[indices].astype(np.int64 if whole else float), index=values.index, name=values.name)


def parse_columns(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The frame with these columns of text as numbers where they are plain ones, for people to work with."""
    kinds = {name: getattr(frame[name].dtype, "categories", frame[name]).dtype for name in names}
    found = {name: plain_numbers(frame[name]) for name, kind in kinds.items() if pd.api.types.is_string_dtype(kind)}
    return frame.assign(**{name: numbers for name, numbers in found.items() if numbers is not None})


def distinct_trimmed(values: pd.Series[Any]) -> tuple[Ints, pa.Array]:
    """As `distinct`, without surrounding spaces."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _read_categories(distinct_trimmed, values)
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":  # a million different ones
        column = pa.array(values, from_pandas=True).cast(pa.large_string())
        return _trim(*_factorize(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column))
    indices, texts = distinct(values)
    try:
        words = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # halves of a character, which no number holds
        words = pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.large_string())
    return _trim(indices, words)


def _trim(indices: Ints, words: pa.Array) -> tuple[Ints, pa.Array]:
    """Texts without surrounding spaces, each once."""
    if all(pc.utf8_trim_whitespace(block).equals(block) for block in _blocks(words)):
        return indices, words
    again = pc.utf8_trim_whitespace(words).dictionary_encode()
    return np.append(again.indices.to_numpy(), -1)[indices], again.dictionary


def _factorize(column: pa.Array) -> tuple[Ints, pa.Array]:
    """Every cell's place among the different texts, in the order of their first cells, or -1; and these texts."""
    if 2 * len(column[:BLOCK].unique()) <= len(column[:BLOCK]):
        encoded = column.dictionary_encode()
        return encoded.indices.fill_null(-1).to_numpy().astype(np.intp), encoded.dictionary
    # Most texts are different: to sort them takes a fifth of the memory that a dictionary does while it is made.
    indices, ranks = np.full(len(column), -1), pc.rank(column.drop_null(), tiebreaker="dense")
    indices[np.asarray(column.is_valid())] = pd.factorize(ranks.to_numpy())[0]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(indices), prepend=-1))
    return indices, column if len(first) == len(column) else column.take(pa.array(first))


def _blocks(words: pa.Array) -> Iterator[pa.Array]:
    return (words[i : i + BLOCK] for i in range(0, len(words), BLOCK))


def in_blocks(read: Callable[Concatenate[pa.Array, More], Floats]) -> Callable[Concatenate[pa.Array, More], Floats]:
    """What reads texts one by one, for so many at a time that what is made on the way stays small."""

    @wraps(read)
    def read_all(words: pa.Array, /, *more: More.args, **named: More.kwargs) -> Floats:
        return np.concatenate([np.empty(0), *(read(block, *more, **named) for block in _blocks(words))])

    return read_all


@in_blocks
def parse_numbers(words: pa.Array) -> Floats:
    """The numbers that texts say, NaN for those that say none."""
    try:
        numbers = words.cast(pa.float64())  # what Arrow takes is a number here too, but its own NaN
    except pa.ArrowInvalid:
        words = pc.if_else(pc.match_substring_regex(words, NUMBER), words, None)
        numbers = pc.replace_substring_regex(words, r"^[+]", "").cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class Form:
    """A way in which numbers are written."""

    before: str = ""
    thousands: str = ""
    mark: str = "."
    decimals: int = 0
    after: str = ""

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The form that a text shows; None if it shows none."""
        found = FORM.fullmatch(text)
        if not found:
            return None
        before, thousands, mark, decimals, after = found.groups(default="")
        twice = thousands != "" and thousands == mark
        return None if twice or MARKS & {*before, *after} else cls(before, thousands, mark or ".", len(decimals), after)

    def __str__(self) -> str:
        return self.write(1234.5 if self.decimals else 1234)

    @property
    def steps(self) -> float:
        """How many numbers that can be written lie in a length of 1."""
        return float(10**self.decimals)

    @property
    def bare(self) -> bool:
        """Whether it says nothing but the decimals, so that what is written in it is a number to everybody."""
        return self == Form(decimals=self.decimals)

    def write(self, number: float) -> str:
        """A number in this form."""
        plain = f"{abs(number):,.{self.decimals}f}"
        marks = str.maketrans({",": self.thousands, ".": self.mark})
        return f"{'-' if number < 0 else ''}{self.before}{plain.translate(marks)}{self.after}"

    @cached_property
    def pattern(self) -> str:
        """What text in this form looks like."""
        before, after = (f"(?:{re.escape(part.strip())})?" for part in (self.before, self.after))
        whole = f"[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+" if self.thousands else "[0-9]+"
        fraction = rf"(?:{re.escape(self.mark)}(?P<f>[0-9]*))?"
        return rf"^(?P<s>[+-]?){before}\s*(?P<t>[+-]?)(?P<w>{whole}){fraction}\s*{after}$"

    def numbers(self, values: pd.Series[Any]) -> Floats:
        """The cells' numbers, shape (n,); NaN where a cell is missing or no number."""
        if pd.api.types.is_any_real_numeric_dtype(values.dtype):
            return as_numbers(values)
        if isinstance(values.dtype, pd.CategoricalDtype):
            inside = self.numbers(pd.Series(values.cat.categories))
            return np.append(inside, np.nan)[values.cat.codes.to_numpy()]
        if values.dtype == object:  # a number is what it is; only text is written in a form
            texts = np.array([isinstance(value, str) for value in values], dtype=bool)
            if not texts.all():
                found = np.empty(len(values))
                found[~texts] = as_numbers(values[~texts])
                found[texts] = self.numbers(values[texts])
                return found
        indices, words = distinct_trimmed(values)
        return np.append(self.of_words(words), np.nan)[indices]

    def of_words(self, words: pa.Array) -> Floats:
        """The numbers that texts say, NaN for those that say none."""
        return in_blocks(self._of_words)(words)

    def _of_words(self, words: pa.Array) -> Floats:
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


def form_of(words: pa.Array) -> tuple[Form, str] | None:
    """How texts are written that are all numbers in one form, and what is doubtful about it; None if they are not."""
    first = [BODY.fullmatch(word) for word in words[:FEWEST_BARE].to_pylist()]
    around = {(found["before"], found["after"]) for found in first if found}
    if not all(first) or len(around) != 1:
        return None
    ((before, after),) = around
    signs = [part.strip() for part in (before, after) if part.strip()]
    if not all(map(SIGN.fullmatch, signs)) or (not signs and len(words) < FEWEST_BARE):
        return None
    for thousands, mark in MARKED:
        form = Form(before, thousands, mark, 0, after)
        if np.isfinite(form.of_words(words)).all():
            fraction = pc.extract_regex(words, form.pattern).field("f")
            decimals = int(pc.max(pc.utf8_length(fraction)).as_py())
            if decimals > MOST_DECIMALS:
                return None
            alone = thousands in (",", ".") and not decimals and not signs
            doubt = f"“1{thousands}234” is read as a thousand: no number shows otherwise." if alone else ""
            return Form(before, thousands, mark, decimals, after), doubt
    return None
