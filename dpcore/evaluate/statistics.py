"""What pictures get of real rows: counts, and means of them. No cell of a row, and no order statistic of a column.

Numbers stand in columns whose names say what they are. A share is a mean of yes and no, so it lies
between 0 and 1; a count is a whole number; an error is a mean of how far answers are from counts; a
moment is a mean or sum of numbers, or follows from such.
All else that is a number is public, or was released, and says nothing of the rows. A column of
another name is refused, and so are numbers of another kind, and cells that are neither numbers nor
words, such as days.
"""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

SHARES = {"real", "share", "avd", "floor", "floor_low", "floor_high", "accuracy", "balanced_accuracy"}
COUNTS = {"count", "true", "queries", "runs", "nodes"}
ERRORS = {error + end for error in ("absolute", "relative", "error") for end in ("", "_low", "_high")} | {"noise"}
MOMENTS = {"real_value"}
RELEASED = {"noise_low", "noise_high", "sampling_low", "sampling_high"}
RELEASED |= {"released", "reported", "reconstructed", "low", "high", "estimate"}
RELEASED |= {name + end for name in ("noisy", "consistent") for end in ("", "_margin")}
PUBLIC = {"x", "width", "size", "level", "place", "parent", "left", "right", "run", "repeat"}
NUMBERS, WORDS = {"floating", "integer", "mixed-integer-float"}, {"string", "boolean", "empty"}
ROUNDING = 1e-3  # of shares of intervals, where these are narrow and far from 0


class Statistics(pd.DataFrame):
    """A frame of counts and means of real rows; slices and joins of it are of this type as well."""

    @property
    def _constructor(self) -> Any:
        return Statistics


def statistics(frame: pd.DataFrame) -> Statistics:
    """Return a frame as `Statistics`; TypeError if a column's cells do not fit its name.

    A column's name tells what it may hold: shares in [0, 1], whole counts, errors, moments,
    released numbers, or public numbers. Texts are allowed in every column.
    """
    for name, column in frame.items():
        kind = infer_dtype(column.astype(object))
        numbers = column.dropna().to_numpy(dtype=float) if kind in NUMBERS else np.empty(0)
        if kind not in NUMBERS:
            sound = kind in WORDS
        elif name in SHARES:
            sound = bool(((numbers >= 0) & (numbers <= 1 + ROUNDING)).all())
        elif name in COUNTS:
            sound = bool(((numbers >= 0) & (np.floor(numbers) == numbers)).all())
        else:
            sound = name in ERRORS | MOMENTS | RELEASED | PUBLIC
        if not sound:
            raise TypeError(f"The column {name!r} has no counts or means of rows, so no chart may show it.")
    return Statistics(frame)
