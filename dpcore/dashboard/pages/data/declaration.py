"""The lines of a schema that were read off rows: which they are, and what declares them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dpcore.dashboard import folders, intake, jobs, session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data import privacy_unit, rules
from dpcore.dashboard.pages.data.lines import lost_taxonomies
from dpcore.dashboard.pages.data.questions import SHOWN, TableQuestion, choose_some, columns_seen
from dpcore.dashboard.shell import drop_waiting_runs, escape, open_page
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets import Dataset
from dpcore.datasets.proposals import PROPOSED, RARE, outward, was_edited, with_value, without_values
from dpcore.domain.schema import Schema
from dpcore.language import phrase, retold, say
from dpcore.text import canonical

Rare = dict[str, dict[str, float]]
"""Of columns, the values of few rows or persons, and the share of those that has each."""
ENDS = {"skip_first": "The first row looks like", "skip_last": "The last row looks like"}  # notes on a file
UNDECLARED = phrase(
    ":red[:material/gpp_bad:] **Proposed from your rows: {n:,} of {all:,} columns.** The guarantee "
    "holds only if you would have written these values, and which cells may be missing, without "
    "looking at the rows. The button above declares that."
)
RARE_WORDS = phrase("**Values of fewer than {rare} rows or persons count as missing**: {columns}.")
DROPPED = phrase("Taxonomies that no longer fit their values are dropped: {names}.")
SINGLE = phrase("Values of single rows are not declared. Write rounder bounds for {columns}.")


def go_on(rows: Intake, *known: Any) -> NoReturn:
    """Keep a schema and what is known of it, and draw the page anew."""
    rows.keep(*known)
    intake.restart_page()


def take_in(rows: Intake, schema: Schema, left: Sequence[str], names: Collection[str]) -> NoReturn:
    """Draw the page anew with more columns in use, as the rows have them; what was edited stays."""
    joined = list(map(rows.join_columns, rows.changes.pop("flags", ())))
    columns = {column.name: column for column in (*schema, *map(rows.proposal, names), *joined)}
    ordered = [columns[name] for name in rows.headers if name in columns]
    target = schema.target if schema.target in columns.keys() & {*rows.headers} else None
    changes = {"target": target, "rules": schema.rules_among(rows.headers), **rows.changes}
    changes["proposed_rules"] = rules.known_proposals(rows, changes["rules"])
    rows.changes.clear()
    schema = replace(schema, columns=tuple(ordered), **changes)
    go_on(rows, schema, [*left, *names, *(column.name for column in joined)])


def questions(rows: Intake, schema: Schema, left: Sequence[str]) -> list[TableQuestion]:
    """What nobody has declared, and what should be looked at: what spoils a release comes first."""
    found = []
    if left:
        words = say(UNDECLARED, n=len(left), all=len(schema))
        found.append(TableQuestion(words, details=lambda: read_off_lines(rows, schema, left)))
    for note in rows.notes:
        ends = [end for end, beginning in ENDS.items() if note.startswith(beginning) and rows.content is not None]
        answers = {say("Leave it out"): partial(intake.skip_row, end) for end in ends}
        text = escape(retold(note))
        found.append(TableQuestion(text, [text], answers | {say("Seen"): None}))
    if gone := lost_taxonomies(schema, rows.schema):
        text = say(DROPPED, names=escape(", ".join(gone)))
        found.append(TableQuestion(text, [text]))
    found += [*privacy_unit.questions(rows, schema), *columns_seen(rows, schema.names)]
    if rare := rare_values(rows, schema, left):
        shares = sorted(((sum(rare[name].values()), name) for name in rare), reverse=True)
        named = [f"**{escape(name)}**{f' {share:.1%}' * (share >= 0.001)}" for share, name in shares]
        few = ", ".join(named[:SHOWN]) + " …" * (len(named) > SHOWN)
        words = say(RARE_WORDS, columns=few, rare=RARE)
        details = partial(choose_values, rows, schema, left, rare)
        found.append(TableQuestion(words, rare_parts(rare, schema), details=details))
    return [*found, *rules.questions(rows, schema), *privacy_unit.question_of_rows(rows, schema)]


def read_off_lines(rows: Intake, schema: Schema, left: Sequence[str]) -> None:
    """The lines that nobody has declared yet, and the way to go on without."""
    markdown("Declare all that could occur. Rounding outward is no privacy by itself.")
    lines = {name: schema[name].values_text for name in left}
    st.dataframe(pd.DataFrame({say("Public values"): lines}), height=220, key="data.lines")
    jobs.request_button(say("Use without a guarantee"), rows.request, "unproved", type="tertiary")


def rare_values(rows: Intake, schema: Schema, left: Sequence[str]) -> Rare:
    """The values of few rows, or persons, that are not listed, with their columns.

    A line that no one has declared yet loses them, wherever it is from: with another column that
    tells persons apart, or a schema from a file, it may have some. What is ticked stays.
    """
    lines = [one for one in schema if rows.column_types and one.origin in PROPOSED and not one.numeric]
    rare = {one.name: rows.rare(one.name, schema.unit) for one in lines}
    unasked = {name: {*rare[name]} - rows.listed_rare[name] for name in left if name in rare}
    fewer = tuple(without_values(column, unasked.get(column.name, ())) for column in schema)
    if fewer != schema.columns:
        go_on(rows, replace(schema, columns=fewer), left)
    listed = {line.name: {*map(canonical, line.categories)} for line in lines}
    left_out = {name: {*rare[name]} - listed[name] for name in rare}
    return {name: dict(rare[name][one] for one in some) for name, some in left_out.items() if some}


def rare_parts(rare: Rare, schema: Schema) -> list[str]:
    """What a question on rare values asks: of another unit they are others."""
    return [f"rare {name} {schema.unit}" for name in rare]


def choose_values(rows: Intake, schema: Schema, left: Sequence[str], rare: Rare) -> None:
    """Every value that is not listed, some of which can be; columns that have few come first."""
    caption("Rare values can betray people. List only what you would list without these rows.")
    names = sorted(rare, key=lambda name: len(rare[name]))
    values = [(name, text) for name in names for text in sorted(rare[name])]

    def act(chosen: Sequence[tuple[str, str]]) -> None:
        """List these; of the others nothing is asked any more."""
        rows.answers.update(rare_parts(rare, schema))
        columns = {one.name: one for one in schema}
        for name, text in chosen:
            rows.listed_rare[name].add(canonical(text))
            columns[name] = with_value(columns[name], text)
            del rare[name][text]
            if not rare[name] and rows.is_whole(name):  # all values are listed
                columns[name] = replace(columns[name], missing=False, outside="refuse")
        rows.keep(replace(schema, columns=tuple(columns.values())), left)
        drop_waiting_runs(intake.USE)

    choose_some(values, act, f"data.listed:{rows.token}:{rows.version}", ": ".join, every=False)


def use(rows: Intake, schema: Schema, left: Sequence[str], share: float, at: Any) -> Dataset | None:
    """The page's one button: it declares all lines and uses the table, or leads on if that is done.

    What it gives is the data, once somebody pressed it and they are there.
    """
    schemas = {"use": intake.with_source(schema, ()), "unproved": intake.with_source(schema, left)}
    plan, now = folders.make_plan(rows, schemas["use"], share), session.dataset()
    action = say("Use this table") if plan is None else plan.label
    look: Any = {"type": "primary", "icon": ":material/check:", "width": "stretch"}
    if left:
        action = say("This is public: {action}", action=action[0].lower() + action[1:])
    if exact := [name for name in left if was_edited(outward(schema[name]), schema[name])]:
        look |= {"disabled": True, "help": say(SINGLE, columns=escape(", ".join(exact)))}
    with at:
        if now.token != rows.token_of(share) or now.schema != schemas["use"]:
            jobs.request_button(action, rows.request, "use", **look)
        elif st.button(say("Make synthetic data"), key="data.next", **look):
            open_page("networks")  # whose usual method keeps most
    pressed = jobs.waiting_run(rows.request)  # its schema is the one that was on the screen
    if plan is None:
        session.waiting_runs().pop(rows.request, None)
        return intake.make_dataset(rows, schemas[pressed], share) if pressed else None
    jobs.finish(rows.request)
    return folders.run_encoding(replace(plan, schema=schemas[pressed or "use"]))
