r"""The distribution of numbers from reports of them with noise (Agrawal and Srikant 2000). NumPy, and no rows.

A report is w = x + r, with r of a public density. The public range of x falls into m equal intervals with midpoints
m_p; reports fall into a grid of the same width that goes on beyond the range. From f_p = 1/m on,
    f_p <- 1/n sum_s N_s f_R(m_s - m_p) f_p / sum_t f_R(m_s - m_t) f_t,
N_s the number of reports in cell s. This is expectation maximization for a mixture whose parts are the intervals, so
that the likelihood of the reports never falls. It ends where a step is less than 1% of what a chi-squared test at 95%
would notice, or after 500 of them.

How far the grid goes: for uniform noise as far as reports can lie, for normal noise `REACH` standard deviations, and
for Laplace noise no further than the range, because exp(-|w - x| / b) has the same ratio between any two x for all w
beyond it. Reports further out, and those that no midpoint reaches, count in the nearest cell that one does.
"""

from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from dpcore.arguments import Floats, Ints

KINDS = ("uniform", "normal", "laplace")
REACH = 4.0  # of 100,000 normal numbers, six lie further out
ROUNDS, NOTICED = 500, 0.01
TINY = 1e-200  # a density that a report can be divided by
MOST_BEYOND = 5_000  # cells on either side
NORMAL_95 = 1.6448536269514722  # 95% of a normal distribution lie below
TWO_SIDED_95 = 1.959963984540054  # and 95% within


def density(kind: str, scale: float, distance: Floats) -> Floats:
    """The noise's density at some distances, over that at 0.

    `scale` is half the width of uniform noise, the standard deviation of normal, the mean of |r| of Laplace noise; 0 is
    no noise.
    """
    if not scale:
        return np.where(distance == 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # of a distance over a tiny scale; what comes of it is 0
        if kind == "uniform":
            return np.where(np.abs(distance) <= scale, 1.0, 0.0)
        ratio = np.abs(distance) / scale
        return np.asarray(np.exp(-0.5 * ratio * ratio) if kind == "normal" else np.exp(-ratio), dtype=float)


def width(kind: str, scale: float) -> float:
    """How wide the interval is that holds 95% of the noise: what the paper measures privacy by."""
    if kind == "laplace":
        return 2 * float(np.log(20)) * scale
    return 2 * (0.95 if kind == "uniform" else TWO_SIDED_95) * scale


@dataclass(frozen=True)
class Cells:
    """Equal intervals of a public range, open below and closed above, and the grid of reports with some noise."""

    lower: float
    upper: float
    intervals: int
    kind: str
    scale: float

    @property
    def width(self) -> float:
        """Of an interval."""
        return (self.upper - self.lower) / self.intervals

    @property
    def beyond(self) -> int:
        """How many cells the grid goes on for on either side."""
        reach = {"uniform": self.scale, "normal": REACH * self.scale, "laplace": 0.0}[self.kind]
        return min(ceil(min(reach / self.width, MOST_BEYOND)), MOST_BEYOND)

    @property
    def boundaries(self) -> Floats:
        """Between intervals, shape (m - 1,)."""
        return np.asarray(self.lower + self.width * np.arange(1, self.intervals), dtype=float)

    @property
    def kernel(self) -> Floats:
        """f_R(m_s - m_p) at [s, p], over f_R(0); cells that no midpoint reaches are left out at either end."""
        apart = np.subtract.outer(np.arange(-self.beyond, self.intervals + self.beyond), np.arange(self.intervals))
        found = density(self.kind, self.scale, apart * self.width)
        found[found < TINY] = 0.0
        reached = np.flatnonzero(found.any(axis=1))
        return found[reached[0] : reached[-1] + 1]

    def counts(self, reports: Floats, group: Ints, groups: int) -> Floats:
        """How many reports of each group lie in each cell of the grid, shape (groups, cells)."""
        cells = len(self.kernel)
        beyond = (cells - self.intervals) // 2  # as many on either side: densities are symmetric
        edges = self.lower + self.width * np.arange(1 - beyond, self.intervals + beyond)
        place = np.searchsorted(edges, reports, side="left")
        found = np.bincount(group * cells + place, minlength=groups * cells)
        return found.reshape(groups, cells).astype(float)


@dataclass(frozen=True, eq=False)
class Distribution:
    """What was reconstructed: `shares`, shape (groups, intervals), rows that sum to 1.

    `likelihood`, shape (steps + 1, groups), is the logarithm of each group's, up to a constant; it never falls.
    """

    shares: Floats
    likelihood: Floats


def reconstruct(counts: Floats, kernel: Floats, *, rounds: int = ROUNDS, noticed: float = NOTICED) -> Distribution:
    """The distributions of several groups' numbers, from `Cells.counts` and `Cells.kernel`.

    A group is done when a step's chi-squared is below the share `noticed` of its threshold.
    """
    groups, intervals = counts.shape[0], kernel.shape[1]
    found = np.full((groups, intervals), 1 / intervals)
    expected = found @ kernel.T
    people = counts.sum(axis=1)
    enough = noticed * threshold(intervals - 1)
    likelihood = [log_likelihood(counts, expected)]
    active = np.flatnonzero(people > 0)
    for _ in range(rounds):
        if not len(active):
            break
        before, seen = found[active], counts[active]
        ratio = np.divide(seen, expected[active], out=np.zeros_like(seen), where=seen > 0)
        after = before * (ratio @ kernel)
        after /= after.sum(axis=1, keepdims=True)  # which is n, but for rounding
        step = np.divide((after - before) ** 2, before, out=np.zeros_like(before), where=before > 0)
        found[active] = after
        expected[active] = after @ kernel.T
        row = likelihood[-1].copy()
        row[active] = log_likelihood(seen, expected[active])
        likelihood.append(row)
        active = active[people[active] * step.sum(axis=1) >= enough]
    return Distribution(found, np.stack(likelihood))


def log_likelihood(counts: Floats, expected: Floats) -> Floats:
    """Of each group's reports, shape (groups,)."""
    logs = np.log(expected, out=np.zeros_like(expected), where=counts > 0)
    return np.asarray((counts * logs).sum(axis=1), dtype=float)


def threshold(freedom: int) -> float:
    """95% of a chi-squared distribution lie below (Wilson and Hilferty 1931, out by 3% at most)."""
    if freedom < 1:
        return inf
    spread = 2 / (9 * freedom)
    return float(freedom * (1 - spread + NORMAL_95 * np.sqrt(spread)) ** 3)


def assigned(reports: Floats, shares: Floats) -> Ints:
    """An interval for every report, shape (n,): the lowest n f_1 go to the first, the next n f_2 to the next."""
    ends = np.rint(np.cumsum(shares) * len(reports))
    ends[-1] = len(reports)
    found = np.empty(len(reports), dtype=np.intp)
    found[np.argsort(reports, kind="stable")] = np.searchsorted(ends, np.arange(len(reports)), side="right")
    return found
