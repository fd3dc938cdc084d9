r"""SuLQ-ID3, PINQ-ID3, DiffP-ID3, DiffP-C4.5: one private decision tree (in paper 003).

Idea      Grow an ID3 tree, and choose every node's column from noisy answers. Numbers come in the
          schema's public bins, one child per bin. The first three differ in how a column is chosen.
          DiffP-C4.5 is DiffP-ID3 with a split point for every number, chosen by an exponential
          mechanism of its own, and with the pruning of C4.5.

Steps     e = epsilon / (2 (d + 1)); DiffP-C4.5: epsilon / ((2 + n_c) d + 2), for n_c numeric
  columns
  1  Noisy number of records of each node. Nodes whose count is below the noise
     are leaves.                                                                         counts, e
  2  The column.
     SuLQ-ID3   N_j and N_jc of every remaining column, each count charged by
                itself: e / (|A| m_A (1 + |C|)) each. The column with the
                largest sum N_jc log2(N_jc / N_j), without terms of 0 or less.           counts, e
     PINQ-ID3   The same, but a record is in only one cell of each histogram:
                e / (2 |A|) for each histogram.                                          counts, e
     DiffP-ID3  The exponential mechanism by Max, Gini or entropy.                       choose, e
     DiffP-C4.5 A split point for each numeric column, among all points of its
                range.                                                               choose, n_c e
                The column: one child per value, or the two sides of the split
                point. If a number cannot be split any more, the other columns
                share its e.                                                             choose, e
  3  Noisy counts of the classes in the leaves.                                          counts, e
  4  DiffP-C4.5: from the leaves up, a subtree becomes a leaf if this lowers the
     pessimistic number of errors, by C4.5's upper limit of the binomial
     distribution at confidence .25 (`prune_forest`).                              post-processing
  A column of values splits every path only once. Corrected mode differs in three ways. A leaf that
  stops early spends the epsilon that its records do not need further down. All counts of the tree
  are made consistent, before pruning. The exponential mechanism uses that its scores are monotone.

Privacy
  Public    the schema, its bounds and bins, d; under replace n.
  1, 3      Nodes hold disjoint records: sensitivity 1, parallel composition (`nodes`).
  2         Two histograms per column, sequentially for the remaining columns: sums to e. SuLQ-ID3
            charges each cell as if a record could be in all cells, which is more than needed.
            Exponential mechanisms: Max 1, Gini 2, entropy log2(N + 1) + 1/ln 2 with a public N
            (`scores`). Split points are drawn by density over the whole public range, not
            over the data's range (`nodes`).
  Sum       e on each of the d + 1 levels for counts, and e for the column or the classes: epsilon.
            DiffP-C4.5: d levels of e + n_c e + e, and 2 e on the last level: epsilon.

What is claimed, and where it is wrong
  The sources claim epsilon, and their composition is right if rows are added or removed. A replaced
  row may leave one node and enter another, and costs twice. Published mode claims what the sources
  claim. It chooses by exp(e q / (2 D)), which costs half of that by Max, Gini and entropy, because
  these scores only rise with a record. Paper 003 says that all methods choose by the information
  gain per record. Its sensitivity is its range, log2 of the number of classes (`InfoGain`), with
  which choices are nearly random. C4.5's own criterion, the gain ratio, has no bounded sensitivity.
  Subtree raising is left out. DiffP-C4.5 is reconstructed from Friedman and Schuster's description.

Reference  Blum, Dwork, McSherry and Nissim, Practical privacy: the SuLQ framework, PODS 2005.
           Friedman and Schuster, Data mining with differential privacy, KDD 2010 (all four, on
           PINQ). Quinlan, C4.5: programs for machine learning, 1993.
"""

from typing import Any, ClassVar

from dpcore.accounting.relation import Epsilon
from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.parameters import choice, flag, presets_for_both_modes, whole
from dpcore.methods.trees.base import CRITERIA, MOST_DEPTH, SPLIT_POINTS, TreeClassifier
from dpcore.methods.trees.grow import ExponentialChooser, GrowthPlan, NoisyGainChooser, SplitChooser
from dpcore.postprocess.forest import prune_forest

