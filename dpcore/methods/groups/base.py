"""What methods share that release counts of generalized rows: ways down taxonomies, a tree of counts.

`Descent` specializes one value of one column at a time, in all rows at once (DiffGen, DT-Diff);
`Walk` takes all of a column to its next level (`TaxonomyRelease`). What may be divided follows
from earlier choices and public sizes alone. Out of the leaves' counts rows are drawn, or a
decision tree is learned from them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
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
DONE = phrase("{done:d} of {rounds:d} specializations")
SURVEY_ROW = phrase("Laplace, exponential"), phrase("low"), phrase("non-interactive"), phrase("categories, numbers")
WORST = 1.1  # times the noise of leaves alone: the most that "leaves first" allows
SCORES: dict[str, SplitScore] = {"Max": CRITERIA["Max"], "IG": CRITERIA["InfoGain"]}
LevelStep = tuple[str, int]


@dataclass(frozen=True)
class Value:
    """One value of a column's cut: some codes under a name, and what it falls into if it is specialized."""

    name: str
    codes: tuple[int, ...]
    children: tuple[Value, ...] = ()

    @classmethod
    def of(cls, tree: Hierarchy, index: int = 0) -> Value:
        """A node with all that is below it, less what divides nothing."""
        index = tree.fork(index)
        node = tree.nodes[index]
        return cls(node.name, node.codes, tuple(cls.of(tree, child) for child in tree.children[index]))

    def halves(self, column: Column, at: int) -> Cut:
        """What an interval falls into if it is cut below a code."""
        low, high = self.codes[0], self.codes[-1] + 1
        return tuple(Value(column.interval(a, b), tuple(range(a, b))) for a, b in ((low, at), (at, high)))


# of a column: values that share no code; of all columns together, they hold all codes
Cut = tuple[Value, ...]


def codes_by_value(values: Cut, size: int) -> Ints:
    """For every code the value that holds it, or -1."""
    found = np.full(size, -1, dtype=np.intp)
    for i, value in enumerate(values):
        found[list(value.codes)] = i
    return found


def beginning(column: Column) -> Cut:
    """A column's most general values: one, and "missing" beside it for numbers, which are cut whatever taxonomy."""
    if not column.numeric:
        return (Value.of(Hierarchy.of(column)),)
    bins = column.size - column.missing
    whole = Value(column.interval(0, bins), tuple(range(bins)))
    return (whole, Value(MISSING, (bins,))) if column.missing else (whole,)


