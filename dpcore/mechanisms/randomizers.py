r"""Randomizers: what a person does to one answer before anybody collects it. Public rules, no rows.

A report Y of a true value X is drawn from a public channel P(Y | X). Whoever collects sees reports
and rules only, so all that is made of them is post-processing. The local epsilon of a channel is
the largest |ln P(y | x) / P(y | x')|.

Categories. Every channel here is "pure" (Wang, Blocki, Li and Jha 2017): a report supports some of the k values, and
    P(the report supports j | X = i) = gain 1[i = j] + base_j,
so (support_j - base_j n) / gain is an unbiased estimate of how many of n people have j, with the variance
    n s_j (1 - s_j) / gain^2,   s_j = gain pi_j + base_j.

ERRPH    the truth with probability p_0, otherwise a_j with probability p_j: gain p_0, base p_j, and
         epsilon = max_j ln(1 + p_0 / p_j); with equal p_j it is ln(1 + k p_0 / (1 - p_0)).
RRPH     ERRPH with two values. Warner's: the truth with probability p, otherwise the other value; it is RRPH with
         p_0 = 2p - 1, the same channel.
OUE      one bit per value: the true one is kept with probability 1/2, each other is set with q = 1/(e^epsilon + 1).
         Two people differ in two bits: epsilon = ln (1/2 (1 - q)) / (q 1/2). Better than ERRPH if k > 3 e^epsilon + 2.
OLH      a hash of the value to g = e^epsilon + 1 places, by a function that each person draws, reported by ERRPH.

Numbers (TRR). y = a x + b with a and b from public sets: no finite epsilon, because at two x the
densities' tails differ without bound, and so do the supports of finite sets. With a = 1 and Laplace
noise of scale (U - L) / epsilon on numbers that are first moved into public bounds [L, U], epsilon
is what it says.
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
    "ERRPH",
    "OLH",
    "OUE",
    "RRPH",
    "TRR",
    "AdditiveNoise",
    "CategoryChannel",
    "Channel",
    "KeepOrDraw",
    "UniformDraws",
    "Warner",
    "best_channel",
]  # fmt: skip

UniformDraws = Callable[[int], Floats]  # that many independent uniform numbers of [0, 1)
SMALLEST_RATIO = 700.0  # beyond it, e^-epsilon is nearly no number any more
ONE_OF = ("A randomizer is set by p0, or by epsilon, not by both.", "Give one of them.")
ROUNDING = 1e-9
AT_ONCE = 1 << 22  # bits that are drawn at once
PRIME = (1 << 31) - 1
NO_BIT = "none"
HASHED = re.compile(r"([0-9]{1,10})·v\+([0-9]{1,10}) → ([0-9]{1,4})")
MOST_BUCKETS = 1024
SMALLEST = 2.0**-54  # half of the smallest lot above 0
STEP, SMALLEST_STEP = 2.0**-20, 2.0**-1000


class Channel(ABC):
    """What is done to one person's answer before it is collected: a randomizer."""

    mechanism: str
    """For the ledger."""
    epsilon: Epsilon
    """The local epsilon; infinite if two answers can be told apart for sure, or better than any bound."""
    given: dict[str, Any]
    """What makes it again, besides its size: its arguments as JSON-ready values, epsilon as a fraction in text."""

    @property
    def rule(self) -> dict[str, Any]:
        """What has to be known to read a report, besides gain and base or scale, as JSON-ready values."""
        return {}

    @property
    def truthful(self) -> bool:
        """Whether every report is the true answer."""
        return False


