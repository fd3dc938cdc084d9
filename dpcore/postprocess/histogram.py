r"""A histogram from noisy counts that says more than each count by itself: a total, no negative counts, smoothness.

Half of it, or less where noise is larger than the mean count, is the nearest histogram of that
total (`simplex.project`), which is best where noise is small. The rest is what is likely where
noise is large. Before anybody looks, a group of neighboring values has equal counts, of a Gamma
distribution of shape a around the mean count; in every group of two values or more, halves share
that count or have groups of their own with even odds (context-tree weighting: Willems, Shtarkov and
Tjalkens 1995); and shapes are equally likely. Categories are not neighbors of each other. Then,
with Laplace or Gaussian noise and a factor exp(-t x) for every count x that makes the expected
counts sum to the total, each count has a distribution, exact but for the grid. All counts are then
the same quantile of theirs, that at which they sum to the total: no other counts with this total
have a smaller expected sum of absolute errors.

Post-processing: no private input, no cost.
"""

from math import sqrt

import numpy as np
from scipy.special import gammainc

from dpcore.accounting.currency import NoiseKind
from dpcore.arguments import Floats
from dpcore.postprocess.simplex import TRACE, project

SHAPES = (0.3, 1.0)
# grid: that many scales at 1/3 of one, then so many points in geometric progression
NEAR, STEPS, FAR = 10.0, 3, 25
STEP = 0.4
AROUND = np.arange(-4.0, 4.01, STEP)  # scales around each noisy count
MANY = 50  # values; beyond, the grid has multiples of a step only
# values times grid; beyond, as with all but no noise on very many values, the nearest is taken
MOST_CELLS = 1_000_000
HALVINGS = 25  # of intervals in which a root is looked for


def likely_histogram(
    noisy: Floats, scale: float, total: float, *, neighbors: int = 0, distribution: NoiseKind = "laplace"
) -> Floats:
    """Positive counts of shape (values,) with that positive sum; the first `neighbors` values are in order."""
    nearest = project(noisy, total)
    if len(noisy) > 1 and np.isfinite(scale) and scale > 0:
        ends = _grid(noisy, scale)
        if len(ends) * len(noisy) <= MOST_CELLS:
            noise = scale * (sqrt(2) if distribution == "laplace" else 1)
            share = max(noise / (noise + total / len(noisy)), 0.5)
            nearest = (1 - share) * nearest + share * _likely(noisy, ends, scale, total, neighbors, distribution)
    found: Floats = nearest + TRACE
    found *= total / found.sum()
    return found


def _likely(
    noisy: Floats, ends: Floats, scale: float, total: float, neighbors: int, distribution: NoiseKind = "laplace"
) -> Floats:
    counts = (ends[1:] + ends[:-1]) / 2
    groups = [*_halves(0, neighbors), *((j, j + 1) for j in range(neighbors, len(noisy)))]
    off = np.abs(noisy[:, None] - counts) / scale
    logs_of_noise = -off if distribution == "laplace" else -(off**2) / 2
    likelihood = np.cumsum(np.vstack([np.zeros(len(counts)), logs_of_noise]), axis=0)
    beliefs = []
    for shape in SHAPES:
        mass = np.maximum(np.diff(gammainc(shape, ends * (shape * len(noisy) / total))), 1e-300)
        logs = np.array([likelihood[last] - likelihood[first] + np.log(mass) for first, last in groups])
        beliefs.append(_Belief(groups, counts, logs, total, scale))
    weights = np.exp([belief.evidence - max(other.evidence for other in beliefs) for belief in beliefs])
    chances = np.tensordot(weights / weights.sum(), [belief.chances(len(noisy)) for belief in beliefs], axes=1)
    below = np.cumsum(chances, axis=1)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found: Floats = np.array([np.interp(middle, row, ends[1:]) for row in below])
        low, high = (middle, high) if found.sum() < total else (low, middle)
    found *= total / max(found.sum(), TRACE)
    return found


def _grid(noisy: Floats, scale: float) -> Floats:
    """Counts between which distributions are worked out, from 0 upwards."""
    top = max(float(noisy.max()) + 12 * scale, 2 * scale)
    even = np.arange(0.0, min(top, NEAR * scale), scale / STEPS)
    far = np.geomspace(NEAR * scale, top, FAR) if top > NEAR * scale else np.empty(0)
    around = noisy[:, None] / scale + AROUND
    if len(noisy) > MANY:
        around = np.unique(np.rint(around / STEP)) * STEP
    return np.unique(np.concatenate([even, far, np.clip(scale * around, 0.0, top).ravel()]))


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    """The group of values first ... last - 1, its halves and theirs, each before those within it."""
    if last - first <= 1:
        return [(first, last)][: last - first]
    middle = (first + last + 1) // 2
    return [(first, last), *_halves(first, middle), *_halves(middle, last)]


class _Belief:
    """What is likely of groups (first value, behind the last) at one shape, with a total.

    `logs` has the logarithm of each group's chance of every count, not normalized. A factor makes
    the expected counts sum to the total.
    """

    def __init__(self, groups: list[tuple[int, int]], counts: Floats, logs: Floats, total: float, scale: float) -> None:
        self.groups, self.counts, self.logs = groups, counts, logs
        self.sizes = np.array([last - first for first, last in groups])
        low, high = -20 / scale, 20 / scale
        for _ in range(HALVINGS):
            factor = (low + high) / 2
            evidence, expected = self._tilted(factor)
            low, high = (factor, high) if expected > total else (low, factor)
        self.evidence = evidence + factor * total

    def _tilted(self, factor: float) -> tuple[float, float]:
        """Evidence and the expected total with a factor; sets the groups' weights."""
        tilted = self.logs - factor * self.sizes[:, None] * self.counts
        best = tilted.max(axis=1)
        chances = np.exp(tilted - best[:, None])
        sums = chances.sum(axis=1)
        self._normal = chances / sums[:, None]
        logs, means = best + np.log(sums), self._normal @ self.counts
        self._weights = np.zeros(len(self.groups))
        evidence, expected, position = 0.0, 0.0, 0
        while position < len(self.groups):
            position, more, mean = self._weigh(position, logs, means)
            evidence, expected = evidence + more, expected + mean
        return evidence, expected

    def _weigh(self, position: int, logs: Floats, means: Floats) -> tuple[int, float, float]:
        """The place behind a group and all within it, their evidence, and the sum of their counts."""
        whole, mean = float(logs[position]), float(means[position] * self.sizes[position])
        if self.sizes[position] == 1:
            self._weights[position] = 1.0
            return position + 1, whole, mean
        middle, first, one = self._weigh(position + 1, logs, means)
        behind, second, other = self._weigh(middle, logs, means)
        evidence = float(np.logaddexp(whole, first + second))
        share = float(np.exp(whole - evidence))
        self._weights[position] = share
        self._weights[position + 1 : behind] *= 1 - share
        return behind, evidence - np.log(2), share * mean + (1 - share) * (one + other)

    def chances(self, values: int) -> Floats:
        """Each value's distribution over the counts."""
        found = np.zeros((values, len(self.counts)))
        for (first, last), weight, normal in zip(self.groups, self._weights, self._normal, strict=True):
            found[first:last] += weight * normal
        return found
