r"""What one report gives away, in the measures that papers use. Public rules in, numbers out; no rows.

Breach (paper 004, section 6.1): "the probability that the original is reconstructed or predicted",
    P(true) P(identified | true) + P(false) P(identified | false) P(restored).
ERRPH tells the truth with probability p_0, which is identified with probability p_0 / (p_0 + p_j) because p_j of the
drawn reports say the same, and what was drawn restores nothing: p_0^2 / (p_0 + p_j); with equal p_j it is
k p_0^2 / ((k - 1) p_0 + 1), and 2 p_0^2 / (1 + p_0) for two values. Warner's truth is identified with probability p,
his lie with 1 - p, and a lie about two values restores the truth: p^2 + (1 - p)^2. The two cross at 1 / sqrt 2 where
p_0 = p. Breach belongs to a rule's words and not to what the rule does: RRPH(1/2) and Warner(3/4) are one channel, and
their Breaches are 1/3 and 5/8. Whoever takes a report for the truth is right with probability 3/4 in both.

The best guess. Where all k values are equally frequent, the guess that maximizes P(report | i) is
right with probability 1/k sum over reports of max_i P(report | i), which with equal p_j is p_0 +
p_j; without a report with 1/k.

Epsilon bounds the odds of every pair of answers, for every prior: 50:50 becomes at most e^epsilon :
1.

BreachWidth (paper 004, section 6.1): how wide an interval holds x with probability c, from the prior of x alone:
2 Phi^-1((1 + c) / 2) sigma. That claims that y tells nothing. What is left after y is the posterior's, see
`posterior_width`. The paper finds it as wide as DTCRD's normal noise and wider than its uniform noise. That sets a
width of x beside a width of noise: it is so if both have the variance sigma^2, as 2 x .95 root 3 = 3.29 for 3.92 at
c = .95, and the posteriors' widths are in the same order.
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
REACH, X_CELLS, Y_CELLS = 8.0, 3_000, 500  # of a posterior: deviations of the prior, and the cells of its grid


def breach(channel: ERRPH | Warner) -> Floats:
    """The paper's Breach of every value, shape (size,); it depends on how the channel is described."""
    if isinstance(channel, Warner):
        return np.full(2, channel.p**2 + (1 - channel.p) ** 2)
    return channel.p0**2 / (channel.p0 + channel.base)


def best_guess(channel: KeepOrDraw) -> float:
    """How often the best guess from a report is right, where all values are equally frequent."""
    return float(np.clip(channel.matrix.max(axis=1).sum() / channel.size, 1 / channel.size, 1.0))


def averaging(channel: KeepOrDraw, reports: Sequence[int]) -> pd.DataFrame:
    r"""What many independent reports of one person give away, whose lies are equally probable (`base`).

    The attack takes the most frequent of t reports for the truth, or one of the most frequent by lot. With the truth i
    reported m times, it is right with probability 1/(1 + s) if s other values tie and none is more frequent. As
    1/(1 + s) is the integral of u^s over [0, 1], and reports are multinomial, the probability is
        sum_m t! (P_i^m / m!) int_0^1 [x^(t - m)] prod_{j != i} (sum_{n < m} (P_j x)^n / n! + u (P_j x)^m / m!) du,
    whose integrand is a polynomial in u of degree k - 1, so that Gauss's quadrature is exact. Epsilon composes to
    t epsilon. The remedy is to draw once, keep the report, and give the same one ever after (`kept`): then t reports
    are one.
    """
    right = [_most_frequent(channel, many) for many in reports]
    found = pd.DataFrame({"reports": reports, "right": right, "kept": channel.matrix[0, 0]})
    return found.assign(epsilon=found["reports"] * float(channel.epsilon))


def _most_frequent(channel: KeepOrDraw, reports: int) -> float:
    """How probably the most frequent of so many reports, at random among equals, is the truth."""
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


