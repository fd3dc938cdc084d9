"""Page Compare: preset questions, or any methods at several epsilons, on the same rows."""

import streamlit as st

from dpcore.dashboard import controls, jobs, session, shell, void_guarantee, widgets, workbench
from dpcore.dashboard.pages.compare import settings, sweep, sweep_results, sweep_runs
from dpcore.language import phrase, say

PAGE, TITLE = "compare", phrase("Comparing")

corner = shell.draw_frame(say("Compare"), workbench.describe_data(session.dataset()))
data, requested = session.dataset(), jobs.waiting_run(PAGE)
presets = {key: sweep.preset_config(question, data) for key, question in sweep.QUESTIONS.items()}
row = st.empty()
jobs.show_start(row, PAGE, TITLE)
if (question := presets.get(requested)) is not None:  # the page shows the question's settings
    st.session_state[f"{PAGE}.tab"] = "Answer"
    sweep.restore_controls(PAGE, question)
void_guarantee.record_agreement(PAGE, requested, data)
st.session_state.pop(f"{PAGE}.lacks", None)
settings.draw_settings(PAGE, data, presets["keeps"])
jobs.finish_in_page(PAGE)
chosen = st.session_state[f"{PAGE}.chosen"]
if sweep.missing_choice(chosen):
    session.waiting_runs().pop(PAGE, None)
working = jobs.run(TITLE, PAGE, sweep_runs.make_work(chosen, data), area=row)
if not working:
    with row.container():
        settings.draw_questions(PAGE, data, presets)
with corner:
    controls.run_button(PAGE, data)
shown = sweep_runs.current_comparison(data)
if shown is not None and not (working and len(shown.frames) < shown.n_runs):
    with st.container(key=widgets.MADE):
        sweep_results.draw_results(PAGE, shown)
elif not working:
    st.info(say("Press a question, or choose methods and press Run. Only runs read rows."), icon=":material/info:")
if session.has_ended(PAGE):
    widgets.focus("verdict")
