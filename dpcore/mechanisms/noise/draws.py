"""Exact sampling from the operating system's random words.

Every draw is a function of a uniform real number U of (0, 1), whose bits are drawn as they are
needed: the first 64 are a word. Floating point is a filter: it works out the outcome together with
a bound on its own error. Where the error, or the bits of U that are not drawn yet, could change the
outcome, `decimal` works it out (its logarithm and exponential are correctly rounded), with more
digits and more bits until one outcome is left. So outcomes are those of exact arithmetic, and
probabilities are exactly those that are stated, for the floats that are given taken as rational
numbers: at every scale from 0, whose noise is 0, to 2^1000. Noise that int64 does not
hold is drawn as Python's integers. How long a draw takes may tell something; nothing here hides
that.

What is assumed: the operating system's words are uniform and independent, floats are those of IEEE
754, and NumPy's logarithm and exponential are right to 2^-50, 4 units in the last place.
`check_numpy` tries the last. `histograms` also takes Python's logarithm to be right to 10^-9.

uniform   A word's last bits, as many as a number below the bound may need; again, if they are not
          below it. For one bound of any size: `secrets.randbelow`, which does the same.
laplace   The difference of two geometric variables. floor(-b ln U) is geometric: it is k or more if
          U <= exp(-k / b). Hence P(z) is proportional to exp(-|z| / b), for integers (Ghosh,
          Roughgarden and Sundararajan 2012).
          In floats, with the unit u = 2^-53: the word's middle is out by 2 u of itself and stands
          for numbers that differ from it by half of one, 1 / middle of it at most, and the word 0
          for numbers that differ by any factor: it is never decided here. So -ln U is out by 1 /
          middle, 2 u, and the logarithm's 8 u (1 + itself); product and difference add 3 u of
          theirs. `LOG_ERROR` is 16 u.
          From b = 2^36 on, b / 2^s is below it for some s, and the variable is 2^s v + r: v is
          geometric of scale b / 2^s, a division without rounding, and r below 2^s has P(r)
          proportional to exp(-r / b). As exp(-(2^s v + r) / b) is a product, v and r are
          independent. r is uniform, and taken with probability exp(-r / b), or drawn again; as r /
          b < 2^-35, nearly always.
gaussian  Rejection (Canonne, Kamath and Steinke 2020, algorithm 3). With t = floor(sigma) + 1,
          Laplace noise y of scale t is taken with probability exp(-(|y| - sigma^2 / t)^2 / (2
          sigma^2)), or all begins again. Multiplied with exp(-|y| / t), the mixed term of the
          square cancels: P(y) is proportional to exp(-y^2 / (2 sigma^2)), whatever t is, hence also
          where floor(sigma) + 1 is rounded.
Choice    Rejection. Candidate r of a group weighs w(r) = weight(r) exp(factor (score(r) - best
          score)). An integer W(r) >= 2^bits w(r) is found in floating point; r is proposed with
          probability W(r) / sum of W, by an exact draw among whole numbers, and taken with
          probability 2^bits w(r) / W(r), or all begins again. So r comes with probability w(r) /
          sum of w: the exponential mechanism, without any slack. W decides how often we begin again
          (hardly ever), never what is chosen.
          In floats, an exponent of -708 or more is out by 2 u of itself, 2^-42.5, and fractions and
          the exponential by some u: less than half of `EXP_ERROR`. Below, exp is no normal float;
          the weight is far below 1, and W is 1.
Events    U < p is decided by the word's first 53 bits L, a number with L <= U < L + 2^-53, and a
          float p out by e of itself at most: yes if L + 2^-52 < p (1 - e), no if L > p (1 + e). The
          room of 2^-53 is for rounding the sum. A p so small that it is less exact is met by L = 0
          alone, for which nothing is decided here.
"""

import os
import secrets
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import floor, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.errors import ParameterError

Integers = NDArray[np.int64]

WORD = 64
TOGETHER = 1 << 14  # draws at a time: they fit the processor's cache
NARROW = 36  # bits of a scale; of wider ones, a draw in 2,000 and more would need decimals
LARGEST = 1 << 62  # noise from here on is no int64: it is added to counts
# of NumPy's logarithm and exponential, relative (the logarithm's, absolute as well)
ACCURACY = 2.0**-50
LOG_ERROR = 2.0**-49  # relative, and absolute
EXP_ERROR = 2.0**-40  # relative, of a weight
NEVER = -1_000_000  # of a probability's logarithm: many words could not tell a smaller one from 0


