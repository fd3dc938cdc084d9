"""What charts are put together from: keys, tooltips, and the marks that several of them draw."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.colors import INK, MIDDLE, NEUTRAL, RELEASED
from dpcore.charts.frames import LETTER, as_listed
from dpcore.charts.scales import span
from dpcore.language import say

GroupNames = Mapping[str, str]  # by their columns, what they are called
Look = tuple[Any, list[int], float]  # of a line: color, dashes, width
# like all channels here an object: Altair is slow to find one for a text or a dict
NO_TIP = alt.TooltipValue(None)


def canvas(width: float, height: float) -> Callable[..., alt.Chart]:
    """Charts of rows whose `x` and `y` (or the fields named so) are pixels from the upper left corner."""

    def marks(rows: pd.DataFrame, x: str = "x", y: str = "y") -> alt.Chart:
        horizontal = alt.X(f"{x}:Q", axis=None, scale=span(0, width, zero=False))
        vertical = alt.Y(f"{y}:Q", axis=None, scale=span(height, 0, zero=False))
        return alt.Chart(rows).encode(horizontal, vertical, tooltip=NO_TIP)

    return marks


def tooltips(*lines: str) -> list[alt.Tooltip]:
    """A tooltip's lines, each "field|title" or "field|title|number format". The titles are always ours."""
    return [
        alt.Tooltip(
            f"{field}:{'Q' if number else 'N'}", title=say(title), format=number[0] if number else alt.Undefined
        )
        for field, title, *number in (line.split("|") for line in lines)
    ]


def keyed(channel: Any, field: str, names: Iterable[str], looks: Iterable[Any], **options: Any) -> Any:
    """A channel that tells kinds of marks apart: their names, and how each looks."""
    return channel(f"{field}:N", scale=alt.Scale(domain=list(names), range=list(looks)), **{"title": None} | options)


def group_colors(field: str, names: Iterable[str], colors: Any, symbol: str = "square") -> Any:
    """The colors of two or three groups, under one legend."""
    look: Any = {"symbolType": symbol, "symbolSize": 300, "symbolOpacity": 1}
    legend = alt.Legend(**look, labelFontSize=15, labelLimit=420)
    return keyed(alt.Color, field, names, colors, legend=legend)


def side_by_side(data: pd.DataFrame, groups: GroupNames, kept: list[str], **columns: str) -> Any:
    """A row per group and place, which goes `from` one end `to` another.

    It has what is kept, and the group's own columns, which are called after it. Its bar goes from
    `left` to `right`, beside those of the others.
    """
    start, wide, step = data["from"], data["to"] - data["from"], 0.88 / len(groups)
    parts = [
        data[kept].assign(
            group=say(label),
            left=start + (0.08 + place * step) * wide,
            right=start + (0.04 + (place + 1) * step) * wide,
            **{field: data[column.format(name)] for field, column in columns.items()},
        )
        for place, (name, label) in enumerate(groups.items())
    ]
    return pd.concat(parts, ignore_index=True)


def looks(of: Mapping[str, tuple[str, str]], data: Iterable[str]) -> list[list[str]]:
    """The names that occur, as they are said, and their colors and shapes."""
    names = [name for name in of if name in set(data)]
    return [[*map(say, names)], *([of[name][k] for name in names] for k in (0, 1))]


def color_and_shape(
    field: str, names: list[str], colors: Sequence[str], shapes: Sequence[str], **options: Any
) -> list[Any]:
    """Color and shape for a few kinds of marks, under one legend."""
    options = {"legend": alt.Legend(symbolOpacity=1)} | options  # as clear as the clearest layer
    channels: tuple[tuple[Any, Sequence[str]], ...] = ((alt.Color, colors), (alt.Shape, shapes))
    return [keyed(channel, field, names, looks, **options) for channel, looks in channels]


def single(**values: Any) -> alt.Chart:
    """A chart of one row."""
    return alt.Chart(pd.DataFrame([values]))


def ruled(
    axis: Any, at: float, label: str, end: Any, name: dict[str, Any], tip: str = "reference", **look: Any
) -> list[Any]:
    """A line through the chart at one place of an axis, whose field is `at`, and its label at the line's `end`."""
    base = single(at=at, label=label).encode(axis, tooltip=tooltips(f"label|{tip}"))
    return [base.mark_rule(**look), captions(base.encode(**end), "label", **name)]


def words(base: Any, field: str, number: str = "", **look: Any) -> Any:
    """A field's texts, or its numbers in this format; they have no tooltip."""
    return captions(base, field, number, **look).encode(tooltip=NO_TIP)


def captions(base: Any, field: str, number: str = "", **look: Any) -> Any:
    """A field's texts, or its numbers in this format, with the tooltip of what they stand on."""
    text = alt.Text(f"{field}:Q", format=number) if number else alt.Text(f"{field}:N")
    return base.mark_text(**{"color": INK, "fontSize": 15} | look).encode(text=text)


