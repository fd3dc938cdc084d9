"""Sources of privacy noise, chosen by name.

auto        The default, for everything that is to be published. Without a seed: exactly sampled
            discrete noise and selection, from the operating system's entropy (`draws`). With a
            seed: the same as laplace, which is not sampled exactly, and its label says so.
laplace     NumPy's continuous Laplace noise on counts. It takes a seed. For teaching only: the low
            bits of floating-point noise reveal the true count (Mironov 2012), and anyone who knows
            the seed can subtract the noise.
geometric   NumPy's two-sided geometric ("discrete Laplace") noise on counts: integers in, integers
            out. It takes a seed. For teaching only: NumPy's sampler works in floating point and is
            an approximation.

A run that counts rho (`accounting.privacy_measure`) draws Gaussian noise instead of Laplace noise:
discrete Gaussian noise where the source draws integers, and continuous noise otherwise.

Only the door (`dpcore.door`) draws from these sources. Sampling rows from a released model is
post-processing and uses a plain generator of its own.
"""

import numpy as np

from dpcore.accounting.privacy_measure import NoiseKind
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise.draws import Weights
from dpcore.mechanisms.noise.sources import ExactNoise, Noise, NoiselessLimit, NoNoise, NumpyNoise

__all__ = [
    "NOISES", "SAMPLING_STREAM", "TEACHING", "ExactNoise", "NoNoise", "Noise", "NoiselessLimit",
    "NumpyNoise", "Weights", "exactly_sampled", "generator", "make_noise",
]  # fmt: skip

# Stated wherever a guarantee is named for numbers that NumPy's noise has made.
TEACHING = phrase(
    "The privacy proof assumes exact arithmetic. NumPy's teaching noise is rounded, so its numbers can be attacked."
)
SEEDED = phrase("A known seed made the noise: anyone who knows the seed can subtract the noise. For teaching only.")
SAMPLING_STREAM = 4  # of the random numbers that decide which rows of a person are kept
NOISES = ("auto", "geometric", "laplace")


def exactly_sampled(noise: str, random_state: int | None) -> bool:
    """Return whether noise is sampled exactly for this `noise` parameter and seed.

    Only "auto" without a seed is, and only such noise may be published; `random_state` is the seed,
    or None. Raises ParameterError if `noise` is not one of `NOISES`.
    """
    if noise not in NOISES:
        raise ParameterError(f"The source of noise {noise!r} is not known.", f"Choose one of {', '.join(NOISES)}.")
    return noise == "auto" and random_state is None


def make_noise(noise: str, random_state: int | None, stream: int = 0, distribution: NoiseKind = "laplace") -> Noise:
    """Return the source of noise with this name: exactly sampled, or NumPy's for teaching.

    `noise` is one of `NOISES`, as in a method's parameter; only "auto" without a seed
    (`random_state`) is sampled exactly. `stream` numbers the purpose of the random numbers, so that
    one seed gives each purpose numbers of its own (`generator`). `distribution` is "laplace" or
    "gaussian". Raises ParameterError if `noise` is not one of `NOISES`.
    """
    if exactly_sampled(noise, random_state):
        return ExactNoise(distribution=distribution)
    rng, discrete = generator(random_state, stream), noise == "geometric"
    return NumpyNoise(rng, discrete=discrete, seeded=random_state is not None, distribution=distribution)


def generator(random_state: int | None, stream: int) -> np.random.Generator:
    """Return a NumPy generator from a seed, or from the operating system's entropy if it is None.

    Each purpose has an independent `stream` of random numbers. Stream 0 draws the door's noise;
    `SAMPLING_STREAM` draws which rows of each person are kept. Both are secret. The other streams
    draw public or post-processing randomness. Streams never share numbers, so a method behaves
    alike after a replayed answer and after a drawn one.
    """
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(stream,)))
