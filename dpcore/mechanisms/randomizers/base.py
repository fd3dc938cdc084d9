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
    def report(self, codes: NDArray[Any], lots: Lots) -> NDArray[Any]:
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
