"""What many answers cost and give, as live pictures: one count again and again, groups, and floating point.

Arithmetic on made-up numbers, as in `dashboard.mechanisms`: no data are read and nothing is spent.
"""

from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls, panels
from dpcore.dashboard.sections.mechanisms import assumed, epsilon_slider, look, redrawn, zoom
from dpcore.dashboard.widgets import choice, figures, lasting
from dpcore.teaching import composition as teaching
from dpcore.text import number

TRUTH, MOST_ANSWERS, SMALL_DELTA = 100, 100, 1e-6
COUNTS = (0, 1, 10, 100, 1_000, 10_000)


@st.fragment
def asking(page: str) -> None:
    """One count, asked again and again."""
    key = f"{page}.asking"
    left, right = st.columns([2, 5], gap="large")
    with left:
        answers = lasting(st.slider, "Answers to one question (k)", f"{key}.k", 1, MOST_ANSWERS, 20)
        epsilon = epsilon_slider(key, default=0.5)
        window = zoom(key)
        seed = redrawn(key, "Ask other lots")
        errors = teaching.average_deviations(epsilon, MOST_ANSWERS)
        here = errors[errors["answers"] == answers].iloc[0]
        labels = {"Error of the average": "each", "… if epsilon is shared": "shared", "… of one answer": "once"}
        told = {label: f"{here[name]:.3g}" for label, name in labels.items()}
        figures({"Epsilon in all": number(answers * epsilon), **told}, beside=False)
    found = teaching.repeated_answers(TRUTH, epsilon, answers, seed)
    with right:
        look(
            f"noise averages out. After {answers} answers the average is off by {here['each']:.3g}, typically, where "
            f"one answer is off by {here['once']:.3g}. **That is why every answer is charged:** epsilon "
            f"{answers} × {epsilon:g} = {number(answers * epsilon)}."
        )
        panels.chart(charts.running_average(found, truth=TRUTH, window=window))
        panels.chart(charts.average_errors(errors, at=answers))
        st.markdown(
            "**Sharing one epsilon does not pay.** With epsilon/k for each answer, noise is k times as wide, and "
            "averaging wins back only the square root of k: the variance is 2k/epsilon², **k times** the 2/epsilon² of "
            "one answer with all of it. Ask once, and write the answer down."
        )
        st.caption(
            "The average is not the best way to put Laplace answers together. The variance of the median of many is "
            "about half of it, k/epsilon², and still about k/2 times that of one answer."
        )
        assumed(
            f"a count of {TRUTH} that you change by 1 (add or remove one person), Laplace noise drawn anew for every "
            "answer. “Typical” is the standard deviation."
        )
        added(epsilon, answers)
        panels.table_behind(found, "The answers, one by one")
        panels.table_behind(errors, "The errors, by number of answers")


def added(epsilon: float, answers: int) -> None:
    """How the losses of geometric answers add up."""
    st.header("How privacy losses add up")
    likely = teaching.loss_epsilon(epsilon, answers, SMALL_DELTA)
    worst = answers * epsilon
    label = f"epsilon {number(likely)} with delta {SMALL_DELTA:g}"
    look(
        f"with whole-number noise each answer moves the log odds by +{epsilon:g} or −{epsilon:g}. All {answers} in one "
        f"direction, {number(worst)}, is what epsilon alone, without delta, books; most sums are far from it."
    )
    found = teaching.losses(epsilon, answers)
    panels.chart(charts.loss_sums(found, worst=worst, likely=likely, label=label))
    assumed(
        f"geometric noise, the same count each time, you are in the data (without you: the mirror image). For these "
        f"answers together: epsilon {number(worst)} without delta, and also ({number(likely)}, {SMALL_DELTA:g}), both "
        "exact. The ledger of the other pages books epsilons without delta, and their sum."
    )
    panels.table_behind(found, "The sums and their probabilities")


