"""Who is alone: a table without names beside a list with names, and the same as noisy counts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard.demonstration import OTHERS, Demonstration
from dpcore.dashboard.pages.attacks import linkage_numbers
from dpcore.dashboard.pages.attacks.attack_steps import (
    EPSILONS,
    NUMBERS,
    at_epsilon,
    once,
    promise,
    sample,
    secrets,
    settings,
    uniform,
)
from dpcore.dashboard.widgets import lasting
from dpcore.language import plural, say
from dpcore.text import percent

KNOWABLE = tuple(
    "age sex race marital-status education occupation workclass hours-per-week native-country".split()  # noqa: SIM905
)
KNOWN = KNOWABLE[:6]
LISTED = (17, 118, 203, 404, 741, 1_012)  # rows of the sample, counted from 1
GUESSES = 400_000  # of as many as there are, at least
PEOPLE = OTHERS[: len(LISTED)]


@st.fragment
def part(page: str) -> None:
    """Who is alone in what an outsider knows; then noisy counts in the place of rows."""
    with settings(page, "linkage") as step, st.expander(say("Columns that the outsider knows")):
        look: Any = {"default": KNOWN, "selection_mode": "multi", "wrap": True, "label_visibility": "collapsed"}
        chosen = lasting(st.pills, say("Columns that the outsider knows"), f"{step.key}.known", KNOWABLE, **look)
    known = tuple(name for name in KNOWABLE if name in (chosen or ()))
    alone = once(("alone", known), lambda: linkage_numbers.alone(coded(known)))
    if step.epsilon is None:
        lead = say(
            "A table is published **without names**. A public list has names and {n} of its columns: anyone who is "
            "**alone** with these values is found.",
            n=len(known),
        )
        step.show(lead, "", lambda _: noiseless(known, alone))
    elif alone.any():
        lead = say(
            "Instead of rows: **for every combination of these columns, how many people earn more than 50K, with "
            "noise.** The outsider guesses “more” if the count of someone alone is 1 or more."
        )
        step.show(lead, say("Draw again"), partial(noisy, known, alone, step.epsilon))
    else:
        st.info(say("No one is alone in these columns. Choose more of them."))


def coded(names: Sequence[str]) -> np.ndarray:
    """Columns of the sample, as whole numbers."""
    every = once(("coded",), lambda: linkage_numbers.coded(sample().train_sample, KNOWABLE))
    return every[:, [KNOWABLE.index(name) for name in names]]


def noiseless(known: tuple[str, ...], alone: np.ndarray) -> Demonstration:
    """The attack: rows without names, looked up by what a public list says."""
    ends = once(("extremes",), lambda: linkage_numbers.extremes(coded(KNOWABLE)))
    share = once(("growth", known), lambda: linkage_numbers.growth(coded(known), known))
    frame = ends.merge(share, on="number", how="left")
    look: Any = {"at": len(known), "what": say("columns that the outsider knows"), "most": len(KNOWABLE)}
    look |= {"title": say("How many are alone, and so found by name"), "found": say("alone")}
    look["key"] = say("Blue: your columns, one by one. Grey: all choices of so many columns.")
    counts, rows = looked_up(known), sample().train_sample.iloc[[number - 1 for number in LISTED]]
    public = rows[list(known)].reset_index(drop=True)
    public.insert(0, say("public list"), PEOPLE)
    public.insert(1, say("rows that fit"), counts["matches"])
    public.insert(2, say("so they earn"), [income(*row) for row in counts.itertuples(index=False)])
    return Demonstration(
        {say("Found by name"): percent(alone.mean())},
        [charts.share_found(frame, **look), public],
        say("Anyone who is alone in what others know is found, with or without a name."),
        say(
            "Sweeney (2000) estimated that ZIP code, sex and date of birth are likely to make 87% of the people in "
            "the United States unique. Columns that others know as well are called quasi-identifiers."
        ),
        {say(NUMBERS): frame},
    )


def looked_up(known: tuple[str, ...]) -> pd.DataFrame:
    """What the table says of six people of the public list."""
    return linkage_numbers.looked_up(coded(known), secrets(), [number - 1 for number in LISTED])


def income(matches: int, having: int) -> str:
    """What rows that fit say of someone's income, if so many of them have more than 50K."""
    if 0 < having < matches:
        return say("not known: {having:,} of {matches:,} more than 50K", having=having, matches=matches)
    if having:
        return plural("more than 50K", "more than 50K (all {n:,} do)", matches)
    return plural("up to 50K", "up to 50K (all {n:,} do)", matches)


def noisy(known: tuple[str, ...], alone: np.ndarray, epsilon: float, seed: int) -> Demonstration:
    """The same with noise: a count for every combination."""
    secret, count = secrets()[alone], int(alone.sum())
    releases = -(-GUESSES // count)
    drawn = partial(uniform, seed, 2, releases, count)
    frame = once(("linkage", known, seed), lambda: linkage_numbers.share_right(secret, EPSILONS, drawn()))
    counts, noise = looked_up(known), linkage_numbers.noise(epsilon, uniform(seed + 1, 2, len(LISTED)))
    columns = {
        say("public list"): PEOPLE,
        say("people with these values"): counts["matches"],
        say("truth: more than 50K"): counts["secret"],
        say("published"): [f"{value:,}" for value in counts["secret"] + noise],
    }
    title = say("How often the outsider is right about people who are alone")
    return Demonstration(
        {say("Right"): percent(at_epsilon(frame, epsilon)), say("Noiseless numbers"): percent(1.0)},
        [charts.share_right(frame, epsilon=epsilon, noiseless=1.0, title=title), pd.DataFrame(columns)],
        say(
            "With noise, being alone is no certainty. At epsilon {epsilon:,g} {promise}.",
            epsilon=epsilon,
            promise=promise(epsilon),
        ),
        say(
            "Each point: {guesses:,} guesses. One person changes one count by 1, so all counts together can cost up to "
            "epsilon. Without any table, the more frequent answer is right about {base} of these {count:,}: that is "
            "known of people in general.",
            guesses=releases * count,
            base=percent(max(secret.mean(), 1 - secret.mean())),
            count=count,
        ),
        {say(NUMBERS): frame},
    )
