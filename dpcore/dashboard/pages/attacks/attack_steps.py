"""What all attacks of the page have alike: noiseless numbers first, then noise with a slider, then a sentence to keep.

The people are rows of the bundled sample, which is synthetic, whatever data are in use: nothing is charged.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.arguments import Floats
from dpcore.charts.base import Chart
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.widgets import choice, figures, number_choice, seed_button
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import CERTAIN, odds, percent

Value = TypeVar("Value")
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
STEPS = {"noiseless": phrase("1. Without noise"), "noise": phrase("2. With noise")}
MOST_KEPT = 60
SECRET = ("income", ">50K")


@dataclass(frozen=True)
class Found:
    """What a step of an attack found out, in the order in which it is shown."""

    figures: Mapping[str, str]
    chart: Chart
    keep: str  # the sentence to keep
    source: str  # who found out, and what is assumed
    behind: pd.DataFrame  # the numbers of the chart
    note: str = ""  # below the figures
    more: Chart | pd.DataFrame | None = None  # below the chart


@contextmanager
def settings(
    page: str, name: str, widths: list[int], label: str = phrase("Epsilon")
) -> Iterator[tuple[str, float | None, list[Any]]]:
    """The settings of an attack: the key of all, epsilon (None in the step without noise), and room for its own."""
    key = f"{page}.{name}"
    with links.of(page, session.dataset(), name):
        first, *own, last = st.columns(widths, gap="medium")
        look: Any = {"default": "noiseless", "required": True}
        epsilon = None
        if choice(first.segmented_control, say("What is published"), f"{key}.step", STEPS, **look) == "noise":
            look = {"value": 1.0, "help": say("Left: more private. Right: more accurate.")}
            epsilon = float(number_choice(last.select_slider, say(label), f"{key}.epsilon", EPSILONS, **look))
        yield key, epsilon, own


def draw(key: str, lead: str, again: str, look: Callable[[int], Found]) -> None:
    """A step of an attack. `look` gets the seed of the button `again`, which both steps share; 0 without a button."""
    st.markdown(lead)
    left, right = st.columns([1, 4], gap="medium")
    with left:
        found = look(seed_button(key, again) if again else 0)
        figures(found.figures, beside=False)
        if found.note:
            st.caption(found.note)
    with right:
        panels.chart(found.chart)
    title = say("The numbers behind this chart")
    if isinstance(found.more, pd.DataFrame):
        st.dataframe(found.more, hide_index=True)
    elif found.more is not None:
        panels.chart(found.more)
        title = say("The numbers behind the first chart")
    st.success(say("**To keep:** {sentence}", sentence=found.keep), icon=":material/bookmark:")
    st.caption(found.source)
    panels.own_table_behind(found.behind, title)


def sample() -> Dataset:
    """The bundled sample as it is, whatever data are in use, and with whatever schema."""
    return session.kept("dpcore.attacks.sample", lambda: datasets.load("sample"))


def secrets() -> np.ndarray:
    """Who of the sample earns more than 50K."""
    name, value = SECRET
    return np.asarray(sample().train_sample[name] == value)


def once(key: tuple[object, ...], compute: Callable[[], Value]) -> Value:
    """What follows from settings alone, computed once per session; bounded, the oldest go first."""
    found: dict[tuple[object, ...], Value] = session.kept("dpcore.attacks", dict)
    key = (*key, len(sample().train_sample))
    if key not in found:
        while len(found) >= MOST_KEPT:
            found.pop(next(iter(found)))
        found[key] = compute()
    return found[key]


def at_epsilon(frame: pd.DataFrame, epsilon: float) -> float:
    """The share at an epsilon, of a frame by `epsilon`."""
    return float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])


def bounded(epsilon: float) -> str:
    """What an epsilon promises about every attack, as the end of a sentence."""
    if odds(epsilon) > CERTAIN:
        return say("no limit that is worth the name is left for other attacks")
    return say(
        "no attack on somebody who was 50:50 before is right in more than {most} in the long run",
        most=percent(odds(epsilon)),
    )


def lots(seed: int, *shape: int) -> Floats:
    """Lots in (0, 1), the same for the same seed."""
    return np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, shape)
