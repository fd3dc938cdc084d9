"""Shared parts of the methods that release counts of generalized rows.

`Descent` specializes one value of one column at a time, in all rows at once (DiffGen, DT-Diff).
`PartitionWalk` refines a whole column to the next level of its taxonomy (`TaxonomyRelease`).
The candidates of every choice follow from earlier choices and public sizes alone. The counts of the
leaves then yield synthetic rows or a decision tree.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import MISSING, Codes, Column
from dpcore.domain.partition import Partition, block_columns
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import ANY, Hierarchy
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.scores import Score, SplitScore
from dpcore.methods.base import Measurement, PrivateClassifier, PrivateEstimator, Synthesizer
from dpcore.methods.parameters import choice, controls_of, fitted_field, text, whole
from dpcore.methods.trees.base import CRITERIA
from dpcore.methods.trees.base import PAGES as TREE_PAGES
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.group_tree import GroupTree, fit_group_tree
from dpcore.postprocess.simplex import project, systematic_sample
from dpcore.text import read_toml

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
MOST_LEAVES = 1_000_000
DONE = phrase("{done:d} of {rounds:d} values specialized")
SURVEY = phrase("Laplace, exponential"), phrase("low noise"), phrase("non-interactive"), phrase("categories, numbers")
# "leaves first" allows every answer this many times the standard deviation of measuring leaves only
DEVIATION_RATIO = 1.1
SCORES: dict[str, SplitScore] = {"Max": CRITERIA["Max"], "IG": CRITERIA["InfoGain"]}
LevelStep = tuple[str, int]


@dataclass(frozen=True)
class TreeValue:
    """A named set of one column's codes, with the values that replace it when it is specialized."""

    name: str
    codes: tuple[int, ...]
    children: tuple[TreeValue, ...] = ()

    @classmethod
    def from_node(cls, tree: Hierarchy, index: int = 0) -> TreeValue:
        """Return a taxonomy node with its descendants, without nodes that have a single child.

        `tree` is a column's taxonomy and `index` a node of it; 0 is the root.
        """
        index = tree.branching_node(index)
        node = tree.nodes[index]
        return cls(node.name, node.codes, tuple(cls.from_node(tree, child) for child in tree.children[index]))

    def split_at(self, column: Column, point: int) -> Frontier:
        """Return the two halves of an interval: codes below `point`, and codes from `point` on."""
        low, high = self.codes[0], self.codes[-1] + 1
        ends = (low, point), (point, high)
        return tuple(TreeValue(column.interval(a, b), tuple(range(a, b))) for a, b in ends)


# the current values of one column: disjoint sets that cover all of its codes
Frontier = tuple[TreeValue, ...]


def codes_by_value(values: Frontier, size: int) -> Ints:
    """Return, for each code below `size`, the position of the value that contains it, or -1."""
    found = np.full(size, -1, dtype=np.intp)
    for i, value in enumerate(values):
        found[list(value.codes)] = i
    return found


def most_general_values(column: Column) -> Frontier:
    """Return a column's most general values, from which top-down specialization starts.

    A categorical column has its taxonomy's root. A numeric column has one interval of all bins,
    whatever its taxonomy, and "missing" as a second value if the column has missing values.
    """
    if not column.numeric:
        return (TreeValue.from_node(Hierarchy.from_column(column)),)
    bins = column.size - column.missing
    whole = TreeValue(column.interval(0, bins), tuple(range(bins)))
    return (whole, TreeValue(MISSING, (bins,))) if column.missing else (whole,)


