"""The basic mechanisms as live pictures: noise on a count, an election at random, randomized response, and odds.

Everything here is arithmetic on made-up numbers. No data are read and nothing is spent. What is
drawn hangs on a seed that a button alone changes, so that moving a widget shows the same draws at
another setting.
"""

import math
from functools import partial
from string import ascii_uppercase
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import count_noise
from dpcore.dashboard.demonstration import Demonstration, demonstration, epsilon_slider, share_slider
from dpcore.dashboard.epsilon import odds_sentence
from dpcore.dashboard.pages.mechanisms import choices
from dpcore.dashboard.panels import epsilon_in_use
from dpcore.dashboard.widgets import choice, lasting, number_choice, seed_button
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import ERRPH
from dpcore.text import TENTHS, odds, percent

DELTAS = (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
WINDOWS = (5, 15, 50, 150)
COUNT, DRAWN, PEOPLE = 100, 20, 1_000
NAMES = {
    "Laplace": phrase("Laplace: any number"),
    "Geometric": phrase("Geometric: whole numbers"),
    "Gaussian": phrase("Gaussian: the bell curve"),
}
VOTERS = {"comes": phrase("A voter comes"), "changes": phrase("A voter changes their mind")}
BOUNDS = {
    "comes": phrase("Whichever vote comes, no ratio exceeds exp(epsilon/2): one score grows."),
    "changes": phrase("Whichever vote is changed, no ratio exceeds exp(epsilon): two scores move."),
}


def zoom(key: str) -> float:
    """How far from the truth charts go, whatever epsilon is, so that two epsilons can be compared."""
    look: Any = {"value": 15, "help": say("The charts show the same answers at every epsilon.")}
    label = say("Show answers within ±")
    return float(number_choice(st.select_slider, label, f"{key}.window", WINDOWS, **look))


@demonstration("mechanisms.noise")
def noise(key: str) -> Demonstration:
    """Noise on a count in two worlds, and the ratio of the two."""
    name = choice(st.radio, say("Mechanism"), f"{key}.mechanism", NAMES)
    epsilon, delta = epsilon_slider(key), 0.0
    keep = phrase(
        "Each answer is at most exp(epsilon) = {factor:.3g} times as likely in one world as in the "
        "other, without delta."
    )
    if name == "Gaussian":
        look: Any = {"value": 0.05, "help": say("In earnest: far below 1 / number of people.")}
        delta = number_choice(st.select_slider, say("delta"), f"{key}.delta", DELTAS, **look)
        keep = phrase(
            "Gaussian noise needs a delta: what one world has above exp(epsilon) = {factor:.3g} "
            "times the other (orange) sums to **{delta:g}**, with the smallest such noise."
        )
    window = zoom(key)
    seed = seed_button(key, say("Draw {n} others", n=DRAWN))
    mechanism = count_noise.CountNoise(name, epsilon, delta)
    found = count_noise.world_densities(mechanism, COUNT, window=window)
    drawn = count_noise.sample_worlds(mechanism, COUNT, seed, DRAWN)
    edge = window + 0.6 * mechanism.whole
    return Demonstration(
        {say("95% are within ±"): f"{mechanism.quantile(0.975):.3g}"},
        [
            charts.two_worlds(found, whole=mechanism.whole),
            charts.ratio_band(found, epsilon=epsilon, whole=mechanism.whole),
            charts.answer_strip(drawn, low=COUNT - edge, high=COUNT + 1 + edge),
        ],
        keep,
        "A count that you change by 1 (add or remove one person). Dots: answers of each world.",
        {say("Both worlds, answer by answer"): found[["answer", "without", "with"]]},
        values={"factor": math.exp(epsilon), "delta": delta},
    )


@demonstration("mechanisms.choosing")
def choosing(key: str) -> Demonstration:
    """The exponential mechanism with an election: probabilities, and what one voter changes."""
    label = say("Votes for A, B, C and so on")
    text = lasting(st.text_input, label, f"{key}.votes", "30, 25, 8, 2", max_chars=80)
    epsilon = epsilon_slider(key, usual=0.1)
    voter = choice(st.radio, say("And then"), f"{key}.voter", VOTERS)
    votes = choices.votes_from(text or "")
    names = list(ascii_uppercase[: len(votes)])
    chosen = lasting(st.selectbox, say("Who gains the vote"), f"{key}.chosen:{len(votes)}", names)
    found = choices.election(votes, epsilon, voter, names.index(chosen or "A"))
    return Demonstration(
        {},
        [charts.election(found), charts.choice_ratios(found, epsilon=epsilon), charts.votes(found)],
        "The most voted candidate is likely to be selected, not sure. One vote shifts it a little.",
        "Weights are exp(epsilon · votes / 2): epsilon without delta. A second draw is charged "
        "again. Rounded votes protect no one: one vote more can tip them for sure.",
        {say("Before, and after one voter (other)"): found.drop(columns="log_ratio")},
        BOUNDS[voter],
    )


@demonstration("mechanisms.response")
def response(key: str) -> Demonstration:
    """Randomized response: what becomes of an answer, and what many are worth."""
    size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 4)
    epsilon = epsilon_slider(key, phrase("Epsilon of one report"))
    channel = ERRPH(size, epsilon=epsilon)
    matrix = choices.response_matrix(channel)
    near = 200 * choices.share_deviation(channel, 0.3, PEOPLE)
    central = 200 * count_noise.CountNoise("Laplace", epsilon).deviation / PEOPLE
    return Demonstration(
        {say("A report is the truth"): f"{100 * channel.matrix[0, 0]:.1f}%"},
        [charts.channel_matrix(matrix), charts.trust()],
        "Any report fits any truth: ratios in a column are at most exp(epsilon) = {factor:.3g}.",
        "All people answer once. Epsilon, without delta, hides what you answer, not that you take "
        "part. ±: two standard deviations of the draws and of the noise.",
        {say("Probabilities of reports"): matrix},
        "**What it costs:** from 1,000 reports a share of 30% is known to **± {near:.3g} points**; "
        "from a trusted curator’s count with Laplace noise to ± {central:.2g} points.",
        {"factor": math.exp(epsilon), "near": near, "central": central},
    )


@demonstration("mechanisms.odds")
def beliefs(key: str) -> Demonstration:
    """Epsilon as odds, for any belief before."""
    epsilon = epsilon_slider(key)
    prior = share_slider(say("How sure is someone about you before?"), f"{key}.prior", 1, 99, 50)
    low, high = (float(choices.posterior(prior, sign * epsilon)) for sign in (-1, 1))

    def icons() -> None:
        chances = {say("At least"): low, say("Before"): prior, say("At most"): high}
        for cell, (name, chance) in zip(st.columns(3), chances.items(), strict=True):
            picture = charts.odds_icons(chance, title=f"{name} {100 * chance:.3g}%")
            cell.vega_lite_chart(charts.specification(picture), width="content")

    found = pd.DataFrame({"prior": np.linspace(0, 1, 101)})
    for name, sign in (("low", -1), ("high", 1)):
        found[name] = choices.posterior(found["prior"], sign * epsilon)
    answers = partial(epsilon_in_use.draw_answers, epsilon)
    return Demonstration(
        {say("50:50 before, at most after"): percent(odds(epsilon), TENTHS)},
        [icons, charts.belief(found, prior=prior), answers],
        odds_sentence(epsilon),
        "Epsilon without delta; two possibilities that differ in your row only; the same beliefs "
        "about all others. What others say of people like you, a release may tell without you.",
        {say("Sure before, and at least and at most after"): found},
    )
