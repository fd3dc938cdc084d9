"""Compare methods: any of them, at several epsilons, run again and again on the same rows."""

import streamlit as st

from dpcore.dashboard import controls, housekeeping, jobs, session, shell, unproved, widgets
from dpcore.dashboard.pages.compare import sweep, sweep_results, sweep_runs
from dpcore.errors import ParameterError
from dpcore.experiment import Config
from dpcore.experiment.sweeps import find_finished_runs
from dpcore.language import phrase, say

PAGE = "compare"
GO_ON = phrase("Go on")

shell.frame(
    say("Compare methods"),
    say(
        "Run methods beside each other, at several epsilons and several times, and see what is chance and what is not. "
        "Every run is a release of the same rows, and **all of them are charged**."
    ),
)
data = session.dataset()


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
    """All settings; moving one draws nothing and spends nothing."""
    shown = sweep_runs.shown(data)
    # Folded away by each new result, as on a workbench: under another key it is another drawer, and no setting.
    folded = shown is not None or session.laid_aside()
    with st.expander(say("Settings"), expanded=not folded, key=f"drawer.{PAGE}.{id(shown)}"):
        config, left_out = sweep.ask(PAGE, data)
        told = say("Or the settings of an earlier comparison (JSON)")
        housekeeping.uploader(told, type="json", key=f"{PAGE}.file", on_change=load)
        if refused := st.session_state.pop(f"{PAGE}.refused", ""):
            st.error(shell.escaped(refused), icon=":material/error:")
    st.session_state[f"{PAGE}.chosen"] = config
    if missing := sweep.lacks(config):
        st.info(missing)
    elif not session.resting(PAGE):  # what runs come to while they are under way is in their progress
        if shown is not None and shown.config.to_json(data) != config.to_json(data):
            widgets.outdated()
        with shell.mendable():
            finished = find_finished_runs(config, data, sweep_runs.place())
            sweep.said(config, data, left_out, finished, sweep_runs.paces().get(sweep_runs.speed_key(config, data)))
    controls.lacking(PAGE, missing)


def offer(label: str) -> None:
    """The button for the last comparison, whatever the settings say now."""
    told = unproved.without(say(label)) if label == GO_ON and data.schema.source == "inferred" else say(label)
    jobs.ask(told, PAGE, "again", icon=":material/play_arrow:")


st.session_state.pop(f"{PAGE}.lacks", None)
settings()
sweep.sampled(data)
chosen, shown = st.session_state[f"{PAGE}.chosen"], sweep_runs.shown(data)
stopped = shown is not None and len(shown.frames) < shown.planned
found = sweep_runs.earlier(data) if shown is None else None
last = shown.config if stopped else found and found[0]
wanted = last if jobs.requested(PAGE) == "again" else chosen
if wanted is None or (wanted is chosen and sweep.lacks(chosen)):
    session.asked().pop(PAGE, None)
if jobs.requested(PAGE) or not session.resting(PAGE):  # while runs are under way, there is Cancel and nothing else
    controls.run_button(PAGE, data)
    if stopped:
        offer(GO_ON)
    elif found is not None:
        count, planned = found[1], sweep.runs_of(found[0])
        with st.container(horizontal=True, vertical_alignment="center"):
            widgets.markdown(sweep_runs.KEPT if count == planned else sweep_runs.BEGUN, count=count, planned=planned)
            offer(phrase("Show it") if count == planned else GO_ON)
working = jobs.run(phrase("Comparing"), PAGE, sweep_runs.work(wanted or chosen, data))
if shown is None and not working:
    st.info(say("Press Run to compare. Nothing is asked of the rows before."), icon=":material/arrow_upward:")
elif shown is not None and shown.frames and not (working and stopped):
    with st.container(key=widgets.MADE):
        sweep_results.results(PAGE, shown)
