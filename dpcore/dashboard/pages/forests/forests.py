"""The page of forests: its model, the paper's table of methods, and what can be done without a release."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore.dashboard import links
from dpcore.dashboard.panels import forest, predict
from dpcore.dashboard.session import Shown
from dpcore.dashboard.widgets import caption
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.trees.base import ForestClassifier, sizes_for

PAGE = "forests"
FOREST = {"n_trees": 25}


def model(shown: Shown, _: Dataset) -> Parts:
    """The trees, and what they predict."""
    return {
        phrase("Trees"): lambda: forest.tree(PAGE, shown),
        phrase("Predict"): lambda: predict.predict(PAGE, shown.release.model),
    }


def survey() -> None:
    """Table 1 of the paper, of the methods that this program has."""
    names = [say("mechanism"), say("noise"), say("framework"), say("data"), say("as published, proven")]
    kinds = {name: kind for name, kind in METHODS.items() if kind.survey_row}
    rows = {name: [say(cell) for cell in (*kind.survey_row, kind.provable_printed)] for name, kind in kinds.items()}
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=names))
    caption("The last column is not the paper's: it is what can be proved of the epsilon that each one claims.")


def more_trees(method: PrivateEstimator, rows: int | None) -> None:
    """A forest, where the rule grows a single tree."""
    ruled = isinstance(method, ForestClassifier) and method.mode == "corrected" and not method.n_trees
    if ruled and sizes_for(rows, method.epsilon)[0] == 1:
        look: dict[str, Any] = {"icon": ":material/forest:", "help": method.foretold(rows)}
        st.button(say("Grow 25 trees all the same"), on_click=links.ask, args=(PAGE, FOREST), **look)


def drawers(_: Dataset) -> None:
    """What can be done without a release."""
    predict.drawer(PAGE)
