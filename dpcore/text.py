"""Write public values as text: compared cells, ends of intervals, epsilons, shares and tables."""

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
CERTAIN = 0.9995  # a share that would be rounded to 100%
TENTHS = ".1f"  # format of shares with one decimal; the default is three digits
FEWEST_DIGITS, MOST_DIGITS = 4, 17  # with 17 digits no two floats have the same text
UNWRITABLE = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff]")
# Numbers as people write them: "007" is a name, and so is "1_000", which Python would accept.
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.]([0-9]+))?", re.ASCII)


def as_text(value: object) -> str:
    """Return a cell as text: whole floats lose their `.0`, everything else is `str`."""
    if isinstance(value, float | np.floating):
        exact = float(value)  # the value itself of a float32, not its shortest text
        return str(int(exact)) if exact.is_integer() else str(exact)
    return str(value)


def canonical(value: object) -> str:
    """Return the text by which a cell and a category are compared.

    Numbers are compared as floats: `3`, `3.0`, `"3.00"`, `"+3"` and `"3e0"` are one value. `"03"`
    is a name. A date equals the same date at midnight, and times get their seconds. The text
    depends on the cell alone, not on the other cells or the type of its column.
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
    """Return whether files and charts can hold these texts.

    A lone surrogate (half of a character) has no bytes. XML, and so SVG, has no control characters
    but tabs and line ends: a chart with one would end the whole program.
    """
    return not any(UNWRITABLE.search(text) for text in texts)


def writable(name: str) -> str:
    r"""Return a file's name with characters escaped that files and charts cannot hold (\udce9)."""
    return UNWRITABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def distinct_texts(numbers: Sequence[float]) -> list[str]:
    """Return different numbers as different texts of equal precision, four digits at least.

    If 17 digits do not tell them apart, the numbers are equal, and so are their texts.
    """
    written = [[f"{number:.{n}g}" for number in numbers] for n in range(FEWEST_DIGITS, MOST_DIGITS + 1)]
    return next((texts for texts in written if len({*texts}) == len(texts)), written[-1])


def short(number: float) -> str:
    """Return a column's number with at most six digits, for a chart.

    Below 10,000 it has no comma, because a number of four digits may be a year.
    """
    digits = ".6g" if abs(number) < 10_000 else ",.6g" if abs(number) < 100_000 else ",.0f"
    return f"{number:{digits}}"


class Verdict(StrEnum):
    """Result of testing a claimed epsilon by measurements.

    It holds, it fails, or the measurements do not decide.
    """

    HOLDS = phrase("holds")
    FAILS = phrase("does not hold")
    OPEN = phrase("is not decided")


def claim(epsilon: float) -> str:
    """Return a claimed epsilon as text for people; "no epsilon" if it is infinite."""
    return number(epsilon) if math.isfinite(epsilon) else say("no epsilon")


def limit(epsilon: float) -> str:
    """Return an upper bound on epsilon as text for people; "no limit" if it is infinite."""
    return number(epsilon) if math.isfinite(epsilon) else say("no limit")


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], most: int = 100) -> str:
    """Return a small HTML table for notebooks, with texts escaped.

    Of the rows at most `most` are shown, and the others counted.
    """
    cell = "<{0} style='text-align: left; padding-right: 1em'>{1}</{0}>".format
    lines = [("th", header), *(("td", row) for row in rows[:most])]
    body = "".join(f"<tr>{''.join(cell(kind, escape(text)) for text in row)}</tr>" for kind, row in lines)
    more = f"<div>and {len(rows) - most:,} more</div>" if len(rows) > most else ""
    return f"<div><b>{escape(title)}</b></div><table>{body}</table>{more}"


def number(epsilon: float) -> str:
    """Return an epsilon >= 0 as text for people: three digits, never rounded down, infinity as ∞.

    Below a million all whole digits are kept, with commas.
    """
    if math.isinf(epsilon) or epsilon == 0:
        return "∞" if epsilon else "0"
    power = math.floor(math.log10(epsilon)) - 2
    unit = 10.0 ** (power if epsilon >= MILLION else min(power, 0))
    shown = math.ceil(epsilon / unit - 1e-6) * unit
    return f"{shown:,.0f}" if 1000 <= shown < MILLION else f"{shown:.3g}"


def percent(share: float, digits: str = ".3g", *, certain: bool = True) -> str:
    """Return a share in [0, 1] as text in percent; "over 99.9%" if only rounding makes it 100%.

    `digits` is the format of the number. With `certain=False`, a share of 1 is "over 99.9%" too.
    """
    rounded = CERTAIN <= share < 1 or (share == 1 and not certain)
    return say("over 99.9%") if rounded else f"{100 * share:{digits}}%"


def odds(epsilon: float) -> float:
    """Return the largest posterior probability of an observer with a 50:50 prior.

    It is e^epsilon / (1 + e^epsilon). The prior is on which of two neighboring data sets is the
    real one.

    Parameters
    ----------
    epsilon : float
        The proven epsilon; it may be infinite.

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
    """Return a value that JSON can hold: infinity becomes "infinity", NaN becomes None."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "infinity"


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; each text that spans several lines becomes one line."""

    def joined(value: Any) -> Any:
        """Return a TOML value with each text on one line."""
        if isinstance(value, dict):
            return {name: joined(each) for name, each in value.items()}
        if isinstance(value, list):
            return [joined(each) for each in value]
        return " ".join(value.split()) if isinstance(value, str) and "\n" in value else value

    found: dict[str, Any] = joined(tomllib.loads(path.read_text(encoding="utf-8")))
    return found
