"""Home: what this is, in three sentences, one button, and the lessons; or what was just learned."""

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import housekeeping, lessons, links, session, shell


def first() -> None:
    """Where to begin."""
    left, middle, right = st.columns(3, gap="large")
    with left:
        if st.button("Try it now", type="primary", icon=":material/play_arrow:", key="home.try"):
            session.set_dataset(datasets.load("sample"))
            session.set_back()
            session.drop("naive_bayes.")  # earlier settings could be the paper's
            st.session_state.update({"naive_bayes.tab": "Columns", "naive_bayes.column": "relationship"})
            session.request("naive_bayes")
            shell.open_page("naive_bayes")
        st.caption("Makes one synthetic copy of the bundled census-like sample. Takes a few seconds.")
    with middle:
        if st.button("Use my own data", icon=":material/upload:", key="home.own"):
            st.session_state["data.source"] = "upload"
            shell.open_page("data")
        st.caption("CSV, Excel or Parquet. Read by the computer that runs this program, and sent nowhere else.")
    with right, st.popover("Go on from a release", icon=":material/settings_backup_restore:"):
        label = "The zip of a release, or its config.json"
        file = housekeeping.uploader(label, type=["zip", "json"], key="home.settings")
        with shell.mendable():
            if file is not None:
                page, settings, data = links.asked_by_file(file.getvalue())
                shell.known(page)
                st.markdown(f"Settings of the page **{shell.page(page).title}**, used on {shell.escaped(data)}.")
                if st.button("Open that page with these settings", key="home.restore", type="primary"):
                    links.ask(page, settings)
                    shell.open_page(page)
        st.caption("Restores what the page's controls said. The data are not in it: choose them on Data & schema.")


def course() -> None:
    """The lessons, and which were gone through."""
    st.header("Lessons of five minutes", anchor=False)
    for place, (name, lesson) in zip(st.columns(len(lessons.LESSONS)), lessons.LESSONS.items(), strict=True):
        with place.container(border=True, height="stretch"):
            done = " :green[:material/check_circle: done]" if name in lessons.learned() else ""
            st.markdown(f"**{lesson.title}**{done}")
            st.markdown(lesson.promise)
            key = f"home.lesson.{name}"
            st.button("Start the lesson", key=key, icon=":material/school:", on_click=lessons.begin, args=(name,))


if (title := lessons.taught()) is not None:
    shell.frame(title, "To take away:")
    lessons.farewell()
else:
    shell.frame(
        "See what privacy costs",
        "Here you turn a table about people, one row for each, into a synthetic copy, and see what the copy keeps and "
        "what it loses. Methods are there twice: as published, and corrected so that they provably protect every row. "
        "Somebody with several rows has less protection. The ledger shows the epsilon that the paper claims beside "
        "the epsilon that can be proved.",
    )
    first()
    course()
    st.divider()
    st.header("What does epsilon mean?")
    from dpcore.dashboard import controls  # charts take longest to load: all that is above is shown by then
    from dpcore.dashboard.sections import epsilon_in_use

    epsilon_in_use.answered(controls.epsilon_picker("home"))
