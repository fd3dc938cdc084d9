"""Shares of a column's values, real, released and reported, and what a release gets most wrong."""

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import DIGITS, PICTURES, Chart, by_width, present
from dpcore.charts.colors import CLAIMED, INK, NEUTRAL, REAL, RELEASED
from dpcore.charts.frames import LINE, MOST_ENTRIES, as_listed, breadth, distinct, labels, percents, short, step, tidy
from dpcore.charts.marks import NO_TIP, bars, diamonds, single, tooltips, words
from dpcore.charts.scales import distances, share_axis
from dpcore.language import say

# a share; values that are drawn however rare, and that are drawn at most
RARE, FEW, MOST = 0.01, 12, 25
UPRIGHT, CROWDED = 60, 40  # letters that stand side by side below bars, on a laptop and on a phone
LOOKS = {"labelAngle": (0, -50), "labelAlign": ("center", "right"), "labelBaseline": ("top", "middle")}
# where there are too many
TURNED = {name: alt.ExprRef(**by_width(*looks)) for name, looks in LOOKS.items()}
MOST_HEAD = 12  # letters above a column of numbers
MOST_PAIRS = 10
NUMBERED = ("real", "released", "reconstructed")  # what is told in figures
NAMES = PICTURES["reported_numbers"]["names"]  # of what is drawn of reports


