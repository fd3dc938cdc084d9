"""The basic mechanisms as live pictures: noise on a count, an election at random, randomized response, and odds.

Everything here is arithmetic on made-up numbers. No data are read and nothing is spent. What is drawn hangs on a seed
that a button alone changes, so that moving a widget shows the same draws at another setting.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import count_noise, shell
from dpcore.dashboard.demonstration import Demonstration, epsilon_slider, show, sides
from dpcore.dashboard.epsilon import odds_sentence
from dpcore.dashboard.pages.mechanisms import choices
from dpcore.dashboard.panels import epsilon_in_use
from dpcore.dashboard.widgets import choice, lasting, number_choice, seed_button
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import ERRPH
from dpcore.text import TENTHS, odds, percent

EPSILON, EPSILONS = phrase("Epsilon"), (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
DELTAS = (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
WINDOWS = (5, 15, 50, 150)
COUNT, DRAWN, PEOPLE = 100, 20, 1_000
NAMES = {
    "Laplace": phrase("Laplace: any number"),
    "Geometric": phrase("Geometric: whole numbers"),
    "Gaussian": phrase("Gaussian: the bell curve"),
}
VOTERS: dict[choices.Voter, str] = {
    "comes": phrase("One voter more comes"),
    "changes": phrase("One voter changes their mind"),
}
ELECTION = "30, 25, 8, 2"
noise_of = cache(count_noise.CountNoise)  # the Gaussian one takes a search for its standard deviation


def zoom(key: str) -> float:
    """How far from the truth charts go, whatever epsilon is, so that two epsilons can be compared."""
    look: Any = {"value": 15, "help": say("The charts show the same answers at every epsilon.")}
    label = say("Show answers within ±")
    return float(number_choice(st.select_slider, label, f"{key}.window", WINDOWS, **look))


def ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with its log ratios as ratios, without what pictures alone need."""
    found = frame.assign(ratio=np.exp(frame["log_ratio"].clip(-700, 700)))
    return found.drop(columns=["log_ratio", "limit_with", "limit_without"], errors="ignore")


@st.fragment
def noise(page: str) -> None:
    """Noise on a count in two worlds, and the ratio of the two."""
    key = f"{page}.noise"
    left, right = sides()
    with left:
        name = choice(st.radio, say("Mechanism"), f"{key}.mechanism", NAMES)
        epsilon, delta = epsilon_slider(key, EPSILON, EPSILONS), 0.0
        if name == "Gaussian":
            look: Any = {"value": 0.05, "help": say("In earnest: far below one in the number of people.")}
            delta = number_choice(st.select_slider, say("delta"), f"{key}.delta", DELTAS, **look)
        window = zoom(key)
        seed = seed_button(key, say("Draw {n} others", n=DRAWN))
    mechanism = noise_of(name, epsilon, delta)
    found = count_noise.worlds(mechanism, COUNT, window=window)
    room = 0.6 if mechanism.whole else 0.0
    drawn = count_noise.draws(mechanism, COUNT, seed, DRAWN)
    low, high = float(found["answer"].min()) - room, float(found["answer"].max()) + room
    guarantee = phrase("epsilon {epsilon:g}, without delta")
    keep = phrase("Each answer is at most exp(epsilon) = {factor:.3g} times as likely in one world as in the other.")
    if name == "Gaussian":
        keep = phrase(
            "Gaussian noise needs a delta: what one world has above exp(epsilon) = {factor:.3g} times the other "
            "(orange) sums to **{delta:g}**."
        )
        guarantee = phrase("({epsilon:g}, {delta:g}), with the smallest such noise")
    values = {"factor": math.exp(epsilon), "epsilon": epsilon, "delta": delta}
    shown = Demonstration(
        {
            say("Standard deviation"): f"{mechanism.deviation:.3g}",
            say("95% are within ±"): f"{mechanism.within():.3g}",
        },
        [
            charts.two_worlds(found, whole=mechanism.whole),
            charts.ratio_band(found, epsilon=epsilon, whole=mechanism.whole),
            charts.answer_strip(drawn, low=low, high=high),
        ],
        say(keep, **values),
        say(
            "A count of {count}, which you change by 1 (add or remove one person). Guarantee of one answer: "
            "{guarantee}. Dots: {n} answers of each world; only the button draws anew.",
            count=COUNT,
            guarantee=say(guarantee, **values),
            n=DRAWN,
        ),
        {say("Both worlds, answer by answer"): ratios(found)},
    )
    show(shown, left, right)


@st.fragment
def choosing(page: str) -> None:
    """The exponential mechanism with an election."""
    key = f"{page}.choosing"
    left, right = sides()
    with left:
        label = say("Votes for A, B, C and so on")
        text = lasting(st.text_input, label, f"{key}.votes", ELECTION, max_chars=80)
        epsilon = epsilon_slider(key, EPSILON, EPSILONS, 0.1)
        voter = choice(st.radio, say("And then"), f"{key}.voter", VOTERS)
    with right, shell.mendable():
        votes = choices.votes_from(text or "")
        names = [chr(ord("A") + index) for index in range(len(votes))]
        with left:
            label = say("… for") if voter == "comes" else say("… and is now for")
            chosen = lasting(st.selectbox, label, f"{key}.chosen:{len(votes)}", names)
        show(election(votes, epsilon, voter, names.index(chosen or "A")), left, right)


