"""Who took part in a study that publishes averages alone: many noiseless ones, and noisy ones."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.base import Chart
from dpcore.dashboard.pages.attacks import averages
from dpcore.dashboard.pages.attacks.attack_steps import (
    EPSILONS,
    Found,
    at_epsilon,
    bounded,
    draw,
    once,
    sample,
    settings,
)
from dpcore.dashboard.pages.attacks.averages import Attributes, Study
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.language import phrase, say
from dpcore.text import percent

PUBLISHED = {2: phrase("each pair of values"), 1: phrase("each value")}
PEOPLE, STUDIES = (25, 50, 100, 200), 30
EDGES = np.arange(-4.0, 11.0)
GROUPS = {"outside": phrase("did not take part"), "inside": phrase("took part")}
SOURCE = phrase(
    "Homer and others (2008) did this with averages of genes. Dwork, Smith, Steinke, Ullman and Vadhan (2015) showed "
    "that a little noise does not stop it."
)


@st.fragment
def part(page: str) -> None:
    """Averages of a study, and who took part in it; then the same with noise."""
    with settings(page, "averages", [11, 7, 6, 9]) as (key, epsilon, (first, second)):
        degree = choice(first.radio, say("The share of people with"), f"{key}.degree", PUBLISHED)
        label = say("People in the study")
        people = number_choice(second.select_slider, label, f"{key}.people", PEOPLE, value=50)
    of = once(("attributes", degree), lambda: every(degree))
    if epsilon is None:
        lead = say(
            "A study of {people:,} people publishes **averages alone: {count:,} shares**, such as how many have this "
            "education, or this education and this occupation. Each participant pulls the shares a little toward their "
            "own values. The outsider knows somebody’s values, and the shares of people in general, and adds up these "
            "pulls.",
            people=people,
            count=of.count,
        )
        draw(key, lead, say("Another study"), partial(found, of, people))
    else:
        lead = say(
            "**Every share gets noise, and all {count:,} can cost epsilon {epsilon:,g} together, and no more.** Who "
            "takes your place moves at most {tables:,} shares up and {tables:,} down by 1 / {people:,}: so the noise "
            "has scale {scale:,.3g}, where a share is at most 1.",
            count=of.count,
            epsilon=epsilon,
            tables=of.tables,
            people=people,
            scale=averages.scale(of, people, epsilon),
        )
        draw(key, lead, say("Another study"), partial(hidden, of, people, epsilon))


def every(degree: int) -> Attributes:
    """The attributes of all people of the sample."""
    data = sample()
    return averages.attributes(
        data.schema.encode(sample().train_sample).astype(np.int64), data.schema.sizes, degree=degree
    )


def studies(of: Attributes, people: int, seed: int) -> list[Study]:
    """Some studies of a seed, of which the first is shown."""
    rngs = [np.random.default_rng([seed, place]) for place in range(STUDIES)]
    return once(("studies", of.count, people, seed), lambda: [averages.studied(of, people, rng) for rng in rngs])


def found(of: Attributes, people: int, seed: int) -> Found:
    """The attack on noiseless averages."""
    study = studies(of, people, seed)[0]
    scores = study.scores(study.averages)
    picked, frame = percent(averages.picked(*scores)), averages.histogram(*scores, EDGES)
    return Found(
        {say("Picked right"): picked},
        apart(frame, say("Who fits the published averages better than others do")),
        say(
            "Averages are not harmless: {count:,} of them tell who took part in {share} of all pairs.",
            count=of.count,
            share=picked,
        ),
        say(SOURCE),
        frame,
        say("Of one who took part and one who did not: how often the higher score is the participant’s."),
    )


def hidden(of: Attributes, people: int, epsilon: float, seed: int) -> Found:
    """The same with noise on every average."""
    of_seed = studies(of, people, seed)
    noiseless = once(("noiseless", of.count, people, seed), lambda: mean_picked(of_seed))
    rng = np.random.default_rng([seed, STUDIES])
    frame = once(("picked", of.count, people, seed), lambda: averages.share_picked(of_seed, EPSILONS, rng))
    picked, shown, scale = percent(at_epsilon(frame, epsilon)), of_seed[0], averages.scale(of, people, epsilon)
    noise = scale * averages.unit_noise(shown, np.random.default_rng([seed, STUDIES + 1]))
    bins = averages.histogram(*shown.scores(shown.averages + noise, scale), EDGES)
    title = say("How often the participant is picked out of two")
    return Found(
        {say("Picked right"): picked, say("Noiseless, mean of {studies}", studies=STUDIES): percent(noiseless)},
        charts.share_right(frame, epsilon=epsilon, noiseless=noiseless, title=title),
        say(
            "At epsilon {epsilon:,g} this attack picks the right one of two in {share} of all cases, and {promise}.",
            epsilon=epsilon,
            share=picked,
            promise=bounded(epsilon),
        ),
        say(
            "{source} Each point: mean of {studies} studies. The number of participants is public, and one of them is "
            "exchanged for somebody else.",
            source=say(SOURCE),
            studies=STUDIES,
        ),
        frame,
        more=apart(bins, say("One study with noise, epsilon {epsilon:,g}", epsilon=epsilon)),
    )


def mean_picked(several: list[Study]) -> float:
    """The share that is picked right from noiseless averages, over several studies."""
    return float(np.mean([averages.picked(*study.scores(study.averages)) for study in several]))


def apart(frame: pd.DataFrame, title: str) -> Chart:
    """The scores of those who took part and of those who did not, on one axis at all settings."""
    return charts.groups_apart(
        frame,
        groups={name: say(told) for name, told in GROUPS.items()},
        what=say("score (0: like others; 1: as far off as others usually are)"),
        title=title,
        key=say("What is beyond an end of the axis stands in the last bar."),
    )
