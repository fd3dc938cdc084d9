"""Start: three doors (lessons, a table of one's own, a first look), or what was just learned."""

import streamlit as st

from dpcore.dashboard import housekeeping, lessons, shell
from dpcore.dashboard.pages.home import doors
from dpcore.language import say

if (title := lessons.title_of_finished()) is not None:
    shell.draw_frame(say(title), say("To take away:"))
    lessons.draw_lesson_end()
else:
    shell.draw_frame(say("See what privacy costs"), say("Synthetic data from a table about people."))
    if housekeeping.is_unguarded():
        st.warning(say(shell.UNGUARDED), icon=":material/warning:")
    for column, draw in zip(st.columns(3, border=True), doors.DOORS, strict=True):
        with column:
            draw()
