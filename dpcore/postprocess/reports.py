"""Reports of randomized response, the public rules that made them, and unbiased estimates.

A collector has one row of reports per person. Everything here is post-processing of reports.
Estimates are unbiased, so they can be negative, and larger than the number of people. `shares`
makes distributions of them.

Numbers with noise (`reconstruct`; Agrawal and Srikant 2000)
------------------------------------------------------------
A report is w = x + r, where r has a public density. The public range of x is divided into m equal
intervals with midpoints m_p. Reports fall into a grid of the same width that extends beyond the
range. From f_p = 1/m on,
    f_p <- 1/n sum_s N_s f_R(m_s - m_p) f_p / sum_t f_R(m_s - m_t) f_t,
where N_s is the number of reports in cell s. This is expectation maximization for a mixture with
one component per interval, so the likelihood of the reports never falls. It stops where a step is
below 1% of what a chi-squared test at 95% would detect, or after 500 steps.

Extent of the grid: for uniform noise as far as reports can lie, for normal noise `REACH` standard
deviations. For Laplace noise it is the range, because exp(-|w - x| / b) has the same ratio between
any two x for all w beyond the range. Reports further out, and reports that no midpoint reaches,
count in the nearest cell that a midpoint reaches.
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

Item = tuple[str, ...]  # a question: the columns that one report is about
Recodings = Sequence[tuple[str, NDArray[np.integer[Any]]]]  # per column: its rule for `PrivateTable.recode`
RECONSTRUCTIONS = ("clip", "project", "likelihood")
ROUNDS, SETTLED = 2_000, 1e-9
QUOTED = re.compile(r"^[\s']+")
KINDS = ("uniform", "normal", "laplace")
REACH = 4.0  # standard deviations; of 100,000 normal numbers, six lie further out
STEPS, NOTICED = 500, 0.01
TINY = 1e-200  # smaller densities count as 0, because reports are divided by them
MOST_BEYOND = 5_000  # largest number of extra cells on either side
TWO_SIDED_95 = 1.959963984540054  # standard deviations around the mean that hold 95%


@dataclass(frozen=True, eq=False)
class Questionnaire:
    """Questions to each person, and the public channel that randomizes each answer.

    A question is a tuple of columns, whose values are reported as one value. The last column's code
    changes fastest. Each person answers `n_optional` of the `optional` questions, chosen at random.
    Questions of one group in `together` share one uniform draw per person: their channels keep all
    of these answers, or change all.
    """

    channels: Mapping[Item, Channel]
    optional: Sequence[Item] = ()
    n_optional: int = 0
    together: Sequence[Sequence[Item]] = ()

    def __post_init__(self) -> None:
        tied = [question for group in self.together for question in group]
        named = [*self.optional, *tied]
        if not (
            all(self.channels)
            and len({*named}) == len(named)
            and {*named} <= self.channels.keys()
            and bool(self.optional) <= self.n_optional <= len(self.optional)
            and all(isinstance(self.channels[question], KeepOrDraw) for question in tied)
        ):
            text = "A question has no channel, is listed twice, or does not fit `n_optional` or `together`."
            raise ParameterError(text, "List each question once. Only reports that are values can share a draw.")


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomized answers of people, with the public rules that made them.

    `values` has, for each question, the reports of the people who answered it, in their order; the
    first axis is the person. `respondents` has the positions of these people, for questions that
    not everyone answered. Questions of one group in `together` share one uniform draw per person.

    The true answers have the schema `schema`. People derived them from their rows, which have the
    schema `rows`, by the public rules `recodings` (none if the answers are the rows). `target` is
    the class column among the columns of the rows.
    """

    schema: Schema
    people: int
    channels: Mapping[Item, Channel]
    values: Mapping[Item, NDArray[Any]]
    respondents: Mapping[Item, Ints] = field(default_factory=dict)
    together: Sequence[Sequence[Item]] = ()
    rows: Schema | None = None
    recodings: Recodings = ()
    target: str = ""

    @property
    def source(self) -> Schema:
        """Schema of people's rows, which are the rows that a model can classify."""
        return self.rows or self.schema

    def positions(self, question: Item) -> Ints:
        """Return the positions of the people who answered the question, int array."""
        return self.respondents[question] if question in self.respondents else np.arange(self.people)

    def shape(self, question: Item) -> tuple[int, ...]:
        """Return the number of codes of each column of the question."""
        return tuple(self.schema[name].size for name in question)

    def support(self, question: Item, by: Item | None = None) -> tuple[Floats, Floats]:
        """Count the reports that support each value, and the people, in each group of people.

        Returns arrays of shape (groups, values) and (groups,). `by` is a question that all people
        answered: they are grouped by their reports of it. Without it there is one group.
        """
        channel = self.category(question)
        if by is None:
            group, groups = np.zeros(len(self.values[question]), dtype=np.intp), 1
        else:
            self.grouping(by)
            group, groups = self.values[by][self.positions(question)], self.category(by).size
        support = channel.support(self.values[question], group, groups)
        return support, np.bincount(group, minlength=groups).astype(float)

    def counts(self, question: Item, by: Item | None = None) -> Floats:
        """Estimate the number of people with each value, without bias; shape (groups, values).

        Only people who answered the question are counted. With `by`, groups are the true answers to
        that question, which was randomized itself. Let M and M_by be the transition matrices of the
        two questions, and O the table of reports; the estimate is the joint inversion M_by^-1 O
        M^-T.
        """
        support, people = self.support(question, by)
        found = self.category(question).estimate(support, people)
        return found if by is None else self.estimate_by_group(found, by)

    def estimate_by_group(self, sums: Floats, by: Item) -> Floats:
        """Estimate sums by true group from sums by reported group, without bias.

        `by` is the question whose reports are the groups. Both arrays have the groups on the first
        axis.
        """
        return self.grouping(by).estimate(sums.T, sums.sum(axis=0)).T

    def grouping(self, by: Item) -> KeepOrDraw:
        """Return the channel of a question whose reports can group people.

        Raises ParameterError if they cannot. The inverse of the channel's matrix is the estimate of
        counts: (sum_j - base_j all) / gain, where sum_j counts the reports of value j, and `all`
        all reports.
        """
        channel = self.category(by)
        if not isinstance(channel, KeepOrDraw):
            raise ParameterError("People can be grouped only by reports that are values.", "Use ERRPH for groups.")
        if by in self.respondents:
            raise ParameterError("People can be grouped only by a question that all of them answered.", "Ask everyone.")
        return channel

    def category(self, question: Item) -> CategoryChannel:
        """Return the channel of a question about categories; raise ParameterError for a number."""
        channel = self.channels[question]
        if not isinstance(channel, CategoryChannel):
            raise ParameterError(f"{' × '.join(question)} was reported as a number.", "Use mean and variance.")
        return channel

    def labels(self, question: Item) -> list[str]:
        """Return a name for every value of a question; names stay different when a file is read."""
        rows = pd.MultiIndex.from_product([self.schema[name].labels for name in question])
        names = [" / ".join(row) for row in rows.tolist()]
        # two names may be equal, or a name empty, when a file is read
        if len({strip_as_file(name) for name in names} - {""}) < len(names):
            names = [f"{interval}: {name}" for interval, name in enumerate(names, 1)]
        return names

    @property
    def truthful_questions(self) -> list[Item]:
        """Questions whose reports are the true answers."""
        return [question for question, channel in self.channels.items() if channel.truthful]

    def rules(self) -> list[dict[str, Any]]:
        """Return the public rules that randomized the answers: a JSON-ready dict per question."""
        found = []
        for question, channel in self.channels.items():
            rule: dict[str, Any] = {"question": list(question), "mechanism": channel.mechanism}
            rule |= {"epsilon": finite_or_text(float(channel.epsilon)), "people": len(self.values[question])}
            rule |= {"rule": type(channel).__name__, "given": channel.arguments, **channel.rule}
            if isinstance(channel, CategoryChannel):
                values = [list(row) for row in product(*(self.schema[name].labels for name in question))]
                rule |= {"values": values, "gain": channel.gain, "base": channel.base.tolist()}
            elif isinstance(channel, TRR):
                rule |= {"lower": channel.lower, "upper": channel.upper, "scale": channel.scale}
            found.append({key: finite_or_text(value) for key, value in rule.items()})
        return found

    @property
    def names(self) -> list[str]:
        """Name of every question, all different."""
        found: list[str] = []
        times: dict[str, int] = {}
        for question in self.channels:
            text = name = " × ".join(question)
            while strip_as_file(name) in times:
                times[strip_as_file(text)] += 1
                name = f"{times[strip_as_file(text)]}: {text}"
            times[strip_as_file(name)] = 1
            found.append(name)
        return found

    def head(self, people: int) -> Reports:
        """Return the reports of the first `people` people."""
        kept = {question: own[own < people] for question, own in self.respondents.items()}
        values = {key: own[: len(kept.get(key, range(people)))] for key, own in self.values.items()}
        return replace(self, people=min(people, self.people), values=values, respondents=kept)

    def largest_epsilon(self) -> float:
        """Return the largest sum of local epsilons of one person's reports.

        It bounds a person's privacy loss only if no questions share a uniform draw.
        """
        losses = np.zeros(self.people)
        for question, channel in self.channels.items():
            losses[self.positions(question)] += float(channel.epsilon)
        return float(losses.max(initial=0.0))

    def frame(self) -> pd.DataFrame:
        """Return a table of reports: a row per person, empty cells for unanswered questions."""
        found: dict[str, Any] = {}
        for name, (key, channel) in zip(self.names, self.channels.items(), strict=True):
            values = self.values[key]
            cells: Any = channel.texts(values, self.labels(key)) if isinstance(channel, CategoryChannel) else values
            found[name] = pd.Series(cells, index=self.positions(key)).reindex(range(self.people))
        return pd.DataFrame(found)


