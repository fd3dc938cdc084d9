"""Who took part in a study that publishes averages alone: many exact ones, and noisy ones."""

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
    once,
    sample,
    step,
)
from dpcore.dashboard.sections.mechanisms import redrawn
from dpcore.dashboard.widgets import choice, figures, number_choice
from dpcore.teaching import averages
from dpcore.teaching.averages import Attributes, Study

PUBLISHED = {2: "each pair of values", 1: "each value"}
PEOPLE, STUDIES = (25, 50, 100, 200), 30
EDGES = np.arange(-4.0, 11.0)
GROUPS = {"outside": "did not take part", "inside": "took part"}
SOURCE = (
    "Homer and others (2008) did this with averages of genes. Dwork, Smith, Steinke, Ullman and Vadhan (2015) showed "
    "that a little noise does not stop it."
)


@st.fragment
def part(page: str) -> None:
    """Averages of a study, and who took part in it; then the same with noise."""
    key = f"{page}.averages"
    with links.of(page, session.dataset(), "averages"):
        places = st.columns([9, 7, 6, 9], gap="small")
        noisy = step(key, places[0])
        degree = choice(places[1].radio, "The share of people with", f"{key}.degree", PUBLISHED)
        people = number_choice(places[2].select_slider, "People in the study", f"{key}.people", PEOPLE, value=50)
        epsilon = epsilon_slider(key, places[3]) if noisy else 0.0
    of = once(("attributes", degree), lambda: every(degree))
    (hidden if noisy else found)(key, of, people, epsilon)


def every(degree: int) -> Attributes:
    """The attributes of all people of the sample."""
    data = sample()
    return averages.attributes(data.schema.encode(data.train).astype(np.int64), data.schema.sizes, degree=degree)


def studies(of: Attributes, people: int, seed: int) -> list[Study]:
    """Some studies of a seed, of which the first is shown."""
    return [averages.studied(of, people, np.random.default_rng([seed, place])) for place in range(STUDIES)]


def found(key: str, of: Attributes, people: int, _: float) -> None:
    """The attack on exact averages."""
    st.markdown(
        f"A study of {people:,} people publishes **averages alone: {of.count:,} shares**, such as how many have this "
        "education, or this education and this occupation. Each participant pulls the shares a little toward their own "
        "values. The outsider knows somebody’s values, and the shares of people in general, and adds up these pulls."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed = redrawn(key, "Another study")
        of_seed = once(("studies", of.count, people, seed), lambda: studies(of, people, seed))
        scores = of_seed[0].scores(of_seed[0].averages)
        picked = averages.picked(*scores)
        figures({"Picked right": percent(picked)}, beside=False)
        st.caption("Of one who took part and one who did not: how often the higher score is the participant’s.")
    frame = averages.histogram(*scores, EDGES)
    with right:
        apart(frame, "Who fits the published averages better than others do")
    keep(
        f"Averages are not harmless: {of.count:,} of them tell who took part in {percent(picked)} of all pairs.", SOURCE
    )
    panels.table_behind(frame, "The numbers behind this chart")


def hidden(key: str, of: Attributes, people: int, epsilon: float) -> None:
    """The same with noise on every average."""
    scale = averages.scale(of, people, epsilon)
    st.markdown(
        f"**Every share gets noise, and all {of.count:,} cost epsilon {epsilon:,g} together.** Who takes your "
        f"place moves at most {of.tables:,} shares up and {of.tables:,} down by 1 / {people:,}: so the noise has scale "
        f"{scale:,.3g}, where a share is at most 1."
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed = redrawn(key, "Another study")
        of_seed = once(("studies", of.count, people, seed), lambda: studies(of, people, seed))
        exact = once(("exact", of.count, people, seed), lambda: mean_picked(of_seed))
        rng = np.random.default_rng([seed, STUDIES])
        lots = ("picked", of.count, people, seed)
        frame = once(lots, lambda: averages.share_picked(of_seed, EPSILONS, rng))
        share = at_epsilon(frame, epsilon)
        figures({"Picked right": percent(share), f"Exact, mean of {STUDIES}": percent(exact)}, beside=False)
    with right:
        title = "How often the participant is picked out of two"
        panels.chart(charts.share_right(frame, epsilon=epsilon, exact=exact, title=title))
    shown = of_seed[0]
    noise = scale * averages.unit_noise(shown, np.random.default_rng([seed, STUDIES + 1]))
    bins = averages.histogram(*shown.scores(shown.averages + noise, scale), EDGES)
    apart(bins, f"One study with noise, epsilon {epsilon:,g}")
    keep(
        f"At epsilon {epsilon:,g} this attack picks the right one of two in {percent(share)} of all cases, and "
        f"{bounded(epsilon)}.",
        f"{SOURCE} Each point: mean of {STUDIES} studies. The number of participants is public, and one of them is "
        "exchanged for somebody else.",
    )
    panels.table_behind(frame, "The numbers behind the first chart")


def mean_picked(several: list[Study]) -> float:
    """The share that is picked right from exact averages, over several studies."""
    return float(np.mean([averages.picked(*study.scores(study.averages)) for study in several]))


def apart(frame: pd.DataFrame, title: str) -> None:
    """The scores of those who took part and of those who did not, on one axis at all settings."""
    panels.chart(
        charts.groups_apart(
            frame,
            groups=GROUPS,
            what="score (0: like others; 1: as far off as others usually are)",
            title=title,
            highest=0.7,
            key="What is beyond an end of the axis stands in the last bar.",
        )
    )
