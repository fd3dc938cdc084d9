"""What the page of comparisons begins with: its questions, and all settings behind one press."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dpcore.dashboard import controls, housekeeping, session, shell, void_guarantee, widgets
from dpcore.dashboard.pages.compare import sweep, sweep_runs
from dpcore.dashboard.widgets import caption
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.experiment import Config
from dpcore.language import say


def load(page: str) -> None:
    """Set the controls as an uploaded description of a comparison says."""
    if (file := st.session_state.get(f"{page}.file")) is not None:
        try:
            config = st.session_state[f"{page}.wanted"] = Config.from_json(file.getvalue())
            sweep.restore(page, config)
        except ParameterError as error:
            st.session_state[f"{page}.refused"] = str(error)


@st.fragment
def draw_settings(page: str, data: Dataset, usual: Config | None) -> None:
    """All settings, folded; moving one draws no noise and spends nothing."""
    left, right = st.columns([3.2, 1.4])
    # No popover: while one is closed, its widgets keep what they said before a question set them.
    with left.expander(say("Choose methods"), key=f"drawer.{page}"):
        config, left_out = sweep.ask(page, data, usual)
        sweep.notes(config, left_out, data)
        look: Any = {"type": "json", "on_change": load, "args": (page,)}
        housekeeping.uploader(say("An earlier comparison (JSON)"), key=f"{page}.file", **look)
        wanted, refused = (st.session_state.pop(f"{page}.{key}", None) for key in ("wanted", "refused"))
        if wanted is not None and replace(wanted, skip=True).to_dict(data)["hash"] != config.to_dict(data)["hash"]:
            refused = say("This page offers less than the file says. Use dpcore.experiment.Config.")
        if refused:
            st.error(shell.escape(refused), icon=":material/error:")
    st.session_state[f"{page}.chosen"] = config
    if missing := sweep.lacks(config):
        right.caption(missing)
    elif not session.is_waiting(page):  # what runs come to while they are under way is in their progress
        shown = sweep_runs.current_comparison(data)
        if shown is not None and shown.config.to_json(data) != config.to_json(data):
            widgets.note_outdated()
        with right, shell.mendable():
            caption("Run: {charge}", charge=sweep_runs.charge_of(config, data))
    controls.note_missing(page, missing)


def draw_questions(page: str, data: Dataset, presets: Mapping[str, Config | None]) -> None:
    """A button for each question, which starts its comparison, and what that will charge."""
    for spot, (key, config) in zip(st.columns(len(presets)), presets.items(), strict=True):
        with spot, shell.mendable():
            charge = sweep_runs.charge_of(config, data) if config else say("No method takes these columns.")
            asks = config is not None and session.is_of_people(data) and charge != say(sweep_runs.FINISHED)
            look: Any = {"charge": charge} if asks else {"help": say(sweep_runs.CHARGED)}
            words = say(sweep.QUESTIONS[key].words)
            void_guarantee.run_button(words, page, key, data, width="stretch", disabled=config is None, **look)
            st.caption(charge)
