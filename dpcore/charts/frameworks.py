"""Who holds rows, who asks, and what passes between them, where questions are answered one by one, and where not."""

import altair as alt
import pandas as pd

from dpcore.charts.base import Chart, near
from dpcore.charts.colors import FADED, REAL, RELEASED
from dpcore.charts.marks import canvas, words
from dpcore.language import phrase, say

WIDTH, HEIGHT, HALF, TALL = 700, 250, 75, 26  # pixels: of the picture, and of half a box
OWNER, USER, BETWEEN = 90, 610, 350
TOP, LOW = 80, 205
OWNS, ASKS = phrase("data owner"), phrase("user")
BOXES = [(OWNER, TOP, OWNS), (USER, TOP, ASKS), (OWNER, LOW, OWNS), (USER, LOW, ASKS)]
RELEASE = (BETWEEN, LOW, phrase("release"))
ARROWS = [  # from, to, height, and what passes
    (USER - HALF, OWNER + HALF, TOP - 10, phrase("a question")),
    (OWNER + HALF, USER - HALF, TOP + 10, phrase("a noisy answer, charged epsilon each time")),
    (OWNER + HALF, BETWEEN - HALF, LOW, phrase("once: epsilon")),
    (USER - HALF, BETWEEN + HALF, LOW - 10, phrase("any question")),
    (BETWEEN + HALF, USER - HALF, LOW + 10, phrase("answers, free")),
]
NAMES = [(TOP - 52, phrase("Interactive: the owner answers, as long as the budget lasts"))]
NAMES += [(LOW - 52, phrase("Non-interactive, as here: the owner releases once, and everybody asks the release"))]


def frameworks() -> Chart:
    """Draw the two settings of figures 1 and 2 of patent 002. It needs no data.

    Returns
    -------
    alt.Chart
        The chart.
    """
    marks = canvas(WIDTH, HEIGHT)
    boxes = pd.DataFrame([*BOXES, RELEASE], columns=["x", "y", "text"])
    boxes = boxes.assign(right=boxes["x"] + HALF, low=boxes["y"] + TALL, left=boxes["x"] - HALF, top=boxes["y"] - TALL)
    arrows = pd.DataFrame(ARROWS, columns=["x", "to", "y", "text"])
    arrows = arrows.assign(middle=(arrows["x"] + arrows["to"]) / 2, angle=90 - 180 * (arrows["x"] > arrows["to"]))
    names = pd.DataFrame(NAMES, columns=["y", "text"]).assign(x=OWNER - HALF)
    boxes, arrows, names = (rows.assign(text=rows["text"].map(say)) for rows in (boxes, arrows, names))
    frames = marks(boxes, "left", "top").mark_rect(filled=False, stroke=REAL, strokeWidth=2, cornerRadius=6)
    lines = marks(arrows).mark_rule(strokeWidth=2.5, color=RELEASED).encode(x2="to")
    heads = marks(arrows, "to").mark_point(shape="triangle", filled=True, size=160, color=RELEASED, opacity=1)
    above, below = arrows[arrows["y"] != TOP + 10], arrows[arrows["y"].isin([TOP + 10, LOW + 10])]
    above = above[above["y"] != LOW + 10]
    return near(
        alt.layer(
            frames.encode(x2="right", y2="low"),
            words(marks(boxes), "text", fontSize=16, fontWeight="bold"),
            lines,
            heads.encode(alt.Angle("angle:Q", scale=None)),
            words(marks(above, "middle"), "text", dy=-11),
            words(marks(below, "middle"), "text", dy=14),
            words(marks(names), "text", align="left", color=FADED),
        ),
        say("Two ways to answer"),
        seen=say(
            "Interactive: a user asks the data owner, who adds noise to every answer and spends epsilon on it. "
            "Non-interactive: the owner releases once, for epsilon, and users ask the release, free of cost."
        ),
        width=WIDTH,
        height=HEIGHT,
    )
