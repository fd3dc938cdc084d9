"""What every chart ends with: its panels, title, alternative text, and the conversion into Vega-Lite."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from dpcore.charts.frames import WIDE, wrap_text
from dpcore.charts.scales import FADED, INK
from dpcore.language import phrase, say
from dpcore.text import read_toml

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

PAGE = 920  # pixels; what a page has room for, and A4 at nine tenths of it
# pixels of a picture: beyond a phone's, beyond one of two, a page's
NARROW, HALF, WHOLE = 480, 640, 880
# of a line of a title and of a key, down to a phone
LETTERS = {"text": (90, 58, 38), "subtitle": (112, 66, 42)}
# all as wide as the one that files are measured with
FILE_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
# The picture's width, which stays as it is while its axes find their room; `width` says when to look again.
ROOM = "(width > 0 ? containerSize()[0] : 0)"
CLASS_WIDTH, CLASS_LETTERS = 1120, 1.4  # pixels; how many times as large letters are
SIZES = {"fontSize", "labelFontSize", "titleFontSize", "subtitleFontSize", "lineHeight", "dx", "dy"}
SIZES |= {"labelLimit", "titleLimit", "symbolSize", "minExtent", "maxExtent", "labelPadding"}
LINES = "split(datum.label, '\\n')"  # of a label that takes several
UP = f"-8 * (length({LINES}) - 1)"  # so that its middle is where one line would be
PICTURES = read_toml(Path(__file__).with_name("pictures.toml"))
NEVER: Mapping[str, Any] = {}
SAID, SIZE = ("title", "key", "seen"), ("width", "height", "autosize")  # of a picture
GAP = 36  # pixels between panels, whose axes may end with long numbers
DIGITS = "digits"  # the style of numbers in cells, which a phone does without
REAL_DATA = phrase("⚠ Uses real data: do not publish")


def panels(chart: Any, field: str, names: list[str], columns: int, width: int, height: int) -> Any:
    """Draw one chart as wide as its container, or several panels of `width` pixels side by side.

    `field` is the column that tells the panels apart, and `names` its values; `columns` is the most
    panels in a row. With one name at most there is one chart and no panels.
    """
    if len(names) <= 1:
        # what fits its container counts the title as well
        return chart.properties(height=height + 150)
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelAnchor="start", labelLimit=width)
    facet = alt.Facet(f"{field}:N", sort=names, header=header)
    panels = chart.properties(width=width, height=height).facet(facet=facet, columns=columns, spacing=GAP)
    return panels.resolve_scale(x="independent" if columns == 1 else "shared")


def present(chart: Any, picture: str, when: Mapping[str, Any] = NEVER, /, **values: Any) -> Chart:
    """Give a chart, or its layers, title, legends, alternative text, size and readable letters.

    Title, key and alternative text (`seen`, or else title and key) are given, or those of the
    picture in `pictures.toml`. A case of `when` adds its texts if it is true, and those behind a
    bar if it is false. Values replace names in braces.
    """
    own = PICTURES[picture]
    cases = [own.get(case.partition("|")[0 if so else 2], {}) for case, so in when.items()]
    known = own | ({"height": alt.Step(own["step"])} if "step" in own else {}) | values
    chart = alt.layer(*chart) if isinstance(chart, list) else chart
    size = {name: known[name] for name in SIZE if name in known}
    for part in SAID:
        first = values.get(part) or say(own.get(part, ""), **values)
        more = (say(case[part], **values) for case in cases if part in case)
        values[part] = "".join([first, *more]).strip()
    title, seen = values["title"], values["seen"]
    key = f"{values['key']} {values.get('note', '')}".strip()
    if not isinstance(chart, alt.FacetChart):
        size = {"width": "container"} | size
    look: Any = {"anchor": "start", "offset": 8, "fontSize": 18, "subtitleFontSize": 15, "subtitlePadding": 6}
    look |= {"color": INK, "subtitleColor": FADED}
    subtitle = wrap_text(key, LETTERS["subtitle"][1])
    heading = alt.TitleParams(wrap_text(title, LETTERS["text"][1]), subtitle=subtitle, **look)
    size["padding"] = {"left": 4, "right": 14, "top": 4, "bottom": 8}
    letters: Any = {"labelFontSize": 14, "titleFontSize": 14, "labelLimit": 320}
    letters |= {"labelColor": INK, "titleColor": FADED}  # the theme's own are too pale in the light
    # A line as a whole has no words of its own: who listens hears the description, and the marks of its points.
    config = alt.Config(  # at once: every change of a chart copies all of it
        axis=alt.AxisConfig(**letters, titleLimit=520, labelFlush=False),
        legend=alt.LegendConfig(**letters, orient="top", gradientLength=220),
        header=alt.HeaderConfig(labelColor=INK),
        line=alt.LineConfig(aria=False),
        area=alt.AreaConfig(aria=False),
    )
    presented: Chart = chart.properties(
        title=heading, description=seen or " – ".join(filter(None, [title, key])), config=config, **size
    )
    return presented


def mark_real(chart: Chart) -> Chart:
    """Mark a chart with "uses real data: do not publish", as the last line of its title, once.

    Parameters
    ----------
    chart : alt.Chart
        The chart.

    Returns
    -------
    alt.Chart
        A copy with the mark; the same chart if it has it.
    """
    title: Any = getattr(chart, "title")  # noqa: B009 - Altair does not type it
    mark = say(REAL_DATA)
    if mark in title.text:
        return chart
    title = title.copy()
    title.text = [*title.text, mark]
    return chart.properties(title=title, description=say("{chart} {mark}.", chart=chart.description, mark=mark))


def for_files(chart: Chart) -> Chart:
    """Give a chart a fixed total width, because a file has no container that the chart could fill."""
    if getattr(chart, "width", None) != "container":
        return chart
    config = chart.config.copy(deep=False)
    config.font = FILE_FONT
    autosize = alt.AutoSizeParams(type="fit-x", contains="padding")
    room = {**chart.padding, "left": 36}  # where letters are broader than those
    return chart.properties(width=PAGE, autosize=autosize, config=config, padding=room)


def specification(chart: Chart) -> dict[str, Any]:
    """Return a chart as Vega-Lite: the one conversion, for screens and for reports.

    What Altair converts tables with, and the theme it adds, are set for all threads at once: while
    one session's chart is converted with them, another's writes into its tables. Here neither is
    used: tables are named before, and an inner chart gets no theme. The schema is not checked; that
    takes as long again, and tests do it.

    Parameters
    ----------
    chart : alt.Chart
        The chart.

    Returns
    -------
    dict
        With the chart's tables as DataFrames under "datasets", by names that follow from what is in
        them.
    """
    tables: dict[str, pd.DataFrame] = {}
    inner = {"top_level": False, "datasets": tables}
    converted: dict[str, Any] = name_tables(chart, tables).to_dict(validate=False, context=inner)
    for channel in channels(converted, "x", "y"):
        if channel.get("type") == "nominal" and channel.get("axis", {}) is not None:
            look = {"labelOffset": {"expr": UP}} if channel in channels(converted, "y") else {}
            channel["axis"] = {"labelExpr": LINES, **look} | channel.get("axis", {})
    return {"$schema": alt.SCHEMA_URL, **converted, "datasets": tables}


def on_phones(spec: dict[str, Any]) -> dict[str, Any]:
    """Let title, legends and numbers in cells give way where a chart is narrow.

    Only the browser knows how wide a chart is, so the specification has Vega choose.

    Parameters
    ----------
    spec : dict
        The chart's specification, which is changed in place.

    Returns
    -------
    dict
        The same specification.
    """
    if spec.get("width") != "container":  # a picture of panels is made smaller as a whole
        return spec
    title, config, mark = spec["title"], spec["config"], say(REAL_DATA)
    for part, letters in LETTERS.items():
        lines = title.get(part) or []
        glue = "" if re.search(WIDE, "".join(lines)) else " "
        note, marks = glue.join(line for line in lines if line != mark), [mark] if mark in lines else []
        title[part] = by_width(*([*wrap_text(note, most), *marks] for most in letters))
    title |= {"fontSize": by_width(18, 16, 16), "subtitleFontSize": by_width(15, 14, 14)}
    config["axis"] |= {"titleFontSize": by_width(14, 11), "labelFontSize": by_width(14, 12)}
    # several legends, such as a network's
    stacked = {"signal": f"{ROOM} >= {HALF} ? 'horizontal' : 'vertical'"}
    legend = {"labelFontSize": by_width(14, 12), "columns": by_width(0, 1), "gradientLength": by_width(220, 140)}
    config["legend"] |= legend | {"layout": {"top": {"anchor": "start", "direction": stacked}}}
    config["style"] = {DIGITS: {"opacity": by_width(1, 0)}}
    for channel in channels(spec):
        if "columns" in (channel.get("legend") or {}):
            channel["legend"] |= {"columns": by_width(channel["legend"]["columns"], 1)}
    return spec


def by_width(*values: Any) -> dict[str, str]:
    """Return a Vega expression that picks one of the values by the picture's width.

    With two values they are for a page and a phone; with three, for a whole page, a narrower one
    and a phone.
    """
    widths = (WHOLE, NARROW) if len(values) > 2 else (NARROW,)
    chosen = [f"{ROOM} >= {least} ? {json.dumps(value)} : " for least, value in zip(widths, values, strict=False)]
    return {"expr": f"{''.join(chosen)}{json.dumps(values[-1])}"}


def class_size(spec: dict[str, Any]) -> dict[str, Any]:
    """Make letters 1.4 times as large and the picture 16:9, to be read from the back of a room.

    A picture of panels, which no container fills, keeps its size.

    Parameters
    ----------
    spec : dict
        The chart's specification, which is changed in place.

    Returns
    -------
    dict
        The same specification, with a width of its own: show it as wide as it is.
    """
    for part in parts(spec):
        for name in SIZES & part.keys():
            if isinstance(part[name], int | float):
                part[name] = round(CLASS_LETTERS * part[name], 1)
    if spec.get("width") == "container":
        for layer in spec.get("layer", []):
            layer.pop("height", None)
        spec |= {"width": CLASS_WIDTH, "height": CLASS_WIDTH * 9 // 16}
        spec["autosize"] = {"type": "fit", "contains": "padding"}
    return spec


def parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a Vega-Lite specification, except its tables of data."""
    if isinstance(node, dict):
        yield node
        node = [part for name, part in node.items() if name != "datasets"]
    for part in node if isinstance(node, list) else ():
        yield from parts(part)


def channels(spec: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """Collect the definitions of the named encoding channels from all layers of a specification.

    Without names, those of all channels.
    """
    found = [part["encoding"] for part in parts(spec) if "encoding" in part]
    each = ((name, channel) for encoding in found for name, channel in encoding.items())
    return [channel for name, channel in each if isinstance(channel, dict) and (name in names or not names)]


def name_tables(chart: Any, tables: dict[str, pd.DataFrame]) -> Any:
    """Return a chart that refers to its tables by names, and put the tables into `tables`."""
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        name = "data-" + hashlib.sha256(copy.data.to_json(orient="split").encode()).hexdigest()[:32]
        tables[name], copy.data = copy.data, alt.NamedData(name)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [name_tables(part, tables) for part in copy.layer]
    elif isinstance(copy, alt.FacetChart):
        copy.spec = name_tables(copy.spec, tables)
    return copy
