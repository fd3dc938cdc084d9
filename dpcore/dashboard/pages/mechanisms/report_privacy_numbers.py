"""What one randomized report reveals, in the measures of papers, computed from public rules alone.

Breach (paper 004, section 6.1): "the probability that the original is reconstructed or predicted",

    P(true) P(identified | true) + P(false) P(identified | false) P(restored).

ERRPH tells the truth with probability p_0. The truth is identified with probability
p_0 / (p_0 + p_j), because p_j of the drawn reports have the same value, and a drawn report restores
nothing. So Breach is p_0^2 / (p_0 + p_j). With equal p_j it is k p_0^2 / ((k - 1) p_0 + 1), and
2 p_0^2 / (1 + p_0) for two values. Warner's truth is identified with probability p and a lie with
1 - p. A lie about two values restores the truth, so Breach is p^2 + (1 - p)^2. The two curves cross
at 1 / sqrt 2, where p_0 = p.

Breach depends on how a rule is worded, not on what the rule does. RRPH(1/2) and Warner(3/4) are the
same channel, but their Breaches are 1/3 and 5/8. In both, a guess that takes the report for the
truth is right with probability 3/4.

Best guess: where all k values are equally frequent, the guess that maximizes P(report | i) is right
with probability 1/k sum over reports of max_i P(report | i). With equal p_j that is p_0 + p_j.
Without a report it is 1/k.

Epsilon bounds the odds of every pair of values, for every prior: 50:50 becomes at most e^epsilon to
1.

BreachWidth (paper 004, section 6.1): the width of the interval that holds x with probability c,
from the prior of x alone, 2 Phi^-1((1 + c) / 2) sigma. That claims that the report y reveals
nothing. The width that remains after y is that of the posterior, see `posterior_width`. The paper
finds BreachWidth as wide as DTCRD's normal noise, and wider than its uniform noise. That compares a
width of x with a width of noise. It holds if both have the variance sigma^2: 2 x .95 root 3 = 3.29
against 3.92 at c = .95. The posteriors' widths are in the same order.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.polynomial.polynomial import polypow
from scipy.special import factorial
from scipy.stats import laplace, norm, uniform

from dpcore.arguments import Floats
from dpcore.language import phrase
from dpcore.mechanisms.randomizers import ERRPH, TRR, AdditiveNoise, KeepOrDraw, Warner

Moments: TypeAlias = tuple[float, float]
"""A mean and a variance."""

SURE = 0.95
SETTINGS = tuple(np.linspace(0, 1, 61).tolist())  # of curves
NORMAL = norm.ppf((np.arange(40) + 0.5) / 40)
NORMAL /= NORMAL.std()
REACH, X_CELLS, Y_CELLS = 8.0, 3_000, 500  # of a posterior: prior deviations, grid cells


def breach(channel: ERRPH | Warner) -> Floats:
    """Return the Breach of every value, the privacy measure of paper 004, shape (size,).

    It depends on how the channel is worded: Warner's rule, or truth with probability p0.
    """
    if isinstance(channel, Warner):
        return np.full(2, channel.p**2 + (1 - channel.p) ** 2)
    return channel.p0**2 / (channel.p0 + channel.base)


def best_guess(channel: KeepOrDraw) -> float:
    """Return how often the best guess from one report is right, at equally frequent values."""
    return float(np.clip(channel.matrix.max(axis=1).sum() / channel.size, 1 / channel.size, 1.0))


def repeated_reports(channel: KeepOrDraw, reports: Sequence[int]) -> pd.DataFrame:
    """Return how often the most frequent of many independent reports of one person is the truth.

    All wrong values of the channel must be equally probable. The frame has one row per number of
    reports: `reports`, `right`, `kept` and `epsilon`.

    The attack takes the most frequent of t reports for the truth, and breaks ties at random. Let
    the truth i be reported m times. The attack is right with probability 1/(1 + s) if s other
    values tie and none is more frequent. As 1/(1 + s) is the integral of u^s over [0, 1], and
    reports are multinomial, the probability is

        sum_m t! (P_i^m / m!) int_0^1 [x^(t - m)]
            prod_{j != i} (sum_{n < m} (P_j x)^n / n! + u (P_j x)^m / m!) du.

    The integrand is a polynomial in u of degree k - 1, so that Gauss's quadrature is exact. Epsilon
    composes to t epsilon. The remedy is to draw once, keep the report, and give the same report
    ever after (`kept`): then t reports are one.
    """
    right = [_mode_is_truth(channel, many) for many in reports]
    found = pd.DataFrame({"reports": reports, "right": right, "kept": channel.matrix[0, 0]})
    return found.assign(epsilon=found["reports"] * float(channel.epsilon))


def _mode_is_truth(channel: KeepOrDraw, reports: int) -> float:
    """Return the probability that the most frequent of a person's `reports` reports is the truth.

    Ties are broken at random.
    """
    truth, lie = channel.matrix[:2, 0]
    counts = np.arange(reports + 1)
    own, others = (chance**counts / factorial(counts) for chance in (truth, lie))
    nodes, weights = np.polynomial.legendre.leggauss(channel.size // 2 + 1)
    total = 0.0
    for m, (node, weight) in product(counts, zip(nodes, weights, strict=True)):
        below = polypow([*others[:m], (node + 1) / 2 * others[m]], channel.size - 1)
        if reports - m < len(below):
            total += weight / 2 * own[m] * below[reports - m]
    return min(float(total * factorial(reports)), 1.0)


def measure_curves(settings: Sequence[float] = SETTINGS, *, size: int = 2) -> pd.DataFrame:
    """Return Breach and best guess of three rules at the same probabilities of the truth.

    RRPH and Warner's rule randomize a yes or no, ERRPH one of `size` values; ERRPH is included if
    `size` exceeds 2. Warner's curve starts at 1/2: below, the rule is the same with yes and no
    exchanged. The frame has the columns `series`, `setting`, `epsilon`, `measure` and `value`.
    """
    rules: dict[str, Callable[[float], ERRPH | Warner]] = {
        "RRPH": lambda setting: ERRPH(2, p0=setting),
        "Warner": lambda setting: Warner(p=setting),
    }
    if size > 2:
        rules[phrase("ERRPH, {size:,} values").format(size=size)] = lambda p0: ERRPH(size, p0=p0)
    rows = []
    for (name, rule), setting in product(rules.items(), settings):
        if name != "Warner" or setting >= 0.5:
            channel = rule(setting)
            known = name, setting, float(channel.epsilon)
            rows.append((*known, phrase("Breach"), float(breach(channel).max())))
            rows.append((*known, phrase("Best guess is right"), best_guess(channel)))
    return pd.DataFrame(rows, columns=["series", "setting", "epsilon", "measure", "value"])


# Numbers


def linear_randomizer(a: Moments, b: Moments) -> TRR:
    """Return the TRR randomizer y = a x + b with sets of the given means and variances.

    `a` and `b` are (mean, variance) of the set from which the factor and the offset are drawn. The
    randomizer is for measures that use only means and variances of the two sets.
    """
    factors, offsets = (mean + sqrt(variance) * np.array([-1.0, 1.0]) for mean, variance in (a, b))
    return TRR(factors=factors, offsets=offsets)


def standard_errors(a: Moments, b: Moments, numbers: Moments, people: int) -> list[float]:
    """Return the standard errors of the mean and of the variance estimated from `people` reports.

    A report is y = a x + b. The arguments `a`, `b` and `numbers` (of x) are (mean, variance); each
    is normal and represented by 40 quantiles (paper 004, section 6.2). The error of the variance is
    computed as published.
    """
    factors, offsets, true = (mean + sqrt(variance) * NORMAL for mean, variance in (a, b, numbers))
    channel, reports = TRR(factors=factors, offsets=offsets), np.add.outer(np.outer(factors, true), offsets).ravel()
    of_mean = channel.mean_variance(reports) * len(reports) / people
    return [sqrt(of_mean), channel.variance_error(reports, people)]


def posterior_width(channel: TRR, mean: float, variance: float, sure: float = SURE) -> float:
    """Return the mean width of the set that holds a number with probability `sure`, by its report.

    The number x is normal with `mean` and `variance`. Given the report y, the density of x is
    proportional to N(x; mean, variance) times the density of y given x. If the channel has sets,
    with means A and B and variances S_A^2 and S_B^2 of factors and offsets, that is N(y; A x + B,
    S_A^2 x^2 + S_B^2), as if the sets were normal numbers. With Laplace noise, y has the noise
    around x clipped to the bounds. The set holds the highest density. It may be two intervals,
    because a factor of either sign hides the sign of x. The mean is over y.

    The result is computed on a grid of 3,000 x by 500 y, and is good to about 1% of the prior's
    standard deviation.
    """
    sigma = sqrt(variance)
    x, cell = np.linspace(mean - REACH * sigma, mean + REACH * sigma, X_CELLS, retstep=True)
    reported, prior = _report_distribution(channel, x), norm.pdf(x, mean, sigma)
    centers = reported.mean()
    middle = np.average(centers, weights=prior)
    spread = np.sqrt(np.average(reported.var() + (centers - middle) ** 2, weights=prior))
    likely = middle + spread * REACH * np.linspace(-1.5, 1.5, Y_CELLS)
    y = np.unique(np.concatenate([centers[:: X_CELLS // Y_CELLS], likely]))
    posterior = reported.pdf(y[:, None]) * prior
    evidence = posterior.sum(axis=1)
    shares = -np.sort(-posterior / np.maximum(evidence, np.finfo(float).tiny)[:, None], axis=1)
    cells = (shares.cumsum(axis=1) < sure).sum(axis=1) + 0.5
    return float(np.average(cells * cell, weights=evidence * np.gradient(y)))


def _report_distribution(channel: TRR, x: Floats) -> Any:
    """Return the distribution of the report of `x`, with sets treated as normal numbers."""
    a, var_a, b, var_b = channel.moments
    center = a * np.clip(x, channel.lower, channel.upper) + b
    if isinstance(channel, AdditiveNoise):
        from_low = uniform(center - channel.scale, 2 * channel.scale)
        return norm(center, channel.scale) if channel.kind == "normal" else from_low
    if channel.sets is None:
        return laplace(center, channel.scale)
    return norm(center, np.sqrt(var_a * x**2 + var_b))


def tail_ratios(channel: TRR, x: float, other: float, beyond: Sequence[float]) -> pd.DataFrame:
    """Return how much likelier a far report is for the number `other` than for the number `x`.

    The frame has one row per value of `beyond`: the probabilities `at_x` and `at_other` that the
    report exceeds it in size, and `log_ratio`, the log of their ratio. With sets of factors and
    offsets, treated as normal numbers, the standard deviation of the report grows with |x|, so the
    ratio has no bound. With Laplace noise its log stays below epsilon |other - x| / (upper -
    lower).
    """
    far = np.asarray(beyond, dtype=float)
    rules = (_report_distribution(channel, np.asarray(value)) for value in (x, other))
    at_x, at_other = (np.logaddexp(rule.logsf(far), rule.logcdf(-far)) for rule in rules)
    found = {"beyond": far, "at_x": np.exp(at_x), "at_other": np.exp(at_other)}
    return pd.DataFrame(found).assign(log_ratio=at_other - at_x)


def claimed_width(variance: float, sure: float = SURE) -> float:
    """Return BreachWidth of paper 004: the width of an interval of normal numbers.

    The interval holds the share `sure` of normal numbers of that variance; no report is taken into
    account. The width is 1.349, 3.920 and 6.581 standard deviations for `sure` .5, .95 and .999,
    whatever the rule is. These are computed, because table 2 of the paper is no longer legible.
    """
    return float(2 * norm.ppf((1 + sure) / 2) * sqrt(variance))
