"""Exactly sampled noise from the operating system's entropy: our own, and OpenDP's on counts."""

import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import Law
from dpcore.arguments import Floats, Ints
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise.base import Noise, Scored, sums
from dpcore.mechanisms.noise.draws import LARGEST, Choice, Weights, check_numpy, gaussian, laplace

# relative; scales and factors are worked out in floats, whose rounding is far less
SPARE = 2.0**-40
WIDE = 2.0**56  # wider noise is beyond 2^63 once in e^128
BITS = 36  # of a candidate's weight in a block, of which there may be 2^26


class ExactNoise(Noise):
    """Exactly sampled discrete noise, and the exponential mechanism with exact probabilities (`draws`).

    A scale is taken larger, and a factor smaller, than was asked for by a relative `SPARE`: what is booked for them is
    never less than what they cost, however they were rounded on their way here. A noisy count is a whole number, of
    which an answer is the nearest float: that is post-processing, also where noise is wider than floats are exact.
    """

    exactly_sampled = True
    label = phrase("Exactly sampled discrete noise, from the operating system's entropy")

    def __init__(self, *, law: Law = "laplace") -> None:
        check_numpy()
        self.law, self.on_counts = law, f"discrete {law}"
        self._known: WeakKeyDictionary[Scored, tuple[float, Choice]] = WeakKeyDictionary()

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        return self.many_counts([counts], [scale])[0]

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        sizes, many = [table.size for table in tables], laplace if self.law == "laplace" else gaussian
        wider = [scale * (1 + SPARE) for scale in scales]
        return sums(tables, np.split(many(np.repeat(wider, sizes)), np.cumsum(sizes)[:-1]))

    def histograms(self, tables: Sequence[NDArray[np.int64]], factor: float, *, public_total: bool) -> list[Floats]:
        return super().histograms(tables, factor * (1 - SPARE), public_total=public_total)

    def reals(self, values: Floats, scale: float, *, grid: float, origin: float = 0.0) -> Floats:
        """See `Noise.reals`; on the grid."""
        steps = np.rint((values - origin) / grid)
        if not (np.abs(steps) < LARGEST).all():
            raise ParameterError("Numbers are further from the grid's origin than 2^62 steps.", "Use a wider grid.")
        return origin + grid * self.counts(steps.astype(np.int64), scale / grid)

    def select(self, scores: Floats, factor: float) -> Ints:
        starts = np.arange(0, scores.size, scores.shape[-1])
        return (choice(scores.ravel(), starts, factor).draw() - starts).reshape(scores.shape[:-1])

    def select_grouped(self, scores: Floats, groups: Ints, factor: float, weights: Weights | None = None) -> Ints:
        return choice(scores, np.flatnonzero(np.diff(groups, prepend=-1)), factor, weights).draw()

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
        """See `Noise.select_among`.

        A block is drawn by what its integer weights amount to, then a place in it; if that is not taken, all begins
        again. A place in block b comes with probability proportional to exp(factor best(b)) totals(b) times
        W(r) / totals(b) times 2^bits w(r) / W(r), which is 2^bits exp(factor score(r)).
        """
        known = [self._choice_of(block, factor) for block in blocks]
        totals = np.array([int(choice.totals[0]) for choice in known])
        weights = Weights(totals, np.full(len(totals), 1 << 62))
        among = choice(np.array([float(choice.best[0]) for choice in known]), np.zeros(1, np.intp), factor, weights)
        while True:
            block = int(among.draw()[0])
            places, taken = known[block].propose(np.zeros(1, np.intp))
            if taken[0]:
                return block, int(places[0])

    def _choice_of(self, block: Scored, factor: float) -> Choice:
        """The block's integer weights; blocks are asked again and again while a network grows."""
        known = self._known.get(block)
        if known is None or known[0] != factor:
            known = self._known[block] = factor, choice(block.scores, np.zeros(1, np.intp), factor, bits=BITS)
        return known[1]


class OpenDPNoise(ExactNoise):
    """The same, but that OpenDP's samplers (Canonne, Kamath and Steinke 2020) draw for counts, at some 10 µs each.

    The distributions are the same. Choices, noise for several histograms at once, and scales of which OpenDP's whole
    numbers, which end at 2^63, could not hold the noise, are still ours.
    """

    label = phrase("Exactly sampled discrete noise (OpenDP), from the operating system's entropy")

    def __init__(self, **given: Any) -> None:
        """Load OpenDP, which takes over a second, before anything is charged."""
        super().__init__(**given)
        import opendp.prelude as opendp

        opendp.enable_features("contrib")
        self._opendp = opendp

    def many_counts(self, tables: Sequence[NDArray[np.int64]], scales: Sequence[float]) -> list[Floats]:
        if max(scales, default=0.0) > WIDE:
            return super().many_counts(tables, scales)
        opendp = self._opendp
        make, distance = opendp.m.make_laplace, opendp.l1_distance(T="i64")
        if self.law == "gaussian":
            make, distance = opendp.m.make_gaussian, opendp.l2_distance(T="f64")
        domain, found = opendp.vector_domain(opendp.atom_domain(T="i64")), []
        for table, scale in zip(tables, scales, strict=True):
            noise = make(domain, distance, scale=scale * (1 + SPARE))
            found.append(np.array(noise(table.ravel().tolist()), dtype=np.float64).reshape(table.shape))
        return found


def choice(
    scores: Floats, starts: Ints, factor: float, weights: Weights | None = None, bits: int | None = None
) -> Choice:
    """Exactly sampled choices for no more than was asked for, also where that is beyond any float."""
    return Choice(scores, starts, min(factor, sys.float_info.max) * (1 - SPARE), weights, bits)
