"""Taxonomy trees: generalized rows from counts that are made consistent (paper 002), and DiffGen."""

from collections.abc import Callable

import streamlit as st

from dpcore.dashboard import panels, workbench
from dpcore.dashboard.pages.taxonomy import count_tree, taxonomy_editor
from dpcore.dashboard.panels import paper_figures
from dpcore.dashboard.session import Shown
from dpcore.datasets import Dataset
from dpcore.language import phrase, say

PAGE = "taxonomy"


def tabs(shown: Shown, data: Dataset) -> dict[str, Callable[[], None]]:
    """What is shown of a release."""
    more = {
        phrase("Tree"): lambda: count_tree.tree(PAGE, shown),
        phrase("Ask a range"): lambda: count_tree.ask(PAGE, shown),
        phrase("Error by range"): lambda: count_tree.errors(PAGE, shown),
        phrase("Draw again"): lambda: count_tree.redraws(PAGE, shown),
        phrase("The patent's claims"): lambda: paper_figures.figures(PAGE, data, "002"),
    }
    return panels.tabs(PAGE, shown, more)


def taxonomies(data: Dataset) -> None:
    """Which values belong together."""
    drawer = st.expander(say("Taxonomies: which values belong together"), key=f"{PAGE}.taxonomies", on_change="rerun")
    if drawer.open:
        with drawer:
            taxonomy_editor.editor(f"{PAGE}.editor", data)


workbench.Workbench(
    PAGE,
    phrase("Taxonomy tree"),
    phrase(
        "Put values into ever finer groups, count the groups privately, and let the counts correct each other; then "
        "answer range queries, or make new rows."
    ),
    tabs,
    layout=(*workbench.LAYOUT, workbench.NEXT),
    printed=phrase("As published, or reconstructed"),
    remark=phrase("Synthetic rows are drawn evenly out of the released groups: inside a group nothing was learned."),
).draw(before=taxonomies)
