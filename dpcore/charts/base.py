"""What the charts share: colors, honest data frames, marks, titles, and the lines that results are measured against."""

import hashlib
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

REAL, RELEASED, CLAIMED, NEUTRAL = "#808080", "#1f77d4", "#c2571a", "#787878"
# Letters as dark or as bright as the theme's, which marks and subtitles do not take from it by themselves.
INK = alt.ExprRef("luminance(background) < 0.2 ? '#f5f5f5' : '#1a1a1a'")
FADED = alt.ExprRef("luminance(background) < 0.2 ? '#b4bac4' : '#5a606a'")
SERIES = [CLAIMED, RELEASED, "#2a8a4a", "#a05ab4", "#d13b6a", "#0d8a94", "#8d7316", "#6b6be0", "#c43bc4", "#96705c"]
SERIES += ["#6f8f1a"]  # the first color and shape are for a claim
_STAR = "M0,-1L.29,-.4L.95,-.31L.48,.15L.59,.81L0,.5L-.59,.81L-.48,.15L-.95,-.31L-.29,-.4Z"
_SAW = "M-1,-.9L0,-.35L1,-.9L1,.9L0,.35L-1,.9Z"
SHAPES = ["circle", "diamond", "triangle-up", "square", "triangle-down", "cross", "triangle-right", "triangle-left"]
_CROSSED = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
SHAPES += [_STAR, _SAW, _CROSSED]
REAL_DATA = "⚠ Uses real data: do not publish"
NO_TIP = alt.TooltipValue(None)  # like all channels here an object: Altair is slow to find one for a text or a dict
SPREADS = {  # what an interval of runs shows
    "range": "the lowest and highest run",
    "t": "95% t-intervals of the mean",
    "deciles": "from the 10% to the 90% quantile of the runs",
}
MOST_VALUES, MOST_ENTRIES, MOST_NUMBERED, MOST_NAMED = 40, 20, 15, 60


def texts(column: Iterable[object]) -> pd.Series:
    """Values as text that can be seen."""
    missing = (value is None or value is pd.NA or value != value for value in column)
    shown = (" ".join(str(value).split()) or "(empty)" for value in column)
    return pd.Series(["(missing)" if gone else text for gone, text in zip(missing, shown, strict=True)], dtype=object)


def short(name: str) -> str:
    """A name of at most 40 characters."""
    text = str(texts([name])[0])
    return text if len(text) <= 40 else text[:39] + "…"


def in_order(labels: Iterable[Any]) -> list[str]:
    """Every label once, in the order in which they come."""
    return list(dict.fromkeys(labels))


def as_listed(labels: Iterable[str]) -> alt.Scale:
    """A scale in the order of these names. Without it new data come into a drawn chart in the order of the old ones."""
    return alt.Scale(domain=in_order(labels) or alt.Undefined)


def distinct(data: pd.DataFrame, label: str) -> pd.DataFrame:
    """Equal labels told apart, because an axis would draw them in one place."""
    again = data.groupby(label).cumcount()
    return data.assign(**{label: data[label].where(again == 0, data[label] + " (" + (again + 1).astype(str) + ")")})


