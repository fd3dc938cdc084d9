r"""What a question about a random sample of the rows costs, if its answer costs some epsilon on the sample.

poisson     Every row is in the sample with probability g, independently, and who is in it stays secret. Under
            add_remove a cost of x inside is one of ln(1 + g (e^x - 1)) outside (Balle, Barthe and Gaboardi 2018,
            Theorem 8): with probability 1 - g the row is not there, and the two worlds are the same.
bootstrap   n draws with replacement. A row is drawn k ~ Bin(n, 1/n) times, and each time counts.

            *replace.* k has the same law in both worlds. Let P_k and Q_k be an event's probabilities given k. They
            satisfy P_0 = Q_0, P_k / Q_k <= e^(kx), and P_k / P_0 <= e^(kx), Q_0 / Q_k <= e^(kx), because k copies of
            the row can be exchanged for draws of others one by one. With P_k = e^(ax) P_0 and Q_k = e^(-bx) P_0, where
            a + b <= k, the ratio of sum p_k P_k to sum p_k Q_k is largest when it equals the number L for which
            sum p_k max(e^(kx) - L, 1 - L e^(-kx)) = 0: what each k adds to P - L Q is largest at a = k or at a = 0.

            *add_remove.* The larger table draws one row more. If the added row is drawn k times, the samples differ by
            m_k = max(1, 2k - 1) rows that are there in one and not in the other, so the loss is at most
            ln E e^(x m_k). e^(x m_k) is convex in k, and Bin(n, 1/n) is below Poisson(1) in the convex order, so for
            every n it is at most -1 + ln(e^x + e^-x (exp(e^(2x)) - 1)). The other direction costs at most
            x E m_k (Jensen), which is less.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, exact

LARGEST = 8.0  # beyond it only group privacy is used: n copies
DRAW_GRID = 2.0**53  # the numbers of `Noise.uniforms` are multiples of 1 / DRAW_GRID


def poisson_inside(epsilon: Epsilon, rate: float) -> Epsilon:
    """The epsilon to spend inside a Poisson sample for it to cost `epsilon`: ln(1 + (e^epsilon - 1) / rate)."""
    outside = float(epsilon)
    if math.isinf(outside):
        return outside
    true = math.ceil(rate * DRAW_GRID) / DRAW_GRID  # how often a uniform number is below the rate
    # From 500 on e^epsilon need not fit in a float, and the 1 does not matter.
    inside = math.log1p(math.expm1(outside) / true) if outside < 500 else outside - math.log(true)
    return Fraction(math.nextafter(inside, 0.0))


@lru_cache(maxsize=1_024)  # a ledger asks again with every charge
def bootstrap_loss(epsilon: Epsilon, relation: Relation, rows: int) -> Epsilon:
    """What a question costs that costs `epsilon`, under the same relation, on a sample drawn with replacement.

    The sample is as large as the table; `rows`, how large that is, is public, and read under
    replace only.
    """
    x = float(epsilon)
    if x == 0 or math.isinf(x):
        return exact(x)
    if relation is Relation.ADD_REMOVE:
        if x < 0.1:  # the same without losing digits: 1 + the sum of what e^(x m_k) exceeds 1 by
            more = math.expm1(x) + math.expm1(1) * math.expm1(-x) + math.exp(1 - x) * math.expm1(math.expm1(2 * x))
            return exact(math.log1p(more / math.e))
        inner = math.exp(2 * x) if x < 350 else math.inf
        log_expm1 = inner if inner > 500 else math.log(math.expm1(inner))
        return exact(float(-1 + np.logaddexp(x, log_expm1 - x)))
    if x > LARGEST:
        return exact(max(rows, 1) * x)
    from scipy.special import logsumexp  # here, because whoever has a ledger would wait for them
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
            return exact(max(found, x))  # rounding must not bring it below what one draw costs
        loss = found
