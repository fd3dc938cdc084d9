"""What charts are put together from: places on two axes, keys, tooltips, and the marks that several of them draw."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import PICTURES
from dpcore.charts.frames import LETTER
from dpcore.charts.scales import INK, MIDDLE, NEUTRAL, RELEASED, ChartAxis, span
from dpcore.language import say

XValue: Any = alt.XValue  # a place in pixels, as a channel
YValue: Any = alt.YValue
UPPER = YValue(-4)  # above the upper end of an upright line
CHANNELS = (alt.X, alt.X2, alt.X2Datum), (alt.Y, alt.Y2, alt.Y2Datum)
Look = tuple[Any, list[int], float]  # of a line: color, dashes, width
NO_TIP = alt.TooltipValue(None)  # like all channels here an object: Altair is slow to find one for a text


class Plot:
    """A picture's two axes, with titles and styles from `pictures.toml`, and its tooltips.

    `picture` is the name of its table there. An axis is given as a scale or as a `ChartAxis`.
    `values` replace names in braces in the titles.
    """

    def __init__(self, picture: str, x: Any, y: Any, **values: Any) -> None:
        own = PICTURES.get(picture, {})
        self.tooltip = tooltips(*own.get("tooltip", []))
        self.axes = [_axis(given, own.get(side, {}), values) for side, given in (("x", x), ("y", y))]

    def __call__(self, rows: Any, x: Any = "x", y: Any = "y", *channels: Any) -> Any:
        """Return a chart of rows at their x and y fields, or between two fields if a pair is given.

        In place of a field there may be None, a number in a pair, or a channel such as `YValue`.
        Without a tooltip the chart has none.
        """
        found: list[Any] = [] if any(isinstance(channel, list) for channel in channels) else [NO_TIP]
        for field, axis, (start, end, fixed) in zip((x, y), self.axes, CHANNELS, strict=True):
            first, *last = field if isinstance(field, tuple) else (field,)
            kind = axis["type"][0].upper()  # said beside the field, or Altair guesses it from the rows
            found += [start(f"{first}:{kind}", **axis) if isinstance(first, str) else first] if first else []
            found += [(end if isinstance(other, str) else fixed)(other) for other in last]
        return alt.Chart(rows).encode(*found, *channels)

    def tooltip_of(self, rows: pd.DataFrame) -> list[alt.Tooltip]:
        """Return the tooltips of the fields that the rows have."""
        known = {*(rows.columns[rows.notna().any()] if len(rows) else rows)}
        return [tip for tip in self.tooltip if tip.shorthand[:-2] in known]


def _axis(given: Any, own: ChartAxis, values: dict[str, Any]) -> ChartAxis:
    """Combine an axis's settings from the code, `given`, with those from `pictures.toml`, `own`.

    `values` replace names in braces in the title.
    """
    axis: ChartAxis = {"type": "quantitative", "title": say(own.get("title", ""), **values) or None}
    axis |= given if isinstance(given, dict) else {"scale": given}
    if axis.setdefault("axis", {}) is not None:
        axis["axis"] = alt.Axis(**{name: look for name, look in own.items() if name != "title"} | axis["axis"])
    return axis


def canvas(width: float, height: float, picture: str = "") -> Plot:
    """Return a plot whose fields `x` and `y` are pixels from the upper left corner."""
    across, down = (span(*ends, zero=False) for ends in ((0, width), (height, 0)))
    return Plot(picture, {"scale": across, "axis": None}, {"scale": down, "axis": None})


def icons(picture: str) -> Plot:
    """Return a plot of a grid of icons at whole-number positions `x` and `y`."""
    return Plot(picture, *[{"type": "ordinal", "axis": None}] * 2)


def tooltips(*lines: str) -> list[alt.Tooltip]:
    """Return tooltip lines from texts "field|title" or "field|title|number format".

    The titles are always texts of this package.
    """
    parts = (f"{line}|".split("|")[:3] for line in lines)
    return [
        alt.Tooltip(f"{field}:{'Q' if number else 'N'}", title=say(title), format=number or alt.Undefined)
        for field, title, number in parts
    ]


def legend_channel(channel: Any, field: str, names: Iterable[Any], looks: Iterable[Any], **options: Any) -> Any:
    """Return an encoding channel that shows the kinds of marks in `field`, with a legend.

    `names` are the kinds, and `looks` their colors, shapes, dashes or widths.
    """
    scale = alt.Scale(type="ordinal", domain=list(names), range=list(looks))
    return channel(f"{field}:N", scale=scale, **{"title": None} | options)


def group_colors(field: str, names: Iterable[str], colors: Any, symbol: str = "square") -> Any:
    """Return the color channel of two or three groups, with one legend.

    `field` is the column of groups, `names` its values; `symbol` is the shape in the legend.
    """
    look: Any = {"symbolType": symbol, "symbolSize": 300, "symbolOpacity": 1}
    legend = alt.Legend(**look, labelFontSize=15, labelLimit=420)
    return legend_channel(alt.Color, field, names, colors, legend=legend)


def side_by_side(data: pd.DataFrame, groups: Mapping[str, str], kept: list[str], **columns: str) -> Any:
    """Return a row per group and bin, with its bar's two ends beside the other groups' bars.

    `data` has a row per bin, with its ends `from` and `to`. `groups` maps a group's name in the
    data to its label. Columns in `kept` are kept; `columns` names new ones, each with the name of a
    group's own column, where "{}" stands for the group. The bar goes from `left` to `right`.
    """
    start, wide, step = data["from"], data["to"] - data["from"], 0.88 / len(groups)
    parts = [
        data[kept].assign(
            group=say(label),
            left=start + (0.08 + index * step) * wide,
            right=start + (0.04 + (index + 1) * step) * wide,
            **{field: data[column.format(name)] for field, column in columns.items()},
        )
        for index, (name, label) in enumerate(groups.items())
    ]
    return pd.concat(parts, ignore_index=True)


def color_and_shape(
    field: str, names: list[str], colors: Sequence[str], shapes: Sequence[str], **options: Any
) -> list[Any]:
    """Return color and shape channels for a few kinds of marks, with one legend."""
    options = {"legend": alt.Legend(symbolOpacity=1)} | options  # as clear as the clearest layer
    channels: tuple[tuple[Any, Sequence[str]], ...] = ((alt.Color, colors), (alt.Shape, shapes))
    return [legend_channel(channel, field, names, looks, **options) for channel, looks in channels]


def one_row(**values: Any) -> pd.DataFrame:
    """Return a table of one row from the named values."""
    return pd.DataFrame([values])


def draw_rule(
    plot: Plot, at: float, label: str, name: dict[str, Any], end: Any = UPPER, tip: str = "baseline", **look: Any
) -> list[Any]:
    """Draw a line across the chart at one position of an axis, with a label.

    `at` is the position, and `end` the channel that says where along the line its label stands: a
    `YValue` for an upright line, an `XValue` for a level one. `name` is the label's style, `tip`
    its title in the tooltip, and `look` the line's style.
    """
    rows, tooltip, upright = one_row(at=at, label=label), tooltips(f"label|{tip}"), isinstance(end, YValue)
    rule, text = (plot(rows, *(("at", side) if upright else (side, "at")), tooltip) for side in (None, end))
    return [rule.mark_rule(**look), words(text, "label", **name)]


def words(base: Any, field: str, number: str = "", **look: Any) -> Any:
    """Draw the texts of a field, or its numbers in the format `number`, with the chart's tooltip.

    `base` is a chart of rows at their positions.
    """
    text = alt.Text(f"{field}:Q", format=number) if number else alt.Text(f"{field}:N")
    return base.mark_text(**{"color": INK, "fontSize": 15} | look).encode(text)


def fit_text(base: Any, field: str, wide: float, least: str = "", room: str = "room", **look: Any) -> Any:
    """Draw a field's texts, cut to the width in pixels that the field `room` has.

    `base` is a chart of rows at their positions. `wide` is the width in pixels that the rows are
    laid out for, before the canvas is stretched; as many pixels as the field `beside` says are
    taken by other marks at any width. The tooltip has the full text. Where there is room for less
    than `least` pixels, no text is drawn.
    """
    room = f"(datum.{room} * width / {wide} - (datum.beside || 0))"
    seen: dict[str, Any] = {"opacity": alt.ExprRef(f"{room} < {least} ? 0 : 1")} if least else {}
    return words(base, field, limit=alt.ExprRef(f"max(1, {room})"), **seen, **look)


def ink_on(fill: str) -> alt.ExprRef:
    """Return an expression for black or white text, whichever is readable on marks of color `fill`."""
    return alt.ExprRef(f"luminance({fill}) < {MIDDLE} ? '#fefefe' : '#010101'")


def diamonds(base: alt.Chart, color: Any) -> Any:
    """Draw diamonds, the marks of true or published values, at the rows of `base`."""
    return base.mark_point(shape="diamond", filled=True, size=150, color=color, opacity=1)


def strokes(base: Any, looks: Mapping[str, Look], *, columns: int = 0) -> list[Any]:
    """Draw a line per series, the first one lowest, with one legend of `columns` columns.

    `looks` has the color, dashes and width of each series by name.
    """
    size: Any = {"symbolSize": 800 if columns == 1 else 1400, "columns": columns or alt.Undefined}
    legend = alt.Legend(symbolType="stroke", symbolOpacity=1, labelFontSize=15, labelLimit=300, offset=26, **size)
    channels = zip([alt.Color, alt.StrokeDash, alt.StrokeWidth], zip(*looks.values(), strict=True), strict=False)
    keys = (legend_channel(channel, "series", looks, looked, legend=legend) for channel, looked in channels)
    lines = base.mark_line().encode(*keys, alt.Order("x:Q"))
    return [lines.transform_filter(alt.FieldOneOfPredicate("series", [name])) for name in looks]


def level(plot: Plot, value: float, label: str, *, right: bool = False, **look: Any) -> list[Any]:
    """Draw a level line at `value`, with its name below its left end.

    If `right`, the name is above the right end.
    """
    name: dict[str, Any] = {"align": "right" if right else "left", "fontSize": 14, "dy": -9 if right else 14}
    rule: dict[str, Any] = {"color": NEUTRAL, "strokeDash": [2, 3], "strokeWidth": 2} | look
    return draw_rule(plot, value, label, name, XValue("width" if right else 8), **rule)


def setting_rule(plot: Plot, at: float, *tooltip: Any) -> Any:
    """Draw an upright line at `at`, the setting that the reader has chosen, with a tooltip."""
    return plot(one_row(at=at), "at", None, *tooltip).mark_rule(color=INK, strokeWidth=2, strokeDash=[6, 4])


def end_labels(base: Any, x: str, text: str, *, dx: int = 9, inside: bool = False, **look: Any) -> Any:
    """Draw the field `text` to the right of the field `x`, or to its left where it does not fit.

    `dx` is the distance in pixels. With `inside`, texts at the left are white, because they are
    inside a bar.
    """
    wide = f"{LETTER * look.get('fontSize', 15):.3g} * length(replace(datum.{text}, /[^ -~]/g, 'xx'))"
    far, back = f"{wide} + {dx} > width - scale('x', datum.{x})", f"{wide} - 90 - scale('x', datum.{x})"
    look |= {"color": alt.ExprRef(f"{far} ? '#ffffff' : {INK.expr}")} if inside else {}
    look |= {"align": alt.ExprRef(f"{far} ? 'right' : 'left'")}
    return words(base, text, dx=alt.ExprRef(f"{far} ? max({-dx}, {back}) : {dx}"), **look)


def bars(plot: Plot, data: pd.DataFrame, name: str, value: str, **look: Any) -> list[Any]:
    """Draw a bar per name in the given order, with the row's `text` beyond its `edge`.

    `name` and `value` are the columns of names and of the bars' ends. `edge`, if the data has this
    column, is where the text stands instead of the bar's end.
    """
    edge = "edge" if "edge" in data else value
    drawn = plot(data, value, name, plot.tooltip).mark_bar(**{"color": RELEASED, "height": {"band": 0.65}} | look)
    return [drawn, end_labels(plot(data, edge, name), edge, "text", inside=edge == value)]
