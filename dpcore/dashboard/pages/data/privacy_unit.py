"""Controls of the page Data for the privacy unit, the test rows, the class column and the rules."""

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
from dpcore.datasets.headers import has_person_word, is_name, is_person_key
from dpcore.datasets.recognition import RecognizedColumn
from dpcore.domain.schema import Schema
from dpcore.domain.unit import MOST_ROWS, PrivacyUnit
from dpcore.language import phrase, say

EYES = phrase("Numbers of rows and persons are for your eyes only, unless they are public.")
MANY_ROWS = phrase(
    "**{rows:,} rows**: may everyone know that there are at most {most:,}? Expected errors use that number."
)
MANY_COUNT = phrase(
    "**{rows:,} rows are used**: may everyone know that there are at most {most:,}? Expected errors use that number."
)
IS_PERSON = phrase("{names}: a value has up to {rows:,} rows. Is each value a person? Then one row per person counts.")
TEST_ROWS = phrase("Releases do not learn from the rows set apart; earlier releases may have learned from all rows.")
LIMIT = phrase(
    "With a column that tells persons apart, rows above this limit are left out, and which ones is secret. Without "
    "such a column, no row is left out: for a person with that many rows, epsilon is up to this many times as large."
)
ONE_ROW = PrivacyUnit(max_contributions=1)


def draw_settings(bar: Any, rows: Intake, used: Sequence[str], key: str) -> tuple[dict[str, Any], float]:
    """Draw the settings of the table; return the public ones, and the share of rows for tests.

    `bar` is the container of the settings, and `used` are the columns in use. The public settings
    are what the schema says besides its columns: class, row count, privacy unit, rules.
    """
    schema, share = rows.schema, 0.0
    with bar.popover(say("Change public settings"), type="tertiary", key="data.change"):
        unit = draw_privacy_unit(rows, used, key)
        target = column_choice(say("Class column"), used, schema.target, key=f"data.target:{key}")
        if rows.dataset is None and target:
            label, note = say("Measure accuracy later (sets 30% of rows apart)"), say(TEST_ROWS)
            wanted = rows.is_source_of(now := session.dataset()) and now.sizes[1] > 0
            share = 0.3 * st.toggle(label, wanted, key=f"data.accuracy:{rows.token}", help=note)
        label = say("At most how many rows? (public; empty: not known)")
        most = st.number_input(label, 1, None, schema.max_rows, key=f"data.max_rows:{key}")
        others = [name for name in used if unit is None or name != unit.id_column]
        kept = rules.draw_rules(rows, others, key)
        known = rows.answers or rows.before_join or {*SKIPPED} & {*rows.options}
        fresh, label = not known, say("Ask again about this table")
        st.button(label, key="data.again", on_click=rows.ask_again, disabled=fresh)
    public = {"target": target, "max_rows": most, "unit": unit, "rules": kept}
    return public | {"proposed_rules": rules.known_proposals(rows, kept)}, share


def draw_privacy_unit(rows: Intake, used: Sequence[str], key: str) -> PrivacyUnit | None:
    """Draw the controls of the privacy unit and return it; None if each row is protected alone.

    The controls show the unit of the schema, or the column that looks like a person key, until they
    are edited. `used` are the columns in use.
    """
    known = rows.schema.unit or ONE_ROW
    if rows.dataset is not None and known == ONE_ROW:
        return None  # in bundled data sets each person has one row
    usual = known.id_column
    found = [one for one in person_columns(rows.column_types, used) if one.role == "identifier"]
    people = [one.name for one in found if has_person_word(one.name)]
    if known == ONE_ROW and len(people) == 1 and not rows.version:
        usual = people[0]
    new = {*used}.difference(rows.schema.names)  # columns just put in use stay in use
    headers = sorted({*rows.headers} - new, key=lambda one: (one in used, rows.headers.index(one)))
    names = list(dict.fromkeys([*filter(None, [usual]), *headers]))
    note = say("Runs read this column to see which rows belong to one person. The column is never released.")
    look: Any = {"key": f"data.persons:{key}", "help": note, "persist_state": "session"}
    column = column_choice(say("Column that tells persons apart"), names, usual, **look)
    label, state_key = say("At most how many rows of one person?"), f"data.rows_each:{key}:{column is not None}"
    many = st.number_input(label, 1, MOST_ROWS, known.max_contributions, key=state_key, help=say(LIMIT))
    unit = PrivacyUnit(max_contributions=int(many), id_column=column)
    return None if unit == ONE_ROW else unit


