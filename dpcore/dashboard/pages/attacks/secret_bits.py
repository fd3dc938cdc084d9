"""Every secret from counts alone: many noiseless ones, and noisy ones that cost epsilon together."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import secret_bits_numbers
from dpcore.dashboard.pages.attacks.attack_steps import EPSILONS, NUMBERS, remembered, with_noise
from dpcore.dashboard.widgets import lasting
from dpcore.language import say
from dpcore.text import percent

PEOPLE, RELEASES, SHOWN = 500, 20, 4
COUNTS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
# A coin for each secret, so that 50:50 is all that is known of anyone, whatever is known of all others. `odds` needs
# that: if exactly half of them earned more, the others would give the last one away.
BITS = np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)


def settings(key: str) -> tuple[int]:
    """Draw how many queries are answered."""
    look: Any = {"value": 500, "format_func": "{:,}".format}
    return (lasting(st.select_slider, say("Queries"), f"{key}.questions", COUNTS, **look),)


@remembered
def groups(seed: int) -> Floats:
    """The groups that are asked about, not of those coins: the first group would be all who have the secret."""
    return secret_bits_numbers.random_groups(PEOPLE, COUNTS[-1], np.random.default_rng([seed, 1]))


@remembered
def noiseless_share(seed: int) -> pd.DataFrame:
    """The shares of secrets that noiseless counts give away, by their number."""
    return secret_bits_numbers.noiseless_share(BITS, groups(seed), COUNTS)


@remembered
def noisy_share(number: int, seed: int) -> tuple[pd.DataFrame, Floats]:
    """The shares that noisy counts give away, by epsilon; and unit noise, of which the first is shown."""
    unit = np.random.default_rng(seed + 1).laplace(size=(number, RELEASES // 2))
    return secret_bits_numbers.noisy_share(BITS, groups(seed)[:number], EPSILONS, unit), unit[:SHOWN, 0]


def attack(number: int, epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Solve counts for all secrets; the shares found by their number if they are noiseless, else by epsilon."""
    first = groups(seed)[:SHOWN]
    queries = [say("How many of these {size:.0f} people earn more than 50K?", size=group.sum()) for group in first]
    answers = pd.DataFrame({say("query"): queries, say("published answer"): first @ BITS})
    frame = noiseless_share(seed)
    share = float(frame.loc[frame["number"] == number, "share"].iloc[0])
    source = say("Dinur and Nissim (2003): many counts with too little noise give nearly all secrets away.")
    if epsilon is None:
        lead = say(
            "A coin decided who of {people} people earns more than 50K. **No row is published, only counts** over "
            "random groups. A computer solves all of them at once for every secret.",
            people=PEOPLE,
        )
        look: Any = {"at": number, "what": say("queries"), "most": COUNTS[-1], "found": say("right"), "lowest": 0.4}
        return lead, Demonstration(
            {say("Secrets found"): say("{found:,} of {people}", found=round(share * PEOPLE), people=PEOPLE)},
            [charts.share_found(frame, title=say("Secrets that noiseless counts give away"), **look), answers],
            say(
                "Counts are not harmless: {number:,} noiseless answers, none about one person, give away {share} of "
                "all secrets.",
                number=number,
                share=percent(share),
            ),
            source,
            {say(NUMBERS): frame},
        )
    scale = secret_bits_numbers.scale(number, epsilon)
    lead = say(
        "**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** Each answer has one part "
        "in {number:,}: its noise has scale {scale}.",
        number=number,
        epsilon=epsilon,
        scale=f"{scale:{',.0f' if scale >= 100 else '.3g'}}",
    )
    noisy, unit = noisy_share(number, seed)
    answers[say("published answer")] = [f"{answer:,.0f}" for answer in first @ BITS + scale * unit]
    assumed = say(
        "{source} Epsilon 1 for each answer would be {number:,} for all, far to the right. Each point: mean of "
        "{releases} releases.",
        source=source,
        number=number,
        releases=RELEASES,
    )
    return lead, with_noise(noisy, epsilon, share, assumed, answers)
