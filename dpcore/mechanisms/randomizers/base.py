"""What every randomizer is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import ceil, exp, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon
from dpcore.arguments import Floats
from dpcore.errors import ParameterError

Lots = Callable[[int], Floats]  # that many independent uniform numbers of [0, 1)
LOTS = 2.0**53  # lots are multiples of 1 / LOTS
SMALLEST_RATIO = 700.0  # beyond it, e^-epsilon is nearly no number any more


class Channel(ABC):
    """What is done to one person's answer."""

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
    """A channel for one of `size` values; see the package for gain and base, which has the shape (size,)."""

    size: int
    base: Floats

    @property
    @abstractmethod
    def gain(self) -> float:
        """How much more often a report supports the true value than its base says; 0 if reports tell nothing."""

    @abstractmethod
    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
        """Reports of true codes of shape (n,): an array whose first axis is the person."""

    @abstractmethod
    def support(self, reports: NDArray[Any], group: NDArray[Any], groups: int) -> Floats:
        """How many reports of each group (of people) support each value, shape (groups, size)."""

    def estimate(self, support: Floats, people: Floats) -> Floats:
        """Unbiased numbers of people with each value, shape (..., size), from the support and how many reported.

        They may be negative, and more than `people`. Equal shares if reports tell nothing.
        """
        people = np.asarray(people, dtype=float)[..., None]
        if not self.gain:
            return np.broadcast_to(people / self.size, support.shape).copy()
        return np.asarray((support - self.base * people) / self.gain, dtype=float)

    @abstractmethod
    def texts(self, reports: NDArray[Any], labels: Sequence[str]) -> list[str]:
        """Reports as texts, for people; `labels` are the values' names, no two of them alike."""

    @abstractmethod
    def read(self, texts: Sequence[str], labels: Sequence[str]) -> NDArray[Any]:
        """Reports from such texts; ValueError or LookupError if one is none."""

    def variance(self, shares: Floats, people: float) -> Floats:
        """The variance of the estimated shares, sampling of the people included; infinite if reports tell nothing."""
        if not self.gain or not people:
            return np.full(np.shape(shares), inf)
        supported = self.gain * np.asarray(shares) + self.base
        return np.asarray(supported * (1 - supported) / (people * self.gain**2), dtype=float)


def falling(epsilon: Epsilon) -> float:
    """e^-epsilon; above 0 for every finite epsilon."""
    return exp(-min(float(epsilon), SMALLEST_RATIO)) if epsilon < inf else 0.0


def drawable(probability: float) -> float:
    """The next higher probability that lots can have.

    A lie less probable than the smallest lot would never be told, and the truth would be out whatever epsilon says.
    """
    return ceil(probability * LOTS) / LOTS


def checked_size(size: int) -> int:
    """How many values a channel is for."""
    if size < 1:
        raise ParameterError("A randomizer needs a value to report.", "Declare the column's values.")
    return size
