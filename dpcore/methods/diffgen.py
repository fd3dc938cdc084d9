r"""DiffGen: generalized rows by top-down specialization, for classification (compared with in papers 002 and 003).

Idea      Start from "anything" in every column; again and again choose one value, privately, and replace it by its
          children in the taxonomy; count the groups that are left with noise.

Steps     epsilon' = epsilon / (2 (n_c + 2h)), for n_c numeric columns that can be cut and h rounds
  1  Where to cut each numeric column's whole interval.                                              choose, n_c times
  2  h times: which value of the current cut to specialize, by how well its children tell the classes apart.    choose
     If it is an interval, where to cut each of its two halves later: they hold different records. choose, in parallel
  3  Counts of all groups x classes, empty ones included, with what is left (at least epsilon / 2).             counts
  4  Under replace, counts moved in equal steps to the public total. Negative counts moved to 0; rows are drawn
     uniformly out of the groups.                                                                     post-processing

  Numeric columns are cut between bins, whatever taxonomy they carry.

Privacy
  Public    the schema, its taxonomies, h, the cap on groups; n under replace.
  1, 2      Max has sensitivity 1 and is monotone; the information gain log2 of the number of classes, its range
            (`specialization`). The two halves of an interval partition its records: parallel composition, one epsilon'
            (under replace each half is charged as a removal or an addition, at epsilon' / 2). Which values may be
            specialized follows from earlier choices and public sizes alone.
  3         Groups partition the records: sensitivity 1 (add_remove) or 2 (replace).
  Sum       epsilon' (n_c + 2h) at most, which is epsilon / 2, and the rest for the counts: epsilon.

What is claimed, and where it is wrong
  The paper's proof holds. The code that its authors published does not follow it (mode="paper"): an interval with one
  row or none is cut in the middle, one with a single value of the data anywhere, and any other up to the data's largest
  value, where places that leave nothing to their left score 0. What can come out then depends on the data, so that one
  person can make outcomes possible that were impossible: no epsilon holds. Corrected mode cuts at every public place.
  That code also cuts its noise off to whole numbers towards 0, which costs up to ln 2 more per count; that is not done
  here.

Reference  Mohammed, Chen, Fung and Yu, Differentially private data release for data mining, KDD 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.column import MISSING, Column
from dpcore.errors import ParameterError
from dpcore.generalized import GeneralizingSynthesizer
from dpcore.hierarchy import Hierarchy, interval_name
from dpcore.ledger import Epsilon, Relation, exact
from dpcore.partition import Partition
from dpcore.private import PrivateTable
from dpcore.progress import Progress
from dpcore.schema import Schema
from dpcore.scores import InfoGain, IntervalSplit, Max, Score, Specialization, SplitScore

__all__ = ["DiffGen"]

SCORES: dict[str, SplitScore] = {"Max": Max(), "IG": InfoGain()}
MOST_LEAVES = 1_000_000
OWN_CODE = "The published code cuts intervals up to the data's largest value, which this gives away."


@dataclass(frozen=True)
class Value:
    """One value of a column's cut: some codes under a name, and what it falls into if it is specialized."""

    name: str
    codes: tuple[int, ...]
    children: tuple[Value, ...] = ()


Cut = tuple[Value, ...]


