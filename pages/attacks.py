"""Why removing names is not enough: attacks on noiseless numbers, and what noise leaves of them."""

from functools import partial

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.attacks import linkage, membership_game, near_copies, secret_bits, taking_part
from dpcore.dashboard.pages.attacks.attack_steps import two_steps
from dpcore.language import phrase, say

PAGE = "attacks"

shell.draw_frame(say("Attacks"), say("Why removing names is not enough. All people are made up."))
panels.draw_open(
    PAGE,
    {
        phrase("Linkage"): partial(two_steps, PAGE, "linkage", linkage.settings, linkage.attack),
        phrase("Reconstruction"): partial(two_steps, PAGE, "bits", secret_bits.settings, secret_bits.attack),
        phrase("Membership"): partial(two_steps, PAGE, "averages", taking_part.settings, taking_part.attack),
        phrase("Distance"): partial(two_steps, PAGE, "near", lambda _: (), near_copies.attack),
        phrase("Game"): partial(membership_game.game, PAGE),
    },
)
