"""What many answers cost and give, as live pictures: one count again and again, groups, and floating point.

Arithmetic on made-up numbers, as in `mechanisms`: no data are read and nothing is spent.
"""

from functools import cache

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls
from dpcore.dashboard.demonstration import Demonstration, demonstration, epsilon_slider
from dpcore.dashboard.pages.mechanisms import composition_numbers as numbers
from dpcore.dashboard.pages.mechanisms.mechanisms import zoom
from dpcore.dashboard.widgets import choice, lasting, seed_button
from dpcore.language import phrase, say
from dpcore.text import number

TRUTH, MOST_ANSWERS, SMALL_DELTA = 100, 100, 1e-6
COUNT, COUNTS = 10, (0, 1, 10, 100, 1_000, 10_000)
telltale_share = cache(numbers.telltale_share)


@demonstration("mechanisms.asking")
def asking(key: str) -> Demonstration:
    """One count, asked again and again."""
    answers = lasting(st.slider, say("Answers to one query (k)"), f"{key}.k", 1, MOST_ANSWERS, 20)
    epsilon = epsilon_slider(key, usual=0.5)
    window = zoom(key)
    seed = seed_button(key, say("Ask anew"))
    errors = numbers.average_deviations(epsilon, MOST_ANSWERS)
    found = numbers.repeated_answers(TRUTH, epsilon, answers, seed)
    losses, worst = numbers.losses(epsilon, answers), answers * epsilon
    likely = numbers.loss_epsilon(epsilon, answers, SMALL_DELTA)
    values = {"delta": SMALL_DELTA, "likely": number(likely), "worst": number(worst)}
    label = say("epsilon {likely} with delta {delta:g}", **values)
    return Demonstration(
        {say("Epsilon in all"): number(worst)},
        [
            charts.running_average(found, truth=TRUTH, window=window),
            charts.average_errors(errors, at=answers),
            charts.loss_sums(losses, worst=worst, likely=likely, label=label),
        ],
        "Noise averages out, so each answer is charged: epsilon {answers} × {epsilon:g} = {worst}.",
        "A count that you change by 1, with Laplace noise. Losses are of geometric noise: epsilon "
        "{worst} without delta, and also ({likely}, {delta:g}), both tight.",
        {
            say("The answers, one by one"): found,
            say("The errors, by number of answers"): errors,
            say("The sums of losses and their probabilities"): losses,
        },
        "**Sharing one epsilon gains nothing:** with epsilon/k for each answer, the average varies "
        "k times as much as one answer with all of it. Ask once, and write the answer down.",
        values | {"answers": answers, "epsilon": epsilon},
    )


@demonstration("mechanisms.groups")
def groups(key: str) -> Demonstration:
    """Splitting people and splitting columns."""
    parts = lasting(st.slider, say("Parts"), f"{key}.parts", 2, len(numbers.COLUMNS), 4)
    epsilon = epsilon_slider(key, phrase("Epsilon for the count of each part"))
    relation = Relation(choice(st.radio, say("Neighbors"), f"{key}.relation", controls.RELATIONS))
    people = float(numbers.split_people_epsilon(epsilon, parts, relation))
    columns = float(numbers.split_columns_epsilon(epsilon, parts))
    tables = numbers.split_tables(parts, relation)
    return Demonstration(
        {say("People: epsilon in all"): number(people), say("Columns: epsilon in all"): number(columns)},
        [
            charts.split_table(tables["people"], title=say("Groups of people")),
            charts.split_table(tables["columns"], title=say("Groups of columns")),
        ],
        "You are in one group of people, but in all groups of columns: their epsilons add up.",
        "Parallel composition needs disjoint people. The paper of HMPrivBayes takes groups of "
        "columns for such groups, so it claims too little.",
        {say("The cells"): pd.concat([table.assign(split=name) for name, table in tables.items()])},
        "Group counts your row can change: {moved}. They can cost up to **{moved} × epsilon**.",
        {"moved": relation.histogram_l1},
    )


@demonstration("mechanisms.floats")
def floats(key: str) -> Demonstration:
    """The holes of textbook noise."""
    epsilon = epsilon_slider(key)
    note = say("Few, so that the holes can be seen. Programs use 53, as in the last picture.")
    label = say("Bits of the uniform number")
    bits = lasting(st.slider, label, f"{key}.bits", 8, 16, 10, help=note)
    found = [(f"{count:,}", telltale_share(count, epsilon)) for count in COUNTS]
    shares = pd.DataFrame(found, columns=["count", "share"])
    answers = numbers.zoomed_answers(COUNT, epsilon, bits)
    share = telltale_share(COUNT, epsilon, bits=bits)
    title = say("Textbook noise, {bits} bits, zoomed in", bits=bits)
    return Demonstration(
        {say("Telltale answers, {bits} bits", bits=bits): f"{share:.1%}"},
        [charts.possible_numbers(answers, title=title), charts.telltale(shares)],
        "Textbook noise has holes: one answer can tell its world for sure, whatever epsilon says.",
        "Noise = −sign(u − ½) · ln(1 − 2 |u − ½|) / epsilon, u a multiple of 1/2^bits. The "
        "observer sees all digits and knows all other rows. Mironov (2012) found it.",
        {say("The possible answers in the picture"): answers, say("The shares by true count"): shares},
        "**The remedy** is exactly sampled noise on whole numbers, in which both worlds can give "
        "every number: “Exactly sampled (for publication)” on the pages of methods.",
    )
