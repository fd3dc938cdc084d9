"""The lines of a schema that were read off an upload's rows, and how they become declared: one by one, or together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.shell import escaped
from dpcore.domain.column import Column
from dpcore.domain.declaration import PROPOSED, outward, rounded, with_value, without_values
from dpcore.domain.formats import Fields
from dpcore.domain.infer import RARE
from dpcore.domain.schema import Schema
from dpcore.text import canonical

KEPT = "data.read_off"  # beside the schema of the page: what of it rows say
ASKED = "data.asked"  # and what of it nobody has said yet
NAMED = 6  # categories of a line
MOST_TICKS = 200
SINGLE = (
    "Ends that are values of single rows are not declared with others: round them, or tick “Public” in their lines."
)


def keep(rows: Intake, schema: Schema, read_off: Sequence[str], asked: Sequence[Fields] = ()) -> None:
    """Go on from a schema, some of whose lines are as the rows say; without any it is a declared one.

    `asked` are columns of which somebody still has to say something: in the schema they have no more than a name.
    """
    st.session_state["data.base"] = (rows.token, sourced(schema, read_off))
    st.session_state[KEPT] = (rows.token, tuple(read_off))
    st.session_state[ASKED] = (rows.token, tuple(asked))


def go_on(rows: Intake, schema: Schema, read_off: Sequence[str]) -> NoReturn:
    """As `keep`, and draw the page anew."""
    keep(rows, schema, read_off)
    st.rerun()


def asked(rows: Intake) -> tuple[Fields, ...]:
    """The columns of which somebody still has to say something, as far as they are known."""
    owner, fields = st.session_state.get(ASKED, ("", ()))
    return fields if owner == rows.token else ()


def sourced(schema: Schema, read_off: Sequence[str]) -> Schema:
    """The schema, inferred if any line was read off the rows and nobody has declared it."""
    if read_off:
        return replace(schema, source="inferred")
    return replace(schema, source="declared", notes=()) if schema.source == "inferred" else schema


def read_off(rows: Intake, base: Schema) -> tuple[str, ...]:
    """The columns whose lines are as the rows say: all that an inferred schema has, until somebody declares some."""
    if base.source == "declared":
        return ()
    owner, names = st.session_state.get(KEPT, ("", ()))
    return tuple(name for name in base.names if name in names) if owner == rows.token else base.names


def rare_values(rows: Intake, schema: Schema, left: Sequence[str], key: str) -> None:
    """The values of few rows, or persons, each with a tick of its own that lists it: no line has them unasked.

    A line that nobody has declared yet loses them, wherever it is from: with another column that tells persons apart,
    or a schema from a file, it may have some. What is ticked stays.
    """
    lines = {one.name: one for one in schema if one.origin in PROPOSED and not one.numeric} if rows.found else {}
    rare = {name: rows.rare(name, schema.unit) for name in lines}
    unasked = {name: [one for one in rare[name] if (name, one) not in rows.ticked] for name in left if name in rare}
    fewer = tuple(without_values(column, unasked.get(column.name, ())) for column in schema)
    if fewer != schema.columns:
        go_on(rows, replace(schema, columns=fewer), left)
    listed = {name: {*map(canonical, column.categories)} for name, column in lines.items()}
    offered = [(name, one) for name in rare for one in rare[name] if one not in listed[name]]
    if offered:
        whose = "rows" if schema.persons is None else "persons"
        with st.expander(
            f"Not listed: values that fewer than {RARE} {whose} have ({len(offered):,})", key="data.unlisted"
        ):
            st.caption(
                "They count as missing: a value of few people can betray one of them. Tick a value if you would have "
                "listed it without looking at these rows. These values are for your eyes only."
            )
            for name, one in offered[:MOST_TICKS]:
                label = f"{escaped(name)}: {escaped(rare[name][one])}"
                if st.checkbox(label, key=f"listed:{key}:{name}:{one}"):
                    rows.ticked.add((name, one))
                    more = with_value(lines[name], rare[name][one])
                    columns = tuple(more if each.name == name else each for each in schema)
                    go_on(rows, replace(schema, columns=columns), left)
            if len(offered) > MOST_TICKS:
                rest = len(offered) - MOST_TICKS
                st.caption(f"And {rest:,} more. Write those that are public into the table above.")
    if schema.target in dict(offered):
        st.warning("A class that is not listed is not learned: its rows count as missing.", icon=":material/label_off:")


def panel(rows: Intake, schema: Schema, left: Sequence[str]) -> None:
    """The lines that nobody has declared yet, by name, and two buttons: round their bounds, declare them."""
    if not left:
        return
    exact = [name for name in left if outward(schema[name]) != schema[name]]
    many, half = f"{len(left):,} lines" if len(left) > 1 else "line", (len(left) + 1) // 2
    with st.container(border=True):
        st.markdown(
            f":red[:material/gpp_bad:] **Read off your rows: {many if len(left) > 1 else 'one line'}.** They can "
            "betray a person, and no guarantee holds until you declare them: change a line, tick “Public” in it, or "
            "declare together what stands here."
        )
        for cell, names in zip(st.columns(2), filter(None, (left[:half], left[half:])), strict=False):
            lines = [line(schema[name], exact=name in exact) for name in names]
            shown = pd.DataFrame({"line": lines}, index=[f"**{escaped(name)}**" for name in names])
            cell.table(shown, border="horizontal", hide_header=True, alt="Lines that were read off your rows")
        st.markdown(
            "To declare a line is to say: **I would have written it without looking at these rows.** Bounds are what "
            "could occur, categories all that could occur. Rounding outward helps you to say so; it is no privacy by "
            "itself."
        )
        with st.container(horizontal=True):
            look: Any = {"type": "primary" if exact else "secondary", "disabled": not exact}
            if st.button("Round outward", key="data.round", icon=":material/expand:", **look):
                go_on(rows, rounded(schema, left), left)
            look = {"type": "secondary", "disabled": True, "help": SINGLE} if exact else {"type": "primary"}
            these = f"Declare {'these' if len(left) > 1 else 'this'} {many}"
            if st.button(these, key="data.declare", icon=":material/gavel:", **look):
                go_on(rows, schema, ())


def line(column: Column, *, exact: bool) -> str:
    """What a schema says of one column, and whether its ends are values of rows."""
    if column.numeric:
        told = f"{column.format_value(column.lower or 0)} to {column.format_value(column.upper or 0)}"
    else:
        told = ", ".join(column.categories[:NAMED])
        rest = len(column.categories) - NAMED
        told += f" and {rest:,} more, all in the table above" if rest > 0 else ""
    missing = " or missing" * column.missing
    return f"{escaped(told)}{missing}" + " :red[(single rows)]" * exact
