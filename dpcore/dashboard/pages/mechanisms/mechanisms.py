"""The basic mechanisms on screen: noise on a count, selection, randomized response, and odds.

All of it is arithmetic on made-up numbers. No data are read and nothing is spent. A button alone
changes the seed of the draws, so other controls show the same draws at another setting.
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
from dpcore.dashboard.demonstration import (
    Demonstration,
    demonstration,
    epsilon_slider,
    share_slider,
)
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
VOTERS = {"comes": phrase("One voter is added"), "changes": phrase("One voter changes their vote")}
BOUNDS = {
    "comes": phrase("Whichever vote is added, no ratio of probabilities exceeds exp(epsilon/2): only one score grows."),
    "changes": phrase("Whichever vote changes, no ratio of probabilities exceeds exp(epsilon): two scores change."),
}


def draw_zoom(key: str) -> float:
    """Draw the choice of how far the charts reach on either side of the true count; return that.

    The half-width does not depend on epsilon, so that charts at two epsilons can be compared.
    """
    look: Any = {"value": 15, "help": say("Charts show the same range at every epsilon.")}
    label = say("Show answers within ± of the count")
    return float(number_choice(st.select_slider, label, f"{key}.window", WINDOWS, **look))


@demonstration("mechanisms.noise")
def additive_noise(key: str) -> Demonstration:
    """Return the demonstration of noise on a count in two worlds, with their density ratio."""
    name = choice(st.radio, say("Mechanism"), f"{key}.mechanism", NAMES)
    epsilon, delta = epsilon_slider(key), 0.0
    keep = phrase(
        "Each answer is at most exp(epsilon) = {factor:.3g} times as likely on one data set as on "
        "the neighboring one, without delta."
    )
    if name == "Gaussian":
        look: Any = {"value": 0.05, "help": say("Use a delta far below 1 / number of people.")}
        delta = number_choice(st.select_slider, say("delta"), f"{key}.delta", DELTAS, **look)
        keep = phrase(
            "Gaussian noise needs a delta: what one world has above exp(epsilon) = {factor:.3g} "
            "times the other (orange) sums to **{delta:g}**. No smaller noise has this delta."
        )
    window = draw_zoom(key)
    seed = seed_button(key, say("Draw {n} new answers", n=DRAWN))
    mechanism = count_noise.CountNoise(name, epsilon, delta)
    found = count_noise.world_densities(mechanism, COUNT, window=window)
    drawn = count_noise.sample_worlds(mechanism, COUNT, seed, DRAWN)
    edge = window + 0.6 * mechanism.whole
    return Demonstration(
        {say("95% of the noise is within ±"): f"{mechanism.quantile(0.975):.3g}"},
        [
            charts.two_worlds(found, whole=mechanism.whole),
            charts.ratio_band(found, epsilon=epsilon, whole=mechanism.whole),
            charts.answer_strip(drawn, low=COUNT - edge, high=COUNT + 1 + edge),
        ],
        keep,
        "Your row changes the count by 1 (add or remove one person). Dots: answers of both worlds.",
        {say("Probability of each answer in both worlds"): found[["answer", "without", "with"]]},
        values={"factor": math.exp(epsilon), "delta": delta},
    )


@demonstration("mechanisms.choosing")
def exponential_mechanism(key: str) -> Demonstration:
    """Return the demonstration of the exponential mechanism on votes that one voter changes."""
    label = say("Votes for A, B, C and so on")
    text = lasting(st.text_input, label, f"{key}.votes", "30, 25, 8, 2", max_chars=80)
    epsilon = epsilon_slider(key, usual=0.1)
    voter = choice(st.radio, say("Change between the two worlds"), f"{key}.voter", VOTERS)
    votes = choices.parse_votes(text or "")
    names = list(ascii_uppercase[: len(votes)])
    chosen = lasting(st.selectbox, say("Candidate who gains the vote"), f"{key}.chosen:{len(votes)}", names)
    found = choices.election(votes, epsilon, voter, names.index(chosen or "A"))
    return Demonstration(
        {},
        [charts.election(found), charts.choice_ratios(found, epsilon=epsilon), charts.votes(found)],
        "The candidate with most votes is the likeliest. One vote changes probabilities a little.",
        "Weights exp(epsilon · votes / 2) give epsilon without delta. A second draw is charged "
        "again. Rounding votes protects no one: one more vote can change the result for sure.",
        {say("Votes and probabilities before and after one voter's change (other)"): found.drop(columns="log_ratio")},
        BOUNDS[voter],
    )


@demonstration("mechanisms.response")
def randomized_response(key: str) -> Demonstration:
    """Return the demonstration of randomized response: the channel, and the error of a share."""
    size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 4)
    epsilon = epsilon_slider(key, phrase("Epsilon of one report"))
    channel = ERRPH(size, epsilon=epsilon)
    matrix = choices.response_matrix(channel)
    near = 200 * choices.share_deviation(channel, 0.3, PEOPLE)
    central = 200 * count_noise.CountNoise("Laplace", epsilon).deviation / PEOPLE
    return Demonstration(
        {say("Probability that a report is the truth"): f"{100 * channel.matrix[0, 0]:.1f}%"},
        [charts.channel_matrix(matrix), charts.trust()],
        "Any true value can give any report, with probabilities within a factor of exp(epsilon) = {factor:.3g}.",
        "Every person answers once. Epsilon (without delta) protects what you answer, not that "
        "you take part. ± stands for two standard deviations.",
        {say("Probability of each report, by true value"): matrix},
        "**The cost of local privacy:** 1,000 reports show a share of 30% to **± {near:.3g} "
        "percentage points**; a trusted curator’s count with Laplace noise to ± {central:.2g}.",
        {"factor": math.exp(epsilon), "near": near, "central": central},
    )


@demonstration("mechanisms.odds")
def beliefs(key: str) -> Demonstration:
    """Return the demonstration of epsilon as a bound on what anyone believes about a person."""
    epsilon = epsilon_slider(key)
    prior = share_slider(say("How sure is someone about you before the release?"), f"{key}.prior", 1, 99, 50)
    low, high = (float(choices.posterior(prior, sign * epsilon)) for sign in (-1, 1))

    def draw_icons() -> None:
        """Draw the belief before the release, and its two limits after it, as icon charts."""
        chances = {say("Belief at least"): low, say("Belief before"): prior, say("Belief at most"): high}
        for cell, (name, chance) in zip(st.columns(3), chances.items(), strict=True):
            picture = charts.odds_icons(chance, title=f"{name} {100 * chance:.3g}%")
            cell.vega_lite_chart(charts.specification(picture), width="content")

    found = pd.DataFrame({"prior": np.linspace(0, 1, 101)})
    for name, sign in (("low", -1), ("high", 1)):
        found[name] = choices.posterior(found["prior"], sign * epsilon)
    answers = partial(epsilon_in_use.draw_answers, epsilon)
    return Demonstration(
        {say("Belief after the release, at most (50% before)"): percent(odds(epsilon), TENTHS)},
        [draw_icons, charts.belief(found, prior=prior), answers],
        odds_sentence(epsilon),
        "Epsilon without delta; the two possibilities differ in your row only. Even without your "
        "row, a release may tell what is typical of people like you.",
        {say("Beliefs before the release, and their limits after it"): found},
    )
