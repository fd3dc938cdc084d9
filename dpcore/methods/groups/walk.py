"""A walk down the taxonomies: which column is divided next, and the partitions that this makes. All public."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from dpcore.domain.partition import Partition, numbered
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import ANY, Hierarchy
from dpcore.door import PrivateTable

Step = tuple[str, int]


class Walk:
    """Partitions of a schema's domain, each made from the one before by one column's next level.

    Parameters
    ----------
    schema : Schema
    target : str, optional
        The class; it is divided by `divide` alone, and leaves room for itself.
    fanout : int
        Of numeric columns without a taxonomy.
    max_leaves : int
        No step makes more cells than this, the class's division included.
    most : int, optional
        How often one column may be divided.

    Attributes
    ----------
    steps : list of (column, level)
    partitions : list of Partition
        The first is the whole domain.
    families : list of tuples of names
        Per partition, the columns of `leveled` whose contingency table has its cells.
    """

    def __init__(self, schema: Schema, target: str | None, fanout: int, max_leaves: int, most: int | None) -> None:
        self.schema, self.target = schema, target
        self.trees = {column.name: Hierarchy.of(column, fanout) for column in schema}
        if target is not None:  # one level, whatever its taxonomy, and if there is but one class
            alone = schema[target].size == 1
            flat = Hierarchy.of(replace(schema[target], taxonomy=None))
            self.trees[target] = Hierarchy([(ANY, schema[target].labels[0])]) if alone else flat
        self._room = max_leaves // (schema[target].size if target else 1)
        self._most = most
        self._level = dict.fromkeys(schema.names, 0)
        self.steps: list[Step] = []
        self.partitions = [Partition.whole(schema)]
        self.families: list[tuple[str, ...]] = [()]
        self.used: list[Step] = []

    def open(self) -> list[str]:
        """The columns that may be divided next."""
        now = self.partitions[-1]
        cells = dict(zip(self.schema.names, now.shape, strict=True))
        found = []
        for name, level in self._level.items():
            after, times = self._next(name), sum(name == column for column, _ in self.steps)
            if name == self.target or after == level or (self._most is not None and times >= self._most):
                continue
            if now.size // cells[name] * len(self.trees[name].level(after)) <= self._room:
                found.append(name)
        return found

    def _next(self, name: str) -> int:
        """The next level of a column's taxonomy that divides anything; the present one if there is none."""
        tree, level = self.trees[name], self._level[name]
        finer = (t for t in tree.levels if t > level and len(tree.level(t)) > len(tree.level(level)))
        return next(finer, level)

    def next_in_turn(self) -> str:
        """Of the open columns the one that was divided least often; the first of them in the schema's order."""
        times = [column for column, _ in self.steps]
        return min(self.open(), key=times.count)

    def family(self, name: str) -> tuple[str, ...]:
        """The columns of `leveled` that make the cells after a step, and the class."""
        others = [(other, level) for other, level in self._level.items() if level and other not in (name, self.target)]
        last = [(self.target, 1)] if self.target else []
        return tuple(key(*step) for step in [*others, (name, self._next(name)), *last])

    def step(self, name: str) -> None:
        """Divide every cell by a column's next level."""
        self.divide(name)
        self.steps.append((name, self._level[name]))

    def divide(self, name: str) -> None:
        """The same for a column that is no step of its own, such as the class at the end."""
        level = self._level[name] = self._next(name) or 1
        tree = self.trees[name]
        nodes = tree.level(level)
        names = [tree.nodes[i].name for i in nodes]
        self.partitions.append(self.partitions[-1].refined(name, tree.blocks(nodes), names))
        self.families.append(tuple(key(*step) for step in self._level.items() if step[1]))
        self.used.append((name, level))

    def coarse_first(self) -> Walk:
        """The same divisions in another order: by the taxonomies' levels, then by how many parts they make on average.

        The last partition stays the same. A column's own levels keep their order.
        """
        walk = copy(self)
        walk.partitions, walk.families, walk.used = self.partitions[:1], self.families[:1], []
        walk._level = dict.fromkeys(self._level, 0)
        for name, _ in sorted(self.used, key=lambda step: (step[1], self._parts(*step))):
            walk.divide(name)
        return walk

    def _parts(self, name: str, level: int) -> float:
        tree = self.trees[name]
        return len(tree.level(level)) / len(tree.level(level - 1))

    def leveled(self, table: PrivateTable, steps: Sequence[Step]) -> PrivateTable:
        """The rows with one column per step: in which node of that level the row's value lies."""
        if not steps:
            return table
        columns, rules = [], []
        for name, level in steps:
            nodes = self.trees[name].level(level)
            columns.append(numbered(key(name, level), len(nodes)))
            rules.append((name, self.trees[name].blocks(nodes)))
        return table.recode(replace(table.schema, columns=tuple(columns), target=None), rules)


def key(name: str, level: int) -> str:
    """What `leveled` and the ledger call a column at a level of its taxonomy."""
    return f"{name} (level {level})"
