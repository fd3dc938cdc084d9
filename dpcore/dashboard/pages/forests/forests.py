"""The page of forests: its model, the paper's table of methods, and models from files."""

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
SURVEY = [phrase("mechanism"), phrase("noise"), phrase("framework"), phrase("data")]


def model(shown: ShownRelease, _: Dataset) -> Parts:
    """The trees, and what they predict."""
    return {
        phrase("Trees"): lambda: forest.draw_tree(PAGE, shown),
        phrase("Predict"): lambda: predict.draw_predictions(PAGE, shown.release.model),
    }


def survey() -> None:
    """Table 1 of the paper, of the methods that this program has."""
    kinds = {name: kind for name, kind in METHODS.items() if kind.survey_row}
    rows = {name: [*kind.survey_row, kind.provable_published] for name, kind in kinds.items()}
    columns = [*SURVEY, phrase("as published, proven")]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    st.table(table.map(say).rename(columns=say))
    caption("The last column is not the paper's: it is what can be proved of each claimed epsilon.")


def more_trees(method: PrivateEstimator, rows: int | None) -> None:
    """A forest, where the rule grows a single tree."""
    ruled = isinstance(method, ForestClassifier) and method.mode == "corrected"
    if ruled and not method.n_trees and sizes_for(rows, method.epsilon)[0] == 1:
        look: Any = {"icon": ":material/forest:", "help": method.describe_size_rule(rows)}
        label, wish = say("Grow 25 trees all the same"), (PAGE, {"n_trees": 25})
        st.button(label, on_click=links.preset_controls, args=wish, **look)


def drawers(_: Dataset) -> None:
    """What can be done without a release."""
    predict.saved_model_drawer(PAGE)
