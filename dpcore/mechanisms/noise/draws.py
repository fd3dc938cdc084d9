"""Exact samplers that draw from the operating system's random words.

Every draw is a function of a uniform real number U of (0, 1), whose bits are drawn as needed; the
first 64 are one word. Floating point is a filter: it computes the outcome together with a bound on
its own error. Where the error, or the bits of U not drawn yet, could change the outcome, `decimal`
computes it (its logarithm and exponential are correctly rounded), with more digits and more bits
until one outcome is left. So outcomes are those of exact arithmetic. Probabilities are exactly the
stated ones, for the given floats read as rational numbers, at every scale from 0, whose noise is 0,
to 2^1000. Noise that int64 cannot hold comes as Python integers. The running time of a draw may
reveal something about it; nothing here hides it.

Assumptions: the operating system's words are uniform and independent, floats follow IEEE 754, and
NumPy's logarithm and exponential have an error of at most 2^-50, 4 units in the last place.
`check_numpy` tries the last one. `histograms` also assumes an error of at most 10^-9 of Python's
logarithm.

uniform   The last bits of a word, as many as a number below the bound may need. They are drawn
          again if they are not below the bound. For a single bound of any size `secrets.randbelow`
          does the same.
laplace   The difference of two geometric variables. floor(-b ln U) is geometric: it is k or more if
          U <= exp(-k / b). Hence P(z) is proportional to exp(-|z| / b), for integers (Ghosh,
          Roughgarden and Sundararajan 2012).
          In floats, with the unit u = 2^-53: the middle of a word has a relative error of 2 u. It
          stands for all U of that word, which differ from it by half a step, so by a relative
          1 / middle at most. The word 0 stands for numbers that differ by any factor, so floating
          point never decides it. So -ln U has an error of 1 / middle, plus 2 u, plus the
          logarithm's 8 u (1 + its value); product and difference add a relative 3 u.
          `LOG_ERROR` is 16 u.
          From b = 2^36 on, b / 2^s is below 2^36 for some s, and the variable is 2^s v + r. Here v
          is geometric with the scale b / 2^s, a division without rounding, and r is below 2^s with
          P(r) proportional to exp(-r / b). As exp(-(2^s v + r) / b) is a product, v and r are
          independent. A uniform r is accepted with probability exp(-r / b), or drawn again. As
          r / b < 2^-35, it is nearly always accepted.
gaussian  Rejection sampling (Canonne, Kamath and Steinke 2020, algorithm 3). With t = floor(sigma)
          + 1, Laplace noise y of scale t is accepted with probability
          exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)), or all begins again. Multiplied by
          exp(-|y| / t), the mixed term of the square cancels: P(y) is proportional to
          exp(-y^2 / (2 sigma^2)) for any t, also where floor(sigma) + 1 is rounded.
selection Rejection sampling. Candidate r of a group has the weight w(r) = weight(r) exp(factor
          (score(r) - best score)). An integer W(r) >= 2^bits w(r) is found in floating point. r is
          proposed with probability W(r) / sum of W, by an exact draw of an integer, and accepted
          with probability 2^bits w(r) / W(r), or all begins again. So r comes with probability
          w(r) / sum of w: the exponential mechanism, without any slack. W decides how often the
          draw begins again (hardly ever), never what is selected.
          In floats, an exponent of -708 or more has a relative error of 2 u, hence an absolute
          error of 2^-42.5. Fractions and the exponential add some u: less than half of `EXP_ERROR`
          in all. Below -708, exp is no normal float; the weight is far below 1, and W is 1.
bernoulli U < p is decided by the word's first 53 bits L, a number with L <= U < L + 2^-53, and a
          float p with a relative error of e at most: yes if L + 2^-52 < p (1 - e), no if
          L > p (1 + e). The extra 2^-53 covers the rounding of the sum. A p so small that it is
          less accurate can only meet L = 0, for which floating point decides nothing.
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
BLOCK = 1 << 14  # draws at a time: they fit the processor's cache
NARROW_BITS = 36  # bits of a scale; above, one draw in 2,000 or more would need decimals
LARGEST = 1 << 62  # noise from here on may overflow int64 when it is added to counts
# error of NumPy's logarithm and exponential: relative (of the logarithm, also absolute)
ACCURACY = 2.0**-50
LOG_ERROR = 2.0**-49  # relative and absolute error of -ln U
EXP_ERROR = 2.0**-40  # relative error of a weight
LEAST_LOG = -1_000_000  # least logarithm of a probability; smaller ones are as good as 0


@cache
def check_numpy() -> None:
    """Raise ParameterError unless NumPy's log and exp are as accurate as the samplers assume.

    Both functions are tried where their algorithms change (next to 1, powers of 2 and their roots)
    and at some hundred other fixed numbers. Each number is tried in an array and alone, because
    NumPy may use other instructions for one number. The check takes some milliseconds and runs
    once.
    """
    near = np.outer([0.5**0.5, 0.75, 0.5, 2.0**-64], 1 + np.arange(-2, 3) * 2.0**-52).ravel()
    some = np.random.default_rng(0).random(60)
    inside = np.concatenate([[1], 1 - 2.0 ** -np.arange(1, 54, 2), near, some, some**30])
    exponents = -np.concatenate([2.0 ** np.arange(-54, 10, 3), near, 700 * near, some, 700 * some])
    with localcontext(Context(prec=40)):
        for function, exactly, xs in ((np.log, Decimal.ln, inside), (np.exp, Decimal.exp, exponents)):
            alone = [float(function(x)[0]) for x in xs[:, None]]
            for x, *values in zip(xs.tolist(), function(xs).tolist(), alone, strict=True):
                true = exactly(Decimal(x))
                room = Decimal(ACCURACY) * (abs(true) + (function is np.log))
                if not all(isfinite(v) and abs(Decimal(v) - true) <= room for v in values):
                    raise ParameterError(
                        "This build of NumPy computes log or exp too inaccurately to sample noise exactly.",
                        "Install another build of NumPy; noise='laplace' is for teaching.",
                    )


def random_words(count: int) -> NDArray[np.uint64]:
    """Return random 64-bit words from the operating system, shape (count,)."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def uniform_below(bounds: Integers) -> Integers:
    """Draw uniform integers from 0 to below each of `bounds`, which are 1 or more; shape (n,).

    A random 64-bit word is cut to the bits that its bound needs, and drawn again if it is not below
    the bound.
    """
    most = (bounds - 1).astype(np.uint64)
    mask = most.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    found = random_words(len(bounds)) & mask
    again = np.flatnonzero(found > most)
    while len(again):
        found[again] = random_words(len(again)) & mask[again]
        again = again[found[again] > most[again]]
    return found.astype(np.int64)


