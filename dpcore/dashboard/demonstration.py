"""The common layout of demonstrations: settings at left, pictures and one sentence at right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias

import pandas as pd
import streamlit as st

from dpcore.charts.base import Chart
from dpcore.dashboard import panels
from dpcore.dashboard.shell import mendable
from dpcore.dashboard.widgets import caption, figures, lasting, markdown, number_choice
from dpcore.language import phrase, say

# Headings of tables, in one message: translations have the same number, in the same order.
HEADINGS = phrase(
    "allowed, answer, answers, average, candidate, column, count, deviation, distance, each, "
    "epsilon, epsilon_total, from, high, inside, kept, loss, low, measure, number, once, others, "
    "outside, part, person, prior, probability, probability_other, ratio, release, released, "
    "reported, reports, right, rounds, setting, share, shared, split, to, truth, value, votes, "
    "votes_other, who, with, without, world, yours"
)
DANA = "Dana"  # the invented person in question; all other persons
OTHERS = ("Ada", "Ben", "Chen", "Eli", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Mei", "Noor")
EPSILON, EPSILONS = phrase("Epsilon"), (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
DemonstrationPicture: TypeAlias = Chart | pd.DataFrame | Callable[[], None]


@dataclass(frozen=True)
class Demonstration:
    """The contents of a demonstration: figures, pictures, and one sentence to remember, `keep`.

    `figures` are numbers as text, by their labels. The sentences `keep`, `note` and `assumptions`
    are messages; `values` are put in place of the names in their braces.
    """

    figures: Mapping[str, str]
    pictures: Sequence[DemonstrationPicture]  # the first one is above the sentence
    keep: str
    assumptions: str  # of the pictures, with their source
    tables: Mapping[str, pd.DataFrame]  # of numbers, by their titles
    note: str = ""  # below the sentence
    values: Mapping[str, Any] = field(default_factory=dict)


def demonstration(key: str) -> Callable[[Callable[[str], Demonstration | None]], Callable[[], None]]:
    """Return a decorator that turns a function into a part of a page with its own reruns.

    The function draws the settings whose keys begin with `key`, and returns the `Demonstration`
    that is drawn beside them, or None for nothing.
    """

    def part(make: Callable[[str], Demonstration | None]) -> Callable[[], None]:
        @st.fragment
        @wraps(make)
        def drawn() -> None:
            left, right = two_columns()
            with mendable():
                with left:
                    found = make(key)
                if found is not None:
                    draw_demonstration(found, left, right)

        return drawn

    return part


def two_columns() -> Any:
    """Return the left column, for settings, and the right column, for pictures."""
    return st.columns([2, 5], gap="medium")


def epsilon_slider(
    key: str, label: str = EPSILON, steps: Sequence[float] = EPSILONS, usual: float = 1, **style: Any
) -> float:
    """Draw a slider of epsilon on a logarithmic scale, and return its value.

    `steps` are the values to choose from, and `usual` is the value until the user chooses one.
    """
    style |= {"value": usual, "help": say("Left: more private. Right: more accurate.")}
    return float(number_choice(st.select_slider, say(label), f"{key}.epsilon", steps, **style))


def share_slider(label: str, key: str, low: int, high: int, usual: int, step: int = 1) -> float:
    """Draw a slider in percent, and return its value as a share in [0, 1].

    The ends `low` and `high`, the initial value `usual` and the `step` are in percent.
    """
    return float(lasting(st.slider, label, key, low, high, usual, step, format="%d%%") / 100)


def with_headings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its headings in the language of the screen.

    Headings that are not in `HEADINGS` stay as they are.
    """
    return frame.rename(columns=dict(zip(HEADINGS.split(", "), say(HEADINGS).split(", "), strict=True)))


def draw_picture(picture: DemonstrationPicture) -> None:
    """Draw a chart or a table, or call a function that draws."""
    if isinstance(picture, pd.DataFrame):
        st.dataframe(picture, hide_index=True)
    elif callable(picture):
        picture()
    else:
        panels.chart(picture)


def draw_demonstration(found: Demonstration, left: Any, right: Any) -> None:
    """Draw a demonstration: its figures in the left column, all else in the right column.

    `left` and `right` are the columns that `two_columns` returns.
    """
    with left:
        figures(found.figures, horizontal=False)
    with right:
        draw_picture(found.pictures[0])
        sentence = say(found.keep, **found.values)
        st.success(say("**Takeaway:** {sentence}", sentence=sentence), icon=":material/bookmark:")
        if found.note:
            markdown(found.note, **found.values)
        for picture in found.pictures[1:]:
            draw_picture(picture)
        with st.expander(say("Assumptions, and the numbers behind the pictures")):
            caption(found.assumptions, **found.values)
            for title, frame in found.tables.items():
                st.markdown(f"**{title}**")
                st.dataframe(with_headings(frame), hide_index=True)
