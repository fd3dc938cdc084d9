"""Reconstruction attack: each person's secret bit, solved from counts over random groups.

After Dinur and Nissim 2003 ("Revealing information while preserving privacy", PODS), with least
squares instead of their linear program. Let n people have the bits x, half of which are 1, and let
Q have one row of 0 and 1 per group. The answers are a = Q x + noise. The attacker minimizes

    |Q (x - 1/2) - (a - Q 1/2)|^2 + r |x - 1/2|^2,    r = 4 (variance of the noise).

The solution is the best linear guess for bits that are 0 or 1 with equal probability. A bit is
guessed to be 1 if its x exceeds 1/2. Without noise, n queries are enough to find all bits.

A person may be in all m groups, and changes each count by at most 1. If all answers together cost
epsilon, each has epsilon / m, so the Laplace noise has scale m / epsilon.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Floats

LEAST = 1e-6  # r without noise: keeps few queries solvable


def random_groups(people: int, number: int, rng: np.random.Generator) -> Floats:
    """Return random groups as a 0/1 matrix, shape (groups, people), by fair coin flips.

    `number` is the number of groups.
    """
    return rng.integers(0, 2, (number, people)).astype(float)


def noise_scale(queries: int, epsilon: float) -> float:
    """Return the scale of the Laplace noise on each of `queries` counts if all cost `epsilon`."""
    return queries / epsilon


def solve_bits(groups: Floats, counts: Floats) -> Flags:
    """Return the guess of each person's bit from noiseless counts, shape (people,).

    `groups` has shape (groups, people); `counts` are the groups' sums of bits.
    """
    ridge = LEAST * np.eye(groups.shape[1])
    found = np.linalg.solve(groups.T @ groups + ridge, groups.T @ (counts - groups.sum(axis=1) / 2))
    return np.asarray(found > 0)


def noiseless_share(bits: Flags, groups: Floats, numbers: Sequence[int]) -> pd.DataFrame:
    """Return the share of bits that noiseless counts reveal: columns `number` and `share`.

    `bits` are the people's true bits. Each entry of `numbers` says how many of the `groups` are
    counted.
    """
    share = [(solve_bits(groups[:n], groups[:n] @ bits) == bits).mean() for n in numbers]
    return pd.DataFrame({"number": numbers, "share": share})


def noisy_share(bits: Flags, groups: Floats, epsilons: Sequence[float], unit: Floats) -> pd.DataFrame:
    """Return the share of bits that noisy counts reveal, mean over releases: `epsilon`, `share`.

    `unit` is Laplace noise of scale 1, shape (m, half of the releases), reused for every epsilon.
    It is applied with either sign, which is equally likely and makes the result depend less on
    chance. Q^T Q is decomposed once, for all epsilons.
    """
    values, vectors = np.linalg.eigh(groups.T @ groups)
    parts = groups @ (bits - 0.5), np.hstack([unit, -unit])
    noiseless, noise = (vectors.T @ (groups.T @ part) for part in parts)
    share = []
    for epsilon in epsilons:
        spread = noise_scale(len(groups), epsilon)
        ridge = max(8 * spread**2, LEAST)  # the variance of Laplace noise is 2 scale^2
        guessed = vectors @ ((noiseless[:, None] + spread * noise) / (values + ridge)[:, None]) > 0
        share.append((guessed == bits[:, None]).mean())
    return pd.DataFrame({"epsilon": epsilons, "share": share})
