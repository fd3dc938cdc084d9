"""Where randomness comes from.

Three kinds, one interface:

laplace     NumPy, continuous Laplace on counts. Seedable. Teaching grade: the low bits of floating-point noise can
            betray the true count (Mironov 2012), and a known seed undoes the noise altogether.
geometric   NumPy, two-sided geometric ("discrete Laplace") on counts: integers in, integers out. Seedable, teaching
            grade (NumPy's sampler is an approximation in floating point).
opendp      OpenDP's exact discrete samplers fed by the operating system's entropy. Not seedable. For releases that are
            to be published. About 6 µs a draw; the library is imported on first use because that takes over a second.

Only the door (`dpcore.private`) calls these; sampling rows from a released model is not private and uses a plain
generator of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcore.errors import ParameterError

__all__ = ["NOISES", "Noise", "generator", "make_noise"]

NoiseKind = Literal["laplace", "geometric", "opendp"]
NOISES: tuple[NoiseKind, ...] = ("laplace", "geometric", "opendp")
Floats = NDArray[np.float64]
WIDEST = 2.0**53  # far beyond it, both geometric draws stop at the largest integer and their difference at 0: no noise
MOST_LISTED = 1 << 22  # candidates in one list


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
    """

    on_counts: str
    label: str
    publishable: bool = False

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


class NumpyNoise(Noise):
    """Seedable noise for teaching."""

    def __init__(self, rng: np.random.Generator, *, discrete: bool, seeded: bool) -> None:
        self._rng = rng
        self._discrete = discrete
        self.on_counts = "geometric" if discrete else "laplace"
        self.label = f"NumPy {self.on_counts} noise, {'seeded' if seeded else 'unseeded'}: for teaching"

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """See `Noise.counts`."""
        if not self._discrete:
            return counts + self._rng.laplace(0.0, scale, counts.shape)
        if scale > WIDEST:
            return np.rint(counts + self._rng.laplace(0.0, scale, counts.shape))
        success = -np.expm1(-1.0 / scale)
        # The difference of two geometric variables is two-sided geometric with the same ratio exp(-1/scale).
        up, down = self._rng.geometric(success, counts.shape), self._rng.geometric(success, counts.shape)
        return (counts + up - down).astype(np.float64)

    def variance(self, scale: float) -> float:
        """See `Noise.variance`; 2 scale^2 for continuous noise."""
        return super().variance(scale) if self._discrete else 2 * scale * scale  # infinite, where a power would raise

    def reals(self, values: Floats, scale: float) -> Floats:
        """See `Noise.reals`."""
        return values + self._rng.laplace(0.0, scale, values.shape)

    def select(self, scores: Floats, factor: float) -> NDArray[np.intp]:
        """See `Noise.select`; drawn by the Gumbel-max identity, which needs no normalizing sum."""
        chosen: NDArray[np.intp] = np.argmax(factor * scores + self._rng.gumbel(size=scores.shape), axis=-1)
        return chosen

    def check_candidates(self, count: int) -> None:
        """Nothing is listed here."""

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
        """See `Noise.select_among`: first the block by its total weight, then a place in it; the same distribution."""
        block = int(self.select(np.array([block.weight(factor) for block in blocks]), 1.0))
        return block, int(self.select(blocks[block].scores, factor))


class NoNoise(Noise):
    """Exact answers, and the best candidate (the first of them): for the reference without privacy only."""

    on_counts = "none"
    label = "no noise"

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """The counts."""
        return counts.astype(float)

    def variance(self, scale: float) -> float:
        """None."""
        return 0.0

    def reals(self, values: Floats, scale: float) -> Floats:
        """The values."""
        return values

    def select(self, scores: Floats, factor: float) -> NDArray[np.intp]:
        """The arg max."""
        best: NDArray[np.intp] = np.argmax(scores, axis=-1)
        return best

    def select_among(self, blocks: Sequence[Scored], factor: float) -> tuple[int, int]:
        """The arg max."""
        block = int(np.argmax([block.scores.max() for block in blocks]))
        return block, int(self.select(blocks[block].scores, factor))


class OpenDPNoise(Noise):
    """OpenDP's exact samplers; selection is permute-and-flip (McKenna and Sheldon 2020), under the same bound."""

    on_counts = "discrete laplace"
    label = "OpenDP exact discrete noise, from the operating system's entropy"
    publishable = True

    def __init__(self) -> None:
        import opendp.prelude as opendp

        opendp.enable_features("contrib")
        self._opendp = opendp

    def _measure(self, values: NDArray[Any], scale: float, **domain: Any) -> Floats:
        dp = self._opendp
        kind = domain["T"]
        space = dp.vector_domain(dp.atom_domain(**domain)), dp.l1_distance(T=kind)
        noisy = dp.m.make_laplace(*space, scale=scale)(values.ravel().tolist())
        return np.array(noisy, dtype=np.float64).reshape(values.shape)

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """See `Noise.counts`."""
        return self._measure(counts, scale, T="i64")

    def reals(self, values: Floats, scale: float) -> Floats:
        """See `Noise.reals`."""
        return self._measure(values, scale, T="f64", nan=False)

    def select(self, scores: Floats, factor: float) -> NDArray[np.intp]:
        """See `Noise.select`; one draw of about 65 µs per row of scores."""
        dp = self._opendp
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        draw = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0 / factor)
        rows = scores.reshape(-1, scores.shape[-1])
        return np.array([draw(row.tolist()) for row in rows], dtype=np.intp).reshape(scores.shape[:-1])


def make_noise(kind: str, random_state: int | None) -> Noise:
    """The noise source of that name.

    Raises
    ------
    ParameterError
        If the name is not one of `NOISES`, or a seed is given to the source that cannot take one.
    """
    if kind not in NOISES:
        raise ParameterError("The 'noise' parameter is not known.", f"Choose one of {', '.join(NOISES)}.")
    if kind != "opendp":
        return NumpyNoise(generator(random_state, 0), discrete=kind == "geometric", seeded=random_state is not None)
    if random_state is not None:
        raise ParameterError(
            "OpenDP's noise cannot be seeded: a seed would undo the privacy.",
            "Set random_state=None, or noise='laplace'.",
        )
    return OpenDPNoise()


def generator(random_state: int | None, stream: int) -> np.random.Generator:
    """A generator from a seed (or the operating system's entropy), one independent stream per purpose.

    Stream 0 is the door's noise; the others draw public or post-processing randomness. Streams never share numbers, so
    a method behaves the same after a replayed answer as after a drawn one.
    """
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(stream,)))
