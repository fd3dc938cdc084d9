"""The choice of epsilon on a logarithmic scale, and its meaning for one person in odds."""

import math
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from dpcore.dashboard.widgets import caption, number_choice
from dpcore.domain.unit import PrivacyUnit
from dpcore.language import phrase, say
from dpcore.text import odds

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
# Names of ranges of epsilon, by their ends. Ponomareva and others (2023) call up to 1 strong and up
# to 10 reasonable. Here the worst case counts: 3 makes someone who was 50:50 unsure 95% sure.
USUAL = {0.1: phrase("◀ strict"), 1.0: phrase("usual"), 3.0: phrase("generous"), math.inf: phrase("weak ▶")}
SEEN = phrase("the release")
CERTAIN = 0.99995
RELEASE = phrase(
    "What others could learn of you: whether you are in the data, or what the data say about you. "
    "This is the worst case over all observers and all people, for one release, without delta. The "
    "bound needs a declared schema and no seed; methods as published need a proof that holds."
)
DOTS = 10


def delta_clause(delta: float) -> str:
    """Return the end of a sentence that may fail with probability `delta`; "" if that is 0."""
    return say(", except with probability {delta}", delta=f"{delta:g}") if delta else ""


def odds_sentence(epsilon: float, seen: str = SEEN, delta: float = 0.0) -> str:
    """Return a sentence: how sure someone who was 50:50 unsure can become at worst.

    `seen` is what that person sees, such as the release.
    """
    sure = odds(epsilon)
    text = phrase(
        "Someone who is 50:50 unsure about you could become at most **{sure}% sure** from seeing {seen}{exception}."
    )
    if sure >= CERTAIN:
        text = phrase(
            "Someone who is 50:50 unsure about you could become **practically certain** from "
            "seeing {seen}. That is no meaningful protection."
        )
    digits = 1 if sure < 0.999 else 3
    return say(text, sure=f"{100 * sure:.{digits}f}", seen=say(seen), exception=delta_clause(delta))


def short_odds(epsilon: float) -> str:
    """Return how sure someone who was 50:50 unsure can become, in a few words: "73 in 100".

    The number is never rounded up to 100.
    """
    sure = odds(epsilon)
    if sure >= CERTAIN:
        return say("practically certain")
    return say("{sure} in 100", sure=f"{100 * sure:.{0 if sure < 0.985 else 1 if sure < 0.999 else 2}f}")


def choose_epsilon(
    key: str, usual: float, steps: Sequence[float], about: str = "", unit: PrivacyUnit | None = None
) -> float:
    """Draw the choice of epsilon and return it; reads no data.

    Parameters
    ----------
    key
        Beginning of the control's key.
    usual
        Epsilon until the user chooses one.
    steps
        Values to choose from.
    about
        Explanation in place of that of a release; then no names of usual ranges are drawn.
    unit
        Privacy unit: protected persons, or the most rows that one person has.
    """
    persons = unit is not None and unit.id_column is not None
    protected = say("All rows of one person") if persons else say("One row")
    bound = phrase("{protected} can change any output’s probability by a factor e^epsilon at most.")
    style = {"value": usual, "help": f"{say(bound, protected=protected)} {say(about or RELEASE)}"}
    label = say("Epsilon (privacy budget)")
    epsilon: float = number_choice(st.select_slider, label, f"{key}.epsilon", steps, **style)
    if not about:
        draw_range_names(steps, 1 if unit is None or persons else unit.max_contributions)
    return epsilon


def show_odds(epsilon: float, seen: str = SEEN, delta: float = 0.0, *, claimed: bool = False) -> None:
    """Draw the meaning of an epsilon for one person, in odds and as ten dots.

    `claimed` says that no proof supports this epsilon.
    """
    full = int(DOTS * odds(epsilon))  # only certainty fills all dots
    dots = f":primary[{'●' * full}]:gray[{'●' * (DOTS - full)}]"
    st.markdown(f"**{short_odds(epsilon)}** {dots}", help=odds_sentence(epsilon, seen, delta))
    text = phrase("how sure someone who was 50:50 unsure about you can become{exception}")
    if claimed:
        text = phrase("how sure someone who was 50:50 unsure could become, if the claimed epsilon held{exception}")
    caption(text, exception=delta_clause(delta))


def show_no_limit(why: str) -> None:
    """Draw that nothing bounds what anyone can learn of a person, and why."""
    st.markdown(f":red[**{say('No bound on epsilon')}** {'●' * DOTS}]")
    st.caption(f":red[{why}]")


def draw_range_names(steps: Sequence[float], rows: int) -> None:
    """Draw the names of usual ranges of epsilon below a slider with these `steps`.

    The ranges are meant for a person. On a slider for single rows, their ends are divided by
    `rows`, the most rows that one person has.
    """
    ends = [0.0, *(end / rows for end in USUAL)]
    parts = [sum(low < step <= high for step in steps) for low, high in pairwise(ends)]
    seen = {words: part for words, part in zip(USUAL.values(), parts, strict=True) if part}
    with st.container(key="ranges"):
        for cell, words in zip(st.columns([*seen.values()], gap="xsmall"), seen, strict=True):
            cell.caption(say(words))
