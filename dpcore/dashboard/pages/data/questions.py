"""What a person should decide before a table is used: each a sentence, with what its answers do."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.shell import escape
from dpcore.datasets.recognition import RecognizedColumn
from dpcore.language import retold, say

SHOWN = 8  # of what a question is about; the others are seen behind a press
MOST_PILLS = 30  # of a choice that is seen as a whole


@dataclass(frozen=True)
class TableQuestion:
    """A sentence in Markdown, what each answer to it does, and what is seen behind a press.

    Answers are callbacks of buttons. One that does nothing, as "Seen" where there are no others,
    puts away all `parts` of the question, which comes back when another part is in it.
    """

    text: str
    parts: Collection[str] = ()
    answers: Mapping[str, Callable[[], object] | None] = field(default_factory=dict)
    details: Callable[[], object] | None = None


def ask(questions: Sequence[TableQuestion], rows: Intake) -> None:
    """Ask what nobody has answered yet, each with its answers behind it."""
    left = [one for one in questions if not one.parts or {*one.parts} - rows.answers]
    with st.container(border=bool(left), key="data.questions", gap="xxsmall"):
        for one in left:
            row = st.container(horizontal=True, vertical_alignment="center", gap="small")
            row.container().markdown(one.text)
            for answer, act in (one.answers or {say("Seen"): None}).items() if one.parts else ():
                press: Any = act or partial(rows.answers.update, one.parts)
                key = f"data.answer.{answer}:{hash(one.text)}"
                row.button(answer, key=key, on_click=press, type="tertiary")
            if one.details is not None:
                with row.popover(say("Look at them"), type="tertiary", width="content"):
                    one.details()


def choose_some(
    options: Sequence[Any], act: Callable[..., None], key: str, write: Callable[[Any], str] = str, *, every: bool
) -> None:
    """A choice of some of what a question is about, and the press that takes them over, or `every` one."""
    press, few = st.container(), len(options) <= MOST_PILLS  # above, where no open list covers it
    look: Any = {"select_all": False, "format_func": write}
    if few:  # their texts are Markdown
        look = {"selection_mode": "multi", "format_func": lambda one: escape(write(one))}
    choose = st.pills if few else st.multiselect
    chosen = choose(say("Some (for your eyes only)"), options, key=key, **look)
    label = say("Declare these") if chosen or not every else say("Declare all")
    press.button(label, f"data.take:{key}", None, act, (chosen or options,), disabled=not (chosen or every))


def columns_seen(rows: Intake, used: Collection[str]) -> Iterator[TableQuestion]:
    """What was seen in columns in use: one question for all of which the same is proposed.

    Those that could be persons come first, then what most columns have.
    """
    groups = defaultdict[str, dict[str, tuple[str, RecognizedColumn]]](dict)
    for one in rows.column_types:
        for line in filter(None, one.doubt.split("\n") if one.name in used else ()):
            words, _, proposed = line.rpartition(": ")
            if (part := f"{one.name!r}: {line}") not in rows.answers:
                groups[proposed][part] = words, one
    for proposed in sorted(groups, key=lambda words: ("persons" not in words, -len(groups[words]))):
        columns = defaultdict[str, list[str]](list)
        for words, one in groups[proposed].values():
            columns[escape(retold(words))].append(f"**{escape(one.name)}**")
        lines = [", ".join(columns[words]) + f": {words}" * bool(words) for words in columns]
        few = "; ".join(lines[:SHOWN]) + " …" * (len(lines) > SHOWN)
        text = f"{few}: {escape(retold(proposed))}"
        details = partial(st.markdown, "; ".join(lines)) if lines[SHOWN:] else None
        both = groups[proposed].values()
        flags = [one.flags for words, one in both if one.flags and repr(one.flags[-1]) in words]
        join: Any = {say("Put them together"): partial(rows.changes.update, flags=flags)}
        answers = join | {say("Seen"): None} if flags and rows.path is None else {}
        yield TableQuestion(text, groups[proposed], answers, details)
