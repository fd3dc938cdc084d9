"""Sources of noise: exactly sampled noise, NumPy's noise for teaching, and no noise."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import ceil, exp, inf, log
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpcore.accounting.privacy_measure import WIDEST, NoiseKind
from dpcore.arguments import Floats, Ints
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import histograms
from dpcore.mechanisms.noise.draws import (
    LARGEST,
    WORD,
    GroupedSelection,
    Weights,
    check_numpy,
    gaussian,
    is_below,
    laplace,
    random_words,
    uniform_below,
)
from dpcore.mechanisms.noise.histograms import RatioAndExponent, Spread

BLOCK = 1 << 17  # uniform numbers drawn at a time
# relative margin for the rounding of scales and factors in floats, which is far smaller
SPARE = 2.0**-40
BLOCK_BITS = 36  # of a candidate's integer weight in a block, which may have 2^26 candidates
# above this sigma, rounding a continuous Gaussian changes probabilities by under one in 10^6
WIDE_SIGMA = 2.0**10
ROUNDING = 1e-9  # relative; scores this close are equal for a noiseless choice
SEEDED = phrase("NumPy {kind} noise, seeded: for teaching")
UNSEEDED = phrase("NumPy {kind} noise, unseeded: for teaching")


class ScoredCandidates(Protocol):
    """Block of candidates of one selection, with their scores.

    Large selections come in several blocks (`Noise.select_among`).
    """

    @property
    def scores(self) -> Floats:
        """Noiseless scores; private."""

    def weight(self, factor: float) -> float:
        """Return the logarithm of the block's total weight in the exponential mechanism.

        The total weight is the sum of exp(factor * score).
        """


class Noise(ABC):
    """Source of privacy noise: Laplace for runs that count epsilon, Gaussian for runs in rho.

    It adds noise to counts and real values, and selects candidates by the exponential mechanism.
    """

    distribution: NoiseKind = "laplace"
    """Distribution of the noise. A `scale` is the Laplace scale, or the Gaussian sigma."""
    on_counts: str
    """Distribution of the noise added to counts, as the ledger names it."""
    label: str
    """Description of the source, for screens and exports."""
    exactly_sampled: bool = False
    """Whether noise is sampled exactly, without a seed, so that its releases may be published.
    The privacy loss then includes the rounding of scores (`scores`)."""

    @abstractmethod
    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Add symmetric noise to counts and return an array of the same shape.

        P(z) is proportional to exp(-|z| / scale), or to exp(-z^2 / (2 scale^2)) for Gaussian noise.
        """

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        """Add noise to the counts of every table of one query, each table with its own scale.

        The noise is that of `counts`.
        """
        return [self.counts(table, scale) for table, scale in zip(tables, scales, strict=True)]

    def variance(self, scale: float) -> float:
        """Return the variance of the integer noise on one count.

        Laplace: 2q / (1-q)^2 with q = exp(-1/scale). Gaussian: the sum over its integers, or
        sigma^2 for a sigma of 3 and more, where the true variance is less by under one part in
        10^70.
        """
        if self.distribution == "gaussian":
            if scale >= 3:
                return scale * scale
            z, shares = gaussian_probabilities(scale)
            return float(z * z @ shares)
        if scale > WIDEST:
            return 2 * scale * scale
        q = np.exp(-1.0 / scale)
        return float(2 * q / np.expm1(-1.0 / scale) ** 2)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Add K-norm noise to several histograms of the same rows and return the noisy ones.

        One privacy loss covers all histograms: the probability of noise falls by e^-factor per unit
        of its largest L1 norm on a histogram. The noise has the same total in each histogram: 0 if
        `public_total`, because then the number of rows is known.
        """
        if factor == np.inf:
            return [table.astype(float) for table in tables]
        sizes = [table.size for table in tables]
        drawn = histograms.draw(sizes, factor, self._randbelow, self._bernoulli, public_total=public_total)
        return add_noise(tables, drawn)

    def histogram_spreads(self, sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
        """Return approximate standard deviations of K-norm noise, by number of histogram cells.

        `sizes` are the numbers of cells of the histograms that get noise together, as in
        `histograms`.
        """
        return histograms.spreads(sizes, factor, public_total=public_total)

    def _randbelow(self, bound: int) -> int:
        """Draw a uniform integer from 0 to below `bound`, of any size."""
        return secrets.randbelow(bound)

    def _bernoulli(self, near: float, room: float, exactly: Callable[[], RatioAndExponent]) -> bool:
        """Draw an event exactly, from the logarithm `near` of its probability.

        `room` bounds the error of `near`. Where that error could change the outcome, `exactly()`
        returns (ratio, exponent), and the probability is exactly ratio * e^exponent.
        """
        drawn = int(random_words(1)[0])
        low, high = (log(bits) - WORD * log(2) if bits else -inf for bits in (drawn, drawn + 1))
        if abs(near - min(max(near, low), high)) > room:
            return near > high
        return is_below(drawn, *exactly())

    @abstractmethod
    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Add noise of this scale to real values and return an array of the same shape.

        Exactly sampled noise first rounds values to a grid, the numbers origin + integer * grid,
        and its results stay on that grid. Two values with the distance D are then at most D / grid
        + 1 steps apart, and D / grid if both are on the grid.
        """

    @abstractmethod
    def select(self, scores: Floats, factor: float) -> Ints:
        """Select along the last axis by the exponential mechanism; return the indices.

        Index r has a probability proportional to exp(factor * score), where the factor follows from
        the epsilon and the scores' sensitivity.
        """

    @abstractmethod
    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """Select one candidate per group by the exponential mechanism; int array of shape (m,).

        Candidate r has a probability proportional to weight(r) exp(factor * score(r)). Scores,
        groups and weights have the shape (candidates,). `groups` has the group of each candidate, 0
        to m - 1 in increasing order, and none is empty. A candidate of weight 0 is never selected.
        """

    def uniform_integers(self, low: Floats, high: Floats) -> Floats:
        """Draw a uniform integer from every interval [low, high).

        The ends are integers, given as floats; so are the results.
        """
        start = low.astype(np.int64)
        return (start + uniform_below(high.astype(np.int64) - start)).astype(float)

    def uniforms(self, count: int) -> Floats:
        """Draw uniform numbers in [0, 1) that decide which rows are sampled; shape (count,).

        Each has 53 bits from the operating system, because a sample must stay secret. They are
        multiples of 2^-53, so a sampling probability is first rounded to such a multiple, to the
        safe side.
        """
        return (random_words(count) >> np.uint64(11)).astype(float) / WIDEST

    def uniform_blocks(self, count: int) -> Iterator[Floats]:
        """Yield `count` uniform numbers in [0, 1) in blocks; one empty block if `count` is 0.

        A block has at most `BLOCK` numbers.
        """
        return (self.uniforms(min(BLOCK, count - start)) for start in range(0, max(count, 1), BLOCK))

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """Select one candidate among all blocks; return its block and its index in that block.

        The distribution is that of `select` over all scores of all blocks: the exponential
        mechanism.
        """
        scores = np.concatenate([block.scores for block in blocks])
        index = int(self.select(scores if factor else np.zeros_like(scores), factor or 1.0))
        starts = np.cumsum([0, *(len(block.scores) for block in blocks)])
        block = int(np.searchsorted(starts, index, side="right")) - 1
        return block, index - int(starts[block])


