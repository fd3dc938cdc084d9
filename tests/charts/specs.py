"""What tests of charts look at: a chart's specification as JSON, and parts of it."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd


def walk(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of a specification, with the names that lead to it."""
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from walk(child, (*path, str(key)))


def spec_of(chart: Any) -> dict[str, Any]:
    """A valid specification that JSON can say."""
    spec: dict[str, Any] = chart.to_dict()
    json.dumps(spec, allow_nan=False)
    return spec


def rows_of(chart: Any, *fields: str) -> pd.DataFrame:
    """The rows of data that have these fields."""
    rows = [row for rows in chart.to_dict(validate=False)["datasets"].values() for row in rows]
    return pd.DataFrame([row for row in rows if {*fields} <= {*row}])


def domain(chart: Any, channel: str) -> tuple[Any, ...]:
    """What all scales of a channel go from and to."""
    (found,) = {
        tuple(node["scale"]["domain"])
        for path, node in walk(spec_of(chart))
        if path and path[-1] == channel and isinstance(node, dict) and "domain" in node.get("scale", {})
    }
    return found


def subtitle(chart: Any) -> str:
    """What is written below the title."""
    return " ".join(chart.to_dict(validate=False)["title"].get("subtitle", ""))
