"""Releases beside the real rows: shares of values, what is furthest from the real data, and scores of classifiers."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import DIGITS, PICTURES, Chart, by_width, present
from dpcore.charts.frames import (
    LINE,
    MOST_ENTRIES,
    breadth,
    distinct,
    in_order,
    labels,
    percents,
    short,
    step,
    t_interval,
    tidy,
)
from dpcore.charts.marks import (
    Plot,
    XValue,
    YValue,
    bars,
    color_and_shape,
    diamonds,
    draw_rule,
    end_labels,
    legend_channel,
    one_row,
    tooltips,
    words,
)
from dpcore.charts.scales import (
    BELOW,
    CLAIMED,
    INK,
    NEUTRAL,
    REAL,
    RELEASED,
    SERIES,
    ChartAxis,
    accuracies,
    distances,
    names_axis,
    scaled_axis,
    share_axis,
    shares,
)
from dpcore.language import phrase, say
from dpcore.text import percent

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
TRAINED_ON = {
    "released": (phrase("trained on synthetic rows"), RELEASED, "diamond"),
    "same method, no noise": (phrase("same method, noiseless"), SERIES[2], "triangle-up"),
    "real": (phrase("trained on real rows"), REAL, "circle"),
}
WHO = [phrase("released"), phrase("baseline")]
SCORES = {"accuracy": phrase("accuracy"), "balanced_accuracy": phrase("balanced accuracy")}
ABOVE: Any = {"symbolOpacity": 1, "offset": 28}  # the name of the majority class
LEGEND = alt.Legend(**ABOVE)
DASHED: Any = {"color": NEUTRAL, "strokeDash": [6, 4], "strokeWidth": 2}
MAJORITY = phrase("majority class")
ROW = 110  # pixels
MOST_BARS = 15
OTHERS, HERE = phrase("another run"), phrase("this release")
# From a line to where all of its label fits in a narrow chart; a Chinese letter counts for two.
ASIDE = alt.ExprRef("min(-4, width + 8 - scale('x', datum.at) - 6.4 * length(replace(datum.label, /[^ -~]/g, 'xx')))")
# without a note in a narrow chart
MEDIAN = "width < 300 ? split(datum.text, ' · ')[0] : datum.text"
NOISELESS, MIDDLE, NOISY = phrase("noiseless trees"), phrase("same trees, noiseless counts"), phrase("released")
STRUCTURE, LEAVES = phrase("cost of random choices"), phrase("cost of noisy counts")


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
    if previous is not None:
        earlier = distinct(tidy(previous, ["value"], ["released"]), "value").set_index("value")["released"]
        data["previous"], shares["previous"] = data["value"].map(earlier), before or say("previous run")
    data, capped = _frequent(data, ["real", "released"] if most == MOST else ["real"], most)
    along = _Values("marginal", data, [*shares, "floor_high"])
    marks = [along.bars("real"), along.interval(NEUTRAL, 4, "floor_low", "floor_high")]
    if previous is not None:
        pale: Any = {"shape": "diamond", "filled": False, "size": 110, "strokeWidth": 2, "opacity": 0.6}
        marks.append(along("previous").mark_point(color=RELEASED, **pale))
    numbers = along.numbers({name: shares[name] for name in NUMBERED[:2]})
    values: Any = {"title": title, "column": short(column, 28), "released": shares["released"]}
    values |= {"previous_run": shares.get("previous", "")} | capped | along.size
    cases = {"before": previous is not None, "floor": True, "some": capped}
    layers = [*marks, diamonds(along("released"), RELEASED), *numbers]
    return present(layers, "marginal", cases, **values)


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
    known, reported = (bool(frame[name].notna().any()) for name in ("real", "reported"))
    shares = ["real", "reported", "reconstructed"]
    data = distinct(tidy(frame, ["value"], [*shares, "low", "high"]), "value")
    data, capped = _frequent(data, [*(["real"] if known else []), "reconstructed"])
    ends = [0.0, *data[shares].to_numpy().ravel()]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.5 * (high - low)  # intervals may be wider than anything worth seeing
    data["low"], data["high"] = data["low"].clip(lower=low - room), data["high"].clip(upper=high + room)
    along = _Values("reported_shares", data, [*shares, "low", "high"])
    tick: Any = {"thickness": 4, "width" if along.upright else "height": {"band": 0.9}}
    layers = [
        along.bars("real"),
        along("reported").mark_tick(color=CLAIMED, **tick),
        along.interval(RELEASED, 2, "low", "high"),
        diamonds(along("reconstructed"), RELEASED),
    ]
    if (data[["reconstructed", "low"]] < 0).any(axis=None):
        zero = along.plot(one_row(zero=0.0), *along.sides(None, "zero"))
        layers.insert(0, zero.mark_rule(color=NEUTRAL))
    note = {"real": say("true share")} if known else {}
    layers += along.numbers(note | {"reconstructed": say("reconstructed share")})
    cases = {"true": known, "reported": reported, "made": True, "some": capped}
    values: Any = {"column": short(column, 24), "names": say(NAMES[2 + known])} | along.size
    return present(layers, "reported_shares", cases, **values | capped)


def _frequent(data: pd.DataFrame, by: list[str], most_drawn: int = MOST) -> tuple[Any, Any]:
    """Return a column's frequent values, the others summed in one row, and a note for the title.

    `data` has a row per value. A value is frequent by the largest of its shares in the columns
    `by`; at most `most_drawn` are.
    """
    most = data[by].max(axis=1)
    kept = most.rank(method="first", ascending=False).le(FEW) | most.ge(RARE)
    kept &= most.rank(method="first", ascending=False).le(most_drawn)
    if (rare := int((~kept).sum())) < 2:
        return data, {}
    others = data[~kept].drop(columns=["value", "floor_low", "floor_high", "low", "high"], errors="ignore")
    rest = others.sum(min_count=1).to_frame().T.assign(value=say("({count:,} other values)", count=rare))
    found = distinct(pd.concat([data[kept], rest], ignore_index=True), "value")
    return found, {"kept": int(kept.sum()), "count": len(data)}


class _Values:
    """Layout of a column's values and shares: side by side if few and short, else in rows.

    `picture` is its table in `pictures.toml`, `data` has a row per value, and `fields` are the
    columns of shares.
    """

    def __init__(self, picture: str, data: pd.DataFrame, fields: list[str]) -> None:
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
        wide = [max(map(breadth, name.split("\n"))) for name in data["value"]]
        between = max(((a + b) / 2 + 1 for a, b in pairwise(wide)), default=0.0)  # their middles
        self.crowded = self.upright and between * len(data) > CROWDED
        axis: Any = {"labelPadding": 4 if self.upright else 9}  # of which a diamond takes half
        axis |= TURNED if self.crowded else {"labelAngle": 0, "labelOverlap": False}
        title = say(PICTURES[picture]["shares"])
        self.data, names = data, names_axis(data["value"]) | {"axis": axis}
        self.plot = Plot(picture, *self.sides(names, share_axis(title, data[fields])))
        self.tooltip = self.plot.tooltip_of(data)

    def sides(self, name: Any, share: Any) -> tuple[Any, Any]:
        """Return the names' and the shares' axis or field as horizontal and vertical one."""
        return (name, share) if self.upright else (share, name)

    def __call__(self, share: Any) -> Any:
        """Return a chart of the values at these shares: a field, or a pair of fields."""
        return self.plot(self.data, *self.sides("value", share), self.tooltip)

    def bars(self, field: str) -> Any:
        """Draw bars from 0 for the shares of real rows."""
        return self(field).mark_bar(color=REAL, opacity=0.5)

    def interval(self, color: str, width: int, low: str, high: str) -> Any:
        """Draw a line from the share in the field `low` to that in `high`."""
        return self((low, high)).mark_rule(color=color, strokeWidth=width)

    def numbers(self, note: dict[str, str]) -> list[Any]:
        """Draw the shares in figures: a row below the names, or a column beside the bars."""
        found: list[Any] = []
        end = YValue(alt.ExprRef("height")) if self.upright else XValue(alt.ExprRef("width"))
        for k, (field, head) in enumerate(note.items()):
            look: Any = {"align": "right", "fontSize": 13, "fontWeight": 400 if field == "real" else 600}
            name = one_row(text=head if len(head) < MOST_HEAD else say("released"))
            if self.upright:
                look |= {"dy": LINE * (self.lines + k) + 30} | ({"style": DIGITS} if self.crowded else {})
                found.append(words(self.plot(name, XValue(-6), end), "text", **look))
                look["align"] = "center"
            else:
                look["dx"] = 52 + 84 * k
                found.append(words(self.plot(name, end, YValue(-9)), "text", **look))
            found.append(words(self.plot(self.data, *self.sides("value", end)), f"{field}_text", **look))
        return found


def reported_numbers(frame: pd.DataFrame, *, column: str, days: bool = False) -> Chart:
    """Draw the distributions of true numbers, of reports, and of the reconstruction.

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
    known, again = (bool(frame[name].notna().any()) for name in ("real", "reconstructed"))
    data = tidy(frame, [], ["x", "width", "real", "reported", "reconstructed"])
    data["from"], data["to"] = data["x"] - data["width"] / 2, data["x"] + data["width"] / 2
    ends, axis = tooltips("from|bin, lower end|.4~g", "to|bin, upper end|.4~g"), {"format": "~s"}
    if days:
        for end in ("from", "to"):
            data[f"{end} day"] = np.floor(data[end]).to_numpy().astype(int).astype("datetime64[D]").astype(str)
        ends, axis = tooltips("from day|since", "to day|until"), {"labelExpr": "utcFormat(datum.value*864e5, '%Y-%m')"}
    plot = Plot("reported_numbers", scaled_axis(alt.Scale(zero=False), **axis), alt.Scale())
    tooltip = [*ends, *plot.tooltip_of(data)]
    layers = [
        plot(data, ("from", "to"), ("real", 0), tooltip).mark_rect(color=REAL, opacity=0.5),
        plot(data, "x", "reported", tooltip).mark_line(color=CLAIMED, interpolate="step", strokeWidth=2),
        plot(data, "x", "reconstructed", tooltip).mark_line(color=RELEASED, strokeWidth=3),
    ]
    cases = {"true": known, "said": True, "made": again}
    values: Any = {"column": short(column), "names": say(NAMES[2 * again + known])}
    return present(layers[: 2 + again], "reported_numbers", cases, **values)