class DiffGen(GeneralizingSynthesizer):
    """DiffGen, as its authors' code has it and corrected. See the module for steps and privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
    mode : {"corrected", "paper"}
    relation : {"add_remove", "replace"}
    rounds : int, default=10
        h, the number of specializations.
    score : {"Max", "IG"}
    target : str, optional
        The class column; by default the schema's.
    max_leaves : int, default=100_000
        Groups x classes; a specialization that would make more is left out.
    noise : {"laplace", "geometric", "opendp"}
    random_state : int, optional
        Seeded runs are for teaching and are not private.

    Attributes
    ----------
    steps_ : list of (column, value)
        What was specialized.
    """

    title = "DiffGen"
    paper = "002, 003"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        mode: str = "corrected",
        relation: str = "add_remove",
        rounds: int = 10,
        score: str = "Max",
        target: str | None = None,
        max_leaves: int = 100_000,
        noise: str = "laplace",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.mode = mode
        self.relation = relation
        self.rounds = rounds
        self.score = score
        self.target = target
        self.max_leaves = max_leaves
        self.noise = noise
        self.random_state = random_state

    def _check(self, schema: Schema) -> None:
        self._check_choice("score", tuple(SCORES))
        self._check_whole("rounds", "max_leaves")
        if self.max_leaves > MOST_LEAVES:
            raise ParameterError("The 'max_leaves' parameter is too large.", f"At most {MOST_LEAVES:,} leaves.")
        if schema[self._target(schema, self.target)].size > self.max_leaves:
            raise ParameterError("The class alone has more values than 'max_leaves'.", "Allow more leaves.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema = table.schema
        self.target_ = self._target(schema, self.target)
        numeric = [c.name for c in schema if c.numeric and c.size - c.missing > 1 and c.name != self.target_]
        share = exact(self.epsilon) / (2 * (len(numeric) + 2 * self.rounds))
        spent, self.steps_ = exact(0.0), []
        progress(0.0, "Choosing cuts")
        cut = {column.name: beginning(column) for column in schema if column.name != self.target_}
        for name in numeric:
            before = choices(table)
            cut[name] = tuple(self._halve(table, name, value, share) for value in cut[name])
            spent += share * (choices(table) - before)
        for done in range(self.rounds):
            progress(0.7 * done / self.rounds, f"{done} of {self.rounds} specializations")
            open_ = list(self._open(cut, schema))
            if not open_:
                break
            chosen = 0
            if len(open_) > 1:  # a single candidate is no choice
                divisions = [(name, division(schema[name].size, value)) for name, value in open_]
                score = Specialization(**self._how(schema), divisions=divisions)
                chosen = int(table.choose(score, [], epsilon=share, claimed_sensitivity=self._claimed(score)))
                spent += share
            name, value = open_[chosen]
            children = value.children
            if name in numeric and any(len(half.codes) > 1 for half in children):
                before = choices(table)
                children = self._halve_both(table, name, value, share)
                spent += share * (choices(table) > before)  # in parallel
            at = cut[name].index(value)
            cut[name] = (*cut[name][:at], *children, *cut[name][at + 1 :])
            self.steps_.append((name, value.name))
        progress(0.7, "Counting groups")
        self._count(table, cut, exact(self.epsilon) - spent)
        progress(1.0, "Done")

    def _how(self, schema: Schema) -> dict[str, Any]:
        """What all scores of this run have in common."""
        return {"target": self.target_, "classes": schema[self.target_].size, "rated_by": SCORES[self.score]}

    def _claimed(self, score: Score) -> float | None:
        """Paper mode's sensitivity: it does not use that Max only rises."""
        return score.sensitivity([], Relation.REPLACE, None) if self.mode == "paper" else None

    def _open(self, cut: dict[str, Cut], schema: Schema) -> Iterator[tuple[str, Value]]:
        """The values that may be specialized next, by public sizes and earlier choices."""
        cells = schema[self.target_].size * prod(len(values) for values in cut.values())
        for name, values in cut.items():
            for value in values:
                more = len(values) - 1 + len(value.children)
                if value.children and cells // len(values) * more <= self.max_leaves:
                    yield name, value

    def _halve(self, table: PrivateTable, name: str, value: Value, epsilon: Epsilon) -> Value:
        """An interval with the two halves that it would fall into; a single code as it is."""
        column, (low, high) = table.schema[name], (value.codes[0], value.codes[-1] + 1)
        if high - low < 2:
            return value
        places, worthless = list(range(low + 1, high)), -1
        if self.mode == "paper":
            counts = table.without_noise(OWN_CODE, claimed_epsilon=0).counts([(name,)], epsilon=1)[0][low:high]
            present = low + np.flatnonzero(counts)
            if counts.sum() <= 1:
                places = [(low + high) // 2]
            elif len(present) > 1:
                places, worthless = list(range(low + 1, int(present[-1]) + 1)), int(present[0])
        score = IntervalSplit(
            **self._how(table.schema), column=name, low=low, high=high, places=places, worthless_below=worthless
        )
        at = places[int(table.choose(score, [], epsilon=epsilon, claimed_sensitivity=self._claimed(score)))]
        halves = tuple(Value(interval_name(column, a, b), tuple(range(a, b))) for a, b in ((low, at), (at, high)))
        return replace(value, children=halves)

    def _halve_both(self, table: PrivateTable, name: str, value: Value, epsilon: Epsilon) -> Cut:
        """An interval's halves with halves of their own, chosen in parallel."""
        where = np.full(table.schema[name].size, 2)
        for i, half in enumerate(value.children):
            where[list(half.codes)] = i
        side = Column(name=unused(table.schema), kind="categorical", categories=("left", "right", "elsewhere"))
        parts = table.derive(side, [name], where).split(side.name, name=f"halves of {name} {value.name}")
        return tuple(
            self._halve(part, name, half, part.ledger.share_of(epsilon))
            for part, half in zip(parts, value.children, strict=False)
        )

    def _count(self, table: PrivateTable, cut: dict[str, Cut], epsilon: Epsilon) -> None:
        """Noisy counts of all groups x classes."""
        schema = table.schema
        whole = leaves = Partition.whole(schema)
        target = schema[self.target_]
        leaves = leaves.refined(self.target_, np.arange(target.size), target.labels)
        for name, values in cut.items():
            blocks = np.empty(schema[name].size, dtype=np.intp)
            for i, value in enumerate(values):
                blocks[list(value.codes)] = i
            leaves = leaves.refined(name, blocks, [value.name for value in values])
        groups, rules = leaves.recoding()
        counts = table.recode(groups, rules).counts([leaves.family], epsilon=epsilon)[0]
        total, variance = np.empty(0), np.inf
        if table.relation is Relation.REPLACE:
            total, variance = np.array([float(table.public_rows or 0)]), 0.0
        self._keep(
            [whole, leaves],
            [total, counts.ravel()],
            [variance, table.cell_variance(epsilon)],
            whole_noise=table.whole_noise,
        )


def choices(table: PrivateTable) -> int:
    """How many choices were charged so far."""
    return sum(entry.mechanism == "exponential" for entry in table.ledger.entries)


def beginning(column: Column) -> Cut:
    """A column's most general values: one, and "missing" beside it for numbers."""
    tree = Hierarchy.of(column)
    if not column.numeric:
        return (value_of(tree, 0),)
    bins = column.size - column.missing
    whole = Value(interval_name(column, 0, bins), tuple(range(bins)))
    return (whole, Value(MISSING, (bins,))) if column.missing else (whole,)


def value_of(tree: Hierarchy, place: int) -> Value:
    """A node with all that is below it; nodes with one child are passed over, as they divide nothing."""
    children = tree.children[place]
    while len(children) == 1:
        place, children = children[0], tree.children[children[0]]
    node = tree.nodes[place]
    return Value(node.name, node.codes, tuple(value_of(tree, child) for child in children))


def division(size: int, value: Value) -> NDArray[np.intp]:
    """Per code the child of a value that holds it, -1 outside of the value."""
    groups = np.full(size, -1, dtype=np.intp)
    for i, child in enumerate(value.children):
        groups[list(child.codes)] = i
    return groups


def unused(schema: Schema) -> str:
    """A column name that the schema does not have."""
    name = "side"
    while name in schema.names:
        name += "'"
    return name
