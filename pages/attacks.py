"""Why removing names is not enough: attacks on noiseless numbers, and what noise leaves of them."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.attacks import linkage, near_copies, secret_bits, taking_part
from dpcore.language import phrase, say

PAGE = "attacks"

shell.frame(
    say("Why removing names is not enough"),
    say(
        "Four attacks, without noise and with it. **All people here are made up** (the bundled sample), so nothing is "
        "charged."
    ),
)
panels.draw_open(
    PAGE,
    {
        phrase("Who is alone"): lambda: linkage.part(PAGE),
        phrase("Secrets from counts"): lambda: secret_bits.part(PAGE),
        phrase("Who took part"): lambda: taking_part.part(PAGE),
        phrase("Distance looks safe"): lambda: near_copies.part(PAGE),
    },
)
