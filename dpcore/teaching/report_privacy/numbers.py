"""What a report about a number gives away."""

from collections.abc import Sequence
from math import isinf, sqrt

import numpy as np
import pandas as pd
from scipy.stats import laplace, norm

from dpcore.mechanisms.randomizers import TRR
from dpcore.mechanisms.randomizers.base import Floats
from dpcore.teaching.report_privacy.answers import believed

REACH, X_CELLS, Y_CELLS = 8.0, 3_000, 500


def linear(a: tuple[float, float], b: tuple[float, float]) -> TRR:
    """TRR with sets of these means and variances; for measures, which take nothing else from the sets."""
    factors, offsets = (mean + sqrt(variance) * np.array([-1.0, 1.0]) for mean, variance in (a, b))
    return TRR(factors=factors, offsets=offsets)


def breach_width(confidence: float, sigma: float) -> float:
    """The paper's BreachWidth: 2 Phi^-1((1 + c) / 2) sigma, the prior's own width, whatever the reports say."""
    return float(2 * norm.ppf((1 + confidence) / 2) * sigma)


def posterior_width(channel: TRR, mean: float, variance: float, confidence: float = 0.95) -> float:
    """How wide the places are, in mean, that hold x with a probability once y is known.

    x is normal. Given y, its density is proportional to N(x; mean, variance) times that of y: with sets,
    N(y; A x + B, S_A^2 x^2 + S_B^2), as if they were normal numbers with the sets' means and variances; with Laplace
    noise, that of the noise around x moved into the bounds. The places are those of the highest density; they may be
    two intervals, because a number times a has lost its sign where a has either. The mean is over y.

    Numerically on a grid of 3,000 x by 500 y; good to about 1 % of the prior's standard deviation.
    """
    sigma = sqrt(variance)
    x, cell = np.linspace(mean - REACH * sigma, mean + REACH * sigma, X_CELLS, retstep=True)
    prior = norm.pdf(x, mean, sigma) * cell
    y = np.unique(np.concatenate([_center(channel, x[:: X_CELLS // Y_CELLS]), _spread(channel, mean, sigma)]))
    posterior = _density(channel, y[:, None], x) * prior
    evidence = posterior.sum(axis=1)
    seen = evidence > 0
    posterior = -np.sort(-posterior[seen] / evidence[seen][:, None], axis=1)
    held = np.cumsum(posterior, axis=1)
    full = (held < confidence).argmin(axis=1)
    rows = np.arange(len(full))
    part = (confidence - held[rows, full] + posterior[rows, full]) / posterior[rows, full]
    return float(np.average((full + part) * cell, weights=evidence[seen] * np.gradient(y)[seen]))


def _center(channel: TRR, x: Floats) -> Floats:
    a, _, b, _ = channel.moments
    return np.asarray(a * np.clip(x, channel.lower, channel.upper) + b, dtype=float)


def _spread(channel: TRR, mean: float, sigma: float) -> Floats:
    """Places of y over all that a normal x makes likely."""
    a, var_a, b, var_b = channel.moments
    width = sqrt((var_a + a**2) * sigma**2 + var_a * mean**2 + var_b)
    return np.asarray(a * mean + b + width * REACH * np.linspace(-1.5, 1.5, Y_CELLS), dtype=float)


def _density(channel: TRR, y: Floats, x: Floats) -> Floats:
    if channel.sets is None:
        return np.asarray(laplace.pdf(y, _center(channel, x), channel.scale), dtype=float)
    _, var_a, _, var_b = channel.moments
    return np.asarray(norm.pdf(y, _center(channel, x), np.sqrt(var_a * x**2 + var_b)), dtype=float)


def _laplace_beyond(place: Floats, scale: float) -> Floats:
    """The logarithm of the probability that Laplace noise is above a place, however far."""
    far, near = np.maximum(place, 0) / scale, np.minimum(place, 0) / scale
    return np.asarray(np.where(place > 0, np.log(0.5) - far, np.log1p(-0.5 * np.exp(near))), dtype=float)


def tail_ratios(channel: TRR, x: float, other: float, beyond: Sequence[float]) -> pd.DataFrame:
    """How much more often |y| is beyond some places with a true number of `other` than of `x`.

    With sets (as if they were normal numbers) the standard deviation sqrt(S_A^2 x^2 + S_B^2) of y grows with |x|, so
    that the ratio has no bound. With Laplace noise its logarithm stays below epsilon |other - x| / (upper - lower).
    """
    place, logs = np.asarray(beyond, dtype=float), []
    for value in (x, other):
        center = _center(channel, np.array([value]))
        if channel.sets is None:
            logs.append(np.logaddexp(*(_laplace_beyond(place - sign * center, channel.scale) for sign in (1, -1))))
            continue
        _, var_a, _, var_b = channel.moments
        deviation = sqrt(var_a * value**2 + var_b)
        logs.append(np.logaddexp(*(norm.logsf(place, sign * center, deviation) for sign in (1, -1))))
    at_x, at_other = logs
    found = {"beyond": place, "at_x": np.exp(at_x), "at_other": np.exp(at_other), "log_ratio": at_other - at_x}
    return pd.DataFrame(found)


def width_measures(channel: TRR, mean: float, variance: float, confidence: float = 0.95) -> pd.DataFrame:
    """Measures of a channel for numbers, of which x is normal, and what each says."""
    claimed, left = breach_width(confidence, sqrt(variance)), posterior_width(channel, mean, variance, confidence)
    epsilon = float(channel.epsilon)
    told = "Some reports are unboundedly more likely for one number than for another: no protection in figures."
    if not isinf(epsilon):
        told = believed(epsilon, "numbers")
    whole = f"{100 * confidence:.0f} % of all numbers: the prior, as if nobody reported."
    kept = f"{100 * confidence:.0f} % of what a number can still be: {100 * (1 - left / claimed):.0f} % narrower."
    rows = [
        ("BreachWidth, as claimed", claimed, whole),
        ("width after the report", left, kept),
        ("epsilon", epsilon, told),
    ]
    return pd.DataFrame(rows, columns=["measure", "value", "sentence"])
