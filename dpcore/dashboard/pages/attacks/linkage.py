"""Linkage: a table without names beside a public list with names, and the same as noisy counts.

Somebody is alone if nobody else in the table has the same values in the known columns (a group of k
= 1, in the words of Sweeney 2002, "k-anonymity: a model for protecting privacy"). Whoever has the
list then finds their row, and what else it says. Against that, noise: for every combination of the
known columns, the number of people with the secret is published with whole-number noise Z of scale
1 / epsilon. One person changes one of these counts by at most 1. A guess about somebody who is
alone says "secret" if the count is 1 or more: whatever is true, it is right with probability P(Z >=
0) = 1 / (1 + e^-epsilon), the most that epsilon allows.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags, Floats, Ints
from dpcore.dashboard.demonstration import OTHERS, Demonstration
from dpcore.dashboard.pages.attacks.attack_steps import NUMBERS, SECRET, WITH_NOISELESS, remembered, sample, with_noise
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import odds, percent

KNOWABLE = tuple(
    "age sex race marital-status education occupation workclass hours-per-week native-country".split()  # noqa: SIM905
)
RICH = ">50K"
LISTED, FIRST = 6, 2  # people of the public list, and the seed by which they are chosen at first


def settings(key: str) -> tuple[tuple[str, ...]]:
    """Draw what the outsider knows."""
    label = say("Columns that the outsider knows")
    look: Any = {"default": KNOWABLE[:6], "selection_mode": "multi", "wrap": True}
    look["label_visibility"] = "collapsed"
    with st.expander(label):
        chosen = lasting(st.pills, label, f"{key}.known", KNOWABLE, **look) or ()
    return (tuple(name for name in KNOWABLE if name in chosen),)


@remembered
def alone(known: tuple[str, ...]) -> Flags:
    """Who of the sample has values that nobody else has."""
    rows = sample().train_sample.assign(nothing=0)
    return np.asarray(~rows.duplicated(["nothing", *known], keep=False))


def growth(known: tuple[str, ...]) -> pd.DataFrame:
    """The share that is alone, as column after column becomes known: `number`, `share`, `known`."""
    sets = [known[:number] for number in range(1, len(known) + 1)]
    rows = [(len(one), alone(one).mean(), ", ".join(one)) for one in sets]
    return pd.DataFrame(rows, columns=["number", "share", "known"])


def looked_up(known: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Some people of the public list, how many rows fit, and how many of these have the secret."""
    rows, columns = sample().train_sample, list(known)
    people = rows.sample(LISTED, random_state=FIRST + seed)[columns].reset_index(drop=True)
    fits = [rows[(rows[columns] == person).all(axis=1)] for _, person in people.iterrows()]
    people.insert(0, say("public list"), OTHERS[:LISTED])
    people.insert(1, say("rows that fit"), [*map(len, fits)])
    people.insert(2, say("more than 50K"), [(fit[SECRET] == RICH).sum() for fit in fits])
    return people


def noise(epsilon: float, uniform: Floats) -> Ints:
    """Whole-number noise of scale 1 / epsilon, from two numbers in (0, 1) each, by the first axis.

    The difference of two geometric numbers with ratio e^-epsilon: the same numbers give more noise
    for less epsilon.
    """
    up, down = np.floor(-np.log(uniform) / epsilon).astype(np.int64)
    return np.asarray(up - down)


def attack(known: tuple[str, ...], epsilon: float | None, seed: int) -> tuple[str, Demonstration | None]:
    """Look up rows by what a public list says; with noise, a count for every combination."""
    found, people = alone(known), looked_up(known, seed)
    base = sample().train_sample[SECRET].value_counts(normalize=True).max()
    lead = phrase(
        "A table is published **without names**. A public list has names and {n} of its columns: "
        "anyone who is **alone** with these values is found."
    )
    assumed = say(
        "Columns that others know are quasi-identifiers: by ZIP code, sex and date of birth, 87% of "
        "people in the US are likely unique (Sweeney 2000). With noise, one person changes one count "
        "by 1: all counts together can cost up to epsilon. Without any table, the more frequent "
        "answer is right about {base} of people.",
        base=percent(base),
    )
    if epsilon is None:
        frame = growth(known)
        keep = say("Anyone who is alone in what others know is found, with or without a name.")
        look: Any = {"what": say("columns that the outsider knows"), "found": say("alone")}
        look |= {"title": say("How many are alone, and so found by name"), "at": len(known)}
        pictures = [charts.share_found(frame, most=len(KNOWABLE), **look), people]
        figures, behind = {say("Found by name"): percent(found.mean())}, {say(NUMBERS): frame}
        return say(lead, n=len(known)), Demonstration(figures, pictures, keep, assumed, behind)
    if not found.any():
        return say("No one is alone in these columns. Choose more of them."), None
    lead = phrase(
        "Instead of rows: **for every combination of these columns, how many people earn more than "
        "50K, with noise.** The outsider guesses “more” if the count of someone alone is 1 or more."
    )
    drawn = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, LISTED))
    people.insert(3, say("published"), people[say("more than 50K")] + noise(epsilon, drawn))
    shares = [(step, odds(step)) for step in WITH_NOISELESS]
    frame = pd.DataFrame(shares, columns=["epsilon", "share"])
    return say(lead), with_noise(frame, epsilon, assumed, people)
