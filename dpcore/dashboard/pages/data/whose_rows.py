"""Whose rows they are: a row each, several of one person, or as a column says."""

import re
from collections.abc import Sequence

import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.export import protection

PEOPLE = {
    "citizen",
    "client",
    "customer",
    "donor",
    "driver",
    "employee",
    "guest",
    "member",
    "participant",
    "passenger",
    "patient",
    "person",
    "pupil",
    "resident",
    "respondent",
    "rider",
    "student",
    "subject",
    "subscriber",
    "user",
    "voter",
    "worker",
}
WORDS = re.compile("[a-z]+")
NOBODY = ""  # no column says so


def unit(schema: Schema, rows: Intake, used: Sequence[str], key: str) -> PrivacyUnit | None:
    """The unit of protection: what the schema says, or what was recognized, until somebody says otherwise."""
    known = schema.unit
    if rows.fixed is not None and known is None:
        return None  # of the data sets that are known, nobody has two rows
    asked = [one for one in rows.found if one.repeats]
    people = [one.name for one in asked if one.name not in used and PEOPLE & {*WORDS.findall(one.name.lower())}]
    headers = [str(name) for name in rows.frame.columns]
    usual = NOBODY
    if known is not None:
        usual = known.id_column or NOBODY
    elif len(people) == 1 and schema is rows.schema:  # what somebody has edited is as it was left
        (usual,) = people
    offered = [name for name in dict.fromkeys([usual, *headers]) if name == usual or name not in used]
    names = [NOBODY, *(name for name in offered if name)]
    st.markdown("**Whose rows are they?** Epsilon can be for a person with all rows.")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    column = left.selectbox(
        "Column that tells persons apart",
        names,
        names.index(usual),
        format_func=lambda name: name or "(none)",
        key=f"data.persons:{key}",
        help="It is in no table, schema or release: a run reads it to see which rows belong together. Only columns "
        "that are not in use above are offered.",
    )
    many = right.number_input(
        "Rows of one person that count, chosen by lot" if column else "At most how many rows can belong to one person?",
        1,
        MOST_ROWS,
        1 if known is None else known.max_contributions,
        key=f"data.rows_each:{key}:{bool(column)}",
        help="One is least noisy: each row more has more of a person, and as much more noise."
        if column
        else "Nothing is cut. Epsilon is up to so many times as much for such a person, and all screens say so.",
    )
    found = PrivacyUnit(max_contributions=int(many), id_column=column or None) if column or many > 1 else None
    for one in asked:
        told = f"One {escaped(one.name)} has up to {one.most_rows:,} rows in this file: for your eyes only."
        if one.name == column:
            st.caption(told)
        elif not column:
            st.info(f"{told} If each is a person, choose it: now one row is protected.", icon=":material/group:")
    told = escaped(protection.protected(found, "add_remove", str))  # a sentence
    caption("Protected is {unit}", unit=told)
    return found
