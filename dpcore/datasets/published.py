"""The declared schemas of published and of simulated data sets; `files/published.toml` says what they are."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy

Groups: TypeAlias = "dict[str, Groups | str]"
"""Groups in groups, down to texts of values; the values under "" belong to no smaller group."""


def adult_schema() -> Schema:
    """Return what the documentation of UCI Adult says, with equal-width bins.

    Returns
    -------
    Schema
        15 columns, with the target "income".
    """
    return declared_schema("adult")


def big5_schema() -> Schema:
    """Return what the codebook of the Big Five data says.

    Returns
    -------
    Schema
        57 columns, all but age and country as numbered answers, with the target "gender".
    """
    return declared_schema("big5")


@cache
def descriptions() -> dict[str, Any]:
    """What the file says, by the data set."""
    text = (importlib.resources.files("dpcore.datasets") / "files" / "published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def declared_schema(name: str) -> Schema:
    """The schema of a data set."""
    found = descriptions()[name]
    groups, about = found.get("groups", {}), "1 = disagree to 5 = agree, 0 = missed"
    columns = [_column(each, groups=groups.get(each), **how) for each, how in found["columns"].items()]
    for letter, trait in found.get("traits", {}).items():
        for i in range(1, 11):
            item = f"{trait}, item {i}: {about}"
            columns.append(_column(f"{letter}{i}", answers=(0, 5), kind="ordered", description=item))
    return Schema(columns=tuple(columns), target=found["target"], max_rows=found["max_rows"])


def _column(
    name: str,
    *,
    bounds: Sequence[float] = (),
    answers: Sequence[int] = (),
    values: str = "",
    groups: Groups | None = None,
    **more: Any,
) -> Column:
    """A column of numbers, or of values in the order in which they are said, else in that of their groups."""
    if bounds:
        lower, upper = bounds
        return Column(name=name, **{"kind": "integer", "lower": lower, "upper": upper, "origin": "document", **more})
    tree = None if groups is None else Taxonomy(tuple(_paths(groups, ("(any)",))))
    listed = tuple(map(str, range(answers[0], answers[1] + 1))) if answers else tuple(values.split())
    more = {"kind": "categorical", "taxonomy": tree, "origin": "document", **more}
    return Column(name=name, categories=listed or (tree.leaves if tree else ()), **more)


def _paths(groups: Groups | str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The way up from each value to the root."""
    if isinstance(groups, str):
        yield from ((leaf, *above) for leaf in groups.split())
        return
    for name, parts in groups.items():
        yield from _paths(parts, (name, *above) if name else above)
