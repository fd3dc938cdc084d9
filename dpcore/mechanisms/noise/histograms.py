r"""Noise for several histograms at once, of one and the same rows: the K-norm mechanism (Hardt and Talwar 2010).

A row adds 1 to one count of every histogram: all totals move together. So the noise is one vector
z_j of whole numbers per histogram, *all of one total T*, and z is as long as the longest of them,
|z| = max of sum_i |z_ji|. A row has length 1, and if rows can have any values, this norm is the
largest in which it has: with P the largest sum of a histogram's positive values and Q = P - T, |z|
is P + Q, and P rows more and Q rows less make z. The mechanism draws

    P(z) proportional to exp(-factor |z|),

and two tables that differ by `rows` rows added or removed (replaced: one of each) differ in it by a
factor of exp(factor * rows) at most, by the triangle inequality. If the total is public, T is 0.
Laplace noise at factor / d on every count of d histograms is, at the same price, several times as
large where these are many of two values.

Draws are exact. Of m values all but the last, n = m - 1, tell the vector, if T is known. Let M(P,
Q) be the number of those whose positive values sum to P at most and whose negative ones to -Q at
most: then the last has the sign and size for the whole to do so as well. With i positive values
there are C(n, i) choices of which, C(P, i) of their sizes, as i different numbers of 1 to P are
their sums from the first on, and C(Q + n - i, n - i) of the others', which may be 0:

    M(P, Q) = sum over i of C(n, i) C(P, i) C(Q + n - i, n - i).

For each T, exp(-factor |z|) is, up to a constant, the sum of exp(-factor (P + Q)) over all (P, Q)
with P - Q = T that z is within. So (P, Q) comes with probability proportional to exp(-factor
(P + Q)) M_1(P, Q) M_2(P, Q) ..., and then every z_j evenly from its vectors within (P, Q).

Rejection finds (P, Q). Those whose sum is even and those whose sum is odd have an envelope each,
over t, half of P + Q rounded down. Two facts bound them.

1. M(P, Q) is largest in the middle: at (t, t), or (t + 1, t). For M(P, Q) is M(Q, P), and not below M(P + 1, Q - 1) for
   P >= Q. M has the series (1 - xy)^n / ((1 - x) (1 - y))^(n + 1) in x^P y^Q. Let c_n(P, Q) be the difference of these
   two: what (x - y) times the series has at x^(P + 1) y^Q, which is antisymmetric. The series for n is that for n - 1,
   times (1 - xy) / ((1 - x) (1 - y)) = 1 + the sum over k >= 1 of (x^k + y^k). So, where what is antisymmetric cancels,
   with c for c_(n - 1):

       c_n(P, Q) = c(P, Q) + sum over Q <= a < P of c(a, Q) + sum over 0 <= b < Q of (c(P, b) - c(Q - 1, b)),
       c_n(P + 1, Q) - c_n(P, Q) = c(P + 1, Q) + sum over 0 <= b < Q of (c(P + 1, b) - c(P, b)).

   If no c is negative and none falls in P, both lines say the same of c_n; and c_0 is 1 for Q = 0, otherwise 0.
2. M(t, t) and M(t + 1, t) are log-concave in t. For x = sz, y = s/z and w = s^2, what the series has at z^m is a
   hypergeometric one, and Euler's transformation makes a polynomial of it, over (1 - w)^(n + 1): for m = 0 the sum over
   k of C(n, k)^2 w^k, for m = 1 that of (n + 1) / n C(n, k) C(n, k + 1) w^k (and 1 for n = 0). So both are convolutions
   of two log-concave sequences. Products of these, with the number of pairs (P, Q) and exp(-2 factor t), are so too.

With an envelope's largest term at t = top, and half of it at most at top + L and top - L, those
beyond top + i L and top - i L are 2^-i of it at most. A coin chooses the envelope; t is proposed
with a fair coin for the side and one for each further L, evenly within that L; then P, any number
up to P + Q; and all is taken by an exact lot, or begins again. Floating point finds L, `top` but
for its last steps, and decides a lot that is far enough from its probability; whole numbers do the
rest. A logarithm of M is that of a sum of positive terms, each made of two sums of n logarithms at
most, of which none is above 80: with a unit of 2^-53 their rounding is below 2 n (n + 9) 80 units,
hence that of all that is compared below 2^-44 of the sum of squared sizes (`log_error`). `SLACK` is
far more than what is lost where neighboring terms are too close to be told apart. How long it takes
may tell something of the noise; nothing here hides that.
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

Below = Callable[[int], int]
"""A uniform whole number from 0 to below another."""
DrawBelow = Callable[[float, float, Callable[[], tuple[Fraction, Fraction]]], bool]
"""Whether something happens: given the logarithm of its probability, by how much it may be out, and what gives a ratio
and an exponent, of which it is ratio * e^exponent exactly."""

SLACK = Fraction(1, 1 << 20)  # by which the largest term may be larger than what is taken for it
LEAST_ERROR = 1e-4  # of logarithms, at least
LARGEST = 1 << 62  # noise from here on is no int64
WIDEST = 2.0**30  # a scale: one over the factor; beyond, nothing is told
GRID = np.linspace(0, 1, 1_002)[1:-1]  # of P / (P + Q)


class Spread(NamedTuple):
    """Standard deviations, in the limit of small factors: of a count less its share of the total, and of the total."""

    cell: float
    total: float


def draw(
    sizes: Sequence[int], factor: float, below: Below, draw_source: DrawBelow, *, public_total: bool
) -> list[Ints]:
    """The noise of one histogram per size, each of shape (size,), with one total: 0 if it is public."""
    up, down = lengths(Counter(sizes), Fraction(factor), below, draw_source, public_total=public_total)
    return [vector(size, up, down, below) for size in sizes]


def lengths(
    sizes: Counter[int], factor: Fraction, below: Below, draw_source: DrawBelow, *, public_total: bool
) -> tuple[int, int]:
    """P and Q, for so many histograms of each size."""
    envelopes = envelopes_of(tuple(sizes.items()), factor, public_total)
    room = log_error(sizes)
    widest = max(envelopes, key=lambda own: own.highest + log(own.far))
    while True:
        own = envelopes[below(len(envelopes))]
        t, further = own.propose(below)
        if t < 0:
            continue
        pairs, both = own.pairs(t), own.length(t)
        up = t if public_total else below(both + 1)
        near = (
            logarithm_of_all(sizes, up, both - up)[0] + log(pairs * own.far) + further * log(2) - float(factor) * both
        )
        near -= widest.highest + log(widest.far) + log1p(SLACK)
        if near > room:
            raise ArithmeticError("A probability is above 1.")
        weight = pairs * own.far << further

        def exactly(up: int = up, both: int = both, weight: int = weight) -> tuple[Fraction, Fraction]:
            ratio = Fraction(weight * ways_of_all(sizes, up, both - up), widest.largest * widest.far)
            return ratio / (1 + SLACK), factor * (widest.length(widest.top) - both)

        if draw_source(near, room, exactly):
            return up, both - up


@lru_cache(maxsize=64)
def envelopes_of(sizes: tuple[tuple[int, int], ...], factor: Fraction, public_total: bool) -> list[Envelope]:
    """The envelopes of even sums and of odd ones, if there are any; public."""
    return [
        Envelope(Counter(dict(sizes)), factor, odd, alone=public_total) for odd in ((0,) if public_total else (0, 1))
    ]


def log_error(sizes: Counter[int]) -> float:
    """By how much logarithms may be out; see the module."""
    return max(LEAST_ERROR, 2.0**-44 * sum(times * size**2 for size, times in sizes.items()))


class Envelope:
    """Terms by t, of all pairs (P, Q) whose sum is 2 t, or 2 t + 1 if it is odd; or of (t, t) alone.

    The term at `top` is the largest: `largest` without its power of e, and `highest` is its
    logarithm with it. At a distance of `far` they are half of it at most.
    """

    def __init__(self, sizes: Counter[int], factor: Fraction, odd: int, *, alone: bool) -> None:
        self._sizes, self._factor, self._odd, self._alone = sizes, factor, odd, alone
        self.top = first(lambda t: self._about(t)[1] <= 0, 1)
        while self._rises(self.top):
            self.top += 1
        while self.top and not self._rises(self.top - 1):
            self.top -= 1
        self.highest, self.largest = self._about(self.top)[0], self._term(self.top)
        half = self.highest - log(2) - log_error(sizes)
        self.far = max(
            first(lambda step: self._about(self.top + step)[0] <= half, 1),
            first(lambda step: step > self.top or self._about(self.top - step)[0] <= half, 1),
        )

    def propose(self, below: Below) -> tuple[int, int]:
        """A t, which may be negative, and how many times the envelope has halved there."""
        behind, further = below(2), 0
        while below(2):
            further += 1
        away = further * self.far + below(self.far)
        return (self.top - 1 - away if behind else self.top + away), further

    def length(self, t: int) -> int:
        """P + Q."""
        return 2 * t + self._odd

    def pairs(self, t: int) -> int:
        """How many have it."""
        return 1 if self._alone else self.length(t) + 1

    def _term(self, t: int) -> int:
        return self.pairs(t) * ways_of_all(self._sizes, t + self._odd, t)

    def _about(self, t: int) -> tuple[float, float]:
        """The logarithm of a term with its power of e, and its slope."""
        own, slope = logarithm_of_all(self._sizes, t + self._odd, t)
        own += log(self.pairs(t)) - float(self._factor) * self.length(t)
        return own, slope + (0 if self._alone else 2 / self.pairs(t)) - 2 * float(self._factor)

    def _rises(self, t: int) -> bool:
        """Whether the next term is larger."""
        here, there = self._term(t), self._term(t + 1)
        rise = log1p((there - here) / here) if there < 2 * here else log(there) - log(here)
        return rise > 2 * self._factor


def vector(size: int, up: int, down: int, below: Below) -> Ints:
    """A vector of total up - down, with no more than these above and below 0, evenly."""
    free = size - 1
    positive = place(ways(size, up, down), below)
    found = np.zeros(size, dtype=np.int64 if up + down + size < LARGEST else object)
    which = different(positive, free, below)
    others = sorted({*range(free)} - {*which})
    found[which] = np.diff(np.array(sorted(different(positive, up, below)), found.dtype), prepend=-1)
    sums = sorted(different(len(others), down + len(others), below))
    found[others] = 1 - np.diff(np.array(sums, found.dtype), prepend=-1)
    found[-1] = up - down - found.sum()
    return found


def ways(size: int, up: int, down: int) -> Iterator[int]:
    """How many vectors have i positive values among all but the last, for i = 0, 1, ...; M in all."""
    free = size - 1
    which, positive, others = 1, 1, comb(down + free, free)
    for i in range(size):
        yield which * positive * others
        which = which * (free - i) // (i + 1)
        positive = positive * (up - i) // (i + 1)
        others = others * (free - i) // (down + free - i) if i < free else 0


def ways_of_all(sizes: Counter[int], up: int, down: int) -> int:
    """The product of M for all histograms."""
    return prod(sum(ways(size, up, down)) ** times for size, times in sizes.items())


def logarithm_of_all(sizes: Counter[int], up: int, down: int) -> tuple[float, float]:
    """The logarithm of that product, and its slope."""
    parts = [(times, *logarithm(size, up, down)) for size, times in sizes.items()]
    return sum(times * own for times, own, _ in parts), sum(times * slope for times, _, slope in parts)


def logarithm(size: int, up: int, down: int) -> tuple[float, float]:
    """The logarithm of M, and its slope if both grow, in floating point."""
    free, most = size - 1, min(size - 1, up)  # positive values
    steps = np.arange(1.0, free + 1)
    left, behind = up + 1 - steps[:most], down + steps
    positive = np.append(0.0, np.cumsum(np.log((free + 1 - steps[:most]) * left / steps[:most] ** 2)))
    others = np.append(0.0, np.cumsum(np.log(behind / steps)))[free - most :][::-1]
    logs = positive + others
    weights = np.exp(logs - logs.max())
    slopes = np.append(0.0, np.cumsum(1 / left)) + np.append(0.0, np.cumsum(1 / behind))[free - most :][::-1]
    return float(logs.max() + log(weights.sum())), float(weights @ slopes / weights.sum())


def spreads(sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
    """About how large the noise of every size's counts is, and that of the total: infinite for a factor of 0.

    In the limit P + Q has the mean square (D + k) (D + k + 1) / factor^2, where D is the sum of
    sizes less 1 each, and k is 2, or 1 with a public total; u = P / (P + Q) has a density in
    proportion to the product of all M; and values are parts of P or Q by flat Dirichlet
    distributions, with one part more.
    """
    each = Counter(sizes)
    if not factor:
        return dict.fromkeys(each, Spread(inf, inf))
    degrees = sum((size - 1) * many for size, many in each.items()) + (1 if public_total else 2)
    square = degrees * (degrees + 1)
    place_of = np.array([0.5]) if public_total else GRID
    limits = {size: _limit(size, public=public_total) for size in each}
    logs = np.sum([many * limits[size][0] for size, many in each.items()], axis=0)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    of_total = weights @ (2 * place_of - 1) ** 2 * square
    return {
        size: Spread(
            sqrt(max(weights @ limits[size][1] * square - of_total / size**2, 0.0)) / factor, sqrt(of_total) / factor
        )
        for size in each
    }


@lru_cache(maxsize=256)
def _limit(size: int, *, public: bool) -> tuple[Floats, Floats]:
    """By P / (P + Q): the logarithm of M, up to a constant, and the mean square of a value over that of P + Q."""
    u = np.array([0.5]) if public else GRID
    free, i = size - 1, np.arange(size)
    steps = np.arange(1, size)
    which = np.append(0.0, np.cumsum(np.log((free + 1 - steps) / steps)))
    logs = 2 * which + np.outer(np.log(u), i) + np.outer(np.log1p(-u), free - i)
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    total = weights.sum(axis=1)
    rest = free - i
    up, down = weights @ (2 * i / ((i + 1) * (i + 2))), weights @ (2 * rest / ((rest + 1) * (rest + 2)))
    squares = (u**2 * up + (1 - u) ** 2 * down) / (total * free) if free else (2 * u - 1) ** 2
    return largest[:, 0] + np.log(total), squares


def first(holds: Callable[[int], bool], start: int) -> int:
    """The first number from a start on for which something holds, which then holds for all after it."""
    step = 1
    while not holds(start + step - 1):
        step *= 2
    low, high = start + step // 2, start + step - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def place(weights: Iterator[int], below: Below) -> int:
    """A place, with chances in proportion to whole weights."""
    sums = list(accumulate(weights))
    return bisect_right(sums, below(sums[-1]))


def different(many: int, bound: int, below: Below) -> list[int]:
    """So many different whole numbers from 0 to below a bound, evenly and in random order (Fisher and Yates)."""
    swapped: dict[int, int] = {}
    found = []
    for i in range(many):
        j = i + below(bound - i)
        found.append(swapped.get(j, j))
        swapped[j] = swapped.get(i, i)
    return found
