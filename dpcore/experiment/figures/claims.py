"""What a paper says of a figure, judged by the points that were drawn: means over all runs.

"Rises" and "falls" are said of the order of points: their rank correlation with the horizontal axis
is `CLEARLY` or more, so that a curve may fluctuate, as the papers say of theirs. All else compares
points. There is one rule for each kind of claim, and `RULES` names them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from dpcore.evaluate import errors_by_query_size
from dpcore.language import plural, retold, say

CLEARLY = 0.7
PRINTED = "as published"
MOST = 160  # characters of a list of places that anybody reads
PLACES = {"epsilon", "x", "rows", "parents", "divisions", "repeat"}
# numbers that need a word
PLACE = {"": "", "rows": "{:,.0f} rows", "parents": "{:g} parents", "depth": "depth {:g}"}
Cases = Mapping[tuple[str, str], bool | None]
"""Whether something came out, by a part of the figure and a place in it ("": all of it); None: there are no points."""


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about a figure, and the rule that judges it, as our `note` has it.

    Judged are the runs that did not fail; each part of the figure by itself, one for each value of the `columns`.
    """

    says: str
    rule: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    columns: Sequence[str] = ("data",)

    def line(self, frame: pd.DataFrame) -> str:
        """The sentence, and what came out here; empty if nothing that was run bears on it."""
        cases: dict[tuple[str, str], bool | None] = {}
        for name, part in parts(frame, *self.columns):
            cases |= RULES[self.rule](name, part, **self.arguments)
        found = {place: came for place, came in cases.items() if came is not None}
        if not found:
            return ""
        many = len(frame.drop_duplicates(["data", "series", "mode", *sorted(PLACES & set(frame))]))
        told = say(
            "The paper says: {says}. Here it {verdict} ({runs}).",
            says=retold(self.says),
            verdict=verdict(found),
            runs=plural("{n:,} run in the figure", "{n:,} runs in the figure", many),
        )
        return " ".join(filter(None, [told, retold(self.note)]))


def verdict(found: Mapping[tuple[str, str], bool]) -> str:
    """That it holds, does not hold, or for which parts and places it holds."""
    if all(found.values()):
        return say("holds")
    if not any(found.values()):
        return say("does not hold")
    told = []
    for part in dict.fromkeys(part for part, _ in found):
        places = {place: good for (own, place), good in found.items() if own == part}
        good = [place for place, came in places.items() if came]
        if good:
            where = say("at {places}", places=", ".join(good)) if len(good) < len(places) else ""
            told.append(" ".join(filter(None, [say("for {part}", part=part) if part else "", where])))
    if len(listed := "; ".join(told)) > MOST:
        return say("holds in {good:,} of {n:,} places", good=sum(found.values()), n=len(found))
    return say("holds only {listed}", listed=listed)


def parts(frame: pd.DataFrame, *columns: str) -> list[tuple[str, pd.DataFrame]]:
    """The parts of a figure by some columns, and what they are called: only by those that have several values."""
    names = [name for name in columns if frame[name].nunique() > 1]
    found = frame.groupby(names, sort=False) if names else [((), frame)]
    return [(", ".join(map(str, key)), part) for key, part in found]


