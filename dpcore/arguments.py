"""Check the arguments of public functions: numbers, arrays, data frames and callbacks.

Numbers are those of Python and of NumPy; True and False are not numbers.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from functools import cache, wraps
from inspect import Parameter, formatannotation, isfunction, signature
from itertools import islice
from numbers import Integral, Real
from types import UnionType
from typing import Any, ParamSpec, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.errors import DataError, ParameterError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Flags = NDArray[np.bool_]
LARGEST = 2**63  # NumPy's integers are smaller
ARRAYS = (np.ndarray, list, tuple, pd.Series)
ACCEPTED_KINDS: dict[Any, Any] = {float: Real, int: Integral, tuple: (list, tuple), np.ndarray: ARRAYS}
"""Types that are accepted in place of an annotated type."""
HIDDEN_PARTS = re.compile(r"\w+\.|(?<=ndarray)\[tuple.*?dtype.*?\]+")  # modules, dtypes
REMEDIES = {  # by a pattern in the annotation
    "Dataset|Rows": 'Pass the data set that dp.datasets.read("people.csv", schema=schema) gives.',
    "Schema": "Declare one: dp.Schema([dp.Column(…), …]). Or read one: "
    'dp.Schema.from_json(Path("schema.json").read_text()).',
    "Release": 'Make one of a fitted method: dp.export.make_release(fitted, "MST", rows, …).',
    r"Mapping\[str, Synth": 'Pass methods by names of yours: {"mine": dp.MST(epsilon=1.0)}.',
    "Synthesizer|PrivateEstimator": "Pass a method with parameters, such as dp.MST(epsilon=1.0).",
}
TABLE_REMEDIES = {  # by an attribute that an encoded folder, a data set or another library's table has
    "split": "Pass data.train_sample, or data.test_sample: rows of the folder that are in memory.",
    "train": "Pass its rows: data.train, or data.test.",
    "to_pandas": "Pass its to_pandas().",
}
Progress = Callable[[float, str], None]
"""Callback of long computations: takes the fraction done and a text; an exception in it cancels."""


def no_progress(fraction: float, text: str) -> None:
    """Ignore the progress of a long computation: the default callback.

    `fraction` is the fraction done, `text` says in words what is done.
    """


def is_number(value: object) -> bool:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, least: float = -np.inf, most: float = np.inf) -> TypeGuard[int]:
    """Return whether a value is an integer from `least` to `most`; True and False are not."""
    return not isinstance(value, bool) and isinstance(value, Integral) and least <= int(value) <= most


def plain(value: Any) -> Any:
    """Convert NumPy scalars to Python's, also in a list or tuple; return other values unchanged."""
    if isinstance(value, np.floating):
        return float(value)  # one of more than 64 bits has no other `item`
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple) and any(isinstance(item, np.generic) for item in value):
        return type(value)(map(plain, value))
    return value


