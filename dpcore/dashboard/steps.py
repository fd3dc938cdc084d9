"""The five steps from rows to a table that is handed on, as a strip above the pages that they lead through."""

from __future__ import annotations

import streamlit as st

from dpcore.dashboard import session
from dpcore.language import phrase, say
from dpcore.methods import METHODS

STEPS = (phrase("Data"), phrase("What is public"), phrase("Method"), phrase("Release"), phrase("Take home"))
DONE, HERE, AHEAD = ":material/check_circle:", ":material/arrow_circle_right:", ":material/circle:"
USUAL = "networks"  # where rows go if nobody chose a method yet


def bar(page: str) -> None:
    """The strip, on the page of the data and on those of methods; it remembers which method somebody works with."""
    if page == "home" or "dpcore.lesson" in st.session_state:
        return  # before every method, and scikit-learn, is imported: Home is what a fresh server is waited for
    methods = {kind.page for kind in METHODS.values()}
    if page not in {"data", *methods}:
        return
    if page in methods:
        st.session_state["dpcore.method"] = page
    method: str = st.session_state.get("dpcore.method", USUAL)
    made, data = session.shown(method), session.dataset()
    released = made is not None and made.data.token == data.token
    ends = str(st.session_state.get(f"{method}.tab") or "") == STEPS[4]
    chosen = st.session_state.get("data.done") is not None or page != "data"
    done = (chosen, chosen and data.schema.source != "inferred", released, released, released and ends)
    here = 0 if page == "data" and not chosen else 1 if page == "data" else 2 if not released else 4 if ends else 3
    leads = ("data", "data", method, method, method)
    with st.container(horizontal=True, gap="medium", key="steps"):
        for number, (name, passed) in enumerate(zip(STEPS, done, strict=True)):
            st.button(
                f"**{say(name)}**" if number == here else say(name),
                key=f"steps.{number}",
                type="tertiary",
                icon=HERE if number == here else DONE if passed else AHEAD,
                disabled=number > 2 and not released,
                on_click=to,
                args=(leads[number], number == 4),
            )


def to(page: str, home: bool) -> None:
    """Go to a step's page, and to the tab of what is taken home; a button's callback."""
    if home:
        st.session_state[f"{page}.tab"] = STEPS[4]
    st.session_state["dpcore.open"] = page
