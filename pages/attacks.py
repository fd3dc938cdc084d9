"""Page Attacks: why removing names is not enough, and what noise leaves of each attack."""

from functools import partial

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.attacks import (
    linkage,
    membership,
    membership_game,
    near_copies,
    secret_bits,
)
from dpcore.dashboard.pages.attacks.attack_steps import draw_attack
from dpcore.language import phrase, say

PAGE = "attacks"

shell.draw_frame(say("Attacks"), say("Why removing names is not enough. Everyone is invented."))
panels.draw_open(
    PAGE,
    {
        phrase("Linkage"): partial(draw_attack, PAGE, "linkage", linkage.draw_settings, linkage.run_attack),
        phrase("Reconstruction"): partial(draw_attack, PAGE, "bits", secret_bits.draw_settings, secret_bits.run_attack),
        phrase("Membership"): partial(draw_attack, PAGE, "averages", membership.draw_settings, membership.run_attack),
        phrase("Distance"): partial(draw_attack, PAGE, "near", lambda _: (), near_copies.run_attack),
        phrase("Game"): partial(membership_game.draw_game, PAGE),
    },
)
