"""Rules that hold in all rows of somebody's table, although many rows would break them by chance.

This looks at private rows, all of them at once. It is a proposal for the screen of the person whose rows they are: no
schema has any of it before that person says that it holds in general, by public knowledge. That no row breaks a rule
says nothing of the rows to come.
"""

from collections.abc import Sequence
from itertools import chain, combinations, permutations

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.domain.column import Column
from dpcore.domain.headers import parts
from dpcore.domain.rules import listed_values

BY_CHANCE = 30  # rows that would break a rule at least if the columns had nothing to do with each other
FEW_VALUES, MOST_PAIRS, MOST_COLUMNS = 12, 100, 60
MADE_OF = 0.5  # share of two columns' cells that are empty where one is made of the other
IN_ORDER = (
    "min max/minimum maximum/low high/lower upper/start end/begin end/from to/first last/diastolic systolic/net gross/"
    "earned attempted/passed attempted/taken offered/used total/part total/partial total"
)
UNITS = (  # whole numbers are alike whose headers both have words between two bars
    "age alter edad ano years yrs jahre anos ans annees 年龄/year yr jahr annee 年份/months monate mois/"
    "days tage dias jours nights 天数/hours hrs stunden horas heures/minutes mins minuten minutos"
)


def propose_orders(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Orders of two dates, or of numbers whose headers say so or name one unit; none that follow."""
    both = [(a, b) for a, b in permutations([one for one in columns if one.numeric], 2) if comparable(a, b)]
    numbers = {one.name: known_numbers(one, frame) for one in {*chain(*both)}}
    kept = set()
    for low, high in ((a.name, b.name) for a, b in both):
        there = ~np.isnan(numbers[low] + numbers[high])
        first, last = numbers[low][there], numbers[high][there]
        by_chance = np.searchsorted(np.sort(last), first).sum() / max(len(first), 1)
        if by_chance >= BY_CHANCE and (first <= last).all() and (first < last).any():
            kept.add((low, high))
    between = {(low, high) for low, one in kept for other, high in kept if one == other}
    return tuple(f"{low} <= {high}" for low, high in sorted(kept - between))


def known_numbers(column: Column, frame: pd.DataFrame) -> Floats:
    """A column's numbers, NaN where one is missing, or stands for a missing one."""
    numbers = column.to_numbers(frame[column.name])
    return np.where(np.isin(numbers, column.missing_values), np.nan, numbers)


def comparable(low: Column, high: Column) -> bool:
    """Whether the first of two columns of dates or numbers may be never above the second."""
    if "date" in (low.kind, high.kind):
        return low.kind == high.kind
    first, last = {*parts(low.name)}, {*parts(high.name)}
    units = [{*unit.split()} for unit in UNITS.split("/") if low.whole and high.whole]
    return any(first & unit and last & unit for unit in units) or " ".join(
        [*first - last, *last - first]
    ) in IN_ORDER.split("/")


def propose_pairs(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[str, ...]:
    """Impossible pairs of the values of columns that have few: those that chance would make most often."""
    values = {one.name: listed_values(one) for one in columns}
    few = [one for one in columns if 2 <= len(values[one.name]) <= FEW_VALUES][:MOST_COLUMNS]
    codes = {one.name: one.encode_counting_misfits(frame[one.name]).codes.astype(np.int64) for one in few}
    found = []
    for one, other in combinations(few, 2):
        cells = np.bincount(codes[one.name] * other.size + codes[other.name], minlength=one.size * other.size)
        some, others = values[one.name], values[other.name]
        counts = cells.reshape(one.size, other.size)[: len(some), : len(others)]
        chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        empty = (counts == 0) & (chance >= BY_CHANCE)
        if empty.mean() < MADE_OF:
            for i, j in np.argwhere(empty):
                text = f"{one.name} = {some[i]}, never {other.name} = {others[j]}"
                found.append((-chance[i, j], text))
    # their order must not tell which has more rows
    return tuple(sorted(text for _, text in sorted(found)[:MOST_PAIRS]))
