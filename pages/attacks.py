"""Why removing names is not enough: attacks on noiseless numbers, and what noise leaves of them."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.attacks import linkage, membership_game, near_copies, secret_bits, taking_part
from dpcore.language import phrase, say

PAGE = "attacks"

shell.frame(say("Attacks"), say("Why removing names is not enough. All people are made up."))
panels.draw_open(
    PAGE,
    {
        phrase("Linkage"): lambda: linkage.part(PAGE),
        phrase("Reconstruction"): lambda: secret_bits.part(PAGE),
        phrase("Membership"): lambda: taking_part.part(PAGE),
        phrase("Distance"): lambda: near_copies.part(PAGE),
        phrase("Game"): lambda: membership_game.game(PAGE),
    },
)
