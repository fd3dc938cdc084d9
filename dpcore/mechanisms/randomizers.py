"""Randomizers of local differential privacy: each person randomizes an answer before collection.

A report Y of a true value X is drawn from a public channel P(Y | X). The collector sees reports and
public rules only, so everything made of them is post-processing. The local epsilon of a channel is
the largest |ln P(y | x) / P(y | x')|.

Categories. Every channel here is "pure" (Wang, Blocki, Li and Jha 2017): a report supports some of
the k values, and
    P(the report supports j | X = i) = gain 1[i = j] + base_j.
So (support_j - base_j n) / gain is an unbiased estimate of how many of n people have j, with the
variance
    n s_j (1 - s_j) / gain^2,   s_j = gain pi_j + base_j.

ERRPH    the truth with probability p_0, otherwise a_j with probability p_j: gain p_0, base p_j, and
         epsilon = max_j ln(1 + p_0 / p_j); with equal p_j it is ln(1 + k p_0 / (1 - p_0)).
RRPH     ERRPH with two values. Warner's randomizer reports the truth with probability p, otherwise
         the other value; it is RRPH with p_0 = 2p - 1, the same channel.
OUE      one bit per value: the true one is kept with probability 1/2, each other is set with
         q = 1/(e^epsilon + 1). Two people differ in two bits:
         epsilon = ln (1/2 (1 - q)) / (q 1/2). Better than ERRPH if k > 3 e^epsilon + 2.
OLH      a hash of the value to g = e^epsilon + 1 buckets, by a hash function that each person
         draws, reported by ERRPH.

Numbers (TRR). y = a x + b with a and b from public sets has no finite epsilon, because the ratio of
two densities has no bound in the tails, nor for the supports of finite sets. With a = 1 and Laplace
noise of scale (U - L) / epsilon, on numbers that are first clipped to public bounds [L, U], epsilon
is the local epsilon.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.amplification import DRAW_GRID
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, check_public, is_number
from dpcore.errors import ParameterError

__all__ = [
    "ERRPH", "OLH", "OUE", "RRPH", "TRR", "AdditiveNoise", "CategoryChannel", "Channel",
    "KeepOrDraw", "UniformDraws", "Warner", "best_channel",
]  # fmt: skip

UniformDraws = Callable[[int], Floats]  # returns that many independent uniform numbers in [0, 1)
SMALLEST_RATIO = 700.0  # larger epsilons would make e^-epsilon underflow
P0_OR_EPSILON = ("A randomizer takes either `p0` or `epsilon`.", "Give exactly one of them.")
ROUNDING = 1e-9
BLOCK_SIZE = 1 << 22  # bits drawn at once
PRIME = (1 << 31) - 1
NO_BIT = "none"
HASHED = re.compile(r"([0-9]{1,10})·v\+([0-9]{1,10}) → ([0-9]{1,4})")
MOST_BUCKETS = 1024
SMALLEST_UNIFORM = 2.0**-54  # half of the smallest uniform draw above 0
STEP, SMALLEST_STEP = 2.0**-20, 2.0**-1000


class Channel(ABC):
    """Randomizer of local DP: a public channel from one person's answer to a report."""

    mechanism: str
    """Name of the mechanism in the ledger."""
    epsilon: Epsilon
    """The local epsilon; infinite if two answers' report probabilities have no bounded ratio."""
    arguments: dict[str, Any]
    """Arguments that make the channel again, without its size: JSON-ready, epsilon as fraction."""

    @property
    def rule(self) -> dict[str, Any]:
        """Public facts of the randomizer that a reader of reports needs, as JSON-ready values.

        For categories they come besides `gain` and `base`, for numbers besides the scale of the
        noise. By default there are none.
        """
        return {}

    @property
    def truthful(self) -> bool:
        """Whether every report is the true answer."""
        return False