def marginal(
    frame: pd.DataFrame,
    *,
    column: str,
    title: str = "",
    previous: pd.DataFrame | None = None,
    before: str = "",
    released: str = "",
    most: int = MOST,
) -> Chart:
    """Draw one column's shares, real and synthetic, with the sampling-noise floor.

    Of many values the frequent ones are drawn, and the others together.

    Parameters
    ----------
    frame : DataFrame
        One row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1);
        `floor_low`, `floor_high` (the share's 2.5% and 97.5% points in same-size resamples of the
        real data).
    column : str
        The column's name.
    title : str, optional
        The title. Default: the column's name and what is drawn.
    previous : DataFrame, optional
        The shares of an earlier release: `value`, `released`.
    before : str, optional
        What that one is called, such as "the run before, epsilon 0.1".
    released : str, optional
        What was released, such as "released counts". Default: "synthetic".
    most : int, optional
        The number of values to draw at most, besides the others together: of fewer than usual, the
        most frequent real ones.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = distinct(tidy(frame, ["value"], ["real", "released", "floor_low", "floor_high"]), "value")
    shares = {"real": say("real"), "released": released or say("synthetic")}
    tooltip = tooltips(
        "real|real|.2%", "released|released|.2%", "floor_low|fresh samples from|.2%", "floor_high|to|.2%"
    )
    if previous is not None:
        earlier = distinct(tidy(previous, ["value"], ["released"]), "value").set_index("value")["released"]
        data["previous"], shares["previous"] = data["value"].map(earlier), before or say("the run before")
        tooltip += tooltips("previous|the run before|.2%")
    data, capped = _frequent(data, ["real", "released"] if most == MOST else ["real"], most)
    along = _Values(data, say("share of rows"), [*shares, "floor_high"], tooltip)
    marks = [along.bars("real"), along.interval(NEUTRAL, 4, "floor_low", "floor_high")]
    if previous is not None:
        pale: Any = {"shape": "diamond", "filled": False, "size": 110, "strokeWidth": 2, "opacity": 0.6}
        marks.append(along.base.mark_point(color=RELEASED, **pale).encode(along.share("previous:Q")))
    numbers = along.numbers({name: shares[name] for name in NUMBERED[:2]})
    values: Any = {"title": title, "column": short(column, 28), "released": shares["released"]}
    values |= {"before": shares.get("previous", "")} | capped | along.size
    cases = {"before": previous is not None, "floor": True, "some": capped}
    return present([*marks, along.diamonds("released"), *numbers], "marginal", cases, **values)


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
    known = bool(frame["real"].notna().any())
    shares = ["real", "reported", "reconstructed"]
    data = distinct(tidy(frame, ["value"], [*shares, "low", "high"]), "value")
    data, capped = _frequent(data, [*(["real"] if known else []), "reconstructed"])
    ends = [0.0, *data[shares].to_numpy().ravel()]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.5 * (high - low)  # intervals may be wider than anything worth seeing
    data["low"], data["high"] = data["low"].clip(lower=low - room), data["high"].clip(upper=high + room)
    tooltip = tooltips("real|true|.2%") if known else []
    tooltip += tooltips("reported|reported|.2%", "reconstructed|reconstructed|.2%")
    tooltip += tooltips("low|95% interval from|.2%", "high|to|.2%")
    along = _Values(data, say("share of people"), [*shares, "low", "high"], tooltip)
    tick: Any = {"thickness": 4, "width" if along.upright else "height": {"band": 0.9}}
    layers = [
        along.bars("real"),
        along.base.mark_tick(color=CLAIMED, **tick).encode(along.share("reported:Q")),
        along.interval(RELEASED, 2, "low", "high"),
        along.diamonds("reconstructed"),
    ]
    if (data[["reconstructed", "low"]] < 0).any(axis=None):
        layers.insert(0, single(zero=0.0).mark_rule(color=NEUTRAL).encode(along.share("zero:Q"), NO_TIP))
    note = {"real": say("true")} if known else {}
    layers += along.numbers(note | {"reconstructed": say("reconstructed")})
    reported = data["reported"].notna().any()
    cases = {"true": known, "reported": reported, "made": True, "some": capped}
    values: Any = {"column": short(column, 24), "names": say(NAMES[2 + known])} | along.size
    return present(layers, "reported_shares", cases, **values | capped)


def _frequent(data: pd.DataFrame, by: list[str], most_drawn: int = MOST) -> tuple[Any, Any]:
    """The values that are frequent by one of these shares, the others as one, and what a title says of them."""
    most = data[by].max(axis=1)
    kept = most.rank(method="first", ascending=False).le(FEW) | most.ge(RARE)
    kept &= most.rank(method="first", ascending=False).le(most_drawn)
    if (rare := int((~kept).sum())) < 2:
        return data, {}
    others = data[~kept].drop(columns=["value", "floor_low", "floor_high", "low", "high"], errors="ignore")
    rest = others.sum(min_count=1).to_frame().T.assign(value=say("({count:,} others)", count=rare))
    found = distinct(pd.concat([data[kept], rest], ignore_index=True), "value")
    return found, {"kept": int(kept.sum()), "count": len(data)}


class _Values:
    """A place per value, with its shares: side by side if they are few and short, else one below the other."""

    def __init__(self, data: pd.DataFrame, title: str, fields: list[str], tooltip: list[alt.Tooltip]) -> None:
        most = max(UPRIGHT // max(len(data), 1), 1)
        lines = labels((name.replace("\n", " ") for name in data["value"]), most)
        longest = max((len(word) for name in data["value"] for word in name.split()), default=0)
        self.lines = 1 + max((name.count("\n") for name in lines), default=0)
        self.upright = len(data) <= FEW and longest <= most and self.lines <= 2
        data = data.assign(**{f"{field}_text": percents(data[field]) for field in NUMBERED if field in data})
        data = data.assign(value=lines) if self.upright else data
        close = len(data) <= FEW and not any("\n" in name for name in data["value"])
        height: Any = 150 if self.upright else alt.Step(17) if close else step(data["value"], 22)
        # Of the plot alone: names, figures and title come besides, and would be taken from it.
        self.size: Any = {"height": height, "autosize": alt.AutoSizeParams(type="fit-x", contains="padding")}
        place: Any = alt.X if self.upright else alt.Y
        self.share: Any = alt.Y if self.upright else alt.X
        self.end: Any = alt.Y2 if self.upright else alt.X2
        wide = [max(map(breadth, name.split("\n"))) for name in data["value"]]
        between = max(((a + b) / 2 + 1 for a, b in pairwise(wide)), default=0.0)  # their middles
        self.crowded = self.upright and between * len(data) > CROWDED
        axis: Any = {"labelPadding": 4 if self.upright else 9}  # of which a diamond takes half
        axis |= TURNED if self.crowded else {"labelAngle": 0, "labelOverlap": False}
        named = place("value:N", title=None, scale=as_listed(data["value"]), axis=alt.Axis(**axis))
        self.base = alt.Chart(data).encode(named, tooltip=[*tooltips("value|value"), *tooltip])
        self.along = share_axis(title, data[fields])

    def bars(self, field: str) -> Any:
        """What is real, from 0."""
        return self.base.mark_bar(color=REAL, opacity=0.5).encode(self.share(f"{field}:Q", **self.along))

    def interval(self, color: str, width: int, low: str, high: str) -> Any:
        """A line from one share to another."""
        rule = self.base.mark_rule(color=color, strokeWidth=width)
        return rule.encode(self.share(f"{low}:Q", **self.along), self.end(high))

    def diamonds(self, field: str) -> Any:
        """What was released."""
        return diamonds(self.base, RELEASED).encode(self.share(f"{field}:Q", **self.along))

    def numbers(self, note: dict[str, str]) -> list[Any]:
        """Shares in figures, a row below the names or a column beside the bars for each of these."""
        found: list[Any] = []
        end: Any = (alt.YValue if self.upright else alt.XValue)(alt.ExprRef("height" if self.upright else "width"))
        for k, (field, head) in enumerate(note.items()):
            look: Any = {"align": "right", "fontSize": 13, "fontWeight": 400 if field == "real" else 600}
            name = single(text=head if len(head) < MOST_HEAD else say("released"))
            if self.upright:
                look |= {"dy": LINE * (self.lines + k) + 30} | ({"style": DIGITS} if self.crowded else {})
                found.append(words(name.encode(end, x=alt.value(-6)), "text", **look))
                look["align"] = "center"
            else:
                look["dx"] = 52 + 84 * k
                found.append(words(name.encode(end, y=alt.value(-9)), "text", **look))
            found.append(words(self.base.encode(end), f"{field}_text", **look))
        return found


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
    known = bool(frame["real"].notna().any())
    data = tidy(frame, [], ["x", "width", "real", "reported", "reconstructed"])
    data["from"], data["to"], data["zero"] = data["x"] - data["width"] / 2, data["x"] + data["width"] / 2, 0.0
    tooltip = tooltips("real|true|.2%") if known else []
    tooltip += tooltips("reported|reported|.2%", "reconstructed|reconstructed|.2%")
    ends = tooltips("from|from|.4~g", "to|to|.4~g")
    axis = alt.Axis(format="~s", tickCount=8)
    if days:
        for end in ("from", "to"):
            data[f"{end} day"] = np.floor(data[end]).to_numpy().astype(int).astype("datetime64[D]").astype(str)
        ends = tooltips("from day|from", "to day|to")
        axis = alt.Axis(labelExpr="utcFormat(datum.value * 864e5, '%Y-%m')", tickCount=8)
    base = alt.Chart(data).encode(tooltip=[*ends, *tooltip])
    real = base.mark_rect(color=REAL, opacity=0.5).encode(
        alt.X("from:Q", title=say("value"), axis=axis, scale=alt.Scale(zero=False)),
        alt.X2("to"),
        alt.Y("real:Q", title=say("share of people"), axis=alt.Axis(format="~%", tickCount=6)),
        alt.Y2("zero"),
    )
    lines = base.encode(alt.X("x:Q"))
    said = lines.mark_line(color=CLAIMED, interpolate="step", strokeWidth=2).encode(alt.Y("reported:Q"))
    made = lines.mark_line(color=RELEASED, strokeWidth=3).encode(alt.Y("reconstructed:Q"))
    again = bool(data["reconstructed"].notna().any())
    cases = {"true": known, "said": True, "made": again}
    values: Any = {"column": short(column), "names": say(NAMES[2 * again + known])}
    return present([real, said, *[made] * again], "reported_numbers", cases, **values)


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
    line = base.mark_line(color=RELEASED, point={"color": RELEASED, "size": 40})
    return present(line, "steps", column=short(column), steps=len(data) - 1)


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
    return _worst(tidy(frame, ["attributes"], ["avd", "floor"]), "columns", MOST_ENTRIES)


def worst_pairs(frame: pd.DataFrame) -> Chart:
    """Draw the ten pairs of columns that the release gets most wrong.

    Parameters
    ----------
    frame : DataFrame
        One row per pair: `a`, `b` (columns); `avd`, `floor`, as for `worst_columns`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["a", "b"], ["avd", "floor"])
    names = zip(data["a"], data["b"], strict=True)
    data["attributes"] = [f"{short(one)} × {short(other)}" for one, other in names]
    return _worst(data, "pairs", MOST_PAIRS)


def _worst(data: pd.DataFrame, case: str, most: int) -> Chart:
    """A bar per set of columns, largest first, with what chance alone does."""
    shown = data[["attributes", "avd", "floor"]].dropna(subset="avd")
    shown = shown.sort_values("avd", ascending=False, kind="stable").head(most)
    shown = distinct(shown.reset_index(drop=True), "attributes")
    shown = shown.assign(edge=shown[["avd", "floor"]].max(axis=1), text=shown["avd"].map("{:.3f}".format))
    across = distances(say("distance"))
    tooltip = tooltips("attributes|columns", "avd|distance|.3f", "floor|fresh sample|.3f")
    drawn, note = bars(shown, "attributes", "avd", across, tooltip)
    floor = drawn.mark_tick(color=INK, thickness=3, height={"band": 0.95})
    floor = floor.encode(alt.X("floor:Q", **across))
    values: Any = {"most": most, "count": len(data), "height": step(shown["attributes"], 24)}
    cases = {case: True, "some": len(data) > most}
    return present([drawn, floor, note], "worst", cases, **values)
