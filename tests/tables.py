"""The small private table that tests of all methods use, with its schema; other small schemas."""

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

__all__ = ["FOREST", "SMALL", "categorical", "make_frame"]

SMALL = Schema(  # a class, a category with "missing", an ordered column, an integer and a continuous one
    columns=(
        Column(name="a.b[0]:Q", kind="categorical", categories=("x", "y", "<b>z</b>"), missing=True),
        Column(name="grade", kind="ordered", categories=("low", "mid", "high")),
        Column(name="age", kind="integer", lower=0, upper=99, bins=10),
        Column(name="height", kind="continuous", lower=0.0, upper=2.5, bins=(0.5, 1.5)),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    max_rows=1_000,
)
FOREST = Schema(  # of columns that trees divide in three ways
    columns=(
        Column(name="real", kind="continuous", lower=0, upper=10, bins=(4.0,)),
        Column(name="binned", kind="integer", lower=0, upper=3, bins=4),
        Column(name="letter", kind="categorical", categories=("a", "b", "c")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=50,
)


def categorical(values, *more, kind="categorical", missing=(), **of_all):
    """Return a schema of categorical columns, with values as words or letters of a text."""
    listed = (Column(name, kind, categories=tuple(own), missing=name in missing) for name, own in values.items())
    return Schema(columns=(*listed, *more), **of_all)


def make_frame(rows: int, seed: int) -> pd.DataFrame:
    """Return rows within the schema `SMALL` whose columns all depend on the class."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    letters = np.array(["x", "y", "<b>z</b>", None], dtype=object)
    return pd.DataFrame(
        {
            "a.b[0]:Q": letters[np.where(ill, rng.integers(0, 2, rows), rng.integers(1, 4, rows))],
            "grade": np.array(["low", "mid", "high"])[np.where(ill, 0, rng.integers(0, 3, rows))],
            "age": np.where(ill, rng.integers(50, 100, rows), rng.integers(0, 60, rows)),
            "height": rng.uniform(0, 2.5, rows),
            "ill": np.where(ill, "yes", "no"),
        }
    )
