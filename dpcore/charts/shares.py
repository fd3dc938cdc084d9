"""Shares of one column's values, real, released and reported, and the columns that a release gets most wrong."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, NEUTRAL, REAL, RELEASED
from dpcore.charts.frames import MOST_ENTRIES, as_listed, distinct, largest, short, tidy
from dpcore.charts.marks import NO_TIP, diamonds, distances, scaled, single, span, tooltips
from dpcore.language import say

PERCENT: Any = {"format": "~%", "tickCount": 6}
ENDS = (0.1, 0.25, 0.5, 1.0)  # of axes of shares: so few, that two releases of one column rarely have two
RARE, FEW, MOST = 0.01, 12, 25  # a share; values that are drawn however rare, and that are drawn at most


def marginal(frame: pd.DataFrame, *, column: str) -> Chart:
    """Draw one column's shares, real and released, with the sampling-noise floor.

    Of many values the frequent ones are drawn, and the others together.

    Parameters
    ----------
    frame : DataFrame
        One row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1);
        `floor_low`, `floor_high` (the share's 2.5% and 97.5% points in same-size resamples of the
        real data).
    column : str
        The column's name.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = distinct(tidy(frame, ["value"], ["real", "released", "floor_low", "floor_high"]), "value")
    data, capped = _frequent(data, ["real", "released"])
    tips = tooltips("real|real|.2%", "released|released|.2%", "floor_low|fresh samples from|.2%", "floor_high|to|.2%")
    across = scaled(say("share of records"), _shares(data[["real", "released", "floor_high"]]), **PERCENT)
    base, share, end, height = _by_value(data, tips, scale=as_listed(data["value"]))
    real = base.mark_bar(color=REAL, opacity=0.5)
    floor = base.mark_rule(color=NEUTRAL, strokeWidth=5).encode(share("floor_low:Q"), end("floor_high"))
    return present(
        real.encode(share("real:Q", **across)) + floor + diamonds(base, RELEASED).encode(share("released:Q")),
        say("{column}: real and released shares", column=short(column)) + capped,
        key=say("Bar: real. Diamond: released. Line: 95% of fresh samples of real rows."),
        seen=say(
            "Shares of the values of {column}, real and released, with those of fresh samples.", column=short(column)
        ),
        height=height,
    )


def reported_shares(frame: pd.DataFrame, *, column: str) -> Chart:
    """Draw one column's true shares, what people reported, and what is reconstructed from it.

    Of many values the frequent ones are drawn, and the others together.

    Parameters
    ----------
    frame : DataFrame
        One row per value, in the order to draw: `value`; `real` (NaN if it is not known),
        `reported` (NaN if reports are no values), `reconstructed`, `low`, `high` (its 95%
        interval).
    column : str
        The column's name.

    Returns
    -------
    alt.Chart
        The chart.
    """
    known = frame["real"].notna().any()
    shares = ["real", "reported", "reconstructed"]
    data = distinct(tidy(frame, ["value"], [*shares, "low", "high"]), "value")
    data, capped = _frequent(data, [*(["real"] if known else []), "reconstructed"])
    ends = [0.0, *data[shares].to_numpy().ravel()]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.5 * (high - low)  # intervals may be wider than anything worth seeing
    data["low"], data["high"] = data["low"].clip(lower=low - room), data["high"].clip(upper=high + room)
    tips = tooltips("real|true|.2%") if known else []
    tips += tooltips("reported|reported|.2%", "reconstructed|reconstructed|.2%")
    tips += tooltips("low|95% interval from|.2%", "high|to|.2%")
    base, share, end, height = _by_value(data, tips)
    real = base.mark_bar(color=REAL, opacity=0.5)
    across: Any = {"width" if share is alt.Y else "height": {"band": 0.9}}
    scale = _shares(data[[*shares, "low", "high"]])
    layers = [
        real.encode(share("real:Q", **scaled(say("share of people"), scale, **PERCENT))),
        base.mark_tick(color=CLAIMED, thickness=4, **across).encode(share("reported:Q")),
        base.mark_rule(color=RELEASED, strokeWidth=2).encode(share("low:Q"), end("high")),
        diamonds(base, RELEASED).encode(share("reconstructed:Q")),
    ]
    if (data[["reconstructed", "low"]] < 0).any(axis=None):
        layers.insert(0, single(zero=0.0).mark_rule(color=NEUTRAL).encode(share("zero:Q"), NO_TIP))
    key = say("Bar: true. ") if known else ""
    key += say("Orange line: reported. ") if data["reported"].notna().any() else ""
    title = say("{column}: reported and reconstructed shares", column=short(column))
    seen = say(
        "Shares of the values of {column}: as reported, and reconstructed from the reports.", column=short(column)
    )
    if known:
        title = say("{column}: true, reported and reconstructed shares", column=short(column))
        seen = say(
            "Shares of the values of {column}: true, as reported, and reconstructed from the reports.",
            column=short(column),
        )
    return present(
        alt.layer(*layers),
        title + capped,
        key=key + say("Diamond: reconstructed from the reports, with its 95% interval."),
        seen=seen,
        height=height,
    )


