"""How public values are written: texts by which cells and categories are compared, ends of intervals, and epsilons."""

import math
import re
import tomllib
from collections.abc import Sequence
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.language import phrase, say

MILLION = 1e6
CERTAIN = 0.9995  # a share that would be told as all
TENTHS = ".1f"  # for shares, by default with three digits
FEWEST_DIGITS, MOST_DIGITS = 4, 17  # with 17 digits no two floats have the same text
UNWRITABLE = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff]")
# A number as nobody would write a name: "007" is a name, and so is "1_000", which Python would take.
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.]([0-9]+))?", re.ASCII)


def as_text(value: object) -> str:
    """A cell as text: whole floats lose their `.0`, everything else is `str`."""
    if isinstance(value, float | np.floating):
        exact = float(value)  # a narrow float is the number that it is, not its shortest text
        return str(int(exact)) if exact.is_integer() else str(exact)
    return str(value)


def canonical(value: object) -> str:
    """The text by which a cell and a category are compared.

    Numbers are compared as floats: `3`, `3.0`, `"3.00"`, `"+3"` and `"3e0"` are one value, and so
    are whole numbers that no float tells apart. `"03"` is a name. A date is the same with midnight
    added; times have their seconds. A rule for each cell alone: how the rest of its column is
    written, and stored, makes no difference.
    """
    text = as_text(value)
    if NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return as_text(float(text))
    if time := TIME.fullmatch(text):
        day, minute, second, fraction = time.groups(default="")
        words = f"{minute}{second or ':00'}.{fraction.rstrip('0')}".rstrip(".")
        return day if words == "00:00:00" else f"{day} {words}"
    return text


def is_writable(*texts: str) -> bool:
    """Whether files and drawings can hold these texts.

    Half of a character (a lone surrogate) has no bytes. Other control characters than tabs and ends
    of lines are in no XML, so in no picture: whoever draws one ends the whole program.
    """
    return not any(UNWRITABLE.search(text) for text in texts)


def writable(name: str) -> str:
    r"""A file's name as files and drawings can hold it: what they cannot is written as Python does, such as \udce9."""
    return UNWRITABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def distinct_texts(numbers: Sequence[float]) -> list[str]:
    """Different numbers as different texts, all with as few significant digits as that takes, and four at least."""
    written = [[f"{number:.{n}g}" for number in numbers] for n in range(FEWEST_DIGITS, MOST_DIGITS + 1)]
    return next((texts for texts in written if len({*texts}) == len(texts)), written[-1])


def short(number: float) -> str:
    """A number of a column, short enough for a picture; of four digits, which may be a year, without a comma."""
    digits = ".6g" if abs(number) < 10_000 else ",.6g" if abs(number) < 100_000 else ",.0f"
    return f"{number:{digits}}"


class Verdict(StrEnum):
    """The answer to whether something is so, by what was measured."""

    HOLDS = phrase("holds")
    FAILS = phrase("does not hold")
    OPEN = phrase("cannot be told")


def claim(epsilon: float) -> str:
    """What is claimed, for people: the sign for infinity looks like praise."""
    return number(epsilon) if math.isfinite(epsilon) else say("nothing")


def limit(epsilon: float) -> str:
    """What something can cost at most, for people."""
    return number(epsilon) if math.isfinite(epsilon) else say("no limit")


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], most: int = 100) -> str:
    """A small table for notebooks, in the page's colors; texts are escaped, more rows counted."""
    cell = "<{0} style='text-align: left; padding-right: 1em'>{1}</{0}>".format
    lines = [("th", header), *(("td", row) for row in rows[:most])]
    body = "".join(f"<tr>{''.join(cell(kind, escape(text)) for text in row)}</tr>" for kind, row in lines)
    more = f"<div>and {len(rows) - most:,} more</div>" if len(rows) > most else ""
    return f"<div><b>{escape(title)}</b></div><table>{body}</table>{more}"


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


def percent(share: float, digits: str = ".3g", *, certain: bool = True) -> str:
    """A share for people; what only rounding makes all of it (`certain=False`: nothing is all) is over 99.9%."""
    rounded = CERTAIN <= share < 1 or (share == 1 and not certain)
    return say("over 99.9%") if rounded else f"{100 * share:{digits}}%"


def odds(epsilon: float) -> float:
    """Return how sure an observer who was 50:50 can become at most: e^epsilon / (1 + e^epsilon).

    Parameters
    ----------
    epsilon : float
        The proven epsilon, 0 or more; it may be infinite.

    Returns
    -------
    float
        The probability.

    Examples
    --------
    >>> from dpcore.text import odds
    >>> round(odds(1.0), 3), odds(float("inf"))
    (0.731, 1.0)
    """
    grown = math.exp(-abs(epsilon))
    return 1 / (1 + grown) if epsilon >= 0 else grown / (1 + grown)


def finite_or_text(value: Any) -> Any:
    """JSON has no infinity and no NaN: write the word, or null."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "infinity"


def read_toml(path: Path) -> dict[str, Any]:
    """A table out of a file, with each text that is broken over lines there on one line."""

    def joined(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: joined(each) for name, each in value.items()}
        if isinstance(value, list):
            return [joined(each) for each in value]
        return " ".join(value.split()) if isinstance(value, str) and "\n" in value else value

    found: dict[str, Any] = joined(tomllib.loads(path.read_text(encoding="utf-8")))
    return found