class Descent:
    """Cuts of all columns but the class, from the most general ones down; `max_leaves` bounds groups x classes.

    With `paper`, choices are made as papers do, which do not use that Max only rises.
    """

    def __init__(self, table: PrivateTable, target: str, rated_by: SplitScore, *, max_leaves: int, paper: bool) -> None:
        self.table, self.target, self.max_leaves, self.paper = table, target, max_leaves, paper
        self.cut = {column.name: beginning(column) for column in table.schema if column.name != target}
        # columns and the names of their values that were specialized
        self.steps: list[tuple[str, str]] = []
        self.spent: Epsilon = exact(0.0)  # by whoever goes down; it adds to it
        self.classes = table.schema[target].size
        # of all scores
        self.how: dict[str, Any] = {"target": target, "classes": self.classes, "table_score": rated_by}

    @property
    def numeric(self) -> list[str]:
        """The numeric columns that can be cut."""
        return [c.name for c in self.table.schema if c.numeric and c.size - c.missing > 1 and c.name != self.target]

    def fits(self, name: str, parts: int) -> bool:
        """Whether one value of a column may fall into so many parts."""
        cells = self.classes * prod(len(values) for values in self.cut.values())
        values = len(self.cut[name])
        return cells // values * (values - 1 + parts) <= self.max_leaves

    def open(self) -> Iterator[tuple[str, Value]]:
        """The values with children that may be specialized next."""
        for name, values in self.cut.items():
            for value in values:
                if value.children and self.fits(name, len(value.children)):
                    yield name, value

    def choose_among(self, many: int, score: Score, epsilon: Epsilon) -> int:
        """The place of one of so many candidates, which is paid for; a single one is no choice."""
        if many == 1:
            return 0
        self.spent += epsilon
        return self.choose(score, epsilon)

    def choose(self, score: Score, epsilon: Epsilon, table: PrivateTable | None = None) -> int:
        """The place of one of a score's candidates, among all rows or those of another table."""
        claimed = score.bounds([], Relation.REPLACE, None).sensitivity if self.paper else None
        return int((table or self.table).choose(score, [], epsilon=epsilon, claimed_sensitivity=claimed))

    def specialize(self, name: str, value: Value, children: Cut) -> None:
        """Put finer values in the place of one."""
        at = self.cut[name].index(value)
        self.cut[name] = (*self.cut[name][:at], *children, *self.cut[name][at + 1 :])
        self.steps.append((name, value.name))

    def release(self, epsilon: Epsilon) -> ReleasedTree:
        """Everything, and below it noisy counts of all groups x classes, for what is left of epsilon."""
        table, left = self.table, exact(epsilon) - self.spent
        schema = table.schema
        whole = leaves = Partition.whole(schema)
        leaves = leaves.refined(self.target, np.arange(self.classes), schema[self.target].labels)
        for name, values in self.cut.items():
            leaves = leaves.refined(name, codes_by_value(values, schema[name].size), [value.name for value in values])
        counts = table.recode(*leaves.recoding()).counts([leaves.family], epsilon=left)[0].ravel()
        total, variance = np.empty(0), np.inf
        if table.relation is Relation.REPLACE:
            total, variance = np.array([float(table.public_rows or 0)]), 0.0
        variances = [variance, table.cell_variance(left)]
        return ReleasedTree([whole, leaves], [total, counts], variances, whole_noise=table.whole_noise)


class Walk:
    """Partitions of a schema's domain, each made from the one before by one column's next level.

    The class, if there is one, is divided last. No step makes more cells than `max_leaves`, the
    class's division included; `most` is how often one column may be divided, `fanout` of numeric
    columns without a taxonomy.
    """

    def __init__(
        self, schema: Schema, target: str | None, *, max_leaves: int, fanout: int = 2, most: float = inf
    ) -> None:
        self.schema, self.target = schema, target
        self.trees = {column.name: Hierarchy.of(column, fanout) for column in schema}
        if target is not None:  # one level, whatever its taxonomy, and if there is but one class
            alone = schema[target].size == 1
            flat = Hierarchy.of(replace(schema[target], taxonomy=None))
            self.trees[target] = Hierarchy([(ANY, schema[target].labels[0])]) if alone else flat
        self._room = max_leaves // (schema[target].size if target else 1)
        self._most = most
        self._level = dict.fromkeys(schema.names, 0)
        self.used: list[LevelStep] = []  # what was divided
        self.partitions = [Partition.whole(schema)]
        # per partition, the columns of `leveled` that make its cells
        self.families: list[tuple[str, ...]] = [()]

    def open(self) -> list[str]:
        """The columns that may be divided next."""
        now = self.partitions[-1]
        cells = dict(zip(self.schema.names, now.shape, strict=True))
        found = []
        for name, level in self._level.items():
            after, times = self._next(name), sum(name == column for column, _ in self.steps)
            if name == self.target or after == level or times >= self._most:
                continue
            if now.size // cells[name] * len(self.trees[name].level(after)) <= self._room:
                found.append(name)
        return found

    def _next(self, name: str) -> int:
        """The next level of a column's taxonomy that divides anything; the present one if there is none."""
        tree, level = self.trees[name], self._level[name]
        finer = (t for t in tree.levels if t > level and len(tree.level(t)) > len(tree.level(level)))
        return next(finer, level)

    def go_down(self, rounds: int, choose: Callable[[list[str]], str] | None = None) -> None:
        """Divide open columns, and then the class.

        By default those that were divided least often come first, in the schema's order.
        """
        while len(self.steps) < rounds and (open_ := self.open()):
            self.divide(choose(open_) if choose else min(open_, key=[column for column, _ in self.steps].count))
        if self.target:
            self.divide(self.target)

    def family(self, name: str) -> tuple[str, ...]:
        """The columns of `leveled` that make the cells after a step, and the class."""
        others = [(other, level) for other, level in self._level.items() if level and other not in (name, self.target)]
        last = [(self.target, 1)] if self.target else []
        return tuple(key(*step) for step in [*others, (name, self._next(name)), *last])

    @property
    def steps(self) -> list[LevelStep]:
        """What was divided but the class."""
        return [step for step in self.used if step[0] != self.target]

    def divide(self, name: str) -> None:
        """Divide every cell by a column's next level."""
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

    def leveled(self, table: PrivateTable, steps: Sequence[LevelStep]) -> PrivateTable:
        """The rows with one column per step: in which node of that level the row's value lies."""
        if not steps:
            return table
        trees = [(name, level, self.trees[name]) for name, level in steps]
        divided = [(key(name, level), name, tree.blocks(tree.level(level))) for name, level, tree in trees]
        return table.recode(*block_columns(table.schema, divided))


