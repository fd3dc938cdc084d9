"""Twin worlds: attacks on every method, as printed and corrected, one's own row, and a game."""

from dpcore.dashboard import panels, session, shell
from dpcore.dashboard.pages.attacks import membership_game
from dpcore.dashboard.pages.audit import own_row, twin_worlds
from dpcore.language import phrase, say

PAGE = "audit"

shell.frame(
    say("Twin worlds"),
    say("Does a method keep its word? Run it in two worlds that differ in one person, and try to tell them apart."),
)
data = session.dataset()
panels.draw_open(
    PAGE,
    {
        phrase("Attack a method"): lambda: twin_worlds.attack(PAGE, data),
        phrase("With a row of my own data"): lambda: own_row.own(PAGE, data),
        phrase("The membership game"): lambda: membership_game.game(PAGE, data),
    },
)
