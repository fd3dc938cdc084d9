"""The small invented tables that cases are about: columns of zeros and ones, and numbers from 0 to 10."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

BIT = ("0", "1")
MOST_ROWS = 1_000


def bits(names: str, target: str | None = None) -> Schema:
    """A schema of columns with the values 0 and 1; each letter is a column's name."""
    columns = tuple(Column(name=name, kind="categorical", categories=BIT) for name in names)
    return Schema(columns=columns, target=target, max_rows=MOST_ROWS)


def frame_of(schema: Schema, *rows: Sequence[float | str], times: int = 1) -> pd.DataFrame:
    """These rows, each so many times; a text such as "011" is a row of columns of zeros and ones."""
    found = pd.DataFrame([list(row) for row in rows for _ in range(times)], columns=list(schema.names), dtype=object)
    return found.astype({column.name: float for column in schema if column.numeric})


def more(frame: pd.DataFrame, row: Sequence[float | str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table, and the same with one more row."""
    last = pd.DataFrame([list(row)], columns=list(frame.columns)).astype(frame.dtypes.to_dict())
    return frame, pd.concat([frame, last], ignore_index=True)


def changed(frame: pd.DataFrame, row: Sequence[float | str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table, and the same with its last row replaced."""
    return frame, more(frame.iloc[:-1], row)[1]


def clipped(noisy: NDArray[np.float64] | float, without: float, step: float = 1.0) -> float:
    """How far a noisy number lies on the way from its value in the first world to that in the second, from 0 to 1.

    For Laplace noise that is its log-likelihood ratio but for a factor and a constant.
    """
    return float(np.clip((noisy - without) / step, 0.0, 1.0))


def difference_ratio(seen: float, step: float, scale: float) -> float:
    """ln of f(seen - step) / f(seen), f the density of the difference of two Laplace variables of that scale."""
    near, far = abs(seen - step) / scale, abs(seen) / scale
    return float(np.log1p(near) - near - np.log1p(far) + far)
