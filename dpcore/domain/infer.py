"""From what a column seems to be to a declaration of it: a guess, which is read off the rows and so not public."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from dpcore.domain.cells import distinct
from dpcore.domain.column import MAX_CATEGORIES, Column
from dpcore.domain.recognition import ABSENT, Recognized
from dpcore.errors import SchemaError
from dpcore.text import canonical, is_writable

# A value that fewer rows have is not proposed as a category: a schema is published without noise, and a town of one
# person would name that person. Ten is about the smallest cell that statistical offices publish (their thresholds are
# 3 to 11), and little is lost: at epsilon 1, noise of several rows hides a category of fewer anyway. It does not hang
# on the number of rows, so that in a tiny table no value is listed unasked.
RARE = 10
OTHER = "(other)"  # the one category of a column of which none is proposed; it is nobody's value


def column_of(found: Recognized, values: "pd.Series[Any]", *, least: int = RARE) -> tuple[Column | None, int]:
    """A column as it was recognized, whether or not it is left out by default, and how many values it does not list.

    None if it can be no column. Numbers and dates get their own extremes as bounds; all others the values that at
    least so many rows have as categories. The others count as missing.
    """
    if found.what in ("empty", "unreadable"):
        return None, 0
    fields, rare = {**found.fields}, 0
    if "kind" not in fields:
        held = {value: rows for value, rows in holders(values).items() if value.strip()}
        if not 0 < len(held) <= MAX_CATEGORIES or not is_writable(*held):
            return None, 0
        categories = sorted(value for value, rows in held.items() if rows >= least)
        rare = len(held) - len(categories)
        fields |= {"kind": "categorical", "categories": tuple(categories) or (OTHER,)}
        fields |= ABSENT if rare else {}
    fields |= {"missing": True} if values.isna().any() else {}
    for given in (fields, {name: fields[name] for name in fields if name != "step"}):
        with suppress(SchemaError):  # numbers may be too small, or too close
            return Column(name=found.name, origin="proposed", **given), rare
    return None, 0


def holders(values: "pd.Series[Any]", persons: "pd.Series[Any] | None" = None) -> dict[str, int]:
    """How many rows have each value, as it is written shortest; how many persons, where `persons` says whose rows."""
    places, texts = distinct(values)
    shortest: dict[str, str] = {}  # of the ways in which a value is written
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    code = {key: place for place, key in enumerate(shortest)}
    held = pd.Series(np.array([*(code[canonical(text)] for text in texts), -1])[places])
    if persons is not None:
        held = held[~pd.DataFrame({"value": held, "whose": pd.factorize(persons)[0]}).duplicated()]
    many = np.bincount(held + 1, minlength=len(code) + 1)[1:]
    return dict(zip(shortest.values(), many.tolist(), strict=True))
