"""Rules that every released row keeps: proposed from rows, declared by a press or by hand, and taken away again."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.questions import TableQuestion
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.domain.rules import HOW, PROPOSED, parse
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import phrase, say

ALWAYS = phrase("In your rows, {rules} always holds. Must it hold in general? Yes declares that it does.")
NEVER = phrase(
    "In your rows, some values of {columns} never occur together. Are they impossible? Yes declares that they are."
)
SHOWN = 2  # rules in a line


def field(rows: Intake, used: Sequence[str], key: str) -> tuple[str, ...]:
    """The rules, a line for each; one of a column that is no longer in use is gone with it."""
    known, label = rows.schema, say("Rules that every released row keeps (public)")
    lines = "\n".join(known.rules)
    text = st.text_area(label, lines, key=f"data.rules:{key}", help=say(HOW), placeholder="start <= end")
    gone = {*known.rules} - {*known.rules_among(used)}
    written = known.rules if text == lines else filter(str.strip, text.splitlines())
    return tuple(rule for rule in written if rule not in gone)


def questions(rows: Intake, schema: Schema) -> list[TableQuestion]:
    """Whether what no row breaks holds in general: one question of orders, and one of pairs."""
    found, unread = [], rows.fixed is not None or rows.path is not None  # of a file only the first rows are here
    for words, rules in zip((ALWAYS, NEVER), ((), ()) if unread else rows.rules(schema.columns), strict=True):
        new = tuple(rule for rule in rules if not {rule, rule + PROPOSED} & {*schema.rules})
        with suppress(SchemaError):  # of names with the marks of rules in them
            ends = parse(schema.columns, replace(schema, rules=(*schema.rules, *new)).rules[len(schema.rules) :])
            columns = dict.fromkeys(schema.names[j] for both in ends for j, _ in both)
            names = {"rules": ", ".join(map(escaped, new)), "columns": ", ".join(map(escaped, columns))}
            text = say(words, **{name: f"**{text}**" for name, text in names.items()})
            answers = {say("Yes"): partial(declare, rows, schema, text, new), say("No"): None}
            details = partial(show_pairs, new) if words is NEVER else None
            found += [TableQuestion(text, answers, details)] if new else []
    return found


def declare(rows: Intake, schema: Schema, text: str, new: Sequence[str]) -> None:
    """Take rules over that somebody says hold in general; the question is not asked again, should one be deleted."""
    rows.answers.add(text)
    rows.changes.update(rules=(*schema.rules, *(rule + PROPOSED for rule in new)))


def show_pairs(rules: Sequence[str]) -> None:
    """The impossible pairs that a question is about."""
    caption("For your eyes only. Yes declares all of them; each can be deleted behind Change.")
    st.dataframe(pd.DataFrame({say("Rules"): rules}), hide_index=True)


def line(schema: Schema) -> list[str]:
    """The declared rules, in a few words, or nothing."""
    few = ", ".join(escaped(rule.removesuffix(PROPOSED)) for rule in schema.rules[:SHOWN])
    few += " …" if schema.rules[SHOWN:] else ""
    return [say("rules kept: {rules}", rules=few)] if schema.rules else []
