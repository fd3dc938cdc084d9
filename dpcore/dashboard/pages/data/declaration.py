"""Declaration of a schema: questions on lines inferred from the rows, and the button to declare."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dpcore.dashboard import folders, intake, jobs, session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data import privacy_unit, rules
from dpcore.dashboard.pages.data.questions import (
    SHOWN,
    TableQuestion,
    column_questions,
    draw_selection,
)
from dpcore.dashboard.pages.data.schema_table import lost_taxonomies
from dpcore.dashboard.shell import drop_waiting_runs, escape, open_page
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets import Dataset
from dpcore.datasets.proposals import (
    PROPOSED,
    RARE,
    round_bounds_outward,
    was_edited,
    with_value,
    without_values,
)
from dpcore.domain.schema import Schema
from dpcore.language import phrase, retold, say
from dpcore.text import canonical

Rare = dict[str, dict[str, float]]
"""Of columns, the values of few rows or persons, and the share of those that has each."""
# Beginnings of notes on a file.
ENDS = {"skip_first": "The first row looks like", "skip_last": "The last row looks like"}
UNDECLARED = phrase(
    ":red[:material/gpp_bad:] **Proposed from your rows: {n:,} of {all:,} columns.** The guarantee "
    "holds only if you would have written these values, and which cells may be missing, without "
    "looking at the rows. The button above declares that."
)
RARE_WORDS = phrase("**Values of fewer than {rare} rows or persons count as missing**: {columns}.")
DROPPED = phrase("Taxonomies that no longer fit their values are dropped: {names}.")
SINGLE = phrase("A bound equal to one row's value cannot be declared. Round the bounds of {columns}.")


def keep_and_rerun(rows: Intake, *known: Any) -> NoReturn:
    """Keep a schema and where its lines come from, and draw the page again.

    `known` are the arguments of `rows.set_schema`: the schema, and the names of its columns that
    were inferred.
    """
    rows.set_schema(*known)
    intake.restart_page()


def add_columns(rows: Intake, schema: Schema, left: Sequence[str], names: Collection[str]) -> NoReturn:
    """Add columns to the schema, as proposed from the rows, and draw the page again.

    `left` are the columns that were inferred and not declared yet, and `names` the columns to add.
    Edits of other columns are kept.
    """
    joined = list(map(rows.join_columns, rows.changes.pop("flags", ())))
    columns = {column.name: column for column in (*schema, *map(rows.proposal, names), *joined)}
    ordered = [columns[name] for name in rows.headers if name in columns]
    target = schema.target if schema.target in columns.keys() & {*rows.headers} else None
    changes = {"target": target, "rules": schema.rules_among(rows.headers), **rows.changes}
    changes["proposed_rules"] = rules.known_proposals(rows, changes["rules"])
    rows.changes.clear()
    schema = replace(schema, columns=tuple(ordered), **changes)
    keep_and_rerun(rows, schema, [*left, *names, *(column.name for column in joined)])


def make_questions(rows: Intake, schema: Schema, left: Sequence[str]) -> list[TableQuestion]:
    """Return the questions on a table before its use; the most harmful problems come first.

    `left` are the columns whose lines were inferred and not declared yet.
    """
    found = []
    if left:
        text = say(UNDECLARED, n=len(left), all=len(schema))
        found.append(TableQuestion(text, details=lambda: draw_inferred_columns(rows, schema, left)))
    for note in rows.notes:
        ends = [end for end, beginning in ENDS.items() if note.startswith(beginning) and rows.content is not None]
        answers = {say("Leave this row of the file out"): partial(intake.skip_row, end) for end in ends}
        text = escape(retold(note))
        found.append(TableQuestion(text, [text], answers | {say("Dismiss note"): None}))
    if gone := lost_taxonomies(schema, rows.schema):
        text = say(DROPPED, names=escape(", ".join(gone)))
        found.append(TableQuestion(text, [text]))
    found += [*privacy_unit.person_questions(rows, schema), *column_questions(rows, schema.names)]
    if rare := rare_values(rows, schema, left):
        shares = sorted(((sum(rare[name].values()), name) for name in rare), reverse=True)
        named = [f"**{escape(name)}**{f' {share:.1%}' * (share >= 0.001)}" for share, name in shares]
        few = ", ".join(named[:SHOWN]) + " …" * (len(named) > SHOWN)
        words = say(RARE_WORDS, columns=few, rare=RARE)
        details = partial(draw_rare_values, rows, schema, left, rare)
        found.append(TableQuestion(words, rare_keys(rare, schema), details=details))
    return [*found, *rules.rule_questions(rows, schema), *privacy_unit.row_count_question(rows, schema)]


def draw_inferred_columns(rows: Intake, schema: Schema, left: Sequence[str]) -> None:
    """Draw the schema lines `left`, which no one has declared, and a button to use them anyway."""
    markdown("Declare all values that could occur. Rounding bounds outward protects no one.")
    lines = {name: schema[name].values_text for name in left}
    st.dataframe(pd.DataFrame({say("Public values"): lines}), height=220, key="data.lines")
    jobs.request_button(say("Use table without a guarantee"), rows.request, "unproved", type="tertiary")


def rare_values(rows: Intake, schema: Schema, left: Sequence[str]) -> Rare:
    """Return, by column, the values of few rows or persons that the schema does not list.

    Each value has its share of rows or persons. If columns not declared yet (`left`) list such
    values, these are removed, unless the user ticked them, and the page is drawn again. Any change
    can make a value rare: another person column, or a schema file.
    """
    lines = [one for one in schema if rows.column_types and one.origin in PROPOSED and not one.numeric]
    rare = {one.name: rows.rare(one.name, schema.unit) for one in lines}
    unasked = {name: {*rare[name]} - rows.listed_rare[name] for name in left if name in rare}
    fewer = tuple(without_values(column, unasked.get(column.name, ())) for column in schema)
    if fewer != schema.columns:
        keep_and_rerun(rows, replace(schema, columns=fewer), left)
    listed = {line.name: {*map(canonical, line.categories)} for line in lines}
    left_out = {name: {*rare[name]} - listed[name] for name in rare}
    return {name: dict(rare[name][one] for one in some) for name, some in left_out.items() if some}


def rare_keys(rare: Rare, schema: Schema) -> list[str]:
    """Return the keys under which the user's answers on rare values are kept, one per column."""
    return [f"rare {name} {schema.unit}" for name in rare]


