"""Shared parts of the methods that release trees: scores, checks, fitting, forest parameters."""

from abc import abstractmethod
from math import isqrt, log2
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.accounting.privacy_measure import PURE
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute, NumberSplit, attributes_of
from dpcore.door import PrivateTable
from dpcore.door.nodes import tree_budget
from dpcore.errors import ParameterError
from dpcore.language import phrase, plural, say
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max, SplitScore
from dpcore.methods.base import Measurement, PrivateClassifier
from dpcore.methods.parameters import choice, controls_of, fitted_field, number, whole
from dpcore.methods.trees.grow import (
    FEWEST,
    ExponentialChooser,
    GrowthPlan,
    PathBudget,
    SplitChooser,
    grow,
    make_forest,
)
from dpcore.postprocess.forest import Forest
from dpcore.rows import NumberRule
from dpcore.text import read_toml

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
CRITERIA: dict[str, SplitScore] = {
    "Gini": Gini(),
    "Max": Max(),
    "entropy": ConditionalEntropy(),
    "InfoGain": InfoGain(),
}
MOST_DEPTH, MOST_TREES = 20, 1_000
FEATURES, SPLIT_POINTS, CHILDREN = ("sqrt", "all"), ("numbers", "bins"), ("grouped", "values", "one_vs_rest")
SAMPLING, VOTES = ("disjoint", "poisson", "full"), ("majority", "probability")
MIXED = "Gini then Max"
USUAL_ROWS = 10_000  # for sizes of forests, if no public number of rows is declared


def rows_bound_note(method: Any, schema: Schema) -> str:
    """Return a hint to declare a bound on the rows, if the chosen score needs one; else nothing."""
    if method.criterion != "entropy" or schema.max_rows is not None:
        return ""
    return phrase("Entropy needs a public bound on the number of rows: declare one on the page Data.")


def choices_note(method: Any, _: Schema) -> str:
    """Return a sentence with the share of epsilon that is left to choose splits."""
    left = 1 - method.count_share - method.leaf_share
    if left < 0.01:
        return phrase(":red[:material/error: No epsilon is left to choose splits. Lower the share of nodes or leaves.]")
    return say("{left:.0%} of epsilon is left to choose the splits.", left=left)


