"""Loading and saving schemas, also in other programs' formats, and what such a file cannot hold."""

from typing import Any

import streamlit as st

from dpcore.dashboard import housekeeping, jobs
from dpcore.dashboard.intake import Intake
from dpcore.dashboard.pages.data.declaration import keep_and_rerun
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption
from dpcore.datasets import schema_formats
from dpcore.datasets.proposals import round_columns
from dpcore.datasets.schema_formats import FORMATS
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import say

READ = "data.schema_id"  # the file that was read last


def load_schema(rows: Intake) -> None:
    """Draw the uploader of a schema file; use the schema once read, and draw the page again.

    Raises
    ------
    SchemaError
        If the file describes none of the table's columns.
    """
    titles = ", ".join(kind.title for kind in FORMATS.values())
    note = say("A schema file of one of these: {titles}. The page asks for what the file does not say.", titles=titles)
    look: Any = {"type": ["json"], "key": "data.schema_file", "help": note}
    uploaded = housekeeping.uploader(say("Load a schema"), **look)
    found = jobs.read_file("data.schema_read", uploaded, schema_formats.read)
    if found is not None and st.session_state.get(READ) != uploaded.file_id:
        known, unsaid = found
        outline = known.outline
        if not {*outline.names} & {*rows.headers}:
            cause = "This schema describes none of the table's columns."
            raise SchemaError(cause, "Choose the schema of this table.")
        read_off = outline.names if outline.source == "inferred" else ()
        rows.notes += (*known.remarks, *unsaid)[:12]
        st.session_state[READ] = uploaded.file_id
        keep_and_rerun(rows, round_columns(outline, read_off), read_off, known.incomplete)


def save_schema(schema: Schema) -> None:
    """Draw the download of a schema in a chosen format, with a note on what the file lacks."""
    left, right = st.columns(2, vertical_alignment="bottom")
    look: Any = {"format_func": lambda one: FORMATS[one].title, "label_visibility": "collapsed"}
    # Other formats cannot mark undeclared values.
    kinds = list(FORMATS) if schema.source == "declared" else ["dpcore"]
    name = right.selectbox(say("File format"), kinds, key="data.save_as", **look)
    text, lost = schema_formats.write(schema, name)
    file, look = FORMATS[name].file, {"key": "data.save", "on_click": "ignore"}
    left.download_button(say("Save the schema"), text, file, "application/json", **look)
    if lost:
        caption("This file format cannot hold: {lost}.", lost=escape("; ".join(lost)))
