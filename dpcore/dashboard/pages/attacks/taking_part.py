"""Who took part in a study that publishes averages alone: many noiseless ones, and noisy ones."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dpcore import charts
from dpcore.arguments import Floats
from dpcore.dashboard.demonstration import Demonstration
from dpcore.dashboard.pages.attacks import averages
from dpcore.dashboard.pages.attacks.attack_steps import (
    EPSILONS,
    NUMBERS,
    at_epsilon,
    once,
    promise,
    sample,
    settings,
)
from dpcore.dashboard.pages.attacks.averages import Attributes
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
    with settings(page, "averages") as step:
        degree = choice(st.radio, say("The share of people with"), f"{step.key}.degree", PUBLISHED)
        label = say("People in the study")
        people = number_choice(st.select_slider, label, f"{step.key}.people", PEOPLE, value=50)
    of = once(("attributes", degree), lambda: attributes(degree))
    lead = say(
        "A study of {people:,} people publishes **averages alone: {count:,} shares**. Each participant pulls them a "
        "little toward their own values. The outsider adds up these pulls.",
        people=people,
        count=of.count,
    )
    if step.epsilon is not None:
        lead = say(
            "**Every share gets noise, and all {count:,} can cost epsilon {epsilon:,g} together, and no more.** The "
            "noise has scale {scale:,.3g}, where a share is at most 1.",
            count=of.count,
            epsilon=step.epsilon,
            scale=averages.scale(of, people, step.epsilon),
        )
    step.show(lead, say("Another study"), partial(attack, of, people, step.epsilon))


def attributes(degree: int) -> Attributes:
    """The attributes of all people of the sample."""
    data = sample()
    codes = data.schema.encode(sample().train_sample).astype(np.int64)
    return averages.attributes(codes, data.schema.sizes, degree=degree)


def attack(of: Attributes, people: int, epsilon: float | None, seed: int) -> Demonstration:
    """Who fits the averages of a seed's first study; with noise, how often participants are picked, too."""
    key = of.count, people, seed
    rngs = [np.random.default_rng([seed, index]) for index in range(STUDIES)]
    studies = once(("studies", *key), lambda: [averages.random_study(of, people, rng) for rng in rngs])
    shown, scale = studies[0], 0.0
    noise: Floats | float = 0.0
    if epsilon is not None:
        scale = averages.scale(of, people, epsilon)
        noise = scale * averages.unit_noise(shown, np.random.default_rng([seed, STUDIES + 1]))
    scores = shown.scores(shown.averages + noise, scale)
    bins = averages.histogram(*scores, EDGES)
    title = say("Who fits the published averages better than others do")
    look: Any = {"groups": {name: say(text) for name, text in GROUPS.items()}}
    look["what"] = say("score (0: like others; 1: as far off as others usually are)")
    look["key"] = say("What is beyond an end of the axis stands in the last bar.")
    apart = charts.groups_apart(bins, title=title, **look)
    if epsilon is None:
        share = percent(averages.picked(*scores))
        return Demonstration(
            {say("Participant picked out of two"): share},
            [apart],
            say(
                "Averages are not harmless: {count:,} of them tell who took part in {share} of all pairs.",
                count=of.count,
                share=share,
            ),
            say(SOURCE),
            {say(NUMBERS): bins},
        )
    noiseless = once(("noiseless", *key), lambda: mean_picked(studies))
    rng = np.random.default_rng([seed, STUDIES])
    frame = once(("picked", *key), lambda: averages.share_picked(studies, EPSILONS, rng))
    share, title = percent(at_epsilon(frame, epsilon)), say("How often the participant is picked out of two")
    return Demonstration(
        {say("Participant picked out of two"): share, say("Noiseless numbers"): percent(noiseless)},
        [charts.share_right(frame, epsilon=epsilon, noiseless=noiseless, title=title), apart],
        say(
            "At epsilon {epsilon:,g} this attack picks the participant out of two in {share} of all cases, and "
            "{promise}.",
            epsilon=epsilon,
            share=share,
            promise=promise(epsilon),
        ),
        say(
            "{source} Each point: mean of {studies} studies. The number of participants is public; neighbors exchange "
            "one of them for someone else. Below: one study.",
            source=say(SOURCE),
            studies=STUDIES,
        ),
        {say(NUMBERS): frame},
    )


def mean_picked(studies: list[averages.Study]) -> float:
    """The share that is picked right from noiseless averages, over several studies."""
    return float(np.mean([averages.picked(*study.scores(study.averages)) for study in studies]))