class Descent:
    """Top-down specialization of all columns but the class, from the most general values.

    `target` is the class column. `rated_by` scores how well the children of a value separate the
    classes. `max_leaves` bounds the number of groups times classes. With `paper`, choices are made
    by the general exponential mechanism, as in the sources, which do not use that the score Max is
    monotone.
    """

    def __init__(self, table: PrivateTable, target: str, rated_by: SplitScore, *, max_leaves: int, paper: bool) -> None:
        """Start from the most general values of all columns but the class.

        The arguments are described at the class.
        """
        self.table, self.target, self.max_leaves, self.paper = table, target, max_leaves, paper
        self.frontier = {column.name: most_general_values(column) for column in table.schema if column.name != target}
        # columns and the names of their values that were specialized
        self.steps: list[tuple[str, str]] = []
        self.spent: Epsilon = exact(0.0)  # the methods that specialize add to this sum
        self.classes = table.schema[target].size
        # arguments of every score of this descent
        self.score_options: dict[str, Any] = {"target": target, "classes": self.classes, "table_score": rated_by}

    @property
    def numeric_columns(self) -> list[str]:
        """Names of the numeric columns that have two bins or more, without the class."""
        return [c.name for c in self.table.schema if c.numeric and c.size - c.missing > 1 and c.name != self.target]

    def fits_leaf_cap(self, name: str, parts: int) -> bool:
        """Return whether splitting a value of column `name` into `parts` keeps to `max_leaves`."""
        cells = self.classes * prod(len(values) for values in self.frontier.values())
        values = len(self.frontier[name])
        return cells // values * (values - 1 + parts) <= self.max_leaves

    def candidates(self) -> Iterator[tuple[str, TreeValue]]:
        """Yield each (column, value) that may be specialized next within `max_leaves`."""
        for name, values in self.frontier.items():
            for value in values:
                if value.children and self.fits_leaf_cap(name, len(value.children)):
                    yield name, value

    def choose_unless_single(self, size: int, score: Score, epsilon: Epsilon) -> int:
        """Return the index of one of `size` candidates, chosen at a privacy loss of `epsilon`.

        The exponential mechanism chooses by `score`. A single candidate needs no choice and costs
        nothing.
        """
        if size == 1:
            return 0
        self.spent += epsilon
        return self.choose(score, epsilon)

    def choose(self, score: Score, epsilon: Epsilon, table: PrivateTable | None = None) -> int:
        """Return the index of a score's candidate that the exponential mechanism chooses.

        The score is computed on the rows of `table`; by default on all rows.
        """
        claimed = score.bounds([], Relation.REPLACE, None).sensitivity if self.paper else None
        return int((table or self.table).choose(score, [], epsilon=epsilon, claimed_sensitivity=claimed))

    def specialize(self, name: str, value: TreeValue, children: Frontier) -> None:
        """Replace one value of column `name` by its finer values, and record the step."""
        index = self.frontier[name].index(value)
        self.frontier[name] = (*self.frontier[name][:index], *children, *self.frontier[name][index + 1 :])
        self.steps.append((name, value.name))

    def release(self, epsilon: Epsilon) -> ReleasedTree:
        """Return a tree of two levels: the total, and noisy counts of all groups x classes.

        The counts use what this descent has left of `epsilon`. Under replace the total is public.
        """
        table, schema, left = self.table, self.table.schema, exact(epsilon) - self.spent
        whole = leaves = Partition.whole(schema)
        leaves = leaves.refine(self.target, np.arange(self.classes), schema[self.target].labels)
        for name, values in self.frontier.items():
            leaves = leaves.refine(name, codes_by_value(values, schema[name].size), [value.name for value in values])
        counts = table.recode(*leaves.recoding()).counts([leaves.divided_columns], epsilon=left)[0].ravel()
        total, variance = np.empty(0), np.inf
        if table.relation is Relation.REPLACE:
            total, variance = np.array([float(table.public_rows or 0)]), 0.0
        variances = [variance, table.cell_variance(left)]
        return ReleasedTree([whole, leaves], [total, counts], variances, whole_noise=table.whole_noise)