class CategoryChannel(Channel):
    """Randomizer of a category, one of `size` values.

    A report may support several values: the set bits of OUE, or every value with the hash that OLH
    reports. It supports value j with probability `gain` + base[j] if j is the true value, otherwise
    with probability base[j]. `base` has the shape (size,).
    """

    size: int
    base: Floats

    @property
    @abstractmethod
    def gain(self) -> float:
        """Extra probability that a report supports the true value; 0 means no information."""

    @abstractmethod
    def report(self, codes: NDArray[Any], uniforms: UniformDraws) -> NDArray[Any]:
        """Randomize true values into reports, one per person.

        Parameters
        ----------
        codes : int array of shape (n,)
            The true values, each a code below `size`.
        uniforms : callable
            Takes a number and returns that many independent uniform numbers in [0, 1).

        Returns
        -------
        array
            The reports; the first axis is the person.
        """

    @abstractmethod
    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports of each group of people that support each value.

        Parameters
        ----------
        reports : array
            The reports, as from `report`.
        group : int array of shape (n,)
            The group of each person, from 0.
        groups : int
            Number of groups.

        Returns
        -------
        float array of shape (groups, size)
            The counts.
        """

    def estimate(self, support: Floats, people: Floats) -> Floats:
        """Estimate the number of people with each value, without bias.

        Parameters
        ----------
        support : float array of shape (..., size)
            Number of reports that support each value, as from `support`.
        people : float array of shape (...)
            Number of people who reported.

        Returns
        -------
        float array of shape (..., size)
            The estimates. They may be negative, and larger than `people`. If reports carry no
            information, each value gets an equal share of the people.
        """
        people = np.asarray(people, dtype=float)[..., None]
        if not self.gain:
            return np.broadcast_to(people / self.size, support.shape).copy()
        return np.asarray((support - self.base * people) / self.gain, dtype=float)

    @abstractmethod
    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write reports as texts that `read` reads back.

        Parameters
        ----------
        reports : array
            The reports, as from `report`.
        labels : sequence of str
            The names of the values, all different.

        Returns
        -------
        list of str
            One text per person.
        """

    @abstractmethod
    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from the texts that `texts` wrote.

        Parameters
        ----------
        texts : sequence of str
            One text per person.
        labels : sequence of str
            The names of the values, as for `texts`.

        Returns
        -------
        array
            The reports.

        Raises
        ------
        ValueError, LookupError
            If a text is not a report of this channel.
        """

    def variance(self, shares: Floats, people: float) -> Floats:
        """Return the variance of estimated shares of people, sampling of the people included.

        Parameters
        ----------
        shares : float array
            The true shares of the values.
        people : float
            Number of people who report.

        Returns
        -------
        float array
            The variance of each share; infinite if reports carry no information.
        """
        if not self.gain or not people:
            return np.full(np.shape(shares), inf)
        supported = self.gain * np.asarray(shares) + self.base
        return np.asarray(supported * (1 - supported) / (people * self.gain**2), dtype=float)


def lie_probability(epsilon: Epsilon, size: int = 2) -> float:
    """Return 1 / (e^epsilon + size - 1), rounded up: the probability of reporting each false value.

    `size` is the number of values. The result is the next multiple of the step between uniform
    draws. A false value less probable than the smallest draw would never be reported, and the
    channel would exceed any epsilon.
    """
    ratio = exp(-min(float(epsilon), SMALLEST_RATIO)) if epsilon < inf else 0.0
    return ceil(ratio / (1 + (size - 1) * ratio) * DRAW_GRID) / DRAW_GRID


def check_size(size: int) -> int:
    """Return `size`, the number of values; raise ParameterError if it is below 1."""
    if size < 1:
        raise ParameterError(f"A randomizer needs at least 1 value; got {size}.", "Declare the column's values.")
    return size


class KeepOrDraw(CategoryChannel):
    """Channels whose report is one of the values: the true one is kept, or a value is drawn."""

    @cached_property
    def matrix(self) -> Floats:
        """Transition matrix of shape (size, size): P(report j | true i) at [j, i]."""
        return np.asarray(self.gain * np.eye(self.size) + self.base[:, None])

    @property
    def truthful(self) -> bool:
        """Whether every report is the true value."""
        return self.gain == 1

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports of each group that are each value, shape (groups, size)."""
        cells = np.asarray(group, dtype=np.intp) * self.size + reports
        return np.bincount(cells, minlength=groups * self.size).reshape(groups, self.size).astype(float)

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write each report as the label of its value."""
        return [labels[code] for code in reports.tolist()]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from labels of values, as an array of codes."""
        code_of = {label: code for code, label in enumerate(labels)}
        if len(code_of) < self.size:
            raise ValueError
        return np.array([code_of[text] for text in texts], dtype=np.intp)


