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
    """Return a column's values as visible text.

    "(empty)" stands for an empty text, and "(missing)" for a missing value.
    """
    missing = (value is None or value is pd.NA or value != value for value in column)
    shown = (" ".join(str(value).split()) or say("(empty)") for value in column)
    gone, both = say("(missing)"), zip(missing, shown, strict=True)  # a column says it in English
    named = [gone if lost or text == "(missing)" else text for lost, text in both]
    return pd.Series(named, dtype=object)


def short(name: str, most: int = 40) -> str:
    """Shorten a name, made visible text, to at most `most` characters."""
    return truncate(str(texts([name])[0]), most)


def truncate(text: str, most: int) -> str:
    """Cut a text to at most `most` letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def breadth(text: str) -> int:
    """Return the width of a text in letters; a Chinese character counts as two."""
    return len(text) + len(re.findall(WIDE, text))


def wrap_text(text: str, most: int) -> list[str]:
    """Break a text into lines of at most `most` letters."""
    if not re.search(WIDE, text):
        return textwrap.wrap(text, most)
    lines = [""]
    for piece in PIECE.findall(text):
        if lines[-1] and breadth(lines[-1] + piece.rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def labels(names: Iterable[str], most: int = LABEL) -> list[str]:
    """Return names as axis labels: in full, broken into lines of at most `most` letters."""
    parted = (truncate(name, LONGEST).replace("_", "_ ") for name in names)  # a line may end behind one
    return ["\n".join(wrap_text(name, most)).replace("_ ", "_") for name in parted]


def step(names: Iterable[str], least: int) -> alt.Step:
    """Return the height of an axis row in which each of the labels `names` fits.

    `least` is the least height in pixels. A label may have several lines.
    """
    return alt.Step(max([least, *(LINE * name.count("\n") + LINE + 6 for name in names)]))


def in_order(labels: Iterable[Any]) -> list[str]:
    """Return every label once, in order of first appearance."""
    return list(dict.fromkeys(labels))


def distinct(data: pd.DataFrame, label: str) -> pd.DataFrame:
    """Make equal labels in the column `label` different by numbers, for an axis of names.

    An axis would draw equal labels at one position.
    """
    data = data.assign(**{label: pd.Series(labels(data[label]), index=data.index, dtype=object)})
    again = data.groupby(label).cumcount()
    return data.assign(**{label: data[label].where(again == 0, data[label] + " (" + (again + 1).astype(str) + ")")})


def tidy(frame: pd.DataFrame, text: Sequence[str], numbers: Sequence[str], *, said: Sequence[str] = ()) -> pd.DataFrame:
    """Select columns of a frame with a new index; numbers become finite or missing.

    Columns in `text` become visible text. Columns in `said` are text as well, translated to the
    language of the screen.
    """
    values = {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    finite = {name: pd.Series(np.where(np.isfinite(value), value, np.nan)) for name, value in values.items()}
    names = {name: texts(frame[name]).map(say) for name in said}
    return pd.DataFrame(names | {name: texts(frame[name]) for name in text} | finite)


def percents(shares: Iterable[float]) -> list[str]:
    """Format shares as percentages of two digits; missing shares as an empty text."""
    return ["" if share != share else f"{100 * share:{'.0f' if abs(share) >= 0.0995 else '.2g'}}%" for share in shares]


def largest(values: Iterable[float], at_least: float) -> float:
    """Return the largest of the values, or `at_least` if that is larger."""
    return float(np.nanmax([at_least, *values]))


def t_interval(points: Any) -> tuple[pd.Series, pd.Series]:
    """Return both ends of the 95% t-interval of the mean of each row's group.

    `points` is a grouped Series. The ends are NaN for a group of a single row.
    """
    from scipy.special import stdtrit  # slow, and needed nowhere else here

    mean, count = points.transform("mean"), points.transform("size")
    half = points.transform("std") / np.sqrt(count) * stdtrit(count - 1, 0.975)
    return mean - half, mean + half
