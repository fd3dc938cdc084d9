"""A guess at a schema from rows: convenient, and the end of the guarantee, because it reads the private values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpcore.domain.cells import as_numbers, distinct, plain_numbers
from dpcore.domain.column import MAX_CATEGORIES, Column, Kind
from dpcore.text import canonical, is_writable


def infer_column(name: str, values: pd.Series[Any]) -> tuple[Column | None, str | None]:
    """A guess at one column, and a note for the person who should check it."""
    if not is_writable(name):
        return None, "A column is left out: its name has a control character, or half of a character."
    present = values.dropna()
    missing = len(present) < len(values)
    if present.empty:
        return None, f"{name!r} is left out: every cell is missing."
    numeric = pd.api.types.is_any_real_numeric_dtype(present.dtype)
    numbers = as_numbers(present) if numeric else plain_numbers(present)
    if numbers is not None and len(np.unique(numbers)) > 1:
        if not np.isfinite(numbers).all():
            return None, f"{name!r} is left out: it has infinite values."
        whole = bool((numbers % 1 == 0).all()) and float(np.abs(numbers).max()) < 2**53
        kind: Kind = "integer" if whole else "continuous"
        return Column(
            name=name, kind=kind, lower=float(numbers.min()), upper=float(numbers.max()), missing=missing
        ), None
    places, texts = distinct(present)
    shortest: dict[str, str] = {}  # of the ways in which a value is written
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    categories = sorted({*shortest.values()} - {""})
    if len(categories) > MAX_CATEGORIES or not categories:
        return None, (
            f"{name!r} is left out: it has {len(categories):,} different values; at most {MAX_CATEGORIES:,} categories "
            "are allowed. Group its values before uploading if you need it."
        )
    if not is_writable(*categories):
        return None, f"{name!r} is left out: values of it have control characters, which no chart can hold."
    words = np.isnan(as_numbers(pd.Series(texts, dtype=object)))
    note = None
    if len(categories) == 1:
        note = f"{name!r} has one value only: it adds nothing."
    elif 0 < words.sum() < len(words):
        note = f"{name!r} mixes numbers and text in {int(words[places].sum()):,} rows: it is read as categories."
    blank = "" in texts  # empty texts are no category: they count as missing
    return Column(
        name=name,
        kind="categorical",
        categories=tuple(categories),
        missing=missing or blank,
        outside="clip" if blank else "refuse",
    ), note