def tidy(frame: pd.DataFrame, text: Sequence[str], numbers: Sequence[str]) -> pd.DataFrame:
    """These columns only, with a new index; numbers that are not finite are missing."""
    values = {name: frame[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    finite = {name: pd.Series(np.where(np.isfinite(value), value, np.nan)) for name, value in values.items()}
    return pd.DataFrame({name: texts(frame[name]) for name in text} | finite)


def fold(data: pd.DataFrame, label: str, weight: pd.Series, most: int) -> pd.DataFrame:
    """The `most` heaviest rows in their order, then one row that sums the others; labels are distinct."""
    keep = data.index.isin(weight.nlargest(most).index)
    if not keep.all():
        others = {label: f"({(~keep).sum():,} others)", **data[~keep].select_dtypes("number").sum()}
        data = pd.concat([data[keep], pd.DataFrame([others])], ignore_index=True)
    return distinct(data, label)


def largest(values: Iterable[float], at_least: float) -> float:
    """The largest number, or `at_least`."""
    return float(np.nanmax([at_least, *values]))


def apart(wish: list[float], sides: list[tuple[float, float]], low: float, high: float) -> list[float]:
    """The places nearest to the wishes that keep the order and the distances, inside low..high."""
    lefts, rights = np.transpose(sides)
    offset = np.concatenate([[0.0], np.cumsum(lefts[1:] + rights[:-1])])
    room = max(high - low - lefts[0] - rights[-1], 0.0)
    offset *= min(1.0, room / offset[-1]) if offset[-1] else 1.0
    pools: list[tuple[float, int]] = []  # isotonic regression: neighbors that would overtake each other share a mean
    for value in np.asarray(wish) - offset:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, m), (a, n) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    means = np.concatenate([[mean] * count for mean, count in pools])
    return list(np.clip(means, low + lefts[0], max(high - rights[-1] - offset[-1], low + lefts[0])) + offset)


def t_quantile(freedom: int) -> float:
    """Student's t that 97.5 % of the draws stay below, to 3 digits; NaN without a degree of freedom."""
    few = [math.nan, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622]
    return few[freedom] if freedom < len(few) else 1.95996 + 2.3723 / freedom + 2.8225 / freedom**2 + 2.56 / freedom**3


def tooltips(*lines: str) -> list[alt.Tooltip]:
    """A tooltip's lines, each "field|title" or "field|title|number format". The titles are always ours."""
    return [
        alt.Tooltip(f"{field}:{'Q' if number else 'N'}", title=title, format=number[0] if number else alt.Undefined)
        for field, title, *number in (line.split("|") for line in lines)
    ]


def color_and_shape(field: str, names: list[str], colors: list[str], shapes: list[str], **options: Any) -> list[Any]:
    """Color and shape for a few kinds of marks, under one legend."""
    options = {"title": None} | options
    if "legend" not in options:
        options["legend"] = alt.Legend(symbolOpacity=1)  # as clear as the clearest layer
    channels: tuple[tuple[Any, list[str]], ...] = ((alt.Color, colors), (alt.Shape, shapes))
    return [channel(f"{field}:N", scale=alt.Scale(domain=names, range=look), **options) for channel, look in channels]


def diamonds(base: alt.Chart, color: str) -> Any:
    """What marks a true or printed value."""
    return base.mark_point(shape="diamond", filled=True, size=150, color=color, opacity=1)


def panels(chart: Any, field: str, names: list[str], *, columns: int, width: int, height: int) -> Any:
    """One chart as wide as its container, or a panel of `width` per name."""
    if len(names) <= 1:
        return chart.properties(height=height + 150)  # what fits its container counts the title as well
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelAnchor="start", labelLimit=width)
    facet = alt.Facet(f"{field}:N", sort=names, header=header)
    panels = chart.properties(width=width, height=height).facet(facet=facet, columns=columns)
    return panels.resolve_scale(x="independent" if columns == 1 else "shared")


def present(chart: Any, title: str, *, seen: str, key: str = "", **size: Any) -> Chart:
    """Title, key, alternative text, size, and letters that can be read from the last row."""
    if not isinstance(chart, alt.FacetChart):
        size = {"width": "container"} | size
    look: Any = {"anchor": "start", "offset": 16, "fontSize": 18, "subtitleFontSize": 15, "subtitlePadding": 6}
    heading = alt.TitleParams(textwrap.wrap(title, 66), subtitle=textwrap.wrap(key, 76), subtitleColor=FADED, **look)
    margin = {"left": 4, "right": 14, "top": 4, "bottom": 8}
    chart = chart.properties(title=heading, description=seen, padding=margin, **size)
    letters: Any = {"labelFontSize": 14, "titleFontSize": 14, "labelLimit": 230}
    chart = chart.configure_axis(**letters, titleLimit=400, labelFlush=False)
    chart = chart.configure_legend(**letters, orient="top", gradientLength=220)
    # A line as a whole has no words of its own: who listens hears the description, and the marks of its points.
    presented: Chart = chart.configure_line(aria=False).configure_area(aria=False)
    return presented


def mark_real(chart: Chart) -> Chart:
    """The same chart with the mark "uses real data: do not publish" as the last line of its title, once."""
    title: Any = getattr(chart, "title")  # noqa: B009 - Altair does not type it
    if REAL_DATA in title.text:
        return chart
    title = title.copy()
    title.text = [*title.text, REAL_DATA]
    return chart.properties(title=title, description=f"{chart.description} {REAL_DATA}.")


def specification(chart: Chart) -> dict[str, Any]:
    """A chart as Vega-Lite: the one conversion, for screens and for reports.

    What Altair converts tables with, and the theme it adds, are set for all threads at once: while one session's chart
    is converted with them, another's writes into its tables. Here neither is asked: tables are named before, and an
    inner chart gets no theme. The schema is not checked; that takes as long again, and tests do it.

    Returns
    -------
    dict
        With the chart's tables as DataFrames under "datasets", by names that follow from what is in them.
    """
    tables: dict[str, pd.DataFrame] = {}
    inner = {"top_level": False, "datasets": tables}
    converted: dict[str, Any] = named(chart, tables).to_dict(validate=False, context=inner)
    return {"$schema": alt.SCHEMA_URL, **converted, "datasets": tables}


