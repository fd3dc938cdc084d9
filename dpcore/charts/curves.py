"""A number against another, run by run: against epsilon, methods beside each other, and the lines beside them."""

from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import PICTURES, Chart, panels, present
from dpcore.charts.frames import breadth, in_order, t_interval, texts, tidy
from dpcore.charts.marks import Plot, XValue, color_and_shape, legend_channel, setting_rule, tooltips, words
from dpcore.charts.releases import axis_of
from dpcore.charts.scales import (
    CLAIMED,
    NEUTRAL,
    RELEASED,
    SERIES,
    SHAPES,
    ChartAxis,
    distances,
    epsilons,
    log_axis,
    log_scale,
    log_title,
    scaled_axis,
)
from dpcore.language import phrase, say
from dpcore.text import number

FEWEST_RUNS = 3
PUBLISHED, BASELINE = phrase("as published"), phrase("baseline")  # modes that are dashed and hollow
KINDS = {phrase("pairs"): RELEASED, phrase("columns"): SERIES[2]}  # of what is forecast
VARIANCE = phrase("variance across runs")

LINE, GAP = 15, 3  # pixels: of a name, and below it
# pixels: of a row of a legend on the narrowest screen, and of a letter there
LEGEND, LETTER = 860, 6.4
# pixels of a panel, less what its axis is rounded to; what a flat one is told as
HEIGHT, TINY = 270, 1e-12
PROMISES = PICTURES["compared"]
AXES = {"claimed": phrase("claimed epsilon"), "proved": phrase("epsilon proven at most")}


def curves(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    x_title: str,
    y_title: str,
    panel: str | None = None,
    mode: str | None = None,
    references: pd.DataFrame | None = None,
    log_x: bool = False,
    log_y: bool = False,
    y_axis: ChartAxis | None = None,
    center: Literal["mean", "median"] = "mean",
    interval: Literal["range", "t", "deciles"] = "range",
    same_y: bool = True,
    claimed_first: bool = False,
    among: list[str] | None = None,
    columns: int = 3,
    width: int = 230,
    height: int = 300,
    title: str = "",
    note: str = "",
    words: str = "curves",
) -> Chart:
    """Draw a number against another, per series.

    There is a mark per run, a line through the means and an interval per point. Each panel has its
    own chart; mode "as published" is dashed and hollow, any other solid and filled. Numbers that an
    axis cannot show (not finite, or <= 0 on a log scale) are left out.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `series` (up to 10, told apart by color and shape) and the columns that
        `x`, `y`, `panel` and `mode` name.
    x, y : str
        The columns of the numbers.
    x_title, y_title : str
        What the axes call them.
    panel, mode : str, optional
        The columns that tell panels and modes apart.
    references : DataFrame, optional
        Lines: the column that `panel` names, `label`, `value`, and maybe `claimed` (bool: a figure
        that a paper states, in orange).
    log_x, log_y : bool, default=False
        Whether the axes are log scales.
    y_axis : dict, optional
        Title, scale and look of the upright axis, where a quantity has the same one everywhere.
    center : {"mean", "median"}, default="mean"
        What the line goes through.
    interval : {"range", "t", "deciles"}, default="range"
        From the lowest to the highest run; or a 95% t-interval of the mean, or from the 10% to the
        90% quantile of the runs, which fewer than `FEWEST_RUNS` do not have: of two, the first is
        13 standard errors wide. Few series without modes have it as bands, others as bars.
    same_y : bool, default=True
        Whether all panels share one y axis.
    claimed_first : bool, default=False
        Whether the first series is a paper's claim, and orange; otherwise none is.
    among : list of str, optional
        All series of the charts that stand together.
    columns : int, default=3
        The most panels in a row.
    width, height : int
        The pixels of a panel.
    title : str, optional
        The title.
    note : str, optional
        What stands below the key.
    words : str, default="curves"
        Whose title and key are said.

    Returns
    -------
    alt.Chart
        The chart.
    """
    shown = ((frame[x] > 0) | (not log_x)) & ((frame[y] > 0) | (not log_y))
    data = _runs(frame[shown], x, y, panel, mode, interval)
    if log_y and len(data):
        data["low"] = data["low"].clip(lower=data["value"].min())
    written = number if x_title.startswith("epsilon") else "{:,.4g}".format
    x_title, y_title = say(x_title), say(y_title)
    data["at"] = [f"{x_title} {written(position)}" for position in data["x"]]
    banded, few = _banded(data), interval != "range" and not data["low"].notna().any()
    data = data.assign(label="", rule=0, claimed=0.0, names="", lift=0)
    if references is not None:
        rules = _level_rows(references, panel, data, log=log_y, shared=same_y, scale=y_axis and y_axis["scale"])
        data = pd.concat([data, rules.assign(series="", mode="")], ignore_index=True)

    most = data["names"].map(lambda names: names.count("\n") + 1 if names else 0).max() if len(data) else 0
    room = 10 + LINE * int(most)  # where the highest line has its names, below the legend
    up = scaled_axis(alt.Scale(zero=False, padding=room), tickCount=6)
    if log_y:
        up = scaled_axis(log_scale(room), format="~g", tickCount=5)
    plot = Plot("curves", _across(data, x_title, log_x), y_axis or up | {"title": log_title(y_title, log_y)})
    runs = _curves(plot, data, center=center, first=0 if claimed_first else 1, among=among, banded=banded)
    lines, names = _levels(plot, data)
    layers = alt.layer(lines, *runs, names) if data["rule"].any() else alt.layer(*runs)

    picture = panels(layers, "panel", in_order(data["panel"]), columns, width, height)
    if isinstance(picture, alt.FacetChart) and not same_y:
        picture = picture.resolve_scale(y="independent")
    values: Any = {"title": title, "measure": y_title[:1].upper() + y_title[1:], "setting": x_title}
    values |= {"fewest": FEWEST_RUNS, "spread": say(PICTURES["curves"][interval])}
    cases = {center: True, "few" if few else "bands|bars": few or banded}
    cases["claimed"] = bool((data["claimed"] > 0).any())
    return present(picture, words, cases, note=note, **values)


