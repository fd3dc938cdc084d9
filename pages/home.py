"""Start page: lessons, the user's own table and a first release, or a lesson's takeaways."""

import streamlit as st

from dpcore.dashboard import housekeeping, lessons, shell
from dpcore.dashboard.pages.home import doors
from dpcore.language import say

if (title := lessons.finished_title()) is not None:
    shell.draw_frame(say(title), say("What you take away from this lesson:"))
    lessons.draw_takeaways()
else:
    shell.draw_frame(say("See what privacy costs"), say("Synthetic data from a table about people."))
    if housekeeping.is_unguarded():
        st.warning(say(shell.UNGUARDED), icon=":material/warning:")
    for column, draw in zip(st.columns(3, border=True), doors.DOORS, strict=True):
        with column:
            draw()
