"""What one report gives away, by the paper's measures and by honest ones; averaging; numbers. No data at all."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, exposure
from dpcore.channels import ERRPH, TRR
from dpcore.charts.exposure import CORRECTED, PRINTED
from dpcore.dashboard import panels

__all__ = ["averaging", "measures", "numbers"]

CROSSING = (1 / sqrt(2), 2 - sqrt(2))
AGAINST: dict[Literal["setting", "epsilon"], str] = {"setting": "the number in the rule", "epsilon": "epsilon"}
ASKED = (1, 2, 3, 4, 5, 7, 9, 12, 15, 20, 25, 30, 40, 50)
SETS = {
    "a ~ N(1, 1), b ~ N(0, 1) (the paper's first)": ((1.0, 1.0), (0.0, 1.0)),
    "a ~ N(2, 10), b ~ N(0, 5) (the paper's second)": ((2.0, 10.0), (0.0, 5.0)),
    "a ~ N(1, 0.01), b ~ N(0, 1)": ((1.0, 0.01), (0.0, 1.0)),
}
MEAN, VARIANCE, BOUNDS = 5.0, 4.0, (0.0, 10.0)
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)


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
    size = left.slider("Values to choose from (k)", 2, 10, 2, key=f"{key}.k", persist_state="session")
    p0 = right.slider("p0, in percent", 0, 100, 50, 5, format="%d %%", key=f"{key}.p0", persist_state="session")
    return int(size), p0 / 100


@st.fragment
def categories(page: str) -> None:
    """Measures of one report about categories."""
    key = f"{page}.measures"
    st.subheader("What does one report give away?")
    size, p0 = pickers(key)
    channel = ERRPH(size, p0=p0)
    rows = exposure.measures(channel).set_index("measure")["value"]
    cells = st.columns(4)
    cells[0].metric("Breach (the paper’s)", f"{rows['Breach']:.1%}", border=True)
    cells[1].metric("A report is the truth", f"{rows['report is the truth']:.1%}", border=True)
    cells[2].metric("Guessing without it", f"{rows['best guess, without it']:.1%}", border=True)
    cells[3].metric("Epsilon", panels.number(rows["epsilon"]), border=True)
    st.markdown(
        "**Same channel, different Breach.** “Truth with 50 %, otherwise toss” (RRPH) and “truth with 75 %, otherwise "
        "the opposite” (Warner) make the same reports with the same probabilities. Breach says 33.3 % for the first "
        "and 62.5 % for the second; a report is the truth 75 % of the time in both. Breach measures words, not "
        "protection."
    )
    against = st.segmented_control(
        "Draw against",
        list(AGAINST),
        format_func=AGAINST.__getitem__,
        default="setting",
        required=True,
        key=f"{key}.against",
        persist_state="session",
    )
    at, crossing = (p0, CROSSING) if against == "setting" else (float(channel.epsilon), None)
    panels.chart(charts.descriptions(curves(size), against=against, at=at, crossing=crossing))
    st.table(table_of(channel))
    with st.expander("The channel: what becomes of an answer"):
        panels.chart(charts.channel_matrix(cells_of(channel)))


def table_of(channel: ERRPH) -> pd.DataFrame:
    """The measures as texts."""
    found = exposure.measures(channel)
    shares = [
        panels.number(value) if name == "epsilon" else f"{value:.1%}"
        for name, value in zip(found["measure"], found["value"], strict=True)
    ]
    same = np.where(found["of_channel"], "yes", "**no**")
    table = pd.DataFrame({"measure": found["measure"], "value": shares, "in words": found["sentence"]})
    return table.assign(**{"same for other words": same}).set_index("measure")


@cache
def curves(size: int) -> pd.DataFrame:
    """The curves of every measure; nothing but arithmetic."""
    return exposure.descriptions(np.linspace(0, 1, 61).tolist(), size=size)


def cells_of(channel: ERRPH) -> pd.DataFrame:
    """The channel's matrix, tidy."""
    names = [f"value {place + 1}" for place in range(channel.size)]
    rows = [(a, b, channel.matrix[j, i]) for i, a in enumerate(names) for j, b in enumerate(names)]
    return pd.DataFrame(rows, columns=["truth", "reported", "probability"])


