"""Reconstruction: everybody's secret bit from counts over random groups that name nobody.

After Dinur and Nissim 2003 ("Revealing information while preserving privacy", PODS), with least
squares in the place of their linear program. With n people of whom half have the secret, x their
bits, and Q the groups as rows of 0 and 1, the answers are a = Q x + noise. Solved is

    minimize |Q (x - 1/2) - (a - Q 1/2)|^2 + r |x - 1/2|^2,    r = 4 (variance of the noise),

which is the best linear guess for bits that are 0 or 1 with equal chance; a bit is guessed to be 1
if x is above 1/2. Without noise, n questions are enough for all bits.

Everybody may be in all m groups, and changes each count by at most 1. If all answers together are
to cost epsilon, each has epsilon / m, hence Laplace noise of scale m / epsilon.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Floats

LEAST = 1e-6  # the r of noiseless answers, which keeps few questions solvable


def random_groups(people: int, number: int, rng: np.random.Generator) -> Floats:
    """So many random groups, each person in each by a coin: shape (groups, people)."""
    return rng.integers(0, 2, (number, people)).astype(float)


def scale(questions: int, epsilon: float) -> float:
    """Of the Laplace noise on each of so many counts that cost epsilon together."""
    return questions / epsilon


def solve(groups: Floats, counts: Floats) -> Flags:
    """Guess everybody's bit from the noiseless counts of groups, shape (people,)."""
    ridge = LEAST * np.eye(groups.shape[1])
    found = np.linalg.solve(groups.T @ groups + ridge, groups.T @ (counts - groups.sum(axis=1) / 2))
    return np.asarray(found > 0)


def noiseless_share(bits: Flags, groups: Floats, numbers: Sequence[int]) -> pd.DataFrame:
    """The share of bits that the first so many noiseless counts give away: `number`, `share`."""
    share = [(solve(groups[:number], groups[:number] @ bits) == bits).mean() for number in numbers]
    return pd.DataFrame({"number": numbers, "share": share})


def noisy_share(bits: Flags, groups: Floats, epsilons: Sequence[float], unit: Floats) -> pd.DataFrame:
    """The share of bits that noisy counts give away, mean over releases: `epsilon`, `share`.

    `unit`: Laplace noise of scale 1, shape (m, half of the releases): the same for every epsilon,
    and taken with either sign, which is as likely: less hangs on chance. Q^T Q is decomposed once,
    for all epsilons.
    """
    values, vectors = np.linalg.eigh(groups.T @ groups)
    parts = groups @ (bits - 0.5), np.hstack([unit, -unit])
    noiseless, noise = (vectors.T @ (groups.T @ part) for part in parts)
    share = []
    for epsilon in epsilons:
        spread = scale(len(groups), epsilon)
        ridge = max(8 * spread**2, LEAST)  # the variance of Laplace noise is 2 scale^2
        guessed = vectors @ ((noiseless[:, None] + spread * noise) / (values + ridge)[:, None]) > 0
        share.append((guessed == bits[:, None]).mean())
    return pd.DataFrame({"epsilon": epsilons, "share": share})
