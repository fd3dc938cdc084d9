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
from dpcore.dashboard.pages.mechanisms import composition_numbers as teaching
from dpcore.dashboard.pages.mechanisms.mechanisms import assumed, epsilon_slider, look, zoom
from dpcore.dashboard.widgets import caption, choice, figures, lasting, markdown, seed_button
from dpcore.language import phrase, say
from dpcore.text import number

TRUTH, MOST_ANSWERS, SMALL_DELTA = 100, 100, 1e-6
GROUPS = {"people": phrase("Groups of people"), "columns": phrase("Groups of columns")}
COUNTS = (0, 1, 10, 100, 1_000, 10_000)


@st.fragment
def asking(page: str) -> None:
    """One count, asked again and again."""
    key = f"{page}.asking"
    left, right = st.columns([2, 5], gap="large")
    with left:
        answers = lasting(st.slider, say("Answers to one question (k)"), f"{key}.k", 1, MOST_ANSWERS, 20)
        epsilon = epsilon_slider(key, default=0.5)
        window = zoom(key)
        seed = seed_button(key, say("Ask anew"))
        errors = teaching.average_deviations(epsilon, MOST_ANSWERS)
        here = errors[errors["answers"] == answers].iloc[0]
        told = {
            say("Epsilon in all"): number(answers * epsilon),
            say("Error of the average"): f"{here['each']:.3g}",
            say("… if epsilon is shared"): f"{here['shared']:.3g}",
            say("… of one answer"): f"{here['once']:.3g}",
        }
        figures(told, beside=False)
    found = teaching.repeated_answers(TRUTH, epsilon, answers, seed)
    with right:
        look(
            "noise averages out. After {answers} answers the average is off by {each:.3g}, typically, where one "
            "answer is off by {once:.3g}. **That is why every answer is charged:** epsilon {answers} × "
            "{epsilon:g} = {sum}.",
            answers=answers,
            each=here["each"],
            once=here["once"],
            epsilon=epsilon,
            sum=number(answers * epsilon),
        )
        panels.chart(charts.running_average(found, truth=TRUTH, window=window))
        panels.chart(charts.average_errors(errors, at=answers))
        markdown(
            "**Sharing one epsilon does not pay.** With epsilon/k for each answer, noise is k times as wide, and "
            "averaging wins back only the square root of k: the variance is 2k/epsilon², **k times** the "
            "2/epsilon² of one answer with all of it. Ask once, and write the answer down."
        )
        caption(
            "The average is not the best way to put Laplace answers together. The variance of the median of many "
            "is about half of it, k/epsilon², and still about k/2 times that of one answer."
        )
        assumed(
            "a count of {truth} that you change by 1 (add or remove one person), Laplace noise drawn anew for "
            "every answer. “Typical” is the standard deviation.",
            truth=TRUTH,
        )
        added(epsilon, answers)
        panels.own_table_behind(found, say("The answers, one by one"))
        panels.own_table_behind(errors, say("The errors, by number of answers"))


def added(epsilon: float, answers: int) -> None:
    """How the losses of geometric answers add up."""
    st.header(say("How privacy losses add up"))
    likely = teaching.loss_epsilon(epsilon, answers, SMALL_DELTA)
    worst = answers * epsilon
    label = say("epsilon {epsilon} with delta {delta:g}", epsilon=number(likely), delta=SMALL_DELTA)
    look(
        "with whole-number noise each answer moves the log odds by +{epsilon:g} or −{epsilon:g}. All {answers} in "
        "one direction, {worst}, is what epsilon alone, without delta, books; most sums are far from it.",
        epsilon=epsilon,
        answers=answers,
        worst=number(worst),
    )
    found = teaching.losses(epsilon, answers)
    panels.chart(charts.loss_sums(found, worst=worst, likely=likely, label=label))
    assumed(
        "geometric noise, the same count each time, you are in the data (without you: the mirror image). For these "
        "answers together: epsilon {worst} without delta, and also ({likely}, {delta:g}), both tight. The ledger "
        "of the other pages books epsilons without delta, and their sum.",
        worst=number(worst),
        likely=number(likely),
        delta=SMALL_DELTA,
    )
    panels.own_table_behind(found, say("The sums and their probabilities"))


