"""Where randomness comes from.

auto        The default. Exactly sampled discrete noise and choices, from the operating system's entropy: for whatever
            is to be published, and for what is called proved. Few counts are drawn by OpenDP, which is loaded on first
            use because that takes over a second; many at once, and choices, by `draws`. With a seed, and where OpenDP
            is not installed (`dpcore.extras`): laplace, which is not sampled exactly, and says so.
opendp      The same, but that OpenDP draws for all counts, at some 10 µs each. Takes no seed. An error without OpenDP.
laplace     NumPy, continuous Laplace on counts. Seedable. Teaching grade: the low bits of floating-point noise betray
            the true count (Mironov 2012), and a known seed undoes the noise altogether.
geometric   NumPy, two-sided geometric ("discrete Laplace") on counts: integers in, integers out. Seedable, teaching
            grade (NumPy's sampler is an approximation in floating point).

Where a run counts rho (`accounting.currency`), all of them draw Gaussian noise in Laplace's place: of whole numbers
where they draw these, and continuous otherwise.

Only the door (`dpcore.door`) calls these; sampling rows from a released model is not private and uses a plain
generator of its own.
"""

from importlib import import_module
from threading import Thread
from typing import Literal

import numpy as np

from dpcore.accounting.currency import Law
from dpcore.errors import ParameterError
from dpcore.extras import need, there
from dpcore.language import phrase
from dpcore.mechanisms.noise.base import Noise
from dpcore.mechanisms.noise.draws import Weights
from dpcore.mechanisms.noise.numpy_noise import NoiselessLimit, NoNoise, NumpyNoise
from dpcore.mechanisms.noise.opendp_noise import OpenDPNoise

__all__ = [
    "CUT", "NOISES", "TEACHING", "NoNoise", "Noise", "NoiselessLimit", "NumpyNoise", "OpenDPNoise", "Weights",
    "generator", "load_in_background", "make_noise", "noise_kind",
]  # fmt: skip

NoiseKind = Literal["auto", "opendp", "geometric", "laplace"]
# The one sentence that goes with whatever NumPy's noise has made, wherever a guarantee is spoken of.
TEACHING = phrase(
    "The proof holds in exact arithmetic; this is NumPy's teaching noise, and these numbers can be attacked."
)
SEEDED = phrase("A known seed made the noise, and whoever has it can subtract it. For teaching only.")
CUT = 4  # the stream of these lots
NOISES: tuple[NoiseKind, ...] = ("auto", "opendp", "geometric", "laplace")


def noise_kind(noise: str, random_state: int | None) -> str:
    """The source that a `noise` parameter means: "auto" is exactly sampled, or NumPy's with a seed or without OpenDP.

    ParameterError if the name is not one of `NOISES`, a seed is given to the source that cannot take one, or OpenDP is
    asked for by name and is not installed.
    """
    if noise not in NOISES:
        raise ParameterError("The 'noise' parameter is not known.", f"Choose one of {', '.join(NOISES)}.")
    if noise == "opendp" and random_state is not None:
        raise ParameterError(
            "OpenDP's noise cannot be seeded: a seed would undo the privacy.",
            "Set random_state=None, or noise='laplace'.",
        )
    if noise == "opendp":
        need("opendp", "Exactly sampled noise")
    return noise if noise != "auto" else "opendp" if random_state is None and there("opendp") else "laplace"


def make_noise(noise: str, random_state: int | None, stream: int = 0, law: Law = "laplace") -> Noise:
    """The source of that name, with a seed on a stream of its own; ParameterError as for `noise_kind`."""
    kind = noise_kind(noise, random_state)
    if kind == "opendp":
        return OpenDPNoise(everywhere=noise == "opendp", law=law)
    rng, discrete = generator(random_state, stream), kind == "geometric"
    return NumpyNoise(rng, discrete=discrete, seeded=random_state is not None, law=law)


def load_in_background() -> None:
    """Load OpenDP, if it is there, in a thread of its own: the first release need not wait a second or more for it."""
    if there("opendp"):
        if there("polars"):  # OpenDP loads it, and scikit-learn's look from another thread would find it half loaded
            import_module("polars")
        Thread(target=import_module, args=("opendp.prelude",), name="opendp", daemon=True).start()


def generator(random_state: int | None, stream: int) -> np.random.Generator:
    """A generator from a seed (or the operating system's entropy), one independent stream per purpose.

    Stream 0 is the door's noise, and `CUT` the lots by which rows of persons are kept, which are as secret; the others
    draw public or post-processing randomness. Streams never share numbers, so
    a method behaves the same after a replayed answer as after a drawn one.
    """
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(stream,)))
