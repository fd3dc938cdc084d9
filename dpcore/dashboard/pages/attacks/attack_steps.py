"""The two steps that all attacks share: noiseless numbers, then noise with a chosen epsilon.

The people are rows of the bundled sample, which is synthetic. The data in use are not read, and
nothing is charged.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, datasets
from dpcore.dashboard import links, session
from dpcore.dashboard.demonstration import (
    Demonstration,
    draw_demonstration,
    epsilon_slider,
    two_columns,
)
from dpcore.dashboard.widgets import choice, seed_button
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import odds, percent

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
WITH_NOISELESS = (*EPSILONS, inf)
STEPS = {"noiseless": phrase("1. Attack without noise"), "noise": phrase("2. Attack with noise")}
NUMBERS = phrase("The numbers behind the picture")
SECRET = "income"
remembered = lru_cache(maxsize=16)  # for functions of the settings and the sample only
DrawSettings = Callable[[str], tuple[Any, ...]]
RunAttack = Callable[..., tuple[str, Demonstration | None]]


@cache
def sample() -> Dataset:
    """Return the bundled sample with its own schema, whatever data the user has chosen."""
    return datasets.load("sample")


@st.fragment
def draw_attack(page: str, name: str, settings: DrawSettings, attack: RunAttack) -> None:
    """Draw an attack, with noiseless or with noisy numbers as the user chooses.

    Parameters
    ----------
    page, name : str
        Names of the page and of the attack; both start the keys of its controls.
    settings : Callable
        Draws the controls of the attack under a key and returns their values.
    attack : Callable
        Takes these values, epsilon (None without noise) and a seed. Returns the introduction, and
        the demonstration to show or None.
    """
    key, head = f"{page}.{name}", st.container()
    left, right = two_columns()
    with left:
        with links.draw_settings(page, session.dataset(), name):
            label, look = say("What is published"), {"default": "noiseless", "required": True}
            step = choice(st.segmented_control, label, f"{key}.step", STEPS, **look)
            epsilon = epsilon_slider(key, phrase("Epsilon"), EPSILONS) if step == "noise" else None
            chosen = settings(key)
        lead, found = attack(*chosen, epsilon, seed_button(key, say("Redraw noise")))
    head.markdown(lead)
    if found is not None:
        draw_demonstration(found, left, right)


def noisy_demonstration(frame: pd.DataFrame, epsilon: float, assumed: str, *others: Any) -> Demonstration:
    """Return the demonstration of how often an attack is right, by epsilon.

    Parameters
    ----------
    frame : DataFrame
        Columns `epsilon` and `share` (right guesses, 0..1); the last row is without noise.
    epsilon : float
        The chosen epsilon, one of the frame's.
    assumed : str
        The sentence on what the demonstration assumes.
    others : Any
        More charts or tables to show.
    """
    frame, noiseless = frame[:-1], float(frame["share"].iloc[-1])
    share = float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])
    look: Any = {"noiseless": noiseless, "title": say("How often this attack is right")}
    return Demonstration(
        {say("Attack is right, with noise"): percent(share), say("Attack is right, without noise"): percent(noiseless)},
        [charts.share_right(frame, epsilon=epsilon, **look), *others],
        say(
            "At epsilon {epsilon:,g} this attack is right in {share} of all cases. No attack that "
            "was 50:50 before can be right in more than {most}.",
            epsilon=epsilon,
            share=percent(share),
            most=percent(odds(epsilon)),
        ),
        assumed,
        {say(NUMBERS): frame},
    )