def draw_rare_values(rows: Intake, schema: Schema, left: Sequence[str], rare: Rare) -> None:
    """Draw the choice of rare values to list in the schema; columns with few of them come first.

    `rare` is the result of `rare_values`, and `left` are the columns not declared yet.
    """
    caption("Rare values can betray people. List only what you would list without these rows.")
    names = sorted(rare, key=lambda name: len(rare[name]))
    values = [(name, text) for name in names for text in sorted(rare[name])]

    def act(chosen: Sequence[tuple[str, str]]) -> None:
        """List the `chosen` values in the schema, and ask about the others no more."""
        rows.answers.update(rare_keys(rare, schema))
        columns = {one.name: one for one in schema}
        for name, text in chosen:
            rows.listed_rare[name].add(canonical(text))
            columns[name] = with_value(columns[name], text)
            del rare[name][text]
            if not rare[name] and rows.is_whole(name):  # every value is listed
                columns[name] = replace(columns[name], missing=False, outside="refuse")
        rows.set_schema(replace(schema, columns=tuple(columns.values())), left)
        drop_waiting_runs(intake.USE)

    draw_selection(values, act, f"data.listed:{rows.token}:{rows.version}", ": ".join, every=False)


def draw_use_button(rows: Intake, schema: Schema, left: Sequence[str], share: float, at: Any) -> Dataset | None:
    """Draw the button that declares the schema and uses the table, or else leads to a method.

    Returns the data once the button was pressed and they are ready, else None. `left` are the
    columns not declared yet, `share` is the share of rows set apart for tests, and `at` the
    container that the button is drawn in.
    """
    schemas = {"use": intake.with_source(schema, ()), "unproved": intake.with_source(schema, left)}
    plan, now = folders.make_plan(rows, schemas["use"], share), session.dataset()
    action = say("Use this table") if plan is None else plan.label
    look: Any = {"type": "primary", "icon": ":material/check:", "width": "stretch"}
    if left:
        action = say("Schema is public: {action}", action=action[0].lower() + action[1:])
    if exact := [name for name in left if was_edited(round_bounds_outward(schema[name]), schema[name])]:
        look |= {"disabled": True, "help": say(SINGLE, columns=escape(", ".join(exact)))}
    with at:
        if now.token != rows.token_of(share) or now.schema != schemas["use"]:
            jobs.request_button(action, rows.request, "use", **look)
        elif st.button(say("Next: open a method’s page"), key="data.next", **look):
            open_page("networks")  # its default method keeps most
    pressed = jobs.waiting_run(rows.request)  # declares the schema that was on the screen
    if plan is None:
        session.waiting_runs().pop(rows.request, None)
        return intake.make_dataset(rows, schemas[pressed], share) if pressed else None
    jobs.finish(rows.request)
    return folders.run_encoding(replace(plan, schema=schemas[pressed or "use"]))
