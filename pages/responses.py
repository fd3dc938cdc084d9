"""Randomized response: people randomize their own answers before anyone collects them (paper 004)."""

from dpcore.dashboard.pages.responses import responses
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "responses",
    phrase("Randomized response"),
    "004",
    model=responses.model,
    drawers=responses.drawers,
    explain=responses.draw_explanation,
).draw()