def _frequent(data: pd.DataFrame, by: list[str]) -> tuple[pd.DataFrame, str]:
    """The values that are frequent by one of these shares, the others as one, and what a title says of them."""
    most = data[by].max(axis=1)
    kept = most.rank(method="first", ascending=False).le(FEW) | most.ge(RARE)
    kept &= most.rank(method="first", ascending=False).le(MOST)
    if (rare := int((~kept).sum())) < 2:
        return data, ""
    others = data[~kept].drop(columns=["value", "floor_low", "floor_high", "low", "high"], errors="ignore")
    rest = others.sum(min_count=1).to_frame().T.assign(value=say("({count:,} others)", count=rare))
    found = distinct(pd.concat([data[kept], rest], ignore_index=True), "value")
    return found, say(" (the {kept} most frequent of {count:,} values)", kept=int(kept.sum()), count=len(data))


def _shares(data: pd.DataFrame) -> alt.Scale:
    """Shares on an axis that is rarely another for another release of the same column."""
    low, high = float(np.nanmin([0.0, *data.min()])), largest(data.max(), 0.0)
    return span(low, next((end for end in ENDS if end >= 1.02 * high), max(high, 1.0)))


def _by_value(data: pd.DataFrame, tips: list[alt.Tooltip], **along: Any) -> tuple[alt.Chart, Any, Any, Any]:
    """A place per value, side by side if they are few and short; the channels of shares and their ends; the height."""
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    place, share, end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)
    values = place("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0), **along)
    base = alt.Chart(data).encode(values, tooltip=[*tooltips("value|value"), *tips])
    return base, share, end, 275 if upright else alt.Step(26)


def reported_numbers(frame: pd.DataFrame, *, column: str, days: bool = False) -> Chart:
    """Draw how true numbers spread, what people reported, and the reconstructed distribution.

    Parameters
    ----------
    frame : DataFrame
        One row per interval: `x` (its middle), `width`; `real` (NaN if it is not known),
        `reported`, `reconstructed` (or NaN): shares of people, per interval of the public range
        where outer ones are wider.
    column : str
        The column's name.
    days : bool, default=False
        Whether numbers are days since 1970-01-01, and drawn as dates.

    Returns
    -------
    alt.Chart
        The chart.
    """
    known = frame["real"].notna().any()
    data = tidy(frame, [], ["x", "width", "real", "reported", "reconstructed"])
    data["from"], data["to"], data["zero"] = data["x"] - data["width"] / 2, data["x"] + data["width"] / 2, 0.0
    tips = tooltips("real|true|.2%") if known else []
    tips += tooltips("reported|reported|.2%", "reconstructed|reconstructed|.2%")
    ends = tooltips("from|from|.4~g", "to|to|.4~g")
    axis = alt.Axis(format="~s", tickCount=8)
    if days:
        for end in ("from", "to"):
            data[f"{end} day"] = np.floor(data[end]).to_numpy().astype(int).astype("datetime64[D]").astype(str)
        ends = tooltips("from day|from", "to day|to")
        axis = alt.Axis(labelExpr="utcFormat(datum.value * 864e5, '%Y-%m')", tickCount=8)
    base = alt.Chart(data).encode(tooltip=[*ends, *tips])
    real = base.mark_rect(color=REAL, opacity=0.5).encode(
        alt.X("from:Q", title=say("value"), axis=axis, scale=alt.Scale(zero=False)),
        alt.X2("to"),
        alt.Y("real:Q", title=say("share of people"), axis=alt.Axis(**PERCENT)),
        alt.Y2("zero"),
    )
    lines = base.encode(alt.X("x:Q"))
    said = lines.mark_line(color=CLAIMED, interpolate="step", strokeWidth=2).encode(alt.Y("reported:Q"))
    made = lines.mark_line(color=RELEASED, strokeWidth=3).encode(alt.Y("reconstructed:Q"))
    again = data["reconstructed"].notna().any()
    if again:
        names = say("true, reported and reconstructed") if known else say("reported and reconstructed")
    else:
        names = say("true and reported") if known else say("reported")
    key = (say("Bars: true. ") if known else "") + say("Orange steps: reported.")
    return present(
        alt.layer(real, said, *([made] if again else [])),
        say("{column}: {names} numbers", column=short(column), names=names),
        key=key + (say(" Blue line: reconstructed from the reports.") if again else ""),
        seen=say("Distribution of {column}: {names}.", column=short(column), names=names),
        height=420,
    )


def steps(frame: pd.DataFrame, *, column: str) -> Chart:
    """Draw how likely the reports are after every step of a reconstruction: never less than before.

    Parameters
    ----------
    frame : DataFrame
        One row per step: `step`, `gain` (log of how much more likely than at the start, per
        person).
    column : str
        The column's name.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["step", "gain"])
    base = alt.Chart(data).encode(
        alt.X("step:Q", title=say("step"), axis=alt.Axis(format="d", tickCount=8)),
        alt.Y("gain:Q", title=say("gain in log likelihood per person"), axis=alt.Axis(tickCount=5)),
        tooltip=tooltips("step|after step|d", "gain|gain|.4f"),
    )
    return present(
        base.mark_line(color=RELEASED, point={"color": RELEASED, "size": 40}),
        say("{column}: every step makes the reports more likely", column=short(column)),
        key=say("{steps:,} steps, until the next would change nothing that a test could notice.", steps=len(data) - 1),
        seen=say("The likelihood of the reports after every step of the reconstruction; it never falls."),
        height=300,
    )


def worst_columns(frame: pd.DataFrame) -> Chart:
    """Draw the 20 columns, or sets of columns, that the release gets most wrong.

    Parameters
    ----------
    frame : DataFrame
        One row per set: `attributes` (text such as "age" or "age × income"); `avd`, `floor` (total
        variation distance, 0..1, of the release and of a same-size resample of the real data).

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["attributes"], ["avd", "floor"]).sort_values("avd", ascending=False, kind="stable")
    title = say("Where the release is furthest from the real data")
    if len(data) > MOST_ENTRIES:
        title += say(" (worst {most} of {count:,})", most=MOST_ENTRIES, count=len(data))
    data = distinct(data.head(MOST_ENTRIES), "attributes")
    base = alt.Chart(data).encode(
        alt.Y("attributes:N", sort=None, title=None, scale=as_listed(data["attributes"])),
        tooltip=tooltips("attributes|columns", "avd|distance|.3f", "floor|fresh sample|.3f"),
    )
    across = distances(say("distance (0 = the same, 1 = nothing in common)"))
    release, fresh = alt.X("avd:Q", **across), alt.X("floor:Q", **across)
    beyond = base.mark_rule(color=RELEASED, strokeWidth=4, opacity=0.5).encode(fresh, x2=alt.X2("avd"))
    floor = base.mark_tick(color=NEUTRAL, thickness=4, height={"band": 0.8}).encode(fresh)
    return present(
        beyond + floor + diamonds(base, RELEASED).encode(release),
        title,
        key=say(
            "Diamond: release. Upright line: a fresh sample of the real rows, which is off by chance alone. The axis "
            "is the same for every release."
        ),
        seen=say("Distance from the real data per set of columns, largest first, beside that of a fresh sample."),
        height=alt.Step(28),
    )