class PartitionWalk:
    """Ever finer partitions of a schema's domain: each step takes one column to its next level.

    The class column, if there is one, is split last. No step makes more cells than `max_leaves`,
    with the class's split included. `max_splits` limits the splits of one column. `fanout` is the
    number of parts of an interval, for numeric columns without a taxonomy.
    """

    def __init__(
        self, schema: Schema, target: str | None, *, max_leaves: int, fanout: int = 2, max_splits: float = inf
    ) -> None:
        """Start from a partition with one cell that holds all rows.

        The arguments are described at the class.
        """
        self.schema, self.target = schema, target
        self.trees = {column.name: Hierarchy.from_column(column, fanout) for column in schema}
        if target is not None:  # one level below the root, whatever its taxonomy
            self.trees[target] = Hierarchy([(ANY, label) for label in schema[target].labels])
        self._max_cells = max_leaves // (schema[target].size if target else 1)
        self._max_splits = max_splits
        self._level = dict.fromkeys(schema.names, 0)
        self.all_steps: list[LevelStep] = []  # columns that were split, and their new levels
        self.partitions = [Partition.whole(schema)]
        # per partition, the columns of `recode_levels` that make its cells
        self.cliques: list[tuple[str, ...]] = [()]

    def candidates(self) -> list[str]:
        """Return the names of the columns that may be split next."""
        now = self.partitions[-1]
        cells = dict(zip(self.schema.names, now.shape, strict=True))
        found = []
        for name, level in self._level.items():
            after, times = self._next_level(name), sum(name == column for column, _ in self.steps)
            if name == self.target or after == level or times >= self._max_splits:
                continue
            if now.size // cells[name] * len(self.trees[name].level(after)) <= self._max_cells:
                found.append(name)
        return found

    def _next_level(self, name: str) -> int:
        """Return the column's next taxonomy level with more nodes; else the present level."""
        tree, level = self.trees[name], self._level[name]
        finer = (t for t in tree.levels if t > level and len(tree.level(t)) > len(tree.level(level)))
        return next(finer, level)

    def split_all(self, rounds: int, choose: Callable[[list[str]], str] | None = None) -> None:
        """Split up to `rounds` candidate columns, and then the class.

        `choose` picks one of the candidates. By default the column that was split least often comes
        first, in the schema's order.
        """
        while len(self.steps) < rounds and (names := self.candidates()):
            self.split(choose(names) if choose else min(names, key=[column for column, _ in self.steps].count))
        if self.target:
            self.split(self.target)

    def clique_after(self, name: str) -> tuple[str, ...]:
        """Return the recoded columns whose values make the cells once column `name` is split."""
        others = [(other, level) for other, level in self._level.items() if level and other not in (name, self.target)]
        last = [(self.target, 1)] if self.target else []
        return tuple(level_column(*step) for step in [*others, (name, self._next_level(name)), *last])

    @property
    def steps(self) -> list[LevelStep]:
        """Columns that were split, and their new levels, without the class."""
        return [step for step in self.all_steps if step[0] != self.target]

    def split(self, name: str) -> None:
        """Split every cell by the next level of a column's taxonomy."""
        level = self._level[name] = self._next_level(name) or 1
        tree = self.trees[name]
        nodes = tree.level(level)
        names = [tree.nodes[i].name for i in nodes]
        self.partitions.append(self.partitions[-1].refine(name, tree.blocks(nodes), names))
        self.cliques.append(tuple(level_column(*step) for step in self._level.items() if step[1]))
        self.all_steps.append((name, level))

    def coarse_first(self) -> PartitionWalk:
        """Return a walk with the same splits, ordered by taxonomy level and then by mean fan-out.

        The last partition stays the same. Each column's own levels keep their order.
        """
        walk = copy(self)
        walk.partitions, walk.cliques, walk.all_steps = self.partitions[:1], self.cliques[:1], []
        walk._level = dict.fromkeys(self._level, 0)
        for name, _ in sorted(self.all_steps, key=lambda step: (step[1], self._mean_fanout(*step))):
            walk.split(name)
        return walk

    def _mean_fanout(self, name: str, level: int) -> float:
        """Return the mean number of children per node on the level above `level`."""
        tree = self.trees[name]
        return len(tree.level(level)) / len(tree.level(level - 1))

    def recode_levels(self, table: PrivateTable, steps: Sequence[LevelStep]) -> PrivateTable:
        """Return recoded private rows: per step, a column with the taxonomy node of each value.

        Each step names a column and a level of its taxonomy.
        """
        if not steps:
            return table
        trees = [(name, level, self.trees[name]) for name, level in steps]
        blocks = [(level_column(name, level), name, tree.blocks(tree.level(level))) for name, level, tree in trees]
        return table.recode(*block_columns(table.schema, blocks))


def level_column(name: str, level: int) -> str:
    """Return the name of a column recoded to a taxonomy level, such as "age (level 2)"."""
    return f"{name} (level {level})"


