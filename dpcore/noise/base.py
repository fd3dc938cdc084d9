"""What every source of noise can do, and steps that several share."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError

__all__ = ["Floats", "Noise", "Scored"]

Floats = NDArray[np.float64]
WIDEST = 2.0**53  # far beyond it, both geometric draws stop at the largest integer and their difference at 0: no noise
MOST_LISTED = 1 << 22  # candidates in one list
NO_REAL_CUTS = "Cut numbers between public bins (cuts='bins'), or use NumPy's noise."


class Scored(Protocol):
    """Some candidates of one choice."""

    @property
    def scores(self) -> Floats:
        """Exact scores. Private."""

    def weight(self, factor: float) -> float:
        """log of the sum of exp(factor * score)."""


class Noise(ABC):
    """A source of privacy noise.

    Attributes
    ----------
    on_counts : str
        The distribution added to counts, as the ledger names it.
    label : str
        The source in words, for screens and exports.
    publishable : bool
        Whether its releases may leave the classroom.
    weighs : bool
        Whether it chooses among candidates of unequal weight, and among real numbers.
    """

    on_counts: str
    label: str
    publishable: bool = False
    weighs: bool = False

    @abstractmethod
    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Counts plus symmetric noise, P(z) proportional to exp(-|z| / scale); same shape."""

    def variance(self, scale: float) -> float:
        """The variance of the noise on one count: 2q / (1-q)^2 with q = exp(-1/scale), for whole numbers."""
        if scale > WIDEST:
            return 2 * scale * scale
        q = np.exp(-1.0 / scale)
        return float(2 * q / np.expm1(-1.0 / scale) ** 2)

    @abstractmethod
    def reals(self, values: Floats, scale: float) -> Floats:
        """Real values plus Laplace noise of that scale; same shape."""

    @abstractmethod
    def select(self, scores: Floats, factor: float) -> NDArray[np.intp]:
        """Exponential mechanism along the last axis: index r with probability proportional to exp(factor * score)."""

    def select_grouped(
        self, scores: Floats, groups: NDArray[np.intp], factor: float, log_weights: Floats | None = None
    ) -> NDArray[np.intp]:
        """One exponential mechanism per group, r with probability proportional to weight(r) exp(factor * score(r)).

        Parameters
        ----------
        scores, log_weights : arrays of shape (candidates,)
            A candidate of weight 0 (-inf) is never chosen; without weights all weigh the same.
        groups : int array of shape (candidates,)
            0 to m - 1 in increasing order; every group has a candidate.

        Returns
        -------
        int array of shape (m,)
            The places of the chosen candidates.

        Raises
        ------
        ParameterError
            If this source knows equal weights only.
        """
        ends = np.flatnonzero(np.diff(groups, append=-1)) + 1
        starts = np.concatenate([[0], ends[:-1]])
        if log_weights is not None and len(scores):
            lightest, heaviest = (f.reduceat(log_weights, starts) for f in (np.minimum, np.maximum))
            if (heaviest > lightest).any():
                raise ParameterError("This source chooses among candidates of equal weight.", NO_REAL_CUTS)
        places = [a + int(self.select(scores[a:b], factor)) for a, b in zip(starts, ends, strict=True)]
        return np.array(places, dtype=np.intp)

    def between(self, low: Floats, high: Floats) -> Floats:
        """A uniform whole number of every interval [low, high), whose ends are whole numbers as well.

        Raises
        ------
        ParameterError
            If this source draws none by lot.
        """
        raise ParameterError("This source of noise draws no real cuts.", NO_REAL_CUTS)

    def lots(self, count: int) -> Floats:
        """Independent uniform numbers of [0, 1) that decide which rows are in a sample, shape (count,).

        53 bits each from the operating system: a sample has to stay secret.
        """
        words = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
        return (words >> np.uint64(11)).astype(float) / WIDEST

    def check_candidates(self, count: int) -> None:
        """Refuse, before anything is charged, a choice among more candidates than this source can list."""
        if count > MOST_LISTED:
            raise ParameterError(
                f"This choice is among {count:,} candidates, too many for this source of noise.",
                "Allow fewer parents, or use NumPy's noise.",
            )

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
        """`select` over all scores of some blocks: the block, and the place in it."""
        self.check_candidates(sum(len(block.scores) for block in blocks))
        scores = np.concatenate([block.scores for block in blocks])
        place = int(self.select(scores if factor else np.zeros_like(scores), factor or 1.0))
        block = 0
        while place >= len(blocks[block].scores):
            place -= len(blocks[block].scores)
            block += 1
        return block, place


def behind_the_best(
    scores: Floats, groups: NDArray[np.intp], log_weights: Floats | None
) -> tuple[Floats, NDArray[np.intp]]:
    """How far each score is below the best of its group that weighs anything, and where groups start."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    possible = scores if log_weights is None else np.where(np.isneginf(log_weights), -np.inf, scores)
    return possible - np.maximum.reduceat(possible, starts)[groups], starts


def best_of_groups(keys: Floats, groups: NDArray[np.intp], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The place of every group's largest key, the first of equal ones."""
    best = np.flatnonzero(keys == np.maximum.reduceat(keys, starts)[groups])
    first: NDArray[np.intp] = best[np.flatnonzero(np.diff(groups[best], prepend=-1))]
    return first
