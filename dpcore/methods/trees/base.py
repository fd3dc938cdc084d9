"""What the methods that release trees share: scores, checks, one fit for all of them, and the parameters of forests."""

from abc import abstractmethod
from math import isqrt, log2
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.accounting.currency import PURE
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
from dpcore.methods.trees.grow import FEWEST, Budget, Chooser, Exponential, GrowthPlan, forest_of, grow
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
FEATURES, CUTS, CHILDREN = ("sqrt", "all"), ("numbers", "bins"), ("grouped", "values", "one_vs_rest")
SAMPLING, VOTES = ("disjoint", "poisson", "full"), ("majority", "probability")
MIXED = "Gini then Max"
USUAL_ROWS = 10_000


def rows_bound_note(method: Any, schema: Schema) -> str:
    """What a score lacks that counts rows."""
    if method.criterion != "entropy" or schema.max_rows is not None:
        return ""
    return phrase("Entropy needs a public bound on the number of rows: declare one on the page Data.")


def choices_note(method: Any, _: Schema) -> str:
    """What choices have of epsilon."""
    left = 1 - method.count_share - method.leaf_share
    if left < 0.01:
        return phrase(":red[:material/error: Nothing is left to choose divisions with. Lower one of the two.]")
    return say("{left:.0%} of epsilon choose the divisions.", left=left)


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
        schema, paper = table.schema, self._published
        target, attributes = self._target(schema, self.target), self._attributes(schema)
        sampling = self._sampling(table)
        roots, budget = table.trees(target, attributes, epsilon=self._loss, plainly_claimed=paper, **sampling)
        plan, rng = self._plan(table, budget), generator(self.random_state, 1)
        levels = grow(roots, attributes, len(schema), plan, rng, progress)
        claimed, bound = plan.unreached(roots, len(levels) - 1)
        if claimed:
            roots.charge_unused("levels that no tree reached", claimed, bound)
        vote = self.get_params().get("vote", "majority")
        self.forest_ = forest_of(levels, schema, target, **self._splits, vote=vote, consistent=self._consistent)

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return the counts of the leaves, as if all levels were divided."""
        sampling, schema, rows = self._sampling(table), table.schema, table.public_rows or 1
        trees, resample, rate = (sampling.get(name, 1.0) for name in ("trees", "resample", "rate"))
        way = trees, exact(self._loss), resample, rate, rows
        part, budget = tree_budget(table.ledger, *way, plainly_claimed=self._published)
        plan, samples = self._plan(table, budget), {"disjoint": trees, "poisson": 1 / rate}.get(resample, 1)
        ends = [(one, *np.array([one.start]).T) for one in self._attributes(schema).values()]
        fans = [one.fanout(low, high)[0] for one, low, high in ends]
        scale = PURE.scale(plan.budget.leaves[-1], part.relation.histogram_l1)
        leaves = float(np.mean(fans or [1])) ** plan.depth
        if plan.noisy_stop and plan.budget.counts[0]:  # nodes of fewer rows are leaves before
            least = scale * schema[self._target(schema, self.target)].size
            leaves = max(min(leaves, rows / samples / least), 1.0)
        return [Measurement((), (), 2 * scale**2, samples * leaves)]

    @abstractmethod
    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """How this method's trees grow, when a record's way through one of them may cost `budget`."""

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        """How many trees there are, and which rows each of them sees, as for `PrivateTable.trees`."""
        return {"trees": 1, "resample": "full"}

    @property
    def _loss(self) -> float:
        """What all trees may cost together."""
        return self.epsilon

    @property
    def _splits(self) -> dict[str, str]:
        """How numbers and categories are divided, as for `attributes_of`.

        A child per value, if a method leaves no choice.
        """
        known = {"cuts": "values", "categorical_splits": "values"} | self.get_params()
        numbers = "lengths" if self._published else "numbers"
        points = known["cuts"] if known["cuts"] in ("values", "bins") else numbers
        return {"cuts": points, "children": known["categorical_splits"]}

    @property
    def _consistent(self) -> bool:
        """Whether all counts of a tree are made to agree."""
        return self.mode == "corrected" and bool(self.get_params().get("consistency", True))

    def _equal_plan(
        self, budget: Epsilon, depth: int, chooser: Chooser | None = None, steps: int = 1, **how: Any
    ) -> GrowthPlan:
        """What most sources print: the same for all levels, by default choices by `criterion`.

        Corrected, leaves have what their records did not need further down, and a single record is
        not divided.
        """
        published = self._published
        chooser = chooser or Exponential(score=CRITERIA[self.get_params()["criterion"]], ordinary=published)
        shares = Budget.equal(budget, depth, steps=steps, refund=not published)
        return GrowthPlan(choosers=[chooser] * depth, budget=shares, fewest=0.0 if published else FEWEST, **how)

    def _attributes(self, schema: Schema) -> dict[int, Attribute]:
        return attributes_of(schema, self._target(schema, self.target), **self._splits)

    def _number_rules(self, schema: Schema) -> dict[int, NumberRule]:
        attributes = self._attributes(schema).items()
        return {index: one.steps for index, one in attributes if isinstance(one, NumberSplit)}

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        criterion = self.get_params().get("criterion")
        if criterion in CRITERIA:
            self._check_score(CRITERIA[criterion], schema)

    def _per_node(self, schema: Schema, by_default: str = "sqrt") -> int | None:
        """How many columns a node of a forest may choose from; None: all."""
        features = self.get_params()["max_features"] or by_default
        if features == "all":
            return None
        return max(isqrt(len(schema) - 1), 1) if features == "sqrt" else int(features)

    @property
    def feature_importances_(self) -> Floats:
        """The share of impurity reduction of each column, in the schema's order without the class.

        From noisy counts, so at no privacy loss.
        """
        return np.asarray(self.forest_.importance(), dtype=float)


class ForestClassifier(TreeClassifier):
    """Base of forests that split numbers.

    Parameters
    ----------
    n_trees
        How many trees. By default the paper's 25 trees of depth 5, and by `sizes_for` in corrected
        mode.
    max_depth
        The most splits from the root to a leaf. By default the paper's 25 trees of depth 5, and by
        `sizes_for` in corrected mode.
    max_features
        How many columns a node may choose from: a number, the root of theirs, or all. By default
        the root of theirs as published, all in corrected mode.
    criterion
        How splits are scored. By default InfoGain as published. In corrected mode Gini, and Max on
        the last two levels that are split, but not at the root: near the root Gini sees what Max
        does not, further down Max has half its noise. 'entropy' counts records (conditional entropy
        times their number) and needs a public bound on theirs.
    cuts
        Whether numbers are cut anywhere, or between the schema's bins. By default anywhere.
        Corrected mode gives every bin the same weight beforehand, the paper every length.
    categorical_splits
        What categories fall into (`attributes_of`). As published, single values, or one value and
        the rest: 'grouped' is read as 'values' there.
    split_selection
        Corrected mode: column and cut at once, or the paper's cuts first, one for each column that
        is cut in two.
    resample
        Which rows a tree sees. As published, bootstrap samples.
    rate
        Of Poisson samples.
    count_share
        Corrected mode: the part of epsilon for the numbers of records; 0 asks for none, and nodes
        stop at the last level only. The paper has 1/2.
    leaf_share
        Corrected mode: the part of epsilon for the last leaves' classes; the rest chooses. The
        paper has 1/(2(max_depth + 1)).
    growth
        Corrected mode: how many times the epsilon of the level above a level's choices have. Paper:
        1.
    vote
        Whether trees vote for a class, or their probabilities are averaged.

    Attributes
    ----------
    n_trees_ : int
        How many trees were grown.
    max_depth_ : int
        How deep they may be.
    """

    n_trees: int | None = whole(default=None, most=MOST_TREES)
    max_depth: int | None = whole(default=None, most=MOST_DEPTH)
    max_features: int | str | None = whole(default=None, words=FEATURES)
    criterion: str | None = choice(default=None, options=(MIXED, *CRITERIA))
    cuts: str | None = choice(default=None, options=CUTS)
    categorical_splits: str = choice(default="grouped", options=CHILDREN)
    split_selection: str = choice(default="joint", options=("joint", "two_stage"))
    resample: str = choice(default="disjoint", options=SAMPLING)
    rate: float = number(default=0.2, most=1, open="()")
    count_share: float = number(default=0.0, most=1, open=")")
    leaf_share: float = number(default=0.3, most=1, open=")")
    growth: float = number(default=1.4, least=0.1, most=10)
    vote: str = choice(default="majority", options=VOTES)
    n_trees_: int = fitted_field()
    max_depth_: int = fitted_field()

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self.count_share + self.leaf_share >= 1:
            raise ParameterError("The parameters count_share and leaf_share leave nothing for choices.", "Lower one.")

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        trees, depth = self._sizes(table)
        self.n_trees_, self.max_depth_ = self.n_trees or trees, self.max_depth or depth
        return {"trees": self.n_trees_, "resample": self.resample, "rate": self.rate}

    def describe_size_rule(self, rows: int | None) -> str:
        if self._published or (self.n_trees and self.max_depth):
            return ""
        trees, depth = sizes_for(rows, self.epsilon, self.n_trees)
        if rows:
            why = phrase("{rows:,} rows, the public number or bound, and epsilon {epsilon:g}")
        else:
            why = phrase("{rows:,} rows, as no public number is declared, and epsilon {epsilon:g}")
        text = say(
            "By rule: {trees}, at most {depth} levels deep (from {why}).",
            trees=plural("one tree", "{n:,} trees", trees),
            depth=self.max_depth or depth,
            why=say(why, rows=rows or USUAL_ROWS, epsilon=float(self.epsilon)),
        )
        shared = trees == 1 and not self.n_trees and self.resample == "disjoint"
        return text + (say(" More would have to share these rows, and as a rule be worse.") if shared else "")

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        """Trees and depth where nobody says, from what is public."""
        return sizes_for(table.public_rows, self.epsilon, self.n_trees)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        depth = self.max_depth_
        return GrowthPlan(
            choosers=[Exponential(score=score, selection=self.split_selection) for score in self._scores(depth)],
            budget=Budget.of(budget, depth, counts=self.count_share, leaves=self.leaf_share, growth=self.growth),
            per_node=self._per_node(table.schema, by_default="all"),
        )

    def _scores(self, depth: int) -> list[SplitScore]:
        """The score of every level that is divided."""
        if self.criterion is not None and self.criterion != MIXED:
            return [CRITERIA[self.criterion]] * depth
        first = max(1, depth - 2)
        return [CRITERIA["Gini" if level < first else "Max"] for level in range(depth)]


def sizes_for(rows: int | None, epsilon: float, trees: int | None = None) -> tuple[int, int]:
    """How many trees and how deep, from the public number of rows n (`USUAL_ROWS` if that is not known) and epsilon.

    With z = n epsilon / t, a leaf's noise is about 5 / epsilon records if it has .3 of epsilon, and
    the best of a hundred divisions is told apart by a gain of some 10 / (.2 epsilon) records. So
    leaves need about 500 / epsilon records, and the depth is log2(z / 500). More trees than one pay
    when each still grows deep. All of this was found on the bundled sample and on Big5, not on
    Adult.
    """
    z = (USUAL_ROWS if rows is None else rows) * epsilon
    many = trees or (1 if z < 100_000 else 3)
    each = z / many
    return many, max(2 if each < 600 else 3, min(8, round(log2(max(each, 1) / 500))))
