"""Randomized answers beside the truth, and what is made of them."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    MOST_VALUES,
    NEUTRAL,
    REAL,
    RELEASED,
    Chart,
    diamonds,
    distinct,
    present,
    short,
    tidy,
    tooltips,
)


def reported_shares(frame: pd.DataFrame, *, column: str) -> Chart:
    """One column's true shares, what people reported, and what is reconstructed from the reports.

    `frame`: one row per value, in the order to draw: `value`; `real`, `reported` (NaN if reports are no values),
    `reconstructed`, `low`, `high` (its 95 % interval). The `MOST_VALUES` values with the largest shares are drawn.
    """
    numbers = ["real", "reported", "reconstructed", "low", "high"]
    data = distinct(tidy(frame, ["value"], numbers), "value")
    total = len(data)
    data = data[data.index.isin(data[["real", "reported"]].max(axis=1).nlargest(MOST_VALUES).index)]
    capped = f" (top {MOST_VALUES} of {total:,} values)" if total > len(data) else ""
    ends = data[["real", "reported", "reconstructed"]].to_numpy()
    reach = [float(np.nanmin([0.0, *ends.ravel()])), float(np.nanmax([0.0, *ends.ravel()]))]
    room = 0.5 * (reach[1] - reach[0])  # intervals may be wider than anything worth seeing
    data["low"], data["high"] = data["low"].clip(lower=reach[0] - room), data["high"].clip(upper=reach[1] + room)
    tips = tooltips(
        "value|value",
        "real|true|.2%",
        "reported|reported|.2%",
        "reconstructed|reconstructed|.2%",
        "low|95% interval from|.2%",
        "high|to|.2%",
    )
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    along, share, end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)
    base = alt.Chart(data).encode(along("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)), tooltip=tips)
    scale = alt.Scale(nice=True, zero=True)
    axis = alt.Axis(format="~%", tickCount=6)
    real = base.mark_bar(color=REAL, opacity=0.5).encode(
        share("real:Q", title="share of people", axis=axis, scale=scale)
    )
    across: Any = {"width" if upright else "height": {"band": 0.9}}
    said = base.mark_tick(color=CLAIMED, thickness=4, **across)
    interval = base.mark_rule(color=RELEASED, strokeWidth=2).encode(share("low:Q"), end("high"))
    layers = [
        real,
        said.encode(share("reported:Q")),
        interval,
        diamonds(base, RELEASED).encode(share("reconstructed:Q")),
    ]
    if (data["reconstructed"] < 0).any() or (data["low"] < 0).any():
        zero = pd.DataFrame({"zero": [0.0]})
        layers.insert(0, alt.Chart(zero).mark_rule(color=NEUTRAL).encode(share("zero:Q"), alt.TooltipValue(None)))
    ticks = "Bar: true. Orange line: reported. " if data["reported"].notna().any() else "Bar: true. "
    return present(
        alt.layer(*layers),
        f"{short(column)}: true, reported and reconstructed shares{capped}",
        key=f"{ticks}Diamond: reconstructed from the reports, with its 95% interval.",
        seen=f"Shares of the values of {short(column)}: true, as reported, and reconstructed from the reports.",
        height=420 if upright else alt.Step(26),
    )


def reported_numbers(frame: pd.DataFrame, *, column: str) -> Chart:
    """How true numbers spread, what people reported, and the distribution that is reconstructed.

    `frame`: one row per interval: `x` (its middle), `width`; `real`, `reported`, `reconstructed` (or NaN): shares of
    people, per interval of the public range where outer ones are wider.
    """
    data = tidy(frame, [], ["x", "width", "real", "reported", "reconstructed"])
    data["from"], data["to"], data["zero"] = data["x"] - data["width"] / 2, data["x"] + data["width"] / 2, 0.0
    tips = tooltips(
        "from|from|.4~g", "to|to|.4~g", "real|true|.2%", "reported|reported|.2%", "reconstructed|reconstructed|.2%"
    )
    base = alt.Chart(data).encode(tooltip=tips)
    axis = alt.Axis(format="~%", tickCount=6)
    real = base.mark_rect(color=REAL, opacity=0.5).encode(
        alt.X("from:Q", title="value", axis=alt.Axis(format="~s", tickCount=8), scale=alt.Scale(zero=False)),
        alt.X2("to"),
        alt.Y("real:Q", title="share of people", axis=axis),
        alt.Y2("zero"),
    )
    at = alt.X("x:Q")
    said = base.mark_line(color=CLAIMED, interpolate="step", strokeWidth=2).encode(at, alt.Y("reported:Q"))
    made = base.mark_line(color=RELEASED, strokeWidth=3).encode(at, alt.Y("reconstructed:Q"))
    again = data["reconstructed"].notna().any()
    return present(
        alt.layer(real, said, made) if again else alt.layer(real, said),
        f"{short(column)}: true{', reported and reconstructed' if again else ' and reported'} numbers",
        key="Bars: true. Orange steps: reported." + (" Blue line: reconstructed from the reports." if again else ""),
        seen=f"Distribution of {short(column)}: true, as reported, and reconstructed from the reports.",
        height=420,
    )


def steps(frame: pd.DataFrame, *, column: str) -> Chart:
    """How likely the reports are after every step of a reconstruction: never less than before.

    `frame`: one row per step: `step`, `gain` (log of how much more likely than at the start, per person).
    """
    data = tidy(frame, [], ["step", "gain"])
    base = alt.Chart(data).encode(
        alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickCount=8)),
        alt.Y("gain:Q", title="gain in log likelihood per person", axis=alt.Axis(tickCount=5)),
        tooltip=tooltips("step|after step|d", "gain|gain|.4f"),
    )
    return present(
        base.mark_line(color=RELEASED, point={"color": RELEASED, "size": 40}),
        f"{short(column)}: every step makes the reports more likely",
        key=f"{len(data) - 1:,} steps, until the next would change nothing that a test could notice.",
        seen="The likelihood of the reports after every step of the reconstruction; it never falls.",
        height=300,
    )
