"""Randomized categories: reports that are values themselves, and others for columns with many of them."""

import re
from collections.abc import Sequence
from functools import cached_property
from math import exp, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, is_number
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers.base import LOTS, CategoryChannel, Lots, checked_size, drawable, falling

ONE_OF = ("A randomizer is set by p0, or by epsilon, not by both.", "Give one of them.")
ROUNDING = 1e-9
AT_ONCE = 1 << 22  # bits that are drawn at once
PRIME = (1 << 31) - 1
NO_BIT = "none"
HASHED = re.compile(r"([0-9]{1,10})·v\+([0-9]{1,10}) → ([0-9]{1,4})")
MOST_PLACES = 1024


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
            # p_j = 1 / (e^eps + k - 1), so that a large epsilon does no harm
            rest = falling(epsilon)
            lie = drawable(rest / (1 + (size - 1) * rest))
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
            raise ParameterError("The probabilities p0, p1, … do not sum to 1, one per value.", "Mend them.")
        if others is not None and lies:
            self.base *= (1 - p0) / lies  # what is left to the last value is what it says
        if size == 1 or not p0:
            self.epsilon = exact(0)
        else:
            self.epsilon = log1p(p0 / self.base.min()) if self.base.min() >= 1 / LOTS else inf

    @property
    def gain(self) -> float:
        """p_0."""
        return self.p0

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
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
            rest = falling(epsilon)
            self.epsilon, self.p = exact(epsilon), 1 - drawable(rest / (1 + rest))
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

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
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
        self.size, self.epsilon, rest = checked_size(size), exact(epsilon), falling(epsilon)
        self.given = {"epsilon": str(self.epsilon)}
        self.q = drawable(rest / (1 + rest))
        self.base = np.full(size, self.q)

    @property
    def gain(self) -> float:
        """1/2 - q."""
        return 0.5 - self.q

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
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

    @property
    def rule(self) -> dict[str, Any]:
        return {"report": "places of the values whose bits are set, from 1"}

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
            places = [] if text == NO_BIT else [int(word) for word in text.split(" ")]
            if places != sorted({*places}) or (places and not 1 <= places[0] <= places[-1] <= self.size):
                raise ValueError
            row[[place - 1 for place in places]] = True
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
        self.places = min(round(exp(min(float(epsilon), 20.0))) + 1, MOST_PLACES)
        self.inner = ERRPH(self.places, epsilon=self.epsilon)
        # as often as a report supports a value that is not the person's
        self.base = np.full(size, 1 / self.places)

    @property
    def gain(self) -> float:
        """p_0 + p_j of the inner channel, less 1/g: p_0 (1 - 1/g)."""
        return self.inner.gain * (1 - 1 / self.places)

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
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

    @property
    def rule(self) -> dict[str, Any]:
        return {"report": "a·v+b → hash, v from 0", "modulo": [PRIME, self.places]}

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
