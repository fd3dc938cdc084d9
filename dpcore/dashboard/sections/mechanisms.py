"""The basic mechanisms as live pictures: noise on a count, an election by lot, randomized response, and odds.

Everything here is arithmetic on made-up numbers. No data are read and nothing is spent. What is drawn hangs on a seed
that a button alone changes, so that moving a widget shows the same lots at another setting.
"""

import math
from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import controls, panels, session, shell
from dpcore.dashboard.sections import epsilon_in_use
from dpcore.dashboard.widgets import choice, figures, lasting, number_choice
from dpcore.mechanisms.randomizers import ERRPH
from dpcore.teaching import choices, counts

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
DELTAS = (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
WINDOWS = (5, 15, 50, 150)
DRAWN, PEOPLE = 20, 1_000
NAMES = {
    "Laplace": "Laplace: any number",
    "Geometric": "Geometric: whole numbers",
    "Gaussian": "Gaussian: the bell curve",
}
VOTERS: dict[choices.Voter, str] = {"comes": "One voter more comes", "changes": "One voter changes their mind"}
ELECTION, SURE = "30, 25, 8, 2", 0.9999
ONE_COUNT = "one count, which you change by 1 (add or remove one person), and numbers without rounding"


def epsilon_slider(key: str, label: str = "epsilon", default: float = 1.0) -> float:
    """Epsilon on a logarithmic scale, small."""
    note = "Left: more private. Right: more accurate."
    found: float = number_choice(st.select_slider, label, f"{key}.epsilon", EPSILONS, value=default, help=note)
    return found


def zoom(key: str) -> float:
    """How far from the truth charts go, whatever epsilon is, so that two epsilons can be told apart."""
    note = "The charts show the same answers at every epsilon. Zoom in or out here."
    return float(
        number_choice(st.select_slider, "Show answers within ±", f"{key}.window", WINDOWS, value=15, help=note)
    )


def look(text: str) -> None:
    """What there is to see."""
    st.markdown(f":material/visibility: **Look:** {text}")


def assumed(text: str) -> None:
    """What the picture takes for granted."""
    st.caption(f"**Assumed:** {text}")


def redrawn(key: str, label: str) -> int:
    """A button for other lots, and the seed of those in use."""
    place = f"{key}.seed"
    seed = session.kept(place, int)
    if st.button(label, icon=":material/casino:", key=f"{key}.redraw", width="stretch"):
        seed = st.session_state[place] = seed + 1
    return seed


noise_of = cache(counts.CountNoise)  # the Gaussian one takes a search for its standard deviation


@st.fragment
def noise(page: str) -> None:
    """Noise on a count in two worlds, and the ratio of the two."""
    key = f"{page}.noise"
    left, right = st.columns([2, 5], gap="large")
    with left:
        name = choice(st.radio, "Mechanism", f"{key}.mechanism", NAMES)
        epsilon, delta = epsilon_slider(key), 0.0
        if name == "Gaussian":
            note = "Large enough to be seen here. In earnest it should be far below one in the number of people."
            delta = number_choice(st.select_slider, "delta", f"{key}.delta", DELTAS, value=0.05, help=note)
        count = int(lasting(st.number_input, "True count without you", f"{key}.count", 0, 1_000_000, 100))
        window = zoom(key)
        mechanism = noise_of(name, epsilon, delta)
        seed = redrawn(key, f"Draw {DRAWN} others")
        shown = {"Standard deviation": mechanism.deviation, "95 % are within ±": mechanism.within()}
        figures({label: f"{value:.3g}" for label, value in shown.items()}, beside=False)
    found = counts.worlds(mechanism, count, window=window)
    room = 0.6 if mechanism.whole else 0.0
    low, high = float(found["answer"].min()) - room, float(found["answer"].max()) + room
    drawn = counts.draws(mechanism, count, seed, DRAWN)
    with right:
        guarantee = told(mechanism)
        panels.chart(charts.two_worlds(found, whole=mechanism.whole))
        panels.chart(charts.ratio_band(found, epsilon=epsilon, whole=mechanism.whole))
        panels.chart(charts.answer_strip(drawn, low=low, high=high))
        st.caption(
            f"{DRAWN} answers of each world. The same luck at every setting; only the button draws anew. From one "
            "dot of unknown color, could you tell its row?"
        )
        assumed(f"{ONE_COUNT}. Guarantee of one answer: {guarantee}.")
        behind = found.assign(ratio=np.exp(found["log_ratio"].clip(-700, 700)))
        panels.table_behind(behind, "The numbers behind these charts")


def told(mechanism: counts.CountNoise) -> str:
    """Say what to see of a mechanism; its guarantee."""
    epsilon, factor = mechanism.epsilon, math.exp(mechanism.epsilon)
    if mechanism.name == "Gaussian":
        look(
            f"in the tails the ratio leaves the band. What one world has above e^epsilon = {factor:.3g} times the "
            f"other (orange) sums to **delta = {mechanism.delta:g}**; an answer is outside the band with probability "
            f"{mechanism.outside:.3g}. Gaussian noise always needs a delta: no epsilon holds **without one**."
        )
        return f"({epsilon:g}, {mechanism.delta:g}), with the smallest such noise"
    steps = f"at every whole number it is {factor:.3g} or one over it, exactly" if mechanism.whole else "it is flat"
    beyond = "" if mechanism.whole else " below and above both counts"
    look(
        f"the ratio of the two worlds stays between {1 / factor:.3g} and {factor:.3g}, which are 1/e^epsilon and "
        f"e^epsilon: {steps}{beyond}. No answer tells more about you."
    )
    return f"epsilon {epsilon:g}, without delta"


@st.fragment
def choosing(page: str) -> None:
    """The exponential mechanism with an election."""
    key = f"{page}.choosing"
    left, right = st.columns([2, 5], gap="large")
    with left:
        note = "The candidates are called A, B, C and so on. The example is ours."
        label = "Votes, with commas between them"
        text = lasting(st.text_input, label, f"{key}.votes", ELECTION, max_chars=80, help=note)
        epsilon = epsilon_slider(key, default=0.1)
        voter = choice(st.radio, "And then", f"{key}.voter", VOTERS)
    with right, shell.mendable():
        votes = choices.votes_from(text or "")
        names = [chr(ord("A") + place) for place in range(len(votes))]
        with left:
            label = "… for" if voter == "comes" else "… and is now for"
            chosen = lasting(st.selectbox, label, f"{key}.chosen:{len(votes)}", names)
        result(votes, epsilon, voter, names.index(chosen or "A"))


def result(votes: tuple[int, ...], epsilon: float, voter: choices.Voter, chosen: int) -> None:
    """Probabilities, and what one voter changes."""
    found = choices.election(votes, epsilon, voter, chosen)
    first = found.iloc[int(found["votes"].argmax())]
    chance = f"{first['probability']:.4g}" if first["probability"] < SURE else f"over {SURE}"
    look(
        f"nobody is elected for sure. **{first['candidate']}** has most votes and is drawn with probability {chance}; "
        "every vote shifts these probabilities a little, and none tips the result."
    )
    places = st.columns([2, 3], gap="medium")
    with places[0]:
        panels.chart(charts.votes(found))
    with places[1]:
        panels.chart(charts.election(found))
    panels.chart(charts.choice_ratios(found, epsilon=epsilon))
    st.caption("Bars and numbers: before. Hollow diamonds: after one voter.")
    worst = choices.choice_loss(votes, epsilon, voter)
    if voter == "comes":
        half = f"Whoever the voter is for, no ratio exceeds e^{worst:.3g}: one more vote moves one score, and only up, "
        half += f"so that even e^(epsilon/2) = {math.exp(epsilon / 2):.4g} is never exceeded."
    else:
        half = f"Whoever changes to whom, no ratio exceeds e^{worst:.3g}: one score goes up and another down, which "
        half += f"takes more than half of epsilon, and at most e^epsilon = {math.exp(epsilon):.4g}."
    st.markdown(half)
    neighbors = "add or remove one voter" if voter == "comes" else "change one voter’s vote"
    assumed(
        "a candidate’s score is the number of votes; weights are e^(epsilon · score / (2 Δ)) with **Δ = 1**, because "
        "everybody votes once and for one candidate (with m votes for the same one, Δ would be m). Pure epsilon "
        f"{epsilon:g}; neighbors: {neighbors}. One winner is drawn; a second draw costs epsilon again."
    )
    with st.expander("Why is this not rounding?"):
        st.markdown(
            "Rounded votes, or votes without their last digit, still give the same winner every time. Somewhere one "
            "more vote tips the rounding, and the winner changes **for sure**: the ratio is infinite there, and who "
            "knows all other votes reads off the last one. Here a lot decides in every case, so that each result "
            "stays possible with and without you."
        )
    shown = found.assign(ratio=np.exp(found["log_ratio"].clip(-700, 700)))
    panels.table_behind(shown.drop(columns="log_ratio"), "The numbers behind these charts (other: after one voter)")


@st.fragment
def response(page: str) -> None:
    """Randomized response: what becomes of an answer."""
    key = f"{page}.response"
    left, right = st.columns([2, 5], gap="large")
    with left:
        size = lasting(st.slider, "Values to choose from (k)", f"{key}.k", 2, 10, 4)
        epsilon = epsilon_slider(key, "epsilon of one report")
        channel = ERRPH(size, epsilon=epsilon)
        matrix = choices.response_matrix(channel)
        truth, ratio = float(channel.matrix[0, 0]), f"e^{choices.response_loss(matrix):.3g}"
        figures({"A report is the truth": f"{100 * truth:.1f} %", "Largest ratio in a column": ratio}, beside=False)
        if st.button("Play the coin game", icon=":material/casino:", key=f"{key}.game", width="stretch"):
            shell.open_page("responses")
    with right:
        look(
            "every report is possible for every truth. Compare the cells of one column: the darkest and the brightest "
            f"differ by the factor e^epsilon = {math.exp(epsilon):.3g}, exactly."
        )
        panels.chart(charts.channel_matrix(matrix))
        near = 2 * choices.share_deviation(channel, 0.3, PEOPLE)
        central = 2 * noise_of("Laplace", epsilon, 0.0).deviation / PEOPLE
        st.markdown(
            f"**The price:** from {PEOPLE:,} such reports a share of 30 % is known to about **± {100 * near:.3g} "
            f"points**. A trusted curator who counts the same {PEOPLE:,} people and adds Laplace noise once, with the "
            f"same epsilon: about ± {100 * central:.2g} points."
        )
        assumed(
            f"everybody answers once, and tosses alone, with epsilon {epsilon:g}, without delta: it hides what you "
            "answer, from everybody, and not whether you take part. ±: two standard deviations of the tosses "
            "and of the noise; which people were asked is another matter."
        )
        panels.table_behind(matrix, "The numbers behind this chart")


@st.fragment
def beliefs(page: str) -> None:
    """Epsilon as odds, for any belief before."""
    key = f"{page}.odds"
    look("how many of 100 icons fill up: the surest that anybody can become who was 50:50 before.")
    epsilon = controls.epsilon_picker(key, options=EPSILONS)
    st.divider()
    left, right = st.columns([2, 5], gap="large")
    with left:
        label = "How sure is somebody about you before?"
        prior = lasting(st.slider, label, f"{key}.prior", 1, 99, 20, format="%d %%") / 100
        low, high = (float(choices.posterior(prior, sign * epsilon)) for sign in (-1, 1))
        st.markdown(
            f"Odds before: **{prior / (1 - prior):.3g}** to 1. An answer multiplies them by {math.exp(-epsilon):.3g} "
            f"at least and {math.exp(epsilon):.3g} at most. So afterwards: from **{100 * low:.3g} %** to "
            f"**{100 * high:.3g} %**."
        )
        assumed(
            "epsilon without delta; two possibilities that differ in your row only; the same beliefs about all "
            "other rows in both. "
            "What the others’ rows tell about people like you, a release may tell with or without you."
        )
    with right:
        chances = {"At least": low, "Before": prior, "At most": high}
        for place, (name, chance) in zip(st.columns(3), chances.items(), strict=True):
            icons = charts.odds_icons(chance, title=f"{name} {100 * chance:.3g} %")
            place.vega_lite_chart(charts.specification(icons), width="content", key=f"{key}.icons.{name}")
        grid = np.linspace(0, 1, 101)
        ends = {"low": choices.posterior(grid, -epsilon), "high": choices.posterior(grid, epsilon)}
        found = pd.DataFrame({"prior": grid, **ends})
        panels.chart(charts.belief(found, prior=prior))
        panels.table_behind(found, "The numbers behind this chart")
    epsilon_in_use.answered(epsilon)
