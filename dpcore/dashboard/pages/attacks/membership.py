"""Membership inference on screen: who took part in a study that published averages only."""

from math import inf
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import averages
from dpcore.dashboard.pages.attacks.attack_steps import (
    NUMBERS,
    WITH_NOISELESS,
    noisy_demonstration,
    remembered,
    sample,
)
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.language import phrase, say
from dpcore.text import percent

PUBLISHED = {2: phrase("each value pair"), 1: phrase("each single value")}
PEOPLE, STUDIES = (25, 50, 100, 200), 30


def draw_settings(key: str) -> tuple[int, int]:
    """Draw the settings of the study; return the degree of its marginals and its number of people."""
    degree = choice(st.radio, say("Published: share of people with"), f"{key}.degree", PUBLISHED)
    label = say("People in the study")
    return degree, number_choice(st.select_slider, label, f"{key}.people", PEOPLE, value=50)


@remembered
def indicator_matrix(degree: int) -> Any:
    """Return which person of the sample has which value, as a sparse matrix of 0 and 1.

    `degree` is 1 for single values, and 2 for pairs of values from two columns.
    """
    codes = sample().schema.encode(sample().train_sample).astype(np.int64)
    return averages.indicator_matrix(codes, sample().schema.sizes, degree=degree)


@remembered
def random_studies(degree: int, people: int, seed: int) -> list[averages.MembershipStudy]:
    """Return 30 random studies of `people` participants; the page shows the first.

    `degree` is that of the published marginals. Equal seeds give equal studies.
    """
    rngs = [np.random.default_rng([seed, index]) for index in range(STUDIES)]
    return [averages.random_study(indicator_matrix(degree), people, rng) for rng in rngs]


@remembered
def shares_right(degree: int, people: int, seed: int) -> pd.DataFrame:
    """Return how often the attack picks the participant, by epsilon; the last row is without noise.

    The share is the mean over the studies of `random_studies` with the same settings.
    """
    rng = np.random.default_rng([seed, STUDIES])
    return averages.shares_right(random_studies(degree, people, seed), WITH_NOISELESS, rng)


def run_attack(degree: int, people: int, epsilon: float | None, seed: int) -> tuple[str, Demonstration]:
    """Run the membership attack: score people by how well they fit a study's averages.

    Parameters are the degree of the study's marginals (1 or 2), the number of its people, epsilon
    (None without noise) and the seed. Returns the introduction and the demonstration; with noise,
    the demonstration has the attack's success at every epsilon.
    """
    study, count = random_studies(degree, people, seed)[0], indicator_matrix(degree).shape[1]
    scale = averages.noise_scale(averages.count_marginals(study.indicators), people, epsilon or inf)
    noise = scale * np.random.default_rng([seed, STUDIES + 1]).laplace(size=count)
    scores = study.scores(study.averages + noise, scale)
    bins = averages.score_histogram(*scores, np.arange(-4.0, 11.0))
    look: Any = {"groups": {"outside": say("non-participants"), "inside": say("participants")}}
    look["what"] = say("score (0: mean of non-participants; 1: one standard deviation above)")
    look["title"] = say("How well people fit the published averages")
    look["key"] = say("Scores beyond the axis are counted in the outermost bars.")
    picture = charts.group_strips(bins, **look)
    values: Any = {"people": people, "count": count, "epsilon": epsilon, "scale": scale, "studies": STUDIES}
    lead = phrase(
        "A study of {people:,} people publishes **averages only: {count:,} shares**. Each "
        "participant pulls the shares toward their own values. The attacker adds up these pulls."
    )
    assumed = say(
        "After Homer and others (2008), Dwork and others (2015). With noise: mean of {studies} "
        "studies. The number of participants is public; neighboring data sets replace one of them.",
        **values,
    )
    if epsilon is None:
        share, behind = percent(averages.share_right(*scores)), {say(NUMBERS): bins}
        keep = phrase("Averages do harm: {count:,} of them tell which of two people took part, {share} of the time.")
        keep, figures = say(keep, share=share, **values), {say("Participant picked out of two people"): share}
        return say(lead, **values), Demonstration(figures, [picture], keep, assumed, behind)
    lead = phrase(
        "**Every share gets noise, and all {count:,} shares together cost at most epsilon "
        "{epsilon:,g}.** The noise has scale {scale:,.3g}, where a share is at most 1."
    )
    shares = shares_right(degree, people, seed)
    return say(lead, **values), noisy_demonstration(shares, epsilon, assumed, picture)
