"""Sources of noise: what each can do, exactly sampled noise, NumPy's for teaching, and none at all."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, exp, inf, log
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import WIDEST, NoiseKind
from dpcore.arguments import Floats, Ints
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import histograms
from dpcore.mechanisms.noise.draws import (
    LARGEST,
    WORD,
    DrawnChoice,
    Weights,
    check_numpy,
    gaussian,
    is_below,
    laplace,
    uniform,
    words,
)
from dpcore.mechanisms.noise.histograms import Spread

LOTS = 1 << 17  # that are drawn at a time
# relative; scales and factors are worked out in floats, whose rounding is far less
SPARE = 2.0**-40
BITS = 36  # of a candidate's weight in a block, of which there may be 2^26
# a sigma: beyond, rounding moves a Gaussian's probabilities by less than one in 10^6
ROUNDED = 2.0**10
ROUNDING = 1e-9  # relative; scores this close are equal for a noiseless choice
SEEDED = phrase("NumPy {kind} noise, seeded: for teaching")
UNSEEDED = phrase("NumPy {kind} noise, unseeded: for teaching")


class ScoredCandidates(Protocol):
    """Some candidates of one choice."""

    @property
    def scores(self) -> Floats:
        """Noiseless scores. Private."""

    def weight(self, factor: float) -> float:
        """log of the sum of exp(factor * score)."""


class Noise(ABC):
    """A source of privacy noise, of one law: a run in epsilon draws Laplace noise, one in rho Gaussian noise."""

    distribution: NoiseKind = "laplace"
    """Of the noise on counts and values. A `scale` is Laplace's, or the Gaussian's sigma."""
    on_counts: str
    """The distribution added to counts, as the ledger names it."""
    label: str
    """The source in words, for screens and exports."""
    exactly_sampled: bool = False
    """Whether its releases may leave the classroom: what it draws is sampled exactly, and nobody knows a seed. The
    floating point of scores is then paid for as well (`scores`)."""

    @abstractmethod
    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Counts plus symmetric noise; same shape.

        P(z) is proportional to exp(-|z| / scale), or to exp(-z^2 / (2 scale^2)).
        """

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        """`counts` for every table of one question, each with a scale of its own."""
        return [self.counts(table, scale) for table, scale in zip(tables, scales, strict=True)]

    def variance(self, scale: float) -> float:
        """The variance of the noise on one count, for whole numbers.

        Laplace: 2q / (1-q)^2 with q = exp(-1/scale). Gaussian: by its sum, from a sigma of 3 on
        sigma^2, of which it lacks less than one in 10^70.
        """
        if self.distribution == "gaussian":
            if scale >= 3:
                return scale * scale
            z, shares = gaussian_shares(scale)
            return float(z * z @ shares)
        if scale > WIDEST:
            return 2 * scale * scale
        q = np.exp(-1.0 / scale)
        return float(2 * q / np.expm1(-1.0 / scale) ** 2)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Tables of the same rows with noise for all at once, which is of one total: 0 if that is public."""
        if factor == np.inf:
            return [table.astype(float) for table in tables]
        sizes = [table.size for table in tables]
        drawn = histograms.draw(sizes, factor, self._below, self._lot, public_total=public_total)
        return sums(tables, drawn)

    def histogram_spreads(self, sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
        """About how large that noise is, by the histogram's size."""
        return histograms.spreads(sizes, factor, public_total=public_total)

    def _below(self, bound: int) -> int:
        """A uniform whole number from 0 to below a bound."""
        return secrets.randbelow(bound)

    def _lot(self, near: float, room: float, exactly: Callable[[], tuple[Fraction, Fraction]]) -> bool:
        """Whether something happens (`histograms.Lot`)."""
        drawn = int(words(1)[0])
        low, high = (log(bits) - WORD * log(2) if bits else -inf for bits in (drawn, drawn + 1))
        if abs(near - min(max(near, low), high)) > room:
            return near > high
        return is_below(drawn, *exactly())

    @abstractmethod
    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Real values plus noise of that scale; same shape.

        Exactly sampled noise moves values to the nearest of the numbers origin + whole number *
        grid first, and stays on them: two values that are D apart are then at most D / grid + 1
        steps apart, and D / grid if both are on the grid.
        """

    @abstractmethod
    def select(self, scores: Floats, factor: float) -> Ints:
        """Exponential mechanism along the last axis: index r with probability proportional to exp(factor * score)."""

    @abstractmethod
    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """One exponential mechanism per group, r with probability proportional to weight(r) exp(factor * score(r)).

        Scores, groups and weights are of shape (candidates,), and the chosen places of shape (m,).
        Groups are 0 to m - 1 in increasing order, and each has a candidate; one of weight 0 is
        never chosen.
        """

    def between(self, low: Floats, high: Floats) -> Floats:
        """A uniform whole number of every interval [low, high), whose ends are whole numbers as well."""
        start = low.astype(np.int64)
        return (start + uniform(high.astype(np.int64) - start)).astype(float)

    def lots(self, count: int) -> Floats:
        """Independent uniform numbers of [0, 1) that decide which rows are in a sample, shape (count,).

        53 bits each from the operating system: a sample has to stay secret. They are multiples of 2^-53, so that
        whoever compares them with a probability rounds it to one of these first, to the safe side.
        """
        return (words(count) >> np.uint64(11)).astype(float) / WIDEST

    def lots_by_blocks(self, count: int) -> Iterator[Floats]:
        """The same numbers, some at a time, and once if there are none."""
        return (self.lots(min(LOTS, count - start)) for start in range(0, max(count, 1), LOTS))

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """`select` over all scores of some blocks: the block, and the place in it."""
        scores = np.concatenate([block.scores for block in blocks])
        index = int(self.select(scores if factor else np.zeros_like(scores), factor or 1.0))
        starts = np.cumsum([0, *(len(block.scores) for block in blocks)])
        block = int(np.searchsorted(starts, index, side="right")) - 1
        return block, index - int(starts[block])


class ExactNoise(Noise):
    """Exactly sampled discrete noise, and the exponential mechanism with exact probabilities (`draws`).

    A scale is taken larger, and a factor smaller, than was asked for by a relative `SPARE`: what is
    booked for them is never less than what they cost, however they were rounded on their way here.
    A noisy count is a whole number, of which an answer is the nearest float: that is
    post-processing, also where noise is wider than floats are exact.
    """

    exactly_sampled = True
    label = phrase("Exactly sampled discrete noise, from the operating system's entropy")

    def __init__(self, *, distribution: NoiseKind = "laplace") -> None:
        check_numpy()
        self.distribution, self.on_counts = distribution, f"discrete {distribution}"
        self._known: WeakKeyDictionary[ScoredCandidates, tuple[float, DrawnChoice]] = WeakKeyDictionary()

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        return self.many_counts([counts], [scale])[0]

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        sizes, many = [table.size for table in tables], laplace if self.distribution == "laplace" else gaussian
        wider = [scale * (1 + SPARE) for scale in scales]
        return sums(tables, np.split(many(np.repeat(wider, sizes)), np.cumsum(sizes)[:-1]))

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        return super().histograms(tables, factor * (1 - SPARE), public_total=public_total)

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """See `Noise.reals`; on the grid."""
        steps = np.rint((values - origin) / grid)
        if not (np.abs(steps) < LARGEST).all():
            raise ParameterError("Numbers are further from the grid's origin than 2^62 steps.", "Use a wider grid.")
        return origin + grid * self.counts(steps.astype(np.int64), scale / grid)

    def select(self, scores: Floats, factor: float) -> Ints:
        starts = np.arange(0, scores.size, scores.shape[-1])
        return (choice(scores.ravel(), starts, factor).draw() - starts).reshape(scores.shape[:-1])

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        return choice(scores, np.flatnonzero(np.diff(groups, prepend=-1)), factor, weights).draw()

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """See `Noise.select_among`.

        A block is drawn by what its integer weights amount to, then a place in it; if that is not
        taken, all begins again. A place in block b comes with probability proportional to
        exp(factor best(b)) totals(b) times W(r) / totals(b) times 2^bits w(r) / W(r), which is
        2^bits exp(factor score(r)).
        """
        known = [self._choice_of(block, factor) for block in blocks]
        totals = np.array([int(choice.totals[0]) for choice in known])
        weights = Weights(totals, np.full(len(totals), 1 << 62))
        among = choice(np.array([float(choice.best[0]) for choice in known]), np.zeros(1, np.intp), factor, weights)
        while True:
            block = int(among.draw()[0])
            indices, taken = known[block].propose(np.zeros(1, np.intp))
            if taken[0]:
                return block, int(indices[0])

    def _choice_of(self, block: ScoredCandidates, factor: float) -> DrawnChoice:
        """The block's integer weights; blocks are asked again and again while a network grows."""
        known = self._known.get(block)
        if known is None or known[0] != factor:
            known = self._known[block] = factor, choice(block.scores, np.zeros(1, np.intp), factor, bits=BITS)
        return known[1]