def sweep(frame: pd.DataFrame, *, variance: bool = False, width: int = 270, **look: Any) -> Chart:
    """Draw a metric against epsilon: a dot per run, a line of means per series, a panel per model.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `epsilon` (>= 0), `series` (such as "paper"), `model`, and `value`.
    variance : bool, default=False
        Whether the variance of `value` across runs is drawn in its place, which a single run does
        not have.
    width : int, default=270
        The pixels of a panel.
    **look
        More of `curves`: the metric's `y_title`, and as `references` what has no epsilon, or an
        infinite one (`model`, `label`, `value`).

    Returns
    -------
    alt.Chart
        The chart.
    """
    if variance:
        frame = frame.groupby(["model", "series", "epsilon"], sort=False)["value"].var().dropna().reset_index()
        axis = scaled_axis(alt.Scale(), format="~g", tickCount=6) | {"title": say(VARIANCE)}
        look |= {"y_title": VARIANCE, "y_axis": axis, "words": "sweep_variance"}
    look |= {"x": "epsilon", "x_title": "epsilon", "log_x": not (frame["epsilon"] == 0).any()}
    look |= {"panel": "model", "columns": 2, "claimed_first": True, "width": width}
    return curves(frame[frame["epsilon"] >= 0], y="value", **look)


def _runs(frame: pd.DataFrame, x: str, y: str, panel: str | None, mode: str | None, interval: str) -> pd.DataFrame:
    """Return the runs as `series`, `panel`, `mode`, `x`, `value`, `low`, `high` and `aside`.

    `x`, `y`, `panel` and `mode` name the columns of `frame`. `low` to `high` is the interval of the
    runs at one point, of the kind `interval` ("range", "t" or "deciles"), and `aside` the
    horizontal offset in pixels.
    """
    rows = pd.DataFrame({"series": frame["series"], "x": frame[x], "value": frame[y]})
    rows = rows.assign(panel=frame[panel] if panel else "", mode=frame[mode] if mode else "")
    names = ["series", "panel", "mode"]
    data = tidy(rows, [], ["x", "value"], said=names).dropna().reset_index(drop=True)
    points = data.groupby([*names, "x"], sort=False)["value"]
    low, high = points.transform("min"), points.transform("max")
    if interval == "t":
        low, high = t_interval(points)
    if interval == "deciles":
        low, high = (points.transform("quantile", end) for end in (0.1, 0.9))
    enough = (points.transform("size") >= FEWEST_RUNS) | (interval == "range")
    return data.assign(low=low.where(enough), high=high.where(enough), aside=_asides(data))


