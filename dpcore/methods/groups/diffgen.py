r"""DiffGen: generalized rows by top-down specialization, for classification (compared with in papers 002 and 003).

Idea      Start from "anything" in every column; again and again choose one value, privately, and replace it by its
          children in the taxonomy; count the groups that are left with noise.

Steps     epsilon' = epsilon / (2 (n_c + 2h)), for n_c numeric columns that can be cut and h rounds
  1  Where to cut each numeric column's whole interval.                                              choose, n_c times
  2  h times: which value of the current cut to specialize, by how well its children tell the classes apart.    choose
     If it is an interval, where to cut each of its two halves later: they hold different records. choose, in parallel
  3  Counts of all groups x classes, empty ones included, with what is left (at least epsilon / 2).             counts
  4  Under replace, counts moved in equal steps to the public total. Negative counts moved to 0; rows are drawn
     uniformly out of the groups.                                                                     post-processing

  Numeric columns are cut between bins, whatever taxonomy they carry.

Privacy
  Public    the schema, its taxonomies, h, the cap on groups; n under replace.
  1, 2      Max has sensitivity 1 and is monotone; the information gain log2 of the number of classes, its range
            (`specialization`). The two halves of an interval partition its records: parallel composition, one epsilon'
            (under replace each half is charged as a removal or an addition, at epsilon' / 2). Which values may be
            specialized follows from earlier choices and public sizes alone.
  3         Groups partition the records: sensitivity 1 (add_remove) or 2 (replace).
  Sum       epsilon' (n_c + 2h) at most, which is epsilon / 2, and the rest for the counts: epsilon.

What is claimed, and where it is wrong
  The paper's proof holds. The code that its authors published does not follow it (mode="paper"): an interval with one
  row or none is cut in the middle, one with a single value of the data anywhere, and any other up to the data's largest
  value, where places that leave nothing to their left score 0. What can come out then depends on the data, so that one
  person can make outcomes possible that were impossible: no epsilon holds. Corrected mode cuts at every public place.
  That code also cuts its noise off to whole numbers towards 0, which costs up to ln 2 more per count; that is not done
  here.

Reference  Mohammed, Chen, Fung and Yu, Differentially private data release for data mining, KDD 2011.
"""

from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.scores import InfoGain, Max, SplitScore
from dpcore.methods.groups.base import LEAVES, MOST_LEAVES, ROUNDS, GeneralizingSynthesizer, check_leaves
from dpcore.methods.groups.descent import Descent, by_value
from dpcore.methods.offers import Offer
from dpcore.methods.parameters import choice, text, whole

CODE = "The paper's proof is right; this code, where it cuts numbers, has no epsilon at all."

SCORES: dict[str, SplitScore] = {"Max": Max(), "IG": InfoGain()}


class DiffGen(GeneralizingSynthesizer):
    """DiffGen, as its authors' code has it and corrected. See the module for steps and privacy.

    Attributes
    ----------
    steps_ : list of (column, value)
        What was specialized.
    """

    title = "DiffGen"
    good_for = "generalized rows for a classifier"
    provable_printed = "none with numbers"
    page = "taxonomy"
    offers = (
        Offer(label="DiffGen: one value at a time"),
        Offer(label="DiffGen, as its authors' code has it", mode="paper", remark=CODE),
    )
    variants = ({}, {"score": "IG", "rounds": 3}, {"rounds": 20, "max_leaves": 60})
    paper = "002, 003"
    rounds: int = whole(default=10, about=ROUNDS)
    score: str = choice(default="Max", options=SCORES, about="What values are chosen by.")
    target: str | None = text(default=None, optional=True, about="The class column; by default the schema's.")
    max_leaves: int = whole(default=100_000, most=MOST_LEAVES, about=LEAVES)

    def _check(self, schema: Schema) -> None:
        check_leaves(self.max_leaves, schema[self._target(schema, self.target)].size)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        self.target_ = self._target(table.schema, self.target)
        way = Descent(table, self.target_, SCORES[self.score], max_leaves=self.max_leaves, paper=self.mode == "paper")
        by_value(way, self.epsilon, self.rounds, progress)
        self.steps_ = way.steps
        progress(0.7, "Counting groups")
        self._keep(*way.release(exact(self.epsilon) - way.spent), whole_noise=table.whole_noise)
        progress(1.0, "Done")