def laplace(scales: Floats) -> Integers:
    """Draw discrete Laplace noise with P(z) proportional to exp(-|z| / scale); shape (n,).

    `scales` has one scale of 0 or more per draw; for a scale of 0 the noise is 0.
    """
    parts = [scales[start : start + BLOCK] for start in range(0, max(len(scales), 1), BLOCK)]
    return np.concatenate([geometric(some) - geometric(some) for some in parts])


def geometric(scales: Floats) -> Integers:
    """Draw geometric variables floor(-scale ln U), one per scale; shape (n,).

    U is uniform on (0, 1). Floating point gives most values; exact arithmetic decides where its
    error could change the integer. If a scale is 2^36 or more, or a value 2^62 or more, all values
    are Python integers in an object array.
    """
    wide = np.flatnonzero(scales >= 2.0**NARROW_BITS)
    shifts = np.frexp(scales[wide])[1] - NARROW_BITS
    if len(wide):
        scales, given = scales.copy(), scales[wide]
        scales[wide] = np.ldexp(given, -shifts)
    drawn = random_words(len(scales))
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
    """Draw an integer r below 2^bits, with P(r) proportional to exp(-r / scale).

    It is the low bits of a geometric variable of a wide scale. r is uniform at first, and accepted
    with probability exp(-r / scale), which must be above 1 - 2^(1 - NARROW_BITS) for every r.
    """
    sure = (1 << WORD) - (1 << WORD - NARROW_BITS + 2)
    while True:
        found, drawn = secrets.randbits(bits), secrets.randbits(WORD)
        if drawn < sure or is_below(drawn, Fraction(1), -found / Fraction(scale)):
            return found