class CategoryChannel(Channel):
    """Channel for one of `size` values; see the package for gain and base, of shape (size,)."""

    size: int
    base: Floats

    @property
    @abstractmethod
    def gain(self) -> float:
        """How much more often a report supports the true value than its base says; 0 if reports tell nothing."""

    @abstractmethod
    def report(self, codes: NDArray[Any], lots: UniformDraws) -> NDArray[Any]:
        """Randomize true codes.

        Parameters
        ----------
        codes : int array of shape (n,)
            The true values, each a code below `size`.
        lots : callable
            From a number to so many independent uniform numbers in [0, 1).

        Returns
        -------
        array
            The reports; its first axis is the person.
        """

    @abstractmethod
    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count how many reports of each group of people support each value.

        Parameters
        ----------
        reports : array
            The reports, as from `report`.
        group : int array of shape (n,)
            The group of each person, from 0.
        groups : int
            How many groups there are.

        Returns
        -------
        float array of shape (groups, size)
            The counts.
        """

    def estimate(self, support: Floats, people: Floats) -> Floats:
        """Estimate the numbers of people with each value, without bias.

        Parameters
        ----------
        support : float array of shape (..., size)
            How many reports support each value, as from `support`.
        people : float array of shape (...)
            How many people reported.

        Returns
        -------
        float array of shape (..., size)
            The numbers. They may be negative, and more than `people`. Equal shares if reports tell
            nothing.
        """
        people = np.asarray(people, dtype=float)[..., None]
        if not self.gain:
            return np.broadcast_to(people / self.size, support.shape).copy()
        return np.asarray((support - self.base * people) / self.gain, dtype=float)

    @abstractmethod
    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write reports as texts, for people.

        Parameters
        ----------
        reports : array
            The reports, as from `report`.
        labels : sequence of str
            The values' names, no two of them alike.

        Returns
        -------
        list of str
            A text per person.
        """

    @abstractmethod
    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from the texts that `texts` wrote.

        Parameters
        ----------
        texts : sequence of str
            A text per person.
        labels : sequence of str
            The values' names, as for `texts`.

        Returns
        -------
        array
            The reports.

        Raises
        ------
        ValueError, LookupError
            If a text is no report.
        """

    def variance(self, shares: Floats, people: float) -> Floats:
        """Return the variance of the estimated shares, sampling of the people included.

        Parameters
        ----------
        shares : float array
            The true shares of values.
        people : float
            How many people report.

        Returns
        -------
        float array
            The variance of each share; infinite if reports tell nothing.
        """
        if not self.gain or not people:
            return np.full(np.shape(shares), inf)
        supported = self.gain * np.asarray(shares) + self.base
        return np.asarray(supported * (1 - supported) / (people * self.gain**2), dtype=float)


def lie_probability(epsilon: Epsilon, size: int = 2) -> float:
    """1 / (e^epsilon + size - 1): of each other value; the next higher probability that lots can have.

    A lie less probable than the smallest lot would never be told, and the truth would be out
    whatever epsilon says.
    """
    ratio = exp(-min(float(epsilon), SMALLEST_RATIO)) if epsilon < inf else 0.0  # so that a large epsilon does no harm
    return ceil(ratio / (1 + (size - 1) * ratio) * DRAW_GRID) / DRAW_GRID


def checked_size(size: int) -> int:
    """How many values a channel is for."""
    if size < 1:
        raise ParameterError("A randomizer needs a value to report.", "Declare the column's values.")
    return size


class KeepOrDraw(CategoryChannel):
    """Channels whose report is one of the values."""

    @cached_property
    def matrix(self) -> Floats:
        """The channel's transition matrix: P(report j | true i) at [j, i], shape (size, size)."""
        return np.asarray(self.gain * np.eye(self.size) + self.base[:, None])

    @property
    def truthful(self) -> bool:
        return self.gain == 1

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports that say each value, as `CategoryChannel.support` has it."""
        cells = np.asarray(group, dtype=np.intp) * self.size + reports
        return np.bincount(cells, minlength=groups * self.size).reshape(groups, self.size).astype(float)

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write reports as texts, as `CategoryChannel.texts` has it: the value."""
        return [labels[code] for code in reports.tolist()]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from texts, as `CategoryChannel.read` has it."""
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
        How many values there are.
    p0 : float, optional
        A probability, in [0, 1].
    others : sequence of float, optional
        p_1 to p_k, which sum to 1 - p0; by default equal.
    epsilon : float or Fraction, optional
        Instead of `p0` and `others`: k-ary randomized response, with equal p_j and that local
        epsilon.

    Raises
    ------
    ParameterError
        If a number is out of range, or neither or both ways to set the channel are used.

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
        self.size = checked_size(size)
        if epsilon is not None:
            if p0 is not None or others is not None:
                raise ParameterError(*ONE_OF)
            self.epsilon = exact(epsilon)
            self.given = {"epsilon": str(self.epsilon)}
            lie = lie_probability(epsilon, size)
            self.p0 = max(1 - size * lie, 0.0)
            self.base = np.full(size, lie if self.p0 else 1 / size)
            return
        if p0 is None:
            raise ParameterError(*ONE_OF)
        self.p0 = probability("p0", p0)
        self.given = {"p0": self.p0} | ({} if others is None else {"others": [float(other) for other in others]})
        self.base = np.full(size, (1 - p0) / size) if others is None else np.array(others, dtype=float)
        lies = float(self.base.sum())
        if self.base.shape != (size,) or not (self.base.min() >= 0 and abs(lies + p0 - 1) <= ROUNDING):
            raise ParameterError("The probabilities p0, p1, … do not sum to 1, one per value.", "Correct them.")
        if others is not None and lies:
            self.base *= (1 - p0) / lies  # what is left to the last value is what it says
        if size == 1 or not p0:
            self.epsilon = exact(0)
        else:
            self.epsilon = log1p(p0 / self.base.min()) if self.base.min() >= 1 / DRAW_GRID else inf

    @property
    def gain(self) -> float:
        """p_0."""
        return self.p0

    def report(self, codes: NDArray[Any], lots: UniformDraws) -> NDArray[Any]:
        """Randomize codes with one uniform number each, as `CategoryChannel.report` has it.

        Below p_0 it is the truth, above it the value at that position.
        """
        drawn = lots(len(codes))
        lied = np.searchsorted(self.p0 + np.cumsum(self.base[:-1]), drawn, side="right")
        return np.where(drawn < self.p0, codes, lied).astype(codes.dtype)


class RRPH(ERRPH):
    """ERRPH for two values.

    Parameters
    ----------
    p0 : float, optional
        The probability of the truth on purpose, in [0, 1].
    epsilon : float or Fraction, optional
        Instead of `p0`: the local epsilon.

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
        A probability, in [0, 1]. At 1/2, reports tell nothing.
    epsilon : float or Fraction, optional
        Instead of `p`, which is then 1/2 or more.

    Raises
    ------
    ParameterError
        If a number is out of range, or neither or both are given.
    """

    size = 2
    mechanism = "randomized response"

    def __init__(self, *, p: float | None = None, epsilon: Epsilon | None = None) -> None:
        if (p is None) == (epsilon is None):
            raise ParameterError("A randomizer is set by p, or by epsilon, not by both.", "Give one of them.")
        if epsilon is not None:
            self.epsilon, self.p = exact(epsilon), 1 - lie_probability(epsilon)
            self.given = {"epsilon": str(self.epsilon)}
        elif p is not None:
            self.p = probability("p", p)
            self.given = {"p": self.p}
            self.epsilon = abs(log(p / (1 - p))) if 0 < p < 1 else inf
        self.base = np.full(2, 1 - self.p)

    @property
    def gain(self) -> float:
        """2p - 1, negative where lies are more frequent."""
        return 2 * self.p - 1

    def report(self, codes: NDArray[Any], lots: UniformDraws) -> NDArray[Any]:
        """Randomize codes with one uniform number each, as `CategoryChannel.report` has it.

        Below p it is the truth.
        """
        return np.where(lots(len(codes)) < self.p, codes, 1 - codes.astype(np.int8)).astype(codes.dtype)


class OUE(CategoryChannel):
    """Report one bit for each of `size` values (optimized unary encoding).

    Wang, Blocki, Li and Jha 2017.

    Parameters
    ----------
    size : int
        How many values there are.
    epsilon : float or Fraction
        The local epsilon.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    mechanism = "unary encoding"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon, self.q = checked_size(size), exact(epsilon), lie_probability(epsilon)
        self.given = {"epsilon": str(self.epsilon)}
        self.base = np.full(size, self.q)

    @property
    def gain(self) -> float:
        """1/2 - q."""
        return 0.5 - self.q

    @property
    def rule(self) -> dict[str, Any]:
        return {"report": "places of the values whose bits are set, from 1"}

    def report(self, codes: NDArray[Any], lots: UniformDraws) -> NDArray[Any]:
        """Randomize codes to bits of shape (n, size), as `CategoryChannel.report` has it."""
        bits = np.empty((len(codes), self.size), dtype=bool)
        step = max(AT_ONCE // self.size, 1)
        for start in range(0, len(codes), step):
            own = codes[start : start + step]
            drawn = lots(len(own) * self.size).reshape(len(own), self.size)
            here = bits[start : start + step]
            np.less(drawn, self.q, out=here)
            here[np.arange(len(own)), own] = drawn[np.arange(len(own)), own] < 0.5
        return bits

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports whose bit of a value is set, as `CategoryChannel.support` has it."""
        return np.stack([reports[group == each].sum(axis=0, dtype=float) for each in range(groups)])

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write the positions of the bits that are set, from 1: "2 5", or "none"."""
        return [" ".join(map(str, np.flatnonzero(row) + 1)) or NO_BIT for row in reports]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from texts, as `CategoryChannel.read` has it."""
        bits = np.zeros((len(texts), self.size), dtype=bool)
        for row, text in zip(bits, texts, strict=True):
            indices = [] if text == NO_BIT else [int(word) for word in text.split(" ")]
            if indices != sorted({*indices}) or (indices and not 1 <= indices[0] <= indices[-1] <= self.size):
                raise ValueError
            row[[index - 1 for index in indices]] = True
        return bits


class OLH(CategoryChannel):
    """Report a hash of one of `size` values by ERRPH (optimized local hashing).

    Wang, Blocki, Li and Jha 2017. The hash is ((a v + b) mod (2^31 - 1)) mod g with a and b of
    one's own, which are part of the report: two values collide with probability 1/g, up to g /
    2^31.

    Parameters
    ----------
    size : int
        How many values there are.
    epsilon : float or Fraction
        The local epsilon.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    mechanism = "local hashing"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon = checked_size(size), exact(epsilon)
        self.given = {"epsilon": str(self.epsilon)}
        self.places = min(round(exp(min(float(epsilon), 20.0))) + 1, MOST_BUCKETS)
        self.inner = ERRPH(self.places, epsilon=self.epsilon)
        # as often as a report supports a value that is not the person's
        self.base = np.full(size, 1 / self.places)

    @property
    def gain(self) -> float:
        """p_0 + p_j of the inner channel, less 1/g: p_0 (1 - 1/g)."""
        return self.inner.gain * (1 - 1 / self.places)

    @property
    def rule(self) -> dict[str, Any]:
        return {"report": "a·v+b → hash, v from 0", "modulo": [PRIME, self.places]}

    def report(self, codes: NDArray[Any], lots: UniformDraws) -> NDArray[Any]:
        """Randomize codes to shape (n, 3): a, b and the reported hash."""
        n = len(codes)
        a, b = 1 + np.floor(lots(n) * (PRIME - 1)).astype(np.int64), np.floor(lots(n) * PRIME).astype(np.int64)
        hashed = (a * codes + b) % PRIME % self.places
        return np.stack([a, b, self.inner.report(hashed, lots)], axis=1)

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """Count the reports whose hash a value has, as `CategoryChannel.support` has it."""
        found = np.empty((groups, self.size))
        a, b, said = reports.T
        for value in range(self.size):
            met = (a * value + b) % PRIME % self.places == said
            found[:, value] = np.bincount(group[met], minlength=groups)
        return found

    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Write a, b and the hash of each report, as `CategoryChannel.texts` has it."""
        return [f"{a}·v+{b} → {said}" for a, b, said in reports.tolist()]

    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Read reports from texts, as `CategoryChannel.read` has it."""
        found = [HASHED.fullmatch(text) for text in texts]
        numbers = [[int(number) for number in each.groups()] if each else [] for each in found]
        if not all(len(own) == 3 and 0 < own[0] < PRIME > own[1] and own[2] < self.places for own in numbers):
            raise ValueError
        return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def best_channel(size: int, epsilon: Epsilon) -> CategoryChannel:
    """ERRPH, or OUE where its variance is lower."""
    return ERRPH(size, epsilon=epsilon) if size < 3 * exp(min(float(epsilon), 50.0)) + 2 else OUE(size, epsilon=epsilon)


def probability(name: str, value: float) -> float:
    """A number of [0, 1]."""
    if not (is_number(value) and 0 <= value <= 1):
        raise ParameterError(f"The {name!r} parameter is not a probability.", "Use a number from 0 to 1.")
    return float(value)


class TRR(Channel):
    """Report y = a x + b with a and b drawn from public sets, or x with Laplace noise.

    Paper 004, section 4.

    Parameters
    ----------
    factors, offsets : float arrays, optional
        The sets A and B; their own moments are used, whatever distribution they were drawn from. No
        finite epsilon.
    lower, upper : float, optional
        Public bounds, which epsilon needs; numbers are moved into them first.
    epsilon : float or Fraction, optional
        Instead of the sets: a = 1, and b of Laplace noise of scale (upper - lower) / epsilon.

    Attributes
    ----------
    scale : float
        Of the Laplace noise; 0 with sets, infinite if epsilon is 0, or so small that reports would
        tell nothing.
    moments : tuple of four floats
        Mean and variance of a, mean and variance of b.

    Raises
    ------
    ParameterError
        If sets, bounds or epsilon do not fit each other, or the factors have the mean 0.
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
        self.scale, self.mechanism, self.given = 0.0, "linear transformation", {}
        if epsilon is not None and factors is None and offsets is None:
            if not -inf < lower < upper < inf:
                raise ParameterError("Noise of a finite epsilon needs public bounds.", "Declare them, lower first.")
            self.epsilon, self.mechanism = exact(epsilon), "laplace"
            self.given = {"lower": lower, "upper": upper, "epsilon": str(self.epsilon)}
            self.scale = (upper - lower) / float(epsilon) if epsilon * DRAW_GRID >= 1 else inf
            self.moments = 1.0, 0.0, 0.0, 2 * self.scale * self.scale
            return
        if epsilon is not None or factors is None or offsets is None:
            raise ParameterError("TRR is set by its sets A and B, or by epsilon.", "Give one of them.")
        factors, offsets = np.array(factors, dtype=float), np.array(offsets, dtype=float)
        if not (len(factors) and len(offsets) and np.isfinite([*factors, *offsets]).all() and lower <= upper):
            raise ParameterError("TRR's sets must hold finite numbers, and its bounds be in order.", "Correct them.")
        if not np.mean(factors):
            raise ParameterError("The factors of TRR have the mean 0: reports would say nothing.", "Use another set A.")
        self.epsilon, self.sets = inf, (factors, offsets)
        self.moments = float(factors.mean()), float(factors.var()), float(offsets.mean()), float(offsets.var())

    @classmethod
    def drawn(
        cls, a: tuple[float, float], b: tuple[float, float], rng: np.random.Generator, *, size: int = 1000
    ) -> Self:
        """Return a channel whose sets are drawn from normal distributions.

        Parameters
        ----------
        a, b : (float, float)
            Mean and variance of the factors, and of the offsets.
        rng : numpy.random.Generator
            What draws.
        size : int, default=1000
            How many numbers each set has.

        Returns
        -------
        TRR
            The channel, with no finite epsilon.
        """
        factors, offsets = (mean + np.sqrt(variance) * rng.standard_normal(size) for mean, variance in (a, b))
        return cls(factors=factors, offsets=offsets)

    def report(self, numbers: Floats, lots: UniformDraws, laplace: Callable[..., Floats]) -> Floats:
        """Randomize true numbers.

        Parameters
        ----------
        numbers : float array of shape (n,)
            The true numbers.
        lots : callable
            From a number to so many independent uniform numbers in [0, 1).
        laplace : callable
            What adds noise of a scale to numbers, on a grid if it is sampled exactly
            (`noise.Noise.reals`): of 2^20 steps from one bound to the other. Dividing by a step and
            rounding keep the order of numbers, so that no two of them are more than 2^20 steps
            apart: the grid costs nothing.

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
        a, b = (values[(lots(len(inside)) * len(values)).astype(np.intp)] for values in self.sets)
        return np.asarray(a * inside + b, dtype=float)

    @property
    def truthful(self) -> bool:
        """Whether reports are true up to a factor and an offset that are public."""
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
            As printed (paper 004, formula 3), the square of the reports' mean stands for that of
            its expectation, which is less by Var(y) / n: a bias of -S_A^2 Var(y) / (n A^2 (S_A^2 +
            A^2)). Otherwise without bias.

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
        """Estimate the variance of `mean`, without bias: that of the reports over n A^2 (paper 004, section 6.2).

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
        """Give the standard error of `variance` as printed (paper 004, section 6.2).

        With k_2, k_3, k_4 the cumulants of a report and m its mean without that of b, s_y^2 has the
        variance k_4 / n + 2 k_2^2 / (n - 1), the squared mean 4 m^2 k_2 / n + 4 m
        k_3 / n^2 + k_4 / n^3 + 2 k_2^2 / n^2, and both the covariance 2 m k_3 / n + k_4 / n^2.
        `variance` is s_y^2 less S_A^2 / A^2 times the squared mean, over S_A^2 + A^2, and a
        constant.

        Parameters
        ----------
        reports : float array
            All reports that a person may hand in, equally probable; or those of many, to estimate it.
        people : int
            Of how many reports a variance is estimated: n, 2 or more.

        Returns
        -------
        float
            The standard error.
        """
        a, var_a, b, _ = self.moments
        n, m, off, share = people, float(reports.mean() - b), reports - reports.mean(), var_a / a**2
        k2, k3, k4 = (float((off**power).mean()) for power in (2, 3, 4))
        k4 -= 3 * k2**2
        of_spread, of_both = k4 / n + 2 * k2**2 / (n - 1), 2 * m * k3 / n + k4 / n**2
        of_square = 4 * m**2 * k2 / n + 4 * m * k3 / n**2 + k4 / n**3 + 2 * k2**2 / n**2
        return sqrt(max(of_spread + share**2 * of_square - 2 * share * of_both, 0.0)) / (var_a + a**2)


class AdditiveNoise(TRR):
    """x, moved into public bounds, with uniform or normal noise (Agrawal and Srikant 2000). No finite epsilon.

    Two x next to the bounds have other largest reports (uniform), or densities whose ratio has no
    bound (normal). The scale is half the width of the uniform noise, or the standard deviation of
    the normal one.
    """

    def __init__(self, kind: str, scale: float, *, lower: float, upper: float) -> None:
        if kind not in ("uniform", "normal") or not 0 <= scale < inf:
            raise ParameterError("This kind or scale of noise is not known.", "Use uniform or normal, 0 or wider.")
        self.lower, self.upper, self.kind, self.scale = lower, upper, kind, float(scale)
        self.epsilon, self.mechanism, self.sets = inf, f"{kind} noise", None
        self.given = {}
        self.moments = 1.0, 0.0, 0.0, self.scale**2 / (3 if kind == "uniform" else 1)

    def report(self, numbers: Floats, lots: UniformDraws, laplace: Callable[..., Floats]) -> Floats:
        """See `TRR.report`; one lot per person, through the inverse distribution function."""
        from scipy.special import ndtri  # here, because it takes longer to load than all channels

        drawn = lots(len(numbers))
        noise = 2 * drawn - 1 if self.kind == "uniform" else ndtri(np.maximum(drawn, SMALLEST))
        return np.asarray(np.clip(numbers, self.lower, self.upper) + self.scale * noise, dtype=float)


check_public(globals(), __all__)
