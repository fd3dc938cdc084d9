"""Noise on a count: what its distributions sum to, how far their ratios go, and what normal noise costs."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpcore.dashboard.count_noise import CountNoise, draws, gaussian_delta, gaussian_sigma, worlds

EPSILONS = (0.1, 1.0, 3.0)
NOISES = [CountNoise(name, e, 0.01) for name in ("Laplace", "Geometric", "Gaussian") for e in EPSILONS]


def density(noise, power=0):
    """Times a power of the place: what integrates to a moment."""
    return lambda x: x**power * float(np.exp(noise.log_density(np.array(x))))


def test_densities_integrate_to_one_and_to_their_variance():
    for noise in NOISES:
        far = 60 * noise.deviation
        if noise.whole:
            x = np.arange(-math.ceil(far), math.ceil(far) + 1.0)
            chance = np.exp(noise.log_density(x))
            total, variance = chance.sum(), (chance * x**2).sum()
        else:
            total = 2 * quad(density(noise), 0, far)[0]
            variance = 2 * quad(density(noise, 2), 0, far)[0]
        assert total == pytest.approx(1, abs=1e-8)
        assert math.sqrt(variance) == pytest.approx(noise.deviation, rel=1e-6)


def test_quantiles_invert_the_distribution():
    for noise in NOISES:
        shares = np.array([1e-6, 0.01, 0.2, 0.49, 0.5, 0.77, 0.99, 1 - 1e-6])
        found = noise.quantile(shares)
        if noise.whole:
            x = np.arange(-400.0, 401.0)
            sums = np.cumsum(np.exp(noise.log_density(x)))
            assert found.tolist() == [x[np.searchsorted(sums, share - 1e-12)] for share in shares]
        else:
            below = [quad(density(noise), -80 * noise.deviation, 0)[0] + quad(density(noise), 0, q)[0] for q in found]
            assert below == pytest.approx(shares.tolist(), abs=1e-6)


def test_ratios_of_pure_mechanisms_reach_epsilon_and_never_pass_it():
    for epsilon, count in product(EPSILONS, (0, 100)):
        for noise in (CountNoise("Laplace", epsilon), CountNoise("Geometric", epsilon)):
            frame = worlds(noise, count)
            ratio = frame["log_ratio"]
            assert ratio.abs().max() == pytest.approx(epsilon, rel=1e-9)
            assert noise.delta == 0
            ends = frame["answer"].ge(count + 1) | frame["answer"].le(count)
            expected = np.where(frame["answer"] > count + 0.5, epsilon, -epsilon)
            np.testing.assert_allclose(ratio[ends], expected[ends], rtol=1e-9)
            for world in ("with", "without"):
                np.testing.assert_allclose(frame[f"limit_{world}"], frame[world], rtol=1e-9)


def test_gaussian_delta_is_what_one_world_has_above_the_other():
    for epsilon, delta in ((0.1, 0.05), (1.0, 1e-3), (3.0, 0.01)):
        noise = CountNoise("Gaussian", epsilon, delta)
        s = noise.scale
        start = epsilon * s * s + 0.5  # where the log ratio is epsilon
        x = np.linspace(start, start + 40 * s, 100_001)
        above = np.trapezoid(norm(1, s).pdf(x) - math.exp(epsilon) * norm(0, s).pdf(x), x)
        assert above == pytest.approx(delta, rel=1e-6)
        frame = worlds(noise, 100, places=4001)
        for world in ("with", "without"):
            gap = frame[world] - frame[f"limit_{world}"]
            area = np.trapezoid(gap, frame["answer"])
            assert area <= delta
            assert area == pytest.approx(delta, abs=3e-4 + 0.02 * delta)  # what is beyond the picture is missing


def test_gaussian_by_hand():
    # epsilon 0: the total variation of N(0, 1) and N(1, 1), 2 Phi(1/2) - 1
    assert gaussian_delta(0, 1) == pytest.approx(0.3829249, abs=1e-7)
    # epsilon 1: Phi(-1/2) - e Phi(-3/2) = 0.3085375 - 2.7182818 * 0.0668072
    assert gaussian_delta(1, 1) == pytest.approx(0.3085375 - 2.7182818 * 0.0668072, abs=1e-6)
    assert gaussian_sigma(1, 1e-5) == pytest.approx(3.730632, abs=1e-5)
    for epsilon, delta in product((0.0, 30.0), (1e-9, 0.9)):
        sigma = gaussian_sigma(epsilon, delta)
        assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(epsilon, sigma * (1 - 1e-6))


def test_no_normal_noise_is_pure():
    assert gaussian_sigma(1.0, 0.0) > 1e9


def test_a_seed_fixes_lots_and_the_worlds_differ_by_one():
    for noise in NOISES:
        first = draws(noise, 100, 1)
        pd.testing.assert_frame_equal(first, draws(noise, 100, 1))
        assert (first["answer"] != draws(noise, 100, 2)["answer"]).any()
        assert first["world"].value_counts().to_dict() == {"without": 20, "with": 20}
        many = draws(noise, 100, 3, 20_000).groupby("world")["answer"].agg(["mean", "std"])
        assert many["mean"].to_dict() == pytest.approx({"with": 101, "without": 100}, abs=5 * noise.deviation / 140)
        assert many["std"].to_numpy() == pytest.approx([noise.deviation] * 2, rel=0.05)
