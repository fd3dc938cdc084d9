r"""What a run will be good for, from public facts alone: a rehearsal of it on tables that chance made up.

Nobody can know before a run how far its rows will be off without either a look at the real rows,
which costs, or a guess at them. So the method itself runs, with its own noise, on made-up tables of
the schema, and is measured as a release is. What comes in is a `Schema`, a method that was not
fitted, and numbers that are public; no row can.

The random quantity
    S is the schema, n the number of rows, M the method with its parameters, R its rows. For a column j, and a pair of
    columns j < k,

        E_j = ½ Σ_a |P_j(a) - R_j(a)|,        E_jk = ½ Σ_ab |P_jk(a, b) - R_jk(a, b)|

    with P the shares of the n rows that are fitted on: the distances of the tabs Columns and Pairs.
    Let T be a random table of S and n (`made_up`), M's noise and lots be independent of it, and J
    be a column drawn at random, or JK a pair. The band of the columns is from the 5% to the 95%
    quantile of E_J, the band of the pairs that of E_JK. So nine of ten columns of nine of ten runs,
    taken together, lie within: what is covered is counted over columns (pairs) and runs, and 90% is
    the mean over tables that are like T. Of one table more or fewer may lie within. How many do of
    real tables is measured (`benchmarks.forecast`), and not proved.

Noise and guess
    E_J is at most what noise adds to what M loses without any, by the triangle inequality. Noise is known: its scale
    hangs on epsilon, n and S alone. What M loses without noise hangs on how the columns hang together, which is
    not public; T has tables from nearly independent to strongly tied columns, and their quantiles are a guess. The
    same rehearsal at `NO_NOISE` tells how much of a band is of this kind (`Expected.guess`).

Pairs that will be lost
    A pair counts as lost at an epsilon if its tie would be lost even if one column were a function of the other, in
    most of the rehearsals: the tie is then as strong as it can be, and "lost" is the verdict's own rule
    (`evaluate.verdict`). Tables for it tie all columns two by two. A pair that was not tied in any is judged by the
    pairs of the most similar number of cells.

The smallest group
    A group is the rows with one value of a column. The smallest that stands out is the least share from which on, in
    nine of ten groups of that size and in every larger size, the release is off by half of the group at most. Sizes
    are powers of two.

Epsilons between those that were rehearsed are read off straight lines over log epsilon; below and above them, the
nearest holds. Tables of more than `ROWS` rows are rehearsed with `ROWS` rows and n / `ROWS` times the epsilon: what
noise does to shares hangs on n epsilon alone, for counts exactly, and for choices nearly, as scores of shares have
sensitivities of c / n. The rest of n is in what a sample of it leaves to chance, which is small beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from dpcore.accounting.currency import Currency
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Floats, Progress, is_whole, no_progress
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import MAX_CELLS, subsets
from dpcore.evaluate.verdict import HALF, TIED, apart, kept_tie, tied
from dpcore.experiment.made_up import STRENGTHS, functions, made_up, matchings
from dpcore.language import phrase
from dpcore.methods.base import Synthesizer
from dpcore.rows import joint_counts

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
LEAST = 1e-6  # distance that is told from none

Pair = tuple[str, str]


class Band(NamedTuple):
    """Where nine of ten distances lie, as shares, and the one in the middle."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, distances: Sequence[float]) -> Band:
        """The quantiles of some distances."""
        return cls(*map(float, np.quantile(distances, BAND)))

    def towards(self, other: Band, part: float) -> Band:
        """The band on the way to another one."""
        return Band(*(between(own, theirs, part) for own, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Expected:
    """What to expect of a run at one epsilon.

    `pairs` is None where there is one column; `group` is the smallest group that stands out, as a share of all rows, or
    None if none does; `kept` has the share of trials in which a pair's tie was kept.
    """

    epsilon: float
    columns: Band
    pairs: Band | None
    group: float | None
    kept: Mapping[Pair, float]

    @property
    def lost(self) -> tuple[Pair, ...]:
        """The pairs that are lost even if one column is a function of the other."""
        return tuple(pair for pair, share in self.kept.items() if share < HALF)


@dataclass(frozen=True)
class Forecast:
    """What to expect of a method's runs by epsilon, from public facts alone.

    Attributes
    ----------
    rows : int
        The number of rows of the data set.
    steps : tuple of Expected
        What was rehearsed, in ascending order of epsilon.
    noiseless : Expected
        What to expect if there were no noise: the part of it that is a guess.
    """

    rows: int
    steps: tuple[Expected, ...]
    noiseless: Expected

    def at(self, epsilon: float) -> Expected:
        """Return what to expect at an epsilon.

        Parameters
        ----------
        epsilon : float
            The epsilon. Between steps, bands and groups lie on lines over its logarithm; outside,
            the nearest step holds.

        Returns
        -------
        Expected
            The bands of distances, the smallest group that stands out, and the pairs that are kept.
        """
        epsilon = min(max(epsilon, self.steps[0].epsilon), self.steps[-1].epsilon)
        before = [step for step in self.steps if step.epsilon <= epsilon][-1]
        after = next(step for step in self.steps if step.epsilon >= epsilon)
        whole = math.log(after.epsilon / before.epsilon)
        part = math.log(epsilon / before.epsilon) / whole if whole else 0.0
        near = after if part > 0.5 else before
        pairs = before.pairs.towards(after.pairs, part) if before.pairs and after.pairs else None
        group = near.group if None in (before.group, after.group) else between(before.group, after.group, part)
        columns = before.columns.towards(after.columns, part)
        return Expected(epsilon, columns, pairs, group, near.kept)


def between(first: float | None, second: float | None, part: float) -> float:
    """A value between two others, on a line of logarithms."""
    return float(max(first or 0.0, LEAST) ** (1 - part) * max(second or 0.0, LEAST) ** part)


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
    """Forecast a method's runs on data sets of a schema and so many rows.

    At no privacy loss: it sees no row. The method itself runs, with its own noise, on made-up data
    sets; see the module.

    Parameters
    ----------
    method : Synthesizer
        With its parameters, for rows; its epsilon, noise and seed are not used, and it is not
        fitted.
    schema : Schema
        What is public; that a column says whose row it is does not matter here.
    rows : int
        How many rows the data set has: a public number, or a guess.
    made : int, optional
        How many rows are to be sampled; by default as many.
    epsilons : sequence of float
        What is rehearsed, in ascending order. Default: 0.03 to 10.
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
        If a number is none, or the method cannot run on the schema.
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
    for place, epsilon in enumerate((*epsilons, NO_NOISE)):

        def within(part: float, place: int = place, epsilon: float = epsilon) -> None:
            told = AT.format(epsilon=epsilon) if epsilon < NO_NOISE else phrase("without noise")
            progress((place + part) / (len(epsilons) + 1), told)

        steps.append(stage.expected(epsilon, within))
    return Forecast(rows, tuple(steps[:-1]), steps[-1])


class Stage:
    """The made-up tables of a schema, and the method's rehearsals on them."""

    def __init__(self, method: Synthesizer, schema: Schema, rows: int, made: int, seed: int) -> None:
        self.method, self.schema, self.rows, self.made, self.seed = method, schema, rows, made, seed
        d = len(schema)
        self.chosen = subsets(d, 2, MOST_PAIRS, seed) if d > 1 else []
        self.chosen = [pair for pair in self.chosen if math.prod(schema.sizes[j] for j in pair) <= MAX_CELLS]
        rounds = list(matchings(d))
        lots = np.random.default_rng([seed, 1]).permutation(len(rounds))[:TRIALS]
        self.rounds = [rounds[i] for i in np.sort(lots)]
        self.tables = [
            made_up(schema, self.size(ROWS), strength, self.lots(2, i)) for i, strength in enumerate(STRENGTHS)
        ]
        self.trials = [
            functions(schema, self.size(TRIAL_ROWS), round, self.lots(3, i)) for i, round in enumerate(self.rounds)
        ]

    def lots(self, *place: int) -> np.random.Generator:
        """Lots of their own for every place."""
        return np.random.default_rng([self.seed, *place])

    def size(self, most: int) -> int:
        """How many rows are rehearsed, at most so many."""
        # Where rows are bought one by one, fewer of them would be another method.
        return self.rows if "rows" in self.method.implied(self.made) else min(self.rows, most)

    def run(self, codes: Codes, epsilon: float, place: int) -> Codes:
        """Codes of the rows that the method makes of a table's, at an epsilon for a table of all rows."""
        share, count = len(codes) / self.rows, max(round(self.made * len(codes) / self.rows), 1)
        bound = replace(
            self.schema, unit=None, max_rows=max(round((self.schema.max_rows or self.rows) * share), len(codes))
        )
        method = clone(self.method).set_params(noise="laplace", random_state=self.seed + place)
        noiseless = epsilon == NO_NOISE  # of the sizes that it has at an epsilon of 1
        method.set_params(epsilon=as_much(method, 1.0 if noiseless else epsilon, share))
        method = method.at_epsilon(NO_NOISE) if noiseless else method
        method.set_params(**method.implied(count))
        frame = bound.decode(codes, self.lots(4, place))
        method.fit(frame, schema=bound, ledger=Ledger(method.relation, delta=method.delta))
        return bound.encode(method.sample(count))

    def expected(self, epsilon: float, progress: Callable[[float], None] = lambda _: None) -> Expected:
        """What the rehearsals at an epsilon come to."""
        alone: list[float] = []
        pairs: list[float] = []
        groups: list[Floats] = []
        steps = len(self.tables) + len(self.trials)
        for i, codes in enumerate(self.tables):
            progress(i / steps)
            released = self.run(codes, epsilon, i)
            for p, q in shares(codes, released, self.schema, [(j,) for j in range(len(self.schema))]):
                alone.append(apart(p, q))
                groups.append(np.array([p, np.abs(p - q)]))
            pairs += [apart(p, q) for p, q in shares(codes, released, self.schema, self.chosen)]
        tried: dict[tuple[int, int], bool] = {}
        for i, (codes, round) in enumerate(zip(self.trials, self.rounds, strict=True)):
            if epsilon == NO_NOISE:
                break
            progress((len(self.tables) + i) / steps)
            released = self.run(codes, epsilon, len(STRENGTHS) + i)
            for pair, (p, q) in zip(round, shares(codes, released, self.schema, round), strict=True):
                if (real := tied(p, len(codes))) >= TIED:
                    tried[pair] = kept_tie(p, q) >= HALF * real
        return Expected(
            epsilon,
            Band.of(alone),
            Band.of(pairs) if pairs else None,
            smallest_group(np.concatenate(groups, axis=1)),
            self.kept(tried),
        )

    def kept(self, tried: Mapping[tuple[int, int], bool]) -> dict[Pair, float]:
        """For every pair whether its tie was kept, or how often those of the pairs that are most like it were."""
        if not tried:
            return {}
        schema = self.schema
        target: str | None = getattr(self.method, "target", None) or schema.target

        def looks(pair: tuple[int, int]) -> tuple[float, float]:
            cells = math.log(math.prod(schema.sizes[j] for j in pair))
            return cells, UNLIKE * (target in [schema.names[j] for j in pair])

        known = np.array([looks(pair) for pair in tried])
        held = np.array(list(tried.values()), dtype=float)
        found: dict[Pair, float] = {}
        for pair in combinations([j for j, size in enumerate(schema.sizes) if size > 1], 2):
            alike = np.argsort(np.abs(known - looks(pair)).sum(axis=1), kind="stable")[:ALIKE]
            first, second = (schema.names[j] for j in pair)
            found[first, second] = float(tried[pair]) if pair in tried else float(held[alike].mean())
        return found


def shares(
    first: Codes, second: Codes, schema: Schema, families: Sequence[tuple[int, ...]]
) -> list[tuple[Floats, Floats]]:
    """The joint shares of some columns in two tables."""
    tables = zip(*(joint_counts(codes, schema.sizes, families) for codes in (first, second)), strict=True)
    return [(p / len(first), q / len(second)) for p, q in tables]


def as_much(method: Synthesizer, epsilon: float, share: float) -> float:
    """The epsilon at which noise is as large beside a share of the rows as at this one beside all of them."""
    return Currency.of(method.delta).for_rows(epsilon, 1 / share) if method.delta else epsilon / share


def smallest_group(found: Floats) -> float | None:
    """The least size from which on nine of ten shares are off by half at most; `found` has shares and how far off."""
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
