"""Estimates of plain statistics from noisy sums, with intervals of the noise and of sampling.

Every estimate is a function g of noisy sums x. Three intervals of 90 % surround it:

noise     contains the statistic of the private rows. The same noise e is drawn again, many times;
          g(x + e) - g(x) shows how far the noise moves the estimate (the basic bootstrap).
sampling  the population that the rows are a random sample of, as if there were no noise: from the
          large-sample variance of the statistic, and for counts and shares by Wilson's formula. A
          person's rows may be alike; then the variance is at most `cluster` times as large, the
          most rows of a person (Cauchy-Schwarz). Totals S over n rows have the variance cluster Q -
          S^2 / n at most, with Q the sum of squares, because n is at least the number of persons.
both      the population, with noise: both variations are added.

If the noise is integers, the interval of an estimate that is no integer could just miss one of them:
it is widened by half of what one more row in a cell changes.

An estimate whose number of rows is below `FEWEST` standard deviations of its own noise is too
small to tell: its intervals are the whole range of possible values. Post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from dpcore.accounting.privacy_measure import NoiseKind
from dpcore.arguments import Floats
from dpcore.mechanisms.noise import NumpyNoise, generator

LEVEL = 0.9
Z = 1.6449  # of the normal distribution, for an interval of `LEVEL`
DRAWS = 8_191  # of the noise, for its quantiles
FEWEST = 6.0
TINY = 1e-9  # numbers of rows, or variances, that are 0 but for rounding
Interval = tuple[float, float]
Function = Callable[[Floats], Floats]


class StatisticEstimate(NamedTuple):
    """An estimate, its three intervals, and whether too few rows were there to tell."""

    value: float
    noise: Interval
    sampling: Interval
    both_errors: Interval
    too_few: bool = False

    def divided_by(self, many: int) -> StatisticEstimate:
        """Return the estimate and its intervals divided by a number."""
        first, second, third = (
            (low / many, high / many) for low, high in (self.noise, self.sampling, self.both_errors)
        )
        return StatisticEstimate(self.value / many, first, second, third, self.too_few)


class DrawnNoise(NamedTuple):
    """Noise of one measurement, which is drawn again: its scale, distribution and steps.

    `scale` is in units of 1. With `whole`, the noise is integers in steps of 1 / `grid`.
    """

    scale: float
    distribution: NoiseKind
    whole: bool
    grid: int = 1
    draws: int = DRAWS

    @property
    def step(self) -> float:
        """Distance between values of the noise; 0 if any value may occur."""
        return 1 / self.grid if self.whole else 0.0

    def again(self, cells: int) -> Floats:
        """Return draws of the noise of some sums, the same at every call: shape (draws, cells)."""
        return draw_again(self, cells)


@lru_cache(maxsize=32)
def draw_again(noise: DrawnNoise, cells: int) -> Floats:
    """Return draws of the noise of `cells` sums; infinite if the noise has no finite scale."""
    if not np.isfinite(noise.scale):
        return np.full((noise.draws, cells), inf)
    scale, rng = noise.scale * noise.grid, generator(0, 9)
    discrete = noise.whole and scale < 1e6
    source = NumpyNoise(rng, discrete=discrete, seeded=True, distribution=noise.distribution)
    return source.counts(np.zeros((noise.draws, cells), dtype=np.int64), scale) / noise.grid


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums of one group of rows, shape (cells,), and the noise drawn again around them.

    `step` is the distance between values of the noise, if it is not small. `total` is the public
    number that the sums add up to, or None.
    """

    sums: Floats
    again: Floats
    step: float = 0.0
    total: float | None = None

    def __post_init__(self) -> None:
        """Spread what the sums differ from their public total over all of them, noise too."""
        if self.total is not None:
            spread = (self.total - self.sums.sum()) / len(self.sums)
            object.__setattr__(self, "sums", self.sums + spread)
            object.__setattr__(self, "again", self.again - self.again.mean(axis=1, keepdims=True))

    def estimate(
        self,
        function: Function,
        variance: Function,
        least: Sequence[Function],
        within: Interval,
        center: Function | None = None,
    ) -> StatisticEstimate:
        """Return the estimate `function` of the sums, with its intervals.

        `variance` estimates the sampling variance of the estimate. Each function of `least`, such
        as the number of rows, must be well above its noise. `within` are the bounds of possible
        values, and `center` is the middle of the sampling interval if it is not the estimate. One
        standard deviation of the noise is added to the sampling variance.
        """
        noisy = self.sums + self.again
        hidden = not np.isfinite(self.again).all() or any(
            float(own(self.sums)) < max(FEWEST * float(np.std(own(noisy))), TINY) for own in least
        )
        if hidden:
            return StatisticEstimate(np.nan, within, within, within, True)
        value = float(function(self.sums))
        middle = value if center is None else float(center(self.sums))
        deviations = np.sort(function(noisy) - value)
        likely = max(float(variance(self.sums)), 0.0) + float(np.std(variance(noisy)))
        spread = sqrt(likely)
        normal = generator(0, 8).standard_normal(len(deviations)) * spread
        both = np.sort(generator(0, 7).permutation(deviations) + normal)
        more = np.abs(function(self.sums + self.step * np.eye(len(self.sums))) - value).max() / 2 if self.step else 0.0
        own = [basic_interval(at, found, float(more), within) for at, found in ((value, deviations), (middle, both))]
        sampling = clip_pair(middle - Z * spread, middle + Z * spread, within)
        return StatisticEstimate(float(np.clip(value, *within)), own[0], sampling, own[1])


