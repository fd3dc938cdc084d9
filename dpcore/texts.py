"""How public values are written: texts by which cells and categories are compared, ends of intervals, and epsilons."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_text", "canonical", "finite_or_text", "is_writable", "number", "told_apart"]

MILLION = 1e6
FEWEST_DIGITS, MOST_DIGITS = 4, 17  # with 17 digits no two floats have the same text
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,15}))\.0+")


def as_text(value: object) -> str:
    """A category's canonical text: whole floats lose their `.0`, everything else is `str`."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def canonical(value: object) -> str:
    """The text by which a cell and a category are compared: `3`, `3.0` and `"3.0"` are one value, `"03"` is another.

    A rule for each cell alone. Whether a file's column arrives as numbers or as text hangs on its other cells, and must
    make no difference here.
    """
    text = as_text(value)
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def is_writable(*texts: str) -> bool:
    """Whether files can hold these texts: half of a character (a lone surrogate) has no bytes."""
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def told_apart(numbers: Sequence[float]) -> list[str]:
    """Different numbers as different texts, all with as few significant digits as that takes, and four at least."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len(set(texts)) == len(texts):
            return texts
    return [f"{number:.{MOST_DIGITS}g}" for number in numbers]


def number(epsilon: float) -> str:
    """An epsilon >= 0 for people, wherever it is shown: never rounded down, and infinity as its sign.

    Three digits; below a million at least all whole ones, thousands separated.
    """
    if math.isinf(epsilon) or epsilon == 0:
        return "∞" if epsilon else "0"
    power = math.floor(math.log10(epsilon)) - 2
    unit = 10.0 ** (power if epsilon >= MILLION else min(power, 0))
    shown = math.ceil(epsilon / unit - 1e-6) * unit
    return f"{shown:,.0f}" if 1000 <= shown < MILLION else f"{shown:.3g}"


def finite_or_text(value: Any) -> Any:
    """JSON has no infinity and no NaN: write the word, or null."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "infinity"
