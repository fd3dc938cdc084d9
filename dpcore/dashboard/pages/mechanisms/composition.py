"""What many answers cost and give, as live pictures: one count again and again, groups, and floating point.

Arithmetic on made-up numbers, as in `mechanisms`: no data are read and nothing is spent.
"""

from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls
from dpcore.dashboard.demonstration import Demonstration, epsilon_slider, show, sides
from dpcore.dashboard.pages.mechanisms import composition_numbers as numbers
from dpcore.dashboard.pages.mechanisms.mechanisms import EPSILON, EPSILONS, zoom
from dpcore.dashboard.widgets import choice, lasting, seed_button
from dpcore.language import phrase, say
from dpcore.text import number

TRUTH, MOST_ANSWERS, SMALL_DELTA = 100, 100, 1e-6
COUNTS = (0, 1, 10, 100, 1_000, 10_000)
telltale_share = lru_cache(512)(numbers.telltale_share)
zoomed_answers = lru_cache(64)(numbers.zoomed_answers)


@st.fragment
def asking(page: str) -> None:
    """One count, asked again and again."""
    key = f"{page}.asking"
    left, right = sides()
    with left:
        answers = lasting(st.slider, say("Answers to one query (k)"), f"{key}.k", 1, MOST_ANSWERS, 20)
        epsilon = epsilon_slider(key, EPSILON, EPSILONS, 0.5)
        window = zoom(key)
        seed = seed_button(key, say("Ask anew"))
    errors = numbers.average_deviations(epsilon, MOST_ANSWERS)
    here, found = errors.iloc[answers - 1], numbers.repeated_answers(TRUTH, epsilon, answers, seed)
    likely, losses = numbers.loss_epsilon(epsilon, answers, SMALL_DELTA), numbers.losses(epsilon, answers)
    values = {"delta": SMALL_DELTA, "likely": number(likely), "worst": number(answers * epsilon)}
    label = say("epsilon {likely} with delta {delta:g}", **values)
    shown = Demonstration(
        {
            say("Epsilon in all"): number(answers * epsilon),
            say("Error of the average"): f"{here['each']:.3g}",
            say("… if epsilon is shared"): f"{here['shared']:.3g}",
        },
        [
            charts.running_average(found, truth=TRUTH, window=window),
            charts.average_errors(errors, at=answers),
            charts.loss_sums(losses, worst=answers * epsilon, likely=likely, label=label),
        ],
        say(
            "Noise averages out, so every answer is charged: epsilon {answers} × {epsilon:g} = {worst}.",
            answers=answers,
            epsilon=epsilon,
            **values,
        ),
        say(
            "A count of {truth} that you change by 1 (add or remove one person); Laplace noise, drawn anew for every "
            "answer; errors are standard deviations. Losses are of geometric noise: epsilon {worst} without delta, and "
            "also ({likely}, {delta:g}), both tight. The median of many Laplace answers varies half as much as their "
            "average.",
            truth=TRUTH,
            **values,
        ),
        {
            say("The answers, one by one"): found,
            say("The errors, by number of answers"): errors,
            say("The sums of losses and their probabilities"): losses,
        },
        [
            say(
                "**Sharing one epsilon gains nothing:** with epsilon/k for each answer, the average varies k times as "
                "much as one answer with all of it. Ask once, and write the answer down."
            )
        ],
    )
    show(shown, left, right)


@st.fragment
def groups(page: str) -> None:
    """Splitting people and splitting columns."""
    key = f"{page}.groups"
    left, right = sides()
    with left:
        parts = lasting(st.slider, say("Parts"), f"{key}.parts", 2, len(numbers.COLUMNS), 4)
        epsilon = epsilon_slider(key, phrase("epsilon for the count of each part"), EPSILONS)
        relation = Relation(choice(st.radio, say("Neighbors"), f"{key}.relation", controls.RELATIONS))
    people = float(numbers.split_people_epsilon(epsilon, parts, relation))
    columns = float(numbers.split_columns_epsilon(epsilon, parts))
    tables = numbers.split_tables(parts, relation)
    note = phrase("One row more or less changes one group’s count: the whole histogram can cost up to epsilon.")
    if relation is Relation.REPLACE:
        note = phrase(
            "A person whose values change may leave one group and enter another: the whole histogram can cost up to "
            "**2 epsilon**."
        )
    shown = Demonstration(
        {say("People: epsilon in all"): number(people), say("Columns: epsilon in all"): number(columns)},
        [
            charts.split_table(tables["people"], title=say("Groups of people")),
            charts.split_table(tables["columns"], title=say("Groups of columns")),
        ],
        say(
            "You are in one group of people, but in all groups of columns. Parallel composition needs disjoint people."
        ),
        say(
            "People: a public rule from a row to its group. Columns: rows with a “yes” in each group’s columns. Each "
            "count changes by 1 at most; neighbors: {neighbors}. The paper of HMPrivBayes counts groups of columns as "
            "if they were groups of people, so it claims too little.",
            neighbors=say(controls.RELATIONS[relation.value]).lower(),
        ),
        {say("The cells"): pd.concat([table.assign(split=name) for name, table in tables.items()])},
        [say(note)],
    )
    show(shown, left, right)


@st.fragment
def floats(page: str) -> None:
    """The holes of textbook noise."""
    key = f"{page}.floats"
    left, right = sides()
    with left:
        count = lasting(st.select_slider, say("True count without you"), f"{key}.count", COUNTS, value=10)
        epsilon = epsilon_slider(key, EPSILON, EPSILONS)
        note = say("Few, so that the holes can be seen. Programs use 53; the last picture has those.")
        bits = lasting(st.slider, say("Bits of the uniform number"), f"{key}.bits", 8, 16, 10, help=note)
    found = [telltale_share(value, epsilon) for value in COUNTS]
    shares = pd.DataFrame({"count": [f"{value:,}" for value in COUNTS], "share": found})
    full, few = found[COUNTS.index(count)], telltale_share(count, epsilon, bits=bits)
    answers, whole = zoomed_answers(count, epsilon, bits), np.arange(count - 4, count + 6, dtype=float)
    both = pd.DataFrame({"world": np.repeat(["without", "with"], len(whole)), "answer": [*whole, *whole], "both": True})
    shown = Demonstration(
        {
            say("Telltale answers, {bits} bits", bits=bits): f"{few:.1%}",
            say("… 53 bits (usual)"): f"{full:.2%}" if full else say("none seen"),
            say("… whole numbers"): "0%",
        },
        [
            charts.possible_numbers(answers, title=say("Textbook noise, {bits} bits, zoomed in", bits=bits)),
            charts.possible_numbers(both, title=say("Whole-number noise: both worlds can give all")),
            charts.telltale(shares),
        ],
        say(
            "Textbook Laplace noise has holes: all digits of one answer can show which world it is from, whatever "
            "epsilon says."
        ),
        say(
            "Noise = −sign(u − ½) · ln(1 − 2 |u − ½|) / epsilon, u a multiple of 1/2^bits. The observer sees all "
            "digits and knows all other rows. All u of few bits are tried; 20,000 answers of a fixed seed for each "
            "share. Mironov (2012) found it."
        ),
        {say("The possible answers in the picture"): answers, say("The shares by true count"): shares},
        [
            say(
                "**The remedy** is exactly sampled noise on whole numbers, in which every number is possible in both "
                "worlds: “Exactly sampled (for publication)” on the pages of methods."
            )
        ],
    )
    show(shown, left, right)