class ExactNoise(Noise):
    """Exactly sampled discrete noise, and an exponential mechanism with exact probabilities.

    The module `draws` has the samplers. A scale is taken larger, and a factor smaller, than
    requested, by a relative `SPARE`. So the privacy loss in the ledger is never below the real one,
    however the scale or factor was rounded on its way. A noisy count is an integer, and the answer
    is the nearest float. That rounding is post-processing, also where noise is wider than the
    integers that floats represent.
    """

    exactly_sampled = True
    label = phrase("Exactly sampled discrete noise, from the operating system's entropy")

    def __init__(self, *, distribution: NoiseKind = "laplace") -> None:
        check_numpy()
        self.distribution, self.on_counts = distribution, f"discrete {distribution}"
        self._selections: WeakKeyDictionary[ScoredCandidates, tuple[float, GroupedSelection]] = WeakKeyDictionary()

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Add exactly sampled discrete noise of this scale to counts."""
        return self.many_counts([counts], [scale])[0]

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        """Add exactly sampled discrete noise to every table of a query, each at its own scale."""
        sizes, draw = [t.size for t in tables], laplace if self.distribution == "laplace" else gaussian
        noise = draw(np.repeat([scale * (1 + SPARE) for scale in scales], sizes))
        return add_noise(tables, np.split(noise, np.cumsum(sizes)[:-1]))

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Add exactly sampled K-norm noise to several histograms of the same rows."""
        return super().histograms(tables, factor * (1 - SPARE), public_total=public_total)

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Add exactly sampled noise to real values on the grid of `Noise.reals`."""
        steps = np.rint((values - origin) / grid)
        if not (np.abs(steps) < LARGEST).all():
            raise ParameterError("A value is over 2^62 steps from the grid's origin.", "Use a wider grid.")
        return origin + grid * self.counts(steps.astype(np.int64), scale / grid)

    def select(self, scores: Floats, factor: float) -> Ints:
        """Select along the last axis with the exact probabilities of the exponential mechanism."""
        starts = np.arange(0, scores.size, scores.shape[-1])
        return (make_selection(scores.ravel(), starts, factor).draw() - starts).reshape(scores.shape[:-1])

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """Run one exponential mechanism per group with exact probabilities; return the indices."""
        return make_selection(scores, np.flatnonzero(np.diff(groups, prepend=-1)), factor, weights).draw()

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """Select one candidate among blocks with the exact probabilities of `Noise.select_among`.

        A block b is drawn by the total of its integer weights, totals(b), then an index r within
        the block by its integer weight W(r). If that index is rejected, both are drawn again. So r
        comes with probability proportional to exp(factor best(b)) totals(b) times W(r) / totals(b)
        times 2^bits w(r) / W(r), which is 2^bits exp(factor score(r)). Here best(b) is the block's
        best score, and w(r) = exp(factor (score(r) - best(b))) is the weight that 2^-bits W(r)
        rounds up.
        """
        inner = [self._block_selection(block, factor) for block in blocks]
        totals = np.concatenate([own.totals for own in inner])
        weights = Weights(totals, np.full(len(totals), 1 << 62))
        outer = make_selection(np.concatenate([own.best for own in inner]), np.zeros(1, np.intp), factor, weights)
        while True:
            block = int(outer.draw()[0])
            indices, taken = inner[block].propose(np.zeros(1, np.intp))
            if taken[0]:
                return block, int(indices[0])

    def _block_selection(self, block: ScoredCandidates, factor: float) -> GroupedSelection:
        """Return the sampler of one block's exponential mechanism; it is kept for later queries."""
        known = self._selections.get(block)
        if known is None or known[0] != factor:
            selection = make_selection(block.scores, np.zeros(1, np.intp), factor, bits=BLOCK_BITS)
            known = self._selections[block] = factor, selection
        return known[1]


