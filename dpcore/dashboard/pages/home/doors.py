"""The three panels of the start page: lessons, the user's own table, and a first release."""

import re
from typing import Any

import streamlit as st

from dpcore import datasets
from dpcore.dashboard import FOLDER, housekeeping, jobs, lessons, links, session, shell
from dpcore.dashboard.epsilon import EPSILONS, choose_epsilon, show_odds
from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.dashboard.widgets import caption, markdown
from dpcore.language import say

NOTES = FOLDER / "docs" / "teaching.md"
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def draw_lessons() -> None:
    """Draw the panel of lessons: their list, a plan for 90 minutes, and the instructor's notes."""
    st.header(say("Teach"), anchor=False)
    markdown("Guided lessons of five minutes, or half an hour in class.")
    look: Any = {"icon": ":material/school:", "width": "stretch", "type": "primary"}
    with st.popover(say("Choose a lesson"), **look), st.container(key="lessons"):
        for name, lesson in LESSONS.items():
            done = f" {say(':green[:material/check_circle: done]')}" * (name in lessons.finished_lessons())
            look = {"on_click": lessons.begin_lesson, "args": (name,), "width": "stretch"}
            st.button(f"**{say(lesson.title)}**{done}", key=f"home.lesson.{name}", **look)
            caption(lesson.promise)
    with st.popover(say("Lesson plan, 90 minutes"), icon=":material/schedule:", width="stretch"):
        markdown("**30 minutes each**: lesson 1; lesson 2; lesson 3 with steps 4 and 5 of the last.")
        # Links would lead nowhere in the download.
        notes = LINK.sub(r"\1", NOTES.read_text(encoding="utf-8"))
        look = {"icon": ":material/download:", "on_click": "ignore", "key": "home.notes"}
        label = say("Instructor's notes (English)")
        st.download_button(label, notes, "teaching.md", "text/markdown", **look)
        caption("What to say at each step, what students ask, and exercises with solutions.")


def draw_upload() -> None:
    """Draw the panel to upload a table, or to restore the settings of an earlier release."""
    st.header(say("My table"), anchor=False)
    markdown("Declare a schema, then make a release.")
    file = housekeeping.uploader(say("CSV, Excel or Parquet"), key="home.file")
    if file is not None:
        handed = (file.file_id, file.name, file.getvalue())
        st.session_state.update({"data.handed": handed, "data.source": "upload"})
        shell.open_page("data")
    with st.popover(say("Go on from a release"), icon=":material/settings_backup_restore:", width="stretch"):
        label = say("The zip of a release, or its config.json")
        file = housekeeping.uploader(label, type=["zip", "json"], key="home.settings")
        found = jobs.read_file("home.read", file, links.settings_of_file)
        with shell.mendable():
            if found is not None:
                page, settings, data = found
                shell.check_page(page)
                title, name = shell.find_page(page).title, shell.escape(data)
                markdown("Settings of the page **{page}**, used on {data}.", page=title, data=name)
                label = say("Open the page of this file with these settings")
                if st.button(label, key="home.restore", type="primary"):
                    links.preset_controls(page, settings)
                    shell.open_page(page)
        caption("The file restores the settings of its page, not the data. Choose the data on the page Data.")


@st.fragment
def draw_first_release() -> None:
    """Draw the panel that releases the bundled sample at a chosen epsilon, with its odds."""
    st.header(say("Choose epsilon"), anchor=False)
    epsilon = choose_epsilon("home", 1.0, EPSILONS)
    show_odds(epsilon)
    note = say("Make one synthetic copy of the bundled, census-like sample at this epsilon (a few seconds).")
    look: Any = {"type": "primary", "icon": ":material/play_arrow:", "width": "stretch"}
    if st.button(say("Try it now"), key="home.try", help=note, **look):
        session.set_dataset(datasets.load("sample"))
        session.restore_controls()
        session.drop("naive_bayes.")  # earlier settings may select a published method
        session.preset("naive_bayes.epsilon", epsilon)
        session.request("naive_bayes")
        shell.open_page("naive_bayes")


DOORS = (draw_lessons, draw_upload, draw_first_release)