def _asides(data: pd.DataFrame) -> pd.Series:
    """Return each line's horizontal offset in pixels, so that marks at one x do not overlap.

    Runs of one series and mode have the same offset.
    """
    position = data.groupby(["series", "mode"], sort=False).ngroup()
    gap = min(6.0, (12 if _banded(data) else 20) / max(1, position.max())) if len(data) else 0.0
    return gap * (position - position.max() / 2)


def _banded(data: pd.DataFrame) -> bool:
    """Return whether intervals are drawn as bands; many bands would hide each other."""
    return bool(data["series"].nunique() <= 4 and data["mode"].nunique() <= 1)


def _across(data: pd.DataFrame, title: str, log: bool) -> ChartAxis:
    """Return the horizontal axis, of the parameter that varies.

    If the title says that this is epsilon, it is the axis of epsilons of all charts.
    """
    x_values, own = sorted(data["x"].dropna().unique()), {"title": log_title(title, log)}
    if title in map(say, AXES.values()):
        return epsilons(x_values, labelOverlap="greedy") | own
    scale = alt.Scale(type="log" if log else "linear", padding=18, nice=False, zero=alt.Undefined if log else False)
    ticks = x_values if 0 < len(x_values) <= 10 else alt.Undefined
    digits = "~g" if max(x_values, default=0) < 1000 else ",.3~r" if min(x_values) < 1 else ",.0f"
    return scaled_axis(scale, format=digits, labelOverlap="greedy", values=ticks) | own


def _curves(
    plot: Plot, data: pd.DataFrame, *, center: str, first: int, among: Any, banded: bool, dashed: str = PUBLISHED
) -> list[Any]:
    """Draw lines through the centers, intervals, and a mark per row.

    `center` is "mean" or "median". `first` is the position of the first series' color and shape: 0
    is that of a paper's claim, 1 the next. `among` has all series of the charts that stand
    together, so that colors agree. Intervals are bands if `banded`, otherwise bars. Of several
    modes the one named `dashed` has a dashed line and hollow marks.
    """
    runs, middle = data[data["rule"] < 1], f"{center}(value)"
    here, modes = in_order(runs["series"]), in_order(runs["mode"])
    names, published = [*map(say, among)] if among else here, say(dashed)
    # the legend of modes stands beside that of series
    row = max(1, min(5, int((LEGEND - 220 * (len(modes) > 1)) / (25 + LETTER * max(map(breadth, names), default=0)))))
    legend = alt.Legend(symbolOpacity=1, columns=row if len(names) > row else alt.Undefined, values=here)
    color, shape = color_and_shape("series", names, SERIES[first:], SHAPES[first:], legend=legend)
    tooltip = plot.tooltip_of(runs if len(modes) > 1 else runs.drop(columns="mode"))
    kinds = (("min(low)", "max(high)"), color), (middle, color), ("value", tooltip, color, shape), (middle,)
    spread, line, dots, text = (plot(data, "x", *kind).transform_filter("datum.rule < 1") for kind in kinds)
    move = {"xOffset": alt.ExprRef("datum.aside")}
    look: Any = {"size": 75, "opacity": 0.75, **move}
    if banded:
        layers = [spread.mark_area(opacity=0.18), line.mark_line(strokeWidth=2.5)]
        layers.append(dots.mark_point(filled=True, **look))
        alone = center == "median" and len(here) == len(modes) == 1
        return [*layers, *[words(text, middle, ".3~g", dy=-16, fontWeight="bold")] * alone]
    spread, line = (each.encode(detail=["aside:Q", "mode:N"]) for each in (spread, line))
    if len(modes) > 1:
        dashes = [[6, 4] if name == published else [1, 0] for name in modes]
        line = line.encode(legend_channel(alt.StrokeDash, "mode", modes, dashes, legend=alt.Legend(symbolSize=600)))
    layers = [spread.mark_rule(strokeWidth=1.5, opacity=0.6, **move), line.mark_line(strokeWidth=2, **move)]
    hollow = dots.transform_filter(f"datum.mode == '{published}'").mark_point(filled=False, strokeWidth=2, **look)
    full = dots.transform_filter(f"datum.mode != '{published}'").mark_point(filled=True, **look)
    return [*layers, *[hollow] * (published in modes), full]


