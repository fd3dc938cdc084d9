r"""Noise for several histograms at once, of one and the same rows: the K-norm mechanism (Hardt and Talwar 2010).

A row adds 1 to one count of every histogram. The noise of histogram j is a vector z_j of whole numbers, and its length
is the sum of |z_ji|; if totals are not to be told, z_j is only up to a constant, and its length is the least sum of
|z_ji + t| over all t, which a median gives. So what a row adds has length 1 in every histogram. The mechanism draws

    P(z) proportional to exp(-factor * the largest length among all z_j),

and two tables that differ by what adds `rows` to all lengths at most differ in it by a factor of exp(factor * rows) at
most, by the triangle inequality. Laplace noise at factor / d on every count of d histograms is, at the same price, 3.5
times as large (less its mean) where there are many histograms of two values, and 1.1 times with sixteen.

Draws are exact. exp(-factor x) is (1 - exp(-factor)) times the sum of exp(-factor R) over all whole R >= x. So R comes
with probability proportional to exp(-factor R) B_1(R) B_2(R) ..., where B_j(R) is the number of vectors up to length R,
and then every z_j evenly from these. Up to a constant, a vector is told by the one with a lower median of 0: of m
values, m // 2 at most are positive, and (m - 1) // 2 at most negative. Where k values are not 0, there are C(R, k)
choices of their sizes, as k different numbers of 1 to R are their sums from the first on. So B(R) is the sum of
C(m, k) C(R, k) times the number of ways to give k values signs.

Rejection finds R. The terms exp(-factor R) B_1(R) ... are log-concave: the series of a B is a polynomial over a power
of 1 - t, and where the polynomial's coefficients are log-concave (a test holds it, exactly, for sizes up to 40, 80 and
150), so is what it is a convolution of; a probability above 1 would be an error. With the largest term at M, and half
of it at most at M + L and M - L, those beyond M + i L and M - i L are 2^-i of it at most. R is proposed with a fair
coin for the side and one for each further L, evenly within that L, and taken by an exact lot, or all begins again. M
and L are found in floating point, M to the last step by whole numbers; `SLACK` and `MARGIN` are far more than its
errors. How long it takes may tell something of the noise; nothing here hides that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb, log, log1p, prod, sqrt

import numpy as np

from dpcore.arguments import Floats, Ints

Below = Callable[[int], int]
"""A uniform whole number from 0 to below another."""
Lot = Callable[[Fraction, Fraction], bool]
"""Whether something of probability ratio * e^exponent happens."""

SLACK = Fraction(1, 1 << 20)  # by which the largest term may be larger than what is taken for it
MARGIN = 1e-6  # of logarithms
WIDEST = 2.0**30  # a scale: one over the factor; beyond, nothing is told


def draw(sizes: Sequence[int], factor: float, below: Below, lot: Lot, *, totals: bool) -> list[Ints]:
    """The noise of one histogram per size, each of shape (size,); it says nothing of totals unless it is to."""
    radius = longest(Counter(sizes), Fraction(factor), below, lot, totals=totals)
    return [vector(size, radius, below, totals=totals) for size in sizes]


def spread(size: int, sizes: Sequence[int], factor: float, *, totals: bool) -> float:
    """About the standard deviation of a count, less the mean of its histogram if totals are not told.

    In the limit of small factors: R has the mean square (D + 1) (D + 2) / factor^2, where D is the sum of sizes, less 1
    each without totals; and values that are not 0 have R times the parts of a flat Dirichlet distribution, with one
    part more. Infinite for a factor of 0.
    """
    if not factor:
        return np.inf
    degrees = sum(other if totals else other - 1 for other in sizes)
    square = 2 / ((size + 1) * (size + 2))
    if not totals:
        square = (2 * (size - 1) - (size - size % 2) / size) / (size * size * (size + 1))
    return sqrt((degrees + 1) * (degrees + 2) * square) / factor


def longest(sizes: Counter[int], factor: Fraction, below: Below, lot: Lot, *, totals: bool) -> int:
    """R, for so many histograms of each size."""

    def term(radius: int) -> int:
        return prod(sum(ways(size, radius, totals=totals)) ** many for size, many in sizes.items())

    def about(radius: int) -> tuple[float, float]:
        """The logarithm of a term, and its slope."""
        parts = [(many, *logarithm(size, radius, totals=totals)) for size, many in sizes.items()]
        own = sum(many * log_of for many, log_of, _ in parts) - float(factor) * radius
        return own, sum(many * slope for many, _, slope in parts) - float(factor)

    def rises(radius: int) -> bool:
        """Whether the next term is larger."""
        here, there = term(radius), term(radius + 1)
        return (log1p((there - here) / here) if there < 2 * here else log(there) - log(here)) > factor

    top = first(lambda radius: about(radius)[1] <= 0, 1)
    while rises(top):
        top += 1
    while top and not rises(top - 1):
        top -= 1
    half = about(top)[0] - log(2) - MARGIN
    far = max(
        first(lambda step: about(top + step)[0] <= half, 1),
        first(lambda step: step > top or about(top - step)[0] <= half, 1),
    )
    largest = term(top)
    while True:
        behind, further = below(2), 0
        while below(2):
            further += 1
        away = further * far + below(far)
        radius = top - 1 - away if behind else top + away
        if radius >= 0:
            ratio = Fraction(term(radius) << further, largest) / (1 + SLACK)
            if lot(ratio, factor * (top - radius)):
                return radius


def logarithm(size: int, radius: int, *, totals: bool) -> tuple[float, float]:
    """The logarithm of the number of vectors up to that length, and its slope, in floating point."""
    signs = signs_of(size, totals=totals)[1][: radius + 1]
    left = radius - np.arange(len(signs) - 1, dtype=float)
    logs = signs + np.append(0.0, np.cumsum(np.log(left / np.arange(1, len(signs)))))
    weights = np.exp(logs - logs.max())
    slopes = np.append(0.0, np.cumsum(1 / left))
    return float(logs.max() + log(weights.sum())), float(weights @ slopes / weights.sum())


def vector(size: int, radius: int, below: Below, *, totals: bool) -> Ints:
    """A vector up to that length, evenly."""
    k = place(ways(size, radius, totals=totals), below)
    most, least = most_signs(size, totals=totals)
    fewest = max(k - least, 0)
    positive = fewest + place((comb(k, p) for p in range(fewest, min(k, most) + 1)), below)
    sums = sorted(different(k, radius, below))
    found = np.zeros(size, dtype=np.intp)
    for i, at in enumerate(different(k, size, below)):
        length = sums[i] - (sums[i - 1] if i else -1)
        found[at] = length if i < positive else -length
    return found


def ways(size: int, radius: int, *, totals: bool) -> Iterator[int]:
    """How many vectors up to that length have k values that are not 0, for k = 0, 1, ..."""
    choices = 1  # C(radius, k)
    for k, signs in enumerate(signs_of(size, totals=totals)[0]):
        yield signs * choices
        choices = choices * (radius - k) // (k + 1)


@lru_cache(maxsize=128)
def signs_of(size: int, *, totals: bool) -> tuple[tuple[int, ...], Floats]:
    """For each k, in how many ways k of so many values have signs; and the logarithms of these numbers."""
    limits = most_signs(size, totals=totals)
    found = []
    which, signs = 1, 1  # C(size, k), 2^k
    over, one_more = [0, 0], [0, 0]  # of 2^k, with more of a sign than can be; C(k, limit)
    for k in range(size + 1):
        if (many := which * (signs - sum(over))) == 0:
            break
        found.append(many)
        one_more = [1 if k == limit else c * k // max(k - limit, 1) for c, limit in zip(one_more, limits, strict=True)]
        over = [2 * more + c for more, c in zip(over, one_more, strict=True)]
        which, signs = which * (size - k) // (k + 1), 2 * signs
    return tuple(found), np.array([log(many) for many in found])


def most_signs(size: int, *, totals: bool) -> tuple[int, int]:
    """How many values can be positive, and how many negative."""
    return (size, size) if totals else (size // 2, (size - 1) // 2)


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
