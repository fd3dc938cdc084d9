"""What one randomized report reveals, on screen: the paper's measures and sound ones.

No data are read.
"""

from functools import cache, partial
from math import sqrt

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.mechanisms import CORRECTED, PUBLISHED
from dpcore.dashboard.demonstration import (
    Demonstration,
    demonstration,
    epsilon_slider,
    share_slider,
)
from dpcore.dashboard.pages.mechanisms import report_privacy_numbers as numbers
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR, Warner
from dpcore.text import TENTHS, number, percent

CROSSING = (1 / sqrt(2), 2 - sqrt(2))
REPORTS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20, 25, 30, 40, 50)
SETS = {
    "a ~ N(1, 1), b ~ N(0, 1)": ((1.0, 1.0), (0.0, 1.0)),
    "a ~ N(2, 10), b ~ N(0, 5)": ((2.0, 10.0), (0.0, 5.0)),
    "a ~ N(1, 0.01), b ~ N(0, 1)": ((1.0, 0.01), (0.0, 1.0)),
}
MEAN, VARIANCE, BOUNDS = 5.0, 4.0, (0.0, 10.0)  # also written in the page's text
PEOPLE = 1_000


def largest_breach(channel: ERRPH | Warner) -> str:
    """Return the largest Breach (paper 004) of any value under `channel`, as a percentage."""
    return percent(float(numbers.breach(channel).max()), TENTHS)


@demonstration("mechanisms.measures")
def category_reports(key: str) -> Demonstration:
    """Return the demonstration of randomized reports about a category: one, and many."""
    size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 2)
    p0 = share_slider(say("Probability of a truthful answer (p0)"), f"{key}.p0", 0, 100, 50, 5)
    channel, frame = ERRPH(size, p0=p0), numbers.measure_curves(size=size)
    repeated = numbers.repeated_reports(channel, REPORTS)
    repeated["epsilon"] = repeated["epsilon"].map(number)
    first, second = (part for _, part in frame.groupby("measure", sort=False))
    curve = partial(charts.descriptions, against="setting", at=p0)
    right = percent(float(repeated["right"].iloc[-1]), TENTHS, certain=p0 == 1)
    return Demonstration(
        {
            say("Breach (the paper’s measure)"): largest_breach(channel),
            say("Best guess is right"): percent(numbers.best_guess(channel), TENTHS),
            say("Guess right without the report"): percent(1 / size, TENTHS),
            say("Epsilon"): number(float(channel.epsilon)),
        },
        [curve(first, crossing=CROSSING), charts.averaging(repeated, alone=1 / size), curve(second)],
        "Breach, the paper’s measure, depends on how a rule is worded, epsilon on what reports reveal: worded as "
        "Warner’s rule, the same reports have Breach {other} instead of {words}.",
        "RRPH: the truth with probability p0, else a coin toss. ERRPH: the same for k values. "
        "Warner: the truth with probability p, else the opposite. All values are equally frequent.",
        {say("Many reports of one person"): repeated, say("Numbers of the curves"): frame},
        "**Asked again and again:** the most frequent of 50 fresh reports is the truth with "
        "probability {right}. The remedy: toss once, and give the same report ever after.",
        {"other": largest_breach(Warner(p=(1 + p0) / 2)), "words": largest_breach(RRPH(p0=p0)), "right": right},
    )


@demonstration("mechanisms.numbers")
def number_reports(key: str) -> Demonstration:
    """Return the demonstration of randomized reports about a number: widths and tails."""
    sets = lasting(st.selectbox, say("As published: y = a·x + b"), f"{key}.sets", list(SETS))
    epsilon = epsilon_slider(key, phrase("Corrected: Laplace noise with epsilon"))
    (published, corrected), frame = compare_noise(sets, epsilon)
    of_mean, of_variance = numbers.standard_errors(*SETS[sets], (MEAN, VARIANCE), PEOPLE)
    return Demonstration(
        {
            say("95% interval width, as claimed"): f"{numbers.claimed_width(VARIANCE):.2f}",
            say("95% interval width after the report, as published"): f"{published:.2f}",
            say("95% interval width after the report, corrected"): f"{corrected:.2f}",
            say("Standard error of the mean"): f"{of_mean:.2f}",
            say("Standard error of the variance, as published"): f"{of_variance:.2f}",
        },
        [charts.tails(frame, bound=epsilon)],
        "As published, no epsilon holds: reports far from 0 give the true number away.",
        "True numbers are normal with mean 5 and variance 4; the corrected rule clips them to "
        "0..10. 95% intervals hold 95% of them; the paper's width ignores the report.",
        {say("Tail probabilities of both rules"): frame},
        "**95% widths compared:** for DTCRD’s normal noise of the same variance, 7.84 is claimed as well, and 5.54 "
        "is left after the report; for uniform noise, 6.58 and 4.75. **Errors** (of {people:,} reports) rise with "
        "the variance of a. They fall with the mean of a, where the paper says that they rise.",
        {"people": PEOPLE},
    )


@cache
def compare_noise(sets: str, epsilon: float) -> tuple[list[float], pd.DataFrame]:
    """Return the posterior widths of two kinds of noise on a number, and their tails.

    The first is the published y = a x + b with the sets of a and b named `sets`, the second the
    corrected Laplace noise at `epsilon`. A width is that of the set that holds the number with 95%
    probability, given its report; tails compare far reports of the two bounds of the number.
    """
    low, high = BOUNDS
    rules = {PUBLISHED: numbers.linear_randomizer(*SETS[sets]), CORRECTED: TRR(lower=low, upper=high, epsilon=epsilon)}
    left = [numbers.posterior_width(rule, MEAN, VARIANCE) for rule in rules.values()]
    tails = {name: numbers.tail_ratios(rule, low, high, range(21)) for name, rule in rules.items()}
    return left, pd.concat(tails, names=["series"]).reset_index("series")