@st.fragment
def averaging(page: str) -> None:
    """The averaging attack and its remedy."""
    key = f"{page}.averaging"
    st.subheader("Asked again and again")
    size, p0 = pickers(key)
    channel = ERRPH(size, p0=p0)
    frame = exposure.averaging(channel, ASKED)
    last = frame.iloc[-1]
    panels.chart(charts.averaging(frame, alone=1 / size))
    right = "over 99.9%" if last["right"] > 0.999 else f"{last['right']:.1%}"
    st.markdown(
        f"One person who tosses afresh for each of {ASKED[-1]} questions gives the truth away with probability "
        f"**{right}**; epsilon adds up to **{panels.number(last['epsilon'])}**. **The remedy:** toss once, "
        f"write the report down, and give the same one ever after: {last['kept']:.1%}, epsilon "
        f"{panels.number(frame['epsilon'].iloc[0])}, however often one is asked."
    )
    panels.table_behind(frame, "The numbers behind this chart")


@st.fragment
def numbers(page: str) -> None:
    """Numbers: the width that is claimed, the one that is left, and the tails."""
    key = f"{page}.numbers"
    st.subheader("Numbers: y = a·x + b")
    st.markdown(
        f"True numbers are normal with mean {MEAN:g} and variance {VARIANCE:g}. The paper says how wide an interval "
        "still holds 95 % of them after a report, and takes the width that it has **before** any report."
    )
    left, right = st.columns(2, gap="large")
    sets = left.selectbox("As printed", list(SETS), key=f"{key}.sets", persist_state="session")
    epsilon = right.select_slider(
        f"Corrected: Laplace noise, bounds {BOUNDS[0]:g} to {BOUNDS[1]:g}, epsilon",
        EPSILONS,
        value=1.0,
        key=f"{key}.epsilon",
        persist_state="session",
    )
    printed, corrected = widths(sets, epsilon)
    cells = st.columns(3)
    cells[0].metric("Width, as claimed", f"{printed['value'][0]:.2f}", border=True)
    cells[1].metric("Width left, as printed", f"{printed['value'][1]:.2f}", border=True)
    cells[2].metric("Width left, corrected", f"{corrected['value'][1]:.2f}", border=True)
    frame = ratios(sets, epsilon)
    panels.chart(charts.tails(frame, bound=epsilon))
    five = frame[(frame["series"] == PRINTED) & (frame["beyond"] == 5)].iloc[0]
    st.markdown(
        f"**No epsilon holds as printed.** A report beyond ±5 has probability {five['at_x']:.2g} if the number is 0, "
        f"and {five['at_other']:.2g} if it is 10: a ratio of e^{five['log_ratio']:.3g}, and it grows the further one "
        f"looks. Laplace noise keeps every ratio below e^{epsilon:g}."
    )
    both = pd.concat([printed.assign(noise=PRINTED), corrected.assign(noise=CORRECTED)], ignore_index=True)
    panels.table_behind(both.astype({"value": object}).assign(value=both["value"].map(panels.number)), "All measures")


def channels(sets: str, epsilon: float) -> tuple[TRR, TRR]:
    """Both kinds of noise."""
    return exposure.linear(*SETS[sets]), TRR(lower=BOUNDS[0], upper=BOUNDS[1], epsilon=epsilon)


@cache
def widths(sets: str, epsilon: float) -> list[pd.DataFrame]:
    """The measures of both; nothing but arithmetic."""
    return [exposure.width_measures(channel, MEAN, VARIANCE) for channel in channels(sets, epsilon)]


@cache
def ratios(sets: str, epsilon: float) -> pd.DataFrame:
    """The tails of both, of the numbers at the two bounds."""
    beyond = np.arange(0, 21).tolist()
    names = (PRINTED, CORRECTED)
    pairs = zip(names, channels(sets, epsilon), strict=True)
    return pd.concat(
        [exposure.tail_ratios(c, *BOUNDS, beyond).assign(series=name) for name, c in pairs], ignore_index=True
    )
