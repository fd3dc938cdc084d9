"""Controls of the page Compare: the preset questions, and the drawer with all settings."""

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


def load_comparison(page: str) -> None:
    """Set the page's controls from an uploaded comparison (JSON). An uploader's callback."""
    if (file := st.session_state.get(f"{page}.file")) is not None:
        try:
            config = st.session_state[f"{page}.wanted"] = Config.from_json(file.getvalue())
            sweep.restore_controls(page, config)
        except ParameterError as error:
            st.session_state[f"{page}.refused"] = str(error)


@st.fragment
def draw_settings(page: str, data: Dataset, usual: Config | None) -> None:
    """Draw the drawer with all settings of a comparison, and what a run would charge.

    `usual` is the comparison that the controls show at first. Changing a control draws no noise and
    spends nothing.
    """
    left, right = st.columns([3.2, 1.4])
    # A closed popover's widgets would ignore the values that a preset question sets.
    with left.expander(say("Choose methods"), key=f"drawer.{page}"):
        config, left_out = sweep.draw_controls(page, data, usual)
        sweep.draw_notes(config, left_out, data)
        look: Any = {"type": "json", "on_change": load_comparison, "args": (page,)}
        housekeeping.uploader(say("An earlier comparison (JSON)"), key=f"{page}.file", **look)
        wanted, refused = (st.session_state.pop(f"{page}.{k}", None) for k in ("wanted", "refused"))
        if wanted is not None and replace(wanted, skip=True).to_dict(data)["hash"] != config.to_dict(data)["hash"]:
            refused = say("This page has no controls for some settings of the file. Use dpcore.experiment.Config.")
        if refused:
            st.error(shell.escape(refused), icon=":material/error:")
    st.session_state[f"{page}.chosen"] = config
    if missing := sweep.missing_choice(config):
        right.caption(missing)
    elif not session.is_waiting(page):  # running work shows its own charge
        shown = sweep_runs.current_comparison(data)
        if shown is not None and shown.config.to_json(data) != config.to_json(data):
            widgets.note_outdated()
        with right, shell.mendable():
            caption("Pressing Run: {charge}", charge=sweep_runs.format_charge(config, data))
    controls.note_missing(page, missing)


def draw_questions(page: str, data: Dataset, presets: Mapping[str, Config | None]) -> None:
    """Draw one button per preset question; a press runs the comparison that answers it.

    `presets` has the comparison of each question, by the question's key; None if no method can run
    on the data. Below each button stands what its runs would charge to the ledger.
    """
    for spot, (key, config) in zip(st.columns(len(presets)), presets.items(), strict=True):
        with spot, shell.mendable():
            charge = sweep_runs.format_charge(config, data) if config else say("No method can run on these columns.")
            asks = config is not None and session.is_of_people(data) and charge != say(sweep_runs.FINISHED)
            look: Any = {"charge": charge} if asks else {"help": say(sweep_runs.CHARGED)}
            words = say(sweep.QUESTIONS[key].words)
            void_guarantee.run_button(words, page, key, data, width="stretch", disabled=config is None, **look)
            st.caption(charge)
