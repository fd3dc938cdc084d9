"""NumPy's noise, what it tends to as epsilon grows, and no noise at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import exp

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import WIDEST, Law
from dpcore.arguments import Floats, Ints
from dpcore.language import phrase
from dpcore.mechanisms.noise.base import LOTS, Noise, Scored, behind_the_best, best_of_groups
from dpcore.mechanisms.noise.draws import Weights
from dpcore.mechanisms.noise.histograms import Spread

# a sigma: beyond, rounding moves a Gaussian's probabilities by less than one in 10^12
ROUNDED = 2.0**20
ROUNDING = 1e-9  # relative; scores this close are equal for a noiseless choice

SEEDED = phrase("NumPy {kind} noise, seeded: for teaching")
UNSEEDED = phrase("NumPy {kind} noise, unseeded: for teaching")


class NumpyNoise(Noise):
    """Seedable noise for teaching."""

    def __init__(self, rng: np.random.Generator, *, discrete: bool, seeded: bool, law: Law = "laplace") -> None:
        self._rng = rng
        self._discrete = discrete
        self.law = law
        self.on_counts = law if not discrete else "geometric" if law == "laplace" else "discrete gaussian"
        self.label = (SEEDED if seeded else UNSEEDED).format(kind=self.on_counts)

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        if not self._discrete:
            return self.reals(counts.astype(float), scale, grid=1.0)
        if self.law == "gaussian":
            return (counts + self._whole_gaussian(scale, counts.size).reshape(counts.shape)).astype(np.float64)
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
        return (2 if self.law == "laplace" else 1) * scale * scale

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        draw = self._rng.laplace if self.law == "laplace" else self._rng.normal
        return values + draw(0.0, scale, values.shape)

    def _whole_gaussian(self, sigma: float, count: int) -> Floats:
        """As `draws.gaussian` does it, in floating point; a rounded Gaussian where that is as good."""
        if sigma > ROUNDED:
            return np.rint(self._rng.normal(0.0, sigma, count))
        found, open_ = np.zeros(count), np.arange(count)
        wide = np.floor(sigma) + 1
        success = -np.expm1(-1.0 / wide)
        while len(open_):
            up, down = self._rng.geometric(success, len(open_)), self._rng.geometric(success, len(open_))
            offered = (up - down).astype(float)
            with np.errstate(over="ignore"):
                far = (np.abs(offered) - sigma * (sigma / wide)) / sigma
                taken = self._rng.random(len(open_)) < np.exp(-0.5 * far**2)
            found[open_[taken]] = offered[taken]
            open_ = open_[~taken]
        return found

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
        return NoiselessLimit(self._rng, discrete=self._discrete, seeded=False, law=self.law)

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
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

    def __init__(self, rng: np.random.Generator, *, discrete: bool, seeded: bool, law: Law = "laplace") -> None:
        super().__init__(rng, discrete=discrete, seeded=seeded, law=law)
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

    def lots_by_blocks(self, count: int) -> Iterator[Floats]:
        return (np.arange(start, min(start + LOTS, count)) / count for start in range(0, count, LOTS))


def log_of(weights: Weights | None) -> Floats | float:
    """Logarithms of weights; -inf where there is none."""
    if weights is None:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights.part / weights.whole))
