"""Who is alone: a table without names beside a list with names, and the same as noisy counts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.pages.attacks import linkage_numbers
from dpcore.dashboard.pages.attacks.attack_steps import (
    EPSILONS,
    Found,
    at_epsilon,
    bounded,
    draw,
    lots,
    once,
    sample,
    secrets,
    settings,
)
from dpcore.dashboard.widgets import lasting
from dpcore.language import plural, say
from dpcore.text import percent

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


@st.fragment
def part(page: str) -> None:
    """Who is alone in what an outsider knows; then noisy counts in the place of rows."""
    with settings(page, "linkage", [2, 3]) as (key, epsilon, _):
        label = say("What the public list has as well")
        look: Any = {"default": KNOWN, "selection_mode": "multi", "wrap": True}
        chosen = lasting(st.pills, label, f"{key}.known", KNOWABLE, **look)
    known = tuple(name for name in KNOWABLE if name in (chosen or ()))
    alone = once(("alone", known), lambda: linkage_numbers.alone(coded(known)))
    if epsilon is None:
        lead = say(
            "A table is published **without names**. Another list, which anybody can get, has names and some of the "
            "same columns. Whoever is **alone** with their values is found, and so is all else in their row."
        )
        draw(key, lead, "", lambda _: found(known, alone))
    elif alone.any():
        lead = say(
            "Instead of rows: **for every combination of these columns, how many people earn more than 50K, with "
            "noise.** Whoever is alone has a true count of 0 or 1. The outsider says “more” if the published count is "
            "1 or more."
        )
        draw(key, lead, say("Draw again"), partial(hidden, known, alone, epsilon))
    else:
        st.info(say("Nobody is alone in these columns. Choose more of them."))


def coded(names: Sequence[str]) -> np.ndarray:
    """Columns of the sample, as whole numbers."""
    every = once(("coded",), lambda: linkage_numbers.coded(sample().train_sample, KNOWABLE))
    return every[:, [KNOWABLE.index(name) for name in names]]


def found(known: tuple[str, ...], alone: np.ndarray) -> Found:
    """The attack: rows without names, looked up by what a public list says."""
    ends = once(("extremes",), lambda: linkage_numbers.extremes(coded(KNOWABLE)))
    share = once(("growth", known), lambda: linkage_numbers.growth(coded(known), known))
    frame = ends.merge(share, on="number", how="left")
    look: Any = {
        "at": len(known),
        "what": say("columns that the outsider knows"),
        "most": len(KNOWABLE),
        "title": say("How many are alone, and so found by name"),
        "found": say("alone"),
        "key": say("Blue: your columns, one by one. Grey: all choices of so many columns."),
    }
    return Found(
        {say("Found by name"): percent(alone.mean())},
        charts.share_found(frame, **look),
        say("Who is alone in what others know is found by name, although the table has no names."),
        say(
            "Sweeney (2000) estimated that ZIP code, sex and date of birth are likely to make 87% of the people in "
            "the United States unique. Columns that others know as well are called quasi-identifiers."
        ),
        frame,
        say(
            "{alone:,} of {people:,} people are alone with their values in these columns.",
            alone=alone.sum(),
            people=len(alone),
        ),
        listed(known),
    )


def people() -> list[str]:
    """The six people of the public list."""
    return [say("Person {number:,}", number=number) for number in LISTED]


def listed(known: tuple[str, ...]) -> pd.DataFrame:
    """Six people of the public list, and what the table says about them."""
    places = [number - 1 for number in LISTED]
    told = linkage_numbers.looked_up(coded(known), secrets(), places)
    public = sample().train_sample.iloc[places][list(known)].reset_index(drop=True)
    public.insert(0, say("public list"), people())
    public.insert(1, say("rows that fit"), told["matches"])
    public.insert(2, say("so they earn"), [earned(*row) for row in told.itertuples(index=False)])
    return public


def earned(matches: int, having: int) -> str:
    """What rows that fit say of somebody's income, if so many of them have more than 50K."""
    if 0 < having < matches:
        return say("not known: {having:,} of {matches:,} more than 50K", having=having, matches=matches)
    if having:
        return plural("more than 50K", "more than 50K (all {n:,} do)", matches)
    return plural("up to 50K", "up to 50K (all {n:,} do)", matches)


def hidden(known: tuple[str, ...], alone: np.ndarray, epsilon: float, seed: int) -> Found:
    """The same with noise: a count for every combination."""
    secret, count = secrets()[alone], int(alone.sum())
    releases = -(-GUESSES // count)
    frame = once(
        ("linkage", known, seed), lambda: linkage_numbers.share_right(secret, EPSILONS, lots(seed, 2, releases, count))
    )
    title = say("How often the outsider is right about people who are alone")
    return Found(
        {say("Right"): percent(at_epsilon(frame, epsilon)), say("Noiseless numbers"): percent(1.0)},
        charts.share_right(frame, epsilon=epsilon, noiseless=1.0, title=title),
        say(
            "With noise, being alone is no certainty. At epsilon {epsilon:,g} {promise}.",
            epsilon=epsilon,
            promise=bounded(epsilon),
        ),
        say(
            "Each point: {guesses:,} guesses; luck may move it by a fifth of a point. Who comes or goes changes one "
            "count by 1, so all counts together can cost up to epsilon. Without any table, the more frequent answer "
            "is right about {base} of these {count:,}: that is known of people in general, no loss of privacy.",
            guesses=releases * count,
            base=percent(max(secret.mean(), 1 - secret.mean())),
            count=count,
        ),
        frame,
        more=counts(known, epsilon, seed),
    )


def counts(known: tuple[str, ...], epsilon: float, seed: int) -> pd.DataFrame:
    """What is published about the combinations of six people."""
    told = linkage_numbers.looked_up(coded(known), secrets(), [number - 1 for number in LISTED])
    noise = linkage_numbers.noise(epsilon, lots(seed + 1, 2, len(LISTED)))
    columns = {
        say("public list"): people(),
        say("people with these values"): told["matches"],
        say("truth: more than 50K"): told["secret"],
        say("published"): [f"{count:,}" for count in told["secret"] + noise],
    }
    return pd.DataFrame(columns)
