"""What tests of charts look at: a chart's specification as JSON, and parts of it."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import pandas as pd

from dpcore import charts


def walk(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of a specification, with the names that lead to it."""
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from walk(child, (*path, str(key)))


RECENT: deque[tuple[Any, dict[str, Any]]] = deque(maxlen=3)


def converted(chart: Any) -> dict[str, Any]:
    """A chart's specification, once for all that a test asks about it."""
    found = next((spec for one, spec in RECENT if one is chart), None)
    if found is None:
        found = charts.specification(chart)
        RECENT.append((chart, found))
    return found


def spec_of(chart: Any) -> dict[str, Any]:
    """A specification that JSON can say, without its data."""
    spec = {part: value for part, value in converted(chart).items() if part != "datasets"}
    json.dumps(spec, allow_nan=False)
    return spec


def marks_of(chart: Any) -> list[dict[str, Any]]:
    """The chart's layers, or the one chart that it is; of panels, those of one."""
    spec = spec_of(chart)
    inner: dict[str, Any] = spec.get("spec", spec)
    layers: list[dict[str, Any]] = inner.get("layer", [inner])
    return layers


def types_of(chart: Any) -> list[str]:
    """What the layers draw, from the back to the front."""
    return [layer["mark"]["type"] for layer in marks_of(chart)]


def rows_of(chart: Any, *fields: str) -> pd.DataFrame:
    """The rows of data that have these fields."""
    tables = [table for table in converted(chart)["datasets"].values() if {*fields} <= {*table}]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=fields)


def domain(chart: Any, channel: str) -> tuple[Any, ...]:
    """What all scales of a channel go from and to."""
    (found,) = {
        tuple(node["scale"]["domain"])
        for path, node in walk(spec_of(chart))
        if path and path[-1] == channel and isinstance(node, dict) and "domain" in node.get("scale", {})
    }
    return found


def title(chart: Any) -> str:
    """What is written above the chart, but for its key."""
    return " ".join(chart.title.text)


def subtitle(chart: Any) -> str:
    """What is written below the title."""
    return " ".join(chart.title.subtitle)


def luminance(color: str) -> float:
    """The relative luminance of "#rrggbb", as accessibility guidelines define it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))


def contrast(one: str, other: str) -> float:
    """Between two colors: from 1 to 21."""
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)
