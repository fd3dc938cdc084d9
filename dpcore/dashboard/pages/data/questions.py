"""What a person should decide before a table is used: each a sentence, with what its answers do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.language import say

FIRST, HEIGHT = 4, 204  # questions that are seen at once, and pixels of more, the last of which is seen in part


@dataclass(frozen=True)
class TableQuestion:
    """A sentence in Markdown, what each answer to it does, and what is seen behind a press.

    Answers are callbacks of buttons. One that does nothing puts the question away.
    """

    text: str
    answers: Mapping[str, Callable[[], object] | None] = field(default_factory=dict)
    details: Callable[[], object] | None = None


def ask(questions: Sequence[TableQuestion], rows: Intake) -> None:
    """Ask what nobody has answered yet, each with its answers behind it; many of them scroll."""
    left = [one for one in questions if one.text not in rows.answers]
    height: Any = "content" if len(left) <= FIRST else HEIGHT
    with st.container(border=bool(left), key="data.questions", gap="xxsmall", height=height):
        for one in left:
            row = st.container(horizontal=True, vertical_alignment="center", gap="small")
            row.container().markdown(one.text)
            for answer, act in one.answers.items():
                look: Any = {"on_click": act or partial(rows.answers.add, one.text), "type": "tertiary"}
                row.button(answer, key=f"data.answer.{answer}:{hash(one.text)}", **look)
            if one.details is not None:
                with row.popover(say("Look at them"), type="tertiary", width="content"):
                    one.details()