def fitted(base: Any, field: str, wide: float, least: str = "", **look: Any) -> Any:
    """A field's texts, cut to the pixels that `room` says, on a canvas that is as `wide` until it is stretched.

    What stands `beside` them takes as many pixels at any width.
    The tooltip of what they stand on holds all of them. Where there is room for less than `least` pixels, an
    expression, is no text.
    """
    room = f"(datum.room * width / {wide} - (datum.beside || 0))"
    seen: dict[str, Any] = {"opacity": alt.ExprRef(f"{room} < {least} ? 0 : 1")} if least else {}
    return captions(base, field, limit=alt.ExprRef(f"max(1, {room})"), **seen, **look)


def boxes(base: Any, left: alt.X, right: str, top: alt.Y, *, floor: float = 0, **look: Any) -> Any:
    """Bars from one place to another, and from the floor to a number."""
    return base.mark_rect(**look).encode(left, top, x2=right, y2=alt.datum(floor))


def ink_on(fill: str) -> alt.ExprRef:
    """The color of letters on marks that are filled so, as an expression says."""
    return alt.ExprRef(f"luminance({fill}) < {MIDDLE} ? '#fefefe' : '#010101'")


def diamonds(base: alt.Chart, color: str) -> Any:
    """What marks a true or printed value."""
    return base.mark_point(shape="diamond", filled=True, size=150, color=color, opacity=1)


def strokes(base: Any, looks: Mapping[str, Look], tooltip: list[alt.Tooltip], *, columns: int = 0) -> list[Any]:
    """A line per series, each with its color, dashes and width under one legend, the first below the others."""
    size: Any = {"symbolSize": 800 if columns == 1 else 1400, "columns": columns or alt.Undefined}
    legend = alt.Legend(symbolType="stroke", symbolOpacity=1, labelFontSize=15, labelLimit=300, offset=26, **size)
    channels = [alt.Color, alt.StrokeDash, alt.StrokeWidth]
    scales = [alt.Scale(type="ordinal", domain=[*looks], range=[look[k] for look in looks.values()]) for k in range(3)]
    line = base.mark_line().encode(
        *(channel("series:N", scale=s, title=None, legend=legend) for channel, s in zip(channels, scales, strict=True)),
        order=alt.Order("x:Q"),
        tooltip=[*tooltips("series|series"), *tooltip, *tooltips("value|value|.3~g")],
    )
    return [line.transform_filter(alt.FieldOneOfPredicate("series", [name])) for name in looks]


def level(value: float, label: str, *, right: bool = False, **look: Any) -> list[Any]:
    """A level line at a number, and its name below its left end, or above its right end."""
    name: dict[str, Any] = {"align": "right" if right else "left", "fontSize": 14, "dy": -9 if right else 14}
    rule: dict[str, Any] = {"color": NEUTRAL, "strokeDash": [2, 3], "strokeWidth": 2} | look
    return ruled(alt.Y("at:Q"), value, label, {"x": alt.value("width" if right else 8)}, name, **rule)


def setting_rule(across: alt.X, tooltip: list[alt.Tooltip], **at: float) -> Any:
    """An upright line where the reader's own setting is."""
    rule = single(**at).mark_rule(color=INK, strokeWidth=2, strokeDash=[6, 4])
    return rule.encode(across, tooltip=tooltip or NO_TIP)


def means(base: Any, x: alt.X) -> Any:
    """An upright line at the mean of several runs."""
    return base.mark_tick(thickness=2, color=NEUTRAL, height={"band": 0.9}).encode(x, tooltip=NO_TIP)


def end_labels(base: Any, x: str, text: str, *, dx: int = 9, inside: bool = False, **look: Any) -> Any:
    """A field's texts to the right of `x`, or to its left where they have no room: `inside` a bar in white."""
    wide = f"{LETTER * look.get('fontSize', 15):.3g} * length(replace(datum.{text}, /[^ -~]/g, 'xx'))"
    far, back = f"{wide} + {dx} > width - scale('x', datum.{x})", f"{wide} - 90 - scale('x', datum.{x})"
    look |= {"color": alt.ExprRef(f"{far} ? '#ffffff' : {INK.expr}")} if inside else {}
    look |= {"align": alt.ExprRef(f"{far} ? 'right' : 'left'")}
    return words(base, text, dx=alt.ExprRef(f"{far} ? max({-dx}, {back}) : {dx}"), **look)


def bars(
    data: pd.DataFrame, name: str, amount: str, across: dict[str, Any], tooltip: list[alt.Tooltip], **look: Any
) -> list[Any]:
    """A bar per name, in their order, and its `text` beyond its `edge`."""
    edge = "edge" if "edge" in data else amount
    down = alt.Y(f"{name}:N", title=None, scale=as_listed(data[name]))
    base = alt.Chart(data).encode(down, tooltip=tooltip)
    drawn = base.mark_bar(**{"color": RELEASED, "height": {"band": 0.65}} | look)
    note = end_labels(base.encode(alt.X(f"{edge}:Q", **across)), edge, "text", inside=edge == amount)
    return [drawn.encode(alt.X(f"{amount}:Q", **across)), note]
