"""Data & schema: choose rows, say what is public about them, keep test rows aside."""

from dataclasses import replace

import streamlit as st

from dpcore.dashboard import intake, session, shell
from dpcore.dashboard.pages.data import declaration, left_out, schema_editor, schema_files, whose_rows
from dpcore.domain.declaration import undeclared
from dpcore.language import say

shell.frame(
    say("Data & schema"),
    say(
        "Choose the rows, then say what everybody may know about them: columns, bounds, categories. A method learns "
        "that for free, and pays for everything else."
    ),
)
intake.choose()
rows = intake.current()
st.caption(intake.summary(rows))
for doubt in rows.doubts:
    st.warning(shell.escaped(doubt), icon=":material/help:")
whose = say("real data, for your eyes only") if rows.people else say("made up, of no real person")
with st.expander(say("The first rows of {data}: {whose}", data=shell.escaped(rows.name), whose=whose), expanded=False):
    st.dataframe(intake.preview(rows), hide_index=True)

st.header(say("What is public"))
headers = [str(name) for name in rows.frame.columns]
with shell.mendable():
    schema_files.load(rows, headers)
owner, base = st.session_state.get("data.base", ("", rows.schema))
if owner != rows.token:
    base = rows.schema
left_out.notes(base, rows, chosen=owner == rows.token)
read_off = declaration.read_off(rows, base)
key = f"{rows.token}:{hash((base.to_json(), read_off))}"  # another file or another schema: other widgets
lines = schema_editor.schema_frame(base, headers, read_off, declaration.asked(rows))
table = schema_editor.editor(lines, key=f"data.editor:{key}")

used = [str(name) for name in table.loc[table["use"].eq(True), "name"]]
back = left_out.brought_back(rows.found, used, key)
left, middle, right = st.columns(3, vertical_alignment="bottom")
options = [None, *used]
target = left.selectbox(
    say("Class column"),
    options,
    index=options.index(base.target) if base.target in used else 0,
    format_func=lambda name: say("(none)") if name is None else name,
    key=f"data.target:{key}",
)
bound = middle.number_input(
    say("At most how many rows? (public; empty: not known)"), 1, None, base.max_rows, key=f"data.max_rows:{key}"
)
least, usual, key_of_share = (0.1, 0.3, "data.share") if rows.place is None else (0.01, 0.1, "data.share_of_many")
share = right.slider(
    say("Rows kept aside for testing"),
    least,
    0.5,
    usual,
    key=key_of_share,
    disabled=rows.fixed is not None,
    format="percent",
)
unit = whose_rows.unit(base, rows, used, key)

with shell.mendable():
    edited = schema_editor.schema_of(table, base, target=target, max_rows=bound, unit=unit)
    open_lines = undeclared(edited, base, read_off, schema_editor.said_public(table))
    if back is not None:
        whose = "" if unit is None else unit.id_column
        left_out.take_in(replace(edited, unit=unit if whose != back.name else base.unit), open_lines, back, rows)
    if gone := schema_editor.dropped(edited, base):
        told = "The taxonomies of these columns no longer fit their values, and would be dropped: "
        st.warning(told + shell.escaped(", ".join(gone)) + ".", icon=":material/account_tree:")
    declaration.rare_values(rows, edited, open_lines, key)
    declaration.panel(rows, edited, open_lines)
    schema = declaration.sourced(edited, open_lines)
    asked = intake.plan(rows, schema, share)
    go, save = st.columns([1, 3])
    look = "secondary" if open_lines else "primary"
    if (data := intake.chosen(rows, schema, share, asked, go, type=look)) is not None:
        session.set_dataset(data)
        declaration.keep(rows, schema, open_lines)  # the table's edits would go when the page changes
        st.session_state["data.done"] = rows.token
        st.rerun()
    with save:
        schema_files.save(schema)
if st.session_state.get("data.done") == rows.token == session.dataset().token:
    intake.onward()
