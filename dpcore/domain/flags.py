"""Columns of 0 and 1 that say one thing together, such as `color_red` and `color_blue`: they become one column."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.domain.cells import as_numbers
from dpcore.domain.column import Column

WORDS = dict.fromkeys(("true", "yes", "ja", "oui", "si", "sí", "是"), 1.0)
WORDS |= dict.fromkeys(("false", "no", "nein", "non", "否"), 0.0)


def as_flags(values: "pd.Series[Any]") -> Floats:
    """Cells as 1 and 0, shape (n,), also of true and yes; NaN where a cell is missing or another word."""
    numbers = as_numbers(values.astype(float) if values.dtype == bool else values)
    if not np.isnan(numbers).all():
        return numbers
    words = values.astype(str).str.strip().str.casefold().map(WORDS)
    return np.asarray(words, dtype=float)


def join_flags(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """The frame with columns in place of the flags that they are made of; rows without exactly one 1 are missing."""
    for column in columns:
        if column.flags and column.name not in frame and {*column.flags} <= {*frame.columns}:
            flags = np.column_stack([as_flags(frame[flag]) for flag in column.flags])
            one = (np.isin(flags, (0, 1)).all(axis=1)) & ((flags == 1).sum(axis=1) == 1)
            codes = np.where(one, flags.argmax(axis=1), -1)
            cells = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(column.categories)))
            at = list(frame.columns).index(column.flags[0])
            frame = frame.drop(columns=list(column.flags))
            frame.insert(min(at, frame.shape[1]), column.name, pd.Series(cells, index=frame.index))
    return frame
