"""Rules that every released row keeps: proposed from rows, declared by a press or by hand, and taken away again."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.questions import TableQuestion, choose_some
from dpcore.dashboard.shell import escape
from dpcore.domain.rules import HOW, parse_rules
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import phrase, say

ALWAYS = phrase("In all your rows: {what}. Must that hold in general? Yes declares it.")
NEVER = phrase("In your rows {n:,} value pairs of {what} never occur. Which are impossible?")
SHOWN, MOST_NAMED = 2, 4  # rules in a line, and in a question


def field(rows: Intake, used: Sequence[str], key: str) -> tuple[str, ...]:
    """The rules, a line for each; one of a column that is no longer in use is gone with it."""
    known, label = rows.schema, say("Rules that every released row keeps (public)")
    lines = "\n".join(known.rules)
    text = st.text_area(label, lines, key=f"data.rules:{key}", help=say(HOW), placeholder="start <= end")
    gone = {*known.rules} - {*known.rules_among(used)}
    written = known.rules if text == lines else filter(str.strip, text.splitlines())
    return tuple(rule for rule in written if rule not in gone)


def questions(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Whether what no row breaks holds in general: one question of orders, and one of pairs."""
    read = rows.dataset is None and rows.path is None  # of a path only the first rows are here
    found = rows.rules(schema.columns) if read else ()
    for words, rules in zip((ALWAYS, NEVER), found, strict=False):
        new = tuple(rule for rule in rules if rule not in schema.rules and rule not in rows.answers)
        with suppress(SchemaError):  # of names with the marks of rules in them
            ends = parse_rules(schema.columns, replace(schema, rules=(*schema.rules, *new)).rules[len(schema.rules) :])
            columns = dict.fromkeys(schema.names[j] for both in ends for j, _ in both)
            few = words == ALWAYS or len(new) <= MOST_NAMED
            names = ", ".join(map(escape, new if few else columns))
            text = say(ALWAYS if few else NEVER, n=len(new), what=f"**{names}**")
            yes = {say("Yes"): partial(declare, rows, schema, new, new)} if few else {}  # nobody vouches unseen
            answers = yes | {say("No"): None}
            key, some = f"data.some:{hash(new)}", partial(declare, rows, schema, new)
            details = partial(choose_some, new, some, key, every=True) if new[1:] else None
            yield from [TableQuestion(text, new, answers, details)] if new else ()


def declare(rows: Intake, schema: Schema, parts: Sequence[str], chosen: Sequence[str]) -> None:
    """Take rules over that somebody says hold in general, and none of the others asked."""
    rows.answers.update(parts)
    rows.changes.update(rules=(*schema.rules, *chosen))


def known_proposals(rows: Intake, rules: Sequence[str]) -> tuple[str, ...]:
    """The rules that the program asked about, though somebody may have written them anew."""
    known = {*rows.schema.proposed_rules, *rows.answers}
    return tuple(rule for rule in rules if rule in known)


def line(schema: Schema) -> list[str]:
    """The declared rules, in a few words, or nothing."""
    few = ", ".join(map(escape, schema.rules[:SHOWN])) + " …" * (len(schema.rules) > SHOWN)
    return [say("rules kept: {rules}", rules=few)] if schema.rules else []
