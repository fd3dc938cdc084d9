"""Who took part in a study that publishes averages alone: many noiseless ones, and noisy ones."""

from math import inf
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import averages
from dpcore.dashboard.pages.attacks.attack_steps import NUMBERS, WITH_NOISELESS, remembered, sample, with_noise
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.language import phrase, say
from dpcore.text import percent

PUBLISHED = {2: phrase("each pair of values"), 1: phrase("each value")}
PEOPLE, STUDIES = (25, 50, 100, 200), 30


def settings(key: str) -> tuple[int, int]:
    """Draw which shares are published, and of how many people."""
    degree = choice(st.radio, say("The share of people with"), f"{key}.degree", PUBLISHED)
    label = say("People in the study")
    return degree, number_choice(st.select_slider, label, f"{key}.people", PEOPLE, value=50)


@remembered
def attributes(degree: int) -> Any:
    """The attributes of all people of the sample."""
    codes = sample().schema.encode(sample().train_sample).astype(np.int64)
    return averages.attributes(codes, sample().schema.sizes, degree=degree)


@remembered
def studies(degree: int, people: int, seed: int) -> list[averages.MembershipStudy]:
    """Studies of a seed, of which the first is shown."""
    rngs = [np.random.default_rng([seed, index]) for index in range(STUDIES)]
    return [averages.random_study(attributes(degree), people, rng) for rng in rngs]


@remembered
def right_shares(degree: int, people: int, seed: int) -> pd.DataFrame:
    """How often participants are picked, by epsilon; the last without noise."""
    rng = np.random.default_rng([seed, STUDIES])
    return averages.right_shares(studies(degree, people, seed), WITH_NOISELESS, rng)


def attack(degree: int, people: int, epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Find who fits the averages of a study; with noise, how often participants are picked, too."""
    study, count = studies(degree, people, seed)[0], attributes(degree).shape[1]
    scale = averages.scale(averages.tables(study.of), people, epsilon or inf)
    noise = scale * np.random.default_rng([seed, STUDIES + 1]).laplace(size=count)
    scores = study.scores(study.averages + noise, scale)
    bins = averages.histogram(*scores, np.arange(-4.0, 11.0))
    look: Any = {"groups": {"outside": say("did not take part"), "inside": say("took part")}}
    look["what"] = say("score (0: like others; 1: as far off as others usually are)")
    look["title"] = say("Who fits the published averages better than others do")
    look["key"] = say("What is beyond an end of the axis stands in the last bar.")
    picture = charts.group_strips(bins, **look)
    values: Any = {"people": people, "count": count, "epsilon": epsilon, "scale": scale, "studies": STUDIES}
    lead = phrase(
        "A study of {people:,} people publishes **averages alone: {count:,} shares**. Each "
        "participant pulls them toward their own values. The outsider adds up these pulls."
    )
    assumed = say(
        "After Homer and others (2008), Dwork and others (2015). With noise: mean of {studies} studies. "
        "The number of participants is public; neighbors exchange one of them for someone else.",
        **values,
    )
    if epsilon is None:
        share, behind = percent(averages.right_share(*scores)), {say(NUMBERS): bins}
        keep = phrase("Averages are not harmless: {count:,} tell who took part in {share} of all pairs.")
        keep, figures = say(keep, share=share, **values), {say("Participant picked out of two"): share}
        return say(lead, **values), Demonstration(figures, [picture], keep, assumed, behind)
    lead = phrase(
        "**Every share gets noise, and all {count:,} can cost epsilon {epsilon:,g} together, and "
        "no more.** The noise has scale {scale:,.3g}, where a share is at most 1."
    )
    shares = right_shares(degree, people, seed)
    return say(lead, **values), with_noise(shares, epsilon, assumed, picture)