class GeneralizingSynthesizer(Synthesizer):
    """Base of methods that release a tree of counts.

    Attributes
    ----------
    tree_ : ReleasedTree
        Partitions and their noisy counts.
    leaf_counts_ : array
        The published counts of the finest partition's cells.
    rows_ : float
        The number of rows: public, or estimated from noisy counts.
    """

    artifacts = ("tree", "leaf_counts")
    tree_: ReleasedTree = fitted_field()
    leaf_counts_: Floats = fitted_field()
    rows_: float = fitted_field()

    def _store_tree(self, tree: ReleasedTree, *, consistency: bool = True, non_negative: bool = True) -> None:
        """Set `tree_`, `leaf_counts_` and `rows_` from a released tree.

        `consistency` takes the counts after the least-squares fit; `non_negative` moves negative
        counts to 0.
        """
        self.tree_, total = tree, float(tree.consistent.counts[0][0])
        if consistency:
            fitted = tree.consistent
            self.leaf_counts_ = fitted.non_negative()[-1] if non_negative else fitted.counts[-1]
        else:
            leaves = tree.noisy[-1]
            total = float(tree.noisy[0][0]) if tree.measured_levels[0] else total
            self.leaf_counts_ = project(leaves, leaves.sum()) if non_negative else leaves
        self.rows_ = max(total, 0.0)

    def generalized_rows(self) -> pd.DataFrame:
        """Return the published generalized rows as a DataFrame.

        There is a column of block names per split column, and a last column of whole counts.
        """
        return self.tree_.rows(self.leaf_counts_)

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return `n` rows drawn from the leaves in proportion to their published counts."""
        weights = self.leaf_counts_
        if (weights < 0).any():
            weights = project(weights, weights.sum())
        if not weights.sum() > 0:
            weights = np.ones(len(weights))
        return self.tree_.leaves.draw(systematic_sample(weights, n, rng), rng)


class Specializer(PrivateEstimator):
    """Base of methods that specialize one value at a time, and count the resulting groups.

    Parameters
    ----------
    rounds
        h, the number of specializations.
    target
        The class column; by default the schema's.
    max_leaves
        The most groups x classes. Specializations that would make more are not candidates.

    Attributes
    ----------
    steps_ : list of (column, value)
        The values that were specialized.
    """

    controls = controls_of(PAGES["Specializer"])
    rounds: int = whole(default=10)
    target: str | None = text(default=None)
    max_leaves: int = whole(default=100_000, maximum=MOST_LEAVES)
    steps_: list[tuple[str, str]] = fitted_field()

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the size and noise variance of the groups' counts, for a forecast."""
        target = self._target(table.schema, self.target)
        return [round_robin_leaves(table, exact(self.epsilon) / 2, target, self.rounds, self.max_leaves)]

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the class has more values than `max_leaves` allows."""
        check_leaves(self.max_leaves, schema[self._target(schema, self.target)].size)

    def _release_groups(self, table: PrivateTable, rated_by: SplitScore, progress: Progress) -> ReleasedTree:
        """Specialize `rounds` times, and return noisy counts of the groups, with all of epsilon.

        `rated_by` scores how well the children of a value separate the classes.
        """
        self.target_ = self._target(table.schema, self.target)
        descent = Descent(table, self.target_, rated_by, max_leaves=self.max_leaves, paper=self._published)
        share = self._start(descent, progress)
        for done in range(self.rounds):
            progress(0.7 * done / self.rounds, DONE.format(done=done, rounds=self.rounds))
            if not self._specialize_once(descent, share):
                break
        self.steps_ = descent.steps
        progress(0.7, phrase("Counting rows in each group"))
        return descent.release(self.epsilon)

    def _start(self, descent: Descent, progress: Progress) -> Epsilon:
        """Make the choices that precede the rounds, if any, and return the epsilon of every choice.

        `descent` holds the present values of all columns, which later rounds specialize. All
        choices together spend half of epsilon at most.
        """
        return exact(self.epsilon) / (2 * self.rounds)

    @abstractmethod
    def _specialize_once(self, descent: Descent, share: Epsilon) -> bool:
        """Specialize one value, at epsilon `share` per choice; return False if no value is left.

        `descent` holds the present values of all columns, and takes the finer ones.
        """


class SpecializingSynthesizer(Specializer, GeneralizingSynthesizer):
    """Base of methods that specialize, and sample rows from the groups.

    Parameters
    ----------
    score
        The score of a value to specialize: 'Max', or 'IG', the information gain.
    """

    page = "taxonomy"
    controls = controls_of(PAGES["SpecializingSynthesizer"])
    score: str = choice(default="Max", options=SCORES)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Release counts of the specialized groups, and store them for sampling."""
        self._store_tree(self._release_groups(table, SCORES[self.score], progress))


