"""The columns of an upload that its schema leaves out, each with the reason, and a tick that brings it back."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data import declaration
from dpcore.dashboard.shell import escaped
from dpcore.domain.column import MAX_CATEGORIES
from dpcore.domain.infer import column_of
from dpcore.domain.recognition import Recognized
from dpcore.domain.schema import UNLISTED, Schema, left_out

NAMED = 4
CALLED = {"identifier": "identifier", "text": "free text", "constant": "one value", "empty": "empty"}
CALLED |= {"unreadable": "unreadable"}


def notes(schema: Schema, rows: Intake, *, chosen: bool) -> None:
    """What to look at in a schema that was read off rows; of one that somebody chose, how much it leaves out."""
    listed = {left_out(one) for one in rows.found}  # which are named further down
    for note in schema.notes:
        if note not in listed and UNLISTED not in note:  # whose values are offered one by one
            st.warning(escaped(note), icon=":material/info:")
    many = len({str(name) for name in rows.frame.columns} - set(schema.names))
    if chosen and many and not rows.found:
        st.caption(f"{many:,} columns of the data are not in this schema and are ignored.")


def brought_back(found: Sequence[Recognized], names: Sequence[str], key: str) -> Recognized | None:
    """The folded list of what is not among some names; the column that was just ticked, if one was."""
    gone = [one for one in found if one.name not in names]
    if not gone:
        return None
    listed = ", ".join(f"{escaped(one.name)} ({kind_of(one)})" for one in gone[:NAMED])
    with st.expander(f"Left out: {listed}" + (f" and {len(gone) - NAMED:,} more" if gone[NAMED:] else "")):
        st.caption(
            "What names people, or tells nothing, is left out. A tick brings a column back to the table above. "
            "The reasons count your rows: they are for your eyes only."
        )
        ticked = [one for one in gone if tick(one, f"left out:{key}:{one.name}")]
    return ticked[0] if ticked else None


def tick(one: Recognized, key: str) -> bool:
    """One column with its reason."""
    told = f"{escaped(one.name)} ({escaped(reason_of(one))})"
    why = f"It can be no column: a file cannot hold it, or it has over {MAX_CATEGORIES:,} values."
    return st.checkbox(told, key=key, disabled=not one.possible, help=None if one.possible else why)


def kind_of(one: Recognized) -> str:
    """What a column is left out as, in a word or two."""
    return "ignored" if one.kept else CALLED.get(one.what, "too many values")


def reason_of(one: Recognized) -> str:
    """Why a column is left out; one that nothing speaks against was set to be ignored."""
    return "ignored; " * one.kept + one.reason


def take_in(schema: Schema, left: Sequence[str], one: Recognized, rows: Intake) -> None:
    """Draw the page anew with one more column in the table, as the rows have it; what was edited and declared stays."""
    declaration.go_on(rows, with_column(schema, one, rows.frame), [*left, one.name])


def with_column(schema: Schema, one: Recognized, frame: pd.DataFrame) -> Schema:
    """The schema with one more column, as the rows have it."""
    column, _ = column_of(one, frame[one.name])
    if column is None:
        return schema
    order = [str(name) for name in frame.columns]
    columns = sorted((*schema.columns, column), key=lambda each: order.index(each.name))
    return replace(schema, columns=tuple(columns))
