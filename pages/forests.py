"""Forests: private classifiers, one tree or many (paper 003)."""

from dpcore.dashboard.pages.forests import forests
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "forests",
    phrase("Forests"),
    "003",
    model=forests.model,
    variants=forests.survey,
    drawers=forests.drawers,
    explain=forests.more_trees,
).draw()
