"""Who is protected, how many rows are learned from, and the class: one line, and behind a press what changes it."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpcore.dashboard import session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.questions import TableQuestion
from dpcore.dashboard.shell import escaped
from dpcore.domain.headers import is_name, is_person_key, of_people
from dpcore.domain.recognition import Recognized
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.language import phrase, say

EYES = phrase("Numbers of rows and persons are for your eyes only, unless they are public.")
MANY_ROWS = phrase("**{rows:,} rows**: may everyone know that there are at most {most:,}?")
IS_PERSON = phrase("**{name}**: one value has up to {rows:,} rows. Is each value a person?")
TEST_ROWS = phrase(
    "Releases do not learn from these rows; earlier ones may have learned from all rows. A change makes another data "
    "set."
)
LIMIT = phrase(
    "With a column that tells persons apart, others do not count, and which ones is secret. Without one, none is left "
    "out: for such a person, epsilon is up to so many times as much."
)
SHARE = 0.3  # of rows that are set apart for tests


def choose(schema: Schema, rows: Intake, used: Sequence[str], key: str) -> tuple[dict[str, Any], float]:
    """What else a schema says of the table, and the share of rows that is set apart for tests: none unless asked."""
    share = 0.0
    with st.popover(say("Change"), type="tertiary", key="data.change"):
        unit = privacy_unit(schema, rows, used, key)
        target = column_choice(say("Class column"), ["", *used], schema.target or "", key=f"data.target:{key}")
        if rows.fixed is None and target:
            now, label = session.dataset(), say("Measure accuracy later (sets {share:.0%} of rows apart)", share=SHARE)
            wanted = rows.made(now) and now.sizes[1] > 0
            share = SHARE * st.toggle(label, wanted, key=f"data.accuracy:{rows.token}", help=say(TEST_ROWS))
        label = say("At most how many rows? (public; empty: not known)")
        most = st.number_input(label, 1, None, schema.max_rows, key=f"data.max_rows:{key}")
    return {"target": target or None, "max_rows": most, "unit": unit}, share


def privacy_unit(schema: Schema, rows: Intake, used: Sequence[str], key: str) -> PrivacyUnit | None:
    """The privacy unit: what the schema says, or what was recognized, until somebody says otherwise."""
    known = schema.unit
    if rows.fixed is not None and known is None:
        return None  # of the data sets that are known, nobody has two rows
    usual = "" if known is None else known.id_column or ""
    people = [one.name for one in persons(rows.found, used) if one.what == "identifier" and of_people(one.name)]
    if known is None and len(people) == 1 and not rows.version:  # what somebody has edited is as it was left
        usual = people[0]
    names = dict.fromkeys(["", usual, *(name for name in rows.headers if name not in used)])
    note = say("A run reads it to see which rows belong together. It is never released.")
    look: Any = {"key": f"data.persons:{key}", "help": note, "persist_state": "session"}
    column = column_choice(say("Column that tells persons apart"), names, usual, **look)
    most = 1 if known is None else known.max_contributions
    label, place = say("At most how many rows of one person?"), f"data.rows_each:{key}:{bool(column)}"
    many = int(st.number_input(label, 1, MOST_ROWS, most, key=place, help=say(LIMIT)))
    return PrivacyUnit(max_contributions=many, id_column=column or None) if column or many > 1 else None


def column_choice(label: str, names: Collection[str], usual: str, **look: Any) -> str:
    """A choice of one column, or of the empty text for none."""
    at = [*names].index(usual) if usual in names else 0
    return str(st.selectbox(label, names, at, lambda name: name or say("(none)"), **look))


def persons(found: Sequence[Recognized], used: Sequence[str]) -> list[Recognized]:
    """The columns that may tell persons apart; names come last, and not at all beside a key without repeats."""
    several = [one for one in found if one.repeats and one.name not in used]
    keyed = any(one.what == "identifier" and not one.repeats and is_person_key(one.name) for one in found)
    return [one for named in (False, True)[: 2 - keyed] for one in several if is_name(one.name) is named]


def use_column(rows: Intake, question: str, name: str) -> None:
    """Take a column in use whose values are no persons; a question's callback."""
    rows.answers.add(question)
    rows.additions.append(name)


def questions(rows: Intake, schema: Schema, used: Sequence[str]) -> list[TableQuestion]:
    """Whether values that have several rows are persons, and whether the number of rows is public."""
    found = []
    for one in persons(rows.found, used) if schema.unit is None else ():
        words = say(IS_PERSON, name=escaped(one.name), rows=one.most_rows)
        unit = PrivacyUnit(max_contributions=1, id_column=one.name)
        answers: dict[str, Callable[[], object] | None] = {
            say("Yes"): partial(rows.changes.update, unit=unit),
            say("No"): None if one.what == "identifier" else partial(use_column, rows, words, one.name),
        }
        found.append(TableQuestion(words, answers))
    if rows.fixed is None and rows.path is None and schema.max_rows is rows.schema.max_rows is None:
        many = len(rows.frame)
        most = -(-many // (step := 10 ** max(len(str(many)) - 2, 0))) * step  # two digits
        answers = {say("Yes"): partial(rows.changes.update, max_rows=most), say("No"): None}
        found.append(TableQuestion(say(MANY_ROWS, rows=many, most=most), answers))
    return found


def line(rows: Intake, schema: Schema, share: float) -> str:
    """Who is protected, what is learned from, and the class."""
    unit, words = schema.unit, phrase("**Protects one row**")
    if unit is not None and unit.id_column is None:
        words = phrase("**Protects one row**, epsilon is up to {n:,} times as much for one person")
    elif unit is not None:
        words = phrase("**Protects one person** ({column}), rows of each: at most {n:,}")
    known = unit or PrivacyUnit(max_contributions=1)
    parts = [say(words, n=known.max_contributions, column=escaped(str(known.id_column)))]
    learned, people = rows.sizes(schema.persons, share)
    if learned:
        few, about = phrase("learns from **{about}{some:,} of {all:,} rows**"), "≈ " * (rows.path is not None)
        parts.append(say(few, about=about, some=learned, all=rows.rows))
    if people:
        parts[-1] += say(", of {people:,} people", people=people)
    return " · ".join([*parts, say("class: {name}", name=escaped(schema.target or say("none")))])
