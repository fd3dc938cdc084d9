"""Cells one by one: the text and the number that a cell is, however it is stored and whatever stands beside it.

How a column is stored hangs on all of its cells: one word makes numbers into text, one missing cell makes whole numbers
into floats. A code must not hang on that. So a cell has one text (`text.canonical`) and at most one number, the same
ones whether it comes as `"3.0"`, `"3"`, 3, 3.0, a `Decimal`, or out of a categorical or Arrow column:

- A number is written with ASCII digits, a sign, a decimal point and an exponent, and spaces around; or it is an
  infinity. `007` is 7. `0x1f`, `1_000`, `1,000`, `50%` and truth values are no numbers.
- It is the nearest float; from 2^53 on, whole numbers that differ by one may be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

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


def distinct(values: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """The cells' texts, each once, and every cell's place among them, shape (n,); -1 where a cell is missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _read_categories(distinct, values)
    if values.dtype == object or getattr(values.dtype, "storage", "") == "python":
        # Text by text: to pandas True equals 1, and before 3.1 "a\0" equals "a".
        cells = [None if absent else as_text(v) for v, absent in zip(values, values.isna(), strict=True)]
        order = {text: place for place, text in enumerate(dict.fromkeys(text for text in cells if text is not None))}
        return np.array([-1 if text is None else order[text] for text in cells], dtype=np.intp), list(order)
    places, found = pd.factorize(values)
    return places, [value if type(value) is str else as_text(value) for value in found.tolist()]


def _read_categories(read: Callable[[pd.Series[Any]], tuple[Ints, Any]], values: pd.Series[Any]) -> tuple[Ints, Any]:
    """What is read of the categories that occur, in the order of their first cells, and every cell's place in it."""
    places, found = cast(tuple[Ints, Any], pd.factorize(values))
    inner, texts = read(pd.Series(found.categories.take(found.codes)))
    return np.append(inner, -1)[places], texts


def as_numbers(values: pd.Series[Any]) -> Floats:
    """The cells' numbers, shape (n,); NaN where a cell is missing or no number."""
    if pd.api.types.is_any_real_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=float, na_value=np.nan)
    places, words = worded(values)
    return np.append(parsed(words), np.nan)[places]


def plain_numbers(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """A column of text as numbers, if every cell is one that nobody would take for a name and some cell is there.

    For people, and for guesses at a schema: it looks at all cells at once. Codes stay what they are.
    """
    places, words = worded(values)
    if not len(words) or pc.any(pc.match_substring_regex(words, NAME)).as_py():
        return None
    numbers = np.append(parsed(words), np.nan)
    if not np.isfinite(numbers[:-1]).all():
        return None
    whole = pc.all(pc.match_substring_regex(words, WHOLE)).as_py() and places.min() >= 0
    return pd.Series(numbers[places].astype(np.int64 if whole else float), index=values.index, name=values.name)


def typed(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The frame with these columns of text as numbers where they are plain ones, for people to work with."""
    kinds = {name: getattr(frame[name].dtype, "categories", frame[name]).dtype for name in names}
    found = {name: plain_numbers(frame[name]) for name, kind in kinds.items() if pd.api.types.is_string_dtype(kind)}
    return frame.assign(**{name: numbers for name, numbers in found.items() if numbers is not None})


def worded(values: pd.Series[Any]) -> tuple[Ints, pa.Array]:
    """As `distinct`, without surrounding spaces."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _read_categories(worded, values)
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":  # a million different ones
        column = pa.array(values, from_pandas=True).cast(pa.large_string())
        return _trim(*_factorize(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column))
    places, texts = distinct(values)
    try:
        words = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # halves of a character, which no number holds
        words = pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.large_string())
    return _trim(places, words)


def _trim(places: Ints, words: pa.Array) -> tuple[Ints, pa.Array]:
    """Texts without surrounding spaces, each once."""
    if all(pc.utf8_trim_whitespace(block).equals(block) for block in _blocks(words)):
        return places, words
    again = pc.utf8_trim_whitespace(words).dictionary_encode()
    return np.append(again.indices.to_numpy(), -1)[places], again.dictionary


def _factorize(column: pa.Array) -> tuple[Ints, pa.Array]:
    """Every cell's place among the different texts, in the order of their first cells, or -1; and these texts."""
    if 2 * len(column[:BLOCK].unique()) <= len(column[:BLOCK]):
        encoded = column.dictionary_encode()
        return encoded.indices.fill_null(-1).to_numpy().astype(np.intp), encoded.dictionary
    # Most texts are different: to sort them takes a fifth of the memory that a dictionary does while it is made.
    places, ranks = np.full(len(column), -1), pc.rank(column.drop_null(), tiebreaker="dense")
    places[np.asarray(column.is_valid())] = pd.factorize(ranks.to_numpy())[0]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(places), prepend=-1))
    return places, column if len(first) == len(column) else column.take(pa.array(first))


def _blocks(words: pa.Array) -> Iterator[pa.Array]:
    return (words[i : i + BLOCK] for i in range(0, len(words), BLOCK))


def in_blocks(read: Callable[[pa.Array], Floats], words: pa.Array) -> Floats:
    """What is read of texts one by one, so many at a time that what is made on the way stays small."""
    return np.concatenate([np.empty(0), *map(read, _blocks(words))])


def parsed(words: pa.Array) -> Floats:
    """The numbers that texts say, NaN for those that say none."""
    return in_blocks(_parsed, words)


def _parsed(words: pa.Array) -> Floats:
    try:
        numbers = words.cast(pa.float64())  # what Arrow takes is a number here too, but its own NaN
    except pa.ArrowInvalid:
        words = pc.if_else(pc.match_substring_regex(words, NUMBER), words, None)
        numbers = pc.replace_substring_regex(words, r"^[+]", "").cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))