def gaussian(sigmas: Floats) -> Integers:
    """Draw discrete Gaussian noise with P(z) proportional to exp(-z^2 / (2 sigma^2)); shape (n,).

    `sigmas` has one sigma of 0 or more per draw; for a sigma of 0 the noise is 0.
    """
    found = np.zeros(len(sigmas), dtype=np.int64)
    for start in range(0, len(sigmas), BLOCK):
        open_ = start + np.flatnonzero(sigmas[start : start + BLOCK])
        while len(open_):
            offered = laplace(np.floor(sigmas[open_]) + 1)
            taken = accept_gaussian(offered, sigmas[open_])
            if offered.dtype == object:
                found = found.astype(object)
            found[open_[taken]] = offered[taken]
            open_ = open_[~taken]
    return found


def accept_gaussian(offered: Integers, sigmas: Floats) -> Flags:
    """Decide which Laplace proposals `gaussian` accepts; bool array of shape (n,).

    `offered` has the proposals, and `sigmas` the sigma of each. A proposal y, drawn with the
    Laplace scale t = floor(sigma) + 1, is accepted with probability exp(-(|y| - sigma^2 / t)^2 / (2
    sigma^2)).

    Error of the exponent: each operation has a relative error of one unit, 2^-53. Let r sigma be
    the sum |y| + sigma^2 / t. The difference then has an error of 3 units of r sigma, the quotient
    one of 4 units of r, and the exponent one below 8 units of r^2. As sigma / t is below 1, r is
    less than the quotient plus 2. A probability of 2^-53 has a quotient below 9. Down to that
    probability r is below 11, and the exponent's error is at most 2^-43. `bernoulli` decides
    nothing by smaller probabilities, whose exponents have a relative error of at most 2^-48.
    """
    far, size = np.abs(offered).astype(float), np.floor(sigmas) + 1
    with np.errstate(over="ignore", divide="ignore"):
        chance = np.exp(-0.5 * ((far - sigmas * (sigmas / size)) / sigmas) ** 2)

    def exactly(i: int, drawn: int) -> bool:
        """Decide by exact arithmetic whether proposal `i` is accepted; `drawn` is its random word."""
        sigma, t = Fraction(float(sigmas[i])), int(size[i])
        behind = abs(int(offered[i])) - sigma * sigma / t
        return is_below(drawn, Fraction(1), -behind * behind / (2 * sigma * sigma))

    return bernoulli(chance, exactly)


def bernoulli(chance: Floats, exactly: Callable[[int, int], bool]) -> Flags:
    """Draw independent events that happen with probabilities `chance`; bool array of shape (n,).

    The probabilities have a relative error of up to `EXP_ERROR`. Where that error could change the
    outcome of event i, `exactly(i, word)` decides it by exact arithmetic; `word` holds the 64
    random bits of that event.
    """
    drawn = random_words(len(chance))
    uniform = (drawn >> np.uint64(11)).astype(float) * 2.0**-53
    found: Flags = uniform + 2.0**-52 < chance * (1 - EXP_ERROR)
    for i in np.flatnonzero(~found & (uniform <= chance * (1 + EXP_ERROR))).tolist():
        found[i] = exactly(i, int(drawn[i]))
    return found


def is_below(drawn: int, ratio: Fraction, exponent: Fraction) -> bool:
    """Return whether a uniform number U is below ratio * e^exponent, decided exactly.

    `drawn` has the first 64 bits of U, which is uniform on (0, 1); more bits are drawn as needed.
    The product ratio * e^exponent must be at most 1.
    """
    width, part, whole = WORD, Decimal(ratio.numerator), Decimal(ratio.denominator)
    bits = max(ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1, 0)
    # below this bound e^upper * ratio is practically 0, because 2 < e
    upper = max(exponent, Fraction(LEAST_LOG - bits))
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
        power = context.exp(context.divide(Decimal(upper.numerator), Decimal(upper.denominator)))
        near = context.multiply(context.divide(context.multiply(power, part), whole), Decimal(1 << width))
        # The exponent is below 10^9 and has a relative error of 10^-digits.
        # The power has the same error, all other steps have less.
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
    """Return the geometric variable floor(-scale ln U) exactly, for one uniform number U.

    `drawn` has the first 64 bits of U; more bits are drawn as needed.
    """
    width = WORD
    while True:
        digits = width // 2 + 30
        context = Context(prec=digits)
        ends: list[int] = []
        # the largest possible value, then the smallest
        for bits, sign in ((drawn, 1), (drawn + 1, -1)):
            if not bits:
                break
            log = -Fraction(context.ln(context.divide(Decimal(bits), Decimal(1 << width))))
            # The quotient has a relative error of 10^(1 - digits), hence its logarithm this
            # absolute error.
            slack = (log + 1) / 10 ** (digits - 5)
            ends.append(max(floor(Fraction(scale) * (log + sign * slack)), 0))
        if len(ends) == 2 and ends[0] == ends[1]:
            return ends[0]
        drawn, width = drawn << WORD | secrets.randbits(WORD), width + WORD


