"""Histograms estimated from noisy counts with a known total, without negative counts, and smooth.

Half of the estimate, or less where noise is larger than the mean count, is the nearest histogram of
that total (`simplex.project`), which is best where noise is small. The rest is a posterior
estimate, which is best where noise is large.

Prior: a group of neighboring values has equal counts, with a Gamma distribution of shape a around
the mean count. In every group of two values or more, both halves share that count, or have groups
of their own, with equal probability (context-tree weighting: Willems, Shtarkov and Tjalkens 1995).
The shapes are equally likely. Categories are not neighbors of each other.

Likelihood: Laplace or Gaussian noise, and a factor exp(-t x) for every count x that makes the
expected counts sum to the total. Each count then has a posterior distribution, exact but for the
grid. All counts are the same quantile of their distributions, the one at which they sum to the
total: no other counts with this total have a smaller expected sum of absolute errors.

Post-processing: no private input, no privacy loss.
"""

from math import sqrt

import numpy as np
from scipy.special import gammainc

from dpcore.accounting.privacy_measure import NoiseKind
from dpcore.arguments import Floats
from dpcore.postprocess.simplex import TRACE, project

SHAPES = (0.3, 1.0)
# the grid: STEPS points per scale up to NEAR scales, then FAR points in geometric progression
NEAR, STEPS, FAR = 10.0, 3, 25
STEP = 0.4
AROUND = np.arange(-4.0, 4.01, STEP)  # grid around each noisy count, in scales
MANY = 50  # with more values, grid points around counts are multiples of a step
# values times grid points; above (tiny noise on many values) the nearest histogram is returned
MOST_CELLS = 1_000_000
HALVINGS = 25  # bisection steps


def likely_histogram(
    noisy: Floats, scale: float, total: float, *, n_ordered: int = 0, distribution: NoiseKind = "laplace"
) -> Floats:
    """Estimate a histogram from noisy counts and its total: positive counts of shape (values,).

    `noisy` are counts with noise of this scale and distribution, and `total` is positive. The first
    `n_ordered` values are in order; others are categories.
    """
    nearest = project(noisy, total)
    if len(noisy) > 1 and np.isfinite(scale) and scale > 0:
        ends = _grid(noisy, scale)
        if len(ends) * len(noisy) <= MOST_CELLS:
            noise = scale * (sqrt(2) if distribution == "laplace" else 1)
            share = max(noise / (noise + total / len(noisy)), 0.5)
            quantiles = _quantiles(noisy, ends, scale, total, n_ordered, distribution)
            nearest = (1 - share) * nearest + share * quantiles
    found: Floats = nearest + TRACE
    found *= total / found.sum()
    return found


def _quantiles(noisy: Floats, ends: Floats, scale: float, total: float, n_ordered: int, noise: NoiseKind) -> Floats:
    """Return estimated counts that sum to `total`, shape (values,), from posterior distributions.

    They are one and the same quantile of every count's posterior distribution, given its noisy
    count. `ends` are the ends of the grid intervals on which counts are considered; the other
    parameters are those of `likely_histogram`.
    """
    counts = (ends[1:] + ends[:-1]) / 2
    groups = [*_nested_halves(0, n_ordered), *((j, j + 1) for j in range(n_ordered, len(noisy)))]
    off = np.abs(noisy[:, None] - counts) / scale
    logs_of_noise = -off if noise == "laplace" else -(off**2) / 2
    likelihood = np.cumsum(np.vstack([np.zeros(len(counts)), logs_of_noise]), axis=0)
    beliefs = []
    for shape in SHAPES:
        mass = np.maximum(np.diff(gammainc(shape, ends * (shape * len(noisy) / total))), 1e-300)
        logs = np.array([likelihood[last] - likelihood[first] + np.log(mass) for first, last in groups])
        beliefs.append(_Posterior(groups, counts, logs, total, scale))
    evidence = np.array([belief.evidence for belief in beliefs])
    weights = np.exp(evidence - evidence.max())
    each = [belief.distributions(len(noisy)) for belief in beliefs]
    below = np.cumsum(np.tensordot(weights / weights.sum(), each, axes=1), axis=1)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found: Floats = np.array([np.interp(middle, row, ends[1:]) for row in below])
        low, high = (middle, high) if found.sum() < total else (low, middle)
    found *= total / max(found.sum(), TRACE)
    return found


