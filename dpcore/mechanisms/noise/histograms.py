"""K-norm noise for several histograms of the same rows (Hardt and Talwar 2010).

A row adds 1 to one count of every histogram, so all totals move together. The noise is one integer
vector z_j per histogram, *all with one total T*. Its norm |z| is that of the longest vector: the
maximum over j of sum_i |z_ji|. A row has norm 1. If rows can have any values, |z| is the largest
norm in which every row has norm 1. To see this, let P be the largest sum of a histogram's positive
values, and Q = P - T. Then |z| is P + Q, and adding P rows and removing Q rows makes z. The
mechanism draws

    P(z) proportional to exp(-factor |z|).

Let two data sets differ by `rows` rows added or removed (replacing a row is one of each). By the
triangle inequality, their distributions differ by a factor of exp(factor * rows) at most. If the
total is public, T is 0. For comparison: Laplace noise with factor / d on every count of d
histograms has the same privacy loss, and is several times as large where many histograms have two
values.

Draws are exact. A histogram has m values. If T is known, the first n = m - 1 determine the vector.
Let M(P, Q) be the number of such vectors whose positive values sum to P at most, and whose negative
values to -Q at least; then the last value keeps the whole vector within (P, Q) as well. With i
positive values there are C(n, i) choices of their positions. There are C(P, i) choices of their
sizes, because their partial sums are i different numbers in 1, ..., P. There are C(Q + n - i, n -
i) choices of the other values, which may be 0:

    M(P, Q) = sum over i of C(n, i) C(P, i) C(Q + n - i, n - i).

For each T, exp(-factor |z|) is, up to a constant, the sum of exp(-factor (P + Q)) over all (P, Q)
with P - Q = T that contain z. So (P, Q) is drawn with probability proportional to exp(-factor (P +
Q)) M_1(P, Q) M_2(P, Q) ..., and then every z_j uniformly from its vectors within (P, Q).

Rejection sampling draws (P, Q). Even sums P + Q have one envelope, odd sums another, both over t,
which is half of P + Q rounded down. Two facts bound the terms.

1. M(P, Q) is largest in the middle, at (t, t) or (t + 1, t).
   For M is symmetric, and M(P, Q) >= M(P + 1, Q - 1) for P >= Q. Proof: M has the generating series
   (1 - xy)^n / ((1 - x) (1 - y))^(n + 1) in x^P y^Q. Let c_n(P, Q) be the difference of the two:
   the coefficient of x^(P + 1) y^Q in (x - y) times the series, which is antisymmetric. The series
   for n is the one for n - 1 times
   (1 - xy) / ((1 - x) (1 - y)) = 1 + the sum over k >= 1 of (x^k + y^k).
   Antisymmetric terms cancel. With c for c_(n - 1), this leaves

       c_n(P, Q) = c(P, Q) + sum over Q <= a < P of c(a, Q)
                   + sum over 0 <= b < Q of (c(P, b) - c(Q - 1, b)),
       c_n(P + 1, Q) - c_n(P, Q) = c(P + 1, Q) + sum over 0 <= b < Q of (c(P + 1, b) - c(P, b)).

   If no c is negative and c does not fall in P, both lines give the same for c_n. And c_0 is 1 for
   Q = 0, otherwise 0.
2. M(t, t) and M(t + 1, t) are log-concave in t.
   For x = sz, y = s/z and w = s^2, the coefficient of z^m in the series is hypergeometric. Euler's
   transformation makes it a polynomial over (1 - w)^(n + 1). For m = 0 the polynomial is the sum
   over k of C(n, k)^2 w^k. For m = 1 it is the sum of (n + 1) / n C(n, k) C(n, k + 1) w^k (and 1
   for n = 0). So both are convolutions of two log-concave sequences. Their products with each
   other, with the number of pairs (P, Q) and with exp(-2 factor t) are log-concave too.

Let an envelope have its largest term at t = top, and at most half of that at top + L and top - L.
Then terms beyond top + i L and top - i L are at most 2^-i of the largest. A fair coin chooses the
envelope. A fair coin chooses the side of t, one more coin each further L, and t is uniform within
that L. P is uniform from 0 to P + Q. The proposal is accepted by an exact Bernoulli draw, or all
begins again. Floating point finds L, and `top` up to its last steps, and decides a draw whose
uniform number is far enough from its probability. Integer arithmetic does the rest.

Rounding: log M is the logarithm of a sum of positive terms. Each term consists of two sums of at
most n logarithms, none above 80. With a unit of 2^-53 their rounding is below 2 n (n + 9) 80 units,
so the rounding of all that is compared is below 2^-44 of the sum of squared sizes (`log_error`).
`SLACK` is far more than what is lost where neighboring terms are too close to be distinguished. The
running time may reveal something about the noise; nothing here hides it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb, inf, log, log1p, prod, sqrt
from typing import NamedTuple

import numpy as np

from dpcore.arguments import Floats, Ints

RandBelow = Callable[[int], int]
"""Draws a uniform integer from 0 to below a bound."""
RatioAndExponent = tuple[Fraction, Fraction]
Bernoulli = Callable[[float, float, Callable[[], RatioAndExponent]], bool]
"""Draws an event, given the logarithm of its probability, a bound on that logarithm's error, and a
function that returns (ratio, exponent): the probability is exactly ratio * e^exponent."""

SLACK = Fraction(1, 1 << 20)  # relative; the largest term may exceed the one found by this
LEAST_ERROR = 1e-4  # least bound on the error of logarithms
LARGEST = 1 << 62  # noise from here on may not fit in int64
WIDEST = 2.0**30  # largest scale, 1 / factor; wider noise leaves no information
GRID = np.linspace(0, 1, 1_002)[1:-1]  # values of P / (P + Q)


class Spread(NamedTuple):
    """Approximate standard deviations of K-norm noise on one histogram, for small factors.

    `cell` is the deviation of one count's noise minus its share of the total's noise, `total` that
    of the total's noise.
    """

    cell: float
    total: float


def draw(
    sizes: Sequence[int], factor: float, below: RandBelow, bernoulli: Bernoulli, *, public_total: bool
) -> list[Ints]:
    """Draw K-norm noise for histograms of the given sizes; one int array of shape (size,) for each.

    P(noise) is proportional to exp(-factor * norm), where the norm is the largest L1 norm of an
    array. All arrays have the same total, which is 0 if `public_total`. `below(bound)` draws a
    uniform integer below a bound. `bernoulli` draws an event from the logarithm of its probability,
    an error bound of that, and a function that returns the exact probability (`Noise._bernoulli`).
    """
    up, down = draw_lengths(Counter(sizes), Fraction(factor), below, bernoulli, public_total=public_total)
    return [draw_vector(size, up, down, below) for size in sizes]


def draw_lengths(
    sizes: Counter[int], factor: Fraction, below: RandBelow, bernoulli: Bernoulli, *, public_total: bool
) -> tuple[int, int]:
    """Draw two bounds (P, Q) for the noise of the K-norm mechanism on all histograms.

    The positive values of each histogram's noise sum to P at most, its negative values to -Q at
    least. `sizes` counts the histograms of each size; `below` and `bernoulli` are as in `draw`.
    """
    envelopes = make_envelopes(tuple(sizes.items()), factor, public_total)
    room = log_error(sizes)
    widest = max(envelopes, key=lambda own: own.highest + log(own.far))
    while True:
        own = envelopes[below(len(envelopes))]
        t, further = own.propose(below)
        if t < 0:
            continue
        pairs, both = own.pairs(t), own.length(t)
        up = t if public_total else below(both + 1)
        near = log_count_product(sizes, up, both - up)[0] + log(pairs * own.far) + further * log(2)
        near -= float(factor) * both + widest.highest + log(widest.far) + log1p(SLACK)
        if near > room:
            raise ArithmeticError("A probability is above 1.")
        weight = pairs * own.far << further

        def exactly(up: int = up, both: int = both, weight: int = weight) -> RatioAndExponent:
            ratio = Fraction(weight * count_vectors_product(sizes, up, both - up), widest.largest * widest.far)
            return ratio / (1 + SLACK), factor * (widest.length(widest.top) - both)

        if bernoulli(near, room, exactly):
            return up, both - up


@lru_cache(maxsize=64)
def make_envelopes(sizes: tuple[tuple[int, int], ...], factor: Fraction, public_total: bool) -> list[Envelope]:
    """Return the rejection envelopes from which `draw_lengths` proposes the bounds (P, Q).

    There is one for even sums P + Q and, unless the total is public, one for odd sums.
    """
    return [Envelope(Counter(dict(sizes)), factor, odd, alone=public_total) for odd in range(2 - public_total)]


def log_error(sizes: Counter[int]) -> float:
    """Return a bound on the floating-point error of logarithms in K-norm sampling.

    `sizes` counts the histograms of each size.
    """
    return max(LEAST_ERROR, 2.0**-44 * sum(times * size**2 for size, times in sizes.items()))


class Envelope:
    """Rejection envelope over an integer t, by which pairs of bounds (P, Q) are proposed.

    It covers all pairs whose sum P + Q is 2 t, or 2 t + 1 if `odd`; with `alone` only the pair (t,
    t). Its term at t bounds the sum of exp(-factor (P + Q)) times the number of noise vectors, over
    these pairs.

    The term at `top` is the largest: `largest` is its value without the power of e, and `highest`
    is its logarithm with that power. At a distance of `far` from `top`, terms are at most half of
    it.
    """

    def __init__(self, sizes: Counter[int], factor: Fraction, odd: int, *, alone: bool) -> None:
        self._sizes, self._factor, self._odd, self._alone = sizes, factor, odd, alone
        self.top = first_where(lambda t: self._log_term(t)[1] <= 0, 1)
        while self._is_rising(self.top):
            self.top += 1
        while self.top and not self._is_rising(self.top - 1):
            self.top -= 1
        self.highest, self.largest = self._log_term(self.top)[0], self._term(self.top)
        half = self.highest - log(2) - log_error(sizes)
        self.far = max(
            first_where(lambda step: self._log_term(self.top + step)[0] <= half, 1),
            first_where(lambda step: step > self.top or self._log_term(self.top - step)[0] <= half, 1),
        )

    def propose(self, below: RandBelow) -> tuple[int, int]:
        """Propose a t by two-sided exponential steps of width `far` from `top`.

        `below(bound)` draws a uniform integer below a bound. Returns t, which may be negative, and
        the number of steps; the proposals' probability halves at each step.
        """
        behind, further = below(2), 0
        while below(2):
            further += 1
        away = further * self.far + below(self.far)
        return (self.top - 1 - away if behind else self.top + away), further

    def length(self, t: int) -> int:
        """Return P + Q at `t`, the norm of the noise: 2 t, or 2 t + 1 for odd sums."""
        return 2 * t + self._odd

    def pairs(self, t: int) -> int:
        """Return how many pairs (P, Q) of integers from 0 on have the norm P + Q of `t`.

        That norm is 2 t, or 2 t + 1 for odd sums. If only the pair (t, t) is allowed, it is 1. P and
        Q bound the positive and the negative values of a histogram's noise.
        """
        return 1 if self._alone else self.length(t) + 1

    def _term(self, t: int) -> int:
        """Return the envelope's term at `t`, an upper bound on a number of noise vectors.

        It is the number of pairs (P, Q) times the largest number of noise vectors within one pair.
        The factor exp(-factor (P + Q)) is left out.
        """
        return self.pairs(t) * count_vectors_product(self._sizes, t + self._odd, t)

    def _log_term(self, t: int) -> tuple[float, float]:
        """Return the logarithm of the envelope's term at `t`, and its slope in t.

        Other than in `_term`, the factor exp(-factor (P + Q)) is included.
        """
        own, slope = log_count_product(self._sizes, t + self._odd, t)
        own += log(self.pairs(t)) - float(self._factor) * self.length(t)
        return own, slope + (0 if self._alone else 2 / self.pairs(t)) - 2 * float(self._factor)

    def _is_rising(self, t: int) -> bool:
        """Return whether the envelope's term at t + 1 is larger than its term at `t`.

        The factor exp(-factor (P + Q)) is included.
        """
        here, there = self._term(t), self._term(t + 1)
        rise = log1p((there - here) / here) if there < 2 * here else log(there) - log(here)
        return rise > 2 * self._factor


def draw_vector(size: int, up: int, down: int, below: RandBelow) -> Ints:
    """Draw one histogram's noise: a uniform integer vector of shape (size,) with total up - down.

    Its positive values sum to `up` at most, its negative values to -down at least. `below(bound)`
    draws a uniform integer below a bound.
    """
    free = size - 1
    positive = draw_index(count_vectors(size, up, down), below)
    found = np.zeros(size, dtype=np.int64 if up + down + size < LARGEST else object)
    which = sample_distinct(positive, free, below)
    others = sorted({*range(free)} - {*which})
    found[which] = np.diff(np.array(sorted(sample_distinct(positive, up, below)), found.dtype), prepend=-1)
    sums = sorted(sample_distinct(len(others), down + len(others), below))
    found[others] = 1 - np.diff(np.array(sums, found.dtype), prepend=-1)
    found[-1] = up - down - found.sum()
    return found


def count_vectors(size: int, up: int, down: int) -> Iterator[int]:
    """Yield the number of vectors that `draw_vector` can draw, by their number of positive values.

    The i-th number, from i = 0, counts vectors with i positive values among all values but the
    last.
    """
    free = size - 1
    which, positive, others = 1, 1, comb(down + free, free)
    for i in range(size):
        yield which * positive * others
        which = which * (free - i) // (i + 1)
        positive = positive * (up - i) // (i + 1)
        others = others * (free - i) // (down + free - i) if i < free else 0


def count_vectors_product(sizes: Counter[int], up: int, down: int) -> int:
    """Return the number of ways to draw a vector for every histogram, as an exact integer.

    `sizes` counts the histograms of each size; `up` and `down` bound the vectors as in
    `draw_vector`.
    """
    return prod(sum(count_vectors(size, up, down)) ** times for size, times in sizes.items())


def log_count_product(sizes: Counter[int], up: int, down: int) -> tuple[float, float]:
    """Return the logarithm of `count_vectors_product` as a float, and its slope.

    The slope is the growth of the logarithm per 1 that `up` and `down` both grow.
    """
    parts = [(times, *log_count(size, up, down)) for size, times in sizes.items()]
    return sum(k * own for k, own, _ in parts), sum(k * slope for k, _, slope in parts)


def log_count(size: int, up: int, down: int) -> tuple[float, float]:
    """Return the logarithm of the number of vectors that `draw_vector` can draw, and its slope.

    Both are floats. The slope is the growth of the logarithm per 1 that `up` and `down` both grow.
    """
    free, most = size - 1, min(size - 1, up)  # positive values
    k = np.arange(1.0, free + 1)
    left, behind = up + 1 - k[:most], down + k
    positive = np.append(0.0, np.cumsum(np.log((free + 1 - k[:most]) * left / k[:most] ** 2)))
    others = np.append(0.0, np.cumsum(np.log(behind / k)))[free - most :][::-1]
    logs = positive + others
    weights = np.exp(logs - logs.max())
    slopes = np.append(0.0, np.cumsum(1 / left)) + np.append(0.0, np.cumsum(1 / behind))[free - most :][::-1]
    return float(logs.max() + log(weights.sum())), float(weights @ slopes / weights.sum())


def spreads(sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
    """Return the approximate standard deviations of the noise, by number of histogram cells.

    They are infinite for a factor of 0. In the limit of small factors, P + Q has the mean square (D
    + k) (D + k + 1) / factor^2. D is the sum of (size - 1) over histograms; k is 2, or 1 with a
    public total. The share P / (P + Q) has a density proportional to the product of all M. Values
    are parts of P or Q by flat Dirichlet distributions with one part more.
    """
    each = Counter(sizes)
    if not factor:
        return dict.fromkeys(each, Spread(inf, inf))
    degrees = sum((size - 1) * many for size, many in each.items()) + (1 if public_total else 2)
    square = degrees * (degrees + 1)
    positive_share = np.array([0.5]) if public_total else GRID
    limits = {size: _limit_moments(size, public=public_total) for size in each}
    logs = np.sum([many * limits[size][0] for size, many in each.items()], axis=0)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    total_square = weights @ (2 * positive_share - 1) ** 2 * square
    cells = {size: weights @ limits[size][1] * square - total_square / size**2 for size in each}
    total = sqrt(total_square) / factor
    return {size: Spread(sqrt(max(cell, 0.0)) / factor, total) for size, cell in cells.items()}


@lru_cache(maxsize=256)
def _limit_moments(size: int, *, public: bool) -> tuple[Floats, Floats]:
    """Return the log density of u = P / (P + Q), and a value's mean square, for small factors.

    Both have one number per point of `GRID`, or one if the total is public. The log density is up
    to a constant; the mean square is relative to that of P + Q.
    """
    u = np.array([0.5]) if public else GRID
    free, i = size - 1, np.arange(size)
    which = np.append(0.0, np.cumsum(np.log((free + 1 - i[1:]) / i[1:])))
    logs = 2 * which + np.outer(np.log(u), i) + np.outer(np.log1p(-u), free - i)
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    total = weights.sum(axis=1)
    rest = free - i
    up, down = weights @ (2 * i / ((i + 1) * (i + 2))), weights @ (2 * rest / ((rest + 1) * (rest + 2)))
    squares = (u**2 * up + (1 - u) ** 2 * down) / (total * free) if free else (2 * u - 1) ** 2
    return largest[:, 0] + np.log(total), squares


def first_where(holds: Callable[[int], bool], start: int) -> int:
    """Return the first number from `start` on for which `holds` is true.

    `holds` must stay true for all larger numbers.
    """
    step = 1
    while not holds(start + step - 1):
        step *= 2
    low, high = start + step // 2, start + step - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def draw_index(weights: Iterator[int], below: RandBelow) -> int:
    """Draw an index with probability proportional to integer weights.

    `below(bound)` draws a uniform integer below a bound.
    """
    sums = list(accumulate(weights))
    return bisect_right(sums, below(sums[-1]))


def sample_distinct(many: int, bound: int, below: RandBelow) -> list[int]:
    """Draw `many` distinct integers from 0 to below `bound`, in random order (Fisher and Yates).

    `below(bound)` draws a uniform integer below a bound.
    """
    swapped: dict[int, int] = {}
    found = []
    for i in range(many):
        j = i + below(bound - i)
        found.append(swapped.get(j, j))
        swapped[j] = swapped.get(i, i)
    return found
