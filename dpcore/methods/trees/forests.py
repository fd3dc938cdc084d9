"""What DiffPRFs and the plain forest share: their parameters, and the plan of a forest in corrected mode."""

from math import log2

from dpcore.accounting.relation import Epsilon
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import SplitScore
from dpcore.methods.parameters import choice, number, whole
from dpcore.methods.trees.base import (
    CRITERIA,
    CUTS,
    DEPTH,
    FEATURES,
    MOST_DEPTH,
    MOST_TREES,
    RATE,
    RESAMPLING,
    SAMPLE,
    VOTE,
    VOTES,
    WHERE,
    Sampling,
    TreeClassifier,
)
from dpcore.methods.trees.plan import Budget, Exponential, Plan

MIXED = "Gini then Max"
SIZES = "By default the paper's 25 trees of depth 5, and by `sizes_for` in corrected mode."
USUAL_ROWS = 10_000


class ForestClassifier(TreeClassifier):
    """A forest that cuts numbers.

    Attributes
    ----------
    n_trees_, max_depth_ : int
        What was grown.
    """

    n_trees: int | None = whole(default=None, most=MOST_TREES, optional=True, about=f"How many trees. {SIZES}")
    max_depth: int | None = whole(default=None, most=MOST_DEPTH, optional=True, about=f"{DEPTH} {SIZES}")
    max_features: int | str | None = whole(
        default=None,
        words=("sqrt", "all"),
        optional=True,
        about=f"{FEATURES} By default the root of theirs in paper mode, all in corrected mode.",
    )
    criterion: str | None = choice(
        default=None,
        options=(MIXED, *CRITERIA),
        optional=True,
        about="How good a division is. By default InfoGain in paper mode. In corrected mode Gini, and Max on the last "
        "two levels that are divided, but not at the root: near the root Gini sees what Max does not, further down Max "
        "has half its noise. 'entropy' counts records (conditional entropy times their number) and needs a public "
        "bound on theirs.",
    )
    cuts: str | None = choice(
        default=None,
        options=CUTS,
        optional=True,
        about=f"{WHERE} By default anywhere. Corrected mode gives every bin the same weight beforehand, paper mode "
        "every length.",
    )
    children: str = choice(
        default="few",
        options=("few", "values"),
        about="Corrected mode: what categories fall into (`attributes_of`); in paper mode single values.",
    )
    steps: str = choice(
        default="one",
        options=("one", "two"),
        about="Corrected mode: column and cut at once, or the paper's cuts first, one for each column that is cut "
        "in two.",
    )
    resample: str = choice(default="disjoint", options=RESAMPLING, about=SAMPLE)
    rate: float = number(default=0.2, most=1, open="()", about=RATE)
    count_share: float = number(
        default=0.0,
        most=1,
        open=")",
        about="Corrected mode: the part of epsilon for the numbers of records; 0 asks for none, and nodes stop at the "
        "last level only. The paper has 1/2.",
    )
    leaf_share: float = number(
        default=0.3,
        most=1,
        open=")",
        about="Corrected mode: the part of epsilon for the last leaves' classes; the rest chooses. The paper has "
        "1/(2(max_depth + 1)).",
    )
    growth: float = number(
        default=1.4,
        least=0.1,
        most=10,
        about="Corrected mode: how many times the epsilon of the level above a level's choices have. Paper: 1.",
    )
    vote: str = choice(default="majority", options=VOTES, about=VOTE)

    @property
    def _cuts(self) -> str:
        return self._where(self.cuts, "numbers")

    @property
    def _children(self) -> str:
        return self.children

    @property
    def _vote(self) -> str:
        return self.vote

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self.count_share + self.leaf_share >= 1:
            raise ParameterError("The parameters count_share and leaf_share leave nothing for choices.", "Lower one.")

    def _sampling(self, table: PrivateTable) -> Sampling:
        trees, depth = self._sizes(table)
        self.n_trees_, self.max_depth_ = self.n_trees or trees, self.max_depth or depth
        return Sampling(trees=self.n_trees_, resample=self.resample, rate=self.rate)

    def foretold(self, rows: int | None) -> str:
        """See `PrivateEstimator.foretold`."""
        if self.mode == "paper" or (self.n_trees and self.max_depth):
            return ""
        trees, depth = sizes_for(rows, self.epsilon, self.n_trees)
        many = "one tree" if trees == 1 else f"{trees:,} trees"
        known = "the public number or bound" if rows else "as no public number is declared"
        why = f"{rows or USUAL_ROWS:,} rows, {known}, and epsilon {self.epsilon:g}"
        return f"By rule: {many}, at most {self.max_depth or depth} levels deep (from {why})."

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        """Trees and depth where nobody says, from what is public."""
        return sizes_for(table.public_rows, self.epsilon, self.n_trees)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> Plan:
        depth = self.max_depth_
        shares = Budget.shared(budget, depth, counts=self.count_share, leaves=self.leaf_share, growth=self.growth)
        return Plan(
            depth=depth,
            choosers=[Exponential(score=score, steps=self.steps) for score in self._scores(depth)],
            budget=shares,
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

    With z = n epsilon / t, a leaf's noise is about 5 / epsilon records if it has .3 of epsilon, and the best of a
    hundred divisions is told apart by a gain of some 10 / (.2 epsilon) records. So leaves need about 500 / epsilon
    records, and the depth is log2(z / 500). More trees than one pay when each still grows deep. All of this was found
    on the bundled sample and on Big5, not on Adult.
    """
    z = (USUAL_ROWS if rows is None else rows) * epsilon
    many = trees or (1 if z < 100_000 else 3)
    each = z / many
    return many, max(2 if each < 600 else 3, min(8, round(log2(max(each, 1) / 500))))
