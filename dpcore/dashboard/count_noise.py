"""Noise on a count that one person changes by 1 (sensitivity 1), in two neighboring worlds.

The Gaussian mechanism's delta is that of Balle and Wang 2018 ("Improving the Gaussian mechanism
for differential privacy: analytical calibration and optimal denoising", ICML, theorem 8). The
derivation: the noise is N(0, s^2), and the counts of the two worlds differ by D. In the world
with you, the log ratio L of an answer's densities is normal with mean D^2 / (2 s^2) and variance
D^2 / s^2. In the other world its mean is negative. The smallest delta for an epsilon is the mass
by which one world exceeds e^epsilon times the other,
P_with(L > epsilon) - e^epsilon P_without(L > epsilon), which is

    delta = Phi(D / (2 s) - epsilon s / D) - e^epsilon Phi(-D / (2 s) - epsilon s / D).

It falls as s grows, so a root search finds the smallest s for a delta.
"""

from math import ceil, exp, log, tanh

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import dlaplace, laplace, norm

from dpcore.arguments import Floats

SIGMAS = (1e-3, 1e10)  # standard deviations of all relevant deltas
ABOVE = 1 + 1e-9  # a root may be a little too small


class CountNoise:
    """Noise of one mechanism around a count, for a positive and finite epsilon.

    Laplace: density e^(-|x| epsilon) epsilon / 2. Geometric, or discrete Laplace: whole numbers x
    with probability (1 - a) / (1 + a) a^|x|, a = e^-epsilon. Gaussian: normal noise with the
    smallest standard deviation that is (epsilon, delta)-private; it is never pure epsilon.
    """

    def __init__(self, name: str, epsilon: float, delta: float = 0.0) -> None:
        """Calibrate the mechanism `name` to epsilon and, for Gaussian noise, delta."""
        self.epsilon, self.delta = epsilon, delta if name == "Gaussian" else 0.0
        self.whole = name == "Geometric"  # answers are whole numbers
        self.scale = gaussian_sigma(epsilon, delta) if name == "Gaussian" else 1 / epsilon
        usual = {"Laplace": laplace, "Gaussian": norm}
        self._distribution = dlaplace(epsilon) if self.whole else usual[name](0, self.scale)
        self.deviation = float(self._distribution.std())

    def log_density(self, noise: Floats) -> Floats:
        """Return the log density of noise values, or their log probability for whole numbers."""
        if self.delta:
            return np.asarray(self._distribution.logpdf(noise))
        peak = tanh(self.epsilon / 2) if self.whole else self.epsilon / 2  # SciPy: log 0, far out
        return np.asarray(log(peak) - self.epsilon * np.abs(noise))

    def quantile(self, share: ArrayLike) -> Floats:
        """Return the quantiles of the noise at the probabilities `share`, in (0, 1)."""
        return np.asarray(self._distribution.ppf(share))


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Return the smallest delta for which N(0, sigma^2) noise is (epsilon, delta)-private.

    The noise is on a count that one person changes by 1. `sigma` is its standard deviation.
    """
    half, slope = 1 / (2 * sigma), epsilon * sigma
    return float(max(ndtr(half - slope) - exp(min(epsilon + log_ndtr(-half - slope), 0.0)), 0.0))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the smallest standard deviation of (epsilon, delta)-private normal noise.

    The noise is on a count that one person changes by 1.
    """
    return float(brentq(lambda sigma: gaussian_delta(epsilon, sigma) - delta, *SIGMAS)) * ABOVE


def world_densities(noise: CountNoise, count: int, points: int = 401, *, window: float | None = None) -> pd.DataFrame:
    """Return the densities of answers in both neighboring worlds, one row per answer.

    Parameters
    ----------
    noise
        Noise on the count.
    count
        Count in the world without you; the count with you is larger by 1.
    points
        Number of answers on each grid, if answers are not whole numbers.
    window
        Largest distance of answers from the two counts; 3.6 standard deviations if None.

    Returns
    -------
    `answer`; `without` and `with`, the densities (probabilities of whole numbers) in the worlds;
    `log_ratio` of with to without; `limit_without` and `limit_with`, the smaller of the world's own
    density and e^epsilon times the other world's. The density above its limit sums to delta.
    """
    usual = max(3.6 * noise.deviation, 1.5)
    reach = window or usual
    if noise.whole:
        answers = np.arange(count - ceil(reach), count + ceil(reach) + 2.0)
    else:
        ends = (reach, min(reach, usual))
        spread = [np.linspace(count - far, count + 1 + far, points) for far in ends]
        answers = np.unique(np.concatenate([*spread, [count, count + 0.5, count + 1]]))
    without, with_you = noise.log_density(answers - count), noise.log_density(answers - count - 1)
    found = {
        "answer": answers,
        "without": np.exp(without),
        "with": np.exp(with_you),
        "log_ratio": with_you - without,
        "limit_without": np.exp(np.minimum(without, with_you + noise.epsilon)),
        "limit_with": np.exp(np.minimum(with_you, without + noise.epsilon)),
    }
    return pd.DataFrame(found)


def sample_worlds(noise: CountNoise, count: int, seed: int, size: int = 20) -> pd.DataFrame:
    """Return `size` random answers of each world, with columns `world` and `answer`.

    `world` is "without" or "with" you, and `count` is the count without you; with you, it is larger
    by 1. The seed fixes uniform random numbers, which the noise's quantile function maps to
    answers. Another epsilon therefore moves the same answers nearer to the count or farther from
    it.
    """
    rng = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, size))
    answers = noise.quantile(rng) + np.array([[count], [count + 1]])
    return pd.DataFrame({"world": np.repeat(["without", "with"], size), "answer": answers.ravel()})
