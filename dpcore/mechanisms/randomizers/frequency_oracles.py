"""Reports that are no values: for columns with many of them."""

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon, exact
from dpcore.mechanisms.randomizers.base import CategoryChannel, Floats, Lots, checked_size, drawable, falling
from dpcore.mechanisms.randomizers.categorical import ERRPH

AT_ONCE = 1 << 22  # bits that are drawn at once
PRIME = (1 << 31) - 1
MOST_PLACES = 1024


class OUE(CategoryChannel):
    """One bit for each of `size` values (optimized unary encoding, Wang, Blocki, Li and Jha 2017)."""

    mechanism = "unary encoding"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon, rest = checked_size(size), exact(epsilon), falling(epsilon)
        self.q = drawable(rest / (1 + rest))
        self.base = np.full(size, self.q)

    @property
    def gain(self) -> float:
        """1/2 - q."""
        return 0.5 - self.q

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
        """See `CategoryChannel.report`; bits of shape (n, size)."""
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
        """See `Channel.rule`."""
        return {"report": "places of the values whose bits are set, from 1"}

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """See `CategoryChannel.support`; a report supports the values whose bits are set."""
        return np.stack([reports[group == each].sum(axis=0, dtype=float) for each in range(groups)])

    def told(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """See `CategoryChannel.told`; the places of the bits that are set, from 1: "2 5", or "none"."""
        return [" ".join(map(str, np.flatnonzero(row) + 1)) or "none" for row in reports]


class OLH(CategoryChannel):
    """A hash of one of `size` values, reported by ERRPH (optimized local hashing, Wang, Blocki, Li and Jha 2017).

    The hash is ((a v + b) mod (2^31 - 1)) mod g with a and b of one's own, which are part of the report: two values
    collide with probability 1/g, up to g / 2^31.
    """

    mechanism = "local hashing"

    def __init__(self, size: int, *, epsilon: Epsilon) -> None:
        self.size, self.epsilon = checked_size(size), exact(epsilon)
        self.places = min(round(exp(min(float(epsilon), 20.0))) + 1, MOST_PLACES)
        self.inner = ERRPH(self.places, epsilon=self.epsilon)
        self.base = np.full(size, 1 / self.places)  # as often as a report supports a value that is not the person's

    @property
    def gain(self) -> float:
        """p_0 + p_j of the inner channel, less 1/g: p_0 (1 - 1/g)."""
        return self.inner.gain * (1 - 1 / self.places)

    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
        """See `CategoryChannel.report`; shape (n, 3): a, b and the reported hash."""
        n = len(codes)
        a, b = 1 + np.floor(lots(n) * (PRIME - 1)).astype(np.int64), np.floor(lots(n) * PRIME).astype(np.int64)
        hashed = (a * codes + b) % PRIME % self.places
        return np.stack([a, b, self.inner.report(hashed, lots)], axis=1)

    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """See `CategoryChannel.support`; a report supports the values whose hash it says."""
        found = np.empty((groups, self.size))
        a, b, said = reports.T
        for value in range(self.size):
            met = (a * value + b) % PRIME % self.places == said
            found[:, value] = np.bincount(group[met], minlength=groups)
        return found

    @property
    def rule(self) -> dict[str, Any]:
        """See `Channel.rule`."""
        return {"report": "a·v+b → hash, v from 0", "modulo": [PRIME, self.places]}

    def told(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """See `CategoryChannel.told`; a, b and the hash."""
        return [f"{a}·v+{b} → {said}" for a, b, said in reports.tolist()]


def best_channel(size: int, epsilon: Epsilon) -> CategoryChannel:
    """ERRPH, or OUE where its variance is lower."""
    return ERRPH(size, epsilon=epsilon) if size < 3 * exp(min(float(epsilon), 50.0)) + 2 else OUE(size, epsilon=epsilon)
