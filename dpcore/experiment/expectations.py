r"""What a run will be good for, worked out from public facts alone in some milliseconds.

A method says what it measures, and how noisy that is (`PrivateEstimator.measurements`). What shares
the values of a column have is private; so every column has those of a usual one (`usual_shares`).

The expected error of a column
    P(a) are the shares of its k values. A marginal of m cells tells the column's counts with m / k
    times the variance of a cell; several marginals are averaged by inverse variance. With noise z
    of that size, for n rows,

        E = E ½ Σ_a |P(a) - Q(a)|,    Q the nearest distribution to P + z / n

    over fixed draws of z, so that the same facts give the same number. Q is what becomes of noisy
    counts where a method does something else: negative ones become 0, rows are added to all values,
    only groups of values are told apart, or nothing is measured, and Q is even. E is what the tab
    Columns measures of a release, the total variation distance; *points* are percent of it.

What it leaves out
    How the columns hang together is private, too. What a method loses without any noise is in E
    only where it is usual (`Measurement.bias`). How far E is from what runs have is measured by
    `benchmarks.expectations`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import inf, log2, pi, sqrt

import numpy as np
from sklearn.base import clone

from dpcore.accounting.currency import Currency
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, is_whole
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.evaluate.verdict import CLOSE, TIED
from dpcore.mechanisms.noise import make_noise
from dpcore.methods.base import Measurement, PrivateEstimator
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess.simplex import project_rows

STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
DRAWS = 512  # of a value's noise, about
STEEP = 0.8, 0.2  # the power of a rank by which shares fall, and how it grows as values double
CLIPPED = 0.2  # standard deviations that a count gains, about, if negative ones become 0
LEAST, MOST = 1e-12, 1e3  # a variance; times all rows: more noise than that changes nothing


@dataclass(frozen=True)
class Expectation:
    """What to expect of a method's run, from public facts alone.

    Attributes
    ----------
    columns : float or None
        The expected total variation distance between a column's shares in the release and in the
        rows, the mean over columns, in [0, 1]; times 100 it is points. Of local methods, over the
        columns that are reported as values. None if nothing can be said.
    measurable : int or None
        How many pairs of columns are in a marginal whose noise moves their joint shares by `TIED`
        at most, the weakest relation that a verdict names. None where `columns` is.
    pairs : int
        How many pairs of columns there are.
    leaf : float or None
        Of trees: the noise of a leaf's count, as a share of the rows that a leaf has.
    seconds : float
        About how long a fit takes, to one digit.
    enough : float or None
        The least step from which on `columns` is at most `CLOSE`; None if no step is enough.
    class_noise : float or None
        The standard deviation of the noise on the rows of one class; None where there is no class,
        or `columns` is None.
    """

    columns: float | None
    measurable: int | None
    pairs: int
    leaf: float | None
    seconds: float
    enough: float | None
    class_noise: float | None = None


def expect_errors(
    method: PrivateEstimator, schema: Schema, rows: int, *, steps: Sequence[float] = STEPS
) -> Expectation:
    """Work out what to expect of a run on a data set of a schema and so many rows.

    At no privacy loss: it sees no row.

    Parameters
    ----------
    method : PrivateEstimator
        With its parameters; it is not fitted.
    schema : Schema
        What is public. If it names persons, epsilon is for a person, as in a fit.
    rows : int
        How many rows the data set has: a public number, or a guess.
    steps : sequence of float
        The epsilons among which the least is looked for that is enough, in ascending order; none
        if that is not asked.

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

    def at(epsilon: float) -> Expectation:
        return at_epsilon(method, schema, rows, epsilon)

    def enough(found: Expectation) -> bool:
        return found.columns is not None and found.columns <= CLOSE

    found = at(method.epsilon)
    if found.columns is None or not steps or not enough(at(steps[-1])):
        return found
    # errors fall as epsilon grows
    first = bisect_left(steps, True, hi=len(steps) - 1, key=lambda step: enough(at(step)))
    return replace(found, enough=steps[first])