def column_choice(label: str, names: Sequence[str], usual: str | None, **look: Any) -> str | None:
    """Draw a choice of one of `names`, or of none, `usual` at first; return the choice."""
    at = names.index(usual) + 1 if usual in names else 0
    return st.selectbox(label, [None, *names], at, lambda name: name or say("(none)"), **look)


def person_columns(seen: Sequence[RecognizedColumn], used: Sequence[str]) -> list[RecognizedColumn]:
    """Return the columns in which a value may stand for a person.

    `seen` are all columns as recognized, and `used` the names of those in use. Columns of people's
    names come last, and are left out if a person key was found.
    """
    several = [one for one in seen if one.repeats and one.name not in used]
    keys = [one for one in seen if one.role == "identifier" and not one.repeats]
    if any(is_person_key(one.name) for one in keys):
        return [one for one in several if not is_name(one.name)]
    return sorted(several, key=lambda one: is_name(one.name))


def person_questions(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Yield the question, if any, whether a column's values with several rows are persons."""
    parts = {f"person {one.name}": one for one in person_columns(rows.column_types, schema.names)}
    found = [parts[part] for part in parts if part not in rows.answers]
    if found and schema.unit is None:
        names = ", ".join(f"**{escape(one.name)}**" for one in found)
        answers: dict[str, Any] = {}
        for one in found:
            label = escape(one.name) if found[1:] else say("Yes")
            answers[label] = partial(rows.changes.update, unit=replace(ONE_ROW, id_column=one.name))
        answers[say("No")] = partial(deny_persons, rows, parts)
        words = say(IS_PERSON, names=names, rows=max(one.most_rows for one in found))
        yield TableQuestion(words, parts, answers)


def deny_persons(rows: Intake, parts: Mapping[str, RecognizedColumn]) -> None:
    """Record that columns do not tell persons apart, and use those that were left out.

    `parts` has the columns by the keys under which the answers are kept.
    """
    rows.answers.update(parts)
    rows.changes["columns"] = [one.name for one in parts.values() if one.role != "identifier"]


def row_count_question(rows: Intake, schema: Schema) -> Iterator[TableQuestion]:
    """Yield the question, if any, whether a bound on the number of rows is public.

    The bound is the number of rows, rounded up to two digits. Where persons are protected, only the
    rows that a release uses count.
    """
    if rows.dataset is None and rows.path is None and schema.max_rows is rows.schema.max_rows is None:
        many, _ = rows.sizes(schema.persons, 0.0)
        step = 10 ** max(len(str(many)) - 2, 1)  # rounded to two digits, never the number itself
        most = (many // step + 1) * step
        words = say(MANY_COUNT if schema.persons else MANY_ROWS, rows=many, most=most)
        yes = partial(rows.changes.update, max_rows=most)
        yield TableQuestion(words, [words], {say("Yes"): yes, say("No"): None})


def summary_sentence(rows: Intake, schema: Schema, share: float) -> str:
    """Return the summary of who is protected, how many rows are used, class and rules."""
    unit, words = schema.unit or ONE_ROW, phrase("**Protects one row**")
    if unit.id_column is not None:
        words = phrase("**Protects one person** ({column}), rows of each: at most {n:,}")
    elif unit != ONE_ROW:
        words = phrase("**Protects one row**, epsilon is up to {n:,} times as much for one person")
    parts = [say(words, n=unit.max_contributions, column=escape(str(unit.id_column)))]
    learned, people = rows.sizes(schema.persons, share)
    if learned:
        few = phrase("methods learn from **{some:,} of {all:,} rows**")
        parts.append(say(few, some=learned, all=rows.rows))
    if people:
        parts.append(say("rows of {people:,} people", people=people))
    parts.append(say("class column: {name}", name=escape(schema.target or say("none"))))
    return " · ".join([*parts, *rules.summary_parts(schema)])