class ERRPH(KeepOrDraw):
    """Report the truth with probability `p0`, otherwise a value drawn at random.

    Paper 004, section 3.

    Parameters
    ----------
    size : int
        Number of values.
    p0 : float, optional
        A probability, in [0, 1].
    others : sequence of float, optional
        p_1 to p_k, which sum to 1 - p0; equal by default.
    epsilon : float or Fraction, optional
        The local epsilon, instead of `p0` and `others`: k-ary randomized response, with equal p_j.

    Raises
    ------
    ParameterError
        If a number is out of range, or if the channel is set in neither or in both ways.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.ERRPH(4, epsilon=1.0).matrix.round(2)[0].tolist()
    [0.48, 0.17, 0.17, 0.17]
    """

    mechanism = "randomized response"

    def __init__(
        self,
        size: int,
        *,
        p0: float | None = None,
        others: Sequence[float] | None = None,
        epsilon: Epsilon | None = None,
    ) -> None:
        self.size = check_size(size)
        if p0 is None or epsilon is not None:
            if epsilon is None or p0 is not None or others is not None:
                raise ParameterError(*P0_OR_EPSILON)
            self.epsilon = exact(epsilon)
            self.arguments = {"epsilon": str(self.epsilon)}
            lie = lie_probability(epsilon, size)
            self.p0 = max(1 - size * lie, 0.0)
            self.base = np.full(size, lie if self.p0 else 1 / size)
            return
        self.p0 = check_probability("p0", p0)
        self.arguments = {"p0": self.p0} | ({} if others is None else {"others": [*map(float, others)]})
        self.base = np.full(size, (1 - p0) / size) if others is None else np.array(others, float)
        lies = float(self.base.sum())
        if self.base.shape != (size,) or not (self.base.min() >= 0 and abs(lies + p0 - 1) <= ROUNDING):
            raise ParameterError(f"`others` must be {size} probabilities that sum to 1 - p0.", "Correct them.")
        if others is not None and lies:
            self.base *= (1 - p0) / lies  # removes rounding, which would all go to the last value
        if size == 1 or not p0:
            self.epsilon = exact(0)
        else:
            self.epsilon = log1p(p0 / self.base.min()) if self.base.min() >= 1 / DRAW_GRID else inf

    @property
    def gain(self) -> float:
        """p_0, the extra probability that the true value is reported."""
        return self.p0

    def report(self, codes: NDArray[Any], uniforms: UniformDraws) -> NDArray[Any]:
        """Randomize codes with one uniform number each; return reported codes of shape (n,).

        A number below p_0 gives the truth; a larger one gives the value whose interval contains it.
        """
        drawn = uniforms(len(codes))
        lied = np.searchsorted(self.p0 + np.cumsum(self.base[:-1]), drawn, side="right")
        return np.where(drawn < self.p0, codes, lied).astype(codes.dtype)


class RRPH(ERRPH):
    """Report one of two values: the truth with probability `p0`, otherwise either one at random.

    It is `ERRPH` for two values.

    Parameters
    ----------
    p0 : float, optional
        The probability, in [0, 1], of reporting the truth without a draw of a value.
    epsilon : float or Fraction, optional
        The local epsilon, instead of `p0`.

    Raises
    ------
    ParameterError
        As for `ERRPH`.
    """

    def __init__(self, *, p0: float | None = None, epsilon: Epsilon | None = None) -> None:
        super().__init__(2, p0=p0, epsilon=epsilon)