def at_epsilon(method: PrivateEstimator, schema: Schema, rows: int, epsilon: float) -> Expectation:
    """What to expect at an epsilon, but for what is enough."""
    method = clone(method).set_params(epsilon=epsilon)
    if schema.persons is not None:
        method = method.for_rows(schema.persons.max_contributions)
    table = public_table(method, schema, rows)
    found, seconds = method.measurements(table), float(f"{method.fit_seconds(table):.0e}")
    columns, leaf, pairs, d = None, None, set[tuple[int, int]](), len(schema)
    for one in found or ():
        pairs |= measurable_pairs(one, rows)
        leaf = leaf if one.columns else sqrt(one.variance) * one.cells / rows
    if found is not None and leaf is None:
        sizes = dict(enumerate(schema.sizes))
        if isinstance(method, LocalClassifier):  # of what is reported
            sizes = {j: k for one in found for j, k in zip(one.columns, one.sizes, strict=True)}
        errors = [column_error(found, j, size, rows) for j, size in sizes.items()]
        columns = float(np.mean(errors)) if errors else None
    measurable, noise = None if columns is None else len(pairs), None
    target = getattr(method, "target", None) or schema.target
    if found and columns is not None and target is not None:
        noise = noise_of_value(found, schema.index(target))[2]
    return Expectation(columns, measurable, d * (d - 1) // 2, leaf, seconds, None, noise)


def public_table(method: PrivateEstimator, schema: Schema, rows: int) -> PrivateTable:
    """A table of which all that is public is known; its rows are made up, all of them alike."""
    measure, published = Currency.of(method.delta), method.mode == "published"
    plan = None if published else measure.amount(method.epsilon)
    ledger = Ledger(Relation.parse(method.relation), plan=plan, delta=method.delta)
    codes = np.broadcast_to(np.uint8(0), (rows, len(schema)))
    known = replace(schema, unit=None, max_rows=rows)
    return PrivateTable(codes, known, ledger, make_noise("laplace", None, 0, measure.law))


def column_error(measured: Sequence[Measurement], column: int, size: int, rows: int) -> float:
    """The expected distance of one column's shares."""
    one, groups, noise = noise_of_value(measured, column)
    if one is None:
        return distance(size, 1)
    added = one.spread + one.clips * CLIPPED * sqrt(one.variance) * max(one.cells - groups, 0)
    noise, added = min(noise / rows, MOST), min(added / rows, MOST)
    found = distance(size, groups, noise, added, clips=one.clips, merges=one.merges)
    if one.bits:  # sampled one after the other, they seldom agree on one value
        found = found * (1 - found / 5) * (1 - one.bias) + one.bias
    return found


def noise_of_value(measured: Sequence[Measurement], column: int) -> tuple[Measurement | None, int, float]:
    """What tells most values of a column apart, how many, and the standard deviation of the noise on one's rows."""
    of_it = [one for one in measured if one.for_columns and column in one.columns]
    groups = max((values(one, column) for one in of_it), default=1)
    finest = [one for one in of_it if values(one, column) == groups]
    precision = sum(groups / max(each.variance * each.cells, LEAST) for each in finest)
    return next(iter(finest), None), groups, 1 / sqrt(precision) if finest else inf


def values(one: Measurement, column: int) -> int:
    """How many values of a column are told apart."""
    return one.sizes[one.columns.index(column)]


@lru_cache(maxsize=4_096)
def distance(
    size: int, groups: int, noise: float = 0.0, added: float = 0.0, *, clips: bool = False, merges: bool = False
) -> float:
    """The expected distance from usual shares of what noise of that size leaves of them.

    So many groups of values are told apart; so many rows, as a share of all, are added evenly.
    """
    shares, group = usual_shares(size), np.arange(size) * groups // size
    noisy = np.bincount(group, shares) + noise * fixed_draws(groups)
    if clips:
        noisy = np.maximum(noisy, 0)
        noisy /= np.maximum(noisy.sum(axis=1, keepdims=True), LEAST)
    else:
        noisy = project_rows(noisy, np.ones(len(noisy)))
    noisy = (noisy + added / groups) / (1 + added)
    even = (noisy / np.bincount(group))[:, group]
    found = float(np.abs(even - shares).sum(axis=1).mean() / 2)
    return min(found, float(np.abs(shares - 1 / size).sum() / 2)) if merges else found


@lru_cache(maxsize=256)
def fixed_draws(values: int) -> Floats:
    """Standard Laplace noise, the same every time."""
    return np.random.default_rng(0).laplace(0, sqrt(1 / 2), (max(DRAWS // values, 4), values))


@lru_cache(maxsize=256)
def usual_shares(size: int) -> Floats:
    """The shares of a usual column's values: a hill, the steeper the more there are."""
    away = np.abs(np.arange(size) + 0.5 - size / 3)
    ranks = np.argsort(np.argsort(away, kind="stable"))
    shares = (1.0 + ranks) ** -(STEEP[0] + STEEP[1] * log2(size))
    return np.asarray(shares / shares.sum())


def measurable_pairs(one: Measurement, rows: int) -> set[tuple[int, int]]:
    """The pairs of a clique whose marginal's noise is at most `TIED`, as a distance."""
    sizes = sorted((j, size) for j, size in zip(one.columns, one.sizes, strict=True) if size > 1)
    noise = sqrt(one.variance * one.cells / (2 * pi)) / rows  # by the root of a pair's cells
    return {(a, b) for (a, m), (b, k) in combinations(sizes, 2) if noise * sqrt(m * k) <= TIED}
