"""What tests of charts look at: a chart's specification, its tables, and parts of it."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpcore import charts

RECENT: deque[tuple[Any, dict[str, Any]]] = deque(maxlen=3)


def walk(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of a specification, with the names that lead to it."""
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from walk(child, (*path, str(key)))


def converted(chart: Any) -> dict[str, Any]:
    """A chart's specification, once for all that a test asks about it."""
    if not any(one is chart for one, _ in RECENT):
        RECENT.append((chart, charts.specification(chart)))
    return next(spec for one, spec in RECENT if one is chart)


def marks_of(chart: Any) -> list[dict[str, Any]]:
    """The chart's layers, or the one chart that it is; of panels, those of one."""
    spec = converted(chart)
    inner: dict[str, Any] = spec.get("spec", spec)
    layers: list[dict[str, Any]] = inner.get("layer", [inner])
    return layers


def rows_of(chart: Any, *fields: str) -> pd.DataFrame:
    """The rows of data that have these fields, once if marks share them, and in their order."""
    tables = [table for table in converted(chart)["datasets"].values() if {*fields} <= {*table}]
    found = pd.concat(tables or [pd.DataFrame(columns=fields)])
    return found[~found.reset_index().duplicated().to_numpy()].sort_index(kind="stable").reset_index(drop=True)


def domain(chart: Any, channel: str) -> tuple[Any, ...]:
    """What all scales of a channel go from and to."""
    (found,) = {
        tuple(node["scale"]["domain"])
        for path, node in walk(marks_of(chart))
        if path[-2:] == ("encoding", channel) and "domain" in node.get("scale", {})
    }
    return found


def texts(chart: Any) -> str:
    """All that is written above a chart, or read aloud."""
    return " ".join([*chart.title.text, *(chart.title.subtitle or []), chart.description])


def luminance(colors: Any) -> Any:
    """The relative luminance of rows of red, green and blue, from 0 to 255, as accessibility guidelines define it."""
    parts = np.asarray(colors) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def rgb(color: str) -> list[int]:
    """Red, green and blue of "#rrggbb"."""
    return [int(color[index : index + 2], 16) for index in (1, 3, 5)]
