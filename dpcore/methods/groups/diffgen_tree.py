r"""DiffGen's classifier: a decision tree learned from DiffGen's release (compared with in papers 003 and 002).

Idea      DiffGen's rows are published so that others can learn from them. Its paper does, and so do the papers that
          compare with it: a tree in the manner of C4.5 on the generalized rows.

Steps     epsilon' = epsilon / (2 (n_c + 2h)), for n_c numeric columns that can be cut and h rounds
  1  Where to cut each numeric column's whole interval.                                              choose, n_c times
  2  h times: which value of the current cut to specialize, by how well its children tell the classes apart.    choose
     If it is an interval, where to cut each of its two halves later: they hold different records. choose, in parallel
  3  Counts of all groups x classes, empty ones included, with what is left (at least epsilon / 2).             counts
  4  Under replace, counts moved in equal steps to the public total; negative counts moved to 0.        post-processing
  5  A binary tree by entropy on one row per group and class, weighted by its count: no rows are drawn, which would
     only add noise. Categories are asked for one group, numbers for the groups up to one. A leaf holds at least four
     standard deviations of the noise on a count, three of a difference of two: of fewer rows, noise alone may make
     another class the largest. A row is predicted by the groups that its values lie in.                post-processing

Privacy
  Public    the schema, its taxonomies, h, the cap on groups; n under replace.
  1, 2      Max has sensitivity 1 and is monotone; the information gain log2 of the number of classes, its range. The
            two halves of an interval partition its records: parallel composition, one epsilon' (under replace each half
            is charged as a removal or an addition, at epsilon' / 2).
  3         Groups partition the records: sensitivity 1 (add_remove) or 2 (replace).
  4, 5      Nothing but released counts, public groups and a fixed seed for ties.
  Sum       epsilon' (n_c + 2h) at most, which is epsilon / 2, and the rest for the counts: epsilon.

What is claimed, and where it is wrong
  The paper's proof holds. The code that its authors published does not follow it (mode="paper"): it cuts an interval up
  to the data's largest value only, and in the middle if it holds one row or none, so that one person can make outcomes
  possible that were impossible: no epsilon holds. Corrected mode cuts at every public place. (`DiffGen` has more.)

Reference  Mohammed, Chen, Fung and Yu, Differentially private data release for data mining, KDD 2011.
"""

from dpcore.arguments import Progress
from dpcore.methods.groups.descent import Descent, by_value
from dpcore.methods.groups.group_tree import GroupClassifier
from dpcore.methods.offers import SHOWN, Offer


class DiffGenTree(GroupClassifier):
    """A classifier learned from DiffGen's release, as its authors' code makes it and corrected. See the module."""

    title = "DiffGen tree"
    good_for = "a tree and its groups"
    provable_printed = "none with numbers"
    page = "forests"
    offers = (
        Offer(label="DiffGen tree: a tree from DiffGen's groups"),
        Offer(
            label="DiffGen tree",
            mode="paper",
            remark=f"The paper is right; its authors' code, where it cuts numbers, has no epsilon. {SHOWN}",
        ),
    )
    variants = ({}, {"criterion": "InfoGain", "rounds": 3}, {"rounds": 20, "max_leaves": 60})
    paper = "003, 002"

    def _descend(self, way: Descent, progress: Progress) -> None:
        by_value(way, self.epsilon, self.rounds, progress)
