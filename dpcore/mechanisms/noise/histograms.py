r"""Noise for several histograms at once, of one and the same rows: the K-norm mechanism (Hardt and Talwar 2010).

A row adds 1 to one count of every histogram: all totals move together. So the noise is one vector z_j of whole numbers
per histogram, *all of one total T*, and z is as long as the longest of them, |z| = max of sum_i |z_ji|. A row has
length 1, and no norm in which it has is larger, if rows can have any values: with P the largest sum of a histogram's
positive values and Q = P - T, |z| is P + Q, and P rows more and Q rows less make all z_j. The mechanism draws

    P(z) proportional to exp(-factor |z|),

and two tables that differ by `rows` rows added or removed (replaced: one of each) differ in it by a factor of
exp(factor * rows) at most, by the triangle inequality. If the total is public, T is 0. Laplace noise at factor / d on
every count of d histograms is, at the same price, several times as large where these are many of two values.

Draws are exact. Of m values all but the last, n = m - 1, tell the vector, if T is known. Let M(P, Q) be the number of
those whose positive values sum to P at most and whose negative ones to -Q at most: then the last has the sign and size
for the whole to do so as well. With i positive values there are C(n, i) choices of which, C(P, i) of their sizes, as
i different numbers of 1 to P are their sums from the first on, and C(Q + n - i, n - i) of the others', which may be 0:

    M(P, Q) = sum over i of C(n, i) C(P, i) C(Q + n - i, n - i).

For each T, exp(-factor |z|) is, up to a constant, the sum of exp(-factor (P + Q)) over all (P, Q) with P - Q = T that z
is within. So (P, Q) comes with probability proportional to exp(-factor (P + Q)) M_1(P, Q) M_2(P, Q) ..., and then every
z_j evenly from its vectors within (P, Q).

Rejection finds (P, Q), from an envelope over t, half of P + Q rounded up. Two facts bound it.

1. M(P, Q) <= M(t, t). M grows in both; so it is to be shown that M(P, Q) >= M(P + 1, Q - 1) for P >= Q. M has the
   series (1 - xy)^n / ((1 - x) (1 - y))^(n + 1) in x^P y^Q. Let c_n(P, Q) be its difference M(P, Q) - M(P + 1, Q - 1),
   for P >= Q: what (x - y) times the series has at x^(P + 1) y^Q, which is antisymmetric. The series for n is that for
   n - 1, times (1 - xy) / ((1 - x) (1 - y)) = 1 + the sum over k >= 1 of (x^k + y^k). So, where what is antisymmetric
   cancels, with c for c_(n - 1):

       c_n(P, Q) = c(P, Q) + sum over Q <= a < P of c(a, Q) + sum over 0 <= b < Q of (c(P, b) - c(Q - 1, b)),
       c_n(P + 1, Q) - c_n(P, Q) = c(P + 1, Q) + sum over 0 <= b < Q of (c(P + 1, b) - c(P, b)).

   If no c is negative and none falls in P, both lines say the same of c_n; and c_0 is 1 for Q = 0, otherwise 0.
2. M(t, t) is log-concave in t. Its series is the sum over k of C(n, k)^2 w^k, over (1 - w)^(n + 1) (the count of the
   root polytope's points), so it is a convolution of two log-concave sequences. Products of these are log-concave, with
   2 t + 1 and exp(-2 factor t) as well, and stay so if all terms from t = 1 on are multiplied by a number above 1.

With the largest term of the envelope at t = top, and half of it at most at top + L and top - L, those beyond top + i L
and top - i L are 2^-i of it at most. t is proposed with a fair coin for the side and one for each further L, evenly
within that L; then P + Q is 2 t or 2 t - 1, by a coin, and P any number up to that; and all is taken by an exact lot,
or begins again. Floating point finds L, `top` but for its last steps, and decides a lot that is far enough from its
probability; whole numbers do the rest. `SLACK` and `MARGIN` are far more than its errors. How long it takes may tell
something of the noise; nothing here hides that.
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
Lot = Callable[[float, Callable[[], tuple[Fraction, Fraction]]], bool]
"""Whether something happens: given the logarithm of its probability, right to `MARGIN`, and what gives a ratio and an
exponent, of which it is ratio * e^exponent exactly."""

SLACK = Fraction(1, 1 << 20)  # by which the largest term may be larger than what is taken for it
MARGIN = 1e-4  # of logarithms: what rounding may amount to where there are thousands of tables of thousands of values
WIDEST = 2.0**30  # a scale: one over the factor; beyond, nothing is told
GRID = np.linspace(0, 1, 1_002)[1:-1]  # of P / (P + Q)


class Spread(NamedTuple):
    """Standard deviations, in the limit of small factors: of a count less its share of the total, and of the total."""

    cell: float
    total: float


def draw(sizes: Sequence[int], factor: float, below: Below, lot: Lot, *, public_total: bool) -> list[Ints]:
    """The noise of one histogram per size, each of shape (size,), with one total: 0 if it is public."""
    up, down = lengths(Counter(sizes), Fraction(factor), below, lot, public_total=public_total)
    return [vector(size, up, down, below) for size in sizes]


def lengths(sizes: Counter[int], factor: Fraction, below: Below, lot: Lot, *, public_total: bool) -> tuple[int, int]:
    """P and Q, for so many histograms of each size."""

    def many(up: int, down: int) -> int:
        return prod(sum(ways(size, up, down)) ** times for size, times in sizes.items())

    def pairs(t: int) -> int:
        """What a term of the envelope has beside M: how many pairs at most, and two for the coin."""
        return 1 if public_total or not t else 2 * (2 * t + 1)

    def length(t: int) -> int:
        """The least P + Q."""
        return 2 * t if public_total else max(2 * t - 1, 0)

    def term(t: int) -> int:
        return pairs(t) * many(t, t)

    def about(t: int) -> tuple[float, float]:
        """The logarithm of a term with its power of e, and its slope."""
        parts = [(times, *logarithm(size, t, t)) for size, times in sizes.items()]
        own = sum(times * log_of for times, log_of, _ in parts) + log(pairs(t)) - float(factor) * length(t)
        slope = sum(times * slope for times, _, slope in parts) - 2 * float(factor)
        return own, slope if public_total else slope + 2 / (2 * t + 1)

    def rises(t: int) -> bool:
        """Whether the next term is larger."""
        here, there = term(t), term(t + 1)
        rise = log1p((there - here) / here) if there < 2 * here else log(there) - log(here)
        return rise > factor * (length(t + 1) - length(t))

    top = first(lambda t: about(t)[1] <= 0, 1)
    while rises(top):
        top += 1
    while top and not rises(top - 1):
        top -= 1
    highest, largest = about(top)[0], term(top)
    half = highest - log(2) - MARGIN
    far = max(
        first(lambda step: about(top + step)[0] <= half, 1),
        first(lambda step: step > top or about(top - step)[0] <= half, 1),
    )
    while True:
        behind, further = below(2), 0
        while below(2):
            further += 1
        away = further * far + below(far)
        t = top - 1 - away if behind else top + away
        if t < 0:
            continue
        both = length(t) + (below(2) if t and not public_total else 0)
        up = t if public_total else below(both + 1)
        own = 1 if public_total or not t else 2 * (both + 1)  # a pair is one of so many that could be proposed
        near = sum(times * logarithm(size, up, both - up)[0] for size, times in sizes.items()) + log(own)
        near += further * log(2) - float(factor) * both - highest - log1p(SLACK)

        def exactly(up: int = up, both: int = both, whole: int = own << further) -> tuple[Fraction, Fraction]:
            ratio = Fraction(whole * many(up, both - up), largest) / (1 + SLACK)
            return ratio, factor * (length(top) - both)

        if lot(near, exactly):
            return up, both - up


def vector(size: int, up: int, down: int, below: Below) -> Ints:
    """A vector of total up - down, with no more than these above and below 0, evenly."""
    free = size - 1
    positive = place(ways(size, up, down), below)
    found = np.zeros(size, dtype=np.intp)
    which = different(positive, free, below)
    others = sorted({*range(free)} - {*which})
    found[which] = np.diff(sorted(different(positive, up, below)), prepend=-1)
    sums = sorted(different(len(others), down + len(others), below))
    found[others] = 1 - np.diff(sums, prepend=-1)
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

    In the limit P + Q has the mean square (D + k) (D + k + 1) / factor^2, where D is the sum of sizes less 1 each, and
    k is 2, or 1 with a public total; u = P / (P + Q) has a density in proportion to the product of all M; and values
    are parts of P or Q by flat Dirichlet distributions, with one part more.
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
    moved: dict[int, int] = {}
    found = []
    for i in range(many):
        j = i + below(bound - i)
        found.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return found