def named(chart: Any, tables: dict[str, pd.DataFrame]) -> Any:
    """The same chart with names in place of its tables, which are put into `tables`."""
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        name = "data-" + hashlib.sha256(copy.data.to_json(orient="split").encode()).hexdigest()[:32]
        tables[name], copy.data = copy.data, alt.NamedData(name)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [named(part, tables) for part in copy.layer]
    elif isinstance(copy, alt.FacetChart):
        copy.spec = named(copy.spec, tables)
    return copy


LINE, GAP = 15, 3  # pixels: of a name, and below it
HEIGHT, TINY = 270, 1e-12  # pixels of a panel, less what its axis is rounded to; what a flat one is told as


def upright(text: str, value: float | None, align: Any) -> list[Any]:
    """An upright rule at an accuracy, with its name and value above it."""
    if value is None or not math.isfinite(value):
        return []
    base = alt.Chart(pd.DataFrame({"accuracy": [value], "label": [f"{text} {value:.1%}"]})).encode(
        alt.X("accuracy:Q", title="accuracy"), tooltip=tooltips("label|reference")
    )
    label = base.mark_text(color=NEUTRAL, align=align, dx=-4 if align == "right" else 4, fontSize=13, baseline="bottom")
    rule = base.mark_rule(color=NEUTRAL, strokeDash=[6, 4], strokeWidth=2)
    return [rule, label.encode(y=alt.value(-4), text="label:N")]


def level_rows(
    references: pd.DataFrame, panel: str | None, data: pd.DataFrame, *, log: bool, shared: bool
) -> pd.DataFrame:
    """Rows for `levels`: `panel`, `label`, `value`, `claimed`, `rule` (1), `names` and `lift`.

    `references`: the column that `panel` names, `label`, `value`, and maybe `claimed`. `data`: the panels' rows:
    `panel`, `value`. `shared`: all panels have one axis. Lines with no room for a name between them are named together,
    above the highest of them and in their order. `lift`: pixels from the line to the first name.
    """
    drawn = references.assign(panel=references[panel] if panel else "", claimed=references.get("claimed", False))
    rows = tidy(drawn, ["panel", "label"], ["value", "claimed"]).dropna().sort_values("value", ascending=False)
    rows = rows[rows["panel"].isin(data["panel"]) & ((rows["value"] > 0) | (not log))]
    every = pd.concat([rows[["panel", "value"]], data[["panel", "value"]]])
    along, shown = (np.log(rows["value"]), np.log(every["value"])) if log else (rows["value"], every["value"])
    ends = shown.groupby(every["panel"])
    span = float(shown.max() - shown.min()) if shared else rows["panel"].map(ends.max() - ends.min())
    down = -HEIGHT * along / np.maximum(span, TINY)
    rows = rows.assign(pile=down.groupby(rows["panel"]).transform(piled))
    piles = rows.groupby(["panel", "pile"])
    many, first = piles["label"].transform("size"), piles.cumcount() == 0
    names = piles["label"].transform("\n".join).where(first, "")
    return rows.assign(rule=1, names=names, lift=-GAP - LINE * (many - 1)).drop(columns="pile")


def piled(down: pd.Series) -> list[int]:
    """The pile of each line, by how far down it is in pixels, ascending: names are clear of the lines above them."""
    piles: list[list[float]] = []
    for place in down:
        piles.append([place])
        while len(piles) > 1 and piles[-1][0] - GAP - LINE * len(piles[-1]) < piles[-2][-1]:
            piles[-2:] = [piles[-2] + piles[-1]]
    return [number for number, pile in enumerate(piles) for _ in pile]


def levels(base: alt.Chart) -> tuple[Any, Any]:
    """The lines of `level_rows`, and their names; `base` has the axis."""
    base = base.encode(color=alt.condition("datum.claimed > 0", alt.value(CLAIMED), alt.value(NEUTRAL)))
    lines = base.transform_filter("datum.rule > 0").mark_rule(strokeDash=[2, 3], strokeWidth=1.5)
    lines = lines.encode(tooltip=tooltips("label|reference", "value|value|.4~g"))
    look: Any = {"align": "left", "baseline": "bottom", "dy": alt.ExprRef("datum.lift"), "fontSize": 13}
    names = base.transform_filter("datum.rule > 0").mark_text(**look, lineBreak="\n", lineHeight=LINE)
    return lines, names.encode(x=alt.value(4), text=alt.Text("names:N"), tooltip=NO_TIP)
