"""What methods share that specialize one value of one column at a time, in all rows at once (DiffGen, DT-Diff).

A cut holds, per column, values that share no code and hold all codes together. A descent starts from the most
general one and replaces values by finer ones, which noisy choices name; its groups are the combinations of values.
Which values may be specialized follows from earlier choices and public sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Progress
from dpcore.domain.column import MISSING, Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy, interval_name
from dpcore.door import PrivateTable
from dpcore.mechanisms.scores import IntervalSplit, Score, Specialization, SplitScore

Floats = NDArray[np.float64]
OWN_CODE = "The published code cuts intervals up to the data's largest value, which this gives away."


@dataclass(frozen=True)
class Value:
    """One value of a column's cut: some codes under a name, and what it falls into if it is specialized."""

    name: str
    codes: tuple[int, ...]
    children: tuple[Value, ...] = ()


Cut = tuple[Value, ...]


class Descent:
    """A cut on its way down.

    Parameters
    ----------
    table : PrivateTable
    target : str
        The class column.
    rated_by : SplitScore
    max_leaves : int
        Groups x classes.
    paper : bool
        Whether choices are made as papers do, which do not use that Max only rises.

    Attributes
    ----------
    cut : dict of column name to Cut
        Of all columns but the class.
    steps : list of (column, value)
        What was specialized.
    spent : Epsilon
        What the methods that go down have paid so far; they add to it.
    """

    def __init__(self, table: PrivateTable, target: str, rated_by: SplitScore, *, max_leaves: int, paper: bool) -> None:
        self.table, self.target, self.rated_by = table, target, rated_by
        self.max_leaves, self.paper = max_leaves, paper
        self.cut = {column.name: beginning(column) for column in table.schema if column.name != target}
        self.steps: list[tuple[str, str]] = []
        self.spent: Epsilon = exact(0.0)

    @property
    def numeric(self) -> list[str]:
        """The numeric columns that can be cut."""
        return [c.name for c in self.table.schema if c.numeric and c.size - c.missing > 1 and c.name != self.target]

    @property
    def how(self) -> dict[str, Any]:
        """What all scores of this run have in common."""
        classes = self.table.schema[self.target].size
        return {"target": self.target, "classes": classes, "rated_by": self.rated_by}

    def fits(self, name: str, parts: int) -> bool:
        """Whether one value of a column may fall into so many parts."""
        cells = self.table.schema[self.target].size * prod(len(values) for values in self.cut.values())
        values = len(self.cut[name])
        return cells // values * (values - 1 + parts) <= self.max_leaves

    def open(self) -> Iterator[tuple[str, Value]]:
        """The values with children that may be specialized next."""
        for name, values in self.cut.items():
            for value in values:
                if value.children and self.fits(name, len(value.children)):
                    yield name, value

    def choose(self, score: Score, epsilon: Epsilon, table: PrivateTable | None = None) -> int:
        """The place of one of a score's candidates, among all rows or those of another table."""
        claimed = score.sensitivity([], Relation.REPLACE, None) if self.paper else None
        return int((table or self.table).choose(score, [], epsilon=epsilon, claimed_sensitivity=claimed))

    def specialize(self, name: str, value: Value, children: Cut) -> None:
        """Put finer values in the place of one."""
        at = self.cut[name].index(value)
        self.cut[name] = (*self.cut[name][:at], *children, *self.cut[name][at + 1 :])
        self.steps.append((name, value.name))

    def leaves(self) -> Partition:
        """All groups x classes, empty ones included."""
        schema = self.table.schema
        target = schema[self.target]
        found = Partition.whole(schema).refined(self.target, np.arange(target.size), target.labels)
        for name, values in self.cut.items():
            blocks = np.empty(schema[name].size, dtype=np.intp)
            for i, value in enumerate(values):
                blocks[list(value.codes)] = i
            found = found.refined(name, blocks, [value.name for value in values])
        return found

    def release(self, epsilon: Epsilon) -> tuple[list[Partition], list[Floats], list[float]]:
        """Everything, and noisy counts of all groups x classes: a tree's partitions, counts and variances."""
        table, leaves = self.table, self.leaves()
        groups, rules = leaves.recoding()
        counts = table.recode(groups, rules).counts([leaves.family], epsilon=epsilon)[0]
        total, variance = np.empty(0), np.inf
        if table.relation is Relation.REPLACE:
            total, variance = np.array([float(table.public_rows or 0)]), 0.0
        return (
            [Partition.whole(table.schema), leaves],
            [total, counts.ravel()],
            [variance, table.cell_variance(epsilon)],
        )


