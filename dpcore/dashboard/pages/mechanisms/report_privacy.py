"""What one report gives away, by the paper's measures and by honest ones; averaging; numbers. No data at all."""

from functools import cache, partial
from math import sqrt

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.mechanisms import CORRECTED, PUBLISHED
from dpcore.dashboard.demonstration import Demonstration, demonstration, epsilon_slider, share_slider
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
MEAN, VARIANCE, BOUNDS = 5.0, 4.0, (0.0, 10.0)  # the page says them
PEOPLE = 1_000


def breach(channel: ERRPH | Warner) -> str:
    """The largest Breach of a value."""
    return percent(float(numbers.breach(channel).max()), TENTHS)


@demonstration("mechanisms.measures")
def categories(key: str) -> Demonstration:
    """Measures of reports about categories, of one and of many of the same person."""
    size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 2)
    p0 = share_slider(say("Share of answers that count (p0)"), f"{key}.p0", 0, 100, 50, 5)
    channel, frame = ERRPH(size, p0=p0), numbers.descriptions(size=size)
    repeated = numbers.averaging(channel, REPORTS)
    repeated["epsilon"] = repeated["epsilon"].map(number)
    first, second = (part for _, part in frame.groupby("measure", sort=False))
    curve = partial(charts.descriptions, against="setting", at=p0)
    right = percent(float(repeated["right"].iloc[-1]), TENTHS, certain=p0 == 1)
    return Demonstration(
        {
            say("Breach (the paper’s measure)"): breach(channel),
            say("Best guess is right"): percent(numbers.best_guess(channel), TENTHS),
            say("… without the report"): percent(1 / size, TENTHS),
            say("Epsilon"): number(float(channel.epsilon)),
        },
        [curve(first, crossing=CROSSING), charts.averaging(repeated, alone=1 / size), curve(second)],
        "Breach measures words, epsilon what a report reveals: told in Warner’s words, the same "
        "reports have Breach {other} instead of {words}.",
        "RRPH: the truth with probability p0, otherwise a toss. ERRPH: the same for k values. "
        "Warner: the truth with probability p, or the opposite. All values are equally frequent.",
        {say("Many reports of one person"): repeated, say("The curves"): frame},
        "**Asked again and again:** the most frequent of 50 fresh reports is the truth with "
        "probability {right}. The remedy: toss once, and give the same report ever after.",
        {"other": breach(Warner(p=(1 + p0) / 2)), "words": breach(RRPH(p0=p0)), "right": right},
    )


@demonstration("mechanisms.numbers")
def widths(key: str) -> Demonstration:
    """Reports about numbers: the width that is claimed, the one that is left, and the tails."""
    sets = lasting(st.selectbox, say("As published: y = a·x + b"), f"{key}.sets", list(SETS))
    epsilon = epsilon_slider(key, phrase("Corrected: Laplace noise with epsilon"))
    (published, corrected), frame = noise_kinds(sets, epsilon)
    of_mean, of_variance = numbers.standard_errors(*SETS[sets], (MEAN, VARIANCE), PEOPLE)
    return Demonstration(
        {
            say("Width, as claimed"): f"{numbers.claimed_width(VARIANCE):.2f}",
            say("Width left, as published"): f"{published:.2f}",
            say("Width left, corrected"): f"{corrected:.2f}",
            say("Standard error of the mean"): f"{of_mean:.2f}",
            say("… of the variance, as published"): f"{of_variance:.2f}",
        },
        [charts.tails(frame, bound=epsilon)],
        "As published no epsilon holds: far reports give the number away.",
        "True numbers are normal with mean 5 and variance 4; the corrected rule bounds them by 0 "
        "and 10. Widths hold 95% of them; the paper takes the width before any report.",
        {say("The tails of both rules"): frame},
        "**Widths compared:** DTCRD’s normal noise of the same variance has 7.84 as well, and leaves "
        "5.54; uniform noise has 6.58, and leaves 4.75. **Errors** (of {people:,} reports) rise with the "
        "variance of a; they fall with its mean, where the paper says that they rise.",
        {"people": PEOPLE},
    )


@cache
def noise_kinds(sets: str, epsilon: float) -> tuple[list[float], pd.DataFrame]:
    """The widths that both kinds of noise leave, and the tails of the numbers at the two bounds."""
    low, high = BOUNDS
    rules = {PUBLISHED: numbers.linear(*SETS[sets]), CORRECTED: TRR(lower=low, upper=high, epsilon=epsilon)}
    left = [numbers.posterior_width(rule, MEAN, VARIANCE) for rule in rules.values()]
    tails = {name: numbers.tail_ratios(rule, low, high, range(21)) for name, rule in rules.items()}
    return left, pd.concat(tails, names=["series"]).reset_index("series")
