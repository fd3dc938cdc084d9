"""Reconstruction attack on screen: secrets solved from noiseless counts, and from noisy counts."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import secret_bits_numbers as numbers
from dpcore.dashboard.pages.attacks.attack_steps import (
    NUMBERS,
    WITH_NOISELESS,
    noisy_demonstration,
    remembered,
)
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import percent, short

PEOPLE, RELEASES, SHOWN = 500, 20, 4
COUNTS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
# One coin flip per secret: all other secrets leave the last one at 50:50.
# The limit by `odds` assumes this. If exactly half were 1, the others would reveal the last one.
BITS = np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)


def draw_settings(key: str) -> tuple[int]:
    """Draw the choice of how many counts are released; return that number in a tuple."""
    look: Any = {"value": 500, "format_func": "{:,}".format}
    return (lasting(st.select_slider, say("Number of queries"), f"{key}.questions", COUNTS, **look),)


@remembered
def random_groups(seed: int) -> Floats:
    """Return the random groups of people that are counted, as 0/1 of shape (groups, people)."""
    return numbers.random_groups(PEOPLE, COUNTS[-1], np.random.default_rng([seed, 1]))


@remembered
def noiseless_share(seed: int) -> pd.DataFrame:
    """Return the share of secret bits that noiseless counts reveal, by the number of counts.

    `seed` fixes the random groups that are counted.
    """
    return numbers.noiseless_share(BITS, random_groups(seed), COUNTS)


@remembered
def noisy_share(number: int, seed: int) -> tuple[pd.DataFrame, Floats]:
    """Return the share of secret bits that `number` noisy counts reveal, by epsilon.

    Also returned is the noise of the first four counts at scale 1, which the page shows.
    """
    unit = np.random.default_rng(seed + 1).laplace(size=(number, RELEASES // 2))
    shares = numbers.noisy_share(BITS, random_groups(seed)[:number], WITH_NOISELESS, unit)
    return shares, unit[:SHOWN, 0]


def run_attack(number: int, epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Run the reconstruction attack: solve people's secret bits from counts over random groups.

    `number` is the number of counts. They are noiseless if `epsilon` is None; otherwise all
    together spend epsilon. Returns the introduction and the demonstration.
    """
    first, query = random_groups(seed)[:SHOWN], phrase("How many of these {size:.0f} people earn more than 50K?")
    queries = [say(query, size=group.sum()) for group in first]
    answers = pd.DataFrame({say("query"): queries, say("answer"): first @ BITS})
    values: Any = {"people": PEOPLE, "number": number, "releases": RELEASES, "epsilon": epsilon}
    lead = phrase(
        "A coin decided who of {people} people earns more than 50K. **No row is published, only "
        "counts** over random groups. A computer solves all counts together for every secret."
    )
    assumed = say(
        "After Dinur and Nissim (2003). With noise, each point is the mean of {releases} "
        "releases. Epsilon 1 for each answer would add up to epsilon {number:,}.",
        **values,
    )
    if epsilon is None:
        frame = noiseless_share(seed)
        share = percent(frame.loc[frame["number"] == number, "share"].iloc[0])
        look: Any = {"at": number, "what": say("queries"), "most": COUNTS[-1], "lowest": 0.4}
        look |= {"title": say("Secrets that noiseless counts reveal"), "found": say("secrets guessed right")}
        pictures, behind = [charts.share_found(frame, **look), answers], {say(NUMBERS): frame}
        keep = phrase("Counts are not harmless: {number:,} noiseless counts reveal {share} of all secrets.")
        keep = say(keep, share=share, **values)
        return say(lead, **values), Demonstration({say("Secrets found"): share}, pictures, keep, assumed, behind)
    lead = phrase(
        "**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** Each "
        "answer gets epsilon / {number:,}, so its noise has scale {scale}."
    )
    noisy, unit = noisy_share(number, seed)
    scale = numbers.noise_scale(number, epsilon)
    answers[say("answer")] = (first @ BITS + scale * unit).round().astype(int)
    return say(lead, scale=short(scale), **values), noisy_demonstration(noisy, epsilon, assumed, answers)