class Warner(KeepOrDraw):
    """Report the truth with probability `p`, otherwise the other of two values.

    Warner 1965.

    Parameters
    ----------
    p : float, optional
        A probability, in [0, 1]. At 1/2, reports carry no information.
    epsilon : float or Fraction, optional
        The local epsilon, instead of `p`, which is then 1/2 or more.

    Raises
    ------
    ParameterError
        If a number is out of range, or if neither or both are given.
    """

    size = 2
    mechanism = "randomized response"

    def __init__(self, *, p: float | None = None, epsilon: Epsilon | None = None) -> None:
        if (p is None) == (epsilon is None):
            raise ParameterError("A randomizer takes either `p` or `epsilon`.", "Give exactly one of them.")
        if epsilon is not None:
            self.epsilon, self.p = exact(epsilon), 1 - lie_probability(epsilon)
            self.arguments = {"epsilon": str(self.epsilon)}
        elif p is not None:
            self.p = check_probability("p", p)
            self.arguments = {"p": self.p}
            self.epsilon = abs(log(p / (1 - p))) if 0 < p < 1 else inf
        self.base = np.full(2, 1 - self.p)

    @property
    def gain(self) -> float:
        """2p - 1, the extra probability that the true value is reported; it may be negative."""
        return 2 * self.p - 1

    def report(self, codes: NDArray[Any], uniforms: UniformDraws) -> NDArray[Any]:
        """Randomize codes of two values with one uniform number each; return reported codes.

        A number below p gives the truth.
        """
        return np.where(uniforms(len(codes)) < self.p, codes, 1 - codes.astype(np.int8)).astype(codes.dtype)


class OUE(CategoryChannel):
    """Report one bit for each of `size` values (optimized unary encoding).

    Wang, Blocki, Li and Jha 2017.

    Parameters
    ----------
    size : int
        Number of values.
    epsilon : float or Fraction
        The local epsilon.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    mechanism = "unary encoding"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon, self.q = check_size(size), exact(epsilon), lie_probability(epsilon)
        self.arguments = {"epsilon": str(self.epsilon)}
        self.base = np.full(size, self.q)

    @property
    def gain(self) -> float:
        """1/2 - q, the extra probability that the bit of the true value is set."""
        return 0.5 - self.q

    @property
    def rule(self) -> dict[str, Any]:
        """Explanation of a report, the positions of set bits, as JSON-ready values."""
        return {"report": "places of the values whose bits are set, from 1"}

    def report(self, codes: NDArray[Any], uniforms: UniformDraws) -> NDArray[Any]:
        """Randomize codes to one bit per value, bool array of shape (n, size)."""
        bits = np.empty((len(codes), self.size), dtype=bool)
        step = max(BLOCK_SIZE // self.size, 1)
        for start in range(0, len(codes), step):
            some = codes[start : start + step]
            drawn = uniforms(len(some) * self.size).reshape(len(some), self.size)
            block = bits[start : start + step]
            np.less(drawn, self.q, out=block)
            block[np.arange(len(some)), some] = drawn[np.arange(len(some)), some] < 0.5
        return bits

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports of each group with the bit of each value set, shape (groups, size)."""
        return np.stack([reports[group == each].sum(axis=0, dtype=float) for each in range(groups)])

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write the positions of the set bits of each report, from 1: "2 5", or "none"."""
        return [" ".join(map(str, np.flatnonzero(row) + 1)) or NO_BIT for row in reports]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports, bool array of shape (n, size), from positions of set bits such as "2 5"."""
        bits = np.zeros((len(texts), self.size), dtype=bool)
        for row, text in zip(bits, texts, strict=True):
            ones = [] if text == NO_BIT else [int(word) for word in text.split(" ")]
            if ones != sorted({*ones}) or (ones and not 1 <= ones[0] <= ones[-1] <= self.size):
                raise ValueError
            row[[one - 1 for one in ones]] = True
        return bits