@st.fragment
def groups(page: str) -> None:
    """Splitting people and splitting columns."""
    key = f"{page}.groups"
    left, right = st.columns([2, 5], gap="large")
    with left:
        parts = lasting(st.slider, say("Parts"), f"{key}.parts", 2, len(teaching.COLUMNS), 4)
        epsilon = epsilon_slider(key, phrase("epsilon for the count of each part"))
        relation = Relation(choice(st.radio, say("Neighbors"), f"{key}.relation", controls.RELATIONS))
        people = float(teaching.split_people_epsilon(epsilon, parts, relation))
        columns = float(teaching.split_columns_epsilon(epsilon, parts))
        told = {say("People: epsilon in all"): f"{people:.3g}", say("Columns: epsilon in all"): f"{columns:.3g}"}
        figures(told, beside=False)
    tables = teaching.split_tables(parts, relation)
    with right:
        look(
            "your row. Groups of people: you are in one of them. Groups of columns: **you are in all of them.** "
            "Only the first is parallel composition, where every group gets the whole epsilon."
        )
        for place, (name, table) in zip(st.columns(2, gap="medium"), tables.items(), strict=True):
            with place:
                panels.chart(charts.split_table(table, title=say(GROUPS[name])))
        moved = phrase(
            "A row more or less changes one group’s count: the counts of a histogram can cost epsilon together, and no "
            "more, however many bins there are."
        )
        if relation is Relation.REPLACE:
            moved = phrase(
                "A person whose values change may leave one group and enter another: two counts move, and the "
                "histogram can cost up to **2 epsilon** together, however many bins there are."
            )
        markdown(moved)
        markdown(
            "Everybody has cells in all {parts} groups of columns, so that their costs add up: {parts} × {epsilon:g} = "
            "{sum}. The paper of HMPrivBayes books its clusters of columns as if they were groups of people; its claim "
            "is too small for that reason (page Bayesian networks).",
            parts=parts,
            epsilon=epsilon,
            sum=number(columns),
        )
        assumed(
            "for people: how many rows are in each group, and a public rule from a row to its group. For columns: "
            "how many rows have a “yes” in each group’s columns. Each count moves by 1 at most; neighbors: "
            "{neighbors}.",
            neighbors=say(controls.RELATIONS[relation.value]).lower(),
        )
        both = pd.concat([table.assign(split=name) for name, table in tables.items()], ignore_index=True)
        panels.own_table_behind(both, say("The cells behind these pictures"))


# How many answers give their world away, by the true count; with numbers of a few bits, or those of programs.
telltale_share = lru_cache(512)(teaching.telltale_share)
zoomed_answers = lru_cache(64)(teaching.zoomed_answers)


@st.fragment
def floats(page: str) -> None:
    """The holes of textbook noise."""
    key = f"{page}.floats"
    left, right = st.columns([2, 5], gap="large")
    with left:
        count = lasting(st.select_slider, say("True count without you"), f"{key}.count", COUNTS, value=10)
        epsilon = epsilon_slider(key)
        note = say("Few, so that the holes can be seen. Programs use 53; the picture below has those.")
        bits = lasting(st.slider, say("Bits of the uniform number"), f"{key}.bits", 8, 16, 10, help=note)
        found = [telltale_share(value, epsilon) for value in COUNTS]
        shares = pd.DataFrame({"count": [f"{value:,}" for value in COUNTS], "share": found})
        full, few = found[COUNTS.index(count)], telltale_share(count, epsilon, bits=bits)
        told = {
            say("Telltale answers, {bits} bits", bits=bits): f"{few:.1%}",
            say("… 53 bits (usual)"): f"{full:.2%}" if full else say("none seen"),
            say("… whole numbers"): "0%",
        }
        figures(told, beside=False)
    answers = zoomed_answers(count, epsilon, bits)
    whole = np.arange(count - 4, count + 6, dtype=float)
    both = pd.DataFrame({"world": np.repeat(["without", "with"], len(whole)), "answer": [*whole, *whole], "both": True})
    with right:
        text = phrase(
            "textbook Laplace noise in floating point can give some numbers only. With few bits the two worlds’ "
            "numbers hardly ever agree: **all digits of one answer tell which world it is**, whatever epsilon says. "
            "With the usual 53 bits, hardly any answer at this count does so."
        )
        if full:
            text = phrase(
                "textbook Laplace noise in floating point can give some numbers only. With few bits the two worlds’ "
                "numbers hardly ever agree: **all digits of one answer tell which world it is**, whatever epsilon "
                "says. With the usual 53 bits, {share:.2%} of the answers at this count do so."
            )
        look(text, share=full)
        title = say("Textbook noise, {bits} bits, zoomed in", bits=bits)
        panels.chart(charts.possible_numbers(answers, title=title))
        title = say("Whole-number noise: both worlds can give all")
        panels.chart(charts.possible_numbers(both, title=title))
        panels.chart(charts.telltale(shares))
        markdown(
            "Full numbers have holes too. Small counts have more digits after the point, and more telltale "
            "answers; with large counts rounding covers most holes, but how often an answer comes up still need "
            "not obey epsilon exactly. With whole numbers there are no holes: every one is possible in both worlds."
        )
        markdown(
            "**The remedy** is noise on whole numbers, drawn exactly: the noise “Exactly sampled (for "
            "publication)” that pages begin with. “NumPy, continuous (teaching)” is the kind of noise in this "
            "picture."
        )
        assumed(
            "count + noise, noise = −sign(u − ½) · ln(1 − 2 |u − ½|) / epsilon, u a multiple of 1/2^bits. The "
            "observer sees all digits and knows everybody else’s rows. Tried in this program’s own arithmetic: all "
            "u of few bits in the zoomed picture; 20,000 answers of a fixed seed for each share (none: of these). "
            "Mironov (2012) found it."
        )
        panels.own_table_behind(answers, say("The possible answers in the picture"))
        panels.own_table_behind(shares, say("The shares by true count"))