def with_depths(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs of which depths are no part of their series, but a column."""
    series = frame["series"].str.partition(": depth ")
    return frame.assign(series=series[0], depth=pd.to_numeric(series[2]))


def points(
    frame: pd.DataFrame,
    x: str,
    *,
    mode: str = PRINTED,
    value: str = "value",
    statistic: str = "mean",
    **only: str,
) -> pd.DataFrame:
    """The points of a mode, or of all: a row per place and a column per series.

    They are means over runs, or another statistic; `only` chooses rows.
    """
    for name, chosen in (only | ({"mode": mode} if mode else {})).items():
        frame = frame[frame[name] == chosen]
    how: dict[str, Any] = {"aggfunc": statistic, "dropna": statistic == "mean", "sort": False}
    return frame.pivot_table(value, x, "series", **how).sort_index()


def points_of(frame: pd.DataFrame, x: str, each: str = "", **how: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """The points at each place of another number, and what it is called; or all of them."""
    frame = with_depths(frame) if "depth" in (x, each) else frame
    for point, rows in frame.groupby(each) if each else [("", frame)]:
        yield format_point(each, point), points(rows, x, **how)


def format_point(name: str, point: Any) -> str:
    """A point of an axis as people read it."""
    return PLACE.get(name, "{:g}").format(point)


def rising(curve: pd.Series, sign: int = 1) -> bool:
    """Whether a curve rises with its index, or falls with `sign` -1."""
    order = pd.Series(curve.index, curve.index).rank()
    return curve.nunique() > 1 and sign * float(curve.rank().corr(order)) >= CLEARLY


def rises(name: str, part: pd.DataFrame, *, x: str, own: str = "", each: str = "", sign: int = 1, **how: Any) -> Cases:
    """Whether curves of printed methods rise, or fall, by curve; or one series' `own`.

    A variance is judged where all points have one.
    """
    found: dict[tuple[str, str], bool | None] = {}
    for where, curves in points_of(part, x, each, **how):
        curves = curves.dropna(axis="columns") if how.get("statistic") == "var" else curves
        curves = curves.reindex(columns=[own]).rename(columns={own: ""}) if own else curves
        found |= by_curve(name, curves, partial(rising, sign=sign), where)
    return found


def hardly_rises(name: str, part: pd.DataFrame, *, x: str, factor: float) -> Cases:
    """Whether the last point of a curve is below so many times the first, by curve of any mode."""
    curves = points(part, x, mode="")
    return by_curve(name, curves, lambda curve: curve.iloc[-1] < factor * curve.iloc[0])


def by_curve(name: str, curves: pd.DataFrame, holds: Callable[[pd.Series], Any], where: str = "") -> Cases:
    """Whether something holds of each curve; None of those that have no two points."""
    known = {f"{series} {name}".strip(): curve.dropna() for series, curve in curves.items()}
    return {(own, where): holds(curve) if len(curve) > 1 else None for own, curve in known.items()}


def grows_less(name: str, part: pd.DataFrame, *, own: Sequence[str], other: str) -> Cases:
    """Whether errors of some releases grow less from small queries to large ones than another's."""
    errors = errors_by_query_size(part).pivot_table("absolute", "bin", "release", sort=False)
    growth = (errors.iloc[-1] / errors.iloc[0]).dropna()
    limit = growth.get(other)
    curves = errors[[way for way in own if way in growth and limit is not None]]
    return by_curve(name, curves, lambda curve: growth[str(curve.name)] < limit)


def lies_below(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    own: str,
    others: Sequence[str],
    above: bool = False,
    mostly: bool = False,
    where: Mapping[str, Sequence[float]] | None = None,
    **how: Any,
) -> Cases:
    """Whether a series lies below the lowest of some others, or above the highest, place by place.

    It can be enough to do so `mostly`; or it has to do so above one place up to another, by data
    set (`where`), and nowhere else.
    """
    found = points(part, x, **how).reindex(columns=[own, *others]) * (-1 if above else 1)
    both = pd.DataFrame({"own": found[own], "rest": found[[*others]].min(axis=1)}).dropna()
    came = {float(at): bool(lower < higher) for at, lower, higher in both.itertuples()}
    if where is not None:
        name = str(part["data"].iloc[0])
        low, high = where.get(name, (0, 0))
        came = {at: good == (low < at <= high) for at, good in came.items() if name in where}
    if mostly:
        return {(name, ""): 2 * sum(came.values()) > len(came)} if came else {}
    return {(name, format_point(x, at)): good for at, good in came.items()}


def best(name: str, part: pd.DataFrame, *, x: str, own: str, **how: Any) -> Cases:
    """Whether no other printed method comes below the mean of one that is a level line."""
    level = part[part["series"] == own]["value"].mean()
    others = points(part[part["series"] != own], x, **how)
    good = bool(((others >= level) | others.isna()).all(axis=None))
    return {(name, ""): good} if others.size and not pd.isna(level) else {}


def nearly_best(
    name: str, part: pd.DataFrame, *, x: str, own: str, low: float, high: float, within: float, **how: Any
) -> Cases:
    """Whether curves are near their best at all places from one to another, by curve."""

    def holds(curve: pd.Series) -> Any:
        inside = curve.loc[low:high]
        return inside.min() >= curve.max() - within if len(inside) else None

    return by_curve(name, points(part, x, **how).filter(like=own), holds)


def alike(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    each: str,
    own: str,
    other: str,
    within: float,
    signed: bool = False,
    **how: Any,
) -> Cases:
    """Whether a series differs by less than so much from another, in mean, at each place.

    If `signed`, it may be higher by more.
    """
    found: dict[tuple[str, str], bool | None] = {}
    for told, curves in points_of(part, x, each, **how):
        if {own, other} <= set(curves):
            lost = (curves[other] - curves[own]).dropna()
            far = (lost if signed else lost.abs()).mean()
            found[name, told] = bool(far < within) if len(lost) else None
    return found


def between(_: str, part: pd.DataFrame, *, data: str, model: str, epsilon: float, low: float, high: float) -> Cases:
    """Whether all printed runs of a data set and a model at an epsilon lie between two values."""
    for column, chosen in {"data": data, "model": model, "epsilon": epsilon, "mode": PRINTED}.items():
        part = part[part[column] == chosen]
    return {("", ""): bool(part["value"].between(low, high).all())} if len(part) else {}


RULES: Mapping[str, Callable[..., Cases]] = {
    rule.__name__: rule for rule in (rises, hardly_rises, grows_less, lies_below, best, nearly_best, alike, between)
}
"""What judges one part of a figure, by its name and its runs."""
