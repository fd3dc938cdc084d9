"""Start: three doors (lessons, a table of one's own, a first look), or what was just learned."""

import streamlit as st

from dpcore.dashboard import housekeeping, lessons, shell
from dpcore.dashboard.pages.home import doors
from dpcore.language import say

if (title := lessons.taught()) is not None:
    shell.frame(say(title), say("To take away:"))
    lessons.farewell()
else:
    shell.frame(
        say("See what privacy costs"),
        say("Turn a table about people into synthetic data: what is kept, what can it cost them?"),
    )
    if housekeeping.unguarded():
        st.warning(say(shell.UNGUARDED), icon=":material/warning:")
    shown = (
        (say("Teach"), say("Guided lessons of five minutes, with their own ledger."), doors.teach),
        (say("My table"), say("Say what is public about it, then release."), doors.own_table),
        (say("What if"), say("How sure could someone become about you?"), doors.first_release),
    )
    for place, (name, sentence, draw) in zip(st.columns(3), shown, strict=True):
        with place.container(border=True, height="stretch"):
            st.header(name, anchor=False)
            st.markdown(sentence)
            draw()
