r"""What a collector of randomized answers has: reports, one row per person, the public rules that made them, estimates.

Everything here is post-processing of reports. Estimates are unbiased, and so they can be negative,
and more than there are people; `shares` makes distributions of them.

Numbers with noise (`reconstruct`; Agrawal and Srikant 2000)
------------------------------------------------------------
A report is w = x + r, with r of a public density. The public range of x falls into m equal intervals with midpoints
m_p; reports fall into a grid of the same width that goes on beyond the range. From f_p = 1/m on,
    f_p <- 1/n sum_s N_s f_R(m_s - m_p) f_p / sum_t f_R(m_s - m_t) f_t,
N_s the number of reports in cell s. This is expectation maximization for a mixture whose parts are the intervals, so
that the likelihood of the reports never falls. It ends where a step is less than 1% of what a chi-squared test at 95%
would notice, or after 500 of them.

How far the grid goes: for uniform noise as far as reports can lie, for normal noise `REACH`
standard deviations, and for Laplace noise no further than the range, because exp(-|w - x| / b) has
the same ratio between any two x for all w beyond it. Reports further out, and those that no
midpoint reaches, count in the nearest cell that one does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, inf
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import TRR, CategoryChannel, Channel, KeepOrDraw
from dpcore.postprocess.simplex import project_rows, rows_to_one
from dpcore.text import finite_or_text

Item = tuple[str, ...]  # the columns that one report tells
Recoded = Sequence[tuple[str, NDArray[np.integer[Any]]]]  # as for `PrivateTable.recode`
RECONSTRUCTIONS = ("clip", "project", "likelihood")
ROUNDS, SETTLED = 2_000, 1e-9
QUOTED = re.compile(r"^[\s']+")
KINDS = ("uniform", "normal", "laplace")
REACH = 4.0  # of 100,000 normal numbers, six lie further out
STEPS, NOTICED = 500, 0.01
TINY = 1e-200  # a density that a report can be divided by
MOST_BEYOND = 5_000  # cells on either side
TWO_SIDED_95 = 1.959963984540054  # 95% of a normal distribution lie within


@dataclass(frozen=True, eq=False)
class Questionnaire:
    """What each person is asked, and by which public rule they answer.

    A family of several columns is reported as one value, with the last column's code changing
    fastest. Of the `optional` families each person answers so many as are `asked`, chosen by lot.
    Families `together` share one lot per person: the channels of such a group keep all of the
    answers, or change all.
    """

    channels: Mapping[Item, Channel]
    optional: Sequence[Item] = ()
    asked: int = 0
    together: Sequence[Sequence[Item]] = ()

    def __post_init__(self) -> None:
        tied = [family for group in self.together for family in group]
        named = [*self.optional, *tied]
        if not (
            all(self.channels)
            and len({*named}) == len(named)
            and {*named} <= self.channels.keys()
            and bool(self.optional) <= self.asked <= len(self.optional)
            and all(isinstance(self.channels[family], KeepOrDraw) for family in tied)
        ):
            text = "These questions do not fit each other, or share more than one random draw."
            raise ParameterError(text, "Ask each once; only reports that are values share a draw.")


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomized answers.

    `values` are the reports of the people who were asked, in their order, the first axis being the
    person; `asked` has the places of those people, for families that not everybody was asked for.
    Families `together` share one lot per person. True answers have the schema `schema`; people made
    them of their rows, with the schema `rows`, by the public rules `recoded` (none if they are the
    rows as they are). `target` is the class among the rows' columns.
    """

    schema: Schema
    people: int
    channels: Mapping[Item, Channel]
    values: Mapping[Item, NDArray[Any]]
    asked: Mapping[Item, Ints] = field(default_factory=dict)
    together: Sequence[Sequence[Item]] = ()
    rows: Schema | None = None
    recoded: Recoded = ()
    target: str = ""

    @property
    def source(self) -> Schema:
        """The schema of people's rows, which is that of what can be classified."""
        return self.rows or self.schema

    def who(self, family: Item) -> Ints:
        """The places of the people who were asked for it."""
        return self.asked[family] if family in self.asked else np.arange(self.people)

    def shape(self, family: Item) -> tuple[int, ...]:
        """The columns' numbers of codes."""
        return tuple(self.schema[name].size for name in family)

    def support(self, family: Item, by: Item | None = None) -> tuple[Floats, Floats]:
        """How many reports support each value, shape (groups, values), and of how many people, shape (groups,).

        `by` groups people by their reports of another family, to which all of them must have been
        asked.
        """
        channel = self.category(family)
        if by is None:
            group, groups = np.zeros(len(self.values[family]), dtype=np.intp), 1
        else:
            self.grouping(by)
            group, groups = self.values[by][self.who(family)], self.category(by).size
        support = channel.support(self.values[family], group, groups)
        return support, np.bincount(group, minlength=groups).astype(float)

    def counts(self, family: Item, by: Item | None = None) -> Floats:
        """Unbiased numbers of people with each value among those asked, shape (groups, values).

        By a family that was randomized itself, this is the joint inversion M_by^-1 O M^-T.
        """
        support, people = self.support(family, by)
        found = self.category(family).estimate(support, people)
        return found if by is None else self.regrouped(found, by)

    def regrouped(self, sums: Floats, by: Item) -> Floats:
        """Unbiased sums by true group, of sums by reported group; both have the groups first."""
        return self.grouping(by).estimate(sums.T, sums.sum(axis=0)).T

    def grouping(self, by: Item) -> KeepOrDraw:
        """The channel of a family that can group people. Its inverse is that of counts: (sum_j - base_j all) / gain."""
        channel = self.category(by)
        if not isinstance(channel, KeepOrDraw):
            raise ParameterError("People can be grouped by reports that are values only.", "Report it by ERRPH.")
        if by in self.asked:
            raise ParameterError("People can be grouped by what all of them were asked only.", "Ask everybody.")
        return channel

    def category(self, family: Item) -> CategoryChannel:
        """The channel of a family of categories."""
        channel = self.channels[family]
        if not isinstance(channel, CategoryChannel):
            raise ParameterError(f"{' × '.join(family)} was reported as a number.", "Ask for its moments.")
        return channel

    def labels(self, family: Item) -> list[str]:
        """A name for every value of a family."""
        rows = pd.MultiIndex.from_product([self.schema[name].labels for name in family])
        names = [" / ".join(row) for row in rows.tolist()]
        # some read alike in a file, or as nothing
        if len({bare(name) for name in names} - {""}) < len(names):
            names = [f"{interval}: {name}" for interval, name in enumerate(names, 1)]
        return names

    @property
    def clear(self) -> list[Item]:
        """What was reported as it is."""
        return [family for family, channel in self.channels.items() if channel.truthful]

    def rules(self) -> list[dict[str, Any]]:
        """The public rules by which answers were randomized, as JSON-ready values."""
        found = []
        for family, channel in self.channels.items():
            rule: dict[str, Any] = {"question": list(family), "mechanism": channel.mechanism}
            rule |= {"epsilon": finite_or_text(float(channel.epsilon)), "people": len(self.values[family])}
            rule |= {"rule": type(channel).__name__, "given": channel.given, **channel.rule}
            if isinstance(channel, CategoryChannel):
                values = [list(row) for row in product(*(self.schema[name].labels for name in family))]
                rule |= {"values": values, "gain": channel.gain, "base": channel.base.tolist()}
            elif isinstance(channel, TRR):
                rule |= {"lower": channel.lower, "upper": channel.upper, "scale": channel.scale}
            found.append({key: finite_or_text(value) for key, value in rule.items()})
        return found

    @property
    def names(self) -> list[str]:
        """A name for every question, no two of them alike."""
        found: list[str] = []
        times: dict[str, int] = {}
        for family in self.channels:
            text = name = " × ".join(family)
            while bare(name) in times:
                times[bare(text)] += 1
                name = f"{times[bare(text)]}: {text}"
            times[bare(name)] = 1
            found.append(name)
        return found

    def head(self, people: int) -> Reports:
        """The reports of the first people."""
        who_answers = {family: who[who < people] for family, who in self.asked.items()}
        values = {family: own[: len(who_answers.get(family, range(people)))] for family, own in self.values.items()}
        return replace(self, people=min(people, self.people), values=values, asked=who_answers)

    def price(self) -> float:
        """The largest sum of the local epsilons of one person's reports, without those that share a lot."""
        losses = np.zeros(self.people)
        for family, channel in self.channels.items():
            losses[self.who(family)] += float(channel.epsilon)
        return float(losses.max(initial=0.0))

    def frame(self) -> pd.DataFrame:
        """The table of reports, one row per person, as it may be handed on; empty cells for what was not asked."""
        found: dict[str, Any] = {}
        for name, (family, channel) in zip(self.names, self.channels.items(), strict=True):
            values = self.values[family]
            cells: Any = channel.texts(values, self.labels(family)) if isinstance(channel, CategoryChannel) else values
            found[name] = pd.Series(cells, index=self.who(family)).reindex(range(self.people))
        return pd.DataFrame(found)


