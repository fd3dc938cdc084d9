"""What a run will be good for, from public facts alone: expectations by formulas, and forecasts by rehearsal.

# Expectations, in some milliseconds

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

# Forecasts: a rehearsal on tables that chance made up

Nobody can know before a run how far its rows will be off without either a look at the real rows,
which costs, or a guess at them. So the method itself runs, with its own noise, on made-up tables of
the schema, and is measured as a release is. What comes in is a `Schema`, a method that was not
fitted, and numbers that are public; no row can.

The random quantity
    S is the schema, n the number of rows, M the method with its parameters, R its rows. For a
    column j, and a pair of columns j < k,

        E_j = ½ Σ_a |P_j(a) - R_j(a)|,        E_jk = ½ Σ_ab |P_jk(a, b) - R_jk(a, b)|

    with P the shares of the n rows that are fitted on: the distances of the tabs Columns and Pairs.
    Let T be a random table of S and n (`made_up`), M's noise and random draws be independent of it,
    and J be a column drawn at random, or JK a pair. The band of the columns is from the 5% to the
    95% quantile of E_J, the band of the pairs that of E_JK. So nine of ten columns of nine of ten
    runs, taken together, lie within: what is covered is counted over columns (pairs) and runs, and
    90% is the mean over tables that are like T. Of one table more or fewer may lie within. How many
    do of real tables is measured (`benchmarks.forecast`), and not proved.

Noise and guess
    E_J is at most what noise adds to what M loses without any, by the triangle inequality. Noise is
    known: its scale hangs on epsilon, n and S alone. What M loses without noise hangs on how the
    columns hang together, which is not public; T has tables from nearly independent to strongly
    tied columns, and their quantiles are a guess. The same rehearsal at `NO_NOISE` tells how much
    of a band is of this kind (`Expected.guess`).

Pairs that will be lost
    A pair counts as lost at an epsilon if its tie would be lost even if one column were a function
    of the other, in most of the rehearsals: the tie is then as strong as it can be, and "lost" is
    the verdict's own rule (`evaluate.distances`). Tables for it tie all columns two by two. A pair
    that was not tied in any is judged by the pairs of the most similar number of cells.

The smallest group
    A group is the rows with one value of a column. The smallest that stands out is the least share
    from which on, in nine of ten groups of that size and in every larger size, the release is off
    by half of the group at most. Sizes are powers of two.

Epsilons between those that were rehearsed are read off straight lines over log epsilon; below and
above them, the nearest holds. Tables of more than `ROWS` rows are rehearsed with `ROWS` rows and
n / `ROWS` times the epsilon: what noise does to shares hangs on n epsilon alone, for counts
exactly, and for choices nearly, as scores of shares have sensitivities of c / n. The rest of n is
in what a sample of it leaves to chance, which is small beyond.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations
from math import inf, log2, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Progress, is_whole, no_progress
from dpcore.domain.column import Codes, Column, code_dtype
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import CLOSE, HALF, TIED, dependence, kept_tie, pairs_of, total_variation
from dpcore.language import phrase
from dpcore.mechanisms.noise import make_noise
from dpcore.methods.base import Measurement, PrivateEstimator, Synthesizer
from dpcore.methods.local.base import LocalClassifier
from dpcore.postprocess.bayes_net import uniform_codes
from dpcore.postprocess.simplex import project_rows
from dpcore.rows import joint_counts

STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
DRAWS = 512  # of a value's noise, about
STEEP = 0.8, 0.2  # the power of a rank by which shares fall, and how it grows as values double
CLIPPED = 0.2  # standard deviations that a count gains, about, if negative ones become 0
LEAST, MOST = 1e-12, 1e3  # a variance; times all rows: more noise than that changes nothing

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
ROWS, TRIAL_ROWS = 30_000, 5_000
BAND = (0.05, 0.5, 0.95)
TRIALS = 5  # tables in which columns are functions of others
ALIKE = 3  # pairs that a pair without a trial is judged by
UNLIKE = 100.0  # logarithms of cells: a pair with the class is like no other
MOST_PAIRS = 300
# the share of groups of a size that have to stand out, and how many there must be to tell
STANDS, FEWEST = 0.9, 5
NO_NOISE = 1e9  # an epsilon at which noise is far below one count
AT = phrase("at epsilon {epsilon:g}")  # how far it is
LEAST_DISTANCE = 1e-6  # smallest distance that differs from 0

ColumnPair = tuple[str, str]

STRENGTHS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # of the ties in a made-up table
MOST_STEEP = 3.5  # categories: the power of a value's rank by which its share falls
WIDTHS = (0.015, 0.8)  # of the hill over values that have an order, as a share of them
PEAKS = (0.7, 2.0)  # its power: below 1 a peak with long tails, 2 a normal distribution
MOST_MISSING = 0.2


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
        at most, the weakest relation that is reported. None if `columns` is None.
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
    """Predict the errors of a method's run from the schema and a number of rows.

    No row is read, so nothing is charged.

    Parameters
    ----------
    method : PrivateEstimator
        With its parameters; it is not fitted.
    schema : Schema
        What is public. If it names persons, epsilon is for a person, as in a fit.
    rows : int
        How many rows the data set has: a public number, or a guess.
    steps : sequence of float
        The epsilons, in ascending order, among which the smallest is found at which `columns` is at
        most `CLOSE`. Empty: none is looked for.

    Returns
    -------
    Expectation
        Errors of columns, pairs that can be measured, seconds, and an epsilon.

    Raises
    ------
    ParameterError
        If `rows` is not a positive whole number, or the method cannot run on the schema.
    """
    if not is_whole(rows, 1):
        raise ParameterError("An expectation needs a number of rows.", "Give a positive whole number.")
    method.check(schema)

    at = partial(at_epsilon, method, schema, rows)

    def enough(found: Expectation) -> bool:
        """Return whether the expected distance of columns is small enough."""
        return found.columns is not None and found.columns <= CLOSE

    found = at(method.epsilon)
    if found.columns is None or not steps or not enough(at(steps[-1])):
        return found
    # errors fall as epsilon grows
    first = bisect_left(steps, True, hi=len(steps) - 1, key=lambda step: enough(at(step)))
    return replace(found, enough=steps[first])


def at_epsilon(method: PrivateEstimator, schema: Schema, rows: int, epsilon: float) -> Expectation:
    """Predict a method's errors at one epsilon, from the schema and a number of rows.

    The result's `enough`, the epsilon that would be enough, is left None.
    """
    method = clone(method).set_params(epsilon=epsilon)
    if schema.persons is not None:
        method = method.with_row_budget(schema.persons.max_contributions)
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
    """Return a table of made-up, identical rows that has all public facts of a real one."""
    measure, published = PrivacyMeasure.from_delta(method.delta), method.mode == "published"
    plan = None if published else measure.loss_of(method.epsilon)
    ledger = Ledger(Relation.parse(method.relation), plan=plan, delta=method.delta)
    codes = np.broadcast_to(np.uint8(0), (rows, len(schema)))
    known = replace(schema, unit=None, max_rows=rows)
    return PrivateTable(codes, known, ledger, make_noise("laplace", None, 0, measure.distribution))


def column_error(measured: Sequence[Measurement], column: int, size: int, rows: int) -> float:
    """Return the expected total variation distance between a column's real and released shares.

    `measured` are the method's measurements, `column` is the column's position, `size` its number
    of values, and `rows` the number of rows.
    """
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
    """Return the measurement, group count and noise that most of a column's values rest on.

    `measured` are the method's measurements, `column` is the column's position. Groups are values
    that a measurement does not tell apart. The noise is the standard deviation of the number of
    rows with one value.
    """
    of_it = [one for one in measured if one.for_columns and column in one.columns]
    groups = max((values(one, column) for one in of_it), default=1)
    finest = [one for one in of_it if values(one, column) == groups]
    precision = sum(groups / max(each.variance * each.cells, LEAST) for each in finest)
    return next(iter(finest), None), groups, 1 / sqrt(precision) if finest else inf


def values(one: Measurement, column: int) -> int:
    """Return how many values of a column (given by its position) a measurement tells apart."""
    return one.sizes[one.columns.index(column)]


@lru_cache(maxsize=4_096)
def distance(
    size: int, groups: int, noise: float = 0.0, added: float = 0.0, *, clips: bool = False, merges: bool = False
) -> float:
    """Return the expected total variation distance that noise causes in one column's shares.

    The column has `size` values with the shares of `usual_shares`; only `groups` groups of them are
    told apart. `noise` is the standard deviation of a group's share, and `added` is the number of
    rows added evenly to all values, as a share of all rows. With `clips` negative shares become 0;
    otherwise the nearest distribution is taken. With `merges` the result is at most the distance
    from even shares.
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
    """Return Laplace noise of variance 1, the same in every call, shape (draws, values)."""
    return np.random.default_rng(0).laplace(0, sqrt(1 / 2), (max(DRAWS // values, 4), values))


@lru_cache(maxsize=256)
def usual_shares(size: int) -> Floats:
    """Return the assumed shares of a column's `size` values: a hill, steeper with more values."""
    away = np.abs(np.arange(size) + 0.5 - size / 3)
    ranks = np.argsort(np.argsort(away, kind="stable"))
    shares = (1.0 + ranks) ** -(STEEP[0] + STEEP[1] * log2(size))
    return np.asarray(shares / shares.sum())


def measurable_pairs(one: Measurement, rows: int) -> set[tuple[int, int]]:
    """Return the pairs of columns of a measurement whose joint shares are hardly moved by noise.

    Hardly: by a total variation distance of at most `TIED`, the weakest relation that is reported.
    `one` is the measurement of a clique, and `rows` the number of rows.
    """
    sizes = sorted((j, size) for j, size in zip(one.columns, one.sizes, strict=True) if size > 1)
    noise = sqrt(one.variance * one.cells / (2 * pi)) / rows  # by the root of a pair's cells
    return {(a, b) for (a, m), (b, k) in combinations(sizes, 2) if noise * sqrt(m * k) <= TIED}


class Band(NamedTuple):
    """The median of some distances (`middle`), and the range that holds nine of ten of them."""

    low: float
    middle: float
    high: float

    @classmethod
    def from_distances(cls, distances: Sequence[float]) -> Band:
        """Return the quantiles of some distances."""
        return cls(*map(float, np.quantile(distances, BAND)))

    def towards(self, other: Band, part: float) -> Band:
        """Interpolate between this band (`part` = 0) and another one (`part` = 1)."""
        return Band(*(interpolate(own, theirs, part) for own, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class ExpectedUtility:
    """Expected distances, kept relations and smallest visible group of a run at one epsilon.

    `columns` and `pairs` are bands of total variation distances of single columns and of pairs of
    columns; `pairs` is None if there is one column. `group` is the size of the smallest group that
    is visible, as a share of all rows, or None. `kept_ties` has the share of trials in which the
    relation of a pair of columns was kept.
    """

    epsilon: float
    columns: Band
    pairs: Band | None
    group: float | None
    kept_ties: Mapping[ColumnPair, float]

    @property
    def lost_ties(self) -> tuple[ColumnPair, ...]:
        """Pairs of columns whose relation is lost even if one column is a function of the other."""
        return tuple(pair for pair, share in self.kept_ties.items() if share < HALF)


@dataclass(frozen=True)
class Forecast:
    """What to expect of a method's runs by epsilon, from public facts alone.

    Attributes
    ----------
    rows : int
        The number of rows of the data set.
    steps : tuple of ExpectedUtility
        What to expect at each simulated epsilon, in ascending order.
    noiseless : ExpectedUtility
        What to expect without noise: the part of each step that rests on made-up tables alone.
    """

    rows: int
    steps: tuple[ExpectedUtility, ...]
    noiseless: ExpectedUtility

    def expected_at(self, epsilon: float) -> ExpectedUtility:
        """Return the expected utility at an epsilon, interpolated between the simulated ones.

        Parameters
        ----------
        epsilon : float
            The epsilon. Between steps, bands and groups lie on lines over its logarithm; outside,
            the nearest step holds.

        Returns
        -------
        ExpectedUtility
            The bands of distances, the smallest visible group, and the relations that are kept.
        """
        epsilon = min(max(epsilon, self.steps[0].epsilon), self.steps[-1].epsilon)
        before = [step for step in self.steps if step.epsilon <= epsilon][-1]
        after = next(step for step in self.steps if step.epsilon >= epsilon)
        whole = math.log(after.epsilon / before.epsilon)
        part = math.log(epsilon / before.epsilon) / whole if whole else 0.0
        near = after if part > 0.5 else before
        pairs = before.pairs.towards(after.pairs, part) if before.pairs and after.pairs else None
        group = near.group if None in (before.group, after.group) else interpolate(before.group, after.group, part)
        columns = before.columns.towards(after.columns, part)
        return ExpectedUtility(epsilon, columns, pairs, group, near.kept_ties)


def interpolate(first: float | None, second: float | None, part: float) -> float:
    """Interpolate between two values on a logarithmic scale, from `part` = 0 to `part` = 1.

    None and values below `LEAST_DISTANCE` count as `LEAST_DISTANCE`.
    """
    return float(max(first or 0.0, LEAST_DISTANCE) ** (1 - part) * max(second or 0.0, LEAST_DISTANCE) ** part)


def forecast(
    method: Synthesizer,
    schema: Schema,
    rows: int,
    *,
    made: int | None = None,
    epsilons: Sequence[float] = EPSILONS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Forecast:
    """Forecast a method's runs on data sets with a given schema and number of rows.

    No row is read, so nothing is charged. The method itself runs, with its own noise, on made-up
    data sets; its releases are compared with them.

    Parameters
    ----------
    method : Synthesizer
        With its parameters, for rows; its epsilon, noise and seed are not used, and it is not
        fitted.
    schema : Schema
        The public schema; its privacy unit is ignored.
    rows : int
        How many rows the data set has: a public number, or a guess.
    made : int, optional
        How many rows are to be sampled; by default as many as `rows`.
    epsilons : sequence of float
        The epsilons to simulate, in ascending order. Default: 0.03 to 10.
    seed : int, default=0
        The same seed gives the same forecast.
    progress : callable, optional
        Called with a fraction and a text; raising inside it cancels.

    Returns
    -------
    Forecast
        What to expect at each epsilon, and between them.

    Raises
    ------
    ParameterError
        If a number is out of range, or the method cannot run on the schema.
    """
    if not is_whole(rows, 1) or not is_whole(made or 1, 1):
        raise ParameterError("A forecast needs a number of rows.", "Give a positive whole number.")
    if not epsilons or sorted({*epsilons}) != list(epsilons) or epsilons[0] <= 0:
        raise ParameterError("The epsilons of a forecast do not ascend.", "Give positive numbers, the smallest first.")
    # one of a row's share of a person's is a fraction, and no parameter
    method = clone(method).set_params(epsilon=1.0)
    method.check(replace(schema, unit=None))
    stage = Stage(method, schema, rows, made or rows, seed)
    steps = []
    for step, epsilon in enumerate((*epsilons, NO_NOISE)):

        def within(part: float, step: int = step, epsilon: float = epsilon) -> None:
            text = AT.format(epsilon=epsilon) if epsilon < NO_NOISE else phrase("without noise")
            progress((step + part) / (len(epsilons) + 1), text)

        steps.append(stage.simulate(epsilon, within))
    return Forecast(rows, tuple(steps[:-1]), steps[-1])


class Stage:
    """Made-up tables of a schema on which a method's runs are simulated.

    `rows` is the number of rows of the real data set, `made` that of a release. Columns of `tables`
    depend on each other more or less; in `trials` one column of each pair is a function of the
    other.
    """

    def __init__(self, method: Synthesizer, schema: Schema, rows: int, made: int, seed: int) -> None:
        self.method, self.schema, self.rows, self.made, self.seed = method, schema, rows, made, seed
        self.chosen = pairs_of(schema, MOST_PAIRS, seed)
        rounds = list(matchings(len(schema)))
        chosen = np.random.default_rng([seed, 1]).permutation(len(rounds))[:TRIALS]
        self.rounds = [rounds[i] for i in np.sort(chosen)]
        self.tables = [
            made_up(schema, self.size(ROWS), strength, self.rng(2, i)) for i, strength in enumerate(STRENGTHS)
        ]
        self.trials = [
            functions(schema, self.size(TRIAL_ROWS), round, self.rng(3, i)) for i, round in enumerate(self.rounds)
        ]

    def rng(self, *step: int) -> np.random.Generator:
        """Return the random generator for a sequence of indices: the same for equal sequences only."""
        return np.random.default_rng([self.seed, *step])

    def size(self, most: int) -> int:
        """Return how many rows to simulate: at most `most`, or all if the method needs all."""
        # Where rows are bought one by one, fewer of them would be another method.
        return self.rows if "rows" in self.method.implied_parameters(self.made) else min(self.rows, most)

    def run(self, codes: Codes, epsilon: float, index: int) -> Codes:
        """Run the method on a made-up table's codes, and return the codes of its release.

        `epsilon` is that for a data set of all rows: for a smaller table it is increased, so that
        noise changes shares as much. `index` is the number of the table, from which the seed
        follows.
        """
        share, count = len(codes) / self.rows, max(round(self.made * len(codes) / self.rows), 1)
        bound = replace(
            self.schema, unit=None, max_rows=max(round((self.schema.max_rows or self.rows) * share), len(codes))
        )
        method = clone(self.method).set_params(noise="laplace", random_state=self.seed + index)
        noiseless = epsilon == NO_NOISE  # of the sizes that it has at an epsilon of 1
        # noise is as large beside this share of the rows as it is beside all of them
        at_share = PrivacyMeasure.from_delta(method.delta).group_epsilon(1.0 if noiseless else epsilon, 1 / share)
        method.set_params(epsilon=at_share)
        method = method.with_epsilon(NO_NOISE) if noiseless else method
        method.set_params(**method.implied_parameters(count))
        frame = bound.decode(codes, self.rng(4, index))
        method.fit(frame, schema=bound, ledger=Ledger(method.relation, delta=method.delta))
        return bound.encode(method.sample(count))

    def simulate(self, epsilon: float, progress: Callable[[float], None] = lambda _: None) -> ExpectedUtility:
        """Return the utility of the simulated runs at an epsilon."""
        alone: list[float] = []
        pairs: list[float] = []
        groups: list[Floats] = []
        steps = len(self.tables) + len(self.trials)
        for i, codes in enumerate(self.tables):
            progress(i / steps)
            released = self.run(codes, epsilon, i)
            for p, q in shares(codes, released, self.schema, [(j,) for j in range(len(self.schema))]):
                alone.append(total_variation(p, q))
                groups.append(np.array([p, np.abs(p - q)]))
            pairs += [total_variation(p, q) for p, q in shares(codes, released, self.schema, self.chosen)]
        tried: dict[tuple[int, int], bool] = {}
        for i, (codes, round) in enumerate(zip(self.trials, self.rounds, strict=True)):
            if epsilon == NO_NOISE:
                break
            progress((len(self.tables) + i) / steps)
            released = self.run(codes, epsilon, len(STRENGTHS) + i)
            for pair, (p, q) in zip(round, shares(codes, released, self.schema, round), strict=True):
                if (real := dependence(p, len(codes))) >= TIED:
                    tried[pair] = kept_tie(p, q) >= HALF * real
        return ExpectedUtility(
            epsilon,
            Band.from_distances(alone),
            Band.from_distances(pairs) if pairs else None,
            smallest_group(np.concatenate(groups, axis=1)),
            self.kept_shares(tried),
        )

    def kept_shares(self, tried: Mapping[tuple[int, int], bool]) -> dict[ColumnPair, float]:
        """Return for every pair of columns in which share of the trials its relation was kept.

        `tried` has, by the positions of two columns, whether their relation was kept. A pair that
        was not tried gets the mean of the most similar pairs.
        """
        if not tried:
            return {}
        schema = self.schema
        target: str | None = getattr(self.method, "target", None) or schema.target

        def looks(pair: tuple[int, int]) -> tuple[float, float]:
            """Return a pair's log number of cells, and a large number if it has the target."""
            cells = math.log(math.prod(schema.sizes[j] for j in pair))
            return cells, UNLIKE * (target in [schema.names[j] for j in pair])

        known = np.array([looks(pair) for pair in tried])
        held = np.array(list(tried.values()), dtype=float)
        found: dict[ColumnPair, float] = {}
        for pair in combinations([j for j, size in enumerate(schema.sizes) if size > 1], 2):
            alike = np.argsort(np.abs(known - looks(pair)).sum(axis=1), kind="stable")[:ALIKE]
            first, second = (schema.names[j] for j in pair)
            found[first, second] = float(tried[pair]) if pair in tried else float(held[alike].mean())
        return found


def shares(
    first: Codes, second: Codes, schema: Schema, families: Sequence[tuple[int, ...]]
) -> list[tuple[Floats, Floats]]:
    """Return the joint shares of each clique of columns in two tables, given as codes.

    `families` has the positions of each clique's columns.
    """
    tables = zip(*(joint_counts(codes, schema.sizes, families) for codes in (first, second)), strict=True)
    return [(p / len(first), q / len(second)) for p, q in tables]


def smallest_group(found: Floats) -> float | None:
    """Return the least group size from which nine of ten groups are off by half at most.

    `found` has, per group, its share of the rows and the error of that share, shape (2, groups).
    None if no size is enough.
    """
    size, off = found[:, found[0] > 0]
    steps = np.ceil(-np.log2(size))
    least = None
    for step in np.unique(steps):
        relative = (off / size)[steps == step]
        if len(relative) >= FEWEST:
            if np.quantile(relative, STANDS) > HALF:
                break
            least = float(2.0**-step)
    return least


def matchings(columns: int) -> Iterator[list[tuple[int, int]]]:
    """Yield pairings of the columns' positions such that each pair occurs once (round-robin)."""
    quantiles = list(range(columns + columns % 2))
    for _ in quantiles[1:]:
        pairs = zip(quantiles[: len(quantiles) // 2], reversed(quantiles), strict=False)
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < columns]
        quantiles.insert(1, quantiles.pop())


def functions(schema: Schema, rows: int, pairs: Sequence[tuple[int, int]], rng: np.random.Generator) -> Codes:
    """Return codes of rows in which one column of each pair is a function of the other.

    `pairs` has positions of columns. Other columns are uniform and independent.
    """
    codes = uniform_codes(schema.sizes, rows, rng)
    for pair in pairs:
        few, many = sorted(pair, key=lambda j: schema.sizes[j])
        rule = rng.permutation(np.arange(schema.sizes[many]) % schema.sizes[few])
        codes[:, few] = rule[codes[:, many]]
    return codes


def made_up(schema: Schema, rows: int, strength: float, rng: np.random.Generator) -> Codes:
    """Return codes of random rows whose columns have varied shapes and depend on common factors.

    `strength`, in [0, 1), is the largest correlation of a column with its factor.
    """
    factors = rng.standard_normal((rng.integers(1, max(len(schema) // 3, 1) + 1), rows))
    codes = np.empty((rows, len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
    for j, column in enumerate(schema):
        loading = strength * rng.random() ** 0.3 * rng.choice((-1, 1))
        score = loading * rng.choice(factors) + (1 - loading**2) ** 0.5 * rng.standard_normal(rows)
        codes[:, j] = np.searchsorted(np.cumsum(marginal_of(column, rng))[:-1], norm.cdf(score))
    return codes


def marginal_of(column: Column, rng: np.random.Generator) -> Floats:
    """Draw the shares of a column's values: a hill if it has an order, else random steps."""
    size = column.size - column.missing
    if column.kind == "categorical":
        shares = rng.permutation((1.0 + np.arange(size)) ** -rng.uniform(0, MOST_STEEP))
    else:
        quantiles = (np.arange(size) + 0.5) / size
        wide = math.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1])))
        shares = np.exp(-(np.abs((quantiles - rng.random()) / wide) ** rng.uniform(PEAKS[0], PEAKS[1]))) + 1e-6
    absent = rng.uniform(0, MOST_MISSING) if column.missing else 0.0
    return np.append(shares / shares.sum() * (1 - absent), [absent] * column.missing)