def _level_rows(
    references: pd.DataFrame, panel: str | None, data: pd.DataFrame, *, log: bool, shared: bool, scale: Any
) -> pd.DataFrame:
    """Return the rows for `_levels`: `panel`, `label`, `value`, `claimed`, `rule`, `names`, `lift`.

    `references`: the column that `panel` names, `label`, `value`, and maybe `claimed`. `data`: the
    panels' rows: `panel`, `value`. `log`: whether the upright axis is a log scale. `shared`: all
    panels have one axis, whose `scale` may be known. Lines with no room for a name between them are
    named together, above the highest of them and in their order. `lift`: pixels from the line to
    the first name.
    """
    drawn = references.assign(panel=references[panel] if panel else "", claimed=references.get("claimed", False))
    rows = tidy(drawn, [], ["value", "claimed"], said=["panel", "label"]).dropna()
    rows = rows.sort_values("value", ascending=False)
    rows = rows[rows["panel"].isin(data["panel"]) & ((rows["value"] > 0) | (not log))]
    every = pd.concat([rows[["panel", "value"]], data[["panel", "value"]]])
    along, shown = (np.log(rows["value"]), np.log(every["value"])) if log else (rows["value"], every["value"])
    ends = shown.groupby(every["panel"])
    span = float(shown.max() - shown.min()) if shared else rows["panel"].map(ends.max() - ends.min())
    if scale:
        along, (low, high) = (np.sqrt(rows["value"]), [0, 1]) if scale.type == "sqrt" else (along, scale.domain)
        span = high - low
    down = -HEIGHT * along / np.maximum(span, TINY)
    rows = rows.assign(pile=down.groupby(rows["panel"]).transform(stack_labels))
    piles = rows.groupby(["panel", "pile"])
    many, first = piles["label"].transform("size"), piles.cumcount() == 0
    names = piles["label"].transform("\n".join).where(first, "")
    return rows.assign(rule=1, names=names, lift=-GAP - LINE * (many - 1)).drop(columns="pile")


def stack_labels(down: pd.Series) -> list[int]:
    """Return, for each line, the number of the stack of labels that its label is in.

    `down` has the lines' positions in pixels from the top, ascending. Labels of lines that are too
    close to each other share a stack, which stands above the highest of these lines.
    """
    piles: list[list[float]] = []
    for position in down:
        piles.append([position])
        while len(piles) > 1 and piles[-1][0] - GAP - LINE * len(piles[-1]) < piles[-2][-1]:
            piles[-2:] = [piles[-2] + piles[-1]]
    return [number for number, pile in enumerate(piles) for _ in pile]


def _levels(plot: Plot, data: pd.DataFrame) -> tuple[Any, Any]:
    """Draw the level lines that `_level_rows` returned as `data`, and their names."""
    kinds = (None, "value", tooltips("label|baseline", "value|value|.4~g")), (XValue(4), "value")
    rules, names = (plot(data, *kind).transform_filter("datum.rule > 0") for kind in kinds)
    color = alt.ColorValue(NEUTRAL, condition={"test": "datum.claimed > 0", "value": CLAIMED})
    look: Any = {"align": "left", "baseline": "bottom", "dy": alt.ExprRef("datum.lift"), "fontSize": 13}
    lines = rules.mark_rule(strokeDash=[2, 3], strokeWidth=1.5).encode(color)
    return lines, words(names, "names", **look, lineBreak="\n", lineHeight=LINE)


