"""Compare methods: three questions, or any methods at several epsilons, run again and again on the same rows."""

import streamlit as st

from dpcore.dashboard import controls, housekeeping, jobs, session, shell, unproved, widgets, workbench
from dpcore.dashboard.pages.compare import sweep, sweep_results, sweep_runs
from dpcore.errors import ParameterError
from dpcore.experiment import Config
from dpcore.language import phrase, say

PAGE, TITLE = "compare", phrase("Comparing")
GO_ON = phrase("Go on")

place = shell.frame(say("Compare"), workbench.about(session.dataset())).empty()
data = session.dataset()
presets = {key: sweep.preset(question, data) for key, question in sweep.QUESTIONS.items()}


def load() -> None:
    """Set the controls as an uploaded description of a comparison says."""
    file = st.session_state.get(f"{PAGE}.file")
    if file is None:
        return
    try:
        sweep.restore(PAGE, Config.from_json(file.getvalue()))
    except ParameterError as error:
        st.session_state[f"{PAGE}.refused"] = str(error)


@st.fragment
def settings() -> None:
    """All settings, folded; moving one draws nothing and spends nothing."""
    with st.popover(say("Choose methods"), width="stretch"):
        config, left_out = sweep.ask(PAGE, data, presets["keeps"])
        sweep.notes(config, left_out)
        sweep.sampled(data)
        housekeeping.uploader(say("An earlier comparison (JSON)"), type="json", key=f"{PAGE}.file", on_change=load)
        if refused := st.session_state.pop(f"{PAGE}.refused", ""):
            st.error(shell.escaped(refused), icon=":material/error:")
    st.session_state[f"{PAGE}.chosen"] = config
    if missing := sweep.lacks(config):
        st.caption(missing)
    elif not session.resting(PAGE):  # what runs come to while they are under way is in their progress
        shown = sweep_runs.shown(data)
        if shown is not None and shown.config.to_json(data) != config.to_json(data):
            widgets.outdated()
        with shell.mendable():
            widgets.caption("Run: {charge}", charge=sweep_runs.charge_of(config, data))
    controls.lacking(PAGE, missing)


def questions() -> None:
    """A button for each question, which starts its comparison, and what that will charge."""
    for spot, (key, config) in zip(st.columns(len(presets)), presets.items(), strict=True):
        with spot, shell.mendable():
            look = {"width": "stretch", "disabled": config is None, "help": say(sweep_runs.CHARGED)}
            unproved.button(say(sweep.QUESTIONS[key].words), PAGE, key, data, **look)
            st.caption(sweep_runs.charge_of(config, data) if config else say("No method takes these columns."))


def offer(label: str) -> None:
    """The button for the last comparison, whatever the settings say now."""
    told = unproved.without(say(label)) if label == GO_ON and data.schema.source == "inferred" else say(label)
    jobs.ask(told, PAGE, "again", icon=":material/play_arrow:")


left, right = st.columns([4, 1.3])
row = left.empty()
jobs.answer(row, PAGE, TITLE)
requested = jobs.requested(PAGE)
if (asked := presets.get(requested)) is not None:
    sweep.restore(PAGE, asked)
unproved.agree(PAGE, requested, data)
st.session_state.pop(f"{PAGE}.lacks", None)
with right:
    settings()
jobs.end_in_page(PAGE)
chosen, shown = st.session_state[f"{PAGE}.chosen"], sweep_runs.shown(data)
stopped = shown is not None and len(shown.frames) < shown.planned
found = sweep_runs.earlier(data) if shown is None else None
last = shown.config if stopped else found and found[0]
wanted = last if requested == "again" else chosen
if wanted is None or (wanted is chosen and sweep.lacks(chosen)):
    session.asked().pop(PAGE, None)
working = jobs.run(TITLE, PAGE, sweep_runs.work(wanted or chosen, data), place=row)
if not working:
    with row.container():
        questions()
with place.container():
    controls.run_button(PAGE, data)
if not working and stopped:
    offer(GO_ON)
elif not working and found is not None:
    count, planned = found[1], sweep.runs_of(found[0])
    with st.container(horizontal=True, vertical_alignment="center"):
        widgets.markdown(sweep_runs.KEPT if count == planned else sweep_runs.BEGUN, count=count, planned=planned)
        offer(phrase("Show it") if count == planned else GO_ON)
if shown is None and not working:
    st.info(say("Press a question, or choose methods and press Run. No row is read before."), icon=":material/info:")
elif shown is not None and shown.frames and not (working and stopped):
    with st.container(key=widgets.MADE):
        sweep_results.results(PAGE, shown)
if session.ended(PAGE):
    widgets.focus("verdict")
