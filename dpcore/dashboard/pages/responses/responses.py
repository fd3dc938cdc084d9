"""The page of randomized response: its model, collected reports, and models from files."""

import streamlit as st

from dpcore.dashboard.pages.responses import collection, reports
from dpcore.dashboard.panels import forest, predict
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import caption, markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.language import phrase, say

PAGE = "responses"


def model(shown: ShownRelease, _: Dataset) -> Parts:
    """The reports, the tree that was learned from them if any, and what the model predicts."""
    model, parts = shown.release.model, {}
    if model.reports:
        parts[phrase("Reports")] = lambda: reports.reports(PAGE, shown)
    if "forest" in model.released:
        parts[phrase("Tree")] = lambda: forest.draw_tree(PAGE, shown)
    return parts | {phrase("Predict"): lambda: predict.draw_predictions(PAGE, model)}


def drawers(_: Dataset) -> None:
    """What can be done without a release."""
    with st.expander(say("Or open collected reports")):
        collection.collection(PAGE)
    predict.saved_model_drawer(PAGE)


def draw_explanation(*_: object) -> None:
    """Who plays the people, and what names stand for."""
    caption(
        "This program plays all people: it randomizes their answers, and learns from their reports "
        "only. What is true it keeps to compare with, on this screen."
    )
    with st.popover(say("What the names stand for")):
        markdown(reports.NAMES)