RIGHT: dict[str, Any] = {
    "remark": phrase("The source is right: its proof holds for the relation add/remove."),
    "proof_holds": True,
    "relation": "add_remove",
}


class ID3(TreeClassifier):
    """Base of the decision trees that are grown like ID3.

    Parameters
    ----------
    max_depth
        The most splits from the root to a leaf.
    """

    reference = phrase("Friedman and Schuster 2010")
    survey_row = (phrase("Laplace"), phrase("high noise"), phrase("interactive"), phrase("categories"))
    best_for = "comparison"
    provable_published = phrase("epsilon (add/remove)")
    max_depth: int = whole(default=3, maximum=MOST_DEPTH)

    # the mechanism that chooses columns; None: the exponential mechanism
    _chooser: ClassVar[SplitChooser | None] = None

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """Return rules of tree growth: equal epsilon per level, this method's choice of columns.

        A record's path through the tree costs `budget`.
        """
        return self._equal_plan(budget, self.max_depth, self._chooser)


class SuLQID3(ID3):
    """Decision tree by ID3 on single noisy counts.

    Blum et al. 2005: as published, and corrected. See the module for steps and privacy.
    """

    title = "SuLQ-ID3"
    reference = phrase("Blum et al. 2005")
    presets = presets_for_both_modes("SuLQ-ID3: one tree, by noisy counts", "SuLQ-ID3", **RIGHT)
    _chooser = NoisyGainChooser(one_by_one=True)


class PINQID3(ID3):
    """Decision tree by ID3 on noisy histograms.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.
    """

    title = "PINQ-ID3"
    presets = presets_for_both_modes("PINQ-ID3: one tree, by noisy tables", "PINQ-ID3", **RIGHT)
    _chooser = NoisyGainChooser(one_by_one=False)


class DiffPID3(ID3):
    """Decision tree by ID3 with the exponential mechanism.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    criterion
        The score of a split. 'entropy' is the information gain times the number of records, and
        needs a public bound on that number.
    """

    title = "DiffP-ID3"
    survey_row = (phrase("Laplace, exponential"), phrase("low noise"), phrase("interactive"), phrase("categories"))
    best_for = "a small tree to show"
    presets = presets_for_both_modes("DiffP-ID3: one tree, by the exponential mechanism", "DiffP-ID3", **RIGHT)
    criterion: str = choice(default="Max", options=CRITERIA)


class DiffPC45(ID3):
    """Decision tree like C4.5 by exponential mechanisms, pruned.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    criterion
        The score of a split.
    cuts
        Where numbers are split: 'numbers', anywhere in their range, or 'bins', between the schema's
        bins.
    prune
        Whether branches are removed that do not lower the errors by the noisy counts.
    """

    title = "DiffP-C4.5"
    survey_row = (*DiffPID3.survey_row[:3], phrase("categories, numbers"))
    best_for = "one tree with numeric split points"
    presets = presets_for_both_modes("DiffP-C4.5: one tree, pruned", "DiffP-C4.5", **RIGHT)
    seconds = (0.06, 0.2)
    max_depth: int = whole(default=5, maximum=MOST_DEPTH)
    criterion: str = choice(default="Max", options=CRITERIA)
    cuts: str | None = choice(default=None, options=SPLIT_POINTS)
    prune: bool = flag(default=True)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """Return rules of tree growth: equal levels, a choice per number and one of the column.

        A record's path through the tree costs `budget`.
        """
        target = self._target(table.schema, self.target)
        numbers = sum(column.numeric and column.name != target for column in table.schema)
        chooser = ExponentialChooser(score=CRITERIA[self.criterion], selection="two_stage", standard=self._published)
        return self._equal_plan(budget, self.max_depth, chooser, numbers + 1)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Grow the tree, and prune it if `prune`."""
        super()._fit(table, progress)
        if self.prune:
            self.forest_ = prune_forest(self.forest_)
