"""Panels of the page Randomized response: reports, trees, predictions, collected reports."""

import streamlit as st

from dpcore.dashboard.pages.responses import collection, reports
from dpcore.dashboard.panels import forest, predict
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import caption, markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.language import phrase, say

PAGE = "responses"


def model_parts(shown: ShownRelease, _: Dataset) -> Parts:
    """Return the parts of the tab Model: the reports, the learned tree if any, the predictions."""
    model, parts = shown.release.model, {}
    if model.reports:
        parts[phrase("Reports")] = lambda: reports.draw_reports(PAGE, shown)
    if "forest" in model.contents:
        parts[phrase("Tree")] = lambda: forest.draw_tree(PAGE, shown)
    return parts | {phrase("Predict"): lambda: predict.draw_predictions(PAGE, model)}


def draw_drawers(_: Dataset) -> None:
    """Draw the drawers that need no release: collected reports, and a model from a file."""
    with st.expander(say("Or open collected reports")):
        collection.draw_collection(PAGE)
    predict.saved_model_drawer(PAGE)


def draw_explanation(*_: object) -> None:
    """Draw a caption on who plays the people, and a list of what each method's name means."""
    caption(
        "The program plays all people: it randomizes their answers, and learns from their reports "
        "only. It keeps the true answers for comparison on this screen."
    )
    with st.popover(say("What the names stand for")):
        markdown(reports.NAMES)
