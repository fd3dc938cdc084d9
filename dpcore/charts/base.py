"""What every chart ends with: its panels, title, alternative text, and the conversion into Vega-Lite."""

import hashlib
import json
import re
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from dpcore.charts.colors import FADED, INK
from dpcore.charts.frames import WIDE, wrapped
from dpcore.language import phrase, say

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart

PAGE = 920  # pixels; what a page has room for, and A4 at nine tenths of it
NARROW = 420  # pixels between a chart's axes: less on a phone, and beside another chart
LETTERS = {"text": 38, "subtitle": 42}  # of a line of a title and of a key there
REAL_DATA = phrase("⚠ Uses real data: do not publish")


def panels(chart: Any, field: str, names: list[str], *, columns: int, width: int, height: int) -> Any:
    """One chart as wide as its container, or a panel of `width` per name."""
    if len(names) <= 1:
        return chart.properties(height=height + 150)  # what fits its container counts the title as well
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelAnchor="start", labelLimit=width)
    facet = alt.Facet(f"{field}:N", sort=names, header=header)
    panels = chart.properties(width=width, height=height).facet(facet=facet, columns=columns)
    return panels.resolve_scale(x="independent" if columns == 1 else "shared")


def present(chart: Any, title: str, *, seen: str, key: str = "", offset: int = 16, **size: Any) -> Chart:
    """Title (`offset` pixels above the chart), key, alternative text, size, and letters that can be read."""
    if not isinstance(chart, alt.FacetChart):
        size = {"width": "container"} | size
    look: Any = {"anchor": "start", "offset": offset, "fontSize": 18, "subtitleFontSize": 15, "subtitlePadding": 6}
    look |= {"color": INK, "subtitleColor": FADED}
    heading = alt.TitleParams(wrapped(title, 66), subtitle=wrapped(key, 76), **look)
    margin = {"left": 4, "right": 14, "top": 4, "bottom": 8}
    letters: Any = {"labelFontSize": 14, "titleFontSize": 14, "labelLimit": 230}
    letters |= {"labelColor": INK, "titleColor": FADED}  # the theme's own are too pale in the light
    # A line as a whole has no words of its own: who listens hears the description, and the marks of its points.
    config = alt.Config(  # at once: every change of a chart copies all of it
        axis=alt.AxisConfig(**letters, titleLimit=520, labelFlush=False),
        legend=alt.LegendConfig(**letters, orient="top", gradientLength=220),
        header=alt.HeaderConfig(labelColor=INK),
        line=alt.LineConfig(aria=False),
        area=alt.AreaConfig(aria=False),
    )
    presented: Chart = chart.properties(title=heading, description=seen, padding=margin, config=config, **size)
    return presented


def near(chart: Any, title: str, **told: Any) -> Chart:
    """As `present`, the title nearer to the chart."""
    return present(chart, title, offset=4, **told)


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
    return chart.properties(title=title, description=say("{seen} {mark}.", seen=chart.description, mark=mark))


def for_files(chart: Chart) -> Chart:
    """The same chart with a width of its own, all that is around it included: a file is no container to be filled."""
    if getattr(chart, "width", None) != "container":
        return chart
    return chart.properties(width=PAGE, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))


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
    converted: dict[str, Any] = named(chart, tables).to_dict(validate=False, context=inner)
    return {"$schema": alt.SCHEMA_URL, **converted, "datasets": tables}


def on_phones(spec: dict[str, Any]) -> dict[str, Any]:
    """Give a title, a key and legends that give way where the chart is narrow.

    How wide a chart is only the browser knows, so it chooses: Vega asks for the width whenever that
    changes.

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
    for part, most in LETTERS.items():
        lines = title.get(part) or []
        glue = "" if re.search(WIDE, "".join(lines)) else " "
        told = wrapped(glue.join(line for line in lines if line != mark), most)
        title[part] = by_width(lines, [*told, mark] if mark in lines else told)
    title |= {"fontSize": by_width(18, 16), "subtitleFontSize": by_width(15, 14)}
    config["axis"] |= {"titleFontSize": by_width(14, 11), "labelLimit": by_width(230, 130)}
    config["legend"] |= {"labelFontSize": by_width(14, 12), "columns": by_width(0, 1)}
    for layer in (spec, *spec.get("layer", [])):
        for channel in layer.get("encoding", {}).values():
            if isinstance(channel, dict) and "columns" in (channel.get("legend") or {}):
                channel["legend"] |= {"columns": by_width(channel["legend"]["columns"], 1)}
    return spec


def by_width(wide: Any, narrow: Any) -> dict[str, str]:
    """What Vega takes for a value that follows the width of the chart."""
    return {"expr": f"width >= {NARROW} ? {json.dumps(wide)} : {json.dumps(narrow)}"}


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