def steps(frame: pd.DataFrame, *, column: str) -> Chart:
    """Draw the reports' likelihood after every step of a reconstruction; it never decreases.

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
    plot = Plot("steps", alt.Scale(), alt.Scale())
    line = plot(data, "step", "gain", plot.tooltip).mark_line(color=RELEASED, point={"color": RELEASED, "size": 40})
    return present(line, "steps", column=short(column), steps=len(data) - 1)


def worst_columns(frame: pd.DataFrame) -> Chart:
    """Draw the 20 columns, or sets of columns, that are furthest from the real data.

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
    """Draw the ten pairs of columns that are furthest from the real data.

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
    """Draw a bar per set of columns, largest distance first, with the sampling-noise floor.

    `case` is "columns" or "pairs", and `most` the largest number of bars.
    """
    shown = data[["attributes", "avd", "floor"]].dropna(subset="avd")
    shown = shown.sort_values("avd", ascending=False, kind="stable").head(most)
    shown = distinct(shown.reset_index(drop=True), "attributes")
    shown = shown.assign(edge=shown[["avd", "floor"]].max(axis=1), text=shown["avd"].map("{:.3f}".format))
    plot = Plot("worst", distances(say("distance")), names_axis(shown["attributes"]))
    drawn, note = bars(plot, shown, "attributes", "avd")
    floor = plot(shown, "floor", "attributes", plot.tooltip).mark_tick(color=INK, thickness=3, height={"band": 0.95})
    values: Any = {"most": most, "count": len(data), "height": step(shown["attributes"], 24)}
    return present([drawn, floor, note], "worst", {case: True, "some": len(data) > most}, **values)


def accuracy(frame: pd.DataFrame, *, majority: float, metric: str = "accuracy") -> Chart:
    """Draw the accuracy on real test data of models trained on the release and on its baselines.

    Parameters
    ----------
    frame : DataFrame
        One row per model and run: `model`, `trained_on` (a key of `TRAINED_ON`), `accuracy` or
        `balanced_accuracy` (0..1).
    majority : float
        What knowing nothing scores: the most frequent class's share, or one of so many classes.
    metric : {"accuracy", "balanced_accuracy"}, default="accuracy"
        Which is drawn.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["model", "trained_on"], [metric]).dropna()
    data = data.rename(columns={metric: "score", "trained_on": "kind"})
    found = {say(text): look for name, (text, *look) in TRAINED_ON.items() if name in set(data["kind"])}
    data["kind"] = [say(TRAINED_ON[name][0]) for name in data["kind"]]
    colors, shapes = zip(*found.values(), strict=True) if found else ((), ())
    looks = color_and_shape("kind", [*found], colors, shapes, legend=LEGEND)
    return _scored(data, [*found], looks, majority, metric, say(SCORES[metric]))