@cache
def check_numpy() -> None:
    """Raise ParameterError unless NumPy's logarithm and exponential are as accurate as draws assume.

    They are tried where their algorithms change (next to 1, powers of 2 and their roots), and at
    some hundred other numbers, which are always the same: all at once, and one by one, which may be
    other instructions. This takes some milliseconds, once.
    """
    near = np.outer([0.5**0.5, 0.75, 0.5, 2.0**-64], 1 + np.arange(-2, 3) * 2.0**-52).ravel()
    some, next_to_one = np.random.default_rng(0).random(60), 1 - np.append(0, 2.0 ** -np.arange(1, 54, 2))
    inside = np.concatenate([next_to_one, near, some, some**30])
    exponents = -np.concatenate([2.0 ** np.arange(-54, 10, 3), near, 700 * near, some, 700 * some])
    with localcontext(Context(prec=40)):
        for function, exactly, given in ((np.log, Decimal.ln, inside), (np.exp, Decimal.exp, exponents)):
            alone = [float(function(x)[0]) for x in given[:, None]]
            for x, *values in zip(given.tolist(), function(given).tolist(), alone, strict=True):
                true = exactly(Decimal(x))
                room = Decimal(ACCURACY) * (abs(true) + (function is np.log))
                if not all(isfinite(value) and abs(Decimal(value) - true) <= room for value in values):
                    raise ParameterError(
                        "NumPy's logarithm or exponential is not accurate here: noise cannot be sampled exactly.",
                        "Install another build of NumPy; noise='laplace' is for teaching.",
                    )


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
    """Discrete Laplace noise, P(z) proportional to exp(-|z| / scale); scales of 0 or more of shape (n,)."""
    parts = [scales[start : start + TOGETHER] for start in range(0, max(len(scales), 1), TOGETHER)]
    return np.concatenate([geometric(some) - geometric(some) for some in parts])


def geometric(scales: Floats) -> Integers:
    """floor(-scale ln U), shape (n,)."""
    wide = np.flatnonzero(scales >= 2.0**NARROW)
    shifts = np.frexp(scales[wide])[1] - NARROW
    if len(wide):
        scales, given = scales.copy(), scales[wide]
        scales[wide] = np.ldexp(given, -shifts)
    drawn = words(len(scales))
    middle = drawn.astype(float) + 0.5
    found = -np.log(middle * 2.0**-WORD)
    error = scales * (LOG_ERROR * (1 + found) + 1 / middle)
    found *= scales
    low, high = np.floor(found - error), np.floor(found + error)
    whole = low.astype(np.int64)
    for i in np.flatnonzero((low != high) | (drawn == 0)).tolist():
        value = one_geometric(float(scales[i]), int(drawn[i]))
        if value >= LARGEST:
            whole = whole.astype(object)
        whole[i] = value
    if len(wide):
        whole = whole.astype(object)
        for i, scale, shift in zip(wide.tolist(), given.tolist(), shifts.tolist(), strict=True):
            whole[i] = (whole[i] << shift) + remainder(scale, shift)
    return whole


def remainder(scale: float, bits: int) -> int:
    """A whole number r below 2^bits, P(r) proportional to exp(-r / scale), which is above 1 - 2^(1 - NARROW)."""
    sure = (1 << WORD) - (1 << WORD - NARROW + 2)
    while True:
        found, drawn = secrets.randbits(bits), secrets.randbits(WORD)
        if drawn < sure or is_below(drawn, Fraction(1), -found / Fraction(scale)):
            return found


def gaussian(sigmas: Floats) -> Integers:
    """Discrete Gaussian noise, P(z) proportional to exp(-z^2 / (2 sigma^2)); sigmas of 0 or more of shape (n,)."""
    found = np.zeros(len(sigmas), dtype=np.int64)
    for start in range(0, len(sigmas), TOGETHER):
        open_ = start + np.flatnonzero(sigmas[start : start + TOGETHER])
        while len(open_):
            offered = laplace(np.floor(sigmas[open_]) + 1)
            taken = keep_gaussian(offered, sigmas[open_])
            if offered.dtype == object:
                found = found.astype(object)
            found[open_[taken]] = offered[taken]
            open_ = open_[~taken]
    return found


