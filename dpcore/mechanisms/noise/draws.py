"""Exact sampling from the operating system's random words, many at once.

Every draw is a function of a uniform real number U of (0, 1), whose first 64 bits are a word. The function is worked
out in floating point together with a bound on its error (NumPy's `log` and `exp` are taken to be right to 16 units in
the last place; they are right to 4). Where the error, or the bits of U that are not drawn yet, could change the
outcome, `decimal` works it out to as many digits as it takes, and as many words more are drawn as it takes. So the
outcome is always the one that exact arithmetic would give: probabilities are exactly those that are stated, for the
floats that are given taken as rational numbers. How long a draw takes may tell something; nothing here hides that.

laplace   The difference of two geometric variables. floor(-b ln U) is geometric: it is k or more if U <= exp(-k / b).
          Hence P(z) is proportional to exp(-|z| / b), for integers (Ghosh, Roughgarden and Sundararajan 2012).
gaussian  Rejection (Canonne, Kamath and Steinke 2020, algorithm 3). With t = floor(sigma) + 1, Laplace noise y of scale
          t is taken with probability exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)), or all begins again. Multiplied with
          exp(-|y| / t), the mixed term of the square cancels: P(y) is proportional to exp(-y^2 / (2 sigma^2)).
Choice    Rejection. Candidate r of a group weighs w(r) = weight(r) exp(factor (score(r) - best score)). An integer
          W(r) >= 2^bits w(r) is found in floating point; r is proposed with probability W(r) / sum of W, by an exact
          lot among whole numbers, and taken with probability 2^bits w(r) / W(r), or all begins again. So r comes with
          probability w(r) / sum of w: the exponential mechanism, without any slack. W decides how often we begin again
          (hardly ever), never what is chosen.
"""

import os
import secrets
from decimal import Context, Decimal
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints

Integers = NDArray[np.int64]

WORD = 64
TOGETHER = 1 << 14  # draws at a time: they fit the processor's cache
WIDEST_SCALE = 2.0**36  # beyond, one draw in 10,000 and more needs decimals
LOG_ERROR = 2.0**-49  # relative, of a logarithm; and absolute, from the rounding of what it is taken of
EXP_ERROR = 2.0**-40  # relative, of a weight: an exponent of -745 or more is right to 745 * 2^-52 = 2^-42.4
NEVER = -1_000_000  # exponents below: the probability is less than any that many words could tell from 0