class OLH(CategoryChannel):
    """Report a hash of one of `size` values by ERRPH (optimized local hashing).

    Wang, Blocki, Li and Jha 2017. The hash is ((a v + b) mod (2^31 - 1)) mod g. Each person draws
    an own a and b, which are part of the report. Two values collide with probability 1/g, up to g /
    2^31.

    Parameters
    ----------
    size : int
        Number of values.
    epsilon : float or Fraction
        The local epsilon.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    mechanism = "local hashing"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon = check_size(size), exact(epsilon)
        self.arguments = {"epsilon": str(self.epsilon)}
        self.buckets = min(round(exp(min(float(epsilon), 20.0))) + 1, MOST_BUCKETS)
        self.inner = ERRPH(self.buckets, epsilon=self.epsilon)
        # probability that a report supports a value that is not the true one
        self.base = np.full(size, 1 / self.buckets)

    @property
    def gain(self) -> float:
        """Extra probability, p_0 (1 - 1/g), that a report supports the true value.

        It is p_0 + p_j of the inner channel minus 1/g.
        """
        return self.inner.gain * (1 - 1 / self.buckets)

    @property
    def rule(self) -> dict[str, Any]:
        """Explanation of a report, a hash function and its value, with the moduli; JSON-ready."""
        return {"report": "a·v+b → hash, v from 0", "modulo": [PRIME, self.buckets]}

    def report(self, codes: NDArray[Any], uniforms: UniformDraws) -> NDArray[Any]:
        """Randomize codes to reports of shape (n, 3): a, b and the reported hash."""
        a = 1 + np.floor(uniforms(len(codes)) * (PRIME - 1)).astype(np.int64)
        b = np.floor(uniforms(len(codes)) * PRIME).astype(np.int64)
        hashed = (a * codes + b) % PRIME % self.buckets
        return np.stack([a, b, self.inner.report(hashed, uniforms)], axis=1)

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count, for each group and value, the reports whose hash is the hash of that value."""
        found = np.empty((groups, self.size))
        a, b, said = reports.T
        for value in range(self.size):
            met = (a * value + b) % PRIME % self.buckets == said
            found[:, value] = np.bincount(group[met], minlength=groups)
        return found

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write a, b and the hash of each report as text, such as "3·v+5 → 1"."""
        return [f"{a}·v+{b} → {said}" for a, b, said in reports.tolist()]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read a, b and the hash of each report from its text; int array of shape (n, 3)."""
        found = [HASHED.fullmatch(text) for text in texts]
        numbers = [[int(number) for number in each.groups()] if each else [] for each in found]
        if not all(len(own) == 3 and 0 < own[0] < PRIME > own[1] and own[2] < self.buckets for own in numbers):
            raise ValueError
        return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def best_channel(size: int, epsilon: Epsilon) -> CategoryChannel:
    """Return ERRPH or OUE, whichever estimates rare values with the lower variance."""
    return (ERRPH if size < 3 * exp(min(float(epsilon), 50.0)) + 2 else OUE)(size, epsilon=epsilon)


def check_probability(name: str, value: float) -> float:
    """Return `value` as a float; raise ParameterError, which says `name`, unless it is in [0, 1]."""
    if not (is_number(value) and 0 <= value <= 1):
        raise ParameterError(f"`{name}` must be a probability; got {value!r}.", "Use a number from 0 to 1.")
    return float(value)


