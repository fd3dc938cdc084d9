"""Composition on screen: repeated queries, disjoint groups, and noise in floating point.

All of it is arithmetic on made-up numbers. No data are read and nothing is spent.
"""

from functools import cache

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls
from dpcore.dashboard.demonstration import Demonstration, demonstration, epsilon_slider
from dpcore.dashboard.pages.mechanisms import composition_numbers as numbers
from dpcore.dashboard.pages.mechanisms.mechanisms import draw_zoom
from dpcore.dashboard.widgets import choice, lasting, seed_button
from dpcore.language import phrase, say
from dpcore.text import number

TRUTH, MOST_ANSWERS, SMALL_DELTA = 100, 100, 1e-6
COUNT, COUNTS = 10, (0, 1, 10, 100, 1_000, 10_000)
telltale_share = cache(numbers.telltale_share)


@demonstration("mechanisms.asking")
def repeated_queries(key: str) -> Demonstration:
    """Return the demonstration of one count that is queried again and again."""
    answers = lasting(st.slider, say("Answers to one query (k)"), f"{key}.k", 1, MOST_ANSWERS, 20)
    epsilon = epsilon_slider(key, usual=0.5)
    window = draw_zoom(key)
    seed = seed_button(key, say("Draw new answers"))
    errors = numbers.average_deviations(epsilon, MOST_ANSWERS)
    found = numbers.repeated_answers(TRUTH, epsilon, answers, seed)
    losses, worst = numbers.loss_distribution(epsilon, answers), answers * epsilon
    likely = numbers.epsilon_from_delta(epsilon, answers, SMALL_DELTA)
    values = {"delta": SMALL_DELTA, "likely": number(likely), "worst": number(worst)}
    label = say("epsilon {likely} with delta {delta:g}", **values)
    return Demonstration(
        {say("Total epsilon"): number(worst)},
        [
            charts.running_average(found, truth=TRUTH, window=window),
            charts.average_errors(errors, at=answers),
            charts.loss_sums(losses, worst=worst, likely=likely, label=label),
        ],
        "Noise averages out, so each answer is charged: epsilon {answers} × {epsilon:g} = {worst}.",
        "Your row changes the count by 1. Answers have Laplace noise; losses are those of geometric noise: epsilon "
        "{worst} without delta, or {likely} with delta {delta:g}. Both bounds are tight.",
        {
            say("All answers and their running average"): found,
            say("Errors of the average, by number of answers"): errors,
            say("Sums of privacy losses and their probabilities"): losses,
        },
        "**Sharing one epsilon gains nothing:** with epsilon/k for each answer, their average has "
        "k times the variance of one answer at epsilon. Ask once, and write the answer down.",
        values | {"answers": answers, "epsilon": epsilon},
    )


@demonstration("mechanisms.groups")
def disjoint_groups(key: str) -> Demonstration:
    """Return the demonstration of splitting people and of splitting columns into groups."""
    parts = lasting(st.slider, say("Number of groups"), f"{key}.parts", 2, len(numbers.COLUMNS), 4)
    epsilon = epsilon_slider(key, phrase("Epsilon of each group's count"))
    relation = Relation(choice(st.radio, say("Neighboring data sets"), f"{key}.relation", controls.RELATIONS))
    people = float(numbers.split_people_epsilon(epsilon, parts, relation))
    columns = float(numbers.split_columns_epsilon(epsilon, parts))
    tables = numbers.split_tables(parts, relation)
    return Demonstration(
        {say("Groups of people: total epsilon"): number(people), say("Column groups: total epsilon"): number(columns)},
        [
            charts.split_table(tables["people"], title=say("Groups of people")),
            charts.split_table(tables["columns"], title=say("Groups of columns")),
        ],
        "You are in one group of people, but in all groups of columns: their epsilons add up.",
        "Parallel composition needs disjoint groups of people. The paper of HMPrivBayes applies "
        "it to groups of columns, so it claims too small an epsilon.",
        {say("All cells of both tables"): pd.concat([table.assign(split=name) for name, table in tables.items()])},
        "Group counts that your row can change: {moved}, at a cost of up to **{moved} × epsilon**.",
        {"moved": relation.histogram_l1},
    )


@demonstration("mechanisms.floats")
def floating_point(key: str) -> Demonstration:
    """Return the demonstration of answers that textbook Laplace noise cannot produce.

    An answer that is possible in only one of two neighboring data sets reveals which one was used.
    """
    epsilon = epsilon_slider(key)
    note = say("Few bits make holes in noise visible. Programs use 53 bits, as in the last chart.")
    label = say("Bits of the uniform random number")
    bits = lasting(st.slider, label, f"{key}.bits", 8, 16, 10, help=note)
    found = [(f"{count:,}", telltale_share(count, epsilon)) for count in COUNTS]
    shares = pd.DataFrame(found, columns=["count", "share"])
    answers = numbers.zoomed_answers(COUNT, epsilon, bits)
    share = telltale_share(COUNT, epsilon, bits=bits)
    title = say("Textbook noise, {bits} bits, zoomed in", bits=bits)
    return Demonstration(
        {say("Revealing answers, {bits} bits", bits=bits): f"{share:.1%}"},
        [charts.possible_numbers(answers, title=title), charts.telltale(shares)],
        "Textbook noise has holes: one answer can reveal which of two data sets was used, whatever epsilon is.",
        "Noise = −sign(u − ½) · ln(1 − 2 |u − ½|) / epsilon, u a multiple of 1/2^bits. The "
        "observer sees all digits and knows all other rows. Mironov (2012) found these holes.",
        {say("Possible answers"): answers, say("Revealing answers by true count"): shares},
        "**The remedy** is exactly sampled noise on whole numbers: both data sets can then give "
        "every number. Choose “Exactly sampled (for publication)” on the pages of methods.",
    )
