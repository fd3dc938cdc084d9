"""Every secret from counts alone: many noiseless ones, and noisy ones that cost epsilon together."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import secret_bits_numbers
from dpcore.dashboard.pages.attacks.attack_steps import (
    EPSILONS,
    NUMBERS,
    at_epsilon,
    once,
    promise,
    settings,
    uniform,
)
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import percent

PEOPLE, RELEASES, LOWEST, SHOWN = 500, 20, 0.4, 4
COUNTS = (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 750, 1_000)
SOURCE = phrase(
    "Dinur and Nissim (2003) showed that many counts with too little noise give nearly all secrets away. Here they are "
    "solved by least squares."
)


@st.fragment
def part(page: str) -> None:
    """Counts over random groups, solved for all bits; then the same with noise."""
    with settings(page, "bits", phrase("Epsilon of all answers together")) as step:
        look: Any = {"value": 500, "format_func": "{:,}".format}
        number = lasting(st.select_slider, say("Queries"), f"{step.key}.questions", COUNTS, **look)
    lead = say(
        "A coin decided who of {people} people earns more than 50K. **No row is published, only counts** over random "
        "groups. A computer solves all of them at once for every secret.",
        people=PEOPLE,
    )
    if step.epsilon is not None:
        scale = secret_bits_numbers.scale(number, step.epsilon)
        lead = say(
            "**Every count gets noise, and all {number:,} answers share epsilon {epsilon:,g}.** Each answer has one "
            "part in {number:,}: its noise has scale {scale}.",
            number=number,
            epsilon=step.epsilon,
            scale=f"{scale:{',.0f' if scale >= 100 else '.3g'}}",
        )
    step.show(lead, say("Ask about other groups"), partial(attack, number, step.epsilon))


def attack(number: int, epsilon: float | None, seed: int) -> Demonstration:
    """The shares that answers give away: by their number if they are noiseless, else by epsilon.

    Secrets are tossed by a coin each, so 50:50 is all that is known of anyone, whatever is known of all others. `odds`
    needs that: if exactly half of them earned more, the others would give the last one away.
    """
    bits = np.random.default_rng(0).integers(0, 2, PEOPLE).astype(bool)
    rng = np.random.default_rng([seed, 1])  # not those coins: the first group would be all who have the secret
    every = once(("queries", seed), lambda: secret_bits_numbers.random_queries(bits, COUNTS[-1], rng))
    share = once(("bits", seed), lambda: secret_bits_numbers.noiseless_share(bits, every, COUNTS))
    noiseless, queries = float(share.loc[share["number"] == number, "share"].iloc[0]), every.first(number)
    if epsilon is None:
        look: Any = {"at": number, "what": say("queries"), "most": COUNTS[-1], "found": say("right"), "lowest": LOWEST}
        title = say("Secrets that noiseless counts give away")
        return Demonstration(
            {say("Secrets found"): say("{found:,} of {people}", found=round(noiseless * PEOPLE), people=PEOPLE)},
            [charts.share_found(share, title=title, **look), counts(queries, 0.0, say("noiseless answer"))],
            say(
                "Counts are not harmless: {number:,} noiseless answers, none about one person, give away {share} of "
                "all secrets.",
                number=number,
                share=percent(noiseless),
            ),
            say(SOURCE),
            {say(NUMBERS): share},
        )
    drawn = uniform(seed + 1, number, RELEASES // 2)
    parts = ("noisy bits", seed, number)
    frame = once(parts, lambda: secret_bits_numbers.noisy_share(bits, queries, EPSILONS, drawn))
    noise = secret_bits_numbers.scale(number, epsilon) * secret_bits_numbers.UNIT.quantile(drawn[:SHOWN, 0])
    title, right = say("Secrets that noisy counts give away"), percent(at_epsilon(frame, epsilon))
    return Demonstration(
        {say("Right"): right, say("Noiseless numbers"): percent(noiseless)},
        [
            charts.share_right(frame, epsilon=epsilon, noiseless=noiseless, title=title),
            counts(queries, noise, say("published answer")),
        ],
        say(
            "At epsilon {epsilon:,g} for all answers, this attack is right about {share} of all secrets, and "
            "{promise}.",
            epsilon=epsilon,
            share=right,
            promise=promise(epsilon),
        ),
        say(
            "{source} Epsilon 1 for each answer would be {number:,} for all, far to the right. Each point: mean of "
            "{releases} releases.",
            source=say(SOURCE),
            number=number,
            releases=RELEASES,
        ),
        {say(NUMBERS): frame},
    )


def counts(queries: secret_bits_numbers.Questions, noise: Any, name: str) -> pd.DataFrame:
    """The first queries, and what is answered."""
    answers = queries.counts[:SHOWN] + noise
    told = [say("How many of these {size:.0f} people earn more than 50K?", size=size) for size in queries.sizes[:SHOWN]]
    return pd.DataFrame({say("query"): told, name: [f"{answer:,.0f}" for answer in answers]})
