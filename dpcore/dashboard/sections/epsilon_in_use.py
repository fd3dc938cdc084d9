"""Is 1 a good epsilon, and what if somebody is in twice: answers that every class asks for, with their sources."""

import pandas as pd
import streamlit as st

from dpcore.dashboard import controls
from dpcore.text import number, odds

# Who, what for, epsilon, what it protects, who says so.
IN_USE = (
    ("US Census Bureau", "Counts for drawing districts, 2020", "17.14", "a person; homes cost 2.47 more"),
    ("Apple", "Words that are new to its keyboard", "16", "what a user gives on one day"),
    ("Apple", "Emojis that are used most", "4", "what a user gives on one day"),
    ("Google", "How busy places were in the pandemic", "2.64", "what a user did on one day"),
    ("Apple", "Which kinds of health data are used", "2", "what a user gives on one day"),
)
SOURCES = (
    "Sources: Census Bureau, “Census Bureau Sets Key Parameters to Protect Privacy in 2020 Census Results” (2021); "
    "Aktay and others, “Google COVID-19 Community Mobility Reports” (2020); Apple’s by Desfontaines, “A list of "
    "real-world uses of differential privacy”, which has many more."
)
TIMES = (1, 2, 3, 10)


def answered(epsilon: float) -> None:
    """Both answers, folded."""
    with st.expander("Is 1 a good epsilon? What do others use?"):
        st.markdown(
            "No number is good for every purpose. Dwork, who coined it with others, thought of **0.01, 0.1, or in some "
            "cases 0.7 or 1.1** (survey of 2008). Ponomareva and others (2023) call **up to 1 strong** and up to 10 "
            "reasonable. What was in fact used is often larger, and **what is protected differs**: with a day as the "
            "unit, thirty days cost up to thirty times as much."
        )
        found = pd.DataFrame(IN_USE, columns=["who", "what for", "epsilon", "what it protects"])
        st.dataframe(found, hide_index=True, width="content")
        st.caption(SOURCES)
        st.markdown(
            f"A better question: how sure may somebody become about me? At epsilon {epsilon:g}: "
            f"{controls.odds_sentence(epsilon)}"
        )
    with st.expander("What if I am in twice?"):
        st.markdown(
            "Epsilon is promised for **one row** unless a page says “person”. Whoever has several rows pays for each: "
            "their epsilons add up. On **Data & schema** you can name the column that tells persons apart; then the "
            "promise is for a person with all rows."
        )
        sure = [f"{100 * odds(times * epsilon):.1f} %" for times in TIMES]
        of_rows = {"epsilon for you": [number(times * epsilon) for times in TIMES], "50:50 before, at most after": sure}
        st.dataframe(pd.DataFrame({"rows of yours": TIMES, **of_rows}), hide_index=True, width="content")
