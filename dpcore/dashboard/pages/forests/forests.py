"""Panels of the page Forests: trees, predictions, and the paper's table of methods."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore.dashboard import links
from dpcore.dashboard.panels import forest, predict
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import caption
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.trees.base import ForestClassifier, sizes_for

PAGE = "forests"
SURVEY = [phrase("mechanism"), phrase("noise"), phrase("query framework"), phrase("data types")]


def model_parts(shown: ShownRelease, _: Dataset) -> Parts:
    """Return the parts of the tab Model: the trees, and their predictions."""
    return {
        phrase("Trees"): lambda: forest.draw_tree(PAGE, shown),
        phrase("Predict"): lambda: predict.draw_predictions(PAGE, shown.release.model),
    }


def draw_survey() -> None:
    """Draw table 1 of paper 003, which compares methods, with what can be proved of each here."""
    kinds = {name: kind for name, kind in METHODS.items() if kind.survey_row}
    rows = {name: [*kind.survey_row, kind.provable_published] for name, kind in kinds.items()}
    columns = [*SURVEY, phrase("proven epsilon, as published")]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    st.table(table.map(say).rename(columns=say))
    caption("The last column is not in the paper: it shows what can be proved of each claim.")


def draw_forest_button(method: PrivateEstimator, rows: int | None) -> None:
    """Draw a button that sets 25 trees, where the method's rule would grow a single tree.

    `rows` is the public number of rows, or None.
    """
    ruled = isinstance(method, ForestClassifier) and method.mode == "corrected"
    if ruled and not method.n_trees and sizes_for(rows, method.epsilon)[0] == 1:
        look: Any = {"icon": ":material/forest:", "help": method.describe_size_rule(rows)}
        label, wish = say("Grow 25 trees anyway"), (PAGE, {"n_trees": 25})
        st.button(label, on_click=links.preset_controls, args=wish, **look)


def draw_drawers(_: Dataset) -> None:
    """Draw the folded drawer that predicts with a model from a file, which needs no release."""
    predict.saved_model_drawer(PAGE)
