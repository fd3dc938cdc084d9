"""The scales of all pages, one per quantity: what is twice as far on one page is so on every other.

Shares go from 0% to 100%; those of a column's values, which sum to 100%, to the first of a few ends that holds them.
Distances go from 0 to 1, with roots, so that small ones can be told apart. Accuracies begin below the majority class.
Epsilons that are chosen, claimed or proved stand on one log scale; those that add up are lengths from 0.
"""

import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.frames import largest
from dpcore.language import say

ROOTS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]
# of axes of values: so few, that two releases of one column rarely have two
ENDS = (0.1, 0.25, 0.5, 1.0)
BELOW = 0.1  # of the majority class, where accuracies begin
# epsilons: an axis ends at one of the last two, if that holds all
LEAST, USUAL, MOST = 0.01, 10.0, 10_000.0


def scaled(title: str | list[str] | None, scale: alt.Scale, **axis: Any) -> dict[str, Any]:
    """A channel's title, its scale, and how its axis looks."""
    return {"title": title, "scale": scale} | ({"axis": alt.Axis(**axis)} if axis else {})


def span(low: float, high: float, **more: Any) -> alt.Scale:
    """A scale from one end to the other."""
    return alt.Scale(domain=[low, high], nice=False, **more)


def shares(title: str | None, **axis: Any) -> dict[str, Any]:
    """The axis of shares of people, rows or answers."""
    return scaled(title, span(0, 1), **{"format": "~%", "tickCount": 5} | axis)


def share_axis(title: str, data: pd.DataFrame) -> dict[str, Any]:
    """The axis of the shares of a column's values."""
    low, high = float(np.nanmin([0.0, *data.min()])), largest(data.max(), 0.0)
    end = next((end for end in ENDS if end >= 1.02 * high), max(high, 1.0))
    return scaled(title, span(low, end), format="~%", tickCount=6)


def root() -> alt.Scale:
    """From 0 to 1 for every release, so that two can be compared at a glance; roots leave small numbers to be seen."""
    return span(0, 1, type="sqrt")


def distances(title: str, times: int = 1) -> dict[str, Any]:
    """The axis of distances from 0 to 1, told as so many times as much."""
    said = f"format({times} * datum.value, '~g')"
    return scaled(say("{title} (root scale)", title=title), root(), values=ROOTS, labelExpr=said)


def accuracies(title: str | None, majority: float = BELOW) -> dict[str, Any]:
    """The axis of accuracies, from 10 points below the majority class, or where luck is."""
    low = math.floor(20 * max(majority - BELOW, 0) + 1e-6) / 20 if math.isfinite(majority) else 0.0
    return scaled(title, span(low, 1, zero=False), format="~%", tickCount=6)


def epsilons(title: str | list[str], held: Iterable[float], **axis: Any) -> dict[str, Any]:
    """The log axis of epsilons, on which these stand."""
    logs = np.log10([value for value in held if 0 < value < math.inf] or [1.0])
    first = min(math.log10(LEAST), math.floor(logs.min() + 1e-9))
    last = next((end for end in np.log10([USUAL, MOST]) if end >= logs.max()), math.ceil(logs.max() + 0.01))
    first, last = round(first), round(last)
    powers = range(first, last + 1, 1 + (last - first) // 10)
    ticks = [times * 10.0**power for power in powers for times in ((1, 3) if last - first <= 4 else (1,))]
    ticks = [tick for tick in ticks if tick <= 10.0**last]
    return scaled(title, span(10.0**first, 10.0**last, type="log"), **{"values": ticks, "format": ",~g"} | axis)
