r"""SuLQ-ID3, PINQ-ID3 and DiffP-ID3: one private decision tree over values (compared with in paper 003).

Idea      Grow an ID3 tree, and choose every node's column from noisy answers. Numbers come in the schema's public bins,
          one child per bin. The three differ in how a column is chosen.

Steps     e = epsilon / (2 (d + 1))
  1  Noisy number of records of each node. Nodes stop whose count is below the noise.                     counts, e
  2  The column.
     SuLQ-ID3   N_j and N_jc of every column left, every single count paid for: e / (|A| m_A (1 + |C|)) each;
                the column with the largest sum N_jc log2(N_jc / N_j), terms of 0 or less left out.       counts, e
     PINQ-ID3   the same, but a record is in one cell of each table only: e / (2 |A|) for each table.     counts, e
     DiffP-ID3  the exponential mechanism by Max, Gini or entropy.                                        choose, e
  3  Noisy counts of the classes in the leaves.                                                           counts, e
  A column divides every way down once. Corrected mode spends on a leaf that stops early what its records did not need
  further down, makes all counts of the tree consistent, and uses that all three scores only rise with a record.

Privacy
  Public    the schema and its bins, d; under replace n.
  1, 3      Nodes hold disjoint records: sensitivity 1, parallel composition (`nodes`).
  2         Two tables per column, one after the other for the columns that are left: sums to e. SuLQ-ID3 pays for each
            cell as if a record could be in all of them, which is more than it has to.
            DiffP-ID3: Max 1, Gini 2, entropy log2(N + 1) + 1/ln 2 with a public N (`scores.trees`).
  Sum       e on each of the d + 1 levels for counts, and e for the column or the classes: epsilon.

What is claimed, and where it is wrong
  The sources claim epsilon, and their composition is right if rows are added or removed; a replaced row may leave one
  node and enter another, and costs twice. Published mode claims what they do: it chooses by exp(e q / (2 D)), which
  costs half of that by Max, Gini and entropy, which only rise with a record. The information gain per record has its
  range as sensitivity (`InfoGain`), and chooses by lot.

Reference  Blum, Dwork, McSherry and Nissim, Practical privacy: the SuLQ framework, PODS 2005.
           Friedman and Schuster, Data mining with differential privacy, KDD 2010 (all three, on PINQ).
"""

from abc import abstractmethod

from dpcore.accounting.relation import Epsilon
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.methods.parameters import both, choice, whole
from dpcore.methods.trees.base import CRITERIA, DEPTH, MOST_DEPTH, RIGHT, TreeClassifier
from dpcore.methods.trees.plan import Chooser, Exponential, NoisyGain, Plan


class ID3(TreeClassifier):
    """Base of the three ID3 trees."""

    reference = phrase("Friedman and Schuster 2010")
    survey_row = (phrase("Laplace"), phrase("high"), phrase("interactive"), phrase("categories"))
    best_for = "comparison"
    provable_printed = phrase("epsilon (add)")
    max_depth: int = whole(default=3, most=MOST_DEPTH, about=DEPTH)

    @property
    @abstractmethod
    def _chooser(self) -> Chooser:
        """Who chooses the columns."""

    def _plan(self, table: PrivateTable, budget: Epsilon) -> Plan:
        return self._equal_plan(budget, self._chooser, self.max_depth)


class SuLQID3(ID3):
    """Decision tree by ID3 on single noisy counts.

    Blum et al. 2005: as published, and corrected. See the module for steps and privacy.
    """

    title = "SuLQ-ID3"
    reference = phrase("Blum et al. 2005")
    presets = both("SuLQ-ID3: one tree, by noisy counts", "SuLQ-ID3", RIGHT, holds=True, within="add_remove")
    _chooser = NoisyGain(one_by_one=True)


class PINQID3(ID3):
    """Decision tree by ID3 on noisy histograms.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.
    """

    title = "PINQ-ID3"
    presets = both("PINQ-ID3: one tree, by noisy tables", "PINQ-ID3", RIGHT, holds=True, within="add_remove")
    _chooser = NoisyGain(one_by_one=False)


class DiffPID3(ID3):
    """Decision tree by ID3 with the exponential mechanism.

    Friedman and Schuster 2010: as published, and corrected. See the module for steps and privacy.
    """

    title = "DiffP-ID3"
    survey_row = (phrase("Laplace, exponential"), phrase("low"), phrase("interactive"), phrase("categories"))
    best_for = "a small tree to show"
    presets = both(
        "DiffP-ID3: one tree, by the exponential mechanism", "DiffP-ID3", RIGHT, holds=True, within="add_remove"
    )
    criterion: str = choice(
        default="Max",
        options=CRITERIA,
        about="How splits are scored. 'entropy' is the information gain times the number of records; it needs a "
        "public bound on theirs.",
    )

    @property
    def _chooser(self) -> Chooser:
        return Exponential(score=CRITERIA[self.criterion], ordinary=self._published)
