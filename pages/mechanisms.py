"""Mechanisms: what noise, choices and epsilon do, as live pictures without any data."""

from dpcore.dashboard import panels, shell
from dpcore.dashboard.sections import composition, mechanisms

PAGE = "mechanisms"

shell.frame(
    "Mechanisms",
    "The basic tools of differential privacy, each as a picture to play with. **No data are read on this page, "
    "and nothing is spent:** all numbers are made up.",
)
panels.draw_open(
    PAGE,
    {
        "Noise on a count": lambda: mechanisms.noise(PAGE),
        "Choosing": lambda: mechanisms.choosing(PAGE),
        "Randomized response": lambda: mechanisms.response(PAGE),
        "What epsilon means": lambda: mechanisms.beliefs(PAGE),
        "Asking again": lambda: composition.asking(PAGE),
        "Disjoint groups": lambda: composition.groups(PAGE),
        "Floating point": lambda: composition.floats(PAGE),
    },
)
