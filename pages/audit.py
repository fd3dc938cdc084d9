"""Audit: attacks on every method in twin worlds, as published and corrected, and with a row of one's own."""

from dpcore.dashboard import panels, session, shell
from dpcore.dashboard.pages.audit import own_row, twin_worlds
from dpcore.language import phrase, say

PAGE = "audit"

lead = say("Can an attacker tell twin worlds (neighboring data sets) apart?")
place = shell.draw_frame(say("Audit"), lead).empty()
data = session.dataset()
panels.draw_open(
    PAGE,
    {
        phrase("Attack a method"): lambda: twin_worlds.attack(PAGE, data, place),
        phrase("A row of my own"): lambda: own_row.attack_own_row(PAGE, data, place),
    },
)
