"""Epsilon on a logarithmic scale, and what it means for one person, in odds."""

import math
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from dpcore.dashboard.widgets import caption, number_choice
from dpcore.domain.unit import PrivacyUnit
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
DOTS = 10


def but_for(delta: float) -> str:
    """The end of a sentence that holds for all but a probability of delta (`Currency.gained`)."""
    return say(", but for a probability of {delta}", delta=f"{delta:g}") if delta else ""


def odds_sentence(epsilon: float, seen: str = SEEN, delta: float = 0.0) -> str:
    """Say how sure someone who was 50:50 unsure can become at worst from seeing something."""
    sure = odds(epsilon)
    text = phrase(
        "Someone who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}{but}."
    )
    if sure >= CERTAIN:
        text = phrase(
            "Someone who is 50:50 unsure about you could become **practically certain** from seeing {seen}. This is "
            "no protection that one could put a number on."
        )
    digits = 1 if sure < 0.999 else 3
    return say(text, sure=f"{100 * sure:.{digits}f}", seen=say(seen), but=but_for(delta))


def odds_in_short(epsilon: float) -> str:
    """The same in three words: "73 in 100"; never rounded up to certainty, as 100 would be."""
    sure = odds(epsilon)
    if sure >= CERTAIN:
        return say("practically certain")
    return say("{sure} in 100", sure=f"{100 * sure:.{0 if sure < 0.985 else 1 if sure < 0.999 else 2}f}")


def choose_epsilon(
    key: str, usual: float, steps: Sequence[float], about: str = "", unit: PrivacyUnit | None = None
) -> float:
    """Ask for epsilon; touches no data.

    It may be `about` something else than a release, for which usual ranges have no names. A `unit`
    says whether runs protect persons with all rows, or how many single rows a person has.
    """
    persons = unit is not None and unit.id_column is not None
    protected = say("All rows of one person") if persons else say("One row")
    bound = phrase("{protected} can change any output’s probability by a factor e^epsilon at most.")
    look = {"value": usual, "help": f"{say(bound, protected=protected)} {say(about or RELEASE)}"}
    label = say("Epsilon (privacy budget)")
    epsilon: float = number_choice(st.select_slider, label, f"{key}.epsilon", steps, **look)
    if not about:
        ranges(steps, 1 if unit is None or persons else unit.max_contributions)
    return epsilon


def show_odds(epsilon: float, seen: str = SEEN, delta: float = 0.0, *, claimed: bool = False) -> None:
    """Show what an epsilon means for one person, in odds; `claimed`: if it held, as no proof of it does."""
    full = int(DOTS * odds(epsilon))  # only certainty fills all
    dots = f":primary[{'●' * full}]:gray[{'●' * (DOTS - full)}]"
    st.markdown(f"**{odds_in_short(epsilon)}** {dots}", help=odds_sentence(epsilon, seen, delta))
    text = phrase("how sure someone can become (50 before){but}")
    if claimed:
        text = phrase("how sure someone could become, if the claim held{but}")
    caption(text, but=but_for(delta))


def show_no_limit(why: str) -> None:
    """Show that nothing limits what someone can learn of a person, and why."""
    st.markdown(f":red[**{say('No limit')}** {'●' * DOTS}]")
    st.caption(f":red[{why}]")


def ranges(steps: Sequence[float], rows: int) -> None:
    """What usual ranges of epsilon are called, below the slider; they are meant for a person, who has so many rows."""
    ends = [0.0, *(end / rows for end in USUAL)]
    parts = [sum(low < step <= high for step in steps) for low, high in pairwise(ends)]
    seen = {words: part for words, part in zip(USUAL.values(), parts, strict=True) if part}
    with st.container(key="ranges"):
        for cell, words in zip(st.columns([*seen.values()], gap="xsmall"), seen, strict=True):
            cell.caption(say(words))
