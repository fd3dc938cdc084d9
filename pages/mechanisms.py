"""Mechanisms: what noise, choices and epsilon do, as live pictures without any data."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.pages.mechanisms import composition, mechanisms
from dpcore.language import phrase, say

PAGE = "mechanisms"

shell.frame(
    say("Mechanisms"),
    say(
        "The basic tools of differential privacy, each as a picture to play with. **No data are read on this page, and "
        "nothing is spent:** all numbers are made up."
    ),
)
panels.draw_open(
    PAGE,
    {
        phrase("Noise on a count"): lambda: mechanisms.noise(PAGE),
        phrase("Choosing"): lambda: mechanisms.choosing(PAGE),
        phrase("Randomized response"): lambda: mechanisms.response(PAGE),
        phrase("What epsilon means"): lambda: mechanisms.beliefs(PAGE),
        phrase("Asking again"): lambda: composition.asking(PAGE),
        phrase("Disjoint groups"): lambda: composition.groups(PAGE),
        phrase("Floating point"): lambda: composition.floats(PAGE),
    },
)
