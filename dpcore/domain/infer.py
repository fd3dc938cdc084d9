"""From what a column seems to be to a declaration of it: a guess, which is read off the rows and so not public."""

from typing import Any

import pandas as pd

from dpcore.domain.cells import distinct
from dpcore.domain.column import DEFAULT_BINS, MAX_CATEGORIES, Column, Kind
from dpcore.domain.dates import usual_unit
from dpcore.domain.recognition import Recognized
from dpcore.text import canonical, is_writable


def column_of(found: Recognized, values: "pd.Series[Any]") -> Column | None:
    """A column as it was recognized, whether or not it is left out by default; None if it can be no column.

    Numbers and dates get their own extremes as bounds; all others the values that occur as categories.
    """
    if found.what in ("empty", "unreadable"):
        return None
    missing = bool(values.isna().any())
    low, high = found.lower, found.upper
    if low is not None and high is not None and low < high and found.what != "category":
        kind: Kind = found.what if found.what == "continuous" or found.what == "date" else "integer"
        return Column(
            name=found.name,
            kind=kind,
            lower=low,
            upper=high,
            bins=usual_unit(low, high) if kind == "date" else DEFAULT_BINS,
            form=found.form,
            missing=missing or found.blank,
            outside="clip" if found.blank else "refuse",
        )
    return categorical(found.name, values, missing=missing)


def categorical(name: str, values: "pd.Series[Any]", *, missing: bool) -> Column | None:
    """The values that occur as categories, if they are not too many and every file can hold them."""
    texts = distinct(values.dropna())[1]
    shortest: dict[str, str] = {}  # of the ways in which a value is written
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    categories = sorted({*shortest.values()} - {""})
    if not 0 < len(categories) <= MAX_CATEGORIES or not is_writable(*categories):
        return None
    blank = "" in texts  # empty texts are no category: they count as missing
    return Column(
        name=name,
        kind="categorical",
        categories=tuple(categories),
        missing=missing or blank,
        outside="clip" if blank else "refuse",
    )