def words(count: int) -> NDArray[np.uint64]:
    """Random words from the operating system, shape (count,)."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def uniform(bounds: Integers) -> Integers:
    """Whole numbers from 0 to below some bounds of 1 or more, shape (n,): words are cut to size, or drawn anew."""
    most = (bounds - 1).astype(np.uint64)
    mask = most.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    found = words(len(bounds)) & mask
    again = np.flatnonzero(found > most)
    while len(again):
        found[again] = words(len(again)) & mask[again]
        again = again[found[again] > most[again]]
    return found.astype(np.int64)


def laplace(scales: Floats) -> Integers:
    """Discrete Laplace noise, P(z) proportional to exp(-|z| / scale); positive scales of shape (n,)."""
    found = np.empty(len(scales), dtype=np.int64)
    for start in range(0, len(scales), TOGETHER):
        some = slice(start, start + TOGETHER)
        found[some] = geometric(scales[some]) - geometric(scales[some])
    return found


def geometric(scales: Floats) -> Integers:
    """floor(-scale ln U), shape (n,)."""
    drawn = words(len(scales))
    middle = drawn.astype(float) + 0.5
    found = -np.log(middle * 2.0**-WORD)
    error = scales * (LOG_ERROR * (1 + found) + 1 / middle)
    found *= scales
    low, high = np.floor(found - error), np.floor(found + error)
    for place in np.flatnonzero(low != high).tolist():
        low[place] = one_geometric(float(scales[place]), int(drawn[place]))
    return low.astype(np.int64)


def gaussian(sigmas: Floats) -> Integers:
    """Discrete Gaussian noise, P(z) proportional to exp(-z^2 / (2 sigma^2)); positive sigmas of shape (n,)."""
    found = np.empty(len(sigmas), dtype=np.int64)
    for start in range(0, len(sigmas), TOGETHER):
        open_ = np.arange(start, min(start + TOGETHER, len(sigmas)))
        while len(open_):
            offered = laplace(np.floor(sigmas[open_]) + 1)
            taken = keep_gaussian(offered, sigmas[open_])
            found[open_[taken]] = offered[taken]
            open_ = open_[~taken]
    return found


def keep_gaussian(offered: Integers, sigmas: Floats) -> Flags:
    """Which values of `gaussian`'s Laplace noise are taken.

    The exponent is (|y| - sigma^2 / t)^2 / (2 sigma^2). Each operation is out by a unit, 2^-53, of what it gives, hence
    the difference by 3 units of r sigma, the sum of its two parts, and the exponent by less than 8 units of r^2.
    """
    far, size = np.abs(offered).astype(float), np.floor(sigmas) + 1
    with np.errstate(over="ignore", divide="ignore"):
        centre = sigmas * (sigmas / size)
        chance = np.exp(-0.5 * ((far - centre) / sigmas) ** 2)
        error = EXP_ERROR + 2.0**-50 * np.minimum(((far + centre) / sigmas) ** 2, 2.0**49)
    drawn = words(len(offered))
    lot = (drawn >> np.uint64(11)).astype(float) * 2.0**-53  # at most 2^-53 below U
    taken: Flags = lot + 2.0**-52 < chance * (1 - error)
    for i in np.flatnonzero(~taken & (lot <= chance * (1 + error))).tolist():
        sigma, t = Fraction(float(sigmas[i])), int(size[i])
        behind = abs(int(offered[i])) - sigma * sigma / t
        taken[i] = is_below(int(drawn[i]), Fraction(1), -behind * behind / (2 * sigma * sigma))
    return taken


def is_below(drawn: int, ratio: Fraction, exponent: Fraction) -> bool:
    """Whether U, whose first bits are given, is below ratio * e^exponent, which is 1 at most."""
    width = WORD
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits)
        if exponent < NEVER:
            low, high = Fraction(0), Fraction(1, 1 << -NEVER)
        else:
            power = context.exp(context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
            near, slack = Fraction(power) * ratio, Fraction(1, 10 ** (digits - 15))
            low, high = near * (1 - slack), near * (1 + slack)
        if low > 1:
            raise ArithmeticError("A probability is above 1.")
        if Fraction(drawn + 1, 1 << width) <= low:
            return True
        if Fraction(drawn, 1 << width) >= high:
            return False
        drawn, width = drawn << WORD | secrets.randbits(WORD), width + WORD


def one_geometric(scale: float, drawn: int) -> int:
    """floor(-scale ln U), exactly; the first bits of U are given."""
    width = WORD
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits)
        ends: list[int] = []
        for bits, sign in ((drawn, 1), (drawn + 1, -1)):  # the largest possible value, then the least
            if not bits:
                break
            log = -Fraction(context.ln(context.divide(Decimal(bits), Decimal(1 << width))))
            # The quotient is right to a relative 10^(1 - digits), its logarithm hence to as much in absolute terms.
            slack = (log + 1) / 10 ** (digits - 5)
            ends.append(max(floor(Fraction(scale) * (log + sign * slack)), 0))
        if len(ends) == 2 and ends[0] == ends[1]:
            return ends[0]
        drawn, width = drawn << WORD | secrets.randbits(WORD), width + WORD


class Weights(NamedTuple):
    """Weights of candidates as exact fractions part / whole, from 0 to 1; int arrays of shape (candidates,)."""

    part: Integers
    whole: Integers


class Choice:
    """Candidates in groups, exactly sampled choices: r with probability proportional to weight(r) exp(factor score).

    Each group begins at one of `starts`, and none is empty; the factor is 0 or more, and 2^bits times the number of
    candidates less than 2^62. Per group, `best` is the best score that weighs anything (-inf if none does), and
    `totals` is at least 2^bits times the sum of the weights w(r).
    """

    def __init__(
        self, scores: Floats, starts: Ints, factor: float, weights: Weights | None = None, bits: int | None = None
    ) -> None:
        self._scores, self._factor, self._weights = scores, factor, weights
        self._bits = 61 - len(scores).bit_length() if bits is None else bits
        possible = scores if weights is None else np.where(weights.part > 0, scores, -np.inf)
        self.best = np.maximum.reduceat(possible, starts)
        sizes = np.diff(starts, append=len(scores))
        found = np.floor(self._float(slice(None), np.repeat(self.best, sizes)) * (1 + EXP_ERROR)).astype(np.int64) + 1
        self._sums = np.cumsum(found if weights is None else np.where(weights.part > 0, found, 0))
        self._before = np.where(starts > 0, self._sums[starts - 1], 0)
        self.totals = self._sums[starts + sizes - 1] - self._before

    def draw(self) -> Ints:
        """The places of one candidate of every group that has any weight; shape (groups,) if all have."""
        groups = np.flatnonzero(self.totals)
        chosen = np.empty(len(groups), dtype=np.intp)
        open_ = np.arange(len(groups))
        while len(open_):
            found, taken = self.propose(groups[open_])
            chosen[open_] = found
            open_ = open_[~taken]
        return chosen

    def propose(self, groups: Ints) -> tuple[Ints, Flags]:
        """A place for each of some groups, and whether it is taken."""
        target = self._before[groups] + uniform(self.totals[groups])
        places = np.searchsorted(self._sums, target, side="right")
        offered = self._sums[places] - np.where(places > 0, self._sums[places - 1], 0)
        chance = self._float(places, self.best[groups]) / offered
        drawn = words(len(places))
        lot = (drawn >> np.uint64(11)).astype(float) * 2.0**-53  # at most 2^-53 below U
        taken = lot + 2.0**-52 < chance * (1 - EXP_ERROR)
        for i in np.flatnonzero(~taken & (lot <= chance * (1 + EXP_ERROR))).tolist():
            taken[i] = self._exactly(int(places[i]), float(self.best[groups[i]]), int(offered[i]), int(drawn[i]))
        return places, taken

    def _float(self, places: Ints | slice, best: Floats) -> Floats:
        """2^bits w(r), right to a relative `EXP_ERROR` / 2 where it is a normal float."""
        with np.errstate(over="ignore", under="ignore"):
            behind = np.minimum(self._scores[places] - np.where(np.isneginf(best), 0.0, best), 0.0)
            found = np.ldexp(np.exp(self._factor * behind), self._bits)
        return found if self._weights is None else found * (self._weights.part[places] / self._weights.whole[places])

    def _exactly(self, place: int, best: float, offered: int, drawn: int) -> bool:
        """Whether U, whose first bits are given, is below 2^bits w(r) / W(r)."""
        part, whole = (1, 1) if self._weights is None else (int(array[place]) for array in self._weights)
        ratio = Fraction(part << self._bits, whole * offered)
        exponent = Fraction(self._factor) * (Fraction(float(self._scores[place])) - Fraction(best))
        return is_below(drawn, ratio, exponent)
