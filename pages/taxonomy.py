"""Taxonomy trees: generalized rows from counts that are made consistent (paper 002), and DiffGen."""

from dpcore.dashboard.pages.taxonomy import count_tree, taxonomy_editor
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "taxonomy",
    phrase("Taxonomy tree"),
    "002",
    model=count_tree.model,
    redraws=count_tree.redraws,
    drawers=taxonomy_editor.drawer,
    remark=phrase("Synthetic rows are drawn evenly out of the released groups: inside a group nothing was learned."),
).draw()
