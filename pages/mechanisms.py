"""Mechanisms: what noise, selection and epsilon do, as live pictures without any data."""

from functools import partial

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.mechanisms import coin_game, composition, mechanisms, report_privacy
from dpcore.language import phrase, say

RESPONSE = {
    phrase("What it does"): mechanisms.response,
    phrase("Coin game"): coin_game.game,
    phrase("One report"): report_privacy.categories,
    phrase("One number"): report_privacy.widths,
}
COMPOSITION = {
    phrase("Ask again"): composition.asking,
    phrase("Disjoint groups"): composition.groups,
}

shell.draw_frame(say("Mechanisms"), say("Tools to play with. No data are read: all of it is made up."))
panels.draw_open(
    "mechanisms",
    {
        phrase("Noise"): mechanisms.noise,
        phrase("Choosing"): mechanisms.choosing,
        phrase("Randomized response"): partial(panels.draw_part, "mechanisms.response", RESPONSE),
        phrase("Epsilon"): mechanisms.beliefs,
        phrase("Composition"): partial(panels.draw_part, "mechanisms.composition", COMPOSITION),
        phrase("Floating point"): composition.floats,
    },
)