def comparison_chart(
    frame: pd.DataFrame,
    *,
    title: str,
    y_title: str,
    data: str,
    x: Literal["claimed", "proved"] = "claimed",
    local: tuple[str, ...] = (),
    references: pd.DataFrame | None = None,
    log_y: bool = False,
    quantity: str = "",
    names: list[str] | None = None,
) -> Chart:
    """Draw a mark per run, a line of medians and an interval per method, against epsilon.

    "As printed" is dashed and hollow. All runs must have one relation, because epsilons of two mean
    different things. Runs without a finite epsilon > 0 on the axis are left out.

    Parameters
    ----------
    frame : DataFrame
        One row per run: `series` (the method, up to 10), `mode`, the epsilon that `x` says
        (`epsilon_claimed` or `epsilon_bound`), `relation` (in words), `value`.
    title, y_title : str
        The titles of the chart and of its upright axis.
    data : str
        The data set's name.
    x : {"claimed", "proved"}, default="claimed"
        Which epsilon is on the axis.
    local : tuple of str, optional
        Series in which people randomize their own answers; the key says that their epsilon is
        another promise.
    references : DataFrame, optional
        Lines: `label`, `value`.
    log_y : bool, default=False
        Whether the upright axis is a log scale.
    quantity : {"distance", "accuracy"}, optional
        What has the same upright axis in all charts.
    names : list of str, optional
        All methods of the comparison, so that each keeps its color and shape from chart to chart.

    Returns
    -------
    alt.Chart
        The chart.

    Raises
    ------
    ValueError
        If the runs have several relations.
    """
    relations = frame["relation"].unique()
    if len(relations) > 1:
        raise ValueError("epsilons of two relations do not belong on one axis")
    column = "epsilon_bound" if x == "proved" else "epsilon_claimed"
    shown = frame[np.isfinite(frame[column].to_numpy(dtype=float)) & (frame[column] > 0)]
    look: Any = {"y_title": y_title, "title": title, "references": references, "log_x": True, "log_y": log_y}
    look |= {"y_axis": axis_of(quantity, y_title, shown["value"], references)}
    look |= {"mode": "mode", "center": "median", "interval": "deciles", "among": names and list(texts(names))}
    at_hand = [name for name in in_order(shown["series"]) if name in local]
    alone = bool(at_hand) and len(at_hand) == shown["series"].nunique()
    cases = ["local"] if alone else ["any", *["both"] * bool(at_hand)]
    neighbors = [say("neighbors: {relation}", relation=say(relation)) for relation in relations]
    values: Any = {"which": ", ".join(texts(at_hand)), "name": texts([data])[0]}
    values["relation"] = "".join(neighbors) or say("no run has finished")
    note = " ".join(say(PROMISES[case], **values) for case in [*cases, "data"])
    return curves(shown, x=column, y="value", x_title=AXES[x], note=note, height=235, **look)


def forecast_bands(frame: pd.DataFrame, *, epsilon: float, low: float, high: float) -> Chart:
    """Draw the forecast of column and pair errors, a 90% band each, against epsilon.

    Parameters
    ----------
    frame : DataFrame
        One row per epsilon and kind: `of` ("columns" or "pairs"), `epsilon`, and as shares `low`,
        `middle`, `high`.
    epsilon : float
        The one that is chosen, where a line stands.
    low, high : float
        The ends of the log axis of epsilon.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["epsilon", "low", "middle", "high"], said=["of"]).dropna()
    ends = ["low", "middle", "high"]
    data[ends] = data[ends].clip(0, 1)
    plot = Plot("forecast_bands", epsilons([low, high]), distances(say("error in percentage points"), 100))
    color = legend_channel(alt.Color, "of", map(say, KINDS), KINDS.values(), legend=alt.Legend(symbolOpacity=1))
    layers = [
        plot(data, "epsilon", ("low", "high"), plot.tooltip, color).mark_area(opacity=0.3),
        plot(data, "epsilon", "middle", plot.tooltip, color).mark_line(strokeWidth=3, point=True),
        setting_rule(plot, min(max(epsilon, low), high), tooltips("at|chosen epsilon")),
    ]
    return present(layers, "forecast_bands", low=low, high=high, epsilon=epsilon)


def error_by_range(frame: pd.DataFrame, *, title: str = "") -> Chart:
    """Draw mean absolute errors of range queries against the size of the range: a line per release.

    Both axes are log scales. Errors of 0 are left out, as a log scale cannot show them.

    Parameters
    ----------
    frame : DataFrame
        That of `evaluate.errors_by_query_size`, of up to 10 releases, and maybe `baseline` (bool):
        dashed lines.
    title : str, optional
        The title.

    Returns
    -------
    alt.Chart
        The chart.
    """
    named = {"release": "series", "size": "x", "absolute": "value", "absolute_low": "low", "absolute_high": "high"}
    data = tidy(frame.rename(columns=named), [], ["x", "queries", "value", "low", "high"], said=["series", "bin"])
    baseline = frame["baseline"].to_numpy(bool) if "baseline" in frame else np.zeros(len(frame), dtype=bool)
    data = data.assign(mode=np.where(baseline, say(BASELINE), say("method")), rule=0)
    data = data[(data["value"] > 0) & (data["x"] > 0)].reset_index(drop=True)
    data = data.assign(low=data["low"].clip(lower=data["value"].min() / 2), aside=_asides(data))
    plot = Plot("error_by_range", log_axis(24, data["x"]), log_axis(10, data[["value", "low", "high"]]))
    layers = _curves(plot, data, center="mean", first=1, among=None, banded=False, dashed=BASELINE)
    cases = {"intervals": data["low"].notna().any(), "baselines": baseline.any()}
    return present(layers, "error_by_range", cases, title=title)