class GroupClassifier(Specializer, PrivateClassifier):
    """Base of methods that release counts of groups by class, and a decision tree from the counts.

    Parameters
    ----------
    criterion
        The score of a value to specialize. The decision tree itself is grown by entropy.

    Attributes
    ----------
    tree_ : ReleasedTree
        The released groups x classes with their noisy counts.
    leaf_counts_ : array
        The published counts of all groups x classes, 0 or more.
    classifier_ : GroupTree
        The decision tree that predicts.
    """

    page, artifacts, predictor = "forests", ("tree", "leaf_counts", "classifier"), "classifier"
    controls = controls_of({"criterion": TREE_PAGES["TreeClassifier"]["criterion"]})
    criterion: str = choice(default="Max", options=("Max", "InfoGain"))
    tree_: ReleasedTree = fitted_field()
    leaf_counts_: Floats = fitted_field()
    classifier_: GroupTree = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Release counts of the specialized groups, and learn the decision tree from them."""
        self.tree_ = tree = self._release_groups(table, CRITERIA[self.criterion], progress)
        self.leaf_counts_ = tree.consistent.non_negative()[-1]
        progress(0.9, phrase("Learning a tree from the groups"))
        deviation = tree.variances[-1] ** 0.5
        self.classifier_ = fit_group_tree(tree.leaves, self.leaf_counts_, self.target_, deviation=deviation)


def check_leaves(max_leaves: int, classes: int) -> None:
    """Raise ParameterError if the class has more values, `classes`, than `max_leaves` allows."""
    if classes > max_leaves:
        raise ParameterError(f"The class has {classes} values, but 'max_leaves' is {max_leaves}.", "Allow more leaves.")


def leaf_share(table: PrivateTable, epsilon: Epsilon) -> float:
    """Return the leaves' share of `epsilon` for level_shares="leaves first" (`TaxonomyRelease`).

    `epsilon` is spent on the counts of all levels. The result is the smallest share whose noise has
    at most `DEVIATION_RATIO` times the standard deviation that all of epsilon would give. A
    least-squares estimate is at least as good as the leaves' own, so the ratio bounds every answer.
    The deviation of continuous noise is proportional to 1 / epsilon; the deviation of noise on
    whole numbers falls faster.
    """
    low, high, most = 1 / DEVIATION_RATIO, 1.0, DEVIATION_RATIO**2 * (1 + 1e-9) * table.cell_variance(epsilon)
    if table.cell_variance(epsilon * exact(low)) <= most:
        return low
    for _ in range(30):
        middle = (low + high) / 2
        enough = table.cell_variance(epsilon * exact(middle)) <= most
        low, high = (low, middle) if enough else (middle, high)
    return high


def round_robin_leaves(
    table: PrivateTable, share: Epsilon, target: str | None, rounds: int, max_leaves: int, max_splits: float = inf
) -> Measurement:
    """Return the shape and variance of the leaves' counts at epsilon `share`, for a forecast.

    The shape is as if columns were split in turn, because the real splits are not known: `rounds`
    splits in all, at most `max_splits` of the same column, and at most `max_leaves` leaves.
    """
    shape = leaf_shape(table.schema, target, rounds, max_leaves, max_splits)
    return Measurement(tuple(range(len(shape))), shape, table.cell_variance(share), prod(shape), merges=True)


@lru_cache(maxsize=32)  # forecasts repeat the same call for many values of epsilon
def leaf_shape(schema: Schema, target: str | None, rounds: int, max_leaves: int, max_splits: float) -> tuple[int, ...]:
    """Return each column's number of parts after `rounds` splits in turn; numbers are halved.

    The class column `target`, if any, is split last into its values. A column is split at most
    `max_splits` times, and there are at most `max_leaves` leaves.
    """
    walk = PartitionWalk(schema, target, max_leaves=max_leaves, max_splits=max_splits)
    walk.split_all(rounds)
    return walk.partitions[-1].shape