class Weights(NamedTuple):
    """Weights of candidates as exact fractions part / whole in [0, 1].

    Both are int arrays of shape (candidates,).
    """

    part: Integers
    whole: Integers


class GroupedSelection:
    """Exponential mechanism for groups of candidates, with exactly sampled probabilities.

    Candidate r of a group is chosen with probability proportional to weight(r) exp(factor
    score(r)). Group g begins at `starts[g]`, and no group is empty. `weights` are the candidates'
    public weights, by default all 1. Differences of scores, and `factor`, are floats; `factor` is 0
    or more. `bits` is the precision of the integer weights by which candidates are proposed: 2^bits
    times the number of candidates must be below 2^62.

    Per group, `best` is the best score of a candidate with a positive weight (-inf if there is
    none). `totals` is at least 2^bits times the sum of the weights w(r) of the group's candidates,
    with w(r) = weight(r) exp(factor (score(r) - best)).
    """

    def __init__(
        self, scores: Floats, starts: Ints, factor: float, weights: Weights | None = None, bits: int | None = None
    ) -> None:
        self._scores, self._factor, self._weights = scores, factor, weights
        self._bits = 61 - len(scores).bit_length() if bits is None else bits
        possible = scores if weights is None else np.where(weights.part > 0, scores, -np.inf)
        self.best = np.maximum.reduceat(possible, starts)
        sizes = np.diff(starts, append=len(scores))
        upper = self._float(slice(None), np.repeat(self.best, sizes)) * (1 + EXP_ERROR)
        whole = np.floor(upper).astype(np.int64) + 1
        self._sums = np.cumsum(whole if weights is None else np.where(weights.part > 0, whole, 0))
        self._before = np.where(starts > 0, self._sums[starts - 1], 0)
        self.totals = self._sums[starts + sizes - 1] - self._before

    def draw(self) -> Ints:
        """Run the exponential mechanism in every group; return the index of each group's candidate.

        Groups in which no candidate has a positive weight are left out, so the result may be
        shorter.
        """
        groups = np.flatnonzero(self.totals)
        chosen = np.empty(len(groups), dtype=np.intp)
        open_ = np.arange(len(groups))
        while len(open_):
            chosen[open_], taken = self.propose(groups[open_])
            open_ = open_[~taken]
        return chosen

    def propose(self, groups: Ints) -> tuple[Ints, Flags]:
        """Propose a candidate for each of `groups`; return their indices, and which are accepted.

        This is one round of rejection sampling for the exponential mechanism: where it is not
        accepted, the group needs another round.
        """
        target = self._before[groups] + uniform_below(self.totals[groups])
        indices = np.searchsorted(self._sums, target, side="right")
        offered = self._sums[indices] - np.where(indices > 0, self._sums[indices - 1], 0)
        chance = self._float(indices, self.best[groups]) / offered

        def exactly(i: int, drawn: int) -> bool:
            """Decide exactly whether proposal `i` is accepted; `drawn` is its random word."""
            index, weights = int(indices[i]), self._weights
            part, whole = (1, 1) if weights is None else (int(array[index]) for array in weights)
            ratio = Fraction(part << self._bits, whole * int(offered[i]))
            gap = Fraction(float(self._scores[index])) - Fraction(float(self.best[groups[i]]))
            return is_below(drawn, ratio, Fraction(self._factor) * gap)

        return indices, bernoulli(chance, exactly)

    def _float(self, indices: Ints | slice, best: Floats) -> Floats:
        """Return the weights w(r) of candidates times 2^bits, as floats.

        w(r) is weight(r) exp(factor (score(r) - best)). The relative error is below `EXP_ERROR` / 2
        where the result is a normal float.
        """
        with np.errstate(over="ignore", under="ignore"):
            gap = np.minimum(self._scores[indices] - np.where(np.isneginf(best), 0.0, best), 0.0)
            found = np.ldexp(np.exp(self._factor * gap), self._bits)
        return found if self._weights is None else found * (self._weights.part[indices] / self._weights.whole[indices])
