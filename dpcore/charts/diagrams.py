"""Who holds what, and what passes between them: boxes with arrows, side by side, or below each other on a phone."""

import re
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import NARROW, PICTURES, ROOM, Chart, present
from dpcore.charts.colors import FADED, NEUTRAL, REAL, RELEASED
from dpcore.charts.frames import wrapped
from dpcore.charts.marks import canvas, words
from dpcore.language import say

# of a box, as shares of the width and of the height; and on a phone
HALVES = (0.13, 0.13), (0.23, 0.1)
BROAD = f"{NARROW} <= {ROOM}"
COLORS = {"real": REAL, "released": RELEASED}


def trust() -> Chart:
    """Draw where the noise is added: by a curator who holds the true rows, or by each person.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _diagram("trust")


def frameworks() -> Chart:
    """Draw the two settings of figures 1 and 2 of patent 002. It needs no data.

    Returns
    -------
    alt.Chart
        The chart.
    """
    return _diagram("frameworks")


def _diagram(picture: str) -> Chart:
    """Two rows of boxes, as `pictures.toml` has them; on a phone, two columns."""
    own = PICTURES[picture]
    held = pd.DataFrame(own["boxes"]).replace({"color": COLORS}).assign(lane=0, way=-1)
    ways = pd.DataFrame(own["arrows"]).replace({"color": COLORS})
    ways["way"] = np.sign(ways["high"] - ways["low"])
    rows = pd.DataFrame({"low": 0.0, "row": [0, 1], "lane": 0, "way": -1, "text": own["rows"]})
    for table, texts in ((held, ["head", "foot"]), (ways, ["text"]), (rows, ["text"])):
        table[texts] = table[texts].map(say)
    lines, named = ways["text"].map(lambda text: "\n".join(wrapped(text, 9))), rows["text"]
    ways, rows = ways.assign(short=lines), rows.assign(short=[re.split("[:：]", name)[0] for name in named])
    held = held.assign(high=held["low"])
    frames = _placed(held).mark_rect(fillOpacity=0.16, stroke=NEUTRAL, strokeWidth=2.5, cornerRadius=6)
    look: Any = {"color": alt.Color("color:N", scale=None), "x2": alt.X2("right:Q"), "y2": alt.Y2("low:Q")}
    tooltip: Any = {"shape": "triangle", "filled": True, "size": 160, "opacity": 1}
    tooltip["angle"] = alt.ExprRef(f"{BROAD} ? 90 * datum.way : 90 + 90 * datum.way")
    aside: Any = {"align": alt.ExprRef(f"{BROAD} ? 'center' : datum.lane < 0 ? 'right' : 'left'"), "lineBreak": "\n"}
    aside["dx"] = alt.ExprRef(f"{BROAD} ? 0 : datum.lane < 0 ? -7 : 7")
    aside["dy"] = alt.ExprRef(f"{BROAD} ? (datum.lane > 0 ? 14 : -12) : 0")
    inside, heading = _placed(held, "x", "y"), _placed(rows.assign(high=0.0))
    both, letters = bool((held["foot"] != "").any()), 14
    layers = [
        frames.encode(**look),
        words(inside, "head", fontSize=letters, fontWeight="bold", dy=-9 * both),
        words(inside, "foot", fontSize=letters, dy=10),
        _placed(ways).mark_rule(strokeWidth=3).encode(**look),
        _placed(ways, "right", "low").mark_point(**tooltip).encode(look["color"]),
        words(_placed(ways, "x", "y"), "told", fontSize=letters, **aside),
        words(heading, "told", fontSize=letters, color=FADED, align="left", dy=-14),
    ]
    return present(layers, picture)


def _placed(data: pd.DataFrame, x: str = "left", y: str = "top") -> alt.Chart:
    """From `low` to `high` along a row, but for what boxes at its ends cover; of one place, a box around it."""
    (wide, tall), (narrow, high), way = *HALVES, data["way"]
    across, down = 0.13 + 0.74 * data[["low", "high"]], 0.24 + 0.66 * data[["low", "high"]]
    same = data["low"] == data["high"]
    row, column = 0.36 + 0.5 * data["row"] + 0.05 * data["lane"], 0.25 + 0.5 * data["row"] + 0.06 * data["lane"]
    found = {
        "left": (across["low"] + way * wide, column - same * narrow),
        "right": (across["high"] - way * wide, column + same * narrow),
        "top": (row - same * tall, down["low"] + way * high),
        "low": (row + same * tall, down["high"] - way * high),
    }
    note = {name: values for name, values in data.items() if name not in ("low", "high", "row")}
    table = pd.DataFrame(note | {f"{side}_{k}": of[k] for side, of in found.items() for k in (0, 1)})
    chosen = {side: f"{BROAD} ? datum.{side}_0 : datum.{side}_1" for side in found}
    if "short" in table:
        chosen["told"] = f"{BROAD} ? datum.text : datum.short"
    chosen |= {"x": "(datum.left + datum.right) / 2", "y": "(datum.top + datum.low) / 2"}
    return canvas(1, 1)(table, x, y).transform_calculate(**chosen)
