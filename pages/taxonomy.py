"""Page Taxonomy tree: generalized rows from consistent noisy counts (paper 002), and DiffGen."""

from dpcore.dashboard.pages.taxonomy import count_tree, taxonomy_editor
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "taxonomy",
    phrase("Taxonomy tree"),
    "002",
    model=count_tree.model_parts,
    redraws=count_tree.draw_redraws,
    drawers=taxonomy_editor.draw_drawer,
    remark=phrase("Synthetic rows are drawn uniformly from the released groups: nothing was learned inside a group."),
).draw()