def public_estimate(known: float) -> StatisticEstimate:
    """Return the estimate of a number that is public: all intervals are that number."""
    return StatisticEstimate(known, (known, known), (known, known), (known, known))


def count_estimate(noisy: float, noise: DrawnNoise, rows: float | None, cluster: int = 1) -> StatisticEstimate:
    """Return the estimate of a count of rows among `rows`; None stands for a count of all rows.

    Of a count of all rows there is no sampling error. Counts that the noise may hide have no value.
    """
    more = cluster * Z**2

    def center(x: Floats) -> Floats:
        """Return the middle of Wilson's interval: between the count and half of the rows."""
        total = rows or 1.0
        return np.asarray((np.maximum(x[..., 0], 0.0) + more / 2) * total / (total + more))

    def variance(x: Floats) -> Floats:
        """Return the sampling variance at the middle of Wilson's interval."""
        if rows is None:
            return np.zeros(x.shape[:-1])
        return np.asarray(np.maximum(cluster * center(x) - center(x) ** 2 / rows, 0.0))

    sums = NoisySums(np.array([float(noisy)]), noise.again(1))
    found = sums.estimate(lambda x: x[..., 0], variance, (), (0.0, inf), None if rows is None else center)
    hidden = found.too_few or float(noisy) < Z * float(np.std(sums.again))
    return found._replace(value=np.nan, sampling=found.both_errors, too_few=True) if hidden else found


def share_estimate(sums: NoisySums, cluster: int) -> StatisticEstimate:
    """Return the estimate of a share, from counts of the rows with and without the value.

    The sampling interval is Wilson's: it is centered between the share and 1/2, and never empty.
    """
    more = cluster * Z**2

    def rows(x: Floats) -> Floats:
        """Return the number of rows, from both counts."""
        return np.asarray(x.sum(axis=-1))

    def center(x: Floats) -> Floats:
        """Return the middle of Wilson's interval, from both counts."""
        kept = np.maximum(x, 0.0)
        return np.asarray((kept[..., 0] + more / 2) / (rows(kept) + more))

    def variance(x: Floats) -> Floats:
        """Return the sampling variance at the middle of Wilson's interval."""
        return np.asarray(cluster * center(x) * (1 - center(x)) / (rows(np.maximum(x, 0.0)) + more))

    return sums.estimate(lambda x: ratio(x[..., 0], rows(x)), variance, (rows,), (0.0, 1.0), center)


def basic_interval(middle: float, deviations: Floats, more: float, within: Interval) -> Interval:
    """Return the interval of `LEVEL` around an estimate, `more` wider at both ends.

    `deviations` are those of the estimate by the noise, in increasing order.
    """
    last = len(deviations) - 1
    at = int(last * (1 - LEVEL) / 2)
    low, high = middle - float(deviations[last - at]), middle - float(deviations[at])
    return clip_pair(low - more, high + more, within)


