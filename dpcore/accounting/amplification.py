r"""Privacy loss on all rows of a query about a random sample, from its loss on the sample.

poisson     Every row is in the sample with probability g, independently, and the sample stays
            secret. Under add_remove a loss of x on the sample is a loss of ln(1 + g (e^x - 1)) on
            all rows (Balle, Barthe and Gaboardi 2018, Theorem 8): with probability 1 - g the row is
            not in the sample, and the two worlds, the neighboring data sets, give the same outputs.
bootstrap   n draws with replacement. A row is drawn k ~ Bin(n, 1/n) times, and counts k times.

            *replace.* k has the same distribution in both worlds. Let P_k and Q_k be an event's
            probabilities given k. They satisfy P_0 = Q_0, P_k / Q_k <= e^(kx), and P_k / P_0 <=
            e^(kx), Q_0 / Q_k <= e^(kx): k copies of the row can be replaced in turn by draws of
            other rows. With P_k = e^(ax) P_0 and Q_k = e^(-bx) P_0, where a + b <= k, the ratio of
            sum p_k P_k to sum p_k Q_k is largest when it equals the number L for which sum p_k
            max(e^(kx) - L, 1 - L e^(-kx)) = 0. The reason: each k's term of P - L Q is largest at a
            = k or at a = 0.

            *add_remove.* The sample of the larger data set has one row more. If the added row is
            drawn k times, the samples differ by m_k = max(1, 2k - 1) added or removed rows, so the
            loss is at most ln E e^(x m_k). e^(x m_k) is convex in k, and Bin(n, 1/n) is below
            Poisson(1) in the convex order. So for every n the loss is at most -1 + ln(e^x + e^-x
            (exp(e^(2x)) - 1)). The other direction has a loss of at most x E m_k (Jensen), which is
            less.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, exact

LARGEST = 8.0  # above it the bound is group privacy of n copies
DRAW_GRID = 2.0**53  # uniform draws are multiples of 1 / DRAW_GRID


def poisson_inside(epsilon: Epsilon, rate: float) -> Epsilon:
    """Return the epsilon to spend on a Poisson sample so that the loss on all rows is `epsilon`.

    It is ln(1 + (e^epsilon - 1) / rate), rounded down; `rate` is each row's probability.
    """
    outside = float(epsilon)
    if math.isinf(outside):
        return outside
    true = math.ceil(rate * DRAW_GRID) / DRAW_GRID  # probability that a draw is below the rate
    # From 500 on e^epsilon need not fit in a float, and the 1 does not matter.
    inside = math.log1p(math.expm1(outside) / true) if outside < 500 else outside - math.log(true)
    return Fraction(math.nextafter(inside, 0.0))


@lru_cache(maxsize=1_024)  # a ledger calls it with every charge
def bootstrap_loss(epsilon: Epsilon, relation: Relation, rows: int) -> Epsilon:
    """Return the loss on all rows of a query whose loss on a bootstrap sample is `epsilon`.

    Both losses are under `relation`. The sample is drawn with replacement and has as many rows as
    the data set. `rows`, that public number, is used under replace only.
    """
    x = float(epsilon)
    if x == 0 or math.isinf(x):
        return exact(x)
    if relation is Relation.ADD_REMOVE:
        if x < 0.1:  # the same bound without losing digits, from the mean of e^(x m_k) - 1
            twice = math.exp(1 - x) * math.expm1(math.expm1(2 * x))
            return exact(math.log1p((math.expm1(x) + math.expm1(1) * math.expm1(-x) + twice) / math.e))
        inner = math.exp(2 * x) if x < 350 else math.inf
        log_expm1 = inner if inner > 500 else math.log(math.expm1(inner))
        return exact(float(-1 + np.logaddexp(x, log_expm1 - x)))
    if x > LARGEST:
        return exact(max(rows, 1) * x)
    from scipy.special import logsumexp  # imported late: rarely needed, and slow to load
    from scipy.stats import binom

    k = np.arange(min(max(rows, 1), 40 * math.ceil(math.exp(x)) + 200) + 1)
    log_p = binom.logpmf(k, max(rows, 1), 1 / max(rows, 1))
    loss = 0.0
    while True:  # Dinkelbach: the loss rises to the largest in a few rounds
        rising = k * x > loss
        up = logsumexp(log_p + np.where(rising, k * x, 0.0))
        down = logsumexp(log_p - np.where(rising, 0.0, k * x))
        found = float(up - down)
        if found <= loss + 1e-12:
            return exact(max(found, x))  # rounding must not bring it below the loss of one draw
        loss = found
