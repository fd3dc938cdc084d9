"""Page Forests: private classifiers of one or many trees (paper 003)."""

from dpcore.dashboard.pages.forests import forests
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "forests",
    phrase("Forests"),
    "003",
    model=forests.model_parts,
    variants=forests.draw_survey,
    drawers=forests.draw_drawers,
    explain=forests.draw_forest_button,
).draw()
