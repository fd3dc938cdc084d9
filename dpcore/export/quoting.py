"""Texts that anybody may have written, in Markdown and in Python; `spreadsheet` has those in tables."""

import math
import re
from typing import Any

import numpy as np

WEB = re.compile(r"www(?=\.)", re.IGNORECASE)


def plain(text: str) -> str:
    """A user's text on one line without markup characters, for Markdown, which finds no address in it either."""
    return WEB.sub("www ", "".join(c for c in text if c.isprintable() and c not in "<>`*_[]#|\\~$@:&"))[:80]


def literal(value: Any) -> str:
    """A plain value as Python source of ASCII characters on one line, which reads back as an equal value."""
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list | tuple):
        parts = ", ".join(map(literal, value))
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' * (len(value) == 1)})"
    return ascii(value)
