"""What the methods that release trees share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.attributes import Attribute, attributes_of, numbers_of
from dpcore.classifying import PrivateClassifier
from dpcore.errors import ParameterError
from dpcore.forest import Forest
from dpcore.growing import Grown, grow
from dpcore.ledger import Epsilon
from dpcore.noise import generator
from dpcore.plans import Plan
from dpcore.private import PrivateTable
from dpcore.progress import Progress
from dpcore.schema import Schema
from dpcore.scores import ConditionalEntropy, Gini, InfoGain, Max, SplitScore
from dpcore.settling import forest_of

__all__ = ["SCORES", "TreeClassifier"]

SCORES: dict[str, SplitScore] = {
    "Max": Max(),
    "Gini": Gini(),
    "entropy": ConditionalEntropy(),
    "InfoGain": InfoGain(),
}
MOST_DEPTH, MOST_TREES = 20, 1_000


class TreeClassifier(PrivateClassifier):
    """A method that grows trees by a `Plan`.

    Attributes
    ----------
    forest_ : Forest
        The released trees.
    """

    forest_: Forest

    noise: str
    mode: str

    @property
    def _cuts(self) -> str:
        """How numbers are divided, as for `attributes_of`."""
        return "values"

    @property
    def _taxonomies(self) -> bool:
        return False

    def _numbers(self, frame: pd.DataFrame, schema: Schema) -> dict[int, NDArray[np.float64]]:
        return numbers_of(schema, frame, self._attributes(schema))

    def _attributes(self, schema: Schema) -> dict[int, Attribute]:
        target = self._target(schema, self.target)
        return attributes_of(schema, target, cuts=self._cuts, taxonomies=self._taxonomies)

    def _check_trees(self, schema: Schema, *names: str) -> None:
        self._target(schema, self.target)
        self._check_whole(*names)
        for name, most in (("max_depth", MOST_DEPTH), ("n_trees", MOST_TREES)):
            if name in names and getattr(self, name) > most:
                raise ParameterError(f"The {name!r} parameter is too large.", f"At most {most:,}.")
        if self.noise == "opendp" and self._cuts == "numbers":
            raise ParameterError(
                "OpenDP's noise chooses no cuts among real numbers.", "Use cuts='bins', or NumPy's noise."
            )

    def _grow(
        self, table: PrivateTable, progress: Progress, *, trees: int, resample: str, rate: float = 1.0
    ) -> list[Grown]:
        """Grow the trees of this method's plan."""
        schema, target = table.schema, self._target(table.schema, self.target)
        attributes = self._attributes(schema)
        roots, budget = table.trees(
            target,
            attributes,
            trees=trees,
            epsilon=self.epsilon,
            resample=resample,
            rate=rate,
            plainly_claimed=self.mode == "paper",
        )
        plan = self._plan(schema, budget)
        return grow(roots, attributes, len(schema), plan, generator(self.random_state, 1), progress)

    def _settle(self, levels: list[Grown], schema: Schema, *, vote: str, consistent: bool) -> None:
        self.forest_ = forest_of(
            levels,
            schema,
            self._target(schema, self.target),
            cuts=self._cuts,
            taxonomies=self._taxonomies,
            vote=vote,
            consistent=consistent,
        )

    @abstractmethod
    def _plan(self, schema: Schema, budget: Epsilon) -> Plan:
        """How this method's trees grow, when a record's way through one of them may cost `budget`."""

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column lowers the impurity, in the schema's order without the class, from noisy counts."""
        return np.asarray(self.forest_.importance(), dtype=float)

    def _probability(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return self.forest_.probability(frame)

    def structure(self) -> dict[str, Any]:
        """The trees."""
        return {"forest": self.forest_.to_dict()}