def _grid(noisy: Floats, scale: float) -> Floats:
    """Return the ends of grid intervals for counts, increasing from 0.

    They are denser near 0 and around the noisy counts, in units of the noise's scale.
    """
    top = max(float(noisy.max()) + 12 * scale, 2 * scale)
    even = np.arange(0.0, min(top, NEAR * scale), scale / STEPS)
    far = np.geomspace(NEAR * scale, top, FAR) if top > NEAR * scale else np.empty(0)
    around = noisy[:, None] / scale + AROUND
    if len(noisy) > MANY:
        around = np.unique(np.rint(around / STEP)) * STEP
    return np.unique(np.concatenate([even, far, np.clip(scale * around, 0.0, top).ravel()]))


def _nested_halves(first: int, last: int) -> list[tuple[int, int]]:
    """Return the group of values first ... last - 1, its halves and their halves, depth first.

    A group is a pair: its first value, and the value after its last.
    """
    if last - first <= 1:
        return [(first, last)][: last - first]
    middle = (first + last + 1) // 2
    return [(first, last), *_nested_halves(first, middle), *_nested_halves(middle, last)]


class _Posterior:
    """Posterior of the counts of groups of values, for one shape of the prior and a known total.

    A group is a pair: its first value, and the value after its last. `logs` has the logarithm of
    each group's unnormalized probability of every count per value. These are multiplied by
    exp(-factor * sum of the counts), with the factor at which the expected counts sum to the total.
    """

    def __init__(self, groups: list[tuple[int, int]], counts: Floats, logs: Floats, total: float, scale: float) -> None:
        self.groups, self.counts, self.logs = groups, counts, logs
        self.sizes = np.array([last - first for first, last in groups])
        low, high = -20 / scale, 20 / scale
        for _ in range(HALVINGS):
            factor = (low + high) / 2
            evidence, expected = self._evidence_and_total(factor)
            low, high = (factor, high) if expected > total else (low, factor)
        self.evidence = evidence + factor * total

    def _evidence_and_total(self, factor: float) -> tuple[float, float]:
        """Return the log evidence and the expected total for `factor`; set the groups' weights."""
        tilted = self.logs - factor * self.sizes[:, None] * self.counts
        best = tilted.max(axis=1)
        distributions = np.exp(tilted - best[:, None])
        sums = distributions.sum(axis=1)
        self._normal = distributions / sums[:, None]
        logs, means = best + np.log(sums), self._normal @ self.counts
        self._weights = np.zeros(len(self.groups))
        evidence, expected, position = 0.0, 0.0, 0
        while position < len(self.groups):
            position, more, mean = self._set_weights(position, logs, means)
            evidence, expected = evidence + more, expected + mean
        return evidence, expected

    def _set_weights(self, position: int, logs: Floats, means: Floats) -> tuple[int, float, float]:
        """Set the weights of a group of values and of all groups within it.

        `position` is the group's position, depth first; `logs` and `means` have each group's log
        evidence and expected count per value. Returns the position after these groups, their log
        evidence, and the expected sum of their counts.
        """
        whole, mean = float(logs[position]), float(means[position] * self.sizes[position])
        if self.sizes[position] == 1:
            self._weights[position] = 1.0
            return position + 1, whole, mean
        middle, first, one = self._set_weights(position + 1, logs, means)
        behind, second, other = self._set_weights(middle, logs, means)
        evidence = float(np.logaddexp(whole, first + second))
        self._weights[position] = share = float(np.exp(whole - evidence))
        self._weights[position + 1 : behind] *= 1 - share
        return behind, evidence - np.log(2), share * mean + (1 - share) * (one + other)

    def distributions(self, values: int) -> Floats:
        """Return each value's distribution over the grid's counts, shape (values, counts).

        The parameter `values` is the number of values.
        """
        found = np.zeros((values, len(self.counts)))
        for (first, last), weight, normal in zip(self.groups, self._weights, self._normal, strict=True):
            found[first:last] += weight * normal
        return found
