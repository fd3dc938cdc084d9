r"""DiffPRFs: a random forest that splits numbers anywhere in their range (paper 003).

Idea      Grow every tree of a random forest with exponential mechanisms, one for the split point of
          a number and one for the column, and count classes in the leaves with noise. Numbers need
          no bins.

Steps, as published (mode="published")    epsilon' = epsilon / t per tree, e = epsilon' / (2 (d +
1))
  1  A bootstrap sample of the rows.
  2  Per node: a noisy number of records, which is never used. This costs half of
     epsilon.                                                                            counts, e
  3  A node whose records are all of one class, or at depth d, is a leaf: noisy
     counts of its classes.                                                              counts, e
     Whether all records are of one class is tested without noise.                     unprotected
  4  Other nodes draw floor(sqrt(F)) columns. A split point for each number among
     them, by weight |R_i| exp(e q / (2 (n_c + 1) D)) for the intervals R_i between
     the values, then a uniform point in the interval.                                 choose, n_c
     Then the column. Line 12 prints "split the node into 2 child nodes", and not
     which values of a category go left. We read: numbers have two children, and
     categories one child per value of the schema. (The paper takes the values
     that occur, which would reveal them.) categorical_splits="one_vs_rest"
     separates one value from the rest; this value is chosen like a split point.            choose
     Line 10 overwrites e, and line 12 passes it on. In the text every level has
     the same epsilon, and so here.
  5  Trees vote; the same sentence also has the largest total probability
     (vote="probability").

Steps, corrected (mode="corrected")
  1  Each row is in one of t disjoint parts, at random, and each tree has the whole
     epsilon (resample="disjoint"). Or every tree sees a secret Poisson sample, or
     all rows at epsilon / t.
  2  Nodes whose noisy count is below the noise are leaves. The records' classes are
     not tested.                                                                            counts
     By default no number of records is measured (count_share=0), and nodes are
     split down to depth d.
  3  One choice among all columns drawn and all their split points
     (split_selection="two_stage" has the paper's two).                                     choose
     Categories are split into few groups: along their order or their taxonomy, or
     one value and the rest.
  4  Classes in the leaves. A leaf that stops early spends the epsilon that its
     records do not need further down.                                                      counts
  5  All counts of a tree are made consistent, so that none is measured in vain.   post-processing
  6  Trees vote, or add up their probabilities.

Privacy
  Public    the schema, its bounds and taxonomies; t, d, and the columns that a node draws; under
            replace n.
  2, 4      Nodes and leaves hold disjoint records: sensitivity 1, parallel composition (`nodes`).
  3         Max has sensitivity 1, Gini 2, entropy log2(N + 1) + 1/ln 2 with a public N, and these
            only rise with a record; InfoGain has its range. Under replace a record may leave a node
            and enter another, so nodes spend half (`Ledger.parallel`).
  1         Disjoint random parts: each tree costs epsilon, and so do all. Poisson samples:
            ln(1 + g (e^x - 1)) each.
  Sum       counts (d + 1), choices d, and leaves: epsilon on every path from a root to a leaf.

What the paper claims, and where it is wrong
  The paper claims epsilon. (1) The test whether a node's records are all of one class is made on
  the rows themselves. If all rows are of one class, no tree splits; one person of another class
  makes a split likely. No epsilon holds. (2) A bootstrap sample holds a row several times. Per tree
  this costs 1.05 epsilon' at .1 and 1.9 epsilon' at 1 under replace, 1.9 and 5.4 under add_remove,
  as far as can be proved (`amplification`). (3) The gain of a node is at most 1, and the exponent
  at t = 25, d = 5 and epsilon 1 is some thousandths: the choices are nearly random. (4) The counts
  of step 2 are of no use. Two things are right. The gain's sensitivity is lb |C| (once printed as
  ln |C|, a slip). If rows are added or removed, the composition over trees, levels and siblings
  holds; a replaced row may touch two siblings. "45 222 training records" are Adult's training and
  test parts together; we train on 30 162 and test on 15 060.

Reference  Mu, Ding, Song and Lu, DiffPRFs: random forest under differential privacy (in Chinese),
           Journal on Communications 37(9), 2016.
           Friedman and Schuster, Data mining with differential privacy, KDD 2010.
"""

from typing import Any

from dpcore.accounting.relation import Epsilon
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.methods.parameters import controls_of, flag, presets_of
from dpcore.methods.trees.base import CRITERIA, MIXED, PAGES, ForestClassifier
from dpcore.methods.trees.grow import ExponentialChooser, GrowthPlan

PURITY = phrase("The paper tests without noise whether a node's records are all of one class.")


class DiffPRFs(ForestClassifier):
    """Forest of decision trees that split numbers anywhere in their range.

    Mu et al. 2016: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    consistency
        Corrected mode: whether least squares makes the counts of a tree consistent.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> forest = dp.DiffPRFs(epsilon=1.0).fit(data.train, schema=data.schema)
    >>> round(forest.ledger_.epsilon_bound, 6)
    1.0
    >>> forest.predict(data.test).shape == (len(data.test),)
    True
    """

    reference = phrase("Mu et al. 2016")
    best_for = "predicting a target"
    provable_published = "none"
    presets = presets_of(PAGES, "DiffPRFs")
    controls = controls_of(PAGES["DiffPRFs"])
    seconds = (0.2, 1.1)
    consistency: bool = flag(default=True)

    @property
    def _splits(self) -> dict[str, str]:
        """How nodes are split: the arguments `cuts` and `children` of `attributes_of`.

        As published, a number may be split anywhere in its range, with prior weight by length, and
        grouped categories get one child per value.
        """
        if not self._published:
            return super()._splits
        children = "values" if self.categorical_splits == "grouped" else self.categorical_splits
        return {"cuts": "lengths", "children": children}

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the schema or, as published, the criterion does not fit."""
        super()._check(schema)
        if self._published and self.criterion not in (None, *CRITERIA):
            raise ParameterError(
                f"As published, 'criterion' cannot be {MIXED!r}.", f"Choose one of {', '.join(CRITERIA)}."
            )

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        """Return the paper's 25 trees of depth 5 as published, and the sizes by rule otherwise."""
        return (25, 5) if self._published else super()._sizes(table)

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        """Return the number of trees and their sampling of rows: bootstrap as published."""
        return super()._sampling(table) | ({"resample": "bootstrap"} if self._published else {})

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        """Return rules of tree growth: the paper's as published, else those of the parameters.

        A record's path through one tree costs `budget`.
        """
        if not self._published:
            return super()._plan(table, budget)
        chooser = ExponentialChooser(score=CRITERIA[self.criterion or "InfoGain"], selection="two_stage", standard=True)
        depth, columns = self.max_depth_, self._columns_per_node(table.schema)
        return self._equal_plan(budget, depth, chooser, columns_per_node=columns, purity=PURITY, noisy_stop=False)
