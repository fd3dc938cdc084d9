"""What an argument may be: numbers as Python and NumPy have them (True and False are none), arrays, tables, calls."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
LARGEST = 2**63  # of whole numbers that NumPy computes with
Progress = Callable[[float, str], None]
"""Called by long work with the fraction done and a text; raising inside it cancels the work cleanly."""


def no_progress(fraction: float, text: str) -> None:
    """The callback of somebody who does not watch."""


def is_number(value: object) -> bool:
    """Whether it is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, least: float = -np.inf, most: float = np.inf) -> TypeGuard[int]:
    """Whether it is a whole number from `least` to `most`; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, Integral) and least <= int(value) <= most


def plain(value: Any) -> Any:
    """A NumPy number, truth value or text as Python's, also inside a list or tuple; anything else as it is."""
    if isinstance(value, np.floating):
        return float(value)  # one of more than 64 bits has no other `item`
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(plain, value))
    return value


def is_plain(value: object) -> bool:
    """Whether it is what a parameter may be at all: nothing, a truth value, a text, a number, or some of them."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return isinstance(value, str | float | None) or (isinstance(value, int) and abs(value) < LARGEST)


def kind_of(value: object) -> str:
    """What something is, in words, without a word of what is in it; several libraries have a DataFrame."""
    kind = type(value)
    origin = f"{kind.__module__.partition('.')[0]}.".removeprefix("builtins.")
    return "nothing" if value is None else f"of the type {origin}{kind.__qualname__}"


def require_frame(table: object, *, texts: bool = False) -> pd.DataFrame:
    """The table, if it is a DataFrame with one header per column, which with `texts` has to be text; else DataError."""
    if not isinstance(table, pd.DataFrame):
        raise DataError(
            f"The rows are no table with named columns: what was given is {kind_of(table)}.",
            "Pass a pandas DataFrame, such as pandas.DataFrame(rows, columns=list(schema.names)).",
        )
    if table.columns.nlevels > 1:
        raise DataError("The columns have headers of several levels.", "Join them: one text per column.")
    if not table.columns.is_unique:
        raise DataError("The data have two columns of the same name.", "Rename one of them.")
    if texts and not all(isinstance(name, str) for name in table.columns):
        raise DataError("A column's name is no text.", "Rename: frame.columns = frame.columns.map(str).")
    return table


def one_per_row(y: Any, frame: pd.DataFrame) -> NDArray[Any]:
    """Classes as an array of shape (n,); DataError if there is not one per row."""
    classes = np.asarray(y)
    if classes.shape == (len(frame), 1):
        classes = classes[:, 0]
    if classes.shape != (len(frame),):
        raise DataError("There is not one class per row.", "Pass as many classes as rows, in one column.")
    return classes
