"""Trees and forests: private classifiers, one tree or many (paper 003)."""

from collections.abc import Callable

import streamlit as st

from dpcore.dashboard import panels, workbench
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import classifier, forest, paper_figures, predict, take_home
from dpcore.datasets import Dataset

PAGE = "forests"


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    return {
        "Price": lambda: panels.price(shown),
        "Trees": lambda: forest.tree(PAGE, shown),
        "Where the budget went": lambda: forest.budget(shown),
        "Accuracy": lambda: classifier.accuracy(PAGE, shown),
        "Draw again": lambda: classifier.redraws(PAGE, shown),
        "Predict": lambda: predict.predict(PAGE, shown),
        "The paper's figures": lambda: paper_figures.figures(PAGE, data, "003", repeats=5),
        "Take home": lambda: take_home.take_home(PAGE, shown, lambda: classifier.pictures(PAGE, shown)),
    }


def waiting(_: Dataset) -> None:
    """What can be done without a release."""
    with st.expander("Or predict with a model that was taken home earlier"):
        predict.predict(PAGE, None)


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
).draw()
