"""The basic mechanisms as live pictures: noise on a count, an election by lot, randomized response, and odds.

Everything here is arithmetic on made-up numbers. No data are read and nothing is spent. What is drawn hangs on a seed
that a button alone changes, so that moving a widget shows the same lots at another setting.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import count_noise, panels, shell
from dpcore.dashboard.epsilon import epsilon_picker
from dpcore.dashboard.pages.mechanisms import choices
from dpcore.dashboard.panels import epsilon_in_use
from dpcore.dashboard.widgets import caption, choice, figures, lasting, markdown, number_choice, seed_button
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import ERRPH

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
DELTAS = (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
WINDOWS = (5, 15, 50, 150)
DRAWN, PEOPLE = 20, 1_000
NAMES = {
    "Laplace": phrase("Laplace: any number"),
    "Geometric": phrase("Geometric: whole numbers"),
    "Gaussian": phrase("Gaussian: the bell curve"),
}
VOTERS: dict[choices.Voter, str] = {
    "comes": phrase("One voter more comes"),
    "changes": phrase("One voter changes their mind"),
}
HEADINGS = (  # of the tables behind pictures
    phrase("answer"),
    phrase("answers"),
    phrase("average"),
    phrase("candidate"),
    phrase("column"),
    phrase("count"),
    phrase("deviation"),
    phrase("distance"),
    phrase("each"),
    phrase("epsilon"),
    phrase("epsilon_total"),
    phrase("from"),
    phrase("high"),
    phrase("inside"),
    phrase("limit_with"),
    phrase("limit_without"),
    phrase("log_ratio"),
    phrase("loss"),
    phrase("low"),
    phrase("number"),
    phrase("once"),
    phrase("others"),
    phrase("outside"),
    phrase("part"),
    phrase("person"),
    phrase("prior"),
    phrase("probability"),
    phrase("probability_other"),
    phrase("ratio"),
    phrase("released"),
    phrase("reported"),
    phrase("share"),
    phrase("shared"),
    phrase("split"),
    phrase("to"),
    phrase("truth"),
    phrase("votes"),
    phrase("votes_other"),
    phrase("with"),
    phrase("without"),
    phrase("world"),
    phrase("yours"),
)
ELECTION, SURE = "30, 25, 8, 2", 0.9999


def epsilon_slider(key: str, label: str = phrase("epsilon"), default: float = 1.0) -> float:
    """Epsilon on a logarithmic scale, small."""
    note = say("Left: more private. Right: more accurate.")
    found: float = number_choice(st.select_slider, say(label), f"{key}.epsilon", EPSILONS, value=default, help=note)
    return found


def zoom(key: str) -> float:
    """How far from the truth charts go, whatever epsilon is, so that two epsilons can be told apart."""
    label = say("Show answers within ±")
    note = say("The charts show the same answers at every epsilon. Zoom in or out here.")
    return float(number_choice(st.select_slider, label, f"{key}.window", WINDOWS, value=15, help=note))


def look(message: str, /, **values: Any) -> None:
    """What there is to see."""
    markdown(":material/visibility: **Look:** {text}", text=say(message, **values))


def assumed(message: str, /, **values: Any) -> None:
    """What the picture takes for granted."""
    caption("**Assumed:** {text}", text=say(message, **values))


noise_of = cache(count_noise.CountNoise)  # the Gaussian one takes a search for its standard deviation


@st.fragment
def noise(page: str) -> None:
    """Noise on a count in two worlds, and the ratio of the two."""
    key = f"{page}.noise"
    left, right = st.columns([2, 5], gap="large")
    with left:
        name = choice(st.radio, say("Mechanism"), f"{key}.mechanism", NAMES)
        epsilon, delta = epsilon_slider(key), 0.0
        if name == "Gaussian":
            note = say("Large enough to be seen here. In earnest it should be far below one in the number of people.")
            delta = number_choice(st.select_slider, say("delta"), f"{key}.delta", DELTAS, value=0.05, help=note)
        count = int(lasting(st.number_input, say("True count without you"), f"{key}.count", 0, 1_000_000, 100))
        window = zoom(key)
        mechanism = noise_of(name, epsilon, delta)
        seed = seed_button(key, say("Draw {n} others", n=DRAWN))
        shown = {say("Standard deviation"): mechanism.deviation, say("95% are within ±"): mechanism.within()}
        figures({label: f"{value:.3g}" for label, value in shown.items()}, beside=False)
    found = count_noise.worlds(mechanism, count, window=window)
    room = 0.6 if mechanism.whole else 0.0
    low, high = float(found["answer"].min()) - room, float(found["answer"].max()) + room
    drawn = count_noise.draws(mechanism, count, seed, DRAWN)
    with right:
        guarantee = told(mechanism)
        panels.chart(charts.two_worlds(found, whole=mechanism.whole))
        panels.chart(charts.ratio_band(found, epsilon=epsilon, whole=mechanism.whole))
        panels.chart(charts.answer_strip(drawn, low=low, high=high))
        caption(
            "{n} answers of each world. The same luck at every setting; only the button draws anew. From one dot of "
            "unknown color, could you tell its row?",
            n=DRAWN,
        )
        assumed(
            "one count, which you change by 1 (add or remove one person), and numbers without rounding. Guarantee "
            "of one answer: {guarantee}.",
            guarantee=guarantee,
        )
        shown_here = found.assign(ratio=np.exp(found["log_ratio"].clip(-700, 700)))
        panels.own_table_behind(shown_here, say("The numbers behind these charts"))


def told(mechanism: count_noise.CountNoise) -> str:
    """Say what to see of a mechanism; its guarantee."""
    epsilon, factor = mechanism.epsilon, math.exp(mechanism.epsilon)
    if mechanism.name == "Gaussian":
        look(
            "in the tails the ratio leaves the band. What one world has above exp(epsilon) = {factor:.3g} times "
            "the other (orange) sums to **delta = {delta:g}**; an answer is outside the band with probability "
            "{outside:.3g}. Gaussian noise always needs a delta: no epsilon holds **without one**.",
            factor=factor,
            delta=mechanism.delta,
            outside=mechanism.outside,
        )
        smallest = phrase("({epsilon:g}, {delta:g}), with the smallest such noise")
        return say(smallest, epsilon=epsilon, delta=mechanism.delta)
    text = phrase(
        "the ratio of the two worlds stays between {least:.3g} and {factor:.3g}, which are 1/exp(epsilon) and "
        "exp(epsilon): it is flat below and above both counts. No answer tells more about you."
    )
    if mechanism.whole:
        text = phrase(
            "the ratio of the two worlds stays between {least:.3g} and {factor:.3g}, which are 1/exp(epsilon) and "
            "exp(epsilon): at every whole number it is {factor:.3g} or one over it, exactly. No answer tells more "
            "about you."
        )
    look(text, least=1 / factor, factor=factor)
    return say("epsilon {epsilon:g}, without delta", epsilon=epsilon)


@st.fragment
def choosing(page: str) -> None:
    """The exponential mechanism with an election."""
    key = f"{page}.choosing"
    left, right = st.columns([2, 5], gap="large")
    with left:
        note = say("The candidates are called A, B, C and so on. The example is ours.")
        label = say("Votes, with commas between them")
        text = lasting(st.text_input, label, f"{key}.votes", ELECTION, max_chars=80, help=note)
        epsilon = epsilon_slider(key, default=0.1)
        voter = choice(st.radio, say("And then"), f"{key}.voter", VOTERS)
    with right, shell.mendable():
        votes = choices.votes_from(text or "")
        names = [chr(ord("A") + place) for place in range(len(votes))]
        with left:
            label = say("… for") if voter == "comes" else say("… and is now for")
            chosen = lasting(st.selectbox, label, f"{key}.chosen:{len(votes)}", names)
        result(votes, epsilon, voter, names.index(chosen or "A"))


def result(votes: tuple[int, ...], epsilon: float, voter: choices.Voter, chosen: int) -> None:
    """Probabilities, and what one voter changes."""
    found = choices.election(votes, epsilon, voter, chosen)
    first = found.iloc[int(found["votes"].argmax())]
    chance = f"{first['probability']:.4g}" if first["probability"] < SURE else say("over {sure}", sure=SURE)
    look(
        "nobody is elected for sure. **{candidate}** has most votes and is drawn with probability {chance}; every "
        "vote shifts these probabilities a little, and none tips the result.",
        candidate=first["candidate"],
        chance=chance,
    )
    places = st.columns([2, 3], gap="medium")
    with places[0]:
        panels.chart(charts.votes(found))
    with places[1]:
        panels.chart(charts.election(found))
    panels.chart(charts.choice_ratios(found, epsilon=epsilon))
    caption("Bars and numbers: before. Hollow diamonds: after one voter.")
    worst = choices.choice_loss(votes, epsilon, voter)
    if voter == "comes":
        half = say(
            "Whoever the voter is for, no ratio exceeds exp({worst:.3g}): one more vote moves one score, and only up, "
            "so that even exp(epsilon/2) = {most:.4g} is never exceeded.",
            worst=worst,
            most=math.exp(epsilon / 2),
        )
    else:
        half = say(
            "Whoever changes to whom, no ratio exceeds exp({worst:.3g}): one score goes up and another down, which "
            "takes more than half of epsilon, and at most exp(epsilon) = {most:.4g}.",
            worst=worst,
            most=math.exp(epsilon),
        )
    st.markdown(half)
    assumed(
        "a candidate’s score is the number of votes; weights are exp(epsilon · score / (2 Δ)) with **Δ = 1**, "
        "because everybody votes once and for one candidate (with m votes for the same one, Δ would be m). "
        "Epsilon {epsilon:g}, without delta; neighbors: {neighbors}. One winner is drawn; a second draw is "
        "charged epsilon again.",
        epsilon=epsilon,
        neighbors=say("add or remove one voter") if voter == "comes" else say("change one voter’s vote"),
    )
    with st.expander(say("Why is this not rounding?")):
        markdown(
            "Rounded votes, or votes without their last digit, still give the same winner every time. Somewhere "
            "one more vote tips the rounding, and the winner changes **for sure**: the ratio is infinite there, "
            "and who knows all other votes reads off the last one. Here a lot decides in every case, so that each "
            "result stays possible with and without you."
        )
    shown = found.assign(ratio=np.exp(found["log_ratio"].clip(-700, 700)))
    title = say("The numbers behind these charts (other: after one voter)")
    panels.own_table_behind(shown.drop(columns="log_ratio"), title)


@st.fragment
def response(page: str) -> None:
    """Randomized response: what becomes of an answer."""
    key = f"{page}.response"
    left, right = st.columns([2, 5], gap="large")
    with left:
        size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 4)
        epsilon = epsilon_slider(key, phrase("epsilon of one report"))
        channel = ERRPH(size, epsilon=epsilon)
        matrix = choices.response_matrix(channel)
        truth, ratio = float(channel.matrix[0, 0]), f"{math.exp(choices.response_loss(matrix)):.3g}"
        shown = {say("A report is the truth"): f"{100 * truth:.1f}%", say("Largest ratio in a column"): ratio}
        figures(shown, beside=False)
        if st.button(say("Play the coin game"), icon=":material/casino:", key=f"{key}.game", width="stretch"):
            shell.open_page("responses")
    with right:
        look(
            "every report is possible for every truth. Compare the cells of one column: the darkest and the "
            "brightest differ by the factor exp(epsilon) = {factor:.3g}, exactly.",
            factor=math.exp(epsilon),
        )
        panels.chart(charts.channel_matrix(matrix))
        near = 2 * choices.share_deviation(channel, 0.3, PEOPLE)
        central = 2 * noise_of("Laplace", epsilon, 0.0).deviation / PEOPLE
        markdown(
            "**The price:** from {people:,} such reports a share of 30% is known to about **± {near:.3g} points**. A "
            "trusted curator who counts the same {people:,} people and adds Laplace noise once, with the same epsilon: "
            "about ± {central:.2g} points.",
            people=PEOPLE,
            near=100 * near,
            central=100 * central,
        )
        assumed(
            "everybody answers once, and tosses alone, with epsilon {epsilon:g}, without delta: it hides what you "
            "answer, from everybody, and not whether you take part. ±: two standard deviations of the tosses and "
            "of the noise; which people were asked is another matter.",
            epsilon=epsilon,
        )
        panels.own_table_behind(matrix, say("The numbers behind this chart"))


@st.fragment
def beliefs(page: str) -> None:
    """Epsilon as odds, for any belief before."""
    key = f"{page}.odds"
    look("how many of 100 icons fill up: the surest that anybody can become who was 50:50 before.")
    epsilon = epsilon_picker(key, options=EPSILONS)
    st.divider()
    left, right = st.columns([2, 5], gap="large")
    with left:
        label = say("How sure is somebody about you before?")
        prior = lasting(st.slider, label, f"{key}.prior", 1, 99, 20, format="%d%%") / 100
        low, high = (float(choices.posterior(prior, sign * epsilon)) for sign in (-1, 1))
        markdown(
            "Odds before: **{odds:.3g}** to 1. An answer multiplies them by {least:.3g} at least and {most:.3g} at "
            "most. So afterwards: from **{low:.3g}%** to **{high:.3g}%**.",
            odds=prior / (1 - prior),
            least=math.exp(-epsilon),
            most=math.exp(epsilon),
            low=100 * low,
            high=100 * high,
        )
        assumed(
            "epsilon without delta; two possibilities that differ in your row only; the same beliefs about all "
            "other rows in both. What the others’ rows tell about people like you, a release may tell with or "
            "without you."
        )
    with right:
        chances = {phrase("At least"): low, phrase("Before"): prior, phrase("At most"): high}
        for place, (name, chance) in zip(st.columns(3), chances.items(), strict=True):
            icons = charts.odds_icons(chance, title=f"{say(name)} {100 * chance:.3g}%")
            place.vega_lite_chart(charts.specification(icons), width="content", key=f"{key}.icons.{name}")
        grid = np.linspace(0, 1, 101)
        ends = {"low": choices.posterior(grid, -epsilon), "high": choices.posterior(grid, epsilon)}
        found = pd.DataFrame({"prior": grid, **ends})
        panels.chart(charts.belief(found, prior=prior))
        panels.own_table_behind(found, say("The numbers behind this chart"))
    epsilon_in_use.answered(epsilon)
