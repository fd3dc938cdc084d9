"""Home: what this is, in three sentences, one button, and three lessons."""

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import housekeeping, jobs, lessons, links, session, shell

shell.frame(
    "See what privacy costs",
    "Here you turn a table about people, one row for each, into a synthetic copy, and see what the copy keeps and what "
    "it loses. Methods are there twice: as published, and corrected so that they provably protect every row. Somebody "
    "with several rows has less protection. The ledger shows the epsilon that the paper claims beside the epsilon that "
    "can be proved.",
)

left, middle, right = st.columns(3, gap="large")
with left:
    if st.button("Try it now", type="primary", icon=":material/play_arrow:", key="home.try"):
        session.set_dataset(datasets.load("sample"))
        session.drop("naive_bayes.")  # earlier settings could be the paper's
        st.session_state.update({"naive_bayes.tab": "Columns", "naive_bayes.column": "relationship"})
        jobs.request("naive_bayes")
        shell.open_page("naive_bayes")
    st.caption("Makes one synthetic copy of the bundled census-like sample. Takes a few seconds.")
with middle:
    if st.button("Use my own data", icon=":material/upload:", key="home.own"):
        st.session_state["data.source"] = "upload"
        shell.open_page("data")
    st.caption("CSV, Excel or Parquet. Read by the computer that runs this program, and sent nowhere else.")
with right, st.popover("Go on from a release", icon=":material/settings_backup_restore:"):
    file = housekeeping.uploader("The zip of a release, or its config.json", type=["zip", "json"], key="home.settings")
    with shell.mendable():
        if file is not None:
            page, settings, data = links.asked_by_file(file.getvalue())
            shell.known(page)
            st.markdown(f"Settings of the page **{shell.page(page).title}**, used on {shell.escaped(data)}.")
            if st.button("Open that page with these settings", key="home.restore", type="primary"):
                links.ask(page, settings)
                shell.open_page(page)
    st.caption("Restores what the page's controls said. The data are not in it: choose them on Data & schema.")

st.header("Lessons of five minutes", anchor=False)
for place, (name, lesson) in zip(st.columns(3, gap="large"), lessons.LESSONS.items(), strict=True):
    with place.container(border=True, height="stretch"):
        st.markdown(f"**{lesson.title}**")
        st.markdown(lesson.promise)
        if st.button("Start the lesson", key=f"home.lesson.{name}", icon=":material/school:"):
            lessons.begin(name)
            shell.open_page(lesson.steps[0].page)

st.divider()
st.header("What does epsilon mean?")
from dpcore.dashboard import controls  # noqa: E402  charts take longest to load: all that is above is shown by then
from dpcore.dashboard.sections import epsilon_in_use  # noqa: E402

epsilon_in_use.answered(controls.epsilon_picker("home"))
