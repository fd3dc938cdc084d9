"""A guess at a schema from rows: convenient, and the end of the guarantee, because it reads the private values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpcore.column import MAX_CATEGORIES, Column, Kind, canonical

__all__ = ["infer_column"]


def infer_column(name: str, values: pd.Series[Any]) -> tuple[Column | None, str | None]:
    """A guess at one column, and a note for the person who should check it."""
    present = values.dropna()
    missing = len(present) < len(values)
    if present.empty:
        return None, f"{name!r} is left out: every cell is missing."
    is_number = pd.api.types.is_numeric_dtype(present) and not pd.api.types.is_bool_dtype(present)
    if is_number and present.nunique() > 1:
        numbers = present.to_numpy(dtype=float)
        if not np.isfinite(numbers).all():
            return None, f"{name!r} is left out: it has infinite values."
        whole = bool((numbers % 1 == 0).all()) and float(np.abs(numbers).max()) < 2**53
        kind: Kind = "integer" if whole else "continuous"
        return Column(
            name=name, kind=kind, lower=float(numbers.min()), upper=float(numbers.max()), missing=missing
        ), None
    counts = present.value_counts()  # every distinct cell once: parsing a million texts takes seconds
    texts = pd.Series([canonical(value) for value in counts.index], dtype=object)
    categories = sorted(set(texts) - {""})
    if len(categories) > MAX_CATEGORIES or not categories:
        return None, (
            f"{name!r} is left out: it has {len(categories):,} different values; at most {MAX_CATEGORIES:,} categories "
            "are allowed. Group its values before uploading if you need it."
        )
    not_numbers = counts.to_numpy()[pd.to_numeric(texts, errors="coerce").isna().to_numpy(dtype=bool)]
    note = None
    if len(categories) == 1:
        note = f"{name!r} has one value only: it adds nothing."
    elif not is_number and 0 < len(not_numbers) < len(texts):
        note = f"{name!r} mixes numbers and text in {int(not_numbers.sum()):,} rows: it is read as categories."
    blank = "" in set(texts)  # empty texts are no category: they count as missing
    return Column(
        name=name,
        kind="categorical",
        categories=tuple(categories),
        missing=missing or blank,
        outside="clip" if blank else "refuse",
    ), note