@st.fragment
def groups(page: str) -> None:
    """Splitting people and splitting columns."""
    key = f"{page}.groups"
    left, right = st.columns([2, 5], gap="large")
    with left:
        parts = lasting(st.slider, "Parts", f"{key}.parts", 2, len(teaching.COLUMNS), 4)
        epsilon = epsilon_slider(key, "epsilon for the count of each part")
        relation = Relation(choice(st.radio, "Neighbors", f"{key}.relation", controls.RELATIONS))
        people = float(teaching.split_people_epsilon(epsilon, parts, relation))
        columns = float(teaching.split_columns_epsilon(epsilon, parts))
        told = {"People: epsilon in all": f"{people:.3g}", "Columns: epsilon in all": f"{columns:.3g}"}
        figures(told, beside=False)
    tables = teaching.split_tables(parts, relation)
    with right:
        look(
            "your row. Groups of people: you are in one of them. Groups of columns: **you are in all of them.** Only "
            "the first is parallel composition, where every group gets the whole epsilon."
        )
        for place, (name, table) in zip(st.columns(2, gap="medium"), tables.items(), strict=True):
            with place:
                panels.chart(charts.split_table(table, title=f"Groups of {name}"))
        moved = (
            "A row more or less changes one group’s count: the counts of a histogram cost epsilon together, however "
            "many bins there are."
            if relation is Relation.ADD_REMOVE
            else "A person whose values change may leave one group and enter another: two counts move, and the "
            "histogram costs **2 epsilon** together, however many bins there are."
        )
        st.markdown(moved)
        st.markdown(
            f"Everybody has cells in all {parts} groups of columns, so that their costs add up: {parts} × {epsilon:g} "
            f"= {number(columns)}. The paper of HMPrivBayes books its clusters of columns as if they were groups of "
            "people; its claim is too small for that reason (page Bayesian networks)."
        )
        assumed(
            "for people: how many rows are in each group, and a public rule from a row to its group. For columns: how "
            "many rows have a “yes” in each group’s columns. Each count moves by 1 at most; neighbors: "
            f"{controls.RELATIONS[relation.value].lower()}."
        )
        both = pd.concat([table.assign(split=name) for name, table in tables.items()], ignore_index=True)
        panels.table_behind(both, "The cells behind these pictures")


# How many answers give their world away, by the true count; with numbers of a few bits, or those of programs.
telltale_share = lru_cache(512)(teaching.telltale_share)
zoomed_answers = lru_cache(64)(teaching.zoomed_answers)


@st.fragment
def floats(page: str) -> None:
    """The holes of textbook noise."""
    key = f"{page}.floats"
    left, right = st.columns([2, 5], gap="large")
    with left:
        count = lasting(st.select_slider, "True count without you", f"{key}.count", COUNTS, value=10)
        epsilon = epsilon_slider(key)
        note = "Few, so that the holes can be seen. Programs use 53; the picture below has those."
        bits = lasting(st.slider, "Bits of the uniform number", f"{key}.bits", 8, 16, 10, help=note)
        found = [telltale_share(value, epsilon) for value in COUNTS]
        shares = pd.DataFrame({"count": [f"{value:,}" for value in COUNTS], "share": found})
        full, few = found[COUNTS.index(count)], telltale_share(count, epsilon, bits=bits)
        told = {
            f"Telltale answers, {bits} bits": f"{few:.1%}",
            "… 53 bits (usual)": f"{full:.2%}" if full else "none seen",
        }
        figures({**told, "… whole numbers": "0 %"}, beside=False)
    answers = zoomed_answers(count, epsilon, bits)
    whole = np.arange(count - 4, count + 6, dtype=float)
    both = pd.DataFrame({"world": np.repeat(["without", "with"], len(whole)), "answer": [*whole, *whole], "both": True})
    with right:
        look(
            "textbook Laplace noise in floating point can give some numbers only. With few bits the two worlds’ "
            "numbers hardly ever agree: **all digits of one answer tell which world it is**, whatever epsilon says. "
            f"With the usual 53 bits, {f'{full:.2%} of the answers' if full else 'hardly any answer'} at this count "
            f"{'do' if full else 'does'} so."
        )
        title = f"Textbook noise, {bits} bits, zoomed in"
        panels.chart(charts.possible_numbers(answers, title=title))
        panels.chart(charts.possible_numbers(both, title="Whole-number noise: both worlds can give all"))
        panels.chart(charts.telltale(shares))
        st.markdown(
            "Full numbers have holes too. Small counts have more digits after the point, and more telltale answers; "
            "with large counts rounding covers most holes, but how often an answer comes up still need not obey "
            "epsilon exactly. With whole numbers there are no holes: every one is possible in both worlds."
        )
        st.markdown(
            "**The remedy** is noise on whole numbers, drawn exactly: the noise “Exact (for publication)” that "
            "pages begin with. “NumPy, continuous (teaching)” is the kind of noise in this picture."
        )
        assumed(
            "count + noise, noise = −sign(u − ½) · ln(1 − 2 |u − ½|) / epsilon, u a multiple of 1/2^bits. The observer "
            "sees all digits and knows everybody else’s rows. Tried in this program’s own arithmetic: all u of few "
            "bits in the zoomed picture; 20,000 answers of a fixed seed for each share (none: of these). "
            "Mironov (2012) found it."
        )
        panels.table_behind(answers, "The possible answers in the picture")
        panels.table_behind(shares, "The shares by true count")
