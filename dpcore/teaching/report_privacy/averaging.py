"""What many reports of one person give away."""

from collections.abc import Sequence
from functools import reduce
from math import factorial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import KeepOrDraw
from dpcore.mechanisms.randomizers.base import Floats

MOST_REPORTS = 150  # beyond, factorials leave the range of floats
ROUNDING = 1e-9


def averaging(channel: KeepOrDraw, reports: Sequence[int], prior: ArrayLike | None = None) -> pd.DataFrame:
    r"""What many independent reports of one person give away.

    The attack takes the most frequent of t reports for the truth, or one of the most frequent by lot; where lies are
    more frequent than the truth (Warner's p below 1/2), the least frequent. With the truth i reported m times, it is
    right with probability 1/(1 + s) if s other values tie and none is more frequent. As 1/(1 + s) is the integral of
    u^s over [0, 1], and reports are multinomial, the probability is
        sum_m t! (P_i^m / m!) int_0^1 [x^(t - m)] prod_{j != i} (sum_{n < m} (P_j x)^n / n! + u (P_j x)^m / m!) du,
    whose integrand is a polynomial in u of degree k - 1, so that Gauss's quadrature is exact. Epsilon composes to
    t epsilon. The remedy is to draw once, keep the report, and give the same one ever after (`kept`): then t reports
    are one.
    """
    if not reports or min(reports) < 1 or max(reports) > MOST_REPORTS:
        raise ParameterError(f"Numbers of reports are from 1 to {MOST_REPORTS}.", "Use fewer.")
    matrix, shares = channel.matrix, prior_shares(channel.size, prior)
    if channel.gain < 0:
        matrix = matrix[::-1]
    alike = len(np.unique(channel.base)) == 1  # then one true value stands for all
    values = [0] if alike else [i for i in range(channel.size) if shares[i]]
    rows: list[tuple[int, float, float, float]] = []
    for many in [1, *reports]:
        right = sum((1.0 if alike else float(shares[i])) * _most_frequent(matrix[:, i], i, many) for i in values)
        rows.append((many, min(right, 1.0), rows[0][1] if rows else right, many * float(channel.epsilon)))
    return pd.DataFrame(rows[1:], columns=["reports", "right", "kept", "epsilon"])


def _most_frequent(chances: Floats, true: int, reports: int) -> float:
    """The probability that the most frequent of so many reports, by lot among equals, is the true one."""
    others = np.delete(chances, true)
    factorials = np.array([float(factorial(n)) for n in range(reports + 1)])
    terms = others[:, None] ** np.arange(reports + 1) / factorials
    nodes, weights = np.polynomial.legendre.leggauss(len(chances) // 2 + 1)
    total = 0.0
    for m in range(reports + 1):
        own = chances[true] ** m / factorials[m]
        for u, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            below = terms[:, : m + 1].copy()
            below[:, m] *= u
            product = reduce(lambda left, right: np.convolve(left, right)[: reports + 1], below, np.ones(1))
            if reports - m < len(product):
                total += weight * own * product[reports - m]
    return float(total * factorials[reports])


def prior_shares(size: int, prior: ArrayLike | None) -> Floats:
    """How many people have each value, checked; equal shares if nobody says."""
    shares = np.full(size, 1 / size) if prior is None else np.array(prior, dtype=float)
    if shares.shape != (size,) or shares.min() < 0 or abs(float(shares.sum()) - 1) > ROUNDING:
        raise ParameterError("The prior's shares do not sum to 1, one per value.", "Mend them.")
    return shares
