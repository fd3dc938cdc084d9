"""Attacks on tables without names: what noiseless numbers give away, and what noise leaves of it.

Shares are of all people, from 0% to 100%, so that two settings can be told apart, and two attacks compared.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, NEUTRAL, REAL, RELEASED
from dpcore.charts.frames import tidy
from dpcore.charts.marks import (
    NO_TIP,
    boxes,
    diamonds,
    end_labels,
    group_colors,
    level,
    setting_rule,
    side_by_side,
    tooltips,
)
from dpcore.charts.scales import LEAST, MOST, epsilons, scaled, shares, span
from dpcore.language import say
from dpcore.text import number, odds, percent

COLORS = (REAL, RELEASED, CLAIMED)


def share_right(frame: pd.DataFrame, *, epsilon: float, noiseless: float, title: str) -> Chart:
    """Draw how often an attack is right against epsilon, and the most that epsilon allows.

    A coin and noiseless numbers are marked as well.

    Parameters
    ----------
    frame : DataFrame
        One row per epsilon (0.01 to 10,000): `epsilon`, `share`.
    epsilon : float
        The one that is chosen.
    noiseless : float
        The share without noise.
    title : str
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["epsilon", "share"]).dropna()
    steps = np.geomspace(LEAST, MOST, 121)
    allowed = pd.DataFrame({"epsilon": steps, "at": [odds(step) for step in steps]})
    across = alt.X("epsilon:Q", **epsilons(say("epsilon (log scale)"), [MOST], grid=False))
    up = alt.Y("at:Q", **shares(say("right")))
    most = alt.Chart(allowed).mark_line(color=CLAIMED, strokeWidth=3, strokeDash=[8, 4])
    tooltip = tooltips("epsilon|epsilon|,~g", "share|right|.1%")
    chosen = data[np.isclose(data["epsilon"], epsilon, rtol=1e-3)]
    layers = [
        *level(0.5, say("a coin: 50%")),
        *level(noiseless, say("noiseless: {share}", share=percent(noiseless)), strokeDash=[1, 0]),
        most.encode(across, up, tooltip=tooltips("epsilon|epsilon|,.2~g", "at|at most|.1%")),
        setting_rule(across, [], epsilon=epsilon),
        # No line through the marks: between them it would pass the curve of what is allowed.
        *_curve(data, chosen, x=across, y=up, tooltip=tooltip)[1:],
    ]
    values: Any = {"noiseless": percent(noiseless), "epsilon": number(epsilon)}
    return _presented("share_right", layers, chosen, title=title, **values)


def share_found(
    frame: pd.DataFrame, *, at: int, what: str, most: int, title: str, found: str, lowest: float = 0.0, key: str = ""
) -> Chart:
    """Draw the share of people that is found out against how much is known.

    Parameters
    ----------
    frame : DataFrame
        One row per number: `number`, `share`, and maybe `low`, `high`, the ends of a band.
    at : int
        The number that is chosen.
    what : str
        What is counted.
    most : int
        The largest number of the axis.
    title : str
        The title.
    found : str
        What the share says.
    lowest : float, default=0.0
        If above 0, as where a guess without any answer is as good as a coin, that is marked.
    key : str, optional
        A line below the title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    band = ["low", "high"] if "low" in frame else []
    data = tidy(frame, [], ["number", "share", *band]).dropna(subset=["number"])
    known = data.dropna(subset=["share"])
    ticks = list(range(0 if lowest else 1, most + 1, max(most // 10, 1)))
    across = alt.X(
        "number:Q", **scaled(what, span(min(ticks), most, padding=12), values=ticks, format=",d", grid=False)
    )
    tooltip = tooltips(f"number|{what}|,.0f", f"share|{found}|.1%")
    chosen = known[known["number"] == at]
    layers: list[Any] = level(0.5, say("a coin: 50%")) if lowest else []
    if band:
        ends = alt.Chart(data.dropna(subset=band)).mark_area(color=NEUTRAL, opacity=0.22)
        layers.append(ends.encode(across, alt.Y("low:Q", **shares(found)), alt.Y2("high:Q"), tooltip=NO_TIP))
    layers += [setting_rule(across, [], number=at)] if at >= min(ticks) else []
    layers += _curve(known, chosen, x=across, y=alt.Y("at:Q", **shares(found)), tooltip=tooltip)
    values: Any = {"key": key, "found": found, "what": what, "most": most, "place": at}
    return _presented("share_found", layers, chosen, title=title, **values)


def groups_apart(
    frame: pd.DataFrame,
    *,
    groups: Mapping[str, str],
    what: str,
    title: str,
    key: str = "",
) -> Chart:
    """Draw bars of where on one axis the people (or rows) of two or three groups are.

    Parameters
    ----------
    frame : DataFrame
        One row per bin: `from`, `to`, and a share for each of `groups`; and maybe `bin`, what the
        bin is called.
    groups : mapping of str to str
        From the column of each group to what it is called.
    what : str
        What the axis shows.
    title : str
        The title.
    key : str, optional
        A line below the title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["bin"] if "bin" in frame else [], ["from", "to", *groups]).dropna()
    if "bin" not in data:
        ends_of = zip(data["from"], data["to"], strict=True)
        data["bin"] = [say("{low:.3g} to {high:.3g}", low=low, high=high) for low, high in ends_of]
    bars = side_by_side(data, groups, ["bin"], share="{}")
    bars = bars[bars["share"] > 0]
    low, high = (data["from"].min(), data["to"].max()) if len(data) else (0.0, 1.0)
    across = alt.X("left:Q", **scaled(what, span(float(low), float(high)), tickMinStep=1, format="d", grid=False))
    up = alt.Y("share:Q", **shares(say("share of each group")))
    color = group_colors("group", groups.values(), COLORS[: len(groups)])
    tooltip = tooltips("group|group", "bin|at", "share|share|.1%")
    base = alt.Chart(bars).encode(color, tooltip=tooltip)
    drawn = boxes(base, across, "right", up, opacity=0.9, clip=True)
    names = say(" and ").join(groups.values())
    return present(drawn, "groups_apart", title=title, key=key, groups=names)


def _presented(picture: str, layers: list[Any], chosen: pd.DataFrame, **values: Any) -> Chart:
    """The picture, which says aloud what share was found where the reader's own setting is."""
    share = "".join(chosen["share"].map(percent))
    return present(layers, picture, {"chosen": share}, share=share, **values)


def _curve(data: pd.DataFrame, chosen: pd.DataFrame, **at: Any) -> list[Any]:
    """A line through all rows, a mark for each, and a diamond with its share, which is bold, for what is chosen."""
    marked = (rows.assign(at=rows["share"], text=rows["share"].map(percent)) for rows in (data, chosen))
    base, own = (alt.Chart(rows).encode(**at) for rows in marked)
    return [
        base.mark_line(color=RELEASED, strokeWidth=3, interpolate="monotone").encode(tooltip=NO_TIP),
        base.mark_point(filled=True, size=70, color=RELEASED, opacity=1),
        diamonds(own, RELEASED),
        end_labels(own, at["x"].shorthand.split(":")[0], "text", dx=10, dy=16, fontWeight="bold"),
    ]
