"""Reconstruction: everybody's secret bit from counts over random groups of people, none of which names anybody.

After Dinur and Nissim 2003 ("Revealing information while preserving privacy", PODS), with least
squares in the place of their linear program. With n people of whom half have the secret, x their
bits, and Q the groups as rows of 0 and 1, the answers are a = Q x + noise. Solved is

    minimize |Q (x - 1/2) - (a - Q 1/2)|^2 + r |x - 1/2|^2,    r = 4 (variance of the noise),

which is the best linear guess for bits that are 0 or 1 with equal chance; a bit is guessed to be 1
if x is above 1/2. Without noise, n questions are enough for all bits.

Everybody may be in all m groups, and changes each count by at most 1. If all answers together are to cost epsilon, each
has epsilon / m, hence Laplace noise of scale m / epsilon.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Floats
from dpcore.dashboard.count_noise import CountNoise

LEAST = 1e-6  # the r of noiseless answers, which keeps few questions solvable
UNIT = CountNoise("Laplace", 1.0)  # times its scale, the noise of an answer


@dataclass(frozen=True, eq=False)
class Questions:
    """Random groups, each person in each by a coin: `groups` of shape (m, n), and the true `counts` of shape (m,)."""

    groups: Floats
    counts: Floats

    def first(self, number: int) -> "Questions":
        """The first so many questions."""
        return Questions(self.groups[:number], self.counts[:number])

    @property
    def sizes(self) -> Floats:
        """How many people are in each group."""
        return np.asarray(self.groups.sum(axis=1))

    @cached_property
    def middle(self) -> Floats:
        """What the counts would be if everybody had half of the secret."""
        return self.sizes / 2

    def solved(self) -> Flags:
        """Everybody's bit as it is guessed from the noiseless counts, shape (n,)."""
        groups, told = self.groups, self.counts - self.middle
        if len(groups) < groups.shape[1]:
            found = groups.T @ np.linalg.solve(groups @ groups.T + LEAST * np.eye(len(groups)), told)
        else:
            found = np.linalg.solve(groups.T @ groups + LEAST * np.eye(groups.shape[1]), groups.T @ told)
        return np.asarray(found > 0)


def random_queries(bits: Flags, number: int, rng: np.random.Generator) -> Questions:
    """So many random groups of these people, and their true counts."""
    groups = rng.integers(0, 2, (number, len(bits))).astype(float)
    return Questions(groups, groups @ bits)


def scale(questions: int, epsilon: float) -> float:
    """Of the Laplace noise on each of so many counts that cost epsilon together."""
    return questions / epsilon


def noiseless_share(bits: Flags, questions: Questions, numbers: Iterable[int]) -> pd.DataFrame:
    """The share of bits that the first so many noiseless counts give away: `number`, `share`."""
    share = [(questions.first(number).solved() == bits).mean() for number in numbers]
    return pd.DataFrame({"number": [*numbers], "share": share})


def noisy_share(bits: Flags, questions: Questions, epsilons: Iterable[float], lots: Floats) -> pd.DataFrame:
    """The share of bits that noisy counts give away, mean over releases: `epsilon`, `share`.

    `lots`: in (0, 1), shape (m, half of the releases): the same for every epsilon, and for noise of either sign, which
    is as likely: less hangs on luck. Q^T Q is taken apart once, for all epsilons.
    """
    groups = questions.groups
    values, vectors = np.linalg.eigh(groups.T @ groups)
    noiseless = vectors.T @ (groups.T @ (questions.counts - questions.middle))
    noise = UNIT.quantile(lots)
    unit = vectors.T @ (groups.T @ np.hstack([noise, -noise]))
    found = []
    for epsilon in epsilons:
        spread = scale(len(groups), epsilon)
        ridge = max(8 * spread**2, LEAST)  # the variance of Laplace noise is 2 scale^2
        guessed = vectors @ ((noiseless[:, None] + spread * unit) / (values + ridge)[:, None]) > 0
        found.append((epsilon, (guessed == bits[:, None]).mean()))
    return pd.DataFrame(found, columns=["epsilon", "share"])
