"""Rules that every released row keeps: proposed from the rows, declared, edited and removed."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.questions import TableQuestion, draw_selection
from dpcore.dashboard.shell import escape
from dpcore.domain.rules import HOW, parse_rules
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import phrase, say

ALWAYS = phrase("In all your rows: {what}. Must {what} hold in general? Yes declares the rules.")
NEVER = phrase("In your rows {n:,} value pairs of {what} never occur. Which are impossible?")
SHOWN, MOST_NAMED = 2, 4  # rules in the summary, and in a question


def draw_rules(rows: Intake, used: Sequence[str], key: str) -> tuple[str, ...]:
    """Draw the text field of the rules that released rows keep; return the rules, one per line.

    Rules of a column that is no longer in use are removed with it.
    """
    known, label = rows.schema, say("Rules that every released row keeps (public)")
    lines = "\n".join(known.rules)
    text = st.text_area(label, lines, key=f"data.rules:{key}", help=say(HOW), placeholder="start <= end")
    gone = {*known.rules} - {*known.rules_among(used)}
    written = known.rules if text == lines else filter(str.strip, text.splitlines())
    return tuple(rule for rule in written if rule not in gone)


def rule_questions(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Yield questions to the user: whether rules that no row breaks hold in general.

    One question is about orders of two columns, and one about pairs of values that never occur.
    """
    # Of a file in a folder, only the first rows were read.
    found = rows.rules(schema.columns) if rows.dataset is None and rows.path is None else ()
    for words, rules in zip((ALWAYS, NEVER), found, strict=False):
        new = tuple(rule for rule in rules if rule not in schema.rules and rule not in rows.answers)
        with suppress(SchemaError):  # column names may contain a rule's symbols
            ends = parse_rules(schema.columns, replace(schema, rules=(*schema.rules, *new)).rules[len(schema.rules) :])
            columns = dict.fromkeys(schema.names[j] for both in ends for j, _ in both)
            few = words == ALWAYS or len(new) <= MOST_NAMED
            names = ", ".join(map(escape, new if few else columns))
            text = say(ALWAYS if few else NEVER, n=len(new), what=f"**{names}**")
            # Unseen rules cannot be declared together.
            yes = {say("Yes"): partial(declare_rules, rows, schema, new, new)} if few else {}
            answers = yes | {say("No"): None}
            key, some = f"data.some:{hash(new)}", partial(declare_rules, rows, schema, new)
            details = partial(draw_selection, new, some, key, every=True) if new[1:] else None
            yield from [TableQuestion(text, new, answers, details)] if new else ()


def declare_rules(rows: Intake, schema: Schema, keys: Sequence[str], chosen: Sequence[str]) -> None:
    """Add the `chosen` rules to the schema, and do not ask about any of the rules `keys` again.

    `chosen` is a part of `keys`.
    """
    rows.answers.update(keys)
    rows.changes.update(rules=(*schema.rules, *chosen))


def known_proposals(rows: Intake, rules: Sequence[str]) -> tuple[str, ...]:
    """Return which of `rules` dpcore proposed from the rows, even if the user wrote them again."""
    known = {*rows.schema.proposed_rules, *rows.answers}
    return tuple(rule for rule in rules if rule in known)


def summary_parts(schema: Schema) -> list[str]:
    """Return the declared rules in a few words, as a list with one text, or an empty list."""
    few = ", ".join(map(escape, schema.rules[:SHOWN])) + " …" * (len(schema.rules) > SHOWN)
    return [say("schema rules kept: {rules}", rules=few)] if schema.rules else []
