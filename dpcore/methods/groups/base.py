"""What methods share that release counts of generalized rows: a tree of counts, and what is made out of its leaves.

Either rows are drawn out of them, or a decision tree is learned from them.
"""

from abc import abstractmethod
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
import pandas as pd

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.scores import InfoGain, Max, SplitScore
from dpcore.methods.base import Measurement, PrivateClassifier, PrivateEstimator, Synthesizer
from dpcore.methods.groups.descent import Descent
from dpcore.methods.parameters import Control, choice, learned, text, whole
from dpcore.methods.trees.controls import CRITERION
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.group_tree import GroupTree, tree_of
from dpcore.postprocess.simplex import project, systematic_sample

MOST_LEAVES = 1_000_000
DONE = phrase("{done:d} of {rounds:d} specializations")
SCORES: dict[str, SplitScore] = {"Max": Max(), "InfoGain": InfoGain()}
MECHANISMS, NOISE = phrase("Laplace, exponential"), phrase("low")
SURVEY_ROW = MECHANISMS, NOISE, phrase("non-interactive"), phrase("categories, numbers")
LEAVES = "Groups x classes; a specialization that would make more is left out."
WORST = 1.1  # times the noise of leaves alone: the most that "leaves first" allows


class GeneralizingSynthesizer(Synthesizer):
    """Base of methods that release a tree of counts."""

    artifacts = ("tree", "leaf_counts")
    tree_: ReleasedTree = learned("ReleasedTree", "Partitions and noisy counts.")
    leaf_counts_: Floats = learned("array", "The published counts of the finest partition's cells.")
    rows_: float = learned("float", "The number of rows: public, or estimated from noisy answers.")

    def _keep(self, tree: ReleasedTree, *, consistency: bool = True, non_negative: bool = True) -> None:
        """Set the tree, its leaves and the number of rows."""
        self.tree_, total = tree, float(tree.consistent.counts[0][0])
        if consistency:
            fitted = tree.consistent
            self.leaf_counts_ = fitted.non_negative()[-1] if non_negative else fitted.counts[-1]
        else:
            leaves = tree.noisy[-1]
            total = float(tree.noisy[0][0]) if tree.measured[0] else total
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
    """Base of methods that specialize one value after the other, and count the groups that are left."""

    controls: ClassVar[tuple[Control, ...]] = (Control("rounds", "Specializations", within=(1, 20)),)
    rounds: int = whole(default=10, about="h, the number of specializations.")
    target: str | None = text(default=None, about="The class column; by default the schema's.")
    max_leaves: int = whole(default=100_000, most=MOST_LEAVES, about=LEAVES)
    steps_: list[tuple[str, str]] = learned("list of (column, value)", "What was specialized.")

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        target = self._target(table.schema, self.target)
        return [leaves_in_turn(table, exact(self.epsilon) / 2, target, self.rounds, self.max_leaves)]

    def _check(self, schema: Schema) -> None:
        check_leaves(self.max_leaves, schema[self._target(schema, self.target)].size)

    def _specialize(self, table: PrivateTable, rated_by: SplitScore, progress: Progress) -> ReleasedTree:
        """Counts of the groups that specializing makes, with all of epsilon."""
        self.target_ = self._target(table.schema, self.target)
        way = Descent(table, self.target_, rated_by, max_leaves=self.max_leaves, paper=self._published)
        self._descend(way, progress)
        self.steps_ = way.steps
        progress(0.7, phrase("Counting groups"))
        return way.release(self.epsilon)

    @abstractmethod
    def _descend(self, way: Descent, progress: Progress) -> None:
        """Specialize values with at most half of epsilon."""


class GroupClassifier(Specializer, PrivateClassifier):
    """Base of methods that release counts of groups by class, and a tree learned from them."""

    page, artifacts, predictor = "forests", ("tree", "leaf_counts", "classifier"), "classifier"
    controls = (CRITERION,)
    criterion: str = choice(
        default="Max", options=SCORES, about="What is specialized is chosen by it; the tree itself is grown by entropy."
    )
    tree_: ReleasedTree = learned("ReleasedTree", "The released groups x classes with their noisy counts.")
    leaf_counts_: Floats = learned("array", "The published counts of all groups x classes, 0 or more.")
    classifier_: GroupTree = learned("GroupTree", "What predicts.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        self.tree_ = tree = self._specialize(table, SCORES[self.criterion], progress)
        self.leaf_counts_ = tree.consistent.non_negative()[-1]
        progress(0.9, phrase("Learning a tree"))
        deviation = tree.variances[-1] ** 0.5
        self.classifier_ = tree_of(tree.leaves, self.leaf_counts_, self.target_, deviation=deviation)


def check_leaves(max_leaves: int, classes: int) -> None:
    """Raise ParameterError unless the leaves have room for the classes."""
    if classes > max_leaves:
        raise ParameterError("The class alone has more values than 'max_leaves'.", "Allow more leaves.")


def leaf_share(table: PrivateTable, epsilon: Epsilon) -> float:
    """The smallest share of epsilon whose noise on the leaves has at most `WORST` times the whole's deviation.

    The least-squares estimate of anything is at least as good as the leaves' own, so that this bounds every answer. The
    deviation of continuous noise is proportional to 1 / epsilon; that of noise on whole numbers falls faster.
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
    table: PrivateTable, share: Epsilon, target: str | None, rounds: int, max_leaves: int
) -> Measurement:
    """The leaves' counts for a share, if columns are divided in turn, numbers in two."""
    schema = table.schema
    sizes = [column.size if column.name == target else 1 for column in schema]
    trees = {c.name: Hierarchy.of(c) for c in schema if c.taxonomy and not c.numeric}
    for level, (j, column) in product(range(1, rounds + 1), enumerate(schema)):
        parts = 2**level if column.numeric else column.size
        parts = min(len(trees[column.name].level(level)) if column.name in trees else parts, column.size)
        if rounds and sizes[j] < parts and prod(sizes) // sizes[j] * parts <= max_leaves:
            sizes[j], rounds = parts, rounds - 1
    variance, every = table.cell_variance(share), tuple(range(len(sizes)))
    return Measurement(every, tuple(sizes), variance, prod(sizes), merges=True)
