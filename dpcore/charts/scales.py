"""The scales of all pages, one per quantity: what is twice as far on one page is so on every other; and colors.

Shares go from 0% to 100%; those of a column's values, which sum to 100%, to the first of a few ends
that holds them. Distances go from 0 to 1, with roots, so that small ones can be told apart.
Accuracies begin below the majority class. Epsilons that are chosen, claimed or proved stand on one
log scale; those that add up are lengths from 0. Colors can be seen on light and dark pages, and
shapes tell series apart without them.
"""

import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.frames import in_order, largest
from dpcore.language import say

ROOTS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]
# of axes of values: so few, that two releases of one column rarely have two
ENDS = (0.1, 0.25, 0.5, 1.0)
BELOW = 0.1  # of the majority class, where accuracies begin
# epsilons: an axis ends at one of the last two, if that holds all
LEAST, USUAL, MOST = 0.01, 10.0, 10_000.0

REAL, RELEASED, CLAIMED, NEUTRAL = "#808080", "#1f77d4", "#c2571a", "#787878"
# Letters as dark or as bright as the theme's, which marks and subtitles do not take from it by themselves.
INK = alt.ExprRef("luminance(background) < 0.2 ? '#f5f5f5' : '#1a1a1a'")
FADED = alt.ExprRef("luminance(background) < 0.2 ? '#b4bac4' : '#5a606a'")
MIDDLE = 0.179  # the luminance on which black and white letters have the same contrast
SERIES = [CLAIMED, RELEASED, "#2a8a4a", "#a05ab4", "#d13b6a", "#0d8a94", "#8d7316", "#6b6be0", "#c43bc4", "#96705c"]
SERIES += ["#6f8f1a"]  # the first color and shape are for a claim
TINTS = ["rgba(31, 119, 212, 0.06)", "rgba(31, 119, 212, 0.8)"]  # from pale, on any page, to strong
STRIPES, BREAK = 48, (39, 40)
_STAR = "M0,-1L.29,-.4L.95,-.31L.48,.15L.59,.81L0,.5L-.59,.81L-.48,.15L-.95,-.31L-.29,-.4Z"
_SAW = "M-1,-.9L0,-.35L1,-.9L1,.9L0,.35L-1,.9Z"
SHAPES = ["circle", "diamond", "triangle-up", "square", "triangle-down", "cross", "triangle-right", "triangle-left"]
_CROSSED = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
SHAPES += [_STAR, _SAW, _CROSSED]

ChartAxis = dict[str, Any]  # its `scale` and look (`axis`; None: it is not drawn), and maybe `title` and `type`


def scaled_axis(scale: alt.Scale, **axis: Any) -> ChartAxis:
    """Return an axis with this scale and style; `pictures.toml` may override the style."""
    return {"scale": scale, "axis": axis}


def span(low: float, high: float, **more: Any) -> alt.Scale:
    """Return a linear scale from `low` to `high`."""
    return alt.Scale(domain=[low, high], nice=False, **more)


def log_scale(padding: float) -> alt.Scale:
    """Return a log scale with `padding` pixels free at its ends."""
    return alt.Scale(type="log", nice=False, padding=padding)


def log_axis(padding: float, numbers: pd.Series | pd.DataFrame) -> ChartAxis:
    """Return a log axis with ticks at the powers of ten among these numbers.

    If there are few powers, Vega chooses the ticks. `padding` is the number of pixels free at the
    ends.
    """
    exponents = np.log10(numbers.to_numpy(dtype=float))
    low, high = np.nanmin([np.inf, *exponents.ravel()]), np.nanmax([-np.inf, *exponents.ravel()])
    powers = range(math.ceil(low), math.floor(high) + 1) if low <= high else ()
    ticks = [float(f"1e{power}") for power in powers] if len(powers) > 1 else alt.Undefined
    return scaled_axis(log_scale(padding), values=ticks)


def log_title(title: str, log: bool) -> str:
    """Add "log scale" to the title of an axis or legend if `log`."""
    return say("{title} (log scale)", title=title) if log else title


def names_axis(labels: Iterable[str], **scale: Any) -> ChartAxis:
    """Return an axis of names in the order of `labels`.

    Without this order, a redrawn chart would keep the order of old data.
    """
    return {"scale": alt.Scale(domain=in_order(labels) or alt.Undefined, **scale), "type": "nominal"}


def shares(**axis: Any) -> ChartAxis:
    """Return the axis of shares of people, rows or answers."""
    return scaled_axis(span(0, 1), **{"format": "~%", "tickCount": 5} | axis)


def share_axis(title: str, data: pd.DataFrame) -> ChartAxis:
    """Return the axis of the shares of a column's values, wide enough for all numbers in `data`."""
    low, high = float(np.nanmin([0.0, *data.min()])), largest(data.max(), 0.0)
    end = next((end for end in ENDS if end >= 1.02 * high), max(high, 1.0))
    return scaled_axis(span(low, end), format="~%", tickCount=6) | {"title": title}


def distances(title: str, times: int = 1) -> ChartAxis:
    """Return the axis of distances from 0 to 1, labeled with `times` the distance.

    It is the same for every release, so that two can be compared at a glance; a root scale keeps
    small numbers visible.
    """
    look = {"values": ROOTS, "labelExpr": f"format({times} * datum.value, '~g')"}
    return scaled_axis(span(0, 1, type="sqrt"), **look) | {"title": say("{title} (square-root scale)", title=title)}


def accuracies(majority: float = BELOW) -> ChartAxis:
    """Return the axis of accuracies up to 100%.

    It begins 10 points below `majority`, the accuracy of the majority class, rounded down to a
    multiple of 5%; by default at 0%.
    """
    low = math.floor(20 * max(majority - BELOW, 0) + 1e-6) / 20 if math.isfinite(majority) else 0.0
    return scaled_axis(span(low, 1, zero=False), format="~%", tickCount=6)


def epsilons(values: Iterable[float], **axis: Any) -> ChartAxis:
    """Return the log axis of epsilons, wide enough for `values`."""
    logs = np.log10([value for value in values if 0 < value < math.inf] or [1.0])
    first = min(math.log10(LEAST), math.floor(logs.min() + 1e-9))
    last = next((end for end in np.log10([USUAL, MOST]) if end >= logs.max()), math.ceil(logs.max() + 0.01))
    first, last = round(first), round(last)
    powers = range(first, last + 1, 1 + (last - first) // 10)
    ticks = [times * 10.0**power for power in powers for times in ((1, 3) if last - first <= 4 else (1,))]
    ticks = [tick for tick in ticks if tick <= 10.0**last]
    return scaled_axis(span(10.0**first, 10.0**last, type="log"), **{"values": ticks, "format": ",~g"} | axis)


def hatch_pattern(color: str) -> dict[str, Any]:
    """Return a fill of upright stripes with a break near the end, for a bar without limit.

    Slanted stripes are misplaced on a canvas.
    """
    stops, clear = [], "rgba(128, 128, 128, 0)"
    for stripe in range(STRIPES):
        own = clear if stripe in BREAK else color
        parts = ((0, own), (0.45, own), (0.45, clear), (1, clear))
        stops += [{"offset": (stripe + part) / STRIPES, "color": look} for part, look in parts]
    return {"gradient": "linear", "x1": 0, "y1": 0, "x2": 1, "y2": 0, "stops": stops}