def classifier_scores(frame: pd.DataFrame) -> Chart:
    """Draw accuracy and balanced accuracy of a released classifier and of its baselines.

    Parameters
    ----------
    frame : DataFrame
        One row per model and run: `model`, `accuracy`, `balanced_accuracy` (0..1) and `private`
        (bool). Models of several runs have a bar: the 95% t-interval of their mean.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["model"], [*SCORES]).assign(who=np.where(frame["private"].to_numpy(bool), *map(say, WHO)))
    chance = float(data.loc[data["model"] == MAJORITY, [*SCORES]].min().min())
    measures = [*map(say, SCORES.values())]
    data = data.melt(["model", "who"], [*SCORES], var_name="kind", value_name="score").dropna().reset_index(drop=True)
    data["kind"] = data["kind"].map(SCORES).map(say)
    # black is lost in the dark
    grey = alt.Legend(**ABOVE, symbolFillColor=NEUTRAL, symbolStrokeColor=NEUTRAL)
    looks = [
        legend_channel(alt.Color, "who", map(say, WHO), [RELEASED, REAL], legend=LEGEND),
        legend_channel(alt.Shape, "kind", measures, ["circle", "diamond"], legend=grey),
    ]
    return _scored(data, measures, looks, chance, "classifier")


def _scored(data: Any, kinds: Any, looks: Any, majority: float, case: str, title: str | None = None) -> Chart:
    """Draw scores per model and kind: a mark per run, the mean in figures, 95% t-intervals.

    `kinds` are the values of the column `kind` in their order, and `looks` their channels. `case`
    chooses the texts in `pictures.toml`, and `title` is that of the axis.
    """
    across = accuracies(majority) | {"title": title}
    low = across["scale"].domain[0]
    data["model"] = labels(data["model"].map(say))
    runs = data.groupby(["model", "kind"])["score"]
    mean, (least, most) = runs.transform("mean"), t_interval(runs)
    data = data.assign(mean=mean, low=least.clip(low), high=most.clip(low, 1))
    data = data.assign(shown=data["score"].clip(lower=low), text=[percent(share, ".1f") for share in mean])
    repeated = bool(data["low"].notna().any())
    plot = Plot("accuracy", across, names_axis(data["model"], paddingInner=0.2))
    lanes = alt.YOffset("kind:N", scale=alt.Scale(domain=kinds))
    tooltip = plot.tooltip if repeated else plot.tooltip[:3]
    last = data.groupby(["model", "kind"], sort=False)[["shown", "high"]].transform("max").max(axis=1)
    ends = data.assign(end=last).drop_duplicates(["model", "kind"])[["model", "kind", "end", "text"]]
    bars = plot(data, ("low", "high"), "model", lanes, looks[0])
    layers = [
        *([bars.mark_rule(strokeWidth=3)] if repeated else []),
        plot(data, "shown", "model", tooltip, lanes, *looks).mark_point(filled=True, size=120, opacity=0.85),
        end_labels(plot(ends, "end", "model", lanes), "end", "text", dx=11),
    ]
    scores = "; ".join(f"{one.model}, {one.kind}: {one.text}" for one in ends.itertuples()).replace("\n", " ")
    layers += [] if say(MAJORITY) in [*data["model"]] else _upright(plot, majority)
    cases = {"runs": repeated, "beyond": (data["score"] < low).any(), case: True}
    return present(layers, "accuracy", cases, low=100 * low, scores=scores)


def _upright(plot: Plot, majority: float) -> list[Any]:
    """Draw an upright rule at the accuracy of the majority class, with its name and value above."""
    name, text = {"align": "left", "dx": 4, "baseline": "bottom"}, f"{say(MAJORITY)} {majority:.1%}"
    return draw_rule(plot, majority, text, name, **DASHED) if math.isfinite(majority) else []


def redraws(frame: pd.DataFrame, *, references: pd.DataFrame | None = None, small: bool = True) -> Chart:
    """Draw the scores of repeated runs of a method, to show how much one release depends on chance.

    All are drawn on one axis from 0 to 1.

    Parameters
    ----------
    frame : DataFrame
        One row per metric and run: `metric`, `value` (0..1), `run`, `chosen` (bool: the release on
        the screen).
    references : DataFrame, optional
        Lines: `metric`, `label`, `value`.
    small : bool, default=True
        Whether numbers near 0 can be told apart; else all are shares.

    Returns
    -------
    alt.Chart
        The chart.
    """
    which = [say(OTHERS), say(HERE)]
    data = tidy(frame, ["run"], ["value"], said=["metric"])
    metrics = in_order(data["metric"])
    data["which"] = np.where(frame["chosen"].to_numpy(bool), *reversed(which))
    data = data.dropna(subset=["value"])
    data = data.iloc[np.argsort(data["which"] == which[1], kind="stable")]  # the release on top
    data["lane"] = data.groupby("metric").cumcount() * 0.618 % 1

    across, format_value, tip = (distances(""), "{:.3g}".format, ".4~g") if small else (shares(), percent, ".1%")
    plot = Plot("redraws", across, names_axis(metrics, padding=0.05) | {"axis": None})
    tooltip = tooltips("metric|metric", "run|run", f"value|value|{tip}", "which|this or another run")
    lanes = alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.55, 1.55]))
    looks = color_and_shape("which", which, [REAL, RELEASED], ["circle", "diamond"])
    looks.append(alt.SizeValue(80, condition={"test": f"datum.which == '{which[1]}'", "value": 260}))
    nothing = pd.DataFrame(columns=["metric", "label", "value"])
    known = tidy(nothing if references is None else references, [], ["value"], said=["metric", "label"]).dropna()
    known = known[known["metric"].isin(metrics)].reset_index(drop=True)
    known["text"] = [*map("{} {}".format, known["label"], map(format_value, known["value"]))]
    names = pd.DataFrame({"metric": metrics, "text": [_spread(data, metric, format_value) for metric in metrics]})
    look: Any = {"align": "left", "dy": 14 - ROW / 2, "fontWeight": "bold"}
    look["fontSize"] = alt.ExprRef("width < 400 ? 11 : 15")  # whole in a phone's chart
    rule: Any = {"shape": "stroke", "angle": 90, "size": 3600, "strokeWidth": 3, "color": INK, "opacity": 1}
    layers = [
        plot(known, "value", "metric", tooltips("text|baseline")).mark_point(**rule),
        plot(data, "value", "metric", tooltip, lanes, *looks).mark_point(filled=True, opacity=0.9),
        words(plot(names, XValue(0), "metric"), "text", **look),
        end_labels(plot(known, "value", "metric"), "value", "text", dx=2, dy=ROW / 2 - 14, fontSize=13),
    ]
    values: Any = {"runs": data["run"].nunique(), "metrics": "; ".join(names["text"]), "height": alt.Step(ROW)}
    return present(layers, "redraws", {"known": len(known)}, **values)


def _spread(data: pd.DataFrame, metric: str, shown: Callable[[float], str]) -> str:
    """Return a text: a metric, its value in the release shown, and the range of repeated runs.

    `shown` formats a value.
    """
    own = data[data["metric"] == metric].set_index("which")["value"]
    here, rest = own[own.index == say(HERE)].map(shown), own[own.index == say(OTHERS)]
    others = say("no other runs")
    if len(rest):
        others = say("other runs {low} to {high}", low=shown(rest.min()), high=shown(rest.max()))
    return say("{metric}: {values}", metric=metric, values=", ".join([*here, others]))


def axis_of(quantity: str, title: str, values: pd.Series, references: pd.DataFrame | None) -> ChartAxis | None:
    """Return the axis that a quantity has in all charts; None if it has none.

    `quantity` is "accuracy", empty (no such axis), or another name for a distance from 0 to 1. The
    axis is wide enough for `values` and `references`.
    """
    if quantity == "accuracy":
        known: Any = [] if references is None else references["value"]
        return accuracies(min([*known, *(values + BELOW)], default=0)) | {"title": say(title)}
    return distances(say(title)) if quantity else None


def run_strips(
    frame: pd.DataFrame, *, title: str, x_title: str, quantity: str = "", references: pd.DataFrame | None = None
) -> Chart:
    """Draw a mark per run in a row per method, ordered and labeled by median.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `name` (the row of the chart), `value`, `hollow` (bool), and maybe `note`,
        which stands behind a row's median.
    title, x_title : str
        The titles of the chart and of its axis.
    quantity : {"distance", "accuracy"}, optional
        What has the same axis in all charts; of other numbers, lower ones are better.
    references : DataFrame, optional
        Upright lines: `label`, `value`.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame.assign(hollow=frame["hollow"].astype(float)), ["name"], ["value", "hollow"])
    data = data.assign(note=[*frame["note"]] if "note" in frame else "").dropna()
    data["lane"] = data.groupby("name").cumcount() * 0.618 % 1
    written = percent if quantity == "accuracy" else "{:.3g}".format
    by_name = data.groupby(["name", "note"], sort=False)["value"]
    rows = by_name.agg(middle="median", least="min", most="max").reset_index()
    rows = rows.sort_values("middle", ascending=quantity != "accuracy")
    noted = zip(rows["middle"], rows["note"], strict=True)
    rows = rows.assign(text=[written(middle) + (note and f" · {note}") for middle, note in noted])
    plain_axis = scaled_axis(alt.Scale(zero=True), format="~g", tickCount=6) | {"title": say(x_title)}
    across = axis_of(quantity, x_title, data["value"], references) or plain_axis
    plot = Plot("run_strips", across, names_axis(rows["name"]))
    lanes = alt.YOffset("lane:Q", scale=alt.Scale(domain=[-0.6, 1.6]))
    marks: Any = {"size": 90, "color": RELEASED, "strokeWidth": 2, "opacity": 0.75}
    dots = []
    for hollow in (0, 1):
        points = plot(data[data["hollow"] == hollow], "value", "name", plot.tooltip, lanes)
        dots.append(points.mark_point(filled=not hollow, **marks))
    ticks = plot(rows, "middle", "name").mark_tick(thickness=3, color=INK, height={"band": 0.6})
    far = "scale('x', datum.most) + 20 + 8 * length(datum.text) > width"  # then left of the marks
    side = alt.ExprRef(f"{far} ? scale('x', datum.least) - scale('x', datum.most) - 12 : 12")
    look: Any = {"align": alt.ExprRef(f"{far} ? 'right' : 'left'"), "dx": side, "fontWeight": "bold"}
    medians = words(plot(rows, "most", "name").transform_calculate(text=MEDIAN), "text", **look)
    lines: list[Any] = []
    label: Any = {"align": "left", "dx": ASIDE, "baseline": "bottom", "fontSize": 13}
    for number, (name, at) in enumerate([] if references is None else references.itertuples(index=False)):
        lines += draw_rule(plot, at, f"{name} {written(at)}", label, YValue(-6 - 16 * (number % 2)), **DASHED)
    cases = {"hollow": data["hollow"].any(), "known": lines}
    return present([*lines, *dots, ticks, medians], "run_strips", cases, title=title)


