"""Rows that exchange values, so that tables come closer to what is expected, and so that a schema's rules hold.

Post-processing of rows that were drawn from what a method released: the schema, its rules and fresh
random numbers are all that is read besides, never a row of the data. No cost.

Tables (`exchange`)
-------------------
Rows that are drawn from a distribution have its tables up to chance, and with few rows that is a good part of their
distance from it. Two rows that exchange their values in one column leave every column by itself as it is, and change
the tables of that column with all others. Rows meet in pairs at random, once per column, and exchange where that lowers
the sum of (count - expected)² / (expected + `EASE`) over all tables: Pearson's statistic, but for `EASE`. So no row
comes to a combination of values that hardly occurs, only because others are better off.

Rules (`decode_with_rules`)
---------------------------
For every outcome of the method the distribution of the rows is fixed, so that the bound of the method holds for them.

Values are drawn inside their bins until they are in order, which leaves every bin as it was. Where
that cannot be, rows exchange values, so that each column keeps its values, and with them its
marginal. For an order, as few rows as can do take part, and of all ways to give out their values
that keep the order one is drawn, each with the same probability. Drawing such rows again would
instead draw from the model *given* the rule: where a model has lost the relation of two dates, the
earlier one then becomes too early and the later one too late, by months. What is left moves up to
the next value that its column has, or takes the values of another of these rows, or public ones; so
do rare impossible pairs, for which other rows need not change.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes
from dpcore.domain.rules import NO_CODE, RuleEnds, lowest_values, parse_rules, possible_values
from dpcore.domain.schema import Schema
from dpcore.postprocess.junction_tree import Edge

EASE = 0.1  # rows: without it a cell in which nobody is expected would shut all others out
MOST = 500_000  # rows times columns: a few seconds at most; with more rows chance hardly matters
FEWEST_AT_ONCE, MOST_AT_ONCE = 8, 256  # meetings, which do not see each other's exchanges
COMES = np.array([-1.0, -1.0, 1.0, 1.0])  # two cells lose a row each, and two get one
ROUNDS = 20  # draws inside the bins of rows that break a rule
# share of rows that have an impossible pair: so few take the values of other rows at once
RARE = 0.005
FEW = 0.02  # of the rows that break an order, which may be left when rows have exchanged values: fewer then take part
RuleColumns = Mapping[int, Any]
"""Per column with a rule its numbers, NaN where one is missing, or its codes; by the column's position."""


