"""Page Mechanisms: noise, selection and epsilon as live charts without any data."""

from functools import partial

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.mechanisms import coin_game, composition, mechanisms, report_privacy
from dpcore.language import phrase, say

RESPONSE = {
    phrase("How it works"): mechanisms.randomized_response,
    phrase("Coin game"): coin_game.draw_coin_game,
    phrase("Privacy of one report"): report_privacy.category_reports,
    phrase("Reports of a number"): report_privacy.number_reports,
}
COMPOSITION = {
    phrase("Repeated queries"): composition.repeated_queries,
    phrase("Disjoint groups"): composition.disjoint_groups,
}

shell.draw_frame(say("Mechanisms"), say("Live charts of the mechanisms. No data are read: all numbers are made up."))
panels.draw_open(
    "mechanisms",
    {
        phrase("Noise"): mechanisms.additive_noise,
        phrase("Exponential mechanism"): mechanisms.exponential_mechanism,
        phrase("Randomized response"): partial(panels.draw_part, "mechanisms.response", RESPONSE),
        phrase("Epsilon"): mechanisms.beliefs,
        phrase("Composition"): partial(panels.draw_part, "mechanisms.composition", COMPOSITION),
        phrase("Floating point"): composition.floating_point,
    },
)
