"""What every source of noise can do, and steps that several share."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import inf, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import WIDEST, Law
from dpcore.arguments import Floats, Ints
from dpcore.mechanisms.noise import histograms
from dpcore.mechanisms.noise.draws import WORD, Weights, is_below, uniform, words
from dpcore.mechanisms.noise.histograms import Spread

LOTS = 1 << 17  # that are drawn at a time


class Scored(Protocol):
    """Some candidates of one choice."""

    @property
    def scores(self) -> Floats:
        """Noiseless scores. Private."""

    def weight(self, factor: float) -> float:
        """log of the sum of exp(factor * score)."""


class Noise(ABC):
    """A source of privacy noise, of one law: a run in epsilon draws Laplace noise, one in rho Gaussian noise."""

    law: Law = "laplace"
    """Of the noise on counts and values. A `scale` is Laplace's, or the Gaussian's sigma."""
    on_counts: str
    """The distribution added to counts, as the ledger names it."""
    label: str
    """The source in words, for screens and exports."""
    exactly_sampled: bool = False
    """Whether its releases may leave the classroom: what it draws is sampled exactly, and nobody knows a seed. The
    floating point of scores is then paid for as well (`scores`)."""

    @abstractmethod
    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """Counts plus symmetric noise; same shape.

        P(z) is proportional to exp(-|z| / scale), or to exp(-z^2 / (2 scale^2)).
        """

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        """`counts` for every table of one question, each with a scale of its own."""
        return [self.counts(table, scale) for table, scale in zip(tables, scales, strict=True)]

    def variance(self, scale: float) -> float:
        """The variance of the noise on one count, for whole numbers.

        Laplace: 2q / (1-q)^2 with q = exp(-1/scale). Gaussian: by its sum, from a sigma of 3 on sigma^2, of which it
        lacks less than one in 10^70.
        """
        if self.law == "gaussian":
            z = np.arange(1, 121) if scale < 3 else np.zeros(0)
            with np.errstate(over="ignore", divide="ignore"):
                weights = np.exp(-0.5 * (z / scale) ** 2)
            return float((z * z * weights).sum() / (0.5 + weights.sum())) if scale < 3 else scale * scale
        if scale > WIDEST:
            return 2 * scale * scale
        q = np.exp(-1.0 / scale)
        return float(2 * q / np.expm1(-1.0 / scale) ** 2)

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        """Tables of the same rows with noise for all at once, which is of one total: 0 if that is public."""
        if factor == np.inf:
            return [table.astype(float) for table in tables]
        sizes = [table.size for table in tables]
        drawn = histograms.draw(sizes, factor, self._below, self._lot, public_total=public_total)
        return sums(tables, drawn)

    def histogram_spreads(self, sizes: Sequence[int], factor: float, *, public_total: bool) -> dict[int, Spread]:
        """About how large that noise is, by the histogram's size."""
        return histograms.spreads(sizes, factor, public_total=public_total)

    def _below(self, bound: int) -> int:
        """A uniform whole number from 0 to below a bound."""
        return secrets.randbelow(bound)

    def _lot(self, near: float, room: float, exactly: Callable[[], tuple[Fraction, Fraction]]) -> bool:
        """Whether something happens (`histograms.Lot`)."""
        drawn = int(words(1)[0])
        low, high = (log(bits) - WORD * log(2) if bits else -inf for bits in (drawn, drawn + 1))
        if abs(near - min(max(near, low), high)) > room:
            return near > high
        return is_below(drawn, *exactly())

    @abstractmethod
    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """Real values plus noise of that scale; same shape.

        Exactly sampled noise moves values to the nearest of the numbers origin + whole number * grid first, and stays
        on them: two values that are D apart are then at most D / grid + 1 steps apart, and D / grid if both are on the
        grid.
        """

    @abstractmethod
    def select(self, scores: Floats, factor: float) -> Ints:
        """Exponential mechanism along the last axis: index r with probability proportional to exp(factor * score)."""

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        """One exponential mechanism per group, r with probability proportional to weight(r) exp(factor * score(r)).

        Scores, groups and weights are of shape (candidates,), and the chosen places of shape (m,). Groups are 0 to
        m - 1 in increasing order, and each has a candidate; one of weight 0 is never chosen.
        """
        ends = np.flatnonzero(np.diff(groups, append=-1)) + 1
        starts = np.concatenate([[0], ends[:-1]])
        places = [a + int(self.select(scores[a:b], factor)) for a, b in zip(starts, ends, strict=True)]
        return np.array(places, dtype=np.intp)

    def between(self, low: Floats, high: Floats) -> Floats:
        """A uniform whole number of every interval [low, high), whose ends are whole numbers as well."""
        start = low.astype(np.int64)
        return (start + uniform(high.astype(np.int64) - start)).astype(float)

    def lots(self, count: int) -> Floats:
        """Independent uniform numbers of [0, 1) that decide which rows are in a sample, shape (count,).

        53 bits each from the operating system: a sample has to stay secret. They are multiples of 2^-53, so that
        whoever compares them with a probability rounds it to one of these first, to the safe side.
        """
        return (words(count) >> np.uint64(11)).astype(float) / WIDEST

    def lots_by_blocks(self, count: int) -> Iterator[Floats]:
        """The same numbers, some at a time, and once if there are none."""
        return (self.lots(min(LOTS, count - start)) for start in range(0, max(count, 1), LOTS))

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
        """`select` over all scores of some blocks: the block, and the place in it."""
        scores = np.concatenate([block.scores for block in blocks])
        place = int(self.select(scores if factor else np.zeros_like(scores), factor or 1.0))
        block = 0
        while place >= len(blocks[block].scores):
            place -= len(blocks[block].scores)
            block += 1
        return block, place


def sums(tables: Sequence[NDArray[np.int64]], noise: Sequence[Ints]) -> list[Floats]:
    """Tables plus whole noise, of which each table has as many numbers as cells; the nearest floats."""
    added = [(table.ravel() + own).astype(float) for table, own in zip(tables, noise, strict=True)]
    return [cells.reshape(table.shape) for table, cells in zip(tables, added, strict=True)]


def behind_the_best(scores: Floats, groups: Ints, weights: Weights | None) -> tuple[Floats, Ints]:
    """How far each score is below the best of its group that weighs anything, and where groups start."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    possible = scores if weights is None else np.where(weights.part > 0, scores, -np.inf)
    return possible - best_in_groups(possible, starts), starts


def best_in_groups(keys: Floats, starts: Ints) -> Floats:
    """For each key the largest one of its group."""
    return np.repeat(np.maximum.reduceat(keys, starts), np.diff(starts, append=len(keys)))


def best_of_groups(keys: Floats, groups: Ints, starts: Ints) -> Ints:
    """The place of every group's largest key, the first of equal ones."""
    best = np.flatnonzero(keys == best_in_groups(keys, starts))
    return np.asarray(best[np.flatnonzero(np.diff(groups[best], prepend=-1))])
