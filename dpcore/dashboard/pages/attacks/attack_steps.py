"""What all attacks have alike: noiseless numbers first, then noise with a slider.

The people are rows of the bundled sample, which is synthetic, whatever data are in use: nothing is
charged.
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
from dpcore.dashboard.demonstration import Demonstration, draw_demonstration, epsilon_slider, two_columns
from dpcore.dashboard.widgets import choice, seed_button
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import odds, percent

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
WITH_NOISELESS = (*EPSILONS, inf)
STEPS = {"noiseless": phrase("1. Without noise"), "noise": phrase("2. With noise")}
NUMBERS = phrase("The numbers behind the picture")
SECRET = "income"
remembered = lru_cache(maxsize=16)  # what follows from settings and the sample alone
DrawSettings = Callable[[str], tuple[Any, ...]]
Attack = Callable[..., tuple[str, Demonstration | None]]


@cache
def sample() -> Dataset:
    """The bundled sample as it is, whatever data are in use, and with whatever schema."""
    return datasets.load("sample")


@st.fragment
def two_steps(page: str, name: str, settings: DrawSettings, attack: Attack) -> None:
    """Draw an attack without noise, or with it.

    `settings` draws its own controls under a key. `attack` gets what they say, epsilon (None
    without noise) and the seed of a button; it gives a lead, and what is shown.
    """
    key, head = f"{page}.{name}", st.container()
    left, right = two_columns()
    with left:
        with links.draw_settings(page, session.dataset(), name):
            label, look = say("What is published"), {"default": "noiseless", "required": True}
            step = choice(st.segmented_control, label, f"{key}.step", STEPS, **look)
            epsilon = epsilon_slider(key, phrase("Epsilon"), EPSILONS) if step == "noise" else None
            chosen = settings(key)
        lead, found = attack(*chosen, epsilon, seed_button(key, say("Draw again")))
    head.markdown(lead)
    if found is not None:
        draw_demonstration(found, left, right)


def with_noise(frame: pd.DataFrame, epsilon: float, assumed: str, *others: Any) -> Demonstration:
    """How often an attack is right (`share`) by `epsilon`, and the most that epsilon allows.

    The last line of the frame is without noise.
    """
    frame, noiseless = frame[:-1], float(frame["share"].iloc[-1])
    share = float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])
    look: Any = {"noiseless": noiseless, "title": say("How often this attack is right")}
    return Demonstration(
        {say("Right"): percent(share), say("Noiseless numbers"): percent(noiseless)},
        [charts.share_right(frame, epsilon=epsilon, **look), *others],
        say(
            "At epsilon {epsilon:,g} this attack is right in {share} of all cases. The most for "
            "any attack on someone who was 50:50 before: {most}.",
            epsilon=epsilon,
            share=percent(share),
            most=percent(odds(epsilon)),
        ),
        assumed,
        {say(NUMBERS): frame},
    )