class TreeClassifier(PrivateClassifier):
    """Base of methods that grow decision trees.

    Attributes
    ----------
    forest_ : Forest
        The released trees.
    """

    paper, page, artifacts = "003", "forests", ("forest",)
    controls = controls_of(
        PAGES["TreeClassifier"], criterion={"note": rows_bound_note}, leaf_share={"note": choices_note}
    )
    forest_: Forest = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Grow the trees, charge the levels that no tree reached, and store the forest."""
        schema, paper = table.schema, self._published
        target, attributes = self._target(schema, self.target), self._attributes(schema)
        sampling = self._sampling(table)
        roots, budget = table.trees(target, attributes, epsilon=self._tree_epsilon, plainly_claimed=paper, **sampling)
        plan, rng = self._plan(table, budget), generator(self.random_state, 1)
        levels = grow(roots, attributes, len(schema), plan, rng, progress)
        claimed, bound = plan.unspent(roots, len(levels) - 1)
        if claimed:
            roots.charge_unused("levels that no tree reached", claimed, bound)
        vote = self.get_params().get("vote", "majority")
        self.forest_ = make_forest(levels, schema, target, **self._splits, vote=vote, consistent=self._consistent)

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return number and noise variance of the leaves' class counts, for a forecast.

        The number is as if every level were split.
        """
        sampling, schema, rows = self._sampling(table), table.schema, table.public_rows or 1
        trees, resample, rate = (sampling.get(name, 1.0) for name in ("trees", "resample", "rate"))
        options = trees, exact(self._tree_epsilon), resample, rate, rows
        part, budget = tree_budget(table.ledger, *options, plainly_claimed=self._published)
        plan, samples = self._plan(table, budget), {"disjoint": trees, "poisson": 1 / rate}.get(resample, 1)
        ranges = [(one, *np.array([one.start]).T) for one in self._attributes(schema).values()]
        fans = [one.fanout(low, high)[0] for one, low, high in ranges]
        scale = PURE.scale(plan.budget.leaves[-1], part.relation.histogram_l1)
        leaves = float(np.mean(fans or [1])) ** plan.depth
        if plan.noisy_stop and plan.budget.counts[0]:  # nodes with fewer rows are leaves
            least = scale * schema[self._target(schema, self.target)].size
            leaves = max(min(leaves, rows / samples / least), 1.0)
        return [Measurement((), (), 2 * scale**2, samples * leaves)]

    @abstractmethod
    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """Return the rules by which trees grow; a record's path through one tree costs `budget`."""

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        """Return the number of trees and their samples of rows, for `PrivateTable.trees`."""
        return {"trees": 1, "resample": "full"}

    @property
    def _tree_epsilon(self) -> float:
        """The epsilon that all trees may cost together."""
        return self.epsilon

    @property
    def _splits(self) -> dict[str, str]:
        """Arguments of `attributes_of`, by the parameters: how numbers and categories are split.

        A method without such parameters has one child per value.
        """
        given = {"cuts": "values", "categorical_splits": "values"} | self.get_params()
        numbers = "lengths" if self._published else "numbers"
        points = given["cuts"] if given["cuts"] in ("values", "bins") else numbers
        return {"cuts": points, "children": given["categorical_splits"]}

    @property
    def _consistent(self) -> bool:
        """Whether least squares makes all counts of a tree consistent."""
        return self.mode == "corrected" and bool(self.get_params().get("consistency", True))

    def _equal_plan(
        self, budget: Epsilon, depth: int, chooser: SplitChooser | None = None, steps: int = 1, **options: Any
    ) -> GrowthPlan:
        """Return rules of tree growth with the same epsilon on all levels, as most sources have.

        `chooser` chooses splits, in `steps` choices per level; by default the exponential mechanism
        chooses by `criterion`. In corrected mode, a leaf that stops early spends what its records
        do not need further down, and single records are not split. `options` set other fields of
        `GrowthPlan`.
        """
        published = self._published
        chooser = chooser or ExponentialChooser(score=CRITERIA[self.get_params()["criterion"]], standard=published)
        shares = PathBudget.equal(budget, depth, steps=steps, refund=not published)
        return GrowthPlan(choosers=[chooser] * depth, budget=shares, fewest=0.0 if published else FEWEST, **options)

    def _attributes(self, schema: Schema) -> dict[int, Attribute]:
        """Return, by column position, how a tree can split nodes by the column."""
        return attributes_of(schema, self._target(schema, self.target), **self._splits)

    def _number_rules(self, schema: Schema) -> dict[int, NumberRule]:
        """Return, by column position, the rule that maps numbers to steps of the split grid."""
        attributes = self._attributes(schema).items()
        return {index: one.steps for index, one in attributes if isinstance(one, NumberSplit)}

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the schema or the split score does not fit this method."""
        super()._check(schema)
        criterion = self.get_params().get("criterion")
        if criterion in CRITERIA:
            self._check_score(CRITERIA[criterion], schema)

    def _columns_per_node(self, schema: Schema, by_default: str = "sqrt") -> int | None:
        """Return the number of columns that a node may choose from; None for all.

        `by_default` replaces `max_features` if that is None.
        """
        features = self.get_params()["max_features"] or by_default
        if features == "all":
            return None
        return max(isqrt(len(schema) - 1), 1) if features == "sqrt" else int(features)

    @property
    def feature_importances_(self) -> Floats:
        """The share of impurity reduction of each column, in the schema's order without the class.

        Computed from noisy counts, so at no privacy loss.
        """
        return np.asarray(self.forest_.importance(), dtype=float)


class ForestClassifier(TreeClassifier):
    """Base of forests that split numbers.

    Parameters
    ----------
    n_trees
        The number of trees. By default the paper's 25 as published, and by `sizes_for` in corrected
        mode.
    max_depth
        The most splits from the root to a leaf. By default the paper's 5 as published, and by
        `sizes_for` in corrected mode.
    max_features
        The number of columns that a node may choose from: a number, 'sqrt' (the square root of
        their number), or 'all'. By default 'sqrt' as published, 'all' in corrected mode.
    criterion
        The score of a split. By default InfoGain as published. In corrected mode Gini, and Max on
        the last two levels that are split, except the root. Near the root, Gini sees differences
        that Max misses; further down, Max has half the noise. 'entropy' is the
        conditional entropy times the number of records, and needs a public bound on that number.
    cuts
        Where numbers are split: 'numbers', anywhere in their range, or 'bins', between the schema's
        bins. By default anywhere. In corrected mode all bins have the same weight beforehand, in
        the paper all lengths.
    categorical_splits
        The children of a categorical column (`attributes_of`). As published, one per value, or one
        value and the rest: there 'grouped' is read as 'values'.
    split_selection
        Corrected mode: 'joint' chooses column and split point at once. 'two_stage' is the paper's
        way: first a split point for each numeric column, then the column.
    resample
        The rows that each tree sees. As published, bootstrap samples.
    rate
        The sampling rate of Poisson samples.
    count_share
        Corrected mode: the share of epsilon for the numbers of records in nodes. With 0, these are
        not measured, and nodes stop at the last level only. The paper has 1/2.
    leaf_share
        Corrected mode: the share of epsilon for the classes in the last leaves; the rest chooses
        splits. The paper has 1/(2(max_depth + 1)).
    growth
        Corrected mode: the epsilon of a level's choices, as a multiple of the level above. The
        paper has 1.
    vote
        Whether each tree votes for a class, or the trees' probabilities are averaged.

    Attributes
    ----------
    n_trees_ : int
        The number of trees that were grown.
    max_depth_ : int
        The most splits from the root to a leaf.
    """

    n_trees: int | None = whole(default=None, maximum=MOST_TREES)
    max_depth: int | None = whole(default=None, maximum=MOST_DEPTH)
    max_features: int | str | None = whole(default=None, words=FEATURES)
    criterion: str | None = choice(default=None, options=(MIXED, *CRITERIA))
    cuts: str | None = choice(default=None, options=SPLIT_POINTS)
    categorical_splits: str = choice(default="grouped", options=CHILDREN)
    split_selection: str = choice(default="joint", options=("joint", "two_stage"))
    resample: str = choice(default="disjoint", options=SAMPLING)
    rate: float = number(default=0.2, maximum=1, open="()")
    count_share: float = number(default=0.0, maximum=1, open=")")
    leaf_share: float = number(default=0.3, maximum=1, open=")")
    growth: float = number(default=1.4, minimum=0.1, maximum=10)
    vote: str = choice(default="majority", options=VOTES)
    n_trees_: int = fitted_field()
    max_depth_: int = fitted_field()

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the schema does not fit, or no epsilon is left for splits."""
        super()._check(schema)
        if self.count_share + self.leaf_share >= 1:
            raise ParameterError("The sum of 'count_share' and 'leaf_share' must be below 1.", "Lower one of the two.")

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        """Set `n_trees_` and `max_depth_`, and return the number of trees and their sampling."""
        trees, depth = self._sizes(table)
        self.n_trees_, self.max_depth_ = self.n_trees or trees, self.max_depth or depth
        return {"trees": self.n_trees_, "resample": self.resample, "rate": self.rate}

    def describe_size_rule(self, rows: int | None) -> str:
        """Return a sentence with the default number of trees and depth, from public numbers.

        The text is empty if both parameters are set, and in published mode.
        """
        if self._published or (self.n_trees and self.max_depth):
            return ""
        trees, depth = sizes_for(rows, self.epsilon, self.n_trees)
        if rows:
            why = phrase("{rows:,} rows, the public number or bound, and epsilon {epsilon:g}")
        else:
            why = phrase("{rows:,} rows, as no public number is declared, and epsilon {epsilon:g}")
        text = say(
            "Size by rule: {trees}, at most {depth} levels deep (from {why}).",
            trees=plural("one tree", "{n:,} trees", trees),
            depth=self.max_depth or depth,
            why=say(why, rows=rows or USUAL_ROWS, epsilon=float(self.epsilon)),
        )
        shared = trees == 1 and not self.n_trees and self.resample == "disjoint"
        return text + shared * say(" More trees would have to share these rows, and would usually predict worse.")

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        """Return the default number of trees and the default depth, from public numbers."""
        return sizes_for(table.public_rows, self.epsilon, self.n_trees)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """Return rules of tree growth: shares of epsilon by parameter, and each level's score.

        A record's path through one tree costs `budget`.
        """
        depth, counts, leaves = self.max_depth_, self.count_share, self.leaf_share
        return GrowthPlan(
            choosers=[ExponentialChooser(score=score, selection=self.split_selection) for score in self._scores(depth)],
            budget=PathBudget.from_shares(budget, depth, counts=counts, leaves=leaves, growth=self.growth),
            columns_per_node=self._columns_per_node(table.schema, by_default="all"),
        )

    def _scores(self, depth: int) -> list[SplitScore]:
        """Return the split score of each of the `depth` levels, from the root on."""
        if self.criterion is not None and self.criterion != MIXED:
            return [CRITERIA[self.criterion]] * depth
        first = max(1, depth - 2)
        return [CRITERIA["Gini" if level < first else "Max"] for level in range(depth)]


def sizes_for(rows: int | None, epsilon: float, trees: int | None = None) -> tuple[int, int]:
    """Return the default number of trees and depth, from the public number of rows n and epsilon.

    `trees` is the number of trees if it is set already. Without a public number of rows, n is
    `USUAL_ROWS`. Let z = n epsilon / t for t trees. A leaf's noise is about 5 / epsilon records if
    the leaf has .3 of epsilon, and the best of a hundred splits is distinguished by a gain of about
    10 / (.2 epsilon) records. So leaves need about 500 / epsilon records, and the depth is log2(z /
    500). Several trees are better than one if each of them still grows deep. All of this was found
    on the bundled sample and on Big5, not on Adult.
    """
    z = (USUAL_ROWS if rows is None else rows) * epsilon
    many = trees or (1 if z < 100_000 else 3)
    each = z / many
    return many, max(2 if each < 600 else 3, min(8, round(log2(max(each, 1) / 500))))