class TRR(Channel):
    """Report y = a x + b with a and b drawn from public sets, or x with Laplace noise.

    x is a person's number. Paper 004, section 4: as published with sets, corrected with Laplace
    noise.

    Parameters
    ----------
    factors, offsets : float arrays, optional
        The sets A and B, which have no finite epsilon. Estimates use the mean and variance of these
        numbers, whatever distribution they were drawn from.
    lower, upper : float, optional
        Public bounds, which a finite epsilon needs. Numbers are clipped to them first.
    epsilon : float or Fraction, optional
        The local epsilon, instead of the sets: a = 1, and b is Laplace noise of scale
        (upper - lower) / epsilon.

    Attributes
    ----------
    scale : float
        Scale of the Laplace noise. It is 0 with sets, and infinite if epsilon is 0 or so small that
        reports would carry no information.
    moments : tuple of four floats
        Mean and variance of a, mean and variance of b.

    Raises
    ------
    ParameterError
        If sets, bounds and epsilon do not fit each other, or the factors have the mean 0.
    """

    def __init__(
        self,
        *,
        factors: Floats | None = None,
        offsets: Floats | None = None,
        lower: float = -inf,
        upper: float = inf,
        epsilon: Epsilon | None = None,
    ) -> None:
        self.lower, self.upper = lower, upper
        self.sets: tuple[Floats, Floats] | None = None
        self.scale, self.mechanism, self.arguments = 0.0, "linear transformation", {}
        if epsilon is not None and factors is None and offsets is None:
            if not -inf < lower < upper < inf:
                raise ParameterError("`epsilon` needs finite public bounds.", "Set `lower` below `upper`.")
            self.epsilon, self.mechanism = exact(epsilon), "laplace"
            self.arguments = {"lower": lower, "upper": upper, "epsilon": str(self.epsilon)}
            self.scale = (upper - lower) / float(epsilon) if epsilon * DRAW_GRID >= 1 else inf
            self.moments = 1.0, 0.0, 0.0, 2 * self.scale * self.scale
            return
        if epsilon is not None or factors is None or offsets is None:
            raise ParameterError(
                "The randomizer TRR takes either two sets or an epsilon.", "Give `factors` and `offsets`, or `epsilon`."
            )
        a, b = np.array(factors, dtype=float), np.array(offsets, dtype=float)
        if not (len(a) and len(b) and np.isfinite([*a, *b]).all() and lower <= upper):
            raise ParameterError("Both sets need finite numbers, and `lower` must be <= `upper`.", "Correct them.")
        if not np.mean(a):
            raise ParameterError("Factors with the mean 0 give reports without information.", "Use other `factors`.")
        self.epsilon, self.sets = inf, (a, b)
        self.moments = float(a.mean()), float(a.var()), float(b.mean()), float(b.var())

    @classmethod
    def from_normal(
        cls, a: tuple[float, float], b: tuple[float, float], rng: np.random.Generator, *, size: int = 1000
    ) -> Self:
        """Return a channel whose sets are drawn from normal distributions.

        Parameters
        ----------
        a, b : (float, float)
            Mean and variance of the factors, and of the offsets.
        rng : numpy.random.Generator
            Source of random numbers.
        size : int, default=1000
            Number of elements of each set.

        Returns
        -------
        TRR
            The channel, with no finite epsilon.
        """
        factors, offsets = (mean + np.sqrt(var) * rng.standard_normal(size) for mean, var in (a, b))
        return cls(factors=factors, offsets=offsets)

    def report(self, numbers: Floats, uniforms: UniformDraws, laplace: Callable[..., Floats]) -> Floats:
        """Randomize true numbers into reports, one per person.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The true numbers.
        uniforms : callable
            Takes a number and returns that many independent uniform numbers in [0, 1).
        laplace : callable
            Adds noise of a scale to numbers (`noise.Noise.reals`). Exactly sampled noise is on a
            grid of 2^20 steps from one bound to the other. Dividing by a step and rounding keep the
            order of numbers, so any two of them are at most 2^20 steps apart: the grid adds no
            privacy loss.

        Returns
        -------
        float array of shape (n,)
            The reports; zeros if epsilon is 0.
        """
        inside = np.clip(numbers, self.lower, self.upper)
        if self.sets is None and not np.isfinite(self.scale):
            return np.zeros(len(inside))
        if self.sets is None:
            step = max((self.upper - self.lower) * STEP, SMALLEST_STEP)
            return laplace(inside, self.scale, grid=step, origin=self.lower)
        a, b = (own[(uniforms(len(inside)) * len(own)).astype(np.intp)] for own in self.sets)
        return np.asarray(a * inside + b, dtype=float)

    @property
    def truthful(self) -> bool:
        """Whether reports are true up to a public factor and offset."""
        return not self.moments[1] and not self.moments[3]

    def mean(self, reports: Floats) -> float:
        """Estimate the mean of the true numbers, without bias.

        It is (mean of y - mean of b) / mean of a (paper 004, formula 2).

        Parameters
        ----------
        reports : float array of shape (n,)
            The reports.

        Returns
        -------
        float
            The mean.
        """
        a, _, b, _ = self.moments
        return float((reports.mean() - b) / a)

    def variance(self, reports: Floats, *, as_published: bool = False) -> float:
        """Estimate the variance of the true numbers; it may be negative.

        Parameters
        ----------
        reports : float array of shape (n,)
            The reports, 2 or more.
        as_published : bool, default=False
            As published (paper 004, formula 3), the square of the reports' mean replaces the square
            of its expectation, which is less by Var(y) / n: a bias of -S_A^2 Var(y) / (n A^2 (S_A^2
            + A^2)). Otherwise the estimate has no bias.

        Returns
        -------
        float
            The variance.
        """
        a, var_a, b, var_b = self.moments
        spread, squared = float(reports.var(ddof=1)), float(reports.mean() - b) ** 2
        squared -= 0.0 if as_published else spread / len(reports)
        return (spread - var_b - var_a * squared / a**2) / (var_a + a**2)

    def mean_variance(self, reports: Floats) -> float:
        """Estimate the variance of `mean`, without bias.

        It is the variance of the reports over n A^2 (paper 004, section 6.2).

        Parameters
        ----------
        reports : float array of shape (n,)
            The reports, 2 or more.

        Returns
        -------
        float
            The variance.
        """
        return float(reports.var(ddof=1)) / (len(reports) * self.moments[0] ** 2)

    def variance_error(self, reports: Floats, people: int) -> float:
        """Return the standard error of `variance` as published (paper 004, section 6.2).

        Let k_2, k_3, k_4 be the cumulants of a report, and m its mean minus the mean of b. Then
        s_y^2 has the variance k_4 / n + 2 k_2^2 / (n - 1). The squared mean has the variance 4 m^2
        k_2 / n + 4 m k_3 / n^2 + k_4 / n^3 + 2 k_2^2 / n^2. Their covariance is 2 m k_3 / n + k_4 /
        n^2. Up to a constant, `variance` is s_y^2 minus S_A^2 / A^2 times the squared mean, over
        S_A^2 + A^2.

        Parameters
        ----------
        reports : float array
            All reports that a person can send, equally probable; or the reports of many people,
            which give an estimate.
        people : int
            Number n of reports that a variance is estimated from, 2 or more.

        Returns
        -------
        float
            The standard error.
        """
        a, var_a, b, _ = self.moments
        n, m, off, share = people, float(reports.mean() - b), reports - reports.mean(), var_a / a**2
        k2, k3, k4 = (float((off**power).mean()) for power in (2, 3, 4))
        k4 -= 3 * k2**2
        var_s, covariance = k4 / n + 2 * k2**2 / (n - 1), 2 * m * k3 / n + k4 / n**2
        var_m = 4 * m**2 * k2 / n + 4 * m * k3 / n**2 + k4 / n**3 + 2 * k2**2 / n**2
        return sqrt(max(var_s + share**2 * var_m - 2 * share * covariance, 0.0)) / (var_a + a**2)


