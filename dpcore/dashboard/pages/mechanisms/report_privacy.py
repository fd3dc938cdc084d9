"""What one report gives away, by the paper's measures and by honest ones; averaging; numbers. No data at all."""

from functools import cache
from math import sqrt

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.responses import CORRECTED, PRINTED
from dpcore.dashboard.demonstration import Demonstration, epsilon_slider, show, sides
from dpcore.dashboard.pages.mechanisms import report_privacy_numbers as numbers
from dpcore.dashboard.widgets import lasting
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import ERRPH, TRR, Warner
from dpcore.text import TENTHS, number, percent

CROSSING = (1 / sqrt(2), 2 - sqrt(2))
REPORTS = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20, 25, 30, 40, 50)
SETS = {
    "a ~ N(1, 1), b ~ N(0, 1)": ((1.0, 1.0), (0.0, 1.0)),
    "a ~ N(2, 10), b ~ N(0, 5)": ((2.0, 10.0), (0.0, 5.0)),
    "a ~ N(1, 0.01), b ~ N(0, 1)": ((1.0, 0.01), (0.0, 1.0)),
}
MEAN, VARIANCE, BOUNDS = 5.0, 4.0, (0.0, 10.0)
SURE = (50.0, 95.0, 99.9)  # percent; the paper's table 2, which has several, cannot be read any more
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
curves = cache(numbers.descriptions)


def measures(page: str) -> None:
    """What is known of one report: of categories, and of numbers."""
    categories(page)
    st.divider()
    widths(page)


@st.fragment
def categories(page: str) -> None:
    """Measures of reports about categories, of one and of many of the same person."""
    key = f"{page}.measures"
    left, right = sides()
    with left:
        size = lasting(st.slider, say("Values to choose from (k)"), f"{key}.k", 2, 10, 2)
        note = say("How often people are told to say the truth; otherwise any value, drawn fairly, is said.")
        label = say("Share of answers that count (p0)")
        p0 = lasting(st.slider, label, f"{key}.p0", 0, 100, 50, 5, format="%d%%", help=note) / 100
    channel, other = ERRPH(size, p0=p0), Warner(p=(1 + p0) / 2)
    repeated = numbers.averaging(channel, REPORTS)
    repeated["epsilon"] = repeated["epsilon"].map(number)
    words = percent(float(numbers.breach(ERRPH(2, p0=p0)).max()), TENTHS)
    drawn = [part for _, part in curves(size=size).groupby("measure", sort=False)]
    first, *more = [
        charts.descriptions(part, against="setting", at=p0, crossing=crossing)
        for part, crossing in zip(drawn, (CROSSING, None, None), strict=True)
    ]
    shown = Demonstration(
        {
            say("Breach (the paper’s measure)"): percent(float(numbers.breach(channel).max()), TENTHS),
            say("Best guess is right"): percent(numbers.best_guess(channel), TENTHS),
            say("… without the report"): percent(1 / size, TENTHS),
            say("Epsilon"): number(float(channel.epsilon)),
        },
        [first, charts.averaging(repeated, alone=1 / size), *more],
        say(
            "Breach measures words, epsilon what a report reveals: told in Warner’s words, the same reports have "
            "Breach {other} instead of {words}.",
            words=words,
            other=percent(float(numbers.breach(other).max()), TENTHS),
        ),
        say(
            "RRPH: tell the truth with probability p0; otherwise a coin says yes or no. ERRPH: the same with k values. "
            "Warner: tell the truth with probability p; otherwise say the opposite. The words compared are for two "
            "values, at the same p0. All values are equally frequent."
        ),
        {say("Many reports of one person"): repeated, say("The curves"): curves(size=size)},
        [
            say(
                "**Asked again and again:** after {reports} reports with fresh coins, the most frequent one is the "
                "truth with probability {right}. The remedy: toss once, and give the same report ever after.",
                reports=REPORTS[-1],
                right=percent(float(repeated["right"].iloc[-1]), TENTHS, certain=p0 == 1),
            )
        ],
    )
    show(shown, left, right)


@st.fragment
def widths(page: str) -> None:
    """Reports about numbers: the width that is claimed, the one that is left, and the tails."""
    key = f"{page}.numbers"
    st.subheader(say("Numbers: y = a·x + b"), anchor=False)
    left, right = sides()
    with left:
        sets = lasting(st.selectbox, say("As published"), f"{key}.sets", list(SETS))
        label = phrase("Corrected: Laplace noise with epsilon")
        epsilon = epsilon_slider(key, label, EPSILONS)
        label = say("Share of numbers in the interval")
        sure = lasting(st.selectbox, label, f"{key}.sure", list(SURE), 1, format_func="{:.3g}%".format) / 100
    left_over, frame = noise_kinds(sets, epsilon, sure)
    claimed = numbers.claimed_width(VARIANCE, sure)
    five = frame[(frame["series"] == PRINTED) & (frame["beyond"] == 5)].iloc[0]
    shown = Demonstration(
        {
            say("Width, as claimed"): f"{claimed:.2f}",
            say("Width left, as published"): f"{left_over[PRINTED]:.2f}",
            say("Width left, corrected"): f"{left_over[CORRECTED]:.2f}",
        },
        [charts.tails(frame, bound=epsilon)],
        say("As published no epsilon holds: far reports give the number away, and the further, the more."),
        say(
            "True numbers are normal with mean {mean:g} and variance {variance:g}; the corrected rule bounds them by "
            "{low:g} and {high:g}. The paper takes the width of the interval before any report. A report beyond ±5 has "
            "probability {near:.2g} if the number is {low:g}, and {far:.2g} if it is {high:g}.",
            mean=MEAN,
            variance=VARIANCE,
            low=BOUNDS[0],
            high=BOUNDS[1],
            near=five["at_x"],
            far=five["at_other"],
        ),
        {say("The tails of both rules"): frame},
    )
    show(shown, left, right)


@cache
def noise_kinds(sets: str, epsilon: float, sure: float) -> tuple[dict[str, float], pd.DataFrame]:
    """The widths that both kinds of noise leave, and the tails of the numbers at the two bounds."""
    channels = {
        PRINTED: numbers.linear(*SETS[sets]),
        CORRECTED: TRR(lower=BOUNDS[0], upper=BOUNDS[1], epsilon=epsilon),
    }
    tails = [
        numbers.tail_ratios(rule, *BOUNDS, np.arange(21).tolist()).assign(series=name)
        for name, rule in channels.items()
    ]
    widths = {name: numbers.posterior_width(rule, MEAN, VARIANCE, sure) for name, rule in channels.items()}
    return widths, pd.concat(tails, ignore_index=True)