def by_value(way: Descent, epsilon: Epsilon, rounds: int, progress: Progress) -> None:
    """DiffGen's way down: values first, where to cut a number's interval in a choice of its own.

    An interval is cut as soon as it is there, before anybody knows whether it will be specialized.
    """
    numeric, table = way.numeric, way.table
    share = exact(epsilon) / (2 * (len(numeric) + 2 * rounds))
    progress(0.0, "Choosing cuts")
    for name in numeric:
        before = choices(table)
        way.cut[name] = tuple(halve(way, table, name, value, share) for value in way.cut[name])
        way.spent += share * (choices(table) - before)
    for done in range(rounds):
        progress(0.7 * done / rounds, f"{done} of {rounds} specializations")
        open_ = list(way.open())
        if not open_:
            break
        chosen = 0
        if len(open_) > 1:  # a single candidate is no choice
            divisions = [(name, division(table.schema[name].size, value)) for name, value in open_]
            chosen = way.choose(Specialization(**way.how, divisions=divisions), share)
            way.spent += share
        name, value = open_[chosen]
        children = value.children
        if name in numeric and any(len(half.codes) > 1 for half in children):
            before = choices(table)
            children = halve_both(way, name, value, share)
            way.spent += share * (choices(table) > before)  # in parallel
        way.specialize(name, value, children)


def halve(way: Descent, table: PrivateTable, name: str, value: Value, epsilon: Epsilon) -> Value:
    """An interval with the two halves that it would fall into; a single code as it is."""
    low, high = value.codes[0], value.codes[-1] + 1
    if high - low < 2:
        return value
    places, worthless = list(range(low + 1, high)), -1
    if way.paper:
        counts = table.without_noise(OWN_CODE, claimed_epsilon=0).counts([(name,)], epsilon=1)[0][low:high]
        present = low + np.flatnonzero(counts)
        if counts.sum() <= 1:
            places = [(low + high) // 2]
        elif len(present) > 1:
            places, worthless = list(range(low + 1, int(present[-1]) + 1)), int(present[0])
    score = IntervalSplit(**way.how, column=name, low=low, high=high, places=places, worthless_below=worthless)
    at = places[way.choose(score, epsilon, table)]
    return replace(value, children=halves(table.schema[name], value, at))


def halve_both(way: Descent, name: str, value: Value, epsilon: Epsilon) -> Cut:
    """An interval's halves with halves of their own, chosen in parallel."""
    table = way.table
    where = np.full(table.schema[name].size, 2)
    for i, half in enumerate(value.children):
        where[list(half.codes)] = i
    side = Column(name=unused(table.schema), kind="categorical", categories=("left", "right", "elsewhere"))
    parts = table.derive(side, [name], where).split(side.name, name=f"halves of {name} {value.name}")
    return tuple(
        halve(way, part, name, half, part.ledger.share_of(epsilon))
        for part, half in zip(parts, value.children, strict=False)
    )


def halves(column: Column, value: Value, at: int) -> Cut:
    """What an interval falls into if it is cut below a code."""
    low, high = value.codes[0], value.codes[-1] + 1
    return tuple(Value(interval_name(column, a, b), tuple(range(a, b))) for a, b in ((low, at), (at, high)))


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
