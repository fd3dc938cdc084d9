"""Noise on a count that one person changes by 1 (sensitivity 1), seen from two neighboring worlds.

The Gaussian mechanism's delta is that of Balle and Wang 2018 ("Improving the Gaussian mechanism for
differential privacy: analytical calibration and optimal denoising", ICML, theorem 8). Its
derivation in short: with noise N(0, s^2) and two worlds that are D apart, the log ratio of an
answer is normal with mean D^2 / (2 s^2) and variance D^2 / s^2 in the world with you, and with the
negative mean in the other one. The smallest delta for an epsilon is the mass by which one world
exceeds e^epsilon times the other, P_with(L > epsilon) - e^epsilon P_without(L > epsilon), which is

    delta = Phi(D / (2 s) - epsilon s / D) - e^epsilon Phi(-D / (2 s) - epsilon s / D).

It falls as s grows, so the smallest s for a delta is found by bisection.
"""

from functools import cached_property
from math import ceil, exp, inf, isfinite, log, tanh
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, ndtr
from scipy.stats import dlaplace, laplace, norm

from dpcore.arguments import Floats
from dpcore.errors import ParameterError

HALVINGS = 200
MECHANISMS = ("Laplace", "Geometric", "Gaussian")


class CountNoise:
    """Noise around a count, for a positive and finite epsilon.

    Laplace: density e^(-|x| epsilon) epsilon / 2. Geometric, or discrete Laplace: whole numbers x with probability
    (1 - a) / (1 + a) a^|x|, a = e^-epsilon. Gaussian: normal noise with the smallest standard deviation that is
    (epsilon, delta)-private; never pure epsilon.
    """

    def __init__(self, name: str, epsilon: float, delta: float = 0.0) -> None:
        if name not in MECHANISMS:
            raise ParameterError("This mechanism is not known.", f"Choose one of {', '.join(MECHANISMS)}.")
        if not 0 < epsilon < inf:
            raise ParameterError("Noise needs an epsilon above 0 that is finite.", "Choose such an epsilon.")
        self.name, self.epsilon, self.delta = name, epsilon, delta if name == "Gaussian" else 0.0
        self.whole = name == "Geometric"  # whether answers are whole numbers

    @cached_property
    def scale(self) -> float:
        """What the noise is drawn with: its scale, or its standard deviation."""
        return gaussian_sigma(self.epsilon, self.delta) if self.name == "Gaussian" else 1 / self.epsilon

    @cached_property
    def _distribution(self) -> Any:
        return (
            dlaplace(self.epsilon) if self.whole else {"Laplace": laplace, "Gaussian": norm}[self.name](0, self.scale)
        )

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(self._distribution.std())

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of the density of noise; of its probability for whole numbers, minus infinity between them."""
        if self.name == "Gaussian":
            return np.asarray(self._distribution.logpdf(noise))
        peak = tanh(self.epsilon / 2) if self.whole else self.epsilon / 2  # SciPy has the logarithm of 0, far out
        found = log(peak) - self.epsilon * np.abs(noise)
        return np.where(noise == np.round(noise), found, -inf) if self.whole else found

    def quantile(self, share: Floats) -> Floats:
        """The smallest noise that is not exceeded with that probability, in (0, 1)."""
        return np.asarray(self._distribution.ppf(share))

    def within(self, share: float = 0.95) -> float:
        """The smallest distance from the truth that is not exceeded with at least that probability."""
        return float(self.quantile(np.array((1 + share) / 2)))


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The smallest delta for which normal noise is (epsilon, delta)-private; see the module."""
    half, slope = 1 / (2 * sigma), epsilon * sigma
    return float(max(ndtr(half - slope) - exp(min(epsilon + log_ndtr(-half - slope), 0.0)), 0.0))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The smallest standard deviation for which normal noise is (epsilon, delta)-private; none has delta 0."""
    if not (epsilon >= 0 and isfinite(epsilon) and 0 < delta < 1):
        raise ParameterError(
            "Normal noise needs a finite epsilon of 0 or more, and a delta above 0 and below 1.",
            "Give such numbers; for delta 0 use Laplace or geometric noise.",
        )
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if gaussian_delta(epsilon, middle) > delta else (low, middle)
    return high


def worlds(noise: CountNoise, count: int, places: int = 401, *, window: float | None = None) -> pd.DataFrame:
    """Both worlds' densities (probabilities for whole numbers) around a count, and their log ratio, one row per answer.

    A world's limit is the smaller of its density and e^epsilon times the other's; what it has above sums to delta.
    Answers are as far from both counts as the `window` says, or as far as nearly all noise goes.
    """
    usual = max(3.6 * noise.deviation, 1.5)
    reach = usual if window is None else window
    if noise.whole:
        answers = np.arange(count - ceil(reach), count + 1 + ceil(reach) + 1, dtype=float)
    else:
        corners = [count, count + 0.5, count + 1]
        spread = [np.linspace(count - far, count + 1 + far, places) for far in {reach, min(reach, usual)}]
        answers = np.unique(np.concatenate([*spread, corners]))
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

    The seed fixes the lots, not the answers: with another epsilon the same lots give answers nearer or farther.
    """
    lots = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, (2, size))
    answers = noise.quantile(lots) + np.array([[count], [count + 1]])
    return pd.DataFrame({"world": np.repeat(["without", "with"], size), "answer": answers.ravel()})
