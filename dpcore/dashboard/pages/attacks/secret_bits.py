"""Everybody's secret from counts alone: many noiseless ones, and noisy ones that cost epsilon together."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.pages.attacks import secret_bits_numbers
from dpcore.dashboard.pages.attacks.attack_steps import EPSILONS, Found, at_epsilon, bounded, draw, lots, once, settings
from dpcore.dashboard.pages.attacks.secret_bits_numbers import Questions
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import percent

PEOPLE, RELEASES, LOWEST = 500, 20, 0.4
NUMBERS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
SHOWN = 4
SOURCE = phrase(
    "Dinur and Nissim (2003) showed that many counts with too little noise give nearly all secrets away. Here they are "
    "solved by least squares."
)


@st.fragment
def part(page: str) -> None:
    """Counts over random groups, solved for everybody's bit; then the same with noise."""
    label = phrase("Epsilon of all answers together")
    with settings(page, "bits", [3, 3, 4], label) as (key, epsilon, (place,)):
        look: Any = {"value": 500, "format_func": "{:,}".format}
        number = lasting(place.select_slider, say("Questions"), f"{key}.questions", NUMBERS, **look)
    if epsilon is None:
        lead = say(
            "{people} people; a coin decided who of them earns more than 50K. **No row is published, only counts** "
            "over random groups: how many of this group earn more than 50K? The outsider knows who is in which group, "
            "and a computer solves all answers at once for everybody’s secret.",
            people=PEOPLE,
        )
    else:
        scale = secret_bits_numbers.scale(number, epsilon)
        lead = say(
            "**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** You may be in every "
            "group, so each answer has one part in {number:,}: its noise has scale {number:,} / {epsilon:,g} = "
            "{scale}.",
            number=number,
            epsilon=epsilon,
            scale=f"{scale:{',.0f' if scale >= 100 else '.3g'}}",
        )
    draw(key, lead, say("Ask other groups"), partial(told, tossed(), number, epsilon))


def tossed() -> np.ndarray:
    """The secrets of 500 people, by a coin each: so 50:50 is all that is known of anybody, whatever of all others.

    `odds` needs that: if exactly half of them earned more, the others would give the last one away.
    """
    return np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)


def told(bits: np.ndarray, number: int, epsilon: float | None, seed: int) -> Found:
    """The shares that answers give away, by their number if they are noiseless, else by epsilon."""
    rng = np.random.default_rng([seed, 1])  # not the coins of `tossed`: the first group would be whoever has the secret
    every = once(("questions", seed), lambda: secret_bits_numbers.asked(bits, NUMBERS[-1], rng))
    share = once(("bits", seed), lambda: secret_bits_numbers.noiseless_share(bits, every, NUMBERS))
    noiseless, asked = float(share.loc[share["number"] == number, "share"].iloc[0]), every.first(number)
    return found(asked, share, noiseless, number) if epsilon is None else hidden(bits, asked, noiseless, epsilon, seed)


def found(asked: Questions, share: pd.DataFrame, noiseless: float, number: int) -> Found:
    """The attack on noiseless counts."""
    look: Any = {
        "at": number,
        "what": say("questions"),
        "most": NUMBERS[-1],
        "title": say("Secrets that noiseless counts give away"),
        "found": say("right"),
        "lowest": LOWEST,
    }
    shown = say("{found:,} of {people}", found=round(noiseless * PEOPLE), people=PEOPLE)
    return Found(
        {say("Secrets found"): shown},
        charts.share_found(share, **look),
        say(
            "Counts are not harmless: {number:,} noiseless answers, none about anybody alone, give away {share} of all "
            "secrets.",
            number=number,
            share=percent(noiseless),
        ),
        say(SOURCE),
        share,
        more=counts(asked, asked.counts, say("noiseless answer")),
    )


def hidden(bits: np.ndarray, asked: Questions, noiseless: float, epsilon: float, seed: int) -> Found:
    """The same with noise on every count."""
    number = len(asked.counts)
    drawn = lots(seed + 1, number, RELEASES // 2)
    parts = ("noisy bits", seed, number)
    frame = once(parts, lambda: secret_bits_numbers.noisy_share(bits, asked, EPSILONS, drawn))
    right = percent(at_epsilon(frame, epsilon))
    noise = secret_bits_numbers.scale(number, epsilon) * secret_bits_numbers.UNIT.quantile(drawn[:SHOWN, 0])
    title = say("Secrets that noisy counts give away")
    return Found(
        {say("Right"): right, say("Noiseless numbers"): percent(noiseless)},
        charts.share_right(frame, epsilon=epsilon, noiseless=noiseless, title=title),
        say(
            "Epsilon is for all answers together. At {epsilon:,g} this attack is right about {share} of all secrets, "
            "and {promise}.",
            epsilon=epsilon,
            share=right,
            promise=bounded(epsilon),
        ),
        say(
            "{source} Epsilon 1 for each answer would be {number:,} for all, far to the right. Each point: mean of "
            "{releases} releases.",
            source=say(SOURCE),
            number=number,
            releases=RELEASES,
        ),
        frame,
        more=counts(asked, asked.counts[:SHOWN] + noise, say("published answer")),
    )


def counts(asked: Questions, answers: np.ndarray, name: str) -> pd.DataFrame:
    """The first questions, and what is answered."""
    sizes = asked.groups[:SHOWN].sum(axis=1)
    questions = [say("How many of these {size:.0f} people earn more than 50K?", size=size) for size in sizes]
    return pd.DataFrame({say("question"): questions, name: [f"{answer:,.0f}" for answer in answers[:SHOWN]]})
