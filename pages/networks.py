"""Bayesian networks: HMPrivBayes and what it is compared with (paper 001)."""

from collections.abc import Callable

from dpcore.dashboard import panels, workbench
from dpcore.dashboard.pages.networks import network
from dpcore.dashboard.panels import paper_figures, redraw
from dpcore.dashboard.session import Shown
from dpcore.datasets import Dataset
from dpcore.language import phrase

PAGE = "networks"


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    more = {
        phrase("Network"): lambda: network.network(shown),
        phrase("Clusters"): lambda: network.clusters(shown),
        phrase("Draw again"): lambda: redraw.redraws(PAGE, shown),
        phrase("The paper's figures"): lambda: paper_figures.figures(PAGE, data, "001"),
    }
    return panels.tabs(PAGE, shown, more)


workbench.Workbench(
    PAGE,
    phrase("Bayesian networks"),
    phrase(
        "Learn which columns hang together, privately; measure those tables; then make as many new rows as you like."
    ),
    tabs,
).draw()
