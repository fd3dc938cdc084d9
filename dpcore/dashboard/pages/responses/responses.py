"""The page of randomized response: its model, collected reports, and what can be done without a release."""

import streamlit as st

from dpcore.dashboard.pages.responses import collection, reports
from dpcore.dashboard.panels import forest, predict
from dpcore.dashboard.session import Shown
from dpcore.dashboard.widgets import caption, markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.language import phrase, say

PAGE = "responses"


def model(shown: Shown, _: Dataset) -> Parts:
    """The reports, the tree that was learned from them if there is one, and what the model predicts."""
    artifact = shown.release.model
    return {
        **({phrase("Reports"): lambda: reports.reports(PAGE, shown)} if artifact.reports else {}),
        **({phrase("Tree"): lambda: forest.tree(PAGE, shown)} if "forest" in artifact.released else {}),
        phrase("Predict"): lambda: predict.predict(PAGE, artifact),
    }


def drawers(_: Dataset) -> None:
    """What can be done without a release."""
    with st.expander(say("Or open collected reports")):
        collection.collection(PAGE)
    predict.drawer(PAGE)


def explained(*_: object) -> None:
    """Who plays the people, and what names stand for."""
    caption(
        "This program plays all people: it randomizes their answers, and learns from their reports only. What is true "
        "it keeps to compare with, on this screen."
    )
    with st.popover(say("What the names stand for")):
        markdown(reports.NAMES)
