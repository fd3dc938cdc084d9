"""Home: what this is, in three sentences, one button, and the lessons; or what was just learned."""

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import hosting, housekeeping, jobs, lessons, links, session, shell
from dpcore.dashboard.epsilon import epsilon_picker
from dpcore.dashboard.widgets import caption, markdown
from dpcore.language import say


def first() -> None:
    """Where to begin."""
    left, middle, right = st.columns(3, gap="large")
    with left:
        if st.button(say("Try it now"), type="primary", icon=":material/play_arrow:", key="home.try"):
            session.set_dataset(datasets.load("sample"))
            session.set_back()
            session.drop("naive_bayes.")  # earlier settings could be the paper's
            st.session_state.update({"naive_bayes.tab": "Columns", "naive_bayes.column": "relationship"})
            session.request("naive_bayes")
            shell.open_page("naive_bayes")
        caption("Makes one synthetic copy of the bundled census-like sample. Takes a few seconds.")
    if not hosting.takes_files():
        middle.caption(say("This server takes no files. On a computer of your own, dpcore reads them."))
        return
    with middle:
        if st.button(say("Use my own data"), icon=":material/upload:", key="home.own"):
            st.session_state["data.source"] = "upload"
            shell.open_page("data")
        caption("CSV, Excel or Parquet. Read by the computer that runs this program, and sent nowhere else.")
    with right, st.popover(say("Go on from a release"), icon=":material/settings_backup_restore:"):
        label = say("The zip of a release, or its config.json")
        file = housekeeping.uploader(label, type=["zip", "json"], key="home.settings")
        found = jobs.read_file("home.read", file, links.asked_by_file)
        with shell.mendable():
            if found is not None:
                page, settings, data = found
                shell.known(page)
                name = shell.page(page).title
                markdown("Settings of the page **{page}**, used on {data}.", page=name, data=shell.escaped(data))
                if st.button(say("Open that page with these settings"), key="home.restore", type="primary"):
                    links.ask(page, settings)
                    shell.open_page(page)
        caption("Restores what the page's controls said. The data are not in it: choose them on Data & schema.")


def course() -> None:
    """The lessons, and which were gone through."""
    st.header(say("Lessons of five minutes"), anchor=False)
    for place, (name, lesson) in zip(st.columns(len(lessons.LESSONS)), lessons.LESSONS.items(), strict=True):
        with place.container(border=True, height="stretch"):
            done = f" {say(':green[:material/check_circle: done]')}" if name in lessons.learned() else ""
            st.markdown(f"**{say(lesson.title)}**{done}")
            markdown(lesson.promise)
            key = f"home.lesson.{name}"
            st.button(say("Start the lesson"), key=key, icon=":material/school:", on_click=lessons.begin, args=(name,))


if (title := lessons.taught()) is not None:
    shell.frame(say(title), say("To take away:"))
    lessons.farewell()
else:
    shell.frame(
        say("See what privacy costs"),
        say(
            "Here you turn a table about people, one row for each, into a synthetic copy, and see what the copy keeps "
            "and what it loses. Each method comes in two versions: as published, and corrected so that its guarantee "
            "is proved. The guarantee is for one row, and weaker for somebody with several rows. The ledger shows the "
            "epsilon that the paper claims beside the epsilon that can be proved."
        ),
    )
    if housekeeping.unguarded():
        st.warning(say(shell.UNGUARDED), icon=":material/warning:")
    first()
    course()
    st.divider()
    st.header(say("What does epsilon mean?"))
    from dpcore.dashboard.panels import epsilon_in_use

    epsilon_in_use.answered(epsilon_picker("home"))