def key(name: str, level: int) -> str:
    """What `leveled` and the ledger call a column at a level of its taxonomy."""
    return f"{name} (level {level})"


class GeneralizingSynthesizer(Synthesizer):
    """Base of methods that release a tree of counts.

    Attributes
    ----------
    tree_ : ReleasedTree
        Partitions and noisy counts.
    leaf_counts_ : array
        The published counts of the finest partition's cells.
    rows_ : float
        The number of rows: public, or estimated from noisy answers.
    """

    artifacts = ("tree", "leaf_counts")
    tree_: ReleasedTree = fitted_field()
    leaf_counts_: Floats = fitted_field()
    rows_: float = fitted_field()

    def _keep(self, tree: ReleasedTree, *, consistency: bool = True, non_negative: bool = True) -> None:
        """Set the tree, its leaves and the number of rows."""
        self.tree_, total = tree, float(tree.consistent.counts[0][0])
        if consistency:
            fitted = tree.consistent
            self.leaf_counts_ = fitted.non_negative()[-1] if non_negative else fitted.counts[-1]
        else:
            leaves = tree.noisy[-1]
            total = float(tree.noisy[0][0]) if tree.measured_levels[0] else total
            self.leaf_counts_ = project(leaves, leaves.sum()) if non_negative else leaves
        self.rows_ = max(total, 0.0)

    def generalized(self) -> pd.DataFrame:
        """Return the published generalized rows as a DataFrame.

        Its columns are a block name per divided column, and last how many rows, a whole number.
        """
        return self.tree_.rows(self.leaf_counts_)

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        weights = self.leaf_counts_
        if (weights < 0).any():
            weights = project(weights, weights.sum())
        if not weights.sum() > 0:
            weights = np.ones(len(weights))
        return self.tree_.leaves.draw(systematic_sample(weights, n, rng), rng)


class Specializer(PrivateEstimator):
    """Base of methods that specialize one value after the other, and count the groups that are left.

    Parameters
    ----------
    rounds
        h, the number of specializations.
    target
        The class column; by default the schema's.
    max_leaves
        Groups x classes; a specialization that would make more is left out.

    Attributes
    ----------
    steps_ : list of (column, value)
        What was specialized.
    """

    controls = controls_of(PAGES["Specializer"])
    rounds: int = whole(default=10)
    target: str | None = text(default=None)
    max_leaves: int = whole(default=100_000, most=MOST_LEAVES)
    steps_: list[tuple[str, str]] = fitted_field()

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        target = self._target(table.schema, self.target)
        return [leaves_in_turn(table, exact(self.epsilon) / 2, target, self.rounds, self.max_leaves)]

    def _check(self, schema: Schema) -> None:
        check_leaves(self.max_leaves, schema[self._target(schema, self.target)].size)

    def _specialize(self, table: PrivateTable, rated_by: SplitScore, progress: Progress) -> ReleasedTree:
        """Counts of the groups that specializing makes, with all of epsilon."""
        self.target_ = self._target(table.schema, self.target)
        way = Descent(table, self.target_, rated_by, max_leaves=self.max_leaves, paper=self._published)
        share = self._begin(way, progress)
        for done in range(self.rounds):
            progress(0.7 * done / self.rounds, DONE.format(done=done, rounds=self.rounds))
            if not self._descend(way, share):
                break
        self.steps_ = way.steps
        progress(0.7, phrase("Counting groups"))
        return way.release(self.epsilon)

    def _begin(self, way: Descent, progress: Progress) -> Epsilon:
        """What each choice may cost, of half of epsilon in all; some may come before the rounds."""
        return exact(self.epsilon) / (2 * self.rounds)

    @abstractmethod
    def _descend(self, way: Descent, share: Epsilon) -> bool:
        """Specialize a value, with choices of a share each; whether there was one."""


