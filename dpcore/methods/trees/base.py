"""What the methods that release trees share: scores, checks, and one fit for all of them."""

from abc import abstractmethod
from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.accounting.relation import Epsilon, Relation
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute, attributes_of, ticks_of
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import ConditionalEntropy, Gini, InfoGain, Max, SplitScore
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.parameters import Control, learned
from dpcore.methods.trees.controls import CONTROLS
from dpcore.methods.trees.grow import forest_of, grow
from dpcore.methods.trees.plan import Plan
from dpcore.postprocess.forest import Forest

CRITERIA: dict[str, SplitScore] = {
    "Gini": Gini(),
    "Max": Max(),
    "entropy": ConditionalEntropy(),
    "InfoGain": InfoGain(),
}
RESAMPLING = ("disjoint", "poisson", "full")
RIGHT = "Here the source is right: its proof holds where a person is added or removed."
MOST_DEPTH, MOST_TREES = 20, 1_000
DEPTH = "The most divisions from the root to a leaf."
FEATURES = "How many columns a node may choose from: a number, the root of theirs, or all."
CRITERION = "How good a division is."
CUTS = ("numbers", "bins")
WHERE = "Whether numbers are cut anywhere, or between the schema's bins."
SAMPLE = "Which rows a tree sees. Corrected mode; paper mode draws bootstrap samples."
RATE = "Of Poisson samples."
VOTES = ("majority", "probability")
VOTE = "Whether trees vote for a class, or their probabilities are averaged."


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How many trees there are, and which rows each of them sees (as for `PrivateTable.trees`)."""

    trees: int = 1
    resample: str = "full"
    rate: float = 1.0


class TreeClassifier(PrivateClassifier):
    """A method that grows trees by a `Plan`.

    Attributes
    ----------
    forest_ : Forest
        The released trees.
    """

    artifacts = ("forest",)
    controls: ClassVar[tuple[Control, ...]] = CONTROLS
    forest_: Forest = learned()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, sampling = table.schema, self._sampling(table)
        target, attributes = self._target(schema, self.target), self._attributes(schema)
        roots, budget = table.trees(
            target,
            attributes,
            trees=sampling.trees,
            epsilon=self._price,
            resample=sampling.resample,
            rate=sampling.rate,
            plainly_claimed=self.mode == "paper",
        )
        plan, lots = self._plan(table, budget), generator(self.random_state, 1)
        levels = grow(roots, attributes, len(schema), plan, lots, progress)
        claimed, bound = plan.unreached(roots, len(levels) - 1)
        if claimed:
            roots.leave_unasked("levels that no tree reached", claimed, bound)
        self.forest_ = self._finished(
            forest_of(
                levels,
                schema,
                target,
                cuts=self._cuts,
                children=self._children,
                vote=self._vote,
                consistent=self._consistent,
            )
        )
        progress(1.0, "Done")

    @abstractmethod
    def _plan(self, table: PrivateTable, budget: Epsilon) -> Plan:
        """How this method's trees grow, when a record's way through one of them may cost `budget`."""

    def _sampling(self, table: PrivateTable) -> Sampling:
        """One tree of all rows, unless a method says otherwise."""
        return Sampling()

    def _finished(self, forest: Forest) -> Forest:
        """The forest after what a method does to it at last."""
        return forest

    @property
    def _price(self) -> float:
        """What all trees may cost together."""
        return self.epsilon

    @property
    def _cuts(self) -> str:
        """How numbers are divided, as for `attributes_of`."""
        return "values"

    @property
    def _children(self) -> str:
        """How categories are divided, as for `attributes_of`."""
        return "values"

    @property
    def _vote(self) -> str:
        return "majority"

    @property
    def _consistent(self) -> bool:
        return self.mode == "corrected"

    @property
    def _fewest(self) -> float:
        """What `Plan.fewest` is for methods that are printed without it."""
        return 0.0 if self.mode == "paper" else 1.5

    def _attributes(self, schema: Schema) -> dict[int, Attribute]:
        target = self._target(schema, self.target)
        return attributes_of(schema, target, cuts=self._cuts, children=self._children)

    def _numbers(self, frame: pd.DataFrame, schema: Schema) -> dict[int, NDArray[np.float64]]:
        return ticks_of(schema, frame, self._attributes(schema))

    def _check(self, schema: Schema) -> None:
        self._target(schema, self.target)
        criterion = self.get_params().get("criterion")
        score = CRITERIA.get(criterion) if isinstance(criterion, str) else None
        if score is not None and self.relation == Relation.ADD_REMOVE:
            score.bounds([(2, 2)], Relation.ADD_REMOVE, schema.max_rows)  # refuses, where it needs a public bound

    def _per_node(self, schema: Schema, by_default: str = "sqrt") -> int | None:
        """How many columns a node of a forest may choose from; None: all."""
        features = self.get_params()["max_features"] or by_default
        if features == "all":
            return None
        return max(isqrt(len(schema) - 1), 1) if features == "sqrt" else int(features)

    def _where(self, cuts: str | None, anywhere: str) -> str:
        """Where numbers are cut, as for `attributes_of`."""
        return "bins" if cuts == "bins" else anywhere

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column lowers the impurity, in the schema's order without the class, from noisy counts."""
        return np.asarray(self.forest_.importance(), dtype=float)

    def _probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return self.forest_.probability(frame)
