"""Epsilon on a logarithmic scale, and what it means for one person, in odds."""

import math
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from dpcore.dashboard.widgets import caption, number_choice
from dpcore.language import phrase, say
from dpcore.text import odds

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
# Up to an epsilon, what it is called. Ponomareva and others (2023) call up to 1 strong and up to 10 reasonable; here
# the worst case speaks, in which 3 makes someone who was 50:50 unsure 95% sure.
USUAL = {0.1: phrase("◀ strict"), 1.0: phrase("usual"), 3.0: phrase("generous"), math.inf: phrase("weak ▶")}
SEEN = phrase("the release")
CERTAIN = 0.99995
RELEASE = phrase(
    "About you: whether you are in the data, or what they say of you. Worst case over all observers and all "
    "people; for one release, without delta. Holds with a declared schema and without a seed; as published, only "
    "where the proof holds."
)
ROW = phrase(
    "Bounds how much one row can change the probability of any output: at most by the factor e to the epsilon."
)
PERSON = phrase(
    "Bounds how much all rows of one person can change the probability of any output: at most by the factor e to the "
    "epsilon."
)
DOTS = 10


def odds_sentence(epsilon: float, seen: str = SEEN, delta: float = 0.0) -> str:
    """Say how sure someone who was 50:50 unsure can become, in the worst case, from seeing something.

    With a delta, for all but a probability of that (`Currency.gained`).
    """
    sure = odds(epsilon)
    if sure >= CERTAIN:
        told = phrase(
            "Someone who is 50:50 unsure about you could become **practically certain** from seeing {seen}. This is "
            "no protection that one could put a number on."
        )
    elif delta:
        told = phrase(
            "Someone who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}, but for "
            "a probability of {delta}."
        )
    else:
        told = phrase("Someone who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}.")
    return say(told, sure=f"{100 * sure:.{1 if sure < 0.999 else 3}f}", seen=say(seen), delta=f"{delta:g}")


def odds_in_short(epsilon: float) -> str:
    """The same in three words: "73 in 100"; never rounded up to certainty, as 100 would be."""
    sure = odds(epsilon)
    if sure >= CERTAIN:
        return say("practically certain")
    return say("{sure} in 100", sure=f"{100 * sure:.{0 if sure < 0.985 else 1 if sure < 0.999 else 2}f}")


def choose_epsilon(
    key: str,
    default: float = 1.0,
    options: Sequence[float] = EPSILONS,
    about: str = RELEASE,
    seen: str = SEEN,
    rows: int = 1,
    *,
    persons: bool = False,
) -> float:
    """Ask for epsilon; touches no data. What usual ranges are called hangs on how many `rows` a person has.

    `persons`: runs protect persons with all rows, and not single rows.
    """
    look = {"value": default, "help": f"{say(PERSON if persons else ROW)} {say(about)}"}
    label = say("Epsilon (privacy budget)")
    epsilon: float = number_choice(st.select_slider, label, f"{key}.epsilon", options, **look)
    if seen == SEEN:  # people who randomize their own answers spend more
        ranges(options, rows)
    return epsilon


def show_odds(epsilon: float, seen: str = SEEN, delta: float = 0.0, *, claimed: bool = False) -> None:
    """Show what an epsilon means for one person, in odds; `claimed`: if it held, as no proof of it does."""
    full = int(DOTS * odds(epsilon))  # only certainty fills all
    dots = f":primary[{'●' * full}]:gray[{'●' * (DOTS - full)}]"
    st.markdown(f"**{odds_in_short(epsilon)}** {dots}", help=odds_sentence(epsilon, seen, delta))
    if claimed:
        caption("how sure someone could become, if the claim held")
    elif delta:
        caption("how sure someone can become about a person, but for a probability of {delta}", delta=f"{delta:g}")
    else:
        caption("how sure someone can become about a person (50 before)")


def show_no_limit(why: str) -> None:
    """Show that nothing limits what someone can learn of a person, and why."""
    st.markdown(f":red[**{say('No limit')}** {'●' * DOTS}]")
    st.caption(f":red[{why}]")


def ranges(options: Sequence[float], rows: int) -> None:
    """What usual ranges of epsilon are called, below the slider; they are meant for a person, who has so many rows."""
    ends = [0.0, *(end / rows for end in USUAL)]
    parts = [sum(low < step <= high for step in options) for low, high in pairwise(ends)]
    seen = [(words, steps) for words, steps in zip(USUAL.values(), parts, strict=True) if steps]
    with st.container(key="ranges"):
        for cell, (words, _) in zip(st.columns([steps for _, steps in seen], gap="xsmall"), seen, strict=True):
            cell.caption(say(words))
