"""What all attacks have alike: noiseless numbers first, then noise with a slider.

The people are rows of the bundled sample, which is synthetic, whatever data are in use: nothing is charged.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, datasets
from dpcore.dashboard import links, session
from dpcore.dashboard.demonstration import Demonstration, epsilon_slider, show, sides
from dpcore.dashboard.widgets import choice, seed_button
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import CERTAIN, odds, percent

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
STEPS = {"noiseless": phrase("1. Without noise"), "noise": phrase("2. With noise")}
NUMBERS = phrase("The numbers behind the picture")
SECRET = ("income", ">50K")
remembered = lru_cache(maxsize=60)  # what follows from settings and the sample alone
Attack = Callable[..., tuple[str, Demonstration | None]]


@cache
def sample() -> Dataset:
    """The bundled sample as it is, whatever data are in use, and with whatever schema."""
    return datasets.load("sample")


@st.fragment
def two_steps(
    page: str,
    name: str,
    settings: Callable[[str], tuple[Any, ...]],
    attack: Attack,
    again: str = phrase("Draw again"),
    label: str = phrase("Epsilon"),
) -> None:
    """Draw an attack without noise, or with it.

    `settings` draws its own controls under a key. `attack` gets what they say, epsilon (None without noise) and the
    seed of the button `again`; it gives a lead, and what is shown.
    """
    key, head = f"{page}.{name}", st.container()
    left, right = sides()
    with left:
        with links.of(page, session.dataset(), name):
            look: Any = {"default": "noiseless", "required": True}
            step = choice(st.segmented_control, say("What is published"), f"{key}.step", STEPS, **look)
            epsilon = epsilon_slider(key, label, EPSILONS) if step == "noise" else None
            chosen = settings(key)
        lead, found = attack(*chosen, epsilon, seed_button(key, say(again)))
    head.markdown(lead)
    if found is not None:
        show(found, left, right)


def with_noise(frame: pd.DataFrame, epsilon: float, noiseless: float, assumed: str, *others: Any) -> Demonstration:
    """How often an attack is right (`share`) by `epsilon`, beside the most that epsilon allows; and other pictures."""
    share = float(frame.loc[np.isclose(frame["epsilon"], epsilon), "share"].iloc[0])
    keep = phrase(
        "At epsilon {epsilon:,g} this attack is right in {share} of all cases, and no attack on someone who was 50:50 "
        "before in more than {most}."
    )
    if odds(epsilon) > CERTAIN:
        keep = phrase(
            "At epsilon {epsilon:,g} this attack is right in {share} of all cases. No limit that is worth the name is "
            "left for others."
        )
    title = say("How often this attack is right")
    return Demonstration(
        {say("Right"): percent(share), say("Noiseless numbers"): percent(noiseless)},
        [charts.share_right(frame, epsilon=epsilon, noiseless=noiseless, title=title), *others],
        say(keep, epsilon=epsilon, share=percent(share), most=percent(odds(epsilon))),
        assumed,
        {say(NUMBERS): frame},
    )