def costs(frame: pd.DataFrame, *, majority: float = math.nan) -> Chart:
    """Draw the accuracy that random splits and noisy counts cost, down to the released trees.

    Each step shows what it changes: the best trees, then trees with splits chosen at random, then
    their noisy counts.

    Parameters
    ----------
    frame : DataFrame
        That of `tree_errors.noise_and_structure`, maybe of several runs, which are averaged:
        `step`, `accuracy` (0..1).
    majority : float, optional
        The most frequent class's share.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["step"], ["accuracy"]).dropna()
    best, middle, noisy = data.groupby("step")["accuracy"].mean().reindex([NOISELESS, MIDDLE, NOISY])
    rows = [(NOISELESS, best, best), (STRUCTURE, best, middle), (MIDDLE, middle, middle), (LEAVES, middle, noisy)]
    moves = pd.DataFrame([*rows, (NOISY, noisy, noisy)], columns=["row", "start", "stop"]).dropna()
    states = ~moves["row"].isin([STRUCTURE, LEAVES])
    change = (100 * (moves["stop"] - moves["start"])).round(1)
    points = [say("{sign}{size:.1f} percentage points", sign="+" if c >= 0 else "−", size=abs(c)) for c in change]
    moves["text"] = moves["stop"].map("{:.1%}".format).where(states, points)
    moves["end"], moves["row"] = moves[["start", "stop"]].max(axis=1), moves["row"].map(say)
    plot = Plot("costs", accuracies(majority), names_axis(moves["row"], paddingInner=0.2))
    own = alt.condition(f"datum.row === '{say(NOISY)}'", alt.value(RELEASED), alt.value(REAL))
    spans = plot(moves[~states], ("start", "stop"), "row", plot.tooltip)
    dots = plot(moves[states], "start", "row", tooltips("row|trees", "stop|accuracy|.2%"))
    layers = [
        spans.mark_bar(color=RELEASED, opacity=0.55, height={"band": 0.55}),
        dots.mark_point(filled=True, shape="diamond", size=210, opacity=1).encode(color=own),
        end_labels(plot(moves, "end", "row"), "end", "text", dx=12, fontWeight="bold"),
    ]
    return present([*layers, *_upright(plot, majority)], "costs")


def importance(frame: pd.DataFrame) -> Chart:
    """Draw the feature importance of the released trees' columns.

    Parameters
    ----------
    frame : DataFrame
        One row per column: `column`, `share` (0..1), as `Forest.importance` gives them.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["column"], ["share"]).dropna().sort_values("share", ascending=False, kind="stable")
    many = len(data)
    data = distinct(data.head(MOST_BARS).reset_index(drop=True), "column")
    data["text"] = data["share"].map("{:.1%}".format)
    plot = Plot("importance", shares(), names_axis(data["column"]))
    values: Any = {"most": MOST_BARS, "count": many, "height": step(data["column"], 26)}
    return present(bars(plot, data, "column", "share"), "importance", {"some|all": many > MOST_BARS}, **values)