class AdditiveNoise(TRR):
    """Report x plus uniform or normal noise (Agrawal and Srikant 2000), with no finite epsilon.

    x is first clipped to public bounds. Two x near the bounds have different largest reports
    (uniform noise), or densities whose ratio has no bound (normal noise). `scale` is half the width
    of the uniform noise, or the standard deviation of the normal noise.
    """

    def __init__(self, kind: str, scale: float, *, lower: float, upper: float) -> None:
        if kind not in ("uniform", "normal") or not 0 <= scale < inf:
            raise ParameterError("`kind` must be uniform or normal; `scale` finite and 0 or more.", "Correct them.")
        self.lower, self.upper, self.kind, self.scale = lower, upper, kind, float(scale)
        self.epsilon, self.mechanism, self.sets, self.arguments = inf, f"{kind} noise", None, {}
        self.moments = 1.0, 0.0, 0.0, self.scale**2 / (3 if kind == "uniform" else 1)

    def report(self, numbers: Floats, uniforms: UniformDraws, laplace: Callable[..., Floats]) -> Floats:
        """Randomize true numbers by uniform or normal noise, from one uniform number per person.

        Noise is the inverse distribution function of that uniform number; `laplace` is not used.
        """
        from scipy.special import ndtri  # here, because it takes longer to load than all channels

        u = uniforms(len(numbers))
        noise = 2 * u - 1 if self.kind == "uniform" else ndtri(np.maximum(u, SMALLEST_UNIFORM))
        return np.asarray(np.clip(numbers, self.lower, self.upper) + self.scale * noise, float)


check_public(globals(), __all__)
