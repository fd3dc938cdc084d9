r"""DiffPRFs: a random forest that cuts numbers where it likes (paper 003).

Idea      Grow every tree of a random forest with the exponential mechanism, for the place where a number is cut and
          for the column, and count classes in its leaves with noise. Nothing is put into bins beforehand.

Steps, as printed (mode="published")        epsilon' = epsilon / t per tree, e = epsilon' / (2 (d + 1))
  1  A bootstrap sample of the rows.
  2  Per node: a noisy number of records, which is never used. It costs half of everything.               counts, e
  3  A node whose records are all of one class, or at depth d, is a leaf: noisy counts of its classes.    counts, e
     Whether they are of one class is read off the records, without noise.                              unprotected
  4  Other nodes draw floor(sqrt(F)) columns. A cut for each number among them, by weight
     |R_i| exp(e q / (2 (n_c + 1) D)) for the intervals R_i between the values, then a uniform point.     choose, n_c
     Then the column. Line 12 prints "split the node into 2 child nodes", and not which values of a category go
     left. We read: cuts have two children, categories a child per value of the schema (the paper takes the values
     that occur, which would tell them); categorical_splits="one_vs_rest" parts one value from the rest,
     chosen as a cut is.
                                                                                                          choose
     Line 10 overwrites e, and line 12 hands it on; the text gives every level the same, and so do we.
  5  Trees vote; the same sentence also has the largest total probability (vote="probability").

Steps, corrected (mode="corrected")
  1  Each row is in one of t disjoint parts, by lot, and each tree has the whole epsilon (resample="disjoint"). Or every
     tree sees a secret Poisson sample, or all rows at epsilon / t.
  2  Nodes whose noisy count is below the noise are leaves. Nobody looks at the records' classes.         counts
     By default no number of records is bought (count_share=0), and nodes go on down to depth d.
  3  One choice among all columns drawn and all their cuts (split_selection="two_stage" has the paper's two).     choose
     Categories fall into few groups: along their order or their taxonomy, or one value and the rest.
  4  Classes in the leaves; a leaf that stops early spends what its records did not need further down.    counts
  5  All counts of a tree are made consistent, so that each of them was bought for something.       post-processing
  6  Trees vote, or add up their probabilities.

Privacy
  Public    the schema, its bounds and taxonomies; t, d, and which columns a node draws; under replace n.
  2, 4      Nodes and leaves hold disjoint records: sensitivity 1, parallel composition (`nodes`).
  3         Max has sensitivity 1, Gini 2, entropy log2(N + 1) + 1/ln 2 with a public N, and only rise; InfoGain its
            range. Under replace a record may leave a node and enter another, so nodes spend half (`Ledger.parallel`).
  1         Disjoint rows by lot: each tree costs epsilon, and so do all. Poisson samples: ln(1 + g (e^x - 1)) each.
  Sum       counts (d + 1), choices d, and leaves: epsilon on every way from a root to a leaf.

What the paper claims, and where it is wrong
  It claims epsilon. (1) The test whether a node's records are all of one class is made on the rows themselves: if all
  rows are of one class, a tree that divides anything is impossible, and one person of another class makes it likely.
  No epsilon holds. (2) A bootstrap sample holds a row several times. Per tree that costs 1.05 epsilon' at .1 and 1.9
  epsilon' at 1 under replace, 1.9 and 5.4 under add_remove, as far as can be proved (`amplification`). (3) The gain of
  a node is at most 1, the exponent at t = 25, d = 5 and epsilon 1 some thousandths: the choices are lots. (4) The
  counts of step 2 buy nothing. Right are the sensitivity of the gain, lb |C| (once it prints ln |C|, a slip), and, if
  rows are added or removed, the composition over trees, levels and siblings; a replaced row may touch two siblings.
  "45 222 training records" are Adult's training and test parts together; we learn from 30 162 and test on 15 060.

Reference  Mu, Ding, Song and Lu, DiffPRFs: random forest under differential privacy (in Chinese), Journal on
           Communications 37(9), 2016.
           Friedman and Schuster, Data mining with differential privacy, KDD 2010.
"""

from typing import Any

from dpcore.accounting.relation import Epsilon
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.methods.parameters import controls_of, flag, presets_of
from dpcore.methods.trees.base import CRITERIA, PAGES, ForestClassifier
from dpcore.methods.trees.grow import Exponential, GrowthPlan

PURITY = phrase("The paper stops at nodes whose records are all of one class, and reads that off the records.")


class DiffPRFs(ForestClassifier):
    """Forest of decision trees that split numbers anywhere.

    Mu et al. 2016: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    consistency
        Corrected mode: whether the counts are made to agree.

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
        if not self._published:
            return super()._splits
        children = "values" if self.categorical_splits == "grouped" else self.categorical_splits
        return {"cuts": "lengths", "children": children}

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self._published and self.criterion not in (None, *CRITERIA):
            raise ParameterError("The paper has no such 'criterion'.", f"Choose one of {', '.join(CRITERIA)}.")

    def _sizes(self, table: PrivateTable) -> tuple[int, int]:
        return (25, 5) if self._published else super()._sizes(table)

    def _sampling(self, table: PrivateTable) -> dict[str, Any]:
        return super()._sampling(table) | ({"resample": "bootstrap"} if self._published else {})

    def _plan(self, table: PrivateTable, budget: Epsilon) -> GrowthPlan:
        if not self._published:
            return super()._plan(table, budget)
        chooser = Exponential(score=CRITERIA[self.criterion or "InfoGain"], selection="two_stage", ordinary=True)
        how: dict[str, Any] = {"per_node": self._per_node(table.schema), "purity": PURITY, "noisy_stop": False}
        return self._equal_plan(budget, self.max_depth_, chooser, **how)
