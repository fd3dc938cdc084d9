"""Twin worlds: attacks on every method, as printed and corrected, one's own row, and a game."""

from dpcore.dashboard import frame, guessing, ownrow, panels, state, twins

PAGE = "audit"

frame.frame(
    "Twin worlds",
    "Does a method keep its word? Run it in two worlds that differ in one person, and try to tell them apart.",
)
data = state.dataset()
panels.draw_open(
    PAGE,
    {
        "Attack a method": lambda: twins.attack(PAGE, data),
        "With a row of my own data": lambda: ownrow.own(PAGE, data),
        "The membership game": lambda: guessing.game(PAGE, data),
    },
)