def worthwhile(rows: int, sizes: tuple[int, ...]) -> bool:
    """Whether rows are few enough for the time that it takes, and not fewer than the cells of a table, in the mean."""
    cells = [a * b for a, b in combinations(sizes, 2)]
    return bool(cells and np.mean(cells) <= rows <= MOST // len(sizes))


def exchange(codes: Codes, expected: Mapping[Edge, Floats], rng: np.random.Generator) -> None:
    """Let rows exchange values, in place; `codes` has the shape (rows, columns).

    `expected` has for every pair of columns its table, of shape (values, values), whose cells sum
    to the rows.
    """
    rows, columns = codes.shape
    tables, own = _Tables(codes, expected), np.ascontiguousarray(codes)
    # So few that they seldom change the same cells.
    at_once = int(np.clip(len(tables.over) / len(expected) / 2, FEWEST_AT_ONCE, MOST_AT_ONCE))
    for j in rng.permutation(columns):
        meeting = rng.permutation(rows)[: rows // 2 * 2].reshape(2, -1)
        meeting = meeting[:, own[meeting[0], j] != own[meeting[1], j]]
        for start in range(0, meeting.shape[1], at_once):
            first, second = meeting[:, start : start + at_once]
            better = tables.exchange(j, own[first], own[second])
            first, second = first[better], second[better]
            own[first, j], own[second, j] = own[second, j], own[first, j]
    codes[:] = own


class _Tables:
    """All cells of the tables of pairs, on one line: how far over what is expected they are, and what that weighs."""

    def __init__(self, codes: Codes, expected: Mapping[Edge, Floats]) -> None:
        columns, start = codes.shape[1], 0
        self.starts, self.strides = np.zeros((2, columns, columns), dtype=np.intp)
        over, weights = [], []
        for a, b in combinations(range(columns), 2):
            table = expected[a, b]
            cells = np.bincount(np.ravel_multi_index((codes[:, a], codes[:, b]), table.shape), minlength=table.size)
            over.append(cells - table.ravel())
            weights.append(1 / (table.ravel() + EASE))
            self.starts[a, b] = self.starts[b, a] = start
            # of a step along a's values, and along b's
            self.strides[a, b], self.strides[b, a] = table.shape[1], 1
            start += table.size
        self.over, self.weights = np.concatenate(over), np.concatenate(weights)

    def exchange(self, j: int, first: Codes, second: Codes) -> Ints:
        """Positions of those pairs of rows that had better exchange their values in a column, as they now have."""
        others = np.flatnonzero(np.arange(len(self.starts)) != j)
        # where tables of it with others start, and steps along these
        starts, along, own = self.starts[j, others], self.strides[others, j], self.strides[j, others]
        here, there = starts + first[:, others] * along, starts + second[:, others] * along
        value, other = first[:, j, None] * own, second[:, j, None] * own
        cells = np.stack([here + value, there + other, here + other, there + value])
        worse = np.einsum("smo,smo,s->mo", self.weights[cells], self.over[cells], 2 * COMES)
        worse += self.weights[cells].sum(axis=0)
        found = np.flatnonzero((worse * (here != there)).sum(axis=1) < 0)
        exchanged = cells[:, found]
        np.add.at(self.over, exchanged.ravel(), np.repeat(COMES, exchanged[0].size))
        return found


def decode_with_rules(schema: Schema, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows for codes, in which the schema's rules hold.

    Parameters
    ----------
    schema : Schema
        The schema.
    codes : int array of shape (n, d)
        The codes, which stay as they are.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    DataFrame of n rows
        Without rules as of `Schema.decode`.
    """
    if not schema.rules:
        return schema.decode(codes, rng)
    columns, rules = schema.columns, parse_rules(schema.columns, schema.rules)
    possible, least = possible_values(columns, rules), lowest_values(columns, rules)
    pairs = [ends for ends in rules if ends[1][0] in possible]
    orders = [ends for j in least for ends in rules if ends[1] == (j, NO_CODE)]
    codes, rows = np.array(codes, order="F"), np.arange(len(codes))

    def draw(rows: Ints) -> dict[int, Any]:
        return {j: columns[j].draw(codes[rows, j], rng) for j in least}

    cells = draw(rows) | {j: codes[:, j] for j in possible}
    for _ in range(ROUNDS if orders else 0):
        rows = rows[breaks({j: cells[j][rows] for j in least}, orders)]
        for j, found in draw(rows).items():
            cells[j][rows] = found
    for some in (orders, *[pairs] * ROUNDS):
        before = breaks(cells, some) if some else None
        for ends in some if before is not None and before.any() else ():
            lower, upper = compare(cells, ends)
            if (lower > upper).mean() > (0 if some is orders else RARE):
                cells[ends[1][0]][:] = cells[ends[1][0]][exchange_in_order(lower, upper, rng)]
    for lower, upper in (compare(cells, ends) for ends in orders):
        known = np.unique(upper[~np.isnan(upper)])  # which the column can write
        low = np.flatnonzero((lower > upper) & (lower <= known.max(initial=-np.inf)))
        upper[low] = known[np.searchsorted(known, lower[low])]
    broken = breaks(cells, rules)
    others = np.flatnonzero(~broken & ~np.isnan(np.sum([*cells.values()], axis=0)))
    chosen = rng.choice(others, int(broken.sum())) if len(others) else None
    for j, found in cells.items():
        fresh = (possible | least)[j] if chosen is None else found[chosen]
        # what is missing stays so
        found[broken] = np.where(np.isnan(found[broken]), found[broken], fresh)
    frame = schema.decode(codes, rng)
    for j in least:
        frame[columns[j].name] = columns[j].write(cells[j])
    return frame


def compare(cells: RuleColumns, ends: RuleEnds) -> tuple[Floats, Floats]:
    """Two numbers per row, of which the first is above the second where the row breaks a rule.

    Of an order they are those of the columns; of an impossible pair, whether the first value is
    there, and whether the second is not.
    """
    (first, code), (second, other) = ends
    if code == NO_CODE:
        return cells[first], cells[second]
    return (cells[first] == code) * 1.0, (cells[second] != other) * 1.0


def breaks(cells: RuleColumns, rules: Sequence[RuleEnds]) -> Flags:
    """Which rows break one of some rules."""
    return np.asarray(np.any([np.greater(*compare(cells, ends)) for ends in rules], axis=0))


def exchange_in_order(least: Floats, numbers: Floats, rng: np.random.Generator) -> Ints:
    """Exchange numbers between rows so that each is at least the row's `least`, where that can be.

    The rows that break it take part, and as many others as that takes. From the largest `least`
    down, each row gets one of the numbers left that are large enough, uniformly. How many these are
    does not depend on what was drawn before (all that are large enough, less the rows before), so
    all ways to give them out are equally probable.

    Parameters
    ----------
    least, numbers : float array of shape (n,)
        NaN where one is missing; such rows take no part.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    int array of shape (n,)
        The row from which each row has its number.
    """
    broken, rows = least > numbers, rng.permutation(np.flatnonzero(~np.isnan(least + numbers)))
    rows, size, few = rows[np.argsort(~broken[rows], kind="stable")], 2 * int(broken.sum()), FEW * broken.sum()
    while size < len(rows) and (np.sort(least[rows[:size]]) > np.sort(numbers[rows[:size]])).sum() > few:
        size += size // 4 + 1
    rows, givers = (rows[:size][np.argsort(-by[rows[:size]], kind="stable")] for by in (least, numbers))
    at, given = np.arange(len(rows)), numbers[givers]
    large = np.searchsorted(-given, -np.minimum(least[rows], given), side="right")
    left, found = givers.tolist(), np.arange(len(numbers))
    for i, j in enumerate((at + (rng.random(len(rows)) * (large - at)).astype(int)).tolist()):
        left[i], left[j] = left[j], left[i]
    found[rows] = left
    return found
