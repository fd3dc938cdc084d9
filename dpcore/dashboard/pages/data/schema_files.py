"""Schemas from files and into files, also those of other programs, with what such a file cannot say."""

from typing import Any

import streamlit as st

from dpcore.dashboard import housekeeping, jobs
from dpcore.dashboard.intake import Intake, begin_anew
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.domain import formats
from dpcore.domain.declaration import rounded
from dpcore.domain.formats import FORMATS
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError
from dpcore.language import say

READ = "data.schema_id"  # the file that was read last
FIRST = 12  # lines of what it does not say


def load(rows: Intake) -> None:
    """Ask for a file, and go on from what it says; SchemaError if it says nothing of these columns."""
    others = ", ".join(kind.title for name, kind in FORMATS.items() if name != "dpcore")
    note = say("As saved here, or as other programs write it: {others}. What they do not say is asked.", others=others)
    uploaded = housekeeping.uploader(say("Load a schema"), type=["json"], key="data.schema_file", help=note)
    found = jobs.read_file("data.schema_read", uploaded, formats.read)
    if found is not None and st.session_state.get(READ) != uploaded.file_id:
        known, unsaid = found
        outline = known.outline()
        if not {*outline.names} & {*rows.headers}:
            raise SchemaError("This schema describes none of these columns.", "Choose the schema of these data.")
        gaps = [fields for fields in known.columns if fields["name"] in known.gaps]
        read_off = outline.names if outline.source == "inferred" else ()
        rows.keep(rounded(outline, read_off), read_off, gaps)
        rows.notes += unsaid[:FIRST]
        st.session_state[READ] = uploaded.file_id
        begin_anew()


def save(schema: Schema) -> None:
    """The schema as a file of a chosen format, and what of it that format loses."""
    left, right = st.columns(2, vertical_alignment="bottom")
    look: Any = {"format_func": lambda one: FORMATS[one].title, "label_visibility": "collapsed"}
    name = right.selectbox(say("File format"), list(FORMATS), key="data.save_as", **look)
    text, lost = formats.written(schema, name)
    file = FORMATS[name].file
    left.download_button(say("Save the schema"), text, file, "application/json", key="data.save", on_click="ignore")
    if lost:
        caption("This file does not hold: {lost}.", lost=escaped("; ".join(lost)))