def strip_as_file(text: str) -> str:
    """Return a text as a file may return it: without surrounding spaces and leading apostrophes."""
    return QUOTED.sub("", text).rstrip()


def shares(
    counts: Floats, how: str = "clip", *, channel: CategoryChannel | None = None, people: Floats | None = None
) -> Floats:
    """Return distributions from unbiased counts, shape (groups, values); each row sums to 1.

    `how` is one of "clip" (negative counts become 0), "project" and "likelihood". "project" takes
    the nearest distribution to each row divided by `people`, by default the sums of the counts,
    which reports that are values preserve. "likelihood" takes the most likely distribution; it
    needs a `channel` whose reports are values.
    """
    if how not in RECONSTRUCTIONS:
        raise ParameterError(f"`how` = {how!r} is not known.", f"Choose one of {', '.join(RECONSTRUCTIONS)}.")
    totals = counts.sum(axis=1, keepdims=True) if people is None else people[:, None]
    if how == "likelihood":
        if not isinstance(channel, KeepOrDraw) or not channel.gain:
            raise ParameterError("'likelihood' needs reports that are values.", "Use 'clip' or 'project'.")
        found = np.stack([most_likely(channel.matrix, channel.matrix @ row) for row in counts])
    elif how == "project":
        found = project_rows(counts / np.maximum(totals, 1.0), np.ones(len(counts)))
    else:
        found = np.maximum(counts, 0.0)
    return rows_to_one(found, 1 / counts.shape[1])


