"""Membership inference: an attacker guesses who took part in a study that published averages only.

After Homer et al. 2008 ("Resolving individuals contributing trace amounts of DNA to highly complex
mixtures using high-density SNP genotyping microarrays", PLoS Genetics) and Dwork, Smith, Steinke,
Ullman and Vadhan 2015 ("Robust traceability from trace amounts", FOCS). Let x be a person's row of
zeros and ones, q the study's averages and p the averages of the population. The score of a person
is the inner product

    sum over all attributes of  x (q - p) / v,
    v = p (1 - p) + 1 / (10 n) + n (variance of the noise).

Each deviation q - p is divided by v, which grows with its variance. (Taking x - p instead of x, as
they do, would shift all scores alike.) Participants pull the averages toward their own values, so
their scores are higher.

An attribute is a value of one column, or a pair of values of two columns. The attributes of one
column, or of one pair of columns, form a marginal. Each person is in one cell of each marginal.
The number n of people is public. Replacing one person changes two averages of a marginal by 1 / n
each. With t marginals that is 2 t / n in all, so the Laplace noise has scale 2 t / (n epsilon).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from sklearn.preprocessing import OneHotEncoder

from dpcore.arguments import Floats, Ints


def indicator_matrix(codes: Ints, sizes: Sequence[int], *, degree: int) -> Any:
    """Return which person has which value, or pair of values, as a sparse matrix of 0 and 1.

    Parameters
    ----------
    codes : array of shape (people, columns)
        Codes of the rows.
    sizes : sequence of int
        Number of values of each column.
    degree : int
        1 for single values; 2 for pairs of values, one from each of two columns.

    Returns
    -------
    sparse matrix of shape (people, attributes)
    """
    marginals = [list(some) for some in combinations(range(len(sizes)), degree)]
    limits = np.array(sizes)
    cells = [np.ravel_multi_index(codes[:, chosen].T, limits[chosen]) for chosen in marginals]
    every = [np.arange(limits[chosen].prod()) for chosen in marginals]
    return OneHotEncoder(categories=every).fit_transform(np.column_stack(cells))


def count_marginals(indicators: Any) -> int:
    """Return the number of marginals: the number of ones in each row of the indicator matrix."""
    return int(indicators[0].sum())


def noise_scale(marginals: int, people: int, epsilon: float) -> float:
    """Return the scale of the Laplace noise on each average if all together cost `epsilon`.

    `marginals` is the number of published marginals, `people` the number of participants. Replacing
    a participant changes two averages of each marginal by 1 / people.
    """
    return 2 * marginals / (people * epsilon)


@dataclass(frozen=True, eq=False)
class MembershipStudy:
    """A study that publishes averages over its participants.

    `indicators` is the matrix of `indicator_matrix` for the whole population. `participants` are
    the row indices of those in the study; `outsiders` are those of as many other people.
    """

    indicators: Any
    participants: Ints
    outsiders: Ints

    @cached_property
    def averages(self) -> Floats:
        """Noiseless published averages: share of participants with each value or pair of values."""
        return np.asarray(self.indicators[self.participants].mean(axis=0)).ravel()

    @cached_property
    def population(self) -> Floats:
        """Share of each value or pair in the rest of the population, which the attacker knows."""
        both = self.indicators[np.concatenate([self.participants, self.outsiders])]
        others = self.indicators.shape[0] - both.shape[0]
        return np.asarray((self.indicators.sum(axis=0) - both.sum(axis=0)) / others).ravel()

    def scores(self, averages: Floats, spread: float = 0.0) -> tuple[Floats, Floats]:
        """Return the attacker's scores of the participants and of the outsiders, from `averages`.

        A score is high if a person has the values that are more frequent in the study than in the
        population. `averages` are the published ones; `spread` is the scale of the Laplace noise on
        them, 0 without noise.
        """
        people, public = len(self.participants), self.population
        pull = (averages - public) / (public * (1 - public) + 0.1 / people + people * 2 * spread**2)
        return self.indicators[self.participants] @ pull, self.indicators[self.outsiders] @ pull


def random_study(indicators: Any, people: int, rng: Generator) -> MembershipStudy:
    """Return a study of `people` participants and as many outsiders, all chosen at random."""
    return MembershipStudy(indicators, *rng.permutation(indicators.shape[0])[: 2 * people].reshape(2, people))


def share_right(members: Floats, others: Floats) -> float:
    """Return how often a participant's score exceeds an outsider's, over all pairs.

    `members` and `others` are the scores of both groups; ties count half. If replacing one person
    costs epsilon, the expected share is at most e^epsilon / (1 + e^epsilon): exchanging the two
    people of a pair replaces one row of the study.
    """
    return float((np.sign(members[:, None] - others[None, :]).mean() + 1) / 2)


def shares_right(studies: list[MembershipStudy], epsilons: Iterable[float], rng: Generator) -> pd.DataFrame:
    """Return how often the attack picks the participant: columns `epsilon` and `share`.

    `share` is the mean over `studies` of `share_right`; an infinite epsilon means no noise. Noise
    is drawn once per study and reused for all `epsilons`. The noise is applied with either sign,
    which is equally likely and makes the result depend less on chance.
    """
    found = []
    for study in studies:
        unit = rng.laplace(size=study.indicators.shape[1])
        for epsilon in epsilons:
            scale = noise_scale(count_marginals(study.indicators), len(study.participants), epsilon)
            noisy = (study.averages + sign * scale * unit for sign in (1, -1))
            found += [(epsilon, share_right(*study.scores(averages, scale))) for averages in noisy]
    frame = pd.DataFrame(found, columns=["epsilon", "share"])
    return frame.groupby("epsilon", as_index=False).mean()


def score_histogram(inside: Floats, outside: Floats, edges: Floats) -> pd.DataFrame:
    """Return the histogram of both groups' scores: columns `from`, `to`, `inside` and `outside`.

    `inside` are the scores of participants, `outside` those of the others. Scores are measured from
    the mean of `outside`, in standard deviations of `outside`. Scores beyond `edges`, the bounds of
    the bins, are counted in the first or the last bin.
    """
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:]})
    inner, spread = [-np.inf, *edges[1:-1], np.inf], max(float(outside.std()), 1e-12)
    for name, scores in (("inside", inside), ("outside", outside)):
        frame[name] = np.histogram((scores - outside.mean()) / spread, inner)[0] / len(scores)
    return frame
