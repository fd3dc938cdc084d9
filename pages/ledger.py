"""Ledger: everything that this session asked of real rows, and what it cost altogether."""

import streamlit as st

from dpcore.dashboard import forms, frame, panels, state

frame.frame(
    "Ledger",
    "Every release, redraw and sweep of this session, by data set. Epsilons of the same rows **add up**, whether you "
    "liked a result or not.",
)
books = {key: ledger for key, ledger in state.accounts().items() if ledger.entries}
if not books:
    st.info("Nothing was asked of any rows yet. Make a release first.", icon=":material/receipt_long:")
    if st.button("Go to Naive Bayes", key="ledger.next"):
        frame.open_page("naive_bayes")
for (sha256, relation), ledger in books.items():
    runs = [child for child in ledger.children if child.entries]
    st.subheader(f"{frame.escaped(ledger.name)} · {forms.RELATIONS[relation].lower()}", anchor=False)
    cells = st.columns(3)
    cells[0].metric("Runs", len(runs), border=True)
    cells[1].metric("Epsilon claimed, in all", panels.told(ledger.epsilon_claimed), border=True)
    cells[2].metric("Epsilon proved, in all", panels.proved(ledger), border=True)
    st.markdown(ledger.void or forms.odds_sentence(ledger.epsilon_bound))
    st.caption(f"{ledger.relation.sentence} Rows with SHA-256 {sha256[:12]}…")
    table = panels.runs_frame(runs)
    st.dataframe(table, hide_index=True, key=f"ledger.{sha256}.{relation}")
    panels.table_behind(ledger.to_frame(), "Every question")
for sha256 in {sha256 for sha256, _ in books if (sha256, "add_remove") in books and (sha256, "replace") in books}:
    added, replaced = books[sha256, "add_remove"], books[sha256, "replace"]
    if added.void or replaced.void:
        continue  # no sum of theirs is a bound
    total = 2 * added.epsilon_bound + replaced.epsilon_bound
    st.markdown(
        f"The rows {sha256[:12]}… were asked under both relations. Changing a row is removing one and adding another, "
        f"so together they cost at most epsilon **{panels.told(total)}** under replace; under add_remove no total is "
        "known."
    )
st.caption(
    "This ledger lives as long as the browser tab. It knows data by their file: another file with the same people "
    "starts a new account."
)
