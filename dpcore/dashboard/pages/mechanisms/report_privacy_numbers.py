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

Epsilon bounds the odds of every pair of answers, for every prior: 50:50 becomes at most e^epsilon : 1.

BreachWidth (paper 004, section 6.1): how wide an interval holds x with probability c, from the prior of x alone:
2 Phi^-1((1 + c) / 2) sigma. That claims that y tells nothing. What is left after y is the posterior's, see
`posterior_width`.
"""

from collections.abc import Sequence
from functools import reduce
from math import factorial, sqrt

import numpy as np
import pandas as pd
from scipy.stats import laplace, norm

from dpcore.arguments import Floats
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.randomizers import ERRPH, TRR, KeepOrDraw, Warner

MOST_REPORTS = 150  # beyond, factorials leave the range of floats
SURE = 0.95
SETTINGS = tuple(np.linspace(0, 1, 61).tolist())  # of curves
REACH, X_CELLS, Y_CELLS = 8.0, 3_000, 500  # of a posterior: deviations of the prior, and the cells of its grid


def breach(channel: ERRPH | Warner) -> Floats:
    """The paper's Breach of every value, shape (size,); it depends on how the channel is described."""
    if isinstance(channel, Warner):
        return np.full(2, channel.p**2 + (1 - channel.p) ** 2)
    said = channel.p0 + channel.base
    return np.divide(channel.p0**2, said, out=np.zeros(channel.size), where=said > 0)


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
    if not reports or min(reports) < 1 or max(reports) > MOST_REPORTS:
        raise ParameterError(f"Numbers of reports are from 1 to {MOST_REPORTS}.", "Use fewer.")
    rows: list[tuple[int, float, float, float]] = []
    for many in [1, *reports]:
        right = min(_most_frequent(channel.matrix[:, 0], many), 1.0)  # one true value stands for all
        rows.append((many, right, rows[0][1] if rows else right, many * float(channel.epsilon)))
    return pd.DataFrame(rows[1:], columns=["reports", "right", "kept", "epsilon"])


def _most_frequent(chances: Floats, reports: int) -> float:
    """The probability that the most frequent of so many reports, by lot among equals, is the first value."""
    others = chances[1:]
    factorials = np.array([float(factorial(n)) for n in range(reports + 1)])
    terms = others[:, None] ** np.arange(reports + 1) / factorials
    nodes, weights = np.polynomial.legendre.leggauss(len(chances) // 2 + 1)
    total = 0.0
    for m in range(reports + 1):
        own = chances[0] ** m / factorials[m]
        for u, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            below = terms[:, : m + 1].copy()
            below[:, m] *= u
            product = reduce(lambda left, right: np.convolve(left, right)[: reports + 1], below, np.ones(1))
            if reports - m < len(product):
                total += weight * own * product[reports - m]
    return float(total * factorials[reports])


def descriptions(settings: Sequence[float] = SETTINGS, *, size: int = 2) -> pd.DataFrame:
    """Measures of RRPH and of Warner's rule at the same probabilities of [0, 1], and of ERRPH with more values.

    Warner's starts at 1/2: below it is the same with yes and no exchanged.
    """
    rows = []
    for setting in settings:
        channels: dict[str, ERRPH | Warner] = {"RRPH": ERRPH(2, p0=setting)}
        if setting >= 0.5:
            channels["Warner"] = Warner(p=setting)
        if size > 2:
            channels[phrase("ERRPH, {size:,} values").format(size=size)] = ERRPH(size, p0=setting)
        for name, channel in channels.items():
            values = {
                phrase("Breach"): float(breach(channel).max()),
                phrase("Best guess is right"): best_guess(channel),
                phrase("Right after 9 reports"): float(averaging(channel, [9])["right"].iloc[0]),
            }
            rows += [(name, setting, float(channel.epsilon), measure, value) for measure, value in values.items()]
    found = pd.DataFrame(rows, columns=["series", "setting", "epsilon", "measure", "value"])
    order = {"RRPH": 0, "Warner": 1}  # by name, although Warner's starts later
    return found.sort_values("series", key=lambda names: names.map(order).fillna(2), kind="stable", ignore_index=True)


# Numbers


def linear(a: tuple[float, float], b: tuple[float, float]) -> TRR:
    """TRR with sets of these means and variances; for measures, which take nothing else from the sets."""
    factors, offsets = (mean + sqrt(variance) * np.array([-1.0, 1.0]) for mean, variance in (a, b))
    return TRR(factors=factors, offsets=offsets)


def posterior_width(channel: TRR, mean: float, variance: float, sure: float = SURE) -> float:
    """How wide the places are, in mean, that hold x with probability `sure` once y is known.

    x is normal. Given y, its density is proportional to N(x; mean, variance) times that of y: with sets,
    N(y; A x + B, S_A^2 x^2 + S_B^2), as if they were normal numbers with the sets' means and variances; with Laplace
    noise, that of the noise around x moved into the bounds. The places are those of the highest density; they may be
    two intervals, because a number times a has lost its sign where a has either. The mean is over y.

    Numerically on a grid of 3,000 x by 500 y; good to about 1% of the prior's standard deviation.
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
    full = (held < sure).argmin(axis=1)
    rows = np.arange(len(full))
    part = (sure - held[rows, full] + posterior[rows, full]) / posterior[rows, full]
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


def claimed_width(variance: float, sure: float = SURE) -> float:
    """BreachWidth of normal numbers: how wide an interval holds that share of them, as if no one reported.

    It is 1.349, 3.920 and 6.581 standard deviations for `sure` .5, .95 and .999, whatever the rule is (computed: table
    2 of the paper cannot be read any more).
    """
    return float(2 * norm.ppf((1 + sure) / 2) * sqrt(variance))
