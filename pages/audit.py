"""Page Audit: attacks on every method in two neighboring worlds, and on one of the user's rows."""

from dpcore.dashboard import panels, session, shell
from dpcore.dashboard.pages.audit import own_row, twin_worlds
from dpcore.language import phrase, say

PAGE = "audit"

lead = say("Can an attacker tell twin worlds (neighboring data sets) apart?")
button_container = shell.draw_frame(say("Audit"), lead).empty()
data = session.dataset()
panels.draw_open(
    PAGE,
    {
        phrase("Attack a method"): lambda: twin_worlds.draw_attack(PAGE, data, button_container),
        phrase("Attack one of my rows"): lambda: own_row.draw_own_row_attack(PAGE, data, button_container),
    },
)