def keep_gaussian(offered: Integers, sigmas: Floats) -> Flags:
    """Which values of `gaussian`'s Laplace noise are taken.

    The exponent is (|y| - sigma^2 / t)^2 / (2 sigma^2). Each operation is out by a unit, 2^-53, of what it gives: with
    r sigma for the sum |y| + sigma^2 / t, the difference by 3 units of that, the quotient by 4 units of r, and the
    exponent by less than 8 units of r^2. As sigma / t is below 1, r is less than the quotient plus 2. A probability of
    2^-53 has a quotient below 9; so down to there, r is below 11 and the exponent out by 2^-43. `events` decides
    nothing by smaller ones, whose exponents are right to 2^-48 of themselves.
    """
    far, size = np.abs(offered).astype(float), np.floor(sigmas) + 1
    with np.errstate(over="ignore", divide="ignore"):
        chance = np.exp(-0.5 * ((far - sigmas * (sigmas / size)) / sigmas) ** 2)

    def exactly(i: int, drawn: int) -> bool:
        sigma, t = Fraction(float(sigmas[i])), int(size[i])
        behind = abs(int(offered[i])) - sigma * sigma / t
        return is_below(drawn, Fraction(1), -behind * behind / (2 * sigma * sigma))

    return events(chance, exactly)


def events(chance: Floats, exactly: Callable[[int, int], bool]) -> Flags:
    """Which happen, with probabilities that are right to `EXP_ERROR`; the i-th is decided exactly by its word."""
    drawn = words(len(chance))
    lot = (drawn >> np.uint64(11)).astype(float) * 2.0**-53
    found: Flags = lot + 2.0**-52 < chance * (1 - EXP_ERROR)
    for i in np.flatnonzero(~found & (lot <= chance * (1 + EXP_ERROR))).tolist():
        found[i] = exactly(i, int(drawn[i]))
    return found


def is_below(drawn: int, ratio: Fraction, exponent: Fraction) -> bool:
    """Whether U, whose first bits are given, is below ratio * e^exponent, which is 1 at most."""
    width, part, whole = WORD, Decimal(ratio.numerator), Decimal(ratio.denominator)
    bits = max(ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1, 0)
    # a bound, below which e^upper * ratio is next to nothing: 2 < e
    upper = max(exponent, Fraction(NEVER - bits))
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
        power = context.exp(context.divide(Decimal(upper.numerator), Decimal(upper.denominator)))
        near = context.multiply(context.divide(context.multiply(power, part), whole), Decimal(1 << width))
        # The exponent is out by 10^-digits of itself, which is below 10^9, the power by as much, and all else by less.
        slack = context.scaleb(near, 15 - digits)
        low = context.subtract(near, slack) if upper == exponent else Decimal(0)
        if low > 1 << width:
            raise ArithmeticError("A probability is above 1.")
        if drawn + 1 <= low:
            return True
        if drawn >= context.add(near, slack):
            return False
        drawn, width = drawn << WORD | secrets.randbits(WORD), width + WORD


def one_geometric(scale: float, drawn: int) -> int:
    """floor(-scale ln U), exactly; the first bits of U are given."""
    width = WORD
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits)
        ends: list[int] = []
        # the largest possible value, then the least
        for bits, sign in ((drawn, 1), (drawn + 1, -1)):
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


class DrawnChoice:
    """Candidates in groups, exactly sampled choices: r with probability proportional to weight(r) exp(factor score).

    Each group begins at one of `starts`, and none is empty; differences of scores, and the factor,
    are floats, the factor is 0 or more, and 2^bits times the number of candidates less than 2^62.
    Per group, `best` is the best score that weighs anything (-inf if none does), and `totals` is at
    least 2^bits times the sum of the weights w(r).
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
        indices = np.searchsorted(self._sums, target, side="right")
        offered = self._sums[indices] - np.where(indices > 0, self._sums[indices - 1], 0)
        chance = self._float(indices, self.best[groups]) / offered

        def exactly(i: int, drawn: int) -> bool:
            index, best = int(indices[i]), Fraction(float(self.best[groups[i]]))
            part, whole = (1, 1) if self._weights is None else (int(array[index]) for array in self._weights)
            ratio = Fraction(part << self._bits, whole * int(offered[i]))
            return is_below(drawn, ratio, Fraction(self._factor) * (Fraction(float(self._scores[index])) - best))

        return indices, events(chance, exactly)

    def _float(self, indices: Ints | slice, best: Floats) -> Floats:
        """2^bits w(r), right to a relative `EXP_ERROR` / 2 where it is a normal float."""
        with np.errstate(over="ignore", under="ignore"):
            behind = np.minimum(self._scores[indices] - np.where(np.isneginf(best), 0.0, best), 0.0)
            found = np.ldexp(np.exp(self._factor * behind), self._bits)
        return found if self._weights is None else found * (self._weights.part[indices] / self._weights.whole[indices])
