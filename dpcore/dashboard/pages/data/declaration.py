"""The lines of a schema that were read off rows: which they are, and what declares them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dpcore.dashboard import folders, intake, jobs, session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.lines import dropped
from dpcore.dashboard.pages.data.questions import TableQuestion
from dpcore.dashboard.shell import escaped, open_page
from dpcore.dashboard.widgets import caption, markdown
from dpcore.datasets import Dataset
from dpcore.domain.declaration import PROPOSED, changed, outward, with_value, without_values
from dpcore.domain.infer import RARE
from dpcore.domain.schema import Schema
from dpcore.language import phrase, say
from dpcore.text import canonical

MOST_NAMED = 3  # columns with rare values
Rare = list[tuple[str, str, float]]
UNDECLARED = phrase(
    ":red[:material/gpp_bad:] **Proposed from your rows: {n:,} of {all:,} columns.** The guarantee "
    "holds only if you would have written these values, and which cells may be missing, without "
    "looking at the rows. The button above declares that."
)
SINGLE = phrase("Values of single rows are not declared. Write rounder bounds for {columns}.")


def go_on(rows: Intake, *known: Any) -> NoReturn:
    """Keep a schema and what is known of it, and draw the page anew."""
    rows.keep(*known)
    intake.begin_anew()


def take_in(rows: Intake, schema: Schema, left: Sequence[str], names: Collection[str]) -> NoReturn:
    """Draw the page anew with more columns in use, as the rows have them; what was edited stays."""
    joined = [rows.put_together(flags) for flags in filter(None, [rows.changes.pop("flags", ())])]
    columns = {column.name: column for column in (*schema, *map(rows.proposal, names), *joined)}
    ordered = [columns[name] for name in rows.headers if name in columns]
    target = schema.target if schema.target in columns.keys() & {*rows.headers} else None
    changes = {"target": target, "rules": schema.rules_among(rows.headers), **rows.changes}
    rows.changes.clear()
    schema = replace(schema, columns=tuple(ordered), **changes)
    go_on(rows, schema, [*left, *names, *(column.name for column in joined)])


def questions(rows: Intake, schema: Schema, left: Sequence[str]) -> list[TableQuestion]:
    """What nobody has declared, what is not listed, and what should be looked at."""
    found = []
    if left:
        words = say(UNDECLARED, n=len(left), all=len(schema))
        found.append(TableQuestion(words, details=lambda: read_off_lines(rows, schema, left)))
    if rare := rare_values(rows, schema, left):
        few = phrase("**Rare values count as missing: {columns}.** Each has fewer than {rare} rows or persons.")
        words = say(few, columns=shares_of(rare), rare=RARE)
        found.append(TableQuestion(words, details=lambda: ticks(rows, schema, left, rare)))
    if gone := dropped(schema, rows.schema):
        words = phrase("Taxonomies that no longer fit their values are dropped: {names}.")
        found.append(TableQuestion(say(words, names=escaped(", ".join(gone)))))
    flags = {f"{one.name!r}: {one.doubt}": one.flags for one in rows.found if one.flags and rows.path is None}
    for text in rows.notes:
        answers = {say("Put them together"): partial(join, rows, text, flags[text])} if text in flags else {}
        found.append(TableQuestion(escaped(text), answers | {say("Seen"): None}))
    return found


def join(rows: Intake, question: str, flags: Sequence[str]) -> None:
    """Have columns of 0 and 1 put together, and ask no more."""
    rows.answers.add(escaped(question))
    rows.changes["flags"] = flags


def read_off_lines(rows: Intake, schema: Schema, left: Sequence[str]) -> None:
    """The lines that nobody has declared yet, and the way to go on without."""
    markdown("Declare all that could occur. Rounding outward is no privacy by itself.")
    lines = {name: schema[name].values_text for name in left}
    st.dataframe(pd.DataFrame({say("Public values"): lines}), height=220, key="data.lines")
    jobs.ask(say("Use without a guarantee"), rows.request, "unproved", type="tertiary")


def rare_values(rows: Intake, schema: Schema, left: Sequence[str]) -> Rare:
    """The values of few rows, or persons, that are not listed, with their columns.

    A line that no one has declared yet loses them, wherever it is from: with another column that
    tells persons apart, or a schema from a file, it may have some. What is ticked stays.
    """
    lines = [one for one in schema if rows.found and one.origin in PROPOSED and not one.numeric]
    rare = {one.name: rows.rare(one.name, schema.unit) for one in lines}
    unasked = {name: {*rare[name]} - rows.ticked[name] for name in left if name in rare}
    fewer = tuple(without_values(column, unasked.get(column.name, ())) for column in schema)
    if fewer != schema.columns:
        go_on(rows, replace(schema, columns=fewer), left)
    listed = {line.name: {*map(canonical, line.categories)} for line in lines}
    return [(name, *rare[name][one]) for name in rare for one in rare[name] if one not in listed[name]]


def shares_of(rare: Rare) -> str:
    """How large a share of rows, or of persons, becomes missing in which columns, the largest first."""
    shares = pd.DataFrame(rare).groupby(0)[2].sum().sort_values(ascending=False)
    named = [f"{escaped(str(name))} {share:.0%}" for name, share in shares.items()]
    return ", ".join(named[:MOST_NAMED]) + " …" * (len(named) > MOST_NAMED)


def ticks(rows: Intake, schema: Schema, left: Sequence[str], rare: Rare) -> None:
    """Every value that is not listed, one of which can be."""
    caption(
        "A value of few people can betray one of them. List one only if you would have listed it "
        "without looking at these rows. These values are for your eyes only."
    )
    key = f"data.listed:{rows.token}:{rows.version}"
    if chosen := st.selectbox(say("A value to list"), rare, None, lambda one: ": ".join(one[:2]), key=key):
        name, text, _ = chosen
        rows.ticked[name].add(canonical(text))
        column = with_value(schema[name], text)
        if sum(one == name for one, *_ in rare) == 1 and rows.is_whole(name):  # all values are listed
            column = replace(column, missing=False, outside="refuse")
        columns = tuple(column if each.name == name else each for each in schema)
        go_on(rows, replace(schema, columns=columns), left)


def use(rows: Intake, schema: Schema, left: Sequence[str], share: float, at: Any) -> Dataset | None:
    """The page's one button: it declares all lines and uses the table, or leads on if that is done.

    What it gives is the data, once somebody pressed it and they are there.
    """
    schemas = {"use": intake.sourced(schema, ()), "unproved": intake.sourced(schema, left)}
    plan, now = folders.plan(rows, schemas["use"], share), session.dataset()
    action = say("Use this table") if plan is None else plan.label
    look: Any = {"type": "primary", "icon": ":material/check:", "width": "stretch"}
    if left:
        action = say("This is public: {action}", action=action[0].lower() + action[1:])
    if exact := [name for name in left if changed(outward(schema[name]), schema[name])]:
        look |= {"disabled": True, "help": say(SINGLE, columns=escaped(", ".join(exact)))}
    with at:
        if now.token != rows.token_of(share) or now.schema != schemas["use"]:
            jobs.ask(action, rows.request, "use", **look)
        elif st.button(say("Make synthetic data"), key="data.next", **look):
            open_page("networks")  # whose usual method keeps most
    pressed = jobs.requested(rows.request)  # its schema is the one that was on the screen
    if plan is None:
        session.asked().pop(rows.request, None)
        return intake.dataset_of(rows, schemas[pressed], share) if pressed else None
    jobs.end(rows.request)
    return folders.bring(replace(plan, schema=schemas[pressed or "use"]))