class NumpyNoise(Noise):
    """Seedable noise from NumPy's generators, for teaching."""

    def __init__(self, rng: Generator, *, discrete: bool, seeded: bool, distribution: NoiseKind = "laplace") -> None:
        self._rng, self._discrete, self.distribution = rng, discrete, distribution
        whole = {"laplace": "geometric", "gaussian": "discrete gaussian"}
        self.on_counts = whole[distribution] if discrete else distribution
        self.label = (SEEDED if seeded else UNSEEDED).format(kind=self.on_counts)

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Add NumPy's noise to counts: real numbers, or integers if the source is discrete."""
        if not self._discrete:
            return self.reals(counts.astype(float), scale, grid=1.0)
        if self.distribution == "gaussian":
            if scale > WIDE_SIGMA:
                return np.rint(counts + self._rng.normal(0.0, scale, counts.shape))
            z, shares = gaussian_probabilities(scale)
            return np.asarray(counts + self._rng.choice(z, counts.shape, p=shares))
        if scale > WIDEST:
            return np.rint(counts + self._rng.laplace(0.0, scale, counts.shape))
        success = -np.expm1(-1.0 / scale)
        # The difference of two geometric variables is two-sided geometric with ratio exp(-1/scale).
        up, down = (self._rng.geometric(success, counts.shape) for _ in range(2))
        return np.asarray(counts + up - down, dtype=float)

    def variance(self, scale: float) -> float:
        """Return the variance of the noise on one count.

        Noise of real numbers has 2 scale^2, or scale^2 if it is Gaussian; integer noise has that of
        `Noise`.
        """
        if self._discrete:
            return super().variance(scale)
        # `scale * scale` overflows to infinity, where `scale**2` would raise
        return (2 if self.distribution == "laplace" else 1) * scale * scale

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Add NumPy's continuous noise of this scale to real values; the grid is ignored."""
        draw = self._rng.laplace if self.distribution == "laplace" else self._rng.normal
        return values + draw(0.0, scale, values.shape)

    def select(self, scores: Floats, factor: float) -> Ints:
        """Run the exponential mechanism along the last axis; return the indices.

        By the Gumbel-max identity: the largest of factor * score plus independent Gumbel noise has
        the mechanism's distribution, without a normalizing sum.
        """
        return np.asarray(np.argmax(factor * scores + self._rng.gumbel(size=scores.shape), axis=-1))

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """Run one exponential mechanism per group by the Gumbel-max identity; return indices."""
        gaps, starts = scores_below_best(scores, groups, weights)
        keys = factor * gaps + self._rng.gumbel(size=scores.shape)
        return group_argmax(keys + log_weights(weights), groups, starts)

    def uniform_integers(self, low: Floats, high: Floats) -> Floats:
        """Draw a uniform integer from every interval [low, high) by NumPy's generator."""
        return self._rng.integers(low.astype(np.int64), high.astype(np.int64)).astype(float)

    def uniforms(self, count: int) -> Floats:
        """Draw independent uniform numbers in [0, 1) by NumPy's generator; shape (count,)."""
        return self._rng.random(count)

    def _randbelow(self, bound: int) -> int:
        """Draw a uniform integer from 0 to below `bound`, of any size, by NumPy's generator."""
        if bound < 1 << 62:
            return int(self._rng.integers(bound))
        bits = bound.bit_length()
        while (found := int.from_bytes(self._rng.bytes(bits // 8 + 1), "little") >> (8 - bits % 8)) >= bound:
            pass
        return found

    def _bernoulli(self, near: float, room: float, exactly: Callable[[], RatioAndExponent]) -> bool:
        """Draw an event by NumPy's generator, with the floating-point probability exp(`near`).

        `room` and `exactly` are not used.
        """
        return self._rng.random() < exp(min(near, 0.0))

    def noiseless(self) -> NoiselessLimit:
        """Return the noiseless source that breaks ties by the same random numbers as this source.

        For comparisons on real data only: nothing that it answers is private.
        """
        return NoiselessLimit(self._rng, discrete=self._discrete, seeded=False, distribution=self.distribution)

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """Select a candidate among blocks by the exponential mechanism; return block and index.

        A block is selected by its total weight, then an index in the block.
        """
        block = int(self.select(np.array([block.weight(factor) for block in blocks]), 1.0))
        return block, int(self.select(blocks[block].scores, factor))


class Noiseless(Noise):
    """Source of answers without noise, which protect no one and are never published."""

    on_counts = "none"
    label = "no noise"

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Return counts without noise, as floats."""
        return counts.astype(float)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Return histograms without noise, as floats."""
        return [table.astype(float) for table in tables]

    def histogram_spreads(self, sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
        """Return standard deviations of 0 for every number of histogram cells."""
        return dict.fromkeys(sizes, Spread(0.0, 0.0))

    def variance(self, scale: float) -> float:
        """Return the variance of no noise: 0."""
        return 0.0

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Return real values without noise."""
        return values


class NoiselessLimit(Noiseless, NumpyNoise):
    """Limit of `NumpyNoise` as epsilon grows: noiseless answers, ties broken at random.

    It draws as many random numbers as `NumpyNoise`, so that the same seed breaks ties alike.
    """

    def __init__(self, rng: Generator, **how: Any) -> None:
        super().__init__(rng, **how)
        self.on_counts, self.label = Noiseless.on_counts, Noiseless.label

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Return counts without noise, after drawing as many random numbers as `NumpyNoise`."""
        NumpyNoise.counts(self, counts, 1.0)
        return super().counts(counts, scale)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Return histograms without noise, after drawing as many random numbers as `NumpyNoise`."""
        NumpyNoise.histograms(self, tables, factor, public_total=public_total)
        return super().histograms(tables, factor, public_total=public_total)

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Return real values without noise, after as many random draws as `NumpyNoise` makes."""
        NumpyNoise.reals(self, values, 1.0, grid=grid, origin=origin)
        return values

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """Select the best candidate of each group; scores that differ by rounding only are tied."""
        keys = self._rng.gumbel(size=scores.shape) + log_weights(weights)
        gaps, starts = scores_below_best(scores, groups, weights)
        tied = gaps >= -ROUNDING * np.maximum(1.0, np.abs(scores))
        return group_argmax(np.where(tied, keys, -np.inf), groups, starts)


class NoNoise(Noiseless):
    """Source without noise that takes the first of equally good candidates.

    It is for the non-private baseline.
    """

    def select(self, scores: Floats, factor: float) -> Ints:
        """Return the index of the largest score along the last axis; the first of equal ones."""
        return np.asarray(np.argmax(scores, axis=-1))

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """Return the index of every group's largest score; the first of equal ones."""
        gaps, starts = scores_below_best(scores, groups, weights)
        return group_argmax(gaps, groups, starts)

    def uniform_integers(self, low: Floats, high: Floats) -> Floats:
        """Return the middle of every interval [low, high), rounded down."""
        return np.floor((low + high) / 2)

    def uniforms(self, count: int) -> Floats:
        """Return evenly spaced numbers in [0, 1), shape (count,)."""
        return np.arange(count) / max(count, 1)


def make_selection(
    scores: Floats, starts: Ints, factor: float, weights: Weights | None = None, bits: int | None = None
) -> GroupedSelection:
    """Return the sampler of exponential mechanisms for groups of candidates.

    Group g begins at `starts[g]`; `weights` and `bits` are as in `GroupedSelection`. The factor is
    made smaller by a relative `SPARE`, and at most the largest float.
    """
    return GroupedSelection(scores, starts, min(factor, sys.float_info.max) * (1 - SPARE), weights, bits)


def add_noise(tables: Sequence[NDArray[np.int64]], noise: Sequence[Ints]) -> list[Floats]:
    """Add integer noise to tables of counts and return the nearest floats, in the tables' shapes.

    `noise` has a flat array for each table.
    """
    added = [(table.ravel() + own).astype(float) for table, own in zip(tables, noise, strict=True)]
    return [cells.reshape(table.shape) for table, cells in zip(tables, added, strict=True)]


def scores_below_best(scores: Floats, groups: Ints, weights: Weights | None) -> tuple[Floats, Ints]:
    """Return each score minus the best score of its group, and where groups start.

    `groups` has the group of each score, in increasing order. Only candidates of positive weight
    can be the best.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    possible = scores if weights is None else np.where(weights.part > 0, scores, -np.inf)
    return possible - group_maxima(possible, starts), starts


def group_maxima(keys: Floats, starts: Ints) -> Floats:
    """Return, for every key, the largest key of its group; group g begins at `starts[g]`."""
    return np.repeat(np.maximum.reduceat(keys, starts), np.diff(starts, append=len(keys)))


def group_argmax(keys: Floats, groups: Ints, starts: Ints) -> Ints:
    """Return the index of every group's largest key; the first one if several are equal.

    `groups` has the group of each key, in increasing order, and group g begins at `starts[g]`.
    """
    best = np.flatnonzero(keys == group_maxima(keys, starts))
    return np.asarray(best[np.flatnonzero(np.diff(groups[best], prepend=-1))])


def gaussian_probabilities(sigma: float) -> tuple[Floats, Floats]:
    """Return the integers that discrete Gaussian noise can be, and their probabilities.

    Integers with a total probability below 10^-30 are left out.
    """
    z = np.arange(-ceil(12 * sigma), ceil(12 * sigma) + 1.0)
    with np.errstate(over="ignore"):
        shares = np.exp(-0.5 * (z / (sigma or 1.0)) ** 2)
    return z, shares / shares.sum()


def log_weights(weights: Weights | None) -> Floats | float:
    """Return the logarithms of weights: -inf for a weight of 0, and 0.0 if there are no weights."""
    if weights is None:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights.part / weights.whole))
