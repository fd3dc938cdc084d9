r"""What a run will be good for, worked out from public facts alone, in some milliseconds.

A method says what it measures and at which noise (`PrivateEstimator.measurements`); of a column nobody knows the shares,
so it has those of a usual one (`usual_shares`).

The expected error of a column
    P(a) are the shares of its k values, s is the standard deviation of what is measured of them by itself: measurements
    of a clique of m cells tell it with the variance m / k times that of a cell, and several of them are averaged by
    inverse variance. With z of independent Laplace or normal noise of that size, for a table of n rows,

        E = E ½ Σ_a |P(a) - Q(a)|,    Q the nearest distribution to P + s z / n  (`postprocess.simplex`)

    over fixed draws of z, so that the same facts give the same number. Where a method sets negative counts to 0 instead,
    Q is what that gives; rows that it spreads over all values are added; where only groups of values are told apart, Q
    is even within a group; of a column that is not measured at all, Q is even. E is what the tab Columns measures of a
    release: the total variation distance of a column. *Points* are percent of it.

What it leaves out
    Nobody knows how the columns hang together. What a method loses without any noise, because it measures other columns
    together than would be best, is in E only where it is usual (`untied` bits). `benchmarks.expectations` says how far
    E is from what real runs have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import log2, pi, sqrt

import numpy as np
from sklearn.base import clone

from dpcore.accounting.currency import Currency
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, is_whole
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.evaluate.verdict import CLOSE, HALF, TIED
from dpcore.mechanisms.noise import make_noise
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.local.base import LocalClassifier
from dpcore.methods.measurement import Measurement
from dpcore.postprocess.simplex import project_rows

STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
DRAWS = 512  # of a value's noise, about
STEEP = 0.8, 0.2  # the power of a rank by which shares fall, and how it grows as values double
CLIPPED = 0.2  # rows that a count without rows gets if negative noise is cut off, by its standard deviation
LEAST, MOST = 1e-12, 1e3  # a variance; times all rows: more noise than that changes nothing


@dataclass(frozen=True)
class Expectation:
    """What to expect of a method's run, from public facts alone.

    Attributes
    ----------
    columns : float or None
        The mean over columns of the expected total variation distance between a column's shares in the release and in
        the rows, in [0, 1]; times 100 it is points. None if nothing can be said.
    measured : int or None
        How many pairs of columns are in a marginal that is measured with so little noise that its distance from the
        true one is at most `TIED`, the weakest relation that a verdict names. None where `columns` is.
    pairs : int
        How many pairs of columns there are.
    leaf : float or None
        Of trees: the noise of a leaf's count, as a share of the rows that a leaf has.
    seconds : float
        About how long a fit takes.
    enough : float or None
        The least of the steps from which on `columns` is at most `CLOSE` and half of the pairs are measured that the
        largest step measures; None if no step is enough.
    """

    columns: float | None
    measured: int | None
    pairs: int
    leaf: float | None
    seconds: float
    enough: float | None


def expect_errors(
    method: PrivateEstimator, schema: Schema, rows: int, *, steps: Sequence[float] = STEPS
) -> Expectation:
    """Work out what to expect of a method's run on a data set of a schema and so many rows, at no privacy loss.

    Parameters
    ----------
    method : PrivateEstimator
        With its parameters; it is not fitted.
    schema : Schema
        What is public. If it names persons, epsilon is for a person, as in a fit.
    rows : int
        How many rows the data set has: a public number, or a guess.
    steps : sequence of float
        The epsilons among which the least is looked for that is enough, in ascending order.

    Returns
    -------
    Expectation
        Errors of columns, pairs that can be measured, seconds, and an epsilon.

    Raises
    ------
    ParameterError
        If `rows` is no number of rows, or the method cannot run on the schema.
    """
    if not is_whole(rows, 1):
        raise ParameterError("An expectation needs a number of rows.", "Give a positive whole number.")
    method.check(schema)
    found, most = at_epsilon(method, schema, rows), at_epsilon(method, schema, rows, steps[-1])

    def enough(here: Expectation) -> bool:
        return (here.columns or 0.0) <= CLOSE and (here.measured or 0) >= HALF * (most.measured or 0)

    if most.columns is None or not enough(most):
        return found
    low, high = 0, len(steps) - 1  # errors fall as epsilon grows
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(at_epsilon(method, schema, rows, steps[middle])) else (middle + 1, high)
    return replace(found, enough=steps[low])


def at_epsilon(method: PrivateEstimator, schema: Schema, rows: int, epsilon: float | None = None) -> Expectation:
    """What to expect at an epsilon, by default the method's own."""
    method = clone(method) if epsilon is None else clone(method).set_params(epsilon=epsilon)
    if schema.persons is not None:
        method = method.for_rows(schema.persons.max_contributions)
    told, sizes = method.measurements(public_table(method, schema, rows)), schema.sizes
    columns, leaf, measured = None, None, set[tuple[int, int]]()
    for one in told or ():
        measured |= measured_pairs(one, rows)
        leaf = leaf if one.columns else sqrt(one.variance) * one.cells / rows
    if told is not None and leaf is None:
        asked = dict(enumerate(sizes))
        if isinstance(method, LocalClassifier):  # of what is reported
            asked = {j: size for one in told for j, size in zip(one.columns, one.sizes, strict=True)}
        errors = [column_error(told, j, size, rows) for j, size in asked.items()]
        columns = float(np.mean(errors)) if errors else None
    pairs = len(sizes) * (len(sizes) - 1) // 2
    return Expectation(columns, len(measured) if columns is not None else None, pairs, leaf, 0.0, None)