def descriptions(settings: Sequence[float] = SETTINGS, *, size: int = 2) -> pd.DataFrame:
    """Measures of RRPH and of Warner's rule at the same probabilities of [0, 1], and of ERRPH with more values.

    Warner's starts at 1/2: below it is the same with yes and no exchanged.
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


def linear(a: Moments, b: Moments) -> TRR:
    """TRR with sets of these means and variances; for measures, which take nothing else from the sets."""
    factors, offsets = (mean + sqrt(variance) * np.array([-1.0, 1.0]) for mean, variance in (a, b))
    return TRR(factors=factors, offsets=offsets)


def standard_errors(a: Moments, b: Moments, numbers: Moments, people: int) -> list[float]:
    """Standard errors of the mean and, as printed, of the variance of numbers that so many reports tell.

    Numbers, a and b are normal, each by 40 quantiles, of these means and variances (paper 004,
    section 6.2).
    """
    factors, offsets, true = (mean + sqrt(variance) * NORMAL for mean, variance in (a, b, numbers))
    channel, reports = TRR(factors=factors, offsets=offsets), np.add.outer(np.outer(factors, true), offsets).ravel()
    of_mean = channel.mean_variance(reports) * len(reports) / people
    return [sqrt(of_mean), channel.variance_error(reports, people)]


def posterior_width(channel: TRR, mean: float, variance: float, sure: float = SURE) -> float:
    """How wide the places are, in mean, that hold x with probability `sure` once y is known.

    x is normal. Given y, its density is proportional to N(x; mean, variance) times that of y: with
    sets, N(y; A x + B, S_A^2 x^2 + S_B^2), as if they were normal numbers with the sets' means and
    variances; with Laplace noise, that of the noise around x moved into the bounds. The places are
    those of the highest density; they may be two intervals, because a number times a has lost its
    sign where a has either. The mean is over y.

    Numerically on a grid of 3,000 x by 500 y; good to about 1% of the prior's standard deviation.
    """
    sigma = sqrt(variance)
    x, cell = np.linspace(mean - REACH * sigma, mean + REACH * sigma, X_CELLS, retstep=True)
    reported, prior = _reported(channel, x), norm.pdf(x, mean, sigma)
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


def _reported(channel: TRR, x: Floats) -> Any:
    """The distribution of the report of a number; with sets as if they were normal numbers."""
    a, var_a, b, var_b = channel.moments
    center = a * np.clip(x, channel.lower, channel.upper) + b
    if isinstance(channel, AdditiveNoise):
        from_low = uniform(center - channel.scale, 2 * channel.scale)
        return norm(center, channel.scale) if channel.kind == "normal" else from_low
    if channel.sets is None:
        return laplace(center, channel.scale)
    return norm(center, np.sqrt(var_a * x**2 + var_b))


def tail_ratios(channel: TRR, x: float, other: float, beyond: Sequence[float]) -> pd.DataFrame:
    """How much more often |y| is beyond some places with a true number of `other` than of `x`.

    With sets (as if they were normal numbers) the standard deviation sqrt(S_A^2 x^2 + S_B^2) of y
    grows with |x|, so that the ratio has no bound. With Laplace noise its logarithm stays below
    epsilon |other - x| / (upper - lower).
    """
    far = np.asarray(beyond, dtype=float)
    rules = (_reported(channel, np.asarray(value)) for value in (x, other))
    at_x, at_other = (np.logaddexp(rule.logsf(far), rule.logcdf(-far)) for rule in rules)
    found = {"beyond": far, "at_x": np.exp(at_x), "at_other": np.exp(at_other)}
    return pd.DataFrame(found).assign(log_ratio=at_other - at_x)


def claimed_width(variance: float, sure: float = SURE) -> float:
    """BreachWidth of normal numbers: how wide an interval holds that share of them, as if no one reported.

    It is 1.349, 3.920 and 6.581 standard deviations for `sure` .5, .95 and .999, whatever the rule is (computed: table
    2 of the paper cannot be read any more).
    """
    return float(2 * norm.ppf((1 + sure) / 2) * sqrt(variance))
