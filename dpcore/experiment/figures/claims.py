"""What a paper says of a figure, judged by the points that were drawn: means over all runs, as the charts show them.

"Rises" and "falls" are said of the order of points: their rank correlation with the horizontal axis is `CLEARLY` or
more, so that a curve may fluctuate, as the papers say of theirs. All else compares points.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from dpcore.language import plural, retold, say

CLEARLY = 0.7
PRINTED = "as published"
MOST = 160  # characters of a list of places that anybody reads
PLACES = {"epsilon", "x", "rows", "parents", "divisions", "repeat"}
PLACE = {"rows": "{:,.0f} rows", "parents": "{:g} parents"}  # numbers that need a word
Cases = Mapping[tuple[str, str], bool | None]
"""Whether something came out, by a part of the figure and a place in it ("": all of it); None: there are no points."""
Judge = Callable[[str, pd.DataFrame], Cases]
"""What judges one part of a figure, by its name and its runs."""


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about a figure, and what judges it, as our `note` has it.

    Judged are the runs that did not fail; each part of the figure by itself, one for each value of the `columns`.
    """

    says: str
    judge: Judge
    note: str = ""
    columns: tuple[str, ...] = ("data",)

    def line(self, frame: pd.DataFrame) -> str:
        """The sentence, and what came out here; empty if nothing that was run bears on it."""
        cases: dict[tuple[str, str], bool | None] = {}
        for name, part in parts(frame, *self.columns):
            cases |= self.judge(name, part)
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


def points(frame: pd.DataFrame, x: str, *, mode: str = PRINTED, value: str = "value", **only: str) -> pd.DataFrame:
    """The points of a mode: means over runs, a row per place and a column per series; `only` chooses rows."""
    for name, chosen in {"mode": mode, **only}.items():
        frame = frame[frame[name] == chosen]
    return frame.pivot_table(value, x, "series", sort=False).sort_index()


def rising(curve: pd.Series, sign: int = 1) -> bool | None:
    """Whether a curve rises with its index, or falls with `sign` -1; None if it has no two points."""
    curve = curve.dropna()
    if len(curve) < 2:
        return None
    order = pd.Series(curve.index, curve.index).rank()
    return curve.nunique() > 1 and sign * float(curve.rank().corr(order)) >= CLEARLY


def parts(frame: pd.DataFrame, *columns: str) -> list[tuple[str, pd.DataFrame]]:
    """The parts of a figure by some columns, and what they are called: only by those that have several values."""
    names = [name for name in columns if frame[name].nunique() > 1]
    found = frame.groupby(names, sort=False) if names else [((), frame)]
    return [(", ".join(map(str, key)), part) for key, part in found]


def curves_rise(name: str, part: pd.DataFrame, x: str, value: str = "value", **only: str) -> Cases:
    """Whether the curves of the printed methods rise, by curve."""
    curves = points(part, x, value=value, **only)
    return {(f"{series} {name}".strip(), ""): rising(curves[series]) for series in curves}


def orders(points: pd.DataFrame, part: str, lower: str, higher: str) -> Cases:
    """Whether one series lies below another, place by place."""
    if not {lower, higher} <= set(points):
        return {}
    both = points[[lower, higher]].dropna()
    form = PLACE.get(str(both.index.name), "{:g}")
    return {(part, form.format(place)): bool(row[lower] < row[higher]) for place, row in both.iterrows()}


def ahead(points: pd.DataFrame, part: str, own: str, others: Iterable[str], *, lower: bool = True) -> Cases:
    """Whether one series lies below the lowest of some others, or above the highest, place by place."""
    rest = points.reindex(columns=[*others])
    both = pd.DataFrame({"own": points.get(own), "rest": rest.min(axis=1) if lower else rest.max(axis=1)})
    return orders(both, part, "own", "rest") if lower else orders(both, part, "rest", "own")
