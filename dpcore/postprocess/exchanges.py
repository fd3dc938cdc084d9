"""Exchanges of values between synthetic rows, toward expected marginals and the schema's rules.

Post-processing of rows that were drawn from a release. Only the schema, its rules and fresh random
numbers are read besides, never a row of the data set. There is no privacy loss.

Marginals (`exchange`)
----------------------
Rows drawn from a distribution have its marginals up to sampling error. With few rows, this error is
a large part of their distance from the distribution. Two rows that exchange their values in one
column leave the marginal of every column unchanged, and change the marginals of that column with
all other columns. Rows meet in random pairs, once per column. They exchange where this lowers the
sum of (count - expected)² / (expected + `EASE`) over all marginals: Pearson's statistic, but for
`EASE`. So no row gets a combination of values that hardly occurs just because other cells improve.

Rules (`decode_with_rules`)
---------------------------
For every outcome of the method the distribution of the rows is fixed, so the method's privacy bound
holds for them.

Values are redrawn inside their bins until they are in order, which leaves every bin unchanged.
Where this is impossible, rows exchange values, so that each column keeps its marginal. For an
order, as few rows as possible take part. Of all ways to assign their values that keep the order,
one is drawn with equal probability. Drawing such rows again would instead draw from the model
*given* the rule. Where a model has lost the relation of two dates, the earlier date would become
too early and the later one too late, by months. A value that still breaks a rule moves up to the
next value that its column has, or takes the values of another unbroken row, or public values. So do
rare impossible pairs, for which other rows need not change.
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

EASE = 0.1  # rows; without it, a cell with 0 expected rows would outweigh all other cells
MOST = 500_000  # rows times columns, a few seconds; more rows have little sampling error
FEWEST_AT_ONCE, MOST_AT_ONCE = 8, 256  # pairs of rows that are compared with the same cells
COMES = np.array([-1.0, -1.0, 1.0, 1.0])  # two cells lose a row each, two gain one
ROUNDS = 20  # redraws inside the bins of rows that break a rule
# up to this share of rows with an impossible pair, these rows take the values of other rows
RARE = 0.005
FEW = 0.02  # share of rows that may still break an order after exchanges, so that fewer take part
RuleColumns = Mapping[int, Any]
"""By position of each column with a rule: its numbers (NaN where missing), or its codes."""


def is_worthwhile(rows: int, sizes: tuple[int, ...]) -> bool:
    """Return whether `exchange` would improve this many rows in a few seconds at most.

    `sizes` are the columns' numbers of values. Rows must be at least as many as the mean number of
    cells of a pair marginal.
    """
    cells = [a * b for a, b in combinations(sizes, 2)]
    return bool(cells and np.mean(cells) <= rows <= MOST // len(sizes))


def exchange(codes: Codes, expected: Mapping[Edge, Floats], rng: np.random.Generator) -> None:
    """Exchange values between rows, in place, toward the expected pair marginals.

    `codes` has the shape (rows, columns). `expected` has, for every pair of columns, its marginal
    of shape (values, values), whose cells sum to the number of rows.
    """
    rows, columns = codes.shape
    tables, own = _PairTables(codes, expected), np.ascontiguousarray(codes)
    # Few enough that pairs seldom change the same cells.
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


class _PairTables:
    """Cells of all pair marginals in one array: counts minus expected counts, and their weights.

    `codes` has the rows, and `expected` the expected marginal of every pair of columns. A weight is
    about 1 / (expected count), as in Pearson's statistic.
    """

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
            # distances between cells of successive values of a, and of b
            self.strides[a, b], self.strides[b, a] = table.shape[1], 1
            start += table.size
        self.over, self.weights = np.concatenate(over), np.concatenate(weights)

    def exchange(self, j: int, first: Codes, second: Codes) -> Ints:
        """Exchange values of column `j` within pairs of rows where Pearson's statistic falls.

        Pair i consists of the rows first[i] and second[i], given by all their codes. Only the cells
        are updated, not the rows; the return value has the positions of the pairs whose rows the
        caller must exchange.
        """
        others = np.flatnonzero(np.arange(len(self.starts)) != j)
        # starts of the column's tables with all others, and strides of both columns there
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
    """Decode codes to rows in which the schema's rules hold.

    Parameters
    ----------
    schema : Schema
        The schema.
    codes : int array of shape (n, d)
        The codes, which are not changed.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    DataFrame of n rows
        The rows; as from `Schema.decode` if the schema has no rules.
    """
    if not schema.rules:
        return schema.decode(codes, rng)
    columns, rules = schema.columns, parse_rules(schema.columns, schema.rules)
    possible, least = possible_values(columns, rules), lowest_values(columns, rules)
    pairs = [ends for ends in rules if ends[1][0] in possible]
    orders = [ends for j in least for ends in rules if ends[1] == (j, NO_CODE)]
    codes, rows = np.array(codes, order="F"), np.arange(len(codes))

    def draw(rows: Ints) -> dict[int, Any]:
        """Draw values of some rows inside their bins, for the columns that an order rule bounds."""
        return {j: columns[j].draw(codes[rows, j], rng) for j in least}

    cells = draw(rows) | {j: codes[:, j] for j in possible}
    for _ in range(ROUNDS if orders else 0):
        rows = rows[breaks_rules({j: cells[j][rows] for j in least}, orders)]
        for j, found in draw(rows).items():
            cells[j][rows] = found
    for some in (orders, *[pairs] * ROUNDS):
        before = breaks_rules(cells, some) if some else None
        for ends in some if before is not None and before.any() else ():
            lower, upper = rule_sides(cells, ends)
            if (lower > upper).mean() > (0 if some is orders else RARE):
                cells[ends[1][0]][:] = cells[ends[1][0]][exchange_in_order(lower, upper, rng)]
    for lower, upper in (rule_sides(cells, ends) for ends in orders):
        known = np.unique(upper[~np.isnan(upper)])  # values that the column has
        low = np.flatnonzero((lower > upper) & (lower <= known.max(initial=-np.inf)))
        upper[low] = known[np.searchsorted(known, lower[low])]
    broken = breaks_rules(cells, rules)
    others = np.flatnonzero(~broken & ~np.isnan(np.sum([*cells.values()], axis=0)))
    chosen = rng.choice(others, int(broken.sum())) if len(others) else None
    for j, found in cells.items():
        fresh = (possible | least)[j] if chosen is None else found[chosen]
        # missing values stay missing
        found[broken] = np.where(np.isnan(found[broken]), found[broken], fresh)
    frame = schema.decode(codes, rng)
    for j in least:
        frame[columns[j].name] = columns[j].write(cells[j])
    return frame


def rule_sides(cells: RuleColumns, ends: RuleEnds) -> tuple[Floats, Floats]:
    """Return two numbers per row; a row breaks the rule where the first exceeds the second.

    `cells` has, by position of each column with a rule, its numbers or codes. `ends` is one rule of
    the schema. For an order, the numbers are the values of the two columns. For an impossible pair,
    they are 1 or 0: whether the first value is present, and whether the second is absent.
    """
    (first, code), (second, other) = ends
    if code == NO_CODE:
        return cells[first], cells[second]
    return (cells[first] == code) * 1.0, (cells[second] != other) * 1.0


def breaks_rules(cells: RuleColumns, rules: Sequence[RuleEnds]) -> Flags:
    """Return which rows break any of the rules, bool array of shape (rows,).

    `cells` has, by position of each column with a rule, its numbers or codes.
    """
    return np.asarray(np.any([np.greater(*rule_sides(cells, ends)) for ends in rules], axis=0))


def exchange_in_order(least: Floats, numbers: Floats, rng: np.random.Generator) -> Ints:
    """Exchange numbers between rows so that each is at least the row's `least`, where possible.

    The rows that break this order take part, and as many others as needed. From the largest `least`
    down, each row gets one of the remaining numbers that are large enough, uniformly. The number of
    these does not depend on earlier draws (all that are large enough, minus the rows before). So
    all possible assignments are equally probable.

    Parameters
    ----------
    least, numbers : float array of shape (n,)
        NaN where a value is missing; such rows take no part.
    rng : numpy.random.Generator
        Source of random numbers.

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