class SpecializingSynthesizer(Specializer, GeneralizingSynthesizer):
    """Base of methods that specialize, and draw rows out of the groups.

    Parameters
    ----------
    score
        What values are chosen by: 'Max', or 'IG', the information gain.
    """

    page = "taxonomy"
    controls = controls_of(PAGES["SpecializingSynthesizer"])
    score: str = choice(default="Max", options=SCORES)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        self._keep(self._specialize(table, SCORES[self.score], progress))


class GroupClassifier(Specializer, PrivateClassifier):
    """Base of methods that release counts of groups by class, and a tree learned from them.

    Parameters
    ----------
    criterion
        What is specialized is chosen by it; the tree itself is grown by entropy.

    Attributes
    ----------
    tree_ : ReleasedTree
        The released groups x classes with their noisy counts.
    leaf_counts_ : array
        The published counts of all groups x classes, 0 or more.
    classifier_ : GroupTree
        What predicts.
    """

    page, artifacts, predictor = "forests", ("tree", "leaf_counts", "classifier"), "classifier"
    controls = controls_of({"criterion": TREE_PAGES["TreeClassifier"]["criterion"]})
    criterion: str = choice(default="Max", options=("Max", "InfoGain"))
    tree_: ReleasedTree = fitted_field()
    leaf_counts_: Floats = fitted_field()
    classifier_: GroupTree = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        self.tree_ = tree = self._specialize(table, CRITERIA[self.criterion], progress)
        self.leaf_counts_ = tree.consistent.non_negative()[-1]
        progress(0.9, phrase("Learning a tree"))
        deviation = tree.variances[-1] ** 0.5
        self.classifier_ = fit_group_tree(tree.leaves, self.leaf_counts_, self.target_, deviation=deviation)


def check_leaves(max_leaves: int, classes: int) -> None:
    """Raise ParameterError unless the leaves have room for the classes."""
    if classes > max_leaves:
        raise ParameterError("The class alone has more values than 'max_leaves'.", "Allow more leaves.")


def leaf_share(table: PrivateTable, epsilon: Epsilon) -> float:
    """The smallest share of epsilon whose noise on the leaves has at most `WORST` times the whole's deviation.

    The least-squares estimate of anything is at least as good as the leaves' own, so that this
    bounds every answer. The deviation of continuous noise is proportional to 1 / epsilon; that of
    noise on whole numbers falls faster.
    """
    low, high, most = 1 / WORST, 1.0, WORST**2 * (1 + 1e-9) * table.cell_variance(epsilon)
    if table.cell_variance(epsilon * exact(low)) <= most:
        return low
    for _ in range(30):
        middle = (low + high) / 2
        enough = table.cell_variance(epsilon * exact(middle)) <= most
        low, high = (low, middle) if enough else (middle, high)
    return high


def leaves_in_turn(
    table: PrivateTable, share: Epsilon, target: str | None, rounds: int, max_leaves: int, most: float = inf
) -> Measurement:
    """The leaves' counts for a share, if columns are divided in turn, numbers in two."""
    shape = shape_in_turn(table.schema, target, rounds, max_leaves, most)
    return Measurement(tuple(range(len(shape))), shape, table.cell_variance(share), prod(shape), merges=True)


@lru_cache(maxsize=32)
def shape_in_turn(schema: Schema, target: str | None, rounds: int, max_leaves: int, most: float) -> tuple[int, ...]:
    """How many parts each column has in the end; asked for many shares."""
    walk = Walk(schema, target, max_leaves=max_leaves, most=most)
    walk.go_down(rounds)
    return walk.partitions[-1].shape
