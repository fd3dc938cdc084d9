"""Compare methods: three questions, or any methods at several epsilons, run again and again on the same rows."""

import streamlit as st

from dpcore.dashboard import controls, jobs, session, shell, unproved, widgets, workbench
from dpcore.dashboard.pages.compare import settings, sweep, sweep_results, sweep_runs
from dpcore.language import phrase, say

PAGE, TITLE = "compare", phrase("Comparing")

corner = shell.frame(say("Compare"), workbench.data_in_use(session.dataset()))
data, requested = session.dataset(), jobs.requested(PAGE)
presets = {key: sweep.preset(question, data) for key, question in sweep.QUESTIONS.items()}
row = st.empty()
jobs.answer(row, PAGE, TITLE)
shown = sweep_runs.shown(data)
stopped = shown is not None and len(shown.frames) < shown.planned
found = sweep_runs.earlier(data) if shown is None else None
last = shown.config if stopped else found and found[0]
if (wanted := last if requested == "again" else presets.get(requested)) is not None:
    settings.show(PAGE, wanted)
unproved.agree(PAGE, requested, data)
st.session_state.pop(f"{PAGE}.lacks", None)
settings.draw_settings(PAGE, data, presets["keeps"])
jobs.end_in_page(PAGE)
chosen = st.session_state[f"{PAGE}.chosen"]
wanted = last if requested == "again" else chosen
if wanted is None or (wanted is chosen and sweep.lacks(chosen)):
    session.asked().pop(PAGE, None)
working = jobs.run(TITLE, PAGE, sweep_runs.work(wanted or chosen, data), place=row)
if not working:
    with row.container():
        settings.draw_questions(PAGE, data, presets)
with corner:
    controls.run_button(PAGE, data)
if not working and stopped:
    settings.offer(PAGE, data, settings.GO_ON)
elif not working and found is not None:
    count, planned = found[1], sweep.runs_of(found[0])
    with st.container(horizontal=True, vertical_alignment="center"):
        widgets.markdown(sweep_runs.KEPT if count == planned else sweep_runs.BEGUN, count=count, planned=planned)
        settings.offer(PAGE, data, phrase("Show it") if count == planned else settings.GO_ON)
if shown is None and not working:
    st.info(say("Press a question, or choose methods and press Run. No row is read before."), icon=":material/info:")
elif shown is not None and shown.frames and not (working and stopped):
    with st.container(key=widgets.MADE):
        sweep_results.results(PAGE, shown)
if session.has_ended(PAGE):
    widgets.focus("verdict")
