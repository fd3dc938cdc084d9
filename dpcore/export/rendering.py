"""Texts that are taken home: templates filled with facts, and texts that anybody may have written, quoted.

Templates are files in `templates`, which can be read by themselves. HTML is escaped by itself; what
Markdown, Python and spreadsheets are given is quoted here. A name that a template asks for and
nobody gave is an error.
"""

import csv
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from dpcore.language import phrase, say
from dpcore.text import read_toml

SENTENCES = read_toml(Path(__file__).with_name("sentences.toml"))
for text in (*SENTENCES["unit"].values(), *SENTENCES["refuted"].values()):
    phrase(text)  # a model's file keeps it, and a screen tells it later

WEB = re.compile(r"www(?=\.)", re.IGNORECASE)
CLOSING = re.compile(r"_+(?!\w)")  # without one no underscore is markup: those inside and before words are letters
MOST_LETTERS = 80
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the environment of the template files."""
    found = Environment(
        loader=PackageLoader("dpcore.export"),
        autoescape=lambda name: str(name).endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {"literal": literal, "plain": plain}
    return found


def sentence(part: str, name: str, /, **values: Any) -> str:
    """Return a sentence of `sentences.toml` in the language of the screen, filled with values.

    `part` is its table in that file, `name` its name there.
    """
    return say(SENTENCES[part][name], **values)


def render(template: str, **values: Any) -> str:
    """Fill a template, a file of the folder `templates`, with values."""
    return templates().get_template(template).render(values)


def part(name: str, *values: Any) -> str:
    """Return HTML of a part of a page, such as a table.

    `name` is a macro of `templates/parts.html`, which escapes the values that it gets.
    """
    made: str = getattr(templates().get_template("parts.html").module, name)(*values)  # marked as safe
    return made


def plain(text: str) -> str:
    """Return a user's text on one line without markup characters, for Markdown.

    Markdown finds no address in it either.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    str
        The text without those characters, cut if it is too long.
    """
    words = WEB.sub("www ", "".join(c for c in text if c.isprintable() and c not in "<>`*[]#|\\~$@:&"))
    return CLOSING.sub("", words if len(words) <= MOST_LETTERS else f"{words[: MOST_LETTERS - 1]}…")


def literal(value: Any) -> str:
    """Return Python source of a plain value, on one line in ASCII."""
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list | tuple):
        parts = ", ".join(map(literal, value))
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' * (len(value) == 1)})"
    return ascii(value)


def spreadsheet_safe(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Put an apostrophe before texts that a spreadsheet would run as formulas, headers too.

    See the advice of OWASP on CSV injection. Numbers are left alone, and so are texts that are
    nothing but a number.

    Parameters
    ----------
    frame : DataFrame
        The rows.

    Returns
    -------
    safe : DataFrame
        The rows as they can be opened.
    escaped : int
        How many texts have an apostrophe.
    """
    headers, cells, escaped = [], [], 0
    for name in frame.columns:
        values = frame[name]
        if not pd.api.types.is_numeric_dtype(values):
            distinct = values.dropna().unique().astype(object)
            risky = values.isin([value for value in distinct if runs_as_formula(str(value))])
            escaped += int(risky.sum())
            if risky.any():
                values = values.astype(object).mask(risky, "'" + values.astype(str))
        headers.append(f"'{name}" if runs_as_formula(str(name)) else name)
        escaped += headers[-1] != name
        cells.append(values)
    safe = pd.DataFrame(dict(enumerate(cells)))  # by position: an escaped header may equal another one
    safe.columns = pd.Index(headers)
    return safe, escaped


def spreadsheet_csv(frame: pd.DataFrame, **how: Any) -> str:
    """Write a frame as CSV in which a spreadsheet runs no text (`spreadsheet_safe`).

    No text ends a cell or a row of the file. Carriage returns end a row for many readers, and
    Python's writer leaves texts that have them unquoted.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    **how
        Arguments of `DataFrame.to_csv`.

    Returns
    -------
    str
        The CSV text.
    """
    safe = spreadsheet_safe(frame)[0]
    plainly: str = safe.to_csv(index=False, lineterminator="\n", **how)
    if "\r" not in plainly:
        return plainly
    quoted: str = safe.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, **how)
    return quoted


def runs_as_formula(text: str) -> bool:
    """Return whether a spreadsheet may run a cell with this text."""
    return text.startswith(FORMULA_STARTS) and NUMBER.fullmatch(text) is None
