"""How a column's numbers are written: with so many decimals, marks between thousands, a sign of money or of percent.

A form is the number 1234.5, or 1234, as the column would write it: `1234.50`, `$1,234.50`, `1.234,50 €`, `1234.5 %`.
Text in it is read cell by cell, with the sign and the marks or without; plain numbers are read as they always are. What
is drawn is written in it, and is as fine as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.arguments import Floats
from dpcore.domain.cells import as_numbers, in_blocks, parsed, worded

FORM = re.compile(r"(\D{0,4})1([ ,.'’\u00a0\u202f]?)234(?:([.,])(50{0,7}))?(\D{0,4})")
MARKS = set("0123456789+-.,eE()")  # in no sign of money: they have a meaning in numbers


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
        places, words = worded(values)
        return np.append(self.of_words(words), np.nan)[places]

    def of_words(self, words: pa.Array) -> Floats:
        """The numbers that texts say, NaN for those that say none."""
        return in_blocks(self._of_words, words)

    def _of_words(self, words: pa.Array) -> Floats:
        parts = pc.extract_regex(words, self.pattern)
        sign, inner, whole, fraction = (parts.field(name) for name in "stwf")
        if self.thousands:
            whole = pc.replace_substring(whole, self.thousands, "")
        point, nothing = pa.scalar(".", whole.type), pa.scalar("", whole.type)
        told = pc.binary_join_element_wise(whole, fraction, point)
        signs = pc.binary_join_element_wise(sign, inner, nothing)
        known = pc.and_(parts.is_valid(), pc.less(pc.binary_length(signs), 2))
        found = pc.if_else(known, told, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
        found = np.where(np.asarray(pc.equal(signs, "-").fill_null(False)), -found, found)
        return found if self.mark == "," else np.where(np.isnan(found), parsed(words), found)


SIGN = re.compile("[$€£¥₹₽₩₺₫฿元円%‰]|US[$]|USD|EUR|GBP|CHF|CNY|RMB|JPY|INR|SEK|NOK|DKK|PLN|CZK|[Kk]r[.]?|zł|Kč|Rs[.]?")
BODY = re.compile(r"[+-]?(?P<before>[^0-9+-]{0,4}?)[+-]?(?P<body>[0-9][0-9.,'’ \u00a0\u202f]*?)(?P<after>[^0-9]{0,4})")
MARKED = ("", "."), (",", "."), (".", ","), ("", ","), (" ", ","), (" ", "."), ("'", "."), ("’", "."), ("\u00a0", ",")
MOST_DECIMALS = 8
FEWEST_BARE = 10  # different numbers with marks alone; fewer may be lists of answers, such as "1,2"


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
            if not signs and not thousands and mark == ".":
                return None  # plain numbers, and names made of digits
            decimals = int(pc.max(pc.utf8_length(fraction)).as_py())
            if decimals > MOST_DECIMALS:
                return None
            alone = thousands in (",", ".") and not decimals and not signs
            doubt = f"“1{thousands}234” is read as a thousand: no number shows otherwise." if alone else ""
            return Form(before, thousands, mark, decimals, after), doubt
    return None
