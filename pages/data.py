"""Page Data: from a file to a table whose bounds and categories are declared public."""

import streamlit as st

from dpcore.dashboard import intake, session, shell
from dpcore.dashboard.pages.data import (
    declaration,
    privacy_unit,
    questions,
    schema_files,
    schema_table,
)
from dpcore.datasets.proposals import undeclared_columns
from dpcore.errors import DPCoreError
from dpcore.language import say

rows = intake.current_intake()
button = shell.draw_frame(say("Data"), intake.describe_intake(rows))
bar = st.container(horizontal=True, vertical_alignment="center", key="data.bar")
unit, change, another = bar.container(), bar.container(width="content"), bar.container(width="content")
intake.choose_table(another)
doubts, codes = st.container(), st.container()

key = f"data.editor:{rows.token}:{rows.version}"  # another file or schema gets new widgets
table = schema_table.draw_editor(rows, key)
used = [str(name) for name in table.loc[table["use"].eq(True), "name"]]
schema = None
try:
    public, share = privacy_unit.draw_settings(change, rows, used, key)
    back = {*schema_table.new_columns(table, rows.schema), *rows.changes.pop("columns", ())}
    # The person column stays in use until chosen.
    person = {public["unit"] and public["unit"].id_column} & {*used} & {*rows.schema.names}
    schema = schema_table.parse_schema(table[~table["name"].isin(back | person)], rows.schema, **public)
    left = undeclared_columns(schema, rows.schema, rows.inferred_columns, ())
    if back or person or rows.changes:
        declaration.add_columns(rows, schema, left, back)
    schema_table.update_origins(key, schema_table.column_origins(rows, schema, left))
    unit.markdown(privacy_unit.summary_sentence(rows, schema, share), help=say(privacy_unit.EYES))
    with doubts:
        questions.draw_questions(declaration.make_questions(rows, schema, left), rows)
    with codes:
        data = declaration.draw_use_button(rows, schema, left, share, button)
    if data is not None:
        session.set_dataset(data)
        rows.set_schema(*((data.schema, ()) if data.schema.source == "declared" else (schema, left)))
        st.session_state[intake.HANDED] = None
        st.rerun()
except DPCoreError as error:
    shell.drop_waiting_runs(intake.USE)  # the user has not seen what the press would declare
    shell.show_error(error)
    button.button(say("Use this table"), disabled=True, width="stretch", key="data.blocked")

with st.expander(say("First rows of the table (real)") if rows.dataset is None else say("First rows of the table")):
    st.dataframe(rows.preview(), hide_index=True)
with st.expander(say("How the file was read")):
    st.markdown(shell.escape(rows.read_as))
    if st.session_state.get("data.source") in intake.OWN:
        intake.choose_reading("data")
with st.expander(say("Load or save a schema")), shell.mendable():
    schema_files.load_schema(rows)
    if schema is not None:
        schema_files.save_schema(intake.with_source(schema, left))
