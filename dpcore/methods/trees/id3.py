r"""SuLQ-ID3, PINQ-ID3, DiffP-ID3 and DiffP-C4.5: one private decision tree (compared with in paper 003).

Idea      Grow an ID3 tree, and choose every node's column from noisy answers. Numbers come in the schema's public bins,
          one child per bin. The three differ in how a column is chosen. DiffP-C4.5 is DiffP-ID3 that chooses a cut for
          every number by an exponential mechanism of its own, and prunes as C4.5 does.

Steps     e = epsilon / (2 (d + 1)); of DiffP-C4.5 epsilon / ((2 + n_c) d + 2), for n_c numeric columns
  1  Noisy number of records of each node. Nodes stop whose count is below the noise.                     counts, e
  2  The column.
     SuLQ-ID3   N_j and N_jc of every column left, every single count paid for: e / (|A| m_A (1 + |C|)) each;
                the column with the largest sum N_jc log2(N_jc / N_j), terms of 0 or less left out.       counts, e
     PINQ-ID3   the same, but a record is in one cell of each table only: e / (2 |A|) for each table.     counts, e
     DiffP-ID3  the exponential mechanism by Max, Gini or entropy.                                        choose, e
     DiffP-C4.5 a cut for each numeric column, among all places of its range.                        choose, n_c e
                The column: a child per value, or the two sides of the cut. Where a number cannot be cut any more, the
                others share its e.                                                                       choose, e
  3  Noisy counts of the classes in the leaves.                                                           counts, e
  4  DiffP-C4.5: from the bottom, a subtree becomes a leaf where that lowers the pessimistic number of errors, by
     C4.5's upper limit of the binomial distribution at confidence .25 (`pruned`).                  post-processing
  A column of values divides every way down once. Corrected mode spends on a leaf that stops early what its records did
  not need further down, makes all counts of the tree consistent (before it prunes), and uses that the scores of
  exponential mechanisms only rise with a record.

Privacy
  Public    the schema, its bounds and bins, d; under replace n.
  1, 3      Nodes hold disjoint records: sensitivity 1, parallel composition (`nodes`).
  2         Two tables per column, one after the other for the columns that are left: sums to e. SuLQ-ID3 pays for each
            cell as if a record could be in all of them, which is more than it has to.
            Exponential mechanisms: Max 1, Gini 2, entropy log2(N + 1) + 1/ln 2 with a public N (`scores.trees`). Cuts
            are drawn by density over the whole public range, not over the data's (`nodes`).
  Sum       e on each of the d + 1 levels for counts, and e for the column or the classes: epsilon. Of DiffP-C4.5 d
            levels of e + n_c e + e, and the last one's 2 e: epsilon.

What is claimed, and where it is wrong
  The sources claim epsilon, and their composition is right if rows are added or removed; a replaced row may leave one
  node and enter another, and costs twice. Published mode claims what they do: it chooses by exp(e q / (2 D)), which
  costs half of that by Max, Gini and entropy, which only rise with a record. The information gain per record, by
  which paper 003 says that all choose, has its range as sensitivity, lb of the number of classes (`InfoGain`), and
  chooses by lot. C4.5's gain ratio, its own criterion, has no bounded
  sensitivity; subtree raising is left out. DiffP-C4.5 is reconstructed from Friedman and Schuster's description.

Reference  Blum, Dwork, McSherry and Nissim, Practical privacy: the SuLQ framework, PODS 2005.
           Friedman and Schuster, Data mining with differential privacy, KDD 2010 (all four, on PINQ).
           Quinlan, C4.5: programs for machine learning, 1993.
"""

from typing import Any, ClassVar

from dpcore.accounting.relation import Epsilon
from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.parameters import choice, flag, presets_for_both_modes, whole
from dpcore.methods.trees.base import CRITERIA, CUTS, MOST_DEPTH, TreeClassifier
from dpcore.methods.trees.grow import Chooser, Exponential, GrowthPlan, NoisyGain
from dpcore.postprocess.forest import prune_forest

RIGHT: dict[str, Any] = {
    "remark": phrase("Here the source is right: its proof holds where a person is added or removed."),
    "proof_holds": True,
    "relation": "add_remove",
}


class ID3(TreeClassifier):
    """Base of the trees in the manner of ID3.

    Parameters
    ----------
    max_depth
        The most splits from the root to a leaf.
    """

    reference = phrase("Friedman and Schuster 2010")
    survey_row = (phrase("Laplace"), phrase("high"), phrase("interactive"), phrase("categories"))
    best_for = "comparison"
    provable_published = phrase("epsilon (add)")
    max_depth: int = whole(default=3, most=MOST_DEPTH)

    # who chooses the columns, if not the exponential mechanism
    _chooser: ClassVar[Chooser | None] = None

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        return self._equal_plan(budget, self.max_depth, self._chooser)


class SuLQID3(ID3):
    """Decision tree by ID3 on single noisy counts.

    Blum et al. 2005: as published, and corrected. See the module for steps and privacy.
    """

    title = "SuLQ-ID3"
    reference = phrase("Blum et al. 2005")
    presets = presets_for_both_modes("SuLQ-ID3: one tree, by noisy counts", "SuLQ-ID3", **RIGHT)
    _chooser = NoisyGain(one_by_one=True)


class PINQID3(ID3):
    """Decision tree by ID3 on noisy histograms.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.
    """

    title = "PINQ-ID3"
    presets = presets_for_both_modes("PINQ-ID3: one tree, by noisy tables", "PINQ-ID3", **RIGHT)
    _chooser = NoisyGain(one_by_one=False)


class DiffPID3(ID3):
    """Decision tree by ID3 with the exponential mechanism.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    criterion
        How splits are scored. 'entropy' is the information gain times the number of records; it
        needs a public bound on theirs.
    """

    title = "DiffP-ID3"
    survey_row = (phrase("Laplace, exponential"), phrase("low"), phrase("interactive"), phrase("categories"))
    best_for = "a small tree to show"
    presets = presets_for_both_modes("DiffP-ID3: one tree, by the exponential mechanism", "DiffP-ID3", **RIGHT)
    criterion: str = choice(default="Max", options=CRITERIA)


class DiffPC45(ID3):
    """Decision tree in the manner of C4.5 by exponential mechanisms, pruned.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    criterion
        How splits are scored.
    cuts
        Whether numbers are cut anywhere, or between the schema's bins.
    prune
        Whether branches go that noisy counts say are of no use.
    """

    title = "DiffP-C4.5"
    survey_row = (phrase("Laplace, exponential"), phrase("low"), phrase("interactive"), phrase("categories, numbers"))
    best_for = "one tree with numeric split points"
    presets = presets_for_both_modes("DiffP-C4.5: one tree, pruned", "DiffP-C4.5", **RIGHT)
    seconds = (0.06, 0.2)
    max_depth: int = whole(default=5, most=MOST_DEPTH)
    criterion: str = choice(default="Max", options=CRITERIA)
    cuts: str | None = choice(default=None, options=CUTS)
    prune: bool = flag(default=True)

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        target = self._target(table.schema, self.target)
        numbers = sum(column.numeric and column.name != target for column in table.schema)
        chooser = Exponential(score=CRITERIA[self.criterion], selection="two_stage", ordinary=self._published)
        return self._equal_plan(budget, self.max_depth, chooser, numbers + 1)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        super()._fit(table, progress)
        if self.prune:
            self.forest_ = prune_forest(self.forest_)