def public_table(method: PrivateEstimator, schema: Schema, rows: int) -> PrivateTable:
    """A table of which all that is public is known; its rows are made up, all of them alike."""
    currency = Currency.of(method.delta)
    plan = None if method.mode == "published" else currency.amount(method.epsilon)
    ledger = Ledger(Relation.parse(method.relation), plan=plan, delta=method.delta)
    codes = np.broadcast_to(np.uint8(0), (rows, len(schema)))
    known = replace(schema, unit=None, max_rows=rows)
    return PrivateTable(codes, known, ledger, make_noise("laplace", None, 0, currency.law))


def column_error(told: Sequence[Measurement], column: int, size: int, rows: int) -> float:
    """The expected distance of one column's shares."""
    drawn = [one for one in told if one.drawn and column in one.columns]
    apart = max((values(one, column) for one in drawn), default=1)
    own = [one for one in drawn if values(one, column) == apart]
    if not own:
        return distance(size, 1)
    one = own[0]
    certain = sum(apart / max(each.variance * each.cells, LEAST) for each in own)
    added = one.spread + one.clipped * CLIPPED * sqrt(one.variance) * max(one.cells - apart, 0)
    noise, added = min(1 / (sqrt(certain) * rows), MOST), min(added / rows, MOST)
    found = distance(size, apart, noise, added, clipped=one.clipped, merged=one.merged)
    if one.untied:  # bits that are drawn one after the other seldom agree on one value
        untied = one.untied * bits_apart(size)
        found = found * (1 - found / 5) * (1 - untied) + untied
    return found


def values(one: Measurement, column: int) -> int:
    """How many values of a column are told apart."""
    return one.sizes[one.columns.index(column)]


@lru_cache(maxsize=4_096)
def distance(
    size: int, apart: int, noise: float = 0.0, added: float = 0.0, *, clipped: bool = False, merged: bool = False
) -> float:
    """The expected distance from usual shares of what noise of that size leaves of them."""
    shares, groups = usual_shares(size), np.arange(size) * apart // size
    noisy = np.bincount(groups, shares) + noise * fixed_draws(apart)
    if clipped:
        noisy = np.maximum(noisy, 0)
        noisy /= np.maximum(noisy.sum(axis=1, keepdims=True), 1e-12)
    else:
        noisy = project_rows(noisy, np.ones(len(noisy)))
    noisy = (noisy + added / apart) / (1 + added)
    found = float(np.abs((noisy / np.bincount(groups))[:, groups] - shares).sum(axis=1).mean() / 2)
    return min(found, float(np.abs(shares - 1 / size).sum() / 2)) if merged else found


@lru_cache(maxsize=256)
def fixed_draws(values: int) -> Floats:
    """Standard Laplace noise, the same every time."""
    return np.random.default_rng(0).laplace(0, sqrt(1 / 2), (max(DRAWS // values, 8), values))


@lru_cache(maxsize=256)
def usual_shares(size: int) -> Floats:
    """The shares of a usual column's values: a hill that is the steeper the more values there are."""
    ranks = np.argsort(np.argsort(np.abs(np.arange(size) + 0.5 - size / 3), kind="stable"))
    shares = (1.0 + ranks) ** -(STEEP[0] + STEEP[1] * log2(size))
    return np.asarray(shares / shares.sum())


@lru_cache(maxsize=256)
def bits_apart(size: int) -> float:
    """How far usual shares are from those of independent bits."""
    shares, bits = usual_shares(size), np.arange(size)[:, None] >> np.arange(max((size - 1).bit_length(), 1)) & 1
    ones = shares @ bits
    alone = np.where(bits, ones, 1 - ones).prod(axis=1)
    return float(np.abs(alone / alone.sum() - shares).sum() / 2)


def measured_pairs(one: Measurement, rows: int) -> set[tuple[int, int]]:
    """The pairs of a clique whose marginal's noise is at most `TIED`, as a distance."""
    told = sorted((j, size) for j, size in zip(one.columns, one.sizes, strict=True) if size > 1)
    noise = sqrt(2 / pi) / 2 * sqrt(one.variance * one.cells) / rows  # by the root of a pair's cells
    return {(a, b) for (a, m), (b, k) in combinations(told, 2) if noise * sqrt(m * k) <= TIED}
