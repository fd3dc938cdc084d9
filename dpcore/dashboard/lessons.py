"""The guided tour: short lessons that lead through the pages, with the settings of each step preloaded.

A lesson (`lesson_plans`) is a list of steps. A step opens a page, puts its controls where the lesson needs them, and
says at the foot of the window, wherever the page is scrolled to, what to do and what to see. Nothing runs by itself:
whoever teaches presses Run, and the ledger counts it.
"""

from typing import Any

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import links, session
from dpcore.dashboard.lesson_plans import LESSONS

# The foot leaves the page as much room as it can, and what gets the focus is not scrolled to below it.
FOOT = (
    "<style>[data-testid='stBottomBlockContainer'] {padding-block: 0.5rem 0.75rem} "
    "[data-testid='stMain'] {scroll-padding-bottom: 14rem}</style>"
)


def begin(name: str) -> None:
    """Start a lesson, on the bundled sample; a button's callback."""
    session.set_dataset(datasets.load("sample"))
    to(name, 0)


def to(name: str, number: int) -> None:
    """Go to a step: its page, with its settings and no others. A release that the page shows stays."""
    step = LESSONS[name].steps[number]
    st.session_state["dpcore.lesson"] = (name, number)
    session.drop(f"{step.page}.")
    links.ask(step.page, step.settings)
    if step.tab:
        st.session_state[f"{step.page}.tab"] = step.tab
    st.session_state["dpcore.open"] = step.page


def leave() -> None:
    """End the lesson, and go where the others are; a button's callback."""
    st.session_state.pop("dpcore.lesson", None)
    st.session_state["dpcore.open"] = "home"


def bar(page: str) -> None:
    """Where the lesson is, what to do, and the way on; nothing outside lessons. `page` is the one that is shown."""
    if "dpcore.lesson" not in st.session_state:
        return
    name, number = st.session_state["dpcore.lesson"]
    lesson = LESSONS[name]
    step, last = lesson.steps[number], len(lesson.steps) - 1
    st.html(FOOT)
    with st.bottom, st.container(border=True, key="lesson", gap="xsmall"):
        st.markdown(step.text if page == step.page else "This step of the lesson is on another page.")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f":blue[:material/school: **{lesson.title}** · step {number + 1} of {last + 1}]", width="content"
            )
            if page != step.page:
                way("Go there", "again", (name, number), type="primary", icon=":material/arrow_forward:")
            elif number:
                way("Back", "back", (name, number - 1), icon=":material/arrow_back:")
            if page == step.page and number < last:
                way("Next", "next", (name, number + 1), type="primary", icon=":material/arrow_forward:")
            done = page == step.page and number == last
            st.button("End the lesson", key="lesson.end", on_click=leave, type="primary" if done else "secondary")
            if page == step.page:
                way("Show this step again", "again", (name, number), type="tertiary")


def way(label: str, key: str, step: tuple[str, int], **look: Any) -> None:
    """A button that leads to a step."""
    st.button(label, key=f"lesson.{key}", on_click=to, args=step, **look)
