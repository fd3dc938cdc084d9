"""Home: what this is, in three sentences, and one button."""

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import frame, panels, runs, state

frame.frame(
    "See what privacy costs",
    "Here you turn a table about people into a synthetic copy that protects each of them, and see what the copy keeps "
    "and what it loses. Methods are there twice: as published, and corrected so that their guarantee "
    "can be proved. The ledger shows the epsilon that the paper claims beside the epsilon that the run really cost.",
)

left, right = st.columns(2, gap="large")
with left:
    if st.button("Try it now", type="primary", icon=":material/play_arrow:", key="home.try"):
        state.set_dataset(datasets.load("sample"))
        for key in [key for key in st.session_state if str(key).startswith("naive_bayes.")]:
            del st.session_state[key]  # earlier settings could be the paper's
        runs.request("naive_bayes")
        frame.open_page("naive_bayes")
    st.caption("Makes one private copy of the bundled census-like sample. Takes a few seconds.")
with right:
    if st.button("Use my own data", icon=":material/upload:", key="home.own"):
        frame.open_page("data")
    st.caption("CSV, Excel or Parquet. Nothing leaves this computer.")

st.divider()
panels.epsilon_primer()
