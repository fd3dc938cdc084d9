"""Synthetic rows in which the rules of a schema hold, whichever method made them.

What it costs: nothing. The rules and the schema are public, and besides them this reads the codes that a method
released (or sampled from what it released) and fresh random numbers, never a row of the data. It is post-processing:
for every outcome of the method the distribution of the rows is fixed, so that the bound of the method holds for them.

How: values are drawn inside their bins until they are in order, which leaves every bin as it was. Where that cannot
be, rows exchange values, so that each column keeps its values, and with them its marginal. For an order, as few rows
as can do take part, and of all ways to give out their values that keep the order one is drawn, each with the same
probability. Drawing such rows again would instead draw from the model *given* the rule: where a model has lost the
relation of two dates, the earlier one then becomes too early and the later one too late, by months. What is left moves
up to the next value that its column has, or takes the values of another of these rows, or public ones; so do rare
impossible pairs, for which other rows need not change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes
from dpcore.domain.rules import NO_CODE, RuleEnds, lowest, parse, possible_values
from dpcore.domain.schema import Schema

ROUNDS = 20
# share of rows that have an impossible pair: so few take the values of other rows at once
RARE = 0.005
FEW = 0.02  # of the rows that break an order, which may be left when rows have exchanged values: fewer then take part
RuleColumns = Mapping[int, Any]
"""Per column with a rule its numbers, NaN where one is missing, or its codes; by the column's position."""


def decode(schema: Schema, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
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
    columns, rules = schema.columns, parse(schema.columns, schema.rules)
    possible, least = possible_values(columns, rules), lowest(columns, rules)
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
                cells[ends[1][0]][:] = cells[ends[1][0]][exchange(lower, upper, rng)]
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

    Of an order they are those of the columns; of an impossible pair, whether the first value is there, and whether the
    second is not.
    """
    (first, code), (second, other) = ends
    if code == NO_CODE:
        return cells[first], cells[second]
    return (cells[first] == code) * 1.0, (cells[second] != other) * 1.0


def breaks(cells: RuleColumns, rules: Sequence[RuleEnds]) -> Flags:
    """Which rows break one of some rules."""
    return np.asarray(np.any([np.greater(*compare(cells, ends)) for ends in rules], axis=0))


def exchange(least: Floats, numbers: Floats, rng: np.random.Generator) -> Ints:
    """Exchange numbers between rows so that each is at least the row's `least`, where that can be.

    The rows that break it take part, and as many others as that takes. From the largest `least` down, each row gets
    one of the numbers left that are large enough, uniformly. How many these are does not depend on what was drawn
    before (all that are large enough, less the rows before), so all ways to give them out are equally probable.

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
