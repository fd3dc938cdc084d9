"""What a person should decide before a table is used: each a sentence, with what its answers do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.language import say

FIRST = 3  # questions that are seen at once


@dataclass(frozen=True)
class TableQuestion:
    """A sentence in Markdown, what each answer to it does, and what is seen behind a press.

    Answers are callbacks of buttons. One that does nothing puts the question away.
    """

    text: str
    answers: Mapping[str, Callable[[], object] | None] = field(default_factory=dict)
    details: Callable[[], object] | None = None


def ask(questions: Sequence[TableQuestion], rows: Intake) -> None:
    """Ask what nobody has answered yet, the first ones at once."""
    left = [one for one in questions if one.text not in rows.answers]
    left.sort(key=lambda one: one.details is None)  # no popover stands in a popover
    if not left:
        return
    with st.container(border=True, key="data.questions", gap="xxsmall"):
        for question in left[:FIRST]:
            draw(question, rows)
        if rest := left[FIRST:]:
            with st.popover(say("More questions: {n:,}", n=len(rest)), type="tertiary"):
                for question in rest:
                    draw(question, rows)


def draw(question: TableQuestion, rows: Intake) -> None:
    """One question, with its answers behind it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container():
            st.markdown(question.text)
        for answer, act in question.answers.items():
            look = {"on_click": rows.answers.add, "args": (question.text,)} if act is None else {"on_click": act}
            st.button(answer, key=f"data.answer.{answer}:{hash(question.text)}", type="tertiary", **look)
        if question.details is not None:
            with st.popover(say("Look at them"), type="tertiary", width="content"):
                question.details()
