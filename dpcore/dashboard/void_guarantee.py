"""Buttons that request noise although no guarantee can hold: they ask once per data set.

A schema that was inferred from rows reveals their values, however much noise the answers have.
"""

from contextlib import nullcontext
from typing import Any

import streamlit as st

from dpcore.dashboard import jobs, session
from dpcore.dashboard.shell import escape, mendable, open_page
from dpcore.dashboard.widgets import markdown
from dpcore.datasets import Dataset
from dpcore.language import phrase, say

CHARGES = phrase("**{charge}.** Every run is a release of the rows of {data}.")
NO_GUARANTEE = phrase(
    "**This run can have no guarantee.** Bounds or categories of {data} were read off its rows, "
    "and no one has declared them. A release shows them without noise, and may reveal a person. "
    "The ledger lists such runs separately."
)


def record_agreement(name: str, what: str, data: Dataset) -> None:
    """Record that a user requested work on these data although no guarantee can hold.

    `name` is the name of the work, and `what` the button that requests it. Nothing is recorded if
    the schema is declared, or if that button's request is not waiting.
    """
    if jobs.waiting_run(name) == what and data.schema.source != "declared":
        session.keep_once("dpcore.agreed", set[str]).add(data.token)


def run_button(
    label: str, name: str, what: str, data: Dataset, container: jobs.Container = None, charge: str = "", **style: Any
) -> None:
    """Draw a button that requests work on these data; without a declared schema, it asks first.

    `name` is the name of the work, and `what` distinguishes several buttons of the same work.
    `charge` is what the run can cost, in words. With a charge, every press asks for confirmation.
    """
    declared, agreed = data.schema.source == "declared", session.keep_once("dpcore.agreed", set[str])
    if not declared:
        label = say("{button_label} without a guarantee", button_label=label)
        record_agreement(name, what, data)
    free = declared or data.token in agreed
    if free and not charge:
        jobs.run_button(label, name, what, container, **style)
        return
    key = f"{name}.{what}.asks:{session.tickets().get(name, 0)}"
    with container or nullcontext(), st.popover(label, key=key, **style):
        markdown(CHARGES if free else NO_GUARANTEE, charge=charge, data=escape(data.name))
        with st.container(horizontal=True):
            if free:
                jobs.request_button(say("Charge and run"), name, what, type="primary")
            else:
                if st.button(say("Declare the schema first"), key=f"{name}.{what}.declare", type="primary"):
                    open_page("data")
                jobs.request_button(say("Go on without a guarantee"), name, what)
    with mendable():
        jobs.finish(name)
