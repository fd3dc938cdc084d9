"""Membership: who took part in a study that published nothing but averages, many of them.

After Homer et al. 2008 ("Resolving individuals contributing trace amounts of DNA to highly complex
mixtures using high-density SNP genotyping microarrays", PLoS Genetics) and Dwork, Smith, Steinke,
Ullman and Vadhan 2015 ("Robust traceability from trace amounts", FOCS). With x a person's row of
zeros and ones, q the study's averages and p those of everybody, the score of a person is the inner
product

    sum over all attributes of  x (q - p) / v,    v = p (1 - p) + 1 / (10 n) + n (variance of the noise),

each deviation divided by how much it varies anyway. (Their x - p in the place of x would shift all
scores alike.) Participants pull the averages toward themselves, so that their scores are higher.

Attributes come in tables, of one column or of a pair of columns; everybody is in one cell of each.
With n people, n public, one changed person moves two averages per table by 1 / n each: with t
tables by 2 t / n in all, hence Laplace noise of scale 2 t / (n epsilon).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from dpcore.arguments import Floats, Ints

AnswerCodes = NDArray[np.int64]


def attributes(codes: AnswerCodes, sizes: Sequence[int], *, degree: int) -> Any:
    """Who has which value of every column, or pair of values of every two columns (degree 2).

    A sparse matrix of 0 and 1, a row for everybody and a column for each attribute.
    """
    tables = [list(chosen) for chosen in combinations(range(len(sizes)), degree)]
    limits = np.array(sizes)
    cells = [np.ravel_multi_index(codes[:, table].T, limits[table]) for table in tables]
    every = [np.arange(limits[table].prod()) for table in tables]
    return OneHotEncoder(categories=every).fit_transform(np.column_stack(cells))


def tables(of: Any) -> int:
    """How many tables attributes come in: everybody has one attribute of each."""
    return int(of[0].sum())


def scale(tables: int, people: int, epsilon: float) -> float:
    """Of the Laplace noise on every average of a study, if all of them cost epsilon together."""
    return 2 * tables / (people * epsilon)


@dataclass(frozen=True, eq=False)
class MembershipStudy:
    """A study of people by their `attributes`: who takes part, and as many who do not."""

    of: Any
    inside: Ints
    outside: Ints

    @cached_property
    def averages(self) -> Floats:
        """What is published: the share of participants with each attribute."""
        return np.asarray(self.of[self.inside].mean(axis=0)).ravel()

    @cached_property
    def public(self) -> Floats:
        """The same for everybody else, which the attacker knows."""
        both = self.of[np.concatenate([self.inside, self.outside])]
        others = self.of.shape[0] - both.shape[0]
        return np.asarray((self.of.sum(axis=0) - both.sum(axis=0)) / others).ravel()

    def scores(self, averages: Floats, spread: float = 0.0) -> tuple[Floats, Floats]:
        """The scores of those inside and outside, from averages with noise of that scale."""
        people, public = len(self.inside), self.public
        pull = (averages - public) / (public * (1 - public) + 0.1 / people + people * 2 * spread**2)
        return self.of[self.inside] @ pull, self.of[self.outside] @ pull


def random_study(of: Any, people: int, rng: Generator) -> MembershipStudy:
    """A study of so many people, chosen at random, and as many who are not in it."""
    return MembershipStudy(of, *rng.permutation(of.shape[0])[: 2 * people].reshape(2, people))


def right_share(inside: Floats, outside: Floats) -> float:
    """How often a participant has a higher score than someone who took no part; ties count half.

    Over all pairs. Under epsilon for one changed person it is at most e^epsilon / (1 + e^epsilon)
    in the long run: if the two change places, the table changes by one row.
    """
    return float((np.sign(inside[:, None] - outside[None, :]).mean() + 1) / 2)


def right_shares(studies: list[MembershipStudy], epsilons: Iterable[float], rng: Generator) -> pd.DataFrame:
    """How often the right one is picked, mean over studies: `epsilon` (infinite without noise), `share`.

    Noise is drawn once per study, for all epsilons, and taken with either sign, which is as likely:
    less hangs on chance.
    """
    found = []
    for study in studies:
        unit = rng.laplace(size=study.of.shape[1])
        for epsilon in epsilons:
            spread = scale(tables(study.of), len(study.inside), epsilon)
            noisy = (study.averages + sign * spread * unit for sign in (1, -1))
            found += [(epsilon, right_share(*study.scores(averages, spread))) for averages in noisy]
    frame = pd.DataFrame(found, columns=["epsilon", "share"])
    return frame.groupby("epsilon", as_index=False).mean()


def histogram(inside: Floats, outside: Floats, edges: Floats) -> pd.DataFrame:
    """Scores in deviations of those outside, in bins: `from`, `to`, and shares `inside`, `outside`.

    What is beyond the edges is in the first and in the last bin.
    """
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:]})
    inner, spread = [-np.inf, *edges[1:-1], np.inf], max(float(outside.std()), 1e-12)
    for name, scores in (("inside", inside), ("outside", outside)):
        frame[name] = np.histogram((scores - outside.mean()) / spread, inner)[0] / len(scores)
    return frame