class NumpyNoise(Noise):
    """Seedable noise for teaching."""

    def __init__(
        self, rng: np.random.Generator, *, discrete: bool, seeded: bool, distribution: NoiseKind = "laplace"
    ) -> None:
        self._rng = rng
        self._discrete = discrete
        self.distribution = distribution
        self.on_counts = (
            distribution if not discrete else "geometric" if distribution == "laplace" else "discrete gaussian"
        )
        self.label = (SEEDED if seeded else UNSEEDED).format(kind=self.on_counts)

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        if not self._discrete:
            return self.reals(counts.astype(float), scale, grid=1.0)
        if self.distribution == "gaussian":
            if scale > ROUNDED:
                return np.rint(counts + self._rng.normal(0.0, scale, counts.shape))
            z, shares = gaussian_shares(scale)
            return np.asarray(counts + self._rng.choice(z, counts.shape, p=shares))
        if scale > WIDEST:
            return np.rint(counts + self._rng.laplace(0.0, scale, counts.shape))
        success = -np.expm1(-1.0 / scale)
        # The difference of two geometric variables is two-sided geometric with the same ratio exp(-1/scale).
        up, down = self._rng.geometric(success, counts.shape), self._rng.geometric(success, counts.shape)
        return (counts + up - down).astype(np.float64)

    def variance(self, scale: float) -> float:
        """See `Noise.variance`; 2 scale^2, or the Gaussian's scale^2, for continuous noise."""
        if self._discrete:
            return super().variance(scale)
        # infinite, where a power would raise
        return (2 if self.distribution == "laplace" else 1) * scale * scale

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        draw = self._rng.laplace if self.distribution == "laplace" else self._rng.normal
        return values + draw(0.0, scale, values.shape)

    def select(self, scores: Floats, factor: float) -> Ints:
        """See `Noise.select`; drawn by the Gumbel-max identity, which needs no normalizing sum."""
        return np.asarray(np.argmax(factor * scores + self._rng.gumbel(size=scores.shape), axis=-1))

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """See `Noise.select_grouped`; by the Gumbel-max identity."""
        behind, starts = behind_the_best(scores, groups, weights)
        keys = factor * behind + self._rng.gumbel(size=scores.shape)
        return best_of_groups(keys + log_of(weights), groups, starts)

    def between(self, low: Floats, high: Floats) -> Floats:
        return self._rng.integers(low.astype(np.int64), high.astype(np.int64)).astype(float)

    def lots(self, count: int) -> Floats:
        return self._rng.random(count)

    def _below(self, bound: int) -> int:
        if bound < 1 << 62:
            return int(self._rng.integers(bound))
        bits = bound.bit_length()
        while (found := int.from_bytes(self._rng.bytes(bits // 8 + 1), "little") >> (8 - bits % 8)) >= bound:
            pass
        return found

    def _lot(self, near: float, room: float, exactly: Callable[[], tuple[Fraction, Fraction]]) -> bool:
        return self._rng.random() < exp(min(near, 0.0))

    def noiseless(self) -> NoiselessLimit:
        """The same numbers drawn, to no effect but which of equal candidates is chosen."""
        return NoiselessLimit(self._rng, discrete=self._discrete, seeded=False, distribution=self.distribution)

    def select_among(self, blocks: Sequence[ScoredCandidates], factor: float) -> tuple[int, int]:
        """See `Noise.select_among`: first the block by its total weight, then a place in it; the same distribution."""
        block = int(self.select(np.array([block.weight(factor) for block in blocks]), 1.0))
        return block, int(self.select(blocks[block].scores, factor))


class Noiseless(Noise):
    """Noiseless answers."""

    on_counts = "none"
    label = "no noise"

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        return counts.astype(float)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        return [table.astype(float) for table in tables]

    def histogram_spreads(self, sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
        return dict.fromkeys(sizes, Spread(0.0, 0.0))

    def variance(self, scale: float) -> float:
        return 0.0

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        return values


class NoiselessLimit(Noiseless, NumpyNoise):
    """What `NumpyNoise` tends to as epsilon grows: noiseless answers, and lots among the best candidates.

    It draws what the other draws, so that the same seed gives the same lots.
    """

    def __init__(
        self, rng: np.random.Generator, *, discrete: bool, seeded: bool, distribution: NoiseKind = "laplace"
    ) -> None:
        super().__init__(rng, discrete=discrete, seeded=seeded, distribution=distribution)
        self.on_counts, self.label = Noiseless.on_counts, Noiseless.label

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        NumpyNoise.counts(self, counts, 1.0)
        return super().counts(counts, scale)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        NumpyNoise.histograms(self, tables, factor, public_total=public_total)
        return super().histograms(tables, factor, public_total=public_total)

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        NumpyNoise.reals(self, values, 1.0, grid=grid, origin=origin)
        return values

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """See `Noise.select_grouped`; scores that differ by rounding alone are equal."""
        keys = self._rng.gumbel(size=scores.shape) + log_of(weights)
        behind, starts = behind_the_best(scores, groups, weights)
        tied = behind >= -ROUNDING * np.maximum(1.0, np.abs(scores))
        return best_of_groups(np.where(tied, keys, -np.inf), groups, starts)


class NoNoise(Noiseless):
    """Noiseless answers, and the best candidate (the first of them): for the reference without privacy only."""

    def select(self, scores: Floats, factor: float) -> Ints:
        return np.asarray(np.argmax(scores, axis=-1))

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        behind, starts = behind_the_best(scores, groups, weights)
        return best_of_groups(behind, groups, starts)

    def between(self, low: Floats, high: Floats) -> Floats:
        return np.floor((low + high) / 2)

    def lots(self, count: int) -> Floats:
        return np.arange(count) / max(count, 1)


def choice(
    scores: Floats, starts: Ints, factor: float, weights: Weights | None = None, bits: int | None = None
) -> DrawnChoice:
    """Exactly sampled choices for no more than was asked for, also where that is beyond any float."""
    return DrawnChoice(scores, starts, min(factor, sys.float_info.max) * (1 - SPARE), weights, bits)


def sums(tables: Sequence[NDArray[np.int64]], noise: Sequence[Ints]) -> list[Floats]:
    """Tables plus whole noise, of which each table has as many numbers as cells; the nearest floats."""
    added = [(table.ravel() + own).astype(float) for table, own in zip(tables, noise, strict=True)]
    return [cells.reshape(table.shape) for table, cells in zip(tables, added, strict=True)]


def behind_the_best(scores: Floats, groups: Ints, weights: Weights | None) -> tuple[Floats, Ints]:
    """How far each score is below the best of its group that weighs anything, and where groups start."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    possible = scores if weights is None else np.where(weights.part > 0, scores, -np.inf)
    return possible - best_in_groups(possible, starts), starts


def best_in_groups(keys: Floats, starts: Ints) -> Floats:
    """For each key the largest one of its group."""
    return np.repeat(np.maximum.reduceat(keys, starts), np.diff(starts, append=len(keys)))


def best_of_groups(keys: Floats, groups: Ints, starts: Ints) -> Ints:
    """The place of every group's largest key, the first of equal ones."""
    best = np.flatnonzero(keys == best_in_groups(keys, starts))
    return np.asarray(best[np.flatnonzero(np.diff(groups[best], prepend=-1))])


def gaussian_shares(sigma: float) -> tuple[Floats, Floats]:
    """Whole numbers that discrete Gaussian noise may be, but for one in 10^30, and their probabilities."""
    z = np.arange(-ceil(12 * sigma), ceil(12 * sigma) + 1.0)
    with np.errstate(over="ignore"):
        shares = np.exp(-0.5 * (z / (sigma or 1.0)) ** 2)
    return z, shares / shares.sum()


def log_of(weights: Weights | None) -> Floats | float:
    """Logarithms of weights; -inf where there is none."""
    if weights is None:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights.part / weights.whole))
