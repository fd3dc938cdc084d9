"""NB-Synth: synthetic rows from a naive-Bayes model (paper 000)."""

from collections.abc import Callable

from dpcore.dashboard import panels, workbench
from dpcore.dashboard.panels import paper_figures, redraw
from dpcore.dashboard.session import Shown
from dpcore.datasets import Dataset
from dpcore.language import phrase

PAGE = "naive_bayes"


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    more = {
        phrase("Draw again"): lambda: redraw.redraws(PAGE, shown),
        phrase("The paper's figures"): lambda: paper_figures.figures(f"{PAGE}.figures", data, "000", repeats=5),
    }
    return panels.tabs(PAGE, shown, more)


workbench.Workbench(
    PAGE,
    phrase("Naive Bayes"),
    phrase("Learn how every attribute depends on one class column, privately; then make as many new rows as you like."),
    tabs,
).draw()
