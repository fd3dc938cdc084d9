"""Linkage: a table without names beside a public list with names, and the same as noisy counts.

Somebody is alone if nobody else in the table has the same values in the known columns (a group of k = 1, in the words
of Sweeney 2002, "k-anonymity: a model for protecting privacy"). Whoever has the list then finds their row, and what
else it says. Against that, noise: for every combination of the known columns, the number of people with the secret is
published with whole-number noise Z of scale 1 / epsilon. One person changes one of these counts by at most 1. A guess
about somebody who is alone says "secret" if the count is 1 or more: whatever is true, it is right with probability
P(Z >= 0) = 1 / (1 + e^-epsilon), the most that epsilon allows.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags, Floats, Ints
from dpcore.dashboard.demonstration import OTHERS, Demonstration
from dpcore.dashboard.pages.attacks.attack_steps import EPSILONS, NUMBERS, SECRET, remembered, sample, with_noise
from dpcore.dashboard.widgets import lasting
from dpcore.language import say
from dpcore.text import odds, percent

KNOWABLE = tuple(
    "age sex race marital-status education occupation workclass hours-per-week native-country".split()  # noqa: SIM905
)
LISTED, FIRST = 6, 2  # people of the public list, and the seed by which they are chosen at first
Known = tuple[str, ...]


def settings(key: str) -> tuple[Known]:
    """Draw what the outsider knows."""
    label = say("Columns that the outsider knows")
    look: Any = {"default": KNOWABLE[:6], "selection_mode": "multi", "wrap": True, "label_visibility": "collapsed"}
    with st.expander(label):
        chosen = lasting(st.pills, label, f"{key}.known", KNOWABLE, **look) or ()
    return (tuple(name for name in KNOWABLE if name in chosen),)


@remembered
def alone(known: Known) -> Flags:
    """Who of the sample has the same values as nobody else; who knows nothing tells nobody apart."""
    rows = sample().train_sample.assign(nothing=0)
    return np.asarray(~rows.duplicated(["nothing", *known], keep=False))


def growth(known: Known) -> pd.DataFrame:
    """The share of rows that are alone, as one column after the other becomes known: `number`, `share`, `known`."""
    sets = [known[:number] for number in range(1, len(known) + 1)]
    columns = {"share": [alone(one).mean() for one in sets], "known": [", ".join(one) for one in sets]}
    return pd.DataFrame({"number": range(1, len(known) + 1), **columns})


def looked_up(known: Known, seed: int) -> pd.DataFrame:
    """Some people of the public list, how many rows of the table fit, and how many of these have the secret."""
    rows, columns = sample().train_sample, list(known)
    people = rows.sample(LISTED, random_state=FIRST + seed)[columns].reset_index(drop=True)
    fits = [(rows[columns] == person).all(axis=1) for _, person in people.iterrows()]
    people.insert(0, say("public list"), OTHERS[:LISTED])
    people.insert(1, say("rows that fit"), [fit.sum() for fit in fits])
    people.insert(2, say("more than 50K"), [(fit & (rows[SECRET[0]] == SECRET[1])).sum() for fit in fits])
    return people


def noise(epsilon: float, uniform: Floats) -> Ints:
    """Whole-number noise of scale 1 / epsilon, from two numbers in (0, 1) each, which stand along the first axis.

    The difference of two geometric numbers with ratio e^-epsilon: the same numbers give more noise for less epsilon.
    """
    up, down = np.floor(-np.log(uniform) / epsilon).astype(np.int64)
    return np.asarray(up - down)


def attack(known: Known, epsilon: float | None, seed: int) -> tuple[str, Demonstration | None]:
    """Look up rows without names by what a public list says; with noise, a count for every combination."""
    found, people = alone(known), looked_up(known, seed)
    if epsilon is None:
        lead = say(
            "A table is published **without names**. A public list has names and {n} of its columns: anyone who is "
            "**alone** with these values is found.",
            n=len(known),
        )
        frame = growth(known)
        look: Any = {"at": len(known), "what": say("columns that the outsider knows"), "most": len(KNOWABLE)}
        look |= {"title": say("How many are alone, and so found by name"), "found": say("alone")}
        return lead, Demonstration(
            {say("Found by name"): percent(found.mean())},
            [charts.share_found(frame, **look), people],
            say("Anyone who is alone in what others know is found, with or without a name."),
            say(
                "Sweeney (2000) estimated that ZIP code, sex and date of birth are likely to make 87% of the people "
                "in the United States unique. Columns that others know as well are called quasi-identifiers."
            ),
            {say(NUMBERS): frame},
        )
    if not found.any():
        return say("No one is alone in these columns. Choose more of them."), None
    lead = say(
        "Instead of rows: **for every combination of these columns, how many people earn more than 50K, with "
        "noise.** The outsider guesses “more” if the count of someone alone is 1 or more."
    )
    drawn = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, LISTED))
    people.insert(3, say("published"), people[say("more than 50K")] + noise(epsilon, drawn))
    more = (sample().train_sample[SECRET[0]] == SECRET[1])[found].mean()
    assumed = say(
        "One person changes one count by 1: all counts together can cost up to epsilon. Without any table, the more "
        "frequent answer is right about {base} of those who are alone: that is known of people in general.",
        base=percent(max(more, 1 - more)),
    )
    frame = pd.DataFrame({"epsilon": EPSILONS, "share": [odds(step) for step in EPSILONS]})
    return lead, with_noise(frame, epsilon, 1.0, assumed, people)
