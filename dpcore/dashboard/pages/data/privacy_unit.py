"""Who is protected, how many rows are learned from, and the class: one line, and behind a press what changes it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpcore.dashboard import session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.questions import TableQuestion
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.datasets import new_token
from dpcore.domain.headers import is_name, is_person_key, of_people
from dpcore.domain.recognition import Recognized
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.export import protection
from dpcore.language import phrase, say

EYES = phrase(
    "Numbers of rows and persons are for your eyes only, unless they are public. **Change** has the limit per person."
)
MANY_ROWS = phrase(
    "**{rows:,} rows**: may everyone know that there are at most {most:,}? The forecast then counts with no more."
)
IS_PERSON = phrase("**{name}**: one value has up to {rows:,} rows. Is each value a person?")
TEST_ROWS = phrase(
    "A release does not learn from these rows. To change it later makes another data set; earlier releases may have "
    "learned from all rows."
)
SHARE, SHARE_OF_MANY = 0.3, 0.1  # of rows that are set apart for tests


def choose(schema: Schema, rows: Intake, used: Sequence[str], key: str) -> tuple[dict[str, Any], float]:
    """What else a schema says of the table, and the share of rows that is set apart for tests: none unless asked."""
    names, usual_class, share = ["", *used], schema.target or "", 0.0
    with st.popover(say("Change"), type="tertiary", key="data.change"):
        unit = privacy_unit(schema, rows, used, key)
        at = names.index(usual_class) if usual_class in used else 0
        look: Any = {"format_func": lambda name: name or say("(none)")}
        target = st.selectbox(say("Class column"), names, at, key=f"data.target:{key}", **look)
        if rows.fixed is None and target:
            usual, now = SHARE if rows.path is None else SHARE_OF_MANY, session.dataset()
            label = say("Measure accuracy later (sets {share:.0%} of rows apart)", share=usual)
            note = say(TEST_ROWS)
            wanted = rows.made(now) and now.sizes[1] > 0
            share = usual * st.toggle(label, wanted, key=f"data.accuracy:{rows.token}", help=note)
        label = say("At most how many rows? (public; empty: not known)")
        bound, press = st.session_state.get(f"data.said:max_rows:{key}", (schema.max_rows, ""))
        most = st.number_input(label, 1, None, bound, key=f"data.max_rows:{key}{press}")
    return {"target": target or None, "max_rows": most, "unit": unit}, share


def privacy_unit(schema: Schema, rows: Intake, used: Sequence[str], key: str) -> PrivacyUnit | None:
    """The privacy unit: what the schema says, or what was recognized, until somebody says otherwise."""
    known, repeats = schema.unit, {one.name: one.most_rows for one in rows.found if one.repeats}
    if rows.fixed is not None and known is None:
        return None  # of the data sets that are known, nobody has two rows
    usual = "" if known is None else known.id_column or ""
    if known is None and schema is rows.schema:  # what somebody has edited is as it was left
        people = [one.name for one in persons(rows, used) if one.what == "identifier" and of_people(one.name)]
        usual = people[0] if len(people) == 1 else ""
    said, press = st.session_state.get(f"data.said:persons:{key}", (usual, ""))
    usual = usual if said in used else said
    names = [*dict.fromkeys(["", usual, *(name for name in rows.headers if name not in used)])]
    look: Any = {"format_func": lambda name: name or say("(none)")}
    look["help"] = say("A run reads it to see which rows belong together. It is never released.")
    look |= {"key": f"data.persons:{key}:{press}", "persist_state": "session"}
    column = st.selectbox(say("Column that tells persons apart"), names, names.index(usual), **look)
    label, note = say("At most how many rows of one person?"), say("Others do not count. Which ones is secret.")
    if not column:
        note = say("None is left out. For such a person, epsilon is up to so many times as much.")
    most = 1 if known is None else known.max_contributions
    many = int(st.number_input(label, 1, MOST_ROWS, most, key=f"data.rows_each:{key}:{bool(column)}", help=note))
    if column in repeats:
        caption("One has up to {rows:,} rows in this file: for your eyes only.", rows=repeats[column])
    unit = PrivacyUnit(max_contributions=many, id_column=column or None) if column or many > 1 else None
    caption("Protected is {unit}", unit=escaped(protection.protected(unit, "add_remove", str)))  # a sentence
    return unit


def persons(rows: Intake, used: Sequence[str]) -> list[Recognized]:
    """The columns that may tell persons apart; names come last, and not at all beside a key without repeats."""
    several = [one for one in rows.found if one.repeats and one.name not in used]
    keyed = any(one.what == "identifier" and not one.repeats and is_person_key(one.name) for one in rows.found)
    return [one for named in (False, True)[: 2 - keyed] for one in several if is_name(one.name) is named]


def set_control(name: str, value: object) -> None:
    """Have a control behind "Change" say something; a question's callback.

    It is another control then: of a popover that was opened and closed, the browser sends what these said before.
    """
    st.session_state[f"data.said:{name}"] = value, new_token()


def use_column(rows: Intake, question: str, name: str) -> None:
    """Take a column in use whose values are no persons; a question's callback."""
    rows.answers.add(question)
    rows.additions.add(name)


def questions(rows: Intake, schema: Schema, used: Sequence[str], key: str) -> list[TableQuestion]:
    """Whether values that have several rows are persons, and whether the number of rows is public."""
    found = []
    for one in persons(rows, used) if schema.unit is None else ():
        words = say(IS_PERSON, name=escaped(one.name), rows=one.most_rows)
        answers: dict[str, Callable[[], object] | None] = {
            say("Yes"): partial(set_control, f"persons:{key}", one.name),
            say("No"): None if one.what == "identifier" else partial(use_column, rows, words, one.name),
        }
        found.append(TableQuestion(words, answers))
    if rows.fixed is None and rows.path is None and schema.max_rows is rows.draft.schema.max_rows is None:
        many = len(rows.frame)
        most = -(-many // (step := 10 ** max(len(str(many)) - 2, 0))) * step  # two digits
        answers = {say("Yes"): partial(set_control, f"max_rows:{key}", most), say("No"): None}
        found.append(TableQuestion(say(MANY_ROWS, rows=many, most=most), answers))
    return found


def line(rows: Intake, schema: Schema, share: float) -> str:
    """Who is protected, what is learned from, and the class."""
    unit, words = schema.unit, say("**Protects one row**")
    if unit is not None and unit.id_column is None:
        few = phrase("**Protects one row**, epsilon is up to {n:,} times as much for one person")
        words = say(few, n=unit.max_contributions)
    elif unit is not None:
        few, column = phrase("**Protects one person** ({column}), rows of each: at most {n:,}"), unit.id_column
        words = say(few, n=unit.max_contributions, column=escaped(str(column)))
    learned, tested, people = rows.sizes(schema.persons, share)
    many, all_rows = f"{'≈ ' * (rows.path is not None)}{learned:,}", len(rows.frame) - tested
    if people and learned < all_rows:  # because of the limit per person
        many = say("{some} of {all:,}", some=many, all=all_rows)
    parts = [words, say("learns from **{rows} rows**", rows=many)] if learned else [words]
    if people:
        parts[-1] += say(", of {people:,} people", people=people)
    parts += [say("tests on {rows:,}", rows=tested)] if tested else []
    return " · ".join([*parts, say("class: {name}", name=escaped(schema.target or say("none")))])
