"""What one report gives away, by the paper's measures and by honest ones; averaging; numbers. No data at all."""

from functools import cache
from math import isfinite, isinf, sqrt
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.responses import CORRECTED, PRINTED
from dpcore.dashboard import panels
from dpcore.dashboard.pages.mechanisms import report_privacy_numbers
from dpcore.dashboard.pages.mechanisms.choices import response_matrix
from dpcore.dashboard.widgets import choice, figures, lasting
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR, Warner
from dpcore.text import TENTHS, number, percent

CROSSING = (1 / sqrt(2), 2 - sqrt(2))
AGAINST: dict[Literal["setting", "epsilon"], str] = {"setting": "the number in the rule", "epsilon": "epsilon"}
NARROW = "\N{NO-BREAK SPACE}"  # narrow cells keep a number and its sign together
ASKED = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20, 25, 30, 40, 50)
SETS = {
    "a ~ N(1, 1), b ~ N(0, 1) (the paper's first)": ((1.0, 1.0), (0.0, 1.0)),
    "a ~ N(2, 10), b ~ N(0, 5) (the paper's second)": ((2.0, 10.0), (0.0, 5.0)),
    "a ~ N(1, 0.01), b ~ N(0, 1)": ((1.0, 0.01), (0.0, 1.0)),
}
MEAN, VARIANCE, BOUNDS = 5.0, 4.0, (0.0, 10.0)
SURE = (50.0, 95.0, 99.9)  # percent; the paper's table 2, which has several, cannot be read any more
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
TOLD = {
    "setting": "the same number in other words is another rule, with other protection.",
    "epsilon": "with two values, all that a report can be used for is one curve; Breach is two.",
}


def measures(page: str) -> None:
    """Everything that is known of one report: categories, many reports of one person, and numbers."""
    categories(page)
    st.divider()
    averaging(page)
    st.divider()
    numbers(page)


def pickers(key: str) -> tuple[int, float]:
    """How many values, and how often the truth."""
    left, right = st.columns(2, gap="large")
    size = lasting(left.slider, "Values to choose from (k)", f"{key}.k", 2, 10, 2)
    note = "How often people are told to say the truth; otherwise a fair lot among all values answers for them."
    p0 = lasting(right.slider, "p0, in percent", f"{key}.p0", 0, 100, 50, 5, format="%d%%", help=note)
    return size, p0 / 100


@st.fragment
def categories(page: str) -> None:
    """Measures of one report about categories."""
    key = f"{page}.measures"
    st.header("What does one report give away?")
    st.caption(
        "**RRPH:** tell the truth with probability p0; otherwise a coin says yes or no. **ERRPH:** the same with k "
        "values and a fair lot. **Warner:** tell the truth with probability p; otherwise say the opposite. **Breach:** "
        "the paper’s measure of what a report gives away."
    )
    size, p0 = pickers(key)
    channel = ERRPH(size, p0=p0)
    rows = report_privacy_numbers.measures(channel).set_index("measure")["value"]
    columns = st.columns(4)
    help_ = "The paper: the probability that the original is “reconstructed or predicted”."
    columns[0].metric("Breach (the paper’s)", percent(rows["Breach"], TENTHS), border=True, help=help_)
    columns[1].metric("A report is the truth", percent(rows["report is the truth"], TENTHS), border=True)
    columns[2].metric("Guessing without it", percent(rows["best guess, without it"], TENTHS), border=True)
    columns[3].metric("Epsilon", number(rows["epsilon"]), border=True)
    st.markdown(same_channel(size, p0))
    how = {"default": "setting", "required": True}
    against = choice(st.segmented_control, "Draw against", f"{key}.against", AGAINST, **how)
    at = p0 if against == "setting" else float(channel.epsilon)
    line = "Dashed upright line: your setting." if isfinite(at) else "Your setting has no finite epsilon, and no line."
    st.markdown(f"**Against {AGAINST[against]}:** {TOLD[against]} {line}")
    drawn = list(curves(size).groupby("measure", sort=False))
    for place, (_, part), crossing in zip(st.columns(3), drawn, (CROSSING, None, None), strict=True):
        with place:
            meet = crossing if against == "setting" else None
            panels.chart(charts.descriptions(part, against=against, at=at, crossing=meet))
    st.table(table_of(channel))
    with st.expander("The channel: what becomes of an answer"):
        names = [f"value {place + 1}" for place in range(size)]
        panels.chart(charts.channel_matrix(response_matrix(channel, names)))


def same_channel(size: int, p0: float) -> str:
    """One channel in the words of two rules, at the chosen p0; with more than two values an example."""
    first, second = RRPH(p0=p0), Warner(p=(1 + p0) / 2)
    one, other = (percent(float(report_privacy_numbers.breach(channel).max()), TENTHS) for channel in (first, second))
    title = "**Same channel, different Breach.**" if p0 < 1 else "**Same channel, and here the same Breach.**"
    example = f"An example with two values instead of {size}, and the same p0: " if size > 2 else ""
    told = (
        f"{title} {example}“Truth with {100 * p0:.3g}%, otherwise toss” (RRPH) and “truth with {100 * second.p:.3g}%, "
        "otherwise the opposite” (Warner) make the same reports with the same probabilities. "
    )
    if p0 == 1:
        return told + f"Both rules always tell the truth, and Breach says {one} for both."
    return told + (
        f"Breach says {one} for the first and {other} for the second; a report is the truth "
        f"{percent(second.p, TENTHS)} of the time in both. Breach measures words, not protection."
    )