def clip_pair(low: float, high: float, within: Interval) -> Interval:
    """Return an interval inside the bounds of possible values."""
    return float(np.clip(low, *within)), float(np.clip(high, *within))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return the quotient of noisy sums; the divisor is at least a tenth of a row."""
    return np.asarray(part / np.maximum(whole, 0.1))


def mean(raw: Floats) -> Floats:
    """Return the mean of t, from sums of its powers (last axis)."""
    return ratio(raw[..., 1], raw[..., 0])


def central_moments(raw: Floats) -> Floats:
    """Return the mean and the central moments 2 to d of t, from sums of its powers (last axis)."""
    m = [ratio(raw[..., i], raw[..., 0]) for i in range(raw.shape[-1])]
    found = [m[1], m[2] - m[1] ** 2]
    if len(m) > 4:
        found.append(m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3)
        found.append(m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4)
    return np.stack(found, axis=-1)


def mean_variance(raw: Floats) -> Floats:
    """Return the sampling variance of the mean of t, from sums of its powers (last axis)."""
    return np.maximum(central_moments(raw)[..., 1], 0.0) / np.maximum(raw[..., 0], 1.0)


def variance_variance(raw: Floats) -> Floats:
    """Return the sampling variance of the variance of t, from sums of powers 0 to 4."""
    centered = central_moments(raw)
    return np.maximum(centered[..., 3] - centered[..., 1] ** 2, 0.0) / np.maximum(raw[..., 0], 1.0)


def sum_variance(raw: Floats, low: float, width: float, rows: float, cluster: int) -> Floats:
    """Return the sampling variance of the sum of low + width t, of a group among `rows` rows."""
    total = low * raw[..., 0] + width * raw[..., 1]
    squares = low**2 * raw[..., 0] + 2 * low * width * raw[..., 1] + width**2 * raw[..., 2]
    return np.maximum(cluster * squares - total**2 / max(rows, 1.0), 0.0)


def slope(raw: Floats) -> Floats:
    """Return the least-squares slope of u on t, from sums of t^i u^k (last two axes)."""
    m = raw / np.maximum(raw[..., :1, :1], 0.1)
    spread = np.maximum(m[..., 2, 0] - m[..., 1, 0] ** 2, 1e-9)
    return np.asarray((m[..., 1, 1] - m[..., 1, 0] * m[..., 0, 1]) / spread)


def slope_variance(raw: Floats) -> Floats:
    """Return the sampling variance of `slope`, whatever the residuals' distribution by t.

    It is E[(t - mean)^2 e^2] / (rows Var(t)^2) for residuals e, expanded in powers of t and u.
    """
    rows = np.maximum(raw[..., 0, 0], 1.0)
    m, b = raw / rows[..., None, None], slope(raw)
    mean = m[..., 1, 0]
    a, spread = m[..., 0, 1] - b * mean, np.maximum(m[..., 2, 0] - mean**2, 1e-9)
    residual: dict[tuple[int, int], Floats | float] = {}  # (u - a - b t)^2, by the powers of t and u
    residual |= {(0, 0): a * a, (0, 1): -2 * a, (0, 2): 1.0, (1, 0): 2 * a * b, (1, 1): -2 * b, (2, 0): b * b}
    weight: dict[int, Floats | float] = {0: mean**2, 1: -2 * mean, 2: 1.0}  # (t - mean)^2
    found = np.zeros(rows.shape)
    for (i, outer), ((j, k), inner) in product(weight.items(), residual.items()):
        found = found + outer * inner * m[..., i + j, k]
    return np.asarray(np.maximum(found, 0.0) / (rows * spread**2))


@dataclass(frozen=True)
class RankCounts:
    """Noisy numbers of rows between thresholds in the order of a column's numbers, of one group.

    `counts` has one more entry than there are thresholds. `variance` is that of the noise on each
    count, and `total` the public number of rows, or None.
    """

    counts: Floats
    variance: float
    total: float | None
    cluster: int

    @property
    def rows(self) -> float:
        """Number of rows, public or noisy."""
        return float(self.counts.sum()) if self.total is None else self.total

    @property
    def too_few(self) -> bool:
        """Whether there are no rows, or noise hides whether there are.

        The tests of `ends` are right for few rows, too; then the interval is wide.
        """
        if not np.isfinite(self.variance):
            return True
        return self.rows < (1.0 if self.total is not None else 2 * sqrt(self.variance * len(self.counts)))

    def excess(self, rank: float) -> tuple[Floats, Floats]:
        """Return by how many rows each threshold is above a rank, and the noise's variance."""
        below, many = np.cumsum(self.counts)[:-1], len(self.counts)
        i = np.arange(1, many)
        if self.total is None:
            return below - rank * self.rows, self.variance * (i * (1 - rank) ** 2 + (many - i) * rank**2)
        spread = (self.total - self.counts.sum()) * i / many
        return below + spread - rank * self.total, self.variance * i * (many - i) / many

    def ends(self, rank: float, *, noise: bool, sampling: bool) -> tuple[int, int]:
        """Return the thresholds between which the quantile lies: -1 for none below, or above.

        Every threshold is tested: is the quantile above it? From the lowest threshold on, tests are
        made until one fails; so an interval is wrong only if the test of the first threshold above
        the quantile is. The same from the highest threshold down.
        """
        excess, variance = self.excess(rank)
        own = self.cluster * max(self.rows, 1.0) * rank * (1 - rank)
        half_width = Z * np.sqrt(noise * variance + sampling * own)
        below, above = excess + half_width <= 0, excess - half_width >= 0
        low = int(np.argmin(np.append(below, False)))
        high = int(np.argmin(np.append(above[::-1], False)))
        return low - 1, len(excess) - high if high else -1

    def estimate(
        self, rank: float, point: tuple[Floats, Floats], numbers: Callable[[int, int], Interval]
    ) -> StatisticEstimate:
        """Return the estimate of a quantile.

        `point` has the lowest and the highest number at the selected threshold, and `numbers`
        returns those between two thresholds, as `ends` has them.
        """
        within, (first, last) = numbers(-1, -1), map(float, point)
        if self.too_few:
            return StatisticEstimate(np.nan, within, within, within, True)
        kinds = (True, False), (False, True), (True, True)
        found = [numbers(*self.ends(rank, noise=noise, sampling=more)) for noise, more in kinds]
        around = [(min(low, first), max(high, last)) for low, high in found]
        return StatisticEstimate((first + last) / 2, around[0], around[1], around[2])
