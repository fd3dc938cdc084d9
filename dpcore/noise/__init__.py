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

from typing import Literal

import numpy as np

from dpcore.errors import ParameterError
from dpcore.noise.base import Noise
from dpcore.noise.hardened import OpenDPNoise
from dpcore.noise.seeded import ExactNoise, NoNoise, NumpyNoise

__all__ = ["NOISES", "ExactNoise", "NoNoise", "Noise", "NumpyNoise", "OpenDPNoise", "generator", "make_noise"]

NoiseKind = Literal["laplace", "geometric", "opendp"]
NOISES: tuple[NoiseKind, ...] = ("laplace", "geometric", "opendp")


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
