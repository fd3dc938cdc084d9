"""Page Randomized response: people randomize their own answers before collection (paper 004)."""

from dpcore.dashboard.pages.responses import responses
from dpcore.dashboard.workbench import Workbench
from dpcore.language import phrase

Workbench(
    "responses",
    phrase("Randomized response"),
    "004",
    model=responses.model_parts,
    drawers=responses.draw_drawers,
    explain=responses.draw_explanation,
).draw()
