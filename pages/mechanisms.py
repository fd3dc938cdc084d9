"""Mechanisms: what noise, selection and epsilon do, as live pictures without any data."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.mechanisms import coin_game, composition, mechanisms, report_privacy
from dpcore.language import phrase, say

PAGE = "mechanisms"
RESPONSE = {
    phrase("What it does"): lambda: mechanisms.response(PAGE),
    phrase("Coin game"): lambda: coin_game.game(PAGE),
    phrase("One report"): lambda: report_privacy.measures(PAGE),
}
COMPOSITION = {
    phrase("Ask again"): lambda: composition.asking(PAGE),
    phrase("Disjoint groups"): lambda: composition.groups(PAGE),
}

lead = phrase("The tools of differential privacy, to play with. No data are read here: the examples are made up.")
shell.frame(say("Mechanisms"), say(lead))
panels.draw_open(
    PAGE,
    {
        phrase("Noise"): lambda: mechanisms.noise(PAGE),
        phrase("Choosing"): lambda: mechanisms.choosing(PAGE),
        phrase("Randomized response"): lambda: panels.draw_part(f"{PAGE}.response", RESPONSE),
        phrase("Epsilon"): lambda: mechanisms.beliefs(PAGE),
        phrase("Composition"): lambda: panels.draw_part(f"{PAGE}.composition", COMPOSITION),
        phrase("Floating point"): lambda: composition.floats(PAGE),
    },
)
