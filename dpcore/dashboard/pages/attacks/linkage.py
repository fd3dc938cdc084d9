"""Linkage attack: join a table without names with a list of names, or use noisy counts.

A person is unique if no other row has the same values in the known columns (a group of k = 1 in
Sweeney 2002, "k-anonymity: a model for protecting privacy"). The list then leads to that person's
row and to all its other values.

The protected release publishes, for every combination of the known columns, how many people have
the secret. Each count has integer noise Z of scale 1 / epsilon. One person changes one count by at
most 1. For a unique person the attacker guesses "secret" if the count is 1 or more. The guess is
right with probability P(Z >= 0) = 1 / (1 + e^-epsilon), the most that epsilon allows.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Flags, Floats, Ints
from dpcore.dashboard.demonstration import OTHERS, Demonstration
from dpcore.dashboard.pages.attacks.attack_steps import (
    NUMBERS,
    SECRET,
    WITH_NOISELESS,
    noisy_demonstration,
    remembered,
    sample,
)
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.text import odds, percent

KNOWABLE = tuple(
    "age sex race marital-status education occupation workclass hours-per-week native-country".split()  # noqa: SIM905
)
RICH = ">50K"
LISTED, FIRST = 6, 2  # people on the public list; first seed


def draw_settings(key: str) -> tuple[tuple[str, ...]]:
    """Draw the choice of the columns that the attacker knows; return one tuple of their names."""
    label = say("Columns that the attacker knows")
    look: Any = {"selection_mode": "multi", "wrap": True, "label_visibility": "collapsed"}
    with st.expander(label):
        chosen = lasting(st.pills, label, f"{key}.known", KNOWABLE, default=KNOWABLE[:6], **look) or ()
    return (tuple(name for name in KNOWABLE if name in chosen),)


@remembered
def unique_rows(known: tuple[str, ...]) -> Flags:
    """Return which sample rows have a combination of `known` values that no other row has."""
    rows = sample().train_sample.assign(nothing=0)
    return np.asarray(~rows.duplicated(["nothing", *known], keep=False))


def unique_shares(known: tuple[str, ...]) -> pd.DataFrame:
    """Return the share of unique sample rows for the first 1, 2, ... of the `known` columns.

    The frame has the columns `number` (of known columns), `share` and `known` (their names).
    """
    sets = [known[:number] for number in range(1, len(known) + 1)]
    rows = [(len(one), unique_rows(one).mean(), ", ".join(one)) for one in sets]
    return pd.DataFrame(rows, columns=["number", "share", "known"])


def look_up_people(known: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Return some people of the public list, with the number of sample rows that match each.

    A row matches if it has the person's values in the `known` columns. The frame also counts the
    matching rows with the secret, an income over 50K. `seed` fixes which people are looked up.
    """
    rows, columns = sample().train_sample, list(known)
    people = rows.sample(LISTED, random_state=FIRST + seed)[columns].reset_index(drop=True)
    fits = [rows[(rows[columns] == person).all(axis=1)] for _, person in people.iterrows()]
    people.insert(0, say("person on the public list"), OTHERS[:LISTED])
    people.insert(1, say("matching rows"), [*map(len, fits)])
    people.insert(2, say("matches earning over 50K"), [(fit[SECRET] == RICH).sum() for fit in fits])
    return people


def geometric_noise(epsilon: float, uniform: Floats) -> Ints:
    """Return two-sided geometric noise, of probability proportional to e^(-epsilon |k|).

    The noise is the difference of two geometric variables with ratio e^-epsilon. `uniform` has
    shape (2, n) with numbers in (0, 1). Reusing these at a smaller epsilon gives larger noise.
    """
    up, down = np.floor(-np.log(uniform) / epsilon).astype(np.int64)
    return np.asarray(up - down)


def run_attack(known: tuple[str, ...], epsilon: float | None, seed: int) -> tuple[str, Demonstration | None]:
    """Run the linkage attack: find people's rows by a public list, or guess from noisy counts.

    `known` are the columns that the attacker knows, and `epsilon` is None without noise. Returns
    the introduction and the demonstration; the demonstration is None if no row is unique.
    """
    found, people = unique_rows(known), look_up_people(known, seed)
    base = sample().train_sample[SECRET].value_counts(normalize=True).max()
    lead = phrase(
        "A table is published **without names**. A public list has names and {n} of the table's "
        "columns: anyone whose values in these columns are **unique** is found."
    )
    assumed = say(
        "Columns that others know are quasi-identifiers: by ZIP code, sex and date of birth, 87% "
        "of people in the US are likely unique (Sweeney 2000). With noise, one person changes one "
        "count by 1: all counts together can cost up to epsilon. Without any table, the more "
        "frequent answer is right about {base} of people.",
        base=percent(base),
    )
    if epsilon is None:
        frame = unique_shares(known)
        keep = say("Anyone who is unique in what others know is found, with or without a name.")
        look: Any = {"what": say("columns that the attacker knows"), "found": say("unique people")}
        look |= {"title": say("People who are unique, and so found by name"), "at": len(known)}
        pictures = [charts.share_found(frame, most=len(KNOWABLE), **look), people]
        figures, behind = {say("People re-identified"): percent(found.mean())}, {say(NUMBERS): frame}
        return say(lead, n=len(known)), Demonstration(figures, pictures, keep, assumed, behind)
    if not found.any():
        return say("No one is unique in these columns. Choose more columns."), None
    lead = phrase(
        "Instead of rows: **noisy counts of people who earn more than 50K**, by combination of "
        "values. The attacker guesses “more” about a unique person if the count is 1 or more."
    )
    drawn = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, LISTED))
    people.insert(3, say("noisy count"), people[say("matches earning over 50K")] + geometric_noise(epsilon, drawn))
    shares = [(step, odds(step)) for step in WITH_NOISELESS]
    frame = pd.DataFrame(shares, columns=["epsilon", "share"])
    return say(lead), noisy_demonstration(frame, epsilon, assumed, people)
