"""Who is alone: a table without names beside a list with names, and the same as noisy counts."""

from collections.abc import Sequence
from typing import Any

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
    lots,
    once,
    sample,
    secrets,
    step,
)
from dpcore.dashboard.sections.mechanisms import redrawn
from dpcore.dashboard.widgets import figures, lasting
from dpcore.teaching import linkage

KNOWABLE = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "occupation",
    "workclass",
    "hours-per-week",
    "native-country",
)
KNOWN = KNOWABLE[:6]
LISTED = (17, 118, 203, 404, 741, 1_012)  # rows of the sample, counted from 1
GUESSES = 400_000  # of as many as there are, at least
SOURCE = (
    "Sweeney (2000) estimated that ZIP code, sex and date of birth are likely to make 87 % of the people in the United "
    "States unique. Columns that others know as well are called quasi-identifiers."
)


@st.fragment
def part(page: str) -> None:
    """Who is alone in what an outsider knows; then noisy counts in the place of rows."""
    key = f"{page}.linkage"
    with links.of(page, session.dataset(), "linkage"):
        places = st.columns([2, 3], gap="large")
        noisy = step(key, places[0])
        epsilon = epsilon_slider(key, places[1]) if noisy else 0.0
        label = "What the public list has as well"
        look: Any = {"default": KNOWN, "selection_mode": "multi", "wrap": True}
        chosen = lasting(st.pills, label, f"{key}.known", KNOWABLE, **look)
    known = tuple(name for name in KNOWABLE if name in (chosen or ()))
    alone = once(("alone", known), lambda: linkage.alone(coded(known)))
    if not noisy:
        found(known, alone)
    elif alone.any():
        hidden(key, known, alone, epsilon)
    else:
        st.info("Nobody is alone in these columns. Choose more of them.")


def coded(names: Sequence[str]) -> np.ndarray:
    """Columns of the sample, as whole numbers."""
    every = once(("coded",), lambda: linkage.coded(sample().train, KNOWABLE))
    return every[:, [KNOWABLE.index(name) for name in names]]


def found(known: tuple[str, ...], alone: np.ndarray) -> None:
    """The attack: rows without names, looked up by what a public list says."""
    st.markdown(
        "A table is published **without names**. Another list, which anybody can get, has names and some of the same "
        "columns. Whoever is **alone** with their values is found, and so is all else in their row."
    )
    ends = once(("extremes",), lambda: linkage.extremes(coded(KNOWABLE)))
    share = once(("growth", known), lambda: linkage.growth(coded(known), known))
    frame = ends.merge(share, on="number", how="left")
    title = "How many are alone, and so found by name"
    key = "Blue: your columns, one by one. Grey: all choices of so many columns."
    look: Any = {"what": "columns that the outsider knows", "most": len(KNOWABLE), "found": "alone", "key": key}
    left, right = st.columns([1, 4], gap="medium")
    with left:
        figures({"Found by name": percent(alone.mean())}, beside=False)
        st.caption(f"{alone.sum():,} of {len(alone):,} people are alone with their values in these columns.")
    with right:
        panels.chart(charts.share_found(frame, at=len(known), title=title, **look))
    listed(known)
    keep("Who is alone in what others know is found by name, although the table has no names.", SOURCE)
    panels.table_behind(frame, "The numbers behind this chart")


def listed(known: tuple[str, ...]) -> None:
    """Six people of the public list, and what the table says about them."""
    places, rows = [number - 1 for number in LISTED], sample().train
    told = linkage.looked_up(coded(known), secrets(), places)
    said = []
    for matches, having in told.itertuples(index=False):
        if having in (0, matches):
            said.append(("more than" if having else "up to") + " 50K" + f" (all {matches:,} do)" * (matches > 1))
        else:
            said.append(f"not known: {having:,} of {matches:,} more than 50K")
    public = rows.iloc[places][list(known)].reset_index(drop=True)
    public.insert(0, "public list", [f"Person {number:,}" for number in LISTED])
    public.insert(1, "rows that fit", told["matches"])
    public.insert(2, "so they earn", said)
    st.dataframe(public, hide_index=True)


def hidden(key: str, known: tuple[str, ...], alone: np.ndarray, epsilon: float) -> None:
    """The same with noise: a count for every combination."""
    st.markdown(
        "Instead of rows: **for every combination of these columns, how many people earn more than 50K, with noise.** "
        "Whoever is alone has a true count of 0 or 1. The outsider says “more” if the published count is 1 or more."
    )
    secret, count = secrets()[alone], int(alone.sum())
    releases = -(-GUESSES // count)
    left, right = st.columns([1, 4], gap="medium")
    with left:
        seed = redrawn(key, "Draw again")
        frame = once(
            ("linkage", known, seed),
            lambda: linkage.share_right(secret, EPSILONS, lots(seed, 2, releases, count)),
        )
        figures({"Right": percent(at_epsilon(frame, epsilon)), "Exact numbers": percent(1.0)}, beside=False)
    with right:
        title = "How often the outsider is right about people who are alone"
        panels.chart(charts.share_right(frame, epsilon=epsilon, exact=1.0, title=title))
    counts(known, epsilon, seed)
    base = max(secret.mean(), 1 - secret.mean())
    keep(
        f"With noise, being alone is no certainty. At epsilon {epsilon:,g} {bounded(epsilon)}.",
        f"Each point: {releases * count:,} guesses; luck may move it by a fifth of a point. Who comes or goes "
        "changes one count by 1, so all counts together cost epsilon. Without any table, the more frequent answer is "
        f"right about {percent(base)} of these {count:,}: that is known of people in general, and no loss of privacy.",
    )
    panels.table_behind(frame, "The numbers behind this chart")


def counts(known: tuple[str, ...], epsilon: float, seed: int) -> None:
    """What is published about the combinations of six people."""
    places = [number - 1 for number in LISTED]
    told = linkage.looked_up(coded(known), secrets(), places)
    noise = linkage.noise(epsilon, lots(seed + 1, 2, len(LISTED)))
    frame = pd.DataFrame({"public list": [f"Person {number:,}" for number in LISTED]})
    frame["people with these values"], frame["truth: more than 50K"] = told["matches"], told["secret"]
    frame["published"] = [f"{count:,}" for count in told["secret"] + noise]
    st.dataframe(frame, hide_index=True)
