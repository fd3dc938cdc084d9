"""What a collector of randomized answers has: reports, one row per person, and the public rules that made them.

Everything here is post-processing of reports. Estimates are unbiased, and so they can be negative, and more than there
are people; `shares` makes distributions of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import TRR, CategoryChannel, Channel, KeepOrDraw
from dpcore.postprocess.simplex import project_rows
from dpcore.text import finite_or_text

Family = tuple[str, ...]
Recoded = Sequence[tuple[str, NDArray[np.integer[Any]]]]  # as for `PrivateTable.recode`
RECONSTRUCTIONS = ("clip", "project", "likelihood")
ROUNDS, SETTLED = 2_000, 1e-9
QUOTED = re.compile(r"^[\s']+")


@dataclass(frozen=True, eq=False)
class Questionnaire:
    """What each person is asked, and by which public rule they answer.

    A family of several columns is reported as one value, with the last column's code changing fastest. Of the
    `optional` families each person answers so many as are `asked`, chosen by lot. Families `together` share one lot
    per person: the channels of such a group keep all of the answers, or change all.
    """

    channels: Mapping[Family, Channel]
    optional: Sequence[Family] = ()
    asked: int = 0
    together: Sequence[Sequence[Family]] = ()

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
            told = "These questions do not fit each other, or share more than one random draw."
            raise ParameterError(told, "Ask each once; only reports that are values share a draw.")


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomized answers.

    `values` are the reports of the people who were asked, in their order, the first axis being the person; `asked` has
    the places of those people, for families that not everybody was asked for. Families `together` share one lot per
    person. True answers have the schema `schema`; people made them of their rows, with the schema `rows`, by the public
    rules `recoded` (none if they are the rows as they are). `target` is the class among the rows' columns.
    """

    schema: Schema
    people: int
    channels: Mapping[Family, Channel]
    values: Mapping[Family, NDArray[Any]]
    asked: Mapping[Family, Ints] = field(default_factory=dict)
    together: Sequence[Sequence[Family]] = ()
    rows: Schema | None = None
    recoded: Recoded = ()
    target: str = ""

    @property
    def source(self) -> Schema:
        """The schema of people's rows, which is that of what can be classified."""
        return self.rows or self.schema

    def who(self, family: Family) -> Ints:
        """The places of the people who were asked for it."""
        return self.asked[family] if family in self.asked else np.arange(self.people)

    def shape(self, family: Family) -> tuple[int, ...]:
        """The columns' numbers of codes."""
        return tuple(self.schema[name].size for name in family)

    def support(self, family: Family, by: Family | None = None) -> tuple[Floats, Floats]:
        """How many reports support each value, shape (groups, values), and of how many people, shape (groups,).

        `by` groups people by their reports of another family, to which all of them must have been asked.
        """
        channel = self.category(family)
        if by is None:
            group, groups = np.zeros(len(self.values[family]), dtype=np.intp), 1
        else:
            self.grouping(by)
            group, groups = self.values[by][self.who(family)], self.category(by).size
        support = channel.support(self.values[family], group, groups)
        return support, np.bincount(group, minlength=groups).astype(float)

    def counts(self, family: Family, by: Family | None = None) -> Floats:
        """Unbiased numbers of people with each value among those asked, shape (groups, values).

        By a family that was randomized itself, this is the joint inversion M_by^-1 O M^-T.
        """
        support, people = self.support(family, by)
        found = self.category(family).estimate(support, people)
        return found if by is None else self.regrouped(found, by)

    def regrouped(self, sums: Floats, by: Family) -> Floats:
        """Unbiased sums by true group, of sums by reported group; both have the groups first."""
        return self.grouping(by).estimate(sums.T, sums.sum(axis=0)).T

    def grouping(self, by: Family) -> KeepOrDraw:
        """The channel of a family that can group people. Its inverse is that of counts: (sum_j - base_j all) / gain."""
        channel = self.category(by)
        if not isinstance(channel, KeepOrDraw):
            raise ParameterError("People can be grouped by reports that are values only.", "Report it by ERRPH.")
        if by in self.asked:
            raise ParameterError("People can be grouped by what all of them were asked only.", "Ask everybody.")
        return channel

    def category(self, family: Family) -> CategoryChannel:
        """The channel of a family of categories."""
        channel = self.channels[family]
        if not isinstance(channel, CategoryChannel):
            raise ParameterError(f"{' × '.join(family)} was reported as a number.", "Ask for its moments.")
        return channel

    def labels(self, family: Family) -> list[str]:
        """A name for every value of a family."""
        rows = pd.MultiIndex.from_product([self.schema[name].labels for name in family])
        names = [" / ".join(row) for row in rows.tolist()]
        # some read alike in a file, or as nothing
        if len({bare(name) for name in names} - {""}) < len(names):
            names = [f"{place}: {name}" for place, name in enumerate(names, 1)]
        return names

    @property
    def clear(self) -> list[Family]:
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
            told = name = " × ".join(family)
            while bare(name) in times:
                times[bare(told)] += 1
                name = f"{times[bare(told)]}: {told}"
            times[bare(name)] = 1
            found.append(name)
        return found

    def head(self, people: int) -> Reports:
        """The reports of the first people."""
        asked = {family: who[who < people] for family, who in self.asked.items()}
        values = {family: own[: len(asked.get(family, range(people)))] for family, own in self.values.items()}
        return replace(self, people=min(people, self.people), values=values, asked=asked)

    def price(self) -> float:
        """The largest sum of the local epsilons of one person's reports, without those that share a lot."""
        paid = np.zeros(self.people)
        for family, channel in self.channels.items():
            paid[self.who(family)] += float(channel.epsilon)
        return float(paid.max(initial=0.0))

    def frame(self) -> pd.DataFrame:
        """The table of reports, one row per person, as it may be handed on; empty cells for what was not asked."""
        found: dict[str, Any] = {}
        for name, (family, channel) in zip(self.names, self.channels.items(), strict=True):
            values = self.values[family]
            if isinstance(channel, CategoryChannel):
                cells: Any = channel.texts(values, self.labels(family))
            else:
                cells = values
            found[name] = pd.Series(cells, index=self.who(family)).reindex(range(self.people))
        return pd.DataFrame(found)


def bare(text: str) -> str:
    """A text as a file may give it back: without the spaces around it, and without apostrophes at its start."""
    return QUOTED.sub("", text).rstrip()


def shares(
    counts: Floats, how: str = "clip", *, channel: CategoryChannel | None = None, people: Floats | None = None
) -> Floats:
    """Distributions from unbiased counts of shape (groups, values): rows that sum to 1.

    Negative counts become 0 ("clip"); or each row goes to the nearest distribution ("project"), given how many people
    there are, by default the sums of the counts, which reports that are values keep; or to the most likely one
    ("likelihood"), given a channel whose reports are values.
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
    sums = found.sum(axis=1, keepdims=True)
    return np.where(sums > 0, found / np.where(sums > 0, sums, 1.0), 1 / counts.shape[1])


def most_likely(matrix: Floats, reported: Floats, *, by: Floats | None = None) -> Floats:
    """The distribution that makes reports most likely, by expectation maximization from the uniform one.

    `matrix` has P(report | value); `reported` how often each was reported, negative counts taken for 0. With `by`, the
    channel of groups, both counts and what is found have the groups first.
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
        moved, found = float(np.abs(better - found).sum()), better
        if moved < SETTLED:
            break
    return found[0] if by is None else found


def families(names: Sequence[str]) -> list[Family]:
    """A family of its own for every column."""
    return [(name,) for name in names]
