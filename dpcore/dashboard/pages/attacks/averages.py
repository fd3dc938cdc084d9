"""Membership: who took part in a study that published nothing but averages, many of them.

After Homer et al. 2008 ("Resolving individuals contributing trace amounts of DNA to highly complex
mixtures using high-density SNP genotyping microarrays", PLoS Genetics) and Dwork, Smith, Steinke,
Ullman and Vadhan 2015 ("Robust traceability from trace amounts", FOCS). With x a person's row of
zeros and ones, q the study's averages and p those of everybody, the score of a person is the inner
product

    sum over all attributes of  x (q - p) / v,    v = p (1 - p) + 1 / (10 n) + n (variance of the noise),

each deviation divided by how much it varies anyway. (Their x - p in the place of x would shift all
scores alike.) Participants pull the averages toward themselves, so that their scores are higher.

Attributes come in tables, of one column or of a pair of columns; everybody is in one cell of each. With n people, n
public, one changed person moves two averages per table by 1 / n each: with t tables by 2 t / n in all, hence Laplace
noise of scale 2 t / (n epsilon).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.dashboard.count_noise import CountNoise

Cells = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Attributes:
    """Which yes-or-no attributes everybody has: `cells` of shape (people, tables), numbers below `count`."""

    cells: Cells
    count: int

    @property
    def tables(self) -> int:
        """How many tables there are, in each of which everybody is once."""
        return int(self.cells.shape[1])

    def counts(self, people: Cells | slice = slice(None)) -> Floats:
        """How many of these people have each attribute."""
        return np.bincount(self.cells[people].ravel(), minlength=self.count).astype(float)


def attributes(codes: Cells, sizes: Sequence[int], *, degree: int) -> Attributes:
    """Every value of every column (degree 1), or every pair of values of every two columns (degree 2)."""
    cells, start = [], 0
    for chosen in combinations(range(len(sizes)), degree):
        shape = tuple(sizes[column] for column in chosen)
        cells.append(start + np.ravel_multi_index(tuple(codes[:, column] for column in chosen), shape))
        start += int(np.prod(shape))
    return Attributes(np.column_stack(cells), start)


@dataclass(frozen=True, eq=False)
class Study:
    """A study: who is `inside`, as many who are `outside`, and all others, whose averages the attacker knows."""

    of: Attributes
    inside: Cells
    outside: Cells

    @cached_property
    def averages(self) -> Floats:
        """What is published: the share of participants with each attribute."""
        return self.of.counts(self.inside) / len(self.inside)

    @cached_property
    def known(self) -> Floats:
        """The same for everybody who is neither inside nor outside."""
        both = np.concatenate([self.inside, self.outside])
        return (self.of.counts() - self.of.counts(both)) / (len(self.of.cells) - len(both))

    def scores(self, averages: Floats, spread: float = 0.0) -> tuple[Floats, Floats]:
        """The scores of those inside and of those outside, from averages with noise of that scale (0: none)."""
        people, known = len(self.inside), self.known
        varies = known * (1 - known) + 0.1 / people + people * 2 * spread**2
        pull = (averages - known) / varies
        return pull[self.of.cells[self.inside]].sum(axis=1), pull[self.of.cells[self.outside]].sum(axis=1)


def scale(of: Attributes, people: int, epsilon: float) -> float:
    """Of the Laplace noise on every average of a study, if all of them cost epsilon together."""
    return 2 * of.tables / (people * epsilon)


def unit_noise(study: Study, rng: np.random.Generator) -> Floats:
    """Laplace noise of scale 1 for every average."""
    return CountNoise("Laplace", 1.0).quantile(rng.uniform(np.finfo(float).tiny, 1.0, study.of.count))


def random_study(of: Attributes, people: int, rng: np.random.Generator) -> Study:
    """A study of so many people, drawn by lot, and as many who are not in it."""
    drawn = rng.permutation(len(of.cells))[: 2 * people]
    return Study(of, drawn[:people], drawn[people:])


def picked(inside: Floats, outside: Floats) -> float:
    """Shown one who took part and one who did not: how often the higher score is the former's; ties count half.

    Over all pairs. Under epsilon for one changed person it is at most e^epsilon / (1 + e^epsilon) in the long run: if
    the two change places, the table changes by one row.
    """
    higher = np.sign(inside[:, None] - outside[None, :])
    return float((higher.mean() + 1) / 2)


def share_picked(studies: Sequence[Study], epsilons: Iterable[float], rng: np.random.Generator) -> pd.DataFrame:
    """How often the right one is picked from noisy averages, mean over studies: `epsilon`, `share`.

    Noise is drawn once per study, for all epsilons, and taken with either sign, which is as likely: less hangs on luck.
    """
    noise = [unit_noise(study, rng) for study in studies]
    found = []
    for epsilon in epsilons:
        shares = []
        for study, unit in zip(studies, noise, strict=True):
            spread = scale(study.of, len(study.inside), epsilon)
            noisy = (study.averages + sign * spread * unit for sign in (1, -1))
            shares += [picked(*study.scores(published, spread)) for published in noisy]
        found.append((epsilon, np.mean(shares)))
    return pd.DataFrame(found, columns=["epsilon", "share"])


def histogram(inside: Floats, outside: Floats, edges: Floats) -> pd.DataFrame:
    """Scores in deviations of those outside, in bins: `from`, `to`, `inside`, `outside` (shares of each group).

    What is beyond the edges is in the first and in the last bin.
    """
    middle, spread = outside.mean(), max(float(outside.std()), 1e-12)
    parts = {}
    for name, scores in (("inside", inside), ("outside", outside)):
        placed = np.clip((scores - middle) / spread, edges[0], np.nextafter(edges[-1], edges[0]))
        parts[name] = np.histogram(placed, edges)[0] / len(scores)
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], **parts})