def is_plain(value: object) -> bool:
    """Return whether a value can be a method's parameter: None, bool, text, number or a list."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return isinstance(value, str | float | None) or (isinstance(value, int) and abs(value) < LARGEST)


def kind_of(value: object) -> str:
    """Return a value's type in words for error messages, such as "of the type pandas.DataFrame".

    The words have nothing of the value's content, which may be private. The name of the library is
    included, because several have a `DataFrame`.
    """
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    kind = type(value)
    origin = f"{kind.__module__.partition('.')[0]}.".removeprefix("builtins.")
    return "nothing" if value is None else f"of the type {origin}{kind.__qualname__}"


def require_frame(table: object, *, texts: bool = False) -> pd.DataFrame:
    """Return `table` if it is a DataFrame with one header per column; otherwise raise DataError.

    With `texts`, every header must be a text.
    """
    if not isinstance(table, pd.DataFrame):
        raise DataError(
            f"The rows must be a DataFrame with named columns; this is {kind_of(table)}.",
            table_remedy(table),
        )
    if table.columns.nlevels > 1:
        raise DataError("The columns have headers of several levels.", "Use one text per column.")
    if not table.columns.is_unique:
        raise DataError("The data have two columns of the same name.", "Rename one of the columns.")
    if texts and not all(isinstance(name, str) for name in table.columns):
        raise DataError("A column's name is not a text.", "Use frame.columns = frame.columns.map(str).")
    return table


def table_remedy(given: object) -> str:
    """Return advice for an error: how to get a DataFrame from `given`, which is something else."""
    if isinstance(given, str | os.PathLike):
        return 'Pass data.train of data = dp.datasets.read("people.csv", schema=schema).'
    remedies = (remedy for name, remedy in TABLE_REMEDIES.items() if hasattr(given, name))
    return next(remedies, "Wrap it: pd.DataFrame(X, columns=[…]), with the names of the schema's columns.")


def is_kind(value: object, hint: Any) -> bool:
    """Return whether a value fits an annotation (`hint`).

    Of a collection up to 20 items are checked too.
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(is_kind(value, part) for part in parts)
    if kind in (Any, object) or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        wanted = [name for name in vars(kind) if not name.startswith("_")]
        return not isinstance(value, type) and all(hasattr(value, name) for name in wanted)
    if isinstance(value, str) and issubclass(kind, Iterable):
        return issubclass(kind, str)  # a text is no list of texts
    if not isinstance(value, ACCEPTED_KINDS.get(kind, kind)):
        return False
    if kind is np.ndarray or (kind is tuple and ... not in parts) or not isinstance(value, Collection):
        return True
    items, part = (value.values(), parts[1:]) if isinstance(value, Mapping) else (value, parts[:1])
    return all(is_kind(item, one) for item in islice(items, 20) for one in part)


def check_arguments(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Return the function with a check that its arguments fit its annotations.

    Raises
    ------
    DataError
        When the function is called with something else in place of a DataFrame.
    ParameterError
        When another argument is missing, unknown or of another type.
    """
    title = function.__qualname__.removesuffix(".__init__")
    form, hints = signature(function), cache(lambda: get_type_hints(function))

    @wraps(function)
    def checked(*words: Given.args, **given: Given.kwargs) -> Answer:
        """Check the arguments against the annotations, then call the function."""
        try:
            named = form.bind(*words, **given).arguments
        except TypeError as error:
            known = ", ".join(name for name in form.parameters if name != "self") or "none"
            raise ParameterError(f"{title}: {error}.", f"Its arguments are {known}.") from None
        for name, value in named.items():
            several = form.parameters[name].kind is Parameter.VAR_POSITIONAL
            hint = hints().get(name, Any)
            if all(is_kind(one, hint) for one in (value if several else [value])):
                continue
            wanted = HIDDEN_PARTS.sub("", formatannotation(hint))
            cause = f"The {name!r} argument takes {wanted}; what was passed is {kind_of(value)}."
            if "DataFrame" in wanted:
                raise DataError(cause, table_remedy(value))
            remedies = (remedy for kind, remedy in REMEDIES.items() if re.search(kind, wanted))
            raise ParameterError(cause, next(remedies, f"Pass a value of this type as {name}."))
        return function(*words, **given)

    return checked


def check_public(names: MutableMapping[str, Any], public: Iterable[str]) -> None:
    """Make public functions and classes of a module check their arguments (`check_arguments`).

    Parameters
    ----------
    names : dict
        The module's globals, which are changed.
    public : iterable of str
        The names of the functions and classes to change.
    """
    for name in public:
        if isfunction(found := names[name]):
            names[name] = check_arguments(found)
            names[name].__module__ = names["__name__"]  # where pickle finds it
        elif isinstance(found, type) and isfunction(make := vars(found).get("__init__")):
            setattr(found, "__init__", check_arguments(make))  # noqa: B010 - for mypy


def one_per_row(y: Any, frame: pd.DataFrame) -> NDArray[Any]:
    """Return class values (`y`) as an array of shape (n,), for the n rows of `frame`.

    DataError if there is not one class per row.
    """
    classes = np.asarray(y)
    if classes.shape not in ((len(frame),), (len(frame), 1)):
        raise DataError("There is not one class per row.", "Pass as many classes as rows, in one column.")
    return classes.reshape(len(frame))