def most_likely(matrix: Floats, reported: Floats, *, by: Floats | None = None) -> Floats:
    """Return the distribution that makes reports most likely, by expectation maximization.

    It starts from the uniform distribution. `matrix` has P(report | value). `reported` has the
    number of times that each report occurred; negative counts are taken as 0. With `by`, the
    transition matrix of groups, `reported` and the result have the groups on the first axis.
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
    """Return a question of its own for every column of `names`.

    A question is a tuple of columns.
    """
    return [(name,) for name in names]


def density(kind: str, scale: float, distance: Floats) -> Floats:
    """Return the density of noise at `distance` from its center, divided by that at the center.

    `kind` is "uniform", "normal" or "laplace". `scale` is half the width of uniform noise, the
    standard deviation of normal noise, or the mean absolute value of Laplace noise. A scale of 0
    means no noise.
    """
    if not scale:
        return np.where(distance == 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # a distance over a tiny scale overflows; its density is 0
        if kind == "uniform":
            return np.where(np.abs(distance) <= scale, 1.0, 0.0)
        ratio = np.abs(distance) / scale
        return np.asarray(np.exp(-0.5 * ratio * ratio) if kind == "normal" else np.exp(-ratio), dtype=float)


def width(kind: str, scale: float) -> float:
    """Return the width of the interval that holds 95% of the noise.

    `kind` and `scale` are those of `density`. Agrawal and Srikant (2000) measure privacy by this
    width.
    """
    if kind == "laplace":
        return 2 * float(np.log(20)) * scale
    return 2 * (0.95 if kind == "uniform" else TWO_SIDED_95) * scale


@dataclass(frozen=True)
class Cells:
    """Equal intervals of a public range, and the grid of cells that noisy reports fall into.

    Intervals are open below and closed above. `kind` and `scale` are those of the noise.
    """

    lower: float
    upper: float
    intervals: int
    kind: str
    scale: float

    @property
    def width(self) -> float:
        """Width of an interval."""
        return (self.upper - self.lower) / self.intervals

    @property
    def extra_cells(self) -> int:
        """Number of cells that the grid extends beyond the range on either side."""
        reach = {"uniform": self.scale, "normal": REACH * self.scale, "laplace": 0.0}[self.kind]
        return min(ceil(min(reach / self.width, MOST_BEYOND)), MOST_BEYOND)

    @property
    def boundaries(self) -> Floats:
        """Boundaries between neighboring intervals, shape (m - 1,) for m intervals."""
        return np.asarray(self.lower + self.width * np.arange(1, self.intervals), dtype=float)

    @property
    def kernel(self) -> Floats:
        """Density of the noise at the distance from interval p to report cell s, at [s, p].

        Densities are divided by the density at 0. Cells at either end that no midpoint reaches are
        left out.
        """
        cells = np.arange(-self.extra_cells, self.intervals + self.extra_cells)
        gaps = np.subtract.outer(cells, np.arange(self.intervals))
        found = density(self.kind, self.scale, gaps * self.width)
        found[found < TINY] = 0.0
        reached = np.flatnonzero(found.any(axis=1))
        return found[reached[0] : reached[-1] + 1]

    def counts(self, reports: Floats, group: Ints, groups: int) -> Floats:
        """Count the reports of each group in each cell of the grid, shape (groups, cells).

        `group` has the group of each report, from 0; `groups` is the number of groups.
        """
        cells = len(self.kernel)
        beyond = (cells - self.intervals) // 2  # equal on both sides: densities are symmetric
        edges = self.lower + self.width * np.arange(1 - beyond, self.intervals + beyond)
        interval = np.searchsorted(edges, reports, side="left")
        found = np.bincount(group * cells + interval, minlength=groups * cells)
        return found.reshape(groups, cells).astype(float)


@dataclass(frozen=True, eq=False)
class Distribution:
    """Reconstructed distributions of groups: `shares`, shape (groups, intervals), rows sum to 1.

    `likelihood`, shape (steps + 1, groups), is each group's log likelihood after every step, up to
    a constant. It never falls.
    """

    shares: Floats
    likelihood: Floats


def reconstruct(counts: Floats, kernel: Floats, *, rounds: int = STEPS, noticed: float = NOTICED) -> Distribution:
    """Reconstruct the distributions of several groups' numbers by expectation maximization.

    `counts` and `kernel` come from `Cells`. At most `rounds` steps are made. A group is done when
    the chi-squared statistic of a step's change is below the share `noticed` of the 95% threshold
    of a test.
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
        after /= after.sum(axis=1, keepdims=True)  # the sum is n up to rounding
        step = np.divide((after - before) ** 2, before, out=np.zeros_like(before), where=before > 0)
        found[active] = after
        expected[active] = after @ kernel.T
        row = likelihood[-1].copy()
        row[active] = log_likelihood(seen, expected[active])
        likelihood.append(row)
        active = active[people[active] * step.sum(axis=1) >= enough]
    return Distribution(found, np.stack(likelihood))


def log_likelihood(counts: Floats, expected: Floats) -> Floats:
    """Return the log likelihood of each group's reports up to a constant, shape (groups,).

    `counts` has the reports in each cell, `expected` the probability of each cell.
    """
    logs = np.log(expected, out=np.zeros_like(expected), where=counts > 0)
    return np.asarray((counts * logs).sum(axis=1), dtype=float)


def threshold(freedom: int) -> float:
    """Return the 95% quantile of a chi-squared distribution with `freedom` degrees of freedom."""
    from scipy.special import chdtri  # slow, and needed nowhere else here

    return float(chdtri(freedom, 0.05)) if freedom else inf


def assign_intervals(reports: Floats, shares: Floats) -> Ints:
    """Assign an interval to every report in increasing order, shape (n,).

    `shares` has the share f_i of people in interval i. The lowest n f_1 reports get the first
    interval, the next n f_2 the second, and so on.
    """
    ends = np.rint(np.cumsum(shares) * len(reports))
    ends[-1] = len(reports)
    found = np.empty(len(reports), dtype=np.intp)
    found[np.argsort(reports, kind="stable")] = np.searchsorted(ends, np.arange(len(reports)), side="right")
    return found
