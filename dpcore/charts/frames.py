"""Honest data frames: what charts are made from, and how it is named, ordered, folded and summed up."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.language import say

UNSEEN = "\u200b"  # a name that nobody sees, and what tells one from another that looks the same
LETTER = 0.58  # its width, as a share of its height
MOST_VALUES, MOST_ENTRIES, MOST_NUMBERED, MOST_NAMED = 40, 20, 20, 60
LABEL, LONGEST, LINE = 24, 96, 16  # letters of a label's line, and of all of it; pixels of a line
WIDE = "[\u2e80-\u9fff\uf900-\uffef]"  # Chinese letters and signs
# What a line may end behind: a word, or a Chinese letter, with the signs that no line begins with.
PIECE = re.compile(f"(?:{WIDE}|(?:(?!{WIDE})\\S)+)[，。：；！？、）”’》]*\\s*")


def texts(column: Iterable[object]) -> pd.Series:
    """Values as text that can be seen."""
    missing = (value is None or value is pd.NA or value != value for value in column)
    shown = (" ".join(str(value).split()) or say("(empty)") for value in column)
    gone, both = say("(missing)"), zip(missing, shown, strict=True)  # a column says it in English
    named = [gone if lost or text == "(missing)" else text for lost, text in both]
    return pd.Series(named, dtype=object)


def short(name: str, most: int = 40) -> str:
    """A name of at most so many characters."""
    return truncate(str(texts([name])[0]), most)


def truncate(text: str, most: int) -> str:
    """At most so many letters of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def breadth(text: str) -> int:
    """How many letters wide a text is: a Chinese one is as wide as two."""
    return len(text) + len(re.findall(WIDE, text))


def wrap_text(text: str, most: int) -> list[str]:
    """A text as lines of at most so many letters."""
    if not re.search(WIDE, text):
        return textwrap.wrap(text, most)
    lines = [""]
    for piece in PIECE.findall(text):
        if lines[-1] and breadth(lines[-1] + piece.rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def labels(names: Iterable[str], most: int = LABEL) -> list[str]:
    """Names for places along an axis: in full, as lines of at most so many letters."""
    parted = (truncate(name, LONGEST).replace("_", "_ ") for name in names)  # a line may end behind one
    return ["\n".join(wrap_text(name, most)).replace("_ ", "_") for name in parted]


def step(names: Iterable[str], least: int) -> alt.Step:
    """The height of a row, in which each of these labels has room."""
    return alt.Step(max([least, *(LINE * name.count("\n") + LINE + 6 for name in names)]))


def in_order(labels: Iterable[Any]) -> list[str]:
    """Every label once, in the order in which they come."""
    return list(dict.fromkeys(labels))


def distinct(data: pd.DataFrame, label: str) -> pd.DataFrame:
    """Names as labels, equal ones told apart, because an axis would draw them in one place."""
    data = data.assign(**{label: pd.Series(labels(data[label]), index=data.index, dtype=object)})
    again = data.groupby(label).cumcount()
    return data.assign(**{label: data[label].where(again == 0, data[label] + " (" + (again + 1).astype(str) + ")")})


def tidy(frame: pd.DataFrame, text: Sequence[str], numbers: Sequence[str], *, said: Sequence[str] = ()) -> pd.DataFrame:
    """These columns only, with a new index; numbers are finite or missing.

    Those that are to be `said` are in the language of the screen.
    """
    values = {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    finite = {name: pd.Series(np.where(np.isfinite(value), value, np.nan)) for name, value in values.items()}
    names = {name: texts(frame[name]).map(say) for name in said}
    return pd.DataFrame(names | {name: texts(frame[name]) for name in text} | finite)


def percents(shares: Iterable[float]) -> list[str]:
    """Shares as per cent of two digits; nothing where there is none."""
    return ["" if share != share else f"{100 * share:{'.0f' if abs(share) >= 0.0995 else '.2g'}}%" for share in shares]


def largest(values: Iterable[float], at_least: float) -> float:
    """The largest number, or `at_least`."""
    return float(np.nanmax([at_least, *values]))


def t_interval(points: Any) -> tuple[pd.Series, pd.Series]:
    """The 95% t-interval of the mean of each group, row by row; NaN for a single one."""
    from scipy.special import stdtrit  # slow, and needed nowhere else here

    mean, count = points.transform("mean"), points.transform("size")
    half = points.transform("std") / np.sqrt(count) * stdtrit(count - 1, 0.975)
    return mean - half, mean + half