def bare(text: str) -> str:
    """A text as a file may give it back: without the spaces around it, and without apostrophes at its start."""
    return QUOTED.sub("", text).rstrip()


def shares(
    counts: Floats, how: str = "clip", *, channel: CategoryChannel | None = None, people: Floats | None = None
) -> Floats:
    """Distributions from unbiased counts of shape (groups, values): rows that sum to 1.

    Negative counts become 0 ("clip"); or each row goes to the nearest distribution ("project"),
    given how many people there are, by default the sums of the counts, which reports that are
    values keep; or to the most likely one ("likelihood"), given a channel whose reports are values.
    """
    if how not in RECONSTRUCTIONS:
        raise ParameterError("This reconstruction is not known.", f"Choose one of {', '.join(RECONSTRUCTIONS)}.")
    totals = counts.sum(axis=1, keepdims=True) if people is None else people[:, None]
    if how == "likelihood":
        if not isinstance(channel, KeepOrDraw) or not channel.gain:
            raise ParameterError("Likelihood needs reports that are values.", "Use clip or project.")
        found = np.stack([most_likely(channel.matrix, channel.matrix @ row) for row in counts])
    elif how == "project":
        found = project_rows(counts / np.maximum(totals, 1.0), np.ones(len(counts)))
    else:
        found = np.maximum(counts, 0.0)
    return rows_to_one(found, 1 / counts.shape[1])


