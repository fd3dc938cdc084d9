"""Everybody's secret from counts alone: many exact ones, and noisy ones that cost epsilon together."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.attacks import percent
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.sections.attack_steps import (
    EPSILONS,
    at_epsilon,
    bounded,
    epsilon_slider,
    keep,
    lots,
    once,
    step,
)
from dpcore.dashboard.sections.mechanisms import redrawn
from dpcore.dashboard.widgets import figures, lasting
from dpcore.teaching import secret_bits
from dpcore.teaching.secret_bits import Questions

PEOPLE, RELEASES, LOWEST = 500, 20, 0.4
NUMBERS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
SHOWN = 4
SOURCE = (
    "Dinur and Nissim (2003) showed that many counts with too little noise give nearly all secrets away. Here they are "
    "solved by least squares."
)


@st.fragment
def part(page: str) -> None:
    """Counts over random groups, solved for everybody's bit; then the same with noise."""
    key = f"{page}.bits"
    with links.of(page, session.dataset(), "bits"):
        places = st.columns([3, 3, 4], gap="small")
        noisy = step(key, places[0])
        look: Any = {"value": 500, "format_func": "{:,}".format}
        number = lasting(places[1].select_slider, "Questions", f"{key}.questions", NUMBERS, **look)
        epsilon = epsilon_slider(key, places[2], "Epsilon of all answers together") if noisy else 0.0
    (hidden if noisy else found)(key, tossed(), number, epsilon)


def tossed() -> np.ndarray:
    """The secrets of 500 people, by a coin each: so 50:50 is all that is known of anybody, whatever of all others.

    `odds` needs that: if exactly half of them earned more, the others would give the last one away.
    """
    return np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)


def asked_of(key: str, bits: np.ndarray, number: int) -> tuple[int, Questions, pd.DataFrame, float]:
    """The button's seed, the questions, and the shares that exact answers give away, by their number and for this."""
    seed = redrawn(key, "Ask other groups")
    every = once(("questions", seed), lambda: secret_bits.asked(bits, NUMBERS[-1], np.random.default_rng(seed)))
    share = once(("bits", seed), lambda: secret_bits.exact_share(bits, every, NUMBERS))
    return seed, every.first(number), share, float(share.loc[share["number"] == number, "share"].iloc[0])


def found(key: str, bits: np.ndarray, number: int, _: float) -> None:
    """The attack on exact counts."""
    st.markdown(
        f"{PEOPLE} people; a coin decided who of them earns more than 50K. **No row is published, only counts** over "
        "random groups: how many of this group earn more than 50K? The outsider knows who is in which group, and a "
        "computer solves all answers at once for everybody’s secret."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        _, asked, share, exact = asked_of(key, bits, number)
        figures({"Secrets found": f"{round(exact * PEOPLE):,} of {PEOPLE}"}, beside=False)
    with right:
        title = "Secrets that exact counts give away"
        look: Any = {"what": "questions", "most": NUMBERS[-1], "found": "right", "lowest": LOWEST}
        panels.chart(charts.share_found(share, at=number, title=title, **look))
    counts(asked, asked.counts, "exact answer")
    keep(
        f"Counts are not harmless: {number:,} exact answers, none about anybody alone, give away {percent(exact)} of "
        "all secrets.",
        SOURCE,
    )
    panels.table_behind(share, "The numbers behind this chart")


def hidden(key: str, bits: np.ndarray, number: int, epsilon: float) -> None:
    """The same with noise on every count."""
    scale = secret_bits.scale(number, epsilon)
    st.markdown(
        f"**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** You may be in every "
        f"group, so each answer has one part in {number:,}: its noise has scale {number:,} / {epsilon:,g} = "
        f"{scale:{',.0f' if scale >= 100 else '.3g'}}."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed, asked, _, exact = asked_of(key, bits, number)
        drawn = lots(seed + 1, number, RELEASES // 2)
        parts = ("noisy bits", seed, number)
        frame = once(parts, lambda: secret_bits.noisy_share(bits, asked, EPSILONS, drawn))
        right_share = at_epsilon(frame, epsilon)
        figures({"Right": percent(right_share), "Exact numbers": percent(exact)}, beside=False)
    with right:
        title = "Secrets that noisy counts give away"
        panels.chart(charts.share_right(frame, epsilon=epsilon, exact=exact, title=title))
    noise = scale * secret_bits.unit_noise(drawn[:SHOWN, 0])
    counts(asked, asked.counts[:SHOWN] + noise, "published answer")
    keep(
        f"Epsilon is for all answers together. At {epsilon:,g} this attack is right about {percent(right_share)} of "
        f"all secrets, and {bounded(epsilon)}.",
        f"{SOURCE} Epsilon 1 for each answer would be {number:,} for all, far to the right. Each point: mean of "
        f"{RELEASES} releases.",
    )
    panels.table_behind(frame, "The numbers behind this chart")


def counts(asked: Questions, answers: np.ndarray, name: str) -> None:
    """The first questions, and what is answered."""
    sizes = asked.groups[:SHOWN].sum(axis=1)
    frame = pd.DataFrame({"question": [f"How many of these {size:.0f} people earn more than 50K?" for size in sizes]})
    st.dataframe(frame.assign(**{name: [f"{answer:,.0f}" for answer in answers[:SHOWN]]}), hide_index=True)