def table_of(channel: ERRPH) -> pd.DataFrame:
    """The measures as texts."""
    found = report_privacy_numbers.measures(channel)
    shares = [
        number(value)
        if name == "epsilon"
        else percent(value, TENTHS, certain=isinf(channel.epsilon)).replace(" ", NARROW)
        for name, value in zip(found["measure"], found["value"], strict=True)
    ]
    changes = np.where(found["of_channel"], "no", "**yes**")
    table = pd.DataFrame({"measure": found["measure"], "value": shares, "in words": found["sentence"]})
    return table.assign(**{"changes if the rule is only told differently?": changes}).set_index("measure")


@cache
def curves(size: int) -> pd.DataFrame:
    """The curves of every measure; nothing but arithmetic."""
    return report_privacy_numbers.descriptions(np.linspace(0, 1, 61).tolist(), size=size)


@st.fragment
def averaging(page: str) -> None:
    """The averaging attack and its remedy."""
    key = f"{page}.averaging"
    st.header("Asked again and again")
    size, p0 = pickers(key)
    channel = ERRPH(size, p0=p0)
    frame = report_privacy_numbers.averaging(channel, ASKED)
    frame["epsilon"] = frame["epsilon"].map(number)
    panels.chart(charts.averaging(frame, alone=1 / size))
    for name in ("right", "kept"):
        frame[name] = [percent(value, TENTHS, certain=p0 == 1) for value in frame[name]]
    first, last = frame.iloc[0], frame.iloc[-1]
    if p0 == 0:
        told = (
            f"**Nothing to attack:** with p0 = 0 no report has to do with the truth. After {ASKED[-1]} of them the "
            f"most frequent one is right with probability {last['right']}, as a guess is, and epsilon stays 0."
        )
    elif p0 == 1:
        told = (
            "**No remedy:** with p0 = 100% everybody always tells the truth, and the first report gives it away. "
            "Writing it down hides nothing, and no epsilon holds."
        )
    else:
        told = (
            f"One person is asked the same question {ASKED[-1]} times, and tosses afresh each time: the most frequent "
            f"report is the truth with probability **{last['right']}**; epsilon adds up to **{last['epsilon']}**. "
            "**The remedy:** toss once, write the report down, and give the same one ever after: "
            f"{last['kept']}, epsilon {first['epsilon']}, however often one is asked."
        )
    st.markdown(told)
    panels.table_behind(frame, "The numbers behind this chart")


@st.fragment
def numbers(page: str) -> None:
    """Numbers: the width that is claimed, the one that is left, and the tails."""
    key = f"{page}.numbers"
    st.header("Numbers: y = a·x + b")
    st.markdown(
        f"True numbers are normal with mean {MEAN:g} and variance {VARIANCE:g}. The paper says how wide an interval "
        "still holds a share of them after a report, and takes the width that it has **before** any report."
    )
    left, middle, right = st.columns([2, 1, 2], gap="large")
    sure = lasting(middle.selectbox, "Of them", f"{key}.sure", list(SURE), 1, format_func="{:.3g}%".format) / 100
    sets = lasting(left.selectbox, "As printed", f"{key}.sets", list(SETS))
    label = f"Corrected: Laplace noise, bounds {BOUNDS[0]:g} to {BOUNDS[1]:g}, epsilon"
    epsilon = lasting(right.select_slider, label, f"{key}.epsilon", EPSILONS, value=1.0)
    (printed, corrected), frame = noise_kinds(sets, epsilon, sure)
    before, first, second = (f"{width:.2f}" for width in (*printed["value"][:2], corrected["value"][1]))
    figures({"Width, as claimed": before, "Width left, as printed": first, "Width left, corrected": second})
    panels.chart(charts.tails(frame, bound=epsilon))
    five = frame[(frame["series"] == PRINTED) & (frame["beyond"] == 5)].iloc[0]
    st.markdown(
        f"**No epsilon holds as printed.** A report beyond ±5 has probability {five['at_x']:.2g} if the number is 0, "
        f"and {five['at_other']:.2g} if it is 10: a ratio of exp({five['log_ratio']:.3g}), and it grows the further "
        f"one looks. Laplace noise keeps every ratio below exp({epsilon:g})."
    )
    both = pd.concat([printed.assign(noise=PRINTED), corrected.assign(noise=CORRECTED)], ignore_index=True)
    both["value"] = [
        number(value) if name == "epsilon" else f"{value:.2f}"
        for name, value in zip(both["measure"], both["value"], strict=True)
    ]
    panels.table_behind(both, "All measures")


@cache
def noise_kinds(sets: str, epsilon: float, sure: float) -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """The measures of both kinds of noise, and the tails of the numbers at the two bounds; nothing but arithmetic."""
    printed, corrected = (
        report_privacy_numbers.linear(*SETS[sets]),
        TRR(lower=BOUNDS[0], upper=BOUNDS[1], epsilon=epsilon),
    )
    channels, beyond = {PRINTED: printed, CORRECTED: corrected}, np.arange(0, 21).tolist()
    tails = [report_privacy_numbers.tail_ratios(c, *BOUNDS, beyond).assign(series=name) for name, c in channels.items()]
    widths = [report_privacy_numbers.width_measures(channel, MEAN, VARIANCE, sure) for channel in channels.values()]
    return widths, pd.concat(tails, ignore_index=True)