def most_likely(matrix: Floats, reported: Floats, *, by: Floats | None = None) -> Floats:
    """The distribution that makes reports most likely, by expectation maximization from the uniform one.

    `matrix` has P(report | value); `reported` how often each was reported, negative counts taken
    for 0. With `by`, the channel of groups, both counts and what is found have the groups first.
    """
    seen = np.maximum(reported, 0.0)
    if not seen.any():
        seen = np.ones_like(seen)
    seen = np.atleast_2d(seen / seen.sum())
    groups = np.eye(1) if by is None else by
    found = np.full((groups.shape[1], matrix.shape[1]), 1 / (groups.shape[1] * matrix.shape[1]))
    for _ in range(ROUNDS):
        expected = groups @ found @ matrix.T
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        better = found * (groups.T @ ratio @ matrix)
        change, found = float(np.abs(better - found).sum()), better
        if change < SETTLED:
            break
    return found[0] if by is None else found


def families(names: Sequence[str]) -> list[Item]:
    """A family of its own for every column."""
    return [(name,) for name in names]


def density(kind: str, scale: float, distance: Floats) -> Floats:
    """The noise's density at some distances, over that at 0.

    `scale` is half the width of uniform noise, the standard deviation of normal, the mean of |r| of
    Laplace noise; 0 is no noise.
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
        gaps = np.subtract.outer(np.arange(-self.beyond, self.intervals + self.beyond), np.arange(self.intervals))
        found = density(self.kind, self.scale, gaps * self.width)
        found[found < TINY] = 0.0
        reached = np.flatnonzero(found.any(axis=1))
        return found[reached[0] : reached[-1] + 1]

    def counts(self, reports: Floats, group: Ints, groups: int) -> Floats:
        """How many reports of each group lie in each cell of the grid, shape (groups, cells)."""
        cells = len(self.kernel)
        beyond = (cells - self.intervals) // 2  # as many on either side: densities are symmetric
        edges = self.lower + self.width * np.arange(1 - beyond, self.intervals + beyond)
        interval = np.searchsorted(edges, reports, side="left")
        found = np.bincount(group * cells + interval, minlength=groups * cells)
        return found.reshape(groups, cells).astype(float)


@dataclass(frozen=True, eq=False)
class Distribution:
    """What was reconstructed: `shares`, shape (groups, intervals), rows that sum to 1.

    `likelihood`, shape (steps + 1, groups), is the logarithm of each group's, up to a constant; it
    never falls.
    """

    shares: Floats
    likelihood: Floats


def reconstruct(counts: Floats, kernel: Floats, *, rounds: int = STEPS, noticed: float = NOTICED) -> Distribution:
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
    """95% of a chi-squared distribution lie below."""
    from scipy.special import chdtri  # slow, and needed nowhere else here

    return float(chdtri(freedom, 0.05)) if freedom else inf


def assign_intervals(reports: Floats, shares: Floats) -> Ints:
    """An interval for every report, shape (n,): the lowest n f_1 go to the first, the next n f_2 to the next."""
    ends = np.rint(np.cumsum(shares) * len(reports))
    ends[-1] = len(reports)
    found = np.empty(len(reports), dtype=np.intp)
    found[np.argsort(reports, kind="stable")] = np.searchsorted(ends, np.arange(len(reports)), side="right")
    return found
