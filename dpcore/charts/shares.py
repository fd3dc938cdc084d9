"""Shares of one column's values, real, released and reported, and the columns that a release gets most wrong."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, NEUTRAL, REAL, RELEASED
from dpcore.charts.frames import MOST_ENTRIES, MOST_VALUES, as_listed, distinct, short, tidy
from dpcore.charts.marks import NO_TIP, diamonds, single, tooltips

PERCENT: Any = {"format": "~%", "tickCount": 6}


def marginal(frame: pd.DataFrame, *, column: str) -> Chart:
    """One column's shares, real and released, with the noise floor.

    `frame`: one row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1); `floor_low`,
    `floor_high` (the share's 2.5 % and 97.5 % points in same-size resamples of the real data). The 40 largest values
    are drawn, the rest told in words.
    """
    data = distinct(tidy(frame, ["value"], ["real", "released", "floor_low", "floor_high"]), "value")
    kept, capped = _largest(data, "released")
    others, data = data.loc[~kept, ["real", "released"]].sum(), data[kept]  # as a bar they would dwarf the rest
    rest = f" Others together: {others['real']:.1%} real, {others['released']:.1%} released." if capped else ""
    tips = ["released|released|.2%", "floor_low|noise floor from|.2%", "floor_high|to|.2%"]
    base, share, end, height = _by_value(data, ["real|real|.2%", *tips], scale=as_listed(data["value"]))
    real = base.mark_bar(color=REAL, opacity=0.5)
    floor = base.mark_rule(color=NEUTRAL, strokeWidth=5).encode(share("floor_low:Q"), end("floor_high"))
    return present(
        real.encode(share("real:Q", title="share of records", axis=alt.Axis(**PERCENT)))
        + floor
        + diamonds(base, RELEASED).encode(share("released:Q")),
        f"{short(column)}: real and released shares{capped}",
        key=f"Bar: real. Diamond: released. Line: 95% of same-size resamples of the real data.{rest}",
        seen=f"Shares of the values of {short(column)}, real and released, with the noise floor.",
        height=height,
    )


def reported_shares(frame: pd.DataFrame, *, column: str) -> Chart:
    """One column's true shares, what people reported, and what is reconstructed from the reports.

    `frame`: one row per value, in the order to draw: `value`; `real` (NaN if nobody knows), `reported` (NaN if reports
    are no values), `reconstructed`, `low`, `high` (its 95 % interval). The 40 values with the largest shares are drawn.
    """
    known = frame["real"].notna().any()
    shares = ["real", "reported", "reconstructed"]
    data = distinct(tidy(frame, ["value"], [*shares, "low", "high"]), "value")
    kept, capped = _largest(data, "reported" if known else "reconstructed")
    data = data[kept]
    ends = [0.0, *data[shares].to_numpy().ravel()]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.5 * (high - low)  # intervals may be wider than anything worth seeing
    data["low"], data["high"] = data["low"].clip(lower=low - room), data["high"].clip(upper=high + room)
    tips = [*(f"{name}|{name}|.2%" for name in shares[1:]), "low|95% interval from|.2%", "high|to|.2%"]
    tips = [*(["real|true|.2%"] if known else []), *tips]
    base, share, end, height = _by_value(data, tips)
    scale = alt.Scale(nice=True, zero=True)
    real = base.mark_bar(color=REAL, opacity=0.5)
    across: Any = {"width" if share is alt.Y else "height": {"band": 0.9}}
    layers = [
        real.encode(share("real:Q", title="share of people", axis=alt.Axis(**PERCENT), scale=scale)),
        base.mark_tick(color=CLAIMED, thickness=4, **across).encode(share("reported:Q")),
        base.mark_rule(color=RELEASED, strokeWidth=2).encode(share("low:Q"), end("high")),
        diamonds(base, RELEASED).encode(share("reconstructed:Q")),
    ]
    if (data[["reconstructed", "low"]] < 0).any(axis=None):
        layers.insert(0, single(zero=0.0).mark_rule(color=NEUTRAL).encode(share("zero:Q"), NO_TIP))
    ticks = ("Bar: true. " if known else "") + ("Orange line: reported. " if data["reported"].notna().any() else "")
    return present(
        alt.layer(*layers),
        f"{short(column)}: {'true, ' if known else ''}reported and reconstructed shares{capped}",
        key=f"{ticks}Diamond: reconstructed from the reports, with its 95% interval.",
        seen=f"Shares of the values of {short(column)}: {'true, ' if known else ''}as reported, and reconstructed from "
        "the reports.",
        height=height,
    )


def _largest(data: pd.DataFrame, other: str) -> tuple[Any, str]:
    """Which values have the largest shares, real or other, and what a title says if these are not all."""
    kept = data.index.isin(data[["real", other]].max(axis=1).nlargest(MOST_VALUES).index)
    return kept, "" if kept.all() else f" (top {MOST_VALUES} of {len(kept):,} values)"


def _by_value(data: pd.DataFrame, tips: list[str], **along: Any) -> tuple[alt.Chart, Any, Any, Any]:
    """A place per value, side by side if they are few and short; the channels of shares and their ends; the height."""
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    place, share, end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)
    values = place("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0), **along)
    base = alt.Chart(data).encode(values, tooltip=tooltips("value|value", *tips))
    return base, share, end, 420 if upright else alt.Step(26)


def reported_numbers(frame: pd.DataFrame, *, column: str, days: bool = False) -> Chart:
    """How true numbers spread, what people reported, and the distribution that is reconstructed.

    `frame`: one row per interval: `x` (its middle), `width`; `real` (NaN if nobody knows), `reported`, `reconstructed`
    (or NaN): shares of people, per interval of the public range where outer ones are wider. With `days`, numbers are
    days since 1970-01-01, and are told as dates.
    """
    known = frame["real"].notna().any()
    data = tidy(frame, [], ["x", "width", "real", "reported", "reconstructed"])
    data["from"], data["to"], data["zero"] = data["x"] - data["width"] / 2, data["x"] + data["width"] / 2, 0.0
    tips = [*(["real|true|.2%"] if known else []), "reported|reported|.2%", "reconstructed|reconstructed|.2%"]
    ends = ["from|from|.4~g", "to|to|.4~g"]
    axis = alt.Axis(format="~s", tickCount=8)
    if days:
        for end in ("from", "to"):
            data[f"{end} day"] = np.floor(data[end]).to_numpy().astype(int).astype("datetime64[D]").astype(str)
        ends = ["from day|from", "to day|to"]
        axis = alt.Axis(labelExpr="utcFormat(datum.value * 864e5, '%Y-%m')", tickCount=8)
    base = alt.Chart(data).encode(tooltip=tooltips(*ends, *tips))
    real = base.mark_rect(color=REAL, opacity=0.5).encode(
        alt.X("from:Q", title="value", axis=axis, scale=alt.Scale(zero=False)),
        alt.X2("to"),
        alt.Y("real:Q", title="share of people", axis=alt.Axis(**PERCENT)),
        alt.Y2("zero"),
    )
    lines = base.encode(alt.X("x:Q"))
    said = lines.mark_line(color=CLAIMED, interpolate="step", strokeWidth=2).encode(alt.Y("reported:Q"))
    made = lines.mark_line(color=RELEASED, strokeWidth=3).encode(alt.Y("reconstructed:Q"))
    again = data["reconstructed"].notna().any()
    names = " and ".join(["reported", *(["reconstructed"] if again else [])])
    names = names if not known else f"true, {names}" if again else f"true and {names}"
    key = ["Bars: true." if known else "", "Orange steps: reported."]
    return present(
        alt.layer(real, said, *([made] if again else [])),
        f"{short(column)}: {names} numbers",
        key=" ".join([*filter(None, key), *(["Blue line: reconstructed from the reports."] if again else [])]),
        seen=f"Distribution of {short(column)}: {names}.",
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


def worst_columns(frame: pd.DataFrame) -> Chart:
    """The 20 columns, or sets of columns, that the release gets most wrong.

    `frame`: `attributes` (text such as "age" or "age × income"); `avd`, `floor` (average variation distance, 0..1, of
    the release and of a same-size resample of the real data).
    """
    data = tidy(frame, ["attributes"], ["avd", "floor"]).sort_values("avd", ascending=False, kind="stable")
    capped = f" (worst {MOST_ENTRIES} of {len(data):,})" if len(data) > MOST_ENTRIES else ""
    data = distinct(data.head(MOST_ENTRIES), "attributes")
    base = alt.Chart(data).encode(
        alt.Y("attributes:N", sort=None, title=None, scale=as_listed(data["attributes"])),
        tooltip=tooltips("attributes|columns", "avd|AVD|.3f", "floor|noise floor|.3f"),
    )
    distance = alt.X("avd:Q", title="average variation distance (0 = the same)", axis=alt.Axis(tickCount=8))
    release = base.mark_bar(color=RELEASED, opacity=0.65, height={"band": 0.55}).encode(distance)
    floor = base.mark_tick(color=NEUTRAL, thickness=4, height={"band": 0.95}).encode(x="floor:Q")
    return present(
        release + floor,
        f"Where the release is furthest from the real data{capped}",
        key="Bar: release. Upright line: noise floor, a same-size resample of the real data.",
        seen="Distance from the real data per set of columns, largest first, beside the noise floor.",
        height=alt.Step(28),
    )
