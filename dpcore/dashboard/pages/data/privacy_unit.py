"""Who is protected, how many rows are learned from, the class and the rules; and what changes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpcore.dashboard import session
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data import rules
from dpcore.dashboard.pages.data.questions import TableQuestion
from dpcore.dashboard.shell import escape
from dpcore.datasets import SKIPPED
from dpcore.datasets.headers import is_name, is_person_key, of_people
from dpcore.datasets.recognition import RecognizedColumn
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.language import phrase, say

EYES = phrase("Numbers of rows and persons are for your eyes only, unless they are public.")
MANY_ROWS = phrase(
    "**{rows:,} rows**: may everyone know that there are at most {most:,}? Expected errors use that number."
)
MANY_COUNT = phrase(
    "**{rows:,} rows count**: may everyone know that there are at most {most:,}? Expected errors use that number."
)
IS_PERSON = phrase("{names}: one value has up to {rows:,} rows. Is each value a person? Then one row of each counts.")
TEST_ROWS = phrase("Releases do not learn from these rows; earlier ones may have learned from all.")
LIMIT = phrase(
    "With a column that tells persons apart, others do not count, and which ones is secret. "
    "Without one, none is left out: for such a person, epsilon is up to so many times as much."
)
ONE_ROW = PrivacyUnit(max_contributions=1)


def choose(bar: Any, rows: Intake, used: Sequence[str], key: str) -> tuple[dict[str, Any], float]:
    """What else a schema says of the table, and the share of rows that is set apart for tests."""
    schema, share = rows.schema, 0.0
    with bar.popover(say("Change"), type="tertiary", key="data.change"):
        unit = privacy_unit(rows, used, key)
        target = column_choice(say("Class column"), used, schema.target, key=f"data.target:{key}")
        if rows.dataset is None and target:
            label, note = say("Measure accuracy later (sets 30% of rows apart)"), say(TEST_ROWS)
            wanted = rows.is_source_of(now := session.dataset()) and now.sizes[1] > 0
            share = 0.3 * st.toggle(label, wanted, key=f"data.accuracy:{rows.token}", help=note)
        label = say("At most how many rows? (public; empty: not known)")
        most = st.number_input(label, 1, None, schema.max_rows, key=f"data.max_rows:{key}")
        others = [name for name in used if unit is None or name != unit.id_column]
        kept = rules.field(rows, others, key)
        known = rows.answers or rows.before_join or {*SKIPPED} & {*rows.options}
        fresh, label = not known, say("Ask all questions again")
        st.button(label, key="data.again", on_click=rows.ask_again, disabled=fresh)
    public = {"target": target, "max_rows": most, "unit": unit, "rules": kept}
    return public | {"proposed_rules": rules.known_proposals(rows, kept)}, share


def privacy_unit(rows: Intake, used: Sequence[str], key: str) -> PrivacyUnit | None:
    """The privacy unit: what the schema says, or what was recognized, until it is edited."""
    known = rows.schema.unit or ONE_ROW
    if rows.dataset is not None and known == ONE_ROW:
        return None  # of the data sets that are known, nobody has two rows
    usual = known.id_column
    found = [one for one in persons(rows.column_types, used) if one.what == "identifier"]
    people = [one.name for one in found if of_people(one.name)]
    if known == ONE_ROW and len(people) == 1 and not rows.version:
        usual = people[0]
    new = {*used}.difference(rows.schema.names)  # just taken in use, which stays so
    headers = sorted({*rows.headers} - new, key=lambda name: (name in used, rows.headers.index(name)))
    names = list(dict.fromkeys([*filter(None, [usual]), *headers]))
    note = say("A run reads it to see which rows belong together. It is never released.")
    look: Any = {"key": f"data.persons:{key}", "help": note, "persist_state": "session"}
    column = column_choice(say("Column that tells persons apart"), names, usual, **look)
    label, state_key = say("At most how many rows of one person?"), f"data.rows_each:{key}:{column is not None}"
    many = st.number_input(label, 1, MOST_ROWS, known.max_contributions, key=state_key, help=say(LIMIT))
    unit = PrivacyUnit(max_contributions=int(many), id_column=column)
    return None if unit == ONE_ROW else unit


def column_choice(label: str, names: Sequence[str], usual: str | None, **look: Any) -> str | None:
    """A choice of one column, or of none."""
    at = names.index(usual) + 1 if usual in names else 0
    return st.selectbox(label, [None, *names], at, lambda name: name or say("(none)"), **look)


def persons(found: Sequence[RecognizedColumn], used: Sequence[str]) -> list[RecognizedColumn]:
    """The columns that may tell persons apart; names come last, or not at all if there is a key."""
    several = [one for one in found if one.repeats and one.name not in used]
    keys = [one for one in found if one.what == "identifier" and not one.repeats]
    if any(is_person_key(one.name) for one in keys):
        return [one for one in several if not is_name(one.name)]
    return sorted(several, key=lambda one: is_name(one.name))


def questions(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Whether values of several rows are persons: one column at most tells them apart."""
    parts = {f"person {one.name}": one for one in persons(rows.column_types, schema.names)}
    found = [parts[part] for part in parts if part not in rows.answers]
    if found and schema.unit is None:
        names = ", ".join(f"**{escape(one.name)}**" for one in found)
        answers: dict[str, Any] = {}
        for one in found:
            label = escape(one.name) if found[1:] else say("Yes")
            unit = replace(ONE_ROW, id_column=one.name)
            answers[label] = partial(rows.changes.update, unit=unit)
        answers[say("No")] = partial(deny_persons, rows, parts)
        words = say(IS_PERSON, names=names, rows=max(one.most_rows for one in found))
        yield TableQuestion(words, parts, answers)


def deny_persons(rows: Intake, parts: Mapping[str, RecognizedColumn]) -> None:
    """Ask no more whether these are persons; take in use what was left out as it might be."""
    rows.answers.update(parts)
    rows.changes["columns"] = [one.name for one in parts.values() if one.what != "identifier"]


def question_of_rows(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Whether the number of rows is public; where persons are protected, of those that count."""
    if rows.dataset is None and rows.path is None and schema.max_rows is rows.schema.max_rows is None:
        many, _ = rows.sizes(schema.persons, 0.0)
        step = 10 ** max(len(str(many)) - 2, 1)  # two digits, never the number itself
        most = (many // step + 1) * step
        words = say(MANY_COUNT if schema.persons else MANY_ROWS, rows=many, most=most)
        yes = partial(rows.changes.update, max_rows=most)
        yield TableQuestion(words, [words], {say("Yes"): yes, say("No"): None})


def line(rows: Intake, schema: Schema, share: float) -> str:
    """Who is protected, what is learned from, and the class."""
    unit, words = schema.unit or ONE_ROW, phrase("**Protects one row**")
    if unit.id_column is not None:
        words = phrase("**Protects one person** ({column}), rows of each: at most {n:,}")
    elif unit != ONE_ROW:
        words = phrase("**Protects one row**, epsilon is up to {n:,} times as much for one person")
    parts = [say(words, n=unit.max_contributions, column=escape(str(unit.id_column)))]
    learned, people = rows.sizes(schema.persons, share)
    if learned:
        few = phrase("learns from **{some:,} of {all:,} rows**")
        parts.append(say(few, some=learned, all=rows.rows))
    if people:
        parts[-1] += say(", of {people:,} people", people=people)
    parts.append(say("class: {name}", name=escape(schema.target or say("none"))))
    return " · ".join([*parts, *rules.line(schema)])
