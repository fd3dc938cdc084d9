"""Trees and forests: private classifiers, one tree or many (paper 003)."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from dpcore.dashboard import links, panels, workbench
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import classifier, disclosure, forest, paper_figures, predict, take_home
from dpcore.datasets import Dataset
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.trees.base import ForestClassifier, sizes_for

PAGE = "forests"
FOREST = {"n_trees_ruled": False, "n_trees.25": 25}


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    return {
        "Price": lambda: panels.price(shown),
        "Trees": lambda: forest.tree(PAGE, shown),
        "Where the budget went": lambda: forest.budget(shown),
        "Accuracy": lambda: classifier.accuracy(PAGE, shown),
        "Draw again": lambda: classifier.redraws(PAGE, shown),
        "Predict": lambda: predict.predict(PAGE, shown),
        "The paper's figures": lambda: figures(data),
        disclosure.TAB: lambda: disclosure.learned(PAGE, shown),
        "Take home": lambda: take_home.take_home(PAGE, shown, lambda: classifier.pictures(PAGE, shown)),
    }


def figures(data: Dataset) -> None:
    """The paper's table, and its figures."""
    survey()
    paper_figures.figures(PAGE, data, "003", repeats=5)


def survey() -> None:
    """Table 1 of the paper, of the methods that this program has."""
    names = ("mechanism", "noise", "framework", "data", "as printed, provable")
    rows = {name: (*kind.survey, kind.provable_printed) for name, kind in METHODS.items() if kind.survey}
    with st.expander(f"Table 1 of the paper: {len(rows)} methods beside each other"):
        st.table(pd.DataFrame.from_dict(rows, orient="index", columns=names))
        st.caption("The last column is not the paper's: it is what can be proved of the epsilon that each one claims.")


def more_trees(method: PrivateEstimator, rows: int | None) -> None:
    """A forest, where the rule grows a single tree."""
    ruled = isinstance(method, ForestClassifier) and method.mode == "corrected" and not method.n_trees
    if ruled and sizes_for(rows, method.epsilon)[0] == 1:
        st.button("Grow 25 trees all the same", icon=":material/forest:", on_click=links.ask, args=(PAGE, FOREST))


def waiting(_: Dataset) -> None:
    """What can be done without a release."""
    with st.expander("Or predict with a model that was taken home earlier"):
        predict.predict(PAGE, None)
    survey()


workbench.Workbench(
    PAGE,
    "Trees & forests",
    "Learn, privately, to tell a class from the other columns; look at the trees; then predict for rows of your own.",
    tabs,
    layout=(
        ("epsilon",),
        ("method", f"target {workbench.NOISE}"),
        ("n_trees max_depth rounds", "criterion max_features cuts children", "own"),
        workbench.NEXT,
    ),
    printed="As published, or reconstructed",
    invitation=f"Press Run to learn a classifier. {workbench.CHARGED}",
    waiting=waiting,
    explained=more_trees,
).draw()
