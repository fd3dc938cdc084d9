"""Where randomness comes from.

auto        The default. Exactly sampled discrete noise and choices, from the operating system's entropy (`draws`): for
            whatever is to be published, and for what is called proved. With a seed: laplace, which is not sampled
            exactly, and says so.
laplace     NumPy, continuous Laplace on counts. Seedable. Teaching grade: the low bits of floating-point noise betray
            the true count (Mironov 2012), and a known seed undoes the noise altogether.
geometric   NumPy, two-sided geometric ("discrete Laplace") on counts: integers in, integers out. Seedable, teaching
            grade (NumPy's sampler is an approximation in floating point).

Where a run counts rho (`accounting.currency`), all of them draw Gaussian noise in Laplace's place:
of whole numbers where they draw these, and continuous otherwise.

Only the door (`dpcore.door`) calls these; sampling rows from a released model is not private and
uses a plain generator of its own.
"""

import numpy as np

from dpcore.accounting.currency import NoiseKind
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise.draws import Weights
from dpcore.mechanisms.noise.sources import ExactNoise, Noise, NoiselessLimit, NoNoise, NumpyNoise

__all__ = [
    "CUT", "NOISES", "TEACHING", "ExactNoise", "NoNoise", "Noise", "NoiselessLimit", "NumpyNoise", "Weights",
    "exactly_sampled", "generator", "make_noise",
]  # fmt: skip

# The one sentence that goes with whatever NumPy's noise has made, wherever a guarantee is spoken of.
TEACHING = phrase(
    "The proof holds in exact arithmetic; this is NumPy's teaching noise, and these numbers can be attacked."
)
SEEDED = phrase("A known seed made the noise, and whoever has it can subtract it. For teaching only.")
CUT = 4  # the stream of these lots
NOISES = ("auto", "geometric", "laplace")


def exactly_sampled(noise: str, random_state: int | None) -> bool:
    """Whether the source that a `noise` parameter means is exactly sampled: "auto" is, unless it has a seed.

    ParameterError if the name is not one of `NOISES`.
    """
    if noise not in NOISES:
        raise ParameterError("The 'noise' parameter is not known.", f"Choose one of {', '.join(NOISES)}.")
    return noise == "auto" and random_state is None


def make_noise(noise: str, random_state: int | None, stream: int = 0, distribution: NoiseKind = "laplace") -> Noise:
    """The source of that name, with a seed on a stream of its own; ParameterError as for `exactly_sampled`."""
    if exactly_sampled(noise, random_state):
        return ExactNoise(distribution=distribution)
    rng, discrete = generator(random_state, stream), noise == "geometric"
    return NumpyNoise(rng, discrete=discrete, seeded=random_state is not None, distribution=distribution)


def generator(random_state: int | None, stream: int) -> np.random.Generator:
    """A generator from a seed (or the operating system's entropy), one independent stream per purpose.

    Stream 0 is the door's noise, and `CUT` the lots by which rows of persons are kept, which are as
    secret; the others draw public or post-processing randomness. Streams never share numbers, so a
    method behaves the same after a replayed answer as after a drawn one.
    """
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(stream,)))
