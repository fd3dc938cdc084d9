"""Noise on a count that one person changes by 1 (sensitivity 1), seen from two neighboring worlds.

The Gaussian mechanism's delta is that of Balle and Wang 2018 ("Improving the Gaussian mechanism for
differential privacy: analytical calibration and optimal denoising", ICML, theorem 8). Its
derivation in short: with noise N(0, s^2) and two worlds that are D apart, the log ratio of an
answer is normal with mean D^2 / (2 s^2) and variance D^2 / s^2 in the world with you, and with the
negative mean in the other one. The smallest delta for an epsilon is the mass by which one world
exceeds e^epsilon times the other, P_with(L > epsilon) - e^epsilon P_without(L > epsilon), which is

    delta = Phi(D / (2 s) - epsilon s / D) - e^epsilon Phi(-D / (2 s) - epsilon s / D).

It falls as s grows, so the smallest s for a delta is found by a search.
"""

from math import ceil, exp, log, tanh

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import dlaplace, laplace, norm

from dpcore.arguments import Floats

SIGMAS = (1e-3, 1e10)  # of all deltas that matter
ABOVE = 1 + 1e-9  # what a search finds may be a little too small


class CountNoise:
    """Noise around a count, for a positive and finite epsilon.

    Laplace: density e^(-|x| epsilon) epsilon / 2. Geometric, or discrete Laplace: whole numbers x
    with probability (1 - a) / (1 + a) a^|x|, a = e^-epsilon. Gaussian: normal noise with the
    smallest standard deviation that is (epsilon, delta)-private; never pure epsilon.
    """

    def __init__(self, name: str, epsilon: float, delta: float = 0.0) -> None:
        self.epsilon, self.delta = epsilon, delta if name == "Gaussian" else 0.0
        self.whole = name == "Geometric"  # whether answers are whole numbers
        self.scale = gaussian_sigma(epsilon, delta) if name == "Gaussian" else 1 / epsilon
        usual = {"Laplace": laplace, "Gaussian": norm}
        self._distribution = dlaplace(epsilon) if self.whole else usual[name](0, self.scale)
        self.deviation = float(self._distribution.std())

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of the density of noise; of its probability for whole numbers."""
        if self.delta:
            return np.asarray(self._distribution.logpdf(noise))
        peak = tanh(self.epsilon / 2) if self.whole else self.epsilon / 2  # SciPy has the logarithm of 0, far out
        return np.asarray(log(peak) - self.epsilon * np.abs(noise))

    def quantile(self, share: ArrayLike) -> Floats:
        """The smallest noise that is not exceeded with that probability, in (0, 1)."""
        return np.asarray(self._distribution.ppf(share))


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The smallest delta for which normal noise is (epsilon, delta)-private; see the module."""
    half, slope = 1 / (2 * sigma), epsilon * sigma
    return float(max(ndtr(half - slope) - exp(min(epsilon + log_ndtr(-half - slope), 0.0)), 0.0))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The smallest standard deviation of (epsilon, delta)-private normal noise."""
    return float(brentq(lambda sigma: gaussian_delta(epsilon, sigma) - delta, *SIGMAS)) * ABOVE


def worlds(noise: CountNoise, count: int, places: int = 401, *, window: float | None = None) -> pd.DataFrame:
    """Both worlds' densities (probabilities for whole numbers) around a count, and their log ratio, one row per answer.

    A world's limit is the smaller of its density and e^epsilon times the other's; what it has above
    sums to delta. Answers are as far from both counts as the `window` says, or as far as nearly all
    noise goes.
    """
    usual = max(3.6 * noise.deviation, 1.5)
    reach = window or usual
    if noise.whole:
        answers = np.arange(count - ceil(reach), count + ceil(reach) + 2.0)
    else:
        ends = (reach, min(reach, usual))
        spread = [np.linspace(count - far, count + 1 + far, places) for far in ends]
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


def draws(noise: CountNoise, count: int, seed: int, size: int = 20) -> pd.DataFrame:
    """So many answers of each world: `world` ("without" or "with"), `answer`.

    The seed fixes the lots, not the answers: with another epsilon the same lots give answers nearer
    or farther.
    """
    rng = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, size))
    answers = noise.quantile(rng) + np.array([[count], [count + 1]])
    return pd.DataFrame({"world": np.repeat(["without", "with"], size), "answer": answers.ravel()})
