"""Trees and forests: private classifiers, one tree or many (paper 003)."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from dpcore.dashboard import links, panels, workbench
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import classifier, disclosure, forest, paper_figures, predict, take_home
from dpcore.dashboard.widgets import caption
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.trees.base import ForestClassifier, sizes_for

PAGE = "forests"
FOREST = {"n_trees": 25}


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    return {
        phrase("Price"): lambda: panels.price(shown),
        phrase("Trees"): lambda: forest.tree(PAGE, shown),
        phrase("Where the budget went"): lambda: forest.budget(shown),
        phrase("Accuracy"): lambda: classifier.accuracy(PAGE, shown),
        phrase("Draw again"): lambda: classifier.redraws(PAGE, shown),
        phrase("Predict"): lambda: predict.predict(PAGE, shown),
        phrase("The paper's figures"): lambda: figures(data),
        disclosure.TAB: lambda: disclosure.learned(PAGE, shown),
        phrase("Take home"): lambda: take_home.take_home(PAGE, shown, lambda: classifier.pictures(PAGE, shown)),
    }


def figures(data: Dataset) -> None:
    """The paper's table, and its figures."""
    survey()
    paper_figures.figures(PAGE, data, "003", repeats=5)


def survey() -> None:
    """Table 1 of the paper, of the methods that this program has."""
    names = [say("mechanism"), say("noise"), say("framework"), say("data"), say("as printed, provable")]
    kinds = {name: kind for name, kind in METHODS.items() if kind.survey_row}
    rows = {name: [say(cell) for cell in (*kind.survey_row, kind.provable_printed)] for name, kind in kinds.items()}
    with st.expander(say("Table 1 of the paper: {n} methods beside each other", n=len(rows))):
        st.table(pd.DataFrame.from_dict(rows, orient="index", columns=names))
        caption("The last column is not the paper's: it is what can be proved of the epsilon that each one claims.")


def more_trees(method: PrivateEstimator, rows: int | None) -> None:
    """A forest, where the rule grows a single tree."""
    ruled = isinstance(method, ForestClassifier) and method.mode == "corrected" and not method.n_trees
    if ruled and sizes_for(rows, method.epsilon)[0] == 1:
        st.button(say("Grow 25 trees all the same"), icon=":material/forest:", on_click=links.ask, args=(PAGE, FOREST))


def waiting(_: Dataset) -> None:
    """What can be done without a release."""
    with st.expander(say("Or predict with a model that was taken home earlier")):
        predict.predict(PAGE, None)
    survey()


workbench.Workbench(
    PAGE,
    phrase("Trees & forests"),
    phrase(
        "Learn, privately, to tell a class from the other columns; look at the trees; then predict for rows of your "
        "own."
    ),
    tabs,
    layout=(
        ("epsilon",),
        ("method", f"target {workbench.NOISE}"),
        ("n_trees max_depth rounds", "criterion max_features cuts children", "own"),
        workbench.NEXT,
    ),
    printed=phrase("As published, or reconstructed"),
    invitation=phrase("Press Run to learn a classifier. Every run is charged to the ledger."),
    waiting=waiting,
    explained=more_trees,
).draw()
