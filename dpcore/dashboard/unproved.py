"""Buttons that draw noise, where no guarantee can come of it: they say so, and ask once per data set.

A schema that was read off the rows gives away what it holds, however much noise is in the answers.
"""

from contextlib import nullcontext
from typing import Any

import streamlit as st

from dpcore.dashboard import jobs, session
from dpcore.dashboard.shell import escaped, mendable, open_page
from dpcore.dashboard.widgets import markdown
from dpcore.datasets import Dataset
from dpcore.language import say

SHAPE = ("type", "icon", "width", "help")  # what a button and a popover have in common


def without(label: str) -> str:
    """What such a button is called."""
    return say("{label} without a guarantee", label=label)


def agree(name: str, what: str, data: Dataset) -> None:
    """Note that someone asked for work on these data though no guarantee can come of it."""
    if jobs.requested(name) == what and data.schema.source != "declared":
        session.kept("dpcore.agreed", set[str]).add(data.token)


def button(
    label: str, name: str, what: str, data: Dataset, place: jobs.Place = None, charge: str = "", **look: Any
) -> None:
    """A button of `jobs` for work on these data; without a declared schema it is called otherwise, and asks first.

    With a `charge`, in words, every press asks whether that may be charged.
    """
    declared, agreed = data.schema.source == "declared", session.kept("dpcore.agreed", set[str])
    if not declared:
        label = without(label)
        agree(name, what, data)
    free, shape = declared or data.token in agreed, {part: look[part] for part in SHAPE if part in look}
    if free and charge:
        ticket, values = session.tickets().get(name, 0), {"charge": charge, "data": escaped(data.name)}
        with place or nullcontext(), st.popover(label, key=f"{name}.{what}.asks:{ticket}", **shape):
            markdown("**{charge}.** Every run is a release of the rows of {data}.", **values)
            jobs.ask(say("Charge and run"), name, what, type="primary")
        return
    if free:
        jobs.button(label, name, what, place, **look)
        return
    with place or nullcontext(), st.popover(label, key=f"{name}.{what}.asks", **shape):
        markdown(
            "**No guarantee can come of this.** Bounds or categories of {data} were read off its rows, and no one "
            "has declared them. A release shows them without noise, and may give a person away. The ledger lists it "
            "apart.",
            data=escaped(data.name),
        )
        with st.container(horizontal=True):
            if st.button(say("Declare them first"), key=f"{name}.{what}.declare", type="primary"):
                open_page("data")
            jobs.ask(say("Go on without"), name, what)
    with mendable():
        jobs.end(name)
