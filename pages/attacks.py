"""Why removing names is not enough: attacks on exact numbers, and what noise leaves of them."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.sections import linkage, near_copies, secret_bits, taking_part

PAGE = "attacks"

shell.frame(
    "Why removing names is not enough",
    "Four attacks, without noise and with it. **All people here are made up** (the bundled sample), so nothing is "
    "charged.",
)
panels.draw_open(
    PAGE,
    {
        "Who is alone": lambda: linkage.part(PAGE),
        "Secrets from counts": lambda: secret_bits.part(PAGE),
        "Who took part": lambda: taking_part.part(PAGE),
        "Distance looks safe": lambda: near_copies.part(PAGE),
    },
)