def election(votes: tuple[int, ...], epsilon: float, voter: choices.Voter, chosen: int) -> Demonstration:
    """Probabilities, and what one voter changes."""
    found = choices.election(votes, epsilon, voter, chosen)
    first = found.iloc[int(found["votes"].argmax())]
    neighbors = phrase("add or remove one voter")
    half = phrase("Whichever candidate gains a vote, no ratio exceeds exp({worst:.3g}), and none exp(epsilon/2).")
    if voter == "changes":
        half = phrase("Whichever vote is changed, no ratio exceeds exp({worst:.3g}), and none exp(epsilon).")
        neighbors = phrase("change one voter’s vote")
    return Demonstration(
        {say("{candidate} is selected", candidate=first["candidate"]): f"{100 * first['probability']:.3g}%"},
        [charts.election(found), charts.choice_ratios(found, epsilon=epsilon), charts.votes(found)],
        say("The candidate with most votes is likely to be selected, never sure. One vote shifts it only a little."),
        say(
            "A candidate’s score is the number of votes; weights are exp(epsilon · score / (2 Δ)) with Δ = 1. Epsilon "
            "{epsilon:g}, without delta; neighbors: {neighbors}. A second draw is charged again. Rounded votes protect "
            "nobody: one vote more tips them for sure, and the ratio is infinite there.",
            epsilon=epsilon,
            neighbors=say(neighbors),
        ),
        {say("Before, and after one voter (other)"): ratios(found)},
        [say(half, worst=choices.choice_loss(votes, epsilon, voter))],
    )


@st.fragment
def response(page: str) -> None:
    """Randomized response: what becomes of an answer, and what many are worth."""
    key = f"{page}.response"
    left, right = sides()
    with left:
        size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 4)
        epsilon = epsilon_slider(key, phrase("epsilon of one report"), EPSILONS)
    channel = ERRPH(size, epsilon=epsilon)
    matrix = choices.response_matrix(channel)
    shown = Demonstration(
        {
            say("A report is the truth"): f"{100 * channel.matrix[0, 0]:.1f}%",
            say("Largest ratio in a column"): f"{math.exp(choices.response_loss(matrix)):.3g}",
        },
        [charts.channel_matrix(matrix), charts.trust()],
        say(
            "Every report is possible for every truth: in a column, probabilities differ at most by exp(epsilon) = "
            "{factor:.3g}.",
            factor=math.exp(epsilon),
        ),
        say(
            "All people answer once, and each draws alone: epsilon {epsilon:g}, without delta, hides what you answer, "
            "not that you take part. ±: two standard deviations of the draws and of the noise.",
            epsilon=epsilon,
        ),
        {say("Probabilities of reports"): matrix},
        [
            say(
                "**What it costs:** from {people:,} reports a share of 30% is known to about **± {near:.3g} points**; "
                "from a trusted curator’s count with Laplace noise to about ± {central:.2g} points.",
                people=PEOPLE,
                near=200 * choices.share_deviation(channel, 0.3, PEOPLE),
                central=200 * noise_of("Laplace", epsilon, 0.0).deviation / PEOPLE,
            )
        ],
    )
    show(shown, left, right)


@st.fragment
def beliefs(page: str) -> None:
    """Epsilon as odds, for any belief before."""
    key = f"{page}.odds"
    left, right = sides()
    with left:
        epsilon = epsilon_slider(key, EPSILON, EPSILONS)
        label = say("How sure is someone about you before?")
        prior = lasting(st.slider, label, f"{key}.prior", 1, 99, 50, format="%d%%") / 100
    low, high = (float(choices.posterior(prior, sign * epsilon)) for sign in (-1, 1))

    def icons() -> None:
        chances = {phrase("At least"): low, phrase("Before"): prior, phrase("At most"): high}
        for place, (name, chance) in zip(st.columns(3), chances.items(), strict=True):
            picture = charts.odds_icons(chance, title=f"{say(name)} {100 * chance:.3g}%")
            place.vega_lite_chart(charts.specification(picture), width="content", key=f"{key}.icons.{name}")

    grid = np.linspace(0, 1, 101)
    found = pd.DataFrame(
        {"prior": grid, "low": choices.posterior(grid, -epsilon), "high": choices.posterior(grid, epsilon)}
    )
    shown = Demonstration(
        {say("50:50 before, at most after"): say("{share} sure", share=percent(odds(epsilon), TENTHS))},
        [icons, charts.belief(found, prior=prior)],
        odds_sentence(epsilon),
        say(
            "Epsilon without delta; two possibilities that differ in your row only; the same beliefs about all other "
            "rows. What other rows say of people like you, a release may tell with or without you."
        ),
        {say("Sure before, and at least and at most after"): found},
    )
    show(shown, left, right)
    epsilon_in_use.answered(epsilon)
