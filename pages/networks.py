"""Bayesian networks: HMPrivBayes and what it is compared with (paper 001)."""

from collections.abc import Callable

from dpcore.dashboard import panels, workbench
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import network, paper_figures, redraw
from dpcore.datasets import Dataset

PAGE = "networks"


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    more = {
        "Network": lambda: network.network(shown),
        "Clusters": lambda: network.clusters(shown),
        "Draw again": lambda: redraw.redraws(PAGE, shown),
        "The paper's figures": lambda: paper_figures.figures(PAGE, data, "001"),
    }
    return panels.tabs(PAGE, shown, more)


workbench.Workbench(
    PAGE,
    "Bayesian networks",
    "Learn which columns hang together, privately; measure those tables; then make as many new rows as you like.",
    tabs,
).draw()
