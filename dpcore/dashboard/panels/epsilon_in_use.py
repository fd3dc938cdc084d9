"""Answers to two questions of every class: what a good epsilon is, and persons with two rows."""

import pandas as pd
import streamlit as st

from dpcore.dashboard.widgets import caption, markdown
from dpcore.language import phrase, say
from dpcore.text import TENTHS, number, odds, percent

PERSON, DAY = phrase("a person; homes: epsilon 2.47 more"), phrase("what a user does on one day")
# Who, what for, epsilon, what it protects.
IN_USE = (
    (phrase("US Census Bureau"), phrase("Counts for drawing districts, 2020"), "17.14", PERSON),
    (phrase("Apple"), phrase("Words that are new to its keyboard"), "16", DAY),
    (phrase("Apple"), phrase("Emojis that are used most"), "4", DAY),
    (phrase("Google (mobility reports)"), phrase("How busy places were in the pandemic"), "2.64", DAY),
    (phrase("Apple"), phrase("Which kinds of health data are used"), "2", DAY),
)


def draw_answers(epsilon: float) -> None:
    """Draw two questions with their answers: what a good epsilon is, and persons with two rows.

    `epsilon` is that of one row, for the second answer.
    """
    with st.expander(say("Is 1 a good epsilon? What do others use?")):
        markdown(
            "No number is good for every purpose: ask how sure someone can become. Dwork (2008) "
            "thought of **0.01, 0.1, or in some cases 0.7 or 1.1**. Ponomareva and others (2023) "
            "call **up to 1 strong** and up to 10 reasonable. **What is protected differs**: "
            "thirty days can cost up to thirty times the epsilon of one day."
        )
        names = [say("organization"), say("what was released"), say("epsilon"), say("what epsilon protects")]
        found = pd.DataFrame([[say(cell) for cell in row] for row in IN_USE], columns=names)
        st.dataframe(found, hide_index=True, width="content")
        caption(
            "Sources: Census Bureau (2021); Aktay and others, “Google COVID-19 Community "
            "Mobility Reports” (2020); Desfontaines, “A list of real-world uses of differential privacy”."
        )
    with st.expander(say("What if two rows of the data are mine?")):
        markdown(
            "Epsilon is promised for **one row** unless a page says “person”: epsilons of your rows "
            "add up. Two rows: epsilon {twice}, and 50:50 becomes at most {sure}. Where **Data** "
            "tells persons apart, epsilon is for a person with all rows.",
            twice=number(2 * epsilon),
            sure=percent(odds(2 * epsilon), TENTHS),
        )
