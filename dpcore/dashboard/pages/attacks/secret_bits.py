"""Every secret from counts alone: noiseless ones, and noisy ones that cost epsilon together."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import secret_bits_numbers
from dpcore.dashboard.pages.attacks.attack_steps import NUMBERS, WITH_NOISELESS, remembered, with_noise
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import percent, short

PEOPLE, RELEASES, SHOWN = 500, 20, 4
COUNTS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
# A coin for each secret, so that 50:50 is all that is known of anyone, whatever is known of all others.
# `odds` needs that: if exactly half of them earned more, the others would give the last one away.
BITS = np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)


def settings(key: str) -> tuple[int]:
    """Draw how many queries are answered."""
    look: Any = {"value": 500, "format_func": "{:,}".format}
    return (lasting(st.select_slider, say("Queries"), f"{key}.questions", COUNTS, **look),)


@remembered
def groups(seed: int) -> Floats:
    """The groups that are asked about, by other coins than the secrets."""
    return secret_bits_numbers.random_groups(PEOPLE, COUNTS[-1], np.random.default_rng([seed, 1]))


@remembered
def noiseless_share(seed: int) -> pd.DataFrame:
    """The shares of secrets that noiseless counts give away, by their number."""
    return secret_bits_numbers.noiseless_share(BITS, groups(seed), COUNTS)


@remembered
def noisy_share(number: int, seed: int) -> tuple[pd.DataFrame, Floats]:
    """The shares that noisy counts give away, by epsilon; and unit noise of the first."""
    unit = np.random.default_rng(seed + 1).laplace(size=(number, RELEASES // 2))
    shares = secret_bits_numbers.noisy_share(BITS, groups(seed)[:number], WITH_NOISELESS, unit)
    return shares, unit[:SHOWN, 0]


def attack(number: int, epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Solve counts for all secrets: shares found by their number, or with noise by epsilon."""
    first, query = groups(seed)[:SHOWN], phrase("How many of {size:.0f} earn more than 50K?")
    queries = [say(query, size=group.sum()) for group in first]
    answers = pd.DataFrame({say("query"): queries, say("answer"): first @ BITS})
    values: Any = {"people": PEOPLE, "number": number, "releases": RELEASES, "epsilon": epsilon}
    lead = phrase(
        "A coin decided who of {people} people earns more than 50K. **No row is published, only "
        "counts** over random groups. A computer solves all of them at once for every secret."
    )
    assumed = say(
        "After Dinur and Nissim (2003). With noise, each point is the mean of {releases} releases; "
        "epsilon 1 for each answer would be {number:,} for all.",
        **values,
    )
    if epsilon is None:
        frame = noiseless_share(seed)
        share = percent(frame.loc[frame["number"] == number, "share"].iloc[0])
        look: Any = {"at": number, "what": say("queries"), "most": COUNTS[-1], "lowest": 0.4}
        look |= {"title": say("Secrets that noiseless counts give away"), "found": say("right")}
        pictures, behind = [charts.share_found(frame, **look), answers], {say(NUMBERS): frame}
        keep = phrase("Counts are not harmless: {number:,} noiseless ones tell {share} of all secrets.")
        keep = say(keep, share=share, **values)
        return say(lead, **values), Demonstration({say("Secrets found"): share}, pictures, keep, assumed, behind)
    lead = phrase(
        "**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** Each "
        "answer has one part in {number:,}: its noise has scale {scale}."
    )
    noisy, unit = noisy_share(number, seed)
    scale = secret_bits_numbers.scale(number, epsilon)
    answers[say("answer")] = (first @ BITS + scale * unit).round().astype(int)
    return say(lead, scale=short(scale), **values), with_noise(noisy, epsilon, assumed, answers)
