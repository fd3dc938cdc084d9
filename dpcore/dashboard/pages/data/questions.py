"""Questions to answer before a table is used: each is a sentence with buttons as its answers."""

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

SHOWN = 8  # parts in the sentence; a button shows the rest
MOST_PILLS = 30  # options shown at once; more go into a drop-down list


@dataclass(frozen=True)
class TableQuestion:
    """A question in Markdown, with answers as buttons, and details behind a button.

    `answers` has a callback by the text on its button; None, as of "Dismiss note" (the only answer if there
    are no others), dismisses the question. `parts` are the keys of what was asked. A dismissed
    question returns with any new part. `details` draws more.
    """

    text: str
    parts: Collection[str] = ()
    answers: Mapping[str, Callable[[], object] | None] = field(default_factory=dict)
    details: Callable[[], object] | None = None


def draw_questions(questions: Sequence[TableQuestion], rows: Intake) -> None:
    """Draw the questions that are not answered yet, each with its answers as buttons."""
    left = [one for one in questions if not one.parts or {*one.parts} - rows.answers]
    with st.container(border=bool(left), key="data.questions", gap="xxsmall"):
        for one in left:
            row = st.container(horizontal=True, vertical_alignment="center", gap="small")
            row.container().markdown(one.text)
            for answer, act in (one.answers or {say("Dismiss note"): None}).items() if one.parts else ():
                press: Any = act or partial(rows.answers.update, one.parts)
                key = f"data.answer.{answer}:{hash(one.text)}"
                row.button(answer, key=key, on_click=press, type="tertiary")
            if one.details is not None:
                with row.popover(say("Show details of the question"), type="tertiary", width="content"):
                    one.details()


def draw_selection(
    options: Sequence[Any], act: Callable[..., None], key: str, write: Callable[[Any], str] = str, *, every: bool
) -> None:
    """Draw a choice of some `options`, and the button that passes the chosen ones to `act`.

    If `every` is true, the button passes all options when none is chosen. `key` is that of the
    controls, and `write` formats an option.
    """
    # Above, so that no open list covers the button.
    press, few = st.container(), len(options) <= MOST_PILLS
    look: Any = {"select_all": False, "format_func": write}
    if few:  # pills show Markdown
        look = {"selection_mode": "multi", "format_func": lambda one: escape(write(one))}
    choose = st.pills if few else st.multiselect
    chosen = choose(say("Choose options (for your eyes only)"), options, key=key, **look)
    label = say("Declare chosen options") if chosen or not every else say("Declare all options")
    press.button(label, f"data.take:{key}", None, act, (chosen or options,), disabled=not (chosen or every))


def column_questions(rows: Intake, used: Collection[str]) -> Iterator[TableQuestion]:
    """Yield the questions on the columns in use: one for all columns with the same proposal.

    Columns that may stand for persons come first, then proposals that concern most columns.
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
        join: Any = {say("Join these columns into one"): partial(rows.changes.update, flags=flags)}
        answers = join | {say("Dismiss note"): None} if flags and rows.path is None else {}
        yield TableQuestion(text, groups[proposed], answers, details)
